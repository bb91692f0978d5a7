/* SPDX-License-Identifier: Apache-2.0 */
/* What runs ask of devices (exec/state/run_device.h): the host's three, and those of others. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "exec/device/device.h"
#include "exec/schedule/dev_group.h"
#include "exec/schedule/group.h"
#include "exec/schedule/schedule.h"
#include "exec/store/store.h"
#include "graph/base/alloc.h"

static janus_status no_kernel(const jn_sig *sig, const char *where) {
    uint8_t dtype = sig->n_in ? sig->in[0].dtype : sig->out[0].dtype;
    return jn_error(JANUS_UNSUPPORTED, "%s: no kernel%s for %s operands", sig->op->name, where,
                    jn_dtype_name((janus_dtype)dtype));
}

/* ---- the host -----------------------------------------------------------------------------------
 */

static janus_status take_kernel(jn_select_fn first, const jn_sig *sig, jn_kernel_fn *kernel,
                                size_t *workspace) {
    const jn_op_impl *impl = &jn_op_impls[sig->op->id];
    jn_select_fn select = first ? first : impl->ref;
    *kernel = select ? select(sig) : NULL;
    if (!*kernel)
        return no_kernel(sig, "");
    *workspace = impl->workspace ? impl->workspace(sig) : 0;
    return JANUS_OK;
}
static janus_status cpu_select(const jn_device *d, const jn_sig *sig, jn_kernel_fn *kernel,
                               size_t *workspace) {
    (void)d;
    return take_kernel(jn_op_impls[sig->op->id].cpu, sig, kernel, workspace);
}
static janus_status ref_select(const jn_device *d, const jn_sig *sig, jn_kernel_fn *kernel,
                               size_t *workspace) {
    (void)d;
    return take_kernel(jn_op_impls[sig->op->id].ref, sig, kernel, workspace);
}

static bool host_take(jn_device *d, jn_chunk *c) {
    (void)d;
    return (c->data = jn_alloc_aligned(c->bytes)) != NULL;
}
static void host_give_back(jn_device *d, const jn_chunk *c) {
    (void)d;
    jn_free_aligned(c->data);
}

static janus_status host_copy(jn_device *d, void *to, const void *from, size_t bytes) {
    (void)d;
    jn_copy_bytes(to, from, bytes);
    return JANUS_OK;
}

/* Elements that nobody computed read as zero. */
static janus_status null_get(jn_device *d, void *to, const void *from, size_t bytes) {
    (void)d, (void)from;
    memset(to, 0, bytes);
    return JANUS_OK;
}
static janus_status null_move(jn_device *d, void *to, const void *from, size_t bytes) {
    (void)d, (void)to, (void)from, (void)bytes;
    return JANUS_OK;
}

#define HOST_MEMORY                                                                                \
    .host = true, .take = host_take, .give_back = host_give_back, .put = host_copy,                \
    .sum = jn_host_sum, .flush = jn_flush_tasks
#define HOST_ELEMENTS                                                                              \
    HOST_MEMORY, .computes = true, .get = host_copy, .move = host_copy, .group = jn_host_group

const jn_run_device jn_on_cpu = {HOST_ELEMENTS, .name = "cpu", .select = cpu_select, .lanes = true,
                                 .steps = true};
static const jn_run_device on_ref = {HOST_ELEMENTS, .name = "ref", .select = ref_select};
static const jn_run_device on_null = {HOST_MEMORY, .name = "null", .select = cpu_select,
                                      .get = null_get, .move = null_move};

/* ---- memory of its own --------------------------------------------------------------------------
 */

static janus_status dev_select(const jn_device *d, const jn_sig *sig, jn_kernel_fn *kernel,
                               size_t *workspace) {
    char where[64];
    *kernel = jn_dev_select(d, sig);
    *workspace = d->module->workspace(sig);
    if (*kernel)
        return JANUS_OK;
    snprintf(where, sizeof where, " on %s", d->name);
    return no_kernel(sig, where);
}

static jn_kernel_fn dev_chain(const jn_device *d, const jn_sig *sig) {
    return d->module->chain ? d->module->chain(sig) : NULL;
}

static jn_kernel_fn dev_chain_head(const jn_device *d, const jn_sig *sig) {
    return d->module->chain_head ? d->module->chain_head(sig) : NULL;
}

static bool dev_take(jn_device *d, jn_chunk *c) {
    if (jn_dev_pool_take(&d->pool, c->bytes, d->stream, &c->block) != JANUS_OK)
        return false;
    c->data = c->block->data;
    return true;
}
static void dev_give_back(jn_device *d, const jn_chunk *c) { jn_dev_pool_free(&d->pool, c->block); }

/* Kernels add to it from the first time on. */
static janus_status dev_sum(jn_run *r, jn_acc *a, uint32_t k) {
    jn_acc_part *p = &a->part[k];
    if (p->data)
        return JANUS_OK;
    p->data = jn_run_memory(r, a->shape->bytes);
    if (!p->data)
        return jn_error(JANUS_NO_MEMORY, "no memory for a gradient of %zu bytes", a->shape->bytes);
    p->written = true;
    return r->of_schedule.trace ? jn_trace_zero(r->of_schedule.trace, p->data, a->shape->bytes)
                                : jn_dev_zero(r->dev, p->data, a->shape->bytes);
}

static janus_status dev_group(jn_group *g, jn_ranges *j) {
    bool done = false;
    JN_TRY(jn_dev_rows_replay(g->lane, g->inst,
                              (jn_variant_key){g->mask, jn_group_part(g, 0), JN_FOR_TILES}, j->any,
                              g->task, g->n, &done));
    return done ? JANUS_OK
                : jn_dev_group_run(g->lane->run, g->inst, j->v[0] ? j->v[0] : j->v[1], g->task,
                                   g->n);
}

static const jn_run_device on_device = {.computes = true,
                                        .select = dev_select,
                                        .chain = dev_chain,
                                        .chain_head = dev_chain_head,
                                        .take = dev_take,
                                        .give_back = dev_give_back,
                                        .put = jn_dev_upload,
                                        .get = jn_dev_download,
                                        .move = jn_dev_move,
                                        .sum = dev_sum,
                                        .flush = jn_schedule_flush,
                                        .group = dev_group,
                                        .decide = jn_branch_decide,
                                        .failures = jn_dev_flags};

janus_status jn_run_device_named(const char *name, const jn_run_device **out, jn_device **out_dev) {
    static const jn_run_device *const hosts[] = {&jn_on_cpu, &on_ref, &on_null};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (!name || strcmp(name, hosts[i]->name) == 0) {
            *out = hosts[i];
            return JANUS_OK;
        }
    JN_TRY(jn_device_named(name, out_dev));
    *out = &on_device;
    return JANUS_OK;
}
