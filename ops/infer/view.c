/* SPDX-License-Identifier: Apache-2.0 */
/*
 * View rules: the strides and offset with which a VIEW op's result aliases operand 0.
 *
 * A rule may rely on `out` (inference has checked the op); it says false when no strides do, and
 * the op's kernel copies.
 */
#include "config.h"

#include "ops/attrs.h"
#include "ops/rules.h"
#include "ops/shape_rules.h"

static int axis_of(int64_t axis, int rank) { return (int)(axis < 0 ? axis + rank : axis); }

/* Value of an int scalar operand; NULL when absent. */
static const int64_t *scalar_at(const jn_view *in, unsigned n_in, unsigned i) {
    return i < n_in && in[i].rank >= 0 ? in[i].data : NULL;
}

static bool keep_strides(const jn_view *x, int64_t *strides, int64_t *offset) {
    *offset = 0;
    for (int i = 0; i < x->rank; i++)
        strides[i] = x->strides[i];
    return true;
}

bool jn_view_alias(const jn_view *in, unsigned n_in, const void *attrs, const jn_type *out,
                   int64_t *strides, int64_t *offset) {
    (void)n_in, (void)attrs, (void)out;
    return keep_strides(&in[0], strides, offset);
}

/* Strides of sizes 1 are never used: row-major ones keep a contiguous result recognisable. */
static void tidy_ones(const jn_type *out, int64_t *strides) {
    int64_t next = 1;
    for (int i = out->rank - 1; i >= 0; i--) {
        if (out->dims[i] == 1)
            strides[i] = next;
        next = strides[i] * out->dims[i];
    }
}

/*
 * Input dims that lie together in memory form runs; walking both shapes from the last dim, each run
 * must be covered exactly by output dims.
 */
bool jn_view_reshape(const jn_view *in, unsigned n_in, const void *attrs, const jn_type *out,
                     int64_t *strides, int64_t *offset) {
    int64_t dims[JN_MAX_RANK], steps[JN_MAX_RANK];
    int n = 0, o = out->rank - 1;
    (void)n_in, (void)attrs;
    *offset = 0;
    for (int i = 0; i < in[0].rank; i++) {
        if (in[0].dims[i] == 0) { /* nothing is read: any strides do */
            for (int k = 0; k < out->rank; k++)
                strides[k] = 1;
            return true;
        }
        if (in[0].dims[i] == 1)
            continue;
        dims[n] = in[0].dims[i];
        steps[n++] = in[0].strides[i];
    }
    while (n > 0) {
        int64_t size = dims[n - 1], stride = steps[n - 1], used = 1;
        n--;
        while (n > 0 && steps[n - 1] == stride * size)
            size *= dims[--n];
        for (; o >= 0 && used < size; o--) {
            if (out->dims[o] < 1 || out->dims[o] > size / used || size % (used * out->dims[o]) != 0)
                return false;
            strides[o] = stride * used;
            used *= out->dims[o];
        }
        if (used != size)
            return false;
    }
    for (; o >= 0; o--)
        strides[o] = 1;
    tidy_ones(out, strides);
    return true;
}

bool jn_view_reshape_like(const jn_view *in, unsigned n_in, const void *attrs, const jn_type *out,
                          int64_t *strides, int64_t *offset) {
    return jn_view_reshape(in, n_in, attrs, out, strides, offset);
}

bool jn_view_transpose(const jn_view *in, unsigned n_in, const void *attrs, const jn_type *out,
                       int64_t *strides, int64_t *offset) {
    const janus_transpose_attrs *a = attrs;
    int i = axis_of(a->dim0, in[0].rank), j = axis_of(a->dim1, in[0].rank);
    (void)n_in, (void)out;
    keep_strides(&in[0], strides, offset);
    strides[i] = in[0].strides[j];
    strides[j] = in[0].strides[i];
    return true;
}

bool jn_view_permute(const jn_view *in, unsigned n_in, const void *attrs, const jn_type *out,
                     int64_t *strides, int64_t *offset) {
    const janus_permute_attrs *a = attrs;
    (void)n_in, (void)out;
    *offset = 0;
    for (int i = 0; i < in[0].rank; i++)
        strides[i] = in[0].strides[axis_of(a->dims.data[i], in[0].rank)];
    return true;
}

