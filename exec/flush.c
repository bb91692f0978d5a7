/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tensor strand: tasks are issued by the host strand and executed by flushes.
 *
 * A task's level is one more than the highest level among what it waits for, so tasks of one level
 * are independent, and those of one specialisation run as one group.  In exact mode tasks run one
 * by one in the order they were issued, which is the order of imperative execution.
 */
#include "config.h"

#include <string.h>

#include "exec/dev_schedule.h"
#include "exec/device.h"
#include "exec/rows.h"
#include "exec/run_internal.h"
#include "graph/base/status.h"

enum { /* what starts a flush by itself: pending tasks, bytes of their outputs */
       FLUSH_AT = 1 << 18,
       FLUSH_BYTES = 256 << 20
};

static janus_status specialise_task(jn_run *r, jn_segment *seg, jn_task *t, jn_slot *slots) {
    const jn_shape *in_buf[32], **in = in_buf;
    if (seg->n_inputs > 32) {
        in = jn_arena_alloc(&r->mem->arena, seg->n_inputs * sizeof *in);
        if (!in)
            return JN_NO_MEMORY();
    }
    for (uint32_t i = 0; i < seg->n_inputs; i++) {
        jn_tval *v = slots[seg->input_slot[i]].t;
        if (JN_UNLIKELY(!v))
            return jn_error(JANUS_INTERNAL, "a tensor operand of segment %u is absent", seg->id);
        if (JN_UNLIKELY(v->rows && !v->data))
            JN_TRY(jn_rows_fill(r, v));
        t->in[i] = v;
        in[i] = v->shape;
        if (v->task && !v->task->done && v->task->level >= t->level)
            t->level = v->task->level + 1;
    }
    for (uint32_t i = 0; i < seg->n_scalars; i++)
        t->scalars[i] =
            seg->scalars[i].is_const ? seg->scalars[i].value : slots[seg->scalars[i].slot].i;
    /* the usual case: same shapes as last time */
    jn_segment *like = seg->twin ? seg->twin : seg;
    jn_seginst *last = like->insts;
    bool hit = last != NULL;
    for (uint32_t i = 0; hit && i < seg->n_inputs; i++)
        hit = last->in[i] == in[i];
    for (uint32_t i = 0; hit && i < seg->n_scalars; i++)
        hit = !seg->scalars[i].shape || last->scalars[i] == t->scalars[i];
    t->inst = last;
    return hit ? JANUS_OK : jn_segment_specialise(like, r->set, in, t->scalars, &t->inst);
}

janus_status jn_issue(jn_run *r, jn_segment *seg, jn_slot *slots) {
    size_t bytes = sizeof(jn_task) + seg->n_outputs * sizeof(jn_tval) +
                   seg->n_inputs * sizeof(jn_tval *) + seg->n_scalars * sizeof(int64_t) +
                   seg->n_accs * sizeof(jn_acc *);
    jn_task *t = jn_arena_alloc(&r->mem->tasks, bytes);
    if (!t)
        return JN_NO_MEMORY();
    t->next = NULL;
    t->level = t->done = 0;
    t->in = (jn_tval **)&t->out[seg->n_outputs];
    t->scalars = (int64_t *)(t->in + seg->n_inputs);
    t->accs = (jn_acc **)(t->scalars + seg->n_scalars);
    JN_TRY(specialise_task(r, seg, t, slots));
    for (uint32_t i = 0; i < seg->n_accs; i++) {
        t->accs[i] = slots[seg->acc_slot[i]].acc;
        if (JN_UNLIKELY(!t->accs[i]))
            return jn_error(JANUS_INTERNAL, "an accumulator of segment %u is absent", seg->id);
        if (t->accs[i]->read)
            return jn_error(JANUS_INVALID_ARGUMENT, "acc.add after acc.get of one accumulator");
    }
    for (uint32_t i = 0; i < seg->n_outputs; i++) {
        t->out[i] = (jn_tval){.shape = t->inst->out[i], .task = t};
        r->pending_bytes += t->inst->out[i]->bytes;
        slots[seg->output_slot[i]].t = &t->out[i];
    }
    if (t->level > r->max_level)
        r->max_level = t->level;
    *r->pending_tail = t;
    r->pending_tail = &t->next;
    return ++r->n_pending < FLUSH_AT && r->pending_bytes < FLUSH_BYTES ? JANUS_OK : jn_flush(r);
}

static janus_status run_in_order(jn_run *r, jn_task *first) {
    uint32_t n = 0;
    for (jn_task *t = first; t; t = t->next) {
        if ((++n & 63) == 0)
            JN_TRY(jn_run_poll(r));
        JN_TRY(jn_group_run(r, t->inst, &t, 1));
    }
    return JANUS_OK;
}

