/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branches as tasks: see exec/schedule/branch.h.
 *
 * The plans of the SubGraphs are straight-line code of ISSUE, DECIDE and constants.  They are
 * walked with slots of their own: for shapes alone, or group by group as their launches happen or
 * are written down.  Results are copied to the task's memory, since a capture has one place for
 * both arms; the memory of a loop's results is also where its rounds find what they are handed.
 */
#include "config.h"

#include <string.h>

#include "exec/device/device.h"
#include "exec/schedule/branch.h"
#include "exec/schedule/schedule.h"
#include "graph/base/status.h"

_Static_assert((int)JN_BRANCH_DEPTH <= (int)JN_TRACE_DEPTH &&
                   (int)JN_TRACE_DEPTH <= (int)JN_SCHEDULE_BODIES,
               "a stream for each depth of bodies");

/* ---- preparing ----------------------------------------------------------------------------------
 */

/* Scalars that decide shapes inside are part of what the segment's specialisations are known by. */
static void mark_shapes(jn_segment *seg, const jn_segment *inner) {
    const jn_branch *br = seg->branch;
    for (uint32_t i = 0; i < inner->n_scalars; i++) {
        const jn_segscalar *s = &inner->scalars[i];
        if (!s->is_const && s->shape && s->slot < br->n_params &&
            br->param[s->slot].kind == JN_SRC_SCALAR)
            seg->scalars[br->param[s->slot].index].shape = true;
    }
}

static janus_status prepare(jn_segment *seg, jn_planset *set) {
    jn_branch *br = seg->branch;
    for (int i = 0; i < 2 && !br->ready; i++) {
        JN_TRY(set->plan_of(set, br->sub[i], false, &br->plan[i]));
        for (size_t k = 0; k < br->plan[i]->n_code; k++) {
            const jn_instr *in = &br->plan[i]->code[k];
            jn_opcode op = jn_opcode_of(in);
            if (op == JN_I_DECIDE)
                JN_TRY(prepare((jn_segment *)in->aux, set));
            if (op == JN_I_DECIDE || op == JN_I_ISSUE)
                mark_shapes(seg, in->aux);
        }
    }
    br->ready = true;
    return JANUS_OK;
}

/* ---- walking ------------------------------------------------------------------------------------
 */

typedef struct walker {
    jn_planset *set;
    jn_lane *lane; /* NULL: shapes alone */
    jn_arena *arena;
    const jn_branch *br;
    const jn_slot *arg; /* of both SubGraphs */
} walker;

static int64_t scalar_of(const jn_segment *seg, uint32_t i, const jn_slot *slot) {
    const jn_segscalar *s = &seg->scalars[i];
    int64_t bits = s->is_const ? s->value : slot[s->slot].i;
    return s->kind == JANUS_KIND_BOOL ? bits != 0 : bits;
}

/* What a trace refers to lives as long as it: the arena is then the trace's. */
static janus_status issue(walker *w, jn_segment *seg, jn_slot *slot) {
    jn_task *t =
        jn_arena_zalloc(w->arena, sizeof *t + seg->n_outputs * sizeof *t->out +
                                      seg->n_inputs * (sizeof *t->in + sizeof(jn_shape *)) +
                                      seg->n_scalars * sizeof *t->scalars);
    if (!t)
        return JN_NO_MEMORY();
    t->in = (jn_tval **)(void *)&t->out[seg->n_outputs];
    const jn_shape **shape = (const jn_shape **)(void *)(t->in + seg->n_inputs);
    t->scalars = (int64_t *)(void *)(shape + seg->n_inputs);
    for (uint32_t i = 0; i < seg->n_inputs; i++) {
        t->in[i] = slot[seg->input_slot[i]].t;
        if (!t->in[i])
            return jn_error(JANUS_INTERNAL, "a tensor operand of segment %u is absent", seg->id);
        shape[i] = t->in[i]->shape;
    }
    for (uint32_t i = 0; i < seg->n_scalars; i++)
        t->scalars[i] = scalar_of(seg, i, slot);
    JN_TRY(jn_segment_specialise(seg->twin ? seg->twin : seg, w->set, shape, t->scalars, &t->inst));
    for (uint32_t i = 0; i < seg->n_outputs; i++) {
        t->out[i] = (jn_tval){.shape = t->inst->out[i], .task = t};
        slot[seg->output_slot[i]].t = &t->out[i];
    }
    return w->lane ? jn_group_run(w->lane, t->inst, &t, 1) : JANUS_OK;
}

