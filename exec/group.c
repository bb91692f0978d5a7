/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a group: the rows of one specialisation at one level.
 *
 * Inputs that are the same for every row are passed as they are; rows that lie one after the other
 * in one block are a view; others are gathered.  Outputs are one new block per output, and each
 * task's promise points to its row.
 *
 * A large group is split into ranges of rows, one per thread, and a range into tiles whose
 * temporaries stay in the cache.  The split depends on the group alone, and each range adds to an
 * accumulator block of its own (summed when the accumulator is read), so results do not depend on
 * timing.
 */
#include "config.h"

#include <string.h>

#include "exec/acc.h"
#include "exec/dev_trace.h"
#include "exec/device.h"
#include "exec/par.h"
#include "exec/rows.h"
#include "exec/run_internal.h"
#include "exec/variant.h"
#include "graph/base/status.h"

enum {
    TILE_BYTES = 512 << 10, /* of temporaries per tile */
    TILE_ROWS = 32,         /* at least: products of fewer rows are slow */
    RANGE_COST = 1 << 16    /* elements of work that pay for waking another thread */
};

enum { ROWS_SHARED, ROWS_BLOCK, ROWS_GATHER };

typedef struct group {
    jn_run *r;
    jn_seginst *inst;
    jn_task **task; /* n rows */
    uint32_t n, ranges;
    uint64_t mask;
    uint8_t *layout;     /* per input */
    char *(*product)[2]; /* per node: where the rows of a product go */
} group;

/* A tile of a range being run by one thread. */
typedef struct tile {
    group *g;
    jn_variant *v;
    jn_task **task;
    uint32_t n, range;
    char **input, **scalar, **value; /* data per input, scalar, value */
    char *scratch;                   /* temporaries */
    char *workspace;
    jn_view *views; /* of the call being made */
    uint32_t flags;
    uint64_t kernels;
} tile;

/* Scratch memory of a range: one block, bumped within a tile. */
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

static janus_status reserve_scratch(jn_run *r, uint32_t range, size_t bytes) {
    jn_scratch *s = &r->scratch[range];
    if (s->bytes >= bytes)
        return JANUS_OK;
    if (bytes > r->mem->ceiling)
        return jn_error(JANUS_NO_MEMORY, "a batch would need %zu bytes of temporaries", bytes);
    jn_free_aligned(s->data);
    s->bytes = 0;
    s->data = jn_alloc_aligned(bytes + bytes / 2);
    if (!s->data)
        return JN_NO_MEMORY();
    s->bytes = bytes + bytes / 2;
    return JANUS_OK;
}

/* ---- the whole group
 * ------------------------------------------------------------------------------ */

