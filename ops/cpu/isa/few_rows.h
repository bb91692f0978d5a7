/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax and logsumexp of rows of up to 16 floats with vectors of 16: included by nn.c.
 *
 * A row has 8 or 16 lanes, of which those beyond its numbers hold -inf, so a vector is two rows or
 * one.  Nothing is turned: the largest number and the sum go round within a row.  They are those of
 * few_f32, to the bit: a sum is that of the halves of a row, added up lane by lane, and so on.
 */
#ifdef __AVX512F__
#include <immintrin.h>
#include <string.h>

#include "ops/cpu/isa.h"
#include "ops/cpu/vmath.h"

enum { FEW_ROWS = 16 }; /* together */

/* v with each lane in the place of the one `far` lanes away. */
#define FEW_SWAP(v, far)                                                                           \
    ((far) == 8   ? _mm512_shuffle_f32x4(v, v, 0x4e)                                               \
     : (far) == 4 ? _mm512_shuffle_f32x4(v, v, 0xb1)                                               \
     : (far) == 2 ? _mm512_permute_ps(v, 0x4e)                                                     \
                  : _mm512_permute_ps(v, 0xb1))

/* The larger of each two; NaN wins. */
JN_INLINE __m512 few_larger(__m512 a, __m512 b) {
    return _mm512_mask_mov_ps(_mm512_max_ps(a, b), _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a);
}

/* FEW_ROWS rows or fewer. */
JN_INLINE void few_abreast(const int lanes, const float *x, int64_t rows, int64_t n, float *lse,
                           float *y) {
    enum { WIDE = 16 };
    _Alignas(64) float e[FEW_ROWS * WIDE], m[FEW_ROWS], s[FEW_ROWS];
    if (!y)
        memset(m, 0, sizeof m), memset(s, 0, sizeof s);
    const int each = WIDE / lanes;
    __mmask16 row = (__mmask16)((1u << n) - 1u), all = (__mmask16)(row * (each == 2 ? 0x101u : 1u));
    __mmask16 firsts = each == 2 ? 0x101 : 1;
    __m512 none = _mm512_set1_ps(-__builtin_inff());
    int64_t vectors = (rows + each - 1) / each;
    for (int64_t v = 0; v < vectors; v++) {
        __mmask16 here = each == 2 && 2 * v + 1 == rows ? row : all;
        const float *from = x + v * each * n;
        __m512 a = each == 2 && n < lanes ? _mm512_mask_expandloadu_ps(none, here, from)
                                          : _mm512_mask_loadu_ps(none, here, from);
        __m512 top = a;
        if (lanes == 16)
            top = few_larger(top, FEW_SWAP(top, 8));
        top = few_larger(top, FEW_SWAP(top, 4));
        top = few_larger(top, FEW_SWAP(top, 2));
        top = few_larger(top, FEW_SWAP(top, 1));
        _mm512_store_ps(e + v * WIDE, _mm512_sub_ps(a, top));
        if (!y)
            _mm512_mask_storeu_ps(m + v * each, (__mmask16)((1u << each) - 1u),
                                  _mm512_maskz_compress_ps(firsts, top));
    }
    JN_VECTOR_LOOP
    for (int64_t i = 0; i < vectors * WIDE; i++)
        e[i] = jn_exp_f(e[i]);
    for (int64_t v = 0; v < vectors; v++) {
        __mmask16 here = each == 2 && 2 * v + 1 == rows ? row : all;
        __m512 a = _mm512_maskz_load_ps(here, e + v * WIDE), sum = a;
        if (lanes == 16)
            sum = _mm512_add_ps(sum, FEW_SWAP(sum, 8));
        sum = _mm512_add_ps(sum, FEW_SWAP(sum, 4));
        sum = _mm512_add_ps(sum, FEW_SWAP(sum, 2));
        sum = _mm512_add_ps(sum, FEW_SWAP(sum, 1));
        if (!y) {
            _mm512_mask_storeu_ps(s + v * each, (__mmask16)((1u << each) - 1u),
                                  _mm512_maskz_compress_ps(firsts, sum));
            continue;
        }
        a = _mm512_mul_ps(a, _mm512_div_ps(_mm512_set1_ps(1), sum));
        int64_t count = here == all ? each * n : n;
        if (each == 2 && n < lanes)
            a = _mm512_maskz_compress_ps(here, a);
        _mm512_mask_storeu_ps(y + v * each * n, (__mmask16)((1u << count) - 1u), a);
    }
    if (y)
        return;
    for (int r = 0; r < FEW_ROWS; r++)
        s[r] = m[r] - m[r] == 0 ? jn_log_f(s[r]) + m[r] : m[r];
    memcpy(lse, s, (size_t)rows * sizeof *lse);
}

static void few_rows_f32(const void *px, int64_t rows, int64_t n, void *plse, void *py) {
    const float *x = px;
    float *lse = plse, *y = py;
    for (int64_t at = 0; at < rows; at += FEW_ROWS) {
        int64_t w = rows - at < FEW_ROWS ? rows - at : FEW_ROWS;
        float *to = y ? y + at * n : NULL;
        if (n <= 8)
            few_abreast(8, x + at * n, w, n, y ? NULL : lse + at, to);
        else
            few_abreast(16, x + at * n, w, n, y ? NULL : lse + at, to);
    }
}
#undef FEW_SWAP
#endif
