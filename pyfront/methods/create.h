/* SPDX-License-Identifier: Apache-2.0 */
/* What functions that make tensors share: their common keywords and sizes. */
#ifndef JPY_PY_CREATE_H
#define JPY_PY_CREATE_H

#include "exec/device/device.h"
#include "pyfront/op/op.h"

typedef struct jpy_common {
    janus_dtype dtype;
    bool has_dtype, requires_grad;
    PyObject *generator;
    jn_device *device;
} jpy_common;

/* A function's own arguments, by position or by name, and by keyword what all have (dtype, device,
 * requires_grad, generator, ...).  params: their names, NULL at the end; found: one for each of
 * them, borrowed, NULL where none is given.  `fname` for messages. */
int jpy_arguments(jpy_common *c, const char *const *params, PyObject **found, PyObject *const *args,
                  Py_ssize_t n, PyObject *names, const char *fname);
/* Raises TypeError where one of the first n was not given. */
int jpy_needed(PyObject *const *found, const char *const *params, unsigned n, const char *fname);
/* The arguments of a function of sizes alone: f(*size), f(size) or f(size=...). */
int jpy_sized(jpy_common *c, PyObject *const *args, Py_ssize_t n, PyObject *names, int64_t *dims,
              int *rank, const char *fname);
/* Sizes given one by one, or as one sequence. */
int jpy_sizes(PyObject *const *args, Py_ssize_t n, PyObject *size, int64_t *dims, int *rank,
              const char *fname);
/* t (consumed) as an object, with requires_grad if it was asked for. */
PyObject *jpy_finish(janus_tensor *t, const jpy_common *c);

/* The arguments of NAME_like(input, ...), or, value not being NULL, of NAME_like(input, fill_value,
 * ...): input; NULL: raised. */
janus_tensor *jpy_like_of(jpy_common *c, PyObject **value, PyObject *const *args, Py_ssize_t n,
                          PyObject *names, const char *fname);

#define ARGS PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names
#define KW(f) ((PyCFunction)(void *)(f)), METH_FASTCALL | METH_KEYWORDS

#endif
