/* SPDX-License-Identifier: Apache-2.0 */
/* Names, operators and the other expressions that are no calls. */
#include "pyfront/convert/convert.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"

/* ---- names --------------------------------------------------------------------------------------
 */

static int find_slot(const jcv_frame *f, PyObject *name) {
    for (unsigned i = 0; i < f->n; i++)
        if (f->names[i] == name)
            return (int)f->slots[i];
    return -1;
}

static bool is_local(const jcv_frame *f, PyObject *name) {
    const jpy_tree_fn *fn = f->def->fn;
    for (unsigned i = 0; i < fn->n_locals; i++)
        if (fn->locals[i] == name)
            return true;
    return false;
}

static void add_name(jcv *c, jcv_frame *f, PyObject *name, jcv_av *v) {
    if (f->n == f->cap) {
        unsigned cap = f->cap ? 2 * f->cap : 8;
        PyObject **names = jcv_alloc(c, cap * sizeof *names);
        uint32_t *slots = jcv_alloc(c, cap * sizeof *slots);
        if (f->n) {
            memcpy(names, f->names, f->n * sizeof *names);
            memcpy(slots, f->slots, f->n * sizeof *slots);
        }
        f->names = names;
        f->slots = slots;
        f->cap = cap;
    }
    jcv_av *none = jcv_new(c, AV_UNDEF);
    none->text = "it is not bound";
    f->names[f->n] = name;
    f->slots[f->n] = jcv_slot(c, none);
    c->slots.data[f->slots[f->n++]] = v;
}

void jcv_store(jcv *c, PyObject *name, jcv_av *v) {
    jcv_frame *f = c->frame;
    int slot = find_slot(f, name);
    if (slot < 0 && !f->comprehension && !is_local(f, name)) /* nonlocal */
        for (jcv_frame *o = f->outer; o && slot < 0; o = o->outer)
            slot = find_slot(o, name);
    else if (slot < 0) {
        add_name(c, f, name, v);
        return;
    }
    if (slot < 0)
        jcv_refuse(c, "a global or a variable of an enclosing call is assigned");
    c->slots.data[slot] = v;
}

static jcv_av *read_slot(jcv *c, int slot, PyObject *name) {
    jcv_av *v = c->slots.data[slot];
    if (v->kind == AV_UNDEF)
        jcv_refuse(c, "%s: %s", PyUnicode_AsUTF8(name), v->text ? v->text : "not bound");
    return v;
}

static jcv_av *global(jcv *c, jcv_frame *f, PyObject *name) {
    jpy_src *s = jpy_src_get(c->guards, JPY_SRC_GLOBAL, NULL, f->globals, name, 0);
    if (!s)
        jcv_refuse(c, "out of memory");
    PyObject *v = PyDict_GetItemWithError(f->globals, name);
    if (v)
        return jcv_wrap(c, v, s);
    s->checks |= JPY_CHECK_ABSENT;
    PyObject *b = PyEval_GetBuiltins();
    v = PyDict_GetItemWithError(b, name);
    s = jpy_src_get(c->guards, JPY_SRC_GLOBAL, NULL, b, name, 0);
    if (!v || !s)
        jcv_refuse(c, "the name %s is not defined", PyUnicode_AsUTF8(name));
    return jcv_wrap(c, v, s);
}

static jcv_av *free_variable(jcv *c, jcv_frame *f, PyObject *name) {
    PyObject *frees = PyObject_GetAttrString(f->code, "co_freevars");
    Py_ssize_t at = -1;
    for (Py_ssize_t i = 0; frees && i < PyTuple_GET_SIZE(frees); i++)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(frees, i), name) == 0)
            at = i;
    Py_XDECREF(frees);
    PyObject *cells = PyFunction_GET_CLOSURE(f->func);
    if (at < 0 || !cells || at >= PyTuple_GET_SIZE(cells))
        return NULL;
    jpy_src *fs = f->func_src;
    if (!fs)
        fs = jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, f->func, 0);
    jpy_src *s = jpy_src_get(c->guards, JPY_SRC_FUNC, fs, NULL, NULL, 2);
    s = s ? jpy_src_get(c->guards, JPY_SRC_CELL, s, NULL, NULL, at) : NULL;
    PyObject *v = PyCell_GET(PyTuple_GET_ITEM(cells, at));
    if (!v || !s)
        jcv_refuse(c, "the closure variable %s is not bound", PyUnicode_AsUTF8(name));
    return jcv_wrap(c, v, s);
}

