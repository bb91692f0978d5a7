/* SPDX-License-Identifier: Apache-2.0 */
/* What bench/device_ops measures beside the bare device: chains of kernels, the vendor's libraries.
 */
#ifndef JN_BENCH_DEVICE_BARE_H
#define JN_BENCH_DEVICE_BARE_H

#include "exec/device/device.h"

/* Seconds on a clock that only goes forward. */
double bench_now(void);

/* bench/device_chain.c: time per kernel of a captured graph, a chain of `length` kernels: empty
 * ones and tanh of one number captured as they are, and the same tanh as a janus graph. */
janus_status bench_chains(jn_device *d, int length);

/* bench/device_bare.c: products and convolutions by janus and by cuBLAS and cuDNN called as their
 * manuals say; `scale` divides the sizes.  Says what could not be run. */
void bench_bare(jn_device *d, int scale);

#endif
