/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of a row-major [outer, n, inner] to [outer, inner].  Compiled per instruction set.
 *
 * inner 1: each row is folded in lanes.  Else columns are folded side by side, a tile at a time;
 * sums of floats begin a new partial sum every ROWS rows.  Both orders are fixed by the shape.
 */
#include "ops/cpu/isa/sums.h"

enum { TILE = 64, ROWS = 128 };

#define MUL(a, x) ((a) * (x))
#define OR(a, x) ((a) | ((x) != 0))
#define AND(a, x) ((a) & ((x) != 0))
#define IMAX(a, x) ((x) > (a) ? (x) : (a))
#define IMIN(a, x) ((x) < (a) ? (x) : (a))

/* T: elements, A: lanes, S: partial results, O: result.  INIT may name px, the first element. */
#define REDUCE(name, T, A, S, O, INIT, STEP, JOIN, SINIT, SJOIN)                                   \
    static void name(const void *x, void *out, jn_oni s, int64_t begin, int64_t end,               \
                     bool accumulate) {                                                            \
        O *o = out;                                                                                \
        if (s.inner == 1) {                                                                        \
            for (int64_t r = begin; r < end; r++) {                                                \
                const T *px = (const T *)x + r * s.n;                                              \
                S total = SINIT;                                                                   \
                for (int64_t i = 0; i < s.n; i += JN_SUM_BLOCK) {                                  \
                    A part;                                                                        \
                    int64_t m = s.n - i < JN_SUM_BLOCK ? s.n - i : JN_SUM_BLOCK;                   \
                    JN_LANE_FOLD(T, A, part, px + i, m, INIT, STEP, JOIN);                         \
                    total = SJOIN(total, part);                                                    \
                }                                                                                  \
                o[r] = accumulate ? (O)(o[r] + (O)total) : (O)total;                               \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (int64_t c = begin; c < end;) {                                                        \
            int64_t outer = c / s.inner, at = c % s.inner, w = s.inner - at;                       \
            w = w > end - c ? end - c : w;                                                         \
            w = w > TILE ? TILE : w;                                                               \
            const T *px = (const T *)x + outer * s.n * s.inner + at;                               \
            A acc[TILE];                                                                           \
            S total[TILE];                                                                         \
            for (int64_t j = 0; j < w; j++)                                                        \
                total[j] = SINIT;                                                                  \
            for (int64_t i0 = 0; i0 < s.n; i0 += ROWS) {                                           \
                int64_t i1 = i0 + ROWS < s.n ? i0 + ROWS : s.n;                                    \
                for (int64_t j = 0; j < w; j++)                                                    \
                    acc[j] = INIT;                                                                 \
                for (int64_t i = i0; i < i1; i++) {                                                \
                    const T *row = px + i * s.inner;                                               \
                    JN_VECTOR_LOOP                                                                 \
                    for (int64_t j = 0; j < w; j++)                                                \
                        acc[j] = STEP(acc[j], row[j]);                                             \
                }                                                                                  \
                for (int64_t j = 0; j < w; j++)                                                    \
                    total[j] = SJOIN(total[j], acc[j]);                                            \
            }                                                                                      \
            for (int64_t j = 0; j < w; j++)                                                        \
                o[c + j] = accumulate ? (O)(o[c + j] + (O)total[j]) : (O)total[j];                 \
            c += w;                                                                                \
        }                                                                                          \
    }

#define ADD JN_STEP_ADD
#define FMAX JN_STEP_MAX
#define FMIN JN_STEP_MIN
REDUCE(sum_f32, float, float, double, float, 0.0f, ADD, ADD, 0.0, ADD)
REDUCE(sum_f64, double, double, double, double, 0.0, ADD, ADD, 0.0, ADD)
REDUCE(prod_f32, float, double, double, float, 1.0, MUL, MUL, 1.0, MUL)
REDUCE(prod_f64, double, double, double, double, 1.0, MUL, MUL, 1.0, MUL)
#define REDUCE_INT(sfx, T, MIN, MAX)                                                               \
    REDUCE(sum_##sfx, T, uint64_t, uint64_t, int64_t, 0, ADDU, ADD, 0, ADD)                        \
    REDUCE(prod_##sfx, T, uint64_t, uint64_t, int64_t, 1, MULU, MUL, 1, MUL)                       \
    REDUCE(max_##sfx, T, T, T, T, MIN, IMAX, IMAX, MIN, IMAX)                                      \
    REDUCE(min_##sfx, T, T, T, T, MAX, IMIN, IMIN, MAX, IMIN)                                      \
    REDUCE(any_##sfx, T, uint8_t, uint8_t, uint8_t, 0, OR, OR, 0, OR)                              \
    REDUCE(all_##sfx, T, uint8_t, uint8_t, uint8_t, 1, AND, AND, 1, AND)
#define ADDU(a, x) ((a) + (uint64_t)(x))
#define MULU(a, x) ((a) * (uint64_t)(x))
REDUCE_INT(i32, int32_t, INT32_MIN, INT32_MAX)
REDUCE_INT(i64, int64_t, INT64_MIN, INT64_MAX)
REDUCE_INT(u8, uint8_t, 0, UINT8_MAX)
#define INF __builtin_inf()
REDUCE(max_f32, float, float, float, float, (float)-INF, FMAX, FMAX, (float)-INF, FMAX)
REDUCE(min_f32, float, float, float, float, (float)INF, FMIN, FMIN, (float)INF, FMIN)
REDUCE(max_f64, double, double, double, double, -INF, FMAX, FMAX, -INF, FMAX)
REDUCE(min_f64, double, double, double, double, INF, FMIN, FMIN, INF, FMIN)
REDUCE(any_f32, float, uint8_t, uint8_t, uint8_t, 0, OR, OR, 0, OR)
REDUCE(all_f32, float, uint8_t, uint8_t, uint8_t, 1, AND, AND, 1, AND)
REDUCE(any_f64, double, uint8_t, uint8_t, uint8_t, 0, OR, OR, 0, OR)
REDUCE(all_f64, double, uint8_t, uint8_t, uint8_t, 1, AND, AND, 1, AND)

/* ---- position of the first extreme along n; a NaN is the extreme -------------------------------
 */

#define ARG(name, T, BETTER)                                                                       \
    static int64_t name(const void *x, int64_t stride, int64_t n) {                                \
        const T *p = x;                                                                            \
        int64_t at = 0;                                                                            \
        T best = p[0];                                                                             \
        for (int64_t i = 1; i < n && best == best; i++) {                                          \
            T v = p[i * stride];                                                                   \
            if ((BETTER) || v != v)                                                                \
                best = v, at = i;                                                                  \
        }                                                                                          \
        return at;                                                                                 \
    }
#define ARGS(sfx, T) ARG(argmax_##sfx, T, v > best) ARG(argmin_##sfx, T, v < best)
ARGS(f32, float)
ARGS(f64, double)
ARGS(i32, int32_t)
ARGS(i64, int64_t)
ARGS(u8, uint8_t)

#define SET(op, dtype, f) t->reduce[JN_RED_##op][JANUS_##dtype] = (f)
#define SET_ALL(dtype, sfx)                                                                        \
    SET(SUM, dtype, sum_##sfx), SET(PROD, dtype, prod_##sfx), SET(MAX, dtype, max_##sfx),          \
        SET(MIN, dtype, min_##sfx), SET(ANY, dtype, any_##sfx), SET(ALL, dtype, all_##sfx),        \
        t->arg[0][JANUS_##dtype] = argmin_##sfx, t->arg[1][JANUS_##dtype] = argmax_##sfx

void JN_ISA_FN(jn_isa_fill_reduce)(jn_isa_table *t) {
    SET_ALL(F32, f32);
    SET_ALL(F64, f64);
    SET_ALL(I32, i32);
    SET_ALL(I64, i64);
    SET_ALL(U8, u8);
    SET_ALL(BOOL, u8);
}
