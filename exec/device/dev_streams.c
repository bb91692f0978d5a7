/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and memory of a static plan: see exec/device/dev_streams.h.
 *
 * Reachability is a bit matrix filled from the last op to the first.  Matchings are maximum ones by
 * augmenting paths, with an explicit stack: a plan may be one long chain.
 */
#include "config.h"

#include "exec/device/dev_streams.h"

#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"

enum { NONE = UINT32_MAX };

/* Adjacency lists: heads of node u are to[start[u] .. start[u + 1]). */
typedef struct lists {
    uint32_t *start, *to;
} lists;

static void lists_free(lists *l) {
    jn_free(l->start);
    jn_free(l->to);
}

static bool lists_make(lists *l, uint32_t n, const jn_edge *e, size_t n_edges) {
    l->start = jn_calloc((size_t)n + 2, sizeof *l->start);
    l->to = jn_alloc((n_edges + 1) * sizeof *l->to);
    if (!l->start || !l->to)
        return false;
    for (size_t i = 0; i < n_edges; i++)
        l->start[e[i].from + 2]++;
    for (uint32_t u = 0; u < n; u++)
        l->start[u + 2] += l->start[u + 1];
    for (size_t i = 0; i < n_edges; i++)
        l->to[l->start[e[i].from + 1]++] = e[i].to;
    return true;
}

static bool bit(const uint64_t *m, size_t words, uint32_t u, uint32_t v) {
    return m[(size_t)u * words + v / 64] >> (v % 64) & 1;
}
static void set_bit(uint64_t *m, size_t words, uint32_t u, uint32_t v) {
    m[(size_t)u * words + v / 64] |= (uint64_t)1 << (v % 64);
}

/* before[u] = its heads and what is behind them. */
static void fill_reach(uint64_t *before, size_t words, uint32_t n, const lists *l) {
    memset(before, 0, (size_t)n * words * sizeof *before);
    for (uint32_t u = n; u-- > 0;)
        for (uint32_t i = l->start[u]; i < l->start[u + 1]; i++) {
            uint32_t v = l->to[i];
            set_bit(before, words, u, v);
            for (size_t w = v / 64; w < words; w++)
                before[(size_t)u * words + w] |= before[(size_t)v * words + w];
        }
}

