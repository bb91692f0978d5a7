/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entry points of the differentiation, and one derivation from declaration to results.
 *
 * A SubGraph is derived once per key: which cotangents arrive, which parameters are asked for,
 * which records come with the frame.  It is declared before its body is swept, so a call inside the
 * recursion finds it; only then must its result types be guessed first (autodiff_reach.c).
 */
#include "config.h"

#include "graph/autodiff/autodiff.h"

#include <stdio.h>
#include <string.h>

#include "graph/autodiff/internal.h"

/* A gradient of itself inside a recursion would need ever higher orders. */
enum { MAX_ORDER = 16 };

static janus_status diff_init(jn_diff *d, janus_module *m) {
    memset(d, 0, sizeof *d);
    d->m = m;
    jn_arena_init(&d->tmp, 0);
    if (m->frozen)
        return jn_error(JANUS_INVALID_ARGUMENT, "the module is frozen: differentiate it before");
    const struct {
        const char *name;
        const jn_op **op;
    } wanted[] = {
        {"none", &d->ops.none},
        {"add", &d->ops.add},
        {"full_like", &d->ops.full_like},
        {"reshape_like", &d->ops.reshape_like},
        {"frame.get", &d->ops.frame_get},
        {"acc.new", &d->ops.acc_new},
        {"acc.add", &d->ops.acc_add},
        {"acc.get", &d->ops.acc_get},
        {"slice", &d->ops.slice},
        {"select", &d->ops.select},
        {"unsqueeze", &d->ops.unsqueeze},
        {"slice_scatter", &d->ops.slice_scatter},
        {"concat", &d->ops.concat},
        {"acc.used", &d->ops.acc_used},
        {"s.and", &d->ops.s_and},
        {"s.or", &d->ops.s_or},
        {"s.not", &d->ops.s_not},
        {"full", &d->ops.full},
        {"if", &d->ops.if_},
        {"invoke", &d->ops.invoke},
        {"if.grad", &d->ops.if_grad},
        {"while.grad", &d->ops.while_grad},
        {"foreach.grad", &d->ops.foreach_grad},
        {"wire.put", &d->ops.wire_put},
        {"wire.read", &d->ops.wire_read},
        {"wire.has", &d->ops.wire_has},
        {"wire.take", &d->ops.wire_take},
        {"wire.set", &d->ops.wire_set},
        {"wire.mark", &d->ops.wire_mark},
        {"rows.put", &d->ops.rows_put},
        {"rows.read", &d->ops.rows_read},
        {"rows.mark", &d->ops.rows_mark},
        {"rows.take", &d->ops.rows_take},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        *wanted[i].op = jn_op_find(wanted[i].name, strlen(wanted[i].name));
        if (!*wanted[i].op)
            return jn_error(JANUS_INTERNAL, "the op table has no %s", wanted[i].name);
    }
    return jn_wires_find(d);
}

/* ---- derivations -------------------------------------------------------------------------------
 */

static bool same_records(const jn_deriv *a, const jn_deriv *b) {
    if (a->n_records != b->n_records)
        return false;
    for (unsigned i = 0; i < a->n_records; i++)
        if (a->records[i].sub[0] != b->records[i].sub[0] ||
            a->records[i].param != b->records[i].param)
            return false;
    return true;
}

static bool same_bools(const bool *a, const bool *b, size_t n) {
    return !a == !b && (!a || memcmp(a, b, n) == 0);
}

static jn_deriv *find_deriv(const jn_deriv *key) {
    const jn_subgraph *f = key->f;
    size_t n_params = f->params.n, n_arriving = f->result_types.n + n_params;
    for (jn_deriv *v = f->derivs; v; v = v->next)
        if (memcmp(v->arriving, key->arriving, n_arriving) == 0 &&
            memcmp(v->want, key->want, n_params) == 0 && !v->sums == !key->sums &&
            (!v->sums || memcmp(v->sums, key->sums, n_params) == 0) && !v->outs == !key->outs &&
            (!v->outs || memcmp(v->outs, key->outs, n_params) == 0) &&
            v->presence == key->presence && same_bools(v->flags, key->flags, n_params) &&
            same_bools(v->unsure, key->unsure, f->result_types.n) && same_records(v, key))
            return v;
    return NULL;
}

