/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products.  Small ones have kernels of their own (ops/cuda/conv_small.cu), others of floats go to
 * cuBLASLt where it was found and the operands' strides allow; the kernels here do the rest.
 */
#include "ops/cuda/product.cuh"

enum { TILE = 16, PARTS = 64 };

/* A block makes a tile of y from tiles of both operands in shared memory. */
template <class C> static __global__ void multiply(product p) {
    __shared__ C ta[TILE][TILE + 1], tb[TILE][TILE + 1];
    if (p.stop && *p.stop)
        return;
    int tx = (int)(threadIdx.x % TILE), ty = (int)(threadIdx.x / TILE);
    i64 m = (i64)blockIdx.y * TILE + ty, n = (i64)blockIdx.x * TILE + tx;
    for (i64 b = blockIdx.z; b < p.batch; b += gridDim.z) {
        i64 oa = 0, ob = 0, oy = 0, left = b;
        for (int d = p.rank - 1; d >= 0; d--) {
            i64 c = left % p.d[d];
            left /= p.d[d];
            oa += c * p.sa[d];
            ob += c * p.sb[d];
            oy += c * p.sy[d];
        }
        C s = 0;
        for (i64 k0 = 0; k0 < p.k; k0 += TILE) {
            ta[ty][tx] = m < p.m && k0 + tx < p.k
                             ? load_as<C>(p.a, oa + m * p.am + (k0 + tx) * p.ak, p.dtype_a)
                             : (C)0;
            tb[ty][tx] = n < p.n && k0 + ty < p.k
                             ? load_as<C>(p.b, ob + (k0 + ty) * p.bk + n * p.bn, p.dtype_b)
                             : (C)0;
            __syncthreads();
            for (int j = 0; j < TILE; j++)
                s += ta[ty][j] * tb[j][tx];
            __syncthreads();
        }
        if (m < p.m && n < p.n) {
            i64 to = oy + m * p.ym + n * p.yn;
            if (p.bias)
                s += load_as<C>(p.bias, n * p.bias_s, p.dtype);
            if (p.add)
                s += load_as<C>(p.y, to, p.dtype);
            store_as<C>(p.y, to, p.dtype, s);
        }
    }
}

/* y = bias in every row: what cuBLAS adds the product to. */
static __global__ void spread(char *y, int dtype, const char *bias, i64 s, i64 n, i64 total) {
    int size = size_of(dtype);
    JN_EACH(i, total)
    copy_bits(y, i, bias, i % n * s, size);
}

/* Row-major or column-major with a leading dimension that cuBLAS takes. */
static bool layout(i64 rows, i64 cols, i64 row, i64 col, bool *transposed, i64 *ld) {
    if (cols == 1 || col == 1) {
        *transposed = false;
        *ld = rows == 1 ? cols : row;
        if (*ld >= (cols > 1 ? cols : 1))
            return true;
    }
    if (rows == 1 || row == 1) {
        *transposed = true;
        *ld = cols == 1 ? rows : col;
        return *ld >= (rows > 1 ? rows : 1);
    }
    return false;
}

/* One stride per operand for all batch dims; false: they do not lie so. */
static bool one_batch(const product &p, i64 *sa, i64 *sb, i64 *sy) {
    *sa = *sb = *sy = 0;
    bool first = true;
    i64 size = 1;
    for (int d = p.rank - 1; d >= 0; d--) {
        if (p.d[d] == 1)
            continue;
        if (first) {
            *sa = p.sa[d];
            *sb = p.sb[d];
            *sy = p.sy[d];
        } else if (p.sa[d] != *sa * size || p.sb[d] != *sb * size || p.sy[d] != *sy * size) {
            return false;
        }
        first = false;
        size *= p.d[d];
    }
    return true;
}

