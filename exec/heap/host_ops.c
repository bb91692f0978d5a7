/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host reads and writes, and the log.
 *
 * Reads ask the caller's janus_host_ops; what this run has written before is found in the overlay
 * (overlay.h), so reads see program order while the heap stays untouched.  A slot of kind object
 * holds the caller's pointer, or, with its lowest bit set, a jn_box: a scalar or tensor that stands
 * where an object is expected until host.unbox takes it out, or something this run made.  A tensor
 * that came from an object is written as that object, so identities last.
 */
#include "config.h"

#include <string.h>

#include "exec/heap/heap.h"
#include "exec/heap/overlay.h"
#include "exec/heap/wire.h"
#include "exec/schedule/schedule.h"
#include "exec/state/state.h"
#include "graph/autodiff/autodiff.h"
#include "graph/base/status.h"

typedef enum jn_host_what {
    H_ATTR,
    H_ITEM,
    H_KEY,
    H_LEN,
    H_TYPE,
    H_IS,
    H_UNBOX,
    H_HAS,
    H_HASATTR,
    H_ID,
    H_DRAW,
    H_NEW,
    H_TEXT,
    H_SETATTR,
    H_SETITEM,
    H_SETKEY,
    H_UPDATE,
    H_APPEND,
    H_INSERT,
    H_POP,
    H_DELITEM,
    H_DELKEY,
    H_DELATTR,
    H_EMIT,
    H_WIRE_PUT,
    H_WIRE_OF,
    H_WIRE_READ,
    H_WIRE_HAS,
    H_WIRE_TAKE,
    H_WIRE_SET,
    H_WIRE_MARK,
    H_ROWS_NEW,
    H_ROWS_MARK,
    H_ROWS_TAKE
} jn_host_what;

static const char *const what_names[] = {
    "host.attr",   "host.item",    "host.key",     "host.len",    "host.type",    "host.is",
    "host.unbox",  "host.has",     "host.hasattr", "host.id",     "host.draw",    "host.new",
    "host.text",   "host.setattr", "host.setitem", "host.setkey", "host.update",  "host.append",
    "host.insert", "host.pop",     "host.delitem", "host.delkey", "host.delattr", "host.emit",
    "wire.put",    "wire.of",      "wire.read",    "wire.has",    "wire.take",    "wire.set",
    "wire.mark",   "rows.new",     "rows.mark",    "rows.take"};

janus_status jn_host_what_of(const jn_op *op, uint8_t *out) {
    for (size_t i = 0; i < sizeof what_names / sizeof *what_names; i++)
        if (jn_op_named(op, what_names[i])) {
            *out = (uint8_t)i;
            return JANUS_OK;
        }
    return jn_error(JANUS_UNSUPPORTED, "the executor has no host operation %s", op->name);
}

/* Classes of locations: attributes have one each, as far as there are bits. */
enum { CLASS_ITEMS = 1, CLASS_KEYS = 2, CLASS_WIRES = 8 /* sums */, CLASSES_ATTR = 60 };

static uint64_t class_of_attr(int64_t key) {
    return (uint64_t)1 << (64 - CLASSES_ATTR + (uint64_t)key % CLASSES_ATTR);
}

jn_effects jn_host_effects(const jn_host_call *c) {
    switch (c->what) {
    case H_ATTR:
    case H_HASATTR:
        return (jn_effects){class_of_attr(c->key), 0, 0};
    case H_ITEM:
        return (jn_effects){CLASS_ITEMS, 0, 0};
    case H_KEY:
    case H_HAS:
        return (jn_effects){CLASS_KEYS, 0, 0};
    case H_LEN:
        return (jn_effects){CLASS_ITEMS | CLASS_KEYS, 0, 0};
    case H_SETATTR:
    case H_DELATTR:
        return (jn_effects){0, class_of_attr(c->key), 0};
    case H_SETITEM:
    case H_INSERT:
    case H_POP:
    case H_DELITEM:
        return (jn_effects){0, CLASS_ITEMS, 0};
    case H_APPEND:
        return (jn_effects){0, 0, CLASS_ITEMS};
    case H_SETKEY:
    case H_UPDATE:
    case H_DELKEY:
        return (jn_effects){0, CLASS_KEYS, 0};
    case H_WIRE_HAS:
    case H_WIRE_TAKE:
    case H_WIRE_SET:
    case H_ROWS_MARK:
    case H_ROWS_TAKE:
        return (jn_effects){0, CLASS_WIRES, 0};
    default: /* a type, an identity, a wire's number; births and prints are put in order by the log
              */
        return (jn_effects){0, 0, 0};
    }
}

