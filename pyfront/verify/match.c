/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether two outcomes are the same: the graph's, made but written nowhere, and CPython's.
 *
 * Objects that were there before are compared by identity, immutable values of the language by
 * type and value, and what was made by its contents: a new object of the graph's stands for one
 * of CPython's, everywhere the same one.  Nothing recurses, and no code of the program runs.
 */
#include "pyfront/verify/verify.h"

#include "pyfront/entry/entry.h"

#include <math.h>
#include <string.h>

#include "pyfront/tensor/tensor.h"
#include "pyfront/verify/numbers.h"

static bool is_born(const jpy_shadow *s, const PyObject *o) {
    jpy_born *b;
    HASH_FIND_PTR(s->born, &o, b);
    return b != NULL;
}

/* The same two objects everywhere; `both`: also when asked from CPython's side. */
static bool pair(jpy_shadow *s, PyObject *p, PyObject *a, bool both, bool *known) {
    jpy_pair *x, *y;
    HASH_FIND(by_graph, s->pairs, &p, sizeof p, x);
    HASH_FIND(by_python, s->pairs_back, &a, sizeof a, y);
    *known = x != NULL;
    if (x || (both && y))
        return x && x->python == a;
    if (!(x = jn_arena_zalloc(&s->arena, sizeof *x)))
        return !(s->failed = true);
    x->graph = p;
    x->python = a;
    HASH_ADD(by_graph, s->pairs, graph, sizeof x->graph, x);
    if (!y)
        HASH_ADD(by_python, s->pairs_back, python, sizeof x->python, x);
    return true;
}

/* A tuple that was there before is a value: the graph may have it from its conversion, and CPython
 * others that are equal to it, as with numbers and text.  Each two are compared once. */
static bool pair_of_values(jpy_shadow *s, PyObject *p, PyObject *a, bool *known) {
    struct jpy_two_tuples of = {p, a};
    jpy_value_pair *x;
    HASH_FIND(hh, s->values, &of, sizeof of, x);
    *known = x != NULL;
    if (x)
        return true;
    if (!(x = jn_arena_zalloc(&s->arena, sizeof *x)))
        return !(s->failed = true);
    x->of = of;
    HASH_ADD(hh, s->values, of, sizeof x->of, x);
    return true;
}

/* ---- tensors -----------------------------------------------------------------------------------
 */

/* Tensors share memory in one outcome as they do in the other. */
static bool same_sharing(jpy_shadow *s, const janus_tensor *p, const janus_tensor *a) {
    const jn_storage *of = jpy_shadow_unnudged(s, p->storage);
    if (jpy_shadow_storage(s, of) || jpy_shadow_storage(s, a->storage))
        return of == a->storage && jn_tensor_offset(p) == jn_tensor_offset(a);
    jpy_storage_pair *x;
    HASH_FIND(by_graph, s->storage_pairs, &p->storage, sizeof p->storage, x);
    if (x)
        return x->python == a->storage;
    if (!(x = jn_arena_zalloc(&s->arena, sizeof *x)))
        return !(s->failed = true);
    x->graph = p->storage;
    x->python = a->storage;
    HASH_ADD(by_graph, s->storage_pairs, graph, sizeof x->graph, x);
    return true;
}

static bool same_layout(const janus_tensor *p, const janus_tensor *a) {
    if (p->dtype != a->dtype || p->rank != a->rank || p->storage->device != a->storage->device)
        return false;
    for (int d = 0; d < p->rank; d++)
        if (p->dims[d] != a->dims[d])
            return false;
    for (int d = 0; d < p->rank && a->numel > 1; d++)
        if (p->dims[d] > 1 && p->strides[d] != a->strides[d])
            return false;
    return true;
}

static PyObject *layout_text(const janus_tensor *t) {
    PyObject *dims = PyList_New(0), *strides = PyList_New(0), *text = NULL;
    for (int d = 0; dims && strides && d < t->rank; d++) {
        PyObject *n = PyLong_FromLongLong(t->dims[d]), *m = PyLong_FromLongLong(t->strides[d]);
        if (n && m && (PyList_Append(dims, n) < 0 || PyList_Append(strides, m) < 0))
            PyErr_Clear();
        Py_XDECREF(n);
        Py_XDECREF(m);
    }
    PyObject *device = jpy_device_of(t);
    if (dims && strides && device)
        text = PyUnicode_FromFormat("%S%R with strides %R on %S", jpy_dtype_object(t->dtype), dims,
                                    strides, device);
    Py_XDECREF(device);
    Py_XDECREF(dims);
    Py_XDECREF(strides);
    return text;
}

