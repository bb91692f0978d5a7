/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ahead of time on a device: flushes that come again are captured and replayed.
 *
 * A flush is known by what decides its launches: the specialisations of its tasks, who reads whose
 * results, which operands are the same memory, scalars.  The first time it runs as it comes; the
 * second time it is traced (exec/device/dev_trace.h), gets streams and an arena, and is captured;
 * from then on it is one graph launch.  Memory from outside that has stayed where it was
 * (parameters) is read in place, other memory (inputs) is copied to its place in the arena before
 * each replay; what moves later makes a new capture in which it is copied.  Scalars that kernels
 * read on the device (offsets of random numbers, learning rates) may change from replay to replay,
 * others are part of what the flush is known by.
 *
 * The run, or the frames it leaves, hold the capture: meanwhile the same flush runs uncaptured.
 * Whatever cannot be captured, or fails while it is recorded, runs uncaptured; so does a replay
 * again whose abort word was set, which finds out where the error is.
 *
 * Groups of rows in flushes that were not captured (trees are always new ones) are captures of
 * their segment for a rounded number of rows: exec/schedule/dev_rows.c.
 *
 * JANUS_CUDA_GRAPHS=0: never.  JANUS_CUDA_STREAMS=1: captures have one stream.
 * JANUS_CUDA_BRANCHES=0: the host decides every branch and loop.  JANUS_CUDA_ROUNDS: of a loop that
 * the device decides, at most (65536).
 */
#ifndef JN_EXEC_DEV_SCHEDULE_H
#define JN_EXEC_DEV_SCHEDULE_H

#include "exec/device/dev_capture.h"

struct jn_device;
struct jn_planset;
struct jn_run;
struct jn_task;

typedef struct jn_schedule jn_schedule;

/* A flush seen before. */
typedef struct jn_seen {
    struct jn_seen *next;
    uint64_t *key;
    size_t n_key;
    uint32_t n_ext;
    char **addr;    /* where its memory from outside was last */
    bool *moves;    /* it has been elsewhere before */
    uint32_t rest;  /* times that it runs before the next attempt */
    uint32_t times; /* that it came again */
    const struct jn_planset *owner;
} jn_seen;

typedef struct jn_schedule_stats {
    uint64_t captures, replays, busy, evicted; /* made; runs of them; held when wanted; gone */
    uint64_t refused;                          /* flushes that could not be captured */
    uint64_t streams;                          /* the most that a capture had */
    uint64_t nodes, waits;                     /* of all captures made: launches, event waits */
    uint64_t row_captures, row_replays;        /* of groups of rows (exec/schedule/dev_rows.c) */
    uint64_t branches;                         /* of all captures: that the device decides */
} jn_schedule_stats;

enum {
    JN_SCHEDULE_STREAMS = 16, /* further ones of a plan share these */
    JN_SCHEDULE_BODIES = 4
};

struct jn_schedule {
    struct jn_device *d;
    jn_captures captures, rows; /* of flushes; of groups of rows */
    bool on, single,
        branches;         /* branches: the driver has conditional nodes (exec/schedule/branch.h) */
    pthread_mutex_t lock; /* of what follows */
    jn_seen *first;       /* used last first */
    uint32_t n_seen;
    jn_schedule_stats stats;
    pthread_mutex_t recording; /* one capture at a time; of the streams */
    void *stream[JN_SCHEDULE_STREAMS];
    uint32_t n_streams;
    void *body[JN_SCHEDULE_BODIES]; /* for bodies of branches, one within the other */
    uint32_t n_bodies, most_rounds;
};

janus_status jn_schedule_new(struct jn_device *d, jn_schedule **out);
void jn_schedule_free(jn_schedule *s);
void jn_seen_free(jn_seen *p);
/* The plan set is freed: nothing of its flushes is kept. */
void jn_schedule_forget(jn_schedule *s, const struct jn_planset *set);
/* Records a planned trace into a pool; *out is held. */
struct jn_trace;
janus_status jn_schedule_record(jn_schedule *s, jn_captures *pool, const struct jn_trace *t,
                                const void *key, size_t n_key, size_t out_bytes, jn_capture **out);
/* What a run's memory held is free. */
void jn_schedule_drop(jn_schedule *s, jn_capture *g);
jn_schedule_stats jn_schedule_stats_get(jn_schedule *s);

#endif