/* Whether parameter p of f has a result in the derived SubGraph. */
static bool has_result(const jn_deriv *v, size_t p) {
    const jn_param *param = &v->f->params.data[p];
    if (v->outs)
        return v->outs[p];
    return !param->shared && jn_differentiable(param->type);
}

/* Sets g's result types: those of the parameters, none where `present` is false. */
static janus_status set_types(jn_diff *d, jn_deriv *v, const bool *present, unsigned n_bools) {
    size_t n = v->f->params.n;
    unsigned at = 0;
    jn_type none = {.kind = JANUS_KIND_NONE};
    jn_type truth = {.kind = JANUS_KIND_BOOL};
    const jn_type *none_type = jn_type_intern(d->m, &none),
                  *bool_type = jn_type_intern(d->m, &truth);
    const jn_type **types = jn_diff_alloc(d, n + n_bools, sizeof *types);
    if (!types || !none_type || !bool_type)
        return JN_NO_MEMORY();
    for (size_t p = 0; p < n; p++)
        if (has_result(v, p))
            types[at++] = v->outs || present[p] || (v->sums && v->sums[p])
                              ? v->f->params.data[p].type
                              : none_type;
    while (n_bools--)
        types[at++] = bool_type;
    v->typed = true;
    return jn_subgraph_set_result_types(v->g, types, at);
}

static janus_status add_param(jn_subgraph *g, const char *prefix, unsigned i, const jn_type *t,
                              bool shared, jn_value *out) {
    char name[32];
    snprintf(name, sizeof name, "%s%u", prefix, i);
    return jn_subgraph_add_param(g, name, t, shared, out);
}

static janus_status frame_type(janus_module *m, const jn_subgraph *f, const jn_type **out) {
    jn_type t = {.kind = JANUS_KIND_FRAME, .frame_of = f};
    *out = jn_type_intern(m, &t);
    return *out ? JANUS_OK : JN_NO_MEMORY();
}

/* Parameters: frame, cotangents, whether they are there, sums so far, records, accumulators,
 * cotangents of accumulators. */
static janus_status add_params(jn_sweep *s, jn_deriv *v, jn_value *records) {
    jn_subgraph *f = s->f, *g = s->g;
    const jn_type *t;
    size_t n_results = f->result_types.n;
    jn_value *d = jn_diff_alloc(s->d, n_results, sizeof *d);
    if (!d)
        return JN_NO_MEMORY();
    JN_TRY(frame_type(s->d->m, f, &t));
    JN_TRY(jn_subgraph_add_param(g, "t", t, false, &s->frame));
    for (size_t i = 0; i < n_results; i++) {
        if (!v->arriving[i])
            continue;
        JN_TRY(add_param(g, "d", (unsigned)i, f->result_types.data[i], false, &d[i]));
    }
    jn_type truth = {.kind = JANUS_KIND_BOOL};
    jn_value *here = jn_diff_alloc(s->d, n_results, sizeof *here);
    const jn_type *bool_type = jn_type_intern(s->d->m, &truth);
    if (!here || !bool_type)
        return JN_NO_MEMORY();
    for (size_t i = 0; i < n_results; i++) {
        here[i] = JN_VALUE_NONE;
        if (v->unsure && v->unsure[i])
            JN_TRY(add_param(g, "h", (unsigned)i, bool_type, false, &here[i]));
    }
    s->sums = v->sums;
    for (size_t p = 0; v->sums && p < f->params.n; p++)
        if (v->sums[p])
            JN_TRY(add_param(g, "c", (unsigned)p, f->params.data[p].type, false, &s->ct[p]));
    for (size_t p = 0; v->sums && p < f->params.n; p++)
        if (v->sums[p] == 2)
            JN_TRY(add_param(g, "f", (unsigned)p, bool_type, false, &s->flag[p]));
    for (unsigned i = 0; i < v->n_records; i++) {
        JN_TRY(frame_type(s->d->m, v->records[i].sub[0], &t));
        JN_TRY(add_param(g, "r", i, t, false, &records[i]));
    }
    for (size_t p = 0; p < f->params.n; p++) {
        const jn_param *param = &f->params.data[p];
        if (!param->shared || !v->want[p] || !jn_differentiable(param->type))
            continue;
        jn_type acc = *param->type;
        acc.kind = JANUS_KIND_ACC;
        t = jn_type_intern(s->d->m, &acc);
        if (!t)
            return JN_NO_MEMORY();
        JN_TRY(add_param(g, "a", (unsigned)p, t, true, &s->acc[p]));
    }
    for (size_t p = 0; p < f->params.n; p++) {
        if (!v->arriving[n_results + p])
            continue;
        jn_type sum = *f->params.data[p].type;
        sum.kind = JANUS_KIND_TENSOR;
        t = jn_type_intern(s->d->m, &sum);
        if (!t)
            return JN_NO_MEMORY();
        JN_TRY(add_param(g, "s", (unsigned)p, t, true, &s->ct[p]));
    }
    /* Only now: a result may be a shared parameter, whose accumulator it is then added to. */
    for (size_t i = 0; i < n_results; i++) {
        s->when = here[i];
        if (v->arriving[i] && !jn_value_is_none(f->results.data[i]))
            JN_TRY(jn_sweep_add(s, f->results.data[i], d[i]));
    }
    s->when = JN_VALUE_NONE;
    return JANUS_OK;
}

