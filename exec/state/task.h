/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run-time records: promises of tensors, tasks, accumulators, frames, and the memory they live in.
 *
 * Everything here is allocated from a jn_mem: chunks that belong to a run while it goes on, and to
 * whoever holds a frame value of it afterwards.  A mem nobody holds is reused by the next run of
 * the plan set, pages warm.
 */
#ifndef JN_EXEC_TASK_H
#define JN_EXEC_TASK_H

#include <stdatomic.h>

#include "exec/state/plan.h"
#include "exec/state/run_device.h"
#include "exec/store/store.h"

typedef struct jn_task jn_task;
typedef struct jn_table jn_table;
typedef struct jn_rows jn_rows;
typedef struct jn_product jn_product;
typedef struct jn_late jn_late;

/* One tensor of the tensor strand: promised by a task, or concrete (task NULL, level 0). */
typedef struct jn_tval {
    char *data; /* NULL until the task has run; row-major */
    const jn_shape *shape;
    jn_task *task;
    janus_tensor *tensor; /* concrete: the caller's tensor, kept by the mem, for STORE */
    janus_tensor *dense;  /* concrete: row-major tensor that `data` is of, kept by the mem */
    struct jn_rows *rows; /* what there is instead of data (exec/schedule/rows.h); NULL: all */
} jn_tval;

/* A concrete one, with the host object that the tensor is. */
typedef struct jn_bound {
    jn_tval v;
    void *object; /* NULL: not known */
} jn_bound;

static inline void *jn_tval_object(const jn_tval *v) {
    return v->dense ? ((const jn_bound *)(const void *)v)->object : NULL;
}

/* A frame's pass through one segment. */
struct jn_task {
    jn_task *next; /* within a group while it is put together */
    jn_seginst *inst;
    uint32_t level;
    uint32_t id;                /* within a flush: its place in issue order */
    uint32_t n_deps, first_dep; /* the ids of those pending that it waits for: jn_run.deps */
    bool done;                  /* the flush that it belongs to has come to its end */
    const jn_task *leader;      /* the first of the group that it ran in; NULL: none yet */
    jn_late *late; /* whether it waits for the commit (exec/schedule/late.h); NULL: no */
    jn_tval **in;
    int64_t *scalars;
    struct jn_acc **accs;
    jn_tval out[]; /* n_outputs */
};

/* Whether its elements can be looked at by the host strand: a task that is running may have set
 * `data` already. */
static inline bool jn_tval_ready(const jn_tval *v) {
    return !(v->task && !v->task->done) && v->data;
}

/* What one lane, or one range of rows, has added to a sum. */
typedef struct jn_acc_part {
    jn_table *table; /* rows */
    char *data;      /* a block; NULL: none */
    bool written;
    jn_product *products; /* put off */
    size_t product_bytes; /* of their factors, collected and not multiplied */
} jn_acc_part;

/* A sum that tasks add to (exec/schedule/acc.h). */
typedef struct jn_acc {
    const jn_shape *shape;
    bool used;  /* something has been added */
    bool rows;  /* rows of a table are kept as such */
    bool dense; /* something else than rows has been added */
    bool read;
    janus_tensor *tensor; /* whose memory part[0].data is; NULL on a device */
    jn_tval value;        /* what acc.get gave */
    jn_acc_part part[JN_MAX_RANGES];
} jn_acc;

typedef struct jn_chunk {
    char *data;
    size_t bytes, used;
    struct jn_dev_block *block; /* of device memory; NULL: the host's */
} jn_chunk;

/* The tensor that a large result is computed in, until it is exported. */
typedef struct jn_given {
    janus_tensor *tensor;
    const jn_tval *of;
} jn_given;

/* Memory of one run: a bump arena for records and frames, 64-byte aligned chunks for tensors. */
typedef struct jn_mem {
    atomic_int refs;   /* of a run or a plan set that keeps it: 1; of each frame value: 1 */
    atomic_int frames; /* frame values that hold it */
    jn_arena arena;    /* frames, accumulators, lists */
    jn_arena tasks;    /* tasks and promises; emptied by a collection */
    JN_VEC(jn_chunk) chunks;
    size_t chunk_at, first_chunk;         /* where the next tensor goes; the first it may go to */
    JN_VEC(size_t) again;                 /* chunks that were given back and will be asked for */
    JN_VEC(jn_chunk) apart;               /* blocks that may go back before the run ends */
    size_t apart_bytes, apart_most;       /* of these; the most there were */
    const jn_run_device *on;              /* where the chunks are */
    struct jn_device *dev;                /* and whose; NULL: the host's */
    JN_VEC(struct jn_capture *) captures; /* held: values lie in their arenas */
    struct jn_growing {
        char *end, *limit;
    } growing[4];   /* where the last values with room behind them end, and how far that goes */
    unsigned grown; /* how many there have been */
    size_t bytes, ceiling;        /* of chunks; with those of `apart` at most that */
    size_t asked, peak;           /* bytes asked for and not dropped; their maximum */
    size_t expected;              /* what a run is likely to ask for */
    JN_VEC(janus_tensor *) owned; /* tensors kept alive */
    JN_VEC(jn_given) given;
    const janus_module *module; /* retained while a frame value holds this */
} jn_mem;

