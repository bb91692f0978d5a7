/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of the text form.  The lexer looks at one token at a time and never past the end of the
 * text; a line's end is a token, since a node is a line.
 */
#ifndef JN_GRAPH_LEXER_H
#define JN_GRAPH_LEXER_H

#include "graph/base/status.h"
#include "graph/base/str.h"

typedef enum jn_token {
    JN_TOK_END,
    JN_TOK_LINE,   /* one or more line ends */
    JN_TOK_WORD,   /* letters, digits, _ . $ - */
    JN_TOK_VALUE,  /* %name */
    JN_TOK_SUB,    /* @name, outside positions */
    JN_TOK_STRING, /* "..." as a word of its own */
    JN_TOK_ARROW,  /* -> */
    JN_TOK_CHAR,   /* punctuation: `c` */
    JN_TOK_BAD
} jn_token;

typedef struct jn_lexer {
    const char *name; /* for messages */
    const char *text, *end;
    const char *at; /* behind the current token */
    unsigned line;  /* of the current token */
    const char *line_start;
    jn_token token;
    const char *start; /* of the current token */
    size_t n;          /* its length, for names without sigil */
    char c;            /* CHAR; of VALUE and SUB: '"' for quoted names */
    jn_str quoted;     /* what a quoted name or string means */
} jn_lexer;

void jn_lex_init(jn_lexer *l, const char *text, size_t n, const char *name);
void jn_lex_free(jn_lexer *l);
/* Moves to the next token. */
void jn_lex_next(jn_lexer *l);
/* From the current token's start, takes raw text up to an unnested `,`, `}`, blank or line end
 * (attribute values, numbers); moves to the token behind it.  Strings are taken whole. */
void jn_lex_raw(jn_lexer *l, const char **text, size_t *n);
/* The name or string of the current token; quoted ones live until the next token. */
const char *jn_lex_name(const jn_lexer *l, size_t *n);
/* JANUS_PARSE "name:line:column: message" at the current token. */
__attribute__((format(printf, 2, 3))) janus_status jn_lex_error(const jn_lexer *l, const char *fmt,
                                                                ...);

#endif
