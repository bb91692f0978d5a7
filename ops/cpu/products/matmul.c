/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul, linear, outer and dot on f32 and f64: shapes become products of matrices (gemm.h), no
 * operand is copied.  Integers go to the reference kernels.
 */
#include "ops/cpu/gemm.h"

#include <string.h>

#include "graph/base/alloc.h"
#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/op_ids.h"
#include "ops/rules.h"
#include "ops/shape_rules.h"

enum {
    /* Below this many multiply-adds oneDNN's own call costs more than it saves. */
    ONEDNN_MIN_WORK = 1 << 15,
    ONEDNN_MIN_ROWS = 4,
    /* Multiply-adds per piece given to a thread. */
    PIECE_WORK = 1 << 20,
    PIECE_ROWS = 24, /* pieces are multiples of these, whole tiles of every kernel */
    PIECE_COLS = 192,
    PANEL_ROWS = 12,
    MOST_PIECES = 16
};

/* Rows by a transposed matrix as dot products, which read both as they lie, where oneDNN packs: of
 * a set that adds up several sums at once (ops/cpu/simd.h), the shorter they are the fewer rows. */
static bool is_dots(const jn_gemm_args *g) {
    enum { ROWS = 8, SHORT = 64, COLS = 64 };
    if (jn_isa.dot_long >= JN_GEMM_DOT_LONG)
        return false;
    return g->m <= ROWS ? g->k >= SHORT
                        : g->k >= jn_isa.dot_long && (4 * g->m <= g->k || g->n <= COLS);
}

/* Few rows by a matrix that no core's cache holds: oneDNN packs both, which reads and writes the
 * matrix once more than the product needs.  Own kernels read it once, with what else they read
 * again packed where that is worth it (isa_gemm_body.h).  For a small matrix the call of oneDNN
 * alone costs as much. */
static bool passes_by(const jn_gemm_args *g, bool *packs) {
    enum { BYTES = 4 << 20, STEP = 16 << 10, WIDE_BYTES = 1 << 20, WIDE_ROWS = 256, PACKED = 40 };
    enum { SMALL = 4096, THIN = 16, TILE_ROWS = 6, DIRECT_ROWS = 24, NEAR = 1 << 15 };
    int64_t b = g->k * g->n * (int64_t)sizeof(float);
    *packs = false;
    if (g->b_col == 1) {
        *packs = g->m <= WIDE_ROWS && g->a_col == 1 && b >= WIDE_BYTES && g->k >= 128 &&
                 g->b_row >= STEP / (int64_t)sizeof(float);
        return *packs ||
               (g->a_col == 1 && (g->m <= TILE_ROWS || g->k <= THIN || g->k * g->n <= SMALL ||
                                  ((g->m < DIRECT_ROWS || g->n <= jn_isa.panel) &&
                                   g->k * g->n <= NEAR))); /* read as it lies, from L2 */
    }
    if (g->b_row != 1 || g->a_col != 1 || g->m > JN_GEMM_DOT_ROWS)
        return false;
    if (b < BYTES || g->k < JN_GEMM_DOT_LONG)
        return is_dots(g);
    *packs = g->m > PACKED;
    return true;
}

/* Of oneDNN, which adds to what C holds. */
static bool by_library(const jn_gemm_args *g) {
    jn_gemm_args plain = *g;
    plain.accumulate = g->accumulate || g->bias;
    for (int64_t i = 0; i < g->m && g->bias; i++)
        memcpy((float *)g->c + i * g->ldc, g->bias, (size_t)g->n * sizeof(float));
    return jn_onednn_sgemm(&plain);
}

/* Of f32, and no kernel of the own that is the better choice. */
static bool asks_library(const jn_gemm_args *g, bool own) {
    return g->m >= ONEDNN_MIN_ROWS && g->n > 1 && g->m * g->n * g->k >= ONEDNN_MIN_WORK && !own;
}

bool jn_gemm_is_own(const jn_gemm_args *g) {
    bool packs;
    return g->m * g->n * g->k < 2 * PIECE_WORK && !asks_library(g, passes_by(g, &packs));
}

