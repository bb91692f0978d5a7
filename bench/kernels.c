/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel benchmark: time per call (selection included), GB/s and GF/s for small and large sizes,
 * beside the rate of bare dnnl_sgemm (or our own product, without oneDNN) measured in the same
 * run.  Usage: bench/kernels [substring of the names to run].
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec/par.h"
#include "graph/base/alloc.h"
#include "ops/attrs.h"
#include "ops/cpu/ew.h"
#include "ops/cpu/gemm.h"

enum { MAX_VIEWS = 6 };

typedef struct call {
    const jn_op *op;
    jn_view in[MAX_VIEWS], out[3];
    int64_t dims[MAX_VIEWS + 3][5], strides[MAX_VIEWS + 3][5];
    unsigned n_in, n_out;
    _Alignas(16) char attrs[256];
    double flops, bytes;
} call;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void run_once(const call *c) {
    jn_sig sig = {c->op, c->in, c->out, (uint16_t)c->n_in, (uint16_t)c->n_out, c->attrs};
    uint32_t flags = 0;
    jn_kargs k = {.in = c->in,
                  .out = c->out,
                  .n_in = (uint16_t)c->n_in,
                  .n_out = (uint16_t)c->n_out,
                  .attrs = c->attrs,
                  .flags = &flags,
                  .par = jn_par_pool()};
    jn_op_impls[c->op->id].cpu (&sig)(&k);
}

/* Best of several windows of about 5 ms, in ns. */
static double time_call(const call *c) {
    run_once(c);
    double t0 = now();
    run_once(c);
    double once = now() - t0, best = 1e300;
    int64_t reps = (int64_t)(5e6 / (once + 1)) + 1;
    for (int w = 0; w < 5; w++) {
        t0 = now();
        for (int64_t i = 0; i < reps; i++)
            run_once(c);
        double t = (now() - t0) / (double)reps;
        best = t < best ? t : best;
    }
    return best;
}

static bool make_view(call *c, jn_view *v, unsigned slot, const char **text) {
    /* "f32[3,4]" */
    static const char *const names[] = {"f32", "f64", "i32", "i64", "bool", "u8"};
    int dtype = 0;
    for (int i = 0; i < 6; i++)
        if (strncmp(*text, names[i], strlen(names[i])) == 0)
            dtype = i;
    const char *p = strchr(*text, '[') + 1;
    int rank = 0;
    size_t n = 1;
    while (*p != ']') {
        char *end;
        c->dims[slot][rank] = strtoll(p, &end, 10);
        n *= (size_t)c->dims[slot][rank++];
        p = *end == ',' ? end + 1 : end;
    }
    *text = p + 1;
    int64_t s = 1;
    for (int d = rank - 1; d >= 0; d--) {
        c->strides[slot][d] = s;
        s *= c->dims[slot][d];
    }
    size_t bytes = n * jn_elem_size(dtype);
    char *data = jn_alloc_aligned(bytes ? bytes : 1);
    if (!data)
        return false;
    for (size_t i = 0; i < n; i++) {
        double x = sin((double)(i % 100003) * 0.7);
        if (dtype == JANUS_F32)
            ((float *)data)[i] = (float)x;
        else if (dtype == JANUS_F64)
            ((double *)data)[i] = x;
        else if (dtype == JANUS_I64)
            ((int64_t *)data)[i] = (int64_t)(i % 10);
        else
            memset(data + i * jn_elem_size(dtype), (int)(i & 1), jn_elem_size(dtype));
    }
    *v = (jn_view){data, c->dims[slot], c->strides[slot], (int16_t)rank, (uint8_t)dtype, true};
    c->bytes += (double)bytes;
    return true;
}

/* "op(f32[2,3],f32[3])->f32[2,3]" */
static bool make_call(call *c, const char *text) {
    memset(c, 0, sizeof *c);
    c->op = jn_op_find(text, strcspn(text, "("));
    if (!c->op || jn_attrs_default(c->op, c->attrs) != JANUS_OK)
        memset(c->attrs, 0, sizeof c->attrs); /* required ones: set by the caller */
    const char *p = strchr(text, '(');
    unsigned slot = 0;
    while (*p++ != ')') {
        if (*p == '_') {
            c->in[c->n_in++].rank = -1;
            p++;
        } else if (!make_view(c, &c->in[c->n_in++], slot++, &p))
            return false;
    }
    p += 1;
    while (*p++ && c->n_out < 3)
        if (!make_view(c, &c->out[c->n_out++], slot++, &p))
            return false;
    return c->op != NULL;
}

static void free_call(call *c) {
    for (unsigned i = 0; i < c->n_in; i++)
        if (c->in[i].rank >= 0)
            jn_free_aligned(c->in[i].data);
    for (unsigned i = 0; i < c->n_out; i++)
        jn_free_aligned(c->out[i].data);
}

