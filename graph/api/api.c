/* The public calls on modules and SubGraphs: argument checks around their jn_ counterparts. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/draw/draw.h"
#include "graph/ir/ir.h"
#include "graph/passes/passes.h"
#include "graph/text/text.h"

#include <string.h>

static janus_status missing(const char *function, const char *what) {
    return jn_error(JANUS_INVALID_ARGUMENT, "%s: %s is NULL", function, what);
}

#define NEED(p)                                                                                    \
    do {                                                                                           \
        if (!(p))                                                                                  \
            return missing(__func__, #p);                                                          \
    } while (0)

/* ---- modules ----------------------------------------------------------------------------------
 */

janus_status janus_module_new(janus_module **out_module) {
    NEED(out_module);
    return jn_module_new(out_module);
}

void janus_module_retain(janus_module *m) {
    if (m)
        jn_module_retain(m);
}

void janus_module_release(janus_module *m) { jn_module_release(m); }

janus_status janus_module_parse(const char *text, size_t n, const char *name,
                                janus_module **out_module) {
    NEED(text);
    NEED(out_module);
    return jn_parse_module(text, n, name ? name : "text", out_module);
}

static janus_status take(jn_str *s, char **out_text) {
    char *text = jn_str_take(s);
    if (!text)
        return JN_NO_MEMORY();
    *out_text = text;
    return JANUS_OK;
}

janus_status janus_module_print(const janus_module *m, char **out_text) {
    jn_str s = {0};
    NEED(m);
    NEED(out_text);
    jn_print_module(m, &s);
    return take(&s, out_text);
}

janus_status janus_module_dot(const janus_module *m, char **out_text) {
    jn_str s = {0};
    NEED(m);
    NEED(out_text);
    jn_print_dot(m, &s);
    return take(&s, out_text);
}

janus_status janus_module_json(const janus_module *m, char **out_text) {
    jn_str s = {0};
    NEED(m);
    NEED(out_text);
    jn_print_json(m, &s);
    return take(&s, out_text);
}

janus_status janus_module_optimize(janus_module *m) {
    NEED(m);
    return jn_optimize(m);
}

janus_status janus_module_freeze(janus_module *m) {
    NEED(m);
    return jn_module_freeze(m);
}

janus_subgraph *janus_module_find(const janus_module *m, const char *name) {
    return m && name ? jn_module_find(m, name, strlen(name)) : NULL;
}

/* ---- SubGraphs --------------------------------------------------------------------------------
 */

/* Public types come from outside: kinds, dtypes and dims may be anything. */
static janus_status type_of(const janus_module *m, const janus_type *t, jn_type *out) {
    if (!t || t->kind < JANUS_KIND_NONE || t->kind > JANUS_KIND_ACC)
        return jn_error(JANUS_INVALID_ARGUMENT, "type: unknown kind");
    *out = jn_scalar_type(t->kind);
    if (t->kind == JANUS_KIND_FRAME) {
        if (!t->frame_of)
            return jn_error(JANUS_INVALID_ARGUMENT, "type: a frame needs frame_of");
        if (t->frame_of->module != m)
            return jn_error(JANUS_INVALID_ARGUMENT, "type: a frame of @%s of another module",
                            t->frame_of->name);
        out->frame_of = t->frame_of;
    }
    if (t->kind != JANUS_KIND_TENSOR && t->kind != JANUS_KIND_ACC)
        return JANUS_OK;
    if ((int)t->dtype < 0 || (int)t->dtype >= JANUS_DTYPE_COUNT)
        return jn_error(JANUS_DTYPE, "type: unknown dtype %d", (int)t->dtype);
    if (t->rank < JN_RANK_UNKNOWN || t->rank > JN_MAX_RANK || (t->rank > 0 && !t->dims))
        return jn_error(JANUS_SHAPE, "type: rank %d, expected -1 (unknown) to %d, with dims",
                        t->rank, JN_MAX_RANK);
    for (int i = 0; i < t->rank; i++) {
        if (t->dims[i] < JN_DIM_UNKNOWN)
            return jn_error(JANUS_SHAPE, "type: dim %d is %lld, expected a size or -1 (unknown)", i,
                            (long long)t->dims[i]);
    }
    out->dtype = (uint8_t)t->dtype;
    out->rank = (int16_t)t->rank;
    out->dims = t->dims;
    return JANUS_OK;
}

janus_status janus_subgraph_declare(janus_module *m, const char *name, const janus_type *results,
                                    unsigned n_results, janus_subgraph **out_sub) {
    NEED(m);
    NEED(name);
    NEED(out_sub);
    if (n_results)
        NEED(results);
    if (m->frozen)
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s: the module is frozen", name);
    JN_SCRATCH(scratch, 512);
    janus_status st = JANUS_OK;
    jn_subgraph *g;
    const jn_type **types = jn_arena_alloc(&scratch, n_results * sizeof *types);
    if (!types)
        JN_GO(JN_NO_MEMORY(), done);
    for (unsigned i = 0; i < n_results; i++) {
        jn_type t;
        JN_GO(type_of(m, &results[i], &t), done);
        if (!(types[i] = jn_type_intern(m, &t)))
            JN_GO(JN_NO_MEMORY(), done);
    }
    JN_GO(jn_subgraph_declare(m, name, &g), done);
    JN_GO(jn_subgraph_set_result_types(g, types, n_results), done);
    *out_sub = g;
done:
    jn_arena_free(&scratch);
    return st;
}

