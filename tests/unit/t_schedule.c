/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs on a device whose driver and kernels record what they are asked for: which flushes are
 * captured, what is put on which stream, what a replay needs, and what happens when calls fail.
 */
#include "config.h"

#include "exec/device/dev_schedule.h"
#include "exec/device/device.h"
#include "exec/eager/eager.h"
#include "janus.h"
#include "ops/attrs.h"
#include "tests/unit/check.h"
#include "tests/unit/fake_device.h"

#define OK(expr) CU_ASSERT_EQUAL_FATAL((expr), JANUS_OK)

/* The calls, a letter each: L launch, A memory, i o d copies in, out and on the device, w wait for
 * an event, [ ] capture, M make, R replay, F free of a graph; g rows gathered, H a handle of a
 * conditional node, D a decision, ( { } bodies of branches, loops. */
static char calls[4096];
static unsigned n_calls, streams_seen;
static void *last_streams[FAKE_STREAMS];

static void note(char what) {
    if (n_calls + 1 < sizeof calls)
        calls[n_calls++] = what;
    calls[n_calls] = 0;
}
static void start_over(void) {
    n_calls = streams_seen = 0;
    calls[0] = 0;
}
static unsigned count_of(char what) {
    unsigned n = 0;
    for (unsigned i = 0; i < n_calls; i++)
        n += calls[i] == what;
    return n;
}
static unsigned inside(char what) { /* while a capture was recorded */
    const char *from = strchr(calls, '['), *to = strchr(calls, ']');
    unsigned n = 0;
    for (const char *c = from; c && to && c < to; c++)
        n += *c == what;
    return n;
}

static void kernel(const jn_kargs *k) {
    const jn_dev_exec *e = (const jn_dev_exec *)(const void *)k->par;
    unsigned i = 0;
    while (i < streams_seen && last_streams[i] != e->stream)
        i++;
    if (i == streams_seen && i < FAKE_STREAMS)
        last_streams[streams_seen++] = e->stream;
    note('L');
}
static jn_kernel_fn select_any(const jn_sig *sig) {
    (void)sig;
    return kernel;
}
static size_t workspace(const jn_sig *sig) { return sig->op->flags & JN_OP_MAY_RAISE ? 0 : 64; }

static size_t most; /* that is given at once; 0: whatever there is */
static int take(size_t bytes, void *stream, void **out) {
    note('A');
    return most && bytes > most ? JN_DEV_OUT_OF_MEMORY : fake_alloc(bytes, stream, out);
}
static int copy(void *to, const void *from, size_t bytes, int kind, void *stream) {
    note(kind == JN_COPY_TO_DEVICE ? 'i' : kind == JN_COPY_TO_HOST ? 'o' : 'd');
    return fake_copy(to, from, bytes, kind, stream);
}
static int stream_wait(void *s, void *e) {
    note('w');
    return fake_stream_wait(s, e);
}
static int capture_begin(void *s) {
    note('[');
    return fake_capture_begin(s);
}
static int capture_end(void *s, void **graph) {
    note(']');
    return fake_capture_end(s, graph);
}
static int graph_make(void *g, void **out) {
    note('M');
    return fake_graph_make(g, out);
}
static int graph_run(void *g, void *s) {
    note('R');
    return fake_graph_run(g, s);
}
static int graph_free(void *g) {
    note('F');
    return fake_graph_free(g);
}

static int branch_handle(void *s, uint64_t *out) {
    note('H');
    return fake_branch_handle(s, out);
}
static int body_begin(void *s, uint64_t handle, bool loop, void *body) {
    note(loop ? '{' : '(');
    return fake_body_begin(s, handle, loop, body);
}
static int body_end(void *body) {
    note('}');
    return fake_body_end(body);
}
static void gather_rows(jn_dev_exec *e, void *to, void *const *src, uint32_t n, size_t bytes) {
    (void)e, (void)to, (void)src, (void)n, (void)bytes;
    note('g');
}
static unsigned decided_first, decided_again, decided_handles;
static void decide(jn_dev_exec *e, const jn_dev_decision *d) {
    (void)e;
    note('D');
    *(d->first ? &decided_first : &decided_again) += 1;
    decided_handles += d->n;
}

