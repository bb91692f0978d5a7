/* SPDX-License-Identifier: Apache-2.0 */
/*
 * String builder and locale-independent number text.  A failed allocation makes the builder
 * "broken": later appends do nothing and jn_str_ok() is false, so printing code needs one check.
 */
#ifndef JN_BASE_STR_H
#define JN_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct jn_str {
    char *data; /* NUL-terminated once anything was appended */
    size_t n, cap;
    bool broken;
} jn_str;

void jn_str_append(jn_str *s, const char *text);
void jn_str_appendn(jn_str *s, const char *text, size_t n);
void jn_str_putc(jn_str *s, char c);
__attribute__((format(printf, 2, 3))) void jn_str_printf(jn_str *s, const char *fmt, ...);
/* Shortest text that reads back as the same double ("C" locale; nan with payload bits, inf). */
void jn_str_double(jn_str *s, double v);
void jn_str_float(jn_str *s, float v); /* the same for float; nan without payload */
/* Appends text as a quoted string with \-escapes (JSON-compatible). */
void jn_str_quote(jn_str *s, const char *text, size_t n);
/* Appends a name after its sigil: @fib, %x.1; quoted where it is more than letters, digits and the
 * characters _ . $ - : @"Tree.forward.<locals>.f". */
bool jn_is_name_char(char c);
void jn_str_name(jn_str *s, char sigil, const char *name);
/* Appends what the quoted string at text[0] means and gives the length of its text, quotes
 * included; 0 when it is no complete string or holds a NUL. */
size_t jn_str_unquote(jn_str *s, const char *text, size_t n);
static inline bool jn_str_ok(const jn_str *s) { return !s->broken; }
/* Hands the malloc'ed text (jn_free) over to the caller; NULL when broken. */
char *jn_str_take(jn_str *s);
void jn_str_free(jn_str *s);

/* Reads a double written by jn_str_double, independent of locale; false if `text` is none. */
bool jn_parse_double(const char *text, size_t n, double *out);
/* Decimal, checked for range. */
bool jn_parse_int64(const char *text, size_t n, int64_t *out);

#endif
