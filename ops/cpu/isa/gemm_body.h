/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The product of matrices for one float type: included by isa_gemm.c with T (the type), F(name)
 * (its names' suffix) and JN_SIMD_F64 set.
 *
 * A tile is up to MR rows by NV vectors of C, kept in registers while k runs.  Three ways to it:
 * straight from row-major B (few rows, or small), along k when B is the transpose of a row-major
 * matrix and there are few rows, or not many and k is long (dot products), or through panels of B
 * packed KC deep.  Sums run over k in an order that depends on the way, so on the shape: products
 * of different row counts agree within rounding, not bit for bit.
 *
 * A B that no cache holds is read once, in long pieces of its rows: several panels are packed at a
 * time, and the rows of A that meet dot products.  (Rows a power of two apart fall into the same
 * few sets of a cache: what is read in short pieces, or again, comes from memory each time.)
 */
#include "ops/cpu/simd.h"

enum {
    F(NR) = NV * LANES,
    F(KC) = 256,                     /* depth of a packed panel */
    F(DOT_ROWS) = 8,                 /* up to here rows of A meet a transposed B by dot products */
    F(DOT_THIN) = 5,                 /* the same where k does not fill a vector */
    F(DOT_DEPTH) = 4096 / sizeof(T), /* of the rows that stay in L1 meanwhile */
    F(DOT_PACKED) = JN_GEMM_PACK / 4096,
    F(DOT_SHORT) = 4 * LANES, /* up to here most of a dot product is the sum of a vector */
#ifdef SUMS
    F(DOT_LONG) = JN_GEMM_DOT_LONG / 4,
#else
    F(DOT_LONG) = JN_GEMM_DOT_LONG,
#endif
    F(PACK_ROWS) = 4 * MR, /* from here on packing B pays */
    F(WIDE) = JN_GEMM_PACK / (F(KC) * (int)sizeof(T)),
    F(AHEAD) = 4 /* rows of B asked for ahead */
};

/* NULL, which C begins without, stays it. */
#ifndef AT
#define AT(from, i) ((from) ? (from) + (i) : NULL)
#endif

/* C[m, nv vectors] = A B + what lies at `from`, rows from_row apart (C itself, say), if that is not
 * NULL.  The last vector has `mask` lanes if `partial`. */
JN_INLINE void F(tile)(const int m, const int nv, const bool partial, int64_t k, const T *a,
                       int64_t a_row, int64_t a_col, const T *b, int64_t ldb, T *c, int64_t ldc,
                       const T *from, int64_t from_row, MASK mask) {
    V acc[MR][2 * NV];
    JN_UNROLL for (int i = 0; i < m; i++) {
        JN_UNROLL for (int j = 0; j < nv; j++) {
            acc[i][j] = ZERO();
            if (from)
                acc[i][j] = partial && j == nv - 1
                                ? LOAD_MASKED(from + i * from_row + j * LANES, mask)
                                : LOAD(from + i * from_row + j * LANES);
        }
    }
    for (int64_t p = 0; p < k; p++) {
        V vb[2 * NV];
        JN_UNROLL for (int j = 0; j < nv; j++) vb[j] =
            partial && j == nv - 1 ? LOAD_MASKED(b + j * LANES, mask) : LOAD(b + j * LANES);
        JN_UNROLL for (int i = 0; i < m; i++) {
            V va = SET1(a[i * a_row]);
            JN_UNROLL for (int j = 0; j < nv; j++) acc[i][j] = MULADD(va, vb[j], acc[i][j]);
        }
        a += a_col;
        b += ldb;
    }
    JN_UNROLL for (int i = 0; i < m; i++) {
        JN_UNROLL for (int j = 0; j < nv; j++) {
            if (partial && j == nv - 1)
                STORE_MASKED(c + i * ldc + j * LANES, mask, acc[i][j]);
            else
                STORE(c + i * ldc + j * LANES, acc[i][j]);
        }
    }
}

typedef void (*F(tile_fn))(int64_t k, const T *a, int64_t a_row, int64_t a_col, const T *b,
                           int64_t ldb, T *c, int64_t ldc, const T *from, int64_t from_row,
                           MASK mask);
#define TILE(m, nv, partial)                                                                       \
    static void F(tile_##m##_##nv##_##partial)(                                                    \
        int64_t k, const T *a, int64_t a_row, int64_t a_col, const T *b, int64_t ldb, T *c,        \
        int64_t ldc, const T *from, int64_t from_row, MASK mask) {                                 \
        F(tile)(m, nv, partial, k, a, a_row, a_col, b, ldb, c, ldc, from, from_row, mask);         \
    }
#define TILES_OF(m) TILE(m, 1, 0) TILE(m, 1, 1) TILE(m, 2, 0) TILE(m, 2, 1) TILES_WIDE(m)
TILES_OF(1)
TILES_OF(2)
TILES_OF(3)
TILES_OF(4)
TILES_TALL
#define ENTRY(m)                                                                                   \
    { TILES_ENTRY(m) }
static const F(tile_fn) F(tiles)[MR][NV][2] = {TILES_TABLE};
#undef TILE
#undef TILES_OF
#undef ENTRY

/* m rows by n columns from row-major B, nothing packed. */
static void F(direct)(int64_t m, int64_t n, int64_t k, const T *a, int64_t a_row, int64_t a_col,
                      const T *b, int64_t ldb, T *c, int64_t ldc, const T *from, int64_t from_row) {
    for (int64_t j = 0; j < n; j += F(NR)) {
        int64_t w = n - j < F(NR) ? n - j : F(NR);
        int nv = (int)((w + LANES - 1) / LANES), rest = (int)(w % LANES);
        MASK mask = MAKE_MASK(rest ? rest : LANES);
        const F(tile_fn) full = F(tiles)[MR - 1][nv - 1][rest != 0];
        int64_t i = 0;
        for (; i + MR <= m; i += MR)
            full(k, a + i * a_row, a_row, a_col, b + j, ldb, c + i * ldc + j, ldc,
                 AT(from, i * from_row + j), from_row, mask);
        if (i < m)
            F(tiles)
        [m - i - 1][nv - 1][rest != 0](k, a + i * a_row, a_row, a_col, b + j, ldb, c + i * ldc + j,
                                       ldc, AT(from, i * from_row + j), from_row, mask);
    }
}

/* One row of C: the whole width of a wide tile hides the latency of the additions. */
static void F(row)(int64_t n, int64_t k, const T *a, int64_t a_col, const T *b, int64_t ldb, T *c,
                   const T *from) {
    int64_t j = 0;
    for (; j + 2 * F(NR) <= n; j += 2 * F(NR))
        F(tile)
    (1, 2 * NV, 0, k, a, 0, a_col, b + j, ldb, c + j, 0, AT(from, j), 0, MAKE_MASK(LANES));
    if (j < n)
        F(direct)(1, n - j, k, a, 0, a_col, b + j, ldb, c + j, 0, AT(from, j), 0);
}

/* C[m, w] for B given as rows of its transpose: m * w dot products. */
JN_INLINE void F(dots)(const int m, const int w, int64_t k, const T *a, int64_t a_row, const T *b,
                       int64_t b_col, T *c, int64_t ldc, const T *from, int64_t from_row) {
    V acc[DOT_M][DOT_N];
    JN_UNROLL for (int i = 0; i < m; i++) JN_UNROLL for (int j = 0; j < w; j++) acc[i][j] = ZERO();
    int64_t p = 0;
    for (; p + LANES <= k; p += LANES) {
        V va[DOT_M];
        JN_UNROLL for (int i = 0; i < m; i++) va[i] = LOAD(a + i * a_row + p);
        JN_UNROLL for (int j = 0; j < w; j++) {
            V vb = LOAD(b + j * b_col + p);
            JN_UNROLL for (int i = 0; i < m; i++) acc[i][j] = MULADD(va[i], vb, acc[i][j]);
        }
    }
    if (p < k) {
        MASK mask = MAKE_MASK(k - p);
        V va[DOT_M];
        JN_UNROLL for (int i = 0; i < m; i++) va[i] = LOAD_MASKED(a + i * a_row + p, mask);
        JN_UNROLL for (int j = 0; j < w; j++) {
            V vb = LOAD_MASKED(b + j * b_col + p, mask);
            JN_UNROLL for (int i = 0; i < m; i++) acc[i][j] = MULADD(va[i], vb, acc[i][j]);
        }
    }
#ifdef SUMS
    if (w == SUMS && m == 4) {
        jn_store_sums_f(acc[0], acc[1], acc[2], acc[3], c, ldc, from, from_row);
        return;
    }
    if (w == SUMS) {
        JN_UNROLL for (int i = 0; i < m; i++) {
            V sums = jn_sums_f(acc[i]);
            MASK mask = MAKE_MASK(SUMS);
            STORE_MASKED(c + i * ldc, mask,
                         from ? ADD(LOAD_MASKED(from + i * from_row, mask), sums) : sums);
        }
        return;
    }
#endif
    JN_UNROLL for (int i = 0; i < m; i++) JN_UNROLL for (int j = 0; j < w; j++) {
        T sum = HSUM(acc[i][j]);
        c[i * ldc + j] = from ? from[i * from_row + j] + sum : sum;
    }
}

typedef void (*F(dots_fn))(int64_t k, const T *a, int64_t a_row, const T *b, int64_t b_col, T *c,
                           int64_t ldc, const T *from, int64_t from_row);
#define DOTS(m, w)                                                                                 \
    static void F(dots_##m##_##w)(int64_t k, const T *a, int64_t a_row, const T *b, int64_t b_col, \
                                  T *c, int64_t ldc, const T *from, int64_t from_row) {            \
        F(dots)(m, w, k, a, a_row, b, b_col, c, ldc, from, from_row);                              \
    }
DOTS_ALL
#undef DOTS
#define DOTS(m, w) F(dots_##m##_##w),
/* By rows of A, then: one row of the transposed B, or DOT_N of them. */
static const F(dots_fn) F(dot_tiles)[] = {DOTS_ALL};
#undef DOTS

/* `last` + 1 rows of A with w rows of the transposed B. */
static void F(dot_rows)(int64_t last, int64_t w, int64_t k, const T *a, int64_t a_row, const T *b,
                        int64_t b_col, T *c, int64_t ldc, const T *from, int64_t from_row) {
    const F(dots_fn) one = F(dot_tiles)[2 * last], all = F(dot_tiles)[2 * last + 1];
    if (w == DOT_N)
        all(k, a, a_row, b, b_col, c, ldc, from, from_row);
    for (int64_t r = 0; r < w && w < DOT_N; r++)
        one(k, a, a_row, b + r * b_col, b_col, c + r, ldc, AT(from, r), from_row);
}

#ifdef HSUMS
/* Where k is short, adding up what stands in a vector is most of a dot product: LANES of them do it
 * together, to the same bits.  One row of A; `vectors` of k, and part of one.  `few`: the columns
 * are w, of which the last stands for those that there are not. */
JN_INLINE void F(short_dots)(const int vectors, const bool partial, MASK mask, const bool few,
                             int64_t w, const T *a, const T *b, int64_t b_col, T *c,
                             const T *from) {
    V acc[LANES], va[5];
    JN_UNROLL for (int p = 0; p < vectors; p++) va[p] = LOAD(a + p * LANES);
    if (partial)
        va[vectors] = LOAD_MASKED(a + vectors * LANES, mask);
    JN_UNROLL for (int j = 0; j < LANES; j++) {
        acc[j] = ZERO();
        JN_UNROLL for (int p = 0; p < vectors; p++) acc[j] =
            MULADD(va[p], LOAD(b + p * LANES), acc[j]);
        if (partial)
            acc[j] = MULADD(va[vectors], LOAD_MASKED(b + vectors * LANES, mask), acc[j]);
        b += !few || j + 1 < w ? b_col : 0;
    }
    V sums = HSUMS(acc);
    if (few) {
        MASK to = MAKE_MASK(w);
        STORE_MASKED(c, to, from ? ADD(LOAD_MASKED(from, to), sums) : sums);
        return;
    }
    STORE(c, from ? ADD(LOAD(from), sums) : sums);
}

#define SHORT_DOTS(v, partial)                                                                     \
    static void F(short_dots_##v##_##partial)(int64_t m, int64_t w, MASK mask, const T *a,         \
                                              int64_t a_row, const T *b, int64_t b_col, T *c,      \
                                              int64_t ldc, const T *from, int64_t from_row) {      \
        for (int64_t i = 0; i < m && w == LANES; i++)                                              \
            F(short_dots)                                                                          \
        (v, partial, mask, false, LANES, a + i * a_row, b, b_col, c + i * ldc,                     \
         AT(from, i * from_row));                                                                  \
        for (int64_t i = 0; i < m && w < LANES; i++)                                               \
            F(short_dots)                                                                          \
        (v, partial, mask, true, w, a + i * a_row, b, b_col, c + i * ldc, AT(from, i * from_row)); \
    }
SHORT_DOTS(0, 1)
SHORT_DOTS(1, 0)
SHORT_DOTS(1, 1)
SHORT_DOTS(2, 0)
SHORT_DOTS(2, 1)
SHORT_DOTS(3, 0)
SHORT_DOTS(3, 1)
SHORT_DOTS(4, 0)
#undef SHORT_DOTS

/* LANES columns at a time, and the rest of them where that takes less than tiles of DOT_N and one
 * after the other do.  Returns how many are done. */
static int64_t F(short_dots_of)(int64_t m, int64_t n, int64_t k, const T *a, int64_t a_row,
                                const T *b, int64_t b_col, T *c, int64_t ldc, const T *from,
                                int64_t from_row) {
    typedef void (*of)(int64_t m, int64_t w, MASK mask, const T *a, int64_t a_row, const T *b,
                       int64_t b_col, T *c, int64_t ldc, const T *from, int64_t from_row);
    static const of by_k[][2] = {{NULL, F(short_dots_0_1)},
                                 {F(short_dots_1_0), F(short_dots_1_1)},
                                 {F(short_dots_2_0), F(short_dots_2_1)},
                                 {F(short_dots_3_0), F(short_dots_3_1)},
                                 {F(short_dots_4_0), NULL}};
    of f = by_k[k / LANES][k % LANES != 0];
    MASK mask = MAKE_MASK(k % LANES ? k % LANES : LANES);
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES)
        f(m, LANES, mask, a, a_row, b + j * b_col, b_col, c + j, ldc, AT(from, j), from_row);
    int64_t w = n - j;
    if (m <= 2 ? w <= DOT_N / 2 || w == DOT_N : w <= LANES / 2 || w % DOT_N == 0)
        return j;
    f(m, w, mask, a, a_row, b + j * b_col, b_col, c + j, ldc, AT(from, j), from_row);
    return n;
}
#endif

