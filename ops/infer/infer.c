/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers of the inference rules.  Messages are formatted into fixed buffers: an error must be
 * reportable when memory is gone.
 */
#include "config.h"

#include "ops/infer/infer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A short text of a type, cut rather than allocated. */
static void type_text(const jn_type *t, char *buf, size_t size) {
    static const char *const kinds[] = {"none", "tensor", "int",   "float",
                                        "bool", "object", "frame", "acc"};
    if (!t || t->kind != JANUS_KIND_TENSOR) {
        snprintf(buf, size, "%s", t && t->kind < 8 ? kinds[t->kind] : "none");
        return;
    }
    size_t n = (size_t)snprintf(buf, size, "%s[", jn_dtype_name((janus_dtype)t->dtype));
    if (t->rank < 0 && n < size)
        n += (size_t)snprintf(buf + n, size - n, "*");
    for (int i = 0; i < t->rank && n < size; i++) {
        int64_t d = t->dims[i];
        const char *sep = i ? "," : "";
        if (d == JN_DIM_UNKNOWN)
            n += (size_t)snprintf(buf + n, size - n, "%s?", sep);
        else if (d < 0)
            n += (size_t)snprintf(buf + n, size - n, "%ss%lld", sep, (long long)(-2 - d));
        else
            n += (size_t)snprintf(buf + n, size - n, "%s%lld", sep, (long long)d);
    }
    if (n < size)
        snprintf(buf + n, size - n, "]");
}

janus_status jn_infer_fail(jn_infer *c, janus_status code, const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return jn_error(code, "%s: %s", c->op->name, text);
}

/* Name of operand i; the variadic one stands for all that follow. */
static const char *operand_name(const jn_op *op, unsigned i) {
    const jn_operand *o = op->operands;
    for (unsigned k = 0; k < i && o->accept != JN_ACCEPT_END && !o->variadic; k++)
        o++;
    return o->accept == JN_ACCEPT_END ? "?" : o->name;
}

janus_status jn_infer_expected(jn_infer *c, janus_status code, unsigned operand,
                               const char *expected) {
    char got[160];
    type_text(operand < c->n_in ? c->in[operand] : NULL, got, sizeof got);
    return jn_error(code, "%s: operand '%s' (%u): expected %s, got %s", c->op->name,
                    operand_name(c->op, operand), operand, expected, got);
}

int64_t *jn_infer_tensor(jn_infer *c, unsigned i, int dtype, int rank) {
    static int64_t no_dims[1];
    if (rank > JN_MAX_RANK) {
        jn_infer_fail(c, JANUS_SHAPE, "result would have %d dims, at most %d are supported", rank,
                      JN_MAX_RANK);
        return NULL;
    }
    int64_t *dims = rank > 0 ? c->dims_of(c, (unsigned)rank) : no_dims;
    if (!dims) {
        JN_NO_MEMORY();
        return NULL;
    }
    c->out[i] = jn_tensor_type((janus_dtype)dtype, rank, dims);
    return dims;
}

janus_status jn_infer_unknown(jn_infer *c, unsigned i, int dtype) {
    c->out[i] = jn_tensor_type((janus_dtype)dtype, JN_RANK_UNKNOWN, NULL);
    return JANUS_OK;
}

janus_status jn_infer_dims(jn_infer *c, unsigned i, int dtype, int rank, const int64_t *dims) {
    if (rank < 0)
        return jn_infer_unknown(c, i, dtype);
    int64_t *d = jn_infer_tensor(c, i, dtype, rank);
    if (!d)
        return janus_last_error()->code;
    if (rank > 0)
        memcpy(d, dims, (size_t)rank * sizeof *d);
    return JANUS_OK;
}

janus_status jn_infer_like(jn_infer *c, unsigned i, int dtype, const jn_type *like) {
    return jn_infer_dims(c, i, dtype, like->rank, like->dims);
}

janus_status jn_infer_scalar(jn_infer *c, unsigned i, janus_kind kind) {
    c->out[i] = jn_scalar_type(kind);
    return JANUS_OK;
}

bool jn_dim_merge(int64_t a, int64_t b, int64_t *out) {
    if (a >= 0 && b >= 0 && a != b)
        return false;
    *out = a >= 0 ? a : b >= 0 ? b : a != JN_DIM_UNKNOWN ? a : b;
    return true;
}

