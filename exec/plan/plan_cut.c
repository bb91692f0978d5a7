/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cutting a body into segments.
 *
 * Tensor nodes run as early as their operands allow: a node goes to the earliest segment after the
 * calls it depends on, so that what does not wait for a child (x W of every tree node) runs for all
 * frames at once.  A segment is closed, that is issued, before the first host node that needs one
 * of its values, and before a call whose results would make it wait.  Calls in a row without tensor
 * work between them count as one.
 */
#include "config.h"

#include "exec/plan/plan_internal.h"

#include <string.h>

#include "graph/base/status.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"

bool jn_const_bits(const jn_node *n, int64_t *out) {
    if (!n->op || n->op->id != JN_OP_ID_s_const)
        return false;
    const janus_s_const_attrs *a = n->attrs;
    if (a->kind == JANUS_KIND_FLOAT)
        memcpy(out, &a->f, sizeof *out);
    else
        *out = a->i;
    return true;
}

static bool is_acc_add(const jn_node *n) { return n->op->id == JN_OP_ID_acc_add; }

bool jn_is_tensor_node(const jn_node *n) {
    if (!n->op)
        return false;
    if (n->op->role == JN_ROLE_RNG || is_acc_add(n))
        return true;
    return n->op->role == JN_ROLE_COMPUTE && n->n_out > 0 && n->out[0]->kind == JANUS_KIND_TENSOR;
}

/* A step that leaves operand 0 as it is where a gradient of a large table is zero. */
static bool is_row_step(const jn_subgraph *g, const jn_node *n) {
    if (!n->op || !(n->op->flags & JN_OP_KEEPS0) || n->n_in < 2 ||
        jn_value_node(g, n->in[1])->op == NULL ||
        jn_value_node(g, n->in[1])->op->id != JN_OP_ID_acc_get)
        return false;
    const jn_type *t = n->out[0];
    for (uint32_t i = 0; i < n->n_in; i++) {
        const jn_type *in = jn_value_type(g, n->in[i]);
        bool same = in->kind == JANUS_KIND_TENSOR && in->rank == t->rank && t->rank == 2;
        for (int d = 0; same && d < t->rank; d++)
            same = in->dims[d] == t->dims[d] && t->dims[d] >= 0;
        if (!same && in->kind == JANUS_KIND_TENSOR)
            return false;
    }
    return true;
}

static bool is_call(const jn_node *n) {
    switch (n->op->role) {
    case JN_ROLE_INVOKE:
    case JN_ROLE_IF:
    case JN_ROLE_WHILE:
    case JN_ROLE_FOREACH:
    case JN_ROLE_GRAD:
        return true;
    default:
        return false;
    }
}

/* What a scalar operand waits for: nothing if its value is part of the program. */
static uint32_t ready(const jn_subgraph *g, const uint32_t *avail, jn_value v) {
    int64_t bits;
    return jn_const_bits(jn_value_node(g, v), &bits) ? 0 : avail[v.node];
}

/* Does a call get a value of this node? */
static bool feeds_call(const jn_subgraph *g, uint32_t node, uint32_t last_user) {
    for (uint32_t i = node + 1; i <= last_user; i++) {
        const jn_node *n = g->nodes.data[i];
        for (uint32_t k = 0; is_call(n) && k < n->n_in; k++)
            if (!jn_value_is_none(n->in[k]) && n->in[k].node == node)
                return true;
    }
    return false;
}

static bool of_constants(const jn_subgraph *g, const jn_node *n, const bool *constant) {
    for (uint32_t k = 0; k < n->n_in; k++) {
        int64_t bits;
        if (!jn_value_is_none(n->in[k]) && !jn_const_bits(jn_value_node(g, n->in[k]), &bits) &&
            !(constant && constant[n->in[k].node]))
            return false;
    }
    return true;
}

/* Tensors that are made of constants go where they are used, but for those that a call gets, and
 * what these are made of: the gradient that a backward pass begins with must not wait for the loss,
 * nor must its share of a mean. */
