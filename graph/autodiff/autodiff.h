/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reverse-mode differentiation of SubGraphs.
 *
 * jn_grad_subgraph(@f) derives @f.grad:
 *
 *     @f.grad(%t: frame<@f>, %d0, ..., %dk: cotangents of the differentiable results of @f,
 *             shared %a0: acc<...>, ...: one per differentiable shared tensor parameter of @f)
 *         -> cotangents of the differentiable non-shared tensor parameters of @f
 *
 * and fills @f.saved with the values the rules read.  A call of @f inside @f becomes invoke.grad of
 * the callee's gradient; cotangents that do not arrive are the none value (`_`), never zeros, and a
 * SubGraph is derived per pattern of arriving cotangents only when a caller leaves one out.
 * Contributions to one value are added in reverse program order of the uses.
 *
 * jn_grad_emit() differentiates a stretch of a body that is still being built: the converter's
 * loss.backward() and autograd.grad.
 */
#ifndef JN_GRAPH_AUTODIFF_H
#define JN_GRAPH_AUTODIFF_H

#include "graph/ir/ir.h"

/* What a gradient marks a tensor with that the run has stored and that outlives it (wire.mark).
 * The first two are said by `what` of its wire.put, 0: it does not outlive the run; the third as
 * well, where the op that it is a result of keeps it. */
enum {
    JN_WIRE_REACHED = 1, /* the gradient has come to it */
    JN_WIRE_USED = 2,    /* the ops that it is computed by keep something: they can do so once */
    JN_WIRE_KEPT = 4,    /* the gradient needs the tensor itself */
    JN_WIRE_NONE = 8     /* it has no history, and the number 0 */
};

/* Derives (or returns the already derived) gradient SubGraph of `f`.  arriving[i], per result of f:
 * a cotangent of result i is passed if it is differentiable.  NULL: of all, the default. */
janus_status jn_grad_subgraph(jn_subgraph *f, const bool *arriving, jn_subgraph **out_grad);

/* The same with more results, bools: (*out_present)[p], per parameter of f, is the number of the
 * one that says whether the run has a gradient of parameter p, or -1: it has, or never has; the
 * gradient of one that has none is zeros.  some: behind the cotangents come as many bools, which
 * say whether they arrive; zeros are passed for those that do not. */
janus_status jn_grad_presence(jn_subgraph *f, const bool *arriving, bool some,
                              jn_subgraph **out_grad, const int32_t **out_present);

/* The same, of a gradient that goes on with sums.  io_sums, per parameter of f: whether it does; is
 * set to 0 where f never gives a gradient.  Behind all that comes, per parameter that is not 0,
 * what was added to its gradient before (-0.0 where nothing was), and then, per parameter that is
 * set to 2, a bool, whether anything was.  A result is that with the contributions of f added to it
 * one by one. */
janus_status jn_grad_onto(jn_subgraph *f, const bool *arriving, bool some, uint8_t *io_sums,
                          jn_subgraph **out_grad, const int32_t **out_present);

/* For exact numerics, of a body that is cut into several with a gradient each: fails where what
 * uses of a tensor give that a call may hand on would not be added in the order of the program.
 * nodes, params: which of them gradients flow through. */
janus_status jn_calls_in_turn(jn_subgraph *f, const bool *nodes, const bool *params);

/*
 * Cotangents inside `g`, which is being built: given the cotangent `dy[i]` of `y[i]`, appends
 * nodes that compute the cotangent of each `x[j]` (none when y does not depend on it).  Calls made
 * on the way (invoke, if, while, foreach) are turned into their .save forms in place.
 * out_present[j], unless NULL: a bool, whether the run has that cotangent (else it means nothing);
 * none: it has.  Without, what has no cotangent on the path taken gets zeros.
 */
janus_status jn_grad_emit(jn_subgraph *g, const jn_value *y, const jn_value *dy, unsigned n_y,
                          const jn_value *x, unsigned n_x, jn_value *out_dx, jn_value *out_present);

#endif
