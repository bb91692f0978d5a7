/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small blocks, in chunks of one size each.
 *
 * A class is a multiple of 64 bytes, once more for what lies apart.  Each thread has a heap: for
 * every class the chunks that have room.  A program that records ops, or a tape, makes tens of
 * thousands of small blocks and frees them in another order.  One list of free blocks would hand
 * them out in that order from then on, each from another page; here blocks that are made one after
 * the other lie side by side, since a chunk gives all it has before the next one is taken, and an
 * empty one begins anew.  (Lists that are sharded by page: Leijen et al., Mimalloc, 2019.)
 *
 * A block that another thread frees goes to a list of the heap it came from, which that heap's
 * thread empties when it has no room left.  When a thread ends, its heap waits for the next thread
 * that needs one, with whatever blocks are still in use.
 */
#include "exec/store/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "exec/store/thread.h"
#include "graph/base/alloc.h"
#include "graph/base/parts.h"
#include "graph/base/status.h"

enum {
    GRAIN = 64,
    SIZES = JN_POOL_MAX / GRAIN,
    CLASSES = 2 * SIZES,      /* of each size, one for blocks that lie apart */
    CHUNK = 1 << 16,          /* a block's chunk begins at the multiple of this below it */
    CHUNK_BYTES = CHUNK - 64, /* leaves the C library room for its own between two of them */
    MOST_EMPTY = 512          /* chunks that a heap keeps: 32 MiB */
};

typedef struct block {
    struct block *next;
} block;

typedef struct chunk {
    struct jn_heap *heap;
    block *free;
    char *bump, *end;          /* from here on nothing was handed out yet */
    struct chunk *next, *prev; /* those of its class with room; empty ones by `next` */
    uint32_t used;
    uint16_t class;
    bool listed;
} chunk;

typedef struct jn_heap {
    chunk *room[CLASSES]; /* the first is the one that blocks are taken from */
    chunk *last[CLASSES];
    chunk *empty, *last_empty; /* of no class; the first that was emptied comes first */
    unsigned n_empty;
    _Atomic(block *) foreign; /* freed by other threads */
    struct jn_heap *next;     /* in `idle` */
} heap;

_Thread_local jn_thread jn_this;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static heap *idle; /* under `lock` */
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static chunk *chunk_of(void *p) { return (chunk *)((uintptr_t)p & ~(uintptr_t)(CHUNK - 1)); }

/* ---- chunks with room --------------------------------------------------------------------------
 */

static void list(heap *h, chunk *k) {
    k->next = NULL;
    k->prev = h->last[k->class];
    if (k->prev)
        k->prev->next = k;
    else
        h->room[k->class] = k;
    h->last[k->class] = k;
    k->listed = true;
}

static void unlist(heap *h, chunk *k) {
    *(k->prev ? &k->prev->next : &h->room[k->class]) = k->next;
    *(k->next ? &k->next->prev : &h->last[k->class]) = k->prev;
    k->listed = false;
}

static void begin(chunk *k, size_t class) {
    size_t size = (class % SIZES + 1) * GRAIN;
    k->free = NULL;
    k->bump = (char *)k + (sizeof *k + GRAIN - 1) / GRAIN * GRAIN;
    k->end = k->bump + ((char *)k + CHUNK_BYTES - k->bump) / size * size;
    k->used = 0;
    k->class = (uint16_t) class;
}

/* No block of k is in use. */
static void emptied(heap *h, chunk *k) {
    if (k->listed)
        unlist(h, k);
    if (h->n_empty >= MOST_EMPTY) {
        jn_chunk_free(k);
        return;
    }
    k->next = NULL;
    *(h->empty ? &h->last_empty->next : &h->empty) = k;
    h->last_empty = k;
    h->n_empty++;
}

/* A block of k is free that was not, or k is empty. */
static void freed_some(heap *h, chunk *k) {
    if (!k->used && h->room[k->class] != k)
        emptied(h, k);
    else if (!k->listed)
        list(h, k);
}

static inline void give_back(heap *h, chunk *k, block *b) {
    b->next = k->free;
    k->free = b;
    k->used--;
    if (JN_UNLIKELY(!k->listed || (!k->used && h->room[k->class] != k)))
        freed_some(h, k);
}

static void take_foreign(heap *h) {
    block *b = atomic_exchange_explicit(&h->foreign, NULL, memory_order_acquire);
    for (block *next; b; b = next) {
        next = b->next;
        give_back(h, chunk_of(b), b);
    }
}

/* ---- heaps -------------------------------------------------------------------------------------
 */

