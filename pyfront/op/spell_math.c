/* SPDX-License-Identifier: Apache-2.0 */
/* Spellings of arithmetic (alpha, bounds, rounding), of casts, and of products of matrices. */
#include "config.h"

#include "pyfront/op/spell.h"

#include <math.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/tensor/tensor.h"

/* A bound of clamp: -1, or 1 when given. */
static int limit(PyObject *o, double *out) {
    if (!o)
        return 0;
    *out = PyFloat_AsDouble(o);
    return *out == -1.0 && PyErr_Occurred() ? -1 : 1;
}
static bool is_float(PyObject *o) {
    return o && (PyFloat_Check(o) ||
                 (jpy_tensor_check(o) && jn_dtype_is_float(((jpy_tensor *)o)->t->dtype)));
}
int jpy_bind_clamp(jpy_bound *b, PyObject *const *a) {
    PyObject *only = !a[1] ? a[2] : !a[2] ? a[1] : NULL;
    if (only && jpy_tensor_check(only)) { /* an operand, which gradients flow to as well */
        PyObject *in[2] = {a[0], only};
        return jpy_use(b, a[1] ? JN_OP(maximum) : JN_OP(minimum), in, 2);
    }
    if (jpy_use(b, JN_OP(clamp), a, 1) < 0)
        return -1;
    if (!a[1] && !a[2]) {
        PyErr_SetString(PyExc_RuntimeError,
                        "clamp: At least one of 'min' or 'max' must not be None");
        return -1;
    }
    janus_clamp_attrs *s = ATTRS(janus_clamp_attrs);
    jn_type t;
    if (limit(a[1], &s->lo) < 0 || limit(a[2], &s->hi) < 0 || jpy_type_of(b, a[0], &t) < 0)
        return -1;
    /* A bound that is no number leaves none, whose gradient is zero: neither does that quotient. */
    if (isnan(s->lo) || isnan(s->hi)) {
        b->by_value = true;
        PyObject *in[2] = {a[0], isnan(s->lo) ? a[1] : a[2]};
        return jpy_use(b, JN_OP(floordiv), in, 2);
    }
    if (!jn_dtype_is_float(t.dtype) && (is_float(a[1]) || is_float(a[2])))
        b->cast_first = JANUS_F32; /* integers with bounds that are none */
    return 0;
}
int jpy_bind_clamp_min(jpy_bound *b, PyObject *const *a) {
    PyObject *all[3] = {a[0], a[1], NULL};
    return jpy_bind_clamp(b, all);
}
int jpy_bind_clamp_max(jpy_bound *b, PyObject *const *a) {
    PyObject *all[3] = {a[0], NULL, a[1]};
    return jpy_bind_clamp(b, all);
}

static bool is_int(int dtype) { return jn_dtype_is_int(dtype) || dtype == JANUS_BOOL; }

/* Dtype of a tensor or of a Python number; -1 for neither. */
static int dtype_of(jpy_bound *b, PyObject *o) {
    jn_type t;
    if (PyFloat_Check(o))
        return JANUS_F32;
    if (PyLong_Check(o))
        return JANUS_I64;
    if (jpy_type_of(b, o, &t) < 0) {
        PyErr_Clear();
        return -1;
    }
    return t.dtype;
}

/* x + y for integers, y made of others first: what a fused row of floats would round. */
static int add_whole(jpy_bound *b, PyObject *x, PyObject *y, const jn_op *op) {
    if (!y)
        return -1;
    Py_XSETREF(b->keep, PyTuple_Pack(1, y));
    Py_DECREF(y);
    if (!b->keep)
        return -1;
    PyObject *in[2] = {x, PyTuple_GET_ITEM(b->keep, 0)};
    return jpy_use(b, op, in, 2);
}

/* A graph would compute what is made while binding only once. */
static int not_in_graphs(const jpy_bound *b, const char *what) {
    if (!b->type_of)
        return 0;
    PyErr_Format(PyExc_NotImplementedError, "%s of integers in a graph", what);
    return -1;
}

