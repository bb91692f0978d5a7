/* The verifier: everything other code relies on, checked again from scratch.
 *
 * Types are inferred anew from the operands' recorded types; the recorded ones may be wider (a
 * declaration, a join) but never narrower.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/ir/ir.h"

static janus_status verify_node(const jn_subgraph *g, const jn_node *n, uint32_t id) {
    if (!n->op || n->id != id)
        return jn_error(JANUS_INTERNAL, "@%s: node %u has id %u", g->name, id, n->id);
    for (unsigned i = 0; i < n->n_in; i++) {
        jn_value v = n->in[i];
        if (!jn_value_is_none(v) && v.node >= id)
            return jn_error(JANUS_INVALID_ARGUMENT,
                            "@%s, node %%%u = %s: operand %u is used before it is computed",
                            g->name, id, n->op->name, i);
    }
    JN_SCRATCH(scratch, 2048);
    jn_type *types;
    unsigned n_out;
    janus_status st = jn_infer_node(g, n->op, n->in, n->n_in, n->attrs, n->subs, &scratch, n->n_out,
                                    &types, &n_out);
    for (unsigned i = 0; st == JANUS_OK && i < n_out; i++) {
        if (!jn_type_fits(&types[i], n->out[i]))
            st = jn_error(JANUS_SHAPE, "%s: result %u is recorded as %s, inferred %s", n->op->name,
                          i, jn_type_text_of(n->out[i]).s, jn_type_text_of(&types[i]).s);
    }
    if (st != JANUS_OK)
        jn_error_context("in @%s, node %%%u = %s", g->name, id, n->op->name);
    jn_arena_free(&scratch);
    return st;
}

static janus_status verify_saved(const jn_subgraph *g) {
    for (size_t i = 0; i < g->saved.n; i++) {
        const jn_saved *s = &g->saved.data[i];
        const jn_node *n = s->value.node < g->nodes.n ? g->nodes.data[s->value.node] : NULL;
        if (!n || (!s->frame && s->value.index >= n->n_out))
            return jn_error(JANUS_INVALID_ARGUMENT, "@%s: saved member %zu is no value of its body",
                            g->name, i);
        if (s->frame && (!n->op || jn_op_n_subs(n->op) == 0))
            return jn_error(JANUS_INVALID_ARGUMENT,
                            "@%s: saved member %zu is a frame, but node %%%u is no call", g->name,
                            i, n->id);
    }
    return JANUS_OK;
}

janus_status jn_verify_subgraph(const jn_subgraph *g) {
    if (!g->defined)
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s is declared, but not defined", g->name);
    const jn_node *params = g->nodes.data[0];
    if (params->op || params->n_out != g->params.n)
        return jn_error(JANUS_INTERNAL, "@%s: node 0 is not the parameters", g->name);
    for (uint32_t id = 1; id < g->nodes.n; id++)
        JN_TRY(verify_node(g, g->nodes.data[id], id));
    if (g->results.n != g->result_types.n)
        return jn_error(JANUS_INTERNAL, "@%s: %zu results, %zu result types", g->name, g->results.n,
                        g->result_types.n);
    for (unsigned i = 0; i < g->results.n; i++) {
        jn_value v = g->results.data[i];
        if (v.node >= g->nodes.n || v.index >= g->nodes.data[v.node]->n_out)
            return jn_error(JANUS_INVALID_ARGUMENT, "@%s: result %u is no value of its body",
                            g->name, i);
        if (!jn_type_fits(jn_value_type(g, v), g->result_types.data[i]))
            return jn_error(JANUS_SHAPE, "@%s: result %u: declared %s, got %s", g->name, i,
                            jn_type_text_of(g->result_types.data[i]).s,
                            jn_type_text_of(jn_value_type(g, v)).s);
    }
    return verify_saved(g);
}

janus_status jn_verify_module(const janus_module *m) {
    for (size_t i = 0; i < m->subs.n; i++)
        JN_TRY(jn_verify_subgraph(m->subs.data[i]));
    return JANUS_OK;
}

janus_status jn_module_freeze(janus_module *m) {
    if (m->frozen)
        return JANUS_OK;
    JN_TRY(jn_verify_module(m));
    JN_TRY(jn_callgraph_compute(m));
    JN_TRY(jn_callgraph_check_shared(m));
    m->frozen = true;
    return JANUS_OK;
}
