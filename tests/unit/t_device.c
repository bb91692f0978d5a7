/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libjanus decides for a device, on a driver table that records its calls: the memory pool,
 * streams and their waits, the memory plan, the pool of captures.
 */
#include "config.h"

#include "exec/device/dev_capture.h"
#include "exec/device/dev_join.h"
#include "exec/device/dev_pool.h"
#include "exec/device/dev_streams.h"
#include "graph/base/alloc.h"
#include "tests/unit/check.h"
#include "tests/unit/fake_device.h"

/* ---- the memory pool ----------------------------------------------------------------------------
 */

static void *stream(unsigned n) { return (void *)(uintptr_t)(n + 1); }

static void classes(void) {
    CU_ASSERT_EQUAL(jn_dev_pool_class(0), 512);
    CU_ASSERT_EQUAL(jn_dev_pool_class(513), 1024);
    CU_ASSERT_EQUAL(jn_dev_pool_class(SIZE_MAX), 0);
    for (size_t n = 1; n < (size_t)1 << 33; n += n / 7 + 1) {
        size_t c = jn_dev_pool_class(n);
        CU_ASSERT(c >= n && c % 512 == 0 && jn_dev_pool_class(c) == c);
        CU_ASSERT(n <= 8192 || c - n <= n / 8 + 1);
    }
}

static void blocks_are_reused(void) {
    jn_dev_pool p;
    jn_dev_block *a, *b, *c;
    fake_reset(1 << 20);
    jn_dev_pool_init(&p, &fake_api);
    CU_ASSERT_EQUAL(jn_dev_pool_take(&p, 1000, stream(0), &a), JANUS_OK);
    void *at = a->data;
    jn_dev_pool_free(&p, a);
    CU_ASSERT_EQUAL(jn_dev_pool_take(&p, 900, stream(0), &b), JANUS_OK);
    CU_ASSERT_PTR_EQUAL(b->data, at); /* of the class, at once, without a wait */
    CU_ASSERT_EQUAL(fake.waits + fake.syncs, 0);
    jn_dev_pool_free(&p, b);
    CU_ASSERT_EQUAL(jn_dev_pool_take(&p, 1000, stream(1), &c), JANUS_OK);
    CU_ASSERT_PTR_NOT_EQUAL(c->data, at); /* another stream may still be before that use */
    jn_dev_stats s = jn_dev_pool_stats(&p);
    CU_ASSERT_EQUAL(s.taken, 3);
    CU_ASSERT_EQUAL(s.returned, 2);
    CU_ASSERT_EQUAL(s.from_driver, 2);
    CU_ASSERT_EQUAL(s.allocated, 1024);
    CU_ASSERT_EQUAL(s.allocated_peak, 1024);
    CU_ASSERT_EQUAL(s.reserved, 2048);
    jn_dev_pool_free(&p, c);
    CU_ASSERT_EQUAL(jn_dev_pool_flush(&p), 2048);
    CU_ASSERT_EQUAL(fake.taken, 0);
    jn_dev_pool_done(&p);
}

static void other_streams_are_waited_for(void) {
    jn_dev_pool p;
    jn_dev_block *a, *b;
    fake_reset(1 << 20);
    jn_dev_pool_init(&p, &fake_api);
    CU_ASSERT_EQUAL(jn_dev_pool_take(&p, 100, stream(0), &a), JANUS_OK);
    fake_launch(5, stream(1));
    CU_ASSERT_EQUAL(jn_dev_pool_used_by(&p, a, stream(1)), JANUS_OK);
    CU_ASSERT_EQUAL(jn_dev_pool_used_by(&p, a, stream(1)), JANUS_OK);
    CU_ASSERT_EQUAL(jn_dev_pool_used_by(&p, a, stream(0)), JANUS_OK);
    jn_dev_pool_free(&p, a);
    CU_ASSERT_EQUAL(fake.waits, 1);
    CU_ASSERT_EQUAL(jn_dev_pool_take(&p, 100, stream(0), &b), JANUS_OK);
    CU_ASSERT_PTR_EQUAL(a, b);
    fake_launch(6, stream(0));
    CU_ASSERT(fake_ordered(5, 6));
    /* no event to be had: the host waits */
    CU_ASSERT_EQUAL(jn_dev_pool_used_by(&p, b, stream(1)), JANUS_OK);
    fake.fail_in = 1;
    jn_dev_pool_free(&p, b);
    CU_ASSERT_EQUAL(fake.syncs, 1);
    CU_ASSERT_EQUAL(fake.events_made, fake.events_freed);
    jn_dev_pool_done(&p);
    CU_ASSERT_EQUAL(fake.taken, 0);
}

