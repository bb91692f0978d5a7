/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded calls of one kind as the rows of a group (exec/schedule/group.c).
 *
 * A kind of call is a segment of one node with the shapes that its recipe has, which the executor
 * specialises and runs as it runs those of graphs; there is no graph and no plan behind it.  All of
 * it is the process's, and used under the deferrals' lock.
 */
#include "config.h"

#include <string.h>

#include "exec/defer/defer_internal.h"
#include "exec/kernels/kernels.h"
#include "exec/schedule/schedule.h"
#include "exec/state/state.h"
#include "graph/base/status.h"

struct jn_call_rows {
    jn_segment seg;
    jn_segnode node;
    jn_node origin; /* what messages and measures look at */
    jn_src in[JN_RECIPE_IN];
    uint32_t value[JN_RECIPE_OUT];
    jn_src output[JN_RECIPE_OUT];
    jn_segscalar scalars[JN_RECIPE_IN];
    uint8_t operand_of_input[JN_RECIPE_IN], operand_of_scalar[JN_RECIPE_IN];
    jn_seginst *inst;
};

/* What groups need of a run: memory, and a place for shapes.  NULL: not made yet. */
static jn_run *room;

/* Of the last group: each result has a block of its own. */
static struct {
    jn_slab *of[JN_RECIPE_OUT];
    char *at[JN_RECIPE_OUT];
    unsigned n;
    bool go; /* of any since the last jn_deferred_rows_end(): it is the run's */
} blocks;

bool jn_deferred_rows_go(void) { return blocks.go; }

static char *result_memory(jn_run *r, size_t bytes) {
    char *p = blocks.n < JN_RECIPE_OUT ? jn_slabs_take(bytes, &blocks.of[blocks.n]) : NULL;
    if (p)
        return blocks.at[blocks.n++] = p;
    blocks.go = true;
    return jn_run_memory(r, bytes);
}

static bool make_room(void) {
    if (room)
        return true;
    jn_run *r = jn_calloc(1, sizeof *r);
    jn_planset *set = jn_calloc(1, sizeof *set);
    jn_mem *mem = jn_mem_new(&jn_on_cpu, NULL);
    if (!r || !set || !mem) {
        jn_free(r);
        jn_free(set);
        jn_mem_release(mem);
        return false;
    }
    jn_arena_init(&set->arena, 0);
    jn_arena_init(&set->shapes.arena, 0);
    r->on = &jn_on_cpu;
    r->set = set;
    r->mem = mem;
    jn_schedule_begin(r);
    jn_schedule_results_to(r, result_memory);
    room = r;
    return true;
}

struct jn_planset *jn_call_shapes(void) {
    return make_room() ? room->set : NULL;
}

void jn_call_rows_free(jn_call_rows *r) {
    if (r && r->inst)
        jn_seginst_free(r->inst);
    jn_free(r);
}

/* The operands of a call, as a segment with one node has them. */
static void describe(jn_call_rows *r, const jn_call_kind *k) {
    const jn_recipe *recipe = &k->recipe;
    for (unsigned i = 0; i < recipe->n_in; i++) {
        const jn_operand_kind *o = &k->in[i];
        if (o->from == JN_FROM_NONE) {
            r->in[i] = (jn_src){.kind = JN_SRC_NONE};
        } else if (o->from == JN_FROM_TENSOR || o->from == JN_FROM_NUMBER) {
            r->operand_of_input[r->seg.n_inputs] = (uint8_t)i;
            r->in[i] = (jn_src){JN_SRC_INPUT, 0, r->seg.n_inputs++};
        } else {
            r->operand_of_scalar[r->seg.n_scalars] = (uint8_t)i;
            r->scalars[r->seg.n_scalars] = (jn_segscalar){.slot = JN_NO_SLOT,
                                                          .kind = o->kind,
                                                          .is_const = o->from == JN_FROM_CONST,
                                                          .value = (int64_t)o->cell};
            r->in[i] = (jn_src){JN_SRC_SCALAR, 0, r->seg.n_scalars++};
        }
    }
    for (uint32_t i = 0; i < recipe->n_out; i++) {
        r->value[i] = i;
        r->output[i] = (jn_src){JN_SRC_NODE, (uint8_t)i, 0};
    }
    r->origin.op = recipe->op;
    r->node = (jn_segnode){recipe->op, &r->origin, k->attrs, recipe->n_in, recipe->n_out, r->in,
                           r->value,   -1,         -1};
    r->seg.n_nodes = 1;
    r->seg.nodes = &r->node;
    r->seg.n_outputs = r->seg.n_values = recipe->n_out;
    r->seg.output = r->output;
    r->seg.scalars = r->scalars;
}

/* Rows lie one behind the other: tensors that do not are left to calls of their own. */
static bool dense(const jn_call_kind *k) {
    for (unsigned i = 0; i < k->recipe.n_in; i++)
        if (k->in[i].from == JN_FROM_TENSOR && !k->first->in[i].v.t->contiguous)
            return false;
    return true;
}

static janus_status specialise(jn_call_rows *r, const jn_call_kind *k) {
    const jn_shape *in[JN_RECIPE_IN];
    int64_t scalars[JN_RECIPE_IN] = {0};
    for (uint32_t i = 0; i < r->seg.n_inputs; i++) {
        unsigned o = r->operand_of_input[i];
        const janus_tensor *t = k->in[o].from == JN_FROM_TENSOR ? k->first->in[o].v.t : NULL;
        in[i] = jn_shape_intern(&room->set->shapes, (janus_dtype)(t ? t->dtype : k->in[o].dtype),
                                t ? t->rank : 0, t ? t->dims : NULL);
        if (!in[i])
            return JN_NO_MEMORY();
    }
    return jn_segment_specialise(&r->seg, room->set, in, scalars, &r->inst);
}

