/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter of the op tests. */
#include "config.h"

#include "tests/conformance/interp.h"

#include "graph/base/alloc.h"
#include "ops/attrs.h"
#include "ops/ref/ref.h"
#include "ops/scalar.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p) {
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return p;
}

static janus_status emit(jn_emitter *e, const jn_op *op, const jn_ev *in, unsigned n_in,
                         const void *attrs, jn_ev *out, unsigned n_out) {
    val *v[64], *o[8];
    for (unsigned i = 0; i < n_in; i++)
        v[i] = (val *)(uintptr_t)in[i].bits;
    JN_TRY(tape_run((tape *)e, op, v, n_in, attrs, o, n_out));
    for (unsigned i = 0; i < n_out; i++)
        out[i] = (jn_ev){(uintptr_t)o[i]};
    return JANUS_OK;
}

static janus_status emit_scalar(jn_emitter *e, janus_kind kind, janus_scalar v, jn_ev *out) {
    *out = (jn_ev){(uintptr_t)val_scalar((tape *)e, kind, v)};
    return JANUS_OK;
}

static const jn_type *emit_type(jn_emitter *e, jn_ev v) {
    static jn_type unknown;
    static int64_t dims[JN_MAX_RANK];
    const jn_type *t = &((val *)(uintptr_t)v.bits)->t;
    if (!((tape *)e)->blur || t->kind != JANUS_KIND_TENSOR)
        return t;
    for (int i = 0; i < JN_MAX_RANK; i++)
        dims[i] = JN_DIM_UNKNOWN;
    unknown = *t;
    unknown.dims = dims;
    return &unknown;
}

void tape_init(tape *t, device dev) {
    static const jn_emitter_ops ops = {emit, emit_scalar, emit_type};
    memset(t, 0, sizeof *t);
    t->base.ops = &ops;
    t->dev = dev;
    t->poison = true;
    jn_arena_init(&t->arena, 0);
}

void tape_free(tape *t) {
    jn_arena_free(&t->arena);
    free(t->nodes);
}

val *val_tensor(tape *t, int dtype, int rank, const int64_t *dims) {
    val *v = must(jn_arena_zalloc(&t->arena, sizeof *v));
    v->numel = 1;
    for (int i = rank - 1; i >= 0; i--) {
        v->dims[i] = dims[i];
        v->strides[i] = v->numel;
        v->numel *= dims[i];
    }
    v->t = jn_tensor_type((janus_dtype)dtype, rank, v->dims);
    size_t bytes = (size_t)v->numel * jn_dtype_size((janus_dtype)dtype) + 64;
    char *p = must(jn_arena_zalloc(&t->arena, bytes + 64));
    v->data = p + (64 - (uintptr_t)p % 64);
    return v;
}

val *val_scalar(tape *t, janus_kind kind, janus_scalar s) {
    int dtype = kind == JANUS_KIND_INT     ? JANUS_I64
                : kind == JANUS_KIND_FLOAT ? JANUS_F64
                                           : JANUS_BOOL;
    val *v = val_tensor(t, dtype, 0, NULL);
    v->t = jn_scalar_type(kind);
    if (kind == JANUS_KIND_BOOL)
        *(uint8_t *)v->data = s.i != 0;
    else
        memcpy(v->data, &s, sizeof s);
    return v;
}

static janus_scalar scalar_of(const val *v) {
    janus_scalar s = {0};
    if (v->t.kind == JANUS_KIND_BOOL)
        s.i = *(const uint8_t *)v->data;
    else
        memcpy(&s, v->data, sizeof s);
    return s;
}

jn_view val_view(const val *v) {
    if (!v)
        return (jn_view){.rank = -1};
    int dtype = v->t.kind == JANUS_KIND_TENSOR ? v->t.dtype
                : v->t.kind == JANUS_KIND_INT  ? JANUS_I64
                : v->t.kind == JANUS_KIND_BOOL ? JANUS_BOOL
                                               : JANUS_F64;
    int rank = v->t.kind == JANUS_KIND_TENSOR ? v->t.rank : 0;
    int64_t n = 1;
    bool contiguous = true;
    for (int i = rank - 1; i >= 0; i--) {
        contiguous &= v->dims[i] == 1 || v->strides[i] == n;
        n *= v->dims[i];
    }
    return (jn_view){v->data, v->dims, v->strides, (int16_t)rank, (uint8_t)dtype, contiguous};
}

static int64_t offset_of(const val *v, int64_t i) {
    int64_t o = 0;
    for (int d = v->t.rank - 1; d >= 0; d--) {
        o += i % v->dims[d] * v->strides[d];
        i /= v->dims[d];
    }
    return o;
}

double val_get(const val *v, int64_t i) {
    jn_view w = val_view(v);
    return jn_load_f(&w, w.rank ? offset_of(v, i) : 0);
}
void val_set(val *v, int64_t i, double f) {
    jn_view w = val_view(v);
    jn_store_f(&w, w.rank ? offset_of(v, i) : 0, f);
}

