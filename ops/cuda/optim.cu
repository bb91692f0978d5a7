/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of optimizers: one pass over parameters, their gradients and their state.  One launch is
 * for as many parameters as its arguments hold.  They write what outlives a run, so they look at
 * the run's abort word.  Results may lie where their operands do.
 */
#include "ops/cuda/registers.cuh"

static __device__ __forceinline__ float sqrt_of(float x) { return sqrtf(x); }
static __device__ __forceinline__ double sqrt_of(double x) { return sqrt(x); }

/* What all parameters of a launch have. */
struct step_args {
    int dtype, step_dtype, rate_dtype, n; /* rate_dtype: of rates on the device, -1: none is */
    double a, b, eps, decay;
    bool flag, maximize, counts; /* nesterov, or decoupled; whether the kernel counts steps, too */
    const uint32_t *stop;
};

/* A parameter. */
union step_rate {
    double value;
    const char *at;
};
template <int R, int W> struct step_of {
    const char *in[R];
    char *out[W];
    i64 n;
    step_rate rate;
};
/* Blocks have CHUNK elements; a parameter's are from first[i] on. */
enum { CHUNK = 4096, MOMENTA = 64, ADAMS = 42, MOST_ARGUMENTS = 4096 };
template <int R, int W, int MOST> struct step_list {
    step_args all;
    step_of<R, W> of[MOST];
    unsigned first[MOST + 1];
};
/* p, gradient, v -> p, v; p, gradient, m, v, steps -> p, m, v, steps */
typedef step_list<3, 2, MOMENTA> momenta;
typedef step_list<5, 4, ADAMS> adams;
static_assert(sizeof(momenta) <= MOST_ARGUMENTS && sizeof(adams) <= MOST_ARGUMENTS, "of a kernel");

