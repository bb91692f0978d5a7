/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs outside of the program that made them: what janus.export writes, and what
 * janus.load_graph runs.  janus/_export.py has the files and names.
 *
 * A graph can be taken along if it is a function of its arguments and of a state of its own
 * (export_state.c): it reads no objects but those that it is given, writes to these and to places
 * that have names, and its result is made of results, constants and containers.  What it takes for
 * granted of an object is its type; all else it checks itself.
 * Types are numbers in a graph, addresses here and janus_type_tokens in files.
 */
#include "pyfront/call/call.h"
#include "pyfront/run/run.h"

#include <string.h>

#include "exec/run/run.h"
#include "exec/store/store.h"
#include "graph/ir/ir.h"
#include "graph/text/text.h"
#include "ops/op_ids.h"
#include "pyfront/entry/entry.h"
#include "pyfront/methods/methods.h"
#include "pyfront/module/export.h"
#include "pyfront/stored/stored.h"
#include "pyfront/tensor/tensor.h"

static const char capsule_name[] = "janus._C.graph";

/* ---- export ------------------------------------------------------------------------------------
 */

static const char *why_not(const jpy_entry *e) {
    if (e->n_frames)
        return "its results require grad";
    return NULL;
}

const jpy_src *jpy_export_root(const jpy_src *s) {
    while (s->parent)
        s = s->parent;
    return s;
}

PyObject *jpy_export_way(const jpy_src *s) {
    PyObject *list = PyList_New(0);
    for (; list && s->parent; s = s->parent) {
        PyObject *step = NULL;
        if (s->kind == JPY_SRC_ATTR)
            step = Py_BuildValue("(sO)", "attr", s->key);
        else if (s->kind == JPY_SRC_ITEM)
            step = Py_BuildValue("(sL)", "item", (long long)s->index);
        else if (s->kind == JPY_SRC_KEY && s->key && PyUnicode_CheckExact(s->key))
            step = Py_BuildValue("(sO)", "key", s->key);
        if (!step || PyList_Append(list, step) < 0)
            Py_CLEAR(list);
        Py_XDECREF(step);
    }
    if (list && PyList_Reverse(list) < 0)
        Py_CLEAR(list);
    return list;
}

static int refuse_part(const jpy_src *s) {
    PyObject *path = PyErr_Occurred() ? NULL : jpy_src_path(s, false);
    if (path)
        PyErr_Format(PyExc_ValueError,
                     "janus.export: the graph is for one value of %U, which cannot be checked "
                     "where there is no such program",
                     path);
    Py_XDECREF(path);
    return -1;
}

static int put(PyObject *dict, const char *key, PyObject *value) {
    int rc = value ? PyDict_SetItemString(dict, key, value) : -1;
    Py_XDECREF(value);
    return rc;
}

/* What the guards check of a part of an argument, {kind of check: what is wanted}. */
static int put_checks(const jpy_src *s, PyObject *dict) {
    uint32_t c = s->checks;
    int rc = 0;
    if (c & JPY_CHECK_TYPE)
        rc = put(dict, "type", Py_NewRef((PyObject *)s->type->type));
    const PyTypeObject *number = c & JPY_CHECK_INT     ? &PyLong_Type
                                 : c & JPY_CHECK_FLOAT ? &PyFloat_Type
                                 : c & JPY_CHECK_BOOL  ? &PyBool_Type
                                                       : NULL;
    if (rc == 0 && number)
        rc = put(dict, "type", Py_NewRef((PyObject *)number));
    if (rc == 0 && c & JPY_CHECK_TENSOR)
        rc = put(dict, "type", Py_NewRef(s->want));
    if (rc == 0 && c & JPY_CHECK_CONST)
        rc = put(dict, "value", Py_NewRef(s->want));
    if (rc == 0 && c & JPY_CHECK_LEN)
        rc = put(dict, "length", PyLong_FromLongLong(s->number));
    if (rc == 0 && c & JPY_CHECK_SOME)
        rc = put(dict, "some", PyLong_FromLongLong(s->number));
    if (rc == 0 && c & JPY_CHECK_KEYS)
        rc = put(dict, "keys", PySequence_List(s->want2));
    if (rc == 0 && c & JPY_CHECK_ABSENT)
        rc = put(dict, "absent", Py_NewRef(Py_True));
    return rc;
}

