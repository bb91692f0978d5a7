/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing gradient rules down: an emitter whose values are places of a segment.
 *
 * Rules look at types alone, so what one emits for calls of one kind is the same for all of them.
 * A gradient that is summed ends in an acc.add, which the product or sum before it may do itself
 * (JN_OP_ADDS), as in segments of graphs.
 */
#include "config.h"

#include "exec/defer/defer_rule.h"

#include <string.h>

#include "graph/base/status.h"
#include "graph/ir/ir.h"
#include "ops/op_ids.h"

/* A value that the rule has seen. */
typedef struct known {
    jn_src src; /* INPUT: of the segment, once somebody reads it */
    jn_grad_source from;
    jn_type type;
    bool is_input, is_scalar;
    uint32_t uses; /* of a node's result: by nodes, and as gradients */
} known;

typedef struct writer {
    jn_emitter base;
    jn_grad_rule *rule;
    jn_arena *a;
    JN_VEC(known) values;
    JN_VEC(jn_segnode) nodes;
    JN_VEC(jn_grad_source) inputs;
    JN_VEC(jn_segscalar) scalars;
    JN_VEC(uint8_t) scalar_values;
    uint32_t n_results;
    jn_node *origin; /* what messages and measures look at */
} writer;

static known *known_of(writer *w, jn_ev v) { return &w->values.data[v.bits - 1]; }

static jn_ev add_known(writer *w, known k) {
    jn_ev v = JN_EV_NONE;
    if (jn_vec_push(&w->values, k))
        v.bits = w->values.n;
    return v;
}

static janus_status add_scalar(writer *w, jn_segscalar s, uint8_t value, jn_src *out) {
    *out = (jn_src){JN_SRC_SCALAR, 0, (uint32_t)w->scalars.n};
    return jn_vec_push(&w->scalars, s) && jn_vec_push(&w->scalar_values, value) ? JANUS_OK
                                                                                : JN_NO_MEMORY();
}

/* The source of an operand; an input is one from its first reader on. */
static janus_status source_of(writer *w, jn_ev v, jn_src *out) {
    known *k = known_of(w, v);
    if (k->is_input && k->src.kind == JN_SRC_NONE) {
        k->src = (jn_src){JN_SRC_INPUT, 0, (uint32_t)w->inputs.n};
        if (!jn_vec_push(&w->inputs, k->from))
            return JN_NO_MEMORY();
    }
    k->uses++;
    *out = k->src;
    return JANUS_OK;
}

static int64_t *dims_of(jn_infer *c, unsigned rank) {
    return jn_arena_alloc(c->user, (rank + 1) * sizeof(int64_t));
}

static janus_status infer(writer *w, const jn_segnode *n, const jn_ev *in, jn_type *out) {
    const jn_type *types[JN_MAX_RANK];
    const int64_t *values[JN_MAX_RANK] = {NULL};
    if (n->n_in > JN_MAX_RANK)
        return jn_error(JANUS_UNSUPPORTED, "%s: too many operands", n->op->name);
    for (unsigned i = 0; i < n->n_in; i++) {
        types[i] = jn_ev_is_none(in[i]) ? NULL : &known_of(w, in[i])->type;
        if (n->in[i].kind == JN_SRC_SCALAR && w->scalars.data[n->in[i].index].is_const)
            values[i] = &w->scalars.data[n->in[i].index].value;
    }
    jn_infer c = {n->op, n->n_in, types, values, n->attrs, n->n_out, out, dims_of, w->a};
    return jn_infer_run(&c);
}

