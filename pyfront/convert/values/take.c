/* SPDX-License-Identifier: Apache-2.0 */
/* Taking all items of something iterable, where they can be counted now. */
#include "pyfront/convert/values/values.h"

#include "pyfront/convert/core/list.h"
#include "pyfront/convert/heap/heap.h"

typedef struct taking {
    JCV_LIST(jcv_av *) out;
    jcv_ctx *ctx;
} taking;

static void take(jcv *c, void *user, jcv_av *item) {
    taking *t = user;
    if (c->ctx != t->ctx)
        jcv_refuse(c, "items that only the graph can count");
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

static void feed(jcv *c, void *iterable, jcv_visit_fn fn, void *user) {
    jcv_visit(c, iterable, NULL, fn, user);
}

jcv_av *jcv_try_all(jcv *c, jcv_av *a) {
    if (!countable(a))
        return NULL;
    /* inner levels and conditions may still be the graph's */
    jcv_state before = jcv_save(c);
    jcv_place place = jcv_where(c);
    uint32_t epoch = c->epoch;
    taking *t = jcv_alloc(c, sizeof *t);
    t->ctx = c->ctx = jcv_ctx_new(c, JCV_ARM, "items", c->ctx);
    jcv_handler h = {.up = c->handler};
    c->handler = &h;
    volatile bool thrown = true;
    if (setjmp(h.env) == 0) {
        feed(c, a, take, t);
        thrown = false;
    }
    c->handler = h.up;
    jcv_av *all = NULL;
    jcv_back(c, place);
    if (!thrown) {
        jcv_splice(c, t->ctx);
        all = jcv_tuple(c, t->out.data, (unsigned)t->out.n);
    }
    if (thrown && c->thrown != THROW_REFUSE)
        jcv_throw_now(c, c->thrown);
    if (thrown) {
        jcv_restore(c, before);
        c->epoch = epoch;
    }
    return all;
}

jcv_av *jcv_take_all(jcv *c, jcv_av *a, bool *out_known) {
    jcv_av *all = jcv_try_all(c, a);
    *out_known = all != NULL;
    if (all)
        return all;
    const jpy_tree *site =
        a->kind == AV_SEQ && a->tree && a->tree->kind != JPY_DEF ? a->tree : NULL;
    jcv_av *l = jcv_collect(c, feed, a, true);
    l->site = site;
    return l;
}