static void find_along(const jn_subgraph *g, const uint32_t *user, bool *constant, bool *along) {
    for (uint32_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        constant[i] = jn_is_tensor_node(n) && !is_acc_add(n) && n->op->role == JN_ROLE_COMPUTE &&
                      of_constants(g, n, constant);
        along[i] = constant[i];
    }
    for (uint32_t i = (uint32_t)g->nodes.n; i-- > 1;) {
        const jn_node *n = g->nodes.data[i];
        if (!constant[i] || (along[i] && !feeds_call(g, i, user[i])))
            continue;
        along[i] = false;
        for (uint32_t k = 0; k < n->n_in; k++)
            if (!jn_value_is_none(n->in[k]))
                along[n->in[k].node] = false;
    }
    for (uint32_t i = 1; i < g->nodes.n; i++) /* the others follow what they are computed from */
        along[i] = along[i] && of_constants(g, g->nodes.data[i], NULL);
}

/* Dead tensor nodes get no segment: only what someone uses is computed. */
static void count_uses(const jn_subgraph *g, bool saved, uint32_t *uses, uint32_t *user) {
    for (size_t i = 0; i < g->results.n; i++)
        if (!jn_value_is_none(g->results.data[i]))
            uses[g->results.data[i].node]++;
    if (saved)
        for (size_t i = 0; i < g->saved.n; i++)
            uses[g->saved.data[i].value.node]++;
    for (size_t i = g->nodes.n; i-- > 1;) {
        const jn_node *n = g->nodes.data[i];
        bool pure_tensor = jn_is_tensor_node(n) && !is_acc_add(n);
        bool dead = uses[i] == 0 && ((pure_tensor && n->op->role == JN_ROLE_COMPUTE) ||
                                     n->op->role == JN_ROLE_SCALAR || n->op->role == JN_ROLE_CONST);
        dead = dead || n->op->role == JN_ROLE_NOTE;
        if (dead && !(n->op->flags & JN_OP_MAY_RAISE))
            continue;
        for (uint32_t k = 0; k < n->n_in; k++)
            if (!jn_value_is_none(n->in[k])) {
                uses[n->in[k].node]++;
                if (!user[n->in[k].node])
                    user[n->in[k].node] = (uint32_t)i;
            }
    }
}

/* A draw of a size that is not known is counted on the host strand, once the shape that it is to
 * have is there: not before the segment that computes it is issued. */
static bool waits_for(const jn_subgraph *g, const jn_node *n, const uint32_t *seg, uint32_t cur) {
    if (!jn_draws(n) || jn_type_numel(n->out[0]) >= 0)
        return false;
    for (uint32_t k = 0; k < n->n_in; k++)
        if (!jn_value_is_none(n->in[k]) && seg[n->in[k].node] == cur &&
            jn_value_type(g, n->in[k])->kind == JANUS_KIND_TENSOR)
            return true;
    return false;
}

/* A view that one node of the tensor strand reads: it has the strides of ops run one by one where
 * it is in that node's segment (graph/passes/views.c). */
static bool goes_along(const jn_subgraph *g, uint32_t i, const uint32_t *uses,
                       const uint32_t *user) {
    const jn_node *n = g->nodes.data[i], *by = g->nodes.data[user[i]];
    return g->module->running_sums && jn_is_view(n) && uses[i] == 1 && user[i] &&
           jn_is_tensor_node(by) && by->op->role == JN_ROLE_COMPUTE && !is_row_step(g, by);
}

/* The segment that node n, with the views that go along with it, can be in at the earliest. */
static uint32_t earliest(const jn_subgraph *g, const jn_node *n, const bool *view, uint32_t *avail,
                         uint32_t s) {
    for (uint32_t k = 0; k < n->n_in; k++) {
        if (jn_value_is_none(n->in[k]))
            continue;
        uint32_t p = n->in[k].node;
        uint32_t at =
            view[p] ? earliest(g, g->nodes.data[p], view, avail, s) : ready(g, avail, n->in[k]);
        if (at > s)
            s = at;
    }
    return s;
}

static void put(const jn_subgraph *g, const jn_node *n, const bool *view, uint32_t s, uint32_t *seg,
                uint32_t *avail, uint32_t *filled) {
    seg[n->id] = avail[n->id] = s;
    filled[s]++;
    for (uint32_t k = 0; k < n->n_in; k++)
        if (!jn_value_is_none(n->in[k]) && view[n->in[k].node])
            put(g, g->nodes.data[n->in[k].node], view, s, seg, avail, filled);
}

/* Steps of optimizers whose results nobody reads in the body get a segment behind the others.  All
 * that can fail has then been done, so they may write where the parameters and states lie
 * (exec/schedule/late.h); in a segment with the products of the gradients they may not.  Whether
 * there is such a segment; `last` is the one before it. */
