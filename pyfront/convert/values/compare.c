/* SPDX-License-Identifier: Apache-2.0 */
/* Native comparisons: identity, order, membership. */
#include "pyfront/convert/values/values.h"

#include <math.h>

#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/native.h"

static bool is_single(PyObject *o) {
    return o == Py_None || PyBool_Check(o) || o == Py_Ellipsis || o == Py_NotImplemented;
}

/* Which real objects are one is guarded where their own guards do not say. */
static int identical_objects(jcv *c, jcv_av *a, jcv_av *b) {
    bool value = jpy_by_value(a->py) && !PyTuple_Check(a->py), one = a->py == b->py;
    if (value ? is_single(a->py) || !jpy_same_value(a->py, b->py)
              : Py_TYPE(a->py) != Py_TYPE(b->py))
        return one;
    if (!one && value && (a->src == b->src || !a->src || !b->src))
        jcv_refuse(c, "whether two values alike are one object");
    if (a->src == b->src)
        return one;
    if (!a->src || !b->src) {
        jcv_by_identity(c, a->src ? a->py : b->py, a->src ? a->src : b->src);
        return one;
    }
    if (one && !jcv_one_object(c, a, b))
        jcv_refuse(c, "which objects of the call are one");
    if (!one && (!jpy_guards_distinct(c->guards, a->src->slot) ||
                 !jpy_guards_distinct(c->guards, b->src->slot)))
        jcv_refuse(c, "out of memory");
    return one;
}

/* Numbers of the graph have no identity, but True and False are one object each. */
static int identical_numbers(jcv *c, jcv_av *a, jcv_av *b, jcv_val **out) {
    jcv_av *s = a->kind == AV_SCALAR ? a : b, *o = s == a ? b : a;
    bool truth = s->val->type->kind == JANUS_KIND_BOOL;
    if (truth && o->kind == AV_PY && PyBool_Check(o->py)) {
        *out = o->py == Py_True ? s->val : &jcv_op(c, JN_OP(s_not), &s->val, 1, NULL)->out[0];
        return -1;
    }
    if (o->kind == AV_SCALAR || (!truth && jcv_type_of(c, s) == jcv_type_of(c, o)))
        jcv_refuse(c, "identity of numbers");
    return 0;
}

/* Whether two tensors are one object: what arms, rounds, calls of a recursion and reads of objects
 * leave may be what has another name, which no value of the graph says. */
static bool one_tensor(jcv *c, const jcv_av *a, const jcv_av *b) {
    const jcv_rec *x = jcv_rec_of(c, ((jpy_tensor *)a->py)->t)->root;
    const jcv_rec *y = jcv_rec_of(c, ((jpy_tensor *)b->py)->t)->root;
    if (a->py == b->py)
        return true;
    bool several = x->shared || y->shared || x->n_from || y->n_from;
    if (several && x->t->dtype == y->t->dtype && jcv_may_be_one(x, y))
        jcv_refuse(c, "whether two tensors are one, which some paths make so");
    if (several) {
        jcv_stay_apart(c, x);
        jcv_stay_apart(c, y);
    }
    return false;
}

