/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes: read as object.__getattribute__ would, with the guards that make the same answer
 * certain next time; written into the slot table and to the heap at commit.
 */
#include "pyfront/convert/objects/objects.h"

#include <string.h>

#include "pyfront/base/names.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/values/values.h"
#include "pyfront/methods/methods.h"

static jpy_src *src_of(jcv *c, jcv_av *o) {
    jpy_src *s = o->src ? o->src : jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, o->py, 0);
    if (!s)
        jcv_refuse(c, "out of memory");
    if (!PyType_Check(o->py) && !PyModule_Check(o->py) && !jcv_is_const(o))
        jpy_src_check_type(c->guards, s, Py_TYPE(o->py));
    return s;
}

/* ---- reading ------------------------------------------------------------------------------------
 */

jcv_av *jcv_bound(jcv *c, PyObject *func, jcv_av *self) {
    jcv_av *m = jcv_new(c, AV_METHOD);
    m->py = func;
    m->self = self;
    return m;
}

jcv_av *jcv_builtin_method(jcv *c, jcv_av *o, PyObject *name) {
    jcv_av *m = jcv_new(c, AV_METHOD);
    m->self = o;
    m->text = jn_arena_strdup(&c->arena, PyUnicode_AsUTF8(name));
    if (!m->text)
        jcv_refuse(c, "out of memory");
    return m;
}

/* An attribute of a value whose type is not made in Python and has no instance dict. */
jcv_av *jcv_native_attr(jcv *c, jcv_av *o, PyObject *name) {
    PyTypeObject *t = jcv_type_of(c, o);
    PyObject *d = t ? jcv_lookup_kind(c, t, name) : NULL;
    if (!t || (!d && t->tp_dictoffset))
        jcv_refuse(c, "the attribute %s of %s", PyUnicode_AsUTF8(name), jcv_describe(o));
    if (!d)
        return NULL;
    PyTypeObject *dt = Py_TYPE(d);
    if (d == _PyType_Lookup(&PyBaseObject_Type, name) &&
        PyUnicode_CompareWithASCIIString(name, "__class__") == 0)
        return jcv_py(c, (PyObject *)t, NULL);
    if (dt == &PyMethodDescr_Type || dt == &PyWrapperDescr_Type || dt == &PyClassMethodDescr_Type ||
        dt == &PyStaticMethod_Type)
        return jcv_builtin_method(c, o, name);
    if (!dt->tp_descr_get)
        return jcv_constant(c, d);
    if ((dt == &PyGetSetDescr_Type || dt == &PyMemberDescr_Type) && jcv_is_const(o)) {
        jcv_av *v = jcv_take(c, PyObject_GetAttr(o->py, name));
        if (v->py == o->py) /* the real part of a number */
            return o;
        if (jcv_is_const(v))
            return v;
    }
    jcv_refuse(c, "the attribute %s of %s", PyUnicode_AsUTF8(name), jcv_describe(o));
}

/* An object with a source, which it needs to be an input. */
static jcv_av *host_able(jcv *c, jcv_av *o) {
    return o->kind != AV_PY || o->src ? o : jcv_py(c, o->py, src_of(c, o));
}

/* What the type has, bound to the object: `d` is there for as long as the guard of the type holds.
 */
static jcv_av *bound_attr(jcv *c, jcv_av *o, PyTypeObject *t, PyObject *name, PyObject *d) {
    PyTypeObject *dt = Py_TYPE(d);
    if (PyFunction_Check(d) || dt == jpy.function_type)
        return jcv_bound(c, d, o);
    if (dt == &PyStaticMethod_Type)
        return jcv_inner_function(c, d);
    if (dt == &PyClassMethod_Type)
        return jcv_bound(c, jcv_inner_function(c, d)->py, jcv_py(c, (PyObject *)t, NULL));
    if ((dt == &PyMethodDescr_Type || dt == &PyWrapperDescr_Type) &&
        PyType_IsSubtype(t, PyDescr_TYPE(d)))
        return jcv_builtin_method(c, o, name);
    if (!dt->tp_descr_get)
        return jcv_type_value(c, t, name, d);
    if (jcv_python_get(c, d))
        return jcv_call_get(c, o, t, d, jcv_type_value(c, t, name, d));
    jcv_refuse(c, "the attribute %s of %s is made by a %s", PyUnicode_AsUTF8(name), t->tp_name,
               dt->tp_name);
}

