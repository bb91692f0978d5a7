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
 * timing.  A group that multiplies by a weight no cache holds is not split: its kernels are.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "exec/device/device.h"
#include "exec/schedule/acc.h"
#include "exec/schedule/branch.h"
#include "exec/schedule/group.h"
#include "exec/schedule/rows.h"
#include "exec/schedule/schedule.h"
#include "exec/store/store.h"
#include "graph/base/status.h"

enum {
    TILE_BYTES = 512 << 10,      /* of temporaries per tile */
    WIDE_TILE_BYTES = 128 << 20, /* where every tile reads a weight that no cache holds */
    TILE_ROWS = 32,              /* at least: products of fewer rows are slow */
    RANGE_COST = 1 << 16,        /* elements of work that pay for waking another thread */
    READ_ROWS = 12,              /* multiplied in the time that reading their factor takes */
    READ_NUMBERS = 1 << 16,      /* of a factor; a smaller one is soon read */
    SPLIT_COLS = 384,            /* of a product that threads share (ops/cpu/products/matmul.c) */
    MODELS_COST = 1 << 13        /* of models in a list of calls (exec/kernels/pace.h) */
};

/* ---- the whole group
 * ------------------------------------------------------------------------------ */

static uint8_t input_layout(const jn_group *g, uint32_t i) {
    char *first = g->task[0]->in[i]->data;
    bool shared = true, block = true;
    size_t bytes = g->inst->in[i]->bytes;
    for (uint32_t t = 1; t < g->n && (shared || block); t++) {
        char *p = g->task[t]->in[i]->data;
        shared &= p == first;
        block &= p == first + t * bytes;
    }
    return shared ? JN_ROWS_SHARED : block ? JN_ROWS_BLOCK : JN_ROWS_GATHER;
}

/* What has to be of the memory of arguments that are rows of an input, where it is run again. */
static void write_layout(const jn_group *g, uint32_t i, jn_replay *list) {
    jn_task **task = g->task;
    const jn_tval *first = task[0]->in[i];
    size_t bytes = g->inst->in[i]->bytes;
    uint32_t t = 1;
    if (g->layout[i] == JN_ROWS_BLOCK)
        for (t = 0; t < g->n; t++)
            jn_replay_fix(list, task[t]->in[i]);
    if (g->layout[i] != JN_ROWS_GATHER)
        return;
    while (task[t]->in[i]->data == first->data)
        t++;
    jn_replay_differ(list, first, task[t]->in[i], 0);
    for (t = 1; task[t]->in[i]->data == first->data + t * bytes;)
        t++;
    jn_replay_differ(list, first, task[t]->in[i], t * bytes);
}

static bool scalar_shared(const jn_group *g, uint32_t i) {
    for (uint32_t t = 1; t < g->n; t++)
        if (g->task[t]->scalars[i] != g->task[0]->scalars[i])
            return false;
    return true;
}

static void find_layout(jn_group *g) {
    const jn_segment *seg = g->inst->seg;
    for (uint32_t i = 0; i < seg->n_inputs; i++) {
        g->layout[i] = g->n == 1 ? JN_ROWS_SHARED : input_layout(g, i);
        if (g->layout[i] != JN_ROWS_SHARED)
            g->mask |= 1ull << i;
    }
    for (uint32_t i = 0; g->n > 1 && i < seg->n_scalars; i++)
        if (!seg->scalars[i].is_const && !scalar_shared(g, i))
            g->mask |= 1ull << (seg->n_inputs + i);
}

char *jn_run_memory(jn_run *r, size_t bytes) {
    return JN_UNLIKELY(r->of_schedule.trace != NULL) ? jn_trace_take(r->of_schedule.trace, bytes)
                                                     : jn_mem_tensor(r->mem, bytes);
}

static char *result_memory(jn_run *r, size_t bytes) {
    return JN_UNLIKELY(r->of_schedule.result_memory != NULL)
               ? r->of_schedule.result_memory(r, bytes)
               : jn_run_memory(r, bytes);
}

