/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention on f32 and f64: the scores of some queries at a time, as a product, weights in place,
 * another product.  Keys that come after a causal block are left out.  Forward, blocks of queries
 * are shared out to threads; backward, members of the batch are, since each sums over its queries.
 */
#include <math.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "ops/attention_rules.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/gemm.h"
#include "ops/op_ids.h"
#include "ops/rules.h"

enum { QUERIES = 64 }; /* of a block */

typedef struct attention {
    const jn_kargs *k;
    const jn_view *dy, *q, *key, *value, *mask; /* dy NULL: forward; mask NULL: none */
    jn_attention t;
    int dtype;
    size_t size;
    int64_t blocks; /* per member of the batch */
} attention;

/* A matrix of one member of the batch. */
typedef struct mat {
    char *p;
    int64_t row, col;
} mat;

static mat mat_of(const attention *a, const jn_view *v, int64_t b) {
    int64_t strides[JN_MAX_RANK];
    jn_attention_strides(&a->t, v, 2, strides);
    return (mat){(char *)v->data + jn_attention_at(&a->t, strides, b) * (int64_t)a->size,
                 v->strides[v->rank - 2], v->strides[v->rank - 1]};
}
static mat rows_from(const attention *a, mat m, int64_t row) {
    m.p += row * m.row * (int64_t)a->size;
    return m;
}
static mat flipped(mat m) { return (mat){m.p, m.col, m.row}; }

/* c[m][n] = a[m][k] b[k][n], rows of c ldc apart */
static void product(const attention *t, int64_t m, int64_t n, int64_t k, mat a, mat b, void *c,
                    int64_t ldc, bool add) {
    jn_gemm_args g = {.m = m,
                      .n = n,
                      .k = k,
                      .a = a.p,
                      .a_row = a.row,
                      .a_col = a.col,
                      .b = b.p,
                      .b_row = b.row,
                      .b_col = b.col,
                      .c = c,
                      .ldc = ldc,
                      .accumulate = add};
    if (m && n && k)
        jn_gemm(t->dtype, &g, &jn_par_serial);
}

#define ROW(T, sfx, LOWEST)                                                                        \
    /* Scaled and masked scores of a query; the largest, NaN where one is. */                      \
    static T mask_##sfx(const attention *a, T *w, int64_t n, int64_t i, const char *mask) {        \
        T scale = (T)a->t.scale, most = LOWEST;                                                    \
        for (int64_t j = 0; j < n; j++)                                                            \
            w[j] *= scale;                                                                         \
        if (mask) {                                                                                \
            int64_t row = jn_attention_mask_stride(a->mask, 2),                                    \
                    col = jn_attention_mask_stride(a->mask, 1);                                    \
            if (a->mask->dtype == JANUS_BOOL)                                                      \
                for (int64_t j = 0; j < n; j++)                                                    \
                    w[j] = ((const bool *)mask)[i * row + j * col] ? w[j] : LOWEST;                \
            else                                                                                   \
                for (int64_t j = 0; j < n; j++)                                                    \
                    w[j] += ((const T *)(const void *)mask)[i * row + j * col];                    \
        }                                                                                          \
        for (int64_t j = i + 1; j < n && a->t.causal; j++)                                         \
            w[j] = LOWEST;                                                                         \
        for (int64_t j = 0; j < n; j++)                                                            \
            most = w[j] > most || w[j] != w[j] ? w[j] : most;                                      \
        return most;                                                                               \
    }                                                                                              \
    static double weigh_##sfx(const attention *a, T *w, int64_t n, int64_t i, const char *mask) {  \
        T most = mask_##sfx(a, w, n, i, mask), top = 0;                                            \
        if (most == LOWEST) {                                                                      \
            memset(w, 0, (size_t)n * sizeof *w);                                                   \
            return most;                                                                           \
        }                                                                                          \
        jn_isa.softmax[a->dtype](w, w, n, false);                                                  \
        for (int64_t j = 0; j < n; j++)                                                            \
            top = w[j] > top || w[j] != w[j] ? w[j] : top;                                         \
        return (double)most - log((double)top); /* the largest weight is exp(most - lse) */        \
    }
ROW(float, f32, -INFINITY)
ROW(double, f64, -INFINITY)

/* Weights of queries [first, first + rows) over the first n keys; lse NULL: not wanted. */
static void weights(const attention *a, int64_t b, int64_t first, int64_t rows, int64_t n, char *w,
                    char *lse) {
    mat q = rows_from(a, mat_of(a, a->q, b), first), k = mat_of(a, a->key, b);
    const char *mask = NULL;
    if (a->mask) {
        int64_t strides[JN_MAX_RANK], size = a->mask->dtype == JANUS_BOOL ? 1 : (int64_t)a->size;
        jn_attention_strides(&a->t, a->mask, 2, strides);
        mask = (const char *)a->mask->data + jn_attention_at(&a->t, strides, b) * size;
    }
    if (a->t.e == 0)
        memset(w, 0, (size_t)(rows * n) * a->size);
    product(a, rows, n, a->t.e, q, flipped(k), w, n, false);
    for (int64_t i = 0; i < rows; i++) {
        void *row = w + (size_t)(i * n) * a->size;
        double f = a->dtype == JANUS_F32 ? weigh_f32(a, row, n, first + i, mask)
                                         : weigh_f64(a, row, n, first + i, mask);
        if (lse && a->dtype == JANUS_F32)
            ((float *)(void *)lse)[i] = (float)f;
        else if (lse)
            ((double *)(void *)lse)[i] = f;
    }
}