static bool by_library(jn_dev_exec *e, const product &p) {
    bool ta, tb;
    i64 lda, ldb, sa, sb, sy, ldy = p.m == 1 ? p.n : p.ym;
    const i64 most = INT32_MAX;
    /* state that outlives a run is written by kernels that look at the abort word */
    if (!e->libs || p.stop || !is_float(p.dtype) || p.dtype_a != p.dtype || p.dtype_b != p.dtype ||
        (p.n > 1 && p.yn != 1) || ldy < p.n || p.m > most || p.n > most || p.k > most ||
        p.batch > most || p.k == 0)
        return false;
    if (!layout(p.m, p.k, p.am, p.ak, &ta, &lda) || !layout(p.k, p.n, p.bk, p.bn, &tb, &ldb) ||
        lda > most || ldb > most || ldy > most || !one_batch(p, &sa, &sb, &sy))
        return false;
    jn_cuda_gemm g = {p.dtype,
                      ta,
                      tb,
                      p.m,
                      p.n,
                      p.k,
                      p.a,
                      lda,
                      sa,
                      p.b,
                      ldb,
                      sb,
                      p.y,
                      ldy,
                      sy,
                      p.batch,
                      p.add,
                      p.workspace,
                      p.workspace_bytes,
                      NULL};
    if (!p.bias)
        return jn_cuda_blas_gemm(e, &g);
    if (p.add)
        return false;
    /* the library adds it to what it writes, where it knows how */
    if (p.dtype != JANUS_F64 && p.batch == 1 && (p.n == 1 || p.bias_s == 1) &&
        (uintptr_t)p.bias % 16 == 0) {
        g.bias = p.bias;
        if (jn_cuda_blas_gemm(e, &g) || e->error)
            return !e->error;
        g.bias = NULL;
    }
    if ((p.m > 1 && p.ym != p.n) || (p.batch > 1 && sy != p.m * p.n))
        return false;
    JN_LAUNCH(e, spread, grid_for(p.batch * p.m * p.n), JN_BLOCK, p.y, p.dtype, p.bias, p.bias_s,
              p.n, p.batch * p.m * p.n);
    g.add = true;
    return jn_cuda_blas_gemm(e, &g);
}

template <class C> static void by_kernel(jn_dev_exec *e, const product &p) {
    dim3 grid((unsigned)((p.n + TILE - 1) / TILE), (unsigned)((p.m + TILE - 1) / TILE),
              (unsigned)(p.batch < 65535 ? p.batch : 65535));
    JN_LAUNCH_SYNC(e, multiply<C>, grid, TILE * TILE, p);
}

/* Member i of the first batch dim. */
static product member(const product &p, i64 i) {
    product part = p;
    part.a += i * p.sa[0] * size_of(p.dtype_a);
    part.b += i * p.sb[0] * size_of(p.dtype_b);
    part.y += i * p.sy[0] * size_of(p.dtype);
    part.rank--;
    part.batch = 1;
    for (int d = 0; d < part.rank; d++) {
        part.batch *= part.d[d] = p.d[d + 1];
        part.sa[d] = p.sa[d + 1];
        part.sb[d] = p.sb[d + 1];
        part.sy[d] = p.sy[d + 1];
    }
    return part;
}

void jn_cuda_product(jn_dev_exec *e, const product &p) {
    i64 sa, sb, sy;
    if (!p.m || !p.n || !p.batch)
        return;
    /* heads side by side: one call for each example */
    if (e->libs && p.rank > 1 && p.d[0] <= PARTS && !one_batch(p, &sa, &sb, &sy)) {
        for (i64 i = 0; i < p.d[0] && !e->error; i++)
            jn_cuda_product(e, member(p, i));
        return;
    }
    if (jn_cuda_small_product(e, p) || by_library(e, p) || e->error)
        return;
    /* more rows of tiles than a grid has: in slices */
    const i64 most = (i64)65535 * TILE;
    for (i64 at = 0; at < p.m; at += most) {
        product part = p;
        part.m = p.m - at < most ? p.m - at : most;
        part.a += at * p.am * size_of(p.dtype_a);
        part.y += at * p.ym * size_of(p.dtype);
        if (p.dtype == JANUS_F64)
            by_kernel<double>(e, part);
        else if (is_float(p.dtype))
            by_kernel<float>(e, part);
        else
            by_kernel<i64>(e, part);
    }
}

