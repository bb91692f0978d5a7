/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter lock during a run: see away.c. */
#ifndef JPY_AWAY_H
#define JPY_AWAY_H

#include "pyfront/entry/host.h"

/* leave and enter of a run's janus_host_ops; the context is a jpy_host. */
void jpy_leave(void *ctx);
void jpy_enter(void *ctx);
void jpy_away_free(jpy_host *h);
/* Whether what a run that gave up the lock has read is still there.  `rng_offset`: the generator's
 * after the run, which has drawn nothing where it is the one before. */
bool jpy_away_holds(const jpy_host *h, jpy_guards *g, const jpy_call *call, uint64_t rng_offset);

#endif