/* Members' cotangents, kept by the records, are contributions like those of later uses. */
static janus_status seed_records(jn_sweep *s, const jn_deriv *v, const jn_value *records) {
    for (unsigned i = 0; i < v->n_records; i++) {
        const jn_deriv *from = v->records[i].sub[0]->deriv;
        if (!from || !from->done)
            return jn_error(JANUS_UNSUPPORTED,
                            "@%s: a gradient taken inside the recursion it differentiates",
                            s->f->name);
        for (unsigned k = 0; k < from->n_cts; k++) {
            const jn_frame_ct *ct = &from->cts[k];
            if (ct->param != v->records[i].param)
                continue;
            const jn_saved *member = &s->f->saved.data[ct->member];
            if (!ct->record && !s->active[jn_number(&s->num, member->value)])
                continue;
            jn_value value;
            JN_TRY(jn_sweep_frame_get(s, records[i], ct->index, &value));
            if (!ct->record) {
                JN_TRY(jn_sweep_add(s, member->value, value));
                continue;
            }
            jn_record *r = jn_diff_alloc(s->d, 1, sizeof *r);
            if (!r)
                return JN_NO_MEMORY();
            r->value = value;
            r->type = ct->type;
            jn_record **tail = &s->records[member->value.node];
            while (*tail)
                tail = &(*tail)->next;
            *tail = r;
        }
    }
    return JANUS_OK;
}

/* The type callers see is the parameter's; where inference knows less, the value is told its shape.
 */
static janus_status conform(jn_sweep *s, uint32_t param, jn_value *v) {
    jn_value like = {0, param};
    if (jn_value_is_none(*v))
        return jn_sweep_zeros(s, like, v);
    if (jn_type_fits(jn_value_type(s->g, *v), s->f->params.data[param].type))
        return JANUS_OK;
    jn_value in[2] = {*v, JN_VALUE_NONE};
    JN_TRY(jn_sweep_fetch(s, like, &in[1]));
    return jn_sweep_build(s, s->d->ops.reshape_like, in, 2, v, 1);
}

/* Callers take it to be a gradient on all paths: then it must be one. */
static janus_status check_certain(const jn_sweep *s, const jn_deriv *v, uint32_t p,
                                  const jn_type *t) {
    if (!v->flags || v->flags[p] || t->kind == JANUS_KIND_NONE ||
        (!jn_value_is_none(s->ct[p]) && jn_value_is_none(s->flag[p])))
        return JANUS_OK;
    return jn_error(JANUS_UNSUPPORTED,
                    "@%s: whether parameter %u (%s) gets a gradient is not known", v->f->name, p,
                    v->f->params.data[p].name);
}

