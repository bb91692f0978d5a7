/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradient rules of elementwise ops.  What broadcasting did to an operand is undone by sum_like.
 */
#include "config.h"

#include "ops/grad/grad.h"

#include <math.h>

#define BEGIN                                                                                      \
    jn_gx gx = {r, JANUS_OK}, *g = &gx;                                                            \
    jn_ev dy = r->dout[0];                                                                         \
    (void)dy
#define IN(i) (r->in[i])
#define RES (r->out[0])
/* A rule of one operand: dx is an expression of dy, IN(0) or RES. */
#define RULE1(name, dx)                                                                            \
    janus_status jn_grad_##name(jn_grad *r) {                                                      \
        BEGIN;                                                                                     \
        if (JN_WANT(g, 0))                                                                         \
            jn_g_set_like(g, 0, dx);                                                               \
        return g->st;                                                                              \
    }

/* Constant almost everywhere: zeros, which are not the same as no gradient at all. */
janus_status jn_grad_zero(jn_grad *r) {
    BEGIN;
    for (unsigned i = 0; i < 2; i++) {
        if (JN_WANT(g, i))
            jn_g_set_like(g, i, jn_g_zeros_like(g, dy));
    }
    return g->st;
}

RULE1(pass, dy)

janus_status jn_grad_add(jn_grad *r) {
    BEGIN;
    for (unsigned i = 0; i < 2; i++) {
        if (JN_WANT(g, i))
            jn_g_set_like(g, i, dy);
    }
    return g->st;
}

janus_status jn_grad_sub(jn_grad *r) {
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set_like(g, 0, dy);
    if (JN_WANT(g, 1))
        jn_g_set(g, 1, jn_g_neg(g, jn_g_sum_like(g, dy, IN(1))));
    return g->st;
}

janus_status jn_grad_mul(jn_grad *r) {
    BEGIN;
    for (unsigned i = 0; i < 2; i++) {
        if (JN_WANT(g, i))
            jn_g_set_like(g, i, jn_g_mul(g, dy, IN(1 - i)));
    }
    return g->st;
}

/* y = a / b: da = dy / b, db = -da (a / b) */
janus_status jn_grad_div(jn_grad *r) {
    BEGIN;
    jn_ev da = jn_g_div(g, dy, IN(1));
    if (JN_WANT(g, 0))
        jn_g_set_like(g, 0, da);
    if (JN_WANT(g, 1))
        jn_g_set_like(g, 1, jn_g_neg(g, jn_g_mul(g, da, jn_g_div(g, IN(0), IN(1)))));
    return g->st;
}

/* y = a - floor(a / b) b */
janus_status jn_grad_mod(jn_grad *r) {
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set_like(g, 0, dy);
    if (JN_WANT(g, 1)) {
        jn_ev whole = JN_G1(g, floor, jn_g_div(g, IN(0), IN(1)));
        jn_g_set_like(g, 1, jn_g_neg(g, jn_g_mul(g, dy, whole)));
    }
    return g->st;
}

/* y = a ** b: da = dy b a ** (b - 1), 0 where b is; db = dy y log(a), 0 where a is 0 and b >= 0 */
janus_status jn_grad_pow(jn_grad *r) {
    BEGIN;
    jn_ev a = IN(0), b = IN(1), zero = jn_g_const(g, 0, b);
    if (JN_WANT(g, 0)) {
        jn_ev p = JN_G2(g, pow, a, jn_g_sub(g, b, jn_g_const(g, 1, b)));
        jn_ev da = jn_g_mul(g, dy, jn_g_mul(g, b, p));
        jn_g_set_like(g, 0, jn_g_zero_where(g, da, JN_G2(g, eq, b, zero)));
    }
    if (JN_WANT(g, 1)) {
        jn_ev db = jn_g_mul(g, dy, jn_g_mul(g, RES, JN_G1(g, log, a)));
        jn_ev mask = JN_G2(g, logical_and, JN_G2(g, eq, a, zero), JN_G2(g, ge, b, zero));
        jn_g_set_like(g, 1, jn_g_zero_where(g, db, mask));
    }
    return g->st;
}