/* Whether the results have the types that were recorded, which the tensors have. */
static bool agrees(const jn_call_rows *r, const jn_call_kind *k) {
    for (unsigned i = 0; i < k->recipe.n_out; i++) {
        const janus_tensor *t = k->first->out[i];
        const jn_shape *s = r->inst->out[i];
        if (s->dtype != t->dtype || s->rank != t->rank || s->bytes != t->storage->bytes)
            return false;
    }
    return true;
}

static bool prepare(jn_call_kind *k) {
    if (k->rows || k->alone)
        return !k->alone;
    jn_call_rows *r = dense(k) ? jn_calloc(1, sizeof *r) : NULL;
    if (r) {
        describe(r, k);
        if (specialise(r, k) == JANUS_OK && agrees(r, k)) {
            k->rows = r;
            return true;
        }
        jn_call_rows_free(r);
    }
    k->alone = true;
    return false;
}

/* The tasks of the calls; each one's promises lie with it. */
static jn_task **make_tasks(const jn_call_kind *k) {
    const jn_call_rows *r = k->rows;
    const jn_segment *seg = &r->seg;
    jn_arena *a = &room->mem->tasks;
    jn_task **task = jn_arena_alloc(a, k->n * sizeof *task);
    size_t bytes = sizeof(jn_task) + seg->n_outputs * sizeof(jn_tval) +
                   seg->n_inputs * (sizeof(jn_tval *) + sizeof(jn_tval)) +
                   seg->n_scalars * sizeof(int64_t);
    const jn_deferred_call *c = k->first;
    for (uint32_t n = 0; task && n < k->n; n++, c = c->next) {
        jn_task *t = task[n] = jn_arena_zalloc(a, bytes);
        if (!t)
            return NULL;
        t->inst = r->inst;
        t->in = (jn_tval **)&t->out[seg->n_outputs];
        t->scalars = (int64_t *)(t->in + seg->n_inputs);
        jn_tval *value = (jn_tval *)(t->scalars + seg->n_scalars);
        for (uint32_t i = 0; i < seg->n_outputs; i++)
            t->out[i] = (jn_tval){.shape = r->inst->out[i], .task = t};
        for (uint32_t i = 0; i < seg->n_inputs; i++) {
            unsigned o = r->operand_of_input[i];
            /* equal numbers are one operand that all rows share */
            const jn_deferred_call *like = c->in[o].v.cell == k->first->in[o].v.cell ? k->first : c;
            value[i] = (jn_tval){.data = k->in[o].from == JN_FROM_TENSOR
                                             ? jn_deferred_data(&c->in[o])
                                             : (char *)(uintptr_t)&like->in[o].v.cell,
                                 .shape = r->inst->in[i]};
            t->in[i] = &value[i];
        }
        for (uint32_t i = 0; i < seg->n_scalars; i++)
            t->scalars[i] = (int64_t)c->in[r->operand_of_scalar[i]].v.cell;
    }
    return task;
}

/* The slab of a result: that of the block it lies in. */
static jn_slab *slab_of(const jn_call_rows *r, unsigned i, const char *at, uint32_t n) {
    size_t bytes = r->inst->out[i]->bytes * n;
    for (unsigned b = 0; b < blocks.n; b++)
        if (at >= blocks.at[b] && at < blocks.at[b] + bytes)
            return blocks.of[b];
    return NULL;
}

/* Where the results of the calls are.  What all rows share is copied: each is a tensor. */
static janus_status take_results(jn_call_kind *k, jn_task *const *task) {
    for (unsigned i = 0; i < k->recipe.n_out; i++) {
        bool shared = task[0]->out[i].data == task[1]->out[i].data;
        bool promised = jn_tensor_promised(k->first->out[i]); /* all are, or none */
        jn_slab *of = promised && !shared ? slab_of(k->rows, i, task[0]->out[i].data, k->n) : NULL;
        uint32_t n = 0;
        for (jn_deferred_call *c = k->first; c; c = c->next, n++) {
            c->at[i] = task[n]->out[i].data;
            c->of[i] = of;
            if (!promised || !shared)
                continue;
            JN_TRY(jn_deferred_place(c, i));
            memcpy(c->at[i], task[n]->out[i].data, k->rows->inst->out[i]->bytes);
        }
    }
    return JANUS_OK;
}

janus_status jn_deferred_place(jn_deferred_call *c, unsigned i) {
    janus_tensor *t = c->out[i];
    if (c->own >> i & 1)
        return JANUS_OK;
    c->of[i] = NULL;
    c->at[i] =
        jn_tensor_promised(t) ? jn_slabs_take(t->storage->bytes, &c->of[i]) : jn_tensor_place(t);
    if (!c->at[i] && (c->at[i] = jn_alloc_aligned(t->storage->bytes)))
        c->own |= (uint8_t)(1u << i);
    return c->at[i] ? JANUS_OK
                    : jn_error(JANUS_NO_MEMORY, "out of memory: a tensor of %zu bytes",
                               t->storage->bytes);
}

bool jn_deferred_rows_run(jn_call_kind *k) {
    if (!make_room() || !prepare(k))
        return false;
    jn_task **task = make_tasks(k);
    jn_task **row = task ? jn_arena_dup(&room->mem->tasks, task, k->n * sizeof *task) : NULL;
    jn_lane lane = {.run = room};
    blocks.n = 0;
    return row && jn_group_run(&lane, k->rows->inst, row, k->n) == JANUS_OK &&
           take_results(k, task) == JANUS_OK;
}

void jn_deferred_rows_end(void) {
    jn_slabs_end();
    blocks.go = false;
    if (room)
        jn_mem_reset(room->mem);
}
