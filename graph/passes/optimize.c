/* The default pipeline: callees first, so that what is inlined is already small.
 *
 * What passes ask of the whole module is found once and kept up to date: of a SubGraph that is done
 * nothing changes any more, and its callers come later.  Only those that call each other are asked
 * about anew.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/passes/passes.h"

#include "graph/ir/ir.h"
#include "graph/passes/rewrite.h"

/* A call costs tens of nanoseconds, about as much as this many scalar nodes. */
enum { INLINE_NODES = 12 };

typedef struct facts {
    bool *effects; /* per SubGraph */
    bool stores;   /* tensors are put into host objects */
} facts;

static bool calls_itself(const jn_subgraph *g) {
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        for (unsigned k = 0; n->op && k < jn_op_n_subs(n->op); k++)
            if (n->subs[k] == g)
                return true;
    }
    return false;
}

/* Whether g is still recursive; `alone`: no other one belongs to its recursion. */
static janus_status ask_recursive(jn_subgraph *g, bool alone) {
    if (!g->recursive)
        return JANUS_OK;
    if (!alone)
        return jn_callgraph_compute(g->module);
    g->recursive = calls_itself(g);
    return JANUS_OK;
}

static janus_status ask_effects(const jn_subgraph *g, bool alone, facts *x) {
    if (!alone) {
        bool *effects;
        JN_TRY(jn_effects_compute(g->module, &effects));
        jn_free(x->effects);
        x->effects = effects;
        return JANUS_OK;
    }
    x->effects[g->index] = false;
    x->effects[g->index] = jn_body_has_effect(g, x->effects);
    return JANUS_OK;
}

static janus_status optimize_one(jn_subgraph *g, bool alone, facts *x) {
    JN_TRY(ask_recursive(g, alone));
    JN_TRY(jn_inline_calls(g, INLINE_NODES));
    JN_TRY(jn_pass_fold(g));
    JN_TRY(ask_recursive(g, alone));
    JN_TRY(jn_inline_calls(g, INLINE_NODES)); /* arms that folding turned into calls */
    JN_TRY(jn_pass_fold(g));
    JN_TRY(jn_merge_equal(g, x->stores));
    JN_TRY(ask_effects(g, alone, x));
    JN_TRY(jn_drop_unused(g, x->effects));
    if (g->module->running_sums)
        JN_TRY(jn_pass_views(g));
    JN_TRY(ask_recursive(g, alone));
    return ask_effects(g, alone, x);
}

janus_status jn_optimize(janus_module *m) {
    if (m->frozen)
        return jn_error(JANUS_INVALID_ARGUMENT, "optimize: the module is frozen");
    /* Components are numbered callees first; the numbers of `order` are from here. */
    JN_TRY(jn_callgraph_compute(m));
    facts x = {.stores = jn_stores_tensors(m)};
    JN_TRY(jn_effects_compute(m, &x.effects));
    size_t n = m->subs.n, filled = 0;
    jn_subgraph **order = jn_alloc((n + 1) * sizeof *order);
    bool *alone = jn_calloc(n + 1, sizeof *alone); /* as `order` */
    size_t *place = jn_calloc(n + 1, sizeof *place);
    janus_status st = order && alone && place ? JANUS_OK : JN_NO_MEMORY();
    for (size_t i = 0; st == JANUS_OK && i < n; i++)
        place[m->subs.data[i]->scc + 1]++;
    for (size_t i = 0; st == JANUS_OK && i < n; i++)
        place[i + 1] += place[i];
    for (size_t i = 0; st == JANUS_OK && i < n; i++, filled++)
        order[place[m->subs.data[i]->scc]++] = m->subs.data[i];
    for (size_t i = 0; i < filled; i++)
        alone[i] = (i == 0 || order[i - 1]->scc != order[i]->scc) &&
                   (i + 1 == filled || order[i + 1]->scc != order[i]->scc);
    for (size_t i = 0; st == JANUS_OK && i < filled; i++) {
        if (order[i]->defined)
            st = optimize_one(order[i], alone[i], &x);
    }
    jn_free(x.effects);
    jn_free(place);
    jn_free(alone);
    jn_free(order);
    return st;
}
