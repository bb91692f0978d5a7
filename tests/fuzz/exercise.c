/* What a fuzzer does with a module: see exercise.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec/store/store.h"
#include "graph/ir/ir.h"
#include "graph/passes/passes.h"
#include "graph/text/text.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "ops/ref/ref.h"
#include "tests/fuzz/exercise.h"

enum { MOST_BYTES = 64 << 20, MAX_RESULTS = 16, MAX_ARGS = 16, MOST_HALVES = 256 };
static const double most_seconds = 0.3;

uint64_t fuzz_random(fuzz_rng *r) {
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    return r->state ^= r->state << 17;
}

unsigned fuzz_below(fuzz_rng *r, unsigned n) { return (unsigned)((fuzz_random(r) >> 11) % n); }

/* ---- values -----------------------------------------------------------------------------------
 */

static double number(fuzz_rng *r, bool odd) {
    static const double rare[] = {0.0,       -0.0, 1.0,  -1.0,   INFINITY,
                                  -INFINITY, NAN,  1e30, -1e-30, 300};
    if (odd && fuzz_once_in(r, 4))
        return rare[fuzz_below(r, sizeof rare / sizeof *rare)];
    return (double)(fuzz_random(r) >> 11) / (double)(UINT64_C(1) << 53) * 4 - 2;
}

static int64_t integer(fuzz_rng *r, bool odd) {
    static const int64_t rare[] = {
        -1, 100, -100, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_C(1) << 32, 255, 1 << 20};
    if (odd && fuzz_once_in(r, 4))
        return rare[fuzz_below(r, sizeof rare / sizeof *rare)];
    return (int64_t)fuzz_below(r, 3);
}

janus_scalar fuzz_scalar(fuzz_rng *r, janus_kind kind) {
    janus_scalar s = {.i = (int64_t)fuzz_below(r, 2)};
    bool odd = fuzz_once_in(r, 3);
    if (kind == JANUS_KIND_INT)
        s.i = integer(r, odd);
    else if (kind == JANUS_KIND_FLOAT)
        s.f = number(r, odd);
    return s;
}

/* In a block of its own, so that a sanitizer sees what lies beside it. */
static void release_block(void *block) { free(block); }

janus_tensor *fuzz_tensor(fuzz_rng *r, janus_dtype dtype, int rank, const int64_t *dims) {
    int64_t strides[JN_MAX_RANK], n = 1;
    bool odd = fuzz_once_in(r, 4), columns = rank > 1 && fuzz_once_in(r, 4);
    int a = columns ? (int)fuzz_below(r, (unsigned)rank) : 0, b = rank - 1;
    for (int i = rank; i-- > 0;) {
        int d = i == a ? b : i == b ? a : i; /* two dims change places in memory */
        if (!columns)
            d = i;
        strides[d] = n;
        n *= dims[d];
    }
    size_t item = jn_dtype_size(dtype);
    char *block = malloc((size_t)n * item + (n == 0));
    janus_tensor *t = NULL;
    if (!block)
        return NULL;
    jn_view v = {.data = block, .rank = 0, .dtype = (uint8_t)dtype};
    for (int64_t i = 0; i < n; i++) {
        if (jn_dtype_is_float(dtype))
            jn_store_f(&v, i, number(r, odd));
        else
            jn_store_i(&v, i, dtype == JANUS_BOOL ? fuzz_below(r, 2) : integer(r, odd));
    }
    if (janus_tensor_wrap(dtype, rank, dims, strides, block, release_block, block, &t) != JANUS_OK)
        free(block);
    return t;
}

void fuzz_release(janus_arg *a, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (a[i].kind == JANUS_KIND_TENSOR)
            janus_tensor_release(a[i].t);
        a[i].kind = JANUS_KIND_NONE;
    }
}

/* ---- comparing --------------------------------------------------------------------------------
 */

static double tolerance(int d) {
    /* halves: the reference rounds every step of a sum, kernels only its result; of long sums
       nothing is left to compare (MOST_HALVES) */
    return d == JANUS_F64 ? 1e-9 : d == JANUS_F32 ? 1e-4 : d == JANUS_F16 ? 0.05 : 0.3;
}

