/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients: what walks the tape. */
#ifndef JPY_BACKWARD_H
#define JPY_BACKWARD_H

#include "pyfront/tensor/tensor.h"

/*
 * Gradients of `roots` (cotangents `seeds`; kind NONE: ones, for one-element roots).  With n_inputs
 * > 0 writes their gradients to out (owned; kind NONE where unused), else adds to the .grad of
 * leaves.  out has what they are added to (owned; kind NONE: nothing), also after an error.
 */
int jpy_backward(const jpy_val *roots, const jpy_val *seeds, unsigned n_roots,
                 const jpy_edge *inputs, unsigned n_inputs, jpy_val *out, bool retain_graph,
                 bool create_graph);
/*
 * The same up to the inputs: what is behind one of them is not visited, even if it leads to
 * another, and nobody who looks at the inputs' gradients is called.
 */
int jpy_backward_until(const jpy_val *roots, const jpy_val *seeds, unsigned n_roots,
                       const jpy_edge *inputs, unsigned n_inputs, jpy_val *out, bool retain_graph,
                       bool create_graph);
/* In the backward of a node: whether the one that runs it leaves what it comes past to another. */
extern _Thread_local bool jpy_backward_retains;
/*
 * The same for what lies between roots and inputs alone, of which every root has its cotangent: no
 * node is used up, no hook, signal handler or other code of the program runs, nothing is counted.
 * false (no exception): it is not to be had so, or an error came.
 */
bool jpy_backward_between(const jpy_val *roots, const jpy_val *seeds, unsigned n_roots,
                          const jpy_edge *inputs, unsigned n_inputs, jpy_val *out);
/* Whether this thread is in it. */
extern _Thread_local bool jpy_backward_quiet;
/* PyErr_CheckSignals() in the middle of a backward(): handlers find gradients on or off as the
 * statement has them that asks for these. */
int jpy_backward_signals(void);
/* Ops that calls of it on this thread have run one by one, of which jn_ops_run has counted as many.
 */
extern _Thread_local uint64_t jpy_backward_ops;
/* Calls of it, those for `autograd.grad` included, of all threads. */
extern uint64_t jpy_backward_runs;
/* Stretches of histories that came for the first time, or the second, when their graph is made
 * (pyfront/backward/stretch.h). */
extern uint64_t jpy_stretches_new;

/* Adds g to tensor.grad; take consumes g, and makes it the .grad where nobody else has it. */
int jpy_accumulate_grad(struct jpy_tensor *leaf, const jpy_val *g, bool create_graph);
int jpy_take_grad(struct jpy_tensor *leaf, jpy_val *g, bool create_graph);

/* The Python object of a node (new reference): tensor.grad_fn. */
PyObject *jpy_node_object(jpy_node *n);

/* tensor.retain_grad(). */
PyObject *jpy_retain_grad(PyObject *self, PyObject *unused);

#endif
