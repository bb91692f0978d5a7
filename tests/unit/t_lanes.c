/* Lanes: examples of a batch on threads of their own; the figures of one thread, and the errors. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "janus.h"
#include "tests/unit/check.h"

#include <math.h>
#include <string.h>

#define OK(expr) CU_ASSERT_EQUAL_FATAL((expr), JANUS_OK)

/* Trees of depth %d: leaf k of tree t is row 16 t + k of a table, large enough that its gradient
 * stays rows. */
static const char text[] =
    "module {\n"
    "  sub @leaf(%d: int, %k: int, shared %e: f32[300,128], shared %w: f32[128,128]) -> f32[1,128] "
    "{\n"
    "    %s = scalar_tensor %k {dtype=i64}\n"
    "    %index = unsqueeze %s {axis=0}\n"
    "    %h = embedding %e, %index\n"
    "    return %h\n"
    "  }\n"
    "  sub @inner(%d: int, %k: int, shared %e: f32[300,128], shared %w: f32[128,128]) -> "
    "f32[1,128] {\n"
    "    %one = int 1\n"
    "    %two = int 2\n"
    "    %below = s.sub %d, %one\n"
    "    %kl = s.mul %k, %two\n"
    "    %kr = s.add %kl, %one\n"
    "    %l = invoke @tree(%below, %kl, %e, %w)\n"
    "    %r = invoke @tree(%below, %kr, %e, %w)\n"
    "    %lw = matmul %l, %w\n"
    "    %rw = matmul %r, %w\n"
    "    %z = add %lw, %rw\n"
    "    %h = tanh %z\n"
    "    return %h\n"
    "  }\n"
    "  sub @tree(%d: int, %k: int, shared %e: f32[300,128], shared %w: f32[128,128]) -> f32[1,128] "
    "{\n"
    "    %zero = int 0\n"
    "    %more = s.gt %d, %zero\n"
    "    %h = if %more, @inner, @leaf(%d, %k, %e, %w)\n"
    "    return %h\n"
    "  }\n"
    "  sub @add(%k: int, %sum: f32[], shared %e: f32[300,128], shared %w: f32[128,128]) -> f32[] "
    "{\n"
    "    %four = int 4\n"
    "    %h = invoke @tree(%four, %k, %e, %w)\n"
    "    %squares = mul %h, %h\n"
    "    %loss = sum %squares {dims=[0,1]}\n"
    "    %total = add %sum, %loss\n"
    "    return %total\n"
    "  }\n"
    "  sub @loss(%n: int, %zero: f32[], %e: f32[300,128], %w: f32[128,128]) -> f32[] {\n"
    "    %sum = foreach %n, @add(%zero, %e, %w)\n"
    "    return %sum\n"
    "  }\n"
    "}\n";

enum { ROWS = 300, H = 128 };

typedef struct outcome {
    janus_status st;
    float loss, de[ROWS * H], dw[H * H];
    janus_run_stats stats;
} outcome;

static janus_tensor *tensor(int rank, int64_t rows, int64_t columns, double scale) {
    janus_tensor *t;
    OK(janus_tensor_new(JANUS_F32, rank, (int64_t[]){rows, columns}, &t));
    for (int64_t i = 0; rank && i < rows * columns; i++)
        ((float *)janus_tensor_data(t))[i] = (float)(scale * sin((double)(i * 7 + 1)));
    return t;
}

static janus_module *module_of(const janus_subgraph **step) {
    static const unsigned weights[] = {2, 3};
    janus_module *m;
    janus_subgraph *g;
    if (janus_module_parse(text, strlen(text), "lanes", &m) != JANUS_OK) {
        fprintf(stderr, "%s\n", janus_last_error()->message);
        CU_FAIL_FATAL("the text is wrong");
    }
    OK(janus_value_and_grad(janus_module_find(m, "loss"), "step", weights, 2, &g));
    OK(janus_module_freeze(m));
    *step = g;
    return m;
}

