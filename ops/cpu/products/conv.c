/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 2-D convolution and its gradients as products: the patches an output position sees are the
 * columns of a matrix (made image by image), a 1x1 convolution needs none.  Images are shared out
 * to threads; the weight gradient adds them up in order.  What oneDNN has a primitive for goes
 * there when it is large.
 */
#include <string.h>

#include "graph/base/alloc.h"
#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/gemm.h"
#include "ops/rules.h"

/* Multiply-adds from which a primitive is worth its call. */
enum { LIBRARY_MIN_WORK = 1 << 17 };

typedef struct conv {
    const jn_kargs *k;
    int dtype;
    size_t size;
    int64_t n, c, h, w;       /* x */
    int64_t o, kh, kw;        /* weight; o filters */
    int64_t oh, ow;           /* y */
    int64_t groups, cg, og;   /* channels and filters per group */
    int64_t depth, positions; /* of the patch matrix */
    int64_t sh, sw, ph, pw, dh, dw;
    bool direct; /* patches are x itself */
    const char *x, *weight, *y;
    char *out;
    const jn_par *par; /* of an image's product */
} conv;

static conv conv_of(const jn_kargs *k, const jn_view *x, const jn_view *wt, const jn_view *y) {
    const janus_conv2d_attrs *a = k->attrs; /* the three rows' are alike */
    conv c = {.k = k, .dtype = k->out[0].dtype, .size = jn_elem_size(k->out[0].dtype)};
    c.n = x->dims[0], c.c = x->dims[1], c.h = x->dims[2], c.w = x->dims[3];
    c.o = wt->dims[0], c.kh = wt->dims[2], c.kw = wt->dims[3];
    c.oh = y->dims[2], c.ow = y->dims[3];
    c.groups = a->groups, c.cg = wt->dims[1], c.og = c.o / a->groups;
    c.sh = a->stride.data[0], c.sw = a->stride.data[1];
    c.ph = a->padding.data[0], c.pw = a->padding.data[1];
    c.dh = a->dilation.data[0], c.dw = a->dilation.data[1];
    c.depth = c.cg * c.kh * c.kw;
    c.positions = c.oh * c.ow;
    c.direct = c.kh == 1 && c.kw == 1 && c.sh == 1 && c.sw == 1 && c.ph == 0 && c.pw == 0;
    c.x = x->data, c.weight = wt->data, c.y = y->data, c.out = k->out[0].data;
    c.par = c.n == 1 ? k->par : &jn_par_serial;
    return c;
}

static const char *image(const conv *c, int64_t n, int64_t g) {
    return c->x + (size_t)((n * c->c + g * c->cg) * c->h * c->w) * c->size;
}
static const char *result(const conv *c, int64_t n, int64_t g) {
    return c->y + (size_t)((n * c->o + g * c->og) * c->positions) * c->size;
}
static const char *filters(const conv *c, int64_t g) {
    return c->weight + (size_t)(g * c->og * c->depth) * c->size;
}

/* Outputs [first, last) whose tap (a row or column of the kernel, times dilation) lies inside. */
typedef struct span {
    int64_t tap, first, last;
} span;
enum { FEW_TAPS = 16 };

static span span_of(int64_t tap, int64_t outputs, int64_t stride, int64_t padding, int64_t size) {
    int64_t f = 0, l = outputs;
    while (f < l && f * stride - padding + tap < 0)
        f++;
    while (l > f && (l - 1) * stride - padding + tap >= size)
        l--;
    return (span){tap, f, l};
}
static span inside(const conv *c, int64_t tap) { return span_of(tap, c->ow, c->sw, c->pw, c->w); }
static span rows_inside(const conv *c, int64_t tap) {
    return span_of(tap, c->oh, c->sh, c->ph, c->h);
}

