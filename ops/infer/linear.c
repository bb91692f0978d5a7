/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inference of products and convolutions.
 */
#include "config.h"

#include "ops/infer/infer.h"
#include "ops/nn_rules.h"

#define LAST_ERROR() (janus_last_error()->code)

janus_status jn_infer_matmul(jn_infer *c) {
    const janus_matmul_attrs *at = c->attrs;
    const jn_type *a = c->in[0], *b = c->in[1];
    if (a->rank == 0 || b->rank == 0)
        return jn_infer_expected(c, JANUS_SHAPE, a->rank == 0 ? 0 : 1, "at least 1 dim");
    if (a->rank < 0 || b->rank < 0)
        return jn_infer_unknown(c, 0, a->dtype);
    /* transposing a vector changes nothing */
    bool ta = at->transpose_a && a->rank > 1, tb = at->transpose_b && b->rank > 1;
    int64_t m = a->rank == 1 ? 1 : a->dims[a->rank - (ta ? 1 : 2)];
    int64_t ka = a->dims[a->rank - (ta ? 2 : 1)];
    int64_t kb = b->rank == 1 ? b->dims[0] : b->dims[b->rank - (tb ? 1 : 2)];
    int64_t n = b->rank == 1 ? 1 : b->dims[b->rank - (tb ? 2 : 1)], k;
    if (!jn_dim_merge(ka, kb, &k))
        return jn_infer_fail(c, JANUS_SHAPE, "inner sizes differ: %lld and %lld", (long long)ka,
                             (long long)kb);
    int abatch = a->rank > 2 ? a->rank - 2 : 0, bbatch = b->rank > 2 ? b->rank - 2 : 0;
    int batch = abatch > bbatch ? abatch : bbatch;
    int64_t *d = jn_infer_tensor(c, 0, a->dtype, batch + (a->rank > 1) + (b->rank > 1));
    if (!d)
        return LAST_ERROR();
    for (int i = 0; i < batch; i++, d++) {
        int ia = i - (batch - abatch), ib = i - (batch - bbatch);
        if (!jn_dim_broadcast(ia < 0 ? 1 : a->dims[ia], ib < 0 ? 1 : b->dims[ib], d))
            return jn_infer_fail(c, JANUS_SHAPE, "batch dims do not broadcast: %lld and %lld",
                                 (long long)a->dims[ia], (long long)b->dims[ib]);
    }
    if (a->rank > 1)
        *d++ = m;
    if (b->rank > 1)
        *d++ = n;
    return JANUS_OK;
}

/* Size i of operand `operand`, or unknown. */
static int64_t dim_of(const jn_infer *c, unsigned operand, int i) {
    const jn_type *t = c->in[operand];
    return t->rank < 0 ? JN_DIM_UNKNOWN : t->dims[i];
}

static janus_status want_size(jn_infer *c, unsigned operand, int i, int64_t size,
                              const char *expected) {
    int64_t m;
    if (!jn_dim_merge(dim_of(c, operand, i), size, &m))
        return jn_infer_expected(c, JANUS_SHAPE, operand, expected);
    return JANUS_OK;
}

janus_status jn_infer_linear(jn_infer *c) {
    const jn_type *x = c->in[0];
    JN_TRY(jn_infer_want_rank(c, 1, 2, "2 dims"));
    int64_t o = dim_of(c, 1, 0);
    if (jn_infer_has(c, 2)) {
        JN_TRY(jn_infer_want_rank(c, 2, 1, "1 dim"));
        JN_TRY(want_size(c, 2, 0, o, "one entry per row of weight"));
        jn_dim_merge(o, dim_of(c, 2, 0), &o);
    }
    if (x->rank == 0)
        return jn_infer_expected(c, JANUS_SHAPE, 0, "at least 1 dim");
    if (x->rank < 0)
        return jn_infer_unknown(c, 0, x->dtype);
    JN_TRY(want_size(c, 0, x->rank - 1, dim_of(c, 1, 1), "as many features as weight has columns"));
    JN_TRY(jn_infer_like(c, 0, x->dtype, x));
    ((int64_t *)c->out[0].dims)[x->rank - 1] = o;
    return JANUS_OK;
}

janus_status jn_infer_outer(jn_infer *c) {
    JN_TRY(jn_infer_want_rank(c, 0, 1, "1 dim"));
    JN_TRY(jn_infer_want_rank(c, 1, 1, "1 dim"));
    int64_t dims[2] = {dim_of(c, 0, 0), dim_of(c, 1, 0)};
    return jn_infer_dims(c, 0, c->in[0]->dtype, 2, dims);
}

