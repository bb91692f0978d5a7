/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a region leaves on the tape: one node whose gradient is the region's gradient SubGraph, run
 * on the frame that the forward run kept.
 *
 * A gradient that must be differentiable itself (create_graph) is taken of the graph run op by op
 * on the same inputs (pyfront/entry/replay.h).  Where that is not possible, of graphs that read objects,
 * it is taken of the function called again, if that has no effects: running again changes nothing.
 * Else it is refused, and such functions run imperatively from then on.
 */
#include "pyfront/entry/external.h"

#include "exec/store/store.h"

#include <string.h>

#include "pyfront/op/autocast.h"
#include "pyfront/entry/external_run.h"
#include "pyfront/tensor/device.h"
#include "pyfront/methods/rng.h"
#include "pyfront/tensor/tensor.h"
#include "pyfront/entry/replay.h"
#include "pyfront/tape/internal.h"

/* An object whose references are those to its node, so that the collector sees what it holds: see
 * jpy_node_visit(). */
typedef struct region {
    PyObject_HEAD jpy_node *node; /* borrowed; NULL when it has died */
    jpy_entry *e;
    const jpy_stage *stage;
    jpy_function *f;                     /* owned */
    PyObject *callable, *args, *kwnames; /* of the call; args: positional, then keyword values */
    Py_ssize_t n_pos;
    jn_frame_value *frame;
    jn_rng_state rng;
    bool exact, goes_on; /* with the sums of the tape */
    unsigned n_in, n_out;
    PyObject **inputs;         /* tracked tensors, owned, in the order of the node's edges */
    jpy_edge *edges;           /* the node's, borrowed */
    jpy_saved *saved;          /* versions of the tensors that must stay as they are: stage->kept */
    bool *freed;               /* by group of the stage; NULL: none is */
    jpy_set ran_outs, ran_ins; /* what backward() has run since some were freed last */
    jn_type *out;              /* types of the results, whose dims may be of this call */
    PyObject **bound;          /* what the entry's inputs were, owned ... */
    uint32_t *version;         /* ... and its version where it is a tensor */
} region;

static void release_bound(region *r) {
    for (size_t i = 0; r->bound && i < r->e->inputs.n; i++)
        Py_CLEAR(r->bound[i]);
}

static bool bind_again(region *r, PyObject *const *slots) {
    size_t n = r->e->inputs.n;
    r->bound = jn_calloc(n + 1, sizeof *r->bound + sizeof *r->version);
    if (!r->bound)
        return false;
    r->version = (uint32_t *)(void *)(r->bound + n + 1);
    for (size_t i = 0; i < n; i++) {
        const jpy_input *in = &r->e->inputs.data[i];
        if (!in->used)
            continue;
        r->bound[i] = Py_NewRef(slots[in->slot]);
        if (in->kind == JANUS_KIND_TENSOR)
            r->version[i] = ((jpy_tensor *)r->bound[i])->t->storage->version;
    }
    return true;
}

static PyTypeObject *region_type;

static int region_traverse(PyObject *self, visitproc visit, void *arg) {
    region *r = (region *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)r->f);
    Py_VISIT((PyObject *)r->e);
    Py_VISIT(r->callable);
    Py_VISIT(r->args);
    Py_VISIT(r->kwnames);
    for (unsigned i = 0; i < r->n_in; i++)
        Py_VISIT(r->inputs[i]);
    for (size_t i = 0; r->bound && i < r->e->inputs.n; i++)
        Py_VISIT(r->bound[i]);
    return r->node ? jpy_node_visit_edges(r->node, visit, arg) : 0;
}

/* Nobody is left who could ask for a gradient. */
static int region_clear(PyObject *self) {
    region *r = (region *)self;
    release_bound(r);
    for (unsigned i = 0; i < r->n_in; i++)
        Py_CLEAR(r->inputs[i]);
    Py_CLEAR(r->callable);
    Py_CLEAR(r->args);
    Py_CLEAR(r->kwnames);
    return 0;
}

