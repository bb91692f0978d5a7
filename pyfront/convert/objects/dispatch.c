/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch by type: attributes of an object of the graph that may be of several types.
 *
 * The types are those that its samples have; the graph asserts that it is of one of them.  What
 * each type looks up under the name decides: where all find what the object itself has, it is one
 * read; where all find functions, the methods are a choice (AV_CHOICE), whose call is a chain of
 * branches, one for each function; else each type reads in an arm of its own.
 */
#include "pyfront/convert/objects/objects.h"

#include "ops/op_ids.h"
#include "pyfront/base/names.h"
#include "pyfront/base/twister.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/values/values.h"

enum { MAX_TYPES = 32 };

typedef enum found { F_NOTHING, F_OWN, F_FUNCTION, F_MADE } found;

/* What a type of the list finds; *out: the function. */
static found find(jcv *c, PyTypeObject *t, PyObject *name, PyObject **out) {
    PyObject *d = jcv_lookup_kind(c, t, name);
    jpy_attr_how how;
    Py_ssize_t offset;
    *out = d;
    if (!d && !t->tp_dictoffset)
        return F_NOTHING; /* None, a number: it raises */
    if (!jcv_generic_attrs(t) || jcv_live_attr(c, t, name))
        return F_MADE;
    if (d && PyFunction_Check(d))
        return F_FUNCTION;
    return jpy_attr_way(t, d, &how, &offset) ? F_OWN : F_MADE;
}

/* The methods of the types, those with the same function together. */
static jcv_av *methods(jcv *c, jcv_av *o, PyTypeObject **types, PyObject **functions, unsigned n) {
    jcv_av *x = jcv_new(c, AV_CHOICE);
    x->text = jcv_by_type;
    x->self = o;
    x->items = jcv_alloc(c, 2 * n * sizeof *x->items);
    for (unsigned i = 0; i < n; i++) {
        unsigned k = 0, m = 0;
        while (k < i && functions[k] != functions[i])
            k++;
        if (k < i)
            continue;
        jcv_av **same = jcv_alloc(c, n * sizeof *same), *f = jcv_new(c, AV_METHOD);
        for (; k < n; k++)
            if (functions[k] == functions[i])
                same[m++] = jcv_py(c, (PyObject *)types[k], NULL);
        f->py = functions[i];
        f->self = o;
        x->items[x->n++] = jcv_tuple(c, same, m);
        x->items[x->n++] = f;
    }
    return x;
}

typedef struct reading {
    jcv_av *o;
    PyObject *name;
    PyTypeObject **types;
    unsigned n, at;
    uint32_t slot;
} reading;

static void read_from(jcv *c, reading *x);

static jcv_out read_arm(jcv *c, void *user, int arm) {
    reading x = *(reading *)user;
    x.at += (unsigned)arm;
    if (arm) {
        read_from(c, &x);
        return OUT_NORMAL;
    }
    jcv_known_type(c, x.o->val, x.types[x.at]);
    jcv_av *v = jcv_getattr(c, x.o, x.name);
    jcv_put(c, x.slot, v);
    return OUT_NORMAL;
}

static void read_from(jcv *c, reading *x) {
    jcv_val *is = jcv_type_is(c, x->o, x->types[x->at]);
    if (x->at + 1 < x->n) {
        jcv_branch(c, is, read_arm, x);
        return;
    }
    jcv_assert(c, is, "an object has a type seen");
    read_arm(c, x, 0);
}

void jcv_widen_types(jcv *c, jcv_av *o, PyObject *name) {
    PyObject *types = jcv_types_of(c, o), *d;
    if (PyList_GET_SIZE(types) == 1) { /* what one type alone has is seldom meant for others */
        d = _PyType_Lookup((PyTypeObject *)PyList_GET_ITEM(types, 0), name);
        if (!d || !PyFunction_Check(d))
            return;
    }
    PyObject *more = jcv_may_meet(c, name, types);
    if (more)
        jcv_add_samples(c, o, more);
}

