/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that the graph reads itself: the nodes of a tree inside a recursion, the elements of a
 * list of any length.
 *
 * Each has samples, real objects it stood for when the conversion ran, which say what types to
 * expect; the graph asserts them.  A sample is a hint: a wrong one costs a discarded run.  Without
 * samples the path has not been seen and leads nowhere (THROW_DEAD).
 */
#include "pyfront/convert/heap/heap.h"

#include <string.h>

#include "graph/autodiff/autodiff.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/run/run.h"

enum { MAX_SAMPLES = 512 };

jcv_av *jcv_host(jcv *c, jcv_val *v, PyObject *samples) {
    jcv_av *a = jcv_new(c, AV_HOST);
    a->val = v;
    a->samples = samples;
    return a;
}

static jcv_read *find_read(jcv *c, jcv_val *of, PyObject *key, int64_t index) {
    for (jcv_ctx *x = c->ctx; x && of->reads; x = x->parent)
        for (jcv_read *r = of->reads; r; r = r->next)
            if (r->index == index && jcv_ctx_now(&r->ctx) == x &&
                (r->key == key || (key && r->key && PyUnicode_Compare(r->key, key) == 0)))
                return r;
    return NULL;
}

jcv_av *jcv_to_host(jcv *c, jcv_av *a) {
    if (a->kind == AV_HOST)
        return a;
    const jcv_node *from = a->kind == AV_SCALAR ? a->val->node : NULL;
    if (from && from->op == JN_OP(host_unbox)) /* the object it was taken from */
        return jcv_host(c, from->in[0], jcv_own(c, PyList_New(0)));
    jcv_rec *r = a->kind == AV_TENSOR ? jcv_rec_of(c, ((jpy_tensor *)a->py)->t) : NULL;
    if (r && r->box)
        return r->box;
    bool constant = a->kind == AV_PY && jcv_is_const(a);
    if (a->kind == AV_SEQ && jcv_made_at(a))
        jcv_make_live(c, a);
    if (a->kind != AV_PY || (!a->src && !constant))
        jcv_refuse(c, "%s as an object of the graph", jcv_describe(a));
    jcv_val *v = a->src ? jcv_object_input(c, a->src) : jcv_object_const(c, a->py);
    PyObject *samples = jcv_samples(c, a);
    return find_read(c, v, NULL, -3) ? jcv_host(c, v, samples) : jcv_root(c, c->main, v, samples);
}

/* ---- types --------------------------------------------------------------------------------------
 */

static jcv_val *token(jcv *c, PyTypeObject *t) {
    if (!jcv_list_has(c->type_list, (PyObject *)t) &&
        PyList_Append(c->type_list, (PyObject *)t) < 0)
        jcv_refuse_py(c);
    jcv_guard_type(c, t);
    return jcv_int_const(c, (int64_t)(intptr_t)t);
}

static void keep_read_in(jcv *c, jcv_ctx *ctx, jcv_val *of, PyObject *key, int64_t index,
                         jcv_av *av) {
    jcv_read *r = jcv_alloc(c, sizeof *r);
    *r = (jcv_read){ctx, key, index, av, c->live_epoch, of->reads, NULL};
    of->reads = r;
    if (av->kind == AV_HOST) {
        r->next_given = av->val->given;
        av->val->given = r;
    }
}

static void keep_read(jcv *c, jcv_val *of, PyObject *key, int64_t index, jcv_av *av) {
    keep_read_in(c, c->ctx, of, key, index, av);
}

jcv_av *jcv_root(jcv *c, jcv_ctx *ctx, jcv_val *v, PyObject *samples) {
    jcv_av *a = jcv_host(c, v, samples);
    keep_read_in(c, ctx, v, NULL, -3, a);
    return a;
}

static jcv_val *type_value(jcv *c, jcv_av *o) {
    jcv_read *r = find_read(c, o->val, NULL, -1);
    if (r)
        return r->av->val;
    jcv_val *v = &jcv_op(c, JN_OP(host_type), &o->val, 1, NULL)->out[0];
    keep_read(c, o->val, NULL, -1, jcv_scalar(c, v));
    return v;
}