/* The columns of the kernel's first taps, which all of its rows share. */
static void first_taps(const conv *c, span *few) {
    for (int64_t s = 0; s < FEW_TAPS; s++)
        few[s] = s < c->kw ? inside(c, s * c->dw) : (span){0};
}
static span columns_of(const conv *c, const span *few, int64_t s) {
    return s < FEW_TAPS ? few[s] : inside(c, s * c->dw);
}

/*
 * The row of a tap in the patch matrix is a plane of the image, moved.  Where the output is as wide
 * as the image and leaves nothing out, that is one copy; columns that lie outside are zeroed after.
 */
#define PATCHES(T)                                                                                 \
    static void zero_column_##T(T *y, int64_t rows, int64_t w) {                                   \
        for (int64_t i = 0; i < rows; i++)                                                         \
            y[i * w] = 0;                                                                          \
    }                                                                                              \
    static void rows_##T(const conv *c, const T *from, int64_t rows, int64_t n, T *y) {            \
        for (int64_t i = 0; i < rows; i++, from += c->sh * c->w, y += c->ow)                       \
            if (c->sw == 1)                                                                        \
                memcpy(y, from, (size_t)n * sizeof(T));                                            \
            else                                                                                   \
                for (int64_t j = 0; j < n; j++)                                                    \
                    y[j] = from[j * c->sw];                                                        \
    }                                                                                              \
    static void patch_##T(const conv *c, const span *rows, const span *columns, const T *x,        \
                          bool at_once, T *to) {                                                   \
        int64_t w = c->ow, n = columns->last - columns->first, m = rows->last - rows->first;       \
        if (n <= 0 || m <= 0) {                                                                    \
            memset(to, 0, (size_t)c->positions * sizeof(T));                                       \
            return;                                                                                \
        }                                                                                          \
        if (rows->first)                                                                           \
            memset(to, 0, (size_t)(rows->first * w) * sizeof(T));                                  \
        if (rows->last < c->oh)                                                                    \
            memset(to + rows->last * w, 0, (size_t)((c->oh - rows->last) * w) * sizeof(T));        \
        const T *from = x + (rows->first * c->sh - c->ph + rows->tap) * c->w +                     \
                        (columns->first * c->sw - c->pw + columns->tap);                           \
        T *y = to + rows->first * w;                                                               \
        if (at_once)                                                                               \
            memcpy(y + columns->first, from, (size_t)((m - 1) * w + n) * sizeof(T));               \
        else                                                                                       \
            rows_##T(c, from, m, n, y + columns->first);                                           \
        for (int64_t j = 0; j < columns->first; j++)                                               \
            zero_column_##T(y + j, m, w);                                                          \
        for (int64_t j = columns->last; j < w; j++)                                                \
            zero_column_##T(y + j, m, w);                                                          \
    }                                                                                              \
    static void patches_##T(const conv *c, const T *x, T *to) {                                    \
        bool at_once = c->sh == 1 && c->sw == 1 && c->ow == c->w;                                  \
        span few[FEW_TAPS];                                                                        \
        first_taps(c, few);                                                                        \
        for (int64_t p = 0; p < c->cg; p++, x += c->h * c->w)                                      \
            for (int64_t r = 0; r < c->kh; r++) {                                                  \
                span rows = rows_inside(c, r * c->dh);                                             \
                for (int64_t s = 0; s < c->kw; s++, to += c->positions) {                          \
                    span columns = columns_of(c, few, s);                                          \
                    patch_##T(c, &rows, &columns, x, at_once, to);                                 \
                }                                                                                  \
            }                                                                                      \
    }                                                                                              \
    static void unpatch_##T(const conv *c, const T *from, T *x) {                                  \
        span few[FEW_TAPS];                                                                        \
        first_taps(c, few);                                                                        \
        for (int64_t p = 0; p < c->cg; p++, x += c->h * c->w)                                      \
            for (int64_t r = 0; r < c->kh; r++) {                                                  \
                span rows = rows_inside(c, r * c->dh);                                             \
                for (int64_t s = 0; s < c->kw; s++, from += c->positions) {                        \
                    span columns = columns_of(c, few, s);                                          \
                    int64_t n = columns.last - columns.first;                                      \
                    T *to = x + (rows.first * c->sh - c->ph + rows.tap) * c->w +                   \
                            (columns.first * c->sw - c->pw + columns.tap);                         \
                    const T *at = from + rows.first * c->ow + columns.first;                       \
                    for (int64_t i = rows.first; i < rows.last;                                    \
                         i++, to += c->sh * c->w, at += c->ow)                                     \
                        if (c->sw == 1)                                                            \
                            for (int64_t j = 0; j < n; j++)                                        \
                                to[j] += at[j];                                                    \
                        else                                                                       \
                            for (int64_t j = 0; j < n; j++)                                        \
                                to[j * c->sw] += at[j];                                            \
                }                                                                                  \
            }                                                                                      \
    }
