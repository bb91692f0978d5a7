/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a conversion: the state that differs from the start becomes the entry's effects, and
 * what leaves the graph becomes recipes that make it at commit (recipe.c).
 */
#include "pyfront/convert/finish/finish.h"

#include <stdlib.h>

#include "graph/passes/passes.h"
#include "ops/op_ids.h"
#include "pyfront/convert/finish/recipe.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/values.h"
#include "pyfront/verify/verify.h"

static void add_step(jcv *c, jcv_finishing *f, jpy_commit_kind kind, uint32_t slot, PyObject *key,
                     jpy_recipe *value) {
    jpy_commit_step s = {
        .kind = kind, .slot = slot, .key = jpy_guards_own(&f->e->guards, key), .value = value};
    if (!jn_vec_push(&f->e->steps, s))
        jcv_refuse(c, "out of memory");
}

static void list_attr(jcv_attr **list, size_t *n, jcv_attr *a) {
    for (size_t i = 0; i < *n; i++)
        if (list[i] == a)
            return;
    list[(*n)++] = a;
}

/* Attributes that an object gets in the order in which they were set; then all others. */
static jcv_attr **attrs_in_order(jcv *c, size_t *n) {
    jcv_attr **list = jcv_alloc(c, (c->attrs.n + 1) * sizeof *list);
    *n = 0;
    for (size_t i = 0; i < c->attrs.n; i++) {
        PyObject *o = c->attrs.data[i]->object;
        if (!jcv_is_order(c->attrs.data[i]) || jcv_is_fresh(c, o))
            continue;
        jcv_av *names = jcv_attr_order(c, o);
        for (unsigned k = 0; k < names->n; k++)
            list_attr(list, n, jcv_find_attr(c, o, names->items[k]->py));
    }
    for (size_t i = 0; i < c->attrs.n; i++)
        if (!jcv_is_order(c->attrs.data[i]) && !jcv_is_fresh(c, c->attrs.data[i]->object))
            list_attr(list, n, c->attrs.data[i]);
    return list;
}

static void finish_attrs(jcv *c, jcv_finishing *f) {
    size_t n;
    jcv_attr **list = attrs_in_order(c, &n);
    for (size_t i = 0; i < n; i++) {
        jcv_attr *a = list[i];
        jcv_av *now = c->slots.data[a->slot];
        if (jcv_av_equal(now, a->first))
            continue;
        bool deleted = jcv_lacks(now, LACK_DELETED);
        if (now->kind == AV_UNDEF && !deleted)
            jcv_refuse(c, "an attribute: %s", now->text);
        if (!a->src && !a->name)
            continue; /* it leaves with its tensor */
        if (!a->src)
            jcv_refuse(c, "an attribute of an object made here is written");
        bool global = PyDict_CheckExact(a->object); /* those of a subclass are an instance */
        for (Py_ssize_t k = 0; a->name && !global && k < PyList_GET_SIZE(c->attr_names); k++)
            if (PyUnicode_Compare(PyList_GET_ITEM(c->attr_names, k), a->name) == 0 &&
                !PyCell_Check(a->object))
                jcv_make_live_attr(c, Py_TYPE(a->object), a->name);
        jpy_commit_kind kind = deleted    ? JPY_COMMIT_DEL
                               : global   ? JPY_COMMIT_GLOBAL
                               : !a->name ? JPY_COMMIT_GRAD
                                          : JPY_COMMIT_ATTR;
        add_step(c, f, kind, a->src->slot, a->name, jcv_recipe(c, f, deleted ? jcv_none(c) : now));
    }
}

jcv_av *jcv_written_pairs(jcv *c, jcv_av *d) {
    jcv_av *t = c->slots.data[d->slot], *out = jcv_tuple(c, t->items, t->n);
    out->n = 0;
    for (unsigned i = 0; i + 1 < t->n; i += 2) {
        jcv_av *v = t->items[i + 1];
        if (v->kind == AV_UNDEF)
            jcv_refuse(c, "an item of a dict: %s", v->text);
        out->items[out->n++] = t->items[i];
        out->items[out->n++] = v;
    }
    return out;
}