/* `result`: of the SubGraph; of a loop's condition the tensor whose element it is. */
static janus_status walk(walker *w, int which, jn_tval ***out_result) {
    const jn_plan *p = w->br->plan[which];
    jn_slot *slot = jn_arena_zalloc(w->arena, (p->n_slots + 1) * sizeof *slot);
    jn_tval *element = NULL;
    if (!slot)
        return JN_NO_MEMORY();
    memcpy(slot, w->arg, w->br->n_params * sizeof *slot);
    for (const jn_instr *in = p->code;; in++)
        switch (jn_opcode_of(in)) {
        case JN_I_CONST:
            slot[in->dst].i = in->imm;
            break;
        case JN_I_MOVE:
            slot[in->dst] = slot[in->a];
            break;
        case JN_I_ISSUE:
            JN_TRY(issue(w, (jn_segment *)in->aux, slot));
            break;
        case JN_I_DECIDE:
            JN_TRY(issue(w, (jn_segment *)in->aux, slot));
            in = p->code + in->dst - 1;
            break;
        case JN_I_ADD_I: /* counters: the rounds are counted */
        case JN_I_SUB_I:
        case JN_I_ADD_IK:
            break;
        case JN_I_ITEM: /* the rest is the host's */
            element = slot[in->a].t;
            break;
        case JN_I_RETURN: {
            const jn_slots *res = in->aux;
            jn_tval **v = jn_arena_alloc(w->arena, (res->n + 1) * sizeof *v);
            if (!v)
                return JN_NO_MEMORY();
            for (uint32_t i = 0; i < res->n; i++)
                v[i] = element ? element : slot[res->slot[i]].t;
            *out_result = v;
            return JANUS_OK;
        }
        default:
            if (!element)
                return jn_error(JANUS_UNSUPPORTED, "@%s is not for a device to decide",
                                p->sub->name);
        }
}

static bool is_element(const jn_shape *s) { return s->numel == 1; }

/* ---- shapes -------------------------------------------------------------------------------------
 */

static janus_status shapes(walker *w, jn_seginst *inst) {
    const jn_branch *br = w->br;
    jn_tval **first, **second;
    JN_TRY(walk(w, 0, &first));
    JN_TRY(walk(w, 1, &second));
    bool same = is_element(br->loop ? first[0]->shape : inst->in[0]);
    if (br->counts &&
        !(inst->out[br->n_results] = jn_shape_intern(&w->set->shapes, JANUS_I64, 0, NULL)))
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < br->n_results; i++) {
        inst->out[i] = second[br->result[i]]->shape;
        same &=
            inst->out[i] == (br->loop ? w->arg[br->carried_at[i]].t : first[br->result[i]])->shape;
    }
    return same ? JANUS_OK : jn_error(JANUS_UNSUPPORTED, "the shapes of a branch's results differ");
}

janus_status jn_branch_specialise(jn_seginst *inst, jn_planset *set) {
    const jn_segment *seg = inst->seg;
    const jn_branch *br = seg->branch;
    jn_arena arena;
    jn_arena_init(&arena, 0);
    jn_slot *arg = jn_arena_zalloc(&arena, (br->n_params + 1) * sizeof *arg);
    jn_tval *in = jn_arena_zalloc(&arena, (seg->n_inputs + 1) * sizeof *in);
    walker w = {.set = set, .arena = &arena, .br = br, .arg = arg};
    janus_status st = arg && in ? JANUS_OK : JN_NO_MEMORY();
    for (uint32_t i = 0; i < seg->n_inputs && st == JANUS_OK; i++)
        in[i].shape = inst->in[i];
    for (uint32_t i = 0; i < br->n_params && st == JANUS_OK; i++) {
        uint32_t k = br->param[i].index;
        if (br->param[i].kind == JN_SRC_INPUT)
            arg[i].t = &in[k];
        else if (br->param[i].kind == JN_SRC_SCALAR)
            arg[i].i = seg->scalars[k].is_const ? seg->scalars[k].value : inst->scalars[k];
    }
    if (st == JANUS_OK)
        st = shapes(&w, inst);
    jn_arena_free(&arena);
    return st;
}

/* ---- issuing ------------------------------------------------------------------------------------
 */

static bool may_decide(const jn_run *r, const jn_branch *br, const jn_frame *f) {
    const jn_schedule *s = r->dev->schedule;
    return s && s->branches && !br->exposed && !br->refused && !f->parent && !f->loop;
}

