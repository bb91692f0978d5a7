/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of a plan, built from the cut: operands become inputs, scalars and accumulators, values
 * used elsewhere become outputs, and ISSUE instructions say when.
 */
#include "config.h"

#include "exec/plan/plan_internal.h"

#include <string.h>

#include "graph/base/hash.h"
#include "graph/base/status.h"
#include "graph/ir/ir.h"
#include "ops/op_ids.h"

/* A tensor value of this body leaves its segment. */
static bool leaves(const jn_scope *s, const jn_node *n, uint32_t result) {
    return s->slot[n->id][result] != JN_NO_SLOT;
}

/* Marks which tensor results need a slot: used by host nodes, other segments, results, members. */
janus_status jn_pb_mark_outputs(jn_builder *b, jn_scope *s) {
    const jn_subgraph *g = s->g;
    uint32_t dummy;
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        bool host = !jn_is_tensor_node(n);
        if (!host && s->cut.seg[i] == JN_NO_SEG)
            continue;
        for (uint32_t k = 0; k < n->n_in; k++) {
            if (jn_value_is_none(n->in[k]))
                continue;
            const jn_node *p = jn_value_node(g, n->in[k]);
            if (p->id && jn_is_tensor_node(p) && (host || s->cut.seg[p->id] != s->cut.seg[i]))
                JN_TRY(jn_pb_out_slot(b, s, p, n->in[k].index, &dummy));
        }
    }
    for (size_t i = 0; i < g->results.n; i++)
        if (!jn_value_is_none(g->results.data[i]) && g->results.data[i].node)
            if (jn_is_tensor_node(jn_value_node(g, g->results.data[i])))
                JN_TRY(jn_pb_out_slot(b, s, jn_value_node(g, g->results.data[i]),
                                      g->results.data[i].index, &dummy));
    if (b->plan->saved && g == b->plan->sub)
        for (size_t i = 0; i < g->saved.n; i++) {
            jn_value v = g->saved.data[i].value;
            if (!g->saved.data[i].frame && v.node && jn_is_tensor_node(jn_value_node(g, v)))
                JN_TRY(jn_pb_out_slot(b, s, jn_value_node(g, v), v.index, &dummy));
        }
    return JANUS_OK;
}

typedef struct segment_builder {
    jn_builder *b;
    jn_scope *s;
    jn_segment *seg;
    uint32_t *where_in_seg; /* per node of the body: index in the segment */
    JN_VEC(jn_segnode) nodes;
    JN_VEC(uint32_t) inputs, accs, outputs;
    JN_VEC(jn_src) output_src;
    JN_VEC(jn_segscalar) scalars;
} segment_builder;

static janus_status index_in(void *vec, uint32_t slot, uint32_t *out) {
    JN_VEC(uint32_t) *v = vec;
    for (size_t i = 0; i < v->n; i++)
        if (v->data[i] == slot) {
            *out = (uint32_t)i;
            return JANUS_OK;
        }
    *out = (uint32_t)v->n;
    return jn_vec_push(v, slot) ? JANUS_OK : JN_NO_MEMORY();
}

static janus_status scalar_input(segment_builder *sb, jn_value v, bool shape, uint32_t *out) {
    jn_segscalar in = {JN_NO_SLOT, jn_value_type(sb->s->g, v)->kind, false, shape, 0, 0};
    in.is_const = jn_pb_const_of(sb->s, v, &in.value);
    if (!in.is_const)
        JN_TRY(jn_pb_value_slot(sb->b, sb->s, v, &in.slot));
    for (size_t i = 0; i < sb->scalars.n; i++) {
        jn_segscalar *o = &sb->scalars.data[i];
        if (o->slot == in.slot && o->is_const == in.is_const && o->value == in.value &&
            o->kind == in.kind) {
            o->shape |= shape;
            *out = (uint32_t)i;
            return JANUS_OK;
        }
    }
    *out = (uint32_t)sb->scalars.n;
    return jn_vec_push(&sb->scalars, in) ? JANUS_OK : JN_NO_MEMORY();
}

