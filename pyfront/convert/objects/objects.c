/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that the function makes (make.c): named tuples, and the attributes of instances.
 *
 * A named tuple is an AV_TUPLE that knows its type.  An instance is a blank real object, made by
 * its class and never shown to Python code, on which the attribute table (attr.c) records what is
 * set; if it leaves the graph the commit makes another one with these attributes.  The methods that
 * namedtuple writes have no source: they are done here.
 */
#include "pyfront/convert/objects/objects.h"

#include <string.h>

#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/values/values.h"
#include "pyfront/methods/methods.h"

/* ---- named tuples -------------------------------------------------------------------------------
 */

static PyObject *lookup(PyTypeObject *t, const char *name) {
    PyObject *s = PyUnicode_InternFromString(name), *d = s ? _PyType_Lookup(t, s) : NULL;
    Py_XDECREF(s);
    return d;
}

/* What a function has in a cell of its own; NULL: no such cell. */
static PyObject *held(jcv *c, PyObject *fn, const char *name) {
    PyObject *names = jcv_own(c, jcv_attr_or_null(PyFunction_GET_CODE(fn), "co_freevars"));
    PyObject *cells = PyFunction_GET_CLOSURE(fn);
    for (Py_ssize_t i = 0; names && cells && i < PyTuple_GET_SIZE(names); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name) == 0)
            return PyCell_GET(PyTuple_GET_ITEM(cells, i));
    return NULL;
}

static int field_index(PyObject *fields, PyObject *name) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields); i++)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(fields, i), name) == 0)
            return (int)i;
    return -1;
}

jcv_av *jcv_make_named(jcv *c, PyTypeObject *t, PyObject *fn, const jcv_args *args) {
    PyObject *fields = jcv_named_params(c, fn), *defaults = PyFunction_GET_DEFAULTS(fn);
    unsigned n = (unsigned)PyTuple_GET_SIZE(fields);
    jcv_av *a = jcv_tuple(c, NULL, 0);
    a->items = jcv_alloc(c, (n + 1) * sizeof *a->items);
    a->n = n;
    a->named = (PyObject *)t;
    if (args->n_pos > n)
        jcv_refuse(c, "too many arguments");
    for (unsigned i = 0; i < args->n_pos; i++)
        a->items[i] = args->pos[i];
    for (unsigned k = 0; k < args->n_kw; k++) {
        int i = field_index(fields, args->names[k]);
        if (i < 0 || a->items[i])
            jcv_refuse(c, "an unexpected keyword argument");
        a->items[i] = args->kw[k];
    }
    unsigned required = n - (defaults ? (unsigned)PyTuple_GET_SIZE(defaults) : 0);
    jcv_as_generated(c, fn);
    for (unsigned i = 0; i < n; i++) {
        if (!a->items[i] && i < required)
            jcv_refuse(c, "an argument is missing");
        if (!a->items[i])
            a->items[i] = jcv_constant(c, PyTuple_GET_ITEM(defaults, i - required));
    }
    return a;
}

int jcv_field_of(jcv *c, PyObject *d) {
    const char *kind = Py_TYPE(d)->tp_name; /* collections._... from CPython 3.12 on */
    if (strcmp(kind + (*kind == '_'), "collections._tuplegetter") != 0)
        return -1;
    PyObject *made_by = jcv_own(c, PyObject_CallMethod(d, "__reduce__", NULL));
    return (int)PyLong_AsLong(PyTuple_GET_ITEM(PyTuple_GET_ITEM(made_by, 1), 0));
}

