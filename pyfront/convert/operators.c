/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators: Python's own on constants, the tensor layer's on proxies, scalar nodes on numbers of
 * the graph, methods of user classes inlined.
 */
#include "pyfront/convert/convert.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"

/* ---- arithmetic ---------------------------------------------------------------------------------
 */

typedef PyObject *(*binary_fn)(PyObject *, PyObject *);
static PyObject *power(PyObject *a, PyObject *b) { return PyNumber_Power(a, b, Py_None); }
static PyObject *ipower(PyObject *a, PyObject *b) { return PyNumber_InPlacePower(a, b, Py_None); }
static const binary_fn binary_fns[] = {PyNumber_Add,
                                       PyNumber_Subtract,
                                       PyNumber_Multiply,
                                       PyNumber_TrueDivide,
                                       PyNumber_FloorDivide,
                                       PyNumber_Remainder,
                                       power,
                                       PyNumber_MatrixMultiply,
                                       PyNumber_Lshift,
                                       PyNumber_Rshift,
                                       PyNumber_And,
                                       PyNumber_Or,
                                       PyNumber_Xor};
static const binary_fn inplace_fns[] = {PyNumber_InPlaceAdd,
                                        PyNumber_InPlaceSubtract,
                                        PyNumber_InPlaceMultiply,
                                        PyNumber_InPlaceTrueDivide,
                                        PyNumber_InPlaceFloorDivide,
                                        PyNumber_InPlaceRemainder,
                                        ipower,
                                        PyNumber_InPlaceMatrixMultiply,
                                        PyNumber_InPlaceLshift,
                                        PyNumber_InPlaceRshift,
                                        PyNumber_InPlaceAnd,
                                        PyNumber_InPlaceOr,
                                        PyNumber_InPlaceXor};
static const int scalar_ops[] = {
    JN_OP_ID_s_add,      JN_OP_ID_s_sub, JN_OP_ID_s_mul, JN_OP_ID_s_truediv,
    JN_OP_ID_s_floordiv, JN_OP_ID_s_mod, JN_OP_ID_s_pow, -1,
    JN_OP_ID_s_shl,      JN_OP_ID_s_shr, JN_OP_ID_s_and, JN_OP_ID_s_or,
    JN_OP_ID_s_xor};
static const char *const method_names[][2] = {{"__add__", "__radd__"},
                                              {"__sub__", "__rsub__"},
                                              {"__mul__", "__rmul__"},
                                              {"__truediv__", "__rtruediv__"},
                                              {"__floordiv__", "__rfloordiv__"},
                                              {"__mod__", "__rmod__"},
                                              {"__pow__", "__rpow__"},
                                              {"__matmul__", "__rmatmul__"},
                                              {"__lshift__", "__rlshift__"},
                                              {"__rshift__", "__rrshift__"},
                                              {"__and__", "__rand__"},
                                              {"__or__", "__ror__"},
                                              {"__xor__", "__rxor__"}};

static bool numeric(const jcv_av *a) {
    return a->kind == AV_SCALAR ||
           (a->kind == AV_PY &&
            (PyLong_CheckExact(a->py) || PyFloat_CheckExact(a->py) || PyBool_Check(a->py)));
}

/* A number of the graph beside a tensor: a tensor of no dims, of the type that it has no say in.
 * Arithmetic of halves takes the number as it is (py_run.c), comparisons round it. */
static jcv_av *as_tensor(jcv *c, jcv_av *s, jcv_av *beside, bool arithmetic) {
    const janus_tensor *t = ((jpy_tensor *)beside->py)->t;
    int other = t->dtype, kind = s->val->type->kind;
    janus_dtype d = (janus_dtype)other;
    if (arithmetic && (other == JANUS_F16 || other == JANUS_BF16)) {
        if (t->rank == 0)
            jcv_refuse(c, "a number of the graph and a tensor of no dims of %s",
                       jn_dtype_name((janus_dtype)other));
        d = JANUS_F32;
    } else if (!jn_dtype_is_float(other))
        d = kind == JANUS_KIND_FLOAT                        ? JANUS_F32
            : other == JANUS_BOOL && kind == JANUS_KIND_INT ? JANUS_I64
                                                            : d;
    janus_scalar_tensor_attrs attrs = {sizeof attrs, d};
    jcv_node *n = jcv_op(c, JN_OP(scalar_tensor), &s->val, 1, &attrs);
    return jcv_proxy(c, &n->out[0], false);
}

