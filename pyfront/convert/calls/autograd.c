/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autograd.grad and autograd.backward inside a function, with their arguments.
 *
 * A gradient is a node of the graph (backward.c), or it is computed op by op, by the tape that the
 * eager layer keeps of ops on proxies: gradients that have a history themselves.
 */
#include "pyfront/convert/calls/calls.h"

#include "ops/op_ids.h"
#include "pyfront/convert/core/list.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/tape/tape.h"

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

/* Cotangents of n roots: None, a tensor, or a sequence of these; NULL where there is none. */
static void read_seeds(jcv *c, jcv_av *a, jcv_av **seeds, unsigned n) {
    jcv_av **given = &a;
    unsigned n_given = 1;
    if (is_flag(a, false))
        return;
    if ((a->kind != AV_TENSOR && !jcv_items(c, a, &given, &n_given)) || n_given != n)
        jcv_refuse(c, "gradients of another number than that of the tensors");
    for (unsigned i = 0; i < n; i++) {
        bool none = given[i]->kind == AV_PY && given[i]->py == Py_None;
        if (!none && given[i]->kind != AV_TENSOR)
            jcv_refuse(c, "%s as a gradient", jcv_describe(given[i]));
        seeds[i] = none ? NULL : given[i];
    }
}

/* ---- by the tape --------------------------------------------------------------------------------
 */

static bool ends_at(const jpy_node *n, const jpy_edge *ends, unsigned n_ends) {
    for (unsigned i = 0; i < n_ends; i++)
        if (ends[i].node == n)
            return true;
    return false;
}

static jpy_edge edge_of(jcv *c, const jcv_av *a) {
    jpy_edge e;
    if (jpy_tensor_edge((jpy_tensor *)a->py, &e) < 0)
        jcv_refuse_py(c);
    return e;
}

/* Whether a history that the tape does not know, of the input i, leads to another input. */
static bool leads_on(jcv *c, jcv_av *const *x, unsigned n, unsigned i) {
    jcv_val *v = jcv_tensor_val(c, x[i]->py);
    for (unsigned k = 0; k < n; k++) {
        jcv_val *to = jcv_tensor_val(c, x[k]->py);
        if (to != v && jcv_reaches(c, v, to))
            return true;
    }
    return false;
}

/* Whether it was written by way of views: what is computed of these leads to it, too. */
static bool written_by_views(jcv *c, const jcv_av *a) {
    const jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)a->py)->t);
    return r->written && r->views;
}

bool jcv_tape_knows(jcv *c, jcv_av *const *y, unsigned n_y, jcv_av *const *x, unsigned n) {
    JCV_LIST(jpy_node *) met = {0};
    jpy_edge *ends = jcv_alloc(c, (n + 1) * sizeof *ends);
    for (unsigned i = 0; i < n; i++) {
        ends[i] = edge_of(c, x[i]);
        if (ends[i].node && !ends[i].node->cls->backward &&
            (leads_on(c, x, n, i) || written_by_views(c, x[i])))
            return false;
    }
    for (unsigned i = 0; i < n_y; i++) {
        jpy_edge e = edge_of(c, y[i]);
        if (e.node)
            jcv_add(c, &met, e.node);
    }
    for (size_t at = 0; at < met.n; at++) {
        jpy_node *node = met.data[at];
        if (!node->cls->backward && /* what no eager op has made */
            !ends_at(node, ends, n))
            return false;
        for (unsigned i = 0; i < node->n_in; i++) {
            jpy_node *next = node->edges[i].node;
            bool known = !next;
            for (size_t k = 0; k < met.n && !known; k++)
                known = met.data[k] == next;
            if (!known)
                jcv_add(c, &met, next);
        }
    }
    return true;
}

static PyObject *objects(jcv *c, jcv_av *const *a, unsigned n) {
    PyObject *t = jcv_own(c, PyTuple_New(n));
    for (unsigned i = 0; i < n; i++)
        PyTuple_SET_ITEM(t, i, Py_NewRef(a[i] ? a[i]->py : Py_None));
    return t;
}