/* Neither the object nor its class has it. */
static jcv_av *hook_attr(jcv *c, jcv_av *o, PyTypeObject *t, PyObject *name) {
    PyObject *hook = jcv_lookup_str(c, t, "__getattr__");
    if (!hook)
        return NULL;
    jcv_av *pos[2] = {o, jcv_py(c, name, NULL)};
    jcv_args args = {.pos = pos, .n_pos = 2};
    return jcv_call(c, jcv_constant(c, hook), &args);
}

/* What the object itself has in the heap; NULL: nothing, which is guarded. */
static jcv_av *own_attr(jcv *c, jcv_av *o, PyTypeObject *t, PyObject *name) {
    PyObject *d = jcv_lookup_kind(c, t, name);
    jpy_attr_how how;
    Py_ssize_t offset;
    if (!jpy_attr_way(t, d, &how, &offset))
        jcv_refuse(c, "the attribute %s of %s", PyUnicode_AsUTF8(name), t->tp_name);
    jpy_src *s = jpy_src_get(c->guards, JPY_SRC_ATTR, src_of(c, o), NULL, name, 0);
    if (!s)
        jcv_refuse(c, "out of memory");
    bool data = d && Py_TYPE(d)->tp_descr_set; /* comes before what the dict of the object has */
    s->how = jpy_module_check(o->py) && !data ? JPY_ATTR_MODULE : how;
    s->offset = offset;
    PyObject *v = jpy_src_read(s, o->py, NULL, c->call);
    if (v)
        return jcv_wrap(c, v, s);
    s->checks |= JPY_CHECK_ABSENT;
    return NULL;
}

/* The attributes of an object and its __dict__ are two ways to one place, of which only one can be
 * written: the dict is noted in the attribute table when it is taken. */
static jcv_av *taken_dict(jcv *c, jcv_av *o, jcv_av *dict) {
    for (size_t i = 0; i < c->attrs.n; i++)
        if (c->attrs.data[i]->object == o->py && c->attrs.data[i]->name &&
            c->attrs.data[i]->name != jpy_names.dict)
            jcv_refuse(c, "the __dict__ of an object whose attributes are written");
    jcv_attr_slot(c, o->py, jpy_names.dict, NULL, dict);
    return dict;
}

static void not_by_dict(jcv *c, PyObject *o, bool write) {
    jcv_attr *a = jcv_find_attr(c, o, jpy_names.dict);
    jcv_av *dict = a ? c->slots.data[a->slot] : NULL;
    if (a && (write || dict->kind != AV_PY || jcv_is_written(c, dict->py)))
        jcv_refuse(c, "an attribute of an object whose __dict__ is used");
}

/* Whether the Python that runs is the package's own. */
static bool in_package(const jcv *c) {
    PyObject *module = c->frame ? PyDict_GetItemString(c->frame->globals, "__name__") : NULL;
    const char *text = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    return text && strncmp(text, "janus.", 6) == 0;
}

/* What a model has for itself alone is not there for the program. */
static bool is_of_model(jcv *c, PyTypeObject *t, PyObject *name) {
    PyTypeObject *real = jcv_stands_for(t);
    const char *text = PyUnicode_AsUTF8(name);
    return real != t && text && text[0] == '_' && text[1] != '_' && !jcv_lookup(c, real, name) &&
           !in_package(c);
}

