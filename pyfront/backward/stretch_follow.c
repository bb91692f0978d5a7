/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Following a history that is known as a whole: see pyfront/backward/stretch.h.
 *
 * A cursor goes along the words of a stretch that was all of a history, while the nodes of the new
 * one are walked from its root: each word tells what is to be found next.  Nothing has to be
 * collected, sorted or numbered then, and where something else is found nothing has happened.
 */
#include "config.h"

#include "pyfront/backward/stretch.h"

#include <string.h>

#include "graph/base/alloc.h"
#include "pyfront/tensor/tensor.h"

enum { PLACES = 1024, WAYS = 4, STEPS = 8, FEW = 256 };

/* What a local is in a history that is followed. */
typedef enum place { INSIDE, LEAF, LAST_PIECE } place;

struct jpy_known_history {
    uint32_t n_items, n_locals, n_values, root_out;
    uint32_t *item;         /* per item but the first: a local that is a result of it */
    uint8_t *place;         /* per local */
    JN_VEC(uint32_t) after; /* locals that are last pieces, in the order in which they run */
};

void jpy_known_history_free(jpy_known_history *h) {
    if (!h)
        return;
    jn_free(h->item);
    jn_free(h->place);
    jn_vec_free(&h->after);
    jn_free(h);
}

/* ---- knowing one --------------------------------------------------------------------------------
 */

static bool can_be_followed(const jpy_stretch *s) {
    const jpy_engine *e = s->e;
    unsigned given = 0;
    if (s->first || s->end != e->n_nodes || e->n_inputs || e->root_links.n != 1)
        return false;
    for (size_t i = 0; i < s->items.n; i++) {
        const jpy_op_data *d = jpy_op_of(e->visits.data[s->items.data[i].visit].node);
        if (d && !d->kind)
            return false;
    }
    for (size_t i = 0; i < s->locals.n; i++)
        given += s->locals.data[i].given != 0;
    return given == 1 &&
           e->root_links.data[0].visit == s->items.data[0].visit; /* the one that was given */
}

jpy_known_history *jpy_known_history_new(const jpy_stretch *s) {
    const jpy_engine *e = s->e;
    jpy_known_history *h = can_be_followed(s) ? jn_calloc(1, sizeof *h) : NULL;
    if (!h)
        return NULL;
    h->n_items = (uint32_t)s->items.n;
    h->n_locals = (uint32_t)s->locals.n;
    h->n_values = (uint32_t)s->values.n;
    h->root_out = e->root_links.data[0].slot - e->visits.data[s->items.data[0].visit].slot;
    h->item = jn_calloc(s->items.n, sizeof *h->item);
    h->place = jn_alloc(s->locals.n);
    bool ok = h->item && h->place;
    for (size_t i = 0; ok && i < s->items.n; i++) {
        const jpy_item *item = &s->items.data[i];
        const jpy_node *n = e->visits.data[item->visit].node;
        for (unsigned o = 0; o < n->n_out; o++)
            if (s->ids.data[item->ids + n->n_in + o])
                h->item[i] = s->ids.data[item->ids + n->n_in + o] - 1;
    }
    for (size_t i = 0; ok && i < s->locals.n; i++) {
        const jpy_local *l = &s->locals.data[i];
        h->place[i] = (uint8_t)(l->inside ? INSIDE : l->leaf ? LEAF : LAST_PIECE);
    }
    for (size_t i = 0; ok && i < s->after.n; i++) {
        uint32_t slot = e->visits.data[s->after.data[i]].slot;
        ok = jn_vec_push(&h->after, s->local_of[slot] - 1);
    }
    if (ok)
        return h;
    jpy_known_history_free(h);
    return NULL;
}

/* Two tables in sets of four: where a history is looked for first, and where it is looked for when
 * it is not there. */
static struct {
    jpy_traced *entry[PLACES];
    uint8_t oldest[PLACES / WAYS];
} tables[2];
static uint64_t made_before; /* nodes, when the last backward() looked here */
static struct {
    const jpy_node *root;
    size_t set[2];
} looked; /* where the last history was looked for */

/* What is looked at first: the nodes along the first edges, and how far apart they were recorded;
 * in the first table also how many nodes were made since the last backward(), which tells apart
 * histories that end alike.  */
static void find_sets(const jpy_node *root) {
    uint64_t h = 0, made = jpy_nodes_made();
    const jpy_node *n = root;
    for (int k = 0; n && k < STEPS; k++) {
        const jpy_node *next = NULL;
        for (unsigned i = 0; i < n->n_in && !next; i++)
            next = jpy_edge_now(n->edges[i]).node;
        h = (h ^ (uint64_t)(uintptr_t)jpy_node_kind((jpy_node *)(uintptr_t)n) ^
             (next ? n->seq - next->seq : 0)) *
            0x9E3779B97F4A7C15u;
        h ^= h >> 32;
        n = next;
    }
    uint64_t whole = (h ^ (made - made_before)) * 0x9E3779B97F4A7C15u;
    looked.root = root;
    looked.set[0] = (size_t)((whole ^ whole >> 32) % PLACES) / WAYS * WAYS;
    looked.set[1] = (size_t)(h % PLACES) / WAYS * WAYS;
    made_before = made;
}

