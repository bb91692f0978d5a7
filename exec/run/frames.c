/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of calls that outlive their run, for a gradient: what they keep. */
#include "config.h"

#include "exec/eager/eager.h"
#include "exec/run/run.h"
#include "exec/schedule/schedule.h"
#include "exec/state/state.h"
#include "exec/store/store.h"
#include "graph/base/status.h"

janus_status jn_frame_value_member(const jn_frame_value *f, uint32_t member, janus_tensor **out) {
    const jn_frame *frame = f->frame.p;
    uint32_t slot = frame->plan->member[member];
    const jn_tval *v = slot == JN_NO_SLOT ? NULL : frame->slot[slot].t;
    *out = NULL;
    if (!f->mem->on->host || !v || !v->data)
        return JANUS_OK;
    return janus_tensor_wrap((janus_dtype)v->shape->dtype, v->shape->rank, v->shape->dims, NULL,
                             v->data, NULL, NULL, out);
}

janus_status jn_frame_value_renew(const jn_frame_value *f, char *place, janus_tensor *t) {
    janus_tensor *dense;
    JN_TRY(jn_tensor_contiguous(t, &dense));
    size_t bytes = (size_t)t->numel * jn_dtype_size((janus_dtype)t->dtype);
    char *from;
    janus_status st = jn_tensor_data(dense, &from);
    if (st == JANUS_OK && from != place)
        st = f->mem->on->move(f->mem->dev, place, from, bytes);
    janus_tensor_release(dense);
    return st;
}

typedef JN_VEC(const jn_frame *) frames;

static bool in(const jn_tval *v, const char *from, const char *to) {
    return v && v->data && v->data >= from && v->data < to;
}

/* Puts the frame of a call, or those of a loop's rounds, on the list. */
static bool add_frames(frames *all, const jn_node *n, jn_slot s) {
    if (!jn_is_loop(n))
        return !s.frame || jn_vec_push(all, s.frame);
    const jn_frame_list *l = s.p;
    for (uint32_t i = 0; l && i < l->n; i++)
        if (!jn_vec_push(all, l->frame[i]))
            return false;
    return true;
}

/* Frames lie as deep as a program recurs, so they are gone through by a list. */
janus_status jn_frame_value_keeps(const jn_frame_value *f, const char *from, const char *to,
                                  bool *out) {
    frames all = {0};
    bool enough = jn_vec_push(&all, f->frame.frame);
    *out = false;
    while (enough && all.n && !*out) {
        const jn_frame *one = all.data[--all.n];
        const jn_subgraph *g = one->plan->sub;
        for (size_t i = 0; i < g->saved.n && enough && !*out; i++) {
            uint32_t slot = one->plan->member[i];
            jn_value v = g->saved.data[i].value;
            if (slot == JN_NO_SLOT)
                continue;
            if (g->saved.data[i].frame)
                enough = add_frames(&all, g->nodes.data[v.node], one->slot[slot]);
            else if (jn_value_type(g, v)->kind == JANUS_KIND_TENSOR)
                *out = in(one->slot[slot].t, from, to);
        }
    }
    jn_vec_free(&all);
    return enough ? JANUS_OK : JN_NO_MEMORY();
}

void jn_frame_value_retain(jn_frame_value *f) {
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
}

void jn_frame_value_release(jn_frame_value *f) {
    if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
        return;
    jn_mem_let_go(f->mem);
    jn_free(f);
}
