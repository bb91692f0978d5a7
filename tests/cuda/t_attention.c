/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graphs that ops/cuda/dnn_attention.c describes to cuDNN, run operation by operation on the
 * host: what they compute is attention with log(sum(exp(scores))), and its gradients.  Numbers are
 * floats here, whatever dtype the graph names; which dtypes it names is checked.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/cuda/kernels.h"
#include "ops/cuda/libs.h"
#include "tests/cuda/check.h"

/* ---- a library that keeps what it is told -------------------------------------------------------
 */

enum { ATTRS = 12, VALUES = 24, ALL = 2048, MOST = 4096, TENSORS = 48 };
typedef struct desc {
    int type;
    bool finalized;
    int n, name[ATTRS];
    int64_t count[ATTRS], value[ATTRS][VALUES];
} desc;
static desc made[ALL];
static int n_made, destroyed, handle;
static desc graph, graph_of[ALL]; /* the last one that was asked about; those of plans */

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
static int finalize(void *p) {
    desc *d = p;
    d->finalized = true;
    if (d->type == JN_DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
        graph_of[d - made] = graph;
    return 0;
}
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
static float inside[TENSORS][MOST];
static float *outside[TENSORS];

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
    CHECK(which < TENSORS && o < MOST && (inner || outside[which]));
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
    CHECK(n == get(b, JN_DNN_ATTR_TENSOR_DIMENSIONS, NULL)[2]);
    CHECK(type_of(a) == type_of(b) || type_of(a) == JN_DNN_DATA_FLOAT);
    for (int64_t k = 0; k < n; k++) {
        const int64_t ia[4] = {i[0], i[1], i[2], k}, ib[4] = {i[0], i[1], k, i[3]};
        f += *at(a, ia) * *at(b, ib);
    }
    *at(part(op, JN_DNN_ATTR_OPERATION_MATMUL_CDESC), i) = f;
}

static void turn(const desc *op, const int64_t i[4]) {
    const desc *x = part(op, JN_DNN_ATTR_OPERATION_RESHAPE_XDESC),
               *y = part(op, JN_DNN_ATTR_OPERATION_RESHAPE_YDESC);
    const int64_t *from = get(x, JN_DNN_ATTR_TENSOR_DIMENSIONS, NULL),
                  *to = get(y, JN_DNN_ATTR_TENSOR_DIMENSIONS, NULL),
                  j[4] = {i[0], i[1], i[3], i[2]};
    CHECK(from[2] == to[3] && from[3] == to[2]);
    *at(y, i) = *at(x, j);
}

