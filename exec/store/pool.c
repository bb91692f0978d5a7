/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Free lists for small blocks.
 *
 * A class is a multiple of 64 bytes; a list is linked through the blocks' first word.  All
 * lists of a thread hold at most MOST_BYTES: programs that record ops, or a tape, make tens of
 * thousands of small blocks before they let go of any.  A thread's lists are emptied when it ends,
 * through a pthread key whose only purpose is that destructor.
 */
#include "exec/store/pool.h"

#include <pthread.h>
#include <stdint.h>

#include "graph/base/alloc.h"
#include "graph/base/status.h"

enum { GRAIN = 64, CLASSES = JN_POOL_MAX / GRAIN, MOST_BYTES = 32 << 20 };

typedef struct block {
    struct block *next;
} block;

typedef struct pool {
    block *head[CLASSES];
    size_t bytes; /* in the lists */
    int watched;  /* the key's destructor is armed for this thread */
} pool;

static _Thread_local pool local;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void at_thread_end(void *unused) {
    (void)unused;
    jn_pool_trim();
    local.watched = 0;
}

static void make_key(void) { (void)pthread_key_create(&key, at_thread_end); }

static void watch(void) {
    pthread_once(&once, make_key);
    (void)pthread_setspecific(key, &local);
    local.watched = 1;
}

void *jn_pool_alloc(size_t size) {
    size_t c = (size + GRAIN - 1) / GRAIN;
    if (JN_UNLIKELY(c == 0))
        c = 1;
    if (JN_UNLIKELY(c > CLASSES))
        return jn_alloc_aligned(size);
    block *b = local.head[c - 1];
    if (JN_LIKELY(b != NULL)) {
        local.head[c - 1] = b->next;
        __builtin_prefetch(b->next); /* which the next call reads; it may have left the cache */
        local.bytes -= c * GRAIN;
        return b;
    }
    return jn_alloc_aligned(c * GRAIN);
}

void jn_pool_free(void *p, size_t size) {
    if (!p)
        return;
    size_t c = (size + GRAIN - 1) / GRAIN;
    if (JN_UNLIKELY(c == 0))
        c = 1;
    if (JN_UNLIKELY(c > CLASSES || local.bytes >= MOST_BYTES)) {
        jn_free_aligned(p);
        return;
    }
    if (JN_UNLIKELY(!local.watched))
        watch();
    block *b = p;
    b->next = local.head[c - 1];
    local.head[c - 1] = b;
    local.bytes += c * GRAIN;
}

void jn_pool_trim(void) {
    for (int c = 0; c < CLASSES; c++) {
        for (block *b = local.head[c], *next; b; b = next) {
            next = b->next;
            jn_free_aligned(b);
        }
        local.head[c] = NULL;
    }
    local.bytes = 0;
}
