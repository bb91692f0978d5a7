/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that move elements: views that must be copied, concat, stack, full, embedding and its
 * gradient, index_select.  Runs of contiguous elements go by memcpy.
 */
#include <string.h>

#include "ops/attrs.h"
#include "ops/cpu/box.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "ops/cpu/take.h"
#include "ops/rules.h"

static void reference(const jn_kargs *k, unsigned op) {
    jn_sig sig = {&jn_ops[op], k->in, k->out, k->n_in, k->n_out, k->attrs};
    jn_kernel_fn f = jn_op_impls[op].ref(&sig);
    f(k);
}

/* out = x, which may be broadcast, with any strides. */
static void copy_strided(const jn_kargs *k, const jn_view *x, const jn_view *out) {
    jn_box b;
    jn_box_init(&b, jn_elem_size(out->dtype), out->data, x->data);
    for (int d = 0; d < out->rank; d++) {
        int at = d - (out->rank - x->rank);
        jn_box_dim(&b, out->dims[d], out->strides[d],
                   at < 0 || x->dims[at] == 1 ? 0 : x->strides[at]);
    }
    jn_box_copy(&b, k->par);
}

static void clone(const jn_kargs *k) {
    if (jn_ew_plain(&k->in[0], &k->out[0]))
        jn_isa.kernel[JN_OP_ID_clone][k->out[0].dtype](k);
    else
        copy_strided(k, &k->in[0], &k->out[0]);
}
jn_kernel_fn jn_cpu_clone(const jn_sig *sig) {
    (void)sig;
    return clone;
}

/* ---- views
 * ---------------------------------------------------------------------------------------
 */

static void view_copy(const jn_kargs *k, unsigned op) {
    const jn_view *out = &k->out[0];
    int64_t strides[JN_MAX_RANK], offset;
    jn_type type = jn_tensor_type((janus_dtype)out->dtype, out->rank, out->dims);
    jn_view x = k->in[0];
    if (jn_op_impls[op].view(k->in, k->n_in, k->attrs, &type, strides, &offset)) {
        x.data = (char *)x.data + offset * (int64_t)jn_elem_size(x.dtype);
        x.dims = out->dims;
        x.strides = strides;
        x.rank = out->rank;
        x.contiguous = false;
        copy_strided(k, &x, out);
    } else {
        reference(k, op);
    }
}

/* Reshapes keep the row-major order: copy as operand 0 is shaped. */
static void reshape_copy(const jn_kargs *k) {
    int64_t strides[JN_MAX_RANK], step = 1;
    jn_view out = k->out[0];
    const jn_view *x = &k->in[0];
    for (int d = x->rank - 1; d >= 0; d--) {
        strides[d] = step;
        step *= x->dims[d];
    }
    out.dims = x->dims;
    out.rank = x->rank;
    out.strides = strides;
    copy_strided(k, x, &out);
}

#define VIEW(name)                                                                                 \
    static void name##_copy(const jn_kargs *k) { view_copy(k, JN_OP_ID_##name); }
VIEW(transpose)
VIEW(permute)
VIEW(expand)
VIEW(slice)
VIEW(select)
VIEW(expand_like)

jn_kernel_fn jn_cpu_view(const jn_sig *sig) {
    switch (sig->op->id) {
    case JN_OP_ID_reshape:
    case JN_OP_ID_reshape_like:
    case JN_OP_ID_squeeze:
    case JN_OP_ID_unsqueeze:
    case JN_OP_ID_alias:
    case JN_OP_ID_detach:
        return reshape_copy;
    case JN_OP_ID_transpose:
        return transpose_copy;
    case JN_OP_ID_permute:
        return permute_copy;
    case JN_OP_ID_expand:
        return expand_copy;
    case JN_OP_ID_slice:
        return slice_copy;
    case JN_OP_ID_select:
        return select_copy;
    case JN_OP_ID_expand_like:
    case JN_OP_ID_overwrite:
        return expand_like_copy;
    default:
        return jn_cpu_fallback(sig);
    }
}