static int by_ends(const void *a, const void *b) {
    const jn_edge *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* The edges that no other path stands for; returns how many. */
static size_t reduce(jn_edge *out, const lists *l, uint32_t n, const uint64_t *before,
                     size_t words) {
    size_t m = 0;
    for (uint32_t u = 0; u < n; u++) {
        size_t first = m;
        for (uint32_t i = l->start[u]; i < l->start[u + 1]; i++) {
            uint32_t v = l->to[i];
            bool needed = true;
            for (uint32_t k = l->start[u]; needed && k < l->start[u + 1]; k++)
                needed = l->to[k] == v || !bit(before, words, l->to[k], v);
            for (size_t k = first; needed && k < m; k++)
                needed = out[k].to != v;
            if (needed)
                out[m++] = (jn_edge){u, v};
        }
    }
    return m;
}

/* Scratch of one matching. */
typedef struct matcher {
    const lists *l;
    uint32_t *to, *from; /* partner of each tail, of each head */
    uint32_t *seen, round;
    uint32_t *stack, *next; /* tails of the path; the heads they try next */
} matcher;

/* An augmenting path from `root`: depth-first, without recursion. */
static bool augment(matcher *m, uint32_t root) {
    uint32_t depth = 0;
    m->stack[depth] = root;
    m->next[root] = m->l->start[root];
    m->round++;
    for (;;) {
        uint32_t u = m->stack[depth];
        if (m->next[u] == m->l->start[u + 1]) {
            if (depth == 0)
                return false;
            depth--;
            continue;
        }
        uint32_t v = m->l->to[m->next[u]++];
        if (m->seen[v] == m->round)
            continue;
        m->seen[v] = m->round;
        uint32_t owner = m->from[v];
        if (owner == NONE) {
            for (;; depth--) { /* each tail of the path takes the head it came to last */
                uint32_t tail = m->stack[depth], head = m->l->to[m->next[tail] - 1];
                m->to[tail] = head;
                m->from[head] = tail;
                if (depth == 0)
                    return true;
            }
        }
        m->stack[++depth] = owner;
        m->next[owner] = m->l->start[owner];
    }
}

/* to[u]: the head matched with u, or NONE. */
static janus_status match(uint32_t n, const lists *l, uint32_t *to) {
    uint32_t *block = jn_calloc(4 * (size_t)n + 1, sizeof *block);
    if (!block)
        return JN_NO_MEMORY();
    matcher m = {l, to, block, block + n, 0, block + 2 * (size_t)n, block + 3 * (size_t)n};
    for (uint32_t u = 0; u < n; u++)
        to[u] = m.from[u] = NONE;
    for (uint32_t u = 0; u < n; u++) /* the first free head serves most */
        for (uint32_t i = l->start[u]; i < l->start[u + 1] && to[u] == NONE; i++)
            if (m.from[l->to[i]] == NONE) {
                to[u] = l->to[i];
                m.from[l->to[i]] = u;
            }
    for (uint32_t u = 0; u < n; u++)
        if (to[u] == NONE)
            augment(&m, u);
    jn_free(block);
    return JANUS_OK;
}

/* Numbers the paths that `next` makes; returns how many.  label[u] by path, in order of heads. */
static uint32_t label_paths(uint32_t n, const uint32_t *next, uint32_t *label, bool *inner) {
    uint32_t paths = 0;
    memset(inner, 0, n * sizeof *inner);
    for (uint32_t u = 0; u < n; u++)
        if (next[u] != NONE)
            inner[next[u]] = true;
    for (uint32_t u = 0; u < n; u++) {
        if (inner[u])
            continue;
        for (uint32_t v = u; v != NONE; v = next[v])
            label[v] = paths;
        paths++;
    }
    return paths;
}

/* Chains of which one ends before the other begins share a stream. */
static janus_status join_chains(jn_stream_plan *p, uint32_t *chain, bool *inner) {
    uint32_t n = p->n_chains;
    uint32_t *block = jn_alloc((4 * (size_t)n + 1) * sizeof *block);
    if (!block)
        return JN_NO_MEMORY();
    uint32_t *first = block, *last = first + n, *next = last + n, *label = next + n;
    lists l = {0};
    jn_edge *edge = NULL;
    size_t m = 0;
    janus_status st = JANUS_OK;
    for (uint32_t c = 0; c < n; c++)
        first[c] = NONE;
    for (uint32_t u = 0; u < p->n_ops; u++) {
        if (first[chain[u]] == NONE)
            first[chain[u]] = u;
        last[chain[u]] = u;
    }
    for (int pass = 0; pass < 2 && st == JANUS_OK; pass++) { /* count, then fill */
        if (pass == 1 && !(edge = jn_alloc((m + 1) * sizeof *edge)))
            st = JN_NO_MEMORY();
        m = 0;
        for (uint32_t a = 0; a < n && st == JANUS_OK; a++)
            for (uint32_t b = 0; b < n; b++)
                if (a != b && bit(p->before, p->words, last[a], first[b])) {
                    if (pass == 1)
                        edge[m] = (jn_edge){a, b};
                    m++;
                }
    }
    if (st == JANUS_OK && !lists_make(&l, n, edge, m))
        st = JN_NO_MEMORY();
    if (st == JANUS_OK)
        st = match(n, &l, next);
    if (st == JANUS_OK) {
        p->n_streams = label_paths(n, next, label, inner);
        for (uint32_t u = 0; u < p->n_ops; u++)
            p->stream[u] = label[chain[u]];
    }
    lists_free(&l);
    jn_free(edge);
    jn_free(block);
    return st;
}

static int by_head(const void *a, const void *b) {
    const jn_edge *x = a, *y = b;
    return x->to != y->to ? (x->to < y->to ? -1 : 1) : x->from < y->from ? -1 : x->from > y->from;
}

/* Order of the streams added to that of the edges. */
static janus_status order(jn_stream_plan *p, const jn_edge *edge, size_t m) {
    jn_edge *all = jn_alloc((m + p->n_ops + 1) * sizeof *all);
    uint32_t *last = jn_alloc((p->n_streams + 1) * sizeof *last);
    lists l = {0};
    janus_status st = JANUS_OK;
    if (!all || !last) {
        st = JN_NO_MEMORY();
        goto done;
    }
    if (m)
        memcpy(all, edge, m * sizeof *all);
    for (uint32_t s = 0; s < p->n_streams; s++)
        last[s] = NONE;
    for (uint32_t u = 0; u < p->n_ops; u++) {
        uint32_t s = p->stream[u];
        if (last[s] != NONE)
            all[m++] = (jn_edge){last[s], u};
        last[s] = u;
    }
    if (!lists_make(&l, p->n_ops, all, m))
        st = JN_NO_MEMORY();
    else
        fill_reach(p->before, p->words, p->n_ops, &l);
done:
    lists_free(&l);
    jn_free(all);
    jn_free(last);
    return st;
}

static janus_status assign(jn_stream_plan *p, const jn_edge *given, size_t n_given, bool single) {
    uint32_t n = p->n_ops, *next = NULL, *chain = NULL;
    jn_edge *edge = jn_alloc((n_given + 1) * sizeof *edge);
    bool *inner = jn_calloc((size_t)n + 1, sizeof *inner);
    lists l = {0}, reduced = {0};
    janus_status st = JANUS_OK;
    p->words = ((size_t)n + 63) / 64;
    p->stream = jn_calloc((size_t)n + 1, sizeof *p->stream);
    p->records = jn_calloc((size_t)n + 1, sizeof *p->records);
    p->before = jn_calloc((size_t)n * p->words + 1, sizeof *p->before);
    next = jn_alloc(((size_t)n + 1) * sizeof *next);
    chain = jn_alloc(((size_t)n + 1) * sizeof *chain);
    if (!edge || !inner || !p->stream || !p->records || !p->before || !next || !chain) {
        st = JN_NO_MEMORY();
        goto done;
    }
    if (n_given)
        memcpy(edge, given, n_given * sizeof *edge);
    qsort(edge, n_given, sizeof *edge, by_ends);
    if (!lists_make(&l, n, edge, n_given)) {
        st = JN_NO_MEMORY();
        goto done;
    }
    fill_reach(p->before, p->words, n, &l);
    p->n_edges = (uint32_t)reduce(edge, &l, n, p->before, p->words);
    if (single) {
        p->n_streams = p->n_chains = n ? 1 : 0;
    } else {
        if (!lists_make(&reduced, n, edge, p->n_edges)) {
            st = JN_NO_MEMORY();
            goto done;
        }
        JN_GO(match(n, &reduced, next), done);
        p->n_chains = label_paths(n, next, chain, inner);
        JN_GO(join_chains(p, chain, inner), done);
    }
    p->wait = jn_alloc(((size_t)p->n_edges + 1) * sizeof *p->wait);
    if (!p->wait) {
        st = JN_NO_MEMORY();
        goto done;
    }
    for (uint32_t i = 0; i < p->n_edges; i++)
        if (p->stream[edge[i].from] != p->stream[edge[i].to]) {
            p->wait[p->n_waits++] = edge[i];
            p->records[edge[i].from] = true;
        }
    qsort(p->wait, p->n_waits, sizeof *p->wait, by_head);
    st = order(p, edge, p->n_edges);
done:
    lists_free(&l);
    lists_free(&reduced);
    jn_free(edge);
    jn_free(inner);
    jn_free(next);
    jn_free(chain);
    return st;
}

janus_status jn_streams_assign(uint32_t n_ops, const jn_edge *edge, size_t n_edges, bool single,
                               jn_stream_plan *out) {
    jn_stream_plan p = {.n_ops = n_ops};
    for (size_t i = 0; i < n_edges; i++)
        if (edge[i].from >= edge[i].to || edge[i].to >= n_ops)
            return jn_error(JANUS_INTERNAL, "streams: edge %u to %u is not in launch order",
                            edge[i].from, edge[i].to);
    janus_status st = assign(&p, edge, n_edges, single);
    if (st != JANUS_OK) {
        jn_stream_plan_free(&p);
        return st;
    }
    *out = p;
    return JANUS_OK;
}

void jn_stream_plan_free(jn_stream_plan *p) {
    jn_free(p->stream);
    jn_free(p->wait);
    jn_free(p->records);
    jn_free(p->before);
    *p = (jn_stream_plan){0};
}

/* ---- launching ----------------------------------------------------------------------------------
 */

static janus_status driver(const jn_dev_api *api, int error, const char *what) {
    return error ? jn_error(JANUS_DEVICE, "%s: %s", what, api->error_text(error)) : JANUS_OK;
}

/* An event recorded on one stream, waited for on another, and forgotten: the driver keeps what it
 * needs of it. */
static janus_status after(const jn_dev_api *api, void *first, void *then) {
    void *event;
    JN_TRY(driver(api, api->event_new(false, &event), "making an event"));
    janus_status st = driver(api, api->event_record(event, first), "recording an event");
    if (st == JANUS_OK)
        st = driver(api, api->stream_wait(then, event), "waiting for an event");
    api->event_free(event);
    return st;
}

janus_status jn_streams_run(const jn_stream_plan *p, const jn_dev_api *api, void *const *stream,
                            jn_launch_fn launch, void *user) {
    void **event = jn_calloc((size_t)p->n_ops + 1, sizeof *event);
    janus_status st = JANUS_OK;
    uint32_t at = 0;
    if (!event)
        return JN_NO_MEMORY();
    for (uint32_t s = 1; s < p->n_streams; s++)
        JN_GO(after(api, stream[0], stream[s]), done);
    for (uint32_t u = 0; u < p->n_ops; u++) {
        void *on = stream[p->stream[u]];
        for (; at < p->n_waits && p->wait[at].to == u; at++)
            JN_GO(
                driver(api, api->stream_wait(on, event[p->wait[at].from]), "waiting for an event"),
                done);
        JN_GO(launch(user, u, on), done);
        if (!p->records[u])
            continue;
        JN_GO(driver(api, api->event_new(false, &event[u]), "making an event"), done);
        JN_GO(driver(api, api->event_record(event[u], on), "recording an event"), done);
    }
done:
    /* also after a failure: a capture ends only when all its streams have come back */
    for (uint32_t s = 1; s < p->n_streams; s++) {
        janus_status back = after(api, stream[s], stream[0]);
        st = st == JANUS_OK ? back : st;
    }
    for (uint32_t u = 0; u < p->n_ops; u++)
        if (event[u])
            api->event_free(event[u]);
    jn_free(event);
    return st;
}

/* ---- memory -------------------------------------------------------------------------------------
 */

/* Every use of a happens before b is made. */
static bool dead_before(const jn_stream_plan *p, const jn_plan_value *a, const jn_plan_value *b) {
    if (a->kept)
        return false;
    bool dead = jn_happens_before(p, a->made_by, b->made_by);
    for (uint32_t i = 0; dead && i < a->n_use; i++)
        dead = jn_happens_before(p, a->use[i], b->made_by);
    return dead;
}

typedef struct sized {
    size_t bytes;
    uint32_t index;
} sized;
static int larger_first(const void *a, const void *b) {
    const sized *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : x->index < y->index ? -1 : 1;
}
static int lower_first(const void *a, const void *b) {
    const sized *x = a, *y = b;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Largest first, each at the lowest offset that is free of what must not share with it. */
janus_status jn_memory_plan(const jn_stream_plan *p, jn_plan_value *v, size_t n,
                            size_t *out_bytes) {
    sized *order = jn_alloc((2 * n + 1) * sizeof *order);
    size_t total = 0;
    if (!order)
        return JN_NO_MEMORY();
    sized *busy = order + n;
    for (size_t i = 0; i < n; i++) {
        if (v[i].bytes > SIZE_MAX / 4) {
            jn_free(order);
            return jn_error(JANUS_NO_MEMORY, "a value of %zu bytes", v[i].bytes);
        }
        order[i] = (sized){(v[i].bytes + 255) & ~(size_t)255, (uint32_t)i};
    }
    qsort(order, n, sizeof *order, larger_first);
    for (size_t i = 0; i < n; i++) {
        jn_plan_value *a = &v[order[i].index];
        size_t m = 0, at = 0;
        for (size_t k = 0; k < i; k++) {
            jn_plan_value *b = &v[order[k].index];
            if (!dead_before(p, a, b) && !dead_before(p, b, a))
                busy[m++] = (sized){b->offset, (uint32_t)k};
        }
        qsort(busy, m, sizeof *busy, lower_first);
        for (size_t k = 0; k < m; k++) {
            size_t end = busy[k].bytes + order[busy[k].index].bytes;
            if (busy[k].bytes >= at + order[i].bytes)
                break;
            at = end > at ? end : at;
        }
        a->offset = at;
        if (at + order[i].bytes > total)
            total = at + order[i].bytes;
    }
    jn_free(order);
    *out_bytes = total;
    return JANUS_OK;
}
