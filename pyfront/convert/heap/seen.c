/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recursions have met, over conversions.
 *
 * The trees of two calls seldom have nodes of the same kinds.  A graph made for the kinds of one
 * call is discarded by the next; so one object of each kind is kept, as a sample for all later
 * conversions of the function.  A kind is a type with the strings, bools and enum members that its
 * attributes, items or values have, the lengths of lists and tuples up to some, and the types of
 * the others.
 */
#include "pyfront/convert/heap/heap.h"

#include <string.h>

enum {
    MAX_KEPT = 64,
    MANY = 8,            /* items: as good as more */
    MAX_WALKED = 1 << 14 /* objects that are looked at for samples */
};

/* Classes, members of enums and keys of dicts are told by their address: their own class may say
 * how they hash and compare, in code of the program's. */
static PyObject *address(void *o) { return PyLong_FromVoidPtr(o); }

/* coarse: the type, and whether there are items. */
static PyObject *kind_of_value(PyObject *v, bool coarse) {
    if (coarse && (PyList_CheckExact(v) || PyTuple_Check(v) || PyDict_CheckExact(v)))
        return Py_BuildValue("(NO)", address(Py_TYPE(v)), PyObject_Size(v) ? Py_True : Py_False);
    if (coarse)
        return address(Py_TYPE(v));
    bool itself = PyUnicode_CheckExact(v) || PyBool_Check(v) || v == Py_None;
    if (PyList_CheckExact(v) || PyTuple_Check(v)) /* code that takes it apart has to know */
        return Py_BuildValue("(Nn)", address(Py_TYPE(v)), Py_SIZE(v) < MANY ? Py_SIZE(v) : MANY);
    return itself ? Py_NewRef(v) : address(jcv_is_enum(v) ? (void *)v : (void *)Py_TYPE(v));
}

/* New reference: what an object of a user's class has, in __dict__ and slots; NULL, without an
 * exception: nothing that is known. */
static PyObject *attributes(PyObject *o) {
    PyTypeObject *t = Py_TYPE(o);
    if (!jcv_generic_attrs(t) || !PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE))
        return NULL;
    PyObject *own = t->tp_dictoffset ? PyObject_GenericGetDict(o, NULL) : NULL;
    PyObject *d = own ? PyDict_Copy(own) : PyDict_New();
    jpy_attrs_done(o, own);
    for (Py_ssize_t i = 0; d && t->tp_mro && i < PyTuple_GET_SIZE(t->tp_mro); i++) {
        PyTypeObject *of = (PyTypeObject *)PyTuple_GET_ITEM(t->tp_mro, i);
        PyObject *in = PyType_HasFeature(of, Py_TPFLAGS_HEAPTYPE) ? of->tp_dict : NULL;
        PyObject *name, *member;
        Py_ssize_t pos = 0;
        while (in && PyDict_Next(in, &pos, &name, &member)) {
            PyObject *v = jpy_is_member(t, member) ? jpy_plain_attr(o, name) : NULL;
            if (v && PyDict_SetItem(d, name, v) < 0)
                PyErr_Clear();
            Py_XDECREF(v);
        }
    }
    PyErr_Clear();
    return d;
}

/* Names and kinds of attributes, or of what a dict has under strings: a node, too. */
static bool add_values(PyObject *list, PyObject *d, bool coarse) {
    PyObject *name, *v;
    Py_ssize_t pos = 0;
    for (unsigned i = 0; i < MAX_KEPT && PyDict_Next(d, &pos, &name, &v); i++) {
        if (!PyUnicode_CheckExact(name))
            continue;
        PyObject *k = kind_of_value(v, coarse);
        bool good = k && PyList_Append(list, name) == 0 && PyList_Append(list, k) == 0;
        Py_XDECREF(k);
        if (!good)
            return false;
    }
    return true;
}

/* New reference; NULL with an exception. */
static PyObject *kind_of(PyObject *o, bool coarse) {
    PyObject *list = PyList_New(0), *d = PyDict_CheckExact(o) ? Py_NewRef(o) : attributes(o);
    PyObject *type = address(Py_TYPE(o));
    bool good = list && type && PyList_Append(list, type) == 0;
    Py_XDECREF(type);
    bool sequence = PyList_CheckExact(o) || PyTuple_Check(o);
    for (Py_ssize_t i = 0; good && sequence && i < Py_SIZE(o) && i < MANY; i++) {
        PyObject *k = kind_of_value(PySequence_Fast_GET_ITEM(o, i), coarse);
        good = k && PyList_Append(list, k) == 0;
        Py_XDECREF(k);
    }
    good = good && (!d || add_values(list, d, coarse));
    Py_XDECREF(d);
    d = good ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return d;
}