/* Operand positions of a random row's seed and offset. */
static janus_status rng_operands(const jn_op *op, uint32_t *seed, uint32_t *offset) {
    *seed = *offset = JN_NO_SLOT;
    for (uint32_t i = 0; op->operands[i].accept != JN_ACCEPT_END; i++)
        if (strcmp(op->operands[i].name, "seed") == 0)
            *seed = i;
        else if (strcmp(op->operands[i].name, "offset") == 0)
            *offset = i;
    return *seed != JN_NO_SLOT && *offset != JN_NO_SLOT
               ? JANUS_OK
               : jn_error(JANUS_INTERNAL, "%s: a random op without seed and offset", op->name);
}

/* `draw`: slots of seed and offset of a random node, NULL for others. */
static janus_status add_node(segment_builder *sb, const jn_node *n, const uint32_t *draw) {
    const jn_subgraph *g = sb->s->g;
    uint32_t n_in = n->n_in, at[2] = {0, 0};
    if (draw) {
        JN_TRY(rng_operands(n->op, &at[0], &at[1]));
        n_in = 1 + (at[0] > at[1] ? at[0] : at[1]);
    }
    jn_src *in = jn_arena_zalloc(sb->b->arena, (n_in + 1) * sizeof *in);
    uint32_t *value = jn_arena_alloc(sb->b->arena, (n->n_out + 1) * sizeof *value);
    if (!in || !value)
        return JN_NO_MEMORY();
    jn_segnode node = {n->op, n, n->attrs, n_in, n->n_out, in, value, -1, -1};
    for (uint32_t k = 0; k < n->n_in; k++) {
        jn_value v = n->in[k];
        if (jn_value_is_none(v))
            continue;
        const jn_type *t = jn_value_type(g, v);
        uint32_t index, slot;
        if (t->kind == JANUS_KIND_ACC) {
            JN_TRY(jn_pb_value_slot(sb->b, sb->s, v, &slot));
            JN_TRY(index_in(&sb->accs, slot, &index));
            node.acc = (int32_t)index;
        } else if (t->kind == JANUS_KIND_TENSOR) {
            const jn_node *p = jn_value_node(g, v);
            if (p->id && sb->s->cut.seg[p->id] == sb->s->cut.seg[n->id]) {
                in[k] = (jn_src){JN_SRC_NODE, (uint8_t)v.index, sb->where_in_seg[p->id]};
            } else {
                JN_TRY(jn_pb_value_slot(sb->b, sb->s, v, &slot));
                JN_TRY(index_in(&sb->inputs, slot, &index));
                in[k] = (jn_src){JN_SRC_INPUT, 0, index};
            }
        } else {
            JN_TRY(scalar_input(sb, v, jn_op_accept(n->op, k) == JN_ACCEPT_SHAPE, &index));
            in[k] = (jn_src){JN_SRC_SCALAR, 0, index};
        }
    }
    for (int k = 0; draw && k < 2; k++) {
        jn_segscalar sc = {draw[k], JANUS_KIND_INT, false, false, 0, 0};
        in[at[k]] = (jn_src){JN_SRC_SCALAR, 0, (uint32_t)sb->scalars.n};
        if (!jn_vec_push(&sb->scalars, sc))
            return JN_NO_MEMORY();
    }
    sb->where_in_seg[n->id] = (uint32_t)sb->nodes.n;
    for (uint32_t i = 0; i < n->n_out; i++) {
        value[i] = sb->seg->n_values++;
        if (leaves(sb->s, n, i)) {
            jn_src src = {JN_SRC_NODE, (uint8_t)i, (uint32_t)sb->nodes.n};
            if (!jn_vec_push(&sb->outputs, sb->s->slot[n->id][i]) ||
                !jn_vec_push(&sb->output_src, src))
                return JN_NO_MEMORY();
        }
    }
    return jn_vec_push(&sb->nodes, node) ? JANUS_OK : JN_NO_MEMORY();
}

/* A product or sum used by one acc.add only adds to the accumulator itself. */
static void fuse_accs(segment_builder *sb) {
    for (size_t i = 0; i < sb->nodes.n; i++) {
        jn_segnode *add = &sb->nodes.data[i];
        if (add->acc < 0 || add->in[1].kind != JN_SRC_NODE)
            continue;
        jn_segnode *p = &sb->nodes.data[add->in[1].index];
        if (p->n_out == 1 && p->acc < 0 && sb->s->cut.uses[p->node->id] == 1 &&
            p->op->flags & JN_OP_ADDS)
            p->fused_acc = add->acc;
    }
}

