/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backward(): walks the tape.
 *
 * First everything reachable from the roots is collected (an explicit stack, a pointer hash) and
 * sorted by sequence number, latest first; leaves come last.  Operands always have smaller numbers
 * than results, so this is a topological order, and the contributions to a value arrive in reverse
 * program order of its uses.  Then each node runs once.  The run owns references to all it
 * collected and gives each up when it is done with it.
 */
#include "config.h"

#include "pyfront/backward/engine.h"

#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "ops/op_ids.h"
#include "pyfront/tensor/device.h"
#include "pyfront/tensor/tensor.h"

static size_t hash(const void *p) {
    uint64_t x = (uint64_t)(uintptr_t)p;
    return (size_t)((x >> 4) * 0x9E3779B97F4A7C15u >> 20);
}

static const void *target_of(jpy_edge e) { return jpy_edge_target(e); }
static const void *visit_key(const jpy_visit *v) {
    return v->node ? (const void *)v->node : (const void *)v->leaf;
}

jpy_visit *jpy_engine_find(jpy_engine *e, const void *target) {
    if (!e->table)
        return NULL;
    for (size_t i = hash(target) & e->mask;; i = (i + 1) & e->mask) {
        if (e->table[i] == 0)
            return NULL;
        jpy_visit *v = &e->visits.data[e->table[i] - 1];
        if (visit_key(v) == target)
            return v;
    }
}

static void enter(jpy_engine *e, uint32_t index) {
    size_t i = hash(visit_key(&e->visits.data[index])) & e->mask;
    while (e->table[i])
        i = (i + 1) & e->mask;
    e->table[i] = index + 1;
}

static bool grow_table(jpy_engine *e) {
    size_t size = e->table ? 2 * (e->mask + 1) : 64;
    uint32_t *table = jn_calloc(size, sizeof *table);
    if (!table)
        return false;
    jn_free(e->table);
    e->table = table;
    e->mask = size - 1;
    for (uint32_t i = 0; i < e->visits.n; i++)
        enter(e, i);
    return true;
}

/* Notes a target; new nodes go on the stack. */
static bool meet(jpy_engine *e, jpy_edge edge) {
    if (!jpy_edge_tracked(edge) || jpy_engine_find(e, target_of(edge)))
        return true;
    unsigned n_slots = edge.node ? edge.node->n_out : 1;
    jpy_visit v = {.node = edge.node,
                   .leaf = edge.node ? NULL : edge.leaf,
                   .rank = edge.node ? edge.node->seq + 1 : 0,
                   .slot = (uint32_t)e->slots.n,
                   .found = (uint32_t)e->visits.n};
    if (e->visits.n >= UINT32_MAX - 1 || e->slots.n >= UINT32_MAX - n_slots)
        return false;
    if (2 * (e->visits.n + 1) > (e->table ? e->mask + 1 : 0) && !grow_table(e))
        return false;
    if (!jn_vec_push(&e->visits, v))
        return false;
    jpy_edge_retain((jpy_edge){v.node, v.leaf, 0});
    enter(e, (uint32_t)e->visits.n - 1);
    for (unsigned i = 0; i < n_slots; i++)
        if (!jn_vec_push(&e->slots, JPY_VAL_NONE))
            return false;
    return !v.node || jn_vec_push(&e->stack, (uint32_t)e->visits.n - 1);
}

static bool collect(jpy_engine *e, const jpy_val *roots, unsigned n_roots) {
    for (unsigned i = 0; i < n_roots; i++)
        if (!meet(e, roots[i].edge))
            return false;
    while (e->stack.n) {
        jpy_node *n = e->visits.data[jn_vec_pop(&e->stack)].node;
        for (unsigned i = 0; i < n->n_in; i++)
            jpy_node_expect(n->edges[i].node);
        for (unsigned i = 0; i < n->n_in; i++)
            if (!meet(e, n->edges[i]))
                return false;
    }
    return true;
}

