/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradient rules of f16 and bf16 that are worked out in f32 and rounded once.
 *
 * A rule that takes several steps would round after each, and its constants (the number of elements
 * of a mean) can be too large for a half.  What such a rule reads is cast, what it gives is cast
 * back; so it has the precision of one kernel.  Rules of one step, and those whose steps are what
 * one writes down oneself (mul, matmul), need none of this: their kernels round once anyway.
 */
#include "config.h"

#include "ops/grad/grad.h"

static bool is_half(jn_gx *g, jn_ev v) {
    if (jn_ev_is_none(v) || g->st != JANUS_OK)
        return false;
    const jn_type *t = g->r->e->ops->type(g->r->e, v);
    return t && t->kind == JANUS_KIND_TENSOR && (t->dtype == JANUS_F16 || t->dtype == JANUS_BF16);
}

static jn_ev wide(jn_gx *g, jn_ev v) {
    return is_half(g, v) ? jn_g_op1(g, JN_OP(cast), v, JN_ATTRS(cast, .dtype = JANUS_F32)) : v;
}

/* Whether the rule reads operand i, and not for the gradient of another one that is not wanted: the
 * tape has not kept it then (jpy_op_saves). */
static bool reads(const jn_grad *r, unsigned i) {
    return r->op->save >> i & 1 && (r->op != JN_OP(lerp) || i == 2 || r->want[2]);
}
static bool reads_result(const jn_grad *r, unsigned i) {
    return r->op->save >> (16 + i) & 1 && (r->op != JN_OP(pow) || r->want[1]);
}

static janus_status widened(jn_grad *r, jn_grad_fn rule) {
    enum { MOST = 8 };
    jn_gx gx = {r, JANUS_OK}, *g = &gx;
    jn_ev in[MOST], out[MOST], dout[MOST];
    bool any = false;
    for (unsigned i = 0; i < r->n_out; i++)
        any = any || is_half(g, r->dout[i]);
    if (!any || r->n_in > MOST || r->n_out > MOST)
        return rule(r);
    for (unsigned i = 0; i < r->n_in; i++)
        in[i] = reads(r, i) ? wide(g, r->in[i]) : r->in[i];
    for (unsigned i = 0; i < r->n_out; i++) {
        out[i] = reads_result(r, i) ? wide(g, r->out[i]) : r->out[i];
        dout[i] = wide(g, r->dout[i]);
    }
    if (g->st != JANUS_OK)
        return g->st;
    jn_grad inner = *r;
    inner.in = in;
    inner.out = out;
    inner.dout = dout;
    JN_TRY(rule(&inner));
    for (unsigned i = 0; i < r->n_in; i++) {
        jn_gtype x, d;
        if (jn_ev_is_none(r->din[i]))
            continue;
        jn_g_type(g, r->in[i], &x);
        jn_g_type(g, r->din[i], &d);
        if (x.t.dtype != d.t.dtype)
            r->din[i] = jn_g_op1(g, JN_OP(cast), r->din[i], JN_ATTRS(cast, .dtype = x.t.dtype));
    }
    return g->st;
}

#define WIDE(name)                                                                                 \
    janus_status jn_grad_wide_##name(jn_grad *r) { return widened(r, jn_grad_##name); }

WIDE(acos)
WIDE(acosh)
WIDE(addcdiv)
WIDE(addcdiv_sqrt)
WIDE(addcmul)
WIDE(amax)
WIDE(asin)
WIDE(asinh)
WIDE(atan)
WIDE(atan2)
WIDE(atanh)
WIDE(attention_grad)
WIDE(batch_norm_grad)
WIDE(bce_with_logits)
WIDE(cross_entropy_grad)
WIDE(elu)
WIDE(erf)
WIDE(erfc)
WIDE(erfinv)
WIDE(expm1)
WIDE(gelu_grad)
WIDE(hypot)
WIDE(layer_norm_grad)
WIDE(leaky_relu)
WIDE(lerp)
WIDE(lgamma)
WIDE(log1p)
WIDE(log_softmax_grad)
WIDE(logsumexp)
WIDE(mean)
WIDE(mse_loss)
WIDE(norm)
WIDE(polygamma)
WIDE(pow)
WIDE(prod)
WIDE(reciprocal)
WIDE(rsqrt)
WIDE(sigmoid_grad)
WIDE(silu)
WIDE(smooth_l1)
WIDE(softmax_grad)
WIDE(softplus)
WIDE(sqrt)
WIDE(square)
WIDE(tanh_grad)
WIDE(var)
