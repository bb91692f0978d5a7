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

/* ops/cpu/onednn.c.  On this thread alone, whatever OpenMP was told. False: not done. */
bool jn_onednn_sgemm(const jn_gemm_args *g);

#endif
