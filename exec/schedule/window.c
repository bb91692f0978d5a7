/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of a window between the passes of the schedule, and its text. */
#include "config.h"

#include "exec/schedule/schedule.h"

#include "graph/base/log.h"
#include "graph/base/status.h"
#include "graph/base/str.h"

static janus_status broken(const char *pass, uint32_t i, const char *what) {
    return jn_error(JANUS_INTERNAL, "after %s, task %u of the window: %s", pass, i, what);
}

/* A promise that the task reads: NULL, or what is wrong with it. */
static const char *input_problem(const jn_window *w, const jn_task *t, const jn_tval *v) {
    const jn_task *p = v->task;
    if (!p)
        return NULL;
    if (p->id >= w->n || w->task[p->id] != p)
        return p->done ? NULL : "it reads what a task outside of the window promises";
    for (uint32_t k = 0; k < t->n_deps; k++)
        if (w->deps[t->first_dep + k] == p->id)
            return NULL;
    /* a worker may have run it before this one was issued */
    return p->id < w->from ? NULL : "it does not wait for the task that promises an input";
}

static const char *task_problem(const jn_window *w, uint32_t i) {
    const jn_task *t = w->task[i];
    if (t->id != i)
        return "its number is not its place";
    if (i < w->from)
        return NULL;
    if (t->done)
        return "it has run";
    if (t->level > w->max_level)
        return "its level is above the highest";
    if ((size_t)t->first_dep + t->n_deps > w->n_deps)
        return "it waits for more than is written down";
    for (uint32_t k = 0; k < t->n_deps; k++) {
        uint32_t p = w->deps[t->first_dep + k];
        if (p >= i)
            return "it waits for itself or a later one";
        if (w->task[p]->level >= t->level)
            return "it waits for one of its own level or a higher one";
    }
    const jn_segment *seg = t->inst->seg;
    for (uint32_t k = 0; k < seg->n_inputs; k++) {
        if (t->in[k]->shape != t->inst->in[k])
            return "an input has another shape than it is specialised for";
        const char *what = input_problem(w, t, t->in[k]);
        if (what)
            return what;
    }
    for (uint32_t k = 0; k < seg->n_outputs; k++)
        if (t->out[k].task != t || t->out[k].shape != t->inst->out[k])
            return "an output is not its promise";
    return NULL;
}

janus_status jn_window_check(const jn_window *w, const char *pass) {
    for (uint32_t i = 0; i < w->n; i++) {
        const char *what = task_problem(w, i);
        if (what)
            return broken(pass, i, what);
    }
    return JANUS_OK;
}

janus_status jn_dealt_check(const jn_dealt *d) {
    uint32_t keys = d->phases * d->lanes, found = 0;
    if (d->start[0] != 0 || d->start[keys] != d->n - d->from)
        return broken("dealing", d->from, "lanes have more or fewer tasks than there are");
    for (uint32_t k = 0; k < keys; k++)
        for (uint32_t at = d->start[k]; at < d->start[k + 1]; at++, found++) {
            uint32_t i = d->sorted[at]->id;
            if (i < d->from || i >= d->n || d->task[i] != d->sorted[at] || d->key[i] != k)
                return broken("dealing", i, "it is in a lane that it was not dealt to");
            if (at > d->start[k] && d->sorted[at - 1]->id >= i)
                return broken("dealing", i, "its lane is not in issue order");
        }
    if (found != d->n - d->from)
        return broken("dealing", d->from, "lanes have more or fewer tasks than there are");
    for (uint32_t i = d->from; i < d->n; i++)
        for (uint32_t k = 0; k < d->task[i]->n_deps; k++) {
            uint32_t p = d->deps[d->task[i]->first_dep + k];
            if (p < d->from)
                continue;
            uint32_t mine = d->key[i] / d->lanes, its = d->key[p] / d->lanes;
            if (its > mine || (its == mine && mine & 1 && d->key[i] != d->key[p]))
                return broken("dealing", i,
                              "it waits for a task of another lane, or a later phase");
        }
    return JANUS_OK;
}

/* ---- text --------------------------------------------------------------------------------------
 */

/* "0-3, 7": numbers in order. */
static void print_ids(jn_str *s, const uint32_t *id, uint32_t n) {
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && id[end] == id[end - 1] + 1;)
            end++;
        jn_str_printf(s, i ? ", %u" : "%u", id[i]);
        if (end - i > 1)
            jn_str_printf(s, "-%u", id[end - 1]);
    }
}

static void print_inst(jn_str *s, const jn_seginst *inst) {
    enum { MOST = 6 };
    const jn_segment *seg = inst->seg;
    jn_str_printf(s, "segment %u (", seg->id);
    for (uint32_t i = 0; i < seg->n_nodes && i <= MOST; i++)
        jn_str_printf(s, i ? ", %s" : "%s", i < MOST ? seg->nodes[i].op->name : "...");
    jn_str_printf(s, ")");
    for (uint32_t i = 0; i < seg->n_outputs; i++) {
        jn_str_printf(s, i ? ", %s[" : " -> %s[", jn_dtype_name((janus_dtype)inst->out[i]->dtype));
        for (int d = 0; d < inst->out[i]->rank; d++)
            jn_str_printf(s, d ? ",%lld" : "%lld", (long long)inst->out[i]->dims[d]);
        jn_str_printf(s, "]");
    }
}

/* Tasks in issue order as they are grouped: level by level, by specialisation, groups in order of
 * their first task. */
static void print_groups(jn_str *s, jn_task *const *task, uint32_t n, uint32_t max_level,
                         uint32_t *id, bool *done) {
    for (uint32_t level = 0; level <= max_level; level++)
        for (uint32_t i = 0; i < n; i++) {
            uint32_t found = 0;
            if (task[i]->level != level || done[task[i]->id])
                continue;
            for (uint32_t k = i; k < n; k++)
                if (task[k]->level == level && task[k]->inst == task[i]->inst) {
                    id[found++] = task[k]->id;
                    done[task[k]->id] = true;
                }
            jn_str_printf(s, "    level %u: ", level);
            print_inst(s, task[i]->inst);
            jn_str_printf(s, " x %u: ", found);
            print_ids(s, id, found);
            jn_str_printf(s, "\n");
        }
}

void jn_window_log(const jn_window *w, const char *of, const char *pass) {
    jn_str s = {0};
    const jn_dealt *d = &w->dealt;
    uint32_t *id = jn_alloc((w->n + 1) * sizeof *id);
    bool *done = jn_calloc(w->n + 1, sizeof *done);
    jn_str_printf(&s, "%s, a window of %u tasks, after %s\n", of, w->n, pass);
    if (w->from)
        jn_str_printf(&s, "  a worker has tasks 0-%u\n", w->from - 1);
    if (w->dealing && !d->lanes)
        jn_str_printf(&s, "  no lanes\n");
    for (uint32_t k = 0; id && done && k < d->phases * d->lanes; k++)
        if (d->start[k + 1] > d->start[k]) {
            jn_str_printf(&s, "  phase %u, lane %u:\n", k / d->lanes, k % d->lanes);
            print_groups(&s, d->sorted + d->start[k], d->start[k + 1] - d->start[k], w->max_level,
                         id, done);
        }
    if (id && done && !d->lanes)
        print_groups(&s, w->task + w->from, w->n - w->from, w->max_level, id, done);
    jn_free(id);
    jn_free(done);
    if (jn_str_ok(&s) && s.data)
        jn_log(JN_LOG_SCHEDULE, "%.*s", (int)s.n - 1, s.data);
    jn_str_free(&s);
}
