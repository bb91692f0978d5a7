/* SPDX-License-Identifier: Apache-2.0 */
/* A call through a cached entry; statements of a region, which are one. */
#ifndef JPY_CACHE_H
#define JPY_CACHE_H

#include "pyfront/verify/verify.h"

/* Guards, runs, commits.  2: the guards hold, and not `graph`; 1: done, *out_result is a new
 * reference; 0: the guards do not hold; -1: the run was discarded, nothing has changed; -2: the
 * same, since a signal has arrived; 3: done, and printing has raised.  Else no exception is left.
 * 4, 5, 6: CPython has run it, *out_result is what it gave (NULL: its exception is set), and the
 * graph would have done the same, is wrong, or is still unknown; 7: rounding may be why it differs.
 * 8: of a region: jpy_shadow_open is begun, and CPython has to run it. */
int jpy_entry_call(jpy_function *f, jpy_entry *e, const jpy_call *call, bool graph,
                   PyObject **out_result);
const janus_module *jpy_entry_module(jpy_entry *e);
jpy_trial *jpy_entry_trial(jpy_entry *e);
/* Number of guards; nanoseconds to run them `repeat` times, -1: they do not hold. */
size_t jpy_entry_guards(const jpy_entry *e);
int64_t jpy_entry_guard_time(jpy_entry *e, const jpy_call *call, long repeat);
uint64_t jpy_entry_runs(const jpy_entry *e);

/* A region of statements is reached: the result of a graph; NULL: CPython has to run them (no
 * exception), or printing has raised.  After a miss it is converted.  *watched: whether f wants to
 * know how the statements end. */
PyObject *jpy_function_enter(jpy_function *f, const jpy_call *call, bool *watched);
/* CPython has run the statements of a region to their end, where they leave `outcome` (stolen),
 * NULL: an exception that is set, or, not known, nobody saw.  -1: a warning of a graph that is
 * wrong was made an exception. */
int jpy_function_leave(jpy_function *f, PyObject *outcome, bool known);

/* What becomes of a graph that was compared; raised: by CPython.  As jpy_entry_call says: 4 to 7.
 */
int jpy_entry_judged(jpy_function *f, jpy_entry *e, jpy_verdict v, bool raised);

#endif
