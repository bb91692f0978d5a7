/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulated device: launches as loops over fibers, and a jn_dev_api whose device memory is one
 * mapping of this process that is out of reach except while "the device" works.  A host function
 * that follows a device address dies at once, as it would on a GPU.  Blocks end in a red zone that
 * is looked at when they are released.
 *
 * Streams are executed at once; waiting is nothing.  A capture records closures and what each comes
 * after, by streams and events, and is replayed in another order that this allows: of the launches
 * that may be next, the one recorded last.  So a wait that is missing, or memory that is shared too
 * early, gives wrong numbers here.
 *
 * A conditional node of a capture is one of its closures, which runs the graph of its body while
 * its handle says so.  What a driver refuses is refused: a handle of another graph or one used
 * twice, host memory in a body, a body on a stream that is being captured.  A node whose handle was
 * not set in this replay ends the process: its value would be what was there before.
 */
#include "tests/cuda/emulate.cuh"

#include <pthread.h>
#include <setjmp.h>
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
/* JANUS_EMULATED_OPEN=1: device memory stays within reach, which saves two system calls a launch.
 */
static bool stays_open;
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
        const char *open = getenv("JANUS_EMULATED_OPEN");
        stays_open = open && strcmp(open, "0") != 0;
    }
    if (arena_used && !stays_open)
        mprotect(arena, arena_used, PROT_READ | PROT_WRITE);
}
static void leave() {
    if (--depth)
        return;
    if (arena_used && !stays_open)
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

/* Blocks lie by address: neighbours that are free become one of at least `need` bytes. */
static unsigned merge(size_t need) {
    for (unsigned i = 0; i < n_blocks; i++)
        for (unsigned j = i; j < n_blocks && !blocks[j].taken; j++) {
            size_t end = j + 1 < n_blocks ? blocks[j + 1].at : arena_used;
            if (end - blocks[i].at < need)
                continue;
            memmove(&blocks[i + 1], &blocks[j + 1], (n_blocks - j - 1) * sizeof *blocks);
            n_blocks -= j - i;
            return i;
        }
    return MAX_BLOCKS;
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
    if (best == MAX_BLOCKS)
        best = merge(need);
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

enum { MAX_TAIL = 256 };
/* Nodes of a capture that what comes next on a stream, or what waits for an event, comes after. */
struct tail {
    unsigned capture; /* the capture they are of */
    unsigned n, node[MAX_TAIL];
    struct timespec at; /* of an event: when it was recorded, which is when all before it is done */
};
struct work {
    void (*run)(work *w);
    unsigned n_deps, *deps;
    bool done;
};
struct graph {
    work **node;
    unsigned n, cap, number;
    tail *origin;
    graph *outer; /* while this one, a body, is being captured */
};
static graph *capturing; /* one at a time, and its bodies: the innermost */
static unsigned capture_number;

/* A handle of a conditional node is its number here. */
enum { MAX_HANDLES = 4096 };
static struct {
    unsigned graph, value; /* graph 0: free */
    bool used, set;
} handles[MAX_HANDLES];

static void add_tail(tail *t, unsigned node) {
    for (unsigned i = 0; i < t->n; i++)
        if (t->node[i] == node)
            return;
    if (t->n == MAX_TAIL) {
        fprintf(stderr, "emulated device: too many branches in a capture\n");
        abort();
    }
    t->node[t->n++] = node;
}

/* The graph that work on the stream goes to, or that an event is of; NULL: none. */
static graph *graph_of(const void *stream) {
    graph *g = stream ? capturing : NULL;
    while (g && ((const tail *)stream)->capture != g->number)
        g = g->outer;
    return g;
}
static bool is_captured(const void *stream) { return graph_of(stream) != NULL; }

static void put(work *w, void *stream) {
    tail *t = (tail *)stream;
    graph *g = graph_of(stream);
    if (g->n == g->cap) {
        g->cap = 2 * g->cap + 16;
        g->node = (work **)realloc(g->node, g->cap * sizeof *g->node);
    }
    w->done = false;
    w->n_deps = t->n;
    w->deps = (unsigned *)malloc((t->n + 1) * sizeof *w->deps);
    memcpy(w->deps, t->node, t->n * sizeof *w->deps);
    t->n = 1;
    t->node[0] = g->n;
    g->node[g->n++] = w;
}

struct branch_work {
    work base;
    unsigned handle;
    bool loop;
    graph *body;
};
static void run_branch(work *w);

static void graph_delete(graph *g) {
    for (unsigned i = 0; i < g->n; i++) {
        if (g->node[i]->run == run_branch)
            graph_delete(((branch_work *)g->node[i])->body);
        free(g->node[i]->deps);
        free(g->node[i]);
    }
    for (unsigned i = 1; i < MAX_HANDLES; i++)
        if (handles[i].graph == g->number)
            handles[i].graph = 0;
    free(g->node);
    free(g);
}

/* Everything recorded comes before what the origin does next. */
static bool all_joined(const graph *g) {
    bool *seen = (bool *)calloc(g->n + 1, 1), all = true;
    for (unsigned i = 0; i < g->origin->n; i++)
        seen[g->origin->node[i]] = true;
    for (unsigned i = g->n; i-- > 0;) {
        all = all && seen[i];
        for (unsigned k = 0; seen[i] && k < g->node[i]->n_deps; k++)
            seen[g->node[i]->deps[k]] = true;
    }
    free(seen);
    return all;
}

/* ---- launches -----------------------------------------------------------------------------------
 */

enum { MAX_THREADS = 1024, STACK = 64 << 10 };
/* A fiber is entered by its context once and then by jumps: swapcontext asks the kernel each time.
 */
static ucontext_t fibers[MAX_THREADS];
static jmp_buf scheduler_at, fiber_at[MAX_THREADS];
static char *stacks;
static bool alive[MAX_THREADS];
static unsigned current;
static jn_emu_body fiber_body;
static void *fiber_closure;
static uint64_t slots[MAX_THREADS];

uint64_t *jn_emu_slots(void) { return slots; }

void jn_emu_barrier(void) {
    if (!_setjmp(fiber_at[current]))
        _longjmp(scheduler_at, 1);
}

static void fiber_main() {
    for (;;) {
        fiber_body(fiber_closure);
        alive[current] = false;
        jn_emu_barrier();
    }
}

/* Runs a fiber to its next barrier or end. */
static __attribute__((noinline)) void resume(unsigned i, bool started) {
    current = i;
    if (!_setjmp(scheduler_at)) {
        if (started)
            _longjmp(fiber_at[i], 1);
        setcontext(&fibers[i]);
    }
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
    static unsigned n_started;
    if (!stacks)
        stacks = (char *)malloc((size_t)MAX_THREADS * STACK);
    fiber_body = body;
    fiber_closure = closure;
    for (unsigned i = 0; i < n; i++)
        alive[i] = true;
    for (bool any = true; any;) {
        any = false;
        for (unsigned i = 0; i < n; i++) {
            if (!alive[i])
                continue;
            any = true;
            threadIdx = {i % block.x, i / block.x % block.y, i / block.x / block.y};
            bool started = i < n_started;
            if (!started) {
                getcontext(&fibers[i]);
                fibers[i].uc_stack.ss_sp = stacks + (size_t)i * STACK;
                fibers[i].uc_stack.ss_size = STACK;
                fibers[i].uc_link = NULL;
                makecontext(&fibers[i], fiber_main, 0);
                n_started = i + 1;
            }
            resume(i, started);
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
    /* what a driver refuses */
    if (!grid.x || !grid.y || !grid.z || grid.y > 65535 || grid.z > 65535 ||
        block.x * block.y * block.z - 1 >= MAX_THREADS || bytes > 4000) {
        launch_failure = 1;
        return;
    }
    if (!is_captured(stream)) {
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
    put(&l->base, stream);
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
static int put_copy(void *to, const void *from, size_t bytes, int byte, void *stream) {
    copy_work now = {{run_copy, 0, NULL, false}, to, from, bytes, byte};
    if (!is_captured(stream)) {
        run_copy(&now.base);
        return 0;
    }
    copy_work *c = (copy_work *)malloc(sizeof *c);
    *c = now;
    put(&c->base, stream);
    return 0;
}
static int copy(void *to, const void *from, size_t bytes, int kind, void *stream) {
    bool to_device = (char *)to >= arena && (char *)to < arena + arena_bytes;
    bool from_device = (char *)from >= arena && (char *)from < arena + arena_bytes;
    if (to_device != (kind != JN_COPY_TO_HOST) || from_device != (kind != JN_COPY_TO_DEVICE))
        return 3; /* the kind is wrong */
    if (is_captured(stream) && graph_of(stream)->outer && kind != JN_COPY_ON_DEVICE)
        return 9; /* host memory in a body */
    return put_copy(to, from, bytes, 0, stream);
}
static int fill(void *p, int byte, size_t bytes, void *stream) {
    return put_copy(p, NULL, bytes, byte, stream);
}
static int new_tail(void **out) {
    *out = calloc(1, sizeof(tail));
    return *out ? 0 : OUT_OF_MEMORY;
}
static int stream_new(void **out) { return new_tail(out); }
static int stream_free(void *s) { return free(s), 0; }
static int stream_sync(void *s) { return is_captured(s) ? 4 : 0; }
static int stream_wait(void *s, void *e) {
    tail *t = (tail *)s, *event = (tail *)e;
    if (!is_captured(event))
        return is_captured(s) ? 6 : 0; /* an event from outside a capture */
    if (is_captured(s) && graph_of(s) != graph_of(event))
        return 6;
    t->n = is_captured(t) ? t->n : 0;
    t->capture = event->capture;
    for (unsigned i = 0; i < event->n; i++)
        add_tail(t, event->node[i]);
    return 0;
}
static int event_new(bool timing, void **out) {
    (void)timing;
    return new_tail(out);
}
static int event_free(void *e) { return free(e), 0; }
static int event_record(void *e, void *s) {
    *(tail *)e = *(tail *)s;
    clock_gettime(CLOCK_MONOTONIC, &((tail *)e)->at);
    return 0;
}
static int event_sync(void *e) { return (void)e, 0; }
static int event_ms(void *a, void *b, float *out) {
    struct timespec s = ((tail *)a)->at, t = ((tail *)b)->at;
    *out = (float)((double)(t.tv_sec - s.tv_sec) * 1e3 + (double)(t.tv_nsec - s.tv_nsec) * 1e-6);
    return 0;
}
static int launch_error() {
    int e = launch_failure;
    launch_failure = 0;
    return e;
}
static graph *begin(tail *origin, graph *outer) {
    graph *g = (graph *)calloc(1, sizeof(graph));
    g->origin = origin;
    g->outer = outer;
    g->number = origin->capture = ++capture_number;
    origin->n = 0;
    return capturing = g;
}
static int capture_begin(void *s) {
    if (capturing)
        return 5;
    begin((tail *)s, NULL);
    return 0;
}
/* Ends the innermost one; *out may be NULL: somebody has it. */
static int end(void *s, graph *outer, void **out) {
    graph *g = capturing;
    if (!g || g->origin != s || g->outer != outer)
        return 5;
    capturing = outer;
    g->outer = NULL;
    ((tail *)s)->capture = 0;
    bool joined = all_joined(g);
    if (out && joined)
        *out = g;
    else if (out)
        graph_delete(g);
    return joined ? 0 : 7;
}
static int capture_end(void *s, void **out) {
    while (capturing && capturing->outer) /* bodies left open */
        capturing = capturing->outer;
    return end(s, NULL, out);
}

static int has_branches(bool *out) { return *out = true, 0; }
static int branch_handle(void *stream, uint64_t *out) {
    if (!is_captured(stream))
        return 10;
    for (unsigned i = 1; i < MAX_HANDLES; i++)
        if (!handles[i].graph) {
            handles[i] = {graph_of(stream)->number, 0, false, false};
            *out = i;
            return 0;
        }
    return OUT_OF_MEMORY;
}
static int body_begin(void *stream, uint64_t handle, bool loop, void *body) {
    graph *g = graph_of(stream);
    if (!g || g != capturing || is_captured(body) || handle >= MAX_HANDLES ||
        handles[handle].graph != g->number || handles[handle].used)
        return 11;
    handles[handle].used = true;
    branch_work *b = (branch_work *)calloc(1, sizeof *b);
    b->base.run = run_branch;
    b->handle = (unsigned)handle;
    b->loop = loop;
    put(&b->base, stream);
    b->body = begin((tail *)body, g);
    return 0;
}
static int body_end(void *body) { return end(body, capturing ? capturing->outer : NULL, NULL); }

extern "C" void jn_emu_set_conditional(cudaGraphConditionalHandle handle, unsigned value) {
    handles[handle].value = value;
    handles[handle].set = true;
}

static int graph_make(void *g, void **out) { return *out = g, 0; }
static void replay(graph *g) {
    for (unsigned i = 0; i < g->n; i++)
        g->node[i]->done = false;
    for (unsigned done = 0; done < g->n; done++) {
        unsigned next = g->n;
        for (unsigned i = g->n; i-- > 0 && next == g->n;) {
            bool ready = !g->node[i]->done;
            for (unsigned k = 0; ready && k < g->node[i]->n_deps; k++)
                ready = g->node[g->node[i]->deps[k]]->done;
            if (ready)
                next = i;
        }
        g->node[next]->run(g->node[next]);
        g->node[next]->done = true;
    }
}
static void run_branch(work *w) {
    branch_work *b = (branch_work *)w;
    do {
        if (!handles[b->handle].set) {
            fprintf(stderr, "emulated device: a conditional node whose handle was not set\n");
            abort();
        }
        handles[b->handle].set = false;
        if (!handles[b->handle].value)
            return;
        replay(b->body);
    } while (b->loop);
}
static int graph_run(void *p, void *s) {
    if (is_captured(s))
        return 8;
    replay((graph *)p);
    return 0;
}
static int graph_free(void *g) { return graph_delete((graph *)g), 0; }

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
                                   graph_free,
                                   has_branches,
                                   branch_handle,
                                   body_begin,
                                   body_end,
                                   nullptr};
    return &api;
}
