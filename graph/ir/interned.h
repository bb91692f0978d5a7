/* SPDX-License-Identifier: Apache-2.0 */
/* What a module keeps once: its types and strings, in hash tables. */
#ifndef JN_GRAPH_IR_INTERNED_H
#define JN_GRAPH_IR_INTERNED_H

#include "graph/base/hash.h"
#include "graph/ir/ir.h"

/* Interned types, by the bytes of what they are. */
struct jn_type_entry {
    jn_type type;
    UT_hash_handle hh;
};

/* Interned strings; the ones that name a SubGraph point to it. */
struct jn_name_entry {
    jn_subgraph *sub;
    uint32_t numbered; /* so many SubGraphs, at least, have this name and a number behind it */
    UT_hash_handle hh;
    char text[];
};

#endif
