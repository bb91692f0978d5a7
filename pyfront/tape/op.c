/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops on the tape: running them, and the eager emitter their gradient rules run on.  Of what a node
 * has not kept (pyfront/tape/record.c) the rule sees a type without data.
 */
#include "config.h"

#include "pyfront/tape/record.h"

#include <string.h>

#include "exec/store/store.h"
#include "graph/base/alloc.h"
#include "ops/op_ids.h"

typedef jpy_op_data op_data;

static int op_backward(jpy_node *n, const jpy_val *dout, const bool *want, jpy_val *din,
                       bool create_graph);

static void op_release_saved(jpy_node *n) {
    op_data *d = jpy_node_data(n);
    if (!n->has_saved || n->let_go)
        return;
    n->let_go = true;
    for (jpy_saved *s = d->saved, *end = s + n->n_in + n->n_out; s < end; s++)
        if (s->kind == JANUS_KIND_TENSOR) {
            s->kind = JANUS_KIND_NONE;
            janus_tensor_release(s->t);
        }
}

static void op_destroy(jpy_node *n) {
    jn_call_kind *kind = ((op_data *)jpy_node_data(n))->kind;
    op_release_saved(n);
    if (kind && --jn_call_kind_note(kind)->nodes == 0)
        jn_call_kind_release(kind);
}

const jpy_node_class jpy_op_class = {
    NULL, op_backward, op_release_saved, op_destroy, NULL, true,
};

const char *jpy_op_node_name(const jpy_node *n) {
    return ((const op_data *)jpy_node_data((jpy_node *)n))->op->name;
}

/* ---- running ------------------------------------------------------------------------------------
 */

enum { RELEASE_FROM = 32768 }; /* elements from which the interpreter lock is let go */

static bool heavy(const jpy_val *in, unsigned n_in) {
    if (jn_eager_hook) /* the converter needs the lock, and computes nothing */
        return false;
    int64_t n = 0;
    for (unsigned i = 0; i < n_in; i++)
        if (in[i].kind == JANUS_KIND_TENSOR)
            n += in[i].t->numel;
    return n >= RELEASE_FROM;
}

static bool same_kind(const jpy_val *a, const jpy_val *b) {
    if (a->kind == JANUS_KIND_TENSOR && a->t->form && a->t->form == b->t->form)
        return true;
    if (a->kind != JANUS_KIND_TENSOR || a->t->dtype != b->t->dtype || a->t->rank != b->t->rank ||
        !a->t->contiguous)
        return false;
    for (int i = 0; i < a->t->rank; i++)
        if (a->t->dims[i] != b->t->dims[i])
            return false;
    return true;
}

/* Whether the short way of eager.h serves: small tensors of one type. */
static bool short_way(const jn_op *op, const jpy_val *in, unsigned n_in) {
    return n_in <= 2 && n_in == op->n_in_max && jn_eager_is_like(op) &&
           in[n_in - 1].kind == JANUS_KIND_TENSOR && in[n_in - 1].t->contiguous &&
           in[n_in - 1].t->numel < RELEASE_FROM && in[n_in - 1].t->dtype <= JANUS_F64 &&
           (n_in == 1 || same_kind(&in[0], &in[1]));
}

/* The kernel, with the lock let go for large operands. */
static janus_status call_op(const jn_op *op, const jpy_val *in, unsigned n_in, const void *attrs,
                            janus_tensor **out, unsigned n_out) {
    for (unsigned i = 0; i < n_in && i < 2; i++) /* which the result gets */
        if (in[i].kind == JANUS_KIND_TENSOR)
            (void)jn_tensor_form(in[i].t);
    if (short_way(op, in, n_in))
        return n_in == 1 ? jn_eager_unary(&jn_this, op, in[0].t, out)
                         : jn_eager_binary(&jn_this, op, in[0].t, in[1].t, out);
    jn_eager_arg few[8], *args = few;
    if (n_in > 8 && !(args = jn_alloc(n_in * sizeof *args)))
        return JN_NO_MEMORY();
    for (unsigned i = 0; i < n_in; i++) {
        args[i].kind = in[i].kind;
        args[i].s = in[i].s; /* the widest member */
    }
    janus_status st = JANUS_OK;
    if (heavy(in, n_in)) {
        PyThreadState *released = PyEval_SaveThread();
        st = jn_eager(op, args, n_in, attrs, out, n_out);
        PyEval_RestoreThread(released);
    } else {
        st = jn_eager(op, args, n_in, attrs, out, n_out);
    }
    if (args != few)
        jn_free(args);
    return st;
}
_Static_assert(sizeof(janus_scalar) == sizeof(janus_tensor *), "the members of jpy_val's union");

bool jpy_should_record(const jn_op *op, const jpy_val *in, unsigned n_in) {
    return !jpy_no_grad_mode && op->grad && jpy_any_tracked(in, n_in);
}

