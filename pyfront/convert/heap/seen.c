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

enum { MAX_KEPT = 64, MANY = 8 /* items: as good as more */ };

static PyObject *kind_of_value(PyObject *v) {
    bool itself = PyUnicode_CheckExact(v) || PyBool_Check(v) || v == Py_None || jcv_is_enum(v);
    if (PyList_CheckExact(v) || PyTuple_CheckExact(v)) /* code that takes it apart has to know */
        return Py_BuildValue("(On)", Py_TYPE(v), Py_SIZE(v) < MANY ? Py_SIZE(v) : MANY);
    return itself ? Py_NewRef(v) : Py_NewRef((PyObject *)Py_TYPE(v));
}

/* Names and kinds of attributes, or of what a dict has under strings: a node, too. */
static bool add_values(PyObject *list, PyObject *d) {
    PyObject *name, *v;
    Py_ssize_t pos = 0;
    for (unsigned i = 0; i < MAX_KEPT && PyDict_Next(d, &pos, &name, &v); i++) {
        if (!PyUnicode_CheckExact(name))
            continue;
        PyObject *k = kind_of_value(v);
        bool good = k && PyList_Append(list, name) == 0 && PyList_Append(list, k) == 0;
        Py_XDECREF(k);
        if (!good)
            return false;
    }
    return true;
}

/* New reference; NULL with an exception. */
static PyObject *kind_of(PyObject *o) {
    PyObject *list = PyList_New(0), *d = NULL;
    if (!list || PyList_Append(list, (PyObject *)Py_TYPE(o)) < 0)
        goto fail;
    if (PyList_CheckExact(o) || PyTuple_Check(o)) {
        for (Py_ssize_t i = 0; i < Py_SIZE(o) && i < MANY; i++) {
            PyObject *k = kind_of_value(PySequence_Fast_GET_ITEM(o, i));
            int bad = k ? PyList_Append(list, k) : -1;
            Py_XDECREF(k);
            if (bad)
                goto fail;
        }
    } else if (jcv_generic_attrs(Py_TYPE(o)) && Py_TYPE(o)->tp_dictoffset) {
        PyObject **at = _PyObject_GetDictPtr(o);
        d = at ? Py_XNewRef(*at) : PyObject_GenericGetDict(o, NULL);
        PyErr_Clear();
        if (d && !add_values(list, d))
            goto fail;
    } else if (PyDict_CheckExact(o) && !add_values(list, o)) {
        goto fail;
    }
    Py_XDECREF(d);
    d = PyList_AsTuple(list);
    Py_DECREF(list);
    return d;
fail:
    Py_XDECREF(list);
    Py_XDECREF(d);
    return NULL;
}

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
            PyObject *kind = PyDict_GET_SIZE(kinds) < MAX_KEPT ? kind_of(o) : NULL;
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
        PyObject *o = PyList_GET_ITEM(samples, i), *kind = jcv_own(c, kind_of(o));
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
        int mine = PySequence_Contains(types, (PyObject *)Py_TYPE(o));
        related = related || mine > 0;
        if (mine < 0 || (!mine && PyList_Append(more, o) < 0))
            jcv_refuse_py(c);
    }
    return related && PyList_GET_SIZE(more) ? more : NULL;
}
