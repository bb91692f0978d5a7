/* SPDX-License-Identifier: Apache-2.0 */
/* Captured flushes: see exec/device/dev_schedule.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "exec/device/device.h"
#include "exec/schedule/branch.h"
#include "exec/schedule/schedule.h"
#include "exec/state/state.h"
#include "ops/kernel.h"

enum {
    MAX_TASKS = 4096, /* of a flush that is looked at */
    MAX_OPS = 8192,   /* of a capture */
    MAX_SEEN = 64,    /* flushes remembered */
    REST = 64,        /* times that a flush that was refused runs before the next attempt */
    SOON = 8,         /* others between two runs of a flush that will soon come again ... */
    SELDOM = 16,      /* ... and how often one that will not has to come before it is captured */
    COPY_OUTPUTS = 16 /* small outputs that are copied out instead of held */
};

typedef jn_seen seen;

/* Memory from outside that a flush reads. */
typedef struct outer {
    char *data;
    size_t bytes;
    size_t at;  /* in the arena, where it moves */
    bool moves; /* copied before each replay */
} outer;

/* What a capture needs to be replayed: jn_capture.more. */
typedef struct replay {
    uint32_t n_ext, n_out, n_acc;
    outer *ext;
    size_t *out_at, *acc_at; /* outputs task by task; accumulators in order of first use */
    int64_t *scalars;        /* as uploaded last */
    size_t scalar_at, scalar_bytes;
    bool waits, fresh; /* fresh: nothing uploaded yet */
    janus_run_stats counts;
} replay;

/* A flush being looked at. */
typedef struct flush {
    jn_run *r;
    jn_schedule *s;
    jn_task **task;
    uint32_t n, max_level;
    JN_VEC(uint64_t) key;
    JN_VEC(outer) ext;
    JN_VEC(jn_acc *) acc;
    uint32_t *slots, n_slots; /* table of ext by address */
    int64_t *scalars;         /* of all tasks */
    size_t n_scalars;
    uint32_t n_out;
    size_t out_bytes;
} flush;

/* ---- what a flush is known by -------------------------------------------------------------------
 */

/* Kernels that read this operand, a scalar, on the device where a capture asks them to. */
static bool reads_on_device(const jn_segnode *n, uint32_t operand) {
    if (n->op->role == JN_ROLE_RNG)
        return operand + 2 >= n->n_in;
    return operand < 32 && jn_op_impls[n->op->id].device_scalars >> operand & 1;
}

/* The value of a scalar input does not matter to what is launched. */
static bool scalar_free(jn_segment *seg, uint32_t i) {
    jn_segscalar *s = &seg->scalars[i];
    if (s->device == JN_SCALAR_UNKNOWN) {
        bool all = !s->is_const && !s->shape;
        for (uint32_t k = 0; k < seg->n_nodes && all; k++)
            for (uint32_t j = 0; j < seg->nodes[k].n_in && all; j++) {
                const jn_src *src = &seg->nodes[k].in[j];
                all = src->kind != JN_SRC_SCALAR || src->index != i ||
                      reads_on_device(&seg->nodes[k], j);
            }
        s->device = all ? JN_SCALAR_FREE : JN_SCALAR_FIXED;
    }
    return s->device == JN_SCALAR_FREE;
}

static bool ext_index(flush *f, const jn_tval *v, uint64_t *out) {
    uint32_t mask = f->n_slots - 1;
    uint32_t h = (uint32_t)(((uintptr_t)v->data >> 4) * 0x9E3779B97F4A7C15u >> 40) & mask;
    for (; f->slots[h]; h = (h + 1) & mask) {
        outer *o = &f->ext.data[f->slots[h] - 1];
        if (o->data == v->data) {
            if (v->shape->bytes > o->bytes)
                o->bytes = v->shape->bytes;
            *out = f->slots[h] - 1;
            return true;
        }
    }
    outer o = {v->data, v->shape->bytes, 0, false};
    if (!jn_vec_push(&f->ext, o))
        return false;
    f->slots[h] = (uint32_t)f->ext.n;
    *out = f->ext.n - 1;
    return true;
}

