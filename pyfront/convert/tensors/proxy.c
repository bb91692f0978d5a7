/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of the converter: proxies, and the hook that turns eager ops on them into nodes.
 *
 * A proxy's janus_tensor has a storage without elements, whose user pointer leads to its record.
 */
#include "pyfront/convert/tensors/tensors.h"

#include <string.h>

#include "exec/device/device.h"
#include "ops/attrs.h"
#include "ops/kernel.h"
#include "ops/op_ids.h"
#include "pyfront/tape/tape.h"

typedef struct holder {
    jcv_rec *rec;
} holder;

static bool marked(const janus_tensor *t) { return t->storage->state == JN_STORAGE_PROXY; }

bool jcv_is_proxy(jcv *c, PyObject *o) {
    (void)c;
    return jpy_tensor_check(o) && marked(((jpy_tensor *)o)->t);
}

jcv_rec *jcv_rec_of(jcv *c, const janus_tensor *t) {
    jcv_rec *r = ((holder *)t->storage->user)->rec;
    if (r->c != c)
        jcv_refuse(c, "a tensor of another conversion");
    return r;
}

/* New marked tensor and its record; no jumps: NULL when out of memory. */
static jcv_rec *new_rec(jcv *c, const jn_type *type, const int64_t *strides) {
    for (int i = 0; strides && i < type->rank; i++)
        if (strides[i] < 0)
            return NULL;
    holder *h = jn_calloc(1, sizeof *h);
    jcv_rec *r = jn_arena_zalloc(&c->arena, sizeof *r);
    if (!h || !r) {
        jn_free(h);
        return NULL;
    }
    h->rec = r;
    if (jn_tensor_proxy((janus_dtype)type->dtype, type->rank, type->dims, strides, jn_free, h,
                        &r->t) != JANUS_OK) {
        jn_free(h);
        return NULL;
    }
    r->c = c;
    r->ctx = c->ctx;
    r->frame = c->frame;
    r->root = r;
    r->serial = c->recs ? c->recs->serial + 1 : 1;
    r->next = c->recs;
    c->recs = r;
    return r;
}

PyObject *jcv_track(PyObject *proxy, bool tracked) {
    static const jpy_node_class plain = {"Graph", NULL, NULL, NULL, NULL, false};
    if (!proxy || !tracked)
        return proxy;
    jpy_node *n = jpy_node_new(&plain, 0, 1, NULL, 0);
    if (!n) {
        Py_DECREF(proxy);
        return NULL;
    }
    ((jpy_tensor *)proxy)->node = n;
    ((jpy_tensor *)proxy)->node_out = 0;
    return proxy;
}

static jcv_av *proxy_of(jcv *c, jcv_val *val, bool tracked, const int64_t *strides) {
    jcv_rec *r = new_rec(c, val->type, strides);
    if (!r)
        jcv_refuse(c, "out of memory");
    r->val = val;
    PyObject *o = jcv_track(jpy_tensor_take(r->t), tracked);
    jcv_av *a = jcv_new(c, AV_TENSOR);
    a->py = r->obj = jcv_own(c, o);
    return a;
}

jcv_av *jcv_proxy(jcv *c, jcv_val *val, bool tracked) { return proxy_of(c, val, tracked, NULL); }

jcv_av *jcv_proxy_with_gaps(jcv *c, jcv_val *val, bool tracked, uint32_t gaps) {
    int64_t strides[JN_MAX_RANK], least = 1;
    for (int i = val->type->rank; i-- > 0;) {
        strides[i] = least + (gaps >> i & 1 ? JCV_GAP : 0);
        least = strides[i] * val->type->dims[i];
    }
    jcv_av *a = proxy_of(c, val, tracked, strides);
    jcv_rec_of(c, ((jpy_tensor *)a->py)->t)->gaps = true;
    return a;
}

static const janus_tensor *tensor_of(const jcv_av *a) {
    return a && a->kind == AV_TENSOR ? ((jpy_tensor *)a->py)->t : NULL;
}

