/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is computed only where a cotangent is there.
 *
 * A cotangent that there may be or not is zeros where it is not (autodiff_presence.c).  Nothing may
 * be computed of those: it would count as a gradient, and zeros times infinity are NaN.  So rules
 * and calls whose cotangents are there on one condition are built in an arm of an `if`: nodes one
 * after the other with the same condition in the same arm, which stays open until something else
 * needs what it adds to.  Values of the body around become its parameters when they are asked for,
 * the cotangents it adds to its results; the other arm hands those on as they were, or zeros.
 */
#include "config.h"

#include "graph/autodiff/internal.h"
#include "graph/ir/ir.h"

#include <stdio.h>
#include <string.h>

/* ---- in and out ---------------------------------------------------------------------------------
 */

void jn_arm_leave(jn_sweep *s) { s->g = s->home; }

janus_status jn_arm_open(jn_sweep *s, jn_value when) {
    const char *name;
    JN_TRY(jn_arm_close(s));
    jn_arm *a = &s->arm;
    if (!a->sums) {
        a->sums = jn_diff_alloc(s->d, 2 * (size_t)s->num.n_values, sizeof *a->sums);
        if (!a->sums)
            return JN_NO_MEMORY();
        a->parted = a->sums + s->num.n_values;
    }
    JN_TRY(jn_module_fresh_name(s->d->m, "present", &name));
    JN_TRY(jn_subgraph_declare(s->d->m, name, &a->sub));
    a->when = when;
    a->calls = false;
    a->n_outer = a->n_sums = a->n_parted = 0;
    s->g = a->sub;
    return JANUS_OK;
}

static bool is_shared(const jn_sweep *s, jn_value v) {
    return v.node == 0 && s->home != s->f && s->home->params.data[v.index].shared;
}

janus_status jn_arm_in(jn_sweep *s, jn_value v, jn_value *out) {
    jn_arm *a = &s->arm;
    *out = v;
    if (!jn_in_arm(s) || jn_value_is_none(v))
        return JANUS_OK;
    const jn_node *n = jn_value_node(s->home, v);
    if (n->op && n->op->role == JN_ROLE_CONST && n->n_in == 0)
        return jn_build(s->g, n->op, NULL, 0, n->attrs, NULL, s->loc, out, 1);
    for (unsigned i = 0; i < a->n_outer; i++)
        if (jn_value_equal(a->outer[i], v)) {
            *out = (jn_value){0, i};
            return JANUS_OK;
        }
    if (a->n_outer == a->cap) {
        unsigned cap = a->cap ? 2 * a->cap : 32;
        jn_value *outer = jn_diff_alloc(s->d, cap, sizeof *outer);
        if (!outer)
            return JN_NO_MEMORY();
        if (a->n_outer)
            memcpy(outer, a->outer, a->n_outer * sizeof *outer);
        a->outer = outer;
        a->cap = cap;
    }
    char name[24];
    snprintf(name, sizeof name, "x%u", a->n_outer);
    JN_TRY(jn_subgraph_add_param(a->sub, name, jn_value_type(s->home, v), is_shared(s, v), out));
    a->outer[a->n_outer++] = v;
    return JANUS_OK;
}

janus_status jn_arm_read(jn_sweep *s, jn_value v, jn_value *out) {
    const jn_node *n = jn_value_is_none(v) ? NULL : jn_value_node(s->home, v);
    if (!jn_in_arm(s) || !s->d->m->running_sums || !n || !jn_is_view(n))
        return jn_arm_in(s, v, out);
    jn_value *in = jn_diff_alloc(s->d, n->n_in, sizeof *in);
    if (!in)
        return JN_NO_MEMORY();
    for (uint32_t k = 0; k < n->n_in; k++)
        JN_TRY(k == 0 ? jn_arm_read(s, n->in[k], &in[k]) : jn_arm_in(s, n->in[k], &in[k]));
    return jn_build(s->g, n->op, in, n->n_in, n->attrs, NULL, n->loc, out, 1);
}

janus_status jn_arm_ct(jn_sweep *s, uint32_t i, jn_value *out) {
    if (s->inside[i]) {
        *out = s->ct[i];
        return JANUS_OK;
    }
    return jn_arm_read(s, s->ct[i], out);
}

