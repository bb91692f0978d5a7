/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums and extremes of contiguous floats, shared by the reduction and the softmax kernels.
 *
 * The order of a sum is fixed: element i goes to lane i % 32 within a block, lanes are added as a
 * tree, blocks in double.  It does not depend on the instruction set or on threads.  For isa_*.c.
 */
#ifndef JN_OPS_CPU_ISA_SUMS_H
#define JN_OPS_CPU_ISA_SUMS_H

#include "ops/cpu/isa.h"
#include "ops/cpu/vmath.h"

enum { JN_LANES = 32, JN_SUM_BLOCK = 4096, JN_SQUARES_BLOCK = 256 };

/* Joins 32 lanes as a tree: lane l with lane l + 16, then with l + 8, and so on.  Every level is an
 * array of its own with a constant length, so that it stays in registers. */
#define JN_LANE_TREE(A, result, lane, JOIN)                                                        \
    do {                                                                                           \
        A w16_[16], w8_[8], w4_[4], w2_[2];                                                        \
        for (int l_ = 0; l_ < 16; l_++)                                                            \
            w16_[l_] = JOIN((lane)[l_], (lane)[l_ + 16]);                                          \
        for (int l_ = 0; l_ < 8; l_++)                                                             \
            w8_[l_] = JOIN(w16_[l_], w16_[l_ + 8]);                                                \
        for (int l_ = 0; l_ < 4; l_++)                                                             \
            w4_[l_] = JOIN(w8_[l_], w8_[l_ + 4]);                                                  \
        for (int l_ = 0; l_ < 2; l_++)                                                             \
            w2_[l_] = JOIN(w4_[l_], w4_[l_ + 2]);                                                  \
        (result) = JOIN(w2_[0], w2_[1]);                                                           \
    } while (0)

/* Folds f over n elements: INIT, STEP(lane, x), then JOIN(lane, lane). */
#define JN_LANE_FOLD(T, A, result, px, n, INIT, STEP, JOIN)                                        \
    do {                                                                                           \
        A lane_[JN_LANES];                                                                         \
        const T *p_ = (px);                                                                        \
        int64_t n_ = (n), i_ = 0;                                                                  \
        for (int l_ = 0; l_ < JN_LANES; l_++)                                                      \
            lane_[l_] = (INIT);                                                                    \
        for (; i_ + JN_LANES <= n_; i_ += JN_LANES)                                                \
            for (int l_ = 0; l_ < JN_LANES; l_++)                                                  \
                lane_[l_] = STEP(lane_[l_], p_[i_ + l_]);                                          \
        for (int l_ = 0; i_ < n_; i_++, l_++)                                                      \
            lane_[l_] = STEP(lane_[l_], p_[i_]);                                                   \
        JN_LANE_TREE(A, result, lane_, JOIN);                                                      \
    } while (0)

#define JN_STEP_ADD(a, x) ((a) + (x))
#define JN_STEP_MAX(a, x) ((((x) > (a)) | ((x) != (x))) ? (x) : (a))
#define JN_STEP_TOP(a, x) ((x) > (a) ? (x) : (a))
#define JN_STEP_MIN(a, x) ((((x) < (a)) | ((x) != (x))) ? (x) : (a))

JN_INLINE double jn_sum_f32(const float *x, int64_t n) {
    double total = 0;
    for (int64_t i = 0; i < n; i += JN_SUM_BLOCK) {
        float s;
        JN_LANE_FOLD(float, float, s, x + i, n - i < JN_SUM_BLOCK ? n - i : JN_SUM_BLOCK, 0.0f,
                     JN_STEP_ADD, JN_STEP_ADD);
        total += (double)s;
    }
    return total;
}
JN_INLINE double jn_sum_f64(const double *x, int64_t n) {
    double total = 0;
    for (int64_t i = 0; i < n; i += JN_SUM_BLOCK) {
        double s;
        JN_LANE_FOLD(double, double, s, x + i, n - i < JN_SUM_BLOCK ? n - i : JN_SUM_BLOCK, 0.0,
                     JN_STEP_ADD, JN_STEP_ADD);
        total += s;
    }
    return total;
}
/* total (a double) += the sum of EXPR of each i in [from, to), at most JN_SUM_BLOCK of them, added
 * up as jn_sum_f32 adds up as many numbers. */
#define JN_ADD_UP(T, total, i, from, to, EXPR)                                                     \
    do {                                                                                           \
        T lane_[JN_LANES], sum_;                                                                   \
        int64_t at_ = (from), to_ = (to);                                                          \
        for (int l_ = 0; l_ < JN_LANES; l_++)                                                      \
            lane_[l_] = 0;                                                                         \
        for (; at_ + JN_LANES <= to_; at_ += JN_LANES)                                             \
            JN_VECTOR_LOOP                                                                         \
        for (int l_ = 0; l_ < JN_LANES; l_++) {                                                    \
            int64_t i = at_ + l_;                                                                  \
            lane_[l_] += (EXPR);                                                                   \
        }                                                                                          \
        for (int l_ = 0; at_ < to_; at_++, l_++) {                                                 \
            int64_t i = at_;                                                                       \
            lane_[l_] += (EXPR);                                                                   \
        }                                                                                          \
        JN_LANE_TREE(T, sum_, lane_, JN_STEP_ADD);                                                 \
        (total) += (double)sum_;                                                                   \
    } while (0)

/* The largest of n >= 1: NaN wins; of jn_top NaN does not, unless it comes first. */
#define JN_LARGEST(T, sfx)                                                                         \
    JN_INLINE T jn_max_##sfx(const T *x, int64_t n) {                                              \
        T m;                                                                                       \
        JN_LANE_FOLD(T, T, m, x, n, x[0], JN_STEP_MAX, JN_STEP_MAX);                               \
        return m;                                                                                  \
    }                                                                                              \
    JN_INLINE T jn_top_##sfx(const T *x, int64_t n) {                                              \
        T lane[2 * JN_LANES], m;                                                                   \
        int64_t i = 0;                                                                             \
        for (int l = 0; l < 2 * JN_LANES; l++)                                                     \
            lane[l] = x[0];                                                                        \
        for (; i + 2 * JN_LANES <= n; i += 2 * JN_LANES)                                           \
            for (int l = 0; l < 2 * JN_LANES; l++)                                                 \
                lane[l] = JN_STEP_TOP(lane[l], x[i + l]);                                          \
        for (int l = 0; i < n; i++, l++)                                                           \
            lane[l] = JN_STEP_TOP(lane[l], x[i]);                                                  \
        for (int l = 0; l < JN_LANES; l++)                                                         \
            lane[l] = JN_STEP_TOP(lane[l], lane[l + JN_LANES]);                                    \
        JN_LANE_TREE(T, m, lane, JN_STEP_TOP);                                                     \
        return m;                                                                                  \
    }
JN_LARGEST(float, f32)
JN_LARGEST(double, f64)

#endif
