/* SPDX-License-Identifier: Apache-2.0 */
/* Futures, parked frames, program order: see suspend.h. */
#include "config.h"

#include <stdlib.h>

#include "exec/strand/suspend.h"

#include "exec/heap/heap.h"
#include "exec/plan/plan.h"
#include "exec/schedule/schedule.h"
#include "exec/state/state.h"
#include "exec/strand/strand.h"
#include "graph/base/status.h"

/* ---- futures ------------------------------------------------------------------------------------
 */

jn_future *jn_future_new(jn_run *r) {
    jn_future *f = r->free_futures;
    if (f)
        r->free_futures = f->same;
    else
        f = jn_arena_alloc(&r->mem->arena, sizeof *f);
    if (f) {
        *f = (jn_future){.refs = 1};
        f->tail = &f->waits;
    }
    return f;
}

/* ---- slots --------------------------------------------------------------------------------------
 */

static janus_status mark(jn_run *r, jn_cells c, uint32_t i, jn_future *f) {
    JN_TRY(jn_async_of(r, c));
    jn_async *a = *c.async;
    if (!a->listed) {
        a->listed = true;
        a->next = r->of_strand.dirty;
        r->of_strand.dirty = a;
    }
    if (!jn_cell_marked(a, i)) {
        a->bits[i >> 6] |= (uint64_t)1 << (i & 63);
        a->n++;
    }
    c.slot[i].p = f;
    return JANUS_OK;
}

janus_status jn_async_of(jn_run *r, jn_cells c) {
    if (*c.async)
        return JANUS_OK;
    jn_async *a = jn_arena_zalloc(&r->mem->arena, sizeof *a + (c.n / 64 + 1) * sizeof a->bits[0]);
    if (!a)
        return JN_NO_MEMORY();
    a->slot = c.slot;
    a->n_slots = c.n;
    *c.async = a;
    return JANUS_OK;
}

janus_status jn_promise(jn_run *r, jn_cells c, uint32_t i, jn_future **out) {
    jn_future *f = jn_future_new(r);
    if (!f)
        return JN_NO_MEMORY();
    JN_TRY(mark(r, c, i, f));
    f->refs = 2;
    *out = f;
    return JANUS_OK;
}

janus_status jn_cell_copy(jn_run *r, jn_cells from, uint32_t k, jn_cells to, uint32_t i) {
    jn_future *f = jn_pending(r, from, k);
    if (f)
        f->refs++;
    if (jn_cell_marked(*to.async, i)) {
        jn_cell_unmark(*to.async, i);
        jn_future_release(r, to.slot[i].p);
    }
    if (f)
        return mark(r, to, i, f);
    to.slot[i] = k == JN_NO_SLOT ? (jn_slot){.p = NULL} : from.slot[k];
    return JANUS_OK;
}

void jn_cells_forget(jn_run *r, jn_cells c) {
    jn_async *a = *c.async;
    if (!a)
        return;
    for (uint32_t i = 0; a->n; i++)
        if (jn_cell_marked(a, i)) {
            jn_cell_unmark(a, i);
            jn_future_release(r, a->slot[i].p);
        }
}

/* Wakes what waits: parked frames come to the heap, instructions put off to the list. */
static void heap_push(jn_strand *s, jn_wait *w) {
    size_t i = s->heap.n++;
    jn_wait **h = s->heap.data;
    for (; i > 0 && h[(i - 1) / 2]->place->label > w->place->label; i = (i - 1) / 2)
        h[i] = h[(i - 1) / 2];
    h[i] = w;
}

static void make_ready(jn_strand *s, jn_wait *w) {
    if (w->place) {
        heap_push(s, w); /* there is room: see jn_park */
        return;
    }
    w->next = NULL;
    *s->ready_tail = w;
    s->ready_tail = &w->next;
}

void jn_wait_for(jn_wait *w, jn_future *on) {
    w->next = NULL;
    *on->tail = w;
    on->tail = &w->next;
}

static void done(jn_run *r, jn_future *f, jn_slot v) {
    f->done = true;
    f->v = v;
    for (jn_wait *w = f->waits, *next; w; w = next) {
        next = w->next;
        make_ready(&r->of_strand, w);
    }
    f->waits = NULL;
    f->tail = &f->waits;
}

