/* SPDX-License-Identifier: Apache-2.0 */
/* What decides which way a SubGraph goes, with all that it calls. */
#ifndef JN_EXEC_DECIDED_H
#define JN_EXEC_DECIDED_H

#include "exec/state/state.h"

typedef struct jn_decided {
    uint64_t params;  /* by these; bit 63: and any from the 64th on.  Of tensors, by their shapes */
    uint64_t reads;   /* by what is read of these classes of locations (effects.h) */
    uint64_t results; /* as params: those that decide something in who calls it */
    bool data;        /* by elements of tensors, or draws */
} jn_decided;

/* Found once for a module; *out is the set's. */
janus_status jn_decided_by(jn_planset *s, const jn_subgraph *g, const jn_decided **out);

#endif
