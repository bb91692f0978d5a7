/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What leaves the graph becomes recipes that make it at commit.
 *
 * A tensor that leaves is a copy of its own, unless another view of its memory leaves, too, or the
 * memory is the caller's: then it is taken again at commit as the view it is (JPY_MAKE_VIEW).
 */
#include "pyfront/convert/finish/recipe.h"

#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/values.h"
#include "pyfront/methods/methods.h"

void *jcv_entry_alloc(jcv *c, jpy_entry *e, size_t size) {
    void *p = jn_arena_zalloc(&e->arena, size + !size);
    if (!p)
        jcv_refuse(c, "out of memory");
    return p;
}

uint32_t jcv_add_result(jcv *c, jcv_val *v) {
    for (size_t i = 0; i < c->main->results.n; i++)
        if (c->main->results.data[i] == v)
            return (uint32_t)i;
    if (!jn_vec_push(&c->main->results, v))
        jcv_refuse(c, "out of memory");
    return (uint32_t)c->main->results.n - 1;
}

static uint32_t id_of(jcv *c, jcv_finishing *f, const void *p) {
    for (size_t i = 0; i < f->ids.n; i++)
        if (f->ids.data[i] == p)
            return (uint32_t)i + 1;
    jcv_add(c, &f->ids, p);
    return (uint32_t)f->ids.n;
}

/* The number of a result at the region's tape node. */
static uint32_t tracked_result(jcv *c, jcv_finishing *f, uint32_t slot) {
    while (f->e->grad_of.n <= slot)
        if (!jn_vec_push(&f->e->grad_of, 0u))
            jcv_refuse(c, "out of memory");
    if (!f->e->grad_of.data[slot])
        f->e->grad_of.data[slot] = ++f->e->n_tracked;
    return f->e->grad_of.data[slot];
}

/* A view is taken again of what its root becomes. */
static jpy_recipe *view_recipe(jcv *c, jcv_finishing *f, jcv_av *a, jcv_rec *rec, jpy_recipe *r) {
    unsigned n = 0;
    bool detached = false;
    if (jpy_tensor_tracked((jpy_tensor *)a->py))
        jcv_refuse(c, "views of one tensor leave the graph and require grad");
    for (jcv_rec *x = rec; x->parent; x = x->parent, n++)
        detached = detached || x->op == JN_OP(detach);
    if (!detached && jcv_leaf_tracked(c, jcv_proxy_of(c, rec->root)))
        jcv_refuse(c, "a view without history of a tensor that requires grad leaves the graph");
    if (rec->root->moved) /* it is made before the tensor gets its new memory */
        jcv_refuse(c, "a view of a tensor of the caller leaves the graph, whose data is set");
    r->kind = JPY_MAKE_VIEW;
    r->id = id_of(c, f, a->py);
    r->items = jcv_entry_alloc(c, f->e, sizeof *r->items);
    r->items[0] = jcv_recipe(c, f, jcv_proxy_of(c, rec->root));
    r->detached = detached;
    r->uncounted = rec->uncounted;
    r->n = n;
    r->views = jcv_entry_alloc(c, f->e, n * sizeof *r->views);
    for (jcv_rec *x = rec; x->parent; x = x->parent) { /* the last one first */
        jpy_view_step *v = &r->views[--n];
        v->op = x->op;
        if (jn_attrs_copy(x->op, x->attrs, &f->e->arena, &v->attrs) != JANUS_OK)
            jcv_refuse(c, "out of memory");
        if (x->n_extra > 3)
            jcv_refuse(c, "a view made by %s leaves the graph", x->op->name);
        v->n = x->n_extra;
        for (unsigned i = 0; i < v->n; i++) {
            const jcv_val *e = x->extra[i];
            if (e && !(e->node && e->node->kind == JCV_SCALAR_CONST))
                jcv_refuse(c, "a view at a computed place leaves the graph");
            v->kinds[i] = e ? (uint8_t)e->node->scalar_kind : JANUS_KIND_NONE;
            v->extra[i] = e ? e->node->scalar : (janus_scalar){0};
        }
    }
    jcv_leak(c, rec->root);
    return r;
}

/* Axes, the one with the longest steps first; false: there are gaps, or elements are met twice. */
static bool order_of(const janus_tensor *t, int64_t *out) {
    for (int i = 0; i < t->rank; i++) {
        int at = i;
        for (; at > 0 && t->strides[out[at - 1]] < t->strides[i]; at--)
            out[at] = out[at - 1];
        out[at] = i;
    }
    int64_t step = 1;
    for (int i = t->rank; i-- > 0;) {
        if (t->dims[out[i]] != 1 && t->strides[out[i]] != step)
            return false;
        step *= t->dims[out[i]] ? t->dims[out[i]] : 1;
    }
    return true;
}

