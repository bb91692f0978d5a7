/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host strand in slow mode: before an instruction runs, its operands are looked at.
 *
 * One whose operand is a future is put off if it has no effect, hands the future on if it only
 * moves values, and parks its frame otherwise.  When nothing can go on, everything pending is
 * flushed and the parked frames go on, first place first.  See exec/strand/suspend.h.
 */
#include "config.h"

#include "exec/strand/host.h"

enum { MAX_PARKED = 4096 }; /* then callers wait with their calls */

/* The strand at an instruction. */
typedef struct at {
    jn_run *r;
    jn_strand *s;
    jn_frame *f;
    const jn_instr *in;
    const jn_instr *pc; /* where f goes on */
    jn_slow what;
} at;

static jn_future *pending(const at *x, uint32_t slot) {
    return jn_pending(x->r, jn_frame_cells(x->f), slot);
}

static jn_future *any_pending(const at *x, const uint32_t *slot, uint32_t n) {
    jn_future *first = NULL;
    if (!x->f->async || !x->f->async->n)
        return NULL;
    for (uint32_t i = 0; i < n; i++) { /* all are looked up: the others may be values now */
        jn_future *p = pending(x, slot[i]);
        if (!first)
            first = p;
    }
    return first;
}

/* ---- what an instruction reads ------------------------------------------------------------------
 */

static jn_future *segment_operand(const at *x, const jn_segment *seg) {
    jn_future *p = any_pending(x, seg->input_slot, seg->n_inputs);
    for (uint32_t i = 0; i < seg->n_scalars && !p; i++)
        if (!seg->scalars[i].is_const)
            p = pending(x, seg->scalars[i].slot);
    return p ? p : any_pending(x, seg->acc_slot, seg->n_accs);
}

/* The first operand that is a future; of calls only what they need themselves. */
static jn_future *operand(const at *x) {
    const jn_instr *in = x->in;
    jn_future *p;
    switch ((jn_opcode)in->op) {
    case JN_I_CONST:
    case JN_I_TCONST:
    case JN_I_JUMP:
    case JN_I_MOVE:
    case JN_I_RETURN:
        return NULL;
    case JN_I_ADD_I:
    case JN_I_SUB_I:
    case JN_I_MUL_I:
    case JN_I_LT_I:
    case JN_I_LE_I:
    case JN_I_EQ_I:
    case JN_I_NE_I:
    case JN_I_ADD_F:
    case JN_I_SUB_F:
    case JN_I_MUL_F:
    case JN_I_LT_F:
    case JN_I_STORE:
        p = pending(x, in->a);
        return p ? p : pending(x, in->b);
    case JN_I_ADD_IK:
    case JN_I_LT_IK:
    case JN_I_LE_IK:
    case JN_I_EQ_IK:
    case JN_I_NOT:
    case JN_I_JFALSE:
    case JN_I_JLT_IK:
    case JN_I_JLE_IK:
    case JN_I_JEQ_IK:
    case JN_I_TRUTH:
    case JN_I_ITEM:
    case JN_I_SIZE:
    case JN_I_ACC_NEW:
    case JN_I_ACC_GET:
    case JN_I_ACC_USED:
    case JN_I_ASSERT:
        return pending(x, in->a);
    case JN_I_FRAME_GET: { /* nor can a frame be read before it has got to its end */
        p = pending(x, in->a);
        const jn_frame *from = p ? NULL : x->f->slot[in->a].frame;
        return from && from->async && from->async->complete ? from->async->complete : p;
    }
    case JN_I_SCALAR: {
        const jn_scalar_call *c = in->aux;
        return any_pending(x, c->in, c->n);
    }
    case JN_I_DRAW: {
        const jn_draw *d = in->aux;
        return d->numel >= 0 ? NULL : pending(x, d->like);
    }
    case JN_I_HOST:
    case JN_I_TYPE_IS:
        return jn_host_waits_for(x->r, in->aux, jn_frame_cells(x->f));
    case JN_I_ISSUE:
    case JN_I_ROWS:
        return segment_operand(x, in->aux);
    case JN_I_INVOKE:
        return pending(x, ((const jn_call *)in->aux)->cond);
    case JN_I_GRAD_CALL:
        return pending(x, in->a);
    case JN_I_WHILE:
    case JN_I_DECIDE: /* the host decides then */
        return NULL;
    case JN_I_FOREACH:
        return pending(x, ((const jn_loop *)in->aux)->count);
    case JN_I_GRAD_LOOP: { /* lists of frames are walked */
        const jn_loop *l = in->aux;
        p = pending(x, l->list_slot);
        for (uint32_t i = 0; l->lists && !p && i < l->carried.n; i++)
            p = pending(x, l->carried.slot[i]);
        return p;
    }
    }
    return NULL;
}