jcv_av *jcv_named_attr(jcv *c, jcv_av *o, PyObject *name) {
    PyTypeObject *t = o->kind == AV_TUPLE ? (PyTypeObject *)o->named : Py_TYPE(o->py);
    PyObject *fields = lookup(t, "_fields"), *d = jcv_lookup(c, t, name);
    int i = d ? jcv_field_of(c, d) : -1;
    if (i >= 0)
        return c->native->getitem(c, o, jcv_take(c, PyLong_FromLong(i)));
    if (fields && PyUnicode_CompareWithASCIIString(name, "_fields") == 0)
        return jcv_constant(c, fields);
    if (d && PyFunction_Check(d) && !jcv_is_of_named(c, d, name))
        return jcv_bound(c, d, o);
    if (d && Py_TYPE(d) == &PyProperty_Type) {
        PyObject *get = jcv_own(c, PyObject_GetAttrString(d, "fget"));
        return jcv_call1(c, jcv_py(c, get, NULL), o);
    }
    if (d && PyFunction_Check(d)) /* written by namedtuple */
        return jcv_builtin_method(c, o, name);
    return jcv_native_attr(c, o, name);
}

jcv_av *jcv_named_method(jcv *c, jcv_av *self, const char *name, const jcv_args *args) {
    PyTypeObject *t = self->kind == AV_TUPLE ? (PyTypeObject *)self->named : Py_TYPE(self->py);
    PyObject *fields = jcv_lookup_str(c, t, "_fields"), *make = jcv_lookup_str(c, t, "_make");
    PyObject *own = jcv_lookup_str(c, t, name);
    jcv_av **items;
    unsigned n;
    if (!fields || !PyTuple_CheckExact(fields) || !own ||
        !jcv_is_of_named(c, own, jcv_own(c, PyUnicode_FromString(name))) ||
        !c->native->items(c, self, &items, &n) || (Py_ssize_t)n != PyTuple_GET_SIZE(fields) ||
        jcv_own_items(c, self)) /* what namedtuple has written goes over them */
        return NULL;
    make = make && Py_TYPE(make) == &PyClassMethod_Type
               ? jcv_own(c, jcv_attr_or_null(make, "__func__"))
               : NULL;
    if (!strcmp(name, "_replace") && !args->n_pos && make &&
        jcv_is_of_named(c, make, jcv_own(c, PyUnicode_FromString("_make")))) {
        fields = held(c, own, "field_names");
        if (!fields || !PyTuple_CheckExact(fields) || (Py_ssize_t)n != PyTuple_GET_SIZE(fields))
            return NULL;
        jcv_av *a = jcv_tuple(c, items, n);
        a->named = (PyObject *)t;
        for (unsigned k = 0; k < args->n_kw; k++) {
            int i = field_index(fields, args->names[k]);
            if (i < 0)
                jcv_refuse(c, "_replace() of an unknown field");
            a->items[i] = args->kw[k];
        }
        return a;
    }
    if (!strcmp(name, "_asdict") && !args->n_pos && !args->n_kw) {
        jcv_av *d = jcv_dict(c);
        for (unsigned i = 0; i < n; i++)
            jcv_dict_set(c, d, jcv_py(c, PyTuple_GET_ITEM(fields, (Py_ssize_t)i), NULL), items[i]);
        return d;
    }
    return NULL;
}

/* ---- order --------------------------------------------------------------------------------------
 * Attributes that an object did not have lie in its dict in the order in which they were set.  It
 * is state like the attributes: a tuple of names, in a slot of the attribute table. */

bool jcv_is_order(const jcv_attr *a) {
    return a->name && PyUnicode_CompareWithASCIIString(a->name, "(order)") == 0;
}

static jcv_attr *find_order(jcv *c, PyObject *o) {
    for (size_t i = 0; i < c->attrs.n; i++)
        if (c->attrs.data[i]->object == o && jcv_is_order(c->attrs.data[i]))
            return c->attrs.data[i];
    return NULL;
}

static bool is_known_order(const jcv_av *t) {
    bool known = t->kind == AV_TUPLE;
    for (unsigned i = 0; known && i < t->n; i++)
        known = t->items[i]->kind == AV_PY;
    return known;
}

