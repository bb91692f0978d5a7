/* SPDX-License-Identifier: Apache-2.0 */
/* What functions that make tensors share: their common keywords and sizes. */
#ifndef JPY_PY_CREATE_H
#define JPY_PY_CREATE_H

#include "exec/device/device.h"
#include "pyfront/op/op.h"

typedef struct jpy_common {
    janus_dtype dtype;
    bool has_dtype, requires_grad;
    PyObject *size, *generator;
    jn_device *device;
} jpy_common;

/* dtype, device, requires_grad, size, generator, ... by keyword; `fname` for messages. */
int jpy_keywords(jpy_common *c, PyObject *const *values, PyObject *names, const char *fname);
/* Sizes given one by one, or as one sequence. */
int jpy_sizes(PyObject *const *args, Py_ssize_t n, PyObject *size, int64_t *dims, int *rank,
              const char *fname);
/* t (consumed) as an object, with requires_grad if it was asked for. */
PyObject *jpy_finish(janus_tensor *t, const jpy_common *c);

/* The argument of NAME_like(input, ...); NULL: raised. */
janus_tensor *jpy_like_of(PyObject *const *args, Py_ssize_t n, Py_ssize_t want, const char *fname);

#define ARGS PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names
#define KW(f) ((PyCFunction)(void *)(f)), METH_FASTCALL | METH_KEYWORDS

#endif
