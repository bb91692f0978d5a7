/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large blocks that were freed, kept for the next one of their size.
 *
 * The C library gives large blocks back to the system at once, and every page of the next one costs
 * a fault and is cleared: for a tensor of a megabyte more than adding to it.  Sizes are rounded up
 * to an eighth of their power of two, so that a block fits the next of its class.
 *
 * What is held never makes the process larger than what was in use at once has: where a new block
 * would, one that is held and at most twice as large serves, or others are given back for it.  (A
 * run whose batches differ asks for a larger chunk now and then, and the smaller ones, which nobody
 * asks for again, were most of the memory of a process.)  At most a sixteenth of the machine's
 * memory is held: all of it is given back when another block would be too much, since what fills
 * it is not what is asked for, and when the system has no more to give.
 *
 * The lock is tried some times: who does not get it goes to the C library (so does the child of a
 * fork that happened while it was held).  Blocks of several huge pages ask for such: a fault for
 * two megabytes instead of 512, and fewer misses in a walk over a large weight.
 */
#include "config.h"

#include "graph/base/large.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef HAVE_MALLOC_USABLE_SIZE
#include <malloc.h>
#endif
#ifdef __linux__
#include <sys/mman.h>
#endif

/* The sanitizers want to see every block freed. */
#if defined(HAVE_MALLOC_USABLE_SIZE) && !defined(__SANITIZE_ADDRESS__)
#define JN_KEEPS 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#undef JN_KEEPS
#endif
#endif

enum { ALIGN_TENSOR = 64, HUGE_PAGE = 2 << 20, LEAST_HUGE = 4 << 20 };

static void *from_library(size_t size) {
#ifdef MADV_HUGEPAGE
    if (size >= LEAST_HUGE) {
        void *p;
        if (posix_memalign(&p, HUGE_PAGE, size) != 0)
            return NULL;
        (void)madvise(p, size & ~(size_t)(HUGE_PAGE - 1), MADV_HUGEPAGE);
        return p;
    }
#endif
    return aligned_alloc(ALIGN_TENSOR, size);
}

#ifdef JN_KEEPS

enum { FIRST_BIT = 16, LAST_BIT = 31, STEPS = 8, CLASSES = (LAST_BIT - FIRST_BIT) * STEPS };
enum {
    SHARE = 16, /* of the machine's memory */
    TRIES = 1000
};
static const size_t least_keep = (size_t)128 << 20;
_Static_assert((1 << FIRST_BIT) == JN_LARGE, "the first class");

typedef struct block {
    struct block *next;
} block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static block *blocks[CLASSES];
static size_t held, keep;        /* keep: 0 until asked for the first time */
static atomic_size_t used, most; /* bytes in use, and the most that ever were */

static bool locked(void) {
    for (int i = 0; i < TRIES; i++)
        if (pthread_mutex_trylock(&lock) == 0)
            return true;
    return false;
}

static int top_bit(size_t size) { return 63 - __builtin_clzll((unsigned long long)size); }

/* The class whose blocks are no larger than size; at least CLASSES: none. */
static int class_below(size_t size) {
    int bit = top_bit(size);
    return (bit - FIRST_BIT) * STEPS + (int)(size >> (bit - 3) & (STEPS - 1));
}
static size_t class_size(int c) {
    return ((size_t)STEPS + (size_t)(c % STEPS)) << (FIRST_BIT + c / STEPS - 3);
}

/* To the system.  The C library keeps the pages of a block that lies between others in use: what it
 * is given should not make the process larger than what is in use has.  Nor should small blocks
 * that it makes of the place later on, each of which would fill a huge page. */
static void give(block *b, size_t size) {
#ifdef MADV_NOHUGEPAGE
    if (size >= LEAST_HUGE)
        (void)madvise(b, size & ~(size_t)(HUGE_PAGE - 1), MADV_NOHUGEPAGE);
#endif
#ifdef MADV_DONTNEED
    long asked = sysconf(_SC_PAGESIZE);
    size_t page = asked > 0 ? (size_t)asked : size, skip = (page - (uintptr_t)b % page) % page;
    if (skip < size)
        (void)madvise((char *)b + skip, (size - skip) / page * page, MADV_DONTNEED);
#else
    (void)size;
#endif
    free(b);
}