/* What a pass through this segment has joined is joined with more, as where lists of a loop grow:
 * it is not copied if there is room behind it. */
static char *grow(jn_group *g, const jn_segnode *n, const jn_shape *out) {
    enum { LEAST = 1024 }; /* a copy of fewer bytes costs next to nothing */
    jn_joined_fn joined = jn_op_impls[n->op->id].joined;
    if (!joined || n->n_in < 2 || n->in[0].kind != JN_SRC_INPUT || out->bytes < LEAST ||
        joined(n->attrs, out->rank) != 0)
        return NULL;
    const jn_tval *first = g->task[0]->in[n->in[0].index];
    if (!first->task || first->task->inst->seg != g->inst->seg || first->rows || !first->data)
        return NULL;
    return jn_mem_grow(g->lane->run->mem, first->data, first->shape->bytes, out->bytes);
}

/* A part of what another task has made, as it lies there: values that tasks have made stay as they
 * are while there is a run, or a frame of it. */
static char *part_of_input(const jn_group *g, const jn_segvalue *v) {
    const jn_tval *of = v->part ? g->task[0]->in[v->base] : NULL;
    if (!of || !of->task || of->task->late || of->rows || g->lane->run->mem->given.n)
        return NULL;
    return of->data + v->offset * (int64_t)jn_dtype_size((janus_dtype)v->shape->dtype);
}

static char *place_in_input(jn_group *g, uint32_t i, uint32_t value) {
    const jn_run *r = g->lane->run;
    if (g->n > 1 || !jn_computes_here(r->on) || r->of_schedule.trace || r->of_schedule.list ||
        r->of_schedule.result_memory)
        return NULL;
    char *at = part_of_input(g, &g->inst->values[value]);
    return at ? at : grow(g, &g->inst->seg->nodes[g->inst->seg->output[i].index], g->inst->out[i]);
}

static janus_status place_outputs(jn_group *g, const jn_variant *v) {
    const jn_segment *seg = g->inst->seg;
    for (uint32_t i = 0; i < seg->n_outputs; i++) {
        uint32_t value = seg->nodes[seg->output[i].index].value[seg->output[i].index_out];
        size_t bytes = g->inst->out[i]->bytes;
        bool rowed = v->rowed[value];
        if (rowed && bytes && g->n > SIZE_MAX / bytes)
            return JN_NO_MEMORY();
        int32_t shared = g->inst->shares[i];
        char *block = shared >= 0 ? g->task[0]->out[shared].data : NULL;
        if (!block && g->n == 1)
            block = jn_give_memory(g->lane->run, &g->task[0]->out[i], bytes);
        if (!block)
            block = place_in_input(g, i, value);
        if (!block)
            block = result_memory(g->lane->run, rowed ? bytes * g->n : bytes);
        if (!block)
            return jn_error(JANUS_NO_MEMORY, "the run's memory limit of %zu bytes is reached",
                            g->lane->run->mem->ceiling);
        for (uint32_t t = 0; t < g->n; t++)
            g->task[t]->out[i].data = block + (rowed ? t * bytes : 0);
    }
    return JANUS_OK;
}

/* Memory of the accumulators: of each range a block or a table. */
static janus_status place_accs(jn_group *g, jn_variant *const *v) {
    jn_run *r = g->lane->run;
    for (uint32_t i = 0; i < g->inst->seg->n_accs; i++) {
        jn_acc *acc = g->task[0]->accs[i];
        unsigned adds = 0;
        for (uint32_t k = 0; k < 2 * g->ranges; k++)
            adds |= v[k] ? v[k]->adds[i] : 0;
        acc->used = true;
        acc->dense |= adds != JN_ADDS_ROWS;
        for (uint32_t k = 0; k < g->ranges; k++) {
            jn_acc_part *p = &acc->part[jn_group_part(g, k)];
            if (acc->rows && adds & JN_ADDS_ROWS && !p->table)
                JN_TRY(jn_table_take(r, acc->shape, &p->table));
            if (adds & JN_ADDS_VALUES || (adds & JN_ADDS_ROWS && !p->table))
                JN_TRY(jn_acc_block(r, acc, jn_group_part(g, k)));
        }
    }
    return JANUS_OK;
}

