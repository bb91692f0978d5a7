/* Modules: interned types and strings, SubGraphs by name, lifetime.
 *
 * Nodes, types and strings live in the module's arena; only the vectors of its SubGraphs and the
 * two hash tables are blocks of their own.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/ir/interned.h"

#include <stdio.h>
#include <string.h>

janus_status jn_module_new(janus_module **out_module) {
    janus_module *m = jn_calloc(1, sizeof *m);
    if (!m)
        return JN_NO_MEMORY();
    jn_arena_init(&m->arena, 0);
    m->refs = 1;
    *out_module = m;
    return JANUS_OK;
}

void jn_module_retain(janus_module *m) { __atomic_fetch_add(&m->refs, 1, __ATOMIC_RELAXED); }

static void free_subgraph(jn_subgraph *g) {
    jn_vec_free(&g->params);
    jn_vec_free(&g->nodes);
    jn_vec_free(&g->results);
    jn_vec_free(&g->result_types);
    jn_vec_free(&g->saved);
}

void jn_module_release(janus_module *m) {
    if (!m || __atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    if (m->exec_pool_free)
        m->exec_pool_free(m->exec_pool);
    for (size_t i = 0; i < m->subs.n; i++)
        free_subgraph(m->subs.data[i]);
    jn_vec_free(&m->subs);
    HASH_CLEAR(hh, m->types);
    HASH_CLEAR(hh, m->names);
    jn_arena_free(&m->arena);
    jn_free(m);
}

/* ---- interning --------------------------------------------------------------------------------
 */

typedef struct type_key {
    uint64_t head;
    const void *frame_of;
    int64_t dims[JN_MAX_RANK];
} type_key;

static bool has_dims(const jn_type *t) {
    return t->kind == JANUS_KIND_TENSOR || t->kind == JANUS_KIND_ACC;
}

/* Fills the key and gives its size; fields that a kind does not have are left out of it. */
static size_t key_of(const jn_type *t, type_key *key) {
    bool tensor = has_dims(t);
    int rank = tensor && t->rank > 0 ? t->rank : 0;
    key->head = t->kind;
    if (tensor)
        key->head |= (uint64_t)t->dtype << 8 | (uint64_t)(uint16_t)t->rank << 16;
    key->frame_of = t->kind == JANUS_KIND_FRAME ? t->frame_of : NULL;
    if (rank)
        memcpy(key->dims, t->dims, (size_t)rank * sizeof(int64_t));
    return offsetof(type_key, dims) + (size_t)rank * sizeof(int64_t);
}

const jn_type *jn_type_intern(janus_module *m, const jn_type *t) {
    type_key key, *own;
    struct jn_type_entry *e;
    if (has_dims(t) && t->rank > JN_MAX_RANK)
        return NULL;
    size_t n = key_of(t, &key);
    HASH_FIND(hh, m->types, &key, n, e);
    if (e)
        return &e->type;
    own = jn_arena_dup(&m->arena, &key, n);
    e = jn_arena_zalloc(&m->arena, sizeof *e);
    if (!own || !e)
        return NULL;
    e->type.kind = t->kind;
    e->type.frame_of = own->frame_of;
    if (has_dims(t)) {
        e->type.dtype = t->dtype;
        e->type.rank = t->rank;
        e->type.dims = t->rank > 0 ? own->dims : NULL;
        for (int i = 0; i < t->rank; i++) {
            int64_t symbol = t->dims[i] < JN_DIM_UNKNOWN ? -2 - t->dims[i] : -1;
            if (symbol >= m->n_symbols && symbol < UINT32_MAX)
                m->n_symbols = (uint32_t)symbol + 1;
        }
    }
    HASH_ADD_KEYPTR(hh, m->types, own, n, e);
    return e->hh.tbl ? &e->type : NULL;
}

