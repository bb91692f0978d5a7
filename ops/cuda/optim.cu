/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of optimizers: one pass over a parameter, its gradient and its state.  They write what
 * outlives a run, so they look at the run's abort word.  Results may lie where their operands do.
 */
#include "ops/cuda/cuda.cuh"

static __device__ __forceinline__ float sqrt_of(float x) { return sqrtf(x); }
static __device__ __forceinline__ double sqrt_of(double x) { return sqrt(x); }

struct step_args {
    const char *in[4];
    char *out[3];
    int dtype, step_dtype;
    i64 n;
    const char *step; /* Adam: how many there were */
    dscalar lr;
    double a, b, eps, decay;
    bool flag, maximize; /* nesterov; decoupled */
    const uint32_t *stop;
};

template <class C> static __device__ __forceinline__ C slope(C g, C p, C decay, bool maximize) {
    C d = maximize ? -g : g;
    return decay != 0 ? d + decay * p : d;
}

template <class C> static __global__ void momentum(step_args q) {
    if (q.stop && *q.stop)
        return;
    const C lr = (C)float_of(q.lr);
    JN_EACH(i, q.n) {
        C p = load_as<C>(q.in[0], i, q.dtype), g = load_as<C>(q.in[1], i, q.dtype);
        C d = slope<C>(g, p, (C)q.decay, q.maximize);
        C v = (C)q.a * load_as<C>(q.in[2], i, q.dtype) + (C)(1 - q.b) * d;
        store_f(q.out[0], i, q.dtype, p - lr * (q.flag ? d + (C)q.a * v : v));
        store_f(q.out[1], i, q.dtype, v);
    }
}

template <class C> static __global__ void adam(step_args q) {
    if (q.stop && *q.stop)
        return;
    double step = load_as<double>(q.step, 0, q.step_dtype) + 1;
    const double lr = float_of(q.lr);
    C rate = (C)(lr / (1 - pow(q.a, step))), root = (C)sqrt(1 - pow(q.b, step));
    JN_EACH(i, q.n) {
        C p = load_as<C>(q.in[0], i, q.dtype), g = load_as<C>(q.in[1], i, q.dtype);
        if (q.flag)
            p *= (C)(1 - lr * q.decay);
        C d = slope<C>(g, p, q.flag ? (C)0 : (C)q.decay, q.maximize);
        C m = (C)q.a * load_as<C>(q.in[2], i, q.dtype) + (C)(1 - q.a) * d;
        C v = (C)q.b * load_as<C>(q.in[3], i, q.dtype) + (C)(1 - q.b) * d * d;
        store_f(q.out[0], i, q.dtype, p - rate * m / (sqrt_of(v) / root + (C)q.eps));
        store_f(q.out[1], i, q.dtype, m);
        store_f(q.out[2], i, q.dtype, v);
    }
}

/* After the step itself, which reads the count. */
static __global__ void count(char *out, const char *in, int dtype, const uint32_t *stop) {
    if (!stop || !*stop)
        store_f(out, 0, dtype, load_as<double>(in, 0, dtype) + 1);
}

static step_args args_of(const jn_kargs *k, unsigned n_in, unsigned n_out) {
    step_args q;
    memset(&q, 0, sizeof q);
    for (unsigned i = 0; i < n_in; i++)
        q.in[i] = (const char *)k->in[i].data;
    for (unsigned i = 0; i < n_out; i++)
        q.out[i] = (char *)k->out[i].data;
    q.dtype = k->in[0].dtype;
    q.n = numel_of(k->in[0]);
    q.stop = exec_of(k)->stop;
    return q;
}

static void run_momentum_step(const jn_kargs *k) {
    const janus_momentum_step_attrs *a = (const janus_momentum_step_attrs *)k->attrs;
    step_args q = args_of(k, 3, 2);
    q.lr = scalar_of(exec_of(k), k->in[3]);
    q.a = a->momentum;
    q.b = a->dampening;
    q.decay = a->weight_decay;
    q.flag = a->nesterov != 0;
    q.maximize = a->maximize != 0;
    if (q.n && q.dtype == JANUS_F64)
        JN_LAUNCH(exec_of(k), momentum<double>, grid_for(q.n), JN_BLOCK, q);
    else if (q.n)
        JN_LAUNCH(exec_of(k), momentum<float>, grid_for(q.n), JN_BLOCK, q);
}

static void run_adam_step(const jn_kargs *k) {
    const janus_adam_step_attrs *a = (const janus_adam_step_attrs *)k->attrs;
    step_args q = args_of(k, 4, 3);
    q.step = (const char *)k->in[4].data;
    q.step_dtype = k->in[4].dtype;
    q.lr = scalar_of(exec_of(k), k->in[5]);
    q.a = a->beta1;
    q.b = a->beta2;
    q.eps = a->eps;
    q.decay = a->weight_decay;
    q.flag = a->decoupled != 0;
    q.maximize = a->maximize != 0;
    if (q.n && q.dtype == JANUS_F64)
        JN_LAUNCH(exec_of(k), adam<double>, grid_for(q.n), JN_BLOCK, q);
    else if (q.n)
        JN_LAUNCH(exec_of(k), adam<float>, grid_for(q.n), JN_BLOCK, q);
    JN_LAUNCH(exec_of(k), count, 1, 1, (char *)k->out[3].data, q.step, q.step_dtype, q.stop);
}

#define SELECT(name)                                                                               \
    JN_CUDA_SELECT jn_cuda_##name(const jn_sig *sig) {                                             \
        (void)sig;                                                                                 \
        return run_##name;                                                                         \
    }
SELECT(momentum_step)
SELECT(adam_step)
