/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Specialising a segment: shapes of every value by the ops' own inference, and which values are
 * views.  Done on the host strand when a task of new shapes is issued, so later tasks know the
 * shapes of what they are promised.
 */
#include "config.h"

#include <stdatomic.h>
#include <string.h>

#include "exec/kernels/kernels.h"
#include "exec/state/state.h"
#include "graph/base/status.h"

enum { MAX_INSTS = 256, KEPT_INSTS = 64 };

typedef struct spec {
    jn_seginst *inst;
    jn_planset *set;
    const int64_t *scalar_bits;
} spec;

static int64_t *dims_of(jn_infer *c, unsigned rank) {
    return jn_arena_alloc(c->user, (rank + 1) * sizeof(int64_t));
}

static const jn_shape *src_shape(const jn_seginst *inst, const jn_src *src) {
    if (src->kind == JN_SRC_INPUT)
        return inst->in[src->index];
    const jn_segnode *n = &inst->seg->nodes[src->index];
    return inst->values[n->value[src->index_out]].shape;
}

static janus_status infer_node(spec *s, const jn_segnode *n) {
    jn_arena *a = &s->inst->arena;
    jn_type *types = jn_arena_zalloc(a, (n->n_in + 1) * sizeof *types);
    const jn_type **in = jn_arena_zalloc(a, (n->n_in + 1) * sizeof *in);
    const int64_t **cv = jn_arena_zalloc(a, (n->n_in + 1) * sizeof *cv);
    jn_type *out = jn_arena_zalloc(a, (n->n_out + 1) * sizeof *out);
    if (!types || !in || !cv || !out)
        return JN_NO_MEMORY();
    for (unsigned i = 0; i < n->n_in; i++) {
        const jn_src *src = &n->in[i];
        if (src->kind == JN_SRC_NONE)
            continue;
        if (src->kind == JN_SRC_SCALAR) {
            const jn_segscalar *sc = &s->inst->seg->scalars[src->index];
            types[i] = jn_scalar_type(sc->kind);
            if (sc->is_const)
                cv[i] = &sc->value;
            else if (sc->shape)
                cv[i] = &s->inst->scalars[src->index];
        } else {
            const jn_shape *sh = src_shape(s->inst, src);
            types[i] = jn_tensor_type(sh->dtype, sh->rank, sh->dims);
        }
        in[i] = &types[i];
    }
    jn_infer c = {n->op, n->n_in, in, cv, n->attrs, n->n_out, out, dims_of, a};
    JN_TRY(jn_infer_run(&c));
    for (unsigned i = 0; i < n->n_out; i++) {
        jn_segvalue *v = &s->inst->values[n->value[i]];
        if (out[i].kind != JANUS_KIND_TENSOR || out[i].rank < 0 || !jn_type_static(&out[i]))
            return jn_error(JANUS_UNSUPPORTED,
                            "%s: the shape of result %u depends on values, which a graph cannot do",
                            n->op->name, i);
        v->shape = jn_shape_intern(&s->set->shapes, out[i].dtype, out[i].rank, out[i].dims);
        if (!v->shape)
            return jn_error(JANUS_NO_MEMORY, "%s: result too large", n->op->name);
        v->strides = v->shape->strides;
        v->contiguous = true;
        v->output = -1;
    }
    return JANUS_OK;
}

static void find_dense_reads(jn_seginst *inst) {
    const jn_segment *seg = inst->seg;
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        const jn_segnode *n = &seg->nodes[i];
        if (n->op->flags & JN_OP_STRIDED)
            continue;
        for (uint32_t k = 0; k < n->n_in; k++)
            if (n->in[k].kind == JN_SRC_NODE)
                inst->values[seg->nodes[n->in[k].index].value[n->in[k].index_out]].read_dense =
                    true;
    }
}

/* A view of all that a value of this segment holds, in its order, leaves the segment: the value is
 * computed where the view goes, or the view is in the value's own output. */
static bool leaves_whole(const jn_seginst *inst, jn_segvalue *v, bool dense) {
    jn_segvalue *base = &inst->values[v->base];
    if (v->output < 0 || !dense || v->offset != 0 || v->base_input || base->output > v->output ||
        base->copied || base->shape->bytes != v->shape->bytes)
        return false;
    if (base->output < 0)
        base->output = v->output;
    else
        inst->shares[v->output] = base->output;
    return true;
}

/* A view op whose scalars are fixed becomes an alias, or a copy when the value leaves the segment.
 */
