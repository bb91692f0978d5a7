/* SPDX-License-Identifier: Apache-2.0 */
/* Reference kernels of products and convolutions: sums in double, in order of the inner index. */
#include "config.h"

#include "ops/ref/ref.h"

/* A matrix inside a tensor. */
typedef struct mat {
    const jn_view *v;
    int64_t at, row, col; /* offset, strides */
} mat;

/* y[m][n] = sum over k of a[m][k] * b[k][n], or += */
static void product(mat a, mat b, mat y, int64_t m, int64_t n, int64_t kk, bool add) {
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            int64_t yo = y.at + i * y.row + j * y.col;
            double f = add ? jn_load_f(y.v, yo) : 0;
            uint64_t s = add ? (uint64_t)jn_load_i(y.v, yo) : 0;
            for (int64_t k = 0; k < kk; k++) {
                int64_t ao = a.at + i * a.row + k * a.col, bo = b.at + k * b.row + j * b.col;
                if (jn_is_float(y.v))
                    f += jn_load_f(a.v, ao) * jn_load_f(b.v, bo);
                else
                    s += (uint64_t)jn_load_i(a.v, ao) * (uint64_t)jn_load_i(b.v, bo);
            }
            if (jn_is_float(y.v))
                jn_store_f(y.v, yo, f);
            else
                jn_store_i(y.v, yo, (int64_t)s);
        }
    }
}

static void k_matmul(const jn_kargs *k) {
    const janus_matmul_attrs *at = k->attrs;
    const jn_view *a = &k->in[0], *b = &k->in[1], *y = &k->out[0];
    mat ma = {a, 0, 0, a->strides[a->rank - 1]}, mb = {b, 0, b->strides[0], 0}, my = {y, 0, 0, 0};
    int64_t m = 1, n = 1, kk = a->dims[a->rank - 1];
    if (a->rank > 1) {
        int row = at->transpose_a ? a->rank - 1 : a->rank - 2;
        int col = at->transpose_a ? a->rank - 2 : a->rank - 1;
        ma = (mat){a, 0, a->strides[row], a->strides[col]};
        m = a->dims[row];
        kk = a->dims[col];
    }
    if (b->rank > 1) {
        int row = at->transpose_b ? b->rank - 1 : b->rank - 2;
        int col = at->transpose_b ? b->rank - 2 : b->rank - 1;
        mb = (mat){b, 0, b->strides[row], b->strides[col]};
        n = b->dims[col];
    }
    int last = y->rank - 1;
    if (b->rank > 1)
        my.col = y->strides[last--];
    if (a->rank > 1)
        my.row = y->strides[last--];
    /* batch dims broadcast: walk over those of y with views that end before the matrix dims */
    jn_view ab = *a, bb = *b, yb = *y;
    ab.rank = (int16_t)(a->rank > 2 ? a->rank - 2 : 0);
    bb.rank = (int16_t)(b->rank > 2 ? b->rank - 2 : 0);
    yb.rank = (int16_t)(last + 1);
    jn_walk w;
    jn_walk_init(&w, yb.rank, y->dims);
    jn_walk_add(&w, &ab);
    jn_walk_add(&w, &bb);
    jn_walk_add(&w, &yb);
    JN_WALK(&w) {
        ma.at = w.off[0];
        mb.at = w.off[1];
        my.at = w.off[2];
        product(ma, mb, my, m, n, kk, k->accumulate);
    }
}

static void k_linear(const jn_kargs *k) {
    const jn_view *x = &k->in[0], *wt = &k->in[1], *y = &k->out[0];
    int last = x->rank - 1;
    bool bias = jn_present(k, 2);
    jn_walk w;
    jn_walk_init(&w, y->rank, y->dims);
    jn_walk_add(&w, y);
    JN_WALK(&w) {
        int64_t o = w.idx[last], from = 0;
        double f = bias ? jn_load_f(&k->in[2], o * k->in[2].strides[0]) : 0;
        for (int i = 0; i < last; i++)
            from += w.idx[i] * x->strides[i];
        for (int64_t i = 0; i < x->dims[last]; i++)
            f += jn_load_f(x, from + i * x->strides[last]) *
                 jn_load_f(wt, o * wt->strides[0] + i * wt->strides[1]);
        jn_store_f(y, w.off[0], f);
    }
}

static void k_outer(const jn_kargs *k) {
    const jn_view *a = &k->in[0], *b = &k->in[1], *y = &k->out[0];
    product((mat){a, 0, a->strides[0], 0}, (mat){b, 0, 0, b->strides[0]},
            (mat){y, 0, y->strides[0], y->strides[1]}, a->dims[0], b->dims[0], 1, false);
}

static void k_dot(const jn_kargs *k) {
    const jn_view *a = &k->in[0], *b = &k->in[1], *y = &k->out[0];
    product((mat){a, 0, 0, a->strides[0]}, (mat){b, 0, b->strides[0], 0}, (mat){y, 0, 0, 0}, 1, 1,
            a->dims[0], false);
}

/* ---- convolution -------------------------------------------------------------------------------
 */

static int64_t at4(const jn_view *v, int64_t a, int64_t b, int64_t c, int64_t d) {
    return a * v->strides[0] + b * v->strides[1] + c * v->strides[2] + d * v->strides[3];
}

/* Input row or column that kernel tap `t` of output `o` reads; false outside. */
static bool tap(const janus_conv2d_attrs *a, int i, int64_t o, int64_t t, int64_t size,
                int64_t *out) {
    *out = o * a->stride.data[i] - a->padding.data[i] + t * a->dilation.data[i];
    return *out >= 0 && *out < size;
}

