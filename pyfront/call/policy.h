/* SPDX-License-Identifier: Apache-2.0 */
/* Whether graphs pay, and how often conversions are tried. */
#ifndef JPY_POLICY_H
#define JPY_POLICY_H

#include "pyfront/function/function.h"

/* Per entry: what is known of its speed. */
typedef enum jpy_trial_state {
    JPY_TRIAL_WARM,  /* the first runs, which compile */
    JPY_TRIAL_GRAPH, /* graph runs are timed */
    JPY_TRIAL_PLAIN, /* imperative runs are timed */
    JPY_TRIAL_PAYS,  /* decided: nothing is timed */
    JPY_TRIAL_SLOW   /* decided: it is not used */
} jpy_trial_state;

enum { JPY_UNHIT = 4 }; /* conversions of which none was hit: parts may do better than the whole */

int64_t jpy_now(void); /* nanoseconds; 0 where `f` measures nothing */
/* What calls of this thread have converted, were to convert and have compiled. */
uint64_t jpy_made_here(void);
int64_t jpy_worked(void);       /* processor time of this thread, nanoseconds */
int64_t jpy_processor_ns(void); /* that of all threads of the process */
/* _clock(eager, graph, look, conversion=0, shape=0), for tests: time goes on by so many nanoseconds
 * for each op that this thread runs, in a graph or not, each look at a clock, each conversion and
 * each shape that a part of a graph is compiled for; _clock(): as it does.  Returns how many
 * conversions there were so far. */
PyObject *jpy_py_clock(PyObject *module, PyObject *args);
/* The start of a run that is to be timed, ns 0: it is not. */
jpy_timing jpy_trial_start(const jpy_function *f, const jpy_trial *t, bool graph);
/* What a run that started at `start` says; true: the entry has just been found slow. */
bool jpy_trial_end(jpy_function *f, jpy_trial *t, bool graph, jpy_timing start);
/* A graph has run so many ops, of a call that may be timed itself. */
void jpy_trial_ran(const jpy_trial *t, uint64_t ops);
/* To be timed again, after a rest. */
void jpy_trial_anew(jpy_trial *t);
/* Graphs of f were found to pay by their calls alone: they are compared with all that follows
 * (phases.c). */
void jpy_phases_begin(jpy_function *f);
/* Where they are being: whether this call, which was counted, is to be CPython's. */
bool jpy_phase_plain(jpy_function *f);
/* Whether f may be converted once more: what that has cost stays below a share of its run time. */
bool jpy_may_convert(const jpy_function *f);
/* A conversion of f has ended that began at these times of jpy_now() and jpy_worked().  What was
 * made for a skeleton has its payer pay for it.  Returns how long it took. */
int64_t jpy_converted(jpy_function *f, int64_t since, int64_t worked_since);
/* After a discard or an eviction: how many calls until the next conversion. */
void jpy_back_off(jpy_function *f, unsigned factor);
/* Whether the function rests: its graphs were all found slow.  Counts the call. */
bool jpy_resting(jpy_function *f);
/* All entries are slow: no graph is looked for in the next calls, ever more of them. */
void jpy_rest(jpy_function *f);
/* A graph that pays has run. */
void jpy_paid(jpy_function *f, jpy_trial *t);
/* A slow entry would take the call.  Where that is so again and again, more and more of the next
 * calls that no other takes are not asked about it: of those it would take guards are all it costs.
 */
void jpy_met_slow(jpy_function *f);
/* An entry was looked for and none was used, without one being tried or made: f rests where that is
 * so of most calls, whatever is known of entries that are seldom met. */
void jpy_in_vain(jpy_function *f);

#endif
