/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products and convolutions by janus beside cuBLAS and cuDNN called bare: see bench/device_bare.h.
 *
 * The libraries are opened here for themselves, by other calls than janus's own: cublasGemmEx, and
 * the convolution that cudnnFindConvolutionForwardAlgorithmEx measures to be the fastest.  Their
 * numbers are written out, so that no header of theirs is needed.  Both run in turn and the fastest
 * window of each counts; at most 1.03 is wanted.
 */
#include "config.h"

#include "bench/device_bare.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/eager/now.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"

enum { R_32F = 0, R_16F = 2, R_16BF = 14, COMPUTE_32F = 68, GEMM_DEFAULT = -1 };
enum {
    DNN_FLOAT = 0,
    DNN_HALF = 2,
    NCHW = 0,
    CROSS_CORRELATION = 1,
    TENSOR_OP_MATH = 1,
    FMA_MATH = 3
};
enum { WINDOWS = 7, WORKSPACE = 256 << 20 };

static void *open_library(const char *name, const char *const version[2]) {
    const char *path = getenv("JANUS_CUDA_PATH");
    char file[4096];
    for (int v = 0; v < 2; v++) {
        snprintf(file, sizeof file, "%s.%s", name, version[v]);
        void *lib = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
        if (lib)
            return lib;
    }
    for (const char *p = path; p && *p;) {
        size_t n = strcspn(p, ":");
        for (int v = 0; v < 2; v++) {
            void *lib = (size_t)snprintf(file, sizeof file, "%.*s/%s.%s", (int)n, p, name,
                                         version[v]) < sizeof file
                            ? dlopen(file, RTLD_NOW | RTLD_LOCAL)
                            : NULL;
            if (lib)
                return lib;
        }
        p += n + (p[n] == ':');
    }
    for (int v = 0; v < 2; v++) {
        snprintf(file, sizeof file, "%s.%s", name, version[v]);
        void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        if (lib)
            return lib;
    }
    return NULL;
}

static bool symbol(void *lib, const char *name, void *fn) {
    void *p = dlsym(lib, name);
    memcpy(fn, &p, sizeof p);
    return p != NULL;
}

/* A call of each side; false: it failed. */
typedef struct contest {
    jn_device *d;
    const char *op;
    const void *attrs;
    jn_eager_arg in[3];
    unsigned n_in;
    bool (*bare)(void *arg);
    void *arg;
    double flops;
} contest;

static bool once(contest *c, bool bare) {
    if (bare)
        return c->bare(c->arg);
    janus_tensor *y;
    if (jn_eager(jn_op_find(c->op, strlen(c->op)), c->in, c->n_in, c->attrs, &y, 1) != JANUS_OK)
        return false;
    janus_tensor_release(y);
    return true;
}

static bool several(contest *c, bool bare, int n, double *each) {
    double from = bench_now();
    bool ok = true;
    for (int i = 0; i < n && ok; i++)
        ok = once(c, bare);
    ok = ok && jn_dev_sync(c->d) == JANUS_OK;
    *each = (bench_now() - from) / n;
    return ok;
}

static void run(contest *c, const char *name, const char *library) {
    double best[2] = {1e30, 1e30}, each = 1, other = 1;
    bool ok = several(c, false, 3, &each) && several(c, true, 3, &other) &&
              several(c, false, 3, &each) && several(c, true, 3, &other);
    each = other > each ? other : each;
    int n = each > 0.01 ? 2 : (int)(0.02 / each) + 1;
    for (int w = 0; w < 2 * WINDOWS && ok; w++) {
        ok = several(c, w & 1, n, &each);
        if (each < best[w & 1])
            best[w & 1] = each;
    }
    if (ok)
        printf(
            "%-34s janus %9.1f us, %s %9.1f us, %7.0f GFLOP/s (%.3f x; 1.03 at most is wanted)\n",
            name, 1e6 * best[0], library, 1e6 * best[1], 1e-9 * c->flops / best[0],
            best[0] / best[1]);
    else
        printf("%-34s failed\n", name);
}

