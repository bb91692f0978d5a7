/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops in the place of a graph's node, whose gradients can be differentiated again.
 *
 * The program has these ops on its tape; that janus has one node instead is seen in the order in
 * which contributions to a gradient are added as soon as some come from what differentiates them.
 * So the node goes: the graph is run op by op on the same inputs (pyfront/entry/replay.h), once,
 * and what is recorded is numbered before all that came later.  Where that is not possible, of
 * graphs that read objects, the function is called again, if that has no effects.
 */
#ifndef JPY_AGAIN_H
#define JPY_AGAIN_H

#include "pyfront/entry/held.h"

/* For jpy_external: of a region. */
int jpy_again_record(void *user);
/* The gradient by these ops, of a node that another thread has met before they took its place. */
int jpy_again_gradient(jpy_region_held *r, const jpy_val *dout, const bool *want, jpy_val *din,
                       bool create_graph);

#endif
