/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ops/cuda/libs.c asks of cuBLASLt, on a table of functions that compute on the host: layouts,
 * transpositions, batches, streams and workspaces, what is remembered, and what a refusal does.
 * Built where the CUDA headers are; needs neither a library nor a GPU.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/cuda/kernels.h"
#include "ops/cuda/libs.h"
#include "ops/cuda/lt_api.h"
#include "tests/cuda/check.h"

static unsigned chosen, made, freed, products;
static void *last_stream, *last_workspace;
static size_t last_room;
static uint32_t last_aligned[4]; /* what was said of a, b, c and d */
static cublasComputeType_t last_compute;
static cublasStatus_t answer;
static int offered = 1;

typedef struct fake_layout {
    cudaDataType type;
    uint64_t rows, cols;
    int64_t ld, step;
    int32_t batch;
} fake_layout;
typedef struct fake_op {
    cublasComputeType_t compute;
    int32_t ta, tb, epilogue;
    const float *bias;
} fake_op;

static cublasStatus_t create(cublasLtHandle_t *h) {
    *h = (cublasLtHandle_t)&failures;
    return answer;
}
static cublasStatus_t destroy(cublasLtHandle_t h) { return (void)h, CUBLAS_STATUS_SUCCESS; }
static cublasStatus_t op_new(cublasLtMatmulDesc_t *d, cublasComputeType_t c, cudaDataType_t s) {
    fake_op *o = calloc(1, sizeof *o);
    CHECK(s == (c == CUBLAS_COMPUTE_64F ? CUDA_R_64F : CUDA_R_32F));
    o->compute = c;
    made++;
    *d = (cublasLtMatmulDesc_t)(void *)o;
    return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t op_free(cublasLtMatmulDesc_t d) {
    free(d);
    freed++;
    return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t op_set(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t a,
                             const void *p, size_t n) {
    fake_op *o = (void *)d;
    if (a == CUBLASLT_MATMUL_DESC_BIAS_POINTER) {
        CHECK(n == sizeof o->bias);
        memcpy(&o->bias, p, sizeof o->bias);
        return CUBLAS_STATUS_SUCCESS;
    }
    CHECK(n == sizeof(int32_t));
    memcpy(a == CUBLASLT_MATMUL_DESC_TRANSA     ? &o->ta
           : a == CUBLASLT_MATMUL_DESC_EPILOGUE ? &o->epilogue
                                                : &o->tb,
           p, sizeof(int32_t));
    return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t layout_new(cublasLtMatrixLayout_t *d, cudaDataType t, uint64_t rows,
                                 uint64_t cols, int64_t ld) {
    fake_layout *l = calloc(1, sizeof *l);
    *l = (fake_layout){t, rows, cols, ld, 0, 1};
    CHECK(ld >= (int64_t)rows);
    made++;
    *d = (cublasLtMatrixLayout_t)(void *)l;
    return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t layout_free(cublasLtMatrixLayout_t d) {
    free(d);
    freed++;
    return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t layout_set(cublasLtMatrixLayout_t d, cublasLtMatrixLayoutAttribute_t a,
                                 const void *p, size_t n) {
    fake_layout *l = (void *)d;
    CHECK(n == (a == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT ? sizeof l->batch : sizeof l->step));
    memcpy(a == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT ? (void *)&l->batch : &l->step, p, n);
    return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t wish_new(cublasLtMatmulPreference_t *p) {
    *p = malloc(8);
    made++;
    return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t wish_free(cublasLtMatmulPreference_t p) {
    free(p);
    freed++;
    return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t wish_set(cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t a,
                               const void *v, size_t n) {
    (void)p;
    if (a != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
        CHECK(n == sizeof(uint32_t) && a >= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
              a <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
        memcpy(&last_aligned[a - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], v, n);
        return CUBLAS_STATUS_SUCCESS;
    }
    CHECK(n == sizeof(uint64_t));
    uint64_t room;
    memcpy(&room, v, sizeof room);
    last_room = room;
    return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t heuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t op,
                                cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                cublasLtMatmulPreference_t p, int n,
                                cublasLtMatmulHeuristicResult_t *r, int *found) {
    (void)h, (void)op, (void)a, (void)b, (void)p;
    CHECK(c == d && n == 1);
    chosen++;
    memcpy(r->algo.data, last_aligned, sizeof last_aligned);
    r->state = CUBLAS_STATUS_SUCCESS;
    *found = offered;
    return CUBLAS_STATUS_SUCCESS;
}

static double element(const fake_layout *l, const void *p, int transposed, uint64_t row,
                      uint64_t col, int32_t batch) {
    uint64_t r = transposed ? col : row, c = transposed ? row : col;
    CHECK(r < l->rows && c < l->cols);
    int64_t at = (int64_t)r + (int64_t)c * l->ld + batch * l->step;
    return l->type == CUDA_R_64F ? ((const double *)p)[at] : (double)((const float *)p)[at];
}
static cublasStatus_t matmul(cublasLtHandle_t h, cublasLtMatmulDesc_t d, const void *alpha,
                             const void *a, cublasLtMatrixLayout_t la, const void *b,
                             cublasLtMatrixLayout_t lb, const void *beta, const void *c,
                             cublasLtMatrixLayout_t lc, void *y, cublasLtMatrixLayout_t ly,
                             const cublasLtMatmulAlgo_t *algo, void *workspace, size_t room,
                             cudaStream_t stream) {
    const fake_op *op = (const void *)d;
    const fake_layout *fa = (const void *)la, *fb = (const void *)lb, *fy = (const void *)ly;
    (void)h;
    CHECK(lc == ly && c == y && algo && room == last_room);
    const void *const addresses[4] = {a, b, c, y};
    for (int i = 0; i < 4; i++) { /* as the algorithm was chosen for */
        uint32_t align;
        memcpy(&align, (const char *)algo->data + (size_t)i * sizeof align, sizeof align);
        CHECK(align && (uintptr_t)addresses[i] % align == 0);
    }
    last_stream = (void *)stream;
    last_workspace = workspace;
    last_compute = op->compute;
    CHECK(!op->bias == !op->epilogue);
    if (answer != CUBLAS_STATUS_SUCCESS)
        return answer;
    products++;
    bool wide = fy->type == CUDA_R_64F;
    CHECK(wide ? *(const double *)alpha == 1 : *(const float *)alpha == 1);
    bool add = wide ? *(const double *)beta != 0 : *(const float *)beta != 0;
    uint64_t k = op->ta == CUBLAS_OP_T ? fa->rows : fa->cols;
    CHECK(k == (op->tb == CUBLAS_OP_T ? fb->cols : fb->rows));
    for (int32_t n = 0; n < fy->batch; n++)
        for (uint64_t r = 0; r < fy->rows; r++)
            for (uint64_t col = 0; col < fy->cols; col++) {
                int64_t at = (int64_t)r + (int64_t)col * fy->ld + n * fy->step;
                double s = op->epilogue == CUBLASLT_EPILOGUE_BIAS ? (double)op->bias[r] : 0;
                for (uint64_t i = 0; i < k; i++)
                    s += element(fa, a, op->ta == CUBLAS_OP_T, r, i, n) *
                         element(fb, b, op->tb == CUBLAS_OP_T, i, col, n);
                if (wide)
                    ((double *)y)[at] = s + (add ? ((double *)y)[at] : 0);
                else
                    ((float *)y)[at] = (float)s + (add ? ((float *)y)[at] : 0);
            }
    return CUBLAS_STATUS_SUCCESS;
}

static const jn_lt_api api = {.Create = create,
                              .Destroy = destroy,
                              .MatmulDescCreate = op_new,
                              .MatmulDescDestroy = op_free,
                              .MatmulDescSetAttribute = op_set,
                              .MatrixLayoutCreate = layout_new,
                              .MatrixLayoutDestroy = layout_free,
                              .MatrixLayoutSetAttribute = layout_set,
                              .MatmulPreferenceCreate = wish_new,
                              .MatmulPreferenceDestroy = wish_free,
                              .MatmulPreferenceSetAttribute = wish_set,
                              .MatmulAlgoGetHeuristic = heuristic,
                              .Matmul = matmul};

/* y (+)= a b of small integers, row-major, against plain loops. */
static void product_with(jn_dev_exec *e, int dtype, bool ta, bool tb, bool add, int64_t batch,
                         size_t offset, const float *bias) {
    enum { M = 3, N = 5, K = 4, ROOM = 200 };
    static _Alignas(256) double wide[3][256];
    static _Alignas(256) float narrow[3][256];
    char workspace[64];
    jn_cuda_gemm g = {.dtype = dtype,
                      .a_transposed = ta,
                      .b_transposed = tb,
                      .m = M,
                      .n = N,
                      .k = K,
                      .lda = (ta ? M : K) + 1,
                      .ldb = (tb ? K : N) + 2,
                      .ldy = N,
                      .batch = batch,
                      .add = add,
                      .workspace = workspace,
                      .workspace_bytes = sizeof workspace,
                      .bias = bias};
    g.sa = g.lda * (ta ? K : M);
    g.sb = g.ldb * (tb ? N : K);
    g.sy = g.ldy * M + 1;
    for (int i = 0; i < ROOM; i++)
        for (int w = 0; w < 3; w++) {
            wide[w][i] = (i * 7 + w * 3) % 11 - 5;
            narrow[w][i] = (float)wide[w][i];
        }
    bool f64 = dtype == JANUS_F64;
    g.a = f64 ? (void *)wide[0] : narrow[0];
    g.b = f64 ? (void *)(wide[1] + offset) : narrow[1] + offset;
    g.y = f64 ? (void *)wide[2] : narrow[2];
    CHECK(jn_cuda_blas_gemm(e, &g) && !e->error);
    CHECK(last_stream == e->stream && last_workspace == workspace);
    for (int64_t n = 0; n < batch; n++)
        for (int64_t r = 0; r < M; r++)
            for (int64_t c = 0; c < N; c++) {
                int64_t at = n * g.sy + r * g.ldy + c;
                double s =
                    (add ? (double)((at * 7 + 6) % 11 - 5) : 0) + (bias ? (double)bias[c] : 0);
                for (int64_t k = 0; k < K; k++) {
                    int64_t ia = n * g.sa + (ta ? k * g.lda + r : r * g.lda + k);
                    int64_t ib = n * g.sb + (tb ? c * g.ldb + k : k * g.ldb + c);
                    ib += (int64_t)offset;
                    s += (double)(ia * 7 % 11 - 5) * (double)((ib * 7 + 3) % 11 - 5);
                }
                CHECK((f64 ? wide[2][at] : (double)narrow[2][at]) == s);
            }
}

static void product(jn_dev_exec *e, int dtype, bool ta, bool tb, bool add, int64_t batch,
                    size_t offset) {
    product_with(e, dtype, ta, tb, add, batch, offset, NULL);
}

/* One for every column, of the call's own: what is remembered of a product has none. */
static void biases(jn_dev_exec *e) {
    static const float bias[2][5] = {{1, 2, 3, 4, 5}, {-7, 0, 9, 1, 2}};
    unsigned before = chosen;
    for (int ta = 0; ta < 2; ta++) {
        product_with(e, JANUS_F32, ta, true, false, 1, 0, bias[0]);
        product_with(e, JANUS_F32, ta, true, false, 1, 0, bias[1]);
        product_with(e, JANUS_F32, ta, true, false, 1, 0, NULL);
        product_with(e, JANUS_F32, ta, true, false, 1, 0, bias[0]);
    }
    CHECK(chosen >= before + 2 && chosen <= before + 4);
}

int main(void) {
    void *memory = calloc(1, jn_cuda_libs_size);
    const char *why = NULL;
    char stream[2];
    jn_dev_exec e = {.stream = &stream[0], .libs = memory};
    answer = CUBLAS_STATUS_NOT_INITIALIZED;
    CHECK(!jn_cuda_libs_over(&api, NULL, memory, &why) && why);
    answer = CUBLAS_STATUS_SUCCESS;
    CHECK(jn_cuda_libs_over(&api, NULL, memory, &why));
    for (int bits = 0; bits < 16; bits++)
        for (int64_t batch = 1; batch <= 3; batch += 2)
            product(&e, bits & 8 ? JANUS_F64 : JANUS_F32, bits & 1, bits & 2, bits & 4, batch, 0);
    CHECK(products == 32 && chosen == 32);
    e.stream = &stream[1]; /* remembered, whatever the stream */
    product(&e, JANUS_F32, true, false, false, 3, 0);
    CHECK(products == 33 && chosen <= 33);
    unsigned before = chosen;
    product(&e, JANUS_F32, true, false, false, 3, 0);
    CHECK(chosen == before && last_compute == CUBLAS_COMPUTE_32F);
    e.allow_tf32 = true;
    product(&e, JANUS_F32, true, false, false, 3, 0);
    CHECK(chosen == before + 1 && last_compute == CUBLAS_COMPUTE_32F_FAST_TF32);
    product(&e, JANUS_F64, true, false, false, 3, 0);
    CHECK(last_compute == CUBLAS_COMPUTE_64F);
    /* a row of a matrix begins anywhere: another algorithm than for what the allocator gave */
    before = chosen;
    for (size_t offset = 0; offset < 5; offset++)
        product(&e, JANUS_F64, false, true, false, 1, offset);
    CHECK(chosen > before);
    e.allow_tf32 = false;
    biases(&e);
    /* nothing fits: not asked again; what fails is no error unless it is one */
    jn_cuda_gemm g = {
        .dtype = JANUS_F32, .m = 7, .n = 7, .k = 7, .lda = 7, .ldb = 7, .ldy = 7, .batch = 1};
    offered = 0;
    CHECK(!jn_cuda_blas_gemm(&e, &g) && !e.error);
    before = chosen;
    CHECK(!jn_cuda_blas_gemm(&e, &g) && chosen == before);
    offered = 1;
    g.m = 8;
    answer = CUBLAS_STATUS_NOT_SUPPORTED;
    CHECK(!jn_cuda_blas_gemm(&e, &g) && !e.error);
    g.m = 9;
    answer = CUBLAS_STATUS_EXECUTION_FAILED;
    CHECK(!jn_cuda_blas_gemm(&e, &g) && e.error && e.failed);
    jn_cuda_libs_free(memory);
    CHECK(made == freed);
    free(memory);
    if (!failures)
        printf("%u products\n", products);
    return failures != 0;
}
