/* SPDX-License-Identifier: Apache-2.0 */
/* Gradient rules of views and copies: dy is put back where its elements came from. */
#include "config.h"

#include "ops/grad/grad.h"

#define BEGIN                                                                                      \
    jn_gx gx = {r, JANUS_OK}, *g = &gx;                                                            \
    jn_ev dy = r->dout[0];                                                                         \
    if (jn_ev_is_none(dy))                                                                         \
    return JANUS_OK
#define IN(i) (r->in[i])
#define RULE1(name, dx)                                                                            \
    janus_status jn_grad_##name(jn_grad *r) {                                                      \
        BEGIN;                                                                                     \
        if (JN_WANT(g, 0))                                                                         \
            jn_g_set(g, 0, dx);                                                                    \
        return g->st;                                                                              \
    }

RULE1(reshape, JN_G2(g, reshape_like, dy, IN(0)))
RULE1(sum_to, jn_g_sum_like(g, dy, IN(0)))
RULE1(sum_like_rev, jn_g_sum_like(g, dy, IN(0)))
RULE1(expand_like, JN_G2(g, expand_like, dy, IN(0)))

janus_status jn_grad_overwrite(jn_grad *r) {
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, jn_g_sum_like(g, dy, IN(0)));
    if (JN_WANT(g, 1))
        jn_g_set(g, 1, jn_g_zeros_like(g, IN(1)));
    return g->st;
}

janus_status jn_grad_transpose(jn_grad *r) {
    const janus_transpose_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0,
                 jn_g_op1(g, JN_OP(transpose), dy,
                          JN_ATTRS(transpose, .dim0 = a->dim0, .dim1 = a->dim1)));
    return g->st;
}

janus_status jn_grad_permute(jn_grad *r) {
    const janus_permute_attrs *a = r->attrs;
    int64_t inverse[JN_MAX_RANK], n = (int64_t)a->dims.n;
    BEGIN;
    for (int64_t i = 0; i < n; i++) {
        int64_t from = a->dims.data[i];
        inverse[from < 0 ? from + n : from] = i;
    }
    if (JN_WANT(g, 0))
        jn_g_set(g, 0,
                 jn_g_op1(g, JN_OP(permute), dy, JN_ATTRS(permute, .dims = {inverse, a->dims.n})));
    return g->st;
}

static jn_ev operand_or_none(const jn_grad *r, unsigned i) {
    return i < r->n_in ? r->in[i] : JN_EV_NONE;
}

/* What is not of the part is zero: an accumulator adds the part alone (JN_OP_ADDS). */
static jn_ev part_grad(jn_gx *g, const jn_op *op, const jn_ev *in, unsigned n, const void *attrs) {
    jn_ev out = JN_EV_NONE;
    jn_g_emit(g, op, in, n, attrs, &out, 1);
    return out;
}

janus_status jn_grad_slice(jn_grad *r) {
    const janus_slice_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0,
                 part_grad(g, JN_OP(slice_grad),
                           (jn_ev[]){dy, operand_or_none(r, 1), operand_or_none(r, 2), IN(0)}, 4,
                           JN_ATTRS(slice_grad, .axis = a->axis, .step = a->step)));
    return g->st;
}

janus_status jn_grad_slice_grad(jn_grad *r) {
    const janus_slice_grad_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0,
                 jn_g_slice(g, dy, operand_or_none(r, 1), operand_or_none(r, 2), a->axis, a->step));
    return g->st;
}

janus_status jn_grad_slice_scatter(jn_grad *r) {
    const janus_slice_scatter_attrs *a = r->attrs;
    BEGIN;
    jn_ev start = operand_or_none(r, 2), stop = operand_or_none(r, 3);
    if (JN_WANT(g, 0))
        jn_g_set(
            g, 0,
            jn_g_slice_scatter(g, dy, jn_g_zeros_like(g, IN(1)), start, stop, a->axis, a->step));
    if (JN_WANT(g, 1))
        jn_g_set(g, 1, jn_g_slice(g, dy, start, stop, a->axis, a->step));
    return g->st;
}

