/* SPDX-License-Identifier: Apache-2.0 */
/* Running the gradient of what a graph leaves on the tape. */
#ifndef JPY_EXTERNAL_RUN_H
#define JPY_EXTERNAL_RUN_H

#include "exec/run/run.h"
#include "pyfront/entry/held.h"
#include "pyfront/entry/parts.h"
#include "pyfront/tape/tape.h"

/* A backward() of one stage. */
typedef struct jpy_stage_run {
    const jpy_entry *e;
    const jpy_stage *stage;
    jn_frame_value *frame; /* borrowed */
    const jn_type *out;    /* types of the stage's results */
    const jn_type *in;     /* per x->in: its type; only where sums go on */
    bool exact;
    const jpy_val *dout;    /* cotangents of the results; kind NONE: it does not arrive */
    const bool *reached;    /* per x->in, and x->found: it gets a gradient from these */
    const jpy_waits *waits; /* n_waits results behind those of the stage, in dout as well */
    unsigned n_waits;
    const jpy_found *found; /* n_found edges behind those of the stage, in io_din as well */
    unsigned n_found;
    uint8_t *marks; /* by number, n_marks of them: what the gradient has come to (JN_WIRE_*) */
    size_t n_marks;
} jpy_stage_run;

/* Runs it.  io_din, per x->in, and per x->found (what arrives there alone): the sum so far, which
 * is replaced by that with the gradient added where the stage goes on with sums and there is one;
 * kind NONE becomes the gradient, or stays, where the run gives none. */
janus_status jpy_stage_run_gradient(const jpy_stage_run *x, jpy_val *io_din);

#endif
