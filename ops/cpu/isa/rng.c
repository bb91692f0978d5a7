/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of the generator, and what is made of them, row by row: the functions of ops/rng.h in
 * loops the compiler vectorises.  Compiled per instruction set: see ops/cpu/isa.h.
 *
 * Philox keeps a 32-bit word in each 64-bit lane, whose upper half is not looked at: then a round
 * is two multiplications, two shifts and four exclusive ors for as many counters as lanes.
 */
#include "ops/rng.h"
#include "ops/cpu/isa.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#define W __m512i
#define COUNTERS 8
#define SPLAT(x) _mm512_set1_epi64((long long)(x))
#define WIDEN(a, b) _mm512_mul_epu32(a, b)
#define UPPER(a) _mm512_shuffle_epi32(a, 0xf5) /* another port than the multiplications' */
#define XOR3(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x96)
#define COUNT(c) _mm512_add_epi64(SPLAT(c), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7))
/* The low halves of a and b side by side. */
#define PAIR(a, b) _mm512_mask_blend_epi32(0xaaaa, a, _mm512_slli_epi64(b, 32))
static inline void put(uint32_t *out, W a, W b) {
    const W first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const W second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    _mm512_storeu_si512(out, _mm512_permutex2var_epi64(a, first, b));
    _mm512_storeu_si512(out + 16, _mm512_permutex2var_epi64(a, second, b));
}
#elif defined(__AVX2__)
#include <immintrin.h>
#define W __m256i
#define COUNTERS 4
#define SPLAT(x) _mm256_set1_epi64x((long long)(x))
#define WIDEN(a, b) _mm256_mul_epu32(a, b)
#define UPPER(a) _mm256_shuffle_epi32(a, 0xf5)
#define XOR3(a, b, c) _mm256_xor_si256(_mm256_xor_si256(a, b), c)
#define COUNT(c) _mm256_add_epi64(SPLAT(c), _mm256_setr_epi64x(0, 1, 2, 3))
#define PAIR(a, b) _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xaa)
static inline void put(uint32_t *out, W a, W b) {
    W low = _mm256_unpacklo_epi64(a, b), high = _mm256_unpackhi_epi64(a, b);
    _mm256_storeu_si256((W *)out, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256((W *)(out + 8), _mm256_permute2x128_si256(low, high, 0x31));
}
#endif

static void words(uint64_t seed, uint64_t counter, uint64_t high, uint32_t *out, int64_t blocks) {
    int64_t i = 0;
#ifdef COUNTERS
    const W m0 = SPLAT(JN_PHILOX_M0), m1 = SPLAT(JN_PHILOX_M1);
    for (; i + 2 * COUNTERS <= blocks; i += 2 * COUNTERS) {
        W c0[2], c1[2], c2[2], c3[2];
        uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
        for (int j = 0; j < 2; j++) { /* two at once hide the multiplications' latency */
            c0[j] = COUNT(counter + (uint64_t)(i + j * COUNTERS));
            c1[j] = UPPER(c0[j]);
            c2[j] = SPLAT(high);
            c3[j] = UPPER(c2[j]);
        }
        for (int round = 0; round < 10; round++) {
            W key0 = SPLAT(k0), key1 = SPLAT(k1);
            for (int j = 0; j < 2; j++) {
                W p0 = WIDEN(c0[j], m0), p1 = WIDEN(c2[j], m1);
                c0[j] = XOR3(UPPER(p1), c1[j], key0);
                c2[j] = XOR3(UPPER(p0), c3[j], key1);
                c1[j] = p1;
                c3[j] = p0;
            }
            k0 += JN_PHILOX_W0;
            k1 += JN_PHILOX_W1;
        }
        for (int j = 0; j < 2; j++)
            put(out + 4 * (i + j * COUNTERS), PAIR(c0[j], c1[j]), PAIR(c2[j], c3[j]));
    }
#endif
    for (; i < blocks; i++)
        jn_philox(seed, counter + (uint64_t)i, high, out + 4 * i);
}

static void uniform_f32(const uint32_t *hi, const uint32_t *lo, void *out, int64_t n, double low,
                        double high) {
    float *y = out;
    jn_rng_range_f r = jn_rng_range_of_f(low, high);
    (void)lo;
    JN_VECTOR_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = jn_rng_uniform_f(r, hi[i]);
}
static void uniform_f64(const uint32_t *hi, const uint32_t *lo, void *out, int64_t n, double low,
                        double high) {
    double *y = out;
    jn_rng_range_d r = jn_rng_range_of_d(low, high);
    JN_VECTOR_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = jn_rng_uniform_d(r, hi[i], lo[i]);
}

static void normal_f32(const uint32_t *hi, const uint32_t *lo, void *out, int64_t n, double mean,
                       double std) {
    float *y = out, m = (float)mean, s = (float)std, last;
    (void)lo;
    JN_VECTOR_LOOP
    for (int64_t i = 0; i < n / 2; i++)
        jn_rng_normal_f(m, s, hi[2 * i], hi[2 * i + 1], &y[2 * i], &y[2 * i + 1]);
    if (n % 2)
        jn_rng_normal_f(m, s, hi[n - 1], hi[n], &y[n - 1], &last);
}
static void normal_f64(const uint32_t *hi, const uint32_t *lo, void *out, int64_t n, double mean,
                       double std) {
    double *y = out, last;
    JN_VECTOR_LOOP
    for (int64_t i = 0; i < n / 2; i++)
        jn_rng_normal_d(mean, std, hi + 2 * i, lo + 2 * i, &y[2 * i], &y[2 * i + 1]);
    if (n % 2)
        jn_rng_normal_d(mean, std, hi + n - 1, lo + n - 1, &y[n - 1], &last);
}

static void mask_f32(const uint32_t *hi, const uint32_t *lo, void *out, int64_t n, double p,
                     double scale) {
    uint32_t threshold = jn_rng_threshold(p);
    float *y = out, s = (float)scale;
    (void)lo;
    JN_VECTOR_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = hi[i] >> 8 < threshold ? s : 0.0f;
}
static void mask_f64(const uint32_t *hi, const uint32_t *lo, void *out, int64_t n, double p,
                     double scale) {
    uint32_t threshold = jn_rng_threshold(p);
    double *y = out;
    (void)lo;
    JN_VECTOR_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = hi[i] >> 8 < threshold ? scale : 0.0;
}

void JN_ISA_FN(jn_isa_fill_rng)(jn_isa_table *t) {
    t->philox = words;
    t->draw[JN_DRAW_UNIFORM][0] = uniform_f32;
    t->draw[JN_DRAW_UNIFORM][1] = uniform_f64;
    t->draw[JN_DRAW_NORMAL][0] = normal_f32;
    t->draw[JN_DRAW_NORMAL][1] = normal_f64;
    t->draw[JN_DRAW_MASK][0] = mask_f32;
    t->draw[JN_DRAW_MASK][1] = mask_f64;
}
