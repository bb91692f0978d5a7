/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accumulators: the sums that all frames of a recursion add to.
 *
 * What is added comes in three ways.  Rows of a table stay rows (exec/schedule/rows.h).  Products
 * x' z of rows, the gradients of weights, are put off: the rows of x and z are collected, and one
 * product over all of them is made when the sum is read.  The products of one segment collect
 * theirs together, and an operand that several of them have once; what lies in memory that stays as
 * it is till the run ends is not copied, it is noted where.  Everything else is added at once. Each
 * lane (exec/schedule/lanes.c), and each range of rows that runs on its own thread, adds to a part
 * of its own; the parts are added in order.
 *
 * A block is not zeroed: what is added first is written.
 */
#ifndef JN_EXEC_ACC_H
#define JN_EXEC_ACC_H

#include "exec/state/state.h"

/* What is collected of a factor (exec/kernels/kernels.h): its rows, or where they lie. */
typedef struct jn_kept_rows {
    char *data;
    const char **at; /* of each row; NULL: in `data` */
    bool apart;      /* which is a block of its own */
    int64_t rows, cols;
} jn_kept_rows;

/* Of the products of a segment: rows of `taken` of its tasks, and there is room for `cap`. */
typedef struct jn_collected {
    uint32_t n_products, n_factors, held; /* held: products whose sums have not been read */
    int64_t taken, cap;
    jn_kept_rows *factor;
    jn_product *product;
} jn_collected;

/* A product that is due: sum += x' z over the rows of tasks from `from` on. */
struct jn_product {
    jn_product *next; /* of the same sum */
    jn_acc *sum;      /* NULL: it has been read */
    jn_collected *of;
    uint32_t x, z;
    int64_t from;
};

janus_status jn_acc_new(jn_run *r, const jn_tval *like, jn_acc **out);
/* exec/schedule/acc.c: the same on the host. */
janus_status jn_host_sum(jn_run *r, jn_acc *a, uint32_t k);
/* A block for part k. */
static inline janus_status jn_acc_block(jn_run *r, jn_acc *a, uint32_t k) {
    return r->on->sum(r, a, k);
}
/* Whether part k has collected so much that a group which collects `more` bytes waits till that is
 * multiplied; and doing so: before the group, when all of it is written, by a lane, without its
 * lock. */
bool jn_acc_is_full(const jn_acc *a, uint32_t k, size_t more);
janus_status jn_acc_make_room(jn_lane *l, jn_acc *a, uint32_t k);
/* Multiplies what a lane has collected when its tasks are run: other lanes do the same meanwhile.
 */
janus_status jn_acc_settle(jn_lane *l, jn_acc *a);
/* Room in part k for what n tasks of a variant leave for its products: they are its tasks from
 * number (*out)->taken - n on.  `accs`: the sums of their segment. */
struct jn_variant;
janus_status jn_acc_collect(jn_run *r, const struct jn_variant *v, jn_acc *const *accs, uint32_t k,
                            uint32_t n, jn_collected **out);
/* block k += n values of the sum's size, `step` elements apart; serial. */
janus_status jn_acc_add(jn_acc *a, uint32_t k, const char *from, int64_t step, uint32_t n);
/* to[i] += from[i], i < n, of floats. */
janus_status jn_add_elements(uint8_t dtype, char *to, const char *from, int64_t n,
                             const jn_par *par);
/* The sum so far: everything added is executed first. */
janus_status jn_acc_get(jn_run *r, jn_acc *a, jn_tval **out);

#endif