/* The first block of the classes from c to `last`; NULL: none is held.  Under the lock. */
static block *take(int c, int last) {
    for (; c <= last && c < CLASSES; c++) {
        block *b = blocks[c];
        if (!b)
            continue;
        blocks[c] = b->next;
        held -= class_size(c);
        return b;
    }
    return NULL;
}

/* Gives so many bytes back, as one block if there is one, else the largest first.  Under the lock.
 */
static void give_some(size_t bytes) {
    while (held && bytes) {
        int c = bytes <= JN_LARGE ? 0 : class_below(bytes - 1) + 1;
        while (c < CLASSES && !blocks[c])
            c++;
        if (c >= CLASSES)
            for (c = CLASSES - 1; !blocks[c];)
                c--;
        size_t size = class_size(c);
        give(take(c, c), size);
        bytes -= bytes < size ? bytes : size;
    }
}

/* One that is held and serves for class c, or NULL: one may be made, for which others have been
 * given back if need be.  Under the lock. */
static block *find(int c) {
    size_t size = class_size(c), in_use = atomic_load_explicit(&used, memory_order_relaxed),
           bound = atomic_load_explicit(&most, memory_order_relaxed);
    /* the library's rounding to huge pages may have made a larger one of such */
    block *b = take(c, size < LEAST_HUGE ? c : class_below(size + HUGE_PAGE));
    bound = bound > in_use + size ? bound : in_use + size;
    if (b || held + in_use + size <= bound || (b = take(c, class_below(2 * size))))
        return b;
    give_some(held + in_use + size - bound);
    return NULL;
}

static int class_of(void *p) {
    size_t size = malloc_usable_size(p);
    return size < JN_LARGE ? CLASSES : class_below(size);
}

static void *taken(void *p) {
    int c = p ? class_of(p) : CLASSES;
    if (c >= CLASSES)
        return p;
    size_t now = atomic_fetch_add_explicit(&used, class_size(c), memory_order_relaxed);
    size_t before = atomic_load_explicit(&most, memory_order_relaxed);
    now += class_size(c);
    while (now > before && !atomic_compare_exchange_weak_explicit(
                               &most, &before, now, memory_order_relaxed, memory_order_relaxed))
        ;
    return p;
}

/* Under the lock. */
static size_t most_held(void) {
    if (keep == 0) {
        long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
        keep = pages > 0 && size > 0 ? (size_t)pages / SHARE * (size_t)size : 0;
        if (keep < least_keep)
            keep = least_keep;
    }
    return keep;
}

/* Under the lock. */
static void give_back(void) {
    for (int c = 0; c < CLASSES; c++)
        while (blocks[c]) {
            block *b = blocks[c];
            blocks[c] = b->next;
            give(b, class_size(c));
        }
    held = 0;
}

void *jn_large_alloc(size_t size) {
    int c = class_below(size);
    if (c < CLASSES && class_size(c) < size)
        c++;
    if (c >= CLASSES)
        return from_library(size);
    block *b = NULL;
    if (locked()) {
        b = find(c);
        pthread_mutex_unlock(&lock);
    }
    if (b || (b = from_library(class_size(c))) || !locked())
        return taken(b);
    give_back();
    pthread_mutex_unlock(&lock);
    return taken(from_library(class_size(c)));
}

void jn_large_free(void *p) {
    int c = class_of(p);
    if (c < CLASSES)
        atomic_fetch_sub_explicit(&used, class_size(c), memory_order_relaxed);
    if (c < CLASSES && locked()) {
        bool fits = class_size(c) <= most_held();
        if (fits && held + class_size(c) > keep)
            give_back();
        if (fits) {
            block *b = p;
            b->next = blocks[c];
            blocks[c] = b;
            held += class_size(c);
        }
        pthread_mutex_unlock(&lock);
        if (fits)
            return;
    }
    free(p);
}

size_t jn_large_held(void) {
    if (!locked())
        return 0;
    size_t bytes = held;
    pthread_mutex_unlock(&lock);
    return bytes;
}

void jn_large_trim(void) {
    if (!locked())
        return;
    give_back();
    pthread_mutex_unlock(&lock);
}

#else

void *jn_large_alloc(size_t size) { return from_library(size); }
void jn_large_free(void *p) { free(p); }
size_t jn_large_held(void) { return 0; }
void jn_large_trim(void) {}

#endif
