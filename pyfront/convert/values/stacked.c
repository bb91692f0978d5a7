/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacked lists: each number or tensor of the items of a list whose length only the graph knows is
 * a row of one tensor.
 *
 * An item is a value, then, and no object: what it is read as is a copy of what was put in.  Nodes
 * by which tensors become rows and are read again are marked (`row`), so that finish/identity.c
 * finds out whether anybody could see that; what was put in is remembered, since an item does not
 * see a write to it that comes later (tensors/place.c).
 */
#include "pyfront/convert/values/values.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/tensors/tensors.h"

static jcv_av *number(jcv *c, int64_t v) { return jcv_take(c, PyLong_FromLongLong(v)); }
/* An op whose result may have an unknown dim; without recording it has no history. */
static jcv_val *op(jcv *c, const jn_op *o, jcv_val *const *in, unsigned n, const void *attrs) {
    c->any_dims = true;
    jcv_node *node = jcv_op(c, o, in, n, attrs);
    c->any_dims = false;
    jcv_val *v = &node->out[0];
    if (jpy_no_grad_mode) {
        for (unsigned i = 0; i < n; i++)
            v->cut = v->cut || in[i]->depends || in[i]->cut;
        v->depends = false;
    }
    return v;
}

enum { MAX_LEAVES = 64 };
typedef struct building {
    jcv_av *shape; /* leaves are numbered placeholders; NULL: no item was met */
    unsigned n;    /* of them */
    const jn_type **types;
    uint32_t *slots, count; /* the rows so far, how many there are */
    jcv_val *key;           /* the first of their keys; NULL: they have none */
    size_t made;            /* instances before the first of them */
    const jpy_tree *site;   /* the expression that makes it, or NULL */
    bool must;              /* it is refused where items are no rows, though it has a site */
    jcv_rows *rows;
    jcv_ctx *ctx; /* where it is made */
    jcv_feed_fn feed;
    void *user;
} building;

/* A list that the display of a comprehension has just made, which nobody else has: a tuple of this
 * text among rows, until an item is taken. */
static const char list_text[] = "a list of its own";

static jcv_av *row_of(jcv *c, const building *b, jcv_av *a) {
    jcv_av **items;
    unsigned n;
    bool display = b->site && (b->site->kind == JPY_LISTCOMP || b->site->kind == JPY_GENEXP) &&
                   b->site->a->kind == JPY_LIST;
    if (!display || a->kind != AV_LIST || !jcv_items(c, a, &items, &n) || !n)
        return a;
    jcv_av *t = jcv_tuple(c, items, n);
    t->text = list_text;
    return t;
}

/* What cannot be a row. */
__attribute__((noreturn)) static void no_row(jcv *c, const building *b, const char *why) {
    if (b->site && !b->must && !jcv_live_site(c, b->site))
        jcv_make_live_site(c, b->site, false);
    jcv_refuse(c, "a list of unknown length of %s", why);
}

static jcv_av *shape_of(jcv *c, building *b, jcv_av *a) {
    if (a->kind == AV_MAYBE && a->self && jcv_number_kind(a->self)) {
        jcv_av *parts[3] = {jcv_scalar(c, a->val), a->self, jcv_number_or(a)};
        jcv_av *t = jcv_tuple(c, parts, parts[2] ? 3 : 2);
        t->kind = AV_MAYBE;
        for (unsigned i = 0; i < t->n; i++)
            t->items[i] = shape_of(c, b, t->items[i]);
        return t;
    }
    if (a->kind == AV_TUPLE) {
        jcv_av *t = jcv_tuple_like(c, a);
        for (unsigned i = 0; i < t->n; i++)
            t->items[i] = shape_of(c, b, a->items[i]);
        return t;
    }
    if (a->kind == AV_PY && (a->py == Py_None || PyUnicode_CheckExact(a->py)))
        return a;
    if (a->kind == AV_HOST || a->kind == AV_LIST || a->kind == AV_DICT || a->kind == AV_SEQ ||
        (a->kind == AV_PY && !jcv_number(c, a)))
        no_row(c, b, "objects");
    jcv_av *leaf = jcv_new(c, AV_ITER);
    leaf->text = "leaf";
    if (b->n == MAX_LEAVES)
        jcv_refuse(c, "a list of unknown length of large tuples");
    leaf->n = b->n;
    b->types[b->n++] = jcv_leaf_val(c, a)->type;
    return leaf;
}

