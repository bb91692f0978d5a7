/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call of a class does: type.__call__, object.__new__ and tuple.__new__, __init__.
 *
 * A class is called by its __new__, which gives an object, and if that is an instance of the class,
 * by the __init__ of its type.
 */
#include "pyfront/convert/objects/objects.h"

#include <string.h>

#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/values/values.h"

/* Whether `fn` is the __new__ that CPython gives a type for its tp_new. */
static bool is_new_of(PyObject *fn, PyTypeObject *t) {
    return PyCFunction_Check(fn) && PyCFunction_GET_SELF(fn) == (PyObject *)t &&
           !strcmp(((PyCFunctionObject *)fn)->m_ml->ml_name, "__new__");
}

/* Whether all that makes instances of it is object's or that of `native`, or written in Python. */
static bool made_by(PyTypeObject *t, PyTypeObject *native) {
    PyObject *name = PyUnicode_InternFromString("__new__");
    bool yes = name && PyTuple_Check(t->tp_mro);
    for (Py_ssize_t i = 0; yes && i < PyTuple_GET_SIZE(t->tp_mro); i++) {
        PyObject *base = PyTuple_GET_ITEM(t->tp_mro, i);
        PyObject *dict = jcv_attr_or_null(base, "__dict__");
        PyObject *d = dict ? PyObject_GetItem(dict, name) : NULL;
        PyErr_Clear();
        yes = dict && (!d || !PyCFunction_Check(d) || base == (PyObject *)&PyBaseObject_Type ||
                       base == (PyObject *)native);
        Py_XDECREF(d);
        Py_XDECREF(dict);
    }
    Py_XDECREF(name);
    return yes;
}

static bool is_plain(PyTypeObject *t, PyTypeObject *native) {
    return Py_TYPE(t)->tp_call == PyType_Type.tp_call && (t->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
           made_by(t, native) && t->tp_getattro == PyObject_GenericGetAttr && !t->tp_finalize &&
           !t->tp_del && !t->tp_itemsize && t->tp_alloc == PyType_GenericAlloc && t->tp_base;
}

bool jcv_is_plain_class(PyTypeObject *t) { return is_plain(t, &PyBaseObject_Type); }

/* Slots of an instance that is made here are known by the names of their attributes. */
static void members_by_name(jcv *c, PyTypeObject *t) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(t->tp_mro); i++) {
        const PyTypeObject *k = (PyTypeObject *)PyTuple_GET_ITEM(t->tp_mro, i);
        PyObject *name, *d;
        Py_ssize_t at = 0;
        while ((k->tp_flags & Py_TPFLAGS_HEAPTYPE) && PyDict_Next(k->tp_dict, &at, &name, &d))
            if (Py_IS_TYPE(d, &PyMemberDescr_Type) && PyUnicode_Compare(PyDescr_NAME(d), name))
                jcv_refuse(c, "a slot of %s with two names", t->tp_name);
    }
}

/* native: object or dict, whose __new__ makes it. */
static jcv_av *blank_instance(jcv *c, PyTypeObject *t, PyTypeObject *native) {
    PyObject *blank = jcv_own(c, native->tp_new(t, jpy.empty_tuple, NULL));
    if (!jn_vec_push(&c->fresh, blank))
        jcv_refuse(c, "out of memory");
    jcv_guard_type(c, t);
    members_by_name(c, t);
    return jcv_py(c, blank, NULL);
}

/* One of a class derived from dict: its pairs are those of a dict that stands for it. */
static jcv_av *blank_dict(jcv *c, PyTypeObject *t) {
    jcv_av *o = blank_instance(c, t, &PyDict_Type), *pairs = jcv_dict(c);
    if (pairs->kind != AV_DICT)
        jcv_refuse(c, "a %s of the graph is made", t->tp_name);
    pairs->origin = o;
    jcv_av *none = jcv_tuple(c, NULL, 0);
    none->text = jcv_cleared; /* nothing is in it but what is put there */
    jcv_put(c, pairs->slot, none);
    if (!jn_vec_push(&c->real, pairs))
        jcv_refuse(c, "out of memory");
    return o;
}

jcv_args *jcv_behind(jcv *c, jcv_av *first, const jcv_args *args) {
    jcv_args *more = jcv_alloc(c, sizeof *more);
    *more = *args;
    more->n_pos++;
    more->pos = jcv_alloc(c, more->n_pos * sizeof *more->pos);
    more->pos[0] = first;
    if (args->n_pos)
        memcpy(more->pos + 1, args->pos, args->n_pos * sizeof *more->pos);
    return more;
}

/* tuple.__new__(t, items): a tuple that knows its type. */
static jcv_av *new_tuple(jcv *c, PyTypeObject *t, const jcv_args *args) {
    if (t->tp_dictoffset &&
        jcv_lookup_str(c, t, "__setattr__") != jcv_lookup_str(c, &PyBaseObject_Type, "__setattr__"))
        jcv_refuse(c, "an instance of %s is made", t->tp_name);
    jcv_av *a = jcv_make_list(c, args, false);
    if (a->kind != AV_TUPLE)
        jcv_refuse(c, "a %s of a number of items that only the run knows", t->tp_name);
    jcv_guard_type(c, t);
    jcv_av *named = jcv_tuple(c, a->items, a->n);
    named->named = (PyObject *)t;
    return named;
}

