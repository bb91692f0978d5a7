/* SPDX-License-Identifier: Apache-2.0 */
/* Making variants: a kernel, and the operands' views, for each node of a segment. */
#include "config.h"

#include "exec/kernels/kernels.h"
#include "exec/kernels/variant_rows.h"

#include <string.h>

#include "exec/state/state.h"
#include "graph/base/status.h"
#include "ops/services.h"

/* How many results of a node a kernel has to write: the last ones may leave the segment nowhere,
 * and no node of it may read them. */
static uint16_t n_read(const jn_maker *m, const jn_segnode *n) {
    const jn_segment *seg = m->inst->seg;
    uint32_t most = n->n_out;
    while (most > 1 && m->inst->values[n->value[most - 1]].output < 0)
        most--;
    for (uint32_t i = 0; most < n->n_out && i < seg->n_nodes; i++)
        for (uint32_t k = 0; k < seg->nodes[i].n_in; k++) {
            const jn_src *src = &seg->nodes[i].in[k];
            if (src->kind == JN_SRC_NODE && &seg->nodes[src->index] == n && src->index_out >= most)
                most = src->index_out + 1;
        }
    return (uint16_t)most;
}

static janus_status select_kernel(const jn_maker *m, jn_vnode *vn) {
    jn_sig sig = {vn->op, vn->in, vn->out, vn->n_in, vn->n_out, vn->attrs};
    if (vn->n && vn->op == vn->n->op && vn->n_out > 1 && jn_computes_here(m->v->on))
        sig.n_out = n_read(m, vn->n);
    return m->v->on->select(m->v->dev, &sig, &vn->kernel, &vn->workspace);
}

/* A view that leaves the segment: its elements are copied to the output's rows. */
static janus_status make_copy(jn_maker *m, jn_vnode *vn, const jn_segvalue *v, uint32_t value) {
    bool rowed = v->base_input ? jn_input_rowed(m->v, v->base) : m->v->rowed[v->base];
    jn_row_view in = {
        {NULL, v->shape->dims, v->view_strides, v->shape->rank, v->shape->dtype, false},
        v->base_input ? m->inst->in[v->base]->numel : m->inst->values[v->base].shape->numel,
        rowed,
        false};
    in.view.contiguous = jn_view_is_dense(&in.view);
    m->v->rowed[value] = rowed;
    jn_row_view out = jn_value_rows(m, value);
    vn->op = jn_service_copy.op;
    vn->attrs = jn_service_copy.attrs;
    vn->n_in = vn->n_out = 1;
    vn->mode = JN_V_CALL;
    vn->out_rowed = rowed;
    vn->acc = -1;
    if (rowed && !jn_rows_aligned(m, &in, 1, &out, 1, vn))
        return JN_NO_MEMORY();
    if (!rowed) {
        vn->in[0] = in.view;
        vn->out[0] = out.view;
    }
    return select_kernel(m, vn);
}

/* The accumulator that a node adds its result to itself, -1: none.  Exactly the sums of imperative
 * mode, which rounds the result before it adds it, come so from single rows of a table only. */
static int32_t fused_acc(const jn_maker *m, const jn_segnode *n) {
    if (n->fused_acc < 0 || n->n_out != 1)
        return -1;
    bool row =
        jn_op_impls[n->op->id].sums == JN_SUMS_TABLE && jn_operand_rows(m, &n->in[1]).step == 1;
    return m->v->exact && !row ? -1 : n->fused_acc;
}

/* A product x' z of matrices, whose rows another product can take too. */
static bool is_product(const jn_maker *m, const jn_segnode *n, const jn_row_view *r) {
    const jn_op_impl *impl = &jn_op_impls[n->op->id];
    bool host = jn_computes_here(m->v->on);
    return host && impl->summed && impl->summed(n->attrs) && r[0].view.rank == 2 &&
           r[1].view.rank == 2 && r[0].view.contiguous && r[1].view.contiguous &&
           (r[0].view.dtype == JANUS_F32 || r[0].view.dtype == JANUS_F64);
}

/* The value that an operand is a view of, if it is all of it, as it lies. */
static jn_src whole_value(const jn_maker *m, jn_src src) {
    while (src.kind == JN_SRC_NODE) {
        const jn_segnode *by = &m->inst->seg->nodes[src.index];
        const jn_segvalue *v = &m->inst->values[by->value[src.index_out]];
        if (by->n_out != 1 || !v->alias || !v->contiguous || v->offset != 0)
            break;
        const jn_shape *whole =
            v->base_input ? m->inst->in[v->base] : m->inst->values[v->base].shape;
        if (whole->bytes != v->shape->bytes)
            break;
        src = by->in[0];
    }
    return src;
}

/* Rows of an input stay where its task has put them, those of an output are read there. */
static bool stays(const jn_maker *m, const jn_src *of) {
    if (of->kind != JN_SRC_NODE)
        return of->kind == JN_SRC_INPUT;
    const jn_segvalue *v = &m->inst->values[m->inst->seg->nodes[of->index].value[of->index_out]];
    return v->output >= 0 && !v->alias;
}

