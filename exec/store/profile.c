/* SPDX-License-Identifier: Apache-2.0 */
/* The profiler's record: a list under a lock, whose texts are kept once each. */
#include "config.h"

#include "exec/store/profile.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <uthash.h>

#include "graph/base/status.h"
#include "graph/base/vec.h"

typedef struct text {
    UT_hash_handle hh;
    char s[];
} text;

atomic_bool jn_prof_recording;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static JN_VEC(jn_prof_event) events;
static text *texts;
static size_t most;
static uint64_t lost;
static uint32_t n_threads, generation;
static _Thread_local uint32_t my_thread, my_generation;

int64_t jn_prof_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A child has the parent's lock as it was, and none of its threads. */
static void in_child(void) {
    atomic_store(&jn_prof_recording, false);
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void watch_forks(void) { (void)pthread_atfork(NULL, NULL, in_child); }

static const char *keep(const char *s) {
    if (!s)
        return NULL;
    text *t = NULL;
    size_t n = strlen(s);
    HASH_FIND(hh, texts, s, n, t);
    if (t)
        return t->s;
    t = jn_alloc(sizeof *t + n + 1);
    if (!t)
        return NULL;
    memcpy(t->s, s, n + 1);
    HASH_ADD_KEYPTR(hh, texts, t->s, n, t);
    return t->s;
}

void jn_prof_add(jn_prof_kind kind, const char *name, const jn_loc *loc, int64_t start,
                 uint32_t n) {
    int64_t end = jn_prof_clock();
    pthread_mutex_lock(&lock);
    if (jn_prof_on()) {
        if (my_generation != generation) {
            my_generation = generation;
            my_thread = n_threads++;
        }
        jn_prof_event e = {
            start,     end, keep(name),   loc ? keep(loc->file) : NULL, loc ? loc->line : 0,
            my_thread, n,   (uint8_t)kind};
        if (events.n >= most || !e.name || !jn_vec_push(&events, e))
            lost++;
    }
    pthread_mutex_unlock(&lock);
}

void jn_prof_put(jn_prof_kind kind, const char *name, const char *file, uint32_t line,
                 int64_t start, int64_t end, uint32_t n) {
    pthread_mutex_lock(&lock);
    if (jn_prof_on()) {
        jn_prof_event e = {start, end, keep(name), keep(file), line, 0, n, (uint8_t)kind};
        if (events.n >= most || !e.name || !jn_vec_push(&events, e))
            lost++;
    }
    pthread_mutex_unlock(&lock);
}

const char *jn_prof_text(const char *s) {
    pthread_mutex_lock(&lock);
    const char *kept = keep(s);
    pthread_mutex_unlock(&lock);
    return kept;
}

static void (*_Atomic at_stop)(void);

void jn_prof_at_stop(void (*f)(void)) { atomic_store(&at_stop, f); }

static void drop(void) {
    text *t, *next;
    HASH_ITER(hh, texts, t, next) {
        HASH_DEL(texts, t);
        jn_free(t);
    }
    jn_vec_free(&events);
}

_Thread_local jn_prof_watch_fn jn_prof_watch;

void jn_prof_eager(const jn_op *op, const jn_kargs *args, int64_t start) {
    jn_prof_add(JN_PROF_EAGER, op->name, NULL, start, 1);
    if (jn_prof_watch)
        jn_prof_watch(op, args);
}

janus_status jn_prof_start(size_t limit) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lock);
    bool going = jn_prof_on();
    if (!going) {
        drop();
        most = limit;
        lost = 0;
        n_threads = 0;
        generation++;
        atomic_store(&jn_prof_recording, true);
    }
    pthread_mutex_unlock(&lock);
    return going ? jn_error(JANUS_INVALID_ARGUMENT, "a profile is being recorded already")
                 : JANUS_OK;
}

janus_status jn_prof_stop(const jn_prof_event **out_events, size_t *out_n, uint64_t *out_lost) {
    void (*put)(void) = atomic_load(&at_stop);
    if (put && jn_prof_on())
        put();
    pthread_mutex_lock(&lock);
    bool going = jn_prof_on();
    atomic_store(&jn_prof_recording, false);
    *out_events = events.data;
    *out_n = going ? events.n : 0;
    *out_lost = lost;
    pthread_mutex_unlock(&lock);
    return going ? JANUS_OK : jn_error(JANUS_INVALID_ARGUMENT, "no profile is being recorded");
}

void jn_prof_free(void) {
    pthread_mutex_lock(&lock);
    if (!jn_prof_on())
        drop();
    pthread_mutex_unlock(&lock);
}
