/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the statements of a skeleton call: a function of the program that works with tensors is
 * decorated as the skeleton's own function is, so that it is a graph, or has regions in its turn.
 *
 * Whether it does is seen in its first calls, which run as they are.
 */
#include "exec/eager/eager.h"
#include "pyfront/function_object.h"
#include "pyfront/region/region.h"

#include <string.h>

enum {
    FEW_CALLS = 8, /* in which it has to run an op, else it is let alone */
    MANY = 64      /* functions that are looked at */
};

/* Whether it is one of the program's that stays: what is made anew at each call has a closure. */
static bool may_be_decorated(PyObject *f) {
    const PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(f);
    PyObject *module = PyDict_GetItemString(PyFunction_GET_GLOBALS(f), "__name__");
    PyObject *closure = PyFunction_GET_CLOSURE(f);
    const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    PyErr_Clear();
    return name && strcmp(name, "janus") != 0 && strncmp(name, "janus.", 6) != 0 &&
           (!closure || !PyTuple_GET_SIZE(closure)) &&
           !(code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR));
}

/* The Function of a function of the program, None: it is called as it is; borrowed, NULL: raised.
 */
static PyObject *decorated(jpy_function *owner, PyObject *f) {
    if (!owner->callees && !(owner->callees = PyDict_New()))
        return NULL;
    PyObject *known = PyDict_GetItemWithError(owner->callees, f);
    if (known || PyErr_Occurred())
        return known;
    if (PyDict_GET_SIZE(owner->callees) >= MANY)
        return Py_None;
    PyObject *made = may_be_decorated(f)
                         ? jpy_function_new(f, owner->exact, owner->checkpoint, owner->measure)
                         : Py_NewRef(Py_None);
    if (!made)
        return NULL;
    if (made != Py_None) {
        jpy_function *g = (jpy_function *)made;
        g->verify = owner->verify;
        g->ladder = owner->ladder;
        g->use_regions = true;
        g->unasked = FEW_CALLS;
        g->word.said = true; /* nobody has decorated it */
    }
    int bad = PyDict_SetItem(owner->callees, f, made);
    Py_DECREF(made);
    return bad ? NULL : made;
}

/* callee(f): what is called in its place. */
static PyObject *callee(PyObject *owner, PyObject *f) {
    PyObject *function = PyMethod_Check(f) ? PyMethod_GET_FUNCTION(f) : f;
    if (!PyFunction_Check(function))
        return Py_NewRef(f);
    PyObject *g = decorated((jpy_function *)owner, function);
    if (!g)
        return NULL;
    if (g == Py_None)
        return Py_NewRef(f);
    return function == f ? Py_NewRef(g) : PyMethod_New(g, PyMethod_GET_SELF(f));
}

static PyMethodDef def = {"_callee", callee, METH_O, "_callee(f): what is called in its place."};

PyObject *jpy_regions_callee(jpy_function *f) { return PyCFunction_New(&def, (PyObject *)f); }

/* A Function that nobody has asked for is called: as it is, until it has run an op. */
PyObject *jpy_regions_unasked(jpy_function *f, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames) {
    jn_op_counts before = jn_ops_run;
    Py_INCREF((PyObject *)f);
    PyObject *r = PyObject_Vectorcall(f->callable, args, nargsf, kwnames);
    bool works = jn_ops_run.eager + jn_ops_run.graph >= before.eager + before.graph + 2;
    f->unasked = works ? 0 : f->unasked > 1 ? f->unasked - 1 : 1;
    Py_DECREF((PyObject *)f);
    return r;
}
