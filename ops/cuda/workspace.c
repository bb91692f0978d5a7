/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory of the CUDA kernels, per signature. */
#include "config.h"

#include "ops/cuda/kernels.h"
#include "ops/op_ids.h"

size_t jn_cuda_workspace(const jn_sig *sig) {
    (void)sig;
    return 0;
}
