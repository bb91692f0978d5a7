/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of elementwise ops as one kernel (jn_dev_chain in ops/device.h), f32.
 *
 * A small kernel costs what its launch does, so a batch norm and what follows it should be one.  A
 * thread has one element of the result, or four that lie side by side.
 */
#include "ops/cuda/steps.cuh"

enum { CHAIN_BLOCK = 128 };

/* I: of indices. */
template <int W, class I> static __global__ void chain(chain_args a) {
    I groups = (I)a.n / W;
    for (I g = (I)blockIdx.x * blockDim.x + threadIdx.x; g < groups;
         g += (I)gridDim.x * blockDim.x) {
        lanes<W> none = {{0}};
        *(lanes<W> *)(a.out + (size_t)g * W) = chain_at<W, I>(a, g * W, none);
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
            merge = merge && a->s[a->rank - 1][i] == k->in[i].strides[d] * y->dims[d];
        int to = merge ? a->rank - 1 : a->rank++;
        a->d[to] = merge ? a->d[to] * y->dims[d] : y->dims[d];
        for (int i = 0; i < a->n_in; i++)
            a->s[to][i] = k->in[i].strides[d];
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
        if (a->s[last][i] == 0)
            continue;
        if (a->s[last][i] != 1 || (uintptr_t)a->p[i] % 16)
            return false;
        for (int d = 0; d < last; d++)
            if (a->s[d][i] % 4)
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
            if (a->s[d][i] < 0 || (far += a->s[d][i] * (a->d[d] - 1)) > most)
                return false;
    }
    return a->n <= most;
}

static void take_steps(chain_args *a, const jn_dev_chain *c) {
    bool narrow[CHAIN_VALUES];
    narrow[JN_CHAIN_HEAD] = false;
    for (int i = 0; i < a->n_in; i++) {
        narrow[i] = a->s[a->rank - 1][i] == 0;
        a->wide |= (unsigned)!narrow[i] << i;
    }
    for (int i = 0; i < a->n_steps; i++) {
        chain_step *s = &a->step[i];
        ew_attrs at = {0, 0, 0, 0, NULL};
        s->op = c->step[i].op;
        s->n_in = c->step[i].n_in;
        s->narrow = true;
        for (int k = 0; k < s->n_in; k++) {
            int from = c->step[i].in[k];
            int step = from == JN_CHAIN_HEAD ? -1 : from - JN_CHAIN_OPERANDS;
            s->narrow = s->narrow && narrow[from];
            s->in[k] = (uint8_t)(i > 0 && step == i - 1 ? HELD : from);
            if (step >= 0 && step != i - 1)
                a->step[step].kept = true;
        }
        narrow[JN_CHAIN_OPERANDS + i] = s->narrow;
        take_attrs(s->op, c->step[i].attrs, &at);
        s->a = (float)at.a;
        s->b = (float)at.b;
    }
}

chain_args chain_args_of(const jn_kargs *k) {
    const jn_dev_chain *c = (const jn_dev_chain *)k->attrs;
    chain_args a;
    memset(&a, 0, sizeof a);
    a.n = numel_of(k->out[0]);
    a.n_in = (int)c->n_operands;
    a.n_steps = (int)c->n;
    a.out = (float *)k->out[0].data;
    for (int i = 0; i < a.n_in; i++)
        a.p[i] = (const float *)k->in[i].data;
    if (!a.n)
        return a;
    merge_dims(&a, k);
    take_steps(&a, c);
    a.fours = by_fours(&a);
    a.small = is_small(&a);
    return a;
}

template <int W> static void launch(const jn_dev_exec *e, const chain_args &a) {
    unsigned grid = grid_for(a.n / W, CHAIN_BLOCK);
    if (a.small)
        JN_LAUNCH(e, (chain<W, unsigned>), grid, CHAIN_BLOCK, a);
    else
        JN_LAUNCH(e, (chain<W, i64>), grid, CHAIN_BLOCK, a);
}

static void run_chain(const jn_kargs *k) {
    chain_args a = chain_args_of(k);
    if (!a.n)
        return;
    if (a.fours)
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
