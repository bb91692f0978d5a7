/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Type promotion, and Python numbers as scalars and 0-d tensors.
 *
 * Promotion is PyTorch's: operands that share a dtype are promoted together, tensors with dims
 * before 0-d tensors before Python numbers, a later class counting only when its category (bool,
 * integer, float) is higher.
 */
#include "config.h"

#include "pyfront/op/op.h"

#include <float.h>
#include <math.h>

#include "ops/op_ids.h"
#include "ops/ref/ref.h"

static int category(int d) { return d == JANUS_BOOL ? 0 : jn_dtype_is_int(d) ? 1 : 2; }

static int join(int a, int b) {
    if (a < 0 || a == b)
        return b;
    if (b < 0)
        return a;
    if (category(a) != category(b))
        return category(a) > category(b) ? a : b;
    static const int order[JANUS_DTYPE_COUNT] = {
        [JANUS_U8] = 0,   [JANUS_I32] = 1, [JANUS_I64] = 2, [JANUS_F16] = 0,
        [JANUS_BF16] = 0, [JANUS_F32] = 1, [JANUS_F64] = 2, [JANUS_BOOL] = 0};
    if (order[a] == order[b])
        return JANUS_F32; /* f16 with bf16 */
    return order[a] > order[b] ? a : b;
}

static unsigned leader_of(const jn_op *op, unsigned i) {
    const jn_operand *o = jpy_operand_at(op, i);
    switch (o->dtype_class) {
    case JN_DT_SAME0:
        return 0;
    case JN_DT_SAME1:
        return 1;
    case JN_DT_SAME2:
        return 2;
    default:
        return (unsigned)(o - op->operands);
    }
}

static bool is_tensor(const jn_type *t) { return t->kind == JANUS_KIND_TENSOR; }

/* Products take one dtype; kernels of images and layers take floats. */
static int check_product(const jn_op *op, unsigned n_in, const jn_type *types) {
    bool floats = op->id == JN_OP_ID_linear || op->id == JN_OP_ID_conv2d;
    if (!floats && op->id != JN_OP_ID_matmul && op->id != JN_OP_ID_dot)
        return 0;
    for (unsigned i = 0; i < n_in; i++) {
        if (!is_tensor(&types[i]) || !is_tensor(&types[0]))
            continue;
        if (types[i].dtype != types[0].dtype) {
            PyErr_Format(PyExc_RuntimeError,
                         "%s(): expected operands of the same dtype, but got: %s != %s", op->name,
                         jn_dtype_name((janus_dtype)types[0].dtype),
                         jn_dtype_name((janus_dtype)types[i].dtype));
            return -1;
        }
        if (floats && !jn_dtype_is_float(types[i].dtype)) {
            PyErr_Format(PyExc_NotImplementedError, "%s() is not implemented for %s", op->name,
                         jn_dtype_name((janus_dtype)types[i].dtype));
            return -1;
        }
    }
    return 0;
}

/* A condition is bools (or bytes, as it was before there were bools); bools are not subtracted. */
static int check_bools(const jn_op *op, unsigned n_in, const jn_type *types,
                       const janus_kind *numbers) {
    unsigned bools = 0;
    for (unsigned i = 0; i < n_in; i++) {
        if (!is_tensor(&types[i]) || numbers[i] != JANUS_KIND_NONE)
            continue;
        bools += types[i].dtype == JANUS_BOOL;
        if (jpy_operand_at(op, i)->dtype_class == JN_DT_BOOL && types[i].dtype != JANUS_BOOL &&
            types[i].dtype != JANUS_U8) {
            PyErr_Format(PyExc_RuntimeError, "%s expected %s to be a boolean tensor, but got %s",
                         op->name, jpy_operand_at(op, i)->name,
                         jn_dtype_name((janus_dtype)types[i].dtype));
            return -1;
        }
    }
    bool one_number = n_in > 1 && (numbers[0] != JANUS_KIND_NONE || numbers[1] != JANUS_KIND_NONE);
    if ((op->id == JN_OP_ID_sub && (bools == 2 || (bools == 1 && one_number))) ||
        (op->id == JN_OP_ID_neg && bools)) {
        PyErr_SetString(PyExc_NotImplementedError,
                        "Subtraction and negation, the `-` operator, of a bool tensor are not "
                        "supported. If you are trying to invert a mask, use the `~` or "
                        "`logical_not()` operator instead.");
        return -1;
    }
    return 0;
}

