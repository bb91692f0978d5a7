/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reference kernels of indexing and sorting.  An index out of range sets JN_KFLAG_INDEX; what it
 * would have read is zero, what it would have written is not.
 */
#include "config.h"

#include "graph/base/alloc.h"
#include "ops/index_rules.h"
#include "ops/ref/ref.h"

#include <math.h>

static void copy_all(const jn_view *y, const jn_view *x) {
    jn_walk w;
    jn_walk_init(&w, y->rank, y->dims);
    jn_walk_add(&w, x);
    jn_walk_add(&w, y);
    JN_WALK(&w)
    jn_copy_element(y, w.off[1], x, w.off[0]);
}

/* Offset of `at` in v with entry `axis` replaced by i. */
static int64_t offset_along(const jn_view *v, const int64_t *at, int axis, int64_t i) {
    int64_t o = 0;
    for (int d = 0; d < v->rank; d++)
        o += (d == axis ? i : at[d]) * v->strides[d];
    return o;
}

static void k_gather(const jn_kargs *k) {
    const janus_gather_attrs *a = k->attrs;
    const jn_view *x = &k->in[0], *y = &k->out[0];
    int axis = jn_axis(a->axis, x->rank);
    jn_walk w;
    jn_walk_init(&w, y->rank, y->dims);
    jn_walk_add(&w, &k->in[1]);
    jn_walk_add(&w, y);
    JN_WALK(&w) {
        int64_t i = jn_load_i(&k->in[1], w.off[0]);
        if (jn_check_index_from_start(k, &i, jn_line_size(x, axis)))
            jn_copy_element(y, w.off[1], x, offset_along(x, w.idx, axis, i));
        else
            jn_store_i(y, w.off[1], 0);
    }
}

static void scatter(const jn_kargs *k, int64_t axis_attr, bool add) {
    const jn_view *index = &k->in[1], *src = &k->in[2], *y = &k->out[0];
    int axis = jn_axis(axis_attr, y->rank);
    jn_walk w;
    copy_all(y, &k->in[0]);
    jn_walk_init(&w, index->rank, index->dims);
    jn_walk_add(&w, index);
    jn_walk_add_strides(&w, src->strides, 0);
    JN_WALK(&w) {
        int64_t i = jn_load_i(index, w.off[0]);
        if (!jn_check_index_from_start(k, &i, jn_line_size(y, axis)))
            continue;
        int64_t to = offset_along(y, w.idx, axis, i);
        if (add)
            jn_add_element(y, to, src, w.off[1]);
        else
            jn_copy_element(y, to, src, w.off[1]);
    }
}
static void k_scatter(const jn_kargs *k) {
    scatter(k, ((const janus_scatter_attrs *)k->attrs)->axis, false);
}
static void k_scatter_add(const jn_kargs *k) {
    scatter(k, ((const janus_scatter_add_attrs *)k->attrs)->axis, true);
}

/* Those of operand 1, [n]: looked at also where there is nothing to be moved. */
static void check_indices(const jn_kargs *k, int64_t size) {
    for (int64_t j = 0; j < jn_numel(&k->in[1]); j++) {
        int64_t i = jn_load_i(&k->in[1], j * k->in[1].strides[0]);
        (void)jn_check_index_from_start(k, &i, size);
    }
}

static void k_index_select(const jn_kargs *k) {
    const janus_index_select_attrs *a = k->attrs;
    const jn_view *x = &k->in[0], *y = &k->out[0];
    int axis = jn_axis(a->axis, x->rank);
    jn_walk w;
    check_indices(k, x->dims[axis]);
    jn_walk_init(&w, y->rank, y->dims);
    jn_walk_add(&w, y);
    JN_WALK(&w) {
        int64_t i = jn_load_i(&k->in[1], w.idx[axis] * k->in[1].strides[0]);
        if (jn_check_index_from_start(k, &i, x->dims[axis]))
            jn_copy_element(y, w.off[0], x, offset_along(x, w.idx, axis, i));
        else
            jn_store_i(y, w.off[0], 0);
    }
}

