/* SPDX-License-Identifier: Apache-2.0 */
/*
 * janus.Region: what a skeleton asks before a group of statements.
 *
 * A pair: a graph has run; it says how the group is left (0: at its end), and has what it leaves.
 * None or False: the statements are to run; after False, leave() gets the pair that they make.
 */
#include "pyfront/call/region.h"
#include "pyfront/call/cache.h"
#include "pyfront/call/nested.h"
#include "pyfront/call/region_object.h"

#include <string.h>

#include "graph/ir/ir.h"
#include "pyfront/base/signals.h"
#include "pyfront/base/tracing.h"
#include "pyfront/call/object.h"
#include "pyfront/call/policy.h"
#include "pyfront/convert/convert.h"
#include "pyfront/entry/entry.h"
#include "pyfront/stored/stored.h"
#include "pyfront/tensor/tensor.h"
#include "pyfront/verify/verify.h"

enum {
    FEW_OPS = 2,    /* a graph of fewer does not pay */
    SMALL_ONES = 3, /* such graphs, and no other one: the region does not */
    WAY_RETURN = 1  /* how a group is left: janus/_skeleton.py */
};

static PyTypeObject *region_type;
static PyObject *region_call(PyObject *self, PyObject *const *args, size_t nargsf,
                             PyObject *kwnames);
static PyObject *skeletons; /* the module janus._skeleton */

/* An attribute of the package's own Python (NULL: of its module), called for f, which pays for it
 * as for conversions; args (consumed) may be NULL.  What it calls in turn, of the standard library
 * too, is no part of the program, and runs as it is. */
static PyObject *own(jpy_function *f, PyObject *of, const char *name, PyObject *args) {
    int64_t start = f->measure ? jpy_worked() : 0;
    jpy_undisturbed_begin();
    if (!of && !skeletons)
        skeletons = PyImport_ImportModule("janus._skeleton");
    of = of ? of : skeletons;
    PyObject *fn = args && of ? PyObject_GetAttrString(of, name) : NULL;
    jpy_plain_begin();
    PyObject *r = fn ? PyObject_CallObject(fn, args) : NULL;
    jpy_plain_end();
    jpy_undisturbed_end();
    Py_XDECREF(fn);
    Py_XDECREF(args);
    if (f->measure)
        (f->payer ? f->payer : f)->lent_ns += jpy_worked() - start;
    return r;
}

static PyObject *helper(jpy_function *f, const char *name, PyObject *args) {
    return own(f, NULL, name, args);
}

/* The Python function of a callable, or NULL; borrowed. */
static PyObject *function_of(PyObject *callable) {
    if (PyMethod_Check(callable))
        callable = PyMethod_GET_FUNCTION(callable);
    return PyFunction_Check(callable) ? callable : NULL;
}

/* Whether defaults of keyword-only parameters are those that the skeleton was made with. */
static bool same_defaults(PyObject *theirs, PyObject *ours) {
    Py_ssize_t pos = 0;
    PyObject *k, *v;
    if (!theirs)
        return PyDict_GET_SIZE(ours) == 1;
    bool same = PyDict_GET_SIZE(theirs) + 1 == PyDict_GET_SIZE(ours);
    while (same && PyDict_Next(theirs, &pos, &k, &v))
        same = PyDict_GetItem(ours, k) == v;
    return same;
}

jpy_function *jpy_regions_payer(jpy_function *f) {
    return (jpy_function *)Py_NewRef((PyObject *)(f->payer ? f->payer : f));
}

/* The skeleton, or the callable. */
static PyObject *dressed(const jpy_function *f) {
    const PyFunctionObject *is = (PyFunctionObject *)function_of(f->callable);
    const PyFunctionObject *was = (PyFunctionObject *)function_of(f->skeleton);
    bool current = is->func_code == f->skeleton_of && is->func_defaults == was->func_defaults &&
                   same_defaults(is->func_kwdefaults, was->func_kwdefaults);
    return current ? f->skeleton : f->callable;
}

static void redress(jpy_function *f);

