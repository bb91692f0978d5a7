/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions.  Few elements per result: some lanes of a warp per result.  Many: a block per result.
 * Few results of very many elements: several blocks per result, each leaving a state in the
 * workspace, and a second kernel that combines the states.  Sums of what lies side by side go down
 * columns (columns.cuh).  Every order is fixed by dims and strides alone.
 */
#include "ops/cuda/columns.cuh"

extern "C" {
#include "ops/reduce_attrs.h"
}

enum { SUM, MEAN, PROD, MAX, MIN, ANY, ALL, LSE, VAR, NORM, ARGMAX, ARGMIN };
/* LANES_MOST: of elements, where lanes do; SPLIT_EACH: elements of a block, at least */
enum { LANES_MOST = 1024, SPLIT_EACH = 1 << 12, SPLIT_BLOCKS = 528, SPLIT_MAX = 256 };

/* What a part of the elements comes to: a sum, an extreme, (sum, shift), (mean, m2), with a count;
 * for arg kinds `at` is the position of the best. */
template <class C> struct state {
    C a, b;
    i64 n, at;
};

template <class C> static __device__ __forceinline__ C power_of(C x, C p);
template <> __device__ __forceinline__ float power_of(float x, float p) { return powf(x, p); }
template <> __device__ __forceinline__ double power_of(double x, double p) { return pow(x, p); }
template <> __device__ __forceinline__ i64 power_of(i64 x, i64) { return x; }
static __device__ __forceinline__ float exp_of(float x) { return expf(x); }
static __device__ __forceinline__ double exp_of(double x) { return exp(x); }
static __device__ __forceinline__ i64 exp_of(i64 x) { return x; }
static __device__ __forceinline__ float log_of(float x) { return logf(x); }
static __device__ __forceinline__ double log_of(double x) { return log(x); }
static __device__ __forceinline__ i64 log_of(i64 x) { return x; }
static __device__ __forceinline__ float sqrt_of(float x) { return sqrtf(x); }
static __device__ __forceinline__ double sqrt_of(double x) { return sqrt(x); }
static __device__ __forceinline__ i64 sqrt_of(i64 x) { return x; }
template <class C> static __device__ __forceinline__ C mul_of(C a, C b) { return a * b; }
template <> __device__ __forceinline__ i64 mul_of(i64 a, i64 b) { return (i64)((u64)a * (u64)b); }
template <class C> static __device__ __forceinline__ bool infinite(C x) {
    return x == x && x - x != 0;
}

template <int K, class C> static __device__ __forceinline__ state<C> nothing() {
    state<C> s = {0, 0, 0, 0};
    if (K == PROD || K == ALL)
        s.a = 1;
    return s;
}

/* Whether a displaces b: larger (smaller), or the first NaN. */
template <int K, class C> static __device__ __forceinline__ bool better(C a, C b) {
    if (b != b)
        return false;
    return a != a || (K == MAX || K == ARGMAX ? a > b : a < b);
}

template <int K, class C>
static __device__ __forceinline__ state<C> merge(const state<C> &x, const state<C> &y, C p) {
    state<C> r = x;
    r.n = x.n + y.n;
    switch (K) {
    case SUM:
    case MEAN:
        r.a = wrapping_add(x.a, y.a);
        break;
    case PROD:
        r.a = mul_of(x.a, y.a);
        break;
    case ANY:
        r.a = x.a != 0 || y.a != 0;
        break;
    case ALL:
        r.a = x.a != 0 && y.a != 0;
        break;
    case MAX:
    case MIN:
    case ARGMAX:
    case ARGMIN:
        if (x.n == 0 ||
            (y.n != 0 && (better<K>(y.a, x.a) || (y.at < x.at && !better<K>(x.a, y.a))))) {
            r.a = y.a;
            r.at = y.at;
        }
        break;
    case LSE:
        if (x.n == 0 || y.n == 0) {
            r = x.n == 0 ? y : x;
        } else {
            r.a = better<MAX>(y.a, x.a) ? y.a : x.a;
            /* infinities: of equal ones nothing remains of the difference */
            r.b = (x.a == r.a ? x.b : x.b * exp_of(x.a - r.a)) +
                  (y.a == r.a ? y.b : y.b * exp_of(y.a - r.a));
        }
        break;
    case VAR:
        if (x.n == 0 || y.n == 0) {
            r = x.n == 0 ? y : x;
        } else {
            C d = y.a - x.a, share = (C)y.n / (C)r.n;
            r.a = x.a + d * share;
            r.b = x.b + y.b + d * d * (C)x.n * share;
        }
        break;
    default: /* NORM */
        if (infinite(p) && p < 0 && (x.n == 0 || y.n == 0))
            r.a = x.n == 0 ? y.a : x.a;
        else if (infinite(p))
            r.a = (p > 0 ? better<MAX>(y.a, x.a) : better<MIN>(y.a, x.a)) ? y.a : x.a;
        else
            r.a = x.a + y.a;
    }
    return r;
}

