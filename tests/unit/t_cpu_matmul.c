/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products against sums in long double: every way through the kernels (row, tiles with ragged
 * edges, dot products, packed panels, oneDNN), transposed and strided operands, batches, empty
 * sizes, accumulation, on every instruction set and with the thread pool.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/store/par.h"
#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/gemm.h"
#include "ops/cpu/isa.h"
#include "ops/rules.h"
#include "tests/unit/check.h"

static const char *const sets[] = {"generic", "avx2", "avx512"};
static uint64_t state = 99;

static double random_number(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 40) * 0x1p-23 - 1.0;
}

typedef struct matrix {
    int dtype;
    int64_t dims[3], strides[3];
    void *data;
    jn_view view;
} matrix;

static double get(const matrix *m, int64_t b, int64_t i, int64_t j) {
    int64_t at = b * m->strides[0] + i * m->strides[1] + j * m->strides[2];
    return m->dtype == JANUS_F32 ? (double)((float *)m->data)[at] : ((double *)m->data)[at];
}

/* [b, rows, cols]; `swapped`: the memory is column-major; `gap`: rows lie further apart. */
static void make(matrix *m, int dtype, int64_t b, int64_t rows, int64_t cols, bool swapped,
                 int64_t gap) {
    m->dtype = dtype;
    m->dims[0] = b, m->dims[1] = rows, m->dims[2] = cols;
    m->strides[1] = swapped ? 1 : cols + gap;
    m->strides[2] = swapped ? rows + gap : 1;
    m->strides[0] = swapped ? cols * m->strides[2] : rows * m->strides[1];
    size_t n = (size_t)(b * (rows + gap) * (cols + gap) + 1);
    m->data = malloc(n * 8);
    for (size_t i = 0; i < n; i++)
        if (dtype == JANUS_F32)
            ((float *)m->data)[i] = (float)random_number();
        else
            ((double *)m->data)[i] = random_number();
    m->view = (jn_view){m->data, m->dims, m->strides, 3, (uint8_t)dtype, !swapped && gap == 0};
    if (b == 1) {
        m->view.dims++, m->view.strides++;
        m->view.rank = 2;
    }
}

static jn_packs *kept; /* of what is called; or NULL */

static void run(jn_kernel_fn kernel, const jn_view *in, unsigned n_in, const jn_view *out,
                const void *attrs, bool accumulate) {
    uint32_t flags = 0;
    jn_kargs k = {.in = in,
                  .out = out,
                  .n_in = (uint16_t)n_in,
                  .n_out = 1,
                  .attrs = attrs,
                  .flags = &flags,
                  .par = jn_par_pool(),
                  .accumulate = accumulate,
                  .packs = kept};
    kernel(&k);
}

static void check_matmul(int dtype, int64_t batch, int64_t m, int64_t n, int64_t k, bool sa,
                         bool sb, bool ta, bool tb, int64_t gap, bool accumulate) {
    matrix a, b, c, before;
    make(&a, dtype, batch, ta ? k : m, ta ? m : k, sa, gap);
    make(&b, dtype, batch, tb ? n : k, tb ? k : n, sb, gap);
    make(&c, dtype, batch, m, n, false, 0);
    make(&before, dtype, batch, m, n, false, 0);
    size_t bytes = (size_t)(batch * m * n) * jn_elem_size(dtype);
    memcpy(before.data, c.data, bytes);
    janus_matmul_attrs attrs = {sizeof attrs, ta, tb};
    jn_view in[2] = {a.view, b.view};
    jn_sig sig = {JN_OP(matmul), in, &c.view, 2, 1, &attrs};
    run(jn_cpu_matmul(&sig), in, 2, &c.view, &attrs, accumulate);
    for (int again = 0; kept && again < 2; again++) { /* packs, and finds what is packed */
        memcpy(c.data, before.data, bytes);
        run(jn_cpu_matmul(&sig), in, 2, &c.view, &attrs, accumulate);
    }
    double worst = 0, unit = dtype == JANUS_F32 ? 0x1p-24 : 0x1p-53;
    for (int64_t q = 0; q < batch; q++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                long double want = accumulate ? get(&before, q, i, j) : 0, size = fabsl(want) + 1;
                for (int64_t p = 0; p < k; p++) {
                    double x = ta ? get(&a, q, p, i) : get(&a, q, i, p);
                    double y = tb ? get(&b, q, j, p) : get(&b, q, p, j);
                    want += (long double)x * y;
                    size += fabs(x * y);
                }
                double e = (double)(fabsl(get(&c, q, i, j) - want) / size) / unit;
                worst = e > worst ? e : worst;
            }
    if (worst > 8 + 0.1 * sqrt((double)k))
        printf("\n%s %d [%ld x %ld x %ld x %ld] sa%d sb%d ta%d tb%d gap%ld: %.1f\n", jn_isa.name,
               dtype, (long)batch, (long)m, (long)n, (long)k, sa, sb, ta, tb, (long)gap, worst);
    CU_ASSERT(worst <= 8 + 0.1 * sqrt((double)k));
    free(a.data), free(b.data), free(c.data), free(before.data);
}

