/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One op, now.
 *
 * A call lives on the C stack: operand views, inferred types and their dims, result tensors.  Only
 * calls with many operands (concat of a long list) take their arrays from the heap.  Temporaries
 * (contiguous copies of operands, workspace) die before the call returns.
 */
#include "config.h"

#include "exec/eager.h"

#include <string.h>

#include "exec/device.h"
#include "exec/par.h"
#include "exec/pool.h"
#include "graph/base/alloc.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"

_Thread_local jn_eager_hook_fn jn_eager_hook;

enum { FEW = 8, DIM_ROOM = JN_EAGER_MAX_OUT * JN_MAX_RANK };

typedef union scalar_cell {
    int64_t i;
    double f;
    bool b;
} scalar_cell;

typedef struct call {
    const jn_op *op;
    const jn_op_impl *impl;
    unsigned n_in, n_out;
    const void *attrs;
    jn_view *in;
    jn_type *types;
    const jn_type **type_of;
    const int64_t **cv;
    scalar_cell *cells;
    janus_tensor **temps; /* contiguous copies of operands, NULL where none */
    jn_type out_types[JN_EAGER_MAX_OUT];
    int64_t dims[DIM_ROOM];
    unsigned n_dims;
    jn_device *device; /* of the operands; NULL: the host */
    void *block;       /* the arrays above, when there are many operands */
} call;

/* Room for the arrays of a call with few operands. */
typedef struct few {
    jn_view in[FEW];
    jn_type types[FEW];
    const jn_type *type_of[FEW];
    const int64_t *cv[FEW];
    scalar_cell cells[FEW];
    janus_tensor *temps[FEW];
} few;

static int64_t *dims_of(jn_infer *c, unsigned rank) {
    call *k = c->user;
    if (k->n_dims + rank > DIM_ROOM)
        return NULL;
    int64_t *dims = k->dims + k->n_dims;
    k->n_dims += rank;
    return dims;
}

static janus_status call_init(call *k, few *room, const jn_op *op, unsigned n_in, const void *attrs,
                              unsigned n_out) {
    if (n_out > JN_EAGER_MAX_OUT)
        return jn_error(JANUS_INTERNAL, "%s: more results than an eager call can give", op->name);
    k->op = op;
    k->impl = &jn_op_impls[op->id];
    k->n_in = n_in;
    k->n_out = n_out;
    k->attrs = attrs;
    k->n_dims = 0;
    k->device = NULL;
    k->block = NULL;
    if (JN_LIKELY(n_in <= FEW)) {
        k->in = room->in;
        k->types = room->types;
        k->type_of = room->type_of;
        k->cv = room->cv;
        k->cells = room->cells;
        k->temps = room->temps;
        for (unsigned i = 0; i < n_in; i++)
            k->temps[i] = NULL;
        return JANUS_OK;
    }
    size_t each = sizeof *k->in + sizeof *k->types + sizeof *k->type_of + sizeof *k->cv +
                  sizeof *k->cells + sizeof *k->temps;
    char *p = jn_calloc(n_in, each);
    if (!p)
        return JN_NO_MEMORY();
    k->block = p;
    k->in = (jn_view *)(void *)p;
    p += n_in * sizeof *k->in;
    k->types = (jn_type *)(void *)p;
    p += n_in * sizeof *k->types;
    k->type_of = (const jn_type **)(void *)p;
    p += n_in * sizeof *k->type_of;
    k->cv = (const int64_t **)(void *)p;
    p += n_in * sizeof *k->cv;
    k->cells = (scalar_cell *)(void *)p;
    p += n_in * sizeof *k->cells;
    k->temps = (janus_tensor **)(void *)p;
    return JANUS_OK;
}

static void call_done(call *k) {
    for (unsigned i = 0; i < k->n_in; i++)
        if (k->temps[i])
            janus_tensor_release(k->temps[i]);
    jn_free(k->block);
}

/* Operand position's declaration; the last one stands for all further operands. */
static const jn_operand *operand_of(const jn_op *op, unsigned i) {
    unsigned k = 0;
    while (k < i && op->operands[k].accept != JN_ACCEPT_END && !op->operands[k].variadic)
        k++;
    return &op->operands[k];
}

