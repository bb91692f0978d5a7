/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking back what was done to a module.  A differentiation declares SubGraphs, turns calls into
 * their saving forms and lists saved members before it knows whether it will succeed; who calls it
 * for a user marks the module first, and goes back to the mark when it fails.
 */
#ifndef JN_GRAPH_UNDO_H
#define JN_GRAPH_UNDO_H

#include "graph/ir/ir.h"

typedef struct jn_mark {
    janus_module *module;
    jn_arena arena; /* copies of what may be changed in place */
    struct jn_sub_mark *subs;
    size_t n_subs;
    bool running_sums;
} jn_mark;

/* Takes note of everything in `m`, which must not be frozen.  Ends with one of the next two. */
janus_status jn_mark_set(jn_mark *mark, janus_module *m);
void jn_mark_forget(jn_mark *mark);
/* The module is as it was: SubGraphs declared since are gone, what nodes and lists had is there
 * again.  Cannot fail. */
void jn_mark_restore(jn_mark *mark);

#endif
