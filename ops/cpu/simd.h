/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One vector of floats, under the same names for each instruction set.  Included by the product
 * kernels with JN_SIMD_F64 defined or not; defines V, LANES and the operations on V.
 */
#undef V
#undef VU
#undef LANES
#undef MASK
#undef MAKE_MASK
#undef LOAD
#undef LOAD_MASKED
#undef STORE
#undef STORE_MASKED
#undef SET1
#undef ZERO
#undef ADD
#undef MULADD
#undef HSUM
#undef HSUMS
#undef SUMS
#undef TRANSPOSE
#undef SUM_ORDER

#if defined(__AVX512F__)
#include <immintrin.h>
#ifdef JN_SIMD_F64
#define V __m512d
#define LANES 8
#define MASK __mmask8
#define LOAD(p) _mm512_loadu_pd(p)
#define LOAD_MASKED(p, m) _mm512_maskz_loadu_pd(m, p)
#define STORE(p, v) _mm512_storeu_pd(p, v)
#define STORE_MASKED(p, m, v) _mm512_mask_storeu_pd(p, m, v)
#define SET1(x) _mm512_set1_pd(x)
#define ZERO() _mm512_setzero_pd()
#define ADD(a, b) _mm512_add_pd(a, b)
#define MULADD(a, b, c) _mm512_fmadd_pd(a, b, c)
#define HSUM(v) _mm512_reduce_add_pd(v)
#else
#define V __m512
#define LANES 16
#define MASK __mmask16
#define LOAD(p) _mm512_loadu_ps(p)
#define LOAD_MASKED(p, m) _mm512_maskz_loadu_ps(m, p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define STORE_MASKED(p, m, v) _mm512_mask_storeu_ps(p, m, v)
#define SET1(x) _mm512_set1_ps(x)
#define ZERO() _mm512_setzero_ps()
#define ADD(a, b) _mm512_add_ps(a, b)
#define MULADD(a, b, c) _mm512_fmadd_ps(a, b, c)
#define HSUM(v) jn_hsum_f(v)
#define HSUMS(v) jn_hsums_f(v)
#define SUMS 6
#define TRANSPOSE(from, row, to, step) jn_transpose_f(from, row, to, step)
/* HSUM adds up pairs, then pairs of pairs, of the lanes in this order. */
#define SUM_ORDER 0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15
#ifndef JN_HSUMS
#define JN_HSUMS
/* 16 rows of 16 numbers become columns. */
static inline void jn_transpose_f(const float *from, int64_t row, float *to, int64_t step) {
    __m512 a[16], b[16];
    for (int i = 0; i < 16; i += 2) {
        __m512 x = _mm512_loadu_ps(from + i * row), y = _mm512_loadu_ps(from + (i + 1) * row);
        a[i] = _mm512_unpacklo_ps(x, y);
        a[i + 1] = _mm512_unpackhi_ps(x, y);
    }
    for (int i = 0; i < 16; i += 4)
        for (int k = 0; k < 2; k++) {
            __m512d x = _mm512_castps_pd(a[i + k]), y = _mm512_castps_pd(a[i + k + 2]);
            b[i + 2 * k] = _mm512_castpd_ps(_mm512_unpacklo_pd(x, y));
            b[i + 2 * k + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(x, y));
        }
    for (int i = 0; i < 16; i += 8)
        for (int k = 0; k < 4; k++) {
            a[i + k] = _mm512_shuffle_f32x4(b[i + k], b[i + k + 4], 0x88);
            a[i + k + 4] = _mm512_shuffle_f32x4(b[i + k], b[i + k + 4], 0xdd);
        }
    for (int k = 0; k < 8; k++) {
        _mm512_storeu_ps(to + k * step, _mm512_shuffle_f32x4(a[k], a[k + 8], 0x88));
        _mm512_storeu_ps(to + (k + 8) * step, _mm512_shuffle_f32x4(a[k], a[k + 8], 0xdd));
    }
}
static inline __m512 jn_two_f(__m512 a, __m512 b) {
    return _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
}
static inline __m512 jn_four_f(const __m512 *v) {
    __m512d x = _mm512_castps_pd(jn_two_f(v[0], v[1])), y = _mm512_castps_pd(jn_two_f(v[2], v[3]));
    return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)),
                         _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
}
static inline __m512 jn_halves_f(__m512 a, __m512 b) {
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
}
static inline __m512 jn_quarters_f(__m512 a, __m512 b) {
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}
/* The sums of SUMS vectors, then 0, and of 16: a few steps for all of them.  Each is added up in
 * one order, whatever stands beside it. */