template <int K, class C> static __device__ __forceinline__ state<C> of_element(C v, i64 at, C p) {
    state<C> s = {v, 0, 1, at};
    if (K == ANY || K == ALL)
        s.a = v != 0;
    if (K == LSE)
        s.b = 1;
    if (K == NORM) {
        C f = v < 0 ? -v : v;
        s.a = infinite(p) || p == 1 ? f : p == 2 ? f * f : p == 0 ? (C)(f != 0) : power_of(f, p);
    }
    return s;
}

template <int K, class C> static __device__ __forceinline__ C finish(const state<C> &s, C p) {
    switch (K) {
    case MEAN:
        return s.a / (C)s.n;
    case LSE:
        return s.n == 0 ? log_of((C)0) : s.a != s.a || infinite(s.a) ? s.a : log_of(s.b) + s.a;
    case VAR: {
        C by = (C)s.n - p;
        return s.b / (by > 0 ? by : 0);
    }
    case NORM:
        return infinite(p) || p == 1 || p == 0 ? s.a : p == 2 ? sqrt_of(s.a) : power_of(s.a, 1 / p);
    default:
        return s.a;
    }
}

struct reduce_args {
    dview x, keep, inner; /* keep, inner: dims and strides of x */
    i64 n_out, n_in;
    /* where `inner` is runs of one stride, and small enough: S of the kernels is not char */
    unsigned run;
    i64 run_step, step;
    char *y, *y2; /* y2: positions (max_dim); arg kinds write positions to y */
    int y_dtype, splits, lanes;
    double p;
    void *states;
    bool accumulate;      /* sums are added to y */
    const uint32_t *stop; /* where it stands not at 0, nothing is done */
};

/* Neighbours that one stride does for become one dim; dims of one element go. */
static void merge_dims(dview *v) {
    int n = 0;
    for (int i = 0; i < v->rank; i++) {
        if (v->d[i] == 1)
            continue;
        if (n && v->s[n - 1] == v->s[i] * v->d[i]) {
            v->d[n - 1] *= v->d[i];
            v->s[n - 1] = v->s[i];
        } else {
            v->d[n] = v->d[i];
            v->s[n++] = v->s[i];
        }
    }
    v->rank = n;
}

template <int K, class C>
static __device__ __forceinline__ void store_result(const reduce_args &a, i64 o,
                                                    const state<C> &s) {
    if (K == ARGMAX || K == ARGMIN) {
        if (!a.y2) {
            store_i(a.y, o, a.y_dtype, s.at);
        } else {
            store_as<C>(a.y, o, a.y_dtype, s.a);
            ((i64 *)a.y2)[o] = s.at;
        }
    } else {
        C v = finish<K, C>(s, (C)a.p);
        if (K == SUM && a.accumulate)
            v = wrapping_add(load_as<C>(a.y, o, a.y_dtype), v);
        store_as<C>(a.y, o, a.y_dtype, v);
    }
}

/* S: how x is stored, where elements are found by `run`; char: any dtype and dims. */
template <int K, class C, class S>
static __device__ __forceinline__ state<C> element(const reduce_args &a, i64 base, i64 i) {
    if constexpr (sizeof(S) > 1) {
        unsigned q = (unsigned)i / a.run, r = (unsigned)i - q * a.run;
        return of_element<K, C>(
            fetch((const S *)a.x.p, base + q * a.run_step + r * a.step, a.x.dtype), i, (C)a.p);
    } else {
        return of_element<K, C>(load_as<C>(a.x.p, base + offset_of(a.inner, i), a.x.dtype), i,
                                (C)a.p);
    }
}
static __device__ __forceinline__ bool stopped(const reduce_args &a) { return a.stop && *a.stop; }

/* The state of elements `begin`, begin + by, ... before `end`, whose loads are under way together.
 */
