/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the containers that a run made outlive it: those that are results, or printed, or stored
 * in an object of the embedding program, or in another one that does.  The others are never made
 * real, nor are the tensors that only they hold.
 */
#include "config.h"

#include "exec/heap/heap.h"
#include "exec/heap/overlay.h"
#include "exec/schedule/schedule.h"
#include "graph/base/status.h"

typedef struct escapes {
    jn_run *r;
    uint32_t *next; /* per entry of the log: the next one of the same birth, plus one */
    JN_VEC(jn_birth *) todo;
} escapes;

static jn_birth *birth_in(const jn_box *b) {
    jn_box now = jn_box_now(*b);
    return now.kind == JANUS_KIND_OBJECT ? jn_birth_of(now.v.p) : NULL;
}

static janus_status outlives(escapes *x, jn_birth *b) {
    if (!b || b->outlives)
        return JANUS_OK;
    b->outlives = true;
    return jn_vec_push(&x->todo, b) ? JANUS_OK : JN_NO_MEMORY();
}

/* What an entry puts somewhere. */
static janus_status values(escapes *x, const jn_pending_effect *e) {
    JN_TRY(outlives(x, birth_in(&e->value)));
    JN_TRY(outlives(x, birth_in(&e->key)));
    for (uint32_t i = 0; i < e->n_items; i++)
        JN_TRY(outlives(x, birth_in(&e->items[i])));
    return JANUS_OK;
}

static janus_status spread(escapes *x) {
    const jn_run *r = x->r;
    for (size_t i = r->of_heap.effects.n; i-- > 0;) {
        const jn_pending_effect *e = &r->of_heap.effects.data[i];
        jn_birth *b = jn_birth_of(e->object);
        if (b) {
            x->next[i] = b->entries;
            b->entries = (uint32_t)i + 1;
        } else {
            JN_TRY(values(x, e));
        }
    }
    for (size_t i = 0; i < r->sub->results.n; i++)
        if (r->sub->result_types.data[i]->kind == JANUS_KIND_OBJECT)
            JN_TRY(outlives(x, birth_in(&(jn_box){JANUS_KIND_OBJECT, r->results[i]})));
    while (x->todo.n) {
        const jn_birth *b = jn_vec_pop(&x->todo);
        for (uint32_t i = b->entries; i; i = x->next[i - 1])
            JN_TRY(values(x, &r->of_heap.effects.data[i - 1]));
    }
    return JANUS_OK;
}

janus_status jn_find_escapes(jn_run *r) {
    escapes x = {.r = r};
    bool any = false;
    for (size_t i = 0; i < r->of_heap.effects.n && !any; i++)
        any = r->of_heap.effects.data[i].kind == JN_EFFECT_NEW;
    if (!any)
        return JANUS_OK;
    x.next = jn_arena_alloc(&r->mem->arena, r->of_heap.effects.n * sizeof *x.next);
    janus_status st = x.next ? spread(&x) : JN_NO_MEMORY();
    jn_vec_free(&x.todo);
    return st;
}
