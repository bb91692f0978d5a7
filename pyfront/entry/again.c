/* SPDX-License-Identifier: Apache-2.0 */
/* Ops in the place of a graph's node: see pyfront/entry/again.h. */
#include "pyfront/entry/again.h"
#include "pyfront/backward/backward.h"
#include "pyfront/base/tracing.h"

#include <stdlib.h>
#include <string.h>

#include "ops/op_ids.h"
#include "pyfront/entry/replay.h"
#include "pyfront/methods/methods.h"
#include "pyfront/op/op.h"
#include "pyfront/tape/tape.h"
#include "pyfront/tensor/tensor.h"

typedef jpy_region_held region;

/* What was computed again of a region. */
typedef struct found {
    region *r;
    jpy_val *operands;      /* per parameter of the stage; kind NONE: not known */
    jpy_val *y;             /* per result of the node; kind NONE: not known */
    jpy_edge *now;          /* where they come from */
    janus_tensor **results; /* owned: per result of the run the one without a history; NULL: none */
} found;

/* ... and of its call: the stages follow each other, so it is done of all. */
typedef struct again {
    found of[JPY_MAX_STAGES];
    unsigned n;
    const region *asked; /* of what is differentiated */
    bool called;         /* the function was: all ops are in the place of that one */
} again;

/* ---- the values ---------------------------------------------------------------------------------
 */

/* What an input of the graph was; one that is no value, or was written since, is not known. */
static jpy_val input(const region *r, size_t i) {
    PyObject *o = r->bound[i];
    jpy_val v = {.kind = r->e->inputs.data[i].kind};
    bool known = o != NULL;
    switch (v.kind) {
    case JANUS_KIND_TENSOR:
        known = known && jpy_bound_unwritten(r, i) && !jn_tensor_is_rows(r->memory[i]);
        if (known)
            v.t = r->memory[i];
        break;
    case JANUS_KIND_INT:
        v.s.i = known ? PyLong_AsLongLong(o) : 0;
        break;
    case JANUS_KIND_FLOAT:
        v.s.f = known ? PyFloat_AS_DOUBLE(o) : 0;
        break;
    case JANUS_KIND_BOOL:
        v.s.i = o == Py_True;
        break;
    default:
        known = false;
    }
    return known ? v : (jpy_val){.kind = JPY_NOT_KNOWN};
}

/* What has no history is kept by ops, too, and is the program's: of the stage's results and
 * operands, which out and x->operands are, those that leave. */
static void take_plain(const found *x, const jpy_val *out) {
    const jn_subgraph *main = x->r->e->main;
    const jn_node *call = NULL;
    for (size_t i = 1; i < main->nodes.n && !call; i++)
        if (main->nodes.data[i]->subs[0] == x->r->stage->sub)
            call = main->nodes.data[i];
    for (size_t i = 0; call && i < x->r->e->n_results; i++) {
        jn_value v = main->results.data[i];
        const jpy_val *from = v.node == call->id ? &out[v.index] : NULL;
        for (uint32_t k = 0; k < call->n_in && !from; k++)
            if (v.node && jn_value_equal(call->in[k], v))
                from = &x->operands[k];
        if (from && from->kind == JANUS_KIND_TENSOR)
            janus_tensor_retain(x->results[i] = from->t);
    }
}

/* By the graph, op by op. */
static int replayed(const found *x) {
    const region *r = x->r;
    size_t n = r->e->inputs.n, n_params = r->stage->sub->params.n;
    size_t n_results = r->stage->sub->results.n;
    jpy_val *in = jn_calloc(n + n_results + 1, sizeof *in), *out = in + n;
    jpy_edge *edges = jn_calloc(n_params + 1, sizeof *edges);
    int rc = in && edges ? 0 : jpy_raise(JN_NO_MEMORY());
    for (size_t i = 0; i < n && rc == 0; i++)
        in[i] = input(r, i);
    for (unsigned i = 0; i < r->n_in && rc == 0; i++)
        edges[r->stage->in.data[i].param] = r->edges[i];
    if (rc == 0)
        rc = jpy_replay(r->e, r->stage, in, edges, r->rng, x->operands, out);
    if (rc == 0)
        take_plain(x, out);
    for (unsigned i = 0; i < r->n_out && rc == 0; i++) {
        jpy_val *v = &out[r->stage->place.data[i]];
        if (v->kind != JANUS_KIND_TENSOR)
            continue;
        x->y[i] = *v;
        *v = JPY_VAL_NONE;
    }
    for (size_t i = 0; in && i < n_results; i++)
        jpy_val_release(&out[i]);
    jn_free(in);
    jn_free(edges);
    return rc;
}

