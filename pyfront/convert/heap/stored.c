/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that the graph stores in objects: what they are in the log of a run, and what may not be.
 *
 * A view of a tensor of the caller is stored as what it holds, in a container that the function
 * makes and that is gone after the run: its tag says so.
 */
#include "pyfront/convert/heap/heap.h"

#include "exec/store/store.h"
#include "graph/autodiff/autodiff.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/entry/entry.h"
#include "pyfront/run/run.h"

bool jcv_tracked_inside(jcv *c, jcv_av *v) {
    for (unsigned i = 0; v->kind == AV_TUPLE && i < v->n; i++)
        if (jcv_tracked_inside(c, v->items[i]))
            return true;
    return v->kind == AV_TENSOR && jcv_leaf_tracked(c, v);
}

jcv_val *jcv_object_input(jcv *c, jpy_src *src) {
    for (size_t i = 0; i < c->inputs.n; i++)
        if (c->inputs.data[i] == src && c->main->params.data[i]->type->kind == JANUS_KIND_OBJECT)
            return c->main->params.data[i];
    jcv_val *v = jcv_param(c, c->main, jcv_type(c, jn_scalar_type(JANUS_KIND_OBJECT)));
    if (!jn_vec_push(&c->inputs, src))
        jcv_refuse(c, "out of memory");
    return v;
}

jcv_val *jcv_object_const(jcv *c, PyObject *o) {
    jpy_src *s = jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, o, 0);
    if (!s)
        jcv_refuse(c, "out of memory");
    return jcv_object_input(c, s);
}

jcv_val *jcv_stored_with_history(jcv *c, jcv_val *x) {
    if (!jn_vec_push(&c->stored_tracked, x))
        jcv_refuse(c, "out of memory");
    if (c->wires)
        jcv_op(c, JN_OP(wire_put), &x, 1, NULL);
    return x;
}

static void put_if(jcv *c, jcv_node *n, jcv_val *flag, bool always) {
    janus_wire_put_attrs *attrs = jcv_alloc(c, sizeof *attrs);
    jcv_val **in = jcv_alloc(c, 3 * sizeof *in);
    *attrs = (janus_wire_put_attrs){sizeof *attrs, flag || always ? 0 : JN_WIRE_NONE};
    in[0] = n->in[0];
    in[1] = NULL;
    in[2] = flag;
    n->in = in;
    n->n_in = flag ? 3 : 1;
    n->attrs = attrs;
}

void jcv_put_if_tracked(jcv *c, jcv_val *x) {
    bool always;
    jcv_val *flag = jcv_tracked_flag(c, x, &always);
    for (size_t i = 0; i < c->ctxs.n; i++)
        for (size_t k = 0; k < c->ctxs.data[i]->nodes.n; k++) {
            jcv_node *n = c->ctxs.data[i]->nodes.data[k];
            if (n->op == JN_OP(wire_put) && n->in[0] == x && !jcv_is_put_without(n))
                put_if(c, n, flag, always);
        }
}

enum { PLAIN, INSIDE, MIXED, PRINTED };

bool jcv_is_put_without(const jcv_node *n) {
    const janus_wire_put_attrs *a = n->attrs;
    return n->op == JN_OP(wire_put) && a && (a->what & JN_WIRE_NONE);
}

/* A number of floats that has no history, where others have one. */
static jcv_val *without_history(jcv *c, jcv_val *x) {
    for (const jcv_val *v = x; v->node && v->node->kind == JCV_OP; v = v->node->in[0]) {
        if (v->node->op == JN_OP(detach) || (v->node->view && v->node->in[0]->depends))
            jcv_refuse(c, "a detached tensor is stored where others have a history");
        if (!v->node->view)
            break;
    }
    janus_wire_put_attrs attrs = {sizeof attrs, JN_WIRE_NONE};
    if (c->wires)
        jcv_op(c, JN_OP(wire_put), &x, 1, &attrs);
    return x;
}

/* Whether it is, or may be, a view of a tensor that the graph has not made. */
static bool is_view_of_others(jcv *c, jcv_av *v) {
    if (v->kind != AV_TENSOR || v->src)
        return false;
    return jcv_rec_of(c, ((jpy_tensor *)v->py)->t)->root->src ||
           jcv_views_others(c, jcv_tensor_val(c, v->py));
}

static bool view_inside(jcv *c, jcv_av *v) {
    for (unsigned i = 0; v->kind == AV_TUPLE && i < v->n; i++)
        if (view_inside(c, v->items[i]))
            return true;
    return is_view_of_others(c, v);
}

/* What is read of the heap may be such a view from now on, and what it is a view of is not written
 * (place.c). */
static jcv_val *stored_view(jcv *c, jcv_av *v, bool inside, bool mixed) {
    static const char why[] = "a view of a tensor of the caller is stored and remains";
    jcv_val *x = jcv_tensor_val(c, v->py);
    bool tracked = jcv_leaf_tracked(c, v);
    uint32_t as = tracked ? JCV_VIEWS_TRACKED : (uint32_t)1 << x->type->dtype;
    if (!inside || jpy_hint_usual(c->f, why))
        jcv_refuse(c, "a view of a tensor of the caller is stored");
    if (!jcv_plain_layout(v))
        jcv_refuse(c, "a tensor with strides of its own is stored");
    if (jcv_may_be_written(c, jcv_rec_of(c, ((jpy_tensor *)v->py)->t)->root))
        jcv_refuse(c, "a tensor is stored that may be one of the caller's that was written");
    if (!jn_vec_push(&c->left_out, ((jpy_left_out){why, jcv_place_of(c)})))
        jcv_refuse(c, "out of memory");
    if (!(c->views & as)) {
        c->views |= as;
        snprintf(c->reason, sizeof c->reason, "a view is stored");
        jcv_throw_now(c, THROW_RESTART);
    }
    if (mixed && !tracked && jn_dtype_is_float(x->type->dtype))
        return without_history(c, x);
    return tracked ? jcv_stored_with_history(c, x) : x;
}

