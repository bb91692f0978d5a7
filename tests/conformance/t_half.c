/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every sample with f16 and bf16: the CPU kernel against the f32 kernel of the same numbers,
 * rounded (bit for bit) and against the reference kernel in f64; gradients against those of f64;
 * kernels that add to their result.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "ops/ref/ref.h"
#include "tests/conformance/samples.h"
#include "tests/unit/check.h"

static const int halves[] = {JANUS_F16, JANUS_BF16};

#define FAIL_SAMPLE(s, dtype, ...)                                                                 \
    do {                                                                                           \
        fprintf(stderr, "    %s %s(%s){%s}: ", jn_dtype_name((janus_dtype)(dtype)), (s)->op,       \
                (s)->operands, (s)->attrs);                                                        \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fputc('\n', stderr);                                                                       \
        CU_FAIL("sample failed");                                                                  \
    } while (0)

static const jn_op *op_of(const sample *s) { return jn_op_find(s->op, strlen(s->op)); }

static bool is_half(int d) { return d == JANUS_F16 || d == JANUS_BF16; }

static double unit(int dtype) { return dtype == JANUS_F16 ? 0x1p-11 : 0x1p-8; }

static bool close_to(double a, double b, double tol) {
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b))
        return a == b;
    return fabs(a - b) <= tol * (1 + fabs(b));
}

/* The tensors of halves as tensors of `dtype` with the same numbers. */
static void as_dtype(tape *t, val *const *in, int n, int dtype, val **out) {
    for (int i = 0; i < n; i++) {
        out[i] = in[i];
        if (!in[i] || in[i]->t.kind != JANUS_KIND_TENSOR || !is_half(in[i]->t.dtype))
            continue;
        out[i] = val_tensor(t, dtype, in[i]->t.rank, in[i]->dims);
        memcpy(out[i]->strides, in[i]->strides, sizeof in[i]->strides);
        for (int64_t k = 0; k < in[i]->numel; k++)
            val_set(out[i], k, val_get(in[i], k));
    }
}

static bool same_bits(const val *a, const val *b) {
    for (int64_t i = 0; i < b->numel; i++) {
        double x = val_get(a, i), y = val_get(b, i);
        if (isnan(x) ? !isnan(y) : x != y || signbit(x) != signbit(y))
            return false;
    }
    return true;
}

static val *rounded(tape *t, const val *v, int dtype) {
    val *r = val_tensor(t, dtype, v->t.rank, v->dims);
    for (int64_t i = 0; i < v->numel; i++)
        val_set(r, i, val_get(v, i));
    return r;
}

/* Makes operands of halves and attributes. */
static int prepare(tape *t, const sample *s, int dtype, val **in, void **attrs) {
    int n = sample_operands(t, s, dtype, (uint64_t)(s - samples) * 7919 + 1, in);
    if (n < 0 || sample_attrs(t, s, op_of(s), attrs) != JANUS_OK) {
        FAIL_SAMPLE(s, dtype, "the sample does not parse");
        return -1;
    }
    return n;
}

