/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The early lane.
 *
 * Issuing a training step takes the host strand a quarter of the time that running it takes.  What
 * has been issued waits for nothing that comes later, so when enough is pending a worker starts
 * with a share of it, as lane 1, level by level.  When the host strand flushes,
 * exec/schedule/lanes.c deals the rest: what hangs on the tasks given away follows them in lane 1.
 *
 * It gets further portions, the first of what is pending, when by its cost it should have done what
 * it has: no more than it would have done by the end if all had been issued, since what hangs on
 * them in the same phase is lane 1's, too.  When the first task is issued that may not be given
 * away, it gets what it may still have.
 *
 * When that happens is decided by counts and costs, so results do not depend on timing.  Only tasks
 * without sums are given away: the run's arenas stay the host strand's.  Memory of tensors is taken
 * by the worker alone until the flush, and under the lanes' lock from then on.  To the host strand
 * the tasks are pending until the flush has come to its end (jn_tval_ready).
 */
#include "config.h"

#include "exec/schedule/early.h"

#include "exec/schedule/acc.h"
#include "exec/schedule/group.h"
#include "exec/schedule/schedule.h"
#include "exec/store/store.h"
#include "graph/base/status.h"

enum {
    EARLY_COST = 1 << 19, /* elements of work that are worth a start of their own */
    EARLY_TASKS = 384,    /* and tasks: fewer would run in small groups */
    LEVEL_TASKS = 32,     /* of a level, which are enough for a portion where levels are few */
    FEW_LEVELS = 4,
    PORTIONS = 16
};

/* Tasks that the worker runs, level by level. */
typedef struct portion {
    jn_task **task;
    uint32_t n;
    uint64_t cost;
} portion;

struct jn_early {
    uint32_t n;     /* the first of those that are pending: given away, or have run */
    uint32_t first; /* of them when it started */
    portion portion[PORTIONS];
    atomic_uint portions;
    uint64_t cost, busy;  /* of what it has; until when, as the host strand's time is counted */
    jn_lane_tasks given;  /* the portion that is run */
    pthread_mutex_t lock; /* the lanes' */
    atomic_bool stop;
    pthread_mutex_t waits; /* for what is next */
    pthread_cond_t told;
    atomic_bool go;
    uint32_t sleepers;
    uint32_t threads;    /* workers and the run's own */
    jn_lane_tasks *next; /* by lane */
    uint32_t n_next;
};

void jn_lane_tasks_run(jn_lane_tasks *t) {
    t->st = jn_levels_run(&t->lane, t->task, t->n);
    for (uint32_t i = 0; i < t->n && t->st == JANUS_OK; i++)
        for (uint32_t k = 0; k < t->task[i]->inst->seg->n_accs && t->st == JANUS_OK; k++)
            t->st = jn_acc_settle(&t->lane, t->task[i]->accs[k]);
    if (t->st == JANUS_OK)
        return;
    t->error = *janus_last_error();
    atomic_store_explicit(t->lane.stop, true, memory_order_relaxed);
}

/* Is there a portion number `at`, or nothing more to come? */
static bool told(jn_early *e, uint32_t at) {
    return atomic_load(&e->portions) > at || atomic_load(&e->go);
}

static void wait_for_next(jn_early *e, uint32_t at) {
    jn_spinning spin = {0};
    while (!told(e, at) && jn_spin(&spin))
        ;
    pthread_mutex_lock(&e->waits);
    while (!told(e, at)) {
        e->sleepers++;
        pthread_cond_wait(&e->told, &e->waits);
        e->sleepers--;
    }
    pthread_mutex_unlock(&e->waits);
}

static void run_portions(jn_early *e) {
    for (uint32_t at = 0;; at++) {
        wait_for_next(e, at);
        if (at >= atomic_load(&e->portions))
            return;
        e->given.task = e->portion[at].task;
        e->given.n = e->portion[at].n;
        if (e->given.st == JANUS_OK)
            jn_lane_tasks_run(&e->given);
    }
}

/* Range k is lane k + 1. */
static void work(void *arg, int64_t begin, int64_t end) {
    jn_early *e = arg;
    for (int64_t k = begin; k < end; k++) {
        if (k == 0)
            run_portions(e);
        else
            wait_for_next(e, PORTIONS);
        if ((uint64_t)k + 1 < e->n_next)
            jn_lane_tasks_run(&e->next[k + 1]);
    }
}

static uint32_t threads_of_run(void) {
    int threads = janus_get_num_threads();
    return (uint32_t)(threads < JN_MAX_RANGES ? threads : JN_MAX_RANGES);
}

uint64_t jn_early_threshold(const jn_run *r) {
    bool can = r->on->lanes && !r->exact && janus_get_num_threads() > 1 && !jn_par_inside();
    return can ? EARLY_COST : UINT64_MAX;
}

