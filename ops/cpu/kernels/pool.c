/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 2-D pooling and its gradients, plane by plane.  Windows that lie inside the input go row by row
 * to the kernels of isa_pool.c; those at the border are clipped first and done here, one by one.
 */
#include <math.h>
#include <string.h>

#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "ops/rules.h"

enum {
    GRAIN = 16384,  /* elements of the result */
    MOST_TAPS = 128 /* of a window whose sum is taken in the type of its elements */
};

typedef struct pool {
    const jn_kargs *k;
    int dtype;
    int64_t h, w, oh, ow;
    int64_t kernel[2], stride[2], padding[2], dilation[2];
    bool count_padding;
    bool alone; /* nobody reads the indices */
} pool;

/* First tap inside, and one past the last tap inside. */
static void taps(const pool *p, int i, int64_t o, int64_t size, int64_t *begin, int64_t *end) {
    int64_t first = o * p->stride[i] - p->padding[i], d = p->dilation[i];
    int64_t stop = first + (p->kernel[i] - 1) * d + 1;
    *begin = first < 0 ? first + (-first + d - 1) / d * d : first;
    *end = stop < size ? stop : size;
}

/* Windows [first, last) that lie inside along dim i. */
static void inside(const pool *p, int i, int64_t size, int64_t n, int64_t *first, int64_t *last) {
    int64_t f = (p->padding[i] + p->stride[i] - 1) / p->stride[i];
    int64_t room = size + p->padding[i] - (p->kernel[i] - 1) * p->dilation[i] - 1;
    int64_t l = room < 0 ? 0 : room / p->stride[i] + 1;
    l = l < n ? l : n;
    *first = f < l ? f : l;
    *last = l;
}

static jn_window window_of(const pool *p, int64_t i, int64_t j) {
    jn_window k = {.rows = p->kernel[0], .cols = p->kernel[1]};
    k.first = (i * p->stride[0] - p->padding[0]) * p->w + j * p->stride[1] - p->padding[1];
    k.row_step = p->dilation[0] * p->w;
    k.col_step = p->dilation[1];
    return k;
}

/* How many taps of a window count: all inside, or those in the padding too (but none beyond). */
static double divisor(const pool *p, int64_t i, int64_t j) {
    int64_t n = 1, at[2] = {i, j}, size[2] = {p->h, p->w};
    for (int d = 0; d < 2; d++) {
        int64_t begin, end;
        taps(p, d, at[d], size[d], &begin, &end);
        if (p->count_padding) {
            begin = at[d] * p->stride[d] - p->padding[d];
            end = begin + p->kernel[d];
            end = end < size[d] + p->padding[d] ? end : size[d] + p->padding[d];
        }
        n *= end - begin;
    }
    return (double)n;
}

