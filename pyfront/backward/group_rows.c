/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs in a backward() by groups: nodes of one kind as rows, pieces of tensors, other nodes
 * alone; and where the gradients go.  Rows of results are passed on where they lie.
 */
#include "config.h"

#include "pyfront/backward/groups.h"

#include <string.h>

#include "graph/base/alloc.h"

/* ---- cotangents ---------------------------------------------------------------------------------
 */

static janus_status add(char *restrict to, const char *restrict from, const jn_type *t) {
    int64_t n = jpy_type_numel(t);
    if (t->dtype == JANUS_F32) {
        float *a = (float *)(void *)to;
        const float *b = (const float *)(const void *)from;
        for (int64_t i = 0; i < n; i++)
            a[i] += b[i];
    } else if (t->dtype == JANUS_F64) {
        double *a = (double *)(void *)to;
        const double *b = (const double *)(const void *)from;
        for (int64_t i = 0; i < n; i++)
            a[i] += b[i];
    } else {
        return JANUS_UNSUPPORTED;
    }
    return JANUS_OK;
}

static const jpy_link *links_of(const jpy_groups *g, const jpy_visit *v) {
    return &g->e->links.data[v->link];
}

/* Memory of its own for what has arrived. */
static janus_status make_fresh(jpy_groups *g, jpy_cotangent *c) {
    size_t bytes = jpy_type_bytes(&c->type);
    char *own = jn_grad_work_memory(g->work, bytes);
    if (!own)
        return JANUS_NO_MEMORY;
    memcpy(own, c->data, bytes);
    c->data = own;
    c->fresh = true;
    return JANUS_OK;
}

static janus_status arrive(jpy_groups *g, jpy_cotangent *c, char *data, const jn_type *type,
                           bool fresh) {
    if (!c->data) {
        c->data = data;
        c->fresh = fresh;
        c->type = *type;
        return JANUS_OK;
    }
    if (!c->fresh)
        JN_TRY(make_fresh(g, c));
    return add(c->data, data, &c->type);
}

/* All that has arrived, in one place. */
janus_status jpy_cotangent_complete(jpy_groups *g, jpy_cotangent *c) {
    if (!c->sum)
        return JANUS_OK;
    char *sum;
    JN_TRY(jn_grad_sum_data(g->work, c->sum, &sum));
    c->sum = NULL;
    return arrive(g, c, sum, &c->type, false);
}

janus_status jpy_cotangent_tensor(const jpy_cotangent *c, janus_tensor **out) {
    char *to;
    JN_TRY(jn_tensor_empty((janus_dtype)c->type.dtype, c->type.rank, c->type.dims, out));
    JN_TRY(jn_tensor_data(*out, &to));
    memcpy(to, c->data, jpy_type_bytes(&c->type));
    return JANUS_OK;
}

/* ---- nodes alone --------------------------------------------------------------------------------
 */

/* What a node gave for an operand, row-major: the first is kept as long as the work. */
int jpy_cotangent_take(jpy_groups *g, jpy_cotangent *c, janus_tensor *t) {
    janus_tensor *dense;
    jn_view view;
    jn_type type;
    if (jn_tensor_contiguous(t, &dense) != JANUS_OK)
        return -1;
    janus_status st = jn_tensor_as_view(dense, &view);
    if (st == JANUS_OK &&
        (dense->storage->device || !(dense->dtype == JANUS_F32 || dense->dtype == JANUS_F64)))
        st = JANUS_UNSUPPORTED;
    bool first = !c->data;
    if (st == JANUS_OK) {
        type = jn_tensor_as_type(dense);
        st = arrive(g, c, view.data, &type, false);
    }
    /* what has been added is needed no more: many large ones would be more than memory holds */
    if (st == JANUS_OK && first)
        st = jn_grad_work_keep(g->work, dense);
    else
        janus_tensor_release(dense);
    return st == JANUS_OK ? 0 : -1;
}

