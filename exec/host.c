/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host strand: one loop over instructions, frames on the heap.
 *
 * The C stack does not grow with the depth of recursion: a call pushes a frame and goes on in the
 * same loop, a return pops one.  Loops keep their state beside the frame of the running iteration.
 */
#include "config.h"

#include <string.h>

#include "exec/acc.h"
#include "exec/device.h"
#include "exec/rows.h"
#include "exec/run_internal.h"
#include "graph/base/status.h"
#include "ops/attrs.h"
#include "ops/rng.h"
#include "ops/scalar.h"

enum { POLL_EVERY = 1 << 14 }; /* calls and iterations between two looks at the clock */

/* ---- frames -------------------------------------------------------------------------------------
 */

/* Slots of plans with tensors start empty: a collection looks at all of them. */
static inline jn_frame *frame_new(jn_run *r, jn_plan *p) {
    jn_frame *f = p->free_frames;
    if (JN_LIKELY(f != NULL))
        p->free_frames = f->parent;
    else
        f = jn_arena_alloc(&r->mem->arena, p->frame_bytes);
    if (p->has_tensors && f)
        memset(f->slot + p->n_params, 0, (p->n_slots - p->n_params) * sizeof(jn_slot));
    return f;
}

static inline void frame_free(jn_frame *f) {
    f->parent = f->plan->free_frames;
    f->plan->free_frames = f;
}

static janus_status ready(jn_run *r, jn_plan *p) {
    jn_plan *same;
    return JN_LIKELY(p->compiled) ? JANUS_OK : jn_plan_get(r->set, p->sub, p->saved, &same);
}

static janus_status poll_now(jn_run *r) {
    r->poll_countdown = POLL_EVERY;
    return jn_run_poll(r);
}

static janus_status overflow(const jn_run *r, const jn_frame *f, const jn_instr *pc) {
    const jn_node *n = f->plan->where[pc - f->plan->code];
    (void)r;
    return jn_error(JANUS_ARITHMETIC, "%s in @%s: integer overflow (%s:%u)", n ? n->op->name : "?",
                    f->plan->sub->name, n && n->loc.file ? n->loc.file : "?", n ? n->loc.line : 0);
}

/* ---- loops --------------------------------------------------------------------------------------
 */

static jn_loop_state *loop_new(jn_run *r, const jn_loop *l, jn_frame *parent,
                               const jn_instr *resume) {
    jn_loop_state *s = r->free_loops;
    if (s && s->cap >= l->carried.n) {
        r->free_loops = s->free_next;
        *s = (jn_loop_state){.carried = s->carried, .cap = s->cap};
    } else {
        s = jn_arena_zalloc(&r->mem->arena, sizeof *s);
        if (!s)
            return NULL;
        s->cap = l->carried.n + 4;
        s->carried = jn_arena_alloc(&r->mem->arena, s->cap * sizeof(jn_slot));
        if (!s->carried)
            return NULL;
    }
    for (uint32_t i = 0; i < l->carried.n; i++)
        s->carried[i] = l->carried.slot[i] == JN_NO_SLOT ? (jn_slot){.p = NULL}
                                                         : parent->slot[l->carried.slot[i]];
    s->loop = l;
    s->parent = parent;
    s->resume = resume;
    return s;
}

/* Pushes the frame of the next evaluation of `p` with the carried values from slot `first` on. */
static janus_status loop_push(jn_run *r, jn_loop_state *s, jn_plan *p, uint32_t first,
                              jn_frame **out) {
    JN_TRY(ready(r, p));
    if (JN_UNLIKELY(--r->poll_countdown <= 0))
        JN_TRY(poll_now(r));
    jn_frame *f = frame_new(r, p);
    if (!f)
        return JN_NO_MEMORY();
    f->plan = p;
    f->parent = s->parent;
    f->resume = NULL;
    f->call = NULL;
    f->loop = s;
    memcpy(f->slot + first, s->carried, (p->n_params - first) * sizeof(jn_slot));
    *out = f;
    return JANUS_OK;
}

