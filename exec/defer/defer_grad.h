/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of recorded calls by groups: the gradient rule of a kind of call (exec/defer/defer.h),
 * written down once as a segment, runs for many calls of that kind as one group of rows.
 *
 * What a rule needs of a call are the elements that the tape kept and the cotangents that have
 * arrived; which of them there are, and which gradients are wanted, is part of the rule's key.
 * The gradient of an operand comes row by row, or as one sum over all rows in an accumulator
 * (exec/schedule/acc.h): a weight's gradient is then one product over everything that used the
 * weight.
 */
#ifndef JN_EXEC_DEFER_GRAD_H
#define JN_EXEC_DEFER_GRAD_H

#include "exec/defer/defer.h"
#include "exec/state/state.h"

enum { JN_GRAD_VALUES = JN_RECIPE_IN + JN_RECIPE_OUT };

/* Bits by operand, or by result. */
typedef struct jn_grad_key {
    uint16_t saved; /* values that are there: operands, then results from bit n_in on */
    uint8_t given;  /* results whose cotangent has arrived */
    uint8_t row;    /* operands whose gradient is wanted row by row */
    uint8_t sum;    /* operands whose gradient is summed over the rows */
} jn_grad_key;

/* A call whose gradient is computed: elements are row-major, in host memory. */
typedef struct jn_grad_row {
    const void *value[JN_GRAD_VALUES]; /* of saved values; of scalars, the scalar */
    char *given[JN_RECIPE_OUT];
    char
        *din[JN_RECIPE_IN]; /* filled for key.row, with memory of the work or of `given`; NULL: zero
                             */
    uint8_t fresh;          /* filled: operands whose din is this row's alone and may be written */
} jn_grad_row;

/* What one backward() computes with; its memory stays until it is freed. */
typedef struct jn_grad_work jn_grad_work;
/* The gradient rule of a kind of call; the kind owns it. */
typedef struct jn_grad_rule jn_grad_rule;

janus_status jn_grad_work_new(jn_grad_work **out);
void jn_grad_work_free(jn_grad_work *w);
/* Memory for `bytes` bytes, uninitialised; NULL: out of memory. */
char *jn_grad_work_memory(jn_grad_work *w, size_t bytes);
/* Keeps a tensor (its reference goes over) as long as the work. */
janus_status jn_grad_work_keep(jn_grad_work *w, janus_tensor *t);

/* The rule for such calls; `types` are those of operands and results of any of them.  NULL: there
 * is none, each call has to be computed alone. */
const jn_grad_rule *jn_grad_rule_get(jn_grad_work *w, jn_call_kind *k, const jn_grad_key *key,
                                     const jn_type *types);
/* Runs the rule for n rows.  sum[i], of operands in key.sum, gets what is added up. */
janus_status jn_grad_rule_run(jn_grad_work *w, const jn_grad_rule *g, jn_grad_row *row, uint32_t n,
                              jn_acc *const *sum);

/* A sum of tensors of this type. */
janus_status jn_grad_sum_new(jn_grad_work *w, const jn_type *type, jn_acc **out);
/* What was added: its elements, in memory of the work. */
janus_status jn_grad_sum_data(jn_grad_work *w, jn_acc *a, char **out);
/* What was added as a new tensor, which may know of some rows only (exec/store/tensor_rows.h). */
janus_status jn_grad_sum_tensor(jn_grad_work *w, jn_acc *a, janus_tensor **out);

#endif