int jpy_apply(const jn_op *op, const jpy_val *in, unsigned n_in, const void *attrs,
              janus_tensor **out, unsigned n_out, jpy_node **out_node) {
    *out_node = NULL;
    janus_tensor *y[JN_EAGER_MAX_OUT];
    if (jpy_check(call_op(op, in, n_in, attrs, y, n_out)) < 0)
        return -1;
    if (jpy_should_record(op, in, n_in)) {
        *out_node = jpy_record(&jn_this, op, in, n_in, attrs, y, n_out, NULL);
        if (!*out_node) {
            for (unsigned i = 0; i < n_out; i++)
                janus_tensor_release(y[i]);
            return -1;
        }
    }
    memcpy(out, y, n_out * sizeof *out);
    return 0;
}

/* ---- the eager emitter --------------------------------------------------------------------------
 */

typedef struct entry {
    jpy_val v;
    jn_type type;
    bool owned;
} entry;

enum { ROOM = 24 };

typedef struct eager_emitter {
    jn_emitter base;
    entry *entries;
    size_t n, cap;
    bool create_graph, raised;
    entry room[ROOM];
} eager_emitter;

static jn_ev push(eager_emitter *e, jpy_val v, const jn_type *type, bool owned) {
    if (e->n == e->cap) {
        entry *more = jn_alloc(2 * e->cap * sizeof *more);
        if (!more)
            return JN_EV_NONE;
        memcpy(more, e->entries, e->n * sizeof *more);
        if (e->entries != e->room)
            jn_free(e->entries);
        e->entries = more;
        e->cap *= 2;
    }
    entry *x = &e->entries[e->n++];
    x->v = v;
    x->type = type ? *type : jpy_val_type(&v);
    x->owned = owned;
    return (jn_ev){e->n};
}

static entry *entry_of(eager_emitter *e, jn_ev v) { return &e->entries[v.bits - 1]; }

static janus_status emit(jn_emitter *base, const jn_op *op, const jn_ev *in, unsigned n_in,
                         const void *attrs, jn_ev *out, unsigned n_out) {
    eager_emitter *e = (eager_emitter *)(void *)base;
    jpy_val few[8], *vals = few;
    if (n_in > 8 && !(vals = jn_alloc(n_in * sizeof *vals)))
        return JN_NO_MEMORY();
    for (unsigned i = 0; i < n_in; i++) {
        vals[i] = jn_ev_is_none(in[i]) ? JPY_VAL_NONE : entry_of(e, in[i])->v;
        if (vals[i].kind == JN_EAGER_LIKE)
            vals[i].like = &entry_of(e, in[i])->type;
    }
    union {
        max_align_t align;
        char bytes[512];
    } defaults;
    janus_status st = JANUS_OK;
    if (!attrs && op->attr_size) {
        st = op->attr_size <= sizeof defaults ? jn_attrs_default(op, &defaults)
                                              : jn_error(JANUS_INTERNAL, "attributes too large");
        attrs = &defaults;
    }
    janus_tensor *y[JN_EAGER_MAX_OUT];
    jpy_node *node = NULL;
    if (st != JANUS_OK) {
    } else if (e->create_graph) {
        if (jpy_apply(op, vals, n_in, attrs, y, n_out, &node) < 0) {
            e->raised = true;
            st = JANUS_INTERNAL;
        }
    } else {
        st = call_op(op, vals, n_in, attrs, y, n_out);
    }
    if (vals != few)
        jn_free(vals);
    if (st != JANUS_OK)
        return st;
    for (unsigned i = 0; i < n_out; i++) {
        jpy_edge edge = {NULL, NULL, i};
        if (node && jn_dtype_is_float(y[i]->dtype)) {
            edge.node = node;
            jpy_node_retain(node);
        }
        out[i] = push(e, jpy_val_tensor(y[i], edge), NULL, true);
        if (jn_ev_is_none(out[i])) {
            jpy_edge_release(edge);
            for (; i < n_out; i++)
                janus_tensor_release(y[i]);
            st = JN_NO_MEMORY();
        }
    }
    jpy_node_release(node);
    return st;
}

static janus_status emit_scalar(jn_emitter *base, janus_kind kind, janus_scalar v, jn_ev *out) {
    eager_emitter *e = (eager_emitter *)(void *)base;
    *out = push(e, (jpy_val){.kind = (uint8_t)kind, .s = v}, NULL, false);
    return jn_ev_is_none(*out) ? JN_NO_MEMORY() : JANUS_OK;
}

static const jn_type *type_of(jn_emitter *base, jn_ev v) {
    return &entry_of((eager_emitter *)(void *)base, v)->type;
}

static const jn_emitter_ops emitter_ops = {emit, emit_scalar, type_of};

static void emitter_done(eager_emitter *e) {
    for (size_t i = 0; i < e->n; i++)
        if (e->entries[i].owned)
            jpy_val_release(&e->entries[i].v);
    if (e->entries != e->room)
        jn_free(e->entries);
}

/* ---- backward
 * ------------------------------------------------------------------------------------
 */

