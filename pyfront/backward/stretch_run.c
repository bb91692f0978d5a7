/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs of stretches, remembered and run: see pyfront/backward/stretch.h.
 *
 * Stretches lie in a table in sets of four, by the hash of their words; of a full set the oldest
 * goes.  One that comes the second time gets a graph.  All of this runs under the interpreter lock,
 * which a long run lets go of: meanwhile its nodes are held.
 */
#include "config.h"

#include "pyfront/backward/stretch.h"

#include <string.h>

#include "exec/device/device.h"
#include "graph/base/alloc.h"
#include "pyfront/tensor/tensor.h"

enum {
    PLACES = 1024,
    WAYS = 4,
    LEAST_NODES = 3,        /* fewer run as fast one by one */
    MOST_WORDS = 1 << 19,   /* of all stretches that are remembered */
    RELEASE_FROM = 1 << 16, /* elements of work from which the interpreter lock is let go */
    FEW_OUT = 32
};

static jpy_traced *table[PLACES];
static uint8_t oldest[PLACES / WAYS]; /* of a full set: the one that goes next */
static size_t all_words;
uint64_t jpy_stretches_new;

static void forget(size_t place) {
    jpy_traced *t = table[place];
    if (!t || t->running)
        return;
    table[place] = NULL;
    all_words -= t->n_words;
    jn_trace_graph_free(t->graph);
    for (size_t i = 0; i < t->n_kinds; i++)
        jn_call_kind_release(t->kinds[i]);
    if (t->history)
        jpy_known_history_forget(t);
    jpy_known_history_free(t->history);
    jn_free(t->kinds);
    jn_free(t->outside);
    jn_free(t->types);
    jn_free(t->results);
    jn_free(t);
}

