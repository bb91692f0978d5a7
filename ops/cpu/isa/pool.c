/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of pooling windows that lie inside the input.  Compiled per instruction set: see
 * ops/cpu/isa.h.
 *
 * The taps of a window are the outer loops, so that the inner one goes over the windows of a row
 * and vectorises; windows of 2 x 2, the usual ones, are done in one pass.  The order of the taps is
 * that of the scan: the first of equal elements wins, of NaNs the last.
 */
#include "ops/cpu/isa.h"

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
            index[j] = first + j * stride + at;                                                    \
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

void JN_ISA_FN(jn_isa_fill_pool)(jn_isa_table *t) {
    t->max_row[0] = max_row_float;
    t->max_row[1] = max_row_double;
    t->mean_row[0] = mean_row_float;
    t->mean_row[1] = mean_row_double;
}