/* An instruction that can be put off: it has no effect, and its operands are all it needs. */
static bool is_pure(const jn_instr *in) {
    switch ((jn_opcode)in->op) {
    case JN_I_ADD_I:
    case JN_I_SUB_I:
    case JN_I_MUL_I:
    case JN_I_LT_I:
    case JN_I_LE_I:
    case JN_I_EQ_I:
    case JN_I_NE_I:
    case JN_I_ADD_F:
    case JN_I_SUB_F:
    case JN_I_MUL_F:
    case JN_I_LT_F:
    case JN_I_ADD_IK:
    case JN_I_LT_IK:
    case JN_I_LE_IK:
    case JN_I_EQ_IK:
    case JN_I_NOT:
    case JN_I_SCALAR:
    case JN_I_TRUTH:
    case JN_I_ITEM:
    case JN_I_SIZE:
        return true;
    case JN_I_ISSUE:
        return ((const jn_segment *)in->aux)->n_accs == 0;
    case JN_I_HOST:
        return jn_host_pure(in->aux);
    default:
        return false;
    }
}

/* ---- who goes on --------------------------------------------------------------------------------
 */

/* Whether reading this tensor's element must wait for the tensor strand. */
static bool is_promise(const jn_tval *v) { return v && !jn_tval_ready(v) && !v->rows; }

static janus_kind item_kind(const jn_instr *in) {
    return in->op == JN_I_ITEM ? (janus_kind)in->b : JANUS_KIND_BOOL;
}

static void step_done(at *x, jn_wait *w) {
    x->s->n_put_off--;
    jn_put_off_done(x->r, w->f);
    jn_wait_drop(x->r, w);
}

/* An instruction put off has run: its results are there. */
static void finish_step(at *x) {
    jn_wait *w = x->s->step;
    x->s->step = NULL;
    for (uint32_t i = 0; i < w->n_outs; i++)
        jn_fulfil(x->r, w->outs[i], jn_frame_cells(w->f), w->dst[i]);
    step_done(x, w);
}

/* Takes up an instruction put off.  *ran: it is to be executed now. */
static janus_status take_up(at *x, jn_wait *w, bool *ran) {
    x->f = w->f;
    x->in = w->in;
    x->pc = w->in + 1;
    *ran = false;
    jn_future *p = operand(x);
    if (p) {
        jn_wait_for(w, p);
        return JANUS_OK;
    }
    bool item = w->in->op == JN_I_ITEM || w->in->op == JN_I_TRUTH;
    if (item && is_promise(x->f->slot[w->in->a].t)) {
        JN_TRY(jn_value_of(x->r, w->outs[0], x->f->slot[w->in->a].t, item_kind(w->in)));
        jn_future_release(x->r, w->outs[0]);
        step_done(x, w);
        return JANUS_OK;
    }
    for (uint32_t i = 0; i < w->n_outs; i++)
        JN_TRY(
            jn_cell_copy(x->r, jn_frame_cells(x->f), JN_NO_SLOT, jn_frame_cells(x->f), w->dst[i]));
    x->s->step = w;
    *ran = true;
    return JANUS_OK;
}

static void take_up_frame(at *x, jn_wait *w) {
    x->f = w->f;
    x->pc = w->in;
    jn_wait_drop(x->r, w);
    jn_strand *s = x->s;
    if (!s->n_parked && !s->n_put_off && !s->n_detached && !s->values.n)
        jn_settle(x->r);
}

/* Finds what can go on now that f cannot. */
static janus_status next(at *x) {
    jn_strand *s = x->s;
    jn_place_leave(x->r);
    x->what = JN_SLOW_DONE;
    for (;;) {
        if (s->restart) {
            s->restart = false;
            JN_TRY(jn_serve_values(x->r));
        }
        jn_wait *w = s->ready;
        if (w) {
            bool ran;
            s->ready = w->next;
            if (!s->ready)
                s->ready_tail = &s->ready;
            JN_TRY(take_up(x, w, &ran));
            if (!ran)
                continue;
            x->what = JN_SLOW_RUN;
            return JANUS_OK;
        }
        w = jn_next_ready(x->r);
        if (w) {
            take_up_frame(x, w);
            return JANUS_OK;
        }
        if (s->values.n) {
            JN_TRY(jn_serve_values(x->r));
            continue;
        }
        if (!s->entry || s->n_parked || s->n_put_off || s->n_detached)
            return jn_error(JANUS_INTERNAL, "the host strand waits for itself");
        jn_settle(x->r);
        x->f = s->entry;
        x->pc = s->entry_return;
        return JANUS_OK;
    }
}

