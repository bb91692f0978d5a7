/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of calls that run at once while backward() makes trace graphs: calls of one op with equal
 * attributes and types have one, so that a node says with one word what it is of.
 *
 * All of this runs under the interpreter lock.
 */
#include "config.h"

#include <string.h>

#include "graph/base/alloc.h"
#include "pyfront/tape/record.h"

enum { PLACES = 4096, MOST = PLACES / 2 }; /* of a table with open addressing */

typedef struct known {
    uint64_t hash;
    jn_call_kind *kind; /* a reference; NULL: none */
    const jn_op *op;
    uint16_t n_in, n_out;
} known;

static known *table;
static unsigned n_known;

/* The kinds of most calls, of which each tensor has the result's type or is a number, are found by
 * this type alone; borrowed from the table. */
enum { LIKE_PLACES = 512, LIKE_RANK = 3 };
typedef struct like {
    jn_call_kind *kind; /* NULL: none */
    const jn_op *op;
    uint8_t dtype, rank, numbers; /* numbers: how many operands, and a bit for each */
    int64_t dims[LIKE_RANK];
} like;
static like likes[LIKE_PLACES];

static void forget_all(void) {
    memset(likes, 0, sizeof likes);
    for (unsigned i = 0; i < PLACES; i++)
        jn_call_kind_release(table[i].kind);
    memset(table, 0, PLACES * sizeof *table);
    n_known = 0;
}

static uint64_t mixed(uint64_t h, uint64_t word) {
    h = (h ^ word) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

static uint64_t hash_of(const jn_op *op, const void *attrs, const jn_type *types, unsigned n) {
    uint64_t h = mixed(op->id, n);
    if (op->attr_size)
        h = mixed(h, jn_attrs_hash(op, attrs));
    for (unsigned i = 0; i < n; i++) {
        h = mixed(h, types[i].kind | (uint64_t)types[i].dtype << 8);
        for (int k = 0; types[i].kind == JANUS_KIND_TENSOR && k < types[i].rank; k++)
            h = mixed(h, (uint64_t)types[i].dims[k]);
    }
    return h;
}

static bool same_types(const jn_type *a, const jn_type *b, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (a[i].kind != b[i].kind)
            return false;
        if (a[i].kind != JANUS_KIND_TENSOR)
            continue;
        if (a[i].dtype != b[i].dtype || a[i].rank != b[i].rank)
            return false;
        for (int k = 0; k < a[i].rank; k++)
            if (a[i].dims[k] != b[i].dims[k])
                return false;
    }
    return true;
}

static bool is_of(const known *k, const jn_op *op, const void *attrs, const jn_type *types,
                  unsigned n_in, unsigned n_out) {
    return k->op == op && k->n_in == n_in && k->n_out == n_out &&
           (!op->attr_size || jn_attrs_equal(op, jn_call_kind_attrs(k->kind), attrs)) &&
           same_types(jn_call_kind_types(k->kind), types, n_in + n_out);
}

static jn_call_kind *new_kind(const jn_op *op, const void *attrs, const jn_type *types,
                              unsigned n_in, unsigned n_out) {
    jn_recipe r = {.op = op, .n_in = (uint16_t)n_in, .n_out = (uint16_t)n_out};
    jn_operand_kind in[JN_RECIPE_IN];
    for (unsigned i = 0; i < n_in; i++)
        in[i] = (jn_operand_kind){.from = types[i].kind == JANUS_KIND_TENSOR ? JN_FROM_TENSOR
                                          : types[i].kind == JANUS_KIND_NONE ? JN_FROM_NONE
                                                                             : JN_FROM_SCALAR,
                                  .dtype = types[i].dtype,
                                  .kind = types[i].kind};
    jn_call_kind *k = jn_call_kind_new(&r, in, attrs);
    if (k && !jn_call_kind_keep_types(k, types, n_in + n_out)) {
        jn_call_kind_release(k);
        return NULL;
    }
    return k;
}

