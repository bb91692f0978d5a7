/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace graphs: a stretch of a program's ops that comes again and again, as one segment.
 *
 * Who knows the stretch writes it down once (exec/defer/defer_write.h); from then on it runs with
 * the elements that differ from time to time: chains of elementwise ops run tile by tile,
 * temporaries lie in scratch memory, products that go to one sum are one product.
 */
#ifndef JN_EXEC_DEFER_TRACE_H
#define JN_EXEC_DEFER_TRACE_H

#include "exec/defer/defer.h"

typedef struct jn_trace_graph jn_trace_graph;
typedef struct jn_writer jn_writer; /* exec/defer/defer_write.h */

/*
 * `write` writes all there is: inputs from JN_GRAD_VALUE and JN_GRAD_TYPE, outputs, and what
 * accumulators sum up (jn_trace_graph_sum).  It runs under the deferrals' lock.
 */
janus_status jn_trace_graph_new(janus_status (*write)(jn_writer *w, jn_trace_graph *t, void *arg),
                                void *arg, const jn_op *named, jn_trace_graph **out);
void jn_trace_graph_free(jn_trace_graph *t);
/* While it is written: an accumulator of tensors of this type, whose dims live as long. */
janus_status jn_trace_graph_sum(jn_trace_graph *t, const jn_type *type, uint32_t *acc);
/* How many outputs, and sums, and about how many elements of work it has. */
uint32_t jn_trace_graph_outputs(const jn_trace_graph *t);
uint32_t jn_trace_graph_sums(const jn_trace_graph *t);
uint32_t jn_trace_graph_cost(const jn_trace_graph *t);
/* Runs it.  value[i]: row-major elements, or the scalar.  out: new tensors, of the outputs and then
 * of the sums; a sum may know of some rows only (exec/store/tensor_rows.h). */
janus_status jn_trace_graph_run(jn_trace_graph *t, const void *const *value, janus_tensor **out);

#endif
