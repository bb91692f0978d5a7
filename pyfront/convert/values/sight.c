/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generators whose items are made before they are asked for.
 *
 * zip(), enumerate(), map() and next() of a generator take all its items at once, where it has no
 * effects; CPython makes each when it is asked for, from what the generator sees by then.  So what
 * it may see is remembered: variables that it names, what they lead to, and all attributes, globals
 * and containers of the heap that were touched.  If any of that is another when an item is used,
 * the conversion refuses.
 */
#include "pyfront/convert/values/values.h"

#include <string.h>

#include "pyfront/convert/core/list.h"
#include "pyfront/convert/heap/heap.h"

jcv_done jcv_done_now(jcv *c) {
    jcv_done d = {c->epoch + c->writes, c->n_effects, c->draws, {NULL, c->slots.n}};
    d.held.slots = jcv_alloc(c, (d.held.n + 1) * sizeof *d.held.slots);
    if (d.held.n)
        memcpy(d.held.slots, c->slots.data, d.held.n * sizeof *d.held.slots);
    return d;
}

static void leave_out(jcv *c, jcv_done *d, const jcv_av *a) {
    if (a->kind != AV_SEQ && a->kind != AV_ITER && a->kind != AV_TUPLE)
        return;
    if (a->kind != AV_TUPLE && a->slot && a->slot < d->held.n) {
        if (!d->held.slots[a->slot])
            return;
        d->held.slots[a->slot] = NULL;
    }
    bool function = a->kind == AV_SEQ && a->tree && a->tree->kind == JPY_DEF;
    for (unsigned i = 0; function && i < a->frame->n; i++) {
        uint32_t slot = a->frame->slots[i];
        if (slot >= d->held.n)
            continue;
        const jcv_av *held = d->held.slots[slot];
        d->held.slots[slot] = NULL;
        if (held)
            leave_out(c, d, held);
    }
    for (unsigned i = 0; a->items && i < a->n; i++)
        leave_out(c, d, a->items[i]);
}

jcv_done jcv_done_outside(jcv *c, const jcv_av *iterator) {
    jcv_done d = jcv_done_now(c);
    leave_out(c, &d, iterator);
    return d;
}

bool jcv_done_changes(const jcv *c, const jcv_done *since) {
    bool changes = c->epoch + c->writes != since->writes || c->n_effects != since->effects;
    for (size_t i = 0; i < since->held.n && !changes; i++)
        changes = since->held.slots[i] && !jcv_av_equal(c->slots.data[i], since->held.slots[i]);
    return changes;
}

bool jcv_done_any(const jcv *c, const jcv_done *since) {
    return c->draws != since->draws || jcv_done_changes(c, since);
}

struct jcv_sight {
    JCV_LIST(uint32_t) slots;  /* it may read them ... */
    jcv_av **held;             /* ... and this is what they held */
    JCV_LIST(PyObject *) made; /* instances that the program made, which a call sees */
    size_t n_attrs, n_real, n_fresh, nodes;
    uint32_t writes, live_epoch, draws;
};

typedef struct looking {
    jcv_sight *sight;
    bool *seen; /* by slot */
    size_t n;
    bool made; /* instances are looked at */
} looking;

static void look_at(jcv *c, looking *l, const jcv_av *a);

static void look_in(jcv *c, looking *l, uint32_t slot) {
    if (slot >= l->n || l->seen[slot])
        return;
    l->seen[slot] = true;
    jcv_add(c, &l->sight->slots, slot);
    look_at(c, l, c->slots.data[slot]);
}

static bool names(const jpy_tree *n, PyObject *name) {
    if (!n)
        return false;
    bool yes = (n->obj && PyUnicode_Check(n->obj) && PyUnicode_Compare(n->obj, name) == 0) ||
               names(n->a, name) || names(n->b, name) || names(n->c, name);
    const jpy_tree_list *lists[3] = {&n->x, &n->y, &n->z};
    for (int k = 0; k < 3; k++)
        for (unsigned i = 0; i < lists[k]->n && !yes; i++)
            yes = names(lists[k]->v[i], name);
    return yes;
}

/* The frame of a function, or the one that it is made in, of which it sees what it names. */
static void look_around(jcv *c, looking *l, const jcv_frame *fr, const jpy_tree *by) {
    for (; fr; fr = fr->outer)
        for (unsigned i = 0; i < fr->n; i++)
            if (names(by, fr->names[i]))
                look_in(c, l, fr->slots[i]);
}

