/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax and losses: a block per row or line; f32, f16 and bf16 compute in float, f64 in double.
 * Losses leave one number per row in the workspace, which one block then adds in order.
 */
#include "ops/cuda/registers.cuh"

extern "C" {
#include "ops/nn_rules.h"
}

static __device__ __forceinline__ float exp_of(float x) { return expf(x); }
static __device__ __forceinline__ double exp_of(double x) { return exp(x); }
static __device__ __forceinline__ float log_of(float x) { return logf(x); }
static __device__ __forceinline__ double log_of(double x) { return log(x); }
static __device__ __forceinline__ float log1p_of(float x) { return log1pf(x); }
static __device__ __forceinline__ double log1p_of(double x) { return log1p(x); }
template <class C> static __device__ __forceinline__ C minus_infinity() { return (C)(-INFINITY); }

/* The lines of a view along an axis. */
struct lines {
    dview v; /* the other dims */
    i64 n, stride;
};
static lines lines_of(const jn_view &v, int axis) {
    lines l;
    l.v = view_of(v);
    l.n = v.rank ? (i64)v.dims[axis] : 1;
    l.stride = v.rank ? (i64)v.strides[axis] : 0;
    int n = 0;
    for (int i = 0; i < v.rank; i++)
        if (i != axis) {
            l.v.d[n] = v.dims[i];
            l.v.s[n++] = v.strides[i];
        }
    l.v.rank = n;
    return l;
}
template <class C> static __device__ __forceinline__ C at(const lines &l, i64 base, i64 i) {
    return load_as<C>(l.v.p, base + i * l.stride, l.v.dtype);
}

/* log of the sum of exp over a line, by the whole block */
template <class C> static __device__ __forceinline__ C line_lse(const lines &l, i64 base) {
    C m = minus_infinity<C>(), s = 0;
    for (i64 i = threadIdx.x; i < l.n; i += blockDim.x)
        m = op_max::of(at<C>(l, base, i), m);
    m = block_all<op_max>(m);
    if (m != m || m - m != 0)
        return m;
    for (i64 i = threadIdx.x; i < l.n; i += blockDim.x)
        s += exp_of(at<C>(l, base, i) - m);
    return log_of(block_all<op_sum>(s)) + m;
}

/* ---- softmax ------------------------------------------------------------------------------------
 */

template <class C> static __global__ void softmax(lines x, lines y, i64 rows, bool logarithm) {
    for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
        i64 from = offset_of(x.v, r), to = offset_of(y.v, r);
        C lse = line_lse<C>(x, from);
        lse += lse - lse; /* of an infinite one nothing is a number */
        for (i64 i = threadIdx.x; i < x.n; i += blockDim.x) {
            C f = at<C>(x, from, i) - lse;
            store_f(y.v.p, to + i * y.stride, y.v.dtype, logarithm ? f : exp_of(f));
        }
    }
}

/* Rows side by side, in registers: read once. */
struct row_args {
    const char *x, *dy;
    char *y;
    i64 rows;
    int dtype;
    bool logarithm;
};
template <int Q, class S>
static __global__ void JN_ROW_BOUNDS(Q) softmax_rows(row_args a, row_plan r) {
    const i64 g = row_here(r);
    if (g >= a.rows)
        return;
    float v[4 * Q], most = minus_infinity<float>(), s = 0;
    load_row<Q>(v, (const S *)a.x + g * r.n, r, a.dtype);
    JN_UNROLL
    for (int j = 0; j < 4 * Q; j++)
        most = element_of(r, j) < r.n ? op_max::of(v[j], most) : most;
    most = row_all<op_max>(most, r);
    JN_UNROLL
    for (int j = 0; j < 4 * Q; j++)
        s += element_of(r, j) < r.n ? exp_of(v[j] - most) : 0.0f;
    const float lse = log_of(row_all<op_sum>(s, r)) + most;
    JN_UNROLL
    for (int j = 0; j < 4 * Q; j++)
        v[j] = a.logarithm ? v[j] - lse : exp_of(v[j] - lse);
    store_row<Q>(v, (S *)a.y + g * r.n, r, a.dtype);
}