/* ---- boxes --------------------------------------------------------------------------------------
 */

static janus_status box(jn_run *r, jn_box b, jn_slot *out) {
    b = jn_box_now(b);
    if (b.kind == JANUS_KIND_OBJECT) {
        *out = b.v;
        return JANUS_OK;
    }
    jn_box *p = jn_arena_alloc(&r->mem->tasks, sizeof *p);
    if (!p)
        return JN_NO_MEMORY();
    *p = b;
    out->p = (void *)((uintptr_t)p | 1);
    return JANUS_OK;
}

/* What an operand slot holds, as a box; a future where what is stored need not be known yet. */
static jn_box operand(jn_run *r, const jn_host_call *c, const jn_slot *slots, unsigned i) {
    jn_box b = {JANUS_KIND_NONE, {0}};
    if (c->in[i] == JN_NO_SLOT)
        return b;
    b.kind = (janus_kind)c->kinds[i];
    b.v = slots[c->in[i]];
    jn_future *f = r->operands ? jn_pending(r, *r->operands, c->in[i]) : NULL;
    if (f) {
        f->refs++;
        b.kind |= JN_KIND_LATER;
        b.v.p = f;
    } else if (b.kind == JANUS_KIND_OBJECT && jn_box_of(b.v.p) && !jn_birth_of(b.v.p)) {
        b = jn_box_now(*jn_box_of(b.v.p));
    }
    if (b.kind == JANUS_KIND_TENSOR && b.v.t && jn_tval_object(b.v.t))
        return (jn_box){JANUS_KIND_OBJECT, {.p = jn_tval_object(b.v.t)}};
    return b;
}

jn_future *jn_host_waits_for(jn_run *r, const jn_host_call *c, jn_cells cells) {
    for (unsigned i = 0; i < c->n; i++) {
        bool stored =
            c->what == H_NEW || c->what == H_EMIT ||
            ((c->what == H_SETATTR || c->what == H_APPEND) && i == 1) ||
            ((c->what == H_SETITEM || c->what == H_INSERT || c->what == H_SETKEY) && i == 2);
        jn_future *f = jn_pending(r, cells, c->in[i]);
        if (stored || c->in[i] == JN_NO_SLOT)
            continue;
        if (f)
            return f;
        void *p = cells.slot[c->in[i]].p;
        if (c->kinds[i] != JANUS_KIND_OBJECT || !jn_box_of(p) || jn_birth_of(p))
            continue;
        jn_box b = jn_box_now(*jn_box_of(p));
        if (b.kind & JN_KIND_LATER)
            return jn_future_last(b.v.p);
    }
    return NULL;
}

static janus_status need(const void *callback, const char *name) {
    return callback ? JANUS_OK
                    : jn_error(JANUS_UNSUPPORTED, "the embedding program has no %s", name);
}

static janus_status need_object(const jn_box *b, const jn_host_call *c) {
    if (b->kind == JANUS_KIND_OBJECT && b->v.p)
        return JANUS_OK;
    return jn_error(JANUS_INVALID_ARGUMENT, "%s: operand 0 is not an object (%s:%u)",
                    c->node->op->name, c->node->loc.file ? c->node->loc.file : "?",
                    c->node->loc.line);
}

/* ---- reads --------------------------------------------------------------------------------------
 */

static janus_status read_location(jn_run *r, const jn_host_call *c, const jn_box *o,
                                  const jn_slot *slots, jn_box *out) {
    JN_TRY(need_object(o, c));
    if (c->what == H_ATTR || c->what == H_HASATTR)
        return jn_ov_get_attr(r, o->v.p, c->key, out);
    jn_box key = operand(r, c, slots, 1);
    if (c->what == H_ITEM)
        return jn_ov_get_item(r, o->v.p, key.v.i, out);
    return jn_ov_get_key(r, o->v.p, &key, out);
}

/* Whether a read finds something. */
static janus_status has(jn_run *r, const jn_host_call *c, const jn_box *o, const jn_slot *slots,
                        jn_slot *out) {
    jn_box got;
    janus_status st = read_location(r, c, o, slots, &got);
    out->i = st == JANUS_OK;
    return st == JANUS_NOT_FOUND ? JANUS_OK : st;
}