janus_status jn_infer_dot(jn_infer *c) {
    JN_TRY(jn_infer_want_rank(c, 0, 1, "1 dim"));
    JN_TRY(jn_infer_want_rank(c, 1, 1, "1 dim"));
    JN_TRY(want_size(c, 1, 0, dim_of(c, 0, 0), "the size of a"));
    return jn_infer_dims(c, 0, c->in[0]->dtype, 0, NULL);
}

/* The attributes of the three conv2d rows are alike. */
static janus_status check_conv(jn_infer *c) {
    const janus_conv2d_attrs *a = c->attrs;
    if (a->stride.n != 2 || a->padding.n != 2 || a->dilation.n != 2)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT,
                             "stride, padding and dilation need two entries each");
    for (int i = 0; i < 2; i++) {
        if (a->stride.data[i] <= 0 || a->dilation.data[i] <= 0 || a->padding.data[i] < 0)
            return jn_infer_fail(c, JANUS_INVALID_ARGUMENT,
                                 "stride and dilation must be positive, padding not negative");
    }
    if (a->groups <= 0)
        return jn_infer_fail(c, JANUS_INVALID_ARGUMENT, "groups must be positive");
    return JANUS_OK;
}

/* Dims of the result of operands x and weight; both have 4 or are of unknown rank. */
static janus_status conv_dims(jn_infer *c, unsigned x, unsigned weight, int64_t *d) {
    const janus_conv2d_attrs *a = c->attrs;
    JN_TRY(check_conv(c));
    JN_TRY(jn_infer_want_rank(c, x, 4, "4 dims [N,C,H,W]"));
    JN_TRY(jn_infer_want_rank(c, weight, 4, "4 dims [O,C/groups,KH,KW]"));
    int64_t o = dim_of(c, weight, 0), ch = dim_of(c, x, 1);
    JN_TRY(want_size(c, x, 1, jn_dim_mul(dim_of(c, weight, 1), a->groups),
                     "groups times as many channels as weight has columns"));
    if ((o >= 0 && o % a->groups != 0) || (ch >= 0 && ch % a->groups != 0))
        return jn_infer_fail(c, JANUS_SHAPE, "channels cannot be divided into %lld groups",
                             (long long)a->groups);
    d[0] = dim_of(c, x, 0);
    d[1] = o;
    for (int i = 0; i < 2; i++) {
        int64_t size = dim_of(c, x, 2 + i), k = dim_of(c, weight, 2 + i);
        d[2 + i] = JN_DIM_UNKNOWN;
        if (k == 0)
            return jn_infer_expected(c, JANUS_SHAPE, weight, "a kernel with elements");
        if (size < 0 || k < 0)
            continue;
        int64_t room = jn_window_room(size, k, a->padding.data[i], a->dilation.data[i]);
        if (room < 0)
            return jn_infer_fail(c, JANUS_SHAPE, "kernel of size %lld does not fit %lld",
                                 (long long)k, (long long)size);
        d[2 + i] = room / a->stride.data[i] + 1;
    }
    return JANUS_OK;
}

janus_status jn_infer_conv2d(jn_infer *c) {
    int64_t d[4];
    JN_TRY(conv_dims(c, 0, 1, d));
    if (jn_infer_has(c, 2)) {
        JN_TRY(jn_infer_want_rank(c, 2, 1, "1 dim"));
        JN_TRY(want_size(c, 2, 0, d[1], "one entry per output channel"));
    }
    return jn_infer_dims(c, 0, c->in[0]->dtype, 4, d);
}

janus_status jn_infer_conv2d_input_grad(jn_infer *c) {
    int64_t d[4];
    JN_TRY(conv_dims(c, 2, 1, d));
    JN_TRY(jn_infer_want_dims(c, 0, 4, d, "the dims of conv2d's result"));
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[2]);
}

janus_status jn_infer_conv2d_weight_grad(jn_infer *c) {
    int64_t d[4];
    JN_TRY(conv_dims(c, 1, 2, d));
    JN_TRY(jn_infer_want_dims(c, 0, 4, d, "the dims of conv2d's result"));
    return jn_infer_like(c, 0, c->in[0]->dtype, c->in[2]);
}