template <int Q, class S>
static __global__ void JN_ROW_BOUNDS(Q) softmax_grad_rows(row_args a, row_plan r) {
    const i64 g = row_here(r);
    if (g >= a.rows)
        return;
    float d[4 * Q], v[4 * Q], s = 0;
    load_row<Q>(d, (const S *)a.dy + g * r.n, r, a.dtype);
    load_row<Q>(v, (const S *)a.x + g * r.n, r, a.dtype);
    JN_UNROLL
    for (int j = 0; j < 4 * Q; j++) /* what is behind the end is 0 */
        s += a.logarithm ? d[j] : d[j] * v[j];
    s = row_all<op_sum>(s, r);
    JN_UNROLL
    for (int j = 0; j < 4 * Q; j++)
        d[j] = a.logarithm ? d[j] - exp_of(v[j]) * s : v[j] * (d[j] - s);
    store_row<Q>(d, (S *)a.y + g * r.n, r, a.dtype);
}

enum { SOFTMAX_FOURS = 8, GRAD_FOURS = 4 }; /* of a thread, at most */

template <class S> static bool rows_of_softmax(jn_dev_exec *e, const row_args &a, i64 n) {
    row_plan r = plan_row(a.rows, n, n, 0, a.dy ? GRAD_FOURS : SOFTMAX_FOURS);
    r.vectors = r.vectors && by_fours<S>(a.x) && by_fours<S>(a.y) && by_fours<S>(a.dy);
    if (r.q == 0)
        return false;
    if (a.dy)
        JN_LAUNCH_ROWS(e, softmax_grad_rows, GRAD_FOURS, S, a.rows, r, a);
    else
        JN_LAUNCH_ROWS(e, softmax_rows, SOFTMAX_FOURS, S, a.rows, r, a);
    return true;
}
/* dy NULL: the way there.  False: rows do not lie so, or are too long. */
static bool softmax_in_registers(const jn_kargs *k, const jn_view *dy, const jn_view &x, int axis,
                                 bool logarithm) {
    const jn_view &y = k->out[0];
    if (!x.rank || axis != x.rank - 1 || !x.contiguous || !y.contiguous ||
        (dy && !dy->contiguous) || y.dtype != x.dtype || (dy && dy->dtype != x.dtype))
        return false;
    const i64 n = (i64)x.dims[axis];
    row_args a = {(const char *)x.data,
                  dy ? (const char *)dy->data : NULL,
                  (char *)y.data,
                  n ? numel_of(x) / n : 0,
                  x.dtype,
                  logarithm};
    return a.rows == 0 || (x.dtype == JANUS_F32 ? rows_of_softmax<float>(exec_of(k), a, n)
                           : x.dtype == JANUS_F16 || x.dtype == JANUS_BF16
                               ? rows_of_softmax<halves>(exec_of(k), a, n)
                               : false);
}

static void run_softmax_any(const jn_kargs *k, bool logarithm) {
    int axis = axis_of(((const janus_softmax_attrs *)k->attrs)->axis, k->in[0].rank);
    if (softmax_in_registers(k, NULL, k->in[0], axis, logarithm))
        return;
    lines x = lines_of(k->in[0], axis), y = lines_of(k->out[0], axis);
    i64 rows = x.n ? numel_of(k->in[0]) / x.n : 0;
    if (rows)
        BY_DTYPE(JN_LAUNCH_SYNC, exec_of(k), x.v.dtype, softmax, rows_grid(rows), threads_for(x.n),
                 x, y, rows, logarithm);
}
static void run_softmax(const jn_kargs *k) { run_softmax_any(k, false); }
static void run_log_softmax(const jn_kargs *k) { run_softmax_any(k, true); }