static jn_dev_api api;
static jn_dev_kernels *rows;
static jn_dev_module module;
static jn_device *device;

static void set_up_with(bool branches) {
    fake_reset(256 << 20);
    fake.branches = branches;
    start_over();
    api = fake_api;
    api.alloc = take;
    api.copy = copy;
    api.stream_wait = stream_wait;
    api.capture_begin = capture_begin;
    api.capture_end = capture_end;
    api.graph_make = graph_make;
    api.graph_run = graph_run;
    api.graph_free = graph_free;
    api.branch_handle = branch_handle;
    api.body_begin = body_begin;
    api.body_end = body_end;
    rows = calloc(jn_n_ops, sizeof *rows);
    uint64_t h = JN_HASH_START;
    for (unsigned i = 0; i < jn_n_ops; i++) {
        rows[i].select = select_any;
        h = jn_hash_name(h, jn_ops[i].name);
    }
    module = (jn_dev_module){.abi = JN_DEV_ABI,
                             .n_ops = jn_n_ops,
                             .ops_hash = h,
                             .title = "CUDA",
                             .api = &api,
                             .rows = rows,
                             .workspace = workspace,
                             .gather_rows = gather_rows,
                             .decide = decide};
    OK(jn_device_open("cuda", &module, &device));
    jn_device_use("cuda", device);
}
static void set_up(void) { set_up_with(false); }

static void tear_down(void) {
    jn_device_use("cuda", NULL);
    jn_device_close(device);
    CU_ASSERT_EQUAL(fake.graphs_made, fake.graphs_freed);
    CU_ASSERT_EQUAL(fake.events_made, fake.events_freed);
    CU_ASSERT_EQUAL(fake.taken, 0);
    free(rows);
}

/* @f(x, s) = tanh(x) * exp(x) + s, of any length; with `index`, of rows of x too. */
static janus_module *make_module(bool index) {
    static const int64_t any[1] = {-1};
    janus_module *m;
    janus_subgraph *f;
    janus_type vector = {.kind = JANUS_KIND_TENSOR, .dtype = JANUS_F32, .rank = 1, .dims = any};
    janus_type number = {.kind = JANUS_KIND_FLOAT}, whole = {.kind = JANUS_KIND_TENSOR};
    janus_value x, s, a, b, y;
    whole = vector;
    whole.dtype = JANUS_I64;
    OK(janus_module_new(&m));
    OK(janus_subgraph_declare(m, "f", &vector, 1, &f));
    OK(janus_subgraph_param(f, "x", &vector, false, &x));
    OK(janus_subgraph_param(f, "s", index ? &whole : &number, false, &s));
    OK(janus_build(f, "tanh", &x, 1, NULL, &a, 1));
    OK(janus_build(f, "exp", &x, 1, NULL, &b, 1));
    janus_value in[2] = {a, b};
    OK(janus_build(f, "mul", in, 2, NULL, &y, 1));
    in[0] = y;
    in[1] = s;
    if (index) {
        janus_index_select_attrs attrs = {sizeof attrs, 0};
        OK(janus_build(f, "index_select", in, 2, &attrs, &y, 1));
    } else {
        janus_scalar_tensor_attrs attrs = {sizeof attrs, JANUS_F32};
        OK(janus_build(f, "scalar_tensor", &s, 1, &attrs, &in[1], 1));
        OK(janus_build(f, "add", in, 2, NULL, &y, 1));
    }
    OK(janus_subgraph_define(f, &y, 1));
    OK(janus_module_freeze(m));
    return m;
}

static janus_tensor *on_device(janus_dtype dtype, int64_t n) {
    janus_tensor *t;
    OK(jn_dev_tensor(device, dtype, 1, &n, &t));
    return t;
}

static janus_status run(janus_module *m, janus_tensor *x, double s, janus_tensor *index) {
    janus_arg args[2] = {{.kind = JANUS_KIND_TENSOR, .t = x}, {.kind = JANUS_KIND_FLOAT, .s.f = s}},
              result;
    if (index)
        args[1] = (janus_arg){.kind = JANUS_KIND_TENSOR, .t = index};
    janus_run_options o = JANUS_RUN_OPTIONS_INIT;
    o.device = "cuda";
    start_over();
    janus_status st = janus_run(janus_module_find(m, "f"), args, 2, &o, &result, 1, NULL);
    if (st == JANUS_OK)
        janus_tensor_release(result.t);
    return st;
}

