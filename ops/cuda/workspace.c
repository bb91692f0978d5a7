/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory of the CUDA kernels, per signature. */
#include "config.h"

#include "ops/cuda/kernels.h"
#include "ops/op_ids.h"

static int64_t bytes_of(const jn_view *v) {
    return jn_numel(v) * (v->dtype == JANUS_F64 ? 8 : v->dtype == JANUS_F32 ? 4 : 2);
}

size_t jn_cuda_workspace(const jn_sig *sig) {
    switch (sig->op->id) {
    case JN_OP_ID_sum:
    case JN_OP_ID_sum_like:
    case JN_OP_ID_mean:
    case JN_OP_ID_prod:
    case JN_OP_ID_max:
    case JN_OP_ID_min:
    case JN_OP_ID_max_dim:
    case JN_OP_ID_min_dim:
    case JN_OP_ID_argmax:
    case JN_OP_ID_argmin:
    case JN_OP_ID_any:
    case JN_OP_ID_all:
    case JN_OP_ID_logsumexp:
    case JN_OP_ID_var:
    case JN_OP_ID_norm:
        return jn_cuda_reduce_workspace(sig);
    case JN_OP_ID_layer_norm_grad:
        return jn_cuda_layer_norm_grad_workspace(sig);
    case JN_OP_ID_embedding_grad:
    case JN_OP_ID_index_add:
        return jn_cuda_add_slices_workspace(sig);
    case JN_OP_ID_cross_entropy:
    case JN_OP_ID_cross_entropy_grad:
    case JN_OP_ID_nll_loss:
    case JN_OP_ID_nll_loss_grad:
        return jn_cuda_loss_workspace(sig);
    case JN_OP_ID_mse_loss:
    case JN_OP_ID_bce_with_logits:
    case JN_OP_ID_smooth_l1:
        return jn_cuda_pair_workspace(sig);
    case JN_OP_ID_matmul:
    case JN_OP_ID_linear:
    case JN_OP_ID_outer:
        return jn_cuda_gemm_workspace(jn_numel(&sig->out[0]));
    case JN_OP_ID_conv2d:
    case JN_OP_ID_conv2d_input_grad:
    case JN_OP_ID_conv2d_weight_grad:
        return jn_cuda_conv_workspace(bytes_of(&sig->in[0]) + bytes_of(&sig->in[1]) +
                                      bytes_of(&sig->out[0]));
    case JN_OP_ID_attention:
        return jn_cuda_attention_workspace(sig, false);
    case JN_OP_ID_attention_grad:
        return jn_cuda_attention_workspace(sig, true);
    case JN_OP_ID_max_pool2d_grad:
        return 16;
    default:
        return 0;
    }
}
