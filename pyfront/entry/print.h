/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What graphs print: collected as text while a run is prepared, written at its commit.
 */
#ifndef JPY_PRINT_H
#define JPY_PRINT_H

#include "pyfront/base/jpy.h"

/* How a piece of text comes from the values that it takes, in order. */
typedef enum jpy_text_how {
    JPY_SAY_STR,           /* str() of one */
    JPY_SAY_TEXT,          /* text, of none */
    JPY_SAY_FORMAT,        /* format() of one; text: the format */
    JPY_SAY_PERCENT,       /* text % value */
    JPY_SAY_PERCENT_TUPLE, /* text % (values) */
    JPY_SAY_CALL           /* text.format(values) */
} jpy_text_how;

typedef struct jpy_piece {
    jpy_text_how how;
    PyObject *text; /* str, the entry's; or NULL */
    unsigned n;     /* of values */
    bool last;      /* of an item */
} jpy_piece;

typedef struct jpy_print { /* one call of print() in a graph; the entry keeps it */
    PyObject *sep, *end;
    bool flush, to_file; /* the first item is the file */
    jpy_piece *pieces;   /* of all other items */
    unsigned n_pieces;
} jpy_print;

/* What a piece says with the borrowed values that begin at v; new reference, or an exception. */
PyObject *jpy_piece_text(const jpy_piece *p, PyObject *const *v);
/* Whether writing to this file (NULL: sys.stdout) runs no code of the program's. */
bool jpy_print_can(PyObject *file);
/* sys.stdout, borrowed; NULL: there is none, or an exception is set. */
PyObject *jpy_print_out(void);
/* The text of one print with borrowed values, which the pieces take; new reference. */
PyObject *jpy_print_text(const jpy_print *p, PyObject *const *items, unsigned n);
/* Writes pieces, a list of file (None: sys.stdout), text, flush: consecutive ones of a file at
 * once. -1: an exception is set, and nothing was written if *out_wrote is false. */
int jpy_print_write(PyObject *pieces, bool *out_wrote);

#endif
