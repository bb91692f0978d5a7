/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU kernels against the reference kernels, on every instruction set: many shapes, dtypes,
 * broadcasts and strides, empty and 0-d tensors, special values, results written over operand 0.
 */
#include "config.h"

#include "tests/unit/kernel_check.h"

static void elementwise(void) {
    static const char *const pairs[] = {
        "X[7] X[7]",      "X[] X[]",          "X[3,5] X[5]",        "X[3,5] X[3,1]",
        "X[70,80] X[80]", "X[4,90] X[4,1]",   "X[2,1,3] X[4,1]",    "X[0,3] X[3]",
        "X~[5,6] X[5,6]", "X[9,3] X~[9,3]",   "X~[2,3,4] X~[3,1]",  "X[33] X[]",
        "X[1,50] X[50]",  "X[1000] X~[1000]", "X[200000] X[200000]"};
    static const char *const numeric[] = {"sub", "floordiv", "mod"};
    static const char *const any[] = {"add",         "mul",        "maximum",    "minimum", "eq",
                                      "ne",          "lt",         "le",         "gt",      "ge",
                                      "logical_and", "logical_or", "logical_xor"};
    static const char *const floats[] = {"div",       "atan2",        "hypot",
                                         "tanh_grad", "sigmoid_grad", "relu_grad"};
    static const char *const unary[] = {
        "exp",   "log",  "log1p",  "expm1",   "sqrt",     "rsqrt",    "reciprocal",
        "sin",   "cos",  "tanh",   "sigmoid", "silu",     "softplus", "leaky_relu",
        "elu",   "erf",  "asin",   "acos",    "atan",     "asinh",    "acosh",
        "atanh", "erfc", "erfinv", "lgamma",  "polygamma"};
    static const char *const unary_numeric[] = {"neg",  "abs",   "square", "relu",
                                                "sign", "floor", "ceil",   "round"};
    static const char *const shapes[] = {"X[37]",   "X[]",      "X[0]",     "X~[5,7]",
                                         "X~[100]", "X[3,4,5]", "X[100000]"};
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        for (size_t i = 0; i < sizeof numeric / sizeof *numeric; i++)
            each_dtype(numeric[i], "", NUMBERS, pairs[p], 1, 1e-30, i == 0);
        for (size_t i = 0; i < sizeof any / sizeof *any; i++)
            each_dtype(any[i], "", ALL, pairs[p], 1, 1e-30, true);
        for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
            each_dtype(floats[i], "", FLOATS, pairs[p], 6, i == 3 || i == 4 ? 100 : 1e-30,
                       i != 3 && i != 4);
        each_dtype("pow", "", NUMBERS, pairs[p], 4, 1e-30, true);
        each_dtype("clamp_grad", "lo=-0.25;hi=0.5", FLOATS, pairs[p], 0, 1e-30, true);
        each_dtype("clamp_grad", "lo=0", FLOATS, pairs[p], 0, 1e-30, false);
        each_dtype("gelu_grad", "", FLOATS, pairs[p], 8, 5, false);
        each_dtype("gelu_grad", "approximate=true", FLOATS, pairs[p], 16, 5, false);
    }
    for (size_t p = 0; p < sizeof shapes / sizeof *shapes; p++) {
        for (size_t i = 0; i < sizeof unary / sizeof *unary; i++)
            each_dtype(unary[i], "", FLOATS, shapes[p], 4, 1e-30, true);
        for (size_t i = 0; i < sizeof unary_numeric / sizeof *unary_numeric; i++)
            each_dtype(unary_numeric[i], "", NUMBERS, shapes[p], 1, 1e-30, true);
        each_dtype("gelu", "", FLOATS, shapes[p], 4, 5, false);
        each_dtype("gelu", "approximate=true", FLOATS, shapes[p], 8, 5, false);
        each_dtype("clamp", "lo=-1.5;hi=2.5", NUMBERS, shapes[p], 1, 0, true);
        each_dtype("clamp", "hi=0.25", NUMBERS, shapes[p], 1, 0, true);
        each_dtype("logical_not", "", ALL, shapes[p], 0, 0, true);
        each_dtype("isnan", "", ALL, shapes[p], 0, 0, true);
        each_dtype("isfinite", "", ALL, shapes[p], 0, 0, true);
        each_dtype("clone", "", ALL, shapes[p], 0, 0, true);
        static const char *const to[] = {"dtype=f32",  "dtype=f64", "dtype=i32", "dtype=i64",
                                         "dtype=bool", "dtype=u8",  "dtype=f16"};
        for (size_t i = 0; i < sizeof to / sizeof *to; i++)
            each_dtype("cast", to[i], ALL, shapes[p], 0, 0, true);
    }
}

