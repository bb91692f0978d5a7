/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a backward() by groups is about, met once and in program order.
 *
 * Operands have smaller numbers than what is computed of them, and the numbers of the nodes of one
 * program's step lie close together.  So each number from the last root's down has a place, which
 * the edges of later nodes fill, and the places are walked one after the other: which nodes come
 * next is known long before they are met, so their memory is asked for ahead, and the order needs
 * no sorting.  What runs by groups has to know of a node is written down as it is met
 * (jpy_engine_note).
 */
#include "config.h"

#include "pyfront/backward/engine.h"

#include <string.h>

#include "graph/base/alloc.h"
#include "pyfront/tensor/tensor.h"

enum {
    NODES_AHEAD = 12,
    SAVED_AHEAD = 5,
    BEFORE = 8,
    FEW = 1 << 14, /* numbers of one history that may lie apart whatever it is, */
    MOST_APART = 4 /* and for each node that was met */
};
#define TO_NODE (UINT32_C(1) << 31)

/* ---- what is noted ------------------------------------------------------------------------------
 */

/* Where the elements of a saved value are; false: it has been overwritten.  *out is NULL where it
 * has to be copied to be read. */
static bool look_at_value(const jpy_saved *s, const void **out) {
    jn_view view;
    *out = &s->s;
    if (s->kind != JANUS_KIND_TENSOR)
        return true;
    *out = NULL;
    if (s->t->contiguous && jn_tensor_ready_data(s->t) && !s->t->storage->device &&
        jn_tensor_as_view(s->t, &view) == JANUS_OK)
        *out = view.data;
    return s->version == s->t->storage->version;
}

/* What the node of a recorded call has; false: it has to run with the others one by one. */
static bool look_at_call(jpy_engine *e, jpy_node *n, jpy_call *c) {
    const jpy_op_data *d = jpy_op_of(n);
    if (!n->cls->plain || n->extra || n->freed || n->running == UINT8_MAX)
        return false;
    if (!d)
        return true;
    c->kind = d->kind;
    c->types = d->types;
    for (unsigned i = 0; i < (unsigned)n->n_in + n->n_out; i++) {
        const void *ignored = NULL, **value = d->kind ? &e->values.data[e->values.n++] : &ignored;
        if (!look_at_value(&d->saved[i], value))
            return false;
        if (d->kind)
            c->saved |= (uint16_t)((d->saved[i].kind != JANUS_KIND_NONE) << i);
    }
    return true;
}

bool jpy_engine_note(jpy_engine *e, uint32_t visit) {
    jpy_visit *v = &e->visits.data[visit];
    jpy_node *n = v->node;
    if (e->unlike)
        return true;
    if (!jn_vec_reserve(&e->values, e->values.n + n->n_in + n->n_out))
        return false;
    v->call = (jpy_call){.value = (uint32_t)e->values.n, .n_in = (uint8_t)n->n_in};
    e->unlike = !look_at_call(e, n, &v->call);
    if (!e->unlike) {
        n->running++;
        e->n_held++;
    }
    return true;
}

void jpy_engine_let_go(jpy_engine *e) {
    for (uint32_t k = 0; k < e->n_held; k++) {
        jpy_node *n = e->visits.data[e->order[k]].node;
        if (--n->running == 0 && n->freed && n->cls->release_saved)
            n->cls->release_saved(n);
    }
    e->n_held = 0;
}

/* ---- the walk -----------------------------------------------------------------------------------
 */

/* By distance from the last number: a node to be met, then the number of its visit. */
typedef union place {
    jpy_node *node;
    uintptr_t visit;
} place;

typedef struct walk {
    jpy_engine *e;
    place *at;
    size_t n, room; /* places in use; that there are */
    size_t met;     /* nodes */
    uint64_t last;
    bool apart;
} walk;

static bool grow(walk *w, size_t need) {
    size_t room = w->room ? w->room : 1024;
    while (room < need)
        room *= 2;
    place *more = jn_alloc(room * sizeof *more);
    if (!more)
        return false;
    if (w->room)
        memcpy(more, w->at, w->room * sizeof *more);
    memset(more + w->room, 0, (room - w->room) * sizeof *more);
    jn_free(w->at);
    w->at = more;
    w->room = room;
    return true;
}

/* Gives a node its place; what leads to it knows that until all are met. */
static bool put(walk *w, jpy_edge to, jpy_link *out) {
    uint64_t k = w->last - to.node->seq;
    *out = (jpy_link){(uint32_t)k, TO_NODE | to.index};
    if (k >= FEW + MOST_APART * w->met || to.index >= TO_NODE) {
        w->apart = true;
        return true;
    }
    if (k >= w->room && !grow(w, k + 1))
        return false;
    if (k >= w->n)
        w->n = k + 1;
    w->met += !w->at[k].node;
    w->at[k].node = to.node;
    return true;
}

static bool put_edge(walk *w, jpy_edge to, jpy_link *out) {
    to = jpy_edge_now(to);
    *out = (jpy_link){JPY_NO_LINK, 0};
    if (to.node)
        return put(w, to, out);
    return !to.leaf || jpy_engine_meet_leaf(w->e, to.leaf, out);
}