static void products_are_right(void) {
    static const int64_t shapes[][3] = {
        {1, 1, 1},     {1, 96, 32},  {1, 7, 3},     {1, 300, 65},   {2, 5, 9},      {3, 17, 1},
        {5, 64, 33},   {6, 65, 16},  {7, 130, 20},  {13, 31, 70},   {25, 40, 300},  {30, 70, 40},
        {64, 64, 64},  {0, 5, 4},    {5, 0, 4},     {4, 5, 0},      {40, 200, 520}, {1, 1, 700},
        {33, 1, 50},   {9, 3, 300},  {10, 7, 513},  {61, 20, 1100}, {33, 13, 2085}, {65, 12, 600},
        {128, 1, 256}, {7, 1, 1030}, {34, 19, 139}, {6, 500, 70}};
    for (size_t s = 0; s < 3; s++)
        for (size_t i = 0; jn_isa_use(sets[s]) && i < sizeof shapes / sizeof shapes[0]; i++)
            for (int bits = 0; bits < 16; bits++)
                for (int dtype = JANUS_F32; dtype <= JANUS_F64; dtype++)
                    check_matmul(dtype, 1, shapes[i][0], shapes[i][1], shapes[i][2], bits & 1,
                                 bits & 2, bits & 4, bits & 8, bits % 3, bits % 5 == 0);
}

/* Where k is short, columns are computed by vectors, by tiles or one by one, as many as there are:
 * each has the bits that it has among others, and nothing is written beside them. */
static void columns_left_over(void) {
    enum { ROWS = 9, COLS = 40, DEPTH = 64, GUARD = 4 };
    static float a[ROWS * DEPTH], b[COLS * DEPTH], all[ROWS * COLS], some[ROWS * (COLS + GUARD)];
    for (int i = 0; i < ROWS * DEPTH; i++)
        a[i] = (float)random_number();
    for (int i = 0; i < COLS * DEPTH; i++)
        b[i] = (float)random_number();
    for (size_t s = 0; s < 3; s++)
        for (int64_t k = 1; jn_isa_use(sets[s]) && k <= DEPTH; k += k < 20 ? 3 : 11)
            for (int64_t m = 1; m <= ROWS; m += m < 3 ? 1 : 3)
                for (int64_t n = 2; n < COLS; n++)
                    for (int accumulate = 0; accumulate < 2; accumulate++) {
                        int wrong = 0;
                        for (int i = 0; i < ROWS * (COLS + GUARD); i++)
                            some[i] = 3;
                        for (int i = 0; i < ROWS * COLS; i++)
                            all[i] = 3;
                        jn_gemm_args g = {.m = m,
                                          .n = n,
                                          .k = k,
                                          .a = a,
                                          .a_row = k,
                                          .a_col = 1,
                                          .b = b,
                                          .b_row = 1,
                                          .b_col = k,
                                          .c = some,
                                          .ldc = n + GUARD,
                                          .accumulate = accumulate};
                        jn_isa.gemm[JANUS_F32](&g);
                        g.n = g.ldc = COLS;
                        g.c = all;
                        jn_isa.gemm[JANUS_F32](&g);
                        for (int64_t i = 0; i < m; i++) {
                            wrong += memcmp(some + i * (n + GUARD), all + i * COLS,
                                            (size_t)n * sizeof *some) != 0;
                            for (int64_t j = n; j < n + GUARD; j++)
                                wrong += some[i * (n + GUARD) + j] != 3;
                        }
                        CU_ASSERT(wrong == 0);
                    }
}

