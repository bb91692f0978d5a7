/* SPDX-License-Identifier: Apache-2.0 */
/* janus.explain and janus.dump: what became of a function, and its graphs as text or pictures. */
#ifndef JPY_EXPLAIN_H
#define JPY_EXPLAIN_H

#include "pyfront/jpy.h"

PyObject *jpy_explain(PyObject *module, PyObject *f);
PyObject *jpy_dump(PyObject *module, PyObject *args);
/* New reference: a graph as text of the format that goes with a file suffix (".jir", ".dot",
 * ".json"); NULL with an exception for others. */
PyObject *jpy_module_text(const janus_module *m, const char *suffix);

#endif
