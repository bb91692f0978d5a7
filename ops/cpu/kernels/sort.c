/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort, argsort and topk along an axis.
 *
 * An element becomes an unsigned key whose order is the one asked for (floats: the sign bit turned
 * over, zeros equal, NaNs equal and largest; descending: all bits turned over), its position goes
 * with it.  Long lines are sorted by the key's bytes, from the last, bytes that are all the same
 * left out; short ones by insertion.  Both are stable.  topk of few keeps them in order while it
 * reads the line.
 */
#include <string.h>

#include "graph/base/alloc.h"
#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "ops/rules.h"

enum { SHORT = 48, FEW = 64, GRAIN = 8192 };

typedef struct item {
    uint64_t key;
    int64_t at;
} item;

static uint64_t key_of(int dtype, const char *x, int64_t i) {
    uint32_t w;
    uint64_t d;
    switch (dtype) {
    case JANUS_F32:
        memcpy(&w, x + i * 4, 4);
        if ((w & 0x7fffffffu) > 0x7f800000u)
            return UINT32_MAX;
        w = w == 0x80000000u ? 0 : w;
        return w >> 31 ? ~w : w | 0x80000000u;
    case JANUS_F64:
        memcpy(&d, x + i * 8, 8);
        if ((d & INT64_MAX) > 0x7ff0000000000000u)
            return UINT64_MAX;
        d = d == (uint64_t)1 << 63 ? 0 : d;
        return d >> 63 ? ~d : d | (uint64_t)1 << 63;
    case JANUS_I32:
        memcpy(&w, x + i * 4, 4);
        return w ^ 0x80000000u;
    case JANUS_I64:
        memcpy(&d, x + i * 8, 8);
        return d ^ (uint64_t)1 << 63;
    default:
        return (uint8_t)x[i];
    }
}

static int key_bytes(int dtype) {
    return dtype == JANUS_F64 || dtype == JANUS_I64   ? 8
           : dtype == JANUS_F32 || dtype == JANUS_I32 ? 4
                                                      : 1;
}

static void insertion(item *a, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        item v = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1].key > v.key; j--)
            a[j] = a[j - 1];
        a[j] = v;
    }
}

/* Sorts a with the help of b; which of the two holds the result is returned. */
static item *by_bytes(item *a, item *b, int64_t n, int bytes) {
    int64_t count[8][256] = {{0}};
    for (int64_t i = 0; i < n; i++)
        for (int s = 0; s < bytes; s++)
            count[s][a[i].key >> (8 * s) & 255]++;
    for (int s = 0; s < bytes; s++) {
        if (count[s][a[0].key >> (8 * s) & 255] == n)
            continue;
        int64_t sum = 0;
        for (int v = 0; v < 256; v++) {
            int64_t c = count[s][v];
            count[s][v] = sum;
            sum += c;
        }
        for (int64_t i = 0; i < n; i++)
            b[count[s][a[i].key >> (8 * s) & 255]++] = a[i];
        item *t = a;
        a = b;
        b = t;
    }
    return a;
}

typedef struct sorting {
    const jn_kargs *k;
    int dtype;
    jn_oni s;
    int64_t take;
    uint64_t flip; /* of the keys: all bits where descending */
    char *values;  /* NULL: none */
    int64_t *indices;
} sorting;

/* The best `take` of a line, in order. */
static void few(const sorting *j, const char *x, item *a) {
    int64_t m = 0;
    for (int64_t i = 0; i < j->s.n; i++) {
        uint64_t key = key_of(j->dtype, x, i * j->s.inner) ^ j->flip;
        if (m == j->take && key >= a[m - 1].key)
            continue;
        int64_t at = m < j->take ? m++ : m - 1;
        for (; at > 0 && a[at - 1].key > key; at--)
            a[at] = a[at - 1];
        a[at] = (item){key, i};
    }
}

static void lines_range(void *arg, int64_t begin, int64_t end) {
    const sorting *j = arg;
    size_t size = jn_elem_size(j->dtype);
    bool is_few = j->take <= FEW && j->take < j->s.n;
    int64_t room = is_few ? j->take : j->s.n;
    item *memory = jn_alloc((size_t)(2 * room + 1) * sizeof *memory);
    if (!memory) {
        __atomic_fetch_or(j->k->flags, JN_KFLAG_MEMORY, __ATOMIC_RELAXED);
        return;
    }
    for (int64_t l = begin; l < end && j->take > 0; l++) {
        int64_t outer = l / j->s.inner, inner = l % j->s.inner;
        const char *x =
            (const char *)j->k->in[0].data + (size_t)(outer * j->s.n * j->s.inner + inner) * size;
        int64_t to = outer * j->take * j->s.inner + inner;
        item *a = memory;
        if (is_few) {
            few(j, x, a);
        } else {
            for (int64_t i = 0; i < j->s.n; i++)
                a[i] = (item){key_of(j->dtype, x, i * j->s.inner) ^ j->flip, i};
            if (j->s.n <= SHORT)
                insertion(a, j->s.n);
            else
                a = by_bytes(a, a + j->s.n, j->s.n, key_bytes(j->dtype));
        }
        for (int64_t i = 0; i < j->take; i++, to += j->s.inner) {
            j->indices[to] = a[i].at;
            if (j->values)
                memcpy(j->values + (size_t)to * size, x + (size_t)(a[i].at * j->s.inner) * size,
                       size);
        }
    }
    jn_free(memory);
}

static void run_lines(const jn_kargs *k, int64_t axis, bool descending, int64_t take,
                      const jn_view *values, const jn_view *indices) {
    const jn_view *x = &k->in[0];
    sorting j = {.k = k, .dtype = x->dtype, .s = {1, 1, 1}};
    axis = axis < 0 ? axis + x->rank : axis;
    for (int d = 0; d < x->rank; d++)
        *(d == axis ? &j.s.n : d < axis ? &j.s.outer : &j.s.inner) *= x->dims[d];
    j.take = take < 0 ? j.s.n : take;
    j.values = values ? values->data : NULL;
    j.indices = indices->data;
    if (descending)
        j.flip = UINT64_MAX >> (64 - 8 * key_bytes(j.dtype));
    int64_t items = j.s.outer * j.s.inner;
    if (items * j.s.n >= 2 * GRAIN)
        k->par->run(k->par, items, GRAIN / (j.s.n + 1) + 1, lines_range, &j);
    else
        lines_range(&j, 0, items);
}

static void sort(const jn_kargs *k) {
    const janus_sort_attrs *a = k->attrs;
    run_lines(k, a->axis, a->descending != 0, -1, &k->out[0], &k->out[1]);
}
static void argsort(const jn_kargs *k) {
    const janus_argsort_attrs *a = k->attrs;
    run_lines(k, a->axis, a->descending != 0, -1, NULL, &k->out[0]);
}
static void topk(const jn_kargs *k) {
    const janus_topk_attrs *a = k->attrs;
    run_lines(k, a->axis, a->largest != 0, a->k, &k->out[0], &k->out[1]);
}

#define SELECT(name)                                                                               \
    jn_kernel_fn jn_cpu_##name(const jn_sig *sig) {                                                \
        int d = sig->in[0].dtype;                                                                  \
        return d == JANUS_F16 || d == JANUS_BF16 ? jn_cpu_fallback(sig) : name;                    \
    }
SELECT(sort)
SELECT(argsort)
SELECT(topk)