/* `of`: what tells it from all else that CPython gives. */
static bool same_numbers(jpy_shadow *s, janus_tensor *p, janus_tensor *a, const void *of,
                         const jpy_where *w) {
    jpy_number_pair at;
    bool floats = jn_dtype_is_float((janus_dtype)a->dtype);
    if (s->nudges && floats) {
        jpy_shadow_moved(s, of, p);
        return true;
    }
    switch (jpy_numbers_compare(p, a, s->exact, &at)) {
    case JPY_NUMBERS_EQUAL:
        return true;
    case JPY_NUMBERS_FAILED:
        return !(s->failed = true);
    default:
        break;
    }
    if (floats && jpy_shadow_explains(s, of, p, a))
        return true;
    char text[128];
    PyOS_snprintf(text, sizeof text, "element %lld is %.9g in the graph, %.9g in CPython",
                  (long long)at.index, at.graph, at.python);
    bool rounding = floats && (at.near || !s->doubted);
    return jpy_shadow_differs(s, rounding ? JPY_SUSPECT : JPY_DISPROVED, w, "%s", text);
}

static bool same_value(jpy_shadow *s, PyObject *p, PyObject *a, const jpy_where *w);

static bool same_tensor(jpy_shadow *s, PyObject *po, PyObject *ao, const jpy_where *w) {
    jpy_tensor *p = (jpy_tensor *)po, *a = (jpy_tensor *)ao;
    if (!same_layout(p->t, a->t)) {
        PyObject *x = layout_text(p->t), *y = layout_text(a->t);
        jpy_shadow_differs(s, JPY_DISPROVED, w, "the graph gives %S, CPython %S", x ? x : Py_None,
                           y ? y : Py_None);
        Py_XDECREF(x);
        Py_XDECREF(y);
        return false;
    }
    if (jpy_tensor_tracked(p) != jpy_tensor_tracked(a) ||
        jpy_tensor_is_leaf(p) != jpy_tensor_is_leaf(a))
        return jpy_shadow_differs(
            s, JPY_DISPROVED, w,
            "requires_grad is %s and is_leaf %s in the graph, %s and %s in CPython",
            jpy_tensor_tracked(p) ? "True" : "False", jpy_tensor_is_leaf(p) ? "True" : "False",
            jpy_tensor_tracked(a) ? "True" : "False", jpy_tensor_is_leaf(a) ? "True" : "False");
    if (!same_sharing(s, p->t, a->t))
        return jpy_shadow_differs(s, JPY_DISPROVED, w, "other tensors share its memory");
    if (!jpy_shadow_storage(s, a->t->storage) && !same_numbers(s, p->t, a->t, a->t, w))
        return false;
    if (p->node && is_born(s, po)) {
        if (!jn_vec_push(&s->histories, ((jpy_gradients_of){po, ao})))
            return !(s->failed = true);
        Py_INCREF(po);
        Py_INCREF(ao);
    }
    PyObject *pg = p->grad ? p->grad : Py_None, *ag = a->grad ? a->grad : Py_None;
    return same_value(s, pg, ag, jpy_shadow_where(s, w, "grad", NULL, 0));
}

static void check_storage(jpy_shadow *s, jpy_twin_storage *st) {
    if (!st->copy && jpy_shadow_wrote(st)) {
        s->copy_all = true;
        jpy_shadow_differs(s, JPY_UNDECIDED, st->where,
                           "CPython wrote to memory that was not copied");
        return;
    }
    bool rows = st->rows; /* the others are as they were: they are as they are */
    if (rows && !jpy_shadow_copy_storage(s, st))
        return;
    if (st->copy)
        same_numbers(s, st->copy, st->all, st->storage, st->where);
    if (rows) {
        janus_tensor_release(st->copy);
        st->copy = NULL;
    }
}

/* ---- objects -----------------------------------------------------------------------------------
 */

static bool same_float(jpy_shadow *s, PyObject *po, PyObject *ao, const jpy_where *w) {
    double p = PyFloat_AS_DOUBLE(po), a = PyFloat_AS_DOUBLE(ao);
    if (s->nudges)
        jpy_shadow_moved_float(s, ao, p);
    if (s->nudges || jpy_near(p, a, 0, JANUS_F32, s->exact) ||
        jpy_shadow_explains_float(s, ao, p, a))
        return true;
    char text[128];
    PyOS_snprintf(text, sizeof text, "%.17g in the graph, %.17g in CPython", p, a);
    bool rounding = !s->doubted || jpy_near(p, a, 0, JANUS_F32, false);
    return jpy_shadow_differs(s, rounding ? JPY_SUSPECT : JPY_DISPROVED, w, "%s", text);
}

