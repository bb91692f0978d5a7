/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepare and apply: what a run leaves in the Python heap.
 *
 * Prepare makes every new object, each once; it may fail and then nothing has changed.  Apply
 * writes them (write.h) in the order of the program.  Printing comes before: it can raise.
 */
#include <string.h>

#include "exec/store/store.h"
#include "pyfront/entry/commit.h"
#include "pyfront/entry/external.h"
#include "pyfront/entry/host.h"
#include "pyfront/entry/print.h"
#include "pyfront/entry/write.h"
#include "pyfront/tensor/tensor.h"

enum { WAY_RETURN = 1, HANDS_OVER = 4 }; /* how a region is left: janus/_skeleton.py */

typedef jpy_making making;

static int raise_freed(jpy_node *n, const jpy_val *dout, const bool *want, jpy_val *din,
                       bool create_graph) {
    (void)n, (void)dout, (void)want, (void)din, (void)create_graph;
    PyErr_SetString(PyExc_RuntimeError,
                    "Trying to backward through the graph a second time (or directly access saved "
                    "tensors after they have already been freed). Saved intermediate values of the "
                    "graph are freed when you call .backward() or autograd.grad(). Specify "
                    "retain_graph=True if you need to backward through the graph a second time or "
                    "if you need to access saved tensors after calling backward.");
    return -1;
}
static const jpy_node_class freed_class = {"Graph", raise_freed, NULL, NULL, NULL, false};

bool jpy_is_freed(const jpy_node *n) { return n && n->cls == &freed_class; }

PyObject *jpy_freed_tensor(janus_tensor *t, const jpy_entry *e, PyObject *const *slots) {
    static PyObject *leaf; /* nodes that lead nowhere are not asked for gradients */
    janus_tensor *one;
    if (!leaf && jn_tensor_empty(JANUS_F32, 0, NULL, &one) == JANUS_OK &&
        (leaf = jpy_tensor_take(one)))
        ((jpy_tensor *)leaf)->requires_grad = true;
    /* ... and where inputs are given those alone that lead to one of them */
    jpy_edge *edges = leaf ? jn_calloc(e->inputs.n + 1, sizeof *edges) : NULL;
    unsigned n = 0;
    bool ok = edges != NULL;
    if (ok)
        edges[n++].leaf = (jpy_tensor *)leaf;
    for (size_t i = 0; i < e->inputs.n && ok && slots && n < UINT16_MAX; i++) {
        PyObject *o =
            e->inputs.data[i].kind == JANUS_KIND_TENSOR ? slots[e->inputs.data[i].slot] : NULL;
        if (o && jpy_tensor_check(o) && jpy_tensor_tracked((jpy_tensor *)o))
            ok = jpy_tensor_edge((jpy_tensor *)o, &edges[n++]) >= 0;
    }
    jpy_node *node = ok ? jpy_node_new(&freed_class, n, 1, edges, 0) : NULL;
    jn_free(edges);
    if (!node) {
        janus_tensor_release(t);
        return NULL;
    }
    PyObject *o = jpy_tensor_take_node(t, node, 0);
    jpy_node_release(node);
    return o;
}

/* A result with the strides that its recipe says. */
static janus_status laid_out(janus_tensor *t, const jpy_recipe *r, janus_tensor **out) {
    int64_t strides[JN_MAX_RANK], step = 1;
    if (!r->by_order)
        return jn_tensor_restride(t, r->strides, out);
    for (int i = t->rank; i-- > 0;) {
        strides[r->strides[i]] = step;
        step *= t->dims[r->strides[i]] ? t->dims[r->strides[i]] : 1;
    }
    return jn_tensor_restride(t, strides, out);
}

static PyObject *make(making *m, const jpy_recipe *r, bool rows);

