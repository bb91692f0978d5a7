/* SPDX-License-Identifier: Apache-2.0 */
/* What a run has written, keyed by location: see overlay.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "exec/heap/heap.h"
#include "exec/heap/overlay.h"
#include "exec/schedule/schedule.h"
#include "graph/base/status.h"

typedef enum place { AT_ATTR, AT_ITEM, AT_LIST, AT_DICT, AT_KEY } place;

typedef struct location {
    janus_object object;
    int64_t index; /* attribute, item; bits of a key */
    int64_t what;  /* place; keys: AT_KEY + their kind */
} location;

typedef struct jn_appended {
    jn_box value;
    const jn_place *place; /* in program order: suspended frames append late */
    size_t number;
} jn_appended;

typedef struct jn_overlay_entry {
    location at;
    jn_box value; /* attributes, items, keys */
    /* Lists: what comes behind the first `length` items, from `first` on; a queue loses and gets
     * items at its front without moving the others. */
    JN_VEC(jn_appended) appended;
    size_t first;
    size_t settled; /* what stands before it stays where it is, whatever place it is of */
    bool disordered;
    int64_t length; /* lists: items of the heap's list that are left; dicts: keys more */
    /* Dicts: keys that were put in, in order; where one was put in again, both are here.  Keys: the
     * last place there, plus one; 0: the heap's dict has it. */
    JN_VEC(jn_box) added;
    size_t turn;
    int64_t tag; /* keys: of what was written */
    UT_hash_handle hh;
} jn_overlay_entry;

static jn_overlay_entry *find(const jn_run *r, janus_object o, int64_t index, int64_t what) {
    jn_overlay_entry *e = NULL;
    location at;
    if (!r->of_heap.overlay)
        return NULL;
    memset(&at, 0, sizeof at);
    at.object = o;
    at.index = index;
    at.what = what;
    HASH_FIND(hh, r->of_heap.overlay, &at, sizeof at, e);
    return e;
}

static jn_overlay_entry *put(jn_run *r, janus_object o, int64_t index, int64_t what) {
    jn_overlay_entry *e = find(r, o, index, what);
    if (e)
        return e;
    e = jn_calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->at.object = o;
    e->at.index = index;
    e->at.what = what;
    HASH_ADD(hh, r->of_heap.overlay, at, sizeof e->at, e);
    r->containers |= what != AT_ATTR && !jn_birth_of(o);
    return e;
}

void jn_overlay_free(jn_run *r) {
    jn_overlay_entry *e, *next;
    HASH_ITER(hh, r->of_heap.overlay, e, next) {
        HASH_DEL(r->of_heap.overlay, e);
        jn_vec_free(&e->appended);
        jn_vec_free(&e->added);
        jn_free(e);
    }
}

janus_status jn_overlay_each(jn_run *r, janus_status (*fn)(void *arg, jn_box *b), void *arg) {
    for (jn_overlay_entry *e = r->of_heap.overlay; e; e = e->hh.next) {
        JN_TRY(fn(arg, &e->value));
        for (size_t i = e->first; i < e->appended.n; i++)
            JN_TRY(fn(arg, &e->appended.data[i].value));
    }
    return JANUS_OK;
}

janus_status jn_box_from_host(jn_run *r, const janus_host_value *v, jn_box *out) {
    out->kind = v->kind;
    switch (v->kind) {
    case JANUS_KIND_INT:
    case JANUS_KIND_BOOL:
    case JANUS_KIND_FLOAT:
        out->v.i = v->s.i;
        return JANUS_OK;
    case JANUS_KIND_TENSOR:
        return jn_tval_bind(r, v->t, NULL, NULL, &out->v.t);
    default:
        out->v.p = v->o;
        if (v->kind == JANUS_KIND_OBJECT && jn_box_of(v->o))
            return jn_error(JANUS_INVALID_ARGUMENT, "a host object with an odd address");
        return JANUS_OK;
    }
}

janus_host_value jn_box_to_host(const jn_box *b) {
    janus_host_value v = {.kind = b->kind};
    if (b->kind == JANUS_KIND_OBJECT)
        v.o = b->v.p;
    else if (b->kind != JANUS_KIND_TENSOR)
        v.s.i = b->v.i;
    return v;
}

