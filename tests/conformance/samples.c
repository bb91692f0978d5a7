/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of the op tests and the reader of their operand texts. */
#include "config.h"

#include "tests/conformance/samples.h"

#include "ops/attrs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const sample samples[] = {
    /* elementwise, two operands */
    {"add", "f[2,3] f[3]", "", 0, 0}, {"add", "n[4] n[4]", "", NO_GRAD, 0}, {"add", "b[4] b[4]", "", NO_GRAD, 0},
    {"add", "t<f[3,5]> f[3,5]", "", 0, 0}, {"add", "f[] f[2,1]", "", 0, 0}, {"add", "f[0,3] f[3]", "", NO_GRAD, 0},
    {"sub", "f[2,3] f[2,1]", "", 0, 0}, {"sub", "n[4] n[1]", "", NO_GRAD, 0},
    {"mul", "f[2,3] f[3]", "", 0, 0}, {"mul", "n[4] n[4]", "", NO_GRAD, 0}, {"mul", "f[33] f[33]", "", 0, 0},
    {"div", "f[2,3] p[3]", "", 0, 0}, {"div", "s[12] s[12]", "", NO_GRAD, 0},
    {"floordiv", "f[7] p[7]", "", 0, 0}, {"floordiv", "n[9] n[9]", "", NO_GRAD, 0},
    {"mod", "f[7] p[7]", "", NO_GRAD2, 0}, {"mod", "n[9] n[9]", "", NO_GRAD, 0},
    {"pow", "p[2,3] f[3]", "", 0, 0}, {"pow", "n[5] i[5]<4", "", NO_GRAD, 0}, {"pow", "s[12] p[12]", "", NO_GRAD, 0},
    {"maximum", "f[2,3] f[2,3]", "", 0, 0}, {"maximum", "s[12] f[12]", "", NO_GRAD, 0}, {"maximum", "f[12] s[12]", "", NO_GRAD, 0},
    {"minimum", "f[2,3] f[3]", "", 0, 0}, {"minimum", "f[12] s[12]", "", NO_GRAD, 0}, {"minimum", "n[4] n[4]", "", NO_GRAD, 0},
    {"eq", "n[9] n[9]", "", NO_GRAD, 0}, {"eq", "s[12] s[12]", "", NO_GRAD, 0}, {"ne", "s[12] s[12]", "", NO_GRAD, 0},
    {"lt", "f[9] f[9]", "", NO_GRAD, 0}, {"le", "n[9] n[9]", "", NO_GRAD, 0}, {"gt", "f[2,3] f[]", "", NO_GRAD, 0}, {"ge", "s[12] f[12]", "", NO_GRAD, 0},
    {"logical_and", "b[6] b[6]", "", NO_GRAD, 0}, {"logical_or", "n[6] n[6]", "", NO_GRAD, 0}, {"logical_xor", "b[6] b[1]", "", NO_GRAD, 0},
    {"bitwise_and", "n[6] n[6]", "", NO_GRAD, 0}, {"bitwise_and", "b[2,3] b[3]", "", NO_GRAD, 0}, {"bitwise_or", "n[6] n[1]", "", NO_GRAD, 0}, {"bitwise_or", "b[6] b[6]", "", NO_GRAD, 0},
    {"bitwise_xor", "n[2,3] n[3]", "", NO_GRAD, 0}, {"bitwise_xor", "b[6] b[6]", "", NO_GRAD, 0},
    {"bitwise_left_shift", "n[9] i[9]<70", "", NO_GRAD, 0}, {"bitwise_left_shift", "n[9] n[9]", "", NO_GRAD, 0},
    {"bitwise_right_shift", "n[9] i[9]<70", "", NO_GRAD, 0}, {"bitwise_right_shift", "n[9] n[9]", "", NO_GRAD, 0},
    /* one operand */
    {"bitwise_not", "n[6]", "", NO_GRAD, 0}, {"bitwise_not", "b[6]", "", NO_GRAD, 0},
    {"neg", "f[2,3]", "", 0, 0}, {"neg", "n[4]", "", NO_GRAD, 0}, {"abs", "f[5]", "", 0, 0}, {"abs", "s[12]", "", NO_GRAD, 0},
    {"exp", "f[5]", "", 0, 0}, {"exp", "s[12]", "", NO_GRAD, 0}, {"log", "p[5]", "", 0, 0}, {"log", "s[12]", "", NO_GRAD, 0},
    {"log1p", "p[5]", "", 0, 0}, {"expm1", "f[5]", "", 0, 0}, {"sqrt", "p[5]", "", 0, 0}, {"rsqrt", "p[5]", "", 0, 0},
    {"square", "f[5]", "", 0, 0}, {"reciprocal", "p[5]", "", 0, 0}, {"sin", "f[5]", "", 0, 0}, {"cos", "f[5]", "", 0, 0},
    {"tanh", "f[5]", "", 0, 0}, {"tanh", "s[12]", "", NO_GRAD, 0}, {"tanh", "t<f[4,9]>", "", 0, 0}, {"sigmoid", "f[5]", "", 0, 0}, {"sigmoid", "s[12]", "", NO_GRAD, 0},
    {"relu", "f[6]", "", 0, 0}, {"relu", "s[12]", "", NO_GRAD, 0}, {"gelu", "f[6]", "", 0, 0}, {"gelu", "f[6]", "approximate=true", 0, 0},
    {"silu", "f[6]", "", 0, 0}, {"softplus", "f[6]", "", 0, 0}, {"leaky_relu", "f[6]", "slope=0.2", 0, 0}, {"elu", "f[6]", "alpha=1.5", 0, 0},
    {"asin", "u[5]", "", 0, 0}, {"asin", "s[12]", "", NO_GRAD, 0}, {"acos", "u[5]", "", 0, 0}, {"atan", "f[5]", "", 0, 0}, {"atan", "s[12]", "", NO_GRAD, 0},
    {"asinh", "f[5]", "", 0, 0}, {"acosh", "o[5]", "", 0, 0}, {"acosh", "p[9]", "", NO_GRAD, 0}, {"atanh", "u[5]", "", 0, 0}, {"erfc", "f[5]", "", 0, 0},
    {"erfinv", "u[5]", "", 0, 0}, {"erfinv", "s[12]", "", NO_GRAD, 0}, {"lgamma", "p[5]", "", 0, 0}, {"lgamma", "s[12]", "", NO_GRAD, 0},
    {"polygamma", "p[5]", "", 0, 0}, {"polygamma", "f[9]", "", 0, 0}, {"polygamma", "p[5]", "n=3", 0, 0}, {"polygamma", "f[9]", "n=1", NO_GRAD, 0},
    {"atan2", "f[2,3] f[3]", "", 0, 0}, {"atan2", "s[12] f[12]", "", NO_GRAD, 0}, {"hypot", "f[2,3] f[3]", "", 0, 0},
    {"erf", "f[6]", "", 0, 0}, {"sign", "f[6]", "", 0, 0}, {"floor", "f[6]", "", 0, 0}, {"ceil", "f[6]", "", 0, 0}, {"round", "f[6]", "", 0, 0},
    {"logical_not", "b[6]", "", NO_GRAD, 0}, {"isnan", "s[12]", "", NO_GRAD, 0}, {"isfinite", "s[12]", "", NO_GRAD, 0},
    {"clamp", "f[9]", "lo=-0.5 hi=1", 0, 0}, {"clamp", "s[12]", "hi=1", NO_GRAD, 0}, {"clamp", "n[9]", "lo=-2", NO_GRAD, 0},
    {"cast", "f[6]", "dtype=f64", 0, 0}, {"cast", "f[6]", "dtype=i64", NO_GRAD, 0}, {"cast", "n[6]", "dtype=f32", NO_GRAD, 0}, {"cast", "f[6]", "dtype=bf16", NO_GRAD, 0}, {"cast", "f[6]", "dtype=f16", NO_GRAD, 0}, {"cast", "n[6]", "dtype=bool", NO_GRAD, 0},
    {"clone", "t<f[3,4]>", "", 0, 0},
    {"where", "b[3] f[2,3] f[2,1]", "", 0, 0}, {"where", "b[5] n[5] n[5]", "", NO_GRAD, 0}, {"masked_fill", "f[2,3] b[3] #2.5", "", 0, 0},
    {"lerp", "f[4] f[4] u[4]", "", 0, 0}, {"addcmul", "f[2,3] f[3] f[2,1] #0.7", "", 0, 0}, {"addcdiv", "f[2,3] f[3] p[2,1] #0.7", "", 0, 0},
    {"addcdiv_sqrt", "f[2,3] f[3] p[2,1] #0.7 #0.01", "", 0, 0},
    {"tanh_grad", "f[5] u[5]", "", 0, 0}, {"sigmoid_grad", "f[5] u[5]", "", 0, 0}, {"relu_grad", "f[5] f[5]", "", 0, 0},
    {"clamp_grad", "f[9] f[9]", "lo=-0.5 hi=1", 0, 0}, {"clamp_grad", "f[9] f[9]", "hi=0.5", 0, 0}, {"clamp_grad", "f[9] f[9]", "lo=0", 0, 0},
    {"gelu_grad", "f[5] f[5]", "", 0, 0}, {"gelu_grad", "f[5] f[5]", "approximate=true", 0, 0},
    /* reductions */
    {"sum", "f[2,3,4]", "", 0, 0}, {"sum", "f[2,3,4]", "dims=0,2", 0, 0}, {"sum", "f[2,3,4]", "dims=-1,0 keepdim=true", 0, 0}, {"sum", "n[2,3]", "dims=1", NO_GRAD, 0}, {"sum", "f[]", "", 0, 0}, {"sum", "t<f[5,7]>", "dims=1", 0, 0}, {"sum", "f[0,3]", "dims=0", NO_GRAD, 0}, {"sum", "b[7]", "", NO_GRAD, 0},
    {"mean", "f[2,3,4]", "dims=1", 0, 0}, {"mean", "f[2,3]", "", 0, 0}, {"prod", "f[2,3]", "dims=1", 0, 0}, {"prod", "n[2,3]", "", NO_GRAD, 0},
    {"max", "f[2,5]", "dims=1", 0, 0}, {"max", "s[12]", "", NO_GRAD, 0}, {"max", "n[7]", "", NO_GRAD, 0}, {"min", "f[2,5]", "keepdim=true", 0, 0},
    {"max_dim", "f[3,5]", "axis=1", 0, 0}, {"max_dim", "f[3,5]", "axis=0 keepdim=true", 0, 0}, {"max_dim", "s[12]", "", NO_GRAD, 0}, {"min_dim", "f[3,5]", "axis=-1", 0, 0}, {"max_dim", "n[3,5]", "axis=1", NO_GRAD, 0},
    {"argmax", "f[3,5]", "axis=1", NO_GRAD, 0}, {"argmax", "f[3,5]", "all=true", NO_GRAD, 0}, {"argmax", "s[12]", "", NO_GRAD, 0}, {"argmin", "n[3,5]", "axis=0 keepdim=true", NO_GRAD, 0}, {"argmin", "f[3,5]", "all=true", NO_GRAD, 0},
    {"any", "b[3,4]", "dims=1", NO_GRAD, 0}, {"all", "n[3,4]", "", NO_GRAD, 0},
    {"logsumexp", "f[3,4]", "dims=1", 0, 0}, {"var", "f[3,4]", "dims=1", 0, 0}, {"var", "f[3,4]", "correction=0 keepdim=true", 0, 0},
    {"norm", "f[3,4]", "", 0, 0}, {"norm", "f[3,4]", "dims=1 p=1", 0, 0}, {"norm", "f[3,4]", "p=3 dims=0", 0, 0}, {"norm", "f[3,4]", "p=inf dims=1", 0, 0},
    {"cumsum", "f[3,4]", "axis=1", 0, 0}, {"cumsum", "f[3,4]", "axis=0 reverse=true", 0, 0}, {"cumsum", "n[4]", "", NO_GRAD, 0},
    /* shapes */
    {"reshape", "f[2,6]", "shape=3,-1", 0, 0}, {"reshape", "t<f[4,3]>", "shape=12", 0, 0}, {"reshape", "f[2,6] #4", "shape=-2,-1", 0, 0},
    {"transpose", "f[2,3,4]", "dim0=0 dim1=2", 0, 0}, {"permute", "f[2,3,4]", "dims=2,0,1", 0, 0}, {"expand", "f[3,1]", "shape=2,3,4", 0, 0}, {"expand", "f[3,1]", "shape=-1,4", 0, 0},
    {"unsqueeze", "f[2,3]", "axis=1", 0, 0}, {"squeeze", "f[2,1,3,1]", "", 0, 0}, {"squeeze", "f[2,1,3,1]", "axis=1", 0, 0},
    {"slice", "f[5,3] #1 #4", "", 0, 0}, {"slice", "f[5,7] #-5 _", "axis=1 step=2", 0, 0}, {"select", "f[4,3] #-1", "", 0, 0}, {"select", "f[4,3] #1", "axis=1", 0, 0}, {"select", "f[4,3,2] #1", "", 0, 0}, {"select", "f[4] #1", "", 0, 0},
    {"alias", "f[3]", "", 0, 0}, {"detach", "f[3]", "", NO_GRAD, 0}, {"expand_like", "f[3,1] f[2,3,4]", "", 0, 0}, {"reshape_like", "f[2,6] f[3,4]", "", 0, 0},
    {"overwrite", "f[2,3] f[2,3]", "", 0, 0}, {"overwrite", "f[3,1] f[2,3,4]", "", 0, 0}, {"overwrite", "t<f[4,3]> f[4,3]", "", 0, 0},
    {"sum_like", "f[2,3,4] f[3,1]", "", 0, 0}, {"sum_like", "f[2,3,4] f[]", "", 0, 0}, {"sum_like", "f[6,5] f[5]", "", 0, 0}, {"sum_like", "f[6,5] f[6,1]", "", 0, 0}, {"sum_like", "f[6,5] f[6,5]", "", 0, 0},
    {"concat", "f[2,3] f[1,3] f[4,3]", "", 0, 0}, {"concat", "f[2,3] f[2,1]", "axis=-1", 0, 0}, {"concat", "n[2] n[3]", "", NO_GRAD, 0}, {"stack", "f[2,3] f[2,3]", "axis=1", 0, 0},
    {"pad", "f[2,3]", "before=1,0 after=0,2 value=0.5", 0, 0}, {"pad", "f[4,3]", "before=-1,1 after=0,-1", 0, 0}, {"flip", "f[2,3]", "dims=1", 0, 0},
    {"roll", "f[2,5]", "shifts=2 dims=1", 0, 0}, {"roll", "f[2,5]", "shifts=-3", 0, 0}, {"tril", "f[2,3,4]", "diagonal=1", 0, 0}, {"triu", "f[4,3]", "", 0, 0},
    {"diag", "f[3]", "diagonal=-1", 0, 0}, {"diag", "f[3,5]", "diagonal=1", 0, 0}, {"diag", "f[5,3]", "", 0, 0}, {"repeat", "f[2,3]", "repeats=2,1,3", 0, 0},
    {"slice_scatter", "f[5,3] f[2,3] #1 #4", "step=2", 0, 0}, {"select_scatter", "f[4,3] f[4] #2", "axis=1", 0, 0},
    {"pad", "t<f[4,3]>", "before=1,0 after=0,-2", 0, 0}, {"pad", "n[3,2]", "before=0,1 after=1,1 value=7", NO_GRAD, 0}, {"flip", "t<f[4,3]>", "dims=0", 0, 0}, {"flip", "f[2,3,4]", "dims=0,2", 0, 0}, {"flip", "b[5]", "", NO_GRAD, 0},
    {"roll", "f[3,4,5]", "shifts=1,-2 dims=0,2", 0, 0}, {"roll", "t<f[4,3]>", "shifts=1 dims=0", 0, 0}, {"roll", "t<f[4,3]>", "shifts=5", 0, 0}, {"tril", "t<f[4,3]>", "diagonal=-1", 0, 0}, {"triu", "f[2,3,4]", "diagonal=2", 0, 0},
    {"repeat", "t<f[4,3]>", "repeats=2,2", 0, 0}, {"repeat", "f[3,1,2]", "repeats=1,3,1", 0, 0}, {"diag", "t<f[4,3]>", "diagonal=-1", 0, 0}, {"slice_scatter", "t<f[4,3]> f[4,2] #0 #2", "axis=1", 0, 0}, {"select_scatter", "f[4,3,2] f[3,2] #-1", "", 0, 0},
    {"slice_grad", "f[2,3] #1 #4 f[5,3]", "step=2", 0, 0}, {"slice_grad", "f[4,2] _ #-1 f[4,3]", "axis=1", 0, 0}, {"slice_grad", "f[2,2,3] #1 _ f[2,4,3]", "axis=1 step=2", 0, 0}, {"slice_grad", "f[0,3] #4 #2 f[5,3]", "", NO_GRAD, 0},
    {"select_grad", "f[4] #2 f[4,3]", "axis=1", 0, 0}, {"select_grad", "f[3,2] #-1 f[4,3,2]", "", 0, 0}, {"select_grad", "f[] #1 f[4]", "", 0, 0}, {"select_grad", "f[2,3] #1 f[2,5,3]", "axis=-2", 0, 0},
    /* indexing */
    {"gather", "f[2,3,4] i[2,2,3]<3", "axis=1", 0, 0}, {"gather", "n[7] i[9]<7", "", NO_GRAD, 0}, {"scatter_add", "f[2,3,4] i[2,5,4]<3 f[2,5,4]", "axis=1", 0, 0}, {"scatter_add", "n[5] i[9]<5 n[9]", "", NO_GRAD, 0}, {"scatter", "n[3,5] i[3,2]<5 n[3,2]", "axis=1", NO_GRAD, 0},
    {"index", "f[2,3,5,2] i[2]<3 i[2]<5", "axes=1,2", 0, 0}, {"index", "n[4,3,5] i[2,1]<4 i[3]<5", "axes=0,2", NO_GRAD, 0}, {"index_put", "f[4,3,5] f[3,3] i[3]<4 i[3]<5", "axes=0,2 accumulate=true", 0, 0}, {"index_put", "n[4,3] n[2,3] i[2]<4", "axes=0", NO_GRAD, 0}, {"index_put", "n[4,3] n[3] i[2]<4", "axes=0 accumulate=true", NO_GRAD, 0}, {"index_put", "n[4,3] n[1] i[5]<3", "axes=1 accumulate=true", NO_GRAD, 0},
    {"index_add", "n[4,3] i[5]<3 n[4,5]", "axis=1", NO_GRAD, 0}, {"masked_select", "n[70] b[70]", "", NO_GRAD, 0}, {"nonzero", "b[2,5]", "", NO_GRAD, 0}, {"one_hot", "i[7]<3", "num_classes=3", NO_GRAD, 0},
    {"sort", "n[300]", "descending=true", NO_GRAD, 0}, {"sort", "s[60]", "", NO_GRAD, 0}, {"sort", "s[60]", "descending=true", NO_GRAD, 0}, {"sort", "f[4,70]", "", NO_GRAD, 0}, {"argsort", "n[200]", "", NO_GRAD, 0}, {"argsort", "b[60]", "descending=true", NO_GRAD, 0}, {"topk", "n[400]", "k=70", NO_GRAD, 0}, {"topk", "n[90]", "k=5 largest=false", NO_GRAD, 0}, {"topk", "s[12]", "k=6", NO_GRAD, 0},
    {"gather", "f[4,3] i[2,3]<4", "", 0, 0}, {"gather", "f[4,3] i[4,5]<3", "axis=1", 0, 0}, {"scatter_add", "f[4,3] i[2,3]<4 f[2,3]", "", 0, 0},
    {"scatter_add", "f[4,3] i[2,2]<4 f[3,3]", "", 0, 0}, {"index_select", "f[4,3] i[5]<4", "", 0, 0}, {"index_select", "f[4,3] i[2]<3", "axis=1", 0, 0},
    {"scatter", "f[4,3] i[1,3]<4 f[1,3]", "", 0, 0},
    {"index_add", "f[4,3] i[5]<4 f[5,3]", "", 0, 0}, {"embedding", "f[5,3] i[2,4]<5", "padding_idx=1", NO_GRAD, 0}, {"embedding", "f[5,3] i[2,4]<5", "", 0, 0}, {"embedding_grad", "f[2,4,3] i[2,4]<5 f[5,3]", "", 0, 0}, {"embedding_grad", "f[6,3] i[6]<5 f[5,3]", "padding_idx=1", 0, 0},
    {"index", "f[4,3,5] i[2]<4 i[2]<3", "axes=0,1", 0, 0}, {"index", "f[4,3,5] i[2,1]<4 i[3]<5", "axes=0,2", 0, 0}, {"index", "f[4,3,5] i[6]<3", "axes=1", 0, 0}, {"index", "f[4,3] i[2,3]<4", "axes=0", 0, 0},
    {"index_put", "f[4,3] f[5,3] i[5]<4", "axes=0 accumulate=true", 0, 0}, {"index_put", "f[4,3,5] f[1] i[1]<4 i[1]<5", "axes=0,2", 0, 0},
    {"nonzero", "n[3,4]", "", NO_GRAD, 0}, {"masked_select", "f[3,4] b[3,4]", "", NO_GRAD, 0}, {"one_hot", "i[2,3]<4", "num_classes=4", NO_GRAD, 0},
    {"sort", "f[3,5]", "", 0, 0}, {"sort", "n[9]", "descending=true", NO_GRAD, 0}, {"sort", "s[12]", "", NO_GRAD, 0}, {"argsort", "f[3,5]", "axis=0", NO_GRAD, 0}, {"topk", "f[3,5]", "k=2", 0, 0}, {"topk", "f[5,3]", "k=3 axis=0 largest=false", 0, 0},
    /* products */
    {"matmul", "f[3,4] f[4,5]", "", 0, 0}, {"matmul", "f[4] f[4]", "", 0, 0}, {"matmul", "f[4] f[4,5]", "", 0, 0}, {"matmul", "f[3,4] f[4]", "", 0, 0}, {"matmul", "f[2,3,4] f[4,5]", "", 0, 0}, {"matmul", "f[2,1,3,4] f[3,4,2]", "", 0, 0},
    {"matmul", "f[4,3] f[5,4]", "transpose_a=true transpose_b=true", 0, 0}, {"matmul", "f[4,3] f[4,5]", "transpose_a=true", 0, 0}, {"matmul", "f[2,3,4] f[2,5,4]", "transpose_b=true", 0, 0}, {"matmul", "n[3,4] n[4,2]", "", NO_GRAD, 0}, {"matmul", "t<f[3,4]> t<f[4,5]>", "", 0, 0}, {"matmul", "f[4] f[2,4,3]", "", 0, 0}, {"matmul", "f[2,3,4] f[4]", "", 0, 0},
    {"linear", "f[3,4] f[5,4] f[5]", "", 0, 0}, {"linear", "f[2,3,4] f[5,4] _", "", 0, 0}, {"linear", "f[4] f[5,4] f[5]", "", 0, 0}, {"outer", "f[3] f[4]", "", 0, 0}, {"dot", "f[5] f[5]", "", 0, 0},
    {"conv2d", "f[2,3,5,6] f[4,3,3,2] f[4]", "stride=2,1 padding=1,1", 0, 0}, {"conv2d", "f[1,4,6,6] f[6,2,2,3] _", "groups=2 dilation=2,1", 0, 0},
    {"conv2d_input_grad", "f[2,4,3,7] f[4,3,3,2] f[2,3,5,6]", "stride=2,1 padding=1,1", 0, 0}, {"conv2d_weight_grad", "f[2,4,3,7] f[2,3,5,6] f[4,3,3,2]", "stride=2,1 padding=1,1", 0, 0},
    {"conv2d", "f[2,4,7,6] f[4,1,3,3] f[4]", "groups=4 padding=1,1 stride=2,1", 0, 0}, {"conv2d", "f[1,3,6,6] f[6,1,5,5] _", "groups=3 padding=2,2", 0, 0}, {"conv2d_input_grad", "f[2,4,4,6] f[4,1,3,3] f[2,4,7,6]", "groups=4 padding=1,1 stride=2,1", 0, 0}, {"conv2d_weight_grad", "f[2,4,4,6] f[2,4,7,6] f[4,1,3,3]", "groups=4 padding=1,1 stride=2,1", 0, 0},
    /* nn */
    {"max_pool2d", "f[2,2,9,8]", "kernel=2,2", 0, 0}, {"max_pool2d", "f[1,2,9,19]", "kernel=3,3 stride=1,2 dilation=1,2 padding=1,1", NO_GRAD, 0}, {"avg_pool2d", "f[1,2,6,19]", "kernel=3,3 stride=1,2 padding=1,1", 0, 0}, {"avg_pool2d", "f[1,2,6,8]", "kernel=2,2", 0, 0}, {"avg_pool2d_grad", "f[1,2,3,4] f[1,2,6,8]", "kernel=3,3 stride=2,2 padding=1,1", 0, 0}, {"avg_pool2d", "f[1,1,14,14]", "kernel=14,14", 0, 0},
    {"softmax", "f[3,5]", "", 0, 0}, {"softmax", "f[3,5]", "axis=0", 0, 0}, {"softmax_grad", "f[3,5] u[3,5]", "", 0, 0}, {"log_softmax", "f[3,5]", "axis=1", 0, 0}, {"log_softmax_grad", "f[3,5] f[3,5]", "", 0, 0},
    {"cross_entropy", "f[4,5] i[4]<5", "", 0, 0}, {"cross_entropy", "f[2,5,3] i[2,3]<5", "reduction=0", 0, 0}, {"cross_entropy", "f[4,5] i[4]<5", "reduction=2 ignore_index=1 label_smoothing=0.1", 0, 0}, {"cross_entropy", "f[5] i[]<5", "", 0, 0}, {"cross_entropy", "f[4,5] u[4,5]", "", NO_GRAD, 0},
    {"cross_entropy_grad", "f[] f[4,5] i[4]<5", "", 0, 0}, {"cross_entropy_grad", "f[4] f[4,5] i[4]<5", "reduction=0 ignore_index=2", 0, 0},
    {"nll_loss", "f[4,5] i[4]<5", "", 0, 0}, {"nll_loss_grad", "f[] i[4]<5 f[4,5]", "", 0, 0}, {"nll_loss_grad", "f[4] i[4]<5 f[4,5]", "reduction=0", 0, 0},
    {"mse_loss", "f[3,4] f[3,4]", "", 0, 0}, {"mse_loss", "f[3,4] f[4]", "reduction=0", 0, 0}, {"bce_with_logits", "f[3,4] u[3,4]", "", 0, 0}, {"smooth_l1", "f[3,4] f[3,4]", "beta=0.7", NO_GRAD2, 0},
    {"max_pool2d", "f[2,2,5,6]", "kernel=2,3 stride=2,1 padding=1,0", 0, 0}, {"max_pool2d", "f[1,1,5,5]", "kernel=2,2 ceil_mode=true", 0, 0}, {"max_pool2d_grad", "f[1,2,2,2] i[1,2,2,2]<16 f[1,2,4,4]", "", 0, 0}, {"max_pool2d_gather", "f[1,2,4,4] i[1,2,2,2]<16", "", 0, 0},
    {"avg_pool2d", "f[2,2,5,6]", "kernel=2,3 stride=2,1 padding=1,0", 0, 0}, {"avg_pool2d", "f[1,2,5,5]", "kernel=2,2 padding=1,1 ceil_mode=true count_include_pad=false", 0, 0}, {"avg_pool2d_grad", "f[1,2,2,2] f[1,2,4,4]", "kernel=2,2", 0, 0},
    {"batch_norm", "f[4,3,2] p[3] f[3] _ _", "", 0, 1e-4}, {"batch_norm", "f[4,3] p[3] f[3] f[3] p[3]", "training=false", NO_GRAD2, 1e-4}, {"batch_norm", "f[2,3,2,2] _ _ _ _", "", 0, 1e-4},
    {"avg_pool2d", "f[1,2,6,5]", "kernel=3,3 stride=2,1 padding=1,1 count_include_pad=false", 0, 0}, {"avg_pool2d_grad", "f[1,2,3,5] f[1,2,6,5]", "kernel=3,3 stride=2,1 padding=1,1 count_include_pad=false", 0, 0}, {"batch_norm", "f[2,3,4,2] p[3] f[3] f[3] p[3]", "training=false eps=0.001", NO_GRAD2, 1e-4},
    {"batch_norm_grad", "f[4,3] f[4,3] p[3] f[3] p[3]", "training=false", NO_GRAD, 1e-4},
    {"layer_norm", "f[3,4] p[4] f[4]", "", 0, 1e-4}, {"layer_norm", "f[2,3,4] p[3,4] f[3,4]", "axis=1", 0, 1e-4}, {"layer_norm", "f[3,4] _ _", "", 0, 1e-4},
    {"layer_norm_grad", "f[3,4] f[3,4] p[4] f[3] p[3]", "", NO_GRAD, 1e-4}, {"layer_norm_grad", "f[4] f[4] p[4] f[] p[]", "", NO_GRAD, 1e-4},
    {"cross_entropy", "f[1,5] i[1]<5", "", 0, 0}, {"cross_entropy", "f[3,5] i[3]<5", "ignore_index=1 reduction=0", 0, 0}, {"cross_entropy_grad", "f[] f[5] i[]<5", "", 0, 0}, {"nll_loss", "f[2,5,3] i[2,3]<5", "reduction=2", 0, 0}, {"nll_loss", "f[5] i[]<5", "", 0, 0}, {"nll_loss_grad", "f[2,3] i[2,3]<5 f[2,5,3]", "reduction=0", 0, 0}, {"nll_loss_grad", "f[] i[]<5 f[5]", "", 0, 0},
    {"bce_with_logits", "f[2,3] u[2,3]", "reduction=2", 0, 0}, {"bce_with_logits", "f[2,3] u[2,3]", "reduction=0", 0, 0}, {"mse_loss", "f[] f[]", "", 0, 0}, {"smooth_l1", "f[3,4] f[3,4]", "reduction=2", NO_GRAD2, 0},
    {"attention", "f[5,4] f[6,4] f[6,3] _", "", 0, 0}, {"attention", "f[2,3,5,4] f[2,3,6,4] f[2,3,6,3] b[2,1,5,6]", "", 0, 0}, {"attention", "t<f[3,5,4]> t<f[1,6,4]> f[3,6,3] f[5,6]", "scale=0.3", 0, 0}, {"attention", "f[2,5,4] f[2,5,4] f[2,5,4] _", "causal=true", 0, 0}, {"attention", "f[3,4] f[6,4] f[2,6,3] f[6]", "causal=true scale=0.7", 0, 0}, {"attention", "f[2,3] f[0,3] f[0,2] _", "", NO_GRAD, 0}, {"attention", "f[4,4] f[5,4] f[5,2] b[4,1]", "", 0, 0},
    {"attention_grad", "f[2,5,3] f[2,5,4] f[2,6,4] f[2,6,3] b[5,6] f[2,5,3] f[2,5]", "causal=true", NO_GRAD, 1e-4}, {"attention_grad", "f[5,3] f[5,4] t<f[2,6,4]> f[6,3] _ f[2,5,3] f[2,5]", "scale=0.4", NO_GRAD, 1e-4},
    /* optimizers: u is positive, so that roots are far from zero */
    {"momentum_step", "f[3,4] f[3,4] f[3,4] #0.1", "momentum=0.9", NO_GRAD, 0}, {"momentum_step", "f[19] f[19] f[19] #0.1", "momentum=0.9 dampening=0.5 weight_decay=0.2 nesterov=true maximize=true", NO_GRAD, 0},
    {"adam_step", "f[3,4] f[3,4] f[3,4] p[3,4] p[] #0.1", "", NO_GRAD, 1e-4}, {"adam_step", "f[19] f[19] f[19] p[19] p[] #0.1", "beta1=0.8 beta2=0.9 eps=0.01 weight_decay=0.2 decoupled=true maximize=true", NO_GRAD, 1e-4}, {"adam_step", "f[2] f[2] f[2] p[2] p[] #0.1", "weight_decay=0.2", NO_GRAD, 1e-4},
    /* creation */
    {"full", "#2.5", "shape=2,3", NO_GRAD, 0}, {"full", "#2 #4", "shape=2,-2 dtype=i64", NO_GRAD, 0}, {"full_like", "#1.5 f[2,3]", "", NO_GRAD, 0}, {"scalar_tensor", "#2.5", "", NO_GRAD, 0}, {"scalar_tensor", "#7", "dtype=i32", NO_GRAD, 0}, {"scalar_tensor", "#7", "dtype=i64", NO_GRAD, 0}, {"scalar_tensor", "#7", "dtype=f64", NO_GRAD, 0},
    {"arange", "#1 #3 #5", "", NO_GRAD, 0}, {"arange", "#0.5 #0.25 #5", "dtype=f32", NO_GRAD, 0}, {"eye", "", "n=2 m=3", NO_GRAD, 0},
    {"uniform", "_ #7 #5", "shape=3,5", NO_GRAD, 0}, {"uniform", "_ #7 #5", "shape=33 dtype=f64 low=-1", NO_GRAD, 0}, {"uniform", "_ #7 #5", "shape=3000 dtype=bf16", NO_GRAD, 0}, {"uniform", "_ #7 #5", "shape=3000 dtype=f16 low=-1 high=0", NO_GRAD, 0}, {"normal", "_ #7 #5", "shape=17 mean=1 std=2", NO_GRAD, 1e-4}, {"normal", "_ #7 #5", "shape=9 dtype=f64 mean=-1", NO_GRAD, 0}, {"randint", "#-3 #9 _ #7 #5", "shape=11", NO_GRAD, 0}, {"bernoulli_mask", "f[4,5] #7 #5", "p=0.3 scale=2", NO_GRAD, 0}, {"randperm", "#13 #7 #5", "", NO_GRAD, 0},
};
/* clang-format on */
const unsigned n_samples = sizeof samples / sizeof samples[0];