static void merge(const jpy_engine *e, const uint32_t *from, uint32_t *to, size_t a, size_t b,
                  size_t c) {
    size_t i = a, j = b;
    for (size_t k = a; k < c; k++) {
        bool left =
            j >= c || (i < b && e->visits.data[from[i]].rank >= e->visits.data[from[j]].rank);
        to[k] = from[left ? i++ : j++];
    }
}

/* Stable: leaves stay in the order they were met. */
static bool sort(jpy_engine *e) {
    size_t n = e->visits.n;
    uint32_t *a = jn_alloc((n + 1) * sizeof *a), *b = jn_alloc((n + 1) * sizeof *b);
    if (!a || !b) {
        jn_free(a);
        jn_free(b);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        a[i] = (uint32_t)i;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t mid = i + width < n ? i + width : n, end = i + 2 * width < n ? i + 2 * width : n;
            merge(e, a, b, i, mid, end);
        }
        uint32_t *swap = a;
        a = b;
        b = swap;
    }
    jn_free(b);
    e->order = a;
    return true;
}

/* Whether the value an edge leads to is needed. */
static bool edge_needed(jpy_engine *e, jpy_edge edge) {
    if (!jpy_edge_tracked(edge))
        return false;
    if (!e->needed)
        return true;
    const jpy_visit *v = jpy_engine_find(e, target_of(edge));
    return e->needed[v->slot + (v->node ? edge.index : 0)];
}

static void need(jpy_engine *e, jpy_visit *v, unsigned slot) {
    v->needed = e->needed[v->slot + slot] = true;
    for (unsigned i = 0; v->node && !jpy_node_parts(v->node) && i < v->node->n_out; i++)
        e->needed[v->slot + i] = true; /* a node is run as a whole */
}

/* With inputs given, only what leads to one of them is needed. */
static bool mark_needed(jpy_engine *e) {
    if (!e->n_inputs) {
        for (size_t i = 0; i < e->visits.n; i++)
            e->visits.data[i].needed = true;
        return true;
    }
    if (!(e->needed = jn_calloc(e->slots.n + 1, sizeof *e->needed)))
        return false;
    for (unsigned i = 0; i < e->n_inputs; i++) {
        jpy_visit *v = jpy_engine_find(e, target_of(e->inputs[i]));
        if (v)
            need(e, v, v->node ? e->inputs[i].index : 0);
    }
    for (size_t k = e->visits.n; k-- > 0;) {
        jpy_visit *v = &e->visits.data[e->order[k]];
        jpy_node *n = v->node;
        for (unsigned i = 0; n && i < n->n_in; i++) {
            if (v->needed && !jpy_node_parts(n))
                break;
            if (!edge_needed(e, n->edges[i]))
                continue;
            for (unsigned o = 0; o < n->n_out; o++)
                if (jpy_node_leads(n, o, i))
                    need(e, v, o);
        }
    }
    return true;
}

/* Adds a contribution (consumed) to a target's slot. */
int jpy_engine_contribute(jpy_engine *e, jpy_edge edge, jpy_val *g) {
    jpy_visit *v = jpy_engine_find(e, target_of(edge));
    jpy_val *slot = &e->slots.data[v->slot + (v->node ? edge.index : 0)];
    if (slot->kind == JANUS_KIND_NONE) {
        *slot = *g;
        return 0;
    }
    jpy_val have = *slot;
    *slot = JPY_VAL_NONE;
    return jpy_val_add(&have, g, e->create_graph, slot);
}

/* ---- hooks
 * ----------------------------------------------------------------------------------------
 */

