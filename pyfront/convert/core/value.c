/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Abstract values: making them, wrapping what is read from the heap, and going back to Python
 * objects where everything is known.
 */
#include "pyfront/convert/core/core.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/run/run.h"

jcv_av *jcv_new(jcv *c, jcv_kind kind) {
    jcv_av *a = jcv_alloc(c, sizeof *a);
    a->kind = kind;
    return a;
}

jcv_av *jcv_py(jcv *c, PyObject *o, jpy_src *src) {
    Py_INCREF(o);
    jcv_own(c, o);
    jcv_av *a = jcv_new(c, AV_PY);
    a->py = o;
    a->src = src;
    return a;
}

jcv_av *jcv_take(jcv *c, PyObject *o) {
    jcv_av *a = jcv_new(c, AV_PY);
    a->py = jcv_own(c, o);
    return a;
}

static jcv_av *among(PyObject *o, jcv_av *const *of, unsigned n) {
    jcv_av *found = NULL;
    for (unsigned i = 0; i < n && !found; i++) {
        bool it = of[i]->kind == AV_PY && of[i]->py == o;
        found = it ? of[i] : of[i]->kind == AV_TUPLE ? among(o, of[i]->items, of[i]->n) : NULL;
    }
    return found;
}

jcv_av *jcv_take_of(jcv *c, PyObject *o, jcv_av *const *of, unsigned n) {
    jcv_av *a = jcv_take(c, o);
    jcv_av *one = PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) ? among(o, of, n) : NULL;
    return one ? one : a;
}

jcv_av *jcv_lacking(jcv *c, jcv_lack lack, const char *why) {
    jcv_av *a = jcv_new(c, AV_UNDEF);
    a->lack = lack;
    a->text = why;
    return a;
}

jcv_av *jcv_none(jcv *c) { return jcv_py(c, Py_None, NULL); }
jcv_av *jcv_bool(jcv *c, bool v) { return jcv_py(c, v ? Py_True : Py_False, NULL); }

jcv_av *jcv_scalar(jcv *c, jcv_val *v) {
    jcv_av *a = jcv_new(c, AV_SCALAR);
    a->val = v;
    return a;
}

jcv_av *jcv_tuple(jcv *c, jcv_av *const *items, unsigned n) {
    jcv_av *a = jcv_new(c, AV_TUPLE);
    a->items = jcv_alloc(c, n * sizeof *items);
    if (n)
        memcpy(a->items, items, n * sizeof *items);
    a->n = n;
    return a;
}

uint32_t jcv_slot(jcv *c, jcv_av *first) {
    if (!jn_vec_push(&c->slots, first) || !jn_vec_push(&c->slot_init, first))
        jcv_refuse(c, "out of memory");
    return (uint32_t)c->slots.n - 1;
}

jcv_av *jcv_tuple_like(jcv *c, const jcv_av *like) {
    jcv_av *a = jcv_tuple(c, like->items, like->n);
    a->named = like->named;
    a->text = like->text;
    return a;
}

long jcv_long(jcv *c, const jcv_av *a) {
    long i = PyLong_Check(a->py) ? PyLong_AsLong(a->py) : -1;
    if (i == -1 && PyErr_Occurred())
        jcv_refuse_py(c);
    return i;
}

jcv_val *jcv_number(jcv *c, jcv_av *a) {
    if (a->kind == AV_SCALAR)
        return a->val;
    if (a->kind != AV_PY)
        return NULL;
    janus_scalar s = {0};
    if (PyBool_Check(a->py)) {
        s.i = a->py == Py_True;
        return jcv_scalar_const(c, JANUS_KIND_BOOL, s);
    }
    if (PyFloat_CheckExact(a->py)) {
        s.f = PyFloat_AS_DOUBLE(a->py);
        return jcv_scalar_const(c, JANUS_KIND_FLOAT, s);
    }
    if (PyLong_CheckExact(a->py)) {
        int overflow;
        s.i = PyLong_AsLongLongAndOverflow(a->py, &overflow);
        if (overflow)
            jcv_refuse(c, "an int of more than 64 bits");
        return jcv_scalar_const(c, JANUS_KIND_INT, s);
    }
    return NULL;
}

const char *jcv_describe(jcv_av *a) {
    static const char *const names[] = {"an unbound name",
                                        "a Python object",
                                        "a tensor",
                                        "a number of the graph",
                                        "an object of the graph",
                                        "a tuple",
                                        "a list",
                                        "a dict",
                                        "a method",
                                        "a function",
                                        "a range",
                                        "an iterator",
                                        "an iterator of unknown length",
                                        "the rows of a list",
                                        "a sum",
                                        "a choice of functions",
                                        "what a tensor holds",
                                        "super()",
                                        "text with numbers of the graph",
                                        "an optional value"};
    if (a->kind == AV_SEQ && a->text)
        return a->text;
    if (a->kind == AV_PY)
        return Py_TYPE(a->py)->tp_name;
    return names[a->kind];
}

const char jcv_slice_text[] = "a slice";

const jpy_tree *jcv_made_at(const jcv_av *a) {
    if (a->kind == AV_SEQ)
        return a->slot || a->named ? NULL : a->site;
    return (a->kind == AV_LIST || a->kind == AV_DICT) && !a->origin ? a->tree : NULL;
}

bool jcv_is_slice(const jcv_av *a) { return a->kind == AV_SEQ && a->text == jcv_slice_text; }

const char jcv_stacked[] = "a list of unknown length";

bool jcv_is_stacked(const jcv_av *a) {
    return a->kind == AV_SEQ && a->text == jcv_stacked && !a->slot;
}

jcv_av *jcv_stack(jcv *c, jcv_val *v, bool tracked) {
    jcv_av *a = jcv_new(c, AV_STACK);
    a->val = v;
    a->n = tracked;
    return a;
}