bool jn_dim_broadcast(int64_t a, int64_t b, int64_t *out) {
    if (a == b)
        *out = a;
    else if (a == 1)
        *out = b;
    else if (b == 1)
        *out = a;
    else if (a >= 0 && b >= 0)
        return false;
    else if (a >= 0 || b >= 0)
        *out = a >= 0 ? a : b; /* not 1, so the other is this or 1 */
    else
        *out = JN_DIM_UNKNOWN; /* either of them may be 1 */
    return true;
}

int64_t jn_dim_add(int64_t a, int64_t b) {
    int64_t r;
    if (b == 0)
        return a;
    if (a == 0)
        return b;
    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &r) ? JN_DIM_UNKNOWN : r;
}

int64_t jn_dim_mul(int64_t a, int64_t b) {
    int64_t r;
    if (a == 1)
        return b;
    if (b == 1)
        return a;
    if (a == 0 || b == 0)
        return 0;
    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &r) ? JN_DIM_UNKNOWN : r;
}

janus_status jn_infer_broadcast(jn_infer *c, unsigned i, int dtype, const jn_type *const *types,
                                unsigned n) {
    int rank = 0;
    for (unsigned k = 0; k < n; k++) {
        if (!types[k])
            continue;
        if (types[k]->rank < 0)
            return jn_infer_unknown(c, i, dtype);
        if (types[k]->rank > rank)
            rank = types[k]->rank;
    }
    int64_t *dims = jn_infer_tensor(c, i, dtype, rank);
    if (!dims)
        return janus_last_error()->code;
    for (int d = 0; d < rank; d++) {
        dims[d] = 1;
        for (unsigned k = 0; k < n; k++) {
            int at = types[k] ? d - (rank - types[k]->rank) : -1;
            if (at < 0 || jn_dim_broadcast(dims[d], types[k]->dims[at], &dims[d]))
                continue;
            char a[160], b[160];
            type_text(types[0], a, sizeof a);
            type_text(types[k], b, sizeof b);
            return jn_infer_fail(c, JANUS_SHAPE, "shapes do not broadcast: %s and %s", a, b);
        }
    }
    return JANUS_OK;
}

janus_status jn_infer_axis(jn_infer *c, int64_t axis, int rank, int *out) {
    if (axis < -(int64_t)rank || axis >= rank)
        return jn_infer_fail(c, JANUS_INDEX, "axis %lld is out of range for %d dims",
                             (long long)axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return JANUS_OK;
}

janus_status jn_infer_dim_set(jn_infer *c, janus_ints dims, int rank, bool *set) {
    memset(set, dims.n == 0, (size_t)rank * sizeof *set);
    for (size_t i = 0; i < dims.n; i++) {
        int axis = 0;
        /* As PyTorch: a 0-d tensor may be reduced along 0 and -1. */
        if (rank == 0 && (dims.data[i] == 0 || dims.data[i] == -1))
            continue;
        JN_TRY(jn_infer_axis(c, dims.data[i], rank, &axis));
        if (set[axis])
            return jn_infer_fail(c, JANUS_SHAPE, "dim %d is given twice", axis);
        set[axis] = true;
    }
    return JANUS_OK;
}

janus_status jn_infer_want_rank(jn_infer *c, unsigned operand, int rank, const char *expected) {
    const jn_type *t = c->in[operand];
    if (t->rank >= 0 && t->rank != rank)
        return jn_infer_expected(c, JANUS_SHAPE, operand, expected);
    return JANUS_OK;
}

bool jn_dims_agree(const jn_type *t, int rank, const int64_t *dims) {
    int64_t m;
    if (t->rank < 0 || rank < 0)
        return true;
    bool ok = t->rank == rank;
    for (int i = 0; ok && i < rank; i++)
        ok = jn_dim_merge(t->dims[i], dims[i], &m);
    return ok;
}

janus_status jn_infer_want_dims(jn_infer *c, unsigned operand, int rank, const int64_t *dims,
                                const char *expected) {
    return jn_dims_agree(c->in[operand], rank, dims)
               ? JANUS_OK
               : jn_infer_expected(c, JANUS_SHAPE, operand, expected);
}

janus_status jn_infer_want_like(jn_infer *c, unsigned operand, const jn_type *like,
                                const char *expected) {
    return jn_infer_want_dims(c, operand, like->rank, like->dims, expected);
}
