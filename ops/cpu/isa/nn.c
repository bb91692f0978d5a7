/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of softmax and normalisation.  Each row is computed by itself, so its bits do not depend on
 * the rows beside it.  Compiled per instruction set.
 */
#include <math.h>

#include "ops/cpu/isa/sums.h"

enum { JN_ABREAST = 16, JN_ALONE = 4 };

#define ROWS(T, sfx, EXP, EXP_MINUS, LOG, INFINITE)                                                \
    /* y = exp(x - m), which is finite and no less than any x but NaN; the sum of y */             \
    JN_INLINE double exp_sum_##sfx(const T *x, T *y, int64_t n, T m) {                             \
        double total = 0;                                                                          \
        for (int64_t i = 0; i < n; i += JN_SUM_BLOCK)                                              \
            JN_ADD_UP(T, total, j, i, n - i < JN_SUM_BLOCK ? n : i + JN_SUM_BLOCK,                 \
                      (y[j] = EXP_MINUS(m - x[j])));                                               \
        return total;                                                                              \
    }                                                                                              \
    static double lse_##sfx(const void *px, int64_t n) {                                           \
        const T *x = px;                                                                           \
        if (n == 0)                                                                                \
            return -INFINITE;                                                                      \
        T m = jn_top_##sfx(x, n);                                                                  \
        if (!(m - m == 0))                                                                         \
            return (double)jn_max_##sfx(x, n);                                                     \
        double total = 0;                                                                          \
        for (int64_t i = 0; i < n; i += 256)                                                       \
            JN_ADD_UP(T, total, j, i, n - i < 256 ? n : i + 256, EXP_MINUS(m - x[j]));             \
        return jn_log_d(total) + (double)m;                                                        \
    }                                                                                              \
    static void softmax_##sfx(const void *px, void *py, int64_t n, bool logarithm) {               \
        const T *x = px;                                                                           \
        T *y = py;                                                                                 \
        if (n == 0)                                                                                \
            return;                                                                                \
        T m = jn_top_##sfx(x, n);                                                                  \
        if (logarithm) {                                                                           \
            T rest = (T)(lse_##sfx(x, n) - (double)m);                                             \
            JN_VECTOR_LOOP                                                                         \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] = (x[i] - m) - rest;                                                          \
            return;                                                                                \
        }                                                                                          \
        if (!(m - m == 0)) { /* nothing is left of what lies apart from an infinity, or of NaN */  \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] = m - m;                                                                      \
            return;                                                                                \
        }                                                                                          \
        T scale = (T)(1.0 / exp_sum_##sfx(x, y, n, m));                                            \
        JN_VECTOR_LOOP                                                                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] *= scale;                                                                         \
    }                                                                                              \
    static void softmax_grad_##sfx(const void *pdy, const void *py, void *pdx, int64_t n,          \
                                   bool logarithm) {                                               \
        const T *dy = pdy, *y = py;                                                                \
        T *dx = pdx;                                                                               \
        double total = 0;                                                                          \
        if (logarithm)                                                                             \
            total = jn_sum_##sfx(dy, n);                                                           \
        for (int64_t i = 0; i < n && !logarithm; i += 256)                                         \
            JN_ADD_UP(T, total, j, i, n - i < 256 ? n : i + 256, dy[j] * y[j]);                    \
        T s = (T)total;                                                                            \
        if (logarithm) {                                                                           \
            JN_VECTOR_LOOP                                                                         \
            for (int64_t i = 0; i < n; i++)                                                        \
                dx[i] = dy[i] - EXP(y[i]) * s;                                                     \
        } else {                                                                                   \
            JN_VECTOR_LOOP                                                                         \
            for (int64_t i = 0; i < n; i++)                                                        \
                dx[i] = y[i] * (dy[i] - s);                                                        \
        }                                                                                          \
    }                                                                                              \
    static double squares_##sfx(const T *x, int64_t n, T mean) {                                   \
        double total = 0;                                                                          \
        for (int64_t i = 0; i < n; i += JN_SQUARES_BLOCK)                                          \
            JN_ADD_UP(T, total, j, i, n - i < JN_SQUARES_BLOCK ? n : i + JN_SQUARES_BLOCK,         \
                      (x[j] - mean) * (x[j] - mean));                                              \
        return total;                                                                              \
    }                                                                                              \
    static double moments_##sfx(const void *px, int64_t n, double *mean) {                         \
        *mean = jn_sum_##sfx(px, n) / (double)n;                                                   \
        return squares_##sfx(px, n, (T)*mean);                                                     \
    }                                                                                              \
    static void affine_##sfx(const void *px, const void *pw, const void *pb, void *py, int64_t n,  \
                             double mean, double invstd) {                                         \
        const T *x = px, *w = pw, *b = pb;                                                         \
        T *y = py, m = (T)mean, s = (T)invstd;                                                     \
        if (w && b) {                                                                              \
            JN_VECTOR_LOOP                                                                         \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] = (x[i] - m) * s * w[i] + b[i];                                               \
            return;                                                                                \
        }                                                                                          \
        JN_VECTOR_LOOP                                                                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = (x[i] - m) * s;                                                                 \
        for (int64_t i = 0; i < n && w; i++)                                                       \
            y[i] *= w[i];                                                                          \
        for (int64_t i = 0; i < n && b; i++)                                                       \
            y[i] += b[i];                                                                          \
    }
