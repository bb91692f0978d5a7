/* SPDX-License-Identifier: Apache-2.0 */
/* What plans and runs are made of, for the rooms that work on them: a struct for each, and no
 * function of a room above. */
#ifndef JN_EXEC_STATE_H
#define JN_EXEC_STATE_H

#include <pthread.h>

#include "exec/state/future.h"
#include "exec/state/run_device.h"
#include "exec/state/task.h"
#include "exec/state/values.h"

/* An invariant, as a status: in debug builds (configure --enable-checks, and those with sanitizers)
 * what breaks one fails the run with JANUS_INTERNAL; in others nothing is computed of it. */
#ifdef JN_CHECKED
#define JN_CHECK_THAT(status) JN_TRY(status)
#define JN_CHECKED_STATUS(status) (status)
#else
#define JN_CHECK_THAT(status) ((void)0)
#define JN_CHECKED_STATUS(status) JANUS_OK
#endif

/* A pointer to a box. */
static inline bool jn_is_tagged(const void *o) { return ((uintptr_t)o & 1) != 0; }

/* A scalar or tensor standing where an object is expected: what the log put there, or a get_attr
 * that returned an unboxed value.  Pointers to boxes are tagged with their lowest bit. */
typedef struct jn_box {
    janus_kind kind;
    jn_slot v;
} jn_box;

/* An effect as logged: tensors are still promises. */
typedef struct jn_pending_effect {
    jn_effect_kind kind;
    janus_object object;
    int64_t index, tag;
    jn_box key, value;
    jn_tval *target;
    jn_box *items;
    uint32_t n_items;
    const jn_place *place; /* in program order; NULL: before all places */
    size_t number;         /* in the order logged */
} jn_pending_effect;

struct jn_overlay_entry;
struct jn_tuple_key;
typedef struct jn_early jn_early;

/* What jn_run_stores has said. */
typedef struct jn_wired { /* a tensor of the log, or one that was read, that has a number */
    janus_object object;  /* what it became, or was; borrowed */
    int64_t number;
    char *place; /* where frames have it */
} jn_wired;

typedef struct jn_result_store {
    unsigned result, when;
    janus_tensor *target;
    bool only;
} jn_result_store;

/* A store that the commit makes, found when all else has been issued (exec/schedule/late.c). */
typedef struct jn_store {
    jn_tval *value;
    janus_tensor *target;
    const char *lo, *hi; /* the target's memory */
    bool only;           /* nothing else is done with the value's promise */
    bool alone;          /* no other store writes there */
} jn_store;

/* Temporaries of the tiles of one range of rows. */
typedef struct jn_scratch {
    char *data;
    size_t bytes, most; /* most: that a tile has needed */
} jn_scratch;

/* What a room keeps of a run is its own: a struct for each, which files of no other room touch
 * (tests/lint/rooms.sh); what they need they ask a function of the room's header. */

/* exec/schedule: the tensor strand. */
typedef struct jn_of_schedule {
    struct jn_trace *trace; /* what groups are written down to instead of being launched, or NULL */
    char *(*result_memory)(jn_run *r,
                           size_t bytes); /* memory for what groups give; NULL: of the run */
    JN_VEC(jn_task *) pending;            /* in issue order; a worker may have the first of them */
    uint32_t max_level;
    size_t pending_bytes;  /* outputs the pending tasks will need */
    size_t flush_bytes;    /* of them start a flush */
    uint64_t pending_cost; /* elements of their work */
    uint64_t early_at;     /* the cost from which on a worker may start (exec/schedule/early.h) */
    uint32_t early_tasks;  /* and how many tasks, or from which on it may get more */
    jn_early *early;       /* who has the first of the pending tasks, or NULL */
    JN_VEC(uint32_t) deps; /* of the pending tasks */
    jn_scratch scratch[JN_MAX_RANGES];
    struct jn_packs *packs[JN_MAX_RANGES]; /* of products, by part; NULL: none yet */
    jn_table *tables;                      /* in use (exec/schedule/rows.h) */
    JN_VEC(jn_result_store) result_stores;
    JN_VEC(jn_store) stores; /* of results and of the log, by address */
    bool stores_overlap;     /* some of them */
    jn_late *late;           /* tasks for apply, in issue order */
    struct jn_replay *list;  /* what is called is written down there; or NULL */
} jn_of_schedule;

/* exec/heap: what is known of host objects, and the log. */
typedef struct jn_of_heap {
    JN_VEC(jn_pending_effect) effects;
    struct jn_overlay_entry *overlay;
    struct jn_tuple_key *tuple_keys; /* that dicts were asked for */
    JN_VEC(jn_effect) log;
    JN_VEC(janus_tensor *) made; /* tensors made for the log */
    struct jn_wrapped *wrapped;  /* objects the tensors of the log became */
    struct jn_wire *wires;       /* by tensor (exec/heap/wire.h) */
    int64_t n_wires;
    JN_VEC(jn_tval *) wire_sums; /* by number; NULL: none */
    JN_VEC(uint8_t) wire_marks;  /* by number: what wire.mark said */
    JN_VEC(jn_wired) found;      /* what was read and takes gradients; none has a place */
    struct jn_list_row *rows;    /* that have a gradient, by key (exec/heap/list_rows.h) */
    int64_t n_lists;             /* whose rows have keys */
} jn_of_heap;

