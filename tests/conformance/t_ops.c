/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suites over the op table: coverage, inference with unknown dims, fast kernels against reference
 * kernels, views against copies, gradients against finite differences (first and second order), and
 * batch rules against single rows.
 */
#include "config.h"

#include "ops/op_ids.h"
#include "tests/conformance/samples.h"
#include "tests/unit/check.h"

#include "graph/base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FAIL_SAMPLE(s, ...)                                                                        \
    do {                                                                                           \
        char text_[512];                                                                           \
        int n_ =                                                                                   \
            snprintf(text_, sizeof text_, "%s(%s){%s}: ", (s)->op, (s)->operands, (s)->attrs);     \
        snprintf(text_ + n_, sizeof text_ - (size_t)n_, __VA_ARGS__);                              \
        fprintf(stderr, "    %s\n", text_);                                                        \
        CU_FAIL("sample failed");                                                                  \
    } while (0)

static const jn_op *op_of(const sample *s) { return jn_op_find(s->op, strlen(s->op)); }

static uint64_t seed_of(const sample *s) { return (uint64_t)(s - samples) * 7919 + 1; }

/* Runs a sample with floats of dtype fdt; returns the number of results, 0 on failure. */
static unsigned run(tape *t, const sample *s, int fdt, val **in, int *n_in, val **out) {
    const jn_op *op = op_of(s);
    void *attrs;
    *n_in = sample_operands(t, s, fdt, seed_of(s), in);
    if (!op || *n_in < 0) {
        FAIL_SAMPLE(s, "no such op or operand");
        return 0;
    }
    if (sample_attrs(t, s, op, &attrs) != JANUS_OK ||
        tape_run(t, op, in, (unsigned)*n_in, attrs, out, op_n_out(op)) != JANUS_OK) {
        FAIL_SAMPLE(s, "%s", janus_last_error()->message);
        return 0;
    }
    return op_n_out(op);
}

static uint8_t accept_of(const jn_op *op, unsigned i) {
    const jn_operand *o = op->operands;
    for (unsigned k = 0; k < i && !o->variadic; k++)
        o++;
    return o->accept;
}

static bool close_to(double a, double b, double tol) {
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b))
        return a == b;
    return fabs(a - b) <= tol * (1 + fabs(b));
}

static void coverage(void) {
    for (unsigned i = 0; i < jn_n_ops; i++) {
        const jn_op *op = &jn_ops[i];
        if (!jn_op_impls[i].ref)
            continue;
        bool found = false;
        for (unsigned k = 0; k < n_samples; k++)
            found |= strcmp(samples[k].op, op->name) == 0;
        if (!found)
            fprintf(stderr, "    no sample of %s\n", op->name);
        CU_ASSERT(found);
    }
}

/* ---- inference with unknown dims
 * ------------------------------------------------------------------ */

static int64_t *dims_of(jn_infer *c, unsigned rank) {
    return jn_arena_alloc(c->user, (rank + 1) * sizeof(int64_t));
}

/* What is inferred from less must be wider than what is inferred from all. */
static void check_partial(const sample *s, int mode) {
    tape t;
    val *in[64], *out[8];
    int n_in;
    tape_init(&t, DEVICE_REF);
    unsigned n_out = run(&t, s, JANUS_F32, in, &n_in, out);
    const jn_type *types[64];
    jn_type partial[64], ot[8];
    int64_t unknown[64][JN_MAX_RANK];
    void *attrs;
    if (n_out == 0 || sample_attrs(&t, s, op_of(s), &attrs) != JANUS_OK)
        goto done;
    for (int i = 0; i < n_in; i++) {
        types[i] = NULL;
        if (!in[i])
            continue;
        partial[i] = in[i]->t;
        if (partial[i].kind == JANUS_KIND_TENSOR) {
            if (mode == 2)
                partial[i].rank = JN_RANK_UNKNOWN;
            for (int d = 0; d < in[i]->t.rank; d++)
                unknown[i][d] = mode == 1 && d % 2 ? in[i]->dims[d] : JN_DIM_UNKNOWN;
            partial[i].dims = unknown[i];
        }
        types[i] = &partial[i];
    }
    jn_infer c = {op_of(s), (unsigned)n_in, types, NULL, attrs, n_out, ot, dims_of, &t.arena};
    if (jn_infer_run(&c) != JANUS_OK) {
        FAIL_SAMPLE(s, "mode %d: %s", mode, janus_last_error()->message);
        goto done;
    }
    for (unsigned i = 0; i < n_out; i++) {
        if (!jn_type_fits(&out[i]->t, &ot[i]))
            FAIL_SAMPLE(s, "mode %d: result %u does not fit what was inferred", mode, i);
    }
done:
    tape_free(&t);
}

