/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules that the function makes: what ModuleBase does in C (pyfront/methods/module_base.c).
 *
 * Such a module is an instance like any other (objects.c) and stays in the graph: its attributes
 * are in the attribute table.
 */
#include "pyfront/convert/objects/objects.h"

#include <string.h>

#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/values/values.h"
#include "pyfront/methods/methods.h"

static jcv_av *own(jcv *c, jcv_av *o, PyObject *name) {
    jcv_attr *a = jcv_find_attr(c, o->py, name);
    jcv_av *v = a ? c->slots.data[a->slot] : NULL;
    if (v && v->kind == AV_UNDEF && !jcv_lacks(v, LACK_UNBOUND))
        jcv_refuse(c, "the attribute %s: %s", PyUnicode_AsUTF8(name), v->text);
    return v && v->kind != AV_UNDEF ? v : NULL;
}

jcv_av *jcv_module_method(jcv *c, jcv_av *o, const char *name, const jcv_args *a) {
    PyObject *key = a->n_pos && a->pos[0]->kind == AV_PY ? a->pos[0]->py : NULL;
    if (!jcv_is_fresh(c, o->py) || a->n_kw || !key || !PyUnicode_CheckExact(key))
        return NULL;
    Py_INCREF(key);
    PyUnicode_InternInPlace(&key);
    jcv_own(c, key);
    if (!strcmp(name, "_own") && a->n_pos == 1) {
        jcv_av *v = own(c, o, key);
        return v ? v : jcv_none(c);
    }
    if (strcmp(name, "_set_plain") != 0 || a->n_pos != 2)
        return NULL;
    if (jcv_lookup(c, Py_TYPE(o->py), key))
        jcv_refuse(c, "an attribute that the class has is set on a module made inside");
    jcv_set_fresh(c, o, key, a->pos[1]);
    return jcv_none(c);
}

bool jcv_module_registers(jcv *c, jcv_av *o, PyObject *name, jcv_av *v) {
    static const char *const registries[] = {"_parameters", "_modules", "_buffers"};
    PyTypeObject *t = jcv_type_of(c, v);
    if (!jcv_is_fresh(c, o->py) || !jcv_sets_as_module(c, Py_TYPE(o->py)))
        return false;
    if (!t && (v->kind == AV_HOST || v->kind == AV_STACK || v->kind == AV_CHOICE))
        jcv_refuse(c, "%s as an attribute of a module made inside", jcv_describe(v));
    bool special = t && (PyType_IsSubtype(t, jpy.tensor_type) ||
                         PyType_IsSubtype(t, (PyTypeObject *)jpy.module_base_type));
    for (int i = 0; i < 3 && !special; i++) {
        PyObject *key = jcv_own(c, PyUnicode_InternFromString(registries[i]));
        jcv_av *d = own(c, o, key);
        special = d && jcv_dict_get(c, d, jcv_py(c, name, NULL));
    }
    if (!special)
        return false;
    jcv_av *pos[2] = {jcv_py(c, name, NULL), v};
    PyObject *set = jcv_own(c, PyUnicode_InternFromString("_set_registered"));
    jcv_call(c, jcv_getattr(c, o, set), &(jcv_args){.pos = pos, .n_pos = 2});
    return true;
}
