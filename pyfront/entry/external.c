/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a region leaves on the tape: one node whose gradient is the region's gradient SubGraph, run
 * on the frame that the forward run kept.
 *
 * Where a gradient must be differentiable itself (create_graph), ops take the node's place
 * (pyfront/entry/again.h).  Where that is not possible it is refused, and such functions run
 * imperatively from then on.
 */
#include "pyfront/entry/external.h"

#include "exec/store/store.h"

#include <string.h>

#include "graph/autodiff/autodiff.h"
#include "pyfront/backward/backward.h"
#include "pyfront/entry/again.h"
#include "pyfront/entry/external_run.h"
#include "pyfront/methods/methods.h"
#include "pyfront/tape/tape.h"
#include "pyfront/tensor/tensor.h"

typedef jpy_region_held region;

enum { MAX_WAITS = 60000 }; /* results of a node are few enough for 16 bits */

static void release_bound(region *r) {
    for (size_t i = 0; r->bound && i < r->e->inputs.n; i++) {
        Py_CLEAR(r->bound[i]);
        if (r->memory[i])
            janus_tensor_release(r->memory[i]);
        r->memory[i] = NULL;
    }
}

/* What the node keeps of what the call had, for calling the function again: nothing with a
 * `__del__`, which would run when the history is used up and not when the program lets go of it.
 * What stands for it passes no guard. */
static PyObject *kept_of(PyObject *o) {
    bool told = Py_TYPE(o)->tp_finalize || Py_TYPE(o)->tp_del;
    return Py_NewRef(told && !jpy_tensor_check(o) ? Py_NotImplemented : o);
}

/* What others have the address of is looked at as a whole: only where somebody has differentiated
 * such a gradient before. */
static void bind_tensor(region *r, size_t i) {
    janus_tensor *t = ((jpy_tensor *)r->bound[i])->t;
    janus_tensor_retain(r->memory[i] = t);
    r->writes[i] = jpy_writes_to(t);
    if (r->f->recorded_again || !jn_storage_open(t->storage))
        r->prints[i] = jn_storage_mark(t->storage);
    else
        r->prints[i] = JN_PRINT_WANTED; /* it is not known */
}

