/* SPDX-License-Identifier: Apache-2.0 */
/* Taking all items of something iterable, where they can be counted now. */
#include "pyfront/convert/values/values.h"

#include "pyfront/convert/core/list.h"
#include "pyfront/convert/heap/heap.h"

typedef struct taking {
    JCV_LIST(jcv_av *) out;
    jcv_ctx *ctx;
    bool some;       /* under a condition of the graph */
    jcv_visit_fn fn; /* NULL, or what is done with each instead */
    void *user;
} taking;

static void take(jcv *c, void *user, jcv_av *item) {
    taking *t = user;
    t->some = t->some || c->ctx != t->ctx;
    if (c->ctx != t->ctx)
        jcv_refuse(c, "items that only the graph can count");
    if (t->fn)
        t->fn(c, t->user, item);
    else
        jcv_add(c, &t->out, item);
}

/* Whether its items can be counted now; conditions are seen only when they are met. */
static bool countable(const jcv_av *a) {
    if (a->kind == AV_SEQ && a->tree)
        return a->tree->kind == JPY_DEF || countable(a->items[0]);
    return a->kind != AV_HOST && a->kind != AV_SEQ &&
           !(a->kind == AV_RANGE && (a->items[0]->kind != AV_PY || a->items[1]->kind != AV_PY ||
                                     a->items[2]->kind != AV_PY));
}

/* *out_some: all that there are lie under conditions of the graph, and NULL is returned: else they
 * are assumed not to be there. */
static jcv_av *try_taking(jcv *c, jcv_av *a, bool *out_some, jcv_visit_fn fn, void *user) {
    if (!countable(a))
        return NULL;
    /* inner levels and conditions may still be the graph's */
    jcv_state before = jcv_save(c);
    jcv_place place = jcv_where(c);
    uint32_t epoch = c->epoch;
    taking *t = jcv_alloc(c, sizeof *t);
    t->fn = fn;
    t->user = user;
    t->ctx = c->ctx = jcv_ctx_new(c, JCV_ARM, "items", c->ctx);
    jcv_handler h = {.up = c->handler};
    c->handler = &h;
    volatile bool thrown = true;
    if (setjmp(h.env) == 0) {
        jcv_feed(c, a, take, t);
        thrown = false;
    }
    c->handler = h.up;
    jcv_av *all = NULL;
    jcv_back(c, place);
    bool none = !thrown && out_some && t->some && !t->out.n;
    if (none)
        *out_some = true;
    if (!thrown && !none) {
        jcv_splice(c, t->ctx);
        all = jcv_tuple(c, t->out.data, (unsigned)t->out.n);
    }
    if (thrown && c->thrown != THROW_REFUSE)
        jcv_throw_now(c, c->thrown);
    if (thrown || none) {
        jcv_restore(c, before);
        c->epoch = epoch;
    }
    return all;
}

static jcv_av *try_all(jcv *c, jcv_av *a, bool *out_some) {
    return try_taking(c, a, out_some, NULL, NULL);
}

jcv_av *jcv_try_all(jcv *c, jcv_av *a) { return try_all(c, a, NULL); }

bool jcv_try_each(jcv *c, jcv_av *a, jcv_visit_fn fn, void *user) {
    return try_taking(c, a, NULL, fn, user) != NULL;
}

static jcv_av *collect(jcv *c, jcv_av *a, bool must, const jpy_tree *at) {
    bool made = a->kind == AV_SEQ && a->tree;
    const jpy_tree *site = made && (a->tree->kind == JPY_LISTCOMP || a->tree->kind == JPY_GENEXP)
                               ? a->tree
                           : made && a->tree->kind != JPY_DEF ? NULL
                                                              : at;
    return jcv_list_of(c, jcv_feed, a, must, site);
}

/* NULL: they cannot be rows. */
static jcv_av *try_collect(jcv *c, jcv_av *a, const jpy_tree *at) {
    jcv_state before = jcv_save(c);
    jcv_place place = jcv_where(c);
    uint32_t epoch = c->epoch;
    jcv_ctx *trial = c->ctx = jcv_ctx_new(c, JCV_ARM, "rows", c->ctx);
    jcv_handler h = {.up = c->handler};
    c->handler = &h;
    jcv_av *volatile l = NULL;
    if (setjmp(h.env) == 0)
        l = collect(c, a, true, at);
    c->handler = h.up;
    jcv_back(c, place);
    if (l) {
        jcv_splice(c, trial);
    } else if (c->thrown == THROW_REFUSE) {
        jcv_restore(c, before);
        c->epoch = epoch;
    } else {
        jcv_throw_now(c, c->thrown);
    }
    return l;
}

jcv_av *jcv_take_all(jcv *c, jcv_av *a, bool *out_known, const jpy_tree *at) {
    bool some = false;
    jcv_av *all = try_all(c, a, &some), *rows = some ? try_collect(c, a, at) : NULL;
    if (some && !rows)
        all = try_all(c, a, NULL);
    *out_known = all != NULL;
    if (all || rows)
        return all ? all : rows;
    return collect(c, a, false, at);
}