/* The strides that the program's tensor has, where a result of the graph would have others. */
static void take_strides(jcv *c, jcv_finishing *f, const jcv_rec *rec, const jcv_val *v,
                         jpy_recipe *r) {
    const janus_tensor *t = rec->t;
    int64_t step = 1;
    bool plain = true, known = v->type->rank == t->rank;
    for (int i = t->rank - 1; i >= 0; i--) {
        plain = plain && t->strides[i] == step;
        known = known && v->type->dims[i] == t->dims[i] && !jcv_dim_varies(c, t->strides[i]);
        step *= t->dims[i] ? t->dims[i] : 1;
    }
    if (plain || v->type->rank != t->rank)
        return;
    int64_t *strides = jcv_entry_alloc(c, f->e, (size_t)t->rank * sizeof *strides);
    if (!known && !order_of(t, strides))
        jcv_refuse(c, "a result with gaps in its memory, whose sizes vary");
    if (known)
        memcpy(strides, t->strides, (size_t)t->rank * sizeof *strides);
    r->strides = strides;
    r->by_order = !known;
}

/* A leaf that the function has made, with its gradient. */
static jpy_recipe *leaf_recipe(jcv *c, jcv_finishing *f, jcv_av *a, jcv_val *v, jpy_recipe *r) {
    const jcv_attr *grad = jcv_find_attr(c, a->py, NULL);
    r->kind = JPY_MAKE_RESULT;
    r->leaf = true;
    take_strides(c, f, jcv_rec_of(c, ((jpy_tensor *)a->py)->t), v, r);
    r->slot = jcv_add_result(c, v);
    r->id = id_of(c, f, a->py);
    if (grad && c->slots.data[grad->slot]->kind == AV_TENSOR) {
        r->n = 1;
        r->items = jcv_entry_alloc(c, f->e, sizeof *r->items);
        r->items[0] = jcv_recipe(c, f, c->slots.data[grad->slot]);
    } else if (grad && c->slots.data[grad->slot]->kind != AV_PY) {
        jcv_refuse(c, "the gradient of a leaf: %s", jcv_describe(c->slots.data[grad->slot]));
    }
    return r;
}

static jpy_recipe *tensor_recipe(jcv *c, jcv_finishing *f, jcv_av *a, jpy_recipe *r) {
    jcv_rec *rec = jcv_rec_of(c, ((jpy_tensor *)a->py)->t);
    if (a->src) {
        r->kind = JPY_MAKE_SOURCE;
        r->slot = a->src->slot;
        return r;
    }
    if (rec->parent && (rec->root->src || c->share_views))
        return view_recipe(c, f, a, rec, r);
    jcv_val *v = jcv_tensor_val(c, a->py);
    if (rec->root->src || (!v->node && v->ctx == c->main))
        jcv_refuse(c, "a tensor of the caller leaves the graph as a new one");
    if (jcv_may_be_written(c, rec->root))
        jcv_refuse(c, "a tensor leaves the graph that may be one of the caller's that was written");
    if (jcv_views_others(c, v) && !jcv_own_after_rounds(c, v) && !jcv_no_view(c, v))
        jcv_refuse(c, "a view of a tensor of the caller leaves the graph as a new one");
    for (size_t i = 0; i < f->escaped.n; i++)
        if (f->escaped.data[i]->root == rec->root && f->escaped.data[i] != rec) {
            c->share_views = true;
            snprintf(c->reason, sizeof c->reason, "two views of one tensor leave the graph");
            jcv_throw_now(c, THROW_RESTART);
        }
    for (size_t i = 0; i < f->escaped.n; i++)
        if (f->escaped.data[i]->root != rec->root &&
            jcv_may_be_one(rec->root, f->escaped.data[i]->root))
            jcv_refuse(c, "two results that are one tensor on some paths");
    jcv_leak(c, rec);
    jcv_add(c, &f->escaped, rec);
    bool tracked = jpy_tensor_tracked((jpy_tensor *)a->py);
    bool leaf = tracked && ((jpy_tensor *)a->py)->requires_grad;
    if (leaf && !jcv_tracked_always(c, v))
        jcv_refuse(c, "a leaf requires grad on some paths only");
    if (leaf)
        return leaf_recipe(c, f, a, v, r);
    jcv_val *flag = tracked ? jcv_tracked_flag(c, v, &tracked) : NULL;
    if (flag) {
        tracked = true;
        r->if_result = 1 + jcv_add_result(c, flag);
    }
    r->kind = JPY_MAKE_RESULT;
    r->uncounted = rec->uncounted;
    r->freed = tracked && jcv_history_used(c, v);
    take_strides(c, f, rec, v, r);
    r->slot = jcv_add_result(c, v);
    if (tracked && !r->freed && !jcv_history_certain(c, v))
        jcv_refuse(c, "a history that keeps something in some rounds or paths only");
    if (tracked && !r->freed && jcv_reaches_written_leaf(c, v))
        jcv_refuse(c, "a leaf that requires grad is used after it was written");
    if (tracked && (r->freed ? jcv_own_comes_first(c, v) : jcv_history_by_tape(c, v)))
        jcv_refuse(c, "a result whose gradient is a function or hook of the program");
    if (tracked && !r->freed && jcv_history_rewritten(c, v))
        jcv_refuse(c, "what a gradient needs is written under another name");
    if (tracked && !r->freed)
        r->grad = tracked_result(c, f, r->slot);
    r->id = id_of(c, f, a->py);
    return r;
}