/* The operand taken gets dy; equal ones share it. */
janus_status jn_grad_maximum(jn_grad *r) {
    BEGIN;
    bool max = r->op->id == JN_OP_ID_maximum;
    jn_ev half = jn_g_scale(g, dy, 0.5), tie = JN_G2(g, eq, IN(0), IN(1));
    for (unsigned i = 0; i < 2; i++) {
        if (!JN_WANT(g, i))
            continue;
        const jn_op *loses = max ? JN_OP(lt) : JN_OP(gt);
        jn_ev lost = jn_g_op2(g, loses, IN(i), IN(1 - i), NULL);
        jn_g_set_like(g, i, jn_g_zero_where(g, JN_G3(g, where, tie, half, dy), lost));
    }
    return g->st;
}

RULE1(neg, jn_g_neg(g, dy))
RULE1(abs, jn_g_mul(g, dy, JN_G1(g, sign, IN(0))))
RULE1(exp, jn_g_mul(g, dy, RES))
RULE1(log, jn_g_div(g, dy, IN(0)))
RULE1(log1p, jn_g_div(g, dy, jn_g_add(g, IN(0), jn_g_const(g, 1, dy))))
RULE1(expm1, jn_g_mul(g, dy, jn_g_add(g, RES, jn_g_const(g, 1, dy))))
RULE1(sqrt, jn_g_div(g, dy, jn_g_scale(g, RES, 2)))
RULE1(rsqrt, jn_g_mul(g, jn_g_scale(g, dy, -0.5), jn_g_mul(g, RES, JN_G1(g, square, RES))))
RULE1(square, jn_g_mul(g, dy, jn_g_scale(g, IN(0), 2)))
RULE1(reciprocal, jn_g_neg(g, jn_g_mul(g, dy, JN_G1(g, square, RES))))
RULE1(sin, jn_g_mul(g, dy, JN_G1(g, cos, IN(0))))
RULE1(cos, jn_g_neg(g, jn_g_mul(g, dy, JN_G1(g, sin, IN(0)))))
RULE1(tanh, JN_G2(g, tanh_grad, dy, RES))
RULE1(sigmoid, JN_G2(g, sigmoid_grad, dy, RES))
RULE1(relu, JN_G2(g, relu_grad, dy, RES))
RULE1(softplus, jn_g_mul(g, dy, JN_G1(g, sigmoid, IN(0))))
RULE1(erf, jn_g_mul(g, jn_g_scale(g, dy, 1.12837916709551257390),
                    JN_G1(g, exp, jn_g_neg(g, JN_G1(g, square, IN(0))))))

static jn_ev one_plus(jn_gx *g, jn_ev v) { return jn_g_add(g, v, jn_g_const(g, 1, v)); }
static jn_ev one_minus(jn_gx *g, jn_ev v) { return jn_g_sub(g, jn_g_const(g, 1, v), v); }
static jn_ev minus_one(jn_gx *g, jn_ev v) { return jn_g_sub(g, v, jn_g_const(g, 1, v)); }
#define SQUARED JN_G1(g, square, IN(0))
RULE1(asin, jn_g_mul(g, dy, JN_G1(g, rsqrt, one_minus(g, SQUARED))))
RULE1(acos, jn_g_neg(g, jn_g_mul(g, dy, JN_G1(g, rsqrt, one_minus(g, SQUARED)))))
RULE1(atan, jn_g_div(g, dy, one_plus(g, SQUARED)))
RULE1(asinh, jn_g_mul(g, dy, JN_G1(g, rsqrt, one_plus(g, SQUARED))))
RULE1(acosh, jn_g_mul(g, dy, JN_G1(g, rsqrt, minus_one(g, SQUARED))))
RULE1(atanh, jn_g_div(g, dy, one_minus(g, SQUARED)))
RULE1(erfc,
      jn_g_mul(g, jn_g_scale(g, dy, -1.12837916709551257390), JN_G1(g, exp, jn_g_neg(g, SQUARED))))