void jcv_is_next(jcv *c, PyObject *o, PyObject *name) {
    jcv_attr *a = find_order(c, o);
    if (!a) {
        PyObject *key = jcv_own(c, PyUnicode_InternFromString("(order)"));
        jcv_attr_slot(c, o, key, NULL, jcv_tuple(c, NULL, 0));
        a = find_order(c, o);
    }
    jcv_av *t = c->slots.data[a->slot];
    if (!is_known_order(t))
        return; /* not known before, nor now */
    if (jcv_may_be_new(c, o, name))
        return;
    jcv_av **names = jcv_alloc(c, (t->n + 1) * sizeof *names);
    if (t->n)
        memcpy(names, t->items, t->n * sizeof *names);
    names[t->n] = jcv_py(c, name, NULL);
    jcv_put(c, a->slot, jcv_tuple(c, names, t->n + 1));
}

jcv_av *jcv_attr_order(jcv *c, PyObject *o) {
    jcv_attr *a = find_order(c, o);
    jcv_av *t = a ? c->slots.data[a->slot] : jcv_tuple(c, NULL, 0);
    if (!is_known_order(t))
        jcv_refuse(c, "attributes are set in another order on another path");
    return t;
}

bool jcv_may_be_new(jcv *c, PyObject *o, PyObject *name) {
    const jcv_av *t = jcv_attr_order(c, o);
    for (unsigned i = 0; i < t->n; i++)
        if (PyUnicode_Compare(t->items[i]->py, name) == 0)
            return true;
    return false;
}

void jcv_set_fresh(jcv *c, jcv_av *o, PyObject *name, jcv_av *v) {
    jcv_av *none = jcv_lacking(c, LACK_UNBOUND, "an attribute is not there");
    jcv_not_frozen(c, o, "an attribute");
    jcv_put_fresh(c, o->py, name, jcv_attr_slot(c, o->py, name, NULL, none), v);
    jcv_is_next(c, o->py, name);
}

/* It is as if it had never been set: another one of that name comes last. */
void jcv_del_fresh(jcv *c, jcv_av *o, PyObject *name) {
    PyTypeObject *t = Py_TYPE(o->py);
    const jcv_attr *a = jcv_find_attr(c, o->py, name);
    const jcv_av *v = a ? c->slots.data[a->slot] : NULL;
    jcv_not_frozen(c, o, "an attribute");
    if (t->tp_setattro != PyObject_GenericSetAttr || jcv_lookup(c, t, name) || !t->tp_dictoffset)
        jcv_refuse(c, "del of the attribute %s of %s", PyUnicode_AsUTF8(name), t->tp_name);
    if (!v || v->kind == AV_UNDEF)
        jcv_refuse(c, "del of a missing attribute");
    if (jcv_is_box(v) || (c->ctx->fn->kind == JCV_FUNC && a->slot < c->ctx->fn->first_slot))
        jcv_refuse(c, "del of an attribute that a recursion writes");
    jcv_av *order = jcv_attr_order(c, o->py);
    jcv_av **names = jcv_alloc(c, (order->n + 1) * sizeof *names);
    unsigned n = 0;
    for (unsigned i = 0; i < order->n; i++)
        if (PyUnicode_Compare(order->items[i]->py, name) != 0)
            names[n++] = order->items[i];
    jcv_put(c, find_order(c, o->py)->slot, jcv_tuple(c, names, n));
    jcv_put(c, a->slot, jcv_lacking(c, LACK_UNBOUND, "an attribute is not there"));
}

/* An attribute that a recursion writes, of an instance that was made outside of it, is boxed as a
 * variable is (variables.c). */
void jcv_put_fresh(jcv *c, PyObject *o, PyObject *name, uint32_t slot, jcv_av *v) {
    const jcv_ctx *fn = c->ctx->fn;
    if (jcv_is_box(c->slots.data[slot])) {
        jcv_box_set(c, c->slots.data[slot], v);
        return;
    }
    const jcv_live *l = jcv_live_fresh(c, Py_TYPE(o), name);
    if (!l && fn->kind == JCV_FUNC && !fn->apart && slot < fn->first_slot)
        jcv_make_live_fresh(c, Py_TYPE(o), name);
    jcv_av *box = l ? jcv_born(c, l->site, &v, 1, false) : NULL;
    if (box)
        box->val->box = true;
    jcv_put(c, slot, box ? box : v);
}

