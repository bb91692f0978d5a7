/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vectorised elementary functions: error against the C library's long double functions over
 * all of the range, special values, and the promise that an element's bits do not depend on where
 * it stands, on every instruction set this processor has.
 */
#include "config.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "tests/unit/check.h"

typedef struct function {
    const char *name;
    unsigned id;
    long double (*exact)(long double);
    double ulps_f32, ulps_f64;
    double abs_f32, abs_f64; /* error allowed beside, relative to max(|x|, 1) */
} function;

static long double sigmoid(long double x) { return 1.0L / (1.0L + expl(-x)); }
static long double silu(long double x) { return isinf(x) && x < 0 ? NAN : x * sigmoid(x); }
static long double softplus(long double x) { return x > 60 ? x : log1pl(expl(x)); }
static long double gelu(long double x) {
    return isinf(x) && x < 0 ? NAN : 0.5L * x * erfcl(-x * sqrtl(0.5L));
}
static long double rsqrt(long double x) { return 1.0L / sqrtl(x); }

static const function functions[] = {
    {"exp", JN_OP_ID_exp, expl, 2, 2, 0, 0},
    {"log", JN_OP_ID_log, logl, 2, 2, 0, 0},
    {"log1p", JN_OP_ID_log1p, log1pl, 2, 3, 0, 0},
    {"expm1", JN_OP_ID_expm1, expm1l, 2, 3, 0, 0},
    {"tanh", JN_OP_ID_tanh, tanhl, 2, 3, 0, 0},
    {"sigmoid", JN_OP_ID_sigmoid, sigmoid, 2.5, 2.5, 0, 0},
    {"silu", JN_OP_ID_silu, silu, 3, 3, 1e-40, 1e-310},
    {"softplus", JN_OP_ID_softplus, softplus, 2, 3, 0, 0},
    {"erf", JN_OP_ID_erf, erfl, 2, 3, 0, 0},
    {"asin", JN_OP_ID_asin, asinl, 2, 2, 0, 0},
    {"acos", JN_OP_ID_acos, acosl, 2, 2, 0, 0},
    {"atan", JN_OP_ID_atan, atanl, 2, 2, 0, 0},
    {"asinh", JN_OP_ID_asinh, asinhl, 2, 3, 0, 0},
    {"acosh", JN_OP_ID_acosh, acoshl, 2, 3, 0, 0},
    {"atanh", JN_OP_ID_atanh, atanhl, 2, 3, 0, 0},
    {"erfc", JN_OP_ID_erfc, erfcl, 6, 6, 0, 0},
    {"gelu", JN_OP_ID_gelu, gelu, 3, 3, 1.2e-7, 2.4e-16},
    {"sqrt", JN_OP_ID_sqrt, sqrtl, 0.5, 0.5, 0, 0},
    {"rsqrt", JN_OP_ID_rsqrt, rsqrt, 2, 2, 0, 0},
    {"sin", JN_OP_ID_sin, sinl, 1, 2, 0, 0},
    {"cos", JN_OP_ID_cos, cosl, 1, 2, 0, 0},
};
enum { N_FUNCTIONS = sizeof functions / sizeof functions[0], BLOCK = 1024 };
static const char *const sets[] = {"generic", "avx2", "avx512"};

static void call(unsigned id, int dtype, const void *x, void *y, int64_t n) {
    int64_t dims[1] = {n}, strides[1] = {1};
    jn_view in = {(void *)(uintptr_t)x, dims, strides, 1, (uint8_t)dtype, true}, out = in;
    out.data = y;
    uint32_t flags = 0;
    jn_kargs k = {
        .in = &in, .out = &out, .n_in = 1, .n_out = 1, .flags = &flags, .par = &jn_par_serial};
    jn_isa.kernel[id][dtype](&k);
}

/* Distance in units in the last place of the result's type; denormals count as the smallest
 * normal's units. */
static double ulps(double got, long double want, int digits, int min_exp) {
    if (isnan(want))
        return isnan(got) ? 0 : 1e9;
    if (isnan(got))
        return 1e9;
    int e;
    long double largest = ldexpl(1, digits == 24 ? 128 : 1024);
    if (fabsl(want) >= largest)
        want = copysignl(largest, want);
    if (isinf(got))
        got = copysign(0, got),
        want = fabsl(want) >= largest * (1 - ldexpl(1, -digits)) && !signbit(got) == !signbit(want)
                   ? 0
                   : 1e9L;
    if (want == 0)
        return got == 0 ? 0 : fabs(got) / ldexp(1, min_exp - digits);
    frexpl(want, &e);
    if (e < min_exp)
        e = min_exp;
    return (double)(fabsl((long double)got - want) / ldexpl(1, e - digits));
}

