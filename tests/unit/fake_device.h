/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver table that records its calls: memory is the heap's, streams are numbers, and what comes
 * after what is kept as sets of launches.  Calls can be made to fail.
 */
#ifndef JN_TESTS_FAKE_DEVICE_H
#define JN_TESTS_FAKE_DEVICE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ops/device.h"

enum { FAKE_STREAMS = 64, FAKE_EVENTS = 4096, FAKE_LAUNCHES = 512 };

typedef struct fake_set { /* of launches */
    uint64_t bits[FAKE_LAUNCHES / 64];
} fake_set;

static struct {
    uint64_t limit, taken; /* device memory */
    unsigned allocs, releases, trims, syncs, waits, records, events_made, events_freed;
    unsigned event_waits, pinned_made, pinned_freed;
    unsigned fail_in; /* the n-th call from now of a call that can fail; 0: none */
    unsigned n_streams, n_events;
    fake_set done[FAKE_STREAMS + 1]; /* what comes before the stream's next launch */
    fake_set at[FAKE_EVENTS];
    fake_set before[FAKE_LAUNCHES]; /* per launch */
    bool capturing;
    unsigned graphs_made, graphs_freed, replays;
    bool branches;         /* the driver has conditional nodes */
    unsigned bodies_open;  /* conditional bodies being captured */
    unsigned handles_made; /* of conditional nodes */
    void *fill_at;         /* the last fill */
    uint32_t answer;       /* what copies to the host bring */
} fake;

static inline int fake_fails(void) { return fake.fail_in && --fake.fail_in == 0 ? 7 : 0; }
static inline unsigned fake_index(void *handle) { return (unsigned)(uintptr_t)handle; }
static inline void fake_join(fake_set *to, const fake_set *from) {
    for (int i = 0; i < FAKE_LAUNCHES / 64; i++)
        to->bits[i] |= from->bits[i];
}

/* A launch, by number, on a stream. */
static inline void fake_launch(unsigned op, void *stream) {
    fake_set *s = &fake.done[fake_index(stream)];
    fake.before[op] = *s;
    s->bits[op / 64] |= (uint64_t)1 << (op % 64);
}
static inline bool fake_ordered(unsigned a, unsigned b) {
    return fake.before[b].bits[a / 64] >> (a % 64) & 1;
}

