/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Winograd's convolutions (Lavin and Gray, "Fast algorithms for convolutional neural networks",
 * 2016), which cuDNN has in its older API only: 3x3 in f32 takes half the time of what the graph
 * API has without TF32.
 *
 * Sums of tiles are taken over transformed inputs, so the rounding is another one: this way is a
 * candidate only where the fastest is asked for (jn_dev_exec.fastest_conv) and TF32 is not allowed,
 * whose kernels are faster still.  The form with the transforms apart is the deterministic and,
 * where it pays, the faster one.  The library says for which windows it has it.
 */
#include "config.h"

#include "ops/cuda/dnn_graph.h"

enum { X, W, Y, C }; /* descriptors of a way */

static bool packed(const int64_t dims[4], const int64_t strides[4]) {
    int64_t step = 1;
    for (int d = 3; d >= 0; d--) {
        if (dims[d] > INT32_MAX || (dims[d] != 1 && strides[d] != step))
            return false;
        step *= dims[d];
    }
    return true;
}

static bool describe(jn_dnn *d, const jn_dnn_key *k, const jn_dnn_way *w) {
    int n[3][4];
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < 4; i++)
            n[t][i] = (int)k->dims[t][i];
    const jn_dnn_api *api = &d->api;
    return api->SetTensor4dDescriptor(w->older[X], JN_DNN_TENSOR_NCHW, JN_DNN_DATA_FLOAT, n[X][0],
                                      n[X][1], n[X][2], n[X][3]) == JN_DNN_STATUS_SUCCESS &&
           api->SetFilter4dDescriptor(w->older[W], JN_DNN_DATA_FLOAT, JN_DNN_TENSOR_NCHW, n[W][0],
                                      n[W][1], n[W][2], n[W][3]) == JN_DNN_STATUS_SUCCESS &&
           api->SetTensor4dDescriptor(w->older[Y], JN_DNN_TENSOR_NCHW, JN_DNN_DATA_FLOAT, n[Y][0],
                                      n[Y][1], n[Y][2], n[Y][3]) == JN_DNN_STATUS_SUCCESS &&
           api->SetConvolution2dDescriptor(w->older[C], (int)k->pad[0], (int)k->pad[1], 1, 1, 1, 1,
                                           JN_DNN_CROSS_CORRELATION,
                                           JN_DNN_DATA_FLOAT) == JN_DNN_STATUS_SUCCESS &&
           api->SetConvolutionMathType(w->older[C], JN_DNN_FMA_MATH) == JN_DNN_STATUS_SUCCESS;
}

/* Whether the library has it, in the workspace. */
static bool fits(jn_dnn *d, const jn_dnn_key *k, const jn_dnn_way *w) {
    const jn_dnn_api *api = &d->api;
    void *const *o = w->older;
    size_t bytes = 0;
    int status = k->kind == JN_DNN_FORWARD
                     ? api->GetConvolutionForwardWorkspaceSize(
                           d->handle, o[X], o[W], o[C], o[Y],
                           JN_DNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, &bytes)
                 : k->kind == JN_DNN_INPUT_GRAD
                     ? api->GetConvolutionBackwardDataWorkspaceSize(
                           d->handle, o[W], o[Y], o[C], o[X],
                           JN_DNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, &bytes)
                     : api->GetConvolutionBackwardFilterWorkspaceSize(
                           d->handle, o[X], o[Y], o[C], o[W],
                           JN_DNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, &bytes);
    return status == JN_DNN_STATUS_SUCCESS && bytes <= (size_t)k->room;
}

bool jn_dnn_winograd_make(jn_dnn *d, const jn_dnn_key *k, jn_dnn_way *out) {
    jn_dnn_way w = {NULL, {NULL}};
    if (!d->api.ConvolutionForward || k->kind > JN_DNN_WEIGHT_GRAD || k->dtype != JANUS_F32 ||
        k->tf32 || k->dims[X][1] != k->dims[W][1] || k->stride[0] != 1 || k->stride[1] != 1 ||
        k->dilation[0] != 1 || k->dilation[1] != 1 || k->align < 16)
        return false;
    for (int t = 0; t < 3; t++)
        if (!packed(k->dims[t], k->strides[t]))
            return false;
    bool made = d->api.CreateTensorDescriptor(&w.older[X]) == JN_DNN_STATUS_SUCCESS &&
                d->api.CreateFilterDescriptor(&w.older[W]) == JN_DNN_STATUS_SUCCESS &&
                d->api.CreateTensorDescriptor(&w.older[Y]) == JN_DNN_STATUS_SUCCESS &&
                d->api.CreateConvolutionDescriptor(&w.older[C]) == JN_DNN_STATUS_SUCCESS;
    if (made && describe(d, k, &w) && fits(d, k, &w)) {
        *out = w;
        return true;
    }
    jn_dnn_winograd_free(d, &w);
    return false;
}

bool jn_dnn_winograd_run(jn_dnn *d, const jn_dnn_key *k, const jn_dnn_way *w,
                         const jn_dnn_call *c) {
    const float one = 1, zero = 0;
    const jn_dnn_api *api = &d->api;
    void *const *o = w->older, *const *p = c->data;
    size_t room = (size_t)k->room;
    int status =
        k->kind == JN_DNN_FORWARD
            ? api->ConvolutionForward(d->handle, &one, o[X], p[X], o[W], p[W], o[C],
                                      JN_DNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, c->workspace,
                                      room, &zero, o[Y], p[Y])
        : k->kind == JN_DNN_INPUT_GRAD
            ? api->ConvolutionBackwardData(d->handle, &one, o[W], p[W], o[Y], p[Y], o[C],
                                           JN_DNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED,
                                           c->workspace, room, &zero, o[X], p[X])
            : api->ConvolutionBackwardFilter(d->handle, &one, o[X], p[X], o[Y], p[Y], o[C],
                                             JN_DNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED,
                                             c->workspace, room, &zero, o[W], p[W]);
    return status == JN_DNN_STATUS_SUCCESS;
}

void jn_dnn_winograd_free(jn_dnn *d, jn_dnn_way *w) {
    if (w->older[X])
        d->api.DestroyTensorDescriptor(w->older[X]);
    if (w->older[W])
        d->api.DestroyFilterDescriptor(w->older[W]);
    if (w->older[Y])
        d->api.DestroyTensorDescriptor(w->older[Y]);
    if (w->older[C])
        d->api.DestroyConvolutionDescriptor(w->older[C]);
    *w = (jn_dnn_way){NULL, {NULL}};
}
