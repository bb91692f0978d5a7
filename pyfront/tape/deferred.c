/* SPDX-License-Identifier: Apache-2.0 */
/* The context manager janus.deferred: see pyfront/tape/deferred.h. */
#include "config.h"

#include "pyfront/tape/deferred.h"

#include <string.h>

#include "exec/defer/defer.h"

/* A block that a thread has entered.  Blocks may end in another order than they began, or on
 * another thread (in generators): one that has ended is left when those entered after it have. */
struct jpy_recording {
    jpy_recording *outer;
    jn_deferral *deferral; /* a reference */
    bool at_once, ended;
};

static _Thread_local jpy_recording *innermost;

typedef struct block {
    PyObject_HEAD jn_deferral *deferral;
    jpy_recording *entered; /* NULL: not, or no longer */
} block;

static PyTypeObject *block_type;

static int numerics_of(const char *name, bool *exact) {
    *exact = strcmp(name, "exact") == 0;
    if (*exact || strcmp(name, "fast") == 0)
        return 0;
    PyErr_Format(PyExc_ValueError, "numerics must be \"fast\" or \"exact\", not '%s'", name);
    return -1;
}

static PyObject *block_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"numerics", "max_bytes", "max_ops", NULL};
    const char *numerics = "fast";
    Py_ssize_t bytes = 0, calls = 0;
    jn_deferral_options o = {0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$snn:deferred", names, &numerics, &bytes,
                                     &calls) ||
        numerics_of(numerics, &o.exact) < 0)
        return NULL;
    if (bytes < 0 || calls < 0) {
        PyErr_SetString(PyExc_ValueError, "max_bytes and max_ops must not be negative");
        return NULL;
    }
    o.bytes = (size_t)bytes;
    o.calls = calls > (Py_ssize_t)UINT32_MAX ? UINT32_MAX : (unsigned)calls;
    block *b = (block *)type->tp_alloc(type, 0);
    if (b && !(b->deferral = jn_deferral_new(&o))) {
        Py_DECREF(b);
        return PyErr_NoMemory();
    }
    return (PyObject *)b;
}

static void block_dealloc(PyObject *self) {
    block *b = (block *)self;
    PyTypeObject *type = Py_TYPE(self);
    jn_deferral_release(b->deferral);
    type->tp_free(self);
    Py_DECREF(type);
}

static void choose(void) {
    jn_deferring = innermost && !innermost->at_once ? innermost->deferral : NULL;
    jn_tracing = innermost && innermost->at_once ? innermost->deferral : NULL;
}

static void leave_ended(void) {
    while (innermost && innermost->ended) {
        jpy_recording *s = innermost;
        innermost = s->outer;
        jn_deferral_release(s->deferral);
        PyMem_Free(s);
    }
    choose();
}

jpy_recording *jpy_recording_begin(jn_deferral *d) {
    jpy_recording *r = PyMem_Calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->outer = innermost;
    r->deferral = d;
    jn_deferral_retain(d);
    innermost = r;
    choose();
    return r;
}

void jpy_recording_at_once(void) {
    if (innermost)
        innermost->at_once = true;
    choose();
}

void jpy_recording_end(jpy_recording *r) {
    r->ended = true;
    leave_ended();
}

janus_status jpy_flush(jn_deferral *d) {
    jn_deferral_retain(d);
    PyThreadState *released = PyEval_SaveThread();
    janus_status st = jn_deferral_flush(d);
    PyEval_RestoreThread(released);
    jn_deferral_release(d);
    return st;
}

janus_status jpy_settle(janus_tensor *t) {
    if (JN_LIKELY(!jn_storage_waits(t->storage)))
        return JANUS_OK;
    PyThreadState *released = PyEval_SaveThread();
    janus_status st = jn_tensor_settle(t);
    PyEval_RestoreThread(released);
    return st;
}

static PyObject *block_enter(PyObject *self, PyObject *unused) {
    block *b = (block *)self;
    (void)unused;
    if (b->entered) {
        PyErr_SetString(PyExc_RuntimeError, "this block of janus.deferred() has not ended yet");
        return NULL;
    }
    b->entered = jpy_recording_begin(b->deferral);
    return b->entered ? Py_NewRef(self) : PyErr_NoMemory();
}

static PyObject *block_exit(PyObject *self, PyObject *args) {
    block *b = (block *)self;
    (void)args;
    if (!b->entered)
        Py_RETURN_FALSE;
    jpy_recording_end(b->entered);
    b->entered = NULL;
    if (jpy_check(jpy_flush(b->deferral)) < 0)
        return NULL;
    Py_RETURN_FALSE;
}

static PyObject *block_stats(PyObject *self, PyObject *unused) {
    (void)unused;
    jn_deferral_stats s;
    jn_deferral_stats_get(((block *)self)->deferral, &s);
    return Py_BuildValue(
        "{sKsKsKsKsKsKsKsKsKsK}", "recorded", (unsigned long long)s.recorded, "flushes",
        (unsigned long long)s.flushes, "groups", (unsigned long long)s.groups, "grouped",
        (unsigned long long)s.grouped, "dropped", (unsigned long long)s.dropped, "backward_groups",
        (unsigned long long)s.back_groups, "backward_grouped", (unsigned long long)s.back_grouped,
        "backward_alone", (unsigned long long)s.back_alone, "traces", (unsigned long long)s.traces,
        "traced", (unsigned long long)s.traced);
}

static PyMethodDef block_methods[] = {
    {"__enter__", block_enter, METH_NOARGS, NULL},
    {"__exit__", block_exit, METH_VARARGS, NULL},
    {"stats", block_stats, METH_NOARGS,
     "A dict: ops recorded, flushes, groups of several ops and the ops in them, ops dropped "
     "since nothing needed their results; and of backward() groups, the nodes in them, nodes "
     "that ran alone, stretches that ran as one graph, and the nodes in them."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot block_slots[] = {
    {Py_tp_new, block_new},
    {Py_tp_dealloc, block_dealloc},
    {Py_tp_methods, block_methods},
    {Py_tp_doc,
     "deferred(*, numerics=\"fast\", max_bytes=0, max_ops=0): a block in which ops are recorded, "
     "and run together when a value is read, when the block ends, or when about max_bytes bytes "
     "(0: 64 MiB) or max_ops ops (0: 65536) wait.  Programs compute what they compute outside; "
     "with "
     "numerics=\"exact\" to the last bit."},
    {0, NULL},
};
static PyType_Spec block_spec = {"janus.deferred", sizeof(block), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, block_slots};

static PyObject *is_deferring(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyBool_FromLong(jn_deferring != NULL);
}
static PyMethodDef functions[] = {
    {"_is_deferring", is_deferring, METH_NOARGS,
     "Whether this thread is in a block of deferred()."},
    {NULL, NULL, 0, NULL},
};

int jpy_init_deferred(PyObject *module) {
    block_type = jpy_type_new(module, &block_spec, NULL);
    return block_type ? PyModule_AddFunctions(module, functions) : -1;
}
