/* SPDX-License-Identifier: Apache-2.0 */
/* Which objects the constants of a text are. */
#ifndef JPY_CONSTANTS_H
#define JPY_CONSTANTS_H

#include "pyfront/convert/tree/tree.h"

/* New reference: {(type, text): object} of the constants of a code and of the codes in it.  NULL:
 * exception set. */
PyObject *jpy_constants_of(PyObject *code);
/* Borrowed: of a code's constants (jpy_constants_of) the one that an expression is whose operands
 * are lowered, NULL: none; no exception. */
PyObject *jpy_constant_of(PyObject *constants, const jpy_tree *n);

#endif