static void k_conv2d(const jn_kargs *k) {
    const janus_conv2d_attrs *a = k->attrs;
    const jn_view *x = &k->in[0], *wt = &k->in[1], *y = &k->out[0];
    int64_t per_group = y->dims[1] / a->groups, ic = wt->dims[1], ih, iw;
    jn_walk w;
    jn_walk_init(&w, 4, y->dims);
    jn_walk_add(&w, y);
    JN_WALK(&w) {
        int64_t o = w.idx[1], c0 = o / per_group * ic;
        double f = jn_present(k, 2) ? jn_load_f(&k->in[2], o * k->in[2].strides[0]) : 0;
        for (int64_t c = 0; c < ic; c++) {
            for (int64_t kh = 0; kh < wt->dims[2]; kh++) {
                for (int64_t kw = 0; kw < wt->dims[3]; kw++) {
                    if (tap(a, 0, w.idx[2], kh, x->dims[2], &ih) &&
                        tap(a, 1, w.idx[3], kw, x->dims[3], &iw))
                        f += jn_load_f(x, at4(x, w.idx[0], c0 + c, ih, iw)) *
                             jn_load_f(wt, at4(wt, o, c, kh, kw));
                }
            }
        }
        jn_store_f(y, w.off[0], f);
    }
}

/* Output position whose tap `t` is input position `i`; false when there is none. */
static bool untap(const janus_conv2d_attrs *a, int d, int64_t i, int64_t t, int64_t size,
                  int64_t *out) {
    int64_t at = i + a->padding.data[d] - t * a->dilation.data[d];
    *out = at / a->stride.data[d];
    return at >= 0 && at % a->stride.data[d] == 0 && *out < size;
}

/* dx[n][c][h][w]: over the outputs that read it */
static void k_conv2d_input_grad(const jn_kargs *k) {
    const janus_conv2d_attrs *a = k->attrs; /* the three rows' are alike */
    const jn_view *dy = &k->in[0], *wt = &k->in[1], *y = &k->out[0];
    int64_t per_group = wt->dims[0] / a->groups, ic = wt->dims[1], oh, ow;
    jn_walk w;
    jn_walk_init(&w, 4, y->dims);
    jn_walk_add(&w, y);
    JN_WALK(&w) {
        int64_t group = w.idx[1] / ic, c = w.idx[1] % ic;
        double f = 0;
        for (int64_t o = group * per_group; o < (group + 1) * per_group; o++) {
            for (int64_t kh = 0; kh < wt->dims[2]; kh++) {
                for (int64_t kw = 0; kw < wt->dims[3]; kw++) {
                    if (untap(a, 0, w.idx[2], kh, dy->dims[2], &oh) &&
                        untap(a, 1, w.idx[3], kw, dy->dims[3], &ow))
                        f += jn_load_f(dy, at4(dy, w.idx[0], o, oh, ow)) *
                             jn_load_f(wt, at4(wt, o, c, kh, kw));
                }
            }
        }
        jn_store_f(y, w.off[0], f);
    }
}

static void k_conv2d_weight_grad(const jn_kargs *k) {
    const janus_conv2d_attrs *a = k->attrs;
    const jn_view *dy = &k->in[0], *x = &k->in[1], *y = &k->out[0];
    int64_t per_group = y->dims[0] / a->groups, ic = y->dims[1], ih, iw;
    jn_walk w;
    jn_walk_init(&w, 4, y->dims);
    jn_walk_add(&w, y);
    JN_WALK(&w) {
        int64_t o = w.idx[0], c = o / per_group * ic + w.idx[1];
        double f = 0;
        for (int64_t n = 0; n < x->dims[0]; n++) {
            for (int64_t oh = 0; oh < dy->dims[2]; oh++) {
                for (int64_t ow = 0; ow < dy->dims[3]; ow++) {
                    if (tap(a, 0, oh, w.idx[2], x->dims[2], &ih) &&
                        tap(a, 1, ow, w.idx[3], x->dims[3], &iw))
                        f += jn_load_f(dy, at4(dy, n, o, oh, ow)) *
                             jn_load_f(x, at4(x, n, c, ih, iw));
                }
            }
        }
        jn_store_f(y, w.off[0], f);
    }
}

#define SELECT(name)                                                                               \
    jn_kernel_fn jn_ref_##name(const jn_sig *sig) {                                                \
        (void)sig;                                                                                 \
        return k_##name;                                                                           \
    }
SELECT(matmul)
SELECT(linear)

/* Of vectors, or of rows of vectors. */
#define SELECT_ROWS(name, rank_out)                                                                \
    static void rows_##name(const jn_kargs *k) {                                                   \
        if (k->out[0].rank > rank_out)                                                             \
            jn_each_row(k, NULL, (k->in[0].rank > 1) | (k->in[1].rank > 1) << 1, k_##name);        \
        else                                                                                       \
            k_##name(k);                                                                           \
    }                                                                                              \
    jn_kernel_fn jn_ref_##name(const jn_sig *sig) {                                                \
        (void)sig;                                                                                 \
        return rows_##name;                                                                        \
    }
SELECT_ROWS(outer, 2)
SELECT_ROWS(dot, 0)
SELECT(conv2d)
SELECT(conv2d_input_grad)
SELECT(conv2d_weight_grad)
