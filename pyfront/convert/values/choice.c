/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choices: a function or module that an object of the graph selects (AV_CHOICE).  A call of it is a
 * chain of branches, one for each key that was seen.  Tensors that require grad, of which such an
 * object says which, are chosen in the same way.
 */
#include "pyfront/convert/values/values.h"

#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/values/native.h"

const char jcv_by_type[] = "by type";

enum { MAX_OPTIONS = 24 };

/* Whether a value of a dict is a function, a module or the like: it cannot be a value of the graph.
 */
static bool callable(PyObject *v) {
    return !jpy_tensor_check(v) && !PyList_Check(v) && !PyDict_Check(v) && PyCallable_Check(v);
}

/* Whether it is a record with a function in it. */
static bool holds_callable(PyObject *v) {
    bool any = false;
    for (Py_ssize_t i = 0; PyTuple_CheckExact(v) && i < PyTuple_GET_SIZE(v); i++)
        any = any || callable(PyTuple_GET_ITEM(v, i)) || holds_callable(PyTuple_GET_ITEM(v, i));
    return any;
}

bool jcv_is_functions(PyObject *v) {
    PyObject *k, *item;
    Py_ssize_t pos = 0;
    bool any = callable(v) || holds_callable(v);
    while (!any && PyDict_CheckExact(v) && PyDict_Next(v, &pos, &k, &item))
        any = callable(item) || holds_callable(item);
    return any;
}

/* Of records of functions, `{"add": (add, 2), ...}`, one is what each arm of the graph knows: with
 * the function go its numbers. */
static jcv_av *record(jcv *c, jcv_av *d, jcv_av *key) {
    PyObject *types = jcv_types_of(c, key);
    bool text =
        PyList_GET_SIZE(types) == 1 && PyList_GET_ITEM(types, 0) == (PyObject *)&PyUnicode_Type;
    return text && jcv_is_functions(d->py) ? jcv_getitem(c, d, jcv_which_key(c, d->py, key)) : NULL;
}

static void option(jcv *c, jcv_av *x, jcv_av *key, jcv_av *v) {
    if (x->n == 2 * MAX_OPTIONS)
        jcv_refuse(c, "a choice of too many functions");
    x->items[x->n++] = key;
    x->items[x->n++] = v;
}

jcv_av *jcv_choice(jcv *c, jcv_av *d, jcv_av *key) {
    bool any = false;
    PyObject *k, *v;
    Py_ssize_t pos = 0;
    if (d->kind == AV_PY && PyDict_CheckExact(d->py))
        while (PyDict_Next(d->py, &pos, &k, &v))
            any = any || callable(v);
    if (key->kind != AV_HOST || !jcv_host_plain(c, key))
        return NULL;
    if (!any)
        return d->kind == AV_PY && PyDict_CheckExact(d->py) ? record(c, d, key) : NULL;
    jcv_av *x = jcv_new(c, AV_CHOICE);
    x->items = jcv_alloc(c, (2 * MAX_OPTIONS + 1) * sizeof *x->items);
    x->self = key;
    PyObject *seen = jcv_samples(c, key), *done = jcv_own(c, PySet_New(NULL));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(seen); i++) {
        k = PyList_GET_ITEM(seen, i);
        int had = PySet_Contains(done, k);
        if (had < 0 || (!had && PySet_Add(done, k) < 0))
            jcv_refuse_py(c);
        jcv_av *name = jcv_py(c, k, NULL), *found = had ? NULL : jcv_dict_get(c, d, name);
        if (found)
            option(c, x, name, found);
    }
    if (!x->n)
        jcv_throw_now(c, THROW_DEAD);
    return x;
}

typedef struct calling {
    jcv_av *choice;
    unsigned at;
    const jcv_args *args;
    uint32_t slot;
} calling;

static void call_from(jcv *c, calling *x);

static jcv_out call_arm(jcv *c, void *user, int arm) {
    calling x = *(calling *)user;
    x.at += 2 * (unsigned)arm;
    if (arm) {
        call_from(c, &x);
    } else {
        const jcv_av *key = x.choice->items[x.at];
        if (x.choice->text == jcv_by_type && key->n == 1)
            jcv_known_type(c, x.choice->self->val, (PyTypeObject *)key->items[0]->py);
        jcv_av *v = jcv_call(c, x.choice->items[x.at + 1], x.args);
        jcv_put(c, x.slot, v);
    }
    return OUT_NORMAL;
}

/* Whether the object of the graph is the key, or of one of the types, at a place of a choice. */
static jcv_val *selects(jcv *c, jcv_av *choice, unsigned at) {
    jcv_av *key = choice->items[at];
    if (choice->text != jcv_by_type)
        return jcv_host_among(c, choice->self, &key, 1);
    jcv_val *is = NULL;
    for (unsigned i = 0; i < key->n; i++) {
        jcv_val *one = jcv_type_is(c, choice->self, (PyTypeObject *)key->items[i]->py);
        jcv_val *in[2] = {is, one};
        is = is ? &jcv_op(c, JN_OP(s_or), in, 2, NULL)->out[0] : one;
    }
    return is;
}

