/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch and layer normalisation.  Groups of up to some ten thousand elements of f32, f16 or bf16
 * lie in registers (registers.cuh); others are read again for each of the three passes, by a block
 * per group.  f64 computes in double, all others in float.
 */
#include "ops/cuda/columns.cuh"
#include "ops/cuda/registers.cuh"

extern "C" {
#include "ops/nn_rules.h"
}

static __device__ __forceinline__ float sqrt_of(float x) { return sqrtf(x); }
static __device__ __forceinline__ double sqrt_of(double x) { return sqrt(x); }

/* A group of elements with one mean: `outer` runs of `inner` elements. */
struct norm_args {
    dview x, dy, y; /* y: the result, or dx; all row-major */
    i64 groups, outer, inner, outer_step, group_step;
    const char *weight, *bias, *mean, *invstd;
    i64 weight_s, bias_s, mean_s, invstd_s;
    char *out1, *out2; /* mean, invstd; or dweight, dbias */
    int dtype, stats;  /* stats: of the mean and invstd that were used, f32 for halves */
    double eps;
    bool training, per_element; /* per_element: weight and bias by position in the group */
};

static __device__ __forceinline__ i64 place(const norm_args &a, i64 g, i64 i) {
    return g * a.group_step + i / a.inner * a.outer_step + i % a.inner;
}
template <class C>
static __device__ __forceinline__ C param(const char *p, i64 s, i64 i, int dtype, C otherwise) {
    return p ? load_as<C>(p, i * s, dtype) : otherwise;
}

template <class C> static __global__ void normalise(norm_args a) {
    i64 n = a.outer * a.inner;
    for (i64 g = blockIdx.x; g < a.groups; g += gridDim.x) {
        C mean, var;
        if (a.training) {
            C s = 0;
            for (i64 i = threadIdx.x; i < n; i += blockDim.x)
                s += load_as<C>(a.x.p, place(a, g, i), a.dtype);
            mean = block_all<op_sum>(s) / (C)n;
            s = 0;
            for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
                C d = load_as<C>(a.x.p, place(a, g, i), a.dtype) - mean;
                s += d * d;
            }
            var = block_all<op_sum>(s) / (C)n;
        } else {
            mean = param<C>(a.mean, a.mean_s, g, a.dtype, 0);
            var = param<C>(a.invstd, a.invstd_s, g, a.dtype, 1);
        }
        C invstd = 1 / sqrt_of(var + (C)a.eps);
        if (threadIdx.x == 0) {
            store_f(a.out1, g, a.stats, mean);
            store_f(a.out2, g, a.stats, invstd);
        }
        for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
            i64 at = place(a, g, i), w = a.per_element ? i : g;
            C h = (load_as<C>(a.x.p, at, a.dtype) - mean) * invstd;
            store_f(a.y.p, at, a.dtype,
                    h * param<C>(a.weight, a.weight_s, w, a.dtype, 1) +
                        param<C>(a.bias, a.bias_s, w, a.dtype, 0));
        }
    }
}

template <class C> static __global__ void normalise_grad(norm_args a) {
    i64 n = a.outer * a.inner;
    for (i64 g = blockIdx.x; g < a.groups; g += gridDim.x) {
        C mean = load_as<C>(a.mean, g * a.mean_s, a.stats);
        C invstd = load_as<C>(a.invstd, g * a.invstd_s, a.stats), s = 0, sh = 0;
        for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
            i64 at = place(a, g, i);
            C d = load_as<C>(a.dy.p, at, a.dtype);
            C h = (load_as<C>(a.x.p, at, a.dtype) - mean) * invstd;
            if (a.per_element)
                d *= param<C>(a.weight, a.weight_s, i, a.dtype, 1);
            s += d;
            sh += d * h;
        }
        s = block_all<op_sum>(s);
        sh = block_all<op_sum>(sh);
        if (threadIdx.x == 0 && !a.per_element) {
            store_f(a.out1, g, a.dtype, sh);
            store_f(a.out2, g, a.dtype, s);
        }
        C scale = a.per_element ? 1 : param<C>(a.weight, a.weight_s, g, a.dtype, 1);
        for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
            i64 at = place(a, g, i);
            C d = load_as<C>(a.dy.p, at, a.dtype);
            C h = (load_as<C>(a.x.p, at, a.dtype) - mean) * invstd;
            if (a.per_element)
                d *= param<C>(a.weight, a.weight_s, i, a.dtype, 1);
            C r = a.training ? d - s / (C)n - h * sh / (C)n : d;
            store_f(a.y.p, at, a.dtype, r * scale * invstd);
        }
    }
}

