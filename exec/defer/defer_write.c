/* SPDX-License-Identifier: Apache-2.0 */
/* The emitter that writes a segment: see exec/defer/defer_write.h. */
#include "config.h"

#include "exec/defer/defer_write.h"

#include <string.h>

#include "graph/base/status.h"
#include "graph/ir/ir.h"
#include "ops/kernel.h"
#include "ops/op_ids.h"

static janus_status add_value(jn_writer *w, jn_written k, jn_ev *out) {
    *out = JN_EV_NONE;
    if (!jn_vec_push(&w->values, k))
        return JN_NO_MEMORY();
    out->bits = w->values.n;
    return JANUS_OK;
}

/* The source of an operand; an input is one from its first reader on. */
static janus_status source_of(jn_writer *w, jn_ev v, jn_src *out) {
    jn_written *k = jn_writer_of(w, v);
    if (k->is_input && k->src.kind == JN_SRC_NONE) {
        k->src = (jn_src){JN_SRC_INPUT, 0, (uint32_t)w->inputs.n};
        if (!jn_vec_push(&w->inputs, *k))
            return JN_NO_MEMORY();
    }
    k->uses++;
    *out = k->src;
    return JANUS_OK;
}

static int64_t *dims_of(jn_infer *c, unsigned rank) {
    return jn_arena_alloc(c->user, (rank + 1) * sizeof(int64_t));
}

static janus_status infer(jn_writer *w, const jn_segnode *n, const jn_ev *in, jn_type *out) {
    const jn_type *few_types[JN_MAX_RANK], **types = few_types;
    const int64_t *few_values[JN_MAX_RANK] = {NULL}, **values = few_values;
    if (n->n_in > JN_MAX_RANK) {
        types = jn_arena_zalloc(w->a, n->n_in * sizeof *types);
        values = jn_arena_zalloc(w->a, n->n_in * sizeof *values);
        if (!types || !values)
            return JN_NO_MEMORY();
    }
    for (unsigned i = 0; i < n->n_in; i++) {
        types[i] = jn_ev_is_none(in[i]) ? NULL : &jn_writer_of(w, in[i])->type;
        if (n->in[i].kind == JN_SRC_SCALAR && w->scalars.data[n->in[i].index].is_const)
            values[i] = &w->scalars.data[n->in[i].index].value;
    }
    jn_infer c = {n->op, n->n_in, types, values, n->attrs, n->n_out, out, dims_of, w->a};
    return jn_infer_run(&c);
}

static janus_status emit(jn_emitter *base, const jn_op *op, const jn_ev *in, unsigned n_in,
                         const void *attrs, jn_ev *out, unsigned n_out) {
    jn_writer *w = (jn_writer *)(void *)base;
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
        JN_TRY(add_value(
            w,
            (jn_written){.src = {JN_SRC_NODE, (uint8_t)i, (uint32_t)w->nodes.n}, .type = types[i]},
            &out[i]));
    }
    return jn_vec_push(&w->nodes, n) ? JANUS_OK : JN_NO_MEMORY();
}

janus_status jn_writer_scalar(jn_writer *w, jn_segscalar s, uint32_t index, jn_ev *out) {
    jn_written k = {.type = jn_scalar_type((janus_kind)s.kind),
                    .is_scalar = true,
                    .src = {JN_SRC_SCALAR, 0, (uint32_t)w->scalars.n}};
    if (!jn_vec_push(&w->scalars, s) || !jn_vec_push(&w->scalar_values, index))
        return JN_NO_MEMORY();
    return add_value(w, k, out);
}

static janus_status emit_scalar(jn_emitter *base, janus_kind kind, janus_scalar v, jn_ev *out) {
    jn_segscalar s = {.slot = JN_NO_SLOT, .kind = (uint8_t)kind, .is_const = true, .value = v.i};
    return jn_writer_scalar((jn_writer *)(void *)base, s, 0, out);
}

static const jn_type *type_of(jn_emitter *base, jn_ev v) {
    return &jn_writer_of((jn_writer *)(void *)base, v)->type;
}

static const jn_emitter_ops emitter_ops = {emit, emit_scalar, type_of};

janus_status jn_writer_init(jn_writer *w, jn_segment *seg, jn_arena *a, const jn_op *named) {
    *w = (jn_writer){.base = {&emitter_ops}, .seg = seg, .a = a};
    w->origin = jn_arena_zalloc(a, sizeof *w->origin);
    if (!w->origin)
        return JN_NO_MEMORY();
    w->origin->op = named;
    return JANUS_OK;
}

void jn_writer_free(jn_writer *w) {
    jn_vec_free(&w->values);
    jn_vec_free(&w->nodes);
    jn_vec_free(&w->inputs);
    jn_vec_free(&w->scalars);
    jn_vec_free(&w->scalar_values);
    jn_vec_free(&w->outputs);
}