static int run_alone(jpy_groups *g, const jpy_visit *v) {
    jpy_node *n = v->node;
    const jpy_link *link = links_of(g, v);
    jpy_val *dout = jn_calloc((size_t)n->n_out + 1, sizeof *dout);
    jpy_val *din = jn_calloc((size_t)n->n_in + 1, sizeof *din);
    bool *want = jn_calloc((size_t)n->n_in + 1, sizeof *want), wanted = false;
    g->n_alone++;
    int rc = dout && din && want ? 0 : -1;
    for (unsigned i = 0; rc == 0 && i < n->n_out; i++) {
        const jpy_cotangent *c = &g->slots[v->slot + i];
        if (!c->data)
            continue;
        if (jpy_cotangent_tensor(c, &dout[i].t) == JANUS_OK)
            dout[i].kind = JANUS_KIND_TENSOR;
        else
            rc = -1;
    }
    for (unsigned i = 0; rc == 0 && i < n->n_in; i++)
        wanted |= want[i] = jpy_link_needed(g->e, link[i]);
    if (rc == 0 && wanted)
        rc = n->cls->backward(n, dout, want, din, false);
    for (unsigned i = 0; din && i < n->n_in; i++) {
        if (din[i].kind == JANUS_KIND_NONE)
            continue;
        if (rc == 0 && want[i])
            rc = jpy_cotangent_take(g, &g->slots[link[i].slot], din[i].t);
        jpy_val_release(&din[i]);
    }
    for (unsigned i = 0; dout && i < n->n_out; i++)
        jpy_val_release(&dout[i]);
    jn_free(dout);
    jn_free(din);
    jn_free(want);
    return rc;
}

static bool dense_in(const jpy_region *r) {
    int64_t step = 1;
    for (int i = r->rank; i-- > 0; step *= r->dims[i])
        if (r->dims[i] != 1 && r->strides[i] != step)
            return false;
    return true;
}

/* A piece of a tensor, one stretch of it: its gradient goes to its place in the whole one's. */
static int run_piece(jpy_groups *g, const jpy_visit *v) {
    jpy_node *n = v->node;
    const jpy_link *link = links_of(g, v);
    jpy_region region, *r = &region;
    jpy_region_get(n, r);
    const jpy_cotangent *c = &g->slots[v->slot];
    if (!jpy_link_needed(g->e, *link))
        return 0;
    if (!dense_in(r) || r->root.dtype != c->type.dtype ||
        !(r->root.dtype == JANUS_F32 || r->root.dtype == JANUS_F64))
        return run_alone(g, v);
    jpy_cotangent *to = &g->slots[link->slot];
    if (!to->data) {
        to->type = jpy_region_root(n);
        size_t bytes = jpy_type_bytes(&to->type);
        if (!(to->data = jn_grad_work_memory(g->work, bytes)))
            return -1;
        memset(to->data, 0, bytes);
        to->fresh = true;
    }
    if (!to->fresh && make_fresh(g, to) != JANUS_OK)
        return -1;
    size_t size = jn_dtype_size((janus_dtype)r->root.dtype);
    return add(to->data + (size_t)r->offset * size, c->data, &c->type) == JANUS_OK ? 0 : -1;
}

/* ---- groups -------------------------------------------------------------------------------------
 */

/* What the rule of this node is asked for.  Leaves that others use too are sums, and then the rows
 * of a group have the same one: its number goes into the hash. */
