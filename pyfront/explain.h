/* SPDX-License-Identifier: Apache-2.0 */
/* janus.explain and janus.dump: what became of a function, and its graphs as text or pictures. */
#ifndef JPY_EXPLAIN_H
#define JPY_EXPLAIN_H

#include "pyfront/function.h"

PyObject *jpy_explain(PyObject *module, PyObject *f);
PyObject *jpy_dump(PyObject *module, PyObject *args);
/* New reference: a graph as text of the format that goes with a file suffix (".jir", ".dot",
 * ".json"); NULL with an exception for others. */
PyObject *jpy_module_text(const janus_module *m, const char *suffix);

/* New reference: the text of a line without its indentation, NULL (no exception): there is none. */
PyObject *jpy_source_line(const char *file, unsigned line);
/* A note (jpy_note) with the text of a source line under it. */
void jpy_note_at(jpy_function *f, const char *text, const char *file, unsigned line);
/* Adds what became of each source line to the list. */
int jpy_describe_lines(const janus_module *m, PyObject *list);
/* dump_dir.c: writes the graph where JANUS_DUMP_DIR says. */
void jpy_dump_entry(PyObject *callable, const janus_module *m);

#endif