/* Room for what its products collect. */
static janus_status place_products(jn_group *g, const jn_variant *v) {
    if (!v->n_products)
        return JANUS_OK;
    JN_TRY(jn_acc_collect(g->lane->run, v, g->task[0]->accs, jn_group_part(g, 0), g->n,
                          &g->collected));
    g->first_collected = g->collected->taken - g->n;
    return JANUS_OK;
}

/* Bytes of the rows that the group collects for its accumulator number `acc`. */
static size_t collected_bytes(const jn_group *g, const jn_variant *v, uint32_t acc) {
    int64_t numel = 0;
    for (uint32_t i = 0; i < g->inst->seg->n_nodes && v->n_products; i++) {
        const jn_vnode *vn = &v->nodes[i];
        if (vn->mode == JN_V_PRODUCT && (uint32_t)vn->acc == acc)
            numel += vn->in[0].dims[0] * (vn->in[0].dims[1] + vn->in[1].dims[1]);
    }
    size_t size = jn_dtype_size((janus_dtype)g->task[0]->accs[acc]->shape->dtype);
    return (size_t)numel * g->n * size;
}

static janus_status make_room(const jn_group *g, const jn_variant *v) {
    uint32_t part = jn_group_part(g, 0);
    for (uint32_t i = 0; i < g->inst->seg->n_accs; i++) {
        jn_acc *acc = g->task[0]->accs[i];
        if (acc->part[part].products && jn_acc_is_full(acc, part, collected_bytes(g, v, i)))
            JN_TRY(jn_acc_make_room(g->lane, acc, part));
    }
    return JANUS_OK;
}

/* ---- ranges
 * -------------------------------------------------------------------------------------- */

static uint32_t range_begin(const jn_group *g, uint32_t k) {
    return (uint32_t)((uint64_t)g->n * k / g->ranges);
}

static void run_ranges(void *arg, int64_t begin, int64_t end) {
    jn_ranges *j = arg;
    jn_replay *list = jn_tile_list(j->g);
    for (int64_t k = begin; k < end; k++) {
        if (JN_UNLIKELY(list != NULL))
            jn_replay_range(list, (uint32_t)k, j->g->ranges);
        uint32_t at = range_begin(j->g, (uint32_t)k), stop = range_begin(j->g, (uint32_t)k + 1);
        for (; at < stop && j->st[k] == JANUS_OK; at += j->tile_rows) {
            uint32_t n = stop - at < j->tile_rows ? stop - at : j->tile_rows;
            j->st[k] = jn_tile_run(j->g, j->v[2 * k + (n != j->tile_rows)], j->g->task + at, n,
                                   (uint32_t)k, &j->kernels[k]);
        }
        if (j->st[k] != JANUS_OK)
            j->error[k] = *janus_last_error();
    }
}

/* The input of the segment that rows of a product multiply by; NULL: there is none. */
static const jn_src *given_factor(const jn_segnode *n) {
    bool product = n->op->flags & JN_OP_PRODUCT && n->n_in > 1;
    return product && n->in[1].kind == JN_SRC_INPUT ? &n->in[1] : NULL;
}

/* Whether the group is all that there is to run, and its rows multiply by factors of their own, as
 * those of several models do: then a product takes no longer for being of fewer rows. */
