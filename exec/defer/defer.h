/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deferred ops: a thread that defers records the calls of ops instead of running them, and what has
 * been recorded runs later, together: by depth, and the calls of one kind as one group of rows
 * (exec/schedule/group.c).
 *
 * A call is recorded with types and shapes that are known; its results are tensors whose storage is
 * PENDING; they get their memory when they are computed, in the block of their group
 * (exec/store/slab.h).  Of operands that are ready, the storage becomes LENT until the op has run.
 * Whoever asks for the elements of either, by whatever way, runs all that has been recorded before
 * (jn_tensor_settle): reads see what was computed, and writes come after the reads recorded before
 * them.  Views are headers and need no more than that.
 *
 * Not recorded, but run at once: ops that can fail on values, since errors belong to the call; ops
 * that read memory which others may write to (foreign, or exported); what draws random numbers; ops
 * of a device; and all that is too large to gain.  Recording therefore decides when something is
 * computed, and nothing else.
 *
 * A deferral is used by one thread at a time.  Other threads meet it through the tensors alone; one
 * lock guards all deferrals, so a flush may run on any thread and needs no interpreter lock.
 */
#ifndef JN_EXEC_DEFER_H
#define JN_EXEC_DEFER_H

#include "exec/eager/eager.h"

typedef struct jn_deferral jn_deferral;
/* A kind of call, shared by the calls recorded of it; reference-counted. */
typedef struct jn_call_kind jn_call_kind;

/* What an operand of a kind of call is. */
typedef enum jn_operand_from {
    JN_FROM_NONE,   /* absent */
    JN_FROM_TENSOR, /* a tensor */
    JN_FROM_NUMBER, /* a 0-d tensor of `dtype` that the call's cell holds */
    JN_FROM_SCALAR, /* a scalar of `kind`, in the call's cell */
    JN_FROM_CONST   /* a scalar that is the same in every call: `cell` */
} jn_operand_from;
typedef struct jn_operand_kind {
    uint8_t from, dtype, kind; /* dtype: of the cell */
    uint64_t cell;
} jn_operand_kind;

/* An operand of a call. */
typedef union jn_deferred_in {
    janus_tensor *t; /* borrowed */
    uint64_t cell;
} jn_deferred_in;

typedef struct jn_deferral_options {
    bool exact; /* each op alone and in order, rounded as when it is run at once */
    size_t
        bytes; /* of results and operands that are waited for: at most about so many; 0: 64 MiB */
    unsigned calls;                  /* recorded calls after which all are run; 0: 65536 */
    void (*flushed)(jn_deferral *d); /* called after a flush, on whatever thread asked for it, which
                                        may look at statistics; NULL: nobody wants to know */
} jn_deferral_options;

typedef struct jn_deferral_stats {
    uint64_t recorded, flushes, groups, grouped, dropped; /* calls; flushes; groups of several calls
                                                             and calls in them; calls not run since
                                                             nothing needed them */
    uint64_t traces, traced; /* stretches of nodes that ran as one graph, and the nodes in them */
    uint64_t back_groups, back_grouped, back_alone; /* the same of nodes of backward(), and those
                                                       that ran alone */
} jn_deferral_stats;

/* Whether calls of this recipe can be recorded at all. */
bool jn_call_kind_possible(const jn_recipe *r);
/* Attributes are copied.  NULL: out of memory. */
jn_call_kind *jn_call_kind_new(const jn_recipe *r, const jn_operand_kind *in, const void *attrs);
void jn_call_kind_retain(jn_call_kind *k);
void jn_call_kind_release(jn_call_kind *k);
/* Its copy of the attributes; NULL: the op has none.  The types of operands, then results, that all
 * its calls have, once they were told: copied with their dims; NULL: not told yet, or out of
 * memory. By one thread at a time. */
const void *jn_call_kind_attrs(const jn_call_kind *k);
const jn_type *jn_call_kind_types(const jn_call_kind *k);
const jn_type *jn_call_kind_keep_types(jn_call_kind *k, const jn_type *types, unsigned n);

/* What the tape writes down of a kind, 0 at first.  By one thread at a time. */
typedef struct jn_call_note {
    uint8_t looked;    /* of who has looked at what its calls are like */
    uint32_t nodes;    /* of the tape that are of it: all together have one reference */
    uint32_t keeps[8]; /* what such a node keeps, by which of its operands have a history */
} jn_call_note;
jn_call_note *jn_call_kind_note(jn_call_kind *k);

/* One reference. */
jn_deferral *jn_deferral_new(const jn_deferral_options *o);
void jn_deferral_retain(jn_deferral *d);
void jn_deferral_release(jn_deferral *d);
/* Records a call; out[i] are new tensors.  *recorded is false, and nothing else has happened, where
 * an operand does not allow it: the caller runs the call. */
janus_status jn_deferral_record(jn_deferral *d, jn_call_kind *k, const jn_deferred_in *in,
                                janus_tensor **out, bool *recorded);
/* Runs all that is recorded.  If it fails (out of memory) all stays recorded. */
janus_status jn_deferral_flush(jn_deferral *d);
/* Whether each op is to run alone, and about how many bytes may wait. */
bool jn_deferral_exact(const jn_deferral *d);
size_t jn_deferral_bytes(const jn_deferral *d);
void jn_deferral_count_back(jn_deferral *d, uint64_t groups, uint64_t grouped, uint64_t alone);
void jn_deferral_count_traced(jn_deferral *d, uint64_t nodes);
void jn_deferral_stats_get(jn_deferral *d, jn_deferral_stats *out);

/* Gradients in groups and trace graphs, which need what stands above. */
#include "exec/defer/defer_grad.h"
#include "exec/defer/defer_trace.h"
#include "exec/defer/defer_write.h"

#endif
