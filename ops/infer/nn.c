/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inference of losses, pooling and normalisation.
 */
#include "config.h"

#include "graph/base/checked.h"
#include "ops/infer/infer.h"
#include "ops/nn_rules.h"

#define LAST_ERROR() (janus_last_error()->code)

static janus_status check_reduction(jn_infer *c, int64_t r) {
    if (r < JN_REDUCTION_NONE || r > JN_REDUCTION_SUM)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT, "reduction must be 0, 1 or 2");
    return JANUS_OK;
}

/* Dims of the losses of single elements: the scores' without the class dim, refined by those of the
 * target, which are the same or, of probabilities, the scores'.  *rank -1: unknown. */
static janus_status loss_dims(jn_infer *c, unsigned scores, unsigned target, int64_t *dims,
                              int *rank) {
    const jn_type *x = c->in[scores], *t = c->in[target];
    bool probabilities = jn_dtype_is_float(t->dtype);
    *rank = -1;
    if (!jn_dtype_is_int(t->dtype) && t->dtype != x->dtype)
        return jn_infer_expected(c, JANUS_DTYPE, target,
                                 "class numbers, or probabilities like logits");
    if (x->rank == 0)
        return jn_infer_expected(c, JANUS_SHAPE, scores, "at least 1 dim");
    if (x->rank < 0)
        return JANUS_OK;
    int class_dim = x->rank == 1 ? 0 : 1;
    *rank = 0;
    for (int i = 0; i < x->rank; i++) {
        if (i != class_dim)
            dims[(*rank)++] = x->dims[i];
    }
    if (probabilities)
        return jn_infer_want_like(c, target, x, "the dims of the scores");
    JN_TRY(jn_infer_want_dims(c, target, *rank, dims, "the dims of the scores without classes"));
    for (int i = 0; i < t->rank; i++)
        (void)jn_dim_merge(t->dims[i], dims[i], &dims[i]);
    return JANUS_OK;
}

janus_status jn_infer_cross_entropy(jn_infer *c) {
    const janus_nll_loss_attrs *a = c->attrs; /* cross_entropy's begins alike */
    int64_t dims[JN_MAX_RANK];
    int rank;
    JN_TRY(check_reduction(c, a->reduction));
    JN_TRY(loss_dims(c, 0, 1, dims, &rank));
    if (a->reduction != JN_REDUCTION_NONE)
        return jn_infer_dims(c, 0, c->in[0]->dtype, 0, NULL);
    return jn_infer_dims(c, 0, c->in[0]->dtype, rank, dims);
}

/* Gradient for the scores; dy is like the loss. */
static janus_status loss_grad(jn_infer *c, int64_t reduction, unsigned scores, unsigned target) {
    int64_t dims[JN_MAX_RANK];
    int rank;
    JN_TRY(check_reduction(c, reduction));
    JN_TRY(loss_dims(c, scores, target, dims, &rank));
    JN_TRY(jn_infer_want_dims(c, 0, reduction == JN_REDUCTION_NONE ? rank : 0, dims,
                              "the dims of the loss"));
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[scores]);
}

janus_status jn_infer_cross_entropy_grad(jn_infer *c) {
    return loss_grad(c, ((const janus_cross_entropy_grad_attrs *)c->attrs)->reduction, 1, 2);
}

janus_status jn_infer_nll_loss_grad(jn_infer *c) {
    return loss_grad(c, ((const janus_nll_loss_grad_attrs *)c->attrs)->reduction, 2, 1);
}

/* dy and y are alike, and have the axis. */
janus_status jn_infer_softmax_grad(jn_infer *c) {
    JN_TRY(jn_infer_want_like(c, 1, c->in[0], "the dims of dy"));
    return jn_infer_axis_same(c);
}

janus_status jn_infer_loss(jn_infer *c) {
    const janus_mse_loss_attrs *a = c->attrs; /* the others' begin alike */
    JN_TRY(check_reduction(c, a->reduction));
    JN_TRY(jn_infer_broadcast(c, 0, c->in[0]->dtype, c->in, 2));
    if (a->reduction != JN_REDUCTION_NONE)
        return jn_infer_dims(c, 0, c->in[0]->dtype, 0, NULL);
    return JANUS_OK;
}

