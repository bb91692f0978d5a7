/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise kernels are row functions over contiguous elements; this drives them.
 *
 * When every operand is contiguous and has the result's dims, the row function runs on the data as
 * it is (in parallel above a grain).  Anything else, broadcast or strided, goes through
 * jn_ew_strided, which copies what is not contiguous into small buffers, so that each element
 * always passes through the same loop and its bits do not depend on the layout.
 */
#ifndef JN_OPS_CPU_EW_H
#define JN_OPS_CPU_EW_H

#include "ops/kernel.h"

/* out[i] = f(in[0][i], in[1][i], ...) for i < n; `ctx` carries attributes, scalars and k->flags. */
typedef void (*jn_row_fn)(void *out, const void *const *in, int64_t n, const void *ctx);

enum {
    JN_EW_MAX_IN = 4,
    JN_EW_GRAIN = 32768 /* elements per range of a cheap operation */
};

static inline size_t jn_elem_size(int dtype) {
    static const uint8_t size[JANUS_DTYPE_COUNT] = {4, 8, 4, 8, 1, 1, 2, 2};
    return size[dtype];
}

/* `in` is laid out exactly as the result, apart from dims of 1 in front. */
static inline bool jn_ew_plain(const jn_view *in, const jn_view *out) {
    int lead = out->rank - in->rank;
    if (!in->contiguous || lead < 0)
        return false;
    for (int d = 0; d < lead; d++)
        if (out->dims[d] != 1)
            return false;
    for (int d = 0; d < in->rank; d++)
        if (in->dims[d] != out->dims[lead + d])
            return false;
    return true;
}

void jn_ew_strided(const jn_kargs *k, unsigned n_in, int64_t grain, jn_row_fn row, const void *ctx);
void jn_ew_parallel(const jn_kargs *k, unsigned n_in, int64_t n, int64_t grain, jn_row_fn row,
                    const void *ctx);

static inline __attribute__((always_inline)) void
jn_ew(const jn_kargs *k, unsigned n_in, int64_t grain, jn_row_fn row, const void *ctx) {
    const jn_view *out = &k->out[0];
    for (unsigned i = 0; i < n_in; i++)
        if (!jn_ew_plain(&k->in[i], out)) {
            jn_ew_strided(k, n_in, grain, row, ctx);
            return;
        }
    int64_t n = jn_numel(out);
    if (n >= 2 * grain && k->par->threads > 1) {
        jn_ew_parallel(k, n_in, n, grain, row, ctx);
        return;
    }
    const void *in[JN_EW_MAX_IN];
    for (unsigned i = 0; i < n_in; i++)
        in[i] = k->in[i].data;
    row(out->data, in, n, ctx);
}

/* The value of a SCALAR operand. */
static inline double jn_scalar_f(const jn_view *v) {
    return v->dtype == JANUS_F64    ? *(const double *)v->data
           : v->dtype == JANUS_BOOL ? (double)*(const bool *)v->data
                                    : (double)*(const int64_t *)v->data;
}
static inline int64_t jn_scalar_i(const jn_view *v) {
    return v->dtype == JANUS_F64    ? (int64_t) * (const double *)v->data
           : v->dtype == JANUS_BOOL ? (int64_t) * (const bool *)v->data
                                    : *(const int64_t *)v->data;
}

#endif