janus_status jn_arm_take(jn_sweep *s, jn_value v) {
    uint32_t i = jn_number(&s->num, v);
    if (!jn_in_arm(s) || s->inside[i])
        return JANUS_OK;
    s->inside[i] = true;
    s->before[i] = s->ct[i];
    s->before_flag[i] = s->flag[i];
    s->flag[i] = JN_VALUE_NONE;
    s->arm.sums[s->arm.n_sums++] = v;
    return jn_arm_in(s, s->before[i], &s->ct[i]);
}

void jn_arm_part(jn_sweep *s, jn_value v) {
    jn_arm *a = &s->arm;
    bool known = false;
    for (unsigned i = 0; i < a->n_parted; i++)
        known = known || jn_value_equal(a->parted[i], v);
    if (!known)
        a->parted[a->n_parted++] = v;
    s->part_inside[jn_number(&s->num, v)] = true;
}

/* ---- which ------------------------------------------------------------------------------------
 */

bool jn_arm_touches(const jn_sweep *s, const jn_node *n) {
    bool any = false;
    if (!s->arm.sub)
        return false;
    for (uint32_t k = 0; k < n->n_out && !any; k++)
        any = s->inside[s->num.first[n->id] + k];
    for (uint32_t k = 0; k < n->n_in && !any; k++) {
        if (jn_value_is_none(n->in[k]))
            continue;
        uint32_t i = jn_number(&s->num, n->in[k]);
        any = s->inside[i] || s->part_inside[i];
    }
    return any || s->d->m->running_sums; /* there the order of what is added counts */
}

/* As it will be once the arm is closed. */
bool jn_arm_certain(const jn_sweep *s, uint32_t i) {
    if (s->inside[i])
        return !jn_value_is_none(s->before[i]) && jn_value_is_none(s->before_flag[i]);
    return jn_value_is_none(s->flag[i]);
}

bool jn_arm_is_for(const jn_sweep *s, const jn_node *n) {
    bool is = s->arm.sub != NULL;
    for (uint32_t k = 0; k < n->n_out && is; k++) {
        uint32_t i = s->num.first[n->id] + k;
        if (jn_value_is_none(s->ct[i]))
            continue;
        if (s->inside[i])
            is = jn_value_is_none(s->before[i]) && jn_value_is_none(s->flag[i]);
        else
            is = jn_value_equal(s->flag[i], s->arm.when);
    }
    return is;
}

janus_status jn_arm_choose(jn_sweep *s, const jn_node *n) {
    bool any = false;
    for (uint32_t k = 0; k < n->n_out; k++) {
        uint32_t i = s->num.first[n->id] + k;
        any = any || (!jn_value_is_none(s->ct[i]) && jn_arm_certain(s, i));
    }
    if (any)
        return jn_arm_touches(s, n) ? jn_arm_close(s) : JANUS_OK;
    if (jn_arm_is_for(s, n)) {
        s->g = s->arm.sub;
        return JANUS_OK;
    }
    JN_TRY(jn_arm_close(s));
    jn_value when = JN_VALUE_NONE;
    for (uint32_t k = 0; k < n->n_out; k++) {
        uint32_t i = s->num.first[n->id] + k;
        if (!jn_value_is_none(s->ct[i]))
            JN_TRY(jn_presence_or(s, when, s->flag[i], &when));
    }
    return jn_arm_open(s, when);
}

/* ---- closing ------------------------------------------------------------------------------------
 */

/* Zeros of a type, in g; `like` where its dims are not known. */
static janus_status zeros(jn_sweep *s, jn_subgraph *g, const jn_type *t, jn_value like,
                          jn_value *out) {
    jn_value in[2] = {JN_VALUE_NONE, like};
    JN_TRY(jn_build_scalar(g, JANUS_KIND_FLOAT, (janus_scalar){.f = 0.0}, s->loc, &in[0]));
    if (!jn_type_static(t))
        return jn_build(g, s->d->ops.full_like, in, 2, NULL, NULL, s->loc, out, 1);
    const jn_op *op = s->d->ops.full;
    char *attrs = jn_diff_alloc(s->d, 1, op->attr_size);
    if (!attrs)
        return JN_NO_MEMORY();
    JN_TRY(jn_attrs_default(op, attrs));
    janus_ints dims = {t->dims, (size_t)t->rank};
    uint8_t dtype = t->dtype;
    memcpy(attrs + jn_attr_find(op, "dtype", 5)->offset, &dtype, sizeof dtype);
    memcpy(attrs + jn_attr_find(op, "shape", 5)->offset, &dims, sizeof dims);
    return jn_build(g, op, in, 1, attrs, NULL, s->loc, out, 1);
}