static uint64_t hash_of(const jpy_stretch *s) {
    uint64_t h = s->words.n;
    for (size_t i = 0; i < s->words.n; i++) {
        h = (h ^ s->words.data[i]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    return h;
}

/* The stretch as it is remembered, *known: since an earlier time; NULL: out of memory. */
static jpy_traced *remember(const jpy_stretch *s, bool *known) {
    uint64_t hash = hash_of(s);
    size_t set = (size_t)(hash % PLACES) / WAYS * WAYS, place = set;
    size_t bytes = s->words.n * sizeof *s->words.data;
    *known = true;
    for (size_t i = set; i < set + WAYS; i++)
        if (table[i] && table[i]->hash == hash && table[i]->n_words == s->words.n &&
            memcmp(table[i]->words, s->words.data, bytes) == 0)
            return table[i];
    *known = false;
    if (all_words + s->words.n > MOST_WORDS)
        for (size_t i = 0; i < PLACES; i++)
            forget(i);
    while (place < set + WAYS && table[place])
        place++;
    if (place == set + WAYS) {
        place = set + oldest[set / WAYS];
        oldest[set / WAYS] = (uint8_t)((oldest[set / WAYS] + 1) % WAYS);
        forget(place);
    }
    jpy_traced *t = table[place] ? NULL : jn_alloc(sizeof *t + bytes);
    jn_call_kind **kinds = jn_alloc((s->kinds.n + 1) * sizeof(jn_call_kind *));
    if (!t || !kinds) {
        jn_free(t);
        jn_free(kinds);
        return NULL;
    }
    *t = (jpy_traced){.hash = hash, .n_words = s->words.n, .kinds = kinds, .n_kinds = s->kinds.n};
    for (size_t i = 0; i < s->kinds.n; i++)
        jn_call_kind_retain(kinds[i] = s->kinds.data[i]);
    memcpy(t->words, s->words.data, bytes);
    all_words += s->words.n;
    jpy_stretches_new++;
    return table[place] = t;
}

/* ---- running ------------------------------------------------------------------------------------
 */

static void hold(const jpy_stretch *s) {
    for (size_t i = 0; i < s->items.n; i++)
        s->e->visits.data[s->items.data[i].visit].node->running++;
}

/* Nodes that have run give up what they saved. */
static void let_go(const jpy_stretch *s, bool ran) {
    for (size_t i = 0; i < s->items.n; i++) {
        jpy_node *n = s->e->visits.data[s->items.data[i].visit].node;
        n->running--;
        n->freed = n->freed || (ran && !s->e->retain_graph);
        if (n->freed && !n->running && n->cls->release_saved)
            n->cls->release_saved(n);
    }
}

static janus_status run_graph(jpy_traced *t, const void *const *value, janus_tensor **out) {
    bool release = jn_trace_graph_cost(t->graph) >= RELEASE_FROM;
    PyThreadState *released = release ? PyEval_SaveThread() : NULL;
    janus_status st = jn_trace_graph_run(t->graph, value, out);
    if (released)
        PyEval_RestoreThread(released);
    return st;
}

/* A tensor of these elements that is nobody else's. */
static janus_status copy_of(const jn_type *type, const void *data, janus_tensor **out) {
    char *to;
    JN_TRY(jn_tensor_empty((janus_dtype)type->dtype, type->rank, type->dims, out));
    JN_TRY(jn_tensor_data(*out, &to));
    memcpy(to, data, (*out)->storage->bytes);
    return JANUS_OK;
}

/* The gradient of outside local i; kind NONE: none.  What is taken of `out` is NULL then. */
static janus_status take(const jpy_traced *t, size_t i, const void *const *value,
                         janus_tensor **out, jpy_val *v) {
    jpy_traced_result r = t->results[i];
    janus_tensor *found = NULL, **at;
    switch ((jn_grad_from)r.from) {
    case JN_GRAD_VALUE:
        JN_TRY(copy_of(&t->types[i], value[r.index], &found));
        break;
    case JN_GRAD_OUTPUT:
    case JN_GRAD_ADDED:
        at = &out[r.index + (r.from == JN_GRAD_ADDED ? jn_trace_graph_outputs(t->graph) : 0)];
        if (r.shared) {
            JN_TRY(copy_of(&t->types[i], jn_tensor_ready_data(*at), &found));
        } else {
            found = *at;
            *at = NULL;
        }
        break;
    default:
        return JANUS_OK;
    }
    *v = jpy_val_tensor(found, (jpy_edge){0});
    return JANUS_OK;
}

/* Results that several locals get are copied for each but the first, which comes last. */
int jpy_traced_run(jpy_traced *t, const void *const *value, jpy_val *got) {
    uint32_t n = jn_trace_graph_outputs(t->graph) + jn_trace_graph_sums(t->graph);
    janus_tensor *few[FEW_OUT], **out = few;
    size_t n_results = t->n_outside;
    for (size_t i = 0; i < t->n_locals; i++)
        got[i] = JPY_VAL_NONE;
    if (n > FEW_OUT && !(out = jn_alloc(n * sizeof *out)))
        return 0;
    janus_status st = run_graph(t, value, out);
    bool ran = st == JANUS_OK;
    for (size_t i = n_results; i-- > 0 && st == JANUS_OK;)
        st = take(t, i, value, out, &got[t->outside[i]]);
    for (uint32_t i = 0; i < n && ran; i++)
        if (out[i])
            janus_tensor_release(out[i]);
    for (size_t i = 0; i < t->n_locals && st != JANUS_OK; i++)
        jpy_val_release(&got[i]);
    if (out != few)
        jn_free(out);
    return st == JANUS_OK ? 1 : 0;
}

/* The gradients go to where they belong (consumed). */
static int hand_over(jpy_stretch *s, jpy_val *got) {
    int rc = 1;
    for (size_t i = 0; i < s->locals.n; i++)
        if (s->locals.data[i].inside) {
            jpy_val_release(&s->e->slots.data[s->locals.data[i].slot]);
            s->e->slots.data[s->locals.data[i].slot] = JPY_VAL_NONE;
        }
    for (size_t i = 0; i < s->locals.n; i++) {
        if (got[i].kind == JANUS_KIND_NONE)
            continue;
        if (rc < 0)
            jpy_val_release(&got[i]);
        else if (jpy_engine_contribute(s->e, s->locals.data[i].slot, &got[i]) < 0)
            rc = -1;
    }
    return rc;
}

bool jpy_stretches_possible(bool create_graph) {
    const jn_deferral *d = jn_deferring ? jn_deferring : jn_tracing;
    return d && !jn_deferral_exact(d) && !create_graph && !jn_dev_in_use && !jn_eager_hook;
}

/* The types and locals of what comes out of it. */
static bool note_outside(const jpy_stretch *s, jpy_traced *t) {
    size_t n = 0, n_dims = 0;
    for (size_t i = 0; i < s->locals.n; i++)
        if (!s->locals.data[i].inside) {
            n++;
            n_dims += (size_t)s->locals.data[i].type.rank;
        }
    t->n_locals = s->locals.n;
    t->outside = jn_alloc((n + 1) * sizeof *t->outside);
    t->types = jn_alloc((n + 1) * sizeof *t->types + n_dims * sizeof(int64_t));
    if (!t->outside || !t->types)
        return false;
    int64_t *dims = (int64_t *)(void *)(t->types + n + 1);
    for (size_t i = 0; i < s->locals.n; i++) {
        const jn_type *type = &s->locals.data[i].type;
        if (s->locals.data[i].inside)
            continue;
        t->outside[t->n_outside] = (uint32_t)i;
        t->types[t->n_outside] = *type;
        t->types[t->n_outside++].dims = dims;
        for (int k = 0; k < type->rank; k++)
            *dims++ = type->dims[k];
    }
    return true;
}

static bool make_graph(jpy_stretch *s, jpy_traced *t) {
    if (t->graph)
        return true;
    jpy_stretches_new++;
    t->alone =
        t->alone || !note_outside(s, t) || jpy_stretch_write(s, &t->graph, &t->results) != JANUS_OK;
    return !t->alone;
}

/* 1: it has run; 0: it is to run one by one; -1: raised. */
static int run_traced(jpy_stretch *s) {
    bool known;
    jpy_traced *t = remember(s, &known);
    if (!t || !known || t->alone || !make_graph(s, t))
        return 0;
    jpy_val few[FEW_OUT], *got = few;
    if (t->n_locals > FEW_OUT && !(got = jn_alloc(t->n_locals * sizeof *got)))
        return 0;
    hold(s);
    t->running++; /* it cannot be forgotten */
    int rc = jpy_traced_run(t, s->values.data, got);
    if (!t->looked) {
        t->history = jpy_known_history_new(s);
        t->looked = true;
    }
    if (rc > 0 && t->history)
        jpy_known_history_put(t, s->e->visits.data[s->items.data[0].visit].node);
    if (rc > 0)
        rc = hand_over(s, got);
    let_go(s, rc != 0);
    t->running--;
    if (got != few)
        jn_free(got);
    return rc;
}

void jpy_count_traced(uint64_t nodes) {
    jn_deferral *d = jn_deferring ? jn_deferring : jn_tracing;
    if (d)
        jn_deferral_count_traced(d, nodes);
}

int jpy_stretch_run(jpy_stretch *s, size_t k, size_t *rest) {
    *rest = 0;
    if (!s->local_of && !(s->local_of = jn_calloc(s->e->slots.n + 1, sizeof *s->local_of)))
        return 0;
    s->first = k;
    bool found = jpy_stretch_find(s);
    *rest = s->end - k;
    int rc = found && s->items.n >= LEAST_NODES ? run_traced(s) : 0;
    if (rc <= 0)
        return rc;
    jpy_count_traced(s->items.n);
    return (int)(s->end - k);
}
