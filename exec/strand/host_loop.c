/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops of the host strand: their state stands beside the frame of the running iteration.
 *
 * An iteration that is suspended leaves futures among the carried values, and the loop goes on; a
 * suspended condition suspends the loop, whose caller goes on with futures for its results.
 */
#include "config.h"

#include "exec/plan/plan.h"
#include "exec/strand/host.h"

enum { POLL_EVERY = 1 << 14 }; /* calls and iterations between two looks at the clock */

janus_status jn_poll_now(jn_run *r, const jn_frame *f) {
    r->of_strand.poll_countdown = POLL_EVERY;
    r->of_strand.yield = r->of_strand.n_parked > 0;
    if (JN_UNLIKELY(jn_mem_bytes(r->mem) > r->mem->ceiling))
        return jn_error(JANUS_NO_MEMORY, "the run's memory limit of %zu bytes is reached",
                        r->mem->ceiling);
    if (r->set->recurs)
        JN_TRY(jn_look_for_end(r, f));
    return jn_run_poll(r);
}

static jn_loop_state *loop_new(jn_run *r, const jn_loop *l, jn_frame *parent,
                               const jn_instr *resume) {
    jn_loop_state *s = r->of_strand.free_loops;
    if (s && s->cap >= l->carried.n) {
        r->of_strand.free_loops = s->free_next;
        *s = (jn_loop_state){.carried = s->carried, .cap = s->cap, .async = s->async};
    } else {
        s = jn_arena_zalloc(&r->mem->arena, sizeof *s);
        if (!s)
            return NULL;
        s->cap = l->carried.n + 4;
        s->carried = jn_arena_alloc(&r->mem->arena, s->cap * sizeof(jn_slot));
        if (!s->carried)
            return NULL;
    }
    for (uint32_t i = 0; i < l->carried.n; i++)
        s->carried[i] = l->carried.slot[i] == JN_NO_SLOT ? (jn_slot){.p = NULL}
                                                         : parent->slot[l->carried.slot[i]];
    s->loop = l;
    s->parent = parent;
    s->resume = resume;
    for (uint32_t i = 0; JN_UNLIKELY(r->of_strand.on) && i < l->carried.n; i++)
        if (jn_cell_copy(r, jn_frame_cells(parent), l->carried.slot[i], jn_loop_cells(s), i))
            return NULL;
    return s;
}

/* Pushes the frame of the next evaluation of `p` with the carried values from slot `first` on. */
static janus_status loop_push(jn_run *r, jn_loop_state *s, jn_plan *p, uint32_t first,
                              jn_frame **out) {
    JN_TRY(jn_ready(r, p));
    if (JN_UNLIKELY(--r->of_strand.poll_countdown <= 0))
        JN_TRY(jn_poll_now(r, s->parent));
    jn_frame *f = jn_frame_new(r, p);
    if (!f)
        return JN_NO_MEMORY();
    f->plan = p;
    f->parent = s->parent;
    f->resume = NULL;
    f->call = NULL;
    f->loop = s;
    memcpy(f->slot + first, s->carried, (p->n_params - first) * sizeof(jn_slot));
    for (uint32_t i = first; JN_UNLIKELY(r->of_strand.on) && i < p->n_params; i++)
        JN_TRY(jn_cell_copy(r, jn_loop_cells(s), i - first, jn_frame_cells(f), i));
    *out = f;
    return JANUS_OK;
}

static janus_status list_push(jn_run *r, jn_frame_list *l, jn_frame *f) {
    if (l->n == l->cap) {
        uint32_t cap = l->cap ? 2 * l->cap : 8;
        jn_frame **a = jn_arena_alloc(&r->mem->arena, cap * sizeof *a);
        if (!a)
            return JN_NO_MEMORY();
        if (l->n)
            memcpy(a, l->frame, l->n * sizeof *a);
        l->frame = a;
        l->cap = cap;
    }
    l->frame[l->n++] = f;
    return JANUS_OK;
}

static void loop_free(jn_run *r, jn_loop_state *s) {
    jn_cells_forget(r, jn_loop_cells(s));
    s->free_next = r->of_strand.free_loops;
    r->of_strand.free_loops = s;
}

