/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes, edges and saved values.
 *
 * A node is one pool block: the struct, its class's data, its edges.  Releasing never recurses: a
 * node whose count reaches zero while another one is being torn down is put on a list, which the
 * outermost release empties.  So a chain of a million nodes dies in a loop, however it is reached.
 */
#include "config.h"

#include "pyfront/tape/record.h"

#include <string.h>

#include "exec/store/store.h"
#include "ops/op_ids.h"

/* An external node has as many numbers before its own for the ops that may take its place. */
enum { ROOM = 1 << 22 };
static uint64_t next_seq = 1;
static jpy_node *dying; /* linked through seq */
static bool tearing_down;

static size_t round_up(size_t n) { return (n + 15) & ~(size_t)15; }

jpy_node *jpy_node_make(jn_thread *me, const jpy_node_class *cls, unsigned n_in, unsigned n_out,
                        const jpy_edge *edges, size_t extra_size) {
    size_t at_edges = sizeof(jpy_node) + round_up(extra_size);
    size_t size = at_edges + n_in * sizeof(jpy_edge);
    jpy_node *n = jn_pool_alloc_apart(me, size);
    if (!n) {
        PyErr_NoMemory();
        return NULL;
    }
    *n = (jpy_node){.refs = 1,
                    .n_in = (uint16_t)n_in,
                    .n_out = (uint16_t)n_out,
                    .seq = JN_UNLIKELY(me->place) ? me->place++ : next_seq++,
                    .cls = cls,
                    .edges = (jpy_edge *)(void *)((char *)n + at_edges),
                    .size = (uint32_t)size};
    for (unsigned i = 0; i < n_in; i++) {
        n->edges[i] = edges[i];
        n->leads |= edges[i].node && edges[i].node->leads;
        jpy_edge_retain(edges[i]);
    }
    return n;
}

uint64_t jpy_nodes_made(void) { return next_seq; }

void jpy_node_hold(jpy_node *n, PyObject *o) {
    n->held = o;
    n->leads = true;
    for (uint32_t i = 1; i < n->refs; i++)
        Py_INCREF(o);
}

int jpy_node_visit_edges(jpy_node *n, visitproc visit, void *arg) {
    enum { DEEP = 128 }; /* what is wider than this is not gone into, as if it were shared */
    jpy_node *todo[DEEP];
    unsigned depth = 1;
    for (todo[0] = n; depth;) {
        n = todo[--depth];
        for (unsigned i = 0; i < n->n_in; i++) {
            jpy_node *at = n->edges[i].node;
            if (!at)
                Py_VISIT((PyObject *)n->edges[i].leaf);
            else if (at->held)
                Py_VISIT(at->held);
            else if (at->leads && at->refs == 1 && depth < DEEP)
                todo[depth++] = at;
        }
    }
    return 0;
}

static const jpy_edge *edges_now(jpy_node *n);

int jpy_node_visit_held(jpy_node *n, visitproc visit, void *arg) {
    const jpy_edge *now = edges_now(n);
    for (unsigned i = 0; now && i < n->n_out; i++) {
        int rc = jpy_node_visit(now[i].node, visit, arg);
        if (rc)
            return rc;
    }
    return jpy_node_visit_edges(n, visit, arg);
}

int jpy_node_visit(jpy_node *n, visitproc visit, void *arg) {
    if (!n || !n->leads)
        return 0;
    if (!n->held)
        return n->refs == 1 ? jpy_node_visit_edges(n, visit, arg) : 0;
    Py_VISIT(n->held);
    return 0;
}

static void tear_down(jpy_node *n) {
    if (n->cls->destroy)
        n->cls->destroy(n);
    for (unsigned i = 0; i < n->n_in; i++)
        jpy_edge_release(n->edges[i]);
    if (n->extra)
        jpy_node_extra_free(n->extra);
    PyObject *held = n->held;
    jn_pool_free(n, n->size);
    Py_XDECREF(held);
}

void jpy_node_release_now(jpy_node *n) {
    n->seq = (uint64_t)(uintptr_t)dying;
    dying = n;
    if (tearing_down)
        return;
    tearing_down = true;
    while (dying) {
        jpy_node *next = dying;
        dying = (jpy_node *)(uintptr_t)next->seq;
        tear_down(next);
    }
    tearing_down = false;
}

void jpy_edge_retain(jpy_edge e) {
    if (e.node)
        jpy_node_retain(e.node);
    else if (e.leaf)
        Py_INCREF((PyObject *)e.leaf);
}

void jpy_edge_release(jpy_edge e) {
    if (e.node)
        jpy_node_release(e.node);
    else if (e.leaf)
        Py_DECREF((PyObject *)e.leaf);
}