/* ---- further down -------------------------------------------------------------------------------
 * Conversions follow the first children of what they meet for some levels only.  Here all objects
 * below samples are looked at, each with its place: the attribute of a class, or the key of a dict,
 * in which it was found, itself or in lists and tuples.  What is in a place where samples are found
 * may come to where the samples come.
 */

typedef struct walk {
    jcv *c;
    PyObject *found, *places; /* objects in the order found, and the place of each */
    PyObject *had;            /* their addresses */
} walk;

static void come_to(walk *w, PyObject *o, PyObject *place) {
    if (PyList_GET_SIZE(w->found) >= MAX_WALKED || !PyObject_IS_GC(o) || PyType_Check(o))
        return;
    PyObject *at = jcv_own(w->c, PyLong_FromVoidPtr(o));
    int had = PySet_Contains(w->had, at);
    if (had < 0 || (!had && (PySet_Add(w->had, at) < 0 || PyList_Append(w->found, o) < 0 ||
                             PyList_Append(w->places, place) < 0)))
        jcv_refuse_py(w->c);
}

static PyObject *place_in(PyObject *o, PyObject *name) {
    PyObject *key = PyUnicode_CheckExact(name) ? Py_NewRef(name) : address(name);
    return Py_BuildValue("(NN)", address(Py_TYPE(o)), key);
}

static void go_inside(walk *w, PyObject *o, PyObject *place) {
    for (Py_ssize_t i = 0; (PyList_CheckExact(o) || PyTuple_Check(o)) && i < Py_SIZE(o); i++)
        come_to(w, PySequence_Fast_GET_ITEM(o, i), place);
    PyObject *d = PyDict_CheckExact(o) ? o : attributes(o), *name, *v;
    Py_ssize_t pos = 0;
    if (d && d != o)
        d = jcv_own(w->c, d);
    while (d && PyDict_Next(d, &pos, &name, &v))
        if (PyObject_IS_GC(v))
            come_to(w, v, jcv_own(w->c, place_in(o, name)));
}

PyObject *jcv_kinds_below(jcv *c, PyObject *samples) {
    PyObject *lists[5];
    for (int i = 0; i < 5; i++)
        lists[i] = jcv_own(c, i == 2 || i == 4 ? PySet_New(NULL) : PyList_New(0));
    walk w = {c, lists[0], lists[1], lists[2]};
    PyObject *types = lists[3], *nodes = lists[4], *kinds = jcv_own(c, PyDict_New());
    bool good = true;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples) && good; i++) {
        PyObject *o = PyList_GET_ITEM(samples, i);
        PyObject *t = (PyObject *)Py_TYPE(o);
        good = jcv_list_has(types, t) || PyList_Append(types, t) == 0;
        come_to(&w, o, Py_None);
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(w.found) && good; i++) {
        PyObject *o = PyList_GET_ITEM(w.found, i), *place = PyList_GET_ITEM(w.places, i);
        if (jcv_list_has(types, (PyObject *)Py_TYPE(o)))
            good = PySet_Add(nodes, place) == 0;
        go_inside(&w, o, place);
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(w.found) && good; i++) {
        PyObject *o = PyList_GET_ITEM(w.found, i), *place = PyList_GET_ITEM(w.places, i);
        bool part = PyList_CheckExact(o) || PyTuple_Check(o);
        if ((part && !jcv_list_has(types, (PyObject *)Py_TYPE(o))) ||
            PySet_Contains(nodes, place) <= 0)
            continue;
        PyObject *kind = jcv_own(c, kind_of(o, true));
        good = PyDict_GET_SIZE(kinds) >= MAX_KEPT || PyDict_SetDefault(kinds, kind, o) != NULL;
    }
    if (!good)
        jcv_refuse_py(c);
    return jcv_own(c, PyDict_Values(kinds));
}

/* ---- what is kept -------------------------------------------------------------------------------
 */

/* New reference: the code, or the place of one that is made inside, which is kept with it. */
static PyObject *code_of(const jcv_rec_fn *f) {
    return f->func ? Py_NewRef(PyFunction_GET_CODE(f->func)) : PyLong_FromVoidPtr((void *)f->def);
}

