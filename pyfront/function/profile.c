/* SPDX-License-Identifier: Apache-2.0 */
/* The profiler's record for Python: _profile_start, _profile_stop; janus/_profile.py has the rest.
 */
#include "pyfront/function/profile.h"

void jpy_prof_add(const jpy_function *f, jn_prof_kind kind, int64_t start) {
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    PyObject *o = PyMethod_Check(f->callable) ? PyMethod_GET_FUNCTION(f->callable) : f->callable;
    PyFunctionObject *py = PyFunction_Check(o) ? (PyFunctionObject *)o : NULL;
    const char *name = py && PyUnicode_Check(py->func_qualname)
                           ? PyUnicode_AsUTF8(py->func_qualname)
                           : Py_TYPE(o)->tp_name;
    const PyCodeObject *code = py ? (PyCodeObject *)py->func_code : NULL;
    jn_loc loc = {code ? PyUnicode_AsUTF8(code->co_filename) : NULL,
                  code ? (uint32_t)code->co_firstlineno : 0, 0};
    PyErr_Clear();
    jn_prof_add(kind, name ? name : "?", &loc, start, 1);
    PyErr_Restore(type, value, tb);
}

static PyObject *start(PyObject *module, PyObject *args) {
    (void)module;
    Py_ssize_t most;
    if (!PyArg_ParseTuple(args, "n:_profile_start", &most) ||
        jpy_check(jn_prof_start(most > 0 ? (size_t)most : 0)) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ([(kind, name, file or None, line, thread, start, end, n)], lost) */
static PyObject *stop(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    static const char *const kinds[JN_PROF_COUNT] = {"host",       "flush",    "group",  "kernel",
                                                     "eager",      "guards",   "commit", "convert",
                                                     "imperative", "fallback", "device"};
    const jn_prof_event *events;
    size_t n;
    uint64_t lost;
    if (jpy_check(jn_prof_stop(&events, &n, &lost)) < 0)
        return NULL;
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; i++) {
        const jn_prof_event *e = &events[i];
        PyObject *one =
            Py_BuildValue("(ssziiLLi)", kinds[e->kind], e->name, e->file, (int)e->line,
                          (int)e->thread, (long long)e->start, (long long)e->end, (int)e->n);
        if (one)
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
        else
            Py_CLEAR(list);
    }
    jn_prof_free();
    return list ? Py_BuildValue("(NK)", list, (unsigned long long)lost) : NULL;
}

static PyMethodDef functions[] = {
    {"_profile_start", start, METH_VARARGS, "_profile_start(most): records that many events."},
    {"_profile_stop", stop, METH_NOARGS,
     "([(kind, name, file, line, thread, start, end, n)], how many were lost); nanoseconds."},
    {NULL, NULL, 0, NULL}};

int jpy_init_profile(PyObject *module) { return PyModule_AddFunctions(module, functions); }
