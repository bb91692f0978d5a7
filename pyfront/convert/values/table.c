/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables: what a function without effects gives of a string that only the graph knows.
 *
 * Where few strings were seen a statement forks on which one it is (syntax/fork.c), and has
 * constants in its arms.  Where they are characters, and many, or where it cannot fork,
 * `"abcde".index(t)` is a look-up in a dict of what the call gives for each:
 * `{"a": 0, "b": 1, ...}[t]`.  A string for which it raises, and one that nobody has seen, are no
 * keys, so that CPython has such a call.  Of characters all of ASCII are seen.  Of words that are
 * many there is no table: ever new ones would come.  But the parts of a string that is known are
 * known, whatever is looked for among them.
 */
#include "pyfront/convert/values/values.h"

#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"

enum { MAX_PARTED = 64, ASCII = 128 };

/* The dict that a constant of the graph is; NULL: it is something else. */
static PyObject *table_of(const jcv *c, const jcv_val *table) {
    for (size_t i = 0; i < c->inputs.n && table->ctx == c->main && !table->node; i++) {
        const jpy_src *s = c->inputs.data[i];
        if (c->main->params.data[i] == table)
            return s && s->kind == JPY_SRC_CONST && PyDict_CheckExact(s->key) ? s->key : NULL;
    }
    return NULL;
}

/* The table that a string was looked up in; NULL: it comes from elsewhere. */
static PyObject *table_behind(const jcv *c, const jcv_val *text) {
    const jcv_node *n = text->node;
    bool looked_up = n && n->kind == JCV_OP && n->op == JN_OP(host_key);
    return looked_up ? table_of(c, n->in[0]) : NULL;
}

jcv_av *jcv_from_table(jcv *c, jcv_val *table, jcv_av *key) {
    PyObject *of = table_of(c, table);
    return of ? jcv_looked_up(c, table, key, jcv_own(c, PyDict_Values(of))) : NULL;
}

/* The strings among some objects, once each, in the same order whatever they hash to. */
static PyObject *sorted(jcv *c, PyObject *objects) {
    PyObject *all = jcv_own(c, PySequence_List(objects)), *set = jcv_own(c, PySet_New(NULL));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all); i++)
        if (PyUnicode_CheckExact(PyList_GET_ITEM(all, i)) &&
            PySet_Add(set, PyList_GET_ITEM(all, i)) < 0)
            jcv_refuse_py(c);
    PyObject *l = jcv_own(c, PySequence_List(set));
    if (PyList_Sort(l) < 0)
        jcv_refuse_py(c);
    return l;
}

/* The strings that may come, a new list; NULL: nobody knows. */
static PyObject *keys_of(jcv *c, jcv_av *text) {
    PyObject *table = table_behind(c, text->val);
    if (table)
        return sorted(c, jcv_own(c, PyDict_Values(table)));
    PyObject *seen = jcv_samples(c, text), *set = jcv_own(c, PySet_New(seen));
    bool characters = PyList_GET_SIZE(seen) > 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(seen) && characters; i++) {
        PyObject *s = PyList_GET_ITEM(seen, i);
        characters = PyUnicode_IS_ASCII(s) && PyUnicode_GET_LENGTH(s) == 1;
    }
    for (int i = 0; i < ASCII && characters; i++)
        if (PySet_Add(set, jcv_own(c, PyUnicode_FromOrdinal(i))) < 0)
            jcv_refuse_py(c);
    bool few = characters || PySet_GET_SIZE(set) <= JCV_MAX_TEXTS;
    return few ? sorted(c, set) : NULL;
}

/* Equal tables are one object: those of two attempts are compared. */
static PyObject *shared(jcv *c, PyObject *table, PyTypeObject *type) {
    static PyObject *all; /* (type, frozenset of (string, repr of value)) -> dict; kept */
    PyObject *pairs = jcv_own(c, PyList_New(0)), *k, *v;
    Py_ssize_t pos = 0;
    while (PyDict_Next(table, &pos, &k, &v)) {
        PyObject *text = jcv_own(c, PyObject_Repr(v));
        if (PyList_Append(pairs, jcv_own(c, PyTuple_Pack(2, k, text))) < 0)
            jcv_refuse_py(c);
    }
    PyObject *set = jcv_own(c, PyFrozenSet_New(pairs));
    PyObject *key = jcv_own(c, PyTuple_Pack(2, (PyObject *)type, set));
    if (!all && !(all = PyDict_New()))
        jcv_refuse_py(c);
    PyObject *had = PyDict_GetItemWithError(all, key);
    if (!had && (PyErr_Occurred() || PyDict_SetItem(all, key, table) < 0))
        jcv_refuse_py(c);
    return had ? had : table;
}