RULE1(erfinv,
      jn_g_mul(g, jn_g_scale(g, dy, 0.88622692545275801365), JN_G1(g, exp, JN_G1(g, square, RES))))

static jn_ev polygamma(jn_gx *g, jn_ev x, int64_t n) {
    return jn_g_op1(g, JN_OP(polygamma), x, JN_ATTRS(polygamma, .n = n));
}
RULE1(lgamma, jn_g_mul(g, dy, polygamma(g, IN(0), 0)))

/* The order of its derivative; of the largest there is none above, and two below is one like it. */
static int64_t next_order(const void *attrs) {
    int64_t n = ((const janus_polygamma_attrs *)attrs)->n;
    return n < INT64_MAX ? n + 1 : n - 1;
}
RULE1(polygamma, jn_g_mul(g, dy, polygamma(g, IN(0), next_order(r->attrs))))

/* y = atan2(a, b): da = dy b / (a a + b b), db = -dy a / (a a + b b) */
janus_status jn_grad_atan2(jn_grad *r) {
    BEGIN;
    jn_ev below = jn_g_add(g, SQUARED, JN_G1(g, square, IN(1))), d = jn_g_div(g, dy, below);
    if (JN_WANT(g, 0))
        jn_g_set_like(g, 0, jn_g_mul(g, d, IN(1)));
    if (JN_WANT(g, 1))
        jn_g_set_like(g, 1, jn_g_neg(g, jn_g_mul(g, d, IN(0))));
    return g->st;
}

janus_status jn_grad_hypot(jn_grad *r) {
    BEGIN;
    for (unsigned i = 0; i < 2; i++) {
        if (JN_WANT(g, i))
            jn_g_set_like(g, i, jn_g_mul(g, dy, jn_g_div(g, IN(i), RES)));
    }
    return g->st;
}

janus_status jn_grad_gelu(jn_grad *r) {
    BEGIN;
    const janus_gelu_attrs *a = r->attrs;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0,
                 jn_g_op2(g, JN_OP(gelu_grad), dy, IN(0),
                          JN_ATTRS(gelu_grad, .approximate = a->approximate)));
    return g->st;
}

/* s = sigmoid(x): dx = dy s (1 + x (1 - s)) */
janus_status jn_grad_silu(jn_grad *r) {
    BEGIN;
    jn_ev s = JN_G1(g, sigmoid, IN(0)), one = jn_g_const(g, 1, dy);
    jn_ev inner = jn_g_add(g, one, jn_g_mul(g, IN(0), jn_g_sub(g, one, s)));
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, jn_g_mul(g, dy, jn_g_mul(g, s, inner)));
    return g->st;
}

janus_status jn_grad_leaky_relu(jn_grad *r) {
    BEGIN;
    const janus_leaky_relu_attrs *a = r->attrs;
    jn_ev positive = JN_G2(g, gt, IN(0), jn_g_const(g, 0, dy));
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, JN_G3(g, where, positive, dy, jn_g_scale(g, dy, a->slope)));
    return g->st;
}

janus_status jn_grad_elu(jn_grad *r) {
    BEGIN;
    const janus_elu_attrs *a = r->attrs;
    jn_ev zero = jn_g_const(g, 0, dy), negative = JN_G2(g, le, IN(0), zero);
    /* exp of the negative part only: a large positive x must not become infinite, nor 0 * inf */
    jn_ev e = JN_G1(g, exp, JN_G2(g, minimum, IN(0), zero));
    jn_ev below = jn_g_mul(g, jn_g_scale(g, dy, a->alpha), e);
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, JN_G3(g, where, negative, below, dy));
    return g->st;
}