static janus_status need(const void *callback, const char *name) {
    return callback ? JANUS_OK
                    : jn_error(JANUS_UNSUPPORTED, "the embedding program has no %s", name);
}

static janus_status missing(const char *what) {
    return jn_error(JANUS_NOT_FOUND, "there is no such %s", what);
}

static janus_status given(const jn_overlay_entry *e, const char *what, jn_box *out) {
    if ((int)e->value.kind == JN_KIND_ABSENT)
        return missing(what);
    *out = e->value;
    return JANUS_OK;
}

/* ---- attributes ---------------------------------------------------------------------------------
 */

janus_status jn_ov_get_attr(jn_run *r, janus_object o, int64_t key, jn_box *out) {
    const jn_overlay_entry *e = find(r, o, key, AT_ATTR);
    janus_host_value v = {0};
    if (e)
        return given(e, "attribute", out);
    if (jn_birth_of(o))
        return missing("attribute");
    JN_TRY(need((void *)r->host.get_attr, "get_attr"));
    JN_TRY(r->host.get_attr(r->options.host_ctx, o, key, &v));
    return jn_box_from_host(r, &v, out);
}

janus_status jn_ov_set_attr(jn_run *r, janus_object o, int64_t key, jn_box value) {
    jn_overlay_entry *e = put(r, o, key, AT_ATTR);
    if (!e)
        return JN_NO_MEMORY();
    e->value = value;
    return JANUS_OK;
}

/* ---- lists and tuples ---------------------------------------------------------------------------
 */

static janus_status heap_length(jn_run *r, janus_object o, int64_t *out) {
    const jn_birth *b = jn_birth_of(o);
    if (b) {
        *out = b->n;
        return JANUS_OK;
    }
    JN_TRY(need((void *)r->host.length, "length"));
    return r->host.length(r->options.host_ctx, o, out);
}

static int64_t n_appended(const jn_overlay_entry *e) { return (int64_t)(e->appended.n - e->first); }

janus_status jn_ov_length(jn_run *r, janus_object o, int64_t *out) {
    const jn_overlay_entry *e = find(r, o, 0, AT_LIST);
    if (e) {
        *out = e->length + n_appended(e);
        return JANUS_OK;
    }
    JN_TRY(heap_length(r, o, out));
    e = find(r, o, 0, AT_DICT);
    *out += e ? e->length : 0;
    return JANUS_OK;
}

static janus_status list_state(jn_run *r, janus_object o, jn_overlay_entry **out) {
    jn_overlay_entry *e = find(r, o, 0, AT_LIST);
    int64_t n;
    *out = e;
    if (e)
        return JANUS_OK;
    JN_TRY(heap_length(r, o, &n));
    *out = e = put(r, o, 0, AT_LIST);
    if (!e)
        return JN_NO_MEMORY();
    e->length = n;
    return JANUS_OK;
}

