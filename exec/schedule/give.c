/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large results are computed where the caller gets them.
 *
 * What a group computes lies in the run's memory, and a result is copied from there to a tensor of
 * its own.  A large result of one task, known to be one since the host strand has finished, gets
 * the tensor first.  Frames that outlive the run may refer to what a run computes, and a program
 * may write to its results: with frames all is copied as ever.
 */
#include "config.h"

#include "exec/schedule/schedule.h"
#include "exec/store/store.h"

enum { LEAST_BYTES = 64 << 10 /* a copy of fewer costs next to nothing */ };

static bool can_give(const jn_run *r, const jn_tval *v, size_t bytes) {
    bool is_result = false;
    size_t given = 0;
    if (bytes < LEAST_BYTES)
        return false;
    for (size_t i = 0; i < r->mem->given.n; i++)
        given += r->mem->given.data[i].of->shape->bytes;
    if (!r->finished || r->keeps || !jn_computes_here(r->on) || r->trace || r->result_memory ||
        !r->results || r->mem->bytes + given + bytes > r->mem->ceiling)
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