/* Operand or result i as the rule may see it. */
static jn_ev visible(eager_emitter *e, jpy_node *n, unsigned i) {
    const op_data *d = jpy_node_data(n);
    const jpy_saved *s = &d->saved[i];
    const jn_type *type = &d->types[i];
    if (type->kind == JANUS_KIND_NONE)
        return JN_EV_NONE;
    if (s->kind == JANUS_KIND_TENSOR) {
        jpy_edge edge = i < n->n_in ? n->edges[i] : (jpy_edge){n, NULL, i - n->n_in};
        if (!jn_dtype_is_float(s->t->dtype))
            edge = (jpy_edge){0};
        return push(e, jpy_val_tensor(s->t, edge), type, false);
    }
    if (s->kind != JANUS_KIND_NONE)
        return push(e, (jpy_val){.kind = s->kind, .s = s->s}, type, false);
    return push(e, (jpy_val){.kind = JN_EAGER_LIKE, .like = type}, type, false);
}

static int take_din(eager_emitter *e, jpy_node *n, const jn_ev *ev, const bool *want,
                    jpy_val *din) {
    for (unsigned i = 0; i < n->n_in; i++) {
        if (!want[i] || jn_ev_is_none(ev[i]))
            continue;
        const entry *x = entry_of(e, ev[i]);
        if (x->v.kind != JANUS_KIND_TENSOR) {
            PyErr_Format(PyExc_RuntimeError, "internal: the gradient of %s is no tensor",
                         jpy_op_node_name(n));
            return -1;
        }
        din[i] = x->v;
        janus_tensor_retain(din[i].t);
        if (!e->create_graph)
            din[i].edge = (jpy_edge){0};
        jpy_edge_retain(din[i].edge);
    }
    return 0;
}

static int op_backward(jpy_node *n, const jpy_val *dout, const bool *want, jpy_val *din,
                       bool create_graph) {
    op_data *d = jpy_node_data(n);
    if (n->freed && n->has_saved)
        return jpy_raise_freed();
    unsigned n_values = (unsigned)n->n_in + n->n_out;
    for (unsigned i = 0; i < n_values; i++)
        if (jpy_saved_check(&d->saved[i], jpy_op_node_name(n), NULL) < 0)
            return -1;
    jn_ev few[24], *evs = few;
    unsigned n_evs = 2 * n->n_in + 2 * n->n_out;
    if (n_evs > 24 && !(evs = jn_alloc(n_evs * sizeof *evs)))
        return jpy_raise(JN_NO_MEMORY());
    eager_emitter e; /* its room is large: not cleared */
    e.base.ops = &emitter_ops;
    e.entries = e.room;
    e.n = 0;
    e.cap = ROOM;
    e.create_graph = create_graph;
    e.raised = false;
    jn_ev *in = evs, *out = in + n->n_in, *dy = out + n->n_out, *dx = dy + n->n_out;
    for (unsigned i = 0; i < n_values; i++)
        evs[i] = visible(&e, n, i);
    for (unsigned i = 0; i < n->n_out; i++)
        dy[i] = dout[i].kind == JANUS_KIND_NONE ? JN_EV_NONE : push(&e, dout[i], NULL, false);
    for (unsigned i = 0; i < n->n_in; i++)
        dx[i] = JN_EV_NONE;
    jn_grad g = {&e.base, d->op, d->attrs, n->n_in, n->n_out, in, out, dy, want, dx};
    janus_status st = d->op->grad(&g);
    int rc = st == JANUS_OK ? take_din(&e, n, dx, want, din) : e.raised ? -1 : jpy_raise(st);
    emitter_done(&e);
    if (evs != few)
        jn_free(evs);
    return rc;
}

int jpy_val_add(jpy_val *a, jpy_val *b, bool create_graph, jpy_val *out) {
    const jn_op *add = JN_OP(add);
    int rc = 0;
    if (!create_graph && atomic_load_explicit(&a->t->refs, memory_order_relaxed) == 1 &&
        atomic_load_explicit(&a->t->storage->refs, memory_order_relaxed) == 1 && a->t->contiguous &&
        a->t->dtype == b->t->dtype) {
        jn_eager_arg args[2] = {{.kind = JANUS_KIND_TENSOR, .t = a->t},
                                {.kind = JANUS_KIND_TENSOR, .t = b->t}};
        rc = jpy_check(jn_eager_into(add, args, 2, NULL, a->t));
        if (rc == 0)
            *out = *a;
        else
            jpy_val_release(a);
        jpy_val_release(b);
        return rc;
    }
    jpy_val in[2] = {*a, *b};
    janus_tensor *y;
    jpy_node *node;
    rc = jpy_apply(add, in, 2, NULL, &y, 1, &node);
    jpy_val_release(a);
    jpy_val_release(b);
    if (rc == 0)
        *out = jpy_val_tensor(y, (jpy_edge){node, NULL, 0});
    return rc;
}