static bool is_of_models(const jn_group *g) {
    const jn_segment *seg = g->inst->seg;
    bool any = false;
    for (uint32_t i = 0; i < seg->n_nodes && g->n == g->lane->window; i++) {
        const jn_segnode *n = &seg->nodes[i];
        const jn_src *factor = given_factor(n);
        if (!factor)
            continue;
        if (g->layout[factor->index] == JN_ROWS_SHARED)
            return false;
        any = true;
    }
    return any;
}

/* Whether its rows multiply by matrices in less time than reading them takes.  Each of several
 * ranges would read all of them: the products are split by columns instead, so that a thread reads
 * a part. */
static bool is_of_reading(const jn_group *g) {
    const jn_segment *seg = g->inst->seg;
    bool any = false;
    for (uint32_t i = 0; i < seg->n_nodes; i++) {
        const jn_segnode *n = &seg->nodes[i];
        const jn_src *factor = given_factor(n);
        if (!factor || g->layout[factor->index] != JN_ROWS_SHARED)
            continue;
        const jn_shape *b = g->inst->in[factor->index], *c = g->inst->values[n->value[0]].shape;
        int64_t cols = c->rank ? c->dims[c->rank - 1] : 1;
        if (b->numel < READ_NUMBERS)
            continue;
        if (cols < SPLIT_COLS || c->numel / cols * g->n >= (int64_t)READ_ROWS * g->ranges)
            return false;
        any = true;
    }
    return any;
}

/* How many ranges and rows per tile: from the group alone. */
static uint32_t plan_ranges(jn_group *g) {
    uint64_t cost = (uint64_t)g->inst->row_cost * g->n;
    int threads = janus_get_num_threads();
    g->ranges = 1;
    if (!g->lane->run->on->host)
        return g->n;
    if (!g->lane->lock && !g->lane->run->exact && !g->inst->wide && threads > 1 && g->n >= 2 &&
        cost >= 2 * MODELS_COST && (cost >= 2 * RANGE_COST || is_of_models(g))) {
        g->in_turn = cost < 2 * RANGE_COST;
        uint64_t worth = g->in_turn ? MODELS_COST : RANGE_COST;
        g->ranges = cost / worth < (uint64_t)threads ? (uint32_t)(cost / worth) : (uint32_t)threads;
        if (g->ranges > JN_MAX_RANGES)
            g->ranges = JN_MAX_RANGES;
        if (g->ranges > g->n)
            g->ranges = g->n;
        if (g->ranges > 1 && !g->in_turn && is_of_reading(g))
            g->ranges = 1;
    }
    uint32_t rows = (g->n + g->ranges - 1) / g->ranges;
    size_t fit = (g->inst->wide ? WIDE_TILE_BYTES : TILE_BYTES) / (g->inst->row_bytes + 1);
    if (fit < TILE_ROWS)
        fit = TILE_ROWS;
    return rows > fit ? (uint32_t)fit : rows;
}

static janus_status get_variants(jn_group *g, jn_ranges *j) {
    for (uint32_t k = 0; k < g->ranges; k++) {
        uint32_t rows = range_begin(g, k + 1) - range_begin(g, k), part = jn_group_part(g, k);
        uint32_t full = rows < j->tile_rows ? 0 : j->tile_rows, last = rows % j->tile_rows;
        if (full)
            JN_TRY(jn_variant_get(g->lane, g->inst, (jn_variant_key){g->mask, part, JN_FOR_TILES},
                                  full, &j->v[2 * k]));
        if (last)
            JN_TRY(jn_variant_get(g->lane, g->inst, (jn_variant_key){g->mask, part, JN_FOR_LAST},
                                  last, &j->v[2 * k + 1]));
    }
    return JANUS_OK;
}

/* Where results go.  Under the lane's lock. */
static janus_status place(jn_group *g, const jn_ranges *j) {
    JN_TRY(place_outputs(g, j->any));
    JN_TRY(place_accs(g, j->v));
    if (!g->lane->run->on->computes)
        return JANUS_OK;
    return place_products(g, j->v[0] ? j->v[0] : j->v[1]);
}

