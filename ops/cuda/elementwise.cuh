/* SPDX-License-Identifier: Apache-2.0 */
/* What elementwise ops compute, element by element: one expression per op for floats, one for
 * integers. */
#ifndef JN_OPS_CUDA_ELEMENTWISE_CUH
#define JN_OPS_CUDA_ELEMENTWISE_CUH

#include "ops/cuda/cuda.cuh"
#include "ops/special.h"

#define DEV static __device__ __forceinline__

/* One name for the functions of float and double. */
DEV float m_exp(float x) { return expf(x); }
DEV double m_exp(double x) { return exp(x); }
DEV float m_log(float x) { return logf(x); }
DEV double m_log(double x) { return log(x); }
DEV float m_log1p(float x) { return log1pf(x); }
DEV double m_log1p(double x) { return log1p(x); }
DEV float m_expm1(float x) { return expm1f(x); }
DEV double m_expm1(double x) { return expm1(x); }
DEV float m_sqrt(float x) { return sqrtf(x); }
DEV double m_sqrt(double x) { return sqrt(x); }
DEV float m_sin(float x) { return sinf(x); }
DEV double m_sin(double x) { return sin(x); }
DEV float m_cos(float x) { return cosf(x); }
DEV double m_cos(double x) { return cos(x); }
DEV float m_tanh(float x) { return tanhf(x); }
DEV double m_tanh(double x) { return tanh(x); }
DEV float m_erf(float x) { return erff(x); }
DEV double m_erf(double x) { return erf(x); }
DEV float m_erfc(float x) { return erfcf(x); }
DEV double m_erfc(double x) { return erfc(x); }
#define DEV1(name)                                                                                 \
    DEV float m_##name(float x) { return name##f(x); }                                             \
    DEV double m_##name(double x) { return name(x); }
DEV1(asin)
DEV1(acos)
DEV1(atan)
DEV1(asinh)
DEV1(acosh)
DEV1(atanh)
DEV float m_atan2(float x, float y) { return atan2f(x, y); }
DEV double m_atan2(double x, double y) { return atan2(x, y); }
DEV float m_hypot(float x, float y) { return hypotf(x, y); }
DEV double m_hypot(double x, double y) { return hypot(x, y); }
DEV float m_pow(float x, float y) { return powf(x, y); }
DEV double m_pow(double x, double y) { return pow(x, y); }
DEV float m_fmod(float x, float y) { return fmodf(x, y); }
DEV double m_fmod(double x, double y) { return fmod(x, y); }
DEV float m_floor(float x) { return floorf(x); }
DEV double m_floor(double x) { return floor(x); }
DEV float m_ceil(float x) { return ceilf(x); }
DEV double m_ceil(double x) { return ceil(x); }
DEV float m_rint(float x) { return rintf(x); }
DEV double m_rint(double x) { return rint(x); }
DEV float m_abs(float x) { return fabsf(x); }
DEV double m_abs(double x) { return fabs(x); }
DEV float m_copysign(float x, float y) { return copysignf(x, y); }
DEV double m_copysign(double x, double y) { return copysign(x, y); }

/* Attributes and what else a kernel is told. */
struct ew_attrs {
    double a, b;
    i64 lo, hi; /* clamp of integers */
    uint32_t *flags;
};

