/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host reads and writes, and the log.
 *
 * Reads ask the caller's janus_host_ops; what this run has written before is found in the overlay,
 * keyed by location, so reads see program order while the heap stays untouched.  A slot of kind
 * object holds the caller's pointer, or, with its lowest bit set, a jn_box: a scalar or tensor that
 * stands where an object is expected until host.unbox takes it out.
 */
#include "config.h"

#include <string.h>
#include <uthash.h>

#include "exec/plan_internal.h"
#include "exec/run_internal.h"
#include "graph/base/status.h"

typedef enum jn_host_what {
    H_ATTR,
    H_ITEM,
    H_KEY,
    H_LEN,
    H_TYPE,
    H_IS,
    H_UNBOX,
    H_SETATTR,
    H_SETITEM,
    H_SETKEY,
    H_APPEND
} jn_host_what;

static const char *const what_names[] = {
    "host.attr",  "host.item",    "host.key",     "host.len",    "host.type",  "host.is",
    "host.unbox", "host.setattr", "host.setitem", "host.setkey", "host.append"};

janus_status jn_host_what_of(const jn_op *op, uint8_t *out) {
    for (size_t i = 0; i < sizeof what_names / sizeof *what_names; i++)
        if (jn_op_named(op, what_names[i])) {
            *out = (uint8_t)i;
            return JANUS_OK;
        }
    return jn_error(JANUS_UNSUPPORTED, "the executor has no host operation %s", op->name);
}

/* A location of this run's overlay: attribute or item of an object, or the list appended to it. */
typedef struct location {
    janus_object object;
    int64_t index;
    int64_t what; /* H_ATTR, H_ITEM, H_KEY or H_APPEND */
} location;

typedef struct jn_overlay_entry {
    location at;
    jn_box value;            /* H_ATTR, H_ITEM, H_KEY */
    JN_VEC(jn_box) appended; /* H_APPEND */
    int64_t base_length;
    UT_hash_handle hh;
} jn_overlay_entry;

static jn_overlay_entry *overlay_find(const jn_run *r, janus_object o, int64_t index, int what) {
    jn_overlay_entry *e = NULL;
    location at;
    if (!r->overlay)
        return NULL;
    memset(&at, 0, sizeof at);
    at.object = o;
    at.index = index;
    at.what = what;
    HASH_FIND(hh, r->overlay, &at, sizeof at, e);
    return e;
}

static jn_overlay_entry *overlay_put(jn_run *r, janus_object o, int64_t index, int what) {
    jn_overlay_entry *e = overlay_find(r, o, index, what);
    if (e)
        return e;
    e = jn_calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->at.object = o;
    e->at.index = index;
    e->at.what = what;
    HASH_ADD(hh, r->overlay, at, sizeof e->at, e);
    return e;
}

void jn_overlay_free(jn_run *r) {
    jn_overlay_entry *e, *next;
    HASH_ITER(hh, r->overlay, e, next) {
        HASH_DEL(r->overlay, e);
        jn_vec_free(&e->appended);
        jn_free(e);
    }
}

janus_status jn_overlay_each(jn_run *r, janus_status (*fn)(void *arg, jn_box *b), void *arg) {
    for (jn_overlay_entry *e = r->overlay; e; e = e->hh.next) {
        JN_TRY(fn(arg, &e->value));
        for (size_t i = 0; i < e->appended.n; i++)
            JN_TRY(fn(arg, &e->appended.data[i]));
    }
    return JANUS_OK;
}

/* ---- boxes --------------------------------------------------------------------------------------
 */

