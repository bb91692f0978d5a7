/* SPDX-License-Identifier: Apache-2.0 */
/* Interned shapes: compared by address when tasks are matched to specialisations. */
#include "config.h"

#include "exec/state/segment.h"

#include <string.h>
#include <uthash.h>

#include "graph/base/alloc.h"
#include "graph/base/checked.h"

typedef struct jn_shape_entry {
    jn_shape shape;
    UT_hash_handle hh;
    int64_t key[]; /* dtype, dims */
} jn_shape_entry;

static jn_shape_entry *find(jn_shape_entry *table, const int64_t *key, size_t len) {
    jn_shape_entry *e = NULL;
    HASH_FIND(hh, table, key, len, e);
    return e;
}

const jn_shape *jn_shape_intern(jn_shapes *s, janus_dtype dtype, int rank, const int64_t *dims) {
    int64_t key[JN_MAX_RANK + 1];
    if (rank < 0 || rank > JN_MAX_RANK)
        return NULL;
    size_t len = (size_t)(rank + 1) * sizeof *key;
    key[0] = dtype;
    if (rank)
        memcpy(key + 1, dims, (size_t)rank * sizeof *key);
    jn_shape_entry *e = find(s->table, key, len);
    if (e)
        return &e->shape;
    e = jn_arena_zalloc(&s->arena, sizeof *e + len);
    int64_t *strides = jn_arena_alloc(&s->arena, (size_t)(rank + 1) * sizeof *strides);
    if (!e || !strides)
        return NULL;
    memcpy(e->key, key, len);
    /* More than any address space holds is refused here: sums of sizes then need no checks. */
    const int64_t most = (INT64_C(1) << 48) / (int64_t)jn_dtype_size(dtype);
    int64_t n = 1;
    for (int i = rank; i-- > 0;) {
        strides[i] = n;
        if (!jn_mul_i64(n, dims[i] > 0 ? dims[i] : 1, &n) || n > most)
            return NULL;
    }
    for (int i = 0; i < rank; i++)
        if (dims[i] == 0)
            n = 0;
    e->shape = (jn_shape){(uint8_t)dtype, (int16_t)rank, n, (size_t)n * jn_dtype_size(dtype),
                          e->key + 1,     strides};
    HASH_ADD_KEYPTR(hh, s->table, e->key, len, e);
    return &e->shape;
}

void jn_shapes_free(jn_shapes *s) {
    HASH_CLEAR(hh, s->table);
    jn_arena_free(&s->arena);
}
