/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of programs: see ops/steps.h.  Compiled per instruction set.
 *
 * A step is a function that is given the accumulator in the eight vector registers that arguments
 * are passed in, and ends with a call of the next one, which is a jump: the accumulator never
 * leaves the registers, and a step costs its operations and one jump for eight vectors.  (Where a
 * compiler makes calls of the jumps, the stack is as deep as the program is long.)
 */
#include <math.h>

#include "ops/cpu/isa/rows.h"
#include "ops/steps.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { BYTES = 64 };
#elif defined(__AVX2__)
enum { BYTES = 32 };
#else
enum { BYTES = 16 };
#endif
enum { LANES = BYTES / 4, BLOCK = 8 * LANES };

typedef float V __attribute__((vector_size(BYTES)));
typedef int32_t VI __attribute__((vector_size(BYTES)));
typedef float VU __attribute__((vector_size(BYTES), aligned(4), may_alias)); /* in memory */

typedef void (*step_fn)(const jn_step *s, int64_t at, V a0, V a1, V a2, V a3, V a4, V a5, V a6,
                        V a7);

#define STEP(name)                                                                                 \
    static void name(const jn_step *s, int64_t at, V a0, V a1, V a2, V a3, V a4, V a5, V a6, V a7)
#define NEXT ((step_fn)s[1].run)(s + 1, at, a0, a1, a2, a3, a4, a5, a6, a7)
#define PLACE(k) (s->data[k] + at * s->stride[k])
#define READ(p, i) ((V)(*(const VU *)(const void *)((p) + (i) * (int64_t)BYTES)))
#define WRITE(p, i, v) (*(VU *)(void *)((p) + (i) * (int64_t)BYTES) = (v))
/* What a vector of the accumulator becomes, by how operands are found. */
#define HELD(i, a) a
#define MEMORY0(i, a) READ(p0, i)
#define MEMORY1(i, a) READ(p1, i)
#define MEMORY2(i, a) READ(p2, i)
#define EACH(X, ...)                                                                               \
    X(0, a0, __VA_ARGS__);                                                                         \
    X(1, a1, __VA_ARGS__);                                                                         \
    X(2, a2, __VA_ARGS__);                                                                         \
    X(3, a3, __VA_ARGS__);                                                                         \
    X(4, a4, __VA_ARGS__);                                                                         \
    X(5, a5, __VA_ARGS__);                                                                         \
    X(6, a6, __VA_ARGS__);                                                                         \
    X(7, a7, __VA_ARGS__)
#define FROM(i, a, p) a = READ(p, i)
#define TO(i, a, p) WRITE(p, i, a)
#define OF1(i, a, f, A) a = f(s, A(i, a))
#define OF2(i, a, f, A, B) a = f(s, A(i, a), B(i, a))
#define OF3(i, a, f, A, B, C) a = f(s, A(i, a), B(i, a), C(i, a))

/* ---- moves ------------------------------------------------------------------------------------
 */

STEP(load) {
    const char *p = PLACE(0);
    EACH(FROM, p);
    NEXT;
}

STEP(store) {
    char *p = PLACE(0);
    EACH(TO, p);
    NEXT;
}

STEP(load_mask) {
    const uint8_t *p = (const uint8_t *)PLACE(0);
    _Alignas(BYTES) int32_t x[BLOCK];
    JN_VECTOR_LOOP
    for (int i = 0; i < BLOCK; i++)
        x[i] = p[i] ? -1 : 0;
    EACH(FROM, (const char *)x);
    NEXT;
}

STEP(store_mask) {
    uint8_t *p = (uint8_t *)PLACE(0);
    _Alignas(BYTES) int32_t x[BLOCK];
    EACH(TO, (char *)x);
    JN_VECTOR_LOOP
    for (int i = 0; i < BLOCK; i++)
        p[i] = (uint8_t)(x[i] & 1);
    NEXT;
}

STEP(end) {
    (void)s, (void)at, (void)a0, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6;
    (void)a7;
}

static void run(const jn_step *program, int64_t blocks) {
    V z = {0};
    for (int64_t i = 0; i < blocks; i++)
        ((step_fn)program->run)(program, i * BLOCK, z, z, z, z, z, z, z, z);
}