/* ---- groups that lie in registers ---------------------------------------------------------------
 */

/* Weight or bias of this thread's elements 4 i to 4 i + 3, by position in the group. */
template <class S>
static __device__ __forceinline__ void four_params(float (&v)[4], const char *p, i64 s, int i,
                                                   const row_plan &r, int dtype, float otherwise) {
    unsigned e = element_of(r, 4 * i);
    bool vector = r.vectors && p && s == 1 && (uintptr_t)p % sizeof(fours<S>) == 0;
    if (vector && e < r.n) {
        fours<S> x = *(const fours<S> *)((const S *)p + e);
        for (int k = 0; k < 4; k++)
            v[k] = fetch(x.v, k, dtype);
        return;
    }
    unsigned step = element_of(r, 4 * i + 1) - e;
    i64 at = e * s, by = step * s;
    for (int k = 0; k < 4; k++, e += step, at += by)
        v[k] = p && e < r.n ? fetch((const S *)p, at, dtype) : otherwise;
}

template <int Q, class S>
static __global__ void JN_ROW_BOUNDS(Q) normalise_rows(norm_args a, row_plan r) {
    i64 g = row_here(r);
    if (g >= a.groups)
        return;
    float v[4 * Q], mean, var, weight = 1, bias = 0, n = (float)r.n;
    load_row<Q>(v, (const S *)a.x.p + g * a.group_step, r, a.dtype);
    if (!a.per_element) {
        weight = param<float>(a.weight, a.weight_s, g, a.dtype, 1);
        bias = param<float>(a.bias, a.bias_s, g, a.dtype, 0);
    }
    if (a.training) {
        float s = 0;
        JN_UNROLL
        for (int j = 0; j < 4 * Q; j++)
            s += v[j];
        mean = row_all<op_sum>(s, r) / n;
        s = 0;
        JN_UNROLL
        for (int j = 0; j < 4 * Q; j++)
            s += element_of(r, j) < r.n ? (v[j] - mean) * (v[j] - mean) : 0.0f;
        var = row_all<op_sum>(s, r) / n;
    } else {
        mean = param<float>(a.mean, a.mean_s, g, a.dtype, 0);
        var = param<float>(a.invstd, a.invstd_s, g, a.dtype, 1);
    }
    float invstd = 1 / sqrtf(var + (float)a.eps);
    if (lane_here(r) == 0) {
        store_f(a.out1, g, a.stats, mean);
        store_f(a.out2, g, a.stats, invstd);
    }
    JN_UNROLL
    for (int i = 0; i < Q; i++) {
        float w[4] = {weight, weight, weight, weight}, b[4] = {bias, bias, bias, bias};
        if (a.per_element) {
            four_params<S>(w, a.weight, a.weight_s, i, r, a.dtype, 1);
            four_params<S>(b, a.bias, a.bias_s, i, r, a.dtype, 0);
        }
        JN_UNROLL
        for (int k = 0; k < 4; k++)
            v[4 * i + k] = (v[4 * i + k] - mean) * invstd * w[k] + b[k];
    }
    store_row<Q>(v, (S *)a.y.p + g * a.group_step, r, a.dtype);
}

template <int Q, class S>
static __global__ void JN_ROW_BOUNDS(Q) normalise_grad_rows(norm_args a, row_plan r) {
    i64 g = row_here(r);
    if (g >= a.groups)
        return;
    float d[4 * Q], h[4 * Q], s = 0, sh = 0, scale = 1, n = (float)r.n;
    load_row<Q>(d, (const S *)a.dy.p + g * a.group_step, r, a.dtype);
    load_row<Q>(h, (const S *)a.x.p + g * a.group_step, r, a.dtype);
    float mean = load_as<float>(a.mean, g * a.mean_s, a.stats);
    float invstd = load_as<float>(a.invstd, g * a.invstd_s, a.stats);
    if (!a.per_element)
        scale = param<float>(a.weight, a.weight_s, g, a.dtype, 1);
    /* behind the end d and h are 0 */
    JN_UNROLL
    for (int i = 0; i < Q; i++) {
        float w[4] = {1, 1, 1, 1};
        if (a.per_element)
            four_params<S>(w, a.weight, a.weight_s, i, r, a.dtype, 1);
        JN_UNROLL
        for (int k = 0, j = 4 * i; k < 4; k++, j++) {
            d[j] *= w[k];
            h[j] = element_of(r, j) < r.n ? (h[j] - mean) * invstd : 0.0f;
            s += d[j];
            sh += d[j] * h[j];
        }
    }
    s = row_all<op_sum>(s, r);
    sh = row_all<op_sum>(sh, r);
    if (lane_here(r) == 0 && !a.per_element) {
        store_f(a.out1, g, a.dtype, sh);
        store_f(a.out2, g, a.dtype, s);
    }
    float by = scale * invstd, of_all = a.training ? s / n : 0, of_h = a.training ? sh / n : 0;
    JN_UNROLL
    for (int j = 0; j < 4 * Q; j++)
        d[j] = (d[j] - of_all - h[j] * of_h) * by;
    store_row<Q>(d, (S *)a.y.p + g * a.group_step, r, a.dtype);
}

