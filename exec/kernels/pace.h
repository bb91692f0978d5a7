/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the parts of a short list run beside each other or one after the other: as took less.
 *
 * Beside each other they are faster where another core is free and its thread awake, and slower
 * where that thread has to be woken or loses its core, which only trying tells.  What is computed
 * is the same.  A trial that did not pay is made again after ever more runs.
 */
#ifndef JN_EXEC_PACE_H
#define JN_EXEC_PACE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct jn_pace {
    bool beside;       /* the next run is */
    uint32_t n;        /* runs since that was decided */
    uint32_t least;    /* of them until a trial */
    uint32_t measured; /* that the means of the way taken are of; the most is enough */
    double mean[2];    /* nanoseconds: one after the other (undisturbed), beside each other */
} jn_pace;

/* A run took so long. */
void jn_pace_took(jn_pace *p, int64_t ns);

#endif