static void ternary(void) {
    each_dtype("where", "", ALL, "bool[5,7] X[7] X[5,1]", 0, 0, true);
    each_dtype("where", "", ALL, "bool[40] X[40] X~[40]", 0, 0, true);
    each_dtype("where", "", ALL, "bool[1] X[300,3] X[]", 0, 0, true);
    each_dtype("masked_fill", "", NUMBERS, "X[6,5] bool[5] 2.5", 0, 0, true);
    each_dtype("masked_fill", "", NUMBERS, "X~[6,5] bool~[6,5] 3", 0, 0, true);
    each_dtype("lerp", "", FLOATS, "X[6,5] X[5] X[]", 8, 10, false);
    each_dtype("addcmul", "", FLOATS, "X[6,5] X[5] X[6,1] 0.5", 8, 10, false);
    each_dtype("addcdiv", "", FLOATS, "X[60] X[60] X[60] 2.0", 8, 10, false);
}

static void reductions(void) {
    static const char *const shapes[] = {"X[7]",    "X[3,5]",   "X[100,130]", "X[2,3,4,5]",
                                         "X[1,9]",  "X[6,200]", "X[300,2]",   "X[]",
                                         "X[5000]", "X[260,70]"};
    static const char *const ops[] = {"sum", "prod", "max", "min", "any", "all"};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
            double scale = i == 0 ? 100 : 1e-30;
            each_dtype(ops[i], "", ALL, shapes[s], 100, scale, i > 1);
            if (strcmp(shapes[s], "X[]") == 0)
                continue;
            each_dtype(ops[i], "dims=0", ALL, shapes[s], 100, scale, i > 1);
            each_dtype(ops[i], "dims=-1;keepdim=true", ALL, shapes[s], 100, scale, i > 1);
        }
        each_dtype("mean", "", FLOATS, shapes[s], 8, 1, false);
        each_dtype("var", "correction=0", FLOATS, shapes[s], 16, 1, false);
        each_dtype("logsumexp", "", FLOATS, shapes[s], 8, 1, false);
        each_dtype("norm", "", FLOATS, shapes[s], 8, 1, false);
        if (strcmp(shapes[s], "X[]") == 0)
            continue;
        each_dtype("mean", "dims=-1", FLOATS, shapes[s], 8, 1, false);
        each_dtype("var", "dims=-1", "f32", "X[5,300]", 16, 1, false);
        each_dtype("var", "dims=0", "f32", "X[5,30]", 16, 1, false);
        each_dtype("logsumexp", "dims=-1", FLOATS, shapes[s], 8, 1, true);
        for (int i = 0; i < 4; i++) {
            static const char *const arg[] = {"argmax", "argmin", "max_dim", "min_dim"};
            each_dtype(arg[i], "axis=0", ALL, shapes[s], 0, 0, true);
            each_dtype(arg[i], "axis=-1;keepdim=true", ALL, shapes[s], 0, 0, true);
        }
        each_dtype("argmax", "all=true", ALL, shapes[s], 0, 0, true);
    }
    each_dtype("sum", "dims=0,2", ALL, "X[3,4,5,2]", 8, 50, false);
    each_dtype("sum", "dims=0,2,3", FLOATS, "X[8,3,20,20]", 60, 50, false);
    each_dtype("max", "dims=0,-1", ALL, "X[3,4,5]", 0, 0, true);
    each_dtype("sum", "", FLOATS, "X[300000]", 100, 500, false);
    each_dtype("max", "", FLOATS, "X[300000]", 0, 0, false);
    each_dtype("sum", "dims=0", FLOATS, "X[3000,70]", 100, 50, false);
    each_dtype("sum", "dims=1", ALL, "X[4,0]", 0, 0, false);
    each_dtype("sum", "dims=0", ALL, "X[4,0]", 0, 0, false);
    each_dtype("all", "dims=1", ALL, "X[4,0,3]", 0, 0, false);
    static const char *const like[] = {"X[6,5] X[5]",       "X[6,5] X[6,1]", "X[6,5] X[]",
                                       "X[2,6,5] X[6,1]",   "X[6,5] X[6,5]", "X[4,3,7,7] X[3,1,1]",
                                       "X[300,128] X[128]", "X[0,5] X[5]",   "X[3,1,4] X[1,1]"};
    for (size_t i = 0; i < sizeof like / sizeof *like; i++)
        each_dtype("sum_like", "", "f32 f64 i32 i64", like[i], 20, 20, false);
}

