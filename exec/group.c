/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a group: the rows of one specialisation at one level.
 *
 * Inputs that are the same for every row are passed as they are; rows that lie one after the other
 * in one block are a view; others are gathered.  Outputs are one new block per output, and each
 * task's promise points to its row.
 */
#include "config.h"

#include <string.h>

#include "exec/par.h"
#include "exec/run_internal.h"
#include "exec/variant.h"
#include "graph/base/status.h"

typedef struct group {
    jn_run *r;
    jn_seginst *inst;
    jn_variant *v;
    jn_task **task; /* n rows */
    uint32_t n;
    char **input, **scalar, **value; /* data per input, scalar, value */
    char *scratch;                   /* temporaries */
    uint32_t flags;
} group;

/* Scratch memory of the run: one block, bumped within a group. */
typedef struct bump {
    char *at, *end;
} bump;

static void *take(bump *b, size_t bytes) {
    bytes = (bytes + 63) & ~(size_t)63;
    if ((size_t)(b->end - b->at) < bytes)
        return NULL;
    void *p = b->at;
    b->at += bytes;
    return p;
}

static janus_status reserve_scratch(jn_run *r, size_t bytes) {
    if (r->scratch_bytes >= bytes)
        return JANUS_OK;
    if (bytes > r->mem->ceiling)
        return jn_error(JANUS_NO_MEMORY, "a batch would need %zu bytes of temporaries", bytes);
    jn_free_aligned(r->scratch);
    r->scratch_bytes = 0;
    r->scratch = jn_alloc_aligned(bytes + bytes / 2);
    if (!r->scratch)
        return JN_NO_MEMORY();
    r->scratch_bytes = bytes + bytes / 2;
    return JANUS_OK;
}

enum { ROWS_SHARED, ROWS_BLOCK, ROWS_GATHER };

static int input_layout(const group *g, uint32_t i) {
    char *first = g->task[0]->in[i]->data;
    bool shared = true, block = true;
    size_t bytes = g->inst->in[i]->bytes;
    for (uint32_t t = 1; t < g->n; t++) {
        char *p = g->task[t]->in[i]->data;
        shared &= p == first;
        block &= p == first + t * bytes;
    }
    return shared ? ROWS_SHARED : block ? ROWS_BLOCK : ROWS_GATHER;
}

static bool scalar_shared(const group *g, uint32_t i) {
    for (uint32_t t = 1; t < g->n; t++)
        if (g->task[t]->scalars[i] != g->task[0]->scalars[i])
            return false;
    return true;
}

static size_t scalar_bytes(const jn_segment *seg, uint32_t i) {
    return seg->scalars[i].kind == JANUS_KIND_BOOL ? 1 : 8;
}

static janus_status prepare_inputs(group *g, bump *b, const uint8_t *layout) {
    const jn_segment *seg = g->inst->seg;
    for (uint32_t i = 0; i < seg->n_inputs; i++) {
        g->input[i] = g->task[0]->in[i]->data;
        if (layout[i] != ROWS_GATHER)
            continue;
        size_t bytes = g->inst->in[i]->bytes;
        char *to = take(b, bytes * g->n);
        if (!to)
            return JN_NO_MEMORY();
        g->input[i] = to;
        for (uint32_t t = 0; t < g->n; t++, to += bytes)
            memcpy(to, g->task[t]->in[i]->data, bytes);
    }
    for (uint32_t i = 0; i < seg->n_scalars; i++) {
        bool is_bool = seg->scalars[i].kind == JANUS_KIND_BOOL;
        bool rowed =
            !g->v->single && seg->n_inputs + i < 64 && (g->v->mask >> (seg->n_inputs + i) & 1);
        uint32_t n = rowed ? g->n : 1;
        char *to = take(b, 8 * (size_t)n);
        if (!to)
            return JN_NO_MEMORY();
        g->scalar[i] = to;
        for (uint32_t t = 0; t < n; t++) {
            int64_t bits =
                seg->scalars[i].is_const ? seg->scalars[i].value : g->task[t]->scalars[i];
            if (is_bool)
                to[t] = bits != 0;
            else
                memcpy(to + 8 * (size_t)t, &bits, 8);
        }
    }
    return JANUS_OK;
}

static janus_status place_outputs(group *g) {
    const jn_segment *seg = g->inst->seg;
    for (uint32_t i = 0; i < seg->n_outputs; i++) {
        uint32_t value = seg->nodes[seg->output[i].index].value[seg->output[i].index_out];
        size_t bytes = g->inst->out[i]->bytes;
        bool rowed = g->v->rowed[value];
        if (rowed && bytes && g->n > SIZE_MAX / bytes)
            return JN_NO_MEMORY();
        char *block = jn_mem_tensor(g->r->mem, rowed ? bytes * g->n : bytes);
        if (!block)
            return jn_error(JANUS_NO_MEMORY, "the run's memory limit of %zu bytes is reached",
                            g->r->mem->ceiling);
        g->value[value] = block;
        for (uint32_t t = 0; t < g->n; t++)
            g->task[t]->out[i].data = block + (rowed ? t * bytes : 0);
    }
    return JANUS_OK;
}