template <class C>
static __global__ void softmax_grad(lines dy, lines y, lines dx, i64 rows, bool logarithm) {
    for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
        i64 od = offset_of(dy.v, r), oy = offset_of(y.v, r), to = offset_of(dx.v, r);
        C s = 0;
        for (i64 i = threadIdx.x; i < dy.n; i += blockDim.x)
            s += logarithm ? at<C>(dy, od, i) : at<C>(dy, od, i) * at<C>(y, oy, i);
        s = block_all<op_sum>(s);
        for (i64 i = threadIdx.x; i < dy.n; i += blockDim.x) {
            C d = at<C>(dy, od, i), f = at<C>(y, oy, i);
            store_f(dx.v.p, to + i * dx.stride, dx.v.dtype,
                    logarithm ? d - exp_of(f) * s : f * (d - s));
        }
    }
}
static void run_softmax_grad_any(const jn_kargs *k, bool logarithm) {
    int axis = axis_of(((const janus_softmax_grad_attrs *)k->attrs)->axis, k->in[0].rank);
    if (softmax_in_registers(k, &k->in[0], k->in[1], axis, logarithm))
        return;
    lines dy = lines_of(k->in[0], axis), y = lines_of(k->in[1], axis),
          dx = lines_of(k->out[0], axis);
    i64 rows = dy.n ? numel_of(k->in[0]) / dy.n : 0;
    if (rows)
        BY_DTYPE(JN_LAUNCH_SYNC, exec_of(k), dy.v.dtype, softmax_grad, rows_grid(rows),
                 threads_for(dy.n), dy, y, dx, rows, logarithm);
}
static void run_softmax_grad(const jn_kargs *k) { run_softmax_grad_any(k, false); }
static void run_log_softmax_grad(const jn_kargs *k) { run_softmax_grad_any(k, true); }

/* ---- classification
 * ------------------------------------------------------------------------------
 */

struct classes {
    lines x;      /* scores or log probabilities, a line per row */
    lines target; /* probabilities along a line; n 0: classes, by row */
    i64 rows, ignore;
    i64 groups, each; /* results of their own: one, or a group of rows per row of a batch */
    int reduction;
    double smoothing;
    bool log_probs;
    double *losses; /* workspace: per row; per row: 1 where it counts */
    double *counts;
    uint32_t *flags;
};

/* With JN_REDUCTION_ROWS every operand has one more dim in front. */
static int class_axis(const jn_view &x, i64 reduction) {
    int batch = (reduction & JN_REDUCTION_ROWS) != 0;
    return batch + (x.rank - batch > 1);
}

/* Class of a row; -1: ignored or, with the flag, out of range. */
static __device__ __forceinline__ i64 class_of(const classes &c, i64 r) {
    i64 t = load_i(c.target.v.p, offset_of(c.target.v, r), c.target.v.dtype);
    if (t == c.ignore)
        return -1;
    if (t < 0 || t >= c.x.n) {
        if (threadIdx.x == 0)
            atomicOr(c.flags, (uint32_t)JN_KFLAG_INDEX);
        return -1;
    }
    return t;
}
template <class C>
static __device__ __forceinline__ C weight_of(const classes &c, i64 target_at, i64 t, i64 i) {
    C p = c.target.n ? at<C>(c.target, target_at, i) : (C)(i == t);
    return p * (C)(1 - c.smoothing) + (C)(c.smoothing / (double)c.x.n);
}

