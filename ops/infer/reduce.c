/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inference of reductions.  The rows share attribute names; the structs differ only in what follows
 * the common members, so each family reads them through the row's specs once, here.
 */
#include "config.h"

#include "ops/infer/infer.h"
#include "ops/reduce_attrs.h"

static janus_status reduce_as(jn_infer *c, int dtype) {
    jn_reduce_attrs a = jn_reduce_attrs_of(c->op, c->attrs);
    const jn_type *x = c->in[0];
    bool set[JN_MAX_RANK];
    int rank = 0;
    if (x->rank < 0) {
        if (a.dims.n == 0 && !a.keepdim)
            return jn_infer_dims(c, 0, dtype, 0, NULL);
        return jn_infer_unknown(c, 0, dtype);
    }
    JN_TRY(jn_infer_dim_set(c, a.dims, x->rank, set));
    for (int i = 0; i < x->rank; i++)
        rank += a.keepdim || !set[i];
    int64_t *d = jn_infer_tensor(c, 0, dtype, rank);
    if (!d)
        return janus_last_error()->code;
    for (int i = 0; i < x->rank; i++) {
        if (a.keepdim || !set[i])
            *d++ = set[i] ? 1 : x->dims[i];
    }
    return JANUS_OK;
}

static int sum_dtype(int d) { return jn_dtype_is_int(d) || d == JANUS_BOOL ? JANUS_I64 : d; }

/* The largest of nothing does not exist. */
static janus_status not_empty(jn_infer *c, const bool *set) {
    const jn_type *x = c->in[0];
    for (int i = 0; i < x->rank; i++) {
        if (set[i] && x->dims[i] == 0)
            return jn_infer_fail(c, JANUS_SHAPE, "dim %d has no elements to choose from", i);
    }
    return JANUS_OK;
}

janus_status jn_infer_reduce(jn_infer *c) {
    if ((c->op->id == JN_OP_ID_max || c->op->id == JN_OP_ID_min) && c->in[0]->rank >= 0) {
        bool set[JN_MAX_RANK];
        JN_TRY(jn_infer_dim_set(c, jn_reduce_attrs_of(c->op, c->attrs).dims, c->in[0]->rank, set));
        JN_TRY(not_empty(c, set));
    }
    return reduce_as(c, c->in[0]->dtype);
}

janus_status jn_infer_reduce_sum(jn_infer *c) { return reduce_as(c, sum_dtype(c->in[0]->dtype)); }

janus_status jn_infer_reduce_bool(jn_infer *c) { return reduce_as(c, JANUS_BOOL); }

/* Result i: x without the axis, or with size 1 there; 0-d tensors have an axis 0 of one element. */
static janus_status without_axis(jn_infer *c, unsigned i, int dtype, int64_t axis_attr,
                                 bool keepdim) {
    const jn_type *x = c->in[0];
    int axis;
    if (x->rank < 0)
        return jn_infer_unknown(c, i, dtype);
    if (x->rank == 0 && (axis_attr == 0 || axis_attr == -1))
        return jn_infer_dims(c, i, dtype, 0, NULL);
    JN_TRY(jn_infer_axis(c, axis_attr, x->rank, &axis));
    if (x->dims[axis] == 0)
        return jn_infer_fail(c, JANUS_SHAPE, "dim %d has no elements to choose from", axis);
    int64_t *d = jn_infer_tensor(c, i, dtype, x->rank - !keepdim);
    if (!d)
        return janus_last_error()->code;
    for (int k = 0; k < x->rank; k++) {
        if (k != axis)
            *d++ = x->dims[k];
        else if (keepdim)
            *d++ = 1;
    }
    return JANUS_OK;
}

janus_status jn_infer_reduce_index(jn_infer *c) {
    const janus_max_dim_attrs *a = c->attrs; /* min_dim's is alike */
    JN_TRY(without_axis(c, 0, c->in[0]->dtype, a->axis, a->keepdim != 0));
    return without_axis(c, 1, JANUS_I64, a->axis, a->keepdim != 0);
}

janus_status jn_infer_argmax(jn_infer *c) {
    const janus_argmax_attrs *a = c->attrs; /* argmin's is alike */
    const jn_type *x = c->in[0];
    if (!a->all)
        return without_axis(c, 0, JANUS_I64, a->axis, a->keepdim != 0);
    for (int i = 0; i < x->rank; i++) {
        if (x->dims[i] == 0)
            return jn_infer_fail(c, JANUS_SHAPE, "a tensor without elements has no largest");
    }
    if (!a->keepdim)
        return jn_infer_dims(c, 0, JANUS_I64, 0, NULL);
    if (x->rank < 0)
        return jn_infer_unknown(c, 0, JANUS_I64);
    int64_t *d = jn_infer_tensor(c, 0, JANUS_I64, x->rank);
    if (!d)
        return janus_last_error()->code;
    for (int i = 0; i < x->rank; i++)
        d[i] = 1;
    return JANUS_OK;
}

/* A 0-d tensor may be addressed along 0 and -1. */
static janus_status check_axis(jn_infer *c, int64_t axis_attr) {
    int axis;
    int rank = c->in[0]->rank;
    if (rank > 0 || (rank == 0 && axis_attr != 0 && axis_attr != -1))
        JN_TRY(jn_infer_axis(c, axis_attr, rank, &axis));
    return JANUS_OK;
}

janus_status jn_infer_cumsum(jn_infer *c) {
    const janus_cumsum_attrs *a = c->attrs;
    JN_TRY(check_axis(c, a->axis));
    return jn_infer_like(c, 0, sum_dtype(c->in[0]->dtype), c->in[0]);
}

janus_status jn_infer_axis_same(jn_infer *c) {
    const janus_softmax_attrs *a = c->attrs; /* log_softmax's is alike */
    JN_TRY(check_axis(c, a->axis));
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[0]);
}
