/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the tape share among themselves.
 */
#ifndef JPY_RECORD_H
#define JPY_RECORD_H

#include "exec/defer/defer.h"
#include "pyfront/tape/node.h"

/* Hooks of a node's results, and tensors whose .grad is kept though they are no leaves. */
struct jpy_node_extra {
    PyObject *hooks;    /* list of (result, id, callable) */
    PyObject *retained; /* list of (result, weak reference to the tensor) */
};
typedef struct jpy_node_extra jpy_node_extra;
jpy_node_extra *jpy_node_extra_get(jpy_node *n); /* NULL: raised */
void jpy_node_extra_free(jpy_node_extra *x);

/* The data of a node that jpy_record has made.  Attributes and types are the kind's where it has
 * one, else they lie in the node's block. */
typedef struct jpy_op_data {
    const jn_op *op;
    const void *attrs;
    const jn_type *types; /* of n_in operands, then n_out results */
    jn_call_kind *kind;   /* of the recorded call that it is of, or NULL; a reference */
    jpy_saved saved[];    /* likewise */
} jpy_op_data;
extern const jpy_node_class jpy_op_class;
jn_type jpy_val_type(const jpy_val *v); /* its dims are the value's own */

/* kinds.c: the kind of all calls of an op with the attributes and types of this one, which need not
 * be that of recorded ones; borrowed.  NULL: there is none. */
jn_call_kind *jpy_kind_of_call(const jn_op *op, const void *attrs, const jpy_val *in, unsigned n_in,
                               janus_tensor *const *out, unsigned n_out);

int jpy_raise_freed(void); /* the RuntimeError of a second backward; -1 */
const char *jpy_node_name(const jpy_node *n);
const char *jpy_op_node_name(const jpy_node *n); /* of a node made by jpy_record */

/* Nodes of views under in-place writes (view.c).  A region is the place of a view inside its
 * root, in elements. */
typedef struct jpy_region {
    int rank;
    int64_t offset;
    int64_t dims[JN_MAX_RANK], strides[JN_MAX_RANK];
    jn_type root; /* dtype, rank; dims follow */
    int64_t root_dims[JN_MAX_RANK];
} jpy_region;
/* root -> its region. */
jpy_node *jpy_region_read_node(const jpy_region *r, jpy_edge root);
/* (root, w) -> root with the region replaced by w. */
jpy_node *jpy_region_write_node(const jpy_region *r, jpy_edge root, jpy_edge w);

/* A piece of a contiguous root (x[1:3], a chunk): its gradients are added into one buffer. */
extern const jpy_node_class jpy_piece_class;
/* The region of such a node, or of one of the two above; the type of its root, whose dims lie in
 * the node. */
void jpy_region_get(jpy_node *n, jpy_region *out);
jn_type jpy_region_root(jpy_node *n);
/* The type of such a node's result; its dims lie in the node. */
jn_type jpy_piece_type(jpy_node *n);
jpy_node *jpy_piece_node(jn_thread *me, const janus_tensor *root, const janus_tensor *piece,
                         jpy_edge edge);

/* Whether its results are computed from some of its operands each, and from which. */
bool jpy_node_parts(const jpy_node *n);
bool jpy_node_leads(jpy_node *n, unsigned out, unsigned in);
/* When, among the gradients of its operands, that of operand `in` is complete: the least is first.
 * outs: per result, whether a gradient may arrive of it. */
uint64_t jpy_node_turn(jpy_node *n, unsigned in, const bool *outs);
/* Whether its backward() goes on with the sums so far (jpy_external). */
bool jpy_node_goes_on(jpy_node *n);
/* Whether gradients flow between its results unseen; the error of who looks at one. */
bool jpy_node_mixes(jpy_node *n);
extern uint32_t jpy_nodes_that_mix; /* how many there are */
/* Whether some of the ops that it stands for are used up. */
bool jpy_node_parted(const jpy_node *n);
/* How many hooks' lists and parted nodes there are of nodes that stand for several ops: what comes
 * before what is these ops' order. */
extern uint32_t jpy_nodes_apart;
int jpy_node_refuse(jpy_node *n);

/*
 * sums.c: what may add its gradient of an operand, for the cotangent `dy` of its result, to `sum`,
 * which is contiguous and nobody else's.  1; 0: it cannot, and nothing has happened; -1: raised.
 */
typedef enum jpy_adds {
    JPY_ADDS_NOTHING,
    JPY_ADDS_ROWS,   /* it has read rows of operand 0, to whose sum such a node's table has been
                        added before */
    JPY_ADDS_PRODUCT /* it has multiplied by operand 1 */
} jpy_adds;
jpy_adds jpy_node_adds(jpy_node *n);
int jpy_node_add_rows(jpy_node *n, janus_tensor *dy, janus_tensor *sum);
int jpy_node_add_product(jpy_node *n, janus_tensor *dy, janus_tensor *sum);

bool jpy_should_record(const jn_op *op, const jpy_val *in, unsigned n_in);
static inline bool jpy_any_tracked(const jpy_val *in, unsigned n_in) {
    for (unsigned i = 0; i < n_in; i++)
        if (jpy_edge_tracked(in[i].edge))
            return true;
    return false;
}
/* Rows whose operands 0 and 1 are factors: each is read for the other's gradient alone. */
bool jpy_is_product(const jn_op *op);

/* a + b as values: consumes *a and *b, writes *out. */
int jpy_val_add(jpy_val *a, jpy_val *b, bool create_graph, jpy_val *out);

#endif
