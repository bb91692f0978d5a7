/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tensor strand: tasks are issued by the host strand and executed by flushes.
 *
 * A task is issued with a level, one more than the highest among what it waits for: what runs
 * together is decided in exec/schedule/levels.c, and on which thread in exec/schedule/lanes.c; a
 * worker may start before the flush (exec/schedule/early.c).  In exact mode tasks run one by one in
 * the order they were issued, which is the order of imperative execution.
 */
#include "config.h"

#include <string.h>

#include "exec/schedule/early.h"
#include "exec/schedule/rows.h"
#include "exec/schedule/schedule.h"
#include "exec/state/state.h"
#include "exec/store/store.h"
#include "graph/base/log.h"
#include "graph/base/status.h"

enum { /* pending tasks that start a flush */
       FLUSH_AT = 1 << 18,
       /* elements of work, half a millisecond and more, for which the embedding program's lock is
        * given up: taking it again can cost a thread's turn */
       LEAVE_COST = 1 << 21
};

void jn_schedule_begin(jn_run *r) {
    jn_of_schedule *s = &r->of_schedule;
    s->flush_bytes = JN_FLUSH_BYTES;
    s->early_at = jn_early_threshold(r);
}

/* What products have packed of the arguments, for the runs after it. */
static void leave_panels(jn_run *r) {
    for (int i = 0; i < JN_MAX_RANGES; i++) {
        jn_packs *p = r->of_schedule.packs[i];
        for (uint32_t k = 0; p && r->args && k < p->n; k++)
            for (uint32_t a = 0; a < r->sub->params.n; a++)
                if (r->sub->params.data[a].type->kind == JANUS_KIND_TENSOR && r->args[a].t &&
                    r->args[a].t->dense && r->args[a].t->data == p->pack[k].b && !p->pack[k].lent) {
                    jn_panels_leave(&r->entry->panels, a, &p->pack[k]);
                    break;
                }
    }
}

void jn_schedule_end(jn_run *r) {
    jn_of_schedule *s = &r->of_schedule;
    jn_vec_free(&s->pending);
    jn_vec_free(&s->deps);
    jn_vec_free(&s->result_stores);
    jn_vec_free(&s->stores);
    jn_tables_return(r);
    leave_panels(r);
    for (int i = 0; i < JN_MAX_RANGES; i++) {
        jn_free_aligned(s->scratch[i].data);
        jn_packs_free(s->packs[i]);
        if (!r->set)
            continue;
        size_t *last = &r->set->scratch[i], less = *last - *last / 4;
        *last = s->scratch[i].most > less ? s->scratch[i].most : less;
    }
}

bool jn_schedule_is_new(const jn_run *r) {
    static const jn_of_schedule none;
    size_t from = offsetof(jn_of_schedule, early); /* all behind it */
    return !r->of_schedule.pending.data &&
           memcmp((const char *)&r->of_schedule + from, (const char *)&none + from,
                  sizeof none - from) == 0;
}

void jn_schedule_writes(jn_run *r, jn_replay *list) { r->of_schedule.list = list; }

bool jn_schedule_written(jn_run *r) {
    jn_of_schedule *s = &r->of_schedule;
    jn_replay *list = s->list;
    s->list = NULL;
    for (int i = 0; i < JN_MAX_RANGES; i++)
        if (r->entry->replay_scratch < s->scratch[i].bytes)
            r->entry->replay_scratch = s->scratch[i].bytes;
    if (list->spoiled || s->late || s->result_stores.n || s->stores.n || s->pending.n)
        return false;
    memcpy(list->scratch, s->scratch, sizeof list->scratch);
    memset(s->scratch, 0, sizeof s->scratch);
    return true;
}

size_t jn_schedule_scratch(const jn_run *r) {
    size_t bytes = 0;
    for (int i = 0; i < JN_MAX_RANGES; i++)
        bytes += r->of_schedule.scratch[i].bytes;
    return bytes;
}

static janus_status specialise_anew(jn_run *r, jn_segment *like, jn_task *t, uint32_t n) {
    const jn_shape *in_buf[32], **in = in_buf;
    if (n > 32) {
        in = jn_arena_alloc(&r->mem->arena, n * sizeof *in);
        if (!in)
            return JN_NO_MEMORY();
    }
    for (uint32_t i = 0; i < n; i++)
        in[i] = t->in[i]->shape;
    return jn_segment_specialise(like, r->set, in, t->scalars, &t->inst);
}

/* Operands, what it waits for, neighbours of the same task once, and so its level; and its
 * specialisation, which in the usual case has the shapes of last time. */
