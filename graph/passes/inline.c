/* Inlining of small callees that do not call back.
 *
 * The callee's nodes are copied to the place of the call, so effects and draws keep their order,
 * and their types are inferred again from the arguments: the copy may know dims that the callee
 * could not.  Calls whose frame is kept stay calls.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"

/* How often each SubGraph is called with tensors: what is called often runs in batches. */
static janus_status count_calls(const jn_subgraph *g, uint32_t **out) {
    uint32_t *calls = jn_calloc(g->module->subs.n + 1, sizeof *calls);
    if (!calls)
        return JN_NO_MEMORY();
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        bool tensors = false;
        for (uint32_t k = 0; n->op->role == JN_ROLE_INVOKE && k < n->n_in; k++)
            tensors |= !jn_value_is_none(n->in[k]) &&
                       jn_value_type(g, n->in[k])->kind == JANUS_KIND_TENSOR;
        calls[tensors ? n->subs[0]->index : g->module->subs.n]++;
    }
    *out = calls;
    return JANUS_OK;
}

static bool wanted(const jn_subgraph *g, const jn_node *n, unsigned max_nodes,
                   const uint32_t *calls) {
    if (n->op->role != JN_ROLE_INVOKE || n->op->flags & JN_OP_SAVES)
        return false;
    const jn_subgraph *f = n->subs[0];
    enum { OFTEN = 8 };
    if (f->together || calls[f->index] >= OFTEN)
        return false;
    return f->defined && !f->recursive && f != g && f->nodes.n - 1 <= max_nodes &&
           !jn_frame_is_saved(g, n->id);
}

/* The new value of a callee's value; `map[node][result]`. */
static jn_value mapped(jn_value *const *map, jn_value v) {
    return jn_value_is_none(v) ? v : map[v.node][v.index];
}

/* *ok false: the types do not work out, nothing is to be inlined. */
static janus_status copy_node(jn_rewrite *r, const jn_node *n, jn_value **map, bool *ok) {
    JN_SCRATCH(scratch, 2048);
    jn_node model = *n, *added;
    jn_type *types;
    unsigned n_out;
    janus_status st = JANUS_OK;
    jn_value *in = jn_arena_alloc(&scratch, n->n_in * sizeof *in);
    const jn_type **out = jn_arena_alloc(&scratch, n->n_out * sizeof *out);
    if (!in || !out)
        JN_GO(JN_NO_MEMORY(), done);
    for (uint32_t i = 0; i < n->n_in; i++)
        in[i] = mapped(map, n->in[i]);
    st = jn_infer_node(&r->to, n->op, in, n->n_in, n->attrs, n->subs, &scratch, n->n_out, &types,
                       &n_out);
    *ok = st == JANUS_OK;
    if (st != JANUS_OK) {
        st = st == JANUS_NO_MEMORY ? st : JANUS_OK; /* the call will say what is wrong */
        goto done;
    }
    for (uint32_t i = 0; i < n_out; i++)
        out[i] = &types[i];
    model.in = in;
    model.out = out;
    JN_GO(jn_rewrite_add(r, &model, &added), done);
    map[n->id] = jn_arena_alloc(&r->arena, n_out * sizeof(jn_value));
    if (!map[n->id])
        JN_GO(JN_NO_MEMORY(), done);
    for (uint32_t i = 0; i < n_out; i++)
        map[n->id][i] = (jn_value){added->id, i};
done:
    jn_arena_free(&scratch);
    return st;
}

static janus_status inline_call(jn_rewrite *r, const jn_node *call, bool *ok) {
    const jn_subgraph *f = call->subs[0];
    size_t start = r->to.nodes.n;
    jn_value **map = jn_arena_zalloc(&r->arena, f->nodes.n * sizeof *map);
    if (!map || !(map[0] = jn_arena_alloc(&r->arena, call->n_in * sizeof(jn_value))))
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < call->n_in; i++)
        map[0][i] = jn_rewrite_value(r, call->in[i]);
    *ok = call->n_in == f->params.n && call->n_out == f->results.n;
    for (size_t i = 1; *ok && i < f->nodes.n; i++)
        JN_TRY(copy_node(r, f->nodes.data[i], map, ok));
    for (uint32_t i = 0; *ok && i < call->n_out; i++) {
        jn_value v = mapped(map, f->results.data[i]);
        *ok = !jn_value_is_none(v) && jn_type_fits(jn_value_type(&r->to, v), call->out[i]);
    }
    if (!*ok) {
        r->to.nodes.n = start;
        return JANUS_OK;
    }
    for (uint32_t i = 0; i < call->n_out; i++)
        jn_rewrite_set(r, (jn_value){call->id, i}, mapped(map, f->results.data[i]));
    return JANUS_OK;
}

/* Whether a node that stays can take its operands as they now are: inlining may have shown dims
 * that are wrong there.  What cannot work is to fail where it always did, when it runs. */
static janus_status still_fits(const jn_rewrite *r, const jn_node *n, bool *ok) {
    bool same = true;
    *ok = true;
    for (uint32_t i = 0; i < n->n_in; i++)
        same = same && (jn_value_is_none(n->in[i]) ||
                        jn_value_type(r->g, n->in[i]) ==
                            jn_value_type(&r->to, jn_rewrite_value(r, n->in[i])));
    if (same)
        return JANUS_OK;
    JN_SCRATCH(scratch, 2048);
    jn_type *types;
    unsigned n_out;
    janus_status st = JANUS_OK;
    jn_value *in = jn_arena_alloc(&scratch, n->n_in * sizeof *in);
    if (!in)
        JN_GO(JN_NO_MEMORY(), done);
    for (uint32_t i = 0; i < n->n_in; i++)
        in[i] = jn_rewrite_value(r, n->in[i]);
    st = jn_infer_node(&r->to, n->op, in, n->n_in, n->attrs, n->subs, &scratch, n->n_out, &types,
                       &n_out);
    for (uint32_t i = 0; st == JANUS_OK && i < n_out; i++)
        *ok = *ok && jn_type_fits(&types[i], n->out[i]);
    if (st != JANUS_OK && st != JANUS_NO_MEMORY) {
        *ok = false;
        st = JANUS_OK;
    }
done:
    jn_arena_free(&scratch);
    return st;
}

janus_status jn_inline_calls(jn_subgraph *g, unsigned max_nodes) {
    jn_rewrite r;
    janus_status st;
    uint32_t *calls = NULL;
    JN_TRY(count_calls(g, &calls));
    st = jn_rewrite_begin(&r, g);
    if (st != JANUS_OK) {
        jn_free(calls);
        return st;
    }
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        bool done = false, ok = true;
        if (wanted(g, n, max_nodes, calls))
            JN_GO(inline_call(&r, n, &done), cancel);
        if (!done && r.changed)
            JN_GO(still_fits(&r, n, &ok), cancel);
        if (!ok)
            goto cancel; /* the body stays as it is */
        if (!done)
            JN_GO(jn_rewrite_keep(&r, n, NULL), cancel);
        r.changed |= done;
    }
    jn_rewrite_finish(&r);
    jn_free(calls);
    return JANUS_OK;
cancel:
    jn_free(calls);
    jn_rewrite_cancel(&r);
    return st;
}

janus_status jn_pass_inline(jn_subgraph *g, unsigned max_nodes) {
    JN_TRY(jn_callgraph_compute(g->module));
    return jn_inline_calls(g, max_nodes);
}