static int by_place(const void *a, const void *b) {
    const jn_appended *x = a, *y = b;
    uint64_t p = x->place ? x->place->label : 0, q = y->place ? y->place->label : 0;
    if (p != q)
        return p < q ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* The state of a list that is read: what earlier frames have appended late moves to its place. */
static jn_overlay_entry *find_list(const jn_run *r, janus_object o) {
    jn_overlay_entry *e = find(r, o, 0, AT_LIST);
    if (!e || !e->disordered)
        return e;
    size_t from = e->settled > e->first ? e->settled : e->first;
    for (size_t i = from; i < e->appended.n; i++)
        e->appended.data[i].number = i;
    qsort(e->appended.data + from, e->appended.n - from, sizeof *e->appended.data, by_place);
    e->disordered = false;
    return e;
}

/* An item of the list below what was appended. */
static janus_status below(jn_run *r, janus_object o, int64_t index, jn_box *out) {
    const jn_overlay_entry *e = find(r, o, index, AT_ITEM);
    const jn_birth *b = jn_birth_of(o);
    janus_host_value v = {0};
    if (e) {
        *out = e->value;
        return JANUS_OK;
    }
    if (b) {
        if (index < 0 || index >= (int64_t)b->n)
            return missing("item");
        *out = b->items[index];
        return JANUS_OK;
    }
    JN_TRY(need((void *)r->host.get_item, "get_item"));
    JN_TRY(r->host.get_item(r->options.host_ctx, o, index, &v));
    return jn_box_from_host(r, &v, out);
}

janus_status jn_ov_get_item(jn_run *r, janus_object o, int64_t index, jn_box *out) {
    const jn_overlay_entry *e = find_list(r, o);
    int64_t n;
    if (index < 0) {
        JN_TRY(jn_ov_length(r, o, &n));
        index += n;
    }
    if (!e)
        return below(r, o, index, out);
    if (index < 0 || index >= e->length + n_appended(e))
        return missing("item");
    if (index < e->length)
        return below(r, o, index, out);
    *out = e->appended.data[e->first + (size_t)(index - e->length)].value;
    return JANUS_OK;
}

janus_status jn_ov_set_item(jn_run *r, janus_object o, int64_t *index, jn_box value) {
    int64_t n;
    JN_TRY(jn_ov_length(r, o, &n));
    if (*index < 0)
        *index += n;
    if (*index < 0 || *index >= n)
        return missing("item");
    jn_overlay_entry *e = find_list(r, o);
    if (e && *index >= e->length) {
        e->appended.data[e->first + (size_t)(*index - e->length)].value = value;
        return JANUS_OK;
    }
    e = put(r, o, *index, AT_ITEM);
    if (!e)
        return JN_NO_MEMORY();
    e->value = value;
    return JANUS_OK;
}

janus_status jn_ov_append(jn_run *r, janus_object o, jn_box value) {
    jn_overlay_entry *e;
    JN_TRY(list_state(r, o, &e));
    jn_appended a = {value, r->here, 0};
    if (e->appended.n > e->first && e->appended.n > e->settled &&
        jn_vec_last(&e->appended).place != a.place)
        e->disordered |= jn_vec_last(&e->appended).place && a.place &&
                         a.place->label < jn_vec_last(&e->appended).place->label;
    return jn_vec_push(&e->appended, a) ? JANUS_OK : JN_NO_MEMORY();
}

janus_status jn_ov_pop(jn_run *r, janus_object o, jn_box *out) {
    jn_overlay_entry *e;
    JN_TRY(list_state(r, o, &e));
    (void)find_list(r, o);
    if (n_appended(e)) {
        *out = jn_vec_pop(&e->appended).value;
        if (e->settled > e->appended.n)
            e->settled = e->appended.n;
        return JANUS_OK;
    }
    if (!e->length)
        return missing("item");
    JN_TRY(below(r, o, e->length - 1, out));
    /* what is appended in its place is found before an item written there */
    e->length--;
    return JANUS_OK;
}

/* Room for n more at the front of what is behind the first items. */
static janus_status room_before(jn_overlay_entry *e, size_t n) {
    if (e->first >= n)
        return JANUS_OK;
    size_t more = n + (size_t)n_appended(e) + 8;
    if (!jn_vec_reserve(&e->appended, e->appended.n + more))
        return JN_NO_MEMORY();
    memmove(e->appended.data + e->first + more, e->appended.data + e->first,
            (size_t)n_appended(e) * sizeof *e->appended.data);
    e->first += more;
    e->appended.n += more;
    return JANUS_OK;
}

/* The list's state with item `index` and all behind it among what can be moved, and these in the
 * order that they have from now on. */
static janus_status list_from(jn_run *r, janus_object o, int64_t index, jn_overlay_entry **out) {
    jn_overlay_entry *e;
    JN_TRY(list_state(r, o, out));
    *out = e = find_list(r, o);
    if (index < e->length)
        JN_TRY(room_before(e, (size_t)(e->length - index)));
    while (index < e->length) {
        jn_appended a = {0};
        JN_TRY(below(r, o, e->length - 1, &a.value));
        e->appended.data[--e->first] = a;
        e->length--;
    }
    e->settled = e->appended.n;
    return JANUS_OK;
}

janus_status jn_ov_insert(jn_run *r, janus_object o, int64_t *index, jn_box value) {
    jn_overlay_entry *e;
    int64_t n;
    JN_TRY(jn_ov_length(r, o, &n));
    *index += *index < 0 ? n : 0;
    *index = *index < 0 ? 0 : *index > n ? n : *index;
    JN_TRY(list_from(r, o, *index, &e));
    jn_appended *a, put = {value, NULL, 0};
    size_t before = (size_t)(*index - e->length);
    if (before) {
        if (!jn_vec_push(&e->appended, put))
            return JN_NO_MEMORY();
        a = e->appended.data + e->first + before;
        memmove(a + 1, a, (e->appended.n - 1 - e->first - before) * sizeof *a);
    } else {
        JN_TRY(room_before(e, 1));
        a = e->appended.data + --e->first;
    }
    *a = put;
    e->settled = e->appended.n;
    return JANUS_OK;
}

janus_status jn_ov_del_item(jn_run *r, janus_object o, int64_t *index, jn_box *out) {
    jn_overlay_entry *e;
    int64_t n;
    JN_TRY(jn_ov_length(r, o, &n));
    *index += *index < 0 ? n : 0;
    if (*index < 0 || *index >= n)
        return missing("item");
    JN_TRY(list_from(r, o, *index, &e));
    size_t before = (size_t)(*index - e->length);
    jn_appended *a = e->appended.data + e->first + before;
    *out = a->value;
    if (before) {
        memmove(a, a + 1, (e->appended.n - 1 - e->first - before) * sizeof *a);
        e->appended.n--;
    } else {
        e->first++;
    }
    e->settled = e->appended.n;
    return JANUS_OK;
}

/* ---- dicts --------------------------------------------------------------------------------------
 * Equal keys are one location: texts as the embedding program says, tuples that the run has made by
 * their items.  What is logged is the key itself.
 */

typedef struct jn_tuple_key {
    jn_birth *first;
    UT_hash_handle hh;
    int64_t items[]; /* kind and bits of each */
} jn_tuple_key;

void jn_tuple_keys_free(jn_run *r) { HASH_CLEAR(hh, r->of_heap.tuple_keys); }

static janus_status location_of(jn_run *r, const jn_box *key, jn_box *out);

static janus_status tuple_location(jn_run *r, jn_birth *b, jn_box *out) {
    size_t size = 2 * sizeof(int64_t) * b->n;
    jn_tuple_key *k = jn_arena_zalloc(&r->mem->arena, sizeof *k + size), *same = NULL;
    if (!k)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < b->n; i++) {
        jn_box item = jn_box_now(b->items[i]);
        if (item.kind & JN_KIND_LATER)
            return jn_error(JANUS_UNSUPPORTED, "a key with a number that is not there yet");
        JN_TRY(location_of(r, &item, &item));
        k->items[2 * i] = item.kind;
        k->items[2 * i + 1] = item.v.i;
    }
    HASH_FIND(hh, r->of_heap.tuple_keys, k->items, size, same);
    if (!same) {
        k->first = b;
        HASH_ADD_KEYPTR(hh, r->of_heap.tuple_keys, k->items, size, k);
        same = k;
    }
    out->v.p = same->first;
    return JANUS_OK;
}