jcv_av *jcv_attr_by_type(jcv *c, jcv_av *o, PyObject *name) {
    PyObject *all = jcv_types_of(c, o);
    PyTypeObject *types[MAX_TYPES];
    PyObject *functions[MAX_TYPES];
    unsigned n = 0, own = 0, function = 0;
    if (PyList_GET_SIZE(all) > MAX_TYPES)
        jcv_refuse(c, "objects of very many types");
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all); i++) {
        types[n] = (PyTypeObject *)PyList_GET_ITEM(all, i);
        found f = find(c, types[n], name, &functions[n]);
        own += f == F_OWN;
        function += f == F_FUNCTION;
        n += f != F_NOTHING;
    }
    if (!n)
        jcv_refuse(c, "%s has no attribute %s", jcv_describe(o), PyUnicode_AsUTF8(name));
    if (n > 1 && (Py_ssize_t)n == PyList_GET_SIZE(all))
        jcv_met_together(c, name, jcv_samples(c, o));
    for (unsigned i = 0; i < n && function == n; i++)
        jcv_of_the_type(c, types[i], name, functions[i]);
    if (function == n)
        return methods(c, o, types, functions, n);
    if (own == n) {
        jcv_host_one_of_seen(c, o);
        return jcv_own_attr_of(c, o, name, NULL);
    }
    reading x = {o, name, jcv_alloc(c, n * sizeof *x.types), n, 0, jcv_slot(c, jcv_none(c))};
    for (unsigned i = 0; i < n; i++)
        x.types[i] = types[i];
    read_from(c, &x);
    jcv_av *v = c->slots.data[x.slot];
    if (v->kind == AV_UNDEF)
        jcv_ask_type(c, o);
    return v;
}

/* The types that an object of the graph may have here: one where it is known, at most MAX_TYPES. */
static PyObject *few_types(jcv *c, jcv_av *o) {
    PyObject *all = jcv_type_known(c, o) ? jcv_own(c, PyList_New(0)) : jcv_types_of(c, o);
    if (!PyList_GET_SIZE(all) && PyList_Append(all, (PyObject *)jcv_host_type(c, o)) < 0)
        jcv_refuse_py(c);
    if (PyList_GET_SIZE(all) > MAX_TYPES)
        jcv_refuse(c, "objects of very many types");
    return all;
}

jcv_av *jcv_call_host(jcv *c, jcv_av *o, const jcv_args *args) {
    PyTypeObject *types[MAX_TYPES];
    PyObject *functions[MAX_TYPES];
    PyObject *const name = jpy_names.call;
    jcv_av *settled = jcv_settled(c, o);
    if (settled->kind != AV_HOST)
        return jcv_call(c, settled, args);
    if (!jcv_type_known(c, o))
        jcv_widen_types(c, o, name);
    PyObject *all = few_types(c, o);
    unsigned n = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all); i++) {
        PyTypeObject *t = (PyTypeObject *)PyList_GET_ITEM(all, i);
        PyObject *f = jcv_lookup(c, t, name);
        if (!f && !t->tp_call)
            continue; /* None, a number: it raises */
        if (!f || !PyFunction_Check(f))
            jcv_refuse(c, "a call of %s of the graph", t->tp_name);
        types[n] = t;
        functions[n++] = f;
    }
    if (!n)
        jcv_refuse(c, "a call of an object of the graph");
    bool one = n == (unsigned)PyList_GET_SIZE(all);
    for (unsigned i = 1; i < n && one; i++)
        one = functions[i] == functions[0];
    if (!one)
        return jcv_call(c, methods(c, o, types, functions, n), args);
    jcv_host_one_of_seen(c, o);
    return jcv_call(c, jcv_bound(c, functions[0], o), args);
}

/* ---- functools.singledispatch -------------------------------------------------------------------
 */

