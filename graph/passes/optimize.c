/* The default pipeline: callees first, so that what is inlined is already small. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/passes/passes.h"

#include "graph/ir/ir.h"

/* A call costs tens of nanoseconds, about as much as this many scalar nodes. */
enum { INLINE_NODES = 12 };

static janus_status optimize_one(jn_subgraph *g) {
    JN_TRY(jn_pass_inline(g, INLINE_NODES));
    JN_TRY(jn_pass_fold(g));
    JN_TRY(jn_pass_inline(g, INLINE_NODES)); /* arms that folding turned into calls */
    JN_TRY(jn_pass_fold(g));
    JN_TRY(jn_pass_cse(g));
    JN_TRY(jn_pass_dce(g));
    return g->module->running_sums ? jn_pass_views(g) : JANUS_OK;
}

janus_status jn_optimize(janus_module *m) {
    if (m->frozen)
        return jn_error(JANUS_INVALID_ARGUMENT, "optimize: the module is frozen");
    /* Components are numbered callees first; the numbers of `order` are from here. */
    JN_TRY(jn_callgraph_compute(m));
    size_t n = m->subs.n, filled = 0;
    jn_subgraph **order = jn_alloc(n * sizeof *order);
    size_t *place = jn_calloc(n + 1, sizeof *place);
    janus_status st = order && place ? JANUS_OK : JN_NO_MEMORY();
    for (size_t i = 0; st == JANUS_OK && i < n; i++)
        place[m->subs.data[i]->scc + 1]++;
    for (size_t i = 0; st == JANUS_OK && i < n; i++)
        place[i + 1] += place[i];
    for (size_t i = 0; st == JANUS_OK && i < n; i++, filled++)
        order[place[m->subs.data[i]->scc]++] = m->subs.data[i];
    for (size_t i = 0; st == JANUS_OK && i < filled; i++) {
        if (order[i]->defined)
            st = optimize_one(order[i]);
    }
    jn_free(place);
    jn_free(order);
    return st;
}