static void begin_making(jcv *c, jcv_finishing *f, void *what) {
    for (size_t i = 0; i < f->making.n; i++)
        if (f->making.data[i] == what)
            jcv_refuse(c, "an object that leads to itself leaves the graph");
    jcv_add(c, &f->making, what);
}

/* An instance made here: a new one with these attributes. */
static jpy_recipe *instance_recipe(jcv *c, jcv_finishing *f, jcv_av *a, jpy_recipe *r) {
    jcv_not_frozen(c, a, "the object");
    jcv_av *attrs = jcv_fresh_attrs(c, a->py);
    PyTypeObject *real = jcv_stands_for(Py_TYPE(a->py));
    if (real != Py_TYPE(a->py) || jpy_module_check(a->py))
        jcv_refuse(c, "a %s that was made inside leaves the graph", real->tp_name);
    jcv_av *of = jcv_standing_for(c, a->py);
    for (size_t i = 0; of && i < c->gaps.n; i++)
        if (c->gaps.data[i] == of->slot)
            jcv_refuse(c, "a %s that keys were taken out of leaves the graph", real->tp_name);
    if (of && attrs->n)
        jcv_refuse(c, "a %s with attributes of its own leaves the graph", real->tp_name);
    attrs = of ? jcv_written_pairs(c, of) : attrs;
    r->kind = of ? JPY_MAKE_DICT : JPY_MAKE_OBJECT;
    r->obj = jpy_guards_own(&f->e->guards, (PyObject *)Py_TYPE(a->py));
    begin_making(c, f, a->py);
    r->id = id_of(c, f, a->py);
    r->n = attrs->n;
    r->items = jcv_entry_alloc(c, f->e, attrs->n * sizeof(jpy_recipe *));
    for (unsigned i = 0; i < attrs->n; i++)
        r->items[i] = jcv_recipe(c, f, attrs->items[i]);
    (void)jn_vec_pop(&f->making);
    return r;
}

/* Whether reading it has made it, bound to an object that is another one in the next call. */
static bool is_bound(const PyObject *o) {
    if (PyCFunction_CheckExact(o)) {
        const PyObject *self = PyCFunction_GET_SELF(o);
        return self && !PyModule_Check(self) && !PyType_Check(self);
    }
    return PyMethod_Check(o) || Py_TYPE(o) == jpy.wrapper_type;
}

/* A tensor of a container that is gone after the run has no history then (remains.c). */
static void not_lost(jcv *c, jcv_av *a) {
    PyObject *samples = jcv_samples(c, a);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples); i++)
        for (const jcv_live *l = c->lives; l; l = l->next) {
            PyObject *o = PyList_GET_ITEM(samples, i);
            PyObject *all = !l->site || !l->tracked || !jpy_tensor_check(o) ? NULL
                            : PyDict_Check(l->stored) ? jcv_own(c, PyDict_Values(l->stored))
                                                      : l->stored;
            if (all && jcv_list_has(all, o))
                jcv_refuse(c, "a tensor that the graph stored leaves it as one of several objects");
        }
}

/* A tensor's shape or strides, which are an object of their own each time that they are asked for.
 */
static jpy_recipe *sizes_recipe(jcv *c, jcv_finishing *f, jcv_av *a, jpy_recipe *r) {
    r->kind = JPY_MAKE_TUPLE;
    r->obj =
        PyTuple_CheckExact(a->py) ? NULL : jpy_guards_own(&f->e->guards, (PyObject *)jpy.size_type);
    r->id = id_of(c, f, a->py);
    r->n = (unsigned)PyTuple_GET_SIZE(a->py);
    r->items = jcv_entry_alloc(c, f->e, r->n * sizeof *r->items);
    for (unsigned i = 0; i < r->n; i++)
        r->items[i] = jcv_recipe(c, f, jcv_py(c, PyTuple_GET_ITEM(a->py, i), NULL));
    return r;
}

/* A number that was read is the object that it was taken from. */
static jcv_val *number_object(const jcv *c, jcv_val *v) {
    const jcv_node *n = v->node;
    return n && n->op == JN_OP(host_unbox) && n->in[0]->ctx == c->main ? n->in[0] : v;
}