static void first_item(jcv *c, void *user, jcv_av *item) {
    building *b = user;
    b->shape = shape_of(c, b, row_of(c, b, jcv_to_copy(c, item, b->made)));
    jcv_throw_now(c, THROW_PROBE);
}

typedef struct probing {
    jcv_visit_fn fn;
    void *user;
    bool refused;
    char reason[sizeof((jcv *)0)->reason];
} probing;

/* The first item is found, also where it may not be looked at: a branch around must not take that
 * for a path that leads nowhere. */
static void probe_item(jcv *c, void *user, jcv_av *item) {
    probing *p = user;
    jcv_handler h = {.up = c->handler};
    c->handler = &h;
    if (setjmp(h.env) == 0) {
        p->fn(c, p->user, item);
        c->thrown = THROW_PROBE;
    }
    c->handler = h.up;
    if (c->thrown == THROW_REFUSE) {
        p->refused = true;
        memcpy(p->reason, c->reason, sizeof p->reason);
        c->thrown = THROW_PROBE;
    }
    jcv_throw_now(c, c->thrown);
}

void jcv_probe(jcv *c, jcv_feed_fn feed, void *from, jcv_visit_fn fn, void *user) {
    probing *p = jcv_alloc(c, sizeof *p);
    p->fn = fn;
    p->user = user;
    jcv_state before = jcv_save(c);
    jcv_place place = jcv_where(c);
    uint32_t epoch = c->epoch;
    jcv_handler h = {.up = c->handler};
    c->handler = &h;
    c->ctx = jcv_ctx_new(c, JCV_ARM, "probe", c->ctx);
    volatile bool thrown = true;
    if (setjmp(h.env) == 0) {
        feed(c, from, probe_item, p);
        thrown = false;
    }
    c->handler = h.up;
    if (thrown && c->thrown != THROW_PROBE)
        jcv_throw_now(c, c->thrown);
    if (p->refused)
        jcv_refuse(c, "%s", p->reason);
    jcv_restore(c, before);
    jcv_back(c, place);
    c->epoch = epoch;
}

static void first_kind(jcv *c, void *user, jcv_av *item) {
    bool *objects = user;
    *objects = item->kind == AV_HOST || item->kind == AV_LIST || item->kind == AV_DICT;
    jcv_throw_now(c, THROW_PROBE);
}

bool jcv_gives_objects(jcv *c, jcv_feed_fn feed, void *user) {
    bool *objects = jcv_alloc(c, sizeof *objects);
    jcv_probe(c, feed, user, first_kind, objects);
    return *objects;
}

static janus_dtype boxed_dtype(const jn_type *t) {
    return t->kind == JANUS_KIND_FLOAT ? JANUS_F64
           : t->kind == JANUS_KIND_INT ? JANUS_I64
                                       : JANUS_BOOL;
}

/* No rows yet. */
static jcv_av *no_rows(jcv *c, const jn_type *t) {
    bool tensor = t->kind == JANUS_KIND_TENSOR;
    unsigned rank = tensor ? (unsigned)t->rank : 0;
    int64_t *dims = jcv_alloc(c, (rank + 1) * sizeof *dims);
    for (unsigned i = 0; i < rank; i++)
        dims[i + 1] = t->dims[i];
    janus_dtype d = tensor ? (janus_dtype)t->dtype : boxed_dtype(t);
    janus_full_attrs attrs = {sizeof attrs, {dims, rank + 1}, d};
    jcv_val *zero = jn_dtype_is_float(d)
                        ? jcv_scalar_const(c, JANUS_KIND_FLOAT, (janus_scalar){.f = 0})
                    : d == JANUS_BOOL ? jcv_scalar_const(c, JANUS_KIND_BOOL, (janus_scalar){0})
                                      : jcv_int_const(c, 0);
    if (tensor && jcv_any_dim_varies(c, t))
        jcv_pass_symbols(c, t);
    jcv_val *v = op(c, JN_OP(full), &zero, 1, &attrs);
    c->passed.n = 0;
    dims = jcv_alloc(c, (rank + 1) * sizeof *dims);
    memcpy(dims, v->type->dims, (rank + 1) * sizeof *dims);
    dims[0] = JN_DIM_UNKNOWN;
    jn_type wide = *v->type;
    wide.dims = dims;
    v->type = jcv_type(c, wide);
    v->no_rows = true;
    return jcv_stack(c, v, false);
}

/* ---- which rows get a gradient: graph/autodiff/rows.c ------------------------------------------
 */

