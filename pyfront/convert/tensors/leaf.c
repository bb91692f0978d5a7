/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves that the function makes or changes: requires_grad set, .data assigned.
 *
 * Whether a tensor is a leaf that requires grad is said by its proxy, as the eager layer does. From
 * then on it holds a value of its own, a detach of what it held: gradients stop there.  The value
 * is a version of the leaf (backward.c).  No longer to require grad is another detach.
 *
 * Flags are set in the function itself only, so that no arm has a proxy that another has not.
 */
#include "pyfront/convert/tensors/tensors.h"

#include <string.h>

#include "ops/op_ids.h"

static bool is_view_of_others(const jcv_rec *r) {
    const jcv_rec *root = r->root;
    return root->src || jcv_of_several(root);
}

/* Where nobody else has what it is a view of, it is none. */
static void stand_alone(jcv *c, jcv_rec *r) {
    jcv_rec *root = r->root;
    if (!r->parent || is_view_of_others(r) || r->views)
        return;
    r->root = r; /* names of it are none of its root */
    if (jcv_reachable(c, root, NULL)) {
        r->root = root;
        return;
    }
    for (jcv_rec **v = &root->views; *v; v = &(*v)->next_view)
        if (*v == r) {
            *v = r->next_view;
            break;
        }
    r->parent = NULL;
    r->next_view = NULL;
    r->uncounted = r->apart = false;
}

static void hold(jcv *c, jcv_rec *r, jcv_val *v) {
    if (r->parent) {
        r->up = jcv_held(c, r->parent);
        r->val = v;
        return;
    }
    if (jcv_need_slot(c, r) != JANUS_OK)
        jcv_refuse(c, "out of memory");
    jcv_put_held(c, r, v);
}

static jcv_rec *changed(jcv *c, jcv_av *x, const char *what) {
    jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)x->py)->t);
    if (r->box)
        jcv_refuse(c, "the %s of a tensor is set that is read while the graph runs", what);
    if (c->ctx != c->main)
        jcv_refuse(c, "the %s of a tensor is set" JCV_INSIDE, what);
    if (r->ctx != c->main || (!r->parent && jcv_of_several(r)))
        jcv_refuse(c, "the %s of a tensor is set that may be one of several", what);
    jcv_wrote(c);
    return r;
}

/* Whether it requires grad in each run as in the conversion: a guard says so, or it was made here.
 * What is read of an object, or given to a body, may be another tensor in another run. */
static bool is_as_seen(jcv *c, const jcv_av *x) {
    const jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)x->py)->t)->root;
    const jcv_node *n = r->val ? r->val->node : NULL;
    return r->src || (n && n->op && n->op->role != JN_ROLE_HOST && n->op != JN_OP(wire_read));
}

void jcv_set_requires_grad(jcv *c, jcv_av *x, bool on) {
    jpy_tensor *t = (jpy_tensor *)x->py;
    jcv_ask_tracked(c, x);
    if (!is_as_seen(c, x))
        jcv_refuse(c, "the requires_grad of a tensor that only the run knows is set");
    if (jpy_tensor_tracked(t) == on)
        return;
    if (t->node || (on && !jn_dtype_is_float(t->t->dtype)))
        jcv_refuse(c, "a requires_grad that cannot be set");
    jcv_rec *r = changed(c, x, "requires_grad");
    stand_alone(c, r);
    if (r->src) {
        if (!c->one_tensor) { /* what is read by another name is this leaf, too */
            c->one_tensor = true;
            snprintf(c->reason, sizeof c->reason, "the requires_grad of a tensor is set");
            jcv_throw_now(c, THROW_RESTART);
        }
        if (((jpy_tensor *)r->proxy)->base || !jpy_guards_distinct(c->guards, r->src->slot))
            jcv_refuse(c, "the requires_grad of a view is set");
        r->src->tensor.alone = true;
        r->flagged = true;
    }
    if (!r->parent && jcv_need_slot(c, r) != JANUS_OK)
        jcv_refuse(c, "out of memory");
    jcv_val *v = jcv_tensor_val(c, x->py);
    t->requires_grad = on;
    if (on) {
        v = jcv_leaf_again(c, r, v);
    } else {
        jcv_node *n = jcv_op(c, JN_OP(detach), &v, 1, NULL);
        v = &n->out[0];
        v->depends = v->cut = false;
    }
    if (!v)
        jcv_refuse(c, "out of memory");
    hold(c, r, v);
}

/* Views would go on from what it holds now. */
static void no_views(jcv *c, const jcv_rec *r, const char *what) {
    if (jcv_view_reachable(c, r))
        jcv_refuse(c, "the %s of a tensor is set that has views", what);
}

