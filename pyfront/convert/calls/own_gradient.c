/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients that the program computes itself: autograd.Function, and hooks of tensors.
 *
 * No rule of an op says what such a gradient is, so the tape computes it: the eager layer keeps
 * one of the ops on proxies, and backward() runs it op by op (autograd.c), calling the program's
 * functions where CPython would.  They are converted there and then: what they compute, write and
 * print is at its place in the graph.  A result of a Function is a detach in the graph, of which
 * the node says what gradients go through to (jcv_node.through); no history with such a node, or
 * with a hook, is ever left to the graph's own differentiation.
 */
#include "pyfront/convert/calls/calls.h"

#include <string.h>

#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/tensors/tensors.h"

/* ---- from the tape into the converter -----------------------------------------------------------
 */

typedef struct callback { /* of one attempt */
    jcv *c;
    jcv_av *f;
    bool hook; /* called with a gradient; else as _function_node says */
} callback;

/* What the tape is given of what the program returned: a tensor, or None. */
static PyObject *gradient_of(jcv *c, const jcv_av *a) {
    bool none = a->kind == AV_PY && a->py == Py_None;
    if (!none && a->kind != AV_TENSOR)
        jcv_refuse(c, "%s as a gradient", jcv_describe((jcv_av *)a));
    return a->py;
}

static jcv_av *gradient_in(jcv *c, PyObject *o) {
    return o == Py_None ? jcv_none(c) : jcv_wrap(c, o, NULL);
}

static PyObject *run(jcv *c, const callback *b, PyObject *args) {
    jcv_av *in[2] = {NULL, NULL}, **items;
    unsigned n;
    if (b->hook) {
        in[0] = gradient_in(c, PyTuple_GET_ITEM(args, 0));
        return Py_NewRef(gradient_of(c, jcv_call1(c, b->f, in[0])));
    }
    for (int k = 0; k < 2; k++) { /* gradients, and which are wanted */
        PyObject *t = PyTuple_GET_ITEM(args, k);
        in[k] = jcv_tuple(c, NULL, 0);
        in[k]->n = (unsigned)PyTuple_GET_SIZE(t);
        in[k]->items = jcv_alloc(c, (in[k]->n + 1) * sizeof *in[k]->items);
        for (unsigned i = 0; i < in[k]->n; i++)
            in[k]->items[i] = gradient_in(c, PyTuple_GET_ITEM(t, i));
    }
    jcv_av *r = jcv_call(c, b->f, &(jcv_args){.pos = in, .n_pos = 2});
    if (!jcv_items(c, r, &items, &n))
        jcv_refuse(c, "%s as gradients", jcv_describe(r));
    PyObject *out = jcv_own(c, PyTuple_New(n));
    for (unsigned i = 0; i < n; i++)
        PyTuple_SET_ITEM(out, i, Py_NewRef(gradient_of(c, items[i])));
    return Py_NewRef(out);
}

/* What is thrown inside must not jump over the tape's frames: it becomes an exception of Python,
 * and is thrown again behind them (jcv_thrown_inside). */
static PyObject *call_back(PyObject *self, PyObject *args) {
    callback *b = PyCapsule_GetPointer(self, NULL);
    jcv *c = jcv_current;
    if (!b || !c || b->c != c) {
        PyErr_SetString(PyExc_RuntimeError, "a gradient of another conversion");
        return NULL;
    }
    jcv_handler h = {.up = c->handler};
    jcv_place place = jcv_where(c);
    PyObject *volatile r = NULL;
    c->handler = &h;
    if (setjmp(h.env) == 0)
        r = run(c, b, args);
    c->handler = h.up;
    if (r)
        return r;
    jcv_back(c, place);
    c->thrown_inside = c->thrown;
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, c->reason);
    return NULL;
}

void jcv_thrown_inside(jcv *c) {
    jcv_throw what = c->thrown_inside;
    if (what == THROW_NONE)
        return;
    c->thrown_inside = THROW_NONE;
    c->hook_refused = jn_proxy_asked = false;
    PyErr_Clear();
    jcv_throw_now(c, what);
}

static PyObject *callable(jcv *c, jcv_av *f, bool hook) {
    static PyMethodDef method = {"gradient", call_back, METH_VARARGS, NULL};
    callback *b = jcv_alloc(c, sizeof *b);
    *b = (callback){c, f, hook};
    return jcv_own(c, PyCFunction_New(&method, jcv_own(c, PyCapsule_New(b, NULL, NULL))));
}

/* ---- what has no other gradient -----------------------------------------------------------------
 */

static void mark_node(jcv *c, jcv_node *n) {
    n->by_tape = true;
    c->own_gradients = true;
}

/* ---- autograd.Function --------------------------------------------------------------------------
 */

static jcv_av **tuple_items(jcv *c, jcv_av *t, unsigned *n) {
    jcv_av **items;
    if (!jcv_items(c, t, &items, n))
        jcv_refuse(c, "an autograd.Function of %s", jcv_describe(t));
    return items;
}