/* Inside a recursion all shared parameters are passed on. */
static janus_status take_shared(jn_sweep *s) {
    jn_value v;
    for (uint32_t p = 0; s->arm.calls && p < s->home->params.n; p++)
        if (is_shared(s, (jn_value){0, p}))
            JN_TRY(jn_arm_in(s, (jn_value){0, p}, &v));
    return JANUS_OK;
}

/* Puts shared parameters last, in the order they have around. */
static janus_status order_params(jn_sweep *s) {
    jn_arm *a = &s->arm;
    jn_subgraph *g = a->sub;
    uint32_t *to = jn_diff_alloc(s->d, a->n_outer, sizeof *to), at = 0;
    jn_value *outer = jn_diff_alloc(s->d, a->n_outer, sizeof *outer);
    jn_param *params = jn_diff_alloc(s->d, a->n_outer, sizeof *params);
    if (!to || !outer || !params)
        return JN_NO_MEMORY();
    for (uint32_t i = 0; i < a->n_outer; i++)
        if (!g->params.data[i].shared)
            to[i] = at++;
    for (uint32_t p = 0; p < s->home->params.n; p++)
        for (uint32_t i = 0; i < a->n_outer; i++)
            if (g->params.data[i].shared && a->outer[i].index == p)
                to[i] = at++;
    for (uint32_t i = 0; i < a->n_outer; i++) {
        outer[to[i]] = a->outer[i];
        params[to[i]] = g->params.data[i];
    }
    for (uint32_t i = 0; i < a->n_outer; i++) {
        a->outer[i] = outer[i];
        g->params.data[i] = params[i];
        g->nodes.data[0]->out[i] = params[i].type;
    }
    for (size_t k = 1; k < g->nodes.n; k++) {
        const jn_node *n = g->nodes.data[k];
        for (uint32_t i = 0; i < n->n_in; i++)
            if (n->in[i].node == 0)
                n->in[i].index = to[n->in[i].index];
    }
    for (unsigned i = 0; i < a->n_sums; i++) {
        uint32_t number = jn_number(&s->num, a->sums[i]);
        if (s->ct[number].node == 0)
            s->ct[number].index = to[s->ct[number].index];
        if (s->flag[number].node == 0)
            s->flag[number].index = to[s->flag[number].index];
    }
    return JANUS_OK;
}

static janus_status define(jn_sweep *s, jn_subgraph *g, const jn_value *v, unsigned n) {
    const jn_type **types = jn_diff_alloc(s->d, n, sizeof *types);
    if (!types)
        return JN_NO_MEMORY();
    for (unsigned i = 0; i < n; i++)
        types[i] = jn_value_type(g, v[i]);
    JN_TRY(jn_subgraph_set_result_types(g, types, n));
    return jn_subgraph_define(g, v, n);
}

/* The arm that adds nothing: sums as they were. */
static janus_status other_arm(jn_sweep *s, const jn_value *likes, jn_subgraph **out) {
    const jn_arm *a = &s->arm;
    const char *name;
    jn_value v;
    jn_value *results = jn_diff_alloc(s->d, 2 * (size_t)a->n_sums, sizeof *results);
    unsigned n = 0;
    if (!results)
        return JN_NO_MEMORY();
    JN_TRY(jn_module_fresh_name(s->d->m, "absent", &name));
    JN_TRY(jn_subgraph_declare(s->d->m, name, out));
    for (unsigned i = 0; i < a->n_outer; i++) {
        const jn_param *p = &a->sub->params.data[i];
        JN_TRY(jn_subgraph_add_param(*out, p->name, p->type, p->shared, &v));
    }
    for (unsigned i = 0; i < a->n_sums; i++) {
        uint32_t number = jn_number(&s->num, a->sums[i]);
        jn_value from = jn_value_is_none(s->before[number]) ? likes[i] : s->before[number];
        for (unsigned p = 0; p < a->n_outer; p++)
            if (jn_value_equal(a->outer[p], from))
                results[n] = (jn_value){0, p};
        const jn_node *made =
            jn_value_is_none(from) ? NULL : (const jn_node *)jn_value_node(s->home, from);
        if (jn_value_is_none(s->before[number]))
            JN_TRY(zeros(s, *out, jn_value_type(a->sub, s->ct[number]), results[n], &results[n]));
        else if (made->op && made->op->role == JN_ROLE_CONST && made->n_in == 0)
            JN_TRY(jn_build(*out, made->op, NULL, 0, made->attrs, NULL, s->loc, &results[n], 1));
        n++;
    }
    for (unsigned i = 0; i < a->n_sums; i++)
        if (!jn_value_is_none(s->flag[jn_number(&s->num, a->sums[i])]))
            JN_TRY(jn_build_scalar(*out, JANUS_KIND_BOOL, (janus_scalar){.i = 0}, s->loc,
                                   &results[n++]));
    return define(s, *out, results, n);
}

