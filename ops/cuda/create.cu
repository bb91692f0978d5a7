/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors from nothing: filled, counted, drawn.  Draws are the same functions of (seed, offset,
 * position) as on the CPU, from the same header: equal bit for bit.
 */
#include "ops/cuda/cuda.cuh"
#include "ops/rng.h"

static __global__ void fill(char *y, int dtype, i64 n, dscalar value, bool floats) {
    const double f = floats ? float_of(value) : 0;
    const i64 v = floats ? 0 : int_of(value);
    JN_EACH(i, n) {
        if (floats)
            store_f(y, i, dtype, f);
        else
            store_i(y, i, dtype, v);
    }
}

static void run_full(const jn_kargs *k) {
    const jn_view *y = &k->out[0], *value = &k->in[0];
    i64 n = numel_of(*y);
    bool floats = is_float(value->dtype);
    if (n)
        JN_LAUNCH(exec_of(k), fill, grid_for(n), JN_BLOCK, (char *)y->data, (int)y->dtype, n,
                  scalar_of(exec_of(k), *value), floats);
}

static __global__ void arange(char *y, int dtype, i64 n, double f0, double f1, i64 i0, i64 i1,
                              bool floats) {
    JN_EACH(i, n) {
        if (floats) /* two roundings, as on the CPU */
#ifdef JN_CUDA_EMULATED
            store_f(y, i, dtype, f0 + (double)i * f1);
#else
            store_f(y, i, dtype, __dadd_rn(f0, __dmul_rn((double)i, f1)));
#endif
        else
            store_i(y, i, dtype, (i64)((u64)i0 + (u64)i * (u64)i1));
    }
}

static void run_arange(const jn_kargs *k) {
    const jn_view *y = &k->out[0], *a = &k->in[0], *b = &k->in[1];
    i64 n = numel_of(*y);
    bool floats = is_float(a->dtype) || is_float(b->dtype);
    if (n)
        JN_LAUNCH(exec_of(k), arange, grid_for(n), JN_BLOCK, (char *)y->data, (int)y->dtype, n,
                  host_f(*a), host_f(*b), floats ? 0 : host_i(*a), floats ? 0 : host_i(*b), floats);
}

static __global__ void eye(char *y, int dtype, i64 rows, i64 cols) {
    JN_EACH(i, rows * cols)
    store_i(y, i, dtype, i / cols == i % cols);
}
static void run_eye(const jn_kargs *k) {
    const jn_view *y = &k->out[0];
    if (numel_of(*y))
        JN_LAUNCH(exec_of(k), eye, grid_for(numel_of(*y)), JN_BLOCK, (char *)y->data, (int)y->dtype,
                  (i64)y->dims[0], (i64)y->dims[1]);
}

/* ---- draws: a thread makes the four elements of a counter
 * ----------------------------------------
 */

struct draw {
    char *y;
    int dtype;
    i64 n;
    dscalar seed, offset;
    double a, b; /* uniform: low, high; normal: mean, std; mask: -, scale */
    uint32_t threshold;
    i64 low;
    u64 range;
};

static draw draw_of(const jn_kargs *k) {
    draw d;
    memset(&d, 0, sizeof d);
    d.y = (char *)k->out[0].data;
    d.dtype = k->out[0].dtype;
    d.n = numel_of(k->out[0]);
    d.seed = scalar_of(exec_of(k), k->in[k->n_in - 2]);
    d.offset = scalar_of(exec_of(k), k->in[k->n_in - 1]);
    return d;
}

enum { UNIFORM, NORMAL, RANDINT, MASK };

