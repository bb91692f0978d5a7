/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storages and tensors.
 *
 * A storage is a block of memory with an atomic reference count; a tensor is a strided view of one,
 * with its dims and strides inline.  Small blocks, tensors and storages come from per-thread free
 * lists (exec/pool.h): an eager op must not pay for malloc.  `version` counts in-place writes, for
 * the tape's saved-value check.
 */
#ifndef JN_EXEC_TENSOR_H
#define JN_EXEC_TENSOR_H

#include <stdatomic.h>

#include "graph/base/status.h"
#include "ops/kernel.h"

typedef struct jn_storage {
    atomic_int refs;
    uint32_t version;
    void *data;
    size_t bytes;
    void (*release)(void *user); /* foreign memory; NULL: ours */
    void *user;
    struct jn_device *device; /* whose memory it is (exec/device.h); NULL: host memory */
} jn_storage;

struct janus_tensor {
    atomic_int refs;
    uint8_t dtype;
    bool contiguous;
    uint8_t rank;
    bool in_storage; /* this struct lies in its storage's block; it never gets another storage */
    int64_t numel;
    char *data; /* storage->data + offset, first element */
    jn_storage *storage;
    int64_t *dims, *strides; /* point to inline_dims for rank <= 4, else to one block */
    int64_t inline_dims[8];
};

/* New storage of `bytes` (0 allowed). */
janus_status jn_storage_new(size_t bytes, jn_storage **out);
void jn_storage_retain(jn_storage *s);
void jn_storage_release(jn_storage *s);
/* New row-major tensor with its own storage, uninitialised. */
janus_status jn_tensor_empty(janus_dtype dtype, int rank, const int64_t *dims, janus_tensor **out);
/* View of `base`'s storage; offset in elements relative to base's first element. */
janus_status jn_tensor_view(janus_tensor *base, int rank, const int64_t *dims,
                            const int64_t *strides, int64_t offset, janus_tensor **out);
/* The two above with what the caller knows already: row-major strides and the number of elements;
 * a view's, and whether it is contiguous. */
janus_status jn_tensor_dense(janus_dtype dtype, int rank, const int64_t *dims,
                             const int64_t *strides, int64_t numel, janus_tensor **out);
janus_status jn_tensor_alias(janus_tensor *base, int rank, const int64_t *dims,
                             const int64_t *strides, int64_t offset, int64_t numel, bool contiguous,
                             janus_tensor **out);
/* Same elements, row-major: `t` itself retained when it is, else a copy. */
janus_status jn_tensor_contiguous(janus_tensor *t, janus_tensor **out);
/* Copies elements (same dims, any strides, dtype cast as in `cast`). */
janus_status jn_tensor_copy(janus_tensor *dst, janus_tensor *src);
/* New row-major tensor with the elements converted (exec/eager.c). */
janus_status jn_tensor_cast(janus_tensor *t, janus_dtype dtype, janus_tensor **out);
/* The same bytes elsewhere; a large block on all threads. */
void jn_copy_bytes(void *to, const void *from, size_t bytes);
/* The bytes that a tensor touches, as a half-open range. */
void jn_tensor_extent(const janus_tensor *t, const char **lo, const char **hi);
/* Whether the byte ranges two tensors lie in meet; whether they are the same elements in order. */
bool jn_tensor_overlap(const janus_tensor *a, const janus_tensor *b);
bool jn_tensor_same_view(const janus_tensor *a, const janus_tensor *b);
static inline jn_view jn_tensor_as_view(const janus_tensor *t) {
    return (jn_view){t->data, t->dims, t->strides, t->rank, t->dtype, t->contiguous};
}
static inline jn_type jn_tensor_as_type(const janus_tensor *t) {
    return jn_tensor_type((janus_dtype)t->dtype, t->rank, t->dims);
}

#endif
