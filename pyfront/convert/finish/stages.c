/* SPDX-License-Identifier: Apache-2.0 */
/* Where main is cut into stages, what goes from one to another, and what of that gets a gradient.
 */
#include "pyfront/convert/finish/stages.h"

#include <string.h>

#include "graph/autodiff/autodiff.h"
#include "ops/op_ids.h"

/* Whether gradients go through a node at all. */
static bool passes(const jn_node *n) { return n->op->role != JN_ROLE_COMPUTE || n->op->grad; }

/* Marks the nodes that a value of node `from` reaches. */
static void mark(const jn_subgraph *g, uint32_t from, uint32_t index, bool *reached) {
    memset(reached, 0, g->nodes.n);
    for (size_t i = (size_t)from + 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        for (uint32_t k = 0; k < n->n_in && !reached[i]; k++)
            reached[i] = !jn_value_is_none(n->in[k]) &&
                         ((n->in[k].node == from && n->in[k].index == index) ||
                          (n->in[k].node && reached[n->in[k].node]));
    }
}

static const jpy_src *leaf_source(const jcv_staging *s, jn_value param) {
    return s->e->guards.srcs.data[s->e->inputs.data[param.index].slot];
}

janus_status jcv_find_cuts(jcv_staging *s, jn_arena *a) {
    const jn_subgraph *g = s->g;
    const jpy_entry *e = s->e;
    bool *reached = jn_arena_alloc(a, g->nodes.n);
    s->cut = jn_arena_alloc(a, (e->grad_of.n + 2) * sizeof *s->cut);
    if (!reached || !s->cut)
        return JN_NO_MEMORY();
    s->cut[s->n++] = 1;
    /* Where tensors are stored it is not known which results lead to which: they stay together. */
    for (size_t i = 0; !e->wires && i < e->grad_of.n; i++) {
        jn_value v = g->results.data[i];
        bool any = false;
        if (!e->grad_of.data[i])
            continue;
        mark(g, v.node, v.index, reached);
        for (size_t k = 0; k < e->grad_of.n; k++)
            any = any || (e->grad_of.data[k] && reached[g->results.data[k].node]);
        unsigned at = 0;
        while (at < s->n && s->cut[at] < v.node + 1)
            at++;
        if (!any || (at < s->n && s->cut[at] == v.node + 1))
            continue;
        memmove(s->cut + at + 1, s->cut + at, (s->n - at) * sizeof *s->cut);
        s->cut[at] = v.node + 1;
        s->n++;
    }
    s->cut[s->n] = (uint32_t)g->nodes.n;
    if (s->n > JPY_MAX_STAGES)
        return jn_error(JANUS_UNSUPPORTED, "many results that are computed from each other");
    return JANUS_OK;
}

void jcv_find_active(const jcv_staging *s, const jn_subgraph *g, uint32_t param, bool *active) {
    memset(active, 0, g->nodes.n);
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        if (!passes(n))
            continue;
        active[i] = s->e->wires && (n->op == JN_OP(wire_read) || n->subs[0]);
        for (uint32_t k = 0; k < n->n_in && !active[i]; k++) {
            jn_value v = n->in[k];
            if (jn_value_is_none(v) || !jcv_is_float_type(jn_value_type(g, v)))
                continue;
            if (v.node)
                active[i] = active[v.node];
            else if (param != JCV_ANY_LEAF)
                active[i] = v.index == param;
            else
                active[i] = leaf_source(s, v)->tensor.requires_grad;
        }
    }
}

janus_status jcv_check_turns(const jcv_staging *s, jn_arena *a) {
    bool *params = jn_arena_zalloc(a, s->g->params.n + 1);
    if (!params)
        return JN_NO_MEMORY();
    for (uint32_t p = 0; p < s->g->params.n; p++)
        params[p] = jcv_is_float_type(s->g->params.data[p].type) &&
                    leaf_source(s, (jn_value){0, p})->tensor.requires_grad;
    return jn_calls_in_turn(s->g, s->active, params);
}

unsigned jcv_stage_of(const jcv_staging *s, jn_value v) {
    unsigned k = 0;
    while (k + 1 < s->n && v.node >= s->cut[k + 1])
        k++;
    return k;
}

