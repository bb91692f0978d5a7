/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reverse sweep: from the last node of a body to the first, each node's cotangents are handed
 * to the op's gradient rule and what comes back is added to the cotangents of its operands.
 *
 * A rule sees primal operands and results as references that become nodes of the gradient only when
 * the rule uses them in an op; so exactly the values read are kept in the frame.  A contribution to
 * a shared parameter goes to its accumulator at once, one acc.add each: the executor turns those
 * into one operation over all frames.
 */
#include "config.h"

#include "graph/autodiff/internal.h"

#include <string.h>

static const uint64_t PRIMAL_BIT = UINT64_C(1) << 63;

static jn_ev primal_ev(jn_value v) {
    jn_ev e = jn_ev_of_value(v);
    if (!jn_ev_is_none(e))
        e.bits |= PRIMAL_BIT;
    return e;
}

static jn_value ev_value(jn_ev e) { return jn_value_of_ev((jn_ev){e.bits & ~PRIMAL_BIT}); }

/* ---- members -----------------------------------------------------------------------------------
 */

janus_status jn_save_member(jn_subgraph *f, jn_value v, bool frame, uint32_t *out_index) {
    for (size_t i = 0; i < f->saved.n; i++)
        if (f->saved.data[i].frame == frame && jn_value_equal(f->saved.data[i].value, v)) {
            *out_index = (uint32_t)i;
            return JANUS_OK;
        }
    if (!jn_vec_push(&f->saved, ((jn_saved){v, frame})))
        return JN_NO_MEMORY();
    *out_index = (uint32_t)(f->saved.n - 1);
    return JANUS_OK;
}

janus_status jn_sweep_build(jn_sweep *s, const jn_op *op, const jn_value *in, unsigned n_in,
                            jn_value *out, unsigned n_out) {
    return jn_build(s->g, op, in, n_in, NULL, NULL, s->loc, out, n_out);
}

janus_status jn_sweep_frame_get(jn_sweep *s, jn_value frame, uint32_t index, jn_value *out) {
    const jn_op *op = s->d->ops.frame_get;
    void *attrs = jn_diff_alloc(s->d, 1, op->attr_size);
    if (!attrs)
        return JN_NO_MEMORY();
    JN_TRY(jn_attrs_default(op, attrs));
    int64_t value = index;
    for (const jn_attr_spec *spec = op->attrs; spec && spec->name; spec++)
        if (strcmp(spec->name, "index") == 0)
            memcpy((char *)attrs + spec->offset, &value, sizeof value);
    return jn_build(s->g, op, &frame, 1, attrs, NULL, s->loc, out, 1);
}

static janus_status fetch_kept(jn_sweep *s, jn_value v, jn_value *known) {
    const jn_node *n = jn_value_node(s->f, v);
    uint32_t index;
    if (n->op && n->op->role == JN_ROLE_CONST && n->n_in == 0)
        return jn_build(s->g, n->op, NULL, 0, n->attrs, NULL, s->loc, known, 1);
    JN_TRY(jn_save_member(s->f, v, false, &index));
    return jn_sweep_frame_get(s, s->frame, index, known);
}

/* Whether a gradient computes the node again instead of having its results kept.  What is drawn is
 * kept, and so is what lives as long as the frame anyway: results, and arguments of calls.  Where
 * gradients are rounded as by the tape, a view is made again, since frames keep no strides. */
static bool computed_again(const jn_sweep *s, uint32_t node) {
    const jn_node *n = s->f->nodes.data[node];
    if (s->d->m->running_sums && jn_is_view(n))
        return true;
    return s->f->checkpoint && n->op && n->op->role == JN_ROLE_COMPUTE && n->n_out > 0 &&
           n->out[0]->kind == JANUS_KIND_TENSOR && n->n_in > 0 && !s->lasting[node];
}

static janus_status find_lasting(jn_sweep *s) {
    const jn_subgraph *f = s->f;
    s->lasting = jn_diff_alloc(s->d, f->nodes.n, sizeof *s->lasting);
    if (!s->lasting)
        return JN_NO_MEMORY();
    for (size_t i = 0; i < f->results.n; i++)
        if (!jn_value_is_none(f->results.data[i]))
            s->lasting[f->results.data[i].node] = true;
    for (size_t i = 1; i < f->nodes.n; i++)
        for (uint32_t k = 0; jn_is_call(f->nodes.data[i]) && k < f->nodes.data[i]->n_in; k++)
            if (!jn_value_is_none(f->nodes.data[i]->in[k]))
                s->lasting[f->nodes.data[i]->in[k].node] = true;
    return JANUS_OK;
}

