/* Writes in place: a run that commits computes them where they go, one that fails leaves nothing.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/base/alloc.h"
#include "janus.h"
#include "tests/unit/check.h"

#include <math.h>
#include <string.h>

#define OK(expr) CU_ASSERT_EQUAL_FATAL((expr), JANUS_OK)

enum { N = 128, SIZE = N * N };

#define A "%a: f32[128,128]"
#define AB "%a: f32[128,128], %b: f32[128,128]"
#define SUB(name, params, body)                                                                    \
    "  sub @" name "(" params ") -> f32[] {\n" body "    return %r\n  }\n"
#define END                                                                                        \
    "    %x = float 1.5\n"                                                                         \
    "    %r = full %x\n"

static const char text[] = "module {\n" /* a = a - b * b */
    SUB("update", AB,
        "    %bb = mul %b, %b\n"
        "    %n = sub %a, %bb\n"
        "    store %a, %n\n" END)
    /* b = a * 0.5 + b, and what it was comes into a */
    SUB("both", AB,
        "    %s = mul %a, %b\n"
        "    %n = add %b, %s\n"
        "    %m = sub %a, %s\n"
        "    store %b, %n\n"
        "    store %a, %m\n" END)
    /* a and b change places */
    SUB("swap", AB,
        "    store %a, %b\n"
        "    store %b, %a\n" END)
    /* the second one counts */
    SUB("twice", AB,
        "    %n = add %a, %b\n"
        "    %m = mul %a, %b\n"
        "    store %a, %n\n"
        "    store %a, %m\n" END)
    /* a is read again when it has been written */
    SUB("behind", AB,
        "    %n = add %a, %b\n"
        "    %m = mul %a, %b\n"
        "    store %a, %n\n"
        "    store %b, %m\n" END)
    /* transposed */
    SUB("turned", A,
        "    %t = transpose %a {dim0=0, dim1=1}\n"
        "    %n = add %a, %t\n"
        "    store %a, %n\n" END)
    /* positive, or nothing happens */
    SUB("checked", AB,
        "    %n = add %a, %b\n"
        "    store %a, %n\n"
        "    %s = sum %b {dims=[0,1]}\n"
        "    %v = item %s : float\n"
        "    %z = float 0.0\n"
        "    %c = s.gt %v, %z\n"
        "    assert %c {id=1, message=\"positive\"}\n" END) "}\n";

static janus_module *module_of(void) {
    janus_module *m;
    if (janus_module_parse(text, strlen(text), "late", &m) != JANUS_OK) {
        fprintf(stderr, "%s\n", janus_last_error()->message);
        CU_FAIL_FATAL("the text is wrong");
    }
    OK(janus_module_freeze(m));
    return m;
}

static janus_tensor *square(double scale) {
    janus_tensor *t;
    OK(janus_tensor_new(JANUS_F32, 2, (int64_t[]){N, N}, &t));
    float *p = janus_tensor_data(t);
    for (int i = 0; i < SIZE; i++)
        p[i] = (float)(scale * sin(i * 0.37 + scale));
    return t;
}

static janus_status run(const janus_module *m, const char *name, janus_tensor *a, janus_tensor *b,
                        uint64_t *late) {
    janus_arg args[2] = {{.kind = JANUS_KIND_TENSOR, .t = a}, {.kind = JANUS_KIND_TENSOR, .t = b}};
    janus_arg r;
    janus_run_stats stats = {0};
    janus_status st = janus_run(janus_module_find(m, name), args, b ? 2 : 1, NULL, &r, 1, &stats);
    if (st == JANUS_OK) {
        CU_ASSERT_EQUAL(*(float *)janus_tensor_data(r.t), 1.5F);
        janus_tensor_release(r.t);
    }
    *late = stats.late;
    return st;
}

/* What a and b are after a run of `name`, and how many tasks were late. */
typedef float (*expected)(float a, float b);
static float same_a(float a, float b) { return (void)b, a; }
static float same_b(float a, float b) { return (void)a, b; }
static float update_a(float a, float b) { return a - b * b; }
static float sum(float a, float b) { return a + b; }
static float product(float a, float b) { return a * b; }
static float both_a(float a, float b) { return a - a * b; }
static float both_b(float a, float b) { return b + a * b; }

static bool near(float x, float y) { return fabs((double)x - y) <= 1e-6 * (1 + fabs((double)y)); }

static void check(const janus_module *m, const char *name, expected fa, expected fb,
                  uint64_t want_late) {
    janus_tensor *a = square(1), *b = square(2);
    float *pa = janus_tensor_data(a), *pb = janus_tensor_data(b);
    for (int round = 0; round < 3; round++) {
        static float x[SIZE], y[SIZE];
        uint64_t late;
        int wrong = 0;
        memcpy(x, pa, sizeof x);
        memcpy(y, pb, sizeof y);
        OK(run(m, name, a, b, &late));
        CU_ASSERT_EQUAL(late, want_late);
        CU_ASSERT(janus_tensor_data(a) == pa && janus_tensor_data(b) == pb);
        for (int i = 0; i < SIZE; i++)
            wrong += !near(pa[i], fa(x[i], y[i])) || !near(pb[i], fb(x[i], y[i]));
        CU_ASSERT_EQUAL(wrong, 0);
        if (wrong)
            fprintf(stderr, "@%s: %d elements are wrong\n", name, wrong);
    }
    janus_tensor_release(a);
    janus_tensor_release(b);
}

