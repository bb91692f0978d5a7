/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One conversion: from a function and the arguments of a call to a cached entry, or a reason.
 *
 * An attempt runs the function's tree on abstract values and may ask to start again with what it
 * learnt.  At the end the state that differs from the start becomes the entry's effects.
 */
#include "pyfront/convert/convert.h"

#include <string.h>

#include "graph/autodiff.h"
#include "graph/base/log.h"
#include "graph/pass.h"
#include "ops/op_ids.h"
#include "pyfront/py_rng.h"

enum { MAX_ATTEMPTS = 60 };

static void *entry_alloc(jcv *c, jpy_entry *e, size_t size) {
    void *p = jn_arena_zalloc(&e->arena, size + !size);
    if (!p)
        jcv_refuse(c, "out of memory");
    return p;
}

static uint32_t add_result(jcv *c, jcv_val *v) {
    for (size_t i = 0; i < c->main->results.n; i++)
        if (c->main->results.data[i] == v)
            return (uint32_t)i;
    if (!jn_vec_push(&c->main->results, v))
        jcv_refuse(c, "out of memory");
    return (uint32_t)c->main->results.n - 1;
}

typedef struct finishing {
    jpy_entry *e;
    JN_VEC(const void *) ids; /* address of what has an identity -> its recipe id, place + 1 */
    JN_VEC(jcv_rec *) escaped;
    JN_VEC(PyObject *) making; /* instances whose recipes are being written */
} finishing;

static uint32_t id_of(jcv *c, finishing *f, const void *p) {
    for (size_t i = 0; i < f->ids.n; i++)
        if (f->ids.data[i] == p)
            return (uint32_t)i + 1;
    if (!jn_vec_push(&f->ids, p))
        jcv_refuse(c, "out of memory");
    return (uint32_t)f->ids.n;
}

static jpy_recipe *recipe(jcv *c, finishing *f, jcv_av *a);

/* The number of a result at the region's tape node. */
static uint32_t tracked_result(jcv *c, finishing *f, uint32_t slot, jcv_val *v) {
    while (f->e->grad_of.n <= slot)
        if (!jn_vec_push(&f->e->grad_of, 0u))
            jcv_refuse(c, "out of memory");
    if (!f->e->grad_of.data[slot]) {
        /* the tape has one node for all results: none may come from another */
        for (uint32_t i = 0; i < f->e->grad_of.n; i++) {
            jcv_val *other = c->main->results.data[i];
            if (f->e->grad_of.data[i] && (jcv_reaches(c, v, other) || jcv_reaches(c, other, v)))
                jcv_refuse(c, "a result that requires grad is computed from another");
        }
        f->e->grad_of.data[slot] = ++f->e->n_tracked;
    }
    return f->e->grad_of.data[slot];
}

static jpy_recipe *tensor_recipe(jcv *c, finishing *f, jcv_av *a, jpy_recipe *r) {
    jcv_rec *rec = jcv_rec_of(c, ((jpy_tensor *)a->py)->t);
    if (a->src) {
        r->kind = JPY_MAKE_SOURCE;
        r->slot = a->src->slot;
        return r;
    }
    jcv_val *v = jcv_tensor_val(c, a->py);
    if (rec->root->src || (!v->node && v->ctx == c->main))
        jcv_refuse(c, "a view of a tensor of the caller leaves the graph");
    for (size_t i = 0; i < f->escaped.n; i++)
        if (f->escaped.data[i]->root == rec->root && f->escaped.data[i] != rec)
            jcv_refuse(c, "two views of one tensor leave the graph");
    jcv_leak(c, rec);
    if (!jn_vec_push(&f->escaped, rec))
        jcv_refuse(c, "out of memory");
    bool tracked = jpy_tensor_tracked((jpy_tensor *)a->py);
    if (tracked && ((jpy_tensor *)a->py)->requires_grad)
        jcv_refuse(c, "a new leaf that requires grad leaves the graph");
    r->kind = JPY_MAKE_RESULT;
    r->freed = tracked && c->backward_done;
    r->slot = add_result(c, v);
    if (tracked && !c->backward_done)
        r->grad = tracked_result(c, f, r->slot, v);
    r->id = id_of(c, f, a->py);
    return r;
}