/* ---- joining
 * --------------------------------------------------------------------------------------
 */

/* Operands whose runs of `run[i]` elements alternate in the result. */
static void interleave(const jn_kargs *k, int64_t outer, int axis, bool stacked) {
    const jn_view *y = &k->out[0];
    size_t size = jn_elem_size(y->dtype), below = size;
    for (int d = axis + 1; d < y->rank; d++)
        below *= (size_t)y->dims[d];
    size_t line = below * (size_t)y->dims[axis], at = 0;
    for (unsigned i = 0; i < k->n_in; i++) {
        size_t run = stacked ? below : below * (size_t)k->in[i].dims[axis];
        char *to = (char *)y->data + at;
        const char *from = k->in[i].data;
        bool there = to == from; /* the result has grown where the operand is */
        for (int64_t o = 0; o < outer && run > 0 && !there; o++)
            memcpy(to + (size_t)o * line, from + (size_t)o * run, run);
        at += run;
    }
}

static void join(const jn_kargs *k, int64_t axis, bool stacked) {
    const jn_view *y = &k->out[0];
    size_t size = jn_elem_size(y->dtype);
    int64_t outer = 1, at = 0;
    bool whole = true;
    axis = axis < 0 ? axis + y->rank : axis;
    for (unsigned i = 0; i < k->n_in; i++)
        whole = whole && k->in[i].contiguous;
    for (int d = 0; d < axis; d++)
        outer *= y->dims[d];
    if (whole) {
        interleave(k, outer, (int)axis, stacked);
        return;
    }
    for (unsigned i = 0; i < k->n_in; i++) {
        const jn_view *x = &k->in[i];
        char *to = (char *)y->data + at * y->strides[axis] * (int64_t)size;
        jn_box b;
        at += stacked ? 1 : x->dims[axis];
        if (to == x->data)
            continue;
        jn_box_init(&b, size, to, x->data);
        for (int d = 0; d < x->rank; d++)
            jn_box_dim(&b, x->dims[d], y->strides[stacked && d >= axis ? d + 1 : d], x->strides[d]);
        jn_box_copy(&b, k->par);
    }
}

static void concat(const jn_kargs *k) {
    join(k, ((const janus_concat_attrs *)k->attrs)->axis, false);
}
static void stack(const jn_kargs *k) { join(k, ((const janus_stack_attrs *)k->attrs)->axis, true); }

/* ---- filling
 * --------------------------------------------------------------------------------------
 */

static void full(const jn_kargs *k) {
    jn_view value = k->in[0];
    int64_t n = jn_numel(&k->out[0]);
    if (n == 0)
        return;
    /* One element through cast, then doubled until it fills the result. */
    size_t size = jn_elem_size(k->out[0].dtype), done = size, all = (size_t)n * size;
    jn_view one = {k->out[0].data, NULL, NULL, 0, k->out[0].dtype, true};
    jn_kargs c = {
        .in = &value, .out = &one, .n_in = 1, .n_out = 1, .flags = k->flags, .par = &jn_par_serial};
    jn_isa.cast[value.dtype][one.dtype](&c);
    while (done < all) {
        size_t more = done < all - done ? done : all - done;
        if (more > 4096)
            more = 4096;
        memcpy((char *)one.data + done, one.data, more);
        done += more;
    }
}

jn_kernel_fn jn_cpu_full(const jn_sig *sig) {
    return jn_isa.cast[sig->in[0].dtype][sig->out[0].dtype] ? full : jn_cpu_fallback(sig);
}

/* ---- rows by index
 * --------------------------------------------------------------------------------
 */

typedef struct rows {
    const jn_kargs *k;
    const jn_view *index;
    int64_t n_index, n; /* n: rows of x */
    size_t row;         /* bytes */
} rows;

