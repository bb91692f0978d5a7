/* Folding: scalar rows of constants become constants, an `if` of a constant becomes a call.
 *
 * What the row's fold rule refuses (a division by zero, an overflow) stays and fails when it runs.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"

enum { MAX_FOLDED_OPERANDS = 8 };

static const jn_node *new_node(const jn_rewrite *r, jn_value old) {
    jn_value v = jn_rewrite_value(r, old);
    return jn_value_is_none(v) ? NULL : r->to.nodes.data[v.node];
}

/* *done: whether the node was replaced. */
static janus_status fold_scalar(jn_rewrite *r, const jn_node *n, bool *done) {
    janus_scalar in[MAX_FOLDED_OPERANDS], value;
    uint8_t kinds[MAX_FOLDED_OPERANDS], kind;
    *done = false;
    if (n->op->role != JN_ROLE_SCALAR || !n->op->fold || n->n_in > MAX_FOLDED_OPERANDS ||
        n->n_out != 1)
        return JANUS_OK;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const jn_node *c = new_node(r, n->in[i]);
        janus_kind k;
        if (!c || !jn_const_value(c, &k, &in[i]))
            return JANUS_OK;
        kinds[i] = (uint8_t)k;
    }
    if (!n->op->fold(n->op, n->attrs, in, kinds, n->n_in, &value, &kind) || kind != n->out[0]->kind)
        return JANUS_OK;
    jn_type type = jn_scalar_type((janus_kind)kind);
    const jn_type *types[] = {&type};
    jn_node model = {.n_out = 1, .out = types, .loc = n->loc}, *added;
    JN_TRY(jn_scalar_const(&r->g->module->arena, (janus_kind)kind, value, &model.op, &model.attrs));
    JN_TRY(jn_rewrite_add(r, &model, &added));
    jn_rewrite_becomes(r, n, added->id);
    *done = true;
    return JANUS_OK;
}

/* An `if` whose frame somebody keeps stays one: its gradient asks which arm ran. */
static janus_status fold_if(jn_rewrite *r, const jn_node *n, bool *done) {
    static const char name[] = "invoke";
    const jn_op *invoke = jn_op_find(name, sizeof name - 1);
    janus_kind kind;
    janus_scalar cond;
    *done = false;
    if (n->op->role != JN_ROLE_IF || n->op->flags & JN_OP_SAVES || n->n_in == 0 || !invoke ||
        jn_frame_is_saved(r->g, n->id))
        return JANUS_OK;
    const jn_node *c = new_node(r, n->in[0]);
    if (!c || !jn_const_value(c, &kind, &cond) || kind != JANUS_KIND_BOOL)
        return JANUS_OK;
    jn_node model = *n, *added;
    model.op = invoke;
    model.subs[0] = n->subs[cond.i ? 0 : 1];
    model.subs[1] = NULL;
    model.in = n->in + 1;
    model.n_in = n->n_in - 1;
    JN_TRY(jn_attrs_copy(invoke, NULL, &r->g->module->arena, &model.attrs));
    JN_TRY(jn_rewrite_add(r, &model, &added));
    for (uint32_t i = 0; i < added->n_in; i++)
        added->in[i] = jn_rewrite_value(r, model.in[i]);
    jn_rewrite_becomes(r, n, added->id);
    *done = true;
    return JANUS_OK;
}

janus_status jn_pass_fold(jn_subgraph *g) {
    jn_rewrite r;
    janus_status st;
    JN_TRY(jn_rewrite_begin(&r, g));
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        bool done;
        JN_GO(fold_scalar(&r, n, &done), cancel);
        if (!done)
            JN_GO(fold_if(&r, n, &done), cancel);
        r.changed |= done;
        if (!done)
            JN_GO(jn_rewrite_keep(&r, n, NULL), cancel);
    }
    jn_rewrite_finish(&r);
    return JANUS_OK;
cancel:
    jn_rewrite_cancel(&r);
    return st;
}
