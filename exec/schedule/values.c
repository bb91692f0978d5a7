/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a run: bound, computed when asked for, read, and given to who gets them. */
#include "config.h"

#include "exec/device/device.h"
#include "exec/eager/eager.h"
#include "exec/schedule/rows.h"
#include "exec/schedule/schedule.h"
#include "exec/state/state.h"
#include "exec/store/store.h"
#include "graph/base/status.h"
#include "ops/ref/ref.h"

janus_status jn_tval_force(jn_run *r, jn_tval *v) {
    if (jn_tval_ready(v))
        return JANUS_OK;
    if (v->rows)
        return jn_rows_fill(r, v);
    JN_TRY(jn_flush(r));
    return v->data ? JANUS_OK : jn_error(JANUS_INTERNAL, "a promised tensor was not computed");
}

bool jn_is_shape_of(const jn_shape *s, const janus_tensor *t) {
    if (!s || s->dtype != t->dtype || s->rank != t->rank)
        return false;
    int d = 0;
    while (d < t->rank && s->dims[d] == t->dims[d])
        d++;
    return d == t->rank;
}

/* The tensors that a recursion meets, or the models that are merged, have few shapes. */
static const jn_shape *bound_shape(jn_planset *set, const janus_tensor *t) {
    uint64_t key = t->dtype + 16 * (uint64_t)t->rank;
    for (int d = 0; d < t->rank; d++)
        key = (key ^ (uint64_t)t->dims[d]) * 11400714819323198485u;
    const jn_shape **at = &set->bound[key >> 32 & (JN_BOUND_SHAPES - 2)];
    for (int i = 0; i < 2; i++)
        if (jn_is_shape_of(at[i], t))
            return at[i];
    const jn_shape *s = jn_shape_intern(&set->shapes, (janus_dtype)t->dtype, t->rank, t->dims);
    at[1] = at[0];
    if (s)
        at[0] = s;
    return s;
}

janus_status jn_tval_bind(jn_run *r, janus_tensor *t, janus_object o, const jn_shape **last,
                          jn_tval **out) {
    jn_bound *b = jn_arena_alloc(&r->mem->tasks, sizeof *b);
    if (!b || !jn_vec_reserve(&r->mem->owned, r->mem->owned.n + 2))
        return JN_NO_MEMORY();
    const jn_shape *shape = last && jn_is_shape_of(*last, t) ? *last : bound_shape(r->set, t);
    if (last)
        *last = shape;
    if (!shape)
        return jn_error(JANUS_NO_MEMORY, "no memory for a tensor's shape");
    janus_tensor *dense;
    if (JN_UNLIKELY(t->storage->device != r->dev))
        JN_TRY(jn_tensor_to(t, r->dev, false, &dense));
    else
        JN_TRY(jn_tensor_contiguous(t, &dense));
    r->mem->owned.data[r->mem->owned.n++] = dense;
    if (dense != t) {
        janus_tensor_retain(t);
        r->mem->owned.data[r->mem->owned.n++] = t;
    }
    char *data;
    JN_TRY(jn_tensor_data(dense, &data));
    *b = (jn_bound){{data, shape, NULL, t, dense, NULL}, o};
    *out = &b->v;
    return JANUS_OK;
}

/* ---- going out ----------------------------------------------------------------------------------
 */

/*
 * Large results are computed where the caller gets them.
 *
 * What a group computes lies in the run's memory, and a result is copied from there to a tensor of
 * its own.  A large result of one task, known to be one since the host strand has finished, gets
 * the tensor first.  Frames that outlive the run may refer to what a run computes, and a program
 * may write to its results: with frames all is copied as ever, but for a run aside, of which the
 * program gets nothing.
 */
enum { LEAST_BYTES = 64 << 10 /* a copy of fewer costs next to nothing */ };

static bool can_give(const jn_run *r, const jn_tval *v, size_t bytes) {
    bool is_result = false;
    size_t given = 0;
    if (bytes < LEAST_BYTES)
        return false;
    for (size_t i = 0; i < r->mem->given.n; i++)
        given += r->mem->given.data[i].of->shape->bytes;
    if (!r->finished || (r->keeps && !r->aside) || !jn_computes_here(r->on) ||
        r->of_schedule.trace || r->of_schedule.result_memory || !r->results ||
        r->mem->bytes + given + bytes > r->mem->ceiling)
        return false;
    for (size_t i = 0; i < r->sub->results.n; i++) {
        uint8_t kind = (uint8_t)r->sub->result_types.data[i]->kind;
        if (kind == JANUS_KIND_FRAME)
            return false;
        is_result |= kind == JANUS_KIND_TENSOR && r->results[i].t == v;
    }
    return is_result;
}

