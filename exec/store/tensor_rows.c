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

jn_rows_view jn_tensor_rows(const janus_tensor *t) {
    const rows *r = t->storage->user;
    return (jn_rows_view){r->n, r->row_bytes, r->index, r->data, r->base};
}

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

janus_status jn_tensor_copy_of_rows(const janus_tensor *t, janus_tensor **out) {
    const rows *r = t->storage->user;
    return jn_tensor_of_rows((janus_dtype)t->dtype, t->rank, t->dims, r->n, r->index, r->data,
                             r->base, out);
}

static bool is_zero(const char *p, size_t bytes) { /* each bit: -0 is not */
    return !bytes || (!*p && !memcmp(p, p + 1, bytes - 1));
}

janus_status jn_tensor_squeeze(const janus_tensor *t, janus_tensor **out) {
    enum { FEW_PART = 4 };
    const jn_storage *s = t->storage;
    uint32_t most = 0, n = 0;
    *out = NULL;
    if (t->rank != 2 || !t->contiguous || s->state != JN_STORAGE_READY || s->device ||
        jn_storage_open(s) || atomic_load(&s->refs) != 1 || atomic_load(&t->refs) != 1 ||
        t->raw != s->raw || t->dims[0] >= UINT32_MAX || t->numel == 0)
        return JANUS_OK;
    size_t bytes = (size_t)t->dims[1] * jn_dtype_size((janus_dtype)t->dtype);
    most = (uint32_t)(t->dims[0] / FEW_PART);
    uint32_t *index = jn_alloc((most + 1) * sizeof *index);
    char *data = NULL;
    janus_status st = index ? JANUS_OK : JN_NO_MEMORY();
    for (uint32_t i = 0; i < t->dims[0] && n <= most && st == JANUS_OK; i++)
        if (!is_zero(t->raw + i * bytes, bytes))
            index[n++] = i; /* at most one more than there may be */
    if (st == JANUS_OK && n <= most && !(data = jn_alloc(n * bytes + 1)))
        st = JN_NO_MEMORY();
    for (uint32_t i = 0; i < n && data; i++)
        memcpy(data + i * bytes, t->raw + index[i] * bytes, bytes);
    if (data)
        st = jn_tensor_of_rows((janus_dtype)t->dtype, 2, t->dims, n, index, data, NULL, out);
    jn_free(data);
    jn_free(index);
    return st;
}

static void put(const rows *r, char *to) {
    for (uint32_t i = 0; i < r->n; i++)
        memcpy(to + r->index[i] * r->row_bytes, r->data + i * r->row_bytes, r->row_bytes);
}

/* The storage stays what it is, so whoever holds `t` sees it: it gets memory for all rows. */
janus_status jn_tensor_fill(janus_tensor *t) {
    if (!jn_tensor_is_rows(t))
        return JANUS_OK;
    jn_storage *s = t->storage;
    rows *r = s->user;
    char *from = NULL;
    if (r->base)
        JN_TRY(jn_tensor_data(r->base, &from));
    size_t bytes = (size_t)t->numel * jn_dtype_size((janus_dtype)t->dtype);
    char *to = jn_alloc_aligned(bytes);
    if (!to)
        return jn_error(JANUS_NO_MEMORY, "out of memory: a tensor of %zu bytes", bytes);
    if (from)
        memcpy(to, from, bytes);
    else
        memset(to, 0, bytes);
    put(r, to);
    rows_free(r);
    s->raw = t->raw = to;
    s->bytes = bytes;
    s->release = NULL;
    s->user = NULL;
    s->state = JN_STORAGE_READY;
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

static uint32_t print_of(char *from, const char *to) {
    const jn_storage part = {.raw = from, .bytes = (size_t)(to - from)};
    return jn_storage_print(&part);
}

uint32_t jn_tensor_print_beside(const janus_tensor *t) {
    const rows *r = t->storage->user;
    const jn_storage *s = r->base->storage;
    char *at = s->raw, *end = at + s->bytes, *first = r->base->raw;
    size_t n = (size_t)t->dims[0];
    uint8_t *is_row = jn_calloc(n + 1, 1);
    uint32_t print = 1;
    if (!is_row)
        return 0;
    for (uint32_t i = 0; i < r->n; i++)
        is_row[r->index[i]] = 1;
    for (size_t i = 0; i < n; i++) {
        if (!is_row[i])
            continue;
        print = print * 31 + print_of(at, first + i * r->row_bytes);
        at = first + (i + 1) * r->row_bytes;
    }
    jn_free(is_row);
    print = print * 31 + print_of(at, end);
    return print ? print : 1;
}
