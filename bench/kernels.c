/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel benchmark: time per call (selection included) beside what the machine can do, measured in
 * the same run.
 *
 *     bench/kernels [--json FILE] [substring of the names to run]
 *
 * Limits: for products and convolutions the best square product of f32 (oneDNN's or our own,
 * whichever is faster) on as many threads as there are; for the rest a copy that touches as many
 * bytes, by memcpy, in parallel where that is faster.  "limit" is the part of it that is reached:
 * GF/s over GF/s, or GB/s over GB/s.  Operands stay in the cache where they fit, as the copy's do.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec/store/store.h"
#include "graph/base/alloc.h"
#include "graph/base/arena.h"
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
    double bytes;
} call;

static jn_arena arena; /* of attributes */

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

/* "{axis=1;dims=[0,2]}"; moves *text behind it. */
static bool set_attrs(call *c, const char **text) {
    const char *p = *text + 1;
    while (*p != '}') {
        size_t name = strcspn(p, "="), len = strcspn(p, ";}");
        const jn_attr_spec *a = jn_attr_find(c->op, p, name);
        if (!a || jn_attr_parse(a, p + name + 1, len - name - 1, &arena, c->attrs) != JANUS_OK)
            return false;
        p += len + (p[len] == ';');
    }
    *text = p + 1;
    return true;
}

