/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a backward() is about: everything that can be reached from the roots, in the order in which
 * it is visited, and which of it is needed.
 *
 * A history is more than a cache holds, so the nodes are met once: what their edges lead to is
 * written down as numbers, and nothing is looked up later.  While this runs no code of the program
 * can, so a node itself remembers which visit it has; whether that is of this run is seen by
 * looking there.
 */
#include "config.h"

#include "pyfront/backward/engine.h"

#include <string.h>

#include "graph/base/alloc.h"
#include "pyfront/tensor/tensor.h"

/* ---- meeting ------------------------------------------------------------------------------------
 */

static size_t hash(const void *p) {
    uint64_t x = (uint64_t)(uintptr_t)p;
    return (size_t)((x >> 4) * 0x9E3779B97F4A7C15u >> 20);
}

/* The place of a leaf in the table: its own, or the one that it would have. */
static uint32_t *place_of(const jpy_engine *e, const jpy_tensor *leaf) {
    size_t i = hash(leaf) & e->mask;
    while (e->table[i] && e->visits.data[e->table[i] - 1].leaf != leaf)
        i = (i + 1) & e->mask;
    return &e->table[i];
}

static bool grow_table(jpy_engine *e) {
    size_t size = e->table ? 2 * (e->mask + 1) : 64;
    uint32_t *table = jn_calloc(size, sizeof *table);
    if (!table)
        return false;
    jn_free(e->table);
    e->table = table;
    e->mask = size - 1;
    for (uint32_t i = 0; i < e->visits.n; i++)
        if (e->visits.data[i].leaf)
            *place_of(e, e->visits.data[i].leaf) = i + 1;
    return true;
}

/* The number of the visit of what an edge leads to, or JPY_NO_LINK. */
static uint32_t find(const jpy_engine *e, jpy_edge edge) {
    if (edge.node) {
        uint32_t at = edge.node->visit;
        return at < e->visits.n && e->visits.data[at].node == edge.node ? at : JPY_NO_LINK;
    }
    return edge.leaf && e->table ? *place_of(e, edge.leaf) - 1 : JPY_NO_LINK;
}
_Static_assert(JPY_NO_LINK == UINT32_MAX, "an empty place of the table");

static jpy_link link_to(const jpy_engine *e, uint32_t at, jpy_edge edge) {
    if (at == JPY_NO_LINK)
        return (jpy_link){JPY_NO_LINK, 0};
    return (jpy_link){at, e->visits.data[at].slot + (edge.node ? edge.index : 0)};
}

/* Notes a target; new nodes go on the stack. */
static bool meet(jpy_engine *e, jpy_edge edge, jpy_link *out) {
    edge = jpy_edge_now(edge);
    uint32_t at = jpy_edge_tracked(edge) ? find(e, edge) : JPY_NO_LINK;
    *out = link_to(e, at, edge);
    if (at != JPY_NO_LINK || !jpy_edge_tracked(edge))
        return true;
    jpy_visit v = {.node = edge.node,
                   .leaf = edge.node ? NULL : edge.leaf,
                   .seq = edge.node ? edge.node->seq : 0,
                   .slot = (uint32_t)e->slots.n,
                   .n_out = edge.node ? edge.node->n_out : 1};
    at = (uint32_t)e->visits.n;
    if (e->visits.n >= JPY_NO_LINK - 1 || e->slots.n >= UINT32_MAX - v.n_out ||
        !jn_vec_reserve(&e->slots, e->slots.n + v.n_out) ||
        (v.node && !jn_vec_reserve(&e->stack, e->stack.n + 1)) ||
        (v.leaf && 2 * (e->n_leaves + 1) > (e->table ? e->mask + 1 : 0) && !grow_table(e)) ||
        !jn_vec_push(&e->visits, v))
        return false;
    jpy_edge_retain((jpy_edge){v.node, v.leaf, 0});
    for (unsigned i = 0; i < v.n_out; i++)
        e->slots.data[e->slots.n++] = JPY_VAL_NONE;
    if (v.node) {
        v.node->visit = at;
        e->stack.data[e->stack.n++] = at;
    } else {
        e->n_leaves++;
        *place_of(e, v.leaf) = at + 1;
    }
    *out = link_to(e, at, edge);
    return true;
}

