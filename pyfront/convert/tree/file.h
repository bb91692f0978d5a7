/* SPDX-License-Identifier: Apache-2.0 */
/* Files of source text, parsed and compiled in parts. */
#ifndef JPY_CONVERT_TREE_FILE_H
#define JPY_CONVERT_TREE_FILE_H

#include "pyfront/base/jpy.h"

/* compile(), without the warnings that were given when the program was compiled. */
PyObject *jpy_compile(PyObject *what, PyObject *filename, long flags);

/* New reference: the text of a code's file, with what was parsed of it; NULL: there is none. */
PyObject *jpy_file_of(PyObject *code, PyObject *globals);
/* New reference: ({(name, line): [ast nodes]}, [code objects]) of a module of the statement that
 * begins around the code's first line; of a class that is the function alone.  NULL, without an
 * exception: that was not told. */
PyObject *jpy_part_of_block(PyObject *file, PyObject *code);
/* The same of the whole file without the functions and classes that the code is not in.  They say
 * nothing of what it is compiled to; imports do.  NULL: exception set. */
PyObject *jpy_part_of_file(PyObject *file, PyObject *code);

/* New reference: of a text the lines of the innermost statement in the module's or a class's body
 * that `line` is in, of classes around it the first lines, and statements of the module that
 * import; empty ones for all others up to the last.  The statement's lines are *first to *last.
 * NULL, without an exception: the text is not understood. */
PyObject *jpy_block_text(PyObject *text, long line, long *first, long *last);

#endif