static jcv_av *instance_attr(jcv *c, jcv_av *o, PyObject *name) {
    PyTypeObject *t = Py_TYPE(o->py);
    if (!jcv_generic_attrs(t))
        jcv_refuse(c, "%s reads attributes in its own way", t->tp_name);
    if (is_of_model(c, t, name))
        jcv_refuse(c, "the attribute %s of a %s", PyUnicode_AsUTF8(name),
                   jcv_stands_for(t)->tp_name);
    jcv_attr *w = jcv_find_attr(c, o->py, name);
    if (w) {
        jcv_av *v = c->slots.data[w->slot];
        bool absent = jcv_lacks(v, LACK_UNBOUND) || jcv_lacks(v, LACK_DELETED);
        if (jcv_is_box(v))
            return jcv_settled(c, jcv_box_item(c, v));
        jcv_needed(c, v);
        if (v->kind == AV_UNDEF && !absent && v->lack != LACK_UNREAD)
            jcv_refuse(c, "the attribute %s: %s", PyUnicode_AsUTF8(name), v->text);
        if (v->kind != AV_UNDEF)
            return v;
        if (absent && !jcv_is_fresh(c, o->py)) {
            if (jcv_lookup(c, t, name) || jcv_lookup_str(c, t, "__getattr__"))
                jcv_refuse(c, "the attribute %s: %s", PyUnicode_AsUTF8(name), v->text);
            return NULL;
        }
    }
    PyObject *d = jcv_lookup_kind(c, t, name);
    jpy_attr_how how;
    Py_ssize_t offset;
    bool some = jpy_attr_way(t, d, &how, &offset);
    jpy_src *parent = src_of(c, o);
    if (d && Py_TYPE(d) == &PyProperty_Type) {
        PyObject *get = jcv_own(c, PyObject_GetAttrString(d, "fget"));
        jcv_args args = {.pos = &o, .n_pos = 1};
        return jcv_call(c, jcv_constant(c, get), &args);
    }
    if (d && Py_TYPE(d)->tp_descr_set && jcv_python_get(c, d))
        return jcv_call_get(c, o, t, d, jcv_type_value(c, t, name, d));
    bool dict = PyUnicode_CompareWithASCIIString(name, "__dict__") == 0;
    if (d && PyUnicode_CompareWithASCIIString(name, "__class__") == 0 &&
        d == _PyType_Lookup(&PyBaseObject_Type, name))
        return jcv_py(c, (PyObject *)jcv_stands_for(t), NULL);
    bool of_type = d && (Py_TYPE(d) == &PyGetSetDescr_Type || Py_TYPE(d) == &PyMemberDescr_Type);
    if (dict && of_type) { /* a member: of a types.SimpleNamespace */
        bool written = jcv_is_fresh(c, o->py) || jcv_live_type(c, t);
        for (size_t i = 0; i < c->attrs.n; i++)
            written = written || c->attrs.data[i]->object == o->py;
        if (written)
            jcv_refuse(c, "the __dict__ of an object that the graph writes");
        jpy_src *s = jpy_src_get(c->guards, JPY_SRC_ATTR, parent, NULL, name, 0);
        PyObject *held = jcv_own(c, PyObject_GetAttr(o->py, name));
        return taken_dict(c, o, jcv_wrap(c, held, s));
    }
    if (!some)
        jcv_refuse(c, "the attribute %s of %s", PyUnicode_AsUTF8(name), t->tp_name);
    not_by_dict(c, o->py, false);
    if (jcv_live_attr(c, t, name))
        return jcv_host_attr(c, jcv_to_host(c, host_able(c, o)), name);
    jcv_av *own = own_attr(c, o, t, name);
    if (own)
        return own;
    PyTypeObject *real = jcv_stands_for(t);
    if (!d && real != t && jcv_lookup(c, real, name))
        jcv_refuse(c, "the attribute %s of a %s", PyUnicode_AsUTF8(name), real->tp_name);
    return d && !Py_TYPE(d)->tp_descr_set ? bound_attr(c, o, t, name, d) : hook_attr(c, o, t, name);
}

static bool is_container(PyObject *o) {
    return PyList_CheckExact(o) || PyDict_CheckExact(o) || PyTuple_CheckExact(o);
}

