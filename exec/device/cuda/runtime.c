/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver calls of jn_dev_api over the CUDA runtime, which is linked statically and opens the
 * driver itself.  Where there is no driver, `count` fails and says so; nothing else is called then.
 */
#include "config.h"

#include <cuda_runtime_api.h>

#include "ops/cuda/kernels.h"

_Static_assert((int)JN_DEV_OUT_OF_MEMORY == (int)cudaErrorMemoryAllocation,
               "one number has a meaning");

static const char *error_text(int error) { return cudaGetErrorString((cudaError_t)error); }

static int count(int *out) { return (int)cudaGetDeviceCount(out); }

static int use(int ordinal) {
    int error = (int)cudaSetDevice(ordinal);
    if (error)
        return error;
    /* the pool keeps what it got: our lists decide when memory goes back */
    cudaMemPool_t pool;
    uint64_t all = UINT64_MAX;
    error = (int)cudaDeviceGetDefaultMemPool(&pool, ordinal);
    return error ? error
                 : (int)cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
}

static int describe(int ordinal, char *name, size_t room, int *capability, int *processors) {
    int major = 0, minor = 0;
    struct cudaDeviceProp prop;
    int error = (int)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal);
    if (!error)
        error = (int)cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ordinal);
    if (!error)
        error = (int)cudaDeviceGetAttribute(processors, cudaDevAttrMultiProcessorCount, ordinal);
    if (!error)
        error = (int)cudaGetDeviceProperties(&prop, ordinal);
    if (error)
        return error;
    size_t i = 0;
    for (; i + 1 < room && prop.name[i]; i++)
        name[i] = prop.name[i];
    if (room)
        name[i] = 0;
    *capability = 10 * major + minor;
    return 0;
}

static int memory(size_t *free_bytes, size_t *total_bytes) {
    return (int)cudaMemGetInfo(free_bytes, total_bytes);
}

static int take(size_t bytes, void *stream, void **out) {
    int error = (int)cudaMallocAsync(out, bytes, (cudaStream_t)stream);
    if (error)
        (void)cudaGetLastError(); /* it is reported here; it must not surface at the next launch */
    return error;
}

static int give_back(void *p, void *stream) { return (int)cudaFreeAsync(p, (cudaStream_t)stream); }

static int trim(void) {
    int ordinal;
    cudaMemPool_t pool;
    int error = (int)cudaGetDevice(&ordinal);
    if (!error)
        error = (int)cudaDeviceGetDefaultMemPool(&pool, ordinal);
    return error ? error : (int)cudaMemPoolTrimTo(pool, 0);
}

static int host_alloc(size_t bytes, void **out) {
    return (int)cudaHostAlloc(out, bytes, cudaHostAllocDefault);
}
static int host_release(void *p) { return (int)cudaFreeHost(p); }

static int copy(void *to, const void *from, size_t bytes, int kind, void *stream) {
    enum cudaMemcpyKind k = kind == JN_COPY_TO_DEVICE ? cudaMemcpyHostToDevice
                            : kind == JN_COPY_TO_HOST ? cudaMemcpyDeviceToHost
                                                      : cudaMemcpyDeviceToDevice;
    return (int)cudaMemcpyAsync(to, from, bytes, k, (cudaStream_t)stream);
}
static int fill(void *p, int byte, size_t bytes, void *stream) {
    return (int)cudaMemsetAsync(p, byte, bytes, (cudaStream_t)stream);
}

static int stream_new(void **out) {
    return (int)cudaStreamCreateWithFlags((cudaStream_t *)out, cudaStreamNonBlocking);
}
static int stream_free(void *stream) { return (int)cudaStreamDestroy((cudaStream_t)stream); }
static int stream_sync(void *stream) { return (int)cudaStreamSynchronize((cudaStream_t)stream); }
static int stream_wait(void *stream, void *event) {
    return (int)cudaStreamWaitEvent((cudaStream_t)stream, (cudaEvent_t)event, 0);
}
static int event_new(bool timing, void **out) {
    return (int)cudaEventCreateWithFlags((cudaEvent_t *)out,
                                         timing ? cudaEventDefault : cudaEventDisableTiming);
}
static int event_free(void *event) { return (int)cudaEventDestroy((cudaEvent_t)event); }
static int event_record(void *event, void *stream) {
    return (int)cudaEventRecord((cudaEvent_t)event, (cudaStream_t)stream);
}
static int event_sync(void *event) { return (int)cudaEventSynchronize((cudaEvent_t)event); }
static int event_ms(void *begin, void *end, float *out) {
    return (int)cudaEventElapsedTime(out, (cudaEvent_t)begin, (cudaEvent_t)end);
}
static int elapsed(void *stream, void (*run)(void *), void *arg, float *out) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaEvent_t begin = NULL, end = NULL;
    int error = (int)cudaStreamIsCapturing((cudaStream_t)stream, &status);
    if (!error && status != cudaStreamCaptureStatusNone)
        error = (int)cudaErrorStreamCaptureUnsupported;
    if (!error)
        error = (int)cudaEventCreate(&begin);
    if (!error)
        error = (int)cudaEventCreate(&end);
    if (!error)
        error = (int)cudaEventRecord(begin, (cudaStream_t)stream);
    if (!error) {
        run(arg);
        error = (int)cudaEventRecord(end, (cudaStream_t)stream);
    }
    if (!error)
        error = (int)cudaEventSynchronize(end);
    if (!error)
        error = (int)cudaEventElapsedTime(out, begin, end);
    if (end)
        (void)cudaEventDestroy(end);
    if (begin)
        (void)cudaEventDestroy(begin);
    return error;
}
static int launch_error(void) { return (int)cudaGetLastError(); }

