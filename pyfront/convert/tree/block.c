/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a file that one function needs to be parsed.
 *
 * Logical lines are told by brackets, quotes and backslashes, statements by how far they are
 * indented.  That is no parser: what it takes for a function may be none.  Whoever uses the text
 * sees whether it compiles to the code that is looked for.
 */
#include <string.h>

#include "pyfront/convert/tree/file.h"

typedef struct scan {
    const char *at, *end;
    long line; /* of `at` */
} scan;

/* A line as Python counts them, up to the line it goes on to. */
typedef struct logical {
    const char *word; /* its first character that is no space; NULL: the text is at its end */
    const char *end;
    long first, last;
    long indent;
} logical;

/* Behind a string that begins at s->at; false: it has no end. */
static bool pass_string(scan *s) {
    char quote = *s->at;
    bool three = s->end - s->at >= 3 && s->at[1] == quote && s->at[2] == quote;
    for (s->at += three ? 3 : 1; s->at < s->end; s->at++) {
        char c = *s->at;
        if (c == '\\' && s->end - s->at > 1) {
            s->line += *++s->at == '\n';
        } else if (c == '\n') {
            if (!three)
                return false;
            s->line++;
        } else if (c == quote &&
                   (!three || (s->end - s->at >= 3 && s->at[1] == quote && s->at[2] == quote))) {
            s->at += three ? 3 : 1;
            return true;
        }
    }
    return false;
}

/* Behind the rest of a logical line, whose last line *last is. */
static bool pass_rest(scan *s, long *last) {
    for (long depth = 0; s->at < s->end;) {
        char c = *s->at;
        *last = s->line;
        if (c == '"' || c == '\'') {
            if (!pass_string(s))
                return false;
            *last = s->line;
            continue;
        }
        s->at++;
        if (c == '#') {
            const char *stop = memchr(s->at, '\n', (size_t)(s->end - s->at));
            s->at = stop ? stop : s->end;
        } else if (c == '\n') {
            s->line++;
            if (!depth)
                return true;
        } else if (c == '\\' && s->at < s->end && *s->at == '\n') {
            s->line++;
            s->at++;
        } else if (strchr("([{", c)) {
            depth++;
        } else if (strchr(")]}", c) && --depth < 0) {
            return false;
        }
    }
    return true;
}

/* The next logical line that is not empty. */
static bool next_line(scan *s, logical *out) {
    long indent = 0;
    for (; s->at < s->end; s->at++) {
        char c = *s->at;
        if (c == ' ') {
            indent++;
        } else if (c == '\t') {
            indent = (indent / 8 + 1) * 8;
        } else if (c == '\f') {
            indent = 0;
        } else if (c == '\n') {
            s->line++;
            indent = 0;
        } else if (c == '#') {
            const char *stop = memchr(s->at, '\n', (size_t)(s->end - s->at));
            s->at = stop ? stop - 1 : s->end - 1;
        } else if (c == '\\' || c == '\r' || !c) {
            return false; /* how far what follows is indented is not told here */
        } else {
            *out = (logical){.word = s->at, .first = s->line, .last = s->line, .indent = indent};
            bool whole = pass_rest(s, &out->last);
            out->end = s->at;
            return whole;
        }
    }
    *out = (logical){.indent = -1};
    return true;
}

static bool is_word(const logical *l, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(l->end - l->word) <= n || memcmp(l->word, word, n) != 0)
        return false;
    unsigned char c = (unsigned char)l->word[n];
    return !(c == '_' || c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
             (c >= 'a' && c <= 'z'));
}

static bool goes_on(const logical *l) {
    return is_word(l, "else") || is_word(l, "elif") || is_word(l, "except") ||
           is_word(l, "finally");
}

static bool has_import(const char *at, const char *end) {
    for (; (at = memchr(at, 'i', (size_t)(end - at))); at++)
        if (end - at >= 6 && memcmp(at, "import", 6) == 0)
            return true;
    return false;
}

/* Appends the lines first to last of the text, which *at is line *line of, and empty ones for those
 * before them. */
static void keep_lines(char **out, const char **at, long *line, long first, long last,
                       const char *end) {
    for (; *line <= last && *at < end; (*line)++) {
        const char *stop = memchr(*at, '\n', (size_t)(end - *at));
        stop = stop ? stop + 1 : end;
        if (*line >= first) {
            memcpy(*out, *at, (size_t)(stop - *at));
            *out += stop - *at;
        } else {
            *(*out)++ = '\n';
        }
        *at = stop;
    }
}

/* A statement with what belongs to it, which begins at *l, the first line of it; *l is the line
 * behind it then. */
typedef struct statement {
    const char *word, *end;
    long first, last, head; /* lines; head: the last one of what stands before its block */
    bool is_class, is_function;
} statement;

static bool next_statement(scan *s, logical *l, statement *out) {
    long level = l->indent;
    bool decorators = *l->word == '@';
    *out = (statement){.word = l->word, .first = l->first};
    for (bool first = true;; first = false) {
        if (!l->word || l->indent < level)
            return true;
        if (l->indent == level && !first && !decorators && !goes_on(l))
            return true;
        if (l->indent == level && (first || decorators)) {
            decorators = *l->word == '@';
            out->is_class = is_word(l, "class");
            out->is_function = is_word(l, "def") || is_word(l, "async");
            out->head = l->last;
        }
        out->last = l->last;
        out->end = l->end;
        if (!next_line(s, l))
            return false;
    }
}

PyObject *jpy_block_text(PyObject *text, long line, long *first, long *last) {
    Py_ssize_t n;
    const char *begin = PyUnicode_AsUTF8AndSize(text, &n), *at = begin;
    char *made = begin ? PyMem_Malloc((size_t)n + 1) : NULL, *out = made;
    if (!made) {
        PyErr_Clear();
        return NULL;
    }
    scan s = {begin, begin + n, 1};
    long written = 1;
    logical l;
    statement one;
    bool ok = next_line(&s, &l);
    *first = *last = 0;
    while (ok && l.word && (ok = next_statement(&s, &l, &one))) {
        bool within = line >= one.first && line <= one.last;
        /* what a name was imported as decides how its attributes are called */
        if (!within && (one.is_class || one.is_function || !has_import(one.word, one.end)))
            continue;
        if (within)
            *first = one.first, *last = one.last;
        if (!within || !one.is_class || line <= one.head) {
            keep_lines(&out, &at, &written, one.first, one.last, s.end);
            continue;
        }
        while (ok && within && one.is_class && line > one.head) {
            /* of its body the statement that the line is in */
            keep_lines(&out, &at, &written, one.first, one.head, s.end);
            scan inner = {at, s.end, written};
            logical of_body;
            ok = next_line(&inner, &of_body);
            for (within = false; ok && of_body.word && !within && of_body.first <= line;) {
                ok = next_statement(&inner, &of_body, &one);
                within = ok && line >= one.first && line <= one.last;
            }
            ok = ok && within;
        }
        if (ok)
            keep_lines(&out, &at, &written, *first = one.first, *last = one.last, s.end);
    }
    PyObject *of = ok && *first ? PyUnicode_DecodeUTF8(made, out - made, NULL) : NULL;
    PyMem_Free(made);
    PyErr_Clear();
    return of;
}
