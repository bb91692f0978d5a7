/* Strongly connected components of the call graph (Tarjan's algorithm, without recursion), and the
 * rule for shared parameters inside them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/ir/ir.h"

#include <string.h>

enum { UNSEEN = 0 };

typedef struct visit {
    uint32_t order, low; /* order 0: not seen yet */
    bool on_stack;
} visit;

typedef struct step {
    jn_subgraph *g;
    size_t node; /* where the search goes on */
    unsigned sub;
} step;

typedef struct search {
    visit *visits;
    JN_VEC(step) path;
    JN_VEC(jn_subgraph *) stack;
    uint32_t order, n_components;
} search;

static bool enter(search *s, jn_subgraph *g) {
    visit *v = &s->visits[g->index];
    v->order = v->low = ++s->order;
    v->on_stack = true;
    g->recursive = false;
    return jn_vec_push(&s->stack, g) && jn_vec_push(&s->path, ((step){g, 0, 0}));
}

/* The next SubGraph that this one refers to; NULL at the end. */
static jn_subgraph *next_callee(step *at) {
    while (at->node < at->g->nodes.n) {
        const jn_node *n = at->g->nodes.data[at->node];
        if (n->op && at->sub < jn_op_n_subs(n->op))
            return n->subs[at->sub++];
        at->node++;
        at->sub = 0;
    }
    return NULL;
}

static void leave(search *s, jn_subgraph *g) {
    visit *v = &s->visits[g->index];
    if (v->low == v->order) {
        jn_subgraph *member;
        bool several = jn_vec_last(&s->stack) != g;
        do {
            member = jn_vec_pop(&s->stack);
            s->visits[member->index].on_stack = false;
            member->scc = s->n_components;
            member->recursive |= several;
        } while (member != g);
        s->n_components++;
    }
    (void)jn_vec_pop(&s->path);
    if (s->path.n) {
        visit *caller = &s->visits[jn_vec_last(&s->path).g->index];
        if (v->low < caller->low)
            caller->low = v->low;
    }
}

static bool search_from(search *s, jn_subgraph *root) {
    if (!enter(s, root))
        return false;
    while (s->path.n) {
        step *at = &jn_vec_last(&s->path);
        jn_subgraph *g = at->g, *callee = next_callee(at);
        if (!callee) {
            leave(s, g);
            continue;
        }
        visit *v = &s->visits[callee->index];
        if (callee == g)
            g->recursive = true;
        if (v->order == UNSEEN) {
            if (!enter(s, callee))
                return false;
        } else if (v->on_stack && v->order < s->visits[g->index].low) {
            s->visits[g->index].low = v->order;
        }
    }
    return true;
}

janus_status jn_callgraph_compute(janus_module *m) {
    search s = {.visits = jn_calloc(m->subs.n, sizeof *s.visits)};
    bool ok = s.visits != NULL;
    for (size_t i = 0; ok && i < m->subs.n; i++) {
        if (s.visits[i].order == UNSEEN)
            ok = search_from(&s, m->subs.data[i]);
    }
    jn_free(s.visits);
    jn_vec_free(&s.path);
    jn_vec_free(&s.stack);
    return ok ? JANUS_OK : JN_NO_MEMORY();
}

janus_status jn_callgraph_often(janus_module *m, bool *out) {
    JN_TRY(jn_callgraph_compute(m));
    for (size_t i = 0; i < m->subs.n; i++)
        out[i] = m->subs.data[i]->recursive;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < m->subs.n; i++) {
            const jn_subgraph *g = m->subs.data[i];
            for (size_t k = 1; k < g->nodes.n; k++) {
                const jn_node *n = g->nodes.data[k];
                for (unsigned u = 0; n->op && u < jn_op_n_subs(n->op); u++)
                    if ((out[i] || jn_is_loop(n)) && !out[n->subs[u]->index])
                        changed = out[n->subs[u]->index] = true;
            }
        }
    }
    return JANUS_OK;
}

/* ---- shared parameters ------------------------------------------------------------------------
 */

/* Position of the k-th shared parameter; -1: there are fewer. */
static int nth_shared(const jn_subgraph *g, unsigned k) {
    for (unsigned i = 0; i < g->params.n; i++) {
        if (g->params.data[i].shared && k-- == 0)
            return (int)i;
    }
    return -1;
}

static janus_status check_inner_call(const jn_subgraph *g, const jn_node *n,
                                     const jn_subgraph *callee) {
    for (unsigned k = 0;; k++) {
        int theirs = nth_shared(callee, k), ours = nth_shared(g, k);
        if (theirs < 0 && ours < 0)
            return JANUS_OK;
        if (theirs < 0 || ours < 0 || g->params.data[ours].type != callee->params.data[theirs].type)
            return jn_error(JANUS_INVALID_ARGUMENT,
                            "@%s and @%s call each other and must have the same shared parameters; "
                            "number %u differs",
                            g->name, callee->name, k);
        int at = jn_operand_of_param(n->op, (unsigned)theirs);
        jn_value want = {0, (uint32_t)ours};
        if (at < 0 || (uint32_t)at >= n->n_in || !jn_value_equal(n->in[at], want))
            return jn_error(JANUS_INVALID_ARGUMENT,
                            "@%s, node %%%u = %s @%s: shared parameter %s must be passed on as it "
                            "is inside a recursion",
                            g->name, n->id, n->op->name, callee->name,
                            callee->params.data[theirs].name);
    }
}

janus_status jn_callgraph_check_shared(const janus_module *m) {
    for (size_t i = 0; i < m->subs.n; i++) {
        const jn_subgraph *g = m->subs.data[i];
        for (size_t k = 1; g->recursive && k < g->nodes.n; k++) {
            const jn_node *n = g->nodes.data[k];
            for (unsigned j = 0; j < jn_op_n_subs(n->op); j++) {
                if (n->subs[j]->scc == g->scc)
                    JN_TRY(check_inner_call(g, n, n->subs[j]));
            }
        }
    }
    return JANUS_OK;
}
