/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device memory: size-class free lists per stream over the driver's stream-ordered pool.
 *
 * A block belongs to the stream it was taken for.  Freed, it goes to that stream's list at once:
 * whatever the stream does next comes after what used the block, so no wait is needed.  A block
 * that other streams have used (jn_dev_pool_used_by) makes its stream wait for them first.  When
 * the driver has no memory the lists are given back, the owner's `drop_idle` may free more, and the
 * driver is asked once again; then it is an error that changed nothing.
 *
 * Thread-safe.  Blocks that are taken while a capture is recorded come from a capture's own arena
 * (exec/device/dev_capture.h), never from here.
 */
#ifndef JN_EXEC_DEV_POOL_H
#define JN_EXEC_DEV_POOL_H

#include <pthread.h>

#include "graph/base/status.h"
#include "graph/base/vec.h"
#include "ops/device.h"

typedef struct jn_dev_stats {
    uint64_t allocated, allocated_peak; /* bytes in blocks that are taken */
    uint64_t reserved, reserved_peak;   /* bytes held from the driver */
    uint64_t taken, returned;           /* blocks, ever */
    uint64_t from_driver;               /* blocks the driver was asked for */
    uint64_t flushes, failures;         /* out of memory: list flushes, and errors */
} jn_dev_stats;

typedef struct jn_dev_block {
    void *data;
    size_t bytes;              /* of its class */
    void *stream;              /* it belongs to */
    struct jn_dev_block *next; /* in a free list */
    JN_VEC(void *) used_by;    /* other streams */
} jn_dev_block;

typedef struct jn_dev_list {
    void *stream;
    size_t bytes; /* the class */
    jn_dev_block *first;
    struct jn_dev_list *next; /* in the bucket of the table */
} jn_dev_list;

enum { JN_DEV_LIST_BUCKETS = 256 };
typedef struct jn_dev_pool {
    const jn_dev_api *api;
    pthread_mutex_t lock;
    jn_dev_list *lists[JN_DEV_LIST_BUCKETS];
    jn_dev_stats stats;
    void (*drop_idle)(void *user); /* frees what is kept without need; NULL: nothing */
    void *user;

} jn_dev_pool;

/* While this thread records a capture nothing may be taken. */
extern _Thread_local bool jn_dev_capturing;

void jn_dev_pool_init(jn_dev_pool *p, const jn_dev_api *api);
/* Gives everything in the lists back.  Blocks still taken stay valid and must not be freed later.
 */
void jn_dev_pool_done(jn_dev_pool *p);
/* Size of the class that serves `bytes`; 0: too large. */
size_t jn_dev_pool_class(size_t bytes);
janus_status jn_dev_pool_take(jn_dev_pool *p, size_t bytes, void *stream, jn_dev_block **out);
/* The block is also read or written by work put on `stream`. */
janus_status jn_dev_pool_used_by(jn_dev_pool *p, jn_dev_block *b, void *stream);
void jn_dev_pool_free(jn_dev_pool *p, jn_dev_block *b);
/* Gives the lists back to the driver; returns how many bytes. */
size_t jn_dev_pool_flush(jn_dev_pool *p);
jn_dev_stats jn_dev_pool_stats(jn_dev_pool *p);
void jn_dev_pool_reset_peaks(jn_dev_pool *p);

#endif
