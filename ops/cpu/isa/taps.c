/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions of small images whose patches nobody makes: a product of filters and patches reads
 * each tap where it lies.  Compiled per instruction set: see ops/cpu/isa.h.
 *
 * A vector is LANES positions side by side, or 2 or 4 short rows of them one below the other.  A
 * sum starts from the bias and takes the taps in their order, as a product with patches (of
 * gemm_body.h) that adds to biases does: the same bits.
 */
#include <string.h>

#include "ops/cpu/isa.h"
#include "ops/cpu/vmath.h"

#include "ops/cpu/simd.h"

/* Rows of filters by vectors of positions, as many as there are registers for; rows of an image in
 * a vector. */
#if defined(__AVX512F__)
enum { MR = 6, NV = 4, PARTS = 4 };
#elif defined(__AVX2__)
enum { MR = 6, NV = 2, PARTS = 2 };
#else
enum { MR = 4, NV = 2, PARTS = 1 };
#endif

/* A vector of `parts` pieces that lie `line` apart. */
JN_INLINE V pieces(const int parts, const float *x, int64_t line) {
#if defined(__AVX512F__)
    if (parts == 2)
        return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(x)),
                                  _mm256_loadu_ps(x + line), 1);
    if (parts == 4) {
        __m256 a = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x)),
                                        _mm_loadu_ps(x + line), 1);
        __m256 b = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x + 2 * line)),
                                        _mm_loadu_ps(x + 3 * line), 1);
        return _mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1);
    }
#elif defined(__AVX2__)
    if (parts == 2)
        return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x)), _mm_loadu_ps(x + line),
                                    1);
#endif
    (void)parts, (void)line;
    return LOAD(x);
}

/* m filters from the i-th on at nv vectors of positions, whose first taps lie at x[0], x[1].. */
JN_INLINE void tile(const int m, const int nv, const int parts, const jn_taps *t, int64_t i,
                    const float *const *x, float *y) {
    int64_t depth = t->depth, line = t->line, positions = t->rows * t->width;
    const float *w = t->weight + i * depth;
    V acc[MR][NV];
    JN_UNROLL for (int r = 0; r < m; r++) {
        V first = t->bias ? SET1(t->bias[i + r]) : ZERO();
        JN_UNROLL for (int j = 0; j < nv; j++) acc[r][j] = first;
    }
    for (int64_t p = 0; p < depth; p++) {
        int64_t tap = t->tap[p];
        V vx[NV];
        JN_UNROLL for (int j = 0; j < nv; j++) vx[j] = pieces(parts, x[j] + tap, line);
        JN_UNROLL for (int r = 0; r < m; r++) {
            V vw = SET1(w[r * depth + p]);
            JN_UNROLL for (int j = 0; j < nv; j++) acc[r][j] = MULADD(vw, vx[j], acc[r][j]);
        }
    }
    y += i * positions;
    JN_UNROLL for (int r = 0; r < m; r++) JN_UNROLL for (int j = 0; j < nv; j++)
        STORE(y + r * positions + j * LANES, acc[r][j]);
}

/* All filters at nv vectors of positions. */
JN_INLINE void filters(const int nv, const int parts, const jn_taps *t, const float *const *x,
                       float *y) {
    int64_t i = 0;
    for (; i + MR <= t->filters; i += MR)
        tile(MR, nv, parts, t, i, x, y);
    switch (t->filters - i) {
    case 1:
        tile(1, nv, parts, t, i, x, y);
        break;
    case 2:
        tile(2, nv, parts, t, i, x, y);
        break;
    case 3:
        tile(3, nv, parts, t, i, x, y);
        break;
#if defined(__AVX2__)
    case 4:
        tile(4, nv, parts, t, i, x, y);
        break;
    case 5:
        tile(5, nv, parts, t, i, x, y);
        break;
#endif
    }
}

JN_INLINE void taps_of(const int parts, const jn_taps *t) {
    int64_t across = parts > 1 ? 1 : t->width / LANES, all = t->rows * t->width / LANES;
    for (int64_t at = 0, nv; at < all; at += nv) {
        const float *x[NV];
        nv = all - at < NV ? all - at : NV;
        for (int64_t j = 0; j < nv; j++)
            x[j] = t->x + (at + j) / across * parts * t->line + (at + j) % across * LANES;
        float *y = t->y + at * LANES;
        switch (nv) {
        case 1:
            filters(1, parts, t, x, y);
            break;
        case 2:
            filters(2, parts, t, x, y);
            break;
#if defined(__AVX512F__)
        case 3:
            filters(3, parts, t, x, y);
            break;
        case 4:
            filters(4, parts, t, x, y);
            break;
#endif
        }
    }
}

static bool taps(const jn_taps *t) {
    int64_t parts = t->width % LANES == 0 ? 1 : LANES % t->width == 0 ? LANES / t->width : 0;
    if (parts == 0 || parts > PARTS || t->rows % parts != 0)
        return false;
    if (!t->y)
        return true;
    switch (parts) {
    case 1:
        taps_of(1, t);
        break;
#if defined(__AVX2__)
    case 2:
        taps_of(2, t);
        break;
#endif
#if defined(__AVX512F__)
    case 4:
        taps_of(4, t);
        break;
#endif
    }
    return true;
}

void JN_ISA_FN(jn_isa_fill_taps)(jn_isa_table *t) { t->taps = taps; }
