/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builtins that take or make iterators.
 *
 * Where everything is known they work on tuples of abstract values; else they make sequences of
 * unknown length (sequence.c), or visit one with their state in slots.
 */
#include "pyfront/convert/values/values.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/tensors/tensors.h"

static jcv_av *number(jcv *c, long v) { return jcv_take(c, PyLong_FromLong(v)); }

jcv_av *jcv_iter(jcv *c, const char *what, jcv_av *const *items, unsigned n) {
    jcv_av *t = jcv_tuple(c, items, n), *a = jcv_new(c, AV_ITER);
    a->text = what;
    a->n = n;
    a->slot = jcv_slot(c, t);
    return a;
}

jcv_av *jcv_kw_of(const jcv_args *args, const char *name) {
    for (unsigned i = 0; i < args->n_kw; i++)
        if (PyUnicode_CompareWithASCIIString(args->names[i], name) == 0)
            return args->kw[i];
    return NULL;
}

/* Something whose length only the graph knows. */
static bool unknown(const jcv_av *a) {
    return a->kind == AV_HOST || a->kind == AV_SEQ ||
           (a->kind == AV_RANGE && (a->items[0]->kind != AV_PY || a->items[1]->kind != AV_PY ||
                                    a->items[2]->kind != AV_PY));
}

/* Items of `a`; NULL: only the graph knows how many. */
static jcv_av *all_of(jcv *c, jcv_av *a, const char *name) {
    jcv_av **items;
    unsigned n;
    if (unknown(a))
        return jcv_try_all(c, a);
    if (!jcv_items(c, a, &items, &n))
        jcv_refuse(c, "%s of %s", name, jcv_describe(a));
    return jcv_tuple(c, items, n);
}

/* The same for who does something with each item before the next one is made. */
static jcv_av *all_in_turn(jcv *c, jcv_av *a, const char *name) {
    jcv_done before = jcv_done_outside(c, a);
    jcv_av *t = all_of(c, a, name);
    if (t && jcv_done_any(c, &before))
        jcv_refuse(c, "%s of items with effects", name);
    return t;
}

typedef enum visits { VISITS_NONE, VISITS_VARIABLES, VISITS_MADE } visits;

/* All items of a generator, or NULL: making them has effects, as CPython has them between what is
 * done with them. */
static jcv_av *all_apart(jcv *c, jcv_av *g, const char *name) {
    jcv_done before = jcv_done_outside(c, g);
    jcv_state state = jcv_save(c);
    uint32_t epoch = c->epoch;
    jcv_ctx *outside = c->ctx, *trial = jcv_ctx_new(c, JCV_ARM, "items", outside);
    c->ctx = trial;
    jcv_av *t = all_of(c, g, name);
    c->ctx = outside;
    if (t && (jcv_done_changes(c, &before) || jcv_done_any(c, &before))) {
        jcv_restore(c, state);
        c->epoch = epoch;
        return NULL;
    }
    jcv_splice(c, trial);
    return t;
}

/* how: what is made one after the other is visited, or where making it changes variables. */
static jcv_turn turn_of(jcv *c, jcv_av *a, visits how, const char *name) {
    jcv_av *it = unknown(a) ? NULL : jcv_iterator(c, a);
    jcv_turn t = {.over = it ? it : a};
    t.made = unknown(t.over) || t.over->kind == AV_ITER;
    bool function = t.over->kind == AV_SEQ && t.over->tree;
    t.items = t.made && how == VISITS_MADE          ? NULL
              : function && how == VISITS_VARIABLES ? all_apart(c, t.over, name)
                                                    : all_in_turn(c, t.over, name);
    t.watch = t.items && !t.made ? jcv_watch_over(c, t.over, t.items, false, NULL) : NULL;
    t.since = jcv_done_now(c);
    return t;
}

jcv_turn jcv_turn_begin(jcv *c, jcv_av *a, const char *name) {
    return turn_of(c, a, VISITS_NONE, name);
}

void jcv_turn_end(jcv *c, const jcv_turn *t, const char *name) {
    if (!t->items || !jcv_done_changes(c, &t->since))
        return;
    if (t->made)
        jcv_refuse(c, "%s of items made in turn, with effects between them", name);
    jcv_all_unchanged(c, t->watch, 0, t->items->n);
}

