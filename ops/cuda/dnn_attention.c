/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention of f16 and bf16 by cuDNN's graph API, and its gradients: the operations that its fused
 * kernels are known by, from the products to log(sum(exp(scores))).  Masks other than the causal
 * one are not for the library: what it makes of a query that may see nothing is not said.
 */
#include "config.h"

#include <string.h>

#include "ops/cuda/dnn_graph.h"
#include "ops/cuda/libs.h"

/* Numbers of tensors: those in memory, the scalars, then what is inside a graph.  SUMS: dy * y,
 * summed, of each query; the library wants memory for it. */
enum { Q = 1, K, V, Y, LSE, DY, DQ, DK, DV, SUMS, BIAS, SCALE, ONE, LOWEST, FIRST_INNER };
enum { MOST_OPS = 24 };

typedef struct graph {
    jn_dnn_maker *m;
    int64_t b, h, l, s, next, align;
    int type; /* of the operands */
    void *op[MOST_OPS];
    int n;
} graph;

static void *tensor(graph *g, int64_t number, int type, const int64_t dims[4],
                    const int64_t strides[4], int flag) {
    void *t = jn_dnn_make(g->m, JN_DNN_BACKEND_TENSOR_DESCRIPTOR);
    const bool yes = true;
    jn_dnn_set(g->m, t, JN_DNN_ATTR_TENSOR_DATA_TYPE, JN_DNN_TYPE_DATA_TYPE, 1, &type);
    jn_dnn_set(g->m, t, JN_DNN_ATTR_TENSOR_DIMENSIONS, JN_DNN_TYPE_INT64, 4, dims);
    jn_dnn_set(g->m, t, JN_DNN_ATTR_TENSOR_STRIDES, JN_DNN_TYPE_INT64, 4, strides);
    jn_dnn_set_int(g->m, t, JN_DNN_ATTR_TENSOR_UNIQUE_ID, number);
    jn_dnn_set_int(g->m, t, JN_DNN_ATTR_TENSOR_BYTE_ALIGNMENT,
                   type == g->type  ? g->align
                   : number == BIAS ? 16
                                    : 4);
    if (flag)
        jn_dnn_set(g->m, t, flag, JN_DNN_TYPE_BOOLEAN, 1, &yes);
    jn_dnn_finish(g->m, t);
    return t;
}

/* Of the scores' shape, or a value per query. */
static void *inner(graph *g, int type, bool per_query, int64_t number) {
    int64_t n = per_query ? 1 : g->s;
    const int64_t dims[4] = {g->b, g->h, g->l, n};
    const int64_t strides[4] = {g->h * g->l * n, g->l * n, n, 1};
    return tensor(g, number ? number : g->next++, type, dims, strides,
                  number ? 0 : JN_DNN_ATTR_TENSOR_IS_VIRTUAL);
}

static void *number(graph *g, int64_t which) {
    static const int64_t ones[4] = {1, 1, 1, 1};
    return tensor(g, which, JN_DNN_DATA_FLOAT, ones, ones, JN_DNN_ATTR_TENSOR_IS_BY_VALUE);
}

static void add(graph *g, void *op) {
    jn_dnn_finish(g->m, op);
    if (g->n < MOST_OPS)
        g->op[g->n++] = op;
    else
        g->m->ok = false;
}

