/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Autocast: which dtype an op computes in where the program does not say (janus.autocast).
 *
 * The state is this thread's.  It acts where a call that was bound is run (run.c), in imperative
 * execution and in the converter alike, as casts in front of the op: graphs and the tape see those
 * and nothing else.
 */
#ifndef JPY_AUTOCAST_H
#define JPY_AUTOCAST_H

#include "pyfront/op/bound.h"

/* 0: off.  Else, 8 bits per device (CPU first): 0 or 1 + the dtype; bit 16: casts of weights are
 * not kept. */
#define jpy_autocast_word (jn_this.autocast)
/* For the converter: whether the state was looked at since this was false. */
extern _Thread_local bool jpy_autocast_asked;

/* What operand i (of type `type`) of the op must be cast to before promotion, -1: nothing.  `cuda`:
 * where the call's tensors are. */
int jpy_autocast_dtype(const jn_op *op, bool cuda, const jn_type *type);
/* Whether a call of the op, its operands being floats of that dtype, may be changed. */
bool jpy_autocast_affects(const jn_op *op);
/* Whether the thread is in none of the states in which such a call is more than a kernel. */
static inline bool jpy_usual(const jn_thread *me, const jn_op *op) {
    return JN_LIKELY(!me->hook && !me->deferring) &&
           (JN_LIKELY(!me->autocast) || !jpy_autocast_affects(op));
}

/* The cast of a leaf that requires grad, made once per outermost context; NULL without an
 * exception: it is not one to keep.  New reference. */
janus_tensor *jpy_autocast_weight(PyObject *o, janus_dtype dtype);

/* janus.autocast objects: the word that holds inside; false: not one. */
bool jpy_autocast_object(PyObject *o, uint32_t *word);

#endif
