/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inference of indexing ops.  Whether indices are in range is the kernels' business; here only
 * shapes are.
 */
#include "config.h"

#include "ops/index_rules.h"
#include "ops/infer/infer.h"

#define LAST_ERROR() (janus_last_error()->code)

/* index has as many dims as x and, but along axis, no larger ones. */
static janus_status check_gather(jn_infer *c, int64_t axis_attr, bool smaller) {
    const jn_type *x = c->in[0], *index = c->in[1];
    int axis;
    if (x->rank < 0)
        return JANUS_OK;
    if (x->rank > 0)
        JN_TRY(jn_infer_axis(c, axis_attr, x->rank, &axis));
    else
        axis = 0;
    if (index->rank < 0)
        return JANUS_OK;
    if (index->rank != x->rank)
        return jn_infer_expected(c, JANUS_SHAPE, 1, "as many dims as x has");
    for (int i = 0; smaller && i < x->rank; i++) {
        if (i != axis && x->dims[i] >= 0 && index->dims[i] > x->dims[i])
            return jn_infer_expected(c, JANUS_SHAPE, 1, "sizes not above those of x");
    }
    return JANUS_OK;
}

janus_status jn_infer_gather(jn_infer *c) {
    const janus_gather_attrs *a = c->attrs;
    JN_TRY(check_gather(c, a->axis, true));
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[1]);
}

janus_status jn_infer_scatter(jn_infer *c) {
    const janus_scatter_attrs *a = c->attrs; /* scatter_add's is alike */
    const jn_type *index = c->in[1], *src = c->in[2];
    JN_TRY(check_gather(c, a->axis, true));
    bool ok = index->rank < 0 || src->rank < 0 || index->rank == src->rank;
    for (int i = 0; ok && i < index->rank && src->rank >= 0; i++)
        ok = index->dims[i] < 0 || src->dims[i] < 0 || index->dims[i] <= src->dims[i];
    if (!ok)
        return jn_infer_expected(c, JANUS_SHAPE, 2, "the shape of index or larger");
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[0]);
}

janus_status jn_infer_index_select(jn_infer *c) {
    const janus_index_select_attrs *a = c->attrs;
    const jn_type *x = c->in[0], *index = c->in[1];
    int axis;
    JN_TRY(jn_infer_want_rank(c, 1, 1, "1 dim"));
    if (x->rank < 0)
        return jn_infer_unknown(c, 0, x->dtype);
    JN_TRY(jn_infer_axis(c, a->axis, x->rank, &axis));
    JN_TRY(jn_infer_like(c, 0, x->dtype, x));
    ((int64_t *)c->out[0].dims)[axis] = index->rank < 0 ? JN_DIM_UNKNOWN : index->dims[0];
    return JANUS_OK;
}

janus_status jn_infer_index_add(jn_infer *c) {
    const janus_index_add_attrs *a = c->attrs;
    const jn_type *x = c->in[0], *index = c->in[1], *src = c->in[2];
    int axis;
    JN_TRY(jn_infer_want_rank(c, 1, 1, "1 dim"));
    if (x->rank >= 0 && src->rank >= 0) {
        JN_TRY(jn_infer_axis(c, a->axis, x->rank, &axis));
        bool ok = src->rank == x->rank;
        for (int i = 0; ok && i < x->rank; i++) {
            int64_t want = i != axis ? x->dims[i] : index->rank < 0 ? -1 : index->dims[0], m;
            ok = jn_dim_merge(want, src->dims[i], &m);
        }
        if (!ok)
            return jn_infer_expected(c, JANUS_SHAPE, 2, "the shape of x with size n along axis");
    }
    return jn_infer_like(c, 0, x->dtype, x);
}

janus_status jn_infer_embedding(jn_infer *c) {
    const jn_type *w = c->in[0], *index = c->in[1];
    JN_TRY(jn_infer_want_rank(c, 0, 2, "2 dims"));
    if (index->rank < 0)
        return jn_infer_unknown(c, 0, w->dtype);
    int64_t *d = jn_infer_tensor(c, 0, w->dtype, index->rank + 1);
    if (!d)
        return LAST_ERROR();
    for (int i = 0; i < index->rank; i++)
        d[i] = index->dims[i];
    d[index->rank] = w->rank < 0 ? JN_DIM_UNKNOWN : w->dims[1];
    return JANUS_OK;
}

