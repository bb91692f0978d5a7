/* The executor: scalars, recursion, loops, tensors in rows, effects; cpu against ref and exact. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "janus.h"
#include "tests/unit/check.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define OK(expr) CU_ASSERT_EQUAL_FATAL((expr), JANUS_OK)

static const janus_type int_type = {.kind = JANUS_KIND_INT};

static janus_value op(janus_subgraph *g, const char *name, janus_value a, janus_value b) {
    janus_value in[2] = {a, b}, out;
    OK(janus_build(g, name, in, 2, NULL, &out, 1));
    return out;
}

static janus_value op1(janus_subgraph *g, const char *name, janus_value a) {
    janus_value out;
    OK(janus_build(g, name, &a, 1, NULL, &out, 1));
    return out;
}

static janus_value int_const(janus_subgraph *g, int64_t v) {
    janus_value out;
    OK(janus_build_int(g, v, &out));
    return out;
}

static janus_value param(janus_subgraph *g, const char *name, janus_type t, bool shared) {
    janus_value out;
    OK(janus_subgraph_param(g, name, &t, shared, &out));
    return out;
}

static janus_subgraph *declare(janus_module *m, const char *name, janus_type t) {
    janus_subgraph *g;
    OK(janus_subgraph_declare(m, name, &t, 1, &g));
    return g;
}

static janus_status run_int(janus_subgraph *g, int64_t n, int64_t *out, janus_run_stats *stats) {
    janus_arg arg = {.kind = JANUS_KIND_INT, .s.i = n}, result;
    janus_status st = janus_run(g, &arg, 1, NULL, &result, 1, stats);
    *out = result.s.i;
    return st;
}

/* @fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2) */
static janus_module *fib_module(void) {
    janus_module *m;
    OK(janus_module_new(&m));
    janus_subgraph *fib = declare(m, "fib", int_type);
    janus_subgraph *then = declare(m, "fib.then", int_type),
                   *other = declare(m, "fib.else", int_type);
    janus_value n = param(fib, "n", int_type, false), r;
    janus_value t = param(then, "n", int_type, false);
    OK(janus_subgraph_define(then, &t, 1));
    janus_value e = param(other, "n", int_type, false), a, b;
    janus_value n1 = op(other, "s.sub", e, int_const(other, 1));
    janus_value n2 = op(other, "s.sub", e, int_const(other, 2));
    OK(janus_build_invoke(other, fib, &n1, 1, &a, 1));
    OK(janus_build_invoke(other, fib, &n2, 1, &b, 1));
    janus_value sum = op(other, "s.add", a, b);
    OK(janus_subgraph_define(other, &sum, 1));
    janus_value cond = op(fib, "s.lt", n, int_const(fib, 2));
    OK(janus_build_if(fib, cond, then, other, &n, 1, &r, 1));
    OK(janus_subgraph_define(fib, &r, 1));
    OK(janus_module_freeze(m));
    return m;
}

static void recursion_counts_its_calls(void) {
    janus_module *m = fib_module();
    janus_run_stats stats;
    int64_t v;
    OK(run_int(janus_module_find(m, "fib"), 20, &v, &stats));
    CU_ASSERT_EQUAL(v, 6765);
    CU_ASSERT_EQUAL(stats.invokes, 21891); /* 2 fib(21) - 1 */
    janus_module_release(m);
}

/* @down(n) = n == 0 ? 0 : down(n - 1) + 1 */
static void a_million_deep(void) {
    janus_module *m;
    OK(janus_module_new(&m));
    janus_subgraph *down = declare(m, "down", int_type);
    janus_subgraph *zero = declare(m, "zero", int_type), *more = declare(m, "more", int_type);
    janus_value n = param(down, "n", int_type, false), r;
    janus_value z = param(zero, "n", int_type, false);
    OK(janus_subgraph_define(zero, &z, 1));
    janus_value k = param(more, "n", int_type, false), below;
    janus_value k1 = op(more, "s.sub", k, int_const(more, 1));
    OK(janus_build_invoke(more, down, &k1, 1, &below, 1));
    janus_value up = op(more, "s.add", below, int_const(more, 1));
    OK(janus_subgraph_define(more, &up, 1));
    OK(janus_build_if(down, op(down, "s.eq", n, int_const(down, 0)), zero, more, &n, 1, &r, 1));
    OK(janus_subgraph_define(down, &r, 1));
    OK(janus_module_freeze(m));
    int64_t v;
    OK(run_int(down, 1000000, &v, NULL));
    CU_ASSERT_EQUAL(v, 1000000);
    janus_module_release(m);
}

