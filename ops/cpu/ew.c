/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise iteration over strided and broadcast operands: see ops/cpu/ew.h.
 *
 * Dims are merged where every operand allows it; what remains is an inner dim walked by the row
 * function and outer dims walked here.  Long inner dims are done in place, operand by operand: a
 * contiguous one is passed as it is, a broadcast one is a buffer filled once, another is gathered
 * block by block.  Short inner dims are gathered across their ends, so that [N,3] costs no call
 * per row.
 */
#include "ops/cpu/ew.h"

#include <string.h>
#include <wchar.h>

#include "graph/ir/ir.h"

enum {
    BLOCK = 512,    /* elements buffered per operand */
    LONG_INNER = 48 /* from here on rows are walked one by one */
};

typedef struct ew_plan {
    int rank;
    int64_t dims[JN_MAX_RANK];
    int64_t strides[JN_EW_MAX_IN][JN_MAX_RANK]; /* in elements */
    size_t size[JN_EW_MAX_IN], out_size;
    const char *data[JN_EW_MAX_IN];
    char *out;
    unsigned n_in;
    jn_row_fn row;
    const void *ctx;
} ew_plan;

static void make_plan(ew_plan *p, const jn_kargs *k, unsigned n_in) {
    const jn_view *out = &k->out[0];
    p->n_in = n_in;
    p->out = out->data;
    p->out_size = jn_elem_size(out->dtype);
    p->rank = 0;
    for (unsigned i = 0; i < n_in; i++) {
        p->data[i] = k->in[i].data;
        p->size[i] = jn_elem_size(k->in[i].dtype);
    }
    for (int d = 0; d < out->rank; d++) {
        if (out->dims[d] == 1)
            continue;
        int64_t stride[JN_EW_MAX_IN];
        bool merge = p->rank > 0;
        for (unsigned i = 0; i < n_in; i++) {
            const jn_view *v = &k->in[i];
            int at = d - (out->rank - v->rank);
            stride[i] = at < 0 || v->dims[at] == 1 ? 0 : v->strides[at];
            merge = merge && p->strides[i][p->rank - 1] == stride[i] * out->dims[d];
        }
        int to = merge ? p->rank - 1 : p->rank++;
        p->dims[to] = merge ? p->dims[to] * out->dims[d] : out->dims[d];
        for (unsigned i = 0; i < n_in; i++)
            p->strides[i][to] = stride[i];
    }
    if (p->rank == 0) {
        p->rank = 1;
        p->dims[0] = 1;
        for (unsigned i = 0; i < n_in; i++)
            p->strides[i][0] = 0;
    }
}

#define GATHER(T)                                                                                  \
    {                                                                                              \
        const T *s = (const T *)src;                                                               \
        T *t = (T *)to;                                                                            \
        for (int64_t i = 0; i < n; i++)                                                            \
            t[i] = s[i * stride];                                                                  \
    }

typedef uint64_t pair64 __attribute__((vector_size(16)));

/* One element n times; `to` is a buffer of whole vectors, aligned. */
static void spread(char *to, const char *src, int64_t n, size_t size) {
    uint64_t bits = 0;
    memcpy(&bits, src, size);
    if (size == sizeof(wchar_t)) { /* the C library's fill is made for the processor at hand */
        wmemset((wchar_t *)(void *)to, (wchar_t)bits, (size_t)n);
        return;
    }
    for (size_t s = size; s < 8; s *= 2)
        bits |= bits << (8 * s);
    pair64 v = {bits, bits}, *p = (pair64 *)(void *)to;
    for (int64_t i = 0, pairs = (n * (int64_t)size + 15) / 16; i < pairs; i++)
        p[i] = v;
}

static void gather(char *to, const char *src, int64_t stride, int64_t n, size_t size) {
    if (stride == 1 && n > 8) {
        memcpy(to, src, (size_t)n * size);
        return;
    }
    switch (size) {
    case 1:
        GATHER(uint8_t) break;
    case 2:
        GATHER(uint16_t) break;
    case 4:
        GATHER(uint32_t) break;
    default:
        GATHER(uint64_t) break;
    }
}

/* Position of flat index `at`, and the operands' offsets there. */
static void seek(const ew_plan *p, int64_t at, int64_t *pos, int64_t *offset) {
    for (unsigned i = 0; i < p->n_in; i++)
        offset[i] = 0;
    for (int d = p->rank - 1; d >= 0; d--) {
        pos[d] = at % p->dims[d];
        at /= p->dims[d];
        for (unsigned i = 0; i < p->n_in; i++)
            offset[i] += pos[d] * p->strides[i][d];
    }
}

/* Moves on to the start of the next inner row. */
static void next_row(const ew_plan *p, int64_t *pos, int64_t *offset) {
    int last = p->rank - 1;
    for (unsigned i = 0; i < p->n_in; i++)
        offset[i] -= pos[last] * p->strides[i][last];
    pos[last] = 0;
    for (int d = last - 1; d >= 0; d--) {
        for (unsigned i = 0; i < p->n_in; i++)
            offset[i] += p->strides[i][d];
        if (++pos[d] < p->dims[d])
            return;
        for (unsigned i = 0; i < p->n_in; i++)
            offset[i] -= pos[d] * p->strides[i][d];
        pos[d] = 0;
    }
}