static void run(const janus_subgraph *step, int64_t trees, size_t ceiling, outcome *out) {
    janus_tensor *zero = tensor(0, 0, 0, 0), *e = tensor(2, ROWS, H, 0.5),
                 *w = tensor(2, H, H, 0.1);
    janus_arg args[4] = {{.kind = JANUS_KIND_INT, .s.i = trees},
                         {.kind = JANUS_KIND_TENSOR, .t = zero},
                         {.kind = JANUS_KIND_TENSOR, .t = e},
                         {.kind = JANUS_KIND_TENSOR, .t = w}},
              results[3];
    janus_run_options o = JANUS_RUN_OPTIONS_INIT;
    o.byte_ceiling = ceiling;
    *(float *)janus_tensor_data(zero) = 0;
    out->st = janus_run(step, args, 4, &o, results, 3, &out->stats);
    if (out->st == JANUS_OK) {
        out->loss = *(float *)janus_tensor_data(results[0].t);
        memcpy(out->de, janus_tensor_data(results[1].t), sizeof out->de);
        memcpy(out->dw, janus_tensor_data(results[2].t), sizeof out->dw);
        for (int i = 0; i < 3; i++)
            janus_tensor_release(results[i].t);
    }
    janus_tensor_release(zero);
    janus_tensor_release(e);
    janus_tensor_release(w);
}

static double difference(const float *a, const float *b, int n) {
    double most = 0, size = 1e-30;
    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs((double)a[i] - b[i]));
        size = fmax(size, fabs((double)b[i]));
    }
    return most / size;
}

static void lanes_give_what_one_thread_gives(void) {
    static outcome one, many, again;
    const janus_subgraph *step;
    janus_module *m = module_of(&step);
    janus_set_num_threads(1);
    run(step, 17, 0, &one);
    OK(one.st);
    CU_ASSERT_EQUAL(one.stats.lanes, 1);
    for (int threads = 2; threads <= 5; threads++) {
        janus_set_num_threads(threads);
        run(step, 17, 0, &many);
        OK(many.st);
        CU_ASSERT(threads == 5 || many.stats.lanes == (uint64_t)threads);
        CU_ASSERT(many.stats.lanes > 1);
        CU_ASSERT_EQUAL(many.stats.tasks, one.stats.tasks);
        CU_ASSERT(difference(&many.loss, &one.loss, 1) < 1e-5);
        CU_ASSERT(difference(many.de, one.de, ROWS * H) < 1e-4);
        CU_ASSERT(difference(many.dw, one.dw, H * H) < 1e-4);
        for (int i = 0; i < 10; i++) { /* whatever the timing */
            run(step, 17, 0, &again);
            OK(again.st);
            CU_ASSERT_EQUAL(memcmp(&again.loss, &many.loss, sizeof again.loss), 0);
            CU_ASSERT_EQUAL(memcmp(again.de, many.de, sizeof again.de), 0);
            CU_ASSERT_EQUAL(memcmp(again.dw, many.dw, sizeof again.dw), 0);
        }
    }
    janus_set_num_threads(2);
    run(step, 1, 0, &many); /* nothing to deal */
    OK(many.st);
    CU_ASSERT_EQUAL(many.stats.lanes, 1);
    janus_set_num_threads(0);
    janus_module_release(m);
}

