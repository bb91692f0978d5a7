/* SPDX-License-Identifier: Apache-2.0 */
/* Finding stretches: see pyfront/backward/stretch.h. */
#include "config.h"

#include "pyfront/backward/stretch.h"

#include <string.h>

#include "graph/base/alloc.h"
#include "pyfront/tensor/tensor.h"

enum {
    MOST_NODES = 1024,    /* graphs of more take long to make */
    MOST_VALUES = 16,     /* operands and results of a node */
    MOST_NUMEL = 1 << 16, /* elements: the work itself is what larger ones cost */
    WORD = sizeof(uint64_t)
};

void jpy_stretch_clear(jpy_stretch *s) {
    for (size_t i = 0; i < s->locals.n; i++)
        s->local_of[s->locals.data[i].slot] = 0;
    for (size_t i = 0; i < s->copies.n; i++)
        janus_tensor_release(s->copies.data[i]);
    jn_vec_clear(&s->words);
    jn_vec_clear(&s->values);
    jn_vec_clear(&s->kinds);
    jn_vec_clear(&s->copies);
    jn_vec_clear(&s->locals);
    jn_vec_clear(&s->items);
    jn_vec_clear(&s->ids);
    jn_vec_clear(&s->after);
}

void jpy_stretch_free(jpy_stretch *s) {
    jpy_stretch_clear(s);
    jn_vec_free(&s->words);
    jn_vec_free(&s->values);
    jn_vec_free(&s->kinds);
    jn_vec_free(&s->copies);
    jn_vec_free(&s->locals);
    jn_vec_free(&s->items);
    jn_vec_free(&s->ids);
    jn_vec_free(&s->after);
    jn_free(s->local_of);
}

/* ---- which nodes --------------------------------------------------------------------------------
 */

static bool fits(const jn_type *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank && n <= MOST_NUMEL; i++)
        n *= t->dims[i];
    return t->kind != JANUS_KIND_TENSOR || (n > 0 && n <= MOST_NUMEL);
}

/* Whether what was kept is there, in host memory, and as it was. */
static bool usable(const jpy_saved *s) {
    return s->kind != JANUS_KIND_TENSOR ||
           (s->version == s->t->storage->version && !s->t->storage->device);
}

static bool no_data_attrs(const jn_op *op) {
    for (const jn_attr_spec *a = op->attrs; op->attr_size && a->name; a++)
        if (a->kind == JN_ATTR_DATA)
            return false;
    return true;
}

/* Somebody looks at the gradients of its results. */
static bool is_watched(const jpy_engine *e, const jpy_visit *v) {
    return v->node->extra || jpy_engine_is_input(e, v);
}

/* Whether calls of this op, attributes and types can be part of a stretch. */
static bool is_kind(const jpy_node *n, const jpy_op_data *d) {
    enum { NOT_KNOWN, YES, NO };
    uint8_t *note = d->kind ? &jn_call_kind_note(d->kind)->looked : NULL;
    if (note && *note != NOT_KNOWN)
        return *note == YES;
    bool yes = d->op->grad && n->n_in + n->n_out <= MOST_VALUES && no_data_attrs(d->op);
    for (unsigned i = 0; yes && i < (unsigned)n->n_in + n->n_out; i++)
        yes = fits(&d->types[i]);
    if (note)
        *note = yes ? YES : NO;
    return yes;
}

/* An op whose rule runs on what it has kept. */
static bool is_call(const jpy_engine *e, const jpy_visit *v) {
    jpy_node *n = v->node;
    const jpy_op_data *d = jpy_op_of(n);
    if (!d || !is_kind(n, d) || is_watched(e, v) || (n->freed && n->has_saved) ||
        n->running == UINT8_MAX)
        return false;
    for (unsigned i = 0; i < (unsigned)n->n_in + n->n_out; i++)
        if (!usable(&d->saved[i]))
            return false;
    for (unsigned i = 0; i < n->n_out; i++)
        if (e->slots.data[v->slot + i].kind != JANUS_KIND_NONE &&
            !jn_type_summable(&d->types[n->n_in + i]))
            return false;
    for (unsigned i = 0; i < n->n_in; i++)
        if (jpy_link_needed(e, e->links.data[v->link + i]) && !jn_type_summable(&d->types[i]))
            return false;
    return true;
}

bool jpy_piece_box(const jpy_region *r, int64_t *before, int64_t *size) {
    int k = 0;
    int64_t offset = r->offset, step = 1;
    for (int d = 0; d < r->root.rank; d++)
        step *= r->root_dims[d];
    for (int d = 0; d < r->root.rank; d++) {
        step /= r->root_dims[d];
        before[d] = offset / step;
        offset %= step;
        while (k < r->rank && r->dims[k] == 1)
            k++;
        size[d] = 1;
        if (r->root_dims[d] > 1 && k < r->rank && r->strides[k] == step)
            size[d] = r->dims[k++];
        if (before[d] + size[d] > r->root_dims[d])
            return false;
    }
    while (k < r->rank && r->dims[k] == 1)
        k++;
    return k == r->rank;
}

