/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of an op on a fast kernel of every instruction set and on the reference kernel, operands
 * and attributes as text: what the tests of CPU kernels share.  Included by tests only.
 */
#ifndef JN_TESTS_KERNEL_CHECK_H
#define JN_TESTS_KERNEL_CHECK_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/store/par.h"
#include "graph/base/arena.h"
#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/isa.h"
#include "tests/unit/check.h"

enum { MAX_OPERANDS = 6, MAX_RESULTS = 3 };
static const char *const sets[] = {"generic", "avx2", "avx512"};
static uint64_t state = 4242;

/* What a case draws does not hang on the cases before it. */
static void seed(const char *text) {
    for (; *text; text++)
        state = (state ^ (unsigned char)*text) * 6364136223846793005u;
}

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
    state = 4242;
    seed(op_name), seed(attr_text), seed(operands);
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
        out_views[i] = t->view;
    }
    jn_sig sig = {op, views, out_views, (uint16_t)n, op->n_out, attrs};
    uint32_t want_flags = call(jn_op_impls[op->id].ref(&sig), views, n, want, op->n_out, attrs);
    for (size_t s = 0; s < 3; s++) {
        if (!jn_isa_use(sets[s]))
            continue;
        jn_kernel_fn f = jn_op_impls[op->id].cpu(&sig);
        CU_ASSERT_FATAL(f != NULL);
        for (unsigned i = 0; i < op->n_out; i++) /* nothing of what another set has written */
            memset(got[i].data, 0x5a, (size_t)(numel[i] + 4) * 8);
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

#endif
