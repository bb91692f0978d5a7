/* SPDX-License-Identifier: Apache-2.0 */
/* Reading index tensors: any integer type, negative from the end, out of range with a flag. */
#ifndef JN_OPS_CPU_TAKE_H
#define JN_OPS_CPU_TAKE_H

#include "ops/kernel.h"

static inline int64_t jn_index_at(const jn_view *v, int64_t i) {
    return v->dtype == JANUS_I64   ? ((const int64_t *)v->data)[i]
           : v->dtype == JANUS_I32 ? (int64_t)((const int32_t *)v->data)[i]
                                   : (int64_t)((const uint8_t *)v->data)[i];
}

/* Wraps a negative index; -1 and the flag when out of range. */
static inline int64_t jn_index_checked(const jn_kargs *k, int64_t i, int64_t n) {
    if (i < -n || i >= n) {
        __atomic_fetch_or(k->flags, JN_KFLAG_INDEX, __ATOMIC_RELAXED);
        return -1;
    }
    return i < 0 ? i + n : i;
}

/* The same for ops whose indices count from the start only, as PyTorch's gather and embedding. */
static inline int64_t jn_index_from_start(const jn_kargs *k, int64_t i, int64_t n) {
    return jn_index_checked(k, i < 0 && !k->from_end ? n : i, n);
}

#endif
