/* SPDX-License-Identifier: Apache-2.0 */
/* A graph run op by op on the tape, so that its gradients can be differentiated again. */
#ifndef JPY_REPLAY_H
#define JPY_REPLAY_H

#include "exec/store/store.h"
#include "pyfront/entry/parts.h"
#include "pyfront/tape/tape.h"

enum { JPY_NOT_KNOWN = 200 }; /* a kind beside janus_kind: a value that cannot be had again */

/*
 * Runs the graph up to the call of stage `stage` and gives the results of that, owned, recorded on
 * the tape from its operands on: edges[p] is where operand p came from.  operands[p], owned: its
 * value.  in: per input of the entry.  Effects are left out.  What depends on objects, or on an
 * input that is not known, is not known.  0, or -1: Python exception set.
 */
int jpy_replay(const jpy_entry *e, const jpy_stage *stage, const jpy_val *in, const jpy_edge *edges,
               jn_rng_state rng, jpy_val *operands, jpy_val *out);

#endif
