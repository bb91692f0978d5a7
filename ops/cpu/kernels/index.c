/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather, scatter and scatter_add, index_add, one_hot, nonzero and masked_select.
 *
 * What only moves elements is made per element size, what adds per dtype.  Scatters go in the order
 * of their indices on one thread: the last of equal indices wins, sums have one order.
 */
#include <string.h>

#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "ops/cpu/take.h"
#include "ops/rules.h"

/* A line of indices along the last dim against a line of the indexed tensor: element j stands for
 * base[i * step + j * along], i being its index. */
typedef struct line {
    const jn_kargs *k;
    const jn_view *index;
    int64_t at, n, step, along, size;
} line;

#define MOVES(T)                                                                                   \
    static void gather_##T(const line *l, const void *base, void *out) {                           \
        const T *x = base;                                                                         \
        T *y = out;                                                                                \
        for (int64_t j = 0; j < l->n; j++) {                                                       \
            int64_t i = jn_index_from_start(l->k, jn_index_at(l->index, l->at + j), l->size);      \
            y[j] = i < 0 ? 0 : x[i * l->step + j * l->along];                                      \
        }                                                                                          \
    }                                                                                              \
    static void scatter_##T(const line *l, const void *from, void *base) {                         \
        const T *x = from;                                                                         \
        T *y = base;                                                                               \
        for (int64_t j = 0; j < l->n; j++) {                                                       \
            int64_t i = jn_index_from_start(l->k, jn_index_at(l->index, l->at + j), l->size);      \
            if (i >= 0)                                                                            \
                y[i * l->step + j * l->along] = x[j];                                              \
        }                                                                                          \
    }                                                                                              \
    static int64_t select_##T(const void *from, const uint8_t *mask, int64_t n, void *out) {       \
        const T *x = from;                                                                         \
        T *y = out;                                                                                \
        int64_t m = 0;                                                                             \
        for (int64_t i = 0; i < n; i++) { /* no branch: what is not taken is written over */       \
            y[m] = x[i];                                                                           \
            m += mask[i] != 0;                                                                     \
        }                                                                                          \
        return m;                                                                                  \
    }
MOVES(uint8_t)
MOVES(uint16_t)
MOVES(uint32_t)
MOVES(uint64_t)

#define ADDS(T, U)                                                                                 \
    static void add_##T(const line *l, const void *from, void *base) {                             \
        const T *x = from;                                                                         \
        T *y = base;                                                                               \
        for (int64_t j = 0; j < l->n; j++) {                                                       \
            int64_t i = jn_index_from_start(l->k, jn_index_at(l->index, l->at + j), l->size);      \
            if (i >= 0) {                                                                          \
                T *to = &y[i * l->step + j * l->along];                                            \
                *to = (T)((U)*to + (U)x[j]);                                                       \
            }                                                                                      \
        }                                                                                          \
    }
ADDS(float, float)
ADDS(double, double)
ADDS(int32_t, uint32_t)
ADDS(int64_t, uint64_t)

typedef void (*line_fn)(const line *l, const void *from, void *to);
/* By log2 of the element's size, by dtype. */
static const line_fn gathers[4] = {gather_uint8_t, gather_uint16_t, gather_uint32_t,
                                   gather_uint64_t};
static const line_fn scatters[4] = {scatter_uint8_t, scatter_uint16_t, scatter_uint32_t,
                                    scatter_uint64_t};
static const line_fn adds[JANUS_DTYPE_COUNT] = {[JANUS_F32] = add_float,
                                                [JANUS_F64] = add_double,
                                                [JANUS_I32] = add_int32_t,
                                                [JANUS_I64] = add_int64_t};

static unsigned log_size(int dtype) {
    size_t n = jn_elem_size(dtype);
    return n == 1 ? 0 : n == 2 ? 1 : n == 4 ? 2 : 3;
}

/* ---- gather and scatter -------------------------------------------------------------------------
 */

typedef struct lines {
    const jn_kargs *k;
    const jn_view *index, *big, *small; /* small: y of gather, src of scatter */
    int axis;
    line_fn fn;
    bool gather;
} lines;