static void inference(void) {
    for (unsigned k = 0; k < n_samples; k++) {
        for (int mode = 0; mode < 3; mode++)
            check_partial(&samples[k], mode);
    }
}

/* ---- fast kernels against reference kernels
 * -------------------------------------------------------- */

static void compare(const sample *s, int fdt, const val *a, const val *b, const char *what,
                    double tol) {
    bool bits = !jn_dtype_is_float(b->t.dtype);
    for (int64_t i = 0; i < b->numel; i++) {
        double x = val_get(a, i), y = val_get(b, i);
        if (bits ? x != y : !close_to(x, y, tol)) {
            FAIL_SAMPLE(s, "%s, %s: element %lld is %.17g, expected %.17g", what,
                        jn_dtype_name((janus_dtype)fdt), (long long)i, x, y);
            return;
        }
    }
}

static void fast_kernels(void) {
    static const int dtypes[] = {JANUS_F32, JANUS_F64};
    for (unsigned k = 0; k < n_samples; k++) {
        for (int d = 0; d < 2; d++) {
            tape ref, cpu;
            val *in[64], *in2[64], *a[8], *b[8];
            int n, n2;
            tape_init(&ref, DEVICE_REF);
            tape_init(&cpu, DEVICE_CPU);
            unsigned na = run(&ref, &samples[k], dtypes[d], in, &n, a);
            unsigned nb = run(&cpu, &samples[k], dtypes[d], in2, &n2, b);
            double tol = samples[k].tol ? samples[k].tol : 1e-5;
            for (unsigned i = 0; na == nb && i < na; i++)
                compare(&samples[k], dtypes[d], b[i], a[i], "cpu",
                        dtypes[d] == JANUS_F32 ? tol : 1e-10);
            if (na == nb && ref.flags != cpu.flags)
                FAIL_SAMPLE(&samples[k], "flags %u, expected %u", cpu.flags, ref.flags);
            tape_free(&ref);
            tape_free(&cpu);
        }
    }
}

/* ---- views
 * ------------------------------------------------------------------------------------------ */

static void views(void) {
    for (unsigned k = 0; k < n_samples; k++) {
        const sample *s = &samples[k];
        jn_view_fn rule = jn_op_impls[op_of(s)->id].view;
        if (!rule)
            continue;
        tape t;
        val *in[64], *out[8], alias;
        int n;
        jn_view iv[64];
        void *attrs;
        int64_t offset;
        tape_init(&t, DEVICE_REF);
        if (run(&t, s, JANUS_F32, in, &n, out) && sample_attrs(&t, s, op_of(s), &attrs) == 0) {
            for (int i = 0; i < n; i++)
                iv[i] = val_view(in[i]);
            alias = *out[0];
            alias.t.dims = alias.dims;
            if (rule(iv, (unsigned)n, attrs, &out[0]->t, alias.strides, &offset)) {
                alias.data = in[0]->data + offset * 4;
                compare(s, JANUS_F32, &alias, out[0], "view", 0);
            } else if (op_of(s)->flags & JN_OP_PASSES ? out[0]->numel == in[0]->numel
                                                      : s->operands[0] != 't') {
                FAIL_SAMPLE(s, "no strides were found");
            }
        }
        tape_free(&t);
    }
}

/* ---- gradients
 * -------------------------------------------------------------------------------------- */

static double weight(unsigned out, int64_t i) { return sin(1.3 * (double)i + out + 0.5); }

