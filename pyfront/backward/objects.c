/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of the tape as Python sees them: hooks, grad_fn objects, nodes of autograd.Function.
 */
#include "config.h"

#include "pyfront/backward/backward.h"
#include "pyfront/tape/tape.h"

#include <string.h>

#include "graph/base/alloc.h"
#include "pyfront/tensor/tensor.h"

/* ---- hooks
 * ------------------------------------------------------------------------------------------------
 */

static long next_hook;

/* _register_hook(tensor, f): a key for _remove_hook. */
static PyObject *register_hook(PyObject *module, PyObject *args) {
    PyObject *o, *f;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O:_register_hook", (PyObject *)jpy.tensor_type, &o, &f))
        return NULL;
    jpy_tensor *t = (jpy_tensor *)o;
    jpy_edge e;
    if (jpy_tensor_edge(t, &e) < 0)
        return NULL;
    if (!jpy_edge_tracked(e)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "cannot register a hook on a tensor that doesn't require gradient");
        return NULL;
    }
    PyObject *id = PyLong_FromLong(next_hook++);
    int rc = id ? 0 : -1;
    if (rc == 0 && e.node) {
        jpy_node_extra *x = jpy_node_extra_get(e.node);
        if (x && !x->hooks) {
            x->hooks = PyList_New(0);
            jpy_nodes_apart += x->hooks && jpy_node_parts(e.node);
        }
        PyObject *entry =
            x && x->hooks ? Py_BuildValue("kOO", (unsigned long)e.index, id, f) : NULL;
        rc = entry ? PyList_Append(x->hooks, entry) : -1;
        Py_XDECREF(entry);
    } else if (rc == 0) {
        if (!t->hooks)
            jpy_tensor_put_hooks(t, PyDict_New());
        rc = t->hooks ? PyDict_SetItem(t->hooks, id, f) : -1;
    }
    if (rc < 0)
        Py_CLEAR(id);
    return id;
}

static PyObject *remove_hook(PyObject *module, PyObject *args) {
    PyObject *o, *id;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O:_remove_hook", (PyObject *)jpy.tensor_type, &o, &id))
        return NULL;
    jpy_tensor *t = (jpy_tensor *)o;
    if (t->hooks && PyDict_Contains(t->hooks, id) > 0 && PyDict_DelItem(t->hooks, id) < 0)
        return NULL;
    if (t->hooks && PyDict_GET_SIZE(t->hooks) == 0)
        jpy_tensor_put_hooks(t, NULL); /* as it was: guards look at it */
    jpy_edge e;
    if (jpy_tensor_edge(t, &e) < 0)
        return NULL;
    PyObject *list = e.node && e.node->extra ? e.node->extra->hooks : NULL;
    for (Py_ssize_t i = list ? PyList_GET_SIZE(list) : 0; i-- > 0;) {
        int same =
            PyObject_RichCompareBool(PyTuple_GET_ITEM(PyList_GET_ITEM(list, i), 1), id, Py_EQ);
        if (same < 0 || (same && PyList_SetSlice(list, i, i + 1, NULL) < 0))
            return NULL;
    }
    Py_RETURN_NONE;
}

PyObject *jpy_retain_grad(PyObject *self, PyObject *unused) {
    (void)unused;
    jpy_tensor *t = (jpy_tensor *)self;
    jpy_edge e;
    if (jpy_tensor_edge(t, &e) < 0)
        return NULL;
    if (!jpy_edge_tracked(e)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "can't retain_grad on Tensor that has requires_grad=False");
        return NULL;
    }
    if (!e.node || t->retains_grad)
        Py_RETURN_NONE;
    jpy_node_extra *x = jpy_node_extra_get(e.node);
    if (x && !x->retained)
        x->retained = PyList_New(0);
    PyObject *ref = x && x->retained ? PyWeakref_NewRef(self, NULL) : NULL;
    PyObject *entry = ref ? Py_BuildValue("kN", (unsigned long)e.index, ref) : NULL;
    int rc = entry ? PyList_Append(x->retained, entry) : -1;
    Py_XDECREF(entry);
    if (rc < 0)
        return NULL;
    t->retains_grad = true;
    Py_RETURN_NONE;
}

