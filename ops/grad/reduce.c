/* SPDX-License-Identifier: Apache-2.0 */
/* Gradient rules of reductions: dy gets the reduced dims back and is spread over x. */
#include "config.h"

#include "ops/grad/grad.h"
#include "ops/reduce_attrs.h"

#include <math.h>

#define BEGIN                                                                                      \
    jn_gx gx = {r, JANUS_OK}, *g = &gx;                                                            \
    jn_ev x = r->in[0]
#define BEGIN_REDUCE                                                                               \
    BEGIN;                                                                                         \
    if (!JN_WANT(g, 0) || jn_ev_is_none(r->dout[0]))                                               \
        return JANUS_OK;                                                                           \
    jn_reduce_attrs a = jn_reduce_attrs_of(r->op, r->attrs);                                       \
    jn_ev dy = jn_g_restore_dims(g, r->dout[0], x, a.dims, a.keepdim)
#define RES_WITH_DIMS jn_g_restore_dims(g, r->out[0], x, a.dims, a.keepdim)

janus_status jn_grad_sum(jn_grad *r) {
    BEGIN_REDUCE;
    jn_g_set(g, 0, JN_G2(g, expand_like, dy, x));
    return g->st;
}

janus_status jn_grad_mean(jn_grad *r) {
    BEGIN_REDUCE;
    jn_ev each = jn_g_div(g, dy, jn_g_count(g, x, a.dims, dy));
    jn_g_set(g, 0, JN_G2(g, expand_like, each, x));
    return g->st;
}

/*
 * The product of the others: over all that are not zero it is p / x; where exactly one is zero,
 * only that one gets a gradient, p.
 */
janus_status jn_grad_prod(jn_grad *r) {
    BEGIN_REDUCE;
    jn_ev zero = jn_g_const(g, 0, x), one = jn_g_const(g, 1, x);
    jn_ev is_zero = JN_G2(g, eq, x, zero), safe = JN_G3(g, where, is_zero, one, x);
    jn_ev p = jn_g_op1(g, JN_OP(prod), safe, JN_ATTRS(prod, .dims = a.dims, .keepdim = true));
    jn_ev n = jn_g_sum(g, JN_G3(g, where, is_zero, one, zero), a.dims, true);
    jn_ev others = jn_g_div(g, p, safe);
    jn_ev hidden = JN_G3(g, where, is_zero, JN_G2(g, gt, n, one), JN_G2(g, gt, n, zero));
    jn_g_set(g, 0, jn_g_zero_where(g, jn_g_mul(g, dy, others), hidden));
    return g->st;
}

/* dy shared evenly by the elements equal to the result. */
static jn_ev spread_over_ties(jn_gx *g, jn_ev x, jn_ev y, jn_ev dy, janus_ints dims) {
    jn_ev zero = jn_g_const(g, 0, x), one = jn_g_const(g, 1, x);
    /* What is no number is the extreme, wherever it stands. */
    jn_ev nan = JN_G2(g, logical_and, JN_G1(g, isnan, x), JN_G1(g, isnan, y));
    jn_ev hit = JN_G3(g, where, JN_G2(g, logical_or, JN_G2(g, eq, x, y), nan), one, zero);
    return jn_g_mul(g, hit, jn_g_div(g, dy, jn_g_sum(g, hit, dims, true)));
}

janus_status jn_grad_amax(jn_grad *r) {
    BEGIN_REDUCE;
    jn_g_set(g, 0, spread_over_ties(g, x, RES_WITH_DIMS, dy, a.dims));
    return g->st;
}

janus_status jn_grad_logsumexp(jn_grad *r) {
    BEGIN_REDUCE;
    jn_ev p = JN_G1(g, exp, jn_g_sub(g, x, RES_WITH_DIMS));
    jn_g_set(g, 0, jn_g_mul(g, dy, p));
    return g->st;
}

janus_status jn_grad_var(jn_grad *r) {
    BEGIN_REDUCE;
    jn_ev n = jn_g_sub(g, jn_g_count(g, x, a.dims, dy), jn_g_const(g, a.param, dy));
    jn_ev centred = jn_g_sub(g, x, jn_g_mean(g, x, a.dims, true));
    jn_g_set(g, 0, jn_g_mul(g, jn_g_div(g, jn_g_scale(g, dy, 2), n), centred));
    return g->st;
}

/* y = (sum |x|^p)^(1/p): dx = dy sign(x) (|x| / y)^(p - 1), 0 where y is */
janus_status jn_grad_norm(jn_grad *r) {
    BEGIN_REDUCE;
    jn_ev y = RES_WITH_DIMS, sign = JN_G1(g, sign, x), dx;
    if (a.param == 0)
        return g->st;
    if (a.param == 1) {
        jn_g_set(g, 0, jn_g_mul(g, dy, sign));
        return g->st;
    }
    if (isinf(a.param)) {
        jn_ev share = spread_over_ties(g, JN_G1(g, abs, x), y, dy, a.dims);
        jn_g_set(g, 0, jn_g_mul(g, share, sign));
        return g->st;
    }
    if (a.param == 2) {
        dx = jn_g_mul(g, x, jn_g_div(g, dy, y));
    } else {
        jn_ev ratio = jn_g_div(g, JN_G1(g, abs, x), y);
        jn_ev p = JN_G2(g, pow, ratio, jn_g_const(g, a.param - 1, x));
        dx = jn_g_mul(g, jn_g_mul(g, dy, sign), p);
    }
    jn_g_set(g, 0, jn_g_zero_where(g, dx, JN_G2(g, eq, y, jn_g_const(g, 0, y))));
    return g->st;
}

/* Puts v at indices along axis into zeros like x. */
static void scatter_back(jn_gx *g, jn_ev x, jn_ev indices, jn_ev v, int64_t axis) {
    jn_g_set(g, 0,
             jn_g_op3(g, JN_OP(scatter), jn_g_zeros_like(g, x), indices, v,
                      JN_ATTRS(scatter, .axis = axis)));
}

janus_status jn_grad_max_dim(jn_grad *r) {
    const janus_max_dim_attrs *a = r->attrs; /* min_dim's is alike */
    BEGIN;
    if (!JN_WANT(g, 0) || jn_ev_is_none(r->dout[0]))
        return JANUS_OK;
    jn_ev dy = r->dout[0], indices = r->out[1];
    if (jn_g_rank(g, x) == 0) {
        jn_g_set(g, 0, dy);
        return g->st;
    }
    if (!a->keepdim) {
        dy = jn_g_unsqueeze(g, dy, a->axis);
        indices = jn_g_unsqueeze(g, indices, a->axis);
    }
    scatter_back(g, x, indices, dy, a->axis);
    return g->st;
}

janus_status jn_grad_sort(jn_grad *r) {
    int64_t axis = r->op->id == JN_OP_ID_topk ? ((const janus_topk_attrs *)r->attrs)->axis
                                              : ((const janus_sort_attrs *)r->attrs)->axis;
    BEGIN;
    if (!JN_WANT(g, 0) || jn_ev_is_none(r->dout[0]))
        return JANUS_OK;
    scatter_back(g, x, r->out[1], r->dout[0], axis);
    return g->st;
}

janus_status jn_grad_cumsum(jn_grad *r) {
    const janus_cumsum_attrs *a = r->attrs;
    BEGIN;
    (void)x;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0,
                 jn_g_op1(g, JN_OP(cumsum), r->dout[0],
                          JN_ATTRS(cumsum, .axis = a->axis, .reverse = !a->reverse)));
    return g->st;
}