static void k_index_add(const jn_kargs *k) {
    const janus_index_add_attrs *a = k->attrs;
    const jn_view *src = &k->in[2], *y = &k->out[0];
    int axis = jn_axis(a->axis, y->rank);
    jn_walk w;
    copy_all(y, &k->in[0]);
    jn_walk_init(&w, src->rank, src->dims);
    jn_walk_add(&w, src);
    JN_WALK(&w) {
        int64_t i = jn_load_i(&k->in[1], w.idx[axis] * k->in[1].strides[0]);
        if (jn_check_index_from_start(k, &i, y->dims[axis]))
            jn_add_element(y, offset_along(y, w.idx, axis, i), src, w.off[0]);
    }
}

static void k_embedding(const jn_kargs *k) {
    const jn_view *weight = &k->in[0], *index = &k->in[1], *y = &k->out[0];
    jn_walk w;
    jn_walk_init(&w, index->rank, index->dims); /* also where rows have no elements */
    jn_walk_add(&w, index);
    JN_WALK(&w) {
        int64_t i = jn_load_i(index, w.off[0]);
        (void)jn_check_index_from_start(k, &i, weight->dims[0]);
    }
    jn_walk_init(&w, y->rank, y->dims);
    jn_walk_add(&w, y);
    JN_WALK(&w) {
        int64_t i = jn_load_i(index, jn_offset(index, w.idx));
        if (jn_check_index_from_start(k, &i, weight->dims[0]))
            jn_copy_element(y, w.off[0], weight,
                            i * weight->strides[0] + w.idx[index->rank] * weight->strides[1]);
        else
            jn_store_i(y, w.off[0], 0);
    }
}

static void k_embedding_grad(const jn_kargs *k) {
    const janus_embedding_grad_attrs *a = k->attrs;
    const jn_view *dy = &k->in[0], *index = &k->in[1], *y = &k->out[0];
    jn_walk w;
    if (!k->accumulate)
        jn_zero(y);
    jn_walk_init(&w, dy->rank, dy->dims);
    jn_walk_add(&w, dy);
    JN_WALK(&w) {
        int64_t i = jn_load_i(index, jn_offset(index, w.idx));
        if (jn_check_index(k, &i, y->dims[0]) && i != a->padding_idx)
            jn_add_element(y, i * y->strides[0] + w.idx[index->rank] * y->strides[1], dy, w.off[0]);
    }
}

/* Offset in x (in y of index_put) of the element that index `at` of the indexed part stands for;
 * false when an index is out of range. */
static bool indexed_offset(const jn_kargs *k, const jn_view *x, unsigned first, janus_ints axes,
                           const int64_t *at, int64_t *out) {
    bool indexed[JN_MAX_RANK];
    int place, brank = 0, n = 0;
    int64_t o = 0;
    jn_index_layout(axes, x->rank, indexed, &place);
    for (size_t d = 0; d < axes.n; d++)
        brank = k->in[first + d].rank > brank ? k->in[first + d].rank : brank;
    for (size_t d = 0; d < axes.n; d++) {
        const jn_view *t = &k->in[first + d];
        int axis = jn_axis(axes.data[d], x->rank);
        int64_t from = 0;
        for (int i = 0; i < t->rank; i++)
            from += t->dims[i] == 1 ? 0 : at[place + brank - t->rank + i] * t->strides[i];
        int64_t i = jn_load_i(t, from);
        if (!jn_check_index(k, &i, x->dims[axis]))
            return false;
        o += i * x->strides[axis];
    }
    for (int i = 0; i < x->rank; i++) {
        if (n == place)
            n += brank;
        if (!indexed[i])
            o += at[n++] * x->strides[i];
    }
    *out = o;
    return true;
}

