/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counter-based generator, Philox4x32-10, and what is made of its words.
 *
 * The state is (seed, offset), both 64 bits: seed is the key, offset the low half of the 128-bit
 * counter.  Element i of a draw uses word i % 4 of counter offset + i / 4 (and, where 64 bits are
 * needed, the same word of the counter whose high half is 1) and nothing else, so elements can be
 * computed in any order.
 *
 * Every kernel, on every device and instruction set, uses the functions below, whose operations
 * each have one exact result (no fused multiply-add, no library function): draws of equal state are
 * equal bit for bit everywhere.  Narrow draws are computed in f32, wide ones in f64.
 */
#ifndef JN_OPS_RNG_H
#define JN_OPS_RNG_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__ /* also for kernels there, whose compiler fuses what is not written like this */
#define JN_RNG_FN static inline __host__ __device__
#else
#define JN_RNG_FN static inline __attribute__((always_inline, unused))
#endif
#ifdef __CUDA_ARCH__
#define JN_RNG_MULF(a, b) __fmul_rn(a, b)
#define JN_RNG_MUL(a, b) __dmul_rn(a, b)
#define JN_RNG_SQRTF(x) __fsqrt_rn(x)
#define JN_RNG_SQRT(x) __dsqrt_rn(x)
#else
#define JN_RNG_MULF(a, b) ((a) * (b))
#define JN_RNG_MUL(a, b) ((a) * (b))
#define JN_RNG_SQRTF(x) __builtin_sqrtf(x)
#define JN_RNG_SQRT(x) __builtin_sqrt(x)
#endif

/* How far a draw of n elements advances the offset. */
JN_RNG_FN int64_t jn_rng_draws(int64_t n) { return n / 4 + (n % 4 != 0); }

#define JN_PHILOX_M0 0xD2511F53u
#define JN_PHILOX_M1 0xCD9E8D57u
#define JN_PHILOX_W0 0x9E3779B9u
#define JN_PHILOX_W1 0xBB67AE85u

/* The four words of the counter {counter, high} under key `seed`. */
JN_RNG_FN void jn_philox(uint64_t seed, uint64_t counter, uint64_t high, uint32_t out[4]) {
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32), c2 = (uint32_t)high,
             c3 = (uint32_t)(high >> 32), k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)JN_PHILOX_M0 * c0, p1 = (uint64_t)JN_PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += JN_PHILOX_W0;
        k1 += JN_PHILOX_W1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* ---- in [0, 1): 24 bits of one word, or 53 of two ----------------------------------------------
 */

JN_RNG_FN float jn_rng_unit_f(uint32_t w) {
    return JN_RNG_MULF((float)(int32_t)(w >> 8), 0x1p-24f);
}

JN_RNG_FN double jn_rng_int_d(uint32_t n) { /* exact, and vectorises everywhere */
    uint64_t bits = 0x4330000000000000u | n;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x - 0x1p52;
}
JN_RNG_FN double jn_rng_unit_d(uint32_t hi, uint32_t lo) {
    return JN_RNG_MUL(jn_rng_int_d(hi), 0x1p-32) + JN_RNG_MUL(jn_rng_int_d(lo >> 11), 0x1p-53);
}

/* ---- in [low, high) ----------------------------------------------------------------------------
 */

/* What a row of draws has in common; `top` is the largest number below high, which rounding must
 * not reach. */
typedef struct jn_rng_range_f {
    float low, scale, high, top;
} jn_rng_range_f;
typedef struct jn_rng_range_d {
    double low, scale, high, top;
} jn_rng_range_d;

JN_RNG_FN float jn_rng_uniform_f(jn_rng_range_f r, uint32_t w) {
    float y = r.low + JN_RNG_MULF(r.scale, jn_rng_unit_f(w));
    return y < r.high ? y : r.top;
}
JN_RNG_FN double jn_rng_uniform_d(jn_rng_range_d r, uint32_t hi, uint32_t lo) {
    double y = r.low + JN_RNG_MUL(r.scale, jn_rng_unit_d(hi, lo));
    return y < r.high ? y : r.top;
}

/* The largest number below x, which is finite. */
JN_RNG_FN float jn_rng_below_f(float x) {
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    b = x > 0 ? b - 1 : x < 0 ? b + 1 : 0x80000001u;
    memcpy(&x, &b, sizeof x);
    return x;
}
JN_RNG_FN double jn_rng_below_d(double x) {
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    b = x > 0 ? b - 1 : x < 0 ? b + 1 : 0x8000000000000001u;
    memcpy(&x, &b, sizeof x);
    return x;
}
JN_RNG_FN jn_rng_range_f jn_rng_range_of_f(double low, double high) {
    jn_rng_range_f r = {(float)low, (float)(high - low), (float)high, (float)low};
    if (r.high > r.low)
        r.top = jn_rng_below_f(r.high);
    return r;
}
JN_RNG_FN jn_rng_range_d jn_rng_range_of_d(double low, double high) {
    jn_rng_range_d r = {low, high - low, high, low};
    if (high > low)
        r.top = jn_rng_below_d(high);
    return r;
}

