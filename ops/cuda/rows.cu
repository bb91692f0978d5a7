/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a batch: gathering them into one block, and adding them to an accumulator; and the empty
 * kernel. */
#include "ops/cuda/registers.cuh"

enum { ROWS = 448 }; /* addresses in the parameters of one launch: 3.5 KB of at most 4 */
struct row_list {
    const char *p[ROWS];
};

/* A block per row; by 16 bytes where size and addresses allow. */
static __global__ void gather_rows(char *to, row_list src, i64 bytes, bool wide) {
    const char *from = src.p[blockIdx.x];
    char *row = to + (i64)blockIdx.x * bytes;
    if (wide) {
        for (i64 i = threadIdx.x; i < bytes / 16; i += blockDim.x) {
            uint64_t a = ((const uint64_t *)from)[2 * i], b = ((const uint64_t *)from)[2 * i + 1];
            ((uint64_t *)row)[2 * i] = a;
            ((uint64_t *)row)[2 * i + 1] = b;
        }
        return;
    }
    for (i64 i = threadIdx.x; i < bytes; i += blockDim.x)
        row[i] = from[i];
}

extern "C" void jn_cuda_gather_rows(jn_dev_exec *e, void *to, void *const *src, uint32_t n,
                                    size_t bytes) {
    for (uint32_t at = 0; at < n && bytes; at += ROWS) {
        uint32_t some = n - at < ROWS ? n - at : ROWS;
        row_list list;
        uintptr_t bits = (uintptr_t)to | bytes;
        memset(&list, 0, sizeof list);
        for (uint32_t i = 0; i < some; i++) {
            list.p[i] = (const char *)src[at + i];
            bits |= (uintptr_t)src[at + i];
        }
        int threads = bytes >= 4096 ? 256 : 64;
        JN_LAUNCH(e, gather_rows, some, threads, (char *)to + (size_t)at * bytes, list, (i64)bytes,
                  (bits & 15) == 0);
    }
}

/* Moves of any sizes in one launch: a block for each CHUNK bytes, found by its number among the
 * first blocks of the moves. */
enum { MOVES = 128, CHUNK = 1 << 14 };
struct move_list {
    char *to[MOVES];
    const char *from[MOVES];
    i64 bytes[MOVES];
    unsigned first[MOVES + 1];
};

static __global__ void move_all(move_list list, int n) {
    int low = 0, high = n - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (list.first[middle] <= blockIdx.x)
            low = middle;
        else
            high = middle - 1;
    }
    i64 begin = (i64)(blockIdx.x - list.first[low]) * CHUNK, bytes = list.bytes[low] - begin;
    char *to = list.to[low] + begin;
    const char *from = list.from[low] + begin;
    if (bytes > CHUNK)
        bytes = CHUNK;
    i64 done = 0;
    uintptr_t bits = (uintptr_t)to | (uintptr_t)from;
    if ((bits & 15) == 0) {
        for (i64 i = threadIdx.x; i < bytes / 16; i += blockDim.x)
            ((fours<uint32_t> *)to)[i] = ((const fours<uint32_t> *)from)[i];
        done = bytes / 16 * 16;
    } else if ((bits & 3) == 0) {
        for (i64 i = threadIdx.x; i < bytes / 4; i += blockDim.x)
            ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
        done = bytes / 4 * 4;
    }
    for (i64 i = done + threadIdx.x; i < bytes; i += blockDim.x)
        to[i] = from[i];
}

extern "C" void jn_cuda_move_all(jn_dev_exec *e, const jn_dev_moving *moves, uint32_t n) {
    for (uint32_t at = 0; at < n; at += MOVES) {
        int some = n - at < MOVES ? (int)(n - at) : (int)MOVES;
        move_list list;
        unsigned blocks = 0;
        memset(&list, 0, sizeof list);
        for (int i = 0; i < some; i++) {
            list.to[i] = (char *)moves[at + i].to;
            list.from[i] = (const char *)moves[at + i].from;
            list.bytes[i] = (i64)moves[at + i].bytes;
            list.first[i] = blocks;
            blocks += (unsigned)((moves[at + i].bytes + CHUNK - 1) / CHUNK);
        }
        list.first[some] = blocks;
        if (blocks)
            JN_LAUNCH(e, move_all, blocks, 256, list, some);
    }
}

