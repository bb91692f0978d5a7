/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows serve the executor. */
#include "ops/services.h"

#include "ops/attrs.h"
#include "ops/op_ids.h"

const jn_service jn_service_copy = {JN_OP(clone), NULL};
const jn_service jn_service_add = {JN_OP(add), NULL};
const jn_service jn_service_xtz = {
    JN_OP(matmul), &(const janus_matmul_attrs){sizeof(janus_matmul_attrs), true, false}};

jn_service jn_service_cast(janus_dtype to) {
#define CAST(d) [d] = { sizeof(janus_cast_attrs), d }
    static const janus_cast_attrs casts[JANUS_DTYPE_COUNT] = {
        CAST(JANUS_F32),  CAST(JANUS_F64), CAST(JANUS_I32), CAST(JANUS_I64),
        CAST(JANUS_BOOL), CAST(JANUS_U8),  CAST(JANUS_F16), CAST(JANUS_BF16)};
#undef CAST
    return (jn_service){JN_OP(cast), &casts[to]};
}