static bool acc_index(flush *f, jn_acc *a, uint64_t *out) {
    for (size_t i = 0; i < f->acc.n; i++)
        if (f->acc.data[i] == a) {
            *out = i;
            return true;
        }
    *out = f->acc.n;
    return jn_vec_push(&f->acc, a);
}

/* The key; *fits false: the flush is none that can be captured. */
static janus_status make_key(flush *f, bool *fits) {
    uint64_t w[2] = {f->n, jn_dev_precision(f->r->dev) << 1 | f->r->exact};
    size_t n_in = 0;
    bool ok = jn_vec_push(&f->key, w[0]) && jn_vec_push(&f->key, w[1]);
    *fits = false;
    for (uint32_t t = 0; t < f->n; t++) {
        n_in += f->task[t]->inst->seg->n_inputs;
        f->n_scalars += f->task[t]->inst->seg->n_scalars;
    }
    for (f->n_slots = 16; f->n_slots < 2 * n_in; f->n_slots *= 2) {
    }
    f->slots = jn_calloc(f->n_slots, sizeof *f->slots);
    f->scalars = jn_arena_alloc(&f->r->mem->tasks, (f->n_scalars + 1) * sizeof *f->scalars);
    if (!ok || !f->slots || !f->scalars)
        return JN_NO_MEMORY();
    int64_t *to = f->scalars;
    for (uint32_t k = 0; k < f->n && ok; k++) {
        jn_task *t = f->task[k];
        jn_segment *seg = (jn_segment *)t->inst->seg;
        ok = jn_vec_push(&f->key, t->inst->serial);
        for (uint32_t i = 0; i < seg->n_inputs && ok; i++) {
            jn_tval *v = t->in[i];
            uint64_t code;
            if (!v->data && v->task) {
                code = ((uint64_t)v->task->id << 16 | (uint64_t)(v - v->task->out)) << 1;
            } else if (ext_index(f, v, &code)) {
                code = code << 1 | 1;
            } else {
                return JN_NO_MEMORY();
            }
            ok = jn_vec_push(&f->key, code);
        }
        for (uint32_t i = 0; i < seg->n_scalars && ok; i++) {
            int64_t bits = t->scalars[i];
            if (seg->scalars[i].kind == JANUS_KIND_BOOL)
                bits = bits != 0;
            to[i] = bits;
            ok = jn_vec_push(&f->key, scalar_free(seg, i) ? 0 : (uint64_t)bits);
        }
        t->scalars = to; /* now side by side */
        to += seg->n_scalars;
        for (uint32_t i = 0; i < seg->n_accs && ok; i++) {
            uint64_t a;
            if (t->accs[i]->used || t->accs[i]->part[0].data)
                return JANUS_OK; /* adds to what an earlier flush has added */
            ok = acc_index(f, t->accs[i], &a) && jn_vec_push(&f->key, a);
        }
        f->n_out += seg->n_outputs;
        for (uint32_t i = 0; i < seg->n_outputs; i++)
            f->out_bytes += t->out[i].shape->bytes;
    }
    *fits = ok;
    return ok ? JANUS_OK : JN_NO_MEMORY();
}

/* *others: how many came since it came last. */
static seen **find_seen(jn_schedule *s, const flush *f, uint32_t *others) {
    seen **at = &s->first;
    for (*others = 0; *at && !((*at)->n_key == f->key.n && (*at)->n_ext == f->ext.n &&
                               memcmp((*at)->key, f->key.data, f->key.n * sizeof(uint64_t)) == 0);
         ++*others)
        at = &(*at)->next;
    return at;
}