static janus_status finish_results(jn_sweep *s, jn_deriv *v) {
    size_t n = s->f->params.n;
    bool *present = jn_diff_alloc(s->d, n, 1);
    jn_value *results = jn_diff_alloc(s->d, 2 * n, sizeof *results);
    if (!present || !results)
        return JN_NO_MEMORY();
    unsigned at = 0, bools = 0;
    for (uint32_t p = 0; p < n; p++)
        at += has_result(v, p);
    if (v->presence)
        JN_TRY(jn_presence_results(s, v, results + at, at, &bools));
    if (!v->typed) {
        for (size_t p = 0; p < n; p++)
            present[p] = !jn_value_is_none(s->ct[p]);
        JN_TRY(set_types(s->d, v, present, bools));
    }
    at = 0;
    for (uint32_t p = 0; p < n; p++) {
        if (!has_result(v, p))
            continue;
        results[at] = s->ct[p];
        JN_TRY(check_certain(s, v, p, s->g->result_types.data[at]));
        if (s->g->result_types.data[at]->kind == JANUS_KIND_NONE)
            JN_TRY(jn_sweep_build(s, s->d->ops.none, NULL, 0, &results[at], 1));
        else
            JN_TRY(conform(s, p, &results[at]));
        at++;
    }
    return jn_subgraph_define(s->g, results, at + bools);
}

static int64_t member_index(const jn_node *n) {
    int64_t index = 0;
    for (const jn_attr_spec *spec = n->op->attrs; spec && spec->name; spec++)
        if (strcmp(spec->name, "index") == 0)
            memcpy(&index, (const char *)n->attrs + spec->offset, sizeof index);
    return index;
}

/* Lists the cotangents of what f read from its frame parameters, and keeps them in g's frame. */
static janus_status finish_frames(jn_sweep *s, jn_deriv *v) {
    JN_VEC(jn_frame_ct) cts = {0};
    janus_status st = JANUS_OK;
    for (uint32_t i = 1; i < s->num.n_nodes; i++) {
        const jn_node *n = s->f->nodes.data[i];
        if (n->op->role != JN_ROLE_SAVED || n->in[0].node != 0)
            continue;
        jn_frame_ct ct = {.param = n->in[0].index, .member = (uint32_t)member_index(n)};
        jn_value sum = s->ct[s->num.first[i]];
        if (!jn_value_is_none(sum)) {
            JN_GO(jn_save_member(s->g, sum, false, &ct.index), out);
            if (!jn_vec_push(&cts, ct))
                goto memory;
        }
        for (const jn_record *r = s->records[i]; r; r = r->next) {
            const jn_node *call = s->g->nodes.data[r->node];
            bool value = call->op->flags & JN_OP_SAVES;
            jn_value frame = {r->node, value ? call->n_out - 1 : 0};
            JN_GO(jn_save_member(s->g, frame, !value, &ct.index), out);
            ct.record = true;
            ct.type = r->type;
            if (!jn_vec_push(&cts, ct))
                goto memory;
        }
    }
    v->n_cts = (unsigned)cts.n;
    v->cts = jn_arena_alloc(&s->d->m->arena, (cts.n + 1) * sizeof *v->cts);
    if (!v->cts)
        goto memory;
    if (cts.n)
        memcpy(v->cts, cts.data, cts.n * sizeof *v->cts);
out:
    jn_vec_free(&cts);
    return st;
memory:
    jn_vec_free(&cts);
    return JN_NO_MEMORY();
}

static void *keep(janus_module *m, const void *p, size_t size) {
    void *copy = jn_arena_alloc(&m->arena, size + 1);
    if (copy && size)
        memcpy(copy, p, size);
    return copy;
}

