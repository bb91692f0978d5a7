/* SPDX-License-Identifier: Apache-2.0 */
/* Reference kernels of attention: row by row of the scores, in double. */
#include "config.h"

#include "ops/attention_rules.h"
#include "ops/ref/ref.h"

#include "graph/base/alloc.h"

#include <math.h>

/* An operand at one member of the batch. */
typedef struct mat {
    const jn_view *v;
    int64_t at, row, col;
} mat;

static mat mat_of(const jn_attention *t, const jn_view *v, int64_t i) {
    int64_t strides[JN_MAX_RANK];
    jn_attention_strides(t, v, 2, strides);
    return (mat){v, jn_attention_at(t, strides, i), v->strides[v->rank - 2],
                 v->strides[v->rank - 1]};
}

/* Masks and lse have fewer dims of their own. */
static mat mask_of(const jn_attention *t, const jn_view *v, int64_t i) {
    int64_t strides[JN_MAX_RANK];
    if (v->rank < 0)
        return (mat){0};
    jn_attention_strides(t, v, 2, strides);
    return (mat){v, jn_attention_at(t, strides, i), jn_attention_mask_stride(v, 2),
                 jn_attention_mask_stride(v, 1)};
}

static double get(const mat *m, int64_t r, int64_t c) {
    return jn_load_f(m->v, m->at + r * m->row + c * m->col);
}

/* Scores of query i, then their weights; returns log(sum(exp(scores))). */
static double weights(const jn_attention *t, const mat *q, const mat *k, const mat *mask, int64_t i,
                      double *w) {
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < t->s; j++) {
        double f = 0;
        for (int64_t e = 0; e < t->e; e++)
            f += get(q, i, e) * get(k, j, e);
        f *= t->scale;
        if (mask->v && mask->v->dtype == JANUS_BOOL)
            f = jn_load_i(mask->v, mask->at + i * mask->row + j * mask->col) ? f : -INFINITY;
        else if (mask->v)
            f += get(mask, i, j);
        if (t->causal && j > i)
            f = -INFINITY;
        w[j] = f;
        most = isnan(f) || f > most ? f : most;
    }
    for (int64_t j = 0; j < t->s && most != -INFINITY; j++)
        sum += w[j] = exp(w[j] - most);
    for (int64_t j = 0; j < t->s; j++) /* nothing allowed: nothing attended to */
        w[j] = most == -INFINITY ? 0 : w[j] / sum;
    return most == -INFINITY ? most : most + log(sum);
}

static double *scratch(const jn_kargs *k, int64_t n) {
    double *w = jn_alloc(((size_t)n + 1) * sizeof *w);
    if (!w)
        *k->flags |= JN_KFLAG_MEMORY;
    return w;
}

static void k_attention(const jn_kargs *k) {
    const jn_view *none = &(jn_view){.rank = -1}, *y = &k->out[0], *lse = &k->out[1];
    jn_attention t = jn_attention_of(&k->in[0], &k->in[1], &k->in[2], y, k->attrs);
    double *w = scratch(k, t.s);
    for (int64_t b = 0; w && b < t.batch; b++) {
        mat q = mat_of(&t, &k->in[0], b), key = mat_of(&t, &k->in[1], b),
            v = mat_of(&t, &k->in[2], b),
            mask = mask_of(&t, jn_present(k, 3) ? &k->in[3] : none, b);
        for (int64_t i = 0; i < t.l; i++) {
            jn_store_f(lse, b * t.l + i, weights(&t, &q, &key, &mask, i, w));
            for (int64_t c = 0; c < t.v; c++) {
                double f = 0;
                for (int64_t j = 0; j < t.s; j++)
                    f += w[j] * get(&v, j, c);
                jn_store_f(y, (b * t.l + i) * t.v + c, f);
            }
        }
    }
    jn_free(w);
}

/* One member of the batch; its sums of dkey and dvalue are kept in double. */
static void one_grad(const jn_kargs *k, const jn_attention *t, int64_t b, double *w, double *dk,
                     double *dv) {
    const jn_view *none = &(jn_view){.rank = -1};
    mat dy = mat_of(t, &k->in[0], b), q = mat_of(t, &k->in[1], b), key = mat_of(t, &k->in[2], b),
        v = mat_of(t, &k->in[3], b), mask = mask_of(t, jn_present(k, 4) ? &k->in[4] : none, b);
    double *dw = w + t->s;
    for (int64_t i = 0; i < t->l; i++) {
        double total = 0;
        weights(t, &q, &key, &mask, i, w);
        for (int64_t j = 0; j < t->s; j++) {
            dw[j] = 0;
            for (int64_t c = 0; c < t->v; c++) {
                dw[j] += get(&dy, i, c) * get(&v, j, c);
                dv[j * t->v + c] += w[j] * get(&dy, i, c);
            }
            total += dw[j] * w[j];
        }
        for (int64_t j = 0; j < t->s; j++)
            dw[j] = w[j] * (dw[j] - total) * t->scale;
        for (int64_t e = 0; e < t->e; e++) {
            double f = 0;
            for (int64_t j = 0; j < t->s; j++) {
                f += dw[j] * get(&key, j, e);
                dk[j * t->e + e] += dw[j] * get(&q, i, e);
            }
            jn_store_f(&k->out[0], (b * t->l + i) * t->e + e, f);
        }
    }
}

static void k_attention_grad(const jn_kargs *k) {
    jn_attention t = jn_attention_of(&k->in[1], &k->in[2], &k->in[3], &k->out[0], k->attrs);
    int64_t nk = t.s * t.e, nv = t.s * t.v;
    double *w = scratch(k, 2 * t.s + nk + nv);
    for (int64_t b = 0; w && b < t.batch; b++) {
        double *dk = w + 2 * t.s, *dv = dk + nk;
        for (int64_t i = 0; i < nk + nv; i++)
            dk[i] = 0;
        one_grad(k, &t, b, w, dk, dv);
        for (int64_t i = 0; i < nk; i++)
            jn_store_f(&k->out[1], b * nk + i, dk[i]);
        for (int64_t i = 0; i < nv; i++)
            jn_store_f(&k->out[2], b * nv + i, dv[i]);
    }
    jn_free(w);
}

jn_kernel_fn jn_ref_attention(const jn_sig *sig) {
    (void)sig;
    return k_attention;
}
jn_kernel_fn jn_ref_attention_grad(const jn_sig *sig) {
    (void)sig;
    return k_attention_grad;
}