static void k_index(const jn_kargs *k) {
    const janus_index_attrs *a = k->attrs;
    const jn_view *y = &k->out[0];
    jn_walk w;
    jn_walk_init(&w, y->rank, y->dims);
    jn_walk_add(&w, y);
    JN_WALK(&w) {
        int64_t from;
        if (indexed_offset(k, &k->in[0], 1, a->axes, w.idx, &from))
            jn_copy_element(y, w.off[0], &k->in[0], from);
        else
            jn_store_i(y, w.off[0], 0);
    }
}

static void k_index_put(const jn_kargs *k) {
    const janus_index_put_attrs *a = k->attrs;
    const jn_view *y = &k->out[0], *src = &k->in[1];
    bool indexed[JN_MAX_RANK];
    int64_t dims[JN_MAX_RANK];
    int place, brank = 0, rank = 0;
    jn_walk w;
    copy_all(y, &k->in[0]);
    jn_index_layout(a->axes, y->rank, indexed, &place);
    for (size_t d = 0; d < a->axes.n; d++)
        brank = k->in[2 + d].rank > brank ? k->in[2 + d].rank : brank;
    for (int i = 0; i <= y->rank; i++) {
        for (int b = 0; i == place && b < brank; b++) {
            int64_t size = 1;
            for (size_t d = 0; d < a->axes.n; d++) {
                const jn_view *t = &k->in[2 + d];
                int from = b - (brank - t->rank);
                if (from >= 0 && t->dims[from] != 1)
                    size = t->dims[from];
            }
            dims[rank++] = size;
        }
        if (i < y->rank && !indexed[i])
            dims[rank++] = y->dims[i];
    }
    jn_walk_init(&w, rank, dims);
    jn_walk_add(&w, src);
    JN_WALK(&w) {
        int64_t to;
        if (!indexed_offset(k, y, 2, a->axes, w.idx, &to))
            continue;
        if (a->accumulate)
            jn_add_element(y, to, src, w.off[0]);
        else
            jn_copy_element(y, to, src, w.off[0]);
    }
}

static void k_nonzero(const jn_kargs *k) {
    const jn_view *x = &k->in[0], *y = &k->out[0];
    int64_t n = 0;
    jn_walk w;
    jn_zero(y);
    jn_walk_init(&w, x->rank, x->dims);
    jn_walk_add(&w, x);
    JN_WALK(&w) {
        if (jn_load_f(x, w.off[0]) == 0)
            continue;
        for (int i = 0; i < x->rank; i++)
            jn_store_i(y, n * y->strides[0] + i * y->strides[1], w.idx[i]);
        n++;
    }
    jn_store_i(&k->out[1], 0, n);
}

static void k_masked_select(const jn_kargs *k) {
    const jn_view *x = &k->in[0], *mask = &k->in[1], *y = &k->out[0];
    int64_t n = 0;
    jn_walk w;
    jn_zero(y);
    jn_walk_init(&w, x->rank, x->dims);
    jn_walk_add(&w, x);
    jn_walk_add(&w, mask);
    JN_WALK(&w) {
        if (jn_load_i(mask, w.off[1]))
            jn_copy_element(y, n++ * y->strides[0], x, w.off[0]);
    }
    jn_store_i(&k->out[1], 0, n);
}

static void k_one_hot(const jn_kargs *k) {
    const janus_one_hot_attrs *a = k->attrs;
    const jn_view *index = &k->in[0], *y = &k->out[0];
    jn_walk w;
    jn_zero(y);
    jn_walk_init(&w, index->rank, index->dims);
    jn_walk_add(&w, index);
    jn_walk_add_strides(&w, y->strides, 0);
    JN_WALK(&w) {
        int64_t i = jn_load_i(index, w.off[0]);
        if (i < 0 || i >= a->num_classes)
            *k->flags |= JN_KFLAG_INDEX;
        else
            jn_store_i(y, w.off[1] + i * y->strides[index->rank], 1);
    }
}

