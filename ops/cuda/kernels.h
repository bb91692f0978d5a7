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
size_t jn_cuda_loss_workspace(const jn_sig *sig);   /* ops/cuda/nn.cu */
size_t jn_cuda_pair_workspace(const jn_sig *sig);

/* ops/cuda/libs.c: cuBLASLt, opened at run time */
extern const size_t jn_cuda_libs_size;
bool jn_cuda_libs_new(void *stream, void *memory, const char **why);
void jn_cuda_libs_free(void *libs);
/* y[m][n] (+)= a[m][k] b[k][n], row-major with leading dimensions, `batch` of them s* elements
 * apart; *_transposed: the operand lies column-major. */
typedef struct jn_cuda_gemm {
    int dtype;
    bool a_transposed, b_transposed;
    int64_t m, n, k;
    const void *a;
    int64_t lda, sa;
    const void *b;
    int64_t ldb, sb;
    void *y;
    int64_t ldy, sy, batch;
    bool add;
    void *workspace;
    size_t workspace_bytes;
} jn_cuda_gemm;
/* Workspace of a product of so many elements: what a split of the summed dim may want. */
static inline size_t jn_cuda_gemm_workspace(int64_t numel) {
#ifdef JN_CUDA_EMULATED
    (void)numel; /* there is no library */
    return 0;
#else
    const int64_t least = 1 << 16, most = 32 << 20;
    int64_t bytes = numel < most / 64 ? 64 * numel : most;
    return (size_t)(bytes < least ? least : bytes);
#endif
}
/* False: cuBLASLt does not do this one (nothing happened), or e->error is set. */
bool jn_cuda_blas_gemm(jn_cu_exec *e, const jn_cuda_gemm *g);

/* ops/cuda/rows.cu */
void jn_cuda_gather_rows(jn_cu_exec *e, void *to, void *const *src, uint32_t n, size_t bytes);
void jn_cuda_sum_rows(jn_cu_exec *e, void *acc, const void *x, int64_t numel, int64_t rows,
                      int64_t step, uint8_t dtype);

#ifdef __cplusplus
}
#endif

#endif
