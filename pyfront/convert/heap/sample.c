/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the samples of host objects say: what a read gave for each, and which of them would take a
 * branch.
 *
 * A host value comes from a *root*, an object that the graph receives (a parameter, an element of
 * a list), by reads.  A condition on reads is evaluated for every sample of its root; those that
 * would not come this way are left out in the arm, and with them what is read from them: under
 * `if node.left is None` a leaf's attributes have the types that leaves have.
 */
#include "pyfront/convert/heap/heap.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "ops/scalar.h"

enum { MAX_DEPTH = 64, MAX_STEPS = 100000, MAX_SEARCH = 10000 };

PyObject *jcv_constant_key(jcv *c, const jcv_node *n) {
    const jcv_val *key = n->kind == JCV_OP && n->op == JN_OP(host_key) ? n->in[1] : NULL;
    for (size_t i = 0; key && i < c->inputs.n && key->ctx == c->main && !key->node; i++) {
        const jpy_src *s = c->inputs.data[i];
        if (c->main->params.data[i] == key && s && s->kind == JPY_SRC_CONST)
            return PyUnicode_CheckExact(s->key) ? s->key : NULL;
    }
    return NULL;
}

/* The object a read starts from; NULL: not found by constant reads from one object. */
static jcv_val *root_of(jcv *c, jcv_val *v) {
    for (;;) {
        jcv_node *n = v->node;
        if (!n || n->kind != JCV_OP || v->root)
            return v;
        if (n->op == JN_OP(host_attr) || n->op == JN_OP(host_unbox))
            v = n->in[0];
        else if (n->op == JN_OP(host_item) && n->in[1]->node &&
                 n->in[1]->node->kind == JCV_SCALAR_CONST)
            v = n->in[0];
        else if (jcv_constant_key(c, n))
            v = n->in[0];
        else
            return v;
    }
}

jcv_ctx *jcv_ctx_now(jcv_ctx **x) {
    while ((*x)->spliced)
        *x = (*x)->spliced;
    return *x;
}

/* Facts are found by the value; of several the one of the innermost SubGraph counts, and of these
 * the last. */
static PyObject *samples_read(jcv_ctx *x, const jcv_val *root) {
    for (; x && root->given; x = x->parent)
        for (jcv_read *r = root->given; r; r = r->next_given)
            if (jcv_ctx_now(&r->ctx) == x)
                return r->av->samples;
    return NULL;
}

static PyObject *root_samples(jcv *c, jcv_val *root) {
    for (jcv_ctx *x = c->ctx; x && root->narrows; x = x->parent)
        for (jcv_narrow *n = root->narrows; n; n = n->next)
            if (jcv_ctx_now(&n->ctx) == x)
                return n->samples;
    PyObject *s = samples_read(c->ctx, root);
    return s || c->ctx->fn == root->ctx->fn ? s : samples_read(root->ctx, root); /* captured */
}

/* What `v` is when `root` is `sample`: borrowed from `c`, NULL: not to be told. */
static PyObject *object_for(jcv *c, jcv_val *v, jcv_val *root, PyObject *sample) {
    if (v == root)
        return sample;
    jcv_node *n = v->node;
    if (!n || n->kind != JCV_OP)
        return NULL;
    if (n->op == JN_OP(host_attr)) {
        PyObject *o = object_for(c, n->in[0], root, sample);
        const janus_host_attr_attrs *attrs = n->attrs;
        PyObject *got =
            o ? jpy_plain_attr(o, PyList_GET_ITEM(c->attr_names, (Py_ssize_t)attrs->key)) : NULL;
        return got ? jcv_own(c, got) : NULL;
    }
    if (n->op == JN_OP(host_item) && n->in[1]->node && n->in[1]->node->kind == JCV_SCALAR_CONST) {
        PyObject *o = object_for(c, n->in[0], root, sample);
        if (!o || !(PyList_CheckExact(o) || PyTuple_Check(o)))
            return NULL;
        int64_t i = n->in[1]->node->scalar.i, size = PySequence_Fast_GET_SIZE(o);
        i += i < 0 ? size : 0;
        return i >= 0 && i < size ? PySequence_Fast_GET_ITEM(o, i) : NULL;
    }
    PyObject *key = jcv_constant_key(c, n), *d = key ? object_for(c, n->in[0], root, sample) : NULL;
    return d && PyDict_CheckExact(d) ? jpy_key_value(d, key) : NULL;
}

