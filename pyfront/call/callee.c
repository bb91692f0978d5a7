/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the statements of a skeleton call: a function of the program that works with tensors is
 * decorated as the skeleton's own function is, so that it is a graph, or has regions in its turn.
 *
 * Whether it does is seen in its first calls, which run as they are.  A function with a closure has
 * to be one that stays: those that a call makes and calls are none.
 */
#include "exec/eager/eager.h"
#include "pyfront/base/names.h"
#include "pyfront/base/tracing.h"
#include "pyfront/call/nested.h"
#include "pyfront/call/object.h"
#include "pyfront/call/region.h"
#include "pyfront/methods/methods.h"
#include "pyfront/verify/verify.h"

#include <string.h>

enum {
    FEW_CALLS = 8,   /* in which it has to run an op, else it is let alone */
    MANY = 64,       /* functions that are looked at */
    MANY_DULL = 256, /* calls of what is none of them: then fewer are asked for */
    FEW_CLOSURES = 2 /* functions of one code and other closures */
};

static bool may_be_decorated(PyObject *f);

/* Whether it is what a decorator of janus's (`no_grad()`) has made of one of the program's. */
static bool wraps_one(PyObject *f) {
    PyObject *wrapped = PyObject_GetAttr(f, jpy_names.wrapped);
    bool one = wrapped && PyFunction_Check(wrapped) && may_be_decorated(wrapped);
    Py_XDECREF(wrapped);
    PyErr_Clear();
    return one;
}

/* Whether it is one of the program's, which a call runs to its end. */
static bool may_be_decorated(PyObject *f) {
    const PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(f);
    PyObject *module = PyDict_GetItem(PyFunction_GET_GLOBALS(f), jpy_names.name);
    const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    PyErr_Clear();
    bool own = name && (strcmp(name, "janus") == 0 || strncmp(name, "janus.", 6) == 0);
    return name && (!own || wraps_one(f)) &&
           !(code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR));
}

/* Whether it is `apply` of a class of autograd.Function: janus's own, and calls what is the
 * program's, whose ops are in no history. */
static bool applies(PyObject *self, PyObject *f) {
    PyObject *module = PyDict_GetItem(PyFunction_GET_GLOBALS(f), jpy_names.name);
    return PyType_Check(self) && module && PyUnicode_Check(module) &&
           PyUnicode_CompareWithASCIIString(module, "janus.autograd") == 0 &&
           PyUnicode_CompareWithASCIIString(((PyFunctionObject *)f)->func_name, "apply") == 0;
}

static bool has_closure(PyObject *f) {
    return PyFunction_Check(f) && PyFunction_GET_CLOSURE(f) &&
           PyTuple_GET_SIZE(PyFunction_GET_CLOSURE(f)) > 0;
}

/* Whether a function with a closure stays: it was called in an earlier call of the owner, too.  Of
 * one code the last is remembered, weakly, and few are ever taken: others are made anew again and
 * again.  -1: raised. */
static int stays(jpy_function *owner, PyObject *f) {
    PyObject *code = PyFunction_GET_CODE(f), *before = NULL, *ref = NULL;
    PyObject *seen = PyDict_GetItemWithError(owner->callees, code);
    unsigned long long call = 0;
    long taken = 0;
    if (!seen && PyErr_Occurred())
        return -1;
    if (seen && !PyArg_ParseTuple(seen, "OKl", &before, &call, &taken))
        return -1;
    if (taken >= FEW_CLOSURES)
        return 0;
    /* what it leads to, by calling it: the functions for that differ between versions of CPython */
    PyObject *now = before ? PyObject_CallNoArgs(before) : NULL;
    if (before && !now)
        return -1;
    bool same = now == f;
    Py_XDECREF(now);
    if (same && call == owner->calls)
        return 0;
    ref = PyWeakref_NewRef(f, NULL);
    seen = ref ? Py_BuildValue("(NKl)", ref, (unsigned long long)owner->calls, taken + same) : NULL;
    int bad = seen ? PyDict_SetItem(owner->callees, code, seen) : -1;
    Py_XDECREF(seen);
    return bad ? -1 : same;
}

/* The Function of what is called by `f`, a Python function; `key` tells it from others.  None: it
 * is called as it is; borrowed, NULL: raised. */