/* Ends a loop whose parent has gone on. */
static janus_status detached_finish(jn_run *r, jn_loop_state *s, jn_frame **out,
                                    const jn_instr **pc) {
    const jn_loop *l = s->loop;
    for (uint32_t i = 0; i < l->results.n; i++)
        jn_fulfil(r, s->outs[i], jn_loop_cells(s), l->carried_at[i]);
    if (s->saved) {
        jn_slot list = {.p = s->saved};
        jn_async *none = NULL;
        jn_fulfil(r, s->outs[l->results.n], (jn_cells){&list, &none, 1}, 0);
    }
    r->of_strand.n_detached--;
    jn_put_off_done(r, s->parent);
    loop_free(r, s);
    *out = NULL;
    *pc = NULL;
    return JANUS_OK;
}

/* Ends the loop: carried values become the results; *out is the parent. */
static janus_status loop_finish(jn_run *r, jn_loop_state *s, jn_frame **out, const jn_instr **pc) {
    const jn_loop *l = s->loop;
    if (JN_UNLIKELY(l->unseen))
        JN_TRY(jn_watch_loop(r, (jn_loop *)l, s->i));
    if (JN_UNLIKELY(s->detached))
        return detached_finish(r, s, out, pc);
    for (uint32_t i = 0; i < l->results.n; i++)
        if (JN_UNLIKELY(r->of_strand.on))
            JN_TRY(jn_cell_copy(r, jn_loop_cells(s), l->carried_at[i], jn_frame_cells(s->parent),
                                l->results.slot[i]));
        else
            s->parent->slot[l->results.slot[i]] = s->carried[l->carried_at[i]];
    if (s->saved)
        s->parent->slot[l->frame_slot].p = s->saved;
    *out = s->parent;
    *pc = s->resume;
    loop_free(r, s);
    return JANUS_OK;
}

/* Gradients take iterations in reverse: the saved frame of this one, and its records. */
static void walk_lists(const jn_loop_state *s, jn_frame *f) {
    const jn_loop *l = s->loop;
    int64_t at = s->n - 1 - s->i;
    f->slot[0].frame = ((jn_frame_list *)s->parent->slot[l->list_slot].p)->frame[at];
    for (uint32_t i = 0; l->lists && i < l->carried.n; i++)
        if (f->plan->slot_kind[i + 1] == JANUS_KIND_FRAME)
            f->slot[i + 1].frame = ((jn_frame_list *)s->carried[i].p)->frame[at];
}

/* The next frame of a loop, or its end. */
static janus_status loop_step(jn_run *r, jn_loop_state *s, jn_frame **f, const jn_instr **pc) {
    const jn_loop *l = s->loop;
    jn_plan *p = l->cond;
    uint32_t first = 0;
    if (!l->cond) { /* foreach, gradients: count known */
        if (s->i >= s->n)
            return loop_finish(r, s, f, pc);
        p = l->body;
        first = 1;
    } else {
        s->in_cond = true;
    }
    JN_TRY(loop_push(r, s, p, first, f));
    if (!l->cond) {
        if (l->count != JN_NO_SLOT) {
            (*f)->slot[0].i = s->i;
        } else { /* gradient: iterations in reverse */
            walk_lists(s, *f);
        }
        s->i++;
    }
    *pc = p->code;
    return JANUS_OK;
}

/* An evaluation of cond or body has returned. */
janus_status jn_loop_returned(jn_run *r, jn_frame *done, const jn_slots *results, jn_frame **f,
                              const jn_instr **pc) {
    jn_loop_state *s = done->loop;
    const jn_loop *l = s->loop;
    if (s->in_cond) {
        s->in_cond = false;
        bool more = done->slot[results->slot[0]].i != 0;
        jn_frame_end(r, done, false);
        if (!more)
            return loop_finish(r, s, f, pc);
        JN_TRY(loop_push(r, s, l->body, 0, f));
        s->i++;
        *pc = l->body->code;
        return JANUS_OK;
    }
    for (uint32_t i = 0; i < results->n; i++)
        if (JN_UNLIKELY(r->of_strand.on))
            JN_TRY(jn_cell_copy(r, jn_frame_cells(done), results->slot[i], jn_loop_cells(s),
                                l->carried_at[i]));
        else
            s->carried[l->carried_at[i]] = results->slot[i] == JN_NO_SLOT
                                               ? (jn_slot){.p = NULL}
                                               : done->slot[results->slot[i]];
    if (s->saved)
        JN_TRY(list_push(r, s->saved, done));
    jn_frame_end(r, done, s->saved != NULL);
    return loop_step(r, s, f, pc);
}

