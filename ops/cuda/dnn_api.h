/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is used of cuDNN 9's graph API: its functions as a table, and its numbers.
 *
 * The numbers are the library's binary interface and stand here so that a machine without its
 * headers builds the module; tests/cuda/t_dnn.c compares them with cudnn.h where that is found.
 */
#ifndef JN_OPS_CUDA_DNN_API_H
#define JN_OPS_CUDA_DNN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name, result, arguments; without the prefix "cudnn".  Descriptors and handles are opaque. */
#define JN_DNN_FUNCTIONS(X)                                                                        \
    X(GetVersion, size_t, (void))                                                                  \
    X(Create, int, (void **handle))                                                                \
    X(Destroy, int, (void *handle))                                                                \
    X(SetStream, int, (void *handle, void *stream))                                                \
    X(BackendCreateDescriptor, int, (int type, void **out))                                        \
    X(BackendDestroyDescriptor, int, (void *d))                                                    \
    X(BackendSetAttribute, int, (void *d, int name, int type, int64_t n, const void *p))           \
    X(BackendGetAttribute, int,                                                                    \
      (const void *d, int name, int type, int64_t room, int64_t *n, void *p))                      \
    X(BackendFinalize, int, (void *d))                                                             \
    X(BackendExecute, int, (void *handle, void *plan, void *pack))

/* Of the older API, which has algorithms that the graph API lacks; as above, all results are int.
 */
#define JN_DNN_OLDER_FUNCTIONS(X)                                                                  \
    X(CreateTensorDescriptor, int, (void **out))                                                   \
    X(DestroyTensorDescriptor, int, (void *d))                                                     \
    X(SetTensor4dDescriptor, int, (void *d, int format, int type, int n, int c, int h, int w))     \
    X(CreateFilterDescriptor, int, (void **out))                                                   \
    X(DestroyFilterDescriptor, int, (void *d))                                                     \
    X(SetFilter4dDescriptor, int, (void *d, int type, int format, int k, int c, int h, int w))     \
    X(CreateConvolutionDescriptor, int, (void **out))                                              \
    X(DestroyConvolutionDescriptor, int, (void *d))                                                \
    X(SetConvolution2dDescriptor, int,                                                             \
      (void *d, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h, int dilation_w,  \
       int mode, int compute))                                                                     \
    X(SetConvolutionMathType, int, (void *d, int math))                                            \
    X(GetConvolutionForwardWorkspaceSize, int,                                                     \
      (void *handle, void *x, void *w, void *c, void *y, int algorithm, size_t *out))              \
    X(GetConvolutionBackwardDataWorkspaceSize, int,                                                \
      (void *handle, void *w, void *dy, void *c, void *dx, int algorithm, size_t *out))            \
    X(GetConvolutionBackwardFilterWorkspaceSize, int,                                              \
      (void *handle, void *x, void *dy, void *c, void *dw, int algorithm, size_t *out))            \
    X(ConvolutionForward, int,                                                                     \
      (void *handle, const void *alpha, void *xd, const void *x, void *wd, const void *w, void *c, \
       int algorithm, void *workspace, size_t bytes, const void *beta, void *yd, void *y))         \
    X(ConvolutionBackwardData, int,                                                                \
      (void *handle, const void *alpha, void *wd, const void *w, void *dyd, const void *dy,        \
       void *c, int algorithm, void *workspace, size_t bytes, const void *beta, void *dxd,         \
       void *dx))                                                                                  \
    X(ConvolutionBackwardFilter, int,                                                              \
      (void *handle, const void *alpha, void *xd, const void *x, void *dyd, const void *dy,        \
       void *c, int algorithm, void *workspace, size_t bytes, const void *beta, void *dwd,         \
       void *dw))

typedef struct jn_dnn_api {
#define JN_DNN_FIELD(name, result, args) result(*name) args;
    JN_DNN_FUNCTIONS(JN_DNN_FIELD)
    JN_DNN_OLDER_FUNCTIONS(JN_DNN_FIELD) /* all NULL where one is missing */
#undef JN_DNN_FIELD
} jn_dnn_api;