static bool leads(void *user, unsigned out, unsigned in) {
    return ((region *)user)->stage->in.data[in].outs[out];
}

static void node_died(void *user) { ((region *)user)->node = NULL; }

static void region_dealloc(PyObject *self) {
    region *r = (region *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (r->frame)
        jn_frame_value_release(r->frame);
    for (size_t i = 0; r->saved && i < r->stage->kept.n; i++)
        jpy_saved_clear(&r->saved[i]);
    (void)region_clear(self);
    jn_free(r->bound);
    jpy_entry_free(r->e);
    jn_free(r->inputs);
    jn_free(r->edges);
    jn_free(r->saved);
    jn_free(r->freed);
    jn_free(r->out);
    Py_XDECREF((PyObject *)r->f);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyType_Slot region_slots[] = {{Py_tp_dealloc, region_dealloc},
                                     {Py_tp_traverse, region_traverse},
                                     {Py_tp_clear, region_clear},
                                     {Py_tp_doc, "What the history of a graph's results holds."},
                                     {0, NULL}};
static PyType_Spec region_spec = {
    "janus._C.Region", sizeof(region), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, region_slots};

int jpy_init_region(PyObject *module) {
    region_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &region_spec, NULL);
    return region_type ? 0 : -1;
}

/* Whether no gradient can be asked for any more. */
static bool spent(const region *r) {
    for (unsigned k = 0; k < r->n_out; k++) {
        jpy_set gone = jpy_groups_gone(&r->stage->groups, r->freed, k);
        for (unsigned i = 0; i < r->n_in; i++)
            if (r->stage->in.data[i].outs[k] && !(gone & JPY_SET_OF(i)))
                return false;
    }
    return true;
}

/* After backward: what it ran cannot be run again.  Where nothing is left to be asked, it lets go
 * of the call as well. */
static bool release_saved(void *user) {
    region *r = user;
    const jpy_groups *groups = &r->stage->groups;
    if (!r->freed && !(r->freed = jn_calloc(groups->n + 1, sizeof *r->freed)))
        return false; /* it is kept longer than it need be */
    jpy_groups_free(groups, r->freed, r->ran_outs, r->ran_ins);
    if (!spent(r))
        return false;
    if (r->frame)
        jn_frame_value_release(r->frame);
    r->frame = NULL;
    for (size_t i = 0; i < r->stage->kept.n; i++)
        jpy_saved_clear(&r->saved[i]);
    (void)region_clear((PyObject *)r);
    return true;
}

/* The tracked results inside what the function returned, by their numbers. */
static void collect(const jpy_recipe *r, PyObject *o, PyObject **out) {
    if (r->kind == JPY_MAKE_RESULT && r->grad) {
        out[r->grad - 1] = o;
    } else if (r->kind == JPY_MAKE_OPTION) {
        if (o != Py_None)
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

/* What an input of the graph was; one that is no value, or was written since, is not known. */
static jpy_val input(const region *r, size_t i) {
    PyObject *o = r->bound[i];
    jpy_val v = {.kind = r->e->inputs.data[i].kind};
    bool known = o != NULL;
    switch (v.kind) {
    case JANUS_KIND_TENSOR:
        known = known && ((jpy_tensor *)o)->t->storage->version == r->version[i] &&
                !jn_tensor_is_rows(((jpy_tensor *)o)->t);
        if (known)
            v.t = ((jpy_tensor *)o)->t;
        break;
    case JANUS_KIND_INT:
        v.s.i = known ? PyLong_AsLongLong(o) : 0;
        break;
    case JANUS_KIND_FLOAT:
        v.s.f = known ? PyFloat_AS_DOUBLE(o) : 0;
        break;
    default:
        known = false;
    }
    return known ? v : (jpy_val){.kind = JPY_NOT_KNOWN};
}

/* The results of the stage, computed of x, by running its graph again; 0: not known, 1: done, -1.
 */
static int replayed(region *r, const jpy_val *dout, jpy_val *y, jpy_edge *x) {
    size_t n = r->e->inputs.n, n_params = r->stage->sub->params.n;
    size_t n_results = r->stage->sub->results.n;
    jpy_val *in = jn_calloc(n + n_results + 1, sizeof *in), *out = in + n;
    jpy_edge *edges = jn_calloc(n_params + 1, sizeof *edges);
    int rc = in && edges ? 0 : jpy_raise(JN_NO_MEMORY());
    for (size_t i = 0; i < n && rc == 0; i++)
        in[i] = input(r, i);
    for (unsigned i = 0; i < r->n_in && rc == 0; i++)
        edges[r->stage->in.data[i].param] = r->edges[i];
    bool ran = rc == 0;
    if (ran)
        rc = jpy_replay(r->e, r->stage, in, edges, r->rng, out);
    bool known = rc == 0;
    for (unsigned i = 0; edges && i < r->n_in; i++)
        if (rc == 0)
            jpy_edge_retain(x[i] = edges[r->stage->in.data[i].param]);
    for (size_t i = 0; ran && i < n_params; i++)
        jpy_edge_release(edges[i]);
    for (unsigned i = 0; i < r->n_out && known; i++) {
        jpy_val *v = &out[r->stage->place.data[i]];
        if (dout[i].kind == JANUS_KIND_NONE)
            continue;
        known = v->kind == JANUS_KIND_TENSOR;
        y[i] = *v;
        *v = (jpy_val){0};
    }
    for (size_t i = 0; in && i < n_results; i++)
        jpy_val_release(&out[i]);
    jn_free(in);
    jn_free(edges);
    return rc ? rc : known;
}

/* Whether the function would be given what it was given, as far as the guards see. */
static bool unchanged(const region *r) {
    jpy_call call = {((PyTupleObject *)r->args)->ob_item, r->n_pos, r->kwnames};
    PyObject **slots = jn_calloc(r->e->guards.srcs.n + 1, sizeof *slots);
    bool same = slots && jpy_guards_run(&r->e->guards, &call, slots) == 0;
    for (size_t i = 0; i < r->e->inputs.n && same; i++) {
        PyObject *o = r->bound[i];
        same = !o || (o == slots[r->e->inputs.data[i].slot] &&
                      (r->e->inputs.data[i].kind != JANUS_KIND_TENSOR ||
                       ((jpy_tensor *)o)->t->storage->version == r->version[i]));
    }
    jn_free(slots);
    return same;
}

/* The same by calling the function again. */
static int called(region *r, jpy_val *y, jpy_edge *x) {
    jn_rng_state now = *jpy_rng_default();
    bool mode = jpy_no_grad_mode;
    uint32_t autocast = jpy_autocast_word;
    *jpy_rng_default() = r->rng;
    jpy_no_grad_mode = false;
    jpy_autocast_word = r->e->guards.autocast;
    PyObject *o = PyObject_Vectorcall(r->callable, ((PyTupleObject *)r->args)->ob_item,
                                      (size_t)r->n_pos, r->kwnames);
    *jpy_rng_default() = now;
    jpy_no_grad_mode = mode;
    jpy_autocast_word = autocast;
    PyObject **got = jn_calloc(r->e->n_tracked + 1, sizeof *got);
    int rc = o && got ? 0 : -1;
    if (rc == 0)
        collect(r->e->result, o, got);
    for (unsigned i = 0; i < r->e->n_tracked && rc == 0; i++)
        if (got[i] && jpy_tensor_check(got[i])) {
            jpy_val *v = &y[r->e->place[i].out];
            jpy_val_release(v);
            rc = jpy_tensor_val((jpy_tensor *)got[i], v);
            if (rc == 0) {
                janus_tensor_retain(v->t);
                jpy_edge_retain(v->edge);
            }
        }
    for (unsigned i = 0; i < r->n_in && rc == 0; i++) {
        jpy_edge_release(x[i]);
        jpy_edge_retain(x[i] = r->edges[i]);
    }
    Py_XDECREF(o);
    jn_free(got);
    return rc;
}

/* Whether no input is computed from another. */
static bool apart(const region *r) {
    bool leaves = true;
    for (unsigned i = 0; i < r->n_in; i++)
        leaves = leaves && !r->edges[i].node;
    return leaves || r->n_in == 1;
}

/* Gradients with a history. */
static int again(region *r, const jpy_val *dout, const bool *want, jpy_val *din) {
    size_t n = r->n_in + r->n_out + 1;
    jpy_val *y = jn_calloc(4 * n, sizeof *y), *v = y + n, *seeds = v + n, *dx = seeds + n;
    jpy_edge *edges = jn_calloc(2 * n, sizeof *edges), *x = edges + n;
    int known = y && edges ? replayed(r, dout, y, x) : jpy_raise(JN_NO_MEMORY()), rc = -1;
    unsigned n_roots = 0, n_x = 0;
    if (known < 0)
        goto end;
    if (!known && (r->e->n_stages > 1 || r->e->has_effects || !unchanged(r) || !apart(r))) {
        r->f->differentiated = true; /* from now on such calls run imperatively */
        PyErr_SetString(PyExc_RuntimeError,
                        "create_graph=True: this result was computed by a graph of janus.function "
                        "whose gradient cannot be differentiated again, because it has effects or "
                        "what it was computed from has changed; computed anew it can be");
        goto end;
    }
    if (!known && called(r, y, x) < 0)
        goto end;
    for (unsigned i = 0; i < r->n_out; i++)
        if (dout[i].kind != JANUS_KIND_NONE && y[i].kind == JANUS_KIND_TENSOR) {
            seeds[n_roots] = dout[i];
            v[n_roots++] = y[i];
        }
    for (unsigned i = 0; i < r->n_in; i++)
        if (want[i]) {
            edges[n_x] = x[i];
            dx[n_x++] = din[i];
            din[i] = JPY_VAL_NONE;
        }
    rc = jpy_backward(v, seeds, n_roots, edges, n_x, dx, true, true);
    n_x = 0;
    for (unsigned i = 0; i < r->n_in && rc == 0; i++)
        if (want[i])
            din[i] = dx[n_x++];
end:
    for (unsigned i = 0; y && i < r->n_out; i++)
        jpy_val_release(&y[i]);
    for (unsigned i = 0; edges && i < r->n_in; i++)
        jpy_edge_release(x[i]);
    jn_free(y);
    jn_free(edges);
    return rc;
}

/* The types of a stage's results, as far as somebody may have to make zeros of them. */
static bool types_of(region *r, const jn_arg *results) {
    const jpy_stage *x = r->stage;
    int64_t *dims = NULL;
    r->out = jn_calloc(x->out.n + 1, sizeof *r->out + JN_MAX_RANK * sizeof *dims);
    if (!r->out)
        return false;
    dims = (int64_t *)(void *)(r->out + x->out.n + 1);
    for (size_t i = 0; i < x->out.n; i++, dims += JN_MAX_RANK) {
        r->out[i] = *x->out.data[i];
        if (jn_type_static(x->out.data[i]))
            continue;
        const janus_tensor *t = results[x->seen.data[i]].t;
        memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
        r->out[i].dims = dims;
        r->out[i].rank = t->rank;
    }
    return true;
}

/* Whether a result whose cotangent arrives is computed from a tensor; others give it none. */
static bool any_reached(const jpy_tracked *in, const jpy_val *dout, unsigned n_out) {
    for (unsigned i = 0; i < n_out; i++)
        if (in->outs[i] && dout[i].kind == JANUS_KIND_TENSOR)
            return true;
    return false;
}

/* Whether what a backward() needs is there and as it was.  Where several things are wrong, the tape
 * raises for the op that ran last. */
static int check_saved(const region *r, jpy_set outs, jpy_set ins) {
    const jpy_stage *x = r->stage;
    uint32_t freed = jpy_groups_freed(&x->groups, r->freed, outs, ins);
    const jpy_kept *worst = NULL;
    for (size_t i = 0; i < x->kept.n; i++) {
        const jpy_kept *k = &x->kept.data[i];
        if ((k->outs & outs) && (k->ins & ins) && !jpy_saved_holds(&r->saved[i]) &&
            (!worst || k->at > worst->at))
            worst = k;
    }
    if (!r->args || (freed && (!worst || freed >= worst->at))) /* no args: given up as a whole */
        return jpy_raise_freed();
    return worst ? jpy_saved_check(&r->saved[worst - x->kept.data], worst->op) : 0;
}

/* Types of what gradients flow to, where it is not known before the call: dims may be of it. */
static void types_of_inputs(const region *r, jn_type *out) {
    for (unsigned i = 0; i < r->n_in; i++) {
        const jpy_edge *from = &r->edges[i];
        out[i] = r->inputs[i] ? jn_tensor_as_type(((jpy_tensor *)r->inputs[i])->t)
                              : ((region *)from->node->held)->out[from->index];
    }
}

static int run_gradient(region *r, const jpy_val *dout, const bool *want, jpy_val *din) {
    jn_type *in = jn_calloc(r->n_in + 1, sizeof *in);
    bool *reached = jn_calloc(r->n_in + 1, sizeof *reached);
    janus_status st = in && reached ? JANUS_OK : JN_NO_MEMORY();
    if (st == JANUS_OK) {
        jpy_stage_run x = {r->e, r->stage, r->frame, r->out, in, r->exact, dout, reached};
        if (r->goes_on)
            types_of_inputs(r, in);
        for (unsigned i = 0; i < r->n_in; i++)
            reached[i] = want[i] && any_reached(&r->stage->in.data[i], dout, r->n_out);
        while ((st = jpy_stage_run_gradient(&x, din)) == JANUS_CANCELLED)
            if (PyErr_CheckSignals() < 0)
                break;
    }
    jn_free(in);
    jn_free(reached);
    return st == JANUS_OK ? 0 : PyErr_Occurred() ? -1 : jpy_raise(st);
}

static int backward(void *user, const jpy_val *dout, const bool *want, jpy_val *din,
                    bool create_graph) {
    region *r = user;
    jpy_set outs = 0, ins = 0;
    for (unsigned i = 0; i < r->n_out; i++)
        outs |= dout[i].kind == JANUS_KIND_TENSOR ? JPY_SET_OF(i) : 0;
    for (unsigned i = 0; i < r->n_in; i++)
        ins |= want[i] ? JPY_SET_OF(i) : 0;
    bool any = false;
    for (unsigned i = 0; i < r->n_in; i++)
        any = any || (want[i] && any_reached(&r->stage->in.data[i], dout, r->n_out));
    if (r->node->running <= 1) /* else another thread's are freed with it */
        r->ran_outs = r->ran_ins = 0;
    if (!any)
        return 0;
    if (check_saved(r, outs, ins) < 0)
        return -1;
    r->ran_outs |= outs;
    r->ran_ins |= ins;
    if (create_graph)
        return again(r, dout, want, din);
    return run_gradient(r, dout, want, din);
}

static jpy_node *stage_node(jpy_function *f, jpy_entry *e, const jpy_stage *x, const jpy_call *call,
                            PyObject *const *slots, uint64_t rng_offset, jn_frame_value *frame,
                            const jn_arg *results, jpy_node *const *earlier) {
    region *r = PyObject_GC_New(region, region_type);
    if (!r)
        return NULL;
    memset((char *)r + sizeof(PyObject), 0, sizeof *r - sizeof(PyObject));
    r->e = e;
    r->stage = x;
    r->f = (jpy_function *)Py_NewRef((PyObject *)f);
    jpy_entry_hold(e);
    Py_ssize_t n_args = call->n_pos + (call->kwnames ? PyTuple_GET_SIZE(call->kwnames) : 0);
    r->callable = Py_NewRef(f->callable);
    r->args = PyTuple_New(n_args);
    r->kwnames = Py_XNewRef(call->kwnames);
    r->n_pos = call->n_pos;
    r->rng = (jn_rng_state){jpy_rng_default()->seed, rng_offset};
    r->exact = f->exact;
    r->goes_on = f->exact && x->grad.onto;
    unsigned n_in = (unsigned)x->in.n;
    r->n_out = (unsigned)x->out.n;
    r->inputs = jn_calloc(n_in + 1, sizeof *r->inputs);
    r->saved = jn_calloc(x->kept.n + 1, sizeof *r->saved);
    jpy_edge *edges = r->edges = jn_calloc(n_in + 1, sizeof *edges);
    jpy_node *node = NULL;
    bool ok = r->args && r->inputs && r->saved && edges && bind_again(r, slots) &&
              ((x->out.n < 2 && !r->goes_on) || types_of(r, results));
    for (Py_ssize_t i = 0; ok && i < n_args; i++)
        PyTuple_SET_ITEM(r->args, i, Py_NewRef(call->args[i]));
    for (unsigned i = 0; ok && i < n_in; i++) {
        const jpy_tracked *in = &x->in.data[i];
        r->n_in = i + 1;
        if (in->stage != JPY_NO_STAGE) {
            edges[i] = (jpy_edge){.node = earlier[in->stage], .index = in->slot};
            continue;
        }
        jpy_tensor *t = (jpy_tensor *)slots[in->slot];
        r->inputs[i] = Py_NewRef((PyObject *)t);
        ok = jpy_tensor_edge(t, &edges[i]) >= 0;
    }
    for (size_t i = 0; ok && i < x->kept.n; i++) {
        if (x->kept.data[i].is_result) /* jpy_region_kept() */
            continue;
        jpy_saved_set(&r->saved[i], ((jpy_tensor *)slots[x->kept.data[i].slot])->t);
        r->saved[i].version += x->kept.data[i].writes;
    }
    jn_frame_value_retain(frame);
    r->frame = frame;
    jpy_external ext = {r, backward, release_saved, node_died, leads, "Graph", r->goes_on};
    if (ok)
        node = jpy_external_new(&ext, n_in, edges, r->n_out);
    PyObject_GC_Track(r);
    if (!node) {
        Py_DECREF((PyObject *)r);
        return NULL;
    }
    r->node = node;
    jpy_node_hold(node, (PyObject *)r);
    return node;
}

int jpy_region_nodes(jpy_function *f, jpy_entry *e, const jpy_call *call, PyObject *const *slots,
                     uint64_t rng_offset, jn_arg *results, jpy_node **out) {
    const jn_arg *frame = results + e->n_results;
    for (unsigned k = 0; k < e->n_stages; k++) {
        if (!e->stages[k].grad.sub)
            continue;
        out[k] =
            stage_node(f, e, &e->stages[k], call, slots, rng_offset, (frame++)->f, results, out);
        if (!out[k])
            return -1;
    }
    return 0;
}

void jpy_region_kept(const jpy_entry *e, jpy_node *const *nodes, uint32_t result, janus_tensor *t) {
    for (unsigned k = 0; k < e->n_stages; k++) {
        const jpy_stage *x = &e->stages[k];
        region *r = nodes[k] ? (region *)nodes[k]->held : NULL;
        for (size_t i = 0; r && i < x->kept.n; i++)
            if (x->kept.data[i].is_result && x->kept.data[i].slot == result) {
                jpy_saved_clear(&r->saved[i]);
                jpy_saved_set(&r->saved[i], t);
            }
    }
}
