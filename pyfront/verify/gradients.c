/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes backward from the results of both outcomes: the same cotangents through CPython's tape
 * and through the nodes that the graph would have left, up to the tensors that were there before.
 *
 * The tape is not used up, and where a hook or another piece of the program lies between, nothing
 * is compared.
 */
#include "pyfront/verify/verify.h"

#include "exec/defer/defer.h"
#include "exec/eager/eager.h"
#include "exec/store/store.h"
#include "pyfront/backward/backward.h"
#include "pyfront/entry/entry.h"
#include "pyfront/tensor/tensor.h"
#include "pyfront/verify/numbers.h"

enum { MANY_TIMES_NS = 50000000 /* what takes longer is done once */ };

typedef struct roots {
    jpy_val *graph, *python, *seeds;
    unsigned n;
} roots;

typedef struct both { /* arrays of one block */
    roots all, some;
    jpy_edge *inputs;
    const jpy_where **where;    /* of the inputs */
    jpy_val *gradient, *wanted; /* by input, of the graph and of CPython; owned */
    unsigned n_inputs;
    double size; /* of all cotangents, as one vector */
} both;

/* Numbers without a pattern, from -1 to 1 and none of them small: the same in every run. */
static janus_status cotangent(const janus_tensor *like, uint64_t *io_state, janus_tensor **out) {
    janus_tensor *f = NULL;
    JN_TRY(jn_tensor_empty(JANUS_F32, like->rank, like->dims, &f));
    char *data;
    janus_status st = jn_tensor_data(f, &data);
    float *x = (float *)(void *)data;
    for (int64_t i = 0; st == JANUS_OK && i < f->numel; i++) {
        uint64_t z = (*io_state += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        float size = 0.25f + 0.75f * (float)((z >> 40) & 0xFFFFFF) / 16777216.0f;
        x[i] = z & 1 ? size : -size;
    }
    if (st == JANUS_OK)
        st = jn_tensor_cast(f, (janus_dtype)like->dtype, out);
    janus_tensor_release(f);
    return st;
}

/* The results, of which those that are views of what was written since are left as they are, and
 * those whose history the graph says is used up: so it is wherever an op of it keeps something for
 * its gradient, which is not known where arms, or leaves of a tree, lead past all such ops. */
static bool roots_of(jpy_shadow *s, both *b) {
    uint64_t state = 0;
    for (size_t i = 0; i < s->histories.n; i++) {
        jpy_tensor *p = (jpy_tensor *)s->histories.data[i].graph;
        jpy_tensor *a = (jpy_tensor *)s->histories.data[i].python;
        bool stale = (p->base && p->epoch != p->base->epoch) ||
                     (a->base && a->epoch != a->base->epoch) || a->t->storage->device;
        roots *r = &b->all;
        janus_tensor *seed;
        if (stale || jpy_is_freed(p->node) || jpy_tensor_val(p, &r->graph[r->n]) < 0 ||
            jpy_tensor_val(a, &r->python[r->n]) < 0)
            continue;
        if (cotangent(a->t, &state, &seed) != JANUS_OK)
            return false;
        r->seeds[r->n++] = jpy_val_tensor(seed, (jpy_edge){0});
        b->size += (double)seed->numel;
    }
    return b->all.n > 0;
}

static void inputs_of(const jpy_shadow *s, both *b) {
    for (const jpy_twin *t = s->twins; t; t = t->hh.next)
        if (t->tensor && jpy_edge_tracked(t->tensor->edge)) {
            b->inputs[b->n_inputs] = t->tensor->edge;
            b->where[b->n_inputs++] = t->where;
        }
}

static void compare_one(jpy_shadow *s, const both *b, unsigned i) {
    const jpy_where *w = b->where[i];
    janus_tensor *p = b->gradient[i].kind == JANUS_KIND_TENSOR ? b->gradient[i].t : NULL;
    janus_tensor *a = b->wanted[i].kind == JANUS_KIND_TENSOR ? b->wanted[i].t : NULL;
    if (!p != !a) {
        jpy_shadow_differs(s, JPY_DISPROVED, w, "it gets %s gradient in the graph, %s in CPython",
                           p ? "a" : "no", a ? "one" : "none");
        return;
    }
    if (!p)
        return;
    if (jn_tensor_fill(p) != JANUS_OK || jn_tensor_fill(a) != JANUS_OK) {
        s->failed = true;
        return;
    }
    jpy_number_pair at;
    char text[160];
    switch (jpy_gradients_compare(p, a, b->size, &at)) {
    case JPY_NUMBERS_EQUAL:
        return;
    case JPY_NUMBERS_FAILED:
        s->failed = true;
        return;
    default:
        break;
    }
    PyOS_snprintf(text, sizeof text,
                  "its gradient: element %lld is %.9g in the graph, %.9g in CPython",
                  (long long)at.index, at.graph, at.python);
    jpy_shadow_differs(s, s->doubted ? JPY_DISPROVED : JPY_SUSPECT, w, "%s", text);
}

/* Of the cotangents of these results; false: they cannot be had, or differ. */
static bool compare_gradients(jpy_shadow *s, both *b, const roots *r) {
    bool had = jpy_backward_between(r->python, r->seeds, r->n, b->inputs, b->n_inputs, b->wanted) &&
               jpy_backward_between(r->graph, r->seeds, r->n, b->inputs, b->n_inputs, b->gradient);
    for (unsigned i = 0; i < b->n_inputs; i++) {
        if (had && !s->failed && s->verdict != JPY_DISPROVED)
            compare_one(s, b, i);
        jpy_val_release(&b->gradient[i]);
        jpy_val_release(&b->wanted[i]);
        b->gradient[i] = b->wanted[i] = JPY_VAL_NONE;
    }
    return had && s->verdict == JPY_AGREED;
}

/* A graph has a gradient of its own for cotangents of one result, and of some of them. */
static void compare_parts(jpy_shadow *s, both *b) {
    unsigned n = b->all.n > 1 ? b->all.n : 0, most = n < JPY_MAX_ALONE ? n : JPY_MAX_ALONE;
    bool same = true;
    for (unsigned k = 0; k < most + (n > 2) && same; k++) {
        bool alone = k < most; /* else all but the first */
        b->some.n = 0;
        for (unsigned i = 0; i < n; i++) {
            if (alone ? i != k : i == 0)
                continue;
            b->some.graph[b->some.n] = b->all.graph[i];
            b->some.python[b->some.n] = b->all.python[i];
            b->some.seeds[b->some.n++] = b->all.seeds[i];
        }
        same = compare_gradients(s, b, &b->some);
    }
}

static void place_roots(roots *r, jpy_val *at, size_t n) {
    *r = (roots){.graph = at, .python = at + n, .seeds = at + 2 * n};
}

/* One block for all arrays; NULL: out of memory. */
static void *room_for(both *b, size_t n_roots, size_t n_inputs) {
    size_t per_root = 6 * sizeof(jpy_val);
    size_t per_input = 2 * sizeof(jpy_val) + sizeof(jpy_edge) + sizeof(jpy_where *);
    char *room = jn_calloc(n_roots + n_inputs + 1, per_root > per_input ? per_root : per_input);
    if (!room)
        return NULL;
    jpy_val *at = (jpy_val *)(void *)room;
    place_roots(&b->all, at, n_roots);
    place_roots(&b->some, at + 3 * n_roots, n_roots);
    b->gradient = at + 6 * n_roots;
    b->wanted = b->gradient + n_inputs;
    b->inputs = (jpy_edge *)(void *)(b->wanted + n_inputs);
    b->where = (const jpy_where **)(void *)(b->inputs + n_inputs);
    return room;
}

void jpy_shadow_gradients(jpy_shadow *s) {
    size_t n_inputs = 0;
    for (const jpy_twin *t = s->twins; t; t = t->hh.next)
        n_inputs += t->tensor && jpy_edge_tracked(t->tensor->edge);
    if (!s->histories.n || !n_inputs || jn_deferring || s->failed)
        return;
    both b = {0};
    void *room = room_for(&b, s->histories.n, n_inputs);
    if (!room)
        return; /* nothing is known of them */
    inputs_of(s, &b);
    int64_t start = jn_prof_clock();
    if (roots_of(s, &b) && compare_gradients(s, &b, &b.all) &&
        jn_prof_clock() - start < MANY_TIMES_NS)
        compare_parts(s, &b);
    PyErr_Clear();
    for (unsigned i = 0; i < b.all.n; i++)
        jpy_val_release(&b.all.seeds[i]);
    jn_free(room);
}
