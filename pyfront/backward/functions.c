/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tape's Python face: backward, grad, the grad modes.
 */
#include "config.h"

#include "pyfront/backward/backward.h"
#include "pyfront/tape/tape.h"

#include <string.h>

#include "graph/base/alloc.h"
#include "pyfront/tensor/tensor.h"

/* ---- backward and grad
 * ------------------------------------------------------------------------------- */

static int shape_error(const janus_tensor *root, const janus_tensor *g) {
    jn_str s = {0};
    jn_type a = jn_tensor_as_type(g), b = jn_tensor_as_type(root);
    jn_type_print(&s, &a);
    jn_str_append(&s, " for an output ");
    jn_type_print(&s, &b);
    PyErr_Format(PyExc_RuntimeError, "Mismatch in shape: grad_output is %s", s.data ? s.data : "");
    jn_str_free(&s);
    return -1;
}

static int root_of(PyObject *o, PyObject *g, jpy_val *root, jpy_val *seed) {
    if (!jpy_tensor_check(o)) {
        PyErr_Format(PyExc_TypeError, "expected a Tensor to differentiate, not %s",
                     Py_TYPE(o)->tp_name);
        return -1;
    }
    if (jpy_tensor_val((jpy_tensor *)o, root) < 0)
        return -1;
    if (!jpy_edge_tracked(root->edge)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "element 0 of tensors does not require grad and does not "
                        "have a grad_fn");
        return -1;
    }
    *seed = JPY_VAL_NONE;
    if (g && g != Py_None) {
        if (!jpy_tensor_check(g)) {
            PyErr_Format(PyExc_TypeError, "gradients can be either Tensors or None, but got %s",
                         Py_TYPE(g)->tp_name);
            return -1;
        }
        if (jpy_tensor_val((jpy_tensor *)g, seed) < 0)
            return -1;
        bool same = seed->t->rank == root->t->rank;
        for (int i = 0; same && i < root->t->rank; i++)
            same = seed->t->dims[i] == root->t->dims[i];
        return same ? 0 : shape_error(root->t, seed->t);
    }
    if (root->t->numel != 1) {
        PyErr_SetString(PyExc_RuntimeError,
                        "grad can be implicitly created only for scalar outputs");
        return -1;
    }
    return 0;
}

/* A tensor or a sequence of tensors as a tuple; None gives NULL. */
static int as_tuple(PyObject *o, PyObject **out) {
    *out = NULL;
    if (!o || o == Py_None)
        return 0;
    *out = jpy_tensor_check(o) ? PyTuple_Pack(1, o) : PySequence_Tuple(o);
    return *out ? 0 : -1;
}

typedef struct request {
    PyObject *outputs, *grads, *inputs; /* tuples or NULL */
    jpy_val *roots, *seeds, *found;
    jpy_edge *edges;
    unsigned n_roots, n_inputs;
} request;

static void request_done(request *q) {
    Py_XDECREF(q->outputs);
    Py_XDECREF(q->grads);
    Py_XDECREF(q->inputs);
    PyMem_Free(q->roots);
    PyMem_Free(q->edges);
}

static int request_init(request *q, const char *name, PyObject *outputs, PyObject *grads,
                        PyObject *inputs) {
    if (as_tuple(outputs, &q->outputs) < 0 || as_tuple(grads, &q->grads) < 0 ||
        as_tuple(inputs, &q->inputs) < 0)
        return -1;
    if (q->inputs && !PyTuple_GET_SIZE(q->inputs)) {
        PyErr_Format(PyExc_RuntimeError, "`inputs` argument to `%s()` cannot be empty.", name);
        return -1;
    }
    q->n_roots = q->outputs ? (unsigned)PyTuple_GET_SIZE(q->outputs) : 0;
    q->n_inputs = q->inputs ? (unsigned)PyTuple_GET_SIZE(q->inputs) : 0;
    if (q->grads && PyTuple_GET_SIZE(q->grads) != (Py_ssize_t)q->n_roots) {
        PyErr_Format(PyExc_RuntimeError, "got %u tensors and %zd gradients", q->n_roots,
                     PyTuple_GET_SIZE(q->grads));
        return -1;
    }
    q->roots = PyMem_Calloc(2 * q->n_roots + q->n_inputs + 1, sizeof *q->roots);
    q->edges = PyMem_Calloc(q->n_inputs + 1, sizeof *q->edges);
    if (!q->roots || !q->edges) {
        PyErr_NoMemory();
        return -1;
    }
    q->seeds = q->roots + q->n_roots;
    q->found = q->seeds + q->n_roots;
    for (unsigned i = 0; i < q->n_roots; i++)
        if (root_of(PyTuple_GET_ITEM(q->outputs, i),
                    q->grads ? PyTuple_GET_ITEM(q->grads, i) : NULL, &q->roots[i],
                    &q->seeds[i]) < 0)
            return -1;
    for (unsigned i = 0; i < q->n_inputs; i++) {
        PyObject *o = PyTuple_GET_ITEM(q->inputs, i);
        if (!jpy_tensor_check(o)) {
            PyErr_SetString(PyExc_TypeError, "inputs must be Tensors");
            return -1;
        }
        if (jpy_tensor_edge((jpy_tensor *)o, &q->edges[i]) < 0)
            return -1;
        if (!jpy_edge_tracked(q->edges[i])) {
            PyErr_SetString(PyExc_RuntimeError,
                            "One of the differentiated Tensors does not require grad");
            return -1;
        }
    }
    return 0;
}