static unsigned drops;
static void count_drop(void *user) {
    (void)user;
    drops++;
}

static void out_of_memory(void) {
    jn_dev_pool p;
    jn_dev_block *a, *b = NULL;
    fake_reset(100 << 10);
    drops = 0;
    jn_dev_pool_init(&p, &fake_api);
    p.drop_idle = count_drop;
    CU_ASSERT_EQUAL(jn_dev_pool_take(&p, 60 << 10, stream(0), &a), JANUS_OK);
    jn_dev_pool_free(&p, a);
    /* does not fit beside what is in the list: the list goes, and it does */
    CU_ASSERT_EQUAL(jn_dev_pool_take(&p, 80 << 10, stream(0), &a), JANUS_OK);
    CU_ASSERT_EQUAL(drops, 1);
    CU_ASSERT_EQUAL(fake.trims, 1);
    jn_dev_stats before = jn_dev_pool_stats(&p);
    CU_ASSERT_EQUAL(jn_dev_pool_take(&p, 80 << 10, stream(0), &b), JANUS_NO_MEMORY);
    CU_ASSERT_PTR_NULL(b);
    jn_dev_stats after = jn_dev_pool_stats(&p);
    CU_ASSERT_EQUAL(after.flushes, 2);
    CU_ASSERT_EQUAL(after.failures, 1);
    CU_ASSERT_EQUAL(after.allocated, before.allocated);
    CU_ASSERT_EQUAL(after.reserved, before.reserved);
    jn_dev_capturing = true;
    CU_ASSERT_EQUAL(jn_dev_pool_take(&p, 16, stream(0), &b), JANUS_INTERNAL);
    jn_dev_capturing = false;
    jn_dev_pool_free(&p, a);
    jn_dev_pool_done(&p);
    CU_ASSERT_EQUAL(fake.taken, 0);
}

/* ---- streams ------------------------------------------------------------------------------------
 */

static janus_status launch(void *user, uint32_t op, void *on) {
    (void)user;
    fake_launch(op, on);
    return JANUS_OK;
}

/* Runs the plan on the fake device, between a launch before and one after it. */
static void run_plan(const jn_stream_plan *p) {
    void *streams[FAKE_STREAMS];
    fake_reset(0);
    for (unsigned s = 0; s < p->n_streams && s < FAKE_STREAMS; s++)
        streams[s] = stream(s);
    fake_launch(FAKE_LAUNCHES - 2, streams[0]);
    CU_ASSERT_EQUAL(jn_streams_run(p, &fake_api, streams, launch, NULL), JANUS_OK);
    fake_launch(FAKE_LAUNCHES - 1, streams[0]);
    for (uint32_t u = 0; u < p->n_ops; u++) {
        CU_ASSERT(fake_ordered(FAKE_LAUNCHES - 2, u));
        CU_ASSERT(fake_ordered(u, FAKE_LAUNCHES - 1));
        for (uint32_t v = 0; v < p->n_ops; v++) /* the plan's order is what the device was given */
            CU_ASSERT_EQUAL(u != v && fake_ordered(u, v), jn_happens_before(p, u, v));
    }
    CU_ASSERT_EQUAL(fake.events_made, fake.events_freed);
}