unsigned op_n_out(const jn_op *op) { return op->n_out == 255 ? 1 : op->n_out; }

/* ---- running one op
 * ------------------------------------------------------------------------------ */

static int64_t *dims_of(jn_infer *c, unsigned rank) {
    return jn_arena_alloc(c->user, (rank + 1) * sizeof(int64_t));
}

/* STRIDED kernels take operands as they are; others want them row-major. */
static val *contiguous(tape *t, val *v) {
    jn_view w = val_view(v);
    if (!v || w.rank < 1 || w.contiguous)
        return v;
    val *r = val_tensor(t, v->t.dtype, v->t.rank, v->dims);
    jn_view to = val_view(r);
    for (int64_t i = 0; i < v->numel; i++)
        jn_copy_element(&to, i, &w, offset_of(v, i));
    return r;
}

static janus_status run_scalar(tape *t, const jn_op *op, val *const *in, unsigned n,
                               const void *attrs, val **out) {
    janus_scalar s[3], r;
    uint8_t kinds[3];
    if (op->id == JN_OP_ID_size) {
        int64_t axis = ((const janus_size_attrs *)attrs)->axis;
        r.i = in[0]->dims[axis < 0 ? axis + in[0]->t.rank : axis];
        out[0] = val_scalar(t, JANUS_KIND_INT, r);
        return JANUS_OK;
    }
    for (unsigned i = 0; i < n; i++) {
        s[i] = scalar_of(in[i]);
        kinds[i] = in[i]->t.kind;
    }
    JN_TRY(jn_scalar_eval(op, s, kinds, n, &r));
    out[0] = val_scalar(t, jn_scalar_kind(op, kinds, n), r);
    return JANUS_OK;
}

/* Operand i gives its type only. */
static bool is_like(const jn_op *op, unsigned i) {
    const jn_operand *o = op->operands;
    for (unsigned k = 0; k < i && !o->variadic; k++)
        o++;
    return o->accept == JN_ACCEPT_LIKE;
}

static void record(tape *t, const jn_op *op, val *const *in, unsigned n_in, const void *attrs,
                   val *const *out, unsigned n_out) {
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 64;
        t->nodes = must(realloc(t->nodes, t->cap * sizeof *t->nodes));
    }
    node *nd = &t->nodes[t->n++];
    *nd = (node){op, n_in, n_out, NULL, NULL, attrs};
    nd->in = must(jn_arena_alloc(&t->arena, (n_in + 1) * sizeof *in));
    nd->out = must(jn_arena_alloc(&t->arena, (n_out + 1) * sizeof *out));
    for (unsigned i = 0; i < n_in; i++)
        nd->in[i] = in[i];
    for (unsigned i = 0; i < n_out; i++)
        nd->out[i] = out[i];
    for (unsigned i = 0; i < n_in; i++) {
        for (unsigned k = 0; in[i] && in[i]->needs && !is_like(op, i) && k < n_out; k++)
            out[k]->needs |= jn_dtype_is_float(out[k]->t.dtype);
    }
}

janus_status tape_run(tape *t, const jn_op *op, val *const *in, unsigned n_in, const void *attrs,
                      val **out, unsigned n_out) {
    const jn_type *types[64];
    const int64_t *cv[64];
    int64_t cvv[64];
    jn_type ot[8];
    jn_view iv[64], ov[8];
    const void *own;
    jn_arena_alloc(&t->arena, 1);
    JN_TRY(jn_attrs_copy(op, attrs, &t->arena, &own));
    for (unsigned i = 0; i < n_in; i++) {
        types[i] = in[i] ? &in[i]->t : NULL;
        cv[i] = NULL;
        if (in[i] && (in[i]->t.kind == JANUS_KIND_INT || in[i]->t.kind == JANUS_KIND_BOOL)) {
            cvv[i] = scalar_of(in[i]).i;
            cv[i] = &cvv[i];
        }
    }
    jn_infer c = {op, n_in, types, cv, own, n_out, ot, dims_of, &t->arena};
    JN_TRY(jn_infer_run(&c));
    if (op->role == JN_ROLE_SCALAR)
        return run_scalar(t, op, in, n_in, own, out);
    for (unsigned i = 0; i < n_in; i++) {
        val *v = in[i] && !(op->flags & JN_OP_STRIDED) ? contiguous(t, in[i]) : in[i];
        iv[i] = val_view(v);
    }
    for (unsigned i = 0; i < n_out; i++) {
        out[i] = val_tensor(t, ot[i].dtype, ot[i].rank, ot[i].dims);
        ov[i] = val_view(out[i]);
        memset(out[i]->data, 0x5a, (size_t)out[i]->numel * jn_dtype_size(ot[i].dtype));
    }
    const jn_op_impl *impl = &jn_op_impls[op->id];
    jn_sig sig = {op, iv, ov, (uint16_t)n_in, (uint16_t)n_out, own};
    jn_select_fn select = t->dev == DEVICE_CPU ? impl->cpu : impl->ref;
    jn_kernel_fn kernel = select ? select(&sig) : NULL;
    if (!kernel)
        return jn_error(JANUS_UNSUPPORTED, "%s: no kernel", op->name);
    size_t ws = impl->workspace ? impl->workspace(&sig) : 0;
    void *workspace = ws ? must(jn_alloc_aligned(ws)) : NULL;
    jn_kargs k = {iv,
                  ov,
                  (uint16_t)n_in,
                  (uint16_t)n_out,
                  own,
                  workspace,
                  &t->flags,
                  &jn_par_serial,
                  false,
                  false,
                  0,
                  NULL,
                  NULL,
                  NULL};
    kernel(&k);
    jn_free_aligned(workspace);
    record(t, op, in, n_in, own, out, n_out);
    return JANUS_OK;
}