static janus_status remember(jn_schedule *s, const flush *f) {
    seen *p = jn_calloc(1, sizeof *p);
    if (!p)
        return JN_NO_MEMORY();
    p->key = jn_alloc((f->key.n + 1) * sizeof *p->key);
    p->addr = jn_alloc((f->ext.n + 1) * sizeof *p->addr);
    p->moves = jn_calloc(f->ext.n + 1, sizeof *p->moves);
    if (!p->key || !p->addr || !p->moves) {
        jn_seen_free(p);
        return JN_NO_MEMORY();
    }
    memcpy(p->key, f->key.data, f->key.n * sizeof *p->key);
    for (size_t i = 0; i < f->ext.n; i++)
        p->addr[i] = f->ext.data[i].data;
    p->n_key = f->key.n;
    p->n_ext = (uint32_t)f->ext.n;
    p->owner = f->r->set;
    p->next = s->first;
    s->first = p;
    if (++s->n_seen <= MAX_SEEN)
        return JANUS_OK;
    seen **last = &s->first;
    while ((*last)->next)
        last = &(*last)->next;
    jn_seen_free(*last);
    *last = NULL;
    s->n_seen--;
    return JANUS_OK;
}

/* Whether the flush has come before and is worth an attempt; marks what has moved since.  A capture
 * takes as long as about ten runs and keeps its memory: of flushes that come in turns, as batches
 * of trees do, one is captured when it has come about as often as that, so that what is lost is at
 * most what would have been lost by knowing better. */
static janus_status look_up(flush *f, bool *known) {
    jn_schedule *s = f->s;
    janus_status st = JANUS_OK;
    pthread_mutex_lock(&s->lock);
    uint32_t others;
    seen **at = find_seen(s, f, &others), *p = *at;
    *known = false;
    if (!p) {
        st = remember(s, f);
    } else {
        *at = p->next;
        p->next = s->first;
        s->first = p;
        for (uint32_t i = 0; i < p->n_ext; i++) {
            p->moves[i] |= p->addr[i] != f->ext.data[i].data;
            f->ext.data[i].moves = p->moves[i];
        }
        p->times++;
        *known = p->rest == 0 && (others < SOON || p->times >= SELDOM);
        if (p->rest)
            p->rest--;
    }
    pthread_mutex_unlock(&s->lock);
    return st;
}

static void refuse(flush *f) {
    jn_branch_refuse(f->task, f->n, false);
    pthread_mutex_lock(&f->s->lock);
    uint32_t others;
    seen *p = *find_seen(f->s, f, &others);
    if (p)
        p->rest = REST;
    f->s->stats.refused++;
    pthread_mutex_unlock(&f->s->lock);
}

/* ---- recording ----------------------------------------------------------------------------------
 */

/* The tasks as they were issued, for another attempt. */
static void relink(flush *f) {
    for (uint32_t t = 0; t < f->n; t++) {
        jn_task *k = f->task[t];
        k->next = t + 1 < f->n ? f->task[t + 1] : NULL;
        k->done = 0;
        for (uint32_t i = 0; i < k->inst->seg->n_outputs; i++)
            k->out[i].data = NULL;
    }
    for (size_t i = 0; i < f->acc.n; i++) {
        f->acc.data[i]->used = false;
        f->acc.data[i]->part[0].data = NULL;
        f->acc.data[i]->part[0].written = false;
    }
}

/* Puts the address of each operand from outside to `to` (by its number); NULL: back. */
static void redirect(flush *f, char *const *to) {
    size_t at = 2; /* in the key, which says which is which */
    for (uint32_t t = 0; t < f->n; t++) {
        const jn_segment *seg = f->task[t]->inst->seg;
        at++;
        for (uint32_t i = 0; i < seg->n_inputs; i++) {
            uint64_t code = f->key.data[at++];
            if (code & 1)
                f->task[t]->in[i]->data =
                    to && to[code >> 1] ? to[code >> 1] : f->ext.data[code >> 1].data;
        }
        at += seg->n_scalars + seg->n_accs;
    }
}

static void replay_free(void *more) {
    replay *p = more;
    jn_free(p->ext);
    jn_free(p->out_at);
    jn_free(p->scalars);
    jn_free(p);
}

