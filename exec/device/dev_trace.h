/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a flush would launch, written down instead of launched.
 *
 * While a run has a trace (jn_run.trace), the code that runs groups takes its memory from
 * jn_trace_block and hands its launches to the functions here.  Blocks have addresses that no
 * device has; so the same code decides about views, rows and copies, and nothing is allocated.
 * Then the order of the launches is derived from the blocks they touch, streams are assigned
 * (exec/device/dev_streams.h), and last every block gets its place in one arena: no block shares
 * bytes with another but where the streams' order allows it, workspaces included.
 *
 * A branch or loop that the device decides (exec/schedule/branch.h) is one launch here, whose
 * bodies are lists of launches of their own.  What they touch counts as touched by it; so a body's
 * values share memory with nothing, as its launches are in no order that others know.  A body has
 * one stream.
 *
 * Calls of one kernel of which none waits for another are one launch where the device's module has
 * one for them (jn_dev_many; exec/device/dev_join.h).
 *
 * A trace lives as long as one flush: what its launches refer to belongs to the run.
 */
#ifndef JN_EXEC_DEV_TRACE_H
#define JN_EXEC_DEV_TRACE_H

#include "exec/device/dev_streams.h"
#include "graph/base/arena.h"
#include "graph/base/vec.h"

struct jn_device;
struct jn_trace_op;

/* An allocation of the traced code. */
typedef struct jn_trace_block {
    uintptr_t at; /* ascending */
    size_t bytes;
    bool kept;  /* read after the launches */
    bool fixed; /* filled before them, each time: at the arena's beginning, shared with none */
    size_t offset;
} jn_trace_block;

typedef struct jn_trace_touch {
    uint32_t op, block;
    bool writes;
} jn_trace_touch;

enum { JN_TRACE_DEPTH = 4 }; /* of bodies in bodies */
typedef JN_VEC(struct jn_trace_op *) jn_trace_ops;

typedef struct jn_trace {
    jn_arena arena;
    jn_trace_ops ops, *into; /* into: the list written to, `ops` or a body */
    JN_VEC(jn_trace_ops *) bodies;
    size_t n_launches;         /* those of bodies included */
    unsigned depth, max_depth; /* of bodies */
    JN_VEC(jn_trace_block) blocks;
    JN_VEC(jn_trace_touch) touches;
    uintptr_t next;
    bool may_raise;      /* some launch may set the abort word */
    const void *scalars; /* host memory of scalar operands that kernels read on the device ... */
    size_t scalar_bytes; /* ... */
    char *scalar_block;  /* ... from this block */
    jn_stream_plan plan;
    size_t bytes; /* of the arena */
} jn_trace;

void jn_trace_init(jn_trace *t);
void jn_trace_free(jn_trace *t);

/* NULL: out of memory. */
char *jn_trace_take(jn_trace *t, size_t bytes);
void jn_trace_keep(jn_trace *t, const void *p);
void jn_trace_fix(jn_trace *t, const void *p);

/* k: data of views may lie in blocks, in device memory that stays, or (scalars) on the host. */
janus_status jn_trace_call(jn_trace *t, const jn_op *op, jn_kernel_fn kernel, const jn_kargs *k,
                           size_t workspace);
janus_status jn_trace_gather(jn_trace *t, void *to, void *const *src, uint32_t n, size_t bytes);
janus_status jn_trace_sum(jn_trace *t, void *acc, const void *x, int64_t numel, int64_t rows,
                          int64_t step, uint8_t dtype);
/* Rows of `bytes` bytes, as many as are read from `count` when they are taken, of at most `rows`:
 * from the addresses in `table` (what is behind them is the last one again), or side by side to the
 * address there. */
janus_status jn_trace_take_rows(jn_trace *t, void *to, const void *table, const void *count,
                                uint32_t rows, size_t bytes);
janus_status jn_trace_give_rows(jn_trace *t, const void *table, const void *from, const void *count,
                                uint32_t rows, size_t bytes);
janus_status jn_trace_zero(jn_trace *t, void *p, size_t bytes);
/* A branch, or a loop: begun, what is written down after jn_trace_body(.., 0) is done if the value
 * is not zero, after jn_trace_body(.., 1), of branches, if it is.  `again`: the value of a loop
 * after a round.  A loop counts its rounds in a word, and sets the abort word after `most`; a
 * branch has none, NULL. */
janus_status jn_trace_branch(jn_trace *t, bool loop, struct jn_trace_op **out);
void jn_trace_body(jn_trace *t, struct jn_trace_op *branch, unsigned which);
janus_status jn_trace_branch_end(jn_trace *t, struct jn_trace_op *branch, const void *value,
                                 const void *again, uint8_t dtype, void *rounds, uint32_t most);

/* Launches joined, streams and memory.  `single`: one stream. */
janus_status jn_trace_plan(jn_trace *t, const struct jn_device *d, bool single);
/* Offset of an address of a block in the arena; after jn_trace_plan. */
size_t jn_trace_offset(const jn_trace *t, const void *p);
/* Puts all of it on the streams, over `arena`; bodies at depth k on body[k].  `stop`: the abort
 * word.
 */
janus_status jn_trace_launch(const jn_trace *t, struct jn_device *d, void *const *stream,
                             void *const *body, char *arena, uint32_t *stop);

#endif
