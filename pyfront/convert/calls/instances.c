/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of the type of a value: isinstance(), issubclass(), callable(). */
#include "pyfront/convert/calls/calls.h"

#include "ops/op_ids.h"
#include "pyfront/base/names.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/values/values.h"

/* Whether isinstance() with this class asks nothing but the MRO. */
static bool plain_instancecheck(jcv *c, PyTypeObject *meta) {
    PyObject *const name = jpy_names.instancecheck;
    if (meta == &PyType_Type)
        return true;
    PyObject *d = jcv_lookup(c, meta, name), *abc = jcv_abc_meta();
    return d == _PyType_Lookup(&PyType_Type, name) ||
           (abc && d == _PyType_Lookup((PyTypeObject *)abc, name));
}

/* Of a type seen of an object of the graph.  What an abstract class would say is not asked here:
 * that may run code of the program. */
static bool is_of(jcv *c, PyTypeObject *of, const void *user) {
    PyTypeObject *t = (PyTypeObject *)(uintptr_t)user;
    if (PyType_IsSubtype(of, t) || Py_TYPE(t) == &PyType_Type)
        return PyType_IsSubtype(of, t);
    int says = jcv_own_class(c, of) ? jcv_abstract_says(c, t, of) : -1;
    if (says < 0)
        jcv_refuse(c, "isinstance() with %s, which was not asked of %s", t->tp_name, of->tp_name);
    return says;
}

/* isinstance(x, one): true or false, *graph: the graph says which. */
static bool is_instance(jcv *c, jcv_av *x, jcv_av *one, jcv_val **graph) {
    if (one->kind != AV_PY || !PyType_Check(one->py))
        jcv_refuse(c, "isinstance() of a computed type");
    PyTypeObject *t = jcv_stands_for((PyTypeObject *)one->py), *of;
    if (x->kind == AV_HOST && !jcv_type_known(c, x)) {
        if (!plain_instancecheck(c, Py_TYPE(t)))
            jcv_refuse(c, "isinstance() with a metaclass");
        *graph = jcv_host_is_one(c, x, is_of, t);
        return false;
    }
    of = jcv_type_of(c, x);
    if (!of)
        jcv_refuse(c, "isinstance() of %s", jcv_describe(x));
    of = jcv_stands_for(of);
    if (of == t)
        return true;
    bool derived = PyType_IsSubtype(of, t);
    /* an abstract class may know others than those derived from it, an object may say it is of
     * another class */
    bool asks = !derived && plain_instancecheck(c, Py_TYPE(t)) && jcv_own_class(c, of);
    int is = asks ? jcv_abstract_says(c, t, of) : -1;
    if (is >= 0)
        return is;
    if (!plain_instancecheck(c, Py_TYPE(t)) ||
        (!derived && (Py_TYPE(t) != &PyType_Type || !jcv_own_class(c, of))))
        jcv_refuse(c, "isinstance() with a metaclass");
    return derived;
}

jcv_av *jcv_b_isinstance(jcv *c, const jcv_args *a) {
    jcv_av *x = a->pos[0], **types = &a->pos[1];
    unsigned n = 1;
    bool several = a->pos[1]->kind == AV_TUPLE ||
                   (a->pos[1]->kind == AV_PY && PyTuple_CheckExact(a->pos[1]->py));
    if (several && !jcv_items(c, a->pos[1], &types, &n))
        jcv_refuse(c, "isinstance() of a computed type");
    jcv_val *any = NULL;
    for (unsigned i = 0; i < n; i++) {
        jcv_val *v = NULL;
        if (is_instance(c, x, types[i], &v))
            return jcv_bool(c, true);
        jcv_val *in[2] = {any, v};
        if (v)
            any = any ? &jcv_op(c, JN_OP(s_or), in, 2, NULL)->out[0] : v;
    }
    return any ? jcv_scalar(c, any) : jcv_bool(c, false);
}

jcv_av *jcv_b_issubclass(jcv *c, const jcv_args *a) {
    jcv_av **types = &a->pos[1];
    unsigned n = 1;
    bool several = jcv_type_of(c, a->pos[1]) == &PyTuple_Type, derived = false;
    if ((several && !jcv_items(c, a->pos[1], &types, &n)) || a->pos[0]->kind != AV_PY ||
        !PyType_Check(a->pos[0]->py))
        jcv_refuse(c, "issubclass() of a computed type");
    for (unsigned i = 0; i < n && !derived; i++) {
        PyObject *t = types[i]->kind == AV_PY ? types[i]->py : NULL;
        if (!t || !PyType_Check(t) || Py_TYPE(t) != &PyType_Type)
            jcv_refuse(c, "issubclass() with a metaclass");
        derived = PyType_IsSubtype((PyTypeObject *)a->pos[0]->py, (PyTypeObject *)t);
    }
    jcv_guard_type(c, (PyTypeObject *)a->pos[0]->py); /* its bases can be set */
    return jcv_bool(c, derived);
}

static bool is_callable(jcv *c, PyTypeObject *of, const void *user) {
    (void)user;
    (void)jcv_lookup(c, of, jpy_names.call); /* a class can be given one */
    return of->tp_call != NULL;
}

jcv_av *jcv_b_callable(jcv *c, const jcv_args *a) {
    jcv_av *x = jcv_there(c, a->pos[0]);
    if (x->kind == AV_CLOSURE || x->kind == AV_METHOD)
        return jcv_bool(c, true);
    if (x->kind == AV_HOST)
        return jcv_scalar(c, jcv_host_is_one(c, x, is_callable, NULL));
    PyTypeObject *of = jcv_type_of(c, x);
    if (!of)
        jcv_refuse(c, "callable() of %s", jcv_describe(x));
    return jcv_bool(c, is_callable(c, of, NULL));
}
