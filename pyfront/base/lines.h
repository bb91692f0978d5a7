/* SPDX-License-Identifier: Apache-2.0 */
/* Source text as the linecache module has it, read without a trace. */
#ifndef JPY_LINES_H
#define JPY_LINES_H

#include "pyfront/base/jpy.h"

/* d[file] = v, behind all others, as the one that was asked for last; of more than a number of
 * files the first one goes, since a program that makes texts (a notebook) has ever new ones.  -1:
 * exception set. */
int jpy_keep_file(PyObject *d, PyObject *file, PyObject *v);

/* New reference: the lines of a file, those of now; globals: of a module of it, whose loader may
 * have them, or None.  linecache.cache stays as the program left it.  NULL: an exception is set. */
PyObject *jpy_lines(PyObject *filename, PyObject *globals);

#endif
