/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that janus asks of oneDNN.
 *
 * dnnl_sgemm is the same in 2.x and 3.x, keeps no state and takes strides.  oneDNN is called from
 * our own threads and held to one thread for the length of the call: a second pool would fight
 * ours for the cores.  The number is put back, since the program may use OpenMP itself.  OpenMP is
 * reached through weak symbols: a oneDNN built without it needs none of this.
 */
#include "config.h"

#include "ops/cpu/gemm.h"

#ifdef HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>

extern void omp_set_num_threads(int n) __attribute__((weak));
extern int omp_get_max_threads(void) __attribute__((weak));

static int hold_to_one_thread(void) {
    if (!omp_set_num_threads || !omp_get_max_threads)
        return 1;
    int before = omp_get_max_threads();
    if (before != 1)
        omp_set_num_threads(1);
    return before;
}

static void give_threads_back(int before) {
    if (before != 1)
        omp_set_num_threads(before);
}

bool jn_onednn_sgemm(const jn_gemm_args *g) {
    bool ta = g->a_col != 1, tb = g->b_col != 1;
    int64_t lda = ta ? g->a_col : g->a_row, ldb = tb ? g->b_col : g->b_row;
    if ((ta && g->a_row != 1) || (tb && g->b_row != 1) || lda < (ta ? g->m : g->k) ||
        ldb < (tb ? g->k : g->n))
        return false;
    int before = hold_to_one_thread();
    dnnl_status_t st = dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', g->m, g->n, g->k, 1.0f, g->a, lda,
                                  g->b, ldb, g->accumulate ? 1.0f : 0.0f, g->c, g->ldc);
    give_threads_back(before);
    return st == dnnl_success;
}

#else

bool jn_onednn_sgemm(const jn_gemm_args *g) {
    (void)g;
    return false;
}

#endif
