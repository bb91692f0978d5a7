/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large blocks that were freed, kept for the next one of their size.
 *
 * The C library gives large blocks back to the system at once, and every page of the next one costs
 * a fault and is cleared: for a tensor of a megabyte more than adding to it.  Sizes are rounded up
 * to an eighth of their power of two, so that a block fits the next of its class.  At most a
 * sixteenth of the machine's memory is held: all of it is given back when another block would be
 * too much, since what fills it is not what is asked for, and when the system has no more to give.
 * The lock is tried some times: who does not get it goes to the C library (so does the child of a
 * fork that happened while it was held).  Blocks of several huge pages ask for such: a fault for
 * two megabytes instead of 512, and fewer misses in a walk over a large weight.
 */
#include "config.h"

#include "graph/base/large.h"

#include <pthread.h>
#include <stdbool.h>
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
static size_t held, keep; /* keep: 0 until asked for the first time */

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

/* A block of class c, or of one that the library's rounding to huge pages made of such; NULL: none
 * is held.  Under the lock. */
static block *take(int c, size_t size) {
    int last = size < LEAST_HUGE ? c : class_below(size + HUGE_PAGE);
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
            free(b);
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
        b = take(c, class_size(c));
        pthread_mutex_unlock(&lock);
    }
    if (b || (b = from_library(class_size(c))) || !locked())
        return b;
    give_back();
    pthread_mutex_unlock(&lock);
    return from_library(class_size(c));
}

void jn_large_free(void *p) {
    size_t size = malloc_usable_size(p);
    int c = size < JN_LARGE ? CLASSES : class_below(size);
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

#else

void *jn_large_alloc(size_t size) { return from_library(size); }
void jn_large_free(void *p) { free(p); }

#endif