static char *scratch(const attention *a, int64_t n) {
    char *p = jn_alloc_aligned(((size_t)n + 1) * a->size);
    if (!p)
        __atomic_fetch_or(a->k->flags, JN_KFLAG_MEMORY, __ATOMIC_RELAXED);
    return p;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static void forward(void *arg, int64_t begin, int64_t end) {
    const attention *a = arg;
    const jn_attention *t = &a->t;
    char *w = scratch(a, QUERIES * t->s);
    for (int64_t i = begin; w && i < end; i++) {
        int64_t b = i / a->blocks, first = i % a->blocks * QUERIES;
        int64_t rows = least(QUERIES, t->l - first), at = b * t->l + first;
        int64_t n = t->causal ? least(t->s, first + rows) : t->s;
        char *y = (char *)a->k->out[0].data + (size_t)(at * t->v) * a->size;
        weights(a, b, first, rows, n, w, (char *)a->k->out[1].data + (size_t)at * a->size);
        if (n == 0)
            memset(y, 0, (size_t)(rows * t->v) * a->size);
        product(a, rows, t->v, n, (mat){w, n, 1}, mat_of(a, a->value, b), y, t->v, false);
    }
    jn_free_aligned(w);
}

static void scale_f32(float *w, int64_t n, float f) {
    for (int64_t i = 0; i < n; i++)
        w[i] *= f;
}
static void scale_f64(double *w, int64_t n, double f) {
    for (int64_t i = 0; i < n; i++)
        w[i] *= f;
}

static void backward(void *arg, int64_t begin, int64_t end) {
    const attention *a = arg;
    const jn_attention *t = &a->t;
    char *w = scratch(a, 2 * QUERIES * t->s), *dw = w + (size_t)(QUERIES * t->s) * a->size;
    for (int64_t b = begin; w && b < end; b++) {
        mat q = mat_of(a, a->q, b), key = mat_of(a, a->key, b), v = mat_of(a, a->value, b),
            dy = mat_of(a, a->dy, b);
        char *dk = (char *)a->k->out[1].data + (size_t)(b * t->s * t->e) * a->size;
        char *dv = (char *)a->k->out[2].data + (size_t)(b * t->s * t->v) * a->size;
        memset(dk, 0, (size_t)(t->s * t->e) * a->size);
        memset(dv, 0, (size_t)(t->s * t->v) * a->size);
        for (int64_t first = 0; first < t->l; first += QUERIES) {
            int64_t rows = least(QUERIES, t->l - first);
            int64_t n = t->causal ? least(t->s, first + rows) : t->s;
            mat wm = {w, n, 1}, dwm = {dw, n, 1}, dys = rows_from(a, dy, first);
            char *dq = (char *)a->k->out[0].data + (size_t)((b * t->l + first) * t->e) * a->size;
            weights(a, b, first, rows, n, w, NULL);
            product(a, n, t->v, rows, flipped(wm), dys, dv, t->v, true);
            if (t->v == 0)
                memset(dw, 0, (size_t)(rows * n) * a->size);
            product(a, rows, n, t->v, dys, flipped(v), dw, n, false);
            for (int64_t i = 0; i < rows; i++) {
                size_t at = (size_t)(i * n) * a->size;
                jn_isa.softmax_grad[a->dtype](dw + at, w + at, dw + at, n, false);
            }
            if (a->dtype == JANUS_F32)
                scale_f32((void *)dw, rows * n, (float)t->scale);
            else
                scale_f64((void *)dw, rows * n, t->scale);
            if (n == 0)
                memset(dq, 0, (size_t)(rows * t->e) * a->size);
            product(a, rows, t->e, n, dwm, key, dq, t->e, false);
            product(a, n, t->e, rows, flipped(dwm), rows_from(a, q, first), dk, t->e, true);
        }
    }
    jn_free_aligned(w);
}

static attention attention_of(const jn_kargs *k, unsigned first) {
    attention a = {
        .k = k, .q = &k->in[first], .key = &k->in[first + 1], .value = &k->in[first + 2]};
    a.t = jn_attention_of(a.q, a.key, a.value, &k->out[0], k->attrs);
    a.mask = first + 3 < k->n_in && k->in[first + 3].rank >= 0 ? &k->in[first + 3] : NULL;
    a.dtype = a.q->dtype;
    a.size = jn_elem_size(a.dtype);
    a.blocks = (a.t.l + QUERIES - 1) / QUERIES;
    return a;
}

static void run_attention(const jn_kargs *k) {
    attention a = attention_of(k, 0);
    if (a.t.batch > 0 && a.blocks > 0)
        k->par->run(k->par, a.t.batch * a.blocks, 1, forward, &a);
}
static void run_attention_grad(const jn_kargs *k) {
    attention a = attention_of(k, 1);
    a.dy = &k->in[0];
    if (a.t.batch)
        k->par->run(k->par, a.t.batch, 1, backward, &a);
}

jn_kernel_fn jn_cpu_attention(const jn_sig *sig) {
    return sig->in[0].dtype <= JANUS_F64 ? run_attention : jn_ref_attention(sig);
}
jn_kernel_fn jn_cpu_attention_grad(const jn_sig *sig) {
    return sig->in[1].dtype <= JANUS_F64 ? run_attention_grad : jn_ref_attention_grad(sig);
}
