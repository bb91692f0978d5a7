/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reference kernels of elementwise ops: one function of doubles and one of int64 per op, applied
 * with broadcasting.  Which of the two is used depends on the dtype of the operand that the result
 * is computed from (not of a condition or a scalar).
 */
#include "config.h"

#include "ops/ref/ref.h"
#include "ops/special.h"

#include <math.h>

typedef double (*float_fn)(const double *v, const void *attrs);
typedef int64_t (*int_fn)(const int64_t *v, const void *attrs, uint32_t *flags);

/* `by`: the operand whose dtype decides. */
static void apply(const jn_kargs *k, float_fn f, int_fn i, unsigned by) {
    jn_walk w;
    jn_walk_init(&w, k->out[0].rank, k->out[0].dims);
    for (unsigned n = 0; n < k->n_in; n++)
        jn_walk_add(&w, &k->in[n]);
    int o = jn_walk_add(&w, &k->out[0]);
    if (jn_is_float(&k->in[by]) || !i) {
        JN_WALK(&w) {
            double v[5];
            for (unsigned n = 0; n < k->n_in; n++)
                v[n] = jn_load_f(&k->in[n], w.off[n]);
            jn_store_f(&k->out[0], w.off[o], f(v, k->attrs));
        }
    } else {
        JN_WALK(&w) {
            int64_t v[5];
            for (unsigned n = 0; n < k->n_in; n++)
                v[n] = jn_load_i(&k->in[n], w.off[n]);
            jn_store_i(&k->out[0], w.off[o], i(v, k->attrs, k->flags));
        }
    }
}

/* KERNEL(name, by, float expression, integer expression): v has the operands. */
#define KERNEL(name, by, fexpr, iexpr)                                                             \
    static double f_##name(const double *v, const void *attrs) {                                   \
        (void)attrs, (void)v;                                                                      \
        return (fexpr);                                                                            \
    }                                                                                              \
    static int64_t i_##name(const int64_t *v, const void *attrs, uint32_t *flags) {                \
        (void)attrs, (void)v, (void)flags;                                                         \
        return (iexpr);                                                                            \
    }                                                                                              \
    static void k_##name(const jn_kargs *k) { apply(k, f_##name, i_##name, by); }
/* Ops of floats only. */
#define FKERNEL(name, fexpr)                                                                       \
    static double f_##name(const double *v, const void *attrs) {                                   \
        (void)attrs;                                                                               \
        return (fexpr);                                                                            \
    }                                                                                              \
    static void k_##name(const jn_kargs *k) { apply(k, f_##name, NULL, 0); }

static int64_t wrap(uint64_t u) { return (int64_t)u; }
#define U(x) ((uint64_t)(x))

