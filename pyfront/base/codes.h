/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of code objects, each as long as it lives.  Codes that look alike are equal, so
 * they go by identity; and a program that makes functions (a notebook, templates) makes ever new
 * ones, of which nothing may remain. */
#ifndef JPY_CODES_H
#define JPY_CODES_H

#include "pyfront/base/jpy.h"

/* A table is a static PyObject *, NULL at first. */

/* Borrowed, for as long as the code lives: what is kept of it, or NULL; no exception. */
PyObject *jpy_of_code(PyObject *table, PyObject *code);
/* Borrowed, as above: what is kept of it from now on.  That is `known` unless another thread was
 * first while this one found it out: what that one got is in use.  NULL: exception set. */
PyObject *jpy_of_code_keep(PyObject **table, PyObject *code, PyObject *known);

#endif