static void free_early(jn_early *e) {
    for (uint32_t i = 0; i < PORTIONS; i++)
        jn_free(e->portion[i].task);
    pthread_mutex_destroy(&e->lock);
    pthread_mutex_destroy(&e->waits);
    pthread_cond_destroy(&e->told);
    jn_free(e);
}

static void give(jn_early *e, jn_task *t) {
    portion *p = &e->portion[atomic_load_explicit(&e->portions, memory_order_relaxed)];
    p->task[p->n++] = t;
    p->cost += t->inst->row_cost;
    e->cost += t->inst->row_cost;
}

/* So many tasks are enough for a portion. */
static uint32_t enough(const jn_run *r) {
    uint32_t levels = r->of_schedule.max_level + 1;
    return levels < EARLY_TASKS / LEVEL_TASKS ? levels * LEVEL_TASKS : EARLY_TASKS;
}

/* The portion is the worker's.  It is done, by its cost, at e->busy; there is none before. */
static void publish(jn_run *r, jn_early *e) {
    uint64_t now = JN_ISSUE_COST * (uint64_t)r->of_schedule.pending.n;
    uint32_t at = atomic_load_explicit(&e->portions, memory_order_relaxed);
    r->stats.early += e->portion[at].n;
    e->busy = (e->busy > now ? e->busy : now) + e->portion[at].cost;
    r->of_schedule.early_tasks = (uint32_t)(e->busy / JN_ISSUE_COST) + 1;
    pthread_mutex_lock(&e->waits);
    atomic_store(&e->portions, at + 1);
    if (e->sleepers)
        pthread_cond_broadcast(&e->told);
    pthread_mutex_unlock(&e->waits);
}

/* Runs what is light and waits for nothing, such as the gradient that a backward pass begins with:
 * what hangs on that alone need not follow the worker's tasks.  The others are given to it. */
static janus_status run_light(jn_run *r, jn_early *e) {
    jn_lane alone = {.run = r, .polls = true};
    jn_task **light = jn_alloc(e->n * sizeof *light);
    uint32_t n = 0;
    if (!light)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < e->n; i++) {
        jn_task *t = r->of_schedule.pending.data[i];
        if (t->n_deps || jn_task_heavy(t))
            give(e, t);
        else
            light[n++] = t;
    }
    janus_status st = jn_levels_run(&alone, light, n);
    for (uint32_t i = 0; i < n; i++)
        light[i]->done = st == JANUS_OK;
    jn_free(light);
    jn_lane_count(&alone);
    return st;
}

/* The first n of what is pending are given to a worker. */
static janus_status start(jn_run *r, uint32_t n) {
    jn_of_schedule *s = &r->of_schedule;
    s->early_at = UINT64_MAX;
    if (!jn_par_claim())
        return JANUS_OK;
    jn_early *e = jn_calloc(1, sizeof *e);
    if (!e) {
        jn_par_yield();
        return JN_NO_MEMORY();
    }
    pthread_mutex_init(&e->lock, NULL);
    pthread_mutex_init(&e->waits, NULL);
    pthread_cond_init(&e->told, NULL);
    e->first = (uint32_t)s->pending.n;
    e->threads = threads_of_run();
    e->given.lane = (jn_lane){.run = r, .index = 1, .lock = &e->lock, .stop = &e->stop};
    e->portion[0].task = jn_alloc(n * sizeof *e->portion[0].task);
    janus_status st = e->portion[0].task ? JANUS_OK : JN_NO_MEMORY();
    e->n = n;
    jn_tasks_count(s->pending.data, e->first);
    if (st == JANUS_OK)
        st = run_light(r, e);
    if (st != JANUS_OK) {
        jn_par_yield();
        free_early(e);
        return st;
    }
    if (s->list) /* other threads ask it from here on */
        s->list->spoiled = true;
    s->early = e;
    s->early_at = 0;
    publish(r, e);
    jn_tile_lend(r, e->threads);
    jn_par_start(e->threads - 1, work, e);
    return JANUS_OK;
}

/* What lane 1 would have done by the end if so many more were to issue than was. */
static uint64_t fair_share(const jn_run *r, const jn_early *e, uint64_t to_come) {
    uint64_t issuing = JN_ISSUE_COST * ((uint64_t)r->of_schedule.pending.n + to_come);
    return (r->of_schedule.pending_cost + (e->threads - 1) * issuing) / e->threads;
}

/* Another portion: of the first `most` of what is pending as much as the worker may have if so many
 * tasks more are to come. */