#ifdef SUM_ORDER
#include "ops/cpu/isa/turned_body.h"
#endif

/* Rows of the transposed B stay in L1 while those of A pass by. */
static void F(dots_of)(int64_t m, int64_t n, int64_t k, const T *a, int64_t a_row, const T *b,
                       int64_t b_col, T *c, int64_t ldc, const T *from, int64_t from_row) {
    int64_t done = 0;
#ifdef HSUMS
    if (k <= F(DOT_SHORT))
        done = F(short_dots_of)(m, n, k, a, a_row, b, b_col, c, ldc, from, from_row);
#endif
    for (int64_t j = done; j < n; j += DOT_N) {
        int64_t w = n - j < DOT_N ? n - j : DOT_N;
        int64_t i = 0;
        for (; i + DOT_M <= m; i += DOT_M)
            F(dot_rows)
        (DOT_M - 1, w, k, a + i * a_row, a_row, b + j * b_col, b_col, c + i * ldc + j, ldc,
         AT(from, i * from_row + j), from_row);
        if (i < m)
            F(dot_rows)
        (m - i - 1, w, k, a + i * a_row, a_row, b + j * b_col, b_col, c + i * ldc + j, ldc,
         AT(from, i * from_row + j), from_row);
    }
}

/* DOT_DEPTH of k at a time. */
static void F(transposed)(int64_t m, int64_t n, int64_t k, const T *a, int64_t a_row, const T *b,
                          int64_t b_col, T *c, int64_t ldc, const T *from, int64_t from_row,
                          T *packed) {
    for (int64_t p = 0; p < k; p += F(DOT_DEPTH)) {
        int64_t depth = k - p < F(DOT_DEPTH) ? k - p : F(DOT_DEPTH);
        if (p > 0)
            from = c, from_row = ldc;
        if (!packed || m <= DOT_M) {
            F(dots_of)(m, n, depth, a + p, a_row, b + p, b_col, c, ldc, from, from_row);
            continue;
        }
        for (int64_t i = 0; i < m; i += F(DOT_PACKED)) {
            int64_t h = m - i < F(DOT_PACKED) ? m - i : F(DOT_PACKED);
            for (int64_t r = 0; r < h; r++)
                memcpy(packed + r * F(DOT_DEPTH), a + (i + r) * a_row + p,
                       (size_t)depth * sizeof(T));
            F(dots_of)
            (h, n, depth, packed, F(DOT_DEPTH), b + p, b_col, c + i * ldc, ldc,
             AT(from, i * from_row), from_row);
        }
    }
}

