/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that no gradient goes to are cut off, where an op after them would be differentiated.
 *
 * What goes into a call, an arm or a round, or comes out of one, or is stored, is there taken to
 * require grad.  What was computed without recording is cut off where it is made, once, whatever
 * becomes of it: a tensor that is stored in two places and returned is one object.
 */
#include "pyfront/convert/finish/finish.h"

#include <string.h>

#include "ops/op_ids.h"
#include "pyfront/convert/finish/stages.h"

/* ---- inputs that do not require grad ------------------------------------------------------------
 */

/* To the front of main. */
static void move_first(jcv *c) {
    jcv_node **nodes = c->main->nodes.data;
    size_t last = c->main->nodes.n - 1;
    jcv_node *n = nodes[last];
    memmove(nodes + 1, nodes, last * sizeof *nodes);
    nodes[0] = n;
}

static bool leaves(jcv_val *v) {
    if (!v || v->seen || v->type->kind != JANUS_KIND_TENSOR)
        return false;
    v->seen = 1;
    return true;
}

/* Marks what a node whose result leaves may have handed on: what it was given, what its bodies
 * got or gave. */
static bool hands_on(jcv_node *n) {
    bool any = false, loop = n->op->role == JN_ROLE_WHILE || n->op->role == JN_ROLE_FOREACH;
    unsigned skip = n->op->role == JN_ROLE_IF, each = n->op->role == JN_ROLE_FOREACH;
    jcv_ctx *last = n->subs[1] ? n->subs[1] : n->subs[0];
    for (unsigned k = n->n_out; k-- > 0;) {
        if (!n->out[k].seen)
            continue;
        if (loop && k + each < n->n_in) /* no round */
            any = leaves(n->in[k + each]) || any;
        for (unsigned s = 0; s < 2 && n->subs[s]; s++)
            if ((!loop || n->subs[s] == last) && k < n->subs[s]->results.n)
                any = leaves(n->subs[s]->results.data[k]) || any;
    }
    for (unsigned s = 0; s < 2 && n->subs[s]; s++) {
        jcv_ctx *x = n->subs[s];
        for (unsigned k = 0; k < x->params.n; k++) {
            if (!x->params.data[k]->seen)
                continue;
            if (k + skip < n->n_in)
                any = leaves(n->in[k + skip]) || any;
            if (loop && x == last && k >= each && k - each < x->results.n) /* the next round */
                any = leaves(x->results.data[k - each]) || any;
        }
    }
    return any;
}

/* Marks what may leave the graph as the object that it is, from what does back to the inputs. */
static void find_leaving(jcv *c) {
    size_t n_nodes = 0, n_through = 0;
    for (size_t i = 0; i < c->ctxs.n; i++)
        n_nodes += c->ctxs.data[i]->nodes.n;
    jcv_node **through = jcv_alloc(c, (n_nodes + 1) * sizeof *through);
    for (size_t k = 0; k < c->main->results.n; k++)
        leaves(c->main->results.data[k]);
    for (size_t i = 0; i < c->ctxs.n; i++)
        for (size_t k = 0; k < c->ctxs.data[i]->nodes.n; k++) {
            jcv_node *n = c->ctxs.data[i]->nodes.data[k];
            for (unsigned j = 0; jcv_role(n) == JN_ROLE_HOST && j < n->n_in; j++)
                leaves(n->in[j]);
            if (n->op && n->subs[0])
                through[n_through++] = n;
        }
    for (bool any = true; any;) {
        any = false;
        for (size_t i = n_through; i-- > 0;)
            any = hands_on(through[i]) || any;
    }
}

static void forget_leaving(jcv *c) {
    for (size_t i = 0; i < c->ctxs.n; i++) {
        jcv_ctx *x = c->ctxs.data[i];
        for (size_t k = 0; k < x->params.n; k++)
            x->params.data[k]->seen = 0;
        for (size_t k = 0; k < x->nodes.n; k++)
            for (unsigned j = 0; j < x->nodes.data[k]->n_out; j++)
                x->nodes.data[k]->out[j].seen = 0;
    }
}

/* Whether a node gets an input as the object that it is: it stores it, or may lead to what does, or
 * hands it on. */
static bool takes_object(const jcv *c, const jcv_node *n, const jcv_val *input) {
    bool host = jcv_role(n) == JN_ROLE_HOST;
    return n->subs[0] ? input->seen || c->live_tensors : host && c->live_tensors;
}