jcv_av *jcv_proxy_like(jcv *c, jcv_val *val, bool tracked, const jcv_av *like) {
    const janus_tensor *t = tensor_of(like);
    return proxy_of(c, val, tracked, t ? t->strides : NULL);
}

/* Strides of dims of size 1 say nothing of where an element lies. */
bool jcv_same_layout(const jcv_av *a, const jcv_av *b) {
    const janus_tensor *x = tensor_of(a), *y = tensor_of(b);
    if (!x || !y)
        return true;
    bool same = x->rank == y->rank;
    for (int i = 0; same && i < x->rank; i++)
        same = x->dims[i] == 1 || x->strides[i] == y->strides[i];
    return same;
}

bool jcv_plain_layout(const jcv_av *a) {
    const janus_tensor *t = tensor_of(a);
    int64_t step = 1;
    for (int i = t ? t->rank - 1 : -1; i >= 0; i--) {
        if (t->dims[i] != 1 && t->strides[i] != step)
            return false;
        step *= t->dims[i] ? t->dims[i] : 1;
    }
    return true;
}

jcv_val *jcv_item(jcv *c, jcv_val *v) {
    janus_item_attrs attrs = {sizeof attrs, v->type->dtype == JANUS_BOOL        ? JANUS_KIND_BOOL
                                            : jn_dtype_is_float(v->type->dtype) ? JANUS_KIND_FLOAT
                                                                                : JANUS_KIND_INT};
    return &jcv_op(c, JN_OP(item), &v, 1, &attrs)->out[0];
}

static void make_leaf_guards(jcv *c, jcv_rec *r, jpy_src *src) {
    jpy_src_check_tensor(c->guards, src, r->proxy);
    if (!jn_vec_push(&c->guards->bound, src->slot))
        jcv_refuse(c, "out of memory");
    if (src->tensor.requires_grad && !jpy_guards_distinct(c->guards, src->slot))
        jcv_refuse(c, "out of memory");
}

jcv_av *jcv_proxy_of(jcv *c, jcv_rec *r) {
    if (!r->obj)
        jcv_refuse(c, "a bound tensor was lost");
    jcv_av *a = jcv_new(c, AV_TENSOR);
    a->py = r->obj;
    a->src = r->src;
    return a;
}

jcv_av *jcv_bind_tensor(jcv *c, PyObject *tensor, jpy_src *src) {
    jpy_tensor *p = (jpy_tensor *)tensor;
    bool tracked = jpy_tensor_tracked(p);
    if (!jpy_graph_meets(p->t->storage->device))
        jcv_refuse_py(c);
    jcv_rec **among = &c->bound[((uintptr_t)tensor >> 4) % JCV_BOUND];
    for (jcv_rec *r = *among; r; r = r->next_bound) {
        if (r->proxy != tensor)
            continue;
        if (r->src == src)
            return jcv_proxy_of(c, r);
        if (tracked || c->one_tensor) {
            src->checks |= JPY_CHECK_SAME;
            src->same = r->src->slot;
            return jcv_proxy_of(c, r);
        }
    }
    jn_type type = jn_tensor_as_type(p->t);
    int64_t dims[JN_MAX_RANK], strides[JN_MAX_RANK];
    jpy_src_check_tensor(c->guards, src, tensor);
    memcpy(strides, p->t->strides, (size_t)type.rank * sizeof *strides);
    if (c->image)
        jcv_image_of(c, p->t, src, &type, dims, strides);
    jcv_rec *r = new_rec(c, &type, src->tensor.n_any && p->t->contiguous ? NULL : strides);
    if (!r)
        jcv_refuse(c, "out of memory");
    r->ctx = c->main;
    r->frame = NULL;
    r->src = src;
    r->proxy = tensor;
    r->next_bound = *among;
    *among = r;
    r->val = r->first = jcv_param(c, c->main, jcv_type(c, type));
    r->val->depends = tracked;
    if (!jn_vec_push(&c->inputs, src))
        jcv_refuse(c, "out of memory");
    make_leaf_guards(c, r, src);
    jpy_tensor *proxy = (jpy_tensor *)jcv_own(c, jpy_tensor_take(r->t));
    if (!jpy_tensor_is_leaf(p))
        jcv_track((PyObject *)proxy, true);
    else
        proxy->requires_grad = p->requires_grad;
    jcv_av *a = jcv_new(c, AV_TENSOR);
    a->py = r->obj = (PyObject *)proxy;
    a->src = src;
    return a;
}

