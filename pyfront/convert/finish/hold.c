/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What variables of a region's function hold in the end and nobody reads behind it.
 *
 * In CPython's run it lives as long as they do, whatever later statements take away where it was
 * found.  So the objects among it are handed over with the result, for the skeleton's variables;
 * of what only this run knows nobody can see when it dies.
 */
#include "pyfront/convert/finish/recipe.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/values.h"

typedef struct holding {
    jcv_finishing *f;
    JCV_LIST(jpy_recipe *) found; /* of one variable */
    int depth;
} holding;

/* What it holds is not known here: the commit asks whether it may matter. */
static void not_known(holding *h) { h->f->e->unsure = true; }

static void keep(jcv *c, holding *h, jpy_recipe_kind kind, uint32_t slot) {
    for (size_t i = 0; i < h->found.n; i++)
        if (h->found.data[i]->kind == kind && h->found.data[i]->slot == slot)
            return;
    jpy_recipe *r = jcv_entry_alloc(c, h->f->e, sizeof *r);
    r->kind = kind;
    r->slot = slot;
    jcv_add(c, &h->found, r);
}

/* Whether the graph leaves it elsewhere, too. */
static bool leaves(const jcv_finishing *f, const void *identity) {
    for (size_t i = 0; i < f->ids.n; i++)
        if (f->ids.data[i] == identity)
            return true;
    return false;
}

static void look(jcv *c, holding *h, jcv_av *a);

static void look_at_all(jcv *c, holding *h, jcv_av *const *items, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        look(c, h, items[i]);
}

static void look_at_made(jcv *c, holding *h, jcv_av *a, const void *identity, jcv_av *contents) {
    if (leaves(h->f, identity))
        jcv_add(c, &h->found, jcv_recipe(c, h->f, a));
    else
        look(c, h, contents);
}

static jcv_av *attrs_and_pairs(jcv *c, PyObject *o) {
    jcv_av *attrs = jcv_fresh_attrs(c, o), *of = jcv_standing_for(c, o);
    jcv_av *pairs = of ? c->slots.data[of->slot] : NULL;
    if (!pairs || pairs->kind != AV_TUPLE)
        return attrs;
    jcv_av *both = jcv_tuple(c, NULL, 0);
    both->items = jcv_alloc(c, (attrs->n + pairs->n + 1) * sizeof *both->items);
    for (unsigned i = 0; i < attrs->n + pairs->n; i++)
        both->items[both->n++] = i < attrs->n ? attrs->items[i] : pairs->items[i - attrs->n];
    return both;
}

static void look_at_object(jcv *c, holding *h, jcv_av *a) {
    if (jcv_is_const(a))
        return;
    if (a->src)
        keep(c, h, JPY_MAKE_SOURCE, a->src->slot);
    else if (jcv_is_fresh(c, a->py) && !jcv_is_frozen(c, a->py))
        look_at_made(c, h, a, a->py, attrs_and_pairs(c, a->py));
    else
        not_known(h);
}

static void look_at_tensor(jcv *c, holding *h, jcv_av *a) {
    const jcv_rec *rec = jcv_rec_of(c, ((jpy_tensor *)a->py)->t);
    bool apart = false; /* else a view keeps what it is a view of */
    for (const jcv_rec *x = rec; x->parent; x = x->parent)
        apart = apart || x->apart || x->uncounted;
    if (a->src)
        keep(c, h, JPY_MAKE_SOURCE, a->src->slot);
    else if (rec->box)
        look(c, h, rec->box);
    else if (rec->root->src && !apart)
        keep(c, h, JPY_MAKE_SOURCE, rec->root->src->slot);
    else if (leaves(h->f, a->py))
        jcv_add(c, &h->found, jcv_recipe(c, h->f, a));
    else if (rec->n_from || rec->parent || jpy_tensor_tracked((jpy_tensor *)a->py))
        not_known(h); /* a history has tensors, too */
}

