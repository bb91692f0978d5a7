/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of pooling windows that lie inside the input.  Compiled per instruction set: see
 * ops/cpu/isa.h.
 *
 * The taps of a window are the outer loops, so that the inner one goes over the windows of a row
 * and vectorises; windows of 2 x 2, the usual ones, are done in one pass.  The order of the taps is
 * that of the scan: the first of equal elements wins, of NaNs the last.
 */
#include <string.h>

#include "ops/cpu/isa.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#define MAX_ROWS(T)                                                                                \
    static inline __attribute__((always_inline)) void max_2x2_##T(                                 \
        const T *x, int64_t w, int64_t first, const int64_t stride, int64_t n, T *y,               \
        int64_t *index) {                                                                          \
        const T *z = x + w;                                                                        \
        JN_VECTOR_LOOP                                                                             \
        for (int64_t j = 0; j < n; j++) {                                                          \
            T a = x[j * stride], b = x[j * stride + 1], c = z[j * stride], d = z[j * stride + 1];  \
            T m = a;                                                                               \
            int64_t at = 0;                                                                        \
            bool t = b > m || b != b;                                                              \
            m = t ? b : m;                                                                         \
            at = t ? 1 : at;                                                                       \
            t = c > m || c != c;                                                                   \
            m = t ? c : m;                                                                         \
            at = t ? w : at;                                                                       \
            t = d > m || d != d;                                                                   \
            m = t ? d : m;                                                                         \
            at = t ? w + 1 : at;                                                                   \
            y[j] = m;                                                                              \
            if (index)                                                                             \
                index[j] = first + j * stride + at;                                                \
        }                                                                                          \
    }                                                                                              \
    static inline __attribute__((always_inline)) void max_tap_##T(                                 \
        const T *x, int64_t at, const int64_t stride, int64_t n, T *y, int64_t *index) {           \
        JN_VECTOR_LOOP                                                                             \
        for (int64_t j = 0; j < n; j++) {                                                          \
            T v = x[j * stride], m = y[j];                                                         \
            bool t = v > m || v != v;                                                              \
            y[j] = t ? v : m;                                                                      \
            index[j] = t ? at + j * stride : index[j];                                             \
        }                                                                                          \
    }                                                                                              \
    static void max_row_##T(const void *plane, jn_window k, int64_t stride, int64_t n, void *out,  \
                            int64_t *index) {                                                      \
        const T *x = (const T *)plane + k.first;                                                   \
        T *y = out;                                                                                \
        if (k.rows == 2 && k.cols == 2 && k.col_step == 1) {                                       \
            if (stride == 2)                                                                       \
                max_2x2_##T(x, k.row_step, k.first, 2, n, y, index);                               \
            else                                                                                   \
                max_2x2_##T(x, k.row_step, k.first, stride, n, y, index);                          \
            return;                                                                                \
        }                                                                                          \
        for (int64_t j = 0; j < n; j++) {                                                          \
            y[j] = x[j * stride];                                                                  \
            index[j] = k.first + j * stride;                                                       \
        }                                                                                          \
        for (int64_t t = 1; t < k.rows * k.cols; t++) {                                            \
            int64_t off = t / k.cols * k.row_step + t % k.cols * k.col_step;                       \
            if (stride == 1)                                                                       \
                max_tap_##T(x + off, k.first + off, 1, n, y, index);                               \
            else if (stride == 2)                                                                  \
                max_tap_##T(x + off, k.first + off, 2, n, y, index);                               \
            else                                                                                   \
                max_tap_##T(x + off, k.first + off, stride, n, y, index);                          \
        }                                                                                          \
    }                                                                                              \
    static inline __attribute__((always_inline)) void sum_tap_##T(                                 \
        const T *x, const int64_t stride, int64_t n, T *y) {                                       \
        JN_VECTOR_LOOP                                                                             \
        for (int64_t j = 0; j < n; j++)                                                            \
            y[j] += x[j * stride];                                                                 \
    }                                                                                              \
    static inline __attribute__((always_inline)) void mean_2x2_##T(                                \
        const T *x, int64_t w, const int64_t stride, int64_t n, T *y, T count) {                   \
        const T *z = x + w;                                                                        \
        JN_VECTOR_LOOP                                                                             \
        for (int64_t j = 0; j < n; j++)                                                            \
            y[j] =                                                                                 \
                (x[j * stride] + x[j * stride + 1] + z[j * stride] + z[j * stride + 1]) / count;   \
    }                                                                                              \
    static void mean_row_##T(const void *plane, jn_window k, int64_t stride, int64_t n, void *out, \
                             double count) {                                                       \
        const T *x = (const T *)plane + k.first;                                                   \
        T *y = out;                                                                                \
        if (k.rows == 2 && k.cols == 2 && k.col_step == 1) {                                       \
            if (stride == 2)                                                                       \
                mean_2x2_##T(x, k.row_step, 2, n, y, (T)count);                                    \
            else                                                                                   \
                mean_2x2_##T(x, k.row_step, stride, n, y, (T)count);                               \
            return;                                                                                \
        }                                                                                          \
        for (int64_t j = 0; j < n; j++)                                                            \
            y[j] = 0;                                                                              \
        for (int64_t t = 0; t < k.rows * k.cols; t++) {                                            \
            const T *from = x + t / k.cols * k.row_step + t % k.cols * k.col_step;                 \
            if (stride == 1)                                                                       \
                sum_tap_##T(from, 1, n, y);                                                        \
            else if (stride == 2)                                                                  \
                sum_tap_##T(from, 2, n, y);                                                        \
            else                                                                                   \
                sum_tap_##T(from, stride, n, y);                                                   \
        }                                                                                          \
        JN_VECTOR_LOOP                                                                             \
        for (int64_t j = 0; j < n; j++)                                                            \
            y[j] = (T)(y[j] / (T)count);                                                           \
    }
