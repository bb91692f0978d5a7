/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vendor's libraries, opened at run time: cuBLASLt for products, cuDNN for convolutions
 * (dnn.c).
 *
 * A library is taken where it is already in the process, else from the folders of JANUS_CUDA_PATH
 * (a list separated by colons; the Python front puts the `nvidia` packages there), else by the
 * loader.  Everything is called through one table of functions, which tests fill with their own.
 *
 * A call is given its stream and its workspace (jn_cuda_gemm_workspace), so products on several
 * streams of a capture do not share one and nothing is allocated.  What the library chose for a
 * product is kept by its sizes and layout; callers hold the device's lock.
 */
#include "config.h"

#include "ops/cuda/kernels.h"

#ifdef JN_CUDA_EMULATED

#include <stdlib.h>
#include <string.h>

/* tests/cuda/emulate_dnn.cc has attention */
const size_t jn_cuda_libs_size = 1;
bool jn_cuda_libs_new(void *stream, void *memory, const char **why) {
    (void)stream, (void)memory;
    const char *dnn = getenv("JANUS_EMULATED_DNN");
    *why = "kernels are emulated";
    return dnn && strcmp(dnn, "0") != 0;
}
bool jn_cuda_dnn_conv(jn_dev_exec *e, const jn_dnn_conv *c) {
    (void)e;
    (void)c;
    return false;
}
void jn_cuda_libs_free(void *libs) { (void)libs; }
bool jn_cuda_blas_gemm(jn_dev_exec *e, const jn_cuda_gemm *g) {
    (void)e;
    (void)g;
    return false;
}

#else

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cublasLt.h>

#include "ops/cuda/libs.h"
#include "ops/cuda/lt_api.h"

enum { KEPT = 512 }; /* products whose algorithms are remembered */

/* A product without its addresses, and what the library made of it. */
typedef struct kept {
    jn_cuda_gemm g;
    uint32_t align; /* bytes that every address is a multiple of */
    bool tf32, used, refused;
    cublasLtMatmulDesc_t op;
    cublasLtMatrixLayout_t a, b, y;
    cublasLtMatmulAlgo_t algo;
} kept;

typedef struct libs {
    jn_lt_api api;
    cublasLtHandle_t lt; /* NULL: cuBLASLt was not found */
    jn_dnn dnn;          /* without a handle: cuDNN was not found */
    kept kept[KEPT];
} libs;

