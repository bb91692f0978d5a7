/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention: by cuDNN where it takes the case, else the scores of some queries at a time in the
 * workspace, as a product, weights in place by a block per query, another product.  f16 and bf16
 * have scores and weights in f32.  A library multiplies a batch whose members are equally far
 * apart: operands of f32 and f64 that lie otherwise, as heads side by side do, are copied first.
 */
#include "ops/cuda/product.cuh"
#include "ops/cuda/registers.cuh"

extern "C" {
#include "ops/attention_rules.h"
}

enum { MOST_SCORES = 1 << 26 }; /* of a slice of queries, unless one alone has more */

static __device__ __forceinline__ float exp_of(float x) { return expf(x); }
static __device__ __forceinline__ double exp_of(double x) { return exp(x); }
static __device__ __forceinline__ float log_of(float x) { return logf(x); }
static __device__ __forceinline__ double log_of(double x) { return log(x); }

/* Queries of a slice: scores of all members of the batch fit the workspace. */
static i64 slice_of(const jn_attention &t) {
    i64 each = (i64)(t.batch * t.s), n = each ? MOST_SCORES / each : t.l;
    return n < 1 ? 1 : n > t.l ? (i64)t.l : n;
}

static size_t scores_bytes(const jn_attention &t, int dtype) {
    size_t n = (size_t)t.batch * (size_t)slice_of(t) * (size_t)t.s;
    return (n * (dtype == JANUS_F64 ? 8 : 4) + 255) & ~(size_t)255;
}

static size_t product_room(const jn_attention &t) {
    i64 keys = t.s > t.l ? t.s : t.l, length = t.e > t.v ? t.e : t.v;
    return jn_cuda_gemm_workspace(t.batch * keys * (length > t.s ? length : t.s));
}

/* A matrix of every member of the batch. */
struct mat {
    char *p;
    int dtype;
    i64 row, col;
    int64_t batch[JN_MAX_RANK];
};
static mat mat_of(const jn_attention &t, const jn_view &v) {
    mat m;
    m.p = (char *)v.data;
    m.dtype = v.dtype;
    m.row = v.strides[v.rank - 2];
    m.col = v.strides[v.rank - 1];
    jn_attention_strides(&t, &v, 2, m.batch);
    return m;
}

/* Members of the batch that no one stride leads to, of a dtype that the library multiplies here. */
static bool is_apart(const jn_attention &t, const jn_view &v) {
    int64_t strides[JN_MAX_RANK];
    i64 step = 0, size = 1;
    bool first = true;
    jn_attention_strides(&t, &v, 2, strides);
    for (int d = t.rank - 1; d >= 0; d--) {
        if (t.dims[d] == 1)
            continue;
        if (first)
            step = strides[d];
        else if (strides[d] != step * size)
            return v.dtype == JANUS_F32 || v.dtype == JANUS_F64;
        first = false;
        size *= (i64)t.dims[d];
    }
    return false;
}
/* Elements of a copy; 0: none is made. */
static i64 placed_elements(const jn_attention &t, const jn_view &v) {
    i64 n = (i64)(t.batch * v.dims[v.rank - 2] * v.dims[v.rank - 1]);
    return n < INT32_MAX && is_apart(t, v) ? n : 0;
}
static size_t placed_bytes(const jn_attention &t, const jn_view &v) {
    return ((size_t)placed_elements(t, v) * (size_t)size_of(v.dtype) + 255) & ~(size_t)255;
}

extern "C" size_t jn_cuda_attention_workspace(const jn_sig *sig, bool backward) {
    const jn_view *q = &sig->in[backward];
    jn_attention t = jn_attention_of(q, q + 1, q + 2, &sig->out[0], sig->attrs);
    size_t placed = backward ? placed_bytes(t, sig->in[0]) : 0;
    for (int i = 0; i < 3; i++)
        placed += placed_bytes(t, q[i]);
    return scores_bytes(t, q->dtype) * (backward ? 2 : 1) + product_room(t) + placed;
}