/* The transpose of a matrix that no cache of a core holds. */
static void few_rows_by_a_large_matrix_are_right(void) {
    for (size_t s = 0; s < 3; s++)
        for (int64_t m = 5; jn_isa_use(sets[s]) && m <= 67; m += 31)
            check_matmul(JANUS_F32, 1, m, 66, 16000, false, false, false, true, 0, m == 36);
    for (size_t s = 0; s < 3; s++) { /* as it is, in panels; long: in pieces of k */
        if (!jn_isa_use(sets[s]))
            continue;
        check_matmul(JANUS_F32, 1, 7, 4100, 300, false, false, false, false, 0, false);
        check_matmul(JANUS_F32, 1, 14, 8192, 128, false, false, false, false, 3, true);
        check_matmul(JANUS_F32, 1, 6, 41, 33000, false, false, false, true, 0, true);
        check_matmul(JANUS_F32, 1, 150, 64, 17000, false, false, false, true, 0, false);
    }
}

/* Matrices that several products share: each is packed once, and only where that pays. */
static void kept_panels_are_right(void) {
    static const int64_t shapes[][3] = {{4, 64, 128},    {5, 65, 130},   {9, 1024, 128},
                                        {18, 500, 250},  {50, 127, 300}, {160, 130, 101},
                                        {23, 128, 1024}, {7, 70, 120},   {16, 1024, 256}};
    /* too few or too many rows, too small and too large a matrix: in a recursion, and for all */
    static const int64_t others[][3] = {
        {3, 256, 256}, {161, 64, 256}, {9, 64, 64}, {5, 1024, 129}, {5, 1024, 257}};
    for (size_t s = 0; s < 3; s++)
        for (size_t i = 0; jn_isa_use(sets[s]) && i < sizeof shapes / sizeof shapes[0]; i++)
            for (int bits = 0; bits < 8; bits++) {
                bool batch = shapes[i][0] == 7;
                kept = calloc(1, sizeof *kept);
                kept->at_once = i & 1;
                check_matmul(JANUS_F32, batch ? 3 : 1, shapes[i][0], shapes[i][1], shapes[i][2],
                             false, bits & 1, false, bits & 2, bits & 4 ? 3 : 0, bits % 3 == 0);
                bool packs = kept->n == 1 && kept->pack[0].panels;
                CU_ASSERT(packs == (s == 2 && !batch && !(bits & 1) == !!(bits & 2)));
                CU_ASSERT(packs || kept->n == 0);
                jn_packs_free(kept);
                kept = NULL;
            }
    for (size_t s = 0; s < 3; s++)
        for (size_t i = 0; jn_isa_use(sets[s]) && i < sizeof others / sizeof others[0]; i++) {
            kept = calloc(1, sizeof *kept);
            kept->at_once = i == 3;
            check_matmul(JANUS_F32, 1, others[i][0], others[i][1], others[i][2], false, false,
                         false, true, 0, false);
            CU_ASSERT_EQUAL(kept->n, 0);
            jn_packs_free(kept);
            kept = NULL;
        }
}

