/* SPDX-License-Identifier: Apache-2.0 */
/* Gradient rules of softmax, losses and pooling; normalisation is in grad_norm.c. */
#include "config.h"

#include "ops/grad/grad.h"
#include "ops/nn_rules.h"

#define BEGIN                                                                                      \
    jn_gx gx = {r, JANUS_OK}, *g = &gx;                                                            \
    jn_ev dy = r->dout[0];                                                                         \
    if (jn_ev_is_none(dy))                                                                         \
    return JANUS_OK
#define IN(i) (r->in[i])

static jn_ev sum_along(jn_gx *g, jn_ev v, int64_t axis) {
    return jn_g_sum(g, v, (janus_ints){&axis, 1}, true);
}
static jn_ev softmax_grad(jn_gx *g, jn_ev dy, jn_ev y, int64_t axis) {
    return jn_g_op2(g, JN_OP(softmax_grad), dy, y, JN_ATTRS(softmax_grad, .axis = axis));
}

janus_status jn_grad_softmax(jn_grad *r) {
    const janus_softmax_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, softmax_grad(g, dy, r->out[0], a->axis));
    return g->st;
}

/* f = y (d - sum(d y)) */
janus_status jn_grad_softmax_grad(jn_grad *r) {
    const janus_softmax_grad_attrs *a = r->attrs;
    BEGIN;
    jn_ev d = IN(0), y = IN(1);
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, softmax_grad(g, dy, y, a->axis));
    if (JN_WANT(g, 1)) {
        jn_ev s = sum_along(g, jn_g_mul(g, d, y), a->axis);
        jn_ev t = sum_along(g, jn_g_mul(g, dy, y), a->axis);
        jn_g_set(g, 1, jn_g_sub(g, jn_g_mul(g, dy, jn_g_sub(g, d, s)), jn_g_mul(g, d, t)));
    }
    return g->st;
}

janus_status jn_grad_log_softmax(jn_grad *r) {
    const janus_log_softmax_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0,
                 jn_g_op2(g, JN_OP(log_softmax_grad), dy, r->out[0],
                          JN_ATTRS(log_softmax_grad, .axis = a->axis)));
    return g->st;
}

/* f = d - exp(y) sum(d) */
janus_status jn_grad_log_softmax_grad(jn_grad *r) {
    const janus_log_softmax_grad_attrs *a = r->attrs;
    BEGIN;
    jn_ev p = JN_G1(g, exp, IN(1)), gp = jn_g_mul(g, dy, p);
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, jn_g_sub(g, dy, sum_along(g, gp, a->axis)));
    if (JN_WANT(g, 1))
        jn_g_set(g, 1, jn_g_neg(g, jn_g_mul(g, gp, sum_along(g, IN(0), a->axis))));
    return g->st;
}

/* ---- classification -----------------------------------------------------------------------------
 */

static bool is_float(jn_gx *g, jn_ev v) {
    jn_gtype t;
    jn_g_type(g, v, &t);
    return jn_dtype_is_float(t.t.dtype);
}

janus_status jn_grad_cross_entropy(jn_grad *r) {
    const janus_cross_entropy_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 1) && is_float(g, IN(1)))
        jn_g_unsupported(g, "target probabilities");
    if (JN_WANT(g, 0))
        jn_g_set(g, 0,
                 jn_g_op3(g, JN_OP(cross_entropy_grad), dy, IN(0), IN(1),
                          JN_ATTRS(cross_entropy_grad, .reduction = a->reduction,
                                   .ignore_index = a->ignore_index,
                                   .label_smoothing = a->label_smoothing)));
    return g->st;
}

static jn_ev nll_grad(jn_gx *g, jn_ev dy, jn_ev target, jn_ev like, int64_t reduction,
                      int64_t ignore) {
    return jn_g_op3(g, JN_OP(nll_loss_grad), dy, target, like,
                    JN_ATTRS(nll_loss_grad, .reduction = reduction, .ignore_index = ignore));
}

/*
 * f = w (softmax(x) - t), w the weight of each row (dy, over the number of rows in a mean). Classes
 * only: there the rows' weights are what nll_loss_grad gives their targets, negated.
 */
janus_status jn_grad_cross_entropy_grad(jn_grad *r) {
    const janus_cross_entropy_grad_attrs *a = r->attrs;
    BEGIN;
    jn_ev d = IN(0), x = IN(1), target = IN(2);
    int rank = jn_g_rank(g, x);
    int64_t axis = rank == 1 ? 0 : 1;
    if ((JN_WANT(g, 1) || JN_WANT(g, 2)) && is_float(g, target))
        jn_g_unsupported(g, "target probabilities");
    if (JN_WANT(g, 0)) {
        jn_ev one =
            jn_g_op2(g, JN_OP(full_like), jn_g_float(g, 1), d, JN_ATTRS(full_like, .dtype = -1));
        jn_ev unit = jn_g_op3(g, r->op, one, x, target, a), each = jn_g_mul(g, dy, unit);
        janus_ints along = {&axis, a->reduction == JN_REDUCTION_NONE ? 1u : 0u};
        jn_g_set(g, 0, jn_g_sum(g, each, along, false));
    }
    if (JN_WANT(g, 1)) {
        jn_ev p = jn_g_op1(g, JN_OP(softmax), x, JN_ATTRS(softmax, .axis = axis));
        jn_ev at_target = nll_grad(g, d, target, x, a->reduction, a->ignore_index);
        jn_ev w = jn_g_neg(g, sum_along(g, at_target, axis));
        jn_g_set(g, 1, jn_g_mul(g, w, softmax_grad(g, dy, p, axis)));
    }
    return g->st;
}