janus_status janus_subgraph_param(janus_subgraph *g, const char *name, const janus_type *type,
                                  bool shared, janus_value *out_value) {
    jn_type t;
    NEED(g);
    NEED(type);
    NEED(out_value);
    JN_TRY(jn_check_building(g));
    JN_TRY(type_of(g->module, type, &t));
    return jn_subgraph_add_param(g, name, &t, shared, out_value);
}

janus_status janus_subgraph_define(janus_subgraph *g, const janus_value *results, unsigned n) {
    NEED(g);
    if (n)
        NEED(results);
    return jn_subgraph_define(g, results, n);
}

janus_type janus_value_type(const janus_subgraph *g, janus_value v) {
    janus_type none = {.kind = JANUS_KIND_NONE};
    if (!g || v.node >= g->nodes.n || v.index >= g->nodes.data[v.node]->n_out)
        return none;
    const jn_type *t = jn_value_type(g, v);
    return (janus_type){.kind = (janus_kind)t->kind,
                        .dtype = (janus_dtype)t->dtype,
                        .rank = t->rank,
                        .dims = t->dims,
                        .frame_of = t->frame_of};
}

void janus_subgraph_at(janus_subgraph *g, const char *file, unsigned line, unsigned col) {
    if (!g || g->module->frozen)
        return;
    /* Without memory the position is lost, nothing else. */
    const char *own = file ? jn_module_intern_str(g->module, file) : NULL;
    g->at = own ? (jn_loc){own, line, col} : (jn_loc){0};
}

/* ---- building ---------------------------------------------------------------------------------
 */

static janus_status build(const char *function, jn_subgraph *g, const char *name,
                          const jn_value *in, unsigned n_in, const void *attrs,
                          jn_subgraph *const *subs, jn_value *out, unsigned n_out) {
    if (!g || (n_in && !in) || (n_out && !out))
        return missing(function, !g ? "g" : n_in && !in ? "in" : "out");
    const jn_op *op = jn_op_find(name, strlen(name));
    if (!op)
        return jn_error(JANUS_NOT_FOUND, "there is no op named %s", name);
    if (jn_op_n_subs(op) && !subs)
        return jn_error(JANUS_INVALID_ARGUMENT, "%s: refers to SubGraphs, use its own call", name);
    jn_value unused;
    return jn_build(g, op, in, n_in, attrs, subs, g->at, n_out ? out : &unused, n_out);
}

janus_status janus_build(janus_subgraph *g, const char *op, const janus_value *in, unsigned n_in,
                         const void *attrs, janus_value *out, unsigned n_out) {
    NEED(op);
    return build(__func__, g, op, in, n_in, attrs, NULL, out, n_out);
}

static janus_status build_scalar(jn_subgraph *g, janus_kind kind, janus_scalar v,
                                 janus_value *out) {
    if (!g || !out)
        return missing("janus_build_scalar", !g ? "g" : "out");
    return jn_build_scalar(g, kind, v, g->at, out);
}

janus_status janus_build_int(janus_subgraph *g, int64_t v, janus_value *out) {
    return build_scalar(g, JANUS_KIND_INT, (janus_scalar){.i = v}, out);
}

janus_status janus_build_float(janus_subgraph *g, double v, janus_value *out) {
    return build_scalar(g, JANUS_KIND_FLOAT, (janus_scalar){.f = v}, out);
}

janus_status janus_build_bool(janus_subgraph *g, bool v, janus_value *out) {
    return build_scalar(g, JANUS_KIND_BOOL, (janus_scalar){.i = v}, out);
}

janus_status janus_build_invoke(janus_subgraph *g, janus_subgraph *callee, const janus_value *in,
                                unsigned n_in, janus_value *out, unsigned n_out) {
    return build(__func__, g, "invoke", in, n_in, NULL, &callee, out, n_out);
}

/* The operand that decides, in front of the others. */
static janus_status build_with_first(const char *function, jn_subgraph *g, const char *op,
                                     jn_value first, jn_subgraph *const *subs, const jn_value *in,
                                     unsigned n_in, jn_value *out, unsigned n_out) {
    if (n_in && !in)
        return missing(function, "in");
    JN_SCRATCH(scratch, 512);
    janus_status st = JANUS_OK;
    jn_value *all = n_in == UINT32_MAX ? NULL : jn_arena_alloc(&scratch, (n_in + 1) * sizeof *all);
    if (!all) {
        st = JN_NO_MEMORY();
    } else {
        all[0] = first;
        if (n_in)
            memcpy(all + 1, in, n_in * sizeof *in);
        st = build(function, g, op, all, n_in + 1, NULL, subs, out, n_out);
    }
    jn_arena_free(&scratch);
    return st;
}

janus_status janus_build_if(janus_subgraph *g, janus_value cond, janus_subgraph *then_sub,
                            janus_subgraph *else_sub, const janus_value *in, unsigned n_in,
                            janus_value *out, unsigned n_out) {
    jn_subgraph *subs[2] = {then_sub, else_sub};
    return build_with_first(__func__, g, "if", cond, subs, in, n_in, out, n_out);
}

janus_status janus_build_while(janus_subgraph *g, janus_subgraph *cond, janus_subgraph *body,
                               const janus_value *in, unsigned n_in, janus_value *out,
                               unsigned n_out) {
    jn_subgraph *subs[2] = {cond, body};
    return build(__func__, g, "while", in, n_in, NULL, subs, out, n_out);
}

janus_status janus_build_foreach(janus_subgraph *g, janus_value count, janus_subgraph *body,
                                 const janus_value *in, unsigned n_in, janus_value *out,
                                 unsigned n_out) {
    return build_with_first(__func__, g, "foreach", count, &body, in, n_in, out, n_out);
}