static void take_scalar(call *k, unsigned i, janus_kind kind, janus_scalar s) {
    janus_kind want = (janus_kind)operand_of(k->op, i)->dtype_class;
    if (want == JANUS_KIND_FLOAT && kind != JANUS_KIND_FLOAT) {
        s.f = (double)s.i;
        kind = JANUS_KIND_FLOAT;
    }
    janus_dtype dtype = JANUS_I64;
    k->cv[i] = NULL;
    if (kind == JANUS_KIND_FLOAT) {
        k->cells[i].f = s.f;
        dtype = JANUS_F64;
    } else {
        k->cells[i].i = s.i; /* a bool's byte is the first one of the number */
        if (kind == JANUS_KIND_BOOL) {
            k->cells[i].i = 0;
            k->cells[i].b = s.i != 0;
            dtype = JANUS_BOOL;
        }
        k->cv[i] = &k->cells[i].i;
    }
    k->types[i] = jn_scalar_type(kind);
    k->type_of[i] = &k->types[i];
    k->in[i] = (jn_view){&k->cells[i], NULL, NULL, 0, (uint8_t)dtype, true};
}

static janus_status take_operands(call *k, const jn_eager_arg *in) {
    for (unsigned i = 0; i < k->n_in; i++) {
        switch (in[i].kind) {
        case JANUS_KIND_TENSOR:
            k->in[i] = jn_tensor_as_view(in[i].t);
            k->types[i] = jn_tensor_as_type(in[i].t);
            k->type_of[i] = &k->types[i];
            k->cv[i] = NULL;
            break;
        case JN_EAGER_LIKE:
            if (operand_of(k->op, i)->accept != JN_ACCEPT_LIKE)
                return jn_error(JANUS_INTERNAL, "%s: operand %u has no data", k->op->name, i);
            k->in[i] =
                (jn_view){NULL, in[i].like->dims, NULL, in[i].like->rank, in[i].like->dtype, false};
            k->type_of[i] = in[i].like;
            k->cv[i] = NULL;
            break;
        case JANUS_KIND_NONE:
            k->in[i] = (jn_view){.rank = -1};
            k->type_of[i] = NULL;
            k->cv[i] = NULL;
            break;
        default:
            take_scalar(k, i, (janus_kind)in[i].kind, in[i].s);
        }
    }
    return JANUS_OK;
}

/* With device tensors about: where the call runs.  0-d host tensors go there with it. */
static janus_status find_device(call *k, const jn_eager_arg *in, const janus_tensor *dst) {
    JN_TRY(jn_dev_of_args(in, k->n_in, dst, &k->device));
    for (unsigned i = 0; i < k->n_in && k->device; i++) {
        if (in[i].kind != JANUS_KIND_TENSOR || in[i].t->storage->device)
            continue;
        JN_TRY(jn_tensor_to(in[i].t, k->device, false, &k->temps[i]));
        k->in[i] = jn_tensor_as_view(k->temps[i]);
    }
    return JANUS_OK;
}

static janus_status new_result(const call *k, unsigned i, janus_tensor **out) {
    const jn_type *t = &k->out_types[i];
    if (JN_UNLIKELY(k->device != NULL))
        return jn_dev_tensor(k->device, (janus_dtype)t->dtype, t->rank, t->dims, out);
    return jn_tensor_empty((janus_dtype)t->dtype, t->rank, t->dims, out);
}

static janus_status infer(call *k) {
    jn_infer c = {.op = k->op,
                  .n_in = k->n_in,
                  .in = k->type_of,
                  .cv = k->cv,
                  .attrs = k->attrs,
                  .n_out = k->n_out,
                  .out = k->out_types,
                  .dims_of = dims_of,
                  .user = k};
    JN_TRY(jn_infer_run(&c));
    for (unsigned i = 0; i < k->n_out; i++)
        if (k->out_types[i].kind != JANUS_KIND_TENSOR || !jn_type_static(&k->out_types[i]))
            return jn_error(JANUS_UNSUPPORTED, "%s: no tensor of a known shape results",
                            k->op->name);
    return JANUS_OK;
}