/* input, other, alpha: alpha * other is computed by one fused row. */
static int add_alpha(jpy_bound *b, PyObject *const *a, const jn_op *op, double sign) {
    if (!a[2])
        return jpy_use(b, op, a, 2);
    double alpha = PyFloat_AsDouble(a[2]);
    if (alpha == -1.0 && PyErr_Occurred())
        return -1;
    int x = dtype_of(b, a[0]), y = dtype_of(b, a[1]);
    if (x >= 0 && y >= 0 && is_int(x) && is_int(y)) {
        bool bools = x == JANUS_BOOL && y == JANUS_BOOL;
        if (!PyLong_Check(a[2]) || (PyBool_Check(a[2]) && !bools)) {
            PyErr_SetString(PyExc_RuntimeError,
                            PyBool_Check(a[2])
                                ? "Boolean alpha only supported for Boolean results."
                                : "For integral input tensors, argument alpha must not be a "
                                  "floating point number.");
            return -1;
        }
        int into = PyLong_Check(a[0]) ? y : PyLong_Check(a[1]) || x == y ? x : -1;
        int overflow = 0;
        janus_scalar v = {.i = PyLong_AsLongLongAndOverflow(a[2], &overflow)};
        if (into >= 0 && !overflow && jpy_scalar_check((janus_dtype)into, JANUS_KIND_INT, v) < 0)
            return -1;
        if (alpha == 1.0 || (bools && alpha != 0.0)) /* bools: any number but 0 is true */
            return jpy_use(b, op, a, 2);
        return not_in_graphs(b, "add(alpha=)") < 0
                   ? -1
                   : add_whole(b, a[0], PyNumber_Multiply(a[1], a[2]), op);
    }
    if (PyBool_Check(a[2])) {
        PyErr_SetString(PyExc_RuntimeError, "Boolean alpha only supported for Boolean results.");
        return -1;
    }
    if (alpha == 1.0)
        return jpy_use(b, op, a, 2);
    PyObject *one = PyFloat_FromDouble(1.0);
    b->keep = one ? PyTuple_Pack(1, one) : NULL;
    Py_XDECREF(one);
    if (!b->keep)
        return -1;
    PyObject *in[3] = {a[0], a[1], one};
    if (jpy_use(b, JN_OP(addcmul), in, 3) < 0)
        return -1;
    /* no product: a number of the graph goes through here bit for bit (convert/tensors/proxy.c,
     * jcv_tag) */
    b->in[3] = (jpy_operand){.kind = JANUS_KIND_FLOAT, .s.f = sign < 0 ? -alpha : alpha};
    b->in[2].fixed = true;
    b->n_in = 4;
    return 0;
}

/* PyTorch's older form f(input, number, other) beside f(input, other, alpha=number). */
static int with_legacy(jpy_bound *b, PyObject *const *a, const jn_op *op, double sign) {
    PyObject *in[3] = {a[0], a[1], a[3]};
    if (!a[2])
        return add_alpha(b, in, op, sign);
    if (a[3] || !(PyFloat_Check(a[1]) || PyLong_Check(a[1]))) {
        PyErr_Format(PyExc_TypeError, "%s() received an invalid combination of arguments",
                     op->name);
        return -1;
    }
    in[1] = a[2];
    in[2] = a[1];
    return add_alpha(b, in, op, sign);
}
int jpy_bind_add(jpy_bound *b, PyObject *const *a) { return with_legacy(b, a, JN_OP(add), 1.0); }
int jpy_bind_sub(jpy_bound *b, PyObject *const *a) { return with_legacy(b, a, JN_OP(sub), -1.0); }

int jpy_bind_div(jpy_bound *b, PyObject *const *a) {
    if (!a[2])
        return jpy_use(b, JN_OP(div), a, 2);
    if (PyUnicode_Check(a[2]) && PyUnicode_CompareWithASCIIString(a[2], "floor") == 0)
        return jpy_use(b, JN_OP(floordiv), a, 2);
    PyErr_Format(PyExc_ValueError, "div(): rounding_mode %R is not supported", a[2]);
    return -1;
}

