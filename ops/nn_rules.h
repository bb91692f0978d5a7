/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What inference, kernels and gradients of losses and pooling share.
 */
#ifndef JN_OPS_NN_RULES_H
#define JN_OPS_NN_RULES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    JN_REDUCTION_NONE = 0,
    JN_REDUCTION_MEAN = 1,
    JN_REDUCTION_SUM = 2,
    /* Set beside one of them in what batch rules hand to kernels, never in a graph: operands and
     * result have a dim of rows in front, each with a loss of its own. */
    JN_REDUCTION_ROWS = 4
};

/* How far a window (of a kernel, pooling or convolution) can be moved along a dim of `size`
 * elements with padding on both sides; negative: it does not fit, or the sizes are beyond all
 * bounds.  kernel and dilation are positive, padding is not negative. */
int64_t jn_window_room(int64_t size, int64_t kernel, int64_t padding, int64_t dilation);

/* Number of windows along one dim; -1: not even one fits. */
int64_t jn_pool_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                     int64_t dilation, bool ceil_mode);

#endif
