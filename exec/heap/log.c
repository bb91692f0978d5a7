/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a run: the log becomes real, then is performed.
 *
 * Prepare makes what the run made, in program order, and turns every value of the log into what the
 * embedding program stores: a tensor or new container that occurs several times is one object.  It
 * may fail; nothing outside has changed then.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "exec/eager/eager.h"
#include "exec/heap/heap.h"
#include "exec/heap/overlay.h"
#include "exec/schedule/schedule.h"
#include "graph/base/status.h"

/* The tensor of a promise, the same one every time. */
static janus_status real_tensor(jn_run *r, jn_tval *v, janus_tensor **out) {
    if (!v->tensor) {
        if (!jn_vec_reserve(&r->of_heap.made, r->of_heap.made.n + 1))
            return JN_NO_MEMORY();
        JN_TRY(jn_tval_export(r, v, &v->tensor));
        r->of_heap.made.data[r->of_heap.made.n++] = v->tensor;
    }
    *out = v->tensor;
    return JANUS_OK;
}

/* The value as a tensor that need not outlive the run, nor what the commit writes.  The memory may
 * be the run's. */
static janus_status lend(jn_run *r, jn_tval *v, janus_tensor **out) {
    if (jn_late_overwritten(r, v)) {
        JN_TRY(jn_tensor_empty((janus_dtype)v->shape->dtype, v->shape->rank, v->shape->dims, out));
        jn_copy_bytes(jn_tensor_ready_data(*out), v->data, v->shape->bytes);
        return JANUS_OK;
    }
    if ((!r->on->host && !r->dev) || !v->data || (v->tensor && !v->dense))
        return jn_tval_export(r, v, out);
    if (r->dev && !v->dense)
        return jn_dev_over(r->dev, (janus_dtype)v->shape->dtype, v->shape->rank, v->shape->dims,
                           v->data, out);
    if (r->mem->given.n && (*out = jn_give_lend(r, v)))
        return JANUS_OK;
    if (!v->dense)
        return janus_tensor_wrap((janus_dtype)v->shape->dtype, v->shape->rank, v->shape->dims, NULL,
                                 v->data, NULL, NULL, out);
    janus_tensor_retain(v->dense);
    *out = v->dense;
    return JANUS_OK;
}

/* What a store copies: its target where a late task writes it there. */
static janus_status stored(jn_run *r, jn_tval *v, janus_tensor **out) {
    *out = jn_late_target(v);
    if (*out)
        return JANUS_OK;
    if (!jn_vec_reserve(&r->of_heap.made, r->of_heap.made.n + 1))
        return JN_NO_MEMORY();
    JN_TRY(jn_tval_force(r, v));
    JN_TRY(lend(r, v, out));
    r->of_heap.made.data[r->of_heap.made.n++] = *out;
    return JANUS_OK;
}

/* A tensor of the log and the object it becomes. */
typedef struct jn_wrapped {
    const jn_tval *v;
    janus_object o;
    UT_hash_handle hh;
} jn_wrapped;

static janus_object wrapped(const jn_run *r, const jn_tval *v) {
    jn_wrapped *w = NULL;
    HASH_FIND_PTR(r->of_heap.wrapped, &v, w);
    return w ? w->o : NULL;
}

static janus_status wrap(jn_run *r, jn_tval *v, int64_t tag, janus_object *out) {
    janus_tensor *t;
    *out = wrapped(r, v);
    if (*out)
        return JANUS_OK;
    jn_wrapped *w = jn_arena_zalloc(&r->mem->arena, sizeof *w);
    if (!w)
        return JN_NO_MEMORY();
    JN_TRY(real_tensor(r, v, &t));
    JN_TRY(r->host.wrap(r->options.host_ctx, t, tag, out));
    w->v = v;
    w->o = *out;
    HASH_ADD_PTR(r->of_heap.wrapped, v, w);
    return w->hh.tbl ? JANUS_OK : JN_NO_MEMORY();
}

static janus_status make_real(jn_run *r, const jn_box *stored, int64_t tag, janus_host_value *out) {
    jn_box now = jn_box_now(*stored), *b = &now;
    const jn_birth *birth = b->kind == JANUS_KIND_OBJECT ? jn_birth_of(b->v.p) : NULL;
    *out = jn_box_to_host(b);
    if (birth)
        out->o = birth->real;
    if (b->kind != JANUS_KIND_TENSOR)
        return JANUS_OK;
    janus_object o = jn_tval_object(b->v.t);
    if (!o && !r->host.wrap)
        return real_tensor(r, b->v.t, &out->t);
    if (!o)
        JN_TRY(wrap(r, b->v.t, tag, &o));
    out->kind = JANUS_KIND_OBJECT;
    out->o = o;
    return JANUS_OK;
}

