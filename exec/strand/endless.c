/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recursions that do not end: a tree that is its own child, a list that leads back into itself.
 *
 * CPython raises RecursionError a thousand calls deep.  A graph may go deeper, so what has no end
 * would go on till the run's memory is used up.  But a call that is made in the middle of another
 * one with the same arguments makes it again in turn, if what it does is decided by its arguments
 * and by what nobody writes.  Now and then, where the strand looks at the clock, too, the frames
 * that are open are looked through for such a pair.  Where what is read is written as well (nodes
 * count their visits), nobody knows; far deeper than any tree is, the pair counts all the same.
 */
#include "config.h"

#include "exec/plan/plan.h"
#include "exec/strand/decided.h"
#include "exec/strand/effects.h"
#include "exec/strand/host.h"

enum {
    NEAR = 64,         /* frames that are looked through each time, ... */
    FAR = 1 << 10,     /* ... and every so often */
    OFTEN = 16,        /* looks between two far ones */
    CALLS = 8,         /* that may have been made before: of a cycle, not all make the next round */
    TOO_DEEP = 1 << 17 /* calls that a run is inside of */
};

static bool is_call(const jn_frame *f) { return f->call && f->call->cond == JN_NO_SLOT; }

static bool same_argument(uint8_t kind, jn_slot a, jn_slot b) {
    if (kind == JANUS_KIND_TENSOR)
        return a.t == b.t || (a.t && b.t && a.t->shape && a.t->shape == b.t->shape);
    return kind == JANUS_KIND_INT || kind == JANUS_KIND_BOOL || kind == JANUS_KIND_FLOAT
               ? a.i == b.i
               : a.p == b.p;
}

/* Whether both calls were made with the same arguments, as far as these decide something. */
static bool same_call(const jn_frame *a, const jn_frame *b, const jn_decided *by) {
    const jn_plan *p = a->plan;
    bool same = b->plan == p && is_call(b);
    for (uint32_t i = 0; i < p->n_params && same; i++)
        same = !(by->params >> (i < 63 ? i : 63) & 1) ||
               (!jn_cell_marked(a->async, i) && !jn_cell_marked(b->async, i) &&
                same_argument(p->slot_kind[i], a->slot[i], b->slot[i]));
    return same;
}

/* Whether f, or a call that it was made in, was made again in the middle of itself: *out, by what
 * its SubGraph is decided. */
static janus_status made_again(jn_run *r, const jn_frame *f, unsigned span, bool *again,
                               const jn_frame **out, const jn_decided **by) {
    *again = false;
    for (unsigned calls = 0; f && calls < CALLS; f = f->parent) {
        const jn_frame *g = f->parent;
        if (!is_call(f))
            continue;
        calls++;
        for (unsigned at = 0; g && g->plan != f->plan && at < span; at++)
            g = g->parent;
        if (!g || g->plan != f->plan)
            continue;
        JN_TRY(jn_decided_by(r->set, f->plan->sub, by));
        for (unsigned at = 0; g && at < span && !(*by)->data; g = g->parent, at++)
            if (same_call(f, g, *by)) {
                *again = true;
                *out = f;
                return JANUS_OK;
            }
    }
    return JANUS_OK;
}

static bool is_too_deep(const jn_frame *f) {
    unsigned depth = 0;
    for (; f && depth < TOO_DEEP; f = f->parent)
        depth += is_call(f);
    return depth >= TOO_DEEP;
}

janus_status jn_look_for_end(jn_run *r, const jn_frame *top) {
    bool again, far = ++r->of_strand.n_looks % OFTEN == 0;
    const jn_frame *f = NULL;
    const jn_decided *by = NULL;
    jn_effects e;
    JN_TRY(made_again(r, top, far ? FAR : NEAR, &again, &f, &by));
    if (!again)
        return JANUS_OK;
    JN_TRY(jn_effects_of(r->set, f->plan->sub, &e));
    if (by->reads & (e.writes | e.adds) && !(far && is_too_deep(top)))
        return JANUS_OK;
    return jn_error(JANUS_ASSUMPTION_FAILED,
                    "@%s calls itself with the arguments that it was called with, without end",
                    f->plan->sub->name);
}