static jcv_av *tensor_binary(jcv *c, binary_fn fn, jcv_av *a, jcv_av *b) {
    if (a->kind == AV_SCALAR)
        a = as_tensor(c, a, b, true);
    if (b->kind == AV_SCALAR)
        b = as_tensor(c, b, a, true);
    PyObject *x = jcv_object(c, a), *y = jcv_object(c, b);
    if (!x || !y)
        jcv_refuse(c, "an operator on %s and %s", jcv_describe(a), jcv_describe(b));
    PyObject *r = fn(x, y);
    if (r == x) {
        Py_DECREF(r);
        return a;
    }
    return jcv_wrap(c, jcv_own(c, r), NULL);
}

static jcv_av *user_operator(jcv *c, const char *const names[2], jcv_av *a, jcv_av *b) {
    for (int k = 0; k < 2; k++) {
        jcv_av *self = k ? b : a, *other = k ? a : b;
        if (self->kind != AV_PY || jcv_is_const(self))
            continue;
        PyObject *name = jcv_own(c, PyUnicode_InternFromString(names[k]));
        jcv_av *m = jcv_getattr_opt(c, self, name);
        if (!m)
            continue;
        jcv_av *r = jcv_call1(c, m, other);
        if (r->kind == AV_PY && r->py == Py_NotImplemented)
            continue;
        return r;
    }
    jcv_refuse(c, "an operator on %s and %s", jcv_describe(a), jcv_describe(b));
}

static jcv_av *sequence_binary(jcv *c, int op, jcv_av *a, jcv_av *b, bool inplace) {
    jcv_av **x, **y;
    unsigned n, m;
    if (op == JPY_ADD && a->kind == AV_LIST && inplace) {
        jcv_args args = {.pos = &b, .n_pos = 1};
        jcv_call_method(c, a, "extend", &args);
        return a;
    }
    bool list = a->kind == AV_LIST || (a->kind == AV_PY && PyList_Check(a->py));
    if (!jcv_items(c, a, &x, &n))
        return NULL;
    if (op == JPY_ADD && jcv_type_of(c, a) == jcv_type_of(c, b) && jcv_items(c, b, &y, &m)) {
        jcv_av **both = jcv_alloc(c, (n + m) * sizeof *both);
        if (n)
            memcpy(both, x, n * sizeof *both);
        if (m)
            memcpy(both + n, y, m * sizeof *both);
        return list ? jcv_list(c, both, n + m) : jcv_tuple(c, both, n + m);
    }
    if (op == JPY_MUL && b->kind == AV_PY && PyLong_CheckExact(b->py)) {
        long times = PyLong_AsLong(b->py);
        if (times < 0)
            times = 0;
        if (times > 10000)
            return NULL;
        jcv_av **all = jcv_alloc(c, (size_t)times * n * sizeof *all);
        for (long i = 0; i < times; i++)
            if (n)
                memcpy(all + (size_t)i * n, x, n * sizeof *all);
        return list ? jcv_list(c, all, (unsigned)times * n)
                    : jcv_tuple(c, all, (unsigned)times * n);
    }
    return NULL;
}

static bool is_sequence(const jcv_av *a) {
    return a->kind == AV_TUPLE || a->kind == AV_LIST ||
           (a->kind == AV_PY && (PyList_CheckExact(a->py) || PyTuple_CheckExact(a->py)));
}

/* A sum of no terms is the int 0: beside a tensor or float that decides type and dims, a zero of
 * theirs is as good. */
