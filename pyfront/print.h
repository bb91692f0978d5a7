/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What graphs print: collected as text while a run is prepared, written at its commit.
 */
#ifndef JPY_PRINT_H
#define JPY_PRINT_H

#include "pyfront/jpy.h"

typedef struct jpy_print { /* one call of print() in a graph; the entry keeps it */
    PyObject *sep, *end;
    bool flush, to_file; /* the first item is the file */
} jpy_print;

/* Whether writing to this file (NULL: sys.stdout) runs no code of the program's. */
bool jpy_print_can(PyObject *file);
/* The text of one print with borrowed items; new reference. */
PyObject *jpy_print_text(const jpy_print *p, PyObject *const *items, unsigned n);
/* Writes pieces, a list of file (None: sys.stdout), text, flush: consecutive ones of a file at
 * once. -1: an exception is set, and nothing was written if *out_wrote is false. */
int jpy_print_write(PyObject *pieces, bool *out_wrote);

#endif