/* Whether the function would be given what it was given, as far as the guards see. */
static bool unchanged(const region *r) {
    jpy_call call = {((PyTupleObject *)r->args)->ob_item, r->n_pos, r->kwnames};
    PyObject **slots = jn_calloc(r->e->guards.srcs.n + 1, sizeof *slots);
    bool same = slots && jpy_guards_run(&r->e->guards, &call, slots) == 0;
    for (size_t i = 0; i < r->e->inputs.n && same; i++) {
        PyObject *o = r->bound[i];
        same = !o || o == slots[r->e->inputs.data[i].slot];
        if (o && same && r->e->inputs.data[i].kind == JANUS_KIND_TENSOR)
            same =
                ((jpy_tensor *)o)->t->storage == r->memory[i]->storage && jpy_bound_unwritten(r, i);
    }
    jn_free(slots);
    return same;
}

/* The results inside what the function returned, by the places that the run has of them. */
static void collect(const jpy_recipe *r, PyObject *o, PyObject **out) {
    if (r->kind == JPY_MAKE_RESULT) {
        out[r->slot] = o;
    } else if (r->kind == JPY_MAKE_OPTION) {
        if (r->n > 1 ? jpy_tensor_check(o) : o != Py_None)
            collect(r->items[0], o, out);
    } else if (r->kind == JPY_MAKE_TUPLE && PyTuple_Check(o)) {
        for (unsigned i = 0; i < r->n && (Py_ssize_t)i < PyTuple_GET_SIZE(o); i++)
            collect(r->items[i], PyTuple_GET_ITEM(o, i), out);
    } else if (r->kind == JPY_MAKE_LIST && PyList_Check(o)) {
        for (unsigned i = 0; i < r->n && (Py_ssize_t)i < PyList_GET_SIZE(o); i++)
            collect(r->items[i], PyList_GET_ITEM(o, i), out);
    } else if (r->kind == JPY_MAKE_DICT && PyDict_Check(o)) {
        for (unsigned i = 0; i + 1 < r->n; i += 2)
            if (r->items[i]->kind == JPY_MAKE_CONST) {
                PyObject *v = PyDict_GetItem(o, r->items[i]->obj);
                if (v)
                    collect(r->items[i + 1], v, out);
            }
    } else if (r->kind == JPY_MAKE_OBJECT) {
        for (unsigned i = 0; i + 1 < r->n; i += 2) {
            PyObject *v = jpy_plain_attr(o, r->items[i]->obj);
            if (v)
                collect(r->items[i + 1], v, out);
            Py_XDECREF(v); /* its object keeps it */
        }
    }
}

/* `t` is a result of the run. */
static int take(const again *a, uint32_t slot, jpy_tensor *t) {
    const jpy_entry *e = a->asked->e;
    uint32_t tracked = slot < e->grad_of.n ? e->grad_of.data[slot] : 0;
    for (unsigned k = 0; k < a->n; k++) {
        const found *x = &a->of[k];
        if (!tracked)
            janus_tensor_retain(x->results[slot] = t->t);
        if (!tracked || x->r->stage != &e->stages[e->place[tracked - 1].stage])
            continue;
        unsigned i = e->place[tracked - 1].out;
        if (jpy_tensor_val(t, &x->y[i]) < 0) {
            x->y[i] = JPY_VAL_NONE;
            return -1;
        }
        janus_tensor_retain(x->y[i].t);
        jpy_edge_retain(x->y[i].edge);
    }
    return 0;
}