int jpy_promote(const jn_op *op, unsigned n_in, const jn_type *types, const janus_kind *numbers,
                int *cast) {
    if (check_product(op, n_in, types) < 0 || check_bools(op, n_in, types, numbers) < 0)
        return -1;
    int dims[4] = {-1, -1, -1, -1}, zero[4] = {-1, -1, -1, -1}, weak[4] = {-1, -1, -1, -1};
    for (unsigned i = 0; i < n_in; i++) {
        cast[i] = -1;
        const jn_operand *o = jpy_operand_at(op, i);
        unsigned g = leader_of(op, i);
        if (o->accept != JN_ACCEPT_TENSOR || g > 3)
            continue;
        if (numbers[i] != JANUS_KIND_NONE)
            weak[g] = join(weak[g], numbers[i] == JANUS_KIND_FLOAT ? JANUS_F32
                                    : numbers[i] == JANUS_KIND_INT ? JANUS_I64
                                                                   : JANUS_BOOL);
        else if (types[i].kind == JANUS_KIND_TENSOR && types[i].rank == 0)
            zero[g] = join(zero[g], types[i].dtype);
        else if (types[i].kind == JANUS_KIND_TENSOR)
            dims[g] = join(dims[g], types[i].dtype);
    }
    int target[4];
    for (unsigned g = 0; g < 4; g++) {
        int d = dims[g];
        if (d < 0 || (zero[g] >= 0 && category(zero[g]) > category(d)))
            d = join(d, zero[g]);
        if (d < 0 || (weak[g] >= 0 && category(weak[g]) > category(d)))
            d = d >= 0 && category(weak[g]) == 2 ? JANUS_F32 : join(d, weak[g]);
        target[g] = d;
    }
    for (unsigned i = 0; i < n_in; i++) {
        unsigned g = leader_of(op, i);
        if (jpy_operand_at(op, i)->accept != JN_ACCEPT_TENSOR || g > 3 || target[g] < 0)
            continue;
        int d = target[g];
        switch (jpy_operand_at(op, g)->dtype_class) {
        case JN_DT_FLOAT:
            if (!jn_dtype_is_float(d))
                d = JANUS_F32;
            break;
        case JN_DT_NUM:
            if (d == JANUS_BOOL)
                d = JANUS_I64;
            break;
        case JN_DT_INT:
            if (d == JANUS_BOOL)
                d = JANUS_I64;
            break;
        case JN_DT_BOOL:
            d = JANUS_BOOL;
            break;
        default:
            break;
        }
        if (numbers[i] != JANUS_KIND_NONE ||
            (types[i].kind == JANUS_KIND_TENSOR && types[i].dtype != d))
            cast[i] = d;
    }
    return 0;
}

bool jpy_can_store(janus_dtype from, janus_dtype to) { return category(from) <= category(to); }

/* ---- numbers ----------------------------------------------------------------------------------
 */