static uint64_t next(uint64_t *s) {
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return *s >> 33;
}
static double uniform(uint64_t *s) { return ((double)next(s) + 0.5) / 2147483648.0; }

static double special(int64_t i) {
    static const double v[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, -2, 1e30, -1e30, NAN};
    return v[i % 12];
}

/* One tensor text such as f[2,3] or i[4]<5. */
static val *tensor(tape *t, const char *text, int fdt, uint64_t *seed) {
    int64_t dims[JN_MAX_RANK], limit = 1;
    int rank = 0;
    char kind = text[0];
    const char *p = text + 1;
    if (*p++ != '[')
        return NULL;
    while (*p != ']') {
        char *end;
        dims[rank++] = strtoll(p, &end, 10);
        p = *end == ',' ? end + 1 : end;
    }
    if (p[1] == '<')
        limit = strtoll(p + 2, NULL, 10);
    int dtype = kind == 'i' || kind == 'n' ? JANUS_I64 : kind == 'b' ? JANUS_BOOL : fdt;
    val *v = val_tensor(t, dtype, rank, dims);
    for (int64_t i = 0; i < v->numel; i++) {
        double u = uniform(seed);
        double f = kind == 'p'   ? 0.5 + 1.5 * u
                   : kind == 'u' ? u
                   : kind == 'o' ? 1.2 + 1.5 * u
                   : kind == 's' ? special(i + (int64_t)(*seed >> 62))
                   : kind == 'n' ? floor(u * 11) - 5
                   : kind == 'b' ? u < 0.5
                   : kind == 'i' ? floor(u * (double)limit)
                                 : 4 * u - 2;
        val_set(v, i, f);
    }
    return v;
}