/* ---- makers -------------------------------------------------------------------------------------
 */

/* A base whose items are computed in turn with others' must not write or draw meanwhile. */
static jcv_av *base(jcv *c, jcv_av *a, const char *name) {
    bool generator = a->kind == AV_SEQ && a->tree, map = a->kind == AV_ITER && a->self;
    size_t nodes = c->ctx->nodes.n;
    jcv_av *t = all_in_turn(c, a, name);
    if (!t && generator)
        jcv_refuse(c, "%s of a generator of unknown length", name);

    if (t)
        jcv_abandon(c, a); /* what is left of it is the new iterator's to say */
    if (generator || map) {
        jcv_watch *rest = map ? a->watch : NULL;
        a->watch = jcv_watch_sight(c, jcv_sight_of(c, a, c->ctx->nodes.n - nodes), rest);
    }
    return t;
}

/* What another iterator goes over from now on: nobody else takes items of it. */
static jcv_av *taken_over(jcv *c, jcv_av *a, const char *name) {
    if (a->kind != AV_SEQ || !a->slot)
        return a;
    if (c->slots.data[a->slot]->kind != AV_PY)
        jcv_refuse(c, "%s of an iterator that is used elsewhere", name);
    jcv_av *own = jcv_new(c, AV_SEQ);
    *own = *a;
    own->slot = jcv_slot(c, jcv_none(c));
    jcv_put(c, a->slot, jcv_lacking(c, LACK_UNKNOWN, "an iterator is another one's"));
    return own;
}

/* Arguments with parts in the place of tensors whose first size varies. */
static const jcv_args *with_parts(jcv *c, const jcv_args *given) {
    jcv_args *a = jcv_alloc(c, sizeof *a);
    *a = *given;
    a->pos = jcv_alloc(c, (a->n_pos + 1) * sizeof *a->pos);
    for (unsigned i = 0; i < a->n_pos; i++)
        a->pos[i] = jcv_has_parts(c, given->pos[i]) ? jcv_parts(c, given->pos[i]) : given->pos[i];
    return a;
}

jcv_av *jcv_b_enumerate(jcv *c, const jcv_args *a) {
    jcv_av *start = a->n_pos > 1 ? a->pos[1] : jcv_kw_of(a, "start");
    if (!a->n_pos)
        jcv_refuse(c, "enumerate() without arguments");
    a = with_parts(c, a);
    jcv_av *t = base(c, a->pos[0], "enumerate()");
    if (!start)
        start = number(c, 0);
    if (start->kind == AV_PY
            ? !PyLong_CheckExact(start->py) && !PyBool_Check(start->py)
            : start->kind == AV_SCALAR && start->val->type->kind == JANUS_KIND_FLOAT)
        jcv_refuse(c, "enumerate() from %s", jcv_describe(start));
    if (!t) {
        jcv_av *over = taken_over(c, a->pos[0], "enumerate()"),
               *s = jcv_seq(c, "enumerate", &over, 1);
        s->self = start;
        return s;
    }
    if (start->kind != AV_PY)
        jcv_refuse(c, "enumerate() from a computed number");
    jcv_av **out = jcv_alloc(c, (t->n + 1) * sizeof *out);
    long first = jcv_long(c, start), last;
    if (__builtin_add_overflow(first, (long)t->n, &last))
        jcv_refuse(c, "enumerate() up to a number of more than 64 bits");
    for (unsigned i = 0; i < t->n; i++)
        out[i] = jcv_tuple(c, (jcv_av *[]){number(c, first + (long)i), t->items[i]}, 2);
    jcv_av *it = jcv_iter(c, "enumerate", out, t->n);
    it->watch = jcv_watch_over(c, a->pos[0], t, false, NULL);
    return it;
}

/* Objects and tensors whose places are known go with lists of lengths that were seen. */
static bool assume_others(jcv *c, const jcv_args *a, jcv_av **lists) {
    bool graph = false;
    for (unsigned i = 0; i < a->n_pos; i++) {
        lists[i] = lists[i] ? lists[i] : jcv_later_assumed(c, a->pos[i]);
        graph = graph || !lists[i];
    }
    return graph;
}

