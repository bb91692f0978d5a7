/* SPDX-License-Identifier: Apache-2.0 */
/* The host strand's own: frames and calls, as host.c, host_loop.c and host_slow.c share them. */
#ifndef JN_EXEC_HOST_H
#define JN_EXEC_HOST_H

#include <string.h>

#include "exec/heap/heap.h"
#include "exec/plan/plan.h"
#include "exec/schedule/schedule.h"
#include "exec/state/state.h"
#include "exec/strand/strand.h"
#include "graph/base/status.h"

static inline jn_frame *jn_frame_make(jn_run *r, const jn_plan *p) {
    jn_frame *f = jn_arena_alloc(&r->mem->arena, p->frame_bytes);
    if (f)
        f->async = NULL;
    return f;
}

/* Slots of plans with tensors start empty: a collection looks at all of them. */
static inline jn_frame *jn_frame_new(jn_run *r, jn_plan *p) {
    jn_frame *f = p->free_frames;
    if (JN_LIKELY(f != NULL))
        p->free_frames = f->parent;
    else
        f = jn_frame_make(r, p);
    if (p->has_tensors && f)
        memset(f->slot + p->n_params, 0, (p->n_slots - p->n_params) * sizeof(jn_slot));
    return f;
}

static inline void jn_frame_free(jn_frame *f) {
    f->parent = f->plan->free_frames;
    f->plan->free_frames = f;
}

static inline janus_status jn_ready(jn_run *r, jn_plan *p) {
    jn_plan *same;
    return JN_LIKELY(p->compiled) ? JANUS_OK : jn_plan_get(r->set, p->sub, p->saved, &same);
}

/* Every so many calls and iterations: signals, and a chance for suspended frames; `f` is the newest
 * frame. */
janus_status jn_poll_now(jn_run *r, const jn_frame *f);
/* endless.c: fails where a recursion, of whose frames `top` is the newest, does not end. */
janus_status jn_look_for_end(jn_run *r, const jn_frame *top);

static inline janus_status jn_push_call(jn_run *r, const jn_call *c, jn_plan *p, jn_frame *f,
                                        const jn_instr *resume, jn_frame **out) {
    JN_TRY(jn_ready(r, p));
    if (JN_UNLIKELY(--r->of_strand.poll_countdown <= 0))
        JN_TRY(jn_poll_now(r, f));
    r->keeps |= p->saved;
    jn_frame *g = jn_frame_new(r, p);
    if (JN_UNLIKELY(!g))
        return JN_NO_MEMORY();
    g->plan = p;
    g->parent = f;
    g->resume = resume;
    g->call = c;
    g->loop = NULL;
    r->stats.invokes += c->cond == JN_NO_SLOT; /* arms are no calls */
    const uint32_t *a = c->args.slot;
    for (uint32_t i = 0, n = c->args.n; i < n; i++)
        g->slot[i] = a[i] == JN_NO_SLOT ? (jn_slot){.p = NULL} : f->slot[a[i]];
    *out = g;
    return JANUS_OK;
}

static inline jn_plan *jn_grad_arm(const jn_call *c, const jn_frame *saved) {
    return saved && c->sub[1] && c->sub[1]->primal == saved->plan->sub ? c->callee[1]
                                                                       : c->callee[0];
}

/* Loops (host_loop.c): *f and *pc are where the strand goes on. */
janus_status jn_loop_begin(jn_run *r, const jn_instr *in, jn_frame **f, const jn_instr **pc);
/* An evaluation of cond or body has returned. */
janus_status jn_loop_returned(jn_run *r, jn_frame *done, const jn_slots *results, jn_frame **f,
                              const jn_instr **pc);
/* The iteration has been suspended: its results are futures, the loop goes on. */
janus_status jn_loop_detach(jn_run *r, jn_frame *f, jn_frame **next, const jn_instr **pc);
/* The frame's caller goes on: its results will be futures, `n_outs` of them, made by the caller. */
janus_status jn_frame_detach(jn_run *r, jn_frame *f, uint32_t n_outs, bool kept);
/* A detached frame has come to its end. */
void jn_frame_fulfil(jn_run *r, jn_frame *f, const jn_slots *results);
/* A frame has ended; kept: for a gradient. */
void jn_frame_end(jn_run *r, jn_frame *f, bool kept);
/* One thing less that goes on in a frame by itself. */
void jn_put_off_done(jn_run *r, jn_frame *f);

/* What one instruction comes to in slow mode (host_slow.c). */
typedef enum jn_slow { JN_SLOW_RUN, JN_SLOW_DONE } jn_slow;
/* RUN: (*pc)[-1] of *f is to be executed as usual; DONE: the strand goes on at *pc of *f. */
janus_status jn_slow_step(jn_run *r, jn_frame **f, const jn_instr **pc, jn_slow *what);
/* Slow mode begins. */
janus_status jn_slow_begin(jn_run *r);

#endif