static void run_product(const jn_kargs *k, const product &q) {
    product p = q;
    p.stop = p.add ? exec_of(k)->stop : NULL;
    jn_cuda_product(exec_of(k), p);
}

static product product_of(const jn_kargs *k) {
    product p;
    memset(&p, 0, sizeof p);
    p.a = (const char *)k->in[0].data;
    p.b = (const char *)k->in[1].data;
    p.y = (char *)k->out[0].data;
    p.dtype = p.dtype_a = p.dtype_b = k->out[0].dtype;
    p.m = p.n = p.batch = 1;
    p.add = k->accumulate;
    p.workspace = k->workspace;
    p.workspace_bytes = k->workspace ? jn_cuda_gemm_workspace(numel_of(k->out[0])) : 0;
    return p;
}

static void run_matmul(const jn_kargs *k) {
    const janus_matmul_attrs *at = (const janus_matmul_attrs *)k->attrs;
    const jn_view *a = &k->in[0], *b = &k->in[1], *y = &k->out[0];
    product p = product_of(k);
    p.k = a->dims[a->rank - 1];
    p.ak = a->strides[a->rank - 1];
    p.bk = b->strides[0];
    if (a->rank > 1) {
        int row = at->transpose_a ? a->rank - 1 : a->rank - 2;
        int col = at->transpose_a ? a->rank - 2 : a->rank - 1;
        p.m = a->dims[row];
        p.k = a->dims[col];
        p.am = a->strides[row];
        p.ak = a->strides[col];
    }
    if (b->rank > 1) {
        int row = at->transpose_b ? b->rank - 1 : b->rank - 2;
        int col = at->transpose_b ? b->rank - 2 : b->rank - 1;
        p.n = b->dims[col];
        p.bk = b->strides[row];
        p.bn = b->strides[col];
    }
    int last = y->rank - 1;
    if (b->rank > 1)
        p.yn = y->strides[last--];
    if (a->rank > 1)
        p.ym = y->strides[last--];
    p.rank = last + 1;
    for (int d = 0; d < p.rank; d++) {
        int da = d - (p.rank - (a->rank - 2)), db = d - (p.rank - (b->rank - 2));
        p.d[d] = y->dims[d];
        p.sy[d] = y->strides[d];
        p.sa[d] = a->rank <= 2 || da < 0 || a->dims[da] == 1 ? 0 : a->strides[da];
        p.sb[d] = b->rank <= 2 || db < 0 || b->dims[db] == 1 ? 0 : b->strides[db];
        p.batch *= y->dims[d];
    }
    /* a shared right operand: the batches are more rows */
    bool rows = p.batch > 1 && a->rank > 2;
    i64 ma = p.am * p.m, my = p.ym * p.m;
    for (int d = p.rank - 1; rows && d >= 0; d--) {
        rows = p.d[d] == 1 || (p.sb[d] == 0 && p.sa[d] == ma && p.sy[d] == my);
        ma *= p.d[d];
        my *= p.d[d];
    }
    if (rows) {
        p.m *= p.batch;
        p.batch = 1;
        p.rank = 0;
    }
    run_product(k, p);
}

