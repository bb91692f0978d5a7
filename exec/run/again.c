/* SPDX-License-Identifier: Apache-2.0 */
/* When a run is a list of calls: see exec/run/again.h. */
#include "config.h"

#include "exec/run/again.h"

#include <string.h>

#include "exec/heap/heap.h"
#include "exec/plan/plan.h"
#include "exec/store/store.h"
#include "graph/base/log.h"

enum {
    FIRST_AT = 4,      /* runs alike */
    LAST_AT = 1 << 12, /* where the lists of so many came to nothing, there is none */
    MOST_MISSES = 16,  /* runs that a list did not fit, until it is given up */
    MOST_ARGS = 512,
    MOST_BYTES = 512 << 10, /* of tensors: a larger run has more to do than its calls */
    MOST_KEPT = 1 << 20     /* by its memory; nothing was collected then (exec/strand/collect.c) */
};

/* Whether what it does is nothing but its calls, as those of other runs now. */
static bool is_plain(const jn_run *r) {
    return jn_computes_here(r->on) && !r->dev && !r->keeps && !jn_prof_on() &&
           !jn_log_on(JN_LOG_SCHEDULE);
}

/* ---- writing -----------------------------------------------------------------------------------
 */

static bool write_arguments(const jn_run *r, jn_replay *p, const jn_arg *args) {
    for (uint32_t i = 0; i < p->n_args; i++) {
        jn_replay_arg *a = &p->arg[i];
        a->kind = (uint8_t)args[i].kind;
        switch (args[i].kind) {
        case JANUS_KIND_TENSOR:
            if (p->slots[i].t != &p->bound[i].v || !jn_is_usual(r, i, &args[i]))
                return false;
            a->shape = p->bound[i].v.shape;
            a->data = p->bound[i].v.data;
            break;
        case JANUS_KIND_NONE:
        case JANUS_KIND_OBJECT:
            break;
        case JANUS_KIND_INT:
        case JANUS_KIND_FLOAT:
        case JANUS_KIND_BOOL:
            a->bits = args[i].s.i;
            break;
        default:
            return false;
        }
    }
    return true;
}

/* No object of the run, and nothing that outlives it in its memory. */
static bool gives_values(const jn_subgraph *g) {
    for (size_t i = 0; i < g->result_types.n; i++)
        if (g->result_types.data[i]->kind == JANUS_KIND_OBJECT ||
            g->result_types.data[i]->kind == JANUS_KIND_FRAME)
            return false;
    return true;
}

void jn_run_write(jn_run *r, const jn_arg *args, unsigned n, jn_slot *slots, jn_bound *bound) {
    jn_plan *plan = r->entry;
    if (!plan->write_at)
        plan->write_at = n <= MOST_ARGS && gives_values(r->sub) ? FIRST_AT : UINT32_MAX;
    if (plan->alike < plan->write_at || plan->replay || !is_plain(r))
        return;
    if (!jn_plan_is_fixed(plan)) { /* which is known now: runs before have compiled all they do */
        plan->write_at = UINT32_MAX;
        return;
    }
    jn_replay *p = jn_replay_new(n);
    if (!p)
        return;
    p->slots = slots;
    p->bound = bound;
    p->threads = janus_get_num_threads();
    p->exact = r->exact;
    if (!write_arguments(r, p, args)) {
        jn_replay_free(p);
        plan->alike = 0;
        return;
    }
    jn_replay_overlaps(p);
    plan->replay = p;
    jn_schedule_writes(r, p);
}

/* The next list comes later, or soon. */
static void give_up(jn_plan *plan, bool soon) {
    if (!soon)
        plan->write_at = plan->write_at < LAST_AT ? 4 * plan->write_at : UINT32_MAX;
    plan->alike = 0;
    jn_replay_free(plan->replay);
    plan->replay = NULL;
}

static bool write_results(const jn_run *r, jn_replay *p) {
    size_t n = r->sub->results.n;
    p->results = jn_arena_dup(&p->arena, r->results, (n + 1) * sizeof *p->results);
    for (size_t i = 0; p->results && i < n; i++)
        if (r->sub->result_types.data[i]->kind == JANUS_KIND_TENSOR)
            jn_replay_gives(p, r->results[i].t);
    return p->results && !p->spoiled;
}

static bool is_whole(const jn_run *r, const jn_replay *p) {
    const janus_run_stats *s = &r->stats;
    size_t n_log;
    (void)jn_run_log(r, &n_log);
    return r->prepared && !n_log && p->kernels == s->kernels && !s->early && !s->late &&
           s->lanes <= 1 && !jn_run_met(r) && r->rng_offset == r->options.rng_offset &&
           r->mem->bytes <= MOST_KEPT && jn_mem_peak(r->mem) + jn_replay_scratch(p) <= MOST_BYTES;
}

bool jn_run_written(jn_run *r, bool alone) {
    jn_plan *plan = r->entry;
    jn_replay *p = plan->replay;
    size_t scratch = plan->replay_scratch;
    bool plain = jn_schedule_written(r);
    if (!alone || !plain || !is_whole(r, p) || !write_results(r, p)) {
        give_up(plan, scratch < plan->replay_scratch); /* it has moved, and will have room */
        return false;
    }
    p->stats = r->stats;
    p->stats.peak_bytes = jn_mem_peak(r->mem) + r->mem->apart_most + jn_replay_scratch(p);
    p->mem = r->mem; /* what is in it stays */
    p->written = true;
    return true;
}

