/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods of janus.Tensor that are no ops, and the protocols other files implement for it.
 */
#ifndef JPY_PY_METHOD_H
#define JPY_PY_METHOD_H

#include "pyfront/tensor/tensor.h"

extern PyMethodDef jpy_tensor_methods[];                       /* method.c */
int jpy_getbuffer(PyObject *self, Py_buffer *view, int flags); /* tensor/convert.c */
void jpy_releasebuffer(PyObject *self, Py_buffer *view);
PyObject *jpy_numpy(PyObject *self, PyObject *unused);
PyObject *jpy_from_buffer(PyObject *module, PyObject *o);
PyObject *jpy_dlpack(PyObject *self, PyObject *args, PyObject *kwargs); /* tensor/dlpack.c */
PyObject *jpy_dlpack_device(PyObject *self, PyObject *unused);
PyObject *jpy_from_dlpack(PyObject *module, PyObject *o);
PyObject *jpy_retain_grad(PyObject *self, PyObject *unused); /* backward/functions.c */

#endif