static int capture_begin(void *stream) {
    return (int)cudaStreamBeginCapture((cudaStream_t)stream, cudaStreamCaptureModeThreadLocal);
}
static int capture_end(void *stream, void **out_graph) {
    return (int)cudaStreamEndCapture((cudaStream_t)stream, (cudaGraph_t *)out_graph);
}
static int graph_make(void *graph, void **out_exec) {
    int error =
        (int)cudaGraphInstantiateWithFlags((cudaGraphExec_t *)out_exec, (cudaGraph_t)graph, 0);
    (void)cudaGraphDestroy((cudaGraph_t)graph);
    return error;
}
static int graph_run(void *exec, void *stream) {
    return (int)cudaGraphLaunch((cudaGraphExec_t)exec, (cudaStream_t)stream);
}
static int graph_free(void *exec) { return (int)cudaGraphExecDestroy((cudaGraphExec_t)exec); }

/* Conditional nodes: 12.3 has them, a driver of 12.4 what captures of bodies need. */
#if CUDART_VERSION >= 12040
enum { FIRST_DRIVER = 12040 };

static int has_branches(bool *out) {
    int driver = 0, error = (int)cudaDriverGetVersion(&driver);
    *out = !error && driver >= FIRST_DRIVER;
    return error;
}

/* What is being captured on a stream. */
typedef struct captured {
    cudaGraph_t graph;
    const cudaGraphNode_t *after;
    size_t n;
#if CUDART_VERSION >= 13000
    const cudaGraphEdgeData *edge;
#endif
} captured;

static int look(void *stream, captured *c) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
#if CUDART_VERSION >= 13000
    int error = (int)cudaStreamGetCaptureInfo((cudaStream_t)stream, &status, NULL, &c->graph,
                                              &c->after, &c->edge, &c->n);
#else
    int error = (int)cudaStreamGetCaptureInfo_v2((cudaStream_t)stream, &status, NULL, &c->graph,
                                                 &c->after, &c->n);
#endif
    return error                                     ? error
           : status == cudaStreamCaptureStatusActive ? 0
                                                     : (int)cudaErrorStreamCaptureInvalidated;
}

static int branch_handle(void *stream, uint64_t *out) {
    captured c;
    cudaGraphConditionalHandle handle;
    int error = look(stream, &c);
    if (!error)
        error = (int)cudaGraphConditionalHandleCreate(&handle, c.graph, 0, 0);
    if (!error)
        *out = handle;
    return error;
}

static int body_begin(void *stream, uint64_t handle, bool loop, void *body) {
    captured c;
    cudaGraphNode_t node;
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional};
    params.conditional.handle = handle;
    params.conditional.type = loop ? cudaGraphCondTypeWhile : cudaGraphCondTypeIf;
    params.conditional.size = 1;
    int error = look(stream, &c);
    if (error)
        return error;
#if CUDART_VERSION >= 13000
    error = (int)cudaGraphAddNode(&node, c.graph, c.after, c.edge, c.n, &params);
    if (!error)
        error = (int)cudaStreamUpdateCaptureDependencies((cudaStream_t)stream, &node, NULL, 1,
                                                         cudaStreamSetCaptureDependencies);
#else
    error = (int)cudaGraphAddNode(&node, c.graph, c.after, c.n, &params);
    if (!error)
        error = (int)cudaStreamUpdateCaptureDependencies((cudaStream_t)stream, &node, 1,
                                                         cudaStreamSetCaptureDependencies);
#endif
    return error ? error
                 : (int)cudaStreamBeginCaptureToGraph((cudaStream_t)body,
                                                      params.conditional.phGraph_out[0], NULL, NULL,
                                                      0, cudaStreamCaptureModeThreadLocal);
}

static int body_end(void *body) {
    cudaGraph_t same; /* the node's */
    return (int)cudaStreamEndCapture((cudaStream_t)body, &same);
}
#else
#define has_branches NULL
#define branch_handle NULL
#define body_begin NULL
#define body_end NULL
#endif

const jn_dev_api *jn_cuda_api(void) {
    static const jn_dev_api api = {.struct_size = sizeof(jn_dev_api),
                                   .error_text = error_text,
                                   .count = count,
                                   .use = use,
                                   .describe = describe,
                                   .memory = memory,
                                   .alloc = take,
                                   .release = give_back,
                                   .trim = trim,
                                   .host_alloc = host_alloc,
                                   .host_release = host_release,
                                   .copy = copy,
                                   .fill = fill,
                                   .stream_new = stream_new,
                                   .stream_free = stream_free,
                                   .stream_sync = stream_sync,
                                   .stream_wait = stream_wait,
                                   .event_new = event_new,
                                   .event_free = event_free,
                                   .event_record = event_record,
                                   .event_sync = event_sync,
                                   .event_ms = event_ms,
                                   .launch_error = launch_error,
                                   .capture_begin = capture_begin,
                                   .capture_end = capture_end,
                                   .graph_make = graph_make,
                                   .graph_run = graph_run,
                                   .graph_free = graph_free,
                                   .has_branches = has_branches,
                                   .branch_handle = branch_handle,
                                   .body_begin = body_begin,
                                   .body_end = body_end,
                                   .elapsed = elapsed};
    return &api;
}
