/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plan keeps of weights from run to run: panels that products of a run have packed
 * (ops/cpu/products/packs.c).
 *
 * A run of a few hundred nodes packs a weight on each thread anew, which takes as long as several
 * of its levels do.  Where the weight is an argument that the caller knows to be the same tensor,
 * where it was, nobody has written to it since (storages count that, exec/store/tensor.h) and
 * nobody else has its address, the panels of the run before are read.  They are those that a run
 * would pack, so no bit tells whether it had them.  Where training goes on between runs none are
 * kept (docs/adr/0087-kept-panels.md).
 */
#ifndef JN_EXEC_PANELS_H
#define JN_EXEC_PANELS_H

#include "exec/state/state.h"

typedef struct jn_panels jn_panels;

/* A run is about to begin.  known: per argument a jn_known, of the last run of the plan as well;
 * NULL: nothing is known. */
void jn_panels_look(jn_panels *p, const jn_arg *args, const uint8_t *known);
/* What the run may read of them; NULL: none.  Threads share it. */
const jn_packs *jn_panels_kept(const jn_panels *p);
/* A run is over that has packed argument `arg`, or met it: if the argument was as it had been, the
 * panels are taken.  *p NULL: none yet. */
void jn_panels_leave(jn_panels **p, uint32_t arg, jn_pack *pack);
void jn_panels_free(jn_panels *p);

#endif
