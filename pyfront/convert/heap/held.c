/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of dead variables of a region's function: which object they hold, after branches of which each
 * may have bound another one.  Nothing is known of such a variable, but for that.
 */
#include "pyfront/convert/heap/heap.h"

bool jcv_is_kept(const jcv *c, uint32_t slot) {
    const jcv_frame *f = c->frame;
    while (f && f->caller)
        f = f->caller;
    const jpy_tree_fn *fn = f && f->def->kind == JPY_DEF ? f->def->fn : NULL;
    for (unsigned i = 0; fn && fn->n_kept && i < f->n; i++)
        for (unsigned k = 0; f->slots[i] == slot && k < fn->n_kept; k++)
            if (fn->kept[k] == f->names[i])
                return !f->boxed[i];
    return false;
}

static jcv_av *object_of(jcv *c, jcv_av *a);

static jcv_av *one_of(jcv *c, jcv_av *tuple) {
    jcv_av *found = jcv_none(c);
    for (unsigned i = 0; i < tuple->n && found; i++) {
        jcv_av *o = object_of(c, tuple->items[i]);
        if (!o || (!jcv_is_none(o) && !jcv_is_none(found) && !jcv_av_equal(o, found)))
            found = NULL;
        else if (!jcv_is_none(o))
            found = o;
    }
    return found;
}

/* The object that a value is or None, where it holds none; NULL: it may hold several. */
static jcv_av *object_of(jcv *c, jcv_av *a) {
    if (a->kind == AV_UNDEF)
        return jcv_lacks(a, LACK_UNBOUND) || jcv_lacks(a, LACK_DELETED) ? jcv_none(c) : a->held;
    if (a->kind == AV_HOST)
        return jcv_is_box(a) ? NULL : a;
    if (a->kind == AV_TUPLE)
        return one_of(c, a);
    if (a->kind == AV_PY && jcv_is_const(a))
        return jcv_none(c);
    if (a->kind == AV_PY && a->src)
        return a;
    bool number = a->kind == AV_SCALAR || a->kind == AV_RANGE || a->kind == AV_TEXT;
    return number ? jcv_none(c) : NULL;
}

void jcv_hold_either(jcv *c, uint32_t slot, jcv_av *both, jcv_av *a, jcv_av *b, jcv_pairs *p) {
    if (!jcv_lacks(both, LACK_UNKNOWN) || !jcv_is_kept(c, slot))
        return;
    jcv_av *x = object_of(c, a), *y = object_of(c, b);
    if (x && y && (jcv_is_none(x) ? jcv_is_none(y) : jcv_av_equal(x, y)))
        both->held = x;
    else if (x && y)
        both->held = jcv_placeholder(c, jcv_to_host(c, x), jcv_to_host(c, y), p);
}
