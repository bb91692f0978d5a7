/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reference kernels of reductions: for each element of the result, a walk over the reduced dims in
 * row-major order.
 */
#include "config.h"

#include "ops/reduce_attrs.h"
#include "ops/ref/ref.h"

#include <math.h>

/* The values that one element of the result is made of. */
typedef struct values {
    const jn_view *x;
    jn_walk *w; /* at the first of them; off[0] is relative to base */
    int64_t base;
    double param;
} values;
typedef void (*reduce_fn)(values *v, const jn_view *y, int64_t at);

static double next_f(values *v) {
    double r = jn_load_f(v->x, v->base + v->w->off[0]);
    jn_walk_next(v->w);
    return r;
}
static int64_t next_i(values *v) {
    int64_t r = jn_load_i(v->x, v->base + v->w->off[0]);
    jn_walk_next(v->w);
    return r;
}

static void each(const jn_kargs *k, const jn_op *op, reduce_fn fn) {
    jn_reduce_attrs a = jn_reduce_attrs_of(op, k->attrs);
    const jn_view *x = &k->in[0], *y = &k->out[0];
    bool set[JN_MAX_RANK];
    int64_t kdims[JN_MAX_RANK], kstr[JN_MAX_RANK], rdims[JN_MAX_RANK], rstr[JN_MAX_RANK];
    int nk = 0, nr = 0;
    for (int i = 0; i < x->rank; i++)
        set[i] = a.dims.n == 0;
    for (size_t i = 0; i < a.dims.n && x->rank > 0; i++)
        set[jn_axis(a.dims.data[i], x->rank)] = true;
    for (int i = 0; i < x->rank; i++) {
        if (set[i]) {
            rdims[nr] = x->dims[i];
            rstr[nr++] = x->strides[i];
        } else {
            kdims[nk] = x->dims[i];
            kstr[nk++] = x->strides[i];
        }
    }
    jn_walk keep, inner;
    int64_t at = 0; /* the result is row-major, and keepdim adds sizes 1 only */
    jn_walk_init(&keep, nk, kdims);
    jn_walk_add_strides(&keep, kstr, 0);
    JN_WALK(&keep) {
        jn_walk_init(&inner, nr, rdims);
        jn_walk_add_strides(&inner, rstr, 0);
        values v = {x, &inner, keep.off[0], a.param};
        fn(&v, y, at++);
    }
}

static void r_sum(values *v, const jn_view *y, int64_t at) {
    if (jn_is_float(v->x)) {
        double s = 0;
        while (v->w->left > 0)
            s += next_f(v);
        jn_store_f(y, at, s);
    } else {
        uint64_t s = 0;
        while (v->w->left > 0)
            s += (uint64_t)next_i(v);
        jn_store_i(y, at, (int64_t)s);
    }
}

static void r_mean(values *v, const jn_view *y, int64_t at) {
    double s = 0, n = (double)v->w->left;
    while (v->w->left > 0)
        s += next_f(v);
    jn_store_f(y, at, s / n);
}

static void r_prod(values *v, const jn_view *y, int64_t at) {
    if (jn_is_float(v->x)) {
        double s = 1;
        while (v->w->left > 0)
            s *= next_f(v);
        jn_store_f(y, at, s);
    } else {
        uint64_t s = 1;
        while (v->w->left > 0)
            s *= (uint64_t)next_i(v);
        jn_store_i(y, at, (int64_t)s);
    }
}

static void extreme(values *v, const jn_view *y, int64_t at, bool max) {
    if (v->w->left == 0) {
        jn_store_i(y, at, 0);
    } else if (jn_is_float(v->x)) {
        double m = next_f(v);
        while (v->w->left > 0) {
            double f = next_f(v);
            if (isnan(f) || (max ? f > m : f < m))
                m = f;
        }
        jn_store_f(y, at, m);
    } else {
        int64_t m = next_i(v);
        while (v->w->left > 0) {
            int64_t i = next_i(v);
            if (max ? i > m : i < m)
                m = i;
        }
        jn_store_i(y, at, m);
    }
}
static void r_max(values *v, const jn_view *y, int64_t at) { extreme(v, y, at, true); }
static void r_min(values *v, const jn_view *y, int64_t at) { extreme(v, y, at, false); }

