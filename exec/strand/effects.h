/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the steps of the host strand read and write, as sets of classes of locations: attributes by
 * number, items, keys, the generator, sums.  Two steps commute unless one writes what the other
 * reads or writes; two that append to a list commute, as the overlay orders what they append when
 * it is read.  Entries of the log that nothing reads back (prints, births, stores) are put in order
 * when the run ends and need no class.
 */
#ifndef JN_EXEC_EFFECTS_H
#define JN_EXEC_EFFECTS_H

#include "exec/state/state.h"

/* Of one instruction alone: calls have none. */
jn_effects jn_instr_effects(const jn_instr *in);
/* Of everything from an instruction to the end of its plan, calls included. */
janus_status jn_effects_from(jn_plan *p, const jn_instr *in, jn_effects *out);
/* Of all that a call of a SubGraph may do. */
janus_status jn_effects_of(jn_planset *s, const jn_subgraph *g, jn_effects *out);

#endif
