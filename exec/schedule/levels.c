/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Levels: which tasks run together.
 *
 * Tasks of one level are independent, and those of one specialisation run as one group.  A task is
 * issued with the earliest level it can have.  For a sum over leaves, which nothing waits for, that
 * may be any level: the gradients of leaves at every depth of a tree are one group when all of them
 * wait for the deepest.  So the tasks of a specialisation get the latest level they can have where
 * that gives fewer groups.
 */
#include "config.h"

#include <string.h>

#include <stdlib.h>

#include "exec/schedule/schedule.h"
#include "exec/state/state.h"
#include "graph/base/status.h"

/* Sorts by level, stably; start[l], of max_level + 2, becomes where level l ends. */
static void by_level(jn_task *const *task, const uint32_t *level, uint32_t n, uint32_t max_level,
                     uint32_t *start, jn_task **out) {
    for (uint32_t l = 0; l <= max_level + 1; l++)
        start[l] = 0;
    for (uint32_t i = 0; i < n; i++)
        start[level[i] + 1]++;
    for (uint32_t l = 0; l <= max_level; l++)
        start[l + 1] += start[l];
    for (uint32_t i = 0; i < n; i++)
        out[start[level[i]]++] = task[i];
}

/* ---- late tasks --------------------------------------------------------------------------------
 */

/* The latest level of every task; with `keep` only those that gain by it leave theirs. */
static void latest(const jn_run *r, jn_task *const *task, uint32_t n, uint32_t max_level, bool keep,
                   uint32_t *level) {
    for (uint32_t i = 0; i < n; i++)
        level[i] = max_level;
    for (uint32_t i = n; i-- > 0;) {
        const jn_task *t = task[i];
        if (keep && t->inst->count.late >= t->inst->count.early)
            level[i] = t->level;
        const uint32_t *dep = r->of_schedule.deps.data + t->first_dep;
        for (uint32_t k = 0; k < t->n_deps; k++)
            if (level[dep[k]] >= level[i])
                level[dep[k]] = level[i] - 1;
    }
}

/* Counts the levels at which each specialisation has tasks. */
static void count_groups(jn_task *const *sorted, const uint32_t *level, uint32_t n, bool late) {
    for (uint32_t i = 0; i < n; i++)
        sorted[i]->inst->count.stamp = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        jn_seginst *inst = sorted[i]->inst;
        uint32_t at = level[sorted[i]->id];
        if (inst->count.stamp == at)
            continue;
        inst->count.stamp = at;
        if (late)
            inst->count.late++;
        else
            inst->count.early++;
    }
}

/* Whether the tasks of each specialisation have one level: there can be no fewer groups. */
static bool one_level_each(jn_task *const *task, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        task[i]->inst->count.stamp = task[i]->level;
    for (uint32_t i = 0; i < n; i++)
        if (task[i]->inst->count.stamp != task[i]->level)
            return false;
    return true;
}

/* Whether some specialisation has fewer groups late. */
static bool some_gain(jn_task *const *task, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (task[i]->inst->count.late < task[i]->inst->count.early)
            return true;
    return false;
}

janus_status jn_levels_late(jn_run *r, jn_window *w) {
    jn_task **task = w->task;
    uint32_t n = w->n, max_level = w->max_level;
    if (one_level_each(task, n))
        return JANUS_OK;
    uint32_t *level = jn_alloc((size_t)n * sizeof *level);
    uint32_t *late = jn_alloc((size_t)n * sizeof *late);
    uint32_t *start = jn_alloc(((size_t)max_level + 2) * sizeof *start);
    jn_task **sorted = jn_alloc((size_t)n * sizeof *sorted);
    janus_status st = JANUS_OK;
    if (!level || !late || !start || !sorted) {
        st = JN_NO_MEMORY();
        goto done;
    }
    for (uint32_t i = 0; i < n; i++) {
        level[i] = task[i]->level;
        task[i]->inst->count.early = task[i]->inst->count.late = 0;
    }
    by_level(task, level, n, max_level, start, sorted);
    count_groups(sorted, level, n, false);
    latest(r, task, n, max_level, false, late);
    by_level(task, late, n, max_level, start, sorted);
    count_groups(sorted, late, n, true);
    if (!some_gain(task, n))
        goto done;
    latest(r, task, n, max_level, true, late);
    for (uint32_t i = w->from; i < n; i++)
        task[i]->level = late[i];
done:
    jn_free(level);
    jn_free(late);
    jn_free(start);
    jn_free(sorted);
    return st;
}

