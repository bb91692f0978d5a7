/* SPDX-License-Identifier: Apache-2.0 */
/* See ops/cpu/box.h.  Dims that follow each other in both places are one; rows go by memcpy. */
#include "ops/cpu/box.h"

#include <string.h>

#include "ops/cpu/ew.h"

void jn_box_init(jn_box *b, size_t size, void *dst, const void *src) {
    b->rank = 0;
    b->size = size;
    b->dst = dst;
    b->src = src;
    b->empty = false;
}

void jn_box_dim(jn_box *b, int64_t dim, int64_t to, int64_t from) {
    b->empty = b->empty || dim <= 0;
    if (dim == 1)
        return;
    int last = b->rank - 1;
    if (last >= 0 && b->to[last] == dim * to && b->from[last] == dim * from) {
        b->dims[last] *= dim;
        b->to[last] = to;
        b->from[last] = from;
        return;
    }
    b->dims[b->rank] = dim;
    b->to[b->rank] = to;
    b->from[b->rank++] = from;
}

#define LINE(T)                                                                                    \
    {                                                                                              \
        T *y = (T *)dst;                                                                           \
        const T *x = (const T *)src;                                                               \
        if (to == 1)                                                                               \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] = x[i * from];                                                                \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i * to] = x[i * from];                                                           \
    }

static void line(char *dst, const char *src, int64_t n, int64_t to, int64_t from, size_t size) {
    if (to == 1 && from == 1) {
        memcpy(dst, src, (size_t)n * size);
        return;
    }
    switch (size) {
    case 1:
        LINE(uint8_t) break;
    case 2:
        LINE(uint16_t) break;
    case 4:
        LINE(uint32_t) break;
    default:
        LINE(uint64_t) break;
    }
}

/* Lines [begin, end) of all dims but the last. */
static void lines(void *arg, int64_t begin, int64_t end) {
    const jn_box *b = arg;
    int last = b->rank - 1;
    int64_t at[2 * JN_MAX_RANK], rest = begin, to = 0, from = 0, size = (int64_t)b->size;
    for (int d = last - 1; d >= 0; d--) {
        at[d] = rest % b->dims[d];
        rest /= b->dims[d];
        to += at[d] * b->to[d];
        from += at[d] * b->from[d];
    }
    for (int64_t i = begin; i < end; i++) {
        line(b->dst + to * size, b->src + from * size, b->dims[last], b->to[last], b->from[last],
             b->size);
        for (int d = last - 1; d >= 0; d--) {
            to += b->to[d];
            from += b->from[d];
            if (++at[d] < b->dims[d])
                break;
            to -= at[d] * b->to[d];
            from -= at[d] * b->from[d];
            at[d] = 0;
        }
    }
}

void jn_box_copy(const jn_box *b, const jn_par *par) {
    if (b->empty)
        return;
    if (b->rank == 0) {
        memcpy(b->dst, b->src, b->size);
        return;
    }
    int64_t n = 1, line_size = b->dims[b->rank - 1];
    for (int d = 0; d < b->rank - 1; d++)
        n *= b->dims[d];
    if (n * line_size >= 2 * JN_EW_GRAIN && par->threads > 1)
        par->run(par, n, JN_EW_GRAIN / (line_size + 1) + 1, lines, (void *)(uintptr_t)b);
    else
        lines((void *)(uintptr_t)b, 0, n);
}
