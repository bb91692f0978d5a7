/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reference kernels of shape ops.  A view op that is asked to copy reads operand 0 through its own
 * view rule; where the rule finds no strides (reshape) both sides are walked in row-major order.
 */
#include "config.h"

#include "ops/ref/ref.h"
#include "ops/shape_rules.h"

/* out = in, element by element in row-major order of each. */
static void copy_in_order(const jn_view *y, const jn_view *x) {
    jn_walk from, to;
    jn_walk_init(&from, x->rank, x->dims);
    jn_walk_add(&from, x);
    jn_walk_init(&to, y->rank, y->dims);
    jn_walk_add(&to, y);
    for (; from.left > 0 && to.left > 0; jn_walk_next(&from), jn_walk_next(&to))
        jn_copy_element(y, to.off[0], x, from.off[0]);
}

static void copy(const jn_view *y, const jn_view *x) {
    jn_walk w;
    jn_walk_init(&w, y->rank, y->dims);
    jn_walk_add(&w, x);
    jn_walk_add(&w, y);
    JN_WALK(&w)
    jn_copy_element(y, w.off[1], x, w.off[0]);
}

static void copy_through(const jn_kargs *k, jn_view_fn rule, bool reshapes) {
    const jn_view *x = &k->in[0], *y = &k->out[0];
    jn_type type = jn_tensor_type((janus_dtype)y->dtype, y->rank, y->dims);
    int64_t strides[JN_MAX_RANK], offset;
    jn_walk w;
    if (!rule(k->in, k->n_in, k->attrs, &type, strides, &offset)) {
        if (reshapes) {
            copy_in_order(y, x);
        } else {
            *k->flags |= JN_KFLAG_INDEX;
            jn_zero(y);
        }
        return;
    }
    jn_walk_init(&w, y->rank, y->dims);
    jn_walk_add_strides(&w, strides, offset);
    jn_walk_add(&w, y);
    JN_WALK(&w)
    jn_copy_element(y, w.off[1], x, w.off[0]);
}

#define VIEW(name, reshapes)                                                                       \
    static void k_##name(const jn_kargs *k) { copy_through(k, jn_view_##name, reshapes); }
VIEW(reshape, true)
VIEW(reshape_like, true)
VIEW(transpose, false)
VIEW(permute, false)
VIEW(expand, false)
VIEW(expand_like, false)
VIEW(unsqueeze, false)
VIEW(squeeze, false)
VIEW(slice, false)
VIEW(select, false)
VIEW(alias, false)

jn_kernel_fn jn_ref_view(const jn_sig *sig) {
    switch (sig->op->id) {
#define ROW(name)                                                                                  \
    case JN_OP_ID_##name:                                                                          \
        return k_##name
        ROW(reshape);
        ROW(reshape_like);
        ROW(transpose);
        ROW(permute);
        ROW(expand);
        ROW(expand_like);
        ROW(unsqueeze);
        ROW(squeeze);
        ROW(slice);
        ROW(select);
        ROW(alias);
    case JN_OP_ID_detach:
        return k_alias;
    case JN_OP_ID_overwrite:
        return k_expand_like;
#undef ROW
    default:
        return NULL;
    }
}

/* Each element of y is the sum, in row-major order, of the elements of x that broadcast from it. */
static void k_sum_like(const jn_kargs *k) {
    const jn_view *x = &k->in[0], *y = &k->out[0];
    int64_t rdims[JN_MAX_RANK], rstr[JN_MAX_RANK], kstr[JN_MAX_RANK];
    int nr = 0, lead = x->rank - y->rank;
    for (int i = 0; i < x->rank; i++) {
        bool summed = i < lead || y->dims[i - lead] != x->dims[i];
        if (summed) {
            rdims[nr] = x->dims[i];
            rstr[nr++] = x->strides[i];
        }
        if (i >= lead)
            kstr[i - lead] = summed ? 0 : x->strides[i];
    }
    jn_walk keep, inner;
    jn_walk_init(&keep, y->rank, y->dims);
    jn_walk_add_strides(&keep, kstr, 0);
    jn_walk_add(&keep, y);
    JN_WALK(&keep) {
        double f = k->accumulate ? jn_load_f(y, keep.off[1]) : 0;
        uint64_t s = k->accumulate ? (uint64_t)jn_load_i(y, keep.off[1]) : 0;
        jn_walk_init(&inner, nr, rdims);
        jn_walk_add_strides(&inner, rstr, keep.off[0]);
        JN_WALK(&inner) {
            if (jn_is_float(x))
                f += jn_load_f(x, inner.off[0]);
            else
                s += (uint64_t)jn_load_i(x, inner.off[0]);
        }
        if (jn_is_float(x))
            jn_store_f(y, keep.off[1], f);
        else
            jn_store_i(y, keep.off[1], (int64_t)s);
    }
}

