/* SPDX-License-Identifier: Apache-2.0 */
/* See ops/cpu/box.h.  Dims that follow each other in both places are one; rows go by memcpy. */
#include "ops/cpu/box.h"

#include <string.h>
#include <wchar.h>

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

/* Rows of a head or of a cell are often so short that a call for each would cost more than they. */
static void copy_row(char *dst, const char *src, size_t bytes) {
    switch (bytes) {
    case 16:
        memcpy(dst, src, 16);
        break;
    case 32:
        memcpy(dst, src, 32);
        break;
    case 64:
        memcpy(dst, src, 64);
        break;
    default:
        memcpy(dst, src, bytes);
    }
}

/* One element n times. */
static void fill_row(char *dst, const char *src, size_t bytes, size_t size) {
    if (size == sizeof(wchar_t)) { /* the C library's fill is made for the processor at hand */
        wchar_t bits;
        memcpy(&bits, src, size);
        wmemset((wchar_t *)(void *)dst, bits, bytes / size);
        return;
    }
    memcpy(dst, src, size);
    for (size_t done = size; done < bytes; done *= 2)
        memcpy(dst + done, dst, done < bytes - done ? done : bytes - done);
}

static void line(char *dst, const char *src, int64_t n, int64_t to, int64_t from, size_t size) {
    if (to == 1 && from == 1) {
        copy_row(dst, src, (size_t)n * size);
        return;
    }
    if (to == 1 && from == 0) {
        fill_row(dst, src, (size_t)n * size, size);
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

/* ---- turned boxes ------------------------------------------------------------------------------
 *
 * Rows of the last dim are columns of the one before it where they come from.  Squares go by way of
 * a small one, so that a line of the cache is read once and written once, however far apart lines
 * lie.
 */

enum { SIDE = 16 };

static bool is_turned(const jn_box *b) {
    int last = b->rank - 1;
    return last > 0 && b->to[last] == 1 && b->from[last] > 1 && b->from[last - 1] == 1;
}

#define TURN(T)                                                                                    \
    {                                                                                              \
        T square[SIDE][SIDE], *y = (T *)dst;                                                       \
        const T *x = (const T *)src;                                                               \
        for (int64_t j = 0; j < n; j++)                                                            \
            memcpy(square[j], x + j * from, (size_t)m * sizeof(T));                                \
        for (int64_t i = 0; i < m; i++)                                                            \
            for (int64_t j = 0; j < n; j++)                                                        \
                y[i * to + j] = square[j][i];                                                      \
    }

/* m rows of n elements, at most SIDE of either. */
static inline void turn(char *dst, const char *src, int64_t m, int64_t n, int64_t to, int64_t from,
                        size_t size) {
    switch (size) {
    case 1:
        TURN(uint8_t) break;
    case 2:
        TURN(uint16_t) break;
    case 4:
        TURN(uint32_t) break;
    default:
        TURN(uint64_t) break;
    }
}

/* Rows [begin, end) of all dims but the last two. */
static void turned_rows(void *arg, int64_t begin, int64_t end) {
    const jn_box *b = arg;
    int last = b->rank - 1;
    int64_t m = b->dims[last - 1], n = b->dims[last], size = (int64_t)b->size;
    while (begin < end) {
        int64_t rest = begin / m, i = begin % m, to = i * b->to[last - 1], from = i;
        int64_t rows = m - i < end - begin ? m - i : end - begin;
        for (int d = last - 2; d >= 0; d--) {
            to += rest % b->dims[d] * b->to[d];
            from += rest % b->dims[d] * b->from[d];
            rest /= b->dims[d];
        }
        for (int64_t r = 0; r < rows; r += SIDE)
            for (int64_t j = 0; j < n; j += SIDE) {
                int64_t high = rows - r < SIDE ? rows - r : SIDE,
                        wide = n - j < SIDE ? n - j : SIDE;
                char *dst = b->dst + (to + r * b->to[last - 1] + j) * size;
                const char *src = b->src + (from + r + j * b->from[last]) * size;
                if (high == SIDE && wide == SIDE) /* loops of known length */
                    turn(dst, src, SIDE, SIDE, b->to[last - 1], b->from[last], b->size);
                else
                    turn(dst, src, high, wide, b->to[last - 1], b->from[last], b->size);
            }
        begin += rows;
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
    jn_range_fn copy = is_turned(b) ? turned_rows : lines;
    if (n * line_size >= 2 * JN_EW_GRAIN && par->threads > 1)
        par->run(par, n, JN_EW_GRAIN / (line_size + 1) + 1, copy, (void *)(uintptr_t)b);
    else
        copy((void *)(uintptr_t)b, 0, n);
}
