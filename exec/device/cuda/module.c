/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA module's one symbol: its kernels by op, and the driver calls.  No array designators in
 * .cu files, so the table is C.
 */
#include "config.h"

#include "ops/cuda/kernels.h"
#include "ops/op_ids.h"

#define RULE_cuda(f) jn_kernel_fn jn_cuda_##f(const jn_sig *sig);
#define OP_NAMED(id, name, ...) __VA_ARGS__
#include "ops/ops.def"

#define RULE_cuda(f) .select = jn_cuda_##f,
#define OP_NAMED(id, name, ...) [JN_OP_ID_##id] = {__VA_ARGS__},
static const jn_dev_kernels rows[JN_OP_ID_COUNT] = {
#include "ops/ops.def"
};

static const char *const names[] = {
#define OP_NAMED(id, name, ...) name,
#include "ops/ops.def"
};

__attribute__((visibility("default"))) const jn_dev_module *janus_cuda_module(void);
const jn_dev_module *janus_cuda_module(void) {
    static jn_dev_module m = {.abi = JN_DEV_ABI,
                              .n_ops = JN_OP_ID_COUNT,
                              .title = "CUDA",
                              .rows = rows,
                              .workspace = jn_cuda_workspace,
                              .chain = jn_cuda_chain,
                              .many = jn_cuda_many,
                              .chain_head = jn_cuda_chain_head,
                              .libs_new = jn_cuda_libs_new,
                              .libs_free = jn_cuda_libs_free,
                              .move_all = jn_cuda_move_all,
                              .gather_rows = jn_cuda_gather_rows,
                              .take_rows = jn_cuda_take_rows,
                              .give_rows = jn_cuda_give_rows,
                              .sum_rows = jn_cuda_sum_rows,
                              .nothing = jn_cuda_nothing,
                              .decide = jn_cuda_decide};
    uint64_t h = JN_HASH_START;
    for (unsigned i = 0; i < JN_OP_ID_COUNT; i++)
        h = jn_hash_name(h, names[i]);
    m.ops_hash = h;
    m.libs_size = jn_cuda_libs_size;
    m.api = jn_cuda_api(); /* the same each time: calling twice at once does no harm */
    return &m;
}
