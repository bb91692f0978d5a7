/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that lie in registers while they are worked on: read once, summed by shuffles, written once.
 *
 * `width` threads have a row, each up to 4 * Q elements of it; several rows share a block where one
 * warp has a row.  A row may be in runs, as a channel of a batch of images is.  Elements go by
 * fours where addresses and sizes allow, else one by one with neighbours side by side.
 */
#ifndef JN_OPS_CUDA_REGISTERS_CUH
#define JN_OPS_CUDA_REGISTERS_CUH

#include "ops/cuda/cuda.cuh"

template <class S> struct alignas(4 * sizeof(S)) fours { S v[4]; };
template <class S> static inline bool by_fours(const void *p) {
    return (uintptr_t)p % sizeof(fours<S>) == 0;
}
static __device__ __forceinline__ void put(float *p, i64 o, int, float f) { p[o] = f; }
static __device__ __forceinline__ void put(halves *p, i64 o, int dtype, float f) {
    p[o] = dtype == JANUS_BF16 ? bfloat_from(f) : half_from(f);
}

struct row_plan {
    unsigned n, run; /* elements; of a run */
    i64 run_step;    /* from run to run; 0: all in one */
    int width, q;    /* q: fours of a thread; 0: such rows do not fit */
    bool vectors;
};

/* Elements of a row, at most: 1024 threads of 4 fours each or 512 of 8, which is what registers
 * hold without spilling. */
enum { ROW_MOST = 16384 };
#define JN_ROW_BOUNDS(Q) __launch_bounds__((Q) == 8 ? 512 : 1024)

/* `most`: the larger Q that there is a kernel for, beside 2; 4 or 8. */
static inline row_plan plan_row(i64 rows, i64 n, i64 run, i64 run_step, int most) {
    row_plan r = {(unsigned)n, (unsigned)run, run < n ? run_step : 0, 32, 0, run % 4 == 0};
    if (n < 1 || n > ROW_MOST)
        return r;
    i64 quads = (n + 3) / 4;
    r.q = 2;
    while ((i64)r.width * r.q < quads)
        r.width *= 2;
    /* more elements a thread where a device has not the threads */
    if (r.width > 1024 || (r.width > 32 && rows * r.width > 132 * 2048)) {
        r.q = most;
        for (r.width = 32; (i64)r.width * r.q < quads;)
            r.width *= 2;
    }
    return r;
}
static inline unsigned rows_of_block(const row_plan &r) { return r.width == 32 ? 4 : 1; }

/* Launches K<q, S> with this row_plan for `rows` rows. */
#define JN_LAUNCH_ROWS(e, kernel, MOST, S, rows, plan, ...)                                        \
    do {                                                                                           \
        unsigned each_ = rows_of_block(plan), threads_ = each_ * (unsigned)(plan).width;           \
        unsigned grid_ = (unsigned)(((rows) + each_ - 1) / each_);                                 \
        if ((plan).q == 2)                                                                         \
            JN_LAUNCH_SYNC(e, (kernel<2, S>), grid_, threads_, __VA_ARGS__, plan);                 \
        else                                                                                       \
            JN_LAUNCH_SYNC(e, (kernel<MOST, S>), grid_, threads_, __VA_ARGS__, plan);              \
    } while (0)

/* This thread's row. */
static __device__ __forceinline__ i64 row_here(const row_plan &r) {
    return r.width == 32 ? (i64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32 : (i64)blockIdx.x;
}
static __device__ __forceinline__ unsigned lane_here(const row_plan &r) {
    return r.width == 32 ? threadIdx.x % 32 : threadIdx.x;
}
/* Number in the row of this thread's element j. */
static __device__ __forceinline__ unsigned element_of(const row_plan &r, int j) {
    unsigned t = lane_here(r), width = (unsigned)r.width;
    return r.vectors ? 4 * ((unsigned)(j / 4) * width + t) + (unsigned)(j % 4)
                     : (unsigned)j * width + t;
}
static __device__ __forceinline__ i64 offset_in(const row_plan &r, unsigned e) {
    return r.run_step ? e / r.run * r.run_step + e % r.run : (i64)e;
}

/* v = the row at `p`; 0 behind its end. */
template <int Q, class S>
static __device__ __forceinline__ void load_row(float (&v)[4 * Q], const S *p, const row_plan &r,
                                                int dtype) {
    if (r.vectors) {
        JN_UNROLL
        for (int i = 0; i < Q; i++) {
            unsigned e = element_of(r, 4 * i);
            fours<S> x = {{0, 0, 0, 0}};
            if (e < r.n)
                x = *(const fours<S> *)(p + offset_in(r, e));
            JN_UNROLL
            for (int k = 0; k < 4; k++)
                v[4 * i + k] = fetch(x.v, k, dtype);
        }
        return;
    }
    JN_UNROLL
    for (int j = 0; j < 4 * Q; j++) {
        unsigned e = element_of(r, j);
        v[j] = e < r.n ? fetch(p, offset_in(r, e), dtype) : 0.0f;
    }
}
template <int Q, class S>
static __device__ __forceinline__ void store_row(const float (&v)[4 * Q], S *p, const row_plan &r,
                                                 int dtype) {
    if (r.vectors) {
        JN_UNROLL
        for (int i = 0; i < Q; i++) {
            unsigned e = element_of(r, 4 * i);
            fours<S> x;
            JN_UNROLL
            for (int k = 0; k < 4; k++)
                put(x.v, k, dtype, v[4 * i + k]);
            if (e < r.n)
                *(fours<S> *)(p + offset_in(r, e)) = x;
        }
        return;
    }
    JN_UNROLL
    for (int j = 0; j < 4 * Q; j++) {
        unsigned e = element_of(r, j);
        if (e < r.n)
            put(p, offset_in(r, e), dtype, v[j]);
    }
}

/* The combination of the v of all threads of a row. */
template <class Op> static __device__ __forceinline__ float row_all(float v, const row_plan &r) {
    if (r.width > 32)
        return block_all<Op>(v);
    for (int m = 16; m > 0; m /= 2)
        v = Op::of(v, __shfl_xor_sync(0xffffffffu, v, m));
    return v;
}

#endif
