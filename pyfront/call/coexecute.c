/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rung of co-execution: a call whose ops are recorded, and whether that pays.
 *
 * What is recorded runs when the outermost such call ends.  Recording an op costs about what
 * running a small one costs, so it pays where many run in groups.  As soon as a flush finds too few
 * groups nothing more is recorded: ops run at once, and of co-execution there remain the trace
 * graphs of backward() (pyfront/backward/stretch.h).
 *
 * Of a function with enough ops a call that has run for a while, some calls are tried: co-executed
 * and imperative ones come in turn, in processor time for each op that the program calls, and the
 * fastest of each decide; a rung that does not pay is not tried again for many calls, ever more of
 * them.  Calls inside a co-executed one record with it and are not timed.
 */
#include "config.h"

#include "pyfront/backward/backward.h"
#include "pyfront/call/ladder.h"

#include <stdlib.h>
#include <string.h>

#include "pyfront/call/policy.h"
#include "pyfront/tape/tape.h"

/* ---- the trial ---------------------------------------------------------------------------------
 */

enum {
    PLAIN_FIRST = 4,          /* imperative calls, which make what all calls need */
    FEW_OPS = 8,              /* below so many a call there is little to gain */
    FIRST_TRIAL_NS = 1000000, /* of imperative calls, */
    FIRST_TRIAL_CALLS = 20,   /* and so many: what a trial makes first (kinds of calls, groups,
                                 trace graphs) takes about as long as four of them */
    LOOK_AFTER = 64,          /* recorded ops: then a flush tells how many run in groups */
    FEW_ROWS = 6, /* of a group, on average: fewer cost more than the calls one by one */
    WARM_AT_ONCE =
        3,          /* calls, after which trace graphs are there; more where histories still come */
    MOST_WARM = 15, /* for the first time, which are other graphs in other calls */
    FIRST_REST = 256,
    MORE_REST = 8
};
/* After the first calls; `r`, once or several times, makes kinds of calls and trace graphs and is
 * not timed.  Twice in either order: what drifts, or comes every other call, meets both. */
static const char turns[] = "rprrpprrp";
/* What is slow is told by two calls at least: the collector may have run in one. */
enum { WARM = PLAIN_FIRST, FIRST_LOOK = PLAIN_FIRST + 3, LAST = PLAIN_FIRST + sizeof turns - 2 };
enum { PAYS = LAST + 1 };

/* A call of this thread of which it is not known yet whether its ops make groups, and what had been
 * recorded when it began. */
typedef struct looked_at {
    const jn_deferral *of;
    jn_deferral_stats since;
    bool few; /* they do not */
} looked_at;
static _Thread_local looked_at probe;

/* Whether not enough of what was recorded since then, `least` ops or more, has run in groups. */
static bool few_groups(jn_deferral *d, const jn_deferral_stats *b, unsigned least) {
    jn_deferral_stats s;
    jn_deferral_stats_get(d, &s);
    uint64_t grouped = s.grouped - b->grouped + s.back_grouped - b->back_grouped;
    uint64_t groups = s.groups - b->groups + s.back_groups - b->back_groups;
    uint64_t all =
        s.recorded - b->recorded + s.back_grouped - b->back_grouped + s.back_alone - b->back_alone;
    return s.recorded - b->recorded >= least && (grouped * 3 < all || grouped < groups * FEW_ROWS);
}

/* The rest of a call is not worth recording. */
static void flushed(jn_deferral *d) {
    if (d != probe.of || d != jn_deferring || !few_groups(d, &probe.since, LOOK_AFTER))
        return;
    probe.few = true;
    jpy_recording_at_once();
}

/* Ops that the program has called on this thread; those of backward() are not its own, and differ
 * where they run in groups. */
static uint64_t ops_called(void) { return jn_ops_run.eager + jn_ops_run.graph - jpy_backward_ops; }

static bool measures(const jpy_function *f) {
    return f->measure && f->ladder & JPY_RUNG_IMPERATIVE;
}

static void keep_least(double *least, double ns) {
    if (*least <= 0 || ns < *least)
        *least = ns;
}