/* ---- segments that do the same ------------------------------------------------------------------
 */

static uint64_t hash_of(const jn_segment *s) {
    uint64_t h = jn_hash_mix(s->n_nodes, s->n_inputs);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        h = jn_hash_mix(
            h, jn_hash_mix(s->nodes[i].op->id, jn_attrs_hash(s->nodes[i].op, s->nodes[i].attrs)));
    for (uint32_t i = 0; i < s->n_outputs; i++)
        h = jn_hash_mix(h, s->output[i].index);
    return h;
}

static bool same_srcs(const jn_src *a, const jn_src *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (a[i].kind != b[i].kind || a[i].index != b[i].index || a[i].index_out != b[i].index_out)
            return false;
    return true;
}

/* An error names the node's line: nodes that may have one must be of one line. */
static bool same_node(const jn_segnode *a, const jn_segnode *b) {
    return a->op == b->op && a->n_in == b->n_in && a->n_out == b->n_out && a->acc == b->acc &&
           a->fused_acc == b->fused_acc && same_srcs(a->in, b->in, a->n_in) &&
           memcmp(a->value, b->value, a->n_out * sizeof *a->value) == 0 &&
           jn_attrs_equal(a->op, a->attrs, b->attrs) &&
           (!(a->op->flags & JN_OP_MAY_RAISE) ||
            (a->node->loc.file == b->node->loc.file && a->node->loc.line == b->node->loc.line));
}

static bool same_segment(const jn_segment *a, const jn_segment *b) {
    if (a->n_nodes != b->n_nodes || a->n_inputs != b->n_inputs || a->n_scalars != b->n_scalars ||
        a->n_accs != b->n_accs || a->n_outputs != b->n_outputs || a->n_values != b->n_values ||
        !same_srcs(a->output, b->output, a->n_outputs))
        return false;
    for (uint32_t i = 0; i < a->n_scalars; i++) {
        const jn_segscalar *x = &a->scalars[i], *y = &b->scalars[i];
        if (x->kind != y->kind || x->is_const != y->is_const || x->shape != y->shape ||
            (x->is_const && x->value != y->value))
            return false;
    }
    for (uint32_t i = 0; i < a->n_nodes; i++)
        if (!same_node(&a->nodes[i], &b->nodes[i]))
            return false;
    return true;
}

static void find_twin(jn_planset *set, jn_segment *seg) {
    seg->hash = hash_of(seg);
    jn_segment **list = &set->by_hash[seg->hash % JN_SEGMENT_LISTS];
    for (jn_segment *o = *list; o && !seg->twin; o = o->next)
        if (o->hash == seg->hash && same_segment(o, seg))
            seg->twin = o;
    if (seg->twin)
        return;
    seg->next = *list;
    *list = seg;
}

#define COPY_VEC(dst, vec)                                                                         \
    do {                                                                                           \
        (dst) = jn_arena_dup(sb->b->arena, (vec).data, (vec).n * sizeof *(vec).data);              \
        if (!(dst))                                                                                \
            return JN_NO_MEMORY();                                                                 \
    } while (0)

static janus_status finish_segment(segment_builder *sb) {
    jn_segment *seg = sb->seg;
    fuse_accs(sb);
    seg->n_nodes = (uint32_t)sb->nodes.n;
    seg->n_inputs = (uint32_t)sb->inputs.n;
    seg->n_scalars = (uint32_t)sb->scalars.n;
    seg->n_accs = (uint32_t)sb->accs.n;
    seg->n_outputs = (uint32_t)sb->outputs.n;
    if (!jn_vec_reserve(&sb->nodes, seg->n_nodes + 1) ||
        !jn_vec_reserve(&sb->inputs, seg->n_inputs + 1) ||
        !jn_vec_reserve(&sb->scalars, seg->n_scalars + 1) ||
        !jn_vec_reserve(&sb->accs, seg->n_accs + 1) ||
        !jn_vec_reserve(&sb->outputs, seg->n_outputs + 1) ||
        !jn_vec_reserve(&sb->output_src, seg->n_outputs + 1))
        return JN_NO_MEMORY();
    COPY_VEC(seg->nodes, sb->nodes);
    COPY_VEC(seg->input_slot, sb->inputs);
    COPY_VEC(seg->scalars, sb->scalars);
    COPY_VEC(seg->acc_slot, sb->accs);
    COPY_VEC(seg->output_slot, sb->outputs);
    COPY_VEC(seg->output, sb->output_src);
    find_twin(sb->b->plan->set, seg);
    seg->id = (uint32_t)sb->b->plan->set->segments.n;
    return jn_vec_push(&sb->b->plan->set->segments, seg) ? JANUS_OK : JN_NO_MEMORY();
}