static void softmax_and_losses(void) {
    static const char *const shapes[] = {"X[7]", "X[3,5]", "X[4,300]", "X[2,30,4]", "X[0,3]"};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        char two[64];
        snprintf(two, sizeof two, "%s %s", shapes[s], shapes[s]);
        for (int axis = -1; axis < 1; axis++) {
            const char *attr = axis < 0 ? "axis=-1" : "axis=0";
            each_dtype("softmax", attr, FLOATS, shapes[s], 16, 1e-3, false);
            each_dtype("log_softmax", attr, FLOATS, shapes[s], 8, 2, false);
            each_dtype("softmax_grad", attr, FLOATS, two, 100, 200, false);
            each_dtype("log_softmax_grad", attr, FLOATS, two, 200, 200, false);
        }
    }
    each_dtype("softmax", "axis=1", FLOATS, "X[2,30,4]", 16, 1e-3, false);
    static const char *const reductions_[] = {"reduction=0", "reduction=1", "reduction=2",
                                              "reduction=1;ignore_index=2"};
    for (int r = 0; r < 4; r++) {
        each_dtype("cross_entropy", reductions_[r], FLOATS, "X[6,5] i64<5[6]", 8, 2, false);
        each_dtype("cross_entropy", reductions_[r], FLOATS, "X[200,500] i32<500[200]", 8, 2, false);
        each_dtype("cross_entropy", reductions_[r], FLOATS, "X[6,5,2] i64<5[6,2]", 8, 2, false);
        each_dtype("cross_entropy", reductions_[r], FLOATS, "X[6,5] i64<9[6]", 8, 2, false);
        const char *dy = r == 0 ? "X[6] X[6,5] i64<6[6]" : "X[] X[6,5] i64<6[6]";
        each_dtype("cross_entropy_grad", reductions_[r], FLOATS, dy, 8, 2, false);
    }
    each_dtype("cross_entropy", "label_smoothing=0.1", FLOATS, "X[6,5] i64<5[6]", 8, 2, false);
    each_dtype("cross_entropy", "", FLOATS, "X[5] i64<5[]", 8, 2, false);
}

static void normalisation(void) {
    each_dtype("layer_norm", "", FLOATS, "X[6,40] X[40] X[40]", 100, 2, false);
    each_dtype("layer_norm", "", FLOATS, "X[6,40] _ _", 100, 2, false);
    each_dtype("layer_norm", "", FLOATS, "X[3,300] X[300] _", 100, 2, false);
    each_dtype("layer_norm", "axis=1", FLOATS, "X[3,4,50] X[4,50] X[4,50]", 100, 2, false);
}

