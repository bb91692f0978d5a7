/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions the files of the CUDA module offer each other.  C and C++; the select rules of ops
 * (jn_cuda_<rule>) are declared from the op table by exec/cuda/module.c.
 */
#ifndef JN_OPS_CUDA_KERNELS_H
#define JN_OPS_CUDA_KERNELS_H

#include "ops/cuda/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* exec/cuda/runtime.c; the tests' emulation has its own */
const jn_dev_api *jn_cuda_api(void);

/* Scratch bytes the kernel of a signature wants (ops/cuda/workspace.c). */
size_t jn_cuda_workspace(const jn_sig *sig);
size_t jn_cuda_reduce_workspace(const jn_sig *sig); /* ops/cuda/reduce.cu */

/* ops/cuda/libs.c: cuBLAS and cuDNN, opened at run time */
int jn_cuda_libs_new(void **out, const char **why);
void jn_cuda_libs_free(void *libs);

/* ops/cuda/rows.cu */
void jn_cuda_gather_rows(jn_cu_exec *e, void *to, void *const *src, uint32_t n, size_t bytes);
void jn_cuda_sum_rows(jn_cu_exec *e, void *acc, const void *x, int64_t numel, int64_t rows,
                      int64_t step, uint8_t dtype);

#ifdef __cplusplus
}
#endif

#endif
