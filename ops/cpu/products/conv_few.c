/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions of few positions, as the last ones of a network are: their weight is larger than
 * what it meets.  oneDNN puts the weight into a layout of its own first, which reads and writes it
 * once more than the product does.  Here the patches are rows, one for each position of all images,
 * and the filters stay the rows that they are.
 *
 *     y = patches x filters^T      patches' gradient = dy x filters      filters' = dy^T x patches
 *
 * Which convolutions come here is a matter of their shape alone.
 */
#include "ops/cpu/gemm.h"

#include <string.h>

#include "graph/base/alloc.h"

typedef struct few {
    const jn_conv_shape *s;
    int64_t positions, depth; /* of an image; of a patch */
} few;

/* Taps [first, last) of the kernel that lie inside of the image. */
typedef struct taps {
    int64_t first, last, at; /* at: where the first of all taps would be */
} taps;

static taps taps_of(int64_t out, int64_t stride, int64_t padding, int64_t dilation, int64_t kernel,
                    int64_t size) {
    taps t = {.last = kernel, .at = out * stride - padding};
    while (t.first < t.last && t.at + t.first * dilation < 0)
        t.first++;
    while (t.last > t.first && t.at + (t.last - 1) * dilation >= size)
        t.last--;
    return t;
}

static taps rows_of(const jn_conv_shape *s, int64_t y) {
    return taps_of(y, s->stride[0], s->padding[0], s->dilation[0], s->kh, s->h);
}
static taps columns_of(const jn_conv_shape *s, int64_t x) {
    return taps_of(x, s->stride[1], s->padding[1], s->dilation[1], s->kw, s->w);
}

/* What a position sees of an image, as a row. */
static void make_patch(const jn_conv_shape *s, const float *image, const taps *rows,
                       const taps *columns, float *to) {
    int64_t plane = s->h * s->w, row = s->kh * s->kw;
    bool whole = rows->last - rows->first == s->kh && columns->last - columns->first == s->kw;
    if (!whole)
        memset(to, 0, (size_t)(s->c * row) * sizeof *to);
    for (int64_t r = rows->first; r < rows->last; r++) {
        const float *from = image + (rows->at + r * s->dilation[0]) * s->w + columns->at;
        for (int64_t t = columns->first; t < columns->last; t++) {
            const float *x = from + t * s->dilation[1];
            float *y = to + r * s->kw + t;
            for (int64_t c = 0; c < s->c; c++)
                y[c * row] = x[c * plane];
        }
    }
}

/* The gradient of that: adds a row to the image. */
static void add_patch(const jn_conv_shape *s, const float *from, const taps *rows,
                      const taps *columns, float *image) {
    int64_t plane = s->h * s->w, row = s->kh * s->kw;
    for (int64_t r = rows->first; r < rows->last; r++) {
        float *to = image + (rows->at + r * s->dilation[0]) * s->w + columns->at;
        for (int64_t t = columns->first; t < columns->last; t++) {
            float *x = to + t * s->dilation[1];
            const float *y = from + r * s->kw + t;
            for (int64_t c = 0; c < s->c; c++)
                x[c * plane] += y[c * row];
        }
    }
}

/* Between images and rows, a row for each position. */
static void patches(const few *f, float *images, float *rows, bool add) {
    const jn_conv_shape *s = f->s;
    for (int64_t n = 0; n < s->n; n++, images += s->c * s->h * s->w)
        for (int64_t y = 0; y < s->oh; y++) {
            taps r = rows_of(s, y);
            for (int64_t x = 0; x < s->ow; x++, rows += f->depth) {
                taps c = columns_of(s, x);
                if (add)
                    add_patch(s, rows, &r, &c, images);
                else
                    make_patch(s, images, &r, &c, rows);
            }
        }
}