/* f has ended or waits; its caller goes on, unless that has already. */
static janus_status detach(at *x) {
    jn_run *r = x->r;
    jn_frame *f = x->f;
    if (!x->r->here)
        return jn_error(JANUS_INTERNAL, "a frame is suspended nowhere");
    if (f->loop && f->loop->in_cond && f->loop->detached)
        return next(x);
    if (!f->loop && (!f->parent || (f->async && f->async->detached)))
        return next(x);
    JN_TRY(jn_place_next(r));
    x->what = JN_SLOW_DONE;
    if (f->loop) {
        JN_TRY(jn_loop_detach(r, f, &x->f, &x->pc));
        return x->f ? JANUS_OK : next(x);
    }
    const jn_call *c = f->call;
    jn_frame *g = f->parent;
    JN_TRY(jn_frame_detach(r, f, c->results.n, c->frame_slot != JN_NO_SLOT));
    for (uint32_t i = 0; i < c->results.n; i++)
        JN_TRY(jn_promise(r, jn_frame_cells(g), c->results.slot[i], &f->async->outs[i]));
    if (c->frame_slot != JN_NO_SLOT)
        g->slot[c->frame_slot].frame = f;
    x->f = g;
    x->pc = f->resume;
    return JANUS_OK;
}

static janus_status park(at *x, jn_future *on) {
    bool alone = x->s->n_parked < MAX_PARKED;
    JN_TRY(jn_park(x->r, x->f, x->in, on, !alone));
    return alone ? detach(x) : next(x);
}

/* f goes on once all that is parked before it has had its turn. */
static janus_status stall(at *x) {
    JN_TRY(jn_park(x->r, x->f, x->in, NULL, true));
    x->s->restart = true;
    return next(x);
}

/* ---- instructions -------------------------------------------------------------------------------
 */

static janus_status call(at *x, jn_plan *p) {
    const jn_call *c = x->in->aux;
    jn_cells from = jn_frame_cells(x->f);
    jn_frame *g = NULL;
    JN_TRY(jn_push_call(x->r, c, p, x->f, x->pc, &g)); /* values are where they belong */
    const jn_async *a = x->f->async;
    for (uint32_t i = 0; a && a->n && i < c->args.n; i++)
        if (c->args.slot[i] != JN_NO_SLOT && jn_cell_marked(a, c->args.slot[i]))
            JN_TRY(jn_cell_copy(x->r, from, c->args.slot[i], jn_frame_cells(g), i));
    x->f = g;
    x->pc = p->code;
    x->what = JN_SLOW_DONE;
    return JANUS_OK;
}

static janus_status frame_get(at *x) {
    jn_frame *from = x->f->slot[x->in->a].frame;
    int64_t i = x->in->imm;
    if (!from || !from->async || !from->plan->saved || i < 0 ||
        (size_t)i >= from->plan->sub->saved.n ||
        !jn_pending(x->r, jn_frame_cells(from), from->plan->member[i]))
        return JANUS_OK;
    x->what = JN_SLOW_DONE;
    return jn_cell_copy(x->r, jn_frame_cells(from), from->plan->member[i], jn_frame_cells(x->f),
                        x->in->dst);
}

static janus_status put_off(at *x, jn_future *on) {
    const uint32_t *dst = &x->in->dst;
    uint32_t n = 1;
    if (x->in->op == JN_I_ISSUE) {
        const jn_segment *seg = x->in->aux;
        dst = seg->output_slot;
        n = seg->n_outputs;
    }
    x->what = JN_SLOW_DONE;
    return jn_put_off(x->r, x->f, x->in, on, dst, n);
}

/* The element of a tensor is a future of its own. */
static janus_status element(at *x, jn_tval *v) {
    jn_future *f;
    if (x->in->op == JN_I_ASSERT) {
        JN_TRY(jn_value_future(x->r, v, JANUS_KIND_BOOL, &f));
        return park(x, f);
    }
    JN_TRY(jn_promise(x->r, jn_frame_cells(x->f), x->in->dst, &f));
    JN_TRY(jn_value_of(x->r, f, v, item_kind(x->in)));
    jn_future_release(x->r, f);
    x->what = JN_SLOW_DONE;
    return JANUS_OK;
}