static janus_status make_items(jn_run *r, const jn_pending_effect *p) {
    janus_host_value few[16], *v = few;
    if (p->n_items > 16 && !(v = jn_alloc(p->n_items * sizeof *v)))
        return JN_NO_MEMORY();
    janus_status st = JANUS_OK;
    for (uint32_t i = 0; i < p->n_items && st == JANUS_OK; i++)
        st = make_real(r, &p->items[i], p->tag, &v[i]);
    if (st != JANUS_OK) {
    } else if (p->kind == JN_EFFECT_EMIT) {
        st = r->host.emit ? r->host.emit(r->options.host_ctx, p->index, v, p->n_items)
                          : jn_error(JANUS_UNSUPPORTED, "the embedding program has no emit");
    } else {
        st = r->host.make ? r->host.make(r->options.host_ctx, (janus_birth)p->index, v, p->n_items,
                                         &jn_birth_of(p->object)->real)
                          : jn_error(JANUS_UNSUPPORTED, "the embedding program has no make");
    }
    if (v != few)
        jn_free(v);
    return st;
}

/* Entries of one place are in order already. */
static int in_program_order(const void *a, const void *b) {
    const jn_pending_effect *x = a, *y = b;
    uint64_t p = x->place ? x->place->label : 0, q = y->place ? y->place->label : 0;
    if (p != q)
        return p < q ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* Suspended frames have logged later what comes earlier. */
static void sort_log(jn_run *r) {
    jn_pending_effect *e = r->of_heap.effects.data;
    bool sorted = true;
    for (size_t i = 0; i < r->of_heap.effects.n; i++) {
        e[i].number = i;
        if (i > 0 && e[i].place != e[i - 1].place && in_program_order(&e[i], &e[i - 1]) < 0)
            sorted = false;
    }
    if (!sorted)
        qsort(e, r->of_heap.effects.n, sizeof *e, in_program_order);
}

janus_status jn_log_prepare(jn_run *r) {
    if (!r->finished)
        return jn_error(JANUS_INVALID_ARGUMENT, "the run has not been executed");
    if (r->prepared)
        return JANUS_OK;
    JN_TRY(jn_late_find(r, r->of_heap.effects.data, r->of_heap.effects.n));
    JN_TRY(jn_flush(r));
    JN_TRY(jn_run_failures(r));
    sort_log(r);
    JN_TRY(jn_find_escapes(r));
    if (!jn_vec_reserve(&r->of_heap.log, r->of_heap.effects.n))
        return JN_NO_MEMORY();
    for (size_t i = 0; i < r->of_heap.effects.n; i++) {
        const jn_pending_effect *p = &r->of_heap.effects.data[i];
        jn_effect e = {.kind = p->kind, .object = p->object, .index = p->index};
        const jn_birth *birth = jn_birth_of(p->object);
        if (birth && !birth->outlives)
            continue;
        if (p->kind == JN_EFFECT_NEW || p->kind == JN_EFFECT_EMIT) {
            JN_TRY(make_items(r, p));
            continue;
        }
        if (birth)
            e.object = birth->real;
        JN_TRY(make_real(r, &p->key, 0, &e.key));
        if (p->kind == JN_EFFECT_STORE) {
            e.target = p->target->tensor;
            e.value.kind = JANUS_KIND_TENSOR;
            JN_TRY(stored(r, p->value.v.t, &e.value.t));
        } else {
            JN_TRY(make_real(r, &p->value, p->tag, &e.value));
        }
        r->of_heap.log.data[r->of_heap.log.n++] = e;
    }
    r->prepared = true;
    return JANUS_OK;
}

const jn_effect *jn_log_entries(const jn_run *r, size_t *out_n) {
    *out_n = r->of_heap.log.n;
    return r->of_heap.log.data;
}

janus_status jn_log_wired(const jn_run *r, jn_wired **out, size_t *out_n) {
    size_t n = 0;
    *out = jn_alloc((HASH_COUNT(r->of_heap.wrapped) + 1) * sizeof **out);
    if (!*out)
        return JN_NO_MEMORY();
    for (const jn_wrapped *w = r->of_heap.wrapped; w; w = w->hh.next) {
        int64_t k = jn_wire_number(r, w->v);
        if (k)
            (*out)[n++] = (jn_wired){w->o, k, w->v->data};
    }
    *out_n = n;
    return JANUS_OK;
}

void jn_log_free(jn_run *r) {
    for (size_t i = 0; i < r->of_heap.made.n; i++)
        janus_tensor_release(r->of_heap.made.data[i]);
    jn_vec_free(&r->of_heap.made);
    jn_vec_free(&r->of_heap.effects);
    jn_vec_free(&r->of_heap.log);
    HASH_CLEAR(hh, r->of_heap.wrapped);
}

bool jn_heap_is_new(const jn_run *r) {
    static const jn_of_heap none;
    return memcmp(&r->of_heap, &none, sizeof none) == 0;
}

janus_status jn_log_each(jn_run *r, janus_status (*fn)(void *arg, jn_pending_effect *e),
                         void *arg) {
    for (size_t i = 0; i < r->of_heap.effects.n; i++)
        JN_TRY(fn(arg, &r->of_heap.effects.data[i]));
    return JANUS_OK;
}

janus_status jn_log_result(jn_run *r, jn_tval *v, bool lent, jn_arg *out) {
    if ((out->t = jn_late_target(v))) {
        janus_tensor_retain(out->t);
        return JANUS_OK;
    }
    out->object = jn_tval_object(v);
    if (!out->object && r->of_heap.wrapped)
        out->object = wrapped(r, v);
    bool rows = v->rows && !v->data && !out->object && (!v->rows->base || v->rows->base->dense);
    if (rows)
        return jn_rows_export(r, v, &out->t);
    if (lent) {
        out->object = NULL;
        return lend(r, v, &out->t);
    }
    return jn_tval_export(r, v, &out->t);
}

janus_status jn_log_object(jn_run *r, janus_object o, jn_arg *out) {
    jn_box b = {JANUS_KIND_OBJECT, {.p = o}};
    janus_host_value v;
    if (jn_box_of(o) && !jn_birth_of(o))
        b = jn_box_now(*jn_box_of(o));
    JN_TRY(make_real(r, &b, 0, &v));
    out->kind = v.kind;
    if (v.kind == JANUS_KIND_TENSOR)
        return jn_tval_export(r, b.v.t, &out->t);
    if (v.kind == JANUS_KIND_OBJECT)
        out->o = v.o;
    else
        out->s = v.s;
    return JANUS_OK;
}

static janus_status apply(jn_run *r, const jn_effect *e) {
    const janus_host_ops *h = &r->host;
    void *ctx = r->options.host_ctx;
    switch (e->kind) {
    case JN_EFFECT_SET_ATTR:
        return h->set_attr ? h->set_attr(ctx, e->object, e->index, &e->value) : JANUS_UNSUPPORTED;
    case JN_EFFECT_SET_ITEM:
        return h->set_item ? h->set_item(ctx, e->object, e->index, &e->value) : JANUS_UNSUPPORTED;
    case JN_EFFECT_SET_KEY:
        return h->set_key ? h->set_key(ctx, e->object, &e->key, &e->value) : JANUS_UNSUPPORTED;
    case JN_EFFECT_APPEND:
        return h->append ? h->append(ctx, e->object, &e->value) : JANUS_UNSUPPORTED;
    case JN_EFFECT_POP:
        return h->pop ? h->pop(ctx, e->object) : JANUS_UNSUPPORTED;
    case JN_EFFECT_DEL_ITEM:
        return h->del_item ? h->del_item(ctx, e->object, e->index) : JANUS_UNSUPPORTED;
    case JN_EFFECT_INSERT:
        return h->insert ? h->insert(ctx, e->object, e->index, &e->value) : JANUS_UNSUPPORTED;
    case JN_EFFECT_DEL_KEY:
        return h->del_key ? h->del_key(ctx, e->object, &e->key) : JANUS_UNSUPPORTED;
    case JN_EFFECT_DEL_ATTR:
        return h->del_attr ? h->del_attr(ctx, e->object, e->index) : JANUS_UNSUPPORTED;
    case JN_EFFECT_STORE:
        JN_TRY(jn_tensor_copy(e->target, e->value.t));
        e->target->storage->version++;
        return JANUS_OK;
    case JN_EFFECT_NEW:
    case JN_EFFECT_EMIT:
        break;
    }
    return JANUS_OK;
}

janus_status jn_log_late(jn_run *r) { return jn_late_run(r); }

janus_status jn_log_apply(jn_run *r) {
    if (!r->prepared)
        return jn_error(JANUS_INVALID_ARGUMENT, "the run has not been prepared");
    JN_TRY(jn_late_run(r));
    for (size_t i = 0; i < r->of_heap.log.n; i++) {
        janus_status st = apply(r, &r->of_heap.log.data[i]);
        if (st == JANUS_UNSUPPORTED)
            return jn_error(st, "the embedding program cannot write what the graph wrote");
        if (st != JANUS_OK)
            return st;
    }
    return JANUS_OK;
}