/* ---- grad_fn
 * ---------------------------------------------------------------------------------------------- */

typedef struct node_object {
    PyObject_HEAD jpy_node *node; /* NULL: accumulates into leaf */
    PyObject *leaf;
} node_object;

static PyObject *node_object_new(jpy_node *n, PyObject *leaf) {
    node_object *o = PyObject_GC_New(node_object, jpy.node_type);
    if (o) {
        o->node = n;
        o->leaf = Py_XNewRef(leaf);
        if (n)
            jpy_node_retain(n);
        PyObject_GC_Track(o);
    }
    return (PyObject *)o;
}
PyObject *jpy_node_object(jpy_node *n) { return node_object_new(n, NULL); }

static int node_object_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((node_object *)self)->leaf);
    return jpy_node_visit(((node_object *)self)->node, visit, arg);
}
static void node_object_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    jpy_node *n = ((node_object *)self)->node;
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((node_object *)self)->leaf);
    PyObject_GC_Del(self);
    Py_DECREF(type);
    jpy_node_release(n);
}
static PyObject *node_text(const node_object *o) {
    if (!o->node)
        return PyUnicode_FromString("AccumulateGrad");
    const char *name = jpy_node_name(o->node);
    char camel[96];
    size_t n = 0;
    bool upper = true;
    for (; *name && n < sizeof camel - 1; name++) {
        if (*name == '_') {
            upper = true;
            continue;
        }
        camel[n++] = upper && *name >= 'a' && *name <= 'z' ? (char)(*name - 32) : *name;
        upper = false;
    }
    camel[n] = 0;
    return PyUnicode_FromFormat("%sBackward0", camel);
}
static PyObject *node_name(PyObject *self, PyObject *unused) {
    (void)unused;
    return node_text((node_object *)self);
}
static PyObject *node_repr(PyObject *self) {
    PyObject *name = node_text((node_object *)self);
    PyObject *text = name ? PyUnicode_FromFormat("<%U>", name) : NULL;
    Py_XDECREF(name);
    return text;
}
static PyObject *node_next(PyObject *self, void *unused) {
    (void)unused;
    jpy_node *n = ((node_object *)self)->node;
    unsigned n_in = n ? n->n_in : 0;
    PyObject *tuple = PyTuple_New(n_in);
    for (unsigned i = 0; tuple && i < n_in; i++) {
        jpy_edge e = jpy_edge_now(n->edges[i]);
        PyObject *o = jpy_edge_tracked(e)
                          ? node_object_new(e.node, e.node ? NULL : (PyObject *)e.leaf)
                          : Py_NewRef(Py_None);
        PyObject *pair = o ? Py_BuildValue("Nk", o, (unsigned long)e.index) : NULL;
        if (!pair)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, pair);
    }
    return tuple;
}
static PyObject *node_variable(PyObject *self, void *unused) {
    (void)unused;
    PyObject *leaf = ((node_object *)self)->leaf;
    return Py_NewRef(leaf ? leaf : Py_None);
}
static PyObject *node_compare(PyObject *a, PyObject *b, int op) {
    if (Py_TYPE(b) != jpy.node_type || (op != Py_EQ && op != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    node_object *x = (node_object *)a, *y = (node_object *)b;
    bool same = x->node == y->node && x->leaf == y->leaf;
    return PyBool_FromLong(op == Py_EQ ? same : !same);
}
static Py_hash_t node_hash(PyObject *self) {
    node_object *o = (node_object *)self;
    return _Py_HashPointer(o->node ? (void *)o->node : (void *)o->leaf);
}
static PyMethodDef node_methods[] = {
    {"name", node_name, METH_NOARGS, "Name of the operation."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef node_getset[] = {
    {"next_functions", node_next, NULL, "(node, result) per operand", NULL},
    {"variable", node_variable, NULL, "The leaf, of a node that collects .grad", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot node_slots[] = {
    {Py_tp_doc, "An operation on the tape: what a tensor's grad_fn is."},
    {Py_tp_dealloc, node_object_dealloc},
    {Py_tp_traverse, node_object_traverse},
    {Py_tp_repr, node_repr},
    {Py_tp_methods, node_methods},
    {Py_tp_getset, node_getset},
    {Py_tp_richcompare, node_compare},
    {Py_tp_hash, node_hash},
    {0, NULL},
};
static PyType_Spec node_spec = {
    "janus.Node", sizeof(node_object), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, node_slots};

/* ---- autograd.Function
 * ------------------------------------------------------------------------------------- */

/* Data of a node made by _function_node, and what it holds for the collector to see. */
typedef struct function_data {
    PyObject *backward, *release; /* of the node's `held` */
    char name[64];
} function_data;

typedef struct callables {        /* of janus/autograd.py */
    PyObject_HEAD jpy_node *node; /* borrowed; NULL when it has died */
    PyObject *backward;           /* backward(grads: tuple, wanted: tuple) -> tuple */
    PyObject *release;            /* release() */
} callables;

static PyTypeObject *callables_type;

static int callables_traverse(PyObject *self, visitproc visit, void *arg) {
    callables *c = (callables *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(c->backward);
    Py_VISIT(c->release);
    return c->node ? jpy_node_visit_edges(c->node, visit, arg) : 0;
}
static void callables_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_DECREF(((callables *)self)->backward);
    Py_DECREF(((callables *)self)->release);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}
static PyType_Slot callables_slots[] = {
    {Py_tp_dealloc, callables_dealloc}, {Py_tp_traverse, callables_traverse}, {0, NULL}};
static PyType_Spec callables_spec = {
    "janus._C.Callables", sizeof(callables), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, callables_slots};

static int function_backward(jpy_node *n, const jpy_val *dout, const bool *want, jpy_val *din,
                             bool create_graph) {
    (void)create_graph;
    if (n->freed)
        return jpy_raise_freed();
    function_data *d = jpy_node_data(n);
    PyObject *grads = PyTuple_New(n->n_out), *wanted = PyTuple_New(n->n_in), *result = NULL;
    int rc = grads && wanted ? 0 : -1;
    for (unsigned i = 0; rc == 0 && i < n->n_out; i++) {
        jpy_val v = dout[i];
        PyObject *o = Py_None;
        if (v.kind == JANUS_KIND_TENSOR) {
            janus_tensor_retain(v.t);
            jpy_edge_retain(v.edge);
            o = jpy_tensor_take_val(&v);
        } else
            Py_INCREF(o);
        if (!o)
            rc = -1;
        else
            PyTuple_SET_ITEM(grads, i, o);
    }
    for (unsigned i = 0; rc == 0 && i < n->n_in; i++)
        PyTuple_SET_ITEM(wanted, i, PyBool_FromLong(want[i]));
    if (rc == 0)
        result = PyObject_CallFunctionObjArgs(d->backward, grads, wanted, NULL);
    if (!result || !PyTuple_Check(result) || PyTuple_GET_SIZE(result) != n->n_in)
        rc = -1;
    if (result && rc < 0)
        PyErr_Format(PyExc_RuntimeError,
                     "%s: backward returned an incorrect number of gradients "
                     "(expected %u)",
                     d->name, (unsigned)n->n_in);
    for (unsigned i = 0; rc == 0 && i < n->n_in; i++) {
        PyObject *o = PyTuple_GET_ITEM(result, i);
        if (o == Py_None || !want[i])
            continue;
        if (!jpy_tensor_check(o)) {
            PyErr_Format(PyExc_TypeError, "%s: backward returned %s, expected a Tensor or None",
                         d->name, Py_TYPE(o)->tp_name);
            rc = -1;
        } else if ((rc = jpy_tensor_val((jpy_tensor *)o, &din[i])) == 0) {
            janus_tensor_retain(din[i].t);
            jpy_edge_retain(din[i].edge);
        }
    }
    Py_XDECREF(grads);
    Py_XDECREF(wanted);
    Py_XDECREF(result);
    return rc;
}

static void function_release(jpy_node *n) {
    function_data *d = jpy_node_data(n);
    PyObject *r = PyObject_CallNoArgs(d->release);
    if (!r)
        PyErr_WriteUnraisable(d->release);
    Py_XDECREF(r);
}

static void function_destroy(jpy_node *n) {
    if (n->held)
        ((callables *)n->held)->node = NULL;
}

/* name points into the data: filled when asked for */
static const jpy_node_class function_class = {
    "Function", function_backward, function_release, function_destroy, NULL, false};

/* _function_node(backward, release, name, inputs, outputs, differentiable): gives the outputs,
 * which must be fresh tensors or views, one new node as history, and returns them. */
static PyObject *function_node(PyObject *module, PyObject *args) {
    PyObject *backward_f, *release_f, *inputs, *outputs, *marks;
    const char *name;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOsO!O!O!:_function_node", &backward_f, &release_f, &name,
                          &PyTuple_Type, &inputs, &PyTuple_Type, &outputs, &PyTuple_Type, &marks))
        return NULL;
    Py_ssize_t n_in = PyTuple_GET_SIZE(inputs), n_out = PyTuple_GET_SIZE(outputs);
    jpy_edge *edges = PyMem_Calloc((size_t)n_in + 1, sizeof *edges);
    if (!edges)
        return PyErr_NoMemory();
    int rc = 0;
    for (Py_ssize_t i = 0; rc == 0 && i < n_in; i++) {
        PyObject *o = PyTuple_GET_ITEM(inputs, i);
        if (jpy_tensor_check(o))
            rc = jpy_tensor_edge((jpy_tensor *)o, &edges[i]);
    }
    jpy_node *n = rc == 0 ? jpy_node_new(&function_class, (unsigned)n_in, (unsigned)n_out, edges,
                                         sizeof(function_data))
                          : NULL;
    PyMem_Free(edges);
    callables *held = n ? PyObject_GC_New(callables, callables_type) : NULL;
    if (!held) {
        jpy_node_release(n);
        return NULL;
    }
    held->node = n;
    held->backward = Py_NewRef(backward_f);
    held->release = Py_NewRef(release_f);
    PyObject_GC_Track(held);
    jpy_node_hold(n, (PyObject *)held);
    function_data *d = jpy_node_data(n);
    d->backward = backward_f;
    d->release = release_f;
    snprintf(d->name, sizeof d->name, "%s", name);
    for (Py_ssize_t i = 0; i < n_out; i++) {
        PyObject *o = PyTuple_GET_ITEM(outputs, i);
        if (!jpy_tensor_check(o) || PyTuple_GET_ITEM(marks, i) != Py_True)
            continue;
        jpy_tensor *t = (jpy_tensor *)o;
        jpy_node_retain(n);
        jpy_node_release(t->node);
        t->node = n;
        t->node_out = (uint32_t)i;
        t->requires_grad = false;
    }
    jpy_node_release(n);
    return Py_NewRef(outputs);
}

/* _writes(tensor): a number that differs once something was written to its memory; for nobody but
 * FunctionCtx, since in a graph it is no more than that. */
static PyObject *writes(PyObject *module, PyObject *tensor) {
    (void)module;
    if (!jpy_tensor_check(tensor)) {
        PyErr_SetString(PyExc_TypeError, "_writes() takes a Tensor");
        return NULL;
    }
    return PyLong_FromUnsignedLong(((jpy_tensor *)tensor)->t->storage->version);
}

static PyMethodDef functions[] = {
    {"_register_hook", register_hook, METH_VARARGS, NULL},
    {"_remove_hook", remove_hook, METH_VARARGS, NULL},
    {"_function_node", function_node, METH_VARARGS, NULL},
    {"_writes", writes, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

int jpy_init_tape_objects(PyObject *module) {
    jpy.node_type = jpy_type_new(module, &node_spec, NULL);
    callables_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &callables_spec, NULL);
    return jpy.node_type && callables_type ? PyModule_AddFunctions(module, functions) : -1;
}