static PyObject *result_object(making *m, const jpy_recipe *r) {
    jn_arg *a = &m->results[r->slot];
    switch (a->kind) {
    case JANUS_KIND_OBJECT:
        return Py_NewRef((PyObject *)a->o);
    case JANUS_KIND_INT:
        return PyLong_FromLongLong(a->s.i);
    case JANUS_KIND_FLOAT:
        return PyFloat_FromDouble(a->s.f);
    case JANUS_KIND_BOOL:
        return PyBool_FromLong(a->s.i != 0);
    case JANUS_KIND_TENSOR:
        break;
    default:
        PyErr_SetString(PyExc_RuntimeError, "internal: a result of an unknown kind");
        return NULL;
    }
    if (a->object)
        return Py_NewRef((PyObject *)a->object);
    janus_tensor *t = a->t;
    if (!r->strides)
        janus_tensor_retain(t);
    else if (jpy_check(laid_out(a->t, r, &t)) < 0)
        return NULL;
    if (JN_UNLIKELY(m->e->keeps_results))
        jpy_region_kept(m->e, m->nodes, r->slot, t);
    if (r->leaf) {
        PyObject *grad = r->n ? make(m, r->items[0], false) : NULL;
        jpy_tensor *leaf = r->n && !grad ? NULL : (jpy_tensor *)jpy_tensor_take(t);
        if (leaf) {
            leaf->requires_grad = true;
            leaf->grad = grad;
        } else {
            Py_XDECREF(grad);
        }
        return (PyObject *)leaf;
    }
    bool history = !r->if_result || m->results[r->if_result - 1].s.i;
    if (r->grad && history) {
        jpy_place at = m->e->place[r->grad - 1];
        return jpy_tensor_take_node(t, m->nodes[at.stage], at.out);
    }
    PyObject *o = r->freed && history ? jpy_freed_tensor(t, m->e, m->slots) : jpy_tensor_take(t);
    if (o)
        ((jpy_tensor *)o)->no_version = r->uncounted;
    return o;
}

/* Runs the view ops on what the root has become. */
static PyObject *make_view(making *m, const jpy_recipe *r) {
    PyObject *root = make(m, r->items[0], false), *o = NULL;
    if (!root)
        return NULL;
    janus_tensor *t = ((jpy_tensor *)root)->t;
    janus_tensor_retain(t);
    for (unsigned i = 0; i < r->n && t; i++) {
        const jpy_view_step *v = &r->views[i];
        jn_eager_arg in[4] = {{.kind = JANUS_KIND_TENSOR, .t = t}};
        janus_tensor *next = NULL;
        for (unsigned k = 0; k < v->n; k++) {
            in[k + 1].kind = v->kinds[k];
            in[k + 1].s = v->extra[k];
        }
        if (jn_eager(v->op, in, v->n + 1, v->attrs, &next, 1) != JANUS_OK)
            next = NULL;
        janus_tensor_release(t);
        t = next;
    }
    if (t && r->detached)
        o = jpy_tensor_take(t);
    else if (t)
        o = jpy_tensor_take_view(t, NULL, 0, (jpy_tensor *)root);
    if (o)
        ((jpy_tensor *)o)->no_version = r->uncounted;
    Py_DECREF(root);
    return o;
}

static PyObject *make_new(making *m, const jpy_recipe *r) {
    PyObject *o;
    switch (r->kind) {
    case JPY_MAKE_OPTION: /* see make() */
        break;
    case JPY_MAKE_VIEW:
        return make_view(m, r);
    case JPY_MAKE_CONST:
        Py_INCREF(r->obj);
        return r->obj;
    case JPY_MAKE_SOURCE:
        return Py_NewRef(m->slots[r->slot]);
    case JPY_MAKE_RESULT:
        return result_object(m, r);
    case JPY_MAKE_TUPLE:
        o = PyTuple_New((Py_ssize_t)r->n);
        for (unsigned i = 0; o && i < r->n; i++) {
            PyObject *x = make(m, r->items[i], false);
            if (!x)
                Py_CLEAR(o);
            else
                PyTuple_SET_ITEM(o, i, x);
        }
        if (o && r->obj == (PyObject *)jpy.return_type) {
            PyObject *named = PyStructSequence_New(jpy.return_type);
            for (unsigned i = 0; named && i < r->n; i++)
                PyStructSequence_SetItem(named, i, Py_NewRef(PyTuple_GET_ITEM(o, i)));
            Py_SETREF(o, named);
        } else if (o && r->obj) { /* as its __new__ does */
            PyObject *args = PyTuple_Pack(1, o);
            Py_SETREF(o, args ? PyTuple_Type.tp_new((PyTypeObject *)r->obj, args, NULL) : NULL);
            Py_XDECREF(args);
        }
        return o;
    case JPY_MAKE_LIST:
        o = PyList_New((Py_ssize_t)r->n);
        for (unsigned i = 0; o && i < r->n; i++) {
            PyObject *x = make(m, r->items[i], false);
            if (!x)
                Py_CLEAR(o);
            else
                PyList_SET_ITEM(o, i, x);
        }
        return o;
    case JPY_MAKE_DICT:
        o = r->obj ? PyDict_Type.tp_new((PyTypeObject *)r->obj, jpy.empty_tuple, NULL)
                   : PyDict_New();
        for (unsigned i = 0; o && i + 1 < r->n; i += 2) {
            PyObject *k = make(m, r->items[i], false),
                     *v = k ? make(m, r->items[i + 1], false) : NULL;
            if (!v || PyDict_SetItem(o, k, v) < 0)
                Py_CLEAR(o);
            Py_XDECREF(k);
            Py_XDECREF(v);
        }
        return o;
    case JPY_MAKE_OBJECT:
        o = jpy_blank((PyTypeObject *)r->obj);
        for (unsigned i = 0; o && i + 1 < r->n; i += 2) {
            PyObject *v = make(m, r->items[i + 1], false);
            if (!v || PyObject_GenericSetAttr(o, r->items[i]->obj, v) < 0)
                Py_CLEAR(o);
            Py_XDECREF(v);
        }
        return o;
    }
    return NULL;
}