/* That of the coarsest float dtype that a module computes with. */
static double tolerance_of(const janus_module *m) {
    double most = 1e-9;
    for (size_t s = 0; s < m->subs.n; s++) {
        const jn_subgraph *g = m->subs.data[s];
        for (size_t i = 0; i < g->nodes.n; i++) {
            if (g->nodes.data[i]->op == JN_OP(adam_step))
                return INFINITY; /* 1 - beta^step for a step near 0: nothing but rounding */
            for (unsigned k = 0; k < g->nodes.data[i]->n_out; k++) {
                const jn_type *t = g->nodes.data[i]->out[k];
                if (t->kind == JANUS_KIND_TENSOR && jn_dtype_is_float(t->dtype))
                    most = fmax(most, tolerance(t->dtype));
            }
        }
    }
    return most;
}

static bool near(double x, double y, double tol) {
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y);
    return x == y || fabs(x - y) <= tol * (1 + fmax(fabs(x), fabs(y)));
}

static double element(janus_tensor *t, int64_t i) {
    int64_t at = 0;
    for (int d = t->rank; d-- > 0; i /= t->dims[d])
        at += i % t->dims[d] * t->strides[d];
    jn_view v = {.data = janus_tensor_data(t), .rank = 0, .dtype = (uint8_t)t->dtype};
    return jn_load_f(&v, at);
}

/* What becomes of infinities, NaN and what overflows is compared with PyTorch (tests/torch): the
 * reference computes in double, and leaves out products with zeros. */
static bool finite_all(const janus_arg *a, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (a[i].kind == JANUS_KIND_FLOAT && !(fabs(a[i].s.f) < 1e18))
            return false;
        for (int64_t e = 0; a[i].kind == JANUS_KIND_TENSOR && e < a[i].t->numel; e++)
            if (!(fabs(element(a[i].t, e)) < 1e18) && jn_dtype_is_float(a[i].t->dtype))
                return false;
    }
    return true;
}

/* How far apart elements may be, and what the first one becomes where the arguments move by a
 * rounding, NULL: not asked. */
typedef struct bounds {
    double tol;
    bool finite;
    const janus_arg *moved[2];
} bounds;

static bool equal_tensors(janus_tensor *a, janus_tensor *b, const bounds *most, unsigned result,
                          char *why, size_t size) {
    double tol = most->tol;
    if (a->dtype != b->dtype || a->rank != b->rank ||
        memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) != 0)
        return snprintf(why, size, "another dtype or shape"), false;
    if (!jn_dtype_is_float(a->dtype))
        tol = 0;
    else if (!most->finite)
        return true;
    for (int64_t i = 0; i < a->numel; i++) {
        double x = element(a, i), y = element(b, i), moves = 0;
        if (near(x, y, tol))
            continue;
        for (int k = 0; k < 2 && most->moved[k]; k++)
            moves = fmax(moves, fabs(element(most->moved[k][result].t, i) - x));
        if (fabs(x - y) <= 4 * moves)
            continue;
        snprintf(why, size, "element %lld of %lld: %.9g and %.9g", (long long)i,
                 (long long)a->numel, x, y);
        return false;
    }
    return true;
}

/* Whether result i comes from arguments in one step: after more, a float that was rounded
 * otherwise can be another integer. */
static bool one_step(const jn_subgraph *f, unsigned i) {
    const jn_node *n = jn_value_node(f, f->results.data[i]);
    for (unsigned k = 0; k < n->n_in; k++)
        if (n->in[k].node != 0 && !jn_value_is_none(n->in[k]) &&
            jn_value_node(f, n->in[k])->op->role != JN_ROLE_CONST)
            return false;
    return true;
}

static bool equal(const jn_subgraph *f, const janus_arg *a, const janus_arg *b, bounds most,
                  char *why, size_t size) {
    unsigned n = (unsigned)f->result_types.n;
    char what[160] = "another kind";
    most.finite = most.finite && finite_all(a, n);
    for (unsigned i = 0; i < n; i++) {
        bool ok = a[i].kind == b[i].kind;
        if (ok && !one_step(f, i) &&
            !(a[i].kind == JANUS_KIND_TENSOR && jn_dtype_is_float(a[i].t->dtype)))
            continue;
        if (ok && a[i].kind == JANUS_KIND_TENSOR)
            ok = equal_tensors(a[i].t, b[i].t, &most, i, what, sizeof what);
        else if (ok && a[i].kind == JANUS_KIND_FLOAT)
            ok = near(a[i].s.f, b[i].s.f, most.tol) || !most.finite ||
                 (snprintf(what, sizeof what, "%.17g and %.17g", a[i].s.f, b[i].s.f), false);
        else if (ok && (a[i].kind == JANUS_KIND_INT || a[i].kind == JANUS_KIND_BOOL))
            ok = a[i].s.i == b[i].s.i || (snprintf(what, sizeof what, "%lld and %lld",
                                                   (long long)a[i].s.i, (long long)b[i].s.i),
                                          false);
        if (!ok)
            return snprintf(why, size, "result %u: %s", i, what), false;
    }
    return true;
}