/* What lies between the bounds passes the gradient; the bounds themselves do not, as in PyTorch. */
static jn_ev between(jn_gx *g, jn_ev d, jn_ev x, double lo, double hi) {
    return jn_g_op2(g, JN_OP(clamp_grad), d, x, JN_ATTRS(clamp_grad, .lo = lo, .hi = hi));
}

janus_status jn_grad_clamp(jn_grad *r) {
    BEGIN;
    const janus_clamp_attrs *a = r->attrs;
    bool bounded = a->lo > -INFINITY || a->hi < INFINITY;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, bounded ? between(g, dy, IN(0), a->lo, a->hi) : dy);
    return g->st;
}

janus_status jn_grad_clamp_grad(jn_grad *r) {
    BEGIN;
    const janus_clamp_grad_attrs *a = r->attrs;
    if (JN_WANT(g, 0))
        jn_g_set_like(g, 0, between(g, dy, IN(1), a->lo, a->hi));
    return g->st;
}

janus_status jn_grad_cast(jn_grad *r) {
    BEGIN;
    jn_gtype x, d;
    jn_g_type(g, IN(0), &x);
    jn_g_type(g, dy, &d);
    if (!JN_WANT(g, 0) || !jn_dtype_is_float(x.t.dtype) || !jn_dtype_is_float(d.t.dtype))
        return g->st;
    jn_g_set(g, 0,
             x.t.dtype == d.t.dtype
                 ? dy
                 : jn_g_op1(g, JN_OP(cast), dy, JN_ATTRS(cast, .dtype = x.t.dtype)));
    return g->st;
}

janus_status jn_grad_where(jn_grad *r) {
    BEGIN;
    if (JN_WANT(g, 1))
        jn_g_set_like(g, 1, jn_g_zero_where(g, dy, JN_G1(g, logical_not, IN(0))));
    if (JN_WANT(g, 2))
        jn_g_set_like(g, 2, jn_g_zero_where(g, dy, IN(0)));
    return g->st;
}

RULE1(masked_fill, jn_g_zero_where(g, dy, IN(1)))

janus_status jn_grad_lerp(jn_grad *r) {
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set_like(g, 0, jn_g_mul(g, dy, jn_g_sub(g, jn_g_const(g, 1, dy), IN(2))));
    if (JN_WANT(g, 1))
        jn_g_set_like(g, 1, jn_g_mul(g, dy, IN(2)));
    if (JN_WANT(g, 2))
        jn_g_set_like(g, 2, jn_g_mul(g, dy, jn_g_sub(g, IN(1), IN(0))));
    return g->st;
}

janus_status jn_grad_addcmul(jn_grad *r) {
    BEGIN;
    jn_ev scaled = jn_g_mul(g, dy, jn_g_of_scalar(g, IN(3), dy));
    if (JN_WANT(g, 0))
        jn_g_set_like(g, 0, dy);
    if (JN_WANT(g, 1))
        jn_g_set_like(g, 1, jn_g_mul(g, scaled, IN(2)));
    if (JN_WANT(g, 2))
        jn_g_set_like(g, 2, jn_g_mul(g, scaled, IN(1)));
    return g->st;
}

janus_status jn_grad_addcdiv(jn_grad *r) {
    BEGIN;
    jn_ev da = jn_g_div(g, jn_g_mul(g, dy, jn_g_of_scalar(g, IN(3), dy)), IN(2));
    if (JN_WANT(g, 0))
        jn_g_set_like(g, 0, dy);
    if (JN_WANT(g, 1))
        jn_g_set_like(g, 1, da);
    if (JN_WANT(g, 2))
        jn_g_set_like(g, 2, jn_g_neg(g, jn_g_mul(g, da, jn_g_div(g, IN(1), IN(2)))));
    return g->st;
}

