/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host strand: one loop over instructions, frames on the heap.
 *
 * The C stack does not grow with the depth of recursion: a call pushes a frame and goes on in the
 * same loop, a return pops one.  Loops keep their state beside the frame of the running iteration.
 */
#include "config.h"

#include <string.h>

#include "exec/plan/plan.h"
#include "exec/schedule/schedule.h"
#include "exec/state/state.h"
#include "exec/strand/host.h"
#include "graph/base/status.h"
#include "ops/attrs.h"
#include "ops/ref/ref.h"
#include "ops/rng.h"
#include "ops/scalar.h"

static janus_status overflow(const jn_run *r, const jn_frame *f, const jn_instr *pc) {
    const jn_node *n = f->plan->where[pc - f->plan->code];
    (void)r;
    return jn_error(JANUS_ARITHMETIC, "%s in @%s: integer overflow (%s:%u)", n ? n->op->name : "?",
                    f->plan->sub->name, n && n->loc.file ? n->loc.file : "?", n ? n->loc.line : 0);
}

static janus_status draw(jn_run *r, const jn_draw *d, const jn_slot *slots, jn_slot *offset,
                         jn_slot *seed) {
    int64_t n = d->numel >= 0 ? d->numel : slots[d->like].t->shape->numel;
    seed->i = (int64_t)r->options.rng_seed;
    offset->i = (int64_t)r->rng_offset;
    r->rng_offset += (uint64_t)jn_rng_draws(n);
    return JANUS_OK;
}

static janus_status frame_get(const jn_frame *from, int64_t index, jn_slot *out) {
    if (!from || !from->plan->saved || index < 0 || (size_t)index >= from->plan->sub->saved.n)
        return jn_error(JANUS_INTERNAL, "frame.get: no member %lld", (long long)index);
    uint32_t slot = from->plan->member[index];
    if (slot == JN_NO_SLOT)
        return jn_error(JANUS_INTERNAL, "frame.get: member %lld of @%s was not kept",
                        (long long)index, from->plan->sub->name);
    *out = from->slot[slot];
    return JANUS_OK;
}

static janus_status tensor_constant(jn_run *r, const jn_node *n, jn_slot *out) {
    const janus_constant_attrs *a = n->attrs;
    jn_tval *v = jn_arena_zalloc(&r->mem->arena, sizeof *v);
    const jn_shape *s =
        jn_shape_intern(&r->set->shapes, a->value.dtype, a->value.rank, a->value.dims);
    if (!v || !s)
        return JN_NO_MEMORY();
    v->data = (char *)a->value.bytes; /* read only */
    v->shape = s;
    if (!r->on->host) {
        v->data = jn_mem_tensor(r->mem, s->bytes);
        if (!v->data)
            return JN_NO_MEMORY();
        JN_TRY(r->on->put(r->dev, v->data, a->value.bytes, s->bytes));
    }
    out->t = v;
    return JANUS_OK;
}

static janus_status scalar_call(const jn_scalar_call *c, const jn_slot *slots, jn_slot *out) {
    janus_scalar in[4], v;
    for (unsigned i = 0; i < c->n; i++)
        in[i].i = slots[c->in[i]].i;
    JN_TRY(jn_scalar_eval(c->op, in, c->kinds, c->n, &v));
    out->i = v.i;
    return JANUS_OK;
}

static janus_status assertion(const jn_run *r, const jn_instr *in) {
    const jn_node *n = in->aux;
    const char *message = "";
    for (const jn_attr_spec *a = n->op->attrs; a->name; a++)
        if (a->kind == JN_ATTR_STR)
            message = *(const char *const *)((const char *)n->attrs + a->offset);
    (void)r;
    message = message ? message : "";
    janus_status st =
        n->loc.file ? jn_error(JANUS_ASSUMPTION_FAILED, "assumption failed: %s (%s:%u)", message,
                               n->loc.file, n->loc.line)
        : (int)in->dst < 0
            ? jn_error(JANUS_ASSUMPTION_FAILED, "assumption failed: %s", message)
            : jn_error(JANUS_ASSUMPTION_FAILED, "assumption %d failed: %s", (int)in->dst, message);
    ((janus_error *)janus_last_error())->assumption = (int)in->dst;
    return st;
}

/* ---- the loop -----------------------------------------------------------------------------------
 */

#define S(x) (f->slot[x])
#define CHECK(expr)                                                                                \
    do {                                                                                           \
        st = (expr);                                                                               \
        if (JN_UNLIKELY(st != JANUS_OK))                                                           \
            goto fail;                                                                             \
    } while (0)