static bool scalar_of(PyObject *o, uint8_t kind, janus_scalar *out) {
    if (kind == JANUS_KIND_BOOL && PyBool_Check(o))
        out->i = o == Py_True;
    else if (kind == JANUS_KIND_FLOAT && PyFloat_CheckExact(o))
        out->f = PyFloat_AS_DOUBLE(o);
    else if (kind == JANUS_KIND_INT && PyLong_CheckExact(o)) {
        int overflow;
        out->i = PyLong_AsLongLongAndOverflow(o, &overflow);
        return !overflow;
    } else
        return false;
    return true;
}

/* The object that an input of the graph is in this call, or NULL. */
static PyObject *input_object(jcv *c, const jcv_val *v) {
    for (size_t i = 0; i < c->inputs.n && v->ctx == c->main && !v->node; i++)
        if (c->main->params.data[i] == v && c->inputs.data[i])
            return jpy_src_now(c->inputs.data[i], c->call);
    return NULL;
}

/* What `v` is when `root` is `sample`, or in this call; NULL: not to be told. */
static PyObject *either_object(jcv *c, jcv_val *v, jcv_val *root, PyObject *sample) {
    PyObject *o = object_for(c, v, root, sample);
    return o ? o : input_object(c, v);
}

bool jcv_input_number(jcv *c, const jcv_val *v, janus_scalar *out) {
    PyObject *o = input_object(c, v);
    return o && scalar_of(o, (uint8_t)v->type->kind, out);
}

/* The number `v` is when `root` is `sample`. */
static bool scalar_for(jcv *c, jcv_val *v, jcv_val *root, PyObject *sample, janus_scalar *out,
                       int depth) {
    jcv_node *n = v->node;
    if (!n || depth > MAX_DEPTH || !c->search)
        return false;
    c->search--;
    if (n->kind == JCV_SCALAR_CONST) {
        *out = n->scalar;
        return true;
    }
    if (n->kind != JCV_OP)
        return false;
    if (!strcmp(n->op->name, "if") && n->subs[0] && n->subs[1]) { /* `and`, `or`, a conditional */
        janus_scalar cond;
        if (!scalar_for(c, n->in[0], root, sample, &cond, depth + 1))
            return false;
        const jcv_ctx *arm = n->subs[cond.i == 0];
        return v->index < arm->results.n &&
               scalar_for(c, arm->results.data[v->index], root, sample, out, depth + 1);
    }
    if (n->op->role == JN_ROLE_SCALAR && n->n_in <= 3) {
        janus_scalar in[3];
        uint8_t kinds[3];
        for (unsigned i = 0; i < n->n_in; i++) {
            kinds[i] = (uint8_t)n->in[i]->type->kind;
            if (!scalar_for(c, n->in[i], root, sample, &in[i], depth + 1))
                return false;
        }
        return jn_scalar_eval(n->op, in, kinds, n->n_in, out) == JANUS_OK;
    }
    if (n->op->role != JN_ROLE_HOST || n->n_in < 1)
        return false;
    if (n->op == JN_OP(host_is)) {
        PyObject *x = either_object(c, n->in[0], root, sample);
        PyObject *y = either_object(c, n->in[1], root, sample);
        out->i = x == y;
        return x && y;
    }
    if (n->op == JN_OP(host_has)) {
        PyObject *d = either_object(c, n->in[0], root, sample);
        PyObject *key = either_object(c, n->in[1], root, sample);
        bool hashes =
            d && (PyDict_CheckExact(d) || PyAnySet_CheckExact(d)) && !jcv_live_object(c, d);
        int has = key && hashes && !jpy_key_asks(d, key) ? PySequence_Contains(d, key) : -1;
        PyErr_Clear();
        out->i = has;
        return has >= 0;
    }
    PyObject *o = object_for(c, n->in[0], root, sample);
    if (!o)
        return false;
    if (n->op == JN_OP(host_unbox))
        return scalar_of(o, (uint8_t)v->type->kind, out);
    if (n->op == JN_OP(host_type)) {
        out->i = (int64_t)(intptr_t)Py_TYPE(o);
        return true;
    }
    bool sized = PyList_CheckExact(o) || PyTuple_Check(o) || PyDict_CheckExact(o);
    /* what the graph writes of the caller's is longer or shorter by then than the sample is */
    const jcv_live *live = jcv_live_object(c, o);
    if (n->op == JN_OP(host_len) && sized && (!live || live->site)) {
        out->i = PyObject_Size(o);
        return true;
    }
    return false;
}