/* ---- ops of vectors: f(step, operands) ---------------------------------------------------------
 */

#define F1 static inline __attribute__((always_inline)) V
#define VALUE1(name, EXPR)                                                                         \
    F1 name##_v(const jn_step *s, V x) {                                                           \
        (void)s;                                                                                   \
        return EXPR;                                                                               \
    }                                                                                              \
    STEP(name##_m) {                                                                               \
        const char *p0 = PLACE(0);                                                                 \
        EACH(OF1, name##_v, MEMORY0);                                                              \
        NEXT;                                                                                      \
    }                                                                                              \
    STEP(name##_h) {                                                                               \
        EACH(OF1, name##_v, HELD);                                                                 \
        NEXT;                                                                                      \
    }
#define VALUE2(name, EXPR)                                                                         \
    F1 name##_v(const jn_step *s, V a, V b) {                                                      \
        (void)s;                                                                                   \
        return EXPR;                                                                               \
    }                                                                                              \
    STEP(name##_mm) {                                                                              \
        const char *p0 = PLACE(0), *p1 = PLACE(1);                                                 \
        EACH(OF2, name##_v, MEMORY0, MEMORY1);                                                     \
        NEXT;                                                                                      \
    }                                                                                              \
    STEP(name##_hm) {                                                                              \
        const char *p1 = PLACE(1);                                                                 \
        EACH(OF2, name##_v, HELD, MEMORY1);                                                        \
        NEXT;                                                                                      \
    }                                                                                              \
    STEP(name##_mh) {                                                                              \
        const char *p0 = PLACE(0);                                                                 \
        EACH(OF2, name##_v, MEMORY0, HELD);                                                        \
        NEXT;                                                                                      \
    }                                                                                              \
    STEP(name##_hh) {                                                                              \
        EACH(OF2, name##_v, HELD, HELD);                                                           \
        NEXT;                                                                                      \
    }
#define VALUE3(name, EXPR)                                                                         \
    F1 name##_v(const jn_step *s, V x, V a, V b) {                                                 \
        (void)s;                                                                                   \
        return EXPR;                                                                               \
    }                                                                                              \
    STEP(name##_mmm) {                                                                             \
        const char *p0 = PLACE(0), *p1 = PLACE(1), *p2 = PLACE(2);                                 \
        EACH(OF3, name##_v, MEMORY0, MEMORY1, MEMORY2);                                            \
        NEXT;                                                                                      \
    }                                                                                              \
    STEP(name##_hmm) {                                                                             \
        const char *p1 = PLACE(1), *p2 = PLACE(2);                                                 \
        EACH(OF3, name##_v, HELD, MEMORY1, MEMORY2);                                               \
        NEXT;                                                                                      \
    }                                                                                              \
    STEP(name##_mhm) {                                                                             \
        const char *p0 = PLACE(0), *p2 = PLACE(2);                                                 \
        EACH(OF3, name##_v, MEMORY0, HELD, MEMORY2);                                               \
        NEXT;                                                                                      \
    }                                                                                              \
    STEP(name##_mmh) {                                                                             \
        const char *p0 = PLACE(0), *p1 = PLACE(1);                                                 \
        EACH(OF3, name##_v, MEMORY0, MEMORY1, HELD);                                               \
        NEXT;                                                                                      \
    }

#define PICK(mask, a, b) ((V)(((mask) & (VI)(a)) | (~(mask) & (VI)(b))))
#define SET1(x) ((x) - (V){0}) /* of -0.0, too */
#define MASK(v) ((VI)(v))

VALUE1(neg, -x)
VALUE1(abs, (V)((VI)x & 0x7fffffff))
VALUE1(square, x *x)
VALUE1(reciprocal, 1.0f / x)
VALUE1(relu, (V)(~(x <= 0.0f) & (VI)x))
VALUE1(sign, (V)(((x > 0.0f) & 0x3f800000) | ((x < 0.0f) & (int32_t)0xbf800000u)))
VALUE1(leaky_relu, PICK(x > 0.0f, x, x * s->p))
/* What the instructions of x86 give, NaN and zeros included. */
#if defined(__AVX512F__)
#define above(x, low) ((V)_mm512_max_ps((__m512)(low), (__m512)(x)))
#define below(x, high) ((V)_mm512_min_ps((__m512)(high), (__m512)(x)))
#elif defined(__AVX2__)
#define above(x, low) ((V)_mm256_max_ps((__m256)(low), (__m256)(x)))
#define below(x, high) ((V)_mm256_min_ps((__m256)(high), (__m256)(x)))
#else
F1 above(V x, V low) { return PICK(x < low, low, x); }
F1 below(V x, V high) { return PICK(x > high, high, x); }
#endif
VALUE1(clamp, below(above(x, SET1(s->p)), SET1(s->q)))
VALUE1(isnan, (V)(x != x))
VALUE1(isfinite, (V)(((VI)x & 0x7f800000) != 0x7f800000))
VALUE1(logical_not, (V)~MASK(x))
VALUE1(to_mask, (V)(x != 0.0f))
VALUE1(from_mask, (V)(MASK(x) & 0x3f800000))

VALUE2(add, a + b)
VALUE2(sub, a - b)
VALUE2(mul, a *b)
VALUE2(div, a / b)
VALUE2(maximum, PICK((a != a) | (a > b), a, b))
VALUE2(minimum, PICK((a != a) | (a < b), a, b))
VALUE2(eq, (V)(a == b))
VALUE2(ne, (V)(a != b))
VALUE2(lt, (V)(a < b))
VALUE2(le, (V)(a <= b))
VALUE2(gt, (V)(a > b))
VALUE2(ge, (V)(a >= b))
VALUE2(logical_and, (V)(MASK(a) & MASK(b)))
VALUE2(logical_or, (V)(MASK(a) | MASK(b)))
VALUE2(logical_xor, (V)(MASK(a) ^ MASK(b)))
VALUE2(masked_fill, PICK(MASK(b), SET1(s->p), a))
VALUE2(tanh_grad, a *(1.0f - b * b))
VALUE2(sigmoid_grad, a *b *(1.0f - b))
VALUE2(relu_grad, (V)(~(b <= 0.0f) & (VI)a))

#define PASSED_LO ((b > s->p) | ((b <= s->p) & (SET1(s->p) == -INFINITY)))
#define PASSED_HI ((b < s->q) | ((b >= s->q) & (SET1(s->q) == INFINITY)))
VALUE2(clamp_grad, (V)(PASSED_LO &PASSED_HI &(VI)a))

VALUE3(where, PICK(MASK(x), a, b))
VALUE3(lerp, x + b * (a - x))
VALUE3(addcmul, x + s->p * a * b)
VALUE3(addcdiv, x + s->p * a / b)

/* ---- ops that change an operand in memory ------------------------------------------------------
 */

F1 scale_v(const jn_step *s, V x) { return x * SET1(s->p); }
#define CHANGED0(i, a, f, g, A) a = f(s, g(s, READ(p0, i)), A(i, a))
#define CHANGED1(i, a, f, g, A) a = f(s, A(i, a), g(s, READ(p1, i)))
#define CHANGING(op, change)                                                                       \
    STEP(op##_##change##0_m) {                                                                     \
        const char *p0 = PLACE(0), *p1 = PLACE(1);                                                 \
        EACH(CHANGED0, op##_v, change##_v, MEMORY1);                                               \
        NEXT;                                                                                      \
    }                                                                                              \
    STEP(op##_##change##0_h) {                                                                     \
        const char *p0 = PLACE(0);                                                                 \
        EACH(CHANGED0, op##_v, change##_v, HELD);                                                  \
        NEXT;                                                                                      \
    }                                                                                              \
    STEP(op##_##change##1_m) {                                                                     \
        const char *p0 = PLACE(0), *p1 = PLACE(1);                                                 \
        EACH(CHANGED1, op##_v, change##_v, MEMORY0);                                               \
        NEXT;                                                                                      \
    }                                                                                              \
    STEP(op##_##change##1_h) {                                                                     \
        const char *p1 = PLACE(1);                                                                 \
        EACH(CHANGED1, op##_v, change##_v, HELD);                                                  \
        NEXT;                                                                                      \
    }
#define CHANGING_ALL(op) CHANGING(op, abs) CHANGING(op, neg) CHANGING(op, relu) CHANGING(op, scale)
CHANGING_ALL(add)
CHANGING_ALL(sub)
CHANGING_ALL(mul)

/* ---- ops of numbers, in loops that are vectorised as the kernels' are ---------------------------
 */

#define NUMBER1(name, EXPR)                                                                        \
    static inline void name##_n(const jn_step *s, const float *p, float *y) {                      \
        (void)s;                                                                                   \
        JN_VECTOR_LOOP                                                                             \
        for (int i = 0; i < BLOCK; i++) {                                                          \
            float x = p[i];                                                                        \
            y[i] = EXPR;                                                                           \
        }                                                                                          \
    }                                                                                              \
    STEP(name##_m) {                                                                               \
        _Alignas(BYTES) float y[BLOCK];                                                            \
        name##_n(s, (const float *)(const void *)PLACE(0), y);                                     \
        EACH(FROM, (const char *)y);                                                               \
        NEXT;                                                                                      \
    }                                                                                              \
    STEP(name##_h) {                                                                               \
        _Alignas(BYTES) float x[BLOCK], y[BLOCK];                                                  \
        EACH(TO, (char *)x);                                                                       \
        name##_n(s, x, y);                                                                         \
        EACH(FROM, (const char *)y);                                                               \
        NEXT;                                                                                      \
    }
#define NUMBER2(name, EXPR)                                                                        \
    static inline void name##_n(const float *pa, const float *pb, float *y) {                      \
        JN_VECTOR_LOOP                                                                             \
        for (int i = 0; i < BLOCK; i++) {                                                          \
            float a = pa[i], b = pb[i];                                                            \
            y[i] = EXPR;                                                                           \
        }                                                                                          \
    }                                                                                              \
    STEP(name##_mm) {                                                                              \
        _Alignas(BYTES) float y[BLOCK];                                                            \
        name##_n((const float *)(const void *)PLACE(0), (const float *)(const void *)PLACE(1), y); \
        EACH(FROM, (const char *)y);                                                               \
        NEXT;                                                                                      \
    }                                                                                              \
    STEP(name##_hm) {                                                                              \
        _Alignas(BYTES) float x[BLOCK], y[BLOCK];                                                  \
        EACH(TO, (char *)x);                                                                       \
        name##_n(x, (const float *)(const void *)PLACE(1), y);                                     \
        EACH(FROM, (const char *)y);                                                               \
        NEXT;                                                                                      \
    }                                                                                              \
    STEP(name##_mh) {                                                                              \
        _Alignas(BYTES) float x[BLOCK], y[BLOCK];                                                  \
        EACH(TO, (char *)x);                                                                       \
        name##_n((const float *)(const void *)PLACE(0), x, y);                                     \
        EACH(FROM, (const char *)y);                                                               \
        NEXT;                                                                                      \
    }

NUMBER1(exp, jn_exp_f(x))
NUMBER1(log, jn_log_f(x))
NUMBER1(log1p, jn_log1p_f(x))
NUMBER1(expm1, jn_expm1_f(x))
NUMBER1(sqrt, __builtin_sqrtf(x))
NUMBER1(rsqrt, 1.0f / __builtin_sqrtf(x))
NUMBER1(tanh, jn_tanh_f(x))
NUMBER1(sigmoid, jn_sigmoid_f(x))
NUMBER1(silu, x *jn_sigmoid_f(x))
NUMBER1(softplus, jn_softplus_f(x))
NUMBER1(erf, jn_erf_f(x))
NUMBER1(floor, __builtin_floorf(x))
NUMBER1(ceil, __builtin_ceilf(x))
NUMBER1(round, __builtin_rintf(x))
NUMBER1(elu, x > 0.0f ? x : s->p * jn_expm1_f(x))
NUMBER1(gelu, jn_gelu_f(x))
NUMBER1(gelu_tanh, jn_gelu_tanh_f(x))
NUMBER2(gelu_grad, a *jn_gelu_slope_f(b))
NUMBER2(gelu_tanh_grad, a *jn_gelu_tanh_slope_f(b))

#define PUT(to, form, f) to[form] = (jn_step_fn)(f)
#define FORMS1(to, name) PUT(to, 0, name##_m), PUT(to, 1, name##_h)
#define FORMS2(to, name) PUT(to, 0, name##_mm), PUT(to, 1, name##_hm), PUT(to, 2, name##_mh)
#define FORMS3(to, name)                                                                           \
    PUT(to, 0, name##_mmm), PUT(to, 1, name##_hmm), PUT(to, 2, name##_mhm), PUT(to, 4, name##_mmh)
#define OPS1(X)                                                                                    \
    X(neg), X(abs), X(square), X(reciprocal), X(relu), X(sign), X(leaky_relu), X(clamp), X(isnan), \
        X(isfinite), X(logical_not), X(exp), X(log), X(log1p), X(expm1), X(sqrt), X(rsqrt),        \
        X(tanh), X(sigmoid), X(silu), X(softplus), X(erf), X(floor), X(ceil), X(round), X(elu),    \
        X(gelu)
#define OPS2(X)                                                                                    \
    X(add), X(sub), X(mul), X(div), X(maximum), X(minimum), X(eq), X(ne), X(lt), X(le), X(gt),     \
        X(ge), X(logical_and), X(logical_or), X(logical_xor), X(masked_fill), X(tanh_grad),        \
        X(sigmoid_grad), X(relu_grad), X(clamp_grad)
#define OPS3(X) X(where), X(lerp), X(addcmul), X(addcdiv)
#define SET1_OF(name) FORMS1(op[JN_OP_ID_##name], name)
#define SET2_OF(name) FORMS2(op[JN_OP_ID_##name], name), PUT(op[JN_OP_ID_##name], 3, name##_hh)
#define SET3_OF(name) FORMS3(op[JN_OP_ID_##name], name)

#define SET_CHANGE(which, op, CHANGE, change)                                                      \
    PUT(t->changing[which][0][CHANGE], 0, op##_##change##0_m);                                     \
    PUT(t->changing[which][0][CHANGE], 1, op##_##change##0_h);                                     \
    PUT(t->changing[which][1][CHANGE], 0, op##_##change##1_m);                                     \
    PUT(t->changing[which][1][CHANGE], 1, op##_##change##1_h)
#define SET_CHANGES(which, op)                                                                     \
    SET_CHANGE(which, op, JN_STEP_ABS, abs);                                                       \
    SET_CHANGE(which, op, JN_STEP_NEG, neg);                                                       \
    SET_CHANGE(which, op, JN_STEP_RELU, relu);                                                     \
    SET_CHANGE(which, op, JN_STEP_SCALE, scale)

void JN_ISA_FN(jn_isa_fill_steps)(jn_isa_table *table) {
    jn_isa_steps *t = &table->steps;
    jn_step_fn(*op)[JN_STEP_FORMS] = t->op;
    t->block = BLOCK;
    t->run = run;
    PUT(t->move, JN_STEP_LOAD, load);
    PUT(t->move, JN_STEP_STORE, store);
    PUT(t->move, JN_STEP_LOAD_MASK, load_mask);
    PUT(t->move, JN_STEP_STORE_MASK, store_mask);
    PUT(t->move, JN_STEP_END, end);
    OPS1(SET1_OF);
    OPS2(SET2_OF);
    OPS3(SET3_OF);
    FORMS2(op[JN_OP_ID_gelu_grad], gelu_grad);
    FORMS1(t->gelu_tanh, gelu_tanh);
    FORMS2(t->gelu_tanh_grad, gelu_tanh_grad);
    SET_CHANGES(JN_STEP_ADDS, add);
    SET_CHANGES(JN_STEP_SUBTRACTS, sub);
    SET_CHANGES(JN_STEP_MULTIPLIES, mul);
    FORMS1(t->to_mask, to_mask);
    FORMS1(t->from_mask, from_mask);
}
