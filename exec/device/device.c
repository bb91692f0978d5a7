/* SPDX-License-Identifier: Apache-2.0 */
/* A device: opening it, tensors there, launches and their flags. */
#include "config.h"

#include "exec/device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/device/dev_schedule.h"
#include "exec/store/store.h"
#include "ops/op_ids.h"

bool jn_dev_in_use;
_Thread_local jn_device *jn_dev_for_new;

static janus_status failed(const jn_device *d, int error, const char *what) {
    return jn_error(error == JN_DEV_OUT_OF_MEMORY ? JANUS_NO_MEMORY : JANUS_DEVICE, "%s: %s", what,
                    d->api->error_text(error));
}
#define DEV_TRY(d, what, call)                                                                     \
    do {                                                                                           \
        int dev_error_ = (call);                                                                   \
        if (dev_error_)                                                                            \
            return failed(d, dev_error_, what);                                                    \
    } while (0)

/* ---- opening ------------------------------------------------------------------------------------
 */

static janus_status check_module(const char *name, const jn_dev_module *m) {
    uint64_t h = JN_HASH_START;
    for (unsigned i = 0; i < jn_n_ops; i++)
        h = jn_hash_name(h, jn_ops[i].name);
    if (m->abi != JN_DEV_ABI || m->n_ops != jn_n_ops || m->ops_hash != h ||
        m->api->struct_size != sizeof(jn_dev_api))
        return jn_error(JANUS_DEVICE,
                        "no %s device: the module libjanus_%s belongs to another version of janus",
                        m->title, name);
    return JANUS_OK;
}

/* Without the vendor's libraries it has its own kernels. */
static void find_libs(jn_device *d) {
    if (!d->module->libs_new)
        return;
    void *libs = jn_calloc(1, d->module->libs_size);
    d->no_libs = "out of memory";
    if (libs && d->module->libs_new(d->stream, libs, &d->no_libs)) {
        d->exec.libs = libs;
        d->no_libs = NULL;
    } else {
        jn_free(libs);
    }
}

janus_status jn_device_open(const char *name, const jn_dev_module *module, jn_device **out) {
    JN_TRY(check_module(name, module));
    const jn_dev_api *api = module->api;
    janus_status st;
    int n = 0, error = api->count(&n);
    if (error)
        return jn_error(JANUS_DEVICE, "no %s device: %s", module->title, api->error_text(error));
    if (n == 0)
        return jn_error(JANUS_DEVICE, "no %s device: the driver lists none", module->title);
    jn_device *d = jn_calloc(1, sizeof *d);
    if (!d)
        return JN_NO_MEMORY();
    d->name = name;
    d->module = module;
    d->api = api;
    const char *blocking = getenv("JANUS_LAUNCH_BLOCKING");
    d->blocking = blocking && *blocking && strcmp(blocking, "0") != 0;
    void *words = NULL;
    const char *step = "choosing the device";
    if ((error = api->use(0)) != 0 ||
        (step = "asking the device what it is",
         error = api->describe(0, d->model, sizeof d->model, &d->capability, &d->processors)) !=
            0 ||
        (step = "making a stream", error = api->stream_new(&d->stream)) != 0)
        goto fail;
    step = "device memory";
    if ((error = api->alloc(JN_DEV_WORDS * sizeof *d->words, d->stream, &words)) != 0 ||
        (error = api->fill(words, 0, JN_DEV_WORDS * sizeof *d->words, d->stream)) != 0)
        goto fail;
    d->words = words;
    d->exec = (jn_dev_exec){.base = jn_par_serial,
                            .stream = d->stream,
                            .processors = d->processors,
                            .elapsed = api->elapsed};
    pthread_mutex_init(&d->lock, NULL);
    jn_dev_pool_init(&d->pool, api);
    st = jn_schedule_new(d, &d->schedule);
    if (st != JANUS_OK) {
        jn_device_close(d);
        return st;
    }
    find_libs(d);
    *out = d;
    return JANUS_OK;
fail:
    st = failed(d, error, step);
    if (words)
        api->release(words, d->stream);
    if (d->stream)
        api->stream_free(d->stream);
    jn_free(d);
    return st;
}

