/* SPDX-License-Identifier: Apache-2.0 */
/* Names of attributes: see names.h. */
#include "pyfront/base/names.h"

struct jpy_names jpy_names;

int jpy_init_names(PyObject *module) {
    (void)module;
#define X(field, text)                                                                             \
    if (!jpy_names.field && !(jpy_names.field = PyUnicode_InternFromString(text)))                 \
        return -1;
    JPY_NAMES(X)
#undef X
    return 0;
}
