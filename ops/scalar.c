/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python's arithmetic on scalars; see ops/scalar.h for the contract.
 *
 * A row is evaluated in int64 when no operand is a float, in double otherwise; comparisons of an
 * int with a float never convert, since a conversion rounds.
 */
#include "config.h"

#include "ops/op_ids.h"
#include "ops/scalar.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static janus_status overflow(const jn_op *op) {
    return jn_error(JANUS_ARITHMETIC, "%s: result does not fit 64 bits", op->name);
}
static janus_status by_zero(const jn_op *op) {
    return jn_error(JANUS_ARITHMETIC, "%s: division by zero", op->name);
}

static double as_double(janus_scalar v, uint8_t kind) {
    return kind == JANUS_KIND_FLOAT ? v.f : (double)v.i;
}
static bool truth(janus_scalar v, uint8_t kind) {
    return kind == JANUS_KIND_FLOAT ? v.f != 0 : v.i != 0;
}

/* a // b and a % b with b != 0: the remainder has the sign of b. */
static void int_divmod(int64_t a, int64_t b, int64_t *div, int64_t *mod) {
    *div = a / b;
    *mod = a % b;
    if (*mod != 0 && (*mod < 0) != (b < 0)) {
        *mod += b;
        *div -= 1;
    }
}

/* The quotient is taken from the exact remainder, so it is right where a / b rounds up. */
static void float_divmod(double a, double b, double *div, double *mod) {
    double m = fmod(a, b), q = (a - m) / b;
    if (m == 0) {
        m = copysign(0.0, b);
    } else if ((m < 0) != (b < 0)) {
        m += b;
        q -= 1;
    }
    *mod = m;
    if (q == 0) {
        *div = copysign(0.0, a / b);
    } else {
        double whole = floor(q);
        *div = q - whole > 0.5 ? whole + 1 : whole;
    }
}

static int bit_length(uint64_t v) { return v ? 64 - __builtin_clzll(v) : 0; }

/* a / b rounded once: at least 55 quotient bits with a sticky bit below them. */
static double int_truediv(int64_t a, int64_t b) {
    uint64_t ua = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, ub = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    int shift = 56 - bit_length(ua) + bit_length(ub);
    if (shift < 0)
        shift = 0;
    __extension__ unsigned __int128 num = (unsigned __int128)ua << shift;
    uint64_t q = (uint64_t)(num / ub);
    if (num % ub != 0)
        q |= 1;
    double r = ldexp((double)q, -shift);
    return (a < 0) != (b < 0) ? -r : r;
}

static janus_status int_pow(const jn_op *op, int64_t base, int64_t e, int64_t *out) {
    int64_t r = 1;
    if (e < 0)
        return jn_error(JANUS_ARITHMETIC, "%s: a negative power of an int is a float", op->name);
    for (;;) {
        if ((e & 1) && __builtin_mul_overflow(r, base, &r))
            return overflow(op);
        e >>= 1;
        if (e == 0)
            break;
        if (__builtin_mul_overflow(base, base, &base))
            return overflow(op);
    }
    *out = r;
    return JANUS_OK;
}

static janus_status float_pow(const jn_op *op, double a, double b, double *out) {
    if (a == 0 && b < 0 && isfinite(b))
        return by_zero(op);
    if (a < 0 && isfinite(a) && isfinite(b) && b != floor(b))
        return jn_error(JANUS_ARITHMETIC, "%s: the result is complex", op->name);
    double r = pow(a, b);
    if (isinf(r) && isfinite(a) && isfinite(b))
        return overflow(op);
    *out = r;
    return JANUS_OK;
}

/* -1, 0, 1; 2: unordered. */
static int compare_floats(double a, double b) { return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2; }

static int compare_int_float(int64_t i, double f) {
    if (isnan(f))
        return 2;
    if (f >= 0x1p63)
        return -1;
    if (f < -0x1p63)
        return 1;
    int64_t whole = (int64_t)f;
    if (i != whole)
        return i < whole ? -1 : 1;
    return compare_floats(0, f - (double)whole);
}

static int compare(janus_scalar a, uint8_t ka, janus_scalar b, uint8_t kb) {
    if (ka == JANUS_KIND_FLOAT && kb == JANUS_KIND_FLOAT)
        return compare_floats(a.f, b.f);
    if (ka == JANUS_KIND_FLOAT) {
        int r = compare_int_float(b.i, a.f);
        return r == 2 ? 2 : -r;
    }
    if (kb == JANUS_KIND_FLOAT)
        return compare_int_float(a.i, b.f);
    return a.i < b.i ? -1 : a.i > b.i;
}

