/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Type promotion.
 *
 * Promotion is PyTorch's: operands that share a dtype are promoted together, tensors with dims
 * before 0-d tensors before Python numbers, a later class counting only when its category (bool,
 * integer, float) is higher.
 */
#include "config.h"

#include "pyfront/op/bound.h"

#include "ops/op_ids.h"

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
    bool floats = op->id == JN_OP_ID_linear || op->id == JN_OP_ID_conv2d ||
                  op->id == JN_OP_ID_conv2d_input_grad;
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