/* The inputs come first, as what has no edges. */
static bool meet_ends(jpy_engine *e) {
    jpy_link link;
    for (unsigned i = 0; i < e->n_inputs; i++) {
        if (!meet(e, e->inputs[i], &link))
            return false;
        if (link.visit != JPY_NO_LINK)
            e->visits.data[link.visit].end = true;
    }
    e->stack.n = 0;
    return true;
}

bool jpy_engine_meet_leaf(jpy_engine *e, jpy_tensor *leaf, jpy_link *out) {
    return meet(e, (jpy_edge){NULL, leaf, 0}, out);
}

bool jpy_engine_find_inputs(jpy_engine *e) {
    if (!e->n_inputs)
        return true;
    jn_free(e->input_at);
    e->input_at = jn_calloc(e->slots.n + e->n_inputs + 1, sizeof *e->input_at);
    if (!e->input_at || !jn_vec_reserve(&e->input_links, e->n_inputs))
        return false;
    e->n_input_at = e->slots.n;
    e->input_next = e->input_at + e->slots.n;
    for (unsigned i = 0; i < e->n_inputs; i++) {
        jpy_edge x = jpy_edge_now(e->inputs[i]);
        jpy_link to = e->input_links.data[i] = link_to(e, find(e, x), x);
        if (to.visit == JPY_NO_LINK)
            continue;
        e->input_next[i] = e->input_at[to.slot];
        e->input_at[to.slot] = i + 1;
    }
    return true;
}

static bool meet_all(jpy_engine *e, const jpy_val *roots, unsigned n_roots) {
    enum { FEW = 15 }; /* room that malloc() has at hand */
    if (!jn_vec_reserve(&e->root_links, n_roots) || !jn_vec_reserve(&e->visits, FEW) ||
        !jn_vec_reserve(&e->slots, FEW) || !jn_vec_reserve(&e->links, 2 * FEW) ||
        !jn_vec_reserve(&e->stack, FEW))
        return false;
    if (e->between && !meet_ends(e))
        return false;
    for (unsigned i = 0; i < n_roots; i++)
        if (!meet(e, roots[i].edge, &e->root_links.data[e->root_links.n++]))
            return false;
    while (e->stack.n) {
        uint32_t at = jn_vec_pop(&e->stack);
        jpy_node *n = e->visits.data[at].node;
        size_t first = e->links.n;
        if (first + n->n_in >= JPY_NO_LINK || !jn_vec_reserve(&e->links, first + n->n_in))
            return false;
        e->visits.data[at].link = (uint32_t)first;
        e->links.n += n->n_in;
        for (unsigned i = 0; i < n->n_in; i++)
            jpy_node_expect(n->edges[i].node);
        for (unsigned i = 0; i < n->n_in; i++)
            if (!meet(e, n->edges[i], &e->links.data[first + i]))
                return false;
    }
    return jpy_engine_find_inputs(e);
}

/* ---- the order ----------------------------------------------------------------------------------
 */

static void merge(const jpy_engine *e, const uint32_t *from, uint32_t *to, size_t a, size_t b,
                  size_t c) {
    size_t i = a, j = b;
    for (size_t k = a; k < c; k++) {
        bool left = j >= c || (i < b && e->visits.data[from[i]].seq >= e->visits.data[from[j]].seq);
        to[k] = from[left ? i++ : j++];
    }
}

/* e->order has the nodes: the latest first. */
static bool merge_sort(jpy_engine *e) {
    size_t n = e->n_nodes;
    uint32_t *a = e->order, *room = jn_alloc((n + 1) * sizeof *room), *b = room;
    if (!room)
        return false;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t mid = i + width < n ? i + width : n, end = i + 2 * width < n ? i + 2 * width : n;
            merge(e, a, b, i, mid, end);
        }
        uint32_t *swap = a;
        a = b;
        b = swap;
    }
    if (a != e->order)
        memcpy(e->order, a, n * sizeof *a);
    jn_free(room);
    return true;
}

/* The same where the numbers of the nodes lie close together, as those of one program's step do:
 * each has a place. */
static bool place_sort(jpy_engine *e, uint64_t least, size_t range) {
    uint32_t *place = jn_calloc(range, sizeof *place);
    if (!place)
        return false;
    for (size_t i = 0; i < e->n_nodes; i++)
        place[e->visits.data[e->order[i]].seq - least] = e->order[i] + 1;
    for (size_t i = range, n = 0; i-- > 0;)
        if (place[i])
            e->order[n++] = place[i] - 1;
    jn_free(place);
    return true;
}