static inline __m512 jn_sums_f(const __m512 *v) {
    __m512 z = _mm512_setzero_ps(), two[4] = {v[4], v[5], z, z};
    __m512 half = jn_halves_f(jn_four_f(v), jn_four_f(two));
    return jn_quarters_f(half, half);
}
static inline __attribute__((always_inline)) __m512 jn_hsums_f(const __m512 *v) {
    return jn_quarters_f(jn_halves_f(jn_four_f(v), jn_four_f(v + 4)),
                         jn_halves_f(jn_four_f(v + 8), jn_four_f(v + 12)));
}
/* The same of four rows at once: C[4, SUMS] = the sums of a, b, c and d, added to what lies at
 * `from`, if that is not NULL. */
static inline __attribute__((always_inline)) void
jn_store_sums_f(const __m512 *a, const __m512 *b, const __m512 *c, const __m512 *d, float *to,
                int64_t row, const float *from, int64_t from_row) {
    __m512 four = jn_quarters_f(jn_halves_f(jn_four_f(a), jn_four_f(b)),
                                jn_halves_f(jn_four_f(c), jn_four_f(d)));
    __m512 e[4] = {a[4], a[5], b[4], b[5]}, f[4] = {c[4], c[5], d[4], d[5]};
    __m512 half = jn_halves_f(jn_four_f(e), jn_four_f(f)), two = jn_quarters_f(half, half);
#define JN_STORE_ROW(i)                                                                            \
    do {                                                                                           \
        __m128 x = _mm512_extractf32x4_ps(four, i), y = _mm512_extractf32x4_ps(two, (i) / 2);      \
        y = (i) % 2 ? _mm_movehl_ps(y, y) : y;                                                     \
        __m128 z = _mm_setzero_ps();                                                               \
        if (from) {                                                                                \
            x = _mm_add_ps(_mm_loadu_ps(from), x);                                                 \
            y = _mm_add_ps(_mm_loadl_pi(z, (const __m64 *)(const void *)(from + 4)), y);           \
            from += from_row;                                                                      \
        }                                                                                          \
        _mm_storeu_ps(to, x);                                                                      \
        _mm_storel_pi((__m64 *)(void *)(to + 4), y);                                               \
        to += row;                                                                                 \
    } while (0)
    JN_STORE_ROW(0);
    JN_STORE_ROW(1);
    JN_STORE_ROW(2);
    JN_STORE_ROW(3);
#undef JN_STORE_ROW
}
static inline float jn_hsum_f(__m512 v) {
    __m512 z = _mm512_setzero_ps(), all[SUMS] = {v, z, z, z, z, z};
    return _mm512_cvtss_f32(jn_sums_f(all));
}
#endif
#endif
#define MAKE_MASK(n) ((MASK)((1u << (n)) - 1u))

#elif defined(__AVX2__)
#include <immintrin.h>
#define MASK __m256i
#ifdef JN_SIMD_F64
#define V __m256d
#define LANES 4
#define MAKE_MASK(n) _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3))
#define LOAD(p) _mm256_loadu_pd(p)
#define LOAD_MASKED(p, m) _mm256_maskload_pd(p, m)
#define STORE(p, v) _mm256_storeu_pd(p, v)
#define STORE_MASKED(p, m, v) _mm256_maskstore_pd(p, m, v)
#define SET1(x) _mm256_set1_pd(x)
#define ZERO() _mm256_setzero_pd()
#define ADD(a, b) _mm256_add_pd(a, b)
#define MULADD(a, b, c) _mm256_fmadd_pd(a, b, c)
#define HSUM(v) ((v)[0] + (v)[2] + ((v)[1] + (v)[3]))
#else
#define V __m256
#define LANES 8
#define MAKE_MASK(n)                                                                               \
    _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define LOAD(p) _mm256_loadu_ps(p)