template <class T> DEV T sigmoid_(T x) {
    return x >= 0 ? 1 / (1 + m_exp(-x)) : m_exp(x) / (1 + m_exp(x));
}
template <class T> DEV T gelu_inner(T x) {
    return (T)0.79788456080286535588 * (x + (T)0.044715 * x * x * x);
}
template <class T> DEV T normal_cdf(T x) { return (T)0.5 * m_erfc(-x * (T)0.70710678118654752440); }
template <class T> DEV T gelu_(T x, bool approximate) {
    return approximate ? (T)0.5 * x * (1 + m_tanh(gelu_inner(x))) : x * normal_cdf(x);
}
template <class T> DEV T gelu_slope(T x, bool approximate) {
    if (approximate) {
        T t = m_tanh(gelu_inner(x));
        return (T)0.5 * (1 + t) + (T)0.5 * x * (1 - t * t) * (T)0.79788456080286535588 *
                                      (1 + (T)(3 * 0.044715) * x * x);
    }
    return normal_cdf(x) + x * m_exp((T)-0.5 * x * x) * (T)0.39894228040143267794;
}
template <class T> DEV T mod_(T a, T b) {
    T r = m_fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
template <class T> DEV T floordiv_(T a, T b) {
    if (b == 0)
        return a / b;
    T r = m_fmod(a, b), q = (a - r) / b;
    if (r != 0 && (r < 0) != (b < 0))
        q -= 1;
    if (q == 0)
        return m_copysign((T)0, a / b);
    T whole = m_floor(q);
    return q - whole > (T)0.5 ? whole + 1 : whole;
}
template <class T> DEV T clamp_(T x, const ew_attrs &at) {
    if (x < (T)at.a)
        x = (T)at.a;
    return x > (T)at.b ? (T)at.b : x;
}
template <class T> DEV bool within_(T x, const ew_attrs &at) {
    T lo = (T)at.a, hi = (T)at.b;
    return (x > lo || (x <= lo && lo == -(T)INFINITY)) &&
           (x < hi || (x >= hi && hi == (T)INFINITY));
}
template <class T> DEV bool isfinite_(T x) { return x - x == 0; }

DEV i64 wrap(u64 u) { return (i64)u; }
DEV i64 idiv(i64 a, i64 b, const ew_attrs &at) {
    if (b == 0) {
        atomicOr(at.flags, (uint32_t)JN_KFLAG_DIVZERO);
        return 0;
    }
    if (b == -1)
        return wrap(0 - (u64)a);
    i64 q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
DEV i64 imod(i64 a, i64 b, const ew_attrs &at) {
    if (b == 0) {
        atomicOr(at.flags, (uint32_t)JN_KFLAG_DIVZERO);
        return 0;
    }
    if (b == -1)
        return 0;
    i64 r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
DEV i64 ipow(i64 a, i64 b) {
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    u64 r = 1, base = (u64)a;
    for (; b > 0; b >>= 1, base *= base)
        if (b & 1)
            r *= base;
    return wrap(r);
}

/*
 * X(op, operands, operand that decides the computing type, float expression, integer expression);
 * v has the operands, at the attributes.  F: ops of floats only.
 */
#define U(x) ((u64)(x))
#define EW_LIST(X, F)                                                                              \
    X(add, 2, 0, v[0] + v[1], wrap(U(v[0]) + U(v[1])))                                             \
    X(sub, 2, 0, v[0] - v[1], wrap(U(v[0]) - U(v[1])))                                             \
    X(mul, 2, 0, v[0] * v[1], wrap(U(v[0]) * U(v[1])))                                             \
    F(div, 2, v[0] / v[1])                                                                         \
    X(floordiv, 2, 0, floordiv_(v[0], v[1]), idiv(v[0], v[1], at))                                 \
    X(mod, 2, 0, mod_(v[0], v[1]), imod(v[0], v[1], at))                                           \
    X(pow, 2, 0, m_pow(v[0], v[1]), ipow(v[0], v[1]))                                              \
    X(maximum, 2, 0, v[0] != v[0] || v[0] > v[1] ? v[0] : v[1], v[0] > v[1] ? v[0] : v[1])         \
    X(minimum, 2, 0, v[0] != v[0] || v[0] < v[1] ? v[0] : v[1], v[0] < v[1] ? v[0] : v[1])         \
    X(eq, 2, 0, v[0] == v[1], v[0] == v[1])                                                        \
    X(ne, 2, 0, v[0] != v[1], v[0] != v[1])                                                        \
    X(lt, 2, 0, v[0] < v[1], v[0] < v[1])                                                          \
    X(le, 2, 0, v[0] <= v[1], v[0] <= v[1])                                                        \
    X(gt, 2, 0, v[0] > v[1], v[0] > v[1])                                                          \
    X(ge, 2, 0, v[0] >= v[1], v[0] >= v[1])                                                        \
    X(logical_and, 2, 0, v[0] != 0 && v[1] != 0, v[0] != 0 && v[1] != 0)                           \
    X(logical_or, 2, 0, v[0] != 0 || v[1] != 0, v[0] != 0 || v[1] != 0)                            \
    X(logical_xor, 2, 0, (v[0] != 0) != (v[1] != 0), (v[0] != 0) != (v[1] != 0))                   \
    X(bitwise_and, 2, 0, 0, v[0] & v[1])                                                           \
    X(bitwise_or, 2, 0, 0, v[0] | v[1])                                                            \
    X(bitwise_xor, 2, 0, 0, v[0] ^ v[1])                                                           \
    X(bitwise_left_shift, 2, 0, 0, v[1]<0 || v[1]> 63 ? 0 : wrap(U(v[0]) << v[1]))                 \
    X(bitwise_right_shift, 2, 0, 0, v[0] >> (v[1] < 0 || v[1] > 63 ? 63 : v[1]))                   \
    X(bitwise_not, 1, 0, 0, ~v[0])                                                                 \
    X(neg, 1, 0, -v[0], wrap(0 - U(v[0])))                                                         \
    X(abs, 1, 0, m_abs(v[0]), v[0] < 0 ? wrap(0 - U(v[0])) : v[0])                                 \
    F(exp, 1, m_exp(v[0]))                                                                         \
    F(log, 1, m_log(v[0]))                                                                         \
    F(log1p, 1, m_log1p(v[0]))                                                                     \
    F(expm1, 1, m_expm1(v[0]))                                                                     \
    F(sqrt, 1, m_sqrt(v[0]))                                                                       \
    F(rsqrt, 1, 1 / m_sqrt(v[0]))                                                                  \
    X(square, 1, 0, v[0] * v[0], wrap(U(v[0]) * U(v[0])))                                          \
    F(reciprocal, 1, 1 / v[0])                                                                     \
    F(sin, 1, m_sin(v[0]))                                                                         \
    F(cos, 1, m_cos(v[0]))                                                                         \
    F(tanh, 1, m_tanh(v[0]))                                                                       \
    F(sigmoid, 1, sigmoid_(v[0]))                                                                  \
    X(relu, 1, 0, v[0] <= 0 ? 0 : v[0], v[0] < 0 ? 0 : v[0])                                       \
    F(gelu, 1, gelu_(v[0], at.a != 0))                                                             \
    F(silu, 1, v[0] * sigmoid_(v[0]))                                                              \
    F(softplus, 1, v[0] > 0 ? v[0] + m_log1p(m_exp(-v[0])) : m_log1p(m_exp(v[0])))                 \
    F(leaky_relu, 1, v[0] > 0 ? v[0] : (T)at.a * v[0])                                             \
    F(elu, 1, v[0] > 0 ? v[0] : (T)at.a * m_expm1(v[0]))                                           \
    F(erf, 1, m_erf(v[0]))                                                                         \
    F(asin, 1, m_asin(v[0]))                                                                       \
    F(acos, 1, m_acos(v[0]))                                                                       \
    F(atan, 1, m_atan(v[0]))                                                                       \
    F(asinh, 1, m_asinh(v[0]))                                                                     \
    F(acosh, 1, m_acosh(v[0]))                                                                     \
    F(atanh, 1, m_atanh(v[0]))                                                                     \
    F(erfc, 1, m_erfc(v[0]))                                                                       \
    F(erfinv, 1, jn_erfinv((double)v[0]))                                                          \
    F(lgamma, 1, jn_lgamma((double)v[0]))                                                          \
    F(polygamma, 1, jn_polygamma((double)v[0], at.lo))                                             \
    F(atan2, 2, m_atan2(v[0], v[1]))                                                               \
    F(hypot, 2, m_hypot(v[0], v[1]))                                                               \
    X(sign, 1, 0, (T)((v[0] > 0) - (v[0] < 0)), (v[0] > 0) - (v[0] < 0))                           \
    X(floor, 1, 0, m_floor(v[0]), v[0])                                                            \
    X(ceil, 1, 0, m_ceil(v[0]), v[0])                                                              \
    X(round, 1, 0, m_rint(v[0]), v[0])                                                             \
    X(logical_not, 1, 0, v[0] == 0, v[0] == 0)                                                     \
    X(isnan, 1, 0, v[0] != v[0], 0)                                                                \
    X(isfinite, 1, 0, isfinite_(v[0]), 1)                                                          \
    X(clamp, 1, 0, clamp_(v[0], at), v[0]<at.lo ? at.lo : v[0]> at.hi ? at.hi : v[0])              \
    X(where, 3, 1, v[0] != 0 ? v[1] : v[2], v[0] != 0 ? v[1] : v[2])                               \
    X(masked_fill, 3, 0, v[1] != 0 ? v[2] : v[0], v[1] != 0 ? v[2] : v[0])                         \
    F(lerp, 3, v[0] + v[2] * (v[1] - v[0]))                                                        \
    F(addcmul, 4, v[0] + v[3] * v[1] * v[2])                                                       \
    F(addcdiv, 4, v[0] + v[3] * v[1] / v[2])                                                       \
    F(addcdiv_sqrt, 5, v[1] == 0 ? v[0] : v[0] + v[3] * v[1] / (m_sqrt(v[2]) + v[4]))              \
    F(tanh_grad, 2, v[0] * (1 - v[1] * v[1]))                                                      \
    F(sigmoid_grad, 2, v[0] * v[1] * (1 - v[1]))                                                   \
    F(relu_grad, 2, v[1] <= 0 ? 0 : v[0])                                                          \
    F(clamp_grad, 2, within_(v[1], at) ? v[0] : 0)                                                 \
    F(gelu_grad, 2, v[0] * gelu_slope(v[1], at.a != 0))

/* `op` is a constant where a kernel is made for one op, and the switch folds. */
template <class T> DEV T compute(int op, const T *v, const ew_attrs &at) {
    switch (op) {
#define X(name, n, by, f, i)                                                                       \
    case JN_OP_ID_##name:                                                                          \
        return (T)(f);
#define F(name, n, f) X(name, n, 0, f, 0)
        EW_LIST(X, F)
#undef X
#undef F
    default:
        return 0;
    }
}
template <> __device__ __forceinline__ i64 compute<i64>(int op, const i64 *v, const ew_attrs &at) {
    switch (op) {
#define X(name, n, by, f, i)                                                                       \
    case JN_OP_ID_##name:                                                                          \
        return (i64)(i);
#define F(name, n, f)
        EW_LIST(X, F)
#undef X
#undef F
    default:
        return 0;
    }
}

static inline void take_attrs(int op, const void *attrs, ew_attrs *at) {
    switch (op) {
    case JN_OP_ID_gelu:
        at->a = (double)((const janus_gelu_attrs *)attrs)->approximate;
        break;
    case JN_OP_ID_gelu_grad:
        at->a = (double)((const janus_gelu_grad_attrs *)attrs)->approximate;
        break;
    case JN_OP_ID_leaky_relu:
        at->a = ((const janus_leaky_relu_attrs *)attrs)->slope;
        break;
    case JN_OP_ID_elu:
        at->a = ((const janus_elu_attrs *)attrs)->alpha;
        break;
    case JN_OP_ID_polygamma:
        at->lo = ((const janus_polygamma_attrs *)attrs)->n;
        break;
    case JN_OP_ID_clamp: {
        const janus_clamp_attrs *c = (const janus_clamp_attrs *)attrs;
        at->a = c->lo;
        at->b = c->hi;
        at->lo = c->lo >= 0x1p63 ? INT64_MAX : c->lo > -0x1p63 ? (i64)ceil(c->lo) : INT64_MIN;
        at->hi = c->hi < -0x1p63 ? INT64_MIN : c->hi < 0x1p63 ? (i64)floor(c->hi) : INT64_MAX;
        break;
    }
    case JN_OP_ID_clamp_grad:
        at->a = ((const janus_clamp_grad_attrs *)attrs)->lo;
        at->b = ((const janus_clamp_grad_attrs *)attrs)->hi;
        break;
    default:
        break;
    }
}

#endif