void jn_fulfil(jn_run *r, jn_future *f, jn_cells c, uint32_t i) {
    jn_future *other = jn_pending(r, c, i);
    if (!other) {
        done(r, f, i == JN_NO_SLOT ? (jn_slot){.p = NULL} : c.slot[i]);
    } else {
        f->same = other;
        other->refs++;
        if (f->waits) {
            *other->tail = f->waits;
            other->tail = f->tail;
            f->waits = NULL;
            f->tail = &f->waits;
        }
    }
    jn_future_release(r, f);
}

janus_status jn_value_of(jn_run *r, jn_future *f, jn_tval *v, uint8_t kind) {
    f->of = v;
    f->kind = kind;
    f->refs++;
    return jn_vec_push(&r->of_strand.values, f) ? JANUS_OK : JN_NO_MEMORY();
}

janus_status jn_value_future(jn_run *r, jn_tval *v, uint8_t kind, jn_future **out) {
    jn_future *f = jn_future_new(r);
    if (!f)
        return JN_NO_MEMORY();
    JN_TRY(jn_value_of(r, f, v, kind));
    f->refs--;
    *out = f;
    return JANUS_OK;
}

janus_status jn_serve_values(jn_run *r) {
    JN_TRY(jn_flush(r));
    jn_strand *s = &r->of_strand;
    for (size_t i = 0; i < s->values.n; i++) {
        jn_future *f = s->values.data[i];
        jn_slot v;
        JN_TRY(jn_read_item(r, f->of, (janus_kind)f->kind, &v));
        done(r, f, v);
        jn_future_release(r, f);
    }
    jn_vec_clear(&s->values);
    return JANUS_OK;
}

/* ---- places -------------------------------------------------------------------------------------
 */

static const uint64_t step = (uint64_t)1 << 40;

static void renumber(jn_strand *s) {
    uint64_t n = 1, label = 0;
    for (jn_place *p = s->first; p; p = p->next)
        n++;
    for (jn_place *p = s->first; p; p = p->next)
        p->label = label += ((uint64_t)1 << 62) / n;
}

static jn_place *place_after(jn_run *r, jn_place *at) {
    jn_strand *s = &r->of_strand;
    jn_place *p = s->free_places;
    if (p)
        s->free_places = p->next;
    else if (!(p = jn_arena_alloc(&r->mem->arena, sizeof *p)))
        return NULL;
    jn_place *next = at ? at->next : s->first;
    uint64_t low = at ? at->label : 0;
    if (at && (next ? next->label - low < 4 : low > UINT64_MAX / 2)) {
        renumber(s);
        low = at->label;
    }
    *p = (jn_place){.prev = at, .next = next};
    p->label = next ? low + (next->label - low) / 4 : low + step;
    *(at ? &at->next : &s->first) = p;
    *(next ? &next->prev : &s->last) = p;
    return p;
}

static void place_drop(jn_strand *s, jn_place *p) {
    if (!p || p->logged)
        return;
    *(p->prev ? &p->prev->next : &s->first) = p->next;
    *(p->next ? &p->next->prev : &s->last) = p->prev;
    p->next = s->free_places;
    s->free_places = p;
}

janus_status jn_place_next(jn_run *r) {
    r->here = place_after(r, r->here);
    return r->here ? JANUS_OK : JN_NO_MEMORY();
}

/* ---- parked frames and instructions put off -----------------------------------------------------
 */

static jn_wait *wait_new(jn_run *r) {
    jn_strand *s = &r->of_strand;
    jn_wait *w = s->free_waits;
    if (w)
        s->free_waits = w->next;
    else if (!(w = jn_arena_alloc(&r->mem->arena, sizeof *w)))
        return NULL;
    *w = (jn_wait){.next_live = s->live};
    if (s->live)
        s->live->prev_live = w;
    s->live = w;
    return w;
}

void jn_wait_drop(jn_run *r, jn_wait *w) {
    jn_strand *s = &r->of_strand;
    *(w->prev_live ? &w->prev_live->next_live : &s->live) = w->next_live;
    if (w->next_live)
        w->next_live->prev_live = w->prev_live;
    w->next = s->free_waits;
    s->free_waits = w;
}

/* A loop whose iteration waits goes on after it. */
static janus_status with_loop(const jn_frame *f, jn_effects *io) {
    const jn_plan *plans[2] = {f->loop->loop->body, f->loop->loop->cond};
    for (int i = 0; i < 2; i++)
        if (plans[i]) {
            jn_effects e;
            JN_TRY(jn_effects_of(f->plan->set, plans[i]->sub, &e));
            *io = jn_effects_both(*io, e);
        }
    return JANUS_OK;
}

