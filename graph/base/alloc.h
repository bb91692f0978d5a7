/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All memory of the core comes from here.
 *
 * One process-wide table of functions (janus_set_allocator, before first use) instead of one per
 * context: a context pointer in every container would cost more than it gives.  With
 * JANUS_FAIL_ALLOC=n (or jn_alloc_fail_after) the n-th allocation from then on fails once, which is
 * how tests walk every out-of-memory path.
 */
#ifndef JN_BASE_ALLOC_H
#define JN_BASE_ALLOC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *jn_alloc(size_t size);            /* uninitialised; NULL when out of memory */
void *jn_calloc(size_t n, size_t size); /* zeroed; checks n * size */
void *jn_realloc(void *p, size_t size); /* old block stays valid on failure */
void *jn_alloc_aligned(size_t size);    /* 64-byte aligned tensor memory; jn_free_aligned */
void jn_free(void *p);                  /* accepts NULL */
void jn_free_aligned(void *p);

/* Memory that is handed out in parts: not counted, and none of them fails on purpose.  `align` is a
 * power of two; NULL when out of memory. */
void *jn_chunk_alloc(size_t size, size_t align);
void jn_chunk_free(void *p);
/* Whoever hands out parts of it asks for each whether allocations are watched (counted, or one is
 * to fail); if so, jn_alloc_count() counts one, false: it is the one that fails. */
extern atomic_int jn_alloc_mode;
enum { JN_ALLOC_UNSET, JN_ALLOC_PLAIN, JN_ALLOC_FULL };
static inline bool jn_alloc_watched(void) {
    return atomic_load_explicit(&jn_alloc_mode, memory_order_relaxed) == JN_ALLOC_FULL;
}
bool jn_alloc_count(void);
void jn_alloc_uncount(void);

/* How many allocations of this thread have failed.  Work in which one has may be wrong where a
 * missing block was taken for a missing thing: who compares before and after need not trust it. */
uint64_t jn_alloc_failures(void);

/* Tests: the n-th allocation from now fails (n >= 1); 0 switches injection off.  Returns how many
 * were still to come of the last one: 0, it has failed or there was none. */
uint64_t jn_alloc_fail_after(uint64_t n);
/* Tests: number of live blocks.  Counting starts with the first call of this or of
 * jn_alloc_fail_after, so only differences between two later moments mean something. */
int64_t jn_alloc_live_blocks(void);

static inline bool jn_mul_size(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool jn_add_size(size_t a, size_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

#endif