/* An object that somebody takes a gradient of becomes its tensor, which has a number from now on.
 */
static janus_status leaf(jn_run *r, jn_box *io) {
    janus_object o = io->v.p;
    janus_tensor *t;
    if (!r->host.leaf || r->dev || jn_birth_of(o))
        return JANUS_OK;
    janus_status st = r->host.leaf(r->options.host_ctx, o, &t);
    if (st != JANUS_OK)
        return st == JANUS_NOT_FOUND ? JANUS_OK : st;
    jn_box b = {.kind = JANUS_KIND_TENSOR};
    JN_TRY(jn_tval_bind(r, t, o, NULL, &b.v.t));
    *io = b;
    return jn_wire_found(r, o, b.v.t);
}

static janus_status unbox(jn_run *r, const jn_host_call *c, const jn_slot *slots, jn_slot *out) {
    jn_box b = operand(r, c, slots, 0);
    janus_kind want = (janus_kind)c->node->out[0]->kind;
    jn_tval *put =
        b.kind == JANUS_KIND_OBJECT && want == JANUS_KIND_TENSOR ? jn_wire_object(r, b.v.p) : NULL;
    if (put && !c->wired)
        return jn_error(JANUS_ASSUMPTION_FAILED, "host.unbox: a tensor that requires grad (%s:%u)",
                        c->node->loc.file ? c->node->loc.file : "?", c->node->loc.line);
    if (put)
        b = (jn_box){JANUS_KIND_TENSOR, {.t = put}};
    else if (c->wired && b.kind == JANUS_KIND_OBJECT && want == JANUS_KIND_TENSOR)
        JN_TRY(leaf(r, &b));
    if (b.kind == JANUS_KIND_OBJECT && want != JANUS_KIND_OBJECT) {
        janus_host_value v = {0};
        JN_TRY(need((void *)r->host.unbox, "unbox"));
        janus_object of = b.v.p;
        if (jn_birth_of(of))
            return jn_error(JANUS_ASSUMPTION_FAILED, "host.unbox: a container (%s:%u)",
                            c->node->loc.file ? c->node->loc.file : "?", c->node->loc.line);
        JN_TRY(r->host.unbox(r->options.host_ctx, of, want, &v));
        if (v.kind == JANUS_KIND_TENSOR)
            JN_TRY(jn_tval_bind(r, v.t, of, NULL, &b.v.t));
        else
            JN_TRY(jn_box_from_host(r, &v, &b));
        b.kind = v.kind;
    }
    if (b.kind != want)
        return jn_error(JANUS_ASSUMPTION_FAILED,
                        "host.unbox: the object is of another kind (%s:%u)",
                        c->node->loc.file ? c->node->loc.file : "?", c->node->loc.line);
    if (want == JANUS_KIND_TENSOR) {
        const jn_shape *s = b.v.t->shape;
        jn_type have = jn_tensor_type((janus_dtype)s->dtype, s->rank, s->dims);
        if (!jn_type_fits(&have, c->node->out[0]))
            return jn_error(JANUS_ASSUMPTION_FAILED,
                            "host.unbox: the tensor has another shape or dtype (%s:%u)",
                            c->node->loc.file ? c->node->loc.file : "?", c->node->loc.line);
    }
    *out = b.v;
    return JANUS_OK;
}

static janus_status type_of(jn_run *r, const jn_box *o, jn_slot *out) {
    const jn_birth *b = o->kind == JANUS_KIND_OBJECT ? jn_birth_of(o->v.p) : NULL;
    if (b || o->kind != JANUS_KIND_OBJECT) {
        if (!r->host.kind_type) {
            out->i = JANUS_TYPE_TOKEN + (b ? JANUS_TYPE_LIST + (int)b->what : (int)o->kind);
            return JANUS_OK;
        }
        return r->host.kind_type(r->options.host_ctx, o->kind,
                                 b ? (janus_birth)b->what : JANUS_BIRTH_LIST, &out->i);
    }
    JN_TRY(need((void *)r->host.type_of, "type_of"));
    return r->host.type_of(r->options.host_ctx, o->v.p, &out->i);
}

/* ---- writes -------------------------------------------------------------------------------------
 */