/* CUDNN_##name = number */
#define JN_DNN_NUMBERS(X)                                                                          \
    X(STATUS_SUCCESS, 0)                                                                           \
    X(DATA_FLOAT, 0)                                                                               \
    X(DATA_DOUBLE, 1)                                                                              \
    X(DATA_HALF, 2)                                                                                \
    X(DATA_BFLOAT16, 9)                                                                            \
    X(CROSS_CORRELATION, 1)                                                                        \
    X(TENSOR_NCHW, 0)                                                                              \
    X(FMA_MATH, 3)                                                                                 \
    X(CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, 7)                                                   \
    X(CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, 5)                                              \
    X(CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, 5)                                            \
    X(TYPE_HANDLE, 0)                                                                              \
    X(TYPE_DATA_TYPE, 1)                                                                           \
    X(TYPE_BOOLEAN, 2)                                                                             \
    X(TYPE_INT64, 3)                                                                               \
    X(TYPE_FLOAT, 4)                                                                               \
    X(TYPE_DOUBLE, 5)                                                                              \
    X(TYPE_VOID_PTR, 6)                                                                            \
    X(DATA_INT32, 4)                                                                               \
    X(DATA_BOOLEAN, 11)                                                                            \
    X(POINTWISE_ADD, 0)                                                                            \
    X(POINTWISE_MUL, 1)                                                                            \
    X(POINTWISE_DIV, 6)                                                                            \
    X(POINTWISE_EXP, 13)                                                                           \
    X(POINTWISE_LOG, 15)                                                                           \
    X(POINTWISE_SUB, 9)                                                                            \
    X(POINTWISE_CMP_GE, 303)                                                                       \
    X(POINTWISE_GEN_INDEX, 501)                                                                    \
    X(POINTWISE_BINARY_SELECT, 601)                                                                \
    X(REDUCE_TENSOR_ADD, 0)                                                                        \
    X(REDUCE_TENSOR_MAX, 3)                                                                        \
    X(TYPE_POINTWISE_MODE, 14)                                                                     \
    X(TYPE_REDUCTION_OPERATOR_TYPE, 18)                                                            \
    X(BACKEND_POINTWISE_DESCRIPTOR, 0)                                                             \
    X(BACKEND_OPERATION_POINTWISE_DESCRIPTOR, 13)                                                  \
    X(BACKEND_MATMUL_DESCRIPTOR, 18)                                                               \
    X(BACKEND_OPERATION_MATMUL_DESCRIPTOR, 19)                                                     \
    X(BACKEND_REDUCTION_DESCRIPTOR, 21)                                                            \
    X(BACKEND_OPERATION_REDUCTION_DESCRIPTOR, 22)                                                  \
    X(ATTR_POINTWISE_MODE, 0)                                                                      \
    X(ATTR_POINTWISE_MATH_PREC, 1)                                                                 \
    X(ATTR_POINTWISE_AXIS, 9)                                                                      \
    X(ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 750)                                                 \
    X(ATTR_OPERATION_POINTWISE_XDESC, 751)                                                         \
    X(ATTR_OPERATION_POINTWISE_BDESC, 752)                                                         \
    X(ATTR_OPERATION_POINTWISE_YDESC, 753)                                                         \
    X(ATTR_OPERATION_POINTWISE_TDESC, 758)                                                         \
    X(ATTR_MATMUL_COMP_TYPE, 1500)                                                                 \
    X(ATTR_OPERATION_MATMUL_ADESC, 1520)                                                           \
    X(ATTR_OPERATION_MATMUL_BDESC, 1521)                                                           \
    X(ATTR_OPERATION_MATMUL_CDESC, 1522)                                                           \
    X(ATTR_OPERATION_MATMUL_DESC, 1523)                                                            \
    X(BACKEND_OPERATION_RESHAPE_DESCRIPTOR, 31)                                                    \
    X(ATTR_OPERATION_RESHAPE_XDESC, 2200)                                                          \
    X(ATTR_OPERATION_RESHAPE_YDESC, 2201)                                                          \
    X(ATTR_REDUCTION_OPERATOR, 1600)                                                               \
    X(ATTR_REDUCTION_COMP_TYPE, 1601)                                                              \
    X(ATTR_OPERATION_REDUCTION_XDESC, 1610)                                                        \
    X(ATTR_OPERATION_REDUCTION_YDESC, 1611)                                                        \
    X(ATTR_OPERATION_REDUCTION_DESC, 1612)                                                         \
    X(ATTR_TENSOR_IS_VIRTUAL, 907)                                                                 \
    X(TYPE_CONVOLUTION_MODE, 7)                                                                    \
    X(TYPE_HEUR_MODE, 8)                                                                           \
    X(TYPE_NUMERICAL_NOTE, 11)                                                                     \
    X(TYPE_BACKEND_DESCRIPTOR, 15)                                                                 \
    X(TYPE_CHAR, 24)                                                                               \
    X(BACKEND_CONVOLUTION_DESCRIPTOR, 1)                                                           \
    X(BACKEND_ENGINE_DESCRIPTOR, 2)                                                                \
    X(BACKEND_ENGINECFG_DESCRIPTOR, 3)                                                             \
    X(BACKEND_ENGINEHEUR_DESCRIPTOR, 4)                                                            \
    X(BACKEND_EXECUTION_PLAN_DESCRIPTOR, 5)                                                        \
    X(BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 10)                                        \
    X(BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, 11)                                \
    X(BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, 12)                                  \
    X(BACKEND_OPERATIONGRAPH_DESCRIPTOR, 15)                                                       \
    X(BACKEND_VARIANT_PACK_DESCRIPTOR, 16)                                                         \
    X(BACKEND_TENSOR_DESCRIPTOR, 17)                                                               \
    X(ATTR_CONVOLUTION_COMP_TYPE, 100)                                                             \
    X(ATTR_CONVOLUTION_CONV_MODE, 101)                                                             \
    X(ATTR_CONVOLUTION_DILATIONS, 102)                                                             \
    X(ATTR_CONVOLUTION_FILTER_STRIDES, 103)                                                        \
    X(ATTR_CONVOLUTION_POST_PADDINGS, 104)                                                         \
    X(ATTR_CONVOLUTION_PRE_PADDINGS, 105)                                                          \
    X(ATTR_CONVOLUTION_SPATIAL_DIMS, 106)                                                          \
    X(ATTR_ENGINEHEUR_MODE, 200)                                                                   \
    X(ATTR_ENGINEHEUR_OPERATION_GRAPH, 201)                                                        \
    X(ATTR_ENGINEHEUR_RESULTS, 202)                                                                \
    X(ATTR_ENGINECFG_ENGINE, 300)                                                                  \
    X(ATTR_EXECUTION_PLAN_HANDLE, 400)                                                             \
    X(ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 401)                                                      \
    X(ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 402)                                                     \
    X(ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 700)                                               \
    X(ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 701)                                                \
    X(ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, 702)                                           \
    X(ATTR_OPERATION_CONVOLUTION_FORWARD_W, 703)                                                   \
    X(ATTR_OPERATION_CONVOLUTION_FORWARD_X, 704)                                                   \
    X(ATTR_OPERATION_CONVOLUTION_FORWARD_Y, 705)                                                   \
    X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 706)                                              \
    X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 707)                                               \
    X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, 708)                                          \
    X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, 709)                                                  \
    X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, 710)                                                 \
    X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, 711)                                                 \
    X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 712)                                            \
    X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 713)                                             \
    X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, 714)                                        \
    X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, 715)                                               \
    X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, 716)                                                \
    X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, 717)                                               \
    X(ATTR_OPERATIONGRAPH_HANDLE, 800)                                                             \
    X(ATTR_OPERATIONGRAPH_OPS, 801)                                                                \
    X(ATTR_TENSOR_BYTE_ALIGNMENT, 900)                                                             \
    X(ATTR_TENSOR_DATA_TYPE, 901)                                                                  \
    X(ATTR_TENSOR_DIMENSIONS, 902)                                                                 \
    X(ATTR_TENSOR_STRIDES, 903)                                                                    \
    X(ATTR_TENSOR_UNIQUE_ID, 906)                                                                  \
    X(ATTR_TENSOR_IS_BY_VALUE, 908)                                                                \
    X(ATTR_VARIANT_PACK_UNIQUE_IDS, 1000)                                                          \
    X(ATTR_VARIANT_PACK_DATA_POINTERS, 1001)                                                       \
    X(ATTR_VARIANT_PACK_WORKSPACE, 1003)                                                           \
    X(ATTR_ENGINE_NUMERICAL_NOTE, 1303)                                                            \
    X(NUMERICAL_NOTE_TENSOR_CORE, 0)                                                               \
    X(NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, 1)                                                       \
    X(NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, 2)                                               \
    X(NUMERICAL_NOTE_NONDETERMINISTIC, 4)                                                          \
    X(HEUR_MODE_FALLBACK, 2)                                                                       \
    X(HEUR_MODE_A, 3)