/* ---- playing -----------------------------------------------------------------------------------
 */

/* The arguments look as they did; data[]: where they lie; whether that is elsewhere. */
static bool look_alike(const jn_run *r, const jn_replay *p, const jn_arg *args, char **data,
                       bool *moved) {
    const jn_plan *plan = r->entry;
    const uint8_t *known = r->known && r->known == plan->known ? r->is_known : NULL;
    bool seen = known && p->seen == r->known;
    for (uint32_t i = 0; i < p->n_args; i++) {
        const jn_replay_arg *a = &p->arg[i];
        if (seen && known[i]) { /* it looks as it did in the last run */
            if (!(data[i] = jn_tensor_ready_data(args[i].t)))
                return false;
            *moved |= data[i] != a->data;
            continue;
        }
        if ((uint8_t)args[i].kind != a->kind)
            return false;
        switch (args[i].kind) {
        case JANUS_KIND_TENSOR:
            if (a->shape != plan->bound[i] ||
                !((known && known[i]) || jn_is_usual(r, i, &args[i])) ||
                !(data[i] = jn_tensor_ready_data(args[i].t)))
                return false;
            *moved |= data[i] != a->data;
            break;
        case JANUS_KIND_OBJECT:
            if ((uintptr_t)args[i].o & 1)
                return false;
            break;
        case JANUS_KIND_INT:
        case JANUS_KIND_FLOAT:
        case JANUS_KIND_BOOL:
            if (args[i].s.i != a->bits)
                return false;
            break;
        default:
            break;
        }
    }
    return true;
}

/* Arguments are kept, and those that are results are what they are now. */
static bool bind(const jn_run *r, jn_replay *p, const jn_arg *args) {
    jn_mem *m = p->mem;
    if (!r->borrows && !jn_vec_reserve(&m->owned, p->n_args))
        return false;
    for (uint32_t i = 0; !r->borrows && i < p->n_args; i++)
        if (args[i].kind == JANUS_KIND_TENSOR) {
            janus_tensor_retain(args[i].t);
            m->owned.data[m->owned.n++] = args[i].t;
        }
    for (size_t k = 0; k < p->given.n; k++) {
        const jn_arg *a = &args[p->given.data[k]];
        jn_bound *b = &p->bound[p->given.data[k]];
        b->v.tensor = b->v.dense = a->t;
        b->v.data = p->arg[p->given.data[k]].data;
        b->object = a->object;
    }
    return true;
}

bool jn_run_again(jn_run *r, const jn_arg *args, unsigned n, janus_status *st) {
    jn_plan *plan = r->entry;
    jn_replay *p = plan->replay;
    char *data[MOST_ARGS];
    bool moved = false;
    if (p->threads != janus_get_num_threads()) { /* they rarely change, and then stay */
        give_up(plan, true);
        return false;
    }
    if (n != p->n_args || p->exact != r->exact || !is_plain(r) || r->mem->owned.n ||
        p->mem->on != r->on)
        return false;
    if (!look_alike(r, p, args, data, &moved) || (moved && !jn_replay_moves(p, data))) {
        if (++p->misses < MOST_MISSES)
            return false;
        give_up(plan, false);
        return false;
    }
    if (!bind(r, p, args))
        return false;
    jn_kept_look(&p->kept, args,
                 r->known && r->known == plan->known && r->known == p->seen ? r->is_known : NULL);
    jn_mem *mine = r->mem;
    if (r->known)
        plan->known = p->seen = r->known; /* all were looked at */
    r->set->spare = mine;                 /* nothing is in it */
    r->mem = p->mem;
    r->mem->ceiling = mine->ceiling;
    r->replays = true;
    r->args = p->slots;
    memcpy(r->results, p->results, r->sub->results.n * sizeof *r->results);
    int64_t start = jn_run_clock();
    *st = jn_run_poll_at(r, start);
    if (*st == JANUS_OK)
        *st = jn_replay_run(p);
    r->stats = p->stats;
    int64_t took = jn_run_clock() - start;
    if (p->in_parts)
        jn_pace_took(&p->pace, took);
    r->stats.tensor_ns = (uint64_t)took;
    r->stats.host_ns = 0;
    r->finished = *st == JANUS_OK;
    jn_ops_run.replays++;
    return true;
}

/* ---- idle runs ---------------------------------------------------------------------------------
 */

jn_run *jn_run_idle(jn_planset *set, const jn_subgraph *sub) {
    jn_replay *p = set->plans[2 * sub->index].replay;
    jn_run *r = p ? p->idle : NULL;
    if (r)
        p->idle = NULL;
    return r;
}

bool jn_run_idles(jn_run *r) {
    jn_planset *set = r->set;
    if (!r->finished || !r->prepared || r->rests || jn_run_met(r) || !jn_heap_is_new(r) ||
        !jn_schedule_is_new(r))
        return false;
    jn_mem_drop_owned(r->mem);
    r->mem = NULL;
    r->args = NULL;
    r->known = 0;
    r->is_known = NULL;
    r->finished = r->prepared = r->borrows = r->aside = r->replays = false;
    r->entry->replay->idle = r;
    r->set = NULL;
    jn_planset_return(set);
    return true;
}
