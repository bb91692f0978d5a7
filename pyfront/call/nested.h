/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of regions that CPython runs after all, by skeletons of their own, and what is done in
 * the first call of a function, of which nothing is known yet.
 *
 * A loop that CPython runs may go on for long, in the only call of its function: what is learnt in
 * it must be of use at once.  So a region that was refused goes on as a skeleton of its own
 * function, in which the refused statement is CPython's; and a region in a loop of a first call,
 * which is converted once the loop has shown that it goes on, has till then a skeleton in which
 * inner loops have such regions.
 */
#ifndef JPY_NESTED_H
#define JPY_NESTED_H

#include "pyfront/function/function.h"

/* What nothing is known of was reached often and long enough to be converted: a region of a loop;
 * inner: of a loop inside of such a region, which may be converted as a whole. */
bool jpy_warm(jpy_warmth *w, bool measure, bool inner);
/* The same of a function that a skeleton calls, by time alone. */
bool jpy_warm_callee(jpy_function *f);

/* Whether a function, or bound method, is called with something of the package, by place, by name
 * or as a default, or names it: a model, a tensor, a module.  Who does not has no ops that would be
 * worth a skeleton in its first call, or one inside of another, in which old values live on for a
 * while. */
bool jpy_reaches_package(PyObject *function, PyObject *const *args, Py_ssize_t n);

/* Runs the skeleton of a region's function, which there is: what the region takes, or NULL. */
PyObject *jpy_nested_run(jpy_function *in, PyObject *const *args, Py_ssize_t n);
/* A skeleton has raised: frames of regions' functions have taken the place of the frames that ran
 * them in the traceback. */
void jpy_nested_raised(void);

#endif