static janus_status log_effect(jn_run *r, jn_pending_effect e) {
    e.place = r->here;
    if (r->here)
        r->here->logged = true;
    return jn_vec_push(&r->of_heap.effects, e) ? JANUS_OK : JN_NO_MEMORY();
}

static const jn_box nothing = {JANUS_KIND_NONE, {0}};

static janus_status write_location(jn_run *r, const jn_host_call *c, const jn_slot *slots) {
    jn_box o = operand(r, c, slots, 0), key = nothing;
    jn_pending_effect e = {.tag = c->tag};
    JN_TRY(need_object(&o, c));
    e.object = o.v.p;
    e.index = c->key;
    switch (c->what) {
    case H_SETATTR:
        e.kind = JN_EFFECT_SET_ATTR;
        e.value = operand(r, c, slots, 1);
        JN_TRY(jn_ov_set_attr(r, e.object, e.index, e.value));
        break;
    case H_SETITEM:
    case H_INSERT:
        e.kind = c->what == H_INSERT ? JN_EFFECT_INSERT : JN_EFFECT_SET_ITEM;
        e.index = operand(r, c, slots, 1).v.i;
        e.value = operand(r, c, slots, 2);
        JN_TRY(
            (c->what == H_INSERT ? jn_ov_insert : jn_ov_set_item)(r, e.object, &e.index, e.value));
        break;
    case H_APPEND:
        e.kind = JN_EFFECT_APPEND;
        e.value = operand(r, c, slots, 1);
        JN_TRY(jn_ov_append(r, e.object, e.value));
        break;
    default:
        e.kind = JN_EFFECT_SET_KEY;
        e.key = key = operand(r, c, slots, 1);
        e.value = operand(r, c, slots, 2);
        JN_TRY(jn_ov_set_key(r, e.object, &key, e.value, e.tag));
    }
    return log_effect(r, e);
}

typedef struct updating {
    jn_run *r;
    janus_object o;
} updating;

static janus_status put_pair(void *arg, const jn_box *key, jn_box value, int64_t tag) {
    const updating *x = arg;
    jn_box now = jn_box_now(value);
    if (now.kind & JN_KIND_LATER)
        ((jn_future *)now.v.p)->refs++;
    JN_TRY(jn_ov_set_key(x->r, x->o, key, now, tag));
    return log_effect(
        x->r,
        (jn_pending_effect){
            .kind = JN_EFFECT_SET_KEY, .object = x->o, .key = *key, .value = now, .tag = tag});
}

static janus_status update(jn_run *r, const jn_host_call *c, const jn_slot *slots) {
    jn_box o = operand(r, c, slots, 0), from = operand(r, c, slots, 1);
    JN_TRY(need_object(&o, c));
    JN_TRY(need_object(&from, c));
    updating x = {r, o.v.p};
    return from.v.p == o.v.p ? JANUS_OK : jn_ov_pairs(r, from.v.p, put_pair, &x);
}

/* pop, del: what is taken out is the result. */
static janus_status remove_from(jn_run *r, const jn_host_call *c, const jn_slot *slots,
                                jn_box *out) {
    jn_box o = operand(r, c, slots, 0);
    jn_pending_effect e = {.kind = JN_EFFECT_POP, .index = c->key};
    JN_TRY(need_object(&o, c));
    e.object = o.v.p;
    if (c->what == H_POP) {
        JN_TRY(jn_ov_pop(r, e.object, out));
    } else if (c->what == H_DELITEM) {
        e.kind = JN_EFFECT_DEL_ITEM;
        e.index = operand(r, c, slots, 1).v.i;
        JN_TRY(jn_ov_del_item(r, e.object, &e.index, out));
    } else if (c->what == H_DELKEY) {
        e.kind = JN_EFFECT_DEL_KEY;
        e.key = operand(r, c, slots, 1);
        JN_TRY(jn_ov_del_key(r, e.object, &e.key));
    } else {
        e.kind = JN_EFFECT_DEL_ATTR;
        JN_TRY(jn_ov_get_attr(r, e.object, c->key, out));
        JN_TRY(jn_ov_set_attr(r, e.object, c->key, (jn_box){(janus_kind)JN_KIND_ABSENT, {0}}));
    }
    return log_effect(r, e);
}

static janus_status operands(jn_run *r, const jn_host_call *c, const jn_slot *slots, jn_box **out) {
    *out = jn_arena_alloc(&r->mem->arena, (c->n + 1) * sizeof **out);
    if (!*out)
        return JN_NO_MEMORY();
    for (unsigned i = 0; i < c->n; i++)
        (*out)[i] = operand(r, c, slots, i);
    return JANUS_OK;
}

