/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rooms below ask of the rooms above them: Python's evaluation is one recursion, in which
 * an operator may call a method, whose body is statements.
 */
#ifndef JPY_CONVERT_CORE_ABOVE_H
#define JPY_CONVERT_CORE_ABOVE_H

#include "pyfront/convert/core/state.h"

typedef void (*jcv_visit_fn)(jcv *c, void *user, jcv_av *item);
void jcv_visit(jcv *c, jcv_av *over, const jcv_leave *leave, jcv_visit_fn fn, void *user);
/* A call of a generator function: its body runs when items are taken. */
jcv_av *jcv_generator(jcv *c, jcv_frame *fr);
/* All items as AV_TUPLE; NULL: only the graph knows how many, and nothing was used up. */
jcv_av *jcv_try_all(jcv *c, jcv_av *a);
/* The same, else a stacked list and *out_known is false. */
jcv_av *jcv_take_all(jcv *c, jcv_av *a, bool *out_known);
/* Items of something iterable whose length is known; false: it is not. */
bool jcv_items(jcv *c, jcv_av *a, jcv_av ***out, unsigned *n);
typedef struct jcv_args {
    jcv_av **pos;
    unsigned n_pos;
    PyObject **names;
    jcv_av **kw;
    unsigned n_kw;
} jcv_args;
jcv_av *jcv_call(jcv *c, jcv_av *f, const jcv_args *args);
jcv_av *jcv_call1(jcv *c, jcv_av *f, jcv_av *a);
jcv_av *jcv_run_body(jcv *c, jcv_frame *fr);

#endif