/* A result as it leaves a Function: the memory of what forward returned, with a history. */
static jcv_av *result_of(jcv *c, jcv_av *y, jcv_node **node) {
    jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)y->py)->t);
    if (y->src || r->root->src)
        jcv_refuse(c, "a result of an autograd.Function that is the caller's memory");
    jcv_av *a = jcv_detach(c, y->py);
    jcv_rec *made = jcv_rec_of(c, ((jpy_tensor *)a->py)->t);
    *node = made->val->node;
    made->val->depends = true;
    made->val->cut = false;
    jcv_save_for(c, made->root, *node); /* its memory must not be written: no new value of it */
    return a;
}

/* backward, release, name, inputs, outputs, differentiable: gives the outputs. */
jcv_av *jcv_function_node(jcv *c, PyObject *function, const jcv_args *args) {
    unsigned n_in, n_out, n_marks, n_through = 0;
    if (args->n_pos != 6 || args->n_kw || c->ctx != c->main)
        jcv_refuse(c, "an autograd.Function" JCV_INSIDE);
    jcv_av **in = tuple_items(c, args->pos[3], &n_in);
    jcv_av **out = tuple_items(c, args->pos[4], &n_out);
    jcv_av **marks = tuple_items(c, args->pos[5], &n_marks);
    jcv_val **through = jcv_alloc(c, (n_in + 1) * sizeof *through);
    jcv_av **made = jcv_alloc(c, (n_out + 1) * sizeof *made);
    PyObject *inputs = jcv_own(c, PyTuple_New(n_in)), *outputs = jcv_own(c, PyTuple_New(n_out));
    PyObject *flags = jcv_own(c, PyTuple_New(n_out));
    for (unsigned i = 0; i < n_in; i++) {
        bool tensor = in[i]->kind == AV_TENSOR;
        PyTuple_SET_ITEM(inputs, i, Py_NewRef(tensor ? in[i]->py : Py_None));
        if (tensor)
            through[n_through++] = jcv_tensor_val(c, in[i]->py);
    }
    for (unsigned i = 0; i < n_out; i++) {
        bool marked = marks[i]->kind == AV_PY && marks[i]->py == Py_True;
        jcv_node *node = NULL;
        for (unsigned k = 0; k < n_in && marked; k++)
            if (out[i]->kind == AV_TENSOR && out[i]->py == in[k]->py)
                jcv_refuse(c, "an autograd.Function that returns what it has written");
        made[i] = marked && out[i]->kind == AV_TENSOR ? result_of(c, out[i], &node) : out[i];
        PyTuple_SET_ITEM(flags, i, Py_NewRef(node ? Py_True : Py_False));
        PyTuple_SET_ITEM(outputs, i, Py_NewRef(node ? made[i]->py : Py_None));
        if (!node)
            continue;
        node->through = through;
        node->n_through = n_through;
        node->release = args->pos[1]; /* of each: it may be called again */
        mark_node(c, node);
    }
    PyObject *name = jcv_const_object(c, args->pos[2]);
    if (!name || !PyUnicode_Check(name))
        jcv_refuse(c, "an autograd.Function without a name");
    jcv_own(c, PyObject_CallFunctionObjArgs(function, callable(c, args->pos[0], false), Py_None,
                                            name, inputs, outputs, flags, NULL));
    return jcv_tuple(c, made, n_out);
}

/* ---- hooks --------------------------------------------------------------------------------------
 */

/* tensor, f: a key that stays in the graph. */
jcv_av *jcv_tensor_hook(jcv *c, PyObject *function, const jcv_args *args) {
    jcv_av *t = args->n_pos == 2 && !args->n_kw ? args->pos[0] : NULL;
    if (!t || t->kind != AV_TENSOR || c->ctx != c->main)
        jcv_refuse(c, "a hook" JCV_INSIDE);
    jcv_val *v = jcv_tensor_val(c, t->py);
    if (t->src || !((jpy_tensor *)t->py)->node || !v->node || v->node->subs[0])
        jcv_refuse(c, "a hook of a tensor that no op of the function has made");
    mark_node(c, v->node);
    PyObject *key = jcv_own(
        c, PyObject_CallFunctionObjArgs(function, t->py, callable(c, args->pos[1], true), NULL));
    jcv_av *a = jcv_py(c, key, NULL);
    a->text = "key of a hook";
    return a;
}

jcv_av *jcv_no_hook(jcv *c, PyObject *function, const jcv_args *args) {
    if (args->n_pos != 2 || args->n_kw || args->pos[0]->kind != AV_TENSOR ||
        args->pos[1]->kind != AV_PY || c->ctx != c->main)
        jcv_refuse(c, "a hook is removed" JCV_INSIDE);
    jcv_own(c, PyObject_CallFunctionObjArgs(function, args->pos[0]->py, args->pos[1]->py, NULL));
    return jcv_none(c);
}
