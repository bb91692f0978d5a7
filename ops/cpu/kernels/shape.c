/* SPDX-License-Identifier: Apache-2.0 */
/* Shape ops that make new tensors, as copies of boxes. */
#include "ops/shape_rules.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/cpu/box.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "ops/rules.h"

static int axis_of(int64_t axis, int rank) { return (int)(axis < 0 ? axis + rank : axis); }

/* A box without dims yet, from element `to` of y on, of the elements of x. */
static jn_box box_into(const jn_view *y, int64_t to, const jn_view *x) {
    jn_box b;
    size_t size = jn_elem_size(y->dtype);
    jn_box_init(&b, size, (char *)y->data + to * (int64_t)size, x->data);
    return b;
}

static void copy_all(const jn_kargs *k) {
    const jn_view *x = &k->in[0], *y = &k->out[0];
    jn_box b = box_into(y, 0, x);
    for (int d = 0; d < y->rank; d++)
        jn_box_dim(&b, y->dims[d], y->strides[d], x->strides[d]);
    jn_box_copy(&b, k->par);
}

/* ---- pad, flip, roll, repeat -------------------------------------------------------------------
 */

static void fill(const jn_kargs *k, const jn_view *y, double value) {
    size_t size = jn_elem_size(y->dtype), all = (size_t)jn_numel(y) * size;
    if (all == 0)
        return;
    jn_view number = {&value, NULL, NULL, 0, JANUS_F64, true},
            one = {y->data, NULL, NULL, 0, y->dtype, true};
    jn_kargs c = {.in = &number,
                  .out = &one,
                  .n_in = 1,
                  .n_out = 1,
                  .flags = k->flags,
                  .par = &jn_par_serial};
    jn_isa.cast[JANUS_F64][y->dtype](&c);
    for (size_t done = size; done < all;) { /* doubled until it fills the result */
        size_t more = done < all - done ? done : all - done;
        more = more < 4096 ? more : 4096;
        memcpy((char *)y->data + done, y->data, more);
        done += more;
    }
}

static void pad(const jn_kargs *k) {
    const janus_pad_attrs *a = k->attrs;
    const jn_view *x = &k->in[0], *y = &k->out[0];
    int64_t to = 0, from = 0, size = (int64_t)jn_elem_size(y->dtype);
    bool whole = true;
    jn_box b = box_into(y, 0, x);
    for (int d = 0; d < y->rank; d++) {
        int64_t before = a->before.data[d], skip = before < 0 ? -before : 0;
        int64_t at = before > 0 ? before : 0, n = x->dims[d] - skip;
        n = n < y->dims[d] - at ? n : y->dims[d] - at;
        to += at * y->strides[d];
        from += skip * x->strides[d];
        whole = whole && n == y->dims[d];
        jn_box_dim(&b, n, y->strides[d], x->strides[d]);
    }
    if (!whole)
        fill(k, y, a->value);
    b.dst += to * size;
    b.src += from * size;
    jn_box_copy(&b, k->par);
}

jn_kernel_fn jn_cpu_pad(const jn_sig *sig) {
    return jn_isa.cast[JANUS_F64][sig->out[0].dtype] ? pad : jn_cpu_fallback(sig);
}

static void flip(const jn_kargs *k) {
    const janus_flip_attrs *a = k->attrs;
    const jn_view *x = &k->in[0], *y = &k->out[0];
    int64_t from = 0;
    jn_box b = box_into(y, 0, x);
    for (int d = 0; d < x->rank; d++) {
        bool flipped = a->dims.n == 0;
        for (size_t i = 0; i < a->dims.n; i++)
            flipped |= axis_of(a->dims.data[i], x->rank) == d;
        if (flipped)
            from += (x->dims[d] - 1) * x->strides[d];
        jn_box_dim(&b, x->dims[d], y->strides[d], flipped ? -x->strides[d] : x->strides[d]);
    }
    b.src += from * (int64_t)b.size;
    jn_box_copy(&b, k->par);
}

