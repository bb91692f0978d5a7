/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of cuBLASLt that are used, as a table: names without their prefix. */
#ifndef JN_OPS_CUDA_LT_API_H
#define JN_OPS_CUDA_LT_API_H

#include <cublasLt.h>
#include <stdbool.h>

#define JN_LT_LIST(X)                                                                              \
    X(Create)                                                                                      \
    X(Destroy)                                                                                     \
    X(MatmulDescCreate)                                                                            \
    X(MatmulDescDestroy)                                                                           \
    X(MatmulDescSetAttribute)                                                                      \
    X(MatrixLayoutCreate)                                                                          \
    X(MatrixLayoutDestroy)                                                                         \
    X(MatrixLayoutSetAttribute)                                                                    \
    X(MatmulPreferenceCreate)                                                                      \
    X(MatmulPreferenceDestroy)                                                                     \
    X(MatmulPreferenceSetAttribute)                                                                \
    X(MatmulAlgoGetHeuristic)                                                                      \
    X(Matmul)

typedef struct jn_lt_api {
#define JN_LT_FIELD(name) __typeof__(&cublasLt##name) name;
    JN_LT_LIST(JN_LT_FIELD)
#undef JN_LT_FIELD
} jn_lt_api;

#endif
