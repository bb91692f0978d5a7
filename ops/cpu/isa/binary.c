/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise functions of two and three operands.  Compiled per instruction set. */
#include <math.h>

#include "ops/cpu/isa/rows.h"

/* Python's remainder and floor division: the remainder has the sign of the divisor, or is 0. */
#define FLOAT_MOD(T, fmod_, floor_, copysign_)                                                     \
    JN_INLINE T mod_##T(T a, T b) {                                                                \
        T r = fmod_(a, b);                                                                         \
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;                                           \
    }                                                                                              \
    JN_INLINE T floordiv_##T(T a, T b) {                                                           \
        if (b == 0)                                                                                \
            return a / b;                                                                          \
        T r = fmod_(a, b), q = (a - r) / b;                                                        \
        if (r != 0 && (r < 0) != (b < 0))                                                          \
            q -= 1;                                                                                \
        if (q == 0)                                                                                \
            return copysign_((T)0, a / b);                                                         \
        T whole = floor_(q);                                                                       \
        return q - whole > (T)0.5 ? whole + 1 : whole;                                             \
    }
FLOAT_MOD(float, fmodf, floorf, copysignf)
FLOAT_MOD(double, fmod, floor, copysign)
/* b == 0 gives 0 and a flag; the most negative number by -1 wraps around. */
#define INT_MOD(T, U)                                                                              \
    JN_INLINE T mod_##T(T a, T b) {                                                                \
        if (b == 0 || b == (T)-1)                                                                  \
            return 0;                                                                              \
        T r = a % b;                                                                               \
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;                                           \
    }                                                                                              \
    JN_INLINE T floordiv_##T(T a, T b) {                                                           \
        if (b == 0)                                                                                \
            return 0;                                                                              \
        if (b == (T)-1)                                                                            \
            return (T)((U)0 - (U)a);                                                               \
        T q = a / b, r = a % b;                                                                    \
        return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;                                           \
    }
INT_MOD(int32_t, uint32_t)
INT_MOD(int64_t, uint64_t)
JN_INLINE uint8_t mod_uint8_t(uint8_t a, uint8_t b) { return b ? a % b : 0; }
JN_INLINE uint8_t floordiv_uint8_t(uint8_t a, uint8_t b) { return b ? a / b : 0; }
JN_INLINE int64_t pow_int64_t(int64_t a, int64_t b) {
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    uint64_t r = 1, x = (uint64_t)a;
    for (; b; b >>= 1, x *= x)
        if (b & 1)
            r *= x;
    return (int64_t)r;
}

#define ROW2(name, T, TO, EXPR) JN_ROW2(name, T, T, TO, JN_CHEAP, , EXPR)

