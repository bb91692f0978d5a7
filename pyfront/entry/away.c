/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving up the interpreter lock while a graph computes tensors.
 *
 * What a run points to is held (by a plain one from here on), so other threads can drop it, and
 * replace it, as they like; then what was read is no longer what is there.  CPython's threads
 * interleave between operations that are whole in themselves: a commit that writes what it computed
 * of old values would undo another thread's `append` or in-place step, which no interleaving does.
 * So before the commit everything is looked at again: guards, the objects that they found, the
 * versions of tensors, the generator. A run that another thread got in the way of is discarded, and
 * the calls that follow keep the lock. What the graph reads of objects is not looked at again:
 * reads that come before all writes of the run are one of the orders that CPython has.
 */
#include "pyfront/entry/away.h"

#include "pyfront/methods/methods.h"
#include "pyfront/tensor/tensor.h"

static PyObject *tensor_in(const jpy_host *h, size_t input) {
    PyObject *o = h->slots[h->e->inputs.data[input].slot];
    return o && jpy_tensor_check(o) ? o : NULL;
}

static uint32_t version_of(PyObject *tensor) { return ((jpy_tensor *)tensor)->t->storage->version; }

/* What other threads could change, as it is before they can. */
static bool remember(jpy_host *h) {
    size_t n = h->e->inputs.n;
    h->away.version = jn_alloc((n + 1) * sizeof *h->away.version);
    if (!h->away.version)
        return false;
    for (size_t i = 0; i < n; i++)
        h->away.version[i] = tensor_in(h, i) ? version_of(tensor_in(h, i)) : 0;
    if (h->plain) {
        h->away.tensor = jn_calloc(n + 1, sizeof *h->away.tensor);
        if (!h->away.tensor) {
            jn_free(h->away.version);
            h->away.version = NULL;
            return false;
        }
        for (size_t i = 0; i < h->e->guards.srcs.n; i++)
            Py_XINCREF(h->slots[i]);
        for (size_t i = 0; i < n; i++)
            if (tensor_in(h, i)) {
                h->away.tensor[i] = ((jpy_tensor *)tensor_in(h, i))->t;
                janus_tensor_retain(h->away.tensor[i]);
            }
    }
    h->away.seed = jpy_rng_default()->seed;
    h->away.offset = jpy_rng_default()->offset;
    return true;
}

void jpy_away_free(jpy_host *h) {
    jn_free(h->away.version);
    if (!h->away.tensor)
        return;
    for (size_t i = 0; i < h->e->inputs.n; i++)
        janus_tensor_release(h->away.tensor[i]);
    for (size_t i = 0; i < h->e->guards.srcs.n; i++)
        Py_XDECREF(h->slots[i]);
    jn_free(h->away.tensor);
}

void jpy_leave(void *ctx) {
    jpy_host *h = ctx;
    if (h->shadow || h->stay || (h->slots && !h->away.was && !remember(h)))
        return;
    h->away.was = true;
    h->away.thread = PyEval_SaveThread();
}

void jpy_enter(void *ctx) {
    jpy_host *h = ctx;
    if (!h->away.thread)
        return;
    PyEval_RestoreThread(h->away.thread);
    h->away.thread = NULL;
}

bool jpy_away_holds(const jpy_host *h, jpy_guards *g, const jpy_call *call, uint64_t rng_offset) {
    const jn_rng_state *rng = jpy_rng_default();
    PyObject **now = jn_alloc((g->srcs.n + 1) * sizeof *now);
    bool holds = now && jpy_guards_run(g, call, now) == 0;
    for (size_t i = 0; i < g->srcs.n && holds; i++)
        holds = now[i] == h->slots[i];
    jn_free(now);
    for (size_t i = 0; i < h->e->inputs.n && holds; i++)
        holds = !tensor_in(h, i) || version_of(tensor_in(h, i)) == h->away.version[i];
    return holds && (rng_offset == h->away.offset ||
                     (rng->seed == h->away.seed && rng->offset == h->away.offset));
}