int jpy_scalar_of(PyObject *o, janus_kind *kind, janus_scalar *out) {
    if (PyFloat_Check(o)) {
        *kind = JANUS_KIND_FLOAT;
        out->f = PyFloat_AS_DOUBLE(o);
        return 1;
    }
    if (PyBool_Check(o)) {
        *kind = JANUS_KIND_BOOL;
        out->i = o == Py_True;
        return 1;
    }
    if (PyLong_Check(o)) {
        *kind = JANUS_KIND_INT;
        out->i = PyLong_AsLongLong(o);
        if (out->i == -1 && PyErr_Occurred()) {
            PyErr_SetString(PyExc_RuntimeError, "value cannot be converted to type int64 without "
                                                "overflow");
            return -1;
        }
        return 1;
    }
    if (jpy_tensor_check(o) || PyUnicode_Check(o) || PySequence_Check(o))
        return 0;
    PyNumberMethods *nb = Py_TYPE(o)->tp_as_number;
    if (nb && nb->nb_index) { /* NumPy's integers */
        PyObject *n = PyNumber_Index(o);
        if (!n)
            return -1;
        int rc = jpy_scalar_of(n, kind, out);
        Py_DECREF(n);
        return rc;
    }
    if (nb && nb->nb_float) {
        *kind = JANUS_KIND_FLOAT;
        out->f = PyFloat_AsDouble(o);
        return out->f == -1.0 && PyErr_Occurred() ? -1 : 1;
    }
    return 0;
}

bool jpy_scalar_fits(janus_dtype dtype, janus_kind kind, janus_scalar v) {
    static const double largest[JANUS_DTYPE_COUNT] = {
        [JANUS_F16] = 65504.0, [JANUS_F32] = FLT_MAX, [JANUS_BF16] = 3.3895313892515355e38};
    if (kind == JANUS_KIND_BOOL || dtype == JANUS_BOOL || dtype == JANUS_F64)
        return true;
    double f = kind == JANUS_KIND_FLOAT ? v.f : (double)v.i;
    if (jn_dtype_is_float(dtype)) {
        return isnan(f) || isinf(f) || fabs(f) <= largest[dtype];
    }
    if (kind == JANUS_KIND_FLOAT) {
        if (!(f > -9223372036854777856.0 && f < 9223372036854775808.0))
            return false;
        v.i = (int64_t)f;
    }
    return dtype == JANUS_I32  ? v.i >= INT32_MIN && v.i <= INT32_MAX
           : dtype == JANUS_U8 ? v.i >= -255 && v.i <= 255 /* a negative one counts from 256 */
                               : true;
}

int jpy_scalar_check(janus_dtype dtype, janus_kind kind, janus_scalar v) {
    if (jpy_scalar_fits(dtype, kind, v))
        return 0;
    PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow",
                 jn_dtype_name(dtype));
    return -1;
}

bool jpy_scalar_store(janus_dtype dtype, janus_kind kind, janus_scalar v, void *to) {
    double f = kind == JANUS_KIND_FLOAT ? v.f : (double)v.i;
    switch (dtype) {
    case JANUS_F32:
        *(float *)to = (float)f;
        return !isinf(*(float *)to) || isinf(f);
    case JANUS_F64:
        *(double *)to = f;
        return true;
    case JANUS_BOOL:
        *(bool *)to = kind == JANUS_KIND_FLOAT ? v.f != 0 : v.i != 0;
        return true;
    case JANUS_F16:
        *(uint16_t *)to = jn_float_to_half(f);
        return (double)jn_half_to_float(*(uint16_t *)to) == f || isnan(f);
    case JANUS_BF16:
        *(uint16_t *)to = jn_float_to_bfloat(f);
        return (double)jn_bfloat_to_float(*(uint16_t *)to) == f || isnan(f);
    default:
        break;
    }
    bool fits = jpy_scalar_fits(dtype, kind, v);
    int64_t i = kind != JANUS_KIND_FLOAT ? v.i : fits ? (int64_t)v.f : INT64_MIN;
    switch (dtype) {
    case JANUS_I32:
        *(int32_t *)to = (int32_t)i;
        return fits;
    case JANUS_I64:
        *(int64_t *)to = i;
        return fits;
    case JANUS_U8:
        *(uint8_t *)to = (uint8_t)i;
        return fits;
    default:
        return false;
    }
}

int jpy_scalar_tensor(janus_dtype dtype, janus_kind kind, janus_scalar v, janus_tensor **out) {
    janus_tensor *t;
    if (jpy_check(jn_tensor_empty(dtype, 0, NULL, &t)) < 0)
        return -1;
    (void)jpy_scalar_store(dtype, kind, v, jn_tensor_ready_data(t));
    *out = t;
    return 0;
}