#define PLANES(T)                                                                                  \
    static void max_one_##T(const pool *p, const T *x, int64_t i, int64_t j, T *y,                 \
                            int64_t *index) {                                                      \
        int64_t h0, h1, w0, w1;                                                                    \
        taps(p, 0, i, p->h, &h0, &h1);                                                             \
        taps(p, 1, j, p->w, &w0, &w1);                                                             \
        T m = (T)-INFINITY;                                                                        \
        int64_t at = h0 < h1 && w0 < w1 ? h0 * p->w + w0 : -1;                                     \
        for (int64_t h = h0; h < h1; h += p->dilation[0])                                          \
            for (int64_t c = w0; c < w1; c += p->dilation[1]) {                                    \
                T v = x[h * p->w + c];                                                             \
                if (v > m || v != v) {                                                             \
                    m = v;                                                                         \
                    at = h * p->w + c;                                                             \
                }                                                                                  \
            }                                                                                      \
        *y = m;                                                                                    \
        *index = at;                                                                               \
    }                                                                                              \
    static void mean_one_##T(const pool *p, const T *x, int64_t i, int64_t j, T *y) {              \
        int64_t h0, h1, w0, w1;                                                                    \
        taps(p, 0, i, p->h, &h0, &h1);                                                             \
        taps(p, 1, j, p->w, &w0, &w1);                                                             \
        double s = 0;                                                                              \
        for (int64_t h = h0; h < h1; h++)                                                          \
            for (int64_t c = w0; c < w1; c++)                                                      \
                s += (double)x[h * p->w + c];                                                      \
        *y = (T)(s / divisor(p, i, j));                                                            \
    }                                                                                              \
    static void mean_grad_plane_##T(const pool *p, const T *dy, T *dx) {                           \
        int64_t h0, h1, w0, w1, c0, c1, r0, r1;                                                    \
        double most = (double)(p->kernel[0] * p->kernel[1]);                                       \
        inside(p, 0, p->h, p->oh, &r0, &r1);                                                       \
        inside(p, 1, p->w, p->ow, &c0, &c1);                                                       \
        memset(dx, 0, (size_t)(p->h * p->w) * sizeof(T));                                          \
        for (int64_t i = 0; i < p->oh; i++) {                                                      \
            taps(p, 0, i, p->h, &h0, &h1);                                                         \
            for (int64_t j = 0; j < p->ow; j++) {                                                  \
                bool whole = i >= r0 && i < r1 && j >= c0 && j < c1;                               \
                taps(p, 1, j, p->w, &w0, &w1);                                                     \
                T d = (T)((double)dy[i * p->ow + j] / (whole ? most : divisor(p, i, j)));          \
                for (int64_t h = h0; h < h1; h++)                                                  \
                    for (int64_t c = w0; c < w1; c++)                                              \
                        dx[h * p->w + c] += d;                                                     \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void grad_plane_##T(const int64_t *index, const T *dy, T *dx, int64_t windows,          \
                               int64_t plane, uint32_t *flags) {                                   \
        bool bad = false;                                                                          \
        memset(dx, 0, (size_t)plane * sizeof(T));                                                  \
        for (int64_t i = 0; i < windows; i++) {                                                    \
            if ((uint64_t)index[i] < (uint64_t)plane)                                              \
                dx[index[i]] += dy[i];                                                             \
            else if (index[i] != -1)                                                               \
                bad = true;                                                                        \
        }                                                                                          \
        if (bad)                                                                                   \
            __atomic_fetch_or(flags, JN_KFLAG_INDEX, __ATOMIC_RELAXED);                            \
    }                                                                                              \
    static void gather_plane_##T(const int64_t *index, const T *x, T *y, int64_t windows,          \
                                 int64_t plane, uint32_t *flags) {                                 \
        bool bad = false;                                                                          \
        for (int64_t i = 0; i < windows; i++) {                                                    \
            bool ok = (uint64_t)index[i] < (uint64_t)plane;                                        \
            y[i] = ok ? x[index[i]] : 0;                                                           \
            bad = bad || (!ok && index[i] != -1);                                                  \
        }                                                                                          \
        if (bad)                                                                                   \
            __atomic_fetch_or(flags, JN_KFLAG_INDEX, __ATOMIC_RELAXED);                            \
    }
PLANES(float)
PLANES(double)

static void border(const pool *p, const void *x, int64_t i, int64_t begin, int64_t end, char *y,
                   int64_t *index) {
    for (int64_t j = begin; j < end; j++) {
        int64_t to = i * p->ow + j;
        if (p->dtype == JANUS_F32 && index)
            max_one_float(p, x, i, j, (float *)y + to, index + to);
        else if (p->dtype == JANUS_F32)
            mean_one_float(p, x, i, j, (float *)y + to);
        else if (index)
            max_one_double(p, x, i, j, (double *)y + to, index + to);
        else
            mean_one_double(p, x, i, j, (double *)y + to);
    }
}

/* Windows of 2 x 2, two apart. */
static bool is_usual(const pool *p) {
    bool usual = p->dtype == JANUS_F32 && p->w < INT32_MAX;
    for (int i = 0; i < 2; i++)
        usual &= p->kernel[i] == 2 && p->stride[i] == 2 && !p->padding[i] && p->dilation[i] == 1;
    return usual;
}