/* Whether it is what functools.singledispatch has made: all of those have one code. */
static bool is_single(PyObject *fn) {
    static PyObject *code;
    PyObject *m = code ? NULL : PyImport_ImportModule("functools");
    PyObject *some = m ? PyObject_GetAttrString(m, "reduce") : NULL;
    PyObject *one = some ? PyObject_CallMethod(m, "singledispatch", "O", some) : NULL;
    if (one && PyFunction_Check(one))
        code = Py_NewRef(PyFunction_GET_CODE(one));
    Py_XDECREF(one);
    Py_XDECREF(some);
    Py_XDECREF(m);
    PyErr_Clear();
    return code && PyFunction_GET_CODE(fn) == code;
}

/* The functions of a singledispatch function by their classes. */
static jcv_av *registry_of(jcv *c, jcv_av *f) {
    jcv_av *dispatch = jcv_enclosed(c, f, "dispatch");
    jcv_av *all = dispatch && dispatch->kind == AV_PY && PyFunction_Check(dispatch->py)
                      ? jcv_enclosed(c, dispatch, "registry")
                      : NULL;
    if (!all || all->kind != AV_PY || !all->src || !PyDict_CheckExact(all->py))
        jcv_refuse(c, "a singledispatch function whose functions are kept in another way");
    return all;
}

/* The function for a class: the first of its MRO that has one. */
static jcv_av *registered(jcv *c, jcv_av *registry, PyTypeObject *t) {
    if (Py_TYPE(t) != &PyType_Type || !jcv_own_class(c, t))
        jcv_refuse(c, "a singledispatch function of a %s", t->tp_name);
    jcv_guard_type(c, t); /* its bases can be set */
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(t->tp_mro); i++) {
        jcv_av *f = jcv_dict_get(c, registry, jcv_py(c, PyTuple_GET_ITEM(t->tp_mro, i), NULL));
        if (f)
            return f;
    }
    jcv_refuse(c, "a singledispatch function of a %s", t->tp_name);
}

jcv_av *jcv_call_single(jcv *c, jcv_av *f, const jcv_args *args) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (!is_single(f->py))
        return NULL;
    if (!args->n_pos)
        jcv_refuse(c, "a singledispatch function without arguments");
    jcv_av *registry = registry_of(c, f), *o = jcv_settled(c, jcv_there(c, args->pos[0]));
    registry->src->checks |= JPY_CHECK_LEN; /* what is registered comes before what is there */
    registry->src->number = PyDict_GET_SIZE(registry->py);
    while (PyDict_Next(registry->py, &at, &key, &value))
        if (Py_TYPE(key) != &PyType_Type) /* classes that derive from it may not know */
            jcv_refuse(c, "a singledispatch function of abstract classes");
    if (o->kind != AV_HOST) {
        PyTypeObject *t = jcv_type_of(c, o);
        if (!t)
            jcv_refuse(c, "a singledispatch function of %s", jcv_describe(o));
        return jcv_call(c, registered(c, registry, jcv_stands_for(t)), args);
    }
    PyTypeObject *types[MAX_TYPES];
    PyObject *functions[MAX_TYPES];
    PyObject *of = few_types(c, o);
    unsigned n = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(of); i++, n++) {
        types[n] = (PyTypeObject *)PyList_GET_ITEM(of, i);
        jcv_av *of_type = registered(c, registry, types[n]);
        functions[n] = of_type->py;
        if (!functions[n] || !PyFunction_Check(functions[n]))
            jcv_refuse(c, "a call of %s of the graph", types[n]->tp_name);
        if (of_type->src) /* the choice is between objects */
            jcv_by_identity(c, functions[n], of_type->src);
    }
    jcv_args rest = *args;
    rest.pos++;
    rest.n_pos--;
    return jcv_call(c, methods(c, o, types, functions, n), &rest);
}

bool jcv_own_class(jcv *c, PyTypeObject *t) {
    PyObject *const name = jpy_names.class_;
    return jcv_generic_attrs(t) &&
           jcv_lookup(c, t, name) == _PyType_Lookup(&PyBaseObject_Type, name);
}