void jcv_box_attr(jcv *c, uint32_t slot) {
    for (size_t i = 0; i < c->attrs.n; i++) {
        const jcv_attr *a = c->attrs.data[i];
        if (a->slot == slot && jcv_is_fresh(c, a->object) && a->name && !jcv_is_order(a) &&
            !jcv_live_fresh(c, Py_TYPE(a->object), a->name))
            jcv_make_live_fresh(c, Py_TYPE(a->object), a->name);
    }
}

jcv_av *jcv_fresh_attrs(jcv *c, PyObject *o) {
    jcv_av *order = jcv_attr_order(c, o), *t = jcv_tuple(c, NULL, 0);
    t->items = jcv_alloc(c, (2 * order->n + 1) * sizeof *t->items);
    for (unsigned i = 0; i < order->n; i++) {
        uint32_t slot = jcv_find_attr(c, o, order->items[i]->py)->slot;
        jcv_av *v = c->slots.data[slot];
        v = jcv_is_box(v) ? jcv_box_item(c, v) : v;
        if (v->kind == AV_UNDEF)
            jcv_refuse(c, "an attribute: %s", v->text);
        t->items[t->n++] = order->items[i];
        t->items[t->n++] = v;
    }
    return t;
}

/* ---- instances ----------------------------------------------------------------------------------
 */

/* ---- records ------------------------------------------------------------------------------------
 * What a recursion returns of instances that it has made: names and values of their attributes.
 * The caller makes an instance of them, so each call gives one of its own.
 */

const char jcv_record[] = "a record";

jcv_av *jcv_attrs_of_plain(jcv *c, PyObject *o) {
    if (!jcv_is_plain_class(Py_TYPE(o)) || jpy_module_check(o))
        jcv_refuse(c, "a %s that was made inside is known by its attributes", Py_TYPE(o)->tp_name);
    jcv_av *t = jcv_fresh_attrs(c, o);
    t->named = (PyObject *)Py_TYPE(o);
    t->text = jcv_record;
    return t;
}

/* all: the objects that were met. */
static jcv_av *record_of(jcv *c, jcv_av *a, size_t made, PyObject *all) {
    bool object = a->kind == AV_PY && jcv_is_fresh(c, a->py);
    if (a->kind != AV_TUPLE && !object)
        return a;
    if (object) {
        size_t at = 0;
        while (c->fresh.data[at] != a->py)
            at++;
        PyObject *key = jcv_own(c, PyLong_FromVoidPtr(a->py));
        int had = PySet_Contains(all, key);
        if (at < made || had)
            jcv_refuse(c, "a recursion returns an object that has other names");
        if (PySet_Add(all, key) < 0)
            jcv_refuse_py(c);
    }
    jcv_av *t = object ? jcv_attrs_of_plain(c, a->py) : jcv_tuple_like(c, a);
    for (unsigned i = 0; i < a->n && !object; i++)
        t->items[i] = a->items[i];
    bool changed = object;
    for (unsigned i = 0; i < t->n; i++) {
        jcv_av *v = record_of(c, t->items[i], made, all);
        changed = changed || v != t->items[i];
        t->items[i] = v;
    }
    return changed ? t : a;
}

jcv_av *jcv_to_record(jcv *c, jcv_av *a, size_t made) {
    return record_of(c, a, made, jcv_own(c, PySet_New(NULL)));
}

jcv_av *jcv_from_record(jcv *c, jcv_av *t) {
    PyTypeObject *type = (PyTypeObject *)t->named;
    PyObject *blank = jcv_own(c, PyBaseObject_Type.tp_new(type, jpy.empty_tuple, NULL));
    if (!jn_vec_push(&c->fresh, blank))
        jcv_refuse(c, "out of memory");
    jcv_av *o = jcv_py(c, blank, NULL);
    jcv_guard_type(c, type);
    for (unsigned i = 0; i + 1 < t->n; i += 2)
        jcv_set_fresh(c, o, t->items[i]->py, t->items[i + 1]);
    return o;
}