enum { FORWARD_FOURS = 8, GRAD_FOURS = 4 }; /* of a thread, at most */

/* False: the groups are too large. */
template <class S> static bool norm_in_registers(jn_dev_exec *e, const norm_args &a, bool grad) {
    row_plan r = plan_row(a.groups, a.outer * a.inner, a.inner, a.outer_step,
                          grad ? GRAD_FOURS : FORWARD_FOURS);
    r.vectors = r.vectors && by_fours<S>(a.x.p) && by_fours<S>(a.y.p) && by_fours<S>(a.dy.p);
    if (r.q == 0)
        return false;
    if (grad)
        JN_LAUNCH_ROWS(e, normalise_grad_rows, GRAD_FOURS, S, a.groups, r, a);
    else
        JN_LAUNCH_ROWS(e, normalise_rows, FORWARD_FOURS, S, a.groups, r, a);
    return true;
}
static bool in_registers(jn_dev_exec *e, const norm_args &a, bool grad) {
    return a.dtype == JANUS_F32   ? norm_in_registers<float>(e, a, grad)
           : a.dtype != JANUS_F64 ? norm_in_registers<halves>(e, a, grad)
                                  : false;
}

/* Gradients of layer_norm's weight and bias, position by position, of each batch by itself; columns
 * are the positions of all batches.  S: how x and dy are stored, M: mean and invstd. */
template <class C, class S, class M> struct position_columns {
    enum { together = sizeof(C) == sizeof(float) && sizeof(M) == sizeof(float) ? 8 : 4 };
    const S *x, *dy;
    const M *mean, *invstd;
    i64 mean_s, invstd_s, inner, each; /* each: rows of a batch */
    char *dweight, *dbias;
    int dtype, stats;
    __device__ bool none() const { return false; }
    struct start {
        i64 group, element;
    };
    __device__ start column(i64 col) const {
        i64 group = col / inner * each;
        return {group, group * inner + col % inner};
    }
    __device__ void read(start at, i64 row, C *v) const {
        i64 o = at.element + row * inner, g = at.group + row;
        C d = fetch(dy, o, dtype);
        v[0] = d * (fetch(x, o, dtype) - fetch(mean, g * mean_s, stats)) *
               fetch(invstd, g * invstd_s, stats);
        v[1] = d;
    }
    __device__ void write(i64 col, const C *sum) const {
        store_f(dweight, col, dtype, sum[0]);
        store_f(dbias, col, dtype, sum[1]);
    }
};
template <class C, class S, class M>
static void position_grads(const jn_kargs *k, const norm_args &a, i64 batches) {
    position_columns<C, S, M> f = {(const S *)a.x.p,
                                   (const S *)a.dy.p,
                                   (const M *)a.mean,
                                   (const M *)a.invstd,
                                   a.mean_s,
                                   a.invstd_s,
                                   a.inner,
                                   a.groups / batches,
                                   a.out1,
                                   a.out2,
                                   a.dtype,
                                   a.stats};
    run_columns<C, 2>(exec_of(k), f, f.each, a.inner * batches, k->workspace);
}
extern "C" size_t jn_cuda_layer_norm_grad_workspace(const jn_sig *sig) {
    i64 cols = numel_of(sig->out[1]);
    return cols ? columns_workspace(numel_of(sig->in[1]) / cols, cols, 2) : 0;
}