static void gemm_here(int dtype, const jn_gemm_args *g) {
    if (g->panels) {
        jn_isa.gemm[dtype](g);
        return;
    }
    bool packs = false, own = passes_by(g, &packs);
    if (dtype == JANUS_F32 && asks_library(g, own) && by_library(g))
        return;
    if (!own || !packs) {
        jn_isa.gemm[dtype](g);
        return;
    }
    jn_gemm_args with = *g; /* without room for it, it is slower */
    with.pack = jn_alloc_aligned(JN_GEMM_PACK);
    jn_isa.gemm[dtype](&with);
    jn_free_aligned(with.pack);
}

typedef struct split {
    int dtype;
    const jn_gemm_args *g;
    int64_t rows, cols; /* of a piece; one of them is the whole */
} split;

static void gemm_pieces(void *arg, int64_t begin, int64_t end) {
    const split *s = arg;
    int64_t size = s->dtype == JANUS_F32 ? 4 : 8;
    for (int64_t i = begin; i < end; i++) {
        jn_gemm_args g = *s->g;
        if (s->rows) {
            int64_t at = i * s->rows;
            g.a = (const char *)g.a + at * g.a_row * size;
            g.c = (char *)g.c + at * g.ldc * size;
            g.m = g.m - at < s->rows ? g.m - at : s->rows;
        } else {
            int64_t at = i * s->cols;
            g.b = (const char *)g.b + at * g.b_col * size;
            if (g.panels) /* PIECE_COLS is a multiple of a panel's */
                g.panels = (const char *)g.panels + at * g.k * size;
            if (g.bias)
                g.bias = (const char *)g.bias + at * size;
            g.c = (char *)g.c + at * size;
            g.n = g.n - at < s->cols ? g.n - at : s->cols;
        }
        gemm_here(s->dtype, &g);
    }
}

/* Lines of a piece: each packs the other operand anew, so there are not too many. */
static int64_t piece(int64_t lines_in_all, int64_t work_per_line, int64_t multiple) {
    int64_t lines = PIECE_WORK / (work_per_line > 0 ? work_per_line : 1) + 1;
    if (lines < lines_in_all / MOST_PIECES)
        lines = lines_in_all / MOST_PIECES;
    return (lines + multiple - 1) / multiple * multiple;
}

/* ---- split along k
 * ------------------------------------------------------------------------------- */

/* Rows by a long transposed matrix, where splitting C would have every piece read all of A: pieces
 * of k give summands, which are added in order. */
typedef struct depths {
    const jn_gemm_args *g;
    float *summand; /* [pieces][m][n] */
    int64_t pieces, depth;
    bool packs;
} depths;

static bool is_deep(int dtype, const jn_gemm_args *g, bool *packs) {
    enum { LEAST = 1 << 14, MOST_COLS = 1024 };
    return dtype == JANUS_F32 && g->b_col != 1 && g->k >= LEAST && g->n <= MOST_COLS && g->m > 1 &&
           passes_by(g, packs);
}

static void depth_pieces(void *arg, int64_t begin, int64_t end) {
    const depths *d = arg;
    for (int64_t i = begin; i < end; i++) {
        jn_gemm_args g = *d->g;
        int64_t at = i * d->depth;
        g.a = (const float *)g.a + at;
        g.b = (const float *)g.b + at;
        g.k = g.k - at < d->depth ? g.k - at : d->depth;
        g.c = d->summand + i * g.m * g.n;
        g.ldc = g.n;
        g.accumulate = false;
        g.bias = NULL;
        g.pack = d->packs ? jn_alloc_aligned(JN_GEMM_PACK) : NULL;
        jn_isa.gemm[JANUS_F32](&g);
        jn_free_aligned(g.pack);
    }
}

static void add_depths(void *arg, int64_t begin, int64_t end) {
    const depths *d = arg;
    const jn_gemm_args *g = d->g;
    for (int64_t i = begin; i < end; i++) {
        float *c = (float *)g->c + i * g->ldc;
        for (int64_t p = 0; p < d->pieces; p++) {
            const float *from = d->summand + (p * g->m + i) * g->n;
            const float *to = p > 0 ? c : g->bias ? g->bias : g->accumulate ? c : NULL;
            for (int64_t j = 0; j < g->n; j++)
                c[j] = to ? to[j] + from[j] : from[j];
        }
    }
}