static void finish_containers(jcv *c, jcv_finishing *f) {
    for (size_t i = 0; i < c->real.n; i++) {
        jcv_av *x = c->real.data[i];
        if (!x->origin->src)
            continue; /* it leaves with its instance */
        if (x->kind == AV_DICT ? c->host_keys : c->host_items)
            jcv_make_live(c, x);
        jcv_av *seq = c->slots.data[x->slot];
        if (jcv_av_equal(seq, c->slot_init.data[x->slot]))
            continue;
        if (seq->kind == AV_UNDEF)
            jcv_refuse(c, "a container: %s", seq->text);
        jcv_av *pairs = x->kind == AV_DICT ? jcv_written_pairs(c, x) : seq;
        jpy_recipe *r = jcv_entry_alloc(c, f->e, sizeof *r);
        r->kind = x->kind == AV_DICT ? JPY_MAKE_DICT : JPY_MAKE_LIST;
        r->n = pairs->n;
        r->items = jcv_entry_alloc(c, f->e, pairs->n * sizeof(jpy_recipe *));
        for (unsigned k = 0; k < pairs->n; k++)
            r->items[k] = jcv_recipe(c, f, pairs->items[k]);
        add_step(c, f,
                 x->kind == AV_LIST         ? JPY_COMMIT_LIST
                 : seq->text == jcv_cleared ? JPY_COMMIT_CLEAR
                 : jcv_is_whole(seq)        ? JPY_COMMIT_WHOLE
                                            : JPY_COMMIT_DICT,
                 x->origin->src->slot, NULL, r);
        f->e->steps.data[f->e->steps.n - 1].put = jcv_pairs_put(seq);
    }
}

static const jn_storage *storage_of(const jcv_rec *r) {
    return ((jpy_tensor *)r->proxy)->t->storage;
}

static int by_storage(const void *a, const void *b) {
    uintptr_t x = (uintptr_t)storage_of(*(jcv_rec *const *)a);
    uintptr_t y = (uintptr_t)storage_of(*(jcv_rec *const *)b);
    return (x > y) - (x < y);
}

/* What is written is the only tensor in its memory.  Of an unrolled epoch there are a hundred
 * thousand: they are sorted, not compared two by two. */
static void written_alone(jcv *c) {
    size_t n = 0;
    for (jcv_rec *r = c->recs; r; r = r->next)
        n += r->proxy != NULL;
    jcv_rec **all = jcv_alloc(c, (n + 1) * sizeof *all);
    n = 0;
    for (jcv_rec *r = c->recs; r; r = r->next)
        if (r->proxy)
            all[n++] = r;
    qsort(all, n, sizeof *all, by_storage);
    bool shared = false;
    for (size_t i = 0, end; i < n; i = end) {
        bool written = false;
        for (end = i; end < n && storage_of(all[end]) == storage_of(all[i]); end++)
            written = written || all[end]->written;
        shared = shared || (written && end - i > 1);
        for (size_t k = i; k < end && end - i > 1 && !c->one_tensor; k++)
            for (size_t q = i; q < end && all[k]->written; q++)
                if (q != k && all[q]->proxy == all[k]->proxy) {
                    c->one_tensor = true;
                    snprintf(c->reason, sizeof c->reason, "a tensor with two sources is written");
                    jcv_throw_now(c, THROW_RESTART);
                }
    }
    if (shared)
        jcv_refuse(c, "a tensor is written that shares memory with another");
}

/* Whether versions count what is written to it, of a STORE, and how many more than one. */
static void count_of(jcv *c, jcv_rec *r, jpy_commit_step *step) {
    step->more = r->may_count || !r->n_counted ? 0 : r->n_counted - 1;
    step->uncounted = r->wrote_uncounted && !r->n_counted;
    if (!step->uncounted || !r->may_count)
        return;
    if (!r->counted) {
        c->counts = true;
        snprintf(c->reason, sizeof c->reason,
                 "a tensor is written on some paths, and by way of .data");
        jcv_throw_now(c, THROW_RESTART);
    }
    jcv_av *counted = c->slots.data[r->counted];
    step->uncounted = counted->kind == AV_PY && counted->py == Py_False;
    if (counted->kind != AV_PY)
        step->counted = jcv_add_result(c, jcv_number(c, counted)) + 1;
}

