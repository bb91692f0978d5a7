/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native operators: Python's own on constants, the tensor layer's on proxies, scalar nodes on
 * numbers of the graph, items of sequences.
 */
#include "pyfront/convert/values/values.h"

#include <math.h>
#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/native.h"

/* ---- arithmetic ---------------------------------------------------------------------------------
 */

typedef PyObject *(*binary_fn)(PyObject *, PyObject *);
static PyObject *jcv_power(PyObject *a, PyObject *b) { return PyNumber_Power(a, b, Py_None); }
static PyObject *jcv_in_place_power(PyObject *a, PyObject *b) {
    return PyNumber_InPlacePower(a, b, Py_None);
}

static const struct {
    binary_fn call, in_place;
    int scalar; /* -1: not of numbers of the graph */
} rows[] = {
#define JCV_SLOT_BINARY(op, method, reflected, in_place, call, call_in_place, scalar)              \
    [JPY_##op] = {call, call_in_place, scalar},
#include "pyfront/convert/model/slots.def"
};

bool jcv_is_numeric(const jcv_av *a) {
    return a->kind == AV_SCALAR ||
           (a->kind == AV_PY &&
            (PyLong_CheckExact(a->py) || PyFloat_CheckExact(a->py) || PyBool_Check(a->py)));
}

/* A number of the graph beside a tensor: a tensor of no dims, of the type that it has no say in.
 * Arithmetic of halves takes the number as it is (pyfront/op/run.c), comparisons round it. */
jcv_av *jcv_number_beside(jcv *c, jcv_av *s, jcv_av *beside, bool arithmetic) {
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
        a = jcv_number_beside(c, a, b, true);
    if (b->kind == AV_SCALAR)
        b = jcv_number_beside(c, b, a, true);
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

static jcv_av *sequence_binary(jcv *c, int op, jcv_av *a, jcv_av *b, bool inplace) {
    jcv_av **x, **y;
    unsigned n, m;
    if (op == JPY_ADD && a->kind == AV_LIST && inplace) {
        jcv_args args = {.pos = &b, .n_pos = 1};
        jcv_call_method(c, a, "extend", &args);
        return a;
    }
    bool list = a->kind == AV_LIST || (a->kind == AV_PY && PyList_Check(a->py));
    if (!jcv_native_items(c, a, &x, &n))
        return NULL;
    if (op == JPY_ADD && jcv_type_of(c, a) == jcv_type_of(c, b) && jcv_native_items(c, b, &y, &m)) {
        if (jcv_is_plain_tuple(a) && jcv_is_plain_tuple(b) && (!n || !m))
            return n ? a : b;
        jcv_av **both = jcv_alloc(c, (n + m) * sizeof *both);
        if (n)
            memcpy(both, x, n * sizeof *both);
        if (m)
            memcpy(both + n, y, m * sizeof *both);
        return list ? jcv_list(c, both, n + m) : jcv_tuple(c, both, n + m);
    }
    if (op == JPY_MUL && b->kind == AV_PY && PyLong_CheckExact(b->py)) {
        long times = jcv_long(c, b);
        if (times < 0)
            times = 0;
        if (times > 10000)
            return NULL;
        if (jcv_is_plain_tuple(a) && (!n || times == 1))
            return a;
        jcv_av **all = jcv_alloc(c, (size_t)times * n * sizeof *all);
        for (long i = 0; i < times; i++)
            if (n)
                memcpy(all + (size_t)i * n, x, n * sizeof *all);
        return list ? jcv_list(c, all, (unsigned)times * n)
                    : jcv_tuple(c, all, (unsigned)times * n);
    }
    return NULL;
}

bool jcv_is_plain_tuple(const jcv_av *a) {
    return a->kind == AV_TUPLE ? !a->named : a->kind == AV_PY && PyTuple_CheckExact(a->py);
}

bool jcv_is_sequence(const jcv_av *a) {
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

/* Whether it is 0 or a tensor of floats, of zeros where it is 0. */
static bool is_zero(jcv *c, const jcv_av *a) {
    const jcv_av *n = jcv_number_or(a);
    return n && a->self->kind == AV_TENSOR && n->kind == AV_PY && PyObject_IsTrue(n->py) == 0 &&
           !(PyFloat_CheckExact(n->py) && signbit(PyFloat_AS_DOUBLE(n->py))) &&
           jn_dtype_is_float(jcv_tensor_val(c, a->self->py)->type->dtype);
}

/* What is 0 or a tensor is a tensor of zeros beside one that decides type and dims. */
jcv_av *jcv_native_optional(jcv *c, int op, jcv_av *a, jcv_av *b) {
    jcv_av *x = is_zero(c, a) ? a : NULL, *y = is_zero(c, b) ? b : NULL;
    if (!x == !jcv_number_or(a) && !y == !jcv_number_or(b) && !(x && y) &&
        sum_fits(c, op, x ? a : b, x ? b : a))
        return jcv_binary(c, op, x ? a->self : a, y ? b->self : b, false);
    if (!x || !y || op != JPY_ADD || !sum_fits(c, op, a, b->self) || !sum_fits(c, op, b, a->self))
        return NULL;
    jcv_val *any[2] = {a->val, b->val};
    return jcv_maybe_or(c, &jcv_op(c, JN_OP(s_or), any, 2, NULL)->out[0],
                        jcv_binary(c, op, a->self, b->self, false),
                        jcv_binary(c, op, jcv_number_or(a), jcv_number_or(b), false));
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
    if (jcv_how_is(c, a, JCV_S_ADD + op, JCV_IN_PLACE, NULL) == JCV_NATIVE)
        jcv_refuse(c, "this operator on %s in place", jcv_describe(a));
    return NULL;
}

/* Whether operators and comparisons of this built-in type are known to take nothing but what
 * derives from it, and numbers.  Others take what they like: the keys of a dict take any set, a
 * Decimal compares itself with what is registered as rational. */
static bool takes_its_own(const PyTypeObject *s, bool compared) {
    static PyTypeObject *const of[] = {
        &PyLong_Type,  &PyFloat_Type, &PyBool_Type, &PyComplex_Type, &PyUnicode_Type, &PyBytes_Type,
        &PyTuple_Type, &PyList_Type,  &PyDict_Type, &PyRange_Type,   &PySlice_Type,   &PyType_Type};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (s == of[i])
            return true;
    if (s == jpy.tensor_type || s == Py_TYPE(Py_None) || s == Py_TYPE(Py_Ellipsis) ||
        s == Py_TYPE(Py_NotImplemented))
        return true;
    return compared ? s->tp_richcompare == PyBaseObject_Type.tp_richcompare : !s->tp_as_number;
}

/* Sets take each other. */
static bool is_set(PyTypeObject *t) {
    return PyType_IsSubtype(t, &PySet_Type) || PyType_IsSubtype(t, &PyFrozenSet_Type);
}

void jcv_native_decline(jcv *c, int op, jcv_av *self, jcv_av *other, bool inplace) {
    PyTypeObject *s = jcv_type_of(c, self), *t = jcv_type_of(c, other);
    /* what is called of a tensor is Tensor's, which takes all that derives from it */
    if (self->kind == AV_TENSOR)
        s = jpy.tensor_type;
    bool known = s && t && (takes_its_own(s, op < 0) || (is_set(s) && !is_set(t))) &&
                 (s == jpy.tensor_type || (s->tp_flags & Py_TPFLAGS_IMMUTABLETYPE));
    /* tensors take what derives from numbers, text formats anything, and a type knows those that
     * derive from it */
    if (!known || self->kind == AV_HOST || PyType_IsSubtype(t, s) ||
        PyType_IsSubtype(t, &PyLong_Type) || PyType_IsSubtype(t, &PyFloat_Type) ||
        PyType_IsSubtype(t, &PyComplex_Type) ||
        (op == JPY_MOD && (s == &PyUnicode_Type || s == &PyBytes_Type || s == &PyByteArray_Type)) ||
        (inplace && s == &PyDict_Type))
        jcv_refuse(c, "an operator on %s and %s", jcv_describe(self), jcv_describe(other));
}

jcv_av *jcv_number_known(jcv *c, jcv_av *a) {
    PyObject *types = a->kind == AV_HOST ? jcv_types_of(c, a) : NULL;
    bool tensors = false;
    for (Py_ssize_t i = 0; types && i < PyList_GET_SIZE(types); i++) {
        PyTypeObject *t = (PyTypeObject *)PyList_GET_ITEM(types, i);
        tensors = tensors || t == jpy.tensor_type;
        if (t != jpy.tensor_type && t != &PyFloat_Type && t != &PyLong_Type)
            return a;
    }
    if (!tensors || PyList_GET_SIZE(types) == 1)
        return a;
    (void)jcv_host_type(c, a);
    return jcv_settled(c, a);
}

jcv_av *jcv_native_binary(jcv *c, int op, jcv_av *a, jcv_av *b, bool inplace) {
    a = jcv_number_known(c, a);
    b = jcv_number_known(c, b);
    jcv_av *same = inplace ? in_place(c, op, a, b) : NULL;
    if (!same)
        same = jcv_lists_binary(c, op, a, b);
    if (same)
        return same;
    if (a->kind == AV_SEQ)
        jcv_all_assumed(c, a); /* it is made of known items then */
    if (b->kind == AV_SEQ)
        jcv_all_assumed(c, b);
    if (a->kind == AV_SUM)
        a = b->kind != AV_SUM && sum_fits(c, op, a, b) ? a->self : jcv_firm(c, a);
    if (b->kind == AV_SUM)
        b = sum_fits(c, op, b, a) ? b->self : jcv_firm(c, b);
    if (a->kind == AV_STACK || b->kind == AV_STACK)
        return jcv_rows_binary(c, op, a, b);
    if (jcv_is_inert(a) && jcv_is_inert(b)) {
        if (op == JPY_POW || op == JPY_LSHIFT || op == JPY_MUL) /* no huge results */
            if (PyLong_CheckExact(b->py) && jcv_long(c, b) > 100000 && !jcv_is_numeric(a))
                jcv_refuse(c, "a very large result");
        return jcv_take_of(c, rows[op].call(a->py, b->py), (jcv_av *[2]){a, b}, 2);
    }
    if (op == JPY_MOD && a->kind == AV_PY && PyUnicode_CheckExact(a->py)) {
        if (jcv_const_object(c, b))
            return jcv_take_of(c, PyUnicode_Format(a->py, jcv_const_object(c, b)), &b, 1);
        jcv_av *text = jcv_text_of_percent(c, a->py, b);
        if (text)
            return text;
    }
    if (op == JPY_BITOR && jcv_type_of(c, a) == &PyDict_Type && jcv_type_of(c, b) == &PyDict_Type) {
        jcv_av *both = jcv_call_method(c, a, "copy", &(jcv_args){0});
        jcv_call_method(c, both, "update", &(jcv_args){.pos = &b, .n_pos = 1});
        return both;
    }
    jcv_av *text = op == JPY_ADD ? jcv_text_added(c, a, b) : NULL;
    if (text)
        return text;
    if (a->kind == AV_TENSOR || b->kind == AV_TENSOR) {
        return tensor_binary(c, inplace && a->kind == AV_TENSOR ? rows[op].in_place : rows[op].call,
                             a, b);
    }
    if (jcv_is_numeric(a) && jcv_is_numeric(b)) {
        if (rows[op].scalar < 0)
            jcv_refuse(c, "this operator on numbers");
        jcv_val *in[2] = {jcv_number(c, a), jcv_number(c, b)};
        if (op == JPY_POW && in[0]->type->kind == JANUS_KIND_INT &&
            in[1]->type->kind == JANUS_KIND_INT && b->kind == AV_SCALAR) {
            janus_scalar zero = {0};
            jcv_val *cmp[2] = {in[1], jcv_scalar_const(c, JANUS_KIND_INT, zero)};
            jcv_assert(c, &jcv_op(c, JN_OP(s_ge), cmp, 2, NULL)->out[0], "a power is not negative");
        }
        return jcv_scalar(c, &jcv_op(c, &jn_ops[rows[op].scalar], in, 2, NULL)->out[0]);
    }
    jcv_av *x = jcv_text_known(c, a), *y = jcv_text_known(c, b);
    if (x != a || y != b)
        return jcv_native_binary(c, op, x, y, inplace);
    if (a->kind == AV_HOST || b->kind == AV_HOST)
        jcv_refuse(c, "an operator on an object that is read while the graph runs");
    bool times = op == JPY_MUL && !jcv_is_sequence(a) && jcv_is_sequence(b);
    if (times || jcv_is_sequence(a)) {
        jcv_av *r = sequence_binary(c, op, times ? b : a, times ? a : b, inplace);
        if (r)
            return r;
    }
    if (a->kind == AV_SEQ || b->kind == AV_SEQ)
        jcv_leave_to_graph(c, a->kind == AV_SEQ ? a : b);
    jcv_refuse(c, "an operator on %s and %s", jcv_describe(a), jcv_describe(b));
}

jcv_av *jcv_native_unary(jcv *c, int op, jcv_av *a) {
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
#if PY_VERSION_HEX >= 0x030C0000
        if (op == JPY_U_INVERT && a->val->type->kind == JANUS_KIND_BOOL)
            jcv_refuse(c, "~ of a bool, of which CPython warns");
#endif
        const jn_op *o = op == JPY_U_NEG   ? JN_OP(s_neg)
                         : op == JPY_U_POS ? JN_OP(s_int) /* of a bool */
                                           : JN_OP(s_invert);
        return jcv_scalar(c, &jcv_op(c, o, &a->val, 1, NULL)->out[0]);
    }
    jcv_refuse(c, "an operator on %s", jcv_describe(a));
}

/* How many items a container has.  Of a real one that is as it was nothing else is assumed. */
static Py_ssize_t length_of(jcv *c, jcv_av *a) {
    bool dict = a->kind == AV_PY && jpy_has_pairs(a->py);
    bool real = dict || (a->kind == AV_PY && (PyList_CheckExact(a->py) || PyTuple_Check(a->py)));
    if (real && a->src && !jcv_standing_for(c, a->py)) {
        a->src->checks |= JPY_CHECK_LEN;
        a->src->number = dict ? PyDict_GET_SIZE(a->py) : Py_SIZE(a->py);
        return (Py_ssize_t)a->src->number;
    }
    jcv_av **items;
    unsigned n;
    if (!jcv_native_items(c, a, &items, &n))
        jcv_refuse(c, "len() of %s", jcv_describe(a));
    return n;
}

int jcv_native_truth(jcv *c, jcv_av *a, jcv_val **out) {
    switch (a->kind) {
    case AV_SCALAR:
        if (a->val->node && a->val->node->kind == JCV_SCALAR_CONST &&
            a->val->type->kind == JANUS_KIND_BOOL)
            return a->val->node->scalar.i != 0;
        *out = a->val;
        if (a->val->type->kind != JANUS_KIND_BOOL)
            *out = &jcv_op(c, JN_OP(s_bool), &a->val, 1, NULL)->out[0];
        return -1;
    case AV_TUPLE:
        return a->n > 0;
    case AV_DICT:
        if (a->origin) /* it has the pairs alone that were asked for */
            return length_of(c, a) > 0;
        return c->slots.data[a->slot]->n > 0;
    case AV_LIST:
        return c->slots.data[a->slot]->n > 0;
    case AV_TENSOR: {
        jcv_val *v = jcv_tensor_val(c, a->py);
        if (jn_type_numel(v->type) != 1)
            jcv_refuse(c, "the truth of a tensor of several elements");
        janus_item_attrs attrs = {sizeof attrs, v->type->dtype == JANUS_BOOL ? JANUS_KIND_BOOL
                                                : jn_dtype_is_float(v->type->dtype)
                                                    ? JANUS_KIND_FLOAT
                                                    : JANUS_KIND_INT};
        return jcv_truth(c, jcv_scalar(c, &jcv_op(c, JN_OP(item), &v, 1, &attrs)->out[0]), out);
    }
    case AV_HOST:
        *out = jcv_host_truth(c, a);
        return -1;
    case AV_SEQ:
        if (a->slot)
            return 1;
        {
            jcv_val *n = jcv_seq_count(c, a);
            *out = &jcv_op(c, JN_OP(s_bool), &n, 1, NULL)->out[0];
        }
        return -1;
    case AV_RANGE:
        return jcv_truth(c, jcv_native_length(c, a), out);
    case AV_ITER:
        jcv_unchanged(c, a->watch, -1);
        return a->slot || a->n > 0;
    case AV_METHOD:
    case AV_CLOSURE:
        return 1;
    case AV_PY:
        break;
    default:
        jcv_refuse(c, "the truth of %s", jcv_describe(a));
    }
    if ((a->src && (PyList_CheckExact(a->py) || PyTuple_Check(a->py) || jpy_has_pairs(a->py))) ||
        jcv_standing_for(c, a->py))
        return length_of(c, a) > 0;
    PyTypeObject *t = Py_TYPE(a->py);
    bool sized = (t->tp_as_sequence && t->tp_as_sequence->sq_length) ||
                 (t->tp_as_mapping && t->tp_as_mapping->mp_length) ||
                 (t->tp_as_number && t->tp_as_number->nb_bool);
    if (!jcv_is_const(a) && sized)
        jcv_refuse(c, "the truth of %s", jcv_describe(a));
    return PyObject_IsTrue(a->py) > 0;
}

jcv_av *jcv_native_length(jcv *c, jcv_av *x) {
    jcv_av **items;
    unsigned n;
    bool counted = x->kind == AV_RANGE && !jcv_items(c, x, &items, &n);
    if (x->kind == AV_HOST || (x->kind == AV_SEQ && !x->slot) || counted)
        return jcv_scalar(c, jcv_seq_count(c, x));
    if (x->kind == AV_SEQ || (x->kind == AV_ITER && x->slot))
        jcv_refuse(c, "len() of an iterator");
    if (x->kind == AV_TENSOR) {
        jcv_val *v = jcv_tensor_val(c, x->py);
        if (!v->type->rank)
            jcv_refuse(c, "len() of a tensor of no dims");
        return jcv_size(c, v, 0);
    }
    if (x->kind == AV_PY && PyUnicode_CheckExact(x->py))
        return jcv_take(c, PyLong_FromLong((long)PyUnicode_GET_LENGTH(x->py)));
    if (x->kind == AV_PY && !jcv_is_const(x) && !PyList_CheckExact(x->py) &&
        !PyTuple_Check(x->py) && !jpy_has_pairs(x->py))
        jcv_refuse(c, "len() of %s", jcv_describe(x));
    return jcv_take(c, PyLong_FromSsize_t(length_of(c, x)));
}
