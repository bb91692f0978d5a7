/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions by cuDNN 9's graph API, and plans of its graphs.
 *
 * A convolution becomes a graph of one operation; the library lists engine configurations, the best
 * first, and the first is taken -- or, with jn_dev_exec.fastest_conv, of the first CANDIDATES the
 * one that is measured to be the fastest -- that is deterministic (a run's bits depend on its
 * inputs alone), keeps the precision asked for (no TF32 unless allowed, no narrowing of inputs or
 * sums) and fits the workspace.  Plans are kept by shape for as long as the library is open:
 * kernels of a plan may be part of a capture, so no plan is given up for another; when JN_DNN_PLANS
 * are kept, other shapes use the own kernels.  What the library does not do is remembered, too.
 * Callers hold the device's lock.
 */
#include "config.h"

#include "ops/cuda/dnn_graph.h"
#include "ops/cuda/kernels.h"
#include "ops/cuda/libs.h"

#include <string.h>

/* Of f32 most proposals are TF32's, which come first and are passed over. */
enum { MOST_CONFIGS = 192, MOST_NOTES = 16, CANDIDATES = 10 };

static void *make_tensor(jn_dnn_maker *m, const jn_dnn_key *k, int which) {
    void *t = jn_dnn_make(m, JN_DNN_BACKEND_TENSOR_DESCRIPTOR);
    int type = jn_dnn_type_of(k->dtype);
    jn_dnn_set(m, t, JN_DNN_ATTR_TENSOR_DATA_TYPE, JN_DNN_TYPE_DATA_TYPE, 1, &type);
    jn_dnn_set(m, t, JN_DNN_ATTR_TENSOR_DIMENSIONS, JN_DNN_TYPE_INT64, 4, k->dims[which]);
    jn_dnn_set(m, t, JN_DNN_ATTR_TENSOR_STRIDES, JN_DNN_TYPE_INT64, 4, k->strides[which]);
    jn_dnn_set_int(m, t, JN_DNN_ATTR_TENSOR_UNIQUE_ID, which + 1);
    jn_dnn_set_int(m, t, JN_DNN_ATTR_TENSOR_BYTE_ALIGNMENT, k->align);
    jn_dnn_finish(m, t);
    return t;
}