static bool differentiable(const val *v) {
    return v && v->t.kind == JANUS_KIND_TENSOR && jn_dtype_is_float(v->t.dtype);
}

/* A value of weights like v, to be the cotangent of result `out`. */
static val *weights_like(tape *t, const val *v, unsigned out) {
    val *w = val_tensor(t, v->t.dtype, v->t.rank, v->dims);
    for (int64_t i = 0; i < w->numel; i++)
        val_set(w, i, weight(out, i));
    return w;
}

/* The statistics of normalisation and attention are no differentiable results. */
static bool is_result(const jn_op *op, unsigned i, const val *v) {
    bool norm = op->id == JN_OP_ID_batch_norm || op->id == JN_OP_ID_layer_norm ||
                op->id == JN_OP_ID_attention;
    return differentiable(v) && !(norm && i > 0);
}

/*
 * One evaluation at operands moved by `step` in element `at` of operand `which`: first order, the
 * sum of weighted results; second, the sum of weighted gradients of that.  Fills grads (of the sum)
 * when not NULL.
 */
static bool blurred; /* of the tapes that evaluate() makes */

static bool evaluate(const sample *s, int order, int which, int64_t at, double step, double *sum,
                     double grads[64][256], bool has[64]) {
    tape t;
    val *in[64], *out[8], *dy[8], *y[64], *w[64];
    int n;
    unsigned n_y = 0;
    bool ok = false;
    const jn_op *op = op_of(s);
    void *attrs;
    tape_init(&t, DEVICE_REF);
    t.blur = blurred;
    n = sample_operands(&t, s, JANUS_F64, seed_of(s), in);
    for (int i = 0; i < n; i++) {
        bool like = accept_of(op, (unsigned)i) == JN_ACCEPT_LIKE;
        if (differentiable(in[i]) && !like)
            in[i]->needs = grads || order > 1;
    }
    if (step != 0)
        val_set(in[which], at, val_get(in[which], at) + step);
    if (sample_attrs(&t, s, op, &attrs) != JANUS_OK ||
        tape_run(&t, op, in, (unsigned)n, attrs, out, op_n_out(op)) != JANUS_OK)
        goto done;
    for (unsigned i = 0; i < op_n_out(op); i++)
        dy[i] = is_result(op, i, out[i]) ? weights_like(&t, out[i], i) : NULL;
    if (order > 1) {
        if (tape_backward(&t, out, dy, op_n_out(op)) != JANUS_OK)
            goto done;
        for (int i = 0; i < n; i++) {
            if (in[i] && in[i]->cot && in[i]->cot->needs) {
                y[n_y] = in[i]->cot;
                w[n_y] = weights_like(&t, y[n_y], (unsigned)i + 3);
                n_y++;
            }
        }
        tape_clear(&t);
    } else {
        for (unsigned i = 0; i < op_n_out(op); i++) {
            if (dy[i]) {
                y[n_y] = out[i];
                w[n_y++] = dy[i];
            }
        }
    }
    *sum = 0;
    for (unsigned k = 0; k < n_y; k++) {
        for (int64_t i = 0; i < y[k]->numel; i++)
            *sum += val_get(y[k], i) * val_get(w[k], i);
    }
    if (grads && tape_backward(&t, y, w, n_y) != JANUS_OK)
        goto done;
    for (int i = 0; grads && i < n; i++) {
        has[i] = in[i] && in[i]->needs;
        for (int64_t k = 0; has[i] && k < in[i]->numel && k < 256; k++)
            grads[i][k] = in[i]->cot ? val_get(in[i]->cot, k) : 0;
    }
    ok = true;
done:
    if (!ok)
        FAIL_SAMPLE(s, "order %d: %s", order, janus_last_error()->message);
    tape_free(&t);
    return ok;
}