static __device__ __forceinline__ void copy_row(char *to, const char *from, i64 bytes) {
    if ((((uintptr_t)to | (uintptr_t)from | (uintptr_t)bytes) & 7) == 0) {
        for (i64 i = threadIdx.x; i < bytes / 8; i += blockDim.x)
            ((uint64_t *)to)[i] = ((const uint64_t *)from)[i];
        return;
    }
    for (i64 i = threadIdx.x; i < bytes; i += blockDim.x)
        to[i] = from[i];
}

/* A block per row. */
static __global__ void take_rows(char *to, const u64 *table, const u64 *count, i64 bytes) {
    u64 row = blockIdx.x, last = *count - 1;
    copy_row(to + (i64)row * bytes, (const char *)(uintptr_t)table[row < last ? row : last], bytes);
}
static __global__ void give_rows(const u64 *to, const char *from, const u64 *count, i64 bytes) {
    i64 at = (i64)blockIdx.x * bytes;
    if (blockIdx.x < *count)
        copy_row((char *)(uintptr_t)*to + at, from + at, bytes);
}

static int row_threads(size_t bytes) { return bytes >= 2048 ? 256 : 64; }

extern "C" void jn_cuda_take_rows(jn_dev_exec *e, void *to, const void *table, const void *count,
                                  uint32_t rows, size_t bytes) {
    if (rows && bytes)
        JN_LAUNCH(e, take_rows, rows, row_threads(bytes), (char *)to, (const u64 *)table,
                  (const u64 *)count, (i64)bytes);
}
extern "C" void jn_cuda_give_rows(jn_dev_exec *e, const void *to, const void *from,
                                  const void *count, uint32_t rows, size_t bytes) {
    if (rows && bytes)
        JN_LAUNCH(e, give_rows, rows, row_threads(bytes), (const u64 *)to, (const char *)from,
                  (const u64 *)count, (i64)bytes);
}

template <class T>
static __global__ void sum_rows(T *acc, const T *x, i64 numel, i64 rows, i64 step,
                                const uint32_t *stop) {
    if (stop && *stop)
        return;
    JN_EACH(i, numel) {
        T s = acc[i];
        for (i64 r = 0; r < rows; r++)
            s += x[r * step + i];
        acc[i] = s;
    }
}

/* f16 and bf16: rounded once for all rows of a group. */
static __global__ void sum_half_rows(void *acc, const void *x, i64 numel, i64 rows, i64 step,
                                     int dtype, const uint32_t *stop) {
    if (stop && *stop)
        return;
    JN_EACH(i, numel) {
        float s = load_as<float>(acc, i, dtype);
        for (i64 r = 0; r < rows; r++)
            s += load_as<float>(x, r * step + i, dtype);
        store_f(acc, i, dtype, s);
    }
}

extern "C" void jn_cuda_sum_rows(jn_dev_exec *e, void *acc, const void *x, int64_t numel,
                                 int64_t rows, int64_t step, uint8_t dtype) {
    if (numel == 0)
        return;
    if (dtype == JANUS_F16 || dtype == JANUS_BF16)
        JN_LAUNCH(e, sum_half_rows, grid_for(numel), JN_BLOCK, acc, x, (i64)numel, (i64)rows,
                  (i64)step, (int)dtype, e->stop);
    else if (dtype == JANUS_F64)
        JN_LAUNCH(e, sum_rows<double>, grid_for(numel), JN_BLOCK, (double *)acc, (const double *)x,
                  (i64)numel, (i64)rows, (i64)step, e->stop);
    else
        JN_LAUNCH(e, sum_rows<float>, grid_for(numel), JN_BLOCK, (float *)acc, (const float *)x,
                  (i64)numel, (i64)rows, (i64)step, e->stop);
}

static __global__ void nothing(int unused) { (void)unused; }

extern "C" void jn_cuda_nothing(jn_dev_exec *e) { JN_LAUNCH(e, nothing, 1, 32, 0); }