static void place_values(group *g) {
    for (uint32_t i = 0; i < g->inst->seg->n_values; i++) {
        const jn_segvalue *v = &g->inst->values[i];
        if (v->alias) {
            char *base = v->base_input ? g->input[v->base] : g->value[v->base];
            g->value[i] = base + v->offset * (int64_t)jn_dtype_size(v->shape->dtype);
        } else if (v->shape && v->output < 0) {
            g->value[i] = g->scratch + g->v->scratch[i] * g->n;
        }
    }
}

static char *src_data(const group *g, const jn_src *src) {
    switch (src->kind) {
    case JN_SRC_INPUT:
        return g->input[src->index];
    case JN_SRC_SCALAR:
        return g->scalar[src->index];
    case JN_SRC_NODE:
        return g->value[g->inst->seg->nodes[src->index].value[src->index_out]];
    default:
        return NULL;
    }
}

/* Memory of an accumulator; zeroed when nothing was added yet. *fresh: it was just made. */
static janus_status acc_data(group *g, int32_t index, char **out) {
    jn_acc *acc = g->task[0]->accs[index];
    if (!acc->data) {
        acc->data = jn_mem_tensor(g->r->mem, acc->shape->bytes);
        if (!acc->data)
            return jn_error(JANUS_NO_MEMORY, "no memory for a gradient of %zu bytes",
                            acc->shape->bytes);
        memset(acc->data, 0, acc->shape->bytes);
    }
    *out = acc->data;
    return JANUS_OK;
}

static janus_status sum_rows(group *g, const jn_vnode *vn) {
    const jn_src *src = &vn->n->in[1];
    const jn_acc *acc = g->task[0]->accs[vn->acc];
    char *to, *from = src_data(g, src);
    bool rowed = false, contiguous = true;
    int64_t numel = acc->shape->numel, step = numel;
    if (src->kind == JN_SRC_NODE) {
        uint32_t value = g->inst->seg->nodes[src->index].value[src->index_out];
        const jn_segvalue *v = &g->inst->values[value];
        rowed = g->v->rowed[value];
        contiguous = v->contiguous;
        if (v->alias)
            step =
                v->base_input ? g->inst->in[v->base]->numel : g->inst->values[v->base].shape->numel;
        if (v->shape != acc->shape && v->shape->numel != numel)
            return jn_error(JANUS_INTERNAL, "acc.add: shapes differ");
    } else if (src->kind == JN_SRC_INPUT) {
        rowed = !g->v->single && (g->v->mask >> src->index & 1);
    }
    if (!contiguous)
        return jn_error(JANUS_UNSUPPORTED, "acc.add: operand is not row-major");
    JN_TRY(acc_data(g, vn->acc, &to));
    for (uint32_t t = 0; t < g->n; t++) {
        if (acc->shape->dtype == JANUS_F32) {
            float *a = (float *)to;
            const float *x = (const float *)from + (rowed ? t * step : 0);
            for (int64_t i = 0; i < numel; i++)
                a[i] += x[i];
        } else if (acc->shape->dtype == JANUS_F64) {
            double *a = (double *)to;
            const double *x = (const double *)from + (rowed ? t * step : 0);
            for (int64_t i = 0; i < numel; i++)
                a[i] += x[i];
        } else {
            return jn_error(JANUS_DTYPE, "acc.add: sums are f32 or f64, got %s",
                            jn_dtype_name((janus_dtype)acc->shape->dtype));
        }
    }
    return JANUS_OK;
}

static janus_status call(group *g, jn_vnode *vn, char *workspace) {
    const jn_segnode *n = vn->n;
    jn_kargs k = {vn->in,    vn->out,   vn->n_in,      vn->n_out,      vn->attrs,
                  workspace, &g->flags, jn_par_pool(), vn->accumulates};
    const jn_segvalue *v0 = n->n_out ? &g->inst->values[n->value[0]] : NULL;
    if (v0 && v0->copied) {
        char *base = v0->base_input ? g->input[v0->base] : g->value[v0->base];
        vn->in[0].data = base + v0->offset * (int64_t)jn_dtype_size(v0->shape->dtype);
    } else {
        for (uint32_t i = 0; i < vn->n_in; i++)
            vn->in[i].data = src_data(g, &n->in[i]);
    }
    for (uint32_t i = 0; i < vn->n_out; i++)
        vn->out[i].data = g->value[n->value[i]];
    if (vn->accumulates) {
        char *to;
        JN_TRY(acc_data(g, vn->acc, &to));
        vn->out[0].data = to;
    }
    uint32_t times = vn->mode == JN_V_LOOP ? g->n : 1;
    for (uint32_t t = 0; t < times; t++) {
        vn->kernel(&k);
        g->r->stats.kernels++;
        if (vn->mode == JN_V_LOOP) {
            for (uint32_t i = 0; i < vn->n_in; i++)
                if (vn->in_step[i])
                    vn->in[i].data = (char *)vn->in[i].data +
                                     vn->in_step[i] * (int64_t)jn_dtype_size(vn->in[i].dtype);
            for (uint32_t i = 0; i < vn->n_out; i++)
                vn->out[i].data = (char *)vn->out[i].data +
                                  vn->out_step[i] * (int64_t)jn_dtype_size(vn->out[i].dtype);
        }
    }
    return JANUS_OK;
}