template <int K, class C, class S>
static __device__ __forceinline__ state<C> of_some(const reduce_args &a, i64 base, i64 begin,
                                                   i64 end, i64 by) {
    enum { TOGETHER = sizeof(S) > 1 ? 4 : 1 };
    state<C> s = nothing<K, C>();
    i64 i = begin;
    for (; i + (TOGETHER - 1) * by < end; i += TOGETHER * by) {
        state<C> e[TOGETHER];
        JN_UNROLL
        for (int u = 0; u < TOGETHER; u++)
            e[u] = element<K, C, S>(a, base, i + u * by);
        JN_UNROLL
        for (int u = 0; u < TOGETHER; u++)
            s = merge<K, C>(s, e[u], (C)a.p);
    }
    JN_NO_UNROLL
    for (; i < end; i += by)
        s = merge<K, C>(s, element<K, C, S>(a, base, i), (C)a.p);
    return s;
}

/* Merges with the state of the lane whose number differs in the bit m; the lower lane's comes
 * first.
 */
template <int K, class C>
static __device__ __forceinline__ state<C> merge_lanes(const state<C> &s, int m, C p) {
    state<C> o;
    o.a = __shfl_xor_sync(0xffffffffu, s.a, m);
    o.b = __shfl_xor_sync(0xffffffffu, s.b, m);
    o.n = __shfl_xor_sync(0xffffffffu, s.n, m);
    o.at = __shfl_xor_sync(0xffffffffu, s.at, m);
    return threadIdx.x & (unsigned)m ? merge<K, C>(o, s, p) : merge<K, C>(s, o, p);
}