static uint8_t input_layout(const group *g, uint32_t i) {
    char *first = g->task[0]->in[i]->data;
    bool shared = true, block = true;
    size_t bytes = g->inst->in[i]->bytes;
    for (uint32_t t = 1; t < g->n && (shared || block); t++) {
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

static void find_layout(group *g) {
    const jn_segment *seg = g->inst->seg;
    for (uint32_t i = 0; i < seg->n_inputs; i++) {
        g->layout[i] = g->n == 1 ? ROWS_SHARED : input_layout(g, i);
        if (g->layout[i] != ROWS_SHARED)
            g->mask |= 1ull << i;
    }
    for (uint32_t i = 0; g->n > 1 && i < seg->n_scalars; i++)
        if (!seg->scalars[i].is_const && !scalar_shared(g, i))
            g->mask |= 1ull << (seg->n_inputs + i);
}

char *jn_run_memory(jn_run *r, size_t bytes) {
    return JN_UNLIKELY(r->trace != NULL) ? jn_trace_take(r->trace, bytes)
                                         : jn_mem_tensor(r->mem, bytes);
}

static janus_status place_outputs(group *g, const jn_variant *v) {
    const jn_segment *seg = g->inst->seg;
    for (uint32_t i = 0; i < seg->n_outputs; i++) {
        uint32_t value = seg->nodes[seg->output[i].index].value[seg->output[i].index_out];
        size_t bytes = g->inst->out[i]->bytes;
        bool rowed = v->rowed[value];
        if (rowed && bytes && g->n > SIZE_MAX / bytes)
            return JN_NO_MEMORY();
        char *block = jn_run_memory(g->r, rowed ? bytes * g->n : bytes);
        if (!block)
            return jn_error(JANUS_NO_MEMORY, "the run's memory limit of %zu bytes is reached",
                            g->r->mem->ceiling);
        for (uint32_t t = 0; t < g->n; t++)
            g->task[t]->out[i].data = block + (rowed ? t * bytes : 0);
    }
    return JANUS_OK;
}

static janus_status place_table(group *g, jn_acc *acc) {
    for (uint32_t k = 0; k < g->ranges; k++)
        if (!acc->table[k])
            JN_TRY(jn_table_take(g->r, acc->shape, &acc->table[k]));
    return JANUS_OK;
}

/* Memory of the accumulators, one block or table per range. */
static janus_status place_accs(group *g, jn_variant *const *v, uint32_t n) {
    for (uint32_t i = 0; i < g->inst->seg->n_accs; i++) {
        jn_acc *acc = g->task[0]->accs[i];
        acc->used = true;
        unsigned adds = 0;
        for (uint32_t k = 0; k < n; k++)
            adds |= v[k] ? v[k]->adds[i] : 0;
        if (acc->rows && adds == JN_ADDS_ROWS) {
            JN_TRY(place_table(g, acc));
            continue;
        }
        if (acc->rows)
            JN_TRY(jn_rows_leave(g->r, acc));
        if (adds != JN_ADDS_PRODUCTS)
            JN_TRY(jn_acc_blocks(g->r, acc, g->ranges));
    }
    return JANUS_OK;
}

/* Room for the rows of products that are put off: per node those of x and of z. */
static janus_status place_products(group *g, const jn_variant *v) {
    const jn_segment *seg = g->inst->seg;
    if (!v->n_products)
        return JANUS_OK;
    g->product = jn_arena_alloc(&g->r->mem->tasks, seg->n_nodes * sizeof *g->product);
    if (!g->product)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < seg->n_accs; i++)
        JN_TRY(jn_acc_make_room(g->r, g->task[0]->accs[i]));
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        const jn_vnode *vn = &v->nodes[i];
        if (vn->mode == JN_V_PRODUCT)
            JN_TRY(jn_acc_product(g->r, g->task[0]->accs[vn->acc], g->n * vn->in[0].dims[0],
                                  vn->in[0].dims[1], vn->in[1].dims[1], &g->product[i][0],
                                  &g->product[i][1]));
    }
    return JANUS_OK;
}

/* ---- a tile
 * -------------------------------------------------------------------------------------- */

static janus_status prepare_inputs(tile *w, bump *b) {
    const jn_segment *seg = w->g->inst->seg;
    for (uint32_t i = 0; i < seg->n_inputs; i++) {
        w->input[i] = w->task[0]->in[i]->data;
        if (w->g->layout[i] != ROWS_GATHER || w->n == 1)
            continue;
        size_t bytes = w->g->inst->in[i]->bytes;
        char *to = take(b, bytes * w->n);
        if (!to)
            return JN_NO_MEMORY();
        w->input[i] = to;
        for (uint32_t t = 0; t < w->n; t++, to += bytes)
            memcpy(to, w->task[t]->in[i]->data, bytes);
    }
    for (uint32_t i = 0; i < seg->n_scalars; i++) {
        bool is_bool = seg->scalars[i].kind == JANUS_KIND_BOOL;
        bool rowed =
            !w->v->single && seg->n_inputs + i < 64 && (w->v->mask >> (seg->n_inputs + i) & 1);
        uint32_t n = rowed ? w->n : 1;
        char *to = take(b, 8 * (size_t)n);
        if (!to)
            return JN_NO_MEMORY();
        w->scalar[i] = to;
        for (uint32_t t = 0; t < n; t++) {
            int64_t bits =
                seg->scalars[i].is_const ? seg->scalars[i].value : w->task[t]->scalars[i];
            if (is_bool)
                to[t] = bits != 0;
            else
                memcpy(to + 8 * (size_t)t, &bits, 8);
        }
    }
    return JANUS_OK;
}

static char *src_data(const tile *w, const jn_src *src) {
    switch (src->kind) {
    case JN_SRC_INPUT:
        return w->input[src->index];
    case JN_SRC_SCALAR:
        return w->scalar[src->index];
    case JN_SRC_NODE:
        return w->value[w->g->inst->seg->nodes[src->index].value[src->index_out]];
    default:
        return NULL;
    }
}

