/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions and classes of CPython that are written in C, by what they mean in Python.
 *
 * The table is the package's (`janus/_models/`): from what a program calls to a function or class
 * with the same meaning, which is converted like the program's own.  An instance of such a class
 * answers for the class that it stands for, and cannot leave the graph.  Another table
 * (`_by_numbers.py`) is of janus's own functions, for arguments that are numbers of the graph.
 */
#include "pyfront/convert/objects/objects.h"

#include "pyfront/convert/heap/heap.h"

static struct {
    PyObject *of;     /* dict: called -> model */
    PyObject *back;   /* dict: class of a model -> class that it stands for */
    PyObject *called; /* set: functions that are called on constants */
    PyObject *sizes;  /* dict: name of one of janus's functions -> model */
    PyObject *lists;  /* dict: name of a list's method -> model, "[]" behind it: with a slice */
    PyObject *calls;  /* dict: type of what is called -> model that gets it first */
    PyObject *turns;  /* dict: name of a builtin that goes over iterators -> model */
    PyObject *asks;   /* function: whether a tensor has no attributes */
    PyObject *later;  /* dict: module -> what adds the models of its functions */
} tables;

static bool load(void) {
    if (tables.of)
        return true;
    PyObject *m = PyImport_ImportModule("janus._models"), *key, *value;
    PyObject *by_numbers = m ? PyImport_ImportModule("janus._by_numbers") : NULL;
    PyObject *sizes = by_numbers ? PyObject_GetAttrString(by_numbers, "MODELS") : NULL;
    PyObject *of = m ? PyObject_GetAttrString(m, "MODELS") : NULL;
    PyObject *called = m ? PyObject_GetAttrString(m, "AS_THEY_ARE") : NULL;
    PyObject *lists = m ? PyObject_GetAttrString(m, "LISTS") : NULL;
    PyObject *calls = m ? PyObject_GetAttrString(m, "CALLS") : NULL;
    PyObject *later = m ? PyObject_GetAttrString(m, "LATER") : NULL;
    PyObject *asks = m ? PyObject_GetAttrString(m, "ASKS_FOR_ATTRIBUTES") : NULL;
    PyObject *turns = m ? PyObject_GetAttrString(m, "IN_TURN") : NULL;
    PyObject *back =
        of && called && sizes && lists && calls && turns && later && asks ? PyDict_New() : NULL;
    Py_ssize_t at = 0;
    bool ok = back != NULL;
    while (ok && PyDict_Next(of, &at, &key, &value))
        ok = !PyType_Check(value) || PyDict_SetItem(back, value, key) == 0;
    PyObject *also = ok ? PyObject_GetAttrString(m, "ALSO_MADE") : NULL;
    ok = also && PyDict_Update(back, also) == 0;
    Py_XDECREF(also);
    Py_XDECREF(m);
    Py_XDECREF(by_numbers);
    if (!ok) {
        Py_XDECREF(sizes);
        Py_XDECREF(lists);
        Py_XDECREF(calls);
        Py_XDECREF(turns);
        Py_XDECREF(later);
        Py_XDECREF(asks);
        Py_XDECREF(of);
        Py_XDECREF(called);
        Py_XDECREF(back);
        return false;
    }
    tables.of = of;
    tables.called = called;
    tables.back = back;
    tables.sizes = sizes;
    tables.lists = lists;
    tables.calls = calls;
    tables.turns = turns;
    tables.later = later;
    tables.asks = asks;
    return true;
}

/* Whether finding it in a dict runs no code of the program's. */
static bool can_look_up(PyObject *o) {
    return PyCFunction_Check(o) || PyFunction_Check(o) || Py_TYPE(o) == &PyType_Type ||
           Py_TYPE(o) == &PyMethodDescr_Type;
}