/* panel[p][j] = B[p][j] for j < w <= NR; nobody reads what is beyond. */
static void F(pack)(int64_t k, int64_t w, const T *b, int64_t b_row, int64_t b_col, T *panel) {
    if (b_col == 1) {
        for (int64_t p = 0; p < k; p++)
            for (int64_t j = 0; j < w; j++)
                panel[p * F(NR) + j] = b[p * b_row + j];
        return;
    }
    /* Blocks of a cache line by a cache line. */
    for (int64_t p0 = 0; p0 < k; p0 += 16) {
        int64_t p1 = p0 + 16 < k ? p0 + 16 : k, j = 0;
#ifdef TRANSPOSE
        for (; b_row == 1 && p1 - p0 == 16 && j + 16 <= w; j += 16)
            TRANSPOSE(b + p0 + j * b_col, b_col, panel + p0 * F(NR) + j, F(NR));
#endif
        for (; j < w; j++)
            for (int64_t p = p0; p < p1; p++)
                panel[p * F(NR) + j] = b[p * b_row + j * b_col];
    }
}

/* All rows against one packed panel of up to NR columns and KC depth. */
static void F(panel)(int64_t m, int64_t w, int64_t k, const T *a, int64_t a_row, int64_t a_col,
                     const T *packed, T *c, int64_t ldc, const T *from, int64_t from_row) {
    T tile[MR * F(KC)];
    for (int64_t i = 0; i < m; i += MR) {
        int64_t h = m - i < MR ? m - i : MR;
        const T *at = a + i * a_row;
        int64_t row = a_row, col = a_col;
        if (a_col != 1) {
            for (int64_t p = 0; p < k; p++)
                for (int64_t r = 0; r < h; r++)
                    tile[p * MR + r] = at[p * a_col + r * a_row];
            at = tile, row = 1, col = MR;
        }
        int nv = (int)((w + LANES - 1) / LANES), rest = (int)(w % LANES);
        F(tiles)
        [h - 1][nv - 1][rest != 0](k, at, row, col, packed, F(NR), c + i * ldc, ldc,
                                   AT(from, i * from_row), from_row,
                                   MAKE_MASK(rest ? rest : LANES));
    }
}

