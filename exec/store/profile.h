/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiler's record: what ran when, on which thread, for which line of the user's program.
 *
 * One record for the process, off unless somebody has started it.  While it is off, a place that is
 * recorded costs one load and one branch that is never taken:
 *
 *     int64_t start = jn_prof_begin();            0: off
 *     ... work ...
 *     if (JN_UNLIKELY(start))
 *         jn_prof_add(JN_PROF_KERNEL, name, loc, start, rows);
 */
#ifndef JN_EXEC_PROFILE_H
#define JN_EXEC_PROFILE_H

#include <stdatomic.h>

#include "graph/ir/ir.h"
#include "ops/kernel.h"

typedef enum jn_prof_kind {
    JN_PROF_HOST,       /* a run's host strand, flushes inside it */
    JN_PROF_FLUSH,      /* what was issued, until it is computed */
    JN_PROF_GROUP,      /* rows of one segment, on a lane */
    JN_PROF_KERNEL,     /* one op for some rows of a group */
    JN_PROF_EAGER,      /* a kernel of imperative execution */
    JN_PROF_GUARDS,     /* of one entry */
    JN_PROF_COMMIT,     /* objects made, effects applied */
    JN_PROF_CONVERT,    /* of one call */
    JN_PROF_IMPERATIVE, /* a call of a decorated function that CPython runs */
    JN_PROF_FALLBACK,   /* a run that was discarded: an instant */
    JN_PROF_DEVICE,     /* work on a device's stream, when it happened there; thread: the stream */
    JN_PROF_COUNT
} jn_prof_kind;

typedef struct jn_prof_event {
    int64_t start, end;       /* CLOCK_MONOTONIC, nanoseconds */
    const char *name, *file;  /* the record's; file NULL: not known */
    uint32_t line, thread, n; /* thread: 0, 1, ... as they came; n: rows, or tasks */
    uint8_t kind;
} jn_prof_event;

extern atomic_bool jn_prof_recording;

int64_t jn_prof_clock(void);
static inline bool jn_prof_on(void) {
    return JN_UNLIKELY(atomic_load_explicit(&jn_prof_recording, memory_order_relaxed));
}
/* The time, 0: nothing is recorded. */
static inline int64_t jn_prof_begin(void) { return jn_prof_on() ? jn_prof_clock() : 0; }
/* Something that has just ended.  Texts are copied; loc NULL: not known.  Any thread. */
void jn_prof_add(jn_prof_kind kind, const char *name, const jn_loc *loc, int64_t start, uint32_t n);

/* Something that has ended before, on stream 0 of a device. */
void jn_prof_put(jn_prof_kind kind, const char *name, const char *file, uint32_t line,
                 int64_t start, int64_t end, uint32_t n);
/* The record's copy of a text. */
const char *jn_prof_text(const char *s);
/* What is called before the record ends, from then on: to put what is not known earlier. */
void jn_prof_at_stop(void (*f)(void));

/* A kernel of imperative execution that has just ended: recorded, and looked at by who watches this
 * thread's.  Only where jn_prof_begin() said that something is recorded. */
typedef void (*jn_prof_watch_fn)(const jn_op *op, const jn_kargs *args);
extern _Thread_local jn_prof_watch_fn jn_prof_watch;
void jn_prof_eager(const jn_op *op, const jn_kargs *args, int64_t start);

/* Begins a record of at most that many events.  JANUS_INVALID_ARGUMENT: one is being made. */
janus_status jn_prof_start(size_t most);
/* Ends it.  *out_events, *out_n are valid until the next start or jn_prof_free; *out_lost: events
 * there was no room for.  JANUS_INVALID_ARGUMENT: none is being made. */
janus_status jn_prof_stop(const jn_prof_event **out_events, size_t *out_n, uint64_t *out_lost);
void jn_prof_free(void);

#endif
