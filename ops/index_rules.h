/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What inference, kernels and gradients of index and index_put share.
 */
#ifndef JN_OPS_INDEX_RULES_H
#define JN_OPS_INDEX_RULES_H

#include "graph/ir/ir.h"

/* Marks the indexed dims of a tensor of `rank` dims and says where the dims of the indices go in
 * the result: in place of the indexed ones when these are adjacent, else in front.  False: an axis
 * is out of range or given twice. */
bool jn_index_layout(janus_ints axes, int rank, bool *indexed, int *out_at);

#endif