/* Operands the kernel reads must be row-major unless the row says STRIDED. */
static janus_status straighten(call *k, const jn_eager_arg *in) {
    if (k->op->flags & JN_OP_STRIDED)
        return JANUS_OK;
    for (unsigned i = 0; i < k->n_in; i++) {
        if (in[i].kind != JANUS_KIND_TENSOR || in[i].t->contiguous || k->temps[i])
            continue;
        JN_TRY(jn_tensor_contiguous(in[i].t, &k->temps[i]));
        k->in[i] = jn_tensor_as_view(k->temps[i]);
    }
    return JANUS_OK;
}

static janus_status flag_error(const jn_op *op, uint32_t flags) {
    if (flags & JN_KFLAG_INDEX)
        return jn_error(JANUS_INDEX, "%s: index out of range", op->name);
    if (flags & JN_KFLAG_DIVZERO)
        return jn_error(JANUS_ARITHMETIC, "%s: integer division or modulo by zero", op->name);
    if (flags & JN_KFLAG_MEMORY)
        return jn_error(JANUS_NO_MEMORY, "%s: out of memory", op->name);
    return jn_error(JANUS_ARITHMETIC, "%s: integer overflow", op->name);
}

static janus_status compute_on_device(call *k, const jn_sig *sig) {
    jn_device *d = k->device;
    jn_kernel_fn kernel = jn_dev_select(d, sig);
    jn_dev_block *workspace = NULL;
    if (!kernel)
        return jn_error(JANUS_UNSUPPORTED, "%s: not implemented on cuda for operands of dtype %s",
                        k->op->name, k->n_in ? jn_dtype_name((janus_dtype)k->in[0].dtype) : "none");
    size_t need = d->module->workspace(sig);
    if (need)
        JN_TRY(jn_dev_pool_take(&d->pool, need, d->stream, &workspace));
    jn_kargs args = {.in = k->in,
                     .out = sig->out,
                     .n_in = (uint16_t)k->n_in,
                     .n_out = (uint16_t)k->n_out,
                     .attrs = k->attrs,
                     .workspace = workspace ? workspace->data : NULL};
    janus_status st = jn_dev_launch(d, k->op, kernel, &args, NULL, 0);
    jn_dev_pool_free(&d->pool, workspace);
    return st;
}

static janus_status compute(call *k, const jn_view *out) {
    jn_sig sig = {k->op, k->in, out, (uint16_t)k->n_in, (uint16_t)k->n_out, k->attrs};
    if (JN_UNLIKELY(k->device != NULL))
        return compute_on_device(k, &sig);
    jn_kernel_fn kernel = k->impl->cpu ? k->impl->cpu(&sig) : NULL;
    if (!kernel)
        return jn_error(JANUS_UNSUPPORTED, "%s: not implemented for operands of dtype %s",
                        k->op->name, k->n_in ? jn_dtype_name((janus_dtype)k->in[0].dtype) : "none");
    size_t need = k->impl->workspace ? k->impl->workspace(&sig) : 0;
    void *workspace = NULL;
    if (need && !(workspace = jn_pool_alloc(need)))
        return jn_error(JANUS_NO_MEMORY, "%s: no memory for %zu bytes of workspace", k->op->name,
                        need);
    uint32_t flags = 0;
    jn_kargs args = {.in = k->in,
                     .out = out,
                     .n_in = (uint16_t)k->n_in,
                     .n_out = (uint16_t)k->n_out,
                     .attrs = k->attrs,
                     .workspace = workspace,
                     .flags = &flags,
                     .par = jn_eager_par()};
    kernel(&args);
    jn_pool_free(workspace, need);
    return flags ? flag_error(k->op, flags) : JANUS_OK;
}

/* A VIEW op as an alias of operand 0; *out NULL: not possible. */
static janus_status alias(call *k, const jn_eager_arg *in, janus_tensor **out) {
    const jn_type *type = &k->out_types[0];
    int64_t strides[JN_MAX_RANK], offset = 0;
    *out = NULL;
    if (!k->impl->view(k->in, k->n_in, k->attrs, type, strides, &offset))
        return JANUS_OK;
    return jn_tensor_view(in[0].t, type->rank, type->dims, strides, offset, out);
}

