/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise functions of one operand.  Compiled per instruction set: see ops/cpu/isa.h. */
#include <math.h>

#include "ops/cpu/isa/rows.h"
#include "ops/special.h"

/* ---- floats ---------------------------------------------------------------------------------- */

#define FLOATS(name, grain, F32, F64)                                                              \
    JN_ROW1(name##_f32, float, float, grain, , F32)                                                \
    JN_ROW1(name##_f64, double, double, grain, , F64)

FLOATS(exp, JN_COSTLY, jn_exp_f(x), jn_exp_d(x))
FLOATS(log, JN_COSTLY, jn_log_f(x), jn_log_d(x))
FLOATS(log1p, JN_COSTLY, jn_log1p_f(x), jn_log1p_d(x))
FLOATS(expm1, JN_COSTLY, jn_expm1_f(x), jn_expm1_d(x))
FLOATS(sqrt, JN_CHEAP, __builtin_sqrtf(x), __builtin_sqrt(x))
FLOATS(rsqrt, JN_CHEAP, 1.0f / __builtin_sqrtf(x), 1.0 / __builtin_sqrt(x))
FLOATS(reciprocal, JN_CHEAP, 1.0f / x, 1.0 / x)
FLOATS(tanh, JN_COSTLY, jn_tanh_f(x), jn_tanh_d(x))
FLOATS(sigmoid, JN_COSTLY, jn_sigmoid_f(x), jn_sigmoid_d(x))
FLOATS(silu, JN_COSTLY, x *jn_sigmoid_f(x), x *jn_sigmoid_d(x))
FLOATS(softplus, JN_COSTLY, jn_softplus_f(x), jn_softplus_d(x))
FLOATS(erf, JN_COSTLY, jn_erf_f(x), jn_erf_d(x))
FLOATS(asin, JN_COSTLY, asinf(x), asin(x))
FLOATS(acos, JN_COSTLY, acosf(x), acos(x))
FLOATS(atan, JN_COSTLY, atanf(x), atan(x))
FLOATS(asinh, JN_COSTLY, asinhf(x), asinh(x))
FLOATS(acosh, JN_COSTLY, acoshf(x), acosh(x))
FLOATS(atanh, JN_COSTLY, atanhf(x), atanh(x))
FLOATS(erfc, JN_COSTLY, erfcf(x), erfc(x))
FLOATS(erfinv, JN_COSTLY, jn_erfinv((double)x), jn_erfinv(x))
FLOATS(lgamma, JN_COSTLY, jn_lgamma((double)x), jn_lgamma(x))
#define ORDER int64_t order = k->attrs ? ((const janus_polygamma_attrs *)k->attrs)->n : 0
JN_ROW1(polygamma_f32, float, float, JN_COSTLY, ORDER, jn_polygamma((double)x, order))
JN_ROW1(polygamma_f64, double, double, JN_COSTLY, ORDER, jn_polygamma(x, order))
FLOATS(abs, JN_CHEAP, jn_abs_f(x), jn_abs_d(x))
FLOATS(floor, JN_CHEAP, __builtin_floorf(x), __builtin_floor(x))
FLOATS(ceil, JN_CHEAP, __builtin_ceilf(x), __builtin_ceil(x))
FLOATS(round, JN_CHEAP, __builtin_rintf(x), __builtin_rint(x))

FLOATS(gelu_erf, JN_COSTLY, jn_gelu_f(x), jn_gelu_d(x))
FLOATS(gelu_tanh, JN_COSTLY, jn_gelu_tanh_f(x), jn_gelu_tanh_d(x))

static bool is_approximate(const jn_kargs *k) {
    const janus_gelu_attrs *a = k->attrs;
    return a && a->approximate;
}
static void gelu_f32(const jn_kargs *k) { (is_approximate(k) ? gelu_tanh_f32 : gelu_erf_f32)(k); }
static void gelu_f64(const jn_kargs *k) { (is_approximate(k) ? gelu_tanh_f64 : gelu_erf_f64)(k); }

#define SLOPE(T) T slope = (T)(k->attrs ? ((const janus_leaky_relu_attrs *)k->attrs)->slope : 0.01)
JN_ROW1(leaky_relu_f32, float, float, JN_CHEAP, SLOPE(float), x > 0.0f ? x : x * slope)
JN_ROW1(leaky_relu_f64, double, double, JN_CHEAP, SLOPE(double), x > 0.0 ? x : x * slope)
#define ALPHA(T) T alpha = (T)(k->attrs ? ((const janus_elu_attrs *)k->attrs)->alpha : 1.0)
JN_ROW1(elu_f32, float, float, JN_COSTLY, ALPHA(float), x > 0.0f ? x : alpha * jn_expm1_f(x))
JN_ROW1(elu_f64, double, double, JN_COSTLY, ALPHA(double), x > 0.0 ? x : alpha * jn_expm1_d(x))

/* Sine and cosine: what lies beyond the exact reduction is done again, element by element.  The
 * operand may be the result, so the loop works on a copy. */
#define SINCOS(name, T, shift, libm)                                                               \
    static void name##_row(void *out, const void *const *in, int64_t n, const void *ctx) {         \
        (void)ctx;                                                                                 \
        for (int64_t done = 0; done < n; done += 256) {                                            \
            T x[256], *o = (T *)out + done;                                                        \
            int64_t m = n - done < 256 ? n - done : 256;                                           \
            int beyond = 0;                                                                        \
            memcpy(x, (const T *)in[0] + done, (size_t)m * sizeof(T));                             \
            JN_VECTOR_LOOP                                                                         \
            for (int64_t i = 0; i < m; i++)                                                        \
                o[i] = (T)jn_sincos_d((double)x[i], shift);                                        \
            for (int64_t i = 0; i < m; i++)                                                        \
                beyond |= !(jn_abs_d((double)x[i]) <= JN_SINCOS_MAX);                              \
            for (int64_t i = 0; beyond && i < m; i++)                                              \
                if (!(jn_abs_d((double)x[i]) <= JN_SINCOS_MAX))                                    \
                    o[i] = (T)libm((double)x[i]);                                                  \
        }                                                                                          \
    }                                                                                              \
    JN_KERNEL(name, 1, JN_COSTLY)
SINCOS(sin_f32, float, 0, sin)
SINCOS(sin_f64, double, 0, sin)
SINCOS(cos_f32, float, 1, cos)
SINCOS(cos_f64, double, 1, cos)

/* ---- all numbers -------------------------------------------------------------------------------
 */

#define NUMBER(T, U, sfx, NEG, SIGN)                                                               \
    JN_ROW1(neg_##sfx, T, T, JN_CHEAP, , NEG)                                                      \
    JN_ROW1(square_##sfx, T, T, JN_CHEAP, , (U)x *(U)x)                                            \
    JN_ROW1(relu_##sfx, T, T, JN_CHEAP, , x <= (T)0 ? (T)0 : x)                                    \
    JN_ROW1(sign_##sfx, T, T, JN_CHEAP, , SIGN)

NUMBER(float, float, f32, -x, (float)((x > 0) - (x < 0)))
NUMBER(double, double, f64, -x, (double)((x > 0) - (x < 0)))
NUMBER(int32_t, uint32_t, i32, (uint32_t)0 - (uint32_t)x, (x > 0) - (x < 0))
NUMBER(int64_t, uint64_t, i64, (uint64_t)0 - (uint64_t)x, (x > 0) - (x < 0))
JN_ROW1(neg_u8, uint8_t, uint8_t, JN_CHEAP, , 0u - x)
JN_ROW1(square_u8, uint8_t, uint8_t, JN_CHEAP, , (unsigned)x *x)
JN_ROW1(sign_u8, uint8_t, uint8_t, JN_CHEAP, , x != 0)
JN_ROW1(abs_i32, int32_t, int32_t, JN_CHEAP, , x < 0 ? 0u - (uint32_t)x : (uint32_t)x)
JN_ROW1(abs_i64, int64_t, int64_t, JN_CHEAP, , x < 0 ? (uint64_t)0 - (uint64_t)x : (uint64_t)x)

#define CLAMP_BOUNDS                                                                               \
    const janus_clamp_attrs *attrs = k->attrs;                                                     \
    double lo_d = attrs ? attrs->lo : -INFINITY, hi_d = attrs ? attrs->hi : INFINITY
#define CLAMP_FLOAT(T)                                                                             \
    CLAMP_BOUNDS;                                                                                  \
    T lo = (T)lo_d, hi = (T)hi_d
/* Integers stay within the bounds: the lower one is rounded up, the upper one down. */
#define CLAMP_INT(T, min, max)                                                                     \
    CLAMP_BOUNDS;                                                                                  \
    lo_d = ceil(lo_d), hi_d = floor(hi_d);                                                         \
    T lo = !(lo_d > (double)min) ? min : lo_d >= (double)max ? max : (T)lo_d;                      \
    T hi = !(hi_d < (double)max) ? max : hi_d <= (double)min ? min : (T)hi_d
#define CLAMP_EXPR (x < lo ? lo : x) > hi ? hi : (x < lo ? lo : x)
JN_ROW1(clamp_f32, float, float, JN_CHEAP, CLAMP_FLOAT(float), CLAMP_EXPR)
JN_ROW1(clamp_f64, double, double, JN_CHEAP, CLAMP_FLOAT(double), CLAMP_EXPR)
JN_ROW1(clamp_i32, int32_t, int32_t, JN_CHEAP, CLAMP_INT(int32_t, INT32_MIN, INT32_MAX), CLAMP_EXPR)
JN_ROW1(clamp_i64, int64_t, int64_t, JN_CHEAP, CLAMP_INT(int64_t, INT64_MIN, INT64_MAX), CLAMP_EXPR)
JN_ROW1(clamp_u8, uint8_t, uint8_t, JN_CHEAP, CLAMP_INT(uint8_t, 0, UINT8_MAX), CLAMP_EXPR)

#define COPY(name, size)                                                                           \
    static void name##_row(void *out, const void *const *in, int64_t n, const void *ctx) {         \
        (void)ctx;                                                                                 \
        memmove(out, in[0], (size_t)n *size);                                                      \
    }                                                                                              \
    JN_KERNEL(name, 1, JN_CHEAP)
COPY(copy1, 1)
COPY(copy2, 2)
COPY(copy4, 4)
COPY(copy8, 8)

/* ---- predicates ---------------------------------------------------------------------------------
 */

JN_ROW1(not_f32, float, uint8_t, JN_CHEAP, , x == 0.0f)
JN_ROW1(not_f64, double, uint8_t, JN_CHEAP, , x == 0.0)
JN_ROW1(not_i32, int32_t, uint8_t, JN_CHEAP, , x == 0)
JN_ROW1(not_i64, int64_t, uint8_t, JN_CHEAP, , x == 0)
JN_ROW1(flip_i32, int32_t, int32_t, JN_CHEAP, , ~x)
JN_ROW1(flip_i64, int64_t, int64_t, JN_CHEAP, , ~x)
JN_ROW1(flip_u8, uint8_t, uint8_t, JN_CHEAP, , (uint8_t)~x)
JN_ROW1(not_u8, uint8_t, uint8_t, JN_CHEAP, , x == 0)
JN_ROW1(isnan_f32, float, uint8_t, JN_CHEAP, , x != x)
JN_ROW1(isnan_f64, double, uint8_t, JN_CHEAP, , x != x)
JN_ROW1(isfinite_f32, float, uint8_t, JN_CHEAP, , (jn_bits_f(x) & 0x7f800000u) != 0x7f800000u)
JN_ROW1(isfinite_f64, double, uint8_t, JN_CHEAP, ,
        (jn_bits_d(x) & 0x7ff0000000000000u) != 0x7ff0000000000000u)

/* ---- casts: floats to integers truncate; what does not fit becomes the smallest value
 * ------------ */

JN_INLINE int64_t to_i64(double x) { return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN; }
JN_INLINE int32_t to_i32(double x) {
    return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
}
#define CAST(from, to, F, T, EXPR) JN_ROW1(cast_##from##_##to, F, T, JN_CHEAP, , EXPR)
CAST(F32, F64, float, double, x)
CAST(F64, F32, double, float, x)
#define CASTS_FLOAT(from, F)                                                                       \
    CAST(from, I64, F, int64_t, to_i64((double)x))                                                 \
    CAST(from, I32, F, int32_t, to_i32((double)x))                                                 \
    CAST(from, U8, F, uint8_t, (uint64_t)to_i64((double)x))                                        \
    CAST(from, BOOL, F, uint8_t, x != 0)
CASTS_FLOAT(F32, float)
CASTS_FLOAT(F64, double)
#define CASTS_INT(from, F)                                                                         \
    CAST(from, F32, F, float, x)                                                                   \
    CAST(from, F64, F, double, x)                                                                  \
    CAST(from, BOOL, F, uint8_t, x != 0)
CASTS_INT(I32, int32_t)
CASTS_INT(I64, int64_t)
CASTS_INT(U8, uint8_t)
CAST(I32, I64, int32_t, int64_t, x)
CAST(I32, U8, int32_t, uint8_t, (uint32_t)x)
CAST(I64, I32, int64_t, int32_t, (uint32_t)(uint64_t)x)
CAST(I64, U8, int64_t, uint8_t, (uint64_t)x)
CAST(U8, I32, uint8_t, int32_t, x)
CAST(U8, I64, uint8_t, int64_t, x)

/* ---- halves: to nearest, ties to even; integer steps, so every set has the same bits as the
 * reference. Others go by way of f32: see ops/cpu/select/half.c. ---- */

JN_INLINE float from_f16(uint16_t h) {
    uint32_t bits = (uint32_t)(h & 0x7fffu) << 13;
    uint32_t small = jn_bits_f((float)(int32_t)(h & 0x7fffu) * 0x1p-24f);
    uint32_t out = bits < 0x00800000u    ? small /* denormal as a half, not as a float */
                   : bits >= 0x0f800000u ? bits | 0x7f800000u
                                         : bits + 0x38000000u;
    return jn_from_bits_f(out | (uint32_t)(h & 0x8000u) << 16);
}
JN_INLINE uint16_t to_f16(float x) {
    uint32_t all = jn_bits_f(x), bits = all & 0x7fffffffu;
    uint32_t normal = (bits - 0x38000000u + 0xfffu + (bits >> 13 & 1)) >> 13;
    /* Adding 1/2 leaves a denormal half in the low bits, rounded. */
    uint32_t small = jn_bits_f(jn_from_bits_f(bits) + 0.5f) - 0x3f000000u;
    uint32_t large = bits > 0x7f800000u ? 0x7e00u : 0x7c00u;
    uint32_t h = bits < 0x38800000u ? small : bits >= 0x47800000u ? large : normal;
    return (uint16_t)(h | (all >> 16 & 0x8000u));
}
JN_INLINE float from_bf16(uint16_t h) { return jn_from_bits_f((uint32_t)h << 16); }
JN_INLINE uint16_t to_bf16(float x) {
    uint32_t bits = jn_bits_f(x), rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    return (uint16_t)(x != x ? bits >> 16 | 0x40u : rounded);
}
CAST(F16, F32, uint16_t, float, from_f16(x))
CAST(F16, F64, uint16_t, double, from_f16(x))
CAST(BF16, F32, uint16_t, float, from_bf16(x))
CAST(BF16, F64, uint16_t, double, from_bf16(x))
CAST(F32, F16, float, uint16_t, to_f16(x))
CAST(F32, BF16, float, uint16_t, to_bf16(x))
CAST(F16, BF16, uint16_t, uint16_t, to_bf16(from_f16(x)))
CAST(BF16, F16, uint16_t, uint16_t, to_f16(from_bf16(x)))
CAST(U8, F16, uint8_t, uint16_t, to_f16((float)x))
CAST(U8, BF16, uint8_t, uint16_t, to_bf16((float)x))

#define SET(op, dtype, f) t->kernel[JN_OP_ID_##op][JANUS_##dtype] = (f)
#define SET_FLOATS(op) SET(op, F32, op##_f32), SET(op, F64, op##_f64)
#define SET_NUMBERS(op) SET_FLOATS(op), SET(op, I32, op##_i32), SET(op, I64, op##_i64)
#define SET_INTS(op, i4, i8, i1) SET(op, I32, i4), SET(op, I64, i8), SET(op, U8, i1)
#define SET_CAST(from, to) t->cast[JANUS_##from][JANUS_##to] = cast_##from##_##to
#define SET_CASTS(from, a, b, c, d, e)                                                             \
    SET_CAST(from, a), SET_CAST(from, b), SET_CAST(from, c), SET_CAST(from, d), SET_CAST(from, e)

void JN_ISA_FN(jn_isa_fill_unary)(jn_isa_table *t) {
    SET_FLOATS(exp);
    SET_FLOATS(log);
    SET_FLOATS(log1p);
    SET_FLOATS(expm1);
    SET_FLOATS(sqrt);
    SET_FLOATS(rsqrt);
    SET_FLOATS(reciprocal);
    SET_FLOATS(tanh);
    SET_FLOATS(sigmoid);
    SET_FLOATS(silu);
    SET_FLOATS(softplus);
    SET_FLOATS(erf);
    SET_FLOATS(asin);
    SET_FLOATS(acos);
    SET_FLOATS(atan);
    SET_FLOATS(asinh);
    SET_FLOATS(acosh);
    SET_FLOATS(atanh);
    SET_FLOATS(erfc);
    SET_FLOATS(erfinv);
    SET_FLOATS(lgamma);
    SET_FLOATS(polygamma);
    SET_FLOATS(floor);
    SET_FLOATS(ceil);
    SET_FLOATS(round);
    SET_FLOATS(gelu);
    SET_FLOATS(leaky_relu);
    SET_FLOATS(elu);
    SET_FLOATS(sin);
    SET_FLOATS(cos);
    SET_FLOATS(abs);
    SET_FLOATS(isnan);
    SET_FLOATS(isfinite);
    SET_NUMBERS(neg);
    SET_NUMBERS(square);
    SET_NUMBERS(relu);
    SET_NUMBERS(sign);
    SET_NUMBERS(clamp);
    SET_INTS(abs, abs_i32, abs_i64, copy1);
    SET_INTS(floor, copy4, copy8, copy1);
    SET_INTS(ceil, copy4, copy8, copy1);
    SET_INTS(round, copy4, copy8, copy1);
    SET(neg, U8, neg_u8);
    SET(square, U8, square_u8);
    SET(relu, U8, copy1);
    SET(sign, U8, sign_u8);
    SET(clamp, U8, clamp_u8);
    SET(logical_not, F32, not_f32);
    SET(logical_not, F64, not_f64);
    SET_INTS(logical_not, not_i32, not_i64, not_u8);
    SET(logical_not, BOOL, not_u8);
    SET_INTS(bitwise_not, flip_i32, flip_i64, flip_u8);
    SET(bitwise_not, BOOL, not_u8);
    SET_CASTS(F32, F64, I32, I64, BOOL, U8);
    SET_CASTS(F64, F32, I32, I64, BOOL, U8);
    SET_CASTS(I32, F32, F64, I64, BOOL, U8);
    SET_CASTS(I64, F32, F64, I32, BOOL, U8);
    SET_CASTS(U8, F32, F64, I32, I64, BOOL);
    SET_CAST(F16, F32), SET_CAST(F16, F64), SET_CAST(F16, BF16);
    SET_CAST(BF16, F32), SET_CAST(BF16, F64), SET_CAST(BF16, F16);
    SET_CAST(F32, F16), SET_CAST(F32, BF16), SET_CAST(U8, F16), SET_CAST(U8, BF16);
    /* A bool is a u8 of 0 or 1. */
    t->cast[JANUS_BOOL][JANUS_F16] = cast_U8_F16;
    t->cast[JANUS_BOOL][JANUS_BF16] = cast_U8_BF16;
    t->cast[JANUS_BOOL][JANUS_F32] = cast_U8_F32;
    t->cast[JANUS_BOOL][JANUS_F64] = cast_U8_F64;
    t->cast[JANUS_BOOL][JANUS_I32] = cast_U8_I32;
    t->cast[JANUS_BOOL][JANUS_I64] = cast_U8_I64;
    t->cast[JANUS_BOOL][JANUS_U8] = copy1;
    jn_kernel_fn *f = t->kernel[JN_OP_ID_clone];
    f[JANUS_F32] = f[JANUS_I32] = copy4;
    f[JANUS_F64] = f[JANUS_I64] = copy8;
    f[JANUS_BOOL] = f[JANUS_U8] = copy1;
    f[JANUS_F16] = f[JANUS_BF16] = copy2;
    for (int d = 0; d < JANUS_DTYPE_COUNT; d++)
        t->cast[d][d] = f[d];
}