static void check_gradient(const sample *s, int order) {
    static double grads[64][256];
    bool has[64] = {false};
    double sum, up, down, h = order == 1 ? 1e-6 : 1e-5;
    val *in[64];
    tape t;
    if (!evaluate(s, order, 0, 0, 0, &sum, grads, has))
        return;
    tape_init(&t, DEVICE_REF);
    int n = sample_operands(&t, s, JANUS_F64, seed_of(s), in);
    for (int i = 0; i < n; i++) {
        for (int64_t k = 0; has[i] && k < in[i]->numel && k < 256; k++) {
            if (!evaluate(s, order, i, k, h, &up, NULL, NULL) ||
                !evaluate(s, order, i, k, -h, &down, NULL, NULL))
                goto done;
            double expected = (up - down) / (2 * h);
            if (!close_to(grads[i][k], expected, 2e-5)) {
                FAIL_SAMPLE(s, "order %d, operand %d, element %lld: gradient %.9g, expected %.9g",
                            order, i, (long long)k, grads[i][k], expected);
                goto done;
            }
        }
    }
done:
    tape_free(&t);
}

static void gradients(void) {
    for (unsigned k = 0; k < n_samples; k++) {
        if (!(samples[k].flags & NO_GRAD) && op_of(&samples[k])->grad)
            check_gradient(&samples[k], 1);
    }
}

static void second_gradients(void) {
    for (unsigned k = 0; k < n_samples; k++) {
        if (!(samples[k].flags & (NO_GRAD | NO_GRAD2)) && op_of(&samples[k])->grad)
            check_gradient(&samples[k], 2);
    }
}

/* The same where a graph knows ranks but no sizes: the gradient comes out equal, or not at all. */
static void unknown_sizes(void) {
    static double known[64][256], got[64][256];
    bool has[64];
    double sum;
    for (unsigned k = 0; k < n_samples; k++) {
        const sample *s = &samples[k];
        if ((s->flags & NO_GRAD) || !op_of(s)->grad)
            continue;
        memset(known, 0, sizeof known);
        memset(got, 0, sizeof got);
        blurred = false;
        bool ok = evaluate(s, 1, 0, 0, 0, &sum, known, has);
        blurred = true;
        /* these need the sizes: of a matrix; of a src larger than its index */
        bool refuses = op_of(s)->id == JN_OP_ID_diag || strstr(s->operands, "i[2,2]<4 f[3,3]");
        ok = ok && !refuses && evaluate(s, 1, 0, 0, 0, &sum, got, has);
        blurred = false;
        for (int i = 0; ok && i < 64; i++) {
            for (int e = 0; e < 256; e++) {
                if (!close_to(got[i][e], known[i][e], 1e-12)) {
                    FAIL_SAMPLE(s, "operand %d: gradient of unknown sizes differs", i);
                    ok = false;
                    break;
                }
            }
        }
    }
}

/* Every rule is named by a row with a sample that checks it. */
static void gradient_coverage(void) {
    for (unsigned i = 0; i < jn_n_ops; i++) {
        bool found = !jn_ops[i].grad;
        for (unsigned k = 0; k < n_samples && !found; k++)
            found = strcmp(samples[k].op, jn_ops[i].name) == 0 && !(samples[k].flags & NO_GRAD);
        /* second-order rules are reached through the second order of their first-order op */
        found |= jn_ops[i].id == JN_OP_ID_batch_norm_grad ||
                 jn_ops[i].id == JN_OP_ID_layer_norm_grad ||
                 jn_ops[i].id == JN_OP_ID_attention_grad;
        if (!found)
            fprintf(stderr, "    no sample checks the gradient of %s\n", jn_ops[i].name);
        CU_ASSERT(found);
    }
}

/* ---- batching
 * --------------------------------------------------------------------------------------- */

enum { ROWS = 3 };

/* Row r of a batched value: a view. */
static val row_of(const val *v, const val *like, int r) {
    val row = *like;
    row.t.dims = row.dims;
    size_t size = jn_dtype_size((janus_dtype)like->t.dtype);
    row.data = v->data + (size_t)r * (size_t)like->numel * size;
    return row;
}