static bool sum_fits(jcv *c, int op, jcv_av *sum, jcv_av *other) {
    if (op != JPY_ADD && op != JPY_SUB && op != JPY_MUL)
        return false;
    if (sum->self->kind == AV_SCALAR)
        return other->kind == AV_SCALAR && sum->self->val->type->kind == other->val->type->kind;
    if (other->kind != AV_TENSOR || sum->self->kind != AV_TENSOR)
        return false;
    const jn_type *s = jcv_tensor_val(c, sum->self->py)->type,
                  *o = jcv_tensor_val(c, other->py)->type;
    bool fits = s->dtype == o->dtype && s->rank <= o->rank;
    for (int i = 1; fits && i <= s->rank; i++)
        fits = s->dims[s->rank - i] == o->dims[o->rank - i] || s->dims[s->rank - i] == 1;
    return fits && (jcv_leaf_tracked(c, other) || !jcv_leaf_tracked(c, sum->self));
}

/* a += b where a is changed and stays what it is: lists, dicts, objects that say how; NULL: it is
 * a + b that is meant. */
static jcv_av *in_place(jcv *c, int op, jcv_av *a, jcv_av *b) {
    PyTypeObject *t = a->kind == AV_TENSOR || a->kind == AV_SCALAR ? NULL : jcv_type_of(c, a);
    jcv_args args = {.pos = &b, .n_pos = 1};
    if (!t || jcv_is_const(a) || t == &PyTuple_Type)
        return NULL;
    if ((t == &PyList_Type && op == JPY_ADD) || (t == &PyDict_Type && op == JPY_BITOR)) {
        jcv_call_method(c, a, op == JPY_ADD ? "extend" : "update", &args);
        return a;
    }
    if (t == &PyList_Type || t == &PyDict_Type)
        jcv_refuse(c, "this operator on %s in place", jcv_describe(a));
    PyObject *name = jcv_own(c, PyUnicode_FromFormat("__i%s", method_names[op] + 2));
    PyObject *d = _PyType_Lookup(t, name);
    if (!d)
        return NULL;
    if (!PyFunction_Check(d))
        jcv_refuse(c, "this operator on %s in place", jcv_describe(a));
    jcv_av *pos[2] = {a, b};
    args = (jcv_args){.pos = pos, .n_pos = 2};
    jcv_av *r = jcv_call(c, jcv_py(c, d, NULL), &args);
    if (r->kind == AV_PY && r->py == Py_NotImplemented)
        return NULL;
    return r;
}

jcv_av *jcv_binary(jcv *c, int op, jcv_av *a, jcv_av *b, bool inplace) {
    jcv_av *same = inplace ? in_place(c, op, a, b) : NULL;
    if (same)
        return same;
    if (a->kind == AV_SUM)
        a = b->kind != AV_SUM && sum_fits(c, op, a, b) ? a->self : jcv_firm(c, a);
    if (b->kind == AV_SUM)
        b = sum_fits(c, op, b, a) ? b->self : jcv_firm(c, b);
    if (a->kind == AV_STACK || b->kind == AV_STACK)
        return jcv_rows_binary(c, op, a, b);
    if (jcv_is_const(a) && jcv_is_const(b)) {
        if (op == JPY_POW || op == JPY_LSHIFT || op == JPY_MUL) /* no huge results */
            if (PyLong_CheckExact(b->py) && PyLong_AsLong(b->py) > 100000 && !numeric(a))
                jcv_refuse(c, "a very large result");
        return jcv_take(c, binary_fns[op](a->py, b->py));
    }
    if (op == JPY_MOD && a->kind == AV_PY && PyUnicode_CheckExact(a->py) && jcv_const_object(c, b))
        return jcv_take(c, PyUnicode_Format(a->py, jcv_const_object(c, b)));
    if (a->kind == AV_TENSOR || b->kind == AV_TENSOR) {
        if (a->kind == AV_PY && !jcv_is_const(a))
            return user_operator(c, method_names[op], a, b);
        return tensor_binary(c, inplace && a->kind == AV_TENSOR ? inplace_fns[op] : binary_fns[op],
                             a, b);
    }
    if (numeric(a) && numeric(b)) {
        if (scalar_ops[op] < 0)
            jcv_refuse(c, "this operator on numbers");
        jcv_val *in[2] = {jcv_number(c, a), jcv_number(c, b)};
        if (op == JPY_POW && in[0]->type->kind == JANUS_KIND_INT &&
            in[1]->type->kind == JANUS_KIND_INT && b->kind == AV_SCALAR) {
            janus_scalar zero = {0};
            jcv_val *cmp[2] = {in[1], jcv_scalar_const(c, JANUS_KIND_INT, zero)};
            jcv_assert(c, &jcv_op(c, JN_OP(s_ge), cmp, 2, NULL)->out[0], "a power is not negative");
        }
        return jcv_scalar(c, &jcv_op(c, &jn_ops[scalar_ops[op]], in, 2, NULL)->out[0]);
    }
    if (a->kind == AV_HOST || b->kind == AV_HOST)
        jcv_refuse(c, "an operator on an object that is read while the graph runs");
    if (is_sequence(a)) {
        jcv_av *r = sequence_binary(c, op, a, b, inplace);
        if (r)
            return r;
    }
    if (inplace && a->kind == AV_PY && !jcv_is_const(a)) {
        char name[24];
        snprintf(name, sizeof name, "__i%s", method_names[op][0] + 2);
        jcv_av *m = jcv_getattr_opt(c, a, jcv_own(c, PyUnicode_InternFromString(name)));
        if (m) {
            jcv_av *r = jcv_call1(c, m, b);
            if (!(r->kind == AV_PY && r->py == Py_NotImplemented))
                return r;
        }
    }
    return user_operator(c, method_names[op], a, b);
}

