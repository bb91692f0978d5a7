/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of code objects, each as long as it lives.  Codes that look alike are equal, so
 * they go by identity; and a program that makes functions (a notebook, templates) makes ever new
 * ones, of which nothing may remain. */
#ifndef JPY_CODES_H
#define JPY_CODES_H

#include "pyfront/base/jpy.h"

/* A table is a static PyObject *, NULL at first. */

/* Borrowed: what was set of a code, or NULL; no exception. */
PyObject *jpy_of_code(PyObject *table, PyObject *code);
/* -1: exception set. */
int jpy_of_code_set(PyObject **table, PyObject *code, PyObject *known);

#endif