static janus_status new_deriv(jn_diff *d, const jn_deriv *key, jn_deriv **out) {
    jn_subgraph *f = key->f;
    janus_module *m = d->m;
    size_t n_params = f->params.n, n_arriving = f->result_types.n + n_params;
    jn_deriv *v = jn_arena_zalloc(&m->arena, sizeof *v);
    if (!v)
        return JN_NO_MEMORY();
    v->f = f;
    v->order = f->deriv ? f->deriv->order + 1 : 1;
    if (v->order > MAX_ORDER)
        return jn_error(JANUS_UNSUPPORTED,
                        "@%s: gradients of order %u (a gradient taken inside its own recursion?)",
                        f->name, v->order);
    v->n_records = key->n_records;
    v->presence = key->presence;
    v->arriving = keep(m, key->arriving, n_arriving);
    v->want = keep(m, key->want, n_params);
    v->outs = key->outs ? keep(m, key->outs, n_params) : NULL;
    v->sums = key->sums ? keep(m, key->sums, n_params) : NULL;
    v->flags = key->flags ? keep(m, key->flags, n_params) : NULL;
    v->unsure = key->unsure ? keep(m, key->unsure, f->result_types.n) : NULL;
    v->records = keep(m, key->records, key->n_records * sizeof *key->records);
    if (!v->arriving || !v->want || !v->records || (key->outs && !v->outs) ||
        (key->sums && !v->sums) || (key->flags && !v->flags) || (key->unsure && !v->unsure))
        return JN_NO_MEMORY();
    unsigned n_outs = 0;
    for (size_t p = 0; p < n_params; p++)
        n_outs += has_result(v, p);
    if (v->flags)
        JN_TRY(jn_presence_declare(d, v, n_outs));
    jn_str base = {0};
    const char *name;
    jn_str_printf(&base, "%s.grad", f->name);
    janus_status st = jn_str_ok(&base) ? jn_module_fresh_name(m, base.data, &name) : JN_NO_MEMORY();
    jn_str_free(&base);
    JN_TRY(st);
    JN_TRY(jn_subgraph_declare(m, name, &v->g));
    v->g->primal = f;
    v->g->deriv = v;
    v->next = f->derivs;
    f->derivs = v;
    *out = v;
    return JANUS_OK;
}

janus_status jn_derive(jn_diff *d, const jn_deriv *key, jn_deriv **out) {
    jn_subgraph *f = key->f;
    jn_deriv *v = find_deriv(key);
    if (v) {
        if (!v->typed) {
            const bool *reached;
            JN_TRY(jn_reach_outs(d, f, v->arriving, v->want, v->n_records > 0, &reached));
            unsigned n_bools = 0;
            for (size_t p = 0; v->flags && p < f->params.n; p++)
                n_bools += v->flags[p];
            JN_TRY(set_types(d, v, reached, n_bools));
        }
        *out = v;
        return JANUS_OK;
    }
    if (!f->defined)
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s has no body yet: it cannot be differentiated",
                        f->name);
    JN_TRY(new_deriv(d, key, &v));
    jn_sweep s;
    JN_TRY(jn_sweep_init(&s, d, f, v->g));
    s.presence = v->presence;
    s.acc = jn_diff_alloc(d, f->params.n, sizeof *s.acc);
    jn_value *records = jn_diff_alloc(d, v->n_records, sizeof *records);
    if (!s.acc || !records)
        return JN_NO_MEMORY();
    for (size_t p = 0; p < f->params.n; p++) {
        s.acc[p] = JN_VALUE_NONE;
        s.active[p] = v->want[p];
    }
    JN_TRY(jn_activity_spread(d, f, &s.num, s.active));
    JN_TRY(add_params(&s, v, records));
    JN_TRY(seed_records(&s, v, records));
    JN_TRY(jn_sweep_run(&s, s.num.n_nodes - 1));
    JN_TRY(finish_results(&s, v));
    JN_TRY(finish_frames(&s, v));
    v->done = true;
    *out = v;
    return JANUS_OK;
}

/* ---- entry points ------------------------------------------------------------------------------
 */

static janus_status grad_subgraph(jn_subgraph *f, const bool *arriving, bool presence, bool some,
                                  const uint8_t *sums, jn_deriv **out) {
    jn_diff d;
    jn_deriv key = {.f = f, .presence = presence, .sums = sums};
    janus_status st;
    JN_GO(diff_init(&d, f->module), out);
    size_t n_params = f->params.n, n_results = f->result_types.n;
    bool *bits = jn_diff_alloc(&d, n_results + 2 * n_params, 1);
    if (!bits) {
        st = JN_NO_MEMORY();
        goto out;
    }
    for (size_t i = 0; i < n_results; i++)
        bits[i] = jn_differentiable(f->result_types.data[i]) && (!arriving || arriving[i]);
    key.arriving = bits;
    key.unsure = some ? bits : NULL;
    bits += n_results;
    for (size_t p = 0; p < n_params; p++)
        bits[p] = f->params.data[p].type->kind == JANUS_KIND_ACC;
    bits += n_params;
    for (size_t p = 0; p < n_params; p++)
        bits[p] = jn_differentiable(f->params.data[p].type) ||
                  f->params.data[p].type->kind == JANUS_KIND_FRAME;
    key.want = bits;
    JN_GO(jn_derive(&d, &key, out), out);
out:
    jn_arena_free(&d.tmp);
    return st;
}