/* ---- backward
 * ------------------------------------------------------------------------------------ */

static janus_status accumulate(tape *t, val *v, val *d) {
    if (!v->cot) {
        v->cot = d;
        return JANUS_OK;
    }
    val *in[2] = {v->cot, d};
    return tape_run(t, JN_OP(add), in, 2, NULL, &v->cot, 1);
}

/* A value of the same type full of NaN: what a rule may look at but not read. */
static val *ghost(tape *t, const val *v) {
    if (!v || v->t.kind != JANUS_KIND_TENSOR)
        return (val *)v;
    val *r = val_tensor(t, v->t.dtype, v->t.rank, v->dims);
    for (int64_t i = 0; i < r->numel; i++)
        val_set(r, i, jn_dtype_is_float(v->t.dtype) ? NAN : 1e9);
    return r;
}

static bool same_type(const val *a, const val *b) {
    bool same = a->t.dtype == b->t.dtype && a->t.rank == b->t.rank;
    for (int i = 0; same && i < a->t.rank; i++)
        same = a->dims[i] == b->dims[i];
    return same;
}

static janus_status node_backward(tape *t, const node *nd) {
    jn_ev in[64], out[8], dout[8], din[64];
    bool want[64], any = false, arrives = false;
    for (unsigned i = 0; i < nd->n_in; i++) {
        bool listed = nd->op->save >> i & 1;
        in[i] = (jn_ev){(uintptr_t)(listed || !t->poison ? nd->in[i] : ghost(t, nd->in[i]))};
        want[i] = nd->in[i] && nd->in[i]->needs && !is_like(nd->op, i);
        din[i] = JN_EV_NONE;
        any |= want[i];
    }
    for (unsigned i = 0; i < nd->n_out; i++) {
        bool listed = nd->op->save >> (16 + i) & 1;
        out[i] = (jn_ev){(uintptr_t)(listed || !t->poison ? nd->out[i] : ghost(t, nd->out[i]))};
        dout[i] = (jn_ev){(uintptr_t)nd->out[i]->cot};
        arrives |= nd->out[i]->cot != NULL;
    }
    if (!any || !arrives)
        return JANUS_OK;
    if (!nd->op->grad)
        return jn_error(JANUS_UNSUPPORTED, "%s has no gradient rule", nd->op->name);
    jn_grad g = {&t->base, nd->op, nd->attrs, nd->n_in, nd->n_out, in, out, dout, want, din};
    node copy = *nd; /* nodes may move while the rule emits */
    JN_TRY(copy.op->grad(&g));
    for (unsigned i = 0; i < copy.n_in; i++) {
        val *d = (val *)(uintptr_t)din[i].bits;
        if (!d || !want[i])
            continue;
        if (!same_type(d, copy.in[i]))
            return jn_error(JANUS_SHAPE, "%s: gradient of operand %u is not of its type",
                            copy.op->name, i);
        JN_TRY(accumulate(t, copy.in[i], d));
    }
    return JANUS_OK;
}

janus_status tape_backward(tape *t, val *const *y, val *const *dy, unsigned n) {
    size_t from = t->n;
    for (unsigned i = 0; i < n; i++) {
        if (y[i] && dy[i])
            JN_TRY(accumulate(t, y[i], dy[i]));
    }
    for (size_t i = from; i-- > 0;) {
        node nd = t->nodes[i];
        JN_TRY(node_backward(t, &nd));
    }
    return JANUS_OK;
}

void tape_clear(tape *t) {
    for (size_t i = 0; i < t->n; i++) {
        for (unsigned k = 0; k < t->nodes[i].n_in; k++) {
            if (t->nodes[i].in[k])
                t->nodes[i].in[k]->cot = NULL;
        }
        for (unsigned k = 0; k < t->nodes[i].n_out; k++)
            t->nodes[i].out[k]->cot = NULL;
    }
}
