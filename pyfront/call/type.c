/* SPDX-License-Identifier: Apache-2.0 */
/*
 * janus.Function, the type, and janus.function, which makes one of a callable: options, what the
 * garbage collector is told, counts.  What a call does is call.c.
 */
#include "pyfront/base/tracing.h"
#include "pyfront/call/cache.h"
#include "pyfront/call/object.h"

#include <stdlib.h>
#include <string.h>

#include "exec/defer/defer.h"
#include "pyfront/call/explain.h"
#include "pyfront/call/ladder.h"
#include "pyfront/call/policy.h"
#include "pyfront/call/region.h"
#include "pyfront/verify/verify.h"

static PyObject *function_get(PyObject *self, PyObject *obj, PyObject *type) {
    (void)type;
    if (!obj || obj == Py_None) {
        Py_INCREF(self);
        return self;
    }
    return PyMethod_New(self, obj);
}

static int function_traverse(PyObject *self, visitproc visit, void *arg) {
    jpy_function *f = (jpy_function *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(f->callable);
    Py_VISIT(f->like);
    Py_VISIT(f->dict);
    Py_VISIT(f->hints);
    Py_VISIT(f->dims);
    Py_VISIT(f->seen);
    Py_VISIT(f->notes);
    Py_VISIT(f->history);
    Py_VISIT(f->skeleton);
    Py_VISIT(f->wrong);
    Py_VISIT(f->regions);
    Py_VISIT(f->callees);
    Py_VISIT(f->shelf);
    Py_VISIT((PyObject *)f->payer);
    for (size_t i = 0; i < f->entries.n; i++)
        Py_VISIT((PyObject *)f->entries.data[i]);
    Py_VISIT((PyObject *)f->timed);
    return 0;
}

static int function_clear(PyObject *self) {
    jpy_function *f = (jpy_function *)self;
    jpy_function_time_no_more(f);
    jpy_function_drop_entries(f);
    Py_CLEAR(f->callable);
    Py_CLEAR(f->like);
    Py_CLEAR(f->dict);
    Py_CLEAR(f->hints);
    Py_CLEAR(f->dims);
    Py_CLEAR(f->seen);
    Py_CLEAR(f->plan);
    Py_CLEAR(f->skeleton);
    Py_CLEAR(f->skeleton_of);
    Py_CLEAR(f->wrong);
    Py_CLEAR(f->regions);
    Py_CLEAR(f->callees);
    Py_CLEAR(f->shelf);
    Py_CLEAR(f->payer);
    return 0;
}

static void function_dealloc(PyObject *self) {
    jpy_function *f = (jpy_function *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (f->weakrefs)
        PyObject_ClearWeakRefs(self);
    function_clear(self);
    jn_vec_free(&f->entries);
    jpy_word_free(&f->word);
    Py_CLEAR(f->notes);
    Py_CLEAR(f->history);
    Py_CLEAR(f->reason);
    for (unsigned i = 0; i < JPY_TREES; i++)
        Py_CLEAR(f->trees[i]);
    Py_CLEAR(f->failed);
    jn_deferral_release(f->together.deferral);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* What `verify=` says; NULL: JANUS_VERIFY, else rarely. */
static int verify_of(const char *when, jpy_verify *out) {
    static const char *const names[] = {"rarely", "always", "never"};
    const char *env = getenv("JANUS_VERIFY");
    *out = JPY_VERIFY_RARELY;
    for (int i = 0; i < 3; i++)
        if (strcmp(when ? when : env ? env : names[0], names[i]) == 0) {
            *out = (jpy_verify)i;
            return 0;
        }
    if (!when)
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "janus.function: verify is \"rarely\", \"always\" or \"never\", got \"%s\"", when);
    return -1;
}

typedef struct function_options {
    bool exact, checkpoint, measure, regions;
    jpy_verify verify;
    jpy_ladder ladder;
} function_options;

static PyObject *function_of(PyObject *callable, function_options o) {
    PyObject *forward = NULL;
    if (jpy.module_base_type && PyObject_TypeCheck(callable, jpy.module_base_type)) {
        forward = PyObject_GetAttrString(callable, "forward");
        PyObject *made = forward ? function_of(forward, o) : NULL;
        int bad = made ? PyObject_SetAttrString(callable, "forward", made) : -1;
        Py_XDECREF(forward);
        Py_XDECREF(made);
        if (bad)
            return NULL;
        Py_INCREF(callable);
        return callable;
    }
    PyObject *f = jpy_function_new(callable, o.exact, o.checkpoint, o.measure);
    if (f) {
        ((jpy_function *)f)->verify = o.verify;
        ((jpy_function *)f)->use_regions = o.regions && o.ladder & JPY_RUNG_GRAPH;
        ((jpy_function *)f)->ladder = o.ladder;
    }
    return f;
}

PyObject *jpy_function_new(PyObject *callable, bool exact, bool checkpoint, bool measure) {
    if (!PyCallable_Check(callable))
        return PyErr_Format(PyExc_TypeError, "janus.function: a callable is needed, got %s",
                            Py_TYPE(callable)->tp_name);
    jpy_function *f = PyObject_GC_New(jpy_function, jpy.function_type);
    if (!f)
        return NULL;
    memset((char *)f + sizeof(PyObject), 0, sizeof *f - sizeof(PyObject));
    f->vectorcall = jpy_function_call;
    f->exact = exact;
    f->checkpoint = checkpoint;
    f->measure = measure;
    verify_of(NULL, &f->verify);
    f->ladder = JPY_LADDER_DEFAULT;
    Py_INCREF(callable);
    f->callable = callable;
    f->hints = PyDict_New();
    f->dims = PyDict_New();
    f->seen = PyDict_New();
    f->notes = PyList_New(0);
    f->history = PyList_New(0);
    PyObject_GC_Track(f);
    if (!f->hints || !f->dims || !f->seen || !f->notes || !f->history ||
        jpy_function_dress(f, callable) < 0) {
        Py_DECREF(f);
        return NULL;
    }
    return (PyObject *)f;
}

static PyObject *py_function(PyObject *module, PyObject *args, PyObject *kw);
static PyMethodDef decorator_def;

/* janus.function(numerics=...) without a function: a decorator that remembers the options. */
static PyObject *decorate(PyObject *options, PyObject *callable) {
    PyObject *t = PyTuple_Pack(1, callable);
    PyObject *r = t ? py_function(NULL, t, options) : NULL;
    Py_XDECREF(t);
    return r;
}
static PyMethodDef decorator_def = {"function", decorate, METH_O, NULL};

/* Whether a function that does not say has regions of statements.  JANUS_REGIONS=0: none has. */
static bool by_default(void) {
    const char *env = getenv("JANUS_REGIONS");
    return !env || strcmp(env, "0") != 0;
}

static PyObject *py_function(PyObject *module, PyObject *args, PyObject *kw) {
    (void)module;
    static char *names[] = {"f",      "numerics", "measure", "checkpoint",
                            "verify", "regions",  "ladder",  NULL};
    PyObject *f = Py_None, *rungs = NULL, *regions = Py_None;
    jpy_ladder ladder;
    jpy_verify verify;
    const char *when = NULL, *numerics = "fast", *env = getenv("JANUS_MEASURE");
    int measure = !env || strcmp(env, "0") != 0, checkpoint = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|O$sppzOO:function", names, &f, &numerics, &measure,
                                     &checkpoint, &when, &regions, &rungs) ||
        verify_of(when, &verify) < 0 || jpy_ladder_of(rungs, &ladder) < 0)
        return NULL;
    if (strcmp(numerics, "fast") != 0 && strcmp(numerics, "exact") != 0)
        return PyErr_Format(PyExc_ValueError,
                            "janus.function: numerics is \"fast\" or \"exact\", got \"%s\"",
                            numerics);
    if (f == Py_None) {
        PyObject *options = kw ? PyDict_Copy(kw) : PyDict_New();
        if (!options)
            return NULL;
        if (PyDict_GetItemString(options, "f"))
            PyDict_DelItemString(options, "f");
        PyObject *d = PyCFunction_New(&decorator_def, options);
        Py_DECREF(options);
        return d;
    }
    bool exact = strcmp(numerics, "exact") == 0;
    int with_regions = regions == Py_None ? by_default() : PyObject_IsTrue(regions);
    if (with_regions < 0)
        return NULL;
    return function_of(
        f, (function_options){exact, checkpoint, measure, with_regions, verify, ladder});
}