template <class C> static __global__ void class_losses(classes c) {
    for (i64 r = blockIdx.x; r < c.rows; r += gridDim.x) {
        i64 from = offset_of(c.x.v, r), t = c.target.n ? 0 : class_of(c, r);
        i64 target_at = c.target.n ? offset_of(c.target.v, r) : 0;
        C loss = 0;
        if (t >= 0 && c.log_probs) {
            loss = -at<C>(c.x, from, t);
        } else if (t >= 0) {
            C lse = line_lse<C>(c.x, from);
            if (c.target.n == 0 && c.smoothing == 0) {
                loss = lse - at<C>(c.x, from, t);
            } else {
                for (i64 i = threadIdx.x; i < c.x.n; i += blockDim.x)
                    loss += weight_of<C>(c, target_at, t, i) * (lse - at<C>(c.x, from, i));
                loss = block_all<op_sum>(loss);
            }
        }
        if (threadIdx.x == 0) {
            c.losses[r] = (double)loss;
            c.counts[r] = t >= 0;
        }
    }
}

static __global__ void store_losses(classes c, char *y, int dtype) {
    JN_EACH(r, c.rows)
    store_f(y, r, dtype, c.losses[r]);
}
/* y = the sum of each group's losses, or their mean over the rows that count. */
static __global__ void reduce_losses(classes c, char *y, int dtype) {
    for (i64 g = blockIdx.x; g < c.groups; g += gridDim.x) {
        double s = 0, n = 0;
        for (i64 r = threadIdx.x; r < c.each; r += blockDim.x) {
            s += c.losses[g * c.each + r];
            n += c.counts[g * c.each + r];
        }
        s = block_all<op_sum>(s);
        n = block_all<op_sum>(n);
        if (threadIdx.x == 0)
            store_f(y, g, dtype, c.reduction == JN_REDUCTION_MEAN ? s / n : s);
    }
}

static classes classes_of(const jn_kargs *k, const jn_view &x, const jn_view &t, i64 reduction,
                          i64 ignore, double smoothing) {
    classes c;
    memset(&c, 0, sizeof c);
    int axis = class_axis(x, reduction);
    c.x = lines_of(x, axis);
    if (is_float(t.dtype) && t.rank == x.rank) {
        c.target = lines_of(t, axis);
    } else {
        c.target.v = view_of(t);
        if (t.rank == 0)
            c.target.v.rank = 0;
    }
    c.rows = c.x.n ? numel_of(x) / c.x.n : 0;
    c.ignore = ignore;
    c.groups = reduction & JN_REDUCTION_ROWS ? (i64)x.dims[0] : 1;
    c.each = c.groups ? c.rows / c.groups : 0;
    c.reduction = (int)(reduction & ~(i64)JN_REDUCTION_ROWS);
    c.smoothing = smoothing;
    c.losses = (double *)k->workspace;
    c.counts = c.losses + c.rows;
    c.flags = k->flags;
    return c;
}

extern "C" size_t jn_cuda_loss_workspace(const jn_sig *sig) {
    /* cross_entropy_grad has dy in front */
    unsigned first = sig->op->id == JN_OP_ID_cross_entropy_grad ? 1 : 0;
    i64 n = 0;
    for (unsigned i = first; i < sig->n_in && i < first + 2; i++)
        n = numel_of(sig->in[i]) > n ? numel_of(sig->in[i]) : n;
    return (size_t)(2 * (n + 1)) * sizeof(double);
}

static void run_class_losses(const jn_kargs *k, const classes &c) {
    if (c.rows)
        BY_DTYPE(JN_LAUNCH_SYNC, exec_of(k), c.x.v.dtype, class_losses, rows_grid(c.rows),
                 threads_for(c.x.n), c);
    if (c.reduction != JN_REDUCTION_NONE && c.groups)
        JN_LAUNCH_SYNC(exec_of(k), reduce_losses, rows_grid(c.groups), threads_for(c.each), c,
                       (char *)k->out[0].data, (int)k->out[0].dtype);
    else if (c.rows && c.groups)
        JN_LAUNCH(exec_of(k), store_losses, grid_for(c.rows), JN_BLOCK, c, (char *)k->out[0].data,
                  (int)k->out[0].dtype);
}
static void run_cross_entropy(const jn_kargs *k) {
    const janus_cross_entropy_attrs *a = (const janus_cross_entropy_attrs *)k->attrs;
    run_class_losses(
        k, classes_of(k, k->in[0], k->in[1], a->reduction, a->ignore_index, a->label_smoothing));
}
static void run_nll_loss(const jn_kargs *k) {
    const janus_nll_loss_attrs *a = (const janus_nll_loss_attrs *)k->attrs;
    classes c = classes_of(k, k->in[0], k->in[1], a->reduction, a->ignore_index, 0);
    c.log_probs = true;
    run_class_losses(k, c);
}

