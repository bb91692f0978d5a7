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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *jn_alloc(size_t size);            /* uninitialised; NULL when out of memory */
void *jn_calloc(size_t n, size_t size); /* zeroed; checks n * size */
void *jn_realloc(void *p, size_t size); /* old block stays valid on failure */
void *jn_alloc_aligned(size_t size);    /* 64-byte aligned tensor memory; jn_free_aligned */
void jn_free(void *p);                  /* accepts NULL */
void jn_free_aligned(void *p);
/* Bytes that are free and kept for later, and giving them, and what the C library keeps, back. */
size_t jn_alloc_kept(void);
void jn_alloc_trim(void);

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