/* 1, 0: the same object or not; -1: not known, *out the value. */
static int identical(jcv *c, jcv_av *a, jcv_av *b, jcv_val **out) {
    a = jcv_found(c, a);
    b = jcv_found(c, b);
    if (jcv_number_or(a) && jcv_is_none(b))
        return 0;
    if (a->kind == AV_MAYBE && jcv_is_none(b)) {
        *out = &jcv_op(c, JN_OP(s_not), &a->val, 1, NULL)->out[0];
        return -1;
    }
    a = jcv_there(c, a);
    b = jcv_there(c, b);
    if (a != b && (a->kind == AV_SEQ || b->kind == AV_SEQ) && jcv_type_of(c, a) == &PyTuple_Type &&
        jcv_type_of(c, b) == &PyTuple_Type) /* a slice that takes all items is that tuple */
        jcv_refuse(c, "whether tuples of a length that only the graph knows are one");
    if (a->kind == AV_MAYBE || b->kind == AV_MAYBE)
        jcv_refuse(c, "identity of what a dict may have");
    if (a->kind == AV_HOST || b->kind == AV_HOST) {
        jcv_av *h = a->kind == AV_HOST ? a : b, *o = h == a ? b : a;
        if (o->kind == AV_PY && o->py == Py_None) {
            if (jcv_type_known(c, h))
                return jcv_host_type(c, h) == Py_TYPE(Py_None);
            *out = jcv_host_is(c, h, Py_TYPE(Py_None));
            return -1;
        }
        if (o->kind == AV_PY && jcv_is_const(o))
            jcv_refuse(c, "identity of an object read while the graph runs");
        if (o->kind == AV_PY && !o->src && jcv_is_fresh(c, o->py))
            return 0; /* an instance that was made here and is known was stored nowhere */
        jcv_val *in[2] = {jcv_to_host(c, a)->val, jcv_to_host(c, b)->val};
        *out = &jcv_op(c, JN_OP(host_is), in, 2, NULL)->out[0];
        return -1;
    }
    if (a->kind == AV_TENSOR && b->kind == AV_TENSOR) {
        jpy_src *s = jcv_bound_src(c, a), *t = jcv_bound_src(c, b);
        if (s && t && s != t) {
            jcv_rec *x = jcv_rec_of(c, ((jpy_tensor *)a->py)->t);
            jcv_rec *y = jcv_rec_of(c, ((jpy_tensor *)b->py)->t);
            jpy_src *late = s->slot > t->slot ? s : t, *early = late == s ? t : s;
            if (x->proxy == y->proxy) {
                late->checks |= JPY_CHECK_SAME;
                late->same = early->slot;
                return 1;
            }
            if (!jpy_guards_distinct(c->guards, s->slot) ||
                !jpy_guards_distinct(c->guards, t->slot))
                jcv_refuse(c, "out of memory");
            return 0;
        }
        return one_tensor(c, a, b);
    }
    if (a == b)
        return 1;
    if (a->kind == AV_PY && b->kind == AV_PY && a->py != b->py &&
        Py_TYPE(a->py) == Py_TYPE(b->py)) {
        jcv_not_frozen(c, a, "the identity");
        jcv_not_frozen(c, b, "the identity");
    }
    if (a->kind == AV_SCALAR || b->kind == AV_SCALAR)
        return identical_numbers(c, a, b, out);
    if (a->kind == AV_TEXT && b->kind == AV_TEXT) { /* of one letter there may be one object */
        jcv_val *in[2] = {jcv_text_object(c, a), jcv_text_object(c, b)};
        *out = &jcv_op(c, JN_OP(host_is), in, 2, NULL)->out[0];
        return -1;
    }
    if ((a->kind == AV_TEXT || b->kind == AV_TEXT) && jcv_type_of(c, a) == jcv_type_of(c, b))
        jcv_refuse(c, "identity of a text with numbers of the graph");
    a = (a->kind == AV_LIST || a->kind == AV_DICT) && a->origin ? a->origin : a;
    b = (b->kind == AV_LIST || b->kind == AV_DICT) && b->origin ? b->origin : b;
    if ((a->kind == AV_TUPLE && !a->n) || (b->kind == AV_TUPLE && !b->n)) { /* there is one */
        jcv_av **items, *other = a->kind == AV_TUPLE && !a->n ? b : a;
        unsigned n = 1;
        return jcv_is_plain_tuple(a) && jcv_is_plain_tuple(b) &&
               jcv_native_items(c, other, &items, &n) && !n;
    }
    if (a->kind != b->kind)
        return 0;
    if (a->kind == AV_PY)
        return identical_objects(c, a, b);
    if (a->kind == AV_DICT && a->slot != b->slot && c->given.n)
        jcv_refuse(c, "whether dicts in a recursion are one");
    if (a->kind == AV_LIST || a->kind == AV_DICT)
        return a->slot == b->slot;
    if (jcv_av_equal(a, b))
        jcv_refuse(c, "whether two values alike are one object");
    return 0;
}

static jcv_av *negated(jcv *c, jcv_av *a, bool negate) {
    return negate ? jcv_unary(c, JPY_U_NOT, a) : a;
}

int jcv_same_or_equal(jcv *c, jcv_av *a, jcv_av *b, jcv_val **out) {
    jcv_val *v = NULL;
    bool constants = jcv_is_const(a) && jcv_is_const(b);
    if (a == b || (constants && a->py == b->py))
        return 1;
    if (constants && PyFloat_CheckExact(a->py) && isnan(PyFloat_AS_DOUBLE(a->py)) &&
        PyFloat_CheckExact(b->py) && isnan(PyFloat_AS_DOUBLE(b->py)))
        jcv_refuse(c, "whether two numbers that are none are one object");
    bool objects = !constants && a->kind == b->kind && (a->kind == AV_PY || a->kind == AV_TENSOR);
    if (objects && identical(c, a, b, &v) > 0)
        return 1;
    return jcv_truth(c, jcv_compare(c, JPY_EQ, a, b), out);
}