static janus_status flag_error(const group *g, const jn_vnode *vn) {
    const jn_loc *loc = &vn->n->node->loc;
    janus_status st = g->flags & JN_KFLAG_INDEX    ? JANUS_INDEX
                      : g->flags & JN_KFLAG_MEMORY ? JANUS_NO_MEMORY
                                                   : JANUS_ARITHMETIC;
    const char *what = st == JANUS_INDEX             ? "index out of range"
                       : st == JANUS_NO_MEMORY       ? "no memory for workspace"
                       : g->flags & JN_KFLAG_DIVZERO ? "integer division by zero"
                                                     : "integer overflow";
    return jn_error(st, "%s: %s (%s:%u)", vn->n->op->name, what, loc->file ? loc->file : "?",
                    loc->line);
}

static janus_status run_group(group *g) {
    const jn_segment *seg = g->inst->seg;
    uint8_t layout_buf[64], *layout = layout_buf;
    uint64_t mask = 0;
    size_t need = 4096;
    bool single = g->n == 1;
    if (seg->n_inputs > 64) {
        layout = jn_arena_alloc(&g->r->mem->arena, seg->n_inputs);
        if (!layout)
            return JN_NO_MEMORY();
    }
    for (uint32_t i = 0; i < seg->n_inputs; i++) {
        layout[i] = single ? ROWS_SHARED : (uint8_t)input_layout(g, i);
        if (layout[i] != ROWS_SHARED)
            mask |= 1ull << i;
        if (layout[i] == ROWS_GATHER)
            need += g->inst->in[i]->bytes * g->n + 64;
    }
    for (uint32_t i = 0; i < seg->n_scalars; i++) {
        if (!single && !seg->scalars[i].is_const && !scalar_shared(g, i))
            mask |= 1ull << (seg->n_inputs + i);
        need += 8 * (size_t)g->n + 64;
    }
    JN_TRY(jn_variant_get(g->inst, mask, g->n, (uint8_t)g->r->device, &g->v));
    need += g->v->scratch_bytes * g->n + g->v->workspace + 256;
    need += (seg->n_inputs + seg->n_scalars + seg->n_values + 8) * sizeof(char *) + 256;
    JN_TRY(reserve_scratch(g->r, need));
    bump b = {g->r->scratch, g->r->scratch + g->r->scratch_bytes};
    g->input = take(&b, seg->n_inputs * sizeof(char *));
    g->scalar = take(&b, seg->n_scalars * sizeof(char *));
    g->value = take(&b, seg->n_values * sizeof(char *));
    JN_TRY(prepare_inputs(g, &b, layout));
    JN_TRY(place_outputs(g));
    g->scratch = take(&b, g->v->scratch_bytes * g->n);
    char *workspace = take(&b, g->v->workspace);
    if (!g->scratch || !workspace)
        return JN_NO_MEMORY();
    place_values(g);
    if (g->r->device == JN_DEVICE_NULL)
        return JANUS_OK;
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        jn_vnode *vn = &g->v->nodes[i];
        if (vn->mode == JN_V_SKIP)
            continue;
        janus_status st = vn->mode == JN_V_SUM ? sum_rows(g, vn) : call(g, vn, workspace);
        if (st == JANUS_OK && JN_UNLIKELY(g->flags))
            st = flag_error(g, vn);
        if (st != JANUS_OK)
            return st;
    }
    return JANUS_OK;
}

/* Rows must add to the same accumulators and fit the mask; else they run one by one. */
static bool fits_one_group(const jn_segment *seg, jn_task **task, uint32_t n) {
    if (seg->n_inputs + seg->n_scalars > 64)
        return false;
    for (uint32_t t = 1; t < n; t++)
        for (uint32_t i = 0; i < seg->n_accs; i++)
            if (task[t]->accs[i] != task[0]->accs[i])
                return false;
    return true;
}

janus_status jn_group_run(jn_run *r, jn_seginst *inst, jn_task **task, uint32_t n) {
    bool together = n == 1 || fits_one_group(inst->seg, task, n);
    for (uint32_t at = 0; at < n; at += together ? n : 1) {
        group g = {.r = r, .inst = inst, .task = task + at, .n = together ? n : 1};
        JN_TRY(run_group(&g));
        r->stats.batches++;
    }
    for (uint32_t t = 0; t < n; t++)
        task[t]->done = 1;
    r->stats.tasks += n;
    return JANUS_OK;
}