/* An instance made here: a new one with these attributes. */
static jpy_recipe *instance_recipe(jcv *c, finishing *f, jcv_av *a, jpy_recipe *r) {
    jcv_av *attrs = jcv_fresh_attrs(c, a->py);
    r->kind = JPY_MAKE_OBJECT;
    r->obj = jpy_guards_own(&f->e->guards, (PyObject *)Py_TYPE(a->py));
    for (size_t i = 0; i < f->making.n; i++)
        if (f->making.data[i] == a->py)
            jcv_refuse(c, "an object that leads to itself leaves the graph");
    if (!jn_vec_push(&f->making, a->py))
        jcv_refuse(c, "out of memory");
    r->id = id_of(c, f, a->py);
    r->n = attrs->n;
    r->items = entry_alloc(c, f->e, attrs->n * sizeof(jpy_recipe *));
    for (unsigned i = 0; i < attrs->n; i++)
        r->items[i] = recipe(c, f, attrs->items[i]);
    (void)jn_vec_pop(&f->making);
    return r;
}

static jpy_recipe *recipe(jcv *c, finishing *f, jcv_av *a) {
    jpy_recipe *r = entry_alloc(c, f->e, sizeof *r);
    jcv_av *seq = NULL;
    switch (a->kind) {
    case AV_PY:
        if (a->text)
            jcv_refuse(c, "a %s leaves the graph", a->text);
        if (jcv_is_fresh(c, a->py))
            return instance_recipe(c, f, a, r);
        r->kind = a->src && !jcv_is_const(a) ? JPY_MAKE_SOURCE : JPY_MAKE_CONST;
        for (size_t i = 0; i < c->real.n; i++)
            if (c->real.data[i]->origin->py == a->py)
                a = c->real.data[i]->origin;
        if (r->kind == JPY_MAKE_SOURCE)
            r->slot = a->src->slot;
        else
            r->obj = jpy_guards_own(&f->e->guards, a->py);
        return r;
    case AV_TENSOR:
        return tensor_recipe(c, f, a, r);
    case AV_HOST:
    case AV_SCALAR:
        r->kind = JPY_MAKE_RESULT;
        r->slot = add_result(c, a->val);
        return r;
    case AV_TUPLE:
        if (a->py)
            jcv_refuse(c, "a named tuple leaves the graph");
        r->kind = JPY_MAKE_TUPLE;
        r->obj = jpy_guards_own(&f->e->guards, a->named);
        r->id = a->n ? id_of(c, f, a) : 0;
        seq = a;
        break;
    case AV_LIST:
    case AV_DICT:
        if (a->origin) {
            r->kind = JPY_MAKE_SOURCE;
            r->slot = a->origin->src->slot;
            return r;
        }
        r->kind = a->kind == AV_LIST ? JPY_MAKE_LIST : JPY_MAKE_DICT;
        r->id = id_of(c, f, c->slot_init.data[a->slot]);
        seq = c->slots.data[a->slot];
        break;
    case AV_UNDEF:
        jcv_refuse(c, "a result: %s", a->text);
    default:
        jcv_refuse(c, "%s leaves the graph", jcv_describe(a));
    }
    r->n = seq->n;
    r->items = entry_alloc(c, f->e, seq->n * sizeof(jpy_recipe *));
    for (unsigned i = 0; i < seq->n; i++)
        r->items[i] = recipe(c, f, seq->items[i]);
    return r;
}

static void add_step(jcv *c, finishing *f, jpy_commit_kind kind, uint32_t slot, PyObject *key,
                     jpy_recipe *value) {
    jpy_commit_step s = {kind, slot, jpy_guards_own(&f->e->guards, key), value};
    if (!jn_vec_push(&f->e->steps, s))
        jcv_refuse(c, "out of memory");
}

static void finish_attrs(jcv *c, finishing *f) {
    for (size_t i = 0; i < c->attrs.n; i++) {
        jcv_attr *a = &c->attrs.data[i];
        jcv_av *now = c->slots.data[a->slot];
        if (jcv_av_equal(now, a->first) || jcv_is_fresh(c, a->object))
            continue;
        if (now->kind == AV_UNDEF)
            jcv_refuse(c, "an attribute: %s", now->text);
        if (!a->src)
            jcv_refuse(c, "an attribute of an object made here is written");
        for (Py_ssize_t k = 0; a->name && k < PyList_GET_SIZE(c->attr_names); k++)
            if (PyUnicode_Compare(PyList_GET_ITEM(c->attr_names, k), a->name) == 0)
                jcv_make_live_attr(c, Py_TYPE(a->object), a->name);
        add_step(c, f, a->name ? JPY_COMMIT_ATTR : JPY_COMMIT_GRAD, a->src->slot, a->name,
                 recipe(c, f, now));
    }
}