/* One slice of the scores of every member of the batch. */
struct slice {
    char *w, *dw;       /* [batch, n, s] */
    i64 first, n, s, l; /* of the queries; all of them: l */
    double scale;
    bool causal;
    const char *mask; /* NULL: none */
    int mask_dtype, rank;
    i64 mask_row, mask_col, d[JN_MAX_RANK], mask_s[JN_MAX_RANK];
    char *lse; /* NULL: not wanted; [batch, l] */
};

static __device__ __forceinline__ i64 mask_at(const slice &a, i64 b, i64 query) {
    i64 o = query * a.mask_row;
    for (int d = a.rank - 1; d >= 0; d--) {
        o += b % a.d[d] * a.mask_s[d];
        b /= a.d[d];
    }
    return o;
}

/* Scores become weights; a query of which nothing is allowed has none. */
template <class C> static __global__ void weigh(slice a, i64 rows) {
    const C lowest = (C)(-INFINITY);
    for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
        i64 b = r / a.n, query = a.first + r % a.n;
        i64 at = a.mask ? mask_at(a, b, query) : 0;
        C *w = (C *)a.w + r * a.s, most = lowest, sum = 0;
        for (i64 j = threadIdx.x; j < a.s; j += blockDim.x) {
            C f = w[j] * (C)a.scale;
            if (a.mask && a.mask_dtype == JANUS_BOOL)
                f = ((const uint8_t *)a.mask)[at + j * a.mask_col] ? f : lowest;
            else if (a.mask)
                f += load_as<C>(a.mask, at + j * a.mask_col, a.mask_dtype);
            f = a.causal && j > query ? lowest : f;
            w[j] = f;
            most = op_max::of(f, most);
        }
        most = block_all<op_max>(most);
        bool none = most == lowest;
        for (i64 j = threadIdx.x; j < a.s; j += blockDim.x) {
            C f = none ? (C)0 : exp_of(w[j] - most);
            w[j] = f;
            sum += f;
        }
        sum = block_all<op_sum>(sum);
        for (i64 j = threadIdx.x; j < a.s && !none; j += blockDim.x)
            w[j] /= sum;
        if (a.lse && threadIdx.x == 0)
            ((C *)a.lse)[b * a.l + query] = none ? lowest : most + log_of(sum);
    }
}

/* dw = w (dw - sum(dw w)) scale */
template <class C> static __global__ void weigh_grad(slice a, i64 rows) {
    for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
        const C *w = (const C *)a.w + r * a.s;
        C *dw = (C *)a.dw + r * a.s, sum = 0;
        for (i64 j = threadIdx.x; j < a.s; j += blockDim.x)
            sum += dw[j] * w[j];
        sum = block_all<op_sum>(sum);
        for (i64 j = threadIdx.x; j < a.s; j += blockDim.x)
            dw[j] = w[j] * (dw[j] - sum) * (C)a.scale;
    }
}

static mat flipped(mat m) {
    i64 row = m.row;
    m.row = m.col;
    m.col = row;
    return m;
}
static mat rows_from(mat m, i64 row) {
    m.p += row * m.row * size_of(m.dtype);
    return m;
}
/* Of a slice: [batch, n, s], row-major. */
static mat scores_mat(const jn_attention &t, char *p, int dtype, i64 n) {
    mat m;
    i64 step = n * (i64)t.s;
    m.p = p;
    m.dtype = dtype;
    m.row = t.s;
    m.col = 1;
    for (int d = t.rank - 1; d >= 0; d--) {
        m.batch[d] = step;
        step *= (i64)t.dims[d];
    }
    return m;
}

struct job {
    jn_dev_exec *e;
    jn_attention t;
    void *workspace;
    size_t workspace_bytes;
    char *places; /* for copies of operands */
};

