/* Rebuilding a body, and what calls may not be dropped. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/passes/rewrite.h"

#include <string.h>

janus_status jn_rewrite_begin(jn_rewrite *r, jn_subgraph *g) {
    *r = (jn_rewrite){.g = g, .to = *g};
    r->to.nodes.data = NULL;
    r->to.nodes.n = r->to.nodes.cap = 0;
    jn_arena_init(&r->arena, 0);
    if (g->module->frozen)
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s: the module is frozen", g->name);
    if (!g->defined)
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s is not defined", g->name);
    r->values = jn_arena_alloc(&r->arena, g->nodes.n * sizeof *r->values);
    r->nodes = jn_arena_alloc(&r->arena, g->nodes.n * sizeof *r->nodes);
    bool ok = r->values && r->nodes && jn_vec_reserve(&r->to.nodes, g->nodes.n);
    for (size_t i = 0; ok && i < g->nodes.n; i++) {
        uint32_t n_out = g->nodes.data[i]->n_out;
        r->nodes[i] = i ? UINT32_MAX : 0;
        ok = (r->values[i] = jn_arena_alloc(&r->arena, n_out * sizeof(jn_value))) != NULL;
        for (uint32_t k = 0; ok && k < n_out; k++)
            r->values[i][k] = i ? JN_VALUE_NONE : (jn_value){0, k};
    }
    if (!ok) {
        jn_rewrite_cancel(r);
        return JN_NO_MEMORY();
    }
    (void)jn_vec_push(&r->to.nodes, g->nodes.data[0]);
    return JANUS_OK;
}

jn_value jn_rewrite_value(const jn_rewrite *r, jn_value old) {
    return jn_value_is_none(old) ? old : r->values[old.node][old.index];
}

void jn_rewrite_set(jn_rewrite *r, jn_value old, jn_value now) {
    r->values[old.node][old.index] = now;
}

void jn_rewrite_becomes(jn_rewrite *r, const jn_node *n, uint32_t id) {
    r->nodes[n->id] = id;
    for (uint32_t k = 0; k < n->n_out; k++)
        r->values[n->id][k] = (jn_value){id, k};
}

janus_status jn_rewrite_add(jn_rewrite *r, const jn_node *model, jn_node **out_new) {
    jn_arena *a = &r->g->module->arena;
    jn_node *n = jn_arena_dup(a, model, sizeof *model);
    if (!n || !(n->in = jn_arena_dup(a, model->in, model->n_in * sizeof *n->in)) ||
        !(n->out = jn_arena_dup(a, model->out, model->n_out * sizeof *n->out)))
        return JN_NO_MEMORY();
    for (uint32_t k = 0; k < n->n_out; k++) {
        if (!(n->out[k] = jn_type_intern(r->g->module, model->out[k])))
            return JN_NO_MEMORY();
    }
    n->id = (uint32_t)r->to.nodes.n;
    if (!jn_vec_push(&r->to.nodes, n))
        return JN_NO_MEMORY();
    *out_new = n;
    return JANUS_OK;
}

janus_status jn_rewrite_keep(jn_rewrite *r, const jn_node *n, jn_node **out_new) {
    jn_node *copy;
    JN_TRY(jn_rewrite_add(r, n, &copy));
    for (uint32_t i = 0; i < n->n_in; i++)
        copy->in[i] = jn_rewrite_value(r, n->in[i]);
    jn_rewrite_becomes(r, n, copy->id);
    if (out_new)
        *out_new = copy;
    return JANUS_OK;
}

void jn_rewrite_finish(jn_rewrite *r) {
    jn_subgraph *g = r->g;
    if (r->changed) {
        for (size_t i = 0; i < g->results.n; i++)
            g->results.data[i] = jn_rewrite_value(r, g->results.data[i]);
        for (size_t i = 0; i < g->saved.n; i++) {
            jn_saved *s = &g->saved.data[i];
            s->value =
                s->frame ? (jn_value){r->nodes[s->value.node], 0} : jn_rewrite_value(r, s->value);
        }
        jn_vec_free(&g->nodes);
        g->nodes.data = r->to.nodes.data;
        g->nodes.n = r->to.nodes.n;
        g->nodes.cap = r->to.nodes.cap;
        r->to.nodes.data = NULL;
    }
    jn_rewrite_cancel(r);
}

void jn_rewrite_cancel(jn_rewrite *r) {
    jn_vec_free(&r->to.nodes);
    jn_arena_free(&r->arena);
}

/* ---- effects ----------------------------------------------------------------------------------
 */

/* What may raise counts: dropping it would lose the exception of the imperative run. */
bool jn_node_has_effect(const jn_node *n, const bool *effects) {
    if (!n->op)
        return true;
    if (n->op->flags & (JN_OP_EFFECT | JN_OP_MAY_RAISE) || n->op->role == JN_ROLE_ASSERT ||
        jn_draws(n))
        return true;
    for (unsigned i = 0; i < jn_op_n_subs(n->op); i++) {
        if (effects[n->subs[i]->index])
            return true;
    }
    return false;
}

bool jn_body_has_effect(const jn_subgraph *g, const bool *effects) {
    for (size_t i = 1; i < g->nodes.n; i++) {
        if (jn_node_has_effect(g->nodes.data[i], effects))
            return true;
    }
    return !g->defined;
}

janus_status jn_effects_compute(const janus_module *m, bool **out_by_index) {
    bool *effects = jn_calloc(m->subs.n, sizeof *effects);
    if (!effects)
        return JN_NO_MEMORY();
    /* Up to a fixed point: a recursion has no effect unless something in it does. */
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < m->subs.n; i++) {
            if (!effects[i] && jn_body_has_effect(m->subs.data[i], effects))
                changed = effects[i] = true;
        }
    }
    *out_by_index = effects;
    return JANUS_OK;
}

bool jn_frame_is_saved(const jn_subgraph *g, uint32_t node) {
    for (size_t i = 0; i < g->saved.n; i++) {
        if (g->saved.data[i].frame && g->saved.data[i].value.node == node)
            return true;
    }
    return false;
}