/* The first object with samples that a condition reads. */
static jcv_val *root_in(jcv *c, jcv_val *v, int depth) {
    jcv_node *n = v->node;
    if (v->type->kind == JANUS_KIND_OBJECT) {
        jcv_val *root = root_of(c, v);
        return root_samples(c, root) ? root : NULL;
    }
    if (!n || n->kind != JCV_OP || depth > MAX_DEPTH || !c->search)
        return NULL;
    c->search--;
    for (unsigned k = 0; k < n->n_in; k++) {
        unsigned i = n->op == JN_OP(host_has) ? n->n_in - 1 - k : k; /* of the key, not the dict */
        jcv_val *root = n->in[i] ? root_in(c, n->in[i], depth + 1) : NULL;
        if (root)
            return root;
    }
    return NULL;
}

PyObject *jcv_samples(jcv *c, jcv_av *a) {
    PyObject *l;
    if (a->kind != AV_HOST) {
        l = jcv_own(c, PyList_New(0));
        if (a->kind == AV_PY && PyList_Append(l, a->py) < 0)
            jcv_refuse_py(c);
        return l;
    }
    jcv_val *root = root_of(c, a->val);
    PyObject *all = root_samples(c, root);
    if (!all || root == a->val)
        return all ? all : a->samples;
    l = jcv_own(c, PyList_New(0));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all); i++) {
        PyObject *o = object_for(c, a->val, root, PyList_GET_ITEM(all, i));
        if (o && PyList_Append(l, o) < 0)
            jcv_refuse_py(c);
    }
    return l;
}

PyObject *jcv_ends(jcv *c, jcv_av *a) {
    jcv_val *root = root_of(c, a->val);
    PyObject *all = root_samples(c, root), *ends = jcv_own(c, PyList_New(0));
    size_t steps = 0;
    for (Py_ssize_t i = 0; all && root != a->val && i < PyList_GET_SIZE(all); i++) {
        PyObject *o = PyList_GET_ITEM(all, i), *before = NULL, *next = o;
        for (; next && Py_TYPE(next) == Py_TYPE(o) && steps < MAX_STEPS; steps++) {
            before = o;
            o = next;
            next = object_for(c, a->val, root, o);
        }
        if (before && (PyList_Append(ends, before) < 0 || PyList_Append(ends, o) < 0))
            jcv_refuse_py(c);
    }
    return ends;
}

void jcv_narrow_by(jcv *c, jcv_ctx *x, jcv_val *cond, bool taken) {
    c->search = MAX_SEARCH;
    jcv_val *root = root_in(c, cond, 0);
    if (!root)
        return;
    PyObject *all = root_samples(c, root), *kept = jcv_own(c, PyList_New(0));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all); i++) {
        PyObject *sample = PyList_GET_ITEM(all, i);
        janus_scalar s;
        c->search = MAX_SEARCH;
        if ((!scalar_for(c, cond, root, sample, &s, 0) || (s.i != 0) == taken) &&
            PyList_Append(kept, sample) < 0)
            jcv_refuse_py(c);
    }
    jcv_narrow *n = jcv_alloc(c, sizeof *n);
    *n = (jcv_narrow){x, kept, root->narrows};
    root->narrows = n;
}
