/* SPDX-License-Identifier: Apache-2.0 */
/* An early lane: a worker that runs what was issued first while the host strand goes on issuing. */
#ifndef JN_EXEC_EARLY_H
#define JN_EXEC_EARLY_H

#include "exec/state/state.h"

/* Lanes that run on threads of their own in one phase of a flush. */
typedef struct jn_lane_tasks {
    jn_lane lane;
    jn_task **task;
    uint32_t n;
    janus_status st;
    janus_error error;
} jn_lane_tasks;

/* Runs one lane's tasks; a failure stops the others. */
void jn_lane_tasks_run(jn_lane_tasks *t);

enum { JN_ISSUE_COST = 640 }; /* elements of work done while the host strand issues a task */

/* Asked when a task was issued that may be given away, from early_at and early_tasks on.  Gives
 * what is pending to a worker if that can be done, else nothing is given to one before the next
 * flush; and more of it later. */
janus_status jn_early_issued(jn_run *r);
/* The last task that was issued may not be given away, nor what comes after it. */
janus_status jn_early_last(jn_run *r);
/* An error if the worker is lost, as in a forked child; nothing is early any more then. */
janus_status jn_early_check(jn_run *r);
/* How many of the tasks to be flushed, the first ones, a worker has; `e` may be NULL. */
uint32_t jn_early_count(const jn_early *e);
/* How many of them it had when it started. */
uint32_t jn_early_first(const jn_early *e);
/* How many lanes there can be: threads, as many as there were when it was started. */
uint32_t jn_early_threads(const jn_early *e);
/* For tasks that the caller runs meanwhile: they take memory under the lock. */
void jn_early_beside(jn_early *e, jn_lane *l);
/* Lane 1 goes on with its tasks when it has done what it was given, other lanes start; lane 0 is
 * run by the caller.  All have come to their ends afterwards, and nothing is early any more. */
janus_status jn_early_go_on(jn_run *r, jn_lane_tasks *lane, uint32_t n_lanes);
/* Waits for what was given away, and nothing is early any more; the worker's error. */
janus_status jn_early_join(jn_run *r);
/* The same for a run that is given up: the worker stops after the group it is at. */
void jn_early_cancel(jn_run *r);
/* May tasks be given away before the next flush?  Asked when nothing is pending. */
uint64_t jn_early_threshold(const jn_run *r);

#endif