PyObject *jpy_regions_begin(jpy_function *f, PyObject *const *args, size_t nargsf,
                            PyObject *kwnames, jpy_regions_timer *out) {
    if (!f->looked) {
        Py_ssize_t n = PyVectorcall_NARGS(nargsf) + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
        f->looked = true;
        f->near = f->use_regions && jpy_reaches_package(f->callable, args, n);
    }
    if (!f->skeleton && f->near)
        jpy_regions_first(f);
    if (!f->skeleton)
        return f->callable;
    redress(f);
    if (f->first || !f->skeleton)
        return f->skeleton ? dressed(f) : f->callable;
    if (f->undressed) {
        f->undressed -= !f->plain;
        return f->callable;
    }
    PyObject *skeleton = dressed(f);
    const jpy_trial *t = &f->trial;
    if (skeleton == f->callable || !f->measure || f->plain || t->state == JPY_TRIAL_PAYS)
        return skeleton;
    out->trial = true;
    out->skeleton = t->state != JPY_TRIAL_PLAIN;
    out->start = jpy_trial_start(f, t, out->skeleton);
    return out->skeleton ? skeleton : f->callable;
}

void jpy_regions_end(jpy_function *f, const jpy_regions_timer *x) {
    enum { FIRST_UNDRESSED = 1000 };
    if (!jpy_trial_end(f, &f->trial, x->skeleton, x->start))
        return;
    f->undress = f->undressed = f->undress ? 4 * f->undress : FIRST_UNDRESSED;
    jpy_trial_anew(&f->trial);
    jpy_note(f, "its regions of statements rest for %llu calls", (unsigned long long)f->undress);
}

/* ---- making skeletons ---------------------------------------------------------------------------
 */

/* _make(function of a region, its places, nests, partial) for the regions of `owner`. */
static PyObject *make_region(PyObject *owner, PyObject *args) {
    PyObject *function, *within;
    int nests, partial;
    if (!PyArg_ParseTuple(args, "OOpp", &function, &within, &nests, &partial))
        return NULL;
    jpy_function *f = (jpy_function *)owner;
    PyObject *inner = jpy_function_new(function, f->exact, f->checkpoint, f->measure);
    region *r = inner ? PyObject_GC_New(region, region_type) : NULL;
    if (!r) {
        Py_XDECREF(inner);
        return NULL;
    }
    memset((char *)r + sizeof(PyObject), 0, sizeof *r - sizeof(PyObject));
    r->inner = (jpy_function *)inner;
    r->inner->verify = f->verify;
    r->inner->ladder = JPY_RUNG_GRAPH | JPY_RUNG_IMPERATIVE; /* its statements are f's */
    r->inner->of_region = true;
    r->inner->use_regions = r->nests = nests;
    r->partial = partial;
    r->inner->part_of = f;
    r->cold = f->first;
    r->inner->payer = jpy_regions_payer(f);
    r->owner = (jpy_function *)Py_NewRef(owner);
    r->within = Py_NewRef(within);
    r->n_in = ((PyCodeObject *)PyFunction_GET_CODE(function))->co_argcount;
    r->vectorcall = region_call;
    PyObject_GC_Track(r);
    return (PyObject *)r;
}
static PyMethodDef make_def = {"_make", make_region, METH_VARARGS, NULL};

/* Makes the skeleton of f anew. */
static int dress(jpy_function *f, PyObject *function) {
    PyObject *make = PyCFunction_New(&make_def, (PyObject *)f);
    PyObject *callee = make ? jpy_regions_callee(f) : NULL, *skeleton = NULL;
    if (callee)
        skeleton = helper(f, "dress",
                          Py_BuildValue("(OOOOOO)", function, f->plan, f->regions, make, callee,
                                        f->first ? Py_True : Py_False));
    Py_XDECREF(make);
    Py_XDECREF(callee);
    if (skeleton == Py_None) {
        Py_CLEAR(f->skeleton);
        Py_DECREF(skeleton);
        return 0;
    }
    if (skeleton && PyMethod_Check(f->callable)) {
        PyObject *m = PyMethod_New(skeleton, PyMethod_GET_SELF(f->callable));
        Py_SETREF(skeleton, m);
    }
    if (!skeleton)
        return -1;
    Py_XSETREF(f->skeleton, skeleton);
    f->trial.least = f->trial.most = 1; /* ops are counted as CPython's (policy.c) */
    f->stale = false;
    return 0;
}