janus_status jn_grad_nll_loss(jn_grad *r) {
    const janus_nll_loss_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, nll_grad(g, dy, IN(1), IN(0), a->reduction, a->ignore_index));
    return g->st;
}

/* The loss is linear in logp, so the gradient of its gradient is the loss itself. */
janus_status jn_grad_nll_loss_grad(jn_grad *r) {
    const janus_nll_loss_grad_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0,
                 jn_g_op2(g, JN_OP(nll_loss), dy, IN(1),
                          JN_ATTRS(nll_loss, .reduction = a->reduction,
                                   .ignore_index = a->ignore_index)));
    return g->st;
}

/* ---- losses of pairs ----------------------------------------------------------------------------
 */

/* dy per element of `each`, which has the shape before the reduction. */
static jn_ev per_element(jn_gx *g, jn_ev dy, jn_ev each, int64_t reduction) {
    if (reduction != JN_REDUCTION_MEAN)
        return dy;
    return jn_g_div(g, dy, jn_g_count(g, each, (janus_ints){NULL, 0}, dy));
}

/* Gradients d and -d for the two operands. */
static janus_status antisymmetric(jn_gx *g, jn_ev d) {
    if (JN_WANT(g, 0))
        jn_g_set_like(g, 0, d);
    if (JN_WANT(g, 1))
        jn_g_set(g, 1, jn_g_neg(g, jn_g_sum_like(g, d, g->r->in[1])));
    return g->st;
}

janus_status jn_grad_mse_loss(jn_grad *r) {
    const janus_mse_loss_attrs *a = r->attrs;
    BEGIN;
    jn_ev diff = jn_g_sub(g, IN(0), IN(1));
    jn_ev w = jn_g_scale(g, per_element(g, dy, diff, a->reduction), 2);
    return antisymmetric(g, jn_g_mul(g, diff, w));
}

janus_status jn_grad_smooth_l1(jn_grad *r) {
    const janus_smooth_l1_attrs *a = r->attrs;
    BEGIN;
    jn_ev diff = jn_g_sub(g, IN(0), IN(1)), slope;
    if (a->beta == 0)
        slope = JN_G1(g, sign, diff);
    else
        slope = jn_g_op1(g, JN_OP(clamp), jn_g_scale(g, diff, 1 / a->beta),
                         JN_ATTRS(clamp, .lo = -1, .hi = 1));
    return antisymmetric(g, jn_g_mul(g, slope, per_element(g, dy, diff, a->reduction)));
}

janus_status jn_grad_bce_with_logits(jn_grad *r) {
    const janus_bce_with_logits_attrs *a = r->attrs;
    BEGIN;
    jn_ev diff = jn_g_sub(g, JN_G1(g, sigmoid, IN(0)), IN(1));
    jn_ev w = per_element(g, dy, diff, a->reduction);
    if (JN_WANT(g, 0))
        jn_g_set_like(g, 0, jn_g_mul(g, diff, w));
    if (JN_WANT(g, 1)) {
        /* the product has the shape before the reduction only through diff */
        jn_ev dt = jn_g_neg(g, jn_g_mul(g, JN_G2(g, expand_like, IN(0), diff), w));
        jn_g_set_like(g, 1, dt);
    }
    return g->st;
}

/* ---- pooling ------------------------------------------------------------------------------------
 */

janus_status jn_grad_max_pool2d(jn_grad *r) {
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, JN_G3(g, max_pool2d_grad, dy, r->out[1], IN(0)));
    return g->st;
}

janus_status jn_grad_max_pool2d_grad(jn_grad *r) {
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, JN_G2(g, max_pool2d_gather, dy, IN(1)));
    return g->st;
}

janus_status jn_grad_max_pool2d_gather(jn_grad *r) {
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, JN_G3(g, max_pool2d_grad, dy, IN(1), IN(0)));
    return g->st;
}

_Static_assert(sizeof(janus_avg_pool2d_attrs) == sizeof(janus_avg_pool2d_grad_attrs),
               "avg_pool2d and its gradient must have the same attributes");

janus_status jn_grad_avg_pool2d(jn_grad *r) {
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, jn_g_op2(g, JN_OP(avg_pool2d_grad), dy, IN(0), r->attrs));
    return g->st;
}

janus_status jn_grad_avg_pool2d_grad(jn_grad *r) {
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, jn_g_op1(g, JN_OP(avg_pool2d), dy, r->attrs));
    return g->st;
}