/* Leaves stay in the order they were met. */
static bool sort(jpy_engine *e) {
    enum { APART = 4 };
    size_t n = e->visits.n, n_leaves = 0;
    uint64_t least = UINT64_MAX, most = 0;
    if (!(e->order = jn_alloc((n + 1) * sizeof *e->order)))
        return false;
    e->n_nodes = n - e->n_leaves;
    for (size_t i = 0, k = 0; i < n; i++) {
        const jpy_visit *v = &e->visits.data[i];
        if (!v->node) {
            e->order[e->n_nodes + n_leaves++] = (uint32_t)i;
            continue;
        }
        e->order[k++] = (uint32_t)i;
        least = v->seq < least ? v->seq : least;
        most = v->seq > most ? v->seq : most;
    }
    if (e->n_nodes < 2)
        return true;
    return most - least < APART * e->n_nodes ? place_sort(e, least, (size_t)(most - least) + 1)
                                             : merge_sort(e);
}

/* ---- what is needed -----------------------------------------------------------------------------
 */

static void need(jpy_engine *e, jpy_visit *v, uint32_t slot) {
    v->needed = e->needed[slot] = true;
    bool whole = v->node && (!jpy_node_parts(v->node) || jpy_node_mixes(v->node));
    for (unsigned i = 0; whole && i < v->n_out; i++)
        e->needed[v->slot + i] = true; /* a node is run as a whole */
}

/* With inputs given, only what leads to one of them is needed. */
static bool mark_needed(jpy_engine *e) {
    if (!e->n_inputs) {
        for (size_t i = 0; i < e->visits.n; i++)
            e->visits.data[i].needed = true;
        return true;
    }
    if (!(e->needed = jn_calloc(e->slots.n + 1, sizeof *e->needed)))
        return false;
    for (unsigned i = 0; i < e->n_inputs; i++) {
        jpy_link to = e->input_links.data[i];
        if (to.visit != JPY_NO_LINK)
            need(e, &e->visits.data[to.visit], to.slot);
    }
    for (size_t k = e->n_nodes; k-- > 0;) {
        jpy_visit *v = &e->visits.data[e->order[k]];
        jpy_node *n = v->node;
        for (unsigned i = 0; !v->end && i < n->n_in; i++) {
            if (v->needed && !jpy_node_parts(n))
                break;
            if (!jpy_link_needed(e, e->links.data[v->link + i]))
                continue;
            for (unsigned o = 0; o < n->n_out; o++)
                if (jpy_node_leads(n, o, i))
                    need(e, v, v->slot + o);
        }
    }
    return true;
}

static bool collect(jpy_engine *e, const jpy_val *roots, unsigned n_roots) {
    bool walked = false;
    if (e->noting && !jpy_engine_walk(e, roots, n_roots, &walked))
        return false;
    if (walked)
        return true;
    if (!meet_all(e, roots, n_roots) || !sort(e))
        return false;
    for (uint32_t k = 0; e->noting && k < e->n_nodes; k++)
        if (!jpy_engine_note(e, e->order[k]))
            return false;
    return true;
}

bool jpy_engine_collect(jpy_engine *e, const jpy_val *roots, unsigned n_roots) {
    return collect(e, roots, n_roots) && mark_needed(e) && jpy_engine_order_leaves(e);
}

void jpy_engine_free(jpy_engine *e) {
    enum { AHEAD = 8 };
    jpy_engine_let_go(e);
    for (size_t i = 0; i < e->slots.n; i++)
        jpy_val_release(&e->slots.data[i]);
    for (size_t i = 0; i < e->visits.n; i++) {
        if (i + AHEAD < e->visits.n)
            jpy_node_expect(e->visits.data[i + AHEAD].node);
        jpy_edge_release((jpy_edge){e->visits.data[i].node, e->visits.data[i].leaf, 0});
    }
    jn_vec_free(&e->slots);
    jn_vec_free(&e->visits);
    jn_vec_free(&e->links);
    jn_vec_free(&e->root_links);
    jn_vec_free(&e->input_links);
    jn_vec_free(&e->stack);
    jn_free(e->input_at);
    jn_free(e->table);
    jn_free(e->order);
    jn_free(e->ready);
    jn_free(e->needed);
    jn_vec_free(&e->values);
}
