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

static bool make_room(void) {
    if (room)
        return true;
    jn_run *r = jn_calloc(1, sizeof *r);
    jn_planset *set = jn_calloc(1, sizeof *set);
    jn_mem *mem = jn_mem_new();
    if (!r || !set || !mem) {
        jn_free(r);
        jn_free(set);
        jn_mem_release(mem);
        return false;
    }
    jn_arena_init(&set->arena, 0);
    jn_arena_init(&set->shapes.arena, 0);
    r->set = set;
    r->mem = mem;
    r->pending_tail = &r->pending;
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

bool jn_deferred_rows_run(jn_call_kind *k) {
    if (!make_room() || !prepare(k))
        return false;
    jn_task **task = make_tasks(k);
    jn_task **row = task ? jn_arena_dup(&room->mem->tasks, task, k->n * sizeof *task) : NULL;
    jn_lane lane = {.run = room};
    if (!row || jn_group_run(&lane, k->rows->inst, row, k->n) != JANUS_OK)
        return false;
    uint32_t n = 0;
    for (jn_deferred_call *c = k->first; c; c = c->next, n++)
        for (unsigned i = 0; i < k->recipe.n_out; i++)
            c->at[i] = task[n]->out[i].data;
    return true;
}

void jn_deferred_rows_end(void) {
    if (room)
        jn_mem_reset(room->mem);
}
