/* SPDX-License-Identifier: Apache-2.0 */
/* A group at work: what exec/schedule/group.c decides for all rows and exec/schedule/tile.c does
 * for some of them. */
#ifndef JN_EXEC_GROUP_H
#define JN_EXEC_GROUP_H

#include "exec/kernels/kernels.h"
#include "exec/state/state.h"

enum { JN_ROWS_SHARED, JN_ROWS_BLOCK, JN_ROWS_GATHER };

typedef struct jn_group {
    jn_lane *lane;
    jn_seginst *inst;
    jn_task **task; /* n rows */
    uint32_t n;
    uint32_t ranges; /* that may run on threads of their own; 1 in a lane beside others */
    bool in_turn;    /* they are too short for that, unless a list of them is run again */
    uint64_t mask;
    uint8_t *layout;                /* per input */
    struct jn_collected *collected; /* what its products take, from this task on; or NULL */
    int64_t first_collected;
} jn_group;

/* Its ranges of rows, and tiles in them, as threads of the host run them. */
typedef struct jn_ranges {
    jn_group *g;
    jn_variant *v[2 * JN_MAX_RANGES]; /* per range: its tiles, its last tile */
    jn_variant *any;                  /* one whose rows are marked */
    uint32_t tile_rows;
    janus_status st[JN_MAX_RANGES];
    janus_error error[JN_MAX_RANGES];
    uint64_t kernels[JN_MAX_RANGES];
} jn_ranges;
/* exec/schedule/group.c: runs them. */
janus_status jn_host_group(jn_group *g, jn_ranges *j);

/* The number of a range among the parts of accumulators, scratch and variants. */
static inline uint32_t jn_group_part(const jn_group *g, uint32_t range) {
    return g->lane->index + range;
}

enum { JN_LINE = 64, JN_LINES_AHEAD = 24, JN_AHEAD = 2048 }; /* JN_AHEAD: bytes of a row, at most */

/* How many rows of so many bytes are asked for ahead of the one that is copied: as many lines as a
 * core waits for at once. */
static inline uint32_t jn_rows_ahead(size_t bytes) {
    enum { LEAST = 2 };
    size_t ahead = bytes < JN_AHEAD ? bytes : JN_AHEAD;
    size_t rows = JN_LINES_AHEAD / ((ahead + JN_LINE - 1) / JN_LINE + 1) + 1;
    return rows > LEAST ? (uint32_t)rows : LEAST;
}
/* Asks for one that will be copied. */
static inline void jn_ask_for(const char *row, size_t bytes) {
    for (size_t k = 0; k < bytes && k < JN_AHEAD; k += JN_LINE)
        __builtin_prefetch(row + k);
}

/* exec/schedule/order.c: puts the rows, at least two, into the order in which most of them are read
 * where they lie. */
void jn_group_order(jn_group *g);
/* exec/schedule/tile.c: scratch memory of a range, till its next tile. */
janus_status jn_scratch_take(jn_run *r, uint32_t part, size_t bytes, char **out);
/* Room for the temporaries of n rows in a range: running them then allocates nothing. */
janus_status jn_tile_reserve(const jn_group *g, const jn_variant *v, uint32_t n, uint32_t range);
/* Where the calls of its tiles are written down: of a group of the run's own thread, which then
 * runs all ranges; else NULL. */
static inline jn_replay *jn_tile_list(const jn_group *g) {
    jn_replay *list = g->lane->run->of_schedule.list;
    return JN_LIKELY(!list) || g->lane->lock || !g->lane->polls ? NULL : list;
}
/* Runs the rows task[0..n-1] of a group; *kernels += kernels called. */
janus_status jn_tile_run(jn_group *g, jn_variant *v, jn_task **task, uint32_t n, uint32_t range,
                         uint64_t *kernels);
/* What the first of so many parts has packed is read by the others, none of which runs yet. */
void jn_tile_lend(jn_run *r, uint32_t parts);

#endif
