/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native methods by their names: `items.__getitem__(i)`, `dict.get(d, k)`.
 *
 * A special method that C code defines does what the syntax does that leads to it, if that asks
 * nothing but this one type: an operator between two values of one type never declines.
 */
#include "pyfront/convert/objects/objects.h"

#include <string.h>

#include "pyfront/base/names.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/values/values.h"
#include "pyfront/methods/methods.h"

/* The row whose forward method has this name; -1: none. */
static int slot_named(jcv *c, const char *name) {
    for (int slot = 0; slot < JCV_N_SLOTS && !strncmp(name, "__", 2); slot++)
        if (PyUnicode_CompareWithASCIIString(jcv_slot_name(c, slot, JCV_METHOD), name) == 0)
            return slot;
    return -1;
}

/* Of which types the methods mean what the syntax does, and nothing more. */
static bool plain_type(const PyTypeObject *t) {
    return t == &PyList_Type || t == &PyTuple_Type || t == &PyDict_Type || t == &PyRange_Type ||
           t == &PyLong_Type || t == &PyFloat_Type || t == &PyBool_Type;
}

static jcv_av *alone(jcv *c, int slot, jcv_av *self) {
    switch (slot) {
    case JCV_S_NEG:
    case JCV_S_POS:
    case JCV_S_INVERT:
        return c->native->unary(c,
                                slot == JCV_S_NEG   ? JPY_U_NEG
                                : slot == JCV_S_POS ? JPY_U_POS
                                                    : JPY_U_INVERT,
                                self);
    case JCV_S_LEN:
        return c->native->length(c, self);
    case JCV_S_ITER:
        return jcv_b_iter(c, &(jcv_args){.pos = &self, .n_pos = 1});
    default:
        return NULL;
    }
}

jcv_av *jcv_special_by_name(jcv *c, jcv_av *self, const char *name, const jcv_args *a) {
    int slot = slot_named(c, name);
    PyTypeObject *t = slot < 0 || a->n_kw ? NULL : jcv_type_of(c, self);
    bool pairs = t && jcv_is_dict(self); /* and what a class derived from dict inherits */
    if (!t || !(plain_type(t) || (pairs && jcv_own_method(c, t, name))))
        return NULL;
    if (pairs && slot == JCV_S_ITER)
        self = jcv_call_method(c, self, "keys", &(jcv_args){0});
    if (a->n_pos == 0)
        return alone(c, slot, self);
    if (a->n_pos == 2 && slot == JCV_S_SETITEM) {
        c->native->setitem(c, self, a->pos[0], a->pos[1]);
        return jcv_none(c);
    }
    if (a->n_pos != 1)
        return NULL;
    if (slot == JCV_S_GETITEM)
        return c->native->getitem(c, self, a->pos[0]);
    if (slot == JCV_S_CONTAINS && !pairs)
        return c->native->contains(c, self, a->pos[0]);
    if (slot > JCV_S_GE || !plain_type(t) || jcv_type_of(c, a->pos[0]) != t)
        return NULL;
    return slot < JCV_S_EQ ? c->native->binary(c, slot - JCV_S_ADD, self, a->pos[0], false)
                           : c->native->compare(c, slot - JCV_S_EQ + JPY_EQ, self, a->pos[0]);
}

/* object.__setattr__(o, name, v) of an instance that is made here: frozen ones set their attributes
 * so.  NULL: of another one. */
static jcv_av *set_as_object(jcv *c, const jcv_args *a) {
    const jcv_av *o = a->n_pos == 3 && !a->n_kw ? a->pos[0] : NULL;
    PyObject *name = o ? jcv_const_object(c, a->pos[1]) : NULL;
    if (!name || !PyUnicode_CheckExact(name) || o->kind != AV_PY || !jcv_is_fresh(c, o->py) ||
        !jcv_is_plain_class(Py_TYPE(o->py)) || jpy_module_check(o->py))
        return NULL;
    PyTypeObject *t = Py_TYPE(o->py);
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    PyObject *d = jcv_lookup_kind(c, t, jcv_own(c, name));
    bool data = d && Py_TYPE(d)->tp_descr_set;
    if (data ? !jpy_is_member(t, d) : !t->tp_dictoffset)
        return NULL;
    jcv_set_fresh(c, a->pos[0], name, a->pos[2]);
    return jcv_none(c);
}