/* Copies `src` into the part of y that starts at `offset` with these strides. */
static void copy_into(const jn_view *y, const int64_t *strides, int64_t offset,
                      const jn_view *src) {
    jn_walk w;
    jn_walk_init(&w, src->rank, src->dims);
    jn_walk_add_strides(&w, strides, offset);
    jn_walk_add(&w, src);
    JN_WALK(&w)
    jn_copy_element(y, w.off[0], src, w.off[1]);
}

static void k_concat(const jn_kargs *k) {
    const janus_concat_attrs *a = k->attrs;
    const jn_view *y = &k->out[0];
    int axis = jn_axis(a->axis, y->rank);
    int64_t at = 0;
    for (unsigned i = 0; i < k->n_in; i++) {
        copy_into(y, y->strides, at * y->strides[axis], &k->in[i]);
        at += k->in[i].dims[axis];
    }
}

static void k_stack(const jn_kargs *k) {
    const janus_stack_attrs *a = k->attrs;
    const jn_view *y = &k->out[0];
    int axis = jn_axis(a->axis, y->rank);
    int64_t strides[JN_MAX_RANK];
    for (int i = 0, n = 0; i < y->rank; i++) {
        if (i != axis)
            strides[n++] = y->strides[i];
    }
    for (unsigned i = 0; i < k->n_in; i++)
        copy_into(y, strides, (int64_t)i * y->strides[axis], &k->in[i]);
}

static void k_pad(const jn_kargs *k) {
    const janus_pad_attrs *a = k->attrs;
    const jn_view *x = &k->in[0], *y = &k->out[0];
    jn_walk w;
    jn_walk_init(&w, y->rank, y->dims);
    jn_walk_add(&w, y);
    JN_WALK(&w) {
        int64_t from = 0;
        bool inside = true;
        for (int i = 0; i < y->rank; i++) {
            int64_t at = w.idx[i] - a->before.data[i];
            inside &= at >= 0 && at < x->dims[i];
            from += at * x->strides[i];
        }
        if (inside)
            jn_copy_element(y, w.off[0], x, from);
        else
            jn_store_f(y, w.off[0], a->value);
    }
}

static void k_flip(const jn_kargs *k) {
    const janus_flip_attrs *a = k->attrs;
    const jn_view *x = &k->in[0], *y = &k->out[0];
    int64_t strides[JN_MAX_RANK], offset = 0;
    jn_walk w;
    for (int i = 0; i < x->rank; i++) {
        bool flip = a->dims.n == 0;
        for (size_t d = 0; d < a->dims.n; d++)
            flip |= jn_axis(a->dims.data[d], x->rank) == i;
        strides[i] = flip ? -x->strides[i] : x->strides[i];
        if (flip)
            offset += (x->dims[i] - 1) * x->strides[i];
    }
    jn_walk_init(&w, y->rank, y->dims);
    jn_walk_add_strides(&w, strides, offset);
    jn_walk_add(&w, y);
    JN_WALK(&w)
    jn_copy_element(y, w.off[1], x, w.off[0]);
}

static int64_t floor_mod(int64_t a, int64_t n) {
    int64_t r = n ? a % n : 0;
    return r < 0 ? r + n : r;
}

