/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementary functions, one element at a time, written so that a loop over them vectorises.
 *
 * Only operations with one exact result are used (add, multiply, divide, square root, fused
 * multiply-add where the instruction set has it, integer arithmetic on the bits), no branches, no
 * library calls.  So a scalar tail and every vector width give the same bits: an element's result
 * does not depend on where it stands.  Results may differ between instruction sets with and
 * without FMA.  Errors: f32 below 2 units in the last place, f64 below 3, measured by
 * tests/unit/t_cpu_vmath.c against long double.  Infinities, NaN, signed zeros and denormals are
 * right.
 *
 * The polynomials are weighted minimax fits made for these intervals.
 */
#ifndef JN_OPS_CPU_VMATH_H
#define JN_OPS_CPU_VMATH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define JN_INLINE static inline __attribute__((always_inline, unused))

#ifdef __FMA__
#define JN_FMAF(a, b, c) __builtin_fmaf(a, b, c)
#define JN_FMA(a, b, c) __builtin_fma(a, b, c)
#else
#define JN_FMAF(a, b, c) ((a) * (b) + (c))
#define JN_FMA(a, b, c) ((a) * (b) + (c))
#endif

JN_INLINE uint32_t jn_bits_f(float x) {
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}
JN_INLINE float jn_from_bits_f(uint32_t b) {
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}
JN_INLINE uint64_t jn_bits_d(double x) {
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}
JN_INLINE double jn_from_bits_d(uint64_t b) {
    double x;
    memcpy(&x, &b, sizeof x);
    return x;
}

/* Adding these rounds to an integer, which then stands in the low bits. */
#define JN_ROUND_F 0x1.8p23f
#define JN_ROUND_D 0x1.8p52

/* 2^n for normal results. */
JN_INLINE float jn_pow2_f(int32_t n) { return jn_from_bits_f((uint32_t)(n + 127) << 23); }
JN_INLINE double jn_pow2_d(int64_t n) { return jn_from_bits_d((uint64_t)(n + 1023) << 52); }
/* Exact for |n| < 2^51; vectorises where there is no conversion instruction. */
JN_INLINE double jn_int_d(int64_t n) {
    return jn_from_bits_d((uint64_t)n + jn_bits_d(JN_ROUND_D)) - JN_ROUND_D;
}

JN_INLINE float jn_copysign_f(float x, float sign) {
    return jn_from_bits_f((jn_bits_f(x) & 0x7fffffffu) | (jn_bits_f(sign) & 0x80000000u));
}
JN_INLINE double jn_copysign_d(double x, double sign) {
    return jn_from_bits_d((jn_bits_d(x) & 0x7fffffffffffffffu) |
                          (jn_bits_d(sign) & 0x8000000000000000u));
}
JN_INLINE float jn_abs_f(float x) { return jn_from_bits_f(jn_bits_f(x) & 0x7fffffffu); }
JN_INLINE double jn_abs_d(double x) { return jn_from_bits_d(jn_bits_d(x) & 0x7fffffffffffffffu); }

/* ---- exponential --------------------------------------------------------------------------- */

/*
 * A product below the normal numbers takes a processor a hundred steps, and a masked score has one
 * in each vector.  So what vanishes gets a factor whose exponent is that of 0: of two powers of 2
 * the first is 0 for the lowest x that is let through, and exact in the products of all others that
 * do not round to 0.  (A comparison would have compilers make both products.)
 */
JN_INLINE float jn_exp_f(float x) {
    x = x < -106.0f ? -106.0f : x;
    x = x > 89.0f ? 89.0f : x;
    float t = JN_FMAF(x, 0x1.715476p+0f, JN_ROUND_F), n = t - JN_ROUND_F;
    int32_t k = (int32_t)(jn_bits_f(t) - jn_bits_f(JN_ROUND_F));
    float r = JN_FMAF(n, -0x1.62e4p-1f, x);
    r = JN_FMAF(n, -0x1.7f7d1cp-20f, r);
    float p = 0x1.6dbb26p-10f;
    p = JN_FMAF(p, r, 0x1.12416cp-7f);
    p = JN_FMAF(p, r, 0x1.555456p-5f);
    p = JN_FMAF(p, r, 0x1.555486p-3f);
    p = JN_FMAF(p, r, 0.5f);
    p = JN_FMAF(r * r, p, r) + 1.0f;
    int32_t half = (k + 153) >> 1; /* -106 is -153 ln(2), about */
    return p * jn_from_bits_f((uint32_t)half << 23) * jn_pow2_f(k - half + 127);
}

