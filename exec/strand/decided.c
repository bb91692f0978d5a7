/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What decides which way a SubGraph and all that it calls go: see decided.h.
 *
 * Conditions and counts of rounds are followed back to what they are computed from, through calls,
 * until nothing is found any more.  Of a tensor that is followed the shape counts; where one of its
 * elements does (`item`), or a draw, it is by data.  What raises is not followed: it ends a run.
 */
#include "exec/strand/decided.h"

#include "exec/heap/heap.h"
#include "exec/plan/plan.h"
#include "exec/strand/effects.h"
#include "graph/base/status.h"

typedef struct following {
    const janus_module *m;
    jn_decided *of;   /* per SubGraph */
    uint64_t *needed; /* per node of the one that is looked at: which results */
    bool changed;
} following;

static uint64_t bit(uint32_t i) { return (uint64_t)1 << (i < 63 ? i : 63); }

static void follow(following *x, jn_decided *d, jn_value v) {
    if (jn_value_is_none(v))
        return;
    if (v.node)
        x->needed[v.node] |= bit(v.index);
    else if (!(d->params & bit(v.index))) {
        d->params |= bit(v.index);
        x->changed = true;
    }
}

static void follow_results(following *x, const jn_subgraph *g, uint64_t which) {
    jn_decided *d = &x->of[g->index];
    x->changed = x->changed || which & ~d->results;
    d->results |= which;
}

static bool is_tensor(const jn_subgraph *g, jn_value v) {
    return !jn_value_is_none(v) && jn_value_type(g, v)->kind == JANUS_KIND_TENSOR;
}

/* A node that runs SubGraphs: what these are decided by. */
static void follow_call(following *x, const jn_subgraph *g, jn_decided *d, const jn_node *n) {
    bool branch = n->op->role == JN_ROLE_IF;
    bool loop = n->op->role == JN_ROLE_WHILE || n->op->role == JN_ROLE_FOREACH;
    if (branch || n->op->role == JN_ROLE_FOREACH) {
        follow(x, d, n->in[0]);
        d->data = d->data || is_tensor(g, n->in[0]);
    }
    if (n->op->role == JN_ROLE_WHILE) {
        follow_results(x, n->subs[0], 1);
        d->data = d->data || n->subs[0]->result_types.data[0]->kind == JANUS_KIND_TENSOR;
    }
    uint32_t skip = n->op->role == JN_ROLE_FOREACH; /* operands in front of what is carried */
    uint64_t carried = loop ? x->needed[n->id] : 0;
    for (int s = 0; s < 2 && n->subs[s]; s++) {
        const jn_decided *to = &x->of[n->subs[s]->index];
        d->data = d->data || to->data || n->op->role == JN_ROLE_GRAD;
        d->reads |= to->reads;
        carried |= loop ? to->params >> skip | (to->params & bit(63)) : 0;
        if (!loop)
            follow_results(x, n->subs[s], x->needed[n->id]);
        for (uint32_t k = branch; k < n->n_in; k++)
            if (to->params & bit(k - branch))
                follow(x, d, n->in[k]);
    }
    if (!loop)
        return;
    follow_results(x, n->subs[n->op->role == JN_ROLE_WHILE], carried); /* the next round's */
    for (uint32_t k = skip; k < n->n_in; k++)
        if (carried & bit(k - skip))
            follow(x, d, n->in[k]);
}

static janus_status follow_node(following *x, jn_decided *d, const jn_node *n) {
    static const char draw[] = "host.draw", item[] = "item";
    if (!x->needed[n->id])
        return JANUS_OK;
    d->data = d->data || jn_op_named(n->op, item) || jn_op_named(n->op, draw);
    if (n->op->role == JN_ROLE_HOST && !jn_op_named(n->op, "store")) {
        jn_host_call c = {.node = n, .key = jn_int_attr(n, "key")};
        JN_TRY(jn_host_what_of(n->op, &c.what));
        d->reads |= jn_host_effects(&c).reads;
    }
    for (uint32_t k = 0; k < n->n_in; k++)
        follow(x, d, n->in[k]);
    return JANUS_OK;
}

static janus_status look_at(following *x, const jn_subgraph *g) {
    jn_decided *d = &x->of[g->index], was = *d;
    x->needed = jn_calloc(g->nodes.n + 1, sizeof *x->needed);
    janus_status st = x->needed ? JANUS_OK : JN_NO_MEMORY();
    for (uint32_t i = 0; i < g->results.n && st == JANUS_OK; i++)
        if (d->results & bit(i))
            follow(x, d, g->results.data[i]);
    for (size_t i = g->nodes.n; i-- > 1 && st == JANUS_OK;) {
        const jn_node *n = g->nodes.data[i];
        if (n->subs[0])
            follow_call(x, g, d, n);
        else
            st = follow_node(x, d, n);
    }
    x->changed = x->changed || was.data != d->data || was.reads != d->reads;
    jn_free(x->needed);
    return st;
}

janus_status jn_decided_by(jn_planset *s, const jn_subgraph *g, const jn_decided **out) {
    following x = {.m = s->module, .of = s->decided};
    if (!s->decided) {
        x.of = jn_arena_zalloc(&s->arena, (x.m->subs.n + 1) * sizeof *x.of);
        if (!x.of)
            return JN_NO_MEMORY();
        x.changed = true;
    }
    while (x.changed) {
        x.changed = false;
        for (size_t i = x.m->subs.n; i-- > 0;)
            if (x.m->subs.data[i]->defined)
                JN_TRY(look_at(&x, x.m->subs.data[i]));
    }
    s->decided = x.of;
    *out = &s->decided[g->index];
    return JANUS_OK;
}
