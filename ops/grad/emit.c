/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers of the gradient rules.  They look at types only to leave out work that is known to be
 * none; where sizes are unknown they emit ops that read them at run time.
 */
#include "config.h"

#include "ops/grad/grad.h"

#include <string.h>

void jn_g_emit(jn_gx *g, const jn_op *op, const jn_ev *in, unsigned n, const void *attrs,
               jn_ev *out, unsigned n_out) {
    for (unsigned i = 0; i < n_out; i++)
        out[i] = JN_EV_NONE;
    if (g->st == JANUS_OK)
        g->st = g->r->e->ops->emit(g->r->e, op, in, n, attrs, out, n_out);
}

jn_ev jn_g_op1(jn_gx *g, const jn_op *op, jn_ev a, const void *attrs) {
    jn_ev out;
    jn_g_emit(g, op, &a, 1, attrs, &out, 1);
    return out;
}

jn_ev jn_g_op2(jn_gx *g, const jn_op *op, jn_ev a, jn_ev b, const void *attrs) {
    jn_ev in[2] = {a, b}, out;
    jn_g_emit(g, op, in, 2, attrs, &out, 1);
    return out;
}

jn_ev jn_g_op3(jn_gx *g, const jn_op *op, jn_ev a, jn_ev b, jn_ev c, const void *attrs) {
    jn_ev in[3] = {a, b, c}, out;
    jn_g_emit(g, op, in, 3, attrs, &out, 1);
    return out;
}

static jn_ev scalar(jn_gx *g, janus_kind kind, janus_scalar v) {
    jn_ev out = JN_EV_NONE;
    if (g->st == JANUS_OK)
        g->st = g->r->e->ops->scalar(g->r->e, kind, v, &out);
    return out;
}
jn_ev jn_g_int(jn_gx *g, int64_t v) { return scalar(g, JANUS_KIND_INT, (janus_scalar){.i = v}); }
jn_ev jn_g_float(jn_gx *g, double v) { return scalar(g, JANUS_KIND_FLOAT, (janus_scalar){.f = v}); }

void jn_g_type(jn_gx *g, jn_ev v, jn_gtype *out) {
    const jn_type *t = g->st == JANUS_OK ? g->r->e->ops->type(g->r->e, v) : NULL;
    memset(out, 0, sizeof *out);
    if (!t)
        return;
    out->t = *t;
    if (t->rank > 0)
        memcpy(out->dims, t->dims, (size_t)t->rank * sizeof *out->dims);
    out->t.dims = out->dims;
}

int jn_g_rank(jn_gx *g, jn_ev v) {
    const jn_type *t = g->st == JANUS_OK ? g->r->e->ops->type(g->r->e, v) : NULL;
    return t ? t->rank : JN_RANK_UNKNOWN;
}

jn_ev jn_g_of_scalar(jn_gx *g, jn_ev s, jn_ev like) {
    const jn_type *t = g->st == JANUS_OK ? g->r->e->ops->type(g->r->e, like) : NULL;
    return jn_g_op1(g, JN_OP(scalar_tensor), s, JN_ATTRS(scalar_tensor, .dtype = t ? t->dtype : 0));
}

jn_ev jn_g_const(jn_gx *g, double v, jn_ev like) {
    return jn_g_of_scalar(g, jn_g_float(g, v), like);
}

jn_ev jn_g_scale(jn_gx *g, jn_ev a, double v) {
    return v == 1 ? a : jn_g_mul(g, a, jn_g_const(g, v, a));
}

jn_ev jn_g_zeros_like(jn_gx *g, jn_ev like) {
    return jn_g_op2(g, JN_OP(full_like), jn_g_float(g, 0), like, JN_ATTRS(full_like, .dtype = -1));
}

jn_ev jn_g_zero_where(jn_gx *g, jn_ev a, jn_ev mask) {
    return JN_G3(g, masked_fill, a, mask, jn_g_float(g, 0));
}

jn_ev jn_g_sum_like(jn_gx *g, jn_ev a, jn_ev like) {
    jn_gtype ta, tl;
    jn_g_type(g, a, &ta);
    jn_g_type(g, like, &tl);
    bool same = ta.t.rank >= 0 && ta.t.rank == tl.t.rank;
    for (int i = 0; same && i < ta.t.rank; i++)
        same = ta.dims[i] == tl.dims[i] && ta.dims[i] != JN_DIM_UNKNOWN;
    return same ? a : JN_G2(g, sum_like, a, like);
}

void jn_g_set_like(jn_gx *g, unsigned i, jn_ev v) {
    jn_g_set(g, i, jn_g_sum_like(g, v, g->r->in[i]));
}

jn_ev jn_g_sum(jn_gx *g, jn_ev a, janus_ints dims, bool keepdim) {
    return jn_g_op1(g, JN_OP(sum), a, JN_ATTRS(sum, .dims = dims, .keepdim = keepdim));
}

jn_ev jn_g_mean(jn_gx *g, jn_ev a, janus_ints dims, bool keepdim) {
    return jn_g_op1(g, JN_OP(mean), a, JN_ATTRS(mean, .dims = dims, .keepdim = keepdim));
}

jn_ev jn_g_unsqueeze(jn_gx *g, jn_ev a, int64_t axis) {
    return jn_g_op1(g, JN_OP(unsqueeze), a, JN_ATTRS(unsqueeze, .axis = axis));
}

