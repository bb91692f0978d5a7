/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What janus.explain knows: the facts, as a dict that janus/_explain.py makes text of.
 *
 *     "reason"       why the last conversion was refused, or None; "refused": (file, line) or None
 *     "notes"        what happened, in order, as texts
 *     "conversions"  (number of the call, whether it gave a graph, cause or None, nanoseconds)
 *     "entries"      per graph, most recent first: a dict of
 *         "runs", "state" (of jpy_trial_state), "times" (of the call that was converted, of some
 *         runs as a graph, of as many imperative ones; nanoseconds)
 *         "assumes"  (path, what, how often it was the first that failed, whether it is about code)
 *         "effects"  (what, path)
 *         "lines"    (file, line, role of the op, op, how often)
 *         "inputs"   path of each parameter of main
 *         "visited"  (file, line, 1 where a call in it has led to nodes) of the statements that ran
 *         "left_out" (file, line, why)
 */
#include "pyfront/call/cache.h"
#include "pyfront/call/explain.h"

#include <stdlib.h>
#include <string.h>

#include "pyfront/base/twister.h"
#include "pyfront/call/policy.h"
#include "pyfront/call/region.h"
#include "pyfront/entry/entry.h"

enum { MAX_HISTORY = 200, MAX_SHOWN = 60 };

/* As jpy_src_path, with the name of an argument that was passed by it. */
static PyObject *path_of(const jpy_guards *g, const jpy_src *s, bool general) {
    PyObject *path = jpy_src_path(s, general);
    const jpy_src *root = s;
    while (root->parent)
        root = root->parent;
    Py_ssize_t at = (Py_ssize_t)root->index - g->n_pos;
    if (!path || root->kind != JPY_SRC_ARG || at < 0 || !g->kwnames ||
        at >= PyTuple_GET_SIZE(g->kwnames))
        return path;
    PyObject *head = jpy_src_path(root, general);
    Py_ssize_t n = head ? PyUnicode_GET_LENGTH(head) : 0;
    PyObject *rest = head ? PyUnicode_Substring(path, n, PyUnicode_GET_LENGTH(path)) : NULL;
    Py_SETREF(path, rest ? PyUnicode_Concat(PyTuple_GET_ITEM(g->kwnames, at), rest) : NULL);
    Py_XDECREF(head);
    Py_XDECREF(rest);
    return path;
}

/* ---- while conversions go on -------------------------------------------------------------------
 */

PyObject *jpy_miss(jpy_entry *e, const jpy_call *call) {
    jpy_guards *g = &e->guards;
    PyObject **slots = jn_alloc((g->srcs.n + 1) * sizeof *slots), *what = NULL;
    int failed = slots ? jpy_guards_run(g, call, slots) : 0;
    const jpy_src *s = failed && (size_t)failed <= g->srcs.n ? g->srcs.data[failed - 1] : NULL;
    PyObject *path = s ? path_of(g, s, true) : NULL;
    if (path)
        what = PyUnicode_FromFormat("%s%U",
                                    s->checks & JPY_CHECK_TENSOR
                                        ? "the type, shape, strides or requires_grad of "
                                    : s->checks & JPY_CHECK_CONST ? "the value of "
                                    : s->checks & JPY_CHECK_LEN   ? "the length of "
                                                                  : "",
                                    path);
    Py_XDECREF(path);
    jn_free(slots);
    PyErr_Clear();
    return what;
}

void jpy_report_conversion(jpy_function *f, const jpy_entry *e, PyObject *cause, int64_t ns) {
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    PyObject *one = NULL;
    if (PyList_GET_SIZE(f->history) < MAX_HISTORY)
        one = Py_BuildValue("(KOOL)", f->calls, e ? Py_True : Py_False, cause ? cause : Py_None,
                            (long long)ns);
    if (one)
        PyList_Append(f->history, one);
    Py_XDECREF(one);
    Py_XDECREF(cause);
    PyErr_Restore(type, value, tb);
}

/* ---- guards ------------------------------------------------------------------------------------
 */