static void k_roll(const jn_kargs *k) {
    const janus_roll_attrs *a = k->attrs;
    const jn_view *x = &k->in[0], *y = &k->out[0];
    int64_t shift[JN_MAX_RANK] = {0}, n = jn_numel(y), at = 0;
    jn_walk w;
    for (size_t d = 0; d < a->dims.n && x->rank > 0; d++) {
        int axis = jn_axis(a->dims.data[d], x->rank);
        shift[axis] = floor_mod(a->shifts.data[d], x->dims[axis]);
    }
    int64_t flat = a->dims.n == 0 ? floor_mod(a->shifts.data[0], n) : 0;
    jn_walk_init(&w, x->rank, x->dims);
    jn_walk_add(&w, x);
    JN_WALK(&w) {
        int64_t to = 0;
        if (a->dims.n == 0) {
            to = (at++ + flat) % n; /* y is row-major */
        } else {
            for (int i = 0; i < x->rank; i++)
                to += (w.idx[i] + shift[i]) % x->dims[i] * y->strides[i];
        }
        jn_copy_element(y, to, x, w.off[0]);
    }
}

static void triangle(const jn_kargs *k, int64_t diagonal, bool lower) {
    const jn_view *x = &k->in[0], *y = &k->out[0];
    jn_walk w;
    jn_walk_init(&w, y->rank, y->dims);
    jn_walk_add(&w, x);
    jn_walk_add(&w, y);
    int64_t rows = y->dims[y->rank - 2], cols = y->dims[y->rank - 1];
    diagonal = diagonal < -rows ? -rows : diagonal > cols ? cols : diagonal;
    JN_WALK(&w) {
        int64_t above = w.idx[y->rank - 1] - w.idx[y->rank - 2] - diagonal;
        if (lower ? above <= 0 : above >= 0)
            jn_copy_element(y, w.off[1], x, w.off[0]);
        else
            jn_store_i(y, w.off[1], 0);
    }
}
static void k_tril(const jn_kargs *k) {
    triangle(k, ((const janus_tril_attrs *)k->attrs)->diagonal, true);
}
static void k_triu(const jn_kargs *k) {
    triangle(k, ((const janus_triu_attrs *)k->attrs)->diagonal, false);
}

static void k_diag(const jn_kargs *k) {
    const janus_diag_attrs *a = k->attrs;
    const jn_view *x = &k->in[0], *y = &k->out[0], *m = x->rank == 2 ? x : y;
    const jn_view *v = x->rank == 2 ? y : x;
    int64_t row = a->diagonal < 0 ? -a->diagonal : 0, col = a->diagonal > 0 ? a->diagonal : 0;
    if (m == y)
        jn_zero(y);
    for (int64_t i = 0; i < v->dims[0]; i++) {
        int64_t at = (row + i) * m->strides[0] + (col + i) * m->strides[1];
        int64_t vat = i * v->strides[0];
        jn_copy_element(y, m == y ? at : vat, x, m == y ? vat : at);
    }
}

static void k_repeat(const jn_kargs *k) {
    const jn_view *x = &k->in[0], *y = &k->out[0];
    int lead = y->rank - x->rank;
    jn_walk w;
    jn_walk_init(&w, y->rank, y->dims);
    jn_walk_add(&w, y);
    JN_WALK(&w) {
        int64_t from = 0;
        for (int i = 0; i < x->rank; i++)
            from += w.idx[lead + i] % x->dims[i] * x->strides[i];
        jn_copy_element(y, w.off[0], x, from);
    }
}