static jn_call_kind *kind_of(const jn_op *op, const void *attrs, const jn_type *types,
                             unsigned n_in, unsigned n_out) {
    if ((op->attr_size && !attrs && jn_attrs_defaults(op, &attrs) != JANUS_OK) ||
        (!table && !(table = jn_calloc(PLACES, sizeof *table))))
        return NULL;
    uint64_t hash = hash_of(op, attrs, types, n_in + n_out);
    size_t at = hash % PLACES;
    for (; table[at].kind; at = (at + 1) % PLACES)
        if (table[at].hash == hash && is_of(&table[at], op, attrs, types, n_in, n_out))
            return table[at].kind;
    if (n_known == MOST) {
        forget_all();
        at = hash % PLACES;
    }
    jn_call_kind *k = new_kind(op, attrs, types, n_in, n_out);
    if (k) {
        table[at] = (known){hash, k, op, (uint16_t)n_in, (uint16_t)n_out};
        n_known++;
    }
    return k;
}

/* Whether the call is one of those; *l: what it is found by. */
static bool is_like(const jn_op *op, const jpy_val *in, unsigned n_in, const janus_tensor *y,
                    like *l) {
    if (n_in > 2 || op->attr_size || y->rank > LIKE_RANK)
        return false;
    *l = (like){.op = op, .dtype = y->dtype, .rank = y->rank, .numbers = (uint8_t)(n_in << 2)};
    for (int k = 0; k < y->rank; k++)
        l->dims[k] = y->dims[k];
    for (unsigned i = 0; i < n_in; i++) {
        const janus_tensor *x = in[i].t;
        if (in[i].kind != JANUS_KIND_TENSOR || x->dtype != y->dtype)
            return false;
        bool number = x->rank == 0 && y->rank;
        if (x->rank != y->rank && !number)
            return false;
        l->numbers |= (uint8_t)(number << i);
        for (int k = 0; k < x->rank; k++)
            if (x->dims[k] != l->dims[k])
                return false;
    }
    return true;
}

static like *place_of(const like *l) {
    uint64_t h = l->op->id | (uint64_t)l->numbers << 12 | (uint64_t)l->rank << 16;
    for (int k = 0; k < l->rank; k++)
        h = (h + (uint64_t)l->dims[k]) * 0x9E3779B97F4A7C15u;
    return &likes[(h ^ h >> 32) % LIKE_PLACES];
}

static bool same_like(const like *a, const like *b) {
    bool same = a->kind && a->op == b->op && a->dtype == b->dtype && a->rank == b->rank &&
                a->numbers == b->numbers;
    for (int k = 0; same && k < b->rank; k++)
        same = a->dims[k] == b->dims[k];
    return same;
}

static jn_type type_of(const jpy_val *in, unsigned n_in, janus_tensor *const *out, unsigned i) {
    const jpy_val *v = &in[i];
    if (i >= n_in)
        return jn_tensor_as_type(out[i - n_in]);
    return v->kind == JANUS_KIND_TENSOR ? jn_tensor_as_type(v->t)
           : v->kind == JN_EAGER_LIKE   ? *v->like
                                        : jn_scalar_type((janus_kind)v->kind);
}

jn_call_kind *jpy_kind_of_call(const jn_op *op, const void *attrs, const jpy_val *in, unsigned n_in,
                               janus_tensor *const *out, unsigned n_out) {
    like l, *at = NULL;
    if (n_out == 1 && is_like(op, in, n_in, out[0], &l)) {
        at = place_of(&l);
        if (JN_LIKELY(same_like(at, &l)))
            return at->kind;
    }
    jn_type types[JN_RECIPE_IN + JN_RECIPE_OUT] = {{0}};
    if (n_in > JN_RECIPE_IN || n_out > JN_RECIPE_OUT)
        return NULL;
    for (unsigned i = 0; i < n_in + n_out; i++)
        types[i] = type_of(in, n_in, out, i);
    jn_call_kind *kind = kind_of(op, attrs, types, n_in, n_out);
    if (at) {
        l.kind = kind;
        *at = l;
    }
    return kind;
}