/* Part `leaf` of the item at place i of a list whose items have n parts. */
static jcv_val *key_of(jcv *c, jcv_val *key, jcv_val *i, unsigned n, unsigned leaf) {
    jcv_val *in[2] = {i, jcv_int_const(c, n)};
    if (n > 1)
        in[0] = &jcv_op(c, JN_OP(s_mul), in, 2, NULL)->out[0];
    in[1] = key;
    in[0] = &jcv_op(c, JN_OP(s_add), in, 2, NULL)->out[0];
    in[1] = leaf ? jcv_int_const(c, leaf) : NULL;
    return leaf ? &jcv_op(c, JN_OP(s_add), in, 2, NULL)->out[0] : in[0];
}

/* The list that a sequence gives the items of one after the other, each once. */
static const jcv_av *all_of(const jcv_av *a) {
    while (a->kind == AV_SEQ && a->n == 1 && !a->tree && a->text != jcv_stacked)
        a = a->items[0];
    return a;
}

jcv_av *jcv_seq_next(jcv *c, jcv_av *a, jcv_val *i, bool peeled) {
    c->in_turn = all_of(a);
    c->peeled = peeled;
    jcv_av *item = jcv_seq_item(c, a, i);
    c->in_turn = NULL;
    return item;
}

static void note_read(jcv *c, const jcv_av *a, unsigned leaf, jcv_val *row, jcv_val *i, int part) {
    janus_rows_read_attrs attrs = {sizeof attrs, part};
    jcv_val *in[2] = {row, a->key ? key_of(c, a->key, i, a->n, leaf) : NULL};
    jcv_op(c, JN_OP(rows_read), in, 2, &attrs);
}

/* ---- making them --------------------------------------------------------------------------------
 */

static void is_put(jcv *c, building *b, jcv_av *item) {
    jcv_rec *root = jcv_rec_of(c, ((jpy_tensor *)item->py)->t)->root;
    if (!b->rows) {
        b->rows = jcv_alloc(c, sizeof *b->rows);
        *b->rows = (jcv_rows){.ctx = b->ctx, .next = c->all_rows};
        c->all_rows = b->rows;
    }
    for (size_t i = 0; i < b->rows->n; i++)
        if (b->rows->put[i] == root)
            return;
    jcv_rec **put = jcv_alloc(c, (b->rows->n + 1) * sizeof *put);
    for (size_t i = 0; i < b->rows->n; i++)
        put[i] = b->rows->put[i];
    put[b->rows->n++] = root;
    b->rows->put = put;
}

static void add_rows(jcv *c, building *b, jcv_av *shape, jcv_av *item) {
    if (shape->kind == AV_MAYBE) {
        if (item->kind != AV_MAYBE || !item->self || !jcv_number_or(item) != (shape->n == 2))
            no_row(c, b, "different things");
        jcv_av *parts[3] = {jcv_scalar(c, item->val), item->self, jcv_number_or(item)};
        for (unsigned i = 0; i < shape->n; i++)
            add_rows(c, b, shape->items[i], parts[i]);
        return;
    }
    if (shape->kind == AV_TUPLE) {
        if (item->kind != AV_TUPLE || item->n != shape->n || item->named != shape->named ||
            item->text != shape->text)
            no_row(c, b, "different things");
        for (unsigned i = 0; i < shape->n; i++)
            add_rows(c, b, shape->items[i], item->items[i]);
        return;
    }
    if (shape->kind == AV_PY) {
        if (!jcv_av_equal(shape, item))
            no_row(c, b, "different things");
        return;
    }
    jcv_val *v = jcv_leaf_val(c, item);
    const jn_type *t = b->types[shape->n];
    if (!jcv_same_type(v->type, t))
        no_row(c, b, "different types or dims");
    bool tracked = jcv_leaf_tracked(c, item);
    if (t->kind != JANUS_KIND_TENSOR) {
        janus_scalar_tensor_attrs attrs = {sizeof attrs, boxed_dtype(t)};
        v = op(c, JN_OP(scalar_tensor), &v, 1, &attrs);
    }
    janus_unsqueeze_attrs row = {sizeof row, 0};
    jcv_av *so_far = c->slots.data[b->slots[shape->n]];
    jcv_val *in[2] = {so_far->val, op(c, JN_OP(unsqueeze), &v, 1, &row)};
    in[1]->node->row = t->kind == JANUS_KIND_TENSOR;
    in[1]->node->site = b->site;
    if (item->kind == AV_TENSOR)
        is_put(c, b, item);
    if (b->key && tracked) {
        jcv_val *i = jcv_number(c, c->slots.data[b->count]);
        jcv_val *put[2] = {in[1], key_of(c, b->key, i, b->n, shape->n)};
        jcv_op(c, JN_OP(rows_put), put, 2, NULL);
    }
    janus_concat_attrs attrs = {sizeof attrs, 0};
    jcv_val *all = op(c, JN_OP(concat), in, 2, &attrs);
    all->node->row = in[1]->node->row;
    jcv_put(c, b->slots[shape->n], jcv_stack(c, all, so_far->n || tracked));
}

