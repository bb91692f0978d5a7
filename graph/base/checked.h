/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic on sizes, strides and attributes, which come from outside and may be anything: each
 * function says whether the exact result fits, and leaves *out alone where it does not.
 */
#ifndef JN_BASE_CHECKED_H
#define JN_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool jn_add_i64(int64_t a, int64_t b, int64_t *out) {
    int64_t r;
    if (__builtin_add_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

static inline bool jn_sub_i64(int64_t a, int64_t b, int64_t *out) {
    int64_t r;
    if (__builtin_sub_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

static inline bool jn_mul_i64(int64_t a, int64_t b, int64_t *out) {
    int64_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

#endif
