/* SPDX-License-Identifier: Apache-2.0 */
/* Reference kernels of pooling and normalisation. */
#include "config.h"

#include "ops/ref/ref.h"

#include <math.h>

/* One window along one dim: rows [begin, end) inside the input, `step` apart; and how many rows the
 * window has when padding (but nothing beyond it) counts. */
typedef struct window {
    int64_t begin, end, step, padded;
} window;

static window window_of(int64_t o, int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                        int64_t dilation) {
    int64_t first = o * stride - padding, last = first + (kernel - 1) * dilation;
    window w = {first, last + 1, dilation, 0};
    int64_t stop = w.end < size + padding ? w.end : size + padding;
    w.padded = stop - first;
    while (w.begin < 0)
        w.begin += dilation;
    if (w.end > size)
        w.end = size;
    return w;
}

static int64_t stride_of(janus_ints stride, janus_ints kernel, int i) {
    return stride.n ? stride.data[i] : kernel.data[i];
}

static void k_max_pool2d(const jn_kargs *k) {
    const janus_max_pool2d_attrs *a = k->attrs;
    const jn_view *x = &k->in[0], *y = &k->out[0];
    jn_walk w;
    jn_walk_init(&w, 4, y->dims);
    jn_walk_add(&w, y);
    JN_WALK(&w) {
        window win[2];
        for (int i = 0; i < 2; i++)
            win[i] = window_of(w.idx[2 + i], x->dims[2 + i], a->kernel.data[i],
                               stride_of(a->stride, a->kernel, i), a->padding.data[i],
                               a->dilation.data[i]);
        double m = -INFINITY;
        bool empty = win[0].begin >= win[0].end || win[1].begin >= win[1].end;
        int64_t at = empty ? -1 : win[0].begin * x->dims[3] + win[1].begin;
        int64_t base = w.idx[0] * x->strides[0] + w.idx[1] * x->strides[1];
        for (int64_t h = win[0].begin; h < win[0].end; h += win[0].step) {
            for (int64_t c = win[1].begin; c < win[1].end; c += win[1].step) {
                double f = jn_load_f(x, base + h * x->strides[2] + c * x->strides[3]);
                if (f > m || isnan(f)) {
                    m = f;
                    at = h * x->dims[3] + c;
                }
            }
        }
        jn_store_f(y, w.off[0], m);
        jn_store_i(&k->out[1], w.off[0], at);
    }
}

/* Offset in a [N,C,H,W] view of the flat index of a window; false for -1, which a window in the
 * padding alone has, and false and the flag when out of range. */
static bool flat_offset(const jn_kargs *k, const jn_view *v, const jn_walk *w, int64_t flat,
                        int64_t *out) {
    if (flat < 0 || flat >= v->dims[2] * v->dims[3]) {
        *k->flags |= flat == -1 ? 0 : JN_KFLAG_INDEX;
        return false;
    }
    *out = w->idx[0] * v->strides[0] + w->idx[1] * v->strides[1] +
           flat / v->dims[3] * v->strides[2] + flat % v->dims[3] * v->strides[3];
    return true;
}

static void k_max_pool2d_grad(const jn_kargs *k) {
    const jn_view *dy = &k->in[0], *index = &k->in[1], *dx = &k->out[0];
    jn_walk w;
    jn_zero(dx);
    jn_walk_init(&w, 4, dy->dims);
    jn_walk_add(&w, dy);
    jn_walk_add(&w, index);
    JN_WALK(&w) {
        int64_t to;
        if (flat_offset(k, dx, &w, jn_load_i(index, w.off[1]), &to))
            jn_store_f(dx, to, jn_load_f(dx, to) + jn_load_f(dy, w.off[0]));
    }
}

static void k_max_pool2d_gather(const jn_kargs *k) {
    const jn_view *x = &k->in[0], *index = &k->in[1], *y = &k->out[0];
    jn_walk w;
    jn_walk_init(&w, 4, y->dims);
    jn_walk_add(&w, y);
    jn_walk_add(&w, index);
    JN_WALK(&w) {
        int64_t from;
        if (flat_offset(k, x, &w, jn_load_i(index, w.off[1]), &from))
            jn_copy_element(y, w.off[0], x, from);
        else
            jn_store_f(y, w.off[0], 0);
    }
}