static janus_status specialise_task(jn_run *r, jn_segment *seg, jn_task *t, jn_slot *slots) {
    jn_of_schedule *s = &r->of_schedule;
    const uint32_t n = seg->n_inputs, *slot = seg->input_slot;
    jn_segment *like = seg->twin ? seg->twin : seg;
    jn_seginst *last = like->insts;
    const jn_shape *const *shape = last ? last->in : NULL;
again:;
    bool hit = last != NULL;
    const jn_task *before = NULL;
    if (JN_UNLIKELY(s->deps.n + n >= UINT32_MAX) || !jn_vec_reserve(&s->deps, s->deps.n + n))
        return JN_NO_MEMORY();
    uint32_t *first = s->deps.data + s->deps.n, *dep = first, level = 0;
    for (uint32_t i = 0; i < n; i++) {
        jn_tval *v = slots[slot[i]].t;
        if (JN_UNLIKELY(!v))
            return jn_error(JANUS_INTERNAL, "a tensor operand of segment %u is absent", seg->id);
        if (JN_UNLIKELY(v->rows && !v->data)) {
            JN_TRY(jn_rows_fill(r, v));
            goto again; /* it may have flushed */
        }
        t->in[i] = v;
        hit = hit && shape[i] == v->shape;
        const jn_task *p = v->task;
        if (!p || p == before || p->done)
            continue;
        before = p;
        *dep++ = p->id;
        level = p->level >= level ? p->level + 1 : level;
    }
    t->level = level;
    t->id = (uint32_t)s->pending.n;
    t->first_dep = (uint32_t)s->deps.n;
    t->n_deps = (uint32_t)(dep - first);
    s->deps.n += t->n_deps;
    for (uint32_t i = 0; i < seg->n_scalars; i++) {
        const jn_segscalar *c = &seg->scalars[i];
        t->scalars[i] = c->is_const ? c->value : slots[c->slot].i;
        hit = hit && (!c->shape || last->scalars[i] == t->scalars[i]);
    }
    t->inst = last;
    return hit ? JANUS_OK : specialise_anew(r, like, t, n);
}

janus_status jn_issue(jn_run *r, jn_segment *seg, jn_slot *slots) {
    size_t bytes = sizeof(jn_task) + seg->n_outputs * sizeof(jn_tval) +
                   seg->n_inputs * sizeof(jn_tval *) + seg->n_scalars * sizeof(int64_t) +
                   seg->n_accs * sizeof(jn_acc *);
    jn_task *t = jn_arena_alloc(&r->mem->tasks, bytes);
    if (!t)
        return JN_NO_MEMORY();
    t->level = 0;
    t->done = false;
    t->leader = NULL;
    t->late = NULL;
    t->in = (jn_tval **)&t->out[seg->n_outputs];
    t->scalars = (int64_t *)(t->in + seg->n_inputs);
    t->accs = (jn_acc **)(t->scalars + seg->n_scalars);
    JN_TRY(specialise_task(r, seg, t, slots));
    for (uint32_t i = 0; i < seg->n_accs; i++) {
        t->accs[i] = slots[seg->acc_slot[i]].acc;
        if (JN_UNLIKELY(!t->accs[i]))
            return jn_error(JANUS_INTERNAL, "an accumulator of segment %u is absent", seg->id);
        if (t->accs[i]->read)
            return jn_error(JANUS_INVALID_ARGUMENT, "acc.add after acc.get of one accumulator");
    }
    for (uint32_t i = 0; i < seg->n_outputs; i++) {
        t->out[i] = (jn_tval){.shape = t->inst->out[i], .task = t};
        r->of_schedule.pending_bytes += t->inst->out[i]->bytes;
        slots[seg->output_slot[i]].t = &t->out[i];
    }
    if (t->level > r->of_schedule.max_level)
        r->of_schedule.max_level = t->level;
    if (!jn_vec_push(&r->of_schedule.pending, t))
        return JN_NO_MEMORY();
    r->of_schedule.pending_cost += t->inst->row_cost;
    if (r->of_schedule.pending.n >= FLUSH_AT)
        return jn_flush(r);
    if (seg->n_accs || t->inst->wide)
        return jn_early_last(r);
    return r->of_schedule.pending_cost < r->of_schedule.early_at ||
                   r->of_schedule.pending.n < r->of_schedule.early_tasks
               ? JANUS_OK
               : jn_early_issued(r);
}

/* Bytes of pending outputs that the run returns: a gradient of a large network, say. */
static size_t bytes_returned(const jn_frame *f) {
    while (f->parent)
        f = f->parent;
    const jn_slots *results = NULL;
    for (size_t i = 0; i < f->plan->n_code && !results; i++)
        if (jn_opcode_of(&f->plan->code[i]) == JN_I_RETURN)
            results = f->plan->code[i].aux;
    size_t bytes = 0;
    for (uint32_t i = 0; results && i < results->n; i++) {
        uint32_t slot = results->slot[i];
        if (slot == JN_NO_SLOT || f->plan->slot_kind[slot] != JANUS_KIND_TENSOR)
            continue;
        const jn_tval *v = f->slot[slot].t;
        bytes += v && v->task && !v->task->done ? v->shape->bytes : 0;
    }
    return bytes;
}