/* Cotangents that the arm has used up itself are none of its results. */
static void drop_used(jn_sweep *s) {
    jn_arm *a = &s->arm;
    unsigned n = 0;
    for (unsigned i = 0; i < a->n_sums; i++) {
        jn_value v = a->sums[i];
        uint32_t number = jn_number(&s->num, v);
        if (s->home == s->f || v.node <= s->at ||
            jn_value_node(s->f, v)->op->role == JN_ROLE_SAVED) {
            a->sums[n++] = v;
            continue;
        }
        s->inside[number] = false;
        s->ct[number] = s->flag[number] = JN_VALUE_NONE;
    }
    a->n_sums = n;
}

/* Parts of slices become sums, dims that are not known are seen on the value itself. */
static janus_status settle(jn_sweep *s, jn_value *likes) {
    jn_arm *a = &s->arm;
    s->g = a->sub;
    for (unsigned i = 0; i < a->n_parted; i++)
        JN_TRY(jn_sweep_join(s, a->parted[i]));
    drop_used(s);
    JN_TRY(take_shared(s));
    for (unsigned i = 0; i < a->n_sums; i++) {
        uint32_t number = jn_number(&s->num, a->sums[i]);
        jn_value v;
        likes[i] = JN_VALUE_NONE;
        if (!jn_value_is_none(s->before[number]) ||
            jn_type_static(jn_value_type(s->g, s->ct[number])))
            continue;
        s->g = s->home;
        JN_TRY(jn_sweep_fetch(s, a->sums[i], &likes[i]));
        s->g = a->sub;
        JN_TRY(jn_arm_in(s, likes[i], &v));
    }
    JN_TRY(order_params(s));
    s->g = s->home;
    return JANUS_OK;
}

/* The arm's results are the body's cotangents. */
static janus_status take_results(jn_sweep *s, const jn_value *out) {
    jn_arm *a = &s->arm;
    unsigned n = a->n_sums;
    for (unsigned i = 0; i < a->n_sums; i++) {
        uint32_t number = jn_number(&s->num, a->sums[i]);
        bool sure =
            !jn_value_is_none(s->before[number]) && jn_value_is_none(s->before_flag[number]);
        jn_value flag = jn_value_is_none(s->flag[number]) ? a->when : out[n++];
        s->ct[number] = out[i];
        s->inside[number] = false;
        s->flag[number] = JN_VALUE_NONE;
        if (!sure)
            JN_TRY(jn_presence_or(s, s->before_flag[number], flag, &s->flag[number]));
    }
    return JANUS_OK;
}

janus_status jn_arm_close(jn_sweep *s) {
    jn_arm *a = &s->arm;
    s->g = s->home;
    if (!a->sub)
        return JANUS_OK;
    jn_value *likes = jn_diff_alloc(s->d, s->num.n_values, sizeof *likes);
    if (!likes)
        return JN_NO_MEMORY();
    JN_TRY(settle(s, likes));
    unsigned n = 0, n_in = a->n_outer + 1;
    jn_value *v = jn_diff_alloc(s->d, n_in, sizeof *v);
    jn_value *out = jn_diff_alloc(s->d, 2 * (size_t)a->n_sums, sizeof *out);
    if (!v || !out)
        return JN_NO_MEMORY();
    jn_subgraph *arms[2] = {a->sub, NULL};
    for (unsigned i = 0; i < a->n_sums; i++)
        out[n++] = s->ct[jn_number(&s->num, a->sums[i])];
    for (unsigned i = 0; i < a->n_sums; i++)
        if (!jn_value_is_none(s->flag[jn_number(&s->num, a->sums[i])]))
            out[n++] = s->flag[jn_number(&s->num, a->sums[i])];
    JN_TRY(other_arm(s, likes, &arms[1]));
    JN_TRY(define(s, a->sub, out, n));
    v[0] = a->when;
    if (a->n_outer)
        memcpy(v + 1, a->outer, a->n_outer * sizeof *v);
    JN_TRY(jn_build(s->g, s->d->ops.if_, v, n_in, NULL, arms, s->loc, out, n));
    JN_TRY(take_results(s, out));
    a->sub = NULL;
    return JANUS_OK;
}
