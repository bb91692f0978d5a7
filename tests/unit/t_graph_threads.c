/* Several threads at once: each builds, reads and optimises modules of its own (the op index and
 * the default attributes are made by whoever comes first), and all read one frozen module. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "graph/ir/ir.h"
#include "graph/passes/passes.h"
#include "graph/text/text.h"
#include "tests/unit/check.h"

static const char program[] = "module {\n"
                              "  sub @f(%x: f32[2,3], %n: int) -> (f32[2,3], int) {\n"
                              "    %1 = int 2\n"
                              "    %2 = s.add %1, %1\n"
                              "    %3 = softmax %x {axis=0}\n"
                              "    %4 = invoke @g(%3)\n"
                              "    return %4, %2\n"
                              "  }\n"
                              "  sub @g(%x: f32[s0,s1]) -> f32[s0,s1] {\n"
                              "    %1 = add %x, %x\n"
                              "    return %1\n"
                              "  }\n"
                              "}\n";

enum { N_THREADS = 4, ROUNDS = 50 };

static janus_module *frozen;
static char *frozen_text;
static atomic_int wrong;

static void need(bool ok) { atomic_fetch_add(&wrong, !ok); }

static void own_module(void) {
    janus_module *m = NULL;
    char *text = NULL;
    if (jn_parse_module(program, sizeof program - 1, "threads", &m) != JANUS_OK) {
        need(false);
        return;
    }
    need(jn_optimize(m) == JANUS_OK);
    need(jn_module_freeze(m) == JANUS_OK);
    need(janus_module_print(m, &text) == JANUS_OK);
    need(strstr(text, "int 4") && !strstr(text, "invoke"));
    janus_free(text);
    jn_module_release(m);
}

static void shared_module(void) {
    char *text = NULL;
    jn_module_retain(frozen);
    need(jn_verify_module(frozen) == JANUS_OK);
    need(janus_module_print(frozen, &text) == JANUS_OK);
    need(!strcmp(text, frozen_text));
    need(janus_module_find(frozen, "g") != NULL);
    janus_free(text);
    jn_module_release(frozen);
}

/* The error record is the thread's own. */
static void own_error(const char *name) {
    janus_module *m = NULL;
    need(jn_parse_module("bad", 3, name, &m) == JANUS_PARSE);
    sched_yield();
    need(!strncmp(janus_last_error()->message, name, strlen(name)));
}

static void *work(void *name) {
    for (int i = 0; i < ROUNDS; i++) {
        own_module();
        shared_module();
        own_error(name);
    }
    return NULL;
}

static void *first_use(void *unused) {
    own_module();
    return unused;
}

static void threads_do_not_meet(void) {
    static char names[N_THREADS][16];
    pthread_t threads[N_THREADS];
    /* Without a call that settles the tables first: the threads must be able to do that. */
    for (int i = 0; i < N_THREADS; i++) {
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, first_use, NULL), 0);
    }
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    CU_ASSERT_EQUAL_FATAL(jn_parse_module(program, sizeof program - 1, "threads", &frozen),
                          JANUS_OK);
    CU_ASSERT_EQUAL_FATAL(jn_module_freeze(frozen), JANUS_OK);
    CU_ASSERT_EQUAL_FATAL(janus_module_print(frozen, &frozen_text), JANUS_OK);
    for (int i = 0; i < N_THREADS; i++) {
        names[i][0] = (char)('a' + i);
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, work, names[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    CU_ASSERT_EQUAL(atomic_load(&wrong), 0);
    janus_free(frozen_text);
    jn_module_release(frozen);
}

JN_TEST_MAIN("graph threads", {"threads do not meet", threads_do_not_meet})