static void check_kernel(const sample *s, int dtype) {
    const jn_op *op = op_of(s);
    unsigned n_out = op_n_out(op);
    tape t, ref;
    val *in[64], *wide[64], *widest[64], *got[8], *want[8], *oracle[8];
    void *attrs;
    tape_init(&t, DEVICE_CPU);
    tape_init(&ref, DEVICE_REF);
    int n = prepare(&t, s, dtype, in, &attrs);
    if (n < 0)
        goto done;
    as_dtype(&t, in, n, JANUS_F32, wide);
    as_dtype(&ref, in, n, JANUS_F64, widest);
    if (tape_run(&t, op, in, (unsigned)n, attrs, got, n_out) != JANUS_OK ||
        tape_run(&t, op, wide, (unsigned)n, attrs, want, n_out) != JANUS_OK ||
        tape_run(&ref, op, widest, (unsigned)n, attrs, oracle, n_out) != JANUS_OK) {
        FAIL_SAMPLE(s, dtype, "%s", janus_last_error()->message);
        goto done;
    }
    double tol = (s->tol ? s->tol : 1e-5) + 4 * unit(dtype);
    for (unsigned i = 0; i < n_out; i++) {
        val *w = is_half(got[i]->t.dtype) ? rounded(&t, want[i], got[i]->t.dtype) : want[i];
        if (got[i]->t.dtype != want[i]->t.dtype && !is_half(got[i]->t.dtype))
            FAIL_SAMPLE(s, dtype, "result %u is %s", i,
                        jn_dtype_name((janus_dtype)got[i]->t.dtype));
        else if (!same_bits(got[i], w))
            FAIL_SAMPLE(s, dtype, "result %u is not the f32 kernel's, rounded", i);
        if (got[i]->t.dtype == JANUS_F16) /* which overflows where f64 does not */
            oracle[i] = rounded(&t, oracle[i], JANUS_F16);
        for (int64_t k = 0; k < got[i]->numel; k++)
            if (!close_to(val_get(got[i], k), val_get(oracle[i], k), tol)) {
                FAIL_SAMPLE(s, dtype, "result %u, element %lld is %.9g, the reference's %.9g", i,
                            (long long)k, val_get(got[i], k), val_get(oracle[i], k));
                break;
            }
    }
    if (t.flags != ref.flags)
        FAIL_SAMPLE(s, dtype, "flags %u, expected %u", t.flags, ref.flags);
done:
    tape_free(&t);
    tape_free(&ref);
}

static void kernels(void) {
    for (unsigned k = 0; k < n_samples; k++)
        for (int d = 0; d < 2; d++)
            check_kernel(&samples[k], halves[d]);
}

/* ---- gradients ----------------------------------------------------------------------------------
 */

/* Statistics of normalisation and attention's sums are no differentiable results. */
static bool is_result(const jn_op *op, unsigned i, const val *v) {
    bool first = op->id == JN_OP_ID_batch_norm || op->id == JN_OP_ID_layer_norm ||
                 op->id == JN_OP_ID_attention;
    return jn_dtype_is_float(v->t.dtype) && !(first && i > 0);
}

/* One run forward and backward; the cotangents are the same numbers in every dtype. */
static bool differentiate(tape *t, const sample *s, val **in, int n, const void *attrs, int dtype) {
    const jn_op *op = op_of(s);
    unsigned n_out = op_n_out(op);
    val *out[8], *dy[8];
    for (int i = 0; i < n; i++)
        if (in[i] && in[i]->t.kind == JANUS_KIND_TENSOR && jn_dtype_is_float(in[i]->t.dtype) &&
            jn_op_accept(op, (unsigned)i) != JN_ACCEPT_LIKE)
            in[i]->needs = true;
    if (tape_run(t, op, in, (unsigned)n, attrs, out, n_out) != JANUS_OK)
        return false;
    for (unsigned i = 0; i < n_out; i++) {
        dy[i] = NULL;
        if (!is_result(op, i, out[i]))
            continue;
        val *w = val_tensor(t, out[i]->t.dtype, out[i]->t.rank, out[i]->dims);
        for (int64_t k = 0; k < w->numel; k++) {
            val *one = val_tensor(t, dtype, 0, NULL);
            val_set(one, 0, sin(1.3 * (double)k + i + 0.5));
            val_set(w, k, val_get(one, 0));
        }
        dy[i] = w;
    }
    return tape_backward(t, out, dy, n_out) == JANUS_OK;
}

