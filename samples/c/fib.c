/* A recursive graph: Fibonacci numbers, built through janus.h.
 *
 *     fib [N]               value, number of calls, cost per call, and CPython's own recursion
 *     fib --depth N         a linear recursion N calls deep
 *
 * The graph has no loop and no stack of its own: a SubGraph is declared, its body invokes it, and
 * the executor keeps a frame per call on the heap, so the depth is bounded by memory only.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <janus.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRY(expr)                                                                                  \
    do {                                                                                           \
        if ((expr) != JANUS_OK)                                                                    \
            fail(#expr);                                                                           \
    } while (0)

static void fail(const char *what) {
    const janus_error *e = janus_last_error();
    fprintf(stderr, "%s: %s: %s\n", what, janus_status_text(e->code), e->message);
    exit(1);
}

/* Wall time. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static janus_value scalar(janus_subgraph *g, const char *op, janus_value a, janus_value b) {
    janus_value in[2] = {a, b}, out;
    TRY(janus_build(g, op, in, 2, NULL, &out, 1));
    return out;
}

static janus_value integer(janus_subgraph *g, int64_t v) {
    janus_value out;
    TRY(janus_build_int(g, v, &out));
    return out;
}

/* A SubGraph from int to int. */
static janus_subgraph *declare(janus_module *m, const char *name, janus_value *n) {
    janus_type int_type = {.kind = JANUS_KIND_INT};
    janus_subgraph *g;
    TRY(janus_subgraph_declare(m, name, &int_type, 1, &g));
    TRY(janus_subgraph_param(g, "n", &int_type, false, n));
    return g;
}

/* @fib(n) = n if n < 2 else fib(n - 1) + fib(n - 2) */
static janus_subgraph *build_fib(janus_module *m) {
    janus_value n, arm_n, a, b, sum, result;
    janus_subgraph *fib = declare(m, "fib", &n);
    janus_subgraph *base = declare(m, "base", &arm_n);
    TRY(janus_subgraph_define(base, &arm_n, 1));
    janus_subgraph *rest = declare(m, "rest", &arm_n);
    janus_value n1 = scalar(rest, "s.sub", arm_n, integer(rest, 1));
    janus_value n2 = scalar(rest, "s.sub", arm_n, integer(rest, 2));
    TRY(janus_build_invoke(rest, fib, &n1, 1, &a, 1));
    TRY(janus_build_invoke(rest, fib, &n2, 1, &b, 1));
    sum = scalar(rest, "s.add", a, b);
    TRY(janus_subgraph_define(rest, &sum, 1));
    janus_value small = scalar(fib, "s.lt", n, integer(fib, 2));
    TRY(janus_build_if(fib, small, base, rest, &n, 1, &result, 1));
    TRY(janus_subgraph_define(fib, &result, 1));
    return fib;
}

/* @depth(n) = 0 if n < 1 else depth(n - 1) + 1 */
static janus_subgraph *build_depth(janus_module *m) {
    janus_value n, arm_n, a, sum, result;
    janus_subgraph *depth = declare(m, "depth", &n);
    janus_subgraph *base = declare(m, "base", &arm_n);
    janus_value zero = integer(base, 0);
    TRY(janus_subgraph_define(base, &zero, 1));
    janus_subgraph *rest = declare(m, "rest", &arm_n);
    janus_value n1 = scalar(rest, "s.sub", arm_n, integer(rest, 1));
    TRY(janus_build_invoke(rest, depth, &n1, 1, &a, 1));
    sum = scalar(rest, "s.add", a, integer(rest, 1));
    TRY(janus_subgraph_define(rest, &sum, 1));
    janus_value end = scalar(depth, "s.lt", n, integer(depth, 1));
    TRY(janus_build_if(depth, end, base, rest, &n, 1, &result, 1));
    TRY(janus_subgraph_define(depth, &result, 1));
    return depth;
}

/* The best of a few runs: others may use the machine. */
static int64_t run(janus_subgraph *g, int64_t n, uint64_t *calls, double *seconds) {
    janus_arg arg = {.kind = JANUS_KIND_INT, .s = {.i = n}}, result;
    janus_run_stats stats;
    double spent = 0;
    *seconds = 1e30;
    for (int i = 0; i < 9 && (i < 3 || spent < 1.5); i++) {
        double start = now();
        TRY(janus_run(g, &arg, 1, NULL, &result, 1, &stats));
        double took = now() - start;
        spent += took;
        if (took < *seconds)
            *seconds = took;
    }
    *calls = stats.invokes;
    return result.s.i;
}

/* Nanoseconds per call of the same recursion in CPython; 0 where there is none. */
static double cpython(int64_t n) {
    char command[512];
    double ns = 0;
    snprintf(command, sizeof command,
             "python3 -c 'import time\n"
             "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
             "def calls(n):\n"
             "    a, b = 1, 1\n"
             "    for _ in range(n): a, b = b, a + b + 1\n"
             "    return a\n"
             "best = 1e9\n"
             "for _ in range(3):\n"
             "    t = time.perf_counter(); fib(%" PRId64 ")\n"
             "    best = min(best, time.perf_counter() - t)\n"
             "print(best / calls(%" PRId64 ") * 1e9)' 2>/dev/null",
             n, n);
    FILE *f = popen(command, "r");
    if (!f)
        return 0;
    if (fscanf(f, "%lf", &ns) != 1)
        ns = 0;
    pclose(f);
    return ns;
}

int main(int argc, char **argv) {
    bool linear = argc > 2 && strcmp(argv[1], "--depth") == 0;
    if (argc > 2 + linear || (argc == 2 && argv[1][0] == '-')) {
        fprintf(stderr, "usage: fib [N] | fib --depth N\n");
        return 2;
    }
    int64_t n = argc > 1 ? strtoll(argv[argc - 1], NULL, 10) : 27;
    janus_module *m;
    TRY(janus_module_new(&m));
    janus_subgraph *g = linear ? build_depth(m) : build_fib(m);
    TRY(janus_module_freeze(m));

    uint64_t calls;
    double seconds;
    int64_t value = run(g, n, &calls, &seconds);
    double ns = seconds / (double)(calls ? calls : 1) * 1e9;
    printf("%s(%" PRId64 ") = %" PRId64 "\n", linear ? "depth" : "fib", n, value);
    printf("calls: %" PRIu64 "\n", calls);
    printf("janus: %.1f ns a call\n", ns);
    if (!linear) {
        double python = cpython(n < 25 ? n : 25);
        if (python > 0)
            printf("CPython: %.1f ns a call, %.2f times as long\n", python, python / ns);
        else
            printf("CPython: not found\n");
    }
    janus_module_release(m);
    return 0;
}
