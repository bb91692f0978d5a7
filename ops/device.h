/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libjanus and the module of a device know of each other: one table each way, no shared
 * symbols.  CUDA's is one such module, a toy is in docs/adding-a-device.md.
 *
 * A module is thin: driver calls (jn_dev_api) and kernels.  Memory, streams, scheduling and
 * captures are libjanus's own (exec/device/) and work on any jn_dev_api, so tests run them on a
 * table of their own.  The module keeps no state but what jn_dev_libs_fn made for its caller, and
 * reports failures as numbers: error records and allocators stay in libjanus.
 *
 * C and C++.  Pointers named dev_* and the data of views are device memory; scalar operands (SCALAR
 * in the op table) of rank 0 are host memory, read when the kernel is launched.
 */
#ifndef JN_OPS_DEVICE_H
#define JN_OPS_DEVICE_H

#include "ops/kernel.h"

enum { JN_DEV_ABI = 9 };

typedef enum jn_dev_copy_kind {
    JN_COPY_TO_DEVICE,
    JN_COPY_TO_HOST,
    JN_COPY_ON_DEVICE
} jn_dev_copy_kind;

/*
 * Driver calls.  Each returns 0 or an error number for `error_text`; those that give something
 * leave *out alone on failure.  Streams, events, graphs are opaque.  JN_DEV_OUT_OF_MEMORY is the
 * one number with a meaning of its own.
 */
enum { JN_DEV_OUT_OF_MEMORY = 2 };
typedef struct jn_dev_api {
    size_t struct_size;
    const char *(*error_text)(int error);
    int (*count)(int *out); /* devices; fails where there is no driver */
    int (*use)(int ordinal);
    int (*describe)(int ordinal, char *name, size_t room, int *capability, int *processors);
    int (*memory)(size_t *free_bytes, size_t *total_bytes);

    /* memory, in stream order */
    int (*alloc)(size_t bytes, void *stream, void **out);
    int (*release)(void *p, void *stream);
    int (*trim)(void); /* gives what the driver's pool keeps back to the device */
    int (*host_alloc)(size_t bytes, void **out); /* pinned */
    int (*host_release)(void *p);
    int (*copy)(void *to, const void *from, size_t bytes, int kind, void *stream);
    int (*fill)(void *p, int byte, size_t bytes, void *stream);

    int (*stream_new)(void **out);
    int (*stream_free)(void *stream);
    int (*stream_sync)(void *stream);
    int (*stream_wait)(void *stream, void *event);
    int (*event_new)(bool timing, void **out);
    int (*event_free)(void *event);
    int (*event_record)(void *event, void *stream);
    int (*event_sync)(void *event);
    int (*event_ms)(void *begin, void *end, float *out);
    int (*launch_error)(void); /* of kernel launches since last asked */

    /* captures: work put on `stream`, and on streams that wait for it, becomes a graph; all NULL:
     * there are none */
    int (*capture_begin)(void *stream);
    int (*capture_end)(void *stream, void **out_graph);
    int (*graph_make)(void *graph, void **out_exec); /* takes the graph */
    int (*graph_run)(void *exec, void *stream);
    int (*graph_free)(void *exec);

    /* conditional nodes of captures; NULL where they were not compiled.  A handle belongs to what
     * is being captured on `stream`, and is set there by a kernel (jn_dev_module.decide).
     * body_begin puts a node behind what the stream was given: what is put on the stream `body`
     * until body_end is run there once, or `loop`, again and again, while the handle's value is not
     * 0. */
    int (*has_branches)(bool *out);
    int (*branch_handle)(void *stream, uint64_t *out);
    int (*body_begin)(void *stream, uint64_t handle, bool loop, void *body);
    int (*body_end)(void *body);

    /* Runs run(arg), which puts work on the stream, waits for it and gives the milliseconds that it
     * took on the device.  An error: that is not to be known now, as during a capture, and nothing
     * was run.  NULL: never. */
    int (*elapsed)(void *stream, void (*run)(void *arg), void *arg, float *out);
} jn_dev_api;

/*
 * Where a kernel runs: what jn_kargs.par points to on a device.  `flags` of jn_kargs is a device
 * word.  `stop`: the run's abort word; kernels that write state outliving the run do nothing when
 * it is not 0 (NULL: no such word).
 */
typedef struct jn_dev_exec {
    jn_par base; /* first, so that jn_kargs.par can carry it */
    void *stream;
    void *libs; /* made by jn_dev_module.libs_new for this stream; NULL: none */
    const uint32_t *stop;
    int processors;                   /* multiprocessors of the device */
    int error;                        /* first failure of a launch or library call, 0: none */
    const char *failed;               /* what failed, a static text */
    bool allow_tf32, allow_tf32_conv; /* of f32: products may be TF32's, of convolutions too */
    bool
        fastest_conv; /* a library's ways to do a convolution are measured, and the fastest taken */
    int (*elapsed)(void *stream, void (*run)(void *arg), void *arg, float *out); /* jn_dev_api's */
    /* Scalar operands in this host memory are to be read, where the kernel can, from the same place
     * of this device memory when it runs: a capture is replayed with others. */
    const void *scalars_here;
    const void *scalars_there;
    size_t scalars_bytes;
} jn_dev_exec;

/* Whether the bodies of a branch run: handle[0] is set when the value of this dtype is not zero,
 * handle[1], with n = 2, when it is; none once the abort word is not 0.  With `rounds` (a device
 * word; `first`: it is set to 0) after `most` rounds handle[0] is not set, but the abort word. */
