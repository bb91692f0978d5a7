/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a value gets a gradient, where the graph's control decides that.
 *
 * An arm that does not use a value gives it no gradient, which is not a gradient of zeros: a leaf's
 * .grad stays None, and zeros times an infinite derivative would be NaN.  So beside a cotangent
 * that is not certain goes a bool, out of arms, recursions and loops and through the rounds of
 * loops.  Where it is false the cotangent is zeros: it can be added and handed on like any other;
 * what would be computed of it is not (autodiff_arm.c).  Sums of a recursion's shared parameters
 * know themselves whether anything was added (acc.used).
 */
#include "config.h"

#include "graph/autodiff/internal.h"
#include "graph/ir/ir.h"

janus_status jn_presence_and(jn_sweep *s, jn_value a, jn_value b, jn_value *out) {
    jn_value in[2] = {a, b};
    *out = jn_value_is_none(a) ? b : a;
    if (jn_value_is_none(a) || jn_value_is_none(b) || jn_value_equal(a, b))
        return JANUS_OK;
    return jn_sweep_build(s, s->d->ops.s_and, in, 2, out, 1);
}

janus_status jn_presence_or(jn_sweep *s, jn_value a, jn_value b, jn_value *out) {
    jn_value in[2] = {a, b};
    *out = jn_value_is_none(a) ? b : a;
    if (jn_value_is_none(a) || jn_value_is_none(b) || jn_value_equal(a, b))
        return JANUS_OK;
    return jn_sweep_build(s, s->d->ops.s_or, in, 2, out, 1);
}

janus_status jn_presence_not(jn_sweep *s, jn_value a, jn_value *out) {
    return jn_sweep_build(s, s->d->ops.s_not, &a, 1, out, 1);
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

janus_status jn_presence_declare(jn_diff *d, jn_deriv *v, unsigned n_outs) {
    size_t n = v->f->params.n;
    v->present = jn_arena_alloc(&d->m->arena, (n + 1) * sizeof *v->present);
    if (!v->present)
        return JN_NO_MEMORY();
    for (size_t p = 0; p < n; p++)
        v->present[p] = v->flags && v->flags[p] ? (int32_t)n_outs++ : -1;
    return JANUS_OK;
}

janus_status jn_presence_results(jn_sweep *s, jn_deriv *v, jn_value *results, unsigned n_outs,
                                 unsigned *out_n) {
    size_t n = v->f->params.n;
    *out_n = 0;
    if (!v->flags)
        JN_TRY(jn_presence_declare(s->d, v, n_outs));
    for (size_t p = 0; p < n; p++) {
        jn_value flag = s->flag[p];
        if (v->flags ? !v->flags[p] : jn_value_is_none(flag))
            continue;
        if (!v->flags)
            v->present[p] = (int32_t)(n_outs + *out_n);
        if (jn_value_is_none(flag))
            JN_TRY(jn_build_scalar(s->g, JANUS_KIND_BOOL,
                                   (janus_scalar){.i = !jn_value_is_none(s->ct[p])}, s->loc,
                                   &flag));
        results[(*out_n)++] = flag;
    }
    return JANUS_OK;
}
