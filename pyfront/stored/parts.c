/* SPDX-License-Identifier: Apache-2.0 */
/* Lists, numbers and boxes of what was dumped. */
#include <string.h>

#include "graph/ir/ir.h"
#include "pyfront/stored/building.h"

int jpy_not_stored(const char *what) {
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "not an entry: %s", what);
    return -1;
}

int jpy_stored_no_memory(void) {
    PyErr_NoMemory();
    return -1;
}

PyObject *jpy_stored_list(const jpy_building *b, const char *name) {
    PyObject *l = PyDict_GetItemString(b->d, name);
    if (l && PyList_CheckExact(l))
        return l;
    jpy_not_stored(name);
    return NULL;
}

int jpy_stored_each(jpy_building *b, PyObject *l, int (*take)(jpy_building *, PyObject *)) {
    if (!l || !PyList_CheckExact(l))
        return jpy_not_stored("no list");
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(l); i++) {
        PyObject *one = PyList_GET_ITEM(l, i);
        if (!PyTuple_CheckExact(one))
            return jpy_not_stored("no tuple");
        if (take(b, one) < 0)
            return jpy_not_stored("an item");
    }
    return 0;
}

PyObject *jpy_unboxed(jpy_building *b, PyObject *box) {
    if (box == Py_None)
        return NULL;
    if (!PyTuple_CheckExact(box) || PyTuple_GET_SIZE(box) != 1) {
        jpy_not_stored("no box");
        return NULL;
    }
    return jpy_guards_own(b->g, PyTuple_GET_ITEM(box, 0));
}

int64_t *jpy_stored_numbers(jpy_building *b, PyObject *l, int64_t least, int64_t limit, size_t *n) {
    if (!PyList_CheckExact(l)) {
        jpy_not_stored("no list of numbers");
        return NULL;
    }
    *n = (size_t)PyList_GET_SIZE(l);
    int64_t *v = jn_arena_alloc(&b->e->arena, (*n + 1) * sizeof *v);
    if (!v)
        jpy_stored_no_memory();
    for (size_t i = 0; v && i < *n; i++) {
        v[i] = PyLong_AsLongLong(PyList_GET_ITEM(l, (Py_ssize_t)i));
        if ((v[i] == -1 && PyErr_Occurred()) || v[i] < least || v[i] >= limit) {
            jpy_not_stored("a number");
            return NULL;
        }
    }
    return v;
}

bool *jpy_stored_truths(jpy_building *b, PyObject *l, size_t n) {
    if (!PyList_CheckExact(l) || (size_t)PyList_GET_SIZE(l) != n) {
        jpy_not_stored("no list of truths");
        return NULL;
    }
    bool *v = jn_arena_alloc(&b->e->arena, n + 1);
    for (size_t i = 0; v && i < n; i++)
        v[i] = PyList_GET_ITEM(l, (Py_ssize_t)i) == Py_True;
    if (!v)
        jpy_stored_no_memory();
    return v;
}

jn_subgraph *jpy_stored_subgraph(const jpy_building *b, const char *name) {
    jn_subgraph *g = jn_module_find(b->e->module, name, strlen(name));
    if (!g)
        jpy_not_stored("a SubGraph");
    return g;
}