static void call_from(jcv *c, calling *x) {
    jcv_val *is = selects(c, x->choice, x->at);
    if (x->at + 2 < x->choice->n) {
        jcv_branch(c, is, call_arm, x);
        return;
    }
    jcv_assert(c, is,
               x->choice->text == jcv_by_type ? "an object has a type seen" : "a key was seen");
    call_arm(c, x, 0);
}

jcv_av *jcv_call_choice(jcv *c, jcv_av *f, const jcv_args *args) {
    calling x = {f, 0, args, jcv_slot(c, jcv_none(c))};
    call_from(c, &x);
    jcv_av *v = c->slots.data[x.slot];
    jcv_needed(c, v);
    if (v->kind == AV_UNDEF)
        jcv_refuse(c, "what a call returns: %s", v->text);
    return v;
}

/* ---- tensors by key -----------------------------------------------------------------------------
 * A tensor of the program that requires grad is an input of the graph, so what selects one of
 * several is a chain of branches, not a read.
 */

enum { MAX_PICKED = 64 };

static bool tracked(PyObject *v) {
    return jpy_tensor_check(v) && jpy_tensor_tracked((jpy_tensor *)v);
}

typedef struct picking {
    jcv_av *key, **keys, **values;
    unsigned n, at;
    uint32_t slot;
} picking;

static void pick_from(jcv *c, picking *x);

static jcv_out pick_arm(jcv *c, void *user, int arm) {
    picking x = *(picking *)user;
    x.at += (unsigned)arm;
    if (arm)
        pick_from(c, &x);
    else
        jcv_put(c, x.slot, x.values[x.at]);
    return OUT_NORMAL;
}

static void pick_from(jcv *c, picking *x) {
    jcv_val *is = x->key->kind == AV_HOST
                      ? jcv_plain_among(c, x->key, &x->keys[x->at], 1)
                      : jcv_number(c, jcv_compare(c, JPY_EQ, x->key, x->keys[x->at]));
    if (x->at + 1 < x->n) {
        jcv_branch(c, is, pick_arm, x);
        return;
    }
    jcv_assert(c, is, "a key is among those there are");
    pick_arm(c, x, 0);
}

static jcv_av *pick(jcv *c, picking *x) {
    if (!x->n)
        return NULL;
    x->slot = jcv_slot(c, jcv_none(c));
    pick_from(c, x);
    jcv_av *v = c->slots.data[x->slot];
    jcv_needed(c, v);
    if (v->kind == AV_UNDEF)
        jcv_refuse(c, "one of several values: %s", v->text);
    return v;
}

jcv_av *jcv_pick_key(jcv *c, jcv_av *d, jcv_av *key) {
    picking x = {.key = key};
    PyObject *k, *v;
    Py_ssize_t pos = 0, n = PyDict_GET_SIZE(d->py);
    bool any = false;
    while (PyDict_Next(d->py, &pos, &k, &v))
        any = any || tracked(v);
    if (!any || n > MAX_PICKED || !jcv_host_plain(c, key))
        return NULL;
    x.keys = jcv_alloc(c, 2 * (size_t)n * sizeof *x.keys);
    x.values = x.keys + n;
    for (pos = 0; PyDict_Next(d->py, &pos, &k, &v);) {
        x.keys[x.n] = jcv_py(c, k, NULL);
        if (!jpy_tensor_check(v) || !jcv_is_plain(x.keys[x.n]))
            return NULL;
        x.n++;
    }
    for (unsigned i = 0; i < x.n; i++)
        x.values[i] = jcv_dict_get(c, d, x.keys[i]);
    return pick(c, &x);
}

/* An instance or container of the heap, of which another one may be picked. */
static jcv_av *one_of_many(jcv *c, jcv_av *a) {
    bool many = a->kind == AV_PY && a->src && !jcv_is_const(a) && !callable(a->py);
    return many ? jcv_to_host(c, a) : a;
}

jcv_av *jcv_pick_at(jcv *c, jcv_av *const *items, unsigned n, jcv_av *place) {
    picking x = {.key = place, .n = n};
    if (!n || n > MAX_PICKED)
        return NULL;
    x.keys = jcv_alloc(c, 2 * n * sizeof *x.keys);
    x.values = x.keys + n;
    for (unsigned k = 0; k < n; k++) {
        x.keys[k] = jcv_take(c, PyLong_FromUnsignedLong(k));
        x.values[k] = one_of_many(c, items[k]);
    }
    return pick(c, &x);
}

jcv_av *jcv_pick_item(jcv *c, jcv_av *l, jcv_av *i) {
    jcv_av **items;
    unsigned n;
    bool any = false;
    if (Py_SIZE(l->py) > MAX_PICKED || i->val->type->kind != JANUS_KIND_INT)
        return NULL;
    for (Py_ssize_t k = 0; k < Py_SIZE(l->py); k++) {
        PyObject *v = PySequence_Fast_GET_ITEM(l->py, k);
        any = any || tracked(v);
        if (!jpy_tensor_check(v))
            return NULL;
    }
    if (!any || !jcv_native_items(c, l, &items, &n))
        return NULL;
    jcv_val *count = jcv_int_const(c, n);
    return jcv_pick_at(c, items, n, jcv_scalar(c, jcv_place_among(c, i, count)));
}
