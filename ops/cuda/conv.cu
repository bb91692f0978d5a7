/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions: small ones by kernels of their own (ops/cuda/conv_small.cu), others by cuDNN where
 * it was found, the rest by the kernels here, a thread or a block per element of the result.
 */
#include "ops/cuda/cuda.cuh"

struct conv {
    dview x, w,
        y; /* x: input or its gradient, w: weight or its gradient, y: output or its gradient */
    const char *bias;
    i64 bias_s, stride[2], pad[2], dil[2], groups, n;
};

static __device__ __forceinline__ bool tap(const conv &c, int d, i64 o, i64 t, i64 size, i64 *out) {
    *out = o * c.stride[d] - c.pad[d] + t * c.dil[d];
    return *out >= 0 && *out < size;
}
static __device__ __forceinline__ bool untap(const conv &c, int d, i64 i, i64 t, i64 size,
                                             i64 *out) {
    i64 at = i + c.pad[d] - t * c.dil[d];
    *out = at / c.stride[d];
    return at >= 0 && at % c.stride[d] == 0 && *out < size;
}

template <class C> static __global__ void conv_forward(conv c) {
    i64 per_group = c.y.d[1] / c.groups, ic = c.w.d[1];
    JN_EACH(e, c.n) {
        i64 i[4], ih, iw;
        index4(c.y, e, i);
        i64 c0 = i[1] / per_group * ic;
        C s = c.bias ? load_as<C>(c.bias, i[1] * c.bias_s, c.y.dtype) : (C)0;
        for (i64 ch = 0; ch < ic; ch++)
            for (i64 kh = 0; kh < c.w.d[2]; kh++)
                for (i64 kw = 0; kw < c.w.d[3]; kw++)
                    if (tap(c, 0, i[2], kh, c.x.d[2], &ih) && tap(c, 1, i[3], kw, c.x.d[3], &iw))
                        s += load_as<C>(c.x.p, at4(c.x, i[0], c0 + ch, ih, iw), c.x.dtype) *
                             load_as<C>(c.w.p, at4(c.w, i[1], ch, kh, kw), c.w.dtype);
        store_as<C>(c.y.p, at4(c.y, i[0], i[1], i[2], i[3]), c.y.dtype, s);
    }
}
template <class C> static __global__ void conv_input(conv c) {
    i64 per_group = c.w.d[0] / c.groups, ic = c.w.d[1];
    JN_EACH(e, c.n) {
        i64 i[4], oh, ow;
        index4(c.x, e, i);
        i64 group = i[1] / ic, ch = i[1] % ic;
        C s = 0;
        for (i64 o = group * per_group; o < (group + 1) * per_group; o++)
            for (i64 kh = 0; kh < c.w.d[2]; kh++)
                for (i64 kw = 0; kw < c.w.d[3]; kw++)
                    if (untap(c, 0, i[2], kh, c.y.d[2], &oh) &&
                        untap(c, 1, i[3], kw, c.y.d[3], &ow))
                        s += load_as<C>(c.y.p, at4(c.y, i[0], o, oh, ow), c.y.dtype) *
                             load_as<C>(c.w.p, at4(c.w, o, ch, kh, kw), c.w.dtype);
        store_as<C>(c.x.p, at4(c.x, i[0], i[1], i[2], i[3]), c.x.dtype, s);
    }
}
/* A block per element of the weight. */
template <class C> static __global__ void conv_weight(conv c) {
    i64 per_group = c.w.d[0] / c.groups, ic = c.w.d[1], e = blockIdx.x;
    i64 i[4], per = c.y.d[2] * c.y.d[3], total = c.x.d[0] * per;
    index4(c.w, e, i);
    i64 ch = i[0] / per_group * ic + i[1];
    C s = 0;
    for (i64 t = threadIdx.x; t < total; t += blockDim.x) {
        i64 n = t / per, oh = t % per / c.y.d[3], ow = t % c.y.d[3], ih, iw;
        if (tap(c, 0, oh, i[2], c.x.d[2], &ih) && tap(c, 1, ow, i[3], c.x.d[3], &iw))
            s += load_as<C>(c.y.p, at4(c.y, n, i[0], oh, ow), c.y.dtype) *
                 load_as<C>(c.x.p, at4(c.x, n, ch, ih, iw), c.x.dtype);
    }
    s = block_all<op_sum>(s);
    if (threadIdx.x == 0)
        store_as<C>(c.w.p, at4(c.w, i[0], i[1], i[2], i[3]), c.w.dtype, s);
}

static conv conv_of(const jn_kargs *k, const jn_view &x, const jn_view &w, const jn_view &y) {
    const janus_conv2d_attrs *a =
        (const janus_conv2d_attrs *)k->attrs; /* the three rows' are alike */
    conv c;
    memset(&c, 0, sizeof c);
    c.x = view_of(x);
    c.w = view_of(w);
    c.y = view_of(y);
    for (int d = 0; d < 2; d++) {
        c.stride[d] = a->stride.data[d];
        c.pad[d] = a->padding.data[d];
        c.dil[d] = a->dilation.data[d];
    }
    c.groups = a->groups;
    c.n = numel_of(k->out[0]);
    return c;
}

