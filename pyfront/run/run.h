/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running the graph of an entry: run.c up to its commit; hints.c what failed guards and discarded
 * runs taught, for the next conversion.
 */
#ifndef JPY_RUN_H
#define JPY_RUN_H

#include "pyfront/entry/entry.h"
#include "pyfront/run/hints.h"
#include "pyfront/run/later.h"

/* Whether hits of the entry are shadows (verify/verify.h). */
void jpy_entry_verify(jpy_entry *e, bool on);
/* Runs up to the commit; *out_run is the caller's to free, also after a failure.  A run that turns
 * out to enter what was never compared stops there: host->anew.  *out_rng: the generator's offset
 * after it. */
janus_status jpy_entry_execute(jpy_function *f, jpy_entry *e, PyObject *const *slots,
                               jpy_host *host, jn_run **out_run, jn_arg *results,
                               uint64_t *out_rng);
/* What a failed run leaves; -1 (f->failed: the assumption, for jpy_hints_discarded()), or where the
 * entry is as good as before: -2: a signal has arrived, JPY_ANOTHER_WAY: it is not for calls like
 * this one. */
enum { JPY_ANOTHER_WAY = -4 };
/* ... or it leaves some calls to CPython, as this one. */
enum { JPY_LEFT = -5 };
int jpy_entry_discard(jpy_function *f, jpy_entry *e, jn_arg *results);
/* Adds what a run has counted to the function's. */
void jpy_entry_count(jpy_function *f, const janus_run_stats *s);
/* For a shadow: nothing is computed in place and nothing lent.  0; -1: discarded, -2: since a
 * signal has arrived.  *out_run is the caller's to free. */
int jpy_entry_run(jpy_function *f, jpy_entry *e, PyObject *const *slots, jpy_host *host,
                  jn_run **out_run, jn_arg *results, uint64_t *out_rng);
void jpy_entry_drop_results(jn_arg *results, unsigned n);

#endif
