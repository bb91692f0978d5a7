/* SPDX-License-Identifier: Apache-2.0 */
/* Trace graphs: see exec/defer/defer_trace.h. */
#include "config.h"

#include "exec/defer/defer_trace.h"

#include <string.h>

#include "exec/defer/defer_internal.h"
#include "exec/schedule/schedule.h"
#include "graph/base/status.h"

struct jn_trace_graph {
    jn_arena arena;
    jn_segment seg;
    jn_seginst *inst; /* NULL: there are no nodes */
    jn_grad_source *input;
    uint32_t *scalar;
    JN_VEC(jn_type) sums;
};

void jn_trace_graph_free(jn_trace_graph *t) {
    if (!t)
        return;
    if (t->inst)
        jn_seginst_free(t->inst);
    jn_vec_free(&t->sums);
    jn_arena_free(&t->arena);
    jn_free(t);
}

janus_status jn_trace_graph_new(janus_status (*write)(jn_writer *w, jn_trace_graph *t, void *arg),
                                void *arg, const jn_op *named, jn_trace_graph **out) {
    jn_trace_graph *t = jn_calloc(1, sizeof *t);
    if (!t)
        return JN_NO_MEMORY();
    jn_arena_init(&t->arena, 0);
    jn_writer w;
    jn_deferrals_lock();
    struct jn_planset *set = jn_call_shapes();
    janus_status st = jn_writer_init(&w, &t->seg, &t->arena, named);
    if (st == JANUS_OK)
        st = set ? write(&w, t, arg) : JN_NO_MEMORY();
    if (st == JANUS_OK) {
        jn_writer_fuse_sums(&w);
        t->seg.n_accs = (uint32_t)t->sums.n;
        st = jn_writer_end(&w, set, &t->input, &t->scalar, &t->inst);
    }
    jn_writer_free(&w);
    jn_deferrals_unlock();
    if (st == JANUS_OK)
        *out = t;
    else
        jn_trace_graph_free(t);
    return st;
}

janus_status jn_trace_graph_sum(jn_trace_graph *t, const jn_type *type, uint32_t *acc) {
    *acc = (uint32_t)t->sums.n;
    return jn_vec_push(&t->sums, *type) ? JANUS_OK : JN_NO_MEMORY();
}

uint32_t jn_trace_graph_outputs(const jn_trace_graph *t) { return t->seg.n_outputs; }
uint32_t jn_trace_graph_sums(const jn_trace_graph *t) { return t->seg.n_accs; }
uint32_t jn_trace_graph_cost(const jn_trace_graph *t) { return t->inst ? t->inst->row_cost : 0; }

/* ---- running ------------------------------------------------------------------------------------
 */

/* The results of the run that holds the lock: each is computed where it is to lie. */
static struct {
    const jn_seginst *inst;
    janus_tensor *const *out;
    uint32_t next;
} giving;

static char *result_memory(jn_run *r, size_t bytes) {
    (void)r;
    (void)bytes;
    while (giving.inst->shares[giving.next] >= 0)
        giving.next++;
    return jn_tensor_place(giving.out[giving.next++]);
}

static janus_status new_outputs(const jn_trace_graph *t, janus_tensor **out) {
    for (uint32_t i = 0; i < t->seg.n_outputs; i++) {
        const jn_shape *s = t->inst->out[i];
        JN_TRY(jn_tensor_dense((janus_dtype)s->dtype, s->rank, s->dims, s->strides, s->numel,
                               &out[i]));
    }
    return JANUS_OK;
}

static jn_task *make_task(jn_grad_work *w, const jn_trace_graph *t, const void *const *value) {
    static char nothing[16]; /* what only the type is read of */
    const jn_segment *seg = &t->seg;
    jn_arena *a = &w->run.mem->tasks;
    jn_task *task = jn_arena_zalloc(a, sizeof *task + seg->n_outputs * sizeof(jn_tval));
    jn_tval *in = jn_arena_zalloc(a, (seg->n_inputs + 1) * sizeof *in);
    jn_tval **ins = jn_arena_alloc(a, (seg->n_inputs + 1) * sizeof *ins);
    int64_t *scalars = jn_arena_alloc(a, (seg->n_scalars + 1) * sizeof *scalars);
    if (!task || !in || !ins || !scalars)
        return NULL;
    task->inst = t->inst;
    task->in = ins;
    task->scalars = scalars;
    for (uint32_t i = 0; i < seg->n_outputs; i++)
        task->out[i] = (jn_tval){.shape = t->inst->out[i], .task = task};
    for (uint32_t i = 0; i < seg->n_inputs; i++) {
        jn_grad_source s = t->input[i];
        in[i].data = s.from == JN_GRAD_TYPE ? nothing : (char *)(uintptr_t)value[s.index];
        in[i].shape = t->inst->in[i];
        ins[i] = &in[i];
    }
    for (uint32_t i = 0; i < seg->n_scalars; i++)
        if (!seg->scalars[i].is_const)
            memcpy(&scalars[i], value[t->scalar[i]], sizeof scalars[i]);
    return task;
}

static janus_status new_sums(jn_grad_work *w, const jn_trace_graph *t, jn_acc ***out) {
    jn_acc **acc = jn_arena_alloc(&w->run.mem->tasks, (t->sums.n + 1) * sizeof(jn_acc *));
    if (!acc)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < t->sums.n; i++) {
        const jn_type *type = &t->sums.data[i];
        jn_tval like = {.shape = jn_shape_intern(&w->run.set->shapes, (janus_dtype)type->dtype,
                                                 type->rank, type->dims)};
        if (!like.shape)
            return JN_NO_MEMORY();
        JN_TRY(jn_acc_new(&w->run, &like, &acc[i]));
    }
    *out = acc;
    return JANUS_OK;
}

/* Results that lie in the memory of another one get their own. */
static janus_status run(jn_grad_work *w, jn_trace_graph *t, const void *const *value,
                        janus_tensor **out) {
    jn_lane lane = {.run = &w->run};
    jn_task *task = make_task(w, t, value);
    if (!task)
        return JN_NO_MEMORY();
    JN_TRY(new_outputs(t, out));
    JN_TRY(new_sums(w, t, &task->accs));
    giving.inst = t->inst;
    giving.out = out;
    giving.next = 0;
    jn_schedule_results_to(&w->run, result_memory);
    janus_status st = jn_group_run(&lane, t->inst, &task, 1);
    jn_schedule_results_to(&w->run, NULL);
    for (uint32_t i = 0; i < t->seg.n_outputs && st == JANUS_OK; i++)
        if (t->inst->shares[i] >= 0)
            memcpy(jn_tensor_place(out[i]), task->out[i].data, t->inst->out[i]->bytes);
    for (uint32_t i = 0; i < t->seg.n_accs && st == JANUS_OK; i++)
        st = jn_grad_sum_take(w, task->accs[i], &out[t->seg.n_outputs + i]);
    return st;
}

janus_status jn_trace_graph_run(jn_trace_graph *t, const void *const *value, janus_tensor **out) {
    uint32_t n = t->seg.n_outputs + t->seg.n_accs;
    memset(out, 0, n * sizeof(janus_tensor *));
    if (!t->inst)
        return JANUS_OK;
    jn_grad_work *w;
    JN_TRY(jn_grad_work_new(&w));
    jn_deferrals_lock();
    janus_status st = run(w, t, value, out);
    jn_deferrals_unlock();
    jn_grad_work_free(w);
    for (uint32_t i = 0; i < n && st != JANUS_OK; i++) {
        janus_tensor_release(out[i]);
        out[i] = NULL;
    }
    return st;
}
