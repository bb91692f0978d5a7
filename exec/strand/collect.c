/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Freeing dead tensors in the middle of a run.
 *
 * Promises are not counted, so a long loop would keep every value it ever made.  When tensor memory
 * passes a bound, what the frames in progress, suspended ones among them, their loops and the log
 * still refer to is copied to new memory and the rest is dropped.  Runs that keep frames for a
 * gradient need what they keep, and are left alone.
 */
#include "config.h"

#include <string.h>

#include "exec/heap/heap.h"
#include "exec/plan/plan.h"
#include "exec/schedule/schedule.h"
#include "exec/strand/strand.h"
#include "graph/base/status.h"

typedef struct collector {
    jn_run *r;
    jn_arena tasks;               /* where live promises go */
    JN_VEC(janus_tensor *) owned; /* tensors still needed */
} collector;

static const char forwarded; /* `data` of a promise that has moved; `tensor` is its new place */

static janus_status move_value(collector *c, jn_tval **ref) {
    jn_tval *v = *ref;
    if (!v)
        return JANUS_OK;
    if (v->data == &forwarded) {
        *ref = (jn_tval *)(void *)v->tensor;
        return JANUS_OK;
    }
    jn_bound *b = jn_arena_alloc(&c->tasks, v->dense ? sizeof *b : sizeof b->v);
    if (!b)
        return JN_NO_MEMORY();
    jn_tval *n = &b->v;
    *n = (jn_tval){v->data, v->shape, NULL, v->tensor, v->dense, NULL};
    if (v->dense)
        b->object = jn_tval_object(v);
    if (v->dense) {
        if (!jn_vec_push(&c->owned, v->dense))
            return JN_NO_MEMORY();
        janus_tensor_retain(v->dense);
    } else if (v->task || !c->r->on->host) { /* constants too are in the memory that goes */
        n->data = jn_mem_tensor(c->r->mem, v->shape->bytes);
        if (!n->data)
            return JN_NO_MEMORY();
        if (v->data)
            JN_TRY(c->r->on->move(c->r->dev, n->data, v->data, v->shape->bytes));
    }
    v->data = (char *)&forwarded;
    v->tensor = (janus_tensor *)(void *)n;
    *ref = n;
    return JANUS_OK;
}

static janus_status move_box(void *arg, jn_box *b) {
    collector *c = arg;
    *b = jn_box_now(*b);
    return b->kind == JANUS_KIND_TENSOR ? move_value(c, &b->v.t) : JANUS_OK;
}

static janus_status move_slot(collector *c, uint8_t kind, jn_slot *s) {
    if (kind == JANUS_KIND_TENSOR)
        return move_value(c, &s->t);
    jn_box *old = kind == JANUS_KIND_OBJECT ? jn_box_of(s->p) : NULL;
    if (!old || jn_birth_of(s->p))
        return JANUS_OK;
    jn_box *b = jn_arena_dup(&c->tasks, old, sizeof *b);
    if (!b)
        return JN_NO_MEMORY();
    s->p = (void *)((uintptr_t)b | 1);
    return move_box(c, b);
}

/* Futures stay where they are: they have no value yet. */
static janus_status move_frame(collector *c, jn_frame *f) {
    const jn_plan *p = f->plan;
    for (uint32_t i = 0; i < p->n_slots; i++)
        if (!jn_pending(c->r, jn_frame_cells(f), i))
            JN_TRY(move_slot(c, p->slot_kind[i], &f->slot[i]));
    for (jn_loop_state *s = f->loop; s; s = NULL) {
        const jn_slots *l = &s->loop->carried;
        for (uint32_t i = 0; i < l->n; i++)
            if (l->slot[i] != JN_NO_SLOT && !jn_pending(c->r, jn_loop_cells(s), i))
                JN_TRY(move_slot(c, s->parent->plan->slot_kind[l->slot[i]], &s->carried[i]));
    }
    return JANUS_OK;
}

/* A frame and those that wait for its return; a suspended one's callers may be met again. */
static janus_status move_frames(collector *c, jn_frame *top) {
    for (jn_frame *f = top; f; f = f->parent) {
        if (f->async && f->async->seen == c->r->of_strand.collection)
            return JANUS_OK;
        if (f->async)
            f->async->seen = c->r->of_strand.collection;
        if (f->plan->has_tensors || f->loop)
            JN_TRY(move_frame(c, f));
    }
    return JANUS_OK;
}

static janus_status move_effect(void *arg, jn_pending_effect *e) {
    collector *c = arg;
    JN_TRY(move_box(c, &e->key));
    JN_TRY(move_box(c, &e->value));
    JN_TRY(move_value(c, &e->target));
    for (uint32_t k = 0; k < e->n_items; k++)
        JN_TRY(move_box(c, &e->items[k]));
    return JANUS_OK;
}

static janus_status move_all(collector *c, jn_frame *top) {
    c->r->of_strand.collection++;
    JN_TRY(move_frames(c, top));
    for (jn_wait *w = c->r->of_strand.live; w; w = w->next_live)
        JN_TRY(move_frames(c, w->f));
    if (c->r->of_strand.entry)
        JN_TRY(move_frames(c, c->r->of_strand.entry));
    JN_TRY(jn_log_each(c->r, move_effect, c));
    return jn_overlay_each(c->r, move_box, c);
}

/* New tensors go to new chunks behind the old ones, which are dropped at the end.  A failure ends
 * the run, so what was moved by then only has to be freed. */
janus_status jn_collect(jn_run *r, jn_frame *top) {
    jn_mem *m = r->mem;
    if (r->keeps) {
        r->of_strand.collect_at = SIZE_MAX;
        return JANUS_OK;
    }
    JN_TRY(jn_serve_values(r));
    collector c = {.r = r};
    size_t n_old = m->chunks.n;
    jn_arena_init(&c.tasks, 0);
    jn_mem_turn(m);
    janus_status st = move_all(&c, top);
    if (st != JANUS_OK) {
        for (size_t i = 0; i < c.owned.n; i++)
            janus_tensor_release(c.owned.data[i]);
        jn_vec_free(&c.owned);
        jn_arena_free(&c.tasks);
        return st;
    }
    for (size_t i = 0; i < m->owned.n; i++)
        janus_tensor_release(m->owned.data[i]);
    jn_vec_clear(&m->owned);
    for (size_t i = 0; i < c.owned.n; i++)
        if (!jn_vec_push(&m->owned, c.owned.data[i]))
            st = JN_NO_MEMORY();
    jn_vec_free(&c.owned);
    jn_arena_free(&m->tasks);
    m->tasks = c.tasks;
    jn_mem_drop_first(m, n_old);
    JN_CHECK_THAT(jn_mem_check(m, "values were collected", false));
    r->of_strand.collect_at =
        2 * m->bytes > r->of_strand.collect_at ? 2 * m->bytes : r->of_strand.collect_at;
    return st;
}