/* A part of a tensor that a node has computed. */
static bool is_piece(const jpy_engine *e, const jpy_visit *v) {
    jpy_region r;
    int64_t before[JN_MAX_RANK], size[JN_MAX_RANK];
    if (v->node->cls != &jpy_piece_class || is_watched(e, v) || v->node->running == UINT8_MAX)
        return false;
    jpy_region_get(v->node, &r);
    jn_type root = jn_tensor_type((janus_dtype)r.root.dtype, r.root.rank, r.root_dims);
    return jn_type_summable(&root) && fits(&root) && jpy_piece_box(&r, before, size);
}

/* A part of a tensor that collects gradients: it may run later, and where it lies is its own
 * matter.
 */
static bool is_last_piece(const jpy_engine *e, const jpy_visit *v) {
    jpy_link to = e->links.data[v->link];
    if (v->node->cls != &jpy_piece_class || is_watched(e, v) || to.visit == JPY_NO_LINK)
        return false;
    jn_type type = jpy_piece_type(v->node);
    return !e->visits.data[to.visit].node && jn_type_summable(&type) && fits(&type);
}

/* ---- words --------------------------------------------------------------------------------------
 */

static bool put(jpy_stretch *s, uint64_t word) { return jn_vec_push(&s->words, word); }

static bool put_type(jpy_stretch *s, const jn_type *t) {
    if (!put(s, jpy_type_word(t)))
        return false;
    if (t->kind != JANUS_KIND_TENSOR)
        return true;
    if (!jn_vec_reserve(&s->words, s->words.n + (size_t)t->rank))
        return false;
    for (int i = 0; i < t->rank; i++)
        s->words.data[s->words.n++] = (uint64_t)t->dims[i];
    return true;
}

static bool put_string(jpy_stretch *s, const char *text) {
    size_t n = text ? strlen(text) : 0;
    if (!put(s, n + (text != NULL)) || !jn_vec_reserve(&s->words, s->words.n + n / WORD + 1))
        return false;
    for (size_t i = 0; i < n; i += WORD) {
        uint64_t word = 0;
        memcpy(&word, text + i, n - i < WORD ? n - i : WORD);
        s->words.data[s->words.n++] = word;
    }
    return true;
}

static bool put_attrs(jpy_stretch *s, const jn_op *op, const void *attrs) {
    if (!put(s, attrs != NULL)) /* NULL: the defaults */
        return false;
    for (const jn_attr_spec *a = op->attrs; op->attr_size && attrs && a->name; a++) {
        const void *at = (const char *)attrs + a->offset;
        if (a->kind == JN_ATTR_INTS) {
            const janus_ints *v = at;
            if (!put(s, (uint64_t)v->n) || !jn_vec_reserve(&s->words, s->words.n + (size_t)v->n))
                return false;
            for (size_t i = 0; i < (size_t)v->n; i++)
                s->words.data[s->words.n++] = (uint64_t)v->data[i];
        } else if (a->kind == JN_ATTR_STR) {
            if (!put_string(s, *(const char *const *)at))
                return false;
        } else {
            uint64_t word;
            memcpy(&word, at, sizeof word);
            if (!put(s, word))
                return false;
        }
    }
    return true;
}

/* The local of a slot, a new one where it has none. */
static jpy_local *local_of(jpy_stretch *s, uint32_t slot, const jn_type *type, uint32_t *id) {
    if (!s->local_of[slot]) {
        jpy_local l = {.slot = slot, .type = *type};
        if (!jn_vec_push(&s->locals, l))
            return NULL;
        s->local_of[slot] = (uint32_t)s->locals.n;
    }
    *id = s->local_of[slot];
    return &s->locals.data[*id - 1];
}

/* Where the gradient of an operand goes. */
static bool put_link(jpy_stretch *s, jpy_link to, const jn_type *type) {
    uint32_t id = 0;
    if (jpy_link_needed(s->e, to)) {
        jpy_local *l = local_of(s, to.slot, type, &id);
        if (!l)
            return false;
        l->uses++;
        l->leaf = !s->e->visits.data[to.visit].node;
    }
    return put(s, id) && jn_vec_push(&s->ids, id);
}

/* Row-major elements of a tensor. */
static bool put_elements(jpy_stretch *s, janus_tensor *t) {
    jn_view view;
    if (!t->contiguous) {
        janus_tensor *dense;
        if (jn_tensor_contiguous(t, &dense) != JANUS_OK)
            return false;
        if (!jn_vec_push(&s->copies, dense)) {
            janus_tensor_release(dense);
            return false;
        }
        t = dense;
    }
    return jn_tensor_as_view(t, &view) == JANUS_OK && jn_vec_push(&s->values, view.data);
}

