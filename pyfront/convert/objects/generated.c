/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that dataclass and namedtuple write: they have no source, so what they do is known from
 * their code objects and defaults, of which it is assumed that they stay.  What the fields of the
 * class say is not asked where these say it: a function may be that of another class by now, and
 * its defaults others than the fields'.
 */
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/objects/objects.h"

#include <string.h>

PyObject *jcv_attr_or_null(PyObject *o, const char *name) {
    PyObject *v = PyObject_GetAttrString(o, name);
    PyErr_Clear();
    return v;
}

bool jcv_is_generated(PyObject *fn) {
    if (!fn || !PyFunction_Check(fn))
        return false;
    PyObject *file = jcv_attr_or_null(PyFunction_GET_CODE(fn), "co_filename");
    bool yes = file && PyUnicode_CompareWithASCIIString(file, "<string>") == 0;
    Py_XDECREF(file);
    return yes;
}

bool jcv_is_new_of_named(PyObject *fn, PyTypeObject *t) {
    if (!jcv_is_generated(fn) || !PyType_IsSubtype(t, &PyTuple_Type))
        return false;
    PyObject *where = PyDict_GetItemString(PyFunction_GET_GLOBALS(fn), "__name__");
    const char *s = where && PyUnicode_Check(where) ? PyUnicode_AsUTF8(where) : NULL;
    PyObject *code = PyFunction_GET_CODE(fn);
    PyObject *names = jcv_attr_or_null(code, "co_names"),
             *consts = jcv_attr_or_null(code, "co_consts");
    bool yes = s && !strncmp(s, "namedtuple_", 11) && names && consts &&
               PyTuple_GET_SIZE(names) == 1 &&
               PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "_tuple_new") == 0;
    for (Py_ssize_t i = 0; yes && i < PyTuple_GET_SIZE(consts); i++)
        yes = PyTuple_GET_ITEM(consts, i) == Py_None;
    Py_XDECREF(names);
    Py_XDECREF(consts);
    return yes;
}

PyObject *jcv_named_params(jcv *c, PyObject *fn) {
    PyObject *all = jcv_own(c, jcv_attr_or_null(PyFunction_GET_CODE(fn), "co_varnames"));
    return jcv_own(c, PyTuple_GetSlice(all, 1, PyTuple_GET_SIZE(all)));
}

bool jcv_is_of_named(jcv *c, PyObject *fn, PyObject *name) {
    PyObject *module = jcv_own(c, PyImport_ImportModule("collections"));
    PyObject *maker = jcv_own(c, PyObject_GetAttrString(module, "namedtuple"));
    PyObject *code = PyFunction_Check(fn) ? PyFunction_GET_CODE(fn) : NULL;
    PyObject *all = PyFunction_Check(maker)
                        ? jcv_own(c, jcv_attr_or_null(PyFunction_GET_CODE(maker), "co_consts"))
                        : NULL;
    for (Py_ssize_t i = 0; code && all && i < PyTuple_GET_SIZE(all); i++)
        if (PyTuple_GET_ITEM(all, i) == code) {
            PyObject *is = jcv_own(c, jcv_attr_or_null(code, "co_name"));
            return PyUnicode_Compare(is, name) == 0;
        }
    return false;
}

/* Assumes that a default stays what it is: an equal number or text, the same of other objects. */
static void stays(jcv *c, jpy_src *s, PyObject *o) {
    if (!s)
        jcv_refuse(c, "out of memory");
    if (!jpy_by_value(o) || PyTuple_Check(o)) {
        jcv_by_identity(c, o, s);
        return;
    }
    s->checks |= JPY_CHECK_CONST;
    s->want = jpy_guards_own(c->guards, o);
}