static void forget(const found *x) {
    for (unsigned i = 0; i < x->r->n_out; i++)
        jpy_val_release(&x->y[i]);
    for (unsigned i = 0; x->results && i < x->r->e->n_results; i++) {
        if (x->results[i])
            janus_tensor_release(x->results[i]);
        x->results[i] = NULL;
    }
    for (size_t i = 0; i < x->r->stage->sub->params.n; i++)
        jpy_val_release(&x->operands[i]);
    for (unsigned i = 0; x->now && i < x->r->n_out; i++) {
        jpy_edge_release(x->now[i]);
        x->now[i] = (jpy_edge){0};
    }
}

/* By the function.  What it calls is no graph: its nodes would find no room here. */
static int called(again *a) {
    const region *r = a->asked;
    for (unsigned k = 0; k < a->n; k++)
        forget(&a->of[k]);
    jn_rng_state now = *jpy_rng_default();
    bool mode = jpy_no_grad_mode;
    uint32_t autocast = jpy_autocast_word;
    *jpy_rng_default() = r->rng;
    jpy_no_grad_mode = false;
    jpy_plain_begin();
    jpy_autocast_word = r->e->guards.autocast;
    PyObject *o = PyObject_Vectorcall(r->callable, ((PyTupleObject *)r->args)->ob_item,
                                      (size_t)r->n_pos, r->kwnames);
    *jpy_rng_default() = now;
    jpy_no_grad_mode = mode;
    jpy_plain_end();
    jpy_autocast_word = autocast;
    PyObject **got = jn_calloc(r->e->n_results + 1, sizeof *got);
    int rc = o && got ? 0 : -1;
    if (rc == 0)
        collect(r->e->result, o, got);
    for (unsigned i = 0; i < r->e->n_results && rc == 0; i++)
        if (got[i] && jpy_tensor_check(got[i]))
            rc = take(a, i, (jpy_tensor *)got[i]);
    Py_XDECREF(o);
    jn_free(got);
    return rc;
}

static bool known(const found *x) {
    bool all = true;
    for (unsigned i = 0; i < x->r->n_out; i++)
        all = all && x->y[i].kind == JANUS_KIND_TENSOR;
    return all;
}

/* Whether a part of what it keeps was written without a version to say so: its ops have that part,
 * and what is computed again has one that is as it was. */
static bool part_written(const region *r) {
    bool any = false;
    for (size_t i = 0; i < r->stage->kept.n && !any; i++) {
        const jpy_kept *k = &r->stage->kept.data[i];
        const jpy_saved *s = &r->saved[i];
        any =
            (k->is_result || k->stored) && k->copied && s->kind == JANUS_KIND_TENSOR &&
            !jpy_arm_not_taken(r->not_taken, k->arm) &&
            (s->unseen != s->t->storage->unseen || jn_storage_written(s->t->storage, r->marks[i]));
    }
    return any;
}

/* Whether the function may be called in place of the graph: nothing is different by it, and all of
 * the call's nodes go. */
static bool may_call(const region *r) {
    bool may = !r->e->has_effects && unchanged(r);
    for (unsigned k = 0; k < r->e->n_stages && may; k++)
        may = !r->call->of[k] || !r->call->of[k]->node->moved;
    return may;
}

/* ---- the nodes ----------------------------------------------------------------------------------
 */

typedef struct op_node {
    jpy_node *node;
    jpy_set outs, ins; /* results of the region computed from it, inputs that it is computed from */
} op_node;
typedef JN_VEC(op_node) op_nodes;

/* The number of a node that was met; NOT_MET: it was not. */
#define NOT_MET UINT32_MAX
static uint32_t number(const op_nodes *l, const jpy_node *n) {
    return n->visit < l->n && l->data[n->visit].node == n ? n->visit : NOT_MET;
}

static int later_first(const void *a, const void *b) {
    uint64_t x = ((const op_node *)a)->node->seq, y = ((const op_node *)b)->node->seq;
    return x < y ? 1 : x > y ? -1 : 0;
}

static bool same_edge(jpy_edge a, jpy_edge b) {
    a = jpy_edge_now(a);
    b = jpy_edge_now(b);
    return jpy_edge_tracked(a) && a.node == b.node && a.leaf == b.leaf && a.index == b.index;
}

