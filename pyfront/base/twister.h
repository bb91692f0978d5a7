/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python's generators, `random.Random`: what they have drawn is a number of words.
 *
 * A generator is a Mersenne twister (MT19937), whose words of 32 bits its numbers are made of.  To
 * a graph it is an object with one number, how many words were drawn since the run began, under a
 * name that no program can have; what is drawn at a place is a function of it.  A commit moves the
 * generator on by as many words (docs/adr/0107-draws-of-python.md).
 */
#ifndef JPY_TWISTER_H
#define JPY_TWISTER_H

#include "janus.h"
#include "pyfront/base/jpy.h"

enum { JPY_TWISTER_WORDS = 624 };

typedef struct jpy_twister { /* as it lies in a generator */
    int index;               /* of the next word */
    uint32_t word[JPY_TWISTER_WORDS];
} jpy_twister;

/* What a run has drawn from: the generator's words and those that follow. */
typedef struct jpy_stream {
    PyObject *o;     /* owned */
    int index;       /* as the run found it */
    uint32_t *words; /* from the beginning of its block */
    size_t n, room;
    struct jpy_stream *next;
} jpy_stream;

/* The type whose methods draw, `_random.Random`; NULL: not known. */
PyTypeObject *jpy_twister_type(void);
/* random.Random's method that draws a number below another one as this file does; NULL: none. */
PyObject *jpy_twister_below(void);
/* What a generator is made of, borrowed; NULL: it is no generator. */
jpy_twister *jpy_twister_of(PyObject *o);
/* Whether a name is that of the number of words. */
bool jpy_is_drawn(PyObject *name);
/* The number that is made of the words from a place on: janus_host_ops.draw. */
janus_status jpy_stream_draw(jpy_stream **all, PyObject *o, janus_draw what, int64_t at, int64_t n,
                             int64_t *out);
/* Whether nobody else has drawn from what the run drew from. */
bool jpy_streams_hold(const jpy_stream *all);
void jpy_streams_free(jpy_stream *all);
/* Moves it on by n words. */
void jpy_twister_advance(jpy_twister *t, int64_t n);

#endif
