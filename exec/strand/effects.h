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

#include "exec/state/plan.h"

typedef struct jn_effects {
    uint64_t reads, writes, adds; /* additions are put in order by who reads */
} jn_effects;

#define JN_EFFECTS_ALL ((jn_effects){UINT64_MAX, UINT64_MAX, UINT64_MAX})

static inline bool jn_effects_none(jn_effects e) { return !(e.reads | e.writes | e.adds); }
static inline bool jn_effects_equal(jn_effects a, jn_effects b) {
    return a.reads == b.reads && a.writes == b.writes && a.adds == b.adds;
}
static inline bool jn_effects_clash(jn_effects a, jn_effects b) {
    return (a.reads & (b.writes | b.adds)) | (a.writes & (b.reads | b.writes | b.adds)) |
           (a.adds & (b.reads | b.writes));
}
static inline jn_effects jn_effects_both(jn_effects a, jn_effects b) {
    return (jn_effects){a.reads | b.reads, a.writes | b.writes, a.adds | b.adds};
}

/* Of a host operation (exec/heap/host_ops.c). */
jn_effects jn_host_effects(const jn_host_call *c);
/* Of one instruction alone: calls have none. */
jn_effects jn_instr_effects(const jn_instr *in);
/* Of everything from an instruction to the end of its plan, calls included. */
janus_status jn_effects_from(jn_plan *p, const jn_instr *in, jn_effects *out);
/* Of all that a call of a SubGraph may do. */
janus_status jn_effects_of(jn_planset *s, const jn_subgraph *g, jn_effects *out);

#endif
