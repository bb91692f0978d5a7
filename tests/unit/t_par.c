/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread pool: each index once, the split the same each time, nested and concurrent calls,
 * a forked child.  The program for the thread sanitizer.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
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

/* Confines every thread of the process to the cores of a set; one may just have ended. */
static bool confine(const cpu_set_t *set) {
    DIR *tasks = opendir("/proc/self/task");
    bool all = tasks != NULL;
    for (const struct dirent *e; tasks && (e = readdir(tasks));)
        if (e->d_name[0] != '.')
            all &= sched_setaffinity((pid_t)strtol(e->d_name, NULL, 10), sizeof *set, set) == 0 ||
                   errno == ESRCH;
    if (tasks)
        closedir(tasks);
    return all;
}

static pthread_t the_caller;
static atomic_int elsewhere;
static void who(void *arg, int64_t begin, int64_t end) {
    (void)arg, (void)begin, (void)end;
    if (!pthread_equal(pthread_self(), the_caller))
        atomic_fetch_add(&elsewhere, 1);
    sched_yield(); /* a worker that wants a turn gets it */
}

/* With one core for both a worker takes nothing from the caller; one that is just going to another
 * core does so once more. */
static void a_worker_leaves_the_callers_core_alone(void) {
    cpu_set_t had, one_core;
    janus_set_num_threads(2);
    jn_parallel_for(N, 1, inner, NULL); /* it has been started */
    int cpu = sched_getcpu();
    if (cpu < 0 || sched_getaffinity(0, sizeof had, &had) != 0)
        return;
    CPU_ZERO(&one_core);
    CPU_SET(cpu, &one_core);
    the_caller = pthread_self();
    bool alone = false;
    for (int attempt = 0; attempt < 5 && !alone && confine(&one_core); attempt++) {
        atomic_store(&elsewhere, 0);
        for (int i = 0; i < 200; i++)
            jn_parallel_for(100, 1, who, NULL);
        alone = atomic_load(&elsewhere) == 0;
    }
    CU_ASSERT(alone || !confine(&one_core));
    (void)confine(&had);
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
             {"a worker leaves the caller's core alone", a_worker_leaves_the_callers_core_alone},
             {"bad numbers are refused", bad_numbers_are_refused})
