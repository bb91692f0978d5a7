/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy: graphs that do not pay are not used, conversions that lead nowhere become rare.
 *
 * An entry's first runs compile and are not timed.  Then calls that it would take run as a graph
 * and imperatively by turns that have no period (those of Thue and Morse), and the fastest of each
 * are compared: what else the machine does only makes calls slower.  Where calls have different
 * amounts to do it is the time for each op that is compared: shadows (verify/verify.h) tell how
 * many ops of a graph stand for one of CPython's.  Of a graph whose results require grad the
 * forward half is seen only, so for these the time from call to call is compared, too, and where
 * one backward() is of many calls that of many calls together (phases.c).  A function whose entries
 * are all slow runs imperatively for many calls, without looking, before it is tried again.
 *
 * Conversions are paid for by what the function has run: beyond the first ones they cost a tenth of
 * that, what their graphs have run, and a lump that is lent once.  Once it has run for a second all
 * of them, those of its regions and callees included, are to be a tenth of that.
 *
 * What is decided depends on time, and in "fast" numerics a graph rounds in its own way: whoever
 * wants the same bits in every run says measure=False (JANUS_MEASURE=0).
 */
#include "pyfront/call/policy.h"

#include <math.h>
#include <time.h>

#include "exec/eager/eager.h"
#include "pyfront/verify/verify.h"

enum {
    WARM_RUNS = 2,
    FIRST_RUNS = 2,  /* timed, one of each: enough where CPython's takes long, and far longer */
    FEW_RUNS = 4,    /* enough where the one is much faster */
    FEW_LARGEST = 4, /* of calls that differ, as few of the largest do not say what these take */
    TIMED_RUNS = 16, /* of both kinds together ... */
    NEAR_RUNS = 64,  /* ... and where these do not tell, by chance or for their being the first */
    IDLE_RUNS = 64,  /* of a skeleton, in which no tensor op ran: not timed */
    COLD_RUNS = 16,  /* in which something was converted, compared or compiled: not timed */
    FIRST_REST = 1000,
    MANY_IN_VAIN = 64,
    FEW_MET = 4,        /* calls that a slow entry took before some are not asked about it ... */
    MOST_UNLOOKED = 32, /* ... and how many are not, at most, for one that is */
    A_HIT = 4,          /* as many calls in vain as one that paid makes up for */
    FIRST_PAID = 1000,  /* calls, after which what paid is compared again */
    MAX_BACKOFF = 1 << 16,
    FREE_CONVERSIONS = 2,
    REFUSALS = 2,
    CONVERT_SHARE = 10,
    A_LUMP_NS = 50000000,
    SMALL_NS = 5000000,
    BEGINNING_NS = 1000000000, /* of what a function runs: what is lent once is for it */
    PATIENCE = 32, /* what was refused again and again runs so many times as long before the next */
    LENT_ONCE_NS = 300000000 /* to all regions and callees of a function */
};
/* Numbers of ops that differ by less say that calls have the same to do. */
static const double ALIKE = 1.25;
/* What is found slow is not used for a long time, and a graph's first runs, whatever is new in
 * them, are its slowest: as long as it has run at least, or NEAR_RUNS. */
static const int64_t SLOW_NS = 5000000;
/* What lasts so long is not made so many times as long by what else the machine does. */
static const int64_t LONG_NS = 50000000;
static const double FAR = 4;
static const double NEAR = 1.1;
/* A graph whose calls take a smaller share pays, whatever its gradient takes. */
static const double CLEARLY = 0.4;

/* jpy_py_clock; look 0: none is */
static struct { int64_t eager, graph, look, conversion, shape, looks, conversions; } modelled;

