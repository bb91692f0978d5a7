/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inference of ops that rearrange: views (reshape, slice, ...), copies (concat, pad, ...) and the
 * "like" ops that take their shape from an operand.
 */
#include "config.h"

#include "graph/base/checked.h"
#include "ops/infer/infer.h"
#include "ops/shape_rules.h"

#include <string.h>

#define LAST_ERROR() (janus_last_error()->code)

/* The wanted size of entry i of a shape attribute; *next is the next `sizes` operand. */
static janus_status shape_entry(jn_infer *c, janus_ints shape, size_t i, unsigned *next,
                                int64_t *out) {
    *out = shape.data[i];
    if (*out != JN_SHAPE_OPERAND)
        return JANUS_OK;
    if (*next >= c->n_in)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT,
                             "shape has more entries -2 than there are size operands");
    unsigned k = (*next)++;
    if (!jn_infer_const(c, k, out))
        *out = JN_SHAPE_OPERAND;
    else if (*out < -1)
        return jn_infer_fail(c, JANUS_SHAPE, "invalid size %lld", (long long)*out);
    return JANUS_OK;
}

static janus_status all_sizes_used(jn_infer *c, unsigned next) {
    if (next != c->n_in)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT,
                             "there are more size operands than entries -2 in shape");
    return JANUS_OK;
}

janus_status jn_infer_shape_attr(jn_infer *c, unsigned i, int dtype, janus_ints shape,
                                 unsigned first_size) {
    unsigned next = first_size;
    int64_t *d = jn_infer_tensor(c, i, dtype, (int)shape.n);
    if (!d)
        return LAST_ERROR();
    for (size_t k = 0; k < shape.n; k++) {
        JN_TRY(shape_entry(c, shape, k, &next, &d[k]));
        if (d[k] == JN_SHAPE_OPERAND)
            d[k] = JN_DIM_UNKNOWN;
        else if (d[k] < 0)
            return jn_infer_fail(c, JANUS_SHAPE, "invalid size %lld", (long long)d[k]);
    }
    return all_sizes_used(c, next);
}

/*
 * The size behind -1: with every other size known, known(x) / known(shape).  One unknown dim of x
 * carries over when the known sizes agree: [s0,4,8] as [-1,32] is [s0,32].
 */
static janus_status inferred_size(jn_infer *c, const jn_type *x, int64_t wanted, int64_t *out) {
    int64_t known = 1, unknown = 1;
    int n_unknown = 0;
    for (int i = 0; i < x->rank; i++) {
        if (x->dims[i] >= 0) {
            known = jn_dim_mul(known, x->dims[i]);
        } else {
            unknown = x->dims[i];
            n_unknown++;
        }
    }
    *out = JN_DIM_UNKNOWN;
    if (wanted < 0 || x->rank < 0)
        return JANUS_OK;
    if (n_unknown == 0) {
        if (wanted == 0 ? known != 0 : known % wanted != 0)
            return jn_infer_fail(c, JANUS_SHAPE,
                                 "%lld elements do not fit a shape with %lld per -1",
                                 (long long)known, (long long)wanted);
        if (wanted == 0)
            return jn_infer_fail(c, JANUS_SHAPE, "-1 is ambiguous in a shape without elements");
        *out = known / wanted;
    } else if (n_unknown == 1 && known == wanted && known != 0) {
        *out = unknown;
    }
    return JANUS_OK;
}

janus_status jn_infer_reshape(jn_infer *c) {
    const janus_reshape_attrs *a = c->attrs;
    const jn_type *x = c->in[0];
    unsigned next = 1;
    int at = -1;
    int64_t wanted = 1;
    int64_t *d = jn_infer_tensor(c, 0, x->dtype, (int)a->shape.n);
    if (!d)
        return LAST_ERROR();
    for (size_t i = 0; i < a->shape.n; i++) {
        JN_TRY(shape_entry(c, a->shape, i, &next, &d[i]));
        if (d[i] == -1) {
            if (at >= 0)
                return jn_infer_fail(c, JANUS_SHAPE, "only one size may be -1");
            at = (int)i;
            continue;
        }
        if (d[i] == JN_SHAPE_OPERAND)
            d[i] = JN_DIM_UNKNOWN;
        else if (d[i] < 0)
            return jn_infer_fail(c, JANUS_SHAPE, "invalid size %lld", (long long)d[i]);
        wanted = jn_dim_mul(wanted, d[i]);
    }
    JN_TRY(all_sizes_used(c, next));
    if (at >= 0)
        return inferred_size(c, x, wanted, &d[at]);
    int64_t have = jn_type_numel(x);
    if (have >= 0 && wanted >= 0 && have != wanted)
        return jn_infer_fail(c, JANUS_SHAPE, "%lld elements do not fit a shape of %lld",
                             (long long)have, (long long)wanted);
    return JANUS_OK;
}

