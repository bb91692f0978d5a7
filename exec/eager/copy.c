/* SPDX-License-Identifier: Apache-2.0 */
/* Elements from tensor to tensor, wherever they lie: copies, casts, and ways from device to device.
 */
#include "config.h"

#include "exec/eager/copy.h"

#include <string.h>

#include "ops/services.h"

/* ---- on one device ---- */

/* dst = src by the device's kernel for casts and strided copies. */
static janus_status copy_by_kernel(jn_device *d, janus_tensor *dst, janus_tensor *src) {
    jn_view in, out;
    JN_TRY(jn_tensor_as_view(src, &in));
    JN_TRY(jn_tensor_as_view(dst, &out));
    jn_sig sig = {jn_service_copy.op, &in, &out, 1, 1, NULL};
    jn_kernel_fn kernel = jn_dev_select(d, &sig);
    if (!kernel)
        return jn_error(JANUS_UNSUPPORTED, "no copy on the device from %s to %s",
                        jn_dtype_name((janus_dtype)src->dtype),
                        jn_dtype_name((janus_dtype)dst->dtype));
    jn_kargs k = {.in = &in, .out = &out, .n_in = 1, .n_out = 1};
    return dst->numel ? jn_dev_launch(d, sig.op, kernel, &k, NULL, 0) : JANUS_OK;
}

static janus_status clone_on_device(janus_tensor *t, janus_tensor **out) {
    jn_device *d = t->storage->device;
    janus_tensor *y;
    char *from;
    JN_TRY(jn_tensor_data(t, &from));
    JN_TRY(jn_dev_tensor(d, (janus_dtype)t->dtype, t->rank, t->dims, &y));
    janus_status st = t->contiguous
                          ? jn_dev_move(d, jn_tensor_ready_data(y), from,
                                        (size_t)t->numel * jn_dtype_size((janus_dtype)t->dtype))
                          : copy_by_kernel(d, y, t);
    if (st != JANUS_OK) {
        janus_tensor_release(y);
        return st;
    }
    *out = y;
    return JANUS_OK;
}

/* ---- row-major, and with other strides ---- */

static janus_status clone_plain(janus_tensor *t, janus_tensor **out) {
    if (JN_UNLIKELY(t->storage->device != NULL))
        return clone_on_device(t, out);
    char *p;
    JN_TRY(jn_tensor_data(t, &p));
    JN_TRY(jn_tensor_empty((janus_dtype)t->dtype, t->rank, t->dims, out));
    jn_tensor_copy_elements(*out, t);
    return JANUS_OK;
}

janus_status jn_tensor_contiguous(janus_tensor *t, janus_tensor **out) {
    if (t->contiguous) {
        janus_tensor_retain(t);
        *out = t;
        return JANUS_OK;
    }
    return clone_plain(t, out);
}

janus_status jn_tensor_restride(janus_tensor *t, const int64_t *strides, janus_tensor **out) {
    int64_t span = 1;
    bool same = true;
    for (int i = 0; i < t->rank; i++) {
        same = same && (t->dims[i] == 1 || t->strides[i] == strides[i]);
        span += t->dims[i] > 1 ? (t->dims[i] - 1) * strides[i] : 0;
    }
    if (same || t->numel == 0)
        return jn_tensor_view(t, t->rank, t->dims, strides, 0, out);
    janus_tensor *memory, *view;
    JN_TRY(jn_dev_tensor(t->storage->device, (janus_dtype)t->dtype, 1, &span, &memory));
    janus_status st = jn_tensor_view(memory, t->rank, t->dims, strides, 0, &view);
    janus_tensor_release(memory);
    JN_TRY(st);
    st = jn_tensor_copy(view, t);
    if (st != JANUS_OK)
        janus_tensor_release(view);
    else
        *out = view;
    return st;
}

/* ---- to another device ---- */

janus_status jn_tensor_to(janus_tensor *t, jn_device *to, bool copy, janus_tensor **out) {
    return jn_tensor_send(t, to, copy, false, out);
}

