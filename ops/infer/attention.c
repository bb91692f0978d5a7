/* SPDX-License-Identifier: Apache-2.0 */
/* Inference of attention and of its gradient. */
#include "config.h"

#include "ops/infer/infer.h"

typedef struct sizes {
    int rank; /* of a result; -1: unknown */
    int64_t batch[JN_MAX_RANK], l, s, e, v;
} sizes;

/* Dim `from_end` of operand i agrees with *size, which is refined. */
static janus_status agree(jn_infer *c, unsigned i, int from_end, int64_t *size,
                          const char *expected) {
    const jn_type *t = c->in[i];
    return jn_dim_merge(t->dims[t->rank - from_end], *size, size)
               ? JANUS_OK
               : jn_infer_expected(c, JANUS_SHAPE, i, expected);
}

/* A mask broadcasts to the scores, never the other way. */
static janus_status check_mask(jn_infer *c, unsigned i, sizes *z) {
    const jn_type *m = c->in[i];
    int64_t *size[2] = {&z->s, &z->l};
    for (int from_end = 1; from_end <= 2 && from_end <= m->rank; from_end++)
        if (m->dims[m->rank - from_end] != 1 && m->dims[m->rank - from_end] != JN_DIM_UNKNOWN)
            JN_TRY(agree(c, i, from_end, size[from_end - 1], "dims that broadcast to [...,L,S]"));
    return JANUS_OK;
}

/* The sizes from query, key, value and mask, which are operands `first` and on. */
static janus_status find(jn_infer *c, unsigned first, sizes *z) {
    const jn_type *q = c->in[first], *k = c->in[first + 1], *v = c->in[first + 2];
    bool mask = jn_infer_has(c, first + 3), known = true;
    z->rank = -1;
    z->l = z->s = z->e = z->v = JN_DIM_UNKNOWN;
    for (unsigned i = 0; i < 3; i++) {
        const jn_type *t = c->in[first + i];
        known = known && t->rank >= 0;
        if (t->rank >= 0 && t->rank < 2)
            return jn_infer_expected(c, JANUS_SHAPE, first + i, "at least 2 dims");
    }
    if (mask) {
        const jn_type *m = c->in[first + 3];
        known = known && m->rank >= 0;
        if (m->dtype != JANUS_BOOL && m->dtype != q->dtype)
            return jn_infer_expected(c, JANUS_DTYPE, first + 3, "bools, or numbers like query");
    }
    if (!known)
        return JANUS_OK;
    z->l = q->dims[q->rank - 2];
    z->e = q->dims[q->rank - 1];
    z->s = k->dims[k->rank - 2];
    z->v = v->dims[v->rank - 1];
    JN_TRY(agree(c, first + 1, 1, &z->e, "keys as long as queries"));
    JN_TRY(agree(c, first + 2, 2, &z->s, "a value per key"));
    if (mask)
        JN_TRY(check_mask(c, first + 3, z));
    z->rank = 2;
    for (unsigned i = 0; i < (mask ? 4u : 3u); i++)
        z->rank = c->in[first + i]->rank > z->rank ? c->in[first + i]->rank : z->rank;
    for (int d = 0; d < z->rank - 2; d++) {
        z->batch[d] = 1;
        for (unsigned i = 0; i < (mask ? 4u : 3u); i++) {
            const jn_type *t = c->in[first + i];
            int at = d - z->rank + t->rank;
            if (at >= 0 && !jn_dim_broadcast(z->batch[d], t->dims[at], &z->batch[d]))
                return jn_infer_expected(c, JANUS_SHAPE, first + i, "batch dims that broadcast");
        }
    }
    return JANUS_OK;
}

/* Operand i is like a result of attention, [...,L,V] (own 2) or [...,L], or broadcasts to it along
 * the batch dims. */
static janus_status check_result(jn_infer *c, unsigned i, const sizes *z, int own,
                                 const char *expected) {
    const jn_type *t = c->in[i];
    const int64_t last[2] = {z->l, z->v};
    int64_t m;
    if (z->rank < 2 || t->rank < 0)
        return JANUS_OK;
    int more = z->rank - 2 - (t->rank - own); /* batch dims that it does not have */
    bool ok = t->rank >= own && more >= 0;
    for (int d = 0; ok && d < t->rank; d++) {
        int at = d - (t->rank - own);
        int64_t want = at >= 0 ? last[at] : z->batch[d + more];
        ok = (at < 0 && t->dims[d] == 1) || jn_dim_merge(t->dims[d], want, &m);
    }
    return ok ? JANUS_OK : jn_infer_expected(c, JANUS_SHAPE, i, expected);
}

static janus_status result(jn_infer *c, unsigned i, int dtype, sizes *z, int own, int64_t a,
                           int64_t b) {
    if (z->rank < 2)
        return jn_infer_unknown(c, i, dtype);
    int64_t dims[JN_MAX_RANK];
    int n = z->rank - 2;
    for (int d = 0; d < n; d++)
        dims[d] = z->batch[d];
    dims[n] = a;
    if (own == 2)
        dims[n + 1] = b;
    return jn_infer_dims(c, i, dtype, n + own, dims);
}

janus_status jn_infer_attention(jn_infer *c) {
    sizes z;
    int dtype = c->in[0]->dtype;
    JN_TRY(find(c, 0, &z));
    JN_TRY(result(c, 0, dtype, &z, 2, z.l, z.v));
    return result(c, 1, dtype == JANUS_F64 ? JANUS_F64 : JANUS_F32, &z, 1, z.l, 0);
}

janus_status jn_infer_attention_grad(jn_infer *c) {
    sizes z;
    int dtype = c->in[1]->dtype;
    JN_TRY(find(c, 1, &z));
    JN_TRY(check_result(c, 0, &z, 2, "the dims of attention's result"));
    JN_TRY(check_result(c, 5, &z, 2, "the dims of attention's result"));
    JN_TRY(check_result(c, 6, &z, 1, "the dims of attention's sums"));
    JN_TRY(result(c, 0, dtype, &z, 2, z.l, z.e));
    JN_TRY(result(c, 1, dtype, &z, 2, z.s, z.e));
    return result(c, 2, dtype, &z, 2, z.s, z.v);
}