static janus_status location_of(jn_run *r, const jn_box *key, jn_box *out) {
    *out = *key;
    if (key->kind != JANUS_KIND_OBJECT)
        return JANUS_OK;
    jn_birth *b = jn_birth_of(key->v.p);
    if (b && b->what != JANUS_BIRTH_TUPLE)
        return jn_error(JANUS_UNSUPPORTED, "a container as a key");
    if (b)
        return tuple_location(r, b, out);
    return r->host.key_of ? r->host.key_of(r->options.host_ctx, key->v.p, &out->v.p) : JANUS_OK;
}

janus_status jn_ov_get_key(jn_run *r, janus_object o, const jn_box *key, jn_box *out) {
    jn_box at;
    JN_TRY(location_of(r, key, &at));
    const jn_overlay_entry *e = find(r, o, at.v.i, AT_KEY + (int64_t)at.kind);
    if (e)
        return given(e, "key", out);
    if (jn_birth_of(o) || (key->kind == JANUS_KIND_OBJECT && jn_birth_of(key->v.p)))
        return missing("key");
    if (key->kind == JANUS_KIND_TENSOR)
        return jn_error(JANUS_UNSUPPORTED, "host.key: a tensor cannot be a key");
    janus_host_value k = jn_box_to_host(key), v = {0};
    JN_TRY(need((void *)r->host.get_key, "get_key"));
    JN_TRY(r->host.get_key(r->options.host_ctx, o, &k, &v));
    return jn_box_from_host(r, &v, out);
}