/* exec/plan: marks taken off (exec/plan/watch.h). */
typedef struct jn_of_plan {
    JN_VEC(jn_mark) met;
} jn_of_plan;

/* What is known of an argument of runs with one number (jn_run_knows). */
enum jn_known {
    JN_UNKNOWN,
    JN_KNOWN_LOOK,  /* its dtype, dims and device; it is dense */
    JN_KNOWN_TENSOR /* the same, and it is the same tensor */
};

struct jn_run {
    jn_planset *set;
    const jn_subgraph *sub;
    jn_plan *entry;
    jn_mem *mem;
    janus_run_options options;
    janus_host_ops host; /* copy: callbacks newer than the caller's struct are NULL */
    const jn_run_device *on;
    struct jn_device *dev; /* whose memory the run's is; NULL: the host's */
    bool exact;
    bool keeps;      /* frames are kept or accumulators in use: nothing can be collected */
    bool away;       /* the embedding program's lock is given up */
    bool containers; /* the log writes to lists or dicts that are not its own */
    bool finished, prepared;
    bool borrows;         /* arguments are held by the caller */
    bool aside;           /* no task is late */
    bool rests;           /* its memory is gone */
    bool replays;         /* its memory is that of its plan's list, whose calls it has made */
    int64_t next_poll_ns; /* on the monotonic clock */
    uint64_t rng_offset;
    jn_slot *args, *results;
    uint64_t known;           /* as jn_run_knows() has it, or 0 */
    const uint8_t *is_known;  /* per argument: a jn_known */
    jn_place *here;           /* of the instruction that runs, where frames are suspended */
    const jn_cells *operands; /* of the host operation that runs now; NULL: no futures */
    jn_future *free_futures;
    janus_run_stats stats;

    jn_of_schedule of_schedule;
    jn_of_heap of_heap;
    jn_of_plan of_plan;
    jn_strand of_strand; /* exec/strand (exec/state/future.h) */
};

/* exec/state/clock.c: lets the caller's poll cancel the run, at most every 50 ms; on the run's
 * thread.
 */
janus_status jn_run_poll(jn_run *r);
/* The same for who has looked at the clock just now. */
janus_status jn_run_poll_at(jn_run *r, int64_t now);
/* The embedding program's lock, around long tensor work (host.leave and host.enter). */
void jn_run_leave(jn_run *r);
void jn_run_enter(jn_run *r);
/* Waits for what a device has of the run, and says what of it has failed. */
static inline janus_status jn_run_failures(const jn_run *r) {
    return JN_UNLIKELY(r->on->failures != NULL) ? r->on->failures(r->dev) : JANUS_OK;
}
/* exec/state/clock.c: nanoseconds on the monotonic clock. */
int64_t jn_run_clock(void);
/* Who runs groups: the run's own thread alone, or one of several threads that run tasks which do
 * not depend on each other (exec/schedule/lanes.c). */
typedef struct jn_lane {
    jn_run *run;
    uint32_t index;        /* of its parts of accumulators, its scratch, its variants */
    pthread_mutex_t *lock; /* held while what the run owns changes; NULL: alone */
    atomic_bool *stop;     /* set when a lane has failed; NULL: alone */
    bool polls;            /* it is on the run's own thread */
    bool stopped;          /* because another one failed */
    uint32_t window;       /* all tasks there are, where it has them; 0: not known */
    uint64_t batches, tasks, kernels, ops;
} jn_lane;

static inline void jn_lane_lock(const jn_lane *l) {
    if (l->lock)
        pthread_mutex_lock(l->lock);
}
static inline void jn_lane_unlock(const jn_lane *l) {
    if (l->lock)
        pthread_mutex_unlock(l->lock);
}
/* Adds what it has done to the run's figures; on the run's thread. */
static inline void jn_lane_count(const jn_lane *l) {
    l->run->stats.batches += l->batches;
    l->run->stats.tasks += l->tasks;
    l->run->stats.kernels += l->kernels;
    l->run->stats.ops += l->ops;
}

/* The box behind a tagged object pointer; NULL: a plain object. */
static inline jn_box *jn_box_of(void *p) {
    return (uintptr_t)p & 1 ? (jn_box *)((uintptr_t)p & ~(uintptr_t)1) : NULL;
}

/* A list, tuple or dict made by host.new.  A slot refers to it as to any box. */
typedef struct jn_birth {
    jn_box box; /* kind JN_KIND_BIRTH */
    uint8_t what;
    uint32_t n;
    jn_box *items;     /* of a tuple */
    janus_object real; /* NULL: it does not outlive the run */
    bool outlives;
    uint32_t entries; /* of the log, linked while it is looked through (exec/heap/escape.c) */
} jn_birth;

enum { /* kinds of boxes that are no janus_kind */
       JN_KIND_BIRTH = 64,
       JN_KIND_ABSENT = 65, /* a location whose value was deleted */
       JN_KIND_LATER = 256  /* added: v.p is a future of what is there */
};

/* What a box is now: a future that is done is its value. */
jn_box jn_box_now(jn_box b);

/* NULL: an object of the embedding program. */
static inline jn_birth *jn_birth_of(janus_object o) {
    jn_box *b = jn_box_of(o);
    return b && (int)b->kind == JN_KIND_BIRTH ? (jn_birth *)(void *)b : NULL;
}

#endif