/* Calls hook(grad); a tensor it returns takes the place of *g. */
static int call_hook(PyObject *hook, jpy_val *g) {
    janus_tensor_retain(g->t);
    jpy_edge_retain(g->edge);
    jpy_val copy = *g;
    PyObject *grad = jpy_tensor_take_val(&copy);
    PyObject *result = grad ? PyObject_CallOneArg(hook, grad) : NULL;
    Py_XDECREF(grad);
    if (!result)
        return -1;
    int rc = 0;
    if (result != Py_None) {
        jpy_val v;
        if (!jpy_tensor_check(result)) {
            PyErr_Format(PyExc_TypeError, "hook returned %s, expected a Tensor or None",
                         Py_TYPE(result)->tp_name);
            rc = -1;
        } else if ((rc = jpy_tensor_val((jpy_tensor *)result, &v)) == 0) {
            janus_tensor_retain(v.t);
            jpy_edge_retain(v.edge);
            jpy_val_release(g);
            *g = v;
        }
    }
    Py_DECREF(result);
    return rc;
}

static int node_hooks(jpy_engine *e, jpy_visit *v) {
    jpy_node_extra *x = v->node->extra;
    if (!x)
        return 0;
    PyObject *hooks = x->hooks ? PySequence_Tuple(x->hooks) : NULL;
    if (x->hooks && !hooks)
        return -1;
    int rc = 0;
    for (Py_ssize_t i = 0; hooks && rc == 0 && i < PyTuple_GET_SIZE(hooks); i++) {
        PyObject *h = PyTuple_GET_ITEM(hooks, i);
        jpy_val *slot = &e->slots.data[v->slot + PyLong_AsUnsignedLong(PyTuple_GET_ITEM(h, 0))];
        if (slot->kind != JANUS_KIND_NONE)
            rc = call_hook(PyTuple_GET_ITEM(h, 2), slot);
    }
    Py_XDECREF(hooks);
    for (Py_ssize_t i = 0; x->retained && rc == 0 && i < PyList_GET_SIZE(x->retained); i++) {
        PyObject *pair = PyList_GET_ITEM(x->retained, i);
        jpy_val *slot = &e->slots.data[v->slot + PyLong_AsUnsignedLong(PyTuple_GET_ITEM(pair, 0))];
        PyObject *t = PyObject_CallNoArgs(PyTuple_GET_ITEM(pair, 1));
        if (!t)
            return -1;
        if (t != Py_None && slot->kind != JANUS_KIND_NONE)
            rc = jpy_accumulate_grad((jpy_tensor *)t, slot, e->create_graph);
        Py_DECREF(t);
    }
    return rc;
}

static int leaf_hooks(jpy_tensor *leaf, jpy_val *g) {
    if (!leaf->hooks || PyDict_GET_SIZE(leaf->hooks) == 0)
        return 0;
    PyObject *hooks = PyDict_Values(leaf->hooks);
    if (!hooks)
        return -1;
    int rc = 0;
    for (Py_ssize_t i = 0; rc == 0 && i < PyList_GET_SIZE(hooks); i++)
        rc = call_hook(PyList_GET_ITEM(hooks, i), g);
    Py_DECREF(hooks);
    return rc;
}

/* ---- running ------------------------------------------------------------------------------------
 */

static bool sole_owner(const janus_tensor *t) {
    return t->contiguous && atomic_load_explicit(&t->refs, memory_order_relaxed) == 1 &&
           atomic_load_explicit(&t->storage->refs, memory_order_relaxed) == 1;
}

/* The same elements, row-major, on the same device. */
static janus_status own_copy(janus_tensor *t, janus_tensor **out) {
    if (t->storage->device)
        return jn_tensor_to(t, t->storage->device, true, out);
    JN_TRY(jn_tensor_empty((janus_dtype)t->dtype, t->rank, t->dims, out));
    janus_status st = jn_tensor_copy(*out, t);
    if (st != JANUS_OK)
        janus_tensor_release(*out);
    return st;
}

