/* SPDX-License-Identifier: Apache-2.0 */
/*
 * janus.deferred(): a block in which CPython runs the program and its ops are recorded, to be run
 * later and together (exec/defer/defer.h).
 *
 * Calls are recorded where they are remembered (op/quick.c), so their kinds are known and recording
 * costs about what running a small op costs.  What draws, writes in
 * place or has values to check runs as outside, after everything that was recorded before if it
 * reads or writes any of that.  A node of the tape keeps pending tensors as it keeps others.
 */
#ifndef JPY_DEFERRED_H
#define JPY_DEFERRED_H

#include "exec/defer/defer.h"
#include "pyfront/base/jpy.h"

int jpy_init_deferred(PyObject *module);

/* jn_deferral_flush() and jn_tensor_settle() without the interpreter lock: other threads run
 * meanwhile, and wait where they use what is being computed.  The caller holds the tensor. */
janus_status jpy_flush(jn_deferral *d);
janus_status jpy_settle(janus_tensor *t);

/* The ops of this thread are recorded with `d`, of which a reference is taken, until the end, which
 * runs nothing; NULL: out of memory.  Blocks that the program enters in between may end later. */
typedef struct jpy_recording jpy_recording;
jpy_recording *jpy_recording_begin(jn_deferral *d);
void jpy_recording_end(jpy_recording *r);
/* From here on the ops of the innermost one run at once: what is left of it are the trace graphs of
 * backward() (pyfront/backward/stretch.h). */
void jpy_recording_at_once(void);

#endif