/* exp(-v) times 2^above, for v from 0 to (126 + above) ln(2). */
JN_INLINE float jn_exp_above_f(float v, uint32_t above) {
    float t = JN_FMAF(v, -0x1.715476p+0f, JN_ROUND_F), n = t - JN_ROUND_F;
    float r = JN_FMAF(n, -0x1.62e4p-1f, -v);
    r = JN_FMAF(n, -0x1.7f7d1cp-20f, r);
    float p = 0x1.6dbb26p-10f;
    p = JN_FMAF(p, r, 0x1.12416cp-7f);
    p = JN_FMAF(p, r, 0x1.555456p-5f);
    p = JN_FMAF(p, r, 0x1.555486p-3f);
    p = JN_FMAF(p, r, 0.5f);
    p = JN_FMAF(r * r, p, r) + 1.0f;
    return p * jn_from_bits_f((jn_bits_f(t) << 23) + ((127u + above) << 23));
}
/* exp(-v) for v >= 0, as jn_exp_f has it; NaN stays.  No power of 2 is above 1: two steps of known
 * size do, the first of which is exact. */
JN_INLINE float jn_exp_minus_f(float v) {
    return jn_exp_above_f(105.0f < v ? 105.0f : v, 24) * 0x1p-24f; /* 105 is 151 ln(2), about */
}

/* exp(r + lost) - 1 for |r| <= ln(2)/2 and a tiny rest. */
JN_INLINE double jn_expm1_core_d(double r, double lost) {
    double p = 0x1.1f95c72856fbep-29;
    p = JN_FMA(p, r, 0x1.af721e2a631f1p-26);
    p = JN_FMA(p, r, 0x1.27e4c5a236be2p-22);
    p = JN_FMA(p, r, 0x1.71ddec899b89ap-19);
    p = JN_FMA(p, r, 0x1.a01a01b07a84ap-16);
    p = JN_FMA(p, r, 0x1.a01a01b4f14afp-13);
    p = JN_FMA(p, r, 0x1.6c16c16c146bep-10);
    p = JN_FMA(p, r, 0x1.111111110e895p-7);
    p = JN_FMA(p, r, 0x1.5555555555559p-5);
    p = JN_FMA(p, r, 0x1.555555555555cp-3);
    p = JN_FMA(p, r, 0.5);
    return r + JN_FMA(r * r, p, lost + lost * r);
}

JN_INLINE double jn_exp_d(double x) {
    x = x < -747.0 ? -747.0 : x;
    x = x > 710.0 ? 710.0 : x;
    double t = JN_FMA(x, 0x1.71547652b82fep+0, JN_ROUND_D), n = t - JN_ROUND_D;
    double h = n * 0.5 + (JN_ROUND_D + 539); /* -747 is -1078 ln(2), about */
    int64_t k = (int64_t)(jn_bits_d(t) - jn_bits_d(JN_ROUND_D));
    int64_t half = (int64_t)(jn_bits_d(h) - jn_bits_d(JN_ROUND_D));
    double a = JN_FMA(n, -0x1.62e42fee00000p-1, x), b = n * 0x1.a39ef35793c76p-33;
    double r = a - b, lost = (a - r) - b;
    double p = (jn_expm1_core_d(r, lost) + 1.0) * jn_from_bits_d((uint64_t)half << 52);
    return p * jn_pow2_d(k - half + 1023);
}

JN_INLINE double jn_exp_minus_d(double v) { return jn_exp_d(-v); }