static jcv_av *zipped(jcv *c, const jcv_args *given, const char *name, jcv_av *f) {
    const jcv_args *a = with_parts(c, given);
    unsigned least = a->n_pos ? UINT32_MAX : 0;
    bool strict = jcv_kw_of(a, "strict") && jcv_kw_of(a, "strict")->py != Py_False, graph = false;
    jcv_av **lists = jcv_alloc(c, (a->n_pos + 1) * sizeof *lists);
    for (unsigned i = 0; i < a->n_pos; i++) {
        lists[i] = base(c, a->pos[i], name);
        graph = graph || !lists[i];
    }
    for (unsigned i = 0; i < a->n_pos && graph; i++) {
        bool counted = lists[i] && a->pos[i]->kind != AV_RANGE && a->pos[i]->kind != AV_TENSOR;
        if (counted && !jcv_at_any_place(c, lists[i]->items, lists[i]->n)) {
            graph = assume_others(c, a, lists);
            break;
        }
    }
    for (unsigned i = 0; i < a->n_pos; i++) {
        if (i && lists[i] && lists[0] && lists[i]->n != lists[0]->n && strict)
            jcv_refuse(c, "zip() of different lengths");
        if (lists[i] && lists[i]->n < least)
            least = lists[i]->n;
    }
    if (graph) {
        if (strict)
            jcv_refuse(c, "zip(strict=True) of unknown lengths");
        jcv_av **bases = jcv_alloc(c, a->n_pos * sizeof *bases);
        for (unsigned i = 0; i < a->n_pos; i++)
            bases[i] = lists[i] && a->pos[i]->kind != AV_RANGE && a->pos[i]->kind != AV_TENSOR
                           ? lists[i]
                           : taken_over(c, a->pos[i], name);
        jcv_av *s = jcv_seq(c, name, bases, a->n_pos);
        s->self = f;
        return s;
    }
    jcv_av **out = jcv_alloc(c, (least + 1) * sizeof *out);
    for (unsigned i = 0; i < least; i++) {
        jcv_av **v = jcv_alloc(c, a->n_pos * sizeof *v);
        for (unsigned k = 0; k < a->n_pos; k++)
            v[k] = lists[k]->items[i];
        out[i] = jcv_tuple(c, v, a->n_pos);
    }
    jcv_av *it = jcv_iter(c, name, out, least);
    it->self = f;
    for (unsigned k = 0; k < a->n_pos; k++)
        it->watch = jcv_watch_over(c, a->pos[k], lists[k], false, it->watch);
    return it;
}

jcv_av *jcv_b_zip(jcv *c, const jcv_args *a) { return zipped(c, a, "zip", NULL); }

jcv_av *jcv_b_map(jcv *c, const jcv_args *a) {
    if (a->n_pos < 2)
        jcv_refuse(c, "map() without arguments");
    jcv_args rest = {.pos = a->pos + 1, .n_pos = a->n_pos - 1};
    return zipped(c, &rest, "map", a->pos[0]);
}

jcv_av *jcv_b_reversed(jcv *c, const jcv_args *a) {
    a = with_parts(c, a);
    jcv_av *x = a->pos[0], *t = jcv_special(c, x, JCV_S_REVERSED, NULL, 0);
    if (t)
        return t;
    bool sequence = x->kind != AV_PY || PyList_CheckExact(x->py) || PyTuple_Check(x->py) ||
                    jpy_has_pairs(x->py) || PyUnicode_CheckExact(x->py) ||
                    PyBytes_CheckExact(x->py) || PyRange_Check(x->py);
    if (x->kind == AV_PY && PyDict_Check(x->py) &&
        sequence) /* as they lie, whatever __iter__ does */
        x = jcv_call_method(c, x, "keys", &(jcv_args){0});
    bool derived =
        x->kind == AV_TUPLE ? x->named != NULL : x->kind == AV_PY && PyTuple_Check(x->py);
    if (!sequence || ((x->kind == AV_SEQ || x->kind == AV_ITER) && x->slot) ||
        (derived && jcv_own_items(c, x)))
        jcv_refuse(c, "reversed() of %s", jcv_describe(x));
    t = all_of(c, x, "reversed()");
    if (!t)
        return jcv_seq(c, "reversed", a->pos, 1);
    jcv_av **out = jcv_alloc(c, (t->n + 1) * sizeof *out);
    for (unsigned i = 0; i < t->n; i++)
        out[i] = t->items[t->n - 1 - i];
    jcv_av *it = jcv_iter(c, "reversed", out, t->n);
    it->watch = jcv_watch_over(c, x, t, true, NULL);
    return it;
}