static janus_status int_arith(const jn_op *op, int64_t a, int64_t b, int64_t *out) {
    int64_t div, mod;
    switch (op->id) {
    case JN_OP_ID_s_add:
        return __builtin_add_overflow(a, b, out) ? overflow(op) : JANUS_OK;
    case JN_OP_ID_s_sub:
        return __builtin_sub_overflow(a, b, out) ? overflow(op) : JANUS_OK;
    case JN_OP_ID_s_mul:
        return __builtin_mul_overflow(a, b, out) ? overflow(op) : JANUS_OK;
    case JN_OP_ID_s_neg:
        return __builtin_sub_overflow((int64_t)0, a, out) ? overflow(op) : JANUS_OK;
    case JN_OP_ID_s_abs:
        if (a >= 0) {
            *out = a;
            return JANUS_OK;
        }
        return __builtin_sub_overflow((int64_t)0, a, out) ? overflow(op) : JANUS_OK;
    case JN_OP_ID_s_pow:
        return int_pow(op, a, b, out);
    default: /* floordiv, mod */
        if (b == 0)
            return by_zero(op);
        if (b == -1) { /* INT64_MIN / -1 traps */
            if (op->id == JN_OP_ID_s_mod)
                *out = 0;
            else if (__builtin_sub_overflow((int64_t)0, a, out))
                return overflow(op);
            return JANUS_OK;
        }
        int_divmod(a, b, &div, &mod);
        *out = op->id == JN_OP_ID_s_mod ? mod : div;
        return JANUS_OK;
    }
}

static janus_status float_arith(const jn_op *op, double a, double b, double *out) {
    double div, mod;
    switch (op->id) {
    case JN_OP_ID_s_add:
        *out = a + b;
        return JANUS_OK;
    case JN_OP_ID_s_sub:
        *out = a - b;
        return JANUS_OK;
    case JN_OP_ID_s_mul:
        *out = a * b;
        return JANUS_OK;
    case JN_OP_ID_s_neg:
        *out = -a;
        return JANUS_OK;
    case JN_OP_ID_s_abs:
        *out = fabs(a);
        return JANUS_OK;
    case JN_OP_ID_s_pow:
        return float_pow(op, a, b, out);
    default: /* floordiv, mod */
        if (b == 0)
            return by_zero(op);
        float_divmod(a, b, &div, &mod);
        *out = op->id == JN_OP_ID_s_mod ? mod : div;
        return JANUS_OK;
    }
}

static janus_status shift(const jn_op *op, int64_t a, int64_t b, int64_t *out) {
    if (b < 0)
        return jn_error(JANUS_ARITHMETIC, "%s: negative shift count", op->name);
    if (op->id == JN_OP_ID_s_shr) {
        *out = a >> (b > 63 ? 63 : b);
        return JANUS_OK;
    }
    if (a == 0) {
        *out = 0;
        return JANUS_OK;
    }
    if (b > 62 || __builtin_mul_overflow(a, (int64_t)1 << b, out)) {
        if (b != 63 || a != -1)
            return overflow(op);
        *out = INT64_MIN;
    }
    return JANUS_OK;
}

static janus_status to_int(const jn_op *op, double f, int64_t *out) {
    if (!(f >= -0x1p63 && f < 0x1p63))
        return jn_error(JANUS_ARITHMETIC, "%s: cannot convert %g", op->name, f);
    *out = (int64_t)f;
    return JANUS_OK;
}

/* The function of real numbers that the op is, NULL: it is another one. */
static double (*function_of(const jn_op *op))(double) {
    switch (op->id) {
    case JN_OP_ID_s_exp:
        return exp;
    case JN_OP_ID_s_expm1:
        return expm1;
    case JN_OP_ID_s_log:
        return log;
    case JN_OP_ID_s_log1p:
        return log1p;
    case JN_OP_ID_s_log2:
        return log2;
    case JN_OP_ID_s_log10:
        return log10;
    case JN_OP_ID_s_sqrt:
        return sqrt;
    case JN_OP_ID_s_sin:
        return sin;
    case JN_OP_ID_s_cos:
        return cos;
    case JN_OP_ID_s_tan:
        return tan;
    case JN_OP_ID_s_atan:
        return atan;
    case JN_OP_ID_s_sinh:
        return sinh;
    case JN_OP_ID_s_cosh:
        return cosh;
    case JN_OP_ID_s_tanh:
        return tanh;
    default:
        return NULL;
    }
}

