/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel of a captured graph costs: see bench/device_bare.h.  The kernels of the two chains
 * of tanh are the same, so their ratio is what janus's capture adds; it should be 1.1 at most.
 */
#include "config.h"

#include "bench/device_bare.h"

#include <stdio.h>

#include "graph/base/status.h"
#include "ops/op_ids.h"

enum { LEAST_REPLAYS = 5 };
static const double window = 0.1; /* seconds */

static janus_status device_error(jn_device *d, int error) {
    return error ? jn_error(JANUS_DEVICE, "%s", d->api->error_text(error)) : JANUS_OK;
}

/* The fastest of some windows of calls of `run`, in seconds a call. */
static janus_status fastest(jn_device *d, janus_status (*run)(jn_device *, void *), void *arg,
                            double *out) {
    JN_TRY(run(d, arg));
    JN_TRY(run(d, arg)); /* janus captures at the second sight */
    JN_TRY(run(d, arg));
    JN_TRY(jn_dev_sync(d));
    *out = 1e30;
    for (int w = 0; w < 5; w++) {
        double from = bench_now(), each;
        int n = 0;
        do {
            JN_TRY(run(d, arg));
            n++;
        } while (n < LEAST_REPLAYS || (n < 200 && bench_now() - from < window / 5));
        JN_TRY(jn_dev_sync(d));
        each = (bench_now() - from) / n;
        if (each < *out)
            *out = each;
    }
    return JANUS_OK;
}

typedef struct bare {
    void *graph;
} bare;
static janus_status replay(jn_device *d, void *arg) {
    return device_error(d, d->api->graph_run(((bare *)arg)->graph, d->stream));
}

/* kernel NULL: empty ones. */
static janus_status bare_chain(jn_device *d, int length, jn_kernel_fn kernel, jn_kargs *k,
                               double *out) {
    jn_dev_exec e = d->exec;
    jn_kargs on_stream = k ? *k : (jn_kargs){0};
    void *stream = NULL, *graph = NULL;
    bare b = {NULL};
    int error = d->api->stream_new(&stream);
    if (!error)
        error = d->api->capture_begin(stream);
    if (!error) {
        e.stream = stream;
        on_stream.par = &e.base;
        for (int i = 0; i < length; i++) {
            if (kernel)
                kernel(&on_stream);
            else
                d->module->nothing(&e);
        }
        error = d->api->capture_end(stream, &graph);
    }
    if (!error)
        error = e.error ? e.error : d->api->graph_make(graph, &b.graph);
    janus_status st = error ? device_error(d, error) : fastest(d, replay, &b, out);
    if (b.graph)
        d->api->graph_free(b.graph);
    if (stream)
        d->api->stream_free(stream);
    return st;
}

typedef struct chain {
    janus_module *m;
    janus_subgraph *g;
    janus_tensor *x;
} chain;

static janus_status build(chain *c, int length) {
    janus_type type = {JANUS_KIND_TENSOR, JANUS_F32, 1, (int64_t[]){1}, NULL};
    janus_value v;
    JN_TRY(janus_module_new(&c->m));
    JN_TRY(janus_subgraph_declare(c->m, "chain", &type, 1, &c->g));
    JN_TRY(janus_subgraph_param(c->g, "x", &type, false, &v));
    for (int i = 0; i < length; i++)
        JN_TRY(janus_build(c->g, "tanh", &v, 1, NULL, &v, 1));
    JN_TRY(janus_subgraph_define(c->g, &v, 1));
    return janus_module_freeze(c->m);
}

static janus_status run_graph(jn_device *d, void *arg) {
    chain *c = arg;
    janus_run_options o = JANUS_RUN_OPTIONS_INIT;
    janus_arg in = {.kind = JANUS_KIND_TENSOR, .t = c->x}, y;
    o.device = d->name;
    JN_TRY(janus_run(c->g, &in, 1, &o, &y, 1, NULL));
    janus_tensor_release(y.t);
    return JANUS_OK;
}

janus_status bench_chains(jn_device *d, int length) {
    double empty = 0, tanh = 0, graph = 0;
    chain c = {0};
    int64_t n = 1, stride = 1;
    janus_status st = jn_dev_tensor(d, JANUS_F32, 1, &n, &c.x);
    if (st == JANUS_OK)
        st = jn_dev_zero(d, jn_tensor_ready_data(c.x), sizeof(float));
    if (st == JANUS_OK)
        st = build(&c, length);
    if (st == JANUS_OK) {
        jn_view v = {jn_tensor_ready_data(c.x), &n, &stride, 1, JANUS_F32, true};
        jn_sig sig = {JN_OP(tanh), &v, &v, 1, 1, NULL};
        jn_kernel_fn kernel = jn_dev_select(d, &sig);
        jn_kargs k = {.in = &v, .out = &v, .n_in = 1, .n_out = 1, .flags = d->words};
        st = kernel ? bare_chain(d, length, NULL, NULL, &empty)
                    : jn_error(JANUS_INTERNAL, "tanh has no kernel");
        if (st == JANUS_OK)
            st = bare_chain(d, length, kernel, &k, &tanh);
    }
    if (st == JANUS_OK)
        st = fastest(d, run_graph, &c, &graph);
    if (st == JANUS_OK) {
        printf("captured chains of %d kernels, us a kernel: empty %.3f, tanh of a number %.3f, "
               "the same by janus %.3f (%.3f x; 1.1 at most is wanted)\n",
               length, 1e6 * empty / length, 1e6 * tanh / length, 1e6 * graph / length,
               graph / tanh);
    }
    if (c.m)
        janus_module_release(c.m);
    if (c.x)
        janus_tensor_release(c.x);
    return st;
}