ROWS(float, f32, jn_exp_f, jn_exp_minus_f, jn_log_f, __builtin_inf())
ROWS(double, f64, jn_exp_d, jn_exp_minus_d, jn_log_d, __builtin_inf())

#define PLANES(T, sfx)                                                                             \
    static void scale_shift_##sfx(const void *px, void *py, int64_t n, double mean, double scale,  \
                                  double shift) {                                                  \
        const T *x = px;                                                                           \
        T *y = py, m = (T)mean, s = (T)scale, b = (T)shift;                                        \
        JN_VECTOR_LOOP                                                                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = (x[i] - m) * s + b;                                                             \
    }                                                                                              \
    static void dots_##sfx(const void *pd, const void *px, int64_t n, double mean, double *sum,    \
                           double *sum_dx) {                                                       \
        const T *d = pd, *x = px;                                                                  \
        T m = (T)mean;                                                                             \
        double total = 0;                                                                          \
        for (int64_t i = 0; i < n; i += 256)                                                       \
            JN_ADD_UP(T, total, j, i, n - i < 256 ? n : i + 256, d[j] * (x[j] - m));               \
        *sum = jn_sum_##sfx(d, n);                                                                 \
        *sum_dx = total;                                                                           \
    }                                                                                              \
    static void combine_##sfx(const void *pd, const void *px, void *py, int64_t n, double p,       \
                              double q, double r) {                                                \
        const T *d = pd, *x = px;                                                                  \
        T *y = py, tp = (T)p, tq = (T)q, tr = (T)r;                                                \
        JN_VECTOR_LOOP                                                                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = tp * d[i] + (tq * x[i] + tr);                                                   \
    }                                                                                              \
    static void layer_norm_grad_##sfx(const void *pd, const void *px, const void *pw, void *pdx,   \
                                      void *pdw, void *pdb, int64_t n, double mean,                \
                                      double invstd) {                                             \
        const T *d = pd, *x = px, *w = pw;                                                         \
        T *dx = pdx, *dw = pdw, *db = pdb, m = (T)mean, s = (T)invstd;                             \
        JN_VECTOR_LOOP                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            dw[i] += d[i] * ((x[i] - m) * s);                                                      \
            db[i] += d[i];                                                                         \
        }                                                                                          \
        JN_VECTOR_LOOP                                                                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            dx[i] = w ? d[i] * w[i] : d[i];                                                        \
        double total, total_h;                                                                     \
        dots_##sfx(dx, x, n, mean, &total, &total_h);                                              \
        T a = (T)(total / (double)n), b = (T)(total_h * invstd / (double)n);                       \
        JN_VECTOR_LOOP                                                                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            dx[i] = (dx[i] - a - (x[i] - m) * s * b) * s;                                          \
    }                                                                                              \
    static void add_to_##sfx(void *py, const void *px, int64_t n) {                                \
        T *y = py;                                                                                 \
        const T *x = px;                                                                           \
        JN_VECTOR_LOOP                                                                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] += x[i];                                                                          \
    }
PLANES(float, f32)
PLANES(double, f64)

/* Rows of a few classes, JN_ABREAST of them side by side: a row alone would be one chain of
 * waiting. A row's result does not depend on the rows beside it. */
