/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A word when it matters: one warning for a function that stays imperative or needs ever new
 * graphs, with the user's line and a code that docs/warnings.md explains.
 *
 * What is counted is counted where conversions fail, never in a call that a graph takes.  Only
 * functions that work with tensors are spoken of: others have nothing to gain.
 */
#ifndef JPY_WORD_H
#define JPY_WORD_H

#include "pyfront/base/jpy.h"

struct jpy_function;

typedef enum jpy_word_code {
    JPY_WORD_NONE,
    JPY_WORD_IMPERATIVE, /* J001: something cannot be made a graph */
    JPY_WORD_STORM,      /* J002: ever new graphs */
    JPY_WORD_DISCARDS,   /* J003: runs of graphs are discarded again and again */
    JPY_WORD_SLOW,       /* J004: graphs were measured and do not pay */
    JPY_WORD_NO_SOURCE   /* J005: there is no source to read */
} jpy_word_code;

typedef struct jpy_word {
    bool tensors;      /* a conversion met one */
    bool said;         /* whatever happens, nothing is said again */
    uint8_t due;       /* a jpy_word_code to be said when the call is over */
    unsigned refusals; /* conversions */
    unsigned put_off;  /* conversions: calls that wanted one */
    PyObject *file;    /* str: where the last refusal is; NULL: not known */
    unsigned line;
    PyObject *cause; /* str: what was discarded last, or which assumption fails; NULL */
} jpy_word;

/* A conversion has been refused at a line of `file` (NULL: not known). */
void jpy_word_refused(struct jpy_function *f, const char *file, unsigned line);
/* Says what is due.  Takes the call's result and returns it; NULL with the exception where a
 * warnings filter makes one of it. */
PyObject *jpy_word_say(struct jpy_function *f, PyObject *result);
void jpy_word_free(jpy_word *w);

#endif