static int flag(PyObject *o, bool dflt, bool *out) {
    int on = !o || o == Py_None ? dflt : PyObject_IsTrue(o);
    *out = on > 0;
    return on < 0 ? -1 : 0;
}

/* backward(tensors, gradients, retain_graph, create_graph, inputs) */
static PyObject *backward(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"tensors",      "grad_tensors", "retain_graph",
                            "create_graph", "inputs",       NULL};
    PyObject *tensors, *grads = NULL, *retain = NULL, *create = NULL, *inputs = NULL;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOOO:backward", names, &tensors, &grads,
                                     &retain, &create, &inputs))
        return NULL;
    bool create_graph, retain_graph;
    if (flag(create, false, &create_graph) < 0 || flag(retain, create_graph, &retain_graph) < 0)
        return NULL;
    request q = {0};
    int rc = request_init(&q, "backward", tensors, grads, inputs);
    if (rc == 0)
        rc = jpy_backward(q.roots, q.seeds, q.n_roots, q.edges, q.n_inputs, q.found, retain_graph,
                          create_graph);
    for (unsigned i = 0; rc == 0 && i < q.n_inputs; i++)
        if (q.found[i].kind != JANUS_KIND_NONE)
            rc = jpy_take_grad((jpy_tensor *)PyTuple_GET_ITEM(q.inputs, i), &q.found[i],
                               create_graph);
    request_done(&q);
    return rc < 0 ? NULL : Py_NewRef(Py_None);
}

/* grad(outputs, inputs, grad_outputs, retain_graph, create_graph, only_inputs, allow_unused) */
static PyObject *grad(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"outputs",      "inputs",      "grad_outputs", "retain_graph",
                            "create_graph", "only_inputs", "allow_unused", NULL};
    PyObject *outputs, *inputs, *grads = NULL, *retain = NULL, *create = NULL, *only = NULL,
                                *unused = NULL;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OOOOO:grad", names, &outputs, &inputs,
                                     &grads, &retain, &create, &only, &unused))
        return NULL;
    bool create_graph, retain_graph, allow_unused;
    if (flag(create, false, &create_graph) < 0 || flag(retain, create_graph, &retain_graph) < 0 ||
        flag(unused, false, &allow_unused) < 0)
        return NULL;
    request q = {0};
    PyObject *result = NULL;
    int rc = request_init(&q, "grad", outputs, grads, inputs);
    if (rc == 0)
        rc = jpy_backward(q.roots, q.seeds, q.n_roots, q.edges, q.n_inputs, q.found, retain_graph,
                          create_graph);
    if (rc == 0)
        result = PyTuple_New(q.n_inputs);
    for (unsigned i = 0; rc == 0 && i < q.n_inputs; i++) {
        PyObject *o = NULL;
        if (q.found[i].kind != JANUS_KIND_NONE)
            o = jpy_tensor_take_val(&q.found[i]);
        else if (allow_unused)
            o = Py_NewRef(Py_None);
        else
            PyErr_Format(
                PyExc_RuntimeError,
                "The differentiated Tensor at index %u appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior.",
                i);
        if (!o || !result) {
            Py_XDECREF(o);
            Py_CLEAR(result);
            for (; i < q.n_inputs; i++)
                jpy_val_release(&q.found[i]);
            break;
        }
        PyTuple_SET_ITEM(result, i, o);
    }
    request_done(&q);
    return result;
}

