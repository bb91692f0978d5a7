/* Allocation with one process-wide table of functions, failure injection and a count of blocks.
 *
 * `jn_alloc_mode` decides everything with one relaxed load: in the usual case (no foreign
 * allocator, no injection, nobody counting) jn_alloc is malloc.  Counting starts with the first
 * question for the count or the first injection, so a count is only good for comparing two moments
 * after that.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_MALLOC_TRIM
#include <malloc.h>
#endif

#include "graph/base/large.h"
#include "graph/base/parts.h"
#include "graph/base/status.h"

enum { ALIGN = 16, ALIGN_TENSOR = 64 };

atomic_int jn_alloc_mode;

static janus_allocator table; /* all NULL: malloc */
static atomic_bool counting;
static atomic_ullong countdown; /* 0: no injection */
static atomic_llong live_blocks;
static _Thread_local uint64_t failures;

static void *checked(void *p) {
    if (JN_UNLIKELY(!p))
        failures++;
    return p;
}

uint64_t jn_alloc_failures(void) { return failures; }

/* First use: reads the environment. Two threads doing so at once store the same values. */
static int settle(void) {
    const char *env = getenv("JANUS_FAIL_ALLOC");
    unsigned long long n = env ? strtoull(env, NULL, 10) : 0;
    int m = n || table.alloc || atomic_load(&counting) ? JN_ALLOC_FULL : JN_ALLOC_PLAIN;
    int unset = JN_ALLOC_UNSET;
    if (atomic_compare_exchange_strong(&jn_alloc_mode, &unset, m)) {
        if (n)
            atomic_store(&countdown, n);
        return m;
    }
    return unset;
}

static inline bool plain(void) {
    int m = atomic_load_explicit(&jn_alloc_mode, memory_order_relaxed);
    if (JN_UNLIKELY(m == JN_ALLOC_UNSET))
        m = settle();
    return JN_LIKELY(m == JN_ALLOC_PLAIN);
}

static bool injected_failure(void) {
    unsigned long long left = atomic_load_explicit(&countdown, memory_order_relaxed);
    while (left) {
        if (atomic_compare_exchange_weak(&countdown, &left, left - 1))
            return left == 1;
    }
    return false;
}

static void count(int by) {
    if (atomic_load_explicit(&counting, memory_order_relaxed))
        atomic_fetch_add_explicit(&live_blocks, by, memory_order_relaxed);
}

static void *full_alloc(size_t size, size_t align) {
    if (injected_failure())
        return NULL;
    void *p;
    if (table.alloc)
        p = table.alloc(table.user, size, align);
    else if (align <= ALIGN)
        p = malloc(size);
    else
        p = aligned_alloc(align, size);
    if (p)
        count(1);
    return p;
}

void *jn_alloc(size_t size) {
    size += !size;
    return checked(plain() ? malloc(size) : full_alloc(size, ALIGN));
}

void *jn_calloc(size_t n, size_t size) {
    if (plain())
        return checked(calloc(n + !n, size + !size));
    size_t bytes;
    if (!jn_mul_size(n, size, &bytes))
        return checked(NULL);
    bytes += !bytes;
    void *p = checked(full_alloc(bytes, ALIGN));
    if (p)
        memset(p, 0, bytes);
    return p;
}

void *jn_realloc(void *p, size_t size) {
    size += !size;
    if (plain())
        return checked(realloc(p, size));
    if (!p)
        return checked(full_alloc(size, ALIGN));
    if (injected_failure())
        return checked(NULL);
    return checked(table.realloc ? table.realloc(table.user, p, size) : realloc(p, size));
}

void *jn_alloc_aligned(size_t size) {
    /* aligned_alloc wants a multiple of the alignment. */
    if (!jn_add_size(size + !size, ALIGN_TENSOR - 1, &size))
        return checked(NULL);
    size &= ~(size_t)(ALIGN_TENSOR - 1);
    if (!plain())
        return checked(full_alloc(size, ALIGN_TENSOR));
    return checked(size < JN_LARGE ? aligned_alloc(ALIGN_TENSOR, size) : jn_large_alloc(size));
}

void jn_free(void *p) {
    if (plain()) {
        free(p);
        return;
    }
    if (!p)
        return;
    count(-1);
    if (table.free)
        table.free(table.user, p);
    else
        free(p);
}

void *jn_chunk_alloc(size_t size, size_t align) {
    (void)plain(); /* reads the environment */
    void *p = NULL;
    if (table.alloc)
        p = table.alloc(table.user, size, align);
    else if (posix_memalign(&p, align, size) != 0) /* the size need not be a multiple of it */
        p = NULL;
    return checked(p);
}

void jn_chunk_free(void *p) {
    if (table.free)
        table.free(table.user, p);
    else
        free(p);
}

bool jn_alloc_count(void) {
    if (injected_failure()) {
        failures++;
        return false;
    }
    count(1);
    return true;
}

void jn_alloc_uncount(void) { count(-1); }

void jn_free_aligned(void *p) {
    if (plain() && p)
        jn_large_free(p);
    else
        jn_free(p);
}

size_t jn_alloc_kept(void) { return jn_large_held(); }

void jn_alloc_trim(void) {
    jn_large_trim();
#ifdef HAVE_MALLOC_TRIM
    if (plain())
        (void)malloc_trim(0);
#endif
}

static void use_full_mode(void) {
    plain(); /* reads the environment first, so that it does not undo what follows */
    atomic_store(&counting, true);
    atomic_store(&jn_alloc_mode, JN_ALLOC_FULL);
}

uint64_t jn_alloc_fail_after(uint64_t n) {
    use_full_mode();
    return atomic_exchange(&countdown, n);
}

int64_t jn_alloc_live_blocks(void) {
    use_full_mode();
    return atomic_load(&live_blocks);
}

janus_status janus_set_allocator(const janus_allocator *a) {
    if (!a || !a->alloc || !a->realloc || !a->free)
        return jn_error(JANUS_INVALID_ARGUMENT, "janus_set_allocator: a function is missing");
    if (atomic_load(&jn_alloc_mode) != JN_ALLOC_UNSET)
        return jn_error(JANUS_INVALID_ARGUMENT,
                        "janus_set_allocator: memory was already allocated; call it first");
    table = *a;
    return JANUS_OK;
}

void janus_free(void *text) { jn_free(text); }