static double divisor(const janus_avg_pool2d_attrs *a, const window *win) {
    if (a->count_include_pad)
        return (double)(win[0].padded * win[1].padded);
    return (double)((win[0].end - win[0].begin) * (win[1].end - win[1].begin));
}

static void avg_windows(const janus_avg_pool2d_attrs *a, const jn_view *x, const jn_walk *w,
                        window *win) {
    for (int i = 0; i < 2; i++)
        win[i] = window_of(w->idx[2 + i], x->dims[2 + i], a->kernel.data[i],
                           stride_of(a->stride, a->kernel, i), a->padding.data[i], 1);
}

static void k_avg_pool2d(const jn_kargs *k) {
    const janus_avg_pool2d_attrs *a = k->attrs;
    const jn_view *x = &k->in[0], *y = &k->out[0];
    jn_walk w;
    jn_walk_init(&w, 4, y->dims);
    jn_walk_add(&w, y);
    JN_WALK(&w) {
        window win[2];
        double s = 0;
        int64_t base = w.idx[0] * x->strides[0] + w.idx[1] * x->strides[1];
        avg_windows(a, x, &w, win);
        for (int64_t h = win[0].begin; h < win[0].end; h++) {
            for (int64_t c = win[1].begin; c < win[1].end; c++)
                s += jn_load_f(x, base + h * x->strides[2] + c * x->strides[3]);
        }
        jn_store_f(y, w.off[0], s / divisor(a, win));
    }
}

static void k_avg_pool2d_grad(const jn_kargs *k) {
    const janus_avg_pool2d_attrs *a = k->attrs; /* avg_pool2d_grad's is alike */
    const jn_view *dy = &k->in[0], *dx = &k->out[0];
    jn_walk w;
    jn_zero(dx);
    jn_walk_init(&w, 4, dy->dims);
    jn_walk_add(&w, dy);
    JN_WALK(&w) {
        window win[2];
        int64_t base = w.idx[0] * dx->strides[0] + w.idx[1] * dx->strides[1];
        avg_windows(a, dx, &w, win);
        double g = jn_load_f(dy, w.off[0]) / divisor(a, win);
        for (int64_t h = win[0].begin; h < win[0].end; h++) {
            for (int64_t c = win[1].begin; c < win[1].end; c++) {
                int64_t to = base + h * dx->strides[2] + c * dx->strides[3];
                jn_store_f(dx, to, jn_load_f(dx, to) + g);
            }
        }
    }
}

/* ---- normalisation ------------------------------------------------------------------------------
 */

/* The elements that one mean and variance are of. */
typedef struct group {
    jn_walk w; /* relative to base */
    int64_t base;
} group;

/* Elements of channel c of [N,C,...]. */
static group channel(const jn_view *x, int64_t c) {
    group g;
    int64_t dims[JN_MAX_RANK], strides[JN_MAX_RANK];
    int n = 0;
    for (int i = 0; i < x->rank; i++) {
        if (i != 1) {
            dims[n] = x->dims[i];
            strides[n++] = x->strides[i];
        }
    }
    jn_walk_init(&g.w, n, dims);
    jn_walk_add_strides(&g.w, strides, 0);
    g.base = c * x->strides[1];
    return g;
}

static void moments(const jn_view *x, const group *g, double *mean, double *var) {
    jn_walk w = g->w;
    double n = (double)w.left, s = 0;
    JN_WALK(&w)
    s += jn_load_f(x, g->base + w.off[0]);
    *mean = s / n;
    s = 0;
    w = g->w;
    JN_WALK(&w) {
        double d = jn_load_f(x, g->base + w.off[0]) - *mean;
        s += d * d;
    }
    *var = s / n;
}

static double param(const jn_kargs *k, unsigned i, int64_t at, double otherwise) {
    return jn_present(k, i) ? jn_load_f(&k->in[i], at * k->in[i].strides[0]) : otherwise;
}

static void k_batch_norm(const jn_kargs *k) {
    const janus_batch_norm_attrs *a = k->attrs;
    const jn_view *x = &k->in[0], *y = &k->out[0];
    for (int64_t c = 0; c < x->dims[1]; c++) {
        group from = channel(x, c), to = channel(y, c);
        double mean, var;
        if (a->training) {
            moments(x, &from, &mean, &var);
        } else {
            mean = param(k, 3, c, 0);
            var = param(k, 4, c, 1);
        }
        double invstd = 1 / sqrt(var + a->eps), scale = param(k, 1, c, 1),
               shift = param(k, 2, c, 0);
        jn_store_f(&k->out[1], c, mean);
        jn_store_f(&k->out[2], c, invstd);
        for (; from.w.left > 0; jn_walk_next(&from.w), jn_walk_next(&to.w))
            jn_store_f(y, to.base + to.w.off[0],
                       (jn_load_f(x, from.base + from.w.off[0]) - mean) * invstd * scale + shift);
    }
}