static __device__ __forceinline__ int step_here(const unsigned *first, int n) {
    int low = 0, high = n - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (first[middle] <= blockIdx.x)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static __device__ __forceinline__ double rate_of(const step_args &q, step_rate r) {
    return q.rate_dtype < 0 ? r.value : load_as<double>(r.at, 0, q.rate_dtype);
}

template <class C> static __device__ __forceinline__ C slope(C g, C p, C decay, bool maximize) {
    C d = maximize ? -g : g;
    return decay != 0 ? d + decay * p : d;
}

template <class C> struct momentum_rule {
    C a, b, decay, lr;
    bool nesterov, maximize;
    __device__ __forceinline__ void operator()(C &p, C g, C &v) const {
        C d = slope<C>(g, p, decay, maximize);
        v = a * v + b * d;
        p -= lr * (nesterov ? d + a * v : v);
    }
};

template <class C> static __global__ void momentum(momenta q) {
    if (q.all.stop && *q.all.stop)
        return;
    const int at = step_here(q.first, q.all.n);
    const i64 begin = (i64)(blockIdx.x - q.first[at]) * CHUNK;
    const i64 n = q.of[at].n - begin < CHUNK ? q.of[at].n - begin : CHUNK;
    const int dtype = q.all.dtype;
    const momentum_rule<C> rule = {(C)q.all.a,     (C)(1 - q.all.b),
                                   (C)q.all.decay, (C)rate_of(q.all, q.of[at].rate),
                                   q.all.flag,     q.all.maximize};
    const char *p = q.of[at].in[0], *g = q.of[at].in[1], *v = q.of[at].in[2];
    char *p_new = q.of[at].out[0], *v_new = q.of[at].out[1];
    i64 done = 0;
    if (sizeof(C) == 4 && dtype == JANUS_F32 &&
        (((uintptr_t)p | (uintptr_t)g | (uintptr_t)v | (uintptr_t)p_new | (uintptr_t)v_new) & 15) ==
            0) {
        for (i64 i = threadIdx.x; i < n / 4; i += blockDim.x) {
            const i64 o = begin / 4 + i;
            fours<C> x = ((const fours<C> *)p)[o], y = ((const fours<C> *)g)[o],
                     z = ((const fours<C> *)v)[o];
            JN_UNROLL
            for (int k = 0; k < 4; k++)
                rule(x.v[k], y.v[k], z.v[k]);
            ((fours<C> *)p_new)[o] = x;
            ((fours<C> *)v_new)[o] = z;
        }
        done = n / 4 * 4;
    }
    for (i64 i = begin + done + threadIdx.x; i < begin + n; i += blockDim.x) {
        C x = load_as<C>(p, i, dtype), y = load_as<C>(g, i, dtype), z = load_as<C>(v, i, dtype);
        rule(x, y, z);
        store_f(p_new, i, dtype, x);
        store_f(v_new, i, dtype, z);
    }
}

template <class C> struct adam_rule {
    C a, less_a, b, less_b, eps, decay, shrink, rate, root;
    bool decoupled, maximize;
    __device__ __forceinline__ void operator()(C &p, C g, C &m, C &v) const {
        if (decoupled)
            p *= shrink;
        C d = slope<C>(g, p, decoupled ? (C)0 : decay, maximize);
        m = a * m + less_a * d;
        v = b * v + less_b * d * d;
        p -= rate * m / (sqrt_of(v) / root + eps);
    }
};

/* Powers of doubles are long: once in a block. */
template <class C> static __global__ void adam(adams q) {
    __shared__ C shared[3];
    if (q.all.stop && *q.all.stop)
        return;
    const int at = step_here(q.first, q.all.n);
    const i64 begin = (i64)(blockIdx.x - q.first[at]) * CHUNK;
    const i64 n = q.of[at].n - begin < CHUNK ? q.of[at].n - begin : CHUNK;
    const int dtype = q.all.dtype;
    if (threadIdx.x == 0) {
        const double step = load_as<double>(q.of[at].in[4], 0, q.all.step_dtype) + 1;
        const double lr = rate_of(q.all, q.of[at].rate);
        shared[0] = (C)(lr / (1 - pow(q.all.a, step)));
        shared[1] = (C)sqrt(1 - pow(q.all.b, step));
        shared[2] = (C)(1 - lr * q.all.decay);
        if (q.all.counts && begin == 0)
            store_f(q.of[at].out[3], 0, q.all.step_dtype, step);
    }
    __syncthreads();
    const adam_rule<C> rule = {(C)q.all.a,   (C)(1 - q.all.a), (C)q.all.b,    (C)(1 - q.all.b),
                               (C)q.all.eps, (C)q.all.decay,   shared[2],     shared[0],
                               shared[1],    q.all.flag,       q.all.maximize};
    const char *p = q.of[at].in[0], *g = q.of[at].in[1], *m = q.of[at].in[2], *v = q.of[at].in[3];
    char *p_new = q.of[at].out[0], *m_new = q.of[at].out[1], *v_new = q.of[at].out[2];
    i64 done = 0;
    if (sizeof(C) == 4 && dtype == JANUS_F32 &&
        (((uintptr_t)p | (uintptr_t)g | (uintptr_t)m | (uintptr_t)v | (uintptr_t)p_new |
          (uintptr_t)m_new | (uintptr_t)v_new) &
         15) == 0) {
        for (i64 i = threadIdx.x; i < n / 4; i += blockDim.x) {
            const i64 o = begin / 4 + i;
            fours<C> x = ((const fours<C> *)p)[o], y = ((const fours<C> *)g)[o],
                     z = ((const fours<C> *)m)[o], w = ((const fours<C> *)v)[o];
            JN_UNROLL
            for (int k = 0; k < 4; k++)
                rule(x.v[k], y.v[k], z.v[k], w.v[k]);
            ((fours<C> *)p_new)[o] = x;
            ((fours<C> *)m_new)[o] = z;
            ((fours<C> *)v_new)[o] = w;
        }
        done = n / 4 * 4;
    }
    for (i64 i = begin + done + threadIdx.x; i < begin + n; i += blockDim.x) {
        C x = load_as<C>(p, i, dtype), y = load_as<C>(g, i, dtype), z = load_as<C>(m, i, dtype),
          w = load_as<C>(v, i, dtype);
        rule(x, y, z, w);
        store_f(p_new, i, dtype, x);
        store_f(m_new, i, dtype, z);
        store_f(v_new, i, dtype, w);
    }
}

/* After the steps themselves, which read the counts: where a count is written over. */
static __global__ void count(adams q) {
    const int at = (int)threadIdx.x;
    if ((!q.all.stop || !*q.all.stop) && at < q.all.n)
        store_f(q.of[at].out[3], 0, q.all.step_dtype,
                load_as<double>(q.of[at].in[4], 0, q.all.step_dtype) + 1);
}

/* ---- launches -----------------------------------------------------------------------------------
 */

static void launch(jn_dev_exec *e, const momenta &q) {
    if (q.all.dtype == JANUS_F64)
        JN_LAUNCH(e, momentum<double>, q.first[q.all.n], JN_BLOCK, q);
    else
        JN_LAUNCH(e, momentum<float>, q.first[q.all.n], JN_BLOCK, q);
}

static void launch(jn_dev_exec *e, const adams &q) {
    if (q.all.dtype == JANUS_F64)
        JN_LAUNCH_SYNC(e, adam<double>, q.first[q.all.n], JN_BLOCK, q);
    else
        JN_LAUNCH_SYNC(e, adam<float>, q.first[q.all.n], JN_BLOCK, q);
    if (!q.all.counts)
        JN_LAUNCH(e, count, 1, ADAMS <= 64 ? 64 : JN_BLOCK, q);
}

/* Fills lists; one is launched when it is full, or the next rate lies elsewhere than its own do. */
template <int R, int W, int MOST>
static void run_all(const jn_kargs *k, uint32_t n, const step_args &all, unsigned rate) {
    jn_dev_exec *e = exec_of(k);
    step_list<R, W, MOST> q;
    memset(&q, 0, sizeof q);
    q.all = all;
    for (uint32_t i = 0; i < n; i++) {
        const dscalar lr = scalar_of(e, k[i].in[rate]);
        const int rate_dtype = lr.at ? lr.dtype : -1;
        const int at = q.all.n;
        step_of<R, W> &one = q.of[at];
        for (int x = 0; x < R; x++)
            one.in[x] = (const char *)k[i].in[x].data;
        for (int x = 0; x < W; x++)
            one.out[x] = (char *)k[i].out[x].data;
        one.n = numel_of(k[i].in[0]);
        if (lr.at)
            one.rate.at = lr.at;
        else
            one.rate.value = lr.f;
        q.all.rate_dtype = rate_dtype;
        q.all.counts &= one.in[R - 1] != one.out[W - 1];
        /* an empty one has a block, too, which counts */
        const unsigned blocks = one.n ? (unsigned)((one.n + CHUNK - 1) / CHUNK) : 1;
        q.first[at + 1] = q.first[at] + blocks;
        q.all.n++;
        const dscalar next = i + 1 < n ? scalar_of(e, k[i + 1].in[rate]) : lr;
        if (i + 1 == n || q.all.n == MOST || (next.at ? next.dtype : -1) != rate_dtype) {
            launch(e, q);
            q.all = all;
        }
    }
}

static step_args args_of(const jn_kargs *k) {
    step_args q;
    memset(&q, 0, sizeof q);
    q.dtype = k->in[0].dtype;
    q.stop = exec_of(k)->stop;
    return q;
}

static void run_momentum_steps(const jn_kargs *k, uint32_t n) {
    const janus_momentum_step_attrs *a = (const janus_momentum_step_attrs *)k->attrs;
    step_args q = args_of(k);
    q.a = a->momentum;
    q.b = a->dampening;
    q.decay = a->weight_decay;
    q.flag = a->nesterov != 0;
    q.maximize = a->maximize != 0;
    run_all<3, 2, MOMENTA>(k, n, q, 3);
}

static void run_adam_steps(const jn_kargs *k, uint32_t n) {
    const janus_adam_step_attrs *a = (const janus_adam_step_attrs *)k->attrs;
    step_args q = args_of(k);
    q.step_dtype = k->in[4].dtype;
    q.a = a->beta1;
    q.b = a->beta2;
    q.eps = a->eps;
    q.decay = a->weight_decay;
    q.flag = a->decoupled != 0;
    q.maximize = a->maximize != 0;
    q.counts = true;
    run_all<5, 4, ADAMS>(k, n, q, 5);
}

static void run_momentum_step(const jn_kargs *k) { run_momentum_steps(k, 1); }
static void run_adam_step(const jn_kargs *k) { run_adam_steps(k, 1); }

/* Attributes are numbers of eight bytes, without gaps. */
static bool like_momentum(const jn_kargs *a, const jn_kargs *b) {
    return a->in[0].dtype == b->in[0].dtype &&
           memcmp(a->attrs, b->attrs, sizeof(janus_momentum_step_attrs)) == 0;
}
static bool like_adam(const jn_kargs *a, const jn_kargs *b) {
    return a->in[0].dtype == b->in[0].dtype && a->in[4].dtype == b->in[4].dtype &&
           memcmp(a->attrs, b->attrs, sizeof(janus_adam_step_attrs)) == 0;
}

extern "C" const jn_dev_many *jn_cuda_many(jn_kernel_fn kernel) {
    static const jn_dev_many momentum_steps = {like_momentum, run_momentum_steps},
                             adam_steps = {like_adam, run_adam_steps};
    return kernel == run_momentum_step ? &momentum_steps
           : kernel == run_adam_step   ? &adam_steps
                                       : NULL;
}

#define SELECT(name)                                                                               \
    JN_CUDA_SELECT jn_cuda_##name(const jn_sig *sig) {                                             \
        (void)sig;                                                                                 \
        return run_##name;                                                                         \
    }
SELECT(momentum_step)
SELECT(adam_step)
