/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradient rules of indexing: reading at indices and adding at indices are each other's transpose.
 */
#include "config.h"

#include "ops/grad/grad.h"

#define BEGIN                                                                                      \
    jn_gx gx = {r, JANUS_OK}, *g = &gx;                                                            \
    jn_ev dy = r->dout[0];                                                                         \
    if (jn_ev_is_none(dy))                                                                         \
    return JANUS_OK
#define IN(i) (r->in[i])

janus_status jn_grad_gather(jn_grad *r) {
    const janus_gather_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0,
                 jn_g_op3(g, JN_OP(scatter_add), jn_g_zeros_like(g, IN(0)), IN(1), dy,
                          JN_ATTRS(scatter_add, .axis = a->axis)));
    return g->st;
}

/* front in the front part of zeros of the shape of `like`, whose sizes the run knows. */
static jn_ev put_in_front(jn_gx *g, jn_ev front, jn_ev like, int rank) {
    jn_ev part[JN_MAX_RANK + 1] = {jn_g_zeros_like(g, like)}, stop[JN_MAX_RANK];
    jn_ev start = jn_g_int(g, 0), d = front;
    for (int i = 0; i < rank; i++) {
        stop[i] = jn_g_size(g, front, i);
        if (i + 1 < rank)
            part[i + 1] = jn_g_slice(g, part[i], start, stop[i], i, 1);
    }
    for (int i = rank; i-- > 0;)
        d = jn_g_slice_scatter(g, part[i], d, start, stop[i], i, 1);
    return d;
}

/* dsrc: dy at the indices, in the front part of src when src is larger than index.  Of an unknown
 * rank the shapes are taken to be equal, and the run fails where they are not. */
static void scatter_src(jn_gx *g, jn_grad *r, int64_t axis) {
    jn_gtype index, src;
    jn_g_type(g, IN(1), &index);
    jn_g_type(g, IN(2), &src);
    int64_t before[JN_MAX_RANK] = {0}, after[JN_MAX_RANK];
    int rank = index.t.rank >= 0 ? index.t.rank : src.t.rank;
    bool known = index.t.rank >= 0 && index.t.rank == src.t.rank, same = known;
    for (int i = 0; known && i < rank; i++) {
        known = index.dims[i] >= 0 && src.dims[i] >= 0;
        after[i] = src.dims[i] - index.dims[i];
        same &= after[i] == 0;
    }
    jn_ev d = jn_g_op2(g, JN_OP(gather), r->dout[0], IN(1), JN_ATTRS(gather, .axis = axis));
    if (!known)
        d = rank < 0 ? JN_G2(g, reshape_like, d, IN(2)) : put_in_front(g, d, IN(2), rank);
    else if (!same)
        d = jn_g_op1(
            g, JN_OP(pad), d,
            JN_ATTRS(pad, .before = {before, (size_t)rank}, .after = {after, (size_t)rank}));
    jn_g_set(g, 2, d);
}

janus_status jn_grad_scatter(jn_grad *r) {
    const janus_scatter_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0)) {
        jn_gtype t;
        jn_g_type(g, dy, &t);
        jn_ev zeros = jn_g_op2(g, JN_OP(full_like), jn_g_float(g, 0), IN(1),
                               JN_ATTRS(full_like, .dtype = t.t.dtype));
        jn_g_set(g, 0,
                 jn_g_op3(g, JN_OP(scatter), dy, IN(1), zeros, JN_ATTRS(scatter, .axis = a->axis)));
    }
    if (JN_WANT(g, 2))
        scatter_src(g, r, a->axis);
    return g->st;
}

janus_status jn_grad_scatter_add(jn_grad *r) {
    const janus_scatter_add_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, dy);
    if (JN_WANT(g, 2))
        scatter_src(g, r, a->axis);
    return g->st;
}

janus_status jn_grad_index_select(jn_grad *r) {
    const janus_index_select_attrs *a = r->attrs;
    BEGIN;
    if (!JN_WANT(g, 0))
        return JANUS_OK;
    bool rows = a->axis == 0 || a->axis == -2;
    jn_ev dx = rows ? jn_g_table_grad(g, IN(0), IN(1), JN_EV_NONE, dy) : JN_EV_NONE;
    if (jn_ev_is_none(dx))
        dx = jn_g_op3(g, JN_OP(index_add), jn_g_zeros_like(g, IN(0)), IN(1), dy,
                      JN_ATTRS(index_add, .axis = a->axis));
    jn_g_set(g, 0, dx);
    return g->st;
}