jcv_av *jcv_call_unbound(jcv *c, PyObject *method, const jcv_args *a) {
    if (method == _PyType_Lookup(&PyBaseObject_Type, jpy_names.setattr)) {
        jcv_av *set = set_as_object(c, a);
        if (set)
            return set;
    }
    bool native = Py_TYPE(method) == &PyMethodDescr_Type || Py_TYPE(method) == &PyWrapperDescr_Type;
    if (!native || !a->n_pos || !(PyDescr_TYPE(method)->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) ||
        (jcv_type_of(c, a->pos[0]) != PyDescr_TYPE(method) &&
         !(jcv_is_dict(a->pos[0]) &&
           jcv_own_method(c, jcv_type_of(c, a->pos[0]), PyUnicode_AsUTF8(PyDescr_NAME(method))) ==
               method)))
        return NULL;
    jcv_args rest = *a;
    rest.pos++;
    rest.n_pos--;
    return jcv_call_method(c, a->pos[0], PyUnicode_AsUTF8(PyDescr_NAME(method)), &rest);
}

/* ---- descriptors whose class is the program's --------------------------------------------------
 */

PyObject *jcv_python_get(jcv *c, PyObject *d) {
    PyTypeObject *t = Py_TYPE(d);
    PyObject *get = t->tp_descr_get && PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE)
                        ? jcv_lookup_str(c, t, "__get__")
                        : NULL;
    return get && PyFunction_Check(get) ? get : NULL;
}

jcv_av *jcv_call_get(jcv *c, jcv_av *o, PyTypeObject *t, PyObject *d, jcv_av *descriptor) {
    jcv_av *args[2] = {o, jcv_py(c, (PyObject *)jcv_stands_for(t), NULL)};
    return jcv_call_special(c, descriptor, jcv_python_get(c, d), args, 2);
}

/* ---- parts of functions ------------------------------------------------------------------------
 */

/* What a variable of a function's enclosing one holds, read by the function's own cell: functions
 * with the same code are one to the guards, each with what its cells hold.  NULL: there is none of
 * the name. */
jcv_av *jcv_enclosed(jcv *c, jcv_av *f, const char *name) {
    jcv_outer x;
    if (!jcv_free_var(c, f->py, f->src, jcv_own(c, PyUnicode_FromString(name)), &x))
        return NULL;
    PyObject *held = PyCell_GET(x.holder);
    return held ? jcv_wrap(c, held, x.value_src) : NULL;
}

jcv_av *jcv_function_part(jcv *c, jcv_av *f, PyObject *name, jpy_src *s) {
    static const char *const parts[] = {[JPY_FUNC_NAME] = "__name__",
                                        [JPY_FUNC_DOC] = "__doc__",
                                        [JPY_FUNC_QUALNAME] = "__qualname__",
                                        [JPY_FUNC_MODULE] = "__module__"};
    int part = JPY_FUNC_MODULE;
    while (part >= JPY_FUNC_NAME && PyUnicode_CompareWithASCIIString(name, parts[part]))
        part--;
    PyObject *fn = f->py;
    if (part < JPY_FUNC_NAME)
        return NULL;
    if (PyMethod_Check(fn)) {
        PyObject *key = jcv_own(c, PyUnicode_InternFromString("__func__"));
        fn = PyMethod_GET_FUNCTION(fn);
        s = jpy_src_get(c->guards, JPY_SRC_ATTR, s, NULL, key, 0);
        if (!s || !PyFunction_Check(fn))
            jcv_refuse(c, "the %s of %s", parts[part], Py_TYPE(fn)->tp_name);
        jcv_wrap(c, fn, s);
    }
    s = jpy_src_get(c->guards, JPY_SRC_FUNC, s, NULL, NULL, part);
    if (!s)
        jcv_refuse(c, "out of memory");
    PyObject *held = *jpy_function_part(fn, part);
    if (!held) /* it reads as None, but is not there for the guards */
        jcv_refuse(c, "the %s of a function that has none", parts[part]);
    return jcv_wrap(c, held, s);
}