PATCHES(float)
PATCHES(double)

/* A channel with its padding around it, in which each tap is a plane. */
typedef struct framed {
    _Alignas(64) char plane[8 << 10];
} framed;

static size_t framed_bytes(const conv *c) {
    return (size_t)((c->h + 2 * c->ph) * (c->w + 2 * c->pw)) * c->size;
}

static bool has_frame(const conv *c) {
    return c->sh == 1 && c->sw == 1 && c->kh * c->kw > 1 && framed_bytes(c) <= sizeof(framed);
}

static void framed_patches(const conv *c, const char *x, char *to) {
    framed f;
    size_t row = (size_t)c->w * c->size, line = (size_t)(c->w + 2 * c->pw) * c->size;
    size_t wide = (size_t)c->ow * c->size, column = (size_t)c->dw * c->size;
    char *inside = f.plane + (size_t)c->ph * line + (size_t)c->pw * c->size;
    memset(f.plane, 0, framed_bytes(c));
    for (int64_t p = 0; p < c->cg; p++) {
        for (int64_t i = 0; i < c->h; i++, x += row)
            memcpy(inside + (size_t)i * line, x, row);
        for (int64_t r = 0; r < c->kh; r++)
            for (int64_t s = 0; s < c->kw; s++, to += (size_t)c->oh * wide)
                jn_isa.copy_rows(to, (int64_t)wide,
                                 f.plane + (size_t)(r * c->dh) * line + (size_t)s * column, c->oh,
                                 (int64_t)wide, (int64_t)line);
    }
}

static void make_patches(const conv *c, const char *x, char *to) {
    if (has_frame(c))
        framed_patches(c, x, to);
    else if (c->dtype == JANUS_F32)
        patches_float(c, (const float *)x, (float *)to);
    else
        patches_double(c, (const double *)x, (double *)to);
}

/* Room for the patches of a small image, for which a block of the heap costs a part of the product.
 */
typedef struct patch_room {
    _Alignas(64) char few[24 << 10];
} patch_room;

static char *patch_memory(const conv *c, patch_room *room) {
    size_t bytes = (size_t)(c->depth * c->positions + 1) * c->size;
    if (bytes <= sizeof room->few)
        return room->few;
    char *p = jn_alloc_aligned(bytes);
    if (!p)
        __atomic_fetch_or(c->k->flags, JN_KFLAG_MEMORY, __ATOMIC_RELAXED);
    return p;
}
static void patch_done(char *memory, const patch_room *room) {
    if (memory != room->few)
        jn_free_aligned(memory);
}

/* In pieces whose length the compiler knows, which it makes vectors of. */
#define FILL_BIAS(T)                                                                               \
    static void fill_bias_##T(const conv *c, T *y, const T *bias) {                                \
        for (int64_t o = 0; o < c->og; o++, y += c->positions) {                                   \
            T b = bias[o];                                                                         \
            int64_t i = 0;                                                                         \
            for (; i + 16 <= c->positions; i += 16)                                                \
                for (int j = 0; j < 16; j++)                                                       \
                    y[i + j] = b;                                                                  \
            for (; i < c->positions; i++)                                                          \
                y[i] = b;                                                                          \
        }                                                                                          \
    }
