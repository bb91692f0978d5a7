/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors that require grad, are stored by the graph and are still there when the run is over
 * (`node.state = h`): results of the tape's node like those that the function returns, one for each
 * that a run has stored (docs/adr/0015-wires.md).  The gradient of the run says which of them it
 * has come to, and of each what CPython's tape would have of it: whether the ops that it is
 * computed by, up to what else was stored, keep something, so that a second backward() is an error,
 * and whether its own
 * memory is kept, so that a write to it is one.
 */
#include "pyfront/convert/finish/finish.h"

#include <string.h>

#include "graph/autodiff/autodiff.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/core/list.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/tape/tape.h"

enum {
    MAX_DEPTH = 16
}; /* of arms, calls and views around an op: a recursion that gives on its own result */

static bool computes(const jcv_node *n) {
    return n->kind == JCV_OP && n->op->role == JN_ROLE_COMPUTE && n->op->grad && !n->subs[0];
}

/* Of what a gradient gives that is differentiated again nobody knows.  What is read has been
 * stored, and says so itself. */
static bool keeps_something(const jcv *c, const jcv_val *v) {
    const jcv_node *n = v->node;
    (void)c;
    return n && (n->kind == JCV_BACKWARD || (computes(n) && jcv_op_keeps(n)));
}

/* Whether a backward() from it uses something up: an op that is not recorded keeps nothing. */
static const jcv_trait uses_up = {
    .which = JCV_USED, .by_itself = keeps_something, .where = &jcv_requires_grad, .branches = true};

/* Whether a node stores what may require grad. */
static bool stores(const jcv_node *n) { return n->op == JN_OP(wire_put) && !jcv_is_put_without(n); }

/* Whether the op that v is a result of keeps it; of what comes out of an arm or a call, whether one
 * of them may. */
static bool kept(const jcv_val *v, int depth) {
    const jcv_node *n = v->node;
    bool tracked[JPY_SAVES_READ], any = depth > MAX_DEPTH;
    if (!n || n->kind != JCV_OP)
        return false;
    for (int k = 0; k < 2 && !any; k++) {
        const jcv_ctx *x = n->subs[k];
        any = x && v->index < x->results.n && x->results.data[v->index] &&
              kept(x->results.data[v->index], depth + 1);
    }
    if (any || !computes(n))
        return any;
    if (n->view)
        return kept(n->in[0], depth + 1);
    jcv_operands_tracked(n, tracked);
    return jpy_op_saves_result(n->op, v->index, tracked);
}

static void mark_put(jcv *c, jcv_node *n) {
    bool always;
    janus_wire_put_attrs *a = jcv_alloc(c, sizeof *a);
    jcv_val **in = jcv_alloc(c, 3 * sizeof *in), *tracked = n->n_in > 2 ? n->in[2] : NULL;
    in[0] = n->in[0];
    in[1] = jcv_trait_flag(c, &uses_up, n->in[0], &always);
    in[2] = tracked; /* jcv_put_if_tracked() */
    n->in = in;
    n->n_in = tracked ? 3 : in[1] ? 2 : 1;
    a->struct_size = sizeof *a;
    a->what =
        JN_WIRE_REACHED | (always ? JN_WIRE_USED : 0) | (kept(n->in[0], 0) ? JN_WIRE_KEPT : 0);
    n->attrs = a;
}

static void mark_puts(jcv *c) {
    JCV_LIST(jcv_node *) puts = {0}; /* flags are put among the nodes */
    for (size_t i = 0; i < c->ctxs.n; i++)
        for (size_t k = 0; k < c->ctxs.data[i]->nodes.n; k++)
            if (stores(c->ctxs.data[i]->nodes.data[k]))
                jcv_add(c, &puts, c->ctxs.data[i]->nodes.data[k]);
    jcv_trait_survey(c, &uses_up);
    for (size_t i = 0; i < puts.n; i++)
        mark_put(c, puts.data[i]);
}

/* Whether something that the function makes and that holds such tensors may leave it. */
static bool container_leaves(const jcv *c) {
    bool any = false;
    for (const jcv_live *l = c->lives; l && !any; l = l->next)
        any = l->tracked && l->site;
    for (size_t i = 0; i < c->main->results.n; i++)
        if (any && c->main->results.data[i]->type->kind == JANUS_KIND_OBJECT)
            return true;
    return false;
}

bool jcv_may_remain(const jcv *c) {
    bool outside = container_leaves(c);
    for (const jcv_live *l = c->lives; l; l = l->next)
        outside = outside || (l->tracked && !l->site);
    return outside;
}

void jcv_find_remains(jcv *c, jpy_entry *e) {
    bool used = false;
    if (!e->local || !jcv_may_remain(c))
        return;
    for (size_t i = 0; i < c->stored_tracked.n; i++) {
        jcv_val *v = c->stored_tracked.data[i];
        used = used || (v->node && jcv_history_may_be_used(c, v));
    }
    /* A gradient with create_graph=True would raise, in what nobody has asked a graph of. */
    if (used || c->f->payer || c->f->exact || c->own_gradients || c->put_written ||
        c->f->checkpoint)
        jcv_refuse(c, "a tensor that requires grad is stored by the graph");
    if (!c->wires) {
        c->wires = true;
        snprintf(c->reason, sizeof c->reason, "what the graph stores requires grad and remains");
        jcv_throw_now(c, THROW_RESTART);
    }
    e->remains = true;
    e->local = false;
    mark_puts(c);
}
