/* SPDX-License-Identifier: Apache-2.0 */
/* Notes on a function, and its graphs as text. */
#ifndef JPY_NOTE_H
#define JPY_NOTE_H

#include "graph/ir/ir.h"
#include "pyfront/function/object.h"

/* Adds a line to what explain prints (printf-like). */
__attribute__((format(printf, 2, 3))) void jpy_note(jpy_function *f, const char *fmt, ...);
/* Whether a file is one of janus's own Python files. */
bool jpy_in_library(const char *file);
/* New reference: the text of a line without its indentation, NULL (no exception): there is none. */
PyObject *jpy_source_line(const char *file, unsigned line);
/* A note (jpy_note) with the text of a source line under it. */
void jpy_note_at(jpy_function *f, const char *text, const char *file, unsigned line);
/* dump_dir.c: writes the graph where JANUS_DUMP_DIR says. */
void jpy_dump_entry(PyObject *callable, const janus_module *m);
/* New reference: a graph as text of the format that goes with a file suffix (".jir", ".dot",
 * ".json"); NULL with an exception for others. */
PyObject *jpy_module_text(const janus_module *m, const char *suffix);

#endif