jn_ev jn_g_size(jn_gx *g, jn_ev a, int64_t axis) {
    return jn_g_op1(g, JN_OP(size), a, JN_ATTRS(size, .axis = axis));
}

jn_ev jn_g_slice(jn_gx *g, jn_ev x, jn_ev start, jn_ev stop, int64_t axis, int64_t step) {
    return jn_g_op3(g, JN_OP(slice), x, start, stop, JN_ATTRS(slice, .axis = axis, .step = step));
}

jn_ev jn_g_slice_scatter(jn_gx *g, jn_ev x, jn_ev src, jn_ev start, jn_ev stop, int64_t axis,
                         int64_t step) {
    jn_ev in[4] = {x, src, start, stop}, out;
    jn_g_emit(g, JN_OP(slice_scatter), in, 4, JN_ATTRS(slice_scatter, .axis = axis, .step = step),
              &out, 1);
    return out;
}

jn_ev jn_g_table_grad(jn_gx *g, jn_ev x, jn_ev index, jn_ev at, jn_ev dy) {
    if (jn_g_rank(g, x) != 2)
        return JN_EV_NONE;
    if (jn_ev_is_none(index))
        index = jn_g_op1(g, JN_OP(scalar_tensor), at, JN_ATTRS(scalar_tensor, .dtype = JANUS_I64));
    return jn_g_op3(g, JN_OP(embedding_grad), dy, index, x,
                    JN_ATTRS(embedding_grad, .padding_idx = -1));
}

void jn_g_unsupported(jn_gx *g, const char *what) {
    if (g->st == JANUS_OK)
        g->st = jn_error(JANUS_UNSUPPORTED, "gradient of %s: %s", g->r->op->name, what);
}

/* Sorts a reduction's dims: those from the front ascending, those from the end descending. */
static bool sorted_dims(jn_gx *g, jn_ev x, janus_ints dims, int64_t *out) {
    bool front = false, back = false;
    int rank = jn_g_rank(g, x);
    for (size_t i = 0; i < dims.n; i++) {
        out[i] = dims.data[i] < 0 && rank >= 0 ? dims.data[i] + rank : dims.data[i];
        front |= out[i] >= 0;
        back |= out[i] < 0;
    }
    for (size_t i = 1; i < dims.n; i++) {
        for (size_t k = i; k > 0 && (front ? out[k] < out[k - 1] : out[k] > out[k - 1]); k--) {
            int64_t t = out[k];
            out[k] = out[k - 1];
            out[k - 1] = t;
        }
    }
    return !(front && back);
}

jn_ev jn_g_restore_dims(jn_gx *g, jn_ev y, jn_ev x, janus_ints dims, bool keepdim) {
    int64_t at[JN_MAX_RANK];
    if (keepdim || dims.n == 0 || jn_g_rank(g, x) == 0 || dims.n > JN_MAX_RANK)
        return y; /* a 0-d value broadcasts */
    if (!sorted_dims(g, x, dims, at)) {
        jn_g_unsupported(g, "dims of both signs on a tensor of unknown rank");
        return JN_EV_NONE;
    }
    for (size_t i = 0; i < dims.n; i++)
        y = jn_g_unsqueeze(g, y, at[i]);
    return y;
}

jn_ev jn_g_count(jn_gx *g, jn_ev x, janus_ints dims, jn_ev like) {
    jn_gtype t;
    double known = 1;
    jn_ev sizes = JN_EV_NONE;
    jn_g_type(g, x, &t);
    if (t.t.rank < 0 && dims.n == 0) { /* all of an unknown number of dims */
        jn_gtype l;
        jn_g_type(g, like, &l);
        jn_ev ones = jn_g_op2(g, JN_OP(full_like), jn_g_float(g, 1), x,
                              JN_ATTRS(full_like, .dtype = l.t.dtype));
        return jn_g_sum(g, ones, dims, false);
    }
    int n = dims.n ? (int)dims.n : t.t.rank;
    if (t.t.rank == 0)
        n = 0;
    for (int i = 0; i < n; i++) {
        int64_t axis = dims.n ? dims.data[i] : i;
        int64_t at = axis < 0 ? axis + t.t.rank : axis;
        if (t.t.rank >= 0 && at < t.t.rank && t.dims[at] >= 0) {
            known *= (double)t.dims[at];
            continue;
        }
        jn_ev s = jn_g_size(g, x, axis);
        sizes = jn_ev_is_none(sizes) ? s : JN_G2(g, s_mul, sizes, s);
    }
    if (jn_ev_is_none(sizes))
        return jn_g_const(g, known, like);
    return jn_g_scale(g, jn_g_of_scalar(g, sizes, like), known);
}

jn_ev jn_g_reshape(jn_gx *g, jn_ev a, const int64_t *shape, const jn_ev *sizes, int rank) {
    jn_ev in[1 + 2 * JN_MAX_RANK], out;
    unsigned n = 1;
    in[0] = a;
    for (int i = 0; i < rank; i++) {
        if (shape[i] == -2)
            in[n++] = sizes[i];
    }
    jn_g_emit(g, JN_OP(reshape), in, n,
              JN_ATTRS(reshape, .shape = (janus_ints){shape, (size_t)rank}), &out, 1);
    return out;
}
