/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradient rules of batch_norm and layer_norm, and of their gradients.
 *
 * With h = (x - mean) r, r = 1 / sqrt(var + eps) and P(v) = v - mean(v) - h mean(v h), means over
 * the group that is normalised, the first gradient is dx = r P(w dy), dw = sum(dy h), db = sum(dy).
 * mean and r are operands there, but functions of x: the second gradient below is the total one,
 * and mean and r get none.  It follows from dh = r P(dx), dr = -r r mean(h dx) and P being
 * symmetric.
 */
#include "config.h"

#include "ops/grad/grad.h"

/* What the two ops differ in: the dims of a group, and how per-group and per-weight values are
 * shaped to broadcast against x. */
typedef struct norm {
    jn_gx *g;
    jn_ev x, weight; /* weight none: ones */
    int rank, axis;  /* axis: layer_norm's first; batch_norm: -1 */
    int64_t dims[JN_MAX_RANK];
    janus_ints over; /* dims of a group */
} norm;

static bool norm_init(norm *n, jn_gx *g, jn_ev x, jn_ev weight, bool batch, int64_t axis) {
    n->g = g;
    n->x = x;
    n->weight = weight;
    n->rank = jn_g_rank(g, x);
    n->over = (janus_ints){n->dims, 0};
    if (g->st == JANUS_OK && n->rank < 0)
        jn_g_unsupported(g, "operand of unknown rank");
    if (g->st != JANUS_OK)
        return false;
    n->axis = batch ? -1 : (int)(axis < 0 ? axis + n->rank : axis);
    for (int i = 0; i < n->rank; i++) {
        if (batch ? i != 1 : i >= n->axis)
            n->dims[n->over.n++] = i;
    }
    return true;
}

/* A value per group, or (weights) per element of a group, made to broadcast against x. */
static jn_ev spread(const norm *n, jn_ev v, bool per_group) {
    if (n->axis < 0) { /* [C] -> [C,1,...] */
        for (int i = 2; i < n->rank; i++)
            v = jn_g_unsqueeze(n->g, v, -1);
    } else if (per_group) {
        for (int i = n->axis; i < n->rank; i++)
            v = jn_g_unsqueeze(n->g, v, -1);
    }
    return v;
}

static jn_ev group_mean(const norm *n, jn_ev v) { return jn_g_mean(n->g, v, n->over, true); }

/* v - mean(v) - h mean(v h) */
static jn_ev project(const norm *n, jn_ev v, jn_ev h) {
    jn_gx *g = n->g;
    jn_ev along = jn_g_mul(g, h, group_mean(n, jn_g_mul(g, v, h)));
    return jn_g_sub(g, jn_g_sub(g, v, group_mean(n, v)), along);
}

static jn_ev times_weight(const norm *n, jn_ev v) {
    return jn_ev_is_none(n->weight) ? v : jn_g_mul(n->g, v, spread(n, n->weight, false));
}

/* Sum over everything that a weight is shared by, in the weight's shape. */
static jn_ev sum_to_weight(const norm *n, jn_ev v) {
    int64_t dims[JN_MAX_RANK];
    size_t k = 0;
    for (int i = 0; i < n->rank; i++) {
        if (n->axis < 0 ? i != 1 : i < n->axis)
            dims[k++] = i;
    }
    return k ? jn_g_sum(n->g, v, (janus_ints){dims, k}, false) : v;
}

static jn_ev add_some(jn_gx *g, jn_ev a, jn_ev b) {
    return jn_ev_is_none(a) ? b : jn_ev_is_none(b) ? a : jn_g_add(g, a, b);
}

static void running_grads(jn_gx *g, jn_ev dw, jn_ev db);

/* `running`: operands 3 and 4 were the statistics. */
static janus_status norm_grad(jn_gx *g, const jn_op *op, const void *attrs, bool running) {
    jn_grad *r = g->r;
    jn_ev in[5] = {r->dout[0], r->in[0], r->n_in > 1 ? r->in[1] : JN_EV_NONE, r->out[1], r->out[2]};
    jn_ev out[3];
    if (!jn_ev_is_none(r->dout[1]) || !jn_ev_is_none(r->dout[2]))
        jn_g_unsupported(g, "the statistics");
    if (jn_ev_is_none(r->dout[0]))
        return g->st;
    jn_g_emit(g, op, in, 5, attrs, out, 3);
    for (unsigned i = 0; i < 3; i++) {
        if (JN_WANT(g, i))
            jn_g_set(g, i, out[i]);
    }
    if (running)
        running_grads(g, out[1], out[2]);
    return g->st;
}

/* v in the dtype of `like`: statistics of halves are f32. */
static jn_ev as_dtype(jn_gx *g, jn_ev v, jn_ev like) {
    jn_gtype a, b;
    if (jn_ev_is_none(v))
        return v;
    jn_g_type(g, v, &a);
    jn_g_type(g, like, &b);
    return a.t.dtype == b.t.dtype ? v
                                  : jn_g_op1(g, JN_OP(cast), v, JN_ATTRS(cast, .dtype = b.t.dtype));
}

/* dmean = -w r db, dvar = -w r r dw / 2 of running statistics that were used. */
static void running_grads(jn_gx *g, jn_ev dw, jn_ev db) {
    jn_grad *r = g->r;
    jn_ev inv = r->out[2], w = as_dtype(g, r->in[1], inv);
    if (JN_WANT(g, 3)) {
        jn_ev d = jn_g_neg(g, jn_g_mul(g, inv, as_dtype(g, db, inv)));
        d = jn_ev_is_none(w) ? d : jn_g_mul(g, d, w);
        jn_g_set(g, 3, as_dtype(g, d, r->in[3]));
    }
    if (JN_WANT(g, 4)) {
        jn_ev sum = jn_g_mul(g, JN_G1(g, square, inv), as_dtype(g, dw, inv));
        jn_ev d = jn_g_scale(g, sum, -0.5);
        d = jn_ev_is_none(w) ? d : jn_g_mul(g, d, w);
        jn_g_set(g, 4, as_dtype(g, d, r->in[4]));
    }
}