/* Its specialisation is there. */
static janus_status try_shapes(jn_run *r, jn_segment *seg, const jn_slot *slot) {
    const jn_shape **in =
        jn_arena_alloc(&r->mem->tasks, (seg->n_inputs + 1) * sizeof *in + seg->n_scalars * 8);
    jn_seginst *inst;
    if (!in)
        return JN_NO_MEMORY();
    int64_t *scalars = (int64_t *)(void *)(in + seg->n_inputs + 1);
    JN_TRY(prepare(seg, r->set));
    for (uint32_t i = 0; i < seg->n_inputs; i++) {
        if (!slot[seg->input_slot[i]].t)
            return jn_error(JANUS_UNSUPPORTED, "an operand of a branch is absent");
        in[i] = slot[seg->input_slot[i]].t->shape;
    }
    for (uint32_t i = 0; i < seg->n_scalars; i++)
        scalars[i] = scalar_of(seg, i, slot);
    return jn_segment_specialise(seg, r->set, in, scalars, &inst);
}

janus_status jn_branch_decide(jn_run *r, jn_segment *seg, jn_frame *f, bool *out_issued) {
    *out_issued = false;
    if (!may_decide(r, seg->branch, f))
        return JANUS_OK;
    janus_status st = try_shapes(r, seg, f->slot);
    if (st == JANUS_NO_MEMORY)
        return st;
    if (st != JANUS_OK) { /* of the arm that is not taken, perhaps */
        seg->branch->refused = true;
        return JANUS_OK;
    }
    *out_issued = true;
    return jn_issue(r, seg, f->slot);
}

void jn_branch_refuse(jn_task *const *task, uint32_t n, bool loops) {
    for (uint32_t i = 0; i < n; i++) {
        jn_branch *br = task[i]->inst->seg->branch;
        if (br && (br->loop || !loops))
            br->refused = true;
    }
}

/* ---- running ------------------------------------------------------------------------------------
 */

typedef struct work {
    walker w;
    jn_run *r;
    jn_task *task;
    jn_slot *arg;     /* what w.arg points to */
    jn_tval *carried; /* per result of a loop: what rounds hand on */
} work;

static janus_status copy(jn_run *r, char *to, char *from, size_t bytes) {
    void *src = from;
    if (!bytes || to == from)
        return JANUS_OK;
    return r->of_schedule.trace ? jn_trace_gather(r->of_schedule.trace, to, &src, 1, bytes)
                                : jn_dev_move(r->dev, to, from, bytes);
}

/* Results to their places; those that lie in each other's first to a place between. */
static janus_status put_results(work *x, jn_tval **v) {
    const jn_task *t = x->task;
    const jn_branch *br = x->w.br;
    uint32_t n = br->n_results;
    char **from = jn_arena_alloc(x->w.arena, (n + 1) * sizeof *from);
    if (!from)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < n; i++) {
        const jn_tval *y = v[br->result[i]];
        from[i] = y->data;
        for (uint32_t k = 0; k < n; k++)
            if (k != i && t->out[k].data == y->data && from[i] == y->data) {
                if (!(from[i] = jn_run_memory(x->r, y->shape->bytes)))
                    return JN_NO_MEMORY();
                JN_TRY(copy(x->r, from[i], y->data, y->shape->bytes));
            }
    }
    for (uint32_t i = 0; i < n; i++)
        JN_TRY(copy(x->r, t->out[i].data, from[i], t->out[i].shape->bytes));
    return JANUS_OK;
}

static janus_status body(work *x, int which) {
    jn_tval **v;
    JN_TRY(walk(&x->w, which, &v));
    return put_results(x, v);
}

static janus_status write_branch(work *x) {
    jn_trace *t = x->r->of_schedule.trace;
    const jn_tval *value = x->task->in[0];
    struct jn_trace_op *o;
    JN_TRY(jn_trace_branch(t, false, &o));
    for (int i = 0; i < 2; i++) {
        jn_trace_body(t, o, (unsigned)i);
        JN_TRY(body(x, i));
    }
    return jn_trace_branch_end(t, o, value->data, NULL, value->shape->dtype, NULL, 0);
}

static janus_status write_loop(work *x) {
    jn_trace *t = x->r->of_schedule.trace;
    jn_tval **before, **after;
    struct jn_trace_op *o;
    char *rounds = x->w.br->counts ? x->task->out[x->w.br->n_results].data : jn_trace_take(t, 8);
    if (!rounds)
        return JN_NO_MEMORY();
    JN_TRY(jn_trace_zero(t, rounds, 8));
    JN_TRY(walk(&x->w, 0, &before));
    JN_TRY(jn_trace_branch(t, true, &o));
    jn_trace_body(t, o, 0);
    JN_TRY(body(x, 1));
    JN_TRY(walk(&x->w, 0, &after));
    return jn_trace_branch_end(t, o, before[0]->data, after[0]->data, before[0]->shape->dtype,
                               rounds, x->r->dev->schedule->most_rounds);
}

