/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a batch: gathering them into one block, and adding them to an accumulator. */
#include "ops/cuda/cuda.cuh"

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

extern "C" void jn_cuda_gather_rows(jn_cu_exec *e, void *to, void *const *src, uint32_t n,
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

extern "C" void jn_cuda_sum_rows(jn_cu_exec *e, void *acc, const void *x, int64_t numel,
                                 int64_t rows, int64_t step, uint8_t dtype) {
    if (numel == 0)
        return;
    if (dtype == JANUS_F64)
        JN_LAUNCH(e, sum_rows<double>, grid_for(numel), JN_BLOCK, (double *)acc, (const double *)x,
                  (i64)numel, (i64)rows, (i64)step, e->stop);
    else
        JN_LAUNCH(e, sum_rows<float>, grid_for(numel), JN_BLOCK, (float *)acc, (const float *)x,
                  (i64)numel, (i64)rows, (i64)step, e->stop);
}