template <int KIND> static __global__ void draws(draw d) {
    const uint64_t seed = (uint64_t)int_of(d.seed), offset = (uint64_t)int_of(d.offset);
    JN_EACH(c, (d.n + 3) / 4) {
        uint32_t hi[4], lo[4] = {0, 0, 0, 0};
        bool wide = KIND == RANDINT || (KIND != MASK && d.dtype == JANUS_F64);
        jn_philox(seed, offset + (uint64_t)c, 0, hi);
        if (wide)
            jn_philox(seed, offset + (uint64_t)c, 1, lo);
        double z[4] = {0, 0, 0, 0};
        if (KIND == NORMAL && wide) {
            jn_rng_normal_d(d.a, d.b, hi, lo, &z[0], &z[1]);
            jn_rng_normal_d(d.a, d.b, hi + 2, lo + 2, &z[2], &z[3]);
        } else if (KIND == NORMAL) {
            float f[4];
            jn_rng_normal_f((float)d.a, (float)d.b, hi[0], hi[1], &f[0], &f[1]);
            jn_rng_normal_f((float)d.a, (float)d.b, hi[2], hi[3], &f[2], &f[3]);
            for (int j = 0; j < 4; j++)
                z[j] = (double)f[j];
        }
        for (int j = 0; j < 4 && 4 * c + j < d.n; j++) {
            i64 i = 4 * c + j;
            if (KIND == RANDINT)
                store_i(d.y, i, d.dtype,
                        d.range ? (i64)((u64)d.low + jn_rng_below(hi[j], lo[j], d.range)) : 0);
            else if (KIND == MASK)
                store_f(d.y, i, d.dtype, hi[j] >> 8 < d.threshold ? d.b : 0.0);
            else if (KIND == NORMAL)
                store_f(d.y, i, d.dtype, z[j]);
            else if (wide)
                store_f(d.y, i, d.dtype,
                        jn_rng_uniform_d(jn_rng_range_of_d(d.a, d.b), hi[j], lo[j]));
            else
                store_f(d.y, i, d.dtype,
                        (double)jn_rng_uniform_f(jn_rng_range_of_f(d.a, d.b), hi[j]));
            if (KIND == UNIFORM && size_of(d.dtype) == 2 && d.a < d.b) {
                uint16_t end, *v = (uint16_t *)d.y + i;
                store_f(&end, 0, d.dtype, d.b);
                *v = jn_rng_before_half(*v, end);
            }
        }
    }
}

template <int KIND> static void launch(const jn_kargs *k, const draw &d) {
    if (d.n)
        JN_LAUNCH(exec_of(k), draws<KIND>, grid_for((d.n + 3) / 4), JN_BLOCK, d);
}
static void run_uniform(const jn_kargs *k) {
    draw d = draw_of(k);
    d.a = ((const janus_uniform_attrs *)k->attrs)->low;
    d.b = ((const janus_uniform_attrs *)k->attrs)->high;
    launch<UNIFORM>(k, d);
}
static void run_normal(const jn_kargs *k) {
    draw d = draw_of(k);
    d.a = ((const janus_normal_attrs *)k->attrs)->mean;
    d.b = ((const janus_normal_attrs *)k->attrs)->std;
    launch<NORMAL>(k, d);
}
static __global__ void raise(uint32_t *flags, uint32_t flag) { atomicOr(flags, flag); }

static void run_randint(const jn_kargs *k) {
    draw d = draw_of(k);
    i64 high = host_i(k->in[1]);
    d.low = host_i(k->in[0]);
    d.range = high > d.low ? (u64)high - (u64)d.low : 0; /* 0: all zeros */
    if (high <= d.low)
        JN_LAUNCH(exec_of(k), raise, 1, 1, k->flags, (uint32_t)JN_KFLAG_INDEX);
    launch<RANDINT>(k, d);
}
static void run_bernoulli_mask(const jn_kargs *k) {
    draw d = draw_of(k);
    d.threshold = jn_rng_threshold(((const janus_bernoulli_mask_attrs *)k->attrs)->p);
    d.b = ((const janus_bernoulli_mask_attrs *)k->attrs)->scale;
    launch<MASK>(k, d);
}

/* Fisher-Yates has an order: one thread. */
static __global__ void randperm(draw d) {
    const uint64_t seed = (uint64_t)int_of(d.seed), offset = (uint64_t)int_of(d.offset);
    for (i64 i = 0; i < d.n; i++)
        store_i(d.y, i, d.dtype, i);
    for (i64 i = d.n - 1; i > 0; i--) {
        uint32_t hi[4], lo[4];
        jn_philox(seed, offset + (uint64_t)(i / 4), 0, hi);
        jn_philox(seed, offset + (uint64_t)(i / 4), 1, lo);
        i64 j = (i64)jn_rng_below(hi[i % 4], lo[i % 4], (uint64_t)i + 1);
        i64 t = load_i(d.y, i, d.dtype);
        store_i(d.y, i, d.dtype, load_i(d.y, j, d.dtype));
        store_i(d.y, j, d.dtype, t);
    }
}
static void run_randperm(const jn_kargs *k) {
    draw d = draw_of(k);
    if (d.n)
        JN_LAUNCH(exec_of(k), randperm, 1, 1, d);
}

#define SELECT(name)                                                                               \
    JN_CUDA_SELECT jn_cuda_##name(const jn_sig *sig) {                                             \
        (void)sig;                                                                                 \
        return run_##name;                                                                         \
    }
SELECT(full)
SELECT(arange)
SELECT(eye)
SELECT(uniform)
SELECT(normal)
SELECT(randint)
SELECT(bernoulli_mask)
SELECT(randperm)
