/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the graph stores in live locations (live.c), remembered as samples, which tell what reads
 * may find.
 */
#include "pyfront/convert/heap/heap.h"

#include <string.h>

#include "exec/store/store.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/entry/entry.h"

enum {
    MAX_SAMPLES = 64,
    MAX_SAMPLE = 1 << 24 /* elements: in an image more than there ever are */
};

__attribute__((noreturn)) static void start_again(jcv *c, const char *why) {
    snprintf(c->reason, sizeof c->reason, "%s", why);
    jcv_throw_now(c, THROW_RESTART);
}

/* What the node of a sample says: a tensor that requires grad was stored, or one that may. */
static const jpy_node_class stored_class = {"Graph", NULL, NULL, NULL, NULL, false};
static const jpy_node_class mixed_class = {"Graph", NULL, NULL, NULL, NULL, false};

bool jcv_is_mixed_sample(const jpy_tensor *t) { return t->node && t->node->cls == &mixed_class; }

bool jcv_is_stored_sample(const jpy_tensor *t) {
    return jcv_is_mixed_sample(t) || (t->node && t->node->cls == &stored_class);
}

static PyObject *sample_tensor(jcv *c, const jn_type *t, const jpy_node_class *of) {
    janus_tensor *x;
    if (jcv_any_dim_varies(c, t) && jn_type_numel(t) > MAX_SAMPLE)
        jcv_refuse(c, "a large tensor whose dims vary is stored by the graph");
    if (jn_tensor_empty((janus_dtype)t->dtype, t->rank, t->dims, &x) != JANUS_OK)
        jcv_refuse(c, "out of memory");
    memset(jn_tensor_ready_data(x), 0, (size_t)x->numel * jn_dtype_size((janus_dtype)t->dtype));
    jpy_tensor *o = (jpy_tensor *)jcv_own(c, jpy_tensor_take(x));
    if (of && !(o->node = jpy_node_new(of, 0, 1, NULL, 0)))
        jcv_refuse_py(c);
    return (PyObject *)o;
}

/* Objects that stand for what an abstract value may be: a new list.  mixed: it is stored where what
 * requires grad is, too. */
static PyObject *samples_of(jcv *c, jcv_av *v, bool mixed) {
    if (v->kind == AV_HOST)
        return jcv_samples(c, v);
    PyObject *l = jcv_own(c, PyList_New(0)), *o = NULL;
    if (v->kind == AV_TENSOR) {
        const jn_type *t = jcv_tensor_val(c, v->py)->type;
        mixed = mixed && jn_dtype_is_float(t->dtype);
        o = sample_tensor(c, t,
                          jcv_leaf_tracked(c, v) && !(mixed && c->mixed_stores) ? &stored_class
                          : mixed                                               ? &mixed_class
                                                                                : NULL);
    } else if (v->kind == AV_SCALAR) {
        int kind = v->val->type->kind;
        o = jcv_own(c, kind == JANUS_KIND_INT     ? PyLong_FromLong(0)
                       : kind == JANUS_KIND_FLOAT ? PyFloat_FromDouble(0)
                                                  : PyBool_FromLong(0));
    } else if (v->kind == AV_TEXT) {
        o = jcv_own(c, PyUnicode_New(0, 0));
    } else if (v->kind == AV_PY) {
        o = v->py;
    } else if (v->kind == AV_TUPLE) {
        o = jcv_own(c, PyTuple_New(v->n));
        for (unsigned i = 0; i < v->n; i++) {
            PyObject *s = samples_of(c, v->items[i], mixed);
            if (!PyList_GET_SIZE(s))
                return l;
            PyTuple_SET_ITEM(o, i, Py_NewRef(PyList_GET_ITEM(s, 0)));
        }
    }
    if (!o || PyList_Append(l, o) < 0)
        jcv_refuse(c, "%s is stored by the graph", jcv_describe(v));
    return l;
}

/* Whether two samples say the same. */
static bool alike(PyObject *a, PyObject *b) {
    if (a == b)
        return true;
    if (Py_TYPE(a) != Py_TYPE(b))
        return false;
    if (PyLong_CheckExact(a) || PyFloat_CheckExact(a) || PyBool_Check(a) || PyUnicode_CheckExact(a))
        return true;
    if (jpy_tensor_check(a)) {
        jn_type x = jn_tensor_as_type(((jpy_tensor *)a)->t);
        jn_type y = jn_tensor_as_type(((jpy_tensor *)b)->t);
        return jcv_same_type(&x, &y) &&
               jcv_is_stored_sample((jpy_tensor *)a) == jcv_is_stored_sample((jpy_tensor *)b) &&
               jcv_is_mixed_sample((jpy_tensor *)a) == jcv_is_mixed_sample((jpy_tensor *)b);
    }
    if (!PyTuple_CheckExact(a) || PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); i++)
        if (!alike(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i)))
            return false;
    return true;
}

PyObject *jcv_live_samples(jcv *c, jcv_live *l) {
    l->read = true;
    if (l->tracked && c->f->exact) /* sums of gradients would be added in another order */
        jcv_refuse(c, "a tensor that requires grad is stored by the graph and read again");
    if (l->tracked && !c->wires) {
        c->wires = true;
        start_again(c, "what the graph stored requires grad and is read");
    }
    return PyDict_Check(l->stored) ? jcv_own(c, PyDict_Values(l->stored)) : l->stored;
}

