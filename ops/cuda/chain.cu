/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of elementwise ops as one kernel (jn_dev_chain in ops/device.h), f32.
 *
 * A small kernel costs what its launch does, so a batch norm and what follows it should be one.  A
 * thread has one element of the result, or four that lie side by side: it loads all operands, and
 * then does step after step; all threads do the same ones.  What the next step alone reads is
 * handed on in registers, other values are in the thread's local memory.  Steps whose operands are
 * the same for all four are done once.
 *
 * A step computes what its op's own kernel does (ops/cuda/elementwise.cuh), and which op comes next
 * is known only when the kernel runs: nothing is contracted across steps.
 */
#include "ops/cuda/elementwise.cuh"

enum {
    CHAIN_BLOCK = 128,
    CHAIN_VALUES = JN_CHAIN_OPERANDS + JN_CHAIN_STEPS,
    HELD = 255 /* what the step before has computed */
};

struct chain_step {
    uint16_t op;
    uint8_t n_in, in[JN_CHAIN_IN];
    bool kept;   /* others than the next step read it */
    bool narrow; /* the same for all elements of a thread */
    double a, b; /* of the attributes */
};
struct chain_args {
    i64 n, d[JN_MAX_RANK]; /* merged dims, the last one innermost */
    int rank, n_in, n_steps;
    i64 s[JN_CHAIN_OPERANDS][JN_MAX_RANK];
    const float *p[JN_CHAIN_OPERANDS];
    float *out;
    chain_step step[JN_CHAIN_STEPS];
};

template <int W> struct alignas(4 * W) lanes { float f[W]; };

template <int W, int OP>
DEV lanes<W> do_step(const lanes<W> *x, const chain_step &s, const ew_attrs &at) {
    lanes<W> y;
    JN_UNROLL
    for (int j = 0; j < W; j++) {
        if (j > 0 && s.narrow) {
            y.f[j] = y.f[0];
            continue;
        }
        float v[JN_CHAIN_IN] = {x[0].f[j], x[1].f[j], x[2].f[j]};
        y.f[j] = compute<float>(OP, v, at);
    }
    return y;
}

#define CHAIN_OPS(X)                                                                               \
    X(add)                                                                                         \
    X(sub) X(mul) X(div) X(maximum) X(minimum) X(neg) X(abs) X(exp) X(log) X(log1p) X(expm1)       \
        X(sqrt) X(rsqrt) X(square) X(reciprocal) X(tanh) X(sigmoid) X(relu) X(gelu) X(silu)        \
            X(softplus) X(leaky_relu) X(elu) X(erf) X(sign) X(floor) X(ceil) X(round) X(clamp)     \
                X(lerp) X(tanh_grad) X(sigmoid_grad) X(relu_grad)

/* I: of indices. */
template <int W, class I> static __global__ void chain(chain_args a) {
    lanes<W> value[CHAIN_VALUES];
    I groups = (I)a.n / W;
    for (I g = (I)blockIdx.x * blockDim.x + threadIdx.x; g < groups;
         g += (I)gridDim.x * blockDim.x) {
        I at[JN_CHAIN_OPERANDS] = {0}, left = g * W;
        for (int d = a.rank - 1; d >= 0; d--) {
            I size = (I)a.d[d], q = d ? left / size : 0, i = left - q * size;
            left = q;
            JN_UNROLL
            for (int k = 0; k < JN_CHAIN_OPERANDS; k++)
                at[k] += i * (I)a.s[k][d];
        }
        JN_UNROLL
        for (int k = 0; k < JN_CHAIN_OPERANDS; k++) {
            if (k >= a.n_in)
                continue;
            const float *p = a.p[k] + (i64)at[k];
            if (W > 1 && a.s[k][a.rank - 1]) {
                value[k] = *(const lanes<W> *)p;
                continue;
            }
            float f = *p;
            for (int j = 0; j < W; j++)
                value[k].f[j] = f;
        }
        lanes<W> held = value[0];
        for (int i = 0; i < a.n_steps; i++) {
            const chain_step &s = a.step[i];
            ew_attrs attrs = {s.a, s.b, 0, 0, NULL};
            lanes<W> x[JN_CHAIN_IN] = {held, held, held};
            JN_UNROLL
            for (int k = 0; k < JN_CHAIN_IN; k++)
                if (k < s.n_in && s.in[k] != HELD)
                    x[k] = value[s.in[k]];
            switch (s.op) {
#define X(name)                                                                                    \
    case JN_OP_ID_##name:                                                                          \
        held = do_step<W, JN_OP_ID_##name>(x, s, attrs);                                           \
        break;
                CHAIN_OPS(X)
#undef X
            default:
                break;
            }
            if (s.kept)
                value[JN_CHAIN_OPERANDS + i] = held;
        }
        *(lanes<W> *)(a.out + (size_t)g * W) = held;
    }
}

