/* SPDX-License-Identifier: Apache-2.0 */
/* From pending tasks to groups in an order, and running them. */
#ifndef JN_EXEC_SCHEDULE_H
#define JN_EXEC_SCHEDULE_H

#include "exec/kernels/kernels.h"
#include "exec/schedule/acc.h"
#include "exec/schedule/branch.h"
#include "exec/schedule/early.h"
#include "exec/schedule/late.h"
#include "exec/schedule/rows.h"
#include "exec/state/state.h"

/* exec/schedule/run_device.c: the row, and with memory of its own the device, of this name; NULL:
 * "cpu"'s. */
janus_status jn_run_device_named(const char *name, const jn_run_device **out,
                                 struct jn_device **out_dev);
extern const jn_run_device jn_on_cpu;
/* exec/schedule/flush.c: the part of a new run, whose device and memory are there; and its end. */
void jn_schedule_begin(jn_run *r);
void jn_schedule_end(jn_run *r);
/* Whether it has issued nothing, and was asked for nothing. */
bool jn_schedule_is_new(const jn_run *r);
/* What groups call from now on is written to this list; and the end of that: false, the run did
 * what the list does not have, else the list has its scratch memory. */
void jn_schedule_writes(jn_run *r, jn_replay *list);
bool jn_schedule_written(jn_run *r);
/* Bytes of its scratch memory. */
size_t jn_schedule_scratch(const jn_run *r);
/* Where groups put results from now on; NULL: the run's memory. */
static inline void jn_schedule_results_to(jn_run *r, char *(*memory)(jn_run *r, size_t bytes)) {
    r->of_schedule.result_memory = memory;
}
/* Whether the pending tasks are many bytes: jn_flush_large is due. */
static inline bool jn_flush_is_due(const jn_run *r) {
    return r->of_schedule.pending_bytes >= r->of_schedule.flush_bytes;
}
/* Whether a worker has some of the pending tasks. */
static inline bool jn_early_runs(const jn_run *r) { return r->of_schedule.early != NULL; }
/* exec/schedule/flush.c: executes every pending task. */
janus_status jn_flush(jn_run *r);
/* exec/schedule/flush.c: runs these tasks, as they come. */
janus_status jn_flush_tasks(jn_run *r, jn_task **task, uint32_t n, uint32_t max_level);
/* exec/schedule/group.c: memory for a result or a sum: the run's, or a trace's; NULL: none. */
char *jn_run_memory(jn_run *r, size_t bytes);
/* exec/schedule/values.c: memory of the tensor that a large result will be, NULL: it is no such;
 * and the tensor, the caller's from then on, or NULL. */
char *jn_give_memory(jn_run *r, const jn_tval *v, size_t bytes);
janus_tensor *jn_give_take(jn_run *r, const jn_tval *v);
/* The same, and the run keeps it, too. */
janus_tensor *jn_give_lend(const jn_run *r, const jn_tval *v);
/* exec/schedule/dev_flush.c: runs n pending tasks, in issue order. */
janus_status jn_schedule_flush(jn_run *r, jn_task **task, uint32_t n, uint32_t max_level);
/* exec/schedule/flush.c: appends a task of this segment for the frame. */
janus_status jn_issue(jn_run *r, jn_segment *seg, jn_slot *slots);
/* exec/schedule/flush.c: after an issue by frame f, when r->of_schedule.flush_bytes are pending: a
 * flush, so that what nobody reads any more can be collected, unless most of it is what the run
 * returns, which never can, and which a flush at the end computes where the caller gets it. */
enum { JN_FLUSH_BYTES = 256 << 20 };
janus_status jn_flush_large(jn_run *r, const jn_frame *f);
/* exec/schedule/group.c: runs n tasks of one specialisation. */
janus_status jn_group_run(jn_lane *l, jn_seginst *inst, jn_task **task, uint32_t n);
/* exec/schedule/levels.c: runs tasks, given in issue order, level by level. */
janus_status jn_levels_run(jn_lane *l, jn_task **task, uint32_t n);
/* exec/schedule/lanes.c: counts the tasks of each specialisation. */
void jn_tasks_count(jn_task *const *task, uint32_t n);
/* exec/schedule/lanes.c: do all tasks of its specialisation, counted before, do much work? */
bool jn_task_heavy(const jn_task *t);
/* exec/schedule/dev_group.c: the kernels of n tasks whose outputs and accumulators are placed, on
 * r->dev. */