/* Where the part of the result between operands `at` and at + 1 is, `n` long; false: it is not. */
static bool slice_part(const jn_kargs *k, unsigned at, int axis, int64_t step, int64_t n,
                       int64_t *strides, int64_t *offset) {
    const jn_view *y = &k->out[0];
    int64_t first, size, start, stop;
    bool has_start = jn_present(k, at), has_stop = jn_present(k, at + 1);
    if (has_start)
        start = jn_scalar_i(&k->in[at]);
    if (has_stop)
        stop = jn_scalar_i(&k->in[at + 1]);
    jn_slice_bounds(y->dims[axis], has_start ? &start : NULL, has_stop ? &stop : NULL, step, &first,
                    &size);
    for (int i = 0; i < y->rank; i++)
        strides[i] = i == axis ? jn_slice_stride(y->dims[i], y->strides[i], step) : y->strides[i];
    *offset = first * y->strides[axis];
    if (size != n)
        *k->flags |= JN_KFLAG_INDEX;
    return size == n;
}

/* The same of the one at operand `at`. */
static bool select_part(const jn_kargs *k, unsigned at, int axis, int64_t *strides,
                        int64_t *offset) {
    const jn_view *y = &k->out[0];
    int64_t index = jn_scalar_i(&k->in[at]);
    for (int i = 0, n = 0; i < y->rank; i++) {
        if (i != axis)
            strides[n++] = y->strides[i];
    }
    if (!jn_check_index(k, &index, y->dims[axis]))
        return false;
    *offset = index * y->strides[axis];
    return true;
}

static void k_slice_scatter(const jn_kargs *k) {
    const janus_slice_scatter_attrs *a = k->attrs;
    const jn_view *y = &k->out[0];
    int axis = jn_axis(a->axis, y->rank);
    int64_t strides[JN_MAX_RANK], offset;
    copy(y, &k->in[0]);
    if (slice_part(k, 2, axis, a->step, k->in[1].dims[axis], strides, &offset))
        copy_into(y, strides, offset, &k->in[1]);
}

static void k_select_scatter(const jn_kargs *k) {
    const janus_select_scatter_attrs *a = k->attrs;
    const jn_view *y = &k->out[0];
    int axis = jn_axis(a->axis, y->rank);
    int64_t strides[JN_MAX_RANK], offset;
    copy(y, &k->in[0]);
    if (select_part(k, 2, axis, strides, &offset))
        copy_into(y, strides, offset, &k->in[1]);
}

/* y (+)= dy where `strides` lead from `offset` on. */
static void add_part(const jn_kargs *k, const int64_t *strides, int64_t offset) {
    const jn_view *dy = &k->in[0], *y = &k->out[0];
    jn_walk w;
    jn_walk_init(&w, dy->rank, dy->dims);
    jn_walk_add_strides(&w, strides, offset);
    jn_walk_add(&w, dy);
    JN_WALK(&w) {
        if (k->accumulate)
            jn_add_element(y, w.off[0], dy, w.off[1]);
        else
            jn_copy_element(y, w.off[0], dy, w.off[1]);
    }
}

static void k_slice_grad(const jn_kargs *k) {
    const janus_slice_grad_attrs *a = k->attrs;
    int axis = jn_axis(a->axis, k->out[0].rank);
    int64_t strides[JN_MAX_RANK], offset;
    if (!k->accumulate)
        jn_zero(&k->out[0]);
    if (slice_part(k, 1, axis, a->step, k->in[0].dims[axis], strides, &offset))
        add_part(k, strides, offset);
}

static void k_select_grad(const jn_kargs *k) {
    int axis = jn_axis(((const janus_select_grad_attrs *)k->attrs)->axis, k->out[0].rank);
    int64_t strides[JN_MAX_RANK], offset;
    if (!k->accumulate)
        jn_zero(&k->out[0]);
    if (select_part(k, 1, axis, strides, &offset))
        add_part(k, strides, offset);
}

#define SELECT(name)                                                                               \
    jn_kernel_fn jn_ref_##name(const jn_sig *sig) {                                                \
        (void)sig;                                                                                 \
        return k_##name;                                                                           \
    }
SELECT(sum_like)
SELECT(concat)
SELECT(stack)
SELECT(pad)
SELECT(flip)
SELECT(roll)
SELECT(tril)
SELECT(triu)
SELECT(diag)
SELECT(repeat)
SELECT(slice_scatter)
SELECT(select_scatter)
SELECT(slice_grad)
SELECT(select_grad)
