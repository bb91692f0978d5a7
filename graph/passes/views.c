/* Views made again where they are read.
 *
 * A product rounds by the strides of its operands, and what goes from one segment of a plan to
 * another, or into a frame, is row-major.  Here each node that computes has views of its own, which
 * no one else reads: they are in its segment (exec/plan/plan_cut.c), aliases of the values that
 * they are views of, and have the strides that they have where ops run one by one.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"

/* Whether n computes tensors from the elements of its operands. */
static bool computes(const jn_node *n) {
    return n->op->role == JN_ROLE_COMPUTE && !jn_is_view(n) && n->n_out > 0 &&
           n->out[0]->kind == JANUS_KIND_TENSOR;
}

/* The old value `v` for a new node: a view of its own, and of what that is a view of. */
static janus_status own_view(jn_rewrite *r, jn_value v, jn_value *out) {
    const jn_node *chain[64], *n;
    unsigned length = 0;
    for (; (n = jn_value_node(r->g, v)) && jn_is_view(n) && length < 64; v = n->in[0])
        chain[length++] = n;
    *out = jn_rewrite_value(r, v);
    while (length--) {
        jn_node *copy;
        JN_TRY(jn_rewrite_add(r, chain[length], &copy));
        copy->in[0] = *out;
        for (uint32_t k = 1; k < copy->n_in; k++)
            copy->in[k] = jn_rewrite_value(r, chain[length]->in[k]);
        *out = (jn_value){copy->id, 0};
        r->changed = true;
    }
    return JANUS_OK;
}

static uint32_t *count_uses(const jn_subgraph *g, jn_arena *a) {
    uint32_t *uses = jn_arena_zalloc(a, (g->nodes.n + 1) * sizeof *uses);
    for (size_t i = 1; uses && i < g->nodes.n; i++)
        for (uint32_t k = 0; k < g->nodes.data[i]->n_in; k++)
            if (!jn_value_is_none(g->nodes.data[i]->in[k]))
                uses[g->nodes.data[i]->in[k].node]++;
    for (size_t i = 0; uses && i < g->results.n; i++)
        if (!jn_value_is_none(g->results.data[i]))
            uses[g->results.data[i].node]++;
    return uses;
}

/* Whether nobody else reads a view, nor what it is a view of where that is one: it stays where the
 * program has it, by which its gradient is added where the program's tape adds it. */
static bool is_own(const jn_subgraph *g, const jn_node *n, const uint32_t *uses) {
    for (; n && jn_is_view(n); n = jn_value_node(g, n->in[0]))
        if (uses[n->id] != 1)
            return false;
    return true;
}

static janus_status keep(jn_rewrite *r, const jn_node *n, const uint32_t *uses) {
    JN_SCRATCH(scratch, 512);
    jn_value *own = jn_arena_alloc(&scratch, (n->n_in + 1) * sizeof *own);
    jn_node *copy;
    janus_status st = own ? JANUS_OK : JN_NO_MEMORY();
    for (uint32_t k = 0; st == JANUS_OK && k < n->n_in; k++) {
        const jn_node *p = jn_value_is_none(n->in[k]) ? NULL : jn_value_node(r->g, n->in[k]);
        own[k] = jn_rewrite_value(r, n->in[k]);
        if (p && jn_is_view(p) && computes(n) && !is_own(r->g, p, uses))
            st = own_view(r, n->in[k], &own[k]);
    }
    if (st == JANUS_OK)
        st = jn_rewrite_keep(r, n, &copy);
    for (uint32_t k = 0; st == JANUS_OK && k < n->n_in; k++)
        copy->in[k] = own[k];
    jn_arena_free(&scratch);
    return st;
}

janus_status jn_pass_views(jn_subgraph *g) {
    jn_rewrite r;
    janus_status st;
    JN_TRY(jn_rewrite_begin(&r, g));
    const uint32_t *uses = count_uses(g, &r.arena);
    JN_GO(uses ? JANUS_OK : JN_NO_MEMORY(), cancel);
    for (size_t i = 1; i < g->nodes.n; i++)
        JN_GO(keep(&r, g->nodes.data[i], uses), cancel);
    jn_rewrite_finish(&r);
    return jn_pass_dce(g);
cancel:
    jn_rewrite_cancel(&r);
    return st;
}