jcv_av *jcv_unary(jcv *c, int op, jcv_av *a) {
    if (op == JPY_U_NOT) {
        jcv_val *v;
        int t = jcv_truth(c, a, &v);
        if (t >= 0)
            return jcv_bool(c, !t);
        return jcv_scalar(c, &jcv_op(c, JN_OP(s_not), &v, 1, NULL)->out[0]);
    }
    PyObject *(*const fns[])(PyObject *) = {PyNumber_Negative, PyNumber_Positive, NULL,
                                            PyNumber_Invert};
    if (a->kind == AV_TENSOR || jcv_is_const(a))
        return jcv_wrap(c, jcv_own(c, fns[op](jcv_object(c, a))), NULL);
    if (a->kind == AV_SCALAR) {
        if (op == JPY_U_POS && a->val->type->kind != JANUS_KIND_BOOL)
            return a;
        const jn_op *o = op == JPY_U_NEG ? JN_OP(s_neg) : JN_OP(s_invert);
        return jcv_scalar(c, &jcv_op(c, o, &a->val, 1, NULL)->out[0]);
    }
    static const char *const names[] = {"__neg__", "__pos__", "", "__invert__"};
    jcv_av *m = jcv_getattr_opt(c, a, jcv_own(c, PyUnicode_InternFromString(names[op])));
    if (!m)
        jcv_refuse(c, "an operator on %s", jcv_describe(a));
    jcv_args none = {0};
    return jcv_call(c, m, &none);
}