/* y[m][n] (+)= a[m][k] b[k][n] for every member */
static void multiply(const job &j, i64 m, i64 n, i64 k, const mat &a, const mat &b, const mat &y,
                     bool add) {
    product p;
    memset(&p, 0, sizeof p);
    p.a = a.p;
    p.b = b.p;
    p.y = y.p;
    p.workspace = j.workspace;
    p.workspace_bytes = j.workspace_bytes;
    p.dtype = y.dtype;
    p.dtype_a = a.dtype;
    p.dtype_b = b.dtype;
    p.m = m;
    p.n = n;
    p.k = k;
    p.am = a.row;
    p.ak = a.col;
    p.bk = b.row;
    p.bn = b.col;
    p.ym = y.row;
    p.yn = y.col;
    p.rank = j.t.rank;
    p.batch = j.t.batch;
    p.add = add;
    for (int d = 0; d < p.rank; d++) {
        p.d[d] = j.t.dims[d];
        p.sa[d] = a.batch[d];
        p.sb[d] = b.batch[d];
        p.sy[d] = y.batch[d];
    }
    if (!j.e->error)
        jn_cuda_product(j.e, p);
}

static slice slice_at(const job &j, const jn_kargs *k, unsigned mask, i64 first, i64 n) {
    slice a;
    memset(&a, 0, sizeof a);
    a.first = first;
    a.n = n;
    a.s = j.t.s;
    a.l = j.t.l;
    a.scale = j.t.scale;
    a.causal = j.t.causal;
    a.rank = j.t.rank;
    a.w = (char *)k->workspace;
    if (present(k, mask)) {
        const jn_view *v = &k->in[mask];
        int64_t strides[JN_MAX_RANK];
        jn_attention_strides(&j.t, v, 2, strides);
        a.mask = (const char *)v->data;
        a.mask_dtype = v->dtype;
        a.mask_row = jn_attention_mask_stride(v, 2);
        a.mask_col = jn_attention_mask_stride(v, 1);
        for (int d = 0; d < a.rank; d++) {
            a.d[d] = j.t.dims[d];
            a.mask_s[d] = strides[d];
        }
    }
    return a;
}

static job job_of(const jn_kargs *k, unsigned query) {
    job j;
    j.e = exec_of(k);
    j.t =
        jn_attention_of(&k->in[query], &k->in[query + 1], &k->in[query + 2], &k->out[0], k->attrs);
    size_t scores = scores_bytes(j.t, k->in[query].dtype) * (query ? 2 : 1);
    j.workspace_bytes = product_room(j.t);
    j.workspace = j.workspace_bytes ? (char *)k->workspace + scores : NULL;
    j.places = (char *)k->workspace + scores + j.workspace_bytes;
    return j;
}

static int wide(int dtype) { return dtype == JANUS_F64 ? JANUS_F64 : JANUS_F32; }

/* ---- operands in place --------------------------------------------------------------------------
 */

struct place {
    const char *from;
    char *to;
    unsigned rows, cols, n;
    i64 row, col, s[JN_MAX_RANK];
    bool vectors;
};
enum { PLACES = 4 };
struct places {
    place of[PLACES]; /* one for each blockIdx.y */
    int rank;
    unsigned d[JN_MAX_RANK];
};

static __device__ __forceinline__ i64 offset_at(const places &q, unsigned i) {
    const place &p = q.of[blockIdx.y];
    unsigned row = i / p.cols, b = row / p.rows;
    i64 o = (i64)(row % p.rows) * p.row + (i64)(i % p.cols) * p.col;
    JN_NO_UNROLL
    for (int d = q.rank - 1; d >= 0; d--) {
        o += (i64)(b % q.d[d]) * p.s[d];
        b /= q.d[d];
    }
    return o;
}

template <class F> static __global__ void put_in_place(places q) {
    const place &p = q.of[blockIdx.y];
    if (p.vectors) {
        JN_EACH(i, p.n / 4)
        ((fours<F> *)p.to)[i] =
            *(const fours<F> *)((const F *)p.from + offset_at(q, 4 * (unsigned)i));
        return;
    }
    JN_EACH(i, p.n)
    ((F *)p.to)[i] = ((const F *)p.from)[offset_at(q, (unsigned)i)];
}