static bool add_value(jcv_value_list *l, jn_value v) {
    for (size_t i = 0; i < l->n; i++)
        if (jn_value_equal(l->data[i], v))
            return true;
    return jn_vec_push(l, v);
}

janus_status jcv_check_keys(const jcv_staging *s, jn_arena *a) {
    const jn_subgraph *g = s->g;
    bool *keys = jn_arena_zalloc(a, g->nodes.n * sizeof *keys);
    if (!keys)
        return JN_NO_MEMORY();
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        keys[i] = n->op == JN_OP(rows_new);
        for (uint32_t k = 0; k < n->n_in; k++) {
            if (jn_value_is_none(n->in[k]) || !keys[n->in[k].node])
                continue;
            keys[i] = keys[i] || n->op->role == JN_ROLE_SCALAR;
            if (jcv_stage_of(s, n->in[k]) != jcv_stage_of(s, (jn_value){(uint32_t)i, 0}))
                return jn_error(JANUS_UNSUPPORTED, "a result that requires grad is computed before "
                                                   "a row of a list is read");
        }
    }
    return JANUS_OK;
}

janus_status jcv_find_borders(jcv_staging *s) {
    const jn_subgraph *g = s->g;
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        unsigned to = jcv_stage_of(s, (jn_value){(uint32_t)i, 0});
        for (uint32_t k = 0; k < n->n_in; k++) {
            jn_value v = n->in[k];
            unsigned from = jcv_stage_of(s, v);
            if (jn_value_is_none(v) || (v.node && from == to))
                continue;
            if (!add_value(&s->in[to], v) || (v.node && !add_value(&s->out[from], v)))
                return JN_NO_MEMORY();
        }
    }
    for (size_t i = 0; i < g->results.n; i++) {
        jn_value v = g->results.data[i];
        if (v.node && !add_value(&s->out[jcv_stage_of(s, v)], v))
            return JN_NO_MEMORY();
    }
    return JANUS_OK;
}

static bool leaves_tracked(const jcv_staging *s, jn_value v) {
    for (size_t r = 0; r < s->e->grad_of.n; r++)
        if (s->e->grad_of.data[r] && jn_value_equal(s->g->results.data[r], v))
            return true;
    return false;
}

/* Whether a node from `first` on reads v and has a gradient for it; leads: per node, whether it
 * gets one. */
static bool read_for_gradient(const jn_subgraph *g, jn_value v, uint32_t first, const bool *leads) {
    for (size_t i = first; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        for (uint32_t k = 0; leads[i] && passes(n) && k < n->n_in; k++)
            if (jn_value_equal(n->in[k], v))
                return true;
    }
    return false;
}

/* Gradients come to what leaves the graph tracked and to what later stages compute such a thing
 * from: not to the statistics of a batch, say, which they only store. */
janus_status jcv_find_asked(jcv_staging *s, jn_arena *a) {
    const jn_subgraph *g = s->g;
    bool *leads = jn_arena_zalloc(a, g->nodes.n);
    if (!leads)
        return JN_NO_MEMORY();
    for (size_t i = g->nodes.n; s->n > 1 && i-- > 1;) {
        const jn_node *n = g->nodes.data[i];
        for (uint32_t k = 0; k < n->n_out && !leads[i]; k++)
            leads[i] = leaves_tracked(s, (jn_value){(uint32_t)i, k});
        for (uint32_t k = 0; leads[i] && passes(n) && k < n->n_in; k++)
            if (!jn_value_is_none(n->in[k]) && jcv_is_float_type(jn_value_type(g, n->in[k])))
                leads[n->in[k].node] = true;
    }
    for (unsigned k = 0; k < s->n; k++) {
        s->asked[k] = jn_arena_zalloc(a, s->out[k].n + 1);
        if (!s->asked[k])
            return JN_NO_MEMORY();
        for (size_t i = 0; i < s->out[k].n; i++) {
            jn_value v = s->out[k].data[i];
            s->asked[k][i] =
                jcv_is_float_type(jn_value_type(g, v)) &&
                (leaves_tracked(s, v) || (s->n > 1 && v.node && s->active[v.node] &&
                                          read_for_gradient(g, v, s->cut[k + 1], leads)));
        }
    }
    return JANUS_OK;
}
