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

/* Number of windows along one dim; -1: not even one fits. */
int64_t jn_pool_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                     int64_t dilation, bool ceil_mode);

#endif