static struct jn_name_entry *name_entry(janus_module *m, const char *s, size_t n) {
    struct jn_name_entry *e;
    HASH_FIND(hh, m->names, s, n, e);
    if (e)
        return e;
    e = jn_arena_zalloc(&m->arena, sizeof *e + n + 1);
    if (!e)
        return NULL;
    memcpy(e->text, s, n);
    HASH_ADD_KEYPTR(hh, m->names, e->text, n, e);
    return e->hh.tbl ? e : NULL;
}

const char *jn_module_intern_str(janus_module *m, const char *s) {
    struct jn_name_entry *e = name_entry(m, s, strlen(s));
    return e ? e->text : NULL;
}

jn_subgraph *jn_module_find(const janus_module *m, const char *name, size_t n) {
    struct jn_name_entry *e;
    HASH_FIND(hh, m->names, name, n, e);
    return e ? e->sub : NULL;
}

janus_status jn_module_fresh_name(janus_module *m, const char *base, const char **out_name) {
    struct jn_name_entry *of = name_entry(m, base, strlen(base));
    if (!of)
        return JN_NO_MEMORY();
    if (!of->sub) {
        *out_name = of->text;
        return JANUS_OK;
    }
    jn_str s = {0};
    janus_status st = JANUS_OK;
    for (;; of->numbered++) {
        s.n = 0;
        jn_str_printf(&s, "%s.%u", base, of->numbered + 1);
        if (!jn_str_ok(&s) || !jn_module_find(m, s.data, s.n))
            break;
    }
    const char *name = jn_str_ok(&s) ? jn_module_intern_str(m, s.data) : NULL;
    jn_str_free(&s);
    if (name)
        *out_name = name;
    else
        st = JN_NO_MEMORY();
    return st;
}

/* ---- SubGraphs --------------------------------------------------------------------------------
 */

janus_status jn_check_building(const jn_subgraph *g) {
    if (g->module->frozen)
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s: the module is frozen", g->name);
    if (g->defined)
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s is already defined", g->name);
    return JANUS_OK;
}

janus_status jn_subgraph_declare(janus_module *m, const char *name, jn_subgraph **out_sub) {
    if (m->frozen)
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s: the module is frozen", name);
    if (!*name)
        return jn_error(JANUS_INVALID_ARGUMENT, "a SubGraph needs a name");
    struct jn_name_entry *e = name_entry(m, name, strlen(name));
    if (!e)
        return JN_NO_MEMORY();
    if (e->sub)
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s is declared twice", name);
    jn_subgraph *g = jn_arena_zalloc(&m->arena, sizeof *g);
    jn_node *params = jn_arena_zalloc(&m->arena, sizeof *params);
    if (!g || !params || !jn_vec_reserve(&m->subs, m->subs.n + 1) ||
        !jn_vec_push(&g->nodes, params))
        return JN_NO_MEMORY();
    g->name = e->text;
    g->module = m;
    g->index = (uint32_t)m->subs.n;
    (void)jn_vec_push(&m->subs, g);
    e->sub = g;
    *out_sub = g;
    return JANUS_OK;
}

void jn_subgraph_drop_last(janus_module *m) {
    jn_subgraph *g = m->subs.data[m->subs.n - 1];
    struct jn_name_entry *e;
    HASH_FIND(hh, m->names, g->name, strlen(g->name), e);
    if (e)
        e->sub = NULL;
    free_subgraph(g);
    m->subs.n--;
}

static bool param_name_taken(const jn_subgraph *g, const char *name) {
    for (size_t i = 0; i < g->params.n; i++) {
        if (!strcmp(g->params.data[i].name, name))
            return true;
    }
    return false;
}

/* Names only serve people, so a second `x` becomes `x.1` and is no error.  Numbers name nodes: `5`
 * becomes `p5`. */
