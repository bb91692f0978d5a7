/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pooling over [N,C,H,W].  A gradient is gathered: each element of the input looks for the windows
 * that may have taken it, in order, so that nothing is added atomically.
 */
#include "ops/cuda/cuda.cuh"

struct pool {
    dview x, y; /* x: input or its gradient; y: output or its gradient */
    dview index;
    i64 kernel[2], stride[2], pad[2], dil[2], n;
    bool include_pad;
    char *out; /* of positions */
    int out_dtype;
    uint32_t *flags;
    int *reach; /* workspace: how far indices stray, see max_pool2d_grad */
};

/* Rows [begin, end) of the input in window o; how many count with padding. */
struct window {
    i64 begin, end, padded;
};
static __device__ __forceinline__ window window_of(const pool &p, int d, i64 o) {
    i64 size = p.x.d[2 + d], first = o * p.stride[d] - p.pad[d];
    window w = {first, first + (p.kernel[d] - 1) * p.dil[d] + 1, 0};
    w.padded = (w.end < size + p.pad[d] ? w.end : size + p.pad[d]) - first;
    while (w.begin < 0)
        w.begin += p.dil[d];
    if (w.end > size)
        w.end = size;
    return w;
}

template <class C> static __global__ void max_pool(pool p) {
    JN_EACH(e, p.n) {
        i64 i[4];
        index4(p.y, e, i);
        window h = window_of(p, 0, i[2]), w = window_of(p, 1, i[3]);
        C m = (C)(-INFINITY);
        /* -1: the window lies in the padding alone */
        i64 best = h.begin < h.end && w.begin < w.end ? h.begin * p.x.d[3] + w.begin : -1;
        for (i64 r = h.begin; r < h.end; r += p.dil[0])
            for (i64 c = w.begin; c < w.end; c += p.dil[1]) {
                C f = load_as<C>(p.x.p, at4(p.x, i[0], i[1], r, c), p.x.dtype);
                if (f > m || f != f) {
                    m = f;
                    best = r * p.x.d[3] + c;
                }
            }
        store_f(p.y.p, e, p.y.dtype, m);
        store_i(p.out, e, p.out_dtype, best);
    }
}

/* [N, C, H, W]; rows of a batch in front are more of N. */
static dview planes_of(const jn_view &v) {
    dview r = view_of(v);
    if (r.rank != 5)
        return r;
    r.rank = 4;
    r.d[0] *= r.d[1];
    r.s[0] = r.s[1];
    for (int i = 1; i < 4; i++) {
        r.d[i] = r.d[i + 1];
        r.s[i] = r.s[i + 1];
    }
    return r;
}
/* The rows lie one after the other. */
static bool planes_fit(const jn_sig *sig) {
    for (unsigned i = 0; i < (unsigned)sig->n_in + sig->n_out; i++) {
        const jn_view *v = i < sig->n_in ? &sig->in[i] : &sig->out[i - sig->n_in];
        if (v->rank == 5 && v->strides && v->dims[0] != 1 && v->dims[1] != 0 &&
            v->strides[0] != v->dims[1] * v->strides[1])
            return false;
    }
    return true;
}

static pool pool_of(const jn_kargs *k, janus_ints kernel, janus_ints stride, janus_ints padding) {
    pool p;
    memset(&p, 0, sizeof p);
    for (int d = 0; d < 2; d++) {
        p.kernel[d] = kernel.data[d];
        p.stride[d] = stride.n ? stride.data[d] : kernel.data[d];
        p.pad[d] = padding.data[d];
        p.dil[d] = 1;
    }
    p.flags = k->flags;
    p.n = numel_of(k->out[0]);
    return p;
}

#define LAUNCH(k, kernel, p)                                                                       \
    do {                                                                                           \
        if ((p).n && (p).x.dtype == JANUS_F64)                                                     \
            JN_LAUNCH(exec_of(k), kernel<double>, grid_for((p).n), JN_BLOCK, p);                   \
        else if ((p).n)                                                                            \
            JN_LAUNCH(exec_of(k), kernel<float>, grid_for((p).n), JN_BLOCK, p);                    \
    } while (0)

