/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of random numbers share. */
#ifndef JN_OPS_RANDOM_RULES_H
#define JN_OPS_RANDOM_RULES_H

#include "ops/kernel.h"

/* Uniform numbers of [low, high) in f16 or bf16, row-major: none is `high`, which some were rounded
 * to.  Other dtypes are left alone. */
void jn_rng_keep_below(const jn_view *y, double low, double high);

#endif
