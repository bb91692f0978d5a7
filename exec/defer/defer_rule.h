/* SPDX-License-Identifier: Apache-2.0 */
/* A gradient rule written down as a segment: what exec/defer/defer_rule.c makes and
 * exec/defer/defer_grad.c runs. */
#ifndef JN_EXEC_DEFER_RULE_H
#define JN_EXEC_DEFER_RULE_H

#include "exec/defer/defer_grad.h"
#include "exec/defer/defer_internal.h"
#include "exec/state/state.h"

/* Where an input of the segment, or the gradient of an operand, is found. */
typedef enum jn_grad_from {
    JN_GRAD_NOTHING,
    JN_GRAD_VALUE,  /* value `index` of the row */
    JN_GRAD_GIVEN,  /* its cotangent of result `index` */
    JN_GRAD_TYPE,   /* a type without elements */
    JN_GRAD_OUTPUT, /* output `index` of the segment */
    JN_GRAD_ADDED   /* to the accumulator */
} jn_grad_from;
typedef struct jn_grad_source {
    uint8_t from, index;
} jn_grad_source;
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
    uint8_t *scalar; /* per scalar that is no constant: the value */
    uint8_t acc_operand[JN_RECIPE_IN];
    jn_grad_din din[JN_RECIPE_IN];
};

/* In the kind's memory; NULL: out of memory.  Under the lock. */
jn_grad_rule *jn_grad_rule_new(jn_call_kind *k, const jn_grad_key *key, const jn_type *types,
                               jn_planset *set);

#endif