static void run_max_pool2d(const jn_kargs *k) {
    const janus_max_pool2d_attrs *a = (const janus_max_pool2d_attrs *)k->attrs;
    pool p = pool_of(k, a->kernel, a->stride, a->padding);
    p.x = view_of(k->in[0]);
    p.y = view_of(k->out[0]);
    p.dil[0] = a->dilation.data[0];
    p.dil[1] = a->dilation.data[1];
    p.out = (char *)k->out[1].data;
    p.out_dtype = k->out[1].dtype;
    LAUNCH(k, max_pool, p);
}

/* Where output row o would point if windows were spread evenly. */
static __device__ __forceinline__ i64 even(i64 o, i64 size, i64 outputs) {
    return o * size / outputs;
}

/* reach: smallest and largest difference of an index from that, by dim.  Integer extremes are the
 * same in any order. */
static __global__ void measure(pool p, i64 n) {
    i64 plane = p.x.d[2] * p.x.d[3];
    JN_EACH(e, n) {
        i64 i[4];
        index4(p.y, e, i);
        i64 flat = load_i(p.index.p, at4(p.index, i[0], i[1], i[2], i[3]), p.index.dtype);
        if (flat < 0 || flat >= plane) {
            if (flat != -1)
                atomicOr(p.flags, (uint32_t)JN_KFLAG_INDEX);
            continue;
        }
        int dr = (int)(flat / p.x.d[3] - even(i[2], p.x.d[2], p.y.d[2]));
        int dc = (int)(flat % p.x.d[3] - even(i[3], p.x.d[3], p.y.d[3]));
        atomicMin(&p.reach[0], dr);
        atomicMax(&p.reach[1], dr);
        atomicMin(&p.reach[2], dc);
        atomicMax(&p.reach[3], dc);
    }
}
static __global__ void start_measure(int *reach) {
    reach[0] = reach[2] = INT32_MAX / 2;
    reach[1] = reach[3] = -INT32_MAX / 2;
}

/* First output whose even place is at least v. */
static __device__ __forceinline__ i64 first_even(i64 v, i64 size, i64 outputs) {
    return v <= 0 ? 0 : (v * outputs + size - 1) / size;
}

template <class C> static __global__ void max_pool_grad(pool p) {
    JN_EACH(e, p.n) {
        i64 i[4];
        index4(p.x, e, i);
        i64 h = p.x.d[2], w = p.x.d[3], oh = p.y.d[2], ow = p.y.d[3], me = i[2] * w + i[3];
        /* even(o) is between i - reach max and i - reach min */
        i64 r0 = first_even(i[2] - p.reach[1], h, oh), r1 = i[2] - p.reach[0];
        i64 c0 = first_even(i[3] - p.reach[3], w, ow), c1 = i[3] - p.reach[2];
        C s = 0;
        for (i64 r = r0; r < oh && even(r, h, oh) <= r1; r++)
            for (i64 c = c0; c < ow && even(c, w, ow) <= c1; c++)
                if (load_i(p.index.p, at4(p.index, i[0], i[1], r, c), p.index.dtype) == me)
                    s += load_as<C>(p.y.p, at4(p.y, i[0], i[1], r, c), p.y.dtype);
        store_f(p.x.p, e, p.x.dtype, s);
    }
}
static void run_max_pool2d_grad(const jn_kargs *k) {
    pool p;
    memset(&p, 0, sizeof p);
    p.y = planes_of(k->in[0]);
    p.index = planes_of(k->in[1]);
    p.x = planes_of(k->out[0]);
    p.flags = k->flags;
    p.n = numel_of(k->out[0]);
    p.reach = (int *)k->workspace;
    i64 n = numel_of(k->in[0]);
    JN_LAUNCH(exec_of(k), start_measure, 1, 1, p.reach);
    if (n)
        JN_LAUNCH(exec_of(k), measure, grid_for(n), JN_BLOCK, p, n);
    LAUNCH(k, max_pool_grad, p);
}

