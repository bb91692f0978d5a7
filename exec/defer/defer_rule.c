/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient rule of a kind of call, written down (exec/defer/defer_write.h).
 *
 * What it emits for calls of one kind is the same for all of them.  A gradient that is summed ends
 * in an acc.add, which the product or sum before it may do itself (JN_OP_ADDS), as in segments of
 * graphs.
 */
#include "config.h"

#include "exec/defer/defer_rule.h"

#include "graph/base/status.h"

/* Operand or result i of the call as the rule may see it. */
static janus_status visible(jn_writer *w, const jn_grad_rule *r, const jn_call_kind *kind,
                            unsigned i, const jn_type *type, jn_ev *out) {
    const jn_operand_kind *o = i < kind->recipe.n_in ? &kind->in[i] : NULL;
    bool saved = r->key.saved >> i & 1;
    *out = JN_EV_NONE;
    if (type->kind == JANUS_KIND_NONE)
        return JANUS_OK;
    if (type->kind == JANUS_KIND_TENSOR)
        return jn_writer_input(w, type, (jn_grad_source){saved ? JN_GRAD_VALUE : JN_GRAD_TYPE, i},
                               out);
    if (!saved)
        return jn_error(JANUS_UNSUPPORTED, "a scalar that was not kept");
    jn_segscalar s = {.slot = JN_NO_SLOT,
                      .kind = type->kind,
                      .is_const = o && o->from == JN_FROM_CONST,
                      .value = o ? (int64_t)o->cell : 0};
    return jn_writer_scalar(w, s, i, out);
}

/* Outputs are results of nodes, each once; values[o] is output o so far. */
static janus_status add_output(jn_writer *w, jn_grad_rule *r, unsigned i, jn_ev v, jn_ev *values) {
    const jn_written *k = jn_writer_of(w, v);
    if (k->is_input) {
        r->din[i] = (jn_grad_din){k->from.from, (uint8_t)k->from.index, true};
        return k->from.from == JN_GRAD_TYPE ? jn_error(JANUS_UNSUPPORTED, "no elements") : JANUS_OK;
    }
    r->din[i].from = JN_GRAD_OUTPUT;
    for (uint32_t o = 0; o < w->outputs.n; o++)
        if (values[o].bits == v.bits) {
            r->din[i].index = (uint8_t)o;
            for (unsigned j = 0; j <= i; j++)
                r->din[j].shared |= r->din[j].from == JN_GRAD_OUTPUT && r->din[j].index == o;
            return JANUS_OK;
        }
    uint32_t index;
    values[w->outputs.n] = v;
    JN_TRY(jn_writer_output(w, v, &index));
    r->din[i].index = (uint8_t)index;
    return JANUS_OK;
}

/* What becomes of the gradients. */
static janus_status finish(jn_writer *w, jn_grad_rule *r, const jn_ev *din, const jn_type *types) {
    jn_ev values[JN_RECIPE_IN];
    for (unsigned i = 0; i < r->n_in; i++) {
        bool row = r->key.row >> i & 1, sum = r->key.sum >> i & 1;
        if (jn_ev_is_none(din[i]) || !(row || sum))
            continue;
        const jn_type *t = &jn_writer_of(w, din[i])->type;
        if (!jn_type_same_tensor(t, &types[i]) || !jn_type_summable(t))
            return jn_error(JANUS_UNSUPPORTED, "a gradient of another type");
        if (row) {
            JN_TRY(add_output(w, r, i, din[i], values));
            continue;
        }
        r->din[i].from = JN_GRAD_ADDED;
        r->acc_operand[r->seg.n_accs] = (uint8_t)i;
        JN_TRY(jn_writer_add_to(w, din[i], r->seg.n_accs++));
    }
    jn_writer_fuse_sums(w);
    return JANUS_OK;
}

static janus_status write(jn_writer *w, jn_grad_rule *r, const jn_call_kind *k,
                          const jn_type *types, jn_planset *set) {
    unsigned n_in = k->recipe.n_in, n_out = k->recipe.n_out;
    jn_ev value[JN_GRAD_VALUES], given[JN_RECIPE_OUT], din[JN_RECIPE_IN];
    bool want[JN_RECIPE_IN];
    for (unsigned i = 0; i < n_in + n_out; i++)
        JN_TRY(visible(w, r, k, i, &types[i], &value[i]));
    for (unsigned i = 0; i < n_out; i++) {
        given[i] = JN_EV_NONE;
        if (r->key.given >> i & 1)
            JN_TRY(jn_writer_input(w, &types[n_in + i], (jn_grad_source){JN_GRAD_GIVEN, i},
                                   &given[i]));
    }
    for (unsigned i = 0; i < n_in; i++) {
        din[i] = JN_EV_NONE;
        want[i] = (r->key.row | r->key.sum) >> i & 1;
    }
    const jn_op *op = k->recipe.op;
    jn_grad g = {
        &w->base, op, op->attr_size ? k->attrs : NULL, n_in, n_out, value, value + n_in, given,
        want,     din};
    JN_TRY(op->grad(&g));
    JN_TRY(finish(w, r, din, types));
    return jn_writer_end(w, set, &r->input, &r->scalar, &r->inst);
}

jn_grad_rule *jn_grad_rule_new(jn_call_kind *k, const jn_grad_key *key, const jn_type *types,
                               jn_planset *set) {
    jn_grad_rule *r = jn_arena_zalloc(&k->arena, sizeof *r);
    if (!r)
        return NULL;
    r->key = *key;
    r->n_in = k->recipe.n_in;
    jn_writer w;
    r->alone = jn_writer_init(&w, &r->seg, &k->arena, k->recipe.op) != JANUS_OK ||
               write(&w, r, k, types, set) != JANUS_OK;
    jn_writer_free(&w);
    return r;
}
