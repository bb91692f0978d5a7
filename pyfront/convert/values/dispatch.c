/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch by type: attributes of an object of the graph that may be of several types.
 *
 * The types are those that its samples have; the graph asserts that it is of one of them.  What
 * each type looks up under the name decides: where all find what the object itself has, it is one
 * read; where all find functions, the methods are a choice (AV_CHOICE), whose call is a chain of
 * branches, one for each function; else each type reads in an arm of its own.  Tensors that require
 * grad, of which such an object says which, are chosen in the same way.
 */
#include "pyfront/convert/convert.h"

#include "ops/op_ids.h"

enum { MAX_TYPES = 32 };

const char jcv_by_type[] = "by type";

typedef enum found { F_NOTHING, F_OWN, F_FUNCTION, F_MADE } found;

/* What a type of the list finds; *out: the function. */
static found find(jcv *c, PyTypeObject *t, PyObject *name, PyObject **out) {
    PyObject *d = jcv_lookup_kind(c, t, name);
    jpy_attr_how how;
    Py_ssize_t offset;
    *out = d;
    if (!d && !t->tp_dictoffset)
        return F_NOTHING; /* None, a number: it raises */
    if (!jcv_generic_attrs(t) || jcv_live_attr(c, t, name))
        return F_MADE;
    if (d && PyFunction_Check(d))
        return F_FUNCTION;
    return jpy_attr_way(d, &how, &offset) ? F_OWN : F_MADE;
}

/* The methods of the types, those with the same function together. */
static jcv_av *methods(jcv *c, jcv_av *o, PyTypeObject **types, PyObject **functions, unsigned n) {
    jcv_av *x = jcv_new(c, AV_CHOICE);
    x->text = jcv_by_type;
    x->self = o;
    x->items = jcv_alloc(c, 2 * n * sizeof *x->items);
    for (unsigned i = 0; i < n; i++) {
        unsigned k = 0, m = 0;
        while (k < i && functions[k] != functions[i])
            k++;
        if (k < i)
            continue;
        jcv_av **same = jcv_alloc(c, n * sizeof *same), *f = jcv_new(c, AV_METHOD);
        for (; k < n; k++)
            if (functions[k] == functions[i])
                same[m++] = jcv_py(c, (PyObject *)types[k], NULL);
        f->py = functions[i];
        f->self = o;
        x->items[x->n++] = jcv_tuple(c, same, m);
        x->items[x->n++] = f;
    }
    return x;
}

typedef struct reading {
    jcv_av *o;
    PyObject *name;
    PyTypeObject **types;
    unsigned n, at;
    uint32_t slot;
} reading;

static void read_from(jcv *c, reading *x);

static jcv_out read_arm(jcv *c, void *user, int arm) {
    reading x = *(reading *)user;
    x.at += (unsigned)arm;
    if (arm) {
        read_from(c, &x);
        return OUT_NORMAL;
    }
    jcv_known_type(c, x.o->val, x.types[x.at]);
    jcv_av *v = jcv_getattr(c, x.o, x.name);
    jcv_put(c, x.slot, v);
    return OUT_NORMAL;
}

static void read_from(jcv *c, reading *x) {
    jcv_val *is = jcv_type_is(c, x->o, x->types[x->at]);
    if (x->at + 1 < x->n) {
        jcv_branch(c, is, read_arm, x);
        return;
    }
    jcv_assert(c, is, "an object has a type seen");
    read_arm(c, x, 0);
}

void jcv_widen_types(jcv *c, jcv_av *o, PyObject *name) {
    PyObject *types = jcv_types_of(c, o), *d;
    if (PyList_GET_SIZE(types) == 1) { /* what one type alone has is seldom meant for others */
        d = _PyType_Lookup((PyTypeObject *)PyList_GET_ITEM(types, 0), name);
        if (!d || !PyFunction_Check(d))
            return;
    }
    PyObject *more = jcv_may_meet(c, name, types);
    if (more)
        jcv_add_samples(c, o, more);
}

jcv_av *jcv_attr_by_type(jcv *c, jcv_av *o, PyObject *name) {
    PyObject *all = jcv_types_of(c, o);
    PyTypeObject *types[MAX_TYPES];
    PyObject *functions[MAX_TYPES];
    unsigned n = 0, own = 0, function = 0;
    if (PyList_GET_SIZE(all) > MAX_TYPES)
        jcv_refuse(c, "objects of very many types");
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all); i++) {
        types[n] = (PyTypeObject *)PyList_GET_ITEM(all, i);
        found f = find(c, types[n], name, &functions[n]);
        own += f == F_OWN;
        function += f == F_FUNCTION;
        n += f != F_NOTHING;
    }
    if (!n)
        jcv_refuse(c, "%s has no attribute %s", jcv_describe(o), PyUnicode_AsUTF8(name));
    if (n > 1 && (Py_ssize_t)n == PyList_GET_SIZE(all))
        jcv_met_together(c, name, jcv_samples(c, o));
    for (unsigned i = 0; i < n && function == n; i++)
        jcv_of_the_type(c, types[i], name, functions[i]);
    if (function == n)
        return methods(c, o, types, functions, n);
    if (own == n) {
        jcv_host_one_of_seen(c, o);
        return jcv_own_attr_of(c, o, name);
    }
    reading x = {o, name, jcv_alloc(c, n * sizeof *x.types), n, 0, jcv_slot(c, jcv_none(c))};
    for (unsigned i = 0; i < n; i++)
        x.types[i] = types[i];
    read_from(c, &x);
    jcv_av *v = c->slots.data[x.slot];
    if (v->kind == AV_UNDEF)
        jcv_ask_type(c, o);
    return v;
}

/* ---- tensors by key -----------------------------------------------------------------------------
 * A tensor of the program that requires grad is an input of the graph, so what selects one of
 * several is a chain of branches, not a read.
 */

enum { MAX_PICKED = 64 };

typedef struct picking {
    jcv_av *key, **keys, **values;
    unsigned n, at;
    uint32_t slot;
} picking;

static bool tracked(PyObject *v) {
    return jpy_tensor_check(v) && jpy_tensor_tracked((jpy_tensor *)v);
}

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
    if (v->kind == AV_UNDEF)
        jcv_refuse(c, "tensors by key: %s", v->text);
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

jcv_av *jcv_pick_item(jcv *c, jcv_av *l, jcv_av *i) {
    picking x = {.key = i};
    jcv_av **items;
    bool any = false;
    if (Py_SIZE(l->py) > MAX_PICKED || i->val->type->kind != JANUS_KIND_INT)
        return NULL;
    for (Py_ssize_t k = 0; k < Py_SIZE(l->py); k++) {
        PyObject *v = PySequence_Fast_GET_ITEM(l->py, k);
        any = any || tracked(v);
        if (!jpy_tensor_check(v))
            return NULL;
    }
    if (!any || !jcv_items(c, l, &items, &x.n))
        return NULL;
    x.values = items;
    x.keys = jcv_alloc(c, x.n * sizeof *x.keys);
    for (unsigned k = 0; k < x.n; k++)
        x.keys[k] = jcv_take(c, PyLong_FromUnsignedLong(k));
    jcv_av *n = jcv_take(c, PyLong_FromUnsignedLong(x.n)), *zero = x.keys[0];
    jcv_val *three[3] = {jcv_number(c, jcv_compare(c, JPY_LT, i, zero)),
                         jcv_number(c, jcv_binary(c, JPY_ADD, i, n, false)), i->val};
    x.key = jcv_scalar(c, &jcv_op(c, JN_OP(s_select), three, 3, NULL)->out[0]);
    return pick(c, &x);
}