static janus_status list_push(jn_run *r, jn_frame_list *l, jn_frame *f) {
    if (l->n == l->cap) {
        uint32_t cap = l->cap ? 2 * l->cap : 8;
        jn_frame **a = jn_arena_alloc(&r->mem->arena, cap * sizeof *a);
        if (!a)
            return JN_NO_MEMORY();
        if (l->n)
            memcpy(a, l->frame, l->n * sizeof *a);
        l->frame = a;
        l->cap = cap;
    }
    l->frame[l->n++] = f;
    return JANUS_OK;
}

/* Ends the loop: carried values become the results; *out is the parent. */
static void loop_finish(jn_run *r, jn_loop_state *s, jn_frame **out, const jn_instr **pc) {
    const jn_loop *l = s->loop;
    for (uint32_t i = 0; i < l->results.n; i++)
        s->parent->slot[l->results.slot[i]] = s->carried[l->carried_at[i]];
    if (s->saved)
        s->parent->slot[l->frame_slot].p = s->saved;
    *out = s->parent;
    *pc = s->resume;
    s->free_next = r->free_loops;
    r->free_loops = s;
}

/* Gradients take iterations in reverse: the saved frame of this one, and its records. */
static void walk_lists(const jn_loop_state *s, jn_frame *f) {
    const jn_loop *l = s->loop;
    int64_t at = s->n - 1 - s->i;
    f->slot[0].frame = ((jn_frame_list *)s->parent->slot[l->list_slot].p)->frame[at];
    for (uint32_t i = 0; l->lists && i < l->carried.n; i++)
        if (f->plan->slot_kind[i + 1] == JANUS_KIND_FRAME)
            f->slot[i + 1].frame = ((jn_frame_list *)s->carried[i].p)->frame[at];
}

/* The next frame of a loop, or its end. */
static janus_status loop_step(jn_run *r, jn_loop_state *s, jn_frame **f, const jn_instr **pc) {
    const jn_loop *l = s->loop;
    jn_plan *p = l->cond;
    uint32_t first = 0;
    if (!l->cond) { /* foreach, gradients: count known */
        if (s->i >= s->n) {
            loop_finish(r, s, f, pc);
            return JANUS_OK;
        }
        p = l->body;
        first = 1;
    } else {
        s->in_cond = true;
    }
    JN_TRY(loop_push(r, s, p, first, f));
    if (!l->cond) {
        if (l->count != JN_NO_SLOT) {
            (*f)->slot[0].i = s->i;
        } else { /* gradient: iterations in reverse */
            walk_lists(s, *f);
        }
        s->i++;
    }
    *pc = p->code;
    return JANUS_OK;
}

/* An evaluation of cond or body has returned. */
static janus_status loop_returned(jn_run *r, jn_frame *done, const jn_slots *results, jn_frame **f,
                                  const jn_instr **pc) {
    jn_loop_state *s = done->loop;
    const jn_loop *l = s->loop;
    if (s->in_cond) {
        s->in_cond = false;
        bool more = done->slot[results->slot[0]].i != 0;
        frame_free(done);
        if (!more) {
            loop_finish(r, s, f, pc);
            return JANUS_OK;
        }
        JN_TRY(loop_push(r, s, l->body, 0, f));
        *pc = l->body->code;
        return JANUS_OK;
    }
    for (uint32_t i = 0; i < results->n; i++)
        s->carried[l->carried_at[i]] =
            results->slot[i] == JN_NO_SLOT ? (jn_slot){.p = NULL} : done->slot[results->slot[i]];
    if (s->saved)
        JN_TRY(list_push(r, s->saved, done));
    else
        frame_free(done);
    return loop_step(r, s, f, pc);
}

