/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of which only some rows are there: the gradient of an embedding, and what an optimizer
 * makes of it.
 *
 * An accumulator that only gradients of embeddings are added to sums in a *table* of the rows that
 * are touched, each of which has a place there.  Tables are empty between runs and kept by the plan
 * set, so a step costs what its rows cost, not what the vocabulary costs.  Its sum is a promise
 * with `rows` and no data.  An op that leaves operand 0 as it is where operand 1 is zero
 * (JN_OP_KEEPS0: steps of SGD and Adagrad) is computed for these rows alone and gives such a
 * promise again, whose other rows are operand 0's.  Any other use makes it dense first; results and
 * log entries may leave the run as rows (jn_tensor_rows).
 *
 * Not in numerics "exact": x + 0 is another zero than x where x is -0.
 */
#ifndef JN_EXEC_ROWS_H
#define JN_EXEC_ROWS_H

#include "exec/state/state.h"

/* What a promise without data consists of. */
struct jn_rows {
    uint32_t n;
    const uint32_t *index; /* each row once */
    jn_tval *compact;      /* [at least n, ...]: the rows; zeros behind them */
    jn_tval *base;         /* the other rows; NULL: zeros */
};

/* A sum of rows, of one part of an accumulator. */
struct jn_table {
    jn_table *next;
    const jn_shape *shape; /* of the sum */
    char *data;            /* cap rows, by place; zero from n on */
    uint32_t *place;       /* per row: 1 + its place; 0: it was not touched */
    uint32_t *row;         /* per place */
    uint32_t n, cap;
    int64_t *found; /* what jn_table_find gave last */
    size_t n_found;
};

/* Whether an accumulator of this shape may be a table. */
bool jn_rows_wanted(const jn_run *r, const jn_shape *s);
/* A table of the plan set, or a new one. */
janus_status jn_table_take(jn_run *r, const jn_shape *s, jn_table **out);
/* Empties it and gives it back to the plan set. */
void jn_table_return(jn_run *r, jn_table *t);
/* All that the run has in use. */
void jn_tables_return(jn_run *r);
void jn_tables_free(jn_table *list);
/* The places of the rows that `index` (i32 or i64, row-major) names, touched from now on; `strides`
 * has room for its rank.  A kernel that adds at indices adds there what it is given: the row that
 * it skips, -1: none, has its own number, a row out of range one that is out of range.  False: out
 * of memory. */
bool jn_table_find(jn_table *t, const jn_view *index, int64_t skips, int64_t *strides,
                   jn_view *out);
/* The sum of an accumulator's tables, which are given back. */
janus_status jn_rows_sum(jn_run *r, jn_acc *a);
/* Tables become blocks: something else than rows has been added. */
janus_status jn_rows_leave(jn_run *r, jn_acc *a);

/* Runs a segment of one JN_OP_KEEPS0 node on the rows of its operand 1, if that has rows. */
janus_status jn_rows_issue(jn_run *r, jn_segment *seg, jn_slot *slots);
/* Gives a promise of rows its data. */
janus_status jn_rows_fill(jn_run *r, jn_tval *v);
/* A tensor of rows (exec/store/tensor_rows.h) for a promise of rows. */
janus_status jn_rows_export(jn_run *r, jn_tval *v, janus_tensor **out);

#endif