/* How many rows of each group count, in counts, by a block. */
static __global__ void count_rows(classes c) {
    for (i64 g = blockIdx.x; g < c.groups; g += gridDim.x) {
        double n = 0;
        for (i64 r = g * c.each + threadIdx.x; r < (g + 1) * c.each; r += blockDim.x) {
            i64 t =
                c.target.n ? 0 : load_i(c.target.v.p, offset_of(c.target.v, r), c.target.v.dtype);
            n += c.target.n || (t != c.ignore && t >= 0 && t < c.x.n);
        }
        n = block_all<op_sum>(n);
        if (threadIdx.x == 0)
            c.counts[g] = n;
    }
}
template <class C>
static __device__ __forceinline__ C row_dy(const classes &c, const dview &dy, i64 r) {
    if (c.reduction == JN_REDUCTION_NONE)
        return load_as<C>(dy.p, offset_of(dy, r), dy.dtype);
    i64 g = r / c.each;
    C f = load_as<C>(dy.p, offset_of(dy, g), dy.dtype);
    return c.reduction == JN_REDUCTION_MEAN ? f / (C)c.counts[g] : f;
}

template <class C> static __global__ void cross_entropy_grad(classes c, dview dy, lines dx) {
    for (i64 r = blockIdx.x; r < c.rows; r += gridDim.x) {
        i64 from = offset_of(c.x.v, r), to = offset_of(dx.v, r),
            t = c.target.n ? 0 : class_of(c, r);
        i64 target_at = c.target.n ? offset_of(c.target.v, r) : 0;
        C g = row_dy<C>(c, dy, r), lse = line_lse<C>(c.x, from), total = 0;
        for (i64 i = threadIdx.x; t >= 0 && i < c.x.n; i += blockDim.x)
            total += weight_of<C>(c, target_at, t, i);
        total = block_all<op_sum>(total);
        for (i64 i = threadIdx.x; i < c.x.n; i += blockDim.x) {
            C p = exp_of(at<C>(c.x, from, i) - lse);
            C d = t >= 0 ? g * (total * p - weight_of<C>(c, target_at, t, i)) : (C)0;
            store_f(dx.v.p, to + i * dx.stride, dx.v.dtype, d);
        }
    }
}
static void run_cross_entropy_grad(const jn_kargs *k) {
    const janus_cross_entropy_grad_attrs *a = (const janus_cross_entropy_grad_attrs *)k->attrs;
    classes c =
        classes_of(k, k->in[1], k->in[2], a->reduction, a->ignore_index, a->label_smoothing);
    lines dx = lines_of(k->out[0], class_axis(k->in[1], a->reduction));
    if (!c.rows)
        return;
    JN_LAUNCH_SYNC(exec_of(k), count_rows, rows_grid(c.groups), threads_for(c.each), c);
    BY_DTYPE(JN_LAUNCH_SYNC, exec_of(k), c.x.v.dtype, cross_entropy_grad, rows_grid(c.rows),
             threads_for(c.x.n), c, view_of(k->in[0]), dx);
}