janus_status jn_grad_batch_norm(jn_grad *r) {
    const janus_batch_norm_attrs *a = r->attrs;
    jn_gx g = {r, JANUS_OK};
    return norm_grad(&g, JN_OP(batch_norm_grad), JN_ATTRS(batch_norm_grad, .training = a->training),
                     !a->training);
}

janus_status jn_grad_layer_norm(jn_grad *r) {
    const janus_layer_norm_attrs *a = r->attrs;
    jn_gx g = {r, JANUS_OK};
    return norm_grad(&g, JN_OP(layer_norm_grad), JN_ATTRS(layer_norm_grad, .axis = a->axis), false);
}

/* Fixed statistics: dx = w r dy. */
static janus_status fixed_grad_grad(const norm *n, jn_ev h, jn_ev inv, jn_ev gx, jn_ev gw,
                                    jn_ev gb) {
    jn_gx *g = n->g;
    jn_ev dy = g->r->in[0], rgx = jn_ev_is_none(gx) ? gx : jn_g_mul(g, gx, inv);
    if (JN_WANT(g, 0)) {
        jn_ev d = jn_ev_is_none(rgx) ? rgx : times_weight(n, rgx);
        if (!jn_ev_is_none(gw))
            d = add_some(g, d, jn_g_mul(g, spread(n, gw, false), h));
        if (!jn_ev_is_none(gb))
            d = add_some(g, d, JN_G2(g, expand_like, spread(n, gb, false), n->x));
        jn_g_set(g, 0, d);
    }
    if (JN_WANT(g, 1) && !jn_ev_is_none(gw))
        jn_g_set(g, 1, jn_g_mul(g, jn_g_mul(g, spread(n, gw, false), dy), inv));
    if (JN_WANT(g, 2) && !jn_ev_is_none(rgx))
        jn_g_set(g, 2, sum_to_weight(n, jn_g_mul(g, rgx, dy)));
    return g->st;
}

static janus_status norm_grad_grad(const norm *n, bool training) {
    jn_gx *g = n->g;
    jn_grad *r = g->r;
    jn_ev dy = r->in[0], gx = r->dout[0], gw = r->dout[1], gb = r->dout[2];
    jn_ev inv = spread(n, r->in[4], true);
    jn_ev h = jn_g_mul(g, jn_g_sub(g, n->x, spread(n, r->in[3], true)), inv);
    if (!training)
        return fixed_grad_grad(n, h, inv, gx, gw, gb);
    jn_ev pgx = jn_ev_is_none(gx) ? gx : jn_g_mul(g, inv, project(n, gx, h)); /* r P(gx) */
    if (JN_WANT(g, 0)) {
        jn_ev d = jn_ev_is_none(pgx) ? pgx : times_weight(n, pgx);
        if (!jn_ev_is_none(gw))
            d = add_some(g, d, jn_g_mul(g, spread(n, gw, false), h));
        if (!jn_ev_is_none(gb))
            d = add_some(g, d, JN_G2(g, expand_like, spread(n, gb, false), n->x));
        jn_g_set(g, 0, d);
    }
    if (JN_WANT(g, 1)) {
        jn_ev d = JN_EV_NONE;
        if (!jn_ev_is_none(gx)) {
            /* -r r (h mean(gx P e) + P(gx mean(e h) + e mean(gx h))) with e = w dy */
            jn_ev e = times_weight(n, dy);
            jn_ev first = jn_g_mul(g, h, group_mean(n, jn_g_mul(g, gx, project(n, e, h))));
            jn_ev mixed = jn_g_add(g, jn_g_mul(g, gx, group_mean(n, jn_g_mul(g, e, h))),
                                   jn_g_mul(g, e, group_mean(n, jn_g_mul(g, gx, h))));
            jn_ev sum = jn_g_add(g, first, project(n, mixed, h));
            d = jn_g_neg(g, jn_g_mul(g, JN_G1(g, square, inv), sum));
        }
        if (!jn_ev_is_none(gw)) {
            jn_ev v = jn_g_mul(g, spread(n, gw, false), dy);
            d = add_some(g, d, jn_g_mul(g, inv, project(n, v, h)));
        }
        jn_g_set(g, 1, d);
    }
    if (JN_WANT(g, 2) && !jn_ev_is_none(pgx))
        jn_g_set(g, 2, sum_to_weight(n, jn_g_mul(g, dy, pgx)));
    return g->st;
}

janus_status jn_grad_batch_norm_grad(jn_grad *r) {
    const janus_batch_norm_grad_attrs *a = r->attrs;
    jn_gx g = {r, JANUS_OK};
    norm n;
    if (!norm_init(&n, &g, r->in[1], r->in[2], true, 0))
        return g.st;
    return norm_grad_grad(&n, a->training != 0);
}

janus_status jn_grad_layer_norm_grad(jn_grad *r) {
    const janus_layer_norm_grad_attrs *a = r->attrs;
    jn_gx g = {r, JANUS_OK};
    norm n;
    if (!norm_init(&n, &g, r->in[1], r->in[2], false, a->axis))
        return g.st;
    return norm_grad_grad(&n, true);
}