/* Whether the recipe makes an object, and does not just find one. */
static bool is_birth(const making *m, const jpy_recipe *r) {
    if (r->kind == JPY_MAKE_RESULT) {
        const jn_arg *a = &m->results[r->slot];
        return a->kind == JANUS_KIND_TENSOR && !a->object;
    }
    return r->kind != JPY_MAKE_CONST && r->kind != JPY_MAKE_SOURCE && r->kind != JPY_MAKE_OPTION;
}

/* New reference; recipes of one id give one object.  A tensor may stay rows only where it is made
 * for `.grad`: whatever else gets it, a view of it as well, reads its memory. */
static PyObject *make(making *m, const jpy_recipe *r, bool rows) {
    if (r->kind == JPY_MAKE_OPTION)
        return m->results[r->slot].s.i ? make(m, r->items[0], rows)
               : r->n > 1              ? make(m, r->items[1], rows)
                                       : Py_NewRef(Py_None);
    PyObject *o = r->id && m->made[r->id] ? Py_NewRef(m->made[r->id]) : make_new(m, r);
    if (o && !rows && jpy_tensor_check(o) && jpy_check(jn_tensor_fill(((jpy_tensor *)o)->t)) < 0)
        Py_CLEAR(o);
    if (o && r->id && !m->made[r->id])
        m->made[r->id] = Py_NewRef(o);
    if (o && JN_UNLIKELY(m->born != NULL) && is_birth(m, r) && !jn_vec_push(m->born, o))
        Py_CLEAR(o);
    return o;
}

bool jpy_step_done(const jpy_making *m, const jpy_commit_step *s) {
    return !s->when || m->results[s->when - 1].s.i;
}

/* A container that the log writes must not be one whose contents the guards answered for: what the
 * graph knows of it would be out of date. */
static bool log_is_apart(const jpy_entry *e, PyObject *const *slots, const jn_run *run) {
    size_t n;
    const jn_effect *log = jn_run_log(run, &n);
    const PyObject *last = NULL;
    for (size_t i = 0; i < n && e->looked.n; i++) {
        bool attr = log[i].kind == JN_EFFECT_SET_ATTR || log[i].kind == JN_EFFECT_DEL_ATTR;
        if (attr || log[i].kind == JN_EFFECT_STORE || log[i].object == last)
            continue;
        last = log[i].object;
        for (size_t k = 0; k < e->looked.n; k++)
            if (slots[e->looked.data[k]] == last)
                return false;
    }
    return true;
}

/* A region that does not return hands over what its dead variables hold, as its function does where
 * that runs: (how it is left + HANDS_OVER, what it leaves, what they hold).  It is not compared. */
static bool hand_over(making *m) {
    PyObject *way = m->e->held && PyTuple_CheckExact(m->result) && PyTuple_GET_SIZE(m->result) == 2
                        ? PyTuple_GET_ITEM(m->result, 0)
                        : NULL;
    long is = way && PyLong_CheckExact(way) ? PyLong_AsLong(way) : WAY_RETURN;
    if (is == WAY_RETURN)
        return true;
    jpy_objects *born = m->born;
    m->born = NULL;
    PyObject *held = make(m, m->e->held, false);
    m->born = born;
    if (held)
        m->handed = Py_BuildValue("(lON)", is + HANDS_OVER, PyTuple_GET_ITEM(m->result, 1), held);
    return m->handed;
}

bool jpy_making_all(jpy_making *m, const jn_run *run) {
    const jpy_entry *e = m->e;
    size_t n = e->steps.n, n_made = e->n_recipes + 1;
    if (!log_is_apart(e, m->slots, run) ||
        !(m->values = jn_calloc(n + n_made + 1, sizeof *m->values)))
        return false;
    m->made = m->values + n;
    m->result = make(m, e->result, false);
    bool ok = m->result != NULL;
    for (size_t i = 0; i < n && ok; i++) {
        const jpy_commit_step *s = &e->steps.data[i];
        if (!jpy_step_done(m, s))
            continue;
        if (s->kind == JPY_COMMIT_STORE) {
            janus_tensor *v = m->results[s->value->slot].t;
            ok = jn_tensor_rows_fit(((jpy_tensor *)m->slots[s->slot])->t, v) ||
                 jpy_check(jn_tensor_fill(v)) == 0;
            continue;
        }
        m->values[i] = make(m, s->value, s->kind == JPY_COMMIT_GRAD);
        ok = m->values[i] != NULL;
    }
    return ok && hand_over(m);
}

