/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enough of CUDA C++ to run the kernels of ops/cuda on the host, for tests without a GPU.
 *
 * The .cu files are compiled as C++ with this header in front and JN_CUDA_EMULATED defined.  A
 * launch runs block after block; the threads of a block are fibers that take turns at barriers, so
 * shared memory, __syncthreads and shuffles mean what they mean on a device.  What cannot be seen
 * here: races between blocks or warps, alignment, limits of registers and shared memory.
 */
#ifndef JN_TESTS_CUDA_EMULATE_H
#define JN_TESTS_CUDA_EMULATE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(...)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct jn_emu_index {
    unsigned x, y, z;
};

extern thread_local jn_emu_index threadIdx, blockIdx;
extern thread_local dim3 blockDim, gridDim;

extern "C" {
typedef void (*jn_emu_body)(void *closure);
/* Runs or, while a capture goes on, records a launch; `closure` is copied. */
void jn_emu_launch(dim3 grid, dim3 block, jn_emu_body body, const void *closure, size_t bytes,
                   bool barriers, void *stream);
void jn_emu_barrier(void);
/* A slot of 8 bytes per thread of the block, for shuffles. */
uint64_t *jn_emu_slots(void);
}

template <class F>
static inline void jn_emu_run(dim3 grid, dim3 block, bool barriers, void *stream, F body) {
    jn_emu_launch(
        grid, block, [](void *c) { (*(F *)c)(); }, &body, sizeof body, barriers, stream);
}

static inline void __syncthreads() { jn_emu_barrier(); }
/* of all warps: they reach it equally often */
static inline void __syncwarp() { jn_emu_barrier(); }

template <class T> static inline T jn_emu_shuffle(T v, unsigned from) {
    unsigned me = threadIdx.x;
    memcpy(&jn_emu_slots()[me], &v, sizeof v);
    jn_emu_barrier();
    unsigned lane0 = me & ~31u;
    T r = v;
    if (lane0 + from < blockDim.x)
        memcpy(&r, &jn_emu_slots()[lane0 + from], sizeof r);
    jn_emu_barrier();
    return r;
}
template <class T> static inline T __shfl_xor_sync(unsigned, T v, int mask) {
    return jn_emu_shuffle(v, (threadIdx.x & 31u) ^ (unsigned)mask);
}
template <class T> static inline T __shfl_down_sync(unsigned, T v, unsigned by) {
    unsigned lane = (threadIdx.x & 31u) + by;
    return jn_emu_shuffle(v, lane < 32 ? lane : (threadIdx.x & 31u));
}
static inline unsigned __ballot_sync(unsigned, bool v) {
    unsigned r = 0, me = threadIdx.x, lane0 = me & ~31u;
    jn_emu_slots()[me] = v;
    jn_emu_barrier();
    for (unsigned l = 0; l < 32 && lane0 + l < blockDim.x; l++)
        r |= (unsigned)jn_emu_slots()[lane0 + l] << l;
    jn_emu_barrier();
    return r;
}
static inline int __popc(unsigned v) { return __builtin_popcount(v); }

template <class T> static inline T atomicAdd(T *p, T v) {
    T old = *p;
    *p = old + v;
    return old;
}
template <class T> static inline T atomicMax(T *p, T v) {
    T old = *p;
    if (v > old)
        *p = v;
    return old;
}
template <class T> static inline T atomicMin(T *p, T v) {
    T old = *p;
    if (v < old)
        *p = v;
    return old;
}
template <class T> static inline T atomicOr(T *p, T v) {
    T old = *p;
    *p = old | v;
    return old;
}

typedef unsigned long long cudaGraphConditionalHandle;
extern "C" void jn_emu_set_conditional(cudaGraphConditionalHandle handle, unsigned value);
static inline void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value) {
    jn_emu_set_conditional(handle, value);
}

static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }
static inline uint64_t __umul64hi(uint64_t a, uint64_t b) {
    return (uint64_t)((unsigned __int128)a * b >> 64);
}

#endif
