/* SPDX-License-Identifier: Apache-2.0 */
/* A gradient rule written down as a segment: what exec/defer/defer_rule.c makes and
 * exec/defer/defer_grad.c runs. */
#ifndef JN_EXEC_DEFER_RULE_H
#define JN_EXEC_DEFER_RULE_H

#include "exec/defer/defer_internal.h"
#include "exec/defer/defer_write.h"

typedef struct jn_grad_din {
    uint8_t from, index;
    bool shared; /* an output that is the gradient of several operands */
} jn_grad_din;

struct jn_grad_rule {
    jn_grad_rule *next; /* of its kind */
    jn_grad_key key;
    bool alone; /* there is no segment for it */
    unsigned n_in;
    jn_segment seg;
    jn_seginst *inst;
    jn_grad_source *input;
    uint32_t *scalar; /* per scalar that is no constant: the value */
    uint8_t acc_operand[JN_RECIPE_IN];
    jn_grad_din din[JN_RECIPE_IN];
};

/* In the kind's memory; NULL: out of memory.  Under the lock. */
jn_grad_rule *jn_grad_rule_new(jn_call_kind *k, const jn_grad_key *key, const jn_type *types,
                               jn_planset *set);

#endif