void jpy_making_free(jpy_making *m) {
    Py_CLEAR(m->result);
    Py_CLEAR(m->handed);
    for (size_t i = 0; m->values && i < m->e->steps.n + m->e->n_recipes + 1; i++)
        Py_XDECREF(m->values[i]);
    jn_free(m->values);
    m->values = NULL;
}

/* Printing has raised: true where nothing was written, so that CPython can do it in its place. */
static bool nothing_printed(PyObject *text, bool *raised) {
    bool wrote = false;
    *raised = text && jpy_print_write(text, &wrote) < 0;
    return *raised && !wrote;
}

/* Whether nobody is told when an object dies, or one of the first items of a list or tuple. */
static bool is_quiet(PyObject *o) {
    enum { ITEMS = 16 };
    bool list = PyList_CheckExact(o), tuple = PyTuple_CheckExact(o);
    Py_ssize_t n = list || tuple ? Py_SIZE(o) : 0;
    bool quiet = list || tuple || jpy_is_quiet(o) || !jpy_has_finalizer(o);
    for (Py_ssize_t i = 0; i < n && i < ITEMS && quiet; i++) {
        PyObject *item = list ? PyList_GET_ITEM(o, i) : PyTuple_GET_ITEM(o, i);
        quiet = jpy_is_quiet(item) || !jpy_has_finalizer(item);
    }
    return quiet;
}

/* Whether it does not matter which of the objects that were read variables hold
 * (jpy_entry.unsure). */
static bool reads_are_quiet(const jpy_entry *e, PyObject *const *slots, const jpy_host *host) {
    bool quiet = true;
    for (size_t i = 0; e->unsure && i < host->held.n && quiet; i++)
        quiet = is_quiet(host->held.data[i]);
    for (size_t i = 0; e->unsure && i < e->guards.srcs.n && quiet; i++) {
        jpy_src_kind kind = e->guards.srcs.data[i]->kind;
        bool lasts = kind == JPY_SRC_CONST || kind == JPY_SRC_TYPE || kind == JPY_SRC_FUNC;
        quiet = lasts || !slots[i] || is_quiet(slots[i]);
    }
    return quiet;
}

/* Of a run that has done nothing else (jpy_entry_plain), its results alone. */
static int commit_plain(jpy_making *m, PyObject **out_result) {
    enum { FEW = 32 };
    PyObject *few[FEW];
    size_t n = m->e->n_recipes + 1;
    m->made = n <= FEW ? memset(few, 0, n * sizeof *few) : jn_calloc(n, sizeof *m->made);
    *out_result = m->made ? make(m, m->e->result, false) : NULL;
    for (size_t i = 0; m->made && i < n; i++)
        Py_XDECREF(m->made[i]);
    if (m->made != few)
        jn_free(m->made);
    return *out_result ? 0 : -1;
}

int jpy_commit(jpy_entry *e, PyObject **slots, jn_run *run, const jpy_host *host, jn_arg *results,
               jpy_node **nodes, PyObject **out_result) {
    jpy_making m = {.e = e, .slots = slots, .results = results, .nodes = nodes};
    if (host->plain && !e->unsure)
        return commit_plain(&m, out_result);
    jpy_writes w = {0};
    bool ok = jpy_streams_hold(host->streams) && jpy_making_all(&m, run) &&
              jpy_writes_list(&w, &m, run),
         raised = false;
    bool collects = PyGC_Disable() != 0; /* it runs code, which may write to the same objects */
    bool quiet =
        !ok || (reads_are_quiet(e, slots, host) && jpy_writes_are_quiet(&w, &m, host, NULL));
    bool one_way = !ok || jpy_writes_go_one_way(&w, &m, host);
    ok = ok && quiet && one_way && jpy_writes_ready(&w) && jpy_writes_grow(&w);
    if (ok && nothing_printed(host->text, &raised)) {
        jpy_writes_undo(&w);
        ok = raised = false;
    }
    PyObject *type = NULL, *value = NULL, *tb = NULL;
    if (raised)
        PyErr_Fetch(&type, &value, &tb);
    if (ok && jn_run_late(run) != JANUS_OK)
        PyErr_Clear();
    if (ok)
        jpy_writes_finish(&w);
    if (collects)
        PyGC_Enable();
    *out_result = ok && !raised ? Py_NewRef(m.handed ? m.handed : m.result) : NULL;
    jpy_writes_free(&w);
    jpy_making_free(&m);
    if (raised)
        PyErr_Restore(type, value, tb);
    return ok ? raised : !quiet ? -2 : one_way ? -1 : -3;
}
