/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branches and loops that a device decides by itself.
 *
 * An `if` whose condition is a tensor's element, or such a `while`, whose SubGraphs compute tensors
 * only, is one task of the tensor strand: a segment without nodes (jn_segment.branch), whose
 * operands are the condition and what the SubGraphs read, and whose results are promises.  In a
 * capture it is a conditional node of the driver's; uncaptured, the flush reads the condition and
 * runs what it says.  Before the code that the host decides with stands the instruction DECIDE,
 * which issues the task and jumps over that code, or does nothing.
 *
 * The host decides wherever that may be better or is needed: no device, or a driver without
 * conditional nodes; frames other than the run's first, whose arms run in groups of rows; arms
 * whose results differ in shape; results that may be an operand itself and are seen as objects;
 * after a capture with a branch in it has failed.
 *
 * A loop gives up after many rounds (JANUS_CUDA_ROUNDS) by setting the abort word, since nobody can
 * interrupt it: then the flush runs uncaptured, and polls.
 */
#ifndef JN_EXEC_BRANCH_H
#define JN_EXEC_BRANCH_H

#include "exec/state/state.h"

enum { JN_BRANCH_DEPTH = 4 };

typedef struct jn_branch {
    bool loop;
    bool exposed; /* a result that somebody sees as an object may be an operand itself */
    bool ready;   /* the SubGraphs are compiled, and the segment's scalars marked */
    bool refused;
    const jn_subgraph *sub[2]; /* then and else; condition and body */
    jn_plan *plan[2];
    bool counts; /* one more result: how many rounds there were, i64 */
    uint32_t n_params, n_results;
    const jn_src *param;    /* of both SubGraphs: which input or scalar of the segment, or none */
    const uint32_t *result; /* per result of the segment: which of the SubGraph's */
    const uint32_t *carried_at; /* loops: and the parameter that a round replaces by it */
} jn_branch;

/* exec/plan/plan_branch.c, for the plan compiler: see exec/plan/plan_internal.h. */

/* DECIDE: issues the task of `seg` for the frame where the device is to decide. */
janus_status jn_branch_decide(jn_run *r, jn_segment *seg, jn_frame *f, bool *out_issued);
/* The shapes of the results; UNSUPPORTED where the device cannot decide. */
janus_status jn_branch_specialise(jn_seginst *inst, jn_planset *set);
/* Runs tasks of a branch, or writes them down. */
janus_status jn_branch_run(jn_lane *l, jn_seginst *inst, jn_task **task, uint32_t n);
/* The flush could not be captured, or `loops`, one has given up: from now on the host decides. */
void jn_branch_refuse(jn_task *const *task, uint32_t n, bool loops);

#endif