jcv_av *jcv_getattr_opt(jcv *c, jcv_av *o, PyObject *name) {
    o = jcv_there(c, o);
    switch (o->kind) {
    case AV_TENSOR: {
        jcv_av *v = jcv_tensor_attr(c, o, name);
        return v ? v : hook_attr(c, o, jcv_type_of(c, o), name);
    }
    case AV_HOST:
        return jcv_host_attr(c, o, name);
    case AV_TUPLE:
        for (unsigned i = 0; o->named == (PyObject *)jpy.return_type && i < o->n; i++)
            if (PyUnicode_CompareWithASCIIString(name, jpy.return_type->tp_members[i].name) == 0)
                return o->items[i]; /* a named result of an op */
        return o->named ? jcv_named_attr(c, o, name) : jcv_native_attr(c, o, name);
    case AV_LIST:
    case AV_DICT:
    case AV_SCALAR:
    case AV_RANGE:
        return jcv_native_attr(c, o, name);
    case AV_SEQ: {
        PyTypeObject *t = jcv_type_of(c, o);
        if (t == &PyList_Type || t == &PyTuple_Type)
            return jcv_native_attr(c, o, name);
        jcv_refuse(c, "an attribute of %s", jcv_describe(o));
    }
    case AV_STACK: {
        jcv_av *m = jcv_builtin_method(c, o, name);
        if (!jcv_rows_has(m->text))
            jcv_refuse_rows(c, m->text);
        return m;
    }
    case AV_SUPER:
        return jcv_super_attr(c, o, name);
    case AV_METHOD:
        if (o->self && PyUnicode_CompareWithASCIIString(name, "__self__") == 0)
            return o->self;
        jcv_refuse(c, "the attribute %s of a method", PyUnicode_AsUTF8(name));
    case AV_PY:
        break;
    default:
        jcv_refuse(c, "an attribute of %s", jcv_describe(o));
    }
    PyObject *p = o->py;
    if (PyModule_Check(p)) {
        jcv_outer var = jcv_global_var(c, PyModule_GetDict(p), name);
        jcv_av *written = jcv_outer_read(c, &var);
        if (written)
            return written;
        jpy_src *s = var.value_src;
        PyObject *v = PyDict_GetItem(PyModule_GetDict(p), name);
        if (!v)
            jcv_refuse(c, "the module has no %s", PyUnicode_AsUTF8(name));
        return jcv_wrap(c, v, s);
    }
    if (PyType_Check(p))
        return jcv_class_attr(c, o, name);
    if (Py_TYPE(p) == jpy.dtype_type || Py_TYPE(p) == jpy.device_type)
        return jcv_take(c, PyObject_GetAttr(p, name));
    if (jcv_is_const(o) || is_container(p))
        return jcv_native_attr(c, o, name);
    if (PyFunction_Check(p) || PyMethod_Check(p)) {
        if (PyUnicode_CompareWithASCIIString(name, "__self__") == 0 && PyMethod_Check(p))
            return jcv_wrap(c, PyMethod_GET_SELF(p),
                            jpy_src_get(c->guards, JPY_SRC_ATTR, src_of(c, o), NULL, name, 0));
        jcv_av *part = jcv_function_part(c, o, name, src_of(c, o));
        if (part)
            return part;
        if (PyFunction_Check(p) && !_PyType_Lookup(Py_TYPE(p), name))
            return own_attr(c, o, Py_TYPE(p), name);
        jcv_refuse(c, "the attribute %s of a function", PyUnicode_AsUTF8(name));
    }
    if (PyTuple_Check(p) && PyObject_HasAttrString((PyObject *)Py_TYPE(p), "_fields")) {
        PyObject *d = jcv_lookup_kind(c, Py_TYPE(p), name);
        bool data = d && Py_TYPE(d)->tp_descr_set; /* a field */
        jcv_av *own = !data && Py_TYPE(p)->tp_dictoffset ? own_attr(c, o, Py_TYPE(p), name) : NULL;
        return own ? own : jcv_named_attr(c, o, name);
    }
    return instance_attr(c, o, name);
}

jcv_av *jcv_attr_of(jcv *c, jcv_av *o, PyObject *name) {
    jcv_av *v = jcv_getattr_opt(c, o, name);
    if (!v)
        jcv_refuse(c, "%s has no attribute %s", jcv_describe(o), PyUnicode_AsUTF8(name));
    return v;
}

/* ---- writing ------------------------------------------------------------------------------------
 */

bool jcv_sets_as_module(jcv *c, PyTypeObject *t) {
    if (!jpy.module_base_type || !PyType_IsSubtype(t, jpy.module_base_type))
        return false;
    (void)jcv_lookup(c, t, jpy_names.setattr);
    (void)jcv_lookup(c, t, jpy_names.delattr);
    return jpy_module_sets_its_own(t);
}