void jn_device_close(jn_device *d) {
    if (!d)
        return;
    d->api->stream_sync(d->stream);
    jn_dev_times_forget(d);
    jn_schedule_free(d->schedule);
    jn_dev_pinned_done(d);
    if (d->exec.libs)
        d->module->libs_free(d->exec.libs);
    jn_free(d->exec.libs);
    jn_dev_pool_done(&d->pool);
    d->api->release(d->words, d->stream);
    d->api->stream_free(d->stream);
    pthread_mutex_destroy(&d->lock);
    jn_free(d);
}

/* ---- bytes --------------------------------------------------------------------------------------
 */

janus_status jn_dev_upload(jn_device *d, void *to, const void *from, size_t bytes) {
    if (bytes)
        DEV_TRY(d, "copying to the device",
                d->api->copy(to, from, bytes, JN_COPY_TO_DEVICE, d->stream));
    return JANUS_OK;
}

janus_status jn_dev_download(jn_device *d, void *to, const void *from, size_t bytes) {
    JN_TRY(jn_dev_flags(d));
    if (bytes)
        DEV_TRY(d, "copying from the device",
                d->api->copy(to, from, bytes, JN_COPY_TO_HOST, d->stream));
    DEV_TRY(d, "waiting for the device", d->api->stream_sync(d->stream));
    return JANUS_OK;
}

janus_status jn_dev_move(jn_device *d, void *to, const void *from, size_t bytes) {
    if (bytes)
        DEV_TRY(d, "copying on the device",
                d->api->copy(to, from, bytes, JN_COPY_ON_DEVICE, d->stream));
    return JANUS_OK;
}

janus_status jn_dev_move_all(jn_device *d, const jn_dev_moving *moves, uint32_t n) {
    if (n < 2 || !d->module->move_all) {
        for (uint32_t i = 0; i < n; i++)
            JN_TRY(jn_dev_move(d, moves[i].to, moves[i].from, moves[i].bytes));
        return JANUS_OK;
    }
    pthread_mutex_lock(&d->lock);
    d->exec.error = 0;
    d->module->move_all(&d->exec, moves, n);
    int error = d->exec.error ? d->exec.error : d->api->launch_error();
    pthread_mutex_unlock(&d->lock);
    return error ? jn_error(JANUS_DEVICE, "copying on the device: %s", d->api->error_text(error))
                 : JANUS_OK;
}

janus_status jn_dev_zero(jn_device *d, void *p, size_t bytes) {
    if (bytes)
        DEV_TRY(d, "clearing device memory", d->api->fill(p, 0, bytes, d->stream));
    return JANUS_OK;
}

janus_status jn_dev_sync(jn_device *d) {
    JN_TRY(jn_dev_flags(d));
    DEV_TRY(d, "waiting for the device", d->api->stream_sync(d->stream));
    return JANUS_OK;
}

/* ---- tensors ------------------------------------------------------------------------------------
 */

typedef struct held {
    jn_device *device;
    jn_dev_block *block;
} held;

static void release_block(void *user) {
    held *h = user;
    jn_dev_pool_free(&h->device->pool, h->block);
    jn_free(h);
}

janus_status jn_dev_tensor(jn_device *d, janus_dtype dtype, int rank, const int64_t *dims,
                           janus_tensor **out) {
    if (!d)
        return jn_tensor_empty(dtype, rank, dims, out);
    size_t bytes = jn_dtype_size(dtype);
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0 || !jn_mul_size(bytes, (size_t)dims[i], &bytes))
            return jn_error(JANUS_SHAPE, "a tensor with a negative dim or with too many elements");
    held *h = jn_alloc(sizeof *h);
    if (!h)
        return JN_NO_MEMORY();
    h->device = d;
    janus_status st = jn_dev_pool_take(&d->pool, bytes, d->stream, &h->block);
    if (st == JANUS_OK) {
        st = janus_tensor_wrap(dtype, rank, dims, NULL, h->block->data, release_block, h, out);
        if (st != JANUS_OK)
            jn_dev_pool_free(&d->pool, h->block);
    }
    if (st != JANUS_OK) {
        jn_free(h);
        return st;
    }
    (*out)->storage->device = d;
    jn_dev_in_use = true;
    return JANUS_OK;
}

