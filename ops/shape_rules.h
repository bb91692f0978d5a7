/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What inference, views, kernels and gradients of shape ops share.
 */
#ifndef JN_OPS_SHAPE_RULES_H
#define JN_OPS_SHAPE_RULES_H

#include "graph/ir/ir.h"

enum { JN_SHAPE_OPERAND = -2 }; /* entry of a shape attribute: the next `sizes` operand */

/* Result i has the dims of a `shape` attribute whose -2 entries are operands first_size, ... */
janus_status jn_infer_shape_attr(jn_infer *c, unsigned i, int dtype, janus_ints shape,
                                 unsigned first_size);

/* First element and number of elements of a Python slice of `size` elements; start and stop NULL:
 * absent; step > 0. */
void jn_slice_bounds(int64_t size, const int64_t *start, const int64_t *stop, int64_t step,
                     int64_t *out_first, int64_t *out_n);
/* The stride of its view: a step past the end takes one element at most, and is not multiplied. */
static inline int64_t jn_slice_stride(int64_t size, int64_t stride, int64_t step) {
    return stride * (step <= size ? step : size > 0 ? size : 1);
}

/* Whether a matrix with these strides is rather the transpose of one: its columns go on in shorter
 * steps than its rows.  What is repeated takes no steps, and comes last. */
static inline bool jn_is_turned(int64_t rows, int64_t cols, int64_t row, int64_t col) {
    return rows > 1 && cols > 1 && row != 0 && (col == 0 || row < col);
}

#endif