#define FEW(T, sfx, EXP, LOG)                                                                      \
    /* The columns of w rows; those of rows that there are not are 0. */                           \
    JN_INLINE void columns_##sfx(const T *x, int64_t w, int64_t n, T(*col)[JN_ABREAST]) {          \
        for (int64_t c = 0; c < n && w < JN_ABREAST; c++) {                                        \
            for (int64_t r = w; r < JN_ABREAST; r++)                                               \
                col[c][r] = 0;                                                                     \
            for (int64_t r = 0; r < w; r++)                                                        \
                col[c][r] = x[r * n + c];                                                          \
        }                                                                                          \
        for (int64_t c = 0; c < n && w == JN_ABREAST; c++)                                         \
            for (int r = 0; r < JN_ABREAST; r++)                                                   \
                col[c][r] = x[r * n + c];                                                          \
    }                                                                                              \
    JN_INLINE void uncolumns_##sfx(T(*col)[JN_ABREAST], int64_t w, int64_t n, T *y) {              \
        for (int64_t r = 0; r < w; r++)                                                            \
            for (int64_t c = 0; c < n; c++)                                                        \
                *y++ = col[c][r];                                                                  \
    }                                                                                              \
    /* Sums of halves, of halves of those, and so on; t is used up. */                             \
    JN_INLINE void tree_##sfx(T(*t)[JN_ABREAST], int64_t n, T *s) {                                \
        for (int64_t half = n > JN_FEW / 2 ? JN_FEW / 2 : JN_FEW / 4; half > 0; half /= 2)         \
            for (int64_t c = 0; c < half && c + half < n; c++)                                     \
                for (int r = 0; r < JN_ABREAST; r++)                                               \
                    t[c][r] += t[c + half][r];                                                     \
        for (int r = 0; r < JN_ABREAST; r++)                                                       \
            s[r] = t[0][r];                                                                        \
    }                                                                                              \
    /* One row, for so few rows that most of those abreast would be none.  The same bits. */       \
    JN_INLINE void alone_##sfx(const T *x, int64_t n, T *lse, T *y) {                              \
        T e[JN_FEW], t[JN_FEW], m = x[0], s;                                                       \
        for (int c = 0; c < JN_FEW; c++)                                                           \
            e[c] = 0;                                                                              \
        for (int64_t c = 0; c < n; c++) {                                                          \
            e[c] = x[c];                                                                           \
            m = JN_STEP_MAX(m, x[c]);                                                              \
        }                                                                                          \
        for (int c = 0; c < JN_FEW; c++)                                                           \
            e[c] = EXP(e[c] - m);                                                                  \
        for (int c = 0; c < JN_FEW; c++)                                                           \
            t[c] = c < n ? e[c] : 0;                                                               \
        for (int half = JN_FEW / 2; half > 0; half /= 2)                                           \
            for (int c = 0; c < half; c++)                                                         \
                t[c] += t[c + half];                                                               \
        s = t[0];                                                                                  \
        if (!y) {                                                                                  \
            *lse = m - m == 0 ? LOG(s) + m : m;                                                    \
            return;                                                                                \
        }                                                                                          \
        s = 1 / s;                                                                                 \
        for (int64_t c = 0; c < n; c++)                                                            \
            y[c] = e[c] * s;                                                                       \
    }                                                                                              \
    static void few_##sfx(const void *px, int64_t rows, int64_t n, void *plse, void *py) {         \
        const T *x = px;                                                                           \
        T *lse = plse, *y = py, m[JN_ABREAST], s[JN_ABREAST];                                      \
        T col[JN_FEW][JN_ABREAST], t[JN_FEW][JN_ABREAST];                                          \
        for (int64_t at = 0; at < rows; at += JN_ABREAST, x += n * JN_ABREAST) {                   \
            int64_t w = rows - at < JN_ABREAST ? rows - at : JN_ABREAST;                           \
            if (w < JN_ALONE) {                                                                    \
                for (int64_t r = 0; r < w; r++)                                                    \
                    alone_##sfx(x + r * n, n, y ? NULL : lse + at + r,                             \
                                y ? y + (at + r) * n : NULL);                                      \
                return;                                                                            \
            }                                                                                      \
            columns_##sfx(x, w, n, col);                                                           \
            for (int r = 0; r < JN_ABREAST; r++)                                                   \
                m[r] = col[0][r];                                                                  \
            for (int64_t c = 1; c < n; c++)                                                        \
                for (int r = 0; r < JN_ABREAST; r++)                                               \
                    m[r] = JN_STEP_MAX(m[r], col[c][r]);                                           \
            for (int64_t c = 0; c < n; c++)                                                        \
                for (int r = 0; r < JN_ABREAST; r++)                                               \
                    t[c][r] = col[c][r] = EXP(col[c][r] - m[r]);                                   \
            tree_##sfx(t, n, s);                                                                   \
            if (y) {                                                                               \
                for (int r = 0; r < JN_ABREAST; r++)                                               \
                    s[r] = 1 / s[r];                                                               \
                for (int64_t c = 0; c < n; c++)                                                    \
                    for (int r = 0; r < JN_ABREAST; r++)                                           \
                        col[c][r] *= s[r];                                                         \
                uncolumns_##sfx(col, w, n, y + at * n);                                            \
                continue;                                                                          \
            }                                                                                      \
            for (int r = 0; r < JN_ABREAST; r++)                                                   \
                s[r] = m[r] - m[r] == 0 ? LOG(s[r]) + m[r] : m[r];                                 \
            memcpy(lse + at, s, (size_t)w * sizeof(T));                                            \
        }                                                                                          \
    }                                                                                              \
    static void few_grad_##sfx(const void *pdy, const void *py, int64_t rows, int64_t n,           \
                               void *pdx) {                                                        \
        const T *dy = pdy, *y = py;                                                                \
        T *dx = pdx, a[JN_FEW][JN_ABREAST], b[JN_FEW][JN_ABREAST], s[JN_ABREAST];                  \
        for (int64_t at = 0; at < rows; at += JN_ABREAST) {                                        \
            int64_t w = rows - at < JN_ABREAST ? rows - at : JN_ABREAST;                           \
            for (; w < JN_ALONE && at < rows; at++) {                                              \
                T one = 0;                                                                         \
                for (int64_t c = 0; c < n; c++)                                                    \
                    one += dy[at * n + c] * y[at * n + c];                                         \
                for (int64_t c = 0; c < n; c++)                                                    \
                    dx[at * n + c] = y[at * n + c] * (dy[at * n + c] - one);                       \
            }                                                                                      \
            if (at == rows)                                                                        \
                return;                                                                            \
            columns_##sfx(dy + at * n, w, n, a);                                                   \
            columns_##sfx(y + at * n, w, n, b);                                                    \
            for (int r = 0; r < JN_ABREAST; r++)                                                   \
                s[r] = 0;                                                                          \
            for (int64_t c = 0; c < n; c++)                                                        \
                for (int r = 0; r < JN_ABREAST; r++)                                               \
                    s[r] += a[c][r] * b[c][r];                                                     \
            for (int64_t c = 0; c < n; c++)                                                        \
                for (int r = 0; r < JN_ABREAST; r++)                                               \
                    a[c][r] = b[c][r] * (a[c][r] - s[r]);                                          \
            uncolumns_##sfx(a, w, n, dx + at * n);                                                 \
        }                                                                                          \
    }