static void add_sample(jcv *c, jcv_live *l, PyObject *o) {
    int bad;
    if (PyDict_Check(l->stored)) {
        PyObject *k = jcv_own(c, PyLong_FromSsize_t(PyDict_GET_SIZE(l->stored)));
        bad = PyDict_SetItem(l->stored, k, o);
    } else {
        bad = PyList_Append(l->stored, o);
    }
    if (bad)
        jcv_refuse_py(c);
}

/* A sample as one of what may have a history; NULL: nothing in it is without. */
static PyObject *as_mixed(jcv *c, PyObject *o) {
    if (jpy_tensor_check(o)) {
        jn_type t = jn_tensor_as_type(((jpy_tensor *)o)->t);
        bool plain = jn_dtype_is_float(t.dtype) && !((jpy_tensor *)o)->node;
        if (plain && ((jpy_tensor *)o)->requires_grad) {
            PyObject *one = jcv_own(c, PyList_New(0));
            if (PyList_Append(one, o) < 0)
                jcv_refuse_py(c);
            jcv_met(c, one);
        }
        return plain ? sample_tensor(c, &t, &mixed_class) : NULL;
    }
    PyObject *all = NULL;
    for (Py_ssize_t i = 0; PyTuple_CheckExact(o) && i < PyTuple_GET_SIZE(o); i++) {
        PyObject *x = as_mixed(c, PyTuple_GET_ITEM(o, i));
        if (x && !all)
            all = jcv_own(c, PySequence_List(o));
        if (x)
            PyList_SetItem(all, i, Py_NewRef(x));
    }
    return all ? jcv_own(c, PyList_AsTuple(all)) : NULL;
}

/* What was stored without a history is, from now on, what may have one. */
static bool mix(jcv *c, jcv_live *l) {
    bool any = false;
    for (Py_ssize_t i = 0; PyList_Check(l->stored) && i < PyList_GET_SIZE(l->stored); i++) {
        PyObject *x = as_mixed(c, PyList_GET_ITEM(l->stored, i));
        any = any || x;
        if (x)
            PyList_SetItem(l->stored, i, Py_NewRef(x));
    }
    PyObject *k, *v;
    Py_ssize_t pos = 0;
    while (PyDict_Check(l->stored) && PyDict_Next(l->stored, &pos, &k, &v)) {
        PyObject *x = as_mixed(c, v);
        any = any || x;
        if (x && PyDict_SetItem(l->stored, k, x) < 0)
            jcv_refuse_py(c);
    }
    return any;
}

PyObject *jcv_mixed_samples(jcv *c, PyObject *samples) {
    PyObject *all = jcv_own(c, PySequence_List(samples));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all); i++) {
        PyObject *x = as_mixed(c, PyList_GET_ITEM(all, i));
        if (x)
            PyList_SetItem(all, i, Py_NewRef(x));
    }
    return all;
}

bool jcv_mix_lives(jcv *c, PyObject *samples) {
    bool tracked = false, other = false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples); i++) {
        const jcv_live *l = jcv_live_object(c, PyList_GET_ITEM(samples, i));
        tracked = tracked || (l && l->tracked);
        other = other || (l && l->site && !l->tracked);
    }
    for (Py_ssize_t i = 0; tracked && other && i < PyList_GET_SIZE(samples); i++) {
        jcv_live *l = jcv_live_object(c, PyList_GET_ITEM(samples, i));
        if (!l || !l->site || l->tracked)
            continue;
        l->tracked = true;
        if (mix(c, l))
            start_again(c, "what the graph stores requires grad in another container");
    }
    return tracked;
}

/* grew: something else is new, too. */
static void learn(jcv *c, jcv_live *l, PyObject *more, bool grew) {
    PyObject *have = PyDict_Check(l->stored) ? jcv_own(c, PyDict_Values(l->stored)) : l->stored;
    Py_ssize_t n = PyList_GET_SIZE(have);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(more); i++) {
        PyObject *o = PyList_GET_ITEM(more, i);
        bool known = n >= MAX_SAMPLES;
        for (Py_ssize_t k = 0; k < n && !known; k++)
            known = alike(PyList_GET_ITEM(have, k), o);
        if (known)
            continue;
        add_sample(c, l, o);
        grew = true;
    }
    if (grew && l->read)
        start_again(c, "the graph stores something new");
}

void jcv_live_learn(jcv *c, jcv_live *l, jcv_av *v) {
    bool grew = jcv_tracked_inside(c, v) && !l->tracked;
    l->tracked = l->tracked || grew;
    if (grew && l->site && mix(c, l))
        start_again(c, "what the graph stores requires grad on some paths");
    learn(c, l, samples_of(c, v, l->tracked && l->site), grew);
}

void jcv_live_learn_items(jcv *c, jcv_live *l, jcv_av *o, jcv_av *from) {
    jcv_mix_lives(c, jcv_own(c, PySequence_Concat(jcv_samples(c, o), jcv_samples(c, from))));
    PyObject *items = jcv_item_samples(c, from, NULL);
    learn(c, l, l->tracked && l->site ? jcv_mixed_samples(c, items) : items, false);
}