jcv_av *jcv_load(jcv *c, PyObject *name) {
    jcv_frame *f = c->frame;
    for (; f; f = f->outer) {
        int slot = find_slot(f, name);
        if (slot >= 0)
            return read_slot(c, slot, name);
        if (f->comprehension)
            continue;
        if (is_local(f, name))
            jcv_refuse(c, "%s is not bound", PyUnicode_AsUTF8(name));
        if (f->func) {
            jcv_av *v = free_variable(c, f, name);
            return v ? v : global(c, f, name);
        }
    }
    jcv_refuse(c, "the name %s is not found", PyUnicode_AsUTF8(name));
}

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

/* A number of the graph beside a tensor: a tensor of no dims, of the type that it has no say in. */
static jcv_av *as_tensor(jcv *c, jcv_av *s, jcv_av *beside) {
    int other = ((jpy_tensor *)beside->py)->t->dtype, kind = s->val->type->kind;
    janus_dtype d = (janus_dtype)other;
    if (!jn_dtype_is_float(other))
        d = kind == JANUS_KIND_FLOAT                        ? JANUS_F32
            : other == JANUS_BOOL && kind == JANUS_KIND_INT ? JANUS_I64
                                                            : d;
    janus_scalar_tensor_attrs attrs = {sizeof attrs, d};
    jcv_node *n = jcv_op(c, JN_OP(scalar_tensor), &s->val, 1, &attrs);
    return jcv_proxy(c, &n->out[0], false);
}

