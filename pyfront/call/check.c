/* SPDX-License-Identifier: Apache-2.0 */
/* _check: one call converted, computed by both, and compared, with CPython's effects done once. */
#include "pyfront/base/signals.h"
#include "pyfront/call/cache.h"
#include "pyfront/call/object.h"
#include "pyfront/convert/convert.h"
#include "pyfront/run/run.h"

/* (code, result, text) of a call whose arguments are `values`, keywords last.  code: as
 * jpy_entry_call; -3: there is no graph, and CPython has not run. */
static PyObject *check(jpy_function *f, PyObject *values, Py_ssize_t n_pos, PyObject *names) {
    PyObject *const *args = PySequence_Fast_ITEMS(values);
    jpy_call call = {args, n_pos, PyTuple_GET_SIZE(names) ? names : NULL};
    f->plain++;
    f->thread = PyThread_get_thread_ident();
    jpy_undisturbed_begin();
    jpy_entry *e = jpy_convert(f, &call);
    jpy_undisturbed_end();
    f->plain--;
    PyErr_Clear();
    if (jpy_waiting) {
        jpy_entry_free(e);
        return jpy_raise_waiting(NULL);
    }
    if (!e)
        return Py_BuildValue("(iOO)", -3, Py_None, f->reason ? f->reason : Py_None);
    PyObject *result = NULL, *text = Py_None;
    jpy_entry_verify(e, true);
    int got = jpy_entry_call(f, e, &call, true, &result);
    jpy_entry_free(e);
    Py_ssize_t n = PyList_GET_SIZE(f->notes);
    if (got != 4 && n)
        text = PyList_GET_ITEM(f->notes, n - 1);
    if (got > 3 && !result)
        return NULL; /* CPython's exception, or the warning as one */
    PyObject *r = Py_BuildValue("(iOO)", got, result ? result : Py_None, text);
    Py_XDECREF(result);
    return r;
}

PyObject *jpy_check_call(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *callable, *positional, *keywords;
    if (!PyArg_ParseTuple(args, "OO!O!:_check", &callable, &PyTuple_Type, &positional, &PyDict_Type,
                          &keywords))
        return NULL;
    bool exact = false, checkpoint = false;
    if (Py_TYPE(callable) == jpy.function_type) {
        exact = ((jpy_function *)callable)->exact;
        checkpoint = ((jpy_function *)callable)->checkpoint;
        callable = ((jpy_function *)callable)->callable;
    }
    PyObject *f = jpy_function_new(callable, exact, checkpoint, false), *r = NULL;
    PyObject *keys = PyDict_Keys(keywords), *names = keys ? PyList_AsTuple(keys) : NULL;
    PyObject *last = PyDict_Values(keywords), *first = PySequence_List(positional);
    PyObject *values = first && last ? PySequence_Concat(first, last) : NULL;
    if (f)
        ((jpy_function *)f)->ladder = JPY_RUNG_GRAPH;
    if (f && names && values)
        r = check((jpy_function *)f, values, PyTuple_GET_SIZE(positional), names);
    Py_XDECREF(f);
    Py_XDECREF(keys);
    Py_XDECREF(names);
    Py_XDECREF(first);
    Py_XDECREF(last);
    Py_XDECREF(values);
    return r;
}