/* A batch of ROWS variants of an operand, rows in front. */
static val *batch_of(tape *t, val *const *variant) {
    int64_t dims[JN_MAX_RANK + 1] = {ROWS};
    jn_view v = val_view(variant[0]); /* of a scalar: 0-d */
    memcpy(dims + 1, variant[0]->dims, (size_t)v.rank * sizeof *dims);
    val *b = val_tensor(t, v.dtype, v.rank + 1, dims);
    for (int r = 0; r < ROWS; r++) {
        for (int64_t i = 0; i < variant[0]->numel; i++)
            val_set(b, r * variant[0]->numel + i, val_get(variant[r], i));
    }
    return b;
}

/* Scalars of the rows: the sample's, and the numbers that follow it. */
static void vary_scalar(tape *t, val *in[ROWS][64], int i) {
    for (int r = 1; r < ROWS; r++) {
        double v = val_get(in[0][i], 0) + r;
        janus_kind kind = (janus_kind)in[0][i]->t.kind;
        in[r][i] = val_scalar(t, kind,
                              kind == JANUS_KIND_FLOAT ? (janus_scalar){.f = v}
                                                       : (janus_scalar){.i = (int64_t)v});
    }
}

/* Tries the rule with operands of `mask` rowed. */
static void check_batch(const sample *s, unsigned mask) {
    const jn_op *op = op_of(s);
    const jn_op_impl *impl = &jn_op_impls[op->id];
    tape t;
    val *in[ROWS][64], *out[ROWS][8];
    void *attrs;
    bool rowed[64] = {false}, any = false;
    int n = 0;
    tape_init(&t, DEVICE_CPU);
    for (int r = 0; r < ROWS; r++)
        n = sample_operands(&t, s, JANUS_F32, seed_of(s) + (uint64_t)r * 1000, in[r]);
    for (int i = 0; i < n; i++) {
        uint8_t accept = accept_of(op, (unsigned)i);
        rowed[i] = in[0][i] && (mask >> i & 1) &&
                   (accept == JN_ACCEPT_TENSOR || accept == JN_ACCEPT_SCALAR);
        if (rowed[i] && accept == JN_ACCEPT_SCALAR)
            vary_scalar(&t, in, i);
        any |= rowed[i];
        for (int r = 1; r < ROWS && !rowed[i]; r++)
            in[r][i] = in[0][i];
    }
    if (!any || sample_attrs(&t, s, op, &attrs) != JANUS_OK)
        goto done;
    for (int r = 0; r < ROWS; r++) {
        if (tape_run(&t, op, in[r], (unsigned)n, attrs, out[r], op_n_out(op)) != JANUS_OK)
            goto done; /* values that one row refuses */
    }
    jn_view iv[64], ov[8];
    for (int i = 0; i < n; i++)
        iv[i] = val_view(in[0][i]);
    for (unsigned i = 0; i < op_n_out(op); i++)
        ov[i] = val_view(out[0][i]);
    jn_sig sig = {op, iv, ov, (uint16_t)n, (uint16_t)op_n_out(op), attrs};
    int64_t ints[2 * JN_MAX_RANK];
    const jn_op *by = impl->batch_rule(&sig, rowed, ROWS, attrs, ints);
    if (!by)
        goto done;
    /* the batched call, with results of the dims the executor gives them */
    val *bin[64], *bout[8];
    for (int i = 0; i < n; i++) {
        val *variants[ROWS] = {in[0][i], in[1][i], in[2][i]};
        bin[i] = rowed[i] ? batch_of(&t, variants) : in[0][i];
        iv[i] = val_view(bin[i]);
    }
    for (unsigned i = 0; i < op_n_out(op); i++) {
        val *variants[ROWS] = {out[0][i], out[1][i], out[2][i]};
        bout[i] = batch_of(&t, variants);
        ov[i] = val_view(bout[i]);
    }
    jn_sig batched = {by, iv, ov, (uint16_t)n, (uint16_t)op_n_out(op), attrs};
    uint32_t flags = 0;
    size_t ws = jn_op_impls[by->id].workspace ? jn_op_impls[by->id].workspace(&batched) : 0;
    void *workspace = ws ? jn_arena_alloc(&t.arena, ws + 64) : NULL;
    if (workspace)
        workspace = (char *)workspace + (64 - (uintptr_t)workspace % 64) % 64;
    jn_kargs k = {iv,          ov,
                  (uint16_t)n, (uint16_t)op_n_out(op),
                  attrs,       workspace,
                  &flags,      &jn_par_serial,
                  false,       op->id == JN_OP_ID_select || op->id == JN_OP_ID_index,
                  0,           NULL,
                  NULL,        NULL};
    for (int ref = 0; ref < 2; ref++) {
        for (unsigned i = 0; i < op_n_out(op); i++)
            memset(bout[i]->data, 0, (size_t)bout[i]->numel * jn_dtype_size(bout[i]->t.dtype));
        (ref ? jn_op_impls[by->id].ref : jn_op_impls[by->id].cpu) (&batched)(&k);
        for (unsigned i = 0; i < op_n_out(op); i++) {
            for (int r = 0; r < ROWS; r++) {
                val row = row_of(bout[i], out[r][i], r);
                compare(s, JANUS_F32, &row, out[r][i], ref ? "batched row, ref" : "batched row",
                        s->tol ? s->tol : 1e-5);
            }
        }
    }
done:
    tape_free(&t);
}