/* Node `i` again, in g; its operands are there. */
static janus_status compute_again(jn_sweep *s, uint32_t i) {
    const jn_node *n = s->f->nodes.data[i];
    jn_value *in = jn_diff_alloc(s->d, n->n_in + n->n_out, sizeof *in);
    if (!in)
        return JN_NO_MEMORY();
    for (uint32_t k = 0; k < n->n_in; k++)
        in[k] = jn_value_is_none(n->in[k]) ? n->in[k] : s->fetched[jn_number(&s->num, n->in[k])];
    JN_TRY(jn_build(s->g, n->op, in, n->n_in, n->attrs, NULL, n->loc, in + n->n_in, n->n_out));
    for (uint32_t k = 0; k < n->n_out; k++)
        s->fetched[s->num.first[i] + k] = in[n->n_in + k];
    ((jn_node *)jn_value_node(s->g, in[n->n_in]))->again = true;
    return JANUS_OK;
}

/* All that v is computed from and that is not in g yet, in program order. */
static janus_status fetch_again(jn_sweep *s, jn_value v) {
    bool *wanted = jn_diff_alloc(s->d, v.node + 1, sizeof *wanted);
    if (!wanted)
        return JN_NO_MEMORY();
    wanted[v.node] = true;
    uint32_t first = v.node;
    for (uint32_t i = v.node, open = 1; open > 0; i--) {
        if (!wanted[i])
            continue;
        const jn_node *n = s->f->nodes.data[i];
        open--;
        first = i;
        for (uint32_t k = 0; k < n->n_in; k++) {
            if (jn_value_is_none(n->in[k]))
                continue;
            jn_value *known = &s->fetched[jn_number(&s->num, n->in[k])];
            if (!jn_value_is_none(*known) || wanted[n->in[k].node])
                continue;
            if (!computed_again(s, n->in[k].node)) {
                JN_TRY(fetch_kept(s, n->in[k], known));
                continue;
            }
            wanted[n->in[k].node] = true;
            open++;
        }
    }
    for (uint32_t i = first; i <= v.node; i++)
        if (wanted[i])
            JN_TRY(compute_again(s, i));
    return JANUS_OK;
}

janus_status jn_sweep_fetch(jn_sweep *s, jn_value v, jn_value *out) {
    jn_subgraph *g = s->g;
    if (s->f == s->home)
        return jn_arm_read(s, v, out);
    jn_value *known = &s->fetched[jn_number(&s->num, v)];
    s->g = s->home;
    if (jn_value_is_none(*known) && s->f->checkpoint && !s->lasting)
        JN_TRY(find_lasting(s));
    if (jn_value_is_none(*known))
        JN_TRY(computed_again(s, v.node) ? fetch_again(s, v) : fetch_kept(s, v, known));
    s->g = g;
    return jn_arm_read(s, *known, out);
}

/* ---- the emitter that rules see ----------------------------------------------------------------
 */

static janus_status sweep_emit(jn_emitter *e, const jn_op *op, const jn_ev *in, unsigned n_in,
                               const void *attrs, jn_ev *out, unsigned n_out) {
    jn_sweep *s = (jn_sweep *)e;
    jn_value *values = jn_diff_alloc(s->d, n_in + n_out, sizeof *values);
    if (!values)
        return JN_NO_MEMORY();
    for (unsigned i = 0; i < n_in; i++) {
        values[i] = ev_value(in[i]);
        for (uint32_t k = 0; s->marks && in[i].bits & PRIMAL_BIT && k < s->rule->n_in && k < 64;
             k++)
            if (jn_value_equal(s->rule->in[k], values[i]) &&
                s->rule->op->save >> (k < 15 ? k : 15) & 1)
                s->read |= (uint64_t)1 << k;
        if (in[i].bits & PRIMAL_BIT)
            JN_TRY(jn_sweep_fetch(s, values[i], &values[i]));
    }
    JN_TRY(jn_build(s->g, op, values, n_in, attrs, NULL, s->loc, values + n_in, n_out));
    for (unsigned i = 0; i < n_out; i++)
        out[i] = jn_ev_of_value(values[n_in + i]);
    return JANUS_OK;
}

