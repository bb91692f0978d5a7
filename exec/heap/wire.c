/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of tensors that the run stores, and gradients that wait at a number.
 *
 * A promise has its number from the moment it is stored; the same one when it is stored again. That
 * of one without history is 0, where no gradient stays.
 * Numbers live in frames, so a gradient that is a run of its own finds the sums by them, too.  All
 * is on the host strand: what waits at a number is a promise, nothing is computed here.
 */
#include "config.h"

#include <string.h>
#include <uthash.h>

#include "exec/heap/heap.h"
#include "exec/heap/wire.h"
#include "exec/schedule/schedule.h"
#include "exec/state/state.h"
#include "graph/autodiff/autodiff.h"
#include "graph/base/status.h"

typedef struct jn_wire {
    const void *v; /* a promise, or the host object that a bound one is */
    const jn_tval *t;
    int64_t k;
    UT_hash_handle hh;
} jn_wire;

enum { MAX_NUMBER = 1 << 28 };

static jn_wire *find(const jn_run *r, const void *v) {
    jn_wire *w = NULL;
    HASH_FIND_PTR(r->of_heap.wires, &v, w);
    return w;
}

static janus_status add(jn_run *r, const void *key, const jn_tval *v, int64_t k) {
    jn_wire *w = jn_arena_zalloc(&r->mem->arena, sizeof *w);
    if (!w)
        return JN_NO_MEMORY();
    *w = (jn_wire){.v = key, .t = v, .k = k};
    HASH_ADD_PTR(r->of_heap.wires, v, w);
    return w->hh.tbl ? JANUS_OK : JN_NO_MEMORY();
}

janus_status jn_wire_put(jn_run *r, const jn_tval *v, int64_t what, int64_t *out_k) {
    const jn_wire *w = find(r, v);
    const void *o = w ? NULL : jn_tval_object(v);
    *out_k = w ? w->k : what & JN_WIRE_NONE ? 0 : ++r->of_heap.n_wires;
    if (w)
        return JANUS_OK;
    r->keeps = true; /* a collection would move it */
    JN_TRY(add(r, v, v, *out_k));
    return o && !find(r, o) ? add(r, o, v, *out_k) : JANUS_OK;
}

jn_tval *jn_wire_object(const jn_run *r, const void *o) {
    const jn_wire *w = r->of_heap.wires ? find(r, o) : NULL;
    return w ? (jn_tval *)(uintptr_t)w->t : NULL;
}

janus_status jn_wire_found(jn_run *r, janus_object o, const jn_tval *v) {
    int64_t k = ++r->of_heap.n_wires;
    r->keeps = true; /* a collection would move it */
    if (!jn_vec_push(&r->of_heap.found, ((jn_wired){.object = o, .number = k})))
        return JN_NO_MEMORY();
    JN_TRY(add(r, v, v, k));
    return add(r, o, v, k);
}

const jn_wired *jn_wires_found(const jn_run *r, size_t *out_n) {
    *out_n = r->of_heap.found.n;
    return r->of_heap.found.data;
}

janus_status jn_wire_of(const jn_run *r, const jn_tval *v, int64_t what, int64_t *out_k) {
    const jn_wire *w = find(r, v);
    if (!w && !((what & JN_WIRE_NONE) && jn_tval_object(v)))
        return jn_error(JANUS_ASSUMPTION_FAILED, "wire.of: a tensor that the run has not stored");
    *out_k = w ? w->k : 0;
    return JANUS_OK;
}

bool jn_wire_has(const jn_run *r, int64_t k) {
    return k >= 0 && (size_t)k < r->of_heap.wire_sums.n && r->of_heap.wire_sums.data[k];
}

janus_status jn_wire_take(jn_run *r, int64_t k, jn_tval **out) {
    if (!jn_wire_has(r, k))
        return jn_error(JANUS_INVALID_ARGUMENT, "wire.take: there is no gradient");
    *out = r->of_heap.wire_sums.data[k];
    r->of_heap.wire_sums.data[k] = NULL;
    return JANUS_OK;
}

janus_status jn_wire_left(jn_run *r, int64_t k, janus_tensor **out) {
    *out = NULL;
    return jn_wire_has(r, k) ? jn_tval_export(r, r->of_heap.wire_sums.data[k], out) : JANUS_OK;
}

janus_status jn_wire_set(jn_run *r, int64_t k, jn_tval *x) {
    if (k < 0 || k > MAX_NUMBER)
        return jn_error(JANUS_INVALID_ARGUMENT, "wire.set: no number");
    if (k == 0)
        return JANUS_OK;
    while ((size_t)k >= r->of_heap.wire_sums.n)
        if (!jn_vec_push(&r->of_heap.wire_sums, NULL))
            return JN_NO_MEMORY();
    r->of_heap.wire_sums.data[k] = x;
    return JANUS_OK;
}

janus_status jn_wire_mark(jn_run *r, int64_t k, int64_t what) {
    if (k < 0 || k > MAX_NUMBER)
        return jn_error(JANUS_INVALID_ARGUMENT, "wire.mark: no number");
    while ((size_t)k >= r->of_heap.wire_marks.n)
        if (!jn_vec_push(&r->of_heap.wire_marks, 0))
            return JN_NO_MEMORY();
    r->of_heap.wire_marks.data[k] |= (uint8_t)what;
    return JANUS_OK;
}

int64_t jn_wire_number(const jn_run *r, const jn_tval *v) {
    const jn_wire *w = r->of_heap.wires ? find(r, v) : NULL;
    return w ? w->k : 0;
}

int64_t jn_wires_last(const jn_run *r) { return r->of_heap.n_wires; }

const uint8_t *jn_wires_marked(const jn_run *r, size_t *out_n) {
    *out_n = r->of_heap.wire_marks.n;
    return r->of_heap.wire_marks.data;
}

void jn_wires_free(jn_run *r) {
    jn_vec_free(&r->of_heap.wire_marks);
    jn_vec_free(&r->of_heap.found);
    HASH_CLEAR(hh, r->of_heap.wires);
    jn_vec_free(&r->of_heap.wire_sums);
}
