/* Derivatives against finite differences.
 *
 * A module's @f takes f64 tensors and ints and returns a one-element f64 tensor. gradcheck()
 * derives
 * @f with respect to the parameters asked for, runs both and compares; for order 2 it does the same
 * to half the sum of squares of that gradient, which calls the derived SubGraph, and so on.
 * Included by tests only.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JN_TESTS_GRADCHECK_H
#define JN_TESTS_GRADCHECK_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/autodiff/autodiff.h"
#include "graph/base/status.h"

enum { GRADCHECK_MAX = 12, GRADCHECK_ELEMENTS = 64 };

typedef struct gradcheck_args {
    unsigned n;
    janus_arg arg[GRADCHECK_MAX];
} gradcheck_args;

typedef struct gradcheck_options {
    const char *device;
    const int64_t *ints;    /* values of the int parameters, in order */
    const unsigned *params; /* differentiated by; NULL: every tensor parameter */
    unsigned n_params;
    int order;
    uint32_t seed;
    janus_run_stats *stats; /* of the last run of the gradient; may be NULL */
} gradcheck_options;

static inline double gradcheck_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return ((double)(*state >> 8) / (1 << 24) - 0.5) * 1.6;
}

/* What went wrong, with the innermost context. */
static inline bool gradcheck_fail(char *message, size_t n, const char *what) {
    const janus_error *e = janus_last_error();
    snprintf(message, n, "%s: %s%s%s", what, e->message, e->n_context ? ", " : "",
             e->n_context ? e->context[0] : "");
    return false;
}

static inline void gradcheck_free(gradcheck_args *a) {
    for (unsigned i = 0; i < a->n; i++)
        if (a->arg[i].kind == JANUS_KIND_TENSOR)
            janus_tensor_release(a->arg[i].t);
    a->n = 0;
}

static inline bool gradcheck_make_args(const jn_subgraph *f, const gradcheck_options *o,
                                       gradcheck_args *a) {
    uint32_t state = o->seed + 12345;
    unsigned at = 0;
    a->n = 0;
    for (size_t p = 0; p < f->params.n; p++) {
        const jn_type *t = f->params.data[p].type;
        janus_arg *arg = &a->arg[a->n];
        arg->kind = (janus_kind)t->kind;
        if (t->kind == JANUS_KIND_INT) {
            arg->s.i = o->ints[at++];
        } else {
            double v[GRADCHECK_ELEMENTS];
            for (int64_t i = 0; i < jn_type_numel(t); i++)
                v[i] = gradcheck_random(&state);
            if (janus_tensor_from_data(JANUS_F64, t->rank, t->dims, v, &arg->t) != JANUS_OK)
                return false;
        }
        a->n++;
    }
    return true;
}

static inline janus_status gradcheck_value(const jn_subgraph *f, const gradcheck_args *a,
                                           const gradcheck_options *o, double *out) {
    janus_run_options ro = JANUS_RUN_OPTIONS_INIT;
    ro.device = o->device;
    janus_arg r[GRADCHECK_MAX + 1];
    unsigned n = (unsigned)f->result_types.n;
    JN_TRY(janus_run(f, a->arg, a->n, &ro, r, n, NULL));
    *out = *(double *)janus_tensor_data(r[0].t);
    for (unsigned i = 0; i < n; i++)
        if (r[i].kind == JANUS_KIND_TENSOR)
            janus_tensor_release(r[i].t);
    return JANUS_OK;
}

/* Compares one parameter's gradient, element by element. */
static inline bool gradcheck_param(const jn_subgraph *f, gradcheck_args *a,
                                   const gradcheck_options *o, unsigned p, janus_tensor *grad,
                                   char *message, size_t size) {
    double *x = janus_tensor_data(a->arg[p].t), *g = janus_tensor_data(grad);
    int64_t n = jn_type_numel(f->params.data[p].type);
    for (int64_t i = 0; i < n; i++) {
        double at = x[i], eps = 1e-5, plus, minus;
        x[i] = at + eps;
        janus_status st = gradcheck_value(f, a, o, &plus);
        x[i] = at - eps;
        if (st == JANUS_OK)
            st = gradcheck_value(f, a, o, &minus);
        x[i] = at;
        if (st != JANUS_OK)
            return gradcheck_fail(message, size, "run");
        double fd = (plus - minus) / (2 * eps);
        if (!(fabs(fd - g[i]) <= 1e-6 * (1 + fabs(fd) + fabs(g[i])))) {
            snprintf(message, size,
                     "@%s, parameter %u, element %lld: derived %.10g, finite "
                     "difference %.10g",
                     f->name, p, (long long)i, g[i], fd);
            return false;
        }
    }
    return true;
}