void jcv_as_generated(jcv *c, PyObject *fn) {
    jpy_src *s = jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, fn, 0);
    PyObject *defaults[2] = {PyFunction_GET_DEFAULTS(fn), PyFunction_GET_KW_DEFAULTS(fn)};
    if (!s)
        jcv_refuse(c, "out of memory");
    s->checks |= JPY_CHECK_CODE;
    s->want = jpy_guards_own(c->guards, PyFunction_GET_GLOBALS(fn));
    s->want2 = jpy_guards_own(c->guards, PyFunction_GET_CODE(fn));
    for (int i = 0; i < 2; i++) {
        jpy_src *d = jpy_src_get(c->guards, JPY_SRC_FUNC, s, NULL, NULL, i);
        PyObject *key, *value;
        Py_ssize_t at = 0;
        if (!d)
            jcv_refuse(c, "out of memory");
        d->checks |= defaults[i] ? JPY_CHECK_LEN : JPY_CHECK_ABSENT;
        d->number = defaults[i] ? PyObject_Size(defaults[i]) : d->number;
        while (i == 1 && defaults[i] && PyDict_Next(defaults[i], &at, &key, &value))
            stays(c, jpy_src_get(c->guards, JPY_SRC_KEY, d, NULL, key, 0), value);
        for (; i == 0 && defaults[i] && at < PyTuple_GET_SIZE(defaults[i]); at++)
            stays(c, jpy_src_get(c->guards, JPY_SRC_ITEM, d, NULL, NULL, at),
                  PyTuple_GET_ITEM(defaults[i], at));
    }
}

/* ---- the __init__ of a dataclass ----------------------------------------------------------------
 */

typedef struct init {
    PyObject *fn, *params; /* names: self, those by place, those by name alone */
    Py_ssize_t n_place, n; /* with self */
} init;

static Py_ssize_t number_of(jcv *c, PyObject *code, const char *name) {
    PyObject *v = jcv_own(c, jcv_attr_or_null(code, name));
    return v ? PyLong_AsSsize_t(v) : 0;
}

/* Whether the function's code has the name, as one that it stores, calls or hands on. */
static bool has_name(jcv *c, PyObject *fn, const char *where, PyObject *name) {
    PyObject *all = jcv_own(c, jcv_attr_or_null(PyFunction_GET_CODE(fn), where));
    for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(all); i++) {
        PyObject *x = PyTuple_GET_ITEM(all, i);
        if (PyUnicode_Check(x) && PyUnicode_Compare(x, name) == 0)
            return true;
    }
    return false;
}

static Py_ssize_t place_of(const init *x, PyObject *name) {
    for (Py_ssize_t i = 1; i < x->n; i++)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(x->params, i), name) == 0)
            return i;
    return 0;
}

/* What a parameter is where it is not given; NULL: that raises. */
static PyObject *default_at(const init *x, Py_ssize_t at) {
    PyObject *d = PyFunction_GET_DEFAULTS(x->fn), *kw = PyFunction_GET_KW_DEFAULTS(x->fn);
    if (at >= x->n_place)
        return kw ? PyDict_GetItem(kw, PyTuple_GET_ITEM(x->params, at)) : NULL;
    Py_ssize_t first = x->n_place - (d ? PyTuple_GET_SIZE(d) : 0);
    return at >= first ? PyTuple_GET_ITEM(d, at - first) : NULL;
}

static bool of_type(PyObject *o, const char *name) { return !strcmp(Py_TYPE(o)->tp_name, name); }

/* What the function has kept of a field as its default or factory, which the field may not be any
 * more; NULL: nothing. */
static jcv_av *kept(jcv *c, PyObject *fn, PyObject *name) {
    static const char *const names[] = {"_dflt_%U", "__dataclass_dflt_%U__"}; /* by version */
    jcv_av *v = NULL;
    for (int i = 0; i < 2 && !v; i++) {
        PyObject *cell = jcv_own(c, PyUnicode_FromFormat(names[i], name));
        v = jcv_enclosed(c, jcv_constant(c, fn), PyUnicode_AsUTF8(cell));
    }
    return v;
}

static jcv_av *made_default(jcv *c, PyObject *fn, PyObject *name) {
    jcv_av *factory = kept(c, fn, name);
    return factory ? jcv_call(c, factory, &(jcv_args){0}) : NULL;
}