/* ---- running ----------------------------------------------------------------------------------
 */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static janus_status poll(void *until) {
    return now() < *(double *)until ? JANUS_OK : JANUS_CANCELLED;
}

typedef struct outcome {
    janus_status st;
    unsigned n;
    janus_arg r[MAX_RESULTS];
    char message[200];
} outcome;

static void run(const jn_subgraph *f, const janus_arg *args, unsigned n_args, const char *device,
                janus_numerics numerics, outcome *o) {
    double until = now() + most_seconds;
    janus_host_ops host = {.struct_size = sizeof host, .poll = poll};
    janus_run_options ro = JANUS_RUN_OPTIONS_INIT;
    ro.device = device;
    ro.numerics = numerics;
    ro.byte_ceiling = MOST_BYTES;
    ro.host = &host;
    ro.host_ctx = &until;
    ro.rng_seed = 5;
    *o = (outcome){.n = (unsigned)f->result_types.n};
    o->st = janus_run(f, args, n_args, &ro, o->r, o->n, NULL);
    if (o->st != JANUS_OK) {
        o->n = 0;
        snprintf(o->message, sizeof o->message, "%.190s", janus_last_error()->message);
    }
}

/* Not a difference: one of them has not got to where the other is. */
static bool gave_up(janus_status st) {
    return st == JANUS_NO_MEMORY || st == JANUS_UNSUPPORTED || st == JANUS_CANCELLED;
}

static void complain(fuzz_counts *counts, const jn_subgraph *f, const char *what,
                     const char *more) {
    counts->wrong++;
    fprintf(stderr, "@%s: %s: %s\n", f ? f->name : "?", what, more);
}

/* An argument with each element moved by a rounding, up and down in turn, or the other way round.
 */
static janus_arg moved(const janus_arg *a, int way) {
    if (a->kind != JANUS_KIND_TENSOR || !jn_dtype_is_float(a->t->dtype))
        return *a;
    janus_arg to = {.kind = JANUS_KIND_NONE};
    double by = a->t->dtype == JANUS_F64 ? 0x1p-52 : a->t->dtype == JANUS_F32 ? 0x1p-23 : 0x1p-10;
    if (jn_tensor_empty(a->t->dtype, a->t->rank, a->t->dims, &to.t) != JANUS_OK)
        return to;
    to.kind = JANUS_KIND_TENSOR;
    jn_view v = {.data = janus_tensor_data(to.t), .rank = 0, .dtype = (uint8_t)a->t->dtype};
    for (int64_t i = 0; i < a->t->numel; i++)
        jn_store_f(&v, i, element(a->t, i) * (1 + ((i + way) % 2 ? by : -by)));
    return to;
}

static void run_moved(const jn_subgraph *f, const janus_arg *args, unsigned n, int way,
                      outcome *o) {
    janus_arg to[MAX_ARGS];
    unsigned made = 0;
    *o = (outcome){.st = JANUS_NO_MEMORY};
    for (; made < n && made < MAX_ARGS; made++)
        if ((to[made] = moved(&args[made], way)).kind == JANUS_KIND_NONE)
            break;
    if (made == n)
        run(f, to, n, "ref", JANUS_NUMERICS_FAST, o);
    for (unsigned i = 0; i < made; i++)
        if (to[i].kind == JANUS_KIND_TENSOR && to[i].t != args[i].t)
            janus_tensor_release(to[i].t);
}

/* Whether they are as far apart as a rounding of the arguments moves what the reference gives:
 * beside a pole of lgamma an element is nothing else. */
static bool moves_as_far(const jn_subgraph *f, const outcome *a, const outcome *b,
                         const janus_arg *args, unsigned n_args, bounds most) {
    outcome o[2];
    char why[256];
    bool ok = true;
    for (int k = 0; k < 2; k++) {
        run_moved(f, args, n_args, k, &o[k]);
        ok = ok && o[k].st == JANUS_OK;
        most.moved[k] = o[k].r;
    }
    ok = ok && equal(f, a->r, b->r, most, why, sizeof why);
    for (int k = 0; k < 2; k++)
        fuzz_release(o[k].r, o[k].n);
    return ok;
}

