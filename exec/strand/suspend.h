/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suspension of frames.
 *
 * A step of the host strand that needs a value which is not there yet (a tensor's element, a result
 * of a suspended call) suspends its frame only.  What is not there is a *future*: it stands in the
 * slots that will hold the value, and a bit says so.  Instructions without effects whose operands
 * are futures are put off one by one; anything else *parks* its frame: its caller goes on with
 * futures in place of the call's results, a loop with its next iteration.  When nothing can go on,
 * one flush serves all that wait, and the parked frames go on in program order.
 *
 * Program order is kept by *places*: an ordered list, one place per parked frame and one for what
 * runs now.  An effect (exec/strand/effects.h) waits while a frame parked at an earlier place may
 * still have one that it does not commute with; entries of the log are sorted by place.  What is
 * parked when depends on the inputs alone.
 *
 * All of this costs nothing until the first frame is parked: the host strand has a slow mode
 * (exec/strand/host_slow.c), which is on while anything is put off or parked.
 */
#ifndef JN_EXEC_SUSPEND_H
#define JN_EXEC_SUSPEND_H

#include "exec/run/run.h"
#include "exec/state/task.h"
#include "exec/strand/effects.h"

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
    bool on;      /* slow mode */
    bool yield;   /* somebody has run for long: let the parked frames go on */
    bool restart; /* flush before anything else runs */
    uint32_t n_parked, n_put_off, n_detached, collection;
    jn_effects any; /* of the frames parked since there were none */
    jn_place *first, *last, *here;
    jn_wait *step;                /* instruction put off that runs now */
    jn_wait *ready, **ready_tail; /* instructions put off that can run */
    JN_VEC(jn_wait *) heap;       /* parked frames that can go on, first place on top */
    JN_VEC(jn_future *) values;   /* futures of tensors */
    jn_async *dirty;
    jn_wait *live;            /* all */
    const jn_cells *operands; /* of the host operation that runs now; NULL: no futures */
    jn_frame *entry;
    const jn_instr *entry_return;
    jn_wait *free_waits;
    jn_future *free_futures;
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

/* Makes the record beside the slots. */
janus_status jn_async_of(jn_run *r, jn_cells c);
/* The future in a slot; NULL: the slot has its value (now). */
jn_future *jn_pending(jn_run *r, jn_cells c, uint32_t i);
/* Puts a new future into a slot; with a reference for the caller. */
janus_status jn_promise(jn_run *r, jn_cells c, uint32_t i, jn_future **out);
/* The one that a future stands for. */
static inline jn_future *jn_future_last(jn_future *f) {
    while (f->same)
        f = f->same;
    return f;
}
/* The future that a host operation cannot do without (exec/heap/host_ops.c); NULL: it can be done.
 * What it only stores may be one. */
jn_future *jn_host_waits_for(jn_run *r, const jn_host_call *c, jn_cells cells);
/* Whether the step may be put off: it reads its operands only. */
bool jn_host_pure(const jn_host_call *c);
/* A future that stands nowhere; NULL: out of memory. */
jn_future *jn_future_new(jn_run *r);
/* Slot i becomes what slot k of `from` is, value or future; JN_NO_SLOT: nothing. */
janus_status jn_cell_copy(jn_run *r, jn_cells from, uint32_t k, jn_cells to, uint32_t i);
/* Slots are about to be reused. */
void jn_cells_forget(jn_run *r, jn_cells c);
/* The value of a future becomes that of slot i, or of the future that stands there; drops the
 * caller's reference. */
void jn_fulfil(jn_run *r, jn_future *f, jn_cells c, uint32_t i);
/* A future done when the tensor is computed; the reference is the list's. */
janus_status jn_value_future(jn_run *r, jn_tval *v, uint8_t kind, jn_future **out);
/* Makes a promised result the element of a tensor. */
janus_status jn_value_of(jn_run *r, jn_future *f, jn_tval *v, uint8_t kind);
void jn_future_release(jn_run *r, jn_future *f);

/* Parks a frame before instruction `in`, waiting for `on`, NULL: ready.  It keeps the current
 * place; `alone`: its callers wait with it. */
janus_status jn_park(jn_run *r, jn_frame *f, const jn_instr *in, jn_future *on, bool alone);
/* What ran here has ended or is parked: the place is used no more, or by that. */
void jn_place_leave(jn_run *r);
/* A new place behind the current one. */
janus_status jn_place_next(jn_run *r);
/* Puts an instruction off until `on` is done. */
janus_status jn_put_off(jn_run *r, jn_frame *f, const jn_instr *in, jn_future *on,
                        const uint32_t *dst, uint32_t n_dst);
/* Waits for another future. */
void jn_wait_for(jn_wait *w, jn_future *on);
void jn_wait_drop(jn_run *r, jn_wait *w);
/* The parked frame to go on with; NULL: none is ready. */
jn_wait *jn_next_ready(jn_run *r);
/* Flushes and fulfils the futures of tensors. */
janus_status jn_serve_values(jn_run *r);
/* Whether an effect must wait for a frame parked earlier. */
bool jn_must_wait(const jn_run *r, jn_effects e);
/* Every slot has its value: slow mode ends. */
void jn_settle(jn_run *r);
void jn_strand_free(jn_run *r);

#endif
