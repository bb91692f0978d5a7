/* SPDX-License-Identifier: Apache-2.0 */
/* Running gradient rules by groups: see exec/defer/defer_grad.h; exec/defer/defer_rule.c writes
 * them down. */
#include "config.h"

#include "exec/defer/defer_grad.h"

#include <string.h>

#include "exec/defer/defer_rule.h"
#include "exec/schedule/schedule.h"
#include "graph/base/status.h"

/* Kept from one backward() to the next, its pages warm; taken by one at a time. */
static jn_grad_work *kept;
static bool taken;

static void work_destroy(jn_grad_work *w) {
    jn_schedule_end(&w->run);
    jn_mem_release(w->run.mem);
    jn_free(w);
}

static janus_status work_make(jn_grad_work **out) {
    jn_grad_work *w = jn_calloc(1, sizeof *w);
    if (!w || !(w->run.mem = jn_mem_new(&jn_on_cpu, NULL))) {
        jn_free(w);
        return JN_NO_MEMORY();
    }
    w->run.on = &jn_on_cpu;
    jn_schedule_begin(&w->run);
    *out = w;
    return JANUS_OK;
}

janus_status jn_grad_work_new(jn_grad_work **out) {
    janus_status st = JANUS_OK;
    jn_deferrals_lock();
    jn_planset *set = jn_call_shapes();
    if (!set) {
        st = JN_NO_MEMORY();
    } else if (!taken && (kept || (st = work_make(&kept)) == JANUS_OK)) {
        *out = kept;
        taken = kept->borrowed = true;
    } else if (st == JANUS_OK) {
        st = work_make(out);
    }
    if (st == JANUS_OK)
        (*out)->run.set = set;
    jn_deferrals_unlock();
    return st;
}

void jn_grad_work_free(jn_grad_work *w) {
    if (!w)
        return;
    jn_deferrals_lock();
    jn_tables_return(&w->run);
    if (w->borrowed) {
        jn_mem_reset(w->run.mem);
        taken = false;
    } else {
        work_destroy(w);
    }
    jn_deferrals_unlock();
}

char *jn_grad_work_memory(jn_grad_work *w, size_t bytes) {
    return jn_mem_tensor(w->run.mem, bytes);
}

janus_status jn_grad_work_keep(jn_grad_work *w, janus_tensor *t) {
    if (jn_vec_push(&w->run.mem->owned, t))
        return JANUS_OK;
    janus_tensor_release(t);
    return JN_NO_MEMORY();
}

static bool same_key(const jn_grad_key *a, const jn_grad_key *b) {
    return a->saved == b->saved && a->given == b->given && a->row == b->row && a->sum == b->sum;
}