/* Two branches of two ops between a first and a last: no more than two streams, two waits. */
static void diamond(void) {
    static const jn_edge e[] = {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 5}, {0, 5}, {0, 3}};
    jn_stream_plan p;
    CU_ASSERT_EQUAL(jn_streams_assign(6, e, 8, false, &p), JANUS_OK);
    CU_ASSERT_EQUAL(p.n_edges, 6); /* two of the eight follow from others */
    CU_ASSERT_EQUAL(p.n_streams, 2);
    CU_ASSERT_EQUAL(p.n_waits, 2);
    CU_ASSERT_NOT_EQUAL(p.stream[1], p.stream[2]);
    run_plan(&p);
    jn_stream_plan_free(&p);
    CU_ASSERT_EQUAL(jn_streams_assign(6, e, 8, true, &p), JANUS_OK);
    CU_ASSERT_EQUAL(p.n_streams, 1);
    CU_ASSERT_EQUAL(p.n_waits, 0);
    run_plan(&p);
    jn_stream_plan_free(&p);
}

/* Cells of three branches one after the other: chains of later cells join streams of earlier. */
static void chains_are_joined(void) {
    jn_edge e[64];
    size_t m = 0;
    for (uint32_t cell = 0; cell < 5; cell++) {
        uint32_t in = cell * 4, out = in + 4;
        for (uint32_t b = 1; b <= 3; b++) {
            e[m++] = (jn_edge){in, in + b};
            e[m++] = (jn_edge){in + b, out};
        }
    }
    jn_stream_plan p;
    CU_ASSERT_EQUAL(jn_streams_assign(21, e, m, false, &p), JANUS_OK);
    CU_ASSERT_EQUAL(p.n_chains, 11); /* 1 + 2 per cell */
    CU_ASSERT_EQUAL(p.n_streams, 3);
    run_plan(&p);
    jn_stream_plan_free(&p);
}

