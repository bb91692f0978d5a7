/* SPDX-License-Identifier: Apache-2.0 */
/* When a graph that was compared is compared once more: see later.h. */
#include "pyfront/run/later.h"

#include <unistd.h>

enum {
    FIRST = 16,           /* runs before the first one */
    SHARE = 100,          /* they cost less than this part of what graphs have run for */
    MEMORY_SHARE = 4,     /* and need less than this part of what is free, ... */
    FEW_BYTES = 64 << 20, /* ... or not more than this */
    PER_LEVEL = 4         /* of Python's frames, at most, that a call of a SubGraph stands for */
};

jpy_later_sum jpy_later_all;

static uint64_t spent_running(const jpy_function *f) { return f->run.host_ns + f->run.tensor_ns; }

/* Whether CPython can be expected to come to its end: the stack is as deep as calls are nested,
 * which nobody counts; they are not more than there are. */
static bool is_no_larger(const jpy_later *x, const janus_run_stats *s) {
    uint64_t enough = (uint64_t)Py_GetRecursionLimit() / PER_LEVEL;
    return s->invokes <= enough || s->invokes <= x->invokes;
}

static bool memory_suffices(const jpy_later *x) {
    if (x->bytes <= FEW_BYTES)
        return true;
    long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 && x->bytes / (uint64_t)page < (uint64_t)pages / MEMORY_SHARE;
}

bool jpy_later_due(const jpy_function *f, jpy_entry *e, const jn_run *r) {
    jpy_later *x = &e->later;
    janus_run_stats s = {0};
    jn_run_stats_get(r, &s);
    if (!is_no_larger(x, &s) || !memory_suffices(x)) {
        x->due = e->runs + 1 + e->runs / FIRST;
        return false;
    }
    double cost = (double)x->ns;
    if (x->instructions)
        cost = cost / (double)x->instructions * (double)s.instructions;
    double needed = ((double)f->later_ns + cost) * SHARE, had = (double)spent_running(f);
    if (needed <= had) {
        x->now = true;
        x->since = jn_run_clock() - (int64_t)(s.host_ns + s.tensor_ns);
        return true;
    }
    double runs = (needed - had) / (had / (double)(f->graph + 1) + 1), most = (double)e->runs;
    x->due = e->runs + 1 + (uint64_t)(runs < most ? runs : most);
    return false;
}

void jpy_later_begins(jpy_entry *e) {
    if (!e->later.now) /* else the run that was in vain is part of it */
        e->later.since = jn_run_clock();
}

/* The same work took the graph and CPython so many ops, which a trial asks for. */
static void keep_ops(jpy_trial *t, uint64_t graph, uint64_t plain) {
    if (!graph || !plain)
        return;
    double ratio = (double)graph / (double)plain;
    t->least = t->most > 0 && t->least < ratio ? t->least : ratio;
    t->most = t->most > ratio ? t->most : ratio;
}

void jpy_later_ends(jpy_function *f, jpy_entry *e, const janus_run_stats *s, size_t copied,
                    uint64_t ops) {
    jpy_later *x = &e->later;
    keep_ops(&e->trial, s->ops, ops);
    x->ns = (uint64_t)(jn_run_clock() - x->since);
    x->instructions = s->instructions;
    x->invokes = s->invokes > x->invokes ? s->invokes : x->invokes;
    x->bytes = copied + s->peak_bytes;
    *(x->now ? &f->later_ns : &f->first_ns) += x->ns;
    *(x->now ? &jpy_later_all.later_ns : &jpy_later_all.first_ns) += x->ns;
    *(x->now ? &jpy_later_all.later : &jpy_later_all.first) += 1;
    f->later += x->now;
}

void jpy_later_agreed(jpy_entry *e) { e->later.due = e->runs < FIRST ? FIRST : 2 * e->runs; }