static bool is_distinct(const jpy_guards *g, uint32_t slot) {
    for (size_t i = 0; i < g->identity.n; i++)
        if (g->identity.data[i] == slot)
            return true;
    return false;
}

/* Adds what is checked of a part of an argument: (number of the argument, way, checks, whether it
 * is another object than the other parts are). */
static int add_part(const jpy_entry *e, const jpy_src *s, PyObject *parts) {
    enum {
        KNOWN = JPY_CHECK_TYPE | JPY_CHECK_VERSION | JPY_CHECK_CONST | JPY_CHECK_LEN |
                JPY_CHECK_SOME | JPY_CHECK_KEYS | JPY_CHECK_ABSENT | JPY_CHECK_TENSOR |
                JPY_CHECK_INT | JPY_CHECK_FLOAT | JPY_CHECK_BOOL
    };
    PyObject *way = s->checks & ~(unsigned)KNOWN ? NULL : jpy_export_way(s), *checks = PyDict_New();
    int rc = way && checks ? put_checks(s, checks) : -1;
    PyObject *one = rc == 0
                        ? Py_BuildValue("(LOOO)", (long long)jpy_export_root(s)->index, way, checks,
                                        is_distinct(&e->guards, s->slot) ? Py_True : Py_False)
                        : NULL;
    rc = one ? PyList_Append(parts, one) : refuse_part(s);
    Py_XDECREF(one);
    Py_XDECREF(way);
    Py_XDECREF(checks);
    return rc;
}

/* What the guards know of an argument that is an object: its type, attributes of its class that it
 * has none of its own instead of, and what is in it.  `absent` gets (number of the argument, name)
 * of the second, `parts` the third.  -1: raised. */
static int check_objects(const jpy_entry *e, PyObject *args, PyObject *absent, PyObject *parts) {
    enum { MAY = JPY_CHECK_TYPE | JPY_CHECK_VERSION };
    for (size_t i = 0; i < e->guards.srcs.n; i++) {
        const jpy_src *s = e->guards.srcs.data[i], *root = jpy_export_root(s);
        if (root->kind != JPY_SRC_ARG || root->index < 0 || root->index >= PyTuple_GET_SIZE(args))
            continue;
        PyObject *o = PyTuple_GET_ITEM(args, (Py_ssize_t)root->index);
        if (jpy_tensor_check(o) || jpy_by_value(o) || (s == root && !(s->checks & ~(unsigned)MAY)))
            continue;
        int rc;
        if (s->parent == root && s->kind == JPY_SRC_ATTR && s->checks == JPY_CHECK_ABSENT) {
            PyObject *one = Py_BuildValue("(LO)", (long long)root->index, s->key);
            rc = one ? PyList_Append(absent, one) : -1;
            Py_XDECREF(one);
        } else {
            rc = add_part(e, s, parts);
        }
        if (rc < 0)
            return -1;
    }
    for (size_t i = 0; i < e->inputs.n; i++) {
        const jpy_input *in = &e->inputs.data[i];
        const jpy_src *s = e->guards.srcs.data[in->slot];
        if (in->kind != JANUS_KIND_OBJECT || jpy_export_root(s)->kind == JPY_SRC_ARG ||
            (s->kind == JPY_SRC_CONST && PyUnicode_CheckExact(s->key)))
            continue;
        PyObject *path = jpy_src_path(s, false);
        if (path)
            PyErr_Format(PyExc_ValueError,
                         "janus.export: the graph reads %U, an object that is no argument", path);
        Py_XDECREF(path);
        return -1;
    }
    return 0;
}

/* What the guards find in a call, or NULL: they do not hold. */
static PyObject **bound(jpy_entry *e, PyObject *args) {
    jpy_call call = {((PyTupleObject *)args)->ob_item, PyTuple_GET_SIZE(args), NULL};
    PyObject **slots = jn_alloc((e->guards.srcs.n + 1) * sizeof *slots);
    if (slots && jpy_guards_run(&e->guards, &call, slots) == 0)
        return slots;
    if (slots)
        PyErr_SetString(PyExc_ValueError, "janus.export: no graph takes these arguments");
    else
        PyErr_NoMemory();
    jn_free(slots);
    return NULL;
}

