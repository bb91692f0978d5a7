/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a chain (jn_dev_chain in ops/device.h) for some elements that lie side by side, f32.
 *
 * All operands are loaded, and then step after step is done; all threads do the same ones.  What
 * the next step alone reads is handed on in registers, other values are in the thread's local
 * memory. Steps whose operands are the same for all elements of a thread are done once.
 *
 * A step computes what its op's own kernel does (ops/cuda/elementwise.cuh), and which op comes next
 * is known only when the kernel runs: nothing is contracted across steps.
 */
#ifndef JN_OPS_CUDA_STEPS_CUH
#define JN_OPS_CUDA_STEPS_CUH

#include "ops/cuda/elementwise.cuh"

enum {
    CHAIN_VALUES = JN_CHAIN_HEAD + 1,
    HELD = 255 /* what the step before has computed */
};

struct chain_step {
    uint16_t op;
    uint8_t n_in, in[JN_CHAIN_IN];
    bool kept;   /* others than the next step read it */
    bool narrow; /* the same for all elements of a thread */
    float a, b;  /* of the attributes */
};
/* What is read first lies first: a kernel waits for each line of its parameters. */
struct chain_args {
    i64 n;
    float *out;
    int rank, n_in, n_steps;
    unsigned wide; /* per operand: its elements are as many as the result's along the last dim */
    bool fours, small;  /* every thread can have four elements; indices fit into 32 bits */
    i64 d[JN_MAX_RANK]; /* merged dims, the last one innermost */
    const float *p[JN_CHAIN_OPERANDS];
    chain_step step[JN_CHAIN_STEPS];
    i64 s[JN_MAX_RANK][JN_CHAIN_OPERANDS];
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
    X(sub)                                                                                         \
    X(mul)                                                                                         \
    X(div)                                                                                         \
    X(maximum) X(minimum) X(neg) X(abs) X(exp) X(log) X(log1p) X(expm1) X(sqrt) X(rsqrt) X(square) \
        X(reciprocal) X(tanh) X(sigmoid) X(relu) X(gelu) X(silu) X(softplus) X(leaky_relu) X(elu)  \
            X(erf) X(sign) X(floor) X(ceil) X(round) X(clamp) X(lerp) X(tanh_grad) X(sigmoid_grad) \
                X(relu_grad) X(clamp_grad)

/* The elements from `element` on, in row-major order, of the chain's result.  head: these of its
 * head.  I: of indices. */
template <int W, class I>
DEV lanes<W> chain_at(const chain_args &a, I element, const lanes<W> &head) {
    lanes<W> value[CHAIN_VALUES], in[JN_CHAIN_OPERANDS];
    I at[JN_CHAIN_OPERANDS] = {0}, left = element;
    for (int d = a.rank - 1; d >= 0; d--) {
        I size = (I)a.d[d], q = d ? left / size : 0, i = left - q * size;
        left = q;
        JN_UNROLL
        for (int k = 0; k < JN_CHAIN_OPERANDS; k++)
            if (k < a.n_in)
                at[k] += i * (I)a.s[d][k];
    }
    /* nothing is done with what is loaded before all of it is under way */
    JN_UNROLL
    for (int k = 0; k < JN_CHAIN_OPERANDS; k++) {
        in[k] = {{0}};
        if (k >= a.n_in)
            continue;
        const float *p = a.p[k] + (i64)at[k];
        if (a.wide >> k & 1)
            in[k] = *(const lanes<W> *)p;
        else
            in[k].f[0] = *p;
    }
    JN_UNROLL
    for (int k = 0; k < JN_CHAIN_OPERANDS; k++) {
        if (k >= a.n_in)
            continue;
        if (!(a.wide >> k & 1))
            JN_UNROLL
        for (int j = 1; j < W; j++)
            in[k].f[j] = in[k].f[0];
        value[k] = in[k];
    }
    value[JN_CHAIN_HEAD] = head;
    lanes<W> held = head;
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
    return held;
}

/* What a call of a chain's kernel says; attrs: a jn_dev_chain. */
chain_args chain_args_of(const jn_kargs *k);

#endif
