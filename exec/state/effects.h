/* SPDX-License-Identifier: Apache-2.0 */
/* What a step reads and writes (exec/strand/effects.h). */
#ifndef JN_EXEC_STATE_EFFECTS_H
#define JN_EXEC_STATE_EFFECTS_H

#include "graph/ir/ir.h"

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

#endif