jcv_val *jcv_type_is(jcv *c, jcv_av *o, PyTypeObject *t) {
    jcv_val *in[2] = {type_value(c, o), token(c, t)};
    return &jcv_op(c, JN_OP(s_eq), in, 2, NULL)->out[0];
}

PyObject *jcv_types_of(jcv *c, jcv_av *o) {
    PyObject *s = jcv_samples(c, o), *set = jcv_own(c, PyList_New(0));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(s); i++) {
        PyObject *t = (PyObject *)Py_TYPE(PyList_GET_ITEM(s, i));
        if (!jcv_list_has(set, t) && PyList_Append(set, t) < 0)
            jcv_refuse_py(c);
    }
    if (!PyList_GET_SIZE(set))
        jcv_throw_now(c, THROW_DEAD);
    return set;
}

void jcv_add_samples(jcv *c, jcv_av *o, PyObject *more) {
    PyObject *all = jcv_own(c, PySequence_Concat(jcv_samples(c, o), more));
    o->val->root = true;
    jcv_root(c, c->ctx, o->val, all);
}

bool jcv_type_known(jcv *c, jcv_av *o) { return find_read(c, o->val, NULL, -2) != NULL; }

PyTypeObject *jcv_host_type(jcv *c, jcv_av *o) {
    jcv_read *r = find_read(c, o->val, NULL, -2);
    if (r)
        return (PyTypeObject *)r->av->py;
    PyObject *set = jcv_types_of(c, o);
    if (PyList_GET_SIZE(set) > 1)
        jcv_ask_type(c, o);
    PyTypeObject *t = (PyTypeObject *)PyList_GET_ITEM(set, 0);
    jcv_assert(c, jcv_type_is(c, o, t), JPY_TYPE_SEEN);
    keep_read(c, o->val, NULL, -2, jcv_py(c, (PyObject *)t, NULL));
    return t;
}

static jcv_val *either(jcv *c, jcv_val *a, jcv_val *b) {
    jcv_val *in[2] = {a, b};
    return a ? &jcv_op(c, JN_OP(s_or), in, 2, NULL)->out[0] : b;
}

jcv_val *jcv_host_is_one(jcv *c, jcv_av *o, jcv_type_fits fits, const void *user) {
    PyObject *set = jcv_types_of(c, o);
    jcv_val *cond = NULL, *known = NULL;
    bool all = true;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(set); i++) {
        PyTypeObject *s = (PyTypeObject *)PyList_GET_ITEM(set, i);
        jcv_val *eq = jcv_type_is(c, o, s);
        bool is = fits(c, s, user);
        known = either(c, known, eq);
        all = all && is;
        if (is)
            cond = either(c, cond, eq);
    }
    jcv_assert(c, known, "an object has a type seen");
    return cond && !all ? cond : jcv_scalar_const(c, JANUS_KIND_BOOL, (janus_scalar){.i = all});
}

jcv_val *jcv_host_is(jcv *c, jcv_av *o, PyTypeObject *t) {
    jcv_types_of(c, o); /* where nothing was seen, nothing is asked */
    return jcv_type_is(c, o, t);
}

void jcv_host_one_of_seen(jcv *c, jcv_av *o) {
    if (find_read(c, o->val, NULL, -2))
        return;
    PyObject *set = jcv_types_of(c, o);
    if (PyList_GET_SIZE(set) == 1) {
        jcv_host_type(c, o);
        return;
    }
    jcv_val *known = NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(set); i++)
        known = either(c, known, jcv_type_is(c, o, (PyTypeObject *)PyList_GET_ITEM(set, i)));
    jcv_assert(c, known, "an object has a type seen");
}