janus_status jn_infer_embedding_grad(jn_infer *c) {
    const jn_type *w = c->in[2], *index = c->in[1];
    int64_t dims[JN_MAX_RANK];
    JN_TRY(jn_infer_want_rank(c, 2, 2, "2 dims"));
    if (index->rank >= JN_MAX_RANK)
        return jn_infer_expected(c, JANUS_SHAPE, 1, "one dim less than tensors may have");
    for (int i = 0; i < index->rank; i++)
        dims[i] = index->dims[i];
    if (index->rank >= 0)
        dims[index->rank] = w->rank < 0 ? JN_DIM_UNKNOWN : w->dims[1];
    JN_TRY(jn_infer_want_dims(c, 0, index->rank < 0 ? -1 : index->rank + 1, dims,
                              "a row of weight per index"));
    return jn_infer_like(c, 0, c->in[0]->dtype, w);
}

/* Dims of x[i0, i1, ...] into result i's place or, for index_put, `part` (returns its rank; -1
 * unknown). */
static janus_status index_dims(jn_infer *c, unsigned first, janus_ints axes, int64_t *part,
                               int *out_rank) {
    const jn_type *x = c->in[0];
    unsigned n = c->n_in - first;
    bool indexed[JN_MAX_RANK];
    int at, brank = 0, rank = 0;
    int64_t bdims[JN_MAX_RANK];
    *out_rank = -1;
    if (n == 0 || n != axes.n)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT, "%u index tensors for %zu axes", n, axes.n);
    if (x->rank < 0)
        return JANUS_OK;
    if (!jn_index_layout(axes, x->rank, indexed, &at))
        return jn_infer_fail(c, JANUS_INDEX, "axes are out of range or given twice");
    for (unsigned k = 0; k < n; k++) {
        const jn_type *t = c->in[first + k];
        if (t->rank < 0)
            return JANUS_OK;
        brank = t->rank > brank ? t->rank : brank;
    }
    for (int d = 0; d < brank; d++) {
        bdims[d] = 1;
        for (unsigned k = 0; k < n; k++) {
            const jn_type *t = c->in[first + k];
            int i = d - (brank - t->rank);
            if (i >= 0 && !jn_dim_broadcast(bdims[d], t->dims[i], &bdims[d]))
                return jn_infer_expected(c, JANUS_SHAPE, first + k,
                                         "a shape that broadcasts with the other indices");
        }
    }
    if (x->rank - (int)n + brank > JN_MAX_RANK)
        return jn_infer_fail(c, JANUS_SHAPE, "result would have more than %d dims", JN_MAX_RANK);
    for (int i = 0; i <= x->rank; i++) {
        if (i == at) {
            for (int d = 0; d < brank; d++)
                part[rank++] = bdims[d];
        }
        if (i < x->rank && !indexed[i])
            part[rank++] = x->dims[i];
    }
    *out_rank = rank;
    return JANUS_OK;
}

janus_status jn_infer_index(jn_infer *c) {
    const janus_index_attrs *a = c->attrs;
    int64_t dims[JN_MAX_RANK];
    int rank;
    JN_TRY(index_dims(c, 1, a->axes, dims, &rank));
    return jn_infer_dims(c, 0, c->in[0]->dtype, rank, dims);
}

janus_status jn_infer_index_put(jn_infer *c) {
    const janus_index_put_attrs *a = c->attrs;
    const jn_type *src = c->in[1];
    int64_t dims[JN_MAX_RANK];
    int rank;
    JN_TRY(index_dims(c, 2, a->axes, dims, &rank));
    bool ok = rank < 0 || src->rank < 0 || src->rank <= rank;
    for (int i = 0; ok && rank >= 0 && i < src->rank; i++) {
        int64_t s = src->dims[i], d = dims[i + rank - src->rank];
        ok = s == 1 || s < 0 || d < 0 || s == d;
    }
    if (!ok)
        return jn_infer_expected(c, JANUS_SHAPE, 1, "a shape that broadcasts to the indexed part");
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[0]);
}