/* Planes [begin, end); index NULL: means. */
static void planes_range(void *arg, int64_t begin, int64_t end) {
    const pool *p = arg;
    const jn_kargs *k = p->k;
    size_t size = jn_elem_size(p->dtype);
    bool max = k->n_out > 1;
    int64_t r0, r1, c0, c1;
    inside(p, 0, p->h, p->oh, &r0, &r1);
    inside(p, 1, p->w, p->ow, &c0, &c1);
    if (!max && p->kernel[0] * p->kernel[1] > MOST_TAPS)
        r0 = r1 = 0;
    bool usual = max && is_usual(p) && r1 - r0 == p->oh && c1 - c0 == p->ow;
    for (int64_t n = begin; n < end; n++) {
        const char *x = (const char *)k->in[0].data + (size_t)(n * p->h * p->w) * size;
        char *y = (char *)k->out[0].data + (size_t)(n * p->oh * p->ow) * size;
        int64_t *index = max ? (int64_t *)k->out[1].data + n * p->oh * p->ow : NULL;
        if (usual) {
            jn_isa.max_2x2((const float *)x, p->w, p->oh, p->ow, (float *)y,
                           p->alone ? NULL : index);
            continue;
        }
        for (int64_t i = 0; i < p->oh; i++) {
            bool whole = i >= r0 && i < r1 && c1 > c0;
            if (c0 || !whole)
                border(p, x, i, 0, whole ? c0 : p->ow, y, index);
            if (!whole)
                continue;
            jn_window first = window_of(p, i, c0);
            int64_t to = i * p->ow + c0;
            if (max)
                jn_isa.max_row[p->dtype](x, first, p->stride[1], c1 - c0, y + (size_t)to * size,
                                         index + to);
            else
                jn_isa.mean_row[p->dtype](x, first, p->stride[1], c1 - c0, y + (size_t)to * size,
                                          (double)(p->kernel[0] * p->kernel[1]));
            if (c1 < p->ow)
                border(p, x, i, c1, p->ow, y, index);
        }
    }
}

static pool pool_of(const jn_kargs *k, const jn_view *x, const jn_view *y, janus_ints kernel,
                    janus_ints stride, janus_ints padding) {
    pool p = {.k = k, .dtype = x->dtype, .h = x->dims[2], .w = x->dims[3]};
    p.oh = y->dims[2];
    p.ow = y->dims[3];
    for (int i = 0; i < 2; i++) {
        p.kernel[i] = kernel.data[i];
        p.stride[i] = stride.n ? stride.data[i] : kernel.data[i];
        p.padding[i] = padding.data[i];
        p.dilation[i] = 1;
    }
    return p;
}

static void run_planes(const jn_kargs *k, pool *p, jn_range_fn body) {
    const int64_t *d = k->in[0].dims;
    k->par->run(k->par, d[0] * d[1], GRAIN / (p->oh * p->ow + 1) + 1, body, p);
}

static void largest(const jn_kargs *k, bool alone) {
    const janus_max_pool2d_attrs *a = k->attrs;
    pool p = pool_of(k, &k->in[0], &k->out[0], a->kernel, a->stride, a->padding);
    p.alone = alone;
    for (int i = 0; i < 2; i++)
        p.dilation[i] = a->dilation.data[i];
    run_planes(k, &p, planes_range);
}

static void max_pool2d(const jn_kargs *k) { largest(k, false); }
static void max_pool2d_alone(const jn_kargs *k) { largest(k, true); }

static void avg_pool2d(const jn_kargs *k) {
    const janus_avg_pool2d_attrs *a = k->attrs;
    pool p = pool_of(k, &k->in[0], &k->out[0], a->kernel, a->stride, a->padding);
    p.count_padding = a->count_include_pad;
    run_planes(k, &p, planes_range);
}