static void overflow_is_an_error(void) {
    janus_module *m;
    OK(janus_module_new(&m));
    janus_subgraph *g = declare(m, "f", int_type);
    janus_value n = param(g, "n", int_type, false);
    janus_value r = op(g, "s.mul", n, n);
    OK(janus_subgraph_define(g, &r, 1));
    OK(janus_module_freeze(m));
    int64_t v;
    OK(run_int(g, 3037000499, &v, NULL));
    CU_ASSERT_EQUAL(run_int(g, 3037000500, &v, NULL), JANUS_ARITHMETIC);
    janus_module_release(m);
}

/* sum of i * i for i < n, by foreach; and by while */
static void loops(void) {
    janus_module *m;
    OK(janus_module_new(&m));
    janus_subgraph *body = declare(m, "body", int_type), *f = declare(m, "f", int_type);
    janus_value i = param(body, "i", int_type, false), s = param(body, "s", int_type, false);
    janus_value next = op(body, "s.add", s, op(body, "s.mul", i, i));
    OK(janus_subgraph_define(body, &next, 1));
    janus_value n = param(f, "n", int_type, false), zero = int_const(f, 0), r;
    OK(janus_build_foreach(f, n, body, &zero, 1, &r, 1));
    OK(janus_subgraph_define(f, &r, 1));

    janus_type two[2] = {int_type, int_type}, flag = {.kind = JANUS_KIND_BOOL};
    janus_subgraph *cond = declare(m, "cond", flag), *step, *g = declare(m, "g", int_type);
    OK(janus_subgraph_declare(m, "step", two, 2, &step));
    janus_value ci = param(cond, "i", int_type, false);
    param(cond, "s", int_type, false);
    janus_value more = op(cond, "s.gt", ci, int_const(cond, 0));
    OK(janus_subgraph_define(cond, &more, 1));
    janus_value si = param(step, "i", int_type, false), ss = param(step, "s", int_type, false);
    janus_value outs[2] = {op(step, "s.sub", si, int_const(step, 1)),
                           op(step, "s.add", ss, op(step, "s.mul", si, si))};
    OK(janus_subgraph_define(step, outs, 2));
    janus_value init[2] = {param(g, "n", int_type, false), int_const(g, 0)}, w[2];
    OK(janus_build_while(g, cond, step, init, 2, w, 2));
    OK(janus_subgraph_define(g, &w[1], 1));
    OK(janus_module_freeze(m));
    int64_t v;
    OK(run_int(f, 10, &v, NULL));
    CU_ASSERT_EQUAL(v, 285);
    OK(run_int(f, 0, &v, NULL));
    CU_ASSERT_EQUAL(v, 0);
    OK(run_int(g, 9, &v, NULL));
    CU_ASSERT_EQUAL(v, 285);
    OK(run_int(g, 0, &v, NULL));
    CU_ASSERT_EQUAL(v, 0);
    janus_module_release(m);
}

enum { H = 24 };

/* @tree(n, W, b, x) = n == 0 ? x : tanh((tree(n-1) + tree(n-1)) W + b); x differs by nothing, so
 * rows of a level are equal: the point is how they are batched. */
static janus_module *tree_module(void) {
    static const int64_t hd[2] = {1, H}, wd[2] = {H, H}, bd[1] = {H};
    janus_type ht = {JANUS_KIND_TENSOR, JANUS_F32, 2, hd, NULL};
    janus_type wt = {JANUS_KIND_TENSOR, JANUS_F32, 2, wd, NULL};
    janus_type bt = {JANUS_KIND_TENSOR, JANUS_F32, 1, bd, NULL};
    janus_module *m;
    OK(janus_module_new(&m));
    janus_subgraph *g[3];
    janus_value p[3][4];
    const char *name[3] = {"tree", "leaf", "inner"};
    for (int i = 0; i < 3; i++) {
        g[i] = declare(m, name[i], ht);
        p[i][0] = param(g[i], "n", int_type, false);
        p[i][1] = param(g[i], "W", wt, true);
        p[i][2] = param(g[i], "b", bt, true);
        p[i][3] = param(g[i], "x", ht, true);
    }
    janus_value n = p[0][0], r, l, q;
    janus_value scaled[2] = {p[1][3], p[1][3]};
    OK(janus_build(g[1], "add", scaled, 2, NULL, &l, 1));
    OK(janus_subgraph_define(g[1], &l, 1));
    janus_value down[4] = {op(g[2], "s.sub", p[2][0], int_const(g[2], 1)), p[2][1], p[2][2],
                           p[2][3]};
    OK(janus_build_invoke(g[2], g[0], down, 4, &l, 1));
    OK(janus_build_invoke(g[2], g[0], down, 4, &q, 1));
    janus_value z = op(g[2], "matmul", op(g[2], "add", l, q), p[2][1]);
    r = op1(g[2], "tanh", op(g[2], "add", z, p[2][2]));
    OK(janus_subgraph_define(g[2], &r, 1));
    janus_value cond = op(g[0], "s.eq", n, int_const(g[0], 0));
    OK(janus_build_if(g[0], cond, g[1], g[2], p[0], 4, &r, 1));
    OK(janus_subgraph_define(g[0], &r, 1));
    OK(janus_module_freeze(m));
    return m;
}

