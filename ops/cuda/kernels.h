/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions the files of the CUDA module offer each other.  C and C++; the select rules of ops
 * (jn_cuda_<rule>) are declared from the op table by exec/device/cuda/module.c.
 */
#ifndef JN_OPS_CUDA_KERNELS_H
#define JN_OPS_CUDA_KERNELS_H

#include "ops/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* exec/device/cuda/runtime.c; the tests' emulation has its own */
const jn_dev_api *jn_cuda_api(void);

/* Scratch bytes the kernel of a signature wants (ops/cuda/workspace.c). */
size_t jn_cuda_workspace(const jn_sig *sig);
size_t jn_cuda_reduce_workspace(const jn_sig *sig); /* ops/cuda/reduce.cu */
size_t jn_cuda_loss_workspace(const jn_sig *sig);   /* ops/cuda/nn.cu */
size_t jn_cuda_pair_workspace(const jn_sig *sig);
size_t jn_cuda_layer_norm_grad_workspace(const jn_sig *sig);          /* ops/cuda/norm.cu */
size_t jn_cuda_add_slices_workspace(const jn_sig *sig);               /* ops/cuda/index.cu */
size_t jn_cuda_attention_workspace(const jn_sig *sig, bool backward); /* ops/cuda/attention.cu */

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
    const void *bias; /* [n], of the same dtype, added to every row; NULL: none */
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
bool jn_cuda_blas_gemm(jn_dev_exec *e, const jn_cuda_gemm *g);

/* ops/cuda/dnn.c: cuDNN's graph API, opened at run time.  A convolution between x [N,C,H,W], w
 * [O,C/groups,KH,KW] and y [N,O,OH,OW], of which one is written. */
typedef enum jn_dnn_kind {
    JN_DNN_FORWARD,
    JN_DNN_INPUT_GRAD,
    JN_DNN_WEIGHT_GRAD,
    JN_DNN_ATTENTION,
    JN_DNN_ATTENTION_GRAD
} jn_dnn_kind;
typedef struct jn_dnn_conv {
    jn_dnn_kind kind;
    int dtype;
    int64_t dims[3][4], strides[3][4]; /* of x, w, y */
    int64_t stride[2], pad[2], dilation[2];
    void *data[3];
    void *workspace;
    size_t workspace_bytes;
} jn_dnn_conv;
/* Workspace of a convolution whose three tensors have so many bytes: room for copies of them in
 * the layout that the library's kernels want, or transformed by Winograd's, whose tiles of 4x4
 * pixels become 6x6, and weights of 3x3 too. */
static inline size_t jn_cuda_conv_workspace(int64_t bytes) {
#ifdef JN_CUDA_EMULATED
    return (size_t)(bytes < 1 << 16 ? bytes : 1 << 16); /* no library, but sums that are cut */
#else
    const int64_t least = 16 << 20, most = 512 << 20;
    bytes = bytes < most / 4 ? 4 * bytes : most;
    return (size_t)(bytes < least ? least : bytes);
#endif
}
/* False: cuDNN does not do this one (nothing happened), or e->error is set. */
bool jn_cuda_dnn_conv(jn_dev_exec *e, const jn_dnn_conv *c);

/* ops/cuda/dnn_attention.c.  query [B,H,L,E], key [B,H,S,E], value [B,H,S,V], dy [B,H,L,V], whose
 * last dims lie side by side; y [B,H,L,V], lse [B,H,L] and the gradients are row-major. */
enum { JN_DNN_ATTENTION_TENSORS = 9 };
typedef struct jn_dnn_attention {
    int dtype; /* f16 or bf16 */
    int64_t dims[4][4], strides[4][4];
    /* query, key, value, y, lse; for the gradients: dy, dquery, dkey, dvalue */
    void *data[JN_DNN_ATTENTION_TENSORS];
    /* f32, row-major [bias_dims, L, S], where bias_dims are B and H or 1: added to the scores
     * before what is causal; NULL: none */
    const void *bias;
    int64_t bias_dims[2];
    float scale;
    bool causal, backward;
    void *workspace;
    size_t workspace_bytes;
} jn_dnn_attention;
/* False: cuDNN does not do this one (nothing happened), or e->error is set. */
bool jn_cuda_dnn_attention(jn_dev_exec *e, const jn_dnn_attention *a);

/* ops/cuda/optim.cu */
const jn_dev_many *jn_cuda_many(jn_kernel_fn kernel);

/* ops/cuda/rows.cu */
void jn_cuda_move_all(jn_dev_exec *e, const jn_dev_moving *moves, uint32_t n);
void jn_cuda_gather_rows(jn_dev_exec *e, void *to, void *const *src, uint32_t n, size_t bytes);
void jn_cuda_take_rows(jn_dev_exec *e, void *to, const void *table, const void *count,
                       uint32_t rows, size_t bytes);
void jn_cuda_give_rows(jn_dev_exec *e, const void *to, const void *from, const void *count,
                       uint32_t rows, size_t bytes);
void jn_cuda_sum_rows(jn_dev_exec *e, void *acc, const void *x, int64_t numel, int64_t rows,
                      int64_t step, uint8_t dtype);
void jn_cuda_nothing(jn_dev_exec *e);

/* ops/cuda/chain.cu */
jn_kernel_fn jn_cuda_chain(const jn_sig *sig);

/* ops/cuda/conv_small.cu.  A call of conv2d, or with `grad` of conv2d_input_grad; false: it is not
 * small, and nothing happened. */
bool jn_cuda_small_conv(const jn_kargs *k, bool grad);
jn_kernel_fn jn_cuda_chain_head(const jn_sig *sig);

/* ops/cuda/branch.cu */
void jn_cuda_decide(jn_dev_exec *e, const jn_dev_decision *d);

#ifdef __cplusplus
}
#endif

#endif