/* Makes the skeleton anew where the plan has changed. */
static void redress(jpy_function *f) {
    PyObject *function = f->stale ? function_of(f->callable) : NULL;
    f->stale = false;
    if (function && f->plan && f->plan != Py_None &&
        PyFunction_GET_CODE(function) == f->skeleton_of && dress(f, function) < 0)
        jpy_note(f, "a region of statements cannot be split");
    PyErr_Clear();
}

/* f->plan is that of the function's code. */
static int planned(jpy_function *f, PyObject *function) {
    PyObject *code = PyFunction_GET_CODE(function);
    if (f->plan && f->skeleton_of != code) { /* the function was given another code */
        Py_CLEAR(f->plan);
        Py_CLEAR(f->skeleton);
    }
    if (!f->plan) {
        Py_XSETREF(f->skeleton_of, Py_NewRef(code));
        Py_XSETREF(f->regions, PyDict_New());
        PyObject *plan = helper(f, "plan_of", PyTuple_Pack(1, function));
        if (f->plan) /* of another thread, meanwhile */
            Py_XDECREF(plan);
        else
            f->plan = plan;
    }
    return f->plan && f->regions ? 0 : -1;
}

/* A conversion of a part of f (NULL: all of it) was refused at the statement that starts there
 * (line 0: at none); or, line -1, it is not worth it.  later: the skeleton is made when it is
 * called. */
static int refused(jpy_function *f, PyObject *within, long line, long col, bool later) {
    PyObject *function = function_of(f->callable), *changed = NULL;
    if (!function || !f->use_regions)
        return 0;
    if (planned(f, function) < 0)
        return -1;
    if (f->plan == Py_None)
        return 0;
    if (line < 0)
        changed = own(f, f->plan, "leave_out", PyTuple_Pack(1, within));
    else
        changed = own(f, f->plan, "split",
                      line ? Py_BuildValue("((ll)O)", line, col, within ? within : Py_None)
                           : Py_BuildValue("(OO)", Py_None, within ? within : Py_None));
    if (!changed)
        return -1;
    Py_DECREF(changed);
    f->first = false;
    f->stale = later;
    return later ? 0 : dress(f, function);
}

void jpy_regions_first(jpy_function *f) {
    PyObject *function = function_of(f->callable);
    if (!function || !f->use_regions || f->plan || f->conversions || f->entries.n || f->calls > 1)
        return;
    f->first = true; /* its regions are cold */
    bool made = planned(f, function) == 0 && f->plan != Py_None && dress(f, function) == 0;
    if (!f->plan) /* another thread has ended the first call meanwhile */
        Py_CLEAR(f->skeleton);
    f->first = made && f->skeleton;
    PyObject *creates = f->first ? PyObject_GetAttrString(f->plan, "creates") : NULL;
    f->creates = creates == Py_True;
    Py_XDECREF(creates);
    PyErr_Clear();
}

bool jpy_regions_differentiate(const jpy_function *f) {
    return f->differentiated || (f->first && f->creates);
}

void jpy_regions_first_over(jpy_function *f) {
    if (!f->first && !(f->plan && f->entries.n))
        return;
    f->first = f->stale = false;
    Py_CLEAR(f->skeleton);
    Py_CLEAR(f->regions);
    Py_CLEAR(f->plan);
}

void jpy_regions_unhit(jpy_function *f) {
    if (f->skeleton && f->first)
        jpy_regions_first_over(f);
    if (refused(f, NULL, 0, 0, false) < 0)
        jpy_note(f, "no regions of statements: they cannot be made");
    PyErr_Clear();
}

void jpy_regions_refused(jpy_function *f) {
    if (refused(f, NULL, f->refused_line, f->refused_col, false) < 0)
        jpy_note(f, "no regions of statements: they cannot be made");
    PyErr_Clear();
    if (JN_UNLIKELY(jpy_stored_on) && !f->of_region)
        jpy_stored_keep_refusal(f);
}

