/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backward() of what was recorded in a block of janus.deferred(), by groups.
 *
 * Nodes are taken by depth (the longest way to where the tape begins), the deepest first, so each
 * runs when all its cotangents have arrived.  Of one depth, the nodes that are calls of one kind,
 * of which the same is there and wanted, run their gradient rule once, as rows
 * (exec/defer/defer_grad.h). What all rows add to, a weight above all, gets one sum.
 *
 * Nobody can tell when a node runs if it runs nothing but ops; so where a node has a hook or is the
 * program's own Function, where a saved value was overwritten, or anything fails, all nodes run one
 * by one, in program order, with the errors that belong to it.  Until the last has run, nothing is
 * changed that would tell.
 */
#include "config.h"

#include "pyfront/backward/groups.h"

#include "graph/base/alloc.h"
#include "pyfront/tape/tape.h"
#include "pyfront/tensor/tensor.h"

/* ---- whether ------------------------------------------------------------------------------------
 */

static bool allocate(jpy_groups *g) {
    jpy_engine *e = g->e;
    size_t n = e->visits.n;
    g->where = jn_calloc(n, sizeof *g->where);
    g->next = jn_alloc(n * sizeof *g->next);
    g->by_depth = jn_alloc(n * sizeof *g->by_depth);
    g->slots = jn_calloc(e->slots.n + 1, sizeof *g->slots);
    return g->where && g->next && g->by_depth && g->slots;
}

enum { AHEAD = 6 };

/* All nodes, earliest first: depths and uses.  False: not by groups. */
static bool look(jpy_groups *g) {
    jpy_engine *e = g->e;
    uint32_t deepest = 0;
    size_t bytes = 0;
    for (size_t k = e->n_nodes; k < e->visits.n; k++)
        g->where[e->order[k]].depth = JPY_LEAF;
    for (uint32_t k = e->n_nodes; k-- > 0;) {
        uint32_t at = e->order[k], depth = 0;
        const jpy_visit *v = &e->visits.data[at];
        const jpy_call *c = &v->call;
        const jpy_link *link = &e->links.data[v->link];
        for (unsigned i = 0; i < c->n_in; i++) {
            if (link[i].visit == JPY_NO_LINK)
                continue;
            jpy_place *to = &g->where[link[i].visit];
            to->uses++;
            if (to->depth + 1 > depth) /* of a leaf it is 0 */
                depth = to->depth + 1;
        }
        g->where[at].depth = depth;
        if (depth > deepest)
            deepest = depth;
        for (unsigned i = 0; c->types && i < v->n_out; i++)
            if (c->types[c->n_in + i].kind == JANUS_KIND_TENSOR)
                bytes += jpy_type_bytes(&c->types[c->n_in + i]);
    }
    g->n_depths = deepest + 1;
    return e->n_nodes >= JPY_GROUPS_FEW * g->n_depths &&
           bytes / JPY_GROUPS_WAITING <= jn_deferral_bytes(jn_deferring);
}

/* Visits by depth, in program order within each. */
static bool sort_by_depth(jpy_groups *g) {
    uint32_t *next = g->depth_begin = jn_calloc(g->n_depths + 2, sizeof *next);
    if (!next)
        return false;
    for (uint32_t k = 0; k < g->e->n_nodes; k++)
        next[g->where[g->e->order[k]].depth + 2]++;
    for (uint32_t d = 2; d < g->n_depths + 2; d++)
        next[d] += next[d - 1];
    for (uint32_t k = g->e->n_nodes; k-- > 0;) {
        uint32_t at = g->e->order[k];
        g->by_depth[next[g->where[at].depth + 1]++] = at;
    }
    return true;
}

/* ---- all ----------------------------------------------------------------------------------------
 */