static int64_t floor_mod(int64_t a, int64_t n) {
    int64_t r = n ? a % n : 0;
    return r < 0 ? r + n : r;
}

/* Along each shifted dim a box has two parts: what stays behind the shift, and what wraps around.
 */
static void roll_from(const jn_kargs *k, const int64_t *shift, int d, jn_box b) {
    const jn_view *x = &k->in[0], *y = &k->out[0];
    if (d == x->rank) {
        jn_box_copy(&b, k->par);
        return;
    }
    int64_t n = x->dims[d], s = shift[d], size = (int64_t)b.size;
    jn_box wrapped = b;
    b.dst += s * y->strides[d] * size;
    jn_box_dim(&b, n - s, y->strides[d], x->strides[d]);
    roll_from(k, shift, d + 1, b);
    if (s == 0)
        return;
    wrapped.src += (n - s) * x->strides[d] * size;
    jn_box_dim(&wrapped, s, y->strides[d], x->strides[d]);
    roll_from(k, shift, d + 1, wrapped);
}

static void roll(const jn_kargs *k) {
    const janus_roll_attrs *a = k->attrs;
    const jn_view *x = &k->in[0], *y = &k->out[0];
    if (a->dims.n == 0) {
        if (!x->contiguous) {
            jn_sig sig = {&jn_ops[JN_OP_ID_roll], k->in, k->out, k->n_in, k->n_out, k->attrs};
            jn_cpu_fallback (&sig)(k);
            return;
        }
        size_t n = (size_t)jn_numel(y), size = jn_elem_size(y->dtype);
        size_t s = (size_t)floor_mod(a->shifts.data[0], (int64_t)n);
        memcpy((char *)y->data + s * size, x->data, (n - s) * size);
        memcpy(y->data, (const char *)x->data + (n - s) * size, s * size);
        return;
    }
    int64_t shift[JN_MAX_RANK] = {0};
    for (size_t i = 0; i < a->dims.n && x->rank > 0; i++) {
        int d = axis_of(a->dims.data[i], x->rank);
        shift[d] = floor_mod(a->shifts.data[i], x->dims[d]);
    }
    roll_from(k, shift, 0, box_into(y, 0, x));
}

static void repeat(const jn_kargs *k) {
    const jn_view *x = &k->in[0], *y = &k->out[0];
    int lead = y->rank - x->rank;
    jn_box b = box_into(y, 0, x);
    for (int d = 0; d < y->rank; d++) {
        int64_t n = d < lead ? 1 : x->dims[d - lead];
        jn_box_dim(&b, n ? y->dims[d] / n : 0, n * y->strides[d], 0);
        jn_box_dim(&b, n, y->strides[d], d < lead ? 0 : x->strides[d - lead]);
    }
    jn_box_copy(&b, k->par);
}

/* ---- triangles and diagonals -------------------------------------------------------------------
 */

typedef struct triangle {
    const jn_kargs *k;
    int64_t diagonal;
    bool lower;
} triangle;

static void triangle_rows(void *arg, int64_t begin, int64_t end) {
    const triangle *t = arg;
    const jn_view *x = &t->k->in[0], *y = &t->k->out[0];
    int r = y->rank;
    int64_t rows = y->dims[r - 2], cols = y->dims[r - 1], size = (int64_t)jn_elem_size(y->dtype);
    for (int64_t i = begin; i < end; i++) {
        int64_t row = i % rows, from = row * x->strides[r - 2], rest = i / rows;
        for (int d = r - 3; d >= 0; d--) {
            from += rest % x->dims[d] * x->strides[d];
            rest /= x->dims[d];
        }
        int64_t edge = row + t->diagonal + t->lower; /* the first column of the upper part */
        edge = edge < 0 ? 0 : edge < cols ? edge : cols;
        int64_t first = t->lower ? 0 : edge, n = t->lower ? edge : cols - edge;
        char *to = (char *)y->data + i * cols * size;
        jn_box b;
        memset(t->lower ? to + edge * size : to, 0, (size_t)((cols - n) * size));
        jn_box_init(&b, (size_t)size, to + first * size,
                    (const char *)x->data + (from + first * x->strides[r - 1]) * size);
        jn_box_dim(&b, n, 1, x->strides[r - 1]);
        jn_box_copy(&b, &jn_par_serial);
    }
}