static janus_status draw_for(jn_builder *b, jn_scope *s, const jn_node *n, uint32_t slots[2]) {
    jn_draw *d = jn_arena_zalloc(b->arena, sizeof *d);
    if (!d)
        return JN_NO_MEMORY();
    d->node = n;
    d->numel = jn_type_numel(n->out[0]);
    d->like = JN_NO_SLOT;
    if (d->numel < 0) {
        for (uint32_t k = 0; k < n->n_in; k++)
            if (jn_op_accept(n->op, k) == JN_ACCEPT_LIKE ||
                jn_op_accept(n->op, k) == JN_ACCEPT_TENSOR)
                JN_TRY(jn_pb_value_slot(b, s, n->in[k], &d->like));
        if (d->like == JN_NO_SLOT)
            return jn_error(JANUS_UNSUPPORTED,
                            "%s: a random draw of a shape known only at run time", n->op->name);
    }
    JN_TRY(jn_pb_new_slot(b, JANUS_KIND_INT, &slots[0]));
    JN_TRY(jn_pb_new_slot(b, JANUS_KIND_INT, &slots[1]));
    return jn_pb_emit(b, n, (jn_instr){JN_I_DRAW, slots[1], slots[0], 0, {.aux = d}});
}

/* Builds segment k of the body and hands it over. */
static janus_status issue(jn_builder *b, jn_scope *s, uint32_t k, const uint32_t *draws,
                          jn_opcode opcode) {
    segment_builder sb = {.b = b, .s = s};
    size_t n_nodes = s->g->nodes.n;
    janus_status st = JANUS_OK;
    sb.seg = jn_arena_zalloc(b->arena, sizeof *sb.seg);
    sb.where_in_seg = jn_arena_alloc(b->arena, n_nodes * sizeof *sb.where_in_seg);
    if (!sb.seg || !sb.where_in_seg)
        return JN_NO_MEMORY();
    for (size_t i = 1; i < n_nodes && st == JANUS_OK; i++)
        if (s->cut.seg[i] == k)
            st = add_node(&sb, s->g->nodes.data[i],
                          draws && draws[2 * i] != JN_NO_SLOT ? draws + 2 * i : NULL);
    if (st == JANUS_OK && sb.nodes.n) {
        st = finish_segment(&sb);
        if (st == JANUS_OK)
            st = jn_pb_emit(b, sb.nodes.data[0].node, (jn_instr){opcode, 0, 0, 0, {.aux = sb.seg}});
    }
    jn_vec_free(&sb.nodes);
    jn_vec_free(&sb.inputs);
    jn_vec_free(&sb.accs);
    jn_vec_free(&sb.outputs);
    jn_vec_free(&sb.output_src);
    jn_vec_free(&sb.scalars);
    return st;
}

janus_status jn_pb_issue_until(jn_builder *b, jn_scope *s, size_t node) {
    while (s->next_issue < s->cut.n_segs && s->cut.close_before[s->next_issue] <= node) {
        uint32_t k = s->next_issue++, *draws = NULL;
        for (size_t i = 1; i < s->g->nodes.n; i++)
            if (s->cut.seg[i] == k && jn_draws(s->g->nodes.data[i])) {
                if (!draws) {
                    draws = jn_arena_alloc(b->arena, 2 * s->g->nodes.n * sizeof *draws);
                    if (!draws)
                        return JN_NO_MEMORY();
                    memset(draws, 0xff, 2 * s->g->nodes.n * sizeof *draws);
                }
                JN_TRY(draw_for(b, s, s->g->nodes.data[i], &draws[2 * i]));
            }
        JN_TRY(issue(b, s, k, draws, JN_I_ISSUE));
    }
    return JANUS_OK;
}

janus_status jn_pb_row_step(jn_builder *b, jn_scope *s, uint32_t node) {
    return issue(b, s, JN_ROW_STEP | node, NULL, JN_I_ROWS);
}