/* Before a node runs: what the caller of autograd.grad() wants of it. */
static int capture(jpy_groups *g, const jpy_visit *v) {
    bool wanted = false;
    for (unsigned i = 0; i < g->e->n_inputs; i++)
        wanted |= g->e->inputs[i].node == v->node;
    if (!wanted)
        return 0;
    jpy_val *slot = &g->e->slots.data[v->slot];
    for (unsigned i = 0; i < v->n_out; i++) {
        jpy_val kept = slot[i], now = JPY_VAL_NONE;
        if (!g->slots[v->slot + i].data)
            continue;
        if (jpy_cotangent_tensor(&g->slots[v->slot + i], &now.t) != JANUS_OK)
            return -1;
        now.kind = JANUS_KIND_TENSOR;
        slot[i] = now;
        jpy_engine_capture(g->e, v);
        jpy_val_release(&now);
        slot[i] = kept;
    }
    return 0;
}

/* Asks for something that may lie in two lines. */
static void expect_both(const void *p, size_t bytes) {
    __builtin_prefetch(p);
    __builtin_prefetch((const char *)p + bytes - 1);
}

/* What is asked of the visits to come: where they are, then what they refer to. */
static void expect(const jpy_groups *g, size_t k) {
    const jpy_visit *visits = g->e->visits.data;
    if (k + 2 * AHEAD >= g->e->n_nodes)
        return;
    expect_both(&visits[g->by_depth[k + 2 * AHEAD]], sizeof *visits);
    const jpy_visit *next = &visits[g->by_depth[k + AHEAD]];
    expect_both(&g->slots[next->slot], sizeof *g->slots);
    __builtin_prefetch(&g->e->links.data[next->link]);
    if (!next->call.kind)
        jpy_node_expect(next->node);
}

static int run_depth(jpy_groups *g, uint32_t depth) {
    int rc = 0;
    memset(g->place, 0, sizeof g->place);
    jn_vec_clear(&g->group);
    for (uint32_t k = g->depth_begin[depth]; k < g->depth_begin[depth + 1] && rc == 0; k++) {
        jpy_visit *v = &g->e->visits.data[g->by_depth[k]];
        expect(g, k);
        if (!v->needed || !jpy_cotangents_arrived(g, v))
            continue;
        v->call.ran = true;
        for (unsigned i = 0; i < v->n_out && rc == 0; i++)
            if (jpy_cotangent_complete(g, &g->slots[v->slot + i]) != JANUS_OK)
                rc = -1;
        if (rc == 0)
            rc = capture(g, v);
        if (rc == 0)
            rc = jpy_groups_node(g, v);
    }
    for (size_t i = 0; i < g->group.n && rc == 0; i++)
        rc = jpy_group_run(g, &g->group.data[i]);
    return rc;
}

/* The seeds. */
static int begin(jpy_groups *g) {
    for (size_t i = 0; i < g->e->visits.n; i++) {
        const jpy_visit *v = &g->e->visits.data[i];
        for (unsigned k = 0; k < v->n_out; k++) {
            const jpy_val *slot = &g->e->slots.data[v->slot + k];
            if (slot->kind != JANUS_KIND_NONE &&
                jpy_cotangent_take(g, &g->slots[v->slot + k], slot->t) < 0)
                return -1;
        }
    }
    return 0;
}

/* Gradients of leaves, as tensors; the seeds go. */
static int end(jpy_groups *g, janus_tensor **leaf) {
    for (size_t i = 0; i < g->e->visits.n; i++) {
        const jpy_visit *v = &g->e->visits.data[i];
        jpy_cotangent *c = &g->slots[v->slot];
        if (v->node || !(c->data || c->sum))
            continue;
        if (c->sum && c->data && jpy_cotangent_complete(g, c) != JANUS_OK)
            return -1;
        if ((c->sum ? jn_grad_sum_tensor(g->work, c->sum, &leaf[i])
                    : jpy_cotangent_tensor(c, &leaf[i])) != JANUS_OK)
            return -1;
    }
    return 0;
}

