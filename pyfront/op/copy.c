/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing values into tensors.
 *
 * An untracked value is copied straight into place.  A tracked one is first made, by recorded ops,
 * into what dst becomes (cast, broadcast, cloned), and dst takes the clone's place on the tape.
 */
#include "config.h"

#include "pyfront/op/copy.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"

/* src seen in dst's shape, without a copy. */
static int broadcast(janus_tensor *src, janus_tensor *dst, bool trim, janus_tensor **out) {
    int64_t strides[JN_MAX_RANK];
    int extra = src->rank - dst->rank;
    bool ok = true;
    for (int i = 0; i < extra; i++)
        ok = ok && trim && src->dims[i] == 1;
    for (int i = 0; ok && i < dst->rank; i++) {
        int k = i + extra;
        strides[i] = 0;
        if (k < 0 || (src->dims[k] == 1 && dst->dims[i] != 1))
            continue;
        ok = src->dims[k] == dst->dims[i];
        strides[i] = src->strides[k];
    }
    if (!ok && jn_eager_hook) { /* a conversion may find out what would make them fit */
        jn_eager_arg in[2] = {{.kind = JANUS_KIND_TENSOR, .t = src},
                              {.kind = JANUS_KIND_TENSOR, .t = dst}};
        if (jn_eager(JN_OP(expand_like), in, 2, NULL, out, 1) == JANUS_OK)
            janus_tensor_release(*out);
    }
    if (!ok) {
        jn_str s = {0};
        jn_type a = jn_tensor_as_type(dst), b = jn_tensor_as_type(src);
        jn_type_print(&s, &b);
        jn_str_append(&s, " to ");
        jn_type_print(&s, &a);
        PyErr_Format(PyExc_RuntimeError, "copy: the value cannot be broadcast: %s",
                     s.data ? s.data : "");
        jn_str_free(&s);
        return -1;
    }
    bool wider = src->numel != dst->numel || src->rank != dst->rank;
    if (jn_eager_hook && wider && extra <= 0) { /* a graph has an op for it */
        jn_eager_arg in[2] = {{.kind = JANUS_KIND_TENSOR, .t = src},
                              {.kind = JANUS_KIND_TENSOR, .t = dst}};
        return jpy_check(jn_eager(JN_OP(expand_like), in, 2, NULL, out, 1));
    }
    return jpy_check(jn_tensor_view(src, dst->rank, dst->dims, strides, 0, out));
}

int jpy_store(janus_tensor *dst, janus_tensor *src, bool ends) {
    if (!jn_eager_hook)
        return jpy_check(jn_tensor_copy(dst, src));
    janus_cast_attrs attrs = {sizeof attrs, dst->dtype};
    jn_eager_arg args[2] = {{.kind = JANUS_KIND_TENSOR, .t = src},
                            {.kind = JANUS_KIND_TENSOR, .t = dst}};
    return jpy_check(ends ? jn_eager_into(JN_OP(overwrite), args, 2, NULL, dst)
                          : jn_eager_into(JN_OP(cast), args, 1, &attrs, dst));
}

static int copy_plain(jpy_tensor *dst, janus_tensor *src, bool trim) {
    janus_tensor *same;
    if (broadcast(src, dst->t, trim, &same) < 0)
        return -1;
    int rc = jpy_store(dst->t, same, true);
    janus_tensor_release(same);
    if (rc == 0)
        jpy_inplace_wrote(dst);
    return rc < 0 ? -1 : jpy_inplace_end(dst, NULL);
}

static int step(const jn_op *op, jpy_val *v, const jpy_val *like, const void *attrs) {
    jpy_val in[2] = {*v};
    unsigned n = 1;
    if (like)
        in[n++] = *like;
    janus_tensor *t;
    jpy_node *node;
    if (jpy_apply(op, in, n, attrs, &t, 1, &node) < 0)
        return -1;
    jpy_val_release(v);
    *v = jpy_val_tensor(t, (jpy_edge){node, NULL, 0});
    return 0;
}

static int copy_tracked(jpy_tensor *dst, jpy_val v, bool trim) {
    janus_tensor_retain(v.t);
    jpy_edge_retain(v.edge);
    int rc = 0;
    if (v.t->dtype != dst->t->dtype) {
        janus_cast_attrs attrs = {sizeof attrs, dst->t->dtype};
        rc = step(JN_OP(cast), &v, NULL, &attrs);
    }
    if (rc == 0 && trim && v.t->rank > dst->t->rank) {
        int64_t axes[JN_MAX_RANK];
        janus_squeeze_attrs attrs = {sizeof attrs, {axes, 0}};
        for (int i = 0; i < v.t->rank - dst->t->rank && v.t->dims[i] == 1; i++)
            axes[attrs.axis.n++] = i;
        if (attrs.axis.n)
            rc = step(JN_OP(squeeze), &v, NULL, &attrs);
    }
    jpy_val like = jpy_val_tensor(dst->t, (jpy_edge){0});
    if (rc == 0)
        rc = step(JN_OP(expand_like), &v, &like, NULL);
    if (rc == 0)
        rc = step(JN_OP(clone), &v, NULL, NULL);
    if (rc == 0)
        rc = jpy_store(dst->t, v.t, true);
    if (rc == 0) {
        jpy_inplace_wrote(dst);
        rc = jpy_inplace_copied(dst, v.edge.node);
    }
    jpy_val_release(&v);
    return rc;
}

int jpy_copy_into(jpy_tensor *dst, PyObject *value, bool trim) {
    if (jpy_inplace_begin(dst) < 0)
        return -1;
    if (!jpy_tensor_check(value)) {
        janus_kind kind;
        janus_scalar s;
        janus_tensor *t;
        int rc = jpy_scalar_of(value, &kind, &s);
        if (rc == 0)
            PyErr_Format(PyExc_TypeError, "can't assign a %s to a tensor", Py_TYPE(value)->tp_name);
        if (rc <= 0 || jpy_scalar_check((janus_dtype)dst->t->dtype, kind, s) < 0 ||
            jpy_scalar_tensor((janus_dtype)dst->t->dtype, kind, s, &t) < 0)
            return -1;
        rc = copy_plain(dst, t, trim);
        janus_tensor_release(t);
        return rc;
    }
    jpy_val v;
    if (jpy_tensor_val((jpy_tensor *)value, &v) < 0)
        return -1;
    if (jpy_grad_enabled() && jpy_edge_tracked(v.edge) && jn_dtype_is_float(dst->t->dtype))
        return copy_tracked(dst, v, trim);
    return copy_plain(dst, v.t, trim);
}