static janus_tensor *tensor(jn_device *d, janus_dtype dtype, int rank, const int64_t *dims) {
    janus_tensor *t;
    if (jn_dev_tensor(d, dtype, rank, dims, &t) != JANUS_OK)
        return NULL;
    if (jn_dev_zero(d, jn_tensor_ready_data(t), t->storage->bytes) == JANUS_OK)
        return t;
    janus_tensor_release(t);
    return NULL;
}

static void release(contest *c, janus_tensor *y) {
    for (unsigned i = 0; i < 2; i++)
        if (c->in[i].t)
            janus_tensor_release(c->in[i].t);
    if (y)
        janus_tensor_release(y);
}

/* ---- cuBLAS -------------------------------------------------------------------------------------
 */

typedef struct blas {
    int (*create)(void **out), (*destroy)(void *), (*set_stream)(void *, void *stream);
    int (*gemm)(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                int a_type, int lda, const void *b, int b_type, int ldb, const void *beta, void *c,
                int c_type, int ldc, int compute, int algorithm);
    void *handle;
    const void *a, *b;
    void *y;
    int n, type;
} blas;

static bool gemm(void *arg) {
    blas *b = arg;
    const float one = 1, zero = 0; /* row-major y = a b is column-major y' = b' a' */
    return b->gemm(b->handle, 0, 0, b->n, b->n, b->n, &one, b->b, b->type, b->n, b->a, b->type,
                   b->n, &zero, b->y, b->type, b->n, COMPUTE_32F, GEMM_DEFAULT) == 0;
}

static void products(jn_device *d, int scale) {
    static const char *const version[2] = {"13", "12"};
    static const struct {
        const char *name;
        int n, dtype, type;
    } cases[] = {{"matmul 4096, f32", 4096, JANUS_F32, R_32F},
                 {"matmul 8192, bf16", 8192, JANUS_BF16, R_16BF},
                 {"matmul 8192, f16", 8192, JANUS_F16, R_16F}};
    static const janus_matmul_attrs attrs = {sizeof attrs, 0, 0};
    void *lib = open_library("libcublas.so", version);
    blas b = {0};
    if (!lib || !symbol(lib, "cublasCreate_v2", &b.create) ||
        !symbol(lib, "cublasDestroy_v2", &b.destroy) ||
        !symbol(lib, "cublasSetStream_v2", &b.set_stream) ||
        !symbol(lib, "cublasGemmEx", &b.gemm) || b.create(&b.handle) != 0) {
        printf("products beside cuBLAS called bare: it was not found\n");
        return;
    }
    b.set_stream(b.handle, d->stream);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t n = cases[i].n / scale, dims[2] = {n, n};
        contest c = {.d = d,
                     .op = "matmul",
                     .attrs = &attrs,
                     .n_in = 2,
                     .bare = gemm,
                     .arg = &b,
                     .flops = 2.0 * (double)n * (double)n * (double)n};
        janus_tensor *y = tensor(d, cases[i].dtype, 2, dims);
        for (int t = 0; t < 2; t++)
            c.in[t] =
                (jn_eager_arg){.kind = JANUS_KIND_TENSOR, .t = tensor(d, cases[i].dtype, 2, dims)};
        if (y && c.in[0].t && c.in[1].t) {
            b.a = jn_tensor_ready_data(c.in[0].t);
            b.b = jn_tensor_ready_data(c.in[1].t);
            b.y = jn_tensor_ready_data(y);
            b.n = (int)n;
            b.type = cases[i].type;
            run(&c, cases[i].name, "cuBLAS");
        }
        release(&c, y);
    }
    b.destroy(b.handle);
}

/* ---- cuDNN --------------------------------------------------------------------------------------
 */

typedef struct performance { /* cudnnConvolutionFwdAlgoPerf_t */
    int algorithm, status;
    float ms;
    size_t bytes;
    int determinism, math, reserved[3];
} performance;