static int64_t int_floordiv(int64_t a, int64_t b, uint32_t *flags) {
    if (b == 0) {
        *flags |= JN_KFLAG_DIVZERO;
        return 0;
    }
    if (b == -1)
        return wrap(0 - U(a));
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static int64_t int_mod(int64_t a, int64_t b, uint32_t *flags) {
    if (b == 0) {
        *flags |= JN_KFLAG_DIVZERO;
        return 0;
    }
    if (b == -1)
        return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* As Python's, but for the sign of zero, which is that of a; by zero: infinity or NaN. */
static double float_mod(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static double float_floordiv(double a, double b) {
    if (b == 0)
        return a / b;
    double r = fmod(a, b), q = (a - r) / b;
    if (r != 0 && (r < 0) != (b < 0))
        q -= 1;
    if (q == 0)
        return copysign(0.0, a / b);
    double whole = floor(q);
    return q - whole > 0.5 ? whole + 1 : whole;
}

/* A negative power of an int is 0 except of 1 and -1. */
static int64_t int_pow(int64_t a, int64_t b) {
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    uint64_t r = 1, base = U(a);
    for (; b > 0; b >>= 1, base *= base) {
        if (b & 1)
            r *= base;
    }
    return wrap(r);
}

static double larger(double a, double b) { return isnan(a) || a > b ? a : b; }
static double smaller(double a, double b) { return isnan(a) || a < b ? a : b; }
static double normal_cdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
static double sigmoid(double x) { return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x)); }
static double gelu_inner(double x) { return 0.79788456080286535588 * (x + 0.044715 * x * x * x); }
static double gelu(double x, bool approximate) {
    return approximate ? 0.5 * x * (1 + tanh(gelu_inner(x))) : x * normal_cdf(x);
}
static double gelu_grad(double x, bool approximate) {
    if (approximate) {
        double t = tanh(gelu_inner(x));
        return 0.5 * (1 + t) +
               0.5 * x * (1 - t * t) * 0.79788456080286535588 * (1 + 3 * 0.044715 * x * x);
    }
    return normal_cdf(x) + x * exp(-0.5 * x * x) * 0.39894228040143267794;
}
static double clamped(double x, const janus_clamp_attrs *a) {
    if (x < a->lo)
        x = a->lo;
    return x > a->hi ? a->hi : x;
}
static bool within(double x, const janus_clamp_grad_attrs *a) {
    return (x > a->lo || (x <= a->lo && a->lo == -INFINITY)) &&
           (x < a->hi || (x >= a->hi && a->hi == INFINITY));
}
/* Bounds may be infinite or beyond int64. */
static int64_t clamped_int(int64_t x, const janus_clamp_attrs *a) {
    if (a->lo > -0x1p63 && (a->lo >= 0x1p63 || x < (int64_t)ceil(a->lo)))
        x = a->lo >= 0x1p63 ? INT64_MAX : (int64_t)ceil(a->lo);
    if (a->hi < 0x1p63 && (a->hi < -0x1p63 || x > (int64_t)floor(a->hi)))
        x = a->hi < -0x1p63 ? INT64_MIN : (int64_t)floor(a->hi);
    return x;
}

KERNEL(add, 0, v[0] + v[1], wrap(U(v[0]) + U(v[1])))
KERNEL(sub, 0, v[0] - v[1], wrap(U(v[0]) - U(v[1])))
KERNEL(mul, 0, v[0] * v[1], wrap(U(v[0]) * U(v[1])))
FKERNEL(div, v[0] / v[1])
KERNEL(floordiv, 0, float_floordiv(v[0], v[1]), int_floordiv(v[0], v[1], flags))
KERNEL(mod, 0, float_mod(v[0], v[1]), int_mod(v[0], v[1], flags))
KERNEL(pow, 0, pow(v[0], v[1]), int_pow(v[0], v[1]))
KERNEL(maximum, 0, larger(v[0], v[1]), v[0] > v[1] ? v[0] : v[1])
KERNEL(minimum, 0, smaller(v[0], v[1]), v[0] < v[1] ? v[0] : v[1])
KERNEL(eq, 0, v[0] == v[1], v[0] == v[1])
KERNEL(ne, 0, v[0] != v[1], v[0] != v[1])
KERNEL(lt, 0, v[0] < v[1], v[0] < v[1])
KERNEL(le, 0, v[0] <= v[1], v[0] <= v[1])
KERNEL(gt, 0, v[0] > v[1], v[0] > v[1])
KERNEL(ge, 0, v[0] >= v[1], v[0] >= v[1])
KERNEL(logical_and, 0, v[0] != 0 && v[1] != 0, v[0] != 0 && v[1] != 0)
KERNEL(logical_or, 0, v[0] != 0 || v[1] != 0, v[0] != 0 || v[1] != 0)
KERNEL(logical_xor, 0, (v[0] != 0) != (v[1] != 0), (v[0] != 0) != (v[1] != 0))
KERNEL(bitwise_and, 0, 0, v[0] & v[1])
KERNEL(bitwise_or, 0, 0, v[0] | v[1])
KERNEL(bitwise_xor, 0, 0, v[0] ^ v[1])
KERNEL(bitwise_left_shift, 0, 0, v[1]<0 || v[1]> 63 ? 0 : wrap(U(v[0]) << v[1]))
KERNEL(bitwise_right_shift, 0, 0, v[0] >> (v[1] < 0 || v[1] > 63 ? 63 : v[1]))
KERNEL(bitwise_not, 0, 0, ~v[0])
KERNEL(neg, 0, -v[0], wrap(0 - U(v[0])))
KERNEL(abs, 0, fabs(v[0]), v[0] < 0 ? wrap(0 - U(v[0])) : v[0])
FKERNEL(exp, exp(v[0]))
FKERNEL(log, log(v[0]))
FKERNEL(log1p, log1p(v[0]))
FKERNEL(expm1, expm1(v[0]))
FKERNEL(sqrt, sqrt(v[0]))
FKERNEL(rsqrt, 1 / sqrt(v[0]))
KERNEL(square, 0, v[0] * v[0], wrap(U(v[0]) * U(v[0])))
FKERNEL(reciprocal, 1 / v[0])
FKERNEL(sin, sin(v[0]))
FKERNEL(cos, cos(v[0]))
FKERNEL(tanh, tanh(v[0]))
FKERNEL(sigmoid, sigmoid(v[0]))
KERNEL(relu, 0, v[0] <= 0 ? 0 : v[0], v[0] < 0 ? 0 : v[0])
FKERNEL(gelu, gelu(v[0], ((const janus_gelu_attrs *)attrs)->approximate != 0))
FKERNEL(silu, v[0] * sigmoid(v[0]))
FKERNEL(softplus, v[0] > 0 ? v[0] + log1p(exp(-v[0])) : log1p(exp(v[0])))
FKERNEL(leaky_relu, v[0] > 0 ? v[0] : ((const janus_leaky_relu_attrs *)attrs)->slope * v[0])
FKERNEL(elu, v[0] > 0 ? v[0] : ((const janus_elu_attrs *)attrs)->alpha * expm1(v[0]))
FKERNEL(erf, erf(v[0]))
FKERNEL(asin, asin(v[0]))
FKERNEL(acos, acos(v[0]))
FKERNEL(atan, atan(v[0]))
FKERNEL(asinh, asinh(v[0]))
FKERNEL(acosh, acosh(v[0]))
FKERNEL(atanh, atanh(v[0]))
FKERNEL(erfc, erfc(v[0]))
FKERNEL(erfinv, jn_erfinv(v[0]))
FKERNEL(lgamma, jn_lgamma(v[0]))
FKERNEL(polygamma, jn_polygamma(v[0], ((const janus_polygamma_attrs *)attrs)->n))
FKERNEL(atan2, atan2(v[0], v[1]))
FKERNEL(hypot, hypot(v[0], v[1]))
KERNEL(sign, 0, (v[0] > 0) - (v[0] < 0), (v[0] > 0) - (v[0] < 0))
KERNEL(floor, 0, floor(v[0]), v[0])
KERNEL(ceil, 0, ceil(v[0]), v[0])
KERNEL(round, 0, nearbyint(v[0]), v[0])
KERNEL(logical_not, 0, v[0] == 0, v[0] == 0)
KERNEL(isnan, 0, isnan(v[0]) != 0, 0)
KERNEL(isfinite, 0, isfinite(v[0]) != 0, 1)
KERNEL(clamp_number, 0, clamped(v[0], attrs), clamped_int(v[0], attrs))
/* Bounds outside of what the dtype can hold are its own. */
static void k_clamp(const jn_kargs *k) {
    janus_clamp_attrs a = *(const janus_clamp_attrs *)k->attrs;
    jn_kargs within = *k;
    int d = k->out[0].dtype;
    double least = d == JANUS_U8 ? 0 : INT32_MIN, most = d == JANUS_U8 ? UINT8_MAX : INT32_MAX;
    if (d == JANUS_U8 || d == JANUS_I32) {
        a.lo = a.lo < least ? least : a.lo > most ? most : a.lo;
        a.hi = a.hi < least ? least : a.hi > most ? most : a.hi;
        within.attrs = &a;
    }
    k_clamp_number(&within);
}
KERNEL(where, 1, v[0] != 0 ? v[1] : v[2], v[0] != 0 ? v[1] : v[2])
KERNEL(masked_fill_number, 0, v[1] != 0 ? v[2] : v[0], v[1] != 0 ? v[2] : v[0])
/* Of bools a number below 1 is true. */
static void k_masked_fill(const jn_kargs *k) {
    if (k->out[0].dtype == JANUS_BOOL)
        apply(k, f_masked_fill_number, NULL, 0);
    else
        k_masked_fill_number(k);
}
FKERNEL(lerp, v[0] + v[2] * (v[1] - v[0]))
FKERNEL(addcmul, v[0] + v[3] * v[1] * v[2])
FKERNEL(addcdiv, v[0] + v[3] * v[1] / v[2])
FKERNEL(addcdiv_sqrt, v[1] == 0 ? v[0] : v[0] + v[3] * v[1] / (sqrt(v[2]) + v[4]))
FKERNEL(tanh_grad, v[0] * (1 - v[1] * v[1]))
FKERNEL(sigmoid_grad, v[0] * v[1] * (1 - v[1]))
FKERNEL(relu_grad, v[1] <= 0 ? 0 : v[0])
FKERNEL(clamp_grad_number, within(v[1], attrs) ? v[0] : 0)
/* What x is compared with has its dtype, or f32 where that is a half. */
static void k_clamp_grad(const jn_kargs *k) {
    janus_clamp_grad_attrs a = *(const janus_clamp_grad_attrs *)k->attrs;
    jn_kargs rounded = *k;
    if (k->in[1].dtype != JANUS_F64) {
        a.lo = (float)a.lo;
        a.hi = (float)a.hi;
    }
    rounded.attrs = &a;
    k_clamp_grad_number(&rounded);
}
FKERNEL(gelu_grad, v[0] * gelu_grad(v[1], ((const janus_gelu_grad_attrs *)attrs)->approximate != 0))

/* cast and clone: also between dtypes that neither function keeps exactly */
static void k_cast(const jn_kargs *k) {
    jn_walk w;
    jn_walk_init(&w, k->out[0].rank, k->out[0].dims);
    jn_walk_add(&w, &k->in[0]);
    jn_walk_add(&w, &k->out[0]);
    JN_WALK(&w)
    jn_copy_element(&k->out[0], w.off[1], &k->in[0], w.off[0]);
}

jn_kernel_fn jn_ref_elementwise(const jn_sig *sig) {
#define ROW(name) [JN_OP_ID_##name] = k_##name,
    static const jn_kernel_fn kernels[JN_OP_ID_COUNT] = {
        ROW(add) ROW(sub) ROW(mul) ROW(div) ROW(floordiv) ROW(mod) ROW(pow) ROW(maximum)
            ROW(minimum) ROW(eq) ROW(ne) ROW(lt) ROW(le) ROW(gt) ROW(ge) ROW(logical_and) ROW(
                logical_or) ROW(logical_xor) ROW(bitwise_and) ROW(bitwise_or) ROW(bitwise_xor)
                ROW(bitwise_left_shift) ROW(bitwise_right_shift) ROW(bitwise_not) ROW(neg) ROW(abs)
                    ROW(exp) ROW(log) ROW(log1p) ROW(expm1) ROW(sqrt) ROW(rsqrt) ROW(square)
                        ROW(reciprocal) ROW(sin) ROW(cos) ROW(tanh) ROW(sigmoid) ROW(relu) ROW(gelu)
                            ROW(silu) ROW(softplus) ROW(leaky_relu) ROW(elu) ROW(erf) ROW(asin)
                                ROW(acos) ROW(atan) ROW(asinh) ROW(acosh) ROW(atanh) ROW(erfc)
                                    ROW(erfinv) ROW(lgamma) ROW(polygamma) ROW(atan2) ROW(hypot)
                                        ROW(sign) ROW(floor) ROW(ceil) ROW(round) ROW(logical_not)
                                            ROW(isnan) ROW(isfinite) ROW(clamp) ROW(where)
                                                ROW(masked_fill) ROW(lerp) ROW(addcmul) ROW(addcdiv)
                                                    ROW(addcdiv_sqrt) ROW(tanh_grad)
                                                        ROW(sigmoid_grad) ROW(relu_grad)
                                                            ROW(clamp_grad) ROW(gelu_grad)
                                                                ROW(cast)[JN_OP_ID_clone] = k_cast};
#undef ROW
    if (sig->op->id == JN_OP_ID_bitwise_not && sig->in[0].dtype == JANUS_BOOL)
        return k_logical_not;
    return sig->op->id < JN_OP_ID_COUNT ? kernels[sig->op->id] : NULL;
}
