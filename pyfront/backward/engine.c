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
#include "pyfront/backward/stretch.h"

#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"
#include "ops/op_ids.h"
#include "pyfront/tensor/tensor.h"

int jpy_engine_contribute(jpy_engine *e, uint32_t at, jpy_val *g) {
    jpy_val *slot = &e->slots.data[at];
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
        if (create_graph) {
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
    for (uint32_t k = 0; k < v->n_out; k++) {
        jpy_val g = e->slots.data[v->slot + k];
        for (uint32_t i = jpy_engine_input(e, v->slot + k); i && g.kind != JANUS_KIND_NONE;
             i = e->input_next[i - 1]) {
            janus_tensor_retain(g.t);
            jpy_edge_retain(g.edge);
            e->captured[i - 1] = g;
        }
    }
}

/* The gradient collected so far for an operand, if it may be written; NULL: none, or it may not. */
static janus_tensor *buffer_of(jpy_engine *e, jpy_link to) {
    if (e->create_graph || jn_eager_hook || to.visit == JPY_NO_LINK)
        return NULL;
    const jpy_val *slot = &e->slots.data[to.slot];
    return slot->kind == JANUS_KIND_TENSOR && sole_owner(slot->t) ? slot->t : NULL;
}

/* Adds what can be added to the sums so far at once, and wants it no more. */
static int add_at_once(jpy_engine *e, const jpy_visit *v, const jpy_link *link, bool *want) {
    jpy_node *n = v->node;
    jpy_adds how = n->cls->add_into ? JPY_ADDS_NOTHING : jpy_node_adds(n);
    unsigned i = how == JPY_ADDS_PRODUCT;
    if ((!n->cls->add_into && how == JPY_ADDS_NOTHING) || !want[i] ||
        (i && link[0].visit == link[1].visit)) /* of one sum the order is that of the operands */
        return 0;
    janus_tensor *sum = buffer_of(e, link[i]), *dy = e->slots.data[v->slot].t;
    if (how == JPY_ADDS_ROWS) {
        jpy_visit *to = &e->visits.data[link[i].visit];
        sum = to->rows ? sum : NULL;
        to->rows = to->leaf != NULL;
    }
    int added = !sum                      ? 0
                : how == JPY_ADDS_NOTHING ? n->cls->add_into(n, dy, sum) < 0 ? -1 : 1
                : how == JPY_ADDS_ROWS    ? jpy_node_add_rows(n, dy, sum)
                                          : jpy_node_add_product(n, dy, sum);
    want[i] = added == 0;
    return added < 0 ? -1 : 0;
}

/* Where the cotangents are. */
static jn_device *device_of(const jpy_val *v, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        if (v[i].kind == JANUS_KIND_TENSOR)
            return v[i].t->storage->device;
    return NULL;
}

/* What was added to an operand's gradient so far. */
static jpy_val take_sum(jpy_engine *e, jpy_link to) {
    jpy_val *slot = &e->slots.data[to.slot], sum = *slot;
    *slot = JPY_VAL_NONE;
    return sum;
}

static int run_node(jpy_engine *e, jpy_visit *v) {
    jpy_node *n = v->node;
    const jpy_link *link = &e->links.data[v->link];
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
        want[i] = jpy_link_needed(e, link[i]);
        din[i] = goes_on && want[i] ? take_sum(e, link[i]) : JPY_VAL_NONE;
        wanted = wanted || want[i];
    }
    if (rc == 0 && wanted && n->running == UINT8_MAX) {
        PyErr_SetString(PyExc_RuntimeError, "backward() of one history in more than 255 threads");
        rc = -1;
    }
    if (rc == 0 && wanted) {
        jn_dev_for_new = jn_dev_in_use ? device_of(&e->slots.data[v->slot], n->n_out) : NULL;
        bool whole = !n->freed;
        n->running++;
        rc = add_at_once(e, v, link, want);
        for (unsigned i = wanted = 0; i < n->n_in; i++)
            wanted = wanted || want[i];
        if (rc == 0 && wanted)
            rc = n->cls->backward(n, &e->slots.data[v->slot], want, din, e->create_graph);
        jn_dev_for_new = NULL;
        n->running--;
        for (unsigned i = 0; i < n->n_in; i++) {
            if (din[i].kind == JANUS_KIND_NONE)
                continue;
            if (rc == 0 && want[i])
                rc = jpy_engine_contribute(e, link[i].slot, &din[i]);
            else
                jpy_val_release(&din[i]);
        }
        if (rc < 0 && !e->retain_graph)
            jpy_node_raised(n);
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

/* Whether a gradient arrives of a result other than `but`. */
static bool others_arrive(const jpy_engine *e, const jpy_visit *v, unsigned long but) {
    for (unsigned i = 0; i < v->node->n_out; i++)
        if (i != but && e->slots.data[v->slot + i].kind != JANUS_KIND_NONE)
            return true;
    return false;
}

/* Whether somebody looks at a gradient that is not all there. */
static bool is_looked_at(const jpy_engine *e, const jpy_visit *v) {
    const jpy_node_extra *x = v->node->extra;
    PyObject *const lists[2] = {x ? x->hooks : NULL, x ? x->retained : NULL};
    for (uint32_t k = 0; k < v->n_out; k++)
        if (jpy_engine_input(e, v->slot + k) && others_arrive(e, v, k))
            return true;
    for (int k = 0; k < 2; k++)
        for (Py_ssize_t i = 0; lists[k] && i < PyList_GET_SIZE(lists[k]); i++) {
            PyObject *out = PyTuple_GET_ITEM(PyList_GET_ITEM(lists[k], i), 0);
            if (others_arrive(e, v, PyLong_AsUnsignedLong(out)))
                return true;
        }
    return false;
}

static int visit_node(jpy_engine *e, jpy_visit *v) {
    if ((e->n_inputs || v->node->extra) && jpy_node_mixes(v->node) && is_looked_at(e, v))
        return jpy_node_refuse(v->node);
    int rc = node_hooks(e, v);
    if (rc == 0 && e->n_inputs)
        jpy_engine_capture(e, v);
    if (rc == 0)
        rc = run_node(e, v);
    for (unsigned i = 0; i < v->node->n_out; i++)
        jpy_val_release(&e->slots.data[v->slot + i]);
    return rc;
}

/* Nodes that are a stretch known from before run as one graph; *k is the last of them then.  Of
 * one that is not, the first `rest` visits are not looked at again. */
static int run_stretch(jpy_engine *e, jpy_stretch *s, size_t *k, size_t *rest) {
    int n = jpy_stretch_run(s, *k, rest);
    int rc = n < 0 ? -1 : n > 0;
    for (size_t i = 0; rc > 0 && i < s->after.n; i++)
        if (visit_node(e, &e->visits.data[s->after.data[i]]) < 0)
            rc = -1;
    jpy_stretch_clear(s);
    if (rc > 0)
        *k += (size_t)n - 1;
    return rc;
}

static int run_visit(jpy_engine *e, jpy_visit *v) {
    if (!v->needed)
        return 0;
    if (v->end) {
        jpy_engine_capture(e, v);
        return 0;
    }
    return v->node ? visit_node(e, v) : visit_leaf(e, v);
}

/* The leaves from *k on that are ready once `done` nodes have run. */
static int run_leaves(jpy_engine *e, size_t *k, size_t done) {
    int rc = 0;
    for (; rc == 0 && *k < e->visits.n && (!e->ready || e->ready[*k - e->n_nodes] <= done); ++*k)
        rc = run_visit(e, &e->visits.data[e->order[*k]]);
    return rc;
}

static _Thread_local bool no_grad_around; /* of the statement that asks for the gradients */

int jpy_backward_signals(void) {
    bool now = jpy_no_grad_mode, retains = jpy_backward_retains;
    jpy_no_grad_mode = no_grad_around;
    int rc = PyErr_CheckSignals();
    jpy_no_grad_mode = now;
    jpy_backward_retains = retains;
    return rc;
}

/* `grouped`: the nodes have been run. */
static int run_visits(jpy_engine *e, bool grouped, jpy_stretch *s) {
    size_t rest = 0, leaf = e->n_nodes;
    for (size_t k = 0; k < e->n_nodes && !grouped; k++) {
        if (e->ready && run_leaves(e, &leaf, k) < 0)
            return -1;
        if (s && !rest) {
            int traced = run_stretch(e, s, &k, &rest);
            if (traced < 0 || (traced && jpy_backward_signals() < 0))
                return -1;
            if (traced) {
                rest = 0;
                continue;
            }
        }
        rest -= rest > 0;
        int rc = run_visit(e, &e->visits.data[e->order[k]]);
        if (rc < 0 || ((k & 1023) == 1023 && !e->between && jpy_backward_signals() < 0))
            return -1;
    }
    return run_leaves(e, &leaf, e->n_nodes);
}

static int run(jpy_engine *e, bool grouped) {
    jpy_stretch s = {.e = e};
    int rc = run_visits(e, grouped, e->traces ? &s : NULL);
    jpy_stretch_free(&s);
    return rc;
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

static int seed(jpy_engine *e, jpy_link to, const jpy_val *root, const jpy_val *given) {
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
    return jpy_engine_contribute(e, to.slot, &g);
}

/* Gradients that are added to something begin with it. */
static int begin_sums(jpy_engine *e) {
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < e->n_inputs; i++) {
        jpy_val sum = e->captured[i];
        jpy_link to = e->input_links.data[i];
        if (sum.kind == JANUS_KIND_NONE || to.visit == JPY_NO_LINK)
            continue;
        e->captured[i] = JPY_VAL_NONE;
        rc = jpy_engine_contribute(e, to.slot, &sum);
    }
    return rc;
}

/* Whether somebody may look at a gradient of its results that others of them lead to, unseen, or at
 * what its ops have done by then. */
static bool is_watched(const jpy_engine *e, const jpy_visit *v) {
    return ((v->node->extra || jpy_engine_is_input(e, v)) && jpy_node_mixes(v->node)) ||
           jpy_engine_order_shows(e, v);
}

/*
 * Collects.  Where a graph is created, ops take the place of external nodes first: what it is made
 * of leads to single ops, and the next backward() adds up what comes from them in their order.  So
 * they do where gradients between a node's results are looked at.
 */
static int collect(jpy_engine *e, const jpy_val *roots, unsigned n_roots) {
    const jpy_engine empty = *e;
    const bool look = e->create_graph || jpy_nodes_that_mix || jpy_nodes_apart;
    for (;;) {
        if (!jpy_engine_collect(e, roots, n_roots))
            return jpy_raise(JN_NO_MEMORY());
        int recorded = 0;
        for (size_t i = 0; look && recorded >= 0 && i < e->visits.n; i++) {
            const jpy_visit *v = &e->visits.data[i];
            bool asked = v->node && v->needed && (e->create_graph || is_watched(e, v));
            int rc = asked ? jpy_node_record(v->node) : 0;
            recorded = rc < 0 ? -1 : recorded + rc;
        }
        if (recorded <= 0)
            return recorded;
        jpy_engine_free(e);
        *e = empty;
    }
}

_Thread_local uint64_t jpy_backward_ops;
uint64_t jpy_backward_runs;

_Thread_local bool jpy_backward_retains;

static int run_all(jpy_engine *e, const jpy_val *roots, const jpy_val *seeds, unsigned n_roots) {
    bool retains = jpy_backward_retains, was = jpy_no_grad_mode, around = no_grad_around;
    jpy_backward_retains = e->retain_graph;
    no_grad_around = was;
    jpy_no_grad_mode = !e->create_graph;
    int followed = e->traces && n_roots == 1 && !e->n_inputs
                       ? jpy_history_follow(roots, seeds, e->retain_graph)
                       : 0;
    int rc = followed < 0 ? -1 : followed ? 0 : collect(e, roots, n_roots);
    if (rc == 0 && !followed) {
        rc = begin_sums(e);
        for (unsigned i = 0; rc == 0 && i < n_roots; i++)
            rc = seed(e, e->root_links.data[i], &roots[i], &seeds[i]);
        int grouped = rc == 0 && e->noting ? jpy_groups_run(e) : 0;
        rc = rc < 0 || grouped < 0 ? -1 : run(e, grouped > 0);
    }
    jpy_engine_free(e);
    jpy_backward_retains = retains;
    no_grad_around = around;
    jpy_no_grad_mode = was;
    for (unsigned i = 0; rc < 0 && i < e->n_inputs; i++)
        jpy_val_release(&e->captured[i]);
    return rc;
}

int jpy_backward(const jpy_val *roots, const jpy_val *seeds, unsigned n_roots,
                 const jpy_edge *inputs, unsigned n_inputs, jpy_val *out, bool retain_graph,
                 bool create_graph) {
    jpy_engine e = {.inputs = inputs,
                    .n_inputs = n_inputs,
                    .captured = out,
                    .retain_graph = retain_graph,
                    .create_graph = create_graph,
                    .noting = jpy_groups_possible(create_graph),
                    .traces = jpy_stretches_possible(create_graph)};
    uint64_t ops = jn_ops_run.eager;
    jpy_backward_runs++;
    int rc = run_all(&e, roots, seeds, n_roots);
    jpy_backward_ops += jn_ops_run.eager - ops;
    return rc;
}

int jpy_backward_until(const jpy_val *roots, const jpy_val *seeds, unsigned n_roots,
                       const jpy_edge *inputs, unsigned n_inputs, jpy_val *out, bool retain_graph,
                       bool create_graph) {
    jpy_engine e = {.inputs = inputs,
                    .n_inputs = n_inputs,
                    .captured = out,
                    .retain_graph = retain_graph,
                    .create_graph = create_graph,
                    .between = true};
    return run_all(&e, roots, seeds, n_roots);
}

/* ---- between values -----------------------------------------------------------------------------
 */

_Thread_local bool jpy_backward_quiet;

/* Whether the nodes between compute, and do nothing else. */
static bool is_quiet(const jpy_engine *e) {
    for (uint32_t k = 0; k < e->n_nodes; k++) {
        const jpy_visit *v = &e->visits.data[e->order[k]];
        const jpy_node *n = v->node;
        if (v->needed && !v->end && (n->extra || !(n->cls->plain || jpy_node_parts(n))))
            return false;
    }
    return true;
}

bool jpy_backward_between(const jpy_val *roots, const jpy_val *seeds, unsigned n_roots,
                          const jpy_edge *inputs, unsigned n_inputs, jpy_val *out) {
    jpy_engine e = {.inputs = inputs,
                    .n_inputs = n_inputs,
                    .captured = out,
                    .retain_graph = true,
                    .between = true};
    bool was = jpy_no_grad_mode, quiet = jpy_backward_quiet;
    jn_op_counts run_before = jn_ops_run;
    jpy_no_grad_mode = jpy_backward_quiet = true;
    int rc = jpy_engine_collect(&e, roots, n_roots) && is_quiet(&e) ? 0 : -1;
    for (unsigned i = 0; rc == 0 && i < n_roots; i++)
        rc = seed(&e, e.root_links.data[i], &roots[i], &seeds[i]);
    rc = rc < 0 ? -1 : run(&e, false);
    jpy_engine_free(&e);
    jn_ops_run = run_before;
    jpy_no_grad_mode = was;
    jpy_backward_quiet = quiet;
    for (unsigned i = 0; rc < 0 && i < n_inputs; i++) {
        jpy_val_release(&out[i]);
        out[i] = JPY_VAL_NONE;
    }
    PyErr_Clear();
    return rc == 0;
}