/* Pairs of a dict that are not just what was read from it. */
static jcv_av *written_pairs(jcv *c, jcv_av *d) {
    jcv_av *t = c->slots.data[d->slot], *out = jcv_tuple(c, t->items, t->n);
    out->n = 0;
    for (unsigned i = 0; i + 1 < t->n; i += 2) {
        jcv_av *v = t->items[i + 1];
        if (v->kind == AV_UNDEF)
            jcv_refuse(c, "an item of a dict: %s", v->text);
        if (v->src && v->src->kind == JPY_SRC_KEY && v->src->parent == d->origin->src)
            continue;
        out->items[out->n++] = t->items[i];
        out->items[out->n++] = v;
    }
    return out;
}

static void finish_containers(jcv *c, finishing *f) {
    for (size_t i = 0; i < c->real.n; i++) {
        jcv_av *x = c->real.data[i];
        if (c->host_items)
            jcv_make_live(c, x);
        jcv_av *seq = c->slots.data[x->slot];
        if (jcv_av_equal(seq, c->slot_init.data[x->slot]))
            continue;
        jcv_av *pairs = x->kind == AV_DICT ? written_pairs(c, x) : seq;
        jpy_recipe *r = entry_alloc(c, f->e, sizeof *r);
        r->kind = x->kind == AV_DICT ? JPY_MAKE_DICT : JPY_MAKE_LIST;
        r->n = pairs->n;
        r->items = entry_alloc(c, f->e, pairs->n * sizeof(jpy_recipe *));
        for (unsigned k = 0; k < pairs->n; k++)
            r->items[k] = recipe(c, f, pairs->items[k]);
        add_step(c, f, x->kind == AV_DICT ? JPY_COMMIT_DICT : JPY_COMMIT_LIST, x->origin->src->slot,
                 NULL, r);
    }
}

static void finish_tensors(jcv *c, finishing *f) {
    bool any = false;
    for (jcv_rec *r = c->recs; r; r = r->next) {
        if (!r->src || !r->written)
            continue;
        any = true;
        jpy_recipe *x = entry_alloc(c, f->e, sizeof *x);
        x->kind = JPY_MAKE_RESULT;
        x->slot = add_result(c, r->val);
        add_step(c, f, JPY_COMMIT_STORE, r->src->slot, NULL, x);
        if (!jn_vec_push(&f->e->guards.written, r->src->slot))
            jcv_refuse(c, "out of memory");
    }
    for (jcv_rec *r = c->recs; any && r; r = r->next)
        for (jcv_rec *q = c->recs; q; q = q->next)
            if (r != q && r->proxy && q->proxy && r->written &&
                ((jpy_tensor *)r->proxy)->t->storage == ((jpy_tensor *)q->proxy)->t->storage)
                jcv_refuse(c, "a tensor is written that shares memory with another");
}

/* Objects that are written, and others of their types: which of them are one must not change. */
static void guard_aliases(jcv *c) {
    jpy_guards *g = c->guards;
    PyObject **now = jcv_alloc(c, (g->srcs.n + 1) * sizeof *now);
    for (size_t i = 0; i < g->srcs.n; i++)
        now[i] = jpy_src_read(g->srcs.data[i],
                              g->srcs.data[i]->parent ? now[g->srcs.data[i]->parent->slot] : NULL,
                              c->call);
    for (size_t w = 0; w < g->srcs.n; w++) {
        bool written = false;
        for (size_t k = 0; k < c->attrs.n && now[w]; k++)
            written = written || (c->attrs.data[k].object == now[w] && c->attrs.data[k].name);
        for (size_t k = 0; k < c->real.n && now[w]; k++)
            written = written || c->real.data[k]->origin->py == now[w];
        for (size_t i = 0; written && i < g->srcs.n; i++) {
            if (!now[i] || Py_TYPE(now[i]) != Py_TYPE(now[w]))
                continue;
            size_t first = 0;
            while (now[first] != now[i])
                first++;
            if (first == i) {
                if (!jpy_guards_distinct(g, (uint32_t)i))
                    jcv_refuse(c, "out of memory");
            } else if (!(g->srcs.data[i]->checks & JPY_CHECK_SAME)) {
                g->srcs.data[i]->checks |= JPY_CHECK_SAME;
                g->srcs.data[i]->number = (int64_t)first;
            }
        }
    }
}