janus_status jn_tensor_send(janus_tensor *t, jn_device *to, bool copy, bool non_blocking,
                            janus_tensor **out) {
    jn_device *from = t->storage->device;
    if (from == to) {
        if (!copy)
            return jn_tensor_contiguous(t, out);
        if (from)
            return clone_on_device(t, out);
    }
    janus_tensor *dense, *y = NULL;
    JN_TRY(jn_tensor_contiguous(t, &dense));
    size_t bytes = (size_t)t->numel * jn_dtype_size((janus_dtype)t->dtype);
    char *data = NULL;
    janus_status st = jn_tensor_data(dense, &data);
    if (st == JANUS_OK)
        st = jn_dev_tensor(to, (janus_dtype)t->dtype, t->rank, t->dims, &y);
    if (st == JANUS_OK && to)
        st = jn_dev_upload(to, jn_tensor_ready_data(y), data, bytes);
    if (st == JANUS_OK && to)
        st = jn_dev_sent(to, dense, !non_blocking);
    if (st == JANUS_OK && !to && from)
        st = jn_dev_download(from, jn_tensor_ready_data(y), data, bytes);
    else if (st == JANUS_OK && !to && bytes)
        memcpy(jn_tensor_ready_data(y), data, bytes);
    janus_tensor_release(dense);
    if (st != JANUS_OK) {
        janus_tensor_release(y);
        return st;
    }
    *out = y;
    return JANUS_OK;
}

janus_status jn_tensor_pin(jn_device *d, janus_tensor *t, janus_tensor **out) {
    janus_tensor *dense, *y = NULL;
    if (t->storage->device)
        return jn_error(JANUS_DEVICE,
                        "pin_memory: the tensor is on %s, only memory of the host "
                        "can be pinned",
                        t->storage->device->name);
    size_t bytes = (size_t)t->numel * jn_dtype_size((janus_dtype)t->dtype);
    JN_TRY(jn_tensor_contiguous(t, &dense));
    char *from;
    janus_status st = jn_tensor_data(dense, &from);
    if (st == JANUS_OK)
        st = jn_pinned_tensor(d, (janus_dtype)t->dtype, t->rank, t->dims, &y);
    if (st == JANUS_OK && bytes)
        memcpy(jn_tensor_ready_data(y), from, bytes);
    janus_tensor_release(dense);
    if (st == JANUS_OK)
        *out = y;
    return st;
}

/* ---- into a tensor that is there ---- */

static janus_status copy_with_devices(janus_tensor *dst, janus_tensor *src) {
    jn_device *to = dst->storage->device;
    janus_tensor *here = NULL, *cast = NULL;
    janus_status st = JANUS_OK;
    if (dst->rank != src->rank || memcmp(dst->dims, src->dims, (size_t)dst->rank * sizeof(int64_t)))
        return jn_error(JANUS_SHAPE, "copy: the tensors have different shapes");
    if (dst->dtype != src->dtype) {
        JN_TRY(jn_tensor_cast(src, (janus_dtype)dst->dtype, &cast));
        src = cast;
    }
    if (to && to == src->storage->device) {
        if (jn_tensor_same_view(dst, src))
            goto done;
        if (jn_tensor_overlap(dst, src)) {
            JN_GO(clone_on_device(src, &here), done);
            src = here;
        }
        st = copy_by_kernel(to, dst, src);
        goto done;
    }
    JN_GO(jn_tensor_to(src, to, false, &here), done);
    char *from;
    JN_GO(jn_tensor_data(here, &from), done);
    st = to && dst->contiguous
             ? jn_dev_move(to, jn_tensor_ready_data(dst), from,
                           (size_t)dst->numel * jn_dtype_size((janus_dtype)dst->dtype))
         : to ? copy_by_kernel(to, dst, here)
              : jn_tensor_copy(dst, here);
done:
    janus_tensor_release(here);
    janus_tensor_release(cast);
    return st;
}

