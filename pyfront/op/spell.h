/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's spellings of ops whose parameters differ from their rows: shapes given one by one, dim
 * meaning one dim or several or all, alpha, reduction names.  Each binder chooses a row and fills
 * its attributes.
 */
#ifndef JPY_PY_SPELL_H
#define JPY_PY_SPELL_H

#include "pyfront/op/bound.h"

#define ATTRS(type) ((type *)(void *)b->attrs)

/* The row `op` with the first n arguments as operands, attributes at their defaults. */
int jpy_use(jpy_bound *b, const jn_op *op, PyObject *const *a, unsigned n);
/* Type of an argument that is a tensor or stands for one; TypeError for others. */
int jpy_type_of(jpy_bound *b, PyObject *o, jn_type *out);
/* A dtype argument: operand 0 is cast to it first. */
int jpy_take_dtype(jpy_bound *b, PyObject *o);
/* a[0] as a tensor of dtype d: itself, if it is one. */
int jpy_cast_to(jpy_bound *b, PyObject *const *a, janus_dtype d);

int jpy_bind_add(jpy_bound *b, PyObject *const *a);
int jpy_bind_addcdiv(jpy_bound *b, PyObject *const *a);
int jpy_bind_addcdiv_sqrt(jpy_bound *b, PyObject *const *a);
int jpy_bind_addcmul(jpy_bound *b, PyObject *const *a);
int jpy_bind_all(jpy_bound *b, PyObject *const *a);
int jpy_bind_amax(jpy_bound *b, PyObject *const *a);
int jpy_bind_amin(jpy_bound *b, PyObject *const *a);
int jpy_bind_any(jpy_bound *b, PyObject *const *a);
int jpy_bind_argmax(jpy_bound *b, PyObject *const *a);
int jpy_bind_argmin(jpy_bound *b, PyObject *const *a);
int jpy_bind_attention(jpy_bound *b, PyObject *const *a);
int jpy_bind_autocast(jpy_bound *b, PyObject *const *a);
int jpy_bind_avg_pool2d(jpy_bound *b, PyObject *const *a);
int jpy_bind_batch_norm(jpy_bound *b, PyObject *const *a);
int jpy_bind_bce_with_logits(jpy_bound *b, PyObject *const *a);
int jpy_bind_bfloat16(jpy_bound *b, PyObject *const *a);
int jpy_bind_bmm(jpy_bound *b, PyObject *const *a);
int jpy_bind_bool(jpy_bound *b, PyObject *const *a);
int jpy_bind_byte(jpy_bound *b, PyObject *const *a);
int jpy_bind_cat(jpy_bound *b, PyObject *const *a);
int jpy_bind_clamp(jpy_bound *b, PyObject *const *a);
int jpy_bind_clamp_max(jpy_bound *b, PyObject *const *a);
int jpy_bind_clamp_min(jpy_bound *b, PyObject *const *a);
int jpy_bind_clone(jpy_bound *b, PyObject *const *a);
int jpy_bind_contiguous(jpy_bound *b, PyObject *const *a);
int jpy_bind_conv2d(jpy_bound *b, PyObject *const *a);
int jpy_bind_conv2d_input_grad(jpy_bound *b, PyObject *const *a);
int jpy_bind_cpu(jpy_bound *b, PyObject *const *a);
int jpy_bind_cross_entropy(jpy_bound *b, PyObject *const *a);
int jpy_bind_cumsum(jpy_bound *b, PyObject *const *a);
int jpy_bind_div(jpy_bound *b, PyObject *const *a);
int jpy_bind_double(jpy_bound *b, PyObject *const *a);
int jpy_bind_expand(jpy_bound *b, PyObject *const *a);
int jpy_bind_expand_as(jpy_bound *b, PyObject *const *a);
int jpy_bind_flatten(jpy_bound *b, PyObject *const *a);
int jpy_bind_flip(jpy_bound *b, PyObject *const *a);
int jpy_bind_float(jpy_bound *b, PyObject *const *a);
int jpy_bind_gather(jpy_bound *b, PyObject *const *a);
int jpy_bind_gelu(jpy_bound *b, PyObject *const *a);
int jpy_bind_half(jpy_bound *b, PyObject *const *a);
int jpy_bind_index_add(jpy_bound *b, PyObject *const *a);
int jpy_bind_index_select(jpy_bound *b, PyObject *const *a);
int jpy_bind_int(jpy_bound *b, PyObject *const *a);
int jpy_bind_layer_norm(jpy_bound *b, PyObject *const *a);
int jpy_bind_log_softmax(jpy_bound *b, PyObject *const *a);
int jpy_bind_logsumexp(jpy_bound *b, PyObject *const *a);
int jpy_bind_long(jpy_bound *b, PyObject *const *a);
int jpy_bind_max(jpy_bound *b, PyObject *const *a);
int jpy_bind_max_pool2d(jpy_bound *b, PyObject *const *a);
int jpy_bind_mean(jpy_bound *b, PyObject *const *a);
int jpy_bind_min(jpy_bound *b, PyObject *const *a);
int jpy_bind_mm(jpy_bound *b, PyObject *const *a);
int jpy_bind_mse_loss(jpy_bound *b, PyObject *const *a);
int jpy_bind_mv(jpy_bound *b, PyObject *const *a);
int jpy_bind_narrow(jpy_bound *b, PyObject *const *a);
int jpy_bind_nll_loss(jpy_bound *b, PyObject *const *a);
int jpy_bind_norm(jpy_bound *b, PyObject *const *a);
int jpy_bind_permute(jpy_bound *b, PyObject *const *a);
int jpy_bind_prod(jpy_bound *b, PyObject *const *a);
int jpy_bind_repeat(jpy_bound *b, PyObject *const *a);
int jpy_bind_reshape(jpy_bound *b, PyObject *const *a);
int jpy_bind_roll(jpy_bound *b, PyObject *const *a);
int jpy_bind_scatter(jpy_bound *b, PyObject *const *a);
int jpy_bind_scatter_add(jpy_bound *b, PyObject *const *a);
int jpy_bind_select(jpy_bound *b, PyObject *const *a);
int jpy_bind_smooth_l1(jpy_bound *b, PyObject *const *a);
int jpy_bind_softmax(jpy_bound *b, PyObject *const *a);
int jpy_bind_sort(jpy_bound *b, PyObject *const *a);
int jpy_bind_argsort(jpy_bound *b, PyObject *const *a);
int jpy_bind_squeeze(jpy_bound *b, PyObject *const *a);
int jpy_bind_stack(jpy_bound *b, PyObject *const *a);
int jpy_bind_sub(jpy_bound *b, PyObject *const *a);
int jpy_bind_sum(jpy_bound *b, PyObject *const *a);
int jpy_bind_t(jpy_bound *b, PyObject *const *a);
int jpy_bind_to(jpy_bound *b, PyObject *const *a);
int jpy_bind_topk(jpy_bound *b, PyObject *const *a);
int jpy_bind_transpose(jpy_bound *b, PyObject *const *a);
int jpy_bind_type_as(jpy_bound *b, PyObject *const *a);
int jpy_bind_unsqueeze(jpy_bound *b, PyObject *const *a);
int jpy_bind_var(jpy_bound *b, PyObject *const *a);
int jpy_bind_where(jpy_bound *b, PyObject *const *a);
int jpy_bind_view(jpy_bound *b, PyObject *const *a);
int jpy_bind_view_as(jpy_bound *b, PyObject *const *a);
int jpy_bind_reshape_as(jpy_bound *b, PyObject *const *a);

#endif