static bool key_of(const jpy_groups *g, const jpy_visit *v, const jpy_call *c, jn_grad_key *key,
                   uint64_t *hash) {
    const jpy_link *link = links_of(g, v);
    uint64_t h = (uint64_t)(uintptr_t)c->kind;
    *key = (jn_grad_key){.saved = c->saved};
    for (unsigned i = 0; i < v->n_out; i++)
        key->given |= (uint8_t)((g->slots[v->slot + i].data != NULL) << i);
    for (unsigned i = 0; i < c->n_in; i++) {
        if (!jpy_link_needed(g->e, link[i]))
            continue;
        const jpy_place *to = &g->where[link[i].visit];
        if (to->depth == JPY_LEAF && to->uses > 1) {
            key->sum |= (uint8_t)(1u << i);
            h = (h ^ link[i].visit) * 0x9E3779B97F4A7C15u;
        } else {
            key->row |= (uint8_t)(1u << i);
        }
    }
    h ^= (uint64_t)key->saved << 32 | (uint64_t)key->given << 16 | key->row;
    h *= 0x9E3779B97F4A7C15u;
    *hash = h ^ h >> 29;
    return key->row | key->sum;
}

static bool same_sums(const jpy_groups *g, const jpy_visit *a, const jpy_visit *b, unsigned sums) {
    const jpy_link *x = links_of(g, a), *y = links_of(g, b);
    for (unsigned i = 0; sums >> i; i++)
        if (sums >> i & 1 && x[i].visit != y[i].visit)
            return false;
    return true;
}

static bool same_key(const jn_grad_key *a, const jn_grad_key *b) {
    return a->saved == b->saved && a->given == b->given && a->row == b->row && a->sum == b->sum;
}

static int put_in_group(jpy_groups *g, const jpy_visit *v, const jpy_call *c) {
    jn_grad_key key;
    uint64_t hash;
    uint32_t at = jpy_visit_number(g->e, v);
    if (!key_of(g, v, c, &key, &hash))
        return 0;
    g->next[at] = JPY_NO_VISIT;
    size_t place = hash % JPY_GROUP_PLACES;
    for (; g->place[place]; place = (place + 1) % JPY_GROUP_PLACES) {
        jpy_group *have = &g->group.data[g->place[place] - 1];
        if (have->hash != hash || have->kind != c->kind || !same_key(&have->key, &key) ||
            !same_sums(g, have->first, v, key.sum))
            continue;
        g->next[have->tail] = at;
        have->tail = at;
        have->n++;
        return 0;
    }
    jpy_group fresh = {v, hash, c->kind, key, at, at, 1};
    if (g->group.n >= JPY_GROUP_PLACES / 2)
        return run_alone(g, v);
    if (!jn_vec_push(&g->group, fresh))
        return -1;
    g->place[place] = (uint32_t)g->group.n;
    return 0;
}

/* Operands whose gradients all go to one place are summed as well. */
static void find_shared(const jpy_groups *g, jpy_group *p) {
    const jpy_link *link = links_of(g, p->first);
    unsigned shared = p->n > 1 ? p->key.row : 0;
    for (uint32_t at = g->next[p->head]; at != JPY_NO_VISIT && shared; at = g->next[at]) {
        const jpy_link *other = links_of(g, &g->e->visits.data[at]);
        for (unsigned i = 0; shared >> i; i++)
            if (shared >> i & 1 && other[i].slot != link[i].slot)
                shared &= ~(1u << i);
    }
    p->key.row &= (uint8_t)~shared;
    p->key.sum |= (uint8_t)shared;
}

/* Elements of saved value i of a node, a tensor, row-major. */
static int value_data(jpy_groups *g, jpy_node *n, unsigned i, const void **out) {
    jn_view view;
    janus_tensor *t = jpy_op_of(n)->saved[i].t;
    if (!t->contiguous && t != g->copy_of[i]) {
        if (jn_tensor_contiguous(t, &g->copy[i]) != JANUS_OK ||
            jn_grad_work_keep(g->work, g->copy[i]) != JANUS_OK)
            return -1;
        g->copy_of[i] = t;
    }
    if (!t->contiguous)
        t = g->copy[i];
    if (t->storage->device || jn_tensor_as_view(t, &view) != JANUS_OK)
        return -1;
    *out = view.data;
    return 0;
}

