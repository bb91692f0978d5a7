/* SPDX-License-Identifier: Apache-2.0 */
/* Writing values into tensors: copy_, fill_, x[...] = value. */
#ifndef JPY_PY_COPY_H
#define JPY_PY_COPY_H

#include "pyfront/tensor/tensor.h"

/* dst[...] = value (a tensor, broadcast and cast, or a number).  `trim`: leading dims of size 1
 * that dst does not have are dropped, as x[...] = value does. */
int jpy_copy_into(jpy_tensor *dst, PyObject *value, bool trim);
/* The same type: the elements; while the converter runs, as a write of the graph.  `ends`: they are
 * no function of what dst was, whose gradient is of zeros. */
int jpy_store(janus_tensor *dst, janus_tensor *src, bool ends);
int jpy_index_put(PyObject *x, PyObject *value, PyObject *const *index, const int64_t *axes,
                  unsigned n, bool accumulate);

#endif
