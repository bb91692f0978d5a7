/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of nodes and lists, put back on demand: see graph/autodiff/undo.h. */
#include "config.h"

#include "graph/autodiff/undo.h"

#include <string.h>

#include "graph/ir/ir.h"

struct jn_sub_mark {
    jn_subgraph head; /* its vectors' pointers are of no use later, their counts are */
    jn_node *nodes;
    jn_node **list;
    jn_saved *saved;
};

/* Lists of nothing may be NULL; a copy is not. */
static void *copy_of(jn_arena *a, const void *p, size_t bytes) {
    void *copy = jn_arena_alloc(a, bytes + 1);
    if (copy && bytes)
        memcpy(copy, p, bytes);
    return copy;
}

static bool mark_subgraph(jn_arena *a, const jn_subgraph *g, struct jn_sub_mark *s) {
    s->head = *g;
    s->list = copy_of(a, g->nodes.data, g->nodes.n * sizeof *s->list);
    s->saved = copy_of(a, g->saved.data, g->saved.n * sizeof *s->saved);
    s->nodes = jn_arena_alloc(a, g->nodes.n * sizeof *s->nodes);
    if (!s->list || !s->saved || !s->nodes)
        return false;
    for (size_t i = 0; i < g->nodes.n; i++)
        s->nodes[i] = *g->nodes.data[i];
    return true;
}

janus_status jn_mark_set(jn_mark *mark, janus_module *m) {
    *mark = (jn_mark){.module = m, .n_subs = m->subs.n, .running_sums = m->running_sums};
    jn_arena_init(&mark->arena, 0);
    mark->subs = jn_arena_zalloc(&mark->arena, (m->subs.n + 1) * sizeof *mark->subs);
    bool ok = mark->subs != NULL;
    for (size_t i = 0; ok && i < m->subs.n; i++)
        ok = mark_subgraph(&mark->arena, m->subs.data[i], &mark->subs[i]);
    if (ok)
        return JANUS_OK;
    jn_arena_free(&mark->arena);
    return JN_NO_MEMORY();
}

void jn_mark_forget(jn_mark *mark) { jn_arena_free(&mark->arena); }

/* Operands were written in place nowhere, results and names are lists of their own: the structs of
 * the nodes are all there is to put back. */
static void restore_subgraph(jn_subgraph *g, const struct jn_sub_mark *s) {
    size_t n_nodes = s->head.nodes.n, n_saved = s->head.saved.n;
    for (size_t i = 0; i < n_nodes; i++) {
        *s->list[i] = s->nodes[i];
        g->nodes.data[i] = s->list[i];
    }
    g->nodes.n = n_nodes;
    if (n_saved)
        memcpy(g->saved.data, s->saved, n_saved * sizeof *s->saved);
    g->saved.n = n_saved;
    g->params.n = s->head.params.n;
    g->results.n = s->head.results.n;
    g->result_types.n = s->head.result_types.n;
    g->defined = s->head.defined;
    g->grad = s->head.grad;
    g->primal = s->head.primal;
    g->derivs = s->head.derivs;
    g->deriv = s->head.deriv;
    g->at = s->head.at;
}

void jn_mark_restore(jn_mark *mark) {
    janus_module *m = mark->module;
    for (size_t i = 0; i < mark->n_subs; i++)
        restore_subgraph(m->subs.data[i], &mark->subs[i]);
    while (m->subs.n > mark->n_subs)
        jn_subgraph_drop_last(m);
    m->running_sums = mark->running_sums;
    jn_arena_free(&mark->arena);
}
