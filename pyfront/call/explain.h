/* SPDX-License-Identifier: Apache-2.0 */
/* janus.explain and janus.dump: what became of a function, and its graphs as text or pictures. */
#ifndef JPY_EXPLAIN_H
#define JPY_EXPLAIN_H

#include "graph/ir/ir.h"
#include "pyfront/function/function.h"

struct jpy_left_out;

/* The function that a Function, a method of one or a decorated Module is (borrowed); NULL: none. */
jpy_function *jpy_function_of(PyObject *o);
/* report.c: _report(f), a dict; its keys are explained there. */
PyObject *jpy_report(PyObject *module, PyObject *f);
/* Adds a conversion to f->history; takes the reference to `cause` (NULL: the first one). */
void jpy_report_conversion(jpy_function *f, const jpy_entry *e, PyObject *cause, int64_t ns);
/* What of a call the entry does not take, for people: "the length of argument 0"; NULL: nothing, or
 * no memory (no exception).  New reference. */
PyObject *jpy_miss(jpy_entry *e, const jpy_call *call);
/* As the column of a statement that was visited: a call in it has led to nodes of other lines. */
enum { JPY_LEADS_ON = 1 };
/* Keeps, sorted and once each, the statements that a conversion ran, and what it left out. */
void jpy_keep_visited(jpy_entry *e, const jn_loc *visited, size_t n, const struct jpy_left_out *out,
                      size_t n_out);
/* _dump_text(what, suffix), _page(what, extra): what janus.dump writes. */
PyObject *jpy_dump_text(PyObject *module, PyObject *args);
PyObject *jpy_page(PyObject *module, PyObject *args);
/* New reference: a graph as text of the format that goes with a file suffix (".jir", ".dot",
 * ".json"); NULL with an exception for others. */
PyObject *jpy_module_text(const janus_module *m, const char *suffix);

int jpy_init_export(PyObject *module); /* export.c */
/* Whether a file is one of janus's own Python files. */
bool jpy_in_library(const char *file);
/* New reference: the text of a line without its indentation, NULL (no exception): there is none. */
PyObject *jpy_source_line(const char *file, unsigned line);
/* A note (jpy_note) with the text of a source line under it. */
void jpy_note_at(jpy_function *f, const char *text, const char *file, unsigned line);
/* dump_dir.c: writes the graph where JANUS_DUMP_DIR says. */
void jpy_dump_entry(PyObject *callable, const janus_module *m);

#endif