janus_status jn_infer_transpose(jn_infer *c) {
    const janus_transpose_attrs *a = c->attrs;
    const jn_type *x = c->in[0];
    int i, j;
    if (x->rank < 0)
        return jn_infer_unknown(c, 0, x->dtype);
    JN_TRY(jn_infer_axis(c, a->dim0, x->rank, &i));
    JN_TRY(jn_infer_axis(c, a->dim1, x->rank, &j));
    JN_TRY(jn_infer_like(c, 0, x->dtype, x));
    int64_t *d = (int64_t *)c->out[0].dims;
    d[i] = x->dims[j];
    d[j] = x->dims[i];
    return JANUS_OK;
}

janus_status jn_infer_permute(jn_infer *c) {
    const janus_permute_attrs *a = c->attrs;
    const jn_type *x = c->in[0];
    bool seen[JN_MAX_RANK] = {false};
    if (x->rank >= 0 && a->dims.n != (size_t)x->rank)
        return jn_infer_fail(c, JANUS_SHAPE, "%zu dims given for a tensor of %d", a->dims.n,
                             x->rank);
    int rank = (int)a->dims.n;
    int64_t *d = jn_infer_tensor(c, 0, x->dtype, rank);
    if (!d)
        return LAST_ERROR();
    for (int i = 0; i < rank; i++) {
        int from;
        JN_TRY(jn_infer_axis(c, a->dims.data[i], rank, &from));
        if (seen[from])
            return jn_infer_fail(c, JANUS_SHAPE, "dim %d is given twice", from);
        seen[from] = true;
        d[i] = x->rank < 0 ? JN_DIM_UNKNOWN : x->dims[from];
    }
    return JANUS_OK;
}

janus_status jn_infer_expand(jn_infer *c) {
    const janus_expand_attrs *a = c->attrs;
    const jn_type *x = c->in[0];
    unsigned next = 1;
    int rank = (int)a->shape.n;
    if (x->rank > rank)
        return jn_infer_expected(c, JANUS_SHAPE, 0, "no more dims than shape has entries");
    int64_t *d = jn_infer_tensor(c, 0, x->dtype, rank);
    if (!d)
        return LAST_ERROR();
    for (int i = 0; i < rank; i++) {
        int at = x->rank < 0 ? -1 : i - (rank - x->rank);
        int64_t have = x->rank < 0 ? JN_DIM_UNKNOWN : at < 0 ? 1 : x->dims[at], want;
        JN_TRY(shape_entry(c, a->shape, (size_t)i, &next, &want));
        if (want == JN_SHAPE_OPERAND) {
            d[i] = have == 1 ? JN_DIM_UNKNOWN : have;
        } else if (want == -1) {
            if (at < 0 && x->rank >= 0)
                return jn_infer_fail(c, JANUS_SHAPE, "-1 cannot stand for a new dim");
            d[i] = have;
        } else if (have >= 0 && have != 1 && have != want) {
            return jn_infer_fail(c, JANUS_SHAPE, "dim of size %lld cannot be expanded to %lld",
                                 (long long)have, (long long)want);
        } else {
            d[i] = want;
        }
    }
    return all_sizes_used(c, next);
}