/* Channels of [N,C,...]. */
static norm_args channels(const jn_view &x) {
    norm_args a;
    memset(&a, 0, sizeof a);
    a.x = view_of(x);
    a.dtype = x.dtype;
    a.groups = x.dims[1];
    a.outer = x.dims[0];
    a.inner = 1;
    for (int i = 2; i < x.rank; i++)
        a.inner *= x.dims[i];
    a.group_step = a.inner;
    a.outer_step = a.inner * a.groups;
    return a;
}
static norm_args trailing(const jn_view &x, int axis) {
    norm_args a;
    memset(&a, 0, sizeof a);
    a.x = view_of(x);
    a.dtype = x.dtype;
    a.groups = a.outer = a.inner = 1;
    for (int i = 0; i < x.rank; i++)
        *(i < axis ? &a.groups : &a.inner) *= x.dims[i];
    a.group_step = a.inner;
    a.training = a.per_element = true;
    return a;
}
/* Vectors are taken with their stride, others are row-major. */
static void take(const jn_kargs *k, unsigned i, const char **p, i64 *s) {
    if (!present(k, i))
        return;
    *p = (const char *)k->in[i].data;
    *s = k->in[i].rank == 1 ? (i64)k->in[i].strides[0] : 1;
}
/* What all four ops have; `stats`: the dtype of mean and invstd. */
static void take_results(const jn_kargs *k, int stats, norm_args *a) {
    a->y = view_of(k->out[0]);
    a->out1 = (char *)k->out[1].data;
    a->out2 = (char *)k->out[2].data;
    a->stats = stats;
}
static void launch_norm(const jn_kargs *k, const norm_args &a) {
    i64 n = a.outer * a.inner;
    if (a.groups && !in_registers(exec_of(k), a, false))
        BY_DTYPE(JN_LAUNCH_SYNC, exec_of(k), a.dtype, normalise, rows_grid(a.groups),
                 threads_for(n), a);
}
static void run_batch_norm(const jn_kargs *k) {
    const janus_batch_norm_attrs *at = (const janus_batch_norm_attrs *)k->attrs;
    norm_args a = channels(k->in[0]);
    take(k, 1, &a.weight, &a.weight_s);
    take(k, 2, &a.bias, &a.bias_s);
    take(k, 3, &a.mean, &a.mean_s);
    take(k, 4, &a.invstd, &a.invstd_s);
    take_results(k, k->out[1].dtype, &a);
    a.eps = at->eps;
    a.training = at->training != 0;
    launch_norm(k, a);
}
static void run_layer_norm(const jn_kargs *k) {
    const janus_layer_norm_attrs *at = (const janus_layer_norm_attrs *)k->attrs;
    norm_args a = trailing(k->in[0], axis_of(at->axis, k->in[0].rank));
    take(k, 1, &a.weight, &a.weight_s);
    take(k, 2, &a.bias, &a.bias_s);
    take_results(k, k->out[1].dtype, &a);
    a.eps = at->eps;
    launch_norm(k, a);
}
static void grad_of(const jn_kargs *k, norm_args *a) {
    a->dy = view_of(k->in[0]);
    take(k, 2, &a->weight, &a->weight_s);
    take(k, 3, &a->mean, &a->mean_s);
    take(k, 4, &a->invstd, &a->invstd_s);
    take_results(k, k->in[3].dtype, a);
    if (a->groups && !in_registers(exec_of(k), *a, true))
        BY_DTYPE(JN_LAUNCH_SYNC, exec_of(k), a->dtype, normalise_grad, rows_grid(a->groups),
                 threads_for(a->outer * a->inner), *a);
}
static void run_batch_norm_grad(const jn_kargs *k) {
    norm_args a = channels(k->in[1]);
    a.training = ((const janus_batch_norm_grad_attrs *)k->attrs)->training != 0;
    grad_of(k, &a);
}
static void run_layer_norm_grad(const jn_kargs *k) {
    const janus_layer_norm_grad_attrs *at = (const janus_layer_norm_grad_attrs *)k->attrs;
    int axis = axis_of(at->axis, k->in[1].rank);
    norm_args a = trailing(k->in[1], axis);
    /* a dim in front of the weight's: gradients of each row of a batch */
    i64 batches = k->out[1].rank > k->in[1].rank - axis ? (i64)k->out[1].dims[0] : 1;
    grad_of(k, &a);
    if (!a.inner || !batches)
        return;
    if (a.dtype == JANUS_F64)
        position_grads<double, double, double>(k, a, batches);
    else if (a.dtype == JANUS_F32)
        position_grads<float, float, float>(k, a, batches);
    else if (a.stats == JANUS_F32)
        position_grads<float, halves, float>(k, a, batches);
    else
        position_grads<float, halves, halves>(k, a, batches);
}

#define SELECT(name)                                                                               \
    JN_CUDA_SELECT jn_cuda_##name(const jn_sig *sig) {                                             \
        (void)sig;                                                                                 \
        return run_##name;                                                                         \
    }
SELECT(batch_norm)
SELECT(batch_norm_grad)
SELECT(layer_norm)
SELECT(layer_norm_grad)