/* [N,C,H,W] of operand `from` -> [N,C,OH,OW] in d. */
static janus_status pool_dims(jn_infer *c, unsigned from, janus_ints kernel, janus_ints stride,
                              janus_ints padding, janus_ints dilation, bool ceil_mode, int64_t *d) {
    const jn_type *x = c->in[from];
    if (kernel.n != 2 || (stride.n != 0 && stride.n != 2) || padding.n != 2 ||
        (dilation.n != 0 && dilation.n != 2))
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT,
                             "kernel, stride, padding and dilation need two entries each");
    JN_TRY(jn_infer_want_rank(c, from, 4, "4 dims [N,C,H,W]"));
    for (int k = 0; k < 2; k++) {
        int64_t s = stride.n ? stride.data[k] : kernel.data[k];
        int64_t dil = dilation.n ? dilation.data[k] : 1;
        if (kernel.data[k] <= 0 || s <= 0 || dil <= 0 || padding.data[k] < 0 ||
            padding.data[k] > kernel.data[k] / 2)
            return jn_infer_fail(c, JANUS_INVALID_ARGUMENT,
                                 "sizes must be positive and padding at most half the kernel");
        d[k] = x->rank < 0 ? JN_DIM_UNKNOWN : x->dims[k];
        d[2 + k] = JN_DIM_UNKNOWN;
        if (x->rank < 0 || x->dims[2 + k] < 0)
            continue;
        if (x->dims[2 + k] == 0) /* as PyTorch: padding alone has no largest element */
            return jn_infer_expected(c, JANUS_SHAPE, from, "planes with elements");
        d[2 + k] = jn_pool_size(x->dims[2 + k], kernel.data[k], s, padding.data[k], dil, ceil_mode);
        if (d[2 + k] < 0)
            return jn_infer_fail(c, JANUS_SHAPE, "kernel of size %lld does not fit %lld",
                                 (long long)kernel.data[k], (long long)x->dims[2 + k]);
    }
    return JANUS_OK;
}

janus_status jn_infer_max_pool2d(jn_infer *c) {
    const janus_max_pool2d_attrs *a = c->attrs;
    int64_t d[4];
    if (a->dilation.n != 2)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT, "dilation needs two entries");
    JN_TRY(pool_dims(c, 0, a->kernel, a->stride, a->padding, a->dilation, a->ceil_mode != 0, d));
    JN_TRY(jn_infer_dims(c, 0, c->in[0]->dtype, 4, d));
    return jn_infer_dims(c, 1, JANUS_I64, 4, d);
}

janus_status jn_infer_avg_pool2d(jn_infer *c) {
    const janus_avg_pool2d_attrs *a = c->attrs;
    int64_t d[4];
    JN_TRY(pool_dims(c, 0, a->kernel, a->stride, a->padding, (janus_ints){NULL, 0},
                     a->ceil_mode != 0, d));
    return jn_infer_dims(c, 0, c->in[0]->dtype, 4, d);
}

janus_status jn_infer_avg_pool2d_grad(jn_infer *c) {
    const janus_avg_pool2d_grad_attrs *a = c->attrs;
    int64_t d[4];
    JN_TRY(pool_dims(c, 1, a->kernel, a->stride, a->padding, (janus_ints){NULL, 0},
                     a->ceil_mode != 0, d));
    JN_TRY(jn_infer_want_dims(c, 0, 4, d, "the dims of avg_pool2d's result"));
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[1]);
}

/* x has 4 dims, and as many planes as the indices. */
static janus_status check_planes(jn_infer *c, unsigned x, unsigned indices) {
    const jn_type *t = c->in[x];
    JN_TRY(jn_infer_want_rank(c, x, 4, "4 dims [N,C,H,W]"));
    JN_TRY(jn_infer_want_rank(c, indices, 4, "4 dims [N,C,OH,OW]"));
    if (t->rank < 0)
        return JANUS_OK;
    int64_t d[4] = {t->dims[0], t->dims[1], JN_DIM_UNKNOWN, JN_DIM_UNKNOWN};
    return jn_infer_want_dims(c, indices, 4, d, "the planes of x");
}

janus_status jn_infer_max_pool2d_grad(jn_infer *c) {
    JN_TRY(check_planes(c, 2, 1));
    JN_TRY(jn_infer_want_rank(c, 0, 4, "4 dims [N,C,OH,OW]"));
    JN_TRY(check_planes(c, 2, 0));
    JN_TRY(jn_infer_want_like(c, 0, c->in[1], "the dims of the indices"));
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[2]);
}

janus_status jn_infer_max_pool2d_gather(jn_infer *c) {
    JN_TRY(check_planes(c, 0, 1));
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[1]);
}

/* Operand is absent or a vector of one entry per channel; *channels is refined. */
static janus_status per_channel(jn_infer *c, unsigned operand, int64_t *channels) {
    if (!jn_infer_has(c, operand))
        return JANUS_OK;
    JN_TRY(jn_infer_want_rank(c, operand, 1, "1 dim"));
    if (c->in[operand]->rank == 1 && !jn_dim_merge(*channels, c->in[operand]->dims[0], channels))
        return jn_infer_expected(c, JANUS_SHAPE, operand, "one entry per channel");
    return JANUS_OK;
}