static inline bool gradcheck_compare(const jn_subgraph *f, const jn_subgraph *vg,
                                     const unsigned *params, unsigned n_params,
                                     const gradcheck_options *o, char *message, size_t size) {
    gradcheck_args a;
    if (!gradcheck_make_args(f, o, &a))
        return gradcheck_fail(message, size, "arguments");
    janus_run_options ro = JANUS_RUN_OPTIONS_INIT;
    ro.device = o->device;
    janus_arg r[2 * GRADCHECK_MAX];
    unsigned n = (unsigned)vg->result_types.n, first = (unsigned)f->result_types.n;
    bool ok = janus_run(vg, a.arg, a.n, &ro, r, n, o->stats) == JANUS_OK;
    if (!ok)
        gradcheck_fail(message, size, "run of the gradient");
    unsigned n_results = ok ? n : 0;
    for (unsigned i = 0; ok && i < n_params; i++)
        ok = gradcheck_param(f, &a, o, params[i], r[first + i].t, message, size);
    for (unsigned i = 0; i < n_results; i++)
        if (r[i].kind == JANUS_KIND_TENSOR)
            janus_tensor_release(r[i].t);
    gradcheck_free(&a);
    return ok;
}

/* @name: half the sum of squares of the gradients that vg returns after its first n_skip results.
 */
static inline janus_status gradcheck_squares(jn_subgraph *vg, unsigned n_skip, const char *name,
                                             jn_subgraph **out) {
    jn_subgraph *g;
    jn_value in[GRADCHECK_MAX], r[2 * GRADCHECK_MAX], sum = JN_VALUE_NONE, half[2];
    jn_loc loc = {0};
    const jn_op *invoke = jn_op_find("invoke", 6), *mul = jn_op_find("mul", 3),
                *add = jn_op_find("add", 3), *total = jn_op_find("sum", 3),
                *like = jn_op_find("full_like", 9);
    JN_TRY(jn_subgraph_declare(vg->module, name, &g));
    for (size_t i = 0; i < vg->params.n; i++)
        JN_TRY(jn_subgraph_add_param(g, vg->params.data[i].name, vg->params.data[i].type, false,
                                     &in[i]));
    unsigned n = (unsigned)vg->result_types.n;
    JN_TRY(jn_build(g, invoke, in, (unsigned)vg->params.n, NULL, &vg, loc, r, n));
    for (unsigned i = n_skip; i < n; i++) {
        jn_value pair[2] = {r[i], r[i]}, sq;
        JN_TRY(jn_build(g, mul, pair, 2, NULL, NULL, loc, &sq, 1));
        JN_TRY(jn_build(g, total, &sq, 1, NULL, NULL, loc, &sq, 1));
        jn_value terms[2] = {sum, sq};
        if (jn_value_is_none(sum))
            sum = sq;
        else
            JN_TRY(jn_build(g, add, terms, 2, NULL, NULL, loc, &sum, 1));
    }
    JN_TRY(jn_build_scalar(g, JANUS_KIND_FLOAT, (janus_scalar){.f = 0.5}, loc, &half[0]));
    half[1] = sum;
    JN_TRY(jn_build(g, like, half, 2, NULL, NULL, loc, &half[1], 1));
    half[0] = sum;
    JN_TRY(jn_build(g, mul, half, 2, NULL, NULL, loc, &sum, 1));
    JN_TRY(jn_subgraph_define(g, &sum, 1));
    *out = g;
    return JANUS_OK;
}

/* False, with a message, when a derivative is wrong or something fails. */
static inline bool gradcheck(janus_module *m, const gradcheck_options *o, char *message,
                             size_t size) {
    jn_subgraph *f[8], *vg[8];
    unsigned params[GRADCHECK_MAX], n_params = o->n_params;
    f[0] = jn_module_find(m, "f", 1);
    if (o->params)
        memcpy(params, o->params, n_params * sizeof *params);
    else
        for (unsigned p = 0; p < f[0]->params.n; p++)
            if (f[0]->params.data[p].type->kind == JANUS_KIND_TENSOR)
                params[n_params++] = p;
    for (int k = 0; k < o->order; k++) {
        char name[32];
        if (k) {
            snprintf(name, sizeof name, "squares%d", k);
            if (gradcheck_squares(vg[k - 1], (unsigned)f[k - 1]->result_types.n, name, &f[k]) !=
                JANUS_OK)
                return gradcheck_fail(message, size, name);
        }
        snprintf(name, sizeof name, "vg%d", k);
        if (janus_value_and_grad(f[k], name, params, n_params, &vg[k]) != JANUS_OK)
            return gradcheck_fail(message, size, name);
    }
    if (janus_module_freeze(m) != JANUS_OK)
        return gradcheck_fail(message, size, "freeze");
    for (int k = 0; k < o->order; k++)
        if (!gradcheck_compare(f[k], vg[k], params, n_params, o, message, size))
            return false;
    return true;
}

#endif