PyObject *jpy_regions_recall(jpy_function *f) {
    PyObject *function = function_of(f->callable);
    PyObject *kept = function ? jpy_stored_refusal(f) : NULL, *done = NULL;
    if (!kept)
        return NULL;
    PyObject *why = Py_NewRef(PyTuple_GET_ITEM(kept, 0));
    if (f->use_regions && planned(f, function) == 0 && f->plan != Py_None)
        done = own(f, f->plan, "resume", PyTuple_Pack(1, PyTuple_GET_ITEM(kept, 1)));
    if (done)
        (void)dress(f, function); /* else CPython runs f as it is, until a conversion is refused */
    PyErr_Clear();
    Py_XDECREF(done);
    Py_DECREF(kept);
    return why;
}

void jpy_regions_settle(jpy_function *f) {
    PyObject *function = function_of(f->callable);
    if (PyFunction_GET_CODE(function) != f->skeleton_of)
        return;
    PyObject *list = f->callees ? PyDict_Keys(f->callees) : PyList_New(0);
    PyObject *settled = list ? own(f, f->plan, "settle", PyTuple_Pack(1, list)) : NULL;
    if (!settled || dress(f, function) < 0)
        jpy_note(f, "a skeleton cannot be made that asks for less");
    PyErr_Clear();
    Py_XDECREF(list);
    Py_XDECREF(settled);
}

/* ---- a region is reached ------------------------------------------------------------------------
 */

/* Whether an entry computes so little that it does not pay. */
static bool is_small(const jpy_entry *e) {
    unsigned ops = 0;
    const janus_module *m = e->module;
    for (size_t i = 0; i < m->subs.n; i++) {
        const jn_subgraph *g = m->subs.data[i];
        for (size_t k = 1; k < g->nodes.n && ops < FEW_OPS; k++) {
            const char *name = g->nodes.data[k]->op->name;
            ops += strncmp(name, "s.", 2) != 0 && strncmp(name, "host.", 5) != 0 &&
                   strcmp(name, "assert") != 0;
        }
    }
    return ops < FEW_OPS;
}

/* Of whose text the region is, as the program has it. */
static jpy_function *root_of(const region *r) {
    jpy_function *f = r->owner;
    while (f->part_of)
        f = f->part_of;
    return f;
}

/* After a miss that has led to no graph, or to one that is not worth it: the skeletons of all whose
 * text it is a part of are to do without it.  What a loop's body cannot do the loop may: of first
 * skeletons nothing is learnt. */
static void give_up(region *r, bool small, bool unhit) {
    jpy_function *in = r->inner, *root = root_of(r);
    long line = small ? -1 : unhit ? 0 : (long)in->refused_line;
    int bad = 0;
    r->off = true;
    r->nests = r->nests && !small;
    jpy_function_time_no_more(in);
    if (!small)
        jpy_note(root, "boundary of a region: %s",
                 unhit        ? "no graph was hit"
                 : in->reason ? PyUnicode_AsUTF8(in->reason)
                              : "?");
    for (jpy_function *f = r->owner; f && !f->first && !bad; f = f->part_of)
        bad = refused(f, r->within, line, in->refused_col, true);
    if (r->nests && !bad)
        bad = refused(in, NULL, line, in->refused_col, true);
    if (bad)
        jpy_note(root, "a region of statements cannot be split");
    PyErr_Clear();
    if (JN_UNLIKELY(jpy_stored_on) && !root->first)
        jpy_stored_keep_refusal(root);
}

static _Thread_local region *compares; /* whose statements jpy_shadow_open is about, owned */

/* They have ended: as jpy_function_leave. */
static int compared(PyObject *outcome, bool known) {
    region *r = compares;
    jpy_function *in = r->inner;
    compares = NULL;
    uint64_t hits = in->graph, agreed = in->verified, wrong = in->disproved, later = in->later;
    uint64_t first_ns = in->first_ns, later_ns = in->later_ns;
    int rc = jpy_function_leave(in, outcome, known);
    if (r->owner) {
        jpy_function *f = root_of(r);
        f->verified += in->verified - agreed;
        f->disproved += in->disproved - wrong;
        f->later += in->later - later;
        f->region_hits += in->graph - hits;
        f->first_ns += in->first_ns - first_ns;
        f->later_ns += in->later_ns - later_ns;
    }
    r->off |= in->disproved > wrong;
    Py_DECREF((PyObject *)r);
    return rc;
}