/* Panels of w columns in all from row-major B. */
static void F(pack_wide)(int64_t k, int64_t w, const T *b, int64_t b_row, T *panels) {
    enum { LINE = 64 / sizeof(T) };
    int64_t whole = w / F(NR) * F(NR);
    for (int64_t p = 0; p < k; p++, b += b_row) {
        for (int64_t j = 0; j < w && p + F(AHEAD) < k; j += LINE)
            __builtin_prefetch(b + F(AHEAD) * b_row + j);
        T *to = panels + p * F(NR);
        for (int64_t j = 0; j < whole; j += F(NR), to += F(KC) * F(NR))
            JN_UNROLL for (int v = 0; v < NV; v++) STORE(to + v * LANES, LOAD(b + j + v * LANES));
        for (int64_t j = whole; j < w; j++)
            to[j - whole] = b[j];
    }
}

static void F(wide)(const jn_gemm_args *g, const T *from, int64_t from_row) {
    const T *a = g->a, *b = g->b;
    T *c = g->c, *packed = g->pack;
    for (int64_t j = 0; j < g->n; j += F(WIDE)) {
        int64_t w = g->n - j < F(WIDE) ? g->n - j : F(WIDE);
        for (int64_t p = 0; p < g->k; p += F(KC)) {
            int64_t depth = g->k - p < F(KC) ? g->k - p : F(KC);
            F(pack_wide)(depth, w, b + p * g->b_row + j, g->b_row, packed);
            for (int64_t at = 0; at < w; at += F(NR))
                F(panel)
            (g->m, w - at < F(NR) ? w - at : F(NR), depth, a + p * g->a_col, g->a_row, g->a_col,
             packed + at * F(KC), c + j + at, g->ldc, p > 0 ? c + j + at : AT(from, j + at),
             p > 0 ? g->ldc : from_row);
        }
    }
}