/* As the functions of Python's math: a NaN of a number is a domain error, an infinity of a finite
 * number an overflow or a pole, and both raise. */
static janus_status float_function(const jn_op *op, double a, double *out) {
    double y = function_of(op)(a);
    if ((isnan(y) && !isnan(a)) || (isinf(y) && isfinite(a)))
        return jn_error(JANUS_ARITHMETIC, "%s: no result for %g", op->name, a);
    *out = y;
    return JANUS_OK;
}

/* As float.__round__: the decimals of the exact value are rounded, which printf does. */
static janus_status round_digits(const jn_op *op, janus_scalar a, uint8_t kind, int64_t n,
                                 janus_scalar *out) {
    enum { MAX_DIGITS = 323, ROOM = 2 + 309 + MAX_DIGITS + 8 };
    char text[ROOM];
    if (n < 0)
        return jn_error(JANUS_ARITHMETIC, "%s: a negative number of decimals", op->name);
    *out = a;
    if (kind != JANUS_KIND_FLOAT || !isfinite(a.f) || n > MAX_DIGITS)
        return JANUS_OK;
    (void)snprintf(text, sizeof text, "%.*f", (int)n, a.f);
    out->f = strtod(text, NULL);
    return JANUS_OK;
}

janus_kind jn_scalar_kind(const jn_op *op, const uint8_t *kinds, unsigned n) {
    switch (op->id) {
    case JN_OP_ID_s_add:
    case JN_OP_ID_s_sub:
    case JN_OP_ID_s_mul:
    case JN_OP_ID_s_floordiv:
    case JN_OP_ID_s_mod:
    case JN_OP_ID_s_pow:
    case JN_OP_ID_s_neg:
    case JN_OP_ID_s_abs:
        for (unsigned i = 0; i < n; i++) {
            if (kinds[i] == JANUS_KIND_FLOAT)
                return JANUS_KIND_FLOAT;
        }
        return JANUS_KIND_INT;
    case JN_OP_ID_s_truediv:
    case JN_OP_ID_s_float:
        return JANUS_KIND_FLOAT;
    case JN_OP_ID_s_and:
    case JN_OP_ID_s_or:
    case JN_OP_ID_s_xor:
        return kinds[0] == JANUS_KIND_BOOL && kinds[1] == JANUS_KIND_BOOL ? JANUS_KIND_BOOL
                                                                          : JANUS_KIND_INT;
    case JN_OP_ID_s_shl:
    case JN_OP_ID_s_shr:
    case JN_OP_ID_s_invert:
    case JN_OP_ID_s_int:
    case JN_OP_ID_s_floor:
    case JN_OP_ID_s_ceil:
    case JN_OP_ID_s_round:
        return JANUS_KIND_INT;
    case JN_OP_ID_s_round_digits:
        return kinds[0] == JANUS_KIND_FLOAT ? JANUS_KIND_FLOAT : JANUS_KIND_INT;
    case JN_OP_ID_s_min:
    case JN_OP_ID_s_max:
        return (janus_kind)kinds[0];
    case JN_OP_ID_s_select:
        return (janus_kind)kinds[1];
    default: /* comparisons, not, bool, isfinite ... */
        return function_of(op) ? JANUS_KIND_FLOAT : JANUS_KIND_BOOL;
    }
}