static jpy_set inputs_at(const region *r, jpy_edge e) {
    jpy_set at = 0;
    for (unsigned k = 0; k < r->n_in; k++)
        at |= same_edge(e, r->edges[k]) ? JPY_SET_OF(k) : 0;
    return at;
}

static bool meet(op_nodes *l, const found *x, const region *room, jpy_edge e) {
    if (!e.node || !jpy_node_in_place_of(e.node, room->node) || number(l, e.node) != NOT_MET ||
        inputs_at(x->r, e)) /* of an earlier stage */
        return true;
    e.node->visit = (uint32_t)l->n;
    return jn_vec_push(l, ((op_node){.node = e.node}));
}

/* The nodes that took the region's place, latest first. */
static bool find_nodes(op_nodes *l, const found *x, const region *room) {
    for (unsigned k = 0; k < x->r->n_out; k++)
        if (!meet(l, x, room, x->now[k]))
            return false;
    for (size_t at = 0; at < l->n; at++) {
        const jpy_node *n = l->data[at].node;
        for (unsigned i = 0; i < n->n_in; i++)
            if (!meet(l, x, room, n->edges[i]))
                return false;
    }
    if (l->n)
        qsort(l->data, l->n, sizeof *l->data, later_first);
    for (size_t at = 0; at < l->n; at++)
        l->data[at].node->visit = (uint32_t)at;
    return true;
}

/* What backward() has used up of the region before is used up of its ops: they are the groups of
 * history.h. */
static void free_used(op_nodes *l, const found *f) {
    const region *r = f->r;
    const jpy_edge *now = f->now;
    const jpy_groups *groups = &r->stage->groups;
    for (unsigned k = 0; k < r->n_out; k++)
        if (now[k].node && number(l, now[k].node) != NOT_MET)
            l->data[now[k].node->visit].outs |= JPY_SET_OF(k);
    for (size_t at = 0; at < l->n; at++)
        for (unsigned i = 0; i < l->data[at].node->n_in; i++) {
            jpy_node *from = l->data[at].node->edges[i].node;
            uint32_t to = from ? number(l, from) : NOT_MET;
            if (to != NOT_MET)
                l->data[to].outs |= l->data[at].outs;
        }
    for (size_t at = l->n; at-- > 0;) {
        op_node *x = &l->data[at];
        for (unsigned i = 0; i < x->node->n_in; i++) {
            jpy_edge e = x->node->edges[i];
            uint32_t from = e.node ? number(l, e.node) : NOT_MET;
            if (from != NOT_MET)
                x->ins |= l->data[from].ins;
            else
                x->ins |= inputs_at(r, e);
        }
        for (size_t g = 0; g < groups->n; g++)
            if (r->freed[groups->data[g].same] && groups->data[g].ins == x->ins &&
                jpy_groups_outs(groups, g, r->not_taken) == x->outs) {
                x->node->freed = true;
                if (x->node->cls->release_saved)
                    x->node->cls->release_saved(x->node);
            }
    }
}

/* The tensor that was computed again as result `slot` of the run; NULL: it is not here. */
static janus_tensor *computed(const again *a, const found *x, uint32_t slot) {
    const jpy_entry *e = x->r->e;
    const jpy_val *v = NULL;
    if (slot >= e->grad_of.n || !e->grad_of.data[slot])
        return slot < e->n_results ? x->results[slot] : NULL;
    jpy_place at = e->place[e->grad_of.data[slot] - 1];
    for (unsigned k = 0; k < a->n; k++)
        if (a->of[k].r->stage == &e->stages[at.stage] && (a->called || &a->of[k] == x))
            v = &a->of[k].y[at.out];
    for (size_t i = 0; i < x->r->stage->in.n && !v; i++) {
        const jpy_tracked *in = &x->r->stage->in.data[i];
        if (in->stage == at.stage && in->slot == at.out)
            v = &x->operands[in->param];
    }
    return v && v->kind == JANUS_KIND_TENSOR ? v->t : NULL;
}

