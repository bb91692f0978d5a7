/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How each op of a segment takes rows.
 *
 * The op's row in the table says how (jn_batch).  Whatever is not covered falls back to one call
 * per row, which is always right.
 */
#include "config.h"

#include "exec/kernels/variant_rows.h"

#include <string.h>

#include "exec/state/state.h"
#include "ops/kernel.h"

bool jn_variant_scalar_rowed(const jn_seginst *inst, const jn_variant *v, uint32_t i) {
    uint32_t bit = inst->seg->n_inputs + i;
    return !v->single && !inst->seg->scalars[i].is_const && bit < 64 && (v->mask >> bit & 1);
}

bool jn_input_rowed(const jn_variant *v, uint32_t i) {
    return !v->single && i < 64 && (v->mask >> i & 1);
}

jn_row_view jn_value_rows(const jn_maker *m, uint32_t value) {
    const jn_segvalue *v = &m->inst->values[value];
    jn_row_view r = {
        {NULL, v->shape->dims, v->strides, v->shape->rank, v->shape->dtype, v->contiguous},
        v->shape->numel,
        m->v->rowed[value],
        false};
    if (v->alias)
        r.step =
            v->base_input ? m->inst->in[v->base]->numel : m->inst->values[v->base].shape->numel;
    if (!r.rowed)
        r.step = 0;
    return r;
}

jn_row_view jn_operand_rows(const jn_maker *m, const jn_src *src) {
    static const jn_row_view none = {{NULL, NULL, NULL, -1, 0, false}, 0, false, false};
    switch (src->kind) {
    case JN_SRC_INPUT: {
        const jn_shape *s = m->inst->in[src->index];
        bool rowed = jn_input_rowed(m->v, src->index);
        return (jn_row_view){{NULL, s->dims, s->strides, s->rank, s->dtype, true},
                             rowed ? s->numel : 0,
                             rowed,
                             false};
    }
    case JN_SRC_SCALAR: {
        static const uint8_t dtype_of[] = {[JANUS_KIND_INT] = JANUS_I64,
                                           [JANUS_KIND_FLOAT] = JANUS_F64,
                                           [JANUS_KIND_BOOL] = JANUS_BOOL};
        bool rowed = jn_variant_scalar_rowed(m->inst, m->v, src->index);
        uint8_t kind = m->inst->seg->scalars[src->index].kind;
        return (jn_row_view){{NULL, NULL, NULL, 0, dtype_of[kind], true}, rowed, rowed, false};
    }
    case JN_SRC_NODE:
        return jn_value_rows(m, m->inst->seg->nodes[src->index].value[src->index_out]);
    default:
        return none;
    }
}

static bool add_dim(jn_maker *m, int64_t *where, int64_t mult) {
    *where = m->v->rows * mult;
    jn_dimref d = {where, mult};
    return jn_vec_push(&m->v->dims, d);
}

bool jn_view_is_dense(const jn_view *v) {
    int64_t n = 1;
    for (int i = v->rank; i-- > 0;) {
        if (v->dims[i] != 1 && v->strides[i] != n)
            return false;
        n *= v->dims[i];
    }
    return true;
}

/* A view of rank + 1 with the rows in front; shared operands are left as they are. */
static bool prepend(jn_maker *m, const jn_row_view *r, jn_view *out) {
    *out = r->view;
    if (!r->rowed || r->view.rank < 0)
        return true;
    int rank = r->view.rank;
    int64_t *dims = jn_arena_alloc(m->a, (size_t)(2 * (rank + 1)) * sizeof *dims);
    if (!dims || rank + 1 > JN_MAX_RANK)
        return false;
    int64_t *strides = dims + rank + 1;
    for (int i = 0; i < rank; i++) {
        dims[i + 1] = r->view.dims[i];
        strides[i + 1] = r->view.strides[i];
    }
    strides[0] = r->step;
    out->dims = dims;
    out->strides = strides;
    out->rank = (int16_t)(rank + 1);
    if (!add_dim(m, &dims[0], 1))
        return false;
    out->contiguous = jn_view_is_dense(out);
    return true;
}