static janus_status emit(jn_emitter *base, const jn_op *op, const jn_ev *in, unsigned n_in,
                         const void *attrs, jn_ev *out, unsigned n_out) {
    writer *w = (writer *)(void *)base;
    jn_type types[JN_RECIPE_OUT];
    jn_src *src = jn_arena_zalloc(w->a, (n_in + 1) * sizeof *src);
    uint32_t *value = jn_arena_alloc(w->a, (n_out + 1) * sizeof *value);
    const void *kept = NULL;
    if (op->role != JN_ROLE_COMPUTE || n_out > JN_RECIPE_OUT)
        return jn_error(JANUS_UNSUPPORTED, "%s: not in groups", op->name);
    if (!src || !value)
        return JN_NO_MEMORY();
    if (op->attr_size)
        JN_TRY(jn_attrs_copy(op, attrs, w->a, &kept));
    for (unsigned i = 0; i < n_in; i++) {
        src[i] = (jn_src){.kind = JN_SRC_NONE};
        if (!jn_ev_is_none(in[i]))
            JN_TRY(source_of(w, in[i], &src[i]));
    }
    jn_segnode n = {op, w->origin, kept, n_in, n_out, src, value, -1, -1};
    JN_TRY(infer(w, &n, in, types));
    for (unsigned i = 0; i < n_out; i++) {
        value[i] = w->n_results++;
        out[i] = add_known(
            w, (known){.src = {JN_SRC_NODE, (uint8_t)i, (uint32_t)w->nodes.n}, .type = types[i]});
        if (jn_ev_is_none(out[i]))
            return JN_NO_MEMORY();
    }
    return jn_vec_push(&w->nodes, n) ? JANUS_OK : JN_NO_MEMORY();
}

static janus_status emit_scalar(jn_emitter *base, janus_kind kind, janus_scalar v, jn_ev *out) {
    writer *w = (writer *)(void *)base;
    known k = {.type = jn_scalar_type(kind), .is_scalar = true};
    jn_segscalar s = {.slot = JN_NO_SLOT, .kind = (uint8_t)kind, .is_const = true, .value = v.i};
    JN_TRY(add_scalar(w, s, 0, &k.src));
    *out = add_known(w, k);
    return jn_ev_is_none(*out) ? JN_NO_MEMORY() : JANUS_OK;
}

static const jn_type *type_of(jn_emitter *base, jn_ev v) {
    return &known_of((writer *)(void *)base, v)->type;
}

static const jn_emitter_ops emitter_ops = {emit, emit_scalar, type_of};

/* Operand or result i of the call as the rule may see it. */
static janus_status visible(writer *w, const jn_call_kind *kind, unsigned i, const jn_type *type,
                            jn_ev *out) {
    const jn_operand_kind *o = i < kind->recipe.n_in ? &kind->in[i] : NULL;
    bool saved = w->rule->key.saved >> i & 1;
    known k = {.type = *type, .from = {saved ? JN_GRAD_VALUE : JN_GRAD_TYPE, (uint8_t)i}};
    *out = JN_EV_NONE;
    if (type->kind == JANUS_KIND_NONE)
        return JANUS_OK;
    k.is_input = type->kind == JANUS_KIND_TENSOR;
    k.is_scalar = !k.is_input;
    if (k.is_scalar) {
        if (!saved)
            return jn_error(JANUS_UNSUPPORTED, "a scalar that was not kept");
        jn_segscalar s = {.slot = JN_NO_SLOT,
                          .kind = type->kind,
                          .is_const = o && o->from == JN_FROM_CONST,
                          .value = o ? (int64_t)o->cell : 0};
        JN_TRY(add_scalar(w, s, (uint8_t)i, &k.src));
    }
    *out = add_known(w, k);
    return jn_ev_is_none(*out) ? JN_NO_MEMORY() : JANUS_OK;
}

static bool summable(const jn_type *t) { return t->dtype == JANUS_F32 || t->dtype == JANUS_F64; }

