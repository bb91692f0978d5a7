/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods of janus.Tensor that are no ops.
 */
#ifndef JPY_PY_METHOD_H
#define JPY_PY_METHOD_H

#include "pyfront/tensor/tensor.h"

extern PyMethodDef jpy_tensor_methods[]; /* method.c */

/* Tensor's own setter of requires_grad, which no class of the program's is asked for; -1: raised.
 */
int jpy_set_requires_grad(PyObject *self, PyObject *v, void *unused);

#endif