/* Where this tile's rows of operand `i` of a product go. */
static char *product_rows(const tile *w, uint32_t node, int i) {
    const jn_view *v = &w->v->nodes[node].in[i];
    size_t bytes = (size_t)(v->dims[0] * v->dims[1]) * jn_dtype_size((janus_dtype)v->dtype);
    return w->g->product[node][i] + (size_t)(w->task - w->g->task) * bytes;
}

static void collect(tile *w, uint32_t node) {
    const jn_vnode *vn = &w->v->nodes[node];
    for (int i = 0; i < 2; i++) {
        const jn_view *v = &vn->in[i];
        size_t size = jn_dtype_size((janus_dtype)v->dtype);
        size_t bytes = (size_t)(v->dims[0] * v->dims[1]) * size;
        const char *from = src_data(w, &vn->n->in[i]);
        char *to = product_rows(w, node, i);
        if (from == to)
            continue; /* written there at once */
        for (uint32_t t = 0; t < w->n; t++, to += bytes, from += (size_t)vn->in_step[i] * size)
            memcpy(to, from, bytes);
    }
}

static void place_values(tile *w) {
    const jn_segment *seg = w->g->inst->seg;
    for (uint32_t i = 0; i < seg->n_outputs; i++)
        w->value[seg->nodes[seg->output[i].index].value[seg->output[i].index_out]] =
            w->task[0]->out[i].data;
    for (uint32_t i = 0; i < seg->n_values; i++) {
        const jn_segvalue *v = &w->g->inst->values[i];
        if (v->alias) {
            char *base = v->base_input ? w->input[v->base] : w->value[v->base];
            w->value[i] = base + v->offset * (int64_t)jn_dtype_size(v->shape->dtype);
        } else if (w->v->goes_to[i] >= 0) {
            w->value[i] = product_rows(w, (uint32_t)w->v->goes_to[i] / 2, w->v->goes_to[i] % 2);
        } else if (v->shape && v->output < 0) {
            w->value[i] = w->scratch + w->v->scratch[i] * w->n;
        }
    }
}

static janus_status sum_rows(tile *w, const jn_vnode *vn) {
    const jn_seginst *inst = w->g->inst;
    const jn_src *src = &vn->n->in[1];
    jn_acc *acc = w->task[0]->accs[vn->acc];
    char *from = src_data(w, src);
    bool rowed = false, contiguous = true;
    int64_t numel = acc->shape->numel, step = numel, have = numel;
    if (src->kind == JN_SRC_NODE) {
        uint32_t value = inst->seg->nodes[src->index].value[src->index_out];
        const jn_segvalue *v = &inst->values[value];
        rowed = w->v->rowed[value];
        contiguous = v->contiguous;
        have = v->shape->numel;
        if (v->alias)
            step = v->base_input ? inst->in[v->base]->numel : inst->values[v->base].shape->numel;
    } else {
        rowed = !w->v->single && (w->v->mask >> src->index & 1);
        have = inst->in[src->index]->numel;
    }
    if (have != numel || !contiguous)
        return jn_error(JANUS_INTERNAL, "acc.add: operand is not of the accumulator's layout");
    return jn_acc_add(acc, w->range, from, rowed ? step : 0, w->n);
}

static void advance(jn_view *v, const int64_t *step, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (step[i])
            v[i].data = (char *)v[i].data + step[i] * (int64_t)jn_dtype_size(v[i].dtype);
}