/* The matrices of these operands, copied where members lie apart: all in one launch. */
static void mats_in_place(const job &j, const jn_view *const *v, mat *const *out, int n) {
    places q;
    char *to = j.places;
    unsigned used = 0, most = 0;
    memset(&q, 0, sizeof q);
    q.rank = j.t.rank;
    for (int d = 0; d < q.rank; d++)
        q.d[d] = (unsigned)j.t.dims[d];
    for (int i = 0; i < n; i++) {
        mat m = *out[i] = mat_of(j.t, *v[i]);
        const i64 elements = placed_elements(j.t, *v[i]);
        if (!elements)
            continue;
        place &p = q.of[used++];
        p.from = m.p;
        p.to = to;
        p.rows = (unsigned)v[i]->dims[v[i]->rank - 2];
        p.cols = (unsigned)v[i]->dims[v[i]->rank - 1];
        p.n = (unsigned)elements;
        p.row = m.row;
        p.col = m.col;
        p.vectors = p.cols % 4 == 0 && m.col == 1 && (p.rows == 1 || m.row % 4 == 0) &&
                    (uintptr_t)m.p % (4 * (size_t)size_of(m.dtype)) == 0;
        i64 step = (i64)p.rows * p.cols;
        for (int d = q.rank - 1; d >= 0; d--) {
            p.s[d] = m.batch[d];
            p.vectors = p.vectors && m.batch[d] % 4 == 0;
            out[i]->batch[d] = step;
            step *= (i64)j.t.dims[d];
        }
        out[i]->p = to;
        out[i]->row = p.cols;
        out[i]->col = 1;
        to += placed_bytes(j.t, *v[i]);
        most = p.n > most ? p.n : most;
    }
    if (used)
        BY_DTYPE(JN_LAUNCH, j.e, v[0]->dtype, put_in_place, dim3(grid_for((most + 3) / 4), used),
                 JN_BLOCK, q);
}

/* Scores of a slice, as weights. */
static void weights(const job &j, const slice &a, int dtype, const mat &q, const mat &key,
                    const mat &w) {
    i64 rows = (i64)j.t.batch * a.n;
    multiply(j, a.n, a.s, j.t.e, rows_from(q, a.first), flipped(key), w, false);
    if (rows && !j.e->error)
        BY_DTYPE(JN_LAUNCH_SYNC, j.e, dtype, weigh, rows_grid(rows), threads_for(a.s), a, rows);
}

/* ---- by cuDNN -----------------------------------------------------------------------------------
 */

/* Added to scores that a mask forbids: below every score, and no number of f32 is lost by it.  A
 * query whose log(sum) is below the limit may see nothing. */
#define FORBIDDEN (-1e30f)
#define BLIND (-1e29f)

static __global__ void bias_of(float *to, const uint8_t *mask, i64 heads, i64 l, i64 s, i64 batch_s,
                               i64 head_s, i64 row_s, i64 col_s, i64 n) {
    JN_EACH(i, n) {
        i64 col = i % s, row = i / s % l, head = i / (s * l) % heads, b = i / (s * l * heads);
        to[i] = mask[b * batch_s + head * head_s + row * row_s + col * col_s] ? 0 : FORBIDDEN;
    }
}

/* Zeros where a query may see nothing. */
static __global__ void blind(void *y, int dtype, float *lse, i64 size, i64 n) {
    JN_EACH(i, n) {
        if (lse[i] < BLIND) {
            for (i64 c = 0; c < size; c++)
                store_f(y, i * size + c, dtype, 0.0f);
            lse[i] = -INFINITY;
        }
    }
}

/* exp(score - lse) is 0 where a query may see nothing. */
static __global__ void seeing(float *to, const float *lse, i64 n) {
    JN_EACH(i, n)
    to[i] = lse[i] == -INFINITY ? INFINITY : lse[i];
}

/* Memory from the workspace's begin; NULL: it is too small. */
static void *carve(jn_dnn_attention *a, i64 floats) {
    size_t bytes = ((size_t)floats * sizeof(float) + 255) & ~(size_t)255;
    void *p = a->workspace;
    if (!p || a->workspace_bytes < bytes)
        return NULL;
    a->workspace = (char *)p + bytes;
    a->workspace_bytes -= bytes;
    return p;
}

