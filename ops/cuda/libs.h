/* SPDX-License-Identifier: Apache-2.0 */
/* What the files over the vendor's libraries share (ops/cuda/libs.c, dnn.c); C only. */
#ifndef JN_OPS_CUDA_LIBS_H
#define JN_OPS_CUDA_LIBS_H

#include "ops/cuda/dnn_api.h"

enum { JN_CUDA_LIBRARY_FAILED = 999 }; /* cudaErrorUnknown */

/* cuDNN of what jn_cuda_libs_new made; NULL: not found. */
jn_dnn *jn_cuda_libs_dnn(void *libs);

struct jn_lt_api;
/* What jn_cuda_libs_new does, with these tables; NULL: that library was not found. */
bool jn_cuda_libs_over(const struct jn_lt_api *lt, const jn_dnn_api *dnn, void *memory,
                       const char **why);

#endif