struct jn_variant;
janus_status jn_dev_group_run(jn_run *r, const jn_seginst *inst, const struct jn_variant *v,
                              jn_task **task, uint32_t n);
/* Whether a tensor has this shape and dtype; of none (NULL): no. */
bool jn_is_shape_of(const jn_shape *s, const janus_tensor *t);
/* exec/schedule/values.c: the data of a promise: flushes when needed. */
janus_status jn_tval_force(jn_run *r, jn_tval *v);
/* A promise for a concrete tensor: row-major alias or copy, kept alive by the run.  `o`: the host
 * object that it is, or NULL.  `last`: the shape bound at this place before, which is looked at
 * first, and the one bound now; or NULL. */
janus_status jn_tval_bind(jn_run *r, janus_tensor *t, janus_object o, const jn_shape **last,
                          jn_tval **out);
/* A new tensor with the value's elements. */
janus_status jn_tval_export(jn_run *r, jn_tval *v, janus_tensor **out);
/* exec/schedule/values.c: the element of a one-element tensor, as a scalar of this kind. */
janus_status jn_read_item(jn_run *r, jn_tval *v, janus_kind kind, jn_slot *out);

/* ---- windows and passes -------------------------------------------------------------------------
 */

/* Tasks dealt to lanes: those from `from` on are in `sorted`, each once, by key = phase * lanes +
 * lane with key k from start[k] on, in issue order.  Of odd phases lanes run beside each other: a
 * task waits for none of another lane of its phase, nor for one of a later phase. */
typedef struct jn_dealt {
    const uint32_t *deps;
    jn_task *const *task, *const *sorted;
    const uint32_t *key;   /* n, by id */
    const uint32_t *start; /* phases * lanes + 1 */
    uint32_t n, from, phases, lanes;
} jn_dealt;

/*
 * A closed window: n tasks in issue order, whose `deps` are ids of earlier ones.  Ids count from 0;
 * of those from `from` on (a worker may be running those before) none has run, and each waits for
 * tasks of lower levels alone, for each that promises one of its inputs among them; no level is
 * above max_level; shapes are those of the specialisation.  JANUS_INTERNAL names the pass after
 * which that does not hold, the task and what is wrong.
 */
typedef struct jn_window {
    const uint32_t *deps;
    size_t n_deps;
    jn_task **task;
    uint32_t n, from, max_level;
    jn_dealt dealt;             /* lanes 0: to none */
    struct jn_dealing *dealing; /* whose memory that is; or NULL */
} jn_window;

/* Passes, in the order of the table in exec/schedule/flush.c: each looks at counts and costs alone
 * and writes into the window what is to be; none runs a task of it. */
/* exec/schedule/levels.c: puts tasks later where that makes larger groups. */
janus_status jn_levels_late(jn_run *r, jn_window *w);
/* exec/schedule/lanes.c: deals tasks to lanes of about equal cost, if they fall apart into such;
 * where too much hangs on what an early lane has, that one is waited for. */
janus_status jn_lanes_deal(jn_run *r, jn_window *w);

/* exec/schedule/lanes.c: runs what is dealt; and frees it. */
janus_status jn_lanes_run(jn_run *r, const jn_window *w);
void jn_lanes_drop(jn_window *w);

/* exec/schedule/window.c: what holds after each pass, looked at in debug builds; and its text, for
 * JANUS_LOG=schedule. */
janus_status jn_window_check(const jn_window *w, const char *pass);
janus_status jn_dealt_check(const jn_dealt *d);
void jn_window_log(const jn_window *w, const char *of, const char *pass);

#endif
