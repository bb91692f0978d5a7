/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU kernels that move, pick, sort, draw together or convert elements, against the reference
 * kernels, on every instruction set; and convolutions large enough for oneDNN.
 */
#include "config.h"

#include "tests/unit/kernel_check.h"

static void shapes(void) {
    each_dtype("pad", "before=1,0;after=0,-2", ALL, "X~[40,7]", 0, 0, true);
    each_dtype("pad", "before=2,3;after=1,4;value=1", ALL, "X[300,170]", 0, 0, true);
    each_dtype("pad", "before=0,1;after=0,0", FLOATS, "X[0,3]", 0, 0, true);
    each_dtype("flip", "dims=1", ALL, "X[6,50]", 0, 0, true);
    each_dtype("flip", "", ALL, "X~[6,5,3]", 0, 0, true);
    each_dtype("flip", "dims=0", ALL, "X[300,300]", 0, 0, true);
    each_dtype("roll", "shifts=3,-1;dims=0,1", ALL, "X~[6,5,3]", 0, 0, true);
    each_dtype("roll", "shifts=-13", ALL, "X[6,5]", 0, 0, true);
    each_dtype("roll", "shifts=2", ALL, "X~[6,5]", 0, 0, true);
    each_dtype("roll", "shifts=7;dims=-1", FLOATS, "X[500,200]", 0, 0, true);
    each_dtype("roll", "shifts=1", FLOATS, "X[0]", 0, 0, true);
    for (int d = -4; d < 8; d += 3) {
        char attrs[32];
        snprintf(attrs, sizeof attrs, "diagonal=%d", d);
        each_dtype("tril", attrs, ALL, "X[2,5,7]", 0, 0, true);
        each_dtype("triu", attrs, ALL, "X~[2,7,5]", 0, 0, true);
        each_dtype("diag", attrs, ALL, "X[5]", 0, 0, true);
    }
    each_dtype("tril", "", FLOATS, "X[400,300]", 0, 0, true);
    each_dtype("triu", "", FLOATS, "X[0,3]", 0, 0, true);
    each_dtype("diag", "diagonal=-2", ALL, "X~[6,5]", 0, 0, true);
    each_dtype("diag", "diagonal=1", ALL, "X[6,5]", 0, 0, true);
    each_dtype("repeat", "repeats=2,1,3", ALL, "X~[4,5]", 0, 0, true);
    each_dtype("repeat", "repeats=40,30", FLOATS, "X[10,9]", 0, 0, true);
    each_dtype("repeat", "repeats=0,2", FLOATS, "X[3,4]", 0, 0, true);
    each_dtype("slice_scatter", "axis=1;step=2", ALL, "X~[4,9] X[4,4] 1 8", 0, 0, true);
    each_dtype("slice_scatter", "axis=0", ALL, "X[9,5] X~[3,5] -3 _", 0, 0, true);
    each_dtype("select_scatter", "axis=1", ALL, "X[4,9,2] X~[4,2] -9", 0, 0, true);
    each_dtype("select_scatter", "axis=0", ALL, "X[4,9] X[9] 3", 0, 0, true);
    each_dtype("slice_grad", "axis=1;step=2", "f32 f64 i64", "X[4,4] 1 8 X[4,9]", 0, 0, true);
    each_dtype("slice_grad", "axis=0", "f32 f64 i32", "X[3,5] -3 _ X[9,5]", 0, 0, true);
    each_dtype("slice_grad", "axis=1", FLOATS, "X[40,0] 9 3 X[40,9]", 0, 0, true);
    each_dtype("select_grad", "axis=1", "f32 f64 i64", "X[4,2] -9 X[4,9,2]", 0, 0, true);
    each_dtype("select_grad", "axis=0", "f32 f64 i32", "X[9] 3 X[4,9]", 0, 0, true);
    each_dtype("concat", "axis=1", ALL, "X~[5,4,3] X[5,2,3] X~[5,1,3]", 0, 0, true);
    each_dtype("stack", "axis=2", ALL, "X~[5,4,3] X[5,4,3] X~[5,4,3]", 0, 0, true);
    each_dtype("detach", "", ALL, "X~[4,9]", 0, 0, true);
    each_dtype("eye", "n=5;m=3", "f32", "", 0, 0, false);
}