/* cuDNN where it was found and knows the shape; its operands are row-major. */
static bool conv_by_library(const jn_kargs *k, jn_dnn_kind kind, const conv &c) {
    jn_dev_exec *e = exec_of(k);
    jn_dnn_conv d;
    if (!e->libs)
        return false;
    memset(&d, 0, sizeof d);
    d.kind = kind;
    d.dtype = c.y.dtype;
    const dview *v[3] = {&c.x, &c.w, &c.y};
    i64 bytes = 0;
    for (int t = 0; t < 3; t++) {
        i64 n = size_of(c.y.dtype);
        d.data[t] = v[t]->p;
        for (int i = 0; i < 4; i++) {
            d.dims[t][i] = v[t]->d[i];
            n *= v[t]->d[i];
        }
        d.strides[t][3] = 1;
        for (int i = 2; i >= 0; i--)
            d.strides[t][i] = d.strides[t][i + 1] * (d.dims[t][i + 1] ? d.dims[t][i + 1] : 1);
        for (int i = 0; i < 4; i++)
            if (d.dims[t][i] != 1 && v[t]->s[i] != d.strides[t][i])
                return false;
        bytes += n;
        if (n == 0)
            return false;
    }
    for (int i = 0; i < 2; i++) {
        d.stride[i] = c.stride[i];
        d.pad[i] = c.pad[i];
        d.dilation[i] = c.dil[i];
    }
    d.workspace = k->workspace;
    d.workspace_bytes = k->workspace ? jn_cuda_conv_workspace(bytes) : 0;
    return jn_cuda_dnn_conv(e, &d);
}
/* y[n][c][...] += bias[c] */
static __global__ void add_bias(conv c) {
    i64 per = c.y.d[2] * c.y.d[3];
    JN_EACH(i, c.n) {
        i64 b = i / per % c.y.d[1] * c.bias_s;
        if (c.y.dtype == JANUS_F64)
            store_as<double>(c.y.p, i, c.y.dtype,
                             load_as<double>(c.y.p, i, c.y.dtype) +
                                 load_as<double>(c.bias, b, c.y.dtype));
        else
            store_as<float>(c.y.p, i, c.y.dtype,
                            load_as<float>(c.y.p, i, c.y.dtype) +
                                load_as<float>(c.bias, b, c.y.dtype));
    }
}
static void run_conv2d(const jn_kargs *k) {
    conv c = conv_of(k, k->in[0], k->in[1], k->out[0]);
    if (present(k, 2)) {
        c.bias = (const char *)k->in[2].data;
        c.bias_s = k->in[2].strides[0];
    }
    if (!c.n || jn_cuda_small_conv(k, false))
        return;
    if (conv_by_library(k, JN_DNN_FORWARD, c)) {
        if (c.bias)
            JN_LAUNCH(exec_of(k), add_bias, grid_for(c.n), JN_BLOCK, c);
        return;
    }
    if (exec_of(k)->error)
        return;
    if (c.y.dtype == JANUS_F64)
        JN_LAUNCH(exec_of(k), conv_forward<double>, grid_for(c.n, 128), 128, c);
    else
        JN_LAUNCH(exec_of(k), conv_forward<float>, grid_for(c.n, 128), 128, c);
}
static void run_conv2d_input_grad(const jn_kargs *k) {
    conv c = conv_of(k, k->out[0], k->in[1], k->in[0]);
    if (!c.n || jn_cuda_small_conv(k, true) || conv_by_library(k, JN_DNN_INPUT_GRAD, c) ||
        exec_of(k)->error)
        return;
    if (c.y.dtype == JANUS_F64)
        JN_LAUNCH(exec_of(k), conv_input<double>, grid_for(c.n, 128), 128, c);
    else
        JN_LAUNCH(exec_of(k), conv_input<float>, grid_for(c.n, 128), 128, c);
}
static void run_conv2d_weight_grad(const jn_kargs *k) {
    conv c = conv_of(k, k->in[1], k->out[0], k->in[0]);
    if (!c.n || conv_by_library(k, JN_DNN_WEIGHT_GRAD, c) || exec_of(k)->error)
        return;
    if (c.y.dtype == JANUS_F64)
        JN_LAUNCH_SYNC(exec_of(k), conv_weight<double>, (unsigned)c.n, 128, c);
    else
        JN_LAUNCH_SYNC(exec_of(k), conv_weight<float>, (unsigned)c.n, 128, c);
}

#define SELECT(name)                                                                               \
    JN_CUDA_SELECT jn_cuda_##name(const jn_sig *sig) {                                             \
        (void)sig;                                                                                 \
        return run_##name;                                                                         \
    }
SELECT(conv2d)
SELECT(conv2d_input_grad)
SELECT(conv2d_weight_grad)
