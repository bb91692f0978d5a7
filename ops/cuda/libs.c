/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vendor's libraries, opened at run time: cuBLAS for products.
 *
 * A library is taken where it is already in the process, else from the folders of JANUS_CUDA_PATH
 * (a list separated by colons; the Python front puts the `nvidia` packages there), else by the
 * loader.  Everything is called through one table of functions.  cuBLAS gets a fixed workspace, so
 * that it allocates nothing while a capture is recorded.
 */
#include "config.h"

#include "ops/cuda/kernels.h"

#ifdef JN_CUDA_EMULATED

const size_t jn_cuda_libs_size = 1;
bool jn_cuda_libs_new(void *stream, void *memory, const char **why) {
    (void)stream, (void)memory;
    *why = "kernels are emulated";
    return false;
}
void jn_cuda_libs_free(void *libs) { (void)libs; }
bool jn_cuda_blas_gemm(jn_cu_exec *e, const jn_cuda_gemm *g) {
    (void)e;
    (void)g;
    return false;
}

#else

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cublas_v2.h>

enum { WORKSPACE = 32 << 20 };

typedef struct libs {
    cublasHandle_t blas;
    void *workspace, *stream;
    cublasStatus_t (*destroy)(cublasHandle_t);
    cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                           const void *, const void *, cudaDataType, int, long long, const void *,
                           cudaDataType, int, long long, const void *, void *, cudaDataType, int,
                           long long, int, cublasComputeType_t, cublasGemmAlgo_t);
} libs;

/* name: without version, "libcublas.so". */
static void *open_library(const char *name) {
    static const int versions[] = {13, 12};
    const char *path = getenv("JANUS_CUDA_PATH");
    char file[4096];
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) {
        snprintf(file, sizeof file, "%s.%d", name, versions[v]);
        void *lib = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
        if (lib)
            return lib;
    }
    for (const char *p = path; p && *p;) {
        size_t n = strcspn(p, ":");
        static const char *const inside[] = {"", "/lib64", "/lib"};
        for (size_t v = 0; v < sizeof versions / sizeof *versions; v++)
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
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) {
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

bool jn_cuda_libs_new(void *stream, void *memory, const char **why) {
    libs *l = memory;
    cublasStatus_t (*create)(cublasHandle_t *);
    cublasStatus_t (*set_stream)(cublasHandle_t, cudaStream_t);
    cublasStatus_t (*set_workspace)(cublasHandle_t, void *, size_t);
    void *lib = open_library("libcublas.so");
    if (!lib) {
        *why = "cuBLAS was not found: JANUS_CUDA_PATH names its folder";
        return false;
    }
    if (!symbol(lib, "cublasCreate_v2", &create) || !symbol(lib, "cublasDestroy_v2", &l->destroy) ||
        !symbol(lib, "cublasSetStream_v2", &set_stream) ||
        !symbol(lib, "cublasSetWorkspace_v2", &set_workspace) ||
        !symbol(lib, "cublasGemmStridedBatchedEx", &l->gemm)) {
        *why = "cuBLAS lacks a function";
        return false;
    }
    if (create(&l->blas) != CUBLAS_STATUS_SUCCESS) {
        *why = "cuBLAS could not be started";
        return false;
    }
    l->stream = stream;
    int error = jn_cuda_api()->alloc(WORKSPACE, stream, &l->workspace);
    /* the stream first: setting it takes a workspace that was set away */
    if (set_stream(l->blas, (cudaStream_t)stream) != CUBLAS_STATUS_SUCCESS ||
        (!error && set_workspace(l->blas, l->workspace, WORKSPACE) != CUBLAS_STATUS_SUCCESS)) {
        jn_cuda_libs_free(l);
        *why = "cuBLAS did not take its stream and workspace";
        return false;
    }
    return true;
}

void jn_cuda_libs_free(void *p) {
    libs *l = p;
    if (!l)
        return;
    l->destroy(l->blas);
    if (l->workspace)
        jn_cuda_api()->release(l->workspace, l->stream);
}

bool jn_cuda_blas_gemm(jn_cu_exec *e, const jn_cuda_gemm *g) {
    const libs *l = e->libs;
    const float one_f = 1, zero_f = 0;
    const double one_d = 1, zero_d = 0;
    bool wide = g->dtype == JANUS_F64;
    cudaDataType type = g->dtype == JANUS_F32   ? CUDA_R_32F
                        : g->dtype == JANUS_F64 ? CUDA_R_64F
                        : g->dtype == JANUS_F16 ? CUDA_R_16F
                                                : CUDA_R_16BF;
    cublasComputeType_t compute = wide ? CUBLAS_COMPUTE_64F
                                  : g->dtype == JANUS_F32 && e->allow_tf32
                                      ? CUBLAS_COMPUTE_32F_FAST_TF32
                                      : CUBLAS_COMPUTE_32F;
    const void *one = wide ? (const void *)&one_d : &one_f;
    const void *zero = wide ? (const void *)&zero_d : &zero_f;
    /* cuBLAS is column-major: the transposed product, of the operands in the other order */
    cublasStatus_t st =
        l->gemm(l->blas, g->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                g->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, (int)g->n, (int)g->m, (int)g->k, one,
                g->b, type, (int)g->ldb, g->sb, g->a, type, (int)g->lda, g->sa, g->add ? one : zero,
                g->y, type, (int)g->ldy, g->sy, (int)g->batch, compute, CUBLAS_GEMM_DEFAULT);
    if (st == CUBLAS_STATUS_SUCCESS)
        return true;
    if (st != CUBLAS_STATUS_NOT_SUPPORTED && st != CUBLAS_STATUS_INVALID_VALUE) {
        e->error = (int)cudaErrorUnknown;
        e->failed = "cuBLAS";
    }
    return false; /* the kernel in ops/cuda/linear.cu does it */
}

#endif