static void rest(jpy_function *f, const char *why) {
    jpy_coexecution *c = &f->together;
    if (c->ns > 0)
        jpy_note(f, "not co-executed: %s (%.0f ns an op, %.0f ns imperatively)", why, c->ns,
                 c->plain_ns);
    else
        jpy_note(f, "not co-executed: %s", why);
    c->rest_length = c->rest_length ? c->rest_length * MORE_REST : FIRST_REST;
    c->rest = c->rest_length;
    c->turn = WARM - 1; /* first whether calls have more ops by then */
    c->warm = 0;
    c->at_once = false;
    c->plain_ns = c->ns = 0;
}

/* Groups do not pay, but ops that run at once may, with trace graphs. */
static void run_at_once(jpy_function *f, const char *why) {
    jpy_coexecution *c = &f->together;
    jpy_note(f, "co-executed with its ops run at once: %s", why);
    c->at_once = true;
    c->warm = MOST_WARM;
    if (c->turn > WARM && c->turn < PAYS) { /* the trial begins again */
        c->turn = WARM;
        c->plain_ns = c->ns = 0;
    }
}

/* A call of the trial is over; of the histories in it `learns`: many came for the first time. */
static void look(jpy_function *f, bool together, bool learns, int64_t ns, uint64_t ops) {
    jpy_coexecution *c = &f->together;
    if (ops < FEW_OPS) {
        rest(f, "a call has few ops");
        return;
    }
    if (together && c->warm) {
        c->warm--; /* and once more */
        if (!learns && c->warm <= MOST_WARM - WARM_AT_ONCE)
            c->warm = 0;
        return;
    }
    if (c->turn > WARM)
        keep_least(together ? &c->ns : &c->plain_ns, (double)ns / (double)ops);
    double much = c->at_once ? 1.5 : 1.15; /* groups may be far slower; trace graphs seldom are */
    bool slower = c->turn >= FIRST_LOOK && c->ns > c->plain_ns * (c->turn < LAST ? much : 0.97);
    if (slower && !c->at_once && !f->exact)
        run_at_once(f, "groups are slower");
    else if (slower)
        rest(f, "it is slower");
    else
        c->turn++;
}

/* ---- a call ------------------------------------------------------------------------------------
 */

/* JANUS_AT_ONCE=1, for tests: no op is recorded. */
static bool none_recorded(void) {
    const char *env = getenv("JANUS_AT_ONCE");
    return env && strcmp(env, "1") == 0;
}

/* JANUS_FLUSH_EVERY=n, for tests: what is recorded runs after every n-th op. */
static unsigned flush_every(void) {
    const char *env = getenv("JANUS_FLUSH_EVERY");
    long n = env ? strtol(env, NULL, 10) : 0;
    return n > 0 && n < 1 << 30 ? (unsigned)n : 0;
}

/* Runs what is left.  If that fails it stays recorded, and whoever asks for a value tries again;
 * a call that has returned says so. */