/* The keys of a dict that is made here, where each is a constant that only its equals are found
 * under; NULL: it is another one. */
static jcv_av *known_keys(jcv *c, jcv_av *d) {
    jcv_av *pairs = c->slots.data[d->slot], *keys = jcv_tuple(c, NULL, 0);
    if (d->origin || pairs->kind != AV_TUPLE)
        return NULL;
    keys->items = jcv_alloc(c, (pairs->n + 1) * sizeof *keys->items);
    for (unsigned i = 0; i + 1 < pairs->n; i += 2) {
        const jcv_av *k = pairs->items[i];
        bool plain = k->kind == AV_PY && (PyUnicode_CheckExact(k->py) || PyLong_CheckExact(k->py));
        if (!plain || pairs->items[i + 1]->kind == AV_UNDEF)
            return NULL;
        keys->items[keys->n++] = pairs->items[i];
    }
    return keys;
}

jcv_av *jcv_native_contains(jcv *c, jcv_av *in, jcv_av *item) {
    jcv_av **items;
    unsigned n;
    if (in->kind == AV_PY && PyUnicode_CheckExact(in->py) && item->kind == AV_HOST &&
        jcv_host_type(c, item) == &PyUnicode_Type)
        return jcv_part_of_text(c, in, item);
    if (jcv_is_const(in) && jcv_const_object(c, item) && !PyTuple_Check(in->py)) {
        int r = PySequence_Contains(in->py, jcv_const_object(c, item));
        if (r < 0)
            jcv_refuse_py(c);
        return jcv_bool(c, r);
    }
    bool set = in->kind == AV_PY && in->src && PyAnySet_CheckExact(in->py) && !jcv_is_const(in);
    bool dict = in->kind == AV_PY && in->src && jpy_has_pairs(in->py) && !PyODict_Check(in->py) &&
                (item->kind == AV_HOST || item->kind == AV_SCALAR) && !jcv_is_written(c, in->py);
    if (dict || (set && (item->kind == AV_HOST || jcv_is_plain(item) || item->kind == AV_SCALAR)))
        in = jcv_to_host(c, in);
    PyTypeObject *of = in->kind == AV_HOST ? jcv_host_type(c, in) : NULL;
    if (of == &PyList_Type || of == &PyTuple_Type)
        return jcv_call_method(c, in, "__contains__", &(jcv_args){.pos = &item, .n_pos = 1});
    if (of == &PySet_Type || of == &PyFrozenSet_Type || (of && jcv_host_has_pairs(c, in)))
        return jcv_scalar(c, jcv_live_has(c, in, item));
    if (in->kind == AV_DICT && (item->kind == AV_SCALAR || item->kind == AV_HOST)) {
        jcv_av *keys = known_keys(c, in);
        if (!keys)
            jcv_make_live(c, in);
        in = keys;
    }
    if (jcv_is_dict(in))
        return jcv_call_method(c, in, "__contains__", &(jcv_args){.pos = &item, .n_pos = 1});
    if (in->kind == AV_SEQ || (in->kind == AV_ITER && in->slot) ||
        !jcv_native_items(c, in, &items, &n))
        jcv_refuse(c, "a membership test in %s", jcv_describe(in));
    bool plain = item->kind == AV_HOST && !(in->kind == AV_PY && PyUnicode_Check(in->py));
    for (unsigned i = 0; i < n; i++)
        plain = plain && jcv_is_plain(items[i]);
    if (plain)
        return jcv_scalar(c, jcv_host_among(c, item, items, n));
    jcv_val *any = NULL;
    for (unsigned i = 0; i < n; i++) {
        jcv_val *v = NULL;
        jcv_done before = any ? jcv_done_now(c) : (jcv_done){0};
        int found = jcv_same_or_equal(c, items[i], item, &v);
        if (any && jcv_done_any(c, &before))
            jcv_refuse(c, "a membership test with effects, under a condition of the graph");
        if (found > 0 && !any)
            return jcv_bool(c, true);
        if (found > 0)
            v = jcv_scalar_const(c, JANUS_KIND_BOOL, (janus_scalar){1});
        jcv_val *pair[2] = {any, v};
        if (v)
            any = any ? &jcv_op(c, JN_OP(s_or), pair, 2, NULL)->out[0] : v;
        if (found > 0)
            break;
    }
    return any ? jcv_scalar(c, any) : jcv_bool(c, false);
}