/* Rows folded into the first dim (rank 0 and 1: prepended). */
static bool fold(jn_maker *m, const jn_row_view *r, jn_view *out) {
    if (!r->rowed || r->view.rank <= 1)
        return prepend(m, r, out);
    int64_t numel = 1;
    for (int i = 0; i < r->view.rank; i++)
        numel *= r->view.dims[i];
    if (!r->view.contiguous || r->step != numel)
        return false;
    int64_t *dims = jn_arena_dup(m->a, r->view.dims, (size_t)r->view.rank * sizeof *dims);
    if (!dims)
        return false;
    *out = r->view;
    out->dims = dims;
    return add_dim(m, &dims[0], r->view.dims[0]);
}

bool jn_rows_aligned(jn_maker *m, jn_row_view *r, unsigned n_in, jn_row_view *o, unsigned n_out,
                     jn_vnode *vn) {
    int rank = 0;
    unsigned n = n_in + n_out;
    jn_row_view *all[64];
    if (n > 64)
        return false;
    for (unsigned i = 0; i < n; i++) {
        all[i] = i < n_in ? &r[i] : &o[i - n_in];
        if (all[i]->view.rank > rank)
            rank = all[i]->view.rank;
    }
    if (rank + 1 > JN_MAX_RANK)
        return false;
    bool drop[JN_MAX_RANK], flat = true;
    int kept = 0;
    int64_t numel = n_out ? 1 : 0;
    for (int d = 0; n_out && d < o[0].view.rank; d++)
        numel *= o[0].view.dims[d];
    for (int d = 0; d < rank; d++) {
        drop[d] = true;
        for (unsigned i = 0; i < n; i++) {
            int k = d - (rank - all[i]->view.rank);
            if (k >= 0 && all[i]->view.dims[k] != 1)
                drop[d] = false;
        }
        kept += !drop[d];
    }
    for (unsigned i = 0; i < n; i++) {
        int64_t have = 1;
        for (int d = 0; d < all[i]->view.rank; d++)
            have *= all[i]->view.dims[d];
        if (all[i]->view.rank >= 0 &&
            !(all[i]->rowed ? all[i]->view.contiguous && all[i]->step == numel && have == numel
                            : have == 1))
            flat = false;
    }
    for (unsigned i = 0; i < n; i++) {
        jn_view *out = i < n_in ? &vn->in[i] : &vn->out[i - n_in];
        *out = all[i]->view;
        if (all[i]->view.rank < 0)
            continue;
        int64_t *dims = jn_arena_alloc(m->a, (size_t)(2 * (kept + 1)) * sizeof *dims);
        if (!dims)
            return false;
        int64_t *strides = dims + kept + 1;
        out->dims = dims;
        out->strides = strides;
        if (flat) {
            out->rank = all[i]->rowed ? 1 : 0;
            strides[0] = 1;
            out->contiguous = true;
            if (all[i]->rowed && !add_dim(m, &dims[0], numel))
                return false;
            continue;
        }
        int at = 0;
        if (all[i]->rowed) {
            strides[at] = all[i]->step;
            if (!add_dim(m, &dims[at++], 1))
                return false;
        }
        for (int d = 0; d < rank; d++) {
            int k = d - (rank - all[i]->view.rank);
            if (drop[d] || (k < 0 && !all[i]->rowed))
                continue;
            dims[at] = k < 0 ? 1 : all[i]->view.dims[k];
            strides[at++] = k < 0 ? 0 : all[i]->view.strides[k];
        }
        out->rank = (int16_t)at;
        out->contiguous = jn_view_is_dense(out);
    }
    return true;
}

static bool prepend_all(jn_maker *m, const jn_row_view *r, unsigned n_in, const jn_row_view *o,
                        unsigned n_out, jn_vnode *vn) {
    for (unsigned i = 0; i < n_in; i++)
        if (!prepend(m, &r[i], &vn->in[i]))
            return false;
    for (unsigned i = 0; i < n_out; i++)
        if (!prepend(m, &o[i], &vn->out[i]))
            return false;
    return true;
}