/* ---- values of records --------------------------------------------------------------------------
 */

/* Its elements, or the one that all of them are: dims of a conversion may be larger than any
 * memory. */
static janus_status elements_of(janus_tensor *t, janus_tensor **out, size_t *n) {
    bool one = t->numel > 0;
    for (int i = 0; i < t->rank && one; i++)
        one = t->dims[i] == 1 || t->strides[i] == 0;
    *n = one ? 1 : (size_t)t->numel;
    janus_tensor *part = NULL;
    janus_status st = one ? jn_tensor_view(t, 0, NULL, NULL, 0, &part) : JANUS_OK;
    if (st == JANUS_OK)
        st = jn_tensor_to(one ? part : t, NULL, false, out); /* on the host */
    janus_tensor_release(part);
    return st;
}

static jcv_val *constant_of(jcv *c, janus_tensor *t) {
    janus_tensor *flat = NULL;
    size_t size = jn_dtype_size((janus_dtype)t->dtype), n;
    if (elements_of(t, &flat, &n) != JANUS_OK)
        return NULL;
    char *data;
    if (jn_tensor_data(flat, &data) != JANUS_OK) {
        janus_tensor_release(flat);
        return NULL;
    }
    bool uniform = n > 0;
    for (size_t i = 1; uniform && i < n; i++)
        uniform = memcmp(data, data + i * size, size) == 0;
    jcv_node *node = NULL;
    if (uniform && (t->dtype <= JANUS_U8)) {
        janus_scalar s = {0};
        janus_kind kind = JANUS_KIND_INT;
        switch ((janus_dtype)t->dtype) {
        case JANUS_F32:
            s.f = *(const float *)(const void *)data;
            kind = JANUS_KIND_FLOAT;
            break;
        case JANUS_F64:
            s.f = *(const double *)(const void *)data;
            kind = JANUS_KIND_FLOAT;
            break;
        case JANUS_I32:
            s.i = *(const int32_t *)(const void *)data;
            break;
        case JANUS_I64:
            s.i = *(const int64_t *)(const void *)data;
            break;
        case JANUS_BOOL:
            s.i = *data != 0;
            kind = JANUS_KIND_BOOL;
            break;
        default:
            s.i = *(const uint8_t *)data;
        }
        jcv_val *v = jcv_scalar_const(c, kind, s);
        janus_full_attrs attrs = {sizeof attrs, {t->dims, (size_t)t->rank}, t->dtype};
        node = jcv_op_try(c, JN_OP(full), &v, 1, &attrs);
    } else if ((size_t)t->numel == n && n <= 65536) {
        janus_constant_attrs attrs = {sizeof attrs,
                                      {(janus_dtype)t->dtype, t->rank, t->dims, data}};
        node = jcv_op_try(c, JN_OP(constant), NULL, 0, &attrs);
    } else {
        jn_error(JANUS_UNSUPPORTED, "a large tensor is made from Python data");
    }
    janus_tensor_release(flat);
    return node ? &node->out[0] : NULL;
}

jcv_av *jcv_real_tensor_const(jcv *c, PyObject *tensor) {
    jcv_val *v = constant_of(c, ((jpy_tensor *)tensor)->t);
    if (!v)
        jcv_refuse(c, "%s", janus_last_error()->message);
    return jcv_proxy(c, v, false);
}

jcv_val *jcv_tensor_val(jcv *c, PyObject *proxy) {
    jcv_val *v = jcv_held(c, jcv_rec_of(c, ((jpy_tensor *)proxy)->t));
    if (!v)
        jcv_refuse(c, "%s", janus_last_error()->message);
    return v;
}