/* nn.Module's __setattr__, where it does what object's does. */
static bool module_setattr(jcv *c, jcv_av *o, PyObject *name, jcv_av *v) {
    static const char *const registries[] = {"_parameters", "_modules", "_buffers"};
    if (!jcv_sets_as_module(c, Py_TYPE(o->py)))
        return false;
    PyTypeObject *vt = jcv_type_of(c, v);
    if (!vt || PyType_IsSubtype(vt, jpy.module_base_type) ||
        (v->kind == AV_TENSOR && vt != jpy.tensor_type))
        return false;
    for (int i = 0; i < 3; i++) {
        PyObject *key = jcv_own(c, PyUnicode_InternFromString(registries[i]));
        jcv_av *d = jcv_getattr_opt(c, o, key);
        if (!d || d->kind != AV_PY || !PyDict_CheckExact(d->py) || PyDict_Contains(d->py, name))
            return false;
        jpy_src *s = jpy_src_get(c->guards, JPY_SRC_KEY, d->src, NULL, name, 0);
        s->checks |= JPY_CHECK_ABSENT;
    }
    return true;
}

void jcv_delattr(jcv *c, jcv_av *o, PyObject *name) {
    if (o->kind == AV_PY && jcv_is_fresh(c, o->py)) {
        jcv_del_fresh(c, o, name);
        return;
    }
    bool known =
        o->kind == AV_PY && !jcv_is_const(o) && !is_container(o->py) && !PyFunction_Check(o->py);
    if (o->kind != AV_HOST && !known)
        jcv_refuse(c, "del of an attribute of %s", jcv_describe(o));
    PyTypeObject *t = o->kind == AV_HOST ? jcv_host_type(c, o) : Py_TYPE(o->py);
    if (t->tp_setattro != PyObject_GenericSetAttr || jcv_lookup(c, t, name) || !t->tp_dictoffset)
        jcv_refuse(c, "del of the attribute %s of %s", PyUnicode_AsUTF8(name), t->tp_name);
    if (o->kind == AV_PY)
        not_by_dict(c, o->py, true);
    if (o->kind == AV_HOST || c->ctx->fn->kind == JCV_FUNC || jcv_live_type(c, t)) {
        jcv_live_delattr(c, host_able(c, o), t, name);
        return;
    }
    if (c->ctx != c->main)
        jcv_make_live_attr(c, t, name);
    jcv_av *had = instance_attr(c, o, name);
    if (!had)
        jcv_refuse(c, "del of a missing attribute");
    if (jcv_may_be_new(c, o->py, name)) /* the commit would leave no gap in its dict */
        jcv_refuse(c, "an attribute is deleted after it was set");
    jcv_attr *a = jcv_find_attr(c, o->py, name);
    if (a && jcv_lacks(a->first, LACK_UNREAD)) { /* whether there is one to delete must be known */
        if (!own_attr(c, o, t, name))
            a->first = c->slot_init.data[a->slot] =
                jcv_lacking(c, LACK_DELETED, "it was not there");
    }
    jcv_wrote(c);
    jcv_put(c, jcv_attr_slot(c, o->py, name, src_of(c, o), had),
            jcv_lacking(c, LACK_DELETED, "it was deleted"));
}

/* The commit sets what an object may not have had before it deletes. */
static void refuse_after_deleted(jcv *c, const jcv_av *o) {
    for (size_t i = 0; i < c->attrs.n; i++)
        if (c->attrs.data[i]->object == o->py &&
            jcv_lacks(c->slots.data[c->attrs.data[i]->slot], LACK_DELETED))
            jcv_refuse(c, "an attribute is set after another was deleted");
}

/* An instance dict that was read does not follow what is set. */
static void refuse_seen_dict(jcv *c, jcv_av *o) {
    const jpy_src *parent = src_of(c, o);
    for (size_t i = 0; i < c->guards->srcs.n; i++) {
        const jpy_src *s = c->guards->srcs.data[i];
        if (s->kind == JPY_SRC_ATTR && s->parent == parent &&
            PyUnicode_CompareWithASCIIString(s->key, "__dict__") == 0)
            jcv_refuse(c, "an attribute is set after the __dict__ was read");
    }
}