static void put(unsigned k, size_t set, jpy_traced *t) {
    for (size_t i = set; i < set + WAYS; i++)
        if (tables[k].entry[i] == t)
            return;
    uint8_t *oldest = &tables[k].oldest[set / WAYS];
    tables[k].entry[set + *oldest] = t;
    *oldest = (uint8_t)((*oldest + 1) % WAYS);
}

void jpy_known_history_put(jpy_traced *t, const jpy_node *root) {
    if (looked.root != root) /* another backward() came in between */
        return;
    for (unsigned k = 0; k < 2; k++)
        put(k, looked.set[k], t);
}

void jpy_known_history_forget(const jpy_traced *t) {
    for (unsigned k = 0; k < 2; k++)
        for (size_t i = 0; i < PLACES; i++)
            if (tables[k].entry[i] == t)
                tables[k].entry[i] = NULL;
}

/* ---- the cursor ---------------------------------------------------------------------------------
 */

typedef struct cursor {
    const jpy_known_history *h;
    const uint64_t *word;
    jpy_edge *local; /* what each is here; borrowed */
    uint32_t n;      /* locals that were met */
    const void **value;
    uint32_t n_values;
    jpy_node **node; /* per item */
    const void *seed;
    JN_VEC(janus_tensor *) copies; /* row-major ones, of values that are not */
} cursor;

static bool expect(cursor *c, uint64_t word) { return *c->word++ == word; }

static bool follow_copy(cursor *c, janus_tensor *t) {
    janus_tensor *dense;
    if (!jn_tensor_ready_data(t) || jn_tensor_contiguous(t, &dense) != JANUS_OK)
        return false;
    if (!jn_vec_push(&c->copies, dense)) {
        janus_tensor_release(dense);
        return false;
    }
    c->value[c->n_values++] = jn_tensor_ready_data(dense);
    return c->value[c->n_values - 1] != NULL;
}

/* What a call has kept, as the words say. */
static inline bool follow_saved(cursor *c, const jpy_saved *s, unsigned n) {
    for (const jpy_saved *end = s + n; s < end; s++) {
        if (*c->word++ != s->kind)
            return false;
        if (s->kind == JANUS_KIND_TENSOR) {
            janus_tensor *t = s->t;
            const jn_storage *memory = t->storage;
            if (s->version != memory->version || memory->device)
                return false;
            if (JN_UNLIKELY(!t->contiguous)) {
                if (!follow_copy(c, t))
                    return false;
                continue;
            }
            const void *at = jn_tensor_ready_data(t);
            if (!at)
                return false;
            c->value[c->n_values++] = at;
        } else if (s->kind == JANUS_KIND_FLOAT) {
            c->value[c->n_values++] = &s->s;
        } else if (s->kind != JANUS_KIND_NONE && *c->word++ != (uint64_t)s->s.i) {
            return false;
        }
    }
    return true;
}

/* A last piece goes to a tensor that collects gradients. */
static bool is_place(place p, jpy_edge e) {
    if (p == INSIDE)
        return e.node != NULL;
    if (p == LEAF)
        return !e.node && !e.leaf->hooks;
    if (!e.node || e.node->cls != &jpy_piece_class || e.node->extra || e.node->running == UINT8_MAX)
        return false;
    jpy_edge to = jpy_edge_now(e.node->edges[0]);
    return !to.node && to.leaf && !to.leaf->hooks;
}

static inline bool follow_local(cursor *c, uint64_t id, jpy_edge e) {
    if (id - 1 < c->n) {
        const jpy_edge *was = &c->local[id - 1];
        return was->node == e.node && (e.node ? was->index == e.index : was->leaf == e.leaf);
    }
    if (id - 1 != c->n)
        return false;
    c->local[c->n++] = e;
    return is_place((place)c->h->place[id - 1], e);
}

static inline bool follow_link(cursor *c, jpy_edge e) {
    uint64_t id = *c->word++;
    e = jpy_edge_now(e);
    return jpy_edge_tracked(e) ? id && follow_local(c, id, e) : !id;
}

static inline bool follow_result(cursor *c, jpy_node *n, uint32_t i) {
    uint64_t word = *c->word++;
    if (!word)
        return true;
    if (!follow_local(c, word >> 1, (jpy_edge){n, NULL, i}))
        return false;
    if (word & 1)
        c->value[c->n_values++] = c->seed;
    return true;
}