static PyObject *function_stats(PyObject *self, PyObject *unused) {
    (void)unused;
    jpy_function *f = (jpy_function *)self;
    uint64_t hits;
    size_t regions = jpy_regions_count(f, &hits);
    size_t guards = f->entries.n ? jpy_entry_guards(f->entries.data[0]) : 0;
    double per_node = f->run.invokes ? (double)f->run.host_ns / (double)f->run.invokes : 0;
    uint64_t ops = f->ops.eager + f->ops.graph;
    double share = ops ? (double)f->ops.graph / (double)ops : 0;
    PyObject *stats = Py_BuildValue(
        "{sKsKsKsKsKsKsKsKsKsKsKsKsKsKsKsKsKsKsKsKsKsKsdsOsKsKsdsKsKsKsKsKsK}", "calls", f->calls,
        "graph", f->graph, "imperative", f->imperative, "fallbacks", f->fallbacks, "conversions",
        f->conversions, "entries", (unsigned long long)f->entries.n, "invokes", f->run.invokes,
        "instructions", f->run.instructions, "tasks", f->run.tasks, "batches", f->run.batches,
        "kernels", f->run.kernels, "peak_bytes", f->run.peak_bytes, "lanes", f->run.lanes, "early",
        f->run.early, "late", f->run.late, "guards", (unsigned long long)guards, "slow", f->slow,
        "verified", f->verified, "disproved", f->disproved, "nodes", f->run.invokes, "host_ns",
        f->run.host_ns, "tensor_ns", f->run.tensor_ns, "ns_per_node", per_node, "resting",
        f->rest ? Py_True : Py_False, "ops_graph", f->ops.graph, "ops_eager", f->ops.eager,
        "op_share", share, "regions", (unsigned long long)regions, "region_hits", hits,
        "cache_hits", f->cache_hits, "reverified", f->later, "verify_ns", f->first_ns,
        "reverify_ns", f->later_ns);
    if (stats && jpy_coexecution_stats(f, stats) < 0)
        Py_CLEAR(stats);
    return stats;
}