/* A column of C is a row of the transposed product. */
static bool F(column)(const jn_gemm_args *g, const T *from, int64_t from_row) {
    T *c = g->c;
    bool rows = g->a_row == 1;
    if (g->n != 1 || g->ldc != 1 || g->m == 1 || (!rows && (g->a_col != 1 || g->b_row != 1)))
        return false;
    for (int64_t i = 0; i < g->m && from && from_row == 0; i++) /* one number for all of it */
        c[i] = *from;
    from = from ? c : NULL;
    if (rows)
        F(row)(g->m, g->k, g->b, g->b_row, g->a, g->a_col, c, from);
    else
        F(dots_of)(1, g->m, g->k, g->b, 0, g->a, g->a_row, c, 0, from, 0);
    return true;
}

#ifndef JN_SIMD_F64
/* Panels of all of k, one behind the other. */
static void F(pack_whole)(const jn_gemm_args *g, void *panels) {
    const T *b = g->b;
    T *to = panels;
    for (int64_t j = 0; j < g->n; j += F(NR), to += g->k * F(NR))
        F(pack)
    (g->k, g->n - j < F(NR) ? g->n - j : F(NR), b + j * g->b_col, g->b_row, g->b_col, to);
}
#endif

/* Each sum runs over k in order, so its bits do not depend on how many rows there are. */
static void F(packed)(const jn_gemm_args *g, const T *from, int64_t from_row) {
    const T *a = g->a, *panel = g->panels;
    T *c = g->c;
    for (int64_t j = 0; j < g->n; j += F(NR), panel += g->k * F(NR))
        for (int64_t p = 0; p < g->k; p += F(KC))
            F(panel)
    (g->m, g->n - j < F(NR) ? g->n - j : F(NR), g->k - p < F(KC) ? g->k - p : F(KC),
     a + p * g->a_col, g->a_row, g->a_col, panel + p * F(NR), c + j, g->ldc,
     p > 0 ? c + j : AT(from, j), p > 0 ? g->ldc : from_row);
}

