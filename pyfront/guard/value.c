/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Immutable builtins: the same or not, by type and content.
 *
 * Python's `==` will not do: 1 == True == 1.0, 0.0 == -0.0, range(0, 3, 2) == range(0, 4, 2), and a
 * subclass compares as it likes.  Frozensets are compared in the order of iteration, which programs
 * see.
 */
#include "pyfront/guard/guard.h"

enum { MAX_DEPTH = 8 }; /* of tuples in tuples: deeper ones are by identity */

static bool single(PyObject *o) {
    return o == Py_None || PyBool_Check(o) || o == Py_Ellipsis || o == Py_NotImplemented;
}

/* The start, stop and step of a range, new references; false: out of memory. */
static bool range_parts(PyObject *r, PyObject *part[3]) {
    static const char *const names[3] = {"start", "stop", "step"};
    bool ok = true;
    for (int i = 0; i < 3; i++) {
        part[i] = PyObject_GetAttrString(r, names[i]);
        ok = ok && part[i];
    }
    if (!ok)
        PyErr_Clear();
    return ok;
}

static bool by_value(PyObject *o, int depth) {
    if (single(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o) ||
        PyBytes_CheckExact(o) || PyComplex_CheckExact(o) || Py_TYPE(o) == &PyRange_Type)
        return true;
    if (depth == MAX_DEPTH)
        return false;
    bool all = true;
    if (PySlice_Check(o)) {
        const PySliceObject *s = (const PySliceObject *)o;
        return by_value(s->start, depth + 1) && by_value(s->stop, depth + 1) &&
               by_value(s->step, depth + 1);
    }
    if (PyTuple_CheckExact(o)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o) && all; i++)
            all = by_value(PyTuple_GET_ITEM(o, i), depth + 1);
        return all;
    }
    if (!PyFrozenSet_CheckExact(o))
        return false;
    PyObject *it = PyObject_GetIter(o), *x;
    while (it && all && (x = PyIter_Next(it))) {
        all = by_value(x, depth + 1);
        Py_DECREF(x);
    }
    Py_XDECREF(it);
    PyErr_Clear();
    return it && all;
}

bool jpy_by_value(PyObject *o) { return by_value(o, 0); }

static bool same(PyObject *a, PyObject *b, int depth);

static bool same_range(PyObject *a, PyObject *b) {
    PyObject *x[3] = {NULL}, *y[3] = {NULL};
    bool all = range_parts(a, x) && range_parts(b, y);
    for (int i = 0; i < 3; i++) {
        all = all && same(x[i], y[i], 0);
        Py_XDECREF(x[i]);
        Py_XDECREF(y[i]);
    }
    return all;
}

static bool same_frozenset(PyObject *a, PyObject *b, int depth) {
    PyObject *i = PyObject_GetIter(a), *k = PyObject_GetIter(b);
    bool all = i && k && PySet_GET_SIZE(a) == PySet_GET_SIZE(b);
    while (all) {
        PyObject *x = PyIter_Next(i), *y = PyIter_Next(k);
        bool end = !x && !y;
        all = end || (x && y && same(x, y, depth + 1));
        Py_XDECREF(x);
        Py_XDECREF(y);
        if (end)
            break;
    }
    Py_XDECREF(i);
    Py_XDECREF(k);
    PyErr_Clear();
    return all;
}

static bool same(PyObject *a, PyObject *b, int depth) {
    if (a == b)
        return true;
    if (Py_TYPE(a) != Py_TYPE(b) || depth > MAX_DEPTH)
        return false;
    if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a) || PyBytes_CheckExact(a))
        return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
    if (PyFloat_CheckExact(a))
        return jpy_same_double(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
    if (PyComplex_CheckExact(a)) {
        Py_complex x = ((PyComplexObject *)a)->cval, y = ((PyComplexObject *)b)->cval;
        return jpy_same_double(x.real, y.real) && jpy_same_double(x.imag, y.imag);
    }
    if (Py_TYPE(a) == &PyRange_Type)
        return same_range(a, b);
    if (PySlice_Check(a)) {
        const PySliceObject *x = (const PySliceObject *)a, *y = (const PySliceObject *)b;
        return same(x->start, y->start, depth + 1) && same(x->stop, y->stop, depth + 1) &&
               same(x->step, y->step, depth + 1);
    }
    if (PyTuple_CheckExact(a)) {
        bool all = PyTuple_GET_SIZE(a) == PyTuple_GET_SIZE(b);
        for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(a); i++)
            all = same(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i), depth + 1);
        return all;
    }
    return PyFrozenSet_CheckExact(a) && same_frozenset(a, b, depth);
}

bool jpy_same_value(PyObject *a, PyObject *b) { return same(a, b, 0); }
