/* SPDX-License-Identifier: Apache-2.0 */
/* The text form of graphs, `.jir` (docs/ir.md): what is printed is read again as the same module.
 */
#ifndef JN_GRAPH_TEXT_TEXT_H
#define JN_GRAPH_TEXT_TEXT_H

#include "graph/ir/ir.h"

/* Appends the text; running out of memory is the string's own error. */
void jn_print_module(const janus_module *m, jn_str *s);
void jn_print_subgraph(const jn_subgraph *g, jn_str *s);
/* Prints a value's name as the text form has it. */
void jn_print_value(jn_str *s, const jn_subgraph *g, jn_value v);
/* Reads `n` bytes; the module is verified and the caller's.  Errors are JANUS_PARSE with
 * "name:line:column: message". */
janus_status jn_parse_module(const char *text, size_t n, const char *name, janus_module **out);

#endif
