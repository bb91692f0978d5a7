/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph that ops/cuda/dnn_attention.c describes to cuDNN, run operation by operation on the
 * host: what it computes is attention, and log(sum(exp(scores))).  Numbers are floats here,
 * whatever dtype the graph names; which dtypes it names is checked.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/cuda/kernels.h"
#include "ops/cuda/libs.h"

static unsigned failures;
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

/* ---- a library that keeps what it is told -------------------------------------------------------
 */

enum { ATTRS = 12, VALUES = 16, ALL = 512, MOST = 4096 };
typedef struct desc {
    int type;
    bool finalized;
    int n, name[ATTRS];
    int64_t count[ATTRS], value[ATTRS][VALUES];
} desc;
static desc made[ALL];
static int n_made, destroyed, handle;
static desc graph; /* the last one that was asked about */

static size_t version(void) { return 91000; }
static int create(void **out) { return *out = &handle, 0; }
static int destroy(void *h) { return h != &handle; }
static int set_stream(void *h, void *stream) { return (void)stream, h != &handle; }
static int make(int type, void **out) {
    if (n_made == ALL)
        return 1;
    made[n_made].type = type;
    *out = &made[n_made++];
    return 0;
}
static int forget(void *d) { return (void)d, destroyed++, 0; } /* kept: plans are run later */
static int set(void *p, int name, int type, int64_t n, const void *from) {
    desc *d = p;
    size_t size = type == JN_DNN_TYPE_BOOLEAN ? 1
                  : type == JN_DNN_TYPE_INT64 || type == JN_DNN_TYPE_BACKEND_DESCRIPTOR ||
                          type == JN_DNN_TYPE_VOID_PTR || type == JN_DNN_TYPE_HANDLE
                      ? 8
                      : 4;
    CHECK(!d->finalized && d->n < ATTRS && n <= VALUES);
    d->name[d->n] = name;
    d->count[d->n] = n;
    for (int64_t i = 0; i < n; i++)
        memcpy(&d->value[d->n][i], (const char *)from + (size_t)i * size, size);
    d->n++;
    return 0;
}
static const int64_t *get(const desc *d, int name, int64_t *n) {
    for (int i = 0; i < d->n; i++)
        if (d->name[i] == name) {
            if (n)
                *n = d->count[i];
            return d->value[i];
        }
    return NULL;
}
static const desc *part(const desc *d, int name) {
    const int64_t *v = get(d, name, NULL);
    return v ? (const desc *)(uintptr_t)*v : NULL; /* NOLINT */
}
static int finalize(void *d) { return ((desc *)d)->finalized = true, 0; }
static int ask(const void *p, int name, int type, int64_t room, int64_t *n, void *out) {
    (void)type, (void)room;
    *n = 1;
    if (name == JN_DNN_ATTR_ENGINEHEUR_RESULTS)
        graph = *part(p, JN_DNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    else if (name == JN_DNN_ATTR_ENGINE_NUMERICAL_NOTE)
        *n = 0;
    else if (name == JN_DNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)
        *(int64_t *)out = 0;
    return 0;
}

/* ---- running a graph ----------------------------------------------------------------------------
 */

/* Numbers of a tensor, by its number; what is outside lies as the graph says. */
static float inside[32][MOST];
static float *outside[32];

static int64_t number_of(const desc *t) { return *get(t, JN_DNN_ATTR_TENSOR_UNIQUE_ID, NULL); }
static float *at(const desc *t, const int64_t i[4]) {
    const int64_t *d = get(t, JN_DNN_ATTR_TENSOR_DIMENSIONS, NULL),
                  *s = get(t, JN_DNN_ATTR_TENSOR_STRIDES, NULL);
    int64_t o = 0, which = number_of(t);
    bool inner = get(t, JN_DNN_ATTR_TENSOR_IS_VIRTUAL, NULL) != NULL;
    for (int k = 0; k < 4; k++) {
        CHECK(d[k] == 1 || i[k] < d[k]);
        o += d[k] == 1 ? 0 : i[k] * s[k]; /* broadcast */
    }
    CHECK(which < 32 && o < MOST && (inner || outside[which]));
    return (inner ? inside[which] : outside[which]) + o;
}
static int type_of(const desc *t) { return (int)*get(t, JN_DNN_ATTR_TENSOR_DATA_TYPE, NULL); }

static void each(const desc *y, void (*fn)(const desc *op, const int64_t i[4]), const desc *op) {
    const int64_t *d = get(y, JN_DNN_ATTR_TENSOR_DIMENSIONS, NULL);
    for (int64_t n = 0; n < d[0] * d[1] * d[2] * d[3]; n++) {
        const int64_t i[4] = {n / (d[1] * d[2] * d[3]), n / (d[2] * d[3]) % d[1], n / d[3] % d[2],
                              n % d[3]};
        fn(op, i);
    }
}

static void point(const desc *op, const int64_t i[4]) {
    const desc *p = part(op, JN_DNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR),
               *x = part(op, JN_DNN_ATTR_OPERATION_POINTWISE_XDESC),
               *b = part(op, JN_DNN_ATTR_OPERATION_POINTWISE_BDESC),
               *t = part(op, JN_DNN_ATTR_OPERATION_POINTWISE_TDESC),
               *y = part(op, JN_DNN_ATTR_OPERATION_POINTWISE_YDESC);
    int mode = (int)*get(p, JN_DNN_ATTR_POINTWISE_MODE, NULL);
    float f = *at(x, i), g = b ? *at(b, i) : 0, r = NAN;
    switch (mode) {
    case JN_DNN_POINTWISE_ADD:
        r = f + g;
        break;
    case JN_DNN_POINTWISE_SUB:
        r = f - g;
        break;
    case JN_DNN_POINTWISE_MUL:
        r = f * g;
        break;
    case JN_DNN_POINTWISE_DIV:
        r = f / g;
        break;
    case JN_DNN_POINTWISE_EXP:
        r = expf(f);
        break;
    case JN_DNN_POINTWISE_LOG:
        r = logf(f);
        break;
    case JN_DNN_POINTWISE_GEN_INDEX:
        CHECK(type_of(y) == JN_DNN_DATA_INT32);
        r = (float)i[*get(p, JN_DNN_ATTR_POINTWISE_AXIS, NULL)];
        break;
    case JN_DNN_POINTWISE_CMP_GE:
        CHECK(type_of(y) == JN_DNN_DATA_BOOLEAN);
        r = f >= g;
        break;
    case JN_DNN_POINTWISE_BINARY_SELECT:
        CHECK(type_of(t) == JN_DNN_DATA_BOOLEAN);
        r = *at(t, i) != 0 ? f : g;
        break;
    default:
        CHECK(!"a mode");
    }
    *at(y, i) = r;
}

static void reduce(const desc *op, const int64_t i[4]) {
    const desc *x = part(op, JN_DNN_ATTR_OPERATION_REDUCTION_XDESC),
               *r = part(op, JN_DNN_ATTR_OPERATION_REDUCTION_DESC);
    bool sum = *get(r, JN_DNN_ATTR_REDUCTION_OPERATOR, NULL) == JN_DNN_REDUCE_TENSOR_ADD;
    int64_t n = get(x, JN_DNN_ATTR_TENSOR_DIMENSIONS, NULL)[3], j[4] = {i[0], i[1], i[2], 0};
    float f = sum ? 0 : -INFINITY;
    for (; j[3] < n; j[3]++)
        f = sum ? f + *at(x, j) : fmaxf(f, *at(x, j));
    *at(part(op, JN_DNN_ATTR_OPERATION_REDUCTION_YDESC), i) = f;
}

static void multiply(const desc *op, const int64_t i[4]) {
    const desc *a = part(op, JN_DNN_ATTR_OPERATION_MATMUL_ADESC),
               *b = part(op, JN_DNN_ATTR_OPERATION_MATMUL_BDESC);
    int64_t n = get(a, JN_DNN_ATTR_TENSOR_DIMENSIONS, NULL)[3];
    float f = 0;
    CHECK(n == get(b, JN_DNN_ATTR_TENSOR_DIMENSIONS, NULL)[2] && type_of(a) == type_of(b));
    for (int64_t k = 0; k < n; k++) {
        const int64_t ia[4] = {i[0], i[1], i[2], k}, ib[4] = {i[0], i[1], k, i[3]};
        f += *at(a, ia) * *at(b, ib);
    }
    *at(part(op, JN_DNN_ATTR_OPERATION_MATMUL_CDESC), i) = f;
}

static int execute(void *h, void *plan, void *p) {
    int64_t n_ops = 0, n = 0;
    const int64_t *ops = get(&graph, JN_DNN_ATTR_OPERATIONGRAPH_OPS, &n_ops),
                  *ids = get(p, JN_DNN_ATTR_VARIANT_PACK_UNIQUE_IDS, &n),
                  *data = get(p, JN_DNN_ATTR_VARIANT_PACK_DATA_POINTERS, NULL);
    CHECK(h == &handle && plan);
    memset(outside, 0, sizeof outside);
    for (int64_t i = 0; i < n; i++)
        outside[ids[i]] = (float *)(uintptr_t)data[i]; /* NOLINT */
    for (int64_t i = 0; i < n_ops; i++) {
        const desc *op = (const desc *)(uintptr_t)ops[i]; /* NOLINT */
        CHECK(op->finalized);
        if (op->type == JN_DNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
            each(part(op, JN_DNN_ATTR_OPERATION_POINTWISE_YDESC), point, op);
        else if (op->type == JN_DNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
            each(part(op, JN_DNN_ATTR_OPERATION_REDUCTION_YDESC), reduce, op);
        else
            each(part(op, JN_DNN_ATTR_OPERATION_MATMUL_CDESC), multiply, op);
    }
    return 0;
}

static const jn_dnn_api api = {.GetVersion = version,
                               .Create = create,
                               .Destroy = destroy,
                               .SetStream = set_stream,
                               .BackendCreateDescriptor = make,
                               .BackendDestroyDescriptor = forget,
                               .BackendSetAttribute = set,
                               .BackendGetAttribute = ask,
                               .BackendFinalize = finalize,
                               .BackendExecute = execute};

/* ---- what it is asked ---------------------------------------------------------------------------
 */

enum { B = 2, H = 3, L = 5, S = 7, E = 8, W = 16 };

static void check(jn_cu_exec *e, bool causal, float scale) {
    static float q[B * L * H * E], k[B * S * H * E], v[B * S * H * W], y[B * H * L * W],
        lse[B * H * L];
    float *const operand[3] = {q, k, v};
    jn_dnn_attention a = {.dtype = JANUS_F16, .scale = scale, .causal = causal};
    for (int t = 0; t < 3; t++) { /* heads lie side by side, as projections leave them */
        int64_t rows = t ? S : L, size = t == 2 ? W : E;
        const int64_t dims[4] = {B, H, rows, size};
        const int64_t strides[4] = {rows * H * size, size, H * size, 1};
        memcpy(a.dims[t], dims, sizeof dims);
        memcpy(a.strides[t], strides, sizeof strides);
        a.data[t] = operand[t];
        for (int64_t i = 0; i < B * rows * H * size; i++)
            operand[t][i] = (float)((i * 7 + t * 5) % 11 - 5) / 4;
    }
    a.data[3] = y;
    a.data[4] = lse;
    CHECK(jn_cuda_dnn_attention(e, &a) && !e->error);
    for (int n = 0; n < B * H * L; n++) {
        int b = n / (H * L), h = n / L % H, i = n % L, seen = causal ? i + 1 : S;
        double w[S], sum = 0;
        for (int j = 0; j < seen; j++) {
            double f = 0;
            for (int c = 0; c < E; c++)
                f += (double)q[((b * L + i) * H + h) * E + c] *
                     (double)k[((b * S + j) * H + h) * E + c];
            sum += w[j] = exp(f * (double)scale);
        }
        CHECK(fabs((double)lse[n] - log(sum)) < 1e-4);
        for (int c = 0; c < W; c++) {
            double f = 0;
            for (int j = 0; j < seen; j++)
                f += w[j] / sum * (double)v[((b * S + j) * H + h) * W + c];
            CHECK(fabs((double)y[n * W + c] - f) < 1e-4);
        }
    }
}

int main(void) {
    void *memory = calloc(1, jn_cuda_libs_size);
    const char *why = NULL;
    CHECK(memory && jn_cuda_libs_over(NULL, &api, memory, &why) && jn_cuda_libs_dnn(memory));
    jn_cu_exec e = {.libs = memory};
    check(&e, false, 0.5f);
    check(&e, true, 0.5f);
    CHECK(jn_cuda_libs_dnn(memory)->n_plans == 2);
    check(&e, true, 0.25f); /* the factor is no part of a plan */
    CHECK(jn_cuda_libs_dnn(memory)->n_plans == 2);
    jn_cuda_libs_free(memory);
    CHECK(destroyed == n_made);
    free(memory);
    if (!failures)
        printf("3 attentions\n");
    return failures != 0;
}