static janus_status go_on_giving(jn_run *r, uint32_t most, uint64_t to_come) {
    jn_of_schedule *s = &r->of_schedule;
    jn_early *e = s->early;
    uint64_t share = fair_share(r, e, to_come), cost = e->cost;
    uint32_t n = 0, at = atomic_load_explicit(&e->portions, memory_order_relaxed);
    jn_task *const *first = s->pending.data + e->n;
    if (at == PORTIONS) /* looking at what is left each time would take its square */
        return JANUS_OK;
    for (; n < most && cost + first[n]->inst->row_cost <= share; n++)
        cost += first[n]->inst->row_cost;
    if (n < enough(r))
        return JANUS_OK;
    if (!(e->portion[at].task = jn_alloc(n * sizeof *first)))
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < n; i++)
        give(e, first[i]);
    e->n += n;
    publish(r, e);
    return JANUS_OK;
}

/* Of few levels it starts with a fair share, if there is no more to come, and enough: a window that
 * ends soon would have given nearly all away.  Else with all, since levels have few tasks each. */
static bool has_few_levels(const jn_run *r) { return r->of_schedule.max_level < FEW_LEVELS; }

static uint32_t first_portion(const jn_run *r) {
    const jn_of_schedule *s = &r->of_schedule;
    uint64_t share = s->pending_cost / threads_of_run(), cost = 0;
    uint32_t n = 0;
    if (!has_few_levels(r))
        return (uint32_t)s->pending.n;
    for (; n < s->pending.n && cost + s->pending.data[n]->inst->row_cost <= share; n++)
        cost += s->pending.data[n]->inst->row_cost;
    return n > enough(r) ? n : enough(r);
}

janus_status jn_early_issued(jn_run *r) {
    jn_of_schedule *s = &r->of_schedule;
    if (!s->early) {
        uint32_t several = threads_of_run() * enough(r);
        s->early_tasks = has_few_levels(r) && several < EARLY_TASKS ? several : EARLY_TASKS;
        return s->pending.n < s->early_tasks ? JANUS_OK : start(r, first_portion(r));
    }
    s->early_tasks = (uint32_t)s->pending.n + LEVEL_TASKS; /* where there is too little yet */
    return go_on_giving(r, (uint32_t)s->pending.n - s->early->n, 0);
}

/* What begins now adds to sums, as a backward pass does: it has at least as many tasks as what came
 * before it, and while they are issued the worker would have nothing to do. */
janus_status jn_early_last(jn_run *r) {
    jn_of_schedule *s = &r->of_schedule;
    bool gives = s->early && s->early_at == 0;
    uint32_t n = (uint32_t)s->pending.n;
    s->early_at = UINT64_MAX;
    return gives ? go_on_giving(r, n - s->early->n - 1, n) : JANUS_OK;
}

uint32_t jn_early_count(const jn_early *e) { return e ? e->n : 0; }

uint32_t jn_early_first(const jn_early *e) { return e ? e->first : 0; }

uint32_t jn_early_threads(const jn_early *e) {
    return e ? e->threads : (uint32_t)janus_get_num_threads();
}

void jn_early_beside(jn_early *e, jn_lane *l) {
    if (e)
        l->lock = &e->lock;
}

janus_status jn_early_check(jn_run *r) {
    if (!r->of_schedule.early || jn_par_started())
        return JANUS_OK;
    r->of_schedule.early = NULL; /* left as the worker had it, locked or not */
    return jn_error(JANUS_INTERNAL, "the process was forked in the middle of a run");
}

janus_status jn_early_go_on(jn_run *r, jn_lane_tasks *lane, uint32_t n_lanes) {
    JN_TRY(jn_early_check(r));
    jn_early *e = r->of_schedule.early;
    for (uint32_t k = 0; k < n_lanes; k++) {
        lane[k].lane.lock = &e->lock;
        lane[k].lane.stop = &e->stop;
    }
    pthread_mutex_lock(&e->waits);
    e->next = lane;
    e->n_next = n_lanes;
    atomic_store(&e->go, true);
    if (e->sleepers)
        pthread_cond_broadcast(&e->told);
    pthread_mutex_unlock(&e->waits);
    if (n_lanes)
        jn_lane_tasks_run(&lane[0]);
    r->of_schedule.early = NULL;
    jn_par_join();
    jn_lane_count(&e->given.lane);
    janus_status st = e->given.st;
    if (st != JANUS_OK)
        jn_error_publish(&e->given.error);
    free_early(e);
    return st;
}

janus_status jn_early_join(jn_run *r) {
    return r->of_schedule.early ? jn_early_go_on(r, NULL, 0) : JANUS_OK;
}

void jn_early_cancel(jn_run *r) {
    if (!r->of_schedule.early)
        return;
    janus_error why = *janus_last_error();
    atomic_store_explicit(&r->of_schedule.early->stop, true, memory_order_relaxed);
    (void)jn_early_go_on(r, NULL, 0); /* its worker's error is no news */
    jn_error_publish(&why);
}
