/* SPDX-License-Identifier: Apache-2.0 */
/* What kinds of patterns share: match.c, mapping.c. */
#ifndef JPY_CONVERT_SYNTAX_MATCH_H
#define JPY_CONVERT_SYNTAX_MATCH_H

#include "pyfront/convert/syntax/syntax.h"

/* A pattern with sub-patterns, and what is matched. */
typedef struct jcv_parts_of {
    jpy_tree *p;
    jcv_av *o, *cls; /* cls: of a mapping pattern: its keys, a tuple */
    jcv_av **of; /* what the sub-patterns look at; NULL of a mapping's: read when it is needed */
    unsigned at;
} jcv_parts_of;

/* What a class or mapping pattern has looked at, or whether an alternative fits: names are bound by
 * this, since reading it again may do something. */
typedef struct jcv_matched {
    const jpy_tree *p;
    const jcv_av *o;
    const jcv_ctx *ctx;
    jcv_av **of, *fits;
    struct jcv_matched *next;
} jcv_matched;

void jcv_remember_match(jcv *c, const jpy_tree *p, const jcv_av *o, jcv_av **of, jcv_av *fits);
/* NULL: it was found where the graph decided something, and is not known here. */
const jcv_matched *jcv_remembered_match(jcv *c, const jpy_tree *p, const jcv_av *o, bool fits);

typedef jcv_av *(*jcv_test_fn)(jcv *c, void *user);
/* first and fn(), or with `either`: first or fn(). */
jcv_av *jcv_both(jcv *c, jcv_av *first, bool either, jcv_test_fn fn, void *user);
/* A call of a built-in function; b: NULL, or a second argument. */
jcv_av *jcv_call_named(jcv *c, const char *name, jcv_av *a, jcv_av *b);

/* Whether a pattern binds names. */
bool jcv_captures(const jpy_tree *p);
/* Whether o fits: a bool, known or of the graph. */
jcv_av *jcv_matches(jcv *c, jpy_tree *p, jcv_av *o);
jcv_av *jcv_matches_mapping(jcv *c, jcv_parts_of *x);
/* Binds the names; o is known to match. */
void jcv_bind_match(jcv *c, jpy_tree *p, jcv_av *o);
void jcv_bind_mapping(jcv *c, const jpy_tree *p, jcv_av *o);

#endif