static jn_ev select_scatter(jn_gx *g, jn_ev x, jn_ev src, jn_ev index, int64_t axis) {
    return jn_g_op3(g, JN_OP(select_scatter), x, src, index,
                    JN_ATTRS(select_scatter, .axis = axis));
}

janus_status jn_grad_select(jn_grad *r) {
    const janus_select_attrs *a = r->attrs;
    BEGIN;
    if (!JN_WANT(g, 0))
        return JANUS_OK;
    bool rows = a->axis == 0 || a->axis == -2;
    jn_ev dx = rows ? jn_g_table_grad(g, IN(0), JN_EV_NONE, IN(1), dy) : JN_EV_NONE;
    if (jn_ev_is_none(dx))
        dx = part_grad(g, JN_OP(select_grad), (jn_ev[]){dy, IN(1), IN(0)}, 3,
                       JN_ATTRS(select_grad, .axis = a->axis));
    jn_g_set(g, 0, dx);
    return g->st;
}

janus_status jn_grad_select_grad(jn_grad *r) {
    const janus_select_grad_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, jn_g_op2(g, JN_OP(select), dy, IN(1), JN_ATTRS(select, .axis = a->axis)));
    return g->st;
}

janus_status jn_grad_select_scatter(jn_grad *r) {
    const janus_select_scatter_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, select_scatter(g, dy, jn_g_zeros_like(g, IN(1)), IN(2), a->axis));
    if (JN_WANT(g, 1))
        jn_g_set(g, 1, jn_g_op2(g, JN_OP(select), dy, IN(2), JN_ATTRS(select, .axis = a->axis)));
    return g->st;
}

/* Parts of dy between running sums of sizes, which are read at run time where unknown. */
janus_status jn_grad_concat(jn_grad *r) {
    const janus_concat_attrs *a = r->attrs;
    BEGIN;
    int64_t known = 0;
    jn_ev start = JN_EV_NONE; /* while all sizes are known: known */
    for (unsigned i = 0; i < r->n_in && g->st == JANUS_OK; i++) {
        jn_gtype t;
        jn_g_type(g, IN(i), &t);
        int64_t axis = a->axis < 0 ? a->axis + t.t.rank : a->axis;
        int64_t size = axis >= 0 && t.t.rank > axis ? t.dims[axis] : JN_DIM_UNKNOWN;
        jn_ev from = jn_ev_is_none(start) ? jn_g_int(g, known) : start, stop;
        if (size >= 0 && jn_ev_is_none(start)) {
            known += size;
            stop = jn_g_int(g, known);
        } else {
            jn_ev n = size >= 0 ? jn_g_int(g, size) : jn_g_size(g, IN(i), a->axis);
            stop = start = JN_G2(g, s_add, from, n);
        }
        if (JN_WANT(g, i))
            jn_g_set(g, i, jn_g_slice(g, dy, from, stop, a->axis, 1));
    }
    return g->st;
}

janus_status jn_grad_stack(jn_grad *r) {
    const janus_stack_attrs *a = r->attrs;
    BEGIN;
    for (unsigned i = 0; i < r->n_in; i++) {
        if (JN_WANT(g, i))
            jn_g_set(
                g, i,
                jn_g_op2(g, JN_OP(select), dy, jn_g_int(g, i), JN_ATTRS(select, .axis = a->axis)));
    }
    return g->st;
}

janus_status jn_grad_pad(jn_grad *r) {
    const janus_pad_attrs *a = r->attrs;
    int64_t before[JN_MAX_RANK], after[JN_MAX_RANK];
    BEGIN;
    for (size_t i = 0; i < a->before.n; i++) {
        before[i] = -a->before.data[i];
        after[i] = -a->after.data[i];
    }
    if (JN_WANT(g, 0))
        jn_g_set(
            g, 0,
            jn_g_op1(g, JN_OP(pad), dy,
                     JN_ATTRS(pad, .before = {before, a->before.n}, .after = {after, a->after.n})));
    return g->st;
}

janus_status jn_grad_flip(jn_grad *r) {
    const janus_flip_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, jn_g_op1(g, JN_OP(flip), dy, JN_ATTRS(flip, .dims = a->dims)));
    return g->st;
}