/* So many trees that a worker starts while they are still being issued. */
static void an_early_lane_gives_what_one_thread_gives(void) {
    static outcome one, many, again;
    const janus_subgraph *step;
    janus_module *m = module_of(&step);
    for (int64_t trees = 17; trees <= 18; trees++) { /* 18 times 16 leaves: of the table's 300 */
        janus_set_num_threads(1);
        run(step, trees, 0, &one);
        OK(one.st);
        CU_ASSERT_EQUAL(one.stats.early, 0);
        for (int threads = 2; threads <= 4; threads++) {
            janus_set_num_threads(threads);
            run(step, trees, 0, &many);
            OK(many.st);
            CU_ASSERT(many.stats.early > 0);
            CU_ASSERT(many.stats.early < many.stats.tasks);
            CU_ASSERT_EQUAL(many.stats.tasks, one.stats.tasks);
            CU_ASSERT(difference(&many.loss, &one.loss, 1) < 1e-5);
            CU_ASSERT(difference(many.de, one.de, ROWS * H) < 1e-4);
            CU_ASSERT(difference(many.dw, one.dw, H * H) < 1e-4);
            for (int i = 0; i < 20; i++) {
                run(step, trees, 0, &again);
                OK(again.st);
                CU_ASSERT_EQUAL(memcmp(&again.loss, &many.loss, sizeof again.loss), 0);
                CU_ASSERT_EQUAL(memcmp(again.de, many.de, sizeof again.de), 0);
                CU_ASSERT_EQUAL(memcmp(again.dw, many.dw, sizeof again.dw), 0);
            }
        }
    }
    janus_set_num_threads(0);
    janus_module_release(m);
}

/* The same trees without a gradient, of any depth, each round the first one again. */
static const char rounds_text[] =
    "  sub @round(%k: int, %sum: f32[], shared %depth: int, shared %e: f32[300,128], "
    "shared %w: f32[128,128]) -> f32[] {\n"
    "    %zero = int 0\n"
    "    %h = invoke @tree(%depth, %zero, %e, %w)\n"
    "    %squares = mul %h, %h\n"
    "    %loss = sum %squares {dims=[0,1]}\n"
    "    %total = add %sum, %loss\n"
    "    return %total\n"
    "  }\n"
    "  sub @rounds(%n: int, %depth: int, %zero: f32[], %e: f32[300,128], %w: f32[128,128]) -> "
    "f32[] "
    "{\n"
    "    %sum = foreach %n, @round(%zero, %depth, %e, %w)\n"
    "    return %sum\n"
    "  }\n"
    "  sub @apart(%k: int, %before: f32[], shared %depth: int, shared %e: f32[300,128], "
    "shared %w: f32[128,128]) -> f32[] {\n"
    "    %zero = int 0\n"
    "    %h = invoke @tree(%depth, %zero, %e, %w)\n"
    "    %squares = mul %h, %h\n"
    "    %loss = sum %squares {dims=[0,1]}\n"
    "    return %loss\n"
    "  }\n"
    "  sub @last(%n: int, %depth: int, %zero: f32[], %e: f32[300,128], %w: f32[128,128]) -> f32[] "
    "{\n"
    "    %loss = foreach %n, @apart(%zero, %depth, %e, %w)\n"
    "    return %loss\n"
    "  }\n"
    "}\n";

static janus_module *rounds_of(const char *name, const janus_subgraph **loss) {
    static char all[sizeof text + sizeof rounds_text];
    size_t first = strlen(text) - 2; /* without its last brace */
    janus_module *m;
    memcpy(all, text, first);
    memcpy(all + first, rounds_text, sizeof rounds_text);
    if (janus_module_parse(all, strlen(all), "rounds", &m) != JANUS_OK) {
        fprintf(stderr, "%s\n", janus_last_error()->message);
        CU_FAIL_FATAL("the text is wrong");
    }
    OK(janus_module_freeze(m));
    *loss = janus_module_find(m, name);
    return m;
}

static janus_status run_rounds(const janus_subgraph *loss, int64_t rounds, int64_t depth,
                               float *out, janus_run_stats *stats) {
    janus_tensor *zero = tensor(0, 0, 0, 0), *e = tensor(2, ROWS, H, 0.5),
                 *w = tensor(2, H, H, 0.1);
    janus_arg args[5] = {{.kind = JANUS_KIND_INT, .s.i = rounds},
                         {.kind = JANUS_KIND_INT, .s.i = depth},
                         {.kind = JANUS_KIND_TENSOR, .t = zero},
                         {.kind = JANUS_KIND_TENSOR, .t = e},
                         {.kind = JANUS_KIND_TENSOR, .t = w}},
              result;
    janus_run_options o = JANUS_RUN_OPTIONS_INIT;
    *(float *)janus_tensor_data(zero) = 0;
    janus_status st = janus_run(loss, args, 5, &o, &result, 1, stats);
    if (st == JANUS_OK) {
        *out = *(float *)janus_tensor_data(result.t);
        janus_tensor_release(result.t);
    }
    janus_tensor_release(zero);
    janus_tensor_release(e);
    janus_tensor_release(w);
    return st;
}