static janus_status run(call *k, const jn_eager_arg *in, janus_tensor **out) {
    JN_TRY(take_operands(k, in));
    if (JN_UNLIKELY(jn_dev_in_use))
        JN_TRY(find_device(k, in, NULL));
    JN_TRY(infer(k));
    if ((k->op->flags & JN_OP_VIEW) && k->impl->view && in[0].kind == JANUS_KIND_TENSOR) {
        JN_TRY(alias(k, in, out));
        if (*out)
            return JANUS_OK;
    }
    JN_TRY(straighten(k, in));
    jn_view views[JN_EAGER_MAX_OUT];
    unsigned made = 0;
    janus_status st = JANUS_OK;
    for (; made < k->n_out && st == JANUS_OK; made++) {
        st = new_result(k, made, &out[made]);
        if (st != JANUS_OK)
            break;
        views[made] = jn_tensor_as_view(out[made]);
    }
    if (st == JANUS_OK)
        st = compute(k, views);
    if (st != JANUS_OK)
        while (made > 0)
            janus_tensor_release(out[--made]);
    return st;
}

janus_status jn_eager(const jn_op *op, const jn_eager_arg *in, unsigned n_in, const void *attrs,
                      janus_tensor **out, unsigned n_out) {
    if (JN_UNLIKELY(jn_eager_hook != NULL))
        return jn_eager_hook(op, in, n_in, attrs, out, n_out, NULL);
    call k;
    few room;
    JN_TRY(call_init(&k, &room, op, n_in, attrs, n_out));
    janus_tensor *results[JN_EAGER_MAX_OUT];
    janus_status st = run(&k, in, results);
    if (st == JANUS_OK)
        memcpy(out, results, n_out * sizeof *out);
    call_done(&k);
    return st;
}

static janus_status check_dst(const call *k, const janus_tensor *dst) {
    const jn_type *t = &k->out_types[0];
    bool same = t->rank == dst->rank;
    for (int i = 0; same && i < t->rank; i++)
        same = t->dims[i] == dst->dims[i];
    if (!same) {
        jn_str s = {0};
        jn_type have = jn_tensor_as_type(dst);
        jn_type_print(&s, t);
        jn_str_append(&s, " does not fit into ");
        jn_type_print(&s, &have);
        janus_status st = jn_error(JANUS_SHAPE, "%s in place: the result %s", k->op->name,
                                   jn_str_ok(&s) && s.data ? s.data : "");
        jn_str_free(&s);
        return st;
    }
    if (t->dtype != dst->dtype)
        return jn_error(JANUS_DTYPE, "%s in place: the result is %s, the tensor %s", k->op->name,
                        jn_dtype_name((janus_dtype)t->dtype),
                        jn_dtype_name((janus_dtype)dst->dtype));
    return JANUS_OK;
}

static janus_status run_into(call *k, const jn_eager_arg *in, janus_tensor *dst) {
    JN_TRY(take_operands(k, in));
    if (JN_UNLIKELY(jn_dev_in_use))
        JN_TRY(find_device(k, in, dst));
    JN_TRY(infer(k));
    JN_TRY(check_dst(k, dst));
    JN_TRY(straighten(k, in));
    bool direct = dst->contiguous && k->n_out == 1;
    for (unsigned i = 0; i < k->n_in && direct; i++) {
        if (in[i].kind != JANUS_KIND_TENSOR || k->temps[i] || !jn_tensor_overlap(in[i].t, dst))
            continue;
        direct = i == 0 && (k->op->flags & JN_OP_INPLACE0) && jn_tensor_same_view(in[i].t, dst);
    }
    if (direct) {
        jn_view view = jn_tensor_as_view(dst);
        return compute(k, &view);
    }
    janus_tensor *out[JN_EAGER_MAX_OUT];
    jn_view views[JN_EAGER_MAX_OUT];
    unsigned made = 0;
    janus_status st = JANUS_OK;
    for (; made < k->n_out; made++) {
        st = new_result(k, made, &out[made]);
        if (st != JANUS_OK)
            break;
        views[made] = jn_tensor_as_view(out[made]);
    }
    if (st == JANUS_OK)
        st = compute(k, views);
    if (st == JANUS_OK)
        st = jn_tensor_copy(dst, out[0]);
    while (made > 0)
        janus_tensor_release(out[--made]);
    return st;
}