static void lines_range(void *arg, int64_t begin, int64_t end) {
    const lines *j = arg;
    const jn_view *index = j->index, *big = j->big, *small = j->small;
    int last = index->rank - 1;
    int64_t size = (int64_t)jn_elem_size(big->dtype);
    line l = {.k = j->k,
              .index = index,
              .n = index->dims[last],
              .step = big->strides[j->axis],
              .along = j->axis == last ? 0 : big->strides[last],
              .size = big->dims[j->axis]};
    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i, in_big = 0, in_small = 0;
        for (int d = last - 1; d >= 0; d--) {
            int64_t at = rest % index->dims[d];
            rest /= index->dims[d];
            in_big += d == j->axis ? 0 : at * big->strides[d];
            in_small += at * small->strides[d];
        }
        l.at = i * l.n;
        char *b = (char *)big->data + in_big * size, *s = (char *)small->data + in_small * size;
        if (j->gather)
            j->fn(&l, b, s);
        else
            j->fn(&l, s, b);
    }
}

static void gather(const jn_kargs *k) {
    const jn_view *x = &k->in[0], *index = &k->in[1];
    int64_t axis = ((const janus_gather_attrs *)k->attrs)->axis, n = jn_numel(index);
    lines j = {.k = k, .index = index, .big = x, .small = &k->out[0], .gather = true};
    if (n == 0)
        return;
    j.axis = (int)(axis < 0 ? axis + x->rank : axis);
    j.fn = gathers[log_size(x->dtype)];
    int64_t line_size = index->dims[index->rank - 1];
    if (n >= 2 * JN_EW_GRAIN)
        k->par->run(k->par, n / line_size, JN_EW_GRAIN / line_size + 1, lines_range, &j);
    else
        lines_range(&j, 0, n / line_size);
}

static void scatter_lines(const jn_kargs *k, int64_t axis, bool add) {
    const jn_view *y = &k->out[0], *index = &k->in[1];
    int64_t n = jn_numel(index);
    lines j = {.k = k, .index = index, .big = y, .small = &k->in[2]};
    memcpy(y->data, k->in[0].data, (size_t)jn_numel(y) * jn_elem_size(y->dtype));
    if (n == 0)
        return;
    j.axis = (int)(axis < 0 ? axis + y->rank : axis);
    j.fn = add ? adds[y->dtype] : scatters[log_size(y->dtype)];
    lines_range(&j, 0, n / index->dims[index->rank - 1]);
}
static void scatter(const jn_kargs *k) {
    scatter_lines(k, ((const janus_scatter_attrs *)k->attrs)->axis, false);
}
static void scatter_add(const jn_kargs *k) {
    scatter_lines(k, ((const janus_scatter_add_attrs *)k->attrs)->axis, true);
}

jn_kernel_fn jn_cpu_gather(const jn_sig *sig) {
    return sig->in[0].rank > 0 ? gather : jn_cpu_fallback(sig);
}
jn_kernel_fn jn_cpu_scatter(const jn_sig *sig) {
    return sig->in[0].rank > 0 ? scatter : jn_cpu_fallback(sig);
}
jn_kernel_fn jn_cpu_scatter_add(const jn_sig *sig) {
    bool ok = sig->in[0].rank > 0 && adds[sig->in[0].dtype];
    return ok ? scatter_add : jn_cpu_fallback(sig);
}

/* ---- index_add
 * ----------------------------------------------------------------------------------- */

#define ADD_ROW(T, U)                                                                              \
    static void add_row_##T(void *to, const void *from, int64_t n) {                               \
        T *y = to;                                                                                 \
        const T *x = from;                                                                         \
        for (int64_t j = 0; j < n; j++)                                                            \
            y[j] = (T)((U)y[j] + (U)x[j]);                                                         \
    }
ADD_ROW(int32_t, uint32_t)
ADD_ROW(int64_t, uint64_t)

typedef void (*add_fn)(void *y, const void *x, int64_t n);
static add_fn row_adder(int dtype) {
    return dtype == JANUS_F32 || dtype == JANUS_F64 ? jn_isa.add_to[dtype]
           : dtype == JANUS_I32                     ? add_row_int32_t
                                                    : add_row_int64_t;
}