static janus_status returned(at *x) {
    jn_run *r = x->r;
    const jn_slots *res = x->in->aux;
    jn_frame *f = x->f, *g = f->parent;
    jn_cells from = jn_frame_cells(f);
    jn_async *a = f->async;
    x->what = JN_SLOW_DONE;
    if (a && a->detached) {
        jn_frame_fulfil(r, f, res);
        return next(x);
    }
    if (f->loop) {
        jn_future *p = f->loop->in_cond ? pending(x, res->slot[0]) : NULL;
        if (p)
            return park(x, p);
        JN_TRY(jn_loop_returned(r, f, res, &x->f, &x->pc));
        return x->f ? JANUS_OK : next(x);
    }
    if (!g) {
        jn_strand *s = x->s;
        if (s->n_parked || s->n_put_off || s->n_detached || s->values.n) {
            s->entry = f;
            s->entry_return = x->in;
            return next(x);
        }
        jn_settle(r);
        x->pc = x->in;
        return JANUS_OK;
    }
    const jn_call *c = f->call;
    for (uint32_t i = 0; i < res->n; i++)
        JN_TRY(jn_cell_copy(r, from, res->slot[i], jn_frame_cells(g), c->results.slot[i]));
    if (c->frame_slot != JN_NO_SLOT)
        g->slot[c->frame_slot].frame = f;
    x->f = g;
    x->pc = f->resume;
    jn_frame_end(r, f, c->frame_slot != JN_NO_SLOT);
    return JANUS_OK;
}

static janus_status step(at *x) {
    const jn_instr *in = x->in;
    if (x->s->yield) {
        x->s->yield = false;
        return stall(x);
    }
    if (x->s->n_parked && !jn_effects_none(x->s->any)) {
        jn_effects e = jn_instr_effects(in);
        if (!jn_effects_none(e) && jn_must_wait(x->r, e))
            return stall(x);
    }
    jn_future *p = operand(x);
    if (p)
        return is_pure(in) ? put_off(x, p) : park(x, p);
    jn_slot *slot = x->f->slot;
    switch ((jn_opcode)in->op) {
    case JN_I_HOST: {
        jn_cells cells = jn_frame_cells(x->f);
        x->r->operands = &cells;
        janus_status st = jn_host_exec(x->r, in->aux, slot, in->dst);
        x->r->operands = NULL;
        x->what = JN_SLOW_DONE;
        return st;
    }
    case JN_I_MOVE:
        x->what = JN_SLOW_DONE;
        return jn_cell_copy(x->r, jn_frame_cells(x->f), in->a, jn_frame_cells(x->f), in->dst);
    case JN_I_INVOKE: {
        const jn_call *c = in->aux;
        return call(x, c->callee[c->cond != JN_NO_SLOT && !slot[c->cond].i]);
    }
    case JN_I_GRAD_CALL:
        return call(x, jn_grad_arm(in->aux, slot[in->a].frame));
    case JN_I_WHILE:
    case JN_I_FOREACH:
    case JN_I_GRAD_LOOP:
        x->what = JN_SLOW_DONE;
        JN_TRY(jn_loop_begin(x->r, in, &x->f, &x->pc));
        return x->f ? JANUS_OK : next(x);
    case JN_I_RETURN:
        return returned(x);
    case JN_I_FRAME_GET:
        return frame_get(x);
    case JN_I_TRUTH:
    case JN_I_ITEM:
        return is_promise(slot[in->a].t) ? element(x, slot[in->a].t) : JANUS_OK;
    case JN_I_ASSERT:
        return in->b == JANUS_KIND_TENSOR && is_promise(slot[in->a].t) ? element(x, slot[in->a].t)
                                                                       : JANUS_OK;
    default:
        return JANUS_OK;
    }
}

janus_status jn_slow_step(jn_run *r, jn_frame **f, const jn_instr **pc, jn_slow *what) {
    at x = {r, &r->of_strand, *f, *pc - 1, *pc, JN_SLOW_RUN};
    janus_status st;
    if (r->of_strand.step) {
        finish_step(&x);
        st = next(&x);
    } else {
        st = step(&x);
    }
    *f = x.f ? x.f : *f;
    *pc = x.pc;
    *what = x.what;
    return st;
}

janus_status jn_slow_begin(jn_run *r) {
    jn_strand *s = &r->of_strand;
    s->on = true;
    s->ready_tail = &s->ready;
    return r->here ? JANUS_OK : jn_place_next(r);
}