jcv_val *jcv_host_truth(jcv *c, jcv_av *o) {
    PyObject *set = jcv_types_of(c, o);
    bool plain = true;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(set); i++) {
        PyTypeObject *t = (PyTypeObject *)PyList_GET_ITEM(set, i);
        bool sized = (t->tp_as_sequence && t->tp_as_sequence->sq_length) ||
                     (t->tp_as_mapping && t->tp_as_mapping->mp_length) ||
                     (t->tp_as_number && t->tp_as_number->nb_bool);
        plain = plain && (!sized || t == Py_TYPE(Py_None));
    }
    if (!plain) {
        jcv_val *n = jcv_host_len(c, o);
        return &jcv_op(c, JN_OP(s_bool), &n, 1, NULL)->out[0];
    }
    jcv_val *none = jcv_host_is(c, o, Py_TYPE(Py_None));
    jcv_val *known = none;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(set); i++)
        known = either(c, known, jcv_type_is(c, o, (PyTypeObject *)PyList_GET_ITEM(set, i)));
    jcv_assert(c, known, "an object has a type seen");
    return &jcv_op(c, JN_OP(s_not), &none, 1, NULL)->out[0];
}

/* ---- reads --------------------------------------------------------------------------------------
 */

static jcv_av *unboxed(jcv *c, jcv_val *v, janus_kind kind, const janus_tensor *like,
                       PyObject *samples) {
    janus_host_unbox_attrs attrs = {sizeof attrs, kind, -1, -1, {NULL, 0}};
    int64_t dims[JN_MAX_RANK];
    for (int i = 0; like && i < like->rank; i++) {
        dims[i] = jcv_dim_varies(c, like->dims[i]) ? JN_DIM_UNKNOWN : like->dims[i];
        c->any_dims = c->any_dims || dims[i] < 0;
    }
    if (like) {
        attrs.dtype = like->dtype;
        attrs.rank = like->rank;
        attrs.dims = (janus_ints){dims, (size_t)like->rank};
    }
    jcv_val *u = &jcv_op(c, JN_OP(host_unbox), &v, 1, &attrs)->out[0];
    c->any_dims = false;
    if (like)
        u->type = jcv_type(c, jn_tensor_as_type(like));
    u->depends = false;
    if (!like)
        return jcv_scalar(c, u);
    jcv_av *a = jcv_proxy(c, u, false);
    jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)a->py)->t);
    r->shared = true;
    r->box = jcv_host(c, v, samples);
    return a;
}

/* A tensor that requires grad and has a number, since this run has stored it or the graph is made
 * for it (met.c): graph/autodiff/wire.c joins the two. */
static jcv_av *read_back(jcv *c, jcv_val *v, const janus_tensor *like, PyObject *samples,
                         bool leaf) {
    if (c->put_written)
        jcv_refuse(c, "a tensor of the caller was stored by the graph and written since");
    bool mixed = false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples); i++)
        mixed = mixed || jcv_is_mixed_sample((jpy_tensor *)PyList_GET_ITEM(samples, i));
    jcv_val *in[2] = {jcv_tensor_val(c, unboxed(c, v, JANUS_KIND_TENSOR, like, samples)->py), NULL};
    janus_wire_of_attrs attrs = {sizeof attrs, mixed ? JN_WIRE_NONE : 0};
    in[1] = &jcv_op(c, JN_OP(wire_of), in, 1, &attrs)->out[0];
    jcv_val *y = &jcv_op(c, JN_OP(wire_read), in, 2, NULL)->out[0];
    y->depends = true;
    y->node->mixed = mixed;
    jcv_av *a = jcv_proxy(c, y, !leaf);
    jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)a->py)->t);
    r->shared = true;
    if (leaf) {
        r->box = jcv_host(c, v, samples);
        ((jpy_tensor *)a->py)->requires_grad = true;
    }
    return a;
}

static bool is_leaf(PyObject *o) {
    return ((jpy_tensor *)o)->requires_grad && !((jpy_tensor *)o)->node;
}

static bool holds_stored(PyObject *o) {
    for (Py_ssize_t i = 0; PyTuple_CheckExact(o) && i < PyTuple_GET_SIZE(o); i++)
        if (holds_stored(PyTuple_GET_ITEM(o, i)))
            return true;
    return jpy_tensor_check(o) && jcv_is_stored_sample((jpy_tensor *)o);
}

/* A tuple that this run has stored, tensors that require grad in it: known by its items, as it was
 * where it was stored.  NULL: something else. */