/* ---- sorting -----------------------------------------------------------------------------------
 */

/* Whether element a comes strictly before b; NaN is larger than everything. */
static bool before(const jn_view *x, int64_t a, int64_t b, bool descending) {
    if (descending) {
        int64_t t = a;
        a = b;
        b = t;
    }
    if (!jn_is_float(x))
        return jn_load_i(x, a) < jn_load_i(x, b);
    double fa = jn_load_f(x, a), fb = jn_load_f(x, b);
    return fa < fb || (isnan(fb) && !isnan(fa));
}

/* Stable merge sort of positions along a line; tmp has n entries. */
static void sort_line(const jn_view *x, int64_t o, int64_t stride, int64_t *at, int64_t *tmp,
                      int64_t n, bool descending) {
    if (n < 2)
        return;
    int64_t half = n / 2, i = 0, j = half;
    sort_line(x, o, stride, at, tmp, half, descending);
    sort_line(x, o, stride, at + half, tmp, n - half, descending);
    for (int64_t m = 0; m < n; m++) {
        bool right =
            i == half || (j < n && before(x, o + at[j] * stride, o + at[i] * stride, descending));
        tmp[m] = right ? at[j++] : at[i++];
    }
    for (int64_t m = 0; m < n; m++)
        at[m] = tmp[m];
}

/* The first `take` (-1: all) of each sorted line; values and indices may be NULL. */
static void sort_lines(const jn_kargs *k, int64_t axis_attr, bool descending, int64_t take,
                       const jn_view *values, const jn_view *indices) {
    const jn_view *x = &k->in[0];
    int axis = jn_axis(axis_attr, x->rank);
    int64_t n = jn_line_size(x, axis), stride = jn_line_stride(x, axis);
    int64_t *at = n > 0 ? jn_calloc((size_t)n, 2 * sizeof *at) : NULL;
    jn_walk w;
    if (n > 0 && !at) {
        *k->flags |= JN_KFLAG_MEMORY;
        for (unsigned i = 0; i < k->n_out; i++)
            jn_zero(&k->out[i]);
        return;
    }
    jn_walk_lines(&w, x, axis);
    jn_walk_add_line(&w, indices, axis);
    JN_WALK(&w) {
        for (int64_t i = 0; i < n; i++)
            at[i] = i;
        sort_line(x, w.off[0], stride, at, at + n, n, descending);
        for (int64_t i = 0; i < (take < 0 ? n : take); i++) {
            int64_t to = w.off[1] + i * jn_line_stride(indices, axis);
            if (values) /* row-major like indices */
                jn_copy_element(values, to, x, w.off[0] + at[i] * stride);
            jn_store_i(indices, to, at[i]);
        }
    }
    jn_free(at);
}

static void k_sort(const jn_kargs *k) {
    const janus_sort_attrs *a = k->attrs;
    sort_lines(k, a->axis, a->descending != 0, -1, &k->out[0], &k->out[1]);
}
static void k_argsort(const jn_kargs *k) {
    const janus_argsort_attrs *a = k->attrs;
    sort_lines(k, a->axis, a->descending != 0, -1, NULL, &k->out[0]);
}
static void k_topk(const jn_kargs *k) {
    const janus_topk_attrs *a = k->attrs;
    sort_lines(k, a->axis, a->largest != 0, a->k, &k->out[0], &k->out[1]);
}

#define SELECT(name)                                                                               \
    jn_kernel_fn jn_ref_##name(const jn_sig *sig) {                                                \
        (void)sig;                                                                                 \
        return k_##name;                                                                           \
    }
SELECT(gather)
SELECT(scatter)
SELECT(scatter_add)
SELECT(index_select)
SELECT(index_add)
SELECT(embedding)
SELECT(embedding_grad)
SELECT(index)
SELECT(index_put)
SELECT(nonzero)
SELECT(masked_select)
SELECT(one_hot)
SELECT(sort)
SELECT(argsort)
SELECT(topk)