static void captured_the_second_time(void) {
    set_up();
    janus_module *m = make_module(false);
    janus_tensor *x = on_device(JANUS_F32, 100);
    OK(run(m, x, 1, NULL));
    unsigned launches = count_of('L');
    CU_ASSERT(launches >= 4 && streams_seen == 1 && last_streams[0] == device->stream);
    CU_ASSERT_EQUAL(count_of('[') + count_of('R'), 0);
    OK(run(m, x, 1, NULL));
    CU_ASSERT_EQUAL(count_of('L'), launches);
    CU_ASSERT_EQUAL(inside('L'), launches); /* recorded, none launched */
    CU_ASSERT_EQUAL(inside('A') + inside('i') + inside('o') + inside('d'), 0);
    CU_ASSERT(strstr(calls, "]M") && count_of('R') == 1);
    /* three branches: streams of their own, not the one that runs it; forks, joins, two edges */
    CU_ASSERT_EQUAL(streams_seen, 3);
    for (unsigned i = 0; i < streams_seen; i++)
        CU_ASSERT(last_streams[i] != device->stream);
    CU_ASSERT_EQUAL(inside('w'), 2 + 2 + 2);
    OK(run(m, x, 1, NULL)); /* a replay, and the copy of the result */
    CU_ASSERT_STRING_EQUAL(calls, "Rd");
    OK(run(m, x, 2, NULL)); /* another number, read on the device */
    CU_ASSERT_STRING_EQUAL(calls, "iRd");
    OK(run(m, x, 2, NULL));
    CU_ASSERT_STRING_EQUAL(calls, "Rd");
    janus_tensor_release(x);
    janus_module_release(m);
    tear_down();
}

static void memory_that_moves(void) {
    set_up();
    janus_module *m = make_module(false);
    janus_tensor *x = on_device(JANUS_F32, 100), *z = on_device(JANUS_F32, 100);
    for (int i = 0; i < 3; i++)
        OK(run(m, x, 1, NULL));
    CU_ASSERT_STRING_EQUAL(calls, "Rd");
    OK(run(m, z, 1, NULL)); /* a capture that copies its input */
    CU_ASSERT(count_of('F') == 1 && count_of('[') == 1 && strstr(calls, "]MdiRd"));
    OK(run(m, x, 1, NULL));
    CU_ASSERT_STRING_EQUAL(calls, "dRd");
    OK(run(m, z, 1, NULL));
    CU_ASSERT_STRING_EQUAL(calls, "dRd");
    janus_tensor *w = on_device(JANUS_F32, 101); /* another shape: another capture */
    OK(run(m, w, 1, NULL));
    CU_ASSERT(count_of('[') == 0 && count_of('R') == 0);
    OK(run(m, w, 1, NULL));
    CU_ASSERT(count_of('[') == 1 && count_of('F') == 0);
    OK(run(m, z, 1, NULL));
    CU_ASSERT_STRING_EQUAL(calls, "dRd");
    jn_schedule_stats s = jn_schedule_stats_get(device->schedule);
    CU_ASSERT_EQUAL(s.captures, 3);
    CU_ASSERT_EQUAL(s.refused, 0);
    CU_ASSERT_EQUAL(s.streams, 3);
    janus_tensor_release(x);
    janus_tensor_release(z);
    janus_tensor_release(w);
    janus_module_release(m); /* and its captures with it */
    start_over();
    tear_down();
}