static jcv_val *stored_history(jcv *c, jcv_val *x, bool inside) {
    if (!inside && !jn_vec_push(&c->stored_outside, x))
        jcv_refuse(c, "out of memory");
    return jcv_stored_with_history(c, x);
}

static jcv_val *stored_tensor(jcv *c, jcv_av *v, int how) {
    jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)v->py)->t);
    bool inside = how == INSIDE || how == MIXED;
    c->live_tensors = true;
    if (is_view_of_others(c, v))
        return stored_view(c, v, inside, how == MIXED);
    bool tracked = jcv_leaf_tracked(c, v);
    bool mixed =
        how == MIXED && !tracked && jn_dtype_is_float(jcv_tensor_val(c, v->py)->type->dtype);
    if (v->src && mixed && c->wires && !r->root->written) {
        r->root->put = true;
        return without_history(c, jcv_tensor_val(c, v->py));
    }
    if (v->src && (!tracked || !c->wires || r->root->written))
        return jcv_object_input(c, v->src);
    if (v->src) { /* the value knows the object */
        r->root->put = true;
        return stored_history(c, jcv_tensor_val(c, v->py), inside);
    }
    if (((jpy_tensor *)v->py)->requires_grad)
        jcv_refuse(c, "a new leaf that requires grad is stored");
    if (!jcv_plain_layout(v))
        jcv_refuse(c, "a tensor with strides of its own is stored");
    if (jcv_may_be_written(c, r->root))
        jcv_refuse(c, "a tensor is stored that may be one of the caller's that was written");
    jcv_val *x = jcv_tensor_val(c, v->py);
    jcv_leak(c, r);
    r->root->stored = true;
    if (!jn_vec_push(&c->stored, r))
        jcv_refuse(c, "out of memory");
    return tracked ? stored_history(c, x, inside) : mixed ? without_history(c, x) : x;
}

static jcv_val *stored(jcv *c, jcv_av *v, int how) {
    switch (v->kind) {
    case AV_TENSOR:
        return stored_tensor(c, v, how);
    case AV_SCALAR: { /* a number that was read stays the object that it is */
        const jcv_node *from = v->val->node;
        return from && from->op == JN_OP(host_unbox) ? from->in[0] : v->val;
    }
    case AV_HOST:
        return v->val;
    case AV_PY:
        if (how == PLAIN && !v->src && (PyLong_CheckExact(v->py) || PyFloat_CheckExact(v->py)))
            return jcv_object_const(c, v->py); /* of the text: that one, whoever looks at it */
        if (PyBool_Check(v->py) || PyFloat_CheckExact(v->py))
            return jcv_number(c, v);
        if (PyLong_CheckExact(v->py)) {
            int overflow;
            PyLong_AsLongLongAndOverflow(v->py, &overflow);
            return overflow ? jcv_object_const(c, v->py) : jcv_number(c, v);
        }
        if (jcv_is_const(v) && !(v->src && PyUnicode_CheckExact(v->py))) /* which one is seen */
            return jcv_object_const(c, v->py);
        if (!v->src)
            break;
        for (size_t i = 0; i < c->real.n; i++)
            if (c->real.data[i]->origin->py == v->py)
                jcv_make_live(c, v);
        return jcv_object_input(c, v->src);
    case AV_TUPLE: {
        if (v->named)
            jcv_refuse(c, "a named tuple is stored by the graph");
        if (v->py && how != PRINTED) /* of the text */
            return jcv_object_const(c, v->py);
        if (v->val && !jcv_encloses(v->val->ctx, c->ctx))
            jcv_refuse(c, "a tuple is stored in two places");
        if (v->val)
            return v->val;
        jcv_val **items = jcv_alloc(c, (v->n + 1) * sizeof *items);
        for (unsigned i = 0; i < v->n; i++)
            items[i] = stored(c, v->items[i], how);
        janus_host_new_attrs attrs = {sizeof attrs, JANUS_BIRTH_TUPLE, jcv_tag_of(c, v)};
        v->val = &jcv_op(c, JN_OP(host_new), items, v->n, &attrs)->out[0];
        return v->val;
    }
    case AV_TEXT:
        return jcv_text_object(c, v);
    case AV_LIST:
    case AV_DICT:
        jcv_make_live(c, v);
        break;
    case AV_SEQ:
        if (jcv_made_at(v))
            jcv_make_live(c, v);
        break;
    default:
        break;
    }
    jcv_refuse(c, "%s is stored by the graph", jcv_describe(v));
}

jcv_val *jcv_stored(jcv *c, jcv_av *v) { return stored(c, v, PLAIN); }

jcv_val *jcv_printed(jcv *c, jcv_av *v) { return stored(c, v, PRINTED); }

jcv_val *jcv_stored_inside(jcv *c, jcv_av *v, bool mixed) {
    return stored(c, v, mixed ? MIXED : INSIDE);
}

int64_t jcv_tag_of(jcv *c, jcv_av *v) {
    if (view_inside(c, v))
        return JPY_TAG_VIEW;
    return jcv_tracked_inside(c, v) ? JPY_TAG_FREED : JPY_TAG_PLAIN;
}