const jn_grad_rule *jn_grad_rule_get(jn_grad_work *w, jn_call_kind *k, const jn_grad_key *key,
                                     const jn_type *types) {
    jn_deferrals_lock();
    jn_grad_rule *g = k->grads;
    while (g && !same_key(&g->key, key))
        g = g->next;
    if (!g && (g = jn_grad_rule_new(k, key, types, w->run.set))) {
        g->next = k->grads;
        k->grads = g;
    }
    jn_deferrals_unlock();
    return g && !g->alone ? g : NULL;
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

static jn_task **make_tasks(jn_grad_work *w, const jn_grad_rule *g, const jn_grad_row *row,
                            uint32_t n, jn_acc **accs) {
    static char nothing[16]; /* what only the type is read of */
    const jn_segment *seg = &g->seg;
    jn_arena *a = &w->run.mem->tasks;
    jn_task **task = jn_arena_alloc(a, n * sizeof *task);
    size_t bytes = sizeof(jn_task) + seg->n_outputs * sizeof(jn_tval) +
                   seg->n_inputs * (sizeof(jn_tval *) + sizeof(jn_tval)) +
                   seg->n_scalars * sizeof(int64_t);
    bytes = (bytes + 15) & ~(size_t)15;
    char *block = jn_arena_zalloc(a, n * bytes);
    if (!task || !block)
        return NULL;
    for (uint32_t r = 0; r < n; r++, block += bytes) {
        jn_task *t = task[r] = (jn_task *)(void *)block;
        t->inst = g->inst;
        t->accs = accs;
        t->in = (jn_tval **)&t->out[seg->n_outputs];
        t->scalars = (int64_t *)(t->in + seg->n_inputs);
        jn_tval *value = (jn_tval *)(t->scalars + seg->n_scalars);
        for (uint32_t i = 0; i < seg->n_outputs; i++)
            t->out[i] = (jn_tval){.shape = g->inst->out[i], .task = t};
        for (uint32_t i = 0; i < seg->n_inputs; i++) {
            jn_grad_source s = g->input[i];
            value[i].data = s.from == JN_GRAD_TYPE    ? nothing
                            : s.from == JN_GRAD_GIVEN ? row[r].given[s.index]
                                                      : (char *)(uintptr_t)row[r].value[s.index];
            value[i].shape = g->inst->in[i];
            t->in[i] = &value[i];
        }
        for (uint32_t i = 0; i < seg->n_scalars; i++)
            if (!seg->scalars[i].is_const)
                memcpy(&t->scalars[i], row[r].value[g->scalar[i]], sizeof t->scalars[i]);
    }
    return task;
}

/* Results that all rows share are in one place, and nobody's alone. */
static bool own(const jn_grad_rule *g, jn_task *const *task, uint32_t n, const jn_grad_din *d) {
    if (d->from != JN_GRAD_OUTPUT || d->shared)
        return false;
    size_t bytes = g->inst->out[d->index]->bytes;
    return n < 2 || (bytes && task[0]->out[d->index].data != task[1]->out[d->index].data);
}

static void take_results(const jn_grad_rule *g, jn_grad_row *row, jn_task *const *task,
                         uint32_t n) {
    uint8_t fresh = 0;
    for (unsigned i = 0; i < g->n_in; i++)
        if (g->key.row >> i & 1 && own(g, task, n, &g->din[i]))
            fresh |= (uint8_t)(1u << i);
    for (uint32_t r = 0; r < n; r++) {
        row[r].fresh = fresh;
        for (unsigned i = 0; i < g->n_in; i++) {
            const jn_grad_din *d = &g->din[i];
            if (!(g->key.row >> i & 1))
                continue;
            row[r].din[i] = d->from == JN_GRAD_OUTPUT  ? task[r]->out[d->index].data
                            : d->from == JN_GRAD_GIVEN ? row[r].given[d->index]
                            : d->from == JN_GRAD_VALUE ? (char *)(uintptr_t)row[r].value[d->index]
                                                       : NULL;
        }
    }
}

janus_status jn_grad_rule_run(jn_grad_work *w, const jn_grad_rule *g, jn_grad_row *row, uint32_t n,
                              jn_acc *const *sum) {
    jn_acc *accs[JN_RECIPE_IN];
    for (uint32_t i = 0; i < g->seg.n_accs; i++)
        accs[i] = sum[g->acc_operand[i]];
    if (!g->seg.n_nodes) { /* cotangents go on as they are */
        take_results(g, row, NULL, n);
        return JANUS_OK;
    }
    jn_deferrals_lock();
    jn_task **task = make_tasks(w, g, row, n, accs), **order = NULL;
    if (task) /* a group may put its rows into another order */
        order = jn_arena_dup(&w->run.mem->tasks, task, n * sizeof *task);
    jn_lane lane = {.run = &w->run};
    janus_status st = order ? jn_group_run(&lane, g->inst, order, n) : JN_NO_MEMORY();
    if (st == JANUS_OK)
        take_results(g, row, task, n);
    jn_arena_reset(&w->run.mem->tasks);
    jn_deferrals_unlock();
    return st;
}

/* ---- sums ---------------------------------------------------------------------------------------
 */

janus_status jn_grad_sum_new(jn_grad_work *w, const jn_type *type, jn_acc **out) {
    jn_deferrals_lock();
    jn_tval like = {.shape = jn_shape_intern(&w->run.set->shapes, (janus_dtype)type->dtype,
                                             type->rank, type->dims)};
    janus_status st = like.shape ? jn_acc_new(&w->run, &like, out) : JN_NO_MEMORY();
    jn_deferrals_unlock();
    return st;
}

janus_status jn_grad_sum_data(jn_grad_work *w, jn_acc *a, char **out) {
    jn_tval *v;
    jn_deferrals_lock();
    janus_status st = jn_acc_get(&w->run, a, &v);
    if (st == JANUS_OK && v->rows)
        st = jn_rows_fill(&w->run, v);
    if (st == JANUS_OK)
        *out = v->data;
    jn_deferrals_unlock();
    return st;
}

janus_status jn_grad_sum_take(jn_grad_work *w, jn_acc *a, janus_tensor **out) {
    jn_tval *v;
    JN_TRY(jn_acc_get(&w->run, a, &v));
    if (v->rows)
        return jn_rows_export(&w->run, v, out);
    if (v->tensor) {
        janus_tensor_retain(*out = v->tensor);
        return JANUS_OK;
    }
    JN_TRY(jn_tensor_empty((janus_dtype)v->shape->dtype, v->shape->rank, v->shape->dims, out));
    memcpy(jn_tensor_place(*out), v->data, v->shape->bytes);
    return JANUS_OK;
}

janus_status jn_grad_sum_tensor(jn_grad_work *w, jn_acc *a, janus_tensor **out) {
    jn_deferrals_lock();
    janus_status st = jn_grad_sum_take(w, a, out);
    jn_deferrals_unlock();
    return st;
}