static void index_add(const jn_kargs *k) {
    const jn_view *src = &k->in[2], *y = &k->out[0];
    int64_t axis = ((const janus_index_add_attrs *)k->attrs)->axis, outer = 1, inner = 1;
    size_t size = jn_elem_size(y->dtype);
    add_fn add = row_adder(y->dtype);
    axis = axis < 0 ? axis + y->rank : axis;
    for (int d = 0; d < y->rank; d++)
        if (d != axis)
            *(d < axis ? &outer : &inner) *= y->dims[d];
    memcpy(y->data, k->in[0].data, (size_t)jn_numel(y) * size);
    if (!inner) /* nothing is added anywhere: where is not looked at, as in PyTorch's */
        return;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t j = 0; j < src->dims[axis]; j++) {
            int64_t i = jn_index_from_start(k, jn_index_at(&k->in[1], j), y->dims[axis]);
            if (i >= 0)
                add((char *)y->data + (size_t)((o * y->dims[axis] + i) * inner) * size,
                    (const char *)src->data + (size_t)((o * src->dims[axis] + j) * inner) * size,
                    inner);
        }
}
jn_kernel_fn jn_cpu_index_add(const jn_sig *sig) {
    bool ok = sig->in[0].rank > 0 && adds[sig->in[0].dtype];
    return ok ? index_add : jn_cpu_fallback(sig);
}

/* ---- one_hot, nonzero, masked_select
 * -------------------------------------------------------------- */

static void one_hot(const jn_kargs *k) {
    int64_t n = jn_numel(&k->in[0]), classes = ((const janus_one_hot_attrs *)k->attrs)->num_classes;
    int64_t *y = k->out[0].data;
    memset(y, 0, (size_t)(n * classes) * sizeof *y);
    for (int64_t i = 0; i < n; i++) {
        int64_t c = jn_index_at(&k->in[0], i);
        if (c < 0 || c >= classes)
            *k->flags |= JN_KFLAG_INDEX;
        else
            y[i * classes + c] = 1;
    }
}

/* Writes the index of an element into a row of `rank`. */
static void put_index(int64_t *row, const jn_view *x, int64_t i) {
    for (int d = x->rank - 1; d >= 0; d--) {
        row[d] = i % x->dims[d];
        i /= x->dims[d];
    }
}

#define NONZERO(T)                                                                                 \
    static int64_t nonzero_##T(const jn_view *v, int64_t n, int64_t *y) {                          \
        const T *x = v->data;                                                                      \
        int64_t m = 0;                                                                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            if (x[i] != 0)                                                                         \
                put_index(y + m++ * v->rank, v, i);                                                \
        return m;                                                                                  \
    }
NONZERO(float)
NONZERO(double)
NONZERO(int32_t)
NONZERO(int64_t)
NONZERO(uint8_t)

static void nonzero(const jn_kargs *k) {
    const jn_view *x = &k->in[0];
    int64_t n = jn_numel(x), *y = k->out[0].data, m;
    switch (x->dtype) {
    case JANUS_F32:
        m = nonzero_float(x, n, y);
        break;
    case JANUS_F64:
        m = nonzero_double(x, n, y);
        break;
    case JANUS_I32:
        m = nonzero_int32_t(x, n, y);
        break;
    case JANUS_I64:
        m = nonzero_int64_t(x, n, y);
        break;
    default:
        m = nonzero_uint8_t(x, n, y);
    }
    memset(y + m * x->rank, 0, (size_t)((n - m) * x->rank) * sizeof *y);
    *(int64_t *)k->out[1].data = m;
}
jn_kernel_fn jn_cpu_nonzero(const jn_sig *sig) {
    int d = sig->in[0].dtype;
    return d == JANUS_F16 || d == JANUS_BF16 ? jn_cpu_fallback(sig) : nonzero;
}

static void masked_select(const jn_kargs *k) {
    const jn_view *x = &k->in[0];
    const void *mask = k->in[1].data;
    static int64_t (*const fns[4])(const void *, const uint8_t *, int64_t, void *) = {
        select_uint8_t, select_uint16_t, select_uint32_t, select_uint64_t};
    int64_t n = jn_numel(x), m = fns[log_size(x->dtype)](x->data, mask, n, k->out[0].data);
    size_t size = jn_elem_size(x->dtype);
    memset((char *)k->out[0].data + (size_t)m * size, 0, (size_t)(n - m) * size);
    *(int64_t *)k->out[1].data = m;
}

#define SELECT(name)                                                                               \
    jn_kernel_fn jn_cpu_##name(const jn_sig *sig) {                                                \
        (void)sig;                                                                                 \
        return name;                                                                               \
    }
SELECT(one_hot)
SELECT(masked_select)
