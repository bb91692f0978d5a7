/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of the ops: JN_OP_ID_add, ...; jn_ops[JN_OP_ID_add] is its row.  For ops/ and exec/ only:
 * graph/ looks at roles and flags.
 */
#ifndef JN_OPS_OP_IDS_H
#define JN_OPS_OP_IDS_H

#include "graph/ir/ir.h"

typedef enum jn_op_id {
#define OP_NAMED(id, name, ...) JN_OP_ID_##id,
#include "ops/ops.def"
    JN_OP_ID_COUNT
} jn_op_id;

/* Row of the op with that identifier: JN_OP(add). */
#define JN_OP(id) (&jn_ops[JN_OP_ID_##id])

#endif
