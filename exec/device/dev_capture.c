/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of captures: see exec/device/dev_capture.h. */
#include "config.h"

#include "exec/device/dev_capture.h"

#include <string.h>

#include "graph/base/alloc.h"

void jn_captures_init(jn_captures *c, const jn_dev_api *api, jn_dev_pool *pool, uint32_t max_n,
                      size_t max_bytes) {
    *c = (jn_captures){.api = api, .pool = pool, .max_n = max_n, .max_bytes = max_bytes};
    pthread_mutex_init(&c->lock, NULL);
}

static void capture_free(jn_captures *c, jn_capture *g) {
    if (g->stream) /* it may still be running */
        c->api->stream_sync(g->stream);
    if (g->exec)
        c->api->graph_free(g->exec);
    jn_dev_pool_free(c->pool, g->arena);
    if (g->free_more)
        g->free_more(g->more);
    jn_free(g->key);
    jn_free(g);
}

static void destroy(jn_captures *c, jn_capture **at) {
    jn_capture *g = *at;
    *at = g->next;
    c->n--;
    c->bytes -= g->arena->bytes;
    capture_free(c, g);
}

void jn_captures_done(jn_captures *c) {
    while (c->first)
        destroy(c, &c->first);
    pthread_mutex_destroy(&c->lock);
}

static void drop_matching(jn_captures *c, const void *owner, bool all) {
    pthread_mutex_lock(&c->lock);
    for (jn_capture **at = &c->first; *at;)
        if ((*at)->held || (!all && (*at)->owner != owner)) {
            at = &(*at)->next;
        } else {
            destroy(c, at);
            c->evicted++;
        }
    pthread_mutex_unlock(&c->lock);
}

void jn_captures_drop_idle(void *captures) { drop_matching(captures, NULL, true); }
void jn_captures_forget(jn_captures *c, const void *owner) { drop_matching(c, owner, false); }

static jn_capture **find(jn_captures *c, const void *key, size_t n) {
    jn_capture **at = &c->first;
    while (*at && !((*at)->n_key == n && memcmp((*at)->key, key, n) == 0))
        at = &(*at)->next;
    return at;
}

void jn_captures_remove(jn_captures *c, const void *key, size_t n_key) {
    pthread_mutex_lock(&c->lock);
    jn_capture **at = find(c, key, n_key);
    if (*at && !(*at)->held)
        destroy(c, at);
    pthread_mutex_unlock(&c->lock);
}

jn_capture_way jn_captures_choose(jn_captures *c, const void *key, size_t n_key, jn_capture **out) {
    jn_capture_way way = JN_WAY_UNCAPTURED;
    *out = NULL;
    pthread_mutex_lock(&c->lock);
    jn_capture *g = *find(c, key, n_key);
    if (!g) {
        way = c->max_n ? JN_WAY_RECORD : JN_WAY_UNCAPTURED;
    } else if (g->held) {
        c->busy++;
    } else {
        g->held++;
        g->used_at = ++c->clock;
        *out = g;
        way = g->out_bytes <= JN_CAPTURE_COPY_MAX ? JN_WAY_REPLAY_COPY : JN_WAY_REPLAY;
    }
    pthread_mutex_unlock(&c->lock);
    return way;
}

/* Makes room for one more of `bytes`: the idle ones used longest ago go. */
static bool make_room(jn_captures *c, size_t bytes) {
    while (c->n >= c->max_n || c->bytes + bytes > c->max_bytes) {
        jn_capture **oldest = NULL;
        for (jn_capture **at = &c->first; *at; at = &(*at)->next)
            if (!(*at)->held && (!oldest || (*at)->used_at < (*oldest)->used_at))
                oldest = at;
        if (!oldest)
            return false;
        destroy(c, oldest);
        c->evicted++;
    }
    return true;
}