/* Immutable values that are equal where `==`, which for these types is CPython's own, says so. */
static bool by_equality(const PyTypeObject *t) {
    return t == &PyLong_Type || t == &PyUnicode_Type || t == &PyBytes_Type || t == &PyRange_Type ||
           t == &PySlice_Type || t == &PyFrozenSet_Type || t == &PyComplex_Type ||
           t == jpy.dtype_type || t == jpy.device_type;
}

/* What reading an attribute makes, anew each time: a function and the object that it is bound to.
 * What else it is says its name, or NULL: it is none. */
static PyObject *bound_to(PyObject *o, PyObject **out_function) {
    if (PyMethod_Check(o)) {
        *out_function = Py_NewRef(PyMethod_GET_FUNCTION(o));
        return Py_NewRef(PyMethod_GET_SELF(o));
    }
    if (Py_TYPE(o) != &PyCFunction_Type && Py_TYPE(o) != jpy.wrapper_type)
        return NULL;
    *out_function = PyObject_GetAttrString(o, "__name__"); /* of these types, whose lookup is C */
    PyObject *self = *out_function ? PyObject_GetAttrString(o, "__self__") : NULL;
    if (!self) {
        PyErr_Clear();
        Py_CLEAR(*out_function);
    }
    return self;
}

static bool same_bound(jpy_shadow *s, PyObject *p, PyObject *a, const jpy_where *w, bool *is_one) {
    PyObject *f = NULL, *g = NULL, *x = bound_to(p, &f), *y = bound_to(a, &g);
    *is_one = x && y;
    bool same =
        *is_one &&
        (f == g || (PyUnicode_Check(f) && PyUnicode_Check(g) && PyUnicode_Compare(f, g) == 0));
    if (*is_one && !same)
        jpy_shadow_differs(s, JPY_DISPROVED, w, "the graph gives the method %R, CPython %R", f, g);
    same = same && same_value(s, x, y, jpy_shadow_where(s, w, "__self__", NULL, 0));
    /* what is compared later is an object of the run's or of CPython's, which stay */
    Py_XDECREF(f);
    Py_XDECREF(g);
    Py_XDECREF(x);
    Py_XDECREF(y);
    return same;
}

static bool same_value(jpy_shadow *s, PyObject *p, PyObject *a, const jpy_where *w) {
    const PyTypeObject *t = Py_TYPE(p);
    bool known, born = is_born(s, p);
    if (p == a)
        return true;
    if (t != Py_TYPE(a))
        return jpy_shadow_differs(s, JPY_DISPROVED, w, "the graph gives a %s, CPython a %s",
                                  t->tp_name, Py_TYPE(a)->tp_name);
    if (t == &PyFloat_Type)
        return same_float(s, p, a, w);
    if (by_equality(t)) {
        if (born && t == &PyUnicode_Type) {
            jpy_verdict v = jpy_shadow_same_text(s, p, a, true);
            return v == JPY_AGREED ||
                   jpy_shadow_differs(s, v, w, "the graph gives %R, CPython %R", p, a);
        }
        int equal = PyObject_RichCompareBool(p, a, Py_EQ);
        if (equal < 0)
            PyErr_Clear();
        return equal == 1 ||
               jpy_shadow_differs(s, JPY_DISPROVED, w, "the graph gives %R, CPython %R", p, a);
    }
    bool bound, same = same_bound(s, p, a, w, &bound);
    if (bound)
        return same;
    bool tuple = PyTuple_Check(p);
    if (!tuple && !born)
        return jpy_shadow_differs(s, JPY_DISPROVED, w,
                                  "the graph and CPython give two different objects (%s)",
                                  t->tp_name);
    if (!tuple && jpy_shadow_find(s, a))
        return jpy_shadow_differs(s, JPY_DISPROVED, w,
                                  "the graph gives a new %s, CPython one that was there before",
                                  t->tp_name);
    if (!(tuple && !born ? pair_of_values(s, p, a, &known) : pair(s, p, a, !tuple, &known)))
        return jpy_shadow_differs(s, JPY_DISPROVED, w,
                                  "the graph and CPython give one %s in other places", t->tp_name);
    if (known)
        return true;
    if (!jn_vec_push(&s->todo, ((jpy_todo){p, a, w})))
        s->failed = true;
    return !s->failed;
}