/* Few rounds over trees, of which it has what it started with, and so many that it gets more: what
 * it has follows from the tasks alone. */
static void an_early_lane_gets_more(void) {
    static const struct {
        int64_t rounds, depth;
        uint64_t least, most;
    } given[] = {{13, 4, 100, 383}, {60, 4, 700, 1500}};
    const janus_subgraph *loss = NULL;
    janus_module *m = rounds_of("rounds", &loss);
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        float alone = 0, found = 0;
        janus_run_stats stats;
        janus_set_num_threads(1);
        OK(run_rounds(loss, given[i].rounds, given[i].depth, &alone, &stats));
        CU_ASSERT_EQUAL(stats.early, 0);
        janus_set_num_threads(2);
        OK(run_rounds(loss, given[i].rounds, given[i].depth, &found, &stats));
        CU_ASSERT(fabsf(found - alone) <= 1e-4f * fabsf(alone));
        CU_ASSERT(stats.early >= given[i].least && stats.early <= given[i].most);
        uint64_t early = stats.early;
        for (int k = 0; k < 20; k++) { /* whatever the timing */
            float again = 0;
            OK(run_rounds(loss, given[i].rounds, given[i].depth, &again, &stats));
            CU_ASSERT_EQUAL(memcmp(&again, &found, sizeof found), 0);
            CU_ASSERT_EQUAL(stats.early, early);
        }
    }
    janus_set_num_threads(0);
    janus_module_release(m);
}

/* Windows of few levels that end soon after it has started: it has a share, and not all. */
static void an_early_lane_starts_with_a_share(void) {
    const janus_subgraph *loss = NULL;
    janus_module *m = rounds_of("last", &loss);
    for (int64_t rounds = 180; rounds <= 260; rounds += 20) {
        float alone = 0, found = 0;
        janus_run_stats stats;
        janus_set_num_threads(1);
        OK(run_rounds(loss, rounds, 1, &alone, &stats));
        CU_ASSERT_EQUAL(stats.early, 0);
        janus_set_num_threads(2);
        OK(run_rounds(loss, rounds, 1, &found, &stats));
        CU_ASSERT(fabsf(found - alone) <= 1e-4f * fabsf(alone));
        CU_ASSERT(stats.early >= stats.tasks / 8 && stats.early <= stats.tasks / 3);
    }
    janus_set_num_threads(0);
    janus_module_release(m);
}

static void a_lane_that_fails_stops_the_run(void) {
    static outcome o;
    const janus_subgraph *step;
    janus_set_num_threads(3);
    for (int i = 0; i < 5; i++) {
        janus_module *m = module_of(&step); /* none has memory left from a run before */
        run(step, 17, (size_t)3 << 18, &o);
        CU_ASSERT_EQUAL(o.st, JANUS_NO_MEMORY);
        run(step, 22, 0, &o); /* trees 19 and up name rows that the table lacks */
        CU_ASSERT_EQUAL(o.st, JANUS_INDEX);
        CU_ASSERT_PTR_NOT_NULL(strstr(janus_last_error()->message, "embedding"));
        run(step, 17, 0, &o);
        CU_ASSERT_EQUAL(o.st, JANUS_OK);
        janus_module_release(m);
    }
    janus_set_num_threads(0);
}

JN_TEST_MAIN("lanes", {"lanes give what one thread gives", lanes_give_what_one_thread_gives},
             {"an early lane gives what one thread gives",
              an_early_lane_gives_what_one_thread_gives},
             {"an early lane gets more", an_early_lane_gets_more},
             {"an early lane starts with a share", an_early_lane_starts_with_a_share},
             {"a lane that fails stops the run", a_lane_that_fails_stops_the_run})
