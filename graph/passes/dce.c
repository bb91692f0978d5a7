/* Dead code: nodes whose results nobody uses go, unless leaving them out could be noticed.
 *
 * Parameters stay, used or not: they are the SubGraph's signature.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"

static void need(bool *live, jn_value v) {
    if (!jn_value_is_none(v))
        live[v.node] = true;
}

static void mark(const jn_subgraph *g, const bool *effects, bool *live) {
    for (size_t i = 0; i < g->results.n; i++)
        need(live, g->results.data[i]);
    for (size_t i = 0; i < g->saved.n; i++)
        need(live, g->saved.data[i].value);
    for (size_t i = g->nodes.n; i-- > 1;) {
        const jn_node *n = g->nodes.data[i];
        live[i] |= jn_node_has_effect(n, effects);
        for (uint32_t k = 0; live[i] && k < n->n_in; k++)
            need(live, n->in[k]);
    }
}

janus_status jn_drop_unused(jn_subgraph *g, const bool *effects) {
    jn_rewrite r;
    janus_status st;
    JN_TRY(jn_rewrite_begin(&r, g));
    bool *live = jn_calloc(g->nodes.n, sizeof *live);
    if (!live)
        JN_GO(JN_NO_MEMORY(), cancel);
    mark(g, effects, live);
    for (size_t i = 1; i < g->nodes.n; i++) {
        if (live[i])
            JN_GO(jn_rewrite_keep(&r, g->nodes.data[i], NULL), cancel);
        else
            r.changed = true;
    }
    jn_free(live);
    jn_rewrite_finish(&r);
    return JANUS_OK;
cancel:
    jn_free(live);
    jn_rewrite_cancel(&r);
    return st;
}

janus_status jn_pass_dce(jn_subgraph *g) {
    bool *effects;
    JN_TRY(jn_effects_compute(g->module, &effects));
    janus_status st = jn_drop_unused(g, effects);
    jn_free(effects);
    return st;
}