#define DNN_CALLS(X)                                                                               \
    X(Create, (void **out))                                                                        \
    X(Destroy, (void *h))                                                                          \
    X(SetStream, (void *h, void *stream))                                                          \
    X(CreateTensorDescriptor, (void **out))                                                        \
    X(DestroyTensorDescriptor, (void *d))                                                          \
    X(SetTensor4dDescriptor, (void *d, int format, int type, int n, int c, int h, int w))          \
    X(CreateFilterDescriptor, (void **out))                                                        \
    X(DestroyFilterDescriptor, (void *d))                                                          \
    X(SetFilter4dDescriptor, (void *d, int type, int format, int k, int c, int h, int w))          \
    X(CreateConvolutionDescriptor, (void **out))                                                   \
    X(DestroyConvolutionDescriptor, (void *d))                                                     \
    X(SetConvolution2dDescriptor, (void *d, int pad_h, int pad_w, int stride_h, int stride_w,      \
                                   int dilation_h, int dilation_w, int mode, int compute))         \
    X(SetConvolutionMathType, (void *d, int math))                                                 \
    X(FindConvolutionForwardAlgorithmEx,                                                           \
      (void *h, void *xd, const void *x, void *wd, const void *w, void *cd, void *yd, void *y,     \
       int wanted, int *found, performance *out, void *workspace, size_t bytes))                   \
    X(ConvolutionForward,                                                                          \
      (void *h, const void *alpha, void *xd, const void *x, void *wd, const void *w, void *cd,     \
       int algorithm, void *workspace, size_t bytes, const void *beta, void *yd, void *y))

typedef struct dnn {
#define DNN_FIELD(name, args) int(*name) args;
    DNN_CALLS(DNN_FIELD)
#undef DNN_FIELD
    void *handle, *x, *w, *c, *y; /* descriptors */
    void *data[3], *workspace;
    performance best;
} dnn;

static bool convolve(void *arg) {
    dnn *n = arg;
    const float one = 1, zero = 0;
    return n->ConvolutionForward(n->handle, &one, n->x, n->data[0], n->w, n->data[1], n->c,
                                 n->best.algorithm, n->workspace, WORKSPACE, &zero, n->y,
                                 n->data[2]) == 0;
}

typedef struct conv_case {
    const char *name;
    int dtype, rows, channels, size, out, kernel;
} conv_case;

/* The fastest; of f32 the fastest that computes in f32, though TF32 may not have been asked for. */
static bool take_best(dnn *n, const performance *all, int found, bool exact) {
    for (int i = 0; i < found; i++)
        if (all[i].status == 0 && (!exact || all[i].math == FMA_MATH)) {
            n->best = all[i];
            return n->SetConvolutionMathType(n->c, all[i].math) == 0;
        }
    return false;
}

static bool describe(dnn *n, const conv_case *k) {
    int type = k->dtype == JANUS_F32 ? DNN_FLOAT : DNN_HALF, pad = k->kernel / 2, found = 0;
    performance all[8];
    return n->SetTensor4dDescriptor(n->x, NCHW, type, k->rows, k->channels, k->size, k->size) ==
               0 &&
           n->SetTensor4dDescriptor(n->y, NCHW, type, k->rows, k->out, k->size, k->size) == 0 &&
           n->SetFilter4dDescriptor(n->w, type, NCHW, k->out, k->channels, k->kernel, k->kernel) ==
               0 &&
           n->SetConvolution2dDescriptor(n->c, pad, pad, 1, 1, 1, 1, CROSS_CORRELATION,
                                         DNN_FLOAT) == 0 &&
           n->SetConvolutionMathType(n->c, type == DNN_FLOAT ? FMA_MATH : TENSOR_OP_MATH) == 0 &&
           n->FindConvolutionForwardAlgorithmEx(n->handle, n->x, n->data[0], n->w, n->data[1], n->c,
                                                n->y, n->data[2], 8, &found, all, n->workspace,
                                                WORKSPACE) == 0 &&
           take_best(n, all, found, type == DNN_FLOAT);
}