void jcv_detach_in_place(jcv *c, jcv_av *x) {
    jpy_tensor *t = (jpy_tensor *)x->py;
    jcv_rec *of = jcv_rec_of(c, t->t);
    if (t->base)
        jcv_refuse(c, "a view is detached in place");
    if (of->src)
        of->src->tensor.alone = true;
    if (!t->node) {
        jcv_set_requires_grad(c, x, false);
        return;
    }
    jcv_rec *r = changed(c, x, "history");
    if (r->src)
        jcv_refuse(c, "the history of an argument is forgotten");
    stand_alone(c, r);
    no_views(c, r, "history");
    jcv_val *v = jcv_tensor_val(c, x->py);
    v = &jcv_op(c, JN_OP(detach), &v, 1, NULL)->out[0];
    v->depends = v->cut = false;
    jcv_own(c, PyObject_CallMethod(x->py, "detach_", NULL));
    hold(c, r, v);
}

void jcv_made_leaf(jcv *c, PyObject *proxy) {
    const jpy_tensor *t = (const jpy_tensor *)proxy;
    if (!jpy_tensor_check(proxy) || !jcv_is_proxy(c, proxy) || !t->requires_grad || t->node)
        return;
    jcv_rec *r = jcv_rec_of(c, t->t);
    if (r->src || r->versions || r->parent || r->box)
        return;
    if (!r->obj) {
        Py_INCREF(proxy);
        r->obj = jcv_own(c, proxy);
    }
    jcv_val *v = jcv_leaf_again(c, r, jcv_tensor_val(c, proxy));
    if (!v)
        jcv_refuse(c, "out of memory");
    r->val = v;
}

/* Whose memory a tensor has, all of it and in the same layout. */
static const jcv_rec *memory_of(jcv *c, const jcv_av *a) {
    const jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)a->py)->t);
    while (r->parent && r->op == JN_OP(detach))
        r = r->parent;
    return r;
}

bool jcv_has_data(jcv *c, const jcv_av *x, const jcv_av *y) {
    return memory_of(c, x) == memory_of(c, y);
}

/* Its numbers are written, as in place, but to memory that it gets with the commit: whoever else is
 * in the memory that it had sees nothing of it. */
static void move(jcv *c, jcv_rec *r, jcv_av *x, jcv_av *y, jcv_rec *of) {
    jcv_val *v = jcv_tensor_val(c, y->py);
    bool fresh = !jcv_of_several(of) && !of->box && v->node && !jcv_views_others(c, v);
    if (r->src->tensor.part || !jcv_plain_layout(x) || (r->written && !r->moved) ||
        !jpy_guards_distinct(c->guards, r->src->slot))
        jcv_refuse(c, "the data of this tensor of the caller is set");
    if (!fresh || !jcv_plain_layout(y))
        jcv_refuse(c, "the data of a tensor is set to what may have another name");
    if (!c->one_tensor) { /* what is read by another name is this one, too */
        c->one_tensor = true;
        snprintf(c->reason, sizeof c->reason, "the data of a tensor is set");
        jcv_throw_now(c, THROW_RESTART);
    }
    jcv_val *held = jcv_op(c, JN_OP(detach), &v, 1, NULL)->out;
    held->depends = held->cut = false;
    if (jcv_need_slot(c, r) != JANUS_OK || jcv_write(c, r, held, false, false, false) != JANUS_OK)
        jcv_refuse(c, "the data of a tensor is set: %s", janus_last_error()->message);
    r->moved = r->wrote_uncounted = of->shared = true;
    r->data_of = of;
}

void jcv_set_data(jcv *c, jcv_av *x, jcv_av *y) {
    jcv_rec *r = changed(c, x, "data"), *of = jcv_rec_of(c, ((jpy_tensor *)y->py)->t);
    const jpy_tensor *t = (const jpy_tensor *)x->py;
    stand_alone(c, of);
    if (r->parent || of->parent || of->root == r ||
        !jcv_same_type(jcv_tensor_val(c, x->py)->type, jcv_tensor_val(c, y->py)->type) ||
        !jcv_same_layout(x, y) || t->node)
        jcv_refuse(c, "the data of this tensor is set");
    no_views(c, r, "data");
    if (of->src || of->shared || of->stored)
        jcv_refuse(c, "the data of a tensor is set to what may have another name");
    if (r->src) {
        move(c, r, x, y, of);
        return;
    }
    jcv_val *v = jcv_tensor_val(c, y->py);
    if (t->requires_grad) {
        v = jcv_leaf_again(c, r, v);
    } else {
        v = &jcv_op(c, JN_OP(detach), &v, 1, NULL)->out[0];
        v->depends = v->cut = false;
    }
    if (!v)
        jcv_refuse(c, "out of memory");
    of->shared = true;
    ((jpy_tensor *)x->py)->t->storage->version++; /* what the tape has saved is no more */
    r->data_of = of;
    hold(c, r, v);
}