/* What the graph writes must be apart from what it does not know to be written. */
static void finish_live(jcv *c, jpy_entry *e) {
    jpy_guards *g = c->guards;
    if (c->live_tensors && c->two_views)
        jcv_refuse(c, "two views of one tensor leave the graph, which stores tensors");
    if (c->stored_tracked.n && !c->backward_done)
        jcv_refuse(c, "a tensor that requires grad is stored by the graph");
    for (size_t i = 0; i < g->srcs.n && c->live_containers; i++) {
        const jpy_src *s = g->srcs.data[i];
        const jpy_src *of = s->kind == JPY_SRC_ITEM || s->kind == JPY_SRC_KEY ? s->parent
                            : s->checks & (JPY_CHECK_LEN | JPY_CHECK_KEYS)    ? s
                                                                              : NULL;
        bool known = !of;
        for (size_t k = 0; k < e->looked.n && !known; k++)
            known = e->looked.data[k] == of->slot;
        if (!known && !jn_vec_push(&e->looked, of->slot))
            jcv_refuse(c, "out of memory");
    }
}

/* The first op that keeps a parameter for its gradient; NULL: none. */
static const char *keeper(const jn_subgraph *g, uint32_t param) {
    bool saved = false;
    for (size_t i = 0; i < g->saved.n; i++)
        saved = saved || (!g->saved.data[i].frame && g->saved.data[i].value.node == 0 &&
                          g->saved.data[i].value.index == param);
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        for (uint32_t k = 0; k < n->n_in; k++)
            if (n->in[k].node == 0 && n->in[k].index == param &&
                (n->subs[0] || (saved && (n->op->save >> (k < 15 ? k : 15) & 1))))
                return n->subs[0] ? "Graph" : n->op->name;
    }
    return saved ? "Graph" : NULL;
}

/* The SubGraph that runs main and keeps its frame, and main's gradient. */
static janus_status add_gradient(jpy_entry *e) {
    jn_subgraph *g = e->main, *s;
    uint64_t bits = 0;
    unsigned bit = 0, n = (unsigned)g->params.n, k = 0;
    for (size_t i = 0; i < g->result_types.n; i++) {
        const jn_type *t = g->result_types.data[i];
        if (t->kind != JANUS_KIND_TENSOR || !jn_dtype_is_float(t->dtype))
            continue;
        if (i < e->grad_of.n && e->grad_of.data[i])
            bits |= bit < 64 ? (uint64_t)1 << bit : 0;
        bit++;
    }
    if (bit > 64)
        return jn_error(JANUS_UNSUPPORTED, "too many results");
    JN_TRY(jn_grad_subgraph(g, bits, &e->grad_sub));
    for (unsigned p = 0; p < n; p++) {
        const jn_type *t = g->params.data[p].type;
        const jpy_src *src = e->guards.srcs.data[e->inputs.data[p].slot];
        const char *op = t->kind == JANUS_KIND_TENSOR ? keeper(g, p) : NULL;
        if (op && !jn_vec_push(&e->kept, ((jpy_kept){src->slot, op})))
            return JN_NO_MEMORY();
        if (t->kind != JANUS_KIND_TENSOR || !jn_dtype_is_float(t->dtype))
            continue;
        jpy_tracked x = {src->slot, k++};
        if (src->tensor.requires_grad && !jn_vec_push(&e->tracked, x))
            return JN_NO_MEMORY();
    }
    JN_TRY(jn_subgraph_declare(e->module, "entry", &s));
    size_t n_out = g->results.n + 1;
    jn_value *v = jn_alloc((n + n_out) * sizeof *v);
    if (!v)
        return JN_NO_MEMORY();
    janus_status st = JANUS_OK;
    for (unsigned p = 0; p < n && st == JANUS_OK; p++)
        st = jn_subgraph_add_param(s, g->params.data[p].name, g->params.data[p].type, false, &v[p]);
    jn_subgraph *subs[2] = {g, NULL};
    if (st == JANUS_OK)
        st = jn_build(s, JN_OP(invoke_save), v, n, NULL, subs, (jn_loc){0}, v + n, (unsigned)n_out);
    JN_VEC(const jn_type *) types = {0};
    for (size_t i = 0; i < n_out && st == JANUS_OK; i++)
        if (!jn_vec_push(&types, jn_value_type(s, v[n + i])))
            st = JN_NO_MEMORY();
    if (st == JANUS_OK)
        st = jn_subgraph_set_result_types(s, types.data, (unsigned)n_out);
    if (st == JANUS_OK)
        st = jn_subgraph_define(s, v + n, (unsigned)n_out);
    jn_vec_free(&types);
    jn_free(v);
    return st;
}

