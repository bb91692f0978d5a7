/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What backward() uses up of a graph's results, as CPython's tape would have it.
 *
 * What leaves a graph together is one node of the tape, which stands for many of the nodes that the
 * same ops make when they run one by one.  Those that are run by a backward() of the same results,
 * for the same inputs, are a group: its saved values are given up together.
 */
#ifndef JPY_HISTORY_H
#define JPY_HISTORY_H

#include "graph/base/vec.h"

/* A set of the first 62 results or inputs of a node; bit 63 stands for all others. */
typedef uint64_t jpy_set;
/* Of results: what a run has stored and remains, of which there are as many as it finds. */
#define JPY_SET_WAITS ((jpy_set)1 << 62)
#define JPY_SET_OF(i) ((jpy_set)1 << ((i) < 62 ? (i) : 63))

/* One way of a branch, or of a loop that goes no round or some: ops on it have run if a result of
 * the run, a bool or how many rounds there were, is `holds` or not, and those of an arm before it
 * in the list have. */
typedef struct jpy_arm {
    uint32_t result;
    bool holds;
    uint8_t also; /* 1 + its number; 0: none */
} jpy_arm;
enum { JPY_MAX_ARMS = 64 };

typedef struct jpy_group { /* ops that keep something for their gradients */
    jpy_set outs;          /* results of the node that are computed from them */
    jpy_set ins;           /* inputs of the node that they are computed from */
    uint32_t at;           /* the last of them: it is the first that backward() runs */
    uint8_t arm;           /* 1 + number of the arm that they are in, or that hands them on to these
                            * results; 0: they have run */
    uint32_t same;         /* the first group of the same ops, which lead to other results if other
                            * arms are taken: what is freed of one is freed of all */
} jpy_group;
typedef JN_VEC(jpy_group) jpy_groups;

/* Whether a backward() from `outs` to `ins` runs the ops of a group. */
static inline bool jpy_group_runs(const jpy_group *g, jpy_set outs, jpy_set ins) {
    return (g->outs & outs) && (g->ins & ins);
}
/* Where it runs one that is freed (by group; NULL: none is): the first that it comes to; 0: none.
 */
uint32_t jpy_groups_freed(const jpy_groups *l, const bool *freed, jpy_set outs, jpy_set ins,
                          jpy_set not_taken);
/* Whether what belongs to arm - 1 was not there, of a set of arms that were not taken. */
static inline bool jpy_arm_not_taken(jpy_set not_taken, uint8_t arm) {
    return arm && not_taken >> (arm - 1) & 1;
}
/* Frees what a backward() has run, down to what comes behind `after`; 0: all of it. */
void jpy_groups_free(const jpy_groups *l, bool *freed, jpy_set outs, jpy_set ins, jpy_set not_taken,
                     uint32_t after);
/* Inputs that no gradient of result `out` can be asked for any more. */
jpy_set jpy_groups_gone(const jpy_groups *l, const bool *freed, unsigned out, jpy_set not_taken);
/* The results that the ops of group i have led to. */
jpy_set jpy_groups_outs(const jpy_groups *l, size_t i, jpy_set not_taken);

#endif