int jpy_accumulate_grad(jpy_tensor *leaf, const jpy_val *g, bool create_graph) {
    PyObject *before;
    if (jpy_tensor_grad(leaf, &before) < 0)
        return -1;
    jpy_tensor *have = (jpy_tensor *)before;
    if (!have) {
        janus_tensor *t = g->t;
        PyObject *grad;
        if (sole_owner(t) || create_graph) {
            jpy_val copy = *g;
            janus_tensor_retain(copy.t);
            jpy_edge_retain(copy.edge);
            grad = jpy_tensor_take_val(&copy);
        } else {
            janus_tensor *own;
            if (jpy_check(own_copy(t, &own)) < 0)
                return -1;
            grad = jpy_tensor_take(own);
        }
        leaf->grad = grad;
        return grad ? 0 : -1;
    }
    if (!create_graph) {
        jn_eager_arg args[2] = {{.kind = JANUS_KIND_TENSOR, .t = have->t},
                                {.kind = JANUS_KIND_TENSOR, .t = g->t}};
        if (jpy_check(jn_eager_into(JN_OP(add), args, 2, NULL, have->t)) < 0)
            return -1;
        have->t->storage->version++;
        return 0;
    }
    jpy_val a, b = *g, sum;
    if (jpy_tensor_val(have, &a) < 0)
        return -1;
    janus_tensor_retain(a.t);
    jpy_edge_retain(a.edge);
    janus_tensor_retain(b.t);
    jpy_edge_retain(b.edge);
    if (jpy_val_add(&a, &b, true, &sum) < 0)
        return -1;
    PyObject *grad = jpy_tensor_take_val(&sum);
    if (!grad)
        return -1;
    Py_SETREF(leaf->grad, grad);
    return 0;
}

void jpy_engine_capture(jpy_engine *e, const jpy_visit *v) {
    for (unsigned i = 0; i < e->n_inputs; i++) {
        if (target_of(e->inputs[i]) != visit_key(v))
            continue;
        jpy_val g = e->slots.data[v->slot + (v->node ? e->inputs[i].index : 0)];
        if (g.kind == JANUS_KIND_NONE)
            continue;
        janus_tensor_retain(g.t);
        jpy_edge_retain(g.edge);
        e->captured[i] = g;
    }
}

/* The gradient collected so far for an operand, if it may be written; NULL: none, or it may not. */
static janus_tensor *buffer_of(jpy_engine *e, jpy_edge edge) {
    bool kept = e->create_graph || jn_eager_hook;
    jpy_visit *v = kept ? NULL : jpy_engine_find(e, target_of(edge));
    if (!v)
        return NULL;
    const jpy_val *slot = &e->slots.data[v->slot + (v->node ? edge.index : 0)];
    return slot->kind == JANUS_KIND_TENSOR && sole_owner(slot->t) ? slot->t : NULL;
}

/* Where the cotangents are. */
static jn_device *device_of(const jpy_val *v, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        if (v[i].kind == JANUS_KIND_TENSOR)
            return v[i].t->storage->device;
    return NULL;
}

/* What was added to an operand's gradient so far. */
static jpy_val take_sum(jpy_engine *e, jpy_edge edge) {
    jpy_visit *v = jpy_engine_find(e, target_of(edge));
    jpy_val *slot = &e->slots.data[v->slot + (v->node ? edge.index : 0)], sum = *slot;
    *slot = JPY_VAL_NONE;
    return sum;
}