/* Where an op has saved t, or a view of it, it has the program's tensor, or that view of it. */
static int save_result(jpy_saved *io, const janus_tensor *t, const jpy_saved *program) {
    const janus_tensor *was = io->t;
    janus_tensor *now = program->t;
    if (was->storage != t->storage || (was != t && !(t->contiguous && now->contiguous)))
        return 0;
    if (was != t && jpy_check(jn_tensor_view(now, was->rank, was->dims, was->strides,
                                             jn_tensor_distance(t, was), &now)) < 0)
        return -1;
    bool owned = now != program->t;
    jpy_saved_clear(io);
    jpy_saved_set(io, now);
    io->version = program->version;
    if (owned)
        janus_tensor_release(now);
    return 0;
}

/* What the program has of the results is what its ops have saved: a write to it is an error. */
static int save_results(const op_nodes *l, const again *a, const found *x) {
    const region *r = x->r;
    for (size_t k = 0; k < r->stage->kept.n; k++) {
        const jpy_kept *kept = &r->stage->kept.data[k];
        janus_tensor *t = kept->is_result ? computed(a, x, kept->slot) : NULL;
        if (!t || r->saved[k].kind != JANUS_KIND_TENSOR)
            continue;
        for (size_t at = 0; at < l->n; at++) {
            jpy_node *n = l->data[at].node;
            jpy_op_data *d = n->cls == &jpy_op_class && n->has_saved ? jpy_node_data(n) : NULL;
            for (unsigned i = 0; d && i < (unsigned)n->n_in + n->n_out; i++)
                if (d->saved[i].kind == JANUS_KIND_TENSOR &&
                    save_result(&d->saved[i], t, &r->saved[k]) < 0)
                    return -1;
        }
    }
    return 0;
}

/* Whether another result comes from where result i does. */
static bool is_shared(const found *x, unsigned i) {
    bool shared = false;
    for (unsigned k = 0; k < x->r->n_out && !shared; k++)
        shared = k != i && x->y[k].kind == JANUS_KIND_TENSOR &&
                 x->y[k].edge.node == x->y[i].edge.node && x->y[k].edge.index == x->y[i].edge.index;
    return shared;
}

/* Where the results come from: an op of their own, even where they are what the region was given,
 * or two are one in the graph: who looks at the gradient of one does not see the other's. */
static int places(const found *x, const region *room) {
    for (unsigned i = 0; i < x->r->n_out; i++) {
        jpy_val *v = &x->y[i];
        if (v->kind != JANUS_KIND_TENSOR || !jpy_edge_tracked(v->edge))
            continue;
        if (v->edge.node && jpy_node_in_place_of(v->edge.node, room->node) && !is_shared(x, i)) {
            jpy_edge_retain(x->now[i] = v->edge);
            continue;
        }
        janus_tensor *t;
        if (jpy_apply(JN_OP(alias), v, 1, NULL, &t, 1, &x->now[i].node) < 0)
            return -1;
        janus_tensor_release(t);
    }
    return 0;
}

/* 1, 0: there are too many ops, -1: raised. */
static int compute(again *a) {
    bool all = true, fits = true;
    int rc = 0;
    for (unsigned k = 0; k < a->n && rc == 0; k++) {
        const found *x = &a->of[k];
        if (!x->r->args) /* used up: it is known by a call alone */
            continue;
        if (part_written(x->r))
            return 0;
        uint64_t began = jpy_node_place_begin(x->r->node);
        rc = replayed(x);
        rc = rc < 0 ? rc : places(x, x->r);
        fits = jpy_node_place_end(x->r->node, began) && fits;
        all = all && known(x);
    }
    if (rc == 0 && !all && may_call(a->asked)) {
        a->called = true;
        uint64_t began = jpy_node_place_begin(a->asked->node);
        rc = called(a);
        for (unsigned k = 0; k < a->n && rc == 0; k++)
            rc = places(&a->of[k], a->asked);
        fits = jpy_node_place_end(a->asked->node, began);
    }
    return rc < 0 ? -1 : fits;
}