/* Runs the tasks into a trace; afterwards their results have its addresses. */
static janus_status trace_tasks(flush *f, jn_trace *t, janus_run_stats *counts) {
    jn_run *r = f->r;
    janus_run_stats before = r->stats;
    char **to = jn_calloc(f->ext.n + 1, sizeof *to);
    janus_status st = to ? JANUS_OK : JN_NO_MEMORY();
    t->scalars = f->scalars;
    t->scalar_bytes = f->n_scalars * sizeof *f->scalars;
    if (st == JANUS_OK && t->scalar_bytes) {
        t->scalar_block = jn_trace_take(t, t->scalar_bytes);
        if (!t->scalar_block)
            st = JN_NO_MEMORY();
        jn_trace_fix(t, t->scalar_block);
    }
    for (size_t i = 0; i < f->ext.n && st == JANUS_OK; i++) {
        if (!f->ext.data[i].moves)
            continue;
        to[i] = jn_trace_take(t, f->ext.data[i].bytes);
        if (!to[i])
            st = JN_NO_MEMORY();
        jn_trace_fix(t, to[i]);
    }
    if (st == JANUS_OK) {
        redirect(f, to);
        r->of_schedule.trace = t;
        st = jn_flush_tasks(r, f->task, f->n, f->max_level);
        r->of_schedule.trace = NULL;
        redirect(f, NULL);
    }
    *counts = (janus_run_stats){.kernels = r->stats.kernels - before.kernels,
                                .batches = r->stats.batches - before.batches,
                                .tasks = r->stats.tasks - before.tasks,
                                .ops = r->stats.ops - before.ops};
    r->stats = before;
    for (size_t i = 0; i < f->ext.n && st == JANUS_OK; i++)
        f->ext.data[i].at = (size_t)(uintptr_t)to[i];
    for (uint32_t k = 0; k < f->n && st == JANUS_OK; k++)
        for (uint32_t i = 0; i < f->task[k]->inst->seg->n_outputs; i++)
            jn_trace_keep(t, f->task[k]->out[i].data);
    for (size_t i = 0; i < f->acc.n && st == JANUS_OK; i++)
        jn_trace_keep(t, f->acc.data[i]->part[0].data);
    jn_free(to);
    return st;
}

/* From the addresses of a planned trace to offsets in the arena. */
static janus_status make_replay(flush *f, const jn_trace *t, replay **out) {
    replay *p = jn_calloc(1, sizeof *p);
    if (!p)
        return JN_NO_MEMORY();
    p->n_ext = (uint32_t)f->ext.n;
    p->n_out = f->n_out;
    p->n_acc = (uint32_t)f->acc.n;
    p->ext = jn_alloc((f->ext.n + 1) * sizeof *p->ext);
    p->out_at = jn_alloc(((size_t)f->n_out + f->acc.n + 1) * sizeof *p->out_at);
    p->scalars = jn_alloc((f->n_scalars + 1) * sizeof *p->scalars);
    if (!p->ext || !p->out_at || !p->scalars) {
        replay_free(p);
        return JN_NO_MEMORY();
    }
    for (uint32_t i = 0; i < p->n_ext; i++) {
        p->ext[i] = f->ext.data[i];
        if (p->ext[i].moves)
            p->ext[i].at = jn_trace_offset(t, (void *)(uintptr_t)f->ext.data[i].at);
    }
    size_t k = 0;
    for (uint32_t i = 0; i < f->n; i++)
        for (uint32_t j = 0; j < f->task[i]->inst->seg->n_outputs; j++)
            p->out_at[k++] = jn_trace_offset(t, f->task[i]->out[j].data);
    p->acc_at = p->out_at + k;
    for (uint32_t i = 0; i < p->n_acc; i++)
        p->acc_at[i] = jn_trace_offset(t, f->acc.data[i]->part[0].data);
    p->scalar_bytes = t->scalar_bytes;
    p->scalar_at = t->scalar_bytes ? jn_trace_offset(t, t->scalar_block) : 0;
    p->fresh = true;
    p->waits = t->may_raise;
    *out = p;
    return JANUS_OK;
}

