/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels share: loads and stores of any dtype, views as kernel parameters, launches, sums
 * over a block.
 *
 * Kernels are total and never use floating-point atomics: sums have a fixed order, so two runs are
 * bit-equal.  The dtype of a view is a run-time number, the same for every thread, and so costs one
 * predicted branch beside a load from memory; what runs most has kernels of its own.
 */
#ifndef JN_OPS_CUDA_CUDA_CUH
#define JN_OPS_CUDA_CUDA_CUH

#ifndef JN_CUDA_EMULATED
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#endif

extern "C" {
#include "ops/attrs.h"
#include "ops/cuda/kernels.h"
#include "ops/op_ids.h"
}

/* Rules have C linkage: their tables are made in C. */
#define JN_CUDA_SELECT extern "C" jn_kernel_fn

/* In front of a loop: so many rounds at once, whose loads are under way together. */
#ifndef JN_CUDA_EMULATED
#define JN_UNROLL_8 _Pragma("unroll 8")
#define JN_UNROLL _Pragma("unroll")
#define JN_NO_UNROLL _Pragma("unroll 1")
#else
#define JN_NO_UNROLL
#define JN_UNROLL_8
#define JN_UNROLL
#endif

#ifndef JN_CUDA_EMULATED
#define JN_LAUNCH(e, fn, grid, block, ...)                                                         \
    (fn)<<<dim3(grid), dim3(block), 0, (cudaStream_t)(e)->stream>>>(__VA_ARGS__)
#define JN_LAUNCH_SYNC JN_LAUNCH
#else
template <class... P, class... A>
static inline void jn_emu_call(dim3 grid, dim3 block, bool barriers, void *stream, void (*fn)(P...),
                               A... args) {
    jn_emu_run(grid, block, barriers, stream, [=]() { fn(args...); });
}
#define JN_LAUNCH(e, fn, grid, block, ...)                                                         \
    jn_emu_call(dim3(grid), dim3(block), false, (e)->stream, fn, __VA_ARGS__)
/* a kernel with barriers or shuffles */
#define JN_LAUNCH_SYNC(e, fn, grid, block, ...)                                                    \
    jn_emu_call(dim3(grid), dim3(block), true, (e)->stream, fn, __VA_ARGS__)
#endif

typedef long long i64;
typedef unsigned long long u64;

static inline jn_dev_exec *exec_of(const jn_kargs *k) { return (jn_dev_exec *)(void *)k->par; }

enum { JN_BLOCK = 256 };

/* Blocks for n elements, one thread each and a stride loop behind the limit. */
static inline unsigned grid_for(i64 n, int per_block = JN_BLOCK) {
    i64 blocks = (n + per_block - 1) / per_block;
    return (unsigned)(blocks < 1 ? 1 : blocks > 65535 * 8 ? 65535 * 8 : blocks);
}
/* for (i64 i ...) over n, by all threads of the grid. */
#define JN_EACH(i, n)                                                                              \
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < (n);                              \
         i += (i64)gridDim.x * blockDim.x)

/* Launches K<float> or K<double> by a dtype. */
#define BY_DTYPE(launch, e, dtype, kernel, grid, block, ...)                                       \
    do {                                                                                           \
        if ((dtype) == JANUS_F64)                                                                  \
            launch(e, kernel<double>, grid, block, __VA_ARGS__);                                   \
        else                                                                                       \
            launch(e, kernel<float>, grid, block, __VA_ARGS__);                                    \
    } while (0)

static inline unsigned rows_grid(i64 rows) {
    return (unsigned)(rows < 65535 * 8 ? rows : 65535 * 8);
}
static inline int threads_for(i64 n) {
    return n <= 64 ? 32 : n <= 256 ? 64 : n <= 2048 ? 128 : 256;
}

/* ---- dtypes -------------------------------------------------------------------------------------
 */

static __device__ __forceinline__ float half_to_float(uint16_t h) {
#ifdef JN_CUDA_EMULATED
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = (h >> 10) & 31, m = h & 1023, u;
    if (e == 0)
        return (sign ? -1.0f : 1.0f) * ldexpf((float)m, -24);
    u = e == 31 ? sign | 0x7f800000 | m << 13 : sign | (e + 112) << 23 | m << 13;
    float f;
    memcpy(&f, &u, 4);
    return f;
#else
    return __half2float(__ushort_as_half(h));
#endif
}