jcv_av *jcv_call_new(jcv *c, PyObject *fn, const jcv_args *args) {
    if (!args->n_pos || args->pos[0]->kind != AV_PY || !PyType_Check(args->pos[0]->py))
        return NULL;
    PyTypeObject *t = (PyTypeObject *)args->pos[0]->py;
    jcv_args rest = *args;
    rest.n_pos--;
    rest.pos++;
    if (jcv_is_new_of_named(fn, t))
        return jcv_make_named(c, t, fn, &rest);
    if (is_new_of(fn, &PyBaseObject_Type) && !rest.n_pos && !rest.n_kw && jcv_is_plain_class(t))
        return blank_instance(c, t, &PyBaseObject_Type);
    if (is_new_of(fn, &PyDict_Type) && t != &PyDict_Type && jpy_type_has_pairs_alone(t) &&
        is_plain(t, &PyDict_Type))
        return blank_dict(c, t);
    if (is_new_of(fn, &PyTuple_Type) && t != &PyTuple_Type && PyType_IsSubtype(t, &PyTuple_Type) &&
        rest.n_pos <= 1 && !rest.n_kw)
        return new_tuple(c, t, &rest);
    return NULL;
}

/* type(o).__init__(o, *args); own_new: the class has a __new__, which may have taken the arguments.
 */
static void init_instance(jcv *c, jcv_av *o, PyTypeObject *t, const jcv_args *args, bool own_new) {
    PyObject *init = jcv_lookup_str(c, t, "__init__");
    PyObject *fields = jcv_lookup_str(c, t, "__dataclass_fields__");
    if (t->tp_init == PyBaseObject_Type.tp_init) {
        if (!own_new && (args->n_pos || args->n_kw))
            jcv_refuse(c, "an unexpected argument");
        return;
    }
    if (init && Py_TYPE(init) == &PyWrapperDescr_Type && PyDescr_TYPE(init) == &PyDict_Type &&
        o->kind == AV_PY && jcv_is_fresh(c, o->py)) {
        jcv_call_method(c, o, "__init__", args);
        return;
    }
    if (!init || !PyFunction_Check(init))
        jcv_refuse(c, "an object of type %s is made", t->tp_name);
    if (jcv_is_generated(init) && fields && PyDict_CheckExact(fields)) {
        if (!(o->kind == AV_PY && jcv_is_fresh(c, o->py)) ||
            (t->tp_setattro != PyObject_GenericSetAttr &&
             !jcv_is_generated(jcv_lookup_str(c, t, "__setattr__"))))
            jcv_refuse(c, "%s sets attributes in its own way", t->tp_name);
        jcv_init_dataclass(c, o, init, fields, args);
        return;
    }
    jcv_args *more = jcv_behind(c, o, args);
    jcv_av *r = jcv_call(c, jcv_py(c, init, NULL), more);
    if (!(r->kind == AV_PY && r->py == Py_None))
        jcv_refuse(c, "__init__() returns something");
}

/* What its __new__ gives; NULL: not known here. */
static jcv_av *made_by_new(jcv *c, PyTypeObject *t, PyObject *d, const jcv_args *args) {
    PyObject *fn =
        Py_TYPE(d) == &PyStaticMethod_Type ? jcv_own(c, PyObject_GetAttrString(d, "__func__")) : d;
    jcv_args *more = jcv_behind(c, jcv_py(c, (PyObject *)t, NULL), args);
    if (is_new_of(fn, &PyBaseObject_Type)) /* leaves them to __init__ */
        more->n_pos = 1, more->n_kw = 0;
    return PyFunction_Check(fn) ? jcv_call(c, jcv_constant(c, fn), more)
                                : jcv_call_new(c, fn, more);
}

/* types.SimpleNamespace(**attributes) */
static jcv_av *new_namespace(jcv *c, PyTypeObject *t, const jcv_args *args) {
    if (args->n_pos)
        jcv_refuse(c, "a %s of pairs", t->tp_name);
    PyObject *blank = jcv_own(c, jpy_blank(t));
    if (!jn_vec_push(&c->fresh, blank))
        jcv_refuse(c, "out of memory");
    jcv_av *o = jcv_py(c, blank, NULL);
    for (unsigned i = 0; i < args->n_kw; i++) {
        PyObject *name = Py_NewRef(args->names[i]);
        PyUnicode_InternInPlace(&name);
        jcv_set_fresh(c, o, jcv_own(c, name), args->kw[i]);
    }
    return o;
}

jcv_av *jcv_make_object(jcv *c, PyTypeObject *t, const jcv_args *args) {
    if (t == jpy_namespace_type())
        return new_namespace(c, t, args);
    PyObject *d = Py_TYPE(t)->tp_call == PyType_Type.tp_call && (t->tp_flags & Py_TPFLAGS_HEAPTYPE)
                      ? jcv_lookup_str(c, t, "__new__")
                      : NULL;
    jcv_av *o = d ? made_by_new(c, t, d, args) : NULL;
    if (!o)
        return NULL;
    PyTypeObject *of = jcv_type_of(c, o);
    if (!of)
        jcv_refuse(c, "a %s is made by its own __new__", t->tp_name);
    if (PyType_IsSubtype(of, t) || PyType_IsSubtype(jcv_stands_for(of), t))
        init_instance(c, o, of, args, !PyCFunction_Check(d));
    return o;
}