/* a.lanes threads of a warp per result, a power of 2. */
template <int K, class C, class S> static __global__ void by_lanes(reduce_args a) {
    if (stopped(a))
        return;
    unsigned lanes = (unsigned)a.lanes, lane = threadIdx.x % lanes;
    i64 each = 32 / lanes, all = (i64)gridDim.x * (blockDim.x / 32) * each;
    i64 first = ((i64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * each;
    for (; first < a.n_out; first += all) {
        i64 o = first + threadIdx.x % 32 / lanes;
        state<C> s = nothing<K, C>();
        if (o < a.n_out)
            s = of_some<K, C, S>(a, offset_of(a.keep, o), lane, a.n_in, lanes);
        for (unsigned m = lanes / 2; m > 0; m /= 2)
            s = merge_lanes<K, C>(s, (int)m, (C)a.p);
        if (o < a.n_out && lane == 0)
            store_result<K, C>(a, o, s);
    }
}

/* Thread 0 gets the merged states of the block. */
template <int K, class C> static __device__ __forceinline__ state<C> block_merge(state<C> s, C p) {
    __shared__ state<C> part[32];
    JN_NO_UNROLL
    for (int m = 16; m > 0; m /= 2)
        s = merge_lanes<K, C>(s, m, p);
    __syncthreads(); /* part may still be read by the call before */
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x != 0)
        return s;
    JN_NO_UNROLL
    for (unsigned w = 1; w < blockDim.x / 32; w++)
        s = merge<K, C>(s, part[w], p);
    return s;
}

/* Grid: results in x, splits in y. */
template <int K, class C, class S> static __global__ void by_block(reduce_args a) {
    if (stopped(a))
        return;
    for (i64 o = blockIdx.x; o < a.n_out; o += gridDim.x) {
        i64 each = (a.n_in + a.splits - 1) / a.splits;
        i64 begin = (i64)blockIdx.y * each, end = begin + each < a.n_in ? begin + each : a.n_in;
        state<C> s =
            of_some<K, C, S>(a, offset_of(a.keep, o), begin + threadIdx.x, end, blockDim.x);
        s = block_merge<K, C>(s, (C)a.p);
        if (threadIdx.x == 0) {
            if (a.splits == 1)
                store_result<K, C>(a, o, s);
            else
                ((state<C> *)a.states)[o * a.splits + blockIdx.y] = s;
        }
    }
}

template <int K, class C> static __global__ void combine(reduce_args a) {
    if (stopped(a))
        return;
    const state<C> *part = (const state<C> *)a.states + (i64)blockIdx.x * a.splits;
    state<C> s = nothing<K, C>();
    for (int i = (int)threadIdx.x; i < a.splits; i += (int)blockDim.x)
        s = merge<K, C>(s, part[i], (C)a.p);
    s = block_merge<K, C>(s, (C)a.p);
    if (threadIdx.x == 0)
        store_result<K, C>(a, blockIdx.x, s);
}

static int splits_for(i64 n_out, i64 n_in) {
    i64 s = n_in / SPLIT_EACH, most = SPLIT_BLOCKS / (n_out > 0 ? n_out : 1);
    s = s < most ? s : most;
    return s < 2 ? 1 : s > SPLIT_MAX ? SPLIT_MAX : (int)s;
}

static bool lie_side_by_side(const reduce_args &a) {
    return a.keep.rank > 0 && a.keep.s[a.keep.rank - 1] == 1;
}

template <int K, class C, class S> static void launch_some(jn_dev_exec *e, reduce_args &a) {
    bool across = lie_side_by_side(a) && a.step != 1; /* neighbours are of other results */
    if (a.n_in < LANES_MOST && (a.n_in < 32 || a.n_out >= (across ? 4096 : 64))) {
        for (a.lanes = 1; !across && a.lanes < 32 && a.lanes * 4 < a.n_in;)
            a.lanes *= 2;
        unsigned grid = grid_for(a.n_out * a.lanes);
        if (a.lanes == 1)
            JN_LAUNCH(e, (by_lanes<K, C, S>), grid, JN_BLOCK, a);
        else
            JN_LAUNCH_SYNC(e, (by_lanes<K, C, S>), grid, JN_BLOCK, a);
        return;
    }
    a.splits = a.states ? splits_for(a.n_out, a.n_in) : 1;
    dim3 grid((unsigned)(a.n_out < 65535 * 8 ? a.n_out : 65535 * 8), (unsigned)a.splits, 1);
    JN_LAUNCH_SYNC(e, (by_block<K, C, S>), grid, a.n_in <= 4096 ? 128 : JN_BLOCK, a);
    if (a.splits > 1)
        JN_LAUNCH_SYNC(e, (combine<K, C>), (unsigned)a.n_out, a.splits <= 32 ? 32 : 128, a);
}

/* Results that lie side by side.  S: how x is stored, where its reduced dims are one dim; else
 * char.
 */
template <int K, class C, class S> struct sum_columns {
    enum { together = sizeof(S) > 1 ? 8 : 1 };
    reduce_args a;
    __device__ bool none() const { return stopped(a); }
    __device__ i64 column(i64 o) const { return offset_of(a.keep, o); }
    __device__ void read(i64 at, i64 row, C *v) const {
        if constexpr (sizeof(S) > 1)
            *v = (C)fetch((const S *)a.x.p, at + row * a.inner.s[0], a.x.dtype);
        else
            *v = load_as<C>(a.x.p, at + offset_of(a.inner, row), a.x.dtype);
    }
    __device__ void write(i64 o, const C *sum) const {
        state<C> s = {*sum, 0, a.n_in, 0};
        store_result<K, C>(a, o, s);
    }
};
template <int K, class C, class S>
static void launch_columns(jn_dev_exec *e, const reduce_args &a) {
    sum_columns<K, C, S> f = {a};
    run_columns<C, 1>(e, f, a.n_in, a.n_out, a.states);
}

template <int K, class C> static void launch(jn_dev_exec *e, reduce_args &a) {
    if (a.n_out == 0)
        return;
    merge_dims(&a.keep);
    merge_dims(&a.inner);
    if constexpr (K == SUM || K == MEAN) {
        if (lie_side_by_side(a) && a.n_in >= 16 && a.n_out >= 8) {
            if constexpr (sizeof(C) == sizeof(float)) {
                if (a.inner.rank == 1 && a.x.dtype == JANUS_F32)
                    launch_columns<K, C, float>(e, a);
                else if (a.inner.rank == 1)
                    launch_columns<K, C, halves>(e, a);
                else
                    launch_columns<K, C, char>(e, a);
            } else {
                launch_columns<K, C, char>(e, a);
            }
            return;
        }
    }
    if constexpr (sizeof(C) == sizeof(float)) {
        if (a.inner.rank <= 2 && a.n_in < INT32_MAX) {
            int r = a.inner.rank;
            a.run = r ? (unsigned)a.inner.d[r - 1] : 1;
            a.run = a.run ? a.run : 1;
            a.step = r ? a.inner.s[r - 1] : 0;
            a.run_step = r == 2 ? a.inner.s[0] : 0;
            constexpr bool frequent = K == SUM || K == MEAN || K == MAX || K == MIN;
            if (a.x.dtype == JANUS_F32)
                return launch_some<K, C, float>(e, a);
            if constexpr (frequent)
                return launch_some<K, C, halves>(e, a);
            a.step = 0;
        }
    }
    launch_some<K, C, char>(e, a);
}

template <int K, bool INTS> static void launch_as(const jn_kargs *k, reduce_args &a) {
    if (a.x.dtype == JANUS_F64) {
        launch<K, double>(exec_of(k), a);
    } else if (is_float(a.x.dtype)) {
        launch<K, float>(exec_of(k), a);
    } else {
        if constexpr (INTS)
            launch<K, i64>(exec_of(k), a);
    }
}

/* Splits x's dims into kept and reduced ones. */
static reduce_args split(const jn_kargs *k, const bool *set) {
    reduce_args a;
    memset(&a, 0, sizeof a);
    a.x = view_of(k->in[0]);
    a.n_out = a.n_in = 1;
    for (int i = 0; i < a.x.rank; i++) {
        dview *v = set[i] ? &a.inner : &a.keep;
        v->d[v->rank] = a.x.d[i];
        v->s[v->rank++] = a.x.s[i];
        *(set[i] ? &a.n_in : &a.n_out) *= a.x.d[i];
    }
    a.y = (char *)k->out[0].data;
    a.y_dtype = k->out[0].dtype;
    a.states = k->workspace;
    return a;
}

template <int OP, int K, bool INTS> static void run(const jn_kargs *k) {
    jn_op op;
    memset(&op, 0, sizeof op);
    op.id = OP;
    jn_reduce_attrs at = jn_reduce_attrs_of(&op, k->attrs);
    bool set[JN_MAX_RANK];
    int rank = k->in[0].rank;
    for (int i = 0; i < rank; i++)
        set[i] = at.dims.n == 0;
    for (size_t i = 0; i < at.dims.n && rank > 0; i++)
        set[axis_of(at.dims.data[i], rank)] = true;
    reduce_args a = split(k, set);
    a.p = at.param;
    launch_as<K, INTS>(k, a);
}

#define REDUCE_LIST(X)                                                                             \
    X(sum, SUM, true)                                                                              \
    X(mean, MEAN, false)                                                                           \
    X(prod, PROD, true)                                                                            \
    X(max, MAX, true)                                                                              \
    X(min, MIN, true)                                                                              \
    X(any, ANY, true)                                                                              \
    X(all, ALL, true)                                                                              \
    X(logsumexp, LSE, false)                                                                       \
    X(var, VAR, false)                                                                             \
    X(norm, NORM, false)

JN_CUDA_SELECT jn_cuda_reduce(const jn_sig *sig) {
    switch (sig->op->id) {
#define X(name, kind, ints)                                                                        \
    case JN_OP_ID_##name:                                                                          \
        return run<JN_OP_ID_##name, kind, ints>;
        REDUCE_LIST(X)
#undef X
    default:
        return NULL;
    }
}

/* ---- along one axis, with a position ------------------------------------------------------------
 */

template <int K> static void run_axis(const jn_kargs *k, i64 axis, bool all, bool values) {
    bool set[JN_MAX_RANK];
    int rank = k->in[0].rank;
    for (int i = 0; i < rank; i++)
        set[i] = all || axis_of(axis, rank) == i;
    reduce_args a = split(k, set);
    a.y2 = values ? (char *)k->out[1].data : NULL;
    launch_as<K, true>(k, a);
}
static void run_max_dim(const jn_kargs *k) {
    run_axis<ARGMAX>(k, ((const janus_max_dim_attrs *)k->attrs)->axis, false, true);
}
static void run_min_dim(const jn_kargs *k) {
    run_axis<ARGMIN>(k, ((const janus_min_dim_attrs *)k->attrs)->axis, false, true);
}
static void run_argmax(const jn_kargs *k) {
    const janus_argmax_attrs *a = (const janus_argmax_attrs *)k->attrs;
    run_axis<ARGMAX>(k, a->axis, a->all != 0, false);
}
static void run_argmin(const jn_kargs *k) {
    const janus_argmin_attrs *a = (const janus_argmin_attrs *)k->attrs;
    run_axis<ARGMIN>(k, a->axis, a->all != 0, false);
}

JN_CUDA_SELECT jn_cuda_reduce_axis(const jn_sig *sig) {
    switch (sig->op->id) {
    case JN_OP_ID_max_dim:
        return run_max_dim;
    case JN_OP_ID_min_dim:
        return run_min_dim;
    case JN_OP_ID_argmax:
        return run_argmax;
    case JN_OP_ID_argmin:
        return run_argmin;
    default:
        return NULL;
    }
}

/* Room for the states of split reductions, or for the sums of columns: whatever is reduced, at most
 * this. */
extern "C" size_t jn_cuda_reduce_workspace(const jn_sig *sig) {
    i64 n_out = numel_of(sig->out[0]), n_in = numel_of(sig->in[0]) / (n_out > 0 ? n_out : 1);
    int splits = splits_for(n_out, n_in);
    size_t states = splits > 1 ? (size_t)(n_out * splits) * sizeof(state<double>) : 0;
    bool sums = sig->op->id == JN_OP_ID_sum || sig->op->id == JN_OP_ID_mean ||
                sig->op->id == JN_OP_ID_sum_like;
    size_t columns = sums ? columns_workspace(n_in, n_out, 1) : 0;
    return states > columns ? states : columns;
}

static void run_sum_like(const jn_kargs *k) {
    const jn_view *x = &k->in[0], *y = &k->out[0];
    bool set[JN_MAX_RANK];
    int lead = x->rank - y->rank;
    for (int i = 0; i < x->rank; i++)
        set[i] = i < lead || y->dims[i - lead] != x->dims[i];
    reduce_args a = split(k, set);
    a.accumulate = k->accumulate;
    a.stop = k->accumulate ? exec_of(k)->stop : NULL;
    launch_as<SUM, true>(k, a);
}
JN_CUDA_SELECT jn_cuda_sum_like(const jn_sig *sig) {
    (void)sig;
    return run_sum_like;
}

/* ---- running sums: a thread per line ------------------------------------------------------------
 */

template <class C>
static __global__ void cumsum(dview lines, char *y, int y_dtype, i64 n, i64 stride, i64 y_stride,
                              i64 count, dview y_lines, bool reverse) {
    JN_EACH(l, count) {
        i64 from = offset_of(lines, l), to = offset_of(y_lines, l);
        C s = 0;
        for (i64 j = 0; j < n; j++) {
            i64 i = reverse ? n - 1 - j : j;
            s = wrapping_add(s, load_as<C>(lines.p, from + i * stride, lines.dtype));
            store_as<C>(y, to + i * y_stride, y_dtype, s);
        }
    }
}

static dview lines_of(const jn_view &v, int axis) {
    dview r = view_of(v);
    int n = 0;
    for (int i = 0; i < v.rank; i++) {
        if (i != axis) {
            r.d[n] = v.dims[i];
            r.s[n++] = v.strides[i];
        }
    }
    r.rank = n;
    return r;
}

static void run_cumsum(const jn_kargs *k) {
    const janus_cumsum_attrs *a = (const janus_cumsum_attrs *)k->attrs;
    const jn_view *x = &k->in[0], *y = &k->out[0];
    int axis = axis_of(a->axis, x->rank);
    i64 n = x->rank ? (i64)x->dims[axis] : 1, stride = x->rank ? (i64)x->strides[axis] : 0;
    i64 y_stride = x->rank ? (i64)y->strides[axis] : 0;
    i64 count = n ? numel_of(*x) / n : 0;
    if (!count)
        return;
    dview xl = lines_of(*x, axis), yl = lines_of(*y, axis);
    bool reverse = a->reverse != 0;
    jn_dev_exec *e = exec_of(k);
    unsigned grid = grid_for(count, 64);
    if (x->dtype == JANUS_F64)
        JN_LAUNCH(e, cumsum<double>, grid, 64, xl, (char *)y->data, (int)y->dtype, n, stride,
                  y_stride, count, yl, reverse);
    else if (is_float(x->dtype))
        JN_LAUNCH(e, cumsum<float>, grid, 64, xl, (char *)y->data, (int)y->dtype, n, stride,
                  y_stride, count, yl, reverse);
    else
        JN_LAUNCH(e, cumsum<i64>, grid, 64, xl, (char *)y->data, (int)y->dtype, n, stride, y_stride,
                  count, yl, reverse);
}
JN_CUDA_SELECT jn_cuda_cumsum(const jn_sig *sig) {
    (void)sig;
    return run_cumsum;
}