static double sgemm_peak(void) {
    enum { N = 384 };
    float *m = jn_alloc_aligned(3 * N * N * sizeof(float));
    if (!m)
        return 0;
    for (int i = 0; i < 3 * N * N; i++)
        m[i] = (float)(i % 7) * 0.1f;
    jn_gemm_args g = {.m = N,
                      .n = N,
                      .k = N,
                      .a = m,
                      .a_row = N,
                      .a_col = 1,
                      .b = m + N * N,
                      .b_row = N,
                      .b_col = 1,
                      .c = m + 2 * N * N,
                      .ldc = N};
    double best = 1e300;
    for (int i = 0; i < 12; i++) {
        double t0 = now();
        if (!jn_onednn_sgemm(&g))
            jn_isa.gemm[JANUS_F32](&g);
        double t = now() - t0;
        best = t < best ? t : best;
    }
    jn_free_aligned(m);
    return 2.0 * N * N * N / best;
}

/* flops: multiply-adds of products, counted from the operands by the caller as `work`. */
static const struct {
    const char *text;
    double work;
} table[] = {
    {"add(f32[10],f32[10])->f32[10]", 0},
    {"add(f32[128],f32[128])->f32[128]", 0},
    {"add(f32[1000],f32[1000])->f32[1000]", 0},
    {"add(f32[1000000],f32[1000000])->f32[1000000]", 0},
    {"add(f32[128,128],f32[128])->f32[128,128]", 0},
    {"add(f32[1,128],f32[128])->f32[1,128]", 0},
    {"mul(f32[128],f32[])->f32[128]", 0},
    {"tanh(f32[32])->f32[32]", 0},
    {"tanh(f32[128])->f32[128]", 0},
    {"sigmoid(f32[128])->f32[128]", 0},
    {"exp(f32[100000])->f32[100000]", 0},
    {"log(f32[100000])->f32[100000]", 0},
    {"tanh(f32[100000])->f32[100000]", 0},
    {"gelu(f32[100000])->f32[100000]", 0},
    {"sin(f32[100000])->f32[100000]", 0},
    {"exp(f64[100000])->f64[100000]", 0},
    {"sum(f32[128])->f32[]", 0},
    {"sum(f32[1000000])->f32[]", 0},
    {"sum_like(f32[256,128],f32[128])->f32[128]", 0},
    {"softmax(f32[1,64])->f32[1,64]", 0},
    {"softmax(f32[256,1000])->f32[256,1000]", 0},
    {"log_softmax(f32[1,5])->f32[1,5]", 0},
    {"cross_entropy(f32[1,5],i64[1])->f32[]", 0},
    {"cross_entropy(f32[256,1000],i64[256])->f32[]", 0},
    {"layer_norm(f32[32,256],f32[256],f32[256])->f32[32,256],f32[32,1],f32[32,1]", 0},
    {"concat(f32[1,128],f32[1,128])->f32[2,128]", 0},
    {"embedding(f32[1000,128],i64[1])->f32[1,128]", 0},
    {"embedding(f32[1000,128],i64[256])->f32[256,128]", 0},
    {"matmul(f32[1,32],f32[32,96])->f32[1,96]", 32 * 96},
    {"matmul(f32[1,128],f32[128,640])->f32[1,640]", 128 * 640},
    {"matmul(f32[1,256],f32[256,640])->f32[1,640]", 256 * 640},
    {"matmul(f32[4,256],f32[256,640])->f32[4,640]", 4 * 256 * 640},
    {"matmul(f32[16,256],f32[256,640])->f32[16,640]", 16 * 256 * 640},
    {"matmul(f32[128,256],f32[256,640])->f32[128,640]", 128 * 256 * 640},
    {"matmul(f32[384,384],f32[384,384])->f32[384,384]", 384 * 384 * 384},
    {"matmul(f32[1024,1024],f32[1024,1024])->f32[1024,1024]", 1024. * 1024 * 1024},
    {"matmul(f64[384,384],f64[384,384])->f64[384,384]", 384 * 384 * 384},
    {"linear(f32[1,32],f32[96,32],f32[96])->f32[1,96]", 32 * 96},
    {"linear(f32[1,128],f32[128,128],f32[128])->f32[1,128]", 128 * 128},
    {"linear(f32[25,128],f32[128,128],f32[128])->f32[25,128]", 25 * 128 * 128},
};

int main(int argc, char **argv) {
    double peak = sgemm_peak();
    printf("instruction set %s, %d threads, bare sgemm 384^3 on one: %.0f GF/s\n\n", jn_isa.name,
           janus_get_num_threads(), peak);
    printf("%-64s %12s %9s %9s %7s\n", "kernel", "ns", "GB/s", "GF/s", "of peak");
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        call c;
        if (argc > 1 && !strstr(table[i].text, argv[1]))
            continue;
        if (!make_call(&c, table[i].text) || !jn_op_impls[c.op->id].cpu) {
            printf("%-64s not there\n", table[i].text);
            continue;
        }
        double ns = time_call(&c);
        printf("%-64s %12.1f %9.2f", table[i].text, ns, c.bytes / ns);
        if (table[i].work > 0) /* "of peak": of one thread's */
            printf(" %9.1f %6.0f%%", 2 * table[i].work / ns, 200 * table[i].work / ns / peak);
        putchar('\n');
        free_call(&c);
    }
    return 0;
}