/* Attributes of an instance that the program made. */
static void look_at_instance(jcv *c, looking *l, PyObject *o) {
    for (size_t i = 0; i < l->sight->made.n; i++)
        if (l->sight->made.data[i] == o)
            return;
    for (size_t i = 0; i < c->fresh.n; i++)
        if (c->fresh.data[i] == o) {
            jcv_add(c, &l->sight->made, o);
            break;
        }
    for (size_t i = 0; i < c->attrs.n; i++)
        if (c->attrs.data[i]->object == o)
            look_in(c, l, c->attrs.data[i]->slot);
}

static void look_at(jcv *c, looking *l, const jcv_av *a) {
    if (!a)
        return;
    if (a->kind == AV_PY && l->made)
        look_at_instance(c, l, a->py);
    if (a->kind == AV_CLOSURE || (a->kind == AV_SEQ && a->tree))
        look_around(c, l, a->frame, a->tree);
    if (a->slot && a->kind != AV_TENSOR)
        look_in(c, l, a->slot);
    for (unsigned i = 0; a->items && i < a->n; i++)
        look_at(c, l, a->items[i]);
    look_at(c, l, a->self);
}

static void hold(jcv *c, jcv_sight *s) {
    s->held = jcv_alloc(c, (s->slots.n + 1) * sizeof *s->held);
    for (size_t i = 0; i < s->slots.n; i++)
        s->held[i] = c->slots.data[s->slots.data[i]];
}

jcv_sight *jcv_sight_of(jcv *c, jcv_av *g, size_t nodes) {
    jcv_sight *s = jcv_alloc(c, sizeof *s);
    looking l = {s, jcv_alloc(c, c->slots.n + 1), c->slots.n, false};
    if (g->slot < l.n)
        l.seen[g->slot] = true; /* its own place */
    look_at(c, &l, g);
    for (size_t i = 0; i < c->attrs.n; i++)
        look_in(c, &l, c->attrs.data[i]->slot);
    for (size_t i = 0; i < c->real.n; i++)
        look_in(c, &l, c->real.data[i]->slot);
    hold(c, s);
    s->n_attrs = c->attrs.n;
    s->n_real = c->real.n;
    s->n_fresh = c->fresh.n;
    s->nodes = nodes;
    s->writes = c->writes;
    s->live_epoch = c->live_epoch;
    s->draws = c->draws;
    return s;
}

bool jcv_sees_the_same(jcv *c, const jcv_sight *s) {
    for (size_t i = 0; i < s->slots.n; i++)
        if (!jcv_av_equal(c->slots.data[s->slots.data[i]], s->held[i]))
            return false;
    for (size_t i = s->n_attrs; i < c->attrs.n; i++) {
        bool later = false; /* of an object that was made since */
        for (size_t k = s->n_fresh; k < c->fresh.n && !later; k++)
            later = c->fresh.data[k] == c->attrs.data[i]->object;
        if (c->attrs.data[i]->name && !later) /* .grad is in the table once it is read */
            return false;
    }
    if (c->real.n != s->n_real)
        return false;
    /* elements of tensors and what the graph reads are seen by nodes only */
    return !s->nodes ||
           (c->writes == s->writes && c->live_epoch == s->live_epoch && c->draws == s->draws);
}

jcv_sight *jcv_sight_of_call(jcv *c, const jcv_frame *fr, jcv_av *const *args, unsigned n) {
    jcv_sight *s = jcv_alloc(c, sizeof *s);
    looking l = {s, jcv_alloc(c, c->slots.n + 1), c->slots.n, true};
    look_around(c, &l, fr->outer, fr->def);
    for (unsigned i = 0; i < n; i++)
        look_at(c, &l, args[i]);
    hold(c, s);
    s->n_attrs = c->attrs.n;
    return s;
}

/* Whether one of the instances was given an attribute that it did not have. */
static bool more_attrs(const jcv *c, const jcv_sight *s) {
    for (size_t i = s->n_attrs; i < c->attrs.n; i++)
        for (size_t k = 0; k < s->made.n; k++)
            if (s->made.data[k] == c->attrs.data[i]->object)
                return true;
    return false;
}

bool jcv_call_sees_the_same(jcv *c, const jcv_sight *s, uint32_t *out_slot) {
    *out_slot = 0;
    for (size_t i = 0; i < s->slots.n; i++)
        if (!jcv_av_equal(c->slots.data[s->slots.data[i]], s->held[i])) {
            *out_slot = s->slots.data[i];
            return false;
        }
    return !more_attrs(c, s);
}