static janus_status sweep_scalar(jn_emitter *e, janus_kind kind, janus_scalar v, jn_ev *out) {
    jn_sweep *s = (jn_sweep *)e;
    jn_value value;
    JN_TRY(jn_build_scalar(s->g, kind, v, s->loc, &value));
    *out = jn_ev_of_value(value);
    return JANUS_OK;
}

static const jn_type *sweep_type(jn_emitter *e, jn_ev v) {
    jn_sweep *s = (jn_sweep *)e;
    if (jn_ev_is_none(v))
        return NULL;
    return jn_value_type(v.bits & PRIMAL_BIT ? s->f : s->g, ev_value(v));
}

static const jn_emitter_ops sweep_ops = {sweep_emit, sweep_scalar, sweep_type};

/* ---- sums --------------------------------------------------------------------------------------
 */

janus_status jn_sweep_zeros(jn_sweep *s, jn_value like, jn_value *out) {
    jn_value in[2];
    JN_TRY(jn_build_scalar(s->g, JANUS_KIND_FLOAT, (janus_scalar){.f = 0.0}, s->loc, &in[0]));
    JN_TRY(jn_sweep_fetch(s, like, &in[1]));
    return jn_sweep_build(s, s->d->ops.full_like, in, 2, out, 1);
}

static jn_value accumulator(const jn_sweep *s, jn_value v) {
    return v.node == 0 && s->acc && !jn_value_is_none(s->acc[v.index])
               ? s->acc[v.index]
               : s->open[jn_number(&s->num, v)];
}

/* Of the body around: an arm adds to it, too. */
static janus_status open_sum(jn_sweep *s, jn_value v, jn_value *out_acc) {
    uint32_t i = jn_number(&s->num, v);
    jn_value like;
    JN_TRY(jn_sweep_fetch(s, v, &like));
    JN_TRY(jn_sweep_build(s, s->d->ops.acc_new, &like, 1, out_acc, 1));
    s->open[i] = *out_acc;
    jn_value before = s->ct[i], when = s->when;
    s->ct[i] = JN_VALUE_NONE;
    s->when = s->flag[i];
    s->flag[i] = JN_VALUE_NONE;
    janus_status st = jn_value_is_none(before) ? JANUS_OK : jn_sweep_add(s, v, before);
    s->when = when;
    return st;
}

janus_status jn_sweep_open(jn_sweep *s, jn_value v, jn_value *out_acc) {
    jn_subgraph *g = s->g;
    JN_TRY(jn_sweep_join(s, v));
    *out_acc = accumulator(s, v);
    s->g = s->home;
    if (jn_value_is_none(*out_acc))
        JN_TRY(open_sum(s, v, out_acc));
    s->g = g;
    return jn_arm_in(s, *out_acc, out_acc);
}

janus_status jn_sweep_close(jn_sweep *s, uint32_t n, uint32_t n_out) {
    for (uint32_t k = 0; k < n_out; k++) {
        uint32_t i = s->num.first[n] + k;
        JN_TRY(jn_sweep_join(s, (jn_value){n, k}));
        if (jn_value_is_none(s->open[i]))
            continue;
        JN_TRY(jn_arm_close(s));
        if (s->presence && !s->used[i])
            JN_TRY(jn_sweep_build(s, s->d->ops.acc_used, &s->open[i], 1, &s->flag[i], 1));
        JN_TRY(jn_sweep_build(s, s->d->ops.acc_get, &s->open[i], 1, &s->ct[i], 1));
        s->open[i] = JN_VALUE_NONE;
    }
    return JANUS_OK;
}