/* ---- grad mode
 * ------------------------------------------------------------------------------------------- */

static PyObject *is_grad_enabled(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyBool_FromLong(jpy_grad_enabled());
}

static PyObject *switch_grad(PyObject *module, PyObject *on) {
    (void)module;
    int v = PyObject_IsTrue(on);
    if (v < 0)
        return NULL;
    bool was = jpy_grad_enabled();
    jpy_no_grad_mode = !v;
    return PyBool_FromLong(was);
}

/* no_grad() and its kin: a context manager that is also a decorator. */
typedef struct mode_object {
    PyObject_HEAD bool on, was;
    bool lasting; /* set_grad_enabled: takes effect at once */
} mode_object;

static PyTypeObject *mode_type;

static PyObject *mode_enter(PyObject *self, PyObject *unused) {
    mode_object *m = (mode_object *)self;
    (void)unused;
    if (!m->lasting)
        m->was = jpy_grad_enabled();
    jpy_no_grad_mode = !m->on;
    return Py_NewRef(self);
}
static PyObject *mode_exit(PyObject *self, PyObject *args) {
    (void)args;
    jpy_no_grad_mode = !((mode_object *)self)->was;
    Py_RETURN_NONE;
}
static PyObject *mode_decorate(PyObject *self, PyObject *args, PyObject *kwargs) {
    (void)kwargs;
    PyObject *f;
    if (!PyArg_ParseTuple(args, "O", &f))
        return NULL;
    PyObject *module = PyImport_ImportModule("janus.autograd");
    PyObject *wrapped = module ? PyObject_CallMethod(module, "_with_grad_mode", "OO", f,
                                                     ((mode_object *)self)->on ? Py_True : Py_False)
                               : NULL;
    Py_XDECREF(module);
    return wrapped;
}
static PyMethodDef mode_methods[] = {
    {"__enter__", mode_enter, METH_NOARGS, NULL},
    {"__exit__", mode_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot mode_slots[] = {
    {Py_tp_methods, mode_methods},
    {Py_tp_call, mode_decorate},
    {Py_tp_doc, "Switches the recording of gradients for a block or a function."},
    {0, NULL},
};
static PyType_Spec mode_spec = {"janus.GradMode", sizeof(mode_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, mode_slots};

static PyObject *mode_make(bool on, bool lasting) {
    mode_object *m = PyObject_New(mode_object, mode_type);
    if (m) {
        m->on = on;
        m->was = jpy_grad_enabled();
        m->lasting = lasting;
        if (lasting)
            jpy_no_grad_mode = !on;
    }
    return (PyObject *)m;
}
/* no_grad(f) decorates f, as @no_grad without brackets does. */
static PyObject *mode_or_decorate(PyObject *args, bool on) {
    PyObject *m = mode_make(on, false);
    if (!m || PyTuple_GET_SIZE(args) == 0)
        return m;
    PyObject *wrapped = mode_decorate(m, args, NULL);
    Py_DECREF(m);
    return wrapped;
}
static PyObject *no_grad(PyObject *module, PyObject *args) {
    (void)module;
    return mode_or_decorate(args, false);
}
static PyObject *enable_grad(PyObject *module, PyObject *args) {
    (void)module;
    return mode_or_decorate(args, true);
}
static PyObject *set_grad_enabled(PyObject *module, PyObject *on) {
    (void)module;
    int v = PyObject_IsTrue(on);
    return v < 0 ? NULL : mode_make(v != 0, true);
}

static PyMethodDef functions[] = {
    {"_backward", (PyCFunction)(void *)backward, METH_VARARGS | METH_KEYWORDS, NULL},
    {"_grad", (PyCFunction)(void *)grad, METH_VARARGS | METH_KEYWORDS, NULL},
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS, "Whether ops are recorded."},
    {"_switch_grad", switch_grad, METH_O, "Sets the mode, returns the previous one."},
    {"no_grad", no_grad, METH_VARARGS, "no_grad(): ops inside are not recorded."},
    {"enable_grad", enable_grad, METH_VARARGS, "enable_grad(): ops inside are recorded."},
    {"set_grad_enabled", set_grad_enabled, METH_O, "set_grad_enabled(mode)"},
    {NULL, NULL, 0, NULL},
};

int jpy_init_tape(PyObject *module) {
    mode_type = jpy.ctx_type = jpy_type_new(module, &mode_spec, NULL);
    return mode_type ? PyModule_AddFunctions(module, functions) : -1;
}