/* Whether an attribute of the type is what its objects have, as far as they were seen. */
static bool is_of_type(jcv *c, jcv_av *o, PyTypeObject *t, PyObject *name, PyObject *d) {
    PyObject *seen = jcv_samples(c, o);
    bool is = !Py_TYPE(d)->tp_descr_get && !Py_TYPE(d)->tp_descr_set && !jcv_live_attr(c, t, name);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(seen) && is; i++) {
        PyObject *v = jpy_plain_attr(PyList_GET_ITEM(seen, i), name);
        is = v == d;
        Py_XDECREF(v);
    }
    return is;
}

jcv_av *jcv_host_attr(jcv *c, jcv_av *o, PyObject *name) {
    if (!jcv_type_known(c, o)) {
        jcv_widen_types(c, o, name);
        if (PyList_GET_SIZE(jcv_types_of(c, o)) > 1)
            return jcv_attr_by_type(c, o, name);
    }
    PyTypeObject *t = jcv_host_type(c, o);
    if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0 && jcv_own_class(c, t))
        return jcv_py(c, (PyObject *)t, NULL);
    if (t == &PyList_Type || t == &PyDict_Type)
        return _PyType_Lookup(t, name) ? jcv_builtin_method(c, o, name) : NULL;
    if (t == &PyUnicode_Type) {
        PyObject *method = jcv_any_text(c, o) ? _PyType_Lookup(t, name) : NULL;
        return method && Py_TYPE(method) == &PyMethodDescr_Type
                   ? jcv_builtin_method(c, o, name)
                   : jcv_getattr(c, jcv_which_text(c, o), name);
    }
    if (t == &PyTuple_Type) {
        PyObject *method = _PyType_Lookup(t, name);
        if (!method || Py_TYPE(method) != &PyMethodDescr_Type)
            jcv_refuse(c, "a method of %s read while the graph runs", t->tp_name);
        return jcv_builtin_method(c, o, name);
    }
    if (!jcv_generic_attrs(t))
        jcv_refuse(c, "%s reads attributes in its own way", t->tp_name);
    PyObject *d = jcv_lookup_kind(c, t, name);
    if (d && PyFunction_Check(d)) {
        jcv_of_the_type(c, t, name, d);
        return jcv_bound(c, d, o);
    }
    if (d && Py_TYPE(d) == &PyProperty_Type) {
        PyObject *get = jcv_own(c, PyObject_GetAttrString(d, "fget"));
        return jcv_call1(c, jcv_py(c, get, NULL), o);
    }
    if (d && Py_TYPE(d)->tp_descr_set && jcv_python_get(c, d))
        return jcv_call_get(c, o, t, d, jcv_type_value(c, t, name, d));
    bool draws = jpy_twister_type() && PyType_IsSubtype(t, jpy_twister_type());
    if (d && Py_TYPE(d) == &PyMethodDescr_Type && (draws || jcv_host_has_pairs(c, o))) {
        jcv_of_the_type(c, t, name, d);
        return jcv_builtin_method(c, o, name);
    }
    int field = d ? jcv_field_of(c, d) : -1;
    if (field >= 0)
        return jcv_host_item(c, o, jcv_int_const(c, field));
    if (d && Py_TYPE(d) == &PyStaticMethod_Type) {
        PyObject *function = jcv_own(c, PyObject_GetAttrString(d, "__func__"));
        jcv_of_the_type(c, t, name, jcv_own(c, PyTuple_Pack(1, function)));
        return jcv_py(c, function, NULL);
    }
    if (d && jcv_is_functions(d) && is_of_type(c, o, t, name, d)) {
        jcv_of_the_type(c, t, name, jcv_own(c, PyTuple_Pack(1, d)));
        return jcv_type_value(c, t, name, d);
    }
    if (d && (Py_TYPE(d)->tp_descr_get || Py_TYPE(d)->tp_descr_set) && !jpy_is_member(t, d))
        jcv_refuse(c, "the attribute %s of %s", PyUnicode_AsUTF8(name), t->tp_name);
    return jcv_own_attr_of(c, o, name, jcv_live_attr(c, t, name));
}