jcv_av *jcv_b_iter(jcv *c, const jcv_args *a) {
    jcv_av *x = a->pos[0], *it = a->n_pos == 1 ? jcv_iterator(c, x) : NULL;
    if (it)
        return it;
    if (a->n_pos != 1)
        jcv_refuse(c, "iter() of a function");
    if ((x->kind == AV_ITER || x->kind == AV_SEQ) && x->slot)
        return x;
    jcv_av *t = all_of(c, x, "iter()");
    if (!t)
        jcv_refuse(c, "iter() of %s", jcv_describe(x));
    jcv_av *made = jcv_iter(c, "iter", t->items, t->n);
    made->watch = jcv_watch_over(c, x, t, false, NULL);
    return made;
}

typedef struct first {
    jcv_leave leave;
    jcv_av *item;
} first;

static void take_first(jcv *c, void *user, jcv_av *item) {
    first *f = user;
    f->item = item;
    jcv_put(c, f->leave.flag, number(c, 1));
}

/* The first item of a generator that cannot be run to its end, which is left there; NULL: none. */
static jcv_av *first_of(jcv *c, jcv_av *g) {
    first f = {.leave.flag = jcv_slot(c, number(c, 0)), .leave.value = jcv_slot(c, jcv_none(c))};
    jcv_visit(c, g, &f.leave, take_first, &f);
    jcv_av *left = c->slots.data[f.leave.flag];
    if (left->kind != AV_PY)
        jcv_refuse(c, "next() of a generator of which only the graph knows whether it has an item");
    jcv_abandon(c, g);
    return f.item;
}

/* All items are made when the first is asked for; what they were made of must stay (sight.c). */
static void make_items(jcv *c, jcv_av *g, jcv_av *all, size_t nodes) {
    jcv_put(c, g->slot, all);
    jcv_abandon_inside(c, g); /* CPython's has not come to their ends */
    g->watch = jcv_watch_sight(c, jcv_sight_of(c, g, c->ctx->nodes.n - nodes), NULL);
}

jcv_av *jcv_b_next(jcv *c, const jcv_args *a) {
    jcv_av *x = a->pos[0], *v = jcv_special(c, x, JCV_S_NEXT, NULL, 0);
    if (v)
        return v;
    bool generator = x->kind == AV_SEQ && x->tree;
    if (generator && c->slots.data[x->slot]->kind == AV_PY) { /* not used yet */
        jcv_done before = jcv_done_outside(c, x);
        size_t nodes = c->ctx->nodes.n;
        jcv_av *all = jcv_try_all(c, x);
        all = all ? all : jcv_all_assumed(c, x);
        if (all && jcv_done_any(c, &before))
            jcv_refuse(c, "next() of a generator with effects");
        if (all) {
            make_items(c, x, all, nodes);
        } else {
            v = first_of(c, x);
            if (!v && a->n_pos < 2)
                jcv_refuse(c, "next() at the end");
            return v ? v : a->pos[1];
        }
    }
    if (!generator && (x->kind != AV_ITER || !x->slot))
        jcv_refuse(c, "next() of %s", jcv_describe(x));
    jcv_av *t = c->slots.data[x->slot];
    if (t->kind != AV_TUPLE)
        jcv_refuse(c, "next() of an iterator whose place only the graph knows");
    jcv_unchanged(c, x->watch, t->n ? (int64_t)x->n - t->n : -1);
    if (!t->n && a->n_pos < 2)
        jcv_refuse(c, "next() at the end");
    if (!t->n)
        return a->pos[1];
    jcv_put(c, x->slot, jcv_tuple(c, t->items + 1, t->n - 1));
    return jcv_taken(c, x, t->items[0]);
}