/* name: without version, "libcublas.so"; the versions in the order they are wanted. */
static void *open_library(const char *name, const int versions[2]) {
    enum { VERSIONS = 2 };
    const char *path = getenv("JANUS_CUDA_PATH");
    char file[4096];
    for (size_t v = 0; v < VERSIONS; v++) {
        snprintf(file, sizeof file, "%s.%d", name, versions[v]);
        void *lib = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
        if (lib)
            return lib;
    }
    for (const char *p = path; p && *p;) {
        size_t n = strcspn(p, ":");
        static const char *const inside[] = {"", "/lib64", "/lib"};
        for (size_t v = 0; v < VERSIONS; v++)
            for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
                if ((size_t)snprintf(file, sizeof file, "%.*s%s/%s.%d", (int)n, p, inside[i], name,
                                     versions[v]) >= sizeof file)
                    continue;
                void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
                if (lib)
                    return lib;
            }
        p += n + (p[n] == ':');
    }
    for (size_t v = 0; v < VERSIONS; v++) {
        snprintf(file, sizeof file, "%s.%d", name, versions[v]);
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

const size_t jn_cuda_libs_size = sizeof(libs);
_Static_assert((int)JN_CUDA_LIBRARY_FAILED == (int)cudaErrorUnknown, "one error for both");

static bool find_symbols(void *lib, jn_lt_api *api) {
    bool all = true;
#define JN_LT_FIND(name) all = symbol(lib, "cublasLt" #name, &api->name) && all;
    JN_LT_LIST(JN_LT_FIND)
#undef JN_LT_FIND
    return all;
}

static bool find_dnn_symbols(void *lib, jn_dnn_api *api) {
    bool all = true;
#define JN_DNN_FIND(name, result, args) all = symbol(lib, "cudnn" #name, &api->name) && all;
    JN_DNN_FUNCTIONS(JN_DNN_FIND)
    const bool needed = all;
    JN_DNN_OLDER_FUNCTIONS(JN_DNN_FIND)
#undef JN_DNN_FIND
#define JN_DNN_FORGET(name, result, args) api->name = NULL;
    if (!all) {
        JN_DNN_OLDER_FUNCTIONS(JN_DNN_FORGET)
    }
#undef JN_DNN_FORGET
    return needed;
}

jn_dnn *jn_cuda_libs_dnn(void *p) {
    libs *l = p;
    return l && l->dnn.handle ? &l->dnn : NULL;
}

bool jn_cuda_libs_over(const jn_lt_api *lt, const jn_dnn_api *dnn, void *memory, const char **why) {
    libs *l = memory;
    if (lt) {
        l->api = *lt;
        if (l->api.Create(&l->lt) != CUBLAS_STATUS_SUCCESS) {
            l->lt = NULL;
            *why = "cuBLASLt could not be started";
        }
    }
    if (dnn)
        jn_dnn_start(&l->dnn, dnn, why);
    return l->lt || l->dnn.handle;
}

bool jn_cuda_libs_new(void *stream, void *memory, const char **why) {
    static const int blas[] = {13, 12}, nine[] = {9, 9};
    jn_lt_api lt;
    jn_dnn_api dnn;
    void *lt_lib = open_library("libcublasLt.so", blas);
    void *dnn_lib = open_library("libcudnn.so", nine);
    (void)stream;
    bool has_lt = lt_lib && find_symbols(lt_lib, &lt);
    bool has_dnn = dnn_lib && find_dnn_symbols(dnn_lib, &dnn);
    if (!has_dnn)
        *why = "cuDNN 9 was not found: JANUS_CUDA_PATH names its folder";
    if (!has_lt)
        *why = "cuBLASLt was not found: JANUS_CUDA_PATH names its folder";
    return jn_cuda_libs_over(has_lt ? &lt : NULL, has_dnn ? &dnn : NULL, memory, why);
}

static void forget(libs *l, kept *k) {
    if (k->op)
        l->api.MatmulDescDestroy(k->op);
    if (k->a)
        l->api.MatrixLayoutDestroy(k->a);
    if (k->b)
        l->api.MatrixLayoutDestroy(k->b);
    if (k->y)
        l->api.MatrixLayoutDestroy(k->y);
    memset(k, 0, sizeof *k);
}

void jn_cuda_libs_free(void *p) {
    libs *l = p;
    if (!l)
        return;
    for (int i = 0; i < KEPT; i++)
        forget(l, &l->kept[i]);
    if (l->lt)
        l->api.Destroy(l->lt);
    jn_dnn_stop(&l->dnn);
}

static cudaDataType type_of(int dtype) {
    return dtype == JANUS_F32   ? CUDA_R_32F
           : dtype == JANUS_F64 ? CUDA_R_64F
           : dtype == JANUS_F16 ? CUDA_R_16F
                                : CUDA_R_16BF;
}

static bool layout(libs *l, cublasLtMatrixLayout_t *out, int dtype, int64_t rows, int64_t cols,
                   int64_t ld, int64_t batch, int64_t step) {
    int32_t n = (int32_t)batch;
    return l->api.MatrixLayoutCreate(out, type_of(dtype), (uint64_t)rows, (uint64_t)cols, ld) ==
               CUBLAS_STATUS_SUCCESS &&
           (batch == 1 ||
            (l->api.MatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &n,
                                             sizeof n) == CUBLAS_STATUS_SUCCESS &&
             l->api.MatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                             &step, sizeof step) == CUBLAS_STATUS_SUCCESS));
}

/* Of the transposed product: a number for each of its rows. */
static bool add_bias(libs *l, cublasLtMatmulDesc_t op, const void *bias) {
    const int32_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    return l->api.MatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                         sizeof epilogue) == CUBLAS_STATUS_SUCCESS &&
           l->api.MatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                         sizeof bias) == CUBLAS_STATUS_SUCCESS;
}

/* cuBLASLt is column-major: the transposed product, of the operands in the other order. */
static bool describe(libs *l, kept *k) {
    const jn_cuda_gemm *g = &k->g;
    cublasComputeType_t compute = g->dtype == JANUS_F64 ? CUBLAS_COMPUTE_64F
                                  : k->tf32             ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                        : CUBLAS_COMPUTE_32F;
    cudaDataType scale = g->dtype == JANUS_F64 ? CUDA_R_64F : CUDA_R_32F;
    int32_t ta = g->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    int32_t tb = g->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    return l->api.MatmulDescCreate(&k->op, compute, scale) == CUBLAS_STATUS_SUCCESS &&
           l->api.MatmulDescSetAttribute(k->op, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta) ==
               CUBLAS_STATUS_SUCCESS &&
           l->api.MatmulDescSetAttribute(k->op, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb) ==
               CUBLAS_STATUS_SUCCESS &&
           layout(l, &k->a, g->dtype, g->b_transposed ? g->k : g->n, g->b_transposed ? g->n : g->k,
                  g->ldb, g->batch, g->sb) &&
           layout(l, &k->b, g->dtype, g->a_transposed ? g->m : g->k, g->a_transposed ? g->k : g->m,
                  g->lda, g->batch, g->sa) &&
           layout(l, &k->y, g->dtype, g->n, g->m, g->ldy, g->batch, g->sy) &&
           (!g->bias || add_bias(l, k->op, g->bias));
}

