/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One op, now.
 *
 * A call lives on the C stack (exec/eager/eager_call.h).  Temporaries (contiguous copies of
 * operands, workspace) die before the call returns.
 */
#include "config.h"

#include "exec/eager/eager.h"
#include "exec/store/store.h"

#include <string.h>

#include "exec/eager/eager_call.h"
#include "exec/eager/eager_rows.h"
#include "ops/services.h"

static janus_status new_result(const jn_call *k, unsigned i, janus_tensor **out) {
    const jn_type *t = &k->out_types[i];
    if (JN_UNLIKELY(k->device != NULL))
        return jn_dev_tensor(k->device, (janus_dtype)t->dtype, t->rank, t->dims, out);
    return jn_tensor_empty((janus_dtype)t->dtype, t->rank, t->dims, out);
}

static janus_status compute_on_device(jn_call *k, const jn_sig *sig) {
    jn_device *d = k->device;
    jn_kernel_fn kernel = jn_dev_select(d, sig);
    jn_dev_block *workspace = NULL;
    if (!kernel)
        return jn_error(JANUS_UNSUPPORTED, "%s: not implemented on %s for operands of dtype %s",
                        k->op->name, d->name,
                        k->n_in ? jn_dtype_name((janus_dtype)k->in[0].dtype) : "none");
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

static janus_status compute(jn_call *k, const jn_view *out) {
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
    int64_t start = jn_prof_begin();
    kernel(&args);
    if (JN_UNLIKELY(start))
        jn_prof_eager(k->op, &args, start);
    jn_pool_free(workspace, need);
    return flags ? jn_call_flag_error(k->op, flags) : JANUS_OK;
}

/* A VIEW op as an alias of operand 0; *out NULL: not possible. */
static janus_status alias(jn_call *k, const jn_eager_arg *in, janus_tensor **out) {
    const jn_type *type = &k->out_types[0];
    int64_t strides[JN_MAX_RANK], offset = 0;
    *out = NULL;
    if (!k->impl->view(k->in, k->n_in, k->attrs, type, strides, &offset))
        return JANUS_OK;
    return jn_tensor_view(in[0].t, type->rank, type->dims, strides, offset, out);
}

static janus_status run(jn_call *k, const jn_eager_arg *in, janus_tensor **out) {
    JN_TRY(jn_call_infer(k, in, NULL));
    if ((k->op->flags & JN_OP_VIEW) && k->impl->view && in[0].kind == JANUS_KIND_TENSOR) {
        JN_TRY(alias(k, in, out));
        if (*out)
            return JANUS_OK;
    }
    JN_TRY(jn_call_straighten(k, in));
    jn_view views[JN_EAGER_MAX_OUT];
    unsigned made = 0;
    janus_status st = JANUS_OK;
    for (; made < k->n_out && st == JANUS_OK; made++) {
        st = new_result(k, made, &out[made]);
        if (st != JANUS_OK)
            break;
        (void)jn_tensor_as_view(out[made], &views[made]);
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
    jn_ops_run.eager++;
    jn_call k;
    jn_call_room room;
    JN_TRY(jn_call_init(&k, &room, op, n_in, attrs, n_out));
    janus_tensor *results[JN_EAGER_MAX_OUT];
    janus_status st = run(&k, in, results);
    if (st == JANUS_OK)
        memcpy(out, results, n_out * sizeof *out);
    jn_call_done(&k);
    return st;
}

janus_status jn_eager_is_view(const jn_op *op, const janus_tensor *t, const void *attrs,
                              bool *out) {
    jn_call k;
    jn_call_room room;
    jn_eager_arg arg = {.kind = JN_EAGER_LAYOUT, .layout = t};
    int64_t strides[JN_MAX_RANK], offset = 0;
    JN_TRY(jn_call_init(&k, &room, op, 1, attrs, 1));
    janus_status st = jn_call_infer(&k, &arg, NULL);
    if (st == JANUS_OK)
        *out = k.impl->view && k.impl->view(k.in, 1, attrs, &k.out_types[0], strides, &offset);
    jn_call_done(&k);
    return st;
}

janus_status jn_eager_fits(const jn_op *op, const jn_type *t, const janus_tensor *dst) {
    bool same = t->rank == dst->rank;
    for (int i = 0; same && i < t->rank; i++)
        same = t->dims[i] == dst->dims[i];
    if (!same) {
        jn_str s = {0};
        jn_type have = jn_tensor_as_type(dst);
        jn_type_print(&s, t);
        jn_str_append(&s, " does not fit into ");
        jn_type_print(&s, &have);
        janus_status st = jn_error(JANUS_SHAPE, "%s in place: the result %s", op->name,
                                   jn_str_ok(&s) && s.data ? s.data : "");
        jn_str_free(&s);
        return st;
    }
    if (t->dtype != dst->dtype)
        return jn_error(JANUS_DTYPE, "%s in place: the result is %s, the tensor %s", op->name,
                        jn_dtype_name((janus_dtype)t->dtype),
                        jn_dtype_name((janus_dtype)dst->dtype));
    return JANUS_OK;
}

static janus_status run_into(jn_call *k, const jn_eager_arg *in, janus_tensor *dst) {
    JN_TRY(jn_call_infer(k, in, dst));
    JN_TRY(jn_eager_fits(k->op, &k->out_types[0], dst));
    JN_TRY(jn_call_straighten(k, in));
    bool direct = dst->contiguous && k->n_out == 1;
    for (unsigned i = 0; i < k->n_in && direct; i++) {
        if (in[i].kind != JANUS_KIND_TENSOR || k->temps[i] || !jn_tensor_overlap(in[i].t, dst))
            continue;
        direct = i == 0 && (k->op->flags & JN_OP_INPLACE0) && jn_tensor_same_view(in[i].t, dst);
    }
    if (direct) {
        jn_view view;
        JN_TRY(jn_tensor_as_view(dst, &view));
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
        (void)jn_tensor_as_view(out[made], &views[made]);
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
    if (jn_eager_by_rows(in, n_in)) {
        bool done;
        JN_TRY(jn_eager_rows_into(op, in, n_in, attrs, dst, &done));
        if (done)
            return JANUS_OK;
    }
    jn_ops_run.eager++;
    jn_call k;
    jn_call_room room;
    JN_TRY(jn_call_init(&k, &room, op, n_in, attrs, op->n_out));
    janus_status st = run_into(&k, in, dst);
    jn_call_done(&k);
    return st;
}

/* By way of new tensors, which the converter sees copied. */
static janus_status update_by_copies(const jn_op *op, const jn_eager_arg *in, unsigned n_in,
                                     const void *attrs, janus_tensor *const *dst, unsigned n_out) {
    janus_tensor *out[JN_EAGER_MAX_OUT];
    JN_TRY(jn_eager(op, in, n_in, attrs, out, n_out));
    janus_status st = JANUS_OK;
    for (unsigned i = 0; i < n_out; i++) {
        if (st == JANUS_OK && jn_eager_hook) {
            jn_service cast = jn_service_cast((janus_dtype)dst[i]->dtype);
            jn_eager_arg arg = {.kind = JANUS_KIND_TENSOR, .t = out[i]};
            st = jn_eager_into(cast.op, &arg, 1, cast.attrs, dst[i]);
        } else if (st == JANUS_OK) {
            st = jn_tensor_copy(dst[i], out[i]);
        }
        janus_tensor_release(out[i]);
    }
    return st;
}

static janus_status run_update(jn_call *k, const jn_eager_arg *in, janus_tensor *const *dst) {
    jn_view views[JN_EAGER_MAX_OUT];
    JN_TRY(jn_call_infer_step(k, in, dst[0]));
    JN_TRY(jn_call_straighten(k, in));
    for (unsigned i = 0; i < k->n_out; i++)
        JN_TRY(jn_tensor_as_view(dst[i], &views[i]));
    return compute(k, views);
}

janus_status jn_eager_update(const jn_op *op, const jn_eager_arg *in, unsigned n_in,
                             const void *attrs, janus_tensor *const *dst, unsigned n_out) {
    bool direct = !jn_eager_hook;
    for (unsigned i = 0; i < n_out; i++)
        direct = direct && dst[i]->contiguous && dst[i]->storage->device == dst[0]->storage->device;
    if (!direct)
        return update_by_copies(op, in, n_in, attrs, dst, n_out);
    jn_ops_run.eager++;
    jn_call k;
    jn_call_room room;
    JN_TRY(jn_call_init(&k, &room, op, n_in, attrs, n_out));
    janus_status st = run_update(&k, in, dst);
    jn_call_done(&k);
    return st;
}

/* Row-major, of `like`'s dtype and dims. */
static inline janus_status result_like(jn_thread *me, const janus_tensor *like,
                                       janus_tensor **out) {
    if (JN_LIKELY(like->form))
        return jn_tensor_like(me, like, out);
    int64_t strides[JN_MAX_RANK], step = 1; /* those of sizes 1 may be anything in `like` */
    for (int i = like->rank - 1; i >= 0; step *= like->dims[i] ? like->dims[i] : 1, i--)
        strides[i] = step;
    return jn_tensor_dense((janus_dtype)like->dtype, like->rank, like->dims, strides, like->numel,
                           out);
}

/* An elementwise op without attributes whose result has `like`'s dtype and dims. */
static janus_status run_like(jn_thread *me, const jn_op *op, janus_tensor *const *ts, unsigned n,
                             const janus_tensor *like, janus_tensor **out) {
    if (JN_UNLIKELY(me->hook != NULL)) {
        jn_eager_arg args[2];
        for (unsigned i = 0; i < n; i++)
            args[i] = (jn_eager_arg){.kind = JANUS_KIND_TENSOR, .t = ts[i]};
        return me->hook(op, args, n, NULL, out, 1, NULL);
    }
    if (JN_UNLIKELY(jn_dev_in_use)) {
        jn_eager_arg args[2];
        for (unsigned i = 0; i < n; i++)
            args[i] = (jn_eager_arg){.kind = JANUS_KIND_TENSOR, .t = ts[i]};
        return jn_eager(op, args, n, NULL, out, 1);
    }
    me->ops.eager++;
    janus_tensor *y;
    jn_view in[2], view;
    for (unsigned i = 0; i < n; i++)
        JN_TRY(jn_tensor_as_view(ts[i], &in[i]));
    JN_TRY(result_like(me, like, &y));
    (void)jn_tensor_as_view(y, &view);
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
        int64_t start = jn_prof_begin();
        kernel(&args);
        if (JN_UNLIKELY(start))
            jn_prof_eager(op, &args, start);
        if (JN_UNLIKELY(flags))
            st = jn_call_flag_error(op, flags);
    }
    if (JN_UNLIKELY(st != JANUS_OK)) {
        janus_tensor_release(y);
        return st;
    }
    *out = y;
    return JANUS_OK;
}

janus_status jn_eager_unary(jn_thread *me, const jn_op *op, janus_tensor *a, janus_tensor **out) {
    return run_like(me, op, &a, 1, a, out);
}

janus_status jn_eager_binary(jn_thread *me, const jn_op *op, janus_tensor *a, janus_tensor *b,
                             janus_tensor **out) {
    janus_tensor *both[2] = {a, b};
    return run_like(me, op, both, 2, a->rank >= b->rank ? a : b, out);
}

janus_status jn_tensor_cast(janus_tensor *t, janus_dtype dtype, janus_tensor **out) {
    jn_service cast = jn_service_cast(dtype);
    jn_eager_arg arg = {.kind = JANUS_KIND_TENSOR, .t = t};
    return jn_eager(cast.op, &arg, 1, cast.attrs, out, 1);
}

const jn_par *jn_eager_par(void) { return jn_par_pool(); }
