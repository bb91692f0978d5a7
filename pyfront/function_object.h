/* SPDX-License-Identifier: Apache-2.0 */
/* What function_object.c gives the type janus.Function. */
#ifndef JPY_FUNCTION_OBJECT_H
#define JPY_FUNCTION_OBJECT_H

#include "pyfront/function.h"

/* A Function of `callable`; not of a Module, which keeps one as its `forward`. */
PyObject *jpy_function_new(PyObject *callable, bool exact, bool checkpoint, bool measure);
/* Its names and attributes are those of `like`. -1: raised. */
int jpy_function_dress(jpy_function *f, PyObject *like);

extern PyGetSetDef jpy_function_getset[];
PyObject *jpy_function_getattr(PyObject *self, PyObject *name);
int jpy_function_setattr(PyObject *self, PyObject *name, PyObject *v);
PyObject *jpy_function_copy(PyObject *self, PyObject *unused);
PyObject *jpy_function_deepcopy(PyObject *self, PyObject *memo);
PyObject *jpy_function_reduce(PyObject *self, PyObject *unused);

#endif
