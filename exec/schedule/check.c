/* SPDX-License-Identifier: Apache-2.0 */
/* What holds between the passes of the schedule. */
#include "config.h"

#include "exec/schedule/schedule.h"

#include "graph/base/status.h"

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