enum { SLOW = 1 << 16 }; /* beside an opcode */

/* Reads of what nothing was written to; false: it takes the long way. */
static inline bool quick_read(const jn_run *r, const jn_instr *in, jn_slot *slots) {
    const jn_host_call *c = in->aux;
    const janus_host_ops *h = &r->host;
    void *o = slots[in->a].p, *ctx = r->options.host_ctx;
    jn_slot *out = &slots[in->dst];
    janus_host_value v;
    if (JN_UNLIKELY(jn_overlay_any(r) || !o || jn_is_tagged(o)))
        return false;
    switch ((jn_quick_read)in->b) {
    case JN_QUICK_ATTR:
        if (!h->get_attr || h->get_attr(ctx, o, c->key, &v) != JANUS_OK)
            return false;
        out->p = v.o;
        return v.kind == JANUS_KIND_OBJECT && !jn_is_tagged(v.o);
    case JN_QUICK_TYPE:
        return h->type_of && h->type_of(ctx, o, &out->i) == JANUS_OK;
    default:
        if (!h->unbox || h->unbox(ctx, o, (janus_kind)c->kind, &v) != JANUS_OK)
            return false;
        out->i = v.s.i;
        return v.kind == (janus_kind)c->kind;
    }
}

#define BIT(op) ((uint64_t)1 << JN_I_##op)

/* Instructions that neither have effects, nor ask for a tensor's value, nor go to another frame
 * that may hold futures. */
static const uint64_t own_slots_only =
    BIT(MOVE) | BIT(CONST) | BIT(TCONST) | BIT(ADD_I) | BIT(SUB_I) | BIT(MUL_I) | BIT(ADD_IK) |
    BIT(LT_I) | BIT(LE_I) | BIT(EQ_I) | BIT(NE_I) | BIT(LT_IK) | BIT(LE_IK) | BIT(EQ_IK) |
    BIT(ADD_F) | BIT(SUB_F) | BIT(MUL_F) | BIT(LT_F) | BIT(NOT) | BIT(SCALAR) | BIT(JUMP) |
    BIT(JFALSE) | BIT(JLT_IK) | BIT(JLE_IK) | BIT(JEQ_IK) | BIT(INVOKE) | BIT(SIZE) | BIT(ISSUE);
_Static_assert(JN_I_STORE < 64, "a bit for each");
#undef BIT

/* Slow mode: whether an instruction does what it would do without, for no slot of its frame is a
 * future. */
static inline bool runs_as_usual(const jn_strand *s, const jn_frame *f, const jn_instr *in) {
    const jn_async *a = f->async;
    if ((a && a->n) || s->step || s->yield || !(own_slots_only >> in->op & 1))
        return false;
    return in->op != JN_I_ISSUE || ((const jn_segment *)in->aux)->n_accs == 0;
}

/* A tensor that the tensor strand still has to compute. */
static inline bool is_due(const jn_tval *v) { return v && !jn_tval_ready(v) && !v->rows; }