/* Appends; takes the reference.  -1: it is NULL, or no memory. */
static int add(PyObject *list, PyObject *o) {
    int bad = o ? PyList_Append(list, o) : -1;
    Py_XDECREF(o);
    return bad;
}

static PyObject *shape_text(const jpy_tensor_want *t) {
    PyObject *text =
        PyUnicode_FromFormat("is a tensor of %s [", jn_dtype_name((janus_dtype)t->dtype));
    for (int i = 0; i < t->rank && text; i++)
        Py_SETREF(text,
                  PyUnicode_FromFormat("%U%s%lld", text, i ? ", " : "", (long long)t->dims[i]));
    if (text)
        Py_SETREF(text, PyUnicode_FromFormat("%U]%s", text,
                                             t->requires_grad ? " that requires grad" : ""));
    return text;
}

/* Only of immutable builtins: no code of the user runs. */
static PyObject *value_text(PyObject *o) {
    bool plain = o && (o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) ||
                       PyFloat_CheckExact(o) || PyUnicode_CheckExact(o));
    PyObject *repr = plain ? PyObject_Repr(o) : NULL;
    PyErr_Clear();
    if (!repr)
        return PyUnicode_FromString("has the same value");
    if (PyUnicode_GET_LENGTH(repr) > MAX_SHOWN) {
        Py_DECREF(repr);
        return PyUnicode_FromString("has the same value");
    }
    Py_SETREF(repr, PyUnicode_FromFormat("is %U", repr));
    return repr;
}

/* Whether it is about what the program consists of, which hardly ever changes: functions, classes,
 * modules, and builtins that no global hides. */
static bool about_code(const jpy_src *s) {
    PyObject *o = jpy_src_ident(s);
    return s->checks & JPY_CHECK_CODE ||
           (s->kind == JPY_SRC_GLOBAL && s->checks & JPY_CHECK_ABSENT) ||
           (o && (PyModule_Check(o) || PyFunction_Check(o) || PyCFunction_Check(o) ||
                  PyType_Check(o) || Py_TYPE(o) == jpy.function_type));
}

static PyObject *assumption(const jpy_src *s) {
    if (s->checks & JPY_CHECK_ABSENT)
        return PyUnicode_FromString("is absent");
    if (s->checks & JPY_CHECK_TENSOR)
        return shape_text(&s->tensor);
    if (s->checks & JPY_CHECK_CONST)
        return value_text(s->want);
    if (s->checks & JPY_CHECK_IDENT && (s->ident == Py_None || PyBool_Check(s->ident)))
        return value_text(s->ident);
    if (s->checks & JPY_CHECK_LEN)
        return PyUnicode_FromFormat("has length %lld", (long long)s->number);
    if (s->checks & JPY_CHECK_TYPE && s->type && !(s->checks & JPY_CHECK_IDENT))
        return PyUnicode_FromFormat("is a %s", s->type->type->tp_name);
    return PyUnicode_FromString(s->checks & JPY_CHECK_IDENT  ? "is the same object"
                                : s->checks & JPY_CHECK_CODE ? "has the same code"
                                : s->checks & JPY_CHECK_SOME
                                    ? s->number > 1 ? "has several items" : "has items"
                                : s->checks & JPY_CHECK_SAME  ? "is an object met before"
                                : s->checks & JPY_CHECK_KEYS  ? "has the same keys"
                                : s->checks & JPY_CHECK_INT   ? "is an int"
                                : s->checks & JPY_CHECK_FLOAT ? "is a float"
                                : s->checks & JPY_CHECK_BOOL  ? "is a bool"
                                                              : "is of the same type");
}

int jpy_guards_report(const jpy_guards *g, PyObject *list) {
    for (size_t i = 0; i < g->srcs.n; i++) {
        const jpy_src *s = g->srcs.data[i];
        if (!s->checks)
            continue;
        PyObject *path = path_of(g, s, false), *what = path ? assumption(s) : NULL;
        PyObject *one = what ? Py_BuildValue("(OOIO)", path, what, s->failures,
                                             about_code(s) ? Py_True : Py_False)
                             : NULL;
        Py_XDECREF(path);
        Py_XDECREF(what);
        if (add(list, one) < 0)
            return -1;
    }
    return 0;
}