janus_status jn_sweep_add(jn_sweep *s, jn_value v, jn_value contribution) {
    JN_TRY(jn_sweep_join(s, v));
    uint32_t i = jn_number(&s->num, v);
    jn_value acc = accumulator(s, v);
    if (!jn_value_is_none(acc)) {
        s->used[i] = s->used[i] || (!jn_in_arm(s) && jn_value_is_none(s->when));
        JN_TRY(jn_arm_in(s, acc, &acc));
        return jn_presence_acc_add(s, acc, contribution);
    }
    bool first = jn_in_arm(s) ? !s->inside[i] : jn_value_is_none(s->ct[i]);
    JN_TRY(jn_arm_take(s, v));
    jn_value in[2] = {s->ct[i], contribution};
    if (jn_value_is_none(in[0]))
        s->ct[i] = contribution;
    else
        JN_TRY(jn_sweep_build(s, s->d->ops.add, in, 2, &s->ct[i], 1));
    if (first)
        s->flag[i] = s->when;
    else if (jn_value_is_none(s->flag[i]) || jn_value_is_none(s->when))
        s->flag[i] = JN_VALUE_NONE;
    else
        JN_TRY(jn_presence_or(s, s->flag[i], s->when, &s->flag[i]));
    return JANUS_OK;
}

/* ---- nodes -------------------------------------------------------------------------------------
 */

/* Whether contribution v to parameter p of f is better added to an accumulator: as an array, the
 * gradient of an embedding costs what the vocabulary costs, and products that go to an accumulator
 * are made at once.  Not in what may run often, where p is no weight: reading the accumulator would
 * make each of its frames wait for its sum alone. */
static bool wants_accumulator(const jn_sweep *s, jn_value p, jn_value v) {
    const jn_node *n = jn_value_node(s->g, v);
    if (p.node != 0 || !n || !n->op || s->inside[jn_number(&s->num, p)])
        return false;
    bool first = jn_value_is_none(s->ct[jn_number(&s->num, p)]);
    return n->op->flags & (first ? JN_OP_FEW_ROWS : JN_OP_ADDS) &&
           (s->f == s->home || jn_runs_once(s->d, s->f));
}

static janus_status sweep_rule(jn_sweep *s, const jn_node *n) {
    const jn_value *ct = &s->ct[s->num.first[n->id]];
    bool any_out = false, any_in = false;
    for (uint32_t i = 0; i < n->n_out; i++)
        any_out |= !jn_value_is_none(ct[i]);
    if (!any_out || !n->op->grad)
        return JANUS_OK;
    jn_ev *ev = jn_diff_alloc(s->d, 2 * (n->n_in + n->n_out), sizeof *ev);
    bool *want = jn_diff_alloc(s->d, n->n_in, sizeof *want);
    if (!ev || !want)
        return JN_NO_MEMORY();
    jn_ev *in = ev, *out = in + n->n_in, *dout = out + n->n_out, *din = dout + n->n_out;
    for (uint32_t i = 0; i < n->n_in; i++) {
        in[i] = primal_ev(n->in[i]);
        want[i] = !jn_value_is_none(n->in[i]) && s->active[jn_number(&s->num, n->in[i])] &&
                  jn_differentiable(jn_value_type(s->f, n->in[i]));
        any_in |= want[i];
    }
    bool taken = !any_in;
    if (any_in) {
        JN_TRY(jn_arm_choose(s, n));
        JN_TRY(jn_sweep_slice(s, n, &taken));
    }
    if (taken)
        return JANUS_OK;
    for (uint32_t i = 0; i < n->n_out; i++) {
        jn_value arriving;
        JN_TRY(jn_arm_ct(s, s->num.first[n->id] + i, &arriving));
        out[i] = primal_ev((jn_value){n->id, i});
        dout[i] = jn_ev_of_value(arriving);
    }
    jn_grad rule = {&s->base, n->op, n->attrs, n->n_in, n->n_out, in, out, dout, want, din};
    s->rule = n;
    s->read = 0;
    janus_status st = n->op->grad(&rule);
    if (st == JANUS_OK && s->read)
        st = jn_wire_kept(s, n, s->read);
    if (st != JANUS_OK) {
        jn_error_context("in the gradient of %%%u = %s in @%s", n->id, n->op->name, s->f->name);
        return st;
    }
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (!want[i] || jn_ev_is_none(din[i]))
            continue;
        jn_value v = ev_value(din[i]);
        if (din[i].bits & PRIMAL_BIT)
            JN_TRY(jn_sweep_fetch(s, v, &v));
        if (wants_accumulator(s, n->in[i], v)) {
            jn_value acc;
            JN_TRY(jn_sweep_open(s, n->in[i], &acc));
        }
        JN_TRY(jn_sweep_add(s, n->in[i], v));
    }
    return JANUS_OK;
}