static void try_alias(spec *s, const jn_segnode *n) {
    jn_view_fn view = jn_op_impls[n->op->id].view;
    jn_segvalue *v = &s->inst->values[n->value[0]];
    if (!(n->op->flags & (JN_OP_VIEW | JN_OP_PASSES)) || !view || n->n_in > 8)
        return;
    if (n->op->flags & JN_OP_PASSES && n->fused_acc >= 0) /* it is added where a sum is made */
        return;
    jn_view in[8];
    for (unsigned i = 0; i < n->n_in; i++) {
        const jn_src *src = &n->in[i];
        in[i] = (jn_view){.rank = -1};
        if (src->kind == JN_SRC_SCALAR) {
            const jn_segscalar *sc = &s->inst->seg->scalars[src->index];
            if (!sc->is_const && !sc->shape)
                return;
            in[i] = (jn_view){(void *)(sc->is_const ? &sc->value : &s->inst->scalars[src->index]),
                              NULL,
                              NULL,
                              0,
                              sc->kind == JANUS_KIND_FLOAT ? JANUS_F64 : JANUS_I64,
                              true};
        } else if (src->kind != JN_SRC_NONE) {
            const jn_shape *sh = src_shape(s->inst, src);
            in[i] = (jn_view){NULL, sh->dims, sh->strides, sh->rank, sh->dtype, true};
            if (src->kind == JN_SRC_NODE) {
                const jn_segnode *p = &s->inst->seg->nodes[src->index];
                const jn_segvalue *pv = &s->inst->values[p->value[src->index_out]];
                in[i].strides = pv->strides;
                in[i].contiguous = pv->contiguous;
            }
        }
    }
    int64_t *strides = jn_arena_alloc(&s->inst->arena, (v->shape->rank + 1) * sizeof *strides);
    jn_type out = jn_tensor_type(v->shape->dtype, v->shape->rank, v->shape->dims);
    int64_t offset = 0;
    if (!strides || n->in[0].kind == JN_SRC_NONE ||
        !view(in, n->n_in, n->attrs, &out, strides, &offset))
        return;
    if (n->in[0].kind == JN_SRC_INPUT) {
        v->base_input = true;
        v->base = n->in[0].index;
        v->offset = offset;
    } else {
        const jn_segnode *p = &s->inst->seg->nodes[n->in[0].index];
        uint32_t base = p->value[n->in[0].index_out];
        const jn_segvalue *bv = &s->inst->values[base];
        v->base_input = bv->alias && bv->base_input;
        v->base = bv->alias ? bv->base : base;
        v->offset = offset + (bv->alias ? bv->offset : 0);
    }
    bool dense = true;
    for (int i = 0; i < v->shape->rank; i++)
        dense = dense && (v->shape->dims[i] == 1 || strides[i] == v->shape->strides[i]);
    v->copied = (v->output >= 0 && !leaves_whole(s->inst, v, dense)) || (!dense && v->read_dense);
    v->alias = !v->copied;
    if (v->copied) {
        v->part = v->base_input && dense;
        v->view_strides = strides;
        return;
    }
    v->strides = strides;
    for (int i = 0; i < v->shape->rank; i++)
        if (v->shape->dims[i] != 1 && strides[i] != v->shape->strides[i])
            v->contiguous = false;
}

static void find_last_uses(jn_seginst *inst) {
    const jn_segment *seg = inst->seg;
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        const jn_segnode *n = &seg->nodes[i];
        for (uint32_t k = 0; k < n->n_out; k++)
            inst->values[n->value[k]].last_use = i;
        for (uint32_t k = 0; k < n->n_in; k++)
            if (n->in[k].kind == JN_SRC_NODE) {
                const jn_segnode *p = &seg->nodes[n->in[k].index];
                jn_segvalue *v = &inst->values[p->value[n->in[k].index_out]];
                v->last_use = i;
                if (v->alias && !v->base_input)
                    inst->values[v->base].last_use = i;
            }
    }
}

void jn_seginst_free(jn_seginst *inst) {
    for (int k = 0; k < JN_MAX_RANGES; k++)
        for (jn_variant *v = inst->variants[k]; v; v = v->next)
            jn_vec_free(&v->dims);
    jn_arena_free(&inst->arena);
    jn_free(inst);
}

static bool matches(const jn_seginst *inst, const jn_shape *const *in, const int64_t *scalars) {
    const jn_segment *seg = inst->seg;
    for (uint32_t i = 0; i < seg->n_inputs; i++)
        if (inst->in[i] != in[i])
            return false;
    for (uint32_t i = 0; i < seg->n_scalars; i++)
        if (seg->scalars[i].shape && inst->scalars[i] != scalars[i])
            return false;
    return true;
}

/* Elements that a row leaves for a sum: the factors of a product, and of the gradient of a table's
 * row that row, are only copied.  An operand as large as the result is there for its shape. */
static uint64_t collected(const jn_seginst *inst, const jn_segnode *n, int64_t result) {
    int64_t copied = 0;
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (n->in[i].kind != JN_SRC_INPUT && n->in[i].kind != JN_SRC_NODE)
            continue;
        int64_t numel = src_shape(inst, &n->in[i])->numel;
        copied += numel < result ? numel : 0;
    }
    return (uint64_t)(copied < result ? copied : result);
}

/* Elements a row makes, products counted by what they cost beside elementwise work.  What is
 * computed again for a gradient does not count, so that sums over rows are split, and rounded, as
 * where it is kept. */
