/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ops of a static plan can be one launch.
 *
 * Ops of a kind are joined where the longest ways from them to the end of the plan are equally
 * long: then none waits for another, nor does a set of them for one that waits for it.  Steps of
 * optimizers, which nothing waits for, so come together whenever their gradients were there.  An op
 * moves to where the last of its set was, the others stay in order.
 */
#ifndef JN_EXEC_DEV_JOIN_H
#define JN_EXEC_DEV_JOIN_H

#include "exec/device/dev_streams.h"

/* kind: per op, 0: never joined.  to[u]: the number of op u afterwards, the same for those that are
 * joined; edges go from lower to higher again.  *out_n: how many there are. */
janus_status jn_join_like(uint32_t n, const jn_edge *edge, size_t n_edges, const uint32_t *kind,
                          uint32_t *to, uint32_t *out_n);

#endif
