/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy: graphs that do not pay are not used, conversions that lead nowhere become rare.
 *
 * An entry's first runs compile and are not timed; some more are.  If they are clearly faster than
 * the imperative call that was converted, that is the end of it.  Else as many calls that the entry
 * would take run imperatively and are timed, too, and the sums decide.  A function whose entries
 * are all slow runs imperatively for many calls, without looking, before it is tried again.
 *
 * What is decided depends on time, and in "fast" numerics a graph rounds in its own way: whoever
 * wants the same bits in every run says measure=False (JANUS_MEASURE=0).
 */
#include "pyfront/policy.h"

#include <time.h>

enum { WARM_RUNS = 2, TIMED_RUNS = 8, FIRST_REST = 1000, MAX_BACKOFF = 1 << 16 };

int64_t jpy_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t jpy_trial_start(const jpy_function *f, const jpy_trial *t, bool graph) {
    return f->measure && t->state == (graph ? JPY_TRIAL_GRAPH : JPY_TRIAL_PLAIN) ? jpy_now() : 0;
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
    *(graph ? &t->graph_ns : &t->plain_ns) += jpy_now() - start;
    if (++t->n < TIMED_RUNS)
        return false;
    t->n = 0;
    if (graph) {
        /* the one imperative call known may have been slow by chance, but not so much */
        bool clear = t->first_ns && t->graph_ns < (int64_t)TIMED_RUNS * t->first_ns / 2;
        t->state = clear ? JPY_TRIAL_PAYS : JPY_TRIAL_PLAIN;
        return false;
    }
    bool slow = t->graph_ns > t->plain_ns + t->plain_ns / 10;
    t->state = slow ? JPY_TRIAL_SLOW : JPY_TRIAL_PAYS;
    if (slow) {
        f->slow++;
        jpy_note(f, "not used: %.2f us a call as a graph, %.2f us imperatively",
                 (double)t->graph_ns / 1e3 / TIMED_RUNS, (double)t->plain_ns / 1e3 / TIMED_RUNS);
    }
    return slow;
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