janus_status jn_grad_addcdiv_sqrt(jn_grad *r) {
    BEGIN;
    jn_ev root = JN_G1(g, sqrt, IN(2));
    jn_ev below = jn_g_add(g, root, jn_g_of_scalar(g, IN(4), root));
    jn_ev da = jn_g_div(g, jn_g_mul(g, dy, jn_g_of_scalar(g, IN(3), dy)), below);
    if (JN_WANT(g, 0))
        jn_g_set_like(g, 0, dy);
    if (JN_WANT(g, 1))
        jn_g_set_like(g, 1, da);
    if (JN_WANT(g, 2))
        jn_g_set_like(
            g, 2, jn_g_div(g, jn_g_mul(g, da, IN(1)), jn_g_scale(g, jn_g_mul(g, below, root), -2)));
    return g->st;
}

/* ---- gradients of gradients: y = f(d, v), linear in d ------------------------------------------
 */

/* d (1 - v v) */
janus_status jn_grad_tanh_grad(jn_grad *r) {
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set_like(g, 0, JN_G2(g, tanh_grad, dy, IN(1)));
    if (JN_WANT(g, 1))
        jn_g_set_like(g, 1, jn_g_mul(g, jn_g_mul(g, dy, IN(0)), jn_g_scale(g, IN(1), -2)));
    return g->st;
}

/* d v (1 - v) */
janus_status jn_grad_sigmoid_grad(jn_grad *r) {
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set_like(g, 0, JN_G2(g, sigmoid_grad, dy, IN(1)));
    if (JN_WANT(g, 1)) {
        jn_ev slope = jn_g_sub(g, jn_g_const(g, 1, dy), jn_g_scale(g, IN(1), 2));
        jn_g_set_like(g, 1, jn_g_mul(g, jn_g_mul(g, dy, IN(0)), slope));
    }
    return g->st;
}

RULE1(relu_grad, JN_G2(g, relu_grad, dy, IN(1)))

/* Second derivative of gelu at x. */
static jn_ev gelu_curvature(jn_gx *g, jn_ev x, bool approximate) {
    jn_ev one = jn_g_const(g, 1, x), x2 = JN_G1(g, square, x);
    if (!approximate) { /* density(x) (2 - x x) */
        jn_ev density =
            jn_g_scale(g, JN_G1(g, exp, jn_g_scale(g, x2, -0.5)), 0.39894228040143267794);
        return jn_g_mul(g, density, jn_g_sub(g, jn_g_const(g, 2, x), x2));
    }
    /* t = tanh(u), u = c (x + k x^3): (1 - t t) (u' + x (u'' / 2 - t u' u')) */
    const double c = 0.79788456080286535588, k = 0.044715;
    jn_ev u = jn_g_scale(g, jn_g_add(g, x, jn_g_scale(g, jn_g_mul(g, x, x2), k)), c);
    jn_ev t = JN_G1(g, tanh, u);
    jn_ev du = jn_g_scale(g, jn_g_add(g, one, jn_g_scale(g, x2, 3 * k)), c);
    jn_ev bend = jn_g_sub(g, jn_g_scale(g, x, 3 * c * k), jn_g_mul(g, t, JN_G1(g, square, du)));
    return jn_g_mul(g, jn_g_sub(g, one, JN_G1(g, square, t)),
                    jn_g_add(g, du, jn_g_mul(g, x, bend)));
}

janus_status jn_grad_gelu_grad(jn_grad *r) {
    BEGIN;
    const janus_gelu_grad_attrs *a = r->attrs;
    if (JN_WANT(g, 0))
        jn_g_set_like(g, 0,
                      jn_g_op2(g, JN_OP(gelu_grad), dy, IN(1),
                               JN_ATTRS(gelu_grad, .approximate = a->approximate)));
    if (JN_WANT(g, 1)) {
        jn_ev curvature = gelu_curvature(g, IN(1), a->approximate != 0);
        jn_g_set_like(g, 1, jn_g_mul(g, jn_g_mul(g, dy, IN(0)), curvature));
    }
    return g->st;
}