static int effects(const jpy_entry *e, PyObject *list) {
    static const char *const names[] = {[JPY_COMMIT_ATTR] = "sets an attribute",
                                        [JPY_COMMIT_GRAD] = "sets a gradient",
                                        [JPY_COMMIT_FLAG] = "sets requires_grad of",
                                        [JPY_COMMIT_STORE] = "writes a tensor",
                                        [JPY_COMMIT_DATA] = "sets the data of",
                                        [JPY_COMMIT_LIST] = "writes a list",
                                        [JPY_COMMIT_DICT] = "writes a dict",
                                        [JPY_COMMIT_WHOLE] = "writes a dict",
                                        [JPY_COMMIT_CLEAR] = "writes a dict",
                                        [JPY_COMMIT_GLOBAL] = "sets a global",
                                        [JPY_COMMIT_DEL] = "deletes"};
    for (size_t i = 0; i < e->steps.n; i++) {
        const jpy_commit_step *s = &e->steps.data[i];
        PyObject *path = path_of(&e->guards, e->guards.srcs.data[s->slot], false);
        PyObject *one = NULL;
        if (path && s->kind == JPY_COMMIT_ATTR && jpy_is_drawn(s->key))
            one = Py_BuildValue("(sO)", "draws numbers of", path);
        else if (s->kind == JPY_COMMIT_GLOBAL)
            one = Py_BuildValue("(sO)", names[s->kind], s->key);
        else if (path && s->key && PyUnicode_Check(s->key))
            one =
                Py_BuildValue("(sN)", names[s->kind], PyUnicode_FromFormat("%U.%U", path, s->key));
        else if (path)
            one = Py_BuildValue("(sO)", names[s->kind], path);
        Py_XDECREF(path);
        if (add(list, one) < 0)
            return -1;
    }
    return 0;
}

/* ---- lines -------------------------------------------------------------------------------------
 */

static const char *role_of(const jn_op *op) {
    switch ((jn_role)op->role) {
    case JN_ROLE_COMPUTE:
        return "compute";
    case JN_ROLE_SCALAR:
    case JN_ROLE_CONST:
        return "scalar";
    case JN_ROLE_INVOKE:
        return "call";
    case JN_ROLE_IF:
        return "branch";
    case JN_ROLE_WHILE:
    case JN_ROLE_FOREACH:
        return "loop";
    case JN_ROLE_SAVED:
    case JN_ROLE_GRAD:
    case JN_ROLE_ACC:
        return "gradient";
    case JN_ROLE_HOST:
        return "host";
    case JN_ROLE_RNG:
        return "random";
    case JN_ROLE_ASSERT:
        return "assert";
    case JN_ROLE_NOTE:
        break;
    }
    return "";
}

typedef struct use {
    jn_loc loc;
    const jn_op *op;
    unsigned n;
} use;

static int by_use(const void *a, const void *b) {
    const use *x = a, *y = b;
    jn_loc a_line = {x->loc.file, x->loc.line, 0}, b_line = {y->loc.file, y->loc.line, 0};
    int place = jpy_by_place(&a_line, &b_line);
    return place ? place : (x->op->id > y->op->id) - (x->op->id < y->op->id);
}

/* Positions are those that nodes carry, so callees appear under their own files. */
static int lines(const janus_module *m, PyObject *list) {
    JN_VEC(use) all = {0};
    bool ok = true;
    for (size_t i = 0; i < m->subs.n; i++) {
        const jn_subgraph *g = m->subs.data[i];
        for (size_t k = 1; k < g->nodes.n && ok; k++) {
            const jn_node *n = g->nodes.data[k];
            bool constant = !n->n_in && !strncmp(n->op->name, "s.", 2);
            if (n->loc.file && n->loc.line && !constant)
                ok = jn_vec_push(&all, ((use){n->loc, n->op, 1}));
        }
    }
    if (!ok)
        PyErr_NoMemory();
    if (all.n)
        qsort(all.data, all.n, sizeof *all.data, by_use);
    int rc = ok ? 0 : -1;
    for (size_t i = 0, n; i < all.n && !rc; i += n) {
        const use *u = &all.data[i];
        for (n = 1; i + n < all.n && !by_use(u, &all.data[i + n]);)
            n++;
        rc = add(list, Py_BuildValue("(sIssn)", u->loc.file, u->loc.line, role_of(u->op),
                                     u->op->name, (Py_ssize_t)n));
    }
    jn_vec_free(&all);
    return rc;
}