janus_status jn_infer_nonzero(jn_infer *c) {
    const jn_type *x = c->in[0];
    int64_t *d = jn_infer_tensor(c, 0, JANUS_I64, 2);
    if (!d)
        return LAST_ERROR();
    d[0] = jn_type_numel(x) >= 0 ? jn_type_numel(x) : JN_DIM_UNKNOWN;
    d[1] = x->rank >= 0 ? x->rank : JN_DIM_UNKNOWN;
    return jn_infer_dims(c, 1, JANUS_I64, 0, NULL);
}

janus_status jn_infer_masked_select(jn_infer *c) {
    const jn_type *x = c->in[0], *mask = c->in[1];
    bool ok = x->rank < 0 || mask->rank < 0 || x->rank == mask->rank;
    for (int i = 0; ok && i < x->rank && mask->rank >= 0; i++) {
        int64_t m;
        ok = jn_dim_merge(x->dims[i], mask->dims[i], &m);
    }
    if (!ok)
        return jn_infer_expected(c, JANUS_SHAPE, 1, "the shape of x");
    int64_t *d = jn_infer_tensor(c, 0, x->dtype, 1);
    if (!d)
        return LAST_ERROR();
    d[0] = jn_type_numel(x) >= 0 ? jn_type_numel(x) : JN_DIM_UNKNOWN;
    return jn_infer_dims(c, 1, JANUS_I64, 0, NULL);
}

janus_status jn_infer_one_hot(jn_infer *c) {
    const janus_one_hot_attrs *a = c->attrs;
    const jn_type *x = c->in[0];
    if (a->num_classes <= 0)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT, "num_classes must be positive");
    if (x->rank < 0)
        return jn_infer_unknown(c, 0, JANUS_I64);
    int64_t *d = jn_infer_tensor(c, 0, JANUS_I64, x->rank + 1);
    if (!d)
        return LAST_ERROR();
    for (int i = 0; i < x->rank; i++)
        d[i] = x->dims[i];
    d[x->rank] = a->num_classes;
    return JANUS_OK;
}

static janus_status check_axis(jn_infer *c, int64_t axis_attr) {
    int axis, rank = c->in[0]->rank;
    if (rank > 0 || (rank == 0 && axis_attr != 0 && axis_attr != -1))
        JN_TRY(jn_infer_axis(c, axis_attr, rank, &axis));
    return JANUS_OK;
}

janus_status jn_infer_sort(jn_infer *c) {
    const janus_sort_attrs *a = c->attrs;
    JN_TRY(check_axis(c, a->axis));
    JN_TRY(jn_infer_like(c, 0, c->in[0]->dtype, c->in[0]));
    return jn_infer_like(c, 1, JANUS_I64, c->in[0]);
}

janus_status jn_infer_argsort(jn_infer *c) {
    const janus_argsort_attrs *a = c->attrs;
    JN_TRY(check_axis(c, a->axis));
    return jn_infer_like(c, 0, JANUS_I64, c->in[0]);
}

janus_status jn_infer_topk(jn_infer *c) {
    const janus_topk_attrs *a = c->attrs;
    const jn_type *x = c->in[0];
    int axis = 0;
    JN_TRY(check_axis(c, a->axis));
    for (unsigned i = 0; i < 2; i++)
        JN_TRY(jn_infer_like(c, i, i ? JANUS_I64 : x->dtype, x));
    if (x->rank > 0)
        JN_TRY(jn_infer_axis(c, a->axis, x->rank, &axis));
    int64_t size = x->rank > 0 ? x->dims[axis] : x->rank == 0 ? 1 : JN_DIM_UNKNOWN;
    if (a->k < 0 || (size >= 0 && a->k > size) || (x->rank == 0 && a->k != 1))
        return jn_infer_fail(c, JANUS_INDEX, "k %lld is out of range for size %lld",
                             (long long)a->k, (long long)size);
    for (unsigned i = 0; i < 2 && x->rank > 0; i++)
        ((int64_t *)c->out[i].dims)[axis] = a->k;
    return JANUS_OK;
}