/* ---- running -----------------------------------------------------------------------------------
 */

static janus_status pause_between(jn_lane *l) {
    if (l->stop && atomic_load_explicit(l->stop, memory_order_relaxed)) {
        l->stopped = true;
        return JANUS_CANCELLED;
    }
    return l->polls ? jn_run_poll(l->run) : JANUS_OK;
}

/* Tasks of one level, in issue order: grouped by specialisation, groups in order of first task. */
static janus_status run_level(jn_lane *l, jn_task **task, uint32_t n, jn_task **grouped) {
    JN_VEC(jn_seginst *) insts = {0};
    janus_status st = JANUS_OK;
    uint32_t alike = 1;
    while (alike < n && task[alike]->inst == task[0]->inst)
        alike++;
    if (alike == n) {
        memcpy(grouped, task, n * sizeof *task);
        JN_TRY(pause_between(l));
        return jn_group_run(l, task[0]->inst, grouped, n);
    }
    for (uint32_t i = 0; i < n && st == JANUS_OK; i++) {
        jn_bucket *b = &task[i]->inst->bucket[l->index];
        if (b->n == 0) {
            b->tail = &b->first;
            if (!jn_vec_push(&insts, task[i]->inst))
                st = JN_NO_MEMORY();
        }
        *b->tail = task[i];
        b->tail = &task[i]->next;
        b->n++;
    }
    for (size_t k = 0; k < insts.n; k++) {
        jn_bucket *b = &insts.data[k]->bucket[l->index];
        jn_task *t = b->first;
        uint32_t rows = b->n;
        for (uint32_t i = 0; i < rows; i++, t = t->next)
            grouped[i] = t;
        b->n = 0;
        if (st == JANUS_OK)
            st = pause_between(l);
        if (st == JANUS_OK)
            st = jn_group_run(l, insts.data[k], grouped, rows);
    }
    jn_vec_free(&insts);
    return st;
}

janus_status jn_levels_run(jn_lane *l, jn_task **task, uint32_t n) {
    uint32_t min = UINT32_MAX, max = 0;
    for (uint32_t i = 0; i < n; i++) {
        min = task[i]->level < min ? task[i]->level : min;
        max = task[i]->level > max ? task[i]->level : max;
    }
    if (n == 0)
        return JANUS_OK;
    enum { FEW = 64 };
    jn_task *few[FEW];
    if (min == max && n <= FEW)
        return run_level(l, task, n, few);
    jn_task **order = jn_alloc(2 * (size_t)n * sizeof *order);
    uint32_t *start = jn_alloc(((size_t)(max - min) + 2) * sizeof *start);
    uint32_t *level = jn_alloc((size_t)n * sizeof *level);
    janus_status st = JANUS_OK;
    if (!order || !start || !level) {
        st = JN_NO_MEMORY();
        goto done;
    }
    for (uint32_t i = 0; i < n; i++)
        level[i] = task[i]->level - min;
    by_level(task, level, n, max - min, start, order);
    for (uint32_t k = 0, at = 0; k <= max - min && st == JANUS_OK; at = start[k], k++)
        if (start[k] > at)
            st = run_level(l, order + at, start[k] - at, order + n);
done:
    jn_free(order);
    jn_free(start);
    jn_free(level);
    return st;
}