static janus_status driver(const jn_captures *c, int error, const char *what) {
    return error ? jn_error(error == JN_DEV_OUT_OF_MEMORY ? JANUS_NO_MEMORY : JANUS_DEVICE,
                            "%s: %s", what, c->api->error_text(error))
                 : JANUS_OK;
}

static janus_status record(jn_captures *c, jn_capture *g, void *stream, jn_record_fn launch,
                           void *user) {
    void *graph = NULL;
    JN_TRY(driver(c, c->api->capture_begin(stream), "starting a capture"));
    janus_status st = driver(c, c->api->fill(g->arena->data, 0, JN_CAPTURE_HEAD, stream),
                             "clearing the abort word");
    jn_dev_capturing = true;
    if (st == JANUS_OK)
        st = launch(user, (char *)g->arena->data + JN_CAPTURE_HEAD, g->arena->data);
    jn_dev_capturing = false;
    /* ended in any case: a stream left in capture mode would be lost */
    int error = c->api->capture_end(stream, &graph);
    void *exec = NULL;
    if (!error)
        error = c->api->graph_make(graph, &exec);
    if (st == JANUS_OK)
        st = driver(c, error, "ending a capture");
    if (st == JANUS_OK)
        g->exec = exec;
    else if (exec)
        c->api->graph_free(exec);
    return st;
}

janus_status jn_captures_record(jn_captures *c, const void *key, size_t n_key, void *home,
                                void *stream, size_t bytes, size_t out_bytes, jn_record_fn launch,
                                void *user, jn_capture **out) {
    pthread_mutex_lock(&c->lock);
    bool known = *find(c, key, n_key) != NULL;
    bool room =
        !known && bytes <= SIZE_MAX / 2 && make_room(c, jn_dev_pool_class(bytes + JN_CAPTURE_HEAD));
    pthread_mutex_unlock(&c->lock);
    if (known)
        return jn_error(JANUS_INTERNAL, "a capture of this key exists");
    if (!room)
        return jn_error(JANUS_NO_MEMORY, "no room for a capture of %zu bytes", bytes);
    jn_capture *g = jn_calloc(1, sizeof *g);
    if (!g)
        return JN_NO_MEMORY();
    janus_status st = JANUS_OK;
    g->key = jn_alloc(n_key + 1);
    if (!g->key)
        st = JN_NO_MEMORY();
    if (st == JANUS_OK) {
        memcpy(g->key, key, n_key);
        /* not under the lock: where memory is short, idle captures go */
        st = jn_dev_pool_take(c->pool, bytes + JN_CAPTURE_HEAD, home, &g->arena);
    }
    if (st == JANUS_OK)
        st = record(c, g, stream, launch, user);
    if (st != JANUS_OK) {
        capture_free(c, g);
        return st;
    }
    g->n_key = n_key;
    g->out_bytes = out_bytes;
    g->held = 1;
    pthread_mutex_lock(&c->lock);
    g->used_at = ++c->clock;
    g->next = c->first;
    c->first = g;
    c->n++;
    c->bytes += g->arena->bytes;
    c->made++;
    pthread_mutex_unlock(&c->lock);
    *out = g;
    return JANUS_OK;
}

janus_status jn_capture_replay(jn_captures *c, jn_capture *g, void *stream, bool wait,
                               bool *out_stopped) {
    uint32_t word = 0;
    g->stream = stream;
    JN_TRY(driver(c, c->api->graph_run(g->exec, stream), "replaying a capture"));
    g->replays++;
    if (wait) {
        JN_TRY(driver(c, c->api->copy(&word, g->arena->data, sizeof word, JN_COPY_TO_HOST, stream),
                      "reading the abort word"));
        JN_TRY(driver(c, c->api->stream_sync(stream), "waiting for a capture"));
    }
    *out_stopped = word != 0;
    return JANUS_OK;
}

void jn_capture_drop(jn_captures *c, jn_capture *g) {
    pthread_mutex_lock(&c->lock);
    g->held--;
    pthread_mutex_unlock(&c->lock);
}