/* y = mode(x, b, t); b, t NULL: not there.  axis: of numbers of positions. */
static void *pointwise(graph *g, int mode, int precision, int64_t axis, void *x, void *b, void *t,
                       void *y) {
    void *p = jn_dnn_make(g->m, JN_DNN_BACKEND_POINTWISE_DESCRIPTOR);
    jn_dnn_set(g->m, p, JN_DNN_ATTR_POINTWISE_MODE, JN_DNN_TYPE_POINTWISE_MODE, 1, &mode);
    jn_dnn_set(g->m, p, JN_DNN_ATTR_POINTWISE_MATH_PREC, JN_DNN_TYPE_DATA_TYPE, 1, &precision);
    if (axis >= 0)
        jn_dnn_set_int(g->m, p, JN_DNN_ATTR_POINTWISE_AXIS, axis);
    jn_dnn_finish(g->m, p);
    void *op = jn_dnn_make(g->m, JN_DNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    jn_dnn_set_desc(g->m, op, JN_DNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, p);
    jn_dnn_set_desc(g->m, op, JN_DNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b)
        jn_dnn_set_desc(g->m, op, JN_DNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    if (t)
        jn_dnn_set_desc(g->m, op, JN_DNN_ATTR_OPERATION_POINTWISE_TDESC, t);
    jn_dnn_set_desc(g->m, op, JN_DNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    add(g, op);
    return y;
}
static void *with(graph *g, int mode, void *x, void *b, void *y) {
    return pointwise(g, mode, JN_DNN_DATA_FLOAT, -1, x, b, NULL, y);
}

static void *reduced(graph *g, int how, void *x) {
    const int type = JN_DNN_DATA_FLOAT;
    void *r = jn_dnn_make(g->m, JN_DNN_BACKEND_REDUCTION_DESCRIPTOR);
    jn_dnn_set(g->m, r, JN_DNN_ATTR_REDUCTION_OPERATOR, JN_DNN_TYPE_REDUCTION_OPERATOR_TYPE, 1,
               &how);
    jn_dnn_set(g->m, r, JN_DNN_ATTR_REDUCTION_COMP_TYPE, JN_DNN_TYPE_DATA_TYPE, 1, &type);
    jn_dnn_finish(g->m, r);
    void *y = inner(g, JN_DNN_DATA_FLOAT, true, 0);
    void *op = jn_dnn_make(g->m, JN_DNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    jn_dnn_set_desc(g->m, op, JN_DNN_ATTR_OPERATION_REDUCTION_DESC, r);
    jn_dnn_set_desc(g->m, op, JN_DNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    jn_dnn_set_desc(g->m, op, JN_DNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    add(g, op);
    return y;
}

static void *product(graph *g, void *a, void *b, void *y) {
    const int type = JN_DNN_DATA_FLOAT;
    void *p = jn_dnn_make(g->m, JN_DNN_BACKEND_MATMUL_DESCRIPTOR);
    jn_dnn_set(g->m, p, JN_DNN_ATTR_MATMUL_COMP_TYPE, JN_DNN_TYPE_DATA_TYPE, 1, &type);
    jn_dnn_finish(g->m, p);
    void *op = jn_dnn_make(g->m, JN_DNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    jn_dnn_set_desc(g->m, op, JN_DNN_ATTR_OPERATION_MATMUL_ADESC, a);
    jn_dnn_set_desc(g->m, op, JN_DNN_ATTR_OPERATION_MATMUL_BDESC, b);
    jn_dnn_set_desc(g->m, op, JN_DNN_ATTR_OPERATION_MATMUL_CDESC, y);
    jn_dnn_set_desc(g->m, op, JN_DNN_ATTR_OPERATION_MATMUL_DESC, p);
    add(g, op);
    return y;
}

/* Scores of keys after the query become the lowest number. */
static void *causal(graph *g, void *scores) {
    void *row = pointwise(g, JN_DNN_POINTWISE_GEN_INDEX, JN_DNN_DATA_INT32, 2, scores, NULL, NULL,
                          inner(g, JN_DNN_DATA_INT32, false, 0));
    void *col = pointwise(g, JN_DNN_POINTWISE_GEN_INDEX, JN_DNN_DATA_INT32, 3, scores, NULL, NULL,
                          inner(g, JN_DNN_DATA_INT32, false, 0));
    void *seen = pointwise(g, JN_DNN_POINTWISE_CMP_GE, JN_DNN_DATA_BOOLEAN, -1, row, col, NULL,
                           inner(g, JN_DNN_DATA_BOOLEAN, false, 0));
    return pointwise(g, JN_DNN_POINTWISE_BINARY_SELECT, JN_DNN_DATA_FLOAT, -1, scores,
                     number(g, LOWEST), seen, inner(g, JN_DNN_DATA_FLOAT, false, 0));
}

static graph graph_of(jn_dnn_maker *m, const jn_dnn_key *k) {
    return (graph){.m = m,
                   .b = k->dims[0][0],
                   .h = k->dims[0][1],
                   .l = k->dims[0][2],
                   .s = k->dims[1][2],
                   .next = FIRST_INNER,
                   .align = k->align,
                   .type = jn_dnn_type_of(k->dtype)};
}

/* An operand as it lies, or with its matrices flipped. */
static void *operand(graph *g, const jn_dnn_key *k, int which, int64_t number, bool flip) {
    const int64_t *d = k->dims[which], *s = k->strides[which];
    const int64_t dims[4] = {d[0], d[1], d[2 + flip], d[3 - flip]};
    const int64_t strides[4] = {s[0], s[1], s[2 + flip], s[3 - flip]};
    return tensor(g, number, g->type, dims, strides, 0);
}

/* Row-major: [B, H, rows, cols]. */
static void *plain(graph *g, int64_t number, int64_t rows, int64_t cols) {
    const int64_t dims[4] = {g->b, g->h, rows, cols};
    const int64_t strides[4] = {g->h * rows * cols, rows * cols, cols, 1};
    return tensor(g, number, g->type, dims, strides, 0);
}

/* query key' scale, and the mask's numbers */
static void *scores(graph *g, const jn_dnn_key *k, void *q, void *key, void *scale) {
    const int f = JN_DNN_DATA_FLOAT;
    int64_t h = k->bias[1], each = g->l * g->s;
    void *s = product(g, q, key, inner(g, f, false, 0));
    s = with(g, JN_DNN_POINTWISE_MUL, s, scale, inner(g, f, false, 0));
    if (k->bias[0]) {
        const int64_t dims[4] = {k->bias[0], h, g->l, g->s};
        const int64_t strides[4] = {h * each, each, g->s, 1};
        void *bias = tensor(g, BIAS, f, dims, strides, 0);
        s = with(g, JN_DNN_POINTWISE_ADD, s, bias, inner(g, f, false, 0));
    }
    return s;
}

static void *whole(graph *g) {
    void *all = jn_dnn_make(g->m, JN_DNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    jn_dnn_set(g->m, all, JN_DNN_ATTR_OPERATIONGRAPH_OPS, JN_DNN_TYPE_BACKEND_DESCRIPTOR, g->n,
               g->op);
    jn_dnn_set_device(g->m, all, JN_DNN_ATTR_OPERATIONGRAPH_HANDLE, -1);
    jn_dnn_finish(g->m, all);
    return all;
}

void *jn_dnn_attention_graph(jn_dnn_maker *m, const jn_dnn_key *k) {
    graph g = graph_of(m, k);
    const int f = JN_DNN_DATA_FLOAT;
    void *q = operand(&g, k, 0, Q, false), *key = operand(&g, k, 1, K, true),
         *value = operand(&g, k, 2, V, false), *y = plain(&g, Y, g.l, k->dims[2][3]);
    void *s = scores(&g, k, q, key, number(&g, SCALE));
    if (k->causal)
        s = causal(&g, s);
    void *most = reduced(&g, JN_DNN_REDUCE_TENSOR_MAX, s);
    void *e = with(&g, JN_DNN_POINTWISE_SUB, s, most, inner(&g, f, false, 0));
    e = with(&g, JN_DNN_POINTWISE_EXP, e, NULL, inner(&g, f, false, 0));
    void *sum = reduced(&g, JN_DNN_REDUCE_TENSOR_ADD, e);
    void *log = with(&g, JN_DNN_POINTWISE_LOG, sum, NULL, inner(&g, f, true, 0));
    with(&g, JN_DNN_POINTWISE_ADD, most, log, inner(&g, f, true, LSE));
    void *w = with(&g, JN_DNN_POINTWISE_DIV, e, sum, inner(&g, g.type, false, 0));
    product(&g, w, value, y);
    return whole(&g);
}

/* A matrix seen from its other side: of dims and strides of its own, in the operands' type. */
static void *turned(graph *g, void *x, const int64_t dims[4], const int64_t strides[4]) {
    void *y = tensor(g, g->next++, g->type, dims, strides, JN_DNN_ATTR_TENSOR_IS_VIRTUAL);
    void *op = jn_dnn_make(g->m, JN_DNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    jn_dnn_set_desc(g->m, op, JN_DNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    jn_dnn_set_desc(g->m, op, JN_DNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    add(g, op);
    return y;
}
static void *turned_scores(graph *g, void *x) {
    const int64_t dims[4] = {g->b, g->h, g->s, g->l};
    const int64_t strides[4] = {g->h * g->l * g->s, g->l * g->s, 1, g->s};
    return turned(g, x, dims, strides);
}

/*
 * With w = exp(scores - lse): dv = w' dy, ds = w (dy v' - sum(dy y)) scale, dk = ds' q, dq = ds k.
 * dq is a product of its own and no running sum in memory, which is how the library is told to add
 * in one order.
 */
void *jn_dnn_attention_grad_graph(jn_dnn_maker *m, const jn_dnn_key *k) {
    graph g = graph_of(m, k);
    const int f = JN_DNN_DATA_FLOAT;
    int64_t e = k->dims[0][3], v = k->dims[2][3];
    const int64_t row_dims[4] = {g.b, g.h, g.l, v};
    const int64_t row_strides[4] = {g.h * g.l * v, g.l * v, v, 1};
    void *q = operand(&g, k, 0, Q, false), *key = operand(&g, k, 1, K, true),
         *value = operand(&g, k, 2, V, true), *dy = operand(&g, k, 3, DY, false);
    void *rows = tensor(&g, g.next++, f, row_dims, row_strides, JN_DNN_ATTR_TENSOR_IS_VIRTUAL);
    with(&g, JN_DNN_POINTWISE_MUL, dy, plain(&g, Y, g.l, v), rows);
    void *sums = with(&g, JN_DNN_POINTWISE_MUL, reduced(&g, JN_DNN_REDUCE_TENSOR_ADD, rows),
                      number(&g, ONE), inner(&g, f, true, SUMS));
    void *scale = number(&g, SCALE), *w = scores(&g, k, q, key, scale);
    w = with(&g, JN_DNN_POINTWISE_SUB, w, inner(&g, f, true, LSE), inner(&g, f, false, 0));
    if (k->causal)
        w = causal(&g, w);
    w = with(&g, JN_DNN_POINTWISE_EXP, w, NULL, inner(&g, f, false, 0));
    product(&g, turned_scores(&g, w), dy, plain(&g, DV, g.s, v));
    void *ds = product(&g, dy, value, inner(&g, f, false, 0));
    ds = with(&g, JN_DNN_POINTWISE_SUB, ds, sums, inner(&g, f, false, 0));
    ds = with(&g, JN_DNN_POINTWISE_MUL, ds, w, inner(&g, f, false, 0));
    ds = with(&g, JN_DNN_POINTWISE_MUL, ds, scale, inner(&g, f, false, 0));
    product(&g, turned_scores(&g, ds), q, plain(&g, DK, g.s, e));
    product(&g, ds, turned(&g, key, k->dims[1], k->strides[1]), plain(&g, DQ, g.l, e));
    return whole(&g);
}

bool jn_cuda_dnn_attention(jn_dev_exec *e, const jn_dnn_attention *a) {
    jn_dnn *d = jn_cuda_libs_dnn(e->libs);
    jn_dnn_key k;
    int last = a->backward ? DV : LSE;
    jn_dnn_call c = {.n = LOWEST, .workspace = a->workspace};
    size_t room = a->workspace ? a->workspace_bytes : 0, sums = 0;
    float scale = a->scale, one = 1, lowest = -__builtin_inff();
    uintptr_t all = 16;
    if (a->backward) /* at the workspace's begin */
        sums = ((size_t)(a->dims[0][0] * a->dims[0][1] * a->dims[0][2]) * 4 + 255) & ~(size_t)255;
    if (!d || room < sums)
        return false;
    for (int i = 0; i < last; i++)
        if (i != LSE - 1)
            all |= (uintptr_t)a->data[i];
    memset(&k, 0, sizeof k);
    k.kind = a->backward ? JN_DNN_ATTENTION_GRAD : JN_DNN_ATTENTION;
    k.dtype = a->dtype;
    k.align = (int64_t)(all & -all);
    k.room = (int64_t)(room - sums);
    k.causal = a->causal;
    if (a->bias)
        memcpy(k.bias, a->bias_dims, sizeof k.bias);
    memcpy(k.dims, a->dims, sizeof k.dims);
    memcpy(k.strides, a->strides, sizeof k.strides);
    memcpy(c.data, a->data, (size_t)last * sizeof *c.data);
    if (a->backward) {
        c.data[SUMS - 1] = a->workspace;
        c.data[ONE - 1] = &one;
        c.workspace = room > sums ? (char *)a->workspace + sums : NULL;
    }
    c.data[BIAS - 1] = (void *)a->bias;
    c.data[SCALE - 1] = &scale;
    c.data[LOWEST - 1] = a->causal ? &lowest : NULL;
    return jn_dnn_run(e, d, &k, &c);
}