FILL_BIAS(float)
FILL_BIAS(double)

static void fill_bias(const conv *c, char *y, int64_t g) {
    const char *bias = (const char *)c->k->in[2].data + (size_t)(g * c->og) * c->size;
    if (c->dtype == JANUS_F32)
        fill_bias_float(c, (float *)y, (const float *)bias);
    else
        fill_bias_double(c, (double *)y, (const double *)bias);
}

/* Filters by patches; c adds to what y holds, if that is the bias. */
static jn_gemm_args forward_product(const conv *c, bool bias) {
    return (jn_gemm_args){.m = c->og,
                          .n = c->positions,
                          .k = c->depth,
                          .a_row = c->depth,
                          .a_col = 1,
                          .b_row = c->positions,
                          .b_col = 1,
                          .ldc = c->positions,
                          .accumulate = bias};
}

/* Taps of an image that is read where it lies, or has room with its padding around it. */
enum { MOST_TAPS = 1 << 10 };
static bool reads_taps(const conv *c) {
    jn_taps t = {.rows = c->oh, .width = c->ow};
    jn_gemm_args m = forward_product(c, false);
    return c->dtype == JANUS_F32 && !c->direct && c->sh == 1 && c->sw == 1 && c->positions > 0 &&
           c->depth <= MOST_TAPS && framed_bytes(c) * (size_t)c->cg <= sizeof(patch_room) &&
           jn_isa.taps(&t) && jn_gemm_is_own(&m);
}

static void forward_taps(const conv *c, const char *x, const void *weight, const void *bias,
                         char *y, patch_room *room) {
    int32_t tap[MOST_TAPS], *to = tap;
    int64_t line = c->w + 2 * c->pw, plane = line * (c->h + 2 * c->ph);
    if (c->ph || c->pw) {
        int64_t row = c->w * (int64_t)c->size, far = line * (int64_t)c->size;
        char *inside = room->few + c->ph * far + c->pw * (int64_t)c->size;
        memset(room->few, 0, framed_bytes(c) * (size_t)c->cg);
        for (int64_t p = 0; p < c->cg; p++, x += c->h * row, inside += plane * (int64_t)c->size)
            jn_isa.copy_rows(inside, far, x, c->h, row, row);
        x = room->few;
    }
    for (int64_t p = 0; p < c->cg; p++)
        for (int64_t r = 0; r < c->kh; r++)
            for (int64_t s = 0; s < c->kw; s++)
                *to++ = (int32_t)(p * plane + r * c->dh * line + s * c->dw);
    jn_isa.taps(&(jn_taps){.filters = c->og,
                           .depth = c->depth,
                           .rows = c->oh,
                           .width = c->ow,
                           .line = line,
                           .weight = weight,
                           .bias = bias,
                           .x = (const float *)x,
                           .tap = tap,
                           .y = (float *)y});
}

static void forward_range(void *arg, int64_t begin, int64_t end) {
    const conv *c = arg;
    bool bias = c->k->n_in > 2 && c->k->in[2].rank >= 0, taps = reads_taps(c);
    patch_room room;
    char *memory = c->direct || taps ? NULL : patch_memory(c, &room);
    for (int64_t n = begin; n < end && (memory || c->direct || taps); n++)
        for (int64_t g = 0; g < c->groups; g++) {
            char *y = c->out + (result(c, n, g) - c->y);
            if (taps) {
                const float *b = bias ? (const float *)c->k->in[2].data + g * c->og : NULL;
                forward_taps(c, image(c, n, g), filters(c, g), b, y, &room);
                continue;
            }
            if (!c->direct)
                make_patches(c, image(c, n, g), memory);
            if (bias)
                fill_bias(c, y, g);
            jn_gemm_args m = forward_product(c, bias);
            m.a = filters(c, g), m.b = c->direct ? image(c, n, g) : memory, m.c = y;
            jn_gemm(c->dtype, &m, c->par);
        }
    patch_done(memory, &room);
}

