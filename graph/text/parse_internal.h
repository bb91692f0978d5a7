/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the parser share: its state, looking at tokens, and types. */
#ifndef JN_GRAPH_PARSE_INTERNAL_H
#define JN_GRAPH_PARSE_INTERNAL_H

#include <string.h>

#include "graph/base/hash.h"
#include "graph/ir/ir.h"
#include "graph/text/lexer.h"

typedef struct value_name {
    const char *name; /* interned; quoted and plain names are the same */
    jn_value value;
    UT_hash_handle hh;
} value_name;

typedef struct parser {
    jn_lexer lex;
    janus_module *m;
    jn_subgraph *g;
    value_name *values; /* of the SubGraph being read */
    jn_arena names;     /* value_name items */
    jn_arena scratch;   /* of the current line */
} parser;

typedef struct type_list {
    JN_VEC(jn_type) v;
} type_list;

static inline bool at_char(const parser *p, char c) {
    return p->lex.token == JN_TOK_CHAR && p->lex.c == c;
}

static inline bool at_word(const parser *p, const char *word) {
    return p->lex.token == JN_TOK_WORD && p->lex.n == strlen(word) &&
           !memcmp(p->lex.start, word, p->lex.n);
}

static inline bool skip_char(parser *p, char c) {
    bool found = at_char(p, c);
    if (found)
        jn_lex_next(&p->lex);
    return found;
}

static inline bool skip_word(parser *p, const char *word) {
    bool found = at_word(p, word);
    if (found)
        jn_lex_next(&p->lex);
    return found;
}

static inline janus_status need_char(parser *p, char c) {
    return skip_char(p, c) ? JANUS_OK : jn_lex_error(&p->lex, "expected '%c'", c);
}

/* "@name" of a SubGraph that is known. */
janus_status jn_parse_sub_name(parser *p, jn_subgraph **out);
/* Types; dims live in p->scratch. */
janus_status jn_parse_type(parser *p, jn_type *out);
janus_status jn_parse_types(parser *p, type_list *out);

#endif
