/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Macros that make an elementwise kernel from an expression: a row function (a loop the compiler
 * vectorises) and the kernel that drives it.  `k` is visible in SETUP, which runs once per row
 * call.  For isa_*.c only.
 */
#ifndef JN_OPS_CPU_ISA_ROWS_H
#define JN_OPS_CPU_ISA_ROWS_H

#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "ops/cpu/vmath.h"

#define JN_KERNEL(name, n_in, grain)                                                               \
    static void name(const jn_kargs *k) { jn_ew(k, n_in, grain, name##_row, k); }

#define JN_ROW1(name, TX, TO, grain, SETUP, EXPR)                                                  \
    static void name##_row(void *out, const void *const *in, int64_t n, const void *ctx) {         \
        const jn_kargs *k = ctx;                                                                   \
        TO *o = out;                                                                               \
        const TX *px = in[0];                                                                      \
        (void)k;                                                                                   \
        SETUP;                                                                                     \
        JN_VECTOR_LOOP                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            TX x = px[i];                                                                          \
            o[i] = (TO)(EXPR);                                                                     \
        }                                                                                          \
    }                                                                                              \
    JN_KERNEL(name, 1, grain)

#define JN_ROW2(name, TA, TB, TO, grain, SETUP, EXPR)                                              \
    static void name##_row(void *out, const void *const *in, int64_t n, const void *ctx) {         \
        const jn_kargs *k = ctx;                                                                   \
        TO *o = out;                                                                               \
        const TA *pa = in[0];                                                                      \
        const TB *pb = in[1];                                                                      \
        (void)k;                                                                                   \
        SETUP;                                                                                     \
        JN_VECTOR_LOOP                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            TA a = pa[i];                                                                          \
            TB b = pb[i];                                                                          \
            o[i] = (TO)(EXPR);                                                                     \
        }                                                                                          \
    }                                                                                              \
    JN_KERNEL(name, 2, grain)

#define JN_ROW3(name, TX, TA, TB, TO, grain, SETUP, EXPR)                                          \
    static void name##_row(void *out, const void *const *in, int64_t n, const void *ctx) {         \
        const jn_kargs *k = ctx;                                                                   \
        TO *o = out;                                                                               \
        const TX *px = in[0];                                                                      \
        const TA *pa = in[1];                                                                      \
        const TB *pb = in[2];                                                                      \
        (void)k;                                                                                   \
        SETUP;                                                                                     \
        JN_VECTOR_LOOP                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            TX x = px[i];                                                                          \
            TA a = pa[i];                                                                          \
            TB b = pb[i];                                                                          \
            o[i] = (TO)(EXPR);                                                                     \
        }                                                                                          \
    }                                                                                              \
    JN_KERNEL(name, 3, grain)

/* One kernel for each dtype, of an expression in which T is the element type. */
#define JN_CHEAP JN_EW_GRAIN
#define JN_COSTLY (JN_EW_GRAIN / 4)

#endif