static int run_node(jpy_engine *e, jpy_visit *v) {
    jpy_node *n = v->node;
    bool arrived = false, wanted = false;
    bool few_want[16], *want = few_want;
    jpy_val few_din[16], *din = few_din;
    for (unsigned i = 0; i < n->n_out; i++)
        arrived = arrived || e->slots.data[v->slot + i].kind != JANUS_KIND_NONE;
    if (!arrived)
        return 0;
    if (n->n_in > 16) {
        want = jn_alloc(n->n_in * sizeof *want);
        din = jn_alloc(n->n_in * sizeof *din);
    }
    int rc = want && din ? 0 : jpy_raise(JN_NO_MEMORY());
    bool goes_on = jpy_node_goes_on(n);
    for (unsigned i = 0; rc == 0 && i < n->n_in; i++) {
        want[i] = edge_needed(e, n->edges[i]);
        din[i] = goes_on && want[i] ? take_sum(e, n->edges[i]) : JPY_VAL_NONE;
        wanted = wanted || want[i];
    }
    if (rc == 0 && wanted && n->running == UINT8_MAX) {
        PyErr_SetString(PyExc_RuntimeError, "backward() of one history in more than 255 threads");
        rc = -1;
    }
    if (rc == 0 && wanted) {
        janus_tensor *sum = n->cls->add_into ? buffer_of(e, n->edges[0]) : NULL;
        jn_dev_for_new = jn_dev_in_use ? device_of(&e->slots.data[v->slot], n->n_out) : NULL;
        bool whole = !n->freed;
        n->running++;
        if (sum)
            rc = n->cls->add_into(n, e->slots.data[v->slot].t, sum);
        else
            rc = n->cls->backward(n, &e->slots.data[v->slot], want, din, e->create_graph);
        jn_dev_for_new = NULL;
        n->running--;
        for (unsigned i = 0; i < n->n_in; i++) {
            if (din[i].kind == JANUS_KIND_NONE)
                continue;
            if (rc == 0 && want[i])
                rc = jpy_engine_contribute(e, n->edges[i], &din[i]);
            else
                jpy_val_release(&din[i]);
        }
        n->freed = n->freed || (rc == 0 && !e->retain_graph);
        /* Long ops run without the interpreter lock: another thread may be in the middle of this
         * node, which then lets go of what is saved. */
        if (whole && n->freed && !n->running && n->cls->release_saved)
            n->cls->release_saved(n);
    }
    if (want != few_want)
        jn_free(want);
    if (din != few_din)
        jn_free(din);
    return rc;
}

static int visit_leaf(jpy_engine *e, jpy_visit *v) {
    jpy_val *slot = &e->slots.data[v->slot];
    if (slot->kind == JANUS_KIND_NONE)
        return 0;
    int rc = leaf_hooks(v->leaf, slot);
    if (rc == 0 && e->n_inputs)
        jpy_engine_capture(e, v);
    if (rc == 0 && !e->n_inputs)
        rc = jpy_take_grad(v->leaf, slot, e->create_graph);
    return rc;
}

static int visit_node(jpy_engine *e, jpy_visit *v) {
    int rc = node_hooks(e, v);
    if (rc == 0 && e->n_inputs)
        jpy_engine_capture(e, v);
    if (rc == 0)
        rc = run_node(e, v);
    for (unsigned i = 0; i < v->node->n_out; i++)
        jpy_val_release(&e->slots.data[v->slot + i]);
    return rc;
}

/* `grouped`: the nodes have been run. */
static int run(jpy_engine *e, bool grouped) {
    for (size_t k = 0; k < e->visits.n; k++) {
        jpy_visit *v = &e->visits.data[e->order[k]];
        if (!v->needed || (v->node && grouped))
            continue;
        int rc = v->node ? visit_node(e, v) : visit_leaf(e, v);
        if (rc < 0 || ((k & 1023) == 1023 && PyErr_CheckSignals() < 0))
            return -1;
    }
    return 0;
}

int jpy_take_grad(jpy_tensor *leaf, jpy_val *g, bool create_graph) {
    int rc;
    if (!leaf->grad && !create_graph && sole_owner(g->t)) {
        leaf->grad = jpy_tensor_take_val(g);
        rc = leaf->grad ? 0 : -1;
    } else {
        rc = jpy_accumulate_grad(leaf, g, create_graph);
        jpy_val_release(g);
    }
    return rc;
}