static uint64_t seed;
static uint32_t draw(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* The largest set of reduction edges without a common end, by trying all. */
static unsigned largest_matching(const jn_edge *e, unsigned m, unsigned from, uint64_t tails,
                                 uint64_t heads) {
    unsigned best = 0;
    for (unsigned i = from; i < m; i++) {
        uint64_t t = (uint64_t)1 << e[i].from, h = (uint64_t)1 << e[i].to;
        if ((tails & t) || (heads & h))
            continue;
        unsigned with = 1 + largest_matching(e, m, i + 1, tails | t, heads | h);
        best = with > best ? with : best;
    }
    return best;
}

static void random_plans(void) {
    for (uint64_t round = 1; round <= 400; round++) {
        seed = round << 20;
        uint32_t n = 2 + draw(9);
        jn_edge e[128], reduced[128];
        uint64_t reach[16] = {0};
        size_t m = 0;
        unsigned n_reduced = 0;
        for (uint32_t u = 0; u < n; u++)
            for (uint32_t v = u + 1; v < n; v++)
                if (draw(3) == 0)
                    e[m++] = (jn_edge){u, v};
        for (uint32_t u = n; u-- > 0;)
            for (size_t i = 0; i < m; i++)
                if (e[i].from == u)
                    reach[u] |= (uint64_t)1 << e[i].to | reach[e[i].to];
        for (size_t i = 0; i < m; i++) {
            bool needed = true;
            for (size_t k = 0; k < m; k++)
                needed = needed && !(e[k].from == e[i].from && (reach[e[k].to] >> e[i].to & 1));
            if (needed)
                reduced[n_reduced++] = e[i];
        }
        jn_stream_plan p;
        CU_ASSERT_EQUAL(jn_streams_assign(n, e, m, false, &p), JANUS_OK);
        CU_ASSERT_EQUAL(p.n_edges, n_reduced);
        if (n_reduced <= 14)
            CU_ASSERT_EQUAL(p.n_chains, n - largest_matching(reduced, n_reduced, 0, 0, 0));
        CU_ASSERT(p.n_streams <= p.n_chains);
        CU_ASSERT(p.n_waits <= n_reduced - (n - p.n_chains)); /* joined chains may save more */
        for (uint32_t u = 0; u < n; u++)
            for (uint32_t v = u + 1; v < n; v++) {
                bool path = reach[u] >> v & 1;
                CU_ASSERT(path || p.stream[u] != p.stream[v]); /* no concurrency is lost */
                CU_ASSERT_EQUAL(jn_happens_before(&p, u, v), path);
            }
        run_plan(&p);
        jn_stream_plan_free(&p);
    }
}

/* One chain of many ops does not nest calls; edges against the order are refused. */
static void long_and_wrong(void) {
    enum { N = 5000 };
    static jn_edge e[2 * N];
    size_t m = 0;
    for (uint32_t u = 0; u + 1 < N; u++) {
        e[m++] = (jn_edge){u, u + 1};
        if (u + 2 < N)
            e[m++] = (jn_edge){u, u + 2};
    }
    jn_stream_plan p;
    CU_ASSERT_EQUAL(jn_streams_assign(N, e, m, false, &p), JANUS_OK);
    CU_ASSERT_EQUAL(p.n_streams, 1);
    CU_ASSERT_EQUAL(p.n_waits, 0);
    jn_stream_plan_free(&p);
    e[0] = (jn_edge){3, 2};
    CU_ASSERT_EQUAL(jn_streams_assign(N, e, 1, false, &p), JANUS_INTERNAL);
    CU_ASSERT_EQUAL(jn_streams_assign(0, NULL, 0, false, &p), JANUS_OK);
    jn_stream_plan_free(&p);
}

/* Random plans, random kinds: those of a number are of one kind and in no order, edges still go up,
 * nothing that could be joined with all others of its set is left out, and what is moved is no
 * later than the last of its set. */
static void joins(void) {
    uint32_t joined = 0;
    for (uint64_t round = 1; round <= 300; round++) {
        seed = round << 20;
        jn_edge e[256];
        uint32_t n = 1 + draw(40), kind[40], to[40], height[40] = {0}, out, m = 0;
        uint64_t reach[40] = {0};
        for (uint32_t u = 0; u < n; u++)
            kind[u] = draw(4);
        for (uint32_t v = 1; v < n; v++)
            for (uint32_t k = draw(3); k-- > 0;)
                e[m++] = (jn_edge){draw(v), v};
        for (uint32_t u = n; u-- > 0;)
            for (uint32_t i = 0; i < m; i++)
                if (e[i].from == u) {
                    reach[u] |= (uint64_t)1 << e[i].to | reach[e[i].to];
                    height[u] = height[e[i].to] + 1 > height[u] ? height[e[i].to] + 1 : height[u];
                }
        CU_ASSERT_EQUAL_FATAL(jn_join_like(n, e, m, kind, to, &out), JANUS_OK);
        for (uint32_t i = 0; i < m; i++)
            CU_ASSERT(to[e[i].from] < to[e[i].to]);
        uint64_t used = 0;
        for (uint32_t u = 0; u < n; u++) {
            used |= (uint64_t)1 << to[u];
            for (uint32_t v = u + 1; v < n; v++) {
                bool like = kind[u] && kind[u] == kind[v] && height[u] == height[v];
                CU_ASSERT_EQUAL(to[u] == to[v], like);
                CU_ASSERT(!(like && (reach[u] >> v & 1)));
                joined += like;
            }
        }
        CU_ASSERT_EQUAL(used, ((uint64_t)1 << out) - 1);
    }
    CU_ASSERT(joined > 100);
}

/* A step of an optimizer behind each gradient: they are where the last of them was. */
static void steps_are_joined(void) {
    static const jn_edge e[] = {{0, 1}, {0, 2}, {2, 3}, {2, 4}, {4, 5}, {4, 6}};
    static const uint32_t kind[] = {0, 9, 0, 9, 0, 9, 0}, wanted[] = {0, 3, 1, 3, 2, 3, 4};
    uint32_t to[7], n;
    CU_ASSERT_EQUAL(jn_join_like(7, e, 6, kind, to, &n), JANUS_OK);
    CU_ASSERT_EQUAL(n, 5);
    CU_ASSERT(memcmp(to, wanted, sizeof to) == 0);
    CU_ASSERT_EQUAL(jn_join_like(0, NULL, 0, kind, to, &n), JANUS_OK);
    CU_ASSERT_EQUAL(n, 0);
}

/* A failing call: the streams still come back, so that a capture can end. */
static void failures_join(void) {
    static const jn_edge e[] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
    void *streams[2] = {stream(0), stream(1)};
    jn_stream_plan p;
    CU_ASSERT_EQUAL(jn_streams_assign(4, e, 4, false, &p), JANUS_OK);
    for (unsigned n = 1;; n++) {
        fake_reset(0);
        fake.fail_in = n;
        janus_status st = jn_streams_run(&p, &fake_api, streams, launch, NULL);
        CU_ASSERT_EQUAL(fake.events_made, fake.events_freed);
        if (st == JANUS_OK)
            break;
        CU_ASSERT_EQUAL(st, JANUS_DEVICE);
        CU_ASSERT(n < 100);
    }
    jn_stream_plan_free(&p);
}

/* ---- memory plan --------------------------------------------------------------------------------
 */

static void check_memory(const jn_stream_plan *p, jn_plan_value *v, size_t n, size_t total) {
    for (size_t i = 0; i < n; i++) {
        CU_ASSERT(v[i].offset % 256 == 0 && v[i].offset + v[i].bytes <= total);
        for (size_t k = 0; k < n; k++) {
            if (i == k || v[i].offset + v[i].bytes <= v[k].offset ||
                v[k].offset + v[k].bytes <= v[i].offset)
                continue;
            /* they share bytes: all that one is for comes before the other, either way round */
            bool before[2] = {!v[i].kept, !v[k].kept};
            before[0] = before[0] && jn_happens_before(p, v[i].made_by, v[k].made_by);
            before[1] = before[1] && jn_happens_before(p, v[k].made_by, v[i].made_by);
            for (uint32_t u = 0; u < v[i].n_use; u++)
                before[0] = before[0] && jn_happens_before(p, v[i].use[u], v[k].made_by);
            for (uint32_t u = 0; u < v[k].n_use; u++)
                before[1] = before[1] && jn_happens_before(p, v[k].use[u], v[i].made_by);
            CU_ASSERT(before[0] || before[1]);
        }
    }
}

static void memory_of_a_chain(void) {
    jn_edge e[15];
    uint32_t use[16];
    jn_plan_value v[16];
    size_t total;
    for (uint32_t u = 0; u < 16; u++) {
        use[u] = u + 1;
        v[u] = (jn_plan_value){1000, u, &use[u], u < 15, u == 15, 0};
        if (u < 15)
            e[u] = (jn_edge){u, u + 1};
    }
    jn_stream_plan p;
    CU_ASSERT_EQUAL(jn_streams_assign(16, e, 15, false, &p), JANUS_OK);
    CU_ASSERT_EQUAL(jn_memory_plan(&p, v, 16, &total), JANUS_OK);
    CU_ASSERT_EQUAL(total, 2048); /* what is read and what is written */
    check_memory(&p, v, 16, total);
    jn_stream_plan_free(&p);
}

static void memory_of_random_plans(void) {
    for (int round = 0; round < 60; round++) {
        seed = (uint64_t)round * 77 + 5;
        enum { N = 40 };
        jn_edge e[N * 3];
        uint32_t use[N][N], n_use[N] = {0};
        jn_plan_value v[N];
        size_t m = 0, total;
        for (uint32_t u = 1; u < N; u++)
            for (uint32_t k = 0; k < 1 + draw(3); k++) {
                uint32_t from = draw(u);
                e[m++] = (jn_edge){from, u};
                use[from][n_use[from]++] = u;
                if (m == sizeof e / sizeof *e || n_use[from] == N)
                    break;
            }
        for (uint32_t u = 0; u < N; u++)
            v[u] = (jn_plan_value){1 + draw(5000), u, use[u], n_use[u], draw(8) == 0, 0};
        for (int single = 0; single < 2; single++) {
            jn_stream_plan p;
            CU_ASSERT_EQUAL(jn_streams_assign(N, e, m, single != 0, &p), JANUS_OK);
            CU_ASSERT_EQUAL(jn_memory_plan(&p, v, N, &total), JANUS_OK);
            check_memory(&p, v, N, total);
            jn_stream_plan_free(&p);
        }
    }
}

/* ---- captures -----------------------------------------------------------------------------------
 */

static struct {
    char *arena;
    uint32_t *stop;
    bool takes, fails;
    jn_dev_pool *pool;
} rec;

static janus_status record_one(void *user, char *arena, uint32_t *stop) {
    (void)user;
    CU_ASSERT(fake.capturing);
    rec.arena = arena;
    rec.stop = stop;
    if (rec.takes) { /* what must not happen while recording */
        jn_dev_block *b;
        return jn_dev_pool_take(rec.pool, 8, stream(0), &b);
    }
    return rec.fails ? jn_error(JANUS_DEVICE, "made to fail") : JANUS_OK;
}

static void captures(void) {
    jn_dev_pool p;
    jn_captures c;
    jn_capture *a, *b, *got;
    bool stopped;
    fake_reset(64 << 20);
    memset(&rec, 0, sizeof rec);
    rec.pool = &p;
    jn_dev_pool_init(&p, &fake_api);
    jn_captures_init(&c, &fake_api, &p, 2, 32 << 20);
    p.drop_idle = jn_captures_drop_idle;
    p.user = &c;
    CU_ASSERT_EQUAL(jn_captures_choose(&c, "a", 1, &got), JN_WAY_RECORD);
    CU_ASSERT_EQUAL(
        jn_captures_record(&c, "a", 1, stream(0), stream(1), 1000, 100, record_one, NULL, &a),
        JANUS_OK);
    CU_ASSERT_PTR_EQUAL(fake.fill_at, rec.stop); /* the replay clears the abort word */
    CU_ASSERT_PTR_EQUAL((char *)rec.stop + JN_CAPTURE_HEAD, rec.arena);
    CU_ASSERT_PTR_EQUAL(jn_capture_arena(a), rec.arena);
    /* who recorded it holds it */
    CU_ASSERT_EQUAL(jn_captures_choose(&c, "a", 1, &got), JN_WAY_UNCAPTURED);
    jn_capture_drop(&c, a);
    CU_ASSERT_EQUAL(jn_captures_choose(&c, "a", 1, &got), JN_WAY_REPLAY_COPY);
    CU_ASSERT_PTR_EQUAL(got, a);
    CU_ASSERT_EQUAL(jn_capture_replay(&c, a, stream(0), false, &stopped), JANUS_OK);
    CU_ASSERT(!stopped && fake.syncs == 0);
    fake.answer = 1;
    CU_ASSERT_EQUAL(jn_capture_replay(&c, a, stream(0), true, &stopped), JANUS_OK);
    CU_ASSERT(stopped && fake.syncs == 1);
    jn_capture_drop(&c, a);
    /* held outputs: not replayed; other shapes have captures of their own */
    CU_ASSERT_EQUAL(jn_captures_choose(&c, "b", 1, &got), JN_WAY_RECORD);
    CU_ASSERT_EQUAL(
        jn_captures_record(&c, "b", 1, stream(0), stream(1), 1000, 1 << 20, record_one, NULL, &b),
        JANUS_OK);
    jn_capture_drop(&c, b);
    CU_ASSERT_EQUAL(jn_captures_choose(&c, "b", 1, &got), JN_WAY_REPLAY);
    CU_ASSERT_EQUAL(jn_captures_choose(&c, "b", 1, &got), JN_WAY_UNCAPTURED);
    CU_ASSERT_PTR_NULL(got);
    CU_ASSERT_EQUAL(c.busy, 2);
    /* a third: the idle one goes, the held one stays */
    CU_ASSERT_EQUAL(
        jn_captures_record(&c, "c", 1, stream(0), stream(1), 1000, 100, record_one, NULL, &a),
        JANUS_OK);
    CU_ASSERT_EQUAL(c.n, 2);
    CU_ASSERT_EQUAL(fake.syncs, 2); /* a graph that may still run is waited for */
    CU_ASSERT_EQUAL(jn_captures_choose(&c, "a", 1, &got), JN_WAY_RECORD);
    CU_ASSERT_EQUAL(
        jn_captures_record(&c, "d", 1, stream(0), stream(1), 8, 8, record_one, NULL, &got),
        JANUS_NO_MEMORY);
    jn_captures_remove(&c, "b", 1); /* held: stays */
    CU_ASSERT_EQUAL(c.n, 2);
    a->owner = &rec;
    jn_capture_drop(&c, a);
    jn_captures_forget(&c, &c);
    CU_ASSERT_EQUAL(c.n, 2);
    jn_captures_forget(&c, &rec);
    CU_ASSERT_EQUAL(c.n, 1);
    jn_capture_drop(&c, b);
    /* out of device memory: idle captures go */
    fake.limit = fake.taken + 1000;
    jn_dev_block *block;
    CU_ASSERT_EQUAL(jn_dev_pool_take(&p, 1 << 10, stream(0), &block), JANUS_OK);
    CU_ASSERT_EQUAL(c.n, 0);
    jn_dev_pool_free(&p, block);
    jn_captures_done(&c);
    CU_ASSERT_EQUAL(fake.graphs_made, fake.graphs_freed);
    jn_dev_pool_done(&p);
    CU_ASSERT_EQUAL(fake.taken, 0);
}

/* Whatever fails while recording: the capture has ended, nothing is kept. */
static void failing_captures(void) {
    for (unsigned n = 0; n < 8; n++) {
        jn_dev_pool p;
        jn_captures c;
        jn_capture *a;
        fake_reset(64 << 20);
        memset(&rec, 0, sizeof rec);
        rec.pool = &p;
        rec.takes = n == 0;
        rec.fails = n == 1;
        jn_dev_pool_init(&p, &fake_api);
        jn_captures_init(&c, &fake_api, &p, 4, 32 << 20);
        fake.fail_in = n > 1 ? n - 1 : 0;
        janus_status st =
            jn_captures_record(&c, "k", 1, stream(0), stream(1), 1000, 100, record_one, NULL, &a);
        CU_ASSERT_EQUAL(st == JANUS_OK, n > 4);
        CU_ASSERT(!fake.capturing && !jn_dev_capturing);
        CU_ASSERT_EQUAL(c.n, st == JANUS_OK);
        jn_captures_done(&c);
        CU_ASSERT_EQUAL(fake.graphs_made, fake.graphs_freed);
        jn_dev_pool_done(&p);
        CU_ASSERT_EQUAL(fake.taken, 0);
    }
}

JN_TEST_MAIN("device", {"classes", classes}, {"blocks are reused", blocks_are_reused},
             {"other streams are waited for", other_streams_are_waited_for},
             {"out of memory", out_of_memory}, {"diamond", diamond},
             {"chains are joined", chains_are_joined}, {"random plans", random_plans},
             {"joins", joins}, {"steps are joined", steps_are_joined},
             {"long and wrong", long_and_wrong}, {"failures join", failures_join},
             {"memory of a chain", memory_of_a_chain},
             {"memory of random plans", memory_of_random_plans}, {"captures", captures},
             {"failing captures", failing_captures})