janus_status jn_infer_unsqueeze(jn_infer *c) {
    const janus_unsqueeze_attrs *a = c->attrs;
    const jn_type *x = c->in[0];
    int axis;
    if (x->rank < 0)
        return jn_infer_unknown(c, 0, x->dtype);
    JN_TRY(jn_infer_axis(c, a->axis, x->rank + 1, &axis));
    int64_t *d = jn_infer_tensor(c, 0, x->dtype, x->rank + 1);
    if (!d)
        return LAST_ERROR();
    for (int i = 0, k = 0; i <= x->rank; i++)
        d[i] = i == axis ? 1 : x->dims[k++];
    return JANUS_OK;
}

janus_status jn_infer_squeeze(jn_infer *c) {
    const janus_squeeze_attrs *a = c->attrs;
    const jn_type *x = c->in[0];
    bool set[JN_MAX_RANK];
    int rank = 0;
    if (x->rank < 0)
        return jn_infer_unknown(c, 0, x->dtype);
    JN_TRY(jn_infer_dim_set(c, a->axis, x->rank, set));
    for (int i = 0; i < x->rank; i++) {
        if (set[i] && x->dims[i] < 0)
            return jn_infer_unknown(c, 0, x->dtype); /* the rank depends on that size */
        set[i] = set[i] && x->dims[i] == 1;
        rank += !set[i];
    }
    int64_t *d = jn_infer_tensor(c, 0, x->dtype, rank);
    if (!d)
        return LAST_ERROR();
    for (int i = 0; i < x->rank; i++) {
        if (!set[i])
            *d++ = x->dims[i];
    }
    return JANUS_OK;
}

/* Size of x[start:stop:step]; unknown when a bound or the size is. */
static int64_t slice_size(jn_infer *c, int64_t size, unsigned start_at, unsigned stop_at,
                          int64_t step) {
    int64_t start = 0, stop = 0, first, n;
    bool has_start = jn_infer_has(c, start_at), has_stop = jn_infer_has(c, stop_at);
    bool know_start = !has_start || jn_infer_const(c, start_at, &start);
    bool know_stop = !has_stop || jn_infer_const(c, stop_at, &stop);
    if (know_start && start == 0 && !has_stop && step == 1)
        return size;
    if (!know_start || !know_stop || size < 0)
        return JN_DIM_UNKNOWN;
    jn_slice_bounds(size, has_start ? &start : NULL, has_stop ? &stop : NULL, step, &first, &n);
    return n;
}

static janus_status step_positive(jn_infer *c, int64_t step) {
    if (step <= 0)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT, "step must be positive, got %lld",
                             (long long)step);
    return JANUS_OK;
}

janus_status jn_infer_slice(jn_infer *c) {
    const janus_slice_attrs *a = c->attrs;
    const jn_type *x = c->in[0];
    int axis;
    JN_TRY(step_positive(c, a->step));
    if (x->rank < 0)
        return jn_infer_unknown(c, 0, x->dtype);
    JN_TRY(jn_infer_axis(c, a->axis, x->rank, &axis));
    JN_TRY(jn_infer_like(c, 0, x->dtype, x));
    ((int64_t *)c->out[0].dims)[axis] = slice_size(c, x->dims[axis], 1, 2, a->step);
    return JANUS_OK;
}

/* A constant index that is out of range is known to be wrong now. */
static janus_status check_index(jn_infer *c, unsigned operand, int64_t size) {
    int64_t i;
    if (size >= 0 && jn_infer_const(c, operand, &i) && (i < -size || i >= size))
        return jn_infer_fail(c, JANUS_INDEX, "index %lld is out of range for size %lld",
                             (long long)i, (long long)size);
    return JANUS_OK;
}

janus_status jn_infer_select(jn_infer *c) {
    const janus_select_attrs *a = c->attrs;
    const jn_type *x = c->in[0];
    int axis;
    if (x->rank < 0)
        return jn_infer_unknown(c, 0, x->dtype);
    JN_TRY(jn_infer_axis(c, a->axis, x->rank, &axis));
    JN_TRY(check_index(c, 1, x->dims[axis]));
    int64_t *d = jn_infer_tensor(c, 0, x->dtype, x->rank - 1);
    if (!d)
        return LAST_ERROR();
    for (int i = 0; i < x->rank; i++) {
        if (i != axis)
            *d++ = x->dims[i];
    }
    return JANUS_OK;
}