janus_status jn_grad_index_add(jn_grad *r) {
    const janus_index_add_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, dy);
    if (!JN_WANT(g, 2))
        return g->st;
    /* Where nothing is added index_add looks at no index, so neither may its gradient. */
    jn_gtype src;
    bool nothing = false;
    jn_g_type(g, IN(2), &src);
    for (int i = 0; i < src.t.rank; i++)
        nothing = nothing || src.dims[i] == 0;
    jn_g_set(g, 2,
             nothing ? jn_g_zeros_like(g, IN(2))
                     : jn_g_op2(g, JN_OP(index_select), dy, IN(1),
                                JN_ATTRS(index_select, .axis = a->axis)));
    return g->st;
}

janus_status jn_grad_embedding(jn_grad *r) {
    const janus_embedding_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0,
                 jn_g_op3(g, JN_OP(embedding_grad), dy, IN(1), IN(0),
                          JN_ATTRS(embedding_grad, .padding_idx = a->padding_idx)));
    return g->st;
}

/* Reading rows, by indices that may count from the end: it is what x[i] has as its gradient, too.
 * Those that padding_idx left out have had no part. */
janus_status jn_grad_embedding_grad(jn_grad *r) {
    const janus_embedding_grad_attrs *a = r->attrs;
    BEGIN;
    if (!JN_WANT(g, 0))
        return JANUS_OK;
    int64_t rows = 0;
    jn_ev d = jn_g_op2(g, JN_OP(index), dy, IN(1), JN_ATTRS(index, .axes = {&rows, 1}));
    if (a->padding_idx != -1) {
        jn_ev skipped = JN_G2(g, eq, IN(1), jn_g_of_scalar(g, jn_g_int(g, a->padding_idx), IN(1)));
        d = jn_g_zero_where(g, d, jn_g_unsqueeze(g, skipped, -1));
    }
    jn_g_set(g, 0, d);
    return g->st;
}

/* index(x, the index operands of r from `first` on) */
static jn_ev read_at(jn_gx *g, jn_ev x, unsigned first, janus_ints axes) {
    jn_grad *r = g->r;
    jn_ev in[1 + JN_MAX_RANK], out;
    unsigned n = 0;
    in[n++] = x;
    for (unsigned i = first; i < r->n_in && n <= JN_MAX_RANK; i++)
        in[n++] = IN(i);
    jn_g_emit(g, JN_OP(index), in, n, JN_ATTRS(index, .axes = axes), &out, 1);
    return out;
}

static jn_ev put_at(jn_gx *g, jn_ev x, jn_ev src, unsigned first, janus_ints axes, bool add) {
    jn_grad *r = g->r;
    jn_ev in[2 + JN_MAX_RANK], out;
    unsigned n = 0;
    in[n++] = x;
    in[n++] = src;
    for (unsigned i = first; i < r->n_in && n <= 1 + JN_MAX_RANK; i++)
        in[n++] = IN(i);
    jn_g_emit(g, JN_OP(index_put), in, n, JN_ATTRS(index_put, .axes = axes, .accumulate = add),
              &out, 1);
    return out;
}

janus_status jn_grad_index(jn_grad *r) {
    const janus_index_attrs *a = r->attrs;
    BEGIN;
    if (!JN_WANT(g, 0))
        return JANUS_OK;
    bool rows = a->axes.n == 1 && (a->axes.data[0] == 0 || a->axes.data[0] == -2);
    jn_ev dx = rows ? jn_g_table_grad(g, IN(0), IN(1), JN_EV_NONE, dy) : JN_EV_NONE;
    if (jn_ev_is_none(dx))
        dx = put_at(g, jn_g_zeros_like(g, IN(0)), dy, 1, a->axes, true);
    jn_g_set(g, 0, dx);
    return g->st;
}

janus_status jn_grad_index_put(jn_grad *r) {
    const janus_index_put_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0,
                 a->accumulate ? dy : put_at(g, dy, jn_g_zeros_like(g, IN(1)), 2, a->axes, false));
    if (JN_WANT(g, 1))
        jn_g_set_like(g, 1, read_at(g, dy, 2, a->axes));
    return g->st;
}