static int fill_row(jpy_groups *g, uint32_t at, const jn_grad_key *key, jn_grad_row *row) {
    const jpy_visit *v = &g->e->visits.data[at];
    const jpy_call *c = &v->call;
    const void *const *value = &g->e->values.data[c->value];
    for (unsigned i = 0; key->saved >> i; i++) {
        if (!(key->saved >> i & 1))
            continue;
        row->value[i] = value[i];
        if (!value[i] && value_data(g, v->node, i, &row->value[i]) < 0)
            return -1;
    }
    for (unsigned i = 0; i < v->n_out; i++)
        row->given[i] = g->slots[v->slot + i].data;
    return 0;
}

static janus_status sum_at(jpy_groups *g, const jpy_group *p, unsigned i, jn_acc **out) {
    const jn_type *type = &p->first->call.types[i];
    jpy_cotangent *c = &g->slots[links_of(g, p->first)[i].slot];
    if (!c->sum) {
        if (!c->data)
            c->type = *type;
        JN_TRY(jn_grad_sum_new(g->work, type, &c->sum));
    }
    *out = c->sum;
    return JANUS_OK;
}

/* Where the gradients of a visit to come go, and what is there. */
static void expect_targets(const jpy_groups *g, const jpy_visit *v, unsigned row) {
    const jpy_link *link = links_of(g, v);
    for (unsigned i = 0; row >> i; i++)
        if (row >> i & 1)
            __builtin_prefetch(&g->slots[link[i].slot], 1);
}

static janus_status spread(jpy_groups *g, const jpy_group *p) {
    const jn_type *types = p->first->call.types;
    uint32_t r = 0;
    for (uint32_t at = p->head; at != JPY_NO_VISIT; at = g->next[at], r++) {
        const jpy_link *link = links_of(g, &g->e->visits.data[at]);
        const jn_grad_row *row = &g->rows.data[r];
        if (g->next[at] != JPY_NO_VISIT)
            expect_targets(g, &g->e->visits.data[g->next[at]], p->key.row);
        for (unsigned i = 0; p->key.row >> i; i++)
            if (p->key.row >> i & 1 && row->din[i])
                JN_TRY(arrive(g, &g->slots[link[i].slot], row->din[i], &types[i],
                              row->fresh >> i & 1));
    }
    return JANUS_OK;
}

int jpy_group_run(jpy_groups *g, jpy_group *p) {
    jn_acc *sum[JN_RECIPE_IN] = {NULL};
    find_shared(g, p);
    const jn_grad_rule *rule = jn_grad_rule_get(g->work, p->kind, &p->key, p->first->call.types);
    if (!rule) {
        int rc = 0;
        for (uint32_t at = p->head; at != JPY_NO_VISIT && rc == 0; at = g->next[at])
            rc = run_alone(g, &g->e->visits.data[at]);
        return rc;
    }
    if (!jn_vec_reserve(&g->rows, p->n))
        return -1;
    uint32_t r = 0;
    for (uint32_t at = p->head; at != JPY_NO_VISIT; at = g->next[at], r++)
        if (fill_row(g, at, &p->key, &g->rows.data[r]) < 0)
            return -1;
    for (unsigned i = 0; p->key.sum >> i; i++)
        if (p->key.sum >> i & 1 && sum_at(g, p, i, &sum[i]) != JANUS_OK)
            return -1;
    g->n_groups++;
    g->n_grouped += p->n;
    if (jn_grad_rule_run(g->work, rule, g->rows.data, p->n, sum) != JANUS_OK ||
        spread(g, p) != JANUS_OK)
        return -1;
    return 0;
}

int jpy_groups_node(jpy_groups *g, const jpy_visit *v) {
    const jpy_call *c = &v->call;
    if (c->kind)
        return put_in_group(g, v, c);
    return v->node->cls == &jpy_piece_class ? run_piece(g, v) : run_alone(g, v);
}