/* Mean and 1 / standard deviation of halves are f32. */
static int statistics(const jn_type *x) {
    return x->dtype == JANUS_F16 || x->dtype == JANUS_BF16 ? JANUS_F32 : x->dtype;
}

janus_status jn_infer_batch_norm(jn_infer *c) {
    const janus_batch_norm_attrs *a = c->attrs;
    const jn_type *x = c->in[0];
    if (x->rank == 0 || x->rank == 1)
        return jn_infer_expected(c, JANUS_SHAPE, 0, "at least 2 dims [N,C,...]");
    int64_t channels = x->rank < 0 ? JN_DIM_UNKNOWN : x->dims[1];
    for (unsigned i = 1; i < 5; i++)
        JN_TRY(per_channel(c, i, &channels));
    if (!a->training && (!jn_infer_has(c, 3) || !jn_infer_has(c, 4)))
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT,
                             "running statistics are needed when not training");
    JN_TRY(jn_infer_like(c, 0, x->dtype, x));
    JN_TRY(jn_infer_dims(c, 1, statistics(x), 1, &channels));
    return jn_infer_dims(c, 2, statistics(x), 1, &channels);
}

/* Operands 3 and 4 of a gradient. */
static janus_status check_statistics(jn_infer *c, const jn_type *x) {
    int d = c->in[3]->dtype;
    if (d != x->dtype && d != statistics(x))
        return jn_infer_expected(c, JANUS_DTYPE, 3, "the dtype of x, f32 where x is f16 or bf16");
    return c->in[4]->dtype == d ? JANUS_OK : jn_infer_expected(c, JANUS_DTYPE, 4, "mean's dtype");
}

janus_status jn_infer_batch_norm_grad(jn_infer *c) {
    const jn_type *x = c->in[1];
    JN_TRY(check_statistics(c, x));
    if (x->rank == 0 || x->rank == 1)
        return jn_infer_expected(c, JANUS_SHAPE, 1, "at least 2 dims [N,C,...]");
    JN_TRY(jn_infer_want_like(c, 0, x, "the dims of x"));
    int64_t channels = x->rank < 0 ? JN_DIM_UNKNOWN : x->dims[1];
    for (unsigned i = 2; i < 5; i++)
        JN_TRY(per_channel(c, i, &channels));
    JN_TRY(jn_infer_like(c, 0, x->dtype, x));
    JN_TRY(jn_infer_dims(c, 1, x->dtype, 1, &channels));
    return jn_infer_dims(c, 2, x->dtype, 1, &channels);
}

/* Weight and bias have the dims of x from axis on. */
static janus_status check_norm_param(jn_infer *c, const jn_type *x, int axis, unsigned operand) {
    if (!jn_infer_has(c, operand))
        return JANUS_OK;
    return jn_infer_want_dims(c, operand, x->rank - axis, x->dims + axis, "dims of x from axis on");
}

janus_status jn_infer_layer_norm(jn_infer *c) {
    const janus_layer_norm_attrs *a = c->attrs;
    const jn_type *x = c->in[0];
    int axis;
    if (x->rank < 0) {
        for (unsigned i = 0; i < 3; i++)
            JN_TRY(jn_infer_unknown(c, i, i ? statistics(x) : x->dtype));
        return JANUS_OK;
    }
    JN_TRY(jn_infer_axis(c, a->axis, x->rank, &axis));
    JN_TRY(check_norm_param(c, x, axis, 1));
    JN_TRY(check_norm_param(c, x, axis, 2));
    JN_TRY(jn_infer_like(c, 0, x->dtype, x));
    JN_TRY(jn_infer_dims(c, 1, statistics(x), axis, x->dims));
    return jn_infer_dims(c, 2, statistics(x), axis, x->dims);
}

janus_status jn_infer_layer_norm_grad(jn_infer *c) {
    const janus_layer_norm_grad_attrs *a = c->attrs;
    const jn_type *x = c->in[1];
    int axis;
    JN_TRY(check_statistics(c, x));
    if (x->rank < 0) {
        for (unsigned i = 0; i < 3; i++)
            JN_TRY(jn_infer_unknown(c, i, x->dtype));
        return JANUS_OK;
    }
    JN_TRY(jn_infer_axis(c, a->axis, x->rank, &axis));
    JN_TRY(jn_infer_want_like(c, 0, x, "the dims of x"));
    JN_TRY(check_norm_param(c, x, axis, 2));
    for (unsigned i = 3; i < 5; i++)
        JN_TRY(jn_infer_want_dims(c, i, axis, x->dims, "dims of x before axis"));
    JN_TRY(jn_infer_like(c, 0, x->dtype, x));
    JN_TRY(jn_infer_dims(c, 1, x->dtype, x->rank - axis, x->dims + axis));
    return jn_infer_dims(c, 2, x->dtype, x->rank - axis, x->dims + axis);
}