static void finish_tensors(jcv *c, jcv_finishing *f) {
    bool any = false;
    for (jcv_rec *r = c->recs; r; r = r->next) {
        jcv_av *when = r->when ? c->slots.data[r->when] : NULL;
        if (!r->src || !r->written || (when->kind == AV_PY && when->py == Py_False))
            continue;
        if (((jpy_tensor *)jcv_proxy_of(c, r)->py)->node)
            jcv_refuse(c, "a tensor of the caller is written and gets a history");
        any = true;
        jpy_recipe *x = jcv_entry_alloc(c, f->e, sizeof *x);
        x->kind = JPY_MAKE_RESULT;
        jcv_val *v = jcv_held(c, r);
        while (v->node && v->node->op == JN_OP(detach)) /* numbers are stored, without history */
            v = v->node->in[0];
        x->slot = jcv_add_result(c, v);
        if (r->moved && (jcv_saved(r, false) || jcv_views_others(c, v)))
            jcv_refuse(c, "the data of a tensor is set, and a gradient or a view is of it");
        add_step(c, f, r->moved ? JPY_COMMIT_DATA : JPY_COMMIT_STORE, r->src->slot, NULL, x);
        uint32_t done = when->kind != AV_PY ? jcv_add_result(c, jcv_number(c, when)) + 1 : 0;
        jpy_commit_step how = {0};
        count_of(c, r, &how);
        f->e->steps.data[f->e->steps.n - 1].uncounted = how.uncounted;
        f->e->steps.data[f->e->steps.n - 1].counted = how.counted;
        f->e->steps.data[f->e->steps.n - 1].more = how.more;
        f->e->steps.data[f->e->steps.n - 1].when = done;
        if (!jn_vec_push(&f->e->guards.written, r->src->slot))
            jcv_refuse(c, "out of memory");
    }
    if (any)
        written_alone(c);
}

/* Two ways may lead to one object (`net.l1` and an item of `net._modules`).  Of those that have to
 * be distinct only the first is compared with others, the later ones have to be it. */
static void guard_ways(jcv *c, PyObject *const *now) {
    jpy_guards *g = c->guards;
    size_t n = 0;
    for (size_t i = 0; i < g->identity.n; i++) { /* which grows */
        jpy_src *s = g->srcs.data[g->identity.data[i]];
        uint32_t first = 0;
        while (now[first] != now[s->slot])
            first++;
        if (first == s->slot || !now[first]) {
            g->identity.data[n++] = s->slot;
            continue;
        }
        if (!(s->checks & JPY_CHECK_SAME)) {
            s->checks |= JPY_CHECK_SAME;
            s->same = first;
        } else {
            first = (uint32_t)s->same;
        }
        if (!jpy_guards_distinct(g, first))
            jcv_refuse(c, "out of memory");
    }
    g->identity.n = n;
}

/* Tensors of the caller whose requires_grad is another than it was. */
static void finish_flags(jcv *c, jcv_finishing *f) {
    for (jcv_rec *r = c->recs; r; r = r->next) {
        const jpy_tensor *now = (const jpy_tensor *)r->obj;
        if (!r->flagged || now->requires_grad == r->src->tensor.requires_grad)
            continue;
        jpy_recipe *x = jcv_entry_alloc(c, f->e, sizeof *x);
        x->kind = JPY_MAKE_CONST;
        x->obj = now->requires_grad ? Py_True : Py_False;
        x->obj = jpy_guards_own(&f->e->guards, x->obj);
        add_step(c, f, JPY_COMMIT_FLAG, r->src->slot, NULL, x);
    }
}

/* Objects that are written, and others of their types: which of them are one must not change. */
static void guard_aliases(jcv *c) {
    jpy_guards *g = c->guards;
    PyObject **now = jcv_alloc(c, (g->srcs.n + 1) * sizeof *now);
    for (size_t i = 0; i < g->srcs.n; i++)
        now[i] = jpy_src_read(g->srcs.data[i], jpy_src_in(g->srcs.data[i]->parent, now),
                              jpy_src_in(g->srcs.data[i]->by, now), c->call);
    for (size_t w = 0; w < g->srcs.n; w++) {
        bool written = false;
        for (size_t k = 0; k < c->attrs.n && now[w]; k++)
            written = written || (c->attrs.data[k]->object == now[w] && c->attrs.data[k]->name);
        for (size_t k = 0; k < c->real.n && now[w]; k++)
            written = written || c->real.data[k]->origin->py == now[w];
        for (jcv_live *l = c->lives; l && now[w]; l = l->next)
            written = written || (l->object == now[w] && l->name);
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
                g->srcs.data[i]->same = (int64_t)first;
            }
        }
    }
    guard_ways(c, now);
}

static PyObject *types_of_met(jcv *c) {
    PyObject *types = jcv_own(c, PyList_New(0));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(c->met); i++) {
        PyObject *type = (PyObject *)Py_TYPE(PyList_GET_ITEM(c->met, i));
        if (!jcv_list_has(types, type) && PyList_Append(types, type) < 0)
            jcv_refuse_py(c);
    }
    if (!jpy_guards_own(c->guards, types))
        jcv_refuse(c, "out of memory");
    return types;
}