static void indexing(void) {
    for (int i = 0; i < 2; i++) {
        const char *axis = i ? "axis=1" : "axis=0";
        each_dtype("gather", axis, ALL, "X[7,9,4] i64<7[6,5,3]", 0, 0, true);
        each_dtype("gather", axis, ALL, "X[7,9] i32<10[7,9]", 0, 0, true);
        each_dtype("scatter", axis, ALL, "X[7,9,4] i64<7[6,5,3] X[6,8,3]", 0, 0, true);
        each_dtype("scatter", axis, ALL, "X[7,9] i64<12[7,3] X[7,3]", 0, 0, true);
        each_dtype("scatter_add", axis, ALL, "X[7,9] i64<7[6,5] X[6,8]", 8, 20, false);
        each_dtype("index_add", axis, ALL,
                   i ? "X[7,9,4] i64<9[5] X[7,5,4]" : "X[7,9] i64<9[5] X[5,9]", 8, 20, false);
    }
    each_dtype("gather", "axis=-1", FLOATS, "X[300,40] i64<40[300,300]", 0, 0, true);
    each_dtype("index_add", "axis=-1", FLOATS, "X[7,9] i64<9[50] X[7,50]", 30, 50, false);
    each_dtype("index", "axes=0", ALL, "X[9,5] i64<9[3,4]", 0, 0, true);
    each_dtype("index", "axes=-1", ALL, "X[9,5] i32<7[30]", 0, 0, true);
    each_dtype("index", "axes=0,2", ALL, "X[4,3,5,2] i64<4[2,1] i64<5[3]", 0, 0, true);
    each_dtype("index", "axes=1,2", ALL, "X[4,3,5,2] i64<3[6] i64<5[6]", 0, 0, true);
    each_dtype("index", "axes=0,3", ALL, "X[4,3,5,2] i64<4[6] i64<2[1]", 0, 0, true);
    each_dtype("index", "axes=0", FLOATS, "X[500,64] i64<500[2000]", 0, 0, true);
    each_dtype("index_put", "axes=0", ALL, "X[9,5] X[4,5] i64<9[4]", 0, 0, true);
    each_dtype("index_put", "axes=1;accumulate=true", "f32 f64 i32 i64", "X[9,5] X[9,7] i64<6[7]",
               8, 20, false);
    each_dtype("index_put", "axes=0,2;accumulate=true", ALL, "X[4,3,5] X[6,3] i64<4[6] i64<5[6]", 8,
               20, false);
    each_dtype("index_put", "axes=0,2", ALL, "X[4,3,5] X[1] i64<4[6] i64<5[6]", 0, 0, true);
    each_dtype("index_put", "axes=0;accumulate=true", ALL, "X[4,3] X[] i64<4[6]", 8, 20, false);
    each_dtype("index_put", "axes=0", ALL, "X[4,3] X[3] i64<4[6]", 0, 0, false);
    each_dtype("one_hot", "num_classes=7", "i32 i64", "X<8[5,3]", 0, 0, false);
    each_dtype("nonzero", "", ALL, "X<3[5,4,3]", 0, 0, false);
    each_dtype("masked_select", "", ALL, "X[5,40] bool[5,40]", 0, 0, true);
    each_dtype("masked_select", "", FLOATS, "X[0] bool[0]", 0, 0, true);
}

static void sorting(void) {
    static const char *const lines[] = {"X[9]",    "X[60]",    "X[1000]",
                                        "X[3,70]", "X<5[200]", "X[40,3]"};
    for (size_t s = 0; s < sizeof lines / sizeof *lines; s++)
        for (int axis = -1; axis < 1; axis++)
            for (int down = 0; down < 2; down++) {
                char attrs[64];
                snprintf(attrs, sizeof attrs, "axis=%d;descending=%s", axis,
                         down ? "true" : "false");
                each_dtype("sort", attrs, ALL, lines[s], 0, 0, true);
                each_dtype("argsort", attrs, ALL, lines[s], 0, 0, true);
                snprintf(attrs, sizeof attrs, "axis=%d;k=2;largest=%s", axis,
                         down ? "true" : "false");
                each_dtype("topk", attrs, ALL, lines[s], 0, 0, true);
            }
    each_dtype("topk", "k=300", ALL, "X[1000]", 0, 0, true);
    each_dtype("topk", "k=0", FLOATS, "X[10]", 0, 0, true);
    each_dtype("sort", "", FLOATS, "X[]", 0, 0, true);
    each_dtype("sort", "", FLOATS, "X[3,0]", 0, 0, true);
}