static __global__ void max_pool_gather(pool p) {
    int size = size_of(p.x.dtype);
    u64 zero = 0;
    i64 plane = p.x.d[2] * p.x.d[3];
    JN_EACH(e, p.n) {
        i64 i[4];
        index4(p.y, e, i);
        i64 flat = load_i(p.index.p, at4(p.index, i[0], i[1], i[2], i[3]), p.index.dtype);
        if (flat < 0 || flat >= plane) {
            if (flat != -1)
                atomicOr(p.flags, (uint32_t)JN_KFLAG_INDEX);
            copy_bits(p.y.p, e, &zero, 0, size);
        } else {
            copy_bits(p.y.p, e, p.x.p, at4(p.x, i[0], i[1], flat / p.x.d[3], flat % p.x.d[3]),
                      size);
        }
    }
}
static void run_max_pool2d_gather(const jn_kargs *k) {
    pool p;
    memset(&p, 0, sizeof p);
    p.x = planes_of(k->in[0]);
    p.index = planes_of(k->in[1]);
    p.y = planes_of(k->out[0]);
    p.flags = k->flags;
    p.n = numel_of(k->out[0]);
    if (p.n)
        JN_LAUNCH(exec_of(k), max_pool_gather, grid_for(p.n), JN_BLOCK, p);
}

template <class C>
static __device__ __forceinline__ C divisor(const pool &p, const window &h, const window &w) {
    return p.include_pad ? (C)(h.padded * w.padded) : (C)((h.end - h.begin) * (w.end - w.begin));
}

template <class C> static __global__ void avg_pool(pool p) {
    JN_EACH(e, p.n) {
        i64 i[4];
        index4(p.y, e, i);
        window h = window_of(p, 0, i[2]), w = window_of(p, 1, i[3]);
        C s = 0;
        for (i64 r = h.begin; r < h.end; r++)
            for (i64 c = w.begin; c < w.end; c++)
                s += load_as<C>(p.x.p, at4(p.x, i[0], i[1], r, c), p.x.dtype);
        store_f(p.y.p, e, p.y.dtype, s / divisor<C>(p, h, w));
    }
}
static void run_avg_pool2d(const jn_kargs *k) {
    const janus_avg_pool2d_attrs *a = (const janus_avg_pool2d_attrs *)k->attrs;
    pool p = pool_of(k, a->kernel, a->stride, a->padding);
    p.x = view_of(k->in[0]);
    p.y = view_of(k->out[0]);
    p.include_pad = a->count_include_pad != 0;
    LAUNCH(k, avg_pool, p);
}

/* Windows [first, last] whose begin is at most i and end above it. */
static __device__ __forceinline__ i64 first_window(const pool &p, int d, i64 i) {
    i64 v = i + p.pad[d] - p.kernel[d] + 1;
    return v <= 0 ? 0 : (v + p.stride[d] - 1) / p.stride[d];
}

template <class C> static __global__ void avg_pool_grad(pool p) {
    JN_EACH(e, p.n) {
        i64 i[4];
        index4(p.x, e, i);
        C s = 0;
        for (i64 r = first_window(p, 0, i[2]); r < p.y.d[2] && r * p.stride[0] - p.pad[0] <= i[2];
             r++)
            for (i64 c = first_window(p, 1, i[3]);
                 c < p.y.d[3] && c * p.stride[1] - p.pad[1] <= i[3]; c++)
                s += load_as<C>(p.y.p, at4(p.y, i[0], i[1], r, c), p.y.dtype) /
                     divisor<C>(p, window_of(p, 0, r), window_of(p, 1, c));
        store_f(p.x.p, e, p.x.dtype, s);
    }
}
static void run_avg_pool2d_grad(const jn_kargs *k) {
    const janus_avg_pool2d_grad_attrs *a = (const janus_avg_pool2d_grad_attrs *)k->attrs;
    pool p = pool_of(k, a->kernel, a->stride, a->padding);
    p.y = view_of(k->in[0]);
    p.x = view_of(k->out[0]);
    p.include_pad = a->count_include_pad != 0;
    LAUNCH(k, avg_pool_grad, p);
}

#define SELECT(name)                                                                               \
    JN_CUDA_SELECT jn_cuda_##name(const jn_sig *sig) {                                             \
        (void)sig;                                                                                 \
        return run_##name;                                                                         \
    }
SELECT(max_pool2d)
JN_CUDA_SELECT jn_cuda_max_pool2d_grad(const jn_sig *sig) {
    return planes_fit(sig) ? run_max_pool2d_grad : NULL;
}
JN_CUDA_SELECT jn_cuda_max_pool2d_gather(const jn_sig *sig) {
    return planes_fit(sig) ? run_max_pool2d_gather : NULL;
}
SELECT(avg_pool2d)
SELECT(avg_pool2d_grad)
