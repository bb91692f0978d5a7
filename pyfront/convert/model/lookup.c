/* SPDX-License-Identifier: Apache-2.0 */
/* Special methods: found on types, guarded, bound as their descriptors say. */
#include "pyfront/convert/model/model.h"

#include <string.h>

#include "pyfront/convert/heap/heap.h"

static const char *const names[JCV_N_SLOTS][3] = {
#define JCV_SLOT_BINARY(op, method, reflected, in_place, ...) {method, reflected, in_place},
#define JCV_SLOT_COMPARE(op, method, reflected, ...) {method, reflected, NULL},
#define JCV_SLOT_UNARY(op, method) {method, NULL, NULL},
#define JCV_SLOT_OTHER(op, method) {method, NULL, NULL},
#include "pyfront/convert/model/slots.def"
};

PyObject *jcv_slot_name(jcv *c, int slot, jcv_name which) {
    static PyObject *interned[JCV_N_SLOTS][3];
    PyObject **name = &interned[slot][which];
    if (!*name)
        *name = PyUnicode_InternFromString(names[slot][which]);
    if (!*name)
        jcv_refuse_py(c);
    return *name;
}

bool jcv_slot_has(int slot, jcv_name which) { return names[slot][which] != NULL; }

/* A method that C code defines. */
static bool is_native(PyObject *d) {
    PyTypeObject *t = Py_TYPE(d);
    return t == &PyWrapperDescr_Type || t == &PyMethodDescr_Type || t == &PyClassMethodDescr_Type;
}

static jcv_how how_of_type(jcv *c, PyTypeObject *t, PyObject *name, PyObject **method) {
    *method = jcv_lookup(c, t, name);
    if (!*method)
        return JCV_ABSENT;
    if (*method == _PyType_Lookup(&PyBaseObject_Type, name))
        return JCV_ABSENT;
    return is_native(*method) ? JCV_NATIVE : JCV_PYTHON;
}

jcv_how jcv_how_is(jcv *c, jcv_av *a, int slot, jcv_name which, PyObject **method) {
    PyObject *name = jcv_slot_name(c, slot, which), *none = NULL;
    method = method ? method : &none;
    *method = NULL;
    if (a->kind == AV_HOST) {
        PyObject *samples = jcv_samples(c, a);
        bool python = false;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples) && !python; i++) {
            PyObject *d = _PyType_Lookup(Py_TYPE(PyList_GET_ITEM(samples, i)), name);
            python = d && !is_native(d) && d != _PyType_Lookup(&PyBaseObject_Type, name);
        }
        if (!python)
            return JCV_NATIVE;
    }
    PyTypeObject *t = jcv_type_of(c, a);
    return t ? how_of_type(c, t, name, method) : JCV_NATIVE;
}

bool jcv_declined(const jcv_av *a) { return a->kind == AV_PY && a->py == Py_NotImplemented; }

static jcv_av *unwrapped(jcv *c, PyObject *method) {
    return jcv_constant(c, jcv_own(c, PyObject_GetAttrString(method, "__func__")));
}

jcv_av *jcv_call_special(jcv *c, jcv_av *a, PyObject *method, jcv_av *const *args, unsigned n) {
    jcv_av **v = jcv_alloc(c, (n + 1) * sizeof *v);
    PyTypeObject *t = Py_TYPE(method);
    if (n)
        memcpy(v + 1, args, n * sizeof *v);
    v[0] = a;
    if (PyFunction_Check(method))
        return jcv_call(c, jcv_constant(c, method), &(jcv_args){.pos = v, .n_pos = n + 1});
    if (t == jpy.function_type)
        return jcv_call(c, jcv_constant(c, method), &(jcv_args){.pos = v, .n_pos = n + 1});
    if (t == &PyClassMethod_Type) {
        v[0] = jcv_py(c, (PyObject *)jcv_type_of(c, a), NULL);
        return jcv_call(c, unwrapped(c, method), &(jcv_args){.pos = v, .n_pos = n + 1});
    }
    jcv_args rest = {.pos = v + 1, .n_pos = n};
    if (t == &PyStaticMethod_Type)
        return jcv_call(c, unwrapped(c, method), &rest);
    if (!t->tp_descr_get)
        return jcv_call(c, jcv_constant(c, method), &rest);
    jcv_refuse(c, "a %s as a special method", t->tp_name);
}

jcv_av *jcv_special(jcv *c, jcv_av *a, int slot, jcv_av *const *args, unsigned n) {
    PyObject *method;
    if (jcv_how_is(c, a, slot, JCV_METHOD, &method) != JCV_PYTHON)
        return NULL;
    return jcv_call_special(c, a, method, args, n);
}
