/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulated device: launches as loops over fibers, and a jn_dev_api whose device memory is one
 * mapping of this process that is out of reach except while "the device" works.  A host function
 * that follows a device address dies at once, as it would on a GPU.  Blocks end in a red zone that
 * is looked at when they are released.
 *
 * Streams are executed at once; waiting is nothing; captures record closures.
 */
#include "tests/cuda/emulate.cuh"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "ops/cuda/kernels.h"

thread_local jn_emu_index threadIdx, blockIdx;
thread_local dim3 blockDim, gridDim;

/* ---- device memory ------------------------------------------------------------------------------
 */

static const size_t arena_bytes = (size_t)4 << 30;
enum { RED = 64, RED_BYTE = 0xa7, MAX_BLOCKS = 1 << 16, OUT_OF_MEMORY = JN_DEV_OUT_OF_MEMORY };
static char *arena;
static size_t arena_used, arena_limit = arena_bytes;
static struct {
    size_t at, bytes;
    bool taken;
} blocks[MAX_BLOCKS];
static unsigned n_blocks;
static pthread_mutex_t big_lock = PTHREAD_MUTEX_INITIALIZER;
static thread_local int depth;

/* The device works: its memory may be touched. */
static void enter() {
    if (depth++)
        return;
    pthread_mutex_lock(&big_lock);
    if (!arena) {
        arena = (char *)mmap(NULL, arena_bytes, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        const char *limit = getenv("JANUS_EMULATED_BYTES");
        if (limit)
            arena_limit = strtoull(limit, NULL, 10);
    }
    if (arena_used)
        mprotect(arena, arena_used, PROT_READ | PROT_WRITE);
}
static void leave() {
    if (--depth)
        return;
    if (arena_used)
        mprotect(arena, arena_used, PROT_NONE);
    pthread_mutex_unlock(&big_lock);
}

static void check_red(unsigned i) {
    const char *red = arena + blocks[i].at + blocks[i].bytes;
    for (int k = 0; k < RED; k++)
        if ((unsigned char)red[k] != RED_BYTE) {
            fprintf(stderr, "emulated device: a kernel wrote behind a block of %zu bytes\n",
                    blocks[i].bytes);
            abort();
        }
}

static int emu_alloc(size_t bytes, void *stream, void **out) {
    (void)stream;
    int error = 0;
    enter();
    size_t need = (bytes + RED + 511) / 512 * 512;
    unsigned best = MAX_BLOCKS;
    for (unsigned i = 0; i < n_blocks && best == MAX_BLOCKS; i++)
        if (!blocks[i].taken && (blocks[i].bytes + RED + 511) / 512 * 512 == need)
            best = i;
    if (best == MAX_BLOCKS && n_blocks < MAX_BLOCKS && arena_used + need <= arena_limit) {
        best = n_blocks++;
        blocks[best].at = arena_used;
        mprotect(arena, arena_used + need, PROT_READ | PROT_WRITE);
        arena_used += (need + 4095) / 4096 * 4096;
        mprotect(arena, arena_used, PROT_READ | PROT_WRITE);
    }
    if (best == MAX_BLOCKS) {
        error = OUT_OF_MEMORY;
    } else {
        blocks[best].bytes = bytes;
        blocks[best].taken = true;
        memset(arena + blocks[best].at, 0x5a, bytes);
        memset(arena + blocks[best].at + bytes, RED_BYTE, RED);
        *out = arena + blocks[best].at;
    }
    leave();
    return error;
}

static int emu_release(void *p, void *stream) {
    (void)stream;
    enter();
    for (unsigned i = 0; i < n_blocks; i++)
        if (arena + blocks[i].at == p && blocks[i].taken) {
            check_red(i);
            blocks[i].taken = false;
        }
    leave();
    return 0;
}

/* ---- captures -----------------------------------------------------------------------------------
 */

struct work {
    work *next;
    void (*run)(work *w);
};
struct graph {
    work *first, **tail;
};
static graph *capturing; /* one at a time is enough for tests */

static void put(work *w) {
    w->next = NULL;
    *capturing->tail = w;
    capturing->tail = &w->next;
}

/* ---- launches -----------------------------------------------------------------------------------
 */

enum { MAX_THREADS = 1024, STACK = 64 << 10 };
static ucontext_t scheduler, fibers[MAX_THREADS];
static char *stacks;
static bool alive[MAX_THREADS];
static unsigned current;
static jn_emu_body fiber_body;
static void *fiber_closure;
static uint64_t slots[MAX_THREADS];

uint64_t *jn_emu_slots(void) { return slots; }

void jn_emu_barrier(void) { swapcontext(&fibers[current], &scheduler); }

static void fiber_main() {
    fiber_body(fiber_closure);
    alive[current] = false;
    swapcontext(&fibers[current], &scheduler);
}

static void run_block(dim3 block, jn_emu_body body, void *closure, bool barriers) {
    unsigned n = block.x * block.y * block.z;
    if (!barriers) {
        for (unsigned i = 0; i < n; i++) {
            threadIdx = {i % block.x, i / block.x % block.y, i / block.x / block.y};
            body(closure);
        }
        return;
    }
    if (!stacks)
        stacks = (char *)malloc((size_t)MAX_THREADS * STACK);
    fiber_body = body;
    fiber_closure = closure;
    for (unsigned i = 0; i < n; i++) {
        getcontext(&fibers[i]);
        fibers[i].uc_stack.ss_sp = stacks + (size_t)i * STACK;
        fibers[i].uc_stack.ss_size = STACK;
        fibers[i].uc_link = NULL;
        makecontext(&fibers[i], fiber_main, 0);
        alive[i] = true;
    }
    for (bool any = true; any;) {
        any = false;
        for (unsigned i = 0; i < n; i++) {
            if (!alive[i])
                continue;
            any = true;
            current = i;
            threadIdx = {i % block.x, i / block.x % block.y, i / block.x / block.y};
            swapcontext(&scheduler, &fibers[i]);
        }
    }
}

static void run_grid(dim3 grid, dim3 block, jn_emu_body body, void *closure, bool barriers) {
    enter();
    gridDim = grid;
    blockDim = block;
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = {x, y, z};
                run_block(block, body, closure, barriers);
            }
    leave();
}