FEW(float, f32, jn_exp_f, jn_log_f)
FEW(double, f64, jn_exp_d, jn_log_d)
#include "ops/cpu/isa/few_rows.h"

#define PAIR(name, T, SETUP, EXPR)                                                                 \
    static void name(const void *px, const void *pt, void *py, int64_t n, double beta) {           \
        const T *x = px, *t = pt;                                                                  \
        T *y = py;                                                                                 \
        (void)beta;                                                                                \
        SETUP;                                                                                     \
        JN_VECTOR_LOOP                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T a = x[i], b = t[i], d = a - b;                                                       \
            (void)a, (void)b, (void)d;                                                             \
            y[i] = (EXPR);                                                                         \
        }                                                                                          \
    }
PAIR(mse_f32, float, , d *d)
PAIR(mse_f64, double, , d *d)
PAIR(bce_f32, float, , (a > 0.0f ? a : 0.0f) - a * b + jn_log1p_f(jn_exp_minus_f(jn_abs_f(a))))
PAIR(bce_f64, double, , (a > 0.0 ? a : 0.0) - a * b + jn_log1p_d(jn_exp_d(-jn_abs_d(a))))
PAIR(smooth_l1_f32, float, float w = (float)beta,
     jn_abs_f(d) < w ? 0.5f * d * d / w : jn_abs_f(d) - 0.5f * w)
PAIR(smooth_l1_f64, double, , jn_abs_d(d) < beta ? 0.5 * d * d / beta : jn_abs_d(d) - 0.5 * beta)

#define SET(d, sfx)                                                                                \
    t->softmax[d] = softmax_##sfx, t->softmax_grad[d] = softmax_grad_##sfx,                        \
    t->logsumexp[d] = lse_##sfx, t->moments[d] = moments_##sfx, t->affine[d] = affine_##sfx,       \
    t->scale_shift[d] = scale_shift_##sfx, t->dots[d] = dots_##sfx, t->combine[d] = combine_##sfx, \
    t->layer_norm_grad[d] = layer_norm_grad_##sfx, t->add_to[d] = add_to_##sfx,                    \
    t->few_classes[d] = few_##sfx, t->few_grad[d] = few_grad_##sfx,                                \
    t->pair_loss[JN_PAIR_MSE][d] = mse_##sfx, t->pair_loss[JN_PAIR_BCE][d] = bce_##sfx,            \
    t->pair_loss[JN_PAIR_SMOOTH_L1][d] = smooth_l1_##sfx

void JN_ISA_FN(jn_isa_fill_nn)(jn_isa_table *t) {
    SET(JANUS_F32, f32);
    SET(JANUS_F64, f64);
#ifdef __AVX512F__
    t->few_classes[JANUS_F32] = few_rows_f32;
#endif
}
