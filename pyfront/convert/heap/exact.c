/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact values of instances of classes that derive from int, float and str.  They are told by
 * their identity (jcv_wrap), and a value that CPython's own type holds never changes.
 */
#include "pyfront/convert/heap/heap.h"

PyTypeObject *jcv_exact_type(PyObject *o) {
    PyTypeObject *t = PyLong_Check(o)      ? &PyLong_Type
                      : PyFloat_Check(o)   ? &PyFloat_Type
                      : PyUnicode_Check(o) ? &PyUnicode_Type
                                           : NULL;
    return t == Py_TYPE(o) || PyBool_Check(o) ? NULL : t;
}

bool jcv_is_data(const jcv_av *a) {
    const jpy_src *s = a->src;
    while (s && s->kind != JPY_SRC_ITEM)
        s = s->parent;
    return s != NULL;
}

PyObject *jcv_exact_value(jcv *c, PyObject *o) {
    PyTypeObject *t = jcv_exact_type(o);
    if (!t)
        return NULL;
    PyObject *v = t == &PyLong_Type    ? PyLong_Type.tp_as_number->nb_int(o)
                  : t == &PyFloat_Type ? PyFloat_FromDouble(PyFloat_AS_DOUBLE(o))
                                       : PyUnicode_FromObject(o);
    return jcv_own(c, v);
}

PyObject *jcv_exact_number(jcv *c, PyObject *o) {
    static const char *const asked[] = {"__int__",   "__float__", "__index__",  "__abs__",
                                        "__round__", "__floor__", "__ceil__",   "__trunc__",
                                        "__pow__",   "__rpow__",  "__divmod__", "__rdivmod__",
                                        "__lt__",    "__gt__",    "__eq__"};
    PyTypeObject *t = jcv_exact_type(o);
    for (size_t i = 0; t && i < sizeof asked / sizeof *asked; i++) {
        PyObject *name = jcv_own(c, PyUnicode_InternFromString(asked[i]));
        if (t == &PyUnicode_Type || jcv_lookup(c, Py_TYPE(o), name) != _PyType_Lookup(t, name))
            return NULL;
    }
    return t ? jcv_exact_value(c, o) : NULL;
}