/* ---- all of it ---------------------------------------------------------------------------------
 */

static PyObject *entry_report(jpy_entry *e) {
    static const char *const states[] = {"warm", "timed", "compared", "pays", "slow"};
    PyObject *assumes = PyList_New(0), *writes = PyList_New(0), *uses = PyList_New(0);
    PyObject *visited = PyList_New(0), *left = PyList_New(0), *in = PyList_New(0), *o = NULL;
    bool ok = assumes && writes && uses && visited && left && in &&
              jpy_guards_report(&e->guards, assumes) == 0 && effects(e, writes) == 0 &&
              lines(e->module, uses) == 0;
    for (size_t i = 0; i < e->visited.n && ok; i++)
        ok = add(visited, Py_BuildValue("(sIi)", e->visited.data[i].file, e->visited.data[i].line,
                                        (int)e->visited.data[i].col)) == 0;
    for (size_t i = 0; i < e->inputs.n && ok; i++)
        ok = add(in, path_of(&e->guards, e->guards.srcs.data[e->inputs.data[i].slot], false)) == 0;
    for (size_t i = 0; i < e->left_out.n && ok; i++) {
        const jpy_left_out *l = &e->left_out.data[i];
        ok = add(left, Py_BuildValue("(sIs)", l->at.file, l->at.line, l->why)) == 0;
    }
    if (ok)
        o = Py_BuildValue("{sKsss(LLL)sOsOsOsOsOsO}", "runs", e->runs, "state",
                          states[e->trial.state], "times", (long long)e->trial.first_ns,
                          (long long)e->trial.graph.ns, (long long)e->trial.plain.ns, "assumes",
                          assumes, "effects", writes, "lines", uses, "visited", visited, "left_out",
                          left, "inputs", in);
    Py_XDECREF(in);
    Py_XDECREF(assumes);
    Py_XDECREF(writes);
    Py_XDECREF(uses);
    Py_XDECREF(visited);
    Py_XDECREF(left);
    return o;
}

PyObject *jpy_report(PyObject *module, PyObject *o) {
    (void)module;
    jpy_function *f = jpy_function_of(o);
    if (!f)
        return PyErr_Format(PyExc_TypeError, "janus.explain: %s is no janus.function",
                            Py_TYPE(o)->tp_name);
    PyObject *entries = PyList_New(0);
    for (size_t i = 0; entries && i < f->entries.n; i++) {
        jpy_entry *e = f->entries.data[i];
        jpy_entry_hold(e); /* the collector may run, and so may code of the user */
        if (add(entries, entry_report(e)) < 0)
            Py_CLEAR(entries);
        jpy_entry_free(e);
    }
    PyObject *notes = PyList_GetSlice(f->notes, 0, PY_SSIZE_T_MAX);
    if (!entries || !notes || jpy_regions_describe(f, notes) < 0) {
        Py_XDECREF(entries);
        Py_XDECREF(notes);
        return NULL;
    }
    PyObject *refused =
        f->word.file ? Py_BuildValue("(OI)", f->word.file, f->word.line) : Py_NewRef(Py_None);
    return Py_BuildValue("{sOsOsNsNsNsNsNsN}", "function", (PyObject *)f, "reason",
                         f->reason ? f->reason : Py_None, "refused", refused, "notes", notes,
                         "conversions", PyList_GetSlice(f->history, 0, PY_SSIZE_T_MAX), "entries",
                         entries, "regions", jpy_regions_list(f), "callees",
                         jpy_regions_callees(f));
}
