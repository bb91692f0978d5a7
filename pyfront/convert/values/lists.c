/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of unknown length put together: `a + b`, `a * n`, `n * a`, and parts of stacked lists.
 *
 * The result is a list as a comprehension over the same items would make it.
 */
#include "pyfront/convert/values/values.h"

#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/values/native.h"

void jcv_feed(jcv *c, void *iterable, jcv_visit_fn fn, void *user) {
    jcv_visit(c, iterable, NULL, fn, user);
}

/* ---- items behind a star ------------------------------------------------------------------------
 * In f(a, *xs) and [a, *xs], where only the graph knows how many there are, what stands for them is
 * no value, but says so: whoever gets such an argument without knowing that refuses.
 */

static const char rest_text[] = "arguments of which only the graph knows how many there are";

jcv_av *jcv_rest(jcv *c, jcv_av *of) {
    jcv_av *a = jcv_lacking(c, LACK_UNKNOWN, rest_text);
    a->items = jcv_alloc(c, sizeof *a->items);
    a->items[0] = of;
    return a;
}

bool jcv_is_rest(const jcv_av *a) { return a->kind == AV_UNDEF && a->text == rest_text; }

static void append(jcv *c, void *list, jcv_av *item) { jcv_live_append(c, list, item); }

void jcv_live_extend(jcv *c, jcv_av *list, jcv_av *items) {
    jcv_visit(c, items, NULL, append, list);
}

jcv_av *jcv_tuple_of_list(jcv *c, jcv_av *list) {
    jcv_av *count = jcv_scalar(c, jcv_host_len(c, list)), *zero = jcv_take(c, PyLong_FromLong(0));
    jcv_av *a = jcv_tuple(c, (jcv_av *[]){list, zero, count}, 3);
    a->kind = AV_SEQ;
    a->text = jcv_slice_text;
    a->named = (PyObject *)&PyTuple_Type;
    return a;
}

jcv_av *jcv_objects_of(jcv *c, jcv_av *const *items, unsigned n, const void *site, bool list) {
    unsigned known = 0;
    while (known < n && !jcv_is_rest(items[known]))
        known++;
    jcv_av *l = jcv_born(c, site, items, known, false);
    if (!l)
        jcv_make_live_site(c, site, false);
    for (unsigned i = known; i < n; i++)
        if (jcv_is_rest(items[i]))
            jcv_live_extend(c, l, items[i]->items[0]);
        else
            jcv_live_append(c, l, items[i]);
    return list ? l : jcv_tuple_of_list(c, l);
}

/* Where somebody sees which object it is, or which its items are (finish/identity.c), it is a list
 * of the graph. */
jcv_av *jcv_list_of(jcv *c, jcv_feed_fn feed, void *user, bool must, const jpy_tree *site) {
    jcv_av *l = site ? jcv_born(c, site, NULL, 0, false) : NULL;
    if (!l)
        return jcv_collect_at(c, feed, user, true, must, site);
    feed(c, user, append, l);
    return l;
}

/* ---- sums and products --------------------------------------------------------------------------
 */

/* Rows that are tensors: who puts them together with others goes on with them one by one, so they
 * are better unrolled. */
static bool has_tensors(const jcv_av *a) {
    for (unsigned i = 0; jcv_is_stacked(a) && i < a->n; i++)
        if (a->types[i]->kind == JANUS_KIND_TENSOR)
            return true;
    return false;
}

/* What only the graph knows the length of, and what has one that is known. */
static bool is_list(jcv *c, jcv_av *a, bool *unknown) {
    bool open = jcv_is_stacked(a) || jcv_is_slice(a) || a->kind == AV_HOST ||
                (a->kind == AV_SEQ && jcv_made_at(a));
    if (has_tensors(a))
        return false;
    *unknown = *unknown || open;
    return (open || jcv_is_sequence(a)) && jcv_type_of(c, a) == &PyList_Type;
}

static void feed_both(jcv *c, void *lists, jcv_visit_fn fn, void *user) {
    jcv_av **both = lists;
    jcv_visit(c, both[0], NULL, fn, user);
    jcv_visit(c, both[1], NULL, fn, user);
}

typedef struct repeating {
    jcv_av *list, *rounds;
    jcv_visit_fn fn;
    void *user;
} repeating;

static void once_more(jcv *c, void *user, jcv_av *round) {
    const repeating *r = user;
    (void)round;
    jcv_visit(c, r->list, NULL, r->fn, r->user);
}

static void feed_again(jcv *c, void *from, jcv_visit_fn fn, void *user) {
    repeating *r = jcv_alloc(c, sizeof *r);
    *r = *(const repeating *)from;
    r->fn = fn;
    r->user = user;
    jcv_visit(c, r->rounds, NULL, once_more, r);
}

static bool is_int(const jcv_av *a) {
    return a->kind == AV_SCALAR ? a->val->type->kind == JANUS_KIND_INT
                                : a->kind == AV_PY && PyLong_CheckExact(a->py);
}

jcv_av *jcv_lists_binary(jcv *c, int op, jcv_av *a, jcv_av *b) {
    bool unknown = false;
    if (op == JPY_ADD && is_list(c, a, &unknown) && is_list(c, b, &unknown) && unknown) {
        jcv_av **both = jcv_alloc(c, 2 * sizeof *both);
        both[0] = a;
        both[1] = b;
        return jcv_list_of(c, feed_both, both, false, c->at);
    }
    jcv_av *list = is_int(a) ? b : a, *n = list == a ? b : a;
    if (op != JPY_MUL || !is_int(n) || !is_list(c, list, &unknown))
        return NULL;
    if (n->kind == AV_PY && !unknown)
        return NULL;
    jcv_av *rounds = jcv_new(c, AV_RANGE);
    rounds->n = 3;
    rounds->items = jcv_alloc(c, 3 * sizeof *rounds->items);
    for (long i = 0; i < 3; i++)
        rounds->items[i] = i == 1 ? n : jcv_take(c, PyLong_FromLong(i / 2));
    repeating *r = jcv_alloc(c, sizeof *r);
    *r = (repeating){.list = list, .rounds = rounds};
    return jcv_list_of(c, feed_again, r, false, c->at);
}
