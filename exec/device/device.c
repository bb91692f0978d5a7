/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA device: finding the module, tensors on the device, launches and their flags. */
#include "config.h"

#include "exec/device/device.h"

#include <dlfcn.h>
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

static janus_status check_module(const jn_cuda_module *m) {
    uint64_t h = 0xcbf29ce484222325u;
    for (unsigned i = 0; i < jn_n_ops; i++)
        h = jn_hash_name(h, jn_ops[i].name);
    if (m->abi != JN_CUDA_ABI || m->n_ops != jn_n_ops || m->ops_hash != h ||
        m->api->struct_size != sizeof(jn_dev_api))
        return jn_error(
            JANUS_DEVICE,
            "no CUDA device: the module libjanus_cuda belongs to another version of janus");
    return JANUS_OK;
}

janus_status jn_device_open(const jn_cuda_module *module, jn_device **out) {
    JN_TRY(check_module(module));
    const jn_dev_api *api = module->api;
    janus_status st;
    int n = 0, error = api->count(&n);
    if (error)
        return jn_error(JANUS_DEVICE, "no CUDA device: %s", api->error_text(error));
    if (n == 0)
        return jn_error(JANUS_DEVICE, "no CUDA device: the driver lists none");
    jn_device *d = jn_calloc(1, sizeof *d);
    if (!d)
        return JN_NO_MEMORY();
    d->name = "cuda";
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
    d->exec = (jn_cu_exec){.base = jn_par_serial, .stream = d->stream, .processors = d->processors};
    pthread_mutex_init(&d->lock, NULL);
    jn_dev_pool_init(&d->pool, api);
    st = jn_schedule_new(d, &d->schedule);
    if (st != JANUS_OK) {
        jn_device_close(d);
        return st;
    }
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

static void *load(const char *path, char *why, size_t room) {
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module)
        snprintf(why, room, "%s", dlerror());
    return module;
}

/* Where this code is installed, the module is near. */
static void *load_beside(char *why, size_t room) {
    static const char *const places[] = {"libjanus_cuda.so", "janus/libjanus_cuda.so",
                                         "_lib/janus/libjanus_cuda.so"};
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)jn_device_cuda, &info) || !info.dli_fname)
        return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    int dir = slash ? (int)(slash - info.dli_fname) : 0;
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        char path[4096];
        if ((size_t)snprintf(path, sizeof path, "%.*s/%s", dir, info.dli_fname, places[i]) >=
            sizeof path)
            continue;
        FILE *there = fopen(path, "re");
        if (!there)
            continue;
        fclose(there);
        void *module = load(path, why, room);
        if (module)
            return module;
    }
    return NULL;
}

static janus_status load_module(const jn_cuda_module **out) {
    char why[400] = "";
    const char *path = getenv("JANUS_CUDA_MODULE");
    void *module = path && *path ? load(path, why, sizeof why) : load_beside(why, sizeof why);
    if (!module && !(path && *path))
        module = load(JANUS_MODULE_DIR "/libjanus_cuda.so", why, sizeof why);
    if (!module && !(path && *path))
        module = load("libjanus_cuda.so", why, sizeof why);
    if (!module)
        return jn_error(JANUS_DEVICE,
                        "no CUDA device: the module libjanus_cuda was not found; janus was built "
                        "without CUDA, or JANUS_CUDA_MODULE should name it (%s)",
                        why);
    union {
        void *object;
        jn_cuda_module_fn fn;
    } symbol = {.object = dlsym(module, JN_CUDA_MODULE_SYMBOL)};
    if (!symbol.object) {
        dlclose(module);
        return jn_error(JANUS_DEVICE, "no CUDA device: the module has no symbol %s",
                        JN_CUDA_MODULE_SYMBOL);
    }
    *out = symbol.fn();
    return JANUS_OK;
}

static struct {
    pthread_mutex_t lock;
    bool tried;
    jn_device *device;
    janus_error error; /* why there is none */
    bool tf32_products, tf32_convolutions;
} cuda = {.lock = PTHREAD_MUTEX_INITIALIZER};

void jn_device_use(jn_device *d) {
    pthread_mutex_lock(&cuda.lock);
    cuda.device = d;
    cuda.tried = d != NULL;
    pthread_mutex_unlock(&cuda.lock);
}

janus_status jn_device_cuda(jn_device **out) {
    janus_status st = JANUS_OK;
    pthread_mutex_lock(&cuda.lock);
    if (!cuda.tried) {
        const jn_cuda_module *module = NULL;
        st = load_module(&module);
        if (st == JANUS_OK)
            st = jn_device_open(module, &cuda.device);
        if (st != JANUS_OK)
            cuda.error = *janus_last_error();
        cuda.tried = true;
        if (cuda.device) {
            const char *why = NULL;
            cuda.device->exec.allow_tf32 = cuda.tf32_products;
            cuda.device->exec.allow_tf32_conv = cuda.tf32_convolutions;
            void *libs = jn_calloc(1, module->libs_size);
            if (libs && module->libs_new(cuda.device->stream, libs, &why)) {
                cuda.device->exec.libs = libs;
            } else {
                jn_free(libs);
                cuda.device->no_libs = libs ? why : "out of memory";
            }
        }
    } else if (!cuda.device) {
        jn_error_publish(&cuda.error);
        st = cuda.error.code;
    }
    *out = cuda.device;
    pthread_mutex_unlock(&cuda.lock);
    return st;
}

void jn_device_allow_tf32(bool products, bool convolutions) {
    pthread_mutex_lock(&cuda.lock);
    cuda.tf32_products = products;
    cuda.tf32_convolutions = convolutions;
    if (cuda.device) {
        cuda.device->exec.allow_tf32 = products;
        cuda.device->exec.allow_tf32_conv = convolutions;
    }
    pthread_mutex_unlock(&cuda.lock);
}

janus_status jn_device_named(const char *name, jn_device **out) {
    *out = NULL;
    if (!name || strcmp(name, "cpu") == 0)
        return JANUS_OK;
    if (strcmp(name, "cuda") == 0 || strcmp(name, "cuda:0") == 0)
        return jn_device_cuda(out);
    if (strncmp(name, "cuda:", 5) == 0)
        return jn_error(JANUS_UNSUPPORTED,
                        "device \"%s\": only the first CUDA device is used; "
                        "CUDA_VISIBLE_DEVICES chooses which it is",
                        name);
    return jn_error(JANUS_NOT_FOUND, "no device named \"%s\"", name);
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
        return jn_error(st, "%s: %s%s", op, what,
                        d->blocking ? ""
                                    : " (in an earlier call: operations on cuda are reported "
                                      "late, see JANUS_LAUNCH_BLOCKING)");
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
    kernel(k);
    int error = d->exec.error ? d->exec.error : d->api->launch_error();
    if (st == JANUS_OK && error)
        st = jn_error(error == JN_DEV_OUT_OF_MEMORY ? JANUS_NO_MEMORY : JANUS_DEVICE,
                      "%s on cuda: %s: %s", op->name, d->exec.failed ? d->exec.failed : "launch",
                      d->api->error_text(error));
    d->exec.failed = NULL;
    if (st == JANUS_OK && d->blocking) {
        error = d->api->stream_sync(d->stream);
        if (error)
            st = jn_error(JANUS_DEVICE, "%s on cuda: %s", op->name, d->api->error_text(error));
        else
            st = read_flags(d);
    }
    pthread_mutex_unlock(&d->lock);
    return st;
}