/* By kind: the operation and its attributes for x, w, y, the convolution and the factors. */
static const struct {
    int operation, tensor[3], convolution, alpha, beta;
} forms[] = {
    [JN_DNN_FORWARD] = {JN_DNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                        {JN_DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                         JN_DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                         JN_DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
                        JN_DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                        JN_DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                        JN_DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    [JN_DNN_INPUT_GRAD] = {JN_DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                           {JN_DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                            JN_DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                            JN_DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
                           JN_DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                           JN_DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                           JN_DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    [JN_DNN_WEIGHT_GRAD] = {JN_DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                            {JN_DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                             JN_DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                             JN_DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
                            JN_DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                            JN_DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                            JN_DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

static void *make_convolution(jn_dnn_maker *m, const jn_dnn_key *k) {
    void *c = jn_dnn_make(m, JN_DNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    int type = k->dtype == JANUS_F64 ? JN_DNN_DATA_DOUBLE : JN_DNN_DATA_FLOAT;
    int mode = JN_DNN_CROSS_CORRELATION;
    jn_dnn_set(m, c, JN_DNN_ATTR_CONVOLUTION_COMP_TYPE, JN_DNN_TYPE_DATA_TYPE, 1, &type);
    jn_dnn_set(m, c, JN_DNN_ATTR_CONVOLUTION_CONV_MODE, JN_DNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    jn_dnn_set_int(m, c, JN_DNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2);
    jn_dnn_set(m, c, JN_DNN_ATTR_CONVOLUTION_DILATIONS, JN_DNN_TYPE_INT64, 2, k->dilation);
    jn_dnn_set(m, c, JN_DNN_ATTR_CONVOLUTION_FILTER_STRIDES, JN_DNN_TYPE_INT64, 2, k->stride);
    jn_dnn_set(m, c, JN_DNN_ATTR_CONVOLUTION_PRE_PADDINGS, JN_DNN_TYPE_INT64, 2, k->pad);
    jn_dnn_set(m, c, JN_DNN_ATTR_CONVOLUTION_POST_PADDINGS, JN_DNN_TYPE_INT64, 2, k->pad);
    jn_dnn_finish(m, c);
    return c;
}

static void *make_graph(jn_dnn_maker *m, const jn_dnn_key *k) {
    const double one_d = 1, zero_d = 0;
    const float one_f = 1, zero_f = 0;
    bool wide = k->dtype == JANUS_F64;
    int type = wide ? JN_DNN_TYPE_DOUBLE : JN_DNN_TYPE_FLOAT;
    void *op = jn_dnn_make(m, forms[k->kind].operation);
    for (int i = 0; i < 3; i++)
        jn_dnn_set_desc(m, op, forms[k->kind].tensor[i], make_tensor(m, k, i));
    jn_dnn_set_desc(m, op, forms[k->kind].convolution, make_convolution(m, k));
    jn_dnn_set(m, op, forms[k->kind].alpha, type, 1, wide ? (const void *)&one_d : &one_f);
    jn_dnn_set(m, op, forms[k->kind].beta, type, 1, wide ? (const void *)&zero_d : &zero_f);
    jn_dnn_finish(m, op);
    void *graph = jn_dnn_make(m, JN_DNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    jn_dnn_set_desc(m, graph, JN_DNN_ATTR_OPERATIONGRAPH_OPS, op);
    jn_dnn_set_device(m, graph, JN_DNN_ATTR_OPERATIONGRAPH_HANDLE, -1);
    jn_dnn_finish(m, graph);
    return graph;
}

/* Whether an engine computes what the own kernels would, and the same each time. */
static bool exact_enough(jn_dnn *d, const jn_dnn_key *k, void *config) {
    void *engine = NULL;
    int notes[MOST_NOTES];
    int64_t n = 0;
    if (d->api.BackendCreateDescriptor(JN_DNN_BACKEND_ENGINE_DESCRIPTOR, &engine) !=
        JN_DNN_STATUS_SUCCESS)
        return false;
    bool ok = d->api.BackendGetAttribute(config, JN_DNN_ATTR_ENGINECFG_ENGINE,
                                         JN_DNN_TYPE_BACKEND_DESCRIPTOR, 1, &n,
                                         &engine) == JN_DNN_STATUS_SUCCESS &&
              d->api.BackendGetAttribute(engine, JN_DNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                         JN_DNN_TYPE_NUMERICAL_NOTE, MOST_NOTES, &n,
                                         notes) == JN_DNN_STATUS_SUCCESS &&
              n <= MOST_NOTES;
    for (int64_t i = 0; ok && i < n; i++)
        ok = notes[i] != JN_DNN_NUMERICAL_NOTE_NONDETERMINISTIC &&
             notes[i] != JN_DNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION &&
             ((notes[i] != JN_DNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS &&
               notes[i] != JN_DNN_NUMERICAL_NOTE_TENSOR_CORE) ||
              k->dtype != JANUS_F32 || (k->tf32 && notes[i] == JN_DNN_NUMERICAL_NOTE_TENSOR_CORE));
    d->api.BackendDestroyDescriptor(engine);
    return ok;
}

/* The plan of a configuration if it fits the workspace. */
static void *plan_of(jn_dnn *d, const jn_dnn_key *k, void *config) {
    jn_dnn_maker m = {.d = d, .ok = true};
    int64_t bytes = 0, n = 0;
    void *plan = jn_dnn_make(&m, JN_DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    jn_dnn_set_device(&m, plan, JN_DNN_ATTR_EXECUTION_PLAN_HANDLE,
                      JN_DNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
    jn_dnn_set_desc(&m, plan, JN_DNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    jn_dnn_finish(&m, plan);
    if (m.ok &&
        d->api.BackendGetAttribute(plan, JN_DNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                   JN_DNN_TYPE_INT64, 1, &n, &bytes) == JN_DNN_STATUS_SUCCESS &&
        bytes <= k->room)
        return plan;
    if (plan)
        d->api.BackendDestroyDescriptor(plan);
    return NULL;
}

/* The first plans that will do, `most` at most, of those the library proposes in this mode. */
static int propose(jn_dnn *d, const jn_dnn_key *k, void *graph, int mode, jn_dnn_way *ways,
                   int most) {
    jn_dnn_maker m = {.d = d, .ok = true};
    void *configs[MOST_CONFIGS];
    int64_t n = 0;
    int made = 0, found = 0;
    void *heuristic = jn_dnn_make(&m, JN_DNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    jn_dnn_set_desc(&m, heuristic, JN_DNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    jn_dnn_set(&m, heuristic, JN_DNN_ATTR_ENGINEHEUR_MODE, JN_DNN_TYPE_HEUR_MODE, 1, &mode);
    jn_dnn_set_device(&m, heuristic, -1, JN_DNN_ATTR_ENGINEHEUR_DEVICEPROP);
    jn_dnn_finish(&m, heuristic);
    while (m.ok && made < MOST_CONFIGS &&
           d->api.BackendCreateDescriptor(JN_DNN_BACKEND_ENGINECFG_DESCRIPTOR, &configs[made]) ==
               JN_DNN_STATUS_SUCCESS)
        made++;
    if (m.ok && d->api.BackendGetAttribute(heuristic, JN_DNN_ATTR_ENGINEHEUR_RESULTS,
                                           JN_DNN_TYPE_BACKEND_DESCRIPTOR, made, &n,
                                           configs) == JN_DNN_STATUS_SUCCESS)
        for (int64_t i = 0; i < n && i < made && found < most; i++)
            if (exact_enough(d, k, configs[i]) && (ways[found].plan = plan_of(d, k, configs[i])))
                found++;
    while (made > 0)
        d->api.BackendDestroyDescriptor(configs[--made]);
    if (heuristic)
        d->api.BackendDestroyDescriptor(heuristic);
    return found;
}

static bool execute(jn_dnn *d, const jn_dnn_key *k, const jn_dnn_way *way, const jn_dnn_call *c,
                    void *stream) {
    jn_dnn_maker m = {.d = d, .ok = true};
    if (d->api.SetStream(d->handle, stream) != JN_DNN_STATUS_SUCCESS)
        return false;
    if (!way->plan)
        return jn_dnn_winograd_run(d, k, way, c);
    int64_t ids[JN_DNN_POINTERS], n = 0;
    void *data[JN_DNN_POINTERS];
    for (int i = 0; i < c->n; i++)
        if (c->data[i]) {
            ids[n] = i + 1;
            data[n++] = c->data[i];
        }
    void *pack = jn_dnn_make(&m, JN_DNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    jn_dnn_set(&m, pack, JN_DNN_ATTR_VARIANT_PACK_UNIQUE_IDS, JN_DNN_TYPE_INT64, n, ids);
    jn_dnn_set(&m, pack, JN_DNN_ATTR_VARIANT_PACK_DATA_POINTERS, JN_DNN_TYPE_VOID_PTR, n, data);
    jn_dnn_set(&m, pack, JN_DNN_ATTR_VARIANT_PACK_WORKSPACE, JN_DNN_TYPE_VOID_PTR, 1,
               &c->workspace);
    jn_dnn_finish(&m, pack);
    bool ok = m.ok && d->api.BackendExecute(d->handle, way->plan, pack) == JN_DNN_STATUS_SUCCESS;
    if (pack)
        d->api.BackendDestroyDescriptor(pack);
    return ok;
}

static void give_up(jn_dnn *d, jn_dnn_way *way) {
    if (way->plan)
        d->api.BackendDestroyDescriptor(way->plan);
    jn_dnn_winograd_free(d, way);
}

/* What is measured: several runs of a way. */
typedef struct contest {
    jn_dnn *d;
    const jn_dnn_key *k;
    const jn_dnn_way *way;
    void *stream;
    const jn_dnn_call *call;
    int times;
    bool ok;
} contest;
static void run_contest(void *arg) {
    contest *c = arg;
    for (int i = 0; i < c->times && c->ok; i++)
        c->ok = execute(c->d, c->k, c->way, c->call, c->stream);
}

/* The fastest of some ways, on the operands of the first call: each overwrites its result, so it
 * may be run again.  The first of them where nothing can be measured. */
static int fastest(jn_dnn *d, const jn_dnn_key *k, const jn_dev_exec *e, const jn_dnn_call *call,
                   const jn_dnn_way *ways, int n) {
    enum { ROUNDS = 3, TIMES = 4 };
    float best = 0;
    int at = -1;
    for (int i = 0; i < n; i++) {
        float least = 0, ms = 0;
        int seen = 0;
        for (int round = 0; round < ROUNDS; round++) { /* the first one warms up */
            contest c = {d, k, &ways[i], e->stream, call, round ? TIMES : 1, true};
            if (e->elapsed(e->stream, run_contest, &c, &ms) != 0)
                return 0;
            if (!c.ok)
                break;
            if (round && (!seen++ || ms < least))
                least = ms;
        }
        if (seen && (at < 0 || least < best)) {
            best = least;
            at = i;
        }
    }
    return at < 0 ? 0 : at;
}

static jn_dnn_way find_way(jn_dnn *d, const jn_dnn_key *k, const jn_dev_exec *e,
                           const jn_dnn_call *call) {
    jn_dnn_maker m = {.d = d, .ok = true};
    jn_dnn_way ways[CANDIDATES + 1] = {{NULL, {NULL}}}, none = {NULL, {NULL}};
    bool measures = k->fastest && e->elapsed;
    int n = 0, most = measures ? CANDIDATES : 1, at = 0;
    void *graph = k->kind == JN_DNN_ATTENTION        ? jn_dnn_attention_graph(&m, k)
                  : k->kind == JN_DNN_ATTENTION_GRAD ? jn_dnn_attention_grad_graph(&m, k)
                                                     : make_graph(&m, k);
    if (m.ok)
        n = propose(d, k, graph, JN_DNN_HEUR_MODE_A, ways, most);
    if (m.ok && n < most)
        n += propose(d, k, graph, JN_DNN_HEUR_MODE_FALLBACK, ways + n, most - n);
    /* after a plan: where nothing can be measured just now, the first one is taken */
    if (n > 0 && measures && jn_dnn_winograd_make(d, k, &ways[n]))
        n++;
    if (n > 1)
        at = fastest(d, k, e, call, ways, n);
    for (int i = 0; i < n; i++)
        if (i != at)
            give_up(d, &ways[i]);
    while (m.n > 0)
        d->api.BackendDestroyDescriptor(m.made[--m.n]);
    return n ? ways[at] : none;
}

static jn_dnn_plan *find(jn_dnn *d, const jn_dnn_key *k, const jn_dev_exec *e,
                         const jn_dnn_call *call) {
    const int64_t *words = (const int64_t *)(const void *)k;
    uint64_t h = 0;
    for (size_t i = 0; i < sizeof *k / sizeof *words; i++)
        h = (h ^ (uint64_t)words[i]) * 0x9E3779B97F4A7C15u;
    uint32_t at = h >> 32 & (JN_DNN_PLANS - 1);
    jn_dnn_plan *p = &d->plans[at];
    for (; p->used; p = &d->plans[++at & (JN_DNN_PLANS - 1)])
        if (memcmp(&p->key, k, sizeof *k) == 0)
            return p;
    if (d->n_plans == JN_DNN_PLANS / 4 * 3)
        return NULL;
    p->key = *k;
    p->used = true;
    p->way = find_way(d, k, e, call);
    d->n_plans++;
    return p;
}

bool jn_dnn_run(jn_dev_exec *e, jn_dnn *d, const jn_dnn_key *k, const jn_dnn_call *c) {
    jn_dnn_plan *p = find(d, k, e, c);
    if (!p || (!p->way.plan && !p->way.older[0]))
        return false;
    if (execute(d, k, &p->way, c, e->stream))
        return true;
    e->error = JN_CUDA_LIBRARY_FAILED; /* part of it may be on the stream */
    e->failed = "cuDNN";
    return false;
}

bool jn_cuda_dnn_conv(jn_dev_exec *e, const jn_dnn_conv *c) {
    jn_dnn *d = jn_cuda_libs_dnn(e->libs);
    jn_dnn_key k;
    uintptr_t all = 16;
    if (!d)
        return false;
    memset(&k, 0, sizeof k);
    for (int i = 0; i < 3; i++)
        all |= (uintptr_t)c->data[i];
    k.align = (int64_t)(all & -all);
    k.kind = c->kind;
    k.dtype = c->dtype;
    k.tf32 = e->allow_tf32_conv;
    k.fastest = e->fastest_conv;
    k.room = c->workspace ? (int64_t)c->workspace_bytes : 0;
    memcpy(k.dims, c->dims, sizeof c->dims);
    memcpy(k.strides, c->strides, sizeof c->strides);
    memcpy(k.stride, c->stride, sizeof k.stride);
    memcpy(k.pad, c->pad, sizeof k.pad);
    memcpy(k.dilation, c->dilation, sizeof k.dilation);
    jn_dnn_call call = {.n = 3, .workspace = c->workspace};
    memcpy(call.data, c->data, sizeof c->data);
    return jn_dnn_run(e, d, &k, &call);
}

bool jn_dnn_start(jn_dnn *d, const jn_dnn_api *api, const char **why) {
    memset(d, 0, sizeof *d);
    d->api = *api;
    if (d->api.GetVersion() / 10000 == 9 && d->api.Create(&d->handle) == JN_DNN_STATUS_SUCCESS)
        return true;
    d->handle = NULL;
    *why = "cuDNN could not be started, or is not version 9";
    return false;
}

void jn_dnn_stop(jn_dnn *d) {
    if (!d->handle)
        return;
    for (unsigned i = 0; i < JN_DNN_PLANS; i++)
        give_up(d, &d->plans[i].way);
    d->api.Destroy(d->handle);
    memset(d, 0, sizeof *d);
}