static void finish(jcv *c, jpy_entry *e, jcv_av *result) {
    finishing f = {.e = e};
    finish_tensors(c, &f);
    finish_attrs(c, &f);
    finish_containers(c, &f);
    guard_aliases(c);
    finish_live(c, e);
    for (size_t i = 0; i < c->prints.n; i++)
        add_step(c, &f, JPY_COMMIT_PRINT, 0, NULL, recipe(c, &f, c->prints.data[i]));
    e->result = recipe(c, &f, result);
    for (size_t i = 0; i < c->inputs.n; i++) {
        jpy_input in = {c->inputs.data[i]->slot, c->main->params.data[i]->type->kind};
        if (!jn_vec_push(&e->inputs, in))
            jcv_refuse(c, "out of memory");
    }
    e->n_recipes = (uint32_t)f.ids.n;
    e->n_results = (unsigned)c->main->results.n;
    jn_vec_free(&f.ids);
    jn_vec_free(&f.escaped);
    jn_vec_free(&f.making);
    janus_status st = jn_module_new(&e->module);
    if (st == JANUS_OK)
        st = jcv_emit(c, e->module, &e->main);
    bool gradient = st == JANUS_OK && e->n_tracked;
    if (gradient && e->steps.n)
        jcv_refuse(c, "it has effects and a result that requires grad");
    if (gradient)
        st = add_gradient(e);
    while (e->grad_of.n < e->n_results && st == JANUS_OK)
        if (!jn_vec_push(&e->grad_of, 0u))
            st = JN_NO_MEMORY();
    if (st == JANUS_OK)
        st = jn_optimize(e->module);
    if (st == JANUS_OK)
        st = jn_module_freeze(e->module);
    if (st != JANUS_OK) {
        const janus_error *err = janus_last_error();
        jcv_refuse(c, "%s%s%s", err->message, err->n_context ? ", " : "",
                   err->n_context ? err->context[0] : "");
    }
    if (gradient)
        e->main = jn_module_find(e->module, "entry", 5);
}

static jcv_av *start(jcv *c) {
    const jpy_call *call = c->call;
    Py_ssize_t n_kw = call->kwnames ? PyTuple_GET_SIZE(call->kwnames) : 0;
    jcv_args args = {.n_pos = (unsigned)call->n_pos, .n_kw = (unsigned)n_kw};
    args.pos = jcv_alloc(c, (size_t)(call->n_pos + 1) * sizeof *args.pos);
    args.kw = jcv_alloc(c, (size_t)(n_kw + 1) * sizeof *args.kw);
    args.names = jcv_alloc(c, (size_t)(n_kw + 1) * sizeof *args.names);
    for (Py_ssize_t i = 0; i < call->n_pos + n_kw; i++) {
        jpy_src *s = jpy_src_get(c->guards, JPY_SRC_ARG, NULL, NULL, NULL, i);
        jcv_av *a = jcv_wrap(c, call->args[i], s);
        if (i < call->n_pos) {
            args.pos[i] = a;
        } else {
            PyObject *name = PyTuple_GET_ITEM(call->kwnames, i - call->n_pos);
            Py_INCREF(name);
            PyUnicode_InternInPlace(&name);
            args.names[i - call->n_pos] = jcv_own(c, name);
            args.kw[i - call->n_pos] = a;
        }
    }
    PyObject *o = c->f->callable;
    jpy_src *s = jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, o, 0);
    return jcv_call(c, jcv_wrap(c, o, s), &args);
}

static void drop_attempt(jcv *c) {
    for (size_t i = c->owned.n; i-- > 0;)
        Py_DECREF(c->owned.data[i]);
    for (size_t i = 0; i < c->ctxs.n; i++) {
        jcv_ctx *x = c->ctxs.data[i];
        jn_vec_free(&x->params);
        jn_vec_free(&x->nodes);
        jn_vec_free(&x->results);
        jn_vec_free(&x->captures);
        jn_vec_free(&x->capture_values);
        jn_vec_free(&x->consts);
        jn_vec_free(&x->const_values);
    }
    jn_vec_free(&c->owned);
    jn_vec_free(&c->ctxs);
    jn_vec_free(&c->slots);
    jn_vec_free(&c->slot_init);
    jn_vec_free(&c->attrs);
    jn_vec_free(&c->real);
    jn_vec_free(&c->inputs);
    jn_vec_free(&c->prints);
    jn_vec_free(&c->made);
    jn_vec_free(&c->stored_tracked);
    jn_vec_free(&c->fresh);
    jn_vec_free(&c->tags);
    jn_arena_free(&c->arena);
}