/* input, tensor1, tensor2, value */
static int three_and_value(jpy_bound *b, PyObject *const *a, const jn_op *op) {
    if (jpy_use(b, op, a, 3) < 0)
        return -1;
    b->in[3] =
        a[3] ? (jpy_operand){.o = a[3]} : (jpy_operand){.kind = JANUS_KIND_FLOAT, .s.f = 1.0};
    b->n_in = 4;
    return 0;
}
/* input, tensor1, tensor2, value; before: input, value, tensor1, tensor2 */
static int fused(jpy_bound *b, PyObject *const *a, const jn_op *op) {
    PyObject *in[4] = {a[0], a[1], a[2], a[4]};
    if (a[3]) {
        if (a[4] || !(PyFloat_Check(a[1]) || PyLong_Check(a[1]))) {
            PyErr_Format(PyExc_TypeError, "%s() received an invalid combination of arguments",
                         op->name);
            return -1;
        }
        in[1] = a[2];
        in[2] = a[3];
        in[3] = a[1];
    }
    int x = dtype_of(b, in[0]), y = dtype_of(b, in[1]), z = dtype_of(b, in[2]);
    if (x < 0 || y < 0 || z < 0 || !is_int(x) || !is_int(y) || !is_int(z))
        return three_and_value(b, in, op);
    if (op == JN_OP(addcdiv)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "Integer division with addcdiv is not supported: give floats, or divide "
                        "first with rounding_mode='trunc'");
        return -1;
    }
    if (not_in_graphs(b, "addcmul") < 0)
        return -1;
    PyObject *product = PyNumber_Multiply(in[1], in[2]), *whole = NULL, *scaled = NULL;
    if (product && in[3]) { /* a part of a number is none for integers */
        whole = PyNumber_Long(in[3]);
        scaled = whole ? PyNumber_Multiply(product, whole) : NULL;
        Py_XDECREF(whole);
        Py_DECREF(product);
        product = scaled;
    }
    return add_whole(b, in[0], product, JN_OP(add));
}
int jpy_bind_addcmul(jpy_bound *b, PyObject *const *a) { return fused(b, a, JN_OP(addcmul)); }
int jpy_bind_addcdiv(jpy_bound *b, PyObject *const *a) { return fused(b, a, JN_OP(addcdiv)); }
/* input, tensor1, square, value, eps */
int jpy_bind_addcdiv_sqrt(jpy_bound *b, PyObject *const *a) {
    if (three_and_value(b, a, JN_OP(addcdiv_sqrt)) < 0)
        return -1;
    b->in[4] =
        a[4] ? (jpy_operand){.o = a[4]} : (jpy_operand){.kind = JANUS_KIND_FLOAT, .s.f = 0.0};
    b->n_in = 5;
    return 0;
}
int jpy_bind_gelu(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(gelu), a, 1) < 0)
        return -1;
    if (a[1])
        ATTRS(janus_gelu_attrs)->approximate =
            PyUnicode_Check(a[1]) ? PyUnicode_CompareWithASCIIString(a[1], "tanh") == 0
                                  : PyObject_IsTrue(a[1]) > 0;
    return 0;
}

int jpy_cast_to(jpy_bound *b, PyObject *const *a, janus_dtype d) {
    jn_type t;
    if (jpy_type_of(b, a[0], &t) < 0)
        return -1;
    if (t.dtype == d) {
        b->is_identity = true;
        b->in[0].o = a[0];
        b->n_in = 1;
        return 0;
    }
    if (jpy_use(b, JN_OP(cast), a, 1) < 0)
        return -1;
    ATTRS(janus_cast_attrs)->dtype = d;
    return 0;
}
#define CAST(name, dtype)                                                                          \
    int jpy_bind_##name(jpy_bound *b, PyObject *const *a) { return jpy_cast_to(b, a, dtype); }
CAST(float, JANUS_F32)
CAST(double, JANUS_F64)
CAST(int, JANUS_I32)
CAST(long, JANUS_I64)
CAST(bool, JANUS_BOOL)
CAST(byte, JANUS_U8)
CAST(half, JANUS_F16)
CAST(bfloat16, JANUS_BF16)

int jpy_bind_type_as(jpy_bound *b, PyObject *const *a) {
    jn_type t;
    return jpy_type_of(b, a[1], &t) < 0 ? -1 : jpy_cast_to(b, a, (janus_dtype)t.dtype);
}

/* What the call is about is the tensor on another device, which b->keep then owns. */
static int move_first(jpy_bound *b, PyObject *x, jn_device *device, bool non_blocking) {
    if (jn_eager_hook || !jpy_tensor_check(x)) {
        PyErr_SetString(PyExc_RuntimeError, "a graph does not move tensors between devices");
        return -1;
    }
    Py_XSETREF(b->keep, jpy_tensor_move((jpy_tensor *)x, device, false, non_blocking));
    return b->keep ? 0 : -1;
}