/* The mask as numbers; false: not one of bools, or no room. */
static bool add_bias(const job &j, const jn_view &mask, jn_dnn_attention *a) {
    const jn_attention &t = j.t;
    int64_t strides[JN_MAX_RANK], s[2];
    if (mask.dtype != JANUS_BOOL)
        return false;
    jn_attention_strides(&t, &mask, 2, strides);
    for (int d = 0; d < 2; d++) {
        int from = d - 2 + t.rank;
        s[d] = from < 0 ? 0 : strides[from];
        a->bias_dims[d] = s[d] == 0 ? 1 : a->dims[0][d];
    }
    i64 n = (i64)(a->bias_dims[0] * a->bias_dims[1] * t.l * t.s);
    float *bias = (float *)carve(a, n);
    if (!bias)
        return false;
    JN_LAUNCH(j.e, bias_of, grid_for(n), JN_BLOCK, bias, (const uint8_t *)mask.data,
              (i64)a->bias_dims[1], (i64)t.l, (i64)t.s, (i64)s[0], (i64)s[1],
              (i64)jn_attention_mask_stride(&mask, 2), (i64)jn_attention_mask_stride(&mask, 1), n);
    a->bias = bias;
    return true;
}

/* An operand for the library: two batch dims at most, none broadcast. */
static bool add_operand(const job &j, const jn_view &v, int i, jn_dnn_attention *a) {
    int64_t strides[JN_MAX_RANK];
    jn_attention_strides(&j.t, &v, 2, strides);
    if (v.strides[v.rank - 1] != 1 || v.strides[v.rank - 2] == 0)
        return false;
    for (int d = 0; d < 2; d++) {
        int from = d - 2 + j.t.rank;
        a->dims[i][d] = from < 0 ? 1 : j.t.dims[from];
        a->strides[i][d] = from < 0 || a->dims[i][d] == 1 ? (int64_t)numel_of(v) : strides[from];
        if (a->strides[i][d] == 0)
            return false;
        a->dims[i][2 + d] = v.dims[v.rank - 2 + d];
        a->strides[i][2 + d] = v.strides[v.rank - 2 + d];
    }
    return true;
}

/* The library's kernels read 16 bytes at a time and fault elsewhere, whatever they were told of the
 * operands' alignment. */
static bool by_sixteens(const jn_dnn_attention &a, int dtype) {
    const int64_t per = 16 / size_of(dtype);
    for (int i = 0; i < JN_DNN_ATTENTION_TENSORS; i++)
        if ((uintptr_t)a.data[i] % 16)
            return false;
    for (int i = 0; i < 4; i++)
        for (int d = 0; d < 3; d++)
            if (a.dims[i][d] > 1 && a.strides[i][d] % per)
                return false;
    return true;
}

/* first: operand with which query, key, value and the mask begin; 1 where these are the gradients.
 */
static bool by_library(const jn_kargs *k, const job &j, unsigned first) {
    const jn_attention &t = j.t;
    int dtype = k->in[first].dtype;
    bool backward = first == JN_ATTENTION_QUERY, masked = present(k, first + 3);
    const jn_view *y = backward ? &k->in[JN_ATTENTION_Y] : &k->out[0],
                  *lse = backward ? &k->in[JN_ATTENTION_LSE] : &k->out[1];
    i64 queries = (i64)(t.batch * t.l);
    if (!j.e->libs || (dtype != JANUS_F16 && dtype != JANUS_BF16) || t.rank > 2 || t.e % 8 ||
        t.v % 8 || !queries || !t.s || !t.e || !t.v || !y->contiguous || !lse->contiguous ||
        numel_of(*lse) != queries)
        return false;
    jn_dnn_attention a;
    memset(&a, 0, sizeof a);
    a.dtype = dtype;
    a.scale = (float)t.scale;
    a.causal = t.causal;
    a.backward = backward;
    a.workspace = k->workspace;
    a.workspace_bytes = scores_bytes(t, dtype) * (1 + backward) + j.workspace_bytes;
    for (int i = 0; i < 3; i++) {
        if (!add_operand(j, k->in[first + i], i, &a))
            return false;
        a.data[i] = k->in[first + i].data;
    }
    a.data[3] = y->data;
    a.data[4] = lse->data;
    if (backward) {
        if (!add_operand(j, k->in[JN_ATTENTION_DY], 3, &a))
            return false;
        a.data[5] = k->in[JN_ATTENTION_DY].data;
        for (int i = 0; i < 3; i++)
            a.data[6 + i] = k->out[i].data;
    }
    if (!by_sixteens(a, dtype) || (masked && !add_bias(j, k->in[first + 3], &a)))
        return false;
    if (masked && backward) {
        float *to = (float *)carve(&a, queries);
        if (!to)
            return false;
        JN_LAUNCH(j.e, seeing, grid_for(queries), JN_BLOCK, to, (const float *)lse->data, queries);
        a.data[4] = to;
    }
    bool done = jn_cuda_dnn_attention(j.e, &a);
    if (done && masked && !backward)
        JN_LAUNCH(j.e, blind, grid_for(queries), JN_BLOCK, y->data, dtype, (float *)lse->data,
                  (i64)t.v, queries);
    return done;
}