jcv_av **jcv_tape_grad(jcv *c, jcv_av *const *y, jcv_av *const *seeds, unsigned n_y,
                       jcv_av *const *x, unsigned n, bool retain, bool create, bool must) {
    static PyObject *function;
    if (!function) {
        PyObject *module = PyImport_ImportModule("janus._C");
        function = module ? PyObject_GetAttrString(module, "_grad") : NULL;
        Py_XDECREF(module);
        if (!function)
            jcv_refuse_py(c);
    }
    c->hook_refused = false;
    c->second_order = c->second_order || create;
    PyObject *r = PyObject_CallFunction(function, "OOOOOOO", objects(c, y, n_y), objects(c, x, n),
                                        objects(c, seeds, n_y), retain ? Py_True : Py_False,
                                        create ? Py_True : Py_False, Py_True, Py_True);
    if (r && (c->hook_refused || jn_proxy_asked))
        Py_CLEAR(r);
    if (!r)
        jcv_thrown_inside(c);
    if (!r && !must) {
        c->hook_refused = jn_proxy_asked = false;
        PyErr_Clear();
        return NULL;
    }
    jcv_own(c, r);
    jcv_av **out = jcv_alloc(c, (n + 1) * sizeof *out);
    for (unsigned i = 0; i < n; i++) {
        PyObject *g = PyTuple_GET_ITEM(r, i);
        out[i] = g == Py_None ? NULL : jcv_wrap(c, g, NULL);
        if (out[i] && out[i]->kind != AV_TENSOR)
            jcv_refuse(c, "a gradient that is %s", jcv_describe(out[i]));
    }
    return out;
}

/* ---- autograd.grad
 * -------------------------------------------------------------------------------
 */

typedef struct asked {
    jcv_av **y, **x, **seeds;
    unsigned n_y, n;
    bool retain, create, unused;
} asked;

static bool flag(jcv *c, const jcv_av *a, bool dflt) {
    if (is_flag(a, true))
        return true;
    if (!is_flag(a, false))
        jcv_refuse(c, "autograd.grad with %s", jcv_describe((jcv_av *)a));
    return a->py == Py_None ? dflt : false;
}

static void check_history(jcv *c, const asked *q) {
    if (!q->n)
        jcv_refuse(c, "autograd.grad with respect to nothing");
    for (unsigned i = 0; i < q->n_y; i++) {
        jpy_tensor *root = (jpy_tensor *)q->y[i]->py;
        jcv_val *v = jcv_tensor_val(c, q->y[i]->py);
        if (!jpy_tensor_tracked(root) || !root->node ||
            (!q->seeds[i] && jn_type_numel(v->type) != 1))
            jcv_refuse(c, "autograd.grad of a tensor without history, or of several elements");
        if (jcv_history_may_be_used(c, v))
            jcv_refuse(c, "autograd.grad a second time through the same history");
        if (jcv_history_rewritten(c, v))
            jcv_refuse(c, "what a gradient needs is written under another name");
    }
    jcv_val **y = jcv_alloc(c, (q->n_y + q->n + 1) * sizeof *y), **x = y + q->n_y;
    bool outside = false; /* such a history may lead to what was there before the call */
    for (unsigned i = 0; i < q->n_y; i++)
        y[i] = jcv_tensor_val(c, q->y[i]->py);
    for (unsigned i = 0; i < q->n; i++) {
        jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)q->x[i]->py)->t);
        x[i] = jcv_tensor_val(c, q->x[i]->py);
        outside = outside || r->root->src;
    }
    if (outside && jcv_reaches_history(c, y, q->n_y, q->n == 1 ? x[0] : NULL))
        jcv_refuse(c, "autograd.grad into the history of an argument");
    for (unsigned i = 0; i < q->n; i++) {
        const jpy_src *s = jcv_rec_of(c, ((jpy_tensor *)q->x[i]->py)->t)->src;
        if (!jpy_tensor_tracked((jpy_tensor *)q->x[i]->py))
            jcv_refuse(c, "autograd.grad with respect to what requires no grad");
        if (s && s->tensor.hooked)
            jcv_refuse(c, "autograd.grad with respect to a tensor of the caller that has a hook");
    }
}

static jcv_av *results(jcv *c, jcv_av **g, const asked *q) {
    if (!q->retain) {
        jcv_val **y = jcv_alloc(c, (q->n_y + 1) * sizeof *y);
        for (unsigned i = 0; i < q->n_y; i++)
            y[i] = jcv_tensor_val(c, q->y[i]->py);
        jcv_use_history(c, y, q->n_y, q->x, q->n);
    }
    for (unsigned i = 0; i < q->n; i++) {
        if (!g[i] && !q->unused)
            jcv_refuse(c, "autograd.grad with respect to what is not used");
        g[i] = g[i] ? g[i] : jcv_none(c);
    }
    return jcv_tuple(c, g, q->n);
}