typedef struct jn_dev_decision {
    const void *value;
    const uint64_t *handle;
    unsigned n;
    uint8_t dtype;
    bool first;
    uint32_t most;
    uint32_t *rounds, *stop;
} jn_dev_decision;

/* Bytes from one place of device memory to another. */
typedef struct jn_dev_moving {
    void *to;
    const void *from;
    size_t bytes;
} jn_dev_moving;

/*
 * Elementwise ops that run as one kernel, f32: what a step computes is rounded as its own kernel
 * would.  Values are numbered: the chain's operands from 0 on, the results of steps from
 * JN_CHAIN_OPERANDS on.  Operands of the call have the dims of its result, in strides 0 where they
 * are broadcast.  The last step is the result.
 *
 * A chain may have a head: an op that is not elementwise, whose kernel does the steps with what it
 * computed before it writes, so that its result, the value JN_CHAIN_HEAD, is never in memory.  It
 * has as many elements as the chain's result, in the same order.  The head's operands follow the
 * chain's in the call.
 */
enum {
    JN_CHAIN_OPERANDS = 10,
    JN_CHAIN_STEPS = 24,
    JN_CHAIN_IN = 3,
    JN_CHAIN_HEAD = JN_CHAIN_OPERANDS + JN_CHAIN_STEPS
};
typedef struct jn_dev_step {
    uint16_t op; /* its id */
    uint8_t n_in;
    uint8_t in[JN_CHAIN_IN]; /* values */
    const void *attrs;
} jn_dev_step;
typedef struct jn_dev_chain {
    uint32_t n, n_operands;
    jn_dev_step step[JN_CHAIN_STEPS];
    const void *head;         /* its attributes */
    const int64_t *head_dims; /* of its result */
} jn_dev_chain;

/* Calls of a kernel that do not depend on each other, in one launch or few; none reads or writes
 * what another one writes. */
typedef struct jn_dev_many {
    bool (*like)(const jn_kargs *a, const jn_kargs *b); /* whether two can be together; addresses of
                                                           device memory are not known yet */
    void (*run)(const jn_kargs *k, uint32_t n);
} jn_dev_many;

typedef struct jn_dev_kernels {
    jn_select_fn select; /* NULL: no kernel */
} jn_dev_kernels;

typedef struct jn_dev_module {
    uint32_t abi;   /* JN_DEV_ABI */
    uint32_t n_ops; /* rows of the op table it was compiled with, and a hash of their names */
    uint64_t ops_hash;
    const char *title; /* in messages: "CUDA" */
    const jn_dev_api *api;
    const jn_dev_kernels *rows; /* by op id */
    size_t (*workspace)(const jn_sig *sig);
    /* The kernel that runs chains, if they may have this op with these operands; its attrs are a
     * jn_dev_chain.  NULL: there are no chains. */
    jn_select_fn chain;
    /* NULL, or what it gives is NULL: calls of the kernel are launched one by one. */
    const jn_dev_many *(*many)(jn_kernel_fn kernel);
    /* The kernel that runs chains with this op and these operands as their head.  NULL: there are
     * none. */
    jn_select_fn chain_head;
    void (*launch)(jn_kernel_fn kernel, const jn_kargs *k); /* NULL: it is called as it is */
    /* Handles of the vendor's libraries in `memory` of libs_size zeroed bytes; false and a text in
     * *why where they are not found.  libs_free leaves the memory to its owner.  NULL: it uses
     * none. */
    size_t libs_size;
    bool (*libs_new)(void *stream, void *memory, const char **why);
    void (*libs_free)(void *libs);
    /* Moves of which no destination overlaps a source or destination of another.  NULL: the api's
     * copies do them one by one. */
    void (*move_all)(jn_dev_exec *e, const jn_dev_moving *moves, uint32_t n);
    /* Rows of `bytes` bytes from src[i] (device addresses in host memory) one after the other. */
    void (*gather_rows)(jn_dev_exec *e, void *to, void *const *src, uint32_t n, size_t bytes);
    /* For captures: the same from addresses on the device, of which the first *count are there;
     * rows from there on are the last one again.  And the first *count rows of `from`, side by
     * side, to *to. */
    void (*take_rows)(jn_dev_exec *e, void *to, const void *table, const void *count, uint32_t rows,
                      size_t bytes);
    void (*give_rows)(jn_dev_exec *e, const void *to, const void *from, const void *count,
                      uint32_t rows, size_t bytes);
    /* acc[i] += x[r * step + i] for i < numel over rows r in order; floats. */
    void (*sum_rows)(jn_dev_exec *e, void *acc, const void *x, int64_t numel, int64_t rows,
                     int64_t step, uint8_t dtype);
    /* A kernel that does nothing: what a launch costs. */
    void (*nothing)(jn_dev_exec *e);
    void (*decide)(jn_dev_exec *e, const jn_dev_decision *d);
} jn_dev_module;

/* The one symbol of a module in a library of its own, with its name. */
#define JN_DEV_MODULE_SYMBOL "janus_%s_module"
typedef const jn_dev_module *(*jn_dev_module_fn)(void);

/* FNV-1a over names: libjanus and the module must have been compiled with the same op table. */
#define JN_HASH_START 0xcbf29ce484222325u
static inline uint64_t jn_hash_name(uint64_t h, const char *name) {
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 0x100000001b3u;
    return (h ^ 0xff) * 0x100000001b3u;
}

#endif
