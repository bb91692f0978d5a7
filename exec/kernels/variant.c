/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making variants: how each op of a segment takes rows.
 *
 * The op's row in the table says how (jn_batch).  Whatever is not covered falls back to one call
 * per row, which is always right.
 */
#include "config.h"

#include "exec/kernels/kernels.h"

#include <string.h>

#include "exec/state/state.h"
#include "graph/base/status.h"
#include "ops/services.h"

typedef struct maker {
    jn_seginst *inst;
    jn_variant *v;
    jn_arena *a;
} maker;

/* An operand or result per row, before rows are added. */
typedef struct row_view {
    jn_view view;     /* per-row dims and strides */
    int64_t step;     /* elements from row to row; 0: shared */
    bool rowed, like; /* like: only its shape is used */
} row_view;

bool jn_variant_scalar_rowed(const jn_seginst *inst, const jn_variant *v, uint32_t i) {
    uint32_t bit = inst->seg->n_inputs + i;
    return !v->single && !inst->seg->scalars[i].is_const && bit < 64 && (v->mask >> bit & 1);
}

static bool input_rowed(const jn_variant *v, uint32_t i) {
    return !v->single && i < 64 && (v->mask >> i & 1);
}

static row_view value_view(const maker *m, uint32_t value) {
    const jn_segvalue *v = &m->inst->values[value];
    row_view r = {
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

static row_view src_view(const maker *m, const jn_src *src) {
    static const row_view none = {{NULL, NULL, NULL, -1, 0, false}, 0, false, false};
    switch (src->kind) {
    case JN_SRC_INPUT: {
        const jn_shape *s = m->inst->in[src->index];
        bool rowed = input_rowed(m->v, src->index);
        return (row_view){{NULL, s->dims, s->strides, s->rank, s->dtype, true},
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
        return (row_view){{NULL, NULL, NULL, 0, dtype_of[kind], true}, rowed, rowed, false};
    }
    case JN_SRC_NODE:
        return value_view(m, m->inst->seg->nodes[src->index].value[src->index_out]);
    default:
        return none;
    }
}

static bool add_dim(maker *m, int64_t *where, int64_t mult) {
    *where = m->v->rows * mult;
    jn_dimref d = {where, mult};
    return jn_vec_push(&m->v->dims, d);
}

static bool is_contiguous(const jn_view *v) {
    int64_t n = 1;
    for (int i = v->rank; i-- > 0;) {
        if (v->dims[i] != 1 && v->strides[i] != n)
            return false;
        n *= v->dims[i];
    }
    return true;
}

/* A view of rank + 1 with the rows in front; shared operands are left as they are. */
static bool prepend(maker *m, const row_view *r, jn_view *out) {
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
    out->contiguous = is_contiguous(out);
    return true;
}

/* Rows folded into the first dim (rank 0 and 1: prepended). */
static bool fold(maker *m, const row_view *r, jn_view *out) {
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

/* Elementwise: operands aligned to one rank, rows in front, dims that are 1 everywhere dropped;
 * when every rowed operand is dense and the shared ones are single elements, one flat vector. */
static bool rows(maker *m, row_view *r, unsigned n_in, row_view *o, unsigned n_out, jn_vnode *vn) {
    int rank = 0;
    unsigned n = n_in + n_out;
    row_view *all[64];
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
        out->contiguous = is_contiguous(out);
    }
    return true;
}

static bool prepend_all(maker *m, const row_view *r, unsigned n_in, const row_view *o,
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
static bool by_rule(maker *m, row_view *r, unsigned n_in, const row_view *o, unsigned n_out,
                    jn_vnode *vn) {
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

/* The products and sums that add all rows to an accumulator in one call. */
static bool accumulate_rows(maker *m, row_view *r, unsigned n_in, const row_view *o, jn_vnode *vn) {
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

static bool batched(maker *m, row_view *r, unsigned n_in, row_view *o, unsigned n_out,
                    jn_vnode *vn) {
    const jn_op_impl *impl = &jn_op_impls[vn->n->op->id];
    switch (impl->batch) {
    case JN_BATCH_ROWS:
        for (unsigned i = 0; i < n_in; i++) /* like operands: a shape with rows */
            if (r[i].like) {
                r[i].rowed = true;
                r[i].step = 1;
                for (int d = 0; d < r[i].view.rank; d++)
                    r[i].step *= r[i].view.dims[d];
            }
        return rows(m, r, n_in, o, n_out, vn);
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

static janus_status select_kernel(const maker *m, jn_vnode *vn) {
    jn_sig sig = {vn->op, vn->in, vn->out, vn->n_in, vn->n_out, vn->attrs};
    return m->v->on->select(m->v->dev, &sig, &vn->kernel, &vn->workspace);
}

/* A view that leaves the segment: its elements are copied to the output's rows. */
static janus_status make_copy(maker *m, jn_vnode *vn, const jn_segvalue *v, uint32_t value) {
    bool rowed = v->base_input ? input_rowed(m->v, v->base) : m->v->rowed[v->base];
    row_view in = {{NULL, v->shape->dims, v->view_strides, v->shape->rank, v->shape->dtype, false},
                   v->base_input ? m->inst->in[v->base]->numel
                                 : m->inst->values[v->base].shape->numel,
                   rowed,
                   false};
    in.view.contiguous = is_contiguous(&in.view);
    m->v->rowed[value] = rowed;
    row_view out = value_view(m, value);
    vn->op = jn_service_copy.op;
    vn->attrs = jn_service_copy.attrs;
    vn->n_in = vn->n_out = 1;
    vn->mode = JN_V_CALL;
    vn->out_rowed = rowed;
    vn->acc = -1;
    if (rowed && !rows(m, &in, 1, &out, 1, vn))
        return JN_NO_MEMORY();
    if (!rowed) {
        vn->in[0] = in.view;
        vn->out[0] = out.view;
    }
    return select_kernel(m, vn);
}

/* The accumulator that a node adds its result to itself, -1: none.  Exactly the sums of imperative
 * mode, which rounds the result before it adds it, come so from single rows of a table only. */
static int32_t fused_acc(const maker *m, const jn_segnode *n) {
    if (n->fused_acc < 0 || n->n_out != 1)
        return -1;
    bool row = jn_op_impls[n->op->id].sums == JN_SUMS_TABLE && src_view(m, &n->in[1]).step == 1;
    return m->v->exact && !row ? -1 : n->fused_acc;
}

/* A product x' z of matrices, whose rows another product can take too. */
static bool is_product(const maker *m, const jn_segnode *n, const row_view *r) {
    const jn_op_impl *impl = &jn_op_impls[n->op->id];
    bool host = jn_computes_here(m->v->on);
    return host && impl->summed && impl->summed(n->attrs) && r[0].view.rank == 2 &&
           r[1].view.rank == 2 && r[0].view.contiguous && r[1].view.contiguous &&
           (r[0].view.dtype == JANUS_F32 || r[0].view.dtype == JANUS_F64);
}

static janus_status collect_rows(maker *m, jn_vnode *vn, const row_view *r) {
    vn->mode = JN_V_PRODUCT;
    vn->in_step = jn_arena_zalloc(m->a, 2 * sizeof *vn->in_step);
    if (!vn->in_step)
        return JN_NO_MEMORY();
    for (int i = 0; i < 2; i++) {
        const jn_src *src = &vn->n->in[i];
        vn->in[i] = r[i].view;
        vn->in_step[i] = r[i].rowed ? r[i].step : 0;
        if (src->kind != JN_SRC_NODE)
            continue;
        uint32_t value = m->inst->seg->nodes[src->index].value[src->index_out];
        const jn_segvalue *v = &m->inst->values[value];
        if (v->alias && !v->base_input && v->contiguous && v->offset == 0 &&
            m->inst->values[v->base].shape->bytes == v->shape->bytes) {
            value = v->base;
            v = &m->inst->values[value];
        }
        if (!v->alias && !v->copied && v->output < 0 && (r[i].rowed || m->v->single) &&
            m->v->goes_to[value] < 0)
            m->v->goes_to[value] = 2 * (int32_t)(vn->n - m->inst->seg->nodes) + i;
    }
    m->v->n_products++;
    return JANUS_OK;
}

/* Inputs one behind the other in a row of the result. */
static bool is_concat_of_inputs(const maker *m, const jn_segnode *n) {
    bool host = jn_computes_here(m->v->on);
    const jn_op_impl *impl = &jn_op_impls[n->op->id];
    if (!host || !impl->joined)
        return false;
    const jn_shape *out = m->inst->values[n->value[0]].shape;
    int64_t axis = impl->joined(n->attrs, out->rank);
    for (int64_t d = 0; d < axis; d++)
        if (out->dims[d] != 1)
            return false;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i].kind != JN_SRC_INPUT)
            return false;
    return true;
}

/* An input whose rows are copied or taken one by one, by nodes that find them through the tasks, or
 * of which only the shape is read. */
static void find_direct(maker *m) {
    const jn_segment *seg = m->inst->seg;
    for (uint32_t i = 0; i < seg->n_inputs; i++)
        m->v->direct[i] = true;
    for (uint32_t k = 0; k < seg->n_nodes; k++) {
        uint8_t mode = m->v->nodes[k].mode;
        bool finds = mode == JN_V_CONCAT || mode == JN_V_PRODUCT || mode == JN_V_LOOP;
        for (uint32_t i = 0; i < seg->nodes[k].n_in && !finds; i++)
            if (seg->nodes[k].in[i].kind == JN_SRC_INPUT &&
                jn_op_accept(seg->nodes[k].op, i) != JN_ACCEPT_LIKE)
                m->v->direct[seg->nodes[k].in[i].index] = false;
    }
}

/* Rows of a slice are apart: only some kernels take them together. */
static bool takes_strides(const jn_vnode *vn, const row_view *r) {
    if (vn->op->flags & JN_OP_STRIDED)
        return true;
    for (uint32_t i = 0; i < vn->n_in; i++)
        if (vn->in[i].rank >= 0 && !r[i].like && !vn->in[i].contiguous)
            return false;
    return true;
}

static janus_status make_node(maker *m, uint32_t index) {
    const jn_segnode *n = &m->inst->seg->nodes[index];
    jn_vnode *vn = &m->v->nodes[index];
    vn->n = n;
    vn->op = n->op;
    vn->attrs = n->attrs;
    int32_t fused = fused_acc(m, n);
    vn->acc = fused;
    vn->n_in = (uint16_t)n->n_in;
    vn->n_out = (uint16_t)n->n_out;
    if (n->acc >= 0) { /* acc.add */
        const jn_src *src = &n->in[1];
        bool done = src->kind == JN_SRC_NODE && fused_acc(m, &m->inst->seg->nodes[src->index]) >= 0;
        vn->mode = done ? JN_V_SKIP : JN_V_SUM;
        vn->acc = n->acc;
        return JANUS_OK;
    }
    bool rowed = n->op->role == JN_ROLE_RNG && !m->v->single;
    row_view *r = jn_arena_zalloc(m->a, (n->n_in + 1) * sizeof *r);
    row_view *o = jn_arena_zalloc(m->a, (n->n_out + 1) * sizeof *o);
    vn->in = jn_arena_zalloc(m->a, (n->n_in + 1) * sizeof *vn->in);
    vn->out = jn_arena_zalloc(m->a, (n->n_out + 1) * sizeof *vn->out);
    if (!r || !o || !vn->in || !vn->out)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < n->n_in; i++) {
        r[i] = src_view(m, &n->in[i]);
        r[i].like = jn_op_accept(n->op, i) == JN_ACCEPT_LIKE;
        rowed |= r[i].rowed && !r[i].like;
    }
    for (uint32_t i = 0; i < n->n_in; i++)
        if (r[i].like && (r[i].rowed = false, true))
            r[i].step = 0;
    for (uint32_t i = 0; i < n->n_out; i++) {
        m->v->rowed[n->value[i]] = rowed && fused < 0;
        o[i] = value_view(m, n->value[i]);
    }
    if (n->n_out == 1 && m->inst->values[n->value[0]].alias) {
        const jn_segvalue *v = &m->inst->values[n->value[0]];
        m->v->rowed[n->value[0]] =
            v->base_input ? input_rowed(m->v, v->base) : m->v->rowed[v->base];
        vn->mode = JN_V_SKIP;
        return JANUS_OK;
    }
    if (n->n_out == 1 && m->inst->values[n->value[0]].copied)
        return make_copy(m, vn, &m->inst->values[n->value[0]], n->value[0]);
    if (fused >= 0 && is_product(m, n, r))
        return collect_rows(m, vn, r);
    vn->out_rowed = rowed;
    if (rowed && fused < 0 && is_concat_of_inputs(m, n)) {
        vn->mode = JN_V_CONCAT;
        return JANUS_OK;
    }
    vn->accumulates = fused >= 0;
    vn->mode = JN_V_CALL;
    bool each = rowed || (fused >= 0 && !m->v->single); /* equal rows still add n times */
    bool done = false;
    if (rowed && fused >= 0)
        done = accumulate_rows(m, r, n->n_in, o, vn);
    else if (rowed)
        done = batched(m, r, n->n_in, o, n->n_out, vn);
    if (done && rowed && takes_strides(vn, r)) {
        janus_status st = select_kernel(m, vn);
        if (st != JANUS_UNSUPPORTED)
            return st;
    }
    /* one row, or row by row: also where the device's kernel does not take them together */
    vn->mode = each ? JN_V_LOOP : JN_V_CALL;
    vn->op = n->op;
    vn->attrs = n->attrs;
    vn->in_step = jn_arena_zalloc(m->a, (n->n_in + 1) * sizeof *vn->in_step);
    vn->out_step = jn_arena_zalloc(m->a, (n->n_out + 1) * sizeof *vn->out_step);
    if (!vn->in_step || !vn->out_step)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < n->n_in; i++) {
        vn->in[i] = r[i].view;
        vn->in_step[i] = r[i].rowed ? r[i].step : 0;
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        vn->out[i] = o[i].view;
        vn->out_step[i] = rowed && fused < 0 ? m->inst->values[n->value[i]].shape->numel : 0;
    }
    jn_sig sig = {vn->op, vn->in, vn->out, vn->n_in, vn->n_out, vn->attrs};
    vn->apart = each && fused < 0 && m->v->on->steps && jn_takes_apart(&sig);
    return select_kernel(m, vn);
}

static janus_status make(const jn_run *r, jn_seginst *inst, jn_variant_key key, int64_t n_rows,
                         jn_variant **out) {
    jn_variant *v = jn_arena_zalloc(&inst->arena, sizeof *v);
    maker m = {inst, v, &inst->arena};
    if (!v)
        return JN_NO_MEMORY();
    v->mask = key.mask;
    v->use = (uint8_t)key.use;
    v->single = n_rows == 1;
    v->rows = n_rows;
    v->on = r->on;
    v->dev = r->dev;
    v->exact = r->exact;
    v->nodes = jn_arena_zalloc(m.a, (inst->seg->n_nodes + 1) * sizeof *v->nodes);
    v->rowed = jn_arena_zalloc(m.a, inst->seg->n_values + 1);
    v->inside = jn_arena_zalloc(m.a, inst->seg->n_values + 1);
    v->scratch = jn_arena_zalloc(m.a, (inst->seg->n_values + 1) * sizeof *v->scratch);
    v->adds = jn_arena_zalloc(m.a, inst->seg->n_accs + 1);
    v->direct = jn_arena_zalloc(m.a, inst->seg->n_inputs + 1);
    v->goes_to = jn_arena_alloc(m.a, (inst->seg->n_values + 1) * sizeof *v->goes_to);
    if (!v->nodes || !v->rowed || !v->inside || !v->scratch || !v->adds || !v->direct ||
        !v->goes_to)
        return JN_NO_MEMORY();
    memset(v->goes_to, 0xff, inst->seg->n_values * sizeof *v->goes_to);
    janus_status st = JANUS_OK;
    for (uint32_t i = 0; i < inst->seg->n_nodes && st == JANUS_OK; i++) {
        st = make_node(&m, i);
        const jn_vnode *vn = &v->nodes[i];
        if (vn->acc >= 0 && vn->mode != JN_V_SKIP)
            v->adds[vn->acc] |= vn->mode == JN_V_PRODUCT ? JN_ADDS_PRODUCTS
                                : jn_vnode_adds_rows(vn) ? JN_ADDS_ROWS
                                                         : JN_ADDS_VALUES;
        uint32_t n_views = (uint32_t)v->nodes[i].n_in + v->nodes[i].n_out;
        if (n_views > v->max_views)
            v->max_views = n_views;
        if (v->nodes[i].workspace > v->workspace)
            v->workspace = v->nodes[i].workspace;
    }
    find_direct(&m);
    if (st == JANUS_OK && key.use != JN_FOR_STORES)
        st = jn_find_chains(inst, v);
    if (st == JANUS_OK)
        st = jn_place_temporaries(inst, v);
    if (st != JANUS_OK) {
        jn_vec_free(&v->dims);
        return st;
    }
    v->next = inst->variants[key.part];
    inst->variants[key.part] = v;
    *out = v;
    return JANUS_OK;
}

/* Kernels are chosen again: what is best may depend on the number of rows. */
static janus_status patch(jn_seginst *inst, jn_variant *v, int64_t n_rows) {
    maker m = {inst, v, &inst->arena};
    v->rows = n_rows;
    for (size_t i = 0; i < v->dims.n; i++)
        *v->dims.data[i].where = n_rows * v->dims.data[i].mult;
    v->workspace = 0;
    for (uint32_t i = 0; i < inst->seg->n_nodes; i++) {
        jn_vnode *vn = &v->nodes[i];
        if (vn->mode == JN_V_CALL && vn->out_rowed)
            JN_TRY(select_kernel(&m, vn));
        if (vn->workspace > v->workspace)
            v->workspace = vn->workspace;
    }
    return JANUS_OK;
}

janus_status jn_variant_get(jn_lane *l, jn_seginst *inst, jn_variant_key key, int64_t rows,
                            jn_variant **out) {
    const jn_run *r = l->run;
    for (jn_variant *v = inst->variants[key.part]; v; v = v->next)
        if (v->mask == key.mask && v->single == (rows == 1) && v->on == r->on && v->dev == r->dev &&
            v->use == key.use && v->exact == r->exact) {
            *out = v;
            return v->rows == rows ? JANUS_OK : patch(inst, v, rows);
        }
    jn_lane_lock(l);
    janus_status st = make(r, inst, key, rows, out);
    jn_lane_unlock(l);
    return st;
}

/* ---- for those who run it ----------------------------------------------------------------------
 */

bool jn_vnode_adds_rows(const jn_vnode *vn) {
    return vn->accumulates && jn_op_impls[vn->op->id].sums == JN_SUMS_TABLE;
}

janus_status jn_variant_summand(const jn_seginst *inst, const jn_variant *v, const jn_vnode *vn,
                                const jn_shape *acc, int64_t *step) {
    const jn_src *src = &vn->n->in[1];
    bool rowed, contiguous = true;
    const jn_shape *s;
    *step = acc->numel;
    if (src->kind == JN_SRC_NODE) {
        uint32_t value = inst->seg->nodes[src->index].value[src->index_out];
        const jn_segvalue *sv = &inst->values[value];
        rowed = v->rowed[value];
        contiguous = sv->contiguous;
        s = sv->shape;
        if (sv->alias)
            *step =
                sv->base_input ? inst->in[sv->base]->numel : inst->values[sv->base].shape->numel;
    } else {
        rowed = input_rowed(v, src->index);
        s = inst->in[src->index];
    }
    if (!rowed)
        *step = 0;
    return s->numel == acc->numel && contiguous
               ? JANUS_OK
               : jn_error(JANUS_INTERNAL, "acc.add: operand is not of the accumulator's layout");
}

void jn_views_advance(jn_view *v, const int64_t *step, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (step[i])
            v[i].data = (char *)v[i].data + step[i] * (int64_t)jn_dtype_size(v[i].dtype);
}