static void asserts_are_waited_for(void) {
    set_up();
    janus_module *m = make_module(true);
    janus_tensor *x = on_device(JANUS_F32, 100), *i = on_device(JANUS_I64, 5);
    for (int k = 0; k < 3; k++)
        OK(run(m, x, 0, i));
    CU_ASSERT_STRING_EQUAL(calls, "Rod"); /* the abort word is read before the run goes on */
    fake.answer = JN_KFLAG_INDEX;
    CU_ASSERT_EQUAL(run(m, x, 0, i), JANUS_INDEX); /* found by running it again, uncaptured */
    CU_ASSERT(strstr(janus_last_error()->message, "index_select") != NULL);
    CU_ASSERT_EQUAL(strncmp(calls, "Ro", 2), 0);
    CU_ASSERT(count_of('L') >= 4);
    fake.answer = 0;
    OK(run(m, x, 0, i));
    CU_ASSERT_STRING_EQUAL(calls, "Rod");
    janus_tensor_release(x);
    janus_tensor_release(i);
    janus_module_release(m);
    tear_down();
}

/* Whatever fails while it is recorded: the run itself goes through. */
static void failing_records(void) {
    unsigned captured = 0;
    for (unsigned n = 1; n < 40; n++) {
        set_up();
        janus_module *m = make_module(false);
        janus_tensor *x = on_device(JANUS_F32, 100);
        OK(run(m, x, 1, NULL));
        fake.fail_in = n;
        janus_status st = run(m, x, 1, NULL);
        CU_ASSERT(!fake.capturing && !jn_dev_capturing);
        fake.fail_in = 0;
        CU_ASSERT(st == JANUS_OK || st == JANUS_DEVICE);
        captured += count_of('R') == 1;
        if (st == JANUS_OK && count_of('R') == 0)
            CU_ASSERT_EQUAL(jn_schedule_stats_get(device->schedule).refused, 1);
        OK(run(m, x, 1, NULL));
        janus_tensor_release(x);
        janus_module_release(m);
        tear_down();
    }
    CU_ASSERT(captured > 0 && captured < 39);
}

/* No room for an arena: the flush runs uncaptured, and is left alone for a while. */
static void no_memory_for_a_capture(void) {
    set_up();
    janus_module *m = make_module(false);
    janus_tensor *x = on_device(JANUS_F32, 1 << 20);
    OK(run(m, x, 1, NULL));
    most = 10 << 20;
    OK(run(m, x, 1, NULL));
    CU_ASSERT_EQUAL(count_of('[') + count_of('R'), 0);
    CU_ASSERT_EQUAL(jn_schedule_stats_get(device->schedule).refused, 1);
    most = 0;
    OK(run(m, x, 1, NULL));
    CU_ASSERT_EQUAL(count_of('[') + count_of('R'), 0);
    for (int i = 0; i < 70; i++)
        OK(run(m, x, 1, NULL));
    CU_ASSERT_STRING_EQUAL(calls, "Rd");
    janus_tensor_release(x);
    janus_module_release(m);
    tear_down();
}

/* Pinned memory: a blocking copy waits for itself, another one does not; memory that may still be
 * read is not given to the next tensor, and is waited for only when there is much of it. */
static void pinned_memory(void) {
    set_up();
    const int64_t dims[1] = {600};
    janus_tensor *x = NULL, *there = NULL, *p[6] = {0};
    OK(janus_tensor_new(JANUS_F64, 1, dims, &x));
    CU_ASSERT(!jn_tensor_is_pinned(x));
    unsigned waits = fake.event_waits, records = fake.records;
    OK(jn_tensor_send(x, device, false, true, &there)); /* the driver has read it */
    CU_ASSERT(fake.records == records && fake.event_waits == waits);
    janus_tensor_release(there);
    OK(jn_tensor_pin(device, x, &p[0]));
    CU_ASSERT(jn_tensor_is_pinned(p[0]) && fake.pinned_made == 1);
    OK(jn_tensor_to(p[0], device, false, &there));
    CU_ASSERT(fake.records == records + 1 && fake.event_waits == waits + 1);
    janus_tensor_release(there);
    void *data = janus_tensor_data(p[0]);
    janus_tensor_release(p[0]);
    OK(jn_tensor_pin(device, x, &p[0])); /* arrived: used again */
    CU_ASSERT(janus_tensor_data(p[0]) == data && fake.pinned_made == 1);
    for (int i = 0; i < 4; i++) { /* on their way: not used again, nor waited for */
        if (i)
            OK(jn_tensor_pin(device, x, &p[i]));
        OK(jn_tensor_send(p[i], device, false, true, &there));
        janus_tensor_release(there);
        janus_tensor_release(p[i]);
    }
    CU_ASSERT(fake.pinned_made == 4 && fake.event_waits == waits + 1);
    OK(jn_tensor_pin(device, x, &p[0])); /* the oldest is waited for */
    CU_ASSERT(janus_tensor_data(p[0]) == data && fake.event_waits == waits + 2);
    CU_ASSERT(fake.pinned_made == 4);
    janus_tensor_release(p[0]);
    fake.fail_in = 1;
    janus_tensor *large = NULL;
    const int64_t more[1] = {5000};
    OK(janus_tensor_new(JANUS_F64, 1, more, &large));
    CU_ASSERT_EQUAL(jn_tensor_pin(device, large, &p[0]), JANUS_NO_MEMORY);
    janus_tensor_release(large);
    janus_tensor_release(x);
    tear_down();
    CU_ASSERT_EQUAL(fake.pinned_made, fake.pinned_freed);
}

