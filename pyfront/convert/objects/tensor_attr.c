/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes of tensors: what the eager layer's proxies say, .grad, and what the program has set.
 */
#include "pyfront/convert/objects/objects.h"

#include <stddef.h>
#include <string.h>

#include "pyfront/base/names.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/values.h"

/* What a proxy's .grad is attached to: the real tensor, or the proxy itself. */
static PyObject *grad_owner(jcv *c, jcv_av *t) {
    jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)t->py)->t);
    return r->proxy && t->src ? r->proxy : t->py;
}

/* Of a tensor that only the graph knows nothing but its contents is. */
static void read_by_graph(jcv *c, jcv_av *t, const char *what) {
    if (jcv_rec_of(c, ((jpy_tensor *)t->py)->t)->box)
        jcv_refuse(c, "the %s of a tensor that is read while the graph runs", what);
}

static jcv_av *tensor_grad(jcv *c, jcv_av *t) {
    PyObject *owner = grad_owner(c, t);
    jcv_attr *a = jcv_find_attr(c, owner, NULL);
    read_by_graph(c, t, "gradient");
    if (a)
        return jcv_found(c, c->slots.data[a->slot]);
    if (owner == t->py && jcv_of_several(jcv_rec_of(c, ((jpy_tensor *)t->py)->t)))
        jcv_refuse(c, "the gradient of a tensor that may be one of several");
    if (owner == t->py)
        return jcv_none(c);
    jpy_src *s = jpy_src_get(c->guards, JPY_SRC_GRAD, t->src, NULL, NULL, 0);
    PyObject *g;
    if (jpy_tensor_grad((jpy_tensor *)owner, &g) < 0)
        jcv_refuse_py(c);
    jcv_av *v = jcv_wrap(c, g ? g : Py_None, s);
    jcv_attr_slot(c, owner, NULL, t->src, v);
    return v;
}

/* What the program has set on a tensor of its own; NULL: nothing. */
static jcv_av *tensor_own_attr(jcv *c, jcv_av *t, PyObject *name, PyObject *d) {
    jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)t->py)->t);
    jpy_attr_how how;
    Py_ssize_t offset;
    bool has_dict = r->proxy && ((jpy_tensor *)r->proxy)->dict;
    if (!r->proxy || !t->src || (d && !has_dict) || !jpy_attr_way(Py_TYPE(t->py), d, &how, &offset))
        return NULL;
    jpy_src *s = jpy_src_get(c->guards, JPY_SRC_ATTR, t->src, NULL, name, 0);
    if (!s)
        jcv_refuse(c, "out of memory");
    jpy_src_check_type(c->guards, t->src, Py_TYPE(r->proxy)); /* of others it may be a property */
    s->how = how;
    s->offset = offset;
    PyObject *v = jpy_src_read(s, r->proxy, NULL, c->call);
    if (v)
        return jcv_wrap(c, v, s);
    s->checks |= JPY_CHECK_ABSENT;
    return NULL;
}

jcv_av *jcv_without_attributes(jcv *c, const jcv_args *args) {
    jcv_av *t = args->n_pos == 1 ? args->pos[0] : NULL;
    if (!t || t->kind != AV_TENSOR)
        jcv_refuse(c, "what is no tensor, as one");
    const jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)t->py)->t);
    read_by_graph(c, t, "own attributes");
    if (!r->proxy)
        return jcv_bool(c, true); /* a graph sets none */
    jpy_src *s =
        !t->src ? NULL : jpy_src_get(c->guards, JPY_SRC_ATTR, t->src, NULL, jpy_names.dict, 0);
    PyObject *dict = ((jpy_tensor *)r->proxy)->dict;
    if (!s || (dict && (!PyDict_CheckExact(dict) || PyDict_GET_SIZE(dict))))
        return jcv_bool(c, false);
    jpy_src_check_type(c->guards, t->src, Py_TYPE(r->proxy));
    s->how = JPY_ATTR_MEMBER;
    s->offset = offsetof(jpy_tensor, dict);
    s->checks |= dict ? JPY_CHECK_LEN : JPY_CHECK_ABSENT;
    s->number = dict ? 0 : s->number;
    return jcv_bool(c, true);
}

/* Whether what the type has there is Tensor's: a class derived from it may have an attribute of the
 * same name. */
static bool is_tensors(const PyObject *d, PyObject *name) {
    return d && d == _PyType_Lookup(jpy.tensor_type, name);
}