char *jn_give_memory(jn_run *r, const jn_tval *v, size_t bytes) {
    janus_tensor *t;
    char *data;
    if (!can_give(r, v, bytes) || !jn_vec_reserve(&r->mem->given, r->mem->given.n + 1) ||
        jn_tensor_empty((janus_dtype)v->shape->dtype, v->shape->rank, v->shape->dims, &t) !=
            JANUS_OK)
        return NULL;
    r->mem->given.data[r->mem->given.n++] = (jn_given){t, v};
    if (JN_UNLIKELY(r->of_schedule.list != NULL)) /* what is written there is the caller's */
        r->of_schedule.list->spoiled = true;
    return jn_tensor_data(t, &data) == JANUS_OK ? data : NULL;
}

janus_tensor *jn_give_take(jn_run *r, const jn_tval *v) {
    for (size_t i = 0; i < r->mem->given.n; i++) {
        jn_given found = r->mem->given.data[i];
        if (found.of != v)
            continue;
        r->mem->given.data[i] = r->mem->given.data[--r->mem->given.n];
        return found.tensor;
    }
    return NULL;
}

janus_tensor *jn_give_lend(const jn_run *r, const jn_tval *v) {
    for (size_t i = 0; i < r->mem->given.n; i++) {
        if (r->mem->given.data[i].of != v)
            continue;
        janus_tensor_retain(r->mem->given.data[i].tensor);
        return r->mem->given.data[i].tensor;
    }
    return NULL;
}

janus_status jn_tval_export(jn_run *r, jn_tval *v, janus_tensor **out) {
    JN_TRY(jn_tval_force(r, v));
    if (v->tensor) {
        janus_tensor_retain(v->tensor);
        *out = v->tensor;
        return JANUS_OK;
    }
    janus_tensor *t;
    if (r->mem->given.n && (*out = jn_give_take(r, v)))
        return JANUS_OK;
    const jn_shape *l = v->shape;
    JN_TRY(r->dev ? jn_dev_tensor(r->dev, (janus_dtype)l->dtype, l->rank, l->dims, &t)
                  : jn_tensor_dense((janus_dtype)l->dtype, l->rank, l->dims, l->strides, l->numel,
                                    &t));
    janus_status st = r->on->move(r->dev, jn_tensor_ready_data(t), v->data, l->bytes);
    if (st == JANUS_OK)
        *out = t;
    else
        janus_tensor_release(t);
    return st;
}

/* ---- elements -----------------------------------------------------------------------------------
 */

janus_status jn_read_item(jn_run *r, jn_tval *v, janus_kind kind, jn_slot *out) {
    if (!v)
        return jn_error(JANUS_INTERNAL, "item of an absent tensor");
    if (v->shape->numel != 1)
        return jn_error(JANUS_SHAPE, "item: expected a tensor of one element, got %lld",
                        (long long)v->shape->numel);
    JN_TRY(jn_tval_force(r, v));
    double f = 0;
    int64_t i = 0, here = 0;
    char *data = v->data;
    if (!jn_computes_here(r->on)) {
        JN_TRY(r->on->get(r->dev, &here, data, v->shape->bytes));
        data = (char *)&here;
    }
    switch (v->shape->dtype) {
    case JANUS_F32:
        f = *(const float *)data;
        break;
    case JANUS_F64:
        f = *(const double *)data;
        break;
    case JANUS_I32:
        i = *(const int32_t *)data;
        break;
    case JANUS_I64:
        i = *(const int64_t *)data;
        break;
    case JANUS_BOOL:
    case JANUS_U8:
        i = *(const uint8_t *)data;
        break;
    default: {
        jn_view half = {data, NULL, NULL, 0, v->shape->dtype, true};
        f = jn_load_f(&half, 0);
    }
    }
    bool is_float = jn_dtype_is_float(v->shape->dtype);
    if (kind == JANUS_KIND_FLOAT)
        out->f = is_float ? f : (double)i;
    else if (kind == JANUS_KIND_BOOL)
        out->i = is_float ? f != 0 : i != 0;
    else if (is_float && !(f >= -9223372036854775808.0 && f < 9223372036854775808.0))
        return jn_error(JANUS_ARITHMETIC, "item: %g does not fit an int", f);
    else
        out->i = is_float ? (int64_t)f : i;
    return JANUS_OK;
}