/* The tuple of what jcv_take_all() or jcv_list_of() have made for it, which nobody else has. */
jcv_av *jcv_made_tuple(jcv *c, jcv_av *t) {
    if (jcv_is_stacked(t))
        t->named = (PyObject *)&PyTuple_Type;
    else if (t->kind == AV_LIST)
        t = c->slots.data[t->slot]; /* no way to an item is known: empty */
    else if (t->kind == AV_HOST)
        t = jcv_tuple_of_list(c, t);
    return t;
}

jcv_av *jcv_make_list(jcv *c, const jcv_args *a, bool list) {
    jcv_av *t = jcv_tuple(c, NULL, 0);
    if (!list && a->n_pos && jcv_type_of(c, a->pos[0]) == &PyTuple_Type)
        return a->pos[0]; /* it is that object */
    if (a->n_pos) {
        bool known = true;
        const jpy_tree *at = c->at;
        jcv_av *x = jcv_hinted(c, a->pos[0]);
        bool seq = x->kind == AV_HOST || (x->kind == AV_SEQ && !x->slot);
        if (seq && at && (jcv_live_site(c, at) || jcv_gives_objects(c, jcv_feed, x)))
            return jcv_objects_of(c, (jcv_av *[]){jcv_rest(c, x)}, 1, at, list);
        t = unknown(x) ? jcv_take_all(c, x, &known, list ? at : NULL)
                       : all_of(c, x, list ? "list()" : "tuple()");
        if (!known)
            return list ? t : jcv_made_tuple(c, t);
    }
    return list ? jcv_list(c, t->items, t->n) : t;
}

/* ---- takers -------------------------------------------------------------------------------------
 */

typedef struct summing {
    uint32_t total, any; /* slots */
    jcv_av *start;
    jcv_ctx *ctx;
    const jn_type *type; /* of the start plus a term, where a loop of the graph adds */
} summing;

static void first_term(jcv *c, void *user, jcv_av *item) {
    summing *s = user;
    if (c->ctx->parent != s->ctx)
        s->type = jcv_leaf_val(c, jcv_binary(c, JPY_ADD, s->start, item, false))->type;
    jcv_throw_now(c, THROW_PROBE);
}

static void add_term(jcv *c, void *user, jcv_av *item) {
    summing *s = user;
    jcv_av *total = c->slots.data[s->total];
    jcv_put(c, s->total, jcv_binary(c, JPY_ADD, total, item, false));
    jcv_put(c, s->any, jcv_bool(c, true));
}

jcv_av *jcv_b_sum(jcv *c, const jcv_args *a) {
    summing s = {.start = a->n_pos > 1 ? a->pos[1] : jcv_kw_of(a, "start")};
    if (!s.start)
        s.start = number(c, 0);
    /* An item is made after the one before was added: the order of ops is that of their gradients.
     */
    jcv_turn t = turn_of(c, a->pos[0], c->f->exact ? VISITS_MADE : VISITS_VARIABLES, "sum()");
    jcv_av *all = t.over;
    if (t.items) {
        jcv_av *total = s.start;
        for (unsigned i = 0; i < t.items->n; i++)
            total = jcv_binary(c, JPY_ADD, total, t.items->items[i], false);
        jcv_turn_end(c, &t, "sum()");
        return total;
    }
    s.ctx = c->ctx;
    jcv_val *plain = s.start->kind == AV_PY ? jcv_number(c, s.start) : NULL;
    if (plain)
        jcv_probe(c, jcv_feed, all, first_term, &s);
    bool other = s.type && (s.type->kind == JANUS_KIND_TENSOR || s.type->kind != plain->type->kind);
    jcv_av *from = s.start;
    if (other && s.type->kind == JANUS_KIND_TENSOR) {
        janus_full_attrs attrs = {
            sizeof attrs, {s.type->dims, (size_t)s.type->rank}, s.type->dtype};
        from = jcv_proxy(c, &jcv_op(c, JN_OP(full), &plain, 1, &attrs)->out[0], false);
    } else if (other) {
        from = jcv_scalar(c, &jcv_op(c, JN_OP(s_float), &plain, 1, NULL)->out[0]);
    }
    s.total = jcv_slot(c, from);
    s.any = jcv_slot(c, jcv_bool(c, false));
    jcv_feed(c, all, add_term, &s);
    if (!other)
        return c->slots.data[s.total];
    jcv_av *sum = jcv_new(c, AV_SUM);
    sum->self = c->slots.data[s.total];
    sum->val = jcv_number(c, c->slots.data[s.any]);
    jcv_av *over = all;
    while (over->kind == AV_SEQ && over->n == 1)
        over = over->items[0];
    sum->items = jcv_alloc(c, sizeof *sum->items);
    sum->items[0] = over;
    return sum;
}