/* Operand `at` must have the dims of a part of x. */
static janus_status part_fits(jn_infer *c, unsigned at, const int64_t *want, int rank) {
    const jn_type *src = c->in[at];
    if (src->rank < 0)
        return JANUS_OK;
    bool ok = src->rank == rank;
    for (int i = 0; ok && i < rank; i++) {
        int64_t merged;
        ok = jn_dim_merge(want[i], src->dims[i], &merged);
    }
    return ok ? JANUS_OK
              : jn_infer_expected(c, JANUS_SHAPE, at, "the shape of the part that it stands for");
}

/* The part of x between operands `start` and the one behind it, which operand `at` stands for. */
static janus_status slice_fits(jn_infer *c, const jn_type *x, unsigned at, unsigned start,
                               int64_t axis, int64_t step) {
    int64_t want[JN_MAX_RANK];
    int d;
    JN_TRY(step_positive(c, step));
    if (x->rank < 0)
        return JANUS_OK;
    JN_TRY(jn_infer_axis(c, axis, x->rank, &d));
    memcpy(want, x->dims, (size_t)x->rank * sizeof *want);
    want[d] = slice_size(c, x->dims[d], start, start + 1, step);
    return part_fits(c, at, want, x->rank);
}

/* The same of x[operand `index`]. */
static janus_status select_fits(jn_infer *c, const jn_type *x, unsigned at, unsigned index,
                                int64_t axis) {
    int64_t want[JN_MAX_RANK];
    int d, n = 0;
    if (x->rank < 0)
        return JANUS_OK;
    JN_TRY(jn_infer_axis(c, axis, x->rank, &d));
    JN_TRY(check_index(c, index, x->dims[d]));
    for (int i = 0; i < x->rank; i++) {
        if (i != d)
            want[n++] = x->dims[i];
    }
    return part_fits(c, at, want, n);
}

janus_status jn_infer_slice_scatter(jn_infer *c) {
    const janus_slice_scatter_attrs *a = c->attrs;
    JN_TRY(slice_fits(c, c->in[0], 1, 2, a->axis, a->step));
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[0]);
}

janus_status jn_infer_slice_grad(jn_infer *c) {
    const janus_slice_grad_attrs *a = c->attrs;
    JN_TRY(slice_fits(c, c->in[3], 0, 1, a->axis, a->step));
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[3]);
}

janus_status jn_infer_select_scatter(jn_infer *c) {
    const janus_select_scatter_attrs *a = c->attrs;
    JN_TRY(select_fits(c, c->in[0], 1, 2, a->axis));
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[0]);
}

janus_status jn_infer_select_grad(jn_infer *c) {
    const janus_select_grad_attrs *a = c->attrs;
    JN_TRY(select_fits(c, c->in[2], 0, 1, a->axis));
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[2]);
}

/* Shape of operand 1, dtype of operand 0. */
static janus_status like1(jn_infer *c) { return jn_infer_like(c, 0, c->in[0]->dtype, c->in[1]); }

janus_status jn_infer_shaped_like(jn_infer *c) {
    const jn_type *x = c->in[0], *like = c->in[1], *small = x, *large = like;
    if (c->op->id == JN_OP_ID_reshape_like) {
        int64_t a = jn_type_numel(x), b = jn_type_numel(like);
        if (a >= 0 && b >= 0 && a != b)
            return jn_infer_fail(c, JANUS_SHAPE, "%lld elements do not fit a shape of %lld",
                                 (long long)a, (long long)b);
        return like1(c);
    }
    if (c->op->id == JN_OP_ID_sum_like) {
        small = like;
        large = x;
    }
    /* small broadcasts to large */
    bool ok = small->rank < 0 || large->rank < 0 || small->rank <= large->rank;
    for (int i = 0; ok && i < small->rank && large->rank >= 0; i++) {
        int64_t s = small->dims[i], l = large->dims[i + large->rank - small->rank];
        ok = s == 1 || s < 0 || l < 0 || s == l;
    }
    if (!ok)
        return jn_infer_expected(c, JANUS_SHAPE, 0,
                                 c->op->id == JN_OP_ID_sum_like
                                     ? "a shape that 'like' broadcasts to"
                                     : "a shape that broadcasts to that of 'like'");
    return like1(c);
}

