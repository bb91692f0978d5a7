/* SPDX-License-Identifier: Apache-2.0 */
/* What the tape would keep of the ops of a stage: pyfront/entry/history.h has the terms. */
#ifndef JPY_CONVERT_HISTORY_H
#define JPY_CONVERT_HISTORY_H

#include "pyfront/entry/entry.h"

/* Where a stage lies in main: its nodes are main's from `first` on, its parameters these values. */
typedef struct jcv_stage_at {
    const jn_subgraph *main;
    uint32_t first;
    const jn_value *in;
    const jpy_input *inputs; /* by parameter of main */
    bool remains;            /* what it stores is a result, too: JPY_SET_WAITS */
} jcv_stage_at;

/* Fills x->groups, and x->kept with what the tape would keep of the run's inputs and results.  Uses
 * x->in and x->place. */
janus_status jcv_history(jpy_stage *x, const jcv_stage_at *at, jn_arena *arena);
/* The arm of a stage, as jpy_group.arm, that is the body `which` of a branch of it; 0: nobody can
 * tell whether it was taken. */
uint8_t jcv_arm_of(jpy_stage *x, const jcv_stage_at *at, const jn_node *branch, unsigned which);
#endif
