/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterators over containers that change meanwhile.
 *
 * The converter takes the items of a known container when an iterator over it is made; CPython
 * takes each when it is asked for.  So an iterator remembers where its items come from, and before
 * each one is used it must still lie there, in a container of the same length.  Else the conversion
 * refuses.
 */
#include "pyfront/convert/values/values.h"

#include <string.h>

#include "pyfront/convert/heap/heap.h"

struct jcv_watch {
    jcv_av *of, *held; /* the container; what it held: items, or keys, or keys and values */
    int64_t at, step;  /* item i of the iterator is item at + i * step */
    unsigned gone;     /* of a dict: keys that had been taken out of it */
    jcv_watch_kind kind;
    jcv_sight *sight; /* of WATCH_SIGHT */
    jcv_watch *next;
};

/* What a container holds now; NULL: what it held when the function was called. */
static jcv_av *contents(jcv *c, const jcv_av *of) {
    if (of->kind != AV_PY)
        return c->slots.data[of->slot];
    for (size_t i = 0; i < c->real.n; i++)
        if (c->real.data[i]->origin->py == of->py)
            return c->slots.data[c->real.data[i]->slot];
    return NULL;
}

jcv_watch *jcv_watch_new(jcv *c, jcv_watch_kind kind, jcv_av *of, jcv_av *held, bool reverse) {
    jcv_watch *w = jcv_alloc(c, sizeof *w);
    int64_t n = held->n / (kind == WATCH_PAIRS ? 2 : 1);
    const jcv_av *now = contents(c, of);
    *w = (jcv_watch){.of = of,
                     .held = held,
                     .at = reverse ? n - 1 : 0,
                     .step = reverse ? -1 : 1,
                     .gone = now ? jcv_pairs_gone(now) : 0,
                     .kind = kind};
    return w;
}

jcv_watch *jcv_watch_sight(jcv *c, jcv_sight *sight, jcv_watch *rest) {
    jcv_watch *w = jcv_alloc(c, sizeof *w);
    w->next = rest;
    w->kind = WATCH_SIGHT;
    w->sight = sight;
    return w;
}

/* What iterating over `a`, which gave `items`, depends on, and then `rest`. */
jcv_watch *jcv_watch_over(jcv *c, jcv_av *a, jcv_av *items, bool reverse, jcv_watch *rest) {
    bool real = a->kind == AV_PY;
    jcv_watch *w = NULL;
    if (a->kind == AV_LIST || (real && PyList_Check(a->py)))
        w = jcv_watch_new(c, WATCH_ITEMS, a, items, reverse);
    else if (a->kind == AV_DICT || (real && PyDict_Check(a->py)))
        w = jcv_watch_new(c, WATCH_KEYS, a, items, reverse);
    if (w)
        w->next = rest;
    if (a->kind != AV_ITER && a->kind != AV_SEQ)
        return w ? w : rest;
    int64_t first = a->slot && a->kind == AV_ITER ? (int64_t)a->n - items->n : 0;
    for (const jcv_watch *x = a->watch; x; x = x->next) {
        w = jcv_alloc(c, sizeof *w);
        *w = *x;
        w->at += first * x->step;
        if (reverse) {
            w->at += ((int64_t)items->n - 1) * x->step;
            w->step = -x->step;
        }
        w->next = rest;
        rest = w;
    }
    return rest;
}

static bool list_holds(const jcv_watch *w, const jcv_av *now, int64_t at) {
    if (now->kind != AV_TUPLE || now->n != w->held->n)
        return false;
    return at < 0 || at >= now->n || jcv_av_equal(now->items[at], w->held->items[at]);
}

static bool dict_holds(jcv *c, const jcv_watch *w, jcv_av *now, int64_t at) {
    unsigned each = w->kind == WATCH_PAIRS ? 2 : 1, n = w->held->n / each;
    bool whole = w->of->kind == AV_DICT && !w->of->origin;
    if (now->kind != AV_TUPLE)
        return false;
    if (whole || jcv_all_pairs(now)) { /* the same keys in the same order */
        bool same = now->n / 2 == n;
        for (unsigned i = 0; same && i < n; i++)
            same = jcv_same_key(c, w->held->items[each * i], now->items[2 * i]);
        if (!same || jcv_pairs_gone(now) != w->gone)
            return false;
    }
    for (unsigned i = 0; i + 1 < now->n; i += 2) { /* no key that was not there */
        unsigned k = 0;
        while (k < n && !jcv_same_key(c, w->held->items[each * k], now->items[i]))
            k++;
        if (k == n || now->items[i + 1]->kind == AV_UNDEF)
            return false;
    }
    if (w->kind != WATCH_PAIRS || at < 0 || at >= n)
        return true;
    int found = jcv_find_key(c, now, w->held->items[2 * at]);
    return found < 0 || jcv_av_equal(now->items[found + 1], w->held->items[2 * at + 1]);
}

void jcv_unchanged(jcv *c, const jcv_watch *w, int64_t i) {
    for (; w; w = w->next) {
        if (w->kind == WATCH_SIGHT) {
            if (!jcv_sees_the_same(c, w->sight))
                jcv_refuse(c, "what a generator may see is changed before its next item");
            continue;
        }
        jcv_av *now = contents(c, w->of);
        int64_t at = i < 0 ? -1 : w->at + i * w->step;
        if (now && now != w->held &&
            !(w->kind == WATCH_ITEMS ? list_holds(w, now, at) : dict_holds(c, w, now, at)))
            jcv_refuse(c, "a container is changed while it is iterated over");
    }
}

void jcv_all_unchanged(jcv *c, const jcv_watch *w, int64_t from, int64_t n) {
    for (int64_t i = from; i < from + n; i++)
        jcv_unchanged(c, w, i);
    jcv_unchanged(c, w, -1);
}

jcv_av *jcv_taken(jcv *c, jcv_av *it, jcv_av *item) {
    if (it->kind != AV_ITER || !it->self)
        return item;
    return jcv_call(c, it->self, &(jcv_args){.pos = item->items, .n_pos = item->n});
}

/* `it`, what it goes over, and iterators that variables of a generator hold; seen: by slot. */
static void abandon(jcv *c, const jcv_av *it, bool itself, bool *seen, size_t n) {
    if (it->kind != AV_ITER && it->kind != AV_SEQ && it->kind != AV_TUPLE)
        return;
    if (it->kind != AV_TUPLE && it->slot && it->slot < n) {
        if (seen[it->slot])
            return;
        seen[it->slot] = true;
    }
    bool function = it->kind == AV_SEQ && it->tree && it->tree->kind == JPY_DEF;
    for (unsigned i = 0; function && i < it->frame->n; i++) {
        uint32_t slot = it->frame->slots[i];
        if (slot < n && !seen[slot]) {
            seen[slot] = true;
            abandon(c, c->slots.data[slot], true, seen, n);
        }
    }
    for (unsigned i = 0; it->kind != AV_ITER && it->items && i < it->n; i++)
        abandon(c, it->items[i], true, seen, n);
    if (itself && it->kind != AV_TUPLE && it->slot)
        jcv_put(c, it->slot, jcv_lacking(c, LACK_UNKNOWN, "an iterator was left half used"));
}

void jcv_abandon(jcv *c, jcv_av *it) {
    if (it->kind == AV_ITER || it->kind == AV_SEQ)
        abandon(c, it, true, jcv_alloc(c, c->slots.n + 1), c->slots.n);
}

void jcv_abandon_inside(jcv *c, jcv_av *it) {
    abandon(c, it, false, jcv_alloc(c, c->slots.n + 1), c->slots.n);
}