/* Whether what is stored requires grad must be known where it remains; what is read back from a
 * container that the run makes may be the one or the other. */
static void finish_stored(jcv *c, jpy_entry *e, jcv_val *v) {
    if (jcv_tracked_certain(c, v))
        return;
    bool outside = jcv_may_remain(c);
    for (size_t i = 0; i < c->stored_outside.n && !outside; i++)
        outside = c->stored_outside.data[i] == v;
    if (outside)
        jcv_refuse(c, "a tensor is stored that requires grad on some paths only");
    if (!c->mixed_stores) {
        c->mixed_stores = true;
        snprintf(c->reason, sizeof c->reason, "a tensor stored requires grad on some paths only");
        jcv_throw_now(c, THROW_RESTART);
    }
    jcv_put_if_tracked(c, v);
    e->local = true; /* the run is discarded where one remains */
}

/* What the graph writes must be apart from what it does not know to be written. */
static void finish_live(jcv *c, jpy_entry *e) {
    jpy_guards *g = c->guards;
    e->wires = c->wires && c->stored_tracked.n;
    /* what arrives at a leaf that a run has found is known behind its gradient alone */
    if (e->wires && c->met && !c->backwards && !c->asks_gradients && !c->f->checkpoint)
        e->finds = types_of_met(c);
    for (size_t i = 0; i < c->stored_tracked.n; i++) {
        jcv_val *v = c->stored_tracked.data[i];
        bool bound = !v->node && v->ctx == c->main; /* it stays the object that it is */
        e->local = e->local || !(bound || jcv_history_surely_used(c, v));
    }
    for (size_t i = 0; i < c->stored_tracked.n; i++)
        if (jcv_history_rewritten(c, c->stored_tracked.data[i]))
            jcv_refuse(c, "what a gradient needs is written under another name");
    for (size_t i = 0; i < c->stored_tracked.n; i++)
        finish_stored(c, e, c->stored_tracked.data[i]);
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

static void mark_used(jpy_entry *e, jn_value v) {
    if (v.node == 0 && v.index < e->inputs.n)
        e->inputs.data[v.index].used = true;
}

static void find_used(jpy_entry *e) {
    for (size_t i = 1; i < e->main->nodes.n; i++)
        for (uint32_t k = 0; k < e->main->nodes.data[i]->n_in; k++)
            mark_used(e, e->main->nodes.data[i]->in[k]);
    for (size_t i = 0; i < e->main->results.n; i++)
        mark_used(e, e->main->results.data[i]);
}

static void kept_by(jpy_entry *e, const jpy_recipe *r) {
    if (r->kind == JPY_MAKE_RESULT)
        e->lent[r->slot] = false;
    unsigned n = r->kind == JPY_MAKE_VIEW ? 1 : r->n; /* it counts its views */
    for (unsigned i = 0; i < n && r->items; i++)
        kept_by(e, r->items[i]);
}

static void find_lent(jcv *c, jpy_entry *e) {
    e->lent = jcv_entry_alloc(c, e, e->n_results + e->n_frames + 1);
    for (size_t i = 0; i < e->steps.n; i++)
        if (e->steps.data[i].kind == JPY_COMMIT_STORE)
            e->lent[e->steps.data[i].value->slot] = true;
    for (size_t i = 0; i < e->steps.n; i++)
        if (e->steps.data[i].kind != JPY_COMMIT_STORE)
            kept_by(e, e->steps.data[i].value);
    kept_by(e, e->result);
    if (e->held)
        kept_by(e, e->held);
    for (size_t i = 0; i < e->grad_of.n && i < e->n_results; i++)
        if (e->grad_of.data[i])
            e->lent[i] = false;
}

/* Whether a call changes what others may see: not what it does to containers of its own. */
static bool has_effects(const jcv *c, const jpy_entry *e) {
    bool outside = e->steps.n || c->n_outside || (c->n_effects && !c->lives);
    for (const jcv_live *l = c->lives; l && !outside; l = l->next)
        outside = !l->site;
    return outside;
}

/* Conditions of branches of main that lead to what has a history, and how many rounds loops go:
 * which arm is taken decides what backward() uses up, and what must not be written until then
 * (history.c). */
static void arms_are_results(jcv *c) {
    unsigned most = 0;
    for (size_t k = 0; k < c->main->nodes.n && most < JPY_MAX_ARMS / 2; k++) {
        const jcv_node *n = c->main->nodes.data[k];
        bool depends = false;
        for (unsigned i = 0; i < n->n_out; i++)
            depends = depends || n->out[i].depends;
        bool branch = depends && n->kind == JCV_OP && n->op->role == JN_ROLE_IF &&
                      n->in[0]->type->kind == JANUS_KIND_BOOL;
        bool rounds = depends && n->kind == JCV_OP && n->op->role == JN_ROLE_FOREACH;
        if (!branch && !rounds)
            continue;
        jcv_add_result(c, n->in[0]);
        most++;
    }
}

/* Which tensors of the caller hold, once the graph has written them, what a gradient of something
 * that leaves needs. */
static void find_needed(jcv *c, jpy_entry *e) {
    JCV_LIST(jcv_val *) leave = {0};
    for (size_t i = 0; i < e->grad_of.n; i++)
        if (e->grad_of.data[i])
            jcv_add(c, &leave, c->main->results.data[i]);
    for (size_t i = 0; i < c->stored_tracked.n; i++)
        jcv_add(c, &leave, c->stored_tracked.data[i]);
    uint32_t mark = jcv_mark_reach(c, leave.data, (unsigned)leave.n);
    for (const jcv_rec *r = c->recs; r; r = r->next)
        for (size_t i = 0; r->src && i < e->steps.n; i++)
            if (e->steps.data[i].kind == JPY_COMMIT_STORE && e->steps.data[i].slot == r->src->slot)
                e->steps.data[i].needed = jcv_saved_for(r->root, mark);
}

/* What recursions that were not complete then have left, which their gradients need. */
static void check_written(jcv *c) {
    for (const jcv_rec *r = c->recs; r; r = r->next)
        if (r->written && !r->parent && !r->src && r->val && jcv_result_saved(r->val))
            jcv_refuse(c, "an in-place write to a tensor that a gradient needs as it was");
}

void jcv_finish(jcv *c, jpy_entry *e, jcv_av *result) {
    jcv_finishing f = {.e = e};
    check_written(c);
    finish_tensors(c, &f);
    finish_flags(c, &f);
    finish_attrs(c, &f);
    finish_containers(c, &f);
    guard_aliases(c);
    finish_live(c, e);
    e->result = jcv_recipe(c, &f, result);
    jcv_hand_over(c, &f);
    jcv_check_stored(c);
    jcv_find_remains(c, e);
    find_needed(c, e);
    jcv_check_identity(c);
    for (size_t i = 0; i < c->inputs.n; i++) {
        jpy_input in = {c->inputs.data[i]->slot, c->main->params.data[i]->type->kind, false};
        if (!jn_vec_push(&e->inputs, in))
            jcv_refuse(c, "out of memory");
    }
    e->any_dims = c->symbols.n > 0;
    e->n_recipes = (uint32_t)f.ids.n;
    if (e->n_tracked)
        arms_are_results(c);
    e->n_results = (unsigned)c->main->results.n;
    jcv_keep_reads(c);
    if (e->n_tracked || e->remains)
        jcv_cut_untracked(c);
    jcv_join_alike(c);
    jcv_cut_unrecorded(c);
    jcv_ways_first(c);
    janus_status st = jn_module_new(&e->module);
    if (st == JANUS_OK)
        e->module->running_sums = c->f->exact;
    if (st == JANUS_OK)
        st = jcv_emit(c, e->module, &e->main);
    bool gradient = st == JANUS_OK && (e->n_tracked || e->remains);
    e->has_effects = has_effects(c, e);
    if (gradient && c->f->differentiated)
        jcv_refuse(c, "its gradients are differentiated again");
    if (gradient)
        st = jcv_add_gradient(e, c->f->exact);
    while (e->grad_of.n < e->n_results && st == JANUS_OK)
        if (!jn_vec_push(&e->grad_of, 0u))
            st = JN_NO_MEMORY();
    if (st == JANUS_OK)
        st = jn_optimize(e->module);
#ifdef JANUS_MUTATIONS
    if (st == JANUS_OK)
        jpy_mutate(e);
#endif
    if (st == JANUS_OK)
        st = jn_module_freeze(e->module);
    if (st != JANUS_OK && e->module && e->module->asks_rows && !c->rows) {
        c->rows = true;
        jcv_throw_now(c, THROW_RESTART);
    }
    if (st != JANUS_OK) {
        const janus_error *err = janus_last_error();
        jcv_refuse(c, "%s%s%s", err->message, err->n_context ? ", " : "",
                   err->n_context ? err->context[0] : "");
    }
    if (gradient)
        e->main = jn_module_find(e->module, "entry", 5);
    find_used(e);
    find_lent(c, e);
}
