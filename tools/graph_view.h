/* SPDX-License-Identifier: Apache-2.0 */
/* janus-graph view: what a page shows besides the graph. */
#ifndef GRAPH_VIEW_H
#define GRAPH_VIEW_H

#include "graph/ir/ir.h"

/* A JSON object for jn_print_html(): the title, and the source files that nodes name and that can
 * be read, by name as lists of lines. */
void graph_view_extra(const janus_module *m, const char *title, jn_str *out);

#endif