MAX_ROWS(float)
MAX_ROWS(double)

/* Windows of 2 x 2, two apart, of a whole plane: rows of few windows, which the loop above hardly
 * vectorises, are taken two at a time. */
#ifdef __AVX2__
/* `tap` where it is greater than m or a NaN, else m: of two zeros the maximum is its second
 * operand, as it is where one of them is a NaN. */
static inline __attribute__((always_inline)) __m256 larger(__m256 m, __m256 tap) {
    __m256 most = _mm256_max_ps(tap, m);
    return _mm256_blendv_ps(most, tap, _mm256_cmp_ps(tap, tap, _CMP_UNORD_Q));
}

/* The same, and where `tap` was taken `off` in place of *from. */
static inline __attribute__((always_inline)) __m256 larger_at(__m256 m, __m256 tap, int64_t off,
                                                              __m256 *from) {
    __m256 t =
        _mm256_or_ps(_mm256_cmp_ps(tap, m, _CMP_GT_OQ), _mm256_cmp_ps(tap, tap, _CMP_UNORD_Q));
    *from = _mm256_blendv_ps(*from, _mm256_castsi256_ps(_mm256_set1_epi32((int)off)), t);
    return _mm256_blendv_ps(m, tap, t);
}

/* Eight windows: four over a[0] and b[0], whose first element has index at[0], and four over a[1]
 * and b[1].  Halves of the shuffled registers change places at the end, once for all. index NULL:
 * only the largest. */
static inline __attribute__((always_inline)) void
max_8(const float *const *a, int64_t w, const int64_t *at, float *y, int64_t *index) {
    __m256 a0 = _mm256_loadu_ps(a[0]), a1 = _mm256_loadu_ps(a[1]);
    __m256 b0 = _mm256_loadu_ps(a[0] + w), b1 = _mm256_loadu_ps(a[1] + w);
    __m256 m = _mm256_shuffle_ps(a0, a1, 0x88), second = _mm256_shuffle_ps(a0, a1, 0xdd);
    __m256 third = _mm256_shuffle_ps(b0, b1, 0x88), last = _mm256_shuffle_ps(b0, b1, 0xdd);
    __m256 from = _mm256_setzero_ps();
    if (index) {
        m = larger_at(m, second, 1, &from);
        m = larger_at(m, third, w, &from);
        m = larger_at(m, last, w + 1, &from);
    } else {
        m = larger(larger(larger(m, second), third), last);
    }
    _mm256_storeu_ps(y, _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(m), 0xd8)));
    if (!index)
        return;
    __m256i in_order = _mm256_permute4x64_epi64(_mm256_castps_si256(from), 0xd8);
    __m256i step = _mm256_setr_epi64x(0, 2, 4, 6);
    __m256i i0 = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(in_order));
    __m256i i1 = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(in_order, 1));
    i0 = _mm256_add_epi64(i0, _mm256_add_epi64(step, _mm256_set1_epi64x(at[0])));
    i1 = _mm256_add_epi64(i1, _mm256_add_epi64(step, _mm256_set1_epi64x(at[1])));
    _mm256_storeu_si256((__m256i *)index, i0);
    _mm256_storeu_si256((__m256i *)(index + 4), i1);
}
#endif