static janus_tensor *ramp(int rank, const int64_t *dims, double scale) {
    janus_tensor *t;
    int64_t n = 1;
    OK(janus_tensor_new(JANUS_F32, rank, dims, &t));
    for (int i = 0; i < rank; i++)
        n *= dims[i];
    for (int64_t i = 0; i < n; i++)
        ((float *)janus_tensor_data(t))[i] = (float)(scale * sin((double)(i * 7 + 1)));
    return t;
}

static void run_tree(janus_module *m, int depth, janus_numerics numerics, const char *device,
                     float *out, janus_run_stats *stats) {
    static const int64_t hd[2] = {1, H}, wd[2] = {H, H}, bd[1] = {H};
    janus_tensor *w = ramp(2, wd, 0.3), *b = ramp(1, bd, 0.1), *x = ramp(2, hd, 1);
    janus_arg args[4] = {{.kind = JANUS_KIND_INT, .s.i = depth},
                         {.kind = JANUS_KIND_TENSOR, .t = w},
                         {.kind = JANUS_KIND_TENSOR, .t = b},
                         {.kind = JANUS_KIND_TENSOR, .t = x}},
              result;
    janus_run_options o = JANUS_RUN_OPTIONS_INIT;
    o.numerics = numerics;
    o.device = device;
    OK(janus_run(janus_module_find(m, "tree"), args, 4, &o, &result, 1, stats));
    memcpy(out, janus_tensor_data(result.t), H * sizeof(float));
    janus_tensor_release(result.t);
    janus_tensor_release(w);
    janus_tensor_release(b);
    janus_tensor_release(x);
}

static void rows_of_a_level_run_together(void) {
    janus_module *m = tree_module();
    float fast[H], exact[H], ref[H];
    janus_run_stats s, e;
    for (int depth = 0; depth < 9; depth++) {
        run_tree(m, depth, JANUS_NUMERICS_FAST, "cpu", fast, &s);
        run_tree(m, depth, JANUS_NUMERICS_EXACT, "cpu", exact, &e);
        run_tree(m, depth, JANUS_NUMERICS_FAST, "ref", ref, NULL);
        for (int i = 0; i < H; i++) {
            CU_ASSERT_DOUBLE_EQUAL(fast[i], exact[i], 1e-5);
            CU_ASSERT_DOUBLE_EQUAL(fast[i], ref[i], 1e-5);
        }
        CU_ASSERT_EQUAL(s.tasks, e.tasks);
        CU_ASSERT_EQUAL(e.batches, e.tasks);
        CU_ASSERT_EQUAL(s.batches, (uint64_t)depth + 1);
    }
    run_tree(m, 14, JANUS_NUMERICS_FAST, "null", fast, &s);
    CU_ASSERT_EQUAL(s.batches, 15);
    janus_module_release(m);
}

typedef struct racer {
    janus_module *m;
    float out[H];
    bool ok;
} racer;

static void *race(void *arg) {
    racer *r = arg;
    float again[H];
    run_tree(r->m, 7, JANUS_NUMERICS_FAST, "cpu", r->out, NULL);
    r->ok = true;
    for (int i = 0; i < 20; i++) {
        run_tree(r->m, 7, JANUS_NUMERICS_FAST, "cpu", again, NULL);
        r->ok &= memcmp(again, r->out, sizeof again) == 0;
    }
    return NULL;
}

