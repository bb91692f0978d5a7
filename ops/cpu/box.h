/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A box of elements copied between two places, each with strides of its own (negative ones too):
 * what pad, flip, roll, repeat, diag and the scatters of slices are made of.
 */
#ifndef JN_OPS_CPU_BOX_H
#define JN_OPS_CPU_BOX_H

#include "ops/kernel.h"

typedef struct jn_box {
    int rank;
    size_t size; /* of an element, in bytes */
    int64_t dims[2 * JN_MAX_RANK], to[2 * JN_MAX_RANK], from[2 * JN_MAX_RANK];
    char *dst;
    const char *src;
    bool empty;
} jn_box;

void jn_box_init(jn_box *b, size_t size, void *dst, const void *src);
/* Another dim, inside the earlier ones; strides in elements.  At most 2 * JN_MAX_RANK. */
void jn_box_dim(jn_box *b, int64_t dim, int64_t to, int64_t from);
void jn_box_copy(const jn_box *b, const jn_par *par);

#endif
