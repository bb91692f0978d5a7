/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums down the columns of a matrix, whose rows a caller's functor reads.
 *
 * A block has up to 32 columns side by side and many lanes, each of which adds every so-manyth row
 * of them; then lanes are added in pairs.  Where the columns alone would not fill the device, rows
 * are split over blocks: their sums are rows of a matrix in the workspace, whose columns are added
 * in the same way.  Every order is fixed by the sizes alone.
 */
#ifndef JN_OPS_CUDA_COLUMNS_CUH
#define JN_OPS_CUDA_COLUMNS_CUH

#include "ops/cuda/cuda.cuh"

struct column_plan {
    i64 rows, cols, each; /* each: rows of a split */
    int width, threads, splits;
};

enum { COLUMN_BLOCKS = 264, COLUMN_SPLITS = 64, COLUMN_ROWS = 256 };

static inline column_plan columns_of(i64 rows, i64 cols) {
    column_plan q = {rows, cols, rows, 1, 256, 1};
    while (q.width < 32 && q.width < cols)
        q.width *= 2;
    i64 tiles = (cols + q.width - 1) / q.width, by_rows = rows / COLUMN_ROWS * q.width / 32,
        by_blocks = COLUMN_BLOCKS / (tiles < 1 ? 1 : tiles);
    i64 s = by_rows < by_blocks ? by_rows : by_blocks;
    s = s > COLUMN_SPLITS ? COLUMN_SPLITS : s;
    if (s >= 2) {
        q.each = (rows + s - 1) / s;
        q.splits = (int)((rows + q.each - 1) / q.each);
    }
    if (rows > 64)
        q.threads = q.splits > 1 || tiles > COLUMN_BLOCKS / 2 || rows <= COLUMN_ROWS ? 512 : 1024;
    return q;
}
/* `sums`: how many are added at once */
static inline size_t columns_workspace(i64 rows, i64 cols, int sums) {
    column_plan q = columns_of(rows, cols);
    return q.splits > 1 ? (size_t)(q.splits * cols * sums) * sizeof(double) : 0;
}

/*
 * A functor F of N sums in C has
 *     enum { together }                               rows whose loads are under way at once
 *     bool none()                                     nothing is to be done at all
 *     auto column(i64 col)                            what `read` wants to know of a column
 *     void read(column, i64 row, C *v)                N numbers to add
 *     void write(i64 col, const C *sum)
 */
template <class C, int N, class F>
static __global__ void __launch_bounds__(1024) add_columns(F f, column_plan q, C *part) {
    __shared__ C lanes_sum[1024];
    if (f.none())
        return;
    int tx = (int)threadIdx.x % q.width, ty = (int)threadIdx.x / q.width;
    int lanes = (int)blockDim.x / q.width;
    i64 col = (i64)blockIdx.x * q.width + tx, r = (i64)blockIdx.y * q.each;
    i64 end = r + q.each < q.rows ? r + q.each : q.rows;
    C sum[N];
    for (int k = 0; k < N; k++)
        sum[k] = 0;
    if (col < q.cols) {
        const auto at = f.column(col);
        for (r += ty; r + (F::together - 1) * lanes < end; r += F::together * lanes) {
            C v[F::together][N];
            JN_UNROLL
            for (int u = 0; u < F::together; u++)
                f.read(at, r + u * lanes, v[u]);
            JN_UNROLL
            for (int u = 0; u < F::together; u++)
                for (int k = 0; k < N; k++)
                    sum[k] = wrapping_add(sum[k], v[u][k]);
        }
        if (r < end) { /* fewer rows are left than are read at once */
            int left = (int)((end - r + lanes - 1) / lanes);
            C v[F::together][N];
            JN_UNROLL
            for (int u = 0; u < F::together; u++) {
                for (int k = 0; k < N; k++)
                    v[u][k] = 0;
                if (u < left)
                    f.read(at, r + u * lanes, v[u]);
            }
            JN_UNROLL
            for (int u = 0; u < F::together; u++)
                for (int k = 0; k < N; k++)
                    sum[k] = wrapping_add(sum[k], v[u][k]);
        }
    }
    for (int k = 0; k < N; k++) {
        __syncthreads();
        lanes_sum[threadIdx.x] = sum[k];
        __syncthreads();
        for (int half = lanes / 2; half > 0; half /= 2) {
            if (ty < half)
                lanes_sum[threadIdx.x] = wrapping_add(
                    lanes_sum[threadIdx.x], lanes_sum[threadIdx.x + (unsigned)(half * q.width)]);
            __syncthreads();
        }
        sum[k] = lanes_sum[tx];
    }
    if (ty != 0 || col >= q.cols)
        return;
    if (q.splits == 1)
        f.write(col, sum);
    else
        for (int k = 0; k < N; k++)
            part[((i64)blockIdx.y * N + k) * q.cols + col] = sum[k];
}

/* The sums of the splits, with F's way of writing. */
template <class C, int N, class F> struct split_columns {
    enum { together = 8 };
    F f;
    const C *part;
    i64 cols;
    __device__ bool none() const { return f.none(); }
    __device__ i64 column(i64 col) const { return col; }
    __device__ void read(i64 col, i64 split, C *v) const {
        for (int k = 0; k < N; k++)
            v[k] = part[(split * N + k) * cols + col];
    }
    __device__ void write(i64 col, const C *sum) const { f.write(col, sum); }
};

template <class C, int N, class F>
static void run_columns(jn_dev_exec *e, const F &f, i64 rows, i64 cols, void *workspace) {
    column_plan q = columns_of(rows, cols);
    if (!workspace) {
        q.splits = 1;
        q.each = rows;
    }
    C *part = (C *)workspace;
    unsigned tiles = (unsigned)((cols + q.width - 1) / q.width);
    JN_LAUNCH_SYNC(e, (add_columns<C, N, F>), dim3(tiles, (unsigned)q.splits), q.threads, f, q,
                   part);
    if (q.splits == 1)
        return;
    typedef split_columns<C, N, F> last;
    last l = {f, part, cols};
    q.rows = q.each = q.splits;
    q.splits = 1;
    q.threads = 256;
    JN_LAUNCH_SYNC(e, (add_columns<C, N, last>), tiles, q.threads, l, q, (C *)NULL);
}

#endif