static jcv_val *operand(jcv *c, janus_tensor *t) {
    if (!marked(t))
        return constant_of(c, t);
    jcv_rec *r = ((holder *)t->storage->user)->rec;
    if (r->c != c || t->numel != r->t->numel || t->rank != r->t->rank ||
        jn_tensor_offset(t) != jn_tensor_offset(r->t) ||
        (t->rank && memcmp(t->dims, r->t->dims, (size_t)t->rank * sizeof(int64_t)) != 0)) {
        jn_error(JANUS_UNSUPPORTED, "a view that the converter does not understand");
        return NULL;
    }
    jcv_val *v = jcv_held(c, r);
    /* what was computed without recording must not carry gradients when it is used with it */
    return v && v->cut && !jpy_no_grad_mode ? jcv_unrecorded(c, v) : v;
}

/* Strides of a view op's result; false: it copies. */
static bool view_strides(const jn_op *op, const jn_eager_arg *in, unsigned n_in, const void *attrs,
                         const jn_type *type, int64_t *strides) {
    if (!(op->flags & JN_OP_VIEW) || !jn_op_impls[op->id].view || in[0].kind != JANUS_KIND_TENSOR)
        return false;
    static int64_t anywhere; /* strides do not depend on a place that only the graph knows */
    jn_view views[8] = {{0}};
    for (unsigned i = 0; i < n_in && i < 8; i++) {
        if (in[i].kind == JANUS_KIND_TENSOR)
            views[i] = jn_tensor_layout(in[i].t);
        else if (in[i].kind == JN_EAGER_ITEM)
            views[i] = (jn_view){&anywhere, NULL, NULL, 0, JANUS_I64, true};
        else
            views[i] = (jn_view){(void *)(uintptr_t)&in[i].s,
                                 NULL,
                                 NULL,
                                 in[i].kind == JANUS_KIND_NONE ? -1 : 0,
                                 in[i].kind == JANUS_KIND_FLOAT  ? JANUS_F64
                                 : in[i].kind == JANUS_KIND_BOOL ? JANUS_BOOL
                                                                 : JANUS_I64,
                                 true};
    }
    int64_t offset = 0;
    return jn_op_impls[op->id].view(views, n_in, attrs, type, strides, &offset);
}

/* A number of the graph on its way through the eager layer is a NaN whose payload says which: a
 * signalling one, since arithmetic makes a quiet one of it, which is not known here any more.  Only
 * its sign may change (the alpha of sub()). */
static const uint64_t tag_bits = 0x7ff04a4e00000000u;

double jcv_tag(jcv *c, jcv_val *v) {
    uint64_t bits = tag_bits | c->tags.n;
    double f;
    memcpy(&f, &bits, sizeof f);
    if (!jn_vec_push(&c->tags, ((jcv_tagged){v, false})))
        jcv_refuse(c, "out of memory");
    return f;
}

static jcv_val *tagged(jcv *c, int kind, janus_scalar s) {
    uint64_t bits = (uint64_t)s.i, minus = (uint64_t)1 << 63;
    if (kind != JANUS_KIND_FLOAT || (bits & 0xffffffff00000000u & ~minus) != tag_bits ||
        (bits & 0xffffffffu) >= c->tags.n)
        return NULL;
    jcv_val *v = c->tags.data[bits & 0xffffffffu].val;
    jcv_node *n = bits & minus ? jcv_op_try(c, JN_OP(s_neg), &v, 1, NULL) : NULL;
    c->tags.data[bits & 0xffffffffu].seen = n || !(bits & minus);
    return n ? &n->out[0] : v;
}

/* Whether a cast only copies what a kernel has made to a tensor of the caller, which the commit
 * does anyway. */
static bool only_stores(const jn_op *op, const jcv_val *v, const jcv_rec *r) {
    const jcv_node *n = v->node;
    return op == JN_OP(cast) && r->src && !r->parent && jcv_same_type(v->type, r->val->type) && n &&
           n->kind == JCV_OP && n->op->role == JN_ROLE_COMPUTE && !(n->op->flags & JN_OP_VIEW) &&
           !(jpy_no_grad_mode && v->depends);
}

