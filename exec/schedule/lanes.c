/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes: tasks that do not depend on each other, on threads of their own.
 *
 * The examples of a mini-batch meet only in the sum of their losses: forward and backward of one
 * tree read nothing of another one.  So instead of cutting every group into ranges of rows, with
 * all threads waiting for each other after every group, the tasks are dealt to lanes, one per
 * thread, which run through all levels by themselves; what a lane has written stays in the cache of
 * its core.
 *
 * Light tasks, such as the sums of losses, belong to no lane.  Phases alternate: light tasks that
 * wait for nothing, heavy tasks, light tasks that wait for these, and so on.  Heavy tasks of a
 * phase that are connected are one component and stay in one lane; a light task that waits for one
 * component alone goes with it.  The components of a phase are dealt by cost, the largest first, to
 * the lane that has least: a lane that has done more than others of one phase has no less of the
 * next one, since they wait for each other in between.  All of this is decided by the tasks and the
 * thread count alone, so results do not depend on timing.  Tasks of one component, or of costs that
 * differ too much, are left to ranges of rows.  So are products by a weight that no cache holds,
 * which every lane would read for itself at every level.
 */
#include "config.h"

#include <stdlib.h>

#include "exec/schedule/early.h"
#include "exec/schedule/group.h"
#include "exec/schedule/schedule.h"
#include "exec/store/store.h"
#include "graph/base/status.h"

enum {
    HEAVY = 1 << 16,     /* elements of work of all tasks of a specialisation that make it heavy */
    LANE_COST = 1 << 17, /* elements of work that a lane should have */
    MAX_PHASES = 2 * 8   /* more are run better group by group */
};

typedef struct component {
    uint64_t cost;
    uint32_t root; /* its first task */
} component;

typedef struct jn_dealing {
    jn_task **task;
    const uint32_t *deps;
    uint32_t n, lanes, phases;
    uint64_t wide;  /* cost of the tasks that lanes would slow down */
    uint32_t from;  /* the first ones are run, or a worker has them */
    uint32_t first; /* so many of them when it started */
    bool early;     /* it has them: one component with what hangs on them */
    uint32_t given; /* the first one that it has */
    uint64_t early_cost;
    /* per task */
    uint32_t *parent; /* union-find over heavy ones */
    uint32_t *phase;
    uint32_t *lane; /* of a root */
    uint64_t *cost; /* of a root */
    component *component;
    uint32_t n_components;
    jn_task **sorted; /* by phase and lane */
    uint32_t *start;  /* per phase and lane */
} dealing;

void jn_tasks_count(jn_task *const *task, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        task[i]->inst->count.n = 0;
    for (uint32_t i = 0; i < n; i++)
        task[i]->inst->count.n++;
}

bool jn_task_heavy(const jn_task *t) {
    return (uint64_t)t->inst->row_cost * t->inst->count.n >= HEAVY;
}