/* False: no memory for the summands, nothing done. */
static bool by_depth(const jn_gemm_args *g, bool packs, const jn_par *par) {
    enum { MULTIPLE = 1024 };
    depths d = {.g = g, .packs = packs};
    d.depth = ((g->k + MOST_PIECES - 1) / MOST_PIECES + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
    d.pieces = (g->k + d.depth - 1) / d.depth;
    d.summand = jn_alloc_aligned((size_t)(d.pieces * g->m * g->n) * sizeof *d.summand);
    if (!d.summand)
        return false;
    par->run(par, d.pieces, 1, depth_pieces, &d);
    par->run(par, g->m, 1 + PIECE_WORK / (d.pieces * g->n * 8), add_depths, &d);
    jn_free_aligned(d.summand);
    return true;
}

/* ---- operands of other layouts ------------------------------------------------------------------
 */

/* Rows by columns that lie as a matrix or its transpose does; vectors lie together. */
static bool is_regular(int64_t rows, int64_t cols, int64_t row, int64_t col) {
    return (col == 1 && (rows == 1 || row >= cols)) || (row == 1 && rows > 1 && col >= rows);
}

static void copy_rows(int dtype, int64_t rows, int64_t cols, const void *from, int64_t row,
                      int64_t col, void *to) {
    for (int64_t i = 0; i < rows; i++) {
        if (dtype == JANUS_F32)
            for (int64_t j = 0; j < cols; j++)
                ((float *)to)[i * cols + j] = ((const float *)from)[i * row + j * col];
        else
            for (int64_t j = 0; j < cols; j++)
                ((double *)to)[i * cols + j] = ((const double *)from)[i * row + j * col];
    }
}

/* A row-major copy, or the transpose of one; NULL: no memory. */
static void *regular(int dtype, int64_t rows, int64_t cols, const void *from, int64_t *row,
                     int64_t *col) {
    if (jn_is_turned(rows, cols, *row, *col))
        return regular(dtype, cols, rows, from, col, row);
    size_t size = dtype == JANUS_F32 ? sizeof(float) : sizeof(double);
    void *copy = jn_alloc_aligned((size_t)(rows * cols) * size);
    if (!copy)
        return NULL;
    copy_rows(dtype, rows, cols, from, *row, *col, copy);
    *row = cols, *col = 1;
    return copy;
}

static void product(int dtype, const jn_gemm_args *g, const jn_par *par);

/* Sums run in one order for a matrix with steps or repeated rows and for a copy of it, so that a
 * graph, which hands copies on, rounds as the ops one by one. */
void jn_gemm(int dtype, const jn_gemm_args *g, const jn_par *par) {
    bool a = g->m > 0 && g->k > 0 && !is_regular(g->m, g->k, g->a_row, g->a_col);
    bool b = g->n > 0 && g->k > 0 &&
             !is_regular(g->n == 1 ? 1 : g->k, g->n == 1 ? g->k : g->n, g->b_row,
                         g->n == 1 ? g->b_row : g->b_col);
    if (!a && !b) {
        product(dtype, g, par);
        return;
    }
    jn_gemm_args plain = *g;
    void *copy_a = NULL, *copy_b = NULL;
    if (a && (copy_a = regular(dtype, g->m, g->k, g->a, &plain.a_row, &plain.a_col)))
        plain.a = copy_a;
    if (b && (copy_b = regular(dtype, g->k, g->n, g->b, &plain.b_row, &plain.b_col)))
        plain.b = copy_b;
    product(dtype, &plain, par);
    jn_free_aligned(copy_a);
    jn_free_aligned(copy_b);
}

static void product(int dtype, const jn_gemm_args *g, const jn_par *par) {
    /* reading panels takes as long as multiplying so many rows by them */
    int64_t m = g->m + (g->panels ? PANEL_ROWS : 0);
    if (m * g->n * g->k < 2 * PIECE_WORK) { /* sizes of tensors in memory: no overflow */
        gemm_here(dtype, g);
        return;
    }
    bool packs;
    if (!g->panels && is_deep(dtype, g, &packs) && by_depth(g, packs, par))
        return;
    split s = {.dtype = dtype, .g = g};
    int64_t pieces;
    if (g->m >= g->n || g->n < 2 * PIECE_COLS) {
        s.rows = piece(g->m, g->n * g->k, PIECE_ROWS);
        pieces = (g->m + s.rows - 1) / s.rows;
    } else {
        s.cols = piece(g->n, m * g->k, PIECE_COLS);
        pieces = (g->n + s.cols - 1) / s.cols;
    }
    par->run(par, pieces, 1, gemm_pieces, &s);
}

/* ---- matmul -------------------------------------------------------------------------------------
 */

typedef struct batched {
    const jn_kargs *k;
    int dtype, rank; /* rank of the batch dims */
    jn_gemm_args g;
    int64_t dims[JN_MAX_RANK], a_stride[JN_MAX_RANK], b_stride[JN_MAX_RANK], c_size;
    const jn_par *par;
} batched;

static int64_t offset_of(const batched *b, int64_t i, const int64_t *stride) {
    int64_t at = 0;
    for (int d = b->rank - 1; d >= 0; d--) {
        at += i % b->dims[d] * stride[d];
        i /= b->dims[d];
    }
    return at;
}

static void batch_range(void *arg, int64_t begin, int64_t end) {
    const batched *b = arg;
    int64_t size = b->dtype == JANUS_F32 ? 4 : 8;
    for (int64_t i = begin; i < end; i++) {
        jn_gemm_args g = b->g;
        g.a = (const char *)g.a + offset_of(b, i, b->a_stride) * size;
        g.b = (const char *)g.b + offset_of(b, i, b->b_stride) * size;
        g.c = (char *)g.c + i * b->c_size * size;
        jn_gemm(b->dtype, &g, b->par);
    }
}

/* All of A, row-major; NULL: no memory. */
static void *rows_of_batch(const batched *b, int64_t n) {
    size_t size = b->dtype == JANUS_F32 ? sizeof(float) : sizeof(double);
    int64_t each = b->g.m * b->g.k;
    char *copy = jn_alloc_aligned((size_t)(each * n) * size);
    for (int64_t i = 0; copy && i < n; i++)
        copy_rows(b->dtype, b->g.m, b->g.k,
                  (const char *)b->g.a + offset_of(b, i, b->a_stride) * (int64_t)size, b->g.a_row,
                  b->g.a_col, copy + (size_t)(each * i) * size);
    return copy;
}

static void swap(int64_t *a, int64_t *b) {
    int64_t t = *a;
    *a = *b;
    *b = t;
}

/* The same product of operands that lie elsewhere for each row, in one call.  What is the same for
 * all is found out once. */
static void gemm_apart(const jn_kargs *k, int dtype, const jn_gemm_args *of, bool bias) {
    jn_gemm_args g = *of;
    bool small = g.m * g.n * g.k < 2 * PIECE_WORK && g.m > 0 && g.k > 0 && g.n > 1 &&
                 is_regular(g.m, g.k, g.a_row, g.a_col) && is_regular(g.k, g.n, g.b_row, g.b_col);
    char *const *at = k->apart;
    for (uint32_t r = 0; r < k->n_apart; r++, at += k->n_in + k->n_out) {
        g.a = at[0];
        g.b = at[1];
        g.c = at[k->n_in];
        g.turned = k->kept ? k->kept[r] : NULL;
        g.bias = bias ? at[2] : NULL;
        if (small)
            gemm_here(dtype, &g);
        else
            jn_gemm(dtype, &g, k->par);
    }
}

static void matmul_float(const jn_kargs *k, int dtype) {
    const janus_matmul_attrs *at = k->attrs;
    const jn_view *a = &k->in[0], *b = &k->in[1];
    jn_gemm_args g = {.a = a->data, .b = b->data, .c = k->out[0].data, .accumulate = k->accumulate};
    int ra = a->rank, rb = b->rank;
    g.m = ra > 1 ? a->dims[ra - 2] : 1;
    g.k = a->dims[ra - 1];
    g.a_row = ra > 1 ? a->strides[ra - 2] : 0;
    g.a_col = a->strides[ra - 1];
    if (at->transpose_a && ra > 1) {
        swap(&g.m, &g.k);
        swap(&g.a_row, &g.a_col);
    }
    int64_t kb = rb > 1 ? b->dims[rb - 2] : b->dims[0];
    g.n = rb > 1 ? b->dims[rb - 1] : 1;
    g.b_row = rb > 1 ? b->strides[rb - 2] : b->strides[0];
    g.b_col = rb > 1 ? b->strides[rb - 1] : 1;
    if (at->transpose_b && rb > 1) {
        swap(&kb, &g.n);
        swap(&g.b_row, &g.b_col);
    }
    g.ldc = g.n;
    /* A stride of a dim of one element says nothing: make it the convenient one. */
    if (g.k == 1)
        g.a_col = 1;
    if (g.n == 1)
        g.b_col = 1;
    if (g.m == 1)
        g.a_row = g.a_col == 1 ? g.k : 1;
    if (g.k == 1)
        g.b_row = g.b_col == 1 ? g.n : 1;
    int batch = k->out[0].rank - (ra > 1) - (rb > 1);
    if (k->n_apart) {
        gemm_apart(k, dtype, &g, false);
        return;
    }
    if (batch == 0) {
        if (k->packs && dtype == JANUS_F32)
            g.panels = jn_packs_find(k->packs, &g, k->par);
        jn_gemm(dtype, &g, k->par);
        return;
    }
    batched p = {.k = k, .dtype = dtype, .g = g, .rank = batch, .c_size = g.m * g.n};
    int64_t n = 1;
    bool fold = rb <= 2 && ra > 1 && !at->transpose_a && !jn_is_turned(g.m, g.k, g.a_row, g.a_col);
    for (int d = 0; d < batch; d++) {
        int da = d - (batch - (ra - 2)), db = d - (batch - (rb - 2));
        p.dims[d] = k->out[0].dims[d];
        p.a_stride[d] = ra > 2 && da >= 0 && a->dims[da] != 1 ? a->strides[da] : 0;
        p.b_stride[d] = rb > 2 && db >= 0 && b->dims[db] != 1 ? b->strides[db] : 0;
        n *= p.dims[d];
    }
    if (fold && g.m * g.k * n > 0) { /* one matrix for all of the batch: more rows of one product */
        void *copy = NULL;
        if (a->contiguous || (copy = rows_of_batch(&p, n))) {
            g.a = copy ? copy : g.a;
            g.m *= n;
            g.a_row = g.k;
            g.a_col = 1;
            if (k->packs && dtype == JANUS_F32 && rb == 2)
                g.panels = jn_packs_find(k->packs, &g, k->par);
            jn_gemm(dtype, &g, k->par);
            jn_free_aligned(copy);
            return;
        }
    }
    int64_t work = g.m * g.n * g.k;
    bool by_batch = n >= 8 || work < 2 * PIECE_WORK;
    p.par = by_batch ? &jn_par_serial : k->par;
    if (by_batch && n > 1 && k->par->threads > 1)
        k->par->run(k->par, n, PIECE_WORK / (work + 1) + 1, batch_range, &p);
    else
        batch_range(&p, 0, n);
}

static void matmul_f32(const jn_kargs *k) { matmul_float(k, JANUS_F32); }
static void matmul_f64(const jn_kargs *k) { matmul_float(k, JANUS_F64); }

jn_kernel_fn jn_cpu_matmul(const jn_sig *sig) {
    int d = sig->in[0].dtype;
    return d == JANUS_F32 ? matmul_f32 : d == JANUS_F64 ? matmul_f64 : jn_cpu_fallback(sig);
}

/* ---- linear, outer, dot ------------------------------------------------------------------------
 */

/* What is there gets the bias. */
static void add_bias(const jn_kargs *k, int dtype, int64_t rows, int64_t out) {
    char *c = k->out[0].data;
    for (int64_t i = 0; i < rows * out; i++)
        if (dtype == JANUS_F32)
            ((float *)c)[i] += ((const float *)k->in[2].data)[i % out];
        else
            ((double *)c)[i] += ((const double *)k->in[2].data)[i % out];
}

static void linear_float(const jn_kargs *k, int dtype) {
    const jn_view *x = &k->in[0], *w = &k->in[1];
    bool bias = k->n_in > 2 && k->in[2].rank >= 0;
    int64_t in = w->dims[1], out = w->dims[0], rows = 1;
    for (int d = 0; d < x->rank - 1; d++)
        rows *= x->dims[d];
    jn_gemm_args g = {.m = rows,
                      .n = out,
                      .k = in,
                      .a = x->data,
                      .a_row = in,
                      .a_col = 1,
                      .b = w->data,
                      .b_row = 1,
                      .b_col = in,
                      .c = k->out[0].data,
                      .ldc = out,
                      .accumulate = k->accumulate};
    if (k->n_apart) { /* bias and product of each row are made together */
        gemm_apart(k, dtype, &g, bias);
        return;
    }
    if (k->packs && dtype == JANUS_F32)
        g.panels = jn_packs_find(k->packs, &g, k->par);
    if (bias && k->accumulate)
        add_bias(k, dtype, rows, out);
    else if (bias)
        g.bias = k->in[2].data;
    g.turned = k->kept ? k->kept[0] : NULL;
    jn_gemm(dtype, &g, k->par);
}

bool jn_takes_apart(const jn_sig *sig) {
    const jn_view *a = &sig->in[0], *out = &sig->out[0];
    unsigned id = sig->op->id;
    if (a->dtype != JANUS_F32 && a->dtype != JANUS_F64)
        return false;
    return id == JN_OP_ID_linear ||
           (id == JN_OP_ID_matmul && out->rank == (a->rank > 1) + (sig->in[1].rank > 1));
}

static void linear_f32(const jn_kargs *k) { linear_float(k, JANUS_F32); }
static void linear_f64(const jn_kargs *k) { linear_float(k, JANUS_F64); }

jn_kernel_fn jn_cpu_linear(const jn_sig *sig) {
    return sig->in[0].dtype == JANUS_F32 ? linear_f32 : linear_f64;
}

/* Operands are vectors, or rows of vectors where frames are batched. */
typedef struct vectors {
    int64_t m, n, rows;          /* lengths */
    size_t a_step, b_step, size; /* bytes from row to row */
} vectors;

static vectors vectors_of(const jn_kargs *k, int dtype) {
    const jn_view *a = &k->in[0], *b = &k->in[1];
    vectors v = {a->dims[a->rank - 1], b->dims[b->rank - 1], 1, 0, 0, dtype == JANUS_F32 ? 4 : 8};
    if (a->rank > 1)
        v.rows = a->dims[0], v.a_step = (size_t)v.m * v.size;
    if (b->rank > 1)
        v.rows = b->dims[0], v.b_step = (size_t)v.n * v.size;
    return v;
}

static void outer_float(const jn_kargs *k, int dtype) {
    vectors v = vectors_of(k, dtype);
    int64_t m = v.m, n = v.n;
    jn_gemm_args g = {.m = m,
                      .n = n,
                      .k = 1,
                      .a = k->in[0].data,
                      .a_row = 1,
                      .a_col = 1,
                      .b = k->in[1].data,
                      .b_row = n,
                      .b_col = 1,
                      .c = k->out[0].data,
                      .ldc = n,
                      .accumulate = k->accumulate};
    for (int64_t i = 0; i < v.rows; i++) {
        jn_isa.gemm[dtype](&g);
        g.a = (const char *)g.a + v.a_step;
        g.b = (const char *)g.b + v.b_step;
        g.c = (char *)g.c + (size_t)(m * n) * v.size;
    }
}

static void dot_float(const jn_kargs *k, int dtype) {
    vectors v = vectors_of(k, dtype);
    int64_t n = v.m;
    jn_gemm_args g = {.m = 1,
                      .n = 1,
                      .k = n,
                      .a = k->in[0].data,
                      .a_row = n,
                      .a_col = 1,
                      .b = k->in[1].data,
                      .b_row = 1,
                      .b_col = n,
                      .c = k->out[0].data,
                      .ldc = 1,
                      .accumulate = k->accumulate};
    for (int64_t i = 0; i < v.rows; i++) {
        jn_isa.gemm[dtype](&g);
        g.a = (const char *)g.a + v.a_step;
        g.b = (const char *)g.b + v.b_step;
        g.c = (char *)g.c + v.size;
    }
}

static void outer_f32(const jn_kargs *k) { outer_float(k, JANUS_F32); }
static void outer_f64(const jn_kargs *k) { outer_float(k, JANUS_F64); }
static void dot_f32(const jn_kargs *k) { dot_float(k, JANUS_F32); }
static void dot_f64(const jn_kargs *k) { dot_float(k, JANUS_F64); }

jn_kernel_fn jn_cpu_outer(const jn_sig *sig) {
    int d = sig->in[0].dtype;
    return d == JANUS_F32 ? outer_f32 : d == JANUS_F64 ? outer_f64 : jn_cpu_fallback(sig);
}

jn_kernel_fn jn_cpu_dot(const jn_sig *sig) {
    int d = sig->in[0].dtype;
    return d == JANUS_F32 ? dot_f32 : d == JANUS_F64 ? dot_f64 : jn_cpu_fallback(sig);
}