static const char *param_name(jn_subgraph *g, const char *name) {
    jn_str base = {0}, s = {0};
    const char *own = NULL;
    bool letter = name && *name && !(*name >= '0' && *name <= '9');
    if (letter)
        jn_str_append(&base, name);
    else if (name && *name)
        jn_str_printf(&base, "p%s", name);
    else
        jn_str_printf(&base, "p%zu", g->params.n);
    if (jn_str_ok(&base)) {
        jn_str_append(&s, base.data);
        for (unsigned i = 1; jn_str_ok(&s) && param_name_taken(g, s.data); i++) {
            s.n = 0;
            jn_str_printf(&s, "%s.%u", base.data, i);
        }
        own = jn_str_ok(&s) ? jn_module_intern_str(g->module, s.data) : NULL;
    }
    jn_str_free(&base);
    jn_str_free(&s);
    return own;
}

janus_status jn_subgraph_add_param(jn_subgraph *g, const char *name, const jn_type *t, bool shared,
                                   jn_value *out_value) {
    JN_TRY(jn_check_building(g));
    if (has_dims(t) && t->rank > JN_MAX_RANK)
        return jn_error(JANUS_SHAPE, "@%s: parameter %s: rank %d, at most %d is supported", g->name,
                        name ? name : "", t->rank, JN_MAX_RANK);
    jn_node *node = g->nodes.data[0];
    const jn_type *type = jn_type_intern(g->module, t);
    const char *own = param_name(g, name);
    if (!type || !own || !jn_vec_reserve(&g->params, g->params.n + 1))
        return JN_NO_MEMORY();
    /* The list of results grows by doubling: it is full when its length is a power of two. */
    if ((node->n_out & (node->n_out - 1)) == 0) {
        size_t cap = node->n_out ? 2 * (size_t)node->n_out : 1;
        const jn_type **out = jn_arena_alloc(&g->module->arena, cap * sizeof *out);
        if (!out)
            return JN_NO_MEMORY();
        if (node->n_out)
            memcpy(out, node->out, node->n_out * sizeof *out);
        node->out = out;
    }
    (void)jn_vec_push(&g->params, ((jn_param){own, type, shared}));
    node->out[node->n_out] = type;
    *out_value = (jn_value){0, node->n_out++};
    return JANUS_OK;
}

janus_status jn_subgraph_set_result_types(jn_subgraph *g, const jn_type *const *types, unsigned n) {
    JN_TRY(jn_check_building(g));
    if (!jn_vec_reserve(&g->result_types, n))
        return JN_NO_MEMORY();
    for (unsigned i = 0; i < n; i++) {
        const jn_type *t = jn_type_intern(g->module, types[i]);
        if (!t)
            return JN_NO_MEMORY();
        g->result_types.data[i] = t;
    }
    g->result_types.n = n;
    return JANUS_OK;
}

janus_status jn_subgraph_define(jn_subgraph *g, const jn_value *results, unsigned n) {
    JN_TRY(jn_check_building(g));
    bool declared = g->result_types.n != 0;
    if (declared && n != g->result_types.n)
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s: declared with %zu results, defined with %u",
                        g->name, g->result_types.n, n);
    if (!jn_vec_reserve(&g->results, n) || !jn_vec_reserve(&g->result_types, n))
        return JN_NO_MEMORY();
    for (unsigned i = 0; i < n; i++) {
        jn_value v = results[i];
        if (v.node >= g->nodes.n || v.index >= g->nodes.data[v.node]->n_out)
            return jn_error(JANUS_INVALID_ARGUMENT, "@%s: result %u is no value of its body",
                            g->name, i);
        const jn_type *t = jn_value_type(g, v);
        if (declared && !jn_type_fits(t, g->result_types.data[i]))
            return jn_error(JANUS_SHAPE, "@%s: result %u: declared %s, got %s", g->name, i,
                            jn_type_text_of(g->result_types.data[i]).s, jn_type_text_of(t).s);
    }
    for (unsigned i = 0; i < n; i++) {
        g->results.data[i] = results[i];
        if (!declared)
            g->result_types.data[i] = jn_value_type(g, results[i]);
    }
    g->results.n = g->result_types.n = n;
    g->defined = true;
    return JANUS_OK;
}