janus_status jn_writer_input(jn_writer *w, const jn_type *type, jn_grad_source from, jn_ev *out) {
    return add_value(w, (jn_written){.type = *type, .from = from, .is_input = true}, out);
}

bool jn_type_same_tensor(const jn_type *a, const jn_type *b) {
    if (a->kind != JANUS_KIND_TENSOR || b->kind != JANUS_KIND_TENSOR || a->dtype != b->dtype ||
        a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

janus_status jn_writer_output(jn_writer *w, jn_ev v, uint32_t *index) {
    jn_written *k = jn_writer_of(w, v);
    *index = (uint32_t)w->outputs.n;
    k->uses++;
    return jn_vec_push(&w->outputs, k->src) ? JANUS_OK : JN_NO_MEMORY();
}

bool jn_writer_is_table(jn_writer *w, jn_ev v) {
    const jn_written *k = jn_writer_of(w, v);
    return k->src.kind == JN_SRC_NODE &&
           jn_op_impls[w->nodes.data[k->src.index].op->id].sums == JN_SUMS_TABLE;
}

janus_status jn_writer_add_to(jn_writer *w, jn_ev v, uint32_t acc) {
    static uint32_t no_values[1];
    jn_src *in = jn_arena_zalloc(w->a, 2 * sizeof *in);
    jn_segnode n = {JN_OP(acc_add), w->origin, NULL, 2, 0, in, no_values, (int32_t)acc, -1};
    if (!in)
        return JN_NO_MEMORY();
    JN_TRY(source_of(w, v, &in[1]));
    return jn_vec_push(&w->nodes, n) ? JANUS_OK : JN_NO_MEMORY();
}

void jn_writer_fuse_sums(jn_writer *w) {
    for (size_t v = 0; v < w->values.n; v++) {
        const jn_written *k = &w->values.data[v];
        if (k->src.kind != JN_SRC_NODE || k->is_input || k->uses != 1)
            continue;
        jn_segnode *p = &w->nodes.data[k->src.index];
        p->fused_acc = p->n_out == 1 && p->op->flags & JN_OP_ADDS ? INT32_MAX : -1;
    }
    for (size_t i = 0; i < w->nodes.n; i++) {
        const jn_segnode *add = &w->nodes.data[i];
        if (add->acc < 0 || add->in[1].kind != JN_SRC_NODE)
            continue;
        jn_segnode *p = &w->nodes.data[add->in[1].index];
        if (p->fused_acc == INT32_MAX)
            p->fused_acc = add->acc;
    }
    for (size_t i = 0; i < w->nodes.n; i++)
        if (w->nodes.data[i].fused_acc == INT32_MAX)
            w->nodes.data[i].fused_acc = -1;
}

/* There may be nothing to copy. */
static void *copied(jn_arena *a, const void *data, size_t bytes) {
    void *p = jn_arena_alloc(a, bytes + 1);
    if (p && bytes)
        memcpy(p, data, bytes);
    return p;
}

janus_status jn_writer_end(jn_writer *w, struct jn_planset *set, jn_grad_source **input,
                           uint32_t **scalar, jn_seginst **inst) {
    jn_segment *seg = w->seg;
    seg->n_nodes = (uint32_t)w->nodes.n;
    seg->n_inputs = (uint32_t)w->inputs.n;
    seg->n_scalars = (uint32_t)w->scalars.n;
    seg->n_outputs = (uint32_t)w->outputs.n;
    seg->n_values = w->n_results;
    seg->nodes = copied(w->a, w->nodes.data, w->nodes.n * sizeof *w->nodes.data);
    seg->scalars = copied(w->a, w->scalars.data, w->scalars.n * sizeof *w->scalars.data);
    seg->output = copied(w->a, w->outputs.data, w->outputs.n * sizeof *w->outputs.data);
    *scalar =
        copied(w->a, w->scalar_values.data, w->scalar_values.n * sizeof *w->scalar_values.data);
    *input = jn_arena_alloc(w->a, (seg->n_inputs + 1) * sizeof **input);
    const jn_shape **in = jn_arena_zalloc(w->a, (seg->n_inputs + 1) * sizeof *in);
    int64_t *none = jn_arena_zalloc(w->a, (seg->n_scalars + 1) * sizeof *none);
    if (!seg->nodes || !seg->scalars || !seg->output || !*scalar || !*input || !in || !none)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < seg->n_inputs; i++) {
        const jn_written *k = &w->inputs.data[i];
        (*input)[i] = k->from;
        in[i] =
            jn_shape_intern(&set->shapes, (janus_dtype)k->type.dtype, k->type.rank, k->type.dims);
        if (!in[i])
            return JN_NO_MEMORY();
    }
    return seg->n_nodes ? jn_segment_specialise(seg, set, in, none, inst) : JANUS_OK;
}
