/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instances of classes that derive from int, float and str: members of an IntEnum, above all.
 * A method that such a class has from CPython's own type looks at the value alone, and never gives
 * back the object itself; so to it the instance and the exact value are one.
 */
#include "pyfront/convert/model/model.h"

#include <string.h>

#include "pyfront/convert/heap/heap.h"

jcv_av *jcv_as_exact(jcv *c, jcv_av *a, int slot) {
    PyTypeObject *t = a->kind == AV_PY && !jcv_is_data(a) ? jcv_exact_type(a->py) : NULL;
    for (int which = JCV_METHOD; t && which <= JCV_REFLECTED; which++) {
        PyObject *name = jcv_slot_has(slot, which) ? jcv_slot_name(c, slot, which) : NULL;
        if (name && jcv_lookup(c, Py_TYPE(a->py), name) != _PyType_Lookup(t, name))
            return a;
    }
    return t ? jcv_py(c, jcv_exact_value(c, a->py), NULL) : a;
}

jcv_av *jcv_as_index(jcv *c, jcv_av *a) {
    bool number =
        a->kind == AV_PY && !jcv_is_data(a) && PyLong_Check(a->py) && jcv_exact_type(a->py);
    return number ? jcv_py(c, jcv_exact_value(c, a->py), NULL) : a;
}

jcv_av *jcv_as_number(jcv *c, jcv_av *a) {
    PyObject *v = a->kind == AV_PY && !jcv_is_data(a) ? jcv_exact_number(c, a->py) : NULL;
    return v ? jcv_py(c, v, NULL) : a;
}

/* Functions that make numbers of numbers, and give none of their arguments back. */
static bool of_numbers(PyObject *o, const char *name) {
    static const char *const names[] = {"abs", "round", "divmod", "pow", "chr", NULL};
    PyObject *self = PyCFunction_Check(o) ? PyCFunction_GET_SELF(o) : NULL;
    const char *module = self && PyModule_Check(self) ? PyModule_GetName(self) : NULL;
    PyErr_Clear();
    bool is = module && !strcmp(module, "math");
    for (int i = 0; module && !is && !strcmp(module, "builtins") && names[i]; i++)
        is = !strcmp(name, names[i]);
    return is;
}

jcv_av *jcv_as_argument(jcv *c, PyObject *f, const char *name, jcv_av *a) {
    bool number = a->kind == AV_PY && !PyUnicode_Check(a->py);
    if (f == (PyObject *)&PyLong_Type || f == (PyObject *)&PyFloat_Type)
        return number ? jcv_as_exact(c, a, f == (PyObject *)&PyLong_Type ? JCV_S_INT : JCV_S_FLOAT)
                      : a;
    return of_numbers(f, name) ? jcv_as_number(c, a) : a;
}

PyObject *jcv_exact_text(jcv *c, jcv_av *a, PyObject *method, PyObject *spec) {
    PyTypeObject *t = jcv_exact_type(a->py), *of = Py_TYPE(method);
    bool native = of == &PyWrapperDescr_Type || of == &PyMethodDescr_Type;
    if (!t || !native || PyDescr_TYPE(method) != t)
        return NULL;
    PyObject *v = jcv_exact_value(c, a->py);
    return jcv_own(c, PyObject_CallFunctionObjArgs(method, v, spec, NULL));
}