janus_status jn_eager_into(const jn_op *op, const jn_eager_arg *in, unsigned n_in,
                           const void *attrs, janus_tensor *dst) {
    if (JN_UNLIKELY(jn_eager_hook != NULL))
        return jn_eager_hook(op, in, n_in, attrs, NULL, 1, dst);
    call k;
    few room;
    JN_TRY(call_init(&k, &room, op, n_in, attrs, op->n_out));
    janus_status st = run_into(&k, in, dst);
    call_done(&k);
    return st;
}

/* An elementwise op without attributes whose result has `like`'s dtype and dims. */
static janus_status run_like(const jn_op *op, janus_tensor *const *ts, unsigned n,
                             const janus_tensor *like, janus_tensor **out) {
    if (JN_UNLIKELY(jn_eager_hook != NULL)) {
        jn_eager_arg args[2];
        for (unsigned i = 0; i < n; i++)
            args[i] = (jn_eager_arg){.kind = JANUS_KIND_TENSOR, .t = ts[i]};
        return jn_eager_hook(op, args, n, NULL, out, 1, NULL);
    }
    if (JN_UNLIKELY(jn_dev_in_use)) {
        jn_eager_arg args[2];
        for (unsigned i = 0; i < n; i++)
            args[i] = (jn_eager_arg){.kind = JANUS_KIND_TENSOR, .t = ts[i]};
        return jn_eager(op, args, n, NULL, out, 1);
    }
    janus_tensor *y;
    JN_TRY(jn_tensor_empty((janus_dtype)like->dtype, like->rank, like->dims, &y));
    jn_view in[2];
    for (unsigned i = 0; i < n; i++)
        in[i] = jn_tensor_as_view(ts[i]);
    jn_view view = jn_tensor_as_view(y);
    jn_sig sig = {op, in, &view, (uint16_t)n, 1, NULL};
    jn_kernel_fn kernel = jn_op_impls[op->id].cpu(&sig);
    uint32_t flags = 0;
    janus_status st = JANUS_OK;
    if (JN_UNLIKELY(!kernel)) {
        st = jn_error(JANUS_UNSUPPORTED, "%s: not implemented for operands of dtype %s", op->name,
                      jn_dtype_name((janus_dtype)like->dtype));
    } else {
        jn_kargs args = {.in = in,
                         .out = &view,
                         .n_in = (uint16_t)n,
                         .n_out = 1,
                         .flags = &flags,
                         .par = &jn_par_serial};
        kernel(&args);
        if (JN_UNLIKELY(flags))
            st = flag_error(op, flags);
    }
    if (JN_UNLIKELY(st != JANUS_OK)) {
        janus_tensor_release(y);
        return st;
    }
    *out = y;
    return JANUS_OK;
}

janus_status jn_eager_unary(const jn_op *op, janus_tensor *a, janus_tensor **out) {
    return run_like(op, &a, 1, a, out);
}

janus_status jn_eager_binary(const jn_op *op, janus_tensor *a, janus_tensor *b,
                             janus_tensor **out) {
    janus_tensor *both[2] = {a, b};
    return run_like(op, both, 2, a->rank >= b->rank ? a : b, out);
}

janus_status jn_tensor_cast(janus_tensor *t, janus_dtype dtype, janus_tensor **out) {
    janus_cast_attrs attrs = {sizeof attrs, dtype};
    jn_eager_arg arg = {.kind = JANUS_KIND_TENSOR, .t = t};
    return jn_eager(JN_OP(cast), &arg, 1, &attrs, out, 1);
}

const jn_par *jn_eager_par(void) { return jn_par_pool(); }