/* [n][o][positions] as [n * positions][o], or back; or as [o][n * positions]. */
static void transpose(const few *f, float *images, float *rows, bool back) {
    int64_t o = f->s->o, p = f->positions;
    for (int64_t n = 0; n < f->s->n; n++, images += o * p, rows += o * p)
        for (int64_t i = 0; i < p; i++)
            if (back)
                for (int64_t j = 0; j < o; j++)
                    images[j * p + i] = rows[i * o + j];
            else
                for (int64_t j = 0; j < o; j++)
                    rows[i * o + j] = images[j * p + i];
}
static void side_by_side(const few *f, const float *images, float *rows) {
    int64_t o = f->s->o, p = f->positions, all = f->s->n * p;
    for (int64_t n = 0; n < f->s->n; n++)
        for (int64_t j = 0; j < o; j++, images += p)
            memcpy(rows + j * all + n * p, images, (size_t)p * sizeof *rows);
}

static void forward(const few *f, const jn_conv_call *call, float *p, float *y, const jn_par *par) {
    int64_t all = f->s->n * f->positions, o = f->s->o;
    jn_gemm_args g = {.m = all,
                      .n = o,
                      .k = f->depth,
                      .a = p,
                      .a_row = f->depth,
                      .a_col = 1,
                      .b = call->w,
                      .b_row = 1,
                      .b_col = f->depth,
                      .c = y,
                      .ldc = o,
                      .bias = call->b};
    patches(f, (float *)(uintptr_t)call->x, p, false);
    jn_gemm(JANUS_F32, &g, par);
    transpose(f, (float *)(uintptr_t)call->y, y, true);
}

static void input(const few *f, const jn_conv_call *call, float *p, float *y, const jn_par *par) {
    const jn_conv_shape *s = f->s;
    int64_t all = s->n * f->positions;
    float *dx = (float *)(uintptr_t)call->x;
    jn_gemm_args g = {.m = all,
                      .n = f->depth,
                      .k = s->o,
                      .a = y,
                      .a_row = s->o,
                      .a_col = 1,
                      .b = call->w,
                      .b_row = f->depth,
                      .b_col = 1,
                      .c = p,
                      .ldc = f->depth};
    transpose(f, (float *)(uintptr_t)call->y, y, false);
    jn_gemm(JANUS_F32, &g, par);
    memset(dx, 0, (size_t)(s->n * s->c * s->h * s->w) * sizeof *dx);
    patches(f, dx, p, true);
}

static void weight(const few *f, const jn_conv_call *call, float *p, float *y, const jn_par *par) {
    int64_t all = f->s->n * f->positions;
    jn_gemm_args g = {.m = f->s->o,
                      .n = f->depth,
                      .k = all,
                      .a = y,
                      .a_row = all,
                      .a_col = 1,
                      .b = p,
                      .b_row = f->depth,
                      .b_col = 1,
                      .c = (void *)(uintptr_t)call->w,
                      .ldc = f->depth,
                      .accumulate = call->accumulate};
    patches(f, (float *)(uintptr_t)call->x, p, false);
    side_by_side(f, call->y, y);
    jn_gemm(JANUS_F32, &g, par);
}

bool jn_conv_few(int kind, const jn_conv_call *call, const jn_par *par) {
    enum { POSITIONS = 256 };
    const jn_conv_shape *s = &call->shape;
    few f = {.s = s, .positions = s->oh * s->ow, .depth = s->c * s->kh * s->kw};
    int64_t all = s->n * f.positions, moved = all * (f.depth + s->o), filters = s->o * f.depth;
    bool dots = jn_isa.dot_long < JN_GEMM_DOT_LONG; /* else the product packs the filters */
    int64_t most = kind == JN_CONV_WEIGHT ? filters + filters / 4 : filters / (dots ? 2 : 8);
    if (s->groups != 1 || all > POSITIONS || moved > most)
        return false;
    float *p = jn_alloc_aligned((size_t)(all * (f.depth + s->o)) * sizeof *p);
    if (!p)
        return false;
    (kind == JN_CONV_FORWARD ? forward
     : kind == JN_CONV_INPUT ? input
                             : weight)(&f, call, p, p + all * f.depth, par);
    jn_free_aligned(p);
    return true;
}