static bool make_view(call *c, jn_view *v, unsigned slot, const char **text) {
    /* "f32[3,4]" */
    static const char *const names[] = {"f32", "f64", "i32", "i64", "bool", "u8", "f16", "bf16"};
    int dtype = 0;
    for (int i = 0; i < 8; i++)
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

/* "op(f32[2,3],f32[3]){attribute=value}->f32[2,3]" */
static bool make_call(call *c, const char *text) {
    memset(c, 0, sizeof *c);
    c->op = jn_op_find(text, strcspn(text, "("));
    if (!c->op || jn_attrs_default(c->op, c->attrs) != JANUS_OK)
        return false;
    const char *p = strchr(text, '(');
    unsigned slot = 0;
    while (*p++ != ')') {
        if (*p == '_') {
            c->in[c->n_in++].rank = -1;
            p++;
        } else if (!make_view(c, &c->in[c->n_in++], slot++, &p))
            return false;
    }
    if (*p == '{' && !set_attrs(c, &p))
        return false;
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

/* ---- limits ------------------------------------------------------------------------------------
 */

static double best_of(int times, void (*body)(void *), void *arg) {
    double best = 1e300;
    for (int i = 0; i < times; i++) {
        double t0 = now();
        body(arg);
        double t = now() - t0;
        best = t < best ? t : best;
    }
    return best;
}

typedef struct product {
    jn_gemm_args g;
    int how; /* 0: oneDNN on one thread, 1: our own on one, 2: as the kernels do, on all */
} product;
static void multiply(void *arg) {
    const product *p = arg;
    if (p->how == 2)
        jn_gemm(JANUS_F32, &p->g, jn_par_pool());
    else if (p->how == 1 || !jn_onednn_sgemm(&p->g))
        jn_isa.gemm[JANUS_F32](&p->g);
}

/* GF/s of square products: [0] oneDNN, [1] our own, [2] all threads. */
static void measure_products(double gflops[3]) {
    static const int64_t sizes[] = {256, 384, 512, 1024};
    gflops[0] = gflops[1] = gflops[2] = 0;
    for (int s = 0; s < 4; s++) {
        int64_t n = sizes[s];
        float *m = jn_alloc_aligned((size_t)(3 * n * n) * sizeof(float));
        if (!m)
            return;
        for (int64_t i = 0; i < 3 * n * n; i++)
            m[i] = (float)(i % 7) * 0.1f;
        product p = {{.m = n,
                      .n = n,
                      .k = n,
                      .a = m,
                      .a_row = n,
                      .a_col = 1,
                      .b = m + n * n,
                      .b_row = n,
                      .b_col = 1,
                      .c = m + 2 * n * n,
                      .ldc = n},
                     0};
        for (; p.how < 3; p.how++) {
            double rate = 2.0 * (double)(n * n * n) / best_of(n < 1000 ? 20 : 5, multiply, &p);
            gflops[p.how] = rate > gflops[p.how] ? rate : gflops[p.how];
        }
        jn_free_aligned(m);
    }
}

typedef struct copy_job {
    char *to, *from;
    size_t bytes;
    int64_t reps;
} copy_job;
static void copy_range(void *arg, int64_t begin, int64_t end) {
    const copy_job *j = arg;
    memcpy(j->to + begin, j->from + begin, (size_t)(end - begin));
}
static void copy_alone(void *arg) {
    const copy_job *j = arg;
    for (int64_t i = 0; i < j->reps; i++) {
        copy_range(arg, 0, (int64_t)j->bytes);
        __asm__ volatile("" ::: "memory");
    }
}
static void copy_together(void *arg) {
    const copy_job *j = arg;
    const jn_par *par = jn_par_pool();
    for (int64_t i = 0; i < j->reps; i++)
        par->run(par, (int64_t)j->bytes, (int64_t)j->bytes / 16 + 1, copy_range, arg);
}

/* GB/s of a copy that touches `bytes` in all, read and written. */
static double copy_rate(double bytes) {
    static double known[48];
    int level = 8;
    while (level < 47 && ldexp(1, level) < bytes)
        level++;
    if (known[level] > 0)
        return known[level];
    copy_job j = {.bytes = (size_t)1 << (level - 1)};
    j.reps = (int64_t)((1 << 24) / j.bytes) + 1;
    j.to = jn_alloc_aligned(2 * j.bytes);
    if (!j.to)
        return 0;
    j.from = j.to + j.bytes;
    memset(j.to, 1, 2 * j.bytes);
    double alone = best_of(7, copy_alone, &j), all = best_of(7, copy_together, &j);
    jn_free_aligned(j.to);
    return known[level] = 2 * (double)j.bytes * (double)j.reps / (alone < all ? alone : all);
}

/* ---- the table ---------------------------------------------------------------------------------
 */

/* work: multiply-adds. */
enum { CONV1 = 50 * 784 * 6 * 25, CONV2 = 50 * 100 * 16 * 150, CONV3 = 16 * 784 * 64 * 576 };
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
    {"tanh(f32[50,128])->f32[50,128]", 0},
    {"sigmoid(f32[50,128])->f32[50,128]", 0},
    {"mul(f32[50,128],f32[50,128])->f32[50,128]", 0},
    {"tanh_grad(f32[50,128],f32[50,128])->f32[50,128]", 0},
    {"sigmoid_grad(f32[50,128],f32[50,128])->f32[50,128]", 0},
    {"addcmul(f32[1000,128],f32[1000,128],f32[1000,128],f64[])->f32[1000,128]", 0},
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
    {"cross_entropy(f32[1000,5],i64[1000]){reduction=0}->f32[1000]", 0},
    {"cross_entropy_grad(f32[1000],f32[1000,5],i64[1000]){reduction=0}->f32[1000,5]", 0},
    {"cross_entropy(f32[256,1000],i64[256])->f32[]", 0},
    {"layer_norm(f32[32,256],f32[256],f32[256])->f32[32,256],f32[32,1],f32[32,1]", 0},
    {"layer_norm_grad(f32[32,256],f32[32,256],f32[256],f32[32],f32[32])->"
     "f32[32,256],f32[256],f32[256]",
     0},
    {"concat(f32[1,128],f32[1,128])->f32[2,128]", 0},
    {"embedding(f32[1000,128],i64[1])->f32[1,128]", 0},
    {"embedding(f32[1000,128],i64[256])->f32[256,128]", 0},
    {"embedding_grad(f32[256,128],i64[256],f32[1000,128])->f32[1000,128]", 0},
    {"gather(f32[1000,128],i64[256,128])->f32[256,128]", 0},
    {"scatter_add(f32[1000,128],i64[256,128],f32[256,128])->f32[1000,128]", 0},
    {"index_add(f32[1000,128],i64[256],f32[256,128])->f32[1000,128]", 0},
    {"index(f32[1000,128],i64[256]){axes=[0]}->f32[256,128]", 0},
    {"index_put(f32[1000,128],f32[256,128],i64[256]){axes=[0]}->f32[1000,128]", 0},
    {"one_hot(i64[1000]){num_classes=10}->i64[1000,10]", 0},
    {"masked_select(f32[100000],bool[100000])->f32[100000],i64[]", 0},
    {"sort(f32[100000])->f32[100000],i64[100000]", 0},
    {"topk(f32[100000]){k=10}->f32[10],i64[10]", 0},
    {"cumsum(f32[256,1000]){axis=1}->f32[256,1000]", 0},
    {"norm(f32[1000000])->f32[]", 0},
    {"pad(f32[256,100]){before=[1,1];after=[1,1]}->f32[258,102]", 0},
    {"flip(f32[256,100]){dims=[1]}->f32[256,100]", 0},
    {"roll(f32[256,100]){shifts=[3];dims=[1]}->f32[256,100]", 0},
    {"tril(f32[256,256])->f32[256,256]", 0},
    {"repeat(f32[256,100]){repeats=[2,2]}->f32[512,200]", 0},
    {"slice_scatter(f32[256,100],f32[256,10],i64[],i64[]){axis=1}->f32[256,100]", 0},
    {"uniform(_,i64[],i64[])->f32[100000]", 0},
    {"normal(_,i64[],i64[])->f32[100000]", 0},
    {"bernoulli_mask(f32[100000],i64[],i64[])->f32[100000]", 0},
    {"randperm(i64[],i64[],i64[])->i64[100000]", 0},
    {"cast(f32[100000]){dtype=bf16}->bf16[100000]", 0},
    {"cast(f16[100000]){dtype=f32}->f32[100000]", 0},
    {"nll_loss(f32[256,1000],i64[256])->f32[]", 0},
    {"mse_loss(f32[100000],f32[100000])->f32[]", 0},
    {"bce_with_logits(f32[100000],f32[100000])->f32[]", 0},
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
    {"conv2d(f32[50,1,28,28],f32[6,1,5,5],f32[6]){padding=[2,2]}->f32[50,6,28,28]", CONV1},
    {"conv2d_weight_grad(f32[50,6,28,28],f32[50,1,28,28],f32[6,1,5,5]){padding=[2,2]}->"
     "f32[6,1,5,5]",
     CONV1},
    {"conv2d(f32[50,6,14,14],f32[16,6,5,5],f32[16])->f32[50,16,10,10]", CONV2},
    {"conv2d_input_grad(f32[50,16,10,10],f32[16,6,5,5],f32[50,6,14,14])->f32[50,6,14,14]", CONV2},
    {"conv2d_weight_grad(f32[50,16,10,10],f32[50,6,14,14],f32[16,6,5,5])->f32[16,6,5,5]", CONV2},
    {"conv2d(f32[16,64,28,28],f32[64,64,3,3],f32[64]){padding=[1,1]}->f32[16,64,28,28]", CONV3},
    {"conv2d_input_grad(f32[16,64,28,28],f32[64,64,3,3],f32[16,64,28,28]){padding=[1,1]}->"
     "f32[16,64,28,28]",
     CONV3},
    {"conv2d_weight_grad(f32[16,64,28,28],f32[16,64,28,28],f32[64,64,3,3]){padding=[1,1]}->"
     "f32[64,64,3,3]",
     CONV3},
    {"max_pool2d(f32[50,6,28,28]){kernel=[2,2]}->f32[50,6,14,14],i64[50,6,14,14]", 0},
    {"max_pool2d_grad(f32[50,6,14,14],i64[50,6,14,14],f32[50,6,28,28])->f32[50,6,28,28]", 0},
    {"avg_pool2d(f32[50,6,28,28]){kernel=[2,2]}->f32[50,6,14,14]", 0},
    {"avg_pool2d_grad(f32[50,6,14,14],f32[50,6,28,28]){kernel=[2,2]}->f32[50,6,28,28]", 0},
    {"batch_norm(f32[16,64,28,28],f32[64],f32[64],_,_)->f32[16,64,28,28],f32[64],f32[64]", 0},
};

static void print_limits(const double gflops[3]) {
    printf("instruction set %s, %d threads\n", jn_isa.name, janus_get_num_threads());
    printf("best square product: oneDNN on one thread %.0f GF/s, our own %.0f, all threads %.0f\n",
           gflops[0], gflops[1], gflops[2]);
    printf("copy of 32 KiB %.0f GB/s, 1 MiB %.0f, 32 MiB %.0f, 256 MiB %.0f\n\n", copy_rate(0x1p15),
           copy_rate(0x1p20), copy_rate(0x1p25), copy_rate(0x1p28));
}

int main(int argc, char **argv) {
    FILE *json = NULL;
    double gflops[3];
    int at = 1;
    const char *comma = "";
    if (argc > 2 && strcmp(argv[1], "--json") == 0) {
        json = fopen(argv[2], "w");
        if (!json) {
            perror(argv[2]);
            return 1;
        }
        at = 3;
    }
    jn_arena_init(&arena, 0);
    measure_products(gflops);
    double best = fmax(gflops[2], fmax(gflops[0], gflops[1]));
    print_limits(gflops);
    if (json)
        fprintf(json, "{\"benchmark\": \"kernels\", \"sgemm_gflops\": %.1f, \"rows\": [", best);
    printf("%-88s %12s %9s %9s %6s\n", "kernel", "ns", "GB/s", "GF/s", "limit");
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        call c;
        if (argc > at && !strstr(table[i].text, argv[at]))
            continue;
        if (!make_call(&c, table[i].text) || !jn_op_impls[c.op->id].cpu) {
            printf("%-88s not there\n", table[i].text);
            continue;
        }
        double ns = time_call(&c), rate = 2 * table[i].work / ns;
        double limit = table[i].work > 0 ? rate / best : c.bytes / ns / copy_rate(c.bytes);
        printf("%-88s %12.1f %9.2f ", table[i].text, ns, c.bytes / ns);
        printf(table[i].work > 0 ? "%9.1f" : "         ", rate);
        printf(" %5.0f%%\n", 100 * limit);
        fflush(stdout);
        if (json)
            fprintf(json,
                    "%s\n  {\"kernel\": \"%s\", \"ns\": %.1f, \"gbytes_per_s\": %.2f, "
                    "\"gflops\": %.2f, \"of_limit\": %.3f}",
                    comma, table[i].text, ns, c.bytes / ns, rate, limit);
        comma = ",";
        free_call(&c);
    }
    if (json) {
        fprintf(json, "\n]}\n");
        return fclose(json) != 0;
    }
    return 0;
}
