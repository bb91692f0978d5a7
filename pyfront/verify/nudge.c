/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far rounding moves what a graph gives.
 *
 * An optimizer that divides a gradient by its own size makes of a rounding a number as large as its
 * step, and no bound on a difference tells that from a mistake.  So where floats differed once, the
 * graph of a shadow runs a second time on inputs of which each float is the next one, up or down.
 * A difference from CPython that is not larger than what this changes is rounding.
 *
 * Nothing of the program is written: the second run is given copies, one of each piece of memory,
 * so that views and writes meet as they do in the first.  Numbers of a few digits stay: programs
 * ask whether masks, labels and counters are equal to something, and what comes of an answer is no
 * rounding.
 */
#include <string.h>

#include "exec/eager/eager.h"
#include "exec/store/store.h"
#include "pyfront/verify/verify.h"

/* The bits of a float's fraction that are all zero where it has few digits. */
static uint64_t low_bits(janus_dtype dtype) {
    switch (dtype) {
    case JANUS_F64:
        return (UINT64_C(1) << 41) - 1;
    case JANUS_F32:
        return (1U << 12) - 1;
    case JANUS_F16:
        return (1U << 6) - 1;
    default:
        return (1U << 4) - 1;
    }
}

/* `low` is not zero, so that the number keeps its exponent, and what is no number stays none. */
#define NUDGE(type)                                                                                \
    do {                                                                                           \
        type *x = (type *)data;                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                          \
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);         \
            if (x[i] & (type)low)                                                                  \
                x[i] = (type)(state >> 63 ? x[i] + 1 : x[i] - 1);                                  \
        }                                                                                          \
    } while (0)

static void nudge(void *data, int64_t n, janus_dtype dtype) {
    uint64_t low = low_bits(dtype), state = 1;
    if (dtype == JANUS_F64)
        NUDGE(uint64_t);
    else if (dtype == JANUS_F32)
        NUDGE(uint32_t);
    else
        NUDGE(uint16_t);
}
#undef NUDGE

static janus_status copy_of(janus_tensor *t, janus_tensor **out) {
    janus_tensor *all = NULL;
    char *data;
    int64_t n = (int64_t)(t->storage->bytes / jn_dtype_size((janus_dtype)t->dtype)), one = 1;
    JN_TRY(jn_tensor_view(t, 1, &n, &one, -jn_tensor_offset(t), &all));
    janus_status st = jn_tensor_empty((janus_dtype)t->dtype, 1, &n, out);
    if (st == JANUS_OK)
        st = jn_tensor_copy(*out, all);
    if (st == JANUS_OK)
        st = jn_tensor_data(*out, &data);
    if (st == JANUS_OK)
        nudge(data, n, (janus_dtype)t->dtype);
    janus_tensor_release(all);
    return st;
}

/* Its memory, nudged. */
static janus_status memory_of(jpy_shadow *s, janus_tensor *t, jpy_nudged **out) {
    HASH_FIND(by_program, s->nudged, &t->storage, sizeof t->storage, *out);
    if (*out)
        return (*out)->all->dtype == t->dtype
                   ? JANUS_OK
                   : jn_error(JANUS_UNSUPPORTED, "memory that is read as two types is not nudged");
    jpy_nudged *x = jn_arena_zalloc(&s->arena, sizeof *x);
    if (!x)
        return JN_NO_MEMORY();
    janus_status st = copy_of(t, &x->all);
    if (st != JANUS_OK) {
        janus_tensor_release(x->all);
        return st;
    }
    x->of = t->storage;
    x->copy = x->all->storage;
    jn_storage_retain(x->of);
    HASH_ADD(by_program, s->nudged, of, sizeof x->of, x);
    if (!x->by_program.tbl) {
        jn_storage_release(x->of);
        janus_tensor_release(x->all);
        return JN_NO_MEMORY();
    }
    HASH_ADD(by_copy, s->nudged_back, copy, sizeof x->copy, x);
    *out = x;
    return x->by_copy.tbl ? JANUS_OK : JN_NO_MEMORY();
}

janus_status jpy_shadow_nudge(jpy_shadow *s, janus_tensor *t, janus_tensor **out) {
    jpy_nudged *x;
    janus_tensor *view = NULL;
    *out = t;
    if (!s->nudges || !jn_dtype_is_float((janus_dtype)t->dtype) || !t->numel ||
        t->storage->device || jn_tensor_is_rows(t))
        return JANUS_OK;
    JN_TRY(memory_of(s, t, &x));
    JN_TRY(jn_tensor_view(x->all, t->rank, t->dims, t->strides, jn_tensor_offset(t), &view));
    if (!jn_vec_push(&s->nudged_views, view)) {
        janus_tensor_release(view);
        return JN_NO_MEMORY();
    }
    *out = view;
    return JANUS_OK;
}

const jn_storage *jpy_shadow_unnudged(const jpy_shadow *s, const jn_storage *st) {
    jpy_nudged *x;
    HASH_FIND(by_copy, s->nudged_back, &st, sizeof st, x);
    return x ? x->of : st;
}

/* ---- what the second run gave ------------------------------------------------------------------
 */

static jpy_moved *find(const jpy_shadow *s, const void *of) {
    jpy_moved *x;
    HASH_FIND_PTR(s->moved, &of, x);
    return x;
}

/* The first one: of what CPython gives in several places the graph may give several. */
static jpy_moved *add(jpy_shadow *s, const void *of) {
    jpy_moved *x = find(s, of) ? NULL : jn_arena_zalloc(&s->arena, sizeof *x);
    if (x) {
        x->of = of;
        HASH_ADD_PTR(s->moved, of, x);
    }
    return x && x->hh.tbl ? x : NULL;
}

void jpy_shadow_moved(jpy_shadow *s, const void *of, janus_tensor *t) {
    jpy_moved *x = add(s, of);
    if (x) {
        janus_tensor_retain(t);
        x->t = t;
    }
}

void jpy_shadow_moved_float(jpy_shadow *s, const void *of, double value) {
    jpy_moved *x = add(s, of);
    if (x)
        x->value = value;
}

bool jpy_shadow_explains(jpy_shadow *s, const void *of, janus_tensor *p, janus_tensor *a) {
    const jpy_moved *x = s->second ? find(s->second, of) : NULL;
    bool moved = x && x->t && jpy_numbers_moved(p, x->t, a);
    s->explained |= moved;
    return moved;
}

bool jpy_shadow_explains_float(jpy_shadow *s, const void *of, double p, double a) {
    const jpy_moved *x = s->second ? find(s->second, of) : NULL;
    bool moved = x && !x->t && jpy_moved_as_far(p, x->value, a);
    s->explained |= moved;
    return moved;
}

void jpy_shadow_nudged_free(jpy_shadow *s) {
    for (jpy_moved *x = s->moved; x; x = x->hh.next)
        janus_tensor_release(x->t);
    HASH_CLEAR(hh, s->moved);
    for (size_t i = 0; i < s->nudged_views.n; i++)
        janus_tensor_release(s->nudged_views.data[i]);
    jn_vec_free(&s->nudged_views);
    for (jpy_nudged *x = s->nudged; x; x = x->by_program.next) {
        janus_tensor_release(x->all);
        jn_storage_release(x->of);
    }
    HASH_CLEAR(by_program, s->nudged);
    HASH_CLEAR(by_copy, s->nudged_back);
}