bool jn_view_expand(const jn_view *in, unsigned n_in, const void *attrs, const jn_type *out,
                    int64_t *strides, int64_t *offset) {
    (void)n_in, (void)attrs;
    *offset = 0;
    for (int i = 0; i < out->rank; i++) {
        int at = i - (out->rank - in[0].rank);
        strides[i] = at < 0 || (in[0].dims[at] == 1 && out->dims[i] != 1) ? 0 : in[0].strides[at];
    }
    return true;
}

bool jn_view_expand_like(const jn_view *in, unsigned n_in, const void *attrs, const jn_type *out,
                         int64_t *strides, int64_t *offset) {
    return jn_view_expand(in, n_in, attrs, out, strides, offset);
}

/* What was not broadcast is not summed. */
bool jn_view_sum_like(const jn_view *in, unsigned n_in, const void *attrs, const jn_type *out,
                      int64_t *strides, int64_t *offset) {
    (void)n_in, (void)attrs;
    bool same = in[0].rank == out->rank && in[0].dtype == out->dtype;
    for (int i = 0; same && i < out->rank; i++)
        same = in[0].dims[i] == out->dims[i];
    return same && keep_strides(&in[0], strides, offset);
}

/* Adding or removing sizes 1 is a reshape that always succeeds. */
bool jn_view_unsqueeze(const jn_view *in, unsigned n_in, const void *attrs, const jn_type *out,
                       int64_t *strides, int64_t *offset) {
    const janus_unsqueeze_attrs *a = attrs;
    int axis = axis_of(a->axis, out->rank);
    (void)n_in;
    *offset = 0;
    for (int i = 0, k = 0; i < out->rank; i++)
        strides[i] = i != axis        ? in[0].strides[k++]
                     : k < in[0].rank ? in[0].dims[k] * in[0].strides[k]
                                      : 1;
    return true;
}

bool jn_view_squeeze(const jn_view *in, unsigned n_in, const void *attrs, const jn_type *out,
                     int64_t *strides, int64_t *offset) {
    const janus_squeeze_attrs *a = attrs;
    const jn_view *x = &in[0];
    bool named[JN_MAX_RANK] = {false};
    int o = 0;
    (void)n_in, (void)out;
    *offset = 0;
    for (size_t i = 0; i < a->axis.n && x->rank > 0; i++)
        named[axis_of(a->axis.data[i], x->rank)] = true;
    for (int i = 0; i < x->rank; i++) {
        if (x->dims[i] != 1 || (a->axis.n > 0 && !named[i]))
            strides[o++] = x->strides[i];
    }
    return true;
}

bool jn_view_slice(const jn_view *in, unsigned n_in, const void *attrs, const jn_type *out,
                   int64_t *strides, int64_t *offset) {
    const janus_slice_attrs *a = attrs;
    int axis = axis_of(a->axis, in[0].rank);
    int64_t first, n;
    (void)out;
    keep_strides(&in[0], strides, offset);
    jn_slice_bounds(in[0].dims[axis], scalar_at(in, n_in, 1), scalar_at(in, n_in, 2), a->step,
                    &first, &n);
    *offset = n == 0 ? 0 : first * in[0].strides[axis];
    strides[axis] = jn_slice_stride(in[0].dims[axis], in[0].strides[axis], a->step);
    return true;
}

/* False for an index out of range: the kernel says so. */
bool jn_view_select(const jn_view *in, unsigned n_in, const void *attrs, const jn_type *out,
                    int64_t *strides, int64_t *offset) {
    const janus_select_attrs *a = attrs;
    const jn_view *x = &in[0];
    int axis = axis_of(a->axis, x->rank);
    const int64_t *index = scalar_at(in, n_in, 1);
    (void)out;
    if (!index || *index < -x->dims[axis] || *index >= x->dims[axis])
        return false;
    *offset = (*index < 0 ? *index + x->dims[axis] : *index) * x->strides[axis];
    for (int i = 0, o = 0; i < x->rank; i++) {
        if (i != axis)
            strides[o++] = x->strides[i];
    }
    return true;
}