/* Of versions later than 9.0: where cudnn.h may not have them. */
#define JN_DNN_LATER_NUMBERS(X)                                                                    \
    X(ATTR_ENGINEHEUR_DEVICEPROP, 204)                                                             \
    X(ATTR_EXECUTION_PLAN_DEVICEPROP, 407)                                                         \
    X(ATTR_DEVICEPROP_JSON_REPRESENTATION, 2702)                                                   \
    X(BACKEND_DEVICEPROP_DESCRIPTOR, 38)

enum {
#define JN_DNN_NUMBER(name, number) JN_DNN_##name = number,
    JN_DNN_NUMBERS(JN_DNN_NUMBER) JN_DNN_LATER_NUMBERS(JN_DNN_NUMBER)
#undef JN_DNN_NUMBER
};

enum { JN_DNN_PLANS = 2048 }; /* of which three quarters are used; other shapes: own kernels */

/* What a plan is found by: no padding between the members.  Tensors of convolutions: x, w, y; of
 * attention: query, key, value, and of its gradient dy. */
typedef struct jn_dnn_key {
    int64_t kind, dtype, align, tf32, room, causal, fastest;
    int64_t dims[4][4], strides[4][4], stride[2], pad[2], dilation[2], bias[2];
} jn_dnn_key;

/* How the library does what a key says: by a plan of its graph API, or by the older one with these
 * descriptors of x, w, y and the convolution; all NULL: not at all. */
typedef struct jn_dnn_way {
    void *plan, *older[4];
} jn_dnn_way;

typedef struct jn_dnn_plan {
    jn_dnn_key key;
    bool used;
    jn_dnn_way way;
} jn_dnn_plan;

typedef struct jn_dnn {
    jn_dnn_api api;
    void *handle; /* NULL: not started */
    void *device; /* tests: the device's properties, in place of a handle */
    unsigned n_plans;
    jn_dnn_plan plans[JN_DNN_PLANS];
} jn_dnn;

/* Starts the library behind `api`; false with a text where that fails. */
bool jn_dnn_start(jn_dnn *d, const jn_dnn_api *api, const char **why);
void jn_dnn_stop(jn_dnn *d);

#endif