/* Enough multiply-adds for a library, one image and several, with a rest. */
static void convolutions(void) {
    static const struct {
        const char *attrs, *x, *weight, *y;
    } cases[] = {
        {"padding=1,1", "X[3,8,12,12]", "X[16,8,3,3]", "X[3,16,12,12]"},
        {"groups=2;stride=2,1", "X[21,8,12,12]", "X[16,4,3,3]", "X[21,16,5,10]"},
        {"dilation=2,2", "X[2,1,24,24]", "X[6,1,5,5]", "X[2,6,16,16]"},
        {"groups=16;padding=1,1", "X[5,16,20,20]", "X[16,1,3,3]", "X[5,16,20,20]"},
        {"stride=3,2;padding=2,0", "X[4,5,20,21]", "X[18,5,4,3]", "X[4,18,7,10]"},
        {"", "X[7,24,10,10]", "X[32,24,1,1]", "X[7,32,10,10]"},
        /* few positions, some of which see nothing of the image */
        {"padding=1,1", "X[1,64,2,2]", "X[64,64,3,3]", "X[1,64,2,2]"},
        {"stride=2,1;padding=1,2;dilation=2,2", "X[3,40,6,5]", "X[96,40,3,3]", "X[3,96,2,5]"},
        {"", "X[2,160,2,3]", "X[96,160,1,1]", "X[2,96,2,3]"},
        {"stride=2,2", "X[1,160,3,3]", "X[256,160,1,1]", "X[1,256,2,2]"},
        {"padding=3,4", "X[1,48,1,2]", "X[96,48,3,5]", "X[1,96,5,6]"},
        {"groups=40;padding=1,1", "X[16,40,2,2]", "X[40,1,3,3]", "X[16,40,2,2]"},
        {"groups=6;stride=2,1;padding=3,2;dilation=1,2", "X[5,6,3,4]", "X[6,1,3,3]", "X[5,6,4,4]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s %s _", cases[i].x, cases[i].weight);
        each_dtype("conv2d", cases[i].attrs, FLOATS, text, 30, 600, false);
        snprintf(text, sizeof text, "%s %s X[%lld]", cases[i].x, cases[i].weight,
                 strtoll(cases[i].weight + 2, NULL, 10));
        each_dtype("conv2d", cases[i].attrs, FLOATS, text, 30, 600, false);
        snprintf(text, sizeof text, "%s %s %s", cases[i].y, cases[i].weight, cases[i].x);
        each_dtype("conv2d_input_grad", cases[i].attrs, FLOATS, text, 30, 600, false);
        snprintf(text, sizeof text, "%s %s %s", cases[i].y, cases[i].x, cases[i].weight);
        each_dtype("conv2d_weight_grad", cases[i].attrs, FLOATS, text, 30, 6000, false);
    }
}

static void pooling(void) {
    each_dtype("max_pool2d", "kernel=2,2", FLOATS, "X[2,3,9,70]", 0, 0, true);
    each_dtype("max_pool2d", "kernel=2,2;stride=1,1", FLOATS, "X[2,3,9,70]", 0, 0, true);
    each_dtype("max_pool2d", "kernel=3,3;stride=1,3;dilation=2,1;padding=1,1", FLOATS,
               "X[2,3,19,40]", 0, 0, true);
    for (int h = 2; h < 8; h++) /* planes of few windows, and all remainders of rows */
        for (int w = 2; w < 44; w++) {
            char x[32];
            snprintf(x, sizeof x, "X[2,3,%d,%d]", h, w);
            each_dtype("max_pool2d", "kernel=2,2", FLOATS, x, 0, 0, true);
        }
    static const char *const attrs[] = {
        "kernel=2,2", "kernel=3,2;stride=1,2;padding=1,1", "kernel=3,3;stride=1,1;padding=1,1",
        "kernel=3,3;stride=2,3;padding=1,0;ceil_mode=true;count_include_pad=false"};
    static const char *const grads[] = {"X[2,3,10,20] X[2,3,20,40]", "X[2,3,20,21] X[2,3,20,40]",
                                        "X[2,3,20,40] X[2,3,20,40]", "X[2,3,11,14] X[2,3,20,40]"};
    for (size_t i = 0; i < 4; i++) {
        each_dtype("avg_pool2d", attrs[i], FLOATS, "X[2,3,20,40]", 8, 5, false);
        each_dtype("avg_pool2d_grad", attrs[i], FLOATS, grads[i], 8, 5, false);
    }
    each_dtype("avg_pool2d", "kernel=16,16", FLOATS, "X[2,3,16,16]", 8, 5, false);
}

static void lines(void) {
    static const char *const x[] = {"X[7]",       "X[6,70]", "X[3,40,5]",
                                    "X[300,200]", "X[0,3]",  "X[2,3,130]"};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        for (int axis = -1; axis < 1; axis++) {
            char attrs[64];
            snprintf(attrs, sizeof attrs, "axis=%d", axis);
            each_dtype("cumsum", attrs, ALL, x[i], 100, 50, false);
            snprintf(attrs, sizeof attrs, "axis=%d;reverse=true", axis);
            each_dtype("cumsum", attrs, ALL, x[i], 100, 50, false);
            static const char *const p[] = {"0", "1", "2", "3", "inf", "0.5"};
            for (size_t n = 0; n < sizeof p / sizeof *p && i != 4; n++) {
                snprintf(attrs, sizeof attrs, "dims=%d;p=%s", axis, p[n]);
                each_dtype("norm", attrs, FLOATS, x[i], 30, 1, false);
            }
            snprintf(attrs, sizeof attrs, "dims=%d", axis);
            each_dtype("var", attrs, FLOATS, x[i], 30, 5, false);
            each_dtype("logsumexp", attrs, FLOATS, x[i], 30, 1, i != 4);
        }
    each_dtype("norm", "p=inf", FLOATS, "X[60]", 0, 0, true);
}

