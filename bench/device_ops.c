/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of ops on a device through the eager path: `bench/device_ops [DEVICE [SCALE]]`; one line
 * per case.  Cases of tiny tensors show what a launch costs, large ones what the kernel reaches.
 * Then chains of kernels in captured graphs, and the vendor's libraries called bare
 * (device_bare.h). SCALE divides the sizes: a rehearsal.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/device_bare.h"
#include "exec/eager/now.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"

typedef struct bench {
    const char *name, *op;
    int n_in, rank[3];
    int64_t dims[3][4];
    double flops, bytes; /* per call, for the rates; 0: none */
} bench;

static const janus_softmax_attrs softmax_attrs = {sizeof softmax_attrs, -1};
static const janus_matmul_attrs matmul_attrs = {sizeof matmul_attrs, 0, 0};

static const bench cases[] = {
    {"add, 1 element", "add", 2, {1, 1, 0}, {{1}, {1}}, 0, 0},
    {"add, 64 M elements", "add", 2, {1, 1, 0}, {{1 << 26}, {1 << 26}}, 0, 12.0 * (1 << 26)},
    {"add, a row to 64 M",
     "add",
     2,
     {2, 1, 0},
     {{1 << 14, 1 << 12}, {1 << 12}},
     0,
     8.0 * (1 << 26)},
    {"tanh, 64 M elements", "tanh", 1, {1, 0, 0}, {{1 << 26}}, 0, 8.0 * (1 << 26)},
    {"matmul 256", "matmul", 2, {2, 2, 0}, {{256, 256}, {256, 256}}, 2.0 * 256 * 256 * 256, 0},
    {"matmul 4096",
     "matmul",
     2,
     {2, 2, 0},
     {{4096, 4096}, {4096, 4096}},
     2.0 * 4096 * 4096 * 4096,
     0},
    {"softmax 8192 x 1024", "softmax", 1, {2, 0, 0}, {{8192, 1024}}, 0, 8.0 * 8192 * 1024},
    {"sigmoid, 1 element", "sigmoid", 1, {1, 0, 0}, {{1}}, 0, 0},
};

double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static janus_status repeat(jn_device *d, const bench *b, const jn_eager_arg *in, int times) {
    const jn_op *op = jn_op_find(b->op, strlen(b->op));
    const void *attrs = strcmp(b->op, "softmax") == 0  ? (const void *)&softmax_attrs
                        : strcmp(b->op, "matmul") == 0 ? (const void *)&matmul_attrs
                                                       : NULL;
    for (int i = 0; i < times; i++) {
        janus_tensor *y;
        JN_TRY(jn_eager(op, in, (unsigned)b->n_in, attrs, &y, 1));
        janus_tensor_release(y);
    }
    return jn_dev_sync(d);
}

static janus_status run(jn_device *d, const bench *b, int scale) {
    jn_eager_arg in[3];
    janus_status st = JANUS_OK;
    int n = 0, times = 10;
    for (; n < b->n_in && st == JANUS_OK; n++) {
        int64_t dims[4];
        for (int i = 0; i < b->rank[n]; i++)
            dims[i] = b->dims[n][i] > scale ? b->dims[n][i] / scale : b->dims[n][i];
        in[n].kind = JANUS_KIND_TENSOR;
        st = jn_dev_tensor(d, JANUS_F32, b->rank[n], dims, &in[n].t);
        if (st == JANUS_OK)
            st = jn_dev_zero(d, jn_tensor_ready_data(in[n].t), in[n].t->storage->bytes);
        if (st != JANUS_OK)
            break;
    }
    if (st == JANUS_OK)
        st = repeat(d, b, in, times);
    for (double seconds = 0; st == JANUS_OK && seconds < 0.2;) {
        double from = bench_now();
        times *= 2;
        st = repeat(d, b, in, times);
        seconds = bench_now() - from;
        if (st == JANUS_OK && seconds >= 0.2) {
            double each = seconds / times;
            printf("%-24s %10.2f us", b->name, 1e6 * each);
            if (b->flops > 0 && scale == 1)
                printf(" %10.0f GFLOP/s", 1e-9 * b->flops / each);
            if (b->bytes > 0 && scale == 1)
                printf(" %10.0f GB/s", 1e-9 * b->bytes / each);
            printf("\n");
        }
    }
    while (n-- > 0)
        janus_tensor_release(in[n].t);
    return st;
}

int main(int argc, char **argv) {
    jn_device *d;
    int scale = argc > 2 ? atoi(argv[2]) : 1, failed = 0;
    if (scale < 1 || jn_device_named(argc > 1 ? argv[1] : "cuda", &d) != JANUS_OK || !d) {
        printf("SKIP: %s\n", janus_last_error()->message);
        return 77;
    }
    printf("%s, %d multiprocessors, %s\n", d->model, d->processors,
           d->no_libs ? d->no_libs : "cuBLAS");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (run(d, &cases[i], scale) != JANUS_OK) {
            printf("%-24s failed: %s\n", cases[i].name, janus_last_error()->message);
            failed++;
        }
    if (bench_chains(d, scale == 1 ? 1000 : 50) != JANUS_OK) {
        printf("captured chains failed: %s\n", janus_last_error()->message);
        failed++;
    }
    bench_bare(d, scale);
    return failed != 0;
}
