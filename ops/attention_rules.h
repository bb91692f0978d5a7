/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernels of attention share, on every device: its sizes, and where the matrices of each
 * member of the batch lie.  C and C++.
 */
#ifndef JN_OPS_ATTENTION_RULES_H
#define JN_OPS_ATTENTION_RULES_H

#include <math.h>

#include "ops/attrs.h"
#include "ops/kernel.h"

/* Operands of attention_grad; attention's are those from QUERY on to MASK, one less each. */
enum {
    JN_ATTENTION_DY,
    JN_ATTENTION_QUERY,
    JN_ATTENTION_KEY,
    JN_ATTENTION_VALUE,
    JN_ATTENTION_MASK,
    JN_ATTENTION_Y,
    JN_ATTENTION_LSE
};

typedef struct jn_attention {
    int rank; /* of the batch dims, which are the first result's */
    int64_t dims[JN_MAX_RANK], batch;
    int64_t l, s, e, v; /* queries, keys, their length, a value's length */
    double scale;
    bool causal;
} jn_attention;

static inline jn_attention jn_attention_of(const jn_view *query, const jn_view *key,
                                           const jn_view *value, const jn_view *result,
                                           const void *attrs) {
    const janus_attention_attrs *a = (const janus_attention_attrs *)attrs;
    jn_attention t;
    t.rank = result->rank - 2;
    t.batch = 1;
    for (int d = 0; d < t.rank; d++)
        t.batch *= t.dims[d] = result->dims[d];
    t.l = query->dims[query->rank - 2];
    t.s = key->dims[key->rank - 2];
    t.e = query->dims[query->rank - 1];
    t.v = value->dims[value->rank - 1];
    t.scale = a->scale != 0 ? a->scale : 1 / sqrt((double)t.e);
    t.causal = a->causal != 0;
    return t;
}

/* Strides of an operand along the batch dims, 0 where it is broadcast; its last `own` dims are no
 * batch dims. */
static inline void jn_attention_strides(const jn_attention *t, const jn_view *v, int own,
                                        int64_t *to) {
    for (int d = 0; d < t->rank; d++) {
        int at = d - t->rank + v->rank - own;
        to[d] = at < 0 || v->dims[at] == 1 ? 0 : v->strides[at];
    }
}

/* Offset of member i of the batch. */
static inline int64_t jn_attention_at(const jn_attention *t, const int64_t *strides, int64_t i) {
    int64_t o = 0;
    for (int d = t->rank - 1; d >= 0; d--) {
        o += i % t->dims[d] * strides[d];
        i /= t->dims[d];
    }
    return o;
}

/* Stride of a mask along queries (from_end 2) or keys (1). */
static inline int64_t jn_attention_mask_stride(const jn_view *mask, int from_end) {
    int d = mask->rank - from_end;
    return d < 0 || mask->dims[d] == 1 ? 0 : mask->strides[d];
}

#endif