static double allowed_abs(double x, double abs) { return abs * (fabs(x) > 1 ? fabs(x) : 1); }

static void check_f32(const function *f) {
    static float x[BLOCK], y[BLOCK];
    double worst = 0, at = 0;
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32;) {
        int n = 0;
        for (; n < BLOCK && bits < (uint64_t)1 << 32; bits += 24023) {
            uint32_t b = (uint32_t)bits;
            memcpy(&x[n++], &b, 4);
        }
        call(f->id, JANUS_F32, x, y, n);
        for (int i = 0; i < n; i++) {
            long double want = f->exact(x[i]);
            if (fabsl((long double)y[i] - want) <= allowed_abs(x[i], f->abs_f32))
                continue;
            double u = ulps(y[i], want, 24, -125);
            if (u > worst)
                worst = u, at = x[i];
        }
    }
    if (worst > f->ulps_f32)
        printf("\n%s %s f32: %.2f ulp at %a\n", jn_isa.name, f->name, worst, at);
    CU_ASSERT(worst <= f->ulps_f32);
}

static void check_f64(const function *f) {
    static double x[BLOCK], y[BLOCK];
    double worst = 0, at = 0;
    uint64_t state = 12345;
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < BLOCK; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            double u = (double)(state >> 11) * 0x1p-53;
            if (round % 3 == 0) {
                memcpy(&x[i], &state, 8); /* any bits */
            } else {
                static const double width[] = {1, 6, 40, 800, 2, 1e5, 0.01};
                x[i] = (2 * u - 1) * width[round % 7];
            }
        }
        call(f->id, JANUS_F64, x, y, BLOCK);
        for (int i = 0; i < BLOCK; i++) {
            long double want = f->exact(x[i]);
            if (fabsl((long double)y[i] - want) <= allowed_abs(x[i], f->abs_f64))
                continue;
            double u = ulps(y[i], want, 53, -1021);
            if (u > worst)
                worst = u, at = x[i];
        }
    }
    if (worst > f->ulps_f64)
        printf("\n%s %s f64: %.2f ulp at %a\n", jn_isa.name, f->name, worst, at);
    CU_ASSERT(worst <= f->ulps_f64);
}

static void errors_are_small(void) {
    for (size_t s = 0; s < 3; s++) {
        if (!jn_isa_use(sets[s]))
            continue;
        for (int i = 0; i < N_FUNCTIONS; i++) {
            check_f32(&functions[i]);
            check_f64(&functions[i]);
        }
    }
}

static void place_does_not_matter(void) {
    float x[67], y[67], z;
    double xd[67], yd[67], zd;
    for (int i = 0; i < 67; i++)
        xd[i] = x[i] = (float)(i - 33) * 0.37f;
    x[5] = NAN, x[17] = INFINITY, x[40] = -INFINITY, x[41] = -0.0f;
    for (size_t s = 0; s < 3; s++) {
        if (!jn_isa_use(sets[s]))
            continue;
        for (int f = 0; f < N_FUNCTIONS; f++)
            for (int start = 0; start < 67; start++) {
                call(functions[f].id, JANUS_F32, x + start, y, 67 - start);
                call(functions[f].id, JANUS_F64, xd + start, yd, 67 - start);
                for (int i = start; i < 67; i++) {
                    call(functions[f].id, JANUS_F32, x + i, &z, 1);
                    call(functions[f].id, JANUS_F64, xd + i, &zd, 1);
                    if (!isnan(z))
                        CU_ASSERT(memcmp(&z, &y[i - start], sizeof z) == 0);
                    CU_ASSERT(isnan(z) == isnan(y[i - start]));
                    if (!isnan(zd))
                        CU_ASSERT(memcmp(&zd, &yd[i - start], sizeof zd) == 0);
                }
            }
    }
}