PyObject *jpy_regions_ended(PyObject *result) {
    PyObject *pair = result ? Py_BuildValue("(iO)", WAY_RETURN, result) : NULL;
    if (compared(pair, true) < 0)
        Py_CLEAR(result);
    return result;
}

/* Whether it does not matter when what variables hold dies that the statements may bind again. */
static bool variables_are_quiet(const region *r, PyObject *const *args, Py_ssize_t n) {
    enum { MOST = 64 };
    bool quiet = true;
    for (Py_ssize_t i = r->n_in; i < n && quiet; i++)
        quiet = jpy_holds_quietly(args[i], MOST);
    return quiet;
}

/* There is no graph: what the region's function takes, where that may be run and has a skeleton;
 * else None. */
static PyObject *nested(region *r, PyObject *const *args, Py_ssize_t n) {
    jpy_function *in = r->inner;
    if (r->cold && r->nests && !in->plan)
        jpy_regions_first(in);
    redress(in);
    if (!r->nests || !in->skeleton || !root_of(r)->near || jpy_traced())
        Py_RETURN_NONE;
    /* what its variables replace would live on in those of this skeleton until it is left */
    if (!variables_are_quiet(r, args, n))
        Py_RETURN_NONE;
    PyObject *result = jpy_nested_run(in, args, r->n_in);
    r->raised = !result && PyErr_ExceptionMatches(PyExc_UnboundLocalError);
    return result;
}

/* Whether what variables of the skeleton hold, which stand behind what the region takes, may be
 * replaced when all is done: each of them holds it, and so does its argument. */
static bool replaces_quietly(region *r, PyObject *const *args, Py_ssize_t n) {
    return n == r->n_in ||
           (jpy_looks_now(&r->looks, r->inner->measure && r->looks.seen ? jpy_now() : 0) &&
            jpy_all_die_quietly(args + r->n_in, (size_t)(n - r->n_in), JPY_HELD_TWICE, args,
                                (size_t)r->n_in, &r->looks));
}

static PyObject *region_call(PyObject *self, PyObject *const *args, size_t nargsf,
                             PyObject *kwnames) {
    region *r = (region *)self;
    if (JN_UNLIKELY(jpy_shadow_open != NULL)) /* an exception has left its statements */
        (void)compared(NULL, false);
    const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (kwnames || !r->inner || !r->owner || n < r->n_in || !replaces_quietly(r, args, n))
        Py_RETURN_NONE;
    if (r->partial && !variables_are_quiet(r, args, n)) /* the graph may not say which it binds */
        Py_RETURN_NONE;
    Py_INCREF(self);
    jpy_function *in = r->inner;
    jpy_call call = {args, r->n_in, NULL};
    uint64_t conversions = in->conversions;
    in->differentiated = in->differentiated || jpy_regions_differentiate(r->owner);
    r->cold = r->cold && root_of(r)->calls <= 1 &&
              !jpy_warm(&r->warmth, in->measure, r->owner->of_region);
    if (r->off || r->cold) {
        PyObject *outcome = nested(r, args, n);
        Py_DECREF(self);
        return outcome;
    }
    bool watched;
    uint64_t hits = in->graph;
    const jpy_let_go outer = jpy_variables;
    jpy_variables = (jpy_let_go){args + r->n_in, (size_t)(n - r->n_in)};
    PyObject *result = jpy_function_enter(in, &call, &watched);
    jpy_variables = outer;
    if (in->graph > hits)
        root_of(r)->region_hits += in->graph - hits;
    if (JN_UNLIKELY(jpy_shadow_open != NULL))
        compares = (region *)Py_NewRef(self);
    if (!result && !PyErr_Occurred()) {
        bool converted = in->conversions > conversions;
        /* not for one call that was an exception */
        bool nothing = !in->graph || (!in->entries.n && in->backoff > 1);
        if (converted && in->refused && nothing)
            give_up(r, false, false);
        else if (converted && !in->refused && in->entries.n && is_small(in->entries.data[0]) &&
                 ++r->small >= SMALL_ONES && r->small >= in->entries.n)
            give_up(r, true, false);
        else if (converted && in->conversions >= 2 * JPY_UNHIT && !in->graph)
            give_up(r, false, true);
        result = r->off ? nested(r, args, n) : Py_NewRef(watched ? Py_False : Py_None);
    }
    Py_DECREF(self);
    return jpy_or_waiting(result);
}