janus_status jn_grad_roll(jn_grad *r) {
    const janus_roll_attrs *a = r->attrs;
    int64_t back[JN_MAX_RANK];
    BEGIN;
    for (size_t i = 0; i < a->shifts.n; i++)
        back[i] = -a->shifts.data[i];
    if (JN_WANT(g, 0))
        jn_g_set(g, 0,
                 jn_g_op1(g, JN_OP(roll), dy,
                          JN_ATTRS(roll, .shifts = {back, a->shifts.n}, .dims = a->dims)));
    return g->st;
}

janus_status jn_grad_tril(jn_grad *r) {
    const janus_tril_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, jn_g_op1(g, JN_OP(tril), dy, JN_ATTRS(tril, .diagonal = a->diagonal)));
    return g->st;
}

janus_status jn_grad_triu(jn_grad *r) {
    const janus_triu_attrs *a = r->attrs;
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, jn_g_op1(g, JN_OP(triu), dy, JN_ATTRS(triu, .diagonal = a->diagonal)));
    return g->st;
}

/* The diagonal of a matrix: dy as a diagonal matrix, padded to the matrix's sizes. */
janus_status jn_grad_diag(jn_grad *r) {
    const janus_diag_attrs *a = r->attrs;
    jn_gtype x;
    BEGIN;
    if (!JN_WANT(g, 0))
        return JANUS_OK;
    jn_g_type(g, IN(0), &x);
    jn_ev dx = jn_g_op1(g, JN_OP(diag), dy, JN_ATTRS(diag, .diagonal = a->diagonal));
    if (x.t.rank == 2) {
        int64_t k = a->diagonal < 0 ? -a->diagonal : a->diagonal, zeros[2] = {0, 0}, more[2];
        if (x.dims[0] < 0 || x.dims[1] < 0) {
            jn_g_unsupported(g, "a matrix of unknown size");
            return g->st;
        }
        int64_t rows = x.dims[0] - (a->diagonal < 0 ? k : 0);
        int64_t cols = x.dims[1] - (a->diagonal > 0 ? k : 0), n = rows < cols ? rows : cols;
        for (int i = 0; i < 2; i++)
            more[i] = x.dims[i] - ((n < 0 ? 0 : n) + k);
        dx = jn_g_op1(g, JN_OP(pad), dx, JN_ATTRS(pad, .before = {zeros, 2}, .after = {more, 2}));
    }
    jn_g_set(g, 0, dx);
    return g->st;
}

/* Each dim of dy is split into (repeat, size) and summed over the repeats. */
janus_status jn_grad_repeat(jn_grad *r) {
    const janus_repeat_attrs *a = r->attrs;
    jn_gtype x;
    BEGIN;
    if (!JN_WANT(g, 0))
        return JANUS_OK;
    jn_g_type(g, IN(0), &x);
    int64_t shape[2 * JN_MAX_RANK], over[JN_MAX_RANK];
    jn_ev sizes[2 * JN_MAX_RANK];
    int rank = (int)a->repeats.n, lead = rank - x.t.rank;
    if (x.t.rank < 0 || 2 * rank > JN_MAX_RANK) {
        jn_g_unsupported(g, "a tensor of unknown rank or of too many dims");
        return g->st;
    }
    for (int i = 0; i < rank; i++) {
        int64_t size = i < lead ? 1 : x.dims[i - lead];
        over[i] = 2 * i;
        shape[2 * i] = a->repeats.data[i];
        shape[2 * i + 1] = size >= 0 ? size : -2;
        sizes[2 * i + 1] = size >= 0 ? JN_EV_NONE : jn_g_size(g, IN(0), i - lead);
    }
    jn_ev split = jn_g_reshape(g, dy, shape, sizes, 2 * rank);
    jn_ev summed = rank ? jn_g_sum(g, split, (janus_ints){over, (size_t)rank}, false) : dy;
    jn_g_set(g, 0, JN_G2(g, reshape_like, summed, IN(0)));
    return g->st;
}