/* Whether the tape records an op on these. */
static bool requires_grad(const jn_eager_arg *in, const jcv_val *v) {
    if (!v || in->kind != JANUS_KIND_TENSOR || !marked(in->t))
        return false;
    const jcv_rec *r = ((holder *)in->t->storage->user)->rec;
    return r->obj ? jpy_tensor_tracked((jpy_tensor *)r->obj) : v->depends;
}

static bool recorded(const jn_op *op, const jn_eager_arg *in, jcv_val *const *v, unsigned n) {
    bool any = false;
    for (unsigned i = 0; op->grad && !jpy_no_grad_mode && i < n && !any; i++)
        any = requires_grad(&in[i], v[i]);
    return any;
}

/* Whether the tape keeps result i for the op's gradient. */
static bool keeps_result(const jn_op *op, unsigned i) { return op->save >> (16 + i) & 1; }

/* What the tape keeps must not be written later; what the op itself writes it has copied. */
static janus_status note_saved(jcv *c, const jcv_node *by, const jn_eager_arg *in,
                               jcv_val *const *v, unsigned n, jcv_rec *target) {
    const jn_op *op = by->op;

    for (unsigned i = 0; i < n; i++) {
        if (in[i].kind != JANUS_KIND_TENSOR || !marked(in[i].t) ||
            !(op->save >> (i < 16 ? i : 15) & 1))
            continue;
        if (i < 2 && n > 1 && jpy_is_product(op) && !requires_grad(&in[1 - i], v[1 - i]))
            continue;
        jcv_rec *root = ((holder *)in[i].t->storage->user)->rec->root;
        if (target && target->root == root)
            continue;
        if (root->src && root->written && c->ctx != c->main)
            return jn_error(JANUS_UNSUPPORTED,
                            "a tensor that was written, and that a gradient needs," JCV_INSIDE);
        jcv_save_for(c, root, by);
    }
    if (target && keeps_result(op, 0))
        jcv_save_for(c, target->root, by);
    return JANUS_OK;
}

/* An operand of which a gradient rule looks at the dims only. */
static jcv_val *type_alone(jcv *c, const jn_type *type) {
    jcv_val *zero = jcv_int_const(c, 0);
    janus_full_attrs attrs = {
        sizeof attrs, {type->dims, (size_t)type->rank}, (janus_dtype)type->dtype};
    jcv_node *n = jcv_op_try(c, JN_OP(full), &zero, 1, &attrs);
    return n ? &n->out[0] : NULL;
}

/* A number as the op's row takes it: kernels read a whole one where the row says float, a graph's
 * types have to agree. */
static jcv_val *number(jcv *c, const jn_op *op, unsigned i, const jn_eager_arg *in) {
    bool real = false;
    for (unsigned k = 0; k <= i && op->operands[k].accept != JN_ACCEPT_END; k++)
        real = k == i && op->operands[k].accept == JN_ACCEPT_SCALAR &&
               op->operands[k].dtype_class == JANUS_KIND_FLOAT;
    if (!real || in->kind == JANUS_KIND_FLOAT)
        return jcv_scalar_const(c, (janus_kind)in->kind, in->s);
    return jcv_scalar_const(c, JANUS_KIND_FLOAT, (janus_scalar){.f = (double)in->s.i});
}

