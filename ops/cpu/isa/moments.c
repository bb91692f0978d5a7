/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mean and sum of squares of two rows at once.  Compiled per instruction set.
 *
 * A row's sum waits for its own last addition; two rows keep the adders busy.  Each row is added up
 * as jn_isa.moments does (ops/cpu/isa/nn.c): the same bits, whichever computes it.
 */
#include "ops/cpu/isa/sums.h"

#include "ops/cpu/simd.h"

enum { VECTORS = JN_LANES / LANES };

/* The lanes' sums of elements [from, to) of one row are in `vector`, but for the last ones. */
JN_INLINE double join(const V *vector, const float *x, float mean, bool squares, int64_t at,
                      int64_t to) {
    float lane[JN_LANES], sum;
    JN_UNROLL
    for (int k = 0; k < VECTORS; k++)
        STORE(lane + k * LANES, vector[k]);
    for (int l = 0; at < to; at++, l++)
        lane[l] += squares ? (x[at] - mean) * (x[at] - mean) : x[at];
    JN_LANE_TREE(float, sum, lane, JN_STEP_ADD);
    return (double)sum;
}

JN_INLINE void add_block(const float *x, const float *y, const float *mean, const bool squares,
                         int64_t from, int64_t to, double *total) {
    V a[VECTORS], b[VECTORS], m = SET1(mean[0]), l = SET1(mean[1]);
    int64_t at = from;
    JN_UNROLL
    for (int k = 0; k < VECTORS; k++)
        a[k] = b[k] = ZERO();
    for (; at + JN_LANES <= to; at += JN_LANES)
        JN_UNROLL
    for (int k = 0; k < VECTORS; k++) {
        V p = LOAD(x + at + k * LANES), q = LOAD(y + at + k * LANES);
        if (squares) {
            p = p - m;
            q = q - l;
            p = p * p;
            q = q * q;
        }
        a[k] = ADD(a[k], p);
        b[k] = ADD(b[k], q);
    }
    total[0] += join(a, x, mean[0], squares, at, to);
    total[1] += join(b, y, mean[1], squares, at, to);
}

static void moments_of_two(const float *x, const float *y, int64_t n, double *mean, double *m2) {
    float from[2] = {0, 0};
    mean[0] = mean[1] = m2[0] = m2[1] = 0;
    for (int64_t i = 0; i < n; i += JN_SUM_BLOCK)
        add_block(x, y, from, false, i, n - i < JN_SUM_BLOCK ? n : i + JN_SUM_BLOCK, mean);
    for (int k = 0; k < 2; k++)
        from[k] = (float)(mean[k] /= (double)n);
    for (int64_t i = 0; i < n; i += JN_SQUARES_BLOCK)
        add_block(x, y, from, true, i, n - i < JN_SQUARES_BLOCK ? n : i + JN_SQUARES_BLOCK, m2);
}

void JN_ISA_FN(jn_isa_fill_moments)(jn_isa_table *t) { t->moments_of_two = moments_of_two; }