template <class C> static __global__ void nll_loss_grad(classes c, dview dy) {
    JN_EACH(e, c.rows * c.x.n) {
        i64 r = e / c.x.n, i = e % c.x.n;
        i64 t = load_i(c.target.v.p, offset_of(c.target.v, r), c.target.v.dtype);
        bool in_range = t >= 0 && t < c.x.n;
        if (t != c.ignore && !in_range && i == 0)
            atomicOr(c.flags, (uint32_t)JN_KFLAG_INDEX);
        C d = t == i && t != c.ignore && in_range ? -row_dy<C>(c, dy, r) : (C)0;
        store_f(c.x.v.p, offset_of(c.x.v, r) + i * c.x.stride, c.x.v.dtype, d);
    }
}
static void run_nll_loss_grad(const jn_kargs *k) {
    const janus_nll_loss_grad_attrs *a = (const janus_nll_loss_grad_attrs *)k->attrs;
    classes c = classes_of(k, k->out[0], k->in[1], a->reduction, a->ignore_index, 0);
    if (!c.rows)
        return;
    JN_LAUNCH_SYNC(exec_of(k), count_rows, rows_grid(c.groups), threads_for(c.each), c);
    BY_DTYPE(JN_LAUNCH, exec_of(k), c.x.v.dtype, nll_loss_grad, grid_for(c.rows * c.x.n), JN_BLOCK,
             c, view_of(k->in[0]));
}

/* ---- losses of pairs
 * ------------------------------------------------------------------------------
 */

enum { MSE, BCE, SMOOTH };
template <class C> static __device__ __forceinline__ C pair_of(int kind, C x, C t, C beta) {
    C d = x - t < 0 ? t - x : x - t;
    switch (kind) {
    case MSE:
        return d * d;
    case BCE:
        return (x > 0 ? x : 0) - x * t + log1p_of(exp_of(x < 0 ? x : -x));
    default:
        return d < beta ? (C)0.5 * d * d / beta : d - (C)0.5 * beta;
    }
}

struct pairs {
    dview x, t; /* of the broadcast dims */
    i64 n, each;
    i64 groups, blocks; /* results of their own, of n elements; blocks per group */
    int kind, reduction;
    double beta;
    double *part; /* workspace: a sum per block */
    char *y;
    int dtype;
};

/* A sum per block of `each` elements of a group. */
template <class C> static __global__ void pair_sums(pairs p) {
    i64 first = blockIdx.x / p.blocks * p.n, stop = first + p.n;
    i64 begin = first + blockIdx.x % p.blocks * p.each;
    i64 end = begin + p.each < stop ? begin + p.each : stop;
    C s = 0;
    for (i64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
        C loss = pair_of<C>(p.kind, load_as<C>(p.x.p, offset_of(p.x, i), p.x.dtype),
                            load_as<C>(p.t.p, offset_of(p.t, i), p.t.dtype), (C)p.beta);
        s += loss;
        if (p.reduction == JN_REDUCTION_NONE)
            store_f(p.y, i, p.dtype, loss);
    }
    s = block_all<op_sum>(s);
    if (threadIdx.x == 0 && p.reduction != JN_REDUCTION_NONE)
        p.part[blockIdx.x] = (double)s;
}
static __global__ void pair_total(pairs p) {
    for (i64 g = blockIdx.x; g < p.groups; g += gridDim.x) {
        double s = 0;
        for (i64 i = threadIdx.x; i < p.blocks; i += blockDim.x)
            s += p.part[g * p.blocks + i];
        s = block_all<op_sum>(s);
        if (threadIdx.x == 0)
            store_f(p.y, g, p.dtype, p.reduction == JN_REDUCTION_MEAN ? s / (double)p.n : s);
    }
}

/* The first `batch` dims, 0 or 1, are those of every operand; the others are matched from the last.
 */
static dview broadcast(const jn_view &v, const dview &to, int batch) {
    dview r = to;
    r.p = (char *)v.data;
    r.dtype = v.dtype;
    for (int i = 0; i < to.rank; i++) {
        int from = i - (to.rank - v.rank);
        if (i < batch)
            r.s[i] = v.strides[i];
        else
            r.s[i] = from < batch || v.dims[from] == 1 ? 0 : v.strides[from];
    }
    return r;
}