/* ---- both ways ----------------------------------------------------------------------------------
 */

static void run_attention(const jn_kargs *k) {
    job j = job_of(k, 0);
    const jn_attention &t = j.t;
    int dtype = k->in[0].dtype;
    if (by_library(k, j, 0) || j.e->error)
        return;
    mat q, key, v, y = mat_of(t, k->out[0]);
    const jn_view *views[] = {&k->in[0], &k->in[1], &k->in[2]};
    mat *mats[] = {&q, &key, &v};
    mats_in_place(j, views, mats, 3);
    for (i64 first = 0, most = slice_of(t); first < t.l && t.batch; first += most) {
        i64 n = t.l - first < most ? t.l - first : most;
        slice a = slice_at(j, k, 3, first, n);
        mat w = scores_mat(t, a.w, wide(dtype), n);
        a.lse = (char *)k->out[1].data;
        weights(j, a, dtype, q, key, w);
        multiply(j, n, t.v, t.s, w, v, rows_from(y, first), false);
    }
}

static void run_attention_grad(const jn_kargs *k) {
    job j = job_of(k, 1);
    const jn_attention &t = j.t;
    int dtype = k->in[1].dtype;
    if (by_library(k, j, JN_ATTENTION_QUERY) || j.e->error)
        return;
    mat dy, q, key, v, dq = mat_of(t, k->out[0]), dk = mat_of(t, k->out[1]),
                       dv = mat_of(t, k->out[2]);
    const jn_view *views[] = {&k->in[0], &k->in[1], &k->in[2], &k->in[3]};
    mat *mats[] = {&dy, &q, &key, &v};
    mats_in_place(j, views, mats, PLACES);
    if (!t.l) { /* keys that nobody asked for */
        multiply(j, t.s, t.e, 0, flipped(q), q, dk, false);
        multiply(j, t.s, t.v, 0, flipped(q), dy, dv, false);
    }
    for (i64 first = 0, most = slice_of(t); first < t.l && t.batch; first += most) {
        i64 n = t.l - first < most ? t.l - first : most;
        slice a = slice_at(j, k, 4, first, n);
        a.dw = a.w + scores_bytes(t, dtype);
        mat w = scores_mat(t, a.w, wide(dtype), n), dw = scores_mat(t, a.dw, wide(dtype), n);
        mat dys = rows_from(dy, first);
        i64 rows = (i64)t.batch * n;
        weights(j, a, dtype, q, key, w);
        multiply(j, t.s, t.v, n, flipped(w), dys, dv, first > 0);
        multiply(j, n, t.s, t.v, dys, flipped(v), dw, false);
        if (!j.e->error)
            BY_DTYPE(JN_LAUNCH_SYNC, j.e, dtype, weigh_grad, rows_grid(rows), threads_for(a.s), a,
                     rows);
        multiply(j, n, t.e, t.s, dw, key, rows_from(dq, first), false);
        multiply(j, t.s, t.e, n, flipped(dw), rows_from(q, first), dk, first > 0);
    }
}

JN_CUDA_SELECT jn_cuda_attention(const jn_sig *sig) {
    (void)sig;
    return run_attention;
}
JN_CUDA_SELECT jn_cuda_attention_grad(const jn_sig *sig) {
    (void)sig;
    return run_attention_grad;
}