static void convolution(jn_device *d, dnn *n, const conv_case *k) {
    int64_t dims[3][4] = {{k->rows, k->channels, k->size, k->size},
                          {k->out, k->channels, k->kernel, k->kernel},
                          {k->rows, k->out, k->size, k->size}};
    int64_t one[2] = {1, 1}, pad[2] = {k->kernel / 2, k->kernel / 2};
    janus_conv2d_attrs attrs = {sizeof attrs, {one, 2}, {pad, 2}, {one, 2}, 1};
    contest c = {.d = d,
                 .op = "conv2d",
                 .attrs = &attrs,
                 .n_in = 2,
                 .bare = convolve,
                 .arg = n,
                 .flops = 2.0 * k->rows * k->out * k->size * k->size * k->channels * k->kernel *
                          k->kernel};
    janus_tensor *y = tensor(d, k->dtype, 4, dims[2]);
    for (int t = 0; t < 2; t++)
        c.in[t] = (jn_eager_arg){.kind = JANUS_KIND_TENSOR, .t = tensor(d, k->dtype, 4, dims[t])};
    if (y && c.in[0].t && c.in[1].t) {
        n->data[0] = jn_tensor_ready_data(c.in[0].t);
        n->data[1] = jn_tensor_ready_data(c.in[1].t);
        n->data[2] = jn_tensor_ready_data(y);
        char library[40]; /* what the library's search took: of f32 6 and 7 are Winograd's */
        if (describe(n, k)) {
            snprintf(library, sizeof library, "cuDNN (algorithm %d)", n->best.algorithm);
            run(&c, k->name, library);
        } else
            printf("%-34s cuDNN called bare does not do it\n", k->name);
    }
    release(&c, y);
}

static void convolutions(jn_device *d, int scale) {
    jn_device_fastest_convolutions(true); /* as what is beside it */
    static const char *const version[2] = {"9", "8"};
    static const conv_case cases[] = {
        {"conv 32x64x56x56, 3x3, f32", JANUS_F32, 32, 64, 56, 64, 3},
        {"conv 32x256x14x14, 3x3, f32", JANUS_F32, 32, 256, 14, 256, 3},
        {"conv 64x256x56x56, 1x1, f16", JANUS_F16, 64, 256, 56, 256, 1},
        {"conv 64x128x56x56, 3x3, f16", JANUS_F16, 64, 128, 56, 128, 3},
    };
    void *lib = open_library("libcudnn.so", version);
    dnn n = {0};
    bool ok = lib != NULL;
#define DNN_FIND(name, args) ok = ok && symbol(lib, "cudnn" #name, &n.name);
    DNN_CALLS(DNN_FIND)
#undef DNN_FIND
    janus_tensor *workspace = ok ? tensor(d, JANUS_F32, 1, (int64_t[]){WORKSPACE / 4}) : NULL;
    if (!workspace || n.Create(&n.handle) != 0) {
        printf("convolutions beside cuDNN called bare: it was not found\n");
        if (workspace)
            janus_tensor_release(workspace);
        return;
    }
    n.workspace = jn_tensor_ready_data(workspace);
    n.SetStream(n.handle, d->stream);
    if (n.CreateTensorDescriptor(&n.x) == 0 && n.CreateTensorDescriptor(&n.y) == 0 &&
        n.CreateFilterDescriptor(&n.w) == 0 && n.CreateConvolutionDescriptor(&n.c) == 0)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            conv_case k = cases[i];
            if (scale > 1) {
                k.rows = 1;
                k.channels = k.out = 8;
                k.size = 8;
            }
            convolution(d, &n, &k);
        }
    if (n.x)
        n.DestroyTensorDescriptor(n.x);
    if (n.y)
        n.DestroyTensorDescriptor(n.y);
    if (n.w)
        n.DestroyFilterDescriptor(n.w);
    if (n.c)
        n.DestroyConvolutionDescriptor(n.c);
    jn_dev_sync(d);
    n.Destroy(n.handle);
    janus_tensor_release(workspace);
}

void bench_bare(jn_device *d, int scale) {
    products(d, scale);
    convolutions(d, scale);
}
