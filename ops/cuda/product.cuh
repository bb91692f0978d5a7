/* SPDX-License-Identifier: Apache-2.0 */
/* A batch of matrix products over any strides: what kernels made of products hand to linear.cu. */
#ifndef JN_OPS_CUDA_PRODUCT_CUH
#define JN_OPS_CUDA_PRODUCT_CUH

#include "ops/cuda/cuda.cuh"

/* y[b][m][n] (+)= sum over k of a[b][m][k] * c[b][k][n] + bias[n]; strides in elements. */
struct product {
    const char *a, *b, *bias;
    void *workspace; /* for the library */
    size_t workspace_bytes;
    char *y;
    int dtype, dtype_a, dtype_b; /* y's and bias's, a's, b's */
    i64 m, n, k;
    i64 am, ak, bk, bn, ym, yn;
    i64 bias_s;
    int rank; /* of the batch dims */
    i64 d[JN_MAX_RANK], sa[JN_MAX_RANK], sb[JN_MAX_RANK], sy[JN_MAX_RANK];
    i64 batch;
    bool add;
    const uint32_t *stop; /* nothing is written once this is not 0; NULL: no such word */
};

void jn_cuda_product(jn_dev_exec *e, const product &p);

/* ops/cuda/conv_small.cu.  A product of f32 whose result is small; false: it is not one, and nothing
 * happened. */
bool jn_cuda_small_product(jn_dev_exec *e, const product &p);

#endif