void jpy_val_release(jpy_val *v) {
    if (v->kind == JANUS_KIND_TENSOR)
        janus_tensor_release(v->t);
    jpy_edge_release(v->edge);
    *v = JPY_VAL_NONE;
}

/* ---- saved values ------------------------------------------------------------------------------
 */

void jpy_saved_set(jpy_saved *s, janus_tensor *t) {
    s->kind = JANUS_KIND_TENSOR;
    s->version = t->storage->version;
    s->unseen = t->storage->unseen;
    s->t = t;
    janus_tensor_retain(t);
}

bool jpy_saved_holds(const jpy_saved *s) {
    return s->kind != JANUS_KIND_TENSOR || s->version == s->t->storage->version;
}

int jpy_saved_check(const jpy_saved *s, const char *what, const jn_type *view) {
    if (jpy_saved_holds(s))
        return 0;
    jn_str text = {0};
    jn_type type = jn_tensor_as_type(s->t);
    jn_type_print(&text, view ? view : &type);
    PyErr_Format(
        PyExc_RuntimeError,
        "one of the variables needed for gradient computation has been modified by an "
        "inplace operation: %s, saved by %s, is at version %u; expected version %u instead",
        text.data ? text.data : "a tensor", what, (unsigned)s->t->storage->version,
        (unsigned)s->version);
    jn_str_free(&text);
    return -1;
}

void jpy_saved_clear(jpy_saved *s) {
    if (s->kind == JANUS_KIND_TENSOR)
        janus_tensor_release(s->t);
    s->kind = JANUS_KIND_NONE;
}

int jpy_raise_freed(void) {
    PyErr_SetString(
        PyExc_RuntimeError,
        "Trying to backward through the graph a second time (or directly access saved tensors "
        "after they have already been freed). Saved intermediate values of the graph are freed "
        "when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
        "backward through the graph a second time or if you need to access saved tensors after "
        "calling backward.");
    return -1;
}

/* ---- hooks and retained gradients ---------------------------------------------------------------
 */

jpy_node_extra *jpy_node_extra_get(jpy_node *n) {
    if (!n->extra) {
        n->extra = PyMem_Calloc(1, sizeof *n->extra);
        if (!n->extra)
            PyErr_NoMemory();
    }
    return n->extra;
}

void jpy_node_extra_free(jpy_node_extra *x) {
    Py_XDECREF(x->hooks);
    Py_XDECREF(x->retained);
    PyMem_Free(x);
}

/* ---- external nodes -----------------------------------------------------------------------------
 */

static int external_backward(jpy_node *n, const jpy_val *dout, const bool *want, jpy_val *din,
                             bool create_graph) {
    jpy_external *x = jpy_node_data(n);
    return x->backward(x->user, dout, want, din, create_graph);
}

static void external_release_saved(jpy_node *n) {
    jpy_external *x = jpy_node_data(n);
    if (x->release_saved && !x->release_saved(x->user)) {
        n->freed = false;
        jpy_nodes_apart += !x->parted;
        x->parted = true;
    } else
        x->release_saved = NULL;
}

static void drop_edges(jpy_edge *edges, unsigned n) {
    for (unsigned i = 0; edges && i < n; i++)
        jpy_edge_release(edges[i]);
    jn_free(edges);
}

void jpy_node_raised(jpy_node *n) {
    const jpy_external *x = n->cls->backward == external_backward ? jpy_node_data(n) : NULL;
    if (x && x->raised)
        x->raised(x->user);
}

uint32_t jpy_nodes_that_mix, jpy_nodes_apart;

static void external_destroy(jpy_node *n) {
    jpy_external *x = jpy_node_data(n);
    jpy_nodes_that_mix -= x->refuse != NULL;
    jpy_nodes_apart -= (n->extra && n->extra->hooks) + x->parted;
    drop_edges(x->now, n->n_out);
    if (x->free_user)
        x->free_user(x->user);
}

static const jpy_node_class external_class = {
    "Graph", external_backward, external_release_saved, external_destroy, NULL, false};

bool jpy_node_parts(const jpy_node *n) { return n->cls == &external_class; }

bool jpy_node_parted(const jpy_node *n) {
    return n->cls == &external_class &&
           ((const jpy_external *)jpy_node_data((jpy_node *)n))->parted;
}

bool jpy_node_leads(jpy_node *n, unsigned out, unsigned in) {
    const jpy_external *x = n->cls == &external_class ? jpy_node_data(n) : NULL;
    return !x || x->leads(x->user, out, in);
}

uint32_t jpy_op_turn(const jn_op *op, uint32_t in) {
    return op->id == JN_OP_ID_linear ? (in + 1) % 3 : in;
}

uint64_t jpy_node_turn(jpy_node *n, unsigned in, const bool *outs) {
    const jpy_external *x = n->cls == &external_class ? jpy_node_data(n) : NULL;
    const jpy_op_data *d = n->cls == &jpy_op_class ? jpy_node_data(n) : NULL;
    if (x && x->turn)
        return x->turn(x->user, in, outs);
    return d ? jpy_op_turn(d->op, in) : in;
}

