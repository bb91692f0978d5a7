/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random draws: every instruction set and thread count gives the reference's bits, wherever a chunk
 * ends; the numbers are those of the distribution (against the C library where there is a formula).
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "exec/store/par.h"
#include "graph/base/alloc.h"
#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "ops/rng.h"
#include "tests/unit/check.h"

enum { LARGEST = 70001 };
static const char *const sets[] = {"generic", "avx2", "avx512"};
static const int64_t sizes[] = {0, 1, 3, 4, 5, 63, 1023, 1024, 1029, 40000, LARGEST};
static _Alignas(64) char got[LARGEST * 8], want[LARGEST * 8];

typedef struct draw {
    unsigned op;
    int dtype;
    const void *attrs;
    double low, high; /* randint */
} draw;

static janus_uniform_attrs unit_attrs = {.low = 0, .high = 1}, range_attrs = {.low = -3, .high = 5};
static janus_normal_attrs normal_attrs = {.mean = 0.25, .std = 2};
static janus_bernoulli_mask_attrs mask_attrs = {.p = 0.3, .scale = 1 / 0.3};
static const draw draws[] = {
    {JN_OP_ID_uniform, JANUS_F32, &unit_attrs, 0, 0},
    {JN_OP_ID_uniform, JANUS_F64, &unit_attrs, 0, 0},
    {JN_OP_ID_uniform, JANUS_F32, &range_attrs, 0, 0},
    {JN_OP_ID_uniform, JANUS_F64, &range_attrs, 0, 0},
    {JN_OP_ID_normal, JANUS_F32, &normal_attrs, 0, 0},
    {JN_OP_ID_normal, JANUS_F64, &normal_attrs, 0, 0},
    {JN_OP_ID_bernoulli_mask, JANUS_F32, &mask_attrs, 0, 0},
    {JN_OP_ID_bernoulli_mask, JANUS_F64, &mask_attrs, 0, 0},
    {JN_OP_ID_randint, JANUS_I64, NULL, -7, 1000},
    {JN_OP_ID_randint, JANUS_I32, NULL, 0, 3},
    {JN_OP_ID_randperm, JANUS_I64, NULL, 0, 0},
    {JN_OP_ID_randperm, JANUS_I32, NULL, 0, 0},
};
enum { N_DRAWS = sizeof draws / sizeof draws[0] };

static void run(const draw *d, bool fast, int64_t n, uint64_t seed, uint64_t offset,
                const jn_par *par, void *out) {
    int64_t dims[1] = {n}, strides[1] = {1}, low = (int64_t)d->low, high = (int64_t)d->high;
    int64_t state[2] = {(int64_t)seed, (int64_t)offset};
    jn_view none = {NULL, NULL, NULL, -1, JANUS_F32, false}, in[5];
    jn_view y = {out, dims, strides, 1, (uint8_t)d->dtype, true};
    unsigned k = 0;
    if (d->op == JN_OP_ID_randint) {
        in[k++] = (jn_view){&low, NULL, NULL, 0, JANUS_I64, true};
        in[k++] = (jn_view){&high, NULL, NULL, 0, JANUS_I64, true};
    }
    if (d->op == JN_OP_ID_randperm)
        in[k++] = (jn_view){&n, NULL, NULL, 0, JANUS_I64, true};
    else
        in[k++] = none;
    for (int i = 0; i < 2; i++)
        in[k++] = (jn_view){&state[i], NULL, NULL, 0, JANUS_I64, true};
    uint32_t flags = 0;
    jn_sig sig = {&jn_ops[d->op], in, &y, (uint16_t)k, 1, d->attrs};
    jn_kargs a = {.in = in,
                  .out = &y,
                  .n_in = (uint16_t)k,
                  .n_out = 1,
                  .attrs = d->attrs,
                  .flags = &flags,
                  .par = par};
    (fast ? jn_op_impls[d->op].cpu : jn_op_impls[d->op].ref) (&sig)(&a);
    CU_ASSERT_EQUAL(flags, 0);
}

static void equal_bits(void) {
    const jn_par *pool = jn_par_pool();
    for (size_t s = 0; s < 3; s++) {
        if (!jn_isa_use(sets[s]))
            continue;
        for (size_t i = 0; i < N_DRAWS; i++) {
            for (size_t z = 0; z < sizeof sizes / sizeof sizes[0]; z++) {
                /* a counter that carries into its second word within the draw */
                uint64_t offset = z % 2 ? 0xfffffff0u : 17 + z, seed = 0x123456789abcdefu * (i + 1);
                size_t bytes = (size_t)sizes[z] * jn_elem_size(draws[i].dtype);
                memset(got, 1, sizeof got);
                run(&draws[i], true, sizes[z], seed, offset, z % 3 ? pool : &jn_par_serial, got);
                run(&draws[i], false, sizes[z], seed, offset, &jn_par_serial, want);
                if (memcmp(got, want, bytes) != 0) {
                    fprintf(stderr, "    %s: %s of %lld differs\n", sets[s],
                            jn_ops[draws[i].op].name, (long long)sizes[z]);
                    CU_FAIL("bits differ");
                }
                CU_ASSERT(bytes == sizeof got || got[bytes] == 1);
            }
        }
    }
}