static int seed(jpy_engine *e, const jpy_val *root, const jpy_val *given) {
    jpy_val g;
    if (given->kind == JANUS_KIND_TENSOR) {
        g = *given;
        janus_tensor_retain(g.t);
        jpy_edge_retain(g.edge);
    } else {
        janus_tensor *one;
        janus_scalar s = {.f = 1.0};
        if (jpy_scalar_tensor((janus_dtype)root->t->dtype, JANUS_KIND_FLOAT, s, &one) < 0)
            return -1;
        if (root->t->storage->device) {
            janus_tensor *here = one;
            janus_status st = jn_tensor_to(here, root->t->storage->device, false, &one);
            janus_tensor_release(here);
            if (jpy_check(st) < 0)
                return -1;
        }
        janus_tensor *shaped = one;
        if (root->t->rank) {
            int64_t strides[JN_MAX_RANK] = {0};
            janus_status st =
                jn_tensor_view(one, root->t->rank, root->t->dims, strides, 0, &shaped);
            janus_tensor_release(one);
            if (jpy_check(st) < 0)
                return -1;
        }
        g = jpy_val_tensor(shaped, (jpy_edge){0});
    }
    return jpy_engine_contribute(e, root->edge, &g);
}

/* Gradients that are added to something begin with it. */
static int begin_sums(jpy_engine *e) {
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < e->n_inputs; i++) {
        jpy_val sum = e->captured[i];
        if (sum.kind == JANUS_KIND_NONE || !jpy_engine_find(e, target_of(e->inputs[i])))
            continue;
        e->captured[i] = JPY_VAL_NONE;
        rc = jpy_engine_contribute(e, e->inputs[i], &sum);
    }
    return rc;
}

static void engine_done(jpy_engine *e) {
    for (size_t i = 0; i < e->slots.n; i++)
        jpy_val_release(&e->slots.data[i]);
    enum { AHEAD = 8 };
    for (size_t i = 0; i < e->visits.n; i++) {
        if (i + AHEAD < e->visits.n)
            jpy_node_expect(e->visits.data[i + AHEAD].node);
        jpy_edge_release((jpy_edge){e->visits.data[i].node, e->visits.data[i].leaf, 0});
    }
    jn_vec_free(&e->slots);
    jn_vec_free(&e->visits);
    jn_vec_free(&e->stack);
    jn_free(e->table);
    jn_free(e->order);
    jn_free(e->needed);
}

_Thread_local uint64_t jpy_backward_ops;

int jpy_backward(const jpy_val *roots, const jpy_val *seeds, unsigned n_roots,
                 const jpy_edge *inputs, unsigned n_inputs, jpy_val *out, bool retain_graph,
                 bool create_graph) {
    jpy_engine e = {.inputs = inputs,
                    .n_inputs = n_inputs,
                    .captured = out,
                    .retain_graph = retain_graph,
                    .create_graph = create_graph};
    bool was = jpy_no_grad_mode;
    uint64_t ops = jn_ops_run.eager;
    jpy_no_grad_mode = !create_graph;
    int rc = collect(&e, roots, n_roots) && sort(&e) ? 0 : jpy_raise(JN_NO_MEMORY());
    if (rc == 0 && !mark_needed(&e))
        rc = jpy_raise(JN_NO_MEMORY());
    if (rc == 0) {
        rc = begin_sums(&e);
        for (unsigned i = 0; rc == 0 && i < n_roots; i++)
            rc = seed(&e, &roots[i], &seeds[i]);
        int grouped = rc == 0 && jn_deferring ? jpy_groups_run(&e) : 0;
        rc = rc < 0 || grouped < 0 ? -1 : run(&e, grouped > 0);
    }
    engine_done(&e);
    jpy_backward_ops += jn_ops_run.eager - ops;
    jpy_no_grad_mode = was;
    if (rc < 0)
        for (unsigned i = 0; i < n_inputs; i++)
            jpy_val_release(&out[i]);
    return rc;
}
