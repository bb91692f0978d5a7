/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ahead of time: which stream each op of a static plan runs on, where streams wait for each other,
 * and where in one arena each value lies.
 *
 * Streams (after Nimble): of the plan's graph only the edges of its transitive reduction count; a
 * maximum matching of ops along them cuts it into the fewest chains in which each op follows the
 * one before; chains of which one ends before the other can begin share a stream.  Ops without a
 * path between them never share one, so no concurrency is lost, and events stand on reduction
 * edges between streams only.
 *
 * Memory: two values share bytes when every use of one happens before the other is made, by the
 * plan's edges or because a stream runs its ops in order.  So memory is planned after streams.
 *
 * Ops are numbered in an order in which they may be launched: edges go from lower to higher.
 */
#ifndef JN_EXEC_DEV_STREAMS_H
#define JN_EXEC_DEV_STREAMS_H

#include "graph/base/status.h"
#include "ops/device.h"

typedef struct jn_edge {
    uint32_t from, to;
} jn_edge;

typedef struct jn_stream_plan {
    uint32_t n_ops, n_streams;
    uint32_t *stream; /* per op */
    jn_edge *wait;    /* `to` waits for an event recorded after `from`; by `to` */
    uint32_t n_waits;
    bool *records;              /* per op: an event is recorded after it */
    uint32_t n_chains, n_edges; /* before chains were joined; of the reduction */
    uint64_t
        *before; /* bit matrix [n_ops][words]: op u happens before v, streams' order included */
    size_t words;
} jn_stream_plan;

static inline bool jn_happens_before(const jn_stream_plan *p, uint32_t u, uint32_t v) {
    return p->before[(size_t)u * p->words + v / 64] >> (v % 64) & 1;
}

/* `single`: everything on one stream. */
janus_status jn_streams_assign(uint32_t n_ops, const jn_edge *edge, size_t n_edges, bool single,
                               jn_stream_plan *out);
void jn_stream_plan_free(jn_stream_plan *p);

/* Launches the ops in order: on stream[0] those of stream 0 and so on.  Other streams start after
 * what stream[0] has been given and stream[0] goes on after all of them, as a capture needs it. */
typedef janus_status (*jn_launch_fn)(void *user, uint32_t op, void *stream);
janus_status jn_streams_run(const jn_stream_plan *p, const jn_dev_api *api, void *const *stream,
                            jn_launch_fn launch, void *user);

/* A value that needs memory.  `use`: the ops that read it, or write it again. */
typedef struct jn_plan_value {
    size_t bytes;
    uint32_t made_by;
    const uint32_t *use;
    uint32_t n_use;
    bool kept;     /* read after the plan has run */
    size_t offset; /* filled in */
} jn_plan_value;

/* Offsets, multiples of 256, and the arena's size. */
janus_status jn_memory_plan(const jn_stream_plan *p, jn_plan_value *v, size_t n, size_t *out_bytes);

#endif