/* Births stay where they are: a collection does not move them, locations are keyed by them. */
static janus_status make_new(jn_run *r, const jn_host_call *c, const jn_slot *slots, jn_slot *out) {
    jn_birth *b = jn_arena_zalloc(&r->mem->arena, sizeof *b);
    if (!b)
        return JN_NO_MEMORY();
    b->box.kind = (janus_kind)JN_KIND_BIRTH;
    b->what = (uint8_t)c->key;
    b->n = c->n;
    JN_TRY(operands(r, c, slots, &b->items));
    out->p = (void *)((uintptr_t)b | 1);
    return log_effect(r, (jn_pending_effect){.kind = JN_EFFECT_NEW,
                                             .object = out->p,
                                             .index = c->key,
                                             .items = b->items,
                                             .n_items = c->n,
                                             .tag = c->tag});
}

static janus_status emit(jn_run *r, const jn_host_call *c, const jn_slot *slots) {
    jn_pending_effect e = {.kind = JN_EFFECT_EMIT, .index = c->key, .n_items = c->n};
    JN_TRY(operands(r, c, slots, &e.items));
    return log_effect(r, e);
}

/* Of what the items are now: a text is no part of the log, and may be asked what it says. */
static janus_status text(jn_run *r, const jn_host_call *c, const jn_slot *slots, jn_slot *out) {
    janus_host_value few[16], *v = few;
    JN_TRY(need((void *)r->host.text, "text"));
    if (c->n > 16 && !(v = jn_alloc(c->n * sizeof *v)))
        return JN_NO_MEMORY();
    janus_status st = JANUS_OK;
    for (unsigned i = 0; i < c->n && st == JANUS_OK; i++) {
        jn_box b = operand(r, c, slots, i);
        bool made = b.kind == JANUS_KIND_OBJECT && jn_is_tagged(b.v.p);
        if (b.kind == JANUS_KIND_TENSOR || made)
            st = jn_error(JANUS_ASSUMPTION_FAILED, "a text of something new");
        else
            v[i] = jn_box_to_host(&b);
    }
    if (st == JANUS_OK)
        st = r->host.text(r->options.host_ctx, c->key, v, c->n, &out->p);
    if (v != few)
        jn_free(v);
    return st;
}

janus_status jn_log_store(jn_run *r, jn_tval *target, jn_tval *value) {
    if (!target || !value || !target->tensor)
        return jn_error(JANUS_INVALID_ARGUMENT,
                        "store: the target must be an argument or a host object's tensor");
    if (target->shape != value->shape)
        return jn_error(JANUS_SHAPE, "store: target and value differ in shape or dtype");
    jn_box v = {JANUS_KIND_TENSOR, {.t = value}};
    return log_effect(r,
                      (jn_pending_effect){.kind = JN_EFFECT_STORE, .value = v, .target = target});
}

bool jn_host_pure(const jn_host_call *c) {
    return c->what == H_WIRE_PUT || c->what == H_WIRE_OF || c->what == H_WIRE_READ;
}

bool jn_host_read(jn_run *r, const jn_host_call *c, jn_slot *slots, uint32_t dst) {
    const janus_host_ops *h = &r->host;
    void *ctx = r->options.host_ctx, *o;
    janus_host_value v;
    if ((c->what != H_ITEM && c->what != H_LEN) || r->of_heap.overlay)
        return false;
    o = slots[c->in[0]].p;
    if (!o || jn_is_tagged(o))
        return false;
    if (c->what == H_LEN)
        return h->length && h->length(ctx, o, &slots[dst].i) == JANUS_OK;
    if (!h->get_item || slots[c->in[1]].i < 0 ||
        h->get_item(ctx, o, slots[c->in[1]].i, &v) != JANUS_OK)
        return false;
    slots[dst].p = v.o;
    return v.kind == JANUS_KIND_OBJECT && !jn_is_tagged(v.o);
}

jn_quick_read jn_host_quick(const jn_host_call *c) {
    bool scalar =
        c->kind == JANUS_KIND_INT || c->kind == JANUS_KIND_FLOAT || c->kind == JANUS_KIND_BOOL;
    return c->what == H_ATTR              ? JN_QUICK_ATTR
           : c->what == H_TYPE            ? JN_QUICK_TYPE
           : c->what == H_UNBOX && scalar ? JN_QUICK_UNBOX
                                          : JN_QUICK_NONE;
}

