/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autograd.grad and autograd.backward inside a function, with their arguments.
 */
#include "pyfront/convert/convert.h"

#include "ops/op_ids.h"

static bool is_flag(const jcv_av *a, bool what) {
    return a->kind == AV_PY &&
           (a->py == (what ? Py_True : Py_False) || (!what && a->py == Py_None));
}

/* A tensor, or the tensors of a sequence. */
static jcv_av **tensors(jcv *c, jcv_av *a, unsigned *n) {
    jcv_av **items;
    *n = 1;
    if (a->kind == AV_TENSOR) {
        items = jcv_alloc(c, sizeof *items);
        items[0] = a;
        return items;
    }
    if (!jcv_items(c, a, &items, n))
        jcv_refuse(c, "autograd.grad of %s", jcv_describe(a));
    for (unsigned i = 0; i < *n; i++)
        if (items[i]->kind != AV_TENSOR)
            jcv_refuse(c, "autograd.grad of %s", jcv_describe(items[i]));
    return items;
}

/* outputs, inputs, grad_outputs, retain_graph, create_graph, only_inputs, allow_unused */
jcv_av *jcv_autograd_grad(jcv *c, const jcv_args *a) {
    unsigned n_y, n;
    if (a->n_pos != 7 || a->n_kw || !is_flag(a->pos[2], false) || !is_flag(a->pos[4], false))
        jcv_refuse(c, "autograd.grad with these arguments");
    bool retain = is_flag(a->pos[3], true);
    if (!retain && !is_flag(a->pos[3], false))
        jcv_refuse(c, "autograd.grad with these arguments");
    jcv_av **y = tensors(c, a->pos[0], &n_y), **x = tensors(c, a->pos[1], &n);
    if (n_y != 1 || !(c->ctx == c->main || c->ctx->apart))
        jcv_refuse(c, "autograd.grad of several outputs, or inside a branch or loop");
    jpy_tensor *root = (jpy_tensor *)y[0]->py;
    jcv_val *v = jcv_tensor_val(c, y[0]->py);
    if (!jpy_tensor_tracked(root) || !root->node || jn_type_numel(v->type) != 1)
        jcv_refuse(c, "autograd.grad of a tensor without history, or of several elements");
    jcv_val **of = jcv_alloc(c, (n + 1) * sizeof *of);
    for (unsigned i = 0; i < n; i++) {
        jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)x[i]->py)->t);
        of[i] = jcv_tensor_val(c, x[i]->py);
        if (!jpy_tensor_tracked((jpy_tensor *)x[i]->py) || (r->parent && !r->versions) ||
            (r->written && !r->versions) || of[i] == v ||
            !jcv_reaches(c, v, of[i]))
            jcv_refuse(c, "autograd.grad with respect to what is a view, written or not used");
        for (unsigned k = 0; k < i; k++)
            if (of[k] == of[i])
                jcv_refuse(c, "autograd.grad with respect to one tensor twice");
    }
    if (jcv_history_used(c, v))
        jcv_refuse(c, "autograd.grad a second time through the same history");
    if (!retain)
        jcv_use_history(c, v);
    jcv_val *seed = NULL;
    jcv_node *b = jcv_backward_node(c, &v, &seed, 1, of, n);
    jcv_av **out = jcv_alloc(c, (n + 1) * sizeof *out);
    for (unsigned i = 0; i < n; i++) {
        b->out[i].depends = false;
        jcv_val *g = &b->out[i]; /* later gradients do not flow through it */
        g = &jcv_op(c, JN_OP(detach), &g, 1, NULL)->out[0];
        out[i] = jcv_proxy(c, g, false);
    }
    return jcv_tuple(c, out, n);
}

/* tensors, grad_tensors, retain_graph, create_graph, inputs */
jcv_av *jcv_autograd_backward(jcv *c, const jcv_args *a) {
    bool retain = is_flag(a->pos[2], true);
    if (!is_flag(a->pos[3], false) || !is_flag(a->pos[4], false) || a->pos[4]->py != Py_None ||
        (!retain && !is_flag(a->pos[2], false)))
        jcv_refuse(c, "backward() with create_graph or inputs");
    unsigned n, n_seeds = 0;
    jcv_av **roots = tensors(c, a->pos[0], &n);
    jcv_av **seeds = jcv_alloc(c, (n + 1) * sizeof *seeds);
    if (!is_flag(a->pos[1], false)) {
        jcv_av **given;
        if (!jcv_items(c, a->pos[1], &given, &n_seeds) || n_seeds != n)
            jcv_refuse(c, "backward() with gradients of another number");
        for (unsigned i = 0; i < n; i++) {
            bool none = is_flag(given[i], false) && given[i]->py == Py_None;
            if (!none && given[i]->kind != AV_TENSOR)
                jcv_refuse(c, "backward() with %s as a gradient", jcv_describe(given[i]));
            seeds[i] = none ? NULL : given[i];
        }
    }
    jcv_tensor_backward(c, roots, seeds, n, retain);
    return jcv_none(c);
}
