/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradient rules of products and convolutions.  matmul's transpose attributes make every gradient
 * of a product one product; the three conv2d rows are each other's gradients.
 */
#include "config.h"

#include "ops/grad/grad.h"

#define BEGIN                                                                                      \
    jn_gx gx = {r, JANUS_OK}, *g = &gx;                                                            \
    jn_ev dy = r->dout[0];                                                                         \
    if (jn_ev_is_none(dy))                                                                         \
    return JANUS_OK
#define IN(i) (r->in[i])

static jn_ev matmul(jn_gx *g, jn_ev a, bool ta, jn_ev b, bool tb) {
    return jn_g_op2(g, JN_OP(matmul), a, b, JN_ATTRS(matmul, .transpose_a = ta, .transpose_b = tb));
}

/* All dims but the last in one: [...,K] -> [n,K]. */
static jn_ev fold_rows(jn_gx *g, jn_ev v) {
    jn_gtype t;
    jn_g_type(g, v, &t);
    if (t.t.rank == 2)
        return v;
    int64_t last = t.t.rank > 0 ? t.dims[t.t.rank - 1] : JN_DIM_UNKNOWN;
    int64_t shape[2] = {-1, last >= 0 ? last : -2};
    jn_ev sizes[2] = {JN_EV_NONE, last >= 0 ? JN_EV_NONE : jn_g_size(g, v, -1)};
    return jn_g_reshape(g, v, shape, sizes, 2);
}

/*
 * y = a' b' with a' = a or its transpose: da' = dy b'^T, db' = a'^T dy, each transposed back where
 * the operand was.  Vectors are taken as matrices of one row or column.  For the gradient of one
 * operand only the other one is read: the tape keeps no more.
 */
janus_status jn_grad_matmul(jn_grad *r) {
    const janus_matmul_attrs *at = r->attrs;
    BEGIN;
    int ra = jn_g_rank(g, IN(0)), rb = jn_g_rank(g, IN(1));
    if (ra < 0 || rb < 0) {
        jn_g_unsupported(g, "operands of unknown rank");
        return g->st;
    }
    bool ta = at->transpose_a && ra > 1, tb = at->transpose_b && rb > 1;
    bool fold = ra > 2 && rb <= 2 && !ta; /* rows of a batch times one matrix: one product */
    if (rb == 1)
        dy = jn_g_unsqueeze(g, dy, -1);
    if (ra == 1)
        dy = jn_g_unsqueeze(g, dy, -2);
    if (fold)
        dy = fold_rows(g, dy);
    if (JN_WANT(g, 0)) {
        jn_ev b = rb == 1 ? jn_g_unsqueeze(g, IN(1), 1) : IN(1);
        jn_ev da = ta ? matmul(g, b, tb, dy, true) : matmul(g, dy, false, b, !tb);
        bool whole = fold || (ra == 1 && rb <= 2);
        jn_g_set(g, 0, whole ? JN_G2(g, reshape_like, da, IN(0)) : jn_g_sum_like(g, da, IN(0)));
    }
    if (JN_WANT(g, 1)) {
        jn_ev a = ra == 1 ? jn_g_unsqueeze(g, IN(0), 0) : fold ? fold_rows(g, IN(0)) : IN(0);
        jn_ev db = tb ? matmul(g, dy, true, a, ta) : matmul(g, a, !ta, dy, false);
        bool whole = rb == 1 && (ra <= 2 || fold);
        if (rb == 1 && !whole) {
            static const int64_t last[] = {-1};
            db = jn_g_sum(g, db, (janus_ints){last, 1}, false);
        }
        jn_g_set(g, 1, whole ? JN_G2(g, reshape_like, db, IN(1)) : jn_g_sum_like(g, db, IN(1)));
    }
    return g->st;
}

janus_status jn_grad_linear(jn_grad *r) {
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, matmul(g, dy, false, IN(1), false));
    if (JN_WANT(g, 1))
        jn_g_set(g, 1, matmul(g, fold_rows(g, dy), true, fold_rows(g, IN(0)), false));
    if (JN_WANT(g, 2))
        jn_g_set_like(g, 2, dy);
    return g->st;
}

janus_status jn_grad_outer(jn_grad *r) {
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, matmul(g, dy, false, IN(1), false));
    if (JN_WANT(g, 1))
        jn_g_set(g, 1, matmul(g, dy, true, IN(0), false));
    return g->st;
}

janus_status jn_grad_dot(jn_grad *r) {
    BEGIN;
    for (unsigned i = 0; i < 2; i++) {
        if (JN_WANT(g, i))
            jn_g_set(g, i, jn_g_mul(g, dy, IN(1 - i)));
    }
    return g->st;
}

/* The attributes of the three rows are alike; struct_size is too. */
_Static_assert(sizeof(janus_conv2d_attrs) == sizeof(janus_conv2d_input_grad_attrs) &&
                   sizeof(janus_conv2d_attrs) == sizeof(janus_conv2d_weight_grad_attrs),
               "conv2d rows must have the same attributes");

static jn_ev conv(jn_gx *g, jn_ev x, jn_ev w) {
    return jn_g_op2(g, JN_OP(conv2d), x, w, g->r->attrs);
}
static jn_ev conv_dx(jn_gx *g, jn_ev dy, jn_ev w, jn_ev x) {
    return jn_g_op3(g, JN_OP(conv2d_input_grad), dy, w, x, g->r->attrs);
}
static jn_ev conv_dw(jn_gx *g, jn_ev dy, jn_ev x, jn_ev w) {
    return jn_g_op3(g, JN_OP(conv2d_weight_grad), dy, x, w, g->r->attrs);
}

janus_status jn_grad_conv2d(jn_grad *r) {
    static const int64_t over[] = {0, 2, 3};
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, conv_dx(g, dy, IN(1), IN(0)));
    if (JN_WANT(g, 1))
        jn_g_set(g, 1, conv_dw(g, dy, IN(0), IN(1)));
    if (JN_WANT(g, 2))
        jn_g_set(g, 2, jn_g_sum(g, dy, (janus_ints){over, 3}, false));
    return g->st;
}

/* x' = conv_dx(d, w) */
janus_status jn_grad_conv2d_input_grad(jn_grad *r) {
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, conv(g, dy, IN(1)));
    if (JN_WANT(g, 1))
        jn_g_set(g, 1, conv_dw(g, IN(0), dy, IN(1)));
    return g->st;
}

/* w' = conv_dw(d, x) */
janus_status jn_grad_conv2d_weight_grad(jn_grad *r) {
    BEGIN;
    if (JN_WANT(g, 0))
        jn_g_set(g, 0, conv(g, IN(1), dy));
    if (JN_WANT(g, 1))
        jn_g_set(g, 1, conv_dx(g, IN(0), dy, IN(1)));
    return g->st;
}