static void compare(fuzz_counts *counts, const jn_subgraph *f, const outcome *a, const outcome *b,
                    bounds most, const janus_arg *args, unsigned n_args, const char *what) {
    char why[256];
    if (gave_up(a->st) || gave_up(b->st))
        return;
    if ((a->st == JANUS_OK) != (b->st == JANUS_OK)) {
        snprintf(why, sizeof why, "%s raises (%s), the other does not",
                 a->st == JANUS_OK ? "the second" : "the first",
                 a->st == JANUS_OK ? b->message : a->message);
        complain(counts, f, what, why);
    } else if (a->st == JANUS_OK && !equal(f, a->r, b->r, most, why, sizeof why) &&
               !moves_as_far(f, a, b, args, n_args, most)) {
        complain(counts, f, what, why);
    }
}

/* What a run gives is what inference said. */
static void typed(fuzz_counts *counts, const jn_subgraph *f, const outcome *o) {
    for (unsigned i = 0; i < o->n; i++) {
        const jn_type *want = f->result_types.data[i];
        jn_type got = jn_scalar_type(o->r[i].kind);
        if (o->r[i].kind == JANUS_KIND_TENSOR)
            got = jn_tensor_type((janus_dtype)o->r[i].t->dtype, o->r[i].t->rank, o->r[i].t->dims);
        if (got.kind != want->kind || (got.kind == JANUS_KIND_TENSOR && !jn_type_fits(&got, want)))
            complain(counts, f, "a result is not of its type", jn_type_text_of(want).s);
    }
}

/* ---- deriving ---------------------------------------------------------------------------------
 */

/* @loss: the sum of tanh of all float results, in f64. */
static janus_status build_loss(janus_module *m, const jn_subgraph *f, jn_subgraph **out) {
    jn_value in[64], res[MAX_RESULTS], sum = JN_VALUE_NONE;
    jn_subgraph *g;
    JN_TRY(jn_subgraph_declare(m, "fuzz_loss", &g));
    if (f->params.n > 64 || f->result_types.n > MAX_RESULTS)
        return jn_error(JANUS_UNSUPPORTED, "too many");
    for (size_t i = 0; i < f->params.n; i++)
        JN_TRY(jn_subgraph_add_param(g, f->params.data[i].name, f->params.data[i].type, false,
                                     &in[i]));
    jn_subgraph *subs[2] = {(jn_subgraph *)f, NULL};
    JN_TRY(jn_build(g, JN_OP(invoke), in, (unsigned)f->params.n, NULL, subs, (jn_loc){0}, res,
                    (unsigned)f->result_types.n));
    for (size_t i = 0; i < f->result_types.n; i++) {
        const jn_type *t = f->result_types.data[i];
        jn_value v = res[i], two[2];
        if (t->kind != JANUS_KIND_TENSOR || !jn_dtype_is_float(t->dtype))
            continue;
        janus_cast_attrs to = {sizeof to, JANUS_F64};
        JN_TRY(jn_build(g, JN_OP(cast), &v, 1, &to, NULL, (jn_loc){0}, &v, 1));
        JN_TRY(jn_build(g, JN_OP(tanh), &v, 1, NULL, NULL, (jn_loc){0}, &v, 1));
        JN_TRY(jn_build(g, JN_OP(sum), &v, 1, NULL, NULL, (jn_loc){0}, &v, 1));
        two[0] = sum, two[1] = v;
        if (jn_value_is_none(sum))
            sum = v;
        else
            JN_TRY(jn_build(g, JN_OP(add), two, 2, NULL, NULL, (jn_loc){0}, &sum, 1));
    }
    if (jn_value_is_none(sum))
        return jn_error(JANUS_UNSUPPORTED, "no float result");
    *out = g;
    return jn_subgraph_define(g, &sum, 1);
}

static janus_status derive(janus_module *m, const jn_subgraph *f, jn_subgraph **out) {
    unsigned params[64], n = 0;
    jn_subgraph *loss = NULL;
    JN_TRY(build_loss(m, f, &loss));
    for (unsigned i = 0; i < f->params.n && n < MAX_RESULTS - 1; i++) {
        const jn_type *t = f->params.data[i].type;
        if (t->kind == JANUS_KIND_TENSOR && jn_dtype_is_float(t->dtype))
            params[n++] = i;
    }
    if (!n)
        return jn_error(JANUS_UNSUPPORTED, "nothing to differentiate by");
    return janus_value_and_grad(loss, "fuzz_grad", params, n, out);
}

/* ---- all of it --------------------------------------------------------------------------------
 */

static janus_module *parsed(const char *text, size_t n) {
    janus_module *m = NULL;
    return jn_parse_module(text, n, "fuzz", &m) == JANUS_OK ? m : NULL;
}