static void run_triangle(const jn_kargs *k, int64_t diagonal, bool lower) {
    const jn_view *y = &k->out[0];
    int64_t rows = y->dims[y->rank - 2], cols = y->dims[y->rank - 1], n = jn_numel(y);
    diagonal = diagonal < -rows - 1 ? -rows - 1 : diagonal > cols ? cols : diagonal;
    triangle t = {k, diagonal, lower};
    if (n > 0)
        k->par->run(k->par, n / cols, JN_EW_GRAIN / cols + 1, triangle_rows, &t);
}
static void tril(const jn_kargs *k) {
    run_triangle(k, ((const janus_tril_attrs *)k->attrs)->diagonal, true);
}
static void triu(const jn_kargs *k) {
    run_triangle(k, ((const janus_triu_attrs *)k->attrs)->diagonal, false);
}

static void diag(const jn_kargs *k) {
    const jn_view *x = &k->in[0], *y = &k->out[0], *m = x->rank == 2 ? x : y;
    int64_t diagonal = ((const janus_diag_attrs *)k->attrs)->diagonal;
    if ((m == y ? x : y)->dims[0] == 0) { /* it may lie anywhere, with all its elements */
        memset(y->data, 0, (size_t)jn_numel(y) * jn_elem_size(y->dtype));
        return;
    }
    int64_t at = diagonal < 0 ? -diagonal * m->strides[0] : diagonal * m->strides[1];
    int64_t step = m->strides[0] + m->strides[1];
    jn_box b = box_into(y, m == y ? at : 0, x);
    if (m == y) {
        memset(y->data, 0, (size_t)jn_numel(y) * b.size);
        jn_box_dim(&b, x->dims[0], step, x->strides[0]);
    } else {
        b.src += at * (int64_t)b.size;
        jn_box_dim(&b, y->dims[0], y->strides[0], step);
    }
    jn_box_copy(&b, k->par);
}

/* ---- a tensor with a part replaced --------------------------------------------------------------
 */

/* Where x[start:stop:step] begins, bounds from operand `at` on, and how long it is. */
static void slice_part(const jn_kargs *k, unsigned at, int64_t size, int64_t step, int64_t *first,
                       int64_t *n) {
    int64_t value[2];
    const int64_t *bound[2] = {NULL, NULL};
    for (unsigned i = 0; i < 2; i++)
        if (k->n_in > at + i && k->in[at + i].rank >= 0) {
            value[i] = jn_scalar_i(&k->in[at + i]);
            bound[i] = &value[i];
        }
    jn_slice_bounds(size, bound[0], bound[1], step, first, n);
}

static void slice_scatter(const jn_kargs *k) {
    const janus_slice_scatter_attrs *a = k->attrs;
    const jn_view *src = &k->in[1], *y = &k->out[0];
    int axis = axis_of(a->axis, y->rank);
    int64_t first, n;
    slice_part(k, 2, y->dims[axis], a->step, &first, &n);
    copy_all(k);
    if (src->dims[axis] != n) {
        *k->flags |= JN_KFLAG_INDEX;
        return;
    }
    jn_box b = box_into(y, first * y->strides[axis], src);
    for (int d = 0; d < y->rank; d++)
        jn_box_dim(&b, src->dims[d],
                   d == axis ? jn_slice_stride(y->dims[d], y->strides[d], a->step) : y->strides[d],
                   src->strides[d]);
    jn_box_copy(&b, k->par);
}