static void input_range(void *arg, int64_t begin, int64_t end) {
    const conv *c = arg; /* y is dy, out is dx */
    patch_room room;
    char *memory = c->direct ? NULL : patch_memory(c, &room);
    for (int64_t n = begin; n < end && (memory || c->direct); n++)
        for (int64_t g = 0; g < c->groups; g++) {
            size_t plane = (size_t)(c->cg * c->h * c->w) * c->size;
            char *dx = c->out + (size_t)(n * c->groups + g) * plane;
            jn_gemm_args m = {.m = c->depth,
                              .n = c->positions,
                              .k = c->og,
                              .a = filters(c, g),
                              .a_row = 1,
                              .a_col = c->depth,
                              .b = result(c, n, g),
                              .b_row = c->positions,
                              .b_col = 1,
                              .c = c->direct ? dx : memory,
                              .ldc = c->positions};
            jn_gemm(c->dtype, &m, c->par);
            if (c->direct)
                continue;
            memset(dx, 0, plane);
            if (c->dtype == JANUS_F32)
                unpatch_float(c, (const float *)memory, (float *)dx);
            else
                unpatch_double(c, (const double *)memory, (double *)dx);
        }
    patch_done(memory, &room);
}

static int64_t images_per_thread(const conv *c) {
    int64_t work = c->o * c->positions * c->depth;
    return (1 << 20) / (work + 1) + 1;
}

/* As a product of rows, or by oneDNN where there is one and it has something better: that puts
 * images into a layout of its own and back, which a product of the image itself needs not.
 * Gradients of weights have their images shared out there. */
static bool by_library(const conv *c, int kind, const void *x, const void *w, const void *b,
                       const void *y) {
    int64_t work = c->n * c->o * c->positions * c->depth;
    if (c->dtype != JANUS_F32 || work < LIBRARY_MIN_WORK)
        return false;
    jn_conv_call call = {.shape = {c->n,
                                   c->c,
                                   c->h,
                                   c->w,
                                   c->o,
                                   c->kh,
                                   c->kw,
                                   c->oh,
                                   c->ow,
                                   c->groups,
                                   {c->sh, c->sw},
                                   {c->ph, c->pw},
                                   {c->dh, c->dw},
                                   b != NULL},
                         .x = x,
                         .w = w,
                         .b = b,
                         .y = y,
                         .accumulate = c->k->accumulate};
    bool itself = c->direct && c->groups == 1 && kind != JN_CONV_WEIGHT;
    return jn_conv_few(kind, &call, c->k->par) ||
           (!itself && jn_onednn_conv(kind, &call, c->k->par, c->k->flags));
}

/* A single image's products are shared out themselves. */
static void in_images(conv *c, jn_range_fn body) {
    if (c->n == 1)
        body(c, 0, 1);
    else
        c->k->par->run(c->k->par, c->n, images_per_thread(c), body, c);
}

static void conv2d(const jn_kargs *k) {
    conv c = conv_of(k, &k->in[0], &k->in[1], &k->out[0]);
    const void *b = k->n_in > 2 && k->in[2].rank >= 0 ? k->in[2].data : NULL;
    if (by_library(&c, JN_CONV_FORWARD, c.x, c.weight, b, c.out))
        return;
    in_images(&c, forward_range);
}

static void conv2d_input_grad(const jn_kargs *k) {
    conv c = conv_of(k, &k->out[0], &k->in[1], &k->in[0]);
    if (by_library(&c, JN_CONV_INPUT, c.out, c.weight, NULL, c.y))
        return;
    in_images(&c, input_range);
}