/* The library's first choice within the workspace.  It is told how the matrices are aligned: left
 * to itself it takes 256 bytes for granted, and its kernels fault on a row of a matrix. */
static bool choose(libs *l, kept *k) {
    cublasLtMatmulPreference_t wish;
    cublasLtMatmulHeuristicResult_t found;
    uint64_t room = k->g.workspace_bytes;
    static const cublasLtMatmulPreferenceAttributes_t aligned[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    int n = 0;
    memset(&found, 0, sizeof found);
    if (l->api.MatmulPreferenceCreate(&wish) != CUBLAS_STATUS_SUCCESS)
        return false;
    bool ok = l->api.MatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                  &room, sizeof room) == CUBLAS_STATUS_SUCCESS;
    for (size_t i = 0; i < sizeof aligned / sizeof *aligned; i++)
        ok = ok && l->api.MatmulPreferenceSetAttribute(wish, aligned[i], &k->align,
                                                       sizeof k->align) == CUBLAS_STATUS_SUCCESS;
    ok = ok &&
         l->api.MatmulAlgoGetHeuristic(l->lt, k->op, k->a, k->b, k->y, k->y, wish, 1, &found, &n) ==
             CUBLAS_STATUS_SUCCESS &&
         n == 1 && found.state == CUBLAS_STATUS_SUCCESS;
    l->api.MatmulPreferenceDestroy(wish);
    k->algo = found.algo;
    return ok;
}

static bool same(const jn_cuda_gemm *a, const jn_cuda_gemm *b) {
    return a->dtype == b->dtype && a->a_transposed == b->a_transposed &&
           a->b_transposed == b->b_transposed && a->m == b->m && a->n == b->n && a->k == b->k &&
           a->lda == b->lda && a->sa == b->sa && a->ldb == b->ldb && a->sb == b->sb &&
           a->ldy == b->ldy && a->sy == b->sy && a->batch == b->batch && a->add == b->add &&
           a->workspace_bytes == b->workspace_bytes && !a->bias == !b->bias;
}

/* What all addresses of a product are a multiple of, at most what the library asks about. */
static uint32_t alignment(const jn_cuda_gemm *g) {
    uintptr_t all = (uintptr_t)g->a | (uintptr_t)g->b | (uintptr_t)g->y | 256;
    const int64_t size = g->dtype == JANUS_F64 ? 8 : g->dtype == JANUS_F32 ? 4 : 2;
    if (g->batch > 1)
        all |= (uintptr_t)(g->sa * size) | (uintptr_t)(g->sb * size) | (uintptr_t)(g->sy * size);
    return (uint32_t)(all & -all);
}

static kept *find(libs *l, const jn_cuda_gemm *g, bool tf32) {
    const uint32_t align = alignment(g);
    const int64_t part[] = {g->dtype, g->a_transposed, g->b_transposed, g->m,     g->n,   g->k,
                            g->lda,   g->ldb,          g->ldy,          g->batch, g->add, tf32,
                            align,    g->bias != NULL};
    uint64_t h = 0;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        h = (h ^ (uint64_t)part[i]) * 0x9E3779B97F4A7C15u;
    kept *k = &l->kept[h >> 32 & (KEPT - 1)];
    if (k->used && k->tf32 == tf32 && k->align == align && same(&k->g, g))
        return k;
    forget(l, k);
    k->g = *g;
    k->align = align;
    k->tf32 = tf32;
    k->used = true;
    k->refused = !describe(l, k) || !choose(l, k);
    return k;
}

bool jn_cuda_blas_gemm(jn_dev_exec *e, const jn_cuda_gemm *g) {
    libs *l = e->libs;
    const float one_f = 1, zero_f = 0;
    const double one_d = 1, zero_d = 0;
    bool wide = g->dtype == JANUS_F64;
    if (!l->lt)
        return false;
    kept *k = find(l, g, g->dtype == JANUS_F32 && e->allow_tf32);
    if (k->refused)
        return false; /* the kernel in ops/cuda/linear.cu does it */
    if (g->bias && !add_bias(l, k->op, g->bias))
        return false;
    const void *one = wide ? (const void *)&one_d : &one_f;
    const void *zero = wide ? (const void *)&zero_d : &zero_f;
    cublasStatus_t st = l->api.Matmul(l->lt, k->op, one, g->b, k->a, g->a, k->b,
                                      g->add ? one : zero, g->y, k->y, g->y, k->y, &k->algo,
                                      g->workspace, g->workspace_bytes, (cudaStream_t)e->stream);
    if (st == CUBLAS_STATUS_SUCCESS)
        return true;
    k->refused = true; /* nothing was put on the stream */
    if (st != CUBLAS_STATUS_NOT_SUPPORTED && st != CUBLAS_STATUS_INVALID_VALUE) {
        e->error = JN_CUDA_LIBRARY_FAILED;
        e->failed = "cuBLASLt";
    }
    return false;
}

#endif