static inline __attribute__((always_inline)) void
max_of_2x2(const float *x, int64_t w, int64_t rows, int64_t n, float *y, int64_t *index) {
    int64_t i = 0;
#ifdef __AVX2__
    if (n == 4)
        for (; i + 2 <= rows; i += 2)
            max_8((const float *const[]){x + 2 * i * w, x + 2 * (i + 1) * w}, w,
                  (const int64_t[]){2 * i * w, 2 * (i + 1) * w}, y + i * 4,
                  index ? index + i * 4 : NULL);
    for (; n >= 8 && i < rows; i++)
        for (int64_t done = 0; done < n; done += 8) {
            int64_t j = done + 8 <= n ? done : n - 8; /* the last ones may be done twice */
            int64_t at = 2 * i * w + 2 * j;
            max_8((const float *const[]){x + at, x + at + 8}, w, (const int64_t[]){at, at + 8},
                  y + i * n + j, index ? index + i * n + j : NULL);
        }
#endif
    for (; i < rows; i++)
        max_2x2_float(x + 2 * i * w, w, 2 * i * w, 2, n, y + i * n, index ? index + i * n : NULL);
}

/* A row in pieces, of which the last may overlap the one before; of short rows a call of memcpy
 * would cost more than the copy.  `whole`: pieces of a row that is nothing else, if not 0. */
static inline __attribute__((always_inline)) void copy_pieces(char *to, int64_t apart,
                                                              const char *from, int64_t rows,
                                                              int64_t bytes, int64_t step,
                                                              const int piece, const int whole) {
    for (int64_t i = 0; i < rows; i++, to += apart, from += step) {
        for (int p = 0; p < whole; p++)
            memcpy(to + p * piece, from + p * piece, (size_t)piece);
        for (int64_t at = 0; whole == 0 && at + piece <= bytes; at += piece)
            memcpy(to + at, from + at, (size_t)piece);
        if (whole == 0)
            memcpy(to + bytes - piece, from + bytes - piece, (size_t)piece);
    }
}

static void copy_rows(char *to, int64_t apart, const char *from, int64_t rows, int64_t bytes,
                      int64_t step) {
    enum { LONG = 512 };
    if (bytes == 32)
        copy_pieces(to, apart, from, rows, 32, step, 32, 1);
    else if (bytes == 64)
        copy_pieces(to, apart, from, rows, 64, step, 32, 2);
    else if (bytes == 128)
        copy_pieces(to, apart, from, rows, 128, step, 32, 4);
    else if (bytes > 32 && bytes <= LONG)
        copy_pieces(to, apart, from, rows, bytes, step, 32, 0);
    else if (bytes >= 8 && bytes < 32)
        copy_pieces(to, apart, from, rows, bytes, step, 8, 0);
    else
        for (int64_t i = 0; i < rows; i++, to += apart, from += step)
            memcpy(to, from, (size_t)bytes);
}

static void max_2x2(const float *x, int64_t w, int64_t rows, int64_t n, float *y, int64_t *index) {
    if (index)
        max_of_2x2(x, w, rows, n, y, index);
    else
        max_of_2x2(x, w, rows, n, y, NULL);
}

void JN_ISA_FN(jn_isa_fill_pool)(jn_isa_table *t) {
    t->copy_rows = copy_rows;
    t->max_2x2 = max_2x2;
    t->max_row[0] = max_row_float;
    t->max_row[1] = max_row_double;
    t->mean_row[0] = mean_row_float;
    t->mean_row[1] = mean_row_double;
}