static bool visit(walk *w, size_t k) {
    jpy_engine *e = w->e;
    jpy_node *n = w->at[k].node;
    size_t first = e->links.n;
    jpy_visit v = {.node = n,
                   .seq = n->seq,
                   .slot = (uint32_t)e->slots.n,
                   .link = (uint32_t)first,
                   .n_out = n->n_out};
    if (e->visits.n >= JPY_NO_LINK - 1 || e->slots.n + v.n_out >= TO_NODE - 1 ||
        first + n->n_in >= JPY_NO_LINK || !jn_vec_reserve(&e->slots, e->slots.n + v.n_out) ||
        !jn_vec_reserve(&e->links, first + n->n_in) || !jn_vec_push(&e->visits, v))
        return false;
    /* nodes of one size lie one after the other (exec/store/pool.h) */
    jpy_node_expect(
        (const jpy_node *)(const void *)((const char *)n - BEFORE * ((n->size + 63u) & ~63u)));
    jpy_node_retain(n);
    n->visit = (uint32_t)e->visits.n - 1;
    for (unsigned i = 0; i < v.n_out; i++)
        e->slots.data[e->slots.n++] = JPY_VAL_NONE;
    uint32_t at = n->visit;
    w->at[k].visit = (uintptr_t)at + 1;
    e->order[e->n_nodes++] = at;
    if (!jpy_engine_note(e, at))
        return false;
    e->links.n += n->n_in;
    for (unsigned i = 0; i < n->n_in && !w->apart; i++)
        if (!put_edge(w, n->edges[i], &e->links.data[first + i]))
            return false;
    return true;
}

/* Nodes to come, of which those that are nearer were asked for before. */
static void expect(const walk *w, size_t k) {
    if (k + NODES_AHEAD < w->n)
        jpy_node_expect(w->at[k + NODES_AHEAD].node);
    if (k + SAVED_AHEAD < w->n)
        jpy_node_expect_saved(w->at[k + SAVED_AHEAD].node);
}

static bool visit_all(walk *w) {
    jpy_engine *e = w->e;
    size_t room = 0;
    for (size_t k = 0; k < w->n && !w->apart; k++) {
        expect(w, k);
        if (!w->at[k].node)
            continue;
        if (e->n_nodes == room) {
            uint32_t *more = jn_realloc(e->order, (room = 2 * room + 1024) * sizeof *more);
            if (!more)
                return false;
            e->order = more;
        }
        if (!visit(w, k))
            return false;
    }
    return true;
}

static void resolve(const walk *w, jpy_link *l) {
    if (l->visit == JPY_NO_LINK || !(l->slot & TO_NODE))
        return;
    uint32_t at = (uint32_t)(w->at[l->visit].visit - 1);
    *l = (jpy_link){at, w->e->visits.data[at].slot + (l->slot & ~TO_NODE)};
}

/* Links to nodes as the others have them; leaves follow the nodes. */
static bool finish(walk *w) {
    jpy_engine *e = w->e;
    uint32_t *order = jn_realloc(e->order, (e->visits.n + 1) * sizeof *order);
    if (!order)
        return false;
    e->order = order;
    for (size_t i = 0, k = e->n_nodes; i < e->visits.n; i++)
        if (!e->visits.data[i].node)
            order[k++] = (uint32_t)i;
    for (size_t i = 0; i < e->links.n; i++)
        resolve(w, &e->links.data[i]);
    for (size_t i = 0; i < e->root_links.n; i++)
        resolve(w, &e->root_links.data[i]);
    return true;
}

static bool start(walk *w, const jpy_val *roots, unsigned n_roots) {
    jpy_engine *e = w->e;
    if (!jn_vec_reserve(&e->root_links, n_roots))
        return false;
    for (unsigned i = 0; i < n_roots; i++) {
        jpy_edge root = jpy_edge_now(roots[i].edge);
        if (root.node && root.node->seq > w->last)
            w->last = root.node->seq;
    }
    for (unsigned i = 0; i < n_roots; i++)
        if (!put_edge(w, roots[i].edge, &e->root_links.data[e->root_links.n++]))
            return false;
    return true;
}

static void start_again(jpy_engine *e) {
    const jpy_engine empty = {.inputs = e->inputs,
                              .n_inputs = e->n_inputs,
                              .captured = e->captured,
                              .retain_graph = e->retain_graph,
                              .create_graph = e->create_graph,
                              .noting = e->noting,
                              .traces = e->traces};
    jpy_engine_free(e);
    *e = empty;
}

bool jpy_engine_walk(jpy_engine *e, const jpy_val *roots, unsigned n_roots, bool *done) {
    walk w = {.e = e};
    bool ok = start(&w, roots, n_roots) && visit_all(&w);
    *done = ok && !w.apart;
    if (*done)
        ok = finish(&w) && jpy_engine_find_inputs(e);
    else if (ok)
        start_again(e);
    jn_free(w.at);
    return ok;
}