static bool put_steps_behind(const jn_subgraph *g, uint32_t last, const uint32_t *user,
                             const bool *view, uint32_t *seg, const uint32_t *filled) {
    enum { LEAST = 4096 /* elements: copies of fewer cost less than a segment */ };
    uint32_t moved = 0;
    bool large = false;
    for (uint32_t pass = 0; pass < 2; pass++) {
        if (pass && (!large || moved == filled[last]))
            return false;
        for (uint32_t i = 1; i < g->nodes.n; i++) {
            const jn_node *n = g->nodes.data[i];
            bool step = seg[i] == last && !user[i] && n->op->flags & JN_OP_STEP;
            for (uint32_t k = 0; step && k < n->n_in; k++)
                step = jn_value_is_none(n->in[k]) || !view[n->in[k].node];
            if (!step)
                continue;
            large |= jn_type_numel(n->out[0]) >= LEAST;
            if (pass)
                seg[i] = last + 1;
            else
                moved++;
        }
    }
    return true;
}

janus_status jn_cut_make(jn_arena *a, const jn_subgraph *g, bool saved, jn_cut *out) {
    size_t n_nodes = g->nodes.n;
    uint32_t *seg = jn_arena_alloc(a, n_nodes * sizeof *seg);
    uint32_t *uses = jn_arena_zalloc(a, n_nodes * sizeof *uses);
    uint32_t *user = jn_arena_zalloc(a, n_nodes * sizeof *user);
    uint32_t *avail = jn_arena_zalloc(a, n_nodes * sizeof *avail);
    uint32_t *close = jn_arena_alloc(a, (n_nodes + 1) * sizeof *close);
    uint32_t *filled = jn_arena_zalloc(a, (n_nodes + 1) * sizeof *filled);
    bool *has_acc = jn_arena_zalloc(a, (n_nodes + 1) * sizeof *has_acc);
    bool *along = jn_arena_zalloc(a, n_nodes * sizeof *along);
    bool *constant = jn_arena_zalloc(a, n_nodes * sizeof *constant);
    bool *view = jn_arena_zalloc(a, n_nodes * sizeof *view);
    bool *numbered = jn_arena_zalloc(a, n_nodes * sizeof *numbered);
    if (!numbered || !seg || !uses || !user || !avail || !close || !filled || !has_acc || !along ||
        !constant || !view)
        return JN_NO_MEMORY();
    count_uses(g, saved, uses, user);
    find_along(g, user, constant, along);
    uint32_t cur = 0;
    seg[0] = JN_NO_SEG;
    for (uint32_t i = 1; i < n_nodes; i++) {
        const jn_node *n = g->nodes.data[i];
        seg[i] = JN_NO_SEG;
        if (n->op->id == JN_OP_ID_wire_of)
            numbered[n->in[0].node] = true;
        bool row_step = is_row_step(g, n);
        if (jn_is_tensor_node(n)) {
            bool acc = is_acc_add(n);
            if (uses[i] == 0 && !acc && n->op->role == JN_ROLE_COMPUTE &&
                !(n->op->flags & JN_OP_MAY_RAISE))
                continue;
        }
        view[i] = goes_along(g, i, uses, user);
        if (view[i])
            continue;
        if (jn_is_tensor_node(n) && !row_step) {
            bool acc = is_acc_add(n);
            if (waits_for(g, n, seg, cur))
                close[cur++] = i;
            bool now = acc || jn_draws(n) || along[i];
            uint32_t s = earliest(g, n, view, avail, now ? cur : 0);
            put(g, n, view, s, seg, avail, filled);
            has_acc[s] |= acc;
            continue;
        }
        bool close_cur = is_call(n) && filled[cur];
        for (uint32_t k = 0; k < n->n_in; k++)
            if (!jn_value_is_none(n->in[k])) {
                uint32_t p = n->in[k].node;
                if (seg[p] == cur && seg[p] != JN_NO_SEG)
                    close_cur = true;
                if (has_acc[cur] && jn_value_type(g, n->in[k])->kind == JANUS_KIND_ACC)
                    close_cur = true;
            }
        if (close_cur)
            close[cur++] = i;
        avail[i] = cur;
        if (row_step)
            seg[i] = JN_ROW_STEP | i;
    }
    if (!saved && put_steps_behind(g, cur, user, view, seg, filled))
        close[cur++] = (uint32_t)n_nodes;
    close[cur] = (uint32_t)n_nodes;
    *out = (jn_cut){seg, uses, user, numbered, cur + 1, close};
    return JANUS_OK;
}