static void what_is_stored(void) {
    janus_module *m = module_of();
    for (int threads = 1; threads <= 3; threads++) {
        janus_set_num_threads(threads);
        check(m, "update", update_a, same_b, 1);
        check(m, "both", both_a, both_b, 1);
        check(m, "swap", same_b, same_a, 0);
        check(m, "twice", product, same_b, 0);
        check(m, "behind", sum, product, 0);
    }
    janus_set_num_threads(1);
    janus_module_release(m);
}

static void what_is_read_at_other_places(void) {
    static float x[SIZE + N];
    janus_module *m = module_of();
    janus_tensor *a = square(1), *low, *high;
    float *p = janus_tensor_data(a);
    uint64_t late;
    int wrong = 0;
    memcpy(x, p, SIZE * sizeof *x);
    OK(run(m, "turned", a, NULL, &late));
    CU_ASSERT_EQUAL(late, 0);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            wrong += p[i * N + k] != x[i * N + k] + x[k * N + i];
    CU_ASSERT_EQUAL(wrong, 0);
    janus_tensor_release(a);

    /* two tensors that share all memory but a row */
    static float memory[SIZE + N];
    for (int i = 0; i < SIZE + N; i++)
        memory[i] = x[i] = (float)sin(i * 0.61);
    OK(janus_tensor_wrap(JANUS_F32, 2, (int64_t[]){N, N}, NULL, memory, NULL, NULL, &low));
    OK(janus_tensor_wrap(JANUS_F32, 2, (int64_t[]){N, N}, NULL, memory + N, NULL, NULL, &high));
    OK(run(m, "update", low, high, &late));
    for (int i = 0; i < SIZE; i++)
        wrong += !near(memory[i], x[i] - x[i + N] * x[i + N]);
    for (int i = SIZE; i < SIZE + N; i++)
        wrong += memory[i] != x[i];
    CU_ASSERT_EQUAL(wrong, 0);

    /* one tensor for both: b is a */
    memcpy(memory, x, sizeof memory);
    OK(run(m, "update", low, low, &late));
    for (int i = 0; i < SIZE; i++)
        wrong += !near(memory[i], x[i] - x[i] * x[i]);
    CU_ASSERT_EQUAL(wrong, 0);

    /* both written, in the order of the program: the second store is of what was computed */
    memcpy(memory, x, sizeof memory);
    OK(run(m, "both", low, high, &late));
    CU_ASSERT_EQUAL(late, 0);
    for (int i = 0; i < SIZE; i++)
        wrong += !near(memory[i], x[i] - x[i] * x[i + N]);
    for (int i = SIZE - N; i < SIZE; i++)
        wrong += !near(memory[i + N], x[i + N] + x[i] * x[i + N]);
    CU_ASSERT_EQUAL(wrong, 0);
    janus_tensor_release(low);
    janus_tensor_release(high);
    janus_module_release(m);
}

static void a_failing_check(void) {
    static float x[SIZE];
    janus_module *m = module_of();
    janus_tensor *a = square(1), *b = square(2);
    float *pa = janus_tensor_data(a), *pb = janus_tensor_data(b);
    uint64_t late;
    for (int i = 0; i < SIZE; i++)
        pb[i] = 1;
    OK(run(m, "checked", a, b, &late));
    for (int i = 0; i < SIZE; i++)
        pb[i] = -1;
    memcpy(x, pa, sizeof x);
    CU_ASSERT_EQUAL(run(m, "checked", a, b, &late), JANUS_ASSUMPTION_FAILED);
    CU_ASSERT(memcmp(x, pa, sizeof x) == 0);
    janus_tensor_release(a);
    janus_tensor_release(b);
    janus_module_release(m);
}

/* Every allocation of a run fails once: all is written or nothing. */
static void out_of_memory(void) {
    static const char *const names[] = {"update", "both", "swap", "twice", "behind"};
    static float x[SIZE], y[SIZE];
    for (unsigned k = 0; k < sizeof names / sizeof *names; k++) {
        unsigned failures = 0;
        for (uint64_t n = 1;; n++) {
            janus_module *m = module_of(); /* no plan is there yet */
            janus_tensor *a = square(1), *b = square(2);
            float *pa = janus_tensor_data(a), *pb = janus_tensor_data(b);
            uint64_t late;
            memcpy(x, pa, sizeof x);
            memcpy(y, pb, sizeof y);
            jn_alloc_fail_after(n);
            janus_status st = run(m, names[k], a, b, &late);
            jn_alloc_fail_after(0);
            bool same = memcmp(x, pa, sizeof x) == 0 && memcmp(y, pb, sizeof y) == 0;
            CU_ASSERT_EQUAL(same, st != JANUS_OK);
            janus_tensor_release(a);
            janus_tensor_release(b);
            janus_module_release(m);
            if (st == JANUS_OK)
                break;
            failures++;
            CU_ASSERT_EQUAL(st, JANUS_NO_MEMORY);
        }
        CU_ASSERT(failures > 10);
    }
}

JN_TEST_MAIN("late", {"what is stored", what_is_stored},
             {"what is read at other places", what_is_read_at_other_places},
             {"a failing check", a_failing_check}, {"out of memory", out_of_memory})