static jcv_av *tuple_back(jcv *c, jcv_val *v, PyObject *samples) {
    PyObject *first = PyList_GET_ITEM(samples, 0);
    Py_ssize_t n = PyTuple_CheckExact(first) ? PyTuple_GET_SIZE(first) : 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples); i++) {
        PyObject *s = PyList_GET_ITEM(samples, i);
        if (!PyTuple_CheckExact(s) || PyTuple_GET_SIZE(s) != n || !holds_stored(s))
            return NULL;
    }
    jcv_av *o = jcv_root(c, c->ctx, v, samples), **items = jcv_alloc(c, (size_t)n * sizeof *items);
    jcv_val *in[2] = {jcv_host_len(c, o), jcv_int_const(c, n)};
    jcv_assert(c, &jcv_op(c, JN_OP(s_eq), in, 2, NULL)->out[0], "a tuple has the length seen");
    for (Py_ssize_t i = 0; i < n; i++)
        items[i] = jcv_host_item(c, o, jcv_int_const(c, (int64_t)i));
    jcv_av *t = jcv_tuple(c, items, (unsigned)n);
    t->val = v;
    return t;
}

/* Tensors of which some require grad, or were stored: each may have a history. */
static bool some_track(PyObject *samples) {
    const jpy_tensor *first = (jpy_tensor *)PyList_GET_ITEM(samples, 0);
    bool some = false;
    for (Py_ssize_t i = 1; i < PyList_GET_SIZE(samples) && !some; i++) {
        const jpy_tensor *o = (jpy_tensor *)PyList_GET_ITEM(samples, i);
        some = jcv_is_stored_sample(o) != jcv_is_stored_sample(first) ||
               is_leaf((PyObject *)o) != is_leaf((PyObject *)first);
    }
    return some;
}

static jcv_av *of_samples(jcv *c, jcv_val *v, PyObject *samples) {
    Py_ssize_t n = PyList_GET_SIZE(samples);
    if (!n)
        jcv_throw_now(c, THROW_DEAD);
    PyObject *first = PyList_GET_ITEM(samples, 0);
    bool same = true;
    for (Py_ssize_t i = 1; i < n; i++)
        same = same && Py_TYPE(PyList_GET_ITEM(samples, i)) == Py_TYPE(first);
    if (!same)
        return jcv_host(c, v, samples);
    if (PyLong_CheckExact(first))
        return unboxed(c, v, JANUS_KIND_INT, NULL, samples);
    if (PyFloat_CheckExact(first))
        return unboxed(c, v, JANUS_KIND_FLOAT, NULL, samples);
    if (PyBool_Check(first))
        return unboxed(c, v, JANUS_KIND_BOOL, NULL, samples);
    if (jpy_tensor_check(first)) {
        if (some_track(samples)) {
            samples = jcv_mixed_samples(c, samples);
            first = PyList_GET_ITEM(samples, 0);
        }
        janus_tensor *t = ((jpy_tensor *)first)->t;
        bool stored = jcv_is_stored_sample((jpy_tensor *)first), leaf = is_leaf(first);
        for (Py_ssize_t i = 0; i < n; i++) {
            jpy_tensor *o = (jpy_tensor *)PyList_GET_ITEM(samples, i);
            jn_type a = jn_tensor_as_type(t), b = jn_tensor_as_type(o->t);
            if (jcv_is_stored_sample(o) != stored || is_leaf((PyObject *)o) != leaf)
                jcv_refuse(c, "some tensors that are read while the graph runs require grad");
            if (jpy_tensor_tracked(o) && !stored && !leaf)
                jcv_refuse(c, "a tensor with a history is read while the graph runs");
            if (!jcv_same_type(&a, &b))
                jcv_refuse(c, "tensors of several types or dims are read while the graph runs");
        }
        if (leaf)
            jcv_met(c, samples);
        return stored || leaf ? read_back(c, v, t, samples, leaf)
                              : unboxed(c, v, JANUS_KIND_TENSOR, t, samples);
    }
    jcv_av *t = tuple_back(c, v, samples);
    return t ? t : jcv_host(c, v, samples);
}

jcv_av *jcv_host_read(jcv *c, jcv_val *v, PyObject *samples) { return of_samples(c, v, samples); }

