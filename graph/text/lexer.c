/* The tokens of the text form. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/text/lexer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void jn_lex_init(jn_lexer *l, const char *text, size_t n, const char *name) {
    *l = (jn_lexer){.name = name,
                    .text = text,
                    .end = text + n,
                    .at = text,
                    .line = 1,
                    .line_start = text,
                    .start = text};
    jn_lex_next(l);
}

void jn_lex_free(jn_lexer *l) { jn_str_free(&l->quoted); }

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static void skip_blanks(jn_lexer *l) {
    while (l->at < l->end) {
        if (is_blank(*l->at)) {
            l->at++;
        } else if (l->end - l->at >= 2 && l->at[0] == '/' && l->at[1] == '/') {
            while (l->at < l->end && *l->at != '\n')
                l->at++;
        } else {
            return;
        }
    }
}

/* A name after a sigil, or a string. */
static bool take_quoted(jn_lexer *l) {
    l->quoted.n = 0;
    size_t n = jn_str_unquote(&l->quoted, l->at, (size_t)(l->end - l->at));
    l->at += n ? n : 1; /* a bad one is passed, too: there must be progress */
    l->c = '"';
    return n && jn_str_ok(&l->quoted);
}

static jn_token take_name(jn_lexer *l, jn_token token) {
    l->at++;
    if (l->at < l->end && *l->at == '"')
        return take_quoted(l) ? token : JN_TOK_BAD;
    l->start = l->at;
    while (l->at < l->end && jn_is_name_char(*l->at))
        l->at++;
    l->n = (size_t)(l->at - l->start);
    l->start--; /* messages point at the sigil */
    l->c = 0;
    return l->n ? token : JN_TOK_BAD;
}

/* `line` and `line_start` must be those of the current token, so a LINE token counts its line ends
 * only when it is left. */
static void leave_line(jn_lexer *l) {
    for (const char *p = l->start; p < l->at; p++) {
        if (*p == '\n') {
            l->line++;
            l->line_start = p + 1;
        }
    }
}

void jn_lex_next(jn_lexer *l) {
    if (l->token == JN_TOK_LINE)
        leave_line(l);
    skip_blanks(l);
    l->start = l->at;
    l->n = 0;
    l->c = 0;
    if (l->at == l->end) {
        l->token = JN_TOK_END;
        return;
    }
    char c = *l->at;
    if (c == '\n') {
        while (l->at < l->end && *l->at == '\n') {
            l->at++;
            skip_blanks(l);
        }
        l->token = JN_TOK_LINE;
    } else if (c == '%') {
        l->token = take_name(l, JN_TOK_VALUE);
    } else if (c == '@') {
        l->token = take_name(l, JN_TOK_SUB);
    } else if (c == '"') {
        l->token = take_quoted(l) ? JN_TOK_STRING : JN_TOK_BAD;
    } else if (c == '-' && l->end - l->at >= 2 && l->at[1] == '>') {
        l->at += 2;
        l->token = JN_TOK_ARROW;
    } else if (jn_is_name_char(c)) {
        while (l->at < l->end && jn_is_name_char(*l->at))
            l->at++;
        l->n = (size_t)(l->at - l->start);
        l->token = JN_TOK_WORD;
    } else if (c && strchr("{}()[]<>,:=*?#", c)) {
        l->c = c;
        l->at++;
        l->token = JN_TOK_CHAR;
    } else {
        l->at++;
        l->token = JN_TOK_BAD;
    }
}

void jn_lex_raw(jn_lexer *l, const char **text, size_t *n) {
    int depth = 0;
    const char *p = l->start;
    if (l->token == JN_TOK_LINE || l->token == JN_TOK_END) {
        *text = l->start;
        *n = 0;
        return;
    }
    while (p < l->end && *p != '\n') {
        char c = *p;
        if (c == '"') {
            for (p++; p < l->end && *p != '"' && *p != '\n'; p++)
                p += *p == '\\' && p + 1 < l->end;
            p += p < l->end && *p == '"';
            continue;
        }
        if (depth == 0 && (c == ',' || c == '}' || is_blank(c)))
            break;
        depth += (c == '[' || c == '(') - (c == ']' || c == ')');
        if (depth < 0)
            break;
        p++;
    }
    *text = l->start;
    *n = (size_t)(p - l->start);
    l->at = p;
    l->token = JN_TOK_BAD; /* whatever it was, it is consumed */
    jn_lex_next(l);
}

const char *jn_lex_name(const jn_lexer *l, size_t *n) {
    if (l->c == '"') {
        *n = l->quoted.n;
        return l->quoted.data ? l->quoted.data : "";
    }
    *n = l->n;
    return l->start + (l->token == JN_TOK_VALUE || l->token == JN_TOK_SUB);
}

janus_status jn_lex_error(const jn_lexer *l, const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (l->quoted.broken)
        return JN_NO_MEMORY();
    return jn_error(JANUS_PARSE, "%.60s:%u:%zu: %s", l->name, l->line,
                    (size_t)(l->start - l->line_start) + 1, text);
}