static bool same_sequence(jpy_shadow *s, PyObject *const *p, Py_ssize_t n, PyObject *const *a,
                          Py_ssize_t m, const jpy_where *w) {
    if (n != m)
        return jpy_shadow_differs(s, JPY_DISPROVED, w,
                                  "it has %zd items in the graph, %zd in CPython", n, m);
    for (Py_ssize_t i = 0; i < n && !s->failed; i++)
        if (p[i] != a[i] && !same_value(s, p[i], a[i], jpy_shadow_where(s, w, NULL, NULL, i)) &&
            s->verdict == JPY_DISPROVED)
            return false;
    return true;
}

/* Whether CPython does it on its own: a submodule that is imported, what it notes of a class. */
static bool is_bookkeeping(const jpy_twin *t, PyObject *key, PyObject *v) {
    const PyObject *owner = t ? t->owner : NULL;
    if (owner && PyModule_Check(owner) && PyModule_Check(v))
        return true;
    if (owner && PyType_Check(owner))
        return PyUnicode_CheckExact(key) && PyUnicode_GET_LENGTH(key) > 1 &&
               PyUnicode_READ_CHAR(key, 1) == '_' && PyUnicode_READ_CHAR(key, 0) == '_';
    return PyUnicode_CheckExact(key) && PyUnicode_CompareWithASCIIString(key, "__builtins__") == 0;
}

/* One key, or what both runs made anew: an equal value, a tuple of such, an object of its own. */
static bool same_key(jpy_shadow *s, PyObject *p, PyObject *a, const jpy_where *w) {
    PyTypeObject *t = Py_TYPE(p);
    if (p == a || t != Py_TYPE(a))
        return p == a;
    if (!by_equality(t) && t != &PyFloat_Type)
        return (PyTuple_Check(p) || is_born(s, p)) &&
               same_value(s, p, a, jpy_shadow_where(s, w, NULL, a, 0));
    bool same = PyObject_RichCompareBool(p, a, Py_EQ) == 1;
    PyErr_Clear();
    return same ||
           (t == &PyFloat_Type && isnan(PyFloat_AS_DOUBLE(p)) && isnan(PyFloat_AS_DOUBLE(a)));
}

/* Dicts with the same keys in the same order; `any_order` where nobody sees it. */
static bool same_dict(jpy_shadow *s, const jpy_twin *t, PyObject *p, PyObject *a, bool any_order,
                      bool attrs, const jpy_where *w) {
    Py_ssize_t i = 0, k = 0;
    PyObject *pk = NULL, *pv, *ak, *av;
    while (a && PyDict_Next(a, &k, &ak, &av)) {
        bool more = p && !any_order && PyDict_Next(p, &i, &pk, &pv);
        if (any_order)
            more = p && (pv = PyDict_GetItemWithError(p, pk = ak));
        bool same = more && same_key(s, pk, ak, w);
        if (!same && is_bookkeeping(t, ak, av))
            continue;
        const char *name = attrs && PyUnicode_Check(ak) ? PyUnicode_AsUTF8(ak) : NULL;
        if (name && !(name = jn_arena_strdup(&s->arena, name)))
            return !(s->failed = true);
        const jpy_where *at =
            name ? jpy_shadow_where(s, w, name, NULL, 0) : jpy_shadow_where(s, w, NULL, ak, 0);
        if (!same)
            return jpy_shadow_differs(s, JPY_DISPROVED, at,
                                      more ? "the graph has another key in its place"
                                           : "the graph has it not");
        if (pv != av && !same_value(s, pv, av, at) && s->verdict == JPY_DISPROVED)
            return false;
    }
    Py_ssize_t n = p ? PyDict_GET_SIZE(p) : 0, m = a ? PyDict_GET_SIZE(a) : 0;
    if (n > m)
        return jpy_shadow_differs(s, JPY_DISPROVED, w, "it has %zd %s in the graph, %zd in CPython",
                                  n, attrs ? "attributes" : "keys", m);
    return true;
}

static bool same_attrs(jpy_shadow *s, PyObject *p, PyObject *members, PyObject *o,
                       const jpy_where *w) {
    PyObject *now = jpy_attrs_of(o), *slots = jpy_members_of(o);
    const jpy_twin *d = now ? jpy_shadow_find(s, now) : NULL;
    bool apart = d && d->items == p; /* it is compared on its own */
    bool same = (apart || same_dict(s, NULL, p, now, false, true, w)) &&
                same_dict(s, NULL, members, slots, true, true, w);
    /* what is compared later lies in the object: it stays */
    jpy_attrs_done(o, now);
    Py_XDECREF(slots);
    return same;
}