static bool same_type(const jn_type *a, const jn_type *b) {
    if (a->kind != JANUS_KIND_TENSOR || a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

/* The node that adds the gradient of operand i to its accumulator. */
static janus_status add_to_sum(writer *w, unsigned i, jn_ev v) {
    static uint32_t no_values[1];
    jn_src *in = jn_arena_zalloc(w->a, 2 * sizeof *in);
    jn_segnode n = {JN_OP(acc_add), w->origin, NULL, 2, 0, in, no_values, -1, -1};
    if (!in)
        return JN_NO_MEMORY();
    JN_TRY(source_of(w, v, &in[1]));
    n.acc = (int32_t)w->rule->seg.n_accs;
    w->rule->acc_operand[w->rule->seg.n_accs++] = (uint8_t)i;
    w->rule->din[i].from = JN_GRAD_ADDED;
    return jn_vec_push(&w->nodes, n) ? JANUS_OK : JN_NO_MEMORY();
}

/* Outputs are results of nodes, each once. */
static janus_status add_output(writer *w, unsigned i, jn_ev v, jn_src *output, jn_ev *values) {
    known *k = known_of(w, v);
    jn_grad_rule *r = w->rule;
    if (k->is_input) {
        r->din[i] = (jn_grad_din){k->from.from, k->from.index, true};
        return k->from.from == JN_GRAD_TYPE ? jn_error(JANUS_UNSUPPORTED, "no elements") : JANUS_OK;
    }
    k->uses++;
    r->din[i].from = JN_GRAD_OUTPUT;
    for (uint32_t o = 0; o < r->seg.n_outputs; o++)
        if (values[o].bits == v.bits) {
            r->din[i].index = (uint8_t)o;
            for (unsigned j = 0; j <= i; j++)
                r->din[j].shared |= r->din[j].from == JN_GRAD_OUTPUT && r->din[j].index == o;
            return JANUS_OK;
        }
    values[r->seg.n_outputs] = v;
    output[r->seg.n_outputs] = k->src;
    r->din[i].index = (uint8_t)r->seg.n_outputs++;
    return JANUS_OK;
}

/* What becomes of the gradients. */
static janus_status finish(writer *w, const jn_ev *din, const jn_type *types) {
    jn_grad_rule *r = w->rule;
    jn_src *output = jn_arena_alloc(w->a, JN_RECIPE_IN * sizeof *output);
    jn_ev values[JN_RECIPE_IN];
    if (!output)
        return JN_NO_MEMORY();
    for (unsigned i = 0; i < r->n_in; i++) {
        bool row = r->key.row >> i & 1, sum = r->key.sum >> i & 1;
        if (jn_ev_is_none(din[i]) || !(row || sum))
            continue;
        const jn_type *t = &known_of(w, din[i])->type;
        if (!same_type(t, &types[i]) || !summable(t))
            return jn_error(JANUS_UNSUPPORTED, "a gradient of another type");
        if (row)
            JN_TRY(add_output(w, i, din[i], output, values));
        else
            JN_TRY(add_to_sum(w, i, din[i]));
    }
    for (size_t i = 0; i < w->nodes.n; i++) {
        const jn_segnode *add = &w->nodes.data[i];
        if (add->acc < 0 || add->in[1].kind != JN_SRC_NODE)
            continue;
        jn_segnode *p = &w->nodes.data[add->in[1].index];
        for (size_t v = 0; v < w->values.n; v++) {
            const known *k = &w->values.data[v];
            if (k->src.kind == JN_SRC_NODE && k->src.index == add->in[1].index && k->uses == 1 &&
                p->n_out == 1 && p->op->flags & JN_OP_ADDS)
                p->fused_acc = add->acc;
        }
    }
    r->seg.output = output;
    return JANUS_OK;
}

/* There may be nothing to copy. */
static void *copied(jn_arena *a, const void *data, size_t bytes) {
    void *p = jn_arena_alloc(a, bytes + 1);
    if (p && bytes)
        memcpy(p, data, bytes);
    return p;
}

static janus_status specialise(writer *w, const jn_type *types, unsigned n_in, jn_planset *set) {
    jn_grad_rule *r = w->rule;
    jn_segment *seg = &r->seg;
    seg->n_nodes = (uint32_t)w->nodes.n;
    seg->n_inputs = (uint32_t)w->inputs.n;
    seg->n_scalars = (uint32_t)w->scalars.n;
    seg->n_values = w->n_results;
    seg->nodes = copied(w->a, w->nodes.data, w->nodes.n * sizeof *w->nodes.data);
    r->input = copied(w->a, w->inputs.data, w->inputs.n * sizeof *w->inputs.data);
    seg->scalars = copied(w->a, w->scalars.data, w->scalars.n * sizeof *w->scalars.data);
    r->scalar = copied(w->a, w->scalar_values.data, w->scalar_values.n);
    const jn_shape **in = jn_arena_zalloc(w->a, (seg->n_inputs + 1) * sizeof *in);
    int64_t *none = jn_arena_zalloc(w->a, (seg->n_scalars + 1) * sizeof *none);
    if (!seg->nodes || !r->input || !seg->scalars || !r->scalar || !in || !none)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < seg->n_inputs; i++) {
        jn_grad_source s = r->input[i];
        const jn_type *t = &types[s.from == JN_GRAD_GIVEN ? n_in + s.index : s.index];
        if (!(in[i] = jn_shape_intern(&set->shapes, (janus_dtype)t->dtype, t->rank, t->dims)))
            return JN_NO_MEMORY();
    }
    return seg->n_nodes ? jn_segment_specialise(seg, set, in, none, &r->inst) : JANUS_OK;
}

static janus_status write(writer *w, const jn_call_kind *k, const jn_type *types, jn_planset *set) {
    unsigned n_in = k->recipe.n_in, n_out = k->recipe.n_out;
    jn_ev value[JN_GRAD_VALUES], given[JN_RECIPE_OUT], din[JN_RECIPE_IN];
    bool want[JN_RECIPE_IN];
    for (unsigned i = 0; i < n_in + n_out; i++)
        JN_TRY(visible(w, k, i, &types[i], &value[i]));
    for (unsigned i = 0; i < n_out; i++) {
        given[i] = JN_EV_NONE;
        if (!(w->rule->key.given >> i & 1))
            continue;
        given[i] = add_known(w, (known){.type = types[n_in + i],
                                        .is_input = true,
                                        .from = {JN_GRAD_GIVEN, (uint8_t)i}});
        if (jn_ev_is_none(given[i]))
            return JN_NO_MEMORY();
    }
    for (unsigned i = 0; i < n_in; i++) {
        din[i] = JN_EV_NONE;
        want[i] = (w->rule->key.row | w->rule->key.sum) >> i & 1;
    }
    const jn_op *op = k->recipe.op;
    jn_grad g = {
        &w->base, op, op->attr_size ? k->attrs : NULL, n_in, n_out, value, value + n_in, given,
        want,     din};
    JN_TRY(op->grad(&g));
    JN_TRY(finish(w, din, types));
    return specialise(w, types, n_in, set);
}

jn_grad_rule *jn_grad_rule_new(jn_call_kind *k, const jn_grad_key *key, const jn_type *types,
                               jn_planset *set) {
    jn_grad_rule *r = jn_arena_zalloc(&k->arena, sizeof *r);
    if (!r)
        return NULL;
    writer w = {.base = {&emitter_ops}, .rule = r, .a = &k->arena};
    r->key = *key;
    r->n_in = k->recipe.n_in;
    w.origin = jn_arena_zalloc(&k->arena, sizeof *w.origin);
    if (w.origin)
        w.origin->op = k->recipe.op;
    r->alone = !w.origin || write(&w, k, types, set) != JANUS_OK;
    jn_vec_free(&w.values);
    jn_vec_free(&w.nodes);
    jn_vec_free(&w.inputs);
    jn_vec_free(&w.scalars);
    jn_vec_free(&w.scalar_values);
    return r;
}