/* ---- launching ----------------------------------------------------------------------------------
 */

/* Merges dims that every operand walks as one. */
static void merge_dims(chain_args *a, const jn_kargs *k) {
    const jn_view *y = &k->out[0];
    for (int d = 0; d < y->rank; d++) {
        bool merge = a->rank > 0;
        if (y->dims[d] == 1)
            continue;
        for (int i = 0; i < a->n_in; i++)
            merge = merge && a->s[i][a->rank - 1] == k->in[i].strides[d] * y->dims[d];
        int to = merge ? a->rank - 1 : a->rank++;
        a->d[to] = merge ? a->d[to] * y->dims[d] : y->dims[d];
        for (int i = 0; i < a->n_in; i++)
            a->s[i][to] = k->in[i].strides[d];
    }
    if (a->rank == 0) {
        a->rank = 1;
        a->d[0] = 1;
    }
}

/* Whether every thread can have four elements. */
static bool by_fours(const chain_args *a) {
    int last = a->rank - 1;
    if (a->d[last] % 4 || (uintptr_t)a->out % 16)
        return false;
    for (int i = 0; i < a->n_in; i++) {
        if (a->s[i][last] == 0)
            continue;
        if (a->s[i][last] != 1 || (uintptr_t)a->p[i] % 16)
            return false;
        for (int d = 0; d < last; d++)
            if (a->s[i][d] % 4)
                return false;
    }
    return true;
}

/* Whether indices fit into 32 bits. */
static bool is_small(const chain_args *a) {
    const i64 most = INT32_MAX;
    for (int i = 0; i < a->n_in; i++) {
        i64 far = 0;
        for (int d = 0; d < a->rank; d++)
            if (a->s[i][d] < 0 || (far += a->s[i][d] * (a->d[d] - 1)) > most)
                return false;
    }
    return a->n <= most;
}

static void take_steps(chain_args *a, const jn_dev_chain *c) {
    bool narrow[CHAIN_VALUES];
    for (int i = 0; i < a->n_in; i++)
        narrow[i] = a->s[i][a->rank - 1] == 0;
    for (int i = 0; i < a->n_steps; i++) {
        chain_step *s = &a->step[i];
        ew_attrs at = {0, 0, 0, 0, NULL};
        s->op = c->step[i].op;
        s->n_in = c->step[i].n_in;
        s->narrow = true;
        for (int k = 0; k < s->n_in; k++) {
            int from = c->step[i].in[k], step = from - JN_CHAIN_OPERANDS;
            s->narrow = s->narrow && narrow[from];
            s->in[k] = (uint8_t)(i > 0 && step == i - 1 ? HELD : from);
            if (step >= 0 && step != i - 1)
                a->step[step].kept = true;
        }
        narrow[JN_CHAIN_OPERANDS + i] = s->narrow;
        take_attrs(s->op, c->step[i].attrs, &at);
        s->a = at.a;
        s->b = at.b;
    }
}

template <int W> static void launch(const jn_dev_exec *e, const chain_args &a) {
    unsigned grid = grid_for(a.n / W, CHAIN_BLOCK);
    if (is_small(&a))
        JN_LAUNCH(e, (chain<W, unsigned>), grid, CHAIN_BLOCK, a);
    else
        JN_LAUNCH(e, (chain<W, i64>), grid, CHAIN_BLOCK, a);
}

static void run_chain(const jn_kargs *k) {
    const jn_dev_chain *c = (const jn_dev_chain *)k->attrs;
    chain_args a;
    memset(&a, 0, sizeof a);
    a.n = numel_of(k->out[0]);
    a.n_in = k->n_in;
    a.n_steps = (int)c->n;
    a.out = (float *)k->out[0].data;
    for (int i = 0; i < a.n_in; i++)
        a.p[i] = (const float *)k->in[i].data;
    if (!a.n)
        return;
    merge_dims(&a, k);
    take_steps(&a, c);
    if (by_fours(&a))
        launch<4>(exec_of(k), a);
    else
        launch<1>(exec_of(k), a);
}

JN_CUDA_SELECT jn_cuda_chain(const jn_sig *sig) {
    if (sig->n_in < 1 || sig->n_in > JN_CHAIN_IN || sig->n_out != 1 ||
        sig->out[0].dtype != JANUS_F32)
        return NULL;
    for (int i = 0; i < sig->n_in; i++)
        if (sig->in[i].dtype != JANUS_F32)
            return NULL;
    switch (sig->op->id) {
#define X(name) case JN_OP_ID_##name:
        CHAIN_OPS(X)
#undef X
        return run_chain;
    default:
        return NULL;
    }
}