static jcv_av *tensor_binary(jcv *c, binary_fn fn, jcv_av *a, jcv_av *b) {
    if (a->kind == AV_SCALAR)
        a = as_tensor(c, a, b);
    if (b->kind == AV_SCALAR)
        b = as_tensor(c, b, a);
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
    if (op == JPY_ADD && a->kind == AV_LIST && inplace && jcv_items(c, b, &y, &m)) {
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

jcv_av *jcv_binary(jcv *c, int op, jcv_av *a, jcv_av *b, bool inplace) {
    if (jcv_is_const(a) && jcv_is_const(b)) {
        if (op == JPY_POW || op == JPY_LSHIFT || op == JPY_MUL) /* no huge results */
            if (PyLong_CheckExact(b->py) && PyLong_AsLong(b->py) > 100000 && !numeric(a))
                jcv_refuse(c, "a very large result");
        return jcv_take(c, binary_fns[op](a->py, b->py));
    }
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
    if (in->kind == AV_DICT)
        return jcv_call_method(c, in, "__contains__", &(jcv_args){.pos = &item, .n_pos = 1});
    if (in->kind == AV_PY && !jcv_is_const(in) && !is_sequence(in)) {
        jcv_av *m = jcv_getattr_opt(c, in, jcv_own(c, PyUnicode_InternFromString("__contains__")));
        if (m)
            return jcv_call1(c, m, item);
    }
    if (!jcv_items(c, in, &items, &n))
        jcv_refuse(c, "a membership test in %s", jcv_describe(in));
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

static jcv_av *negated(jcv *c, jcv_av *a, bool negate) {
    return negate ? jcv_unary(c, JPY_U_NOT, a) : a;
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
            a = as_tensor(c, a, b);
        if (b->kind == AV_SCALAR)
            b = as_tensor(c, b, a);
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

/* ---- the rest -----------------------------------------------------------------------------------
 */

typedef struct choice {
    jpy_tree *arms[2];
    jcv_av *given[2];
    uint32_t slot;
} choice;

static jcv_out choose(jcv *c, void *user, int arm) {
    choice *x = user;
    jcv_av *v = x->given[arm] ? x->given[arm] : jcv_eval(c, x->arms[arm]);
    c->slots.data[x->slot] = v;
    return OUT_NORMAL;
}

static jcv_av *conditional(jcv *c, jcv_val *cond, choice *x) {
    x->slot = jcv_slot(c, jcv_none(c));
    jcv_branch(c, cond, choose, x);
    jcv_av *v = c->slots.data[x->slot];
    if (v->kind == AV_UNDEF)
        jcv_refuse(c, "an expression: %s", v->text);
    return v;
}

static jcv_av *bool_op(jcv *c, jpy_tree *n, unsigned at) {
    jcv_av *a = jcv_eval(c, n->x.v[at]);
    if (at + 1 == n->x.n)
        return a;
    jcv_val *v = NULL;
    int t = jcv_truth(c, a, &v);
    if (t >= 0)
        return (t == 1) == (n->op == JPY_OR) ? a : bool_op(c, n, at + 1);
    jpy_tree *rest = jn_arena_zalloc(&c->arena, sizeof *rest);
    if (!rest)
        jcv_refuse(c, "out of memory");
    *rest = *n;
    rest->x.v += at + 1;
    rest->x.n -= at + 1;
    choice x = {{NULL}, {NULL}, 0};
    int keep = n->op == JPY_OR ? 0 : 1;
    x.given[keep] = a->kind == AV_SCALAR && a->val->type->kind == JANUS_KIND_BOOL
                        ? jcv_bool(c, n->op == JPY_OR)
                        : a;
    x.arms[1 - keep] = rest;
    return conditional(c, v, &x);
}

static jcv_av *compare_chain(jcv *c, jpy_tree *n) {
    jcv_av *a = jcv_eval(c, n->a), *all = NULL;
    for (unsigned i = 0; i < n->x.n; i++) {
        jcv_av *b = jcv_eval(c, n->x.v[i]);
        jcv_av *r = jcv_compare(c, n->ops[i], a, b);
        if (n->x.n == 1)
            return r;
        jcv_val *v;
        int t = jcv_truth(c, r, &v);
        if (t == 0)
            return jcv_bool(c, false);
        if (t < 0) {
            jcv_val *in[2] = {all ? jcv_number(c, all) : v, v};
            all = all ? jcv_scalar(c, &jcv_op(c, JN_OP(s_and), in, 2, NULL)->out[0])
                      : jcv_scalar(c, v);
        }
        a = b;
    }
    return all ? all : jcv_bool(c, true);
}

static jcv_av **eval_list(jcv *c, const jpy_tree_list *l, unsigned *out_n) {
    unsigned n = 0, cap = l->n + 8;
    jcv_av **v = jcv_alloc(c, cap * sizeof *v);
    for (unsigned i = 0; i < l->n; i++) {
        jcv_av **more;
        unsigned m = 1;
        jcv_av *one = NULL;
        if (l->v[i]->kind == JPY_STARRED) {
            if (!jcv_items(c, jcv_eval(c, l->v[i]->a), &more, &m))
                jcv_refuse(c, "unpacking something of unknown length");
        } else {
            one = jcv_eval(c, l->v[i]);
            more = &one;
        }
        if (n + m > cap) {
            jcv_av **w = jcv_alloc(c, 2 * (n + m) * sizeof *w);
            memcpy(w, v, n * sizeof *w);
            v = w;
            cap = 2 * (n + m);
        }
        if (m)
            memcpy(v + n, more, m * sizeof *v);
        n += m;
    }
    *out_n = n;
    return v;
}

static jcv_av *fstring(jcv *c, jpy_tree *n) {
    PyObject *text = jcv_own(c, PyUnicode_FromString(""));
    for (unsigned i = 0; i < n->x.n; i++) {
        jpy_tree *e = n->x.v[i];
        jcv_av *v = jcv_eval(c, e->kind == JPY_FORMATTED ? e->a : e);
        if (!jcv_is_const(v))
            jcv_refuse(c, "text made of %s", jcv_describe(v));
        PyObject *spec = NULL, *o = v->py, *piece = o;
        if (e->kind == JPY_FORMATTED) {
            spec = e->b ? jcv_eval(c, e->b)->py : NULL;
            if (e->op == 'r')
                o = jcv_own(c, PyObject_Repr(o));
            else if (e->op == 's')
                o = jcv_own(c, PyObject_Str(o));
            piece = jcv_own(c, PyObject_Format(o, spec));
        }
        text = jcv_own(c, PyUnicode_Concat(text, piece));
    }
    return jcv_py(c, text, NULL);
}

static jcv_av *dict_display(jcv *c, jpy_tree *n) {
    jcv_av *d = jcv_dict(c);
    for (unsigned i = 0; i < n->x.n; i++) {
        if (n->x.v[i]) {
            jcv_av *k = jcv_eval(c, n->x.v[i]);
            jcv_setitem(c, d, k, jcv_eval(c, n->y.v[i]));
        } else {
            jcv_av *more = jcv_eval(c, n->y.v[i]);
            jcv_call_method(c, d, "update", &(jcv_args){.pos = &more, .n_pos = 1});
        }
    }
    return d;
}

static jcv_av *call(jcv *c, jpy_tree *n) {
    jcv_av *f = jcv_eval(c, n->a);
    jcv_args args = {0};
    args.pos = eval_list(c, &n->x, &args.n_pos);
    args.names = jcv_alloc(c, (n->y.n + 64) * sizeof *args.names);
    args.kw = jcv_alloc(c, (n->y.n + 64) * sizeof *args.kw);
    for (unsigned i = 0; i < n->y.n; i++) {
        jcv_av *v = jcv_eval(c, n->y.v[i]->a);
        if (n->y.v[i]->obj) {
            args.names[args.n_kw] = n->y.v[i]->obj;
            args.kw[args.n_kw++] = v;
            continue;
        }
        jcv_av *items = jcv_call_method(c, v, "items", &(jcv_args){0});
        jcv_av **pairs;
        unsigned m;
        if (!jcv_items(c, items, &pairs, &m) || m > 60)
            jcv_refuse(c, "keyword arguments from %s", jcv_describe(v));
        for (unsigned k = 0; k < m; k++) {
            PyObject *name = pairs[k]->items[0]->py;
            if (!name || !PyUnicode_CheckExact(name))
                jcv_refuse(c, "keyword arguments that are no strings");
            Py_INCREF(name);
            PyUnicode_InternInPlace(&name);
            args.names[args.n_kw] = jcv_own(c, name);
            args.kw[args.n_kw++] = pairs[k]->items[1];
        }
    }
    c->at = n;
    return jcv_call(c, f, &args);
}

jcv_av *jcv_eval(jcv *c, jpy_tree *n) {
    if (n->line)
        c->at = n;
    if (++c->steps > 400000)
        jcv_refuse(c, "converting it takes too long");
    jcv_av *a;
    unsigned m;
    switch ((jpy_tree_kind)n->kind) {
    case JPY_CONST:
        return jcv_py(c, n->obj, NULL);
    case JPY_NAME:
        return jcv_load(c, n->obj);
    case JPY_BINOP:
        a = jcv_eval(c, n->a);
        {
            jcv_av *b = jcv_eval(c, n->b);
            c->at = n;
            return jcv_binary(c, n->op, a, b, false);
        }
    case JPY_UNARY:
        return jcv_unary(c, n->op, jcv_eval(c, n->a));
    case JPY_BOOLOP:
        return bool_op(c, n, 0);
    case JPY_COMPARE:
        return compare_chain(c, n);
    case JPY_CALL:
        return call(c, n);
    case JPY_ATTR:
        return jcv_getattr(c, jcv_eval(c, n->a), n->obj);
    case JPY_SUBSCRIPT:
        a = jcv_eval(c, n->a);
        return jcv_getitem(c, a, jcv_eval(c, n->b));
    case JPY_SLICE: {
        jpy_tree *parts[3] = {n->a, n->b, n->c};
        PyObject *v[3];
        for (int i = 0; i < 3; i++) {
            jcv_av *p = parts[i] ? jcv_eval(c, parts[i]) : jcv_none(c);
            if (!jcv_is_const(p))
                jcv_refuse(c, "a slice with computed bounds");
            v[i] = p->py;
        }
        return jcv_take(c, PySlice_New(v[0], v[1], v[2]));
    }
    case JPY_TUPLE: {
        jcv_av **v = eval_list(c, &n->x, &m);
        return jcv_tuple(c, v, m);
    }
    case JPY_LIST: {
        jcv_av **v = eval_list(c, &n->x, &m);
        return jcv_list(c, v, m);
    }
    case JPY_SET: {
        jcv_av **v = eval_list(c, &n->x, &m);
        PyObject *t = jcv_object(c, jcv_tuple(c, v, m));
        if (!t)
            jcv_refuse(c, "a set of values of the graph");
        a = jcv_take(c, PyFrozenSet_New(t));
        a->text = "set"; /* good for tests only */
        return a;
    }
    case JPY_DICT:
        return dict_display(c, n);
    case JPY_IFEXP: {
        jcv_val *v = NULL;
        int t = jcv_truth(c, jcv_eval(c, n->a), &v);
        if (t >= 0)
            return jcv_eval(c, t ? n->b : n->c);
        choice x = {{n->b, n->c}, {NULL, NULL}, 0};
        return conditional(c, v, &x);
    }
    case JPY_LAMBDA:
        a = jcv_new(c, AV_CLOSURE);
        a->tree = n;
        a->frame = c->frame;
        if (n->c->y.n || n->c->z.n) {
            unsigned k;
            a->items = eval_list(c, &n->c->y, &k);
            a->n = k;
        }
        return a;
    case JPY_LISTCOMP:
    case JPY_SETCOMP:
    case JPY_GENEXP:
    case JPY_DICTCOMP:
        return jcv_comprehension(c, n);
    case JPY_FSTRING:
        return fstring(c, n);
    case JPY_NAMED:
        a = jcv_eval(c, n->b);
        {
            jcv_frame *was = c->frame;
            while (c->frame->comprehension)
                c->frame = c->frame->outer;
            jcv_assign(c, n->a, a);
            c->frame = was;
        }
        return a;
    default:
        jcv_refuse(c, "%s is not converted", n->obj ? PyUnicode_AsUTF8(n->obj) : "this expression");
    }
}
