/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ops that the executor itself computes with: it asks for what is to be done and never names a
 * row that has a kernel.
 */
#ifndef JN_OPS_SERVICES_H
#define JN_OPS_SERVICES_H

#include "ops/kernel.h"

typedef struct jn_service {
    const jn_op *op;
    const void *attrs; /* static; NULL: it has none */
} jn_service;

extern const jn_service jn_service_copy; /* out = in 0, row-major */
extern const jn_service jn_service_add;  /* out = in 0 + in 1 */
extern const jn_service jn_service_xtz;  /* out = in 0' x in 1, matrices */
jn_service jn_service_cast(janus_dtype to);

#endif