/* Finds or makes the factor that operand i of a product is. */
static bool find_factor(jn_maker *m, jn_vnode *vn, uint8_t i, const jn_row_view *r) {
    enum { FEW_BYTES = 128 }; /* of a row: a copy is as soon made as it is noted where they are */
    jn_variant *v = m->v;
    jn_factor f = {r->view.dims[0],
                   r->view.dims[1],
                   (uint32_t)(vn->n - m->inst->seg->nodes),
                   i,
                   false,
                   whole_value(m, vn->n->in[i])};
    for (uint32_t k = 0; k < v->n_factors; k++) {
        const jn_factor *o = &v->factors[k];
        if (o->of.kind == f.of.kind && o->of.index == f.of.index &&
            o->of.index_out == f.of.index_out && o->rows == f.rows && o->cols == f.cols) {
            vn->factor[i] = k;
            return true;
        }
    }
    if (!v->factors)
        v->factors = jn_arena_alloc(m->a, 2 * (size_t)m->inst->seg->n_nodes * sizeof *v->factors);
    if (!v->factors)
        return false;
    f.stays =
        f.cols * (int64_t)jn_dtype_size((janus_dtype)r->view.dtype) >= FEW_BYTES && stays(m, &f.of);
    vn->factor[i] = v->n_factors;
    v->factors[v->n_factors++] = f;
    return true;
}

static janus_status collect_rows(jn_maker *m, jn_vnode *vn, const jn_row_view *r) {
    vn->mode = JN_V_PRODUCT;
    vn->in_step = jn_arena_zalloc(m->a, 2 * sizeof *vn->in_step);
    if (!vn->in_step)
        return JN_NO_MEMORY();
    for (uint8_t i = 0; i < 2; i++) {
        vn->in[i] = r[i].view;
        vn->in_step[i] = r[i].rowed ? r[i].step : 0;
        if (!find_factor(m, vn, i, &r[i]))
            return JN_NO_MEMORY();
        const jn_src *of = &m->v->factors[vn->factor[i]].of;
        if (of->kind != JN_SRC_NODE)
            continue;
        uint32_t value = m->inst->seg->nodes[of->index].value[of->index_out];
        const jn_segvalue *v = &m->inst->values[value];
        if (!v->alias && !v->copied && v->output < 0 && (r[i].rowed || m->v->single) &&
            m->v->goes_to[value] < 0)
            m->v->goes_to[value] = (int32_t)vn->factor[i];
    }
    m->v->n_products++;
    return JANUS_OK;
}

/* Inputs one behind the other in a row of the result. */
static bool is_concat_of_inputs(const jn_maker *m, const jn_segnode *n) {
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
static void find_direct(jn_maker *m) {
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
static bool takes_strides(const jn_vnode *vn, const jn_row_view *r) {
    if (vn->op->flags & JN_OP_STRIDED)
        return true;
    for (uint32_t i = 0; i < vn->n_in; i++)
        if (vn->in[i].rank >= 0 && !r[i].like && !vn->in[i].contiguous)
            return false;
    return true;
}

static janus_status make_node(jn_maker *m, uint32_t index) {
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
    jn_row_view *r = jn_arena_zalloc(m->a, (n->n_in + 1) * sizeof *r);
    jn_row_view *o = jn_arena_zalloc(m->a, (n->n_out + 1) * sizeof *o);
    vn->in = jn_arena_zalloc(m->a, (n->n_in + 1) * sizeof *vn->in);
    vn->out = jn_arena_zalloc(m->a, (n->n_out + 1) * sizeof *vn->out);
    if (!r || !o || !vn->in || !vn->out)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < n->n_in; i++) {
        r[i] = jn_operand_rows(m, &n->in[i]);
        r[i].like = jn_op_accept(n->op, i) == JN_ACCEPT_LIKE;
        rowed |= r[i].rowed && !r[i].like;
    }
    for (uint32_t i = 0; i < n->n_in; i++)
        if (r[i].like && (r[i].rowed = false, true))
            r[i].step = 0;
    for (uint32_t i = 0; i < n->n_out; i++) {
        m->v->rowed[n->value[i]] = rowed && fused < 0;
        o[i] = jn_value_rows(m, n->value[i]);
    }
    if (n->n_out == 1 && m->inst->values[n->value[0]].alias) {
        const jn_segvalue *v = &m->inst->values[n->value[0]];
        m->v->rowed[n->value[0]] =
            v->base_input ? jn_input_rowed(m->v, v->base) : m->v->rowed[v->base];
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
        done = jn_rows_accumulated(m, r, n->n_in, o, vn);
    else if (rowed)
        done = jn_rows_batched(m, r, n->n_in, o, n->n_out, vn);
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
    jn_maker m = {inst, v, &inst->arena};
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
    if (st == JANUS_OK && key.use != JN_FOR_STORES)
        st = jn_join_nodes(inst, v);
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
    jn_maker m = {inst, v, &inst->arena};
    v->rows = n_rows;
    for (size_t i = 0; i < v->dims.n; i++)
        *v->dims.data[i].where = n_rows * v->dims.data[i].mult;
    v->workspace = 0;
    for (uint32_t i = 0; i < inst->seg->n_nodes; i++) {
        jn_vnode *vn = &v->nodes[i];
        bool joined = vn->n != &inst->seg->nodes[i]; /* its kernel takes any number of rows */
        if (vn->mode == JN_V_CALL && vn->out_rowed && !joined)
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

janus_status jn_vnode_error(const jn_vnode *vn, uint32_t flags) {
    const jn_loc *loc = &vn->n->node->loc;
    janus_status st = flags & JN_KFLAG_INDEX    ? JANUS_INDEX
                      : flags & JN_KFLAG_MEMORY ? JANUS_NO_MEMORY
                                                : JANUS_ARITHMETIC;
    const char *what = st == JANUS_INDEX          ? "index out of range"
                       : st == JANUS_NO_MEMORY    ? "no memory for workspace"
                       : flags & JN_KFLAG_DIVZERO ? "integer division by zero"
                                                  : "integer overflow";
    return jn_error(st, "%s: %s (%s:%u)", vn->n->op->name, what, loc->file ? loc->file : "?",
                    loc->line);
}

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
        rowed = jn_input_rowed(v, src->index);
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
