/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small blocks: all sizes, no two blocks overlap, in any order of freeing; blocks that other
 * threads free, threads that end; neighbours lie side by side again; counted and failed one by one.
 */
#include "config.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exec/store/pool.h"
#include "graph/base/alloc.h"
#include "tests/unit/check.h"

typedef struct held {
    unsigned char *p;
    size_t size;
    unsigned char mark;
} held;

static uint64_t next(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static bool take(held *h, uint64_t *seed) {
    h->size = next(seed) % 8 ? next(seed) % 600 : next(seed) % (JN_POOL_MAX + 200);
    h->mark = (unsigned char)next(seed);
    h->p = jn_pool_alloc(h->size);
    if (!h->p || (uintptr_t)h->p % 64)
        return false;
    memset(h->p, h->mark, h->size);
    return true;
}

/* Whether nobody wrote into it; it is free then. */
static bool leave(held *h) {
    bool good = true;
    for (size_t i = 0; i < h->size; i++)
        good &= h->p[i] == h->mark;
    jn_pool_free(h->p, h->size);
    h->p = NULL;
    return good;
}

static void no_two_overlap(void) {
    enum { N = 5000, ROUNDS = 60000 };
    held *all = calloc(N, sizeof *all);
    CU_ASSERT_PTR_NOT_NULL_FATAL(all);
    uint64_t seed = 1;
    int64_t before = jn_alloc_live_blocks(), live = 0;
    bool good = true;
    for (int i = 0; i < ROUNDS; i++) {
        held *h = &all[next(&seed) % N];
        live += h->p ? -1 : 1;
        good &= h->p ? leave(h) : take(h, &seed);
    }
    CU_ASSERT(good);
    CU_ASSERT_EQUAL(jn_alloc_live_blocks() - before, live);
    for (int i = 0; i < N; i++)
        good &= !all[i].p || leave(&all[i]);
    CU_ASSERT(good);
    CU_ASSERT_EQUAL(jn_alloc_live_blocks(), before);
    jn_pool_trim();
    free(all);
}

/* However they were freed, blocks that are taken one after the other are neighbours. */
static void neighbours_again(void) {
    enum { N = 4096, SIZE = 192 };
    void **all = calloc(N, sizeof *all);
    CU_ASSERT_PTR_NOT_NULL_FATAL(all);
    uint64_t seed = 7;
    size_t near = 0;
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < N; i++)
            CU_ASSERT_PTR_NOT_NULL_FATAL(all[i] = jn_pool_alloc(SIZE));
        near = 0;
        for (size_t i = 1; i < N; i++)
            near += (char *)all[i] - (char *)all[i - 1] == SIZE;
        for (size_t i = N; i-- > 1;) { /* in any order */
            size_t k = next(&seed) % (i + 1);
            void *p = all[i];
            all[i] = all[k];
            all[k] = p;
        }
        for (size_t i = 0; i < N; i++)
            jn_pool_free(all[i], SIZE);
    }
    CU_ASSERT(near > N / 10 * 8);
    free(all);
}

enum { THREADS = 4, TURNS = 200, BATCH = 64, PLACES = 2 * THREADS * TURNS * BATCH };
static held passed[PLACES]; /* more than there can be blocks */
static pthread_mutex_t passing = PTHREAD_MUTEX_INITIALIZER;
static bool all_good = true;

/* Leaves what others took, takes what others leave. */
static void *pass(void *number) {
    uint64_t seed = (uint64_t)(uintptr_t)number + 99;
    for (int t = 0; t < TURNS; t++) {
        held mine[BATCH];
        size_t n = 0;
        pthread_mutex_lock(&passing);
        size_t at = next(&seed) % 4000;
        for (size_t i = 0; i < BATCH; i++)
            if (passed[at + i].p) {
                mine[n++] = passed[at + i];
                passed[at + i].p = NULL;
            }
        pthread_mutex_unlock(&passing);
        bool good = true;
        for (size_t i = 0; i < n; i++)
            good &= leave(&mine[i]);
        for (size_t i = 0; i < BATCH; i++)
            good &= take(&mine[i], &seed);
        pthread_mutex_lock(&passing);
        all_good &= good;
        for (size_t i = 0; i < BATCH; i++)
            for (;; at = (at + 1) % PLACES)
                if (!passed[at].p) {
                    passed[at] = mine[i];
                    break;
                }
        pthread_mutex_unlock(&passing);
        if (t % 64 == 0)
            jn_pool_trim();
    }
    return NULL;
}

static void other_threads_free(void) {
    for (int round = 0; round < 3;
         round++) { /* the second one's threads have the first one's heaps */
        pthread_t t[THREADS];
        for (uintptr_t i = 0; i < THREADS; i++)
            CU_ASSERT_FATAL(pthread_create(&t[i], NULL, pass, (void *)(i + 10 * round)) == 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(t[i], NULL);
        for (size_t i = 0; i < PLACES; i++)
            if (passed[i].p)
                all_good &= leave(&passed[i]);
    }
    CU_ASSERT(all_good);
    jn_pool_trim();
}

static void each_block_can_fail(void) {
    void *a = jn_pool_alloc(64);
    jn_pool_free(a, 64); /* there is room */
    int64_t before = jn_alloc_live_blocks();
    uint64_t failures = jn_alloc_failures();
    jn_alloc_fail_after(2);
    a = jn_pool_alloc(64);
    CU_ASSERT_PTR_NOT_NULL(a);
    CU_ASSERT_PTR_NULL(jn_pool_alloc(64));
    CU_ASSERT_EQUAL(jn_alloc_failures(), failures + 1);
    void *b = jn_pool_alloc(64);
    CU_ASSERT_PTR_NOT_NULL(b);
    CU_ASSERT_EQUAL(jn_alloc_live_blocks(), before + 2);
    jn_pool_free(a, 64);
    jn_pool_free(b, 64);
    jn_pool_free(NULL, 64);
    CU_ASSERT_EQUAL(jn_alloc_live_blocks(), before);
}

JN_TEST_MAIN("pool", {"no two overlap", no_two_overlap}, {"neighbours again", neighbours_again},
             {"other threads free", other_threads_free},
             {"each block can fail", each_block_can_fail})