janus_status jn_dev_over(jn_device *d, janus_dtype dtype, int rank, const int64_t *dims, void *data,
                         janus_tensor **out) {
    JN_TRY(janus_tensor_wrap(dtype, rank, dims, NULL, data, NULL, NULL, out));
    (*out)->storage->device = d;
    return JANUS_OK;
}

/* ---- launches -----------------------------------------------------------------------------------
 */

jn_kernel_fn jn_dev_select(const jn_device *d, const jn_sig *sig) {
    jn_select_fn select = d->module->rows[sig->op->id].select;
    return select ? select(sig) : NULL;
}

/* With the lock held. */
static janus_status read_flags(jn_device *d) {
    uint32_t host[JN_DEV_WORDS], n = d->n_words;
    if (!n)
        return JANUS_OK;
    d->n_words = 0;
    DEV_TRY(d, "reading kernel flags",
            d->api->copy(host, d->words, n * sizeof *host, JN_COPY_TO_HOST, d->stream));
    DEV_TRY(d, "waiting for the device", d->api->stream_sync(d->stream));
    DEV_TRY(d, "clearing kernel flags", d->api->fill(d->words, 0, n * sizeof *host, d->stream));
    for (uint32_t i = 0; i < n; i++) {
        if (!host[i])
            continue;
        const char *op = d->word_op[i]->name;
        const char *what = host[i] & JN_KFLAG_INDEX     ? "index out of range"
                           : host[i] & JN_KFLAG_DIVZERO ? "integer division or modulo by zero"
                                                        : "integer overflow";
        janus_status st = host[i] & JN_KFLAG_INDEX ? JANUS_INDEX : JANUS_ARITHMETIC;
        if (d->word_file[i])
            return jn_error(st, "%s: %s (%s:%u)", op, what, d->word_file[i], d->word_line[i]);
        return d->blocking
                   ? jn_error(st, "%s: %s", op, what)
                   : jn_error(st,
                              "%s: %s (in an earlier call: operations on %s are reported late, see "
                              "JANUS_LAUNCH_BLOCKING)",
                              op, what, d->name);
    }
    return JANUS_OK;
}

janus_status jn_dev_flags(jn_device *d) {
    pthread_mutex_lock(&d->lock);
    janus_status st = read_flags(d);
    pthread_mutex_unlock(&d->lock);
    return st;
}

janus_status jn_dev_launch(jn_device *d, const jn_op *op, jn_kernel_fn kernel, jn_kargs *k,
                           const char *file, uint32_t line) {
    janus_status st = JANUS_OK;
    pthread_mutex_lock(&d->lock);
    if (d->n_words == JN_DEV_WORDS - 1)
        st = read_flags(d);
    /* the last word serves ops that never raise: nobody reads it */
    uint32_t at = op->flags & JN_OP_MAY_RAISE ? d->n_words++ : JN_DEV_WORDS - 1;
    d->word_op[at] = op;
    d->word_file[at] = file;
    d->word_line[at] = line;
    k->flags = d->words + at;
    k->par = &d->exec.base;
    d->exec.error = 0;
    void *timed = jn_dev_timed_begin(d);
    if (d->module->launch)
        d->module->launch(kernel, k);
    else
        kernel(k);
    if (JN_UNLIKELY(timed != NULL))
        jn_dev_timed_end(d, timed, op->name, file, line, 1);
    int error = d->exec.error ? d->exec.error : d->api->launch_error();
    if (st == JANUS_OK && error)
        st = jn_error(error == JN_DEV_OUT_OF_MEMORY ? JANUS_NO_MEMORY : JANUS_DEVICE,
                      "%s on %s: %s: %s", op->name, d->name,
                      d->exec.failed ? d->exec.failed : "launch", d->api->error_text(error));
    d->exec.failed = NULL;
    if (st == JANUS_OK && d->blocking) {
        error = d->api->stream_sync(d->stream);
        if (error)
            st = jn_error(JANUS_DEVICE, "%s on %s: %s", op->name, d->name,
                          d->api->error_text(error));
        else
            st = read_flags(d);
    }
    pthread_mutex_unlock(&d->lock);
    return st;
}
