/* SPDX-License-Identifier: Apache-2.0 */
/* The type janus.Function: what call.c and object.c give it. */
#ifndef JPY_FUNCTION_OBJECT_H
#define JPY_FUNCTION_OBJECT_H

#include "pyfront/function/function.h"

/* A Function of `callable`; not of a Module, which keeps one as its `forward`. */
PyObject *jpy_function_new(PyObject *callable, bool exact, bool checkpoint, bool measure);
/* Its names and attributes are those of `like`. -1: raised. */
int jpy_function_dress(jpy_function *f, PyObject *like);

/* call.c */
/* check.c: _check(f, args, kwargs), for janus.check. */
PyObject *jpy_check_call(PyObject *module, PyObject *args);
PyObject *jpy_function_call(PyObject *self, PyObject *const *args, size_t nargsf,
                            PyObject *kwnames);
void jpy_function_drop_entries(jpy_function *f);
/* Statements of f are no longer timed. */
void jpy_function_time_no_more(jpy_function *f);

/* object.c */
extern PyGetSetDef jpy_function_getset[];
PyObject *jpy_function_getattr(PyObject *self, PyObject *name);
int jpy_function_setattr(PyObject *self, PyObject *name, PyObject *v);
PyObject *jpy_function_copy(PyObject *self, PyObject *unused);
PyObject *jpy_function_deepcopy(PyObject *self, PyObject *memo);
/* A class is made that has it: what CPython makes static or class methods of functions of some
 * names is made of it, too. */
PyObject *jpy_function_set_name(PyObject *self, PyObject *args);
PyObject *jpy_function_reduce(PyObject *self, PyObject *unused);

#endif