static void run_pairs(const jn_kargs *k, int kind, i64 reduction, double beta) {
    const jn_view *x = &k->in[0], *t = &k->in[1];
    pairs p;
    dview dims;
    memset(&p, 0, sizeof p);
    memset(&dims, 0, sizeof dims);
    dims.rank = x->rank > t->rank ? x->rank : t->rank;
    int batch = (reduction & JN_REDUCTION_ROWS) != 0;
    p.n = p.groups = 1;
    if (batch)
        p.groups = dims.d[0] = x->dims[0];
    for (int i = batch; i < dims.rank; i++) {
        int ix = i - (dims.rank - x->rank), it = i - (dims.rank - t->rank);
        dims.d[i] = ix < batch || x->dims[ix] == 1 ? (it < batch ? 1 : t->dims[it]) : x->dims[ix];
        p.n *= dims.d[i];
    }
    p.x = broadcast(*x, dims, batch);
    p.t = broadcast(*t, dims, batch);
    p.kind = kind;
    p.reduction = (int)(reduction & ~(i64)JN_REDUCTION_ROWS);
    p.beta = beta;
    p.part = (double *)k->workspace;
    p.y = (char *)k->out[0].data;
    p.dtype = k->out[0].dtype;
    p.each = 4096;
    p.blocks = (p.n + p.each - 1) / p.each;
    int threads = threads_for(p.n < p.each ? p.n : p.each);
    if (p.blocks && p.groups)
        BY_DTYPE(JN_LAUNCH_SYNC, exec_of(k), p.x.dtype, pair_sums, (unsigned)(p.groups * p.blocks),
                 threads, p);
    if (p.reduction != JN_REDUCTION_NONE && p.groups)
        JN_LAUNCH_SYNC(exec_of(k), pair_total, rows_grid(p.groups), threads_for(p.blocks), p);
}
extern "C" size_t jn_cuda_pair_workspace(const jn_sig *sig) {
    const jn_view *x = &sig->in[0], *t = &sig->in[1];
    int rank = x->rank > t->rank ? x->rank : t->rank;
    i64 n = 1;
    for (int i = 0; i < rank; i++) {
        int ix = i - (rank - x->rank), it = i - (rank - t->rank);
        n *= ix < 0 || x->dims[ix] == 1 ? (it < 0 ? 1 : t->dims[it]) : x->dims[ix];
    }
    /* and one block each of what may be groups */
    return (size_t)(n / 4096 + (x->rank ? x->dims[0] : 0) + 1) * sizeof(double);
}
static void run_mse_loss(const jn_kargs *k) {
    run_pairs(k, MSE, ((const janus_mse_loss_attrs *)k->attrs)->reduction, 0);
}
static void run_bce_with_logits(const jn_kargs *k) {
    run_pairs(k, BCE, ((const janus_bce_with_logits_attrs *)k->attrs)->reduction, 0);
}
static void run_smooth_l1(const jn_kargs *k) {
    const janus_smooth_l1_attrs *a = (const janus_smooth_l1_attrs *)k->attrs;
    run_pairs(k, SMOOTH, a->reduction, a->beta);
}

#define SELECT(name)                                                                               \
    JN_CUDA_SELECT jn_cuda_##name(const jn_sig *sig) {                                             \
        (void)sig;                                                                                 \
        return run_##name;                                                                         \
    }
SELECT(softmax)
SELECT(log_softmax)
SELECT(softmax_grad)
SELECT(log_softmax_grad)
SELECT(cross_entropy)
SELECT(cross_entropy_grad)
SELECT(nll_loss)
SELECT(nll_loss_grad)
SELECT(mse_loss)
SELECT(bce_with_logits)
SELECT(smooth_l1)
