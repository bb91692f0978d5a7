/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions of captured branches and loops: a kernel that sets the handles of conditional nodes.
 *
 * A file of its own: what calls cudaGraphSetConditional, which the driver has, is not loaded by a
 * driver that has not; modules are loaded when a kernel of theirs is first launched. */
#include "ops/cuda/cuda.cuh"

#if defined(JN_CUDA_EMULATED) || CUDART_VERSION >= 12040

static __device__ bool is_nonzero(const void *value, int dtype) {
    switch (dtype) {
    case JANUS_F32:
        return *(const float *)value != 0;
    case JANUS_F64:
        return *(const double *)value != 0;
    case JANUS_F16:
    case JANUS_BF16:
        return (*(const uint16_t *)value & 0x7fff) != 0;
    case JANUS_I32:
        return *(const int32_t *)value != 0;
    case JANUS_I64:
        return *(const i64 *)value != 0;
    default:
        return *(const uint8_t *)value != 0;
    }
}

struct decision {
    const void *value;
    u64 handle[2];
    int n, dtype;
    bool first;
    uint32_t most;
    uint32_t *rounds, *stop;
};

/* One thread. */
static __global__ void decide(decision d) {
    bool yes = is_nonzero(d.value, d.dtype), stopped = *d.stop != 0;
    if (d.rounds) {
        uint32_t rounds = d.first ? 0 : *d.rounds + 1;
        *d.rounds = rounds;
        if (yes && rounds >= d.most) {
            *d.stop |= JN_KFLAG_ROUNDS;
            stopped = true;
        }
    }
    cudaGraphSetConditional(d.handle[0], yes && !stopped);
    if (d.n > 1)
        cudaGraphSetConditional(d.handle[1], !yes && !stopped);
}

extern "C" void jn_cuda_decide(jn_dev_exec *e, const jn_dev_decision *x) {
    decision d = {x->value,  {x->handle[0], x->n > 1 ? x->handle[1] : 0},
                  (int)x->n, (int)x->dtype,
                  x->first,  x->most,
                  x->rounds, x->stop};
    JN_LAUNCH(e, decide, 1, 1, d);
}

#else /* the driver calls have none either (exec/device/cuda/runtime.c) */

extern "C" void jn_cuda_decide(jn_dev_exec *e, const jn_dev_decision *x) {
    (void)x;
    e->error = (int)cudaErrorNotSupported;
    e->failed = "conditional nodes";
}

#endif