static janus_status truth(work *x, jn_tval *v, bool *out) {
    jn_slot s = {0};
    JN_TRY(jn_read_item(x->r, v, JANUS_KIND_BOOL, &s));
    *out = s.i != 0;
    return JANUS_OK;
}

/* The memory of a round serves the next one: the stream keeps them in order. */
static janus_status run_loop(work *x) {
    jn_mem *m = x->r->mem;
    jn_mem_mark start = jn_mem_here(m);
    const jn_branch *br = x->w.br;
    jn_tval **value;
    int64_t rounds = -1;
    for (bool more = true; more; jn_mem_back(m, start)) {
        jn_arena round;
        jn_arena *outer = x->w.arena;
        jn_arena_init(&round, 0);
        x->w.arena = &round;
        janus_status st = walk(&x->w, 0, &value);
        if (st == JANUS_OK)
            st = truth(x, value[0], &more);
        if (st == JANUS_OK && more)
            st = body(x, 1);
        x->w.arena = outer;
        jn_arena_free(&round);
        JN_TRY(st);
        JN_TRY(jn_run_poll(x->r));
        rounds++;
    }
    return br->counts ? jn_dev_upload(x->r->dev, x->task->out[br->n_results].data, &rounds, 8)
                      : JANUS_OK;
}

static janus_status run_branch(work *x) {
    bool yes;
    JN_TRY(truth(x, x->task->in[0], &yes));
    return body(x, yes ? 0 : 1);
}

static janus_status bind(work *x) {
    const jn_segment *seg = x->task->inst->seg;
    const jn_branch *br = seg->branch;
    x->arg = jn_arena_zalloc(x->w.arena, (br->n_params + 1) * sizeof *x->arg);
    x->carried = jn_arena_zalloc(x->w.arena, (seg->n_outputs + 1) * sizeof *x->carried);
    if (!x->arg || !x->carried)
        return JN_NO_MEMORY();
    x->w.arg = x->arg;
    for (uint32_t i = 0; i < br->n_params; i++)
        if (br->param[i].kind == JN_SRC_INPUT)
            x->arg[i].t = x->task->in[br->param[i].index];
        else if (br->param[i].kind == JN_SRC_SCALAR)
            x->arg[i].i = x->task->scalars[br->param[i].index];
    for (uint32_t i = 0; i < seg->n_outputs; i++) {
        jn_tval *out = &x->task->out[i];
        out->data = jn_run_memory(x->r, out->shape->bytes);
        if (!out->data)
            return jn_error(JANUS_NO_MEMORY, "the run's memory limit of %zu bytes is reached",
                            x->r->mem->ceiling);
        if (!br->loop || i >= br->n_results)
            continue;
        JN_TRY(copy(x->r, out->data, x->arg[br->carried_at[i]].t->data, out->shape->bytes));
        x->carried[i] = (jn_tval){.data = out->data, .shape = out->shape};
    }
    for (uint32_t i = 0; br->loop && i < br->n_results; i++)
        x->arg[br->carried_at[i]].t = &x->carried[i];
    return JANUS_OK;
}

static janus_status run(jn_lane *l, jn_task *t) {
    jn_arena arena;
    jn_trace *trace = l->run->of_schedule.trace;
    const jn_branch *br = t->inst->seg->branch;
    jn_arena_init(&arena, 0);
    work x = {{l->run->set, l, trace ? &trace->arena : &arena, br, NULL}, l->run, t, NULL, NULL};
    janus_status st = bind(&x);
    if (st == JANUS_OK)
        st = trace      ? (br->loop ? write_loop(&x) : write_branch(&x))
             : br->loop ? run_loop(&x)
                        : run_branch(&x);
    jn_arena_free(&arena);
    return st;
}

janus_status jn_branch_run(jn_lane *l, jn_seginst *inst, jn_task **task, uint32_t n) {
    (void)inst;
    for (uint32_t i = 0; i < n; i++) {
        JN_TRY(run(l, task[i]));
        task[i]->done = true;
    }
    l->batches += n;
    l->tasks += n;
    return JANUS_OK;
}
