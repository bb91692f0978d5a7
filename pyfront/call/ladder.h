/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ladder of a function: in which ways its calls may run, the first one first.
 *
 * A graph is tried where one may be.  A call that none takes, of a function that gets no (further)
 * graphs, is co-executed: CPython runs every line, and the tensor ops are recorded and run in
 * groups (pyfront/deferred/, exec/defer/defer.h).  Below is CPython with each op run at once.  A
 * rung is right by itself; the ladder decides speed only.
 */
#ifndef JPY_LADDER_H
#define JPY_LADDER_H

#include "pyfront/function/function.h"

/* janus.function's `ladder`: NULL or None is what JANUS_LADDER says, else the default.  -1: raised.
 */
int jpy_ladder_of(PyObject *rungs, jpy_ladder *out);
/* What runs a call of f in CPython; as a vectorcall. */
typedef PyObject *(*jpy_run_plain)(jpy_function *f, PyObject *const *args, size_t nargsf,
                                   PyObject *kwnames);
/* coexecute.c: runs a call that no graph has taken, on the rung that it is to have: with its ops
 * recorded, which have run when it returns, or at once.  Counts it. */
PyObject *jpy_below_graphs(jpy_function *f, jpy_run_plain run, PyObject *const *args, size_t nargsf,
                           PyObject *kwnames);
/* Adds to `stats` what became of the ops that calls of f have recorded; -1: raised. */
int jpy_coexecution_stats(const jpy_function *f, PyObject *stats);

#endif
