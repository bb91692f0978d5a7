/* SPDX-License-Identifier: Apache-2.0 */
/* janus.explain and janus.dump: what became of a function, and its graphs as text or pictures. */
#ifndef JPY_EXPLAIN_H
#define JPY_EXPLAIN_H

#include "graph/ir/ir.h"
#include "pyfront/function/function.h"

/* The function that a Function, a method of one or a decorated Module is (borrowed); NULL: none. */
jpy_function *jpy_function_of(PyObject *o);
/* report.c: _report(f), a dict; its keys are explained there. */
PyObject *jpy_report(PyObject *module, PyObject *f);
/* Adds a conversion to f->history; takes the reference to `cause` (NULL: the first one). */
void jpy_report_conversion(jpy_function *f, const jpy_entry *e, PyObject *cause, int64_t ns);
/* What of a call the entry does not take, for people: "the length of argument 0"; NULL: nothing, or
 * no memory (no exception).  New reference. */
PyObject *jpy_miss(jpy_entry *e, const jpy_call *call);
/* Looks, after a conversion or where one would cost too much, whether something is due. */
typedef enum jpy_try { JPY_TRY_MADE, JPY_TRY_REFUSED, JPY_TRY_PUT_OFF } jpy_try;
void jpy_word_look(jpy_function *f, const jpy_call *call, jpy_try tried);
/* _dump_text(what, suffix), _page(what, extra): what janus.dump writes. */
PyObject *jpy_dump_text(PyObject *module, PyObject *args);
PyObject *jpy_page(PyObject *module, PyObject *args);
int jpy_init_export(PyObject *module); /* export.c */
#endif
