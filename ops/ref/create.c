/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reference kernels of creation and random draws.  A draw is a pure function of (seed, offset) and
 * of the element's position; see ops/rng.h.
 */
#include "config.h"

#include "ops/random_rules.h"
#include "ops/ref/ref.h"
#include "ops/rng.h"

static void fill(const jn_view *y, const jn_view *value) {
    jn_walk w;
    jn_walk_init(&w, y->rank, y->dims);
    jn_walk_add(&w, y);
    JN_WALK(&w)
    jn_copy_element(y, w.off[0], value, 0);
}
static void k_full(const jn_kargs *k) { fill(&k->out[0], &k->in[0]); }

static void k_arange(const jn_kargs *k) {
    const jn_view *y = &k->out[0];
    bool floats = jn_is_float(&k->in[0]) || jn_is_float(&k->in[1]);
    for (int64_t i = 0; i < y->dims[0]; i++) {
        if (floats)
            jn_store_f(y, i, jn_scalar_f(&k->in[0]) + (double)i * jn_scalar_f(&k->in[1]));
        else
            jn_store_i(y, i,
                       (int64_t)((uint64_t)jn_scalar_i(&k->in[0]) +
                                 (uint64_t)i * (uint64_t)jn_scalar_i(&k->in[1])));
    }
}

static void k_eye(const jn_kargs *k) {
    const jn_view *y = &k->out[0];
    jn_zero(y);
    for (int64_t i = 0; i < y->dims[0] && i < y->dims[1]; i++)
        jn_store_i(y, i * y->strides[0] + i * y->strides[1], 1);
}

/* The generator's state of a random row: its last two operands. */
typedef struct draw {
    uint64_t seed, offset;
} draw;
static draw state_of(const jn_kargs *k) {
    return (draw){(uint64_t)jn_scalar_i(&k->in[k->n_in - 2]),
                  (uint64_t)jn_scalar_i(&k->in[k->n_in - 1])};
}

/* Words of element i: its own and, in *low, a second one. */
static uint32_t word(const draw *d, int64_t i, uint32_t *low) {
    uint32_t a[4], b[4];
    jn_philox(d->seed, d->offset + (uint64_t)(i / 4), 0, a);
    jn_philox(d->seed, d->offset + (uint64_t)(i / 4), 1, b);
    *low = b[i % 4];
    return a[i % 4];
}

void jn_rng_keep_below(const jn_view *y, double low, double high) {
    if ((y->dtype != JANUS_F16 && y->dtype != JANUS_BF16) || !(low < high))
        return;
    uint16_t *v = y->data;
    uint16_t end = y->dtype == JANUS_F16 ? jn_float_to_half(high) : jn_float_to_bfloat(high);
    for (int64_t i = 0, n = jn_numel(y); i < n; i++)
        v[i] = jn_rng_before_half(v[i], end);
}

static void k_uniform(const jn_kargs *k) {
    const janus_uniform_attrs *a = k->attrs;
    const jn_view *y = &k->out[0];
    draw d = state_of(k);
    jn_rng_range_f f = jn_rng_range_of_f(a->low, a->high);
    jn_rng_range_d wide = jn_rng_range_of_d(a->low, a->high);
    for (int64_t i = 0, n = jn_numel(y); i < n; i++) {
        uint32_t low, high = word(&d, i, &low);
        jn_store_f(y, i,
                   y->dtype == JANUS_F64 ? jn_rng_uniform_d(wide, high, low)
                                         : (double)jn_rng_uniform_f(f, high));
    }
    jn_rng_keep_below(y, a->low, a->high);
}

static void k_normal(const jn_kargs *k) {
    const janus_normal_attrs *a = k->attrs;
    const jn_view *y = &k->out[0];
    draw d = state_of(k);
    for (int64_t i = 0, n = jn_numel(y); i < n; i += 2) {
        uint32_t lo[2], hi[2] = {word(&d, i, &lo[0]), word(&d, i + 1, &lo[1])};
        double z[2];
        float zf[2];
        if (y->dtype == JANUS_F64) {
            jn_rng_normal_d(a->mean, a->std, hi, lo, &z[0], &z[1]);
        } else {
            jn_rng_normal_f((float)a->mean, (float)a->std, hi[0], hi[1], &zf[0], &zf[1]);
            z[0] = (double)zf[0], z[1] = (double)zf[1];
        }
        jn_store_f(y, i, z[0]);
        if (i + 1 < n)
            jn_store_f(y, i + 1, z[1]);
    }
}

static uint64_t below(const draw *d, int64_t i, uint64_t range) {
    uint32_t low, high = word(d, i, &low);
    return jn_rng_below(high, low, range);
}

static void k_randint(const jn_kargs *k) {
    const jn_view *y = &k->out[0];
    int64_t low = jn_scalar_i(&k->in[0]), high = jn_scalar_i(&k->in[1]);
    draw d = state_of(k);
    if (high <= low)
        *k->flags |= JN_KFLAG_INDEX;
    for (int64_t i = 0, n = jn_numel(y); i < n; i++)
        jn_store_i(y, i,
                   high <= low
                       ? 0
                       : (int64_t)((uint64_t)low + below(&d, i, (uint64_t)high - (uint64_t)low)));
}

static void k_bernoulli_mask(const jn_kargs *k) {
    const janus_bernoulli_mask_attrs *a = k->attrs;
    const jn_view *y = &k->out[0];
    draw d = state_of(k);
    uint32_t low, threshold = jn_rng_threshold(a->p);
    for (int64_t i = 0, n = jn_numel(y); i < n; i++)
        jn_store_f(y, i, word(&d, i, &low) >> 8 < threshold ? a->scale : 0);
}

/* Fisher-Yates from the end, in place in the result. */
static void k_randperm(const jn_kargs *k) {
    const jn_view *y = &k->out[0];
    draw d = state_of(k);
    int64_t n = y->dims[0];
    for (int64_t i = 0; i < n; i++)
        jn_store_i(y, i, i);
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)below(&d, i, (uint64_t)i + 1), t = jn_load_i(y, i);
        jn_store_i(y, i, jn_load_i(y, j));
        jn_store_i(y, j, t);
    }
}

#define SELECT(name)                                                                               \
    jn_kernel_fn jn_ref_##name(const jn_sig *sig) {                                                \
        (void)sig;                                                                                 \
        return k_##name;                                                                           \
    }
SELECT(full)
SELECT(arange)
SELECT(eye)
SELECT(uniform)
SELECT(normal)
SELECT(randint)
SELECT(bernoulli_mask)
SELECT(randperm)
