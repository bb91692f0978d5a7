/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of a text are objects: each stands in the code once, and is that one whenever CPython
 * comes to it. */
#include "pyfront/convert/tree/constants.h"

/* New reference: by type and text, so that 1, True and 1.0 are three, as are 0.0 and -0.0. */
static PyObject *key_of(PyObject *o) {
    PyObject *text = PyObject_Repr(o), *key = NULL;
    if (text)
        key = PyTuple_Pack(2, (PyObject *)Py_TYPE(o), text);
    Py_XDECREF(text);
    return key;
}

static int add(PyObject *all, PyObject *code) {
    PyObject *consts = PyObject_GetAttrString(code, "co_consts");
    bool bad = !consts;
    for (int inner = 0; inner < 2; inner++) /* what several have is the outermost one's */
        for (Py_ssize_t i = 0; !bad && i < PyTuple_GET_SIZE(consts); i++) {
            PyObject *o = PyTuple_GET_ITEM(consts, i), *key;
            if (PyCode_Check(o) != inner)
                continue;
            if (inner) {
                bad = add(all, o) < 0;
            } else if ((key = key_of(o))) {
                bad = !PyDict_SetDefault(all, key, o);
                Py_DECREF(key);
            } else {
                PyErr_Clear(); /* a number that is too long to be written */
            }
        }
    Py_XDECREF(consts);
    return bad ? -1 : 0;
}

PyObject *jpy_constants_of(PyObject *code) {
    PyObject *all = PyDict_New();
    if (all && add(all, code) < 0)
        Py_CLEAR(all);
    return all;
}

/* Borrowed: the one of that type and text, NULL: none; no exception. */
static PyObject *like(PyObject *constants, PyObject *o) {
    PyObject *key = key_of(o), *one = key ? PyDict_GetItemWithError(constants, key) : NULL;
    Py_XDECREF(key);
    PyErr_Clear();
    return one;
}

PyObject *jpy_constants_like(PyObject *consts, PyObject *code) {
    PyObject *constants = jpy_constants_of(code), *one;
    PyObject *out = constants ? PyTuple_New(PyTuple_GET_SIZE(consts)) : NULL;
    for (Py_ssize_t i = 0; out && i < PyTuple_GET_SIZE(consts); i++) {
        PyObject *o = PyTuple_GET_ITEM(consts, i);
        one = PyCode_Check(o) ? NULL : like(constants, o);
        PyTuple_SET_ITEM(out, i, Py_NewRef(one ? one : o));
    }
    Py_XDECREF(constants);
    return out;
}

static PyObject *value_of(const jpy_tree *n);

static PyObject *of_tuple(const jpy_tree_list *items) {
    PyObject *t = PyTuple_New(items->n), *item;
    for (unsigned i = 0; t && i < items->n; i++) {
        if ((item = value_of(items->v[i])))
            PyTuple_SET_ITEM(t, i, item);
        else
            Py_CLEAR(t);
    }
    return t;
}

static bool is_number(PyObject *o) {
    return PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyComplex_CheckExact(o);
}

/* CPython leaves larger powers to the run: they may have more digits than there is memory. */
static bool is_small_power(PyObject *a, PyObject *b) {
    if (!PyLong_CheckExact(a) || !PyLong_CheckExact(b))
        return true;
    long long base = PyLong_AsLongLong(a), power = PyLong_AsLongLong(b);
    return !PyErr_Occurred() && base > -(1ll << 32) && base < 1ll << 32 && power <= 128;
}

static PyObject *of_numbers(int op, PyObject *a, PyObject *b) {
    switch (op) {
    case JPY_ADD:
        return PyNumber_Add(a, b);
    case JPY_SUB:
        return PyNumber_Subtract(a, b);
    case JPY_MUL:
        return PyNumber_Multiply(a, b);
    case JPY_TRUEDIV:
        return PyNumber_TrueDivide(a, b);
    case JPY_FLOORDIV:
        return PyNumber_FloorDivide(a, b);
    case JPY_MOD:
        return PyNumber_Remainder(a, b);
    case JPY_POW:
        return is_small_power(a, b) ? PyNumber_Power(a, b, Py_None) : NULL;
    default:
        return NULL;
    }
}

/* New reference: what an expression of constants is, NULL: it is none, or what it raises is set. */
static PyObject *value_of(const jpy_tree *n) {
    PyObject *a = NULL, *b = NULL, *out = NULL;
    switch (n->kind) {
    case JPY_CONST:
        return Py_NewRef(n->obj);
    case JPY_TUPLE:
        return of_tuple(&n->x);
    case JPY_UNARY:
        a = n->op == JPY_U_NEG ? value_of(n->a) : NULL;
        out = a && is_number(a) ? PyNumber_Negative(a) : NULL;
        break;
    case JPY_BINOP:
        a = value_of(n->a);
        b = a && is_number(a) ? value_of(n->b) : NULL;
        out = b && is_number(b) ? of_numbers(n->op, a, b) : NULL;
    }
    Py_XDECREF(a);
    Py_XDECREF(b);
    return out;
}

PyObject *jpy_constant_of(PyObject *constants, const jpy_tree *n) {
    PyObject *value = value_of(n), *one = value ? like(constants, value) : NULL;
    Py_XDECREF(value);
    PyErr_Clear();
    return one;
}
