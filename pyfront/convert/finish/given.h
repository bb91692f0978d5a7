/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors the results of branches, loops and callees may be. */
#ifndef JPY_CONVERT_FINISH_GIVEN_H
#define JPY_CONVERT_FINISH_GIVEN_H

#include "graph/ir/ir.h"
#include "pyfront/entry/entry.h"

enum {
    JCV_MOST_GIVEN = 8, /* branches, loops and callees, one behind the other */
    JCV_MAX_GIVEN = 16  /* what a result of one of them may be */
};
/* The condition of a branch holds or not; a loop has some rounds or none. */
enum { JCV_GIVEN_EITHER_WAY, JCV_GIVEN_IF_SO, JCV_GIVEN_IF_NOT };
typedef struct jcv_given {
    jn_value v; /* operand of a node that may be its result, ... */
    uint8_t when;
    bool view; /* ... or a view of it */
} jcv_given;
typedef struct jcv_all_given {
    jcv_given of[JCV_MAX_GIVEN];
    unsigned n;
} jcv_all_given;

/* The value whose memory v is a view of.  A reshape of what was permuted is a copy. */
jn_value jcv_memory_of(const jn_subgraph *g, jn_value v);
/* What v, which has its own memory, may be of the operands of its node. */
void jcv_find_given(const jn_subgraph *g, jn_value v, unsigned depth, jcv_all_given *out);
/* The parameters of g that v may be, as a set. */
jpy_set jcv_params_given(const jn_subgraph *g, jn_value v, unsigned depth, bool *io_view);
/* Whether `of` may be v.  *io_view becomes true where it is a view of that. */
bool jcv_may_be_in(const jn_subgraph *g, jn_value of, jn_value v, unsigned depth, bool *io_view);

#endif