static void normalisation_gradients(void) {
    each_dtype("layer_norm_grad", "", FLOATS, "X[6,40] X[6,40] X[40] X[6] X[6]", 400, 20, false);
    each_dtype("layer_norm_grad", "axis=1", FLOATS, "X[3,4,5] X[3,4,5] _ X[3] X[3]", 400, 20,
               false);
    each_dtype("batch_norm", "", FLOATS, "X[6,3,5,7] X[3] X[3] _ _", 100, 3, false);
    each_dtype("batch_norm", "", FLOATS, "X[40,3] _ _ _ _", 100, 3, false);
    each_dtype("batch_norm", "", FLOATS, "X[9,5,2,2] X[5] X[5] _ _", 100, 3, false);
    each_dtype("batch_norm", "", FLOATS, "X[70,4,6,6] X[4] X[4] _ _", 100, 3, false);
    each_dtype("batch_norm", "training=false", FLOATS, "X[6,3,9] X[3] X[3] X[3] X<3[3]", 100, 3,
               false);
    each_dtype("batch_norm_grad", "", FLOATS, "X[6,3,5,7] X[6,3,5,7] X[3] X[3] X[3]", 4000, 30,
               false);
    each_dtype("batch_norm_grad", "", FLOATS, "X[9,5,4,4] X[9,5,4,4] X[5] X[5] X[5]", 4000, 30,
               false);
    each_dtype("batch_norm_grad", "", FLOATS, "X[9,5,2,2] X[9,5,2,2] _ X[5] X[5]", 4000, 30, false);
    each_dtype("batch_norm_grad", "training=false", FLOATS, "X[6,3,5] X[6,3,5] _ X[3] X[3]", 400,
               30, false);
}

static void moving(void) {
    each_dtype("reshape", "shape=6,-1", ALL, "X~[4,9]", 0, 0, true);
    each_dtype("transpose", "dim0=0;dim1=-1", ALL, "X[40,3,70]", 0, 0, true);
    each_dtype("permute", "dims=2,0,1", ALL, "X~[4,9,5]", 0, 0, true);
    each_dtype("expand", "shape=3,4,5", ALL, "X[4,1]", 0, 0, true);
    each_dtype("slice", "axis=1;step=2", ALL, "X[4,9] 1 8", 0, 0, true);
    each_dtype("select", "axis=1", ALL, "X[4,9] -2", 0, 0, true);
    each_dtype("unsqueeze", "axis=1", ALL, "X~[4,9]", 0, 0, true);
    each_dtype("squeeze", "", ALL, "X~[4,1,9]", 0, 0, true);
    each_dtype("alias", "", ALL, "X~[4,9]", 0, 0, true);
    each_dtype("expand_like", "", ALL, "X[9] X[4,9]", 0, 0, true);
    each_dtype("reshape_like", "", ALL, "X~[4,9] X[6,6]", 0, 0, true);
    each_dtype("concat", "axis=0", ALL, "X[2,3] X[1,3] X[4,3]", 0, 0, true);
    each_dtype("concat", "axis=-1", ALL, "X[2,3] X[2,0] X[2,5]", 0, 0, true);
    each_dtype("concat", "axis=1", ALL, "X~[2,3] X[2,2]", 0, 0, true);
    each_dtype("stack", "axis=0", ALL, "X[2,3] X[2,3]", 0, 0, true);
    each_dtype("stack", "axis=-1", ALL, "X[2,3] X[2,3] X[2,3]", 0, 0, true);
    each_dtype("stack", "axis=1", ALL, "X[2,3] X~[2,3]", 0, 0, true);
    static const char *const to[] = {"dtype=f32",  "dtype=f64", "dtype=i32", "dtype=i64",
                                     "dtype=bool", "dtype=u8",  "dtype=bf16"};
    for (int i = 0; i < 7; i++) {
        char attrs[64];
        snprintf(attrs, sizeof attrs, "%s;shape=3,1000", to[i]);
        check("full", attrs, "2.5", 0, 0, false);
        check("full", attrs, "-3", 0, 0, false);
    }
    check("full", "shape=0,2", "1.5", 0, 0, false);
    check("scalar_tensor", "dtype=f64", "1.5", 0, 0, false);
}

