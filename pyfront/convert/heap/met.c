/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves that require grad and that the graph reads: parameters of modules that the nodes of a tree
 * have of their own.
 *
 * Which one a read gives only the run knows.  Those that samples had are bound when the graph
 * begins, and each has a number from then on, as what the graph stores (docs/adr/0015-wires.md): a
 * read finds the number by the object, and gradients meet there.  A run that reads another leaf is
 * discarded, and is a sample of the next conversion.
 */
#include "pyfront/convert/heap/heap.h"

#include <string.h>

#include "pyfront/convert/tensors/tensors.h"

enum { MAX_MET = 1024 };

/* Binds it and gives it a number, ahead of all that the graph does. */
static void put(jcv *c, PyObject *o) {
    jcv_ctx *place = c->ctx;
    jpy_src *s = jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, o, 0);
    jcv_av *a = s ? jcv_wrap(c, o, s) : NULL;
    if (!a || a->kind != AV_TENSOR)
        jcv_refuse(c, "out of memory");
    jcv_rec *root = jcv_rec_of(c, ((jpy_tensor *)a->py)->t)->root;
    if (root->written)
        jcv_refuse(c, "a tensor that requires grad is read by the graph after it was written");
    root->put = true;
    c->ctx = c->main;
    jcv_stored_with_history(c, root->first);
    c->ctx = place;
    jcv_node **nodes = c->main->nodes.data, *last = nodes[c->main->nodes.n - 1];
    memmove(nodes + 1, nodes, (c->main->nodes.n - 1) * sizeof *nodes);
    nodes[0] = last;
}

void jcv_met(jcv *c, PyObject *samples) {
    if (c->f->exact) /* sums of gradients would be added in another order */
        jcv_refuse(c, "a tensor that requires grad is read while the graph runs");
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples); i++) {
        PyObject *o = PyList_GET_ITEM(samples, i);
        if (jcv_list_has(c->met, o))
            continue;
        if (c->met && PyList_GET_SIZE(c->met) == MAX_MET)
            jcv_refuse(c, "very many tensors that require grad are read while the graph runs");
        jcv_list_add(c, &c->met, o);
        if (c->wires)
            put(c, o);
    }
    if (c->wires)
        return;
    c->wires = true;
    snprintf(c->reason, sizeof c->reason, "a tensor that requires grad is read by the graph");
    jcv_throw_now(c, THROW_RESTART);
}

void jcv_put_met(jcv *c) {
    for (Py_ssize_t i = 0; c->met && i < PyList_GET_SIZE(c->met); i++)
        put(c, PyList_GET_ITEM(c->met, i));
}
