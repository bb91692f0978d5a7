/* SPDX-License-Identifier: Apache-2.0 */
/* jn_par_serial: the parallel-for of who has no thread pool, or wants none. */
#include "ops/kernel.h"

static void run_serial(const jn_par *par, int64_t n, int64_t grain, jn_range_fn body, void *arg) {
    (void)par;
    (void)grain;
    if (n > 0)
        body(arg, 0, n);
}

const jn_par jn_par_serial = {run_serial, 1};