/* leave(outcome=None): the statements have run to their end; None: names that they leave are
 * unbound. */
static PyObject *region_leave(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    jpy_function *in = ((region *)self)->inner;
    if (!in)
        Py_RETURN_NONE;
    PyObject *outcome = Py_NewRef(n ? args[0] : Py_None);
    if ((PyObject *)compares == self) {
        if (compared(outcome, true) < 0)
            return NULL;
    } else
        (void)jpy_function_leave(in, outcome, true);
    Py_RETURN_NONE;
}

/* raised(): whether the exception that is on its way comes out of the statements, which a skeleton
 * looks at where names that they read are unbound. */
static PyObject *region_raised(PyObject *self, PyObject *unused) {
    (void)unused;
    region *r = (region *)self;
    bool raised = r->raised;
    r->raised = false;
    return PyBool_FromLong(raised);
}

/* ---- the type -----------------------------------------------------------------------------------
 */

static int region_traverse(PyObject *self, visitproc visit, void *arg) {
    region *r = (region *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)r->inner);
    Py_VISIT((PyObject *)r->owner);
    return 0;
}

static int region_clear(PyObject *self) {
    region *r = (region *)self;
    r->off = true;
    if (r->inner)
        r->inner->part_of = NULL;
    Py_CLEAR(r->inner);
    Py_CLEAR(r->owner);
    return 0;
}

static void region_dealloc(PyObject *self) {
    region *r = (region *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    region_clear(self);
    Py_CLEAR(r->within);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* _source_node(code, globals): what conversions read for that code of a file. */
static PyObject *source_node(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *code, *globals;
    if (!PyArg_ParseTuple(args, "O!O!:_source_node", &PyCode_Type, &code, &PyDict_Type, &globals))
        return NULL;
    return jpy_source_node(code, globals);
}

/* _give_source(code, node, name of a class or None): what conversions read for that code. */
static PyObject *give_source(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *code, *node, *in_class;
    if (!PyArg_ParseTuple(args, "O!OO:_give_source", &PyCode_Type, &code, &node, &in_class) ||
        jpy_source_give(code, node, in_class) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *constants_like(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *consts, *code;
    return PyArg_ParseTuple(args, "O!O!:_constants_like", &PyTuple_Type, &consts, &PyCode_Type,
                            &code)
               ? jpy_constants_like(consts, code)
               : NULL;
}

static PyMethodDef module_methods[] = {
    {"_constants_like", constants_like, METH_VARARGS,
     "_constants_like(consts, code): consts, of which what looks like one of the code's is that."},
    {"_compile", jpy_py_compile, METH_VARARGS,
     "_compile(tree, filename, flags): without warnings."},
    {"_source_node", source_node, METH_VARARGS,
     "_source_node(code, globals): (ast node, class) of the code in its file, or None."},
    {"_give_source", give_source, METH_VARARGS,
     "_give_source(code, node, in_class): conversions read that node for the code."},
    {NULL, NULL, 0, NULL}};
static PyMethodDef region_methods[] = {
    {"leave", (PyCFunction)(void (*)(void))region_leave, METH_FASTCALL,
     "leave(outcome=None): CPython has run the statements to their end."},
    {"raised", region_raised, METH_NOARGS,
     "raised(): whether the exception under way comes out of the statements."},
    {NULL, NULL, 0, NULL}};
static PyMemberDef region_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(region, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};
static PyType_Slot region_slots[] = {{Py_tp_dealloc, region_dealloc},
                                     {Py_tp_traverse, region_traverse},
                                     {Py_tp_clear, region_clear},
                                     {Py_tp_call, PyVectorcall_Call},
                                     {Py_tp_methods, region_methods},
                                     {Py_tp_members, region_members},
                                     {0, NULL}};
static PyType_Spec region_spec = {
    "janus.Region", sizeof(region), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, region_slots};

int jpy_init_regions(PyObject *module) {
    region_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &region_spec, NULL);
    return region_type ? PyModule_AddFunctions(module, module_methods) : -1;
}