static bool follow_call(cursor *c, jpy_node *n) {
    const jpy_op_data *d = jpy_op_of(n);
    if (!d || !expect(c, (uint64_t)(uintptr_t)d->kind) || n->extra || n->running == UINT8_MAX ||
        (n->freed && n->has_saved))
        return false;
    if (!follow_saved(c, d->saved, (unsigned)n->n_in + n->n_out))
        return false;
    for (unsigned i = 0; i < n->n_in; i++)
        if (!follow_link(c, n->edges[i]))
            return false;
    for (unsigned i = 0; i < n->n_out; i++)
        if (!follow_result(c, n, i))
            return false;
    return true;
}

static bool follow_type(cursor *c, const jn_type *t) {
    if (!expect(c, jpy_type_word(t)))
        return false;
    for (int i = 0; i < t->rank; i++)
        if (!expect(c, (uint64_t)t->dims[i]))
            return false;
    return true;
}

static bool follow_piece(cursor *c, jpy_node *n) {
    jpy_region r;
    if (n->cls != &jpy_piece_class || n->extra || n->running == UINT8_MAX || !expect(c, 1))
        return false;
    jn_type root = jpy_region_root(n), type = jpy_piece_type(n);
    jpy_region_get(n, &r);
    if (!follow_type(c, &root) || !follow_type(c, &type) || !expect(c, (uint64_t)r.offset))
        return false;
    for (int i = 0; i < r.rank; i++)
        if (!expect(c, (uint64_t)r.strides[i]))
            return false;
    return follow_link(c, n->edges[0]) && follow_result(c, n, 0);
}

static bool follow_all(cursor *c, jpy_edge root) {
    if (root.index != c->h->root_out)
        return false;
    for (uint32_t k = 0; k < c->h->n_items; k++) {
        jpy_node *n = k ? c->local[c->h->item[k]].node : root.node;
        c->node[k] = n;
        if (*c->word == 1 ? !follow_piece(c, n) : !follow_call(c, n))
            return false;
    }
    return c->n == c->h->n_locals && c->n_values == c->h->n_values;
}

/* ---- the gradients ------------------------------------------------------------------------------
 */

/* One stretch of memory is added at once; false: it is none. */
static bool add_dense(const jpy_region *r, const janus_tensor *dy, janus_tensor *sum) {
    const float *from = (const float *)(const void *)jn_tensor_ready_data(dy);
    float *to = (float *)(void *)jn_tensor_ready_data(sum);
    int64_t step = 1;
    bool dense = sum->dtype == JANUS_F32 && dy->contiguous && sum->contiguous && from && to;
    for (int i = r->rank; i-- > 0; step *= r->dims[i])
        dense = dense && (r->dims[i] == 1 || r->strides[i] == step);
    for (int64_t i = 0; dense && i < step; i++)
        to[r->offset + i] += from[i];
    return dense;
}

/* What a last piece gets goes to its place in the gradient of the whole tensor. */
static int add_piece(jpy_node *n, janus_tensor *dy, jpy_val *sum) {
    jpy_region r;
    if (sum->kind == JANUS_KIND_NONE) {
        jn_type root = jpy_region_root(n);
        janus_tensor *t;
        if (jpy_tensor_zeros(&root, dy, &t) < 0)
            return -1;
        *sum = jpy_val_tensor(t, (jpy_edge){0});
    }
    jpy_region_get(n, &r);
    return add_dense(&r, dy, sum->t) ? 0 : n->cls->add_into(n, dy, sum->t);
}

/* All gradients of leaves, `got` per local (consumed). */
static int hand_out(const cursor *c, jpy_val *got) {
    const jpy_known_history *h = c->h;
    int rc = 0;
    /* of the leaves that pieces go to, the gradient of one is added to */
    for (size_t i = 0; i < h->after.n && rc == 0; i++) {
        uint32_t from = h->after.data[i], to = UINT32_MAX;
        jpy_node *n = c->local[from].node;
        if (got[from].kind == JANUS_KIND_NONE)
            continue;
        struct jpy_tensor *leaf = jpy_edge_now(n->edges[0]).leaf;
        for (uint32_t k = 0; k < h->n_locals && to == UINT32_MAX; k++)
            if (h->place[k] == LEAF && c->local[k].leaf == leaf)
                to = k;
        for (size_t k = 0; k < i && to == UINT32_MAX; k++)
            if (jpy_edge_now(c->local[h->after.data[k]].node->edges[0]).leaf == leaf)
                to = h->after.data[k];
        if (to != UINT32_MAX) {
            rc = add_piece(n, got[from].t, &got[to]);
            jpy_val_release(&got[from]);
            got[from] = JPY_VAL_NONE;
        } else { /* the first of its leaf */
            jpy_val whole = JPY_VAL_NONE;
            rc = add_piece(n, got[from].t, &whole);
            jpy_val_release(&got[from]);
            got[from] = whole;
        }
    }
    for (uint32_t k = 0; k < h->n_locals; k++) {
        if (got[k].kind == JANUS_KIND_NONE)
            continue;
        struct jpy_tensor *leaf =
            h->place[k] == LEAF ? c->local[k].leaf : jpy_edge_now(c->local[k].node->edges[0]).leaf;
        if (rc == 0)
            rc = jpy_take_grad(leaf, &got[k], false);
        else
            jpy_val_release(&got[k]);
    }
    return rc;
}