static PyObject *key_of(const jcv_rec_fn *f, unsigned param) {
    return Py_BuildValue("(NII)", code_of(f), f->n_params, param);
}

PyObject *jcv_seen(jcv *c, const jcv_rec_fn *f, unsigned param) {
    PyObject *key = jcv_own(c, key_of(f, param)), *kinds = PyDict_GetItem(c->f->seen, key);
    return jcv_own(c, kinds ? PyDict_Values(kinds) : PyList_New(0));
}

/* Of a recursive function: which of its parameters differ between calls. */
static PyObject *key_of_fn(const jcv_rec_fn *x) {
    return Py_BuildValue("(sNIN)", "by value", code_of(x), x->n_params,
                         PyLong_FromVoidPtr(x->self_key));
}

bool jcv_was_recursive(jcv *c, jcv_rec_fn *x) {
    PyObject *key = jcv_own(c, key_of_fn(x)), *by_value = PyDict_GetItem(c->f->seen, key);
    if (!by_value)
        return false;
    memcpy(x->by_value, PyBytes_AS_STRING(by_value), x->n_params);
    return true;
}

void jcv_remember(jpy_function *f, const jcv_rec_fn *x) {
    PyObject *fn = key_of_fn(x);
    PyObject *ways = PyBytes_FromStringAndSize((const char *)x->by_value, x->n_params);
    if (!fn || !ways || PyDict_SetItem(f->seen, fn, ways) < 0)
        PyErr_Clear();
    Py_XDECREF(fn);
    Py_XDECREF(ways);
    for (unsigned i = 0; i < x->n_params; i++) {
        PyObject *samples = x->samples[i], *key = samples ? key_of(x, i) : NULL;
        PyObject *kinds = key ? PyDict_GetItem(f->seen, key) : NULL;
        if (key && !kinds) {
            kinds = PyDict_New();
            if (kinds && PyDict_SetItem(f->seen, key, kinds) < 0)
                Py_CLEAR(kinds);
            Py_XDECREF(kinds); /* f->seen keeps it */
        }
        Py_XDECREF(key);
        for (Py_ssize_t k = 0; kinds && k < PyList_GET_SIZE(samples); k++) {
            PyObject *o = PyList_GET_ITEM(samples, k);
            PyObject *kind = PyDict_GET_SIZE(kinds) < MAX_KEPT ? kind_of(o, false) : NULL;
            if (kind && !PyDict_Contains(kinds, kind) && PyDict_SetItem(kinds, kind, o) < 0)
                PyErr_Clear();
            Py_XDECREF(kind);
            PyErr_Clear();
        }
    }
}

/* ---- receivers of a method ----------------------------------------------------------------------
 * Objects of several types that met at one place under one name: another place that calls a method
 * of that name of one of these types may meet the others.
 */

static PyObject *receivers(jcv *c, PyObject *name) {
    PyObject *kinds = PyDict_GetItemWithError(c->f->seen, name);
    if (!kinds && !PyErr_Occurred()) {
        kinds = jcv_own(c, PyDict_New());
        if (PyDict_SetItem(c->f->seen, name, kinds) < 0)
            jcv_refuse_py(c);
    }
    return kinds ? kinds : jcv_own(c, NULL);
}

void jcv_met_together(jcv *c, PyObject *name, PyObject *samples) {
    PyObject *kinds = receivers(c, name);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples); i++) {
        if (PyDict_GET_SIZE(kinds) == MAX_KEPT)
            return;
        PyObject *o = PyList_GET_ITEM(samples, i), *kind = jcv_own(c, kind_of(o, false));
        int had = PyDict_Contains(kinds, kind);
        if (had < 0 || (!had && PyDict_SetItem(kinds, kind, o) < 0))
            jcv_refuse_py(c);
    }
}

PyObject *jcv_may_meet(jcv *c, PyObject *name, PyObject *types) {
    PyObject *kinds = receivers(c, name), *k, *o, *more = jcv_own(c, PyList_New(0));
    Py_ssize_t pos = 0;
    bool related = false;
    while (PyDict_Next(kinds, &pos, &k, &o)) {
        bool mine = jcv_list_has(types, (PyObject *)Py_TYPE(o));
        related = related || mine;
        if (!mine && PyList_Append(more, o) < 0)
            jcv_refuse_py(c);
    }
    return related && PyList_GET_SIZE(more) ? more : NULL;
}