/* A batch rule of the op: attributes (and maybe the op) for operands with a row dim in front. */
static bool by_rule(jn_maker *m, jn_row_view *r, unsigned n_in, const jn_row_view *o,
                    unsigned n_out, jn_vnode *vn) {
    const jn_op_impl *impl = &jn_op_impls[vn->n->op->id];
    bool rowed[64];
    if (!impl->batch_rule || n_in > 64)
        return false;
    jn_view in[64], out[8];
    for (unsigned i = 0; i < n_in; i++) {
        in[i] = r[i].view;
        rowed[i] = r[i].rowed;
    }
    for (unsigned i = 0; i < n_out && i < 8; i++)
        out[i] = o[i].view;
    jn_sig sig = {vn->n->op, in, out, (uint16_t)n_in, (uint16_t)n_out, vn->n->attrs};
    size_t size = vn->n->op->attr_size;
    void *attrs = jn_arena_zalloc(m->a, size + 1);
    int64_t *ints = jn_arena_alloc(m->a, 2 * JN_MAX_RANK * sizeof *ints);
    if (!attrs || !ints)
        return false;
    if (size)
        memcpy(attrs, vn->n->attrs, size);
    const jn_op *op = impl->batch_rule(&sig, rowed, m->v->rows, attrs, ints);
    if (!op)
        return false;
    vn->from_end = vn->n->op->flags & JN_OP_FROM_END;
    vn->op = op;
    vn->attrs = attrs;
    return prepend_all(m, r, n_in, o, n_out, vn);
}

bool jn_rows_accumulated(jn_maker *m, jn_row_view *r, unsigned n_in, const jn_row_view *o,
                         jn_vnode *vn) {
    vn->out[0] = o[0].view;
    const jn_op_impl *impl = &jn_op_impls[vn->n->op->id];
    switch (impl->sums) {
    case JN_SUMS_PRODUCT: /* x' z with both rowed: rows are folded into the summed dim */
        return impl->summed(vn->n->attrs) && r[0].rowed && r[1].rowed && r[0].view.rank == 2 &&
               r[1].view.rank == 2 && fold(m, &r[0], &vn->in[0]) && fold(m, &r[1], &vn->in[1]);
    case JN_SUMS_ROWS:
    case JN_SUMS_TABLE:
        for (unsigned i = 0; i < n_in; i++) {
            if (!r[i].rowed && !r[i].like && r[i].view.rank >= 0)
                return false; /* would have to count once per row */
            if (!prepend(m, &r[i], &vn->in[i]))
                return false;
        }
        return true;
    default:
        return false;
    }
}

bool jn_rows_batched(jn_maker *m, jn_row_view *r, unsigned n_in, jn_row_view *o, unsigned n_out,
                     jn_vnode *vn) {
    const jn_op_impl *impl = &jn_op_impls[vn->n->op->id];
    switch (impl->batch) {
    case JN_BATCH_ROWS:
        for (unsigned i = 0; i < n_in; i++) /* a number is read once in a kernel's call */
            if (r[i].rowed && jn_op_accept(vn->n->op, i) == JN_ACCEPT_SCALAR)
                return false;
        for (unsigned i = 0; i < n_in; i++) /* like operands: a shape with rows */
            if (r[i].like) {
                r[i].rowed = true;
                r[i].step = 1;
                for (int d = 0; d < r[i].view.rank; d++)
                    r[i].step *= r[i].view.dims[d];
            }
        return jn_rows_aligned(m, r, n_in, o, n_out, vn);
    case JN_BATCH_FOLD:
        if (impl->batch_rule && by_rule(m, r, n_in, o, n_out, vn))
            return true;
        for (unsigned i = 1; i < n_in; i++)
            if (r[i].rowed)
                return false;
        for (unsigned i = 0; i < n_in; i++)
            if (!fold(m, &r[i], &vn->in[i]))
                return false;
        for (unsigned i = 0; i < n_out; i++)
            if (!fold(m, &o[i], &vn->out[i]))
                return false;
        return true;
    case JN_BATCH_AXIS:
    case JN_BATCH_RULE:
        return by_rule(m, r, n_in, o, n_out, vn);
    default:
        return false;
    }
}