/* [(path, number of the argument or -1, value, way from there to it)] of the parameters. */
static PyObject *inputs_of(const jpy_entry *e, PyObject *const *slots) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; i < e->inputs.n && list; i++) {
        const jpy_src *s = e->guards.srcs.data[e->inputs.data[i].slot], *root = jpy_export_root(s);
        PyObject *path = jpy_src_path(s, false);
        PyObject *way = root->kind == JPY_SRC_ARG ? jpy_export_way(s) : PyList_New(0);
        int at = root->kind == JPY_SRC_ARG ? (int)root->index : -1;
        PyObject *one = path && way
                            ? Py_BuildValue("(OiOO)", path, at, slots[e->inputs.data[i].slot], way)
                            : NULL;
        if (!one && !PyErr_Occurred())
            refuse_part(s);
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
        Py_XDECREF(path);
        Py_XDECREF(way);
    }
    return list;
}

/* _export(f, args): ([(path, number of the argument or -1, object, way to it)], structure of the
 * result, names of attributes by number, [type], [(number of the argument, name of what it has
 * not)], state, jpy_entry.methods, [what is checked of a part of an argument], what it prints). */
static PyObject *export(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *o, *args;
    if (!PyArg_ParseTuple(arguments, "OO!:_export", &o, &PyTuple_Type, &args))
        return NULL;
    jpy_function *f = jpy_function_of(o);
    if (!f || !f->entries.n)
        return PyErr_Format(PyExc_ValueError, "janus.export: no graph was made: %S",
                            f && f->reason ? f->reason : Py_None);
    jpy_entry *e = f->entries.data[0];
    const char *why = why_not(e);
    if (why)
        return PyErr_Format(PyExc_ValueError, "janus.export: the graph cannot be taken along: %s",
                            why);
    PyObject *absent = PyList_New(0), *parts = PyList_New(0);
    if (!absent || !parts || check_objects(e, args, absent, parts) < 0) {
        Py_XDECREF(absent);
        Py_XDECREF(parts);
        return NULL;
    }
    jpy_entry_hold(e);
    PyObject **slots = bound(e, args), *r = NULL;
    PyObject *inputs = slots ? inputs_of(e, slots) : NULL,
             *form = inputs ? jpy_export_form(e, slots, e->result) : NULL,
             *state = form ? jpy_export_state(e, slots) : NULL,
             *prints = state ? jpy_export_prints(e) : NULL;
    if (prints)
        r = Py_BuildValue("(OOOOOOOOO)", inputs, form, e->attr_names, e->type_list, absent, state,
                          e->methods, parts, prints);
    Py_DECREF(absent);
    Py_DECREF(parts);
    Py_XDECREF(inputs);
    Py_XDECREF(form);
    Py_XDECREF(state);
    Py_XDECREF(prints);
    jn_free(slots);
    jpy_entry_free(e);
    return r;
}

/* _named(text, names, tokens): the graph with other names of the parameters of @main, and other
 * numbers for types. */
static PyObject *named(PyObject *module, PyObject *args) {
    (void)module;
    const char *text;
    PyObject *names, *tokens;
    janus_module *m = NULL;
    if (!PyArg_ParseTuple(args, "sO!O!:_named", &text, &PyList_Type, &names, &PyDict_Type,
                          &tokens) ||
        jpy_check(jn_parse_module(text, strlen(text), "graph", &m)) < 0)
        return NULL;
    if (jpy_renumber_types(m, tokens) < 0) {
        jn_module_release(m);
        return NULL;
    }
    jn_subgraph *g = jn_module_find(m, "main", 4);
    for (size_t i = 0; g && i < g->params.n && i < (size_t)PyList_GET_SIZE(names); i++) {
        const char *name = PyUnicode_AsUTF8(PyList_GET_ITEM(names, (Py_ssize_t)i));
        const char *kept = name ? jn_arena_strdup(&m->arena, name) : NULL;
        if (kept)
            g->params.data[i].name = kept;
    }
    PyObject *r = PyErr_Occurred() ? NULL : jpy_module_text(m, ".jir");
    jn_module_release(m);
    return r;
}

/* ---- running what was read ---------------------------------------------------------------------
 */

typedef struct loaded { /* in a capsule */
    janus_module *m;
    const jn_subgraph *main;
    PyObject *prints; /* owns what e.prints says */
    jn_arena arena;
    jpy_entry e; /* all that objects ask of one: names of attributes, prints; no object */
} loaded;

static void drop(loaded *l) {
    if (!l)
        return;
    jn_module_release(l->m);
    Py_XDECREF(l->e.attr_names);
    Py_XDECREF(l->e.methods);
    Py_XDECREF(l->prints);
    jn_vec_free(&l->e.prints);
    jn_arena_free(&l->arena);
    jn_free(l);
}

