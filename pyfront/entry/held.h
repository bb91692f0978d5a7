/* SPDX-License-Identifier: Apache-2.0 */
/* What the node of a graph's results holds: pyfront/entry/external.c makes it and runs its
 * gradient, pyfront/entry/again.c puts ops in the node's place. */
#ifndef JPY_HELD_H
#define JPY_HELD_H

#include "exec/run/run.h"
#include "exec/store/store.h"
#include "pyfront/entry/parts.h"
#include "pyfront/function/function.h"
#include "pyfront/tape/tape.h"
#include "pyfront/tensor/tensor.h"

struct jpy_region_held;

/* The regions of one call, by stage; NULL: there is no such node (any more). */
typedef struct jpy_call_regions {
    unsigned refs;
    struct jpy_region_held *of[JPY_MAX_STAGES];
} jpy_call_regions;

/* A result of the node that the run has stored: it has a number, at which its cotangent waits for
 * the gradient of the run, and the memory that must stay as it is. */
typedef struct jpy_waits {
    int64_t number;
    jpy_saved saved;
    char *place; /* as jpy_region_held.place */
} jpy_waits;

/* A leaf that the run has read, whose gradient the run of the gradient leaves at its number. */
typedef struct jpy_found {
    int64_t number;
    jpy_saved saved;
} jpy_found;

/* An object whose references are those to its node, so that the collector sees what it holds: see
 * jpy_node_visit(). */
typedef struct jpy_region_held {
    PyObject_HEAD jpy_node *node; /* borrowed; NULL when it has died */
    jpy_entry *e;
    const jpy_stage *stage;
    jpy_function *f;                     /* owned */
    PyObject *callable, *args, *kwnames; /* of the call; args: positional, then keyword values */
    Py_ssize_t n_pos;
    jn_frame_value *frame;
    jn_rng_state rng;
    bool exact, goes_on; /* with the sums of the tape */
    unsigned n_in, n_out;
    PyObject **inputs; /* tracked tensors, owned, in the order of the node's edges: of the
                        * stage, and behind these ... */
    jpy_found *found;  /* ... leaves that the run alone has come to */
    unsigned n_found;
    jpy_edge *edges;           /* the node's, borrowed */
    jpy_saved *saved;          /* versions of the tensors that must stay as they are: stage->kept */
    uint32_t *marks;           /* of those of which the frame has copies: jn_storage_mark() */
    char **place;              /* where the frame has them, NULL: in the tensor */
    jpy_waits *waits;          /* behind the n_out results ... */
    unsigned n_waits;          /* ... of the node */
    int64_t n_wires;           /* the last number of the run */
    uint8_t *reached, *gone;   /* by number: what backward() came to since some were freed last, and
                                * what is freed (JN_WIRE_USED); NULL: no number is given */
    bool *freed;               /* by group of the stage; NULL: none is */
    jpy_set not_taken;         /* arms of the stage */
    jpy_set ran_outs, ran_ins; /* what backward() has run since some were freed last */
    jpy_set freed_outs;        /* results that leaves found have had their gradients of */
    jpy_set met_outs, met_ins; /* what the last one came to that raised, ... */
    uint32_t met_until;        /* ... up to the op that did */
    jn_type *out;              /* types of the results, whose dims may be of this call */
    PyObject **bound;          /* what the entry's inputs were, owned ... */
    janus_tensor **memory;     /* ... and of a tensor the memory that it had, ... */
    uint64_t *writes;          /* ... how often that was written, ... */
    uint32_t *prints;          /* ... and jn_storage_mark() */
    jpy_call_regions *call;
    bool given_up; /* its ops have all taken its place */
} jpy_region_held;

/* How often a tensor's memory was written, as far as anybody knows. */
static inline uint64_t jpy_writes_to(const janus_tensor *t) {
    return (uint64_t)t->storage->unseen << 32 | t->storage->version;
}
/* Whether input i, a tensor, is in the memory that it had, and that holds what it did. */
static inline bool jpy_bound_unwritten(const jpy_region_held *r, size_t i) {
    const janus_tensor *t = r->memory[i];
    return jpy_writes_to(t) == r->writes[i] && !jn_storage_written(t->storage, r->prints[i]);
}

/* external_run.c: where the frame of a run has what must stay as it is. */
char *jpy_kept_place(const jpy_entry *e, const jn_run *run, const jpy_kept *k);
/* Before a gradient of `outs` for `ins`, also of what `waits`: what was written without a version
 * to say so is what it needs, as for CPython's tape.  -1: raised. */
int jpy_renew(const jpy_region_held *r, jpy_set outs, jpy_set ins, bool waits);

/* Lets go of the call and of what the forward run has kept. */
void jpy_region_give_up(jpy_region_held *r);

#endif