janus_status jn_host_run(jn_run *r, const jn_slot *args) {
    janus_status st = JANUS_OK;
    jn_frame *f = jn_frame_new(r, r->entry), *g;
    if (!f)
        return JN_NO_MEMORY();
    f->plan = r->entry;
    f->parent = NULL;
    f->resume = NULL;
    f->call = NULL;
    f->loop = NULL;
    memcpy(f->slot, args, r->entry->n_params * sizeof(jn_slot));
    const jn_instr *pc = r->entry->code;
    uint64_t count = 0;
    uint32_t slow = 0; /* SLOW: every instruction goes through jn_slow_step first */
    r->stats.invokes = 1;
    for (;;) {
        const jn_instr *in = pc++;
        uint32_t op = in->op | slow;
        count++;
    again:
        switch (op) {
        case JN_I_MOVE:
            S(in->dst) = S(in->a);
            break;
        case JN_I_CONST:
            S(in->dst).i = in->imm;
            break;
        case JN_I_TCONST:
            CHECK(tensor_constant(r, in->aux, &S(in->dst)));
            break;
        case JN_I_ADD_I:
            if (JN_UNLIKELY(__builtin_add_overflow(S(in->a).i, S(in->b).i, &S(in->dst).i)))
                CHECK(overflow(r, f, in));
            break;
        case JN_I_SUB_I:
            if (JN_UNLIKELY(__builtin_sub_overflow(S(in->a).i, S(in->b).i, &S(in->dst).i)))
                CHECK(overflow(r, f, in));
            break;
        case JN_I_MUL_I:
            if (JN_UNLIKELY(__builtin_mul_overflow(S(in->a).i, S(in->b).i, &S(in->dst).i)))
                CHECK(overflow(r, f, in));
            break;
        case JN_I_ADD_IK:
            if (JN_UNLIKELY(__builtin_add_overflow(S(in->a).i, in->imm, &S(in->dst).i)))
                CHECK(overflow(r, f, in));
            break;
        case JN_I_LT_I:
            S(in->dst).i = S(in->a).i < S(in->b).i;
            break;
        case JN_I_LE_I:
            S(in->dst).i = S(in->a).i <= S(in->b).i;
            break;
        case JN_I_EQ_I:
            S(in->dst).i = S(in->a).i == S(in->b).i;
            break;
        case JN_I_NE_I:
            S(in->dst).i = S(in->a).i != S(in->b).i;
            break;
        case JN_I_LT_IK:
            S(in->dst).i = S(in->a).i < in->imm;
            break;
        case JN_I_LE_IK:
            S(in->dst).i = S(in->a).i <= in->imm;
            break;
        case JN_I_EQ_IK:
            S(in->dst).i = S(in->a).i == in->imm;
            break;
        case JN_I_ADD_F:
            S(in->dst).f = S(in->a).f + S(in->b).f;
            break;
        case JN_I_SUB_F:
            S(in->dst).f = S(in->a).f - S(in->b).f;
            break;
        case JN_I_MUL_F:
            S(in->dst).f = S(in->a).f * S(in->b).f;
            break;
        case JN_I_LT_F:
            S(in->dst).i = S(in->a).f < S(in->b).f;
            break;
        case JN_I_NOT:
            S(in->dst).i = !S(in->a).i;
            break;
        case JN_I_SCALAR:
            CHECK(scalar_call(in->aux, f->slot, &S(in->dst)));
            break;
        case JN_I_JUMP:
            pc = f->plan->code + in->imm;
            break;
        case JN_I_JFALSE:
            if (!S(in->a).i)
                pc = f->plan->code + in->imm;
            break;
        case JN_I_JLT_IK:
            if (!(S(in->a).i < (int32_t)in->b))
                pc = f->plan->code + in->imm;
            break;
        case JN_I_JLE_IK:
            if (!(S(in->a).i <= (int32_t)in->b))
                pc = f->plan->code + in->imm;
            break;
        case JN_I_JEQ_IK:
            if (S(in->a).i != (int32_t)in->b)
                pc = f->plan->code + in->imm;
            break;
        case JN_I_INVOKE: {
            const jn_call *c = in->aux;
            jn_plan *p = c->callee[c->cond != JN_NO_SLOT && !S(c->cond).i];
            CHECK(jn_push_call(r, c, p, f, pc, &g));
            f = g;
            pc = p->code;
            break;
        }
        case JN_I_GRAD_CALL: {
            const jn_call *c = in->aux;
            jn_plan *p = jn_grad_arm(c, S(in->a).frame);
            CHECK(jn_push_call(r, c, p, f, pc, &g));
            f = g;
            pc = p->code;
            break;
        }
        case JN_I_DECIDE:
            if (JN_UNLIKELY(r->on->decide && !r->of_strand.on)) {
                bool issued;
                CHECK(r->on->decide(r, (jn_segment *)in->aux, f, &issued));
                if (issued)
                    pc = f->plan->code + in->dst;
            }
            break;
        case JN_I_WHILE:
        case JN_I_FOREACH:
        case JN_I_GRAD_LOOP:
            CHECK(jn_loop_begin(r, in, &f, &pc));
            break;
        case JN_I_RETURN: {
            const jn_slots *res = in->aux;
            if (JN_UNLIKELY(f->loop != NULL)) {
                CHECK(jn_loop_returned(r, f, res, &f, &pc));
                break;
            }
            g = f->parent;
            if (JN_UNLIKELY(!g)) {
                for (uint32_t i = 0; i < res->n; i++)
                    r->results[i] =
                        res->slot[i] == JN_NO_SLOT ? (jn_slot){.p = NULL} : S(res->slot[i]);
                r->stats.instructions += count;
                return JANUS_OK;
            }
            const jn_call *c = f->call;
            for (uint32_t i = 0; i < res->n; i++)
                g->slot[c->results.slot[i]] =
                    res->slot[i] == JN_NO_SLOT ? (jn_slot){.p = NULL} : S(res->slot[i]);
            pc = f->resume;
            if (c->frame_slot != JN_NO_SLOT)
                g->slot[c->frame_slot].frame = f;
            else
                jn_frame_free(f);
            f = g;
            break;
        }
        case JN_I_ISSUE:
            CHECK(jn_issue(r, (jn_segment *)in->aux, f->slot));
            if (JN_UNLIKELY(jn_flush_is_due(r)))
                CHECK(jn_flush_large(r, f));
            if (JN_UNLIKELY(!jn_early_runs(r) && r->mem->bytes > r->of_strand.collect_at))
                CHECK(jn_collect(r, f));
            break;
        case JN_I_ROWS:
            CHECK(jn_rows_issue(r, (jn_segment *)in->aux, f->slot));
            if (JN_UNLIKELY(jn_flush_is_due(r)))
                CHECK(jn_flush_large(r, f));
            break;
        case JN_I_TRUTH:
            if (is_due(S(in->a).t) && !slow)
                goto suspend;
            CHECK(jn_read_item(r, S(in->a).t, JANUS_KIND_BOOL, &S(in->dst)));
            break;
        case JN_I_ITEM:
            if (is_due(S(in->a).t) && !slow)
                goto suspend;
            CHECK(jn_read_item(r, S(in->a).t, (janus_kind)in->b, &S(in->dst)));
            break;
        case JN_I_SIZE: {
            const jn_shape *shape = S(in->a).t->shape;
            int64_t axis = in->imm < 0 ? in->imm + shape->rank : in->imm;
            if (axis < 0 || axis >= shape->rank)
                CHECK(jn_error(JANUS_INDEX, "size: axis %lld of a tensor of rank %d",
                               (long long)in->imm, shape->rank));
            S(in->dst).i = shape->dims[axis];
            break;
        }
        case JN_I_DRAW:
            CHECK(draw(r, in->aux, f->slot, &S(in->dst), &S(in->a)));
            break;
        case JN_I_FRAME_GET:
            CHECK(frame_get(S(in->a).frame, in->imm, &S(in->dst)));
            break;
        case JN_I_ACC_NEW:
            CHECK(jn_acc_new(r, S(in->a).t, &S(in->dst).acc));
            break;
        case JN_I_ACC_USED:
            CHECK(jn_flush(r));
            S(in->dst).i = S(in->a).acc->used;
            break;
        case JN_I_ACC_GET:
            CHECK(jn_acc_get(r, S(in->a).acc, &S(in->dst).t));
            break;
        case JN_I_TYPE_IS: {
            const jn_host_call *c = in->aux;
            if (slow || !quick_read(r, in, f->slot))
                CHECK(jn_host_exec(r, c, f->slot, in->dst));
            S(in->dst).i = S(in->dst).i == c->key;
            break;
        }
        case JN_I_HOST:
            if (slow ||
                !(in->b ? quick_read(r, in, f->slot) : jn_host_read(r, in->aux, f->slot, in->dst)))
                CHECK(jn_host_exec(r, in->aux, f->slot, in->dst));
            break;
        case JN_I_ASSERT: {
            jn_slot v = S(in->a);
            if (in->b == JANUS_KIND_TENSOR && is_due(v.t) && !slow)
                goto suspend;
            if (in->b == JANUS_KIND_TENSOR)
                CHECK(jn_read_item(r, v.t, JANUS_KIND_BOOL, &v));
            if (JN_UNLIKELY(!v.i || (r->of_strand.asserts_to_failure && jn_assert_fails(r))))
                CHECK(assertion(r, in));
            break;
        }
        case JN_I_STORE:
            CHECK(jn_log_store(r, S(in->a).t, S(in->b).t));
            break;
        default: { /* slow, or marked */
            jn_slow what;
            if (JN_UNLIKELY(in->op & JN_MARKED)) {
                CHECK(jn_watch_met(r, f->plan, in));
                op = in->op | slow;
                goto again;
            }
            op = in->op;
            if (runs_as_usual(&r->of_strand, f, in))
                goto again;
            CHECK(jn_slow_step(r, &f, &pc, &what));
            slow = r->of_strand.on ? SLOW : 0;
            if (what == JN_SLOW_DONE)
                break;
            in = pc - 1;
            op = in->op;
            goto again;
        }
        }
        continue;
    suspend:
        CHECK(jn_slow_begin(r));
        slow = SLOW;
        pc = in;
        continue;
    fail:
        r->stats.instructions += count;
        jn_error_context("in @%s", f->plan->sub->name);
        return st;
    }
}