void jcv_cut_untracked(jcv *c) {
    find_leaving(c);
    for (size_t p = 0; p < c->inputs.n; p++) {
        jcv_val *v = c->main->params.data[p];
        if (!jcv_is_float_type(v->type) || c->inputs.data[p]->tensor.requires_grad)
            continue;
        jcv_val *cut = NULL;
        size_t n_ctxs = c->ctxs.n;
        for (size_t i = 0; i < n_ctxs; i++) {
            jcv_ctx *x = c->ctxs.data[i];
            for (size_t k = 0; k < x->nodes.n; k++) {
                jcv_node *n = x->nodes.data[k];
                bool whole = n->op == JN_OP(detach) || takes_object(c, n, v);
                for (unsigned j = 0; j < n->n_in && !whole; j++) {
                    if (n->in[j] != v)
                        continue;
                    if (!cut)
                        cut = &jcv_op(c, JN_OP(detach), &v, 1, NULL)->out[0];
                    n->in[j] = cut;
                }
            }
        }
        if (cut)
            move_first(c);
    }
    forget_leaving(c);
}

/* ---- what was computed without recording --------------------------------------------------------
 */

/* `v` is needed as what carries no gradient. */
static bool mark(jcv_val *v) {
    if (!v || !v->cut || v->across || !jcv_is_float_type(v->type))
        return false;
    return v->across = true;
}

static bool mark_across(jcv_ctx *x, bool main) {
    bool any = false;
    for (size_t i = 0; i < x->nodes.n; i++) {
        const jcv_node *n = x->nodes.data[i];
        bool across = n->subs[0] || jcv_role(n) == JN_ROLE_HOST;
        for (unsigned k = 0; across && k < n->n_in; k++)
            any = mark(n->in[k]) || any;
    }
    for (size_t i = 0; !main && i < x->results.n; i++)
        any = mark(x->results.data[i]) || any;
    return any;
}

/* Appends what `v` is without a gradient. */
static void add_bare(jcv *c, jcv_val *v) {
    if (!v->across)
        return;
    c->any_dims = true;
    jcv_node *n = jcv_op(c, JN_OP(detach), &v, 1, NULL);
    c->any_dims = false;
    n->loc = v->node ? v->node->loc : (jn_loc){0};
    n->out[0].type = v->type;
    n->out[0].depends = n->out[0].cut = false;
    v->bare = &n->out[0];
}

/* Each value is followed by what it is without a gradient, where that is needed. */
static void add_all_bare(jcv *c, jcv_ctx *x) {
    size_t n = x->nodes.n;
    jcv_node **nodes = jcv_alloc(c, (n + 1) * sizeof *nodes);
    if (n)
        memcpy(nodes, x->nodes.data, n * sizeof *nodes);
    x->nodes.n = 0;
    c->ctx = x;
    for (size_t i = 0; i < x->params.n; i++)
        add_bare(c, x->params.data[i]);
    for (size_t i = 0; i < n; i++) {
        if (!jn_vec_push(&x->nodes, nodes[i]))
            jcv_refuse(c, "out of memory");
        for (unsigned k = 0; k < nodes[i]->n_out; k++)
            add_bare(c, &nodes[i]->out[k]);
    }
}

static jcv_val *or_bare(jcv_val *v) { return v && v->bare ? v->bare : v; }

void jcv_cut_unrecorded(jcv *c) {
    jcv_ctx *place = c->ctx;
    bool any = false;
    for (size_t i = 0; i < c->ctxs.n; i++)
        any = mark_across(c->ctxs.data[i], c->ctxs.data[i] == c->main) || any;
    if (!any)
        return;
    for (size_t i = 0; i < c->ctxs.n; i++)
        add_all_bare(c, c->ctxs.data[i]);
    c->ctx = place;
    for (size_t i = 0; i < c->ctxs.n; i++) {
        jcv_ctx *x = c->ctxs.data[i];
        for (size_t k = 0; k < x->nodes.n; k++) {
            jcv_node *n = x->nodes.data[k];
            bool made = n->op == JN_OP(detach) && n->in[0]->bare == &n->out[0];
            for (unsigned j = 0; !made && j < n->n_in; j++)
                n->in[j] = or_bare(n->in[j]);
        }
        for (size_t k = 0; k < x->results.n; k++)
            x->results.data[k] = or_bare(x->results.data[k]);
    }
}