static void run_linear(const jn_kargs *k) {
    const jn_view *x = &k->in[0], *w = &k->in[1], *y = &k->out[0];
    int last = x->rank - 1;
    product p = product_of(k);
    p.k = x->dims[last];
    p.n = w->dims[0];
    p.ak = x->strides[last];
    p.bk = w->strides[1];
    p.bn = w->strides[0];
    p.yn = 1;
    p.ym = p.n;
    if (present(k, 2)) {
        p.bias = (const char *)k->in[2].data;
        p.bias_s = k->in[2].strides[0];
    }
    p.am = last > 0 ? (i64)x->strides[last - 1] : 0;
    p.m = last > 0 ? (i64)x->dims[last - 1] : 1;
    bool rows = true;
    i64 step = p.am * p.m;
    for (int d = last - 2; d >= 0; d--) { /* leading dims are more rows where they lie so */
        rows = rows && (x->dims[d] == 1 || x->strides[d] == step);
        step *= x->dims[d];
    }
    for (int d = 0; d < last - 1; d++) {
        p.d[d] = x->dims[d];
        p.sa[d] = x->strides[d];
        p.sy[d] = y->strides[d];
        p.batch *= x->dims[d];
    }
    p.rank = last > 1 ? last - 1 : 0;
    if (rows) {
        p.m *= p.batch;
        p.batch = 1;
        p.rank = 0;
    }
    run_product(k, p);
}

/* Vectors, or vectors by row; what has no rows is the same for all of them. */
static void take_rows(product *p, const jn_kargs *k, int rank) {
    const jn_view *a = &k->in[0], *b = &k->in[1], *y = &k->out[0];
    if (y->rank == rank)
        return;
    p->rank = 1;
    p->batch = p->d[0] = y->dims[0];
    p->sa[0] = a->rank > 1 ? (i64)a->strides[0] : 0;
    p->sb[0] = b->rank > 1 ? (i64)b->strides[0] : 0;
    p->sy[0] = y->strides[0];
}

static void run_outer(const jn_kargs *k) {
    const jn_view *a = &k->in[0], *b = &k->in[1], *y = &k->out[0];
    product p = product_of(k);
    p.m = a->dims[a->rank - 1];
    p.n = b->dims[b->rank - 1];
    p.k = 1;
    p.am = a->strides[a->rank - 1];
    p.bn = b->strides[b->rank - 1];
    p.ym = y->strides[y->rank - 2];
    p.yn = y->strides[y->rank - 1];
    take_rows(&p, k, 2);
    run_product(k, p);
}

template <class C> static __global__ void dot(product p) {
    for (i64 r = blockIdx.x; r < p.batch; r += gridDim.x) {
        C s = 0;
        for (i64 i = threadIdx.x; i < p.k; i += blockDim.x)
            s += load_as<C>(p.a, r * p.sa[0] + i * p.ak, p.dtype) *
                 load_as<C>(p.b, r * p.sb[0] + i * p.bk, p.dtype);
        s = block_all<op_sum>(s);
        if (threadIdx.x == 0)
            store_as<C>(p.y, r, p.dtype, s);
    }
}
static void run_dot(const jn_kargs *k) {
    product p = product_of(k);
    const jn_view *a = &k->in[0], *b = &k->in[1];
    p.k = a->dims[a->rank - 1];
    p.ak = a->strides[a->rank - 1];
    p.bk = b->strides[b->rank - 1];
    take_rows(&p, k, 0);
    jn_dev_exec *e = exec_of(k);
    unsigned grid = (unsigned)(p.batch < 65535 ? p.batch : 65535);
    if (!grid)
        return;
    if (p.dtype == JANUS_F64)
        JN_LAUNCH_SYNC(e, dot<double>, grid, JN_BLOCK, p);
    else if (is_float(p.dtype))
        JN_LAUNCH_SYNC(e, dot<float>, grid, JN_BLOCK, p);
    else
        JN_LAUNCH_SYNC(e, dot<i64>, grid, JN_BLOCK, p);
}

#define SELECT(name)                                                                               \
    JN_CUDA_SELECT jn_cuda_##name(const jn_sig *sig) {                                             \
        (void)sig;                                                                                 \
        return run_##name;                                                                         \
    }
SELECT(matmul)
SELECT(linear)
SELECT(outer)
SELECT(dot)