jpy_recipe *jcv_recipe(jcv *c, jcv_finishing *f, jcv_av *a) {
    jpy_recipe *r = jcv_entry_alloc(c, f->e, sizeof *r);
    jcv_av *seq = NULL;
    switch (a->kind) {
    case AV_PY:
        if (a->text)
            jcv_refuse(c, "a %s leaves the graph", a->text);
        if (jcv_is_fresh(c, a->py))
            return instance_recipe(c, f, a, r);
        if (!a->src && is_bound(a->py))
            jcv_refuse(c, "a method leaves the graph");
        if (a->sizes)
            return sizes_recipe(c, f, a, r);
        r->kind = a->src ? JPY_MAKE_SOURCE : JPY_MAKE_CONST;
        for (size_t i = 0; i < c->real.n; i++)
            if (c->real.data[i]->origin->py == a->py)
                a = c->real.data[i]->origin;
        if (r->kind == JPY_MAKE_SOURCE)
            r->slot = a->src->slot;
        else
            r->obj = jpy_guards_own(&f->e->guards, a->py);
        return r;
    case AV_TENSOR:
        return tensor_recipe(c, f, a, r);
    case AV_HOST:
        not_lost(c, a);
        r->kind = JPY_MAKE_RESULT;
        r->slot = jcv_add_result(c, a->val);
        return r;
    case AV_SCALAR:
        for (size_t i = 0; i < c->inputs.n; i++)
            if (c->main->params.data[i] == a->val && c->inputs.data[i]) {
                r->kind = JPY_MAKE_SOURCE; /* the number that came in, as the object that it is */
                r->slot = c->inputs.data[i]->slot;
                return r;
            }
        r->kind = JPY_MAKE_RESULT;
        r->slot = jcv_add_result(c, number_object(c, a->val));
        r->id = id_of(c, f, a->val); /* one object, wherever it goes */
        return r;
    case AV_TEXT:
        r->kind = JPY_MAKE_RESULT;
        r->slot = jcv_add_result(c, jcv_text_object(c, a));
        return r;
    case AV_TUPLE:
        if (a->py) { /* of the text: that one */
            r->kind = JPY_MAKE_CONST;
            r->obj = jpy_guards_own(&f->e->guards, a->py);
            return r;
        }
        if (a->val && a->val->ctx == c->main) { /* the graph has made it, to store it */
            if (jcv_tracked_inside(c, a))
                jcv_refuse(c, "a tuple with a history is stored in two places");
            r->kind = JPY_MAKE_RESULT;
            r->slot = jcv_add_result(c, a->val);
            return r;
        }
        r->kind = JPY_MAKE_TUPLE;
        r->obj = jpy_guards_own(&f->e->guards, a->named);
        r->id = a->n ? id_of(c, f, a) : 0;
        seq = a;
        break;
    case AV_LIST:
    case AV_DICT:
        if (a->origin && !a->origin->src)
            return jcv_recipe(c, f, a->origin);
        if (a->origin) {
            r->kind = JPY_MAKE_SOURCE;
            r->slot = a->origin->src->slot;
            return r;
        }
        for (size_t i = 0; i < c->gaps.n; i++)
            if (c->gaps.data[i] == a->slot) /* a new one would have neither gaps nor the room */
                jcv_refuse(c, "a dict that keys were taken out of leaves the graph");
        r->kind = a->kind == AV_LIST ? JPY_MAKE_LIST : JPY_MAKE_DICT;
        r->id = id_of(c, f, c->slot_init.data[a->slot]);
        seq = c->slots.data[a->slot];
        break;
    case AV_MAYBE:
        if (!a->self)
            jcv_refuse(c, "%s leaves the graph", jcv_describe(a));
        r->kind = JPY_MAKE_OPTION;
        r->slot = jcv_add_result(c, a->val);
        r->n = jcv_number_or(a) ? 2 : 1;
        r->items = jcv_entry_alloc(c, f->e, 2 * sizeof *r->items);
        r->items[0] = jcv_recipe(c, f, a->self);
        if (jcv_number_or(a))
            r->items[1] = jcv_recipe(c, f, jcv_number_or(a));
        return r;
    case AV_UNDEF:
        jcv_refuse(c, "a result: %s", a->text);
    default:
        jcv_leave_to_graph(c, a);
        jcv_refuse(c, "%s leaves the graph", jcv_describe(a));
    }
    begin_making(c, f, a->kind == AV_TUPLE ? a : c->slot_init.data[a->slot]);
    r->n = seq->n;
    r->items = jcv_entry_alloc(c, f->e, seq->n * sizeof(jpy_recipe *));
    for (unsigned i = 0; i < seq->n; i++)
        r->items[i] = jcv_recipe(c, f, seq->items[i]);
    (void)jn_vec_pop(&f->making);
    return r;
}
