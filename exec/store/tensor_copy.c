/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements from one tensor to another of the same dtype and dims, row by row.
 */
#include "config.h"

#include <string.h>

#include "exec/store/par.h"
#include "exec/store/tensor.h"

/* Dims of a copy, merged and ordered: innermost last. */
typedef struct walk {
    int rank;
    int64_t dims[JN_MAX_RANK], d[JN_MAX_RANK], s[JN_MAX_RANK];
} walk;

static void walk_init(walk *w, const janus_tensor *dst, const janus_tensor *src) {
    w->rank = 0;
    for (int i = 0; i < dst->rank; i++) {
        if (dst->dims[i] == 1)
            continue;
        int k = w->rank;
        if (k && w->d[k - 1] == dst->strides[i] * dst->dims[i] &&
            w->s[k - 1] == src->strides[i] * dst->dims[i]) {
            w->dims[k - 1] *= dst->dims[i];
            w->d[k - 1] = dst->strides[i];
            w->s[k - 1] = src->strides[i];
            continue;
        }
        w->dims[k] = dst->dims[i];
        w->d[k] = dst->strides[i];
        w->s[k] = src->strides[i];
        w->rank++;
    }
    if (w->rank == 0) {
        w->rank = 1;
        w->dims[0] = 1;
        w->d[0] = w->s[0] = 1;
    }
}

#define COPY_ROW(T)                                                                                \
    for (int64_t i = 0; i < n; i++)                                                                \
    ((T *)d)[i * ds] = ((const T *)s)[i * ss]

static void copy_row(char *d, int64_t ds, const char *s, int64_t ss, int64_t n, size_t size) {
    if (ds == 1 && ss == 1) {
        memcpy(d, s, (size_t)n * size);
        return;
    }
    switch (size) {
    case 1:
        COPY_ROW(uint8_t);
        break;
    case 2:
        COPY_ROW(uint16_t);
        break;
    case 4:
        COPY_ROW(uint32_t);
        break;
    default:
        COPY_ROW(uint64_t);
    }
}

typedef struct copying {
    char *to;
    const char *from;
    size_t bytes;
} copying;

enum { COPY_UNIT = 64 << 10, COPY_ALONE = 256 << 10 };

static void copy_range(void *arg, int64_t begin, int64_t end) {
    const copying *c = arg;
    size_t at = (size_t)begin * COPY_UNIT, stop = (size_t)end * COPY_UNIT;
    memcpy(c->to + at, c->from + at, (stop < c->bytes ? stop : c->bytes) - at);
}

void jn_copy_bytes(void *to, const void *from, size_t bytes) {
    copying c = {to, from, bytes};
    if (bytes < COPY_ALONE)
        memcpy(to, from, bytes);
    else
        jn_parallel_for((int64_t)((bytes + COPY_UNIT - 1) / COPY_UNIT), 1, copy_range, &c);
}

void jn_tensor_copy_elements(janus_tensor *dst, const janus_tensor *src) {
    if (dst->numel == 0)
        return;
    size_t size = jn_dtype_size((janus_dtype)dst->dtype);
    if (dst->contiguous && src->contiguous) {
        jn_copy_bytes(dst->raw, src->raw, (size_t)dst->numel * size);
        return;
    }
    walk w;
    walk_init(&w, dst, src);
    int64_t at[JN_MAX_RANK] = {0};
    int last = w.rank - 1;
    char *d = dst->raw;
    const char *s = src->raw;
    for (;;) {
        copy_row(d, w.d[last], s, w.s[last], w.dims[last], size);
        int i = last - 1;
        for (; i >= 0; i--) {
            d += w.d[i] * (int64_t)size;
            s += w.s[i] * (int64_t)size;
            if (++at[i] < w.dims[i])
                break;
            d -= w.d[i] * w.dims[i] * (int64_t)size;
            s -= w.s[i] * w.dims[i] * (int64_t)size;
            at[i] = 0;
        }
        if (i < 0)
            return;
    }
}