/* As a node of the graph: one output, whose gradients have no history. */
static jcv_av *by_node(jcv *c, const asked *q) {
    unsigned n = q->n;
    jcv_val *v = jcv_tensor_val(c, q->y[0]->py);
    jcv_val **of = jcv_alloc(c, (n + 1) * sizeof *of);
    for (unsigned i = 0; i < n; i++) {
        jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)q->x[i]->py)->t);
        of[i] = jcv_tensor_val(c, q->x[i]->py);
        if (((r->parent || r->written) && !r->versions) || of[i] == v || !jcv_reaches(c, v, of[i]))
            jcv_refuse(c, "autograd.grad with respect to what is a view, written or not used");
        for (unsigned k = 0; k < i; k++)
            if (of[k] == of[i])
                jcv_refuse(c, "autograd.grad with respect to one tensor twice");
    }
    uint32_t mark = jcv_mark_reach(c, &v, 1);
    for (unsigned i = 0; i < n; i++)
        if (jcv_reaches_older(jcv_rec_of(c, ((jpy_tensor *)q->x[i]->py)->t), of[i], mark))
            jcv_refuse(c, "autograd.grad into what a leaf was before it was changed");
    jcv_val *seed = q->seeds[0] ? jcv_tensor_val(c, q->seeds[0]->py) : NULL;
    if (seed && !jcv_same_type(v->type, seed->type))
        jcv_refuse(c, "autograd.grad with a gradient of another shape or dtype");
    jcv_node *b = jcv_backward_node(c, &v, &seed, 1, of, n, false);
    jcv_av **out = jcv_alloc(c, (n + 1) * sizeof *out);
    for (unsigned i = 0; i < n; i++) {
        b->out[i].depends = false;
        jcv_val *g = &b->out[i]; /* later gradients do not flow through it */
        g = &jcv_op(c, JN_OP(detach), &g, 1, NULL)->out[0];
        out[i] = jcv_proxy(c, g, false);
    }
    return results(c, out, q);
}

/* outputs, inputs, grad_outputs, retain_graph, create_graph, only_inputs, allow_unused */
jcv_av *jcv_autograd_grad(jcv *c, const jcv_args *a) {
    if (a->n_pos != 7 || a->n_kw)
        jcv_refuse(c, "autograd.grad with these arguments");
    asked q = {0};
    c->asks_gradients = true;
    q.create = c->creates = flag(c, a->pos[4], false);
    q.retain = flag(c, a->pos[3], q.create);
    q.unused = flag(c, a->pos[6], false);
    q.y = tensors(c, a->pos[0], &q.n_y);
    q.x = tensors(c, a->pos[1], &q.n);
    q.seeds = jcv_alloc(c, (q.n_y + 1) * sizeof *q.seeds);
    read_seeds(c, a->pos[2], q.seeds, q.n_y);
    check_history(c, &q);
    bool here = c->ctx == c->main || c->ctx->apart;
    bool alone = false;
    for (unsigned i = 0; i < q.n_y; i++)
        alone = alone || jcv_history_by_tape(c, jcv_tensor_val(c, q.y[i]->py));
    bool must = q.create || q.n_y != 1 || q.unused || !here || c->second_order || alone;
    if ((must || !c->image) && jcv_tape_knows(c, q.y, q.n_y, q.x, q.n)) {
        jcv_av **g = jcv_tape_grad(c, q.y, q.seeds, q.n_y, q.x, q.n, true, q.create, must);
        c->creates = c->creates && !g;
        if (g)
            return results(c, g, &q);
    }
    if (q.create || q.n_y != 1 || q.unused || !here || alone)
        jcv_refuse(c, "autograd.grad of such a history with create_graph or allow_unused, of "
                      "several outputs, or inside a branch or loop");
    return by_node(c, &q);
}

/* tensors, grad_tensors, retain_graph, create_graph, inputs */
jcv_av *jcv_autograd_backward(jcv *c, const jcv_args *a) {
    bool retain = is_flag(a->pos[2], true);
    c->creates = !is_flag(a->pos[3], false);
    if (!is_flag(a->pos[3], false) || !is_flag(a->pos[4], false) || a->pos[4]->py != Py_None ||
        (!retain && !is_flag(a->pos[2], false)))
        jcv_refuse(c, "backward() with create_graph or inputs");
    unsigned n;
    jcv_av **roots = tensors(c, a->pos[0], &n);
    jcv_av **seeds = jcv_alloc(c, (n + 1) * sizeof *seeds);
    read_seeds(c, a->pos[1], seeds, n);
    jcv_tensor_backward(c, roots, seeds, n, retain);
    return jcv_none(c);
}