/* Tasks of one level, in issue order: grouped by specialisation, groups in order of first task. */
static janus_status run_level(jn_run *r, jn_task **task, uint32_t n, jn_task **grouped) {
    JN_VEC(jn_seginst *) insts = {0};
    janus_status st = JANUS_OK;
    for (uint32_t i = 0; i < n && st == JANUS_OK; i++) {
        jn_seginst *inst = task[i]->inst;
        if (inst->bucket_n == 0) {
            inst->bucket_tail = &inst->bucket;
            if (!jn_vec_push(&insts, inst))
                st = JN_NO_MEMORY();
        }
        *inst->bucket_tail = task[i];
        inst->bucket_tail = &task[i]->next;
        inst->bucket_n++;
    }
    for (size_t k = 0; k < insts.n; k++) {
        jn_seginst *inst = insts.data[k];
        jn_task *t = inst->bucket;
        uint32_t rows = inst->bucket_n;
        for (uint32_t i = 0; i < rows; i++, t = t->next)
            grouped[i] = t;
        inst->bucket_n = 0;
        if (st == JANUS_OK)
            st = jn_run_poll(r);
        if (st == JANUS_OK)
            st = jn_group_run(r, inst, grouped, rows);
    }
    jn_vec_free(&insts);
    return st;
}

static janus_status run_by_level(jn_run *r, jn_task *first, uint32_t n, uint32_t max_level) {
    jn_task **order = jn_alloc(2 * (size_t)n * sizeof(jn_task *));
    uint32_t *start = jn_calloc((size_t)max_level + 2, sizeof *start);
    janus_status st = JANUS_OK;
    if (!order || !start) {
        st = JN_NO_MEMORY();
        goto done;
    }
    for (jn_task *t = first; t; t = t->next)
        start[t->level + 1]++;
    for (uint32_t l = 0; l <= max_level; l++)
        start[l + 1] += start[l];
    for (jn_task *t = first; t; t = t->next)
        order[start[t->level]++] = t;
    for (uint32_t l = 0, at = 0; l <= max_level && st == JANUS_OK; at = start[l], l++)
        if (start[l] > at)
            st = run_level(r, order + at, start[l] - at, order + n);
done:
    jn_free(order);
    jn_free(start);
    return st;
}

janus_status jn_flush_tasks(jn_run *r, jn_task *first, uint32_t n, uint32_t max_level) {
    return r->exact ? run_in_order(r, first) : run_by_level(r, first, n, max_level);
}

janus_status jn_flush(jn_run *r) {
    jn_task *first = r->pending;
    uint32_t n = r->n_pending, max_level = r->max_level;
    r->pending = NULL;
    r->pending_tail = &r->pending;
    r->n_pending = r->max_level = 0;
    r->pending_bytes = 0;
    if (!n)
        return JANUS_OK;
    return r->dev ? jn_schedule_flush(r, first, n, max_level)
                  : jn_flush_tasks(r, first, n, max_level);
}

janus_status jn_tval_force(jn_run *r, jn_tval *v) {
    if (v->data)
        return JANUS_OK;
    if (v->rows)
        return jn_rows_fill(r, v);
    JN_TRY(jn_flush(r));
    return v->data ? JANUS_OK : jn_error(JANUS_INTERNAL, "a promised tensor was not computed");
}

janus_status jn_tval_bind(jn_run *r, janus_tensor *t, janus_object o, jn_tval **out) {
    jn_bound *b = jn_arena_alloc(&r->mem->tasks, sizeof *b);
    if (!b || !jn_vec_reserve(&r->mem->owned, r->mem->owned.n + 1))
        return JN_NO_MEMORY();
    const jn_shape *shape =
        jn_shape_intern(&r->set->shapes, (janus_dtype)t->dtype, t->rank, t->dims);
    if (!shape)
        return jn_error(JANUS_NO_MEMORY, "no memory for a tensor's shape");
    janus_tensor *dense;
    if (JN_UNLIKELY(t->storage->device != r->dev))
        JN_TRY(jn_tensor_to(t, r->dev, false, &dense));
    else
        JN_TRY(jn_tensor_contiguous(t, &dense));
    r->mem->owned.data[r->mem->owned.n++] = dense;
    *b = (jn_bound){{dense->data, shape, NULL, t, dense, NULL}, o};
    *out = &b->v;
    return JANUS_OK;
}

janus_status jn_tval_export(jn_run *r, jn_tval *v, janus_tensor **out) {
    JN_TRY(jn_tval_force(r, v));
    if (v->tensor) {
        janus_tensor_retain(v->tensor);
        *out = v->tensor;
        return JANUS_OK;
    }
    janus_tensor *t;
    if (JN_UNLIKELY(r->dev != NULL)) {
        JN_TRY(jn_dev_tensor(r->dev, (janus_dtype)v->shape->dtype, v->shape->rank, v->shape->dims,
                             &t));
        janus_status st = jn_dev_move(r->dev, t->data, v->data, v->shape->bytes);
        if (st != JANUS_OK) {
            janus_tensor_release(t);
            return st;
        }
        *out = t;
        return JANUS_OK;
    }
    JN_TRY(jn_tensor_empty((janus_dtype)v->shape->dtype, v->shape->rank, v->shape->dims, &t));
    if (r->device != JN_DEVICE_NULL)
        memcpy(t->data, v->data, v->shape->bytes);
    *out = t;
    return JANUS_OK;
}