/* ends: what is written is no function of what was there. */
static janus_status hooked(const jn_op *op, const jn_eager_arg *in, unsigned n_in,
                           const void *attrs, janus_tensor **out, unsigned n_out,
                           janus_tensor *into, bool ends) {
    jcv *c = jcv_current;
    jcv_val *few[16], **vals = n_in <= 16 ? few : jn_arena_zalloc(&c->arena, n_in * sizeof *vals);
    /* a refusal inside would jump over frames that own references: it is caught here */
    jcv_handler h = {.up = c->handler};
    c->handler = &h;
    janus_status st = JANUS_OK;
    if (setjmp(h.env)) {
        c->handler = h.up;
        c->hook_refused = true;
        c->hook_restarts = c->thrown == THROW_RESTART;
        return jn_error(JANUS_UNSUPPORTED, "%s", c->reason);
    }
    for (unsigned i = 0; i < n_in && st == JANUS_OK; i++) {
        vals[i] = NULL;
        switch ((int)in[i].kind) {
        case JANUS_KIND_NONE:
            break;
        case JANUS_KIND_TENSOR:
            vals[i] = operand(c, in[i].t);
            if (!vals[i])
                st = janus_last_error()->code;
            break;
        case JN_EAGER_ITEM: {
            jcv_val *held = operand(c, in[i].t);
            if (held)
                vals[i] = jcv_item(c, held);
            else
                st = janus_last_error()->code;
            break;
        }
        case JN_EAGER_LIKE:
            vals[i] = c->image ? NULL : type_alone(c, in[i].like);
            if (!vals[i])
                st = jn_error(JANUS_UNSUPPORTED, "%s of a type alone", op->name);
            break;
        default:
            /* where the default generator stands is the run's to know */
            if (op->role == JN_ROLE_RNG && i + 2 >= n_in) {
                if (c->draw_at)
                    vals[i] = c->draw_at[i + 2 - n_in];
                else
                    c->draws++;
                break;
            }
            vals[i] = tagged(c, in[i].kind, in[i].s);
            if (!vals[i])
                vals[i] = number(c, op, i, &in[i]);
        }
    }
    for (unsigned i = 0; i < n_in && st == JANUS_OK && c->image; i++) {
        jcv_val *v = (int)in[i].kind == JANUS_KIND_INT && vals[i]
                         ? jcv_explained(c, vals, n_in, in[i].s.i)
                         : NULL;
        vals[i] = v ? v : vals[i];
    }
    if (st == JANUS_OK && c->image && (op == JN_OP(slice) || op == JN_OP(slice_scatter))) {
        const janus_slice_attrs *a = attrs;
        int axis = (int)a->axis;
        jcv_bounds_hold(c, vals, n_in, axis < 0 ? axis + vals[0]->type->rank : axis);
    }
    if (st == JANUS_OK && c->f->exact)
        jcv_check_layouts(c, op, in, vals, n_in);
    if (st == JANUS_OK && op == JN_OP(reshape) && marked(in[0].t) && !in[0].t->contiguous &&
        ((holder *)in[0].t->storage->user)->rec->root->gaps)
        st = jn_error(JANUS_UNSUPPORTED, "reshape: a view or a copy, as the call has it");
    if (st == JANUS_OK && c->image && op == JN_OP(reshape) && !in[0].t->contiguous)
        jcv_keep_large(c, vals[0]->type); /* a view or a copy */
    jcv_node *n = NULL;
    jcv_rec *target = into && marked(into) ? ((holder *)into->storage->user)->rec : NULL;
    bool on_tape = recorded(op, in, vals, n_in);
    if (st == JANUS_OK && target && vals[0] && only_stores(op, vals[0], target)) {
        st = jcv_write(c, target, vals[0], on_tape, false, ends);
        c->handler = h.up;
        c->hook_refused = c->hook_refused || st != JANUS_OK;
        return st;
    }
    if (st == JANUS_OK) {
        n = jcv_op_try(c, op, vals, n_in, attrs);
        if (!n)
            st = janus_last_error()->code;
    }
    if (st == JANUS_OK && jpy_no_grad_mode)
        for (unsigned i = 0; i < n->n_out; i++) {
            for (unsigned k = 0; k < n_in; k++)
                n->out[i].cut = n->out[i].cut || (vals[k] && (vals[k]->depends || vals[k]->cut));
            n->out[i].depends = false;
        }
    if (st == JANUS_OK && into)
        st = jn_eager_fits(op, n->out[0].type, into);
    if (st == JANUS_OK && into) {
        st = target
                 ? jcv_write(c, target, &n->out[0], on_tape, on_tape && keeps_result(op, 0), ends)
                 : jn_error(JANUS_UNSUPPORTED, "a write to a tensor that is no part of the graph");
    } else if (st == JANUS_OK) {
        for (unsigned i = 0; i < n_out; i++) {
            int64_t strides[JN_MAX_RANK];
            bool view = i == 0 && view_strides(op, in, n_in, attrs, n->out[0].type, strides);
            jcv_rec *r = new_rec(c, n->out[i].type, view ? strides : NULL);
            if (!r) {
                while (i--)
                    janus_tensor_release(out[i]);
                st = jn_error(JANUS_UNSUPPORTED, "%s: a view with negative strides", op->name);
                break;
            }
            r->val = &n->out[i];
            if (view && marked(in[0].t))
                jcv_keep_view(c, r, ((holder *)in[0].t->storage->user)->rec, op, n);
            if (on_tape && keeps_result(op, i))
                jcv_save_for(c, r->root, n);
            out[i] = r->t;
        }
    }
    if (st == JANUS_OK && on_tape)
        st = note_saved(c, n, in, vals, n_in, target);
    c->handler = h.up;
    if (st != JANUS_OK)
        c->hook_refused = true;
    return st;
}