/* From double: one rounding. */
static __device__ __forceinline__ uint16_t half_from(double d) {
#ifdef JN_CUDA_EMULATED
    uint16_t sign = signbit(d) ? 0x8000 : 0;
    double a = fabs(d);
    int e;
    if (d != d)
        return sign | 0x7e00;
    if (a >= 65520)
        return sign | 0x7c00;
    if (a < ldexp(1.0, -25))
        return sign;
    frexp(a, &e);
    e = e < -13 ? -13 : e;
    double m = nearbyint(ldexp(a, 11 - e));
    if (m >= 2048) {
        m /= 2;
        e++;
    }
    if (m < 1024)
        return (uint16_t)(sign | (uint16_t)m);
    return (uint16_t)(sign | (uint16_t)((e + 14) << 10) | ((uint16_t)m & 1023));
#else
    return __half_as_ushort(__double2half(d));
#endif
}
static __device__ __forceinline__ uint16_t half_from(float f) {
#ifdef JN_CUDA_EMULATED
    return half_from((double)f);
#else
    return __half_as_ushort(__float2half_rn(f));
#endif
}

static __device__ __forceinline__ uint32_t float_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
static __device__ __forceinline__ float bfloat_to_float(uint16_t h) {
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static __device__ __forceinline__ uint16_t bfloat_from(float f) {
    uint32_t u = float_bits(f);
    if (f != f)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* Truncation; what does not fit becomes the smallest value. */
static __device__ __forceinline__ i64 int_from(double f) {
    return f >= -9223372036854775808.0 && f < 9223372036854775808.0 ? (i64)f : INT64_MIN;
}

static inline __host__ __device__ bool is_float(int dtype) {
    return dtype == JANUS_F32 || dtype == JANUS_F64 || dtype == JANUS_F16 || dtype == JANUS_BF16;
}
static inline __host__ __device__ int size_of(int dtype) {
    return dtype == JANUS_F64 || dtype == JANUS_I64    ? 8
           : dtype == JANUS_F32 || dtype == JANUS_I32  ? 4
           : dtype == JANUS_F16 || dtype == JANUS_BF16 ? 2
                                                       : 1;
}

static __device__ __forceinline__ i64 load_i(const void *p, i64 o, int dtype);

/* Element `o` as C: float, double, or i64. */
template <class C> static __device__ __forceinline__ C load_as(const void *p, i64 o, int dtype) {
    switch (dtype) {
    case JANUS_F32:
        return (C)((const float *)p)[o];
    case JANUS_F64:
        return (C)((const double *)p)[o];
    case JANUS_F16:
        return (C)half_to_float(((const uint16_t *)p)[o]);
    case JANUS_BF16:
        return (C)bfloat_to_float(((const uint16_t *)p)[o]);
    default:
        return (C)load_i(p, o, dtype);
    }
}
static __device__ __forceinline__ i64 load_i(const void *p, i64 o, int dtype) {
    switch (dtype) {
    case JANUS_I32:
        return ((const int32_t *)p)[o];
    case JANUS_I64:
        return ((const i64 *)p)[o];
    case JANUS_BOOL:
        return ((const uint8_t *)p)[o] != 0;
    case JANUS_U8:
        return ((const uint8_t *)p)[o];
    case JANUS_F32:
        return int_from(((const float *)p)[o]);
    case JANUS_F64:
        return int_from(((const double *)p)[o]);
    case JANUS_F16:
        return int_from(half_to_float(((const uint16_t *)p)[o]));
    default:
        return int_from(bfloat_to_float(((const uint16_t *)p)[o]));
    }
}
template <> __device__ __forceinline__ i64 load_as<i64>(const void *p, i64 o, int dtype) {
    return load_i(p, o, dtype);
}

/* How elements are stored that a kernel is compiled for: loads that do not branch can be under way
 * together.  halves: f16 and bf16. */
typedef uint16_t halves;
static __device__ __forceinline__ float fetch(const float *p, i64 o, int) { return p[o]; }
static __device__ __forceinline__ double fetch(const double *p, i64 o, int) { return p[o]; }
static __device__ __forceinline__ float fetch(const halves *p, i64 o, int dtype) {
    uint16_t h = p[o];
    return dtype == JANUS_BF16 ? bfloat_to_float(h) : half_to_float(h);
}

/* Stores a float result (double or float), rounded once. */
template <class F> static __device__ __forceinline__ void store_f(void *p, i64 o, int dtype, F f) {
    switch (dtype) {
    case JANUS_F32:
        ((float *)p)[o] = (float)f;
        break;
    case JANUS_F64:
        ((double *)p)[o] = (double)f;
        break;
    case JANUS_F16:
        ((uint16_t *)p)[o] = half_from(f);
        break;
    case JANUS_BF16:
        ((uint16_t *)p)[o] = bfloat_from((float)f);
        break;
    case JANUS_BOOL:
        ((uint8_t *)p)[o] = f != 0;
        break;
    case JANUS_I32:
        ((int32_t *)p)[o] =
            (double)f > -2147483649.0 && (double)f < 2147483648.0 ? (int32_t)f : INT32_MIN;
        break;
    case JANUS_I64:
        ((i64 *)p)[o] = int_from((double)f);
        break;
    default:
        ((uint8_t *)p)[o] = (uint8_t)int_from((double)f);
    }
}
static __device__ __forceinline__ void store_i(void *p, i64 o, int dtype, i64 i) {
    switch (dtype) {
    case JANUS_I32:
        ((int32_t *)p)[o] = (int32_t)(uint32_t)(u64)i;
        break;
    case JANUS_I64:
        ((i64 *)p)[o] = i;
        break;
    case JANUS_BOOL:
        ((uint8_t *)p)[o] = i != 0;
        break;
    case JANUS_U8:
        ((uint8_t *)p)[o] = (uint8_t)i;
        break;
    case JANUS_F32:
        ((float *)p)[o] = (float)i;
        break;
    default:
        store_f(p, o, dtype, (double)i);
    }
}
template <class C> static __device__ __forceinline__ void store_as(void *p, i64 o, int dtype, C v) {
    store_f(p, o, dtype, v);
}
template <> __device__ __forceinline__ void store_as<i64>(void *p, i64 o, int dtype, i64 v) {
    store_i(p, o, dtype, v);
}

/* Copies an element of the same dtype: bits. */
static __device__ __forceinline__ void copy_bits(void *to, i64 i, const void *from, i64 j,
                                                 int size) {
    switch (size) {
    case 1:
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[j];
        break;
    case 2:
        ((uint16_t *)to)[i] = ((const uint16_t *)from)[j];
        break;
    case 4:
        ((uint32_t *)to)[i] = ((const uint32_t *)from)[j];
        break;
    default:
        ((u64 *)to)[i] = ((const u64 *)from)[j];
    }
}
static __device__ __forceinline__ void copy_converted(void *to, i64 i, int dt, const void *from,
                                                      i64 j, int ds) {
    if (dt == ds)
        copy_bits(to, i, from, j, size_of(dt));
    else if (is_float(ds))
        store_f(to, i, dt, load_as<double>(from, j, ds));
    else
        store_i(to, i, dt, load_i(from, j, ds));
}

/* ---- views --------------------------------------------------------------------------------------
 */

/* A view as a kernel parameter. */
struct dview {
    char *p;
    int rank, dtype;
    i64 d[JN_MAX_RANK], s[JN_MAX_RANK];
};

static inline dview view_of(const jn_view &v) {
    dview r;
    memset(&r, 0, sizeof r);
    r.p = (char *)v.data;
    r.rank = v.rank < 0 ? 0 : v.rank;
    r.dtype = v.dtype;
    for (int i = 0; i < v.rank; i++) {
        r.d[i] = v.dims[i];
        r.s[i] = v.strides[i];
    }
    return r;
}
static inline i64 numel_of(const jn_view &v) {
    i64 n = 1;
    for (int i = 0; i < v.rank; i++)
        n *= v.dims[i];
    return n;
}
static inline bool present(const jn_kargs *k, unsigned i) {
    return i < k->n_in && k->in[i].rank >= 0;
}

/* Offset in v of the element with row-major number i. */
static __device__ __forceinline__ i64 offset_of(const dview &v, i64 i) {
    i64 o = 0;
    /* a division is long */
    JN_NO_UNROLL
    for (int d = v.rank - 1; d >= 0; d--) {
        o += i % v.d[d] * v.s[d];
        i /= v.d[d];
    }
    return o;
}

/* Of four dims: where an element lies, and which one has the row-major number i. */
static __device__ __forceinline__ i64 at4(const dview &v, i64 a, i64 b, i64 c, i64 d) {
    return a * v.s[0] + b * v.s[1] + c * v.s[2] + d * v.s[3];
}
static __device__ __forceinline__ void index4(const dview &v, i64 i, i64 *at) {
    for (int d = 3; d >= 0; d--) {
        at[d] = i % v.d[d];
        i /= v.d[d];
    }
}

/* The value of a SCALAR operand of rank 0: host memory. */
static inline double host_f(const jn_view &v) {
    return v.dtype == JANUS_F64    ? *(const double *)v.data
           : v.dtype == JANUS_BOOL ? (double)*(const bool *)v.data
                                   : (double)*(const int64_t *)v.data;
}
static inline i64 host_i(const jn_view &v) {
    return v.dtype == JANUS_F64    ? (i64) * (const double *)v.data
           : v.dtype == JANUS_BOOL ? (i64) * (const bool *)v.data
                                   : (i64) * (const int64_t *)v.data;
}
/* The same as a kernel parameter: its value, or where on the device it will be when the kernel runs
 * (jn_dev_exec.scalars_here). */
struct dscalar {
    double f;
    i64 i;
    const char *at;
    int dtype;
};
static inline dscalar scalar_of(const jn_dev_exec *e, const jn_view &v) {
    dscalar s = {host_f(v), 0, NULL, v.dtype};
    s.i = v.dtype == JANUS_F64 && !(fabs(s.f) < 0x1p63) ? INT64_MIN : host_i(v);
    size_t at = (size_t)((uintptr_t)v.data - (uintptr_t)e->scalars_here);
    if (e->scalars_there && at < e->scalars_bytes)
        s.at = (const char *)e->scalars_there + at;
    return s;
}
static __device__ __forceinline__ double float_of(const dscalar &s) {
    return s.at ? load_as<double>(s.at, 0, s.dtype) : s.f;
}
static __device__ __forceinline__ i64 int_of(const dscalar &s) {
    return s.at ? load_i(s.at, 0, s.dtype) : s.i;
}
static inline int axis_of(i64 axis, int rank) { return (int)(axis < 0 ? axis + rank : axis); }

/* ---- sums over a block --------------------------------------------------------------------------
 */

/* Integers wrap around. */
template <class T> static __device__ __forceinline__ T wrapping_add(T a, T b) { return a + b; }
template <> __device__ __forceinline__ i64 wrapping_add(i64 a, i64 b) {
    return (i64)((u64)a + (u64)b);
}

struct op_sum {
    template <class T> static __device__ __forceinline__ T of(T a, T b) { return a + b; }
};
struct op_max { /* a NaN wins */
    template <class T> static __device__ __forceinline__ T of(T a, T b) {
        return a != a || a > b ? a : b;
    }
};

/* All threads of a one-dimensional block of a multiple of 32 get the combination of every v, always
 * in the same order. */
template <class Op, class T> static __device__ __forceinline__ T block_all(T v) {
    __shared__ T part[32];
    for (int m = 16; m > 0; m /= 2)
        v = Op::of(v, __shfl_xor_sync(0xffffffffu, v, m));
    int warps = (int)(blockDim.x / 32);
    if (warps == 1)
        return v;
    __syncthreads(); /* part may still be read by the call before */
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    v = part[0];
    for (int w = 1; w < warps; w++)
        v = Op::of(v, part[w]);
    return v;
}

#endif