/* Puts the ops in the node's place. */
static int move(const again *a, found *x) {
    region *r = x->r;
    op_nodes nodes = {0};
    bool all = true, any = false;
    if (r->node->moved) /* by another thread, meanwhile */
        return 0;
    if (!find_nodes(&nodes, x, a->called ? a->asked : r)) {
        jn_vec_free(&nodes);
        return jpy_raise(JN_NO_MEMORY());
    }
    int rc = save_results(&nodes, a, x);
    if (rc == 0 && r->freed)
        free_used(&nodes, x);
    jn_vec_free(&nodes);
    if (rc < 0)
        return -1;
    for (unsigned i = 0; i < r->n_out; i++) {
        all = all && jpy_edge_tracked(x->now[i]);
        any = any || jpy_edge_tracked(x->now[i]);
    }
    if (!any)
        return 0;
    jpy_edge *now = x->now;
    x->now = NULL;
    if (jpy_node_move(r->node, now) < 0)
        return -1;
    r->given_up = all && !r->node->running;
    return 0;
}

static bool begin(again *a, const region *r) {
    for (unsigned k = 0; k < r->e->n_stages; k++) {
        region *s = r->call->of[k];
        if (!s || s->node->moved)
            continue;
        found *x = &a->of[a->n++];
        x->r = (region *)Py_NewRef((PyObject *)s);
        jpy_node_retain(s->node);
        x->y = jn_calloc(s->n_out + s->stage->sub->params.n + 1, sizeof *x->y);
        x->now = jn_calloc(s->n_out + 1, sizeof *x->now);
        x->results = jn_calloc(s->e->n_results + 1, sizeof *x->results);
        if (!x->y || !x->now || !x->results)
            return false;
        x->operands = x->y + s->n_out;
    }
    return true;
}

static void end(again *a) {
    for (unsigned k = 0; k < a->n; k++) {
        found *x = &a->of[k];
        if (x->y && x->operands)
            forget(x);
        jn_free(x->results);
        jn_free(x->now);
        jn_free(x->y);
        if (x->r->given_up && x->r->args)
            jpy_region_give_up(x->r);
        jpy_node_release(x->r->node);
        Py_DECREF((PyObject *)x->r);
    }
}

int jpy_again_record(void *user) {
    region *r = user;
    again a = {.asked = r};
    bool mode = jpy_no_grad_mode;
    struct jn_device *device = jn_dev_for_new;
    if (!r->args)
        return 0; /* used up */
    r->f->recorded_again = true;
    int rc = begin(&a, r) ? 0 : jpy_raise(JN_NO_MEMORY());
    jn_dev_for_new = r->frame ? r->frame->mem->dev : NULL;
    jpy_no_grad_mode = false;
    if (rc == 0)
        rc = compute(&a);
    jpy_no_grad_mode = mode;
    jn_dev_for_new = device;
    for (unsigned k = 0; k < a.n && rc == 1; k++)
        rc = move(&a, &a.of[k]) < 0 ? -1 : 1;
    end(&a);
    return rc < 0 ? -1 : 0;
}

int jpy_again_gradient(region *r, const jpy_val *dout, const bool *want, jpy_val *din,
                       bool create_graph) {
    size_t n = (size_t)r->n_in + r->n_out + 1;
    jpy_val *roots = jn_calloc(3 * n, sizeof *roots), *seeds = roots + n, *dx = seeds + n;
    jpy_edge *edges = jn_calloc(n, sizeof *edges);
    int rc = roots && edges ? 0 : jpy_raise(JN_NO_MEMORY());
    unsigned n_roots = 0, n_x = 0;
    for (unsigned i = 0; i < r->n_out && rc == 0; i++)
        if (dout[i].kind == JANUS_KIND_TENSOR) {
            roots[n_roots] = jpy_val_tensor(dout[i].t, (jpy_edge){r->node, NULL, i});
            seeds[n_roots++] = dout[i];
        }
    for (unsigned i = 0; i < r->n_in && rc == 0; i++)
        if (want[i]) {
            edges[n_x] = r->edges[i];
            dx[n_x++] = din[i];
            din[i] = JPY_VAL_NONE;
        }
    if (rc == 0)
        rc = jpy_backward_until(roots, seeds, n_roots, edges, n_x, dx, jpy_backward_retains,
                                create_graph);
    n_x = 0;
    for (unsigned i = 0; i < r->n_in && rc == 0; i++)
        if (want[i])
            din[i] = dx[n_x++];
    jn_free(roots);
    jn_free(edges);
    return rc;
}