janus_status jn_loop_begin(jn_run *r, const jn_instr *in, jn_frame **f, const jn_instr **pc) {
    const jn_loop *l = in->aux;
    jn_loop_state *s = loop_new(r, l, *f, in + 1);
    if (!s)
        return JN_NO_MEMORY();
    if (in->op == JN_I_GRAD_LOOP) {
        jn_frame_list *list = (*f)->slot[l->list_slot].p;
        if (!list)
            return jn_error(JANUS_INTERNAL, "the gradient of a loop without saved iterations");
        s->n = list->n;
    } else if (in->op == JN_I_FOREACH) {
        s->n = (*f)->slot[l->count].i;
    }
    if (l->frame_slot != JN_NO_SLOT) {
        r->keeps = true;
        s->saved = jn_arena_zalloc(&r->mem->arena, sizeof *s->saved);
        if (!s->saved)
            return JN_NO_MEMORY();
    }
    return loop_step(r, s, f, pc);
}

/* ---- suspension ---------------------------------------------------------------------------------
 */

janus_status jn_frame_detach(jn_run *r, jn_frame *f, uint32_t n_outs, bool kept) {
    JN_TRY(jn_async_of(r, jn_frame_cells(f)));
    jn_async *a = f->async;
    a->n_outs = n_outs;
    a->outs = jn_arena_alloc(&r->mem->arena, (n_outs + 1) * sizeof *a->outs);
    a->complete = kept ? jn_future_new(r) : NULL;
    if (!a->outs || (kept && !a->complete))
        return JN_NO_MEMORY();
    a->kept = kept;
    a->detached = true;
    r->of_strand.n_detached++;
    f->parent = NULL;
    return JANUS_OK;
}

void jn_frame_fulfil(jn_run *r, jn_frame *f, const jn_slots *results) {
    jn_async *a = f->async;
    for (uint32_t i = 0; i < a->n_outs; i++)
        jn_fulfil(r, a->outs[i], jn_frame_cells(f), results->slot[i]);
    if (a->complete)
        jn_fulfil(r, a->complete, jn_frame_cells(f), JN_NO_SLOT);
    a->complete = NULL;
    a->detached = false;
    r->of_strand.n_detached--;
    jn_frame_end(r, f, a->kept);
}

void jn_frame_end(jn_run *r, jn_frame *f, bool kept) {
    jn_async *a = f->async;
    if (JN_UNLIKELY(a != NULL)) {
        a->kept = kept;
        a->returned = a->put_off > 0;
        if (a->returned)
            return;
        if (!kept)
            jn_cells_forget(r, jn_frame_cells(f));
    }
    if (!kept)
        jn_frame_free(f);
}

void jn_put_off_done(jn_run *r, jn_frame *f) {
    jn_async *a = f->async;
    if (--a->put_off == 0 && a->returned)
        jn_frame_end(r, f, a->kept);
}

static janus_status detach_loop(jn_run *r, jn_loop_state *s, jn_frame **next, const jn_instr **pc) {
    const jn_loop *l = s->loop;
    jn_cells parent = jn_frame_cells(s->parent);
    s->outs = jn_arena_alloc(&r->mem->arena, (l->results.n + 1) * sizeof *s->outs);
    if (!s->outs)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < l->results.n; i++)
        JN_TRY(jn_promise(r, parent, l->results.slot[i], &s->outs[i]));
    if (s->saved)
        JN_TRY(jn_promise(r, parent, l->frame_slot, &s->outs[l->results.n]));
    JN_TRY(jn_async_of(r, parent));
    s->parent->async->put_off++;
    s->detached = true;
    r->of_strand.n_detached++;
    *next = s->parent;
    *pc = s->resume;
    return JANUS_OK;
}

janus_status jn_loop_detach(jn_run *r, jn_frame *f, jn_frame **next, const jn_instr **pc) {
    jn_loop_state *s = f->loop;
    const jn_loop *l = s->loop;
    if (s->in_cond)
        return detach_loop(r, s, next, pc);
    JN_TRY(jn_frame_detach(r, f, l->results.n, s->saved != NULL));
    jn_async *a = f->async;
    for (uint32_t i = 0; i < a->n_outs; i++) {
        JN_TRY(jn_cell_copy(r, jn_loop_cells(s), JN_NO_SLOT, jn_loop_cells(s), l->carried_at[i]));
        JN_TRY(jn_promise(r, jn_loop_cells(s), l->carried_at[i], &a->outs[i]));
    }
    if (s->saved)
        JN_TRY(list_push(r, s->saved, f));
    f->loop = NULL;
    return loop_step(r, s, next, pc);
}