jcv_av *jcv_settled(jcv *c, jcv_av *a) {
    if (a->kind == AV_MAYBE)
        return jcv_found(c, a);
    if (a->kind != AV_HOST)
        return a;
    jcv_read *r = find_read(c, a->val, NULL, -4);
    if (r)
        return r->av;
    PyObject *samples = jcv_samples(c, a);
    if (!PyList_GET_SIZE(samples))
        return a;
    jcv_av *plain = of_samples(c, a->val, samples);
    if (plain->kind == AV_HOST)
        return a;
    keep_read(c, a->val, NULL, -4, plain);
    return plain;
}

jcv_av *jcv_read_as_number(jcv *c, jcv_av *o, jcv_av *v) {
    jcv_read *r = v ? NULL : find_read(c, o->val, NULL, -7);
    if (v)
        keep_read(c, o->val, NULL, -7, v);
    return r ? r->av : v;
}

void jcv_attr_is(jcv *c, jcv_val *o, PyObject *name, jcv_av *v) { keep_read(c, o, name, -5, v); }

int64_t jcv_key_of(jcv *c, PyObject *name) {
    Py_ssize_t n = PyList_GET_SIZE(c->attr_names);
    for (Py_ssize_t i = 0; i < n; i++)
        if (PyUnicode_Compare(PyList_GET_ITEM(c->attr_names, i), name) == 0)
            return i;
    if (PyList_Append(c->attr_names, name) < 0)
        jcv_refuse_py(c);
    return n;
}

void jcv_known_type(jcv *c, jcv_val *v, PyTypeObject *t) {
    keep_read(c, v, NULL, -2, jcv_py(c, (PyObject *)t, NULL));
}

jcv_av *jcv_host_got(jcv *c, jcv_val *v, PyObject *samples) {
    v->root = true;
    jcv_av *a = of_samples(c, v, samples);
    return a->kind == AV_HOST ? jcv_root(c, c->ctx, v, samples) : a;
}

jcv_av *jcv_looked_up(jcv *c, jcv_val *table, jcv_av *key, PyObject *values) {
    PyObject *of = jcv_own(c, PyUnicode_FromFormat("%p", (void *)table));
    jcv_read *r = find_read(c, key->val, of, -8);
    if (r)
        return r->av;
    jcv_val *in[2] = {table, key->val};
    jcv_av *a = jcv_host_got(c, &jcv_op(c, JN_OP(host_key), in, 2, NULL)->out[0], values);
    keep_read(c, key->val, of, -8, a);
    return a;
}

/* Samples of the heap and of what the graph stores; of tensors only the latter, where there are
 * any: those of the heap are of earlier calls. */
PyObject *jcv_with_stored(jcv *c, PyObject *heap, jcv_live *l) {
    PyObject *stored = jcv_live_samples(c, l), *all = jcv_own(c, PySequence_List(stored));
    bool tensors = false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(stored); i++)
        tensors = tensors || jpy_tensor_check(PyList_GET_ITEM(stored, i));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(heap); i++) {
        PyObject *o = PyList_GET_ITEM(heap, i);
        if (!(tensors && jpy_tensor_check(o)) && PyList_Append(all, o) < 0)
            jcv_refuse_py(c);
    }
    return all;
}

static jcv_av *read_attr(jcv *c, jcv_av *o, PyObject *name, jcv_live *live) {
    PyObject *samples = jcv_samples(c, o), *got = jcv_own(c, PyList_New(0));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples); i++) {
        PyObject *v = jpy_plain_attr(PyList_GET_ITEM(samples, i), name);
        if (v && PyList_Append(got, v) < 0)
            jcv_refuse_py(c);
        Py_XDECREF(v);
    }
    janus_host_attr_attrs attrs = {sizeof attrs, jcv_key_of(c, name)};
    jcv_val *v = &jcv_op(c, JN_OP(host_attr), &o->val, 1, &attrs)->out[0];
    if (!live) {
        jcv_av *a = of_samples(c, v, got);
        keep_read(c, o->val, name, 0, a);
        return a;
    }
    jcv_av *a = jcv_host_got(c, v, jcv_with_stored(c, got, live));
    keep_read(c, o->val, name, -5, a);
    return a;
}

