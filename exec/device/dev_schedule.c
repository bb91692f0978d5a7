/* SPDX-License-Identifier: Apache-2.0 */
/* A device's captures: see exec/device/dev_schedule.h. */
#include "config.h"

#include "exec/device/dev_schedule.h"

#include <stdlib.h>
#include <string.h>

#include "exec/device/device.h"

enum {
    MAX_CAPTURES = 32,    /* of flushes */
    MAX_ROWS = 256,       /* of groups of rows */
    MOST_ROUNDS = 1 << 16 /* of a loop that the device decides: it cannot be interrupted */
};

static void drop_idle(void *user) {
    jn_schedule *s = user;
    jn_captures_drop_idle(&s->captures);
    jn_captures_drop_idle(&s->rows);
}

janus_status jn_schedule_new(jn_device *d, jn_schedule **out) {
    jn_schedule *s = jn_calloc(1, sizeof *s);
    if (!s)
        return JN_NO_MEMORY();
    const char *graphs = getenv("JANUS_CUDA_GRAPHS"), *streams = getenv("JANUS_CUDA_STREAMS"),
               *branches = getenv("JANUS_CUDA_BRANCHES"), *rounds = getenv("JANUS_CUDA_ROUNDS");
    bool have = false;
    size_t free_bytes = 0, total = 0;
    d->api->memory(&free_bytes, &total);
    s->d = d;
    s->on = d->api->capture_begin && !(graphs && strcmp(graphs, "0") == 0) && !d->blocking;
    s->single = streams && strcmp(streams, "1") == 0;
    s->branches = s->on && !(branches && strcmp(branches, "0") == 0) && d->api->has_branches &&
                  d->api->has_branches(&have) == 0 && have;
    jn_captures_init(&s->captures, d->api, &d->pool, MAX_CAPTURES, total / 2);
    jn_captures_init(&s->rows, d->api, &d->pool, MAX_ROWS, total / 8);
    s->most_rounds = rounds && atoi(rounds) > 0 ? (uint32_t)atoi(rounds) : MOST_ROUNDS;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->recording, NULL);
    d->pool.drop_idle = drop_idle;
    d->pool.user = s;
    *out = s;
    return JANUS_OK;
}

void jn_seen_free(jn_seen *p) {
    jn_free(p->key);
    jn_free(p->addr);
    jn_free(p->moves);
    jn_free(p);
}

void jn_schedule_free(jn_schedule *s) {
    if (!s)
        return;
    s->d->pool.drop_idle = NULL;
    jn_captures_done(&s->captures);
    jn_captures_done(&s->rows);
    while (s->first) {
        jn_seen *next = s->first->next;
        jn_seen_free(s->first);
        s->first = next;
    }
    for (uint32_t i = 0; i < s->n_streams; i++)
        s->d->api->stream_free(s->stream[i]);
    for (uint32_t i = 0; i < s->n_bodies; i++)
        s->d->api->stream_free(s->body[i]);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->recording);
    jn_free(s);
}

void jn_schedule_forget(jn_schedule *s, const struct jn_planset *set) {
    jn_captures_forget(&s->captures, set);
    jn_captures_forget(&s->rows, set);
    pthread_mutex_lock(&s->lock);
    for (jn_seen **at = &s->first; *at;) {
        jn_seen *p = *at;
        if (p->owner != set) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        s->n_seen--;
        jn_seen_free(p);
    }
    pthread_mutex_unlock(&s->lock);
}

void jn_schedule_drop(jn_schedule *s, jn_capture *g) { jn_capture_drop(&s->captures, g); }

jn_schedule_stats jn_schedule_stats_get(jn_schedule *s) {
    pthread_mutex_lock(&s->lock);
    jn_schedule_stats st = s->stats;
    pthread_mutex_unlock(&s->lock);
    pthread_mutex_lock(&s->captures.lock);
    st.captures = s->captures.made;
    st.busy = s->captures.busy;
    st.evicted = s->captures.evicted;
    pthread_mutex_unlock(&s->captures.lock);
    pthread_mutex_lock(&s->rows.lock);
    st.row_captures = s->rows.made;
    pthread_mutex_unlock(&s->rows.lock);
    return st;
}