static bool bind_again(region *r, PyObject *const *slots) {
    size_t n = r->e->inputs.n;
    r->bound = jn_calloc(n + 1, sizeof *r->bound + sizeof *r->memory + sizeof *r->writes +
                                    sizeof *r->prints);
    if (!r->bound)
        return false;
    r->memory = (janus_tensor **)(void *)(r->bound + n + 1);
    r->writes = (uint64_t *)(void *)(r->memory + n + 1);
    r->prints = (uint32_t *)(void *)(r->writes + n + 1);
    for (size_t i = 0; i < n; i++) {
        const jpy_input *in = &r->e->inputs.data[i];
        if (!in->used)
            continue;
        r->bound[i] =
            in->kind == JANUS_KIND_TENSOR ? Py_NewRef(slots[in->slot]) : kept_of(slots[in->slot]);
        if (in->kind == JANUS_KIND_TENSOR)
            bind_tensor(r, i);
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
    for (unsigned i = 0; i < r->n_in + r->n_found; i++)
        Py_VISIT(r->inputs[i]);
    for (size_t i = 0; r->bound && i < r->e->inputs.n; i++)
        Py_VISIT(r->bound[i]);
    return r->node ? jpy_node_visit_held(r->node, visit, arg) : 0;
}

/* Nobody is left who could ask for a gradient. */
static int region_clear(PyObject *self) {
    region *r = (region *)self;
    release_bound(r);
    for (unsigned i = 0; i < r->n_in + r->n_found; i++)
        Py_CLEAR(r->inputs[i]);
    Py_CLEAR(r->callable);
    Py_CLEAR(r->args);
    Py_CLEAR(r->kwnames);
    return 0;
}

/* Lets go of what the forward run has kept. */
static void release_kept(region *r) {
    if (r->frame)
        jn_frame_value_release(r->frame);
    r->frame = NULL;
    for (size_t i = 0; r->saved && i < r->stage->kept.n; i++)
        jpy_saved_clear(&r->saved[i]);
    for (unsigned i = 0; i < r->n_waits; i++)
        jpy_saved_clear(&r->waits[i].saved);
    for (unsigned i = 0; i < r->n_found; i++)
        jpy_saved_clear(&r->found[i].saved);
}

void jpy_region_give_up(region *r) {
    release_kept(r);
    (void)region_clear((PyObject *)r);
}

static bool leads(void *user, unsigned out, unsigned in) {
    const region *r = user;
    return out >= r->n_out || in >= r->n_in || r->stage->in.data[in].outs[out];
}

/* Of what a run has found nobody knows where it was used. */
static uint64_t turn(void *user, unsigned in, const bool *outs) {
    const region *r = user;
    return in < r->n_in ? jpy_stage_turn(r->stage, in, outs) : UINT64_MAX;
}

static void node_died(void *user) {
    region *r = user;
    r->node = NULL;
    r->call->of[r->stage - r->e->stages] = NULL;
}

static void region_dealloc(PyObject *self) {
    region *r = (region *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    release_kept(r);
    (void)region_clear(self);
    jn_free(r->bound);
    jpy_entry_free(r->e);
    if (r->call && !--r->call->refs)
        jn_free(r->call);
    jn_free(r->inputs);
    jn_free(r->edges);
    jn_free(r->saved);
    jn_free(r->place);
    jn_free(r->marks);
    jn_free(r->waits);
    jn_free(r->found);
    jn_free(r->reached);
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
        jpy_set gone = jpy_groups_gone(&r->stage->groups, r->freed, k, r->not_taken);
        for (unsigned i = 0; i < r->n_in; i++)
            if (r->stage->in.data[i].outs[k] && !(gone & JPY_SET_OF(i)))
                return false;
    }
    for (unsigned i = 0; i < r->n_waits; i++)
        if (!r->gone[r->waits[i].number])
            return false;
    for (unsigned k = 0; k < r->n_out && r->n_found; k++)
        if (!(r->freed_outs & JPY_SET_OF(k)))
            return false;
    return true;
}

/* After backward: what it ran cannot be run again.  Where nothing is left to be asked, it lets go
 * of the call as well. */
static bool release_saved(void *user) {
    region *r = user;
    const jpy_groups *groups = &r->stage->groups;
    if (!r->freed && !(r->freed = jn_calloc(groups->n + 1, sizeof *r->freed)))
        return false; /* it is kept longer than it need be */
    jpy_groups_free(groups, r->freed, r->ran_outs, r->ran_ins, r->not_taken, 0);
    r->freed_outs |= r->ran_outs;
    for (int64_t k = 0; r->gone && k <= r->n_wires; k++)
        r->gone[k] |= r->reached[k] & JN_WIRE_USED;
    if (!spent(r))
        return false;
    jpy_region_give_up(r);
    return true;
}

/* The tape has used up the ops that it came past before the one that raised. */
static void raised(void *user) {
    region *r = user;
    const jpy_groups *groups = &r->stage->groups;
    if (r->met_outs && (r->freed || (r->freed = jn_calloc(groups->n + 1, sizeof *r->freed))))
        jpy_groups_free(groups, r->freed, r->met_outs, r->met_ins, r->not_taken, r->met_until);
    r->met_outs = 0;
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

/* Whether a cotangent arrives of what the run has stored. */
static bool any_waits(const region *r, const jpy_val *dout) {
    for (unsigned i = 0; i < r->n_waits; i++)
        if (dout[r->n_out + i].kind == JANUS_KIND_TENSOR)
            return true;
    return false;
}

/* A leaf that was found and written since is what a gradient needs where some frame has it. */
static int check_found(const region *r) {
    for (unsigned i = 0; i < r->n_found; i++) {
        janus_tensor *t = r->found[i].saved.t;
        bool kept = false;
        char *data;
        if (jpy_saved_holds(&r->found[i].saved))
            continue;
        janus_status st = jn_tensor_data(t, &data);
        if (st == JANUS_OK)
            st = jn_frame_value_keeps(
                r->frame, data, data + (size_t)t->numel * jn_dtype_size((janus_dtype)t->dtype),
                &kept);
        if (st != JANUS_OK)
            return jpy_raise(st);
        if (kept)
            return jpy_saved_check(&r->found[i].saved, "Graph", NULL);
    }
    return 0;
}

/* The type of the view that is kept of a tensor; NULL: that is kept itself, or nobody knows. */
static const jn_type *kept_view(const jpy_stage *x, size_t which) {
    for (size_t i = 0; i < x->copies.n; i++) {
        const jpy_copy *c = &x->copies.data[i];
        jn_value has = x->sub->saved.data[c->member].value;
        if (c->kept == which && !c->back && jn_type_static(jn_value_type(x->sub, has)))
            return jn_value_type(x->sub, has);
    }
    return NULL;
}

/* Whether what a backward() needs is there and as it was.  Where several things are wrong, the tape
 * raises for the op that ran last.  1: what was written may not have been kept by this run, as only
 * its ops can tell. */
static int check_saved(region *r, jpy_set outs, bool waits, jpy_set ins, bool ask_ops) {
    const jpy_stage *x = r->stage;
    uint32_t freed = jpy_groups_freed(&x->groups, r->freed, outs, ins, r->not_taken);
    outs |= waits ? JPY_SET_WAITS : 0;
    const jpy_kept *worst = NULL;
    bool sure = !ask_ops;
    for (size_t i = 0; i < x->kept.n; i++) {
        const jpy_kept *k = &x->kept.data[i];
        if ((k->outs & outs) && (k->ins & ins) && !jpy_arm_not_taken(r->not_taken, k->arm) &&
            !jpy_saved_holds(&r->saved[i])) {
            sure = sure || !k->maybe;
            worst = worst && worst->at >= k->at ? worst : k;
        }
    }
    bool used = !r->args || (freed && (!worst || freed >= worst->at)); /* no args: as a whole */
    r->met_outs = r->args && (used || worst) ? outs : 0;
    r->met_ins = ins;
    r->met_until = used ? freed : worst ? worst->at : 0;
    if (used)
        return jpy_raise_freed();
    if (worst && !sure)
        return 1;
    size_t which = worst ? (size_t)(worst - x->kept.data) : 0;
    return worst ? jpy_saved_check(&r->saved[which], worst->op, kept_view(x, which)) : 0;
}

/* Types of what gradients flow to, where it is not known before the call: dims may be of it. */
static void types_of_inputs(const region *r, jn_type *out) {
    for (unsigned i = 0; i < r->n_in; i++) {
        const jpy_edge *from = &r->edges[i];
        out[i] = r->inputs[i] ? jn_tensor_as_type(((jpy_tensor *)r->inputs[i])->t)
                              : ((region *)from->node->held)->out[from->index];
    }
}

/* Of what was stored it is known only now what the gradient has come to. */
static int check_reached(region *r, const uint8_t *marks) {
    for (int64_t k = r->n_wires; k > 0; k--)
        if ((marks[k] & JN_WIRE_USED) && r->gone[k])
            return jpy_raise_freed();
    for (unsigned i = 0; i < r->n_waits; i++)
        if ((marks[r->waits[i].number] & JN_WIRE_KEPT) && !jpy_saved_holds(&r->waits[i].saved))
            return jpy_saved_check(&r->waits[i].saved, "Graph", NULL);
    for (int64_t k = 0; k <= r->n_wires; k++)
        r->reached[k] |= marks[k];
    return 0;
}

static int run_gradient(region *r, const jpy_val *dout, const bool *want, jpy_val *din) {
    jn_type *in = jn_calloc(r->n_in + 1, sizeof *in);
    bool *reached = jn_calloc(r->n_in + r->n_found + 1, sizeof *reached);
    size_t n_marks = r->gone ? (size_t)r->n_wires + 1 : 0;
    uint8_t *marks = jn_calloc(n_marks + 1, sizeof *marks);
    bool waits = any_waits(r, dout);
    janus_status st = in && reached && marks ? JANUS_OK : JN_NO_MEMORY();
    if (st == JANUS_OK) {
        jpy_stage_run x = {r->e,    r->stage, r->frame,   r->out,   in,         r->exact, dout,
                           reached, r->waits, r->n_waits, r->found, r->n_found, marks,    n_marks};
        if (r->goes_on)
            types_of_inputs(r, in);
        for (unsigned i = 0; i < r->n_in; i++)
            reached[i] = want[i] && (waits || any_reached(&r->stage->in.data[i], dout, r->n_out));
        memcpy(reached + r->n_in, want + r->n_in, r->n_found * sizeof *want);
        while ((st = jpy_stage_run_gradient(&x, din)) == JANUS_CANCELLED)
            if (jpy_backward_quiet || jpy_backward_signals() < 0)
                break;
    }
    int rc = st == JANUS_OK && n_marks ? check_reached(r, marks) : 0;
    jn_free(in);
    jn_free(reached);
    jn_free(marks);
    return st == JANUS_OK ? rc : PyErr_Occurred() ? -1 : jpy_raise(st);
}

static int backward(void *user, const jpy_val *dout, const bool *want, jpy_val *din,
                    bool create_graph) {
    region *r = user;
    jpy_set outs = 0, ins = 0;
    for (unsigned i = 0; i < r->n_out; i++)
        outs |= dout[i].kind == JANUS_KIND_TENSOR ? JPY_SET_OF(i) : 0;
    for (unsigned i = 0; i < r->n_in; i++)
        ins |= want[i] ? JPY_SET_OF(i) : 0;
    bool any = false, waits = any_waits(r, dout);
    r->met_outs = 0;
    for (unsigned i = 0; i < r->n_in; i++)
        any = any || (want[i] && waits) ||
              (want[i] && any_reached(&r->stage->in.data[i], dout, r->n_out));
    for (unsigned i = 0; i < r->n_found; i++)
        if (want[r->n_in + i]) { /* whatever leads there */
            any = any || outs || waits;
            ins = ~(jpy_set)0;
        }
    if (r->node->running <= 1) /* else another thread's are freed with it */
        r->ran_outs = r->ran_ins = 0;
    if (r->node->running <= 1 && r->reached)
        memset(r->reached, 0, (size_t)r->n_wires + 1);
    if (!any)
        return 0;
    if (r->given_up)
        return jpy_again_gradient(r, dout, want, din, create_graph);
    bool ask_ops = !create_graph && !waits && !r->n_found && !r->e->remains && !r->node->moved;
    int saved = check_saved(r, outs, waits, ins, ask_ops);
    if (saved > 0 && jpy_again_record(r) < 0)
        return -1;
    if (saved > 0 && r->node->moved)
        return jpy_again_gradient(r, dout, want, din, false);
    if (saved > 0)
        saved = check_saved(r, outs, waits, ins, false);
    if (saved < 0 || check_found(r) < 0 || jpy_renew(r, outs, ins, waits) < 0)
        return -1;
    r->ran_outs |= outs;
    r->ran_ins |= ins;
    if (create_graph) {
        jpy_asked_in_vain(r->f);
        PyErr_SetString(PyExc_RuntimeError,
                        "create_graph=True: this result was computed by a graph of janus.function "
                        "whose gradient cannot be differentiated again, because it has effects or "
                        "what it was computed from has changed; computed anew it can be");
        return -1;
    }
    return run_gradient(r, dout, want, din);
}

/* Gradients between what one run has stored, or gives beside it, are the run's own: nobody can look
 * at them. */
static int refuse(void *user) {
    region *r = user;
    jpy_asked_in_vain(r->f);
    PyErr_SetString(
        PyExc_RuntimeError,
        "a gradient of a tensor that a graph of janus.function has computed "
        "is asked for by a hook, retain_grad() or autograd.grad(), and another result of "
        "the same call leads to it; computed anew it can be had");
    return -1;
}

/* What the run has stored waits for gradients of its own. */
static bool add_waits(region *r, const jpy_host *host) {
    r->n_wires = host->n_wires;
    r->waits = jn_calloc(host->n_wired + 1, sizeof *r->waits);
    r->reached = jn_calloc(2 * ((size_t)r->n_wires + 1), sizeof *r->reached);
    if (!r->waits || !r->reached)
        return false;
    r->gone = r->reached + r->n_wires + 1;
    for (size_t i = 0; i < host->n_wired; i++) {
        r->waits[i].number = host->wired[i].number;
        r->waits[i].place = host->wired[i].place;
        jpy_saved_set(&r->waits[i].saved, ((jpy_tensor *)host->wired[i].object)->t);
        r->n_waits++;
    }
    return true;
}

/* Leaves that nobody knew of before the run are inputs of the node. */
static bool add_found(region *r, const jpy_host *host) {
    r->found = jn_calloc(host->n_found + 1, sizeof *r->found);
    for (size_t i = 0; r->found && i < host->n_found; i++) {
        jpy_tensor *t = host->found[i].object;
        unsigned at = r->n_in + r->n_found;
        if (jpy_tensor_edge(t, &r->edges[at]) < 0)
            return false;
        r->inputs[at] = Py_NewRef((PyObject *)t);
        r->found[i].number = host->found[i].number;
        jpy_saved_set(&r->found[i].saved, t->t);
        r->n_found++;
    }
    return r->found;
}

static void give_node(jpy_node *node, unsigned n_out, const jpy_host *host) {
    for (size_t i = 0; i < host->n_wired; i++) {
        jpy_tensor *t = host->wired[i].object;
        jpy_node_retain(node);
        t->node = node;
        t->node_out = n_out + (uint32_t)i;
    }
}

/* What the frame has copies of that cannot be made again is looked at before they are used. */
static void mark_copied(region *r, size_t i) {
    const jpy_stage *x = r->stage;
    bool copied = x->kept.data[i].copied;
    for (size_t k = 0; k < x->copies.n && !copied; k++)
        copied = x->copies.data[k].kept == i;
    if (copied)
        r->marks[i] = jn_storage_mark(r->saved[i].t->storage);
}

static jpy_node *stage_node(jpy_function *f, jpy_entry *e, const jpy_stage *x, const jpy_call *call,
                            PyObject *const *slots, uint64_t rng_offset, jn_frame_value *frame,
                            const jn_arg *results, const jpy_host *host, jpy_node *const *earlier,
                            jpy_call_regions *siblings) {
    region *r = PyObject_GC_New(region, region_type);
    if (!r)
        return NULL;
    memset((char *)r + sizeof(PyObject), 0, sizeof *r - sizeof(PyObject));
    r->e = e;
    r->stage = x;
    r->f = (jpy_function *)Py_NewRef((PyObject *)f);
    jpy_entry_hold(e);
    r->call = siblings;
    siblings->refs++;
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
    r->inputs = jn_calloc(n_in + host->n_found + 1, sizeof *r->inputs);
    r->saved = jn_calloc(x->kept.n + 1, sizeof *r->saved);
    r->place = jn_calloc(x->kept.n + 1, sizeof *r->place);
    r->marks = jn_calloc(x->kept.n + 1, sizeof *r->marks);
    jpy_edge *edges = r->edges = jn_calloc(n_in + host->n_found + 1, sizeof *edges);
    jpy_node *node = NULL;
    bool ok = r->args && r->inputs && r->saved && r->place && r->marks && edges &&
              bind_again(r, slots) && ((x->out.n < 2 && !r->goes_on) || types_of(r, results)) &&
              (!host->n_wired || add_waits(r, host)) && host->n_wired <= MAX_WAITS;
    for (Py_ssize_t i = 0; ok && i < n_args; i++)
        PyTuple_SET_ITEM(r->args, i, kept_of(call->args[i]));
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
    ok = ok && (!host->n_found || add_found(r, host));
    for (size_t i = 0; i < x->arms.n; i++)
        if ((results[x->arms.data[i].result].s.i > 0) != x->arms.data[i].holds ||
            jpy_arm_not_taken(r->not_taken, x->arms.data[i].also))
            r->not_taken |= (jpy_set)1 << i;
    for (size_t i = 0; ok && i < x->kept.n; i++) {
        r->place[i] = jpy_kept_place(e, host->run, &x->kept.data[i]);
        if (x->kept.data[i].is_result) /* jpy_region_kept() */
            continue;
        jpy_saved_set(&r->saved[i], ((jpy_tensor *)slots[x->kept.data[i].slot])->t);
        r->saved[i].version += x->kept.data[i].writes;
        mark_copied(r, i);
    }
    jn_frame_value_retain(frame);
    r->frame = frame;
    jpy_external ext = {.user = r,
                        .record = e->remains || r->n_found ? NULL : jpy_again_record,
                        .refuse =
                            e->remains || x->mixes || (r->n_found && r->n_out > 1) ? refuse : NULL,
                        .backward = backward,
                        .release_saved = release_saved,
                        .raised = raised,
                        .free_user = node_died,
                        .leads = leads,
                        .turn = turn,
                        .name = "Graph",
                        .goes_on = r->goes_on};
    if (ok)
        node = jpy_external_new(&ext, n_in + r->n_found, edges, r->n_out + r->n_waits);
    PyObject_GC_Track(r);
    if (!node) {
        Py_DECREF((PyObject *)r);
        return NULL;
    }
    r->node = node;
    r->call->of[x - e->stages] = r;
    jpy_node_hold(node, (PyObject *)r);
    give_node(node, r->n_out, host);
    return node;
}

int jpy_region_nodes(jpy_function *f, jpy_entry *e, const jpy_call *call, PyObject *const *slots,
                     uint64_t rng_offset, jn_arg *results, const jpy_host *host, jpy_node **out) {
    if (!e->n_stages)
        return 0;
    const jn_arg *frame = results + e->n_results;
    jpy_call_regions *all = jn_calloc(1, sizeof *all);
    bool made = all != NULL;
    if (all)
        all->refs = 1;
    for (unsigned k = 0; k < e->n_stages && made; k++) {
        if (!e->stages[k].grad.sub)
            continue;
        jn_frame_value *of = (frame++)->f;
        if (!e->stages[k].out.n && !host->n_wired)
            continue;
        out[k] =
            stage_node(f, e, &e->stages[k], call, slots, rng_offset, of, results, host, out, all);
        made = out[k] != NULL;
    }
    if (all && !--all->refs)
        jn_free(all);
    return made ? 0 : -1;
}

void jpy_region_kept(const jpy_entry *e, jpy_node *const *nodes, uint32_t result, janus_tensor *t) {
    for (unsigned k = 0; k < e->n_stages; k++) {
        const jpy_stage *x = &e->stages[k];
        region *r = nodes[k] ? (region *)nodes[k]->held : NULL;
        for (size_t i = 0; r && i < x->kept.n; i++)
            if (x->kept.data[i].is_result && x->kept.data[i].slot == result) {
                jpy_saved_clear(&r->saved[i]);
                jpy_saved_set(&r->saved[i], t);
                mark_copied(r, i);
            }
    }
}
