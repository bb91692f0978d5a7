/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instances that the program makes and of which only the graph knows which one it is: items of a
 * list that it sorts, or whose length it decides.
 *
 * Such an item is known by what its attributes are, and each read makes another instance of them.
 * That is as good as the object itself as long as nobody sets an attribute of one of them or asks
 * which one it is: from then on all of them, and those that were copied, are *frozen*.
 */
#include "pyfront/convert/objects/objects.h"

#include "pyfront/convert/heap/heap.h"

static void freeze(jcv *c, PyObject *o) {
    if (!jcv_is_frozen(c, o) && !jn_vec_push(&c->frozen, o))
        jcv_refuse(c, "out of memory");
}

static size_t place_of(const jcv *c, const PyObject *o) {
    size_t at = 0;
    while (c->fresh.data[at] != o)
        at++;
    return at;
}

/* A tuple of the heap, or of the program's text, is what its items are. */
static jcv_av *in_pieces(jcv *c, jcv_av *a) {
    jcv_av **items;
    unsigned n;
    bool tuple = a->kind == AV_PY && PyTuple_CheckExact(a->py) && jcv_items(c, a, &items, &n);
    return tuple ? jcv_tuple(c, items, n) : a;
}

jcv_av *jcv_copies_of(jcv *c, jcv_av *a, size_t made) {
    bool object = a->kind == AV_PY && jcv_is_fresh(c, a->py), changed = object;
    if (!object && a->kind != AV_TUPLE)
        return a;
    if (object && !jcv_is_frozen(c, a->py) && place_of(c, a->py) < made)
        jcv_refuse(c, "an instance that was made outside is one of several");
    jcv_av *t = object ? jcv_attrs_of_plain(c, a->py) : jcv_tuple_like(c, a);
    for (unsigned i = 0; i < t->n; i++) {
        jcv_av *v = jcv_to_copy(c, object ? in_pieces(c, t->items[i]) : a->items[i], made);
        changed = changed || v != a->items[i];
        t->items[i] = v;
    }
    if (object)
        freeze(c, a->py);
    return changed ? t : a;
}

jcv_av *jcv_made_of_copies(jcv *c, jcv_av *a) {
    if (a->kind != AV_TUPLE)
        return a;
    bool changed = a->text == jcv_record;
    jcv_av *t = jcv_tuple_like(c, a);
    for (unsigned i = 0; i < a->n; i++) {
        t->items[i] = jcv_from_copy(c, a->items[i]);
        changed = changed || t->items[i] != a->items[i];
    }
    if (a->text != jcv_record)
        return changed ? t : a;
    jcv_av *o = jcv_from_record(c, t);
    freeze(c, o->py);
    return o;
}