static janus_status record(flush *f, jn_capture **out) {
    jn_schedule *s = f->s;
    jn_trace t;
    replay *p = NULL;
    janus_run_stats counts;
    jn_trace_init(&t);
    janus_status st = trace_tasks(f, &t, &counts);
    if (st == JANUS_OK && (t.n_launches > MAX_OPS || !t.ops.n))
        st = jn_error(JANUS_UNSUPPORTED, "too many launches, or none, for a capture");
    if (st == JANUS_OK)
        st = jn_trace_plan(&t, s->d, s->single);
    if (st == JANUS_OK && t.bytes > f->r->mem->ceiling)
        st = jn_error(JANUS_NO_MEMORY, "a capture would need %zu bytes", t.bytes);
    if (st == JANUS_OK)
        st = make_replay(f, &t, &p);
    if (st == JANUS_OK)
        st = jn_schedule_record(s, &s->captures, &t, f->key.data, f->key.n * sizeof(uint64_t),
                                f->out_bytes, out);
    relink(f);
    if (st == JANUS_OK) {
        p->counts = counts;
        (*out)->more = p;
        (*out)->free_more = replay_free;
        (*out)->owner = f->r->set;
        pthread_mutex_lock(&s->lock);
        s->stats.nodes += t.ops.n;
        s->stats.branches += t.bodies.n / 2;
        s->stats.waits += t.plan.n_waits;
        if (t.plan.n_streams > s->stats.streams)
            s->stats.streams = t.plan.n_streams;
        pthread_mutex_unlock(&s->lock);
    } else if (p) {
        replay_free(p);
    }
    jn_trace_free(&t);
    return st;
}

/* ---- replaying ----------------------------------------------------------------------------------
 */

static janus_status copy_in(flush *f, const jn_capture *g) {
    replay *p = g->more;
    char *arena = jn_capture_arena(g);
    for (uint32_t i = 0; i < p->n_ext; i++)
        if (p->ext[i].moves)
            JN_TRY(
                jn_dev_move(f->s->d, arena + p->ext[i].at, f->ext.data[i].data, p->ext[i].bytes));
    if (!p->scalar_bytes || (!p->fresh && memcmp(p->scalars, f->scalars, p->scalar_bytes) == 0))
        return JANUS_OK;
    memcpy(p->scalars, f->scalars, p->scalar_bytes);
    p->fresh = false;
    return jn_dev_upload(f->s->d, arena + p->scalar_at, p->scalars, p->scalar_bytes);
}

static janus_status copy_out(flush *f, jn_tval *v) {
    char *own = jn_mem_tensor(f->r->mem, v->shape->bytes);
    if (!own)
        return jn_error(JANUS_NO_MEMORY, "the run's memory limit of %zu bytes is reached",
                        f->r->mem->ceiling);
    JN_TRY(jn_dev_move(f->s->d, own, v->data, v->shape->bytes));
    v->data = own;
    return JANUS_OK;
}

/* Results as if the tasks had run.  `copies`: out of the arena, which is then free at once. */
static janus_status publish(flush *f, const jn_capture *g, bool copies) {
    const replay *p = g->more;
    char *arena = jn_capture_arena(g);
    size_t k = 0;
    for (uint32_t t = 0; t < f->n; t++) {
        jn_task *task = f->task[t];
        for (uint32_t i = 0; i < task->inst->seg->n_outputs; i++) {
            task->out[i].data = arena + p->out_at[k++];
            if (copies)
                JN_TRY(copy_out(f, &task->out[i]));
        }
        task->done = 1;
    }
    for (uint32_t i = 0; i < p->n_acc; i++) {
        jn_acc *a = f->acc.data[i];
        a->part[0].data = arena + p->acc_at[i];
        a->used = a->part[0].written = true;
    }
    f->r->stats.kernels += p->counts.kernels;
    f->r->stats.batches += p->counts.batches;
    f->r->stats.tasks += p->counts.tasks;
    f->r->stats.ops += p->counts.ops;
    pthread_mutex_lock(&f->s->lock);
    f->s->stats.replays++;
    pthread_mutex_unlock(&f->s->lock);
    return JANUS_OK;
}