/* What a value of a table may be: without identity, and a number that the graph can have. */
static bool is_value(PyObject *o) {
    int overflow = 0;
    if (PyLong_CheckExact(o))
        PyLong_AsLongLongAndOverflow(o, &overflow);
    return !overflow && (PyLong_CheckExact(o) || PyBool_Check(o) || PyUnicode_CheckExact(o));
}

/* {text: f(*v) with text at `at`}, NULL: its values are of no or several kinds. */
static PyObject *made(jcv *c, PyObject *f, PyObject **v, unsigned n, unsigned at, PyObject *keys,
                      PyTypeObject **type) {
    PyObject *table = jcv_own(c, PyDict_New());
    *type = NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys); i++) {
        v[at] = PyList_GET_ITEM(keys, i);
        PyObject *r = PyObject_Vectorcall(f, v, n, NULL);
        if (!r && !PyErr_ExceptionMatches(PyExc_Exception))
            jcv_refuse_py(c);
        PyErr_Clear();
        if (!r)
            continue; /* CPython raises it */
        jcv_own(c, r);
        if (!is_value(r) || (*type && *type != Py_TYPE(r)))
            return NULL;
        *type = Py_TYPE(r);
        if (PyDict_SetItem(table, v[at], r) < 0)
            jcv_refuse_py(c);
    }
    return *type ? table : NULL;
}

jcv_av *jcv_by_table(jcv *c, PyObject *f, const jcv_args *a) {
    PyObject **v = jcv_alloc(c, (a->n_pos + 1) * sizeof *v);
    jcv_av *text = NULL;
    unsigned at = 0;
    for (unsigned i = 0; i < a->n_pos; i++) {
        jcv_av *x = a->pos[i];
        bool host = x->kind == AV_HOST;
        if (host && (text || jcv_host_type(c, x) != &PyUnicode_Type))
            return NULL;
        v[i] = host ? NULL : jcv_const_object(c, x);
        if (!host && !v[i])
            return NULL;
        text = host ? x : text;
        at = host ? i : at;
    }
    PyObject *keys = text && !a->n_kw ? keys_of(c, text) : NULL;
    if (!keys)
        return NULL;
    PyTypeObject *type;
    PyObject *table = made(c, f, v, a->n_pos, at, keys, &type);
    if (!table)
        return NULL;
    return jcv_from_table(c, jcv_object_const(c, shared(c, table, type)), text);
}

/* The table gives each its own: what comes of it is one of them, whatever was seen. */
jcv_av *jcv_which_key(jcv *c, PyObject *d, jcv_av *text) {
    PyObject *table = jcv_own(c, PyDict_New()), *k, *v;
    Py_ssize_t pos = 0;
    bool texts = PyDict_GET_SIZE(d) > 0 && PyDict_GET_SIZE(d) <= JCV_MAX_TEXTS;
    while (texts && PyDict_Next(d, &pos, &k, &v)) {
        texts = PyUnicode_CheckExact(k);
        if (texts && PyDict_SetItem(table, k, k) < 0)
            jcv_refuse_py(c);
    }
    if (!texts)
        return jcv_which_text(c, text);
    table = shared(c, table, &PyUnicode_Type);
    return jcv_which_text(c, jcv_from_table(c, jcv_object_const(c, table), text));
}

jcv_av *jcv_part_of_text(jcv *c, jcv_av *in, jcv_av *item) {
    Py_ssize_t len = PyUnicode_GET_LENGTH(in->py);
    if (len > MAX_PARTED)
        return jcv_contains(c, in, jcv_which_text(c, item));
    PyObject *set = jcv_own(c, PySet_New(NULL));
    for (Py_ssize_t i = 0; i <= len; i++)
        for (Py_ssize_t k = i; k <= len; k++)
            if (PySet_Add(set, jcv_own(c, PyUnicode_Substring(in->py, i, k))) < 0)
                jcv_refuse_py(c);
    PyObject *parts = sorted(c, set);
    unsigned n = (unsigned)PyList_GET_SIZE(parts);
    jcv_av **keys = jcv_alloc(c, (n + 1) * sizeof *keys);
    for (unsigned i = 0; i < n; i++)
        keys[i] = jcv_py(c, PyList_GET_ITEM(parts, i), NULL);
    return jcv_scalar(c, jcv_host_among(c, item, keys, n));
}