static void measure(jn_seginst *inst) {
    enum { WIDE_BYTES = 8 << 20 }; /* of the right factor */
    uint64_t cost = 0;
    for (uint32_t i = 0; i < inst->seg->n_nodes; i++) {
        const jn_segnode *n = &inst->seg->nodes[i];
        for (uint32_t k = 0; k < n->n_out && n->acc < 0 && !n->node->again; k++) {
            const jn_segvalue *v = &inst->values[n->value[k]];
            uint64_t each = 1;
            if (v->alias)
                continue;
            if (n->op->flags & JN_OP_PRODUCT && n->in[0].kind != JN_SRC_NONE) {
                const jn_shape *a = src_shape(inst, &n->in[0]);
                int64_t inner = a->rank ? a->dims[a->rank - 1] : 1;
                each = 1 + (uint64_t)inner / 16;
                inst->wide |= src_shape(inst, &n->in[1])->bytes >= WIDE_BYTES;
            }
            if (n->fused_acc < 0) {
                inst->row_bytes += v->shape->bytes;
                cost += each * (uint64_t)v->shape->numel;
            } else {
                cost += collected(inst, n, v->shape->numel);
            }
        }
    }
    inst->row_cost = cost > UINT32_MAX ? UINT32_MAX : (uint32_t)cost;
}

static janus_status specialise(spec *s, const jn_shape *const *in, const int64_t *scalars) {
    jn_seginst *inst = s->inst;
    const jn_segment *seg = inst->seg;
    inst->in = jn_arena_zalloc(&inst->arena, (seg->n_inputs + 1) * sizeof *inst->in);
    inst->scalars = jn_arena_zalloc(&inst->arena, (seg->n_scalars + 1) * sizeof *inst->scalars);
    inst->values = jn_arena_zalloc(&inst->arena, (seg->n_values + 1) * sizeof *inst->values);
    inst->out = jn_arena_zalloc(&inst->arena, (seg->n_outputs + 1) * sizeof *inst->out);
    inst->shares = jn_arena_alloc(&inst->arena, (seg->n_outputs + 1) * sizeof *inst->shares);
    if (!inst->in || !inst->scalars || !inst->values || !inst->out || !inst->shares)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < seg->n_outputs; i++)
        inst->shares[i] = -1;
    for (uint32_t i = 0; i < seg->n_inputs; i++)
        inst->in[i] = in[i];
    for (uint32_t i = 0; i < seg->n_scalars; i++)
        if (seg->scalars[i].shape)
            inst->scalars[i] = scalars[i];
    if (seg->branch)
        return seg->specialise(inst, s->set);
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        const jn_segnode *n = &seg->nodes[i];
        if (n->acc < 0) {
            janus_status st = infer_node(s, n);
            if (st != JANUS_OK) {
                if (n->node->loc.file)
                    jn_error_context("%s:%u", n->node->loc.file, n->node->loc.line);
                return st;
            }
        }
    }
    for (uint32_t i = 0; i < seg->n_outputs; i++) {
        const jn_src *src = &seg->output[i];
        jn_segvalue *v = &inst->values[seg->nodes[src->index].value[src->index_out]];
        v->output = (int32_t)i;
        inst->out[i] = v->shape;
    }
    find_dense_reads(inst);
    for (uint32_t i = 0; i < seg->n_nodes; i++)
        if (seg->nodes[i].acc < 0)
            try_alias(s, &seg->nodes[i]);
    find_last_uses(inst);
    measure(inst);
    return JANUS_OK;
}

janus_status jn_segment_specialise(jn_segment *seg, jn_planset *set, const jn_shape *const *in,
                                   const int64_t *scalars, jn_seginst **out) {
    for (jn_seginst **p = &seg->insts; *p; p = &(*p)->next)
        if (matches(*p, in, scalars)) {
            jn_seginst *hit = *p;
            *p = hit->next; /* most recent first */
            hit->next = seg->insts;
            seg->insts = hit;
            *out = hit;
            return JANUS_OK;
        }
    static atomic_uint_least64_t serials;
    jn_seginst *inst = jn_calloc(1, sizeof *inst);
    if (!inst)
        return JN_NO_MEMORY();
    inst->seg = seg;
    inst->serial = atomic_fetch_add_explicit(&serials, 1, memory_order_relaxed) + 1;
    jn_arena_init(&inst->arena, 4096);
    spec s = {inst, set, scalars};
    janus_status st = specialise(&s, in, scalars);
    if (st != JANUS_OK) {
        jn_seginst_free(inst);
        return st;
    }
    inst->next = seg->insts;
    seg->insts = inst;
    jn_ops_run.shapes++;
    if (++seg->n_insts > MAX_INSTS)
        set->crowded = true;
    *out = inst;
    return JANUS_OK;
}

void jn_segment_trim(jn_segment *seg) {
    jn_seginst **p = &seg->insts;
    if (seg->n_insts <= MAX_INSTS)
        return;
    for (uint32_t i = 0; i < KEPT_INSTS; i++)
        p = &(*p)->next;
    while (*p) {
        jn_seginst *old = *p;
        *p = old->next;
        jn_seginst_free(old);
    }
    seg->n_insts = KEPT_INSTS;
}