janus_status jn_scalar_eval(const jn_op *op, const janus_scalar *in, const uint8_t *kinds,
                            unsigned n, janus_scalar *out) {
    janus_scalar a = in[0], b = n > 1 ? in[1] : in[0];
    uint8_t ka = kinds[0], kb = n > 1 ? kinds[1] : kinds[0];
    int order;
    switch (op->id) {
    case JN_OP_ID_s_truediv:
        if (!truth(b, kb))
            return by_zero(op);
        out->f = ka == JANUS_KIND_FLOAT || kb == JANUS_KIND_FLOAT
                     ? as_double(a, ka) / as_double(b, kb)
                     : int_truediv(a.i, b.i);
        return JANUS_OK;
    case JN_OP_ID_s_not:
        out->i = !truth(a, ka);
        return JANUS_OK;
    case JN_OP_ID_s_bool:
        out->i = truth(a, ka);
        return JANUS_OK;
    case JN_OP_ID_s_int:
        if (ka == JANUS_KIND_FLOAT)
            return to_int(op, a.f, &out->i);
        out->i = a.i;
        return JANUS_OK;
    case JN_OP_ID_s_floor:
    case JN_OP_ID_s_ceil:
    case JN_OP_ID_s_round:
        if (ka == JANUS_KIND_FLOAT)
            return to_int(op,
                          op->id == JN_OP_ID_s_floor  ? floor(a.f)
                          : op->id == JN_OP_ID_s_ceil ? ceil(a.f)
                                                      : rint(a.f),
                          &out->i);
        out->i = a.i;
        return JANUS_OK;
    case JN_OP_ID_s_round_digits:
        return round_digits(op, a, ka, b.i, out);
    case JN_OP_ID_s_isfinite:
        out->i = isfinite(as_double(a, ka));
        return JANUS_OK;
    case JN_OP_ID_s_isinf:
        out->i = isinf(as_double(a, ka)) != 0;
        return JANUS_OK;
    case JN_OP_ID_s_isnan:
        out->i = isnan(as_double(a, ka));
        return JANUS_OK;
    case JN_OP_ID_s_float:
        out->f = as_double(a, ka);
        return JANUS_OK;
    case JN_OP_ID_s_and:
        out->i = a.i & b.i;
        return JANUS_OK;
    case JN_OP_ID_s_or:
        out->i = a.i | b.i;
        return JANUS_OK;
    case JN_OP_ID_s_xor:
        out->i = a.i ^ b.i;
        return JANUS_OK;
    case JN_OP_ID_s_invert:
        out->i = ~a.i;
        return JANUS_OK;
    case JN_OP_ID_s_shl:
    case JN_OP_ID_s_shr:
        return shift(op, a.i, b.i, &out->i);
    case JN_OP_ID_s_select:
        *out = truth(a, ka) ? in[1] : in[2];
        return JANUS_OK;
    case JN_OP_ID_s_min:
        *out = compare(b, kb, a, ka) == -1 ? b : a;
        return JANUS_OK;
    case JN_OP_ID_s_max:
        *out = compare(b, kb, a, ka) == 1 ? b : a;
        return JANUS_OK;
    case JN_OP_ID_s_eq:
        out->i = compare(a, ka, b, kb) == 0;
        return JANUS_OK;
    case JN_OP_ID_s_ne:
        out->i = compare(a, ka, b, kb) != 0;
        return JANUS_OK;
    case JN_OP_ID_s_lt:
        out->i = compare(a, ka, b, kb) == -1;
        return JANUS_OK;
    case JN_OP_ID_s_le:
        order = compare(a, ka, b, kb);
        out->i = order == -1 || order == 0;
        return JANUS_OK;
    case JN_OP_ID_s_gt:
        out->i = compare(a, ka, b, kb) == 1;
        return JANUS_OK;
    case JN_OP_ID_s_ge:
        order = compare(a, ka, b, kb);
        out->i = order == 1 || order == 0;
        return JANUS_OK;
    case JN_OP_ID_s_add:
    case JN_OP_ID_s_sub:
    case JN_OP_ID_s_mul:
    case JN_OP_ID_s_floordiv:
    case JN_OP_ID_s_mod:
    case JN_OP_ID_s_pow:
    case JN_OP_ID_s_neg:
    case JN_OP_ID_s_abs:
        if (jn_scalar_kind(op, kinds, n) == JANUS_KIND_FLOAT)
            return float_arith(op, as_double(a, ka), as_double(b, kb), &out->f);
        return int_arith(op, a.i, b.i, &out->i);
    default:
        return function_of(op) ? float_function(op, as_double(a, ka), &out->f)
                               : jn_error(JANUS_INTERNAL, "%s is no scalar op", op->name);
    }
}

bool jn_scalar_fold(const jn_op *op, const void *attrs, const janus_scalar *in,
                    const uint8_t *kinds, unsigned n_in, janus_scalar *out, uint8_t *out_kind) {
    (void)attrs; /* no scalar row has any */
    if (jn_scalar_eval(op, in, kinds, n_in, out) != JANUS_OK)
        return false;
    *out_kind = (uint8_t)jn_scalar_kind(op, kinds, n_in);
    return true;
}