static void mean_grad_range(void *arg, int64_t begin, int64_t end) {
    const pool *p = arg;
    for (int64_t n = begin; n < end; n++) {
        int64_t from = n * p->oh * p->ow, to = n * p->h * p->w;
        if (p->dtype == JANUS_F32)
            mean_grad_plane_float(p, (const float *)p->k->in[0].data + from,
                                  (float *)p->k->out[0].data + to);
        else
            mean_grad_plane_double(p, (const double *)p->k->in[0].data + from,
                                   (double *)p->k->out[0].data + to);
    }
}

static void avg_pool2d_grad(const jn_kargs *k) {
    const janus_avg_pool2d_grad_attrs *a = k->attrs;
    pool p = pool_of(k, &k->out[0], &k->in[0], a->kernel, a->stride, a->padding);
    p.count_padding = a->count_include_pad;
    run_planes(k, &p, mean_grad_range);
}

/* ---- at the indices of max_pool2d: its gradient, and what gathers -------------------------------
 *
 * A window that lies in the padding alone has index -1: nothing of x is in its result.
 */

typedef struct at_index {
    const jn_kargs *k;
    int64_t plane, windows;
    bool gather;
} at_index;

static void at_index_range(void *arg, int64_t begin, int64_t end) {
    const at_index *j = arg;
    const jn_kargs *k = j->k;
    bool narrow = k->out[0].dtype == JANUS_F32;
    for (int64_t n = begin; n < end; n++) {
        const int64_t *index = (const int64_t *)k->in[1].data + n * j->windows;
        int64_t from = n * (j->gather ? j->plane : j->windows);
        int64_t to = n * (j->gather ? j->windows : j->plane);
        const float *xf = (const float *)k->in[0].data + from;
        const double *xd = (const double *)k->in[0].data + from;
        float *yf = (float *)k->out[0].data + to;
        double *yd = (double *)k->out[0].data + to;
        if (j->gather && narrow)
            gather_plane_float(index, xf, yf, j->windows, j->plane, k->flags);
        else if (j->gather)
            gather_plane_double(index, xd, yd, j->windows, j->plane, k->flags);
        else if (narrow)
            grad_plane_float(index, xf, yf, j->windows, j->plane, k->flags);
        else
            grad_plane_double(index, xd, yd, j->windows, j->plane, k->flags);
    }
}

static void run_at_index(const jn_kargs *k, const jn_view *x, bool gather) {
    int r = x->rank; /* [N,C,H,W], with a dim of rows in front where frames are batched */
    const int64_t *d = x->dims + r - 2, *o = k->in[1].dims + r - 2;
    at_index j = {k, d[0] * d[1], o[0] * o[1], gather};
    int64_t planes = 1;
    for (int i = 0; i < r - 2; i++)
        planes *= x->dims[i];
    k->par->run(k->par, planes, GRAIN / (j.plane + 1) + 1, at_index_range, &j);
}
static void max_pool2d_grad(const jn_kargs *k) { run_at_index(k, &k->out[0], false); }
static void max_pool2d_gather(const jn_kargs *k) { run_at_index(k, &k->in[0], true); }

#define SELECT(name)                                                                               \
    jn_kernel_fn jn_cpu_##name(const jn_sig *sig) {                                                \
        (void)sig;                                                                                 \
        return name;                                                                               \
    }
SELECT(avg_pool2d)
SELECT(avg_pool2d_grad)

/* A signature has the results that somebody reads. */
jn_kernel_fn jn_cpu_max_pool2d(const jn_sig *sig) {
    return sig->n_out == 1 ? max_pool2d_alone : max_pool2d;
}

/* max_pool2d gives indices of i64; others are no one's. */
#define SELECT_I64(name)                                                                           \
    jn_kernel_fn jn_cpu_##name(const jn_sig *sig) {                                                \
        return sig->in[1].dtype == JANUS_I64 ? name : jn_cpu_fallback(sig);                        \
    }
SELECT_I64(max_pool2d_grad)
SELECT_I64(max_pool2d_gather)