/* Objects that equal nothing but themselves. */
static bool by_identity_only(PyTypeObject *t) {
    return t->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

/* Types whose instances may equal each other; those of two families never do.  0: unknown. */
static int family(const PyTypeObject *t) {
    enum { UNKNOWN, NUMBER, TEXT, BYTES, TUPLE, LIST, DICT, NONE };
    return !t                                                                       ? UNKNOWN
           : t == &PyLong_Type || t == &PyFloat_Type || t == &PyBool_Type           ? NUMBER
           : t == &PyUnicode_Type                                                   ? TEXT
           : t == &PyBytes_Type                                                     ? BYTES
           : t == &PyTuple_Type || t->tp_richcompare == PyTuple_Type.tp_richcompare ? TUPLE
           : t == &PyList_Type                                                      ? LIST
           : t == &PyDict_Type                                                      ? DICT
           : t == Py_TYPE(Py_None)                                                  ? NONE
                                                                                    : UNKNOWN;
}

/* Which of two tuples or lists comes first: as the first items do that differ, else as their
 * lengths do; from: items before it are equal. */
static jcv_av *compare_in_order(jcv *c, int op, const jcv_av *x, const jcv_av *y, unsigned from) {
    enum { MOST_OF_THE_GRAPH = 400 };
    jcv_val *same = NULL;
    int eq = 1;
    while (from < x->n && from < y->n) {
        bool one = jcv_av_equal(x->items[from], y->items[from]);
        eq = one ? 1 : jcv_same_or_equal(c, x->items[from], y->items[from], &same);
        if (eq <= 0)
            break;
        from++;
    }
    if (eq > 0) {
        bool less = op == JPY_LT || op == JPY_LE, equal = op == JPY_LE || op == JPY_GE;
        return jcv_bool(c, x->n == y->n ? equal : less == (x->n < y->n));
    }
    jcv_av *a = x->items[from], *b = y->items[from];
    if (!eq)
        return jcv_compare(c, op, a, b);
    if (from > MOST_OF_THE_GRAPH)
        jcv_refuse(c, "a comparison of long tuples or lists");
    jcv_done before = jcv_done_now(c);
    jcv_val *either[3] = {same, jcv_number(c, compare_in_order(c, op, x, y, from + 1)),
                          jcv_number(c, jcv_compare(c, op, a, b))};
    if (jcv_done_any(c, &before))
        jcv_refuse(c, "a comparison with effects, under a condition of the graph");
    for (int i = 1; i < 3; i++)
        if (!either[i] || either[i]->type->kind != JANUS_KIND_BOOL)
            jcv_refuse(c, "a comparison of %s and %s", jcv_describe(a), jcv_describe(b));
    return jcv_scalar(c, &jcv_op(c, JN_OP(s_select), either, 3, NULL)->out[0]);
}

jcv_av *jcv_native_compare(jcv *c, int op, jcv_av *a, jcv_av *b) {
    static const int python[] = {Py_EQ, Py_NE, Py_LT, Py_LE, Py_GT, Py_GE};
    static const int scalar[] = {
#define JCV_SLOT_COMPARE(op, method, reflected, scalar) [JPY_##op] = scalar,
#include "pyfront/convert/model/slots.def"
    };
    if (op == JPY_IS || op == JPY_IS_NOT) {
        jcv_val *v = NULL;
        int same = identical(c, a, b, &v);
        return negated(c, same < 0 ? jcv_scalar(c, v) : jcv_bool(c, same), op == JPY_IS_NOT);
    }
    if (a->kind == AV_STACK || b->kind == AV_STACK)
        jcv_refuse_rows(c, "a comparison");
    if (jcv_is_key(a) && jcv_is_key(b))
        return jcv_take(c, PyObject_RichCompare(a->py, b->py, python[op]));
    if (a->kind == AV_TENSOR || b->kind == AV_TENSOR) {
        if (a->kind == AV_SCALAR)
            a = jcv_number_beside(c, a, b, false);
        if (b->kind == AV_SCALAR)
            b = jcv_number_beside(c, b, a, false);
        PyObject *x = jcv_object(c, a), *y = jcv_object(c, b);
        if (!x || !y)
            jcv_refuse(c, "a comparison of %s and %s", jcv_describe(a), jcv_describe(b));
        return jcv_wrap(c, jcv_own(c, PyObject_RichCompare(x, y, python[op])), NULL);
    }
    if (jcv_is_numeric(a) && jcv_is_numeric(b)) {
        jcv_val *in[2] = {jcv_number(c, a), jcv_number(c, b)};
        return jcv_scalar(c, &jcv_op(c, &jn_ops[scalar[op]], in, 2, NULL)->out[0]);
    }
    if ((op == JPY_EQ || op == JPY_NE) && a->kind == AV_SCALAR && jcv_is_const(b))
        return jcv_bool(c, op == JPY_NE);
    if ((op == JPY_EQ || op == JPY_NE) && (a->kind == AV_HOST || b->kind == AV_HOST)) {
        jcv_av *h = a->kind == AV_HOST ? a : b, *o = h == a ? b : a;
        bool same = o->kind == AV_PY && o->src && by_identity_only(Py_TYPE(o->py));
        PyObject *seen = same ? jcv_samples(c, h) : NULL;
        for (Py_ssize_t i = 0; same && i < PyList_GET_SIZE(seen); i++)
            same = by_identity_only(Py_TYPE(PyList_GET_ITEM(seen, i)));
        if (same && PyList_GET_SIZE(seen)) {
            jcv_host_one_of_seen(c, h);
            return jcv_compare(c, op == JPY_EQ ? JPY_IS : JPY_IS_NOT, h, o);
        }
        if (o->kind == AV_HOST && jcv_host_type(c, h) == &PyUnicode_Type &&
            jcv_host_type(c, o) == &PyUnicode_Type)
            return negated(c, jcv_scalar(c, jcv_same_text(c, h, o)), op == JPY_NE);
        if (jcv_is_plain(o))
            return negated(c, jcv_scalar(c, jcv_host_among(c, h, &o, 1)), op == JPY_NE);
    }
    PyObject *s = jcv_const_object(c, a), *t = jcv_const_object(c, b);
    if (s && t && ((PyTuple_Check(s) && PyTuple_Check(t)) || (PyList_Check(s) && PyList_Check(t))))
        return jcv_take(c, PyObject_RichCompare(s, t, python[op]));
    int of = family(jcv_type_of(c, a)), other = family(jcv_type_of(c, b));
    if ((op == JPY_EQ || op == JPY_NE) && of && other && of != other)
        return jcv_bool(c, op == JPY_NE);
    jcv_av **x, **y;
    unsigned n, m;
    if ((op == JPY_EQ || op == JPY_NE) && jcv_is_sequence(a) && jcv_is_sequence(b) &&
        jcv_type_of(c, a) == jcv_type_of(c, b) && jcv_native_items(c, a, &x, &n) &&
        jcv_native_items(c, b, &y, &m)) {
        bool list = jcv_type_of(c, a) == &PyList_Type; /* their lengths are looked at first */
        bool same = n == m || !list;
        jcv_val *all[2] = {NULL, NULL}; /* of those that only the graph knows */
        for (unsigned i = 0; same && i < n && i < m; i++) {
            jcv_done before = all[0] ? jcv_done_now(c) : (jcv_done){0};
            int eq = jcv_av_equal(x[i], y[i]) ? 1 : jcv_same_or_equal(c, x[i], y[i], &all[1]);
            if (all[0] && jcv_done_any(c, &before))
                jcv_refuse(c, "a comparison with effects, under a condition of the graph");
            if (eq < 0)
                all[0] = all[0] ? &jcv_op(c, JN_OP(s_and), all, 2, NULL)->out[0] : all[1];
            same = eq != 0;
        }
        same = same && n == m;
        if (same && all[0])
            return negated(c, jcv_scalar(c, all[0]), op == JPY_NE);
        return jcv_bool(c, same == (op == JPY_EQ));
    }
    if (op >= JPY_LT && op <= JPY_GE && jcv_is_sequence(a) && jcv_is_sequence(b) &&
        jcv_type_of(c, a) == jcv_type_of(c, b) && jcv_native_items(c, a, &x, &n) &&
        jcv_native_items(c, b, &y, &m))
        return compare_in_order(c, op, jcv_tuple(c, x, n), jcv_tuple(c, y, m), 0);
    if (a->kind == AV_PY && b->kind == AV_PY && (op == JPY_EQ || op == JPY_NE) &&
        Py_TYPE(a->py)->tp_richcompare == PyBaseObject_Type.tp_richcompare &&
        Py_TYPE(b->py)->tp_richcompare == PyBaseObject_Type.tp_richcompare)
        return jcv_compare(c, op == JPY_EQ ? JPY_IS : JPY_IS_NOT, a, b);
    jcv_refuse(c, "a comparison of %s and %s", jcv_describe(a), jcv_describe(b));
}
