/* SPDX-License-Identifier: Apache-2.0 */
/* What others may call of the converter. */
#ifndef JPY_CONVERT_H
#define JPY_CONVERT_H

#include "pyfront/convert/tree/tree.h"
#include "pyfront/entry/entry.h"

/* Converts for the arguments of `call`; NULL: refused, f->reason says why (no exception). */
jpy_entry *jpy_convert(jpy_function *f, const jpy_call *call);

#endif