static void drop_graph(PyObject *capsule) { drop(PyCapsule_GetPointer(capsule, capsule_name)); }

/* (capsule, [name of a parameter of @main], number of its results); takes the graph. */
static PyObject *described(loaded *l) {
    PyObject *capsule = PyCapsule_New(l, capsule_name, drop_graph), *names = PyList_New(0), *all;
    if (!capsule)
        drop(l);
    for (size_t i = 0; capsule && names && i < l->main->params.n; i++) {
        const char *text = l->main->params.data[i].name;
        PyObject *name = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
        if (!name || PyList_Append(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    all = capsule && names ? Py_BuildValue("(OOn)", capsule, names, (Py_ssize_t)l->main->results.n)
                           : NULL;
    Py_XDECREF(names);
    Py_XDECREF(capsule);
    return all;
}

/* _graph_load(text, name, tokens, [name of an attribute], methods as an entry has them, prints as a
 * tuple): a capsule, whose @main can be run, and what this has. */
static PyObject *load(PyObject *module, PyObject *args) {
    (void)module;
    const char *text, *name, *wrong = NULL;
    PyObject *tokens, *names, *methods, *prints;
    Py_ssize_t n;
    if (!PyArg_ParseTuple(args, "s#sO!O!O!O!:_graph_load", &text, &n, &name, &PyDict_Type, &tokens,
                          &PyList_Type, &names, &PyList_Type, &methods, &PyTuple_Type, &prints))
        return NULL;
    loaded *l = jn_calloc(1, sizeof *l);
    if (!l)
        return PyErr_NoMemory();
    jn_arena_init(&l->arena, 0);
    l->e.attr_names = Py_NewRef(names);
    l->e.methods = Py_NewRef(methods);
    l->prints = Py_NewRef(prints);
    bool ok = jpy_check(jn_parse_module(text, (size_t)n, name, &l->m)) == 0 &&
              jpy_renumber_types(l->m, tokens) == 0;
    l->main = ok ? jn_module_find(l->m, "main", 4) : NULL;
    if (ok && !l->main)
        wrong = "there is no @main";
    else if (ok && !jpy_export_take_prints(&l->arena, prints, &l->e))
        wrong = "a print is of no known form";
    else if (ok && jpy_check(janus_module_freeze(l->m)) == 0)
        wrong = jpy_keys_wrong(&l->e, l->m);
    if (wrong)
        PyErr_Format(PyExc_ValueError, "%s: %s", name, wrong);
    if (!PyErr_Occurred())
        return described(l);
    drop(l);
    return NULL;
}

/* The argument for a parameter; -1: raised. */
static int argument(PyObject *o, const jn_param *p, jn_arg *a) {
    janus_kind kind;
    a->kind = (janus_kind)p->type->kind;
    if (a->kind == JANUS_KIND_TENSOR && jpy_tensor_check(o)) {
        a->t = ((jpy_tensor *)o)->t;
        return jpy_check(jn_tensor_fill(a->t));
    }
    if (a->kind == JANUS_KIND_OBJECT) {
        a->o = o;
        return 0;
    }
    if (a->kind != JANUS_KIND_TENSOR && jpy_scalar_of(o, &kind, &a->s) == 1 && kind == a->kind)
        return 0;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s: a %s cannot be given here", p->name,
                     Py_TYPE(o)->tp_name);
    return -1;
}

static PyObject *result_of(jn_arg *a) {
    janus_tensor *t = a->kind == JANUS_KIND_TENSOR ? a->t : NULL;
    a->kind = a->kind == JANUS_KIND_TENSOR ? JANUS_KIND_NONE : a->kind;
    if (t && a->object) {
        janus_tensor_release(t);
        return Py_NewRef((PyObject *)a->object);
    }
    return t                              ? jpy_tensor_take(t)
           : a->kind == JANUS_KIND_OBJECT ? Py_NewRef((PyObject *)a->o)
           : a->kind == JANUS_KIND_INT    ? PyLong_FromLongLong(a->s.i)
           : a->kind == JANUS_KIND_FLOAT  ? PyFloat_FromDouble(a->s.f)
           : a->kind == JANUS_KIND_BOOL   ? PyBool_FromLong(a->s.i != 0)
                                          : Py_NewRef(Py_None);
}

/* The results as a new list, and all that the run prints and writes to objects; NULL: nothing has
 * changed. */
static PyObject *finish(jn_run *r, jpy_entry *e, PyObject *text, jn_arg *results, size_t n) {
    jpy_making m = {.e = e, .results = results};
    jpy_writes w = {0};
    PyObject *out = PyList_New((Py_ssize_t)n);
    bool ok = out != NULL;
    for (size_t i = 0; i < n && ok; i++) {
        ok = results[i].kind != JANUS_KIND_TENSOR || jpy_check(jn_tensor_fill(results[i].t)) == 0;
        PyObject *one = ok ? result_of(&results[i]) : NULL;
        ok = one != NULL;
        if (ok)
            PyList_SET_ITEM(out, (Py_ssize_t)i, one);
    }
    ok = ok && jpy_writes_list(&w, &m, r);
    bool collects = PyGC_Disable() != 0; /* it runs code, which may write to the same objects */
    ok = ok && jpy_writes_ready(&w) && jpy_writes_grow(&w);
    bool wrote;
    ok = ok && !(text && jpy_print_write(text, &wrote) < 0);
    if (ok && jn_run_late(r) != JANUS_OK)
        PyErr_Clear();
    if (ok)
        jpy_writes_finish(&w);
    if (collects)
        PyGC_Enable();
    jpy_writes_free(&w);
    if (!ok)
        Py_CLEAR(out);
    if (!ok && !PyErr_Occurred())
        PyErr_NoMemory();
    return out;
}

/* _graph_run(graph, [argument]): [result] of @main. */
static PyObject *run(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *capsule, *list, *out = NULL;
    if (!PyArg_ParseTuple(arguments, "OO!:_graph_run", &capsule, &PyList_Type, &list))
        return NULL;
    loaded *l = PyCapsule_GetPointer(capsule, capsule_name);
    if (!l)
        return NULL;
    const jn_subgraph *g = l->main;
    size_t n = g->params.n, n_out = g->results.n;
    if ((size_t)PyList_GET_SIZE(list) != n)
        return PyErr_Format(PyExc_TypeError, "the graph takes %zu arguments, got %zd", n,
                            PyList_GET_SIZE(list));
    jn_arg *args = jn_calloc(n + n_out + 1, sizeof *args), *results = args ? args + n : NULL;
    if (!args)
        return PyErr_NoMemory();
    janus_run_options options = JANUS_RUN_OPTIONS_INIT;
    jn_rng_state *rng = jpy_rng_default();
    options.rng_seed = rng->seed;
    options.rng_offset = rng->offset;
    jpy_host host = {.e = &l->e};
    options.host = &jpy_host_ops;
    options.host_ctx = &host;
    jn_run *r = NULL;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = argument(PyList_GET_ITEM(list, (Py_ssize_t)i), &g->params.data[i], &args[i]);
        /* no other thread may write to objects between the reads of the run and its writes */
        host.stay = host.stay || args[i].kind == JANUS_KIND_OBJECT;
    }
    if (rc == 0)
        rc = jpy_check(jn_run_new(g, &options, &r));
    if (rc == 0)
        rc = jpy_check(jn_run_execute(r, args, (unsigned)n));
    if (rc == 0)
        rc = jpy_check(jn_run_prepare(r));
    if (rc == 0)
        rc = jpy_check(jn_run_results(r, results, (unsigned)n_out, NULL));
    if (rc == 0 && (out = finish(r, &l->e, host.text, results, n_out))) {
        janus_run_stats stats = {0};
        jn_run_stats_get(r, &stats);
        rng->offset = stats.rng_offset;
    }
    jpy_entry_drop_results(results, (unsigned)n_out);
    if (r)
        jn_run_free(r);
    jpy_host_free(&host);
    jn_free(args);
    return out;
}

static PyMethodDef functions[] = {
    {"_export", export, METH_VARARGS, "_export(f, args): the inputs of the newest graph."},
    {"_named", named, METH_VARARGS,
     "_named(text, names, tokens): other names of main's parameters, other numbers of types."},
    {"_graph_load", load, METH_VARARGS,
     "_graph_load(text, name, tokens, names of attributes, methods, prints): a graph to be run."},
    {"_graph_run", run, METH_VARARGS, "_graph_run(graph, arguments): its results, a list."},
    {NULL, NULL, 0, NULL}};

int jpy_init_export(PyObject *module) { return PyModule_AddFunctions(module, functions); }