static void k_batch_norm_grad(const jn_kargs *k) {
    const janus_batch_norm_grad_attrs *a = k->attrs;
    const jn_view *dy = &k->in[0], *x = &k->in[1], *dx = &k->out[0];
    for (int64_t c = 0; c < x->dims[1]; c++) {
        group gd = channel(dy, c), gx = channel(x, c), go = channel(dx, c), sd = gd, sx = gx;
        double mean = param(k, 3, c, 0), invstd = param(k, 4, c, 1), scale = param(k, 2, c, 1);
        double n = (double)gx.w.left, s = 0, sh = 0;
        for (; sd.w.left > 0; jn_walk_next(&sd.w), jn_walk_next(&sx.w)) {
            double d = jn_load_f(dy, sd.base + sd.w.off[0]);
            s += d;
            sh += d * (jn_load_f(x, sx.base + sx.w.off[0]) - mean) * invstd;
        }
        jn_store_f(&k->out[1], c, sh);
        jn_store_f(&k->out[2], c, s);
        for (; gd.w.left > 0; jn_walk_next(&gd.w), jn_walk_next(&gx.w), jn_walk_next(&go.w)) {
            double d = jn_load_f(dy, gd.base + gd.w.off[0]);
            double h = (jn_load_f(x, gx.base + gx.w.off[0]) - mean) * invstd;
            double r = a->training ? d - s / n - h * sh / n : d;
            jn_store_f(dx, go.base + go.w.off[0], r * scale * invstd);
        }
    }
}

/* A walk over the dims before axis, and the walk over the others that starts at each of them. */
static void outer_walk(jn_walk *w, const jn_view *x, int axis) {
    jn_walk_init(w, axis, x->dims);
    jn_walk_add_strides(w, x->strides, 0);
}
static group inner_group(const jn_view *x, int axis, int64_t base) {
    group g;
    jn_walk_init(&g.w, x->rank - axis, x->dims + axis);
    jn_walk_add_strides(&g.w, x->strides + axis, 0);
    g.base = base;
    return g;
}

/* Entry `idx` of a weight or bias. */
static double affine(const jn_kargs *k, unsigned i, const int64_t *idx, double otherwise) {
    return jn_present(k, i) ? jn_load_f(&k->in[i], jn_offset(&k->in[i], idx)) : otherwise;
}

static void k_layer_norm(const jn_kargs *k) {
    const janus_layer_norm_attrs *a = k->attrs;
    const jn_view *x = &k->in[0], *y = &k->out[0];
    int axis = jn_axis(a->axis, x->rank);
    int64_t at = 0;
    jn_walk w;
    outer_walk(&w, x, axis);
    jn_walk_add_strides(&w, y->strides, 0);
    JN_WALK(&w) {
        group gx = inner_group(x, axis, w.off[0]), gy = inner_group(y, axis, w.off[1]);
        double mean, var;
        moments(x, &gx, &mean, &var);
        double invstd = 1 / sqrt(var + a->eps);
        jn_store_f(&k->out[1], at, mean);
        jn_store_f(&k->out[2], at++, invstd);
        for (; gx.w.left > 0; jn_walk_next(&gx.w), jn_walk_next(&gy.w)) {
            double h = (jn_load_f(x, gx.base + gx.w.off[0]) - mean) * invstd;
            jn_store_f(y, gy.base + gy.w.off[0],
                       h * affine(k, 1, gx.w.idx, 1) + affine(k, 2, gx.w.idx, 0));
        }
    }
}

