/* SPDX-License-Identifier: Apache-2.0 */
/*
 * super(): an object whose attributes are those of the classes behind another one in the MRO.
 *
 * super() without arguments is super(__class__, first argument): a cell that the compiler gives
 * methods that name it, and whatever the parameter's variable holds by now.
 */
#include "pyfront/convert/objects/objects.h"

#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/values/values.h"

static jcv_av *first_argument(jcv *c, const jcv_frame *fr) {
    PyObject *names = jcv_own(c, PyObject_GetAttrString(fr->code, "co_varnames"));
    if (!((PyCodeObject *)fr->code)->co_argcount || !PyTuple_GET_SIZE(names))
        jcv_refuse(c, "super(): no arguments");
    return jcv_load(c, PyTuple_GET_ITEM(names, 0));
}

/* The class whose MRO is gone through: the object itself where it is a class below `of`. */
static PyTypeObject *starts_at(PyObject *self, PyObject *of) {
    if (PyType_Check(self) && PyType_IsSubtype((PyTypeObject *)self, (PyTypeObject *)of))
        return (PyTypeObject *)self;
    return Py_TYPE(self);
}

jcv_av *jcv_super(jcv *c, const jcv_args *args) {
    jcv_av *of, *self;
    if (args->n_kw || (args->n_pos != 0 && args->n_pos != 2))
        jcv_refuse(c, "super() with these arguments");
    if (args->n_pos) {
        of = args->pos[0];
        self = args->pos[1];
    } else {
        const jcv_frame *fr = c->frame;
        if (fr->comprehension || !fr->func || !PyFunction_Check(fr->func))
            jcv_refuse(c, "super() in a function or comprehension that is made inside");
        of = jcv_load(c, jcv_own(c, PyUnicode_InternFromString("__class__")));
        self = first_argument(c, fr);
    }
    if (of->kind != AV_PY || !PyType_Check(of->py) || self->kind != AV_PY ||
        !PyType_IsSubtype(starts_at(self->py, of->py), (PyTypeObject *)of->py))
        jcv_refuse(c, "super() of %s", jcv_describe(self));
    jcv_av *a = jcv_new(c, AV_SUPER);
    a->py = of->py;
    a->self = self;
    return a;
}

/* What the classes behind `of` in the MRO have by that name: a new reference, and whose it is. Each
 * class on the way is looked at by itself, which has it guarded, too. */
static PyObject *find(jcv *c, PyTypeObject *t, PyObject *of, PyObject *name, PyObject **out_owner) {
    bool behind = false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(t->tp_mro); i++) {
        PyObject *base = PyTuple_GET_ITEM(t->tp_mro, i);
        if (behind)
            jcv_lookup(c, (PyTypeObject *)base, name);
        PyObject *dict = behind ? PyObject_GetAttrString(base, "__dict__") : NULL;
        PyObject *found = dict ? PyObject_GetItem(dict, name) : NULL;
        Py_XDECREF(dict);
        PyErr_Clear();
        *out_owner = base;
        if (found)
            return found;
        behind = behind || base == of;
    }
    return NULL;
}

jcv_av *jcv_super_attr(jcv *c, jcv_av *a, PyObject *name) {
    PyTypeObject *t = starts_at(a->self->py, a->py);
    bool of_class = a->self->py == (PyObject *)t;
    PyObject *owner, *d = find(c, t, a->py, name, &owner);
    jcv_guard_type(c, t);
    if (!d || PyUnicode_CompareWithASCIIString(name, "__class__") == 0)
        jcv_refuse(c, "super() has no attribute %s", PyUnicode_AsUTF8(name));
    jcv_own(c, d);
    if (Py_TYPE(d) == &PyStaticMethod_Type)
        return jcv_inner_function(c, d);
    if (Py_TYPE(d) == &PyClassMethod_Type)
        return jcv_bound(c, jcv_inner_function(c, d)->py, jcv_py(c, (PyObject *)t, NULL));
    if (of_class && (PyFunction_Check(d) || Py_TYPE(d) == jpy.function_type))
        return jcv_constant(c, d);
    jcv_av *m = jcv_bound(c, d, a->self);
    if (PyFunction_Check(d) || Py_TYPE(d) == jpy.function_type)
        return m;
    if (!of_class && Py_TYPE(d) == &PyProperty_Type) {
        PyObject *get = jcv_own(c, PyObject_GetAttrString(d, "fget"));
        return jcv_call1(c, jcv_constant(c, get), a->self);
    }
    if (!of_class && owner == (PyObject *)&PyBaseObject_Type &&
        PyUnicode_CompareWithASCIIString(name, "__init__") == 0) {
        m->self = a;
        m->text = "__init__";
        return m;
    }
    if (!of_class && jcv_is_dict(a->self) &&
        (Py_TYPE(d) == &PyMethodDescr_Type || Py_TYPE(d) == &PyWrapperDescr_Type))
        return m;
    if (!Py_TYPE(d)->tp_descr_get)
        return jcv_constant(c, d);
    jcv_refuse(c, "the attribute %s of super() is made by a %s", PyUnicode_AsUTF8(name),
               Py_TYPE(d)->tp_name);
}

jcv_av *jcv_super_init(jcv *c, const jcv_args *args) {
    if (args->n_pos || args->n_kw)
        jcv_refuse(c, "object.__init__() with arguments");
    return jcv_none(c);
}
