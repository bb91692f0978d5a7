/* SPDX-License-Identifier: Apache-2.0 */
/* What exec/defer/defer.c records and exec/defer/defer_group.c runs together. */
#ifndef JN_EXEC_DEFER_INTERNAL_H
#define JN_EXEC_DEFER_INTERNAL_H

#include "exec/defer/defer.h"
#include "exec/state/state.h"
#include "graph/base/arena.h"
#include "graph/base/vec.h"

struct jn_deferred_call;

/* An operand that was recorded.  Where its elements will be is known from what is written here:
 * the tensor itself may long have left the cache. */
typedef struct jn_deferred_operand {
    jn_deferred_in v;
    struct jn_deferred_call *maker; /* of a pending tensor, */
    uint32_t result;                /* the result it is of */
    ptrdiff_t offset;               /* and the bytes from there; else NULL, */
    char *place;                    /* and where a tensor's elements are */
} jn_deferred_operand;

typedef struct jn_deferred_call {
    jn_call_kind *kind;
    jn_deferral *deferral;
    struct jn_deferred_call *next; /* of its kind and level, while flushing */
    uint32_t level;
    uint8_t owned; /* bit i: operand i is a tensor that it holds */
    uint8_t own;   /* while flushing, bit i: at[i] is a block of its own */
    bool wanted;   /* while flushing: some result is needed */
    janus_tensor *out[JN_RECIPE_OUT];
    char *at[JN_RECIPE_OUT];           /* where its results are once it has run, */
    struct jn_slab *of[JN_RECIPE_OUT]; /* and the slab, of promised ones */
    jn_deferred_operand in[];
} jn_deferred_call;

/* How calls of a kind run as rows of a group. */
typedef struct jn_call_rows jn_call_rows;

struct jn_call_kind {
    atomic_int refs;
    jn_recipe recipe;
    jn_operand_kind in[JN_RECIPE_IN];
    const void *attrs;
    jn_type *types;             /* NULL: not told yet */
    jn_arena arena;             /* of the attributes */
    jn_call_rows *rows;         /* NULL: not made yet */
    struct jn_grad_rule *grads; /* a list (exec/defer/defer_rule.h) */
    bool alone;                 /* there is no way to run them together */
    jn_call_note note;
    /* while flushing: those of one level */
    jn_deferred_call *first, **tail;
    uint32_t n;
    struct jn_call_kind *next;
};

/* exec/defer/defer_bounds.c: whether what an op can fail on is an index alone, and whether the few
 * indices of a call, which are there already, are in bounds: then it cannot fail when it runs. */
bool jn_call_has_bounds(const jn_op *op);
bool jn_call_in_bounds(const jn_call_kind *k, const jn_deferred_in *in);
/* The elements of a tensor operand of a call whose turn it is. */
static inline char *jn_deferred_data(const jn_deferred_operand *o) {
    return o->maker ? o->maker->at[o->result] + o->offset : o->place;
}
/* Memory for a result of a call that is needed: where it lies, in a slab, or a block of its own. */
janus_status jn_deferred_place(jn_deferred_call *c, unsigned result);
/* Whether results of groups lie in memory that jn_deferred_rows_end() takes back. */
bool jn_deferred_rows_go(void);
/* Runs the n calls, at least two, of a kind that are linked from its `first`; false: it cannot be,
 * and nothing has happened.  Results lie in memory that
 * jn_deferred_rows_end() takes back, but for the parts of slabs that tensors hold. */
bool jn_deferred_rows_run(jn_call_kind *k);
void jn_deferred_rows_end(void);
void jn_call_rows_free(jn_call_rows *r);
/* What one backward(), or the run of a trace, computes with. */
struct jn_grad_work {
    jn_run run;
    bool borrowed; /* it is the process's own, which is kept with its memory */
};
/* jn_grad_sum_tensor() under the lock. */
janus_status jn_grad_sum_take(jn_grad_work *w, struct jn_acc *a, janus_tensor **out);
/* What segments of kinds of calls are specialised in, under the lock; NULL: out of memory. */
struct jn_planset *jn_call_shapes(void);
/* The lock that guards all deferrals and kinds of calls. */
void jn_deferrals_lock(void);
void jn_deferrals_unlock(void);

#endif
