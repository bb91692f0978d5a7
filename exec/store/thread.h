/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every op looks at and each thread has of its own, in one place.
 *
 * To ask the C library where a thread's variable lies costs as much as a lookup of a remembered
 * call.  What runs an op asks once and hands `me` down.
 */
#ifndef JN_EXEC_THREAD_H
#define JN_EXEC_THREAD_H

#include "ops/kernel.h"

struct jn_eager_arg;
struct jn_deferral;

/*
 * The converter's way in: while a thread has a hook, jn_eager() and its like give their call to it
 * and run nothing.  `into`: jn_eager_into's dst (n_out is 1 and out NULL).
 */
typedef janus_status (*jn_eager_hook_fn)(const jn_op *op, const struct jn_eager_arg *in,
                                         unsigned n_in, const void *attrs, janus_tensor **out,
                                         unsigned n_out, janus_tensor *into);

/* Tensor ops that this thread has run: one by one, and in runs that gave their results.  Read by
 * whoever wants to know which share of a program's work graphs did. */
typedef struct jn_op_counts {
    uint64_t eager, graph;
    uint64_t replays; /* runs that made the calls of earlier ones */
    uint64_t shapes;  /* which segments of graphs were specialised for */
} jn_op_counts;

typedef struct jn_thread {
    struct jn_heap *heap; /* small blocks (exec/store/pool.h); NULL: none yet */
    jn_op_counts ops;
    jn_eager_hook_fn hook;
    /* That records for this thread (exec/defer/defer.h), or NULL; that of which the backward() of
     * this thread are trace graphs though its ops run at once, or NULL. */
    struct jn_deferral *deferring, *tracing;
    /* What the tape and autocast keep here: numbers of nodes (pyfront/tape/node.c), grad mode, and
     * the word of pyfront/op/autocast.h. */
    uint64_t place; /* the next number in an external node's room; 0: at the end */
    uint32_t autocast;
    bool no_grad;
} jn_thread;
extern _Thread_local jn_thread jn_this;
/* Its address, for who keeps it over calls: the compiler would rather ask again. */
static inline jn_thread *jn_thread_mine(void) {
    jn_thread *me = &jn_this;
    __asm__("" : "+r"(me));
    return me;
}

/* By the names that they are spoken of. */
#define jn_ops_run (jn_this.ops)
#define jn_eager_hook (jn_this.hook)
#define jn_deferring (jn_this.deferring)
#define jn_tracing (jn_this.tracing)

#endif