static jcv_av *pick(jcv *c, jcv_val *cond, jcv_av *a, jcv_av *b) {
    jcv_val *in[3] = {cond, jcv_number(c, a), jcv_number(c, b)};
    if (!in[1] || !in[2] || in[1]->type->kind != in[2]->type->kind)
        jcv_refuse(c, "min() or max() of different kinds");
    return jcv_scalar(c, &jcv_op(c, JN_OP(s_select), in, 3, NULL)->out[0]);
}

typedef struct either {
    jcv_av *arms[2];
    uint32_t slot;
} either;

static jcv_out put_either(jcv *c, void *user, int arm) {
    either *x = user;
    jcv_put(c, x->slot, x->arms[arm]);
    return OUT_NORMAL;
}

/* `a if cond else b` of numbers: of two kinds (`min(step / 10, 1)`), either on its path. */
static jcv_av *one_of(jcv *c, jcv_val *cond, jcv_av *a, jcv_av *b) {
    jcv_val *x = jcv_number(c, a), *y = jcv_number(c, b);
    if (!x || !y || x->type->kind == y->type->kind)
        return pick(c, cond, a, b);
    either e = {{a, b}, jcv_slot(c, jcv_none(c))};
    jcv_branch(c, cond, put_either, &e);
    jcv_av *v = c->slots.data[e.slot];
    jcv_needed(c, v);
    return v;
}

typedef struct choosing {
    uint32_t best, any;
    bool max;
    const jn_type *type;
} choosing;

static void first_candidate(jcv *c, void *user, jcv_av *item) {
    choosing *x = user;
    jcv_val *v = jcv_number(c, item);
    if (!v)
        jcv_refuse(c, "min() or max() of %s", jcv_describe(item));
    x->type = v->type;
    jcv_throw_now(c, THROW_PROBE);
}

static void candidate(jcv *c, void *user, jcv_av *item) {
    choosing *x = user;
    jcv_av *best = c->slots.data[x->best], *any = c->slots.data[x->any];
    jcv_val *better = jcv_number(c, jcv_compare(c, x->max ? JPY_GT : JPY_LT, item, best));
    jcv_val *none = jcv_number(c, jcv_unary(c, JPY_U_NOT, any)), *in[2] = {none, better};
    better = &jcv_op(c, JN_OP(s_or), in, 2, NULL)->out[0];
    jcv_put(c, x->best, pick(c, better, item, best));
    jcv_put(c, x->any, jcv_bool(c, true));
}

static void nothing(jcv *c, void *user, jcv_av *item) { (void)c, (void)user, (void)item; }

static jcv_av *unknown_extreme(jcv *c, jcv_av *over, bool max, jcv_av *otherwise) {
    choosing x = {.max = max};
    jcv_probe(c, jcv_feed, over, first_candidate, &x);
    if (!x.type) {
        jcv_feed(c, over, nothing, NULL);
        if (!otherwise)
            jcv_throw_now(c, THROW_DEAD);
        return otherwise;
    }
    janus_scalar zero = {0};
    x.best = jcv_slot(c, jcv_scalar(c, jcv_scalar_const(c, x.type->kind, zero)));
    x.any = jcv_slot(c, jcv_bool(c, false));
    jcv_feed(c, over, candidate, &x);
    jcv_av *best = c->slots.data[x.best];
    jcv_val *any = jcv_number(c, c->slots.data[x.any]);
    if (otherwise)
        return pick(c, any, best, otherwise);
    jcv_assert(c, any, "min() or max() of something");
    return best;
}