/* The variant is read by all ranges at once: data pointers go into copies of its views. */
static void call(tile *w, const jn_vnode *vn) {
    const jn_segnode *n = vn->n;
    jn_view *in = w->views, *out = in + vn->n_in;
    const jn_segvalue *v0 = n->n_out ? &w->g->inst->values[n->value[0]] : NULL;
    memcpy(in, vn->in, vn->n_in * sizeof *in);
    memcpy(out, vn->out, vn->n_out * sizeof *out);
    if (v0 && v0->copied) {
        char *base = v0->base_input ? w->input[v0->base] : w->value[v0->base];
        in[0].data = base + v0->offset * (int64_t)jn_dtype_size(v0->shape->dtype);
    } else {
        for (uint32_t i = 0; i < vn->n_in; i++)
            in[i].data = src_data(w, &n->in[i]);
    }
    for (uint32_t i = 0; i < vn->n_out; i++)
        out[i].data = w->value[n->value[i]];
    jn_acc *acc = vn->accumulates ? w->task[0]->accs[vn->acc] : NULL;
    jn_table *table = acc ? acc->table[w->range] : NULL;
    if (acc)
        out[0].data = table ? table->data : acc->data[w->range];
    jn_kargs k = {in,
                  out,
                  vn->n_in,
                  vn->n_out,
                  vn->attrs,
                  w->workspace,
                  &w->flags,
                  w->g->ranges > 1 ? &jn_par_serial : jn_par_pool(),
                  acc && (table || acc->written[w->range])};
    uint32_t times = vn->mode == JN_V_LOOP ? w->n : 1;
    for (uint32_t t = 0; t < times; t++) {
        if (table)
            jn_table_touch(table, &in[1]);
        vn->kernel(&k);
        k.accumulate = acc != NULL;
        if (vn->mode == JN_V_LOOP) {
            advance(in, vn->in_step, vn->n_in);
            advance(out, vn->out_step, vn->n_out);
        }
    }
    if (acc)
        acc->written[w->range] = true;
    w->kernels += times;
}

static janus_status flag_error(const tile *w, const jn_vnode *vn) {
    const jn_loc *loc = &vn->n->node->loc;
    janus_status st = w->flags & JN_KFLAG_INDEX    ? JANUS_INDEX
                      : w->flags & JN_KFLAG_MEMORY ? JANUS_NO_MEMORY
                                                   : JANUS_ARITHMETIC;
    const char *what = st == JANUS_INDEX             ? "index out of range"
                       : st == JANUS_NO_MEMORY       ? "no memory for workspace"
                       : w->flags & JN_KFLAG_DIVZERO ? "integer division by zero"
                                                     : "integer overflow";
    return jn_error(st, "%s: %s (%s:%u)", vn->n->op->name, what, loc->file ? loc->file : "?",
                    loc->line);
}

static janus_status run_tile(tile *w) {
    const jn_seginst *inst = w->g->inst;
    const jn_segment *seg = inst->seg;
    size_t need = 4096 + w->v->max_views * sizeof(jn_view) + w->v->scratch_bytes * w->n +
                  w->v->workspace +
                  (seg->n_inputs + seg->n_scalars + seg->n_values + 8) * sizeof(char *);
    for (uint32_t i = 0; i < seg->n_inputs; i++)
        if (w->g->layout[i] == ROWS_GATHER)
            need += inst->in[i]->bytes * w->n + 64;
    need += seg->n_scalars * (8 * (size_t)w->n + 64);
    JN_TRY(reserve_scratch(w->g->r, w->range, need));
    jn_scratch *s = &w->g->r->scratch[w->range];
    bump b = {s->data, s->data + s->bytes};
    w->input = take(&b, seg->n_inputs * sizeof(char *));
    w->scalar = take(&b, seg->n_scalars * sizeof(char *));
    w->value = take(&b, seg->n_values * sizeof(char *));
    JN_TRY(prepare_inputs(w, &b));
    w->scratch = take(&b, w->v->scratch_bytes * w->n);
    w->workspace = take(&b, w->v->workspace);
    w->views = take(&b, w->v->max_views * sizeof(jn_view));
    if (!w->scratch || !w->workspace || !w->views)
        return JN_NO_MEMORY();
    place_values(w);
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        const jn_vnode *vn = &w->v->nodes[i];
        if (vn->mode == JN_V_SKIP)
            continue;
        if (vn->mode == JN_V_SUM)
            JN_TRY(sum_rows(w, vn));
        else if (vn->mode == JN_V_PRODUCT)
            collect(w, i);
        else
            call(w, vn);
        if (JN_UNLIKELY(w->flags))
            return flag_error(w, vn);
    }
    return JANUS_OK;
}

/* ---- ranges
 * -------------------------------------------------------------------------------------- */

typedef struct range_job {
    group *g;
    jn_variant *v[2 * JN_MAX_RANGES]; /* per range: its tiles, its last tile */
    uint32_t tile_rows;
    janus_status st[JN_MAX_RANGES];
    janus_error error[JN_MAX_RANGES];
    uint64_t kernels[JN_MAX_RANGES];
} range_job;

static uint32_t range_begin(const group *g, uint32_t k) {
    return (uint32_t)((uint64_t)g->n * k / g->ranges);
}