/* Filters of one channel that meet few positions: a tap of all filters after the other, sums as
 * they come. */
#define FEW_DEEP(T)                                                                                \
    static void few_deep_##T(const conv *c, int64_t begin, int64_t end, const span *rows,          \
                             const span *columns, int64_t tap) {                                   \
        int64_t image = c->c * c->h * c->w, line = c->sh * c->w, step = c->sw;                     \
        int64_t first = (rows->first * c->sh - c->ph + rows->tap) * c->w +                         \
                        columns->first * c->sw - c->pw + columns->tap;                             \
        int64_t start = rows->first * c->ow + columns->first, w = columns->last - columns->first;  \
        for (int64_t g = begin; g < end; g++) {                                                    \
            T *out = (T *)c->out + g * c->depth + tap, sum = c->k->accumulate ? *out : 0;          \
            const T *x = (const T *)c->x + g * c->h * c->w + first;                                \
            const T *dy = (const T *)c->y + g * c->positions + start;                              \
            for (int64_t n = 0; n < c->n; n++, x += image, dy += c->c * c->positions)              \
                for (int64_t i = 0; i < rows->last - rows->first; i++)                             \
                    for (int64_t j = 0; j < w; j++)                                                \
                        sum += dy[i * c->ow + j] * x[i * line + j * step];                         \
            *out = sum;                                                                            \
        }                                                                                          \
    }
FEW_DEEP(float)
FEW_DEEP(double)

static void few_deep_range(void *arg, int64_t begin, int64_t end) {
    const conv *c = arg;
    for (int64_t r = 0; r < c->kh; r++)
        for (int64_t s = 0; s < c->kw; s++) {
            span rows = rows_inside(c, r * c->dh), columns = inside(c, s * c->dw);
            if (rows.first >= rows.last || columns.first >= columns.last)
                rows = columns = (span){0};
            (c->dtype == JANUS_F32 ? few_deep_float : few_deep_double)(c, begin, end, &rows,
                                                                       &columns, r * c->kw + s);
        }
}

static void conv2d_weight_grad(const jn_kargs *k) {
    conv c = conv_of(k, &k->in[1], &k->out[0], &k->in[0]);
    if (by_library(&c, JN_CONV_WEIGHT, c.x, c.out, NULL, c.y))
        return;
    enum { POSITIONS = 16 };
    if (c.cg == 1 && c.og == 1 && c.positions <= POSITIONS) {
        k->par->run(k->par, c.groups, (1 << 16) / (c.n * c.positions * c.depth + 1) + 1,
                    few_deep_range, &c);
        return;
    }
    patch_room room;
    char *memory = c.direct ? NULL : patch_memory(&c, &room);
    if (!k->accumulate)
        memset(c.out, 0, (size_t)(c.o * c.depth) * c.size);
    for (int64_t n = 0; n < c.n && (memory || c.direct); n++)
        for (int64_t g = 0; g < c.groups; g++) {
            const char *p = c.direct ? image(&c, n, g) : memory;
            if (!c.direct)
                make_patches(&c, image(&c, n, g), memory);
            jn_gemm_args m = {.m = c.og,
                              .n = c.depth,
                              .k = c.positions,
                              .a = result(&c, n, g),
                              .a_row = c.positions,
                              .a_col = 1,
                              .b = p,
                              .b_row = 1,
                              .b_col = c.positions,
                              .c = c.out + (size_t)(g * c.og * c.depth) * c.size,
                              .ldc = c.depth,
                              .accumulate = true};
            jn_gemm(c.dtype, &m, k->par);
        }
    patch_done(memory, &room);
}

#define SELECT(name)                                                                               \
    jn_kernel_fn jn_cpu_##name(const jn_sig *sig) {                                                \
        (void)sig;                                                                                 \
        return name;                                                                               \
    }
SELECT(conv2d)
SELECT(conv2d_input_grad)
SELECT(conv2d_weight_grad)
