/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of rows: their storage's owner is the list of rows. */
#include "config.h"

#include "exec/store/tensor_rows.h"

#include <string.h>

#include "graph/base/alloc.h"

typedef struct rows {
    uint32_t n;
    size_t row_bytes;
    janus_tensor *base;
    uint32_t *index;
    char *data;
} rows;

static void rows_free(void *user) {
    rows *r = user;
    janus_tensor_release(r->base);
    jn_free(r);
}

bool jn_tensor_is_rows(const janus_tensor *t) { return t->storage->state == JN_STORAGE_ROWS; }

janus_status jn_tensor_of_rows(janus_dtype dtype, int rank, const int64_t *dims, uint32_t n,
                               const uint32_t *index, const void *data, janus_tensor *base,
                               janus_tensor **out) {
    size_t row_bytes = jn_dtype_size(dtype);
    for (int i = 1; i < rank; i++)
        row_bytes *= (size_t)dims[i];
    rows *r = jn_alloc(sizeof *r + n * (row_bytes + sizeof *index) + 8);
    if (!r)
        return JN_NO_MEMORY();
    *r = (rows){n, row_bytes, base, (uint32_t *)(void *)(r + 1), NULL};
    r->data = (char *)(r->index + n + n % 2);
    memcpy(r->index, index, n * sizeof *index);
    memcpy(r->data, data, n * row_bytes);
    if (base)
        janus_tensor_retain(base);
    janus_status st = jn_tensor_over(dtype, rank, dims, NULL, NULL, rows_free, r, out);
    if (st != JANUS_OK) {
        rows_free(r);
        return st;
    }
    (*out)->storage->state = JN_STORAGE_ROWS;
    return JANUS_OK;
}

static void put(const rows *r, char *to) {
    for (uint32_t i = 0; i < r->n; i++)
        memcpy(to + r->index[i] * r->row_bytes, r->data + i * r->row_bytes, r->row_bytes);
}

janus_status jn_tensor_fill(janus_tensor *t) {
    if (!jn_tensor_is_rows(t))
        return JANUS_OK;
    rows *r = t->storage->user;
    janus_tensor *full;
    char *from = NULL;
    if (r->base)
        JN_TRY(jn_tensor_data(r->base, &from));
    JN_TRY(jn_tensor_empty((janus_dtype)t->dtype, t->rank, t->dims, &full));
    size_t bytes = (size_t)t->numel * jn_dtype_size((janus_dtype)t->dtype);
    if (from)
        memcpy(full->raw, from, bytes);
    else
        memset(full->raw, 0, bytes);
    put(r, full->raw);
    /* the memory changes hands: whoever holds `t` sees it */
    jn_storage *old = t->storage;
    t->storage = full->storage;
    t->raw = full->raw;
    full->storage = old;
    full->raw = old->raw;
    janus_tensor_release(full);
    return JANUS_OK;
}

bool jn_tensor_rows_fit(const janus_tensor *target, const janus_tensor *t) {
    if (!jn_tensor_is_rows(t))
        return false;
    const janus_tensor *base = ((const rows *)t->storage->user)->base;
    return base && base->storage == target->storage && target->storage->state == JN_STORAGE_READY &&
           base->raw == target->raw && target->contiguous && target->numel == t->numel &&
           target->dtype == t->dtype;
}

void jn_tensor_store_rows(janus_tensor *target, const janus_tensor *t) {
    put(t->storage->user, target->raw);
}
