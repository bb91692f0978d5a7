/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run asks of the device that it is on: facts and functions.
 *
 * Nothing in exec/ looks at which device that is.  The rows are in exec/schedule/run_device.c:
 * "cpu", "ref", "null", and one for all devices with memory of their own, whose driver calls and
 * kernels are a module's (exec/device/device.h).
 */
#ifndef JN_EXEC_RUN_DEVICE_H
#define JN_EXEC_RUN_DEVICE_H

#include "graph/base/status.h"
#include "ops/kernel.h"

struct jn_acc;
struct jn_chunk;
struct jn_device;
struct jn_frame;
struct jn_group;
struct jn_ranges;
struct jn_run;
struct jn_segment;
struct jn_task;

typedef struct jn_run_device {
    const char *name; /* of janus_run_options; NULL: the jn_device's */
    bool host;        /* its tensors are in the host's memory, and the run's threads compute */
    bool computes;    /* no: shapes and order only, elements are anything */
    bool lanes;       /* tasks that do not depend on each other run on threads of their own, and
                         what the commit stores may be computed where it goes */
    bool steps;       /* chains are programs of steps, and kernels take rows apart (ops/steps.h) */

    /* A kernel for the signature, and the bytes of scratch memory that it wants.  `d` here and
     * below: the run's, NULL on the host. */
    janus_status (*select)(const struct jn_device *d, const jn_sig *sig, jn_kernel_fn *kernel,
                           size_t *workspace);

    /* The kernel that runs chains of elementwise ops on the device, if it knows this one, and that
     * which runs them with this op as their head (exec/kernels/dev_chain.c); NULL: none does. */
    jn_kernel_fn (*chain)(const struct jn_device *d, const jn_sig *sig);
    jn_kernel_fn (*chain_head)(const struct jn_device *d, const jn_sig *sig);

    /* Memory of a run: a chunk of c->bytes, and back. */
    bool (*take)(struct jn_device *d, struct jn_chunk *c);
    void (*give_back)(struct jn_device *d, const struct jn_chunk *c);
    /* Bytes from the host, which may be reused at once; to the host, waiting for them; within. */
    janus_status (*put)(struct jn_device *d, void *to, const void *from, size_t bytes);
    janus_status (*get)(struct jn_device *d, void *to, const void *from, size_t bytes);
    janus_status (*move)(struct jn_device *d, void *to, const void *from, size_t bytes);

    /* Memory of part k of a sum, if it has none yet. */
    janus_status (*sum)(struct jn_run *r, struct jn_acc *a, uint32_t k);
    /* Runs pending tasks, given in issue order. */
    janus_status (*flush)(struct jn_run *r, struct jn_task **task, uint32_t n, uint32_t max_level);
    /* Runs a group whose results have memory; NULL where nothing is computed. */
    janus_status (*group)(struct jn_group *g, struct jn_ranges *j);
    /* Whether it decides a branch or loop of the frame itself: then it is issued; NULL: never. */
    janus_status (*decide)(struct jn_run *r, struct jn_segment *seg, struct jn_frame *f,
                           bool *issued);
    /* Waits for what was launched, and says what of it has failed; NULL: that is known at once. */
    janus_status (*failures)(struct jn_device *d);
} jn_run_device;

/* Whether elements are in the host's memory, and are what they should be. */
static inline bool jn_computes_here(const jn_run_device *on) { return on->host && on->computes; }

#endif
