/* Appending nodes: checks, inference, and the graph emitter.
 *
 * A failed call leaves the SubGraph as it was (memory taken from the arena is lost until the module
 * goes).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/ir/ir.h"

#include <string.h>

/* ---- scalar constants -------------------------------------------------------------------------
 *
 * The one row of role CONST with attributes kind, i and f.
 */

typedef struct const_layout {
    const jn_attr_spec *kind, *i, *f;
} const_layout;

static bool const_layout_of(const jn_op *op, const_layout *out) {
    *out = (const_layout){jn_attr_find(op, "kind", 4), jn_attr_find(op, "i", 1),
                          jn_attr_find(op, "f", 1)};
    return op->role == JN_ROLE_CONST && out->kind && out->i && out->f;
}

bool jn_const_value(const jn_node *n, janus_kind *kind, janus_scalar *out) {
    const_layout at;
    if (!n->op || !const_layout_of(n->op, &at))
        return false;
    const char *a = n->attrs;
    *kind = (janus_kind) * (const int64_t *)(a + at.kind->offset);
    if (*kind == JANUS_KIND_FLOAT)
        out->f = *(const double *)(a + at.f->offset);
    else
        out->i = *(const int64_t *)(a + at.i->offset);
    return true;
}

janus_status jn_scalar_const(jn_arena *arena, janus_kind kind, janus_scalar v, const jn_op **out_op,
                             const void **out_attrs) {
    static const char name[] = "s.const";
    const jn_op *op = jn_op_find(name, sizeof name - 1);
    const_layout at;
    if (!op || !const_layout_of(op, &at))
        return jn_error(JANUS_INTERNAL, "the op table has no row %s of the expected form", name);
    if (kind != JANUS_KIND_INT && kind != JANUS_KIND_FLOAT && kind != JANUS_KIND_BOOL)
        return jn_error(JANUS_INVALID_ARGUMENT, "a scalar constant is an int, a float or a bool");
    char *attrs = jn_arena_alloc(arena, op->attr_size);
    if (!attrs)
        return JN_NO_MEMORY();
    JN_TRY(jn_attrs_default(op, attrs));
    *(int64_t *)(attrs + at.kind->offset) = kind;
    if (kind == JANUS_KIND_FLOAT)
        *(double *)(attrs + at.f->offset) = v.f;
    else
        *(int64_t *)(attrs + at.i->offset) = kind == JANUS_KIND_BOOL ? v.i != 0 : v.i;
    *out_op = op;
    *out_attrs = attrs;
    return JANUS_OK;
}

janus_status jn_build_scalar(jn_subgraph *g, janus_kind kind, janus_scalar v, jn_loc loc,
                             jn_value *out) {
    JN_SCRATCH(scratch, 256);
    const jn_op *op;
    const void *attrs;
    janus_status st = jn_scalar_const(&scratch, kind, v, &op, &attrs);
    if (st == JANUS_OK)
        st = jn_build(g, op, NULL, 0, attrs, NULL, loc, out, 1);
    jn_arena_free(&scratch);
    return st;
}

/* ---- inference of a node ----------------------------------------------------------------------
 */

static int64_t *dims_from_arena(jn_infer *c, unsigned rank) {
    return jn_arena_alloc(c->user, rank * sizeof(int64_t));
}

static janus_status check_rank(const jn_op *op, const jn_type *t) {
    if ((t->kind == JANUS_KIND_TENSOR || t->kind == JANUS_KIND_ACC) && t->rank > JN_MAX_RANK)
        return jn_error(JANUS_SHAPE, "%s: result of rank %d, at most %d is supported", op->name,
                        t->rank, JN_MAX_RANK);
    return JANUS_OK;
}

