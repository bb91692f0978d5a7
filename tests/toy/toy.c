/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device for tests, and for docs/adding-a-device.md: a second memory of the host's, with an
 * allocator of its own, that is closed to all but the device's own calls.  Its kernels are the
 * CPU's.  What looks into device memory by mistake dies at once.
 */
#include "config.h"

#include "tests/toy/toy.h"

#include "ops/op_ids.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- memory -------------------------------------------------------------------------------------
 */

enum { PIECE = 4096, PIECES = 1 << 14, NO_SUCH = 1, NOT_OURS = 3 };
static struct {
    pthread_mutex_t lock;
    char *at;
    unsigned opened;         /* calls that are using it */
    unsigned length[PIECES]; /* of the block that begins there */
    bool taken[PIECES];
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool ours(const void *p, size_t bytes) {
    const char *c = p;
    return c >= memory.at && c < memory.at + (size_t)PIECE * PIECES &&
           bytes <= (size_t)(memory.at + (size_t)PIECE * PIECES - c);
}

static void use_memory(bool now) {
    pthread_mutex_lock(&memory.lock);
    if (now ? memory.opened++ == 0 : --memory.opened == 0)
        mprotect(memory.at, (size_t)PIECE * PIECES, now ? PROT_READ | PROT_WRITE : PROT_NONE);
    pthread_mutex_unlock(&memory.lock);
}

/* The first gap that is large enough. */
static int toy_alloc(size_t bytes, void *stream, void **out) {
    (void)stream;
    unsigned n = (unsigned)((bytes + PIECE - 1) / PIECE), run = 0, i = 0;
    pthread_mutex_lock(&memory.lock);
    for (; i < PIECES && run < n; i++)
        run = memory.taken[i] ? 0 : run + 1;
    bool found = run == n;
    for (unsigned k = 1; found && k <= n; k++)
        memory.taken[i - k] = true;
    if (found) {
        memory.length[i - n] = n;
        *out = memory.at + (size_t)(i - n) * PIECE;
    }
    pthread_mutex_unlock(&memory.lock);
    return found ? 0 : JN_DEV_OUT_OF_MEMORY;
}

static int toy_release(void *p, void *stream) {
    (void)stream;
    if (!ours(p, 1))
        return NOT_OURS;
    size_t first = (size_t)((char *)p - memory.at) / PIECE;
    pthread_mutex_lock(&memory.lock);
    memset(memory.taken + first, 0, memory.length[first]);
    pthread_mutex_unlock(&memory.lock);
    return 0;
}

static int toy_memory(size_t *free_bytes, size_t *total_bytes) {
    *total_bytes = *free_bytes = (size_t)PIECE * PIECES;
    for (unsigned i = 0; i < PIECES; i++)
        *free_bytes -= memory.taken[i] ? PIECE : 0;
    return 0;
}

static int toy_trim(void) { return 0; }
static int toy_host_alloc(size_t bytes, void **out) {
    *out = malloc(bytes);
    return *out ? 0 : JN_DEV_OUT_OF_MEMORY;
}
static int toy_host_release(void *p) { return free(p), 0; }

static int toy_copy(void *to, const void *from, size_t bytes, int kind, void *stream) {
    (void)stream;
    if (ours(to, bytes) != (kind != JN_COPY_TO_HOST) ||
        ours(from, bytes) != (kind != JN_COPY_TO_DEVICE))
        return NOT_OURS;
    use_memory(true);
    memmove(to, from, bytes);
    use_memory(false);
    return 0;
}
static int toy_fill(void *p, int byte, size_t bytes, void *stream) {
    (void)stream;
    if (!ours(p, bytes))
        return NOT_OURS;
    use_memory(true);
    memset(p, byte, bytes);
    use_memory(false);
    return 0;
}

/* ---- streams ------------------------------------------------------------------------------------
 */

/* What is put on a stream is done when the call returns; an event has a number to be known by. */
static int toy_stream_new(void **out) {
    *out = malloc(1);
    return *out ? 0 : JN_DEV_OUT_OF_MEMORY;
}
static int toy_free(void *stream_or_event) { return free(stream_or_event), 0; }
static int toy_sync(void *stream_or_event) { return (void)stream_or_event, 0; }
static int toy_order(void *stream, void *event) { return (void)stream, (void)event, 0; }
static int toy_event_new(bool timing, void **out) { return (void)timing, toy_stream_new(out); }
static int toy_event_ms(void *begin, void *end, float *out) {
    (void)begin, (void)end;
    *out = 0;
    return 0;
}
static int toy_launch_error(void) { return 0; }

/* ---- the device ---------------------------------------------------------------------------------
 */

static const char *toy_error_text(int error) {
    return error == JN_DEV_OUT_OF_MEMORY ? "the toy's memory is full"
           : error == NOT_OURS           ? "that is not the toy's memory, or not the host's"
                                         : "the toy has no such device, or kernel";
}
static int toy_count(int *out) { return *out = 1, 0; }
static int toy_use(int ordinal) {
    if (ordinal != 0)
        return NO_SUCH;
    if (!memory.at) {
        void *at =
            mmap(NULL, (size_t)PIECE * PIECES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED)
            return JN_DEV_OUT_OF_MEMORY;
        memory.at = at;
    }
    return 0;
}
static int toy_describe(int ordinal, char *name, size_t room, int *capability, int *processors) {
    (void)ordinal;
    strncpy(name, "a second memory of the host", room - 1);
    name[room - 1] = 0;
    *capability = *processors = 1;
    return 0;
}

static const jn_dev_api toy_api = {.struct_size = sizeof(jn_dev_api),
                                   .error_text = toy_error_text,
                                   .count = toy_count,
                                   .use = toy_use,
                                   .describe = toy_describe,
                                   .memory = toy_memory,
                                   .alloc = toy_alloc,
                                   .release = toy_release,
                                   .trim = toy_trim,
                                   .host_alloc = toy_host_alloc,
                                   .host_release = toy_host_release,
                                   .copy = toy_copy,
                                   .fill = toy_fill,
                                   .stream_new = toy_stream_new,
                                   .stream_free = toy_free,
                                   .stream_sync = toy_sync,
                                   .stream_wait = toy_order,
                                   .event_new = toy_event_new,
                                   .event_free = toy_free,
                                   .event_record = toy_order,
                                   .event_sync = toy_sync,
                                   .event_ms = toy_event_ms,
                                   .launch_error = toy_launch_error};

/* ---- kernels ------------------------------------------------------------------------------------
 */

/* A kernel of the CPU's, while the memory is open. */
static void toy_launch(jn_kernel_fn kernel, const jn_kargs *k) {
    use_memory(true);
    kernel(k);
    use_memory(false);
}

static size_t toy_workspace(const jn_sig *sig) {
    jn_workspace_fn f = jn_op_impls[sig->op->id].workspace;
    return f ? f(sig) : 0;
}

static void toy_gather_rows(jn_dev_exec *e, void *to, void *const *src, uint32_t n, size_t bytes) {
    (void)e;
    use_memory(true);
    for (uint32_t i = 0; i < n; i++)
        memcpy((char *)to + i * bytes, src[i], bytes);
    use_memory(false);
}

static void toy_sum_rows(jn_dev_exec *e, void *acc, const void *x, int64_t numel, int64_t rows,
                         int64_t step, uint8_t dtype) {
    use_memory(true);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < numel; i++)
            if (dtype == JANUS_F32)
                ((float *)acc)[i] += ((const float *)x)[r * step + i];
            else if (dtype == JANUS_F64)
                ((double *)acc)[i] += ((const double *)x)[r * step + i];
            else
                e->error = NO_SUCH;
    use_memory(false);
}

const jn_dev_module *janus_toy_module(void) {
    static jn_dev_kernels kernels[JN_OP_ID_COUNT];
    static jn_dev_module module = {.abi = JN_DEV_ABI,
                                   .title = "TOY",
                                   .api = &toy_api,
                                   .rows = kernels,
                                   .workspace = toy_workspace,
                                   .launch = toy_launch,
                                   .gather_rows = toy_gather_rows,
                                   .sum_rows = toy_sum_rows};
    uint64_t h = JN_HASH_START;
    for (unsigned i = 0; i < jn_n_ops; i++) {
        kernels[i].select = jn_op_impls[i].cpu;
        h = jn_hash_name(h, jn_ops[i].name);
    }
    module.n_ops = jn_n_ops;
    module.ops_hash = h;
    return &module;
}
