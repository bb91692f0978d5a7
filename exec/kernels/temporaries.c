/* SPDX-License-Identifier: Apache-2.0 */
/* Where the values lie that live only inside a segment. */
#include "config.h"

#include "exec/kernels/kernels.h"
#include "graph/base/status.h"

typedef struct hole {
    size_t at, size;
} hole;

/* Offsets per row of the values that live only inside the segment: first fit, by last use; an op
 * that may overwrite its first operand takes its place when that dies there. */
janus_status jn_place_temporaries(const jn_seginst *inst, jn_variant *v) {
    const jn_segment *seg = inst->seg;
    JN_VEC(hole) holes = {0};
    JN_VEC(uint32_t) live = {0};
    size_t end = 0;
    bool ok = true;
    for (uint32_t i = 0; i < seg->n_nodes && ok; i++) {
        const jn_segnode *n = &seg->nodes[i];
        const jn_vnode *vn = &v->nodes[i];
        if (vn->mode == JN_V_SKIP || vn->mode == JN_V_SUM)
            continue;
        for (uint32_t k = 0; k < n->n_out && ok; k++) {
            const jn_segvalue *sv = &inst->values[n->value[k]];
            if (sv->output >= 0 || vn->acc >= 0 || v->goes_to[n->value[k]] >= 0)
                continue;
            size_t size = (sv->shape->bytes + 63) & ~(size_t)63, best = SIZE_MAX;
            uint32_t reuse = UINT32_MAX;
            if (k == 0 && (n->op->flags & JN_OP_INPLACE0) && n->in[0].kind == JN_SRC_NODE &&
                vn->mode == JN_V_CALL) {
                uint32_t a = seg->nodes[n->in[0].index].value[n->in[0].index_out];
                const jn_segvalue *av = &inst->values[a];
                if (!av->alias && av->output < 0 && av->last_use == i && av->shape == sv->shape &&
                    v->rowed[a] == v->rowed[n->value[k]])
                    for (uint32_t l = 0; l < live.n; l++)
                        if (live.data[l] == a)
                            reuse = l;
            }
            if (reuse != UINT32_MAX) {
                v->scratch[n->value[k]] = v->scratch[live.data[reuse]];
                live.data[reuse] = n->value[k];
                continue;
            }
            for (size_t h = 0; h < holes.n; h++)
                if (holes.data[h].size >= size &&
                    (best == SIZE_MAX || holes.data[h].size < holes.data[best].size))
                    best = h;
            if (best != SIZE_MAX) {
                v->scratch[n->value[k]] = holes.data[best].at;
                holes.data[best].at += size;
                holes.data[best].size -= size;
            } else {
                v->scratch[n->value[k]] = end;
                end += size;
            }
            ok = jn_vec_push(&live, n->value[k]);
        }
        for (size_t l = 0; l < live.n && ok;) {
            const jn_segvalue *sv = &inst->values[live.data[l]];
            if (sv->last_use > i) {
                l++;
                continue;
            }
            hole h = {v->scratch[live.data[l]], (sv->shape->bytes + 63) & ~(size_t)63};
            live.data[l] = live.data[--live.n];
            size_t j = 0;
            while (j < holes.n && holes.data[j].at + holes.data[j].size != h.at)
                j++;
            if (j < holes.n)
                holes.data[j].size += h.size;
            else
                ok = jn_vec_push(&holes, h);
        }
    }
    v->scratch_bytes = end;
    jn_vec_free(&holes);
    jn_vec_free(&live);
    return ok ? JANUS_OK : JN_NO_MEMORY();
}