static janus_status check_dtypes(jn_infer *c) {
    if (c->n_in == 0)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT, "at least one tensor is needed");
    for (unsigned i = 1; i < c->n_in; i++) {
        if (c->in[i]->dtype != c->in[0]->dtype)
            return jn_infer_expected(c, JANUS_DTYPE, i, jn_dtype_name(c->in[0]->dtype));
    }
    return JANUS_OK;
}

janus_status jn_infer_concat(jn_infer *c) {
    const janus_concat_attrs *a = c->attrs;
    const jn_type *first = NULL;
    int axis;
    JN_TRY(check_dtypes(c));
    for (unsigned i = 0; i < c->n_in && !first; i++)
        first = c->in[i]->rank >= 0 ? c->in[i] : NULL;
    if (!first)
        return jn_infer_unknown(c, 0, c->in[0]->dtype);
    JN_TRY(jn_infer_axis(c, a->axis, first->rank, &axis));
    JN_TRY(jn_infer_like(c, 0, first->dtype, first));
    int64_t *d = (int64_t *)c->out[0].dims, sum = 0;
    for (unsigned i = 0; i < c->n_in; i++) {
        const jn_type *t = c->in[i];
        if (t->rank < 0) {
            sum = JN_DIM_UNKNOWN;
            continue;
        }
        if (t->rank != first->rank)
            return jn_infer_expected(c, JANUS_SHAPE, i, "as many dims as the first has");
        for (int k = 0; k < t->rank; k++) {
            if (k != axis && !jn_dim_merge(d[k], t->dims[k], &d[k]))
                return jn_infer_expected(c, JANUS_SHAPE, i, "sizes equal but along axis");
        }
        sum = sum == JN_DIM_UNKNOWN ? sum : jn_dim_add(sum, t->dims[axis]);
    }
    d[axis] = sum;
    return JANUS_OK;
}

janus_status jn_infer_stack(jn_infer *c) {
    const janus_stack_attrs *a = c->attrs;
    const jn_type *first = NULL;
    int axis;
    JN_TRY(check_dtypes(c));
    for (unsigned i = 0; i < c->n_in && !first; i++)
        first = c->in[i]->rank >= 0 ? c->in[i] : NULL;
    if (!first)
        return jn_infer_unknown(c, 0, c->in[0]->dtype);
    JN_TRY(jn_infer_axis(c, a->axis, first->rank + 1, &axis));
    int64_t *d = jn_infer_tensor(c, 0, first->dtype, first->rank + 1);
    if (!d)
        return LAST_ERROR();
    for (int i = 0, k = 0; i <= first->rank; i++)
        d[i] = i == axis ? (int64_t)c->n_in : first->dims[k++];
    for (unsigned i = 0; i < c->n_in; i++) {
        const jn_type *t = c->in[i];
        bool ok = t->rank < 0 || t->rank == first->rank;
        for (int k = 0; ok && k < t->rank; k++) {
            int64_t *at = &d[k < axis ? k : k + 1];
            ok = jn_dim_merge(*at, t->dims[k], at);
        }
        if (!ok)
            return jn_infer_expected(c, JANUS_SHAPE, i, "the shape of the first");
    }
    return JANUS_OK;
}

janus_status jn_infer_pad(jn_infer *c) {
    const janus_pad_attrs *a = c->attrs;
    const jn_type *x = c->in[0];
    if (a->before.n != a->after.n || (x->rank >= 0 && a->before.n != (size_t)x->rank))
        return jn_infer_fail(c, JANUS_SHAPE, "before and after need one entry per dim");
    int rank = (int)a->before.n;
    int64_t *d = jn_infer_tensor(c, 0, x->dtype, rank);
    if (!d)
        return LAST_ERROR();
    for (int i = 0; i < rank; i++) {
        int64_t have = x->rank < 0 ? JN_DIM_UNKNOWN : x->dims[i];
        if (a->before.data[i] == 0 && a->after.data[i] == 0) {
            d[i] = have;
        } else if (have < 0) {
            d[i] = JN_DIM_UNKNOWN;
        } else {
            int64_t front, back;
            if (!jn_add_i64(have, a->before.data[i], &front) ||
                !jn_add_i64(have, a->after.data[i], &back) ||
                !jn_add_i64(front, a->after.data[i], &d[i]))
                return jn_infer_fail(c, JANUS_SHAPE, "dim %d is too large", i);
            if (d[i] < 0 || front < 0 || back < 0)
                return jn_infer_fail(c, JANUS_SHAPE, "dim %d of size %lld is cropped away", i,
                                     (long long)have);
        }
    }
    return JANUS_OK;
}