static void batch_rules(void) {
    for (unsigned k = 0; k < n_samples; k++) {
        const sample *s = &samples[k];
        if (!jn_op_impls[op_of(s)->id].batch_rule || strchr(s->operands, 't'))
            continue;
        for (unsigned mask = 1; mask < 32; mask++)
            check_batch(s, mask);
    }
}

/* ---- accumulating
 * ----------------------------------------------------------------------------------- */

static void check_accumulate(const sample *s, device dev) {
    const jn_op *op = op_of(s);
    const jn_op_impl *impl = &jn_op_impls[op->id];
    tape t;
    val *in[64], *out[8];
    jn_view iv[64], ov;
    void *attrs;
    int n;
    uint32_t flags = 0;
    tape_init(&t, dev);
    if (!run(&t, s, JANUS_F32, in, &n, out) || sample_attrs(&t, s, op, &attrs) != JANUS_OK)
        goto done;
    for (int i = 0; i < n; i++)
        iv[i] = val_view(in[i]);
    val *sum = val_tensor(&t, out[0]->t.dtype, out[0]->t.rank, out[0]->dims);
    for (int64_t i = 0; i < sum->numel; i++) {
        val_set(sum, i, weight(0, i) * 8);
        val_set(out[0], i, val_get(out[0], i) + val_get(sum, i));
    }
    ov = val_view(sum);
    jn_sig sig = {op, iv, &ov, (uint16_t)n, 1, attrs};
    jn_kernel_fn kernel = (dev == DEVICE_CPU ? impl->cpu : impl->ref)(&sig);
    size_t ws = impl->workspace ? impl->workspace(&sig) : 0;
    void *workspace = ws ? jn_alloc_aligned(ws) : NULL;
    jn_kargs k = {iv,   &ov,   (uint16_t)n, 1,    attrs, workspace, &flags, &jn_par_serial,
                  true, false, 0,           NULL, NULL,  NULL};
    kernel(&k);
    jn_free_aligned(workspace);
    compare(s, JANUS_F32, sum, out[0], dev == DEVICE_CPU ? "cpu, added" : "ref, added", 1e-5);
done:
    tape_free(&t);
}

static void accumulating(void) {
    unsigned n = 0;
    for (unsigned k = 0; k < n_samples; k++) {
        if (!(op_of(&samples[k])->flags & JN_OP_ADDS))
            continue;
        check_accumulate(&samples[k], DEVICE_REF);
        check_accumulate(&samples[k], DEVICE_CPU);
        n++;
    }
    CU_ASSERT(n > 0);
}

JN_TEST_MAIN("ops", {"every row has a sample", coverage},
             {"every gradient rule has a sample", gradient_coverage},
             {"inference with unknown dims", inference},
             {"fast kernels against reference kernels", fast_kernels},
             {"views against copies", views}, {"gradients against finite differences", gradients},
             {"gradients where sizes are unknown", unknown_sizes},
             {"second gradients against finite differences", second_gradients},
             {"batch rules against single rows", batch_rules},
             {"kernels that add to their result", accumulating})