static void rows_range(void *arg, int64_t begin, int64_t end) {
    const rows *r = arg;
    for (int64_t i = begin; i < end; i++) {
        int64_t outer = i / r->n_index;
        int64_t at = jn_index_from_start(r->k, jn_index_at(r->index, i % r->n_index), r->n);
        char *to = (char *)r->k->out[0].data + (size_t)i * r->row;
        if (at < 0)
            memset(to, 0, r->row);
        else
            memcpy(to, (const char *)r->k->in[0].data + (size_t)(outer * r->n + at) * r->row,
                   r->row);
    }
}

static void take_rows(const jn_kargs *k, int64_t outer, int64_t n, int64_t inner) {
    rows r = {k, &k->in[1], jn_numel(&k->in[1]), n, (size_t)inner * jn_elem_size(k->in[0].dtype)};
    int64_t items = outer * r.n_index;
    for (int64_t i = 0; outer == 0 && i < r.n_index; i++) /* nothing is taken, but looked at */
        (void)jn_index_from_start(k, jn_index_at(r.index, i), n);
    if (items * inner >= 2 * JN_EW_GRAIN)
        k->par->run(k->par, items, JN_EW_GRAIN / (inner + 1) + 1, rows_range, &r);
    else
        rows_range(&r, 0, items);
}

static void embedding(const jn_kargs *k) { take_rows(k, 1, k->in[0].dims[0], k->in[0].dims[1]); }

static void index_select(const jn_kargs *k) {
    const jn_view *x = &k->in[0];
    int64_t axis = ((const janus_index_select_attrs *)k->attrs)->axis, outer = 1, inner = 1;
    axis = axis < 0 ? axis + x->rank : axis;
    for (int d = 0; d < x->rank; d++)
        if (d != axis)
            *(d < axis ? &outer : &inner) *= x->dims[d];
    take_rows(k, outer, x->rank > 0 ? x->dims[axis] : 1, inner);
}

/* Rows are added in the order they come, whatever the number of threads: columns are split. */
typedef struct adds {
    const jn_kargs *k;
    int64_t n_index, dim, padding;
} adds;

static void adds_range(void *arg, int64_t begin, int64_t end) {
    const adds *j = arg;
    const jn_view *dy = &j->k->in[0], *y = &j->k->out[0];
    int d = y->dtype;
    int64_t size = (int64_t)jn_elem_size(d);
    for (int64_t i = 0; i < j->n_index; i++) {
        int64_t at = jn_index_checked(j->k, jn_index_at(&j->k->in[1], i), y->dims[0]);
        if (at >= 0 && at != j->padding)
            jn_isa.add_to[d]((char *)y->data + (at * j->dim + begin) * size,
                             (const char *)dy->data + (i * j->dim + begin) * size, end - begin);
    }
}

static void embedding_grad(const jn_kargs *k) {
    const jn_view *y = &k->out[0];
    adds j = {k, jn_numel(&k->in[1]), y->dims[1],
              ((const janus_embedding_grad_attrs *)k->attrs)->padding_idx};
    if (!k->accumulate)
        memset(y->data, 0, (size_t)jn_numel(y) * jn_elem_size(y->dtype));
    if (!j.dim) /* nothing is added anywhere: where is not looked at */
        return;
    if (j.n_index * j.dim >= 4 * JN_EW_GRAIN && j.dim >= 64)
        k->par->run(k->par, j.dim, 32, adds_range, &j);
    else
        adds_range(&j, 0, j.dim);
}

jn_kernel_fn jn_cpu_embedding_grad(const jn_sig *sig) {
    int d = sig->in[0].dtype;
    return d == JANUS_F32 || d == JANUS_F64 ? embedding_grad : jn_cpu_fallback(sig);
}

#define SELECT(name)                                                                               \
    jn_kernel_fn jn_cpu_##name(const jn_sig *sig) {                                                \
        (void)sig;                                                                                 \
        return name;                                                                               \
    }
SELECT(concat)
SELECT(stack)
SELECT(embedding)
SELECT(index_select)
