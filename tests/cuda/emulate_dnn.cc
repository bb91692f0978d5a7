/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuDNN's attention on the emulated device, by its definition: with JANUS_EMULATED_DNN=1 what
 * ops/cuda/attention.cu hands to the library (layouts, masks as numbers, workspaces) is computed
 * with.  What it describes to the real library is looked at by tests/cuda/t_attention.c.
 */
#include "ops/cuda/cuda.cuh"

#include <stdlib.h>

enum { MOST = 512 }; /* numbers of a row */

struct row {
    const void *p;
    i64 at, step;
    int dtype;
    __device__ double operator[](i64 i) const { return load_as<double>(p, at + i * step, dtype); }
};

static row row_of(const jn_dnn_attention &a, int which, i64 b, i64 h, i64 i) {
    const int64_t *s = a.strides[which];
    row r = {a.data[which == 3 ? 5 : which], (i64)(b * s[0] + h * s[1] + i * s[2]), (i64)s[3],
             a.dtype};
    return r;
}
static double dot(const row &a, const row &b, i64 n) {
    double f = 0;
    for (i64 i = 0; i < n; i++)
        f += a[i] * b[i];
    return f;
}

/* -INFINITY: not seen. */
static double score(const jn_dnn_attention &a, i64 b, i64 h, i64 i, i64 j) {
    i64 l = (i64)a.dims[0][2], s = (i64)a.dims[1][2];
    if (a.causal && j > i)
        return -INFINITY;
    double f =
        dot(row_of(a, 0, b, h, i), row_of(a, 1, b, h, j), (i64)a.dims[0][3]) * (double)a.scale;
    if (a.bias) {
        i64 bb = a.bias_dims[0] == 1 ? 0 : b, hh = a.bias_dims[1] == 1 ? 0 : h;
        f = (double)(float)(f + (double)((const float *)
                                             a.bias)[((bb * a.bias_dims[1] + hh) * l + i) * s + j]);
    }
    return f;
}

static __global__ void forward(jn_dnn_attention a, int unused) {
    i64 heads = (i64)a.dims[0][1], l = (i64)a.dims[0][2], s = (i64)a.dims[1][2],
        size = (i64)a.dims[2][3], n = (i64)a.dims[0][0] * heads * l;
    (void)unused;
    for (i64 q = 0; q < n; q++) {
        i64 b = q / (heads * l), h = q / l % heads, i = q % l;
        double most = -INFINITY, sum = 0, y[MOST] = {0};
        for (i64 j = 0; j < s; j++)
            most = fmax(most, score(a, b, h, i, j));
        for (i64 j = 0; j < s; j++) {
            double w = exp(score(a, b, h, i, j) - most);
            row v = row_of(a, 2, b, h, j);
            sum += w;
            for (i64 c = 0; c < size; c++)
                y[c] += w * v[c];
        }
        for (i64 c = 0; c < size; c++)
            store_f(a.data[3], q * size + c, a.dtype, y[c] / sum);
        ((float *)a.data[4])[q] = (float)(most + log(sum));
    }
}

/* Gradient of a score; *w: its weight. */
static double score_grad(const jn_dnn_attention &a, i64 b, i64 h, i64 i, i64 j, double *w) {
    i64 heads = (i64)a.dims[0][1], l = (i64)a.dims[0][2], size = (i64)a.dims[2][3],
        q = (b * heads + h) * l + i;
    row dy = row_of(a, 3, b, h, i), y = {a.data[3], q * size, 1, a.dtype};
    *w = exp(score(a, b, h, i, j) - (double)((const float *)a.data[4])[q]);
    return *w * (dot(dy, row_of(a, 2, b, h, j), size) - dot(dy, y, size)) * (double)a.scale;
}

static __global__ void backward(jn_dnn_attention a, int unused) {
    i64 heads = (i64)a.dims[0][1], l = (i64)a.dims[0][2], s = (i64)a.dims[1][2],
        e = (i64)a.dims[0][3], size = (i64)a.dims[2][3];
    (void)unused;
    for (i64 g = 0; g < (i64)a.dims[0][0] * heads; g++) {
        i64 b = g / heads, h = g % heads;
        double w;
        for (i64 i = 0; i < l; i++) {
            double dq[MOST] = {0};
            for (i64 j = 0; j < s; j++) {
                double ds = score_grad(a, b, h, i, j, &w);
                row k = row_of(a, 1, b, h, j);
                for (i64 c = 0; c < e; c++)
                    dq[c] += ds * k[c];
            }
            for (i64 c = 0; c < e; c++)
                store_f(a.data[6], (g * l + i) * e + c, a.dtype, dq[c]);
        }
        for (i64 j = 0; j < s; j++) {
            double dk[MOST] = {0}, dv[MOST] = {0};
            for (i64 i = 0; i < l; i++) {
                double ds = score_grad(a, b, h, i, j, &w);
                row q = row_of(a, 0, b, h, i), dy = row_of(a, 3, b, h, i);
                for (i64 c = 0; c < e; c++)
                    dk[c] += ds * q[c];
                for (i64 c = 0; c < size; c++)
                    dv[c] += w * dy[c];
            }
            for (i64 c = 0; c < e; c++)
                store_f(a.data[7], (g * s + j) * e + c, a.dtype, dk[c]);
            for (i64 c = 0; c < size; c++)
                store_f(a.data[8], (g * s + j) * size + c, a.dtype, dv[c]);
        }
    }
}

extern "C" bool jn_cuda_dnn_attention(jn_dev_exec *e, const jn_dnn_attention *a) {
    if (a->dims[0][3] > MOST || a->dims[2][3] > MOST)
        return false;
    for (int i = 0; i < JN_DNN_ATTENTION_TENSORS; i++)
        if ((uintptr_t)a->data[i] % 16)
            __builtin_trap(); /* as a GPU faults */
    if (a->backward)
        JN_LAUNCH(e, backward, 1, 1, *a, 0);
    else
        JN_LAUNCH(e, forward, 1, 1, *a, 0);
    return true;
}