jcv_av *jcv_tensor_attr(jcv *c, jcv_av *t, PyObject *name) {
    const char *s = PyUnicode_AsUTF8(name);
    PyTypeObject *type = jcv_type_of(c, t);
    if (!jcv_generic_attrs(type))
        jcv_refuse(c, "%s reads attributes in its own way", type->tp_name);
    PyObject *d = jcv_lookup_kind(c, type, name);
    bool own_way = is_tensors(d, name);
    if (own_way && !strcmp(s, "grad"))
        return tensor_grad(c, t);
    if (own_way && !strcmp(s, "data")) {
        jcv_av *a = jcv_detach(c, t->py);
        jcv_rec_of(c, ((jpy_tensor *)a->py)->t)->uncounted = true;
        return a;
    }
    if (!strcmp(s, "grad_fn") || !strcmp(s, "__dict__") || !strcmp(s, "_version"))
        jcv_refuse(c, "the attribute %s of a tensor", s);
    jcv_av *own = tensor_own_attr(c, t, name, d);
    PyTypeObject *dt = d ? Py_TYPE(d) : NULL;
    if (!own && !d)
        read_by_graph(c, t, "own attributes");
    if (own || !d)
        return own;
    if (!strcmp(s, "__class__") && d == _PyType_Lookup(&PyBaseObject_Type, name))
        return jcv_py(c, (PyObject *)type, NULL);
    if (dt == &PyMethodDescr_Type || dt == &PyWrapperDescr_Type || PyFunction_Check(d))
        return jcv_bound(c, d, t);
    if (!dt->tp_descr_get)
        return jcv_constant(c, d);
    if (dt == &PyProperty_Type) {
        jcv_args args = {.pos = &t, .n_pos = 1};
        return jcv_call(c, jcv_constant(c, jcv_own(c, PyObject_GetAttrString(d, "fget"))), &args);
    }
    jcv_av *shape = c->image && !strcmp(s, "shape") ? jcv_shape(c, t) : NULL;
    if (shape)
        return shape;
    if (dt != &PyGetSetDescr_Type && dt != &PyMemberDescr_Type && dt != jpy.op_type)
        jcv_refuse(c, "the attribute %s of a tensor is made by a %s", s, dt->tp_name);
    c->hook_refused = false;
    if (!strcmp(s, "is_leaf") || !strcmp(s, "requires_grad"))
        jcv_ask_tracked(c, t);
    if (!strcmp(s, "is_leaf") && jpy_tensor_tracked((jpy_tensor *)t->py) &&
        jcv_of_several(jcv_rec_of(c, ((jpy_tensor *)t->py)->t)))
        jcv_refuse(c, "is_leaf of a tensor that may be one of several");
    PyObject *v = jcv_own(c, PyObject_GetAttr(t->py, name));
    jcv_no_sizes(c, v);
    return jcv_wrap(c, v, NULL);
}

void jcv_set_tensor_attr(jcv *c, jcv_av *o, PyObject *name, jcv_av *v) {
    PyTypeObject *type = jcv_type_of(c, o);
    if (jcv_lookup(c, type, jpy_names.setattr) !=
            _PyType_Lookup(&PyBaseObject_Type, jpy_names.setattr) ||
        !is_tensors(jcv_lookup_kind(c, type, name), name))
        jcv_refuse(c, "the attribute %s of %s is set", PyUnicode_AsUTF8(name), type->tp_name);
    bool data = PyUnicode_CompareWithASCIIString(name, "data") == 0 && v->kind == AV_TENSOR;
    if (data && jcv_has_data(c, o, v)) /* `p.data -= g`: it was written, and is set to itself */
        return;
    if (c->ctx->fn->kind == JCV_FUNC)
        jcv_refuse(c, "an attribute of a tensor is set inside a recursion");
    read_by_graph(c, o, "attributes");
    jcv_wrote(c);
    if (PyUnicode_CompareWithASCIIString(name, "requires_grad") == 0 && jcv_is_const(v)) {
        jcv_set_requires_grad(c, o, PyObject_IsTrue(jcv_const_object(c, v)) > 0);
        return;
    }
    if (data) {
        jcv_set_data(c, o, v);
        return;
    }
    if (PyUnicode_CompareWithASCIIString(name, "grad") != 0)
        jcv_refuse(c, "the attribute %s of a tensor is set", PyUnicode_AsUTF8(name));
    const jcv_av *g = v->kind == AV_MAYBE && !jcv_number_or(v) ? v->self : v;
    bool none = v->kind == AV_PY && v->py == Py_None;
    if (!none && (!g || g->kind != AV_TENSOR ||
                  !jcv_same_type(jcv_tensor_val(c, g->py)->type, jcv_tensor_val(c, o->py)->type)))
        jcv_refuse(c, "this value as a gradient");
    PyObject *owner = grad_owner(c, o);
    if (!jcv_find_attr(c, owner, NULL) && owner != o->py && c->ctx == c->main)
        jcv_attr_slot(c, owner, NULL, o->src,
                      jcv_lacking(c, LACK_UNREAD, "a gradient was not looked at"));
    jcv_av *had = jcv_find_attr(c, owner, NULL) ? NULL : tensor_grad(c, o);
    jcv_put(c, jcv_attr_slot(c, owner, NULL, o->src, had), v);
}