static int execute(void *h, void *plan, void *p) {
    int64_t n_ops = 0, n = 0;
    const int64_t *ops =
                      get(&graph_of[(desc *)plan - made], JN_DNN_ATTR_OPERATIONGRAPH_OPS, &n_ops),
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
        else if (op->type == JN_DNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR)
            each(part(op, JN_DNN_ATTR_OPERATION_RESHAPE_YDESC), turn, op);
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
static float q[B * L * H * E], k[B * S * H * E], v[B * S * H * W], y[B * H * L * W], lse[B * H * L];
static float bias[B * L * S]; /* [B, 1, L, S] */
static float dy[B * L * H * W], dq[B * H * L * E], dk[B * H * S * E], dv[B * H * S * W];

/* Heads of operands lie side by side, as projections leave them; results are row-major. */
static float *beside(float *t, int64_t rows, int64_t size, int b, int h, int i) {
    return t + ((b * rows + i) * H + h) * size;
}
static float *plain(float *t, int64_t rows, int64_t size, int b, int h, int i) {
    return t + ((b * H + h) * rows + i) * size;
}
static double dot(const float *a, const float *b, int n) {
    double f = 0;
    for (int i = 0; i < n; i++)
        f += (double)a[i] * (double)b[i];
    return f;
}

static jn_dnn_attention attention_of(bool causal, bool masked, float scale) {
    float *const operand[4] = {q, k, v, dy};
    jn_dnn_attention a = {.dtype = JANUS_F16, .scale = scale, .causal = causal};
    for (int t = 0; t < 4; t++) {
        int64_t rows = t == 0 || t == 3 ? L : S, size = t < 2 ? E : W;
        const int64_t dims[4] = {B, H, rows, size};
        const int64_t strides[4] = {rows * H * size, size, H * size, 1};
        memcpy(a.dims[t], dims, sizeof dims);
        memcpy(a.strides[t], strides, sizeof strides);
        for (int64_t i = 0; i < B * rows * H * size; i++)
            operand[t][i] = (float)((i * 7 + t * 5) % 11 - 5) / 4;
    }
    for (int i = 0; i < B * L * S; i++)
        bias[i] = i % 5 == 3 ? -1e30f : (float)(i % 3);
    if (masked) {
        a.bias = bias;
        a.bias_dims[0] = B;
        a.bias_dims[1] = 1;
    }
    void *const data[JN_DNN_ATTENTION_TENSORS] = {q, k, v, y, lse, dy, dq, dk, dv};
    memcpy(a.data, data, sizeof data);
    return a;
}

/* Weights of a query by the definition. */
static void weights(int b, int h, int i, const jn_dnn_attention *a, double w[S], double *sum) {
    int seen = a->causal ? i + 1 : S;
    *sum = 0;
    for (int j = 0; j < seen; j++)
        *sum += w[j] =
            exp(dot(beside(q, L, E, b, h, i), beside(k, S, E, b, h, j), E) * (double)a->scale +
                (a->bias ? (double)bias[(b * L + i) * S + j] : 0));
    for (int j = 0; j < S; j++)
        w[j] = j < seen ? w[j] / *sum : 0;
}

static void check(jn_dev_exec *e, bool causal, bool masked, float scale) {
    jn_dnn_attention a = attention_of(causal, masked, scale);
    CHECK(jn_cuda_dnn_attention(e, &a) && !e->error);
    for (int n = 0; n < B * H * L; n++) {
        int b = n / (H * L), h = n / L % H, i = n % L;
        double w[S], sum;
        weights(b, h, i, &a, w, &sum);
        CHECK(fabs((double)lse[n] - log(sum)) < 1e-4);
        for (int c = 0; c < W; c++) {
            double f = 0;
            for (int j = 0; j < S; j++)
                f += w[j] * (double)beside(v, S, W, b, h, j)[c];
            CHECK(fabs((double)y[n * W + c] - f) < 1e-4);
        }
    }
}

/* After `check`: y and lse are those of the same operands. */
static void check_gradients(jn_dev_exec *e, bool causal, bool masked, float scale) {
    static double want[3][B * H * S * W];
    static float room[128];
    jn_dnn_attention a = attention_of(causal, masked, scale);
    a.backward = true;
    CHECK(!jn_cuda_dnn_attention(e, &a) && !e->error); /* no memory for the sums */
    a.workspace = room;
    a.workspace_bytes = sizeof room;
    CHECK(jn_cuda_dnn_attention(e, &a) && !e->error);
    memset(want, 0, sizeof want);
    for (int n = 0; n < B * H * L; n++) {
        int b = n / (H * L), h = n / L % H, i = n % L;
        const float *own = beside(dy, L, W, b, h, i);
        double w[S], sum, mean = dot(own, plain(y, L, W, b, h, i), W);
        weights(b, h, i, &a, w, &sum);
        for (int j = 0; j < S; j++) {
            double ds = w[j] * (dot(own, beside(v, S, W, b, h, j), W) - mean) * (double)a.scale;
            for (int c = 0; c < E; c++) {
                want[0][n * E + c] += ds * (double)beside(k, S, E, b, h, j)[c];
                want[1][((b * H + h) * S + j) * E + c] += ds * (double)beside(q, L, E, b, h, i)[c];
            }
            for (int c = 0; c < W; c++)
                want[2][((b * H + h) * S + j) * W + c] += w[j] * (double)own[c];
        }
    }
    for (int i = 0; i < B * H * L * E; i++)
        CHECK(fabs((double)dq[i] - want[0][i]) < 1e-4);
    for (int i = 0; i < B * H * S * E; i++)
        CHECK(fabs((double)dk[i] - want[1][i]) < 1e-4);
    for (int i = 0; i < B * H * S * W; i++)
        CHECK(fabs((double)dv[i] - want[2][i]) < 1e-4);
}

int main(void) {
    void *memory = calloc(1, jn_cuda_libs_size);
    const char *why = NULL;
    CHECK(memory && jn_cuda_libs_over(NULL, &api, memory, &why) && jn_cuda_libs_dnn(memory));
    jn_dev_exec e = {.libs = memory};
    for (unsigned how = 0; how < 4; how++) {
        check(&e, how & 1, how & 2, 0.5f);
        check_gradients(&e, how & 1, how & 2, 0.5f);
        CHECK(jn_cuda_libs_dnn(memory)->n_plans == 2 * (how + 1));
    }
    check(&e, true, false, 0.25f); /* the factor is no part of a plan */
    check_gradients(&e, true, false, 0.25f);
    CHECK(jn_cuda_libs_dnn(memory)->n_plans == 8);
    jn_cuda_libs_free(memory);
    CHECK(destroyed == n_made);
    free(memory);
    if (!failures)
        printf("5 attentions, 5 gradients\n");
    return failures != 0;
}
