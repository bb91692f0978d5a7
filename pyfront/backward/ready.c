/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the gradients of leaves are complete.
 *
 * PyTorch calls a leaf's hooks, and adds to its .grad, as soon as the last node that has something
 * for it has run. Where somebody looks, so is it here: leaves have the order in which that
 * is, and come between the nodes. Of one node's leaves the operands' order is kept.
 */
#include "pyfront/backward/engine.h"

#include <stdlib.h>

#include "graph/base/alloc.h"
#include "pyfront/tensor/tensor.h"

typedef struct leaf_end {
    uint32_t visit, after; /* so many nodes */
    uint32_t met;
    uint64_t turn; /* among those of the last one */
} leaf_end;

static int compare(const void *a, const void *b) {
    const leaf_end *x = a, *y = b;
    if (x->after != y->after)
        return x->after < y->after ? -1 : 1;
    if (x->turn != y->turn)
        return x->turn < y->turn ? -1 : 1;
    return x->met < y->met ? -1 : x->met > y->met;
}

/* Whether somebody looks at one of the leaves.  arrives: by slot, of those alone where a gradient
 * may arrive; a graph has more operands than what the ops lead to that the gradient is of. */
static bool is_looked_at(const jpy_engine *e, const bool *arrives) {
    bool any = false;
    for (uint32_t k = e->n_nodes; k < e->visits.n && !any; k++) {
        const jpy_visit *v = &e->visits.data[e->order[k]];
        any = v->leaf && v->leaf->hooks && (!arrives || arrives[v->slot]);
    }
    return any;
}

/* Which of the leaves a link leads to; NULL: to a node, or nowhere. */
static leaf_end *leaf_of(const jpy_engine *e, leaf_end *leaves, const uint32_t *place,
                         jpy_link link) {
    bool leaf = link.visit != JPY_NO_LINK && !e->visits.data[link.visit].node;
    return leaf ? &leaves[place[link.visit]] : NULL;
}

/* Whether one may go on to operand i, from the results of which one may arrive. */
static bool goes_to(const bool *arrives, const jpy_visit *v, unsigned i) {
    bool goes = false;
    for (unsigned o = 0; v->needed && !v->end && o < v->n_out && !goes; o++)
        goes = arrives[v->slot + o] && jpy_node_leads(v->node, o, i);
    return goes;
}

/* By slot, whether a gradient may arrive. */
static void find_arriving(const jpy_engine *e, bool *arrives) {
    for (size_t i = 0; i < e->root_links.n; i++)
        if (e->root_links.data[i].visit != JPY_NO_LINK)
            arrives[e->root_links.data[i].slot] = true;
    for (uint32_t k = 0; k < e->n_nodes; k++) {
        const jpy_visit *v = &e->visits.data[e->order[k]];
        for (unsigned i = 0; v->node && i < v->node->n_in; i++) {
            jpy_link to = e->links.data[v->link + i];
            if (to.visit != JPY_NO_LINK && goes_to(arrives, v, i))
                arrives[to.slot] = true;
        }
    }
}

bool jpy_engine_order_shows(const jpy_engine *e, const jpy_visit *v) {
    const jpy_node_extra *x = v->node->extra;
    const bool hooked = x && x->hooks && PyList_GET_SIZE(x->hooks);
    if (!jpy_node_parts(v->node) || (!hooked && !jpy_node_parted(v->node)))
        return false;
    bool shows = hooked && v->n_out > 1;
    for (unsigned i = 0; i < v->node->n_in && !shows; i++) {
        jpy_link to = e->links.data[v->link + i];
        const jpy_tensor *leaf = jpy_link_needed(e, to) ? e->visits.data[to.visit].leaf : NULL;
        shows = leaf && leaf->hooks;
    }
    return shows;
}

bool jpy_engine_order_leaves(jpy_engine *e) {
    uint32_t n = (uint32_t)e->visits.n - e->n_nodes;
    if (!is_looked_at(e, NULL))
        return true;
    bool *arrives = jn_calloc(e->slots.n + 1, sizeof *arrives);
    if (arrives)
        find_arriving(e, arrives);
    if (arrives && !is_looked_at(e, arrives)) {
        jn_free(arrives);
        return true;
    }
    leaf_end *leaves = jn_calloc(n, sizeof *leaves);
    uint32_t *place = jn_calloc(e->visits.n, sizeof *place);
    e->ready = jn_calloc(n, sizeof *e->ready);
    bool ok = leaves && place && arrives && e->ready;
    for (uint32_t i = 0; ok && i < n; i++) {
        uint32_t visit = e->order[e->n_nodes + i];
        leaves[i] = (leaf_end){.visit = visit, .met = i};
        place[visit] = i;
    }
    for (uint32_t k = 0; ok && k < e->n_nodes; k++) {
        const jpy_visit *v = &e->visits.data[e->order[k]];
        for (unsigned i = 0; v->node && i < v->node->n_in; i++) {
            leaf_end *leaf = leaf_of(e, leaves, place, e->links.data[v->link + i]);
            if (leaf && goes_to(arrives, v, i)) {
                leaf->after = k + 1;
                leaf->turn = jpy_node_turn(v->node, i, arrives + v->slot);
            }
        }
    }
    if (ok)
        qsort(leaves, n, sizeof *leaves, compare);
    for (uint32_t i = 0; ok && i < n; i++) {
        e->order[e->n_nodes + i] = leaves[i].visit;
        e->ready[i] = leaves[i].after;
    }
    jn_free(arrives);
    jn_free(place);
    jn_free(leaves);
    return ok;
}
