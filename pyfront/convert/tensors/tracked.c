/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a value requires grad, on whichever path the graph takes (trait.c).
 *
 * Where a bool of the graph says so, a result has a history in some runs and none in others.  What
 * backward() is called of, and leaves, have it one way: it must be certain, or is asserted.
 */
#include "pyfront/convert/tensors/tensors.h"

#include "ops/op_ids.h"

/* For what it is: arguments, what is read of objects, leaves that were written (backward.c).  What
 * a gradient gives has none. */
static bool by_itself(const jcv *c, const jcv_val *v) {
    const jcv_node *n = v->node;
    if (!n) {
        for (size_t i = 0; i < c->main->params.n; i++)
            if (c->main->params.data[i] == v)
                return c->inputs.data[i]->tensor.requires_grad;
        return true;
    }
    if (jcv_role(n) == JN_ROLE_HOST)
        return v->depends && !n->mixed;
    if (n->op == JN_OP(detach))
        return v->depends;
    return n->op && n->op->role != JN_ROLE_COMPUTE && n->op->role != JN_ROLE_CONST &&
           n->op->role != JN_ROLE_RNG;
}

/* As an assumption what a branch of the function alone decides is not tried. */
static const jcv_trait requires_grad = {
    .which = JCV_TRACKED, .by_itself = by_itself, .by_number = true};
const jcv_trait jcv_requires_grad = {
    .which = JCV_RECORDED, .by_itself = by_itself, .by_number = true, .branches = true};

bool jcv_tracked_certain(jcv *c, jcv_val *v) {
    jcv_trait_survey(c, &requires_grad);
    return jcv_trait_certain(c, &requires_grad, v);
}

bool jcv_tracked_always(jcv *c, jcv_val *v) {
    jcv_node *n = v->node;
    jcv_trait_survey(c, &requires_grad);
    if (jcv_trait_certain(c, &requires_grad, v))
        return true;
    bool each = n && jcv_role(n) == JN_ROLE_FOREACH && v->ctx == c->ctx;
    if (each && jcv_trait_certain(c, &requires_grad, n->subs[0]->results.data[v->index])) {
        jcv_val *in[2] = {n->in[0], jcv_int_const(c, 0)};
        jcv_assert_at(c, &jcv_op(c, JN_OP(s_gt), in, 2, NULL)->out[0], "a loop has a round",
                      &n->loc);
    } else {
        bool always;
        jcv_val *flag = jcv_trait_flag(c, &requires_grad, v, &always);
        if (!flag)
            return always;
        jcv_assert_at(c, flag, "a result requires grad", n ? &n->loc : NULL);
    }
    if (c->ctx == c->main)
        jcv_trait_is(&requires_grad, v);
    return true;
}

jcv_val *jcv_tracked_flag(jcv *c, jcv_val *v, bool *out_always) {
    jcv_trait_survey(c, &jcv_requires_grad);
    return jcv_trait_flag(c, &jcv_requires_grad, v, out_always);
}

/* Whether it requires grad for whatever reason only it and what it is computed of says: of
 * arguments of a recursion and of what loops carry that is not known before they are complete. */
static bool whatever_else(const jcv *c, const jcv_val *v, unsigned depth) {
    const jcv_node *n = v->node;
    if (!n) {
        for (size_t i = 0; v->ctx == c->main && i < c->main->params.n; i++)
            if (c->main->params.data[i] == v)
                return c->inputs.data[i] && c->inputs.data[i]->tensor.requires_grad;
        return false;
    }
    if (n->op == JN_OP(wire_read) || n->op == JN_OP(detach))
        return v->depends && !n->mixed;
    bool any = false;
    bool computed = jcv_role(n) == JN_ROLE_COMPUTE && n->op->grad && v->depends;
    for (unsigned i = 0; computed && depth && i < n->n_in && !any; i++)
        any = jcv_is_float(n->in[i]) && whatever_else(c, n->in[i], depth - 1);
    return any;
}

void jcv_ask_tracked(jcv *c, jcv_av *x) {
    enum { MAX_DEPTH = 12 };
    const jpy_tensor *t = (const jpy_tensor *)x->py;
    if (!t->node)
        return; /* a leaf, or what requires grad on no path */
    jcv_val *v = jcv_tensor_val(c, x->py);
    if (!whatever_else(c, v, MAX_DEPTH) && (c->ctx != c->main || !jcv_tracked_always(c, v)))
        jcv_refuse(c, "whether a tensor requires grad, which some paths make so");
}
