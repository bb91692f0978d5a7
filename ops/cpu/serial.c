/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in: for a thread pool where there is none or none is wanted, for a kernel of its own.
 */
#include "ops/cpu/isa.h"
#include "ops/rules.h"

static void run_serial(const jn_par *par, int64_t n, int64_t grain, jn_range_fn body, void *arg) {
    (void)par;
    (void)grain;
    if (n > 0)
        body(arg, 0, n);
}

const jn_par jn_par_serial = {run_serial, 1};

jn_kernel_fn jn_cpu_fallback(const jn_sig *sig) {
    jn_select_fn ref = jn_op_impls[sig->op->id].ref;
    return ref ? ref(sig) : NULL;
}