struct launch_work {
    work base;
    dim3 grid, block;
    jn_emu_body body;
    bool barriers;
    max_align_t closure[];
};
static void run_launch(work *w) {
    launch_work *l = (launch_work *)w;
    run_grid(l->grid, l->block, l->body, l->closure, l->barriers);
}

static int launch_failure;
void jn_emu_launch(dim3 grid, dim3 block, jn_emu_body body, const void *closure, size_t bytes,
                   bool barriers, void *stream) {
    (void)stream;
    /* what a driver refuses */
    if (!grid.x || !grid.y || !grid.z || grid.y > 65535 || grid.z > 65535 ||
        block.x * block.y * block.z - 1 >= MAX_THREADS || bytes > 4000) {
        launch_failure = 1;
        return;
    }
    if (!capturing) {
        run_grid(grid, block, body, (void *)closure, barriers);
        return;
    }
    launch_work *l = (launch_work *)malloc(sizeof *l + bytes);
    l->base.run = run_launch;
    l->grid = grid;
    l->block = block;
    l->body = body;
    l->barriers = barriers;
    memcpy(l->closure, closure, bytes);
    put(&l->base);
}

/* ---- the table ----------------------------------------------------------------------------------
 */

static const char *error_text(int error) {
    return error == OUT_OF_MEMORY ? "out of memory"
           : error == 1           ? "invalid launch"
                                  : "emulated error";
}
static int count(int *out) { return *out = 1, 0; }
static int use(int ordinal) { return ordinal != 0; }
static int describe(int ordinal, char *name, size_t room, int *capability, int *processors) {
    (void)ordinal;
    snprintf(name, room, "emulated");
    *capability = 90;
    *processors = 4;
    return 0;
}
static int memory(size_t *free_bytes, size_t *total_bytes) {
    *free_bytes = arena_limit - arena_used;
    *total_bytes = arena_limit;
    return 0;
}
static int trim() { return 0; }
static int host_alloc(size_t bytes, void **out) {
    *out = malloc(bytes ? bytes : 1);
    return *out ? 0 : OUT_OF_MEMORY;
}
static int host_release(void *p) { return free(p), 0; }

