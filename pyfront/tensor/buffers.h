/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor's memory for others, and theirs for tensors: buffers, NumPy, DLPack. */
#ifndef JPY_BUFFERS_H
#define JPY_BUFFERS_H

#include "pyfront/tensor/object.h"

int jpy_getbuffer(PyObject *self, Py_buffer *view, int flags); /* convert.c */
void jpy_releasebuffer(PyObject *self, Py_buffer *view);
PyObject *jpy_numpy(PyObject *self, PyObject *unused);
PyObject *jpy_from_buffer(PyObject *module, PyObject *o);
PyObject *jpy_dlpack(PyObject *self, PyObject *args, PyObject *kwargs); /* dlpack.c */
PyObject *jpy_dlpack_device(PyObject *self, PyObject *unused);
PyObject *jpy_from_dlpack(PyObject *module, PyObject *o);

#endif