static PyObject *decorated(jpy_function *owner, PyObject *key, PyObject *f) {
    if (!owner->callees && !(owner->callees = PyDict_New()))
        return NULL;
    PyObject *known = PyDict_GetItemWithError(owner->callees, key);
    if (known || PyErr_Occurred())
        return known;
    if (PyDict_GET_SIZE(owner->callees) >= MANY)
        return Py_None;
    if (has_closure(f)) {
        int staying = stays(owner, f);
        if (staying <= 0)
            return staying < 0 ? NULL : Py_None;
    }
    PyObject *made = jpy_function_new(f, owner->exact, owner->checkpoint, owner->measure);
    if (!made)
        return NULL;
    jpy_function *g = (jpy_function *)made;
    g->verify = owner->verify;
    g->ladder = owner->ladder;
    g->use_regions = true;
    g->payer = jpy_regions_payer(owner);
    g->unasked = FEW_CALLS;
    g->word.said = true; /* nobody has decorated it */
    int bad = PyDict_SetItem(owner->callees, key, made);
    Py_DECREF(made);
    return bad ? NULL : made;
}

/* What an object that is no function is called by, a Python function, or NULL; borrowed. */
static PyObject *call_method(PyObject *o) {
    PyObject *m = PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_HEAPTYPE)
                      ? _PyType_Lookup(Py_TYPE(o), jpy_names.call)
                      : NULL;
    return m && PyFunction_Check(m) ? m : NULL;
}

/* What is called is no function of the program: new reference. */
static PyObject *dull(jpy_function *owner, PyObject *f) {
    if (owner->dull < MANY_DULL && ++owner->dull == MANY_DULL)
        jpy_regions_settle(owner);
    return Py_NewRef(f);
}

/* callee(f): what is called in its place.  `o(x)` of an object is `type(o).__call__(o, x)`; of
 * janus's own objects modules alone are taken. */
static PyObject *callee(PyObject *self_owner, PyObject *f) {
    jpy_function *owner = (jpy_function *)self_owner;
    PyObject *self = PyMethod_Check(f) ? PyMethod_GET_SELF(f) : NULL;
    PyObject *function = self ? PyMethod_GET_FUNCTION(f) : f, *key = function;
    bool may = PyFunction_Check(function) && may_be_decorated(function);
    if (self && PyFunction_Check(function) && applies(self, function)) {
        key = self; /* another function for each class */
        may = true;
    }
    if (!PyFunction_Check(function)) {
        self = f;
        key = (PyObject *)Py_TYPE(f);
        if (PyType_Check(f) || Py_TYPE(f) == jpy.function_type || !(function = call_method(f)))
            return dull(owner, f);
        may = jpy_module_check(f) || may_be_decorated(function);
    }
    if (!may)
        return dull(owner, f);
    PyObject *g = decorated(owner, key, function);
    if (!g)
        return NULL;
    if (g == Py_None || ((jpy_function *)g)->callable != function)
        return Py_NewRef(f);
    if (jpy_regions_differentiate(owner))
        ((jpy_function *)g)->differentiated = true; /* what it returns may be */
    return self ? PyMethod_New(g, self) : Py_NewRef(g);
}

static PyMethodDef def = {"_callee", callee, METH_O, "_callee(f): what is called in its place."};

PyObject *jpy_regions_callee(jpy_function *f) {
    while (f->part_of) /* one Function of each for all skeletons of a text */
        f = f->part_of;
    return PyCFunction_New(&def, (PyObject *)f);
}

PyObject *jpy_regions_callees(const jpy_function *f) {
    PyObject *list = PyList_New(0), *key, *g;
    Py_ssize_t pos = 0;
    while (list && f->callees && PyDict_Next(f->callees, &pos, &key, &g))
        if (Py_TYPE(g) == jpy.function_type && !((jpy_function *)g)->unasked &&
            PyList_Append(list, g) < 0)
            Py_CLEAR(list);
    return list;
}

/* A Function that nobody has asked for is called: with regions in its loops, until it has run an
 * op. */
PyObject *jpy_regions_unasked(jpy_function *f, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames) {
    jn_op_counts before = jn_ops_run;
    Py_INCREF((PyObject *)f);
    bool outer = !f->plain && !jpy_traced() && may_be_decorated(f->callable);
    (void)jpy_warm_callee(f); /* from its first call on */
    jpy_regions_timer timer = {0};
    PyObject *run =
        Py_NewRef(outer ? jpy_regions_begin(f, args, nargsf, kwnames, &timer) : f->callable);
    f->plain++;
    f->thread = PyThread_get_thread_ident();
    PyObject *r = PyObject_Vectorcall(run, args, nargsf, kwnames);
    f->plain--;
    if (JN_UNLIKELY(jpy_shadow_open != NULL))
        r = jpy_regions_ended(r);
    if (!r)
        jpy_nested_raised();
    Py_DECREF(run);
    bool works = jn_ops_run.eager + jn_ops_run.graph >= before.eager + before.graph + 2;
    if (!works)
        f->unasked -= f->unasked > 1;
    else if (jpy_warm_callee(f))
        f->unasked = 0;
    Py_DECREF((PyObject *)f);
    return r;
}