static int64_t by(clockid_t clock) {
    if (JN_UNLIKELY(modelled.look))
        return ++modelled.looks * modelled.look + (int64_t)jn_ops_run.eager * modelled.eager +
               (int64_t)jn_ops_run.graph * modelled.graph +
               modelled.conversions * modelled.conversion +
               (int64_t)jn_ops_run.shapes * modelled.shape;
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t jpy_now(void) { return by(CLOCK_MONOTONIC); }
int64_t jpy_worked(void) { return by(CLOCK_THREAD_CPUTIME_ID); }
int64_t jpy_processor_ns(void) { return by(CLOCK_PROCESS_CPUTIME_ID); }

PyObject *jpy_py_clock(PyObject *module, PyObject *args) {
    (void)module;
    long long eager = 0, graph = 0, look = 0, conversion = 0, shape = 0;
    if (!PyArg_ParseTuple(args, "|LLLLL", &eager, &graph, &look, &conversion, &shape))
        return NULL;
    if (eager < 0 || graph < 0 || look < 0 || conversion < 0 || shape < 0)
        return PyErr_Format(PyExc_ValueError, "_clock: (%lld, %lld, %lld, %lld, %lld) ns", eager,
                            graph, look, conversion, shape);
    modelled.eager = eager, modelled.graph = graph, modelled.look = look;
    modelled.conversion = conversion, modelled.shape = shape;
    return PyLong_FromLongLong(modelled.conversions);
}

static _Thread_local uint64_t conversions, put_off;

/* What this thread has done that calls are to pay for once, or was not allowed to do yet; where one
 * does in each it is part of what they cost.  A graph's first runs compile: later ones where they
 * come to other shapes. */
static uint64_t others(const jpy_trial *t) {
    uint64_t shapes = t->state == JPY_TRIAL_WARM ? 0 : jn_ops_run.shapes;
    return conversions + put_off + shapes;
}

uint64_t jpy_made_here(void) { return conversions + put_off + jn_ops_run.shapes; }

static bool alike(double a, double b) { return a <= ALIKE * b && b <= ALIKE * a; }

/* Ops of the graph for each of CPython's; 0: not known. */
static double ratio_of(const jpy_trial *t) {
    return t->most > 0 && alike(t->least, t->most) ? (t->least + t->most) / 2 : 0;
}

static _Thread_local double stood_for; /* ops of CPython's, by graphs that ran */

void jpy_trial_ran(const jpy_trial *t, uint64_t ops) {
    double ratio = ratio_of(t);
    stood_for += ratio > 0 ? (double)ops / ratio : (double)ops;
}

/* This thread's.  Of skeletons all are counted as CPython's: which of their regions are graphs is
 * not the same in all calls. */
static uint64_t ops_run(const jpy_function *f, const jpy_trial *t) {
    return jn_ops_run.eager + (t == &f->trial ? (uint64_t)stood_for : jn_ops_run.graph);
}

jpy_timing jpy_trial_start(const jpy_function *f, const jpy_trial *t, bool graph) {
    if (!f->measure || t->state != (graph ? JPY_TRIAL_GRAPH : JPY_TRIAL_PLAIN))
        return (jpy_timing){.others = others(t), .shadows = jpy_shadows_begun};
    return (jpy_timing){jpy_now(), ops_run(f, t), others(t), jpy_shadows_begun};
}

static void keep(jpy_pace *p, int64_t ns, uint64_t ops) {
    double op_ns = ops ? (double)ns / (double)ops : 0;
    bool first = !p->ns;
    if (first || ns < p->ns)
        p->ns = ns;
    /* of the largest calls alone: what a graph takes may grow faster than what it has to do */
    bool largest = (double)ops * ALIKE >= (double)p->most;
    bool larger = first || (double)ops > ALIKE * (double)p->most;
    if (larger || (largest && op_ns < p->op_ns))
        p->op_ns = op_ns;
    p->largest = larger ? 1 : p->largest + largest;
    if (first || ops < p->few)
        p->few = ops;
    if (ops > p->most)
        p->most = ops;
    p->ops += ops;
    p->all_ns += ns;
    p->calls++;
}

/* What a call of so many ops (`ratio` of which are one of CPython's) takes, between the smallest
 * and the largest ones that were met. */
static double between(const jpy_pace *p, double ratio, double ops) {
    double few = (double)p->few / ratio, most = (double)p->most / ratio;
    double small = (double)p->ns, large = p->op_ns * (double)p->most;
    return most > few ? small + (large - small) * (ops - few) / (most - few) : small;
}

/* What the smallest and a largest call take together. */
static double ends(const jpy_pace *p) { return (double)p->ns + p->op_ns * (double)p->most; }

/* The share where the smallest or the largest calls of both kinds are not alike; 0: the ones
 * are all larger than the others.  Where nothing is known of the ops of the one kind in the other
 * one's, both have met the same calls, since they take turns. */
static double share_between(const jpy_pace *graph, const jpy_pace *plain, double ratio) {
    if (ratio <= 0)
        return ends(graph) / ends(plain);
    double few = fmax((double)graph->few / ratio, (double)plain->few);
    double most = fmin((double)graph->most / ratio, (double)plain->most);
    double all = (double)graph->ops / ratio + (double)plain->ops;
    double mean = fmax(few, fmin(most, all / (graph->calls + plain->calls)));
    double p = between(plain, 1, mean);
    return few <= most && p > 0 ? between(graph, ratio, mean) / p : 0;
}

/* What a graph's calls take of the time of CPython's, each at its fastest; 0: that is not known.
 * Of calls that differ in how much they have to do, as ops tell, large ones are compared by ops;
 * where small ones were met by both, too, what lies between is by what calls have to do on average.
 */
static double share(const jpy_trial *t, const jpy_pace *graph, const jpy_pace *plain) {
    if (!graph->ns || !plain->ns)
        return 0;
    double ratio = ratio_of(t);
    double few = (double)plain->few * ratio, most = (double)plain->most * ratio;
    /* ops of gradients count otherwise in graphs: that calls of each kind are like one another says
     * as much as that both are */
    bool like = alike((double)graph->few, (double)graph->most) &&
                alike((double)plain->few, (double)plain->most);
    bool by_time = ratio <= 0 || alike((double)graph->few, few) || (like && t->n >= TIMED_RUNS);
    bool by_ops = !alike(fmin((double)graph->few, few), fmax((double)graph->most, most));
    if (by_ops && alike((double)graph->most, most)) {
        double all = (double)graph->ops / ratio + (double)plain->ops;
        double mean = all / (graph->calls + plain->calls),
               range = (double)(plain->most - plain->few);
        double large = by_time && range > 0 ? (mean - (double)plain->few) / range : 1;
        large = fmax(0, fmin(1, large));
        double g = (1 - large) * (double)graph->ns + large * graph->op_ns * (double)graph->most;
        double p = (1 - large) * (double)plain->ns + large * plain->op_ns * (double)plain->most;
        return large < 1 ? g / p : graph->op_ns * ratio / plain->op_ns;
    }
    bool varied = by_ops && !alike((double)plain->few, (double)plain->most);
    if ((varied || !by_time) && t->n >= TIMED_RUNS)
        return share_between(graph, plain, ratio);
    return by_time ? (double)graph->ns / (double)plain->ns : 0;
}

static bool too_few(const jpy_pace *p) {
    return !alike((double)p->few, (double)p->most) && p->largest < FEW_LARGEST;
}

/* Whether it may be found slow: what has been timed is neither chance nor the beginning. */
static bool known_well(const jpy_trial *t) {
    return t->graph.all_ns + t->plain.all_ns >= SLOW_NS && !too_few(&t->graph) &&
           !too_few(&t->plain);
}

static bool near(double share) { return share < NEAR && share > 1 / NEAR; }

/* JPY_TRIAL_PAYS, JPY_TRIAL_SLOW; else the runs so far do not tell. */
static int decide(const jpy_trial *t) {
    double calls = share(t, &t->graph, &t->plain);
    double rounds = t->tracked ? share(t, &t->graph_round, &t->plain_round) : 0;
    /* of a round a call is a part only, and a gradient may make up for what the call loses */
    bool slow = calls > (rounds > 0 ? 1.05 : 1) || rounds > 1.02;
    bool tells = !near(fmax(calls, rounds)) && (!slow || known_well(t));
    if (t->n >= NEAR_RUNS || (t->n == TIMED_RUNS && tells))
        return slow ? JPY_TRIAL_SLOW : JPY_TRIAL_PAYS;
    bool pays = !slow && calls > 0;
    if (t->n == FIRST_RUNS && pays && !t->tracked && calls < 1 / FAR && t->plain.ns >= LONG_NS)
        return JPY_TRIAL_PAYS;
    if (t->n != FEW_RUNS)
        return t->state;
    return calls > 1.5 && known_well(t) ? JPY_TRIAL_SLOW
           : pays && calls < 1 / 1.5    ? JPY_TRIAL_PAYS
                                        : t->state;
}

bool jpy_trial_end(jpy_function *f, jpy_trial *t, bool graph, jpy_timing start) {
    if (!f->measure || t->state >= JPY_TRIAL_PAYS)
        return false;
    bool compared = start.shadows != jpy_shadows_begun; /* it has run twice */
    if ((compared && f->verify == JPY_VERIFY_RARELY) ||
        ((compared || start.others != others(t)) && t->cold++ < COLD_RUNS))
        return false; /* once more */
    if (t->state == JPY_TRIAL_WARM) {
        if (++t->n >= WARM_RUNS) {
            t->state = JPY_TRIAL_GRAPH;
            t->n = 0;
        }
        return false;
    }
    if (!start.ns)
        return false;
    uint64_t ops = ops_run(f, t) - start.ops;
    if (t == &f->trial && !ops && t->idle++ < IDLE_RUNS)
        return false; /* it had returned early, or what it does has not begun yet */
    keep(graph ? &t->graph : &t->plain, jpy_now() - start.ns, ops);
    if (t->last.ns)
        keep(t->last_graph ? &t->graph_round : &t->plain_round, start.ns - t->last.ns, t->last_ops);
    t->last = start;
    t->last_graph = graph;
    t->last_ops = ops;
    t->n++;
    t->state = __builtin_parity(t->n) ? JPY_TRIAL_PLAIN : JPY_TRIAL_GRAPH;
    t->state = decide(t);
    if (t->state == JPY_TRIAL_PAYS) {
        t->left = t->paid = t->paid ? 2 * t->paid : FIRST_PAID;
        if (t->tracked && t != &f->trial && share(t, &t->graph, &t->plain) > CLEARLY)
            jpy_phases_begin(f);
    }
    if (t->state != JPY_TRIAL_SLOW)
        return false;
    f->slow++;
    jpy_note(f, "not used: %.2f us a call as a graph, %.2f us imperatively",
             (double)t->graph.ns / 1e3, (double)t->plain.ns / 1e3);
    return true;
}

void jpy_trial_anew(jpy_trial *t) {
    *t = (jpy_trial){.state = JPY_TRIAL_GRAPH,
                     .tracked = t->tracked,
                     .first_ns = t->first_ns,
                     .paid = t->paid,
                     .least = t->least,
                     .most = t->most};
}

static int64_t ran_as_graphs(const jpy_function *f) {
    return (int64_t)(f->run.host_ns + f->run.tensor_ns);
}

/* CPython's call that goes on included; what it has paid for meanwhile is none of it. */
static int64_t has_run(const jpy_function *f) {
    int64_t run = f->plain_ns + ran_as_graphs(f) - f->lent_ns;
    run += f->running_since ? jpy_now() - f->running_since : 0;
    return run > 0 ? run : 0;
}

/* Whether all conversions of f and one that takes `more` are a tenth of what it has run. */
static bool within_share(const jpy_function *f, int64_t run, int64_t more) {
    return f->spent_ns + f->lent_ns + more <= run / CONVERT_SHARE;
}

/* What nobody has asked for is paid for by whoever was; it takes as long as its last one, again. */
static bool may_borrow(const jpy_function *payer, int64_t more) {
    int64_t run = has_run(payer);
    return run < BEGINNING_NS ? payer->lent_ns <= LENT_ONCE_NS + run / CONVERT_SHARE
                              : within_share(payer, run, more);
}

/* Whether one more of f's is made up for by what its graphs have run, and by a share of what
 * whoever pays has.  At the beginning twice as much as that is lent, and up to A_LUMP_NS: a short
 * program that needs ever new graphs would convert till it ends. */
static bool made_up_for(const jpy_function *f, int64_t run) {
    bool free_ones = f->conversions < (f->refused && !f->entries.n ? 1 : FREE_CONVERSIONS);
    int64_t lump = SMALL_NS + 2 * run < A_LUMP_NS ? SMALL_NS + 2 * run : A_LUMP_NS;
    int64_t mean = f->conversions ? f->spent_ns / (int64_t)f->conversions : 0;
    return free_ones || f->convert_ns + mean <= lump + ran_as_graphs(f) + run / CONVERT_SHARE;
}

/* A refusal that was like those before it is likely to be followed by others. */
static bool in_vain_again(const jpy_function *f) {
    return f->refused && !f->entries.n && !f->of_region && f->conversions > REFUSALS &&
           f->plain_ns - f->last_plain_ns < PATIENCE * f->last_ns;
}

bool jpy_may_convert(const jpy_function *f) {
    if (f->measure && in_vain_again(f))
        return false;
    if (!f->measure)
        return true;
    int64_t run = has_run(f->payer ? f->payer : f);
    if (!made_up_for(f, run)) {
        put_off++;
        return false;
    }
    if (f->payer)
        return may_borrow(f->payer, f->last_ns);
    return run < BEGINNING_NS || within_share(f, run, f->last_ns);
}

int64_t jpy_converted(jpy_function *f, int64_t since, int64_t worked_since) {
    conversions++;
    modelled.conversions++;
    int64_t ns = jpy_now() - since;
    if (f->payer)
        f->payer->lent_ns += jpy_worked() - worked_since;
    if (f->conversions > FREE_CONVERSIONS)
        f->convert_ns += ns;
    f->spent_ns += ns;
    f->last_ns = ns;
    f->last_plain_ns = f->plain_ns;
    return ns;
}

void jpy_back_off(jpy_function *f, unsigned factor) {
    f->backoff = f->backoff ? f->backoff * factor : 1;
    if (f->backoff > MAX_BACKOFF)
        f->backoff = MAX_BACKOFF;
    f->next_try = f->backoff;
}

bool jpy_resting(jpy_function *f) {
    if (!f->rest)
        return false;
    f->rest--;
    return true;
}

void jpy_rest(jpy_function *f) {
    f->rest_length = f->rest_length ? f->rest_length * 4 : FIRST_REST;
    f->rest = f->rest_length;
}

void jpy_paid(jpy_function *f, jpy_trial *t) {
    f->vain -= f->vain < A_HIT ? f->vain : A_HIT;
    if (t->left && !--t->left) /* what calls have to do may have changed */
        jpy_trial_anew(t);
}

void jpy_in_vain(jpy_function *f) {
    if (!f->measure || !f->entries.n || ++f->vain < MANY_IN_VAIN)
        return;
    f->vain = 0;
    jpy_rest(f);
}

void jpy_met_slow(jpy_function *f) {
    jpy_in_vain(f);
    if (f->measure && !f->skeleton && ++f->met_slow > FEW_MET) /* what that calls is looked at */
        f->unlooked = f->met_slow < MOST_UNLOOKED ? f->met_slow : MOST_UNLOOKED;
}