static janus_status box(jn_run *r, jn_box b, jn_slot *out) {
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

/* What an operand slot holds, as a box. */
static jn_box operand(const jn_host_call *c, const jn_slot *slots, unsigned i) {
    jn_box b = {JANUS_KIND_NONE, {0}};
    if (c->in[i] == JN_NO_SLOT)
        return b;
    b.kind = (janus_kind)c->kinds[i];
    b.v = slots[c->in[i]];
    if (b.kind == JANUS_KIND_OBJECT && jn_box_of(b.v.p))
        b = *jn_box_of(b.v.p);
    return b;
}

static janus_status from_host(jn_run *r, const janus_host_value *v, jn_box *out) {
    out->kind = v->kind;
    switch (v->kind) {
    case JANUS_KIND_INT:
    case JANUS_KIND_BOOL:
    case JANUS_KIND_FLOAT:
        out->v.i = v->s.i;
        return JANUS_OK;
    case JANUS_KIND_TENSOR:
        return jn_tval_bind(r, v->t, &out->v.t);
    default:
        out->v.p = v->o;
        if (v->kind == JANUS_KIND_OBJECT && jn_box_of(v->o))
            return jn_error(JANUS_INVALID_ARGUMENT, "a host object with an odd address");
        return JANUS_OK;
    }
}

static janus_host_value to_host(const jn_box *b) {
    janus_host_value v = {.kind = b->kind};
    if (b->kind == JANUS_KIND_TENSOR)
        v.t = NULL; /* filled in by prepare */
    else if (b->kind == JANUS_KIND_OBJECT)
        v.o = b->v.p;
    else
        v.s.i = b->v.i;
    return v;
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

static janus_status length(jn_run *r, janus_object o, int64_t *out) {
    jn_overlay_entry *e = overlay_find(r, o, 0, H_APPEND);
    if (e) {
        *out = e->base_length + (int64_t)e->appended.n;
        return JANUS_OK;
    }
    JN_TRY(need((void *)r->host.length, "length"));
    return r->host.length(r->options.host_ctx, o, out);
}

static janus_status read_item(jn_run *r, janus_object o, int64_t index, jn_box *out) {
    janus_host_value v = {0};
    jn_overlay_entry *e;
    if (r->overlay) {
        jn_overlay_entry *grown = overlay_find(r, o, 0, H_APPEND);
        if (index < 0) {
            int64_t n;
            JN_TRY(length(r, o, &n));
            index += n;
        }
        if ((e = overlay_find(r, o, index, H_ITEM))) {
            *out = e->value;
            return JANUS_OK;
        }
        if (grown && index >= grown->base_length &&
            index - grown->base_length < (int64_t)grown->appended.n) {
            *out = grown->appended.data[index - grown->base_length];
            return JANUS_OK;
        }
    }
    JN_TRY(need((void *)r->host.get_item, "get_item"));
    JN_TRY(r->host.get_item(r->options.host_ctx, o, index, &v));
    return from_host(r, &v, out);
}

static janus_status read_location(jn_run *r, const jn_host_call *c, const jn_box *o,
                                  const jn_slot *slots, jn_box *out) {
    janus_host_value v = {0};
    jn_overlay_entry *e;
    JN_TRY(need_object(o, c));
    if (c->what == H_ATTR) {
        if (r->overlay && (e = overlay_find(r, o->v.p, c->key, H_ATTR))) {
            *out = e->value;
            return JANUS_OK;
        }
        JN_TRY(need((void *)r->host.get_attr, "get_attr"));
        JN_TRY(r->host.get_attr(r->options.host_ctx, o->v.p, c->key, &v));
        return from_host(r, &v, out);
    }
    jn_box key = operand(c, slots, 1);
    if (c->what == H_ITEM)
        return read_item(r, o->v.p, key.v.i, out);
    if (r->overlay && (e = overlay_find(r, o->v.p, key.v.i, H_KEY + 16 * (int)key.kind))) {
        *out = e->value;
        return JANUS_OK;
    }
    janus_host_value k = to_host(&key);
    if (key.kind == JANUS_KIND_TENSOR)
        return jn_error(JANUS_UNSUPPORTED, "host.key: a tensor cannot be a key");
    JN_TRY(need((void *)r->host.get_key, "get_key"));
    JN_TRY(r->host.get_key(r->options.host_ctx, o->v.p, &k, &v));
    return from_host(r, &v, out);
}

static janus_status unbox(jn_run *r, const jn_host_call *c, const jn_slot *slots, jn_slot *out) {
    jn_box b = operand(c, slots, 0);
    janus_kind want = (janus_kind)c->node->out[0]->kind;
    if (b.kind == JANUS_KIND_OBJECT && want != JANUS_KIND_OBJECT) {
        janus_host_value v = {0};
        JN_TRY(need((void *)r->host.unbox, "unbox"));
        JN_TRY(r->host.unbox(r->options.host_ctx, b.v.p, want, &v));
        JN_TRY(from_host(r, &v, &b));
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
    if (o->kind != JANUS_KIND_OBJECT) {
        out->i = -(int64_t)o->kind; /* unboxed values: no host type */
        return JANUS_OK;
    }
    JN_TRY(need((void *)r->host.type_of, "type_of"));
    return r->host.type_of(r->options.host_ctx, o->v.p, &out->i);
}

/* ---- writes -------------------------------------------------------------------------------------
 */

static janus_status log_effect(jn_run *r, jn_pending_effect e) {
    return jn_vec_push(&r->effects, e) ? JANUS_OK : JN_NO_MEMORY();
}

static janus_status write_location(jn_run *r, const jn_host_call *c, const jn_slot *slots) {
    jn_box o = operand(c, slots, 0), key = {JANUS_KIND_NONE, {0}}, value;
    JN_TRY(need_object(&o, c));
    int64_t index = c->key;
    int what = H_ATTR;
    jn_effect_kind kind = JN_EFFECT_SET_ATTR;
    if (c->what == H_SETATTR) {
        value = operand(c, slots, 1);
    } else {
        key = operand(c, slots, 1);
        value = operand(c, slots, 2);
        index = key.v.i;
        what = c->what == H_SETITEM ? H_ITEM : H_KEY + 16 * (int)key.kind;
        kind = c->what == H_SETITEM ? JN_EFFECT_SET_ITEM : JN_EFFECT_SET_KEY;
        if (c->what == H_SETITEM && index < 0) {
            int64_t n;
            JN_TRY(length(r, o.v.p, &n));
            index += n;
        }
    }
    jn_overlay_entry *e = overlay_put(r, o.v.p, index, what);
    if (!e)
        return JN_NO_MEMORY();
    e->value = value;
    return log_effect(r, (jn_pending_effect){kind, o.v.p, index, key, value, NULL});
}

static janus_status append(jn_run *r, const jn_host_call *c, const jn_slot *slots) {
    jn_box o = operand(c, slots, 0), value = operand(c, slots, 1);
    JN_TRY(need_object(&o, c));
    jn_overlay_entry *e = overlay_find(r, o.v.p, 0, H_APPEND);
    if (!e) {
        int64_t n;
        JN_TRY(length(r, o.v.p, &n));
        e = overlay_put(r, o.v.p, 0, H_APPEND);
        if (!e)
            return JN_NO_MEMORY();
        e->base_length = n;
    }
    if (!jn_vec_push(&e->appended, value))
        return JN_NO_MEMORY();
    jn_box none = {JANUS_KIND_NONE, {0}};
    return log_effect(r, (jn_pending_effect){JN_EFFECT_APPEND, o.v.p, 0, none, value, NULL});
}

janus_status jn_log_store(jn_run *r, jn_tval *target, jn_tval *value) {
    if (!target || !value || !target->tensor)
        return jn_error(JANUS_INVALID_ARGUMENT,
                        "store: the target must be an argument or a host object's tensor");
    if (target->shape != value->shape)
        return jn_error(JANUS_SHAPE, "store: target and value differ in shape or dtype");
    jn_box none = {JANUS_KIND_NONE, {0}}, v = {JANUS_KIND_TENSOR, {.t = value}};
    return log_effect(r, (jn_pending_effect){JN_EFFECT_STORE, NULL, 0, none, v, target});
}

janus_status jn_host_exec(jn_run *r, const jn_host_call *c, jn_slot *slots, uint32_t dst) {
    jn_box o = operand(c, slots, 0), out;
    switch (c->what) {
    case H_ATTR:
    case H_ITEM:
    case H_KEY:
        JN_TRY(read_location(r, c, &o, slots, &out));
        return box(r, out, &slots[dst]);
    case H_LEN:
        JN_TRY(need_object(&o, c));
        return length(r, o.v.p, &slots[dst].i);
    case H_TYPE:
        return type_of(r, &o, &slots[dst]);
    case H_IS: {
        jn_box b = operand(c, slots, 1);
        slots[dst].i = o.kind == b.kind && o.v.p == b.v.p;
        return JANUS_OK;
    }
    case H_UNBOX:
        return unbox(r, c, slots, &slots[dst]);
    case H_SETATTR:
    case H_SETITEM:
    case H_SETKEY:
        return write_location(r, c, slots);
    case H_APPEND:
        return append(r, c, slots);
    default:
        return jn_error(JANUS_INTERNAL, "unknown host operation");
    }
}