static void threads_share_a_module(void) {
    janus_module *m = tree_module();
    pthread_t thread[4];
    racer r[4];
    for (int i = 0; i < 4; i++) {
        r[i].m = m;
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[i], NULL, race, &r[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        CU_ASSERT(r[i].ok);
        CU_ASSERT(memcmp(r[i].out, r[0].out, sizeof r[0].out) == 0);
    }
    janus_module_release(m);
}

static void wrong_arguments_are_named(void) {
    static const int64_t hd[2] = {1, H}, wd[2] = {H, H + 1}, bd[1] = {H};
    janus_module *m = tree_module();
    janus_tensor *w = ramp(2, wd, 1), *b = ramp(1, bd, 1), *x = ramp(2, hd, 1);
    janus_arg args[4] = {{.kind = JANUS_KIND_INT, .s.i = 1},
                         {.kind = JANUS_KIND_TENSOR, .t = w},
                         {.kind = JANUS_KIND_TENSOR, .t = b},
                         {.kind = JANUS_KIND_TENSOR, .t = x}},
              result;
    CU_ASSERT_EQUAL(janus_run(janus_module_find(m, "tree"), args, 4, NULL, &result, 1, NULL),
                    JANUS_SHAPE);
    CU_ASSERT_PTR_NOT_NULL(strstr(janus_last_error()->message, "%W"));
    CU_ASSERT_EQUAL(janus_run(janus_module_find(m, "tree"), args, 3, NULL, &result, 1, NULL),
                    JANUS_INVALID_ARGUMENT);
    janus_tensor_release(w);
    janus_tensor_release(b);
    janus_tensor_release(x);
    janus_module_release(m);
}

/* Numbers of each result of @main(seed, offset), for a run whose generator stands at (seed, 2). */
static uint64_t drawn(const char *text, int64_t seed, int64_t offset, janus_numerics numerics,
                      unsigned n, float out[][9]) {
    janus_module *m;
    janus_arg args[2] = {{.kind = JANUS_KIND_INT, .s.i = seed},
                         {.kind = JANUS_KIND_INT, .s.i = offset}},
              results[4];
    janus_run_options o = JANUS_RUN_OPTIONS_INIT;
    janus_run_stats stats;
    o.rng_seed = 5;
    o.rng_offset = 2;
    o.numerics = numerics;
    OK(janus_module_parse(text, strlen(text), "drawn", &m));
    OK(janus_module_freeze(m));
    OK(janus_run(janus_module_find(m, "main"), args, 2, &o, results, n, &stats));
    for (unsigned i = 0; i < n; i++) {
        memcpy(out[i], janus_tensor_data(results[i].t), sizeof out[i]);
        janus_tensor_release(results[i].t);
    }
    janus_module_release(m);
    return stats.rng_offset;
}

/* A draw whose seed and offset the graph gives is a function of these, and the run's generator
 * stays; it is where the draws that are given none leave it. */
static void draws_with_numbers_of_the_graph(void) {
    static const char *const mixed =
        "module { sub @body(%i: int, %s: int, %o: int, %x: f32[9]) -> (int, int, f32[9]) {\n"
        "%y = uniform _, %s, %o {shape=[9]}\n%one = int 3\n%n = s.add %o, %one\n"
        "return %s, %n, %y }\n"
        "sub @main(%s: int, %o: int) -> (f32[9], f32[9], f32[9], f32[9]) {\n"
        "%a = uniform _, %s, %o {shape=[9]}\n%b = uniform {shape=[9]}\n%k = int 3\n"
        "%p, %q, %c = foreach %k, @body(%s, %o, %a)\n%d = uniform {shape=[9]}\n"
        "return %a, %b, %c, %d } }";
    static const char *const alone =
        "module { sub @main(%s: int, %o: int) -> (f32[9], f32[9], f32[9]) {\n"
        "%a = uniform {shape=[9]}\n%b = uniform {shape=[9]}\n%c = uniform {shape=[9]}\n"
        "return %a, %b, %c } }";
    for (int numerics = 0; numerics < 2; numerics++) {
        float got[4][9], run[3][9], other[4][9];
        CU_ASSERT_EQUAL(drawn(mixed, 5, 2, (janus_numerics)numerics, 4, got), 2 + 3 + 3);
        CU_ASSERT_EQUAL(drawn(alone, 0, 0, (janus_numerics)numerics, 3, run), 2 + 9);
        CU_ASSERT(memcmp(got[0], run[0], sizeof run[0]) == 0);
        CU_ASSERT(memcmp(got[1], run[0], sizeof run[0]) == 0);
        CU_ASSERT(memcmp(got[2], run[2], sizeof run[0]) == 0);
        CU_ASSERT(memcmp(got[3], run[1], sizeof run[0]) == 0);
        drawn(mixed, 6, 2, (janus_numerics)numerics, 4, other);
        CU_ASSERT(memcmp(other[0], run[0], sizeof run[0]) != 0);
        CU_ASSERT(memcmp(other[1], run[0], sizeof run[0]) == 0);
    }
}

JN_TEST_MAIN("exec", {"recursion counts its calls", recursion_counts_its_calls},
             {"a million deep", a_million_deep}, {"overflow is an error", overflow_is_an_error},
             {"loops", loops}, {"rows of a level run together", rows_of_a_level_run_together},
             {"threads share a module", threads_share_a_module},
             {"draws with numbers of the graph", draws_with_numbers_of_the_graph},
             {"wrong arguments are named", wrong_arguments_are_named})