/* 1, 0: the same object or not; -1: not known, *out the value. */
static int identical(jcv *c, jcv_av *a, jcv_av *b, jcv_val **out) {
    if (a->kind == AV_MAYBE && b->kind == AV_PY && b->py == Py_None) {
        *out = &jcv_op(c, JN_OP(s_not), &a->val, 1, NULL)->out[0];
        return -1;
    }
    if (a->kind == AV_MAYBE || b->kind == AV_MAYBE)
        jcv_refuse(c, "identity of what a dict may have");
    if (a->kind == AV_HOST || b->kind == AV_HOST) {
        jcv_av *h = a->kind == AV_HOST ? a : b, *o = h == a ? b : a;
        if (o->kind == AV_PY && o->py == Py_None) {
            *out = jcv_host_is(c, h, Py_TYPE(Py_None), true);
            return -1;
        }
        if (o->kind == AV_PY && jcv_is_const(o))
            jcv_refuse(c, "identity of an object read while the graph runs");
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
                late->number = early->slot;
                return 1;
            }
            if (!jpy_guards_distinct(c->guards, s->slot) ||
                !jpy_guards_distinct(c->guards, t->slot))
                jcv_refuse(c, "out of memory");
            return 0;
        }
        return a->py == b->py;
    }
    if (a->kind != b->kind)
        return 0;
    if (a->kind == AV_PY) {
        if (jcv_is_enum(a->py) && jcv_is_enum(b->py))
            return a->py == b->py;
        if (a->py != b->py && a->src && b->src && !jcv_is_const(a) && !jcv_is_const(b) &&
            Py_TYPE(a->py) == Py_TYPE(b->py))
            jcv_refuse(c, "whether two objects of the call are one");
        if (a->py == b->py && a->src && b->src && a->src != b->src && !jcv_is_const(a)) {
            jpy_src *late = a->src->slot > b->src->slot ? a->src : b->src;
            late->checks |= JPY_CHECK_SAME;
            late->number = (late == a->src ? b->src : a->src)->slot;
        }
        return a->py == b->py;
    }
    if (a->kind == AV_SCALAR)
        jcv_refuse(c, "identity of numbers");
    return jcv_av_equal(a, b);
}

static jcv_av *negated(jcv *c, jcv_av *a, bool negate) {
    return negate ? jcv_unary(c, JPY_U_NOT, a) : a;
}

static jcv_av *contains(jcv *c, jcv_av *item, jcv_av *in) {
    jcv_av **items;
    unsigned n;
    if (jcv_is_const(in) && jcv_is_const(item)) {
        int r = PySequence_Contains(in->py, item->py);
        if (r < 0)
            jcv_refuse_py(c);
        return jcv_bool(c, r);
    }
    if (in->kind == AV_PY && PyDict_CheckExact(in->py) && jcv_is_const(item)) {
        jcv_av *m = jcv_call_method(c, in, "__contains__", &(jcv_args){.pos = &item, .n_pos = 1});
        return m;
    }
    bool set = in->kind == AV_PY && in->src && PyAnySet_CheckExact(in->py) && !jcv_is_const(in);
    bool dict = in->kind == AV_PY && in->src && PyDict_CheckExact(in->py) &&
                item->kind == AV_HOST && !jcv_is_written(c, in->py);
    if (dict || (set && (item->kind == AV_HOST || jcv_is_plain(item) || item->kind == AV_SCALAR)))
        in = jcv_to_host(c, in);
    PyTypeObject *of = in->kind == AV_HOST ? jcv_host_type(c, in) : NULL;
    if (of == &PyDict_Type || of == &PySet_Type || of == &PyFrozenSet_Type)
        return jcv_scalar(c, jcv_live_has(c, in, item));
    if (in->kind == AV_DICT && (item->kind == AV_SCALAR || item->kind == AV_HOST))
        jcv_make_live(c, in);
    if (in->kind == AV_DICT)
        return jcv_call_method(c, in, "__contains__", &(jcv_args){.pos = &item, .n_pos = 1});
    if (in->kind == AV_PY && !jcv_is_const(in) && !is_sequence(in)) {
        jcv_av *m = jcv_getattr_opt(c, in, jcv_own(c, PyUnicode_InternFromString("__contains__")));
        if (m)
            return jcv_call1(c, m, item);
    }
    if (in->kind == AV_SEQ || (in->kind == AV_ITER && in->slot) || !jcv_items(c, in, &items, &n))
        jcv_refuse(c, "a membership test in %s", jcv_describe(in));
    bool plain = item->kind == AV_HOST && !(in->kind == AV_PY && PyUnicode_Check(in->py));
    for (unsigned i = 0; i < n; i++)
        plain = plain && jcv_is_plain(items[i]);
    if (plain)
        return jcv_scalar(c, jcv_host_among(c, item, items, n));
    jcv_av *any = jcv_bool(c, false);
    for (unsigned i = 0; i < n; i++) {
        jcv_av *eq = jcv_compare(c, JPY_EQ, items[i], item);
        if (eq->kind == AV_PY) {
            if (eq->py == Py_True)
                return eq;
            continue;
        }
        jcv_val *pair[2] = {jcv_number(c, any), jcv_number(c, eq)};
        if (!pair[1])
            jcv_refuse(c, "a membership test in %s", jcv_describe(in));
        any = jcv_scalar(c, &jcv_op(c, JN_OP(s_or), pair, 2, NULL)->out[0]);
    }
    return any;
}

