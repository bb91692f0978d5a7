/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors from nothing: arange, eye and random draws.
 *
 * Draws go in chunks: the words of a chunk are made in a buffer that stays in the cache, then
 * turned into numbers.  Chunks are whole counters, so threads take any of them.
 */
#include <string.h>

#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "ops/rng.h"
#include "ops/rules.h"

enum { CHUNK = 1024, CHUNKS_PER_THREAD = 16 };

typedef struct draws {
    uint64_t seed, offset;
    const jn_view *out;
    int64_t n;
    bool wide;   /* 64 bits per element */
    int kind;    /* JN_DRAW_... */
    double a, b; /* its parameters */
    int64_t low; /* randint */
    uint64_t range;
} draws;

/* The generator's state is in a random row's last two operands. */
static draws draws_of(const jn_kargs *k, bool wide) {
    draws d = {.seed = (uint64_t)jn_scalar_i(&k->in[k->n_in - 2]),
               .offset = (uint64_t)jn_scalar_i(&k->in[k->n_in - 1]),
               .out = &k->out[0],
               .n = jn_numel(&k->out[0]),
               .wide = wide};
    return d;
}

/* Words of the elements [begin, begin + n), begin a multiple of 4. */
static void chunk_words(const draws *d, int64_t begin, int64_t n, uint32_t *hi, uint32_t *lo) {
    uint64_t counter = d->offset + (uint64_t)(begin / 4);
    jn_isa.philox(d->seed, counter, 0, hi, jn_rng_draws(n));
    if (d->wide)
        jn_isa.philox(d->seed, counter, 1, lo, jn_rng_draws(n));
}

static void floats_range(void *arg, int64_t begin, int64_t end) {
    const draws *d = arg;
    int dtype = d->out->dtype;
    _Alignas(64) uint32_t hi[CHUNK], lo[CHUNK];
    for (int64_t c = begin; c < end; c++) {
        int64_t at = c * CHUNK, n = d->n - at < CHUNK ? d->n - at : CHUNK;
        chunk_words(d, at, n, hi, lo);
        jn_isa.draw[d->kind][dtype == JANUS_F64](
            hi, lo, (char *)d->out->data + (size_t)at * jn_elem_size(dtype), n, d->a, d->b);
    }
}

static void run_chunks(const jn_kargs *k, draws *d, jn_range_fn body) {
    int64_t chunks = (d->n + CHUNK - 1) / CHUNK;
    if (chunks >= 2 * CHUNKS_PER_THREAD && k->par->threads > 1)
        k->par->run(k->par, chunks, CHUNKS_PER_THREAD, body, d);
    else
        body(d, 0, chunks);
}

static void floats(const jn_kargs *k, int kind, double a, double b) {
    draws d = draws_of(k, kind != JN_DRAW_MASK && k->out[0].dtype == JANUS_F64);
    d.kind = kind, d.a = a, d.b = b;
    run_chunks(k, &d, floats_range);
}

static void uniform(const jn_kargs *k) {
    const janus_uniform_attrs *a = k->attrs;
    floats(k, JN_DRAW_UNIFORM, a->low, a->high);
}
static void normal(const jn_kargs *k) {
    const janus_normal_attrs *a = k->attrs;
    floats(k, JN_DRAW_NORMAL, a->mean, a->std);
}
static void bernoulli_mask(const jn_kargs *k) {
    const janus_bernoulli_mask_attrs *a = k->attrs;
    floats(k, JN_DRAW_MASK, a->p, a->scale);
}

#define SELECT_FLOAT(name)                                                                         \
    jn_kernel_fn jn_cpu_##name(const jn_sig *sig) {                                                \
        int d = sig->out[0].dtype;                                                                 \
        return d == JANUS_F32 || d == JANUS_F64 ? name : jn_cpu_fallback(sig);                     \
    }
SELECT_FLOAT(uniform)
SELECT_FLOAT(normal)
SELECT_FLOAT(bernoulli_mask)

static void store_int(const jn_view *y, int64_t i, int64_t v) {
    if (y->dtype == JANUS_I64)
        ((int64_t *)y->data)[i] = v;
    else
        ((int32_t *)y->data)[i] = (int32_t)(uint32_t)(uint64_t)v;
}

static void ints_range(void *arg, int64_t begin, int64_t end) {
    const draws *d = arg;
    uint32_t hi[CHUNK], lo[CHUNK];
    for (int64_t c = begin; c < end; c++) {
        int64_t at = c * CHUNK, n = d->n - at < CHUNK ? d->n - at : CHUNK;
        chunk_words(d, at, n, hi, lo);
        for (int64_t i = 0; i < n; i++)
            store_int(d->out, at + i,
                      (int64_t)((uint64_t)d->low + jn_rng_below(hi[i], lo[i], d->range)));
    }
}