/* What one has packed another reads, and leaves to it; what it has itself stays. */
static void lent_panels_are_the_owners(void) {
    static const int64_t shapes[2][3] = {{9, 1024, 128}, {9, 64, 128}};
    if (!jn_isa_use(sets[2])) /* others do not pack */
        return;
    jn_packs *first = calloc(1, sizeof *first), *other = calloc(1, sizeof *other);
    matrix b[2];
    first->at_once = other->at_once = true;
    for (int i = 0; i < 2; i++) {
        make(&b[i], JANUS_F32, 1, shapes[i][1], shapes[i][2], false, 0);
        jn_gemm_args g = {.m = shapes[i][0],
                          .n = shapes[i][1],
                          .k = shapes[i][2],
                          .a_col = 1,
                          .b = b[i].data,
                          .b_row = 1,
                          .b_col = shapes[i][2]};
        const void *own = i ? jn_packs_find(other, &g, jn_par_pool()) : NULL;
        const void *panels = jn_packs_find(first, &g, jn_par_pool());
        jn_packs_lend(first, other);
        size_t bytes = other->bytes;
        CU_ASSERT(panels && panels != own);
        CU_ASSERT(jn_packs_find(other, &g, jn_par_pool()) == (i ? own : panels));
        CU_ASSERT_EQUAL(other->bytes, bytes);
        CU_ASSERT_EQUAL(other->n, (uint32_t)i + 1);
    }
    free(b[0].data), free(b[1].data);
    jn_packs_free(other);
    jn_packs_free(first);
}

static void batches_are_right(void) {
    for (int bits = 0; bits < 16; bits++)
        for (int dtype = JANUS_F32; dtype <= JANUS_F64; dtype++)
            check_matmul(dtype, 5, 4, 19, 23, bits & 1, bits & 2, bits & 4, bits & 8, bits % 2,
                         false);
    check_matmul(JANUS_F32, 12, 70, 60, 50, false, true, false, false, 0, false);
}

static void large_products_do_not_depend_on_threads(void) {
    enum { N = 200 };
    static float a[N * N], b[N * N], c[2][N * N];
    for (int i = 0; i < N * N; i++)
        a[i] = (float)random_number(), b[i] = (float)random_number();
    int64_t dims[2] = {N, N}, strides[2] = {N, 1};
    janus_matmul_attrs attrs = {sizeof attrs, false, false};
    for (int t = 0; t < 2; t++) {
        CU_ASSERT_EQUAL(janus_set_num_threads(t ? 3 : 1), JANUS_OK);
        jn_view in[2] = {{a, dims, strides, 2, JANUS_F32, true},
                         {b, dims, strides, 2, JANUS_F32, true}};
        jn_view out = {c[t], dims, strides, 2, JANUS_F32, true};
        jn_sig sig = {JN_OP(matmul), in, &out, 2, 1, &attrs};
        run(jn_cpu_matmul(&sig), in, 2, &out, &attrs, false);
    }
    CU_ASSERT(memcmp(c[0], c[1], sizeof c[0]) == 0);
    janus_set_num_threads(0);
}

static void linear_is_right(void) {
    for (int64_t rows = 0; rows < 9; rows += 4) {
        enum { I = 21, O = 37 };
        static float x[8 * I], w[O * I], bias[O], y[8 * O];
        for (int i = 0; i < 8 * I; i++)
            x[i] = (float)random_number();
        for (int i = 0; i < O * I; i++)
            w[i] = (float)random_number();
        for (int i = 0; i < O; i++)
            bias[i] = (float)random_number();
        int64_t dx[2] = {rows, I}, sx[2] = {I, 1}, dw[2] = {O, I}, db[1] = {O}, sb[1] = {1},
                dy[2] = {rows, O}, sy[2] = {O, 1};
        jn_view in[3] = {{x, dx, sx, 2, JANUS_F32, true},
                         {w, dw, sx, 2, JANUS_F32, true},
                         {bias, db, sb, 1, JANUS_F32, true}};
        jn_view out = {y, dy, sy, 2, JANUS_F32, true};
        jn_sig sig = {JN_OP(linear), in, &out, 3, 1, NULL};
        run(jn_cpu_linear(&sig), in, 3, &out, NULL, false);
        for (int64_t i = 0; i < rows * O; i++) {
            double want = bias[i % O];
            for (int p = 0; p < I; p++)
                want += (double)x[i / O * I + p] * w[i % O * I + p];
            CU_ASSERT_DOUBLE_EQUAL(y[i], want, 1e-5);
        }
    }
}