/* Reads as the same text again. */
static void same_again(fuzz_counts *counts, const jn_subgraph *f) {
    jn_str first = {0}, second = {0};
    janus_module *again = NULL;
    jn_print_module(f->module, &first);
    if (jn_parse_module(first.data, first.n, "again", &again) != JANUS_OK) {
        complain(counts, f, "what was printed is not read", janus_last_error()->message);
    } else {
        jn_print_module(again, &second);
        if (first.n != second.n || memcmp(first.data, second.data, first.n) != 0)
            complain(counts, f, "printed, read and printed", "another text");
    }
    jn_module_release(again);
    jn_str_free(&first);
    jn_str_free(&second);
}

static bool sizes_known(const jn_subgraph *g) {
    for (size_t i = 0; i < g->params.n; i++)
        if (g->params.data[i].type->kind == JANUS_KIND_TENSOR &&
            !jn_type_static(g->params.data[i].type))
            return false;
    return true;
}

static void run_gradient(const jn_subgraph *g, const janus_arg *args, unsigned n_args,
                         const outcome *value, fuzz_counts *counts) {
    outcome ref, cpu;
    run(g, args, n_args, "ref", JANUS_NUMERICS_FAST, &ref);
    run(g, args, n_args, "cpu", JANUS_NUMERICS_FAST, &cpu);
    /* of unknown sizes a rule may take for granted what the run then refuses */
    if (value->st == JANUS_OK && ref.st != JANUS_OK && !gave_up(ref.st) && sizes_known(g))
        complain(counts, g, "the gradient raises", ref.message);
    else if (value->st == JANUS_OK)
        compare(counts, g, &ref, &cpu,
                (bounds){.tol = 100 * tolerance_of(g->module),
                         .finite = finite_all(args, n_args) && finite_all(value->r, value->n)},
                args, n_args, "gradients, ref and cpu");
    typed(counts, g, &ref);
    fuzz_release(ref.r, ref.n);
    fuzz_release(cpu.r, cpu.n);
}

void fuzz_exercise(const char *text, size_t n, const char *name, const janus_arg *args,
                   unsigned n_args, fuzz_counts *counts) {
    janus_module *plain = parsed(text, n), *m = parsed(text, n);
    jn_subgraph *f, *g = NULL;
    outcome ref, cpu, exact;
    if (!plain || !m)
        goto out;
    counts->modules++;
    f = jn_module_find(m, name, strlen(name));
    if (derive(m, f, &g) == JANUS_OK) {
        counts->differentiated++;
    } else { /* @fuzz_loss may lack its body */
        jn_module_release(m);
        if (!(m = parsed(text, n)))
            goto out;
        f = jn_module_find(m, name, strlen(name));
    }
    bool whole = jn_verify_module(m) == JANUS_OK;
    if (jn_optimize(m) == JANUS_OK && whole && jn_verify_module(m) != JANUS_OK)
        complain(counts, f, "optimised, it is not valid", janus_last_error()->message);
    same_again(counts, f);
    if (jn_module_freeze(plain) != JANUS_OK || jn_module_freeze(m) != JANUS_OK)
        goto out;
    run(jn_module_find(plain, name, strlen(name)), args, n_args, "ref", JANUS_NUMERICS_FAST, &ref);
    run(f, args, n_args, "cpu", JANUS_NUMERICS_FAST, &cpu);
    run(f, args, n_args, "cpu", JANUS_NUMERICS_EXACT, &exact);
    counts->ran += ref.st == JANUS_OK;
    counts->raised += ref.st != JANUS_OK && !gave_up(ref.st);
    double tol = tolerance_of(plain);
    for (unsigned i = 0; i < n_args; i++)
        if (args[i].kind == JANUS_KIND_TENSOR && args[i].t->numel > MOST_HALVES && tol > 0.01)
            tol = INFINITY;
    bounds most = {.tol = tol, .finite = finite_all(args, n_args)};
    compare(counts, f, &ref, &cpu, most, args, n_args, "ref and cpu");
    compare(counts, f, &cpu, &exact, most, args, n_args, "fast and exact");
    typed(counts, f, &ref);
    typed(counts, f, &cpu);
    if (g)
        run_gradient(g, args, n_args, &ref, counts);
    fuzz_release(ref.r, ref.n);
    fuzz_release(cpu.r, cpu.n);
    fuzz_release(exact.r, exact.n);
out:
    jn_module_release(plain);
    jn_module_release(m);
}