janus_status jn_host_group(jn_group *g, jn_ranges *j) {
    if (g->ranges == 1 || g->in_turn || JN_UNLIKELY(jn_tile_list(g) != NULL))
        run_ranges(j, 0, g->ranges);
    else
        jn_parallel_for(g->ranges, 1, run_ranges, j);
    for (uint32_t k = 0; k < g->ranges; k++) {
        g->lane->kernels += j->kernels[k];
        if (j->st[k] != JANUS_OK) {
            if (g->ranges > 1)
                jn_error_publish(&j->error[k]);
            return j->st[k];
        }
    }
    return JANUS_OK;
}

static janus_status run_group(jn_group *g) {
    jn_run *r = g->lane->run;
    jn_ranges j; /* errors of so many ranges are 29 KB: only what is used is set */
    j.g = g;
    if (g->n > 1)
        jn_group_order(g);
    for (uint32_t t = 0; t < g->n; t++)
        g->task[t]->leader = g->task[0];
    find_layout(g);
    j.tile_rows = plan_ranges(g);
    for (uint32_t k = 0; k < g->ranges; k++) {
        j.v[2 * k] = j.v[2 * k + 1] = NULL;
        j.st[k] = JANUS_OK;
        j.kernels[k] = 0;
    }
    jn_replay *list = jn_tile_list(g);
    for (uint32_t i = 0; JN_UNLIKELY(list != NULL) && i < g->inst->seg->n_inputs; i++)
        write_layout(g, i, list);
    JN_TRY(get_variants(g, &j));
    j.any = j.v[0] ? j.v[0] : j.v[1];
    if (j.any->single && g->n > 1 && g->mask) /* its rows are not marked: ask one that is */
        JN_TRY(jn_variant_get(g->lane, g->inst,
                              (jn_variant_key){g->mask, jn_group_part(g, 0), JN_FOR_ROWS}, 2,
                              &j.any));
    JN_TRY(make_room(g, j.v[0] ? j.v[0] : j.v[1]));
    jn_lane_lock(g->lane);
    janus_status st = place(g, &j);
    jn_lane_unlock(g->lane);
    return st != JANUS_OK || !r->on->group ? st : r->on->group(g, &j);
}

/* A segment is named after the first op that is not the host's to fold, and has its place. */
static void record(const jn_group *g, int64_t start) {
    const jn_segment *seg = g->inst->seg;
    const jn_segnode *n = seg->n_nodes ? &seg->nodes[seg->n_nodes - 1] : NULL;
    char name[128];
    snprintf(name, sizeof name, "%u ops to %s", seg->n_nodes, n ? n->op->name : "nothing");
    jn_prof_add(JN_PROF_GROUP, name, n ? &n->node->loc : NULL, start, g->n);
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

janus_status jn_group_run(jn_lane *l, jn_seginst *inst, jn_task **task, uint32_t n) {
    if (JN_UNLIKELY(inst->seg->branch != NULL))
        return jn_branch_run(l, inst, task, n);
    bool together = n == 1 || fits_one_group(inst->seg, task, n);
    uint8_t few[64], *layout = few;
    if (inst->seg->n_inputs > 64 && !(layout = jn_alloc(inst->seg->n_inputs)))
        return JN_NO_MEMORY();
    janus_status st = JANUS_OK;
    for (uint32_t at = 0; at < n && st == JANUS_OK; at += together ? n : 1) {
        jn_group g = {
            .lane = l, .inst = inst, .task = task + at, .n = together ? n : 1, .layout = layout};
        int64_t start = jn_prof_begin();
        st = run_group(&g);
        if (JN_UNLIKELY(start))
            record(&g, start);
        l->batches++;
    }
    if (layout != few)
        jn_free(layout);
    l->tasks += n;
    l->ops += (uint64_t)n * inst->seg->n_nodes;
    return st;
}