static PyObject *finish(jn_deferral *d, PyObject *result) {
    if (!result) { /* its exception stands */
        PyObject *type, *value, *tb;
        PyErr_Fetch(&type, &value, &tb);
        if (jpy_check(jn_deferral_flush(d)) < 0)
            PyErr_Clear();
        PyErr_Restore(type, value, tb);
    } else if (jpy_check(jn_deferral_flush(d)) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

/* That of f, or, where it is in use, one for this call; a reference, NULL: out of memory. */
static jn_deferral *deferral_of(jpy_function *f, bool shared) {
    jn_deferral_options o = {.exact = f->exact, .calls = flush_every(), .flushed = flushed};
    if (!shared)
        return jn_deferral_new(&o);
    if (!f->together.deferral)
        f->together.deferral = jn_deferral_new(&o);
    if (f->together.deferral)
        jn_deferral_retain(f->together.deferral);
    return f->together.deferral;
}

static PyObject *imperatively(jpy_function *f, jpy_run_plain run, PyObject *const *args,
                              size_t nargsf, PyObject *kwnames) {
    f->imperative++;
    return run(f, args, nargsf, kwnames);
}

static PyObject *recorded(jpy_function *f, jn_deferral *d, jpy_run_plain run, PyObject *const *args,
                          size_t nargsf, PyObject *kwnames) {
    jpy_recording *r = d ? jpy_recording_begin(d) : NULL;
    if (!r) /* out of memory: the call may do without */
        return imperatively(f, run, args, nargsf, kwnames);
    jpy_coexecution *c = &f->together;
    looked_at outer = probe;
    c->calls++;
    probe.of = c->at_once || f->exact ? NULL : d;
    probe.few = false;
    if (c->at_once || (!f->exact && none_recorded()))
        jpy_recording_at_once();
    else
        jn_deferral_stats_get(d, &probe.since);
    PyObject *result = run(f, args, nargsf, kwnames);
    jpy_recording_end(r);
    result = finish(d, result);
    unsigned least = measures(f) ? FEW_OPS : LOOK_AFTER;
    if (!c->at_once && (probe.few || (probe.of && few_groups(d, &probe.since, least))))
        run_at_once(f, "few of them can run in groups");
    probe = outer;
    return result;
}

/* A call that belongs to the trial. */
static PyObject *tried(jpy_function *f, jn_deferral *d, jpy_run_plain run, PyObject *const *args,
                       size_t nargsf, PyObject *kwnames) {
    jpy_coexecution *c = &f->together;
    unsigned turn = c->turn;
    bool together = turn >= WARM && turns[turn - WARM] == 'r';
    jn_deferral_stats since, now;
    jn_deferral_stats_get(d, &since);
    uint64_t ops = ops_called(), new = jpy_stretches_new;
    int64_t start = jpy_processor_ns();
    PyObject *r = together ? recorded(f, d, run, args, nargsf, kwnames)
                           : imperatively(f, run, args, nargsf, kwnames);
    int64_t ns = jpy_processor_ns() - start;
    ops = ops_called() - ops;
    new = jpy_stretches_new - new;
    jn_deferral_stats_get(d, &now);
    bool learns = new * 4 > now.traces - since.traces + new;
    if (together && f->exact && few_groups(d, &since, LOOK_AFTER))
        rest(f, "few ops can run in groups");
    else if (r && c->turn == turn)
        look(f, together, learns, ns, ops);
    return r;
}

PyObject *jpy_below_graphs(jpy_function *f, jpy_run_plain run, PyObject *const *args, size_t nargsf,
                           PyObject *kwnames) {
    jpy_coexecution *c = &f->together;
    if (!(f->ladder & JPY_RUNG_COEXECUTION) ||
        (f->ladder & JPY_RUNG_GRAPH && !f->refused && !f->next_try && !f->rest))
        return imperatively(f, run, args, nargsf, kwnames); /* graphs are to come */
    const jn_deferral *outer = jn_deferring ? jn_deferring : jn_tracing;
    if (outer && jn_deferral_exact(outer) == f->exact) {
        c->calls++; /* who records already decides when that runs */
        return run(f, args, nargsf, kwnames);
    }
    bool trial = measures(f) && c->turn < PAYS;
    bool early = !f->rest && (f->plain_ns < FIRST_TRIAL_NS || f->imperative < FIRST_TRIAL_CALLS);
    if (trial && (early || c->rest || c->busy)) {
        c->rest -= c->rest > 0;
        return imperatively(f, run, args, nargsf, kwnames);
    }
    bool mine = !c->busy;
    jn_deferral *d = deferral_of(f, mine);
    c->busy = true;
    PyObject *r = (trial ? tried : recorded)(f, d, run, args, nargsf, kwnames);
    if (mine)
        c->busy = false;
    jn_deferral_release(d);
    return r;
}

int jpy_coexecution_stats(const jpy_function *f, PyObject *stats) {
    jn_deferral_stats s = {0};
    if (f->together.deferral)
        jn_deferral_stats_get(f->together.deferral, &s);
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {{"coexecution", f->together.calls},
                  {"recorded", s.recorded},
                  {"flushes", s.flushes},
                  {"grouped", s.grouped + s.back_grouped},
                  {"groups", s.groups + s.back_groups},
                  {"traces", s.traces},
                  {"traced", s.traced}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        PyObject *n = PyLong_FromUnsignedLongLong(counts[i].value);
        int bad = n ? PyDict_SetItemString(stats, counts[i].name, n) : -1;
        Py_XDECREF(n);
        if (bad < 0)
            return -1;
    }
    return 0;
}