static void r_any(values *v, const jn_view *y, int64_t at) {
    bool r = false;
    while (v->w->left > 0)
        r |= next_f(v) != 0;
    jn_store_i(y, at, r);
}
static void r_all(values *v, const jn_view *y, int64_t at) {
    bool r = true;
    while (v->w->left > 0)
        r &= next_f(v) != 0;
    jn_store_i(y, at, r);
}

static void r_logsumexp(values *v, const jn_view *y, int64_t at) {
    jn_walk start = *v->w;
    double m = -INFINITY, s = 0;
    while (v->w->left > 0) {
        double f = next_f(v);
        m = isnan(f) || f > m ? f : m;
    }
    double shift = isinf(m) ? 0 : m;
    *v->w = start;
    while (v->w->left > 0)
        s += exp(next_f(v) - shift);
    jn_store_f(y, at, isnan(m) ? m : log(s) + shift);
}

static void r_var(values *v, const jn_view *y, int64_t at) {
    jn_walk start = *v->w;
    double s = 0, n = (double)v->w->left;
    while (v->w->left > 0)
        s += next_f(v);
    double mean = s / n;
    *v->w = start;
    s = 0;
    while (v->w->left > 0) {
        double d = next_f(v) - mean;
        s += d * d;
    }
    double by = n - v->param;
    jn_store_f(y, at, s / (by > 0 ? by : 0));
}

static void r_norm(values *v, const jn_view *y, int64_t at) {
    double p = v->param, s = p == -INFINITY ? INFINITY : 0;
    bool wide =
        y->dtype == JANUS_F64; /* else squares are floats, as kernels have them: 1e-30's is 0 */
    while (v->w->left > 0) {
        double f = fabs(next_f(v));
        if (p == INFINITY)
            s = isnan(f) || f > s ? f : s;
        else if (p == -INFINITY)
            s = isnan(f) || f < s ? f : s;
        else
            s += p == 2   ? (wide ? f * f : (double)((float)f * (float)f))
                 : p == 1 ? f
                 : p == 0 ? f != 0
                          : pow(f, p);
    }
    if (p == 2)
        s = sqrt(s);
    else if (p != 1 && p != 0 && !isinf(p))
        s = pow(s, 1 / p);
    jn_store_f(y, at, s);
}

#define REDUCE(name)                                                                               \
    static void k_##name(const jn_kargs *k) { each(k, JN_OP(name), r_##name); }
REDUCE(sum)
REDUCE(mean)
REDUCE(prod)
REDUCE(max)
REDUCE(min)
REDUCE(any)
REDUCE(all)
REDUCE(logsumexp)
REDUCE(var)
REDUCE(norm)

jn_kernel_fn jn_ref_reduce(const jn_sig *sig) {
    switch (sig->op->id) {
#define ROW(name)                                                                                  \
    case JN_OP_ID_##name:                                                                          \
        return k_##name
        ROW(sum);
        ROW(mean);
        ROW(prod);
        ROW(max);
        ROW(min);
        ROW(any);
        ROW(all);
        ROW(logsumexp);
        ROW(var);
        ROW(norm);
#undef ROW
    default:
        return NULL;
    }
}

/* ---- along one axis, with an index ------------------------------------------------------------
 */

