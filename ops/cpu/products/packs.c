/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices packed once for all the products of a run that multiply by them.
 *
 * The levels of a recursion multiply few rows each by the same weight.  Packing it costs as much as
 * the product of a dozen rows, and dot products, which pack nothing, spend a third of their time on
 * adding up vectors.  So the second product packs the weight as own kernels read it, and those that
 * follow find it; where a recursion is going to meet it again, the first one does.  Whoever keeps
 * the panels promises that the matrix stays as it is (exec/schedule/tile.c).
 *
 * Panels that earlier runs have left (exec/kernels/panels.h) save the packing, and decide nothing:
 * a product reads them where it would read its run's own.  What a list of calls keeps of weights
 * (exec/kernels/kept.h) is another layout, with which results are those of the dot products without
 * it.  No run tells which it had.
 */
#include "graph/base/alloc.h"
#include "ops/cpu/gemm.h"
#include "ops/op_ids.h"

enum {
    LEAST_ROWS = 4,
    MOST_ROWS = 160, /* oneDNN's packing is lost in more */
    LEAST_NUMBERS = 1 << 13,
    MOST_NUMBERS = 1 << 17, /* of a matrix: a recursion reads more beside it in a core's cache */
    MOST_ALONE = 1 << 18,   /* of one that loops meet, or that several layers share */
    MOST_BYTES = 4 << 20,   /* of all panels */
    PIECE_NUMBERS = 1 << 15 /* that a thread packs */
};

static bool pays(const jn_gemm_args *g, int64_t most) {
    bool turned = g->b_row == 1 && g->b_col >= g->k;
    return g->m >= LEAST_ROWS && g->m <= MOST_ROWS && g->a_col == 1 && turned &&
           g->n >= jn_isa.panel && g->k >= 16 && g->k <= most && g->n <= most &&
           g->k * g->n >= LEAST_NUMBERS && g->k * g->n <= most &&
           jn_isa.dot_long < JN_GEMM_DOT_LONG; /* measured with sets of wide vectors */
}

static int64_t find(const jn_packs *p, const jn_pack *of) {
    for (uint32_t i = 0; i < p->n; i++) {
        const jn_pack *at = &p->pack[i];
        if (at->b == of->b && at->n == of->n && at->k == of->k && at->b_row == of->b_row &&
            at->b_col == of->b_col)
            return i;
    }
    return -1;
}

jn_pack *jn_packs_like(jn_packs *p, const jn_pack *pack) {
    int64_t at = find(p, pack);
    return at < 0 ? NULL : &p->pack[at];
}

typedef struct packing {
    const jn_gemm_args *g;
    float *panels;
} packing;

/* Panels from number `begin` on. */
static void pack_panels(void *arg, int64_t begin, int64_t end) {
    const packing *p = arg;
    int64_t at = begin * jn_isa.panel, stop = end * jn_isa.panel;
    jn_gemm_args g = *p->g;
    g.n = (stop < g.n ? stop : g.n) - at;
    g.b = (const float *)g.b + at * g.b_col;
    jn_isa.gemm_pack(&g, p->panels + at * g.k);
}

const void *jn_packs_find(jn_packs *p, const jn_gemm_args *g, const jn_par *par) {
    if (!pays(g, p->at_once ? MOST_NUMBERS : MOST_ALONE))
        return NULL;
    jn_pack met = {g->b, g->n, g->k, g->b_row, g->b_col, NULL, false}, *at = jn_packs_like(p, &met);
    if (!at) {
        if (p->n == JN_MOST_PACKS)
            return NULL;
        at = &p->pack[p->n++];
        *at = met;
        if (!p->at_once)
            return NULL;
    }
    if (at->panels)
        return at->panels;
    int64_t before = p->before ? find(p->before, &met) : -1;
    if (before >= 0 && p->before->pack[before].panels)
        return p->before->pack[before].panels;
    int64_t panels = (g->n + jn_isa.panel - 1) / jn_isa.panel;
    size_t bytes = (size_t)(panels * jn_isa.panel * g->k) * sizeof(float);
    if (bytes > MOST_BYTES - p->bytes)
        return NULL;
    at->panels = jn_alloc_aligned(bytes); /* without them it is slower */
    if (at->panels) {
        p->bytes += bytes;
        par->run(par, panels, 1 + PIECE_NUMBERS / (jn_isa.panel * g->k), pack_panels,
                 &(packing){g, at->panels});
    }
    return at->panels;
}

void jn_packs_lend(const jn_packs *from, jn_packs *to) {
    for (uint32_t i = 0; i < from->n; i++) {
        jn_pack *at = jn_packs_like(to, &from->pack[i]);
        if (!from->pack[i].panels || (at && at->panels) || (!at && to->n == JN_MOST_PACKS))
            continue;
        at = at ? at : &to->pack[to->n++];
        *at = from->pack[i];
        at->lent = true;
    }
}

void jn_packs_free(jn_packs *p) {
    for (uint32_t i = 0; p && i < p->n; i++)
        if (!p->pack[i].lent)
            jn_free_aligned(p->pack[i].panels);
    jn_free(p);
}

/* The product of a linear layer as matmul.c asks for it, of its shape alone. */
static jn_gemm_args linear(const jn_kargs *k) {
    const jn_view *x = &k->in[0], *w = &k->in[1];
    jn_gemm_args g = {.m = 1, .n = w->dims[0], .k = w->dims[1], .b_row = 1, .b_col = w->dims[1]};
    for (int d = 0; d < x->rank - 1; d++)
        g.m *= x->dims[d];
    return g;
}

size_t jn_kept_bytes(const jn_op *op, const jn_kargs *k) {
    enum { ROWS = 8, MOST = 1 << 11 }; /* columns: it is not split */
    if (op->id != JN_OP_ID_linear || k->in[1].dtype != JANUS_F32 || !jn_isa.turn)
        return 0;
    jn_gemm_args g = linear(k);
    int64_t lanes = jn_isa.turn_lanes;
    if (g.m < 1 || g.m > ROWS || g.n < 1 || g.n > MOST || g.k < lanes || g.k > jn_isa.turn_long ||
        g.k % lanes)
        return 0;
    return (size_t)((g.n + lanes - 1) / lanes * lanes * g.k) * sizeof(float);
}

void jn_keep(const jn_kargs *k, const void *operand, void *to) {
    jn_gemm_args g = linear(k);
    g.b = operand;
    jn_isa.turn(&g, to);
}
