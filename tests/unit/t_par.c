/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread pool: each index once, the split the same each time, nested and concurrent calls,
 * a forked child.  The program for the thread sanitizer.
 */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/store/par.h"
#include "tests/unit/check.h"

enum { N = 10000 };

typedef struct counts {
    atomic_int seen[N];
    atomic_int starts[N];
} counts;

static void count(void *arg, int64_t begin, int64_t end) {
    counts *c = arg;
    atomic_fetch_add(&c->starts[begin], 1);
    for (int64_t i = begin; i < end; i++)
        atomic_fetch_add(&c->seen[i], 1);
}

static counts one, two;

static bool all_once(const counts *c, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (atomic_load(&c->seen[i]) != 1)
            return false;
    return true;
}

static void each_index_once(void) {
    static const int64_t sizes[] = {0, 1, 2, 7, 64, 1000, N};
    for (int threads = 1; threads <= 4; threads++) {
        CU_ASSERT_EQUAL(janus_set_num_threads(threads), JANUS_OK);
        CU_ASSERT_EQUAL(janus_get_num_threads(), threads);
        for (int round = 0; round < 50; round++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                memset(&one, 0, sizeof one);
                jn_parallel_for(sizes[s], 1 + round % 5, count, &one);
                CU_ASSERT(all_once(&one, sizes[s]));
            }
    }
}

static void the_split_is_fixed(void) {
    janus_set_num_threads(3);
    memset(&one, 0, sizeof one);
    jn_parallel_for(N, 10, count, &one);
    for (int round = 0; round < 20; round++) {
        memset(&two, 0, sizeof two);
        jn_parallel_for(N, 10, count, &two);
        for (int i = 0; i < N; i++)
            CU_ASSERT(atomic_load(&one.starts[i]) == atomic_load(&two.starts[i]));
    }
}

static atomic_int inner_total;
static void inner(void *arg, int64_t begin, int64_t end) {
    (void)arg;
    atomic_fetch_add(&inner_total, (int)(end - begin));
}
static void outer(void *arg, int64_t begin, int64_t end) {
    CU_ASSERT(jn_par_inside() || janus_get_num_threads() == 1);
    for (int64_t i = begin; i < end; i++)
        jn_parallel_for(100, 1, inner, arg);
}

static void nested_calls_end(void) {
    janus_set_num_threads(4);
    atomic_store(&inner_total, 0);
    jn_parallel_for(50, 1, outer, NULL);
    CU_ASSERT_EQUAL(atomic_load(&inner_total), 5000);
    CU_ASSERT(!jn_par_inside());
}

static void *caller(void *arg) {
    for (int i = 0; i < 200; i++)
        jn_parallel_for(100, 1, inner, arg);
    return NULL;
}

static void callers_do_not_wait_for_each_other(void) {
    pthread_t threads[3];
    atomic_store(&inner_total, 0);
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, caller, NULL), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CU_ASSERT_EQUAL(atomic_load(&inner_total), 3 * 200 * 100);
}

static void a_child_works_alone(void) {
    janus_set_num_threads(3);
    memset(&one, 0, sizeof one);
    jn_parallel_for(N, 1, count, &one);
    pid_t child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0) {
        memset(&two, 0, sizeof two);
        jn_parallel_for(N, 1, count, &two);
        _exit(janus_get_num_threads() == 1 && all_once(&two, N) ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void bad_numbers_are_refused(void) {
    CU_ASSERT_EQUAL(janus_set_num_threads(-1), JANUS_INVALID_ARGUMENT);
    CU_ASSERT_EQUAL(janus_set_num_threads(0), JANUS_OK);
    CU_ASSERT(janus_get_num_threads() >= 1);
}

JN_TEST_MAIN("par", {"each index once", each_index_once},
             {"the split is fixed", the_split_is_fixed}, {"nested calls end", nested_calls_end},
             {"callers do not wait for each other", callers_do_not_wait_for_each_other},
             {"a child works alone", a_child_works_alone},
             {"bad numbers are refused", bad_numbers_are_refused})