/* An object that the graph has read, of which samples say whether it may be one that it makes. */
static void look_at_host(jcv *c, holding *h, jcv_av *a) {
    PyObject *samples = jcv_samples(c, a);
    bool known = !jcv_is_box(a), object = false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples); i++) {
        PyObject *o = PyList_GET_ITEM(samples, i);
        object = object || !(jpy_by_value(o) || o == Py_None);
        known =
            known && !jcv_is_fresh(c, o) &&
            !(jpy_tensor_check(o) && (jcv_is_proxy(c, o) || jcv_is_stored_sample((jpy_tensor *)o) ||
                                      jcv_is_mixed_sample((jpy_tensor *)o)));
        for (const jcv_live *l = c->lives; l && known; l = l->next)
            known = !l->site || l->stored != o;
    }
    if (known && object)
        keep(c, h, JPY_MAKE_RESULT, jcv_add_result(c, a->val));
    else
        not_known(h);
}

static void look_inside(jcv *c, holding *h, jcv_av *a) {
    switch (a->kind) {
    case AV_UNDEF:
        look(c, h, a->held);
        break;
    case AV_PY:
        look_at_object(c, h, a);
        break;
    case AV_TENSOR:
        look_at_tensor(c, h, a);
        break;
    case AV_HOST:
        look_at_host(c, h, a);
        break;
    case AV_TUPLE:
        look_at_all(c, h, a->items, a->n);
        break;
    case AV_LIST:
    case AV_DICT:
        if (a->origin)
            look(c, h, a->origin);
        else
            look_at_made(c, h, a, c->slot_init.data[a->slot], c->slots.data[a->slot]);
        break;
    case AV_METHOD:
    case AV_SUPER:
        look(c, h, a->self);
        break;
    case AV_SCALAR:
    case AV_RANGE:
    case AV_STACK:
    case AV_SUM:
    case AV_DATA:
    case AV_TEXT:
        break;
    default:
        not_known(h);
    }
}

static void look(jcv *c, holding *h, jcv_av *a) {
    enum { DEEPEST = 8 };
    if (!a || h->depth == DEEPEST) {
        not_known(h);
        return;
    }
    h->depth++;
    look_inside(c, h, a);
    h->depth--;
}

/* What the skeleton's variable gets, as `take()` of janus/_skeleton.py has it: an exception's class
 * where it has no value here, so that it stays what it was. */
static jpy_recipe *held(jcv *c, jcv_finishing *f, jcv_av *a, bool *any) {
    holding h = {.f = f};
    jpy_recipe *r = jcv_entry_alloc(c, f->e, sizeof *r);
    bool unbound = jcv_lacks(a, LACK_UNBOUND) || jcv_lacks(a, LACK_DELETED);
    if (!unbound)
        look(c, &h, a);
    r->kind = h.found.n ? JPY_MAKE_TUPLE : JPY_MAKE_CONST;
    r->obj = h.found.n ? NULL : unbound ? PyExc_UnboundLocalError : Py_None;
    r->obj = jpy_guards_own(&f->e->guards, r->obj);
    r->n = (unsigned)h.found.n;
    r->items = h.found.n ? jcv_entry_alloc(c, f->e, h.found.n * sizeof *r->items) : NULL;
    for (unsigned i = 0; i < r->n; i++)
        r->items[i] = h.found.data[i];
    *any = *any || h.found.n || unbound;
    return r;
}

void jcv_hand_over(jcv *c, jcv_finishing *f) {
    bool any = false;
    jpy_recipe *all = jcv_entry_alloc(c, f->e, sizeof *all);
    all->kind = JPY_MAKE_TUPLE;
    all->n = c->n_left;
    all->items = jcv_entry_alloc(c, f->e, c->n_left * sizeof *all->items);
    for (unsigned i = 0; i < c->n_left; i++)
        all->items[i] = held(c, f, c->left[i], &any);
    f->e->held = any ? all : NULL;
}
