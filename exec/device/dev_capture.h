/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures: launches recorded once and replayed as one graph, kept by key in a bounded pool.
 *
 * A capture owns its arena: inputs' places, values, library workspaces, outputs, and at its start
 * the abort word, which the replay clears first.  While somebody holds its outputs (a run, frames
 * for a gradient) a replay would overwrite them, so it is busy: small outputs are copied out
 * instead of held, for large ones the plan runs uncaptured.  The pool is bounded in number and
 * bytes; what was used longest ago and is idle goes first.
 *
 * While a capture is recorded nothing may be allocated from the device's pool: what the plan needs
 * is in the arena.  Thread-safe; recording is for one thread at a time.
 */
#ifndef JN_EXEC_DEV_CAPTURE_H
#define JN_EXEC_DEV_CAPTURE_H

#include "exec/device/dev_pool.h"

enum {
    JN_CAPTURE_HEAD = 256,        /* bytes of the arena before the plan's: the abort word */
    JN_CAPTURE_COPY_MAX = 1 << 16 /* outputs up to this many bytes together are copied out */
};

typedef struct jn_capture {
    struct jn_capture *next;
    void *key;
    size_t n_key;
    void *exec;          /* the driver's */
    jn_dev_block *arena; /* JN_CAPTURE_HEAD bytes, then the plan's */
    size_t out_bytes;    /* of all outputs together */
    uint32_t held;       /* how many refer to its outputs; under the pool's lock */
    uint64_t used_at, replays;
    void *stream;      /* replayed on last */
    const void *owner; /* jn_captures_forget */
    void *more;        /* the recorder's, freed with `free_more` */
    void (*free_more)(void *more);
} jn_capture;

typedef struct jn_captures {
    const jn_dev_api *api;
    jn_dev_pool *pool;
    pthread_mutex_t lock;
    jn_capture *first;
    uint32_t n, max_n;
    size_t bytes, max_bytes;
    uint64_t clock;
    uint64_t made, evicted, busy; /* statistics */
} jn_captures;

/* What to do with a plan that was seen under this key. */
typedef enum jn_capture_way {
    JN_WAY_UNCAPTURED, /* its outputs are held, or there is none and none is wanted */
    JN_WAY_RECORD,     /* there is none yet */
    JN_WAY_REPLAY,     /* held now: its outputs lie in the arena until jn_capture_drop */
    JN_WAY_REPLAY_COPY /* the same; its outputs are small enough to be copied out */
} jn_capture_way;

void jn_captures_init(jn_captures *c, const jn_dev_api *api, jn_dev_pool *pool, uint32_t max_n,
                      size_t max_bytes);
void jn_captures_done(jn_captures *c);
/* *out: the capture to replay, NULL otherwise. */
jn_capture_way jn_captures_choose(jn_captures *c, const void *key, size_t n_key, jn_capture **out);

/* Records what `launch` puts on `stream` (and on streams that wait for it), which nobody else uses
 * now, over a new arena of `bytes` that belongs to the stream `home`; `launch` gets the arena's
 * start behind the head and the abort word.  *out is held. */
typedef janus_status (*jn_record_fn)(void *user, char *arena, uint32_t *stop);
janus_status jn_captures_record(jn_captures *c, const void *key, size_t n_key, void *home,
                                void *stream, size_t bytes, size_t out_bytes, jn_record_fn launch,
                                void *user, jn_capture **out);
/* Replays it.  `wait`: the plan asserts something on the device; then the abort word is read and
 * *out_stopped says whether the run is to be discarded. */
janus_status jn_capture_replay(jn_captures *c, jn_capture *g, void *stream, bool wait,
                               bool *out_stopped);
void jn_capture_drop(jn_captures *c, jn_capture *g);
/* Frees the capture of a key if there is one and nobody holds it. */
void jn_captures_remove(jn_captures *c, const void *key, size_t n_key);
/* The owner goes: captures of its plans are of no use. */
void jn_captures_forget(jn_captures *c, const void *owner);
/* Where its outputs and inputs are. */
static inline char *jn_capture_arena(const jn_capture *g) {
    return (char *)g->arena->data + JN_CAPTURE_HEAD;
}
/* Frees every idle capture: what the memory pool asks for when it has nothing left. */
void jn_captures_drop_idle(void *captures);

#endif