/* ---- all ----------------------------------------------------------------------------------------
 */

static void let_go(const cursor *c, bool ran, bool retain) {
    for (uint32_t k = 0; k < c->h->n_items; k++) {
        jpy_node *n = c->node[k];
        n->running--;
        n->freed = n->freed || (ran && !retain);
        if (n->freed && !n->running && n->cls->release_saved)
            n->cls->release_saved(n);
    }
    for (size_t i = 0; i < c->h->after.n; i++) {
        jpy_node *n = c->local[c->h->after.data[i]].node;
        n->freed = n->freed || (ran && !retain);
    }
}

/* The history is the one that is known: its gradients. */
static int run(jpy_traced *t, cursor *c, bool retain) {
    jpy_val few[FEW], *got = few;
    if (c->h->n_locals > FEW && !(got = jn_alloc(c->h->n_locals * sizeof *got)))
        return 0;
    for (uint32_t k = 0; k < c->h->n_items; k++)
        c->node[k]->running++;
    t->running++; /* what is collected meanwhile may run the program's code */
    int rc = jpy_traced_run(t, c->value, got);
    let_go(c, rc > 0, retain);
    if (rc > 0)
        jpy_count_traced(c->h->n_items);
    if (rc > 0 && hand_out(c, got) < 0)
        rc = -1;
    t->running--;
    if (got != few)
        jn_free(got);
    return rc;
}

static int try(jpy_traced *t, jpy_edge root, const void *seed, bool retain) {
    const jpy_known_history *h = t->history;
    size_t bytes = h->n_locals * sizeof(jpy_edge) + h->n_values * sizeof(void *) +
                   h->n_items * sizeof(jpy_node *);
    max_align_t few[1024];
    char *room = bytes <= sizeof few ? (char *)few : jn_alloc(bytes);
    if (!room)
        return 0;
    cursor c = {.h = h, .word = t->words, .seed = seed, .local = (jpy_edge *)(void *)room};
    c.value = (const void **)(void *)(c.local + h->n_locals);
    c.node = (jpy_node **)(void *)(c.value + h->n_values);
    int rc = follow_all(&c, root) ? run(t, &c, retain) : 0;
    for (size_t i = 0; i < c.copies.n; i++)
        janus_tensor_release(c.copies.data[i]);
    jn_vec_free(&c.copies);
    if (room != (char *)few)
        jn_free(room);
    return rc;
}

/* The elements of what is given for the root; NULL: not in one place. */
static const void *seed_of(const jpy_val *root, const jpy_val *seed) {
    static const float one = 1;
    static const double one_f64 = 1;
    const janus_tensor *t = root->t;
    if (seed->kind == JANUS_KIND_NONE && t->numel == 1)
        return t->dtype == JANUS_F32   ? (const void *)&one
               : t->dtype == JANUS_F64 ? (const void *)&one_f64
                                       : NULL;
    return seed->kind == JANUS_KIND_TENSOR && seed->t->contiguous && !seed->t->storage->device &&
                   seed->t->dtype == t->dtype && seed->t->numel == t->numel
               ? jn_tensor_ready_data(seed->t)
               : NULL;
}

int jpy_history_follow(const jpy_val *root, const jpy_val *seed, bool retain_graph) {
    jpy_edge e = jpy_edge_now(root->edge);
    const void *data = e.node && !e.node->extra ? seed_of(root, seed) : NULL;
    if (!data)
        return 0;
    find_sets(e.node);
    jpy_traced **first = &tables[0].entry[looked.set[0]], **then = &tables[1].entry[looked.set[1]];
    size_t set = looked.set[0];
    jpy_traced *failed[WAYS] = {NULL};
    int rc = 0;
    for (size_t i = 0; i < WAYS && rc == 0; i++)
        if ((failed[i] = first[i]))
            rc = try(first[i], e, data, retain_graph);
    for (size_t i = 0; i < WAYS && rc == 0; i++) {
        jpy_traced *t = then[i];
        bool again = !t;
        for (size_t k = 0; k < WAYS && !again; k++)
            again = failed[k] == t;
        rc = again ? 0 : try(t, e, data, retain_graph);
        if (rc > 0)
            put(0, set, t);
    }
    return rc;
}
