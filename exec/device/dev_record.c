/* SPDX-License-Identifier: Apache-2.0 */
/* Recording a planned trace: the streams that it wants, and the capture of what it launches. */
#include "config.h"

#include "exec/device/dev_schedule.h"
#include "exec/device/dev_trace.h"
#include "exec/device/device.h"

typedef struct recorder {
    const jn_trace *t;
    jn_device *d;
    void *const *stream, *const *body;
} recorder;
static janus_status record_launches(void *user, char *arena, uint32_t *stop) {
    const recorder *w = user;
    return jn_trace_launch(w->t, w->d, w->stream, w->body, arena, stop);
}

/* With the recording lock held. */
static janus_status record(jn_schedule *s, jn_captures *pool, const jn_trace *t, const void *key,
                           size_t n_key, size_t out_bytes, jn_capture **out) {
    uint32_t n = t->plan.n_streams ? t->plan.n_streams : 1;
    uint32_t want = n < JN_SCHEDULE_STREAMS ? n : JN_SCHEDULE_STREAMS;
    for (; s->n_streams < want; s->n_streams++)
        if (s->d->api->stream_new(&s->stream[s->n_streams]))
            return jn_error(JANUS_DEVICE, "no stream for a capture");
    for (; s->n_bodies < t->max_depth; s->n_bodies++)
        if (s->d->api->stream_new(&s->body[s->n_bodies]))
            return jn_error(JANUS_DEVICE, "no stream for a body in a capture");
    void **stream = jn_alloc(n * sizeof *stream);
    if (!stream)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < n; i++)
        stream[i] = s->stream[i % want];
    recorder w = {t, s->d, stream, s->body};
    janus_status st = jn_captures_record(pool, key, n_key, s->d->stream, s->stream[0], t->bytes,
                                         out_bytes, record_launches, &w, out);
    jn_free(stream);
    return st;
}

janus_status jn_schedule_record(jn_schedule *s, jn_captures *pool, const jn_trace *t,
                                const void *key, size_t n_key, size_t out_bytes, jn_capture **out) {
    pthread_mutex_lock(&s->recording);
    janus_status st = record(s, pool, t, key, n_key, out_bytes, out);
    pthread_mutex_unlock(&s->recording);
    return st;
}
