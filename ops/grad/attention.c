/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradient rules of attention and of its gradient.
 *
 * With W = softmax(S), S = s Q K^T + mask and D = dY V^T, the first gradient has dS = W (D - sum(D
 * W)), dQ = s dS K, dK = s dS^T Q, dV = W^T dY.  y and lse are operands there, but functions of the
 * others: the second gradient below is the total one, and they get none.  A mask's gradient, and
 * everything of second order, is made of products and softmax.
 */
#include "config.h"

#include <math.h>

#include "ops/attention_rules.h"
#include "ops/grad/grad.h"

static jn_ev product(jn_gx *g, jn_ev a, jn_ev b, bool ta, bool tb) {
    return jn_g_op2(g, JN_OP(matmul), a, b, JN_ATTRS(matmul, .transpose_a = ta, .transpose_b = tb));
}

static jn_ev last_sum(jn_gx *g, jn_ev v) {
    int64_t last = -1;
    return jn_g_sum(g, v, (janus_ints){&last, 1}, true);
}

/* Weights are shared along batch dims that only values have: spread there. */
static jn_ev softmax_grad(jn_gx *g, jn_ev dy, jn_ev y) {
    jn_gtype a, b;
    jn_g_type(g, dy, &a);
    jn_g_type(g, y, &b);
    if (g->st != JANUS_OK)
        return JN_EV_NONE;
    bool same = a.t.rank >= 0 && a.t.rank == b.t.rank;
    for (int i = 0; same && i < a.t.rank; i++)
        same = a.dims[i] >= 0 && a.dims[i] == b.dims[i];
    if (!same) { /* either may have batch dims that the other lacks */
        dy = jn_g_add(g, dy, jn_g_zeros_like(g, y));
        y = JN_G2(g, expand_like, y, dy);
    }
    return jn_g_op2(g, JN_OP(softmax_grad), dy, y, JN_ATTRS(softmax_grad, .axis = -1));
}

static jn_ev added(jn_gx *g, jn_ev a, jn_ev b) {
    return jn_ev_is_none(a) ? b : jn_ev_is_none(b) ? a : jn_g_add(g, a, b);
}

/* v times the factor of the scores. */
static jn_ev scaled(jn_gx *g, jn_ev v, jn_ev query, double scale) {
    jn_gtype t;
    int64_t last = -1;
    jn_g_type(g, query, &t);
    if (g->st != JANUS_OK)
        return JN_EV_NONE;
    if (scale != 0)
        return jn_g_scale(g, v, scale);
    if (t.t.rank > 0 && t.dims[t.t.rank - 1] > 0)
        return jn_g_scale(g, v, 1 / sqrt((double)t.dims[t.t.rank - 1]));
    return jn_g_mul(g, v, JN_G1(g, rsqrt, jn_g_count(g, query, (janus_ints){&last, 1}, v)));
}

static bool is_bool(jn_gx *g, jn_ev v) {
    jn_gtype t;
    jn_g_type(g, v, &t);
    return t.t.dtype == JANUS_BOOL;
}

/* The weights, zero in rows of which nothing is allowed. */
static jn_ev weights(jn_gx *g, jn_ev q, jn_ev k, jn_ev mask, jn_ev lse,
                     const janus_attention_attrs *a) {
    jn_ev s = scaled(g, product(g, q, k, false, true), q, a->scale),
          lowest = jn_g_float(g, -INFINITY);
    if (!jn_ev_is_none(mask))
        s = is_bool(g, mask) ? JN_G3(g, masked_fill, s, JN_G1(g, logical_not, mask), lowest)
                             : jn_g_add(g, s, mask);
    if (a->causal) {
        jn_ev later = jn_g_op1(g, JN_OP(triu),
                               jn_g_op2(g, JN_OP(full_like), jn_g_int(g, 1), s,
                                        JN_ATTRS(full_like, .dtype = JANUS_BOOL)),
                               JN_ATTRS(triu, .diagonal = 1));
        s = JN_G3(g, masked_fill, s, later, lowest);
    }
    jn_ev w = jn_g_op1(g, JN_OP(softmax), s, JN_ATTRS(softmax, .axis = -1));
    jn_ev none = JN_G2(g, eq, lse, jn_g_const(g, -INFINITY, lse));
    return jn_g_zero_where(g, w, jn_g_unsqueeze(g, none, -1));
}