static void losses(void) {
    static const char *const pairs[] = {"X[7] X[7]", "X[] X[]", "X[6,70] X[70]",
                                        "X[300,300] X[300,300]", "X[0] X[0]"};
    static const char *const reductions[] = {"reduction=0", "reduction=1", "reduction=2"};
    for (size_t r = 0; r < 3; r++) {
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
            each_dtype("mse_loss", reductions[r], FLOATS, pairs[i], 4000, 30, false);
            each_dtype("bce_with_logits", reductions[r], FLOATS, pairs[i], 4000, 10, false);
            each_dtype("smooth_l1", reductions[r], FLOATS, pairs[i], 4000, 10, false);
        }
        each_dtype("nll_loss", reductions[r], FLOATS, "X[6,5] i64<6[6]", 8, 10, false);
        each_dtype("nll_loss", reductions[r], FLOATS, "X[3,5,40] i32<5[3,40]", 60, 300, false);
        const char *dy = r == 0 ? "X[3,40] i64<6[3,40] X[3,5,40]" : "X[] i64<6[3,40] X[3,5,40]";
        each_dtype("nll_loss_grad", reductions[r], FLOATS, dy, 8, 10, false);
    }
}

/* Every half to f32, and f32 of every exponent with mantissas around every tie back again. */
static void halves(void) {
    enum { N = 1 << 18 };
    static uint16_t half[1 << 16], got[N], want[N];
    static float wide[1 << 16], wide_ref[1 << 16], f[N];
    int64_t many[1] = {1 << 16}, all[1] = {N}, stride[1] = {1};
    for (uint32_t i = 0; i < 1 << 16; i++)
        half[i] = (uint16_t)i;
    for (uint32_t i = 0; i < N; i++) {
        /* sign, exponent, the mantissa's upper bits, and what lies beyond the last kept one */
        uint32_t bits = i << 14, tail[4] = {0, 1, 0xfff, 0x1000};
        bits ^= i % 7 == 0 ? tail[i % 4] : (uint32_t)(random_bits() & 0x3fff);
        memcpy(&f[i], &bits, 4);
    }
    for (int d = JANUS_F16; d <= JANUS_BF16; d++) {
        janus_cast_attrs to_wide = {.dtype = JANUS_F32}, to_half = {.dtype = d};
        jn_view h = {half, many, stride, 1, (uint8_t)d, true};
        jn_view w = {wide, many, stride, 1, JANUS_F32, true};
        jn_view in = {f, all, stride, 1, JANUS_F32, true},
                out = {got, all, stride, 1, (uint8_t)d, true};
        tensor t = {0};
        jn_sig up = {JN_OP(cast), &h, &w, 1, 1, &to_wide},
               down = {JN_OP(cast), &in, &out, 1, 1, &to_half};
        t.view = w;
        t.data = (char *)wide_ref;
        call(jn_op_impls[JN_OP_ID_cast].ref(&up), &h, 1, &t, 1, &to_wide);
        t.view = out;
        t.data = (char *)want;
        call(jn_op_impls[JN_OP_ID_cast].ref(&down), &in, 1, &t, 1, &to_half);
        for (size_t s = 0; s < 3; s++) {
            if (!jn_isa_use(sets[s]))
                continue;
            t.view = w;
            t.data = (char *)wide;
            call(jn_op_impls[JN_OP_ID_cast].cpu(&up), &h, 1, &t, 1, &to_wide);
            t.view = out;
            t.data = (char *)got;
            call(jn_op_impls[JN_OP_ID_cast].cpu(&down), &in, 1, &t, 1, &to_half);
            int bad = 0;
            for (uint32_t i = 0; i < 1 << 16; i++)
                bad += memcmp(&wide[i], &wide_ref[i], 4) != 0 &&
                       !(isnan(wide[i]) && isnan(wide_ref[i]));
            for (uint32_t i = 0; i < N; i++)
                bad += got[i] != want[i] && !isnan(f[i]);
            CU_ASSERT_EQUAL(bad, 0);
        }
    }
}

JN_TEST_MAIN("cpu_moves", {"shapes", shapes}, {"indexing", indexing}, {"sorting", sorting},
             {"convolutions", convolutions}, {"pooling", pooling}, {"halves", halves},
             {"lines", lines}, {"losses", losses})