janus_status jn_infer_node(const jn_subgraph *g, const jn_op *op, const jn_value *in, unsigned n_in,
                           const void *attrs, jn_subgraph *const *subs, jn_arena *scratch,
                           unsigned n_out, jn_type **out_types, unsigned *out_n) {
    const jn_type **types = jn_arena_alloc(scratch, n_in * sizeof *types);
    const int64_t **cv = jn_arena_alloc(scratch, n_in * sizeof *cv);
    janus_scalar *values = jn_arena_alloc(scratch, n_in * sizeof *values);
    if (!types || !cv || !values)
        return JN_NO_MEMORY();
    for (unsigned i = 0; i < n_in; i++) {
        janus_kind kind;
        types[i] = NULL;
        cv[i] = NULL;
        if (jn_value_is_none(in[i]))
            continue;
        if (in[i].node >= g->nodes.n || in[i].index >= g->nodes.data[in[i].node]->n_out)
            return jn_error(JANUS_INVALID_ARGUMENT, "%s: operand %u is no value of @%s", op->name,
                            i, g->name);
        types[i] = jn_value_type(g, in[i]);
        if (types[i]->kind == JANUS_KIND_NONE)
            types[i] = NULL;
        else if (jn_const_value(jn_value_node(g, in[i]), &kind, &values[i]) &&
                 kind != JANUS_KIND_FLOAT)
            cv[i] = &values[i].i;
    }
    if (jn_op_is_structural(op)) {
        JN_TRY(jn_control_infer(g, op, types, n_in, attrs, subs, scratch, out_types, out_n));
        if (n_out != UINT32_MAX && n_out != *out_n)
            return jn_error(JANUS_INVALID_ARGUMENT, "%s: has %u result%s, %u asked for", op->name,
                            *out_n, *out_n == 1 ? "" : "s", n_out);
    } else {
        if (n_out == UINT32_MAX)
            n_out = op->n_out == 255 ? 1 : op->n_out;
        jn_infer c = {.op = op,
                      .n_in = n_in,
                      .in = types,
                      .cv = cv,
                      .attrs = attrs,
                      .n_out = n_out,
                      .dims_of = dims_from_arena,
                      .user = scratch};
        c.out = jn_arena_zalloc(scratch, n_out * sizeof *c.out);
        if (!c.out)
            return JN_NO_MEMORY();
        JN_TRY(jn_infer_run(&c));
        *out_types = c.out;
        *out_n = n_out;
    }
    for (unsigned i = 0; i < *out_n; i++)
        JN_TRY(check_rank(op, &(*out_types)[i]));
    return JANUS_OK;
}

/* ---- appending --------------------------------------------------------------------------------
 */

janus_status jn_append_node(jn_subgraph *g, const jn_op *op, const jn_value *in, unsigned n_in,
                            const void *attrs, jn_subgraph *const *subs, jn_loc loc,
                            const jn_type *types, unsigned n_out, jn_node **out_node) {
    janus_module *m = g->module;
    const void *own_attrs;
    JN_TRY(jn_attrs_copy(op, attrs, &m->arena, &own_attrs));
    jn_node *n = jn_arena_zalloc(&m->arena, sizeof *n);
    jn_value *own_in = jn_arena_dup(&m->arena, in, n_in * sizeof *in);
    const jn_type **out = jn_arena_alloc(&m->arena, n_out * sizeof *out);
    if (!n || !own_in || !out || g->nodes.n >= UINT32_MAX - 1 ||
        !jn_vec_reserve(&g->nodes, g->nodes.n + 1))
        return JN_NO_MEMORY();
    for (unsigned i = 0; i < n_out; i++) {
        if (!(out[i] = jn_type_intern(m, &types[i])))
            return JN_NO_MEMORY();
    }
    if (loc.file && !(loc.file = jn_module_intern_str(m, loc.file)))
        return JN_NO_MEMORY();
    *n = (jn_node){.op = op,
                   .id = (uint32_t)g->nodes.n,
                   .n_in = n_in,
                   .n_out = n_out,
                   .in = own_in,
                   .out = out,
                   .attrs = own_attrs,
                   .loc = loc};
    for (unsigned i = 0; i < jn_op_n_subs(op); i++)
        n->subs[i] = subs[i];
    (void)jn_vec_push(&g->nodes, n);
    *out_node = n;
    return JANUS_OK;
}

