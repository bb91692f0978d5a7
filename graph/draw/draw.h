/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs for other programs and for eyes: Graphviz, JSON, and the viewer's page. */
#ifndef JN_GRAPH_DRAW_DRAW_H
#define JN_GRAPH_DRAW_DRAW_H

#include "graph/ir/ir.h"

/* Append to the string, whose own error running out of memory is. */
void jn_print_dot(const janus_module *m, jn_str *s);
void jn_print_json(const janus_module *m, jn_str *s);
/* One self-contained page, the viewer.  `schedule`, NULL: not known, is what jn_module_schedule()
 * (exec/run/run.h) says.  `extra`, NULL: nothing, is a JSON object with any of
 * "title", "entry" (name of the SubGraph that is shown first, else main or the first), "names" (of
 * the entry's parameters), "sources" ({file: [line]}), "times" ({"file:line": nanoseconds}). */
void jn_print_html(const janus_module *m, const char *schedule, const char *extra, jn_str *s);

#endif