static void hand_over(jpy_groups *g, janus_tensor **leaf) {
    jpy_engine *e = g->e;
    for (size_t i = 0; i < e->slots.n; i++) {
        jpy_val_release(&e->slots.data[i]);
        e->slots.data[i] = JPY_VAL_NONE;
    }
    for (size_t i = 0; i < e->visits.n; i++)
        if (leaf[i]) {
            e->slots.data[e->visits.data[i].slot] = jpy_val_tensor(leaf[i], (jpy_edge){0});
            leaf[i] = NULL;
        }
}

/* All is done: nodes that have run give up what they saved, and the run gives up the nodes. */
static void give_back(jpy_groups *g) {
    enum { NODES = 16, SAVED = 6 };
    jpy_engine *e = g->e;
    for (uint32_t k = 0; k < e->n_nodes; k++) {
        jpy_visit *v = &e->visits.data[e->order[k]];
        jpy_node *n = v->node;
        if (k + NODES < e->n_nodes)
            jpy_node_expect(e->visits.data[e->order[k + NODES]].node);
        if (k + SAVED < e->n_nodes)
            jpy_node_expect_saved(e->visits.data[e->order[k + SAVED]].node);
        n->running--;
        n->freed = n->freed || (!e->retain_graph && v->call.ran);
        if (n->freed && !n->running && n->cls->release_saved)
            n->cls->release_saved(n);
        v->node = NULL;
        jpy_node_release(n);
    }
    e->n_held = 0;
}

static void groups_free(jpy_groups *g) {
    jn_grad_work_free(g->work);
    jn_free(g->where);
    jn_free(g->next);
    jn_free(g->by_depth);
    jn_free(g->depth_begin);
    jn_free(g->slots);
    jn_vec_free(&g->group);
    jn_vec_free(&g->rows);
}

/* 0 or -1; an exception stands only where the program was interrupted. */
static int run_all(jpy_groups *g, janus_tensor **leaf) {
    int rc = begin(g);
    for (uint32_t d = g->n_depths; d-- > 0 && rc == 0;) {
        rc = run_depth(g, d);
        if (rc == 0 && jpy_backward_signals() < 0)
            return -1;
    }
    if (rc == 0)
        rc = end(g, leaf);
    if (rc < 0)
        PyErr_Clear();
    return rc;
}

bool jpy_groups_possible(bool create_graph) {
    if (!jn_deferring || jn_deferral_exact(jn_deferring) || create_graph || jn_dev_in_use ||
        jn_eager_hook)
        return false;
    return jpy_flush(jn_deferring) == JANUS_OK && jn_deferring; /* it may end what is recorded */
}

int jpy_groups_run(jpy_engine *e) {
    jpy_groups g = {.e = e};
    if (e->unlike || !allocate(&g) || !look(&g) || !sort_by_depth(&g) ||
        jn_grad_work_new(&g.work) != JANUS_OK) {
        jpy_engine_let_go(e);
        groups_free(&g);
        return 0;
    }
    janus_tensor **leaf = jn_calloc(e->visits.n, sizeof *leaf);
    int rc = -1;
    if (leaf)
        rc = run_all(&g, leaf);
    if (rc == 0)
        jn_deferral_count_back(jn_deferring, g.n_groups, g.n_grouped, g.n_alone);
    if (rc == 0)
        give_back(&g);
    jpy_engine_let_go(e);
    groups_free(&g);
    if (rc == 0)
        hand_over(&g, leaf);
    for (size_t i = 0; leaf && i < e->visits.n; i++)
        if (leaf[i])
            janus_tensor_release(leaf[i]);
    jn_free(leaf);
    for (unsigned i = 0; rc < 0 && i < e->n_inputs; i++) {
        jpy_val_release(&e->captured[i]);
        e->captured[i] = JPY_VAL_NONE;
    }
    return rc == 0 ? 1 : PyErr_Occurred() ? -1 : 0;
}