janus_status jn_grad_subgraph(jn_subgraph *f, const bool *arriving, jn_subgraph **out_grad) {
    jn_deriv *v;
    JN_TRY(grad_subgraph(f, arriving, false, false, NULL, &v));
    if (!arriving)
        f->grad = v->g;
    *out_grad = v->g;
    return JANUS_OK;
}

janus_status jn_grad_presence(jn_subgraph *f, const bool *arriving, bool some,
                              jn_subgraph **out_grad, const int32_t **out_present) {
    jn_deriv *v;
    JN_TRY(grad_subgraph(f, arriving, true, some, NULL, &v));
    *out_grad = v->g;
    *out_present = v->present;
    return JANUS_OK;
}

janus_status jn_grad_onto(jn_subgraph *f, const bool *arriving, bool some, uint8_t *io_sums,
                          jn_subgraph **out_grad, const int32_t **out_present) {
    jn_deriv *v;
    JN_TRY(grad_subgraph(f, arriving, true, some, NULL, &v));
    unsigned at = 0;
    for (size_t p = 0; p < f->params.n; p++) {
        bool has = has_result(v, p) && v->g->result_types.data[at++]->kind != JANUS_KIND_NONE;
        if (io_sums[p])
            io_sums[p] = !has ? 0 : v->present[p] < 0 ? 1 : 2;
    }
    JN_TRY(grad_subgraph(f, arriving, true, some, io_sums, &v));
    *out_grad = v->g;
    *out_present = v->present;
    return JANUS_OK;
}

static janus_status grad_emit(jn_diff *d, jn_subgraph *g, const jn_value *y, const jn_value *dy,
                              unsigned n_y, const jn_value *x, unsigned n_x, jn_value *out_dx,
                              jn_value *out_present) {
    jn_sweep s;
    uint32_t last = 0;
    JN_TRY(jn_sweep_init(&s, d, g, g));
    s.presence = out_present != NULL;
    for (unsigned i = 0; i < n_x; i++)
        if (!jn_value_is_none(x[i]) && jn_differentiable(jn_value_type(g, x[i])))
            s.active[jn_number(&s.num, x[i])] = true;
    JN_TRY(jn_activity_spread(d, g, &s.num, s.active));
    for (unsigned i = 0; i < n_y; i++) {
        if (jn_value_is_none(dy[i]) || !s.active[jn_number(&s.num, y[i])])
            continue;
        JN_TRY(jn_sweep_add(&s, y[i], dy[i]));
        if (y[i].node > last)
            last = y[i].node;
    }
    JN_TRY(jn_sweep_run(&s, last));
    for (unsigned i = 0; i < n_x; i++) {
        bool none = jn_value_is_none(x[i]);
        out_dx[i] = none ? JN_VALUE_NONE : s.ct[jn_number(&s.num, x[i])];
        if (out_present)
            out_present[i] = none ? JN_VALUE_NONE : s.flag[jn_number(&s.num, x[i])];
    }
    return JANUS_OK;
}

janus_status jn_grad_emit(jn_subgraph *g, const jn_value *y, const jn_value *dy, unsigned n_y,
                          const jn_value *x, unsigned n_x, jn_value *out_dx,
                          jn_value *out_present) {
    jn_diff d;
    janus_status st;
    JN_GO(diff_init(&d, g->module), out);
    JN_GO(grad_emit(&d, g, y, dy, n_y, x, n_x, out_dx, out_present), out);
out:
    jn_arena_free(&d.tmp);
    return st;
}
