/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of types in a graph, which stand for other types in another process. */
#include "pyfront/stored/stored.h"

#include "ops/op_ids.h"
#include "ops/scalar.h"

/* Whether a value is compared with another and nothing else, as types are. */
static bool only_compared(const jn_subgraph *g, uint32_t node) {
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        for (uint32_t k = 0; k < n->n_in; k++)
            if (n->in[k].node == node && n->op != JN_OP(s_eq))
                return false;
    }
    for (size_t i = 0; i < g->results.n; i++)
        if (g->results.data[i].node == node)
            return false;
    return true;
}

int jpy_renumber_types(janus_module *m, PyObject *tokens) {
    for (size_t k = 0; k < m->subs.n; k++) {
        jn_subgraph *g = m->subs.data[k];
        for (size_t i = 1; i < g->nodes.n; i++) {
            jn_node *n = g->nodes.data[i];
            janus_kind kind;
            janus_scalar v;
            if (!jn_const_value(n, &kind, &v) || kind != JANUS_KIND_INT)
                continue;
            PyObject *old = PyLong_FromLongLong(v.i),
                     *now = old ? PyDict_GetItemWithError(tokens, old) : NULL;
            Py_XDECREF(old);
            if (now)
                v.i = PyLong_AsLongLong(now);
            if (PyErr_Occurred())
                return -1;
            if (!now)
                continue;
            if (!only_compared(g, (uint32_t)i)) {
                PyErr_SetString(PyExc_ValueError, "a number of the graph is that of a type");
                return -1;
            }
            const jn_op *op;
            if (jpy_check(jn_scalar_const(&m->arena, kind, v, &op, &n->attrs)) < 0)
                return -1;
        }
    }
    return 0;
}
