/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selectors whose choice is a look into the instruction set's table.  What the table has not, the
 * reference kernels do.
 */
#include "ops/cpu/select/select.h"

#include "ops/cpu/isa.h"
#include "ops/rules.h"

jn_kernel_fn jn_cpu_select(const jn_sig *sig) {
    jn_kernel_fn half = jn_cpu_half(sig);
    return half ? half : jn_cpu_own[sig->op->id].select(sig);
}

jn_kernel_fn jn_cpu_elementwise(const jn_sig *sig) {
    unsigned id = sig->op->id;
    jn_kernel_fn f = jn_isa.kernel[id][sig->in[id == JN_OP_ID_where].dtype];
    if (id == JN_OP_ID_cast)
        f = jn_isa.cast[sig->in[0].dtype][sig->out[0].dtype];
    return f ? f : jn_cpu_fallback(sig);
}