/* Models of functions of modules that few programs import are made when one is called. */
static void add_later(jcv *c, PyObject *o) {
    PyObject *module = PyFunction_Check(o) ? ((PyFunctionObject *)o)->func_module : NULL;
    PyObject *add = module && PyUnicode_CheckExact(module) && PyDict_GET_SIZE(tables.later)
                        ? PyDict_GetItemWithError(tables.later, module)
                        : NULL;
    if (!add)
        return;
    jcv_own(c, Py_NewRef(add));
    if (PyDict_DelItem(tables.later, module) < 0)
        jcv_refuse_py(c);
    PyObject *also = jcv_own(c, PyObject_CallNoArgs(add));
    if (PyDict_Check(also) && PyDict_Update(tables.back, also) < 0)
        jcv_refuse_py(c);
}

PyObject *jcv_model_of(jcv *c, PyObject *o) {
    if (!can_look_up(o))
        return NULL;
    if (!load())
        jcv_refuse_py(c);
    add_later(c, o);
    return PyDict_GetItemWithError(tables.of, o);
}

PyObject *jcv_call_model(jcv *c, PyObject *o) {
    if (!load())
        jcv_refuse_py(c);
    return Py_TYPE(Py_TYPE(o)) == &PyType_Type
               ? PyDict_GetItemWithError(tables.calls, (PyObject *)Py_TYPE(o))
               : NULL;
}

jcv_av *jcv_call_for(jcv *c, PyObject *of, PyObject *model, const jcv_args *args) {
    jcv_av *r = jcv_call(c, jcv_constant(c, model), args);
    bool made =
        (r->kind == AV_SEQ && r->tree) || (r->kind == AV_ITER && r->slot) || r->kind == AV_CLOSURE;
    if (PyCFunction_Check(of) && PyCFunction_GET_SELF(of)) /* chain.from_iterable() */
        of = PyCFunction_GET_SELF(of);
    if (made && PyType_Check(of) && !PyType_Check(model))
        r->named = of;
    return r;
}

PyObject *jcv_model_in_turn(jcv *c, const char *name) {
    if (!load())
        jcv_refuse_py(c);
    return PyDict_GetItemString(tables.turns, name);
}

/* Whether it is a number of the graph, or a tuple with one. */
static bool has_number(const jcv_av *a) {
    bool any = a->kind == AV_SCALAR;
    for (unsigned i = 0; a->kind == AV_TUPLE && i < a->n && !any; i++)
        any = a->items[i]->kind == AV_SCALAR;
    return any;
}

PyObject *jcv_model_by_numbers(jcv *c, const char *name, const jcv_args *args) {
    bool any = false;
    for (unsigned i = 0; i < args->n_pos + args->n_kw && !any; i++)
        any = has_number(i < args->n_pos ? args->pos[i] : args->kw[i - args->n_pos]);
    if (!any)
        return NULL;
    if (!load())
        jcv_refuse_py(c);
    return PyDict_GetItemString(tables.sizes, name);
}

PyObject *jcv_list_model(jcv *c, const char *method, bool slice) {
    char name[32];
    if (!load())
        jcv_refuse_py(c);
    snprintf(name, sizeof name, "%s%s", method, slice ? "[]" : "");
    return PyDict_GetItemString(tables.lists, name);
}

PyTypeObject *jcv_stands_for(PyTypeObject *t) {
    PyObject *real = tables.back && Py_TYPE(t) == &PyType_Type
                         ? PyDict_GetItemWithError(tables.back, (PyObject *)t)
                         : NULL;
    return real ? (PyTypeObject *)real : t;
}

bool jcv_called_as_it_is(PyObject *function) {
    bool is = tables.called && PySet_Contains(tables.called, function) > 0;
    PyErr_Clear();
    return is;
}

bool jcv_asks_for_attributes(PyObject *function) { return function == tables.asks; }

jcv_av *jcv_new_set(jcv *c, jcv_av *const *items, unsigned n, bool in_order) {
    PyObject *model = jcv_model_of(c, (PyObject *)&PySet_Type);
    jcv_av *s = jcv_make_object(c, (PyTypeObject *)model, &(jcv_args){0});
    jcv_av *add = jcv_getattr(c, s, jcv_own(c, PyUnicode_InternFromString("add")));
    for (unsigned i = 0; i < n; i++)
        jcv_call1(c, add, items[i]);
    if (!in_order)
        jcv_setattr(c, s, jcv_own(c, PyUnicode_InternFromString("_added")), jcv_bool(c, false));
    return s;
}