static void select_scatter(const jn_kargs *k) {
    const jn_view *src = &k->in[1], *y = &k->out[0];
    int axis = axis_of(((const janus_select_scatter_attrs *)k->attrs)->axis, y->rank);
    int64_t index = jn_scalar_i(&k->in[2]), size = y->dims[axis];
    copy_all(k);
    if (index < -size || index >= size) {
        *k->flags |= JN_KFLAG_INDEX;
        return;
    }
    jn_box b = box_into(y, (index < 0 ? index + size : index) * y->strides[axis], src);
    for (int d = 0; d < y->rank; d++)
        if (d != axis)
            jn_box_dim(&b, y->dims[d], y->strides[d], src->strides[d < axis ? d : d - 1]);
    jn_box_copy(&b, k->par);
}

/* ---- gradients of parts -------------------------------------------------------------------------
 * Added to a sum, they cost what the part costs. */

/* The part of y from `first` on, n entries along axis, `step` apart, (+)= dy. */
static void put_part(const jn_kargs *k, int axis, int64_t first, int64_t n, int64_t step) {
    const jn_view *dy = &k->in[0], *y = &k->out[0];
    int64_t outer = 1, inner = 1, size = (int64_t)jn_elem_size(y->dtype);
    for (int d = 0; d < y->rank; d++)
        if (d != axis)
            *(d < axis ? &outer : &inner) *= y->dims[d];
    int64_t run = step == 1 ? n * inner : inner, runs = step == 1 ? n > 0 : n;
    for (int64_t o = 0; o < outer && run > 0; o++)
        for (int64_t i = 0; i < runs; i++) {
            int64_t to = (o * y->dims[axis] + first + i * step) * inner;
            int64_t from = (o * n + i) * inner;
            char *into = (char *)y->data + to * size;
            if (k->accumulate)
                jn_isa.add_to[y->dtype](into, (const char *)dy->data + from * size, run);
            else
                memcpy(into, (const char *)dy->data + from * size, (size_t)(run * size));
        }
}

static void zeros_at_first(const jn_kargs *k) {
    if (!k->accumulate)
        memset(k->out[0].data, 0, (size_t)jn_numel(&k->out[0]) * jn_elem_size(k->out[0].dtype));
}

static void slice_grad(const jn_kargs *k) {
    const janus_slice_grad_attrs *a = k->attrs;
    const jn_view *y = &k->out[0];
    int axis = axis_of(a->axis, y->rank);
    int64_t first, n;
    slice_part(k, 1, y->dims[axis], a->step, &first, &n);
    zeros_at_first(k);
    if (k->in[0].dims[axis] == n)
        put_part(k, axis, first, n, a->step);
    else
        *k->flags |= JN_KFLAG_INDEX;
}

static void select_grad(const jn_kargs *k) {
    const jn_view *y = &k->out[0];
    int axis = axis_of(((const janus_select_grad_attrs *)k->attrs)->axis, y->rank);
    int64_t index = jn_scalar_i(&k->in[1]), size = y->dims[axis];
    zeros_at_first(k);
    if (index >= -size && index < size)
        put_part(k, axis, index < 0 ? index + size : index, 1, 1);
    else
        *k->flags |= JN_KFLAG_INDEX;
}

jn_kernel_fn jn_cpu_part_grad(const jn_sig *sig) {
    int d = sig->in[0].dtype;
    if (d != JANUS_F32 && d != JANUS_F64)
        return jn_cpu_fallback(sig);
    return sig->op->id == JN_OP_ID_slice_grad ? slice_grad : select_grad;
}

#define SELECT(name)                                                                               \
    jn_kernel_fn jn_cpu_##name(const jn_sig *sig) {                                                \
        (void)sig;                                                                                 \
        return name;                                                                               \
    }
SELECT(flip)
SELECT(roll)
SELECT(repeat)
SELECT(tril)
SELECT(triu)
SELECT(diag)
SELECT(slice_scatter)
SELECT(select_scatter)