static void signed_zeros_stay(void) {
    static const unsigned odd[] = {JN_OP_ID_log1p, JN_OP_ID_expm1, JN_OP_ID_tanh,
                                   JN_OP_ID_erf,   JN_OP_ID_sin,   JN_OP_ID_sqrt};
    for (size_t s = 0; s < 3; s++)
        for (size_t i = 0; jn_isa_use(sets[s]) && i < sizeof odd / sizeof odd[0]; i++) {
            float x[2] = {-0.0f, 0.0f}, y[2] = {7, 7};
            double xd[2] = {-0.0, 0.0}, yd[2] = {7, 7};
            call(odd[i], JANUS_F32, x, y, 2);
            call(odd[i], JANUS_F64, xd, yd, 2);
            CU_ASSERT(y[0] == 0 && signbit(y[0]) && y[1] == 0 && !signbit(y[1]));
            CU_ASSERT(yd[0] == 0 && signbit(yd[0]) && yd[1] == 0 && !signbit(yd[1]));
        }
}

/* sigmoid has an exponential of its own, of numbers that are not positive: the same bits, of
 * results that are denormal, too. */
static void sigmoid_has_the_exponential(void) {
    static float x[BLOCK], e[BLOCK], y[BLOCK];
    for (size_t s = 0; s < 3; s++)
        for (uint64_t bits = 0; jn_isa_use(sets[s]) && bits < (uint64_t)1 << 31;) {
            int n = 0, wrong = 0;
            for (; n < BLOCK && bits < (uint64_t)1 << 31; bits += 10007) {
                uint32_t b = (uint32_t)bits | 0x80000000u;
                memcpy(&x[n], &b, 4);
                n += !isnan(x[n]);
            }
            call(JN_OP_ID_exp, JANUS_F32, x, e, n);
            call(JN_OP_ID_sigmoid, JANUS_F32, x, y, n);
            for (int i = 0; i < n; i++) {
                float want = (x[i] < 0 ? e[i] : 1.0f) / (1.0f + e[i]);
                wrong += memcmp(&want, &y[i], sizeof want) != 0;
            }
            CU_ASSERT(wrong == 0);
        }
}

/* A result below the normal numbers takes a processor a hundred steps, so nothing that is far below
 * them, or that no result is made of, may be computed. */
static void what_vanishes_is_not_computed(void) {
    static const unsigned usual[] = {JN_OP_ID_exp, JN_OP_ID_tanh, JN_OP_ID_sigmoid, JN_OP_ID_erf,
                                     JN_OP_ID_gelu};
    static float x[BLOCK], y[BLOCK];
    static double xd[BLOCK], yd[BLOCK];
    for (size_t s = 0; s < 3; s++)
        for (size_t i = 0; jn_isa_use(sets[s]) && i < sizeof usual / sizeof usual[0]; i++) {
            for (int j = 0; j < BLOCK; j++) /* -5 to 5, no zero */
                x[j] = (float)(xd[j] = (j - BLOCK / 2 + 0.5) / (BLOCK / 10.0));
            feclearexcept(FE_ALL_EXCEPT);
            call(usual[i], JANUS_F32, x, y, BLOCK);
            call(usual[i], JANUS_F64, xd, yd, BLOCK);
            CU_ASSERT(!fetestexcept(FE_UNDERFLOW));
        }
    /* of the plain set compilers compute both outcomes of a comparison */
    static const unsigned vanish[] = {JN_OP_ID_exp, JN_OP_ID_sigmoid};
    for (size_t s = 1; s < 3; s++)
        for (size_t i = 0; jn_isa_use(sets[s]) && i < sizeof vanish / sizeof vanish[0]; i++) {
            for (int j = 0; j < BLOCK; j++) {
                x[j] = j % 3 ? -105.0f - (float)j : -INFINITY;
                xd[j] = j % 3 ? -750.0 - j : -INFINITY;
            }
            feclearexcept(FE_ALL_EXCEPT);
            call(vanish[i], JANUS_F32, x, y, BLOCK);
            call(vanish[i], JANUS_F64, xd, yd, BLOCK);
            CU_ASSERT(!fetestexcept(FE_UNDERFLOW));
            for (int j = 0; j < BLOCK; j++)
                CU_ASSERT(y[j] == 0 && yd[j] == 0);
        }
}

JN_TEST_MAIN("cpu_vmath", {"errors are small", errors_are_small},
             {"an element's place does not matter", place_does_not_matter},
             {"signed zeros stay", signed_zeros_stay},
             {"sigmoid has the exponential", sigmoid_has_the_exponential},
             {"what vanishes is not computed", what_vanishes_is_not_computed})