/* Objects that equal nothing but themselves. */
static bool by_identity_only(PyTypeObject *t) {
    return t->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

jcv_av *jcv_compare(jcv *c, int op, jcv_av *a, jcv_av *b) {
    static const int python[] = {Py_EQ, Py_NE, Py_LT, Py_LE, Py_GT, Py_GE};
    static const int scalar[] = {JN_OP_ID_s_eq, JN_OP_ID_s_ne, JN_OP_ID_s_lt,
                                 JN_OP_ID_s_le, JN_OP_ID_s_gt, JN_OP_ID_s_ge};
    static const char *const names[][2] = {{"__eq__", "__eq__"}, {"__ne__", "__ne__"},
                                           {"__lt__", "__gt__"}, {"__le__", "__ge__"},
                                           {"__gt__", "__lt__"}, {"__ge__", "__le__"}};
    if (op == JPY_IS || op == JPY_IS_NOT) {
        jcv_val *v = NULL;
        int same = identical(c, a, b, &v);
        return negated(c, same < 0 ? jcv_scalar(c, v) : jcv_bool(c, same), op == JPY_IS_NOT);
    }
    if (op == JPY_IN || op == JPY_NOT_IN)
        return negated(c, contains(c, a, b), op == JPY_NOT_IN);
    if (jcv_is_const(a) && jcv_is_const(b))
        return jcv_take(c, PyObject_RichCompare(a->py, b->py, python[op]));
    if (a->kind == AV_TENSOR || b->kind == AV_TENSOR) {
        if (a->kind == AV_SCALAR)
            a = as_tensor(c, a, b, false);
        if (b->kind == AV_SCALAR)
            b = as_tensor(c, b, a, false);
        PyObject *x = jcv_object(c, a), *y = jcv_object(c, b);
        if (!x || !y)
            jcv_refuse(c, "a comparison of %s and %s", jcv_describe(a), jcv_describe(b));
        return jcv_wrap(c, jcv_own(c, PyObject_RichCompare(x, y, python[op])), NULL);
    }
    if (numeric(a) && numeric(b)) {
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
        if (jcv_is_plain(o))
            return negated(c, jcv_scalar(c, jcv_host_among(c, h, &o, 1)), op == JPY_NE);
    }
    jcv_av **x, **y;
    unsigned n, m;
    if ((op == JPY_EQ || op == JPY_NE) && is_sequence(a) && is_sequence(b) &&
        jcv_type_of(c, a) == jcv_type_of(c, b) && jcv_items(c, a, &x, &n) &&
        jcv_items(c, b, &y, &m)) {
        bool same = n == m;
        for (unsigned i = 0; same && i < n; i++) {
            jcv_av *eq =
                jcv_av_equal(x[i], y[i]) ? jcv_bool(c, true) : jcv_compare(c, JPY_EQ, x[i], y[i]);
            if (eq->kind != AV_PY)
                jcv_refuse(c, "a comparison of sequences of numbers of the graph");
            same = eq->py == Py_True;
        }
        return jcv_bool(c, same == (op == JPY_EQ));
    }
    if (a->kind == AV_PY && b->kind == AV_PY && (op == JPY_EQ || op == JPY_NE) &&
        Py_TYPE(a->py)->tp_richcompare == PyBaseObject_Type.tp_richcompare &&
        Py_TYPE(b->py)->tp_richcompare == PyBaseObject_Type.tp_richcompare)
        return jcv_compare(c, op == JPY_EQ ? JPY_IS : JPY_IS_NOT, a, b);
    return user_operator(c, names[op], a, b);
}
