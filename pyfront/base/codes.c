/* SPDX-License-Identifier: Apache-2.0 */
/* A table is a dict: address of a code -> (weak reference to it, what is known). */
#include "pyfront/base/codes.h"

/* of: (table, key) */
static PyObject *forget(PyObject *of, PyObject *dead) {
    (void)dead;
    PyObject *table = PyTuple_GET_ITEM(of, 0), *key = PyTuple_GET_ITEM(of, 1);
    if (PyDict_Contains(table, key) == 1 && PyDict_DelItem(table, key) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyObject *jpy_of_code(PyObject *table, PyObject *code) {
    PyObject *key = table ? PyLong_FromVoidPtr(code) : NULL;
    PyObject *kept = key ? PyDict_GetItem(table, key) : NULL;
    Py_XDECREF(key);
    /* what it leads to, by calling it: the functions for that differ between versions of CPython */
    PyObject *of = kept ? PyObject_CallNoArgs(PyTuple_GET_ITEM(kept, 0)) : NULL;
    Py_XDECREF(of);
    return of == code ? PyTuple_GET_ITEM(kept, 1) : NULL;
}

PyObject *jpy_of_code_keep(PyObject **table, PyObject *code, PyObject *known) {
    static PyMethodDef forgets = {"_forget", forget, METH_O, NULL};
    if (!*table && !(*table = PyDict_New()))
        return NULL;
    PyObject *key = PyLong_FromVoidPtr(code), *of = key ? PyTuple_Pack(2, *table, key) : NULL;
    PyObject *when_dead = of ? PyCFunction_New(&forgets, of) : NULL;
    PyObject *ref = when_dead ? PyWeakref_NewRef(code, when_dead) : NULL;
    PyObject *kept = ref ? PyTuple_Pack(2, ref, known) : NULL;
    /* asked last: what is made above may let other threads run, in a finalizer */
    PyObject *first = kept ? jpy_of_code(*table, code) : NULL;
    if (kept && !first && PyDict_SetItem(*table, key, kept) == 0)
        first = known;
    Py_XDECREF(key);
    Py_XDECREF(of);
    Py_XDECREF(when_dead);
    Py_XDECREF(ref);
    Py_XDECREF(kept);
    return first;
}
