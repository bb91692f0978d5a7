/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions of statements: of a function that no graph can stand for as a whole, the statements
 * without a barrier run as graphs, the others are CPython's
 * (docs/adr/0030-regions-of-statements.md).
 *
 * Such a function has a *skeleton*, a Python function made of its text by janus/_skeleton.py, which
 * asks a janus.Region before each group of statements.  A region has a janus.Function of its own:
 * that of a function of the variables the statements read, which returns what they leave.  CPython
 * never runs that one: where no graph is taken, the skeleton has the statements themselves.
 */
#ifndef JPY_REGION_H
#define JPY_REGION_H

#include "pyfront/function/function.h"

/*
 * What CPython runs for f (borrowed): its skeleton, or its callable where there is none, where it
 * is out of date, or does not pay: both are timed in turn as graphs are (policy.h).  A call for
 * which out->trial is set ends with jpy_regions_end(), if it returns.
 */
typedef struct jpy_regions_timer {
    bool trial, skeleton;
    jpy_timing start;
} jpy_regions_timer;
PyObject *jpy_regions_begin(jpy_function *f, PyObject *const *args, size_t nargsf,
                            PyObject *kwnames, jpy_regions_timer *out);
void jpy_regions_end(jpy_function *f, const jpy_regions_timer *x);
/* f, which has no skeleton, is called for the first time: it gets the one for that, if it can; no
 * exception is left.  Then (`first_over`) that call has ended, and a conversion was tried. */
void jpy_regions_first(jpy_function *f);
void jpy_regions_first_over(jpy_function *f);
/* Whether what its statements and callees compute may be differentiated again (create_graph): it
 * was come to in a conversion, or stands in the text of a function whose first call this is. */
bool jpy_regions_differentiate(const jpy_function *f);
/* A conversion of f as a whole was refused: f gets a skeleton if it can.  No exception is left. */
void jpy_regions_refused(jpy_function *f);
/* Conversions of f as a whole have led to no hit: it gets one, cut in half.  No exception is left.
 */
void jpy_regions_unhit(jpy_function *f);
/* A conversion of f was refused in another process, which has kept that (JANUS_CACHE): f gets the
 * skeleton that it had there.  Returns why it was refused, a new reference; NULL: nothing was kept.
 * No exception is left. */
PyObject *jpy_regions_recall(jpy_function *f);
/* A skeleton has returned `result` (stolen; NULL: raised) from statements of a region that are
 * compared (jpy_shadow_open), which therefore end with it.  Returns the result. */
PyObject *jpy_regions_ended(PyObject *result);
/* Who pays for what is made for the skeleton of f; new reference. */
jpy_function *jpy_regions_payer(jpy_function *f);
/* callee.c: what a skeleton of f asks for what it calls; new reference, NULL: raised. */
PyObject *jpy_regions_callee(jpy_function *f);
/* The skeleton of f has called many things that are none of the program's: it asks for fewer. */
void jpy_regions_settle(jpy_function *f);
/* A call of a Function that was made for a skeleton, of which is not known whether it works with
 * tensors (f->unasked); as a vectorcall. */
PyObject *jpy_regions_unasked(jpy_function *f, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames);
/* How many regions f has; how often they ran as graphs. */
size_t jpy_regions_count(const jpy_function *f, uint64_t *out_hits);
/* [(first line, last line, times reached, as graphs, the region's Function)], a new list. */
PyObject *jpy_regions_list(const jpy_function *f);
/* The Functions of what the skeleton calls that work with tensors, a new list. */
PyObject *jpy_regions_callees(const jpy_function *f);
/* Adds what became of them to a list of lines; -1: exception set. */
int jpy_regions_describe(const jpy_function *f, PyObject *list);

#endif
