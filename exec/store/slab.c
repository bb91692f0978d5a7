/* SPDX-License-Identifier: Apache-2.0 */
/* Slabs: see exec/store/slab.h. */
#include "config.h"

#include "exec/store/slab.h"

#include <stdint.h>

#include "graph/base/alloc.h"
#include "graph/base/vec.h"

enum { LEAST_UNITS = 512, ALIGN = 64 };
static const size_t keep_units = ((size_t)64 << 20) / JN_SLAB_UNIT,
                    most_units = ((size_t)128 << 20) / JN_SLAB_UNIT;

/* Units that the taker holds. */
typedef struct stretch {
    jn_slab *slab;
    unsigned first, n;
} stretch;

static jn_slab *slabs;
static size_t all_units;
static JN_VEC(stretch) taken;
static struct {
    jn_slab *slab; /* NULL: nothing is left of the last stretch */
    char *at, *end;
    jn_slab *look; /* where the next stretch is looked for */
    unsigned look_at;
} cursor;

/* ---- whose units they are -----------------------------------------------------------------------
 */

static unsigned unit_of(const jn_slab *s, const char *p) {
    return (unsigned)((size_t)(p - s->data) / JN_SLAB_UNIT);
}

void jn_slab_hold(jn_slab *s, const char *p, size_t bytes) {
    for (unsigned u = unit_of(s, p), last = unit_of(s, p + bytes - 1); u <= last; u++)
        atomic_fetch_add_explicit(&s->holds[u], 1, memory_order_relaxed);
}

/* After the last one the slab may be gone. */
void jn_slab_let_go(jn_slab *s, const char *p, size_t bytes) {
    for (unsigned u = unit_of(s, p), last = unit_of(s, p + bytes - 1); u <= last; u++)
        atomic_fetch_sub_explicit(&s->holds[u], 1, memory_order_release);
}

static bool is_free(const jn_slab *s, unsigned u) {
    return atomic_load_explicit(&s->holds[u], memory_order_acquire) == 0;
}

/* ---- taking -------------------------------------------------------------------------------------
 */

static jn_slab *new_slab(size_t units) {
    if (units < LEAST_UNITS)
        units = LEAST_UNITS;
    if (units > most_units || all_units + units > most_units)
        return NULL;
    jn_slab *s = jn_calloc(1, sizeof *s + units * sizeof *s->holds);
    if (!s)
        return NULL;
    s->data = jn_alloc_aligned(units * JN_SLAB_UNIT);
    if (!s->data) {
        jn_free(s);
        return NULL;
    }
    s->units = (unsigned)units;
    all_units += units;
    s->next = slabs;
    slabs = s;
    return s;
}

/* All that is free from unit u on becomes the cursor's. */
static bool begin_stretch(jn_slab *s, unsigned u, unsigned n) {
    if (!jn_vec_push(&taken, ((stretch){s, u, n})))
        return false;
    for (unsigned i = 0; i < n; i++)
        atomic_fetch_add_explicit(&s->holds[u + i], 1, memory_order_relaxed);
    cursor.slab = s;
    cursor.at = s->data + (size_t)u * JN_SLAB_UNIT;
    cursor.end = cursor.at + (size_t)n * JN_SLAB_UNIT;
    return true;
}

/* The next free stretch of enough units, from where the last one was found. */
static bool find_stretch(size_t units) {
    for (; cursor.look; cursor.look = cursor.look->next, cursor.look_at = 0) {
        const jn_slab *s = cursor.look;
        for (unsigned u = cursor.look_at; u + units <= s->units; u++) {
            unsigned n = 0;
            while (u + n < s->units && is_free(s, u + n))
                n++;
            if (n >= units) {
                cursor.look_at = u + n;
                return begin_stretch(cursor.look, u, n);
            }
            u += n;
        }
    }
    jn_slab *s = new_slab(units);
    return s && begin_stretch(s, 0, s->units);
}

char *jn_slabs_take(size_t bytes, jn_slab **of) {
    size_t need = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (need < bytes)
        return NULL;
    if (!taken.n) {
        cursor.look = slabs;
        cursor.look_at = 0;
        cursor.slab = NULL;
    }
    if ((!cursor.slab || (size_t)(cursor.end - cursor.at) < need) &&
        !find_stretch(need / JN_SLAB_UNIT + 1))
        return NULL;
    char *p = cursor.at;
    cursor.at += need;
    *of = cursor.slab;
    return p;
}

/* ---- letting go ---------------------------------------------------------------------------------
 */

static bool all_free(const jn_slab *s) {
    for (unsigned u = 0; u < s->units; u++)
        if (!is_free(s, u))
            return false;
    return true;
}

void jn_slabs_end(void) {
    for (size_t i = 0; i < taken.n; i++) {
        const stretch *t = &taken.data[i];
        for (unsigned u = 0; u < t->n; u++)
            atomic_fetch_sub_explicit(&t->slab->holds[t->first + u], 1, memory_order_release);
    }
    jn_vec_clear(&taken);
    cursor.slab = cursor.look = NULL;
    size_t kept = 0;
    for (jn_slab **at = &slabs; *at;) {
        jn_slab *s = *at;
        if (kept + s->units > keep_units && all_free(s)) {
            *at = s->next;
            all_units -= s->units;
            jn_free_aligned(s->data);
            jn_free(s);
            continue;
        }
        kept += s->units;
        at = &s->next;
    }
}