/* to(dtype), to(device), to(device, dtype), to(other) */
int jpy_bind_to(jpy_bound *b, PyObject *const *a) {
    jn_type t;
    if (jpy_type_of(b, a[0], &t) < 0)
        return -1;
    janus_dtype d = (janus_dtype)t.dtype;
    PyObject *given[5] = {a[1], a[2], a[3], a[4], NULL};
    jn_device *device = NULL;
    bool moves = false;
    for (int i = 0; i < 4; i++) {
        PyObject *o = given[i];
        jn_type other;
        if (!o || PyBool_Check(o))
            continue;
        if (jpy_tensor_check(o) || (b->type_of && b->type_of(b->ctx, o, &other))) {
            if (jpy_type_of(b, o, &other) < 0)
                return -1;
            d = (janus_dtype)other.dtype;
            if (jpy_tensor_check(o) && jn_dev_in_use) {
                device = ((jpy_tensor *)o)->t->storage->device;
                moves = true;
            }
        } else if (Py_TYPE(o) == jpy.dtype_type || PyType_Check(o)) {
            if (jpy_dtype_parse(o, &d) < 0)
                return -1;
        } else {
            if (jpy_device_parse(o, &device) < 0)
                return -1;
            moves = true;
        }
    }
    int copy = a[6] ? PyObject_IsTrue(a[6]) : 0;
    if (copy < 0)
        return -1;
    int later = a[5] ? PyObject_IsTrue(a[5]) : 0;
    if (later < 0)
        return -1;
    PyObject *moved[1];
    if (moves && (device || jn_dev_in_use)) {
        if (move_first(b, a[0], device, later) < 0)
            return -1;
        moved[0] = b->keep;
        a = moved;
    }
    if (copy && d == t.dtype)
        return jpy_use(b, JN_OP(clone), a, 1);
    return jpy_cast_to(b, a, d);
}
static int bind_same(jpy_bound *b, PyObject *const *a) {
    b->is_identity = true;
    b->in[0].o = a[0];
    b->n_in = 1;
    return 0;
}
int jpy_bind_cpu(jpy_bound *b, PyObject *const *a) {
    if (!jn_dev_in_use)
        return bind_same(b, a);
    if (move_first(b, a[0], NULL, false) < 0)
        return -1;
    return bind_same(b, &b->keep);
}
int jpy_bind_contiguous(jpy_bound *b, PyObject *const *a) {
    if (jpy_tensor_check(a[0]) && ((jpy_tensor *)a[0])->t->contiguous)
        return bind_same(b, a);
    return jpy_use(b, JN_OP(clone), a, 1);
}
int jpy_bind_clone(jpy_bound *b, PyObject *const *a) { return jpy_use(b, JN_OP(clone), a, 1); }

int jpy_bind_where(jpy_bound *b, PyObject *const *a) {
    PyObject *in[3] = {a[1], a[0], a[2]};
    return jpy_use(b, JN_OP(where), in, 3);
}

/* ---- products
 * ------------------------------------------------------------------------------------------- */

static int product(jpy_bound *b, PyObject *const *a, int ra, int rb, const char *name) {
    jn_type x, y;
    if (jpy_type_of(b, a[0], &x) < 0 || jpy_type_of(b, a[1], &y) < 0)
        return -1;
    if ((x.rank >= 0 && x.rank != ra) || (y.rank >= 0 && y.rank != rb)) {
        PyErr_Format(PyExc_RuntimeError, "%s: expected a %d-D and a %d-D tensor, got %d-D and %d-D",
                     name, ra, rb, (int)x.rank, (int)y.rank);
        return -1;
    }
    if (ra == 3 && x.rank == 3 && y.rank == 3 && x.dims[0] >= 0 && y.dims[0] >= 0 &&
        x.dims[0] != y.dims[0]) { /* unlike matmul */
        PyErr_Format(PyExc_RuntimeError, "%s: batches of %lld and of %lld matrices", name,
                     (long long)x.dims[0], (long long)y.dims[0]);
        return -1;
    }
    return jpy_use(b, JN_OP(matmul), a, 2);
}
int jpy_bind_mm(jpy_bound *b, PyObject *const *a) { return product(b, a, 2, 2, "mm"); }
int jpy_bind_bmm(jpy_bound *b, PyObject *const *a) { return product(b, a, 3, 3, "bmm"); }
int jpy_bind_mv(jpy_bound *b, PyObject *const *a) { return product(b, a, 2, 1, "mv"); }
