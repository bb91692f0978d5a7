/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in a slot or in a box while its value is not there yet. */
#include "config.h"

#include "exec/state/state.h"

void jn_future_release(jn_run *r, jn_future *f) {
    while (f && --f->refs == 0) {
        jn_future *same = f->same;
        f->same = r->free_futures;
        r->free_futures = f;
        f = same;
    }
}

/* A future that another stands for is skipped for good. */
jn_future *jn_pending_now(jn_run *r, jn_async *a, uint32_t i) {
    jn_future *f = a->slot[i].p, *last = jn_future_last(f);
    if (last->done) {
        a->slot[i] = last->v;
        jn_cell_unmark(a, i);
        jn_future_release(r, f);
        return NULL;
    }
    if (last != f) {
        last->refs++;
        a->slot[i].p = last;
        jn_future_release(r, f);
    }
    return last;
}

jn_box jn_box_now(jn_box b) {
    const jn_future *f = b.kind & JN_KIND_LATER ? jn_future_last(b.v.p) : NULL;
    if (!f || !f->done)
        return b;
    b = (jn_box){b.kind & ~JN_KIND_LATER, f->v};
    if (b.kind == JANUS_KIND_OBJECT && jn_box_of(b.v.p) && !jn_birth_of(b.v.p))
        return jn_box_now(*jn_box_of(b.v.p));
    return b;
}