static void let_empty_go(heap *h) {
    for (size_t c = 0; c < CLASSES; c++)
        for (chunk *k = h->room[c], *next; k; k = next) {
            next = k->next;
            if (!k->used) {
                unlist(h, k);
                jn_chunk_free(k);
            }
        }
    for (chunk *next; h->empty; h->empty = next) {
        next = h->empty->next;
        jn_chunk_free(h->empty);
    }
    h->last_empty = NULL;
    h->n_empty = 0;
}

static void at_thread_end(void *heap_of_it) {
    heap *h = heap_of_it;
    take_foreign(h);
    let_empty_go(h);
    jn_this.heap =
        NULL; /* what other destructors of this thread allocate comes from another heap */
    pthread_mutex_lock(&lock);
    h->next = idle;
    idle = h;
    pthread_mutex_unlock(&lock);
}

static void make_key(void) { (void)pthread_key_create(&key, at_thread_end); }

/* NULL: out of memory. */
static heap *heap_of_thread(void) {
    pthread_once(&once, make_key);
    pthread_mutex_lock(&lock);
    heap *h = idle;
    if (h)
        idle = h->next;
    pthread_mutex_unlock(&lock);
    if (!h && (h = jn_chunk_alloc(sizeof *h, GRAIN)))
        memset(h, 0, sizeof *h);
    if (h)
        (void)pthread_setspecific(key, h);
    return jn_this.heap = h;
}

/* ---- blocks ------------------------------------------------------------------------------------
 */

static bool has_room(const chunk *k) { return k->free || k->bump < k->end; }

/* A chunk with room, the first of its class from now on; NULL: out of memory. */
static chunk *more_room(heap *h, size_t class) {
    for (chunk *k; (k = h->room[class]) && !has_room(k);)
        unlist(h, k);
    if (!h->room[class])
        take_foreign(h);
    if (h->room[class])
        return h->room[class];
    chunk *k = h->empty;
    if (k) {
        h->empty = k->next;
        h->n_empty--;
    } else if ((k = jn_chunk_alloc(CHUNK_BYTES, CHUNK))) {
        k->heap = h;
    } else {
        return NULL;
    }
    begin(k, class);
    list(h, k);
    return k;
}

static inline void *take(jn_thread *me, size_t size, size_t first_class) {
    size_t sized = (size - (size > 0)) / GRAIN, class = first_class + sized;
    if (JN_UNLIKELY(sized >= SIZES))
        return jn_alloc_aligned(size);
    if (JN_UNLIKELY(jn_alloc_watched()) && !jn_alloc_count())
        return NULL;
    heap *h = me->heap;
    chunk *k = h ? h->room[class] : NULL;
    if (JN_UNLIKELY(!k || !has_room(k))) {
        if ((!h && !(h = heap_of_thread())) || !(k = more_room(h, class))) {
            if (jn_alloc_watched())
                jn_alloc_uncount();
            return NULL;
        }
    }
    k->used++;
    block *b = k->free;
    if (b) {
        k->free = b->next;
        __builtin_prefetch(b->next); /* which the next call reads; it may have left the cache */
        return b;
    }
    void *p = k->bump;
    k->bump += (sized + 1) * GRAIN;
    return p;
}

void *jn_pool_take(jn_thread *me, size_t size) { return take(me, size, 0); }
void *jn_pool_alloc(size_t size) { return jn_pool_take(&jn_this, size); }
void *jn_pool_alloc_apart(jn_thread *me, size_t size) { return take(me, size, SIZES); }

void jn_pool_free(void *p, size_t size) {
    if (!p)
        return;
    if (JN_UNLIKELY(size > JN_POOL_MAX)) {
        jn_free_aligned(p);
        return;
    }
    if (JN_UNLIKELY(jn_alloc_watched()))
        jn_alloc_uncount();
    chunk *k = chunk_of(p);
    block *b = p;
    if (JN_LIKELY(k->heap == jn_this.heap)) {
        give_back(k->heap, k, b);
        return;
    }
    _Atomic(block *) *foreign = &k->heap->foreign;
    b->next = atomic_load_explicit(foreign, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(foreign, &b->next, b, memory_order_release,
                                                  memory_order_relaxed))
        ;
}

void jn_pool_trim(void) {
    heap *mine = jn_this.heap;
    if (mine) {
        take_foreign(mine);
        let_empty_go(mine);
    }
    pthread_mutex_lock(&lock);
    for (heap *h = idle; h; h = h->next) {
        take_foreign(h);
        let_empty_go(h);
    }
    pthread_mutex_unlock(&lock);
}

void jn_memory_trim(void) {
    enum { WORTH = 4 << 20 }; /* less is asked for again before it matters */
    const heap *h = jn_this.heap;
    if ((h ? (size_t)h->n_empty * CHUNK : 0) + jn_alloc_kept() < WORTH)
        return;
    jn_pool_trim();
    jn_alloc_trim();
}