/* A bias is where rows begin: the bits are those of a product that is added to it, whatever the
 * result's memory held, in one piece and in several; the first shapes are those of kept panels. */
static void a_bias_changes_no_bit(void) {
    enum { PANELS = 5 };
    static const int64_t shapes[][3] = {
        {4, 65, 130}, {9, 1024, 128}, {50, 200, 300}, {160, 1000, 100}, {11, 70, 600},
        {1, 1, 5},    {1, 70, 33},    {7, 1, 40},     {300, 1, 9},      {3, 37, 64},
        {6, 6, 1},    {5, 20, 0},     {2, 130, 700},  {8, 23, 8000},    {3, 9, 40000},
        {40, 33, 15}, {65, 90, 40},   {300, 70, 520}};
    for (size_t s = 0; s < 3; s++)
        for (size_t i = 0; jn_isa_use(sets[s]) && i < 2 * sizeof shapes / sizeof shapes[0]; i++) {
            bool packs = i % 2;
            if (packs && i / 2 >= PANELS)
                continue;
            int64_t m = shapes[i / 2][0], n = shapes[i / 2][1], k = shapes[i / 2][2], one = 1;
            float *x = calloc((size_t)(m * k + 1), sizeof *x),
                  *w = calloc((size_t)(n * k + 1), sizeof *w);
            float *bias = calloc((size_t)n, sizeof *bias);
            float *y[2] = {calloc((size_t)(m * n), sizeof **y),
                           calloc((size_t)(m * n), sizeof **y)};
            for (int64_t at = 0; at < m * k; at++)
                x[at] = (float)random_number();
            for (int64_t at = 0; at < n * k; at++)
                w[at] = (float)random_number();
            for (int64_t at = 0; at < n; at++)
                bias[at] = (float)random_number();
            int64_t dx[2] = {m, k}, sx[2] = {k, 1}, dw[2] = {n, k}, dy[2] = {m, n}, sy[2] = {n, 1};
            jn_view in[3] = {{x, dx, sx, 2, JANUS_F32, true},
                             {w, dw, sx, 2, JANUS_F32, true},
                             {bias, &n, &one, 1, JANUS_F32, true}};
            kept = packs ? calloc(1, sizeof *kept) : NULL;
            if (kept)
                kept->at_once = true;
            for (int with = 0; with < 2; with++) {
                jn_view out = {y[with], dy, sy, 2, JANUS_F32, true};
                jn_sig sig = {JN_OP(linear), in, &out, with ? 3 : 2, 1, NULL};
                for (int64_t at = 0; at < m * n; at++)
                    y[with][at] = with ? NAN : bias[at % n];
                run(jn_cpu_linear(&sig), in, with ? 3 : 2, &out, NULL, !with);
            }
            CU_ASSERT(!kept || (kept->n == 1) == (s == 2));
            CU_ASSERT(memcmp(y[0], y[1], (size_t)(m * n) * sizeof **y) == 0);
            jn_packs_free(kept);
            kept = NULL;
            free(x), free(w), free(bias), free(y[0]), free(y[1]);
        }
}

/* A weight that was turned gives the bits that it gives as it lies, for any number of rows and
 * columns, added to a bias or not, of one model and of several; nothing is written beside them. */
