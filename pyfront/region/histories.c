/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether backward() of one result of a graph leaves another's history as it is.
 *
 * What leaves a graph together is one node of the tape, whose saved values are given up as a whole:
 * right only where each two of its results share an op of which CPython's tape saves something.
 * A statement between regions often calls backward() of one and then of the other.
 */
#include "graph/graph.h"
#include "pyfront/entry.h"
#include "pyfront/region/region.h"

#include <string.h>

static bool is_number(const jn_subgraph *g, jn_value v) {
    return v.node && !strcmp(g->nodes.data[v.node]->op->name, "full");
}

/* Whether the tape surely saves something for it: a result, or an operand that a gradient of
 * another one, or the only one, needs. */
static bool saves(const jn_subgraph *g, const jn_node *n, const bool *tracked, const bool *param) {
    if (!n->op->grad)
        return false;
    if (n->op->save >> 16)
        return true;
    for (uint32_t i = 0; i < n->n_in && i < 16; i++) {
        if (!(n->op->save >> i & 1) || is_number(g, n->in[i]))
            continue;
        bool other = n->n_in == 1;
        for (uint32_t k = 0; k < n->n_in && !other; k++)
            other = k != i && (n->in[k].node ? tracked[n->in[k].node] : param[n->in[k].index]);
        if (other)
            return true;
    }
    return false;
}

/* Marks the tracked nodes that a result is computed from. */
static void mark(const jn_subgraph *g, uint32_t node, const bool *tracked, uint8_t *seen,
                 uint8_t bit) {
    seen[node] |= bit;
    for (uint32_t n = node; n > 0; n--) {
        const jn_node *x = g->nodes.data[n];
        for (uint32_t i = 0; seen[n] & bit && i < x->n_in; i++)
            if (x->in[i].node && tracked[x->in[i].node])
                seen[x->in[i].node] |= bit;
    }
}

static bool share(const jn_subgraph *g, uint32_t a, uint32_t b, const bool *tracked,
                  const bool *param, uint8_t *seen) {
    memset(seen, 0, g->nodes.n);
    mark(g, a, tracked, seen, 1);
    mark(g, b, tracked, seen, 2);
    for (size_t n = 1; n < g->nodes.n; n++)
        if (seen[n] == 3 && saves(g, g->nodes.data[n], tracked, param))
            return true;
    return false;
}

static bool stage_apart(const jpy_stage *x) {
    const jn_subgraph *g = x->sub;
    bool *tracked = jn_calloc(g->nodes.n, sizeof *tracked), *param = NULL;
    uint8_t *seen = jn_calloc(g->nodes.n, 1);
    bool apart = !tracked || !seen || !(param = jn_calloc(g->params.n + 1, sizeof *param));
    for (size_t i = 0; i < x->in.n && !apart; i++)
        param[x->in.data[i].param] = true;
    for (size_t n = 1; n < g->nodes.n && !apart; n++) {
        const jn_node *at = g->nodes.data[n];
        for (uint32_t i = 0; i < at->n_in && !tracked[n]; i++)
            tracked[n] = at->in[i].node ? tracked[at->in[i].node] : param[at->in[i].index];
    }
    for (size_t i = 0; i < x->place.n && !apart; i++)
        for (size_t k = 0; k < i && !apart; k++)
            apart = !share(g, g->results.data[x->place.data[i]].node,
                           g->results.data[x->place.data[k]].node, tracked, param, seen);
    jn_free(tracked);
    jn_free(param);
    jn_free(seen);
    return apart;
}

bool jpy_histories_apart(const jpy_entry *e) {
    for (unsigned k = 0; k < e->n_stages; k++)
        if (e->stages[k].place.n > 1 && stage_apart(&e->stages[k]))
            return true;
    return false;
}