/* dweight and dbias are sums over groups that are rounded once. */
static void layer_norm_sums(const jn_kargs *k, int axis) {
    const jn_view *dy = &k->in[0], *x = &k->in[1], *dw = &k->out[1], *db = &k->out[2];
    group gx = inner_group(x, axis, 0), gd = inner_group(dy, axis, 0);
    for (; gx.w.left > 0; jn_walk_next(&gx.w), jn_walk_next(&gd.w)) {
        double sum = 0, sum_h = 0;
        jn_walk w;
        outer_walk(&w, x, axis);
        jn_walk_add_strides(&w, dy->strides, 0);
        JN_WALK(&w) {
            double mean = jn_load_f(&k->in[3], jn_offset(&k->in[3], w.idx));
            double invstd = jn_load_f(&k->in[4], jn_offset(&k->in[4], w.idx));
            double d = jn_load_f(dy, w.off[1] + gd.base + gd.w.off[0]);
            sum_h += d * ((jn_load_f(x, w.off[0] + gx.base + gx.w.off[0]) - mean) * invstd);
            sum += d;
        }
        jn_store_f(dw, jn_offset(dw, gx.w.idx), sum_h);
        jn_store_f(db, jn_offset(db, gx.w.idx), sum);
    }
}

static void k_layer_norm_grad(const jn_kargs *k) {
    const janus_layer_norm_grad_attrs *a = k->attrs;
    const jn_view *dy = &k->in[0], *x = &k->in[1], *dx = &k->out[0];
    int axis = jn_axis(a->axis, x->rank);
    jn_walk w;
    layer_norm_sums(k, axis);
    outer_walk(&w, x, axis);
    jn_walk_add_strides(&w, dy->strides, 0);
    jn_walk_add_strides(&w, dx->strides, 0);
    JN_WALK(&w) {
        double mean = jn_load_f(&k->in[3], jn_offset(&k->in[3], w.idx));
        double invstd = jn_load_f(&k->in[4], jn_offset(&k->in[4], w.idx));
        group gx = inner_group(x, axis, w.off[0]), gd = inner_group(dy, axis, w.off[1]);
        group go = inner_group(dx, axis, w.off[2]), sx = gx, sd = gd;
        double n = (double)gx.w.left, s = 0, sh = 0;
        for (; sx.w.left > 0; jn_walk_next(&sx.w), jn_walk_next(&sd.w)) {
            double d = jn_load_f(dy, sd.base + sd.w.off[0]);
            double h = (jn_load_f(x, sx.base + sx.w.off[0]) - mean) * invstd;
            d *= affine(k, 2, sx.w.idx, 1);
            s += d;
            sh += d * h;
        }
        for (; gx.w.left > 0; jn_walk_next(&gx.w), jn_walk_next(&gd.w), jn_walk_next(&go.w)) {
            double d = jn_load_f(dy, gd.base + gd.w.off[0]) * affine(k, 2, gx.w.idx, 1);
            double h = (jn_load_f(x, gx.base + gx.w.off[0]) - mean) * invstd;
            jn_store_f(dx, go.base + go.w.off[0], (d - s / n - h * sh / n) * invstd);
        }
    }
}

#define SELECT(name)                                                                               \
    jn_kernel_fn jn_ref_##name(const jn_sig *sig) {                                                \
        (void)sig;                                                                                 \
        return k_##name;                                                                           \
    }
SELECT(max_pool2d)
SELECT(avg_pool2d)
SELECT(avg_pool2d_grad)
SELECT(batch_norm)
SELECT(batch_norm_grad)
SELECT(layer_norm)

/* What batch rules make: planes of rows, a gradient of the weight for each row. */
#define SELECT_PLANES(name)                                                                        \
    static void rows_##name(const jn_kargs *k) {                                                   \
        if (k->out[0].rank > 4)                                                                    \
            jn_each_row(k, k->attrs, 3, k_##name);                                                 \
        else                                                                                       \
            k_##name(k);                                                                           \
    }                                                                                              \
    SELECT_AS(name)
#define SELECT_AS(name)                                                                            \
    jn_kernel_fn jn_ref_##name(const jn_sig *sig) {                                                \
        (void)sig;                                                                                 \
        return rows_##name;                                                                        \
    }
SELECT_PLANES(max_pool2d_grad)
SELECT_PLANES(max_pool2d_gather)

static void rows_layer_norm_grad(const jn_kargs *k) {
    janus_layer_norm_grad_attrs a = *(const janus_layer_norm_grad_attrs *)k->attrs;
    int rank = k->in[1].rank, axis = jn_axis(a.axis, rank);
    if (k->out[1].rank <= rank - axis) {
        k_layer_norm_grad(k);
        return;
    }
    a.axis = axis - 1;
    jn_each_row(k, &a, 1 | 2 | 8 | 16, k_layer_norm_grad);
}
SELECT_AS(layer_norm_grad)