/* Position of the first largest (smallest) of n elements; a NaN is both. */
static int64_t best(const jn_view *x, int64_t o, int64_t stride, int64_t n, bool max) {
    int64_t at = 0;
    if (!jn_is_float(x)) {
        for (int64_t i = 1; i < n; i++) {
            int64_t a = jn_load_i(x, o + i * stride), b = jn_load_i(x, o + at * stride);
            if (max ? a > b : a < b)
                at = i;
        }
        return at;
    }
    for (int64_t i = 1; i < n; i++) {
        double a = jn_load_f(x, o + i * stride), b = jn_load_f(x, o + at * stride);
        if (isnan(b))
            break;
        if (isnan(a) || (max ? a > b : a < b))
            at = i;
    }
    return at;
}

static void best_dim(const jn_kargs *k, bool max) {
    const janus_max_dim_attrs *a = k->attrs;
    const jn_view *x = &k->in[0];
    int axis = jn_axis(a->axis, x->rank);
    int64_t n = jn_line_size(x, axis), stride = jn_line_stride(x, axis), o = 0;
    jn_walk w;
    jn_walk_lines(&w, x, axis);
    JN_WALK(&w) {
        int64_t i = best(x, w.off[0], stride, n, max);
        jn_copy_element(&k->out[0], o, x, w.off[0] + i * stride);
        jn_store_i(&k->out[1], o++, i);
    }
}
static void k_max_dim(const jn_kargs *k) { best_dim(k, true); }
static void k_min_dim(const jn_kargs *k) { best_dim(k, false); }

static void arg_best(const jn_kargs *k, bool max) {
    const janus_argmax_attrs *a = k->attrs;
    const jn_view *x = &k->in[0];
    jn_walk w;
    int64_t o = 0;
    if (!a->all) {
        int axis = jn_axis(a->axis, x->rank);
        jn_walk_lines(&w, x, axis);
        JN_WALK(&w)
        jn_store_i(&k->out[0], o++,
                   best(x, w.off[0], jn_line_stride(x, axis), jn_line_size(x, axis), max));
        return;
    }
    /* flattened: compare each element with the best so far */
    int64_t i = 0, at = 0, best_off = 0;
    jn_walk_init(&w, x->rank, x->dims);
    jn_walk_add(&w, x);
    JN_WALK(&w) {
        if (i > 0 && best(x, best_off, w.off[0] - best_off, 2, max) == 1) {
            at = i;
            best_off = w.off[0];
        }
        i++;
    }
    jn_store_i(&k->out[0], 0, at);
}
static void k_argmax(const jn_kargs *k) { arg_best(k, true); }
static void k_argmin(const jn_kargs *k) { arg_best(k, false); }

jn_kernel_fn jn_ref_reduce_axis(const jn_sig *sig) {
    switch (sig->op->id) {
    case JN_OP_ID_max_dim:
        return k_max_dim;
    case JN_OP_ID_min_dim:
        return k_min_dim;
    case JN_OP_ID_argmax:
        return k_argmax;
    case JN_OP_ID_argmin:
        return k_argmin;
    default:
        return NULL;
    }
}

static void k_cumsum(const jn_kargs *k) {
    const janus_cumsum_attrs *a = k->attrs;
    const jn_view *x = &k->in[0], *y = &k->out[0];
    int axis = jn_axis(a->axis, x->rank);
    int64_t n = jn_line_size(x, axis), xs = jn_line_stride(x, axis), ys = jn_line_stride(y, axis);
    jn_walk w;
    jn_walk_lines(&w, x, axis);
    jn_walk_add_line(&w, y, axis);
    JN_WALK(&w) {
        double f = 0;
        uint64_t s = 0;
        for (int64_t j = 0; j < n; j++) {
            int64_t i = a->reverse ? n - 1 - j : j;
            if (jn_is_float(x)) {
                f += jn_load_f(x, w.off[0] + i * xs);
                jn_store_f(y, w.off[1] + i * ys, f);
            } else {
                s += (uint64_t)jn_load_i(x, w.off[0] + i * xs);
                jn_store_i(y, w.off[1] + i * ys, (int64_t)s);
            }
        }
    }
}

jn_kernel_fn jn_ref_cumsum(const jn_sig *sig) {
    (void)sig;
    return k_cumsum;
}