static void indexing(void) {
    each_dtype("embedding", "", ALL, "X[9,5] i64<9[3,4]", 0, 0, true);
    each_dtype("embedding", "", FLOATS, "X[9,5] i32<12[30]", 0, 0, true);
    each_dtype("embedding", "", FLOATS, "X[9,50] i64<9[3000]", 0, 0, true);
    each_dtype("embedding_grad", "", "f32 f64 i64", "X[3,4,5] i64<9[3,4] X[9,5]", 8, 10, false);
    each_dtype("embedding_grad", "padding_idx=2", FLOATS, "X[2000,80] i64<9[2000] X[9,80]", 400,
               100, false);
    each_dtype("embedding_grad", "", FLOATS, "X[30,5] i32<12[30] X[9,5]", 8, 20, false);
    each_dtype("index_select", "axis=1", ALL, "X[4,9,3] i64<9[7]", 0, 0, true);
    each_dtype("index_select", "axis=-1", ALL, "X[4,9] i64<11[7]", 0, 0, true);
    each_dtype("index_select", "", ALL, "X[9] i64<9[0]", 0, 0, true);
}

static void convolutions(void) {
    static const struct {
        const char *attrs, *x, *weight, *y;
    } shapes[] = {
        {"", "X[2,3,8,9]", "X[4,3,3,3]", "X[2,4,6,7]"},
        {"padding=2,1", "X[1,2,5,5]", "X[3,2,3,3]", "X[1,3,7,5]"},
        {"stride=2,3;padding=1,2", "X[2,2,9,10]", "X[4,2,3,4]", "X[2,4,5,4]"},
        {"dilation=2,3", "X[2,2,9,10]", "X[2,2,3,3]", "X[2,2,5,4]"},
        {"groups=2;padding=1,1", "X[2,4,6,6]", "X[6,2,3,3]", "X[2,6,6,6]"},
        {"", "X[3,5,4,6]", "X[7,5,1,1]", "X[3,7,4,6]"},
        {"groups=4", "X[2,4,6,6]", "X[4,1,2,2]", "X[2,4,5,5]"},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s %s _", shapes[i].x, shapes[i].weight);
        each_dtype("conv2d", shapes[i].attrs, FLOATS, text, 16, 300, false);
        int64_t filters = strtoll(shapes[i].weight + 2, NULL, 10);
        snprintf(text, sizeof text, "%s %s X[%lld]", shapes[i].x, shapes[i].weight,
                 (long long)filters);
        each_dtype("conv2d", shapes[i].attrs, FLOATS, text, 16, 300, false);
        snprintf(text, sizeof text, "%s %s %s", shapes[i].y, shapes[i].weight, shapes[i].x);
        each_dtype("conv2d_input_grad", shapes[i].attrs, FLOATS, text, 16, 300, false);
        snprintf(text, sizeof text, "%s %s %s", shapes[i].y, shapes[i].x, shapes[i].weight);
        each_dtype("conv2d_weight_grad", shapes[i].attrs, FLOATS, text, 16, 1000, false);
    }
}

static void pooling(void) {
    each_dtype("max_pool2d", "kernel=2,2", FLOATS, "X[2,3,8,9]", 0, 0, true);
    each_dtype("max_pool2d", "kernel=3,2;stride=1,2;padding=1,1", FLOATS, "X[2,3,8,9]", 0, 0, true);
    each_dtype("max_pool2d", "kernel=2,3;dilation=2,2;padding=1,1", FLOATS, "X[1,2,9,9]", 0, 0,
               true);
    each_dtype("max_pool2d", "kernel=3,3;stride=2,2;ceil_mode=true", FLOATS, "X[1,2,8,8]", 0, 0,
               true);
    each_dtype("max_pool2d_grad", "", FLOATS, "X[2,3,4,4] i64<64[2,3,4,4] X[2,3,8,8]", 4, 10,
               false);
    each_dtype("max_pool2d_grad", "", FLOATS, "X[2,3,4,4] i64<80[2,3,4,4] X[2,3,8,8]", 4, 10,
               false);
    each_dtype("max_pool2d_gather", "", FLOATS, "X[2,3,8,8] i64<80[2,3,4,4]", 0, 0, false);
}

JN_TEST_MAIN("cpu_ref", {"elementwise", elementwise}, {"ternary", ternary},
             {"reductions", reductions}, {"softmax and losses", softmax_and_losses},
             {"normalisation", normalisation}, {"normalisation gradients", normalisation_gradients},
             {"moving", moving}, {"indexing", indexing}, {"convolutions", convolutions},
             {"pooling", pooling})