static void run_ranges(void *arg, int64_t begin, int64_t end) {
    range_job *j = arg;
    for (int64_t k = begin; k < end; k++) {
        uint32_t at = range_begin(j->g, (uint32_t)k), stop = range_begin(j->g, (uint32_t)k + 1);
        for (; at < stop && j->st[k] == JANUS_OK; at += j->tile_rows) {
            uint32_t n = stop - at < j->tile_rows ? stop - at : j->tile_rows;
            tile w = {.g = j->g,
                      .v = j->v[2 * k + (n != j->tile_rows)],
                      .task = j->g->task + at,
                      .n = n,
                      .range = (uint32_t)k};
            j->st[k] = run_tile(&w);
            j->kernels[k] += w.kernels;
        }
        if (j->st[k] != JANUS_OK)
            j->error[k] = *janus_last_error();
    }
}

/* How many ranges and rows per tile: from the group alone. */
static uint32_t plan_ranges(group *g) {
    uint64_t cost = (uint64_t)g->inst->row_cost * g->n;
    int threads = janus_get_num_threads();
    g->ranges = 1;
    if (g->r->dev)
        return g->n;
    if (!g->r->exact && threads > 1 && g->n >= 2 && cost >= 2 * RANGE_COST) {
        g->ranges = cost / RANGE_COST < (uint64_t)threads ? (uint32_t)(cost / RANGE_COST)
                                                          : (uint32_t)threads;
        if (g->ranges > JN_MAX_RANGES)
            g->ranges = JN_MAX_RANGES;
        if (g->ranges > g->n)
            g->ranges = g->n;
    }
    uint32_t rows = (g->n + g->ranges - 1) / g->ranges;
    size_t fit = TILE_BYTES / (g->inst->row_bytes + 1);
    if (fit < TILE_ROWS)
        fit = TILE_ROWS;
    return rows > fit ? (uint32_t)fit : rows;
}

static janus_status run_group(group *g) {
    range_job j = {.g = g};
    uint8_t device = (uint8_t)g->r->device;
    bool exact = g->r->exact;
    find_layout(g);
    j.tile_rows = plan_ranges(g);
    for (uint32_t k = 0; k < g->ranges; k++) {
        uint32_t rows = range_begin(g, k + 1) - range_begin(g, k);
        uint32_t full = rows < j.tile_rows ? 0 : j.tile_rows, last = rows % j.tile_rows;
        if (full)
            JN_TRY(jn_variant_get(g->inst, g->mask, full, device, 2 * k, exact, &j.v[2 * k]));
        if (last)
            JN_TRY(
                jn_variant_get(g->inst, g->mask, last, device, 2 * k + 1, exact, &j.v[2 * k + 1]));
    }
    jn_variant *any = j.v[0] ? j.v[0] : j.v[1];
    if (any->single && g->n > 1 && g->mask) /* its rows are not marked: ask one that is */
        JN_TRY(jn_variant_get(g->inst, g->mask, 2, device, 2 * JN_MAX_RANGES, exact, &any));
    JN_TRY(place_outputs(g, any));
    JN_TRY(place_accs(g, j.v, 2 * g->ranges));
    if (g->r->device == JN_DEVICE_NULL)
        return JANUS_OK;
    JN_TRY(place_products(g, j.v[0] ? j.v[0] : j.v[1]));
    if (g->r->dev)
        return jn_dev_group_run(g->r, g->inst, j.v[0] ? j.v[0] : j.v[1], g->task, g->n);
    if (g->ranges == 1)
        run_ranges(&j, 0, 1);
    else
        jn_parallel_for(g->ranges, 1, run_ranges, &j);
    for (uint32_t k = 0; k < g->ranges; k++) {
        g->r->stats.kernels += j.kernels[k];
        if (j.st[k] != JANUS_OK) {
            if (g->ranges > 1)
                jn_error_publish(&j.error[k]);
            return j.st[k];
        }
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
        uint8_t few[64], *layout = few;
        if (inst->seg->n_inputs > 64 &&
            !(layout = jn_arena_alloc(&r->mem->tasks, inst->seg->n_inputs)))
            return JN_NO_MEMORY();
        group g = {
            .r = r, .inst = inst, .task = task + at, .n = together ? n : 1, .layout = layout};
        JN_TRY(run_group(&g));
        r->stats.batches++;
    }
    for (uint32_t t = 0; t < n; t++)
        task[t]->done = 1;
    r->stats.tasks += n;
    return JANUS_OK;
}