/* The first words of the published test vectors (Random123, kat_vectors). */
static void known_words(void) {
    static const uint32_t zeros[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
                          ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    uint32_t w[4];
    jn_philox(0, 0, 0, w);
    CU_ASSERT(memcmp(w, zeros, sizeof w) == 0);
    jn_philox(UINT64_MAX, UINT64_MAX, UINT64_MAX, w);
    CU_ASSERT(memcmp(w, ones, sizeof w) == 0);
}

static double apart(double a, double b) { return fabs(a - b) / (1 + fabs(b)); }

static void functions(void) {
    double log_f = 0, log_d = 0, turn_f = 0, turn_d = 0;
    uint32_t w[4];
    for (uint64_t i = 0; i < 200000; i++) {
        jn_philox(5, i, 0, w);
        float v = jn_rng_unit_f(w[0]), u = 1.0f - jn_rng_unit_f(w[1] >> (i % 24)), s, c;
        double x = jn_rng_unit_d(w[0], w[1]), y = 1.0 - jn_rng_unit_d(w[2] >> (i % 32), w[3]), sd,
               cd;
        double exact = log((double)u), pi2 = 6.28318530717958647692;
        log_f = fmax(log_f, fabs((double)jn_rng_log_f(u) - exact) / fmax(fabs(exact), 1e-8));
        exact = log(y);
        log_d = fmax(log_d, fabs(jn_rng_log_d(y) - exact) / fmax(fabs(exact), 1e-17));
        jn_rng_turn_f(v, &s, &c);
        turn_f = fmax(turn_f, fmax(apart((double)s, sin(pi2 * (double)v)),
                                   apart((double)c, cos(pi2 * (double)v))));
        jn_rng_turn_d(x, &sd, &cd);
        turn_d = fmax(turn_d, fmax(apart(sd, sin(pi2 * x)), apart(cd, cos(pi2 * x))));
    }
    fprintf(stderr, "\n    relative errors: log %.1e %.1e, sine and cosine %.1e %.1e ", log_f,
            log_d, turn_f, turn_d);
    CU_ASSERT(log_f < 3e-7 && log_d < 6e-16);
    CU_ASSERT(turn_f < 1.5e-7 && turn_d < 8e-16);
    CU_ASSERT_EQUAL(jn_rng_below(0xffffffffu, 0xffffffffu, 10), 9);
    CU_ASSERT_EQUAL(jn_rng_below(0x80000000u, 0, UINT64_MAX), UINT64_MAX / 2);
    CU_ASSERT_EQUAL(jn_rng_threshold(0), 0);
    CU_ASSERT_EQUAL(jn_rng_threshold(1), 1u << 24);
    CU_ASSERT_EQUAL(jn_rng_threshold(0.5), 1u << 23);
}

static void moments(void) {
    for (size_t i = 0; i < 8; i++) {
        double s = 0, s2 = 0, s4 = 0, least = 1e9, most = -1e9, n = LARGEST;
        run(&draws[i], true, LARGEST, 99, 0, &jn_par_serial, got);
        for (int64_t e = 0; e < LARGEST; e++) {
            double x = draws[i].dtype == JANUS_F32 ? (double)((float *)got)[e] : ((double *)got)[e];
            least = fmin(least, x);
            most = fmax(most, x);
            s += x;
        }
        s /= n;
        for (int64_t e = 0; e < LARGEST; e++) {
            double x = draws[i].dtype == JANUS_F32 ? (double)((float *)got)[e] : ((double *)got)[e];
            s2 += (x - s) * (x - s) / n;
            s4 += pow(x - s, 4) / n;
        }
        if (i < 2)
            CU_ASSERT(least >= 0 && most < 1 && fabs(s - 0.5) < 0.01 && fabs(s2 - 1. / 12) < 0.002);
        if (i == 2 || i == 3)
            CU_ASSERT(least >= -3 && most < 5 && fabs(s - 1) < 0.05);
        if (i == 4 || i == 5)
            CU_ASSERT(fabs(s - 0.25) < 0.03 && fabs(s2 - 4) < 0.1 && fabs(s4 / 16 - 3) < 0.2);
        if (i > 5)
            CU_ASSERT(least == 0 && fabs(s - 1) < 0.02);
    }
}

/* low + scale * u rounds up to high for the largest u: it must not come out. */
static void below_high(void) {
    jn_rng_range_f r = jn_rng_range_of_f(1e7, 1e7 + 1);
    CU_ASSERT(jn_rng_uniform_f(r, UINT32_MAX) < r.high);
    r = jn_rng_range_of_f(-1, 0);
    CU_ASSERT(jn_rng_uniform_f(r, UINT32_MAX) < 0);
    r = jn_rng_range_of_f(2, 2);
    CU_ASSERT(jn_rng_uniform_f(r, 12345) == 2);
}

JN_TEST_MAIN("rng", {"words of the published vectors", known_words},
             {"functions against the C library", functions},
             {"every kernel draws the reference's bits", equal_bits},
             {"moments of the distributions", moments}, {"high is not reached", below_high})
