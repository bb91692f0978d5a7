/* Common subexpressions: of equal pure nodes the first one stays.
 *
 * Calls are never merged, however equal (a benchmark of calls must make them, and frames have
 * identities); nor is anything that draws random numbers or reads the host, nor tensors where host
 * objects may hold them.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/base/hash.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"

typedef struct seen {
    uint64_t key;
    const jn_node *node; /* of the new body */
    struct seen *next;   /* another one with the same key */
    UT_hash_handle hh;
} seen;

static bool makes_tensor(const jn_node *n) {
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i]->kind == JANUS_KIND_TENSOR)
            return true;
    return false;
}

/* Whether a tensor is put into a host object somewhere: then two tensors that are equal can be told
 * apart.  (Two views of one cannot both get there.) */
bool jn_stores_tensors(const janus_module *m) {
    for (size_t s = 0; s < m->subs.n; s++) {
        const jn_subgraph *g = m->subs.data[s];
        for (size_t i = 1; i < g->nodes.n; i++) {
            const jn_node *n = g->nodes.data[i];
            if (n->op->role != JN_ROLE_HOST || n->n_out > 1 || (n->n_out && n->n_in == 1))
                continue;
            for (uint32_t k = 0; k < n->n_in; k++)
                if (!jn_value_is_none(n->in[k]) &&
                    jn_value_type(g, n->in[k])->kind == JANUS_KIND_TENSOR)
                    return true;
        }
    }
    return false;
}

/* Whether gradients go through a node one by one where what is added to one is in order: two equal
 * nodes give two contributions. */
static bool is_differentiated(const jn_subgraph *g, const jn_node *n) {
    return g->module->running_sums && !g->primal && !g->deriv && n->op->grad &&
           n->out[0]->kind == JANUS_KIND_TENSOR && jn_dtype_is_float(n->out[0]->dtype);
}

static bool mergeable(const jn_subgraph *g, const jn_node *n, bool stores) {
    if (is_differentiated(g, n))
        return false;
    if (stores && makes_tensor(n) && !(n->op->flags & JN_OP_VIEW))
        return false;
    return n->op->flags & JN_OP_PURE && !(n->op->flags & JN_OP_EFFECT) && !jn_op_n_subs(n->op) &&
           n->op->role != JN_ROLE_RNG && n->op->role != JN_ROLE_HOST;
}

static bool before(jn_value a, jn_value b) {
    return a.node != b.node ? a.node < b.node : a.index < b.index;
}

/* a + b and b + a are the same for integers and floats alike: both are commutative bit for bit. */
static void sort_operands(jn_node *n) {
    if (n->op->flags & JN_OP_COMMUTATIVE && n->n_in >= 2 && before(n->in[1], n->in[0])) {
        jn_value first = n->in[0];
        n->in[0] = n->in[1];
        n->in[1] = first;
    }
}

static uint64_t key_of(const jn_node *n) {
    uint64_t h = jn_hash_mix(jn_attrs_hash(n->op, n->attrs), n->op->id);
    for (uint32_t i = 0; i < n->n_in; i++)
        h = jn_hash_mix(h, (uint64_t)n->in[i].node << 32 | n->in[i].index);
    return h;
}

static bool equal(const jn_node *a, const jn_node *b) {
    if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out)
        return false;
    for (uint32_t i = 0; i < a->n_in; i++) {
        if (!jn_value_equal(a->in[i], b->in[i]))
            return false;
    }
    for (uint32_t i = 0; i < a->n_out; i++) {
        if (a->out[i] != b->out[i])
            return false;
    }
    return jn_attrs_equal(a->op, a->attrs, b->attrs);
}

/* The node as it would stand in the new body, looked up; remembered when it is the first. */
static janus_status merge(jn_rewrite *r, seen **table, const jn_node *n) {
    jn_value *in = jn_arena_alloc(&r->arena, n->n_in * sizeof *in);
    jn_node probe = *n;
    seen *first, *s;
    if (!in)
        return JN_NO_MEMORY();
    probe.in = in;
    for (uint32_t i = 0; i < n->n_in; i++)
        in[i] = jn_rewrite_value(r, n->in[i]);
    sort_operands(&probe);
    uint64_t key = key_of(&probe);
    HASH_FIND(hh, *table, &key, sizeof key, first);
    for (s = first; s; s = s->next) {
        if (equal(s->node, &probe)) {
            jn_rewrite_becomes(r, n, s->node->id);
            r->changed = true;
            return JANUS_OK;
        }
    }
    jn_node *kept;
    JN_TRY(jn_rewrite_keep(r, n, &kept));
    /* Operand order as written stays in the graph; the table holds the sorted one. */
    probe.id = kept->id;
    jn_node *sorted = jn_arena_dup(&r->arena, &probe, sizeof probe);
    if (!sorted || !(s = jn_arena_zalloc(&r->arena, sizeof *s)))
        return JN_NO_MEMORY();
    s->key = key;
    s->node = sorted;
    if (first) {
        s->next = first->next;
        first->next = s;
        return JANUS_OK;
    }
    HASH_ADD(hh, *table, key, sizeof s->key, s);
    return s->hh.tbl ? JANUS_OK : JN_NO_MEMORY();
}

janus_status jn_merge_equal(jn_subgraph *g, bool stores) {
    jn_rewrite r;
    seen *table = NULL;
    janus_status st;
    JN_TRY(jn_rewrite_begin(&r, g));
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        JN_GO(mergeable(g, n, stores) ? merge(&r, &table, n) : jn_rewrite_keep(&r, n, NULL),
              cancel);
    }
    HASH_CLEAR(hh, table);
    jn_rewrite_finish(&r);
    return JANUS_OK;
cancel:
    HASH_CLEAR(hh, table);
    jn_rewrite_cancel(&r);
    return st;
}

janus_status jn_pass_cse(jn_subgraph *g) { return jn_merge_equal(g, jn_stores_tensors(g->module)); }
