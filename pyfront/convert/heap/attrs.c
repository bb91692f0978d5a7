/* SPDX-License-Identifier: Apache-2.0 */
/* The table of attributes of real objects that were written, or are about to be. */
#include "pyfront/convert/heap/heap.h"

#include "pyfront/base/names.h"

jcv_attr *jcv_find_attr(jcv *c, PyObject *o, PyObject *name) {
    for (size_t i = 0; i < c->attrs.n; i++)
        if (c->attrs.data[i]->object == o &&
            (c->attrs.data[i]->name == name ||
             (name && c->attrs.data[i]->name &&
              PyUnicode_Compare(c->attrs.data[i]->name, name) == 0)))
            return c->attrs.data[i];
    return NULL;
}

uint32_t jcv_attr_slot(jcv *c, PyObject *o, PyObject *name, jpy_src *src, jcv_av *first) {
    jcv_attr *a = jcv_find_attr(c, o, name);
    if (a)
        return a->slot;
    uint32_t slot = jcv_slot(c, first);
    a = jcv_alloc(c, sizeof *a);
    *a = (jcv_attr){o, name, src, slot, first};
    if (!jn_vec_push(&c->attrs, a))
        jcv_refuse(c, "out of memory");
    return slot;
}

bool jcv_generic_attrs(PyTypeObject *t) {
    PyObject *const name = jpy_names.getattribute;
    return t->tp_getattro == PyObject_GenericGetAttr ||
           _PyType_Lookup(t, name) == _PyType_Lookup(&PyBaseObject_Type, name);
}

bool jcv_is_frozen(jcv *c, const PyObject *o) {
    for (size_t i = 0; i < c->frozen.n; i++)
        if (c->frozen.data[i] == o)
            return true;
    return false;
}

void jcv_not_frozen(jcv *c, const jcv_av *a, const char *what) {
    if (a->kind == AV_PY && jcv_is_frozen(c, a->py))
        jcv_refuse(c, "%s of an instance that is one of several", what);
}
