/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy: graphs that do not pay are not used, conversions that lead nowhere become rare.
 *
 * An entry's first runs compile and are not timed.  Then calls that it would take run as a graph
 * and imperatively in turn, and the fastest of each are compared: what else the machine does only
 * makes calls slower.  Of a graph whose results require grad the forward half is seen only, so for
 * these the time from call to call is compared, too.  A function whose entries are all slow runs
 * imperatively for many calls, without looking, before it is tried again.
 *
 * Conversions are paid for by what the function has run: beyond the first ones they cost a tenth of
 * that, and half a second once.
 *
 * What is decided depends on time, and in "fast" numerics a graph rounds in its own way: whoever
 * wants the same bits in every run says measure=False (JANUS_MEASURE=0).
 */
#include "pyfront/call/policy.h"

#include <time.h>

enum {
    WARM_RUNS = 2,
    FEW_RUNS = 4,    /* timed: enough where the one is much faster */
    TIMED_RUNS = 16, /* of both kinds together */
    FIRST_REST = 1000,
    MAX_BACKOFF = 1 << 16,
    FREE_CONVERSIONS = 3,
    CONVERT_SHARE = 10,
    CONVERT_ONCE_NS = 500000000,
    LENT_ONCE_NS = 300000000 /* to all regions and callees of a function */
};

static int64_t by(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t jpy_now(void) { return by(CLOCK_MONOTONIC); }
int64_t jpy_worked(void) { return by(CLOCK_THREAD_CPUTIME_ID); }
int64_t jpy_processor_ns(void) { return by(CLOCK_PROCESS_CPUTIME_ID); }

int64_t jpy_trial_start(const jpy_function *f, const jpy_trial *t, bool graph) {
    return f->measure && t->state == (graph ? JPY_TRIAL_GRAPH : JPY_TRIAL_PLAIN) ? jpy_now() : 0;
}

static void keep_least(int64_t *least, int64_t ns) {
    if (!*least || ns < *least)
        *least = ns;
}

/* Whether `ns` is more than `percent` of `of`; not where one is unknown. */
static bool above(int64_t ns, int64_t of, int percent) {
    return ns && of && ns > of / 100 * percent + of % 100 * percent / 100;
}

/* JPY_TRIAL_PAYS, JPY_TRIAL_SLOW; else the runs so far do not tell. */
static int decide(const jpy_trial *t) {
    bool slow = above(t->graph_ns, t->plain_ns, 105) ||
                (t->tracked && above(t->graph_round_ns, t->plain_round_ns, 105));
    if (t->n >= TIMED_RUNS)
        return slow ? JPY_TRIAL_SLOW : JPY_TRIAL_PAYS;
    if (t->n != FEW_RUNS)
        return t->state;
    return above(t->graph_ns, t->plain_ns, 150)            ? JPY_TRIAL_SLOW
           : !slow && above(t->plain_ns, t->graph_ns, 150) ? JPY_TRIAL_PAYS
                                                           : t->state;
}

bool jpy_trial_end(jpy_function *f, jpy_trial *t, bool graph, int64_t start) {
    if (!f->measure || t->state >= JPY_TRIAL_PAYS)
        return false;
    if (t->state == JPY_TRIAL_WARM) {
        if (++t->n >= WARM_RUNS) {
            t->state = JPY_TRIAL_GRAPH;
            t->n = 0;
        }
        return false;
    }
    if (!start)
        return false;
    keep_least(graph ? &t->graph_ns : &t->plain_ns, jpy_now() - start);
    if (t->last) /* the other kind's turn */
        keep_least(graph ? &t->plain_round_ns : &t->graph_round_ns, start - t->last);
    t->last = start;
    t->n++;
    t->state = graph ? JPY_TRIAL_PLAIN : JPY_TRIAL_GRAPH;
    t->state = decide(t);
    if (t->state != JPY_TRIAL_SLOW)
        return false;
    f->slow++;
    jpy_note(f, "not used: %.2f us a call as a graph, %.2f us imperatively",
             (double)t->graph_ns / 1e3, (double)t->plain_ns / 1e3);
    return true;
}

void jpy_trial_anew(jpy_trial *t) {
    *t = (jpy_trial){.state = JPY_TRIAL_GRAPH, .tracked = t->tracked, .first_ns = t->first_ns};
}

/* What nobody has asked for is paid for by whoever was. */
static bool may_borrow(const jpy_function *payer) {
    int64_t run = payer->plain_ns;
    if (payer->running_since)
        run += jpy_now() - payer->running_since;
    return payer->lent_ns <= LENT_ONCE_NS + run / CONVERT_SHARE;
}

bool jpy_may_convert(const jpy_function *f) {
    if (f->measure && f->payer)
        return may_borrow(f->payer);
    uint64_t run = (uint64_t)f->plain_ns + f->run.host_ns + f->run.tensor_ns;
    return !f->measure || (uint64_t)f->convert_ns <= CONVERT_ONCE_NS + run / CONVERT_SHARE;
}

void jpy_converted(jpy_function *f, int64_t ns, int64_t worked) {
    if (f->payer)
        f->payer->lent_ns += worked;
    if (f->conversions > FREE_CONVERSIONS)
        f->convert_ns += ns;
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