jcv_av *jcv_own_attr_of(jcv *c, jcv_av *o, PyObject *name, jcv_live *live) {
    jcv_read *r = find_read(c, o->val, name, live ? -5 : 0);
    if (r && (!live || r->epoch == c->live_epoch))
        return jcv_settled(c, r->av);
    return read_attr(c, o, name, live);
}

void jcv_of_the_type(jcv *c, PyTypeObject *t, PyObject *name, PyObject *got) {
    if (jcv_live_attr(c, t, name))
        jcv_refuse(c, "%s, which %s has, is set on objects by the graph", PyUnicode_AsUTF8(name),
                   t->tp_name);
    Py_ssize_t n = t->tp_dictoffset ? PyList_GET_SIZE(c->methods) : -1;
    for (Py_ssize_t i = 0; i < n; i += 3)
        if (PyList_GET_ITEM(c->methods, i) == (PyObject *)t &&
            PyUnicode_Compare(PyList_GET_ITEM(c->methods, i + 1), name) == 0)
            return;
    if (n >= 0 && (PyList_Append(c->methods, (PyObject *)t) < 0 ||
                   PyList_Append(c->methods, name) < 0 || PyList_Append(c->methods, got) < 0))
        jcv_refuse_py(c);
}

bool jcv_like_tuple(jcv *c, PyTypeObject *t) {
    static const char *const names[] = {"__getitem__", "__len__", "__iter__"};
    bool like = PyType_IsSubtype(t, &PyTuple_Type);
    for (int i = 0; like && t != &PyTuple_Type && i < 3; i++) {
        PyObject *name = jcv_own(c, PyUnicode_InternFromString(names[i]));
        like = jcv_lookup(c, t, name) == _PyType_Lookup(&PyTuple_Type, name);
    }
    return like;
}

/* Whether it is a list in some calls and a tuple in others, whose items are read alike. */
static bool list_or_tuple(jcv *c, jcv_av *o) {
    if (jcv_type_known(c, o))
        return false;
    PyObject *types = jcv_types_of(c, o);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(types); i++) {
        PyObject *t = PyList_GET_ITEM(types, i);
        if (t != (PyObject *)&PyList_Type && t != (PyObject *)&PyTuple_Type)
            return false;
    }
    if (PyList_GET_SIZE(types) < 2)
        return false;
    jcv_host_one_of_seen(c, o);
    return true;
}

bool jcv_host_has_pairs(jcv *c, jcv_av *o) { return jpy_type_has_pairs_alone(jcv_host_type(c, o)); }

static void check_sequence(jcv *c, jcv_av *o) {
    if (list_or_tuple(c, o))
        return;
    PyTypeObject *t = jcv_host_type(c, o);
    if (t != &PyList_Type && t != &PyUnicode_Type && !jpy_is_deque_type(t) && !jcv_like_tuple(c, t))
        jcv_refuse(c, "items of %s read while the graph runs", t->tp_name);
}

/* What is in a list, tuple, dict or string, MAX_SAMPLES at most: a new list.  Of something else,
 * which the graph does not come to with such a read, nothing. */
static PyObject *items_of_sample(jcv *c, PyObject *s, const jcv_val *index) {
    PyObject *got = jcv_own(c, PyList_New(0));
    if (PyDict_Check(s))
        s = jcv_own(c, PyDict_Values(s));
    if (PyUnicode_CheckExact(s) || jpy_is_deque(s))
        s = jcv_own(c, PySequence_List(s));
    if (!PyList_Check(s) && !PyTuple_Check(s))
        return got;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(s),
               want = index ? (Py_ssize_t)index->node->scalar.i : 0;
    if (want < 0)
        want += n;
    for (Py_ssize_t k = 0; k < n && PyList_GET_SIZE(got) < MAX_SAMPLES; k++)
        if ((!index || want == k) && PyList_Append(got, PySequence_Fast_GET_ITEM(s, k)) < 0)
            jcv_refuse_py(c);
    return got;
}