static void randint(const jn_kargs *k) {
    draws d = draws_of(k, true);
    int64_t high = jn_scalar_i(&k->in[1]);
    d.low = jn_scalar_i(&k->in[0]);
    d.range = (uint64_t)high - (uint64_t)d.low;
    if (high <= d.low) {
        *k->flags |= JN_KFLAG_INDEX;
        memset(k->out[0].data, 0, (size_t)d.n * jn_elem_size(k->out[0].dtype));
        return;
    }
    run_chunks(k, &d, ints_range);
}

/* Fisher-Yates from the end, in place in the result; element i uses its own words. */
#define PERMUTE(T)                                                                                 \
    static void permute_##T(const draws *d, T *y) {                                                \
        uint32_t hi[CHUNK], lo[CHUNK];                                                             \
        for (int64_t i = 0; i < d->n; i++)                                                         \
            y[i] = (T)i;                                                                           \
        for (int64_t i = d->n - 1; i > 0;) {                                                       \
            int64_t from = i / CHUNK * CHUNK;                                                      \
            chunk_words(d, from, i - from + 1, hi, lo);                                            \
            for (; i >= from && i > 0; i--) {                                                      \
                uint64_t j = jn_rng_below(hi[i - from], lo[i - from], (uint64_t)i + 1);            \
                T t = y[i];                                                                        \
                y[i] = y[j];                                                                       \
                y[j] = t;                                                                          \
            }                                                                                      \
        }                                                                                          \
    }
PERMUTE(int32_t)
PERMUTE(int64_t)

static void randperm(const jn_kargs *k) {
    draws d = draws_of(k, true);
    if (k->out[0].dtype == JANUS_I64)
        permute_int64_t(&d, k->out[0].data);
    else
        permute_int32_t(&d, k->out[0].data);
}

#define SELECT_INT(name)                                                                           \
    jn_kernel_fn jn_cpu_##name(const jn_sig *sig) {                                                \
        int d = sig->out[0].dtype;                                                                 \
        return d == JANUS_I32 || d == JANUS_I64 ? name : jn_cpu_fallback(sig);                     \
    }
SELECT_INT(randint)
SELECT_INT(randperm)

/* ---- arange, eye --------------------------------------------------------------------------------
 */

static void arange(const jn_kargs *k) {
    const jn_view *y = &k->out[0];
    int64_t n = y->dims[0];
    if (k->in[0].dtype == JANUS_F64 || k->in[1].dtype == JANUS_F64) {
        double start = jn_scalar_f(&k->in[0]), step = jn_scalar_f(&k->in[1]);
        if (y->dtype == JANUS_F32)
            for (int64_t i = 0; i < n; i++)
                ((float *)y->data)[i] = (float)(start + (double)i * step);
        else
            for (int64_t i = 0; i < n; i++)
                ((double *)y->data)[i] = start + (double)i * step;
        return;
    }
    uint64_t at = (uint64_t)jn_scalar_i(&k->in[0]), step = (uint64_t)jn_scalar_i(&k->in[1]);
    for (int64_t i = 0; i < n; i++, at += step) {
        if (y->dtype == JANUS_I64)
            ((int64_t *)y->data)[i] = (int64_t)at;
        else if (y->dtype == JANUS_I32)
            ((int32_t *)y->data)[i] = (int32_t)(uint32_t)at;
        else if (y->dtype == JANUS_F32)
            ((float *)y->data)[i] = (float)(int64_t)at;
        else
            ((double *)y->data)[i] = (double)(int64_t)at;
    }
}

jn_kernel_fn jn_cpu_arange(const jn_sig *sig) {
    int d = sig->out[0].dtype;
    bool floats = d == JANUS_F32 || d == JANUS_F64;
    bool ints = sig->in[0].dtype != JANUS_F64 && sig->in[1].dtype != JANUS_F64;
    return floats || (ints && (d == JANUS_I32 || d == JANUS_I64)) ? arange : jn_cpu_fallback(sig);
}

static void eye(const jn_kargs *k) {
    const jn_view *y = &k->out[0];
    size_t size = jn_elem_size(y->dtype);
    int64_t n = y->dims[0], m = y->dims[1], value = 1;
    jn_view one = {y->data, NULL, NULL, 0, y->dtype, true};
    jn_view number = {&value, NULL, NULL, 0, JANUS_I64, true};
    jn_kargs c = {.in = &number,
                  .out = &one,
                  .n_in = 1,
                  .n_out = 1,
                  .flags = k->flags,
                  .par = &jn_par_serial};
    memset(y->data, 0, (size_t)(n * m) * size);
    for (int64_t i = 0; i < n && i < m; i++) {
        one.data = (char *)y->data + (size_t)(i * m + i) * size;
        if (i == 0)
            jn_isa.cast[JANUS_I64][y->dtype](&c);
        else
            memcpy(one.data, y->data, size);
    }
}
jn_kernel_fn jn_cpu_eye(const jn_sig *sig) {
    return jn_isa.cast[JANUS_I64][sig->out[0].dtype] ? eye : jn_cpu_fallback(sig);
}
