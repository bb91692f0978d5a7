/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attribute structs and typed builder calls of all ops.
 * Written by `janus-opdoc --c` from ops/def/; do not edit.
 *
 * attrs NULL: all defaults.  To set some, fill the whole struct, struct_size included.
 * An operand that may be absent: JANUS_ABSENT.  See docs/ops.md.
 */
#ifndef JANUS_OPS_H
#define JANUS_OPS_H

#include "janus.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { JANUS_OPS_MAX_VARIADIC = 64 }; /* more operands: janus_build */

static inline janus_value janus_absent(void) {
    janus_value v = {UINT32_MAX, UINT32_MAX};
    return v;
}
#define JANUS_ABSENT janus_absent()

#ifndef JN_OPS_ATTRS_H /* inside the library they are made from the table itself */
typedef struct janus_gelu_attrs {
    size_t struct_size;
    int64_t approximate; /* default: false */
} janus_gelu_attrs;
typedef struct janus_leaky_relu_attrs {
    size_t struct_size;
    double slope; /* default: 0.01 */
} janus_leaky_relu_attrs;
typedef struct janus_elu_attrs {
    size_t struct_size;
    double alpha; /* default: 1 */
} janus_elu_attrs;
typedef struct janus_polygamma_attrs {
    size_t struct_size;
    int64_t n; /* default: 0 */
} janus_polygamma_attrs;
typedef struct janus_clamp_attrs {
    size_t struct_size;
    double lo; /* default: -inf */
    double hi; /* default: inf */
} janus_clamp_attrs;
typedef struct janus_cast_attrs {
    size_t struct_size;
    int64_t dtype; /* required */
} janus_cast_attrs;
typedef struct janus_clamp_grad_attrs {
    size_t struct_size;
    double lo; /* default: -inf */
    double hi; /* default: inf */
} janus_clamp_grad_attrs;
typedef struct janus_gelu_grad_attrs {
    size_t struct_size;
    int64_t approximate; /* default: false */
} janus_gelu_grad_attrs;
typedef struct janus_sum_attrs {
    size_t struct_size;
    janus_ints dims; /* default: none */
    int64_t keepdim; /* default: false */
} janus_sum_attrs;
typedef struct janus_mean_attrs {
    size_t struct_size;
    janus_ints dims; /* default: none */
    int64_t keepdim; /* default: false */
} janus_mean_attrs;
typedef struct janus_prod_attrs {
    size_t struct_size;
    janus_ints dims; /* default: none */
    int64_t keepdim; /* default: false */
} janus_prod_attrs;
typedef struct janus_max_attrs {
    size_t struct_size;
    janus_ints dims; /* default: none */
    int64_t keepdim; /* default: false */
} janus_max_attrs;
typedef struct janus_min_attrs {
    size_t struct_size;
    janus_ints dims; /* default: none */
    int64_t keepdim; /* default: false */
} janus_min_attrs;
typedef struct janus_max_dim_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
    int64_t keepdim; /* default: false */
} janus_max_dim_attrs;
typedef struct janus_min_dim_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
    int64_t keepdim; /* default: false */
} janus_min_dim_attrs;
typedef struct janus_argmax_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
    int64_t all; /* default: false */
    int64_t keepdim; /* default: false */
} janus_argmax_attrs;
typedef struct janus_argmin_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
    int64_t all; /* default: false */
    int64_t keepdim; /* default: false */
} janus_argmin_attrs;
typedef struct janus_any_attrs {
    size_t struct_size;
    janus_ints dims; /* default: none */
    int64_t keepdim; /* default: false */
} janus_any_attrs;
typedef struct janus_all_attrs {
    size_t struct_size;
    janus_ints dims; /* default: none */
    int64_t keepdim; /* default: false */
} janus_all_attrs;
typedef struct janus_logsumexp_attrs {
    size_t struct_size;
    janus_ints dims; /* default: none */
    int64_t keepdim; /* default: false */
} janus_logsumexp_attrs;
typedef struct janus_var_attrs {
    size_t struct_size;
    janus_ints dims; /* default: none */
    int64_t keepdim; /* default: false */
    int64_t correction; /* default: 1 */
} janus_var_attrs;
typedef struct janus_norm_attrs {
    size_t struct_size;
    janus_ints dims; /* default: none */
    int64_t keepdim; /* default: false */
    double p; /* default: 2 */
} janus_norm_attrs;
typedef struct janus_cumsum_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
    int64_t reverse; /* default: false */
} janus_cumsum_attrs;
typedef struct janus_reshape_attrs {
    size_t struct_size;
    janus_ints shape; /* default: none */
} janus_reshape_attrs;
typedef struct janus_transpose_attrs {
    size_t struct_size;
    int64_t dim0; /* default: -2 */
    int64_t dim1; /* default: -1 */
} janus_transpose_attrs;
typedef struct janus_permute_attrs {
    size_t struct_size;
    janus_ints dims; /* required */
} janus_permute_attrs;
typedef struct janus_expand_attrs {
    size_t struct_size;
    janus_ints shape; /* default: none */
} janus_expand_attrs;
typedef struct janus_unsqueeze_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
} janus_unsqueeze_attrs;
typedef struct janus_squeeze_attrs {
    size_t struct_size;
    janus_ints axis; /* default: none */
} janus_squeeze_attrs;
typedef struct janus_slice_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
    int64_t step; /* default: 1 */
} janus_slice_attrs;
typedef struct janus_select_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
} janus_select_attrs;
typedef struct janus_concat_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
} janus_concat_attrs;
typedef struct janus_stack_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
} janus_stack_attrs;
typedef struct janus_pad_attrs {
    size_t struct_size;
    janus_ints before; /* required */
    janus_ints after; /* required */
    double value; /* default: 0 */
} janus_pad_attrs;
typedef struct janus_flip_attrs {
    size_t struct_size;
    janus_ints dims; /* default: none */
} janus_flip_attrs;
typedef struct janus_roll_attrs {
    size_t struct_size;
    janus_ints shifts; /* required */
    janus_ints dims; /* default: none */
} janus_roll_attrs;
typedef struct janus_tril_attrs {
    size_t struct_size;
    int64_t diagonal; /* default: 0 */
} janus_tril_attrs;
typedef struct janus_triu_attrs {
    size_t struct_size;
    int64_t diagonal; /* default: 0 */
} janus_triu_attrs;
typedef struct janus_diag_attrs {
    size_t struct_size;
    int64_t diagonal; /* default: 0 */
} janus_diag_attrs;
typedef struct janus_repeat_attrs {
    size_t struct_size;
    janus_ints repeats; /* required */
} janus_repeat_attrs;
typedef struct janus_slice_scatter_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
    int64_t step; /* default: 1 */
} janus_slice_scatter_attrs;
typedef struct janus_select_scatter_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
} janus_select_scatter_attrs;
typedef struct janus_slice_grad_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
    int64_t step; /* default: 1 */
} janus_slice_grad_attrs;
typedef struct janus_select_grad_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
} janus_select_grad_attrs;
typedef struct janus_gather_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
} janus_gather_attrs;
typedef struct janus_scatter_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
} janus_scatter_attrs;
typedef struct janus_scatter_add_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
} janus_scatter_add_attrs;
typedef struct janus_index_select_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
} janus_index_select_attrs;
typedef struct janus_index_add_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
} janus_index_add_attrs;
typedef struct janus_embedding_attrs {
    size_t struct_size;
    int64_t padding_idx; /* default: -1 */
} janus_embedding_attrs;
typedef struct janus_embedding_grad_attrs {
    size_t struct_size;
    int64_t padding_idx; /* default: -1 */
} janus_embedding_grad_attrs;
typedef struct janus_index_attrs {
    size_t struct_size;
    janus_ints axes; /* required */
} janus_index_attrs;
typedef struct janus_index_put_attrs {
    size_t struct_size;
    janus_ints axes; /* required */
    int64_t accumulate; /* default: false */
} janus_index_put_attrs;
typedef struct janus_one_hot_attrs {
    size_t struct_size;
    int64_t num_classes; /* required */
} janus_one_hot_attrs;
typedef struct janus_sort_attrs {
    size_t struct_size;
    int64_t axis; /* default: -1 */
    int64_t descending; /* default: false */
} janus_sort_attrs;
typedef struct janus_argsort_attrs {
    size_t struct_size;
    int64_t axis; /* default: -1 */
    int64_t descending; /* default: false */
} janus_argsort_attrs;
typedef struct janus_topk_attrs {
    size_t struct_size;
    int64_t k; /* required */
    int64_t axis; /* default: -1 */
    int64_t largest; /* default: true */
} janus_topk_attrs;
typedef struct janus_matmul_attrs {
    size_t struct_size;
    int64_t transpose_a; /* default: false */
    int64_t transpose_b; /* default: false */
} janus_matmul_attrs;
typedef struct janus_conv2d_attrs {
    size_t struct_size;
    janus_ints stride; /* default: 1,1 */
    janus_ints padding; /* default: 0,0 */
    janus_ints dilation; /* default: 1,1 */
    int64_t groups; /* default: 1 */
} janus_conv2d_attrs;
typedef struct janus_conv2d_input_grad_attrs {
    size_t struct_size;
    janus_ints stride; /* default: 1,1 */
    janus_ints padding; /* default: 0,0 */
    janus_ints dilation; /* default: 1,1 */
    int64_t groups; /* default: 1 */
} janus_conv2d_input_grad_attrs;
typedef struct janus_conv2d_weight_grad_attrs {
    size_t struct_size;
    janus_ints stride; /* default: 1,1 */
    janus_ints padding; /* default: 0,0 */
    janus_ints dilation; /* default: 1,1 */
    int64_t groups; /* default: 1 */
} janus_conv2d_weight_grad_attrs;
typedef struct janus_softmax_attrs {
    size_t struct_size;
    int64_t axis; /* default: -1 */
} janus_softmax_attrs;
typedef struct janus_softmax_grad_attrs {
    size_t struct_size;
    int64_t axis; /* default: -1 */
} janus_softmax_grad_attrs;
typedef struct janus_log_softmax_attrs {
    size_t struct_size;
    int64_t axis; /* default: -1 */
} janus_log_softmax_attrs;
typedef struct janus_log_softmax_grad_attrs {
    size_t struct_size;
    int64_t axis; /* default: -1 */
} janus_log_softmax_grad_attrs;
typedef struct janus_cross_entropy_attrs {
    size_t struct_size;
    int64_t reduction; /* default: 1 */
    int64_t ignore_index; /* default: -100 */
    double label_smoothing; /* default: 0 */
} janus_cross_entropy_attrs;
typedef struct janus_cross_entropy_grad_attrs {
    size_t struct_size;
    int64_t reduction; /* default: 1 */
    int64_t ignore_index; /* default: -100 */
    double label_smoothing; /* default: 0 */
} janus_cross_entropy_grad_attrs;
typedef struct janus_nll_loss_attrs {
    size_t struct_size;
    int64_t reduction; /* default: 1 */
    int64_t ignore_index; /* default: -100 */
} janus_nll_loss_attrs;
typedef struct janus_nll_loss_grad_attrs {
    size_t struct_size;
    int64_t reduction; /* default: 1 */
    int64_t ignore_index; /* default: -100 */
} janus_nll_loss_grad_attrs;
typedef struct janus_mse_loss_attrs {
    size_t struct_size;
    int64_t reduction; /* default: 1 */
} janus_mse_loss_attrs;
typedef struct janus_bce_with_logits_attrs {
    size_t struct_size;
    int64_t reduction; /* default: 1 */
} janus_bce_with_logits_attrs;
typedef struct janus_smooth_l1_attrs {
    size_t struct_size;
    int64_t reduction; /* default: 1 */
    double beta; /* default: 1 */
} janus_smooth_l1_attrs;
typedef struct janus_max_pool2d_attrs {
    size_t struct_size;
    janus_ints kernel; /* required */
    janus_ints stride; /* default: none */
    janus_ints padding; /* default: 0,0 */
    janus_ints dilation; /* default: 1,1 */
    int64_t ceil_mode; /* default: false */
} janus_max_pool2d_attrs;
typedef struct janus_avg_pool2d_attrs {
    size_t struct_size;
    janus_ints kernel; /* required */
    janus_ints stride; /* default: none */
    janus_ints padding; /* default: 0,0 */
    int64_t ceil_mode; /* default: false */
    int64_t count_include_pad; /* default: true */
} janus_avg_pool2d_attrs;
typedef struct janus_avg_pool2d_grad_attrs {
    size_t struct_size;
    janus_ints kernel; /* required */
    janus_ints stride; /* default: none */
    janus_ints padding; /* default: 0,0 */
    int64_t ceil_mode; /* default: false */
    int64_t count_include_pad; /* default: true */
} janus_avg_pool2d_grad_attrs;
typedef struct janus_batch_norm_attrs {
    size_t struct_size;
    int64_t training; /* default: true */
    double eps; /* default: 1e-05 */
} janus_batch_norm_attrs;
typedef struct janus_batch_norm_grad_attrs {
    size_t struct_size;
    int64_t training; /* default: true */
} janus_batch_norm_grad_attrs;
typedef struct janus_layer_norm_attrs {
    size_t struct_size;
    int64_t axis; /* default: -1 */
    double eps; /* default: 1e-05 */
} janus_layer_norm_attrs;
typedef struct janus_layer_norm_grad_attrs {
    size_t struct_size;
    int64_t axis; /* default: -1 */
} janus_layer_norm_grad_attrs;
typedef struct janus_attention_attrs {
    size_t struct_size;
    int64_t causal; /* default: false */
    double scale; /* default: 0 */
} janus_attention_attrs;
typedef struct janus_attention_grad_attrs {
    size_t struct_size;
    int64_t causal; /* default: false */
    double scale; /* default: 0 */
} janus_attention_grad_attrs;
typedef struct janus_momentum_step_attrs {
    size_t struct_size;
    double momentum; /* required */
    double dampening; /* default: 0 */
    double weight_decay; /* default: 0 */
    int64_t nesterov; /* default: false */
    int64_t maximize; /* default: false */
} janus_momentum_step_attrs;
typedef struct janus_adam_step_attrs {
    size_t struct_size;
    double beta1; /* default: 0.9 */
    double beta2; /* default: 0.999 */
    double eps; /* default: 1e-08 */
    double weight_decay; /* default: 0 */
    int64_t decoupled; /* default: false */
    int64_t maximize; /* default: false */
} janus_adam_step_attrs;
typedef struct janus_full_attrs {
    size_t struct_size;
    janus_ints shape; /* default: none */
    int64_t dtype; /* default: f32 */
} janus_full_attrs;
typedef struct janus_full_like_attrs {
    size_t struct_size;
    int64_t dtype; /* default: none */
} janus_full_like_attrs;
typedef struct janus_scalar_tensor_attrs {
    size_t struct_size;
    int64_t dtype; /* default: f32 */
} janus_scalar_tensor_attrs;
typedef struct janus_arange_attrs {
    size_t struct_size;
    int64_t dtype; /* default: i64 */
} janus_arange_attrs;
typedef struct janus_eye_attrs {
    size_t struct_size;
    int64_t n; /* required */
    int64_t m; /* required */
    int64_t dtype; /* default: f32 */
} janus_eye_attrs;
typedef struct janus_uniform_attrs {
    size_t struct_size;
    janus_ints shape; /* default: none */
    int64_t dtype; /* default: f32 */
    double low; /* default: 0 */
    double high; /* default: 1 */
} janus_uniform_attrs;
typedef struct janus_normal_attrs {
    size_t struct_size;
    janus_ints shape; /* default: none */
    int64_t dtype; /* default: f32 */
    double mean; /* default: 0 */
    double std; /* default: 1 */
} janus_normal_attrs;
typedef struct janus_randint_attrs {
    size_t struct_size;
    janus_ints shape; /* default: none */
    int64_t dtype; /* default: i64 */
} janus_randint_attrs;
typedef struct janus_bernoulli_mask_attrs {
    size_t struct_size;
    double p; /* default: 0.5 */
    double scale; /* default: 1 */
} janus_bernoulli_mask_attrs;
typedef struct janus_randperm_attrs {
    size_t struct_size;
    int64_t dtype; /* default: i64 */
} janus_randperm_attrs;
typedef struct janus_constant_attrs {
    size_t struct_size;
    janus_data value; /* required */
} janus_constant_attrs;
typedef struct janus_item_attrs {
    size_t struct_size;
    int64_t kind; /* default: 0 */
} janus_item_attrs;
typedef struct janus_size_attrs {
    size_t struct_size;
    int64_t axis; /* default: 0 */
} janus_size_attrs;
typedef struct janus_s_const_attrs {
    size_t struct_size;
    int64_t kind; /* required */
    int64_t i; /* default: 0 */
    double f; /* default: 0 */
} janus_s_const_attrs;
typedef struct janus_assert_attrs {
    size_t struct_size;
    int64_t id; /* default: -1 */
    const char *message; /* default: none */
} janus_assert_attrs;
typedef struct janus_host_attr_attrs {
    size_t struct_size;
    int64_t key; /* required */
} janus_host_attr_attrs;
typedef struct janus_host_unbox_attrs {
    size_t struct_size;
    int64_t kind; /* required */
    int64_t dtype; /* default: none */
    int64_t rank; /* default: -1 */
    janus_ints dims; /* default: none */
} janus_host_unbox_attrs;
typedef struct janus_host_hasattr_attrs {
    size_t struct_size;
    int64_t key; /* required */
} janus_host_hasattr_attrs;
typedef struct janus_host_draw_attrs {
    size_t struct_size;
    int64_t what; /* required */
} janus_host_draw_attrs;
typedef struct janus_host_new_attrs {
    size_t struct_size;
    int64_t what; /* required */
    int64_t tag; /* default: 0 */
} janus_host_new_attrs;
typedef struct janus_host_text_attrs {
    size_t struct_size;
    int64_t key; /* required */
} janus_host_text_attrs;
typedef struct janus_host_delattr_attrs {
    size_t struct_size;
    int64_t key; /* required */
} janus_host_delattr_attrs;
typedef struct janus_host_emit_attrs {
    size_t struct_size;
    int64_t key; /* required */
} janus_host_emit_attrs;
typedef struct janus_host_setattr_attrs {
    size_t struct_size;
    int64_t key; /* required */
    int64_t tag; /* default: 0 */
} janus_host_setattr_attrs;
typedef struct janus_host_setitem_attrs {
    size_t struct_size;
    int64_t tag; /* default: 0 */
} janus_host_setitem_attrs;
typedef struct janus_host_insert_attrs {
    size_t struct_size;
    int64_t tag; /* default: 0 */
} janus_host_insert_attrs;
typedef struct janus_host_setkey_attrs {
    size_t struct_size;
    int64_t tag; /* default: 0 */
} janus_host_setkey_attrs;
typedef struct janus_host_append_attrs {
    size_t struct_size;
    int64_t tag; /* default: 0 */
} janus_host_append_attrs;
typedef struct janus_wire_put_attrs {
    size_t struct_size;
    int64_t what; /* default: 0 */
} janus_wire_put_attrs;
typedef struct janus_wire_of_attrs {
    size_t struct_size;
    int64_t what; /* default: 0 */
} janus_wire_of_attrs;
typedef struct janus_wire_take_attrs {
    size_t struct_size;
    int64_t dtype; /* default: none */
    int64_t rank; /* default: -1 */
    janus_ints dims; /* default: none */
} janus_wire_take_attrs;
typedef struct janus_wire_mark_attrs {
    size_t struct_size;
    int64_t what; /* default: 0 */
} janus_wire_mark_attrs;
typedef struct janus_rows_read_attrs {
    size_t struct_size;
    int64_t part; /* default: 0 */
} janus_rows_read_attrs;
#endif