/* The same elements with the last two dims swapped in memory. */
static val *transposed(tape *t, val *v) {
    int64_t dims[JN_MAX_RANK];
    int r = v->t.rank;
    memcpy(dims, v->dims, sizeof dims);
    dims[r - 1] = v->dims[r - 2];
    dims[r - 2] = v->dims[r - 1];
    val *m = val_tensor(t, v->t.dtype, r, dims);
    memcpy(m->dims, v->dims, sizeof m->dims);
    int64_t s = m->strides[r - 1];
    m->strides[r - 1] = m->strides[r - 2];
    m->strides[r - 2] = s;
    for (int64_t i = 0; i < v->numel; i++)
        val_set(m, i, val_get(v, i));
    return m;
}

int sample_operands(tape *t, const sample *s, int fdt, uint64_t seed, val **out) {
    int n = 0;
    for (const char *p = s->operands; *p;) {
        size_t len = strcspn(p, " ");
        char word[64] = {0};
        memcpy(word, p, len < 63 ? len : 63);
        if (word[0] == '_') {
            out[n] = NULL;
        } else if (word[0] == '#') {
            bool is_float = strpbrk(word, ".e") != NULL && strcmp(word, "#true") != 0;
            janus_scalar v = {.i = strtoll(word + 1, NULL, 10)};
            if (is_float)
                v.f = strtod(word + 1, NULL);
            if (strcmp(word, "#true") == 0)
                v.i = 1;
            out[n] = val_scalar(t,
                                is_float                     ? JANUS_KIND_FLOAT
                                : strcmp(word, "#true") == 0 ? JANUS_KIND_BOOL
                                                             : JANUS_KIND_INT,
                                v);
        } else if (word[0] == 't') {
            val *v = tensor(t, word + 2, fdt, &seed);
            out[n] = v ? transposed(t, v) : NULL;
        } else if (!(out[n] = tensor(t, word, fdt, &seed))) {
            return -1;
        }
        n++;
        p += len;
        p += *p == ' ';
    }
    return n;
}