bool jpy_node_goes_on(jpy_node *n) {
    return n->cls == &external_class && ((jpy_external *)jpy_node_data(n))->goes_on;
}

bool jpy_node_mixes(jpy_node *n) {
    return n->cls == &external_class && ((jpy_external *)jpy_node_data(n))->refuse;
}

int jpy_node_refuse(jpy_node *n) {
    const jpy_external *x = jpy_node_data(n);
    return x->refuse(x->user);
}

jpy_node *jpy_external_new(const jpy_external *ext, unsigned n_in, const jpy_edge *edges,
                           unsigned n_out) {
    next_seq += jn_this.place ? 0 : ROOM;
    jpy_node *n = jpy_node_new(&external_class, n_in, n_out, edges, sizeof *ext);
    if (n) {
        jpy_external *x = jpy_node_data(n);
        *x = *ext;
        x->for_good = jn_this.place != 0; /* there is no room in another's */
        jpy_nodes_that_mix += x->refuse != NULL;
    }
    return n;
}

/* ---- in the place of an external node -----------------------------------------------------------
 */

static const jpy_edge *edges_now(jpy_node *n) {
    return n->cls == &external_class ? ((jpy_external *)jpy_node_data(n))->now : NULL;
}

jpy_edge jpy_edge_moved(jpy_edge e) {
    while (e.node && e.node->moved) {
        jpy_edge to = edges_now(e.node)[e.index];
        if (!jpy_edge_tracked(to))
            break;
        e = to;
    }
    return e;
}

bool jpy_node_in_place_of(const jpy_node *x, const jpy_node *n) {
    return x->seq < n->seq && n->seq - x->seq <= ROOM;
}

/* What was to happen with the results happens where they are. */
static int move_extra(PyObject **list, const jpy_edge *now, size_t offset) {
    PyObject *stay = *list ? PyList_New(0) : NULL;
    int rc = *list && !stay ? -1 : 0;
    for (Py_ssize_t i = 0; rc == 0 && stay && i < PyList_GET_SIZE(*list); i++) {
        PyObject *entry = PyList_GET_ITEM(*list, i);
        jpy_edge to = now[PyLong_AsUnsignedLong(PyTuple_GET_ITEM(entry, 0))];
        if (!to.node) {
            rc = PyList_Append(stay, entry);
            continue;
        }
        jpy_node_extra *x = jpy_node_extra_get(to.node);
        PyObject **there = (PyObject **)(void *)((char *)x + offset);
        PyObject *rest = x ? PyTuple_GetSlice(entry, 1, PyTuple_GET_SIZE(entry)) : NULL;
        PyObject *index = rest ? Py_BuildValue("(k)", (unsigned long)to.index) : NULL;
        PyObject *moved = index ? PySequence_Concat(index, rest) : NULL;
        rc = moved && (*there || (*there = PyList_New(0))) ? PyList_Append(*there, moved) : -1;
        Py_XDECREF(rest);
        Py_XDECREF(index);
        Py_XDECREF(moved);
    }
    if (rc < 0)
        Py_XDECREF(stay);
    else if (stay)
        Py_SETREF(*list, stay);
    return rc;
}

uint64_t jpy_node_place_begin(const jpy_node *n) {
    uint64_t before = jn_this.place;
    jn_this.place = n->seq - ROOM;
    return before;
}

bool jpy_node_place_end(const jpy_node *n, uint64_t began) {
    bool fits = jn_this.place <= n->seq;
    jn_this.place = began;
    return fits;
}

int jpy_node_move(jpy_node *n, jpy_edge *now) {
    jpy_external *x = jpy_node_data(n);
    jpy_node_extra *extra = n->extra;
    x->now = now;
    n->moved = true;
    if (!extra)
        return 0;
    int rc = move_extra(&extra->hooks, now, offsetof(jpy_node_extra, hooks));
    return rc < 0 ? -1 : move_extra(&extra->retained, now, offsetof(jpy_node_extra, retained));
}

int jpy_node_record(jpy_node *n) {
    jpy_external *x = n->cls == &external_class ? jpy_node_data(n) : NULL;
    if (!x || !x->record || x->now || x->for_good)
        return 0;
    int rc = x->record(x->user);
    x->for_good = !n->moved && rc == 0;
    return rc < 0 ? -1 : n->moved;
}

const char *jpy_node_name(const jpy_node *n) {
    if (n->cls == &external_class) {
        const jpy_external *x = jpy_node_data((jpy_node *)n);
        return x->name ? x->name : n->cls->name;
    }
    return n->cls->name ? n->cls->name : jpy_op_node_name(n);
}