static uint32_t find(uint32_t *parent, uint32_t i) {
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* The earlier one becomes the root. */
static void join(uint32_t *parent, uint32_t a, uint32_t b) {
    a = find(parent, a);
    b = find(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

/* Whether what another task waits for is still to be run, in a lane. */
static bool to_run(const dealing *d, uint32_t p) { return p >= d->from || d->early; }

/* The last phase in which a task waits for something; 0 also where it waits for nothing. */
static uint32_t last_phase(const dealing *d, const jn_task *t) {
    uint32_t last = 0;
    for (uint32_t k = 0; k < t->n_deps; k++) {
        uint32_t p = d->deps[t->first_dep + k];
        if (to_run(d, p) && d->phase[p] > last)
            last = d->phase[p];
    }
    return last;
}

/* Are all tasks of the last phase that a light task waits for of one component? */
static bool adopted(const dealing *d, const jn_task *t, uint32_t last) {
    uint32_t owner = UINT32_MAX;
    if (!(last & 1))
        return false;
    for (uint32_t k = 0; k < t->n_deps; k++) {
        uint32_t p = d->deps[t->first_dep + k];
        if (!to_run(d, p) || d->phase[p] < last)
            continue;
        uint32_t root = find(d->parent, p);
        if (owner != UINT32_MAX && root != owner)
            return false;
        owner = root;
    }
    return owner != UINT32_MAX;
}

/* Heavy tasks have odd phases, light ones even phases. */
static void find_components(dealing *d) {
    jn_tasks_count(d->task, d->n);
    d->given = d->from;
    for (uint32_t i = d->from; i-- > 0;)
        if (!d->task[i]->done)
            d->given = i;
    for (uint32_t i = 0; i < d->from; i++) {
        d->parent[i] = d->task[i]->done ? i : d->given;
        d->phase[i] = !d->task[i]->done;
    }
    d->phases = d->early ? 2 : 0;
    for (uint32_t i = d->from; i < d->n; i++) {
        const jn_task *t = d->task[i];
        uint32_t last = last_phase(d, t);
        bool heavy = jn_task_heavy(t) || adopted(d, t, last);
        uint32_t phase = last + ((last & 1) != heavy);
        d->parent[i] = i;
        for (uint32_t k = 0; heavy && phase == last && k < t->n_deps; k++) {
            uint32_t p = d->deps[t->first_dep + k];
            if (to_run(d, p) && d->phase[p] == phase)
                join(d->parent, i, p);
        }
        d->phase[i] = phase;
        if (phase >= d->phases)
            d->phases = phase + 1;
    }
    for (uint32_t i = d->early ? 0 : d->from; i < d->n; i++) {
        if (!(d->phase[i] & 1))
            continue;
        uint32_t root = find(d->parent, i);
        if (d->cost[root] == 0)
            d->component[d->n_components++].root = root;
        d->cost[root] += d->task[i]->inst->row_cost;
        d->early_cost += i < d->from ? d->task[i]->inst->row_cost : 0;
        d->wide += d->task[i]->inst->wide ? d->task[i]->inst->row_cost : 0;
    }
}

static int dearest_first(const void *pa, const void *pb) {
    const component *a = pa, *b = pb;
    if (a->cost != b->cost)
        return a->cost < b->cost ? 1 : -1;
    return a->root < b->root ? -1 : a->root > b->root;
}

/* Deals the components to lanes; false if that does not make lanes of about equal cost. */
static bool deal(dealing *d, uint32_t threads) {
    uint64_t total = 0, all = 0, load[MAX_PHASES][JN_MAX_RANGES] = {0};
    for (uint32_t c = 0; c < d->n_components; c++)
        total += d->component[c].cost = d->cost[d->component[c].root];
    d->lanes = threads < JN_MAX_RANGES ? threads : JN_MAX_RANGES;
    if (d->lanes > total / LANE_COST)
        d->lanes = (uint32_t)(total / LANE_COST);
    if (d->lanes < 2 || d->n_components < d->lanes || d->wide > total / 2)
        return false;
    bool sorted = true;
    for (uint32_t c = 1; c < d->n_components && sorted; c++)
        sorted = dearest_first(&d->component[c - 1], &d->component[c]) < 0;
    if (!sorted)
        qsort(d->component, d->n_components, sizeof *d->component, dearest_first);
    if (d->early && d->given < d->from) {
        uint64_t ahead = JN_ISSUE_COST * (uint64_t)(d->n - d->first);
        load[1][1] = d->cost[d->given] - (ahead < d->early_cost ? ahead : d->early_cost);
        total -= d->cost[d->given] - load[1][1];
        d->lane[d->given] = 1;
    }
    for (uint32_t c = 0; c < d->n_components; c++) {
        if (d->given < d->from && d->component[c].root == d->given)
            continue;
        uint64_t *lane = load[d->phase[d->component[c].root]];
        uint32_t best = 0;
        for (uint32_t l = 1; l < d->lanes; l++)
            if (lane[l] < lane[best])
                best = l;
        lane[best] += d->component[c].cost;
        d->lane[d->component[c].root] = best;
    }
    for (uint32_t p = 1; p < d->phases; p += 2) { /* each ends when its last lane does */
        uint64_t most = 0;
        for (uint32_t l = 0; l < d->lanes; l++)
            most = load[p][l] > most ? load[p][l] : most;
        all += most;
    }
    return all <= total / d->lanes * 5 / 4;
}

/* Sorts by phase and lane, in issue order; light tasks are lane 0's. */
static void sort(dealing *d) {
    size_t keys = (size_t)d->phases * d->lanes;
    for (uint32_t i = d->from; i < d->n; i++) {
        uint32_t lane = d->phase[i] & 1 ? d->lane[find(d->parent, i)] : 0;
        d->phase[i] = d->phase[i] * d->lanes + lane;
    }
    for (uint32_t i = d->from; i < d->n; i++)
        d->start[d->phase[i] + 1]++;
    for (size_t k = 0; k < keys; k++)
        d->start[k + 1] += d->start[k];
    for (uint32_t i = d->from; i < d->n; i++)
        d->sorted[d->start[d->phase[i]]++] = d->task[i];
    for (size_t k = keys; k > 0; k--)
        d->start[k] = d->start[k - 1];
    d->start[0] = 0;
}

/* ---- running -----------------------------------------------------------------------------------
 */

typedef struct lane_job {
    pthread_t caller;
    jn_lane_tasks lane[]; /* with errors of 2 KB each, which are not touched */
} lane_job;

static void run_lanes(void *arg, int64_t begin, int64_t end) {
    lane_job *j = arg;
    for (int64_t k = begin; k < end; k++) {
        j->lane[k].lane.polls = pthread_equal(pthread_self(), j->caller) != 0;
        jn_lane_tasks_run(&j->lane[k]);
    }
}

/* A phase of heavy tasks. */
static janus_status run_phase(jn_run *r, const dealing *d, uint32_t phase) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    atomic_bool stop = false;
    lane_job *j = jn_alloc(sizeof *j + d->lanes * sizeof j->lane[0]);
    if (!j)
        return JN_NO_MEMORY();
    const uint32_t *start = d->start + (size_t)phase * d->lanes;
    for (uint32_t k = 0; k < d->lanes; k++) {
        j->lane[k].lane = (jn_lane){.run = r, .index = k, .lock = &lock, .stop = &stop};
        j->lane[k].task = d->sorted + start[k];
        j->lane[k].n = start[k + 1] - start[k];
        j->lane[k].st = JANUS_OK;
    }
    j->caller = pthread_self();
    janus_status st = JANUS_OK;
    if (r->of_schedule.early) {
        j->lane[0].lane.polls = true;
        st = jn_early_go_on(r, j->lane, d->lanes);
    } else {
        jn_tile_lend(r, d->lanes);
        jn_parallel_for(d->lanes, 1, run_lanes, j);
    }
    for (uint32_t k = 0; k < d->lanes; k++) {
        jn_lane_count(&j->lane[k].lane);
        if (st != JANUS_OK || j->lane[k].st == JANUS_OK || j->lane[k].lane.stopped)
            continue;
        st = j->lane[k].st;
        jn_error_publish(&j->lane[k].error);
    }
    jn_free(j);
    return st;
}

static janus_status run_phases(jn_run *r, const dealing *d) {
    janus_status st = JANUS_OK;
    for (uint32_t p = 0; p < d->phases && st == JANUS_OK; p++) {
        if (p & 1) {
            st = jn_run_poll(r);
            if (st == JANUS_OK)
                st = run_phase(r, d, p);
            continue;
        }
        jn_lane alone = {.run = r, .polls = true};
        jn_early_beside(r->of_schedule.early, &alone);
        const uint32_t *start = d->start + (size_t)p * d->lanes;
        st = jn_levels_run(&alone, d->sorted + start[0], start[1] - start[0]);
        jn_lane_count(&alone);
    }
    return st;
}

/* Finds lanes; false if there are none. */
static janus_status find_lanes(dealing *d, uint32_t threads, bool *found) {
    uint32_t n = d->n;
    *found = false;
    d->parent = jn_alloc((size_t)n * 3 * sizeof *d->parent);
    d->cost = jn_calloc(n, sizeof *d->cost);
    d->component = jn_alloc((size_t)n * sizeof *d->component);
    if (!d->parent || !d->cost || !d->component)
        return JN_NO_MEMORY();
    d->phase = d->parent + n;
    d->lane = d->phase + n;
    find_components(d);
    if (d->phases > MAX_PHASES || !deal(d, threads))
        return JANUS_OK;
    d->sorted = jn_alloc((size_t)n * sizeof *d->sorted);
    d->start = jn_calloc((size_t)d->phases * d->lanes + 2, sizeof *d->start);
    if (!d->sorted || !d->start)
        return JN_NO_MEMORY();
    sort(d);
    *found = true;
    return JANUS_OK;
}

static void drop(dealing *d) {
    jn_free(d->parent);
    jn_free(d->cost);
    jn_free(d->component);
    jn_free(d->sorted);
    jn_free(d->start);
}

void jn_lanes_drop(jn_window *w) {
    if (w->dealing)
        drop(w->dealing);
    jn_free(w->dealing);
    w->dealing = NULL;
}

janus_status jn_lanes_deal(jn_run *r, jn_window *w) {
    uint32_t threads = jn_early_threads(r->of_schedule.early);
    bool found = false;
    if (threads < 2 || jn_par_inside() || !r->on->lanes)
        return JANUS_OK;
    dealing *d = w->dealing = jn_alloc(sizeof *d);
    if (!d)
        return JN_NO_MEMORY();
    *d = (dealing){.task = w->task,
                   .deps = w->deps,
                   .n = w->n,
                   .from = w->from,
                   .first = jn_early_first(r->of_schedule.early),
                   .early = r->of_schedule.early};
    JN_TRY(find_lanes(d, threads, &found));
    if (!found && d->early) { /* too much hangs on what the worker has */
        drop(d);
        *d = (dealing){.task = w->task, .deps = w->deps, .n = w->n, .from = w->from};
        JN_TRY(jn_early_join(r));
        JN_TRY(find_lanes(d, threads, &found));
    }
    if (found)
        w->dealt = (jn_dealt){d->deps, d->task, d->sorted, d->phase, d->start,
                              d->n,    d->from, d->phases, d->lanes};
    return JANUS_OK;
}

janus_status jn_lanes_run(jn_run *r, const jn_window *w) {
    if (r->stats.lanes < w->dealt.lanes)
        r->stats.lanes = w->dealt.lanes;
    return run_phases(r, w->dealing);
}