janus_status sample_attrs(tape *t, const sample *s, const jn_op *op, void **out) {
    *out = NULL;
    if (op->attr_size == 0)
        return JANUS_OK;
    void *attrs = jn_arena_zalloc(&t->arena, op->attr_size);
    if (!attrs)
        return JN_NO_MEMORY();
    JN_TRY(jn_attrs_default(op, attrs));
    for (const char *p = s->attrs; *p;) {
        size_t len = strcspn(p, " "), name = strcspn(p, "=");
        const jn_attr_spec *a = op->attrs;
        while (a->name && (strlen(a->name) != name || strncmp(a->name, p, name) != 0))
            a++;
        if (!a->name)
            return jn_error(JANUS_NOT_FOUND, "%s: no attribute in '%s'", op->name, p);
        /* lists are written with brackets in the text form */
        char text[64];
        int n = 0;
        if (a->kind == JN_ATTR_INTS)
            text[n++] = '[';
        memcpy(text + n, p + name + 1, len - name - 1);
        n += (int)(len - name - 1);
        if (a->kind == JN_ATTR_INTS)
            text[n++] = ']';
        JN_TRY(jn_attr_parse(a, text, (size_t)n, &t->arena, attrs));
        p += len;
        p += *p == ' ';
    }
    *out = attrs;
    return JANUS_OK;
}