static void turned_weights_change_no_bit(void) {
    enum { ROWS = 9, COLS = 70, DEPTH = 96, MODELS = 2, GUARD = 4, MOST = ROWS * COLS + GUARD };
    static float x[MODELS][ROWS * DEPTH], w[MODELS][COLS * DEPTH], bias[MODELS][COLS];
    static float plain[MODELS][MOST], y[MODELS][MOST];
    static _Alignas(64) float turned[MODELS][(COLS + 16) * DEPTH];
    for (int a = 0; a < MODELS; a++) {
        for (int i = 0; i < ROWS * DEPTH; i++)
            x[a][i] = i % 13 ? (float)random_number() : -0.0f;
        for (int i = 0; i < COLS * DEPTH; i++)
            w[a][i] = (float)random_number();
        for (int i = 0; i < COLS; i++)
            bias[a][i] = (float)random_number();
    }
    char *at[MODELS * 4];
    const void *of[MODELS] = {turned[0], turned[1]};
    for (size_t s = 0; s < 3; s++)
        for (int64_t k = 8; jn_isa_use(sets[s]) && k <= DEPTH; k += 8)
            for (int64_t n = 1; n <= COLS; n += n < 20 ? 1 : 7)
                for (int64_t m = 0; m <= ROWS; m++)
                    for (int form = 0; form < 4; form++) {
                        int64_t dx[2] = {m, k}, dw[2] = {n, k}, dy[2] = {m, n}, db[1] = {n};
                        int64_t sk[2] = {k, 1}, sn[2] = {n, 1}, one[1] = {1};
                        bool apart = form & 1, biased = form & 2;
                        uint16_t n_in = biased ? 3 : 2;
                        jn_view in[3] = {{x[0], dx, sk, 2, JANUS_F32, true},
                                         {w[0], dw, sk, 2, JANUS_F32, true},
                                         {bias[0], db, one, 1, JANUS_F32, true}};
                        jn_view out = {y[0], dy, sn, 2, JANUS_F32, true};
                        jn_sig sig = {JN_OP(linear), in, &out, n_in, 1, NULL};
                        uint32_t flags = 0;
                        jn_kargs args = {.in = in, .out = &out, .n_in = n_in, .n_out = 1};
                        args.flags = &flags, args.par = &jn_par_serial;
                        for (int a = 0; a < MODELS && apart; a++) {
                            char **to = at + a * (n_in + 1);
                            to[0] = (char *)x[a], to[1] = (char *)w[a];
                            to[2] = (char *)bias[a], to[n_in] = (char *)y[a];
                        }
                        args.apart = at, args.n_apart = apart ? MODELS : 0;
                        size_t bytes = jn_kept_bytes(sig.op, &args);
                        bool helps = s == 2 && k % 16 == 0 && k <= 64 && m >= 1 && m <= 8;
                        CU_ASSERT((bytes > 0) == helps && bytes <= sizeof turned[0]);
                        for (int i = 0; i < MODELS * MOST; i++)
                            y[i / MOST][i % MOST] = 3;
                        jn_cpu_linear (&sig)(&args);
                        memcpy(plain, y, sizeof y);
                        if (!bytes)
                            continue;
                        for (int a = 0; a < MODELS; a++)
                            jn_keep(&args, w[a], turned[a]);
                        args.kept = of;
                        jn_cpu_linear (&sig)(&args);
                        CU_ASSERT(memcmp(plain, y, sizeof y) == 0);
                        turned[0][k] +=
                            1; /* it is this that was read; columns are another matter */
                        jn_cpu_linear (&sig)(&args);
                        CU_ASSERT((memcmp(plain, y, sizeof y) != 0) == (n > 1 || m == 1));
                    }
}

JN_TEST_MAIN("cpu_matmul", {"products are right", products_are_right},
             {"few rows by a large matrix are right", few_rows_by_a_large_matrix_are_right},
             {"kept panels are right", kept_panels_are_right},
             {"lent panels are the owner's", lent_panels_are_the_owners},
             {"a bias changes no bit", a_bias_changes_no_bit},
             {"batches are right", batches_are_right},
             {"large products do not depend on threads", large_products_do_not_depend_on_threads},
             {"linear is right", linear_is_right}, {"columns left over", columns_left_over},
             {"turned weights change no bit", turned_weights_change_no_bit})