janus_status jn_tensor_copy(janus_tensor *dst, janus_tensor *src) {
    if (JN_UNLIKELY(dst->storage->device || src->storage->device))
        return copy_with_devices(dst, src);
    if (dst->rank != src->rank || memcmp(dst->dims, src->dims, (size_t)dst->rank * sizeof(int64_t)))
        return jn_error(JANUS_SHAPE, "copy: the tensors have different shapes");
    char *p;
    JN_TRY(jn_tensor_data(dst, &p));
    JN_TRY(jn_tensor_data(src, &p));
    if (dst->dtype != src->dtype) {
        janus_tensor *same;
        JN_TRY(jn_tensor_cast(src, (janus_dtype)dst->dtype, &same));
        jn_tensor_copy_elements(dst, same);
        janus_tensor_release(same);
        return JANUS_OK;
    }
    if (!jn_tensor_overlap(dst, src)) {
        jn_tensor_copy_elements(dst, src);
        return JANUS_OK;
    }
    if (jn_tensor_same_view(dst, src))
        return JANUS_OK;
    janus_tensor *apart;
    JN_TRY(clone_plain(src, &apart));
    jn_tensor_copy_elements(dst, apart);
    janus_tensor_release(apart);
    return JANUS_OK;
}

static bool touch(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y + b_bytes && y < x + a_bytes;
}

/* Whether the move can wait beside those that do. */
static bool apart(const jn_copies *c, const jn_dev_moving *m) {
    for (uint32_t i = 0; i < c->n; i++) {
        const jn_dev_moving *w = &c->at[i];
        if (touch(m->to, m->bytes, w->to, w->bytes) || touch(m->to, m->bytes, w->from, w->bytes) ||
            touch(m->from, m->bytes, w->to, w->bytes))
            return false;
    }
    return true;
}

janus_status jn_copies_end(jn_copies *c) {
    uint32_t n = c->n;
    c->n = 0;
    return n ? jn_dev_move_all(c->d, c->at, n) : JANUS_OK;
}

janus_status jn_copies_add(jn_copies *c, janus_tensor *dst, janus_tensor *src) {
    jn_device *d = dst->storage->device;
    char *from, *to;
    if (!d || d != src->storage->device || dst->dtype != src->dtype || !dst->contiguous ||
        !src->contiguous || dst->numel != src->numel) {
        JN_TRY(jn_copies_end(c));
        return jn_tensor_copy(dst, src);
    }
    JN_TRY(jn_tensor_data(src, &from));
    JN_TRY(jn_tensor_data(dst, &to));
    jn_dev_moving m = {to, from, (size_t)dst->numel * jn_dtype_size((janus_dtype)dst->dtype)};
    if (!m.bytes || to == from)
        return JANUS_OK;
    if (c->n == JN_COPIES || (c->n && c->d != d) || !apart(c, &m))
        JN_TRY(jn_copies_end(c));
    if (touch(m.to, m.bytes, m.from, m.bytes))
        return jn_tensor_copy(dst, src);
    c->d = d;
    c->at[c->n++] = m;
    return JANUS_OK;
}

janus_status jn_tensor_ready_copy(janus_tensor *dst, janus_tensor *src, janus_tensor **out) {
    char *p;
    if (dst->storage->device || src->storage->device) {
        janus_tensor_retain(src);
        *out = src;
        return JANUS_OK;
    }
    if (dst->rank != src->rank || memcmp(dst->dims, src->dims, (size_t)dst->rank * sizeof(int64_t)))
        return jn_error(JANUS_SHAPE, "copy: the tensors have different shapes");
    JN_TRY(jn_tensor_data(dst, &p));
    JN_TRY(jn_tensor_data(src, &p));
    if (dst->dtype != src->dtype)
        return jn_tensor_cast(src, (janus_dtype)dst->dtype, out);
    if (jn_tensor_overlap(dst, src) && !jn_tensor_same_view(dst, src))
        return clone_plain(src, out);
    janus_tensor_retain(src);
    *out = src;
    return JANUS_OK;
}
