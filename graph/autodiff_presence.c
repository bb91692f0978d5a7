/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a value gets a gradient, where the graph's control decides that.
 *
 * An arm that does not use a value gives it no gradient, which is not a gradient of zeros: a leaf's
 * .grad stays None, and zeros times an infinite derivative would be NaN.  What an `if` hands back
 * is therefore a cotangent and a bool; where the bool is false the cotangent, and all that is
 * computed of it alone, means nothing.  Sums select by the bools, so that nothing of it gets
 * further than the next sum.  Loops and recursions add to accumulators instead (acc.used).
 */
#include "config.h"

#include "graph/autodiff_internal.h"
#include "graph/graph_internal.h"

#include <string.h>

static janus_status truth(jn_sweep *s, bool v, jn_value *out) {
    return jn_build_scalar(s->g, JANUS_KIND_BOOL, (janus_scalar){.i = v}, s->loc, out);
}

/* A tensor without dims that holds the bool. */
static janus_status as_tensor(jn_sweep *s, jn_value flag, jn_value *out) {
    const jn_op *op = s->d->ops.full;
    void *attrs = jn_diff_alloc(s->d, 1, op->attr_size);
    if (!attrs)
        return JN_NO_MEMORY();
    JN_TRY(jn_attrs_default(op, attrs));
    const jn_attr_spec *spec = jn_attr_find(op, "dtype", sizeof "dtype" - 1);
    uint8_t dtype = JANUS_BOOL;
    memcpy((char *)attrs + spec->offset, &dtype, sizeof dtype);
    return jn_build(s->g, op, &flag, 1, attrs, NULL, s->loc, out, 1);
}

/* *io = flag ? *io : other. */
static janus_status choose(jn_sweep *s, jn_value flag, jn_value *io, jn_value other) {
    jn_value in[3] = {JN_VALUE_NONE, *io, other};
    if (jn_value_is_none(flag))
        return JANUS_OK;
    JN_TRY(as_tensor(s, flag, &in[0]));
    return jn_sweep_build(s, s->d->ops.where, in, 3, io, 1);
}

janus_status jn_presence_and(jn_sweep *s, jn_value a, jn_value b, jn_value *out) {
    jn_value in[2] = {a, b};
    *out = jn_value_is_none(a) ? b : a;
    if (jn_value_is_none(a) || jn_value_is_none(b) || jn_value_equal(a, b))
        return JANUS_OK;
    return jn_sweep_build(s, s->d->ops.s_and, in, 2, out, 1);
}

static janus_status either(jn_sweep *s, jn_value a, jn_value b, jn_value *out) {
    jn_value in[2] = {a, b};
    *out = a;
    if (jn_value_equal(a, b))
        return JANUS_OK;
    return jn_sweep_build(s, s->d->ops.s_or, in, 2, out, 1);
}

janus_status jn_presence_sum(jn_sweep *s, jn_value *io_sum, jn_value *io_flag, jn_value more) {
    jn_value in[2] = {*io_sum, more}, sum;
    bool same = jn_value_equal(*io_flag, s->when);
    JN_TRY(jn_sweep_build(s, s->d->ops.add, in, 2, &sum, 1));
    if (!same) {
        JN_TRY(choose(s, s->when, &sum, in[0]));
        JN_TRY(choose(s, *io_flag, &sum, in[1]));
    }
    *io_sum = sum;
    if (jn_value_is_none(*io_flag) || jn_value_is_none(s->when))
        *io_flag = JN_VALUE_NONE;
    else
        JN_TRY(either(s, *io_flag, s->when, io_flag));
    return JANUS_OK;
}

/* An arm that adds its parameter to an accumulator, or does nothing. */
static janus_status adder(jn_sweep *s, jn_value acc, jn_value x, bool adds, jn_subgraph **out) {
    const char *name;
    jn_value in[2];
    JN_TRY(jn_module_fresh_name(s->d->m, adds ? "adds" : "adds_not", &name));
    JN_TRY(jn_subgraph_declare(s->d->m, name, out));
    JN_TRY(jn_subgraph_add_param(*out, "x", jn_value_type(s->g, x), false, &in[1]));
    JN_TRY(jn_subgraph_add_param(*out, "acc", jn_value_type(s->g, acc), true, &in[0]));
    JN_TRY(jn_subgraph_set_result_types(*out, NULL, 0));
    if (adds)
        JN_TRY(jn_build(*out, s->d->ops.acc_add, in, 2, NULL, NULL, s->loc, NULL, 0));
    return jn_subgraph_define(*out, NULL, 0);
}

janus_status jn_presence_acc_add(jn_sweep *s, jn_value acc, jn_value more) {
    jn_value in[3] = {acc, more};
    if (jn_value_is_none(s->when))
        return jn_sweep_build(s, s->d->ops.acc_add, in, 2, NULL, 0);
    jn_subgraph *arms[2];
    JN_TRY(adder(s, acc, more, true, &arms[0]));
    JN_TRY(adder(s, acc, more, false, &arms[1]));
    in[0] = s->when;
    in[2] = acc;
    return jn_build(s->g, s->d->ops.if_, in, 3, NULL, arms, s->loc, NULL, 0);
}

janus_status jn_presence_of(jn_sweep *s, const jn_node *n, jn_value *out) {
    bool any = false;
    *out = JN_VALUE_NONE;
    for (uint32_t k = 0; k < n->n_out && s->presence; k++) {
        uint32_t i = s->num.first[n->id] + k;
        if (jn_value_is_none(s->ct[i]))
            continue;
        if (jn_value_is_none(s->flag[i])) {
            *out = JN_VALUE_NONE;
            return JANUS_OK;
        }
        if (any)
            JN_TRY(either(s, *out, s->flag[i], out));
        else
            *out = s->flag[i];
        any = true;
    }
    return JANUS_OK;
}

janus_status jn_presence_results(jn_sweep *s, jn_deriv *v, jn_value *results, unsigned *io_n) {
    size_t n = v->f->params.n;
    v->present = jn_arena_alloc(&s->d->m->arena, (n + 1) * sizeof *v->present);
    if (!v->present)
        return JN_NO_MEMORY();
    v->n_outs = 0;
    for (size_t p = 0; p < n; p++)
        v->n_outs +=
            v->outs ? v->outs[p]
                    : !v->f->params.data[p].shared && jn_differentiable(v->f->params.data[p].type);
    for (size_t p = 0; p < n; p++) {
        bool certain = !v->outs || !jn_value_is_none(s->ct[p]);
        jn_value flag = s->flag[p];
        v->present[p] = -1;
        if (v->outs ? !v->outs[p] : jn_value_is_none(flag))
            continue;
        if (!certain || !jn_value_is_none(flag))
            v->present[p] = (int32_t)(v->n_outs + *io_n);
        if (jn_value_is_none(flag))
            JN_TRY(truth(s, certain, &flag));
        results[(*io_n)++] = flag;
    }
    return JANUS_OK;
}
