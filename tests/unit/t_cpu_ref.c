/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU kernels against the reference kernels, on every instruction set: many shapes, dtypes,
 * broadcasts and strides, empty and 0-d tensors, special values, results written over operand 0.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/par.h"
#include "graph/base/arena.h"
#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "tests/unit/check.h"

enum { MAX_OPERANDS = 6, MAX_RESULTS = 3 };
static const char *const sets[] = {"generic", "avx2", "avx512"};
static uint64_t state = 4242;

static uint64_t random_bits(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

typedef struct tensor {
    int dtype, rank;
    int64_t dims[8], strides[8];
    char *data;
    jn_view view;
} tensor;

static void store(tensor *t, int64_t at, double x) {
    switch (t->dtype) {
    case JANUS_F32:
        ((float *)t->data)[at] = (float)x;
        break;
    case JANUS_F64:
        ((double *)t->data)[at] = x;
        break;
    case JANUS_I32:
        ((int32_t *)t->data)[at] = (int32_t)x;
        break;
    case JANUS_I64:
        ((int64_t *)t->data)[at] = (int64_t)x;
        break;
    case JANUS_BOOL:
        ((uint8_t *)t->data)[at] = x > 0;
        break;
    case JANUS_U8:
        ((uint8_t *)t->data)[at] = (uint8_t)fabs(x);
        break;
    default:
        ((uint16_t *)t->data)[at] = (uint16_t)((int)fabs(x) * 16);
    }
}

static double load(const tensor *t, int64_t at) {
    switch (t->dtype) {
    case JANUS_F32:
        return (double)((const float *)t->data)[at];
    case JANUS_F64:
        return ((const double *)t->data)[at];
    case JANUS_I32:
        return ((const int32_t *)t->data)[at];
    case JANUS_I64:
        return (double)((const int64_t *)t->data)[at];
    case JANUS_BOOL:
    case JANUS_U8:
        return ((const uint8_t *)t->data)[at];
    default:
        return ((const uint16_t *)t->data)[at];
    }
}

static int64_t fill(tensor *t, bool special, int64_t limit) {
    int64_t span = 1, n = 1;
    for (int d = 0; d < t->rank; d++) {
        span += t->strides[d] * (t->dims[d] > 0 ? t->dims[d] - 1 : 0);
        n *= t->dims[d];
    }
    t->data = malloc((size_t)(span + 4) * 8);
    for (int64_t i = 0; i < span; i++) {
        double x = (double)(int64_t)(random_bits() % 20001) * 5e-4 - 5.0;
        bool is_float = t->dtype == JANUS_F32 || t->dtype == JANUS_F64;
        if (limit)
            x = (double)(random_bits() % (uint64_t)limit);
        else if (special && is_float && random_bits() % 6 == 0) {
            static const double values[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e300, 1e-40, 1.0};
            x = values[random_bits() % 8];
        }
        store(t, i, x);
    }
    return n;
}

/* "f32[2,3]", "f32~[2,3]" (odd strides), "i64<7[4]" (0..6), "2.5" or "3" (a scalar), "_". */
static const char *parse(tensor *t, const char *p, bool special) {
    static const char *const names[] = {"f32", "f64", "i32", "i64", "bool", "u8"};
    memset(t, 0, sizeof *t);
    if (*p == '_') {
        t->view.rank = -1;
        return p + 1;
    }
    char *end;
    double x = strtod(p, &end);
    if (end != p) {
        bool whole = memchr(p, '.', (size_t)(end - p)) == NULL;
        t->dtype = whole ? JANUS_I64 : JANUS_F64;
        t->data = malloc(8);
        store(t, 0, x);
        t->view = (jn_view){t->data, t->dims, t->strides, 0, (uint8_t)t->dtype, true};
        return end;
    }
    for (int i = 0; i < 6; i++)
        if (strncmp(p, names[i], strlen(names[i])) == 0)
            t->dtype = i;
    p += strlen(names[t->dtype]);
    bool odd = *p == '~';
    p += odd;
    int64_t limit = 0;
    if (*p == '<')
        limit = strtoll(p + 1, (char **)&p, 10);
    for (p++; *p != ']';) {
        t->dims[t->rank++] = strtoll(p, (char **)&p, 10);
        p += *p == ',';
    }
    bool contiguous = true;
    int64_t s = 1;
    if (odd && t->rank > 1 && random_bits() % 2) { /* transposed */
        for (int d = 0; d < t->rank; d++) {
            t->strides[d] = s;
            s *= t->dims[d] + 1;
        }
        contiguous = false;
    } else {
        for (int d = t->rank - 1; d >= 0; d--) {
            s *= odd ? 2 : 1;
            t->strides[d] = s;
            s *= t->dims[d];
            contiguous = contiguous && !odd;
        }
    }
    fill(t, special, limit);
    t->view =
        (jn_view){t->data, t->dims, t->strides, (int16_t)t->rank, (uint8_t)t->dtype, contiguous};
    return p + 1;
}

static int64_t dims_store[MAX_RESULTS][8];
static unsigned dims_used;
static int64_t *dims_of(jn_infer *c, unsigned rank) {
    (void)c, (void)rank;
    return dims_store[dims_used++];
}

static bool close_enough(double a, double b, int dtype, double tolerance, double scale) {
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (a == b)
        return true;
    double unit = dtype == JANUS_F32 ? 1.2e-7 : 2.3e-16;
    if (dtype == JANUS_F32 && (isinf(a) || isinf(b))) /* at the edge of the range */
        return isinf(a) ? (fabs(b) > 3.39e38 && (a > 0) == (b > 0))
                        : (fabs(a) > 3.39e38 && (a > 0) == (b > 0));
    return (dtype == JANUS_F32 || dtype == JANUS_F64) &&
           fabs(a - b) <= tolerance * unit * (fabs(b) + scale);
}

/* Calls one kernel with fresh results. */
static uint32_t call(jn_kernel_fn f, const jn_view *in, unsigned n_in, tensor *out, unsigned n_out,
                     const void *attrs) {
    jn_view views[MAX_RESULTS];
    for (unsigned i = 0; i < n_out; i++) {
        out[i].view.data = out[i].data;
        views[i] = out[i].view;
    }
    uint32_t flags = 0;
    jn_kargs k = {.in = in,
                  .out = views,
                  .n_in = (uint16_t)n_in,
                  .n_out = (uint16_t)n_out,
                  .attrs = attrs,
                  .flags = &flags,
                  .par = jn_par_pool()};
    f(&k);
    return flags;
}

static void report(const char *op, const char *attrs, const char *operands, unsigned result,
                   int64_t at, double got, double want) {
    printf("\n%s: %s{%s}(%s) result %u [%lld]: got %.9g, expected %.9g\n", jn_isa.name, op, attrs,
           operands, result, (long long)at, got, want);
}

/* `attrs`: "name=value;name=value". */
static void check(const char *op_name, const char *attr_text, const char *operands,
                  double tolerance, double scale, bool special) {
    const jn_op *op = jn_op_find(op_name, strlen(op_name));
    CU_ASSERT_FATAL(op != NULL);
    _Alignas(16) char attrs[512] = {0};
    jn_arena arena;
    jn_arena_init(&arena, 0);
    for (const jn_attr_spec *s = op->attrs; s->name; s++)
        if (s->dflt)
            CU_ASSERT_FATAL(jn_attr_parse(s, s->dflt, strlen(s->dflt), &arena, attrs) == JANUS_OK);
    for (const char *p = attr_text; *p;) {
        size_t name = strcspn(p, "="), value = strcspn(p + name + 1, ";");
        const jn_attr_spec *s = op->attrs;
        while (s->name && (strlen(s->name) != name || strncmp(s->name, p, name) != 0))
            s++;
        CU_ASSERT_FATAL(s->name != NULL);
        CU_ASSERT_FATAL(jn_attr_parse(s, p + name + 1, value, &arena, attrs) == JANUS_OK);
        p += name + 1 + value;
        p += *p == ';';
    }
    tensor in[MAX_OPERANDS];
    jn_view views[MAX_OPERANDS];
    jn_type types[MAX_OPERANDS];
    const jn_type *type_ptrs[MAX_OPERANDS];
    const int64_t *values[MAX_OPERANDS];
    unsigned n = 0;
    for (const char *p = operands; *p; n++) {
        p = parse(&in[n], p, special);
        p += *p == ' ';
        views[n] = in[n].view;
        jn_accept accept = jn_op_accept(op, n);
        bool scalar = accept == JN_ACCEPT_SCALAR || accept == JN_ACCEPT_SHAPE;
        types[n] = jn_tensor_type((janus_dtype)in[n].dtype, in[n].rank, in[n].dims);
        if (scalar)
            types[n] = jn_scalar_type(in[n].dtype == JANUS_I64 ? JANUS_KIND_INT : JANUS_KIND_FLOAT);
        type_ptrs[n] = views[n].rank < 0 ? NULL : &types[n];
        values[n] = scalar && in[n].dtype == JANUS_I64 ? (const int64_t *)in[n].data : NULL;
    }
    jn_type out_types[MAX_RESULTS];
    dims_used = 0;
    jn_infer c = {.op = op,
                  .n_in = n,
                  .in = type_ptrs,
                  .cv = values,
                  .attrs = attrs,
                  .n_out = op->n_out,
                  .out = out_types,
                  .dims_of = dims_of};
    if (jn_infer_run(&c) != JANUS_OK) {
        printf("\n%s(%s): %s\n", op_name, operands, janus_last_error()->message);
        CU_FAIL_FATAL("inference failed");
    }
    tensor got[MAX_RESULTS], want[MAX_RESULTS];
    jn_view out_views[MAX_RESULTS];
    int64_t numel[MAX_RESULTS];
    for (unsigned i = 0; i < op->n_out; i++) {
        tensor *t = &want[i];
        memset(t, 0, sizeof *t);
        t->dtype = out_types[i].dtype;
        t->rank = out_types[i].rank;
        memcpy(t->dims, out_types[i].dims, (size_t)t->rank * sizeof *t->dims);
        int64_t s = 1;
        for (int d = t->rank - 1; d >= 0; d--) {
            t->strides[d] = s;
            s *= t->dims[d];
        }
        numel[i] = fill(t, false, 0);
        t->view = (jn_view){NULL, t->dims, t->strides, (int16_t)t->rank, (uint8_t)t->dtype, true};
        got[i] = *t;
        got[i].data = malloc((size_t)(numel[i] + 4) * 8);
        memset(got[i].data, 0x5a, (size_t)(numel[i] + 4) * 8);
        out_views[i] = t->view;
    }
    jn_sig sig = {op, views, out_views, (uint16_t)n, op->n_out, attrs};
    uint32_t want_flags = call(jn_op_impls[op->id].ref(&sig), views, n, want, op->n_out, attrs);
    for (size_t s = 0; s < 3; s++) {
        if (!jn_isa_use(sets[s]))
            continue;
        jn_kernel_fn f = jn_op_impls[op->id].cpu(&sig);
        CU_ASSERT_FATAL(f != NULL);
        uint32_t flags = call(f, views, n, got, op->n_out, attrs);
        CU_ASSERT_EQUAL(flags, want_flags);
        bool bad = false;
        for (unsigned i = 0; i < op->n_out; i++)
            for (int64_t j = 0; j < numel[i] && !bad; j++)
                if (!close_enough(load(&got[i], j), load(&want[i], j), want[i].dtype, tolerance,
                                  scale)) {
                    report(op_name, attr_text, operands, i, j, load(&got[i], j), load(&want[i], j));
                    bad = true;
                }
        CU_ASSERT(!bad);
        if ((op->flags & JN_OP_INPLACE0) && views[0].contiguous && numel[0] > 0 &&
            in[0].rank == got[0].rank && in[0].dtype == got[0].dtype &&
            memcmp(in[0].dims, got[0].dims, sizeof in[0].dims) == 0) {
            tensor copy = got[0];
            copy.data = malloc((size_t)numel[0] * 8);
            memcpy(copy.data, in[0].data, (size_t)numel[0] * jn_elem_size(in[0].dtype));
            jn_view over[MAX_OPERANDS];
            memcpy(over, views, sizeof over);
            over[0].data = copy.data;
            call(f, over, n, &copy, 1, attrs);
            CU_ASSERT(
                memcmp(copy.data, got[0].data, (size_t)numel[0] * jn_elem_size(got[0].dtype)) == 0);
            free(copy.data);
        }
    }
    for (unsigned i = 0; i < op->n_out; i++)
        free(got[i].data), free(want[i].data);
    for (unsigned i = 0; i < n; i++)
        free(in[i].data);
    jn_arena_free(&arena);
}

/* The operands with X replaced by each dtype of `dtypes`. */
static void each_dtype(const char *op, const char *attrs, const char *dtypes, const char *operands,
                       double tolerance, double scale, bool special) {
    for (const char *d = dtypes; *d;) {
        size_t len = strcspn(d, " ");
        char text[256], *t = text;
        for (const char *p = operands; *p; p++) {
            if (*p == 'X') {
                memcpy(t, d, len);
                t += len;
            } else {
                *t++ = *p;
            }
        }
        *t = 0;
        check(op, attrs, text, tolerance, scale, special);
        d += len + (d[len] == ' ');
    }
}

#define FLOATS "f32 f64"
#define NUMBERS "f32 f64 i32 i64 u8"
#define ALL "f32 f64 i32 i64 u8 bool"

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
    static const char *const floats[] = {"div", "tanh_grad", "sigmoid_grad", "relu_grad"};
    static const char *const unary[] = {
        "exp", "log",  "log1p",   "expm1", "sqrt",     "rsqrt",      "reciprocal", "sin",
        "cos", "tanh", "sigmoid", "silu",  "softplus", "leaky_relu", "elu",        "erf"};
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
            each_dtype(floats[i], "", FLOATS, pairs[p], 6, i == 1 || i == 2 ? 100 : 1e-30,
                       i != 1 && i != 2);
        each_dtype("pow", "", NUMBERS, pairs[p], 4, 1e-30, true);
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
    each_dtype("batch_norm", "training=false", FLOATS, "X[6,3,9] X[3] X[3] X[3] X<3[3]", 100, 3,
               false);
    each_dtype("batch_norm_grad", "", FLOATS, "X[6,3,5,7] X[6,3,5,7] X[3] X[3] X[3]", 4000, 30,
               false);
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