/* The transpose of adding is handing the sum's cotangent on, that of reading is adding. */
static janus_status sweep_acc(jn_sweep *s, const jn_node *n) {
    JN_TRY(jn_arm_close(s));
    if (n->n_in == 2) {
        jn_value sum = s->ct[jn_number(&s->num, n->in[0])];
        if (!jn_value_is_none(sum) && s->active[jn_number(&s->num, n->in[1])])
            JN_TRY(jn_sweep_add(s, n->in[1], sum));
    } else if (n->out[0]->kind == JANUS_KIND_TENSOR) {
        jn_value ct = s->ct[s->num.first[n->id]];
        if (!jn_value_is_none(ct))
            JN_TRY(jn_sweep_add(s, n->in[0], ct));
    }
    return JANUS_OK;
}

janus_status jn_sweep_run(jn_sweep *s, uint32_t from_node) {
    s->marks = s->d->marks && s->f->index < s->d->n_wires && s->d->wires[s->f->index];
    for (uint32_t i = from_node + 1; i-- > 1;) {
        const jn_node *n = s->f->nodes.data[i];
        s->loc = n->loc;
        s->at = i;
        JN_TRY(jn_sweep_close(s, i, n->n_out));
        if (s->marks)
            JN_TRY(jn_wire_marks(s, i));
        if (jn_is_call(n))
            JN_TRY(jn_sweep_call(s, n));
        else if (n->op->role == JN_ROLE_ACC)
            JN_TRY(sweep_acc(s, n));
        else if (n->op->role == JN_ROLE_HOST)
            JN_TRY(jn_sweep_wire(s, n));
        else if (n->op->role == JN_ROLE_NOTE)
            JN_TRY(jn_sweep_note(s, n));
        else
            JN_TRY(sweep_rule(s, n));
        jn_arm_leave(s);
    }
    s->at = 0;
    JN_TRY(jn_arm_close(s));
    JN_TRY(jn_sweep_close(s, 0, (uint32_t)s->f->params.n));
    return s->marks ? jn_wire_marks(s, 0) : JANUS_OK;
}

janus_status jn_sweep_init(jn_sweep *s, jn_diff *d, jn_subgraph *f, jn_subgraph *g) {
    memset(s, 0, sizeof *s);
    s->base.ops = &sweep_ops;
    s->d = d;
    s->f = f;
    s->g = s->home = g;
    s->frame = s->when = JN_VALUE_NONE;
    JN_TRY(jn_numbering_make(&d->tmp, f, &s->num));
    s->active = jn_diff_alloc(d, s->num.n_values, sizeof *s->active);
    s->ct = jn_diff_alloc(d, s->num.n_values, sizeof *s->ct);
    s->flag = jn_diff_alloc(d, s->num.n_values, sizeof *s->flag);
    s->fetched = jn_diff_alloc(d, s->num.n_values, sizeof *s->fetched);
    s->open = jn_diff_alloc(d, s->num.n_values, sizeof *s->open);
    s->records = jn_diff_alloc(d, s->num.n_nodes, sizeof *s->records);
    s->parts = jn_diff_alloc(d, s->num.n_values, sizeof *s->parts);
    s->before = jn_diff_alloc(d, 2 * (size_t)s->num.n_values, sizeof *s->before);
    s->used = jn_diff_alloc(d, 3 * (size_t)s->num.n_values, sizeof *s->used);
    if (!s->active || !s->ct || !s->flag || !s->parts || !s->fetched || !s->open || !s->records ||
        !s->before || !s->used)
        return JN_NO_MEMORY();
    s->before_flag = s->before + s->num.n_values;
    s->inside = s->used + s->num.n_values;
    s->part_inside = s->inside + s->num.n_values;
    for (uint32_t i = 0; i < s->num.n_values; i++)
        s->ct[i] = s->flag[i] = s->fetched[i] = s->open[i] = JN_VALUE_NONE;
    return JANUS_OK;
}