janus_status jn_infer_dims_same(jn_infer *c) {
    const janus_flip_attrs *a = c->attrs;
    bool set[JN_MAX_RANK];
    if (c->in[0]->rank >= 0)
        JN_TRY(jn_infer_dim_set(c, a->dims, c->in[0]->rank, set));
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[0]);
}

janus_status jn_infer_roll(jn_infer *c) {
    const janus_roll_attrs *a = c->attrs;
    bool set[JN_MAX_RANK];
    if ((a->dims.n == 0 ? a->shifts.n != 1 : a->shifts.n != a->dims.n) || a->shifts.n > JN_MAX_RANK)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT, "one shift per dim is needed");
    if (c->in[0]->rank >= 0)
        JN_TRY(jn_infer_dim_set(c, a->dims, c->in[0]->rank, set));
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[0]);
}

janus_status jn_infer_matrix_same(jn_infer *c) {
    if (c->in[0]->rank == 0 || c->in[0]->rank == 1)
        return jn_infer_expected(c, JANUS_SHAPE, 0, "at least 2 dims");
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[0]);
}

janus_status jn_infer_diag(jn_infer *c) {
    const janus_diag_attrs *a = c->attrs;
    const jn_type *x = c->in[0];
    int64_t k = a->diagonal, above = 0;
    if (k == INT64_MIN) /* as far from every element as one more */
        k++;
    if (x->rank < 0)
        return jn_infer_unknown(c, 0, x->dtype);
    if (x->rank != 1 && x->rank != 2)
        return jn_infer_expected(c, JANUS_SHAPE, 0, "1 or 2 dims");
    int64_t *d = jn_infer_tensor(c, 0, x->dtype, 3 - x->rank);
    if (!d)
        return LAST_ERROR();
    if (x->rank == 1) {
        if (x->dims[0] >= 0 && !jn_add_i64(x->dims[0], k < 0 ? -k : k, &above))
            return jn_infer_fail(c, JANUS_SHAPE, "diagonal %lld is out of range", (long long)k);
        d[0] = d[1] = jn_dim_add(x->dims[0], k < 0 ? -k : k);
        return JANUS_OK;
    }
    int64_t rows = x->dims[0], cols = x->dims[1];
    if (rows < 0 || cols < 0) {
        d[0] = JN_DIM_UNKNOWN;
        return JANUS_OK;
    }
    if (k < 0)
        rows += k;
    else
        cols -= k;
    d[0] = rows < cols ? rows : cols;
    if (d[0] < 0)
        d[0] = 0;
    return JANUS_OK;
}

janus_status jn_infer_repeat(jn_infer *c) {
    const janus_repeat_attrs *a = c->attrs;
    const jn_type *x = c->in[0];
    int rank = (int)a->repeats.n;
    if (x->rank > rank)
        return jn_infer_fail(c, JANUS_SHAPE, "%zu repeats for a tensor of %d dims", a->repeats.n,
                             x->rank);
    int64_t *d = jn_infer_tensor(c, 0, x->dtype, rank);
    if (!d)
        return LAST_ERROR();
    for (int i = 0; i < rank; i++) {
        int at = x->rank < 0 ? -1 : i - (rank - x->rank);
        int64_t have = x->rank < 0 ? JN_DIM_UNKNOWN : at < 0 ? 1 : x->dims[at];
        if (a->repeats.data[i] < 0)
            return jn_infer_fail(c, JANUS_SHAPE, "a repeat count is negative");
        d[i] = jn_dim_mul(have, a->repeats.data[i]);
    }
    return JANUS_OK;
}
