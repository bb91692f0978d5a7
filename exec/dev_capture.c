/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of captures: see exec/dev_capture.h. */
#include "config.h"

#include "exec/dev_capture.h"

#include <string.h>

#include "graph/base/alloc.h"

void jn_captures_init(jn_captures *c, const jn_dev_api *api, jn_dev_pool *pool, uint32_t max_n,
                      size_t max_bytes) {
    *c = (jn_captures){.api = api, .pool = pool, .max_n = max_n, .max_bytes = max_bytes};
}

static void destroy(jn_captures *c, jn_capture **at) {
    jn_capture *g = *at;
    *at = g->next;
    c->n--;
    c->bytes -= g->arena->bytes;
    c->api->graph_free(g->exec);
    jn_dev_pool_free(c->pool, g->arena);
    jn_free(g->key);
    jn_free(g);
}

void jn_captures_done(jn_captures *c) {
    while (c->first)
        destroy(c, &c->first);
}

void jn_captures_drop_idle(void *captures) {
    jn_captures *c = captures;
    for (jn_capture **at = &c->first; *at;)
        if ((*at)->held) {
            at = &(*at)->next;
        } else {
            destroy(c, at);
            c->evicted++;
        }
}

static jn_capture *find(const jn_captures *c, const void *key, size_t n) {
    for (jn_capture *g = c->first; g; g = g->next)
        if (g->n_key == n && memcmp(g->key, key, n) == 0)
            return g;
    return NULL;
}

jn_capture_way jn_captures_choose(jn_captures *c, const void *key, size_t n_key, jn_capture **out) {
    jn_capture *g = find(c, key, n_key);
    *out = NULL;
    if (!g)
        return c->max_n ? JN_WAY_RECORD : JN_WAY_UNCAPTURED;
    if (g->held) {
        c->busy++;
        return JN_WAY_UNCAPTURED;
    }
    g->used_at = ++c->clock;
    *out = g;
    return g->out_bytes <= JN_CAPTURE_COPY_MAX ? JN_WAY_REPLAY_COPY : JN_WAY_REPLAY;
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

janus_status jn_captures_record(jn_captures *c, const void *key, size_t n_key, void *stream,
                                size_t bytes, size_t out_bytes, jn_record_fn launch, void *user,
                                jn_capture **out) {
    if (find(c, key, n_key))
        return jn_error(JANUS_INTERNAL, "a capture of this key exists");
    if (bytes > SIZE_MAX / 2 || !make_room(c, jn_dev_pool_class(bytes + JN_CAPTURE_HEAD)))
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
        st = jn_dev_pool_take(c->pool, bytes + JN_CAPTURE_HEAD, stream, &g->arena);
    }
    if (st == JANUS_OK)
        st = record(c, g, stream, launch, user);
    if (st != JANUS_OK) {
        jn_dev_pool_free(c->pool, g->arena);
        jn_free(g->key);
        jn_free(g);
        return st;
    }
    g->n_key = n_key;
    g->out_bytes = out_bytes;
    g->used_at = ++c->clock;
    g->next = c->first;
    c->first = g;
    c->n++;
    c->bytes += g->arena->bytes;
    c->made++;
    *out = g;
    return JANUS_OK;
}

janus_status jn_capture_replay(jn_captures *c, jn_capture *g, void *stream, bool wait,
                               bool *out_stopped) {
    uint32_t word = 0;
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

void jn_capture_hold(jn_capture *g) { g->held++; }
void jn_capture_drop(jn_capture *g) { g->held--; }