/* a + b; of bools: or */
static inline janus_status janus_build_add(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "add", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a - b */
static inline janus_status janus_build_sub(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "sub", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a * b; of bools: and */
static inline janus_status janus_build_mul(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "mul", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a / b */
static inline janus_status janus_build_div(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "div", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* floor(a / b) */
static inline janus_status janus_build_floordiv(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "floordiv", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a - floor(a / b) * b: the sign of b */
static inline janus_status janus_build_mod(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "mod", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a to the power exponent */
static inline janus_status janus_build_pow(janus_subgraph *g, janus_value a, janus_value exponent, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = exponent;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "pow", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the larger; NaN wins */
static inline janus_status janus_build_maximum(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "maximum", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the smaller; NaN wins */
static inline janus_status janus_build_minimum(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "minimum", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a == b, bool */
static inline janus_status janus_build_eq(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "eq", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a != b, bool */
static inline janus_status janus_build_ne(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "ne", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a < b, bool */
static inline janus_status janus_build_lt(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "lt", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a <= b, bool */
static inline janus_status janus_build_le(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "le", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a > b, bool */
static inline janus_status janus_build_gt(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "gt", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a >= b, bool */
static inline janus_status janus_build_ge(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "ge", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* both true (zero is false), bool */
static inline janus_status janus_build_logical_and(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "logical_and", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* one or both true (zero is false), bool */
static inline janus_status janus_build_logical_or(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "logical_or", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* exactly one true (zero is false), bool */
static inline janus_status janus_build_logical_xor(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "logical_xor", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* and of every bit; of bools: and; no floats */
static inline janus_status janus_build_bitwise_and(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "bitwise_and", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* or of every bit; of bools: or; no floats */
static inline janus_status janus_build_bitwise_or(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "bitwise_or", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* exclusive or of every bit; of bools: of them; no floats */
static inline janus_status janus_build_bitwise_xor(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "bitwise_xor", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a * 2^b, wrapping around; 0 where b is negative or not below the number of bits; integers */
static inline janus_status janus_build_bitwise_left_shift(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "bitwise_left_shift", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* floor(a / 2^b); 0 or -1 where b is negative or not below the number of bits; integers */
static inline janus_status janus_build_bitwise_right_shift(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "bitwise_right_shift", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* every bit turned; of bools: not; no floats */
static inline janus_status janus_build_bitwise_not(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "bitwise_not", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* -x */
static inline janus_status janus_build_neg(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "neg", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* absolute value */
static inline janus_status janus_build_abs(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "abs", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* e to the x */
static inline janus_status janus_build_exp(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "exp", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* natural logarithm */
static inline janus_status janus_build_log(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "log", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* log(1 + x), exact near 0 */
static inline janus_status janus_build_log1p(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "log1p", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* exp(x) - 1, exact near 0 */
static inline janus_status janus_build_expm1(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "expm1", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* square root */
static inline janus_status janus_build_sqrt(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "sqrt", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* 1 / sqrt(x) */
static inline janus_status janus_build_rsqrt(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "rsqrt", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x * x */
static inline janus_status janus_build_square(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "square", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* 1 / x */
static inline janus_status janus_build_reciprocal(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "reciprocal", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* sine */
static inline janus_status janus_build_sin(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "sin", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* cosine */
static inline janus_status janus_build_cos(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "cos", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* hyperbolic tangent */
static inline janus_status janus_build_tanh(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "tanh", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* 1 / (1 + exp(-x)) */
static inline janus_status janus_build_sigmoid(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "sigmoid", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* max(x, 0) */
static inline janus_status janus_build_relu(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "relu", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x times the normal distribution function of x; approximate: its tanh form */
static inline janus_status janus_build_gelu(janus_subgraph *g, janus_value x, const janus_gelu_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "gelu", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x * sigmoid(x) */
static inline janus_status janus_build_silu(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "silu", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* log(1 + exp(x)) */
static inline janus_status janus_build_softplus(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "softplus", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x where positive, else slope * x */
static inline janus_status janus_build_leaky_relu(janus_subgraph *g, janus_value x, const janus_leaky_relu_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "leaky_relu", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x where positive, else alpha * (exp(x) - 1) */
static inline janus_status janus_build_elu(janus_subgraph *g, janus_value x, const janus_elu_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "elu", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* error function */
static inline janus_status janus_build_erf(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "erf", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* arc sine */
static inline janus_status janus_build_asin(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "asin", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* arc cosine */
static inline janus_status janus_build_acos(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "acos", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* arc tangent */
static inline janus_status janus_build_atan(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "atan", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* inverse hyperbolic sine */
static inline janus_status janus_build_asinh(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "asinh", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* inverse hyperbolic cosine */
static inline janus_status janus_build_acosh(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "acosh", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* inverse hyperbolic tangent */
static inline janus_status janus_build_atanh(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "atanh", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* 1 - erf(x), without cancellation */
static inline janus_status janus_build_erfc(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "erfc", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the number whose error function is x */
static inline janus_status janus_build_erfinv(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "erfinv", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* logarithm of |gamma(x)| */
static inline janus_status janus_build_lgamma(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "lgamma", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the n-th derivative of digamma, which is that of lgamma */
static inline janus_status janus_build_polygamma(janus_subgraph *g, janus_value x, const janus_polygamma_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "polygamma", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* angle of the point (b, a) */
static inline janus_status janus_build_atan2(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "atan2", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* sqrt(a * a + b * b), without overflow */
static inline janus_status janus_build_hypot(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "hypot", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* -1, 0 or 1 */
static inline janus_status janus_build_sign(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "sign", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* largest integer not above x */
static inline janus_status janus_build_floor(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "floor", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* smallest integer not below x */
static inline janus_status janus_build_ceil(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "ceil", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* nearest integer, ties to even */
static inline janus_status janus_build_round(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "round", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x == 0 */
static inline janus_status janus_build_logical_not(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "logical_not", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x is not a number */
static inline janus_status janus_build_isnan(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "isnan", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x is neither infinite nor NaN */
static inline janus_status janus_build_isfinite(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "isfinite", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x limited to [lo, hi]; NaN stays */
static inline janus_status janus_build_clamp(janus_subgraph *g, janus_value x, const janus_clamp_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "clamp", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x converted to dtype; floats truncate to integers */
static inline janus_status janus_build_cast(janus_subgraph *g, janus_value x, const janus_cast_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "cast", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a copy of x */
static inline janus_status janus_build_clone(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "clone", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a where condition holds, else b */
static inline janus_status janus_build_where(janus_subgraph *g, janus_value condition, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = condition;
    in[1] = a;
    in[2] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "where", in, 3, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* value where mask holds, else x */
static inline janus_status janus_build_masked_fill(janus_subgraph *g, janus_value x, janus_value mask, janus_value value, janus_value *out_y) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = mask;
    in[2] = value;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "masked_fill", in, 3, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a + weight * (end - a) */
static inline janus_status janus_build_lerp(janus_subgraph *g, janus_value a, janus_value end, janus_value weight, janus_value *out_y) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = end;
    in[2] = weight;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "lerp", in, 3, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x + value * a * b */
static inline janus_status janus_build_addcmul(janus_subgraph *g, janus_value x, janus_value a, janus_value b, janus_value value, janus_value *out_y) {
    janus_value in[4];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = a;
    in[2] = b;
    in[3] = value;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "addcmul", in, 4, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x + value * a / b */
static inline janus_status janus_build_addcdiv(janus_subgraph *g, janus_value x, janus_value a, janus_value b, janus_value value, janus_value *out_y) {
    janus_value in[4];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = a;
    in[2] = b;
    in[3] = value;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "addcdiv", in, 4, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x + value * a / (sqrt(s) + eps), and x where a is 0: the step of Adagrad, RMSprop and Adam */
static inline janus_status janus_build_addcdiv_sqrt(janus_subgraph *g, janus_value x, janus_value a, janus_value s, janus_value value, janus_value eps, janus_value *out_y) {
    janus_value in[5];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = a;
    in[2] = s;
    in[3] = value;
    in[4] = eps;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "addcdiv_sqrt", in, 5, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* dy * (1 - y * y) */
static inline janus_status janus_build_tanh_grad(janus_subgraph *g, janus_value dy, janus_value y, janus_value *out_dx) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = dy;
    in[1] = y;
    if (!out_dx)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "tanh_grad", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_dx = out[0];
    return st;
}

/* dy * y * (1 - y) */
static inline janus_status janus_build_sigmoid_grad(janus_subgraph *g, janus_value dy, janus_value y, janus_value *out_dx) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = dy;
    in[1] = y;
    if (!out_dx)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "sigmoid_grad", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_dx = out[0];
    return st;
}

/* dy where y > 0, else 0 */
static inline janus_status janus_build_relu_grad(janus_subgraph *g, janus_value dy, janus_value y, janus_value *out_dx) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = dy;
    in[1] = y;
    if (!out_dx)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "relu_grad", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_dx = out[0];
    return st;
}

/* dy where lo < x < hi, else 0; an infinite bound holds for infinite x, too */
static inline janus_status janus_build_clamp_grad(janus_subgraph *g, janus_value dy, janus_value x, const janus_clamp_grad_attrs *attrs, janus_value *out_dx) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = dy;
    in[1] = x;
    if (!out_dx)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "clamp_grad", in, 2, attrs, out, 1);
    if (st == JANUS_OK)
        *out_dx = out[0];
    return st;
}

/* dy times the derivative of gelu at x */
static inline janus_status janus_build_gelu_grad(janus_subgraph *g, janus_value dy, janus_value x, const janus_gelu_grad_attrs *attrs, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = dy;
    in[1] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "gelu_grad", in, 2, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* sum; i64 for integers and bool */
static inline janus_status janus_build_sum(janus_subgraph *g, janus_value x, const janus_sum_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "sum", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* arithmetic mean */
static inline janus_status janus_build_mean(janus_subgraph *g, janus_value x, const janus_mean_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "mean", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* product; i64 for integers and bool */
static inline janus_status janus_build_prod(janus_subgraph *g, janus_value x, const janus_prod_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "prod", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* largest; NaN wins; gradient spread evenly over ties */
static inline janus_status janus_build_max(janus_subgraph *g, janus_value x, const janus_max_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "max", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* smallest; NaN wins; gradient spread evenly over ties */
static inline janus_status janus_build_min(janus_subgraph *g, janus_value x, const janus_min_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "min", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* largest along axis and its first index (i64) */
static inline janus_status janus_build_max_dim(janus_subgraph *g, janus_value x, const janus_max_dim_attrs *attrs, janus_value *out_values, janus_value *out_indices) {
    janus_value in[1];
    janus_value out[2];
    janus_status st;
    in[0] = x;
    if (!out_values)
        return JANUS_INVALID_ARGUMENT;
    if (!out_indices)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "max_dim", in, 1, attrs, out, 2);
    if (st == JANUS_OK)
        *out_values = out[0];
    if (st == JANUS_OK)
        *out_indices = out[1];
    return st;
}

/* smallest along axis and its first index (i64) */
static inline janus_status janus_build_min_dim(janus_subgraph *g, janus_value x, const janus_min_dim_attrs *attrs, janus_value *out_values, janus_value *out_indices) {
    janus_value in[1];
    janus_value out[2];
    janus_status st;
    in[0] = x;
    if (!out_values)
        return JANUS_INVALID_ARGUMENT;
    if (!out_indices)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "min_dim", in, 1, attrs, out, 2);
    if (st == JANUS_OK)
        *out_values = out[0];
    if (st == JANUS_OK)
        *out_indices = out[1];
    return st;
}

/* first index (i64) of the largest along axis; all: in the flattened tensor */
static inline janus_status janus_build_argmax(janus_subgraph *g, janus_value x, const janus_argmax_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "argmax", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* first index (i64) of the smallest along axis; all: in the flattened tensor */
static inline janus_status janus_build_argmin(janus_subgraph *g, janus_value x, const janus_argmin_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "argmin", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* some element is not zero */
static inline janus_status janus_build_any(janus_subgraph *g, janus_value x, const janus_any_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "any", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* no element is zero */
static inline janus_status janus_build_all(janus_subgraph *g, janus_value x, const janus_all_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "all", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* log(sum(exp(x))) */
static inline janus_status janus_build_logsumexp(janus_subgraph *g, janus_value x, const janus_logsumexp_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "logsumexp", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* variance, divided by n - correction */
static inline janus_status janus_build_var(janus_subgraph *g, janus_value x, const janus_var_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "var", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* p-norm */
static inline janus_status janus_build_norm(janus_subgraph *g, janus_value x, const janus_norm_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "norm", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* running sum along axis; i64 for integers and bool; reverse: from the end */
static inline janus_status janus_build_cumsum(janus_subgraph *g, janus_value x, const janus_cumsum_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "cumsum", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* same elements in a new shape; one -1 is inferred */
static inline janus_status janus_build_reshape(janus_subgraph *g, janus_value x, const janus_value *sizes, unsigned n_sizes, const janus_reshape_attrs *attrs, janus_value *out_y) {
    janus_value in[1 + JANUS_OPS_MAX_VARIADIC];
    unsigned i;
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (n_sizes > JANUS_OPS_MAX_VARIADIC || (n_sizes && !sizes))
        return JANUS_INVALID_ARGUMENT;
    for (i = 0; i < n_sizes; i++)
        in[1 + i] = sizes[i];
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "reshape", in, 1 + n_sizes, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* two dims swapped */
static inline janus_status janus_build_transpose(janus_subgraph *g, janus_value x, const janus_transpose_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "transpose", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* dims reordered */
static inline janus_status janus_build_permute(janus_subgraph *g, janus_value x, const janus_permute_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "permute", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* dims of size 1 repeated, new ones in front; -1 keeps a size */
static inline janus_status janus_build_expand(janus_subgraph *g, janus_value x, const janus_value *sizes, unsigned n_sizes, const janus_expand_attrs *attrs, janus_value *out_y) {
    janus_value in[1 + JANUS_OPS_MAX_VARIADIC];
    unsigned i;
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (n_sizes > JANUS_OPS_MAX_VARIADIC || (n_sizes && !sizes))
        return JANUS_INVALID_ARGUMENT;
    for (i = 0; i < n_sizes; i++)
        in[1 + i] = sizes[i];
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "expand", in, 1 + n_sizes, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a dim of size 1 inserted at axis */
static inline janus_status janus_build_unsqueeze(janus_subgraph *g, janus_value x, const janus_unsqueeze_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "unsqueeze", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* dims of size 1 removed: those of axis, or all */
static inline janus_status janus_build_squeeze(janus_subgraph *g, janus_value x, const janus_squeeze_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "squeeze", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x[start:stop:step] along axis, as in Python; step > 0 */
static inline janus_status janus_build_slice(janus_subgraph *g, janus_value x, janus_value start, janus_value stop, const janus_slice_attrs *attrs, janus_value *out_y) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = start;
    in[2] = stop;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "slice", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x[index] along axis; negative counts from the end */
static inline janus_status janus_build_select(janus_subgraph *g, janus_value x, janus_value index, const janus_select_attrs *attrs, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = index;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "select", in, 2, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x itself under another name */
static inline janus_status janus_build_alias(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "alias", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x itself, where gradients stop */
static inline janus_status janus_build_detach(janus_subgraph *g, janus_value x, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "detach", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x broadcast to the shape of like */
static inline janus_status janus_build_expand_like(janus_subgraph *g, janus_value x, janus_value like, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = like;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "expand_like", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x in place of all of was, broadcast to its shape: the gradient of was is of zeros */
static inline janus_status janus_build_overwrite(janus_subgraph *g, janus_value x, janus_value was, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = was;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "overwrite", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x in the shape of like */
static inline janus_status janus_build_reshape_like(janus_subgraph *g, janus_value x, janus_value like, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = like;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "reshape_like", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x summed over the dims along which like was broadcast */
static inline janus_status janus_build_sum_like(janus_subgraph *g, janus_value x, janus_value like, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = like;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "sum_like", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* tensors joined along axis */
static inline janus_status janus_build_concat(janus_subgraph *g, const janus_value *xs, unsigned n_xs, const janus_concat_attrs *attrs, janus_value *out_y) {
    janus_value in[0 + JANUS_OPS_MAX_VARIADIC];
    unsigned i;
    janus_value out[1];
    janus_status st;
    if (n_xs > JANUS_OPS_MAX_VARIADIC || (n_xs && !xs))
        return JANUS_INVALID_ARGUMENT;
    for (i = 0; i < n_xs; i++)
        in[0 + i] = xs[i];
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "concat", in, 0 + n_xs, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* equal shapes joined along a new axis */
static inline janus_status janus_build_stack(janus_subgraph *g, const janus_value *xs, unsigned n_xs, const janus_stack_attrs *attrs, janus_value *out_y) {
    janus_value in[0 + JANUS_OPS_MAX_VARIADIC];
    unsigned i;
    janus_value out[1];
    janus_status st;
    if (n_xs > JANUS_OPS_MAX_VARIADIC || (n_xs && !xs))
        return JANUS_INVALID_ARGUMENT;
    for (i = 0; i < n_xs; i++)
        in[0 + i] = xs[i];
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "stack", in, 0 + n_xs, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* value added in front and behind, one entry per dim; negative crops */
static inline janus_status janus_build_pad(janus_subgraph *g, janus_value x, const janus_pad_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "pad", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* order reversed along dims */
static inline janus_status janus_build_flip(janus_subgraph *g, janus_value x, const janus_flip_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "flip", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* elements shifted around along dims; none given: in the flattened tensor */
static inline janus_status janus_build_roll(janus_subgraph *g, janus_value x, const janus_roll_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "roll", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* zero above the diagonal of the last two dims */
static inline janus_status janus_build_tril(janus_subgraph *g, janus_value x, const janus_tril_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "tril", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* zero below the diagonal of the last two dims */
static inline janus_status janus_build_triu(janus_subgraph *g, janus_value x, const janus_triu_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "triu", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a vector as a diagonal matrix, or the diagonal of a matrix */
static inline janus_status janus_build_diag(janus_subgraph *g, janus_value x, const janus_diag_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "diag", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the whole tensor repeated per dim, new dims in front */
static inline janus_status janus_build_repeat(janus_subgraph *g, janus_value x, const janus_repeat_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "repeat", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x with x[start:stop:step] replaced by src */
static inline janus_status janus_build_slice_scatter(janus_subgraph *g, janus_value x, janus_value src, janus_value start, janus_value stop, const janus_slice_scatter_attrs *attrs, janus_value *out_y) {
    janus_value in[4];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = src;
    in[2] = start;
    in[3] = stop;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "slice_scatter", in, 4, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x with x[index] along axis replaced by src */
static inline janus_status janus_build_select_scatter(janus_subgraph *g, janus_value x, janus_value src, janus_value index, const janus_select_scatter_attrs *attrs, janus_value *out_y) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = src;
    in[2] = index;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "select_scatter", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* gradient of slice: zeros like x, with dy in place of x[start:stop:step] */
static inline janus_status janus_build_slice_grad(janus_subgraph *g, janus_value dy, janus_value start, janus_value stop, janus_value x, const janus_slice_grad_attrs *attrs, janus_value *out_dx) {
    janus_value in[4];
    janus_value out[1];
    janus_status st;
    in[0] = dy;
    in[1] = start;
    in[2] = stop;
    in[3] = x;
    if (!out_dx)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "slice_grad", in, 4, attrs, out, 1);
    if (st == JANUS_OK)
        *out_dx = out[0];
    return st;
}

/* gradient of select: zeros like x, with dy in place of x[index] along axis */
static inline janus_status janus_build_select_grad(janus_subgraph *g, janus_value dy, janus_value index, janus_value x, const janus_select_grad_attrs *attrs, janus_value *out_dx) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = dy;
    in[1] = index;
    in[2] = x;
    if (!out_dx)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "select_grad", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_dx = out[0];
    return st;
}

/* y[i][j] = x[index[i][j]][j] along axis */
static inline janus_status janus_build_gather(janus_subgraph *g, janus_value x, janus_value index, const janus_gather_attrs *attrs, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = index;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "gather", in, 2, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x with x[index[i][j]][j] = src[i][j] along axis */
static inline janus_status janus_build_scatter(janus_subgraph *g, janus_value x, janus_value index, janus_value src, const janus_scatter_attrs *attrs, janus_value *out_y) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = index;
    in[2] = src;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "scatter", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x with src added at index along axis */
static inline janus_status janus_build_scatter_add(janus_subgraph *g, janus_value x, janus_value index, janus_value src, const janus_scatter_add_attrs *attrs, janus_value *out_y) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = index;
    in[2] = src;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "scatter_add", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* slices of x along axis at a vector of indices */
static inline janus_status janus_build_index_select(janus_subgraph *g, janus_value x, janus_value index, const janus_index_select_attrs *attrs, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = index;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "index_select", in, 2, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x with slices of src added at indices along axis */
static inline janus_status janus_build_index_add(janus_subgraph *g, janus_value x, janus_value index, janus_value src, const janus_index_add_attrs *attrs, janus_value *out_y) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = index;
    in[2] = src;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "index_add", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* rows of weight; padding_idx gets no gradient */
static inline janus_status janus_build_embedding(janus_subgraph *g, janus_value weight, janus_value index, const janus_embedding_attrs *attrs, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = weight;
    in[1] = index;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "embedding", in, 2, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* gradient of embedding: rows of dy summed at index */
static inline janus_status janus_build_embedding_grad(janus_subgraph *g, janus_value dy, janus_value index, janus_value weight, const janus_embedding_grad_attrs *attrs, janus_value *out_dx) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = dy;
    in[1] = index;
    in[2] = weight;
    if (!out_dx)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "embedding_grad", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_dx = out[0];
    return st;
}

/* x[i0, i1, ...]: index tensors, broadcast together, at axes */
static inline janus_status janus_build_index(janus_subgraph *g, janus_value x, const janus_value *indices, unsigned n_indices, const janus_index_attrs *attrs, janus_value *out_y) {
    janus_value in[1 + JANUS_OPS_MAX_VARIADIC];
    unsigned i;
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (n_indices > JANUS_OPS_MAX_VARIADIC || (n_indices && !indices))
        return JANUS_INVALID_ARGUMENT;
    for (i = 0; i < n_indices; i++)
        in[1 + i] = indices[i];
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "index", in, 1 + n_indices, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x with x[i0, i1, ...] = src, or += src */
static inline janus_status janus_build_index_put(janus_subgraph *g, janus_value x, janus_value src, const janus_value *indices, unsigned n_indices, const janus_index_put_attrs *attrs, janus_value *out_y) {
    janus_value in[2 + JANUS_OPS_MAX_VARIADIC];
    unsigned i;
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = src;
    if (n_indices > JANUS_OPS_MAX_VARIADIC || (n_indices && !indices))
        return JANUS_INVALID_ARGUMENT;
    for (i = 0; i < n_indices; i++)
        in[2 + i] = indices[i];
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "index_put", in, 2 + n_indices, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* indices [numel,rank] of the elements that are not zero, in order, and their count */
static inline janus_status janus_build_nonzero(janus_subgraph *g, janus_value x, janus_value *out_indices, janus_value *out_count) {
    janus_value in[1];
    janus_value out[2];
    janus_status st;
    in[0] = x;
    if (!out_indices)
        return JANUS_INVALID_ARGUMENT;
    if (!out_count)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "nonzero", in, 1, NULL, out, 2);
    if (st == JANUS_OK)
        *out_indices = out[0];
    if (st == JANUS_OK)
        *out_count = out[1];
    return st;
}

/* elements [numel] where mask (of the shape of x) holds, in order, and their count */
static inline janus_status janus_build_masked_select(janus_subgraph *g, janus_value x, janus_value mask, janus_value *out_values, janus_value *out_count) {
    janus_value in[2];
    janus_value out[2];
    janus_status st;
    in[0] = x;
    in[1] = mask;
    if (!out_values)
        return JANUS_INVALID_ARGUMENT;
    if (!out_count)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "masked_select", in, 2, NULL, out, 2);
    if (st == JANUS_OK)
        *out_values = out[0];
    if (st == JANUS_OK)
        *out_count = out[1];
    return st;
}

/* i64, one new dim with a single 1 */
static inline janus_status janus_build_one_hot(janus_subgraph *g, janus_value index, const janus_one_hot_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = index;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "one_hot", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* sorted along axis, stable, NaN largest; values and indices */
static inline janus_status janus_build_sort(janus_subgraph *g, janus_value x, const janus_sort_attrs *attrs, janus_value *out_values, janus_value *out_indices) {
    janus_value in[1];
    janus_value out[2];
    janus_status st;
    in[0] = x;
    if (!out_values)
        return JANUS_INVALID_ARGUMENT;
    if (!out_indices)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "sort", in, 1, attrs, out, 2);
    if (st == JANUS_OK)
        *out_values = out[0];
    if (st == JANUS_OK)
        *out_indices = out[1];
    return st;
}

/* indices that sort along axis, stable */
static inline janus_status janus_build_argsort(janus_subgraph *g, janus_value x, const janus_argsort_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "argsort", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the k largest (or smallest) along axis in order; values and indices */
static inline janus_status janus_build_topk(janus_subgraph *g, janus_value x, const janus_topk_attrs *attrs, janus_value *out_values, janus_value *out_indices) {
    janus_value in[1];
    janus_value out[2];
    janus_status st;
    in[0] = x;
    if (!out_values)
        return JANUS_INVALID_ARGUMENT;
    if (!out_indices)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "topk", in, 1, attrs, out, 2);
    if (st == JANUS_OK)
        *out_values = out[0];
    if (st == JANUS_OK)
        *out_indices = out[1];
    return st;
}

/* matrix product; 1-d operands and batch dims as in torch.matmul */
static inline janus_status janus_build_matmul(janus_subgraph *g, janus_value a, janus_value b, const janus_matmul_attrs *attrs, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "matmul", in, 2, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* x W^T + b */
static inline janus_status janus_build_linear(janus_subgraph *g, janus_value x, janus_value weight, janus_value bias, janus_value *out_y) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = weight;
    in[2] = bias;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "linear", in, 3, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* products of every pair */
static inline janus_status janus_build_outer(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "outer", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* sum of products */
static inline janus_status janus_build_dot(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "dot", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* 2-D cross-correlation, NCHW */
static inline janus_status janus_build_conv2d(janus_subgraph *g, janus_value x, janus_value weight, janus_value bias, const janus_conv2d_attrs *attrs, janus_value *out_y) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = weight;
    in[2] = bias;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "conv2d", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* gradient of conv2d for x */
static inline janus_status janus_build_conv2d_input_grad(janus_subgraph *g, janus_value dy, janus_value weight, janus_value x, const janus_conv2d_input_grad_attrs *attrs, janus_value *out_dx) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = dy;
    in[1] = weight;
    in[2] = x;
    if (!out_dx)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "conv2d_input_grad", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_dx = out[0];
    return st;
}

/* gradient of conv2d for weight */
static inline janus_status janus_build_conv2d_weight_grad(janus_subgraph *g, janus_value dy, janus_value x, janus_value weight, const janus_conv2d_weight_grad_attrs *attrs, janus_value *out_dx) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = dy;
    in[1] = x;
    in[2] = weight;
    if (!out_dx)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "conv2d_weight_grad", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_dx = out[0];
    return st;
}

/* exp(x) / sum(exp(x)) along axis */
static inline janus_status janus_build_softmax(janus_subgraph *g, janus_value x, const janus_softmax_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "softmax", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* y * (dy - sum(dy * y)) along axis */
static inline janus_status janus_build_softmax_grad(janus_subgraph *g, janus_value dy, janus_value y, const janus_softmax_grad_attrs *attrs, janus_value *out_dx) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = dy;
    in[1] = y;
    if (!out_dx)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "softmax_grad", in, 2, attrs, out, 1);
    if (st == JANUS_OK)
        *out_dx = out[0];
    return st;
}

/* x - log(sum(exp(x))) along axis */
static inline janus_status janus_build_log_softmax(janus_subgraph *g, janus_value x, const janus_log_softmax_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "log_softmax", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* dy - exp(y) * sum(dy) along axis */
static inline janus_status janus_build_log_softmax_grad(janus_subgraph *g, janus_value dy, janus_value y, const janus_log_softmax_grad_attrs *attrs, janus_value *out_dx) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = dy;
    in[1] = y;
    if (!out_dx)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "log_softmax_grad", in, 2, attrs, out, 1);
    if (st == JANUS_OK)
        *out_dx = out[0];
    return st;
}

/* log_softmax followed by negative log likelihood */
static inline janus_status janus_build_cross_entropy(janus_subgraph *g, janus_value logits, janus_value target, const janus_cross_entropy_attrs *attrs, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = logits;
    in[1] = target;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "cross_entropy", in, 2, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* gradient of cross_entropy for logits */
static inline janus_status janus_build_cross_entropy_grad(janus_subgraph *g, janus_value dy, janus_value logits, janus_value target, const janus_cross_entropy_grad_attrs *attrs, janus_value *out_dx) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = dy;
    in[1] = logits;
    in[2] = target;
    if (!out_dx)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "cross_entropy_grad", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_dx = out[0];
    return st;
}

/* negative log likelihood of log probabilities */
static inline janus_status janus_build_nll_loss(janus_subgraph *g, janus_value logp, janus_value target, const janus_nll_loss_attrs *attrs, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = logp;
    in[1] = target;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "nll_loss", in, 2, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* gradient of nll_loss for logp */
static inline janus_status janus_build_nll_loss_grad(janus_subgraph *g, janus_value dy, janus_value target, janus_value logp, const janus_nll_loss_grad_attrs *attrs, janus_value *out_dx) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = dy;
    in[1] = target;
    in[2] = logp;
    if (!out_dx)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "nll_loss_grad", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_dx = out[0];
    return st;
}

/* (x - target) squared */
static inline janus_status janus_build_mse_loss(janus_subgraph *g, janus_value x, janus_value target, const janus_mse_loss_attrs *attrs, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = target;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "mse_loss", in, 2, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* binary cross entropy of sigmoid(x) */
static inline janus_status janus_build_bce_with_logits(janus_subgraph *g, janus_value x, janus_value target, const janus_bce_with_logits_attrs *attrs, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = target;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "bce_with_logits", in, 2, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* squared below beta, absolute above */
static inline janus_status janus_build_smooth_l1(janus_subgraph *g, janus_value x, janus_value target, const janus_smooth_l1_attrs *attrs, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = target;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "smooth_l1", in, 2, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* largest of each window and its flat index (i64) in [H,W], -inf and -1 where a window lies in the padding alone; stride "" is kernel */
static inline janus_status janus_build_max_pool2d(janus_subgraph *g, janus_value x, const janus_max_pool2d_attrs *attrs, janus_value *out_y, janus_value *out_indices) {
    janus_value in[1];
    janus_value out[2];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    if (!out_indices)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "max_pool2d", in, 1, attrs, out, 2);
    if (st == JANUS_OK)
        *out_y = out[0];
    if (st == JANUS_OK)
        *out_indices = out[1];
    return st;
}

/* gradient of max_pool2d: dy added at indices, nowhere for -1 */
static inline janus_status janus_build_max_pool2d_grad(janus_subgraph *g, janus_value dy, janus_value indices, janus_value x, janus_value *out_dx) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = dy;
    in[1] = indices;
    in[2] = x;
    if (!out_dx)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "max_pool2d_grad", in, 3, NULL, out, 1);
    if (st == JANUS_OK)
        *out_dx = out[0];
    return st;
}

/* elements of x at the indices of max_pool2d, 0 for -1 */
static inline janus_status janus_build_max_pool2d_gather(janus_subgraph *g, janus_value x, janus_value indices, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = indices;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "max_pool2d_gather", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* mean of each window */
static inline janus_status janus_build_avg_pool2d(janus_subgraph *g, janus_value x, const janus_avg_pool2d_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "avg_pool2d", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* gradient of avg_pool2d */
static inline janus_status janus_build_avg_pool2d_grad(janus_subgraph *g, janus_value dy, janus_value x, const janus_avg_pool2d_grad_attrs *attrs, janus_value *out_dx) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = dy;
    in[1] = x;
    if (!out_dx)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "avg_pool2d_grad", in, 2, attrs, out, 1);
    if (st == JANUS_OK)
        *out_dx = out[0];
    return st;
}

/* normalised per channel, by batch (training) or running statistics; y, mean used, 1 / sqrt(var + eps) used */
static inline janus_status janus_build_batch_norm(janus_subgraph *g, janus_value x, janus_value weight, janus_value bias, janus_value running_mean, janus_value running_var, const janus_batch_norm_attrs *attrs, janus_value *out_y, janus_value *out_mean, janus_value *out_invstd) {
    janus_value in[5];
    janus_value out[3];
    janus_status st;
    in[0] = x;
    in[1] = weight;
    in[2] = bias;
    in[3] = running_mean;
    in[4] = running_var;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    if (!out_mean)
        return JANUS_INVALID_ARGUMENT;
    if (!out_invstd)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "batch_norm", in, 5, attrs, out, 3);
    if (st == JANUS_OK)
        *out_y = out[0];
    if (st == JANUS_OK)
        *out_mean = out[1];
    if (st == JANUS_OK)
        *out_invstd = out[2];
    return st;
}

/* gradient of batch_norm for x, weight and bias */
static inline janus_status janus_build_batch_norm_grad(janus_subgraph *g, janus_value dy, janus_value x, janus_value weight, janus_value mean, janus_value invstd, const janus_batch_norm_grad_attrs *attrs, janus_value *out_dx, janus_value *out_dweight, janus_value *out_dbias) {
    janus_value in[5];
    janus_value out[3];
    janus_status st;
    in[0] = dy;
    in[1] = x;
    in[2] = weight;
    in[3] = mean;
    in[4] = invstd;
    if (!out_dx)
        return JANUS_INVALID_ARGUMENT;
    if (!out_dweight)
        return JANUS_INVALID_ARGUMENT;
    if (!out_dbias)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "batch_norm_grad", in, 5, attrs, out, 3);
    if (st == JANUS_OK)
        *out_dx = out[0];
    if (st == JANUS_OK)
        *out_dweight = out[1];
    if (st == JANUS_OK)
        *out_dbias = out[2];
    return st;
}

/* normalised over the dims from axis on; y, mean, 1 / sqrt(var + eps) */
static inline janus_status janus_build_layer_norm(janus_subgraph *g, janus_value x, janus_value weight, janus_value bias, const janus_layer_norm_attrs *attrs, janus_value *out_y, janus_value *out_mean, janus_value *out_invstd) {
    janus_value in[3];
    janus_value out[3];
    janus_status st;
    in[0] = x;
    in[1] = weight;
    in[2] = bias;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    if (!out_mean)
        return JANUS_INVALID_ARGUMENT;
    if (!out_invstd)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "layer_norm", in, 3, attrs, out, 3);
    if (st == JANUS_OK)
        *out_y = out[0];
    if (st == JANUS_OK)
        *out_mean = out[1];
    if (st == JANUS_OK)
        *out_invstd = out[2];
    return st;
}

/* gradient of layer_norm for x, weight and bias */
static inline janus_status janus_build_layer_norm_grad(janus_subgraph *g, janus_value dy, janus_value x, janus_value weight, janus_value mean, janus_value invstd, const janus_layer_norm_grad_attrs *attrs, janus_value *out_dx, janus_value *out_dweight, janus_value *out_dbias) {
    janus_value in[5];
    janus_value out[3];
    janus_status st;
    in[0] = dy;
    in[1] = x;
    in[2] = weight;
    in[3] = mean;
    in[4] = invstd;
    if (!out_dx)
        return JANUS_INVALID_ARGUMENT;
    if (!out_dweight)
        return JANUS_INVALID_ARGUMENT;
    if (!out_dbias)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "layer_norm_grad", in, 5, attrs, out, 3);
    if (st == JANUS_OK)
        *out_dx = out[0];
    if (st == JANUS_OK)
        *out_dweight = out[1];
    if (st == JANUS_OK)
        *out_dbias = out[2];
    return st;
}

/* softmax(query key^T scale + mask) value, scale 0 being 1 / sqrt(E), causal: query i sees keys 0 to i; and log(sum(exp(scores))) of each query, f32 or f64. Zeros where nothing is allowed */
static inline janus_status janus_build_attention(janus_subgraph *g, janus_value query, janus_value key, janus_value value, janus_value mask, const janus_attention_attrs *attrs, janus_value *out_y, janus_value *out_lse) {
    janus_value in[4];
    janus_value out[2];
    janus_status st;
    in[0] = query;
    in[1] = key;
    in[2] = value;
    in[3] = mask;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    if (!out_lse)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "attention", in, 4, attrs, out, 2);
    if (st == JANUS_OK)
        *out_y = out[0];
    if (st == JANUS_OK)
        *out_lse = out[1];
    return st;
}

/* gradient of attention for query, key and value, over all batch dims */
static inline janus_status janus_build_attention_grad(janus_subgraph *g, janus_value dy, janus_value query, janus_value key, janus_value value, janus_value mask, janus_value y, janus_value lse, const janus_attention_grad_attrs *attrs, janus_value *out_dquery, janus_value *out_dkey, janus_value *out_dvalue) {
    janus_value in[7];
    janus_value out[3];
    janus_status st;
    in[0] = dy;
    in[1] = query;
    in[2] = key;
    in[3] = value;
    in[4] = mask;
    in[5] = y;
    in[6] = lse;
    if (!out_dquery)
        return JANUS_INVALID_ARGUMENT;
    if (!out_dkey)
        return JANUS_INVALID_ARGUMENT;
    if (!out_dvalue)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "attention_grad", in, 7, attrs, out, 3);
    if (st == JANUS_OK)
        *out_dquery = out[0];
    if (st == JANUS_OK)
        *out_dkey = out[1];
    if (st == JANUS_OK)
        *out_dvalue = out[2];
    return st;
}

/* d = dp + weight_decay * p (maximize: -dp); v' = momentum * v + (1 - dampening) * d; p - lr * v' (nesterov: d + momentum * v') */
static inline janus_status janus_build_momentum_step(janus_subgraph *g, janus_value p, janus_value dp, janus_value v, janus_value lr, const janus_momentum_step_attrs *attrs, janus_value *out_p_new, janus_value *out_v_new) {
    janus_value in[4];
    janus_value out[2];
    janus_status st;
    in[0] = p;
    in[1] = dp;
    in[2] = v;
    in[3] = lr;
    if (!out_p_new)
        return JANUS_INVALID_ARGUMENT;
    if (!out_v_new)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "momentum_step", in, 4, attrs, out, 2);
    if (st == JANUS_OK)
        *out_p_new = out[0];
    if (st == JANUS_OK)
        *out_v_new = out[1];
    return st;
}

/* Adam's step; decoupled: AdamW's, where the decay shrinks p itself */
static inline janus_status janus_build_adam_step(janus_subgraph *g, janus_value p, janus_value dp, janus_value m, janus_value v, janus_value step, janus_value lr, const janus_adam_step_attrs *attrs, janus_value *out_p_new, janus_value *out_m_new, janus_value *out_v_new, janus_value *out_step_new) {
    janus_value in[6];
    janus_value out[4];
    janus_status st;
    in[0] = p;
    in[1] = dp;
    in[2] = m;
    in[3] = v;
    in[4] = step;
    in[5] = lr;
    if (!out_p_new)
        return JANUS_INVALID_ARGUMENT;
    if (!out_m_new)
        return JANUS_INVALID_ARGUMENT;
    if (!out_v_new)
        return JANUS_INVALID_ARGUMENT;
    if (!out_step_new)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "adam_step", in, 6, attrs, out, 4);
    if (st == JANUS_OK)
        *out_p_new = out[0];
    if (st == JANUS_OK)
        *out_m_new = out[1];
    if (st == JANUS_OK)
        *out_v_new = out[2];
    if (st == JANUS_OK)
        *out_step_new = out[3];
    return st;
}

/* shape filled with value; entries -2 take the next of sizes */
static inline janus_status janus_build_full(janus_subgraph *g, janus_value value, const janus_value *sizes, unsigned n_sizes, const janus_full_attrs *attrs, janus_value *out_y) {
    janus_value in[1 + JANUS_OPS_MAX_VARIADIC];
    unsigned i;
    janus_value out[1];
    janus_status st;
    in[0] = value;
    if (n_sizes > JANUS_OPS_MAX_VARIADIC || (n_sizes && !sizes))
        return JANUS_INVALID_ARGUMENT;
    for (i = 0; i < n_sizes; i++)
        in[1 + i] = sizes[i];
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "full", in, 1 + n_sizes, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* filled with value, shape (and dtype) of like */
static inline janus_status janus_build_full_like(janus_subgraph *g, janus_value value, janus_value like, const janus_full_like_attrs *attrs, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = value;
    in[1] = like;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "full_like", in, 2, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a scalar as a tensor of no dims */
static inline janus_status janus_build_scalar_tensor(janus_subgraph *g, janus_value value, const janus_scalar_tensor_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = value;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "scalar_tensor", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* start + i * step for i in 0..n-1 */
static inline janus_status janus_build_arange(janus_subgraph *g, janus_value start, janus_value step, janus_value n, const janus_arange_attrs *attrs, janus_value *out_y) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = start;
    in[1] = step;
    in[2] = n;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "arange", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* [n,m] with ones on the diagonal */
static inline janus_status janus_build_eye(janus_subgraph *g, const janus_eye_attrs *attrs, janus_value *out_y) {
    janus_value out[1];
    janus_status st;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "eye", NULL, 0, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* uniform in [low, high) */
static inline janus_status janus_build_uniform(janus_subgraph *g, janus_value like, janus_value seed, janus_value offset, const janus_uniform_attrs *attrs, janus_value *out_y) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = like;
    in[1] = seed;
    in[2] = offset;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "uniform", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* normally distributed */
static inline janus_status janus_build_normal(janus_subgraph *g, janus_value like, janus_value seed, janus_value offset, const janus_normal_attrs *attrs, janus_value *out_y) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = like;
    in[1] = seed;
    in[2] = offset;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "normal", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* integers in [low, high) */
static inline janus_status janus_build_randint(janus_subgraph *g, janus_value low, janus_value high, janus_value like, janus_value seed, janus_value offset, const janus_randint_attrs *attrs, janus_value *out_y) {
    janus_value in[5];
    janus_value out[1];
    janus_status st;
    in[0] = low;
    in[1] = high;
    in[2] = like;
    in[3] = seed;
    in[4] = offset;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "randint", in, 5, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* shape and dtype of x: scale with probability p, else 0 */
static inline janus_status janus_build_bernoulli_mask(janus_subgraph *g, janus_value x, janus_value seed, janus_value offset, const janus_bernoulli_mask_attrs *attrs, janus_value *out_y) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = seed;
    in[2] = offset;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "bernoulli_mask", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* 0..n-1 in random order */
static inline janus_status janus_build_randperm(janus_subgraph *g, janus_value n, janus_value seed, janus_value offset, const janus_randperm_attrs *attrs, janus_value *out_y) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = n;
    in[1] = seed;
    in[2] = offset;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "randperm", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a small constant tensor */
static inline janus_status janus_build_constant(janus_subgraph *g, const janus_constant_attrs *attrs, janus_value *out_y) {
    janus_value out[1];
    janus_status st;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "constant", NULL, 0, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the element as a scalar; kind: a janus_kind, 0: by dtype */
static inline janus_status janus_build_item(janus_subgraph *g, janus_value x, const janus_item_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "item", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* number of elements along axis */
static inline janus_status janus_build_size(janus_subgraph *g, janus_value x, const janus_size_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "size", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a scalar; kind: a janus_kind, value in i (INT, BOOL) or f */
static inline janus_status janus_build_s_const(janus_subgraph *g, const janus_s_const_attrs *attrs, janus_value *out_y) {
    janus_value out[1];
    janus_status st;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.const", NULL, 0, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a + b */
static inline janus_status janus_build_s_add(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.add", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a - b */
static inline janus_status janus_build_s_sub(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.sub", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a * b */
static inline janus_status janus_build_s_mul(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.mul", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a / b, correctly rounded */
static inline janus_status janus_build_s_truediv(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.truediv", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a // b */
static inline janus_status janus_build_s_floordiv(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.floordiv", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a % b */
static inline janus_status janus_build_s_mod(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.mod", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a ** b; int ** negative int is an error: convert the base */
static inline janus_status janus_build_s_pow(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.pow", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* -a */
static inline janus_status janus_build_s_neg(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.neg", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* abs(a) */
static inline janus_status janus_build_s_abs(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.abs", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* not a */
static inline janus_status janus_build_s_not(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.not", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a & b of ints or bools */
static inline janus_status janus_build_s_and(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.and", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a | b of ints or bools */
static inline janus_status janus_build_s_or(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.or", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a ^ b of ints or bools */
static inline janus_status janus_build_s_xor(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.xor", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a << b */
static inline janus_status janus_build_s_shl(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.shl", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a >> b */
static inline janus_status janus_build_s_shr(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.shr", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* ~a */
static inline janus_status janus_build_s_invert(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.invert", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a == b, int and float compared exactly */
static inline janus_status janus_build_s_eq(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.eq", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a != b, int and float compared exactly */
static inline janus_status janus_build_s_ne(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.ne", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a < b, int and float compared exactly */
static inline janus_status janus_build_s_lt(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.lt", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a <= b, int and float compared exactly */
static inline janus_status janus_build_s_le(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.le", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a > b, int and float compared exactly */
static inline janus_status janus_build_s_gt(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.gt", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a >= b, int and float compared exactly */
static inline janus_status janus_build_s_ge(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.ge", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* min(a, b) of one kind */
static inline janus_status janus_build_s_min(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.min", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* max(a, b) of one kind */
static inline janus_status janus_build_s_max(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.max", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a if cond else b; a and b of one kind */
static inline janus_status janus_build_s_select(janus_subgraph *g, janus_value cond, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = cond;
    in[1] = a;
    in[2] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.select", in, 3, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* int(a) */
static inline janus_status janus_build_s_int(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.int", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* float(a) */
static inline janus_status janus_build_s_float(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.float", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* bool(a) */
static inline janus_status janus_build_s_bool(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.bool", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* e ** a */
static inline janus_status janus_build_s_exp(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.exp", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* e ** a - 1 */
static inline janus_status janus_build_s_expm1(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.expm1", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the natural logarithm of a */
static inline janus_status janus_build_s_log(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.log", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the natural logarithm of 1 + a */
static inline janus_status janus_build_s_log1p(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.log1p", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the logarithm of a to base 2 */
static inline janus_status janus_build_s_log2(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.log2", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the logarithm of a to base 10 */
static inline janus_status janus_build_s_log10(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.log10", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the square root of a */
static inline janus_status janus_build_s_sqrt(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.sqrt", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the sine of a, in radians */
static inline janus_status janus_build_s_sin(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.sin", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the cosine of a, in radians */
static inline janus_status janus_build_s_cos(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.cos", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the tangent of a, in radians */
static inline janus_status janus_build_s_tan(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.tan", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the arc tangent of a, in radians */
static inline janus_status janus_build_s_atan(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.atan", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the hyperbolic sine of a */
static inline janus_status janus_build_s_sinh(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.sinh", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the hyperbolic cosine of a */
static inline janus_status janus_build_s_cosh(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.cosh", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the hyperbolic tangent of a */
static inline janus_status janus_build_s_tanh(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.tanh", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the largest int that is not above a */
static inline janus_status janus_build_s_floor(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.floor", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the smallest int that is not below a */
static inline janus_status janus_build_s_ceil(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.ceil", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the int next to a, the even one of two */
static inline janus_status janus_build_s_round(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.round", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the number of n decimals, n not negative, next to a, the even one of two */
static inline janus_status janus_build_s_round_digits(janus_subgraph *g, janus_value a, janus_value n, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = n;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.round_digits", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* whether a is neither infinite nor a NaN */
static inline janus_status janus_build_s_isfinite(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.isfinite", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* whether a is infinite */
static inline janus_status janus_build_s_isinf(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.isinf", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* whether a is a NaN */
static inline janus_status janus_build_s_isnan(janus_subgraph *g, janus_value a, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "s.isnan", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* an empty sum of the type of like */
static inline janus_status janus_build_acc_new(janus_subgraph *g, janus_value like, janus_value *out_acc) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = like;
    if (!out_acc)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "acc.new", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_acc = out[0];
    return st;
}

/* adds x */
static inline janus_status janus_build_acc_add(janus_subgraph *g, janus_value acc, janus_value x) {
    janus_value in[2];
    janus_status st;
    in[0] = acc;
    in[1] = x;
    st = janus_build(g, "acc.add", in, 2, NULL, NULL, 0);
    return st;
}

/* the sum so far; zeros when nothing was added */
static inline janus_status janus_build_acc_get(janus_subgraph *g, janus_value acc, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = acc;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "acc.get", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* whether anything was added so far */
static inline janus_status janus_build_acc_used(janus_subgraph *g, janus_value acc, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = acc;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "acc.used", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the absent value */
static inline janus_status janus_build_none(janus_subgraph *g, janus_value *out_y) {
    janus_value out[1];
    janus_status st;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "none", NULL, 0, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* an assumption: when cond is false the run is discarded */
static inline janus_status janus_build_assert(janus_subgraph *g, janus_value cond, const janus_assert_attrs *attrs) {
    janus_value in[1];
    janus_status st;
    in[0] = cond;
    st = janus_build(g, "assert", in, 1, attrs, NULL, 0);
    return st;
}

/* o.key */
static inline janus_status janus_build_host_attr(janus_subgraph *g, janus_value o, const janus_host_attr_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = o;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "host.attr", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* o[index] */
static inline janus_status janus_build_host_item(janus_subgraph *g, janus_value o, janus_value index, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = o;
    in[1] = index;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "host.item", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* o[key] */
static inline janus_status janus_build_host_key(janus_subgraph *g, janus_value o, janus_value key, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = o;
    in[1] = key;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "host.key", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* len(o) */
static inline janus_status janus_build_host_len(janus_subgraph *g, janus_value o, janus_value *out_n) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = o;
    if (!out_n)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "host.len", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_n = out[0];
    return st;
}

/* the type token of o */
static inline janus_status janus_build_host_type(janus_subgraph *g, janus_value o, janus_value *out_token) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = o;
    if (!out_token)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "host.type", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_token = out[0];
    return st;
}

/* a is b */
static inline janus_status janus_build_host_is(janus_subgraph *g, janus_value a, janus_value b, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = a;
    in[1] = b;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "host.is", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* o as kind (a janus_kind); for tensors of dtype, rank (-1: unknown) and dims */
static inline janus_status janus_build_host_unbox(janus_subgraph *g, janus_value o, const janus_host_unbox_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = o;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "host.unbox", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* key in o, of a dict */
static inline janus_status janus_build_host_has(janus_subgraph *g, janus_value o, janus_value key, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = o;
    in[1] = key;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "host.has", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* whether o has attribute key */
static inline janus_status janus_build_host_hasattr(janus_subgraph *g, janus_value o, const janus_host_hasattr_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = o;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "host.hasattr", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the address of o, which no other object has; not of what the run made */
static inline janus_status janus_build_host_id(janus_subgraph *g, janus_value o, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = o;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "host.id", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a number (what: a janus_draw) of a generator, made of its words from place at on */
static inline janus_status janus_build_host_draw(janus_subgraph *g, janus_value o, janus_value at, janus_value n, const janus_host_draw_attrs *attrs, janus_value *out_y) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = o;
    in[1] = at;
    in[2] = n;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "host.draw", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a new list, tuple or dict (what: a janus_birth) of the items */
static inline janus_status janus_build_host_new(janus_subgraph *g, const janus_value *items, unsigned n_items, const janus_host_new_attrs *attrs, janus_value *out_y) {
    janus_value in[0 + JANUS_OPS_MAX_VARIADIC];
    unsigned i;
    janus_value out[1];
    janus_status st;
    if (n_items > JANUS_OPS_MAX_VARIADIC || (n_items && !items))
        return JANUS_INVALID_ARGUMENT;
    for (i = 0; i < n_items; i++)
        in[0 + i] = items[i];
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "host.new", in, 0 + n_items, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* a text of the items, in a form that the embedding program numbered */
static inline janus_status janus_build_host_text(janus_subgraph *g, const janus_value *items, unsigned n_items, const janus_host_text_attrs *attrs, janus_value *out_y) {
    janus_value in[0 + JANUS_OPS_MAX_VARIADIC];
    unsigned i;
    janus_value out[1];
    janus_status st;
    if (n_items > JANUS_OPS_MAX_VARIADIC || (n_items && !items))
        return JANUS_INVALID_ARGUMENT;
    for (i = 0; i < n_items; i++)
        in[0 + i] = items[i];
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "host.text", in, 0 + n_items, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* o.pop(), of a list that is not empty */
static inline janus_status janus_build_host_pop(janus_subgraph *g, janus_value o, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = o;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "host.pop", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* o.pop(index), of a list that has such an item */
static inline janus_status janus_build_host_delitem(janus_subgraph *g, janus_value o, janus_value index, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = o;
    in[1] = index;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "host.delitem", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* del o[key], of a dict that has it */
static inline janus_status janus_build_host_delkey(janus_subgraph *g, janus_value o, janus_value key) {
    janus_value in[2];
    janus_status st;
    in[0] = o;
    in[1] = key;
    st = janus_build(g, "host.delkey", in, 2, NULL, NULL, 0);
    return st;
}

/* del o.key */
static inline janus_status janus_build_host_delattr(janus_subgraph *g, janus_value o, const janus_host_delattr_attrs *attrs) {
    janus_value in[1];
    janus_status st;
    in[0] = o;
    st = janus_build(g, "host.delattr", in, 1, attrs, NULL, 0);
    return st;
}

/* an effect that the embedding program numbered, such as text printed */
static inline janus_status janus_build_host_emit(janus_subgraph *g, const janus_value *items, unsigned n_items, const janus_host_emit_attrs *attrs) {
    janus_value in[0 + JANUS_OPS_MAX_VARIADIC];
    unsigned i;
    janus_status st;
    if (n_items > JANUS_OPS_MAX_VARIADIC || (n_items && !items))
        return JANUS_INVALID_ARGUMENT;
    for (i = 0; i < n_items; i++)
        in[0 + i] = items[i];
    st = janus_build(g, "host.emit", in, 0 + n_items, attrs, NULL, 0);
    return st;
}

/* o.key = v */
static inline janus_status janus_build_host_setattr(janus_subgraph *g, janus_value o, janus_value v, const janus_host_setattr_attrs *attrs) {
    janus_value in[2];
    janus_status st;
    in[0] = o;
    in[1] = v;
    st = janus_build(g, "host.setattr", in, 2, attrs, NULL, 0);
    return st;
}

/* o[index] = v */
static inline janus_status janus_build_host_setitem(janus_subgraph *g, janus_value o, janus_value index, janus_value v, const janus_host_setitem_attrs *attrs) {
    janus_value in[3];
    janus_status st;
    in[0] = o;
    in[1] = index;
    in[2] = v;
    st = janus_build(g, "host.setitem", in, 3, attrs, NULL, 0);
    return st;
}

/* o.insert(index, v), of a list: a place beyond its ends is that end */
static inline janus_status janus_build_host_insert(janus_subgraph *g, janus_value o, janus_value index, janus_value v, const janus_host_insert_attrs *attrs) {
    janus_value in[3];
    janus_status st;
    in[0] = o;
    in[1] = index;
    in[2] = v;
    st = janus_build(g, "host.insert", in, 3, attrs, NULL, 0);
    return st;
}

/* o[key] = v */
static inline janus_status janus_build_host_setkey(janus_subgraph *g, janus_value o, janus_value key, janus_value v, const janus_host_setkey_attrs *attrs) {
    janus_value in[3];
    janus_status st;
    in[0] = o;
    in[1] = key;
    in[2] = v;
    st = janus_build(g, "host.setkey", in, 3, attrs, NULL, 0);
    return st;
}

/* o[k] = v for each pair of a dict, in its order */
static inline janus_status janus_build_host_update(janus_subgraph *g, janus_value o, janus_value from) {
    janus_value in[2];
    janus_status st;
    in[0] = o;
    in[1] = from;
    st = janus_build(g, "host.update", in, 2, NULL, NULL, 0);
    return st;
}

/* o.append(v) */
static inline janus_status janus_build_host_append(janus_subgraph *g, janus_value o, janus_value v, const janus_host_append_attrs *attrs) {
    janus_value in[2];
    janus_status st;
    in[0] = o;
    in[1] = v;
    st = janus_build(g, "host.append", in, 2, attrs, NULL, 0);
    return st;
}

/* target[...] = value in place, when the run commits */
static inline janus_status janus_build_store(janus_subgraph *g, janus_value target, janus_value value) {
    janus_value in[2];
    janus_status st;
    in[0] = target;
    in[1] = value;
    st = janus_build(g, "store", in, 2, NULL, NULL, 0);
    return st;
}

/* the number of a tensor that is about to be stored, 0 if not `tracked`: it has no history; its gradient marks it with `what`, 0: does not, and if `used` with what says that its history keeps something */
static inline janus_status janus_build_wire_put(janus_subgraph *g, janus_value x, janus_value used, janus_value tracked, const janus_wire_put_attrs *attrs, janus_value *out_k) {
    janus_value in[3];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = used;
    in[2] = tracked;
    if (!out_k)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "wire.put", in, 3, attrs, out, 1);
    if (st == JANUS_OK)
        *out_k = out[0];
    return st;
}

/* the number that a tensor read has; an assumption fails where it has none, unless what (as wire.put's) says that it may be an object's without a history, whose number is 0 */
static inline janus_status janus_build_wire_of(janus_subgraph *g, janus_value x, const janus_wire_of_attrs *attrs, janus_value *out_k) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    if (!out_k)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "wire.of", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_k = out[0];
    return st;
}

/* x, whose gradients go to number k */
static inline janus_status janus_build_wire_read(janus_subgraph *g, janus_value x, janus_value k, janus_value *out_y) {
    janus_value in[2];
    janus_value out[1];
    janus_status st;
    in[0] = x;
    in[1] = k;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "wire.read", in, 2, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* whether a gradient is at number k */
static inline janus_status janus_build_wire_has(janus_subgraph *g, janus_value k, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = k;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "wire.has", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the gradient at number k, which has none from now on; of dtype, rank (-1: unknown), dims */
static inline janus_status janus_build_wire_take(janus_subgraph *g, janus_value k, const janus_wire_take_attrs *attrs, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = k;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "wire.take", in, 1, attrs, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

/* the gradient at number k is x */
static inline janus_status janus_build_wire_set(janus_subgraph *g, janus_value k, janus_value x) {
    janus_value in[2];
    janus_status st;
    in[0] = k;
    in[1] = x;
    st = janus_build(g, "wire.set", in, 2, NULL, NULL, 0);
    return st;
}

/* if `when`, the gradient has come to the tensor of number k: its owner may ask (exec/run/run.h) */
static inline janus_status janus_build_wire_mark(janus_subgraph *g, janus_value k, janus_value when, const janus_wire_mark_attrs *attrs) {
    janus_value in[2];
    janus_status st;
    in[0] = k;
    in[1] = when;
    st = janus_build(g, "wire.mark", in, 2, attrs, NULL, 0);
    return st;
}

/* the first of the keys of a new list's rows: 2**32 numbers that no other list has */
static inline janus_status janus_build_rows_new(janus_subgraph *g, janus_value *out_k) {
    janus_value out[1];
    janus_status st;
    if (!out_k)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "rows.new", NULL, 0, NULL, out, 1);
    if (st == JANUS_OK)
        *out_k = out[0];
    return st;
}

/* x becomes the row with key k: x has a gradient where that row has */
static inline janus_status janus_build_rows_put(janus_subgraph *g, janus_value x, janus_value k) {
    janus_value in[2];
    janus_status st;
    in[0] = x;
    in[1] = k;
    st = janus_build(g, "rows.put", in, 2, NULL, NULL, 0);
    return st;
}

/* x is the row with key k.  Without k rows have no keys: x is one of some rows (part 0), of all in turn (1), or one of those that together are all (2) */
static inline janus_status janus_build_rows_read(janus_subgraph *g, janus_value x, janus_value k, const janus_rows_read_attrs *attrs) {
    janus_value in[2];
    janus_status st;
    in[0] = x;
    in[1] = k;
    st = janus_build(g, "rows.read", in, 2, attrs, NULL, 0);
    return st;
}

/* the row with key k has a gradient, if `when` or none is given */
static inline janus_status janus_build_rows_mark(janus_subgraph *g, janus_value k, janus_value when) {
    janus_value in[2];
    janus_status st;
    in[0] = k;
    in[1] = when;
    st = janus_build(g, "rows.mark", in, 2, NULL, NULL, 0);
    return st;
}

/* whether the row with key k has a gradient; it has none from now on */
static inline janus_status janus_build_rows_take(janus_subgraph *g, janus_value k, janus_value *out_y) {
    janus_value in[1];
    janus_value out[1];
    janus_status st;
    in[0] = k;
    if (!out_y)
        return JANUS_INVALID_ARGUMENT;
    st = janus_build(g, "rows.take", in, 1, NULL, out, 1);
    if (st == JANUS_OK)
        *out_y = out[0];
    return st;
}

#ifdef __cplusplus
}
#endif

#endif