static const char *fake_text(int error) {
    return error == JN_DEV_OUT_OF_MEMORY ? "no memory" : "made to fail";
}
static int fake_count(int *n) { return *n = 1, 0; }
static int fake_use(int n) { return n; }
static int fake_describe(int n, char *name, size_t room, int *capability, int *processors) {
    (void)n;
    if (room)
        name[0] = 0;
    *capability = 80;
    *processors = 1;
    return 0;
}
static int fake_memory(size_t *a, size_t *b) {
    *a = (size_t)(fake.limit - fake.taken);
    *b = (size_t)fake.limit;
    return 0;
}
static int fake_alloc(size_t bytes, void *stream, void **out) {
    (void)stream;
    fake.allocs++;
    if (fake.taken + bytes > fake.limit)
        return JN_DEV_OUT_OF_MEMORY;
    size_t *p = malloc(bytes + 64);
    *p = bytes;
    fake.taken += bytes;
    *out = (char *)p + 64;
    return 0;
}
static int fake_release(void *p, void *stream) {
    (void)stream;
    size_t *block = (size_t *)(void *)((char *)p - 64);
    fake.releases++;
    fake.taken -= *block;
    free(block);
    return 0;
}
static int fake_trim(void) { return fake.trims++, 0; }
static int fake_host_alloc(size_t bytes, void **out) {
    if (fake_fails())
        return 7;
    fake.pinned_made++;
    return *out = malloc(bytes), 0;
}
static int fake_host_release(void *p) { return free(p), fake.pinned_freed++, 0; }
static int fake_copy(void *to, const void *from, size_t bytes, int kind, void *stream) {
    (void)from, (void)stream;
    if (kind == JN_COPY_TO_HOST)
        memset(to, 0, bytes),
            memcpy(to, &fake.answer, bytes < sizeof fake.answer ? bytes : sizeof fake.answer);
    return fake_fails();
}
static int fake_fill(void *p, int byte, size_t bytes, void *stream) {
    (void)byte, (void)bytes, (void)stream;
    fake.fill_at = p;
    return fake_fails();
}
static int fake_stream_new(void **out) { return *out = (void *)(uintptr_t)++fake.n_streams, 0; }
static int fake_stream_free(void *s) { return (void)s, 0; }
static int fake_stream_sync(void *s) { return (void)s, fake.syncs++, 0; }
static int fake_stream_wait(void *s, void *e) {
    fake.waits++;
    fake_join(&fake.done[fake_index(s)], &fake.at[fake_index(e)]);
    return fake_fails();
}
static int fake_event_new(bool timing, void **out) {
    (void)timing;
    if (fake_fails())
        return 7;
    fake.events_made++;
    *out = (void *)(uintptr_t)(++fake.n_events % FAKE_EVENTS);
    return 0;
}
static int fake_event_free(void *e) { return (void)e, fake.events_freed++, 0; }
static int fake_event_record(void *e, void *s) {
    fake.records++;
    fake.at[fake_index(e)] = fake.done[fake_index(s)];
    return fake_fails();
}
static int fake_event_sync(void *e) { return (void)e, fake.event_waits++, fake_fails(); }
static int fake_event_ms(void *a, void *b, float *ms) { return (void)a, (void)b, *ms = 1, 0; }
static int fake_launch_error(void) { return 0; }
static int fake_capture_begin(void *s) {
    (void)s;
    int error = fake_fails();
    fake.capturing = !error;
    return error;
}
static int fake_capture_end(void *s, void **graph) {
    (void)s;
    if (!fake.capturing)
        return 9;
    fake.capturing = false;
    if (fake.bodies_open)
        return 10;
    *graph = (void *)(uintptr_t)1;
    return 0;
}
static int fake_graph_make(void *graph, void **out) {
    (void)graph;
    if (fake_fails())
        return 7;
    return *out = (void *)(uintptr_t)++fake.graphs_made, 0;
}
static int fake_graph_run(void *g, void *s) {
    return (void)g, (void)s, fake.replays++, fake_fails();
}
static int fake_graph_free(void *g) { return (void)g, fake.graphs_freed++, 0; }
static int fake_has_branches(bool *out) { return *out = fake.branches, 0; }
static int fake_branch_handle(void *stream, uint64_t *out) {
    (void)stream;
    if (fake_fails())
        return 7;
    return *out = ++fake.handles_made, 0;
}
static int fake_body_begin(void *stream, uint64_t handle, bool loop, void *body) {
    (void)stream, (void)handle, (void)loop, (void)body;
    int error = fake_fails();
    fake.bodies_open += !error;
    return error;
}
static int fake_body_end(void *body) { return (void)body, fake.bodies_open--, fake_fails(); }

static const jn_dev_api fake_api = {.struct_size = sizeof(jn_dev_api),
                                    .error_text = fake_text,
                                    .count = fake_count,
                                    .use = fake_use,
                                    .describe = fake_describe,
                                    .memory = fake_memory,
                                    .alloc = fake_alloc,
                                    .release = fake_release,
                                    .trim = fake_trim,
                                    .host_alloc = fake_host_alloc,
                                    .host_release = fake_host_release,
                                    .copy = fake_copy,
                                    .fill = fake_fill,
                                    .stream_new = fake_stream_new,
                                    .stream_free = fake_stream_free,
                                    .stream_sync = fake_stream_sync,
                                    .stream_wait = fake_stream_wait,
                                    .event_new = fake_event_new,
                                    .event_free = fake_event_free,
                                    .event_record = fake_event_record,
                                    .event_sync = fake_event_sync,
                                    .event_ms = fake_event_ms,
                                    .launch_error = fake_launch_error,
                                    .capture_begin = fake_capture_begin,
                                    .capture_end = fake_capture_end,
                                    .graph_make = fake_graph_make,
                                    .graph_run = fake_graph_run,
                                    .graph_free = fake_graph_free,
                                    .has_branches = fake_has_branches,
                                    .branch_handle = fake_branch_handle,
                                    .body_begin = fake_body_begin,
                                    .body_end = fake_body_end};

static inline void fake_reset(uint64_t limit) {
    memset(&fake, 0, sizeof fake);
    fake.limit = limit;
}

#endif