/* The words w for which w >> 8 is below this are a part p of all. */
JN_RNG_FN uint32_t jn_rng_threshold(double p) {
    double t = p * 0x1p24;
    if (!(t > 0))
        return 0;
    if (t >= 0x1p24)
        return 1u << 24;
    uint32_t whole = (uint32_t)t;
    return whole + ((double)whole < t);
}

/* ---- normal: Box-Muller, elements 2j and 2j + 1 made of the same two uniforms ------------------
 */

/* log(u) for 2^-24 <= u <= 1 */
JN_RNG_FN float jn_rng_log_f(float u) {
    uint32_t bits, off;
    float f;
    memcpy(&bits, &u, sizeof bits);
    off = bits - 0x3f3504f3u; /* sqrt(1/2) */
    bits = (off & 0x007fffffu) + 0x3f3504f3u;
    memcpy(&f, &bits, sizeof f);
    f -= 1.0f;
    float n = (float)((int32_t)off >> 23), p = 0x1.1b07ccp-4f;
    p = JN_RNG_MULF(p, f) - 0x1.e2cbb6p-4f;
    p = JN_RNG_MULF(p, f) + 0x1.e65b46p-4f;
    p = JN_RNG_MULF(p, f) - 0x1.fb4902p-4f;
    p = JN_RNG_MULF(p, f) + 0x1.233266p-3f;
    p = JN_RNG_MULF(p, f) - 0x1.5562b4p-3f;
    p = JN_RNG_MULF(p, f) + 0x1.99a548p-3f;
    p = JN_RNG_MULF(p, f) - 0x1.ffffeep-3f;
    p = JN_RNG_MULF(p, f) + 0x1.555546p-2f;
    float z = JN_RNG_MULF(f, f), y = JN_RNG_MULF(JN_RNG_MULF(z, f), p);
    y = y + JN_RNG_MULF(n, 0x1.7f7d1cp-20f);
    y = y - JN_RNG_MULF(z, 0.5f);
    return JN_RNG_MULF(n, 0x1.62e4p-1f) + (f + y);
}