static janus_status loop_begin(jn_run *r, const jn_instr *in, jn_frame **f, const jn_instr **pc) {
    const jn_loop *l = in->aux;
    jn_loop_state *s = loop_new(r, l, *f, in + 1);
    if (!s)
        return JN_NO_MEMORY();
    if (in->op == JN_I_GRAD_LOOP) {
        jn_frame_list *list = (*f)->slot[l->list_slot].p;
        if (!list)
            return jn_error(JANUS_INTERNAL, "the gradient of a loop without saved iterations");
        s->n = list->n;
    } else if (in->op == JN_I_FOREACH) {
        s->n = (*f)->slot[l->count].i;
    }
    if (l->frame_slot != JN_NO_SLOT) {
        r->keeps = true;
        s->saved = jn_arena_zalloc(&r->mem->arena, sizeof *s->saved);
        if (!s->saved)
            return JN_NO_MEMORY();
    }
    return loop_step(r, s, f, pc);
}

/* ---- tensor values the host strand needs
 * ---------------------------------------------------------- */

static janus_status read_item(jn_run *r, jn_tval *v, janus_kind kind, jn_slot *out) {
    if (!v)
        return jn_error(JANUS_INTERNAL, "item of an absent tensor");
    if (v->shape->numel != 1)
        return jn_error(JANUS_SHAPE, "item: expected a tensor of one element, got %lld",
                        (long long)v->shape->numel);
    JN_TRY(jn_tval_force(r, v));
    double f = 0;
    int64_t i = 0, here;
    jn_tval copy = *v;
    if (JN_UNLIKELY(r->dev != NULL)) {
        JN_TRY(jn_dev_download(r->dev, &here, v->data, v->shape->bytes));
        copy.data = (char *)&here;
        v = &copy;
    }
    if (r->device != JN_DEVICE_NULL)
        switch (v->shape->dtype) {
        case JANUS_F32:
            f = *(const float *)v->data;
            break;
        case JANUS_F64:
            f = *(const double *)v->data;
            break;
        case JANUS_I32:
            i = *(const int32_t *)v->data;
            break;
        case JANUS_I64:
            i = *(const int64_t *)v->data;
            break;
        case JANUS_BOOL:
        case JANUS_U8:
            i = *(const uint8_t *)v->data;
            break;
        default:
            return jn_error(JANUS_DTYPE, "item: %s is a storage dtype",
                            jn_dtype_name((janus_dtype)v->shape->dtype));
        }
    bool is_float = jn_dtype_is_float(v->shape->dtype);
    if (kind == JANUS_KIND_FLOAT)
        out->f = is_float ? f : (double)i;
    else if (kind == JANUS_KIND_BOOL)
        out->i = is_float ? f != 0 : i != 0;
    else if (is_float && !(f >= -9223372036854775808.0 && f < 9223372036854775808.0))
        return jn_error(JANUS_ARITHMETIC, "item: %g does not fit an int", f);
    else
        out->i = is_float ? (int64_t)f : i;
    return JANUS_OK;
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
    if (JN_UNLIKELY(r->dev != NULL)) {
        v->data = jn_mem_tensor(r->mem, s->bytes);
        if (!v->data)
            return JN_NO_MEMORY();
        JN_TRY(jn_dev_upload(r->dev, v->data, a->value.bytes, s->bytes));
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
    janus_status st =
        jn_error(JANUS_ASSUMPTION_FAILED, "assumption %u failed: %s (%s:%u)", in->dst,
                 message ? message : "", n->loc.file ? n->loc.file : "?", n->loc.line);
    ((janus_error *)janus_last_error())->assumption = (int)in->dst;
    return st;
}

/* ---- the loop -----------------------------------------------------------------------------------
 */

static janus_status push_call(jn_run *r, const jn_call *c, jn_plan *p, jn_frame *f,
                              const jn_instr *resume, jn_frame **out) {
    JN_TRY(ready(r, p));
    if (JN_UNLIKELY(--r->poll_countdown <= 0))
        JN_TRY(poll_now(r));
    r->keeps |= p->saved;
    jn_frame *g = frame_new(r, p);
    if (JN_UNLIKELY(!g))
        return JN_NO_MEMORY();
    g->plan = p;
    g->parent = f;
    g->resume = resume;
    g->call = c;
    g->loop = NULL;
    r->stats.invokes += c->cond == JN_NO_SLOT; /* arms are no calls */
    const uint32_t *a = c->args.slot;
    for (uint32_t i = 0, n = c->args.n; i < n; i++)
        g->slot[i] = a[i] == JN_NO_SLOT ? (jn_slot){.p = NULL} : f->slot[a[i]];
    *out = g;
    return JANUS_OK;
}

static jn_plan *grad_arm(const jn_call *c, const jn_frame *saved) {
    return saved && c->sub[1] && c->sub[1]->primal == saved->plan->sub ? c->callee[1]
                                                                       : c->callee[0];
}

#define S(x) (f->slot[x])
#define CHECK(expr)                                                                                \
    do {                                                                                           \
        st = (expr);                                                                               \
        if (JN_UNLIKELY(st != JANUS_OK))                                                           \
            goto fail;                                                                             \
    } while (0)

janus_status jn_host_run(jn_run *r, const jn_slot *args) {
    janus_status st = JANUS_OK;
    jn_frame *f = frame_new(r, r->entry), *g;
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
    r->stats.invokes = 1;
    for (;;) {
        const jn_instr *in = pc++;
        count++;
        switch ((jn_opcode)in->op) {
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
            CHECK(push_call(r, c, p, f, pc, &g));
            f = g;
            pc = p->code;
            break;
        }
        case JN_I_GRAD_CALL: {
            const jn_call *c = in->aux;
            jn_plan *p = grad_arm(c, S(in->a).frame);
            CHECK(push_call(r, c, p, f, pc, &g));
            f = g;
            pc = p->code;
            break;
        }
        case JN_I_WHILE:
        case JN_I_FOREACH:
        case JN_I_GRAD_LOOP:
            CHECK(loop_begin(r, in, &f, &pc));
            break;
        case JN_I_RETURN: {
            const jn_slots *res = in->aux;
            if (JN_UNLIKELY(f->loop != NULL)) {
                CHECK(loop_returned(r, f, res, &f, &pc));
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
                frame_free(f);
            f = g;
            break;
        }
        case JN_I_ISSUE:
            CHECK(jn_issue(r, (jn_segment *)in->aux, f->slot));
            if (JN_UNLIKELY(r->mem->bytes > r->collect_at))
                CHECK(jn_collect(r, f));
            break;
        case JN_I_ROWS:
            CHECK(jn_rows_issue(r, (jn_segment *)in->aux, f->slot));
            break;
        case JN_I_TRUTH:
            CHECK(read_item(r, S(in->a).t, JANUS_KIND_BOOL, &S(in->dst)));
            break;
        case JN_I_ITEM:
            CHECK(read_item(r, S(in->a).t, (janus_kind)in->b, &S(in->dst)));
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
        case JN_I_HOST:
            CHECK(jn_host_exec(r, in->aux, f->slot, in->dst));
            break;
        case JN_I_ASSERT: {
            jn_slot v = S(in->a);
            if (in->b == JANUS_KIND_TENSOR)
                CHECK(read_item(r, v.t, JANUS_KIND_BOOL, &v));
            if (JN_UNLIKELY(!v.i || (r->asserts_to_failure && --r->asserts_to_failure == 0)))
                CHECK(assertion(r, in));
            break;
        }
        case JN_I_STORE:
            CHECK(jn_log_store(r, S(in->a).t, S(in->b).t));
            break;
        }
        continue;
    fail:
        r->stats.instructions += count;
        jn_error_context("in @%s", f->plan->sub->name);
        return st;
    }
}