/* Sums that do not fill a vector: packing B costs less than adding up lanes for so many rows.  Not
 * a matter of n: a column has the bits that it has among others. */
static bool F(is_thin)(int64_t m, int64_t k) { return k < LANES && m > F(DOT_THIN); }

static void F(gemm)(const jn_gemm_args *g) {
    const T *a = g->a, *b = g->b;
    T *c = g->c;
    int64_t m = g->m, n = g->n, k = g->k, ldc = g->ldc;
    /* what products are added to, and how far apart its rows are */
    const T *from = g->bias ? g->bias : g->accumulate ? c : NULL;
    int64_t from_row = g->bias ? 0 : ldc;
    if (m <= 0 || n <= 0)
        return;
    if (k <= 0) {
        for (int64_t i = 0; i < m && !(g->accumulate && !g->bias); i++)
            for (int64_t j = 0; j < n; j++)
                c[i * ldc + j] = from ? from[j] : 0;
        return;
    }
    if (g->panels) {
        F(packed)(g, from, from_row);
        return;
    }
    if (F(column)(g, from, from_row))
        return;
    if (g->b_col == 1 && g->pack && m > MR) {
        F(wide)(g, from, from_row);
        return;
    }
    if (g->b_col == 1 && (m < F(PACK_ROWS) || n <= F(NR) || k * n <= 4096)) {
        if (m == 1)
            F(row)(n, k, a, g->a_col, b, g->b_row, c, from);
        else
            F(direct)(m, n, k, a, g->a_row, g->a_col, b, g->b_row, c, ldc, from, from_row);
        return;
    }
    if (g->b_row == 1 && g->a_col == 1 &&
        ((m <= F(DOT_ROWS) && !F(is_thin)(m, k)) || (m <= JN_GEMM_DOT_ROWS && k >= F(DOT_LONG)))) {
#ifdef SUM_ORDER
        if (g->turned && k <= F(DOT_SHORT)) {
            F(turned)(g, from, from_row);
            return;
        }
#endif
        F(transposed)
        (m, n, k, a, g->a_row, b, g->b_col, c, ldc, from, from_row, g->pack);
        return;
    }
    /* A panel stays in L1 and L2 while all rows pass by; rows of A come through in turn. */
    _Alignas(64) T packed[F(KC) * F(NR)];
    for (int64_t j = 0; j < n; j += F(NR)) {
        int64_t w = n - j < F(NR) ? n - j : F(NR);
        for (int64_t p = 0; p < k; p += F(KC)) {
            int64_t depth = k - p < F(KC) ? k - p : F(KC);
            F(pack)(depth, w, b + p * g->b_row + j * g->b_col, g->b_row, g->b_col, packed);
            F(panel)
            (m, w, depth, a + p * g->a_col, g->a_row, g->a_col, packed, c + j, ldc,
             p > 0 ? c + j : AT(from, j), p > 0 ? ldc : from_row);
        }
    }
}