static jcv_av *extreme(jcv *c, const jcv_args *a, bool max) {
    jcv_av *otherwise = jcv_kw_of(a, "default");
    if (jcv_kw_of(a, "key") && a->n_pos)
        return jcv_extreme_by(c, a, max);
    if (a->n_kw > (otherwise ? 1u : 0u) || !a->n_pos)
        jcv_refuse(c, "min() or max() with a key");
    jcv_av *over = a->n_pos > 1 ? jcv_tuple(c, a->pos, a->n_pos) : a->pos[0];
    jcv_turn turn = jcv_turn_begin(c, over, "min() or max()");
    const jcv_av *t = turn.items;
    if (!t)
        return unknown_extreme(c, turn.over, max, otherwise);
    if (!t->n && !otherwise)
        jcv_refuse(c, "min() or max() of nothing");
    jcv_av *best = t->n ? t->items[0] : otherwise;
    for (unsigned i = 1; i < t->n; i++) {
        jcv_val *v = NULL;
        int better = jcv_truth(c, jcv_compare(c, max ? JPY_GT : JPY_LT, t->items[i], best), &v);
        if (better > 0)
            best = t->items[i];
        if (better < 0)
            best = one_of(c, v, t->items[i], best);
    }
    jcv_turn_end(c, &turn, "min() or max()");
    return best;
}

jcv_av *jcv_b_min(jcv *c, const jcv_args *a) { return extreme(c, a, false); }
jcv_av *jcv_b_max(jcv *c, const jcv_args *a) { return extreme(c, a, true); }

typedef struct testing {
    jcv_leave leave;
    bool any;
} testing;

static jcv_out found(jcv *c, void *user, int arm) {
    testing *t = user;
    if ((arm == 0) == t->any)
        jcv_put(c, t->leave.flag, number(c, 1));
    return OUT_NORMAL;
}

static void test(jcv *c, void *user, jcv_av *item) {
    testing *t = user;
    jcv_val *v = NULL;
    int truth = jcv_truth(c, item, &v);
    if (truth >= 0)
        found(c, t, !truth);
    else
        jcv_branch(c, v, found, t);
}

/* One after the other, up to the first that decides. */
static jcv_av *any_all_visiting(jcv *c, jcv_av *over, bool any) {
    testing t = {.any = any};
    t.leave.flag = jcv_slot(c, number(c, 0));
    t.leave.value = jcv_slot(c, jcv_none(c));
    jcv_visit(c, over, &t.leave, test, &t);
    jcv_av *r = jcv_compare(c, any ? JPY_NE : JPY_EQ, c->slots.data[t.leave.flag], number(c, 0));
    return r;
}

static jcv_av *any_all(jcv *c, const jcv_args *a, bool any) {
    jcv_turn turn = turn_of(c, a->pos[0], VISITS_VARIABLES, "any() or all()");
    jcv_av *r = turn.items ? NULL : any_all_visiting(c, turn.over, any);
    if (!turn.items) {
        jcv_abandon(c, turn.over); /* it stops at the first that decides */
        return r;
    }
    jcv_val *so_far = NULL;
    bool decided = false;
    for (unsigned i = 0; i < turn.items->n && !decided; i++) {
        jcv_val *v = NULL;
        jcv_done before = so_far ? jcv_done_now(c) : (jcv_done){0};
        int truth = jcv_truth(c, turn.items->items[i], &v);
        if (so_far && jcv_done_any(c, &before))
            jcv_refuse(c, "any() or all() with effects, under a condition of the graph");
        decided = truth >= 0 && (truth == 1) == any && !so_far;
        if (decided)
            continue;
        if (truth >= 0 && (truth == 1) != any)
            continue;
        if (truth >= 0)
            v = jcv_scalar_const(c, JANUS_KIND_BOOL, (janus_scalar){truth});
        jcv_val *in[2] = {so_far, v};
        so_far = so_far ? &jcv_op(c, any ? JN_OP(s_or) : JN_OP(s_and), in, 2, NULL)->out[0] : v;
    }
    jcv_turn_end(c, &turn, "any() or all()");
    jcv_abandon(c, turn.over);
    if (decided)
        return jcv_bool(c, any);
    return so_far ? jcv_scalar(c, so_far) : jcv_bool(c, !any);
}
jcv_av *jcv_b_any(jcv *c, const jcv_args *a) { return any_all(c, a, true); }
jcv_av *jcv_b_all(jcv *c, const jcv_args *a) { return any_all(c, a, false); }