static PyObject *function_graphs(PyObject *self, PyObject *unused) {
    (void)unused;
    jpy_function *f = (jpy_function *)self;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < f->entries.n; i++) {
        PyObject *text = jpy_module_text(jpy_entry_module(f->entries.data[i]), ".jir");
        if (!text || PyList_Append(list, text) < 0)
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

static PyObject *function_clear_entries(PyObject *self, PyObject *unused) {
    (void)unused;
    jpy_function *f = (jpy_function *)self;
    jpy_function_drop_entries(f);
    PyDict_Clear(f->hints);
    PyDict_Clear(f->dims);
    f->pinned = f->narrowed = false;
    f->loose_dims = 0;
    PyDict_Clear(f->seen);
    f->next_try = f->backoff = f->rest = f->rest_length = 0;
    f->vain = f->met_slow = f->unlooked = 0;
    f->spent_ns = f->lent_ns = 0;
    f->first = f->stale = false;
    f->region_hits = 0;
    Py_CLEAR(f->skeleton);
    Py_CLEAR(f->regions);
    Py_CLEAR(f->callees);
    Py_CLEAR(f->plan);
    Py_RETURN_NONE;
}

/* A program that prints a function prints what it prints undecorated. */
static PyObject *function_repr(PyObject *self) {
    return PyObject_Repr(((jpy_function *)self)->callable);
}

/* _guard_time(f, args, repeat): seconds to run the guards of the newest graph. */
static PyObject *guard_time(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *f, *call_args;
    long repeat;
    if (!PyArg_ParseTuple(args, "O!O!l:_guard_time", jpy.function_type, &f, &PyTuple_Type,
                          &call_args, &repeat))
        return NULL;
    jpy_call call = {((PyTupleObject *)call_args)->ob_item, PyTuple_GET_SIZE(call_args), NULL};
    jpy_function *fn = (jpy_function *)f;
    int64_t ns = fn->entries.n ? jpy_entry_guard_time(fn->entries.data[0], &call, repeat) : -1;
    if (ns < 0)
        return PyErr_Format(PyExc_ValueError, "_guard_time: the guards do not hold");
    return PyFloat_FromDouble((double)ns / 1e9 / (double)(repeat > 0 ? repeat : 1));
}

static PyObject *replays(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return PyLong_FromUnsignedLongLong(jn_ops_run.replays);
}

static PyMethodDef function_methods[] = {
    {"stats", function_stats, METH_NOARGS, "Counts of what happened, as a dict."},
    {"graphs", function_graphs, METH_NOARGS, "The text of every cached graph, most recent first."},
    {"clear", function_clear_entries, METH_NOARGS, "Forgets all graphs."},
    {"__copy__", jpy_function_copy, METH_NOARGS, "Functions are themselves, as in CPython."},
    {"__deepcopy__", jpy_function_deepcopy, METH_O, "A method's is one of the copied object."},
    {"__set_name__", jpy_function_set_name, METH_VARARGS, "__new__ becomes a static method."},
    {"__reduce__", jpy_function_reduce, METH_NOARGS, "For pickle: by its qualified name."},
    {NULL, NULL, 0, NULL}};
static PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(jpy_function, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(jpy_function, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(jpy_function, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};
static PyType_Slot function_slots[] = {{Py_tp_dealloc, function_dealloc},
                                       {Py_tp_traverse, function_traverse},
                                       {Py_tp_clear, function_clear},
                                       {Py_tp_call, PyVectorcall_Call},
                                       {Py_tp_repr, function_repr},
                                       {Py_tp_descr_get, function_get},
                                       {Py_tp_methods, function_methods},
                                       {Py_tp_members, function_members},
                                       {Py_tp_getset, jpy_function_getset},
                                       {Py_tp_getattro, jpy_function_getattr},
                                       {Py_tp_setattro, jpy_function_setattr},
                                       {0, NULL}};
static PyType_Spec function_spec = {"janus.Function", sizeof(jpy_function), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                        Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                                        Py_TPFLAGS_IMMUTABLETYPE, /* methods are found at once */
                                    function_slots};
/* _apart(f, *tensors): a call of f, which a conversion makes an invoke of a SubGraph. */
static PyObject *py_apart(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    (void)module;
    if (n < 1)
        return PyErr_Format(PyExc_TypeError, "_apart: a callable is needed");
    return PyObject_Vectorcall(args[0], args + 1, (size_t)n - 1, NULL);
}

/* _function_like(f, of): janus.function(f) with the names of another callable. */
static PyObject *py_function_like(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *callable, *of;
    const char *env = getenv("JANUS_MEASURE");
    if (!PyArg_ParseTuple(args, "OO:_function_like", &callable, &of))
        return NULL;
    jpy_verify verify;
    verify_of(NULL, &verify);
    PyObject *f = function_of(callable, (function_options){.measure = !env || strcmp(env, "0") != 0,
                                                           .verify = verify,
                                                           .ladder = JPY_LADDER_DEFAULT,
                                                           .regions = by_default()});
    if (f && jpy_function_dress((jpy_function *)f, of) < 0)
        Py_CLEAR(f);
    return f;
}

static PyMethodDef module_methods[] = {
    {"_clock", jpy_py_clock, METH_VARARGS,
     "_clock(eager=0, graph=0, look=0, conversion=0): see call/policy.h"},
    {"_check", jpy_check_call, METH_VARARGS, "_check(f, args, kwargs): (code, result, text)"},
    {"_function_like", py_function_like, METH_VARARGS,
     "_function_like(f, of): janus.function(f) with the names of another callable."},
    {"_apart", (PyCFunction)(void (*)(void))py_apart, METH_FASTCALL,
     "_apart(f, *tensors): f(*tensors), in graphs as a call of a SubGraph."},
    {"_checkpoint", (PyCFunction)(void (*)(void))py_apart, METH_FASTCALL,
     "_checkpoint(f, *tensors): f(*tensors), in graphs as a call that keeps no activations."},
    {"function", (PyCFunction)(void (*)(void))py_function, METH_VARARGS | METH_KEYWORDS,
     "function(f=None, *, numerics=\"fast\", measure=True, checkpoint=False, verify=None, "
     "regions=None, ladder=None): runs f "
     "as a speculative graph; checkpoint: gradients compute activations again instead of keeping "
     "them; verify: how often graphs are compared with CPython, \"always\", \"rarely\" (the first "
     "hits) or \"never\", None: what JANUS_VERIFY says, else \"rarely\"; regions: where f cannot "
     "be a "
     "graph, whether its statements without a barrier are, None: in \"fast\" numerics, or what "
     "JANUS_REGIONS says; ladder: in which ways calls may run, a tuple of "
     "some of \"graph\", \"coexecution\" and \"imperative\" in this order, None: what "
     "JANUS_LADDER says."},
    {"_guard_time", guard_time, METH_VARARGS, "Seconds to run the guards of the newest graph."},
    {"_replays", replays, METH_NOARGS, "Runs of this thread that made the calls of earlier ones."},
    {"_report", jpy_report, METH_O, "What explain makes its text of, as a dict (report.c)."},
    {"_dump_text", jpy_dump_text, METH_VARARGS, "_dump_text(f or text, suffix): graphs as text."},
    {"_page", jpy_page, METH_VARARGS, "_page(f or text, extra): the viewer's page."},
    {NULL, NULL, 0, NULL}};

int jpy_init_function(PyObject *module) {
    const char *off = getenv("JANUS_DISABLE");
    jpy_functions_off = off && *off && strcmp(off, "0") != 0;
    jpy.function_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &function_spec, NULL);
    if (!jpy.function_type)
        return -1;
    return jpy_init_verify(module) < 0 ? -1 : PyModule_AddFunctions(module, module_methods);
}