janus_status jn_park(jn_run *r, jn_frame *f, const jn_instr *in, jn_future *on, bool alone) {
    jn_strand *s = &r->of_strand;
    if (!r->here)
        JN_TRY(jn_place_next(r));
    jn_wait *w = wait_new(r);
    if (!w || !jn_vec_reserve(&s->heap, s->n_parked + 1))
        return JN_NO_MEMORY();
    w->f = f;
    w->in = in;
    w->place = r->here;
    w->effects = JN_EFFECTS_ALL;
    if (!alone)
        JN_TRY(jn_effects_from(f->plan, in, &w->effects));
    if (!alone && f->loop)
        JN_TRY(with_loop(f, &w->effects));
    w->place->wait = w;
    s->any = s->n_parked++ ? jn_effects_both(s->any, w->effects) : w->effects;
    if (on)
        jn_wait_for(w, on);
    else
        heap_push(s, w);
    return JANUS_OK;
}

jn_wait *jn_next_ready(jn_run *r) {
    jn_strand *s = &r->of_strand;
    if (!s->heap.n)
        return NULL;
    jn_wait **h = s->heap.data, *top = h[0], *last = h[--s->heap.n];
    size_t i = 0, n = s->heap.n;
    for (size_t k; (k = 2 * i + 1) < n; i = k) {
        if (k + 1 < n && h[k + 1]->place->label < h[k]->place->label)
            k++;
        if (h[k]->place->label >= last->place->label)
            break;
        h[i] = h[k];
    }
    h[i] = last;
    s->n_parked--;
    r->here = top->place;
    r->here->wait = NULL;
    return top;
}

void jn_place_leave(jn_run *r) {
    if (r->here && !r->here->wait)
        place_drop(&r->of_strand, r->here);
    r->here = NULL;
}

janus_status jn_put_off(jn_run *r, jn_frame *f, const jn_instr *in, jn_future *on,
                        const uint32_t *dst, uint32_t n_dst) {
    jn_wait *w = wait_new(r);
    if (!w)
        return JN_NO_MEMORY();
    w->f = f;
    w->in = in;
    w->dst = dst;
    w->outs = n_dst > JN_FEW ? jn_arena_alloc(&r->mem->arena, n_dst * sizeof *w->outs) : w->few;
    if (!w->outs)
        return JN_NO_MEMORY();
    for (; w->n_outs < n_dst; w->n_outs++)
        JN_TRY(jn_promise(r, jn_frame_cells(f), dst[w->n_outs], &w->outs[w->n_outs]));
    JN_TRY(jn_async_of(r, jn_frame_cells(f)));
    f->async->put_off++;
    r->of_strand.n_put_off++;
    jn_wait_for(w, on);
    return JANUS_OK;
}

bool jn_must_wait(const jn_run *r, jn_effects e) {
    const jn_strand *s = &r->of_strand;
    if (!s->n_parked || !jn_effects_clash(e, s->any))
        return false;
    for (const jn_place *p = s->first; p && p != r->here; p = p->next)
        if (p->wait && jn_effects_clash(e, p->wait->effects))
            return true;
    return false;
}

void jn_settle(jn_run *r) {
    jn_strand *s = &r->of_strand;
    for (jn_async *a = s->dirty; a; a = a->next) {
        for (uint32_t i = 0; a->n && i < a->n_slots; i++)
            (void)jn_pending(r, (jn_cells){a->slot, &a, a->n_slots}, i);
        a->listed = false;
    }
    s->dirty = NULL;
    s->on = false;
}

bool jn_assert_fails(jn_run *r) {
    int64_t *n = &r->of_strand.asserts_to_failure;
    if (*n < 0) { /* the first of the run */
        const char *fail = getenv("JANUS_FAIL_ASSERT");
        *n = fail ? strtoll(fail, NULL, 10) : 0;
        *n = *n < 0 ? 0 : *n;
    }
    return *n && --*n == 0;
}

enum { COLLECT_BYTES = 512 << 20 };

void jn_strand_begin(jn_run *r) {
    r->of_strand.asserts_to_failure = -1;
    r->of_strand.collect_at = COLLECT_BYTES;
    r->of_strand.poll_countdown = 1;
}

void jn_strand_free(jn_run *r) {
    jn_vec_free(&r->of_strand.heap);
    jn_vec_free(&r->of_strand.values);
}
