/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a result is a view of a tensor of the caller, where only some paths make it one: what a
 * leaf of a tree returns may be a row of a table.
 *
 * A result of a graph has memory of its own.  Where it may be such a view, arms and recursions
 * return a bool beside it, which says that it is none, and main asserts that.
 */
#include "pyfront/convert/tensors/tensors.h"

#include "pyfront/run/run.h"

static jcv_val *is_own(jcv *c, jcv_val *v);

static jcv_val *constant(jcv *c, jcv_ctx *x, bool holds) {
    jcv_ctx *place = c->ctx;
    c->ctx = x;
    jcv_val *v = jcv_scalar_const(c, JANUS_KIND_BOOL, (janus_scalar){.i = holds});
    c->ctx = place;
    return v;
}

/* What a body says of its result k. */
static jcv_val *of_result(jcv *c, jcv_ctx *x, unsigned k) {
    jcv_val *own = is_own(c, x->results.data[k]);
    return own->node->kind == JCV_SCALAR_CONST ? constant(c, x, own->node->scalar.i) : own;
}

static void add_result(jcv *c, jcv_ctx *x, jcv_val *v) {
    if (!jn_vec_push(&x->results, v))
        jcv_refuse(c, "out of memory");
}

/* Each recursion says of one result after another, which all its calls get. */
static jcv_val *of_call(jcv *c, jcv_node *n, unsigned k) {
    jcv_ctx *f = n->subs[0];
    if (!f->own_at)
        f->own_at = jcv_alloc(c, (f->results.n + 1) * sizeof *f->own_at);
    if (!f->own_at[k]) {
        unsigned at = f->own_at[k] = (unsigned)f->results.n;
        add_result(c, f, constant(c, f, false));
        jcv_more_results(c, f, at);
        jcv_val *own = of_result(c, f, k);
        f->results.data[at] = own;
    }
    return &n->out[f->own_at[k]];
}

/* A call may hand on what it gets. */
static bool is_given_views(const jcv *c, const jcv_node *n) {
    for (unsigned k = 0; k < n->n_in; k++)
        if (n->in[k] && n->in[k]->type->kind == JANUS_KIND_TENSOR && jcv_views_others(c, n->in[k]))
            return true;
    return false;
}

static jcv_val *is_own(jcv *c, jcv_val *v) {
    jcv_node *n = v->node;
    if (!jcv_views_others(c, v))
        return constant(c, c->main, true);
    if (n && n->op && n->op->role == JN_ROLE_INVOKE)
        return is_given_views(c, n) ? constant(c, c->main, false) : of_call(c, n, v->index);
    if (!n || !n->op || n->op->role != JN_ROLE_IF)
        return constant(c, c->main, false);
    if (!n->own)
        n->own = jcv_alloc(c, (n->n_out + 1) * sizeof(jcv_val *));
    if (!n->own[v->index]) {
        for (int k = 0; k < 2; k++)
            add_result(c, n->subs[k], of_result(c, n->subs[k], v->index));
        n->own[v->index] = jcv_more_result(c, n);
    }
    return n->own[v->index];
}

bool jcv_own_is_asserted(jcv *c, jcv_val *v) {
    static const char why[] = "a view of a tensor of the caller leaves the graph";
    if (c->ctx != c->main || jpy_hint_usual(c->f, why))
        return false;
    jcv_val *own = is_own(c, v);
    if (own->node->kind == JCV_SCALAR_CONST)
        return own->node->scalar.i;
    if (!jn_vec_push(&c->left_out, ((jpy_left_out){why, jcv_place_of(c)})))
        jcv_refuse(c, "out of memory");
    jcv_assert(c, own, why);
    return true;
}