static void next_item(jcv *c, void *user, jcv_av *item) {
    building *b = user;
    add_rows(c, b, b->shape, row_of(c, b, jcv_to_copy(c, item, b->made)));
    jcv_put(c, b->count, jcv_binary(c, JPY_ADD, c->slots.data[b->count], number(c, 1), false));
}

static void nothing(jcv *c, void *user, jcv_av *item) { (void)c, (void)user, (void)item; }

jcv_av *jcv_collect_at(jcv *c, jcv_feed_fn feed, void *user, bool keys, bool must,
                       const jpy_tree *site) {
    building *b = jcv_alloc(c, sizeof *b);
    *b = (building){.feed = feed,
                    .user = user,
                    .must = must,
                    .made = c->fresh.n,
                    .site = site,
                    .ctx = c->ctx,
                    .types = jcv_alloc(c, MAX_LEAVES * sizeof *b->types),
                    .slots = jcv_alloc(c, MAX_LEAVES * sizeof *b->slots)};
    jcv_probe(c, feed, user, first_item, b);
    if (!b->shape) { /* no way to an item is known: it runs for what it asserts */
        feed(c, user, nothing, NULL);
        jcv_av *none = jcv_list(c, NULL, 0);
        none->text = jcv_never;
        return none;
    }
    for (unsigned i = 0; i < b->n; i++)
        b->slots[i] = jcv_slot(c, no_rows(c, b->types[i]));
    b->count = jcv_slot(c, number(c, 0));
    if (keys && c->rows && !jpy_no_grad_mode)
        b->key = &jcv_op(c, JN_OP(rows_new), NULL, 0, NULL)->out[0];
    feed(c, user, next_item, b);
    jcv_av *a = jcv_new(c, AV_SEQ);
    a->text = jcv_stacked;
    a->self = b->shape;
    a->val = jcv_number(c, c->slots.data[b->count]);
    a->n = b->n;
    a->types = b->types;
    a->key = b->key;
    a->site = site;
    a->rows = b->rows;
    a->items = jcv_alloc(c, (b->n + 1) * sizeof *a->items);
    for (unsigned i = 0; i < b->n; i++)
        a->items[i] = c->slots.data[b->slots[i]];
    return a;
}

jcv_av *jcv_collect(jcv *c, jcv_feed_fn feed, void *user, bool keys) {
    return jcv_collect_at(c, feed, user, keys, true, NULL);
}

jcv_av *jcv_stacked_item(jcv *c, jcv_av *a, jcv_val *i) {
    if (a->rows && a->rows->stale)
        jcv_refuse(c, "an item of a list of unknown length that was written since");
    if (a->self->text == list_text) {
        jcv_leave_to_graph(c, a);
        jcv_refuse(c, "an item of a list of unknown length of lists");
    }
    int part = c->in_turn != a ? 0 : c->peeled ? 2 : 1;
    c->in_turn = NULL;
    jcv_av **leaves = jcv_alloc(c, (a->n + 1) * sizeof *leaves);
    for (unsigned k = 0; k < a->n; k++) {
        jcv_val *in[2] = {a->items[k]->val, i};
        janus_select_attrs attrs = {sizeof attrs, 0};
        jcv_val *v = op(c, JN_OP(select), in, 2, &attrs);
        if (a->types[k]->kind == JANUS_KIND_TENSOR) {
            v->node->row = true;
            leaves[k] = jcv_proxy(c, v, a->items[k]->n && !jpy_no_grad_mode);
            if (a->items[k]->n && !jpy_no_grad_mode)
                note_read(c, a, k, v, i, part);
            jcv_rec_of(c, ((jpy_tensor *)leaves[k]->py)->t)->shared = true;
            continue;
        }
        janus_item_attrs kind = {sizeof kind, (janus_kind)a->types[k]->kind};
        leaves[k] = jcv_scalar(c, &jcv_op(c, JN_OP(item), &v, 1, &kind)->out[0]);
    }
    return jcv_from_copy(c, jcv_fill(c, a->self, leaves));
}