static jcv_av *argument(jcv *c, const init *x, const jcv_args *args, Py_ssize_t at,
                        unsigned *io_used) {
    PyObject *name = PyTuple_GET_ITEM(x->params, at);
    bool by_place = at < x->n_place && (unsigned)at <= args->n_pos;
    jcv_av *v = by_place ? args->pos[at - 1] : NULL;
    for (unsigned k = 0; k < args->n_kw && !v; k++)
        if (PyUnicode_Compare(args->names[k], name) == 0) {
            v = args->kw[k];
            (*io_used)++;
        }
    *io_used += by_place;
    PyObject *d = v ? NULL : default_at(x, at);
    if (d)
        v = of_type(d, "_HAS_DEFAULT_FACTORY_CLASS") ? made_default(c, x->fn, name)
                                                     : jcv_constant(c, d);
    if (!v)
        jcv_refuse(c, "an argument is missing");
    return v;
}

/* A field that is no parameter: its class has the default, unless it is a factory or a slot's. */
static jcv_av *without_argument(jcv *c, PyObject *fn, PyObject *name, PyObject *field) {
    PyObject *d = jcv_own(c, PyObject_GetAttrString(field, "default"));
    PyObject *factory = jcv_own(c, PyObject_GetAttrString(field, "default_factory"));
    jcv_av *v = kept(c, fn, name);
    bool known = v && v->kind == AV_PY && (v->py == d || v->py == factory);
    if (!known) /* nothing else says whether it is called */
        jcv_refuse(c, "a field that is set in a way that is not known");
    return v->py == factory ? jcv_call(c, v, &(jcv_args){0}) : v;
}

/* The field is one of the instance's, not of its class or for __post_init__ alone. */
static void check_field(jcv *c, PyTypeObject *t, PyObject *name, PyObject *field) {
    PyObject *kind = jcv_own(c, PyObject_GetAttrString(field, "_field_type"));
    PyObject *kind_name = jcv_own(c, jcv_attr_or_null(kind, "name"));
    PyObject *d = jcv_lookup(c, t, name);
    bool plain = kind_name && PyUnicode_CompareWithASCIIString(kind_name, "_FIELD") == 0;
    if (!plain || (d && Py_TYPE(d)->tp_descr_set && !jpy_is_member(t, d)))
        jcv_refuse(c, "a dataclass with class or init variables, or descriptors");
}

void jcv_init_dataclass(jcv *c, jcv_av *o, PyObject *fn, PyObject *fields, const jcv_args *args) {
    PyObject *code = PyFunction_GET_CODE(fn), *name, *field;
    init x = {fn, jcv_own(c, jcv_attr_or_null(code, "co_varnames")),
              number_of(c, code, "co_argcount"), 0};
    Py_ssize_t at = 0, found = 1;
    unsigned used = 0;
    x.n = x.n_place + number_of(c, code, "co_kwonlyargcount");
    jcv_as_generated(c, fn);
    while (PyDict_Next(fields, &at, &name, &field)) {
        check_field(c, Py_TYPE(o->py), name, field);
        Py_ssize_t place = place_of(&x, name);
        bool set = has_name(c, fn, "co_names", name) || has_name(c, fn, "co_consts", name);
        if (!set && !place)
            continue;
        found += place > 0;
        PyObject *key = Py_NewRef(name);
        PyUnicode_InternInPlace(&key);
        jcv_set_fresh(c, o, jcv_own(c, key),
                      place ? argument(c, &x, args, place, &used)
                            : without_argument(c, fn, name, field));
    }
    if (found != x.n)
        jcv_refuse(c, "the __init__ of another dataclass");
    if (used != args->n_pos + args->n_kw)
        jcv_refuse(c, "an unexpected argument");
    PyObject *post = jcv_own(c, PyUnicode_InternFromString("__post_init__"));
    if (has_name(c, fn, "co_names", post))
        jcv_call(c, jcv_getattr(c, o, post), &(jcv_args){0});
}