janus_status jcv_hook(const jn_op *op, const jn_eager_arg *in, unsigned n_in, const void *attrs,
                      janus_tensor **out, unsigned n_out, janus_tensor *into) {
    if (!into || op != JN_OP(overwrite))
        return hooked(op, in, n_in, attrs, out, n_out, into, into && !op->grad);
    janus_cast_attrs stored = {sizeof stored, (janus_dtype)into->dtype};
    return hooked(JN_OP(cast), in, 1, &stored, out, n_out, into, true);
}

void jcv_layout_matters(jcv *c, PyObject *proxy) {
    const janus_tensor *t = ((jpy_tensor *)proxy)->t;
    const jn_type *type = jcv_tensor_val(c, proxy)->type;
    jcv_keep_large(c, type);
    if (t->contiguous || !jcv_any_dim_varies(c, type))
        return;
    jpy_layout layout; /* a part that may be the whole: gaps between its rows, or none */
    if (!jpy_layout_of(t->rank, t->dims, t->strides, &layout) || layout.gaps)
        jcv_refuse(c, "the layout of a part of a tensor whose size varies");
}

jpy_src *jcv_bound_src(jcv *c, jcv_av *a) {
    jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)a->py)->t);
    return r->src;
}

jcv_av *jcv_view(jcv *c, PyObject *of, jcv_node *n) {
    int64_t strides[JN_MAX_RANK];
    jn_eager_arg in[3] = {{.kind = JANUS_KIND_TENSOR, .t = ((jpy_tensor *)of)->t},
                          {.kind = JN_EAGER_ITEM},
                          {.kind = JN_EAGER_ITEM}};
    for (unsigned i = 1; i < n->n_in; i++) {
        const jcv_val *v = n->in[i];
        if (!v)
            in[i].kind = JANUS_KIND_NONE;
        else if (v->sized)
            in[i] = (jn_eager_arg){.kind = JANUS_KIND_INT, .s = v->image};
        else if (v->node && v->node->kind == JCV_SCALAR_CONST)
            in[i] = (jn_eager_arg){.kind = JANUS_KIND_INT, .s = v->node->scalar};
    }
    bool known = view_strides(n->op, in, n->n_in, n->attrs, n->out[0].type, strides);
    jcv_av *a = proxy_of(c, &n->out[0], jpy_tensor_tracked((jpy_tensor *)of) && !jpy_no_grad_mode,
                         known ? strides : NULL);
    jcv_keep_view(c, jcv_rec_of(c, ((jpy_tensor *)a->py)->t), jcv_rec_of(c, ((jpy_tensor *)of)->t),
                  n->op, n);
    return a;
}

jcv_av *jcv_detach(jcv *c, PyObject *proxy) {
    jcv_rec *of = jcv_rec_of(c, ((jpy_tensor *)proxy)->t);
    jcv_val *v = jcv_tensor_val(c, proxy);
    jcv_node *n = jcv_op(c, JN_OP(detach), &v, 1, NULL);
    n->out[0].depends = false;
    jcv_av *a = proxy_of(c, &n->out[0], false, of->t->strides);
    jcv_keep_view(c, jcv_rec_of(c, ((jpy_tensor *)a->py)->t), of, JN_OP(detach), n);
    return a;
}