static janus_status write_key(jn_run *r, janus_object o, const jn_box *key, jn_box value,
                              int64_t tag, int64_t longer) {
    jn_box at;
    JN_TRY(location_of(r, key, &at));
    jn_overlay_entry *e = put(r, o, at.v.i, AT_KEY + (int64_t)at.kind);
    if (!e)
        return JN_NO_MEMORY();
    e->value = value;
    e->tag = tag;
    if (!longer)
        return JANUS_OK;
    jn_overlay_entry *d = put(r, o, 0, AT_DICT);
    if (!d || (longer > 0 && !jn_vec_push(&d->added, *key)))
        return JN_NO_MEMORY();
    d->length += longer;
    if (longer > 0)
        e->turn = d->added.n;
    return JANUS_OK;
}

janus_status jn_ov_set_key(jn_run *r, janus_object o, const jn_box *key, jn_box value,
                           int64_t tag) {
    jn_box had;
    janus_status st = jn_ov_get_key(r, o, key, &had);
    if (st != JANUS_OK && st != JANUS_NOT_FOUND)
        return st;
    return write_key(r, o, key, value, tag, st != JANUS_OK);
}

janus_status jn_ov_del_key(jn_run *r, janus_object o, const jn_box *key) {
    jn_box had, none = {(janus_kind)JN_KIND_ABSENT, {0}};
    JN_TRY(jn_ov_get_key(r, o, key, &had));
    return write_key(r, o, key, none, 0, -1);
}

/* The pairs of the heap's dict that are left, and what they hold now. */
static janus_status heap_pairs(jn_run *r, janus_object o, jn_pair_fn fn, void *arg) {
    janus_host_value k = {0}, v = {0};
    int64_t at_pair = 0;
    janus_status st;
    JN_TRY(need((void *)r->host.next_pair, "next_pair"));
    while ((st = r->host.next_pair(r->options.host_ctx, o, &at_pair, &k, &v)) == JANUS_OK) {
        jn_box key, at, value;
        JN_TRY(jn_box_from_host(r, &k, &key));
        JN_TRY(location_of(r, &key, &at));
        const jn_overlay_entry *e = find(r, o, at.v.i, AT_KEY + (int64_t)at.kind);
        if (e && (e->turn || (int)e->value.kind == JN_KIND_ABSENT))
            continue;
        JN_TRY(jn_box_from_host(r, &v, &value));
        JN_TRY(fn(arg, &key, e ? e->value : value, e ? e->tag : 0));
    }
    return st == JANUS_NOT_FOUND ? JANUS_OK : st;
}

janus_status jn_ov_pairs(jn_run *r, janus_object o, jn_pair_fn fn, void *arg) {
    if (!jn_birth_of(o))
        JN_TRY(heap_pairs(r, o, fn, arg));
    const jn_overlay_entry *d = find(r, o, 0, AT_DICT);
    for (size_t i = 0; d && i < d->added.n; i++) {
        jn_box key = d->added.data[i], at;
        JN_TRY(location_of(r, &key, &at));
        const jn_overlay_entry *e = find(r, o, at.v.i, AT_KEY + (int64_t)at.kind);
        if (e && e->turn == i + 1 && (int)e->value.kind != JN_KIND_ABSENT)
            JN_TRY(fn(arg, &key, e->value, e->tag));
    }
    return JANUS_OK;
}
