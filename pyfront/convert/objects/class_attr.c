/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes of classes: read as type.__getattribute__ would.  What the metaclass has comes first
 * where it is a data descriptor, and last where it is not.
 */
#include "pyfront/convert/objects/objects.h"

#include "pyfront/convert/heap/heap.h"

jcv_av *jcv_type_value(jcv *c, PyTypeObject *t, PyObject *name, PyObject *v) {
    jpy_src *s = jpy_src_get(c->guards, JPY_SRC_TYPE, NULL, (PyObject *)t, name, 0);
    if (!s)
        jcv_refuse(c, "out of memory");
    return jcv_wrap(c, v, s);
}

/* A function that a type has in a descriptor, which is looked up again at every call. */
jcv_av *jcv_inner_function(jcv *c, PyObject *d) {
    return jcv_constant(c, jcv_own(c, PyObject_GetAttrString(d, "__func__")));
}

/* A member of an enumeration, which nobody can assign; borrowed.  NULL: it is something else. */
static PyObject *enum_member(jcv *c, PyTypeObject *t, PyObject *name) {
    PyObject *map = jcv_lookup_str(c, t, "_member_map_");
    PyObject *v = map && PyDict_CheckExact(map) ? PyDict_GetItemWithError(map, name) : NULL;
    return v && jcv_is_enum(v) && Py_TYPE(v) == t ? v : NULL;
}

/* What type.__doc__ and type.__module__ give of a class made in Python: what its own dict has,
 * which nobody can delete; borrowed.  NULL: the name is none of these, or it computes what it
 * gives. */
static PyObject *own_text(PyTypeObject *t, PyObject *name) {
    bool text = PyUnicode_CompareWithASCIIString(name, "__doc__") == 0 ||
                PyUnicode_CompareWithASCIIString(name, "__module__") == 0;
    PyObject *own = text && PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE)
                        ? PyDict_GetItemWithError(t->tp_dict, name)
                        : NULL;
    return own && !Py_TYPE(own)->tp_descr_get ? own : NULL;
}

jcv_av *jcv_class_attr(jcv *c, jcv_av *o, PyObject *name) {
    PyTypeObject *t = (PyTypeObject *)o->py, *meta = Py_TYPE(t);
    PyObject *of_meta = jcv_lookup(c, meta, name);
    jcv_guard_type(c, t);
    PyObject *member = enum_member(c, t, name);
    if (member)
        return jcv_wrap(c, member, jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, member, 2));
    bool types = of_meta && of_meta == _PyType_Lookup(&PyType_Type, name);
    bool first = of_meta && Py_TYPE(of_meta)->tp_descr_set; /* it comes before what the class has */
    if (jcv_lookup_str(c, meta, "__getattribute__") !=
            jcv_lookup_str(c, &PyType_Type, "__getattribute__") ||
        (first && !types))
        jcv_refuse(c, "an attribute of a metaclass");
    if (PyUnicode_CompareWithASCIIString(name, "__name__") == 0)
        return jcv_take(c, PyObject_GetAttr(o->py, name));
    PyObject *own = types ? own_text(t, name) : NULL;
    if (own)
        return jcv_type_value(c, t, name, own);
    if (first)
        jcv_refuse(c, "the attribute %s of a class", PyUnicode_AsUTF8(name));
    jcv_attr *written = jcv_find_attr(c, o->py, name);
    if (written)
        return c->slots.data[written->slot];
    PyObject *d = jcv_lookup_kind(c, t, name);
    if (!d && (of_meta || jcv_lookup_str(c, meta, "__getattr__")))
        jcv_refuse(c, "the attribute %s of a class", PyUnicode_AsUTF8(name));
    if (!d)
        return NULL;
    PyTypeObject *dt = Py_TYPE(d);
    if (dt == &PyClassMethod_Type || dt == &PyStaticMethod_Type) {
        jcv_av *f = jcv_inner_function(c, d);
        return dt == &PyStaticMethod_Type ? f : jcv_bound(c, f->py, o);
    }
    if (dt == &PyClassMethodDescr_Type) /* bound, and equal to itself whenever it is taken */
        return jcv_take(c, PyObject_GetAttr(o->py, name));
    bool itself = !dt->tp_descr_get || PyFunction_Check(d) || dt == &PyMethodDescr_Type ||
                  dt == &PyWrapperDescr_Type || dt == jpy.function_type || dt == jpy.op_type;
    if (!itself)
        jcv_refuse(c, "the attribute %s of a class is made by a %s", PyUnicode_AsUTF8(name),
                   dt->tp_name);
    return jcv_type_value(c, t, name, d);
}
