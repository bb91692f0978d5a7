/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attributes of a reduction, whatever its row: inference, kernels, gradients and batching all
 * read them through here.
 */
#ifndef JN_OPS_REDUCE_ATTRS_H
#define JN_OPS_REDUCE_ATTRS_H

#include "graph/ir/ir.h"

typedef struct jn_reduce_attrs {
    janus_ints dims; /* empty: all */
    bool keepdim;
    double param; /* var: correction; norm: p */
} jn_reduce_attrs;

jn_reduce_attrs jn_reduce_attrs_of(const jn_op *op, const void *attrs);

#endif
