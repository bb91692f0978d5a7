/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What inference and the kernels of every device read from attributes alike.  Without state or
 * errors, so that modules which are loaded at run time can have a copy.
 */
#include "config.h"

#include "graph/base/checked.h"
#include "ops/attrs.h"
#include "ops/index_rules.h"
#include "ops/nn_rules.h"
#include "ops/op_ids.h"
#include "ops/reduce_attrs.h"
#include "ops/shape_rules.h"

/* Rows differ in what follows the common members dims and keepdim. */
jn_reduce_attrs jn_reduce_attrs_of(const jn_op *op, const void *attrs) {
    jn_reduce_attrs r = {.dims = {NULL, 0}, .keepdim = false};
    switch (op->id) {
    case JN_OP_ID_var: {
        const janus_var_attrs *a = attrs;
        return (jn_reduce_attrs){a->dims, a->keepdim != 0, (double)a->correction};
    }
    case JN_OP_ID_norm: {
        const janus_norm_attrs *a = attrs;
        return (jn_reduce_attrs){a->dims, a->keepdim != 0, a->p};
    }
    default:
        break;
    }
    /* All others begin with dims, keepdim. */
    const janus_sum_attrs *a = attrs;
    r.dims = a->dims;
    r.keepdim = a->keepdim != 0;
    return r;
}

bool jn_index_layout(janus_ints axes, int rank, bool *indexed, int *out_at) {
    int first = rank, last = -1;
    for (int i = 0; i < rank; i++)
        indexed[i] = false;
    for (size_t i = 0; i < axes.n; i++) {
        int64_t a = axes.data[i] < 0 ? axes.data[i] + rank : axes.data[i];
        if (a < 0 || a >= rank || indexed[a])
            return false;
        indexed[a] = true;
        first = (int)a < first ? (int)a : first;
        last = (int)a > last ? (int)a : last;
    }
    bool adjacent = last - first + 1 == (int)axes.n;
    *out_at = adjacent ? first : 0;
    return true;
}

void jn_slice_bounds(int64_t size, const int64_t *start, const int64_t *stop, int64_t step,
                     int64_t *out_first, int64_t *out_n) {
    int64_t lo = start ? *start : 0, hi = stop ? *stop : size;
    if (lo < 0)
        lo = lo + size < 0 ? 0 : lo + size;
    if (hi < 0)
        hi = hi + size < 0 ? 0 : hi + size;
    if (hi > size)
        hi = size;
    if (lo > hi)
        lo = hi;
    *out_first = lo;
    *out_n = hi <= lo ? 0 : (hi - lo - 1) / step + 1;
}

int64_t jn_window_room(int64_t size, int64_t kernel, int64_t padding, int64_t dilation) {
    int64_t reach, padded;
    if (!jn_mul_i64(dilation, kernel - 1, &reach) || !jn_mul_i64(padding, 2, &padded) ||
        !jn_add_i64(size, padded, &padded))
        return -1;
    return padded > reach ? padded - reach - 1 : -1;
}

int64_t jn_pool_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                     int64_t dilation, bool ceil_mode) {
    int64_t room = jn_window_room(size, kernel, padding, dilation);
    if (room < 0)
        return -1;
    int64_t n = room / stride + (ceil_mode && room % stride != 0) + 1;
    /* As PyTorch: the last window starts inside the input or its front padding. */
    if (ceil_mode && n > 1 && n - 1 > (size + padding - 1) / stride)
        n--;
    return n;
}