#define LOAD_MASKED(p, m) _mm256_maskload_ps(p, m)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define STORE_MASKED(p, m, v) _mm256_maskstore_ps(p, m, v)
#define SET1(x) _mm256_set1_ps(x)
#define ZERO() _mm256_setzero_ps()
#define ADD(a, b) _mm256_add_ps(a, b)
#define MULADD(a, b, c) _mm256_fmadd_ps(a, b, c)
#define HSUM(v) (((v)[0] + (v)[4] + ((v)[1] + (v)[5])) + ((v)[2] + (v)[6] + ((v)[3] + (v)[7])))
#define HSUMS(v) jn_hsums_8(v)
#ifndef JN_HSUMS
#define JN_HSUMS
/* HSUM of each of 8 vectors, to the bit. */
static inline __attribute__((always_inline)) __m256 jn_hsums_8(const __m256 *v) {
#define HALVES(a)                                                                                  \
    _mm256_add_ps(_mm256_permute2f128_ps(v[a], v[a + 4], 0x20),                                    \
                  _mm256_permute2f128_ps(v[a], v[a + 4], 0x31))
    return _mm256_hadd_ps(_mm256_hadd_ps(HALVES(0), HALVES(1)),
                          _mm256_hadd_ps(HALVES(2), HALVES(3)));
#undef HALVES
}
#endif
#endif

#else /* the compiler's vectors of 16 bytes */
#define MASK int
#define MAKE_MASK(n) ((int)(n))
#ifdef JN_SIMD_F64
typedef double jn_v2d __attribute__((vector_size(16)));
typedef double jn_v2du __attribute__((vector_size(16), aligned(8), may_alias));
#define V jn_v2d
#define VU jn_v2du
#define LANES 2
#define SET1(x) ((V){x, x})
#define ZERO() ((V){0, 0})
#define HSUM(v) ((v)[0] + (v)[1])
static inline jn_v2d jn_load_masked_d(const double *p, int n) {
    return (jn_v2d){p[0], n > 1 ? p[1] : 0};
}
static inline void jn_store_masked_d(double *p, int n, jn_v2d v) {
    for (int i = 0; i < n; i++)
        p[i] = v[i];
}
#define LOAD_MASKED(p, m) jn_load_masked_d(p, m)
#define STORE_MASKED(p, m, v) jn_store_masked_d(p, m, v)
#else
typedef float jn_v4f __attribute__((vector_size(16)));
typedef float jn_v4fu __attribute__((vector_size(16), aligned(4), may_alias));
#define V jn_v4f
#define VU jn_v4fu
#define LANES 4
#define SET1(x) ((V){x, x, x, x})
#define ZERO() ((V){0, 0, 0, 0})
#define HSUM(v) ((v)[0] + (v)[2] + ((v)[1] + (v)[3]))
static inline jn_v4f jn_load_masked_f(const float *p, int n) {
    return (jn_v4f){p[0], n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, n > 3 ? p[3] : 0};
}
static inline void jn_store_masked_f(float *p, int n, jn_v4f v) {
    for (int i = 0; i < n; i++)
        p[i] = v[i];
}
#define LOAD_MASKED(p, m) jn_load_masked_f(p, m)
#define STORE_MASKED(p, m, v) jn_store_masked_f(p, m, v)
#endif
#define LOAD(p) ((V)(*(const VU *)(p)))
#define STORE(p, v) (*(VU *)(p) = (v))
#define ADD(a, b) ((a) + (b))
#define MULADD(a, b, c) ((a) * (b) + (c))
#endif