/* ---- branches -----------------------------------------------------------------------------------
 */

static janus_module *parsed(const char *text) {
    janus_module *m;
    OK(janus_module_parse(text, strlen(text), "t_schedule", &m));
    OK(janus_module_freeze(m));
    return m;
}

/* A chain, so that there is one stream: a branch between two kernels. */
static const char branch[] = "module {\n"
                             "  sub @f(%x: f32[?], %s: float) -> f32[?] {\n"
                             "    %1 = tanh %x : f32[?]\n"
                             "    %2 = sum %1 : f32[]\n"
                             "    %3 = if %2, @up, @down(%1) : f32[?]\n"
                             "    %4 = exp %3 : f32[?]\n"
                             "    return %4\n"
                             "  }\n"
                             "  sub @up(%a: f32[?]) -> f32[?] {\n"
                             "    %1 = exp %a : f32[?]\n"
                             "    return %1\n"
                             "  }\n"
                             "  sub @down(%a: f32[?]) -> f32[?] {\n"
                             "    %1 = tanh %a : f32[?]\n"
                             "    %2 = sin %1 : f32[?]\n"
                             "    return %2\n"
                             "  }\n"
                             "}\n";

/* The calls of launches, branches and replays alone. */
static const char *short_calls(void) {
    static char some[sizeof calls];
    unsigned n = 0;
    for (unsigned i = 0; i < n_calls; i++)
        if (strchr("LogHD({}[]MR", calls[i]))
            some[n++] = calls[i];
    some[n] = 0;
    return some;
}

static void branches_on_the_device(void) {
    set_up_with(true);
    janus_module *m = parsed(branch);
    janus_tensor *x = on_device(JANUS_F32, 100);
    OK(run(m, x, 1, NULL)); /* uncaptured, the condition, 0, is read between */
    CU_ASSERT_STRING_EQUAL(short_calls(), "LLoLLL");
    decided_first = decided_again = decided_handles = 0;
    OK(run(m, x, 1, NULL));
    CU_ASSERT_STRING_EQUAL(short_calls(), "[LLHHD(Lg}(LLg}L]MR");
    CU_ASSERT(decided_first == 1 && decided_again == 0 && decided_handles == 2);
    OK(run(m, x, 1, NULL)); /* nothing is read */
    CU_ASSERT_STRING_EQUAL(calls, "Rd");
    jn_schedule_stats s = jn_schedule_stats_get(device->schedule);
    CU_ASSERT(s.captures == 1 && s.branches == 1 && s.refused == 0);
    janus_tensor_release(x);
    janus_module_release(m);
    tear_down();
}

static void branches_of_the_host(void) {
    set_up();
    janus_module *m = parsed(branch);
    janus_tensor *x = on_device(JANUS_F32, 100);
    for (int i = 0; i < 4; i++)
        OK(run(m, x, 1, NULL));
    CU_ASSERT_STRING_EQUAL(short_calls(), "RoR"); /* two captures, and the condition between */
    CU_ASSERT(fake.handles_made == 0);
    janus_tensor_release(x);
    janus_module_release(m);
    tear_down();
}

