/* SPDX-License-Identifier: Apache-2.0 */
/* 2-D max pooling and its gradients, plane by plane; windows are clipped to the input first. */
#include <math.h>
#include <string.h>

#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "ops/rules.h"

enum { GRAIN = 16384 /* elements of the result */ };

typedef struct pool {
    const jn_kargs *k;
    int64_t h, w, oh, ow;
    int64_t kernel[2], stride[2], padding[2], dilation[2];
} pool;

/* First tap inside, and one past the last tap inside. */
static void taps(const pool *p, int i, int64_t o, int64_t size, int64_t *begin, int64_t *end) {
    int64_t first = o * p->stride[i] - p->padding[i], d = p->dilation[i];
    int64_t stop = first + (p->kernel[i] - 1) * d + 1;
    *begin = first < 0 ? first + (-first + d - 1) / d * d : first;
    *end = stop < size ? stop : size;
}

#define MAX_PLANE(T)                                                                               \
    static void max_plane_##T(const pool *p, const T *x, T *y, int64_t *index) {                   \
        for (int64_t i = 0; i < p->oh; i++) {                                                      \
            int64_t h0, h1, w0, w1;                                                                \
            taps(p, 0, i, p->h, &h0, &h1);                                                         \
            for (int64_t j = 0; j < p->ow; j++) {                                                  \
                taps(p, 1, j, p->w, &w0, &w1);                                                     \
                T m = (T)-INFINITY;                                                                \
                int64_t at = h0 * p->w + w0;                                                       \
                for (int64_t h = h0; h < h1; h += p->dilation[0])                                  \
                    for (int64_t c = w0; c < w1; c += p->dilation[1]) {                            \
                        T v = x[h * p->w + c];                                                     \
                        if (v > m || v != v) {                                                     \
                            m = v;                                                                 \
                            at = h * p->w + c;                                                     \
                        }                                                                          \
                    }                                                                              \
                *y++ = m;                                                                          \
                *index++ = at;                                                                     \
            }                                                                                      \
        }                                                                                          \
    }
MAX_PLANE(float)
MAX_PLANE(double)

static void max_range(void *arg, int64_t begin, int64_t end) {
    const pool *p = arg;
    const jn_kargs *k = p->k;
    for (int64_t n = begin; n < end; n++) {
        int64_t from = n * p->h * p->w, to = n * p->oh * p->ow;
        int64_t *index = (int64_t *)k->out[1].data + to;
        if (k->in[0].dtype == JANUS_F32)
            max_plane_float(p, (const float *)k->in[0].data + from, (float *)k->out[0].data + to,
                            index);
        else
            max_plane_double(p, (const double *)k->in[0].data + from, (double *)k->out[0].data + to,
                             index);
    }
}

static void max_pool2d(const jn_kargs *k) {
    const janus_max_pool2d_attrs *a = k->attrs;
    const int64_t *d = k->in[0].dims, *o = k->out[0].dims;
    pool p = {.k = k, .h = d[2], .w = d[3], .oh = o[2], .ow = o[3]};
    for (int i = 0; i < 2; i++) {
        p.kernel[i] = a->kernel.data[i];
        p.stride[i] = a->stride.n ? a->stride.data[i] : a->kernel.data[i];
        p.padding[i] = a->padding.data[i];
        p.dilation[i] = a->dilation.data[i];
    }
    k->par->run(k->par, d[0] * d[1], GRAIN / (p.oh * p.ow + 1) + 1, max_range, &p);
}

/* The gradient of the operand, and gathering at the same indices. */
typedef struct at_index {
    const jn_kargs *k;
    int64_t plane, windows;
} at_index;

static int64_t flat_at(const at_index *j, int64_t i) {
    const jn_view *v = &j->k->in[1];
    int64_t at = v->dtype == JANUS_I64   ? ((const int64_t *)v->data)[i]
                 : v->dtype == JANUS_I32 ? (int64_t)((const int32_t *)v->data)[i]
                                         : (int64_t)((const uint8_t *)v->data)[i];
    if (at >= 0 && at < j->plane)
        return at;
    __atomic_fetch_or(j->k->flags, JN_KFLAG_INDEX, __ATOMIC_RELAXED);
    return -1;
}

static void grad_range(void *arg, int64_t begin, int64_t end) {
    const at_index *j = arg;
    const jn_kargs *k = j->k;
    size_t size = jn_elem_size(k->out[0].dtype);
    memset((char *)k->out[0].data + (size_t)(begin * j->plane) * size, 0,
           (size_t)((end - begin) * j->plane) * size);
    for (int64_t i = begin * j->windows; i < end * j->windows; i++) {
        int64_t at = flat_at(j, i), base = i / j->windows * j->plane;
        if (at < 0)
            continue;
        if (size == sizeof(float))
            ((float *)k->out[0].data)[base + at] += ((const float *)k->in[0].data)[i];
        else
            ((double *)k->out[0].data)[base + at] += ((const double *)k->in[0].data)[i];
    }
}

static void gather_range(void *arg, int64_t begin, int64_t end) {
    const at_index *j = arg;
    const jn_kargs *k = j->k;
    bool small = k->out[0].dtype == JANUS_F32;
    for (int64_t i = begin * j->windows; i < end * j->windows; i++) {
        int64_t at = flat_at(j, i), base = i / j->windows * j->plane;
        if (small)
            ((float *)k->out[0].data)[i] =
                at < 0 ? 0.0f : ((const float *)k->in[0].data)[base + at];
        else
            ((double *)k->out[0].data)[i] =
                at < 0 ? 0.0 : ((const double *)k->in[0].data)[base + at];
    }
}

static void run_at_index(const jn_kargs *k, const jn_view *x, jn_range_fn body) {
    const int64_t *d = x->dims, *o = k->in[1].dims;
    at_index j = {k, d[2] * d[3], o[2] * o[3]};
    k->par->run(k->par, d[0] * d[1], GRAIN / (j.plane + 1) + 1, body, &j);
}
static void max_pool2d_grad(const jn_kargs *k) { run_at_index(k, &k->out[0], grad_range); }
static void max_pool2d_gather(const jn_kargs *k) { run_at_index(k, &k->in[0], gather_range); }

#define SELECT(name)                                                                               \
    jn_kernel_fn jn_cpu_##name(const jn_sig *sig) {                                                \
        (void)sig;                                                                                 \
        return name;                                                                               \
    }
SELECT(max_pool2d)
SELECT(max_pool2d_grad)
SELECT(max_pool2d_gather)
