/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in a slot while its value is not there yet, and who waits for it
 * (exec/strand/suspend.h). */
#ifndef JN_EXEC_FUTURE_H
#define JN_EXEC_FUTURE_H

#include "exec/state/effects.h"
#include "exec/state/task.h"
#include "exec/state/values.h"

typedef struct jn_future jn_future;
typedef struct jn_wait jn_wait;
typedef struct jn_place jn_place;
typedef struct jn_async jn_async;

enum { JN_FEW = 3 };

struct jn_future {
    jn_slot v;       /* when done */
    jn_future *same; /* stands for that one from now on */
    jn_wait *waits, **tail;
    jn_tval *of; /* done when this tensor is computed: its element, read as `kind` */
    uint32_t refs;
    uint8_t kind;
    bool done;
};

/* A parked frame, or an instruction put off. */
struct jn_wait {
    jn_wait *next; /* waiting for the same future, or put off and ready */
    jn_frame *f;
    const jn_instr *in;
    jn_place *place; /* NULL: an instruction put off */
    jn_effects effects;
    jn_future **outs; /* of an instruction put off: its results */
    jn_future *few[JN_FEW];
    const uint32_t *dst; /* their slots */
    uint32_t n_outs;
    jn_wait *prev_live, *next_live;
};

struct jn_place {
    uint64_t label;
    jn_place *prev, *next;
    jn_wait *wait; /* the frame parked here */
    bool logged;   /* entries of the log are here */
};

/* Beside the slots of a frame, or the carried values of a loop: which of them are futures. */
struct jn_async {
    jn_async *next; /* with futures in slots */
    jn_slot *slot;
    uint32_t n, n_slots;
    bool listed;
    /* of a frame */
    bool detached;    /* its caller has gone on: results go to outs */
    bool returned;    /* but instructions put off still need it */
    bool kept;        /* it is kept for a gradient */
    uint32_t put_off; /* instructions put off, loops that go on by themselves */
    uint32_t seen;    /* by a collection */
    jn_future **outs;
    uint32_t n_outs;
    jn_future *complete; /* detached and kept: done when it has returned */
    uint64_t bits[];
};

/* Slots that may hold futures. */
typedef struct jn_cells {
    jn_slot *slot;
    jn_async **async;
    uint32_t n;
} jn_cells;

typedef struct jn_strand {
    size_t collect_at; /* bytes of tensors that start a collection */
    jn_loop_state *free_loops;
    int64_t poll_countdown;
    uint32_t n_looks;           /* for recursions without end (exec/strand/endless.c) */
    int64_t asserts_to_failure; /* JANUS_FAIL_ASSERT: the n-th assertion of a run fails; 0: off,
                                   -1: not looked at yet */
    bool on;                    /* slow mode */
    bool yield;                 /* somebody has run for long: let the parked frames go on */
    bool restart;               /* flush before anything else runs */
    uint32_t n_parked, n_put_off, n_detached, collection;
    jn_effects any; /* of the frames parked since there were none */
    jn_place *first, *last;
    jn_wait *step;                /* instruction put off that runs now */
    jn_wait *ready, **ready_tail; /* instructions put off that can run */
    JN_VEC(jn_wait *) heap;       /* parked frames that can go on, first place on top */
    JN_VEC(jn_future *) values;   /* futures of tensors */
    jn_async *dirty;
    jn_wait *live; /* all */
    jn_frame *entry;
    const jn_instr *entry_return;
    jn_wait *free_waits;
    jn_place *free_places;
} jn_strand;

static inline jn_cells jn_frame_cells(jn_frame *f) {
    return (jn_cells){f->slot, &f->async, f->plan->n_slots};
}
static inline jn_cells jn_loop_cells(jn_loop_state *s) {
    return (jn_cells){s->carried, &s->async, s->cap};
}

/* Whether slot i holds a future. */
static inline bool jn_cell_marked(const jn_async *a, uint32_t i) {
    return a && a->n && (a->bits[i >> 6] >> (i & 63) & 1);
}
/* It does no more. */
static inline void jn_cell_unmark(jn_async *a, uint32_t i) {
    a->bits[i >> 6] &= ~((uint64_t)1 << (i & 63));
    a->n--;
}

/* The one that a future stands for. */
static inline jn_future *jn_future_last(jn_future *f) {
    while (f->same)
        f = f->same;
    return f;
}
void jn_future_release(jn_run *r, jn_future *f);
/* The future in a slot; NULL: the slot has its value (now).  Asked of every operand while frames
 * wait: most slots are marked in none.  jn_pending_now: of one that is. */
jn_future *jn_pending_now(jn_run *r, jn_async *a, uint32_t i);
static inline jn_future *jn_pending(jn_run *r, jn_cells c, uint32_t i) {
    return i != JN_NO_SLOT && jn_cell_marked(*c.async, i) ? jn_pending_now(r, *c.async, i) : NULL;
}

#endif
