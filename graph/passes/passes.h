/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes over a module that is not frozen.  Each is semantics-preserving, keeps source positions
 * and may be run in any order; jn_optimize runs the default pipeline.
 */
#ifndef JN_GRAPH_PASS_H
#define JN_GRAPH_PASS_H

#include "graph/ir/ir.h"

janus_status jn_pass_dce(jn_subgraph *g);  /* drops pure nodes nobody uses */
janus_status jn_pass_cse(jn_subgraph *g);  /* merges equal pure nodes; never calls */
janus_status jn_pass_fold(jn_subgraph *g); /* scalar constants; if with known condition */
janus_status jn_pass_inline(jn_subgraph *g, unsigned max_nodes); /* small non-recursive callees */
/* Each node that computes gets views of its own; modules with `running_sums`, last of all. */
janus_status jn_pass_views(jn_subgraph *g);
janus_status jn_optimize(janus_module *m);

#endif