static void range_long(const ew_plan *p, int64_t begin, int64_t end) {
    _Alignas(64) char buffer[JN_EW_MAX_IN][BLOCK * 8];
    int64_t pos[JN_MAX_RANK], offset[JN_EW_MAX_IN];
    int last = p->rank - 1;
    seek(p, begin, pos, offset);
    bool direct = true;
    for (unsigned i = 0; i < p->n_in; i++)
        direct = direct && p->strides[i][last] == 1;
    if (direct && p->rank == 2 && pos[1] == 0) {
        /* The common case [N,M] op [M], without the general walk. */
        const void *in[JN_EW_MAX_IN];
        int64_t n = p->dims[1];
        for (; begin + n <= end; begin += n) {
            for (unsigned i = 0; i < p->n_in; i++)
                in[i] = p->data[i] + offset[i] * (int64_t)p->size[i];
            p->row(p->out + begin * (int64_t)p->out_size, in, n, p->ctx);
            for (unsigned i = 0; i < p->n_in; i++)
                offset[i] += p->strides[i][0];
            pos[0]++;
        }
    }
    while (begin < end) {
        int64_t n = p->dims[last] - pos[last];
        if (n > end - begin)
            n = end - begin;
        int64_t step = direct ? n : BLOCK;
        const void *in[JN_EW_MAX_IN];
        for (int64_t b = 0; b < n; b += step) {
            int64_t m = n - b < step ? n - b : step;
            for (unsigned i = 0; i < p->n_in; i++) {
                int64_t s = p->strides[i][last];
                const char *src = p->data[i] + (offset[i] + b * s) * (int64_t)p->size[i];
                in[i] = src;
                if (s == 1)
                    continue;
                in[i] = buffer[i];
                if (s != 0)
                    gather(buffer[i], src, s, m, p->size[i]);
                else if (b == 0)
                    spread(buffer[i], src, m, p->size[i]);
            }
            p->row(p->out + (begin + b) * (int64_t)p->out_size, in, m, p->ctx);
        }
        begin += n;
        next_row(p, pos, offset);
    }
}

static void range_short(const ew_plan *p, int64_t begin, int64_t end) {
    _Alignas(64) char buffer[JN_EW_MAX_IN][BLOCK * 8];
    const void *in[JN_EW_MAX_IN];
    int64_t pos[JN_MAX_RANK], offset[JN_EW_MAX_IN];
    int last = p->rank - 1;
    for (unsigned i = 0; i < p->n_in; i++)
        in[i] = buffer[i];
    seek(p, begin, pos, offset);
    while (begin < end) {
        int64_t m = end - begin < BLOCK ? end - begin : BLOCK, done = 0;
        while (done < m) {
            int64_t n = p->dims[last] - pos[last];
            if (n > m - done)
                n = m - done;
            for (unsigned i = 0; i < p->n_in; i++)
                gather(buffer[i] + done * (int64_t)p->size[i],
                       p->data[i] + offset[i] * (int64_t)p->size[i], p->strides[i][last], n,
                       p->size[i]);
            done += n;
            if (pos[last] + n == p->dims[last]) {
                next_row(p, pos, offset);
            } else {
                pos[last] += n;
                for (unsigned i = 0; i < p->n_in; i++)
                    offset[i] += n * p->strides[i][last];
            }
        }
        p->row(p->out + begin * (int64_t)p->out_size, in, m, p->ctx);
        begin += m;
    }
}

static void strided_range(void *arg, int64_t begin, int64_t end) {
    const ew_plan *p = arg;
    if (p->rank == 1 || p->dims[p->rank - 1] >= LONG_INNER)
        range_long(p, begin, end);
    else
        range_short(p, begin, end);
}

/* Small results of which some operands are one number: those are spread out, and the row function
 * is called once. False: not so. */
static bool one_row(const jn_kargs *k, unsigned n_in, int64_t n, jn_row_fn row, const void *ctx) {
    _Alignas(64) char buffer[JN_EW_MAX_IN][BLOCK * 8];
    const void *in[JN_EW_MAX_IN];
    if (n > BLOCK)
        return false;
    for (unsigned i = 0; i < n_in; i++) {
        const jn_view *v = &k->in[i];
        in[i] = v->data;
        if (jn_ew_plain(v, &k->out[0]))
            continue;
        if (jn_numel(v) != 1)
            return false;
        in[i] = buffer[i];
        spread(buffer[i], v->data, n, jn_elem_size(v->dtype));
    }
    row(k->out[0].data, in, n, ctx);
    return true;
}

void jn_ew_strided(const jn_kargs *k, unsigned n_in, int64_t grain, jn_row_fn row,
                   const void *ctx) {
    ew_plan p;
    int64_t n = jn_numel(&k->out[0]);
    if (n == 0 || one_row(k, n_in, n, row, ctx))
        return;
    make_plan(&p, k, n_in);
    p.row = row;
    p.ctx = ctx;
    if (n >= 2 * grain && k->par->threads > 1)
        k->par->run(k->par, n, grain, strided_range, &p);
    else
        strided_range(&p, 0, n);
}

typedef struct plain_job {
    const jn_kargs *k;
    unsigned n_in;
    size_t size[JN_EW_MAX_IN], out_size;
    jn_row_fn row;
    const void *ctx;
} plain_job;

static void plain_range(void *arg, int64_t begin, int64_t end) {
    const plain_job *j = arg;
    const void *in[JN_EW_MAX_IN];
    for (unsigned i = 0; i < j->n_in; i++)
        in[i] = (const char *)j->k->in[i].data + begin * (int64_t)j->size[i];
    j->row((char *)j->k->out[0].data + begin * (int64_t)j->out_size, in, end - begin, j->ctx);
}

void jn_ew_parallel(const jn_kargs *k, unsigned n_in, int64_t n, int64_t grain, jn_row_fn row,
                    const void *ctx) {
    plain_job j = {.k = k, .n_in = n_in, .row = row, .ctx = ctx};
    j.out_size = jn_elem_size(k->out[0].dtype);
    for (unsigned i = 0; i < n_in; i++)
        j.size[i] = jn_elem_size(k->in[i].dtype);
    k->par->run(k->par, n, grain, plain_range, &j);
}