struct jn_frame {
    jn_plan *plan;
    jn_frame *parent;
    const jn_instr *resume; /* instruction of the parent after the call */
    const jn_call *call;    /* NULL for loops' iterations and the entry */
    struct jn_loop_state *loop;
    struct jn_async *async; /* suspension (exec/strand/suspend.h); NULL: never touched by it */
    jn_slot slot[];
};

/* Iteration frames of a saved loop. */
typedef struct jn_frame_list {
    jn_frame **frame;
    uint32_t n, cap;
} jn_frame_list;

/* A loop in progress, linked from its iteration's frame. */
typedef struct jn_loop_state {
    const jn_loop *loop;
    const jn_instr *resume;
    jn_frame *parent;
    int64_t i, n;
    jn_slot *carried; /* current values */
    struct jn_async *async;
    bool in_cond;
    bool detached; /* the parent has gone on: results go to outs */
    struct jn_future **outs;
    jn_frame_list *saved;
    uint32_t cap; /* of carried */
    struct jn_loop_state *free_next;
} jn_loop_state;

struct jn_frame_value {
    atomic_int refs;
    jn_mem *mem;
    jn_slot frame; /* of the call: a frame or a list */
    const jn_subgraph *sub;
};

/* refs 1; NULL: out of memory */
jn_mem *jn_mem_new(const jn_run_device *on, struct jn_device *dev);
void jn_mem_retain(jn_mem *m);
void jn_mem_release(jn_mem *m);
/* What a frame value does to the memory it is in. */
void jn_mem_hold(jn_mem *m);
void jn_mem_let_go(jn_mem *m);
/* exec/state/mem_check.c: that a run has it, beside frame values, and nobody else; that what it
 * keeps alive has as many references, and its chunks are as they say.  `empty`: nothing is in it.
 * JANUS_INTERNAL names what is wrong, and when. */
janus_status jn_mem_check(const jn_mem *m, const char *when, bool empty);
/* Gives the first n chunks back. */
void jn_mem_drop_first(jn_mem *m, size_t n);
/* The most bytes of chunks that the run had in use. */
size_t jn_mem_peak(const jn_mem *m);
/* Runs like this one will ask for so much. */
void jn_mem_expect(jn_mem *m, size_t bytes);
/* Tensors that it keeps alive are let go. */
void jn_mem_drop_owned(jn_mem *m);
/* Empties it for the next run; keeps some chunks. */
void jn_mem_reset(jn_mem *m);
/* What is taken from here on goes to new chunks behind those there are. */
void jn_mem_turn(jn_mem *m);
/* Where the next tensor goes, and back to there: what was taken since is free again.  Of a device.
 */
typedef struct jn_mem_mark {
    size_t at, used, asked;
} jn_mem_mark;
jn_mem_mark jn_mem_here(const jn_mem *m);
void jn_mem_back(jn_mem *m, jn_mem_mark mark);
/* What it holds: frames, tasks and tensors. */
static inline size_t jn_mem_bytes(const jn_mem *m) {
    return m->arena.bytes + m->tasks.bytes + (m->on->host ? m->bytes : 0);
}
/* 64-byte aligned tensor memory; NULL when out of memory or over the ceiling. */
char *jn_mem_tensor(jn_mem *m, size_t bytes);
/* `bytes` that begin with the `have` bytes at `data`, which have been written: there, with what is
 * behind them, if it is nobody's yet; or elsewhere, with as much room behind them.  NULL as above.
 */
char *jn_mem_grow(jn_mem *m, char *data, size_t have, size_t bytes);
/* The same as a block of its own, and giving it back, which the run's end does else. */
char *jn_mem_apart(jn_mem *m, size_t bytes);
void jn_mem_apart_done(jn_mem *m, const char *block);

#endif