static void add_context(const jn_subgraph *g, const jn_op *op, jn_loc loc) {
    if (loc.file)
        jn_error_context("in @%s, node %%%zu = %s, %s:%u", g->name, g->nodes.n, op->name, loc.file,
                         loc.line);
    else
        jn_error_context("in @%s, node %%%zu = %s", g->name, g->nodes.n, op->name);
}

/* A value that is none, where an operand may be left out, is one that is left out: inference sees
 * none there, and kernels must not see a value. */
static void leave_out_none(const jn_subgraph *g, jn_node *n) {
    for (unsigned i = 0; i < n->n_in; i++)
        if (!jn_value_is_none(n->in[i]) && jn_value_type(g, n->in[i])->kind == JANUS_KIND_NONE &&
            jn_op_accept(n->op, i) != JN_ACCEPT_ANY)
            n->in[i] = JN_VALUE_NONE;
}

janus_status jn_build(jn_subgraph *g, const jn_op *op, const jn_value *in, unsigned n_in,
                      const void *attrs, jn_subgraph *const *subs, jn_loc loc, jn_value *out,
                      unsigned n_out) {
    JN_SCRATCH(scratch, 2048);
    janus_status st;
    jn_type *types;
    jn_node *node;
    unsigned n;
    const void *full = attrs;
    JN_GO(jn_check_building(g), failed);
    /* The rule sees a complete struct: one from outside may be shorter. */
    if (!attrs || (op->attr_size && *(const size_t *)attrs != op->attr_size))
        JN_GO(jn_attrs_copy(op, attrs, &scratch, &full), failed);
    JN_GO(
        jn_infer_node(g, op, in, n_in, full, subs, &scratch, out ? n_out : UINT32_MAX, &types, &n),
        failed);
    JN_GO(jn_append_node(g, op, in, n_in, full, subs, loc, types, n, &node), failed);
    leave_out_none(g, node);
    for (unsigned i = 0; out && i < n; i++)
        out[i] = (jn_value){node->id, i};
    jn_arena_free(&scratch);
    return JANUS_OK;
failed:
    add_context(g, op, loc);
    jn_arena_free(&scratch);
    return st;
}

/* ---- the graph emitter ------------------------------------------------------------------------
 */

static janus_status emit(jn_emitter *base, const jn_op *op, const jn_ev *in, unsigned n_in,
                         const void *attrs, jn_ev *out, unsigned n_out) {
    jn_graph_emitter *e = (jn_graph_emitter *)base;
    JN_SCRATCH(scratch, 512);
    jn_value *values = jn_arena_alloc(&scratch, n_in * sizeof *values);
    jn_value *results = jn_arena_alloc(&scratch, n_out * sizeof *results);
    janus_status st;
    if (!values || !results) {
        st = JN_NO_MEMORY();
    } else {
        for (unsigned i = 0; i < n_in; i++)
            values[i] = jn_value_of_ev(in[i]);
        st = jn_build(e->g, op, values, n_in, attrs, NULL, e->loc, results, n_out);
        for (unsigned i = 0; st == JANUS_OK && i < n_out; i++)
            out[i] = jn_ev_of_value(results[i]);
    }
    jn_arena_free(&scratch);
    return st;
}

static janus_status emit_scalar(jn_emitter *base, janus_kind kind, janus_scalar v, jn_ev *out) {
    jn_graph_emitter *e = (jn_graph_emitter *)base;
    jn_value value;
    JN_TRY(jn_build_scalar(e->g, kind, v, e->loc, &value));
    *out = jn_ev_of_value(value);
    return JANUS_OK;
}

static const jn_type *emitted_type(jn_emitter *base, jn_ev v) {
    static const jn_type none = {.kind = JANUS_KIND_NONE};
    jn_graph_emitter *e = (jn_graph_emitter *)base;
    return jn_ev_is_none(v) ? &none : jn_value_type(e->g, jn_value_of_ev(v));
}

void jn_graph_emitter_init(jn_graph_emitter *e, jn_subgraph *g) {
    static const jn_emitter_ops ops = {emit, emit_scalar, emitted_type};
    *e = (jn_graph_emitter){.base = {&ops}, .g = g};
}