PyObject *jcv_item_samples(jcv *c, jcv_av *o, const jcv_val *index) {
    PyObject *samples = jcv_samples(c, o), *got = jcv_own(c, PyList_New(0));
    bool known = index && index->node && index->node->kind == JCV_SCALAR_CONST;
    const jcv_live *last = NULL; /* what it stores is among them */
    bool mixed = jcv_mix_lives(c, samples);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples); i++) {
        PyObject *s = PyList_GET_ITEM(samples, i);
        jcv_live *live = jcv_live_object(c, s);
        bool made = live && !live->object; /* by the graph: it holds what is stored in it */
        if ((made && live == last) || (!live && PyList_GET_SIZE(got) >= MAX_SAMPLES))
            continue;
        PyObject *own =
            made ? jcv_own(c, PyList_New(0)) : items_of_sample(c, s, known && !live ? index : NULL);
        if (live)
            own = jcv_with_stored(c, own, live);
        else if (mixed)
            own = jcv_mixed_samples(c, own);
        got = PyList_GET_SIZE(got) ? jcv_own(c, PySequence_Concat(got, own)) : own;
        last = made ? live : last;
    }
    return got;
}

/* Whether the graph writes to some list that it may be. */
static bool is_written(jcv *c, jcv_av *o) {
    PyObject *s = jcv_samples(c, o);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(s); i++)
        if (jcv_live_object(c, PyList_GET_ITEM(s, i)))
            return true;
    return false;
}

jcv_av *jcv_host_item(jcv *c, jcv_av *o, jcv_val *index) {
    check_sequence(c, o);
    c->host_items = true;
    bool known = index->node && index->node->kind == JCV_SCALAR_CONST;
    int64_t at = known ? index->node->scalar.i : -1;
    jcv_read *r = at >= 0 ? find_read(c, o->val, NULL, at) : NULL;
    if (r && r->epoch == c->live_epoch)
        return jcv_settled(c, r->av);
    PyObject *got = jcv_item_samples(c, o, index);
    if (known && at < 0) {
        jcv_val *in[2] = {jcv_host_len(c, o), index};
        index = &jcv_op(c, JN_OP(s_add), in, 2, NULL)->out[0];
    }
    jcv_val *in[2] = {o->val, index};
    jcv_val *v = &jcv_op(c, JN_OP(host_item), in, 2, NULL)->out[0];
    v->root = is_written(c, o); /* its samples at this place say little */
    v->node->asked = known; /* who asks for one that the graph knows sees to it that it is there */
    jcv_av *a = of_samples(c, v, got);
    a = a->kind == AV_HOST ? jcv_root(c, c->ctx, v, got) : a;
    if (at >= 0)
        keep_read(c, o->val, NULL, at, a);
    return a;
}

jcv_av *jcv_box_item(jcv *c, jcv_av *box) {
    jcv_read *r = find_read(c, box->val, NULL, -6);
    if (r && r->epoch == c->live_epoch)
        return jcv_settled(c, r->av);
    jcv_av *a = jcv_host_item(c, box, jcv_int_const(c, 0));
    keep_read(c, box->val, NULL, -6, a);
    return a;
}

void jcv_box_set(jcv *c, jcv_av *box, jcv_av *v) {
    jcv_live_setitem(c, box, jcv_take(c, PyLong_FromLong(0)), v);
    keep_read(c, box->val, NULL, -6, v);
}

jcv_val *jcv_host_len(jcv *c, jcv_av *o) {
    bool either = list_or_tuple(c, o);
    PyTypeObject *t = either ? &PyTuple_Type : jcv_host_type(c, o);
    bool dict = !either && jcv_host_has_pairs(c, o);
    if (t != &PyList_Type && !dict && t != &PyUnicode_Type && !jpy_is_deque_type(t) &&
        !jcv_like_tuple(c, t))
        jcv_refuse(c, "the length of %s read while the graph runs", t->tp_name);
    if (dict)
        c->host_keys = true;
    else
        c->host_items = true;
    return &jcv_op(c, JN_OP(host_len), &o->val, 1, NULL)->out[0];
}
