/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a group's rows.
 *
 * Tasks come in the order they were issued.  Those of a gradient come the other way round than
 * those whose results they read, which lie in one block: in the block's order they are read where
 * they lie, in any other they are gathered.  What adds to a sum always runs backwards, since the
 * order of rows decides how the sum is rounded and may depend neither on where blocks happen to lie
 * nor on whether values were kept or are computed again.  For all others it is looked up.
 */
#include "config.h"

#include <string.h>

#include "exec/schedule/group.h"
#include "graph/base/alloc.h"

enum { LEAST_BYTES = 256 }; /* of a row: smaller ones are gathered faster than looked at */

/* Who made the block that a row lies in; NULL: not known. */
static const jn_task *maker(const jn_task *t, uint32_t i) {
    const jn_task *by = t->in[i]->task;
    return by ? by->leader : NULL;
}

static bool is_block(const jn_group *g, jn_task *const *task, uint32_t i) {
    const char *first = task[0]->in[i]->data;
    size_t bytes = g->inst->in[i]->bytes;
    const jn_task *by = maker(task[0], i);
    for (uint32_t t = 1; t < g->n && by; t++)
        if (task[t]->in[i]->data != first + t * bytes || maker(task[t], i) != by)
            return false;
    return by != NULL;
}

/* Bytes of a row that are read where they lie. */
static size_t in_blocks(const jn_group *g, jn_task *const *task) {
    size_t bytes = 0;
    for (uint32_t i = 0; i < g->inst->seg->n_inputs; i++)
        if (g->inst->in[i]->bytes >= LEAST_BYTES && is_block(g, task, i))
            bytes += g->inst->in[i]->bytes;
    return bytes;
}

/* The tasks in the order in which the rows of input i fill one block; false: they do not. */
static bool by_block(const jn_group *g, uint32_t i, jn_task **to) {
    size_t bytes = g->inst->in[i]->bytes;
    uintptr_t first = UINTPTR_MAX;
    const jn_task *by = maker(g->task[0], i);
    for (uint32_t t = 0; t < g->n; t++) {
        if (!by || maker(g->task[t], i) != by)
            return false;
        uintptr_t p = (uintptr_t)g->task[t]->in[i]->data;
        first = p < first ? p : first;
    }
    memset(to, 0, g->n * sizeof *to);
    for (uint32_t t = 0; t < g->n; t++) {
        size_t at = ((uintptr_t)g->task[t]->in[i]->data - first) / bytes;
        if (at >= g->n || to[at])
            return false;
        to[at] = g->task[t];
    }
    return true;
}

static void reverse(jn_group *g) {
    for (uint32_t i = 0, k = g->n - 1; i < k; i++, k--) {
        jn_task *t = g->task[i];
        g->task[i] = g->task[k];
        g->task[k] = t;
    }
}

void jn_group_order(jn_group *g) {
    const jn_seginst *inst = g->inst;
    if (inst->seg->n_accs) {
        reverse(g);
        return;
    }
    uint32_t widest = UINT32_MAX;
    size_t most = LEAST_BYTES - 1;
    for (uint32_t i = 0; i < inst->seg->n_inputs; i++)
        if (inst->in[i]->bytes > most && g->task[0]->in[i]->data != g->task[1]->in[i]->data) {
            widest = i;
            most = inst->in[i]->bytes;
        }
    if (widest == UINT32_MAX || is_block(g, g->task, widest))
        return;
    jn_task *few[256], **to = few;
    if (g->n > 256 && !(to = jn_alloc(g->n * sizeof(jn_task *))))
        return; /* the order they have does */
    if (by_block(g, widest, to) && is_block(g, to, widest) &&
        in_blocks(g, to) > in_blocks(g, g->task))
        memcpy(g->task, to, g->n * sizeof(jn_task *));
    if (to != few)
        jn_free(to);
}