janus_status jn_flush_large(jn_run *r, const jn_frame *f) {
    r->of_schedule.flush_bytes = JN_FLUSH_BYTES + (r->on->host ? bytes_returned(f) : 0);
    return r->of_schedule.pending_bytes < r->of_schedule.flush_bytes ? JANUS_OK : jn_flush(r);
}

static janus_status run_in_order(jn_lane *l, jn_task **task, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if ((i & 63) == 63)
            JN_TRY(jn_run_poll(l->run));
        JN_TRY(jn_group_run(l, task[i]->inst, &task[i], 1));
    }
    return JANUS_OK;
}

/* What becomes of a window before it is run. */
static const struct {
    const char *name;
    janus_status (*run)(jn_run *r, jn_window *w);
} passes[] = {{"late levels", jn_levels_late}, {"dealing", jn_lanes_deal}};

static janus_status look(const jn_run *r, const jn_window *w, const char *pass) {
    JN_CHECK_THAT(jn_window_check(w, pass));
    JN_CHECK_THAT(w->dealt.lanes ? jn_dealt_check(&w->dealt) : JANUS_OK);
    if (JN_UNLIKELY(jn_log_on(JN_LOG_SCHEDULE)))
        jn_window_log(w, r->sub->name, pass);
    return JANUS_OK;
}

static janus_status run_window(jn_run *r, jn_lane *alone, jn_window *w) {
    for (size_t i = 0; i < sizeof passes / sizeof *passes && w->n > 1; i++) {
        JN_TRY(passes[i].run(r, w));
        JN_TRY(look(r, w, passes[i].name));
    }
    if (w->dealt.lanes)
        return jn_lanes_run(r, w);
    JN_TRY(jn_early_join(r));
    alone->window = w->from == 0 ? w->n : 0;
    return jn_levels_run(alone, w->task + w->from, w->n - w->from);
}

janus_status jn_flush_tasks(jn_run *r, jn_task **task, uint32_t n, uint32_t max_level) {
    jn_lane alone = {.run = r, .polls = true};
    jn_window w = {.deps = r->of_schedule.deps.data,
                   .n_deps = r->of_schedule.deps.n,
                   .task = task,
                   .n = n,
                   .from = jn_early_count(r->of_schedule.early),
                   .max_level = max_level};
    JN_TRY(look(r, &w, r->exact ? "issuing, to be run in this order" : "issuing"));
    JN_TRY(jn_early_check(r));
    janus_status st = r->exact ? run_in_order(&alone, task, n) : run_window(r, &alone, &w);
    jn_lanes_drop(&w);
    jn_lane_count(&alone);
    return st;
}

janus_status jn_flush(jn_run *r) {
    jn_task **task = r->of_schedule.pending.data;
    uint32_t n = (uint32_t)r->of_schedule.pending.n, max_level = r->of_schedule.max_level;
    size_t room = r->of_schedule.pending.cap;
    r->of_schedule.max_level = 0;
    r->of_schedule.pending_bytes = 0;
    r->of_schedule.flush_bytes = JN_FLUSH_BYTES;
    uint64_t cost = r->of_schedule.pending_cost;
    r->of_schedule.pending_cost = 0;
    r->of_schedule.early_at = jn_early_threshold(r);
    r->of_schedule.early_tasks = 0;
    if (!n)
        return JANUS_OK;
    memset(&r->of_schedule.pending, 0, sizeof r->of_schedule.pending);
    int64_t start = jn_run_clock();
    bool given = jn_early_count(r->of_schedule.early) > 0;
    /* what was written to lists and dicts of the program refers to what they held, and is not
     * looked at again: from there on the lock is kept */
    bool leaves = JN_UNLIKELY(cost >= LEAVE_COST) && r->host.leave && r->host.enter && !r->away &&
                  r->on->host && !r->containers;
    if (JN_UNLIKELY(r->of_schedule.list != NULL) && cost >= LEAVE_COST && !given)
        r->of_schedule.list->spoiled = true;
    if (leaves)
        jn_run_leave(r);
    janus_status st = r->on->flush(r, task, n, max_level);
    if (leaves)
        jn_run_enter(r);
    for (uint32_t i = 0; i < n && st == JANUS_OK; i++)
        task[i]->done = true;
    if (r->of_schedule.pending.data) {
        jn_free(task);
    } else {
        r->of_schedule.pending.data = task;
        r->of_schedule.pending.cap = room;
    }
    r->stats.tensor_ns += (uint64_t)(jn_run_clock() - start);
    if (jn_prof_on())
        jn_prof_add(JN_PROF_FLUSH, r->sub->name, NULL, start, n);
    return st;
}
