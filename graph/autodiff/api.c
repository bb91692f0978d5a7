/* SPDX-License-Identifier: Apache-2.0 */
/* janus_value_and_grad: a function and its gradient as one SubGraph, for C programs. */
#include "config.h"

#include <string.h>

#include "graph/autodiff/autodiff.h"
#include "graph/autodiff/undo.h"
#include "graph/base/status.h"

static const jn_op *op_named(const char *name) { return jn_op_find(name, strlen(name)); }

static janus_status check(const jn_subgraph *f, const unsigned *params, unsigned n_params) {
    if (!f->defined)
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s has no body yet: it cannot be differentiated",
                        f->name);
    const jn_type *y = f->result_types.n ? f->result_types.data[0] : NULL;
    if (!y || y->kind != JANUS_KIND_TENSOR || !jn_dtype_is_float(y->dtype))
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s: result 0 is not a float tensor", f->name);
    int64_t numel = jn_type_numel(y);
    if (numel >= 0 && numel != 1)
        return jn_error(JANUS_SHAPE, "@%s: result 0 has %lld elements, expected one", f->name,
                        (long long)numel);
    for (unsigned i = 0; i < n_params; i++) {
        const jn_type *t = params[i] < f->params.n ? f->params.data[params[i]].type : NULL;
        if (!t)
            return jn_error(JANUS_INVALID_ARGUMENT, "@%s has %zu parameters, no parameter %u",
                            f->name, f->params.n, params[i]);
        if (t->kind != JANUS_KIND_TENSOR || !jn_dtype_is_float(t->dtype))
            return jn_error(JANUS_DTYPE, "@%s: parameter %u (%s) is not a float tensor", f->name,
                            params[i], f->params.data[params[i]].name);
    }
    return JANUS_OK;
}

/* `v` filled with `value`, in the shape of `like`. */
static janus_status filled(jn_subgraph *g, double value, jn_value like, jn_value *out) {
    jn_value in[2] = {JN_VALUE_NONE, like};
    jn_loc loc = {0};
    JN_TRY(jn_build_scalar(g, JANUS_KIND_FLOAT, (janus_scalar){.f = value}, loc, &in[0]));
    return jn_build(g, op_named("full_like"), in, 2, NULL, NULL, loc, out, 1);
}

static janus_status build(jn_subgraph *f, const char *name, const unsigned *params,
                          unsigned n_params, jn_value *in, jn_value *out, jn_value *x,
                          const jn_type **types, jn_subgraph **out_sub) {
    unsigned n_out = (unsigned)f->result_types.n;
    jn_loc loc = {0};
    jn_value dy;
    jn_subgraph *g;
    JN_TRY(jn_subgraph_declare(f->module, name, &g));
    for (size_t i = 0; i < f->params.n; i++)
        JN_TRY(jn_subgraph_add_param(g, f->params.data[i].name, f->params.data[i].type, false,
                                     &in[i]));
    JN_TRY(jn_build(g, op_named("invoke"), in, (unsigned)f->params.n, NULL, &f, loc, out, n_out));
    for (unsigned i = 0; i < n_params; i++)
        x[i] = in[params[i]];
    JN_TRY(filled(g, 1.0, out[0], &dy));
    JN_TRY(jn_grad_emit(g, out, &dy, 1, x, n_params, out + n_out, NULL));
    for (unsigned i = 0; i < n_params; i++)
        if (jn_value_is_none(out[n_out + i]))
            JN_TRY(filled(g, 0.0, x[i], &out[n_out + i]));
    for (unsigned i = 0; i < n_out; i++)
        types[i] = f->result_types.data[i];
    for (unsigned i = 0; i < n_params; i++)
        types[n_out + i] = f->params.data[params[i]].type;
    JN_TRY(jn_subgraph_set_result_types(g, types, n_out + n_params));
    JN_TRY(jn_subgraph_define(g, out, n_out + n_params));
    *out_sub = g;
    return JANUS_OK;
}

/* Everything that f may call must have a body. */
static janus_status check_bodies(const jn_subgraph *f) {
    const janus_module *m = f->module;
    bool *seen = jn_calloc(m->subs.n, sizeof *seen);
    const jn_subgraph **todo = jn_calloc(m->subs.n, sizeof *todo);
    size_t n = 0;
    janus_status st = seen && todo ? JANUS_OK : JN_NO_MEMORY();
    if (st == JANUS_OK) {
        todo[n++] = f;
        seen[f->index] = true;
    }
    while (st == JANUS_OK && n > 0) {
        const jn_subgraph *g = todo[--n];
        if (!g->defined)
            st = jn_error(JANUS_INVALID_ARGUMENT,
                          "@%s has no body yet: it cannot be differentiated", g->name);
        for (size_t i = 1; st == JANUS_OK && i < g->nodes.n; i++) {
            const jn_node *node = g->nodes.data[i];
            for (unsigned k = 0; k < jn_op_n_subs(node->op); k++) {
                const jn_subgraph *sub = node->subs[k];
                if (seen[sub->index])
                    continue;
                seen[sub->index] = true;
                todo[n++] = sub;
            }
        }
    }
    jn_free(todo);
    jn_free(seen);
    return st;
}

static janus_status value_and_grad(jn_subgraph *f, const char *name, const unsigned *params,
                                   unsigned n_params, jn_subgraph **out_sub) {
    size_t n_out = f->result_types.n + n_params;
    jn_value *values = jn_calloc(f->params.n + n_out + n_params + 1, sizeof *values);
    const jn_type **types = jn_calloc(n_out, sizeof *types);
    janus_status st = JANUS_OK;
    if (!values || !types)
        st = JN_NO_MEMORY();
    else
        st = build(f, name, params, n_params, values, values + f->params.n,
                   values + f->params.n + n_out, types, out_sub);
    jn_free(types);
    jn_free(values);
    return st;
}

janus_status janus_value_and_grad(janus_subgraph *f, const char *name, const unsigned *params,
                                  unsigned n_params, janus_subgraph **out_sub) {
    if (!f || !name || !out_sub || (n_params && !params))
        return jn_error(JANUS_INVALID_ARGUMENT, "janus_value_and_grad: %s is NULL",
                        !f         ? "f"
                        : !name    ? "name"
                        : !out_sub ? "out_sub"
                                   : "params");
    if (f->module->frozen)
        return jn_error(JANUS_INVALID_ARGUMENT,
                        "@%s: the module is frozen: differentiate it before", f->name);
    JN_TRY(check(f, params, n_params));
    JN_TRY(check_bodies(f));
    jn_mark mark;
    JN_TRY(jn_mark_set(&mark, f->module));
    janus_status st = value_and_grad(f, name, params, n_params, out_sub);
    if (st == JANUS_OK) {
        jn_mark_forget(&mark);
        return JANUS_OK;
    }
    jn_mark_restore(&mark);
    return st;
}
