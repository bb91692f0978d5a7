/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short dot products with a B that was packed before: included by gemm_body.h.
 *
 * A dot product is LANES sums, one for each lane of its vectors, which are then added up in pairs.
 * Here a vector has the same lane of LANES columns, so that adding up is LANES - 1 additions of
 * vectors for LANES columns, and nothing is moved from lane to lane.  The sums are the same and
 * added up in the same order: results do not tell which way was taken.
 *
 * B is packed in blocks of LANES columns: for each lane, in the order in which they are added up,
 * a vector for each LANES of k.
 */

/* Sums of a tile: registers have room for those of three lanes. */
enum { F(TURN_SUMS) = 8 };

/* Sums of one lane, for rows of A and blocks of columns; a and b are those of the lane. */
JN_INLINE void F(lane)(const int rows, const int blocks, const int vectors, const T *a,
                       int64_t a_row, const T *b, V *sum) {
    JN_UNROLL for (int i = 0; i < rows * blocks; i++) sum[i] = ZERO();
    JN_UNROLL for (int p = 0; p < vectors; p++) {
        V vb[F(TURN_SUMS)];
        JN_UNROLL for (int j = 0; j < blocks; j++) {
            vb[j] = LOAD(b + (j * LANES * vectors + p) * LANES);
            if (rows > 1) /* read once: what is read is what takes the time */
                __asm__("" : "+v"(vb[j]));
        }
        JN_UNROLL for (int i = 0; i < rows; i++) {
            V va = SET1(a[i * a_row + p * LANES]);
            JN_UNROLL for (int j = 0; j < blocks; j++) sum[i * blocks + j] =
                MULADD(va, vb[j], sum[i * blocks + j]);
        }
    }
}

/* The same of four lanes that are added up first: a's are the first, then 2, 1 and 3 further on. */
JN_INLINE void F(four_lanes)(const int rows, const int blocks, const int vectors, const T *a,
                             int64_t a_row, const T *b, V *sum) {
    V x[F(TURN_SUMS)], y[F(TURN_SUMS)];
    const int step = vectors * LANES;
    F(lane)(rows, blocks, vectors, a, a_row, b, sum);
    F(lane)(rows, blocks, vectors, a + 2, a_row, b + step, x);
    JN_UNROLL for (int i = 0; i < rows * blocks; i++) sum[i] = ADD(sum[i], x[i]);
    F(lane)(rows, blocks, vectors, a + 1, a_row, b + 2 * step, x);
    F(lane)(rows, blocks, vectors, a + 3, a_row, b + 3 * step, y);
    JN_UNROLL for (int i = 0; i < rows * blocks; i++) sum[i] = ADD(sum[i], ADD(x[i], y[i]));
}

/* C[rows, blocks of columns], the last of which has the lanes of `mask`. */
JN_INLINE void F(turned_tile)(const int rows, const int blocks, const int vectors, const T *a,
                              int64_t a_row, const T *b, T *c, int64_t ldc, const T *from,
                              int64_t from_row, MASK mask) {
    V sum[F(TURN_SUMS)], x[F(TURN_SUMS)], y[F(TURN_SUMS)];
    const int step = 4 * vectors * LANES;
    F(four_lanes)(rows, blocks, vectors, a, a_row, b, sum);
    F(four_lanes)(rows, blocks, vectors, a + 8, a_row, b + step, x);
    JN_UNROLL for (int i = 0; i < rows * blocks; i++) sum[i] = ADD(sum[i], x[i]);
    F(four_lanes)(rows, blocks, vectors, a + 4, a_row, b + 2 * step, x);
    F(four_lanes)(rows, blocks, vectors, a + 12, a_row, b + 3 * step, y);
    JN_UNROLL for (int i = 0; i < rows; i++) JN_UNROLL for (int j = 0; j < blocks; j++) {
        V all = ADD(sum[i * blocks + j], ADD(x[i * blocks + j], y[i * blocks + j]));
        MASK to = j == blocks - 1 ? mask : MAKE_MASK(LANES);
        if (from)
            all = ADD(LOAD_MASKED(from + i * from_row + j * LANES, to), all);
        STORE_MASKED(c + i * ldc + j * LANES, to, all);
    }
}

typedef void (*F(turned_fn))(const T *a, int64_t a_row, const T *b, T *c, int64_t ldc,
                             const T *from, int64_t from_row, MASK mask);
#define TURNED(rows, blocks, vectors)                                                              \
    static void F(turned_##rows##_##blocks##_##vectors)(const T *a, int64_t a_row, const T *b,     \
                                                        T *c, int64_t ldc, const T *from,          \
                                                        int64_t from_row, MASK mask) {             \
        F(turned_tile)(rows, blocks, vectors, a, a_row, b, c, ldc, from, from_row, mask);          \
    }
#define TURNED_OF(vectors)                                                                         \
    TURNED(1, 1, vectors)                                                                          \
    TURNED(1, 2, vectors)                                                                          \
    TURNED(1, 4, vectors)                                                                          \
    TURNED(2, 1, vectors) TURNED(2, 2, vectors) TURNED(4, 1, vectors) TURNED(4, 2, vectors)
TURNED_OF(1)
TURNED_OF(2)
TURNED_OF(3)
TURNED_OF(4)
#define ENTRY(v)                                                                                   \
    {                                                                                              \
        {F(turned_1_1_##v), F(turned_1_2_##v), F(turned_1_4_##v)},                                 \
            {F(turned_2_1_##v), F(turned_2_2_##v), NULL}, {                                        \
            F(turned_4_1_##v), F(turned_4_2_##v), NULL                                             \
        }                                                                                          \
    }
/* By vectors of k; rows of 1, 2 and 4; blocks of 1, 2 and 4. */
static const F(turned_fn) F(turned_tiles)[][3][3] = {ENTRY(1), ENTRY(2), ENTRY(3), ENTRY(4)};
#undef ENTRY
#undef TURNED_OF
#undef TURNED

/* Up to four rows by a block of columns after the other, each as often as its tiles are low. */
static void F(turned)(const jn_gemm_args *g, const T *from, int64_t from_row) {
    const F(turned_fn)(*tiles)[3] = F(turned_tiles)[g->k / LANES - 1];
    for (int64_t i = 0, rows; i < g->m; i += rows) {
        int tall = g->m - i >= 4 ? 2 : g->m - i >= 2;
        rows = 1 << tall;
        const T *b = g->turned;
        for (int64_t j = 0, blocks; j < g->n; j += blocks * LANES, b += blocks * LANES * g->k) {
            int64_t left = (g->n - j + LANES - 1) / LANES, rest = (g->n - j) % LANES;
            int wide = left >= 4 && tall == 0 ? 2 : left >= 2;
            blocks = 1 << wide;
            MASK mask = MAKE_MASK(rest && blocks == left ? rest : LANES);
            tiles[tall][wide]((const T *)g->a + i * g->a_row, g->a_row, b,
                              (T *)g->c + i * g->ldc + j, g->ldc, AT(from, i * from_row + j),
                              from_row, mask);
        }
    }
}

static void F(turn)(const jn_gemm_args *g, void *packed) {
    static const int order[LANES] = {SUM_ORDER};
    const T *b = g->b;
    T *to = packed;
    for (int64_t j = 0; j < g->n; j += LANES)
        for (int lane = 0; lane < LANES; lane++)
            for (int64_t p = 0; p < g->k; p += LANES)
                for (int64_t col = j; col < j + LANES; col++)
                    *to++ = col < g->n ? b[col * g->b_col + p + order[lane]] : 0;
}