/* A result of a node of the stretch, with the gradient that has arrived from outside. */
static bool put_result(jpy_stretch *s, uint32_t slot, const jn_type *type) {
    uint32_t id = s->local_of[slot];
    const jpy_val *given = &s->e->slots.data[slot];
    uint64_t word = 0;
    if (id || given->kind != JANUS_KIND_NONE) {
        jpy_local *l = local_of(s, slot, type, &id);
        if (!l)
            return false;
        l->inside = true;
        if (given->kind != JANUS_KIND_NONE) {
            if (!put_elements(s, given->t))
                return false;
            l->given = (uint32_t)s->values.n;
        }
        word = (uint64_t)id << 1 | (given->kind != JANUS_KIND_NONE);
    }
    return put(s, word) && jn_vec_push(&s->ids, id);
}

/* Ints and bools may decide shapes; floats vary. */
static bool put_saved(jpy_stretch *s, const jpy_saved *saved) {
    if (!put(s, saved->kind))
        return false;
    if (saved->kind == JANUS_KIND_TENSOR)
        return put_elements(s, saved->t);
    if (saved->kind == JANUS_KIND_FLOAT)
        return jn_vec_push(&s->values, (const void *)&saved->s);
    return saved->kind == JANUS_KIND_NONE || put(s, (uint64_t)saved->s.i);
}

static bool begin_item(jpy_stretch *s, const jpy_visit *v) {
    jpy_item item = {jpy_visit_number(s->e, v), (uint32_t)s->ids.n, (uint32_t)s->values.n};
    return jn_vec_push(&s->items, item);
}

static bool put_call(jpy_stretch *s, const jpy_visit *v) {
    const jpy_node *n = v->node;
    const jpy_op_data *d = jpy_op_of(v->node);
    bool ok = begin_item(s, v);
    if (d->kind)
        ok = ok && put(s, (uint64_t)(uintptr_t)d->kind) && jn_vec_push(&s->kinds, d->kind);
    else
        ok = ok && put(s, (uint64_t)(uintptr_t)d->op) &&
             put(s, n->n_in | (uint64_t)n->n_out << 16) && put_attrs(s, d->op, d->attrs);
    for (unsigned i = 0; ok && i < (unsigned)n->n_in + n->n_out; i++)
        ok = (d->kind || put_type(s, &d->types[i])) && put_saved(s, &d->saved[i]);
    for (unsigned i = 0; ok && i < n->n_in; i++)
        ok = put_link(s, s->e->links.data[v->link + i], &d->types[i]);
    for (unsigned i = 0; ok && i < n->n_out; i++)
        ok = put_result(s, v->slot + i, &d->types[n->n_in + i]);
    return ok;
}

static bool put_piece(jpy_stretch *s, const jpy_visit *v) {
    jpy_region r;
    jpy_region_get(v->node, &r);
    jn_type root = jpy_region_root(v->node), type = jpy_piece_type(v->node);
    bool ok = begin_item(s, v) && put(s, 1) && put_type(s, &root) && put_type(s, &type) &&
              put(s, (uint64_t)r.offset);
    for (int i = 0; ok && i < r.rank; i++)
        ok = put(s, (uint64_t)r.strides[i]);
    return ok && put_link(s, s->e->links.data[v->link], &root) && put_result(s, v->slot, &type);
}

/* ---- a stretch ----------------------------------------------------------------------------------
 */

/* Whether a gradient arrives at a node. */
static bool arrives(const jpy_stretch *s, const jpy_visit *v) {
    for (unsigned i = 0; i < v->n_out; i++)
        if (s->local_of[v->slot + i] || s->e->slots.data[v->slot + i].kind != JANUS_KIND_NONE)
            return true;
    return false;
}

bool jpy_stretch_find(jpy_stretch *s) {
    const jpy_engine *e = s->e;
    bool ok = true;
    size_t k = s->first;
    for (; ok && k < e->n_nodes && s->items.n < MOST_NODES; k++) {
        const jpy_visit *v = &e->visits.data[e->order[k]];
        if (!v->needed || !arrives(s, v))
            continue;
        if (v->end)
            break;
        if (is_call(e, v))
            ok = put_call(s, v);
        else if (is_last_piece(e, v))
            ok = jn_vec_push(&s->after, e->order[k]);
        else if (is_piece(e, v))
            ok = put_piece(s, v);
        else
            break;
    }
    s->end = k;
    /* a slot outside is told from those that have no use of the stretch */
    for (size_t i = 0; ok && i < s->locals.n; i++)
        ok = s->locals.data[i].inside || put(s, i << 1 | s->locals.data[i].leaf);
    return ok;
}