static janus_status replay_timed(const flush *f, jn_capture *g, const replay *p,
                                 bool *out_stopped) {
    jn_device *d = f->s->d;
    void *timed = jn_dev_timed_begin(d);
    janus_status st = jn_capture_replay(&f->s->captures, g, d->stream, p->waits, out_stopped);
    if (JN_UNLIKELY(timed != NULL))
        jn_dev_timed_end(d, timed, "captured flush", NULL, 0, (uint32_t)p->counts.kernels);
    return st;
}

/* `g` is held.  *out_stopped: its abort word was set; nothing is published. */
static janus_status run_capture(flush *f, jn_capture *g, bool small, bool *out_stopped) {
    const replay *p = g->more;
    jn_mem *m = f->r->mem;
    /* the last flush of a run that leaves no frames is held for as long as the results are copied
     */
    bool copies =
        small && (f->r->keeps || !f->r->finished) && !p->n_acc && p->n_out <= COPY_OUTPUTS;
    bool keep = false;
    janus_status st = JANUS_OK;
    if (!copies && !jn_vec_reserve(&m->captures, m->captures.n + 1))
        st = JN_NO_MEMORY();
    if (st == JANUS_OK)
        st = copy_in(f, g);
    if (st == JANUS_OK)
        st = replay_timed(f, g, p, out_stopped);
    if (st == JANUS_OK && !*out_stopped) {
        st = publish(f, g, copies);
        keep = !copies;
    }
    if (keep)
        m->captures.data[m->captures.n++] = g;
    else
        jn_capture_drop(&f->s->captures, g);
    return st;
}

/* ---- a flush ------------------------------------------------------------------------------------
 */

/* What the capture reads in place is there. */
static bool in_place(const flush *f, const jn_capture *g) {
    const replay *p = g->more;
    for (uint32_t i = 0; i < p->n_ext; i++)
        if (!p->ext[i].moves && p->ext[i].data != f->ext.data[i].data)
            return false;
    return true;
}

/* No failure of the run: it only cannot be captured. */
static bool can_do_without(janus_status st) {
    return st == JANUS_NO_MEMORY || st == JANUS_UNSUPPORTED || st == JANUS_DEVICE;
}

static janus_status ahead_of_time(flush *f, bool *done) {
    bool fits, known, stopped = false;
    size_t n_key;
    jn_capture *g;
    JN_TRY(make_key(f, &fits));
    if (!fits)
        return JANUS_OK;
    JN_TRY(look_up(f, &known));
    if (!known)
        return JANUS_OK;
    n_key = f->key.n * sizeof(uint64_t);
    jn_captures *all = &f->s->captures;
    jn_capture_way way = jn_captures_choose(all, f->key.data, n_key, &g);
    bool small = f->out_bytes <= JN_CAPTURE_COPY_MAX;
    if (g && !in_place(f, g)) { /* a new one, which copies what has moved */
        jn_capture_drop(all, g);
        jn_captures_remove(all, f->key.data, n_key);
        way = JN_WAY_RECORD;
    }
    if (way == JN_WAY_UNCAPTURED)
        return JANUS_OK;
    if (way == JN_WAY_RECORD) {
        janus_status st = record(f, &g);
        if (st != JANUS_OK) {
            refuse(f);
            return can_do_without(st) ? JANUS_OK : st;
        }
    }
    JN_TRY(run_capture(f, g, small, &stopped));
    if (stopped)
        jn_branch_refuse(f->task, f->n, true);
    *done = !stopped;
    return JANUS_OK;
}

janus_status jn_schedule_flush(jn_run *r, jn_task **task, uint32_t n, uint32_t max_level) {
    jn_schedule *s = r->dev->schedule;
    if (!s || !s->on || n > MAX_TASKS)
        return jn_flush_tasks(r, task, n, max_level);
    flush f = {.r = r, .s = s, .task = task, .n = n, .max_level = max_level};
    bool done = false;
    janus_status st = ahead_of_time(&f, &done);
    jn_vec_free(&f.key);
    jn_vec_free(&f.ext);
    jn_vec_free(&f.acc);
    jn_free(f.slots);
    return st != JANUS_OK || done ? st : jn_flush_tasks(r, task, n, max_level);
}
