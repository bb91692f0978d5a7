/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The op table casts operands to what a kernel takes.  PyTorch does so for operands of arithmetic
 * only: indices, masks and what is written at places have to have their dtype, since another one
 * mostly is a mistake (a mask of bytes that is read as indices).
 */
#include "config.h"

#include "pyfront/op/refuse.h"

#include "ops/op_ids.h"
#include "pyfront/tensor/tensor.h"

int jpy_dim_check(int64_t dim, int64_t rank) {
    int64_t span = rank ? rank : 1;
    if (dim >= -span && dim < span)
        return 0;
    PyErr_Format(PyExc_IndexError,
                 "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
                 (long long)-span, (long long)(span - 1), (long long)dim);
    return -1;
}

static bool is_tensor(const jn_type *types, unsigned n, unsigned i) {
    return i < n && types[i].kind == JANUS_KIND_TENSOR;
}

static int refuse(const jn_op *op, const char *why, const jn_type *t) {
    PyErr_Format(PyExc_RuntimeError, "%s(): %s, but got %s", op->name, why,
                 jn_dtype_name((janus_dtype)t->dtype));
    return -1;
}

/* Operand i holds places: int64, or int32 too. */
static int places(const jn_op *op, const jn_type *types, unsigned n, unsigned i, bool narrow) {
    if (!is_tensor(types, n, i) || types[i].dtype == JANUS_I64 ||
        (narrow && types[i].dtype == JANUS_I32))
        return 0;
    return refuse(op, narrow ? "expected int32 or int64 for index" : "expected int64 for index",
                  &types[i]);
}

/* Operand i is written into operand 0 as it is. */
static int same_dtype(const jn_op *op, const jn_type *types, unsigned n, unsigned i) {
    if (!is_tensor(types, n, 0) || !is_tensor(types, n, i) || types[0].dtype == types[i].dtype)
        return 0;
    PyErr_Format(PyExc_RuntimeError,
                 "%s(): expected self.dtype to be equal to src.dtype, but got %s and %s", op->name,
                 jn_dtype_name((janus_dtype)types[0].dtype),
                 jn_dtype_name((janus_dtype)types[i].dtype));
    return -1;
}

static int masked_fill(const jn_op *op, const jn_type *types, unsigned n) {
    if (is_tensor(types, n, 1) && types[1].dtype != JANUS_BOOL)
        return refuse(op, "only supports boolean masks", &types[1]);
    return 0;
}

/* Class numbers, or probabilities. */
static int classes(const jn_op *op, const jn_type *types, unsigned n) {
    if (!is_tensor(types, n, 1) || types[1].dtype == JANUS_I64 || types[1].dtype == JANUS_U8 ||
        (op->id == JN_OP_ID_cross_entropy && jn_dtype_is_float(types[1].dtype)))
        return 0;
    return refuse(op, "expected target dtype to be int64 or uint8", &types[1]);
}

/* A window moves over sizes that are none but the batch's. */
static int window(const jn_op *op, const jn_type *types, unsigned n) {
    for (int i = 1; is_tensor(types, n, 0) && types[0].rank == 4 && i < 4; i++)
        if (types[0].dims[i] == 0) {
            PyErr_Format(
                PyExc_RuntimeError,
                "%s(): expected a tensor of 3 or 4 dims of which only the batch's may be 0",
                op->name);
            return -1;
        }
    return 0;
}

int jpy_refuse(const jn_op *op, const jn_type *types, unsigned n) {
    switch (op->id) {
    case JN_OP_ID_masked_fill:
        return masked_fill(op, types, n);
    case JN_OP_ID_index_select:
        return places(op, types, n, 1, true);
    case JN_OP_ID_embedding:
        return places(op, types, n, 1, true);
    case JN_OP_ID_index_add:
        return places(op, types, n, 1, true) < 0 ? -1 : same_dtype(op, types, n, 2);
    case JN_OP_ID_scatter:
    case JN_OP_ID_scatter_add:
        return same_dtype(op, types, n, 2);
    case JN_OP_ID_index_put:
        return same_dtype(op, types, n, 1);
    case JN_OP_ID_one_hot:
        return places(op, types, n, 0, false);
    case JN_OP_ID_cross_entropy:
    case JN_OP_ID_nll_loss:
        return classes(op, types, n);
    case JN_OP_ID_max_pool2d:
    case JN_OP_ID_avg_pool2d:
        return window(op, types, n);
    default:
        return 0;
    }
}