struct copy_work {
    work base;
    void *to;
    const void *from;
    size_t bytes;
    int byte;
};
static void run_copy(work *w) {
    copy_work *c = (copy_work *)w;
    enter();
    if (c->from)
        memmove(c->to, c->from, c->bytes);
    else
        memset(c->to, c->byte, c->bytes);
    leave();
}
static int put_copy(void *to, const void *from, size_t bytes, int byte) {
    copy_work now = {{NULL, run_copy}, to, from, bytes, byte};
    if (!capturing) {
        run_copy(&now.base);
        return 0;
    }
    copy_work *c = (copy_work *)malloc(sizeof *c);
    *c = now;
    put(&c->base);
    return 0;
}
static int copy(void *to, const void *from, size_t bytes, int kind, void *stream) {
    (void)stream;
    bool to_device = (char *)to >= arena && (char *)to < arena + arena_bytes;
    bool from_device = (char *)from >= arena && (char *)from < arena + arena_bytes;
    if (to_device != (kind != JN_COPY_TO_HOST) || from_device != (kind != JN_COPY_TO_DEVICE))
        return 3; /* the kind is wrong */
    return put_copy(to, from, bytes, 0);
}
static int fill(void *p, int byte, size_t bytes, void *stream) {
    (void)stream;
    return put_copy(p, NULL, bytes, byte);
}
static int stream_new(void **out) {
    *out = malloc(8);
    return 0;
}
static int stream_free(void *s) { return free(s), 0; }
static int stream_sync(void *s) { return (void)s, capturing ? 4 : 0; }
static int stream_wait(void *s, void *e) { return (void)s, (void)e, 0; }
static int event_new(bool timing, void **out) {
    (void)timing;
    *out = malloc(8);
    return 0;
}
static int event_free(void *e) { return free(e), 0; }
static int event_record(void *e, void *s) { return (void)e, (void)s, 0; }
static int event_sync(void *e) { return (void)e, 0; }
static int event_ms(void *a, void *b, float *out) { return (void)a, (void)b, *out = 0.001f, 0; }
static int launch_error() {
    int e = launch_failure;
    launch_failure = 0;
    return e;
}
static int capture_begin(void *s) {
    (void)s;
    if (capturing)
        return 5;
    capturing = (graph *)calloc(1, sizeof(graph));
    capturing->tail = &capturing->first;
    return 0;
}
static int capture_end(void *s, void **out) {
    (void)s;
    if (!capturing)
        return 5;
    *out = capturing;
    capturing = NULL;
    return 0;
}
static int graph_make(void *g, void **out) { return *out = g, 0; }
static int graph_run(void *g, void *s) {
    (void)s;
    for (work *w = ((graph *)g)->first; w; w = w->next)
        w->run(w);
    return 0;
}
static int graph_free(void *g) {
    for (work *w = ((graph *)g)->first; w;) {
        work *next = w->next;
        free(w);
        w = next;
    }
    free(g);
    return 0;
}

const jn_dev_api *jn_cuda_api(void) {
    static const jn_dev_api api = {sizeof(jn_dev_api),
                                   error_text,
                                   count,
                                   use,
                                   describe,
                                   memory,
                                   emu_alloc,
                                   emu_release,
                                   trim,
                                   host_alloc,
                                   host_release,
                                   copy,
                                   fill,
                                   stream_new,
                                   stream_free,
                                   stream_sync,
                                   stream_wait,
                                   event_new,
                                   event_free,
                                   event_record,
                                   event_sync,
                                   event_ms,
                                   launch_error,
                                   capture_begin,
                                   capture_end,
                                   graph_make,
                                   graph_run,
                                   graph_free};
    return &api;
}
