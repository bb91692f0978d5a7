/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a small run as one list, to be made again.
 *
 * Where a run's host strand decides nothing by what tensors hold, the next one with arguments that
 * look the same issues the same tasks, which fall into the same groups and call the same kernels in
 * the same order.  The list has these calls, with memory that stays as it is between runs: what is
 * made again is the kernels alone.  Places that point into the memory of an argument are moved
 * where the argument lies elsewhere (docs/adr/0082-replays.md).
 *
 * Calls of a group that was split into ranges of rows are a part for each range; parts run beside
 * each other where that is faster (exec/kernels/pace.h).
 */
#ifndef JN_EXEC_REPLAY_H
#define JN_EXEC_REPLAY_H

#include "exec/kernels/kept.h"
#include "exec/kernels/pace.h"
#include "exec/state/state.h"

struct jn_chain;
struct jn_operands;
struct jn_vnode;

/* An argument as it was when the list was written. */
typedef struct jn_replay_arg {
    uint8_t kind;          /* janus_kind */
    bool fixed;            /* it must lie where it lay: another one lies there, too */
    uint32_t moves;        /* 1 + the first of the places that go with it; 0: none */
    const jn_shape *shape; /* TENSOR */
    char *data;            /* where it lies */
    int64_t bits;          /* of a scalar */
} jn_replay_arg;

typedef struct jn_replay_move {
    void *place;   /* of a pointer */
    uint32_t next; /* as jn_replay_arg.moves */
} jn_replay_move;

/* The memory of argument b does not begin `bytes` behind that of a: rows were gathered. */
typedef struct jn_replay_apart {
    uint32_t a, b;
    size_t bytes;
} jn_replay_apart;

struct jn_replay_call;
/* Calls one after the other, of a range of rows or of all. */
typedef struct jn_replay_part {
    struct jn_replay_call *first, **tail;
    uint32_t flags; /* of the kernels */
    const struct jn_vnode *failed;
} jn_replay_part;

/* Parts of which none waits for another one. */
typedef struct jn_replay_stage {
    struct jn_replay_stage *next;
    uint32_t n;
    jn_replay_part part[];
} jn_replay_stage;

typedef struct jn_replay {
    jn_arena arena;
    jn_replay_stage *first, *last;
    jn_replay_part *part; /* what is called now is written there */
    bool in_parts;        /* a stage has several */
    jn_pace pace;
    uint32_t n_args, n_calls;
    jn_replay_arg *arg;
    jn_bound *bound; /* of the arguments, and their slots; in `mem` */
    jn_slot *slots, *results;
    JN_VEC(jn_replay_move) moves;
    JN_VEC(jn_replay_apart) apart;
    JN_VEC(uint32_t) given; /* arguments that are results */
    jn_kept kept;           /* of weights among the arguments */
    jn_mem *mem;
    jn_run *idle; /* for the next run of the list, or NULL */
    jn_scratch scratch[JN_MAX_RANGES];
    janus_run_stats stats;
    uint64_t kernels; /* written down */
    uint64_t seen;    /* jn_run.known of the run that it was last */
    int threads;
    bool exact;
    bool spoiled; /* something was done that the list does not have */
    bool written;
    uint8_t misses; /* runs that it did not fit */
} jn_replay;

/* An empty list; NULL: out of memory. */
jn_replay *jn_replay_new(uint32_t n_args);
void jn_replay_free(jn_replay *p);
/* Bytes of its scratch memory. */
size_t jn_replay_scratch(const jn_replay *p);

/* ---- writing: what fails spoils the list ---- */

/* Calls of range `range` of a group of so many come next. */
void jn_replay_range(jn_replay *p, uint32_t range, uint32_t ranges);
/* Whether calls of that range have been written down: what they point to stays. */
bool jn_replay_has(const jn_replay *p, uint32_t range);
/* A kernel is about to be called with these operands. */
void jn_replay_kernel(jn_replay *p, const struct jn_vnode *vn, const jn_kargs *k);
void jn_replay_chain(jn_replay *p, const struct jn_chain *c, const jn_segment *seg,
                     const struct jn_operands *data, const jn_par *par);
void jn_replay_copy(jn_replay *p, char *to, const char *from, size_t bytes);
/* A copy that stays; NULL: the list is spoiled. */
char *jn_replay_keep(jn_replay *p, const char *from, size_t bytes);
/* Of rows of a group that were gathered, and that lie one behind the other. */
void jn_replay_differ(jn_replay *p, const jn_tval *a, const jn_tval *b, size_t bytes);
void jn_replay_fix(jn_replay *p, const jn_tval *v);
/* One of the results; NULL: none. */
void jn_replay_gives(jn_replay *p, const jn_tval *v);
/* Once the arguments are known: those that lie in each other's memory stay there. */
void jn_replay_overlaps(jn_replay *p);

/* ---- running ---- */

/* Whether the arguments may lie at data[]; then their places are moved. */
bool jn_replay_moves(jn_replay *p, char *const *data);
janus_status jn_replay_run(jn_replay *p);

#endif