/* The contents of an object that was made. */
static bool same_contents(jpy_shadow *s, const jpy_todo *x) {
    PyObject *p = x->graph, *a = x->python;
    if (PyTuple_Check(p))
        return same_sequence(s, ((PyTupleObject *)p)->ob_item, PyTuple_GET_SIZE(p),
                             ((PyTupleObject *)a)->ob_item, PyTuple_GET_SIZE(a), x->where);
    if (PyList_Check(p))
        return same_sequence(s, ((PyListObject *)p)->ob_item, PyList_GET_SIZE(p),
                             ((PyListObject *)a)->ob_item, PyList_GET_SIZE(a), x->where);
    if (PyDict_Check(p))
        return same_dict(s, NULL, p, a, false, false, x->where);
    if (jpy_tensor_check(p) && !same_tensor(s, p, a, x->where))
        return false;
    PyObject *attrs = jpy_attrs_of(p), *members = jpy_members_of(p);
    bool same = same_attrs(s, attrs, members, a, x->where);
    jpy_attrs_done(p, attrs);
    Py_XDECREF(members);
    return same;
}

static bool same_twin(jpy_shadow *s, const jpy_twin *t) {
    PyObject *o = t->o;
    if (!same_attrs(s, t->attrs, t->members, o, t->where))
        return false;
    if (PyList_Check(o))
        return same_sequence(s, ((PyListObject *)t->items)->ob_item, PyList_GET_SIZE(t->items),
                             ((PyListObject *)o)->ob_item, PyList_GET_SIZE(o), t->where);
    if (PyDict_Check(o))
        return same_dict(s, t, t->items, o, t->owner && PyModule_Check(t->owner), t->owner != NULL,
                         t->where);
    if (PyCell_Check(o)) {
        PyObject *now = PyCell_GET(o);
        return same_sequence(s, ((PyListObject *)t->items)->ob_item, PyList_GET_SIZE(t->items),
                             &now, now ? 1 : 0, t->where);
    }
    if (PySet_Check(o)) {
        int equal = PyObject_RichCompareBool(t->items, o, Py_EQ);
        PyErr_Clear();
        return equal == 1 || jpy_shadow_differs(s, JPY_DISPROVED, t->where, "it has other items");
    }
    if (t->drawn && memcmp(t->drawn, jpy_twister_of(o), sizeof *t->drawn) != 0)
        return jpy_shadow_differs(s, JPY_DISPROVED, t->where, "CPython draws other numbers");
    if (!t->tensor)
        return true;
    jpy_tensor *x = (jpy_tensor *)o;
    const jpy_twin_tensor *was = t->tensor;
    bool same = was->moved ? same_sharing(s, was->t, x->t)
                           : x->t->storage == was->t->storage &&
                                 jn_tensor_offset(x->t) == jn_tensor_offset(was->t);
    if (!same || !same_layout(was->t, x->t))
        return jpy_shadow_differs(s, JPY_DISPROVED, t->where, "CPython made it another tensor");
    if (jpy_tensor_tracked(x) != was->tracked || jpy_tensor_is_leaf(x) != was->leaf)
        return jpy_shadow_differs(s, JPY_DISPROVED, t->where, "CPython changed its history");
    if (was->moved && !same_numbers(s, was->t, x->t, x->t, t->where))
        return false;
    return same_value(s, was->grad ? was->grad : Py_None, x->grad ? x->grad : Py_None,
                      jpy_shadow_where(s, t->where, "grad", NULL, 0));
}

static void all_contents(jpy_shadow *s) {
    while (s->todo.n && !s->failed && s->verdict != JPY_DISPROVED) {
        jpy_todo x = jn_vec_pop(&s->todo);
        same_contents(s, &x);
    }
}

void jpy_shadow_compare(jpy_shadow *s, PyObject *graph, PyObject *python) {
    jpy_where *w = jpy_shadow_where(s, NULL, "result", NULL, 0);
    same_value(s, graph, python, w);
    all_contents(s);
    for (jpy_twin *t = s->twins; t && !s->failed && s->verdict != JPY_DISPROVED; t = t->hh.next) {
        same_twin(s, t);
        all_contents(s);
    }
    for (jpy_twin_storage *st = s->storages; st && !s->failed && s->verdict != JPY_DISPROVED;
         st = st->hh.next)
        check_storage(s, st);
    if (s->failed && s->verdict != JPY_DISPROVED)
        s->verdict = JPY_UNDECIDED;
}