static void check_gradient(const sample *s, int dtype) {
    tape t, exact;
    val *in[64], *wide[64];
    void *attrs;
    tape_init(&t, DEVICE_CPU);
    tape_init(&exact, DEVICE_REF);
    int n = prepare(&t, s, dtype, in, &attrs);
    if (n < 0)
        goto done;
    as_dtype(&exact, in, n, JANUS_F64, wide);
    if (!differentiate(&t, s, in, n, attrs, dtype) ||
        !differentiate(&exact, s, wide, n, attrs, dtype)) {
        FAIL_SAMPLE(s, dtype, "%s", janus_last_error()->message);
        goto done;
    }
    for (int i = 0; i < n; i++) {
        if (!in[i] || !in[i]->needs || !in[i]->cot || !wide[i]->cot)
            continue;
        if (in[i]->cot->t.dtype != in[i]->t.dtype) {
            FAIL_SAMPLE(s, dtype, "the gradient of operand %d is %s", i,
                        jn_dtype_name((janus_dtype)in[i]->cot->t.dtype));
            continue;
        }
        double largest = 0;
        for (int64_t k = 0; k < in[i]->numel; k++)
            largest = fmax(largest, fabs(val_get(wide[i]->cot, k)));
        for (int64_t k = 0; k < in[i]->numel; k++) {
            double x = val_get(in[i]->cot, k), y = val_get(wide[i]->cot, k);
            if (isnan(x) ? isnan(y) : isinf(y) || fabs(x - y) <= 12 * unit(dtype) * (largest + 0.1))
                continue;
            FAIL_SAMPLE(s, dtype, "gradient %d, element %lld is %.9g, in f64 %.9g", i, (long long)k,
                        x, y);
            break;
        }
    }
done:
    tape_free(&t);
    tape_free(&exact);
}

static void gradients(void) {
    for (unsigned k = 0; k < n_samples; k++)
        for (int d = 0; d < 2; d++)
            if (!(samples[k].flags & NO_GRAD))
                check_gradient(&samples[k], halves[d]);
}

/* ---- sums ---------------------------------------------------------------------------------------
 */

static void check_added(const sample *s, int dtype) {
    const jn_op *op = op_of(s);
    tape t;
    val *in[64], *out[8];
    jn_view iv[64];
    void *attrs;
    uint32_t flags = 0;
    tape_init(&t, DEVICE_CPU);
    int n = prepare(&t, s, dtype, in, &attrs);
    if (n < 0 || tape_run(&t, op, in, (unsigned)n, attrs, out, 1) != JANUS_OK)
        goto done;
    for (int i = 0; i < n; i++)
        iv[i] = val_view(in[i]);
    val *sum = val_tensor(&t, out[0]->t.dtype, out[0]->t.rank, out[0]->dims);
    for (int64_t i = 0; i < sum->numel; i++)
        val_set(sum, i, 3);
    jn_view ov = val_view(sum);
    jn_sig sig = {op, iv, &ov, (uint16_t)n, 1, attrs};
    jn_kargs k = {iv,   &ov,   (uint16_t)n, 1,    attrs, NULL, &flags, &jn_par_serial,
                  true, false, 0,           NULL, NULL,  NULL};
    jn_op_impls[op->id].cpu (&sig)(&k);
    for (int64_t i = 0; i < sum->numel; i++)
        if (!close_to(val_get(sum, i), val_get(out[0], i) + 3, 2 * unit(dtype))) {
            FAIL_SAMPLE(s, dtype, "element %lld is %.9g after adding %.9g to 3", (long long)i,
                        val_get(sum, i), val_get(out[0], i));
            break;
        }
done:
    tape_free(&t);
}

static void sums(void) {
    unsigned n = 0;
    for (unsigned k = 0; k < n_samples; k++)
        for (int d = 0; d < 2 && op_of(&samples[k])->flags & JN_OP_ADDS; d++, n++)
            check_added(&samples[k], halves[d]);
    CU_ASSERT(n > 0);
}

JN_TEST_MAIN("f16 and bf16", {"kernels are those of f32, rounded", kernels},
             {"gradients near those of f64", gradients}, {"kernels that add to their result", sums})
