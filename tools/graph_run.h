/* SPDX-License-Identifier: Apache-2.0 */
/* janus-graph run and schedule: arguments and results as text. */
#ifndef JN_TOOLS_GRAPH_RUN_H
#define JN_TOOLS_GRAPH_RUN_H

#include <stdbool.h>

#include "graph/ir/ir.h"

typedef struct graph_run_options {
    const char *device; /* NULL: cpu */
    uint64_t seed;
    bool exact, stats;
    bool quiet;  /* results are not printed */
    bool filled; /* arguments that are not given are made up: zeros, dims that vary are 3 */
} graph_run_options;

/* Freezes the module, runs @name (with or without '@') on the texts and prints the results, one a
 * line. */
janus_status graph_run(janus_module *m, const char *name, char *const *texts, unsigned n_texts,
                       const graph_run_options *options);

#endif
