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

enum { JN_LANES = 32, JN_SUM_BLOCK = 4096 };

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
        for (int w_ = JN_LANES / 2; w_ > 0; w_ /= 2)                                               \
            for (int l_ = 0; l_ < w_; l_++)                                                        \
                lane_[l_] = JOIN(lane_[l_], lane_[l_ + w_]);                                       \
        (result) = lane_[0];                                                                       \
    } while (0)

#define JN_STEP_ADD(a, x) ((a) + (x))
#define JN_STEP_MAX(a, x) ((((x) > (a)) | ((x) != (x))) ? (x) : (a))
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
/* The largest of n >= 1; NaN wins. */
JN_INLINE float jn_max_f32(const float *x, int64_t n) {
    float m;
    JN_LANE_FOLD(float, float, m, x, n, x[0], JN_STEP_MAX, JN_STEP_MAX);
    return m;
}
JN_INLINE double jn_max_f64(const double *x, int64_t n) {
    double m;
    JN_LANE_FOLD(double, double, m, x, n, x[0], JN_STEP_MAX, JN_STEP_MAX);
    return m;
}

#endif
