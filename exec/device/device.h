/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices with memory of their own.
 *
 * A storage whose `device` is not NULL lies in device memory: nobody but the functions here and
 * kernels may follow its address.  Each device of the table in exec/device/devices.c is opened when
 * it is first asked for, over a module (ops/device.h); a process that never asks pays for one
 * predicted branch in jn_eager.  All eager work and all runs go to the device's one stream;
 * captures use more (exec/device/dev_capture.h).
 */
#ifndef JN_EXEC_DEVICE_H
#define JN_EXEC_DEVICE_H

#include "exec/device/dev_pool.h"
#include "exec/device/dev_schedule.h"
#include "exec/device/dev_times.h"
#include "exec/device/dev_trace.h"
#include "exec/store/store.h"

enum { JN_DEV_WORDS = 1024 }; /* device words for flags of launches between two looks at them */

typedef struct jn_device {
    const char *name; /* "cuda", of the table */
    const jn_dev_module *module;
    const jn_dev_api *api;
    jn_dev_pool pool;
    struct jn_schedule *schedule; /* captured flushes (exec/device/dev_schedule.h) */
    void *stream;
    jn_dev_exec exec;    /* of the stream */
    const char *no_libs; /* why the vendor's libraries are not used; NULL: they are */
    char model[128];
    int capability, processors; /* 90 for 9.0 */
    bool blocking;              /* JANUS_LAUNCH_BLOCKING: errors belong to the op that made them */
    pthread_mutex_t lock;       /* of what follows, and of launches */
    uint32_t *words;            /* device memory: kernel flags, zero when not in use */
    const jn_op *word_op[JN_DEV_WORDS];
    const char *word_file[JN_DEV_WORDS];
    uint32_t word_line[JN_DEV_WORDS];
    uint32_t n_words;         /* given out since last looked at */
    struct jn_pinned *pinned; /* host memory that came back (exec/device/dev_pinned.c) */
} jn_device;

/* Where ops without tensor operands put their results on this thread: the device of the gradient
 * that a rule is computing; NULL: the host. */
extern _Thread_local struct jn_device *jn_dev_for_new;
/* Whether any device tensor was ever made: what the eager fast paths look at. */
extern bool jn_dev_in_use;

/* exec/device/devices.c: the device named so ("cuda", "cuda:0"), opened at the first call; DEVICE
 * with the reason when there is none.  *out NULL for "cpu". */
janus_status jn_device_named(const char *name, jn_device **out);
static inline janus_status jn_device_cuda(jn_device **out) { return jn_device_named("cuda", out); }
/* exec/device/load.c: the module in the shared library libjanus_NAME. */
janus_status jn_module_load(const char *name, const char *title, const jn_dev_module **out);
/* Tests: opens a device over a module that is already in the process; `name` stays. */
janus_status jn_device_open(const char *name, const jn_dev_module *module, jn_device **out);
void jn_device_close(jn_device *d);
/* Tests: the process's device of this name is this one; NULL: none has been asked for. */
void jn_device_use(const char *name, jn_device *d);
/* Whether products of f32 may be computed in TF32, those of matrices and those of convolutions, on
 * devices that there are or will be; no, unless somebody says so. */
void jn_device_allow_tf32(bool products, bool convolutions);
/* Whether the ways to do a convolution are measured when its shape is first seen and the fastest is
 * taken, on devices that there are or will be.  Results are then rounded as one way or another
 * does it, and which it is may be another one in the next process; no, unless somebody says so. */
void jn_device_fastest_convolutions(bool on);
/* What of that is part of what a capture is known by. */
static inline uint64_t jn_dev_precision(const jn_device *d) {
    return (uint64_t)d->exec.allow_tf32 | (uint64_t)d->exec.allow_tf32_conv << 1 |
           (uint64_t)d->exec.fastest_conv << 2;
}

/* New row-major tensor on the device, NULL: in host memory; uninitialised. */
janus_status jn_dev_tensor(jn_device *d, janus_dtype dtype, int rank, const int64_t *dims,
                           janus_tensor **out);
/* The same over device memory that stays somebody else's and outlives the tensor. */
janus_status jn_dev_over(jn_device *d, janus_dtype dtype, int rank, const int64_t *dims, void *data,
                         janus_tensor **out);
/* A row-major host tensor in pinned memory (exec/device/dev_pinned.c), uninitialised, which may be
 * written to by the host once what was sent from it has arrived. */
janus_status jn_pinned_tensor(jn_device *d, janus_dtype dtype, int rank, const int64_t *dims,
                              janus_tensor **out);
bool jn_tensor_is_pinned(const janus_tensor *t);
/* After a copy from `from` was put on the stream: its memory stays until that has happened; `wait`:
 * it has happened. */
janus_status jn_dev_sent(jn_device *d, const janus_tensor *from, bool wait);
void jn_dev_pinned_done(jn_device *d);
/* Plain bytes; host sides that are not pinned may be reused when the call returns, and reads of the
 * host have happened. */
janus_status jn_dev_upload(jn_device *d, void *to, const void *from, size_t bytes);
janus_status jn_dev_download(jn_device *d, void *to, const void *from, size_t bytes);
janus_status jn_dev_move(jn_device *d, void *to, const void *from, size_t bytes);
/* Several moves at once. */
janus_status jn_dev_move_all(jn_device *d, const jn_dev_moving *moves, uint32_t n);
janus_status jn_dev_zero(jn_device *d, void *p, size_t bytes);
/* Waits for everything; reports what earlier launches did wrong. */
janus_status jn_dev_sync(jn_device *d);

/* Calls a kernel: the views' data are set; `file` may be NULL.  Failures of may_raise ops are
 * reported by the next jn_dev_flags, or here when the device is blocking. */
janus_status jn_dev_launch(jn_device *d, const jn_op *op, jn_kernel_fn kernel, jn_kargs *k,
                           const char *file, uint32_t line);
/* Waits if some launch since the last call could raise, and reports the first that did. */
janus_status jn_dev_flags(jn_device *d);
/* The kernel of an op; NULL: none for this signature. */
jn_kernel_fn jn_dev_select(const jn_device *d, const jn_sig *sig);

#endif