janus_status jn_grad_attention(jn_grad *r) {
    const janus_attention_attrs *a = r->attrs;
    jn_gx gx = {r, JANUS_OK}, *g = &gx;
    jn_ev dy = r->dout[0], mask = r->n_in > 3 ? r->in[3] : JN_EV_NONE, out[3];
    if (!jn_ev_is_none(r->dout[1]))
        jn_g_unsupported(g, "the sums of weights");
    if (jn_ev_is_none(dy))
        return g->st;
    if (JN_WANT(g, 0) || JN_WANT(g, 1) || JN_WANT(g, 2)) {
        jn_ev in[7] = {dy, r->in[0], r->in[1], r->in[2], mask, r->out[0], r->out[1]};
        jn_g_emit(g, JN_OP(attention_grad), in, 7,
                  JN_ATTRS(attention_grad, .causal = a->causal, .scale = a->scale), out, 3);
        for (unsigned i = 0; i < 3; i++)
            if (JN_WANT(g, i))
                jn_g_set_like(g, i, out[i]);
    }
    if (JN_WANT(g, 3)) {
        jn_ev w = weights(g, r->in[0], r->in[1], mask, r->out[1], a);
        jn_g_set_like(g, 3, softmax_grad(g, product(g, dy, r->in[2], false, true), w));
    }
    return g->st;
}

janus_status jn_grad_attention_grad(jn_grad *r) {
    const janus_attention_attrs *a = r->attrs; /* attention_grad's are alike */
    jn_gx gx = {r, JANUS_OK}, *g = &gx;
    jn_ev dy = r->in[0], q = r->in[1], k = r->in[2], v = r->in[3], mask = r->in[4];
    jn_ev gq = r->dout[0], gk = r->dout[1], gv = r->dout[2], none = JN_EV_NONE;
    if (jn_ev_is_none(gq) && jn_ev_is_none(gk) && jn_ev_is_none(gv))
        return JANUS_OK;
    jn_ev w = weights(g, q, k, mask, r->in[6], a), d = product(g, dy, v, false, true);
    jn_ev ddy = none, dq = none, dk = none, dv = none, gw = none; /* gw: what w gets */
    if (!jn_ev_is_none(gv)) {
        gw = product(g, dy, gv, false, true);
        ddy = product(g, w, gv, false, false);
    }
    if (!jn_ev_is_none(gq) || !jn_ev_is_none(gk)) {
        jn_ev ds = scaled(g, softmax_grad(g, d, w), q, a->scale), gs = none;
        if (!jn_ev_is_none(gq)) {
            gs = product(g, gq, k, false, true);
            dk = product(g, ds, gq, true, false);
        }
        if (!jn_ev_is_none(gk)) {
            gs = added(g, gs, product(g, q, gk, false, true));
            dq = product(g, ds, gk, false, false);
        }
        gs = scaled(g, gs, q, a->scale);
        jn_ev gd = softmax_grad(g, gs, w); /* what d gets */
        jn_ev sum_gs = last_sum(g, jn_g_mul(g, gs, w)), sum_d = last_sum(g, jn_g_mul(g, d, w));
        gw = added(g, gw,
                   jn_g_sub(g, jn_g_mul(g, gs, jn_g_sub(g, d, sum_d)), jn_g_mul(g, d, sum_gs)));
        ddy = added(g, ddy, product(g, gd, v, false, false));
        dv = product(g, gd, dy, true, false);
    }
    jn_ev s = softmax_grad(g, gw, w); /* what the scores get */
    if (JN_WANT(g, 4))
        jn_g_set_like(g, 4, s);
    s = scaled(g, s, q, a->scale);
    if (JN_WANT(g, 0))
        jn_g_set_like(g, 0, ddy);
    if (JN_WANT(g, 1))
        jn_g_set_like(g, 1, added(g, dq, product(g, s, k, false, false)));
    if (JN_WANT(g, 2))
        jn_g_set_like(g, 2, added(g, dk, product(g, s, q, true, false)));
    if (JN_WANT(g, 3) && !jn_ev_is_none(dv))
        jn_g_set_like(g, 3, dv);
    return g->st;
}