/* What a storing says; of what turns out to have no history, that. */
static int64_t put_what(const jn_host_call *c, const jn_slot *slots) {
    bool without = c->n > 2 && c->in[2] != JN_NO_SLOT && !slots[c->in[2]].i;
    return c->key | (without ? JN_WIRE_NONE : 0);
}

janus_status jn_host_exec(jn_run *r, const jn_host_call *c, jn_slot *slots, uint32_t dst) {
    jn_box out = nothing;
    switch (c->what) {
    case H_WIRE_PUT:
        return jn_wire_put(r, slots[c->in[0]].t, put_what(c, slots), &slots[dst].i);
    case H_WIRE_OF:
        return jn_wire_of(r, slots[c->in[0]].t, c->key, &slots[dst].i);
    case H_WIRE_READ:
        slots[dst] = slots[c->in[0]];
        return JANUS_OK;
    case H_WIRE_HAS:
        slots[dst].i = jn_wire_has(r, slots[c->in[0]].i);
        return JANUS_OK;
    case H_WIRE_TAKE:
        return jn_wire_take(r, slots[c->in[0]].i, &slots[dst].t);
    case H_WIRE_SET:
        return jn_wire_set(r, slots[c->in[0]].i, slots[c->in[1]].t);
    case H_WIRE_MARK:
        return slots[c->in[1]].i ? jn_wire_mark(r, slots[c->in[0]].i, c->key) : JANUS_OK;
    case H_ROWS_NEW:
        slots[dst].i = jn_list_rows_new(r);
        return JANUS_OK;
    case H_ROWS_MARK:
        return c->n < 2 || slots[c->in[1]].i ? jn_list_rows_mark(r, slots[c->in[0]].i) : JANUS_OK;
    case H_ROWS_TAKE:
        slots[dst].i = jn_list_rows_take(r, slots[c->in[0]].i);
        return JANUS_OK;
    case H_SETATTR:
    case H_SETITEM:
    case H_SETKEY:
    case H_APPEND:
    case H_INSERT:
        return write_location(r, c, slots);
    case H_UPDATE:
        return update(r, c, slots);
    case H_NEW:
        return make_new(r, c, slots, &slots[dst]);
    case H_TEXT:
        return text(r, c, slots, &slots[dst]);
    case H_EMIT:
        return emit(r, c, slots);
    case H_POP:
    case H_DELITEM:
        JN_TRY(remove_from(r, c, slots, &out));
        return box(r, out, &slots[dst]);
    case H_DELKEY:
    case H_DELATTR:
        return remove_from(r, c, slots, &out);
    case H_UNBOX:
        return unbox(r, c, slots, &slots[dst]);
    default:
        break;
    }
    jn_box o = operand(r, c, slots, 0);
    switch (c->what) {
    case H_ATTR:
    case H_ITEM:
    case H_KEY:
        JN_TRY(read_location(r, c, &o, slots, &out));
        return box(r, out, &slots[dst]);
    case H_HAS:
    case H_HASATTR:
        return has(r, c, &o, slots, &slots[dst]);
    case H_LEN:
        JN_TRY(need_object(&o, c));
        return jn_ov_length(r, o.v.p, &slots[dst].i);
    case H_TYPE:
        return type_of(r, &o, &slots[dst]);
    case H_ID:
        JN_TRY(need_object(&o, c));
        if (jn_birth_of(o.v.p))
            return jn_error(JANUS_ASSUMPTION_FAILED, "the address of something new");
        slots[dst].i = (int64_t)(intptr_t)o.v.p;
        return JANUS_OK;
    case H_DRAW:
        JN_TRY(need_object(&o, c));
        JN_TRY(need((void *)r->host.draw, "draw"));
        return r->host.draw(r->options.host_ctx, o.v.p, (janus_draw)c->key, slots[c->in[1]].i,
                            slots[c->in[2]].i, &slots[dst].i);
    case H_IS: {
        jn_box b = operand(r, c, slots, 1);
        slots[dst].i = o.kind == b.kind && o.v.p == b.v.p;
        return JANUS_OK;
    }
    default:
        return jn_error(JANUS_INTERNAL, "unknown host operation");
    }
}