/* log(u) for 2^-53 <= u <= 1 */
JN_RNG_FN double jn_rng_log_d(double u) {
    uint64_t bits, off;
    double f;
    memcpy(&bits, &u, sizeof bits);
    off = bits - 0x3fe6a09e667f3bcdu + ((uint64_t)64 << 52); /* so that the shift can be unsigned */
    bits = (off & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu;
    memcpy(&f, &bits, sizeof f);
    f -= 1.0;
    double n = jn_rng_int_d((uint32_t)(off >> 52)) - 64.0;
    double s = f / (2.0 + f), z = JN_RNG_MUL(s, s);
    double half = JN_RNG_MUL(JN_RNG_MUL(f, f), 0.5), p = 0x1.2f332c7490b7dp-3;
    p = JN_RNG_MUL(p, z) + 0x1.399d61cb0ac25p-3;
    p = JN_RNG_MUL(p, z) + 0x1.74666802d5355p-3;
    p = JN_RNG_MUL(p, z) + 0x1.c71c514b51f3ep-3;
    p = JN_RNG_MUL(p, z) + 0x1.24924942cdd0ap-2;
    p = JN_RNG_MUL(p, z) + 0x1.999999997ef17p-2;
    p = JN_RNG_MUL(p, z) + 0x1.5555555555595p-1;
    double low = JN_RNG_MUL(s, half + JN_RNG_MUL(z, p)) + JN_RNG_MUL(n, 0x1.a39ef35793c76p-33);
    return JN_RNG_MUL(n, 0x1.62e42fee00000p-1) + (f - (half - low));
}

/* Sine and cosine of 2 pi v for 0 <= v < 1: the turn is cut into quadrants exactly, the rest is
 * within an eighth of a turn, where the Taylor series are short. */
JN_RNG_FN void jn_rng_turn_f(float v, float *sine, float *cosine) {
    float t = JN_RNG_MULF(v, 4.0f);
    int32_t q = (int32_t)(t + 0.5f);
    float r = t - (float)q, z = JN_RNG_MULF(r, r);
    float s = 0x1.507834p-13f, c = -0x1.a6d1f2p-16f;
    s = JN_RNG_MULF(s, z) - 0x1.32d2ccp-8f;
    s = JN_RNG_MULF(s, z) + 0x1.466bc6p-4f;
    s = JN_RNG_MULF(s, z) - 0x1.4abbcep-1f;
    s = JN_RNG_MULF(s, z) + 0x1.921fb6p+0f;
    s = JN_RNG_MULF(s, r);
    c = JN_RNG_MULF(c, z) + 0x1.e1f506p-11f;
    c = JN_RNG_MULF(c, z) - 0x1.55d3c8p-6f;
    c = JN_RNG_MULF(c, z) + 0x1.03c1fp-2f;
    c = JN_RNG_MULF(c, z) - 0x1.3bd3ccp+0f;
    c = JN_RNG_MULF(c, z) + 1.0f;
    float a = q & 1 ? c : s, b = q & 1 ? s : c;
    *sine = q & 2 ? -a : a;
    *cosine = (q + 1) & 2 ? -b : b;
}

JN_RNG_FN void jn_rng_turn_d(double v, double *sine, double *cosine) {
    double t = JN_RNG_MUL(v, 4.0), w = t + 0x1.8p52; /* rounded to the nearest quarter */
    uint64_t q;
    memcpy(&q, &w, sizeof q);
    double r = t - (w - 0x1.8p52);
    double z = JN_RNG_MUL(r, r), s = -0x1.6fadb9f155744p-31, c = 0x1.20c62c2f2d7f5p-34;
    s = JN_RNG_MUL(s, z) + 0x1.e8f434d018d63p-25;
    s = JN_RNG_MUL(s, z) - 0x1.e3074fde8871fp-19;
    s = JN_RNG_MUL(s, z) + 0x1.50783487ee782p-13;
    s = JN_RNG_MUL(s, z) - 0x1.32d2cce62bd86p-8;
    s = JN_RNG_MUL(s, z) + 0x1.466bc6775aae2p-4;
    s = JN_RNG_MUL(s, z) - 0x1.4abbce625be53p-1;
    s = JN_RNG_MUL(s, z) + 0x1.921fb54442d18p+0;
    s = JN_RNG_MUL(s, r);
    c = JN_RNG_MUL(c, z) - 0x1.b6e24f44b128fp-28;
    c = JN_RNG_MUL(c, z) + 0x1.f9d38a3763cc3p-22;
    c = JN_RNG_MUL(c, z) - 0x1.a6d1f2a204a8cp-16;
    c = JN_RNG_MUL(c, z) + 0x1.e1f506891babbp-11;
    c = JN_RNG_MUL(c, z) - 0x1.55d3c7e3cbffap-6;
    c = JN_RNG_MUL(c, z) + 0x1.03c1f081b5ac4p-2;
    c = JN_RNG_MUL(c, z) - 0x1.3bd3cc9be45dep+0;
    c = JN_RNG_MUL(c, z) + 1.0;
    double a = q & 1 ? c : s, b = q & 1 ? s : c;
    *sine = q & 2 ? -a : a;
    *cosine = (q + 1) & 2 ? -b : b;
}

JN_RNG_FN void jn_rng_normal_f(float mean, float std, uint32_t w0, uint32_t w1, float *even,
                               float *odd) {
    float s, c, u = 1.0f - jn_rng_unit_f(w0); /* (0, 1] */
    float r = JN_RNG_SQRTF(JN_RNG_MULF(jn_rng_log_f(u), -2.0f));
    jn_rng_turn_f(jn_rng_unit_f(w1), &s, &c);
    *even = mean + JN_RNG_MULF(std, JN_RNG_MULF(r, c));
    *odd = mean + JN_RNG_MULF(std, JN_RNG_MULF(r, s));
}

/* lo: the words of the counters whose high half is 1. */
JN_RNG_FN void jn_rng_normal_d(double mean, double std, const uint32_t hi[2], const uint32_t lo[2],
                               double *even, double *odd) {
    double s, c, u = 1.0 - jn_rng_unit_d(hi[0], lo[0]);
    double r = JN_RNG_SQRT(JN_RNG_MUL(jn_rng_log_d(u), -2.0));
    jn_rng_turn_d(jn_rng_unit_d(hi[1], lo[1]), &s, &c);
    *even = mean + JN_RNG_MUL(std, JN_RNG_MUL(r, c));
    *odd = mean + JN_RNG_MUL(std, JN_RNG_MUL(r, s));
}

/* In [0, range) from 64 bits: the high half of a product, biased by at most range / 2^64. */
JN_RNG_FN uint64_t jn_rng_below(uint32_t hi, uint32_t lo, uint64_t range) {
    /* (hi 2^32 + lo) range / 2^64, in halves */
    uint64_t r0 = (uint32_t)range, r1 = range >> 32;
    uint64_t low = (uint64_t)lo * r0, a = (uint64_t)hi * r0 + (low >> 32);
    uint64_t b = (uint64_t)lo * r1 + (uint32_t)a;
    return (uint64_t)hi * r1 + (a >> 32) + (b >> 32);
}

/* A number of [.., high) rounded to f16 or bf16: where that gave `high`, the one before it. Bits.
 */
JN_RNG_FN uint16_t jn_rng_before_half(uint16_t rounded, uint16_t high) {
    if (rounded != high)
        return rounded;
    return (uint16_t)((high & 0x7fff) == 0 ? 0x8001 : (high & 0x8000) ? high + 1 : high - 1);
}

#endif
