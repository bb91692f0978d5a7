/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls whose results have a cotangent on some paths only.
 *
 * Inside a gradient SubGraph all cotangents that arrive are there.  So a call whose results have
 * theirs on one condition has its gradient in the arm for that; where conditions differ there is a
 * gradient for each set of cotangents that there may be.  Loops hand on bools instead.
 */
#include "config.h"

#include "graph/autodiff/internal.h"

#include <string.h>

enum { MAX_CONDITIONS = 3 };

/* The conditions of its results' cotangents. */
typedef struct conditions {
    bool certain; /* some have none; or the gradient must run in any case */
    unsigned n;
    jn_value flag[MAX_CONDITIONS];
} conditions;

static janus_status find_conditions(const jn_sweep *s, const jn_node *n, bool always,
                                    conditions *out) {
    *out = (conditions){.certain = always};
    for (uint32_t k = 0; k < n->n_out; k++) {
        uint32_t i = s->num.first[n->id] + k;
        unsigned at = 0;
        if (jn_value_is_none(s->ct[i]))
            continue;
        if (jn_value_is_none(s->flag[i])) {
            out->certain = true;
            continue;
        }
        while (at < out->n && !jn_value_equal(out->flag[at], s->flag[i]))
            at++;
        if (at == MAX_CONDITIONS)
            return jn_error(JANUS_UNSUPPORTED,
                            "in @%s, the results of %%%u = %s get gradients on different paths",
                            s->f->name, n->id, n->op->name);
        out->flag[at] = s->flag[i];
        out->n += at == out->n;
    }
    return JANUS_OK;
}

/* Bit k of `mask`: condition k is true. */
static janus_status all_of(jn_sweep *s, const conditions *c, unsigned mask, jn_value *out) {
    *out = JN_VALUE_NONE;
    for (unsigned k = 0; k < c->n; k++) {
        jn_value flag = c->flag[k];
        if (!(mask >> k & 1))
            JN_TRY(jn_presence_not(s, flag, &flag));
        JN_TRY(jn_presence_and(s, *out, flag, out));
    }
    return JANUS_OK;
}

/* One call of a gradient for each set of cotangents that there may be. */
static janus_status by_conditions(jn_sweep *s, const jn_node *n, const conditions *c) {
    jn_value *ct = &s->ct[s->num.first[n->id]], *flag = &s->flag[s->num.first[n->id]];
    jn_value *kept = jn_diff_alloc(s->d, n->n_out, sizeof *kept), when;
    if (!kept)
        return JN_NO_MEMORY();
    memcpy(kept, ct, n->n_out * sizeof *kept);
    for (unsigned mask = c->certain ? 0 : 1; mask < 1u << c->n; mask++) {
        for (uint32_t i = 0; i < n->n_out; i++) {
            bool there = jn_value_is_none(flag[i]);
            for (unsigned k = 0; k < c->n; k++)
                there = there || (mask >> k & 1 && jn_value_equal(flag[i], c->flag[k]));
            ct[i] = there ? kept[i] : JN_VALUE_NONE;
        }
        JN_TRY(all_of(s, c, mask, &when));
        JN_TRY(jn_arm_open(s, when));
        JN_TRY(jn_call_gradient(s, n));
        JN_TRY(jn_arm_close(s));
    }
    memcpy(ct, kept, n->n_out * sizeof *kept);
    return JANUS_OK;
}

/* Whether the call adds to an accumulator that begins with what the open arm added. */
static bool needs_sum_of_arm(const jn_sweep *s, const jn_node *n, const jn_call_shape *shape) {
    bool needs = false;
    for (uint32_t k = 0; k < shape->n; k++) {
        jn_value v = n->in[shape->first_in + k];
        needs = needs || (!jn_value_is_none(v) && s->inside[jn_number(&s->num, v)] &&
                          shape->sub[0]->params.data[shape->first_param + k].shared);
    }
    return needs;
}

/* Whether the gradient runs though no result has a cotangent. */
static bool always_runs(const jn_sweep *s, const jn_node *n) {
    bool runs = jn_wire_stores(s->d, n) || s->records[n->id];
    for (uint32_t k = 0; k < n->n_in && !runs; k++)
        runs = !jn_value_is_none(n->in[k]) &&
               jn_value_type(s->f, n->in[k])->kind == JANUS_KIND_ACC &&
               !jn_value_is_none(s->ct[jn_number(&s->num, n->in[k])]);
    return runs;
}

janus_status jn_sweep_call(jn_sweep *s, const jn_node *n) {
    conditions c;
    jn_call_shape shape;
    bool always = always_runs(s, n);
    jn_call_shape_of(n, &shape);
    JN_TRY(jn_sweep_wire(s, n));
    if (!always && jn_arm_is_for(s, n) && !needs_sum_of_arm(s, n, &shape)) {
        s->g = s->arm.sub;
        return jn_call_gradient(s, n);
    }
    /* what is stored gets its gradient from all that reads it, which the arm may be about */
    if (jn_arm_touches(s, n) || jn_wire_stores(s->d, n))
        JN_TRY(jn_arm_close(s));
    JN_TRY(find_conditions(s, n, always, &c));
    if (c.n == 0 || (shape.loop && c.certain))
        return jn_call_gradient(s, n);
    if (s->records[n->id])
        return jn_error(JANUS_UNSUPPORTED,
                        "in @%s, the gradient of the gradient of %%%u = %s on one path", s->f->name,
                        n->id, n->op->name);
    for (unsigned k = 1; k < c.n && shape.loop; k++)
        JN_TRY(jn_presence_or(s, c.flag[0], c.flag[k], &c.flag[0]));
    if (!shape.loop && (c.n > 1 || c.certain))
        return by_conditions(s, n, &c);
    JN_TRY(jn_arm_open(s, c.flag[0]));
    return jn_call_gradient(s, n);
}
