/* SPDX-License-Identifier: Apache-2.0 */
/* Where the values lie that live only inside a segment. */
#include "config.h"

#include "exec/kernels/kernels.h"
#include "graph/base/alloc.h"
#include "graph/base/status.h"

typedef struct hole {
    size_t at, size;
} hole;

/* Entries of the order in which nodes run: a node, or the nodes of a chain. */
static uint32_t n_entries(const jn_seginst *inst, const jn_variant *v) {
    return v->order ? v->n_order : inst->seg->n_nodes;
}
static uint32_t n_nodes_of(const jn_seginst *inst, const jn_variant *v, uint32_t entry) {
    uint32_t n = inst->seg->n_nodes;
    return v->order && v->order[entry] >= n ? v->chains[v->order[entry] - n].n : 1;
}
static uint32_t node_of(const jn_seginst *inst, const jn_variant *v, uint32_t entry, uint32_t k) {
    const jn_segment *seg = inst->seg;
    uint32_t i = v->order ? v->order[entry] : entry;
    return i < seg->n_nodes ? i
                            : (uint32_t)(v->chains[i - seg->n_nodes].link[k].vn->n - seg->nodes);
}

/* Whether it is a chain's link that computes what another chain does, too. */
static bool computed_again(const jn_seginst *inst, const jn_variant *v, uint32_t entry,
                           uint32_t k) {
    uint32_t n = inst->seg->n_nodes;
    return v->order && v->order[entry] >= n && v->chains[v->order[entry] - n].link[k].again;
}

/* Per value the entry that uses it last, aliases of it included. */
static void find_last_entries(const jn_seginst *inst, const jn_variant *v, uint32_t *last) {
    const jn_segment *seg = inst->seg;
    for (uint32_t e = 0; e < n_entries(inst, v); e++)
        for (uint32_t m = 0; m < n_nodes_of(inst, v, e); m++) {
            const jn_segnode *n = v->nodes[node_of(inst, v, e, m)].n;
            for (uint32_t k = 0; k < n->n_out; k++)
                if (last[n->value[k]] < e)
                    last[n->value[k]] = e;
            for (uint32_t k = 0; k < n->n_in; k++) {
                if (n->in[k].kind != JN_SRC_NODE)
                    continue;
                uint32_t value = seg->nodes[n->in[k].index].value[n->in[k].index_out];
                const jn_segvalue *sv = &inst->values[value];
                last[value] = e;
                if (sv->alias && !sv->base_input)
                    last[sv->base] = e;
            }
        }
}

typedef struct placer {
    const jn_seginst *inst;
    jn_variant *v;
    JN_VEC(hole) holes;
    JN_VEC(uint32_t) live;
    uint32_t *last;
    size_t end;
} placer;

static size_t size_of(const jn_segvalue *v) { return (v->shape->bytes + 63) & ~(size_t)63; }

/* A value that lives only inside the segment: where the node's first operand dies and may be
 * overwritten its place, else the smallest hole that is large enough. */
static bool place_value(placer *p, uint32_t node, uint32_t k, uint32_t entry) {
    const jn_segment *seg = p->inst->seg;
    const jn_segnode *n = &seg->nodes[node];
    const jn_vnode *vn = &p->v->nodes[node];
    uint32_t value = n->value[k], reuse = UINT32_MAX;
    const jn_segvalue *sv = &p->inst->values[value];
    if (sv->output >= 0 || vn->acc >= 0 || p->v->goes_to[value] >= 0 || p->v->inside[value])
        return true;
    bool alone = n_nodes_of(p->inst, p->v, entry) == 1 && vn->n == n; /* and stands for no others */
    if (k == 0 && (n->op->flags & JN_OP_INPLACE0) && n->in[0].kind == JN_SRC_NODE &&
        vn->mode == JN_V_CALL && alone) {
        uint32_t a = seg->nodes[n->in[0].index].value[n->in[0].index_out];
        const jn_segvalue *av = &p->inst->values[a];
        if (!av->alias && av->output < 0 && p->last[a] == entry && av->shape == sv->shape &&
            p->v->rowed[a] == p->v->rowed[value])
            for (uint32_t l = 0; l < p->live.n; l++)
                if (p->live.data[l] == a)
                    reuse = l;
    }
    if (reuse != UINT32_MAX) {
        p->v->scratch[value] = p->v->scratch[p->live.data[reuse]];
        p->live.data[reuse] = value;
        return true;
    }
    size_t size = size_of(sv), best = SIZE_MAX;
    for (size_t h = 0; h < p->holes.n; h++)
        if (p->holes.data[h].size >= size &&
            (best == SIZE_MAX || p->holes.data[h].size < p->holes.data[best].size))
            best = h;
    if (best != SIZE_MAX) {
        p->v->scratch[value] = p->holes.data[best].at;
        p->holes.data[best].at += size;
        p->holes.data[best].size -= size;
    } else {
        p->v->scratch[value] = p->end;
        p->end += size;
    }
    return jn_vec_push(&p->live, value);
}

/* What nobody reads any more leaves a hole. */
static bool let_go(placer *p, uint32_t entry) {
    for (size_t l = 0; l < p->live.n;) {
        uint32_t value = p->live.data[l];
        if (p->last[value] > entry) {
            l++;
            continue;
        }
        hole h = {p->v->scratch[value], size_of(&p->inst->values[value])};
        p->live.data[l] = p->live.data[--p->live.n];
        size_t j = 0;
        while (j < p->holes.n && p->holes.data[j].at + p->holes.data[j].size != h.at)
            j++;
        if (j < p->holes.n)
            p->holes.data[j].size += h.size;
        else if (!jn_vec_push(&p->holes, h))
            return false;
    }
    return true;
}

/* Offsets per row of the values that live only inside the segment: first fit, by last use. */
janus_status jn_place_temporaries(const jn_seginst *inst, jn_variant *v) {
    placer p = {.inst = inst, .v = v};
    bool ok = (p.last = jn_calloc(inst->seg->n_values + 1, sizeof *p.last)) != NULL;
    if (ok)
        find_last_entries(inst, v, p.last);
    for (uint32_t e = 0; ok && e < n_entries(inst, v); e++) {
        bool any = false;
        for (uint32_t m = 0; ok && m < n_nodes_of(inst, v, e); m++) {
            uint32_t node = node_of(inst, v, e, m);
            uint8_t mode = v->nodes[node].mode;
            if (mode == JN_V_SKIP || mode == JN_V_SUM)
                continue;
            any = true;
            if (computed_again(inst, v, e, m))
                continue;
            for (uint32_t k = 0; k < inst->seg->nodes[node].n_out && ok; k++)
                ok = place_value(&p, node, k, e);
        }
        if (ok && any)
            ok = let_go(&p, e);
    }
    v->scratch_bytes = p.end;
    jn_vec_free(&p.holes);
    jn_vec_free(&p.live);
    jn_free(p.last);
    return ok ? JANUS_OK : JN_NO_MEMORY();
}
