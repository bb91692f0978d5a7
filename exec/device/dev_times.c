/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of a device's stream, one device at a time.
 *
 * The first event of a record is waited for, so that the host's clock can be read when it happens;
 * the others are known by how much later they are.  Drivers say that in float milliseconds: where
 * it gets coarse, a later event takes the place of the first.
 */
#include "config.h"

#include "exec/device/dev_times.h"

#include <pthread.h>

#include "exec/device/device.h"
#include "graph/base/vec.h"

enum { MOST = 4096 }; /* spans before their times are asked for */
static const float COARSE_MS = 64;

typedef struct span {
    void *begin, *end;
    const char *name, *file;
    uint32_t line, n;
} span;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static jn_device *of; /* whose spans these are */
static JN_VEC(span) spans;
static void *base; /* an event that happened at base_ns */
static double base_ns;

static void drop_base(void) {
    if (base)
        of->api->event_free(base);
    base = NULL;
}

/* All with the lock held. */
static void drain(bool record) {
    if (!of)
        return;
    const jn_dev_api *api = of->api;
    for (size_t i = 0; i < spans.n; i++) {
        span *s = &spans.data[i];
        float after = 0, ms = 0;
        if (record && base && api->event_sync(s->end) == 0 &&
            api->event_ms(base, s->begin, &after) == 0 &&
            api->event_ms(s->begin, s->end, &ms) == 0) {
            double start = base_ns + (double)after * 1e6;
            jn_prof_put(JN_PROF_DEVICE, s->name, s->file, s->line, (int64_t)start,
                        (int64_t)(start + (double)ms * 1e6), s->n);
            if (after > COARSE_MS) {
                drop_base();
                base = s->begin;
                base_ns = start;
                s->begin = NULL;
            }
        }
        if (s->begin)
            api->event_free(s->begin);
        api->event_free(s->end);
    }
    spans.n = 0;
}

static void at_stop(void) {
    pthread_mutex_lock(&lock);
    drain(true);
    if (of)
        drop_base();
    of = NULL;
    jn_vec_free(&spans);
    pthread_mutex_unlock(&lock);
}

void jn_dev_times_forget(const jn_device *d) {
    pthread_mutex_lock(&lock);
    if (of == d) {
        drain(false);
        drop_base();
        of = NULL;
        jn_vec_free(&spans);
    }
    pthread_mutex_unlock(&lock);
}

/* A new event on the stream; NULL: the driver has none. */
static void *mark(const jn_device *d) {
    void *e = NULL;
    if (d->api->event_new(true, &e) != 0)
        return NULL;
    if (d->api->event_record(e, d->stream) == 0)
        return e;
    d->api->event_free(e);
    return NULL;
}

static bool find_base(jn_device *d) {
    if (of && of != d)
        return false;
    if (base)
        return true;
    of = d;
    base = mark(d);
    if (base && d->api->event_sync(base) == 0) {
        base_ns = (double)jn_prof_clock();
        jn_prof_at_stop(at_stop);
        return true;
    }
    drop_base();
    of = NULL;
    return false;
}

void *jn_dev_timed_begin(jn_device *d) {
    if (!jn_prof_on())
        return NULL;
    pthread_mutex_lock(&lock);
    void *e = find_base(d) ? mark(d) : NULL;
    pthread_mutex_unlock(&lock);
    return e;
}

void jn_dev_timed_end(jn_device *d, void *begin, const char *name, const char *file, uint32_t line,
                      uint32_t n) {
    pthread_mutex_lock(&lock);
    void *end = of == d ? mark(d) : NULL;
    if (end && jn_vec_push(&spans,
                           ((span){begin, end, jn_prof_text(name), jn_prof_text(file), line, n}))) {
        if (spans.n >= MOST)
            drain(true);
    } else {
        if (end)
            d->api->event_free(end);
        d->api->event_free(begin);
    }
    pthread_mutex_unlock(&lock);
}