void jcv_setattr(jcv *c, jcv_av *o, PyObject *name, jcv_av *v) {
    bool recursion = c->ctx->fn->kind == JCV_FUNC;
    if (o->kind == AV_HOST)
        o = jcv_settled(c, o);
    bool fresh = o->kind == AV_PY && jcv_is_fresh(c, o->py);
    jcv_not_frozen(c, o, "an attribute");
    if (o->kind == AV_TENSOR) {
        jcv_set_tensor_attr(c, o, name, v);
        return;
    }
    bool object =
        o->kind == AV_PY && !jcv_is_const(o) && !is_container(o->py) && !PyFunction_Check(o->py);
    if (o->kind != AV_HOST && !object)
        jcv_refuse(c, "an attribute of %s is set", jcv_describe(o));
    PyTypeObject *t = o->kind == AV_HOST ? jcv_host_type(c, o) : Py_TYPE(o->py);
    PyObject *d = jcv_lookup_kind(c, t, name);
    if (d && Py_TYPE(d) == &PyProperty_Type) {
        PyObject *set = jcv_own(c, PyObject_GetAttrString(d, "fset"));
        jcv_av *pos[2] = {o, v};
        jcv_args args = {.pos = pos, .n_pos = 2};
        jcv_call(c, jcv_py(c, set, NULL), &args);
        return;
    }
    if (d && Py_TYPE(d)->tp_descr_set && !jpy_is_member(t, d))
        jcv_refuse(c, "the attribute %s of %s is set", PyUnicode_AsUTF8(name), t->tp_name);
    if ((fresh || t->tp_setattro == PyObject_GenericSetAttr) && !t->tp_dictoffset &&
        !(d && Py_TYPE(d)->tp_descr_set))
        jcv_refuse(c, "%s has no place for the attribute %s", t->tp_name, PyUnicode_AsUTF8(name));
    if (fresh && jcv_module_registers(c, o, name, v))
        return;
    bool fresh_module = fresh && jcv_sets_as_module(c, t);
    if (t->tp_setattro != PyObject_GenericSetAttr && !fresh_module &&
        (o->kind != AV_PY || !module_setattr(c, o, name, v))) {
        PyObject *fn = jcv_lookup(c, t, jpy_names.setattr);
        if (!fn || !PyFunction_Check(fn))
            jcv_refuse(c, "%s sets attributes in its own way", t->tp_name);
        jcv_av *pos[3] = {o, jcv_py(c, name, NULL), v};
        jcv_args args = {.pos = pos, .n_pos = 3};
        jcv_call(c, jcv_py(c, fn, NULL), &args);
        return;
    }
    if (o->kind == AV_PY)
        not_by_dict(c, o->py, true);
    if (!fresh && (o->kind == AV_HOST || recursion || jcv_live_type(c, t))) {
        jcv_live_setattr(c, host_able(c, o), t, name, v);
        return;
    }
    jcv_wrote_if(c, !fresh);
    jcv_attr *a = jcv_find_attr(c, o->py, name);
    if (!fresh)
        refuse_seen_dict(c, o);
    if (!a) {
        jpy_src *s = fresh ? NULL : src_of(c, o);
        jcv_av *first = fresh ? jcv_lacking(c, LACK_UNBOUND, "an attribute is not there")
                              : jcv_lacking(c, LACK_UNREAD, "an attribute was not looked at");
        if (c->ctx != c->main && !fresh) { /* but a branch may leave it as it is */
            jcv_av *had = own_attr(c, o, t, name);
            first = had ? had : jcv_lacking(c, LACK_UNBOUND, "an attribute is not there");
        }
        jcv_attr_slot(c, o->py, name, s, first);
        a = jcv_find_attr(c, o->py, name);
    }
    jcv_av *had = c->slots.data[a->slot];
    if (had->kind == AV_UNDEF && (!fresh || jcv_lacks(had, LACK_DELETED)))
        refuse_after_deleted(c, o);
    if (fresh)
        jcv_put_fresh(c, o->py, name, a->slot, v);
    else
        jcv_put(c, a->slot, v);
    if (had->kind == AV_UNDEF)
        jcv_is_next(c, o->py, name);
}