/* U: the unsigned type in which integers wrap around. */
#define ARITHMETIC(T, U, sfx)                                                                      \
    ROW2(add_##sfx, T, T, (U)a + (U)b)                                                             \
    ROW2(sub_##sfx, T, T, (U)a - (U)b)                                                             \
    ROW2(mul_##sfx, T, T, (U)a *(U)b)
ARITHMETIC(float, float, f32)
ARITHMETIC(double, double, f64)
ARITHMETIC(int32_t, uint32_t, i32)
ARITHMETIC(int64_t, uint64_t, i64)
ARITHMETIC(uint8_t, unsigned, u8)
ROW2(add_bool, uint8_t, uint8_t, a | b)
ROW2(mul_bool, uint8_t, uint8_t, a &b)
ROW2(div_f32, float, float, a / b)
ROW2(div_f64, double, double, a / b)

#define ORDER(T, sfx)                                                                              \
    ROW2(eq_##sfx, T, uint8_t, a == b)                                                             \
    ROW2(ne_##sfx, T, uint8_t, a != b)                                                             \
    ROW2(lt_##sfx, T, uint8_t, a < b)                                                              \
    ROW2(le_##sfx, T, uint8_t, a <= b)                                                             \
    ROW2(logical_and_##sfx, T, uint8_t, (a != (T)0) & (b != (T)0))                                 \
    ROW2(logical_or_##sfx, T, uint8_t, (a != (T)0) | (b != (T)0))                                  \
    ROW2(logical_xor_##sfx, T, uint8_t, (a != (T)0) ^ (b != (T)0))                                 \
    ROW2(gt_##sfx, T, uint8_t, a > b)                                                              \
    ROW2(ge_##sfx, T, uint8_t, a >= b)
ORDER(float, f32)
ORDER(double, f64)
ORDER(int32_t, i32)
ORDER(int64_t, i64)
ORDER(uint8_t, u8)

/* Shifts by a negative number or by all bits give what is left then: nothing, or the sign. */
#define BITS(T, U, bits, sign, sfx)                                                                \
    ROW2(bitwise_and_##sfx, T, T, a &b)                                                            \
    ROW2(bitwise_or_##sfx, T, T, a | b)                                                            \
    ROW2(bitwise_xor_##sfx, T, T, a ^ b)                                                           \
    ROW2(bitwise_left_shift_##sfx, T, T, (U)b < bits ? (U)a << (b & (bits - 1)) : 0)               \
    ROW2(bitwise_right_shift_##sfx, T, T, (U)b < bits ? a >> (b & (bits - 1)) : sign)
BITS(int32_t, uint32_t, 32, a >> 31, i32)
BITS(int64_t, uint64_t, 64, a >> 63, i64)
BITS(uint8_t, uint8_t, 8, 0, u8)

/* A NaN in either operand is the result. */
#define EXTREMES_FLOAT(T, sfx)                                                                     \
    ROW2(maximum_##sfx, T, T, ((a != a) | (a > b)) ? a : b)                                        \
    ROW2(minimum_##sfx, T, T, ((a != a) | (a < b)) ? a : b)
#define EXTREMES_INT(T, sfx)                                                                       \
    ROW2(maximum_##sfx, T, T, b > a ? b : a)                                                       \
    ROW2(minimum_##sfx, T, T, b < a ? b : a)
EXTREMES_FLOAT(float, f32)
EXTREMES_FLOAT(double, f64)
EXTREMES_INT(int32_t, i32)
EXTREMES_INT(int64_t, i64)
EXTREMES_INT(uint8_t, u8)

#define FLAG_ZERO(T, f)                                                                            \
    for (int64_t i = 0; i < n; i++)                                                                \
        if (((const T *)in[1])[i] == 0) {                                                          \
            __atomic_fetch_or(k->flags, JN_KFLAG_DIVZERO, __ATOMIC_RELAXED);                       \
            break;                                                                                 \
        }
#define DIVISION(T, sfx)                                                                           \
    JN_ROW2(floordiv_##sfx, T, T, T, JN_COSTLY, FLAG_ZERO(T, ), floordiv_##T(a, b))                \
    JN_ROW2(mod_##sfx, T, T, T, JN_COSTLY, FLAG_ZERO(T, ), mod_##T(a, b))
DIVISION(int32_t, i32)
DIVISION(int64_t, i64)
DIVISION(uint8_t, u8)
JN_ROW2(floordiv_f32, float, float, float, JN_COSTLY, , floordiv_float(a, b))
JN_ROW2(floordiv_f64, double, double, double, JN_COSTLY, , floordiv_double(a, b))
JN_ROW2(mod_f32, float, float, float, JN_COSTLY, , mod_float(a, b))
JN_ROW2(mod_f64, double, double, double, JN_COSTLY, , mod_double(a, b))
JN_ROW2(pow_f32, float, float, float, JN_COSTLY, , jn_pow_f(a, b))
JN_ROW2(pow_f64, double, double, double, JN_COSTLY, , pow(a, b))
JN_ROW2(atan2_f32, float, float, float, JN_COSTLY, , atan2f(a, b))
JN_ROW2(atan2_f64, double, double, double, JN_COSTLY, , atan2(a, b))
JN_ROW2(hypot_f32, float, float, float, JN_COSTLY, , hypotf(a, b))
JN_ROW2(hypot_f64, double, double, double, JN_COSTLY, , hypot(a, b))
JN_ROW2(pow_i32, int32_t, int32_t, int32_t, JN_COSTLY, , pow_int64_t(a, b))
JN_ROW2(pow_i64, int64_t, int64_t, int64_t, JN_COSTLY, , pow_int64_t(a, b))
JN_ROW2(pow_u8, uint8_t, uint8_t, uint8_t, JN_COSTLY, , pow_int64_t(a, b))

/* ---- gradients of activations: a is the cotangent ----------------------------------------------
 */

#define ACTIVATIONS(T, sfx)                                                                        \
    ROW2(tanh_grad_##sfx, T, T, a *((T)1 - b * b))                                                 \
    ROW2(sigmoid_grad_##sfx, T, T, a *b *((T)1 - b))                                               \
    ROW2(relu_grad_##sfx, T, T, b <= (T)0 ? (T)0 : a)
ACTIVATIONS(float, f32)
ACTIVATIONS(double, f64)

#define WITHIN(T)                                                                                  \
    const janus_clamp_grad_attrs *attrs = k->attrs;                                                \
    T lo = attrs ? (T)attrs->lo : -(T)INFINITY, hi = attrs ? (T)attrs->hi : (T)INFINITY;           \
    int no_lo = lo == -(T)INFINITY, no_hi = hi == (T)INFINITY
/* Of a NaN neither `x <= lo` nor `x > lo` holds. */
#define PASSED ((b > lo) | ((b <= lo) & no_lo)) & ((b < hi) | ((b >= hi) & no_hi)) ? a : 0
JN_ROW2(clamp_grad_f32, float, float, float, JN_CHEAP, WITHIN(float), PASSED)
JN_ROW2(clamp_grad_f64, double, double, double, JN_CHEAP, WITHIN(double), PASSED)

JN_ROW2(gelu_erf_grad_f32, float, float, float, JN_COSTLY, , a *jn_gelu_slope_f(b))
JN_ROW2(gelu_erf_grad_f64, double, double, double, JN_COSTLY, , a *jn_gelu_slope_d(b))
JN_ROW2(gelu_tanh_grad_f32, float, float, float, JN_COSTLY, , a *jn_gelu_tanh_slope_f(b))
JN_ROW2(gelu_tanh_grad_f64, double, double, double, JN_COSTLY, , a *jn_gelu_tanh_slope_d(b))
static bool is_approximate(const jn_kargs *k) {
    const janus_gelu_grad_attrs *a = k->attrs;
    return a && a->approximate;
}
static void gelu_grad_f32(const jn_kargs *k) {
    (is_approximate(k) ? gelu_tanh_grad_f32 : gelu_erf_grad_f32)(k);
}
static void gelu_grad_f64(const jn_kargs *k) {
    (is_approximate(k) ? gelu_tanh_grad_f64 : gelu_erf_grad_f64)(k);
}

/* ---- three operands
 * ------------------------------------------------------------------------------ */

JN_ROW3(where1, uint8_t, uint8_t, uint8_t, uint8_t, JN_CHEAP, , x ? a : b)
JN_ROW3(where2, uint8_t, uint16_t, uint16_t, uint16_t, JN_CHEAP, , x ? a : b)
JN_ROW3(where4, uint8_t, uint32_t, uint32_t, uint32_t, JN_CHEAP, , x ? a : b)
JN_ROW3(where8, uint8_t, uint64_t, uint64_t, uint64_t, JN_CHEAP, , x ? a : b)

#define VALUE_F(T) T value = (T)jn_scalar_f(&k->in[2])
#define VALUE_I(T) T value = (T)jn_scalar_i(&k->in[2])
#define FILL(T, sfx, VALUE)                                                                        \
    JN_ROW2(masked_fill_##sfx, T, uint8_t, T, JN_CHEAP, VALUE(T), b ? value : a)
FILL(float, f32, VALUE_F)
FILL(double, f64, VALUE_F)
FILL(int32_t, i32, VALUE_I)
FILL(int64_t, i64, VALUE_I)
FILL(uint8_t, u8, VALUE_I)
JN_ROW2(masked_fill_bool, uint8_t, uint8_t, uint8_t, JN_CHEAP,
        uint8_t value = jn_scalar_f(&k->in[2]) != 0.0, b ? value : a)

#define SCALED(T) T value = (T)jn_scalar_f(&k->in[3])
#define THREE(T, sfx)                                                                              \
    JN_ROW3(lerp_##sfx, T, T, T, T, JN_CHEAP, , x + b * (a - x))                                   \
    JN_ROW3(addcmul_##sfx, T, T, T, T, JN_CHEAP, SCALED(T), x + value * a * b)                     \
    JN_ROW3(addcdiv_##sfx, T, T, T, T, JN_CHEAP, SCALED(T), x + value * a / b)
THREE(float, f32)
THREE(double, f64)

#define STEP(T) SCALED(T), eps = (T)jn_scalar_f(&k->in[4])
JN_ROW3(addcdiv_sqrt_f32, float, float, float, float, JN_COSTLY, STEP(float),
        a == 0.0f ? x : x + value * a / (__builtin_sqrtf(b) + eps))
JN_ROW3(addcdiv_sqrt_f64, double, double, double, double, JN_COSTLY, STEP(double),
        a == 0.0 ? x : x + value * a / (__builtin_sqrt(b) + eps))

#define SET(op, dtype, f) t->kernel[JN_OP_ID_##op][JANUS_##dtype] = (f)
#define SET_FLOATS(op) SET(op, F32, op##_f32), SET(op, F64, op##_f64)
#define SET_NUMBERS(op)                                                                            \
    SET_FLOATS(op), SET(op, I32, op##_i32), SET(op, I64, op##_i64), SET(op, U8, op##_u8)
#define SET_BITS(op) SET(op, I32, op##_i32), SET(op, I64, op##_i64), SET(op, U8, op##_u8)
#define SET_ALL(op) SET_NUMBERS(op), SET(op, BOOL, op##_u8)

void JN_ISA_FN(jn_isa_fill_binary)(jn_isa_table *t) {
    SET_NUMBERS(add);
    SET_NUMBERS(sub);
    SET_NUMBERS(mul);
    SET_NUMBERS(floordiv);
    SET_NUMBERS(mod);
    SET_NUMBERS(pow);
    SET_FLOATS(atan2);
    SET_FLOATS(hypot);
    SET_NUMBERS(masked_fill);
    SET(add, BOOL, add_bool);
    SET(mul, BOOL, mul_bool);
    SET(masked_fill, BOOL, masked_fill_bool);
    SET_ALL(maximum);
    SET_ALL(minimum);
    SET_ALL(eq);
    SET_ALL(ne);
    SET_ALL(lt);
    SET_ALL(le);
    SET_ALL(gt);
    SET_ALL(ge);
    SET_ALL(logical_and);
    SET_ALL(logical_or);
    SET_ALL(logical_xor);
    SET_BITS(bitwise_and);
    SET_BITS(bitwise_or);
    SET_BITS(bitwise_xor);
    SET(bitwise_and, BOOL, bitwise_and_u8);
    SET(bitwise_or, BOOL, bitwise_or_u8);
    SET(bitwise_xor, BOOL, bitwise_xor_u8);
    SET_BITS(bitwise_left_shift);
    SET_BITS(bitwise_right_shift);
    SET_FLOATS(div);
    SET_FLOATS(tanh_grad);
    SET_FLOATS(sigmoid_grad);
    SET_FLOATS(relu_grad);
    SET_FLOATS(clamp_grad);
    SET_FLOATS(gelu_grad);
    SET_FLOATS(lerp);
    SET_FLOATS(addcmul);
    SET_FLOATS(addcdiv);
    SET_FLOATS(addcdiv_sqrt);
    /* `where` is chosen by its second operand's dtype. */
    jn_kernel_fn *f = t->kernel[JN_OP_ID_where];
    f[JANUS_F32] = f[JANUS_I32] = where4;
    f[JANUS_F64] = f[JANUS_I64] = where8;
    f[JANUS_BOOL] = f[JANUS_U8] = where1;
    f[JANUS_F16] = f[JANUS_BF16] = where2;
}
