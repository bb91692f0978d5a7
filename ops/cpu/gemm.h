/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of f32 and f64 matrices for the other kernels: oneDNN for large f32 ones where there is
 * oneDNN, own kernels else; split over threads when large.  How a product is split depends on its
 * shape alone, so its bits do not depend on the number of threads; they may depend, within
 * rounding, on the number of rows ("exact" mode multiplies row by row).
 */
#ifndef JN_OPS_CPU_GEMM_H
#define JN_OPS_CPU_GEMM_H

#include "ops/cpu/isa.h"

void jn_gemm(int dtype, const jn_gemm_args *g, const jn_par *par);
/* Whether that is one call of an own kernel, of f32 rows that are regular. */
bool jn_gemm_is_own(const jn_gemm_args *g);

/* ops/cpu/products/packs.c: the panels of B, where they are there or pay now; NULL: without. */
const void *jn_packs_find(jn_packs *packs, const jn_gemm_args *g, const jn_par *par);

/* ops/cpu/products/onednn.c.  On this thread alone, whatever OpenMP was told. False: not done. */
bool jn_onednn_sgemm(const jn_gemm_args *g);

/* A convolution of f32 rows (NCHW) or one of its gradients. */
enum { JN_CONV_FORWARD, JN_CONV_INPUT, JN_CONV_WEIGHT };
typedef struct jn_conv_shape { /* 8-byte members only: compared as memory */
    int64_t n, c, h, w, o, kh, kw, oh, ow, groups;
    int64_t stride[2], padding[2], dilation[2];
    int64_t bias;
} jn_conv_shape;
typedef struct jn_conv_call {
    jn_conv_shape shape;
    const void *x, *w, *b, *y; /* one of x, w, y is the result (or a gradient given) */
    bool accumulate;           /* JN_CONV_WEIGHT: add to w */
} jn_conv_call;
/* False: not done, and nothing written. */
bool jn_onednn_conv(int kind, const jn_conv_call *call, const jn_par *par, uint32_t *flags);
/* ops/cpu/products/conv_few.c, likewise. */
bool jn_conv_few(int kind, const jn_conv_call *call, const jn_par *par);

#endif
