/* SPDX-License-Identifier: Apache-2.0 */
/* What the Python front adds to the profiler's record (exec/store/profile.h). */
#ifndef JPY_PROFILE_H
#define JPY_PROFILE_H

#include "exec/store/store.h"
#include "pyfront/function/object.h"

/* Something about a function that has just ended; it began at `start`. */
void jpy_prof_add(const jpy_function *f, jn_prof_kind kind, int64_t start);
int jpy_init_profile(PyObject *module);
/* nan.c: the first NaN of imperative execution. */
int jpy_init_nan(PyObject *module);

#endif
