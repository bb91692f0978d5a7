/* SPDX-License-Identifier: Apache-2.0 */
/* What exec/defer.c records and exec/defer_group.c runs together. */
#ifndef JN_EXEC_DEFER_INTERNAL_H
#define JN_EXEC_DEFER_INTERNAL_H

#include "exec/defer.h"
#include "graph/base/arena.h"
#include "graph/base/vec.h"

typedef struct jn_deferred_call {
    jn_call_kind *kind;
    jn_deferral *deferral;
    struct jn_deferred_call *next; /* of its kind and level, while flushing */
    uint32_t level;
    uint8_t owned; /* bit i: operand i is a tensor that it holds */
    bool wanted;   /* while flushing: some result is needed */
    janus_tensor *out[JN_RECIPE_OUT];
    char *at[JN_RECIPE_OUT]; /* where its results are once it has run */
    jn_deferred_in in[];
} jn_deferred_call;

/* How calls of a kind run as rows of a group. */
typedef struct jn_call_rows jn_call_rows;

struct jn_call_kind {
    atomic_int refs;
    jn_recipe recipe;
    jn_operand_kind in[JN_RECIPE_IN];
    const void *attrs;
    jn_arena arena;     /* of the attributes */
    jn_call_rows *rows; /* NULL: not made yet */
    bool alone;         /* there is no way to run them together */
    /* while flushing: those of one level */
    jn_deferred_call *first, **tail;
    uint32_t n;
    struct jn_call_kind *next;
};

/* The elements of operand i, a tensor, of a call whose turn it is. */
char *jn_deferred_operand(const jn_deferred_call *c, unsigned i);
/* Runs the n calls, at least two, of a kind that are linked from its `first`; false: it cannot be,
 * and nothing has happened.  Results lie in memory that jn_deferred_rows_end() takes back. */
bool jn_deferred_rows_run(jn_call_kind *k);
void jn_deferred_rows_end(void);
void jn_call_rows_free(jn_call_rows *r);

#endif
