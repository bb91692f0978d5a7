/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of a plan as one launch: see exec/device/dev_join.h. */
#include "config.h"

#include "exec/device/dev_join.h"

#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"

/* An op as it is sorted: what comes first in `by` first. */
typedef struct place {
    uint32_t by[3], op;
} place;

static int in_order(const void *pa, const void *pb) {
    const place *a = pa, *b = pb;
    for (int i = 0; i < 3; i++)
        if (a->by[i] != b->by[i])
            return a->by[i] < b->by[i] ? -1 : 1;
    return a->op < b->op ? -1 : a->op > b->op;
}

static int later_tails_first(const void *pa, const void *pb) {
    const jn_edge *a = pa, *b = pb;
    return a->from != b->from ? (a->from > b->from ? -1 : 1) : a->to < b->to ? -1 : a->to > b->to;
}

/* Edges on the longest way from each op to the end. */
static void find_heights(const jn_edge *edge, size_t m, uint32_t *height) {
    for (size_t i = 0; i < m; i++)
        if (height[edge[i].from] <= height[edge[i].to])
            height[edge[i].from] = height[edge[i].to] + 1;
}

/* last[u]: the last op of u's set.  Whether any set has two. */
static bool find_sets(uint32_t n, const uint32_t *kind, const uint32_t *height, place *order,
                      uint32_t *last) {
    bool any = false;
    for (uint32_t u = 0; u < n; u++)
        order[u] = (place){{kind[u], height[u], 0}, u};
    qsort(order, n, sizeof *order, in_order);
    for (uint32_t i = n; i-- > 0;) {
        const place *p = &order[i], *next = p + 1;
        bool same = i + 1 < n && p->by[0] && p->by[0] == next->by[0] && p->by[1] == next->by[1];
        last[p->op] = same ? last[next->op] : p->op;
        any |= same;
    }
    return any;
}

/* As late as the last of what an op waits for, sets being one: edges by height, highest first. */
static janus_status put_in_order(uint32_t n, const jn_edge *edge, size_t m, const uint32_t *height,
                                 const uint32_t *last, place *order, uint32_t *to,
                                 uint32_t *out_n) {
    place *by_height = jn_alloc((m + 1) * sizeof *by_height);
    uint32_t *late = jn_alloc(((size_t)n + 1) * sizeof *late), k = 0;
    if (!by_height || !late) {
        jn_free(by_height);
        jn_free(late);
        return JN_NO_MEMORY();
    }
    for (size_t i = 0; i < m; i++)
        by_height[i] = (place){{~height[edge[i].from], 0, 0}, (uint32_t)i};
    qsort(by_height, m, sizeof *by_height, in_order);
    memcpy(late, last, n * sizeof *late);
    for (size_t i = 0; i < m; i++) {
        const jn_edge *e = &edge[by_height[i].op];
        if (late[last[e->to]] < late[last[e->from]])
            late[last[e->to]] = late[last[e->from]];
    }
    for (uint32_t u = 0; u < n; u++)
        order[u] = (place){{late[last[u]], ~height[u], last[u]}, u};
    qsort(order, n, sizeof *order, in_order);
    for (uint32_t i = 0; i < n; i++) {
        k += i > 0 && last[order[i].op] != last[order[i - 1].op];
        to[order[i].op] = k;
    }
    *out_n = n ? k + 1 : 0;
    jn_free(by_height);
    jn_free(late);
    return JANUS_OK;
}

janus_status jn_join_like(uint32_t n, const jn_edge *edge, size_t n_edges, const uint32_t *kind,
                          uint32_t *to, uint32_t *out_n) {
    jn_edge *sorted = jn_alloc((n_edges + 1) * sizeof *sorted);
    uint32_t *height = jn_calloc((size_t)n + 1, sizeof *height);
    uint32_t *last = jn_alloc(((size_t)n + 1) * sizeof *last);
    place *order = jn_alloc(((size_t)n + 1) * sizeof *order);
    janus_status st = JANUS_OK;
    if (!sorted || !height || !last || !order) {
        st = JN_NO_MEMORY();
        goto done;
    }
    if (n_edges)
        memcpy(sorted, edge, n_edges * sizeof *sorted);
    qsort(sorted, n_edges, sizeof *sorted, later_tails_first);
    find_heights(sorted, n_edges, height);
    if (find_sets(n, kind, height, order, last)) {
        st = put_in_order(n, sorted, n_edges, height, last, order, to, out_n);
    } else {
        for (uint32_t u = 0; u < n; u++)
            to[u] = u;
        *out_n = n;
    }
done:
    jn_free(sorted);
    jn_free(height);
    jn_free(last);
    jn_free(order);
    return st;
}