static jpy_entry *new_entry(const jpy_call *call, bool grad_mode) {
    jpy_entry *e = jn_calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->refs = 1;
    jn_arena_init(&e->arena, 4096);
    jpy_guards_init(&e->guards);
    e->guards.n_pos = call->n_pos;
    e->guards.kwnames = jpy_guards_own(&e->guards, call->kwnames);
    e->guards.grad_mode = grad_mode;
    e->attr_names = PyList_New(0);
    e->type_list = PyList_New(0);
    return e;
}

static jcv_throw attempt(jcv *c, jpy_entry *e) {
    jcv_handler h = {.up = NULL};
    bool grad = !jpy_no_grad_mode;
    jn_arena_init(&c->arena, 1 << 16);
    c->guards = &e->guards;
    c->attr_names = e->attr_names;
    c->type_list = e->type_list;
    c->handler = &h;
    c->thrown = THROW_NONE;
    if (setjmp(h.env) == 0) {
        c->main = c->ctx = jcv_ctx_new(c, JCV_MAIN, "main", NULL);
        jcv_slot(c, jcv_none(c));
        finish(c, e, start(c));
        c->thrown = THROW_NONE; /* what was thrown on the way was dealt with */
    }
    jpy_no_grad_mode = !grad;
    PyErr_Clear();
    if (c->thrown == THROW_DEAD)
        snprintf(c->reason, sizeof c->reason, "a path that was not seen is needed");
    return c->thrown;
}

static jpy_entry *convert_once(jpy_function *f, const jpy_call *call, char *reason, size_t size) {
    jpy_entry *e = NULL;
    jcv_rec_fn *fns = NULL;
    jcv_live *lives = NULL;
    jn_arena keep;
    jn_arena_init(&keep, 0);
    jcv *outer = jcv_current;
    jn_eager_hook_fn hook = jn_eager_hook;
    for (int i = 0;; i++) {
        jcv *c = jn_calloc(1, sizeof *c);
        e = c ? new_entry(call, !jpy_no_grad_mode) : NULL;
        if (!e) {
            jn_free(c);
            snprintf(reason, size, "out of memory");
            break;
        }
        c->f = f;
        c->call = call;
        c->keep = keep;
        c->rec_fns = fns;
        c->lives = lives;
        for (jcv_live *l = lives; l; l = l->next)
            l->read = false;
        jcv_current = c;
        jn_eager_hook = jcv_hook;
        jcv_throw t = attempt(c, e);
        jn_eager_hook = hook;
        jcv_current = outer;
        keep = c->keep;
        fns = c->rec_fns;
        lives = c->lives;
        snprintf(reason, size, "%s", c->reason);
        drop_attempt(c);
        jn_free(c);
        if (t == THROW_NONE)
            break;
        jpy_entry_free(e);
        e = NULL;
        if (t != THROW_RESTART)
            break;
        if (i == MAX_ATTEMPTS) {
            snprintf(reason, size, "it does not settle");
            break;
        }
    }
    for (jcv_rec_fn *x = fns; x; x = x->next)
        for (unsigned i = 0; i < x->n_params; i++)
            Py_XDECREF(x->samples[i]);
    jcv_live_free(lives);
    jn_arena_free(&keep);
    return e;
}

/* Forgets that numbers were made inputs: some of them must be constants. */
static bool narrow_hints(jpy_function *f) {
    Py_ssize_t pos = 0;
    PyObject *k, *v;
    bool any = false;
    while (PyDict_Next(f->hints, &pos, &k, &v))
        if (v == Py_True) {
            PyDict_SetItem(f->hints, k, Py_False);
            any = true;
        }
    return any;
}

jpy_entry *jpy_convert(jpy_function *f, const jpy_call *call) {
    char reason[600] = "";
    jn_rng_state rng = *jpy_rng_default();
    jpy_entry *e = convert_once(f, call, reason, sizeof reason);
    if (!e && narrow_hints(f))
        e = convert_once(f, call, reason, sizeof reason);
    *jpy_rng_default() = rng;
    if (!e) {
        PyObject *s = PyUnicode_DecodeUTF8(reason, (Py_ssize_t)strlen(reason), "replace");
        Py_XSETREF(f->reason, s);
        return NULL;
    }
    jpy_note(f, "converted: %zu guards, %zu inputs, %u results, %zu effects", e->guards.srcs.n,
             e->inputs.n, e->n_results, e->steps.n);
    return e;
}