JN_INLINE double jn_expm1_d(double x) {
    double v = x < -40.0 ? -40.0 : x;
    v = v > 40.0 ? 40.0 : v;
    double t = JN_FMA(v, 0x1.71547652b82fep+0, JN_ROUND_D), n = t - JN_ROUND_D;
    int64_t k = (int64_t)(jn_bits_d(t) - jn_bits_d(JN_ROUND_D));
    double a = JN_FMA(n, -0x1.62e42fee00000p-1, v), b = n * 0x1.a39ef35793c76p-33;
    double r = a - b, lost = (a - r) - b;
    double s = jn_pow2_d(k), q = jn_expm1_core_d(r, lost);
    double y = JN_FMA(s, q, s - 1.0);
    y = n == 0.0 ? q : y;
    y = x == 0.0 ? x : y;
    return x > 40.0 ? jn_exp_d(x) : y;
}
JN_INLINE float jn_expm1_f(float x) { return (float)jn_expm1_d((double)x); }

/* ---- logarithm ------------------------------------------------------------------------------- */

JN_INLINE float jn_log_f(float x) {
    bool tiny = x < 0x1p-126f;
    float v = tiny ? x * 0x1p23f : x;
    uint32_t off = jn_bits_f(v) - 0x3f3504f3u; /* sqrt(1/2) */
    int32_t k = (int32_t)off >> 23;
    float f = jn_from_bits_f((off & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    k -= tiny ? 23 : 0;
    float n = (float)k;
    float p = 0x1.1b07ccp-4f;
    p = JN_FMAF(p, f, -0x1.e2cbb6p-4f);
    p = JN_FMAF(p, f, 0x1.e65b46p-4f);
    p = JN_FMAF(p, f, -0x1.fb4902p-4f);
    p = JN_FMAF(p, f, 0x1.233266p-3f);
    p = JN_FMAF(p, f, -0x1.5562b4p-3f);
    p = JN_FMAF(p, f, 0x1.99a548p-3f);
    p = JN_FMAF(p, f, -0x1.ffffeep-3f);
    p = JN_FMAF(p, f, 0x1.555546p-2f);
    float z = f * f, y = z * f * p;
    y = JN_FMAF(n, 0x1.7f7d1cp-20f, y);
    y = JN_FMAF(z, -0.5f, y);
    y = JN_FMAF(n, 0x1.62e4p-1f, f + y);
    y = x == 0.0f ? -__builtin_inff() : y;
    y = x < 0.0f ? __builtin_nanf("") : y;
    y = x == __builtin_inff() ? x : y;
    return x != x ? x : y;
}

/* log(v) + c for finite v > 0, normal or not. */
JN_INLINE double jn_log_core_d(double x, double c) {
    bool tiny = x < 0x1p-1022;
    double v = tiny ? x * 0x1p52 : x;
    /* 1024 is added to the exponent so that the shift can be unsigned. */
    uint64_t off = jn_bits_d(v) - 0x3fe6a09e667f3bcdu + ((uint64_t)1024 << 52);
    double n = jn_int_d((int64_t)(off >> 52)) - (tiny ? 1076.0 : 1024.0);
    double f = jn_from_bits_d((off & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
    double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    double p = 0x1.2f332c7490b7dp-3;
    p = JN_FMA(p, z, 0x1.399d61cb0ac25p-3);
    p = JN_FMA(p, z, 0x1.74666802d5355p-3);
    p = JN_FMA(p, z, 0x1.c71c514b51f3ep-3);
    p = JN_FMA(p, z, 0x1.24924942cdd0ap-2);
    p = JN_FMA(p, z, 0x1.999999997ef17p-2);
    p = JN_FMA(p, z, 0x1.5555555555595p-1);
    double low = JN_FMA(s, half + z * p, JN_FMA(n, 0x1.a39ef35793c76p-33, c));
    return JN_FMA(n, 0x1.62e42fee00000p-1, f - (half - low));
}

JN_INLINE double jn_log_d(double x) {
    double y = jn_log_core_d(x, 0.0);
    y = x == 0.0 ? -__builtin_inf() : y;
    y = x < 0.0 ? __builtin_nan("") : y;
    y = x == __builtin_inf() ? x : y;
    return x != x ? x : y;
}

JN_INLINE double jn_log1p_d(double x) {
    double u = 1.0 + x;
    /* What rounding 1 + x lost, from whichever of the two is smaller. */
    double lost = x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0);
    double y = jn_log_core_d(u, lost / u);
    y = x == -1.0 ? -__builtin_inf() : y;
    y = x < -1.0 ? __builtin_nan("") : y;
    y = x == __builtin_inf() ? x : y;
    y = x == 0.0 ? x : y;
    return x != x ? x : y;
}
JN_INLINE float jn_log1p_f(float x) { return (float)jn_log1p_d((double)x); }

/* ---- hyperbolic tangent, logistic function -----------------------------------------------------
 */

/* From 9.02 on the result rounds to 1; the comparison of bits sends NaN there too. */
JN_INLINE float jn_tanh_f(float x) {
    uint32_t bits = jn_bits_f(x) & 0x7fffffffu, most = 0x41105eb8u;
    float a = jn_from_bits_f(bits), v = jn_from_bits_f(bits < most ? bits : most), z = x * x;
    float p = 0x1.163264p-9f;
    p = JN_FMAF(p, z, -0x1.0b4114p-7f);
    p = JN_FMAF(p, z, 0x1.6368c4p-6f);
    p = JN_FMAF(p, z, -0x1.b9eb98p-5f);
    p = JN_FMAF(p, z, 0x1.111058p-3f);
    p = JN_FMAF(p, z, -0x1.555554p-2f);
    p = JN_FMAF(p, a * z, a);
    /* exp(2 v), whose exponent needs no second step */
    float t = JN_FMAF(v, 0x1.715476p+1f, JN_ROUND_F), n = t - JN_ROUND_F;
    float r = JN_FMAF(n, -0x1.62e4p-1f, v + v);
    r = JN_FMAF(n, -0x1.7f7d1cp-20f, r);
    float e = 0x1.6dbb26p-10f;
    e = JN_FMAF(e, r, 0x1.12416cp-7f);
    e = JN_FMAF(e, r, 0x1.555456p-5f);
    e = JN_FMAF(e, r, 0x1.555486p-3f);
    e = JN_FMAF(e, r, 0.5f);
    e = JN_FMAF(r * r, e, r) + 1.0f;
    e *= jn_from_bits_f((jn_bits_f(t) << 23) + 0x3f800000u);
    float y = bits < 0x3f200000u ? p : 1.0f - 2.0f / (e + 1.0f); /* 0.625 */
    y = jn_copysign_f(y, x);
    return x != x ? x : y;
}

JN_INLINE double jn_tanh_d(double x) {
    double a = jn_abs_d(x), t = jn_expm1_d(a < 22.0 ? a + a : 44.0), y = t / (t + 2.0);
    y = a != a ? a : y;
    return jn_copysign_d(y, x);
}

JN_INLINE float jn_sigmoid_f(float x) {
    float e = jn_exp_minus_f(jn_abs_f(x)), y = (x < 0.0f ? e : 1.0f) / (1.0f + e);
    return x != x ? x : y;
}
JN_INLINE double jn_sigmoid_d(double x) {
    double e = jn_exp_d(-jn_abs_d(x));
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

/* log(1 + exp(x)) */
JN_INLINE double jn_softplus_d(double x) {
    double y = jn_log1p_d(jn_exp_d(-jn_abs_d(x)));
    return (x > 0.0 ? x : 0.0) + (x != x ? x : y);
}
JN_INLINE float jn_softplus_f(float x) { return (float)jn_softplus_d((double)x); }

/* ---- error function -------------------------------------------------------------------------- */

JN_INLINE float jn_erf_f(float x) {
    float a = jn_abs_f(x), z = x * x, v = a < 4.0f ? a : 4.0f;
    float p = 0x1.4ae16cp-14f;
    p = JN_FMAF(p, z, -0x1.a484a8p-11f);
    p = JN_FMAF(p, z, 0x1.5419c8p-8f);
    p = JN_FMAF(p, z, -0x1.b7fbaep-6f);
    p = JN_FMAF(p, z, 0x1.ce2d2p-4f);
    p = JN_FMAF(p, z, -0x1.81273ep-2f);
    p = JN_FMAF(p, z, 0x1.06eba8p-3f);
    p = JN_FMAF(p, a, a);
    /* 1 - exp(-q) with q = -log(erfc) from 1 to 4 */
    float q = -0x1.85551ap-13f;
    q = JN_FMAF(q, v, 0x1.81649ap-9f);
    q = JN_FMAF(q, v, -0x1.654db0p-6f);
    q = JN_FMAF(q, v, 0x1.a61062p-4f);
    q = JN_FMAF(q, v, 0x1.46c4b2p-1f);
    q = JN_FMAF(q, v, 0x1.2085fp+0f);
    q = JN_FMAF(q, v, 0x1.71f912p-12f);
    float y = a < 1.0f ? p : 1.0f - jn_exp_above_f(q, 0); /* q is below 20 */
    y = x != x ? x : y;
    return jn_copysign_f(y, x);
}

JN_INLINE double jn_erf_d(double x) {
    double a = jn_abs_d(x), z = x * x, v = (a < 6.0 ? a : 6.0) - 1.0;
    double p = -0x1.acde34c74e570p-31;
    p = JN_FMA(p, z, 0x1.d783f566cd681p-27);
    p = JN_FMA(p, z, -0x1.5c16cb31590e0p-23);
    p = JN_FMA(p, z, 0x1.b98277038e8a2p-20);
    p = JN_FMA(p, z, -0x1.f4ca9429e16b3p-17);
    p = JN_FMA(p, z, 0x1.f9a2bf6c53bcep-14);
    p = JN_FMA(p, z, -0x1.c02db0729e0f0p-11);
    p = JN_FMA(p, z, 0x1.565bccfa9823ep-8);
    p = JN_FMA(p, z, -0x1.b82ce31206183p-6);
    p = JN_FMA(p, z, 0x1.ce2f21a041013p-4);
    p = JN_FMA(p, z, -0x1.812746b0379c2p-2);
    p = JN_FMA(p, z, 0x1.06eba8214db68p-3);
    p = JN_FMA(p, a, a);
    double q = 0x1.562f66105c870p-38;
    q = JN_FMA(q, v, -0x1.064896bfb97b1p-33);
    q = JN_FMA(q, v, 0x1.6a7103e047e23p-30);
    q = JN_FMA(q, v, -0x1.2496ac9817079p-27);
    q = JN_FMA(q, v, 0x1.1eb71bc463383p-25);
    q = JN_FMA(q, v, -0x1.f200cc0815612p-25);
    q = JN_FMA(q, v, -0x1.b7fbfb94f9eeep-23);
    q = JN_FMA(q, v, 0x1.1e286be4dac4bp-19);
    q = JN_FMA(q, v, -0x1.44856ab839c7fp-17);
    q = JN_FMA(q, v, 0x1.c8530c6cc4feap-16);
    q = JN_FMA(q, v, -0x1.b92e0e53a89abp-16);
    q = JN_FMA(q, v, -0x1.f1b048127d90fp-13);
    q = JN_FMA(q, v, 0x1.033f5a08d9f3ap-9);
    q = JN_FMA(q, v, -0x1.48c9d37f58222p-7);
    q = JN_FMA(q, v, 0x1.5477f099b43c2p-5);
    q = JN_FMA(q, v, 0x1.afabc11a2aff9p-1);
    q = JN_FMA(q, v, 0x1.51c9b0006c21ap+1);
    q = JN_FMA(q, v, 0x1.d97fbf27aa2a1p+0);
    double y = a < 1.0 ? p : 1.0 - jn_exp_d(-q);
    y = x != x ? x : y;
    return jn_copysign_d(y, x);
}

/* ---- sine, cosine ------------------------------------------------------------------------------
 */

/* Beyond this the three-part reduction is not exact; callers ask the C library instead. */
#define JN_SINCOS_MAX 1.0e6

/* shift 0: sine, 1: cosine; |x| <= JN_SINCOS_MAX */
JN_INLINE double jn_sincos_d(double x, uint64_t shift) {
    double t = JN_FMA(x, 0x1.45f306dc9c883p-1, JN_ROUND_D), n = t - JN_ROUND_D;
    uint64_t quadrant = jn_bits_d(t) + shift;
    double a = x - n * 0x1.921fb544p+0, w = n * 0x1.0b4611a6p-34;
    double hi = a - w, r = hi + (((a - hi) - w) - n * 0x1.3198a2e037073p-69), z = r * r;
    double s = 0x1.5d6e5d5c5c5b0p-33;
    s = JN_FMA(s, z, -0x1.ae5de98b0c717p-26);
    s = JN_FMA(s, z, 0x1.71de34db1f6b5p-19);
    s = JN_FMA(s, z, -0x1.a01a019b60c4fp-13);
    s = JN_FMA(s, z, 0x1.111111110f318p-7);
    s = JN_FMA(s, z, -0x1.5555555555545p-3);
    s = JN_FMA(s, z * r, r);
    double c = -0x1.8f8654577fe18p-37;
    c = JN_FMA(c, z, 0x1.1ee99f41f3ebep-29);
    c = JN_FMA(c, z, -0x1.27e4f79b2994ap-22);
    c = JN_FMA(c, z, 0x1.a01a019c1ba74p-16);
    c = JN_FMA(c, z, -0x1.6c16c16c14ba4p-10);
    c = JN_FMA(c, z, 0x1.5555555555549p-5);
    double half = 0.5 * z, one = 1.0 - half;
    c = one + (((1.0 - one) - half) + z * z * c);
    double y = quadrant & 1 ? c : s;
    y = jn_from_bits_d(jn_bits_d(y) ^ ((quadrant & 2) << 62));
    return shift == 0 && x == 0.0 ? x : y;
}

/* x^y through double; exact enough that the rounding to f32 decides. Bases < 0 need integers y. */
JN_INLINE float jn_pow_f(float xf, float yf) {
    double x = (double)xf, y = (double)yf, a = jn_abs_d(x);
    double e = y * jn_log_d(a);
    e = y == 0.0 || x == 1.0 ? 0.0 : e;
    double r = jn_exp_d(e);
    r = e != e ? e : r;
    double ay = jn_abs_d(y), big = ay < 0x1p52 ? ay : 0x1p52;
    double whole = (big + 0x1p52) - 0x1p52;
    bool integer = whole == ay || ay >= 0x1p52;
    double half = big * 0.5, halfwhole = (half + 0x1p52) - 0x1p52;
    bool odd = integer && ay < 0x1p52 && halfwhole != half;
    bool minus = jn_bits_d(x) >> 63 != 0;
    double ye = x == -1.0 && ay == __builtin_inf() ? 1.0 : r;
    ye = minus && odd ? -ye : ye;
    ye = x < 0.0 && !integer && a != __builtin_inf() ? __builtin_nan("") : ye;
    return (float)ye;
}

/* gelu, as it is and by tanh, and their derivatives. */
JN_INLINE float jn_gelu_f(float x) { return 0.5f * x * (1.0f + jn_erf_f(x * 0.70710678f)); }
JN_INLINE double jn_gelu_d(double x) { return 0.5 * x * (1.0 + jn_erf_d(x * 0.7071067811865476)); }
JN_INLINE float jn_gelu_tanh_f(float x) {
    return 0.5f * x * (1.0f + jn_tanh_f(0.7978845608f * (x + 0.044715f * x * x * x)));
}
JN_INLINE double jn_gelu_tanh_d(double x) {
    return 0.5 * x * (1.0 + jn_tanh_d(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
JN_INLINE float jn_gelu_slope_f(float x) {
    float cdf = 0.5f * (1.0f + jn_erf_f(x * 0.70710678f));
    return cdf + x * (0.39894228f * jn_exp_f(-0.5f * x * x));
}
JN_INLINE double jn_gelu_slope_d(double x) {
    double cdf = 0.5 * (1.0 + jn_erf_d(x * 0.7071067811865476));
    return cdf + x * (0.3989422804014327 * jn_exp_d(-0.5 * x * x));
}
JN_INLINE float jn_gelu_tanh_slope_f(float x) {
    float t = jn_tanh_f(0.7978845608f * (x + 0.044715f * x * x * x));
    float du = 0.7978845608f * (1.0f + 3.0f * 0.044715f * x * x);
    return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * du;
}
JN_INLINE double jn_gelu_tanh_slope_d(double x) {
    double t = jn_tanh_d(0.7978845608028654 * (x + 0.044715 * x * x * x));
    double du = 0.7978845608028654 * (1.0 + 3.0 * 0.044715 * x * x);
    return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * du;
}

#endif