static const char loop[] = "module {\n"
                           "  sub @f(%x: f32[?], %s: int) -> (f32[?], int) {\n"
                           "    %1 = tanh %x : f32[?]\n"
                           "    %2.0, %2.1 = while @more, @round(%1, %s) : f32[?], int\n"
                           "    return %2.0, %2.1\n"
                           "  }\n"
                           "  sub @more(%a: f32[?], %n: int) -> bool {\n"
                           "    %1 = sum %a : f32[]\n"
                           "    %2 = item %1 {kind=3} : float\n"
                           "    %3 = s.bool %2 : bool\n"
                           "    return %3\n"
                           "  }\n"
                           "  sub @round(%a: f32[?], %n: int) -> (f32[?], int) {\n"
                           "    %1 = exp %a : f32[?]\n"
                           "    %2 = int 3\n"
                           "    %3 = s.add %n, %2 : int\n"
                           "    return %1, %3\n"
                           "  }\n"
                           "}\n";

static void loops_on_the_device(void) {
    set_up_with(true);
    janus_module *m = parsed(loop);
    janus_tensor *x = on_device(JANUS_F32, 100);
    janus_arg args[2] = {{.kind = JANUS_KIND_TENSOR, .t = x}, {.kind = JANUS_KIND_INT, .s.i = 40}};
    janus_arg result[2];
    janus_run_options o = JANUS_RUN_OPTIONS_INIT;
    o.device = "cuda";
    for (int i = 0; i < 3; i++) {
        start_over();
        decided_first = decided_again = decided_handles = 0;
        OK(janus_run(janus_module_find(m, "f"), args, 2, &o, result, 2, NULL));
        CU_ASSERT_EQUAL(result[1].s.i, 40);
        janus_tensor_release(result[0].t);
        if (i == 0) /* the condition, 0; the number of rounds */
            CU_ASSERT_STRING_EQUAL(short_calls(), "LLoo");
        if (i == 1) { /* the abort word; the number of rounds */
            CU_ASSERT_STRING_EQUAL(short_calls(), "[LgLHD{LgLD}]MRoo");
            CU_ASSERT(decided_first == 1 && decided_again == 1 && decided_handles == 2);
        }
    }
    CU_ASSERT_STRING_EQUAL(short_calls(), "Roo");
    CU_ASSERT_EQUAL(jn_schedule_stats_get(device->schedule).branches, 1);
    janus_tensor_release(x);
    janus_module_release(m);
    tear_down();
}

/* A driver that says it has conditional nodes and refuses one: from then on the host decides. */
static void branches_that_fail(void) {
    unsigned captured = 0, left = 0;
    for (unsigned n = 1; n < 40; n++) {
        set_up_with(true);
        janus_module *m = parsed(branch);
        janus_tensor *x = on_device(JANUS_F32, 100);
        OK(run(m, x, 1, NULL));
        fake.fail_in = n;
        janus_status st = run(m, x, 1, NULL);
        CU_ASSERT(!fake.capturing && !fake.bodies_open && !jn_dev_capturing);
        fake.fail_in = 0;
        CU_ASSERT(st == JANUS_OK || st == JANUS_DEVICE);
        bool refused = jn_schedule_stats_get(device->schedule).refused == 1;
        captured += count_of('R') == 1;
        for (int i = 0; i < 3; i++)
            OK(run(m, x, 1, NULL));
        if (refused) {
            left++;
            CU_ASSERT_STRING_EQUAL(short_calls(), "RoR");
        }
        janus_tensor_release(x);
        janus_module_release(m);
        tear_down();
    }
    CU_ASSERT(captured > 0 && left > 6);
}

JN_TEST_MAIN("schedule", {"captured the second time", captured_the_second_time},
             {"memory that moves", memory_that_moves},
             {"asserts are waited for", asserts_are_waited_for},
             {"failing records", failing_records},
             {"no memory for a capture", no_memory_for_a_capture}, {"pinned memory", pinned_memory},
             {"branches on the device", branches_on_the_device},
             {"branches of the host", branches_of_the_host},
             {"loops on the device", loops_on_the_device},
             {"branches that fail", branches_that_fail})
