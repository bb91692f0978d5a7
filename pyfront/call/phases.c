/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases: many calls as graphs, then as many as CPython's.
 *
 * One backward() may be of hundreds of calls (a cell of a network that recurs), so that no single
 * call, nor the time from one to the next, says what a graph's gradient takes.  And where some of
 * these calls are graphs and others are not, CPython's ones are slower than they would be by
 * themselves: histories that repeat are run as a whole (pyfront/backward/stretch.h).  So a function
 * whose graphs were found to pay, though not clearly, is compared once more, over some backward()s
 * each way, all that the program does in between included.
 */
#include "pyfront/call/policy.h"

#include "pyfront/backward/backward.h"

enum {
    OFF,
    GRAPH_BEFORE, /* what the way before has left is used up first */
    GRAPH,
    PLAIN_BEFORE,
    PLAIN
};
enum {
    TURNS = 3, /* of both ways */
    BACKS_BEFORE = 2,
    BACKS = 4,
    CALLS = 16,  /* at least */
    MANY = 4096, /* calls without a backward(): there will be none */
    AGAIN = 64   /* phases in which something was made */
};
/* A function whose graphs save less than this is as well without them. */
static const double SLOWER = 1.02;

static void enter(jpy_function *f, int state) {
    jpy_phases *p = &f->phases;
    p->state = state;
    p->calls = f->calls;
    p->backs = jpy_backward_runs;
    p->made = jpy_made_here();
    p->since = jpy_now();
}

void jpy_phases_begin(jpy_function *f) {
    if (f->phases.state || f->of_region)
        return;
    f->phases = (jpy_phases){.state = OFF};
    enter(f, GRAPH_BEFORE);
}

static void keep(double *best, double ns) { *best = *best > 0 && *best < ns ? *best : ns; }

static void decide(jpy_function *f) {
    jpy_phases p = f->phases;
    f->phases = (jpy_phases){.state = OFF};
    if (p.graph <= SLOWER * p.plain)
        return;
    f->slow++;
    jpy_note(f, "not used: %.2f us a call and what follows it with graphs, %.2f us without",
             p.graph / 1e3, p.plain / 1e3);
    jpy_rest(f);
    f->undressed = f->skeleton ? f->rest : f->undressed; /* it is as it is undecorated */
    enter(f, GRAPH_BEFORE);                              /* after the rest */
}

bool jpy_phase_plain(jpy_function *f) {
    jpy_phases *p = &f->phases;
    uint64_t calls = f->calls - 1 - p->calls, backs = jpy_backward_runs - p->backs;
    bool before = p->state == GRAPH_BEFORE || p->state == PLAIN_BEFORE;
    bool over = backs >= (before ? BACKS_BEFORE : BACKS) && (before || calls >= CALLS);
    if (!over && calls >= MANY && !backs) {
        *p = (jpy_phases){.state = OFF};
        return false;
    }
    if (!over)
        return p->state >= PLAIN_BEFORE;
    if (!before && p->made != jpy_made_here()) { /* once more */
        int state = p->state;
        if (++p->again > AGAIN)
            *p = (jpy_phases){.state = OFF};
        else
            enter(f, state);
        return state == PLAIN && p->state;
    }
    if (!before)
        keep(p->state == GRAPH ? &p->graph : &p->plain,
             (double)(jpy_now() - p->since) / (double)calls);
    bool last = p->state == PLAIN;
    enter(f, last ? GRAPH_BEFORE : p->state + 1);
    p->calls--; /* this call is its first one */
    p->turns += last;
    if (p->turns == TURNS)
        decide(f);
    return p->state >= PLAIN_BEFORE;
}
