/* Cost of a recursive call: small classics as graphs of scalars, beside CPython running the same.
 *
 *     bench/recursion [--json FILE]
 *
 * Each is the text of a SubGraph @f from ints to an int. The number of calls is the executor's
 * count. Both sides report their best of several runs; the values must agree.
 *
 * "objects" is a recursion over the caller's own trees, all of it host reads: ns a node, what the
 * callbacks cost that it makes, called one after the other from a C recursion, and what is beyond.
 *
 * Below them is what depth costs: a recursion of tensors forward, a million calls deep, and forward
 * and backward, a hundred thousand, whose value and gradient must be those of a loop.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "include/janus.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct program {
    const char *name;
    unsigned n_args;
    int64_t args[3];
    const char *text, *python;
} program;

static const program programs[] = {
    {"fib",
     1,
     {24},
     "module {\n"
     "sub @small(%n: int) -> int { return %n }\n"
     "sub @rest(%n: int) -> int {\n"
     " %one = int 1\n %two = int 2\n %a = s.sub %n, %one\n %b = s.sub %n, %two\n"
     " %x = invoke @f(%a)\n %y = invoke @f(%b)\n %s = s.add %x, %y\n return %s }\n"
     "sub @f(%n: int) -> int {\n"
     " %two = int 2\n %c = s.lt %n, %two\n %y = if %c, @small, @rest(%n)\n return %y }\n}\n",
     "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\n"},
    {"ackermann",
     2,
     {2, 100},
     "module {\n"
     "sub @zero(%m: int, %n: int) -> int {\n %one = int 1\n %y = s.add %n, %one\n return %y }\n"
     "sub @first(%m: int, %n: int) -> int {\n"
     " %one = int 1\n %a = s.sub %m, %one\n %y = invoke @f(%a, %one)\n return %y }\n"
     "sub @both(%m: int, %n: int) -> int {\n"
     " %one = int 1\n %a = s.sub %m, %one\n %b = s.sub %n, %one\n %i = invoke @f(%m, %b)\n"
     " %y = invoke @f(%a, %i)\n return %y }\n"
     "sub @more(%m: int, %n: int) -> int {\n"
     " %zero = int 0\n %c = s.eq %n, %zero\n %y = if %c, @first, @both(%m, %n)\n return %y }\n"
     "sub @f(%m: int, %n: int) -> int {\n"
     " %zero = int 0\n %c = s.eq %m, %zero\n %y = if %c, @zero, @more(%m, %n)\n return %y }\n}\n",
     "def f(m, n):\n"
     "    if m == 0: return n + 1\n"
     "    if n == 0: return f(m - 1, 1)\n"
     "    return f(m - 1, f(m, n - 1))\n"},
    {"takeuchi",
     3,
     {18, 12, 6},
     "module {\n"
     "sub @end(%x: int, %y: int, %z: int) -> int { return %z }\n"
     "sub @rest(%x: int, %y: int, %z: int) -> int {\n"
     " %one = int 1\n %xm = s.sub %x, %one\n %ym = s.sub %y, %one\n %zm = s.sub %z, %one\n"
     " %a = invoke @f(%xm, %y, %z)\n %b = invoke @f(%ym, %z, %x)\n %c = invoke @f(%zm, %x, %y)\n"
     " %r = invoke @f(%a, %b, %c)\n return %r }\n"
     "sub @f(%x: int, %y: int, %z: int) -> int {\n"
     " %c = s.lt %y, %x\n %r = if %c, @rest, @end(%x, %y, %z)\n return %r }\n}\n",
     "def f(x, y, z):\n"
     "    if not y < x: return z\n"
     "    return f(f(x - 1, y, z), f(y - 1, z, x), f(z - 1, x, y))\n"},
    {"even/odd",
     1,
     {5000},
     "module {\n"
     "sub @yes(%n: int) -> int {\n %one = int 1\n return %one }\n"
     "sub @no(%n: int) -> int {\n %zero = int 0\n return %zero }\n"
     "sub @to_odd(%n: int) -> int {\n"
     " %one = int 1\n %m = s.sub %n, %one\n %y = invoke @odd(%m)\n return %y }\n"
     "sub @to_even(%n: int) -> int {\n"
     " %one = int 1\n %m = s.sub %n, %one\n %y = invoke @f(%m)\n return %y }\n"
     "sub @odd(%n: int) -> int {\n"
     " %zero = int 0\n %c = s.eq %n, %zero\n %y = if %c, @no, @to_even(%n)\n return %y }\n"
     "sub @f(%n: int) -> int {\n"
     " %zero = int 0\n %c = s.eq %n, %zero\n %y = if %c, @yes, @to_odd(%n)\n return %y }\n}\n",
     "def f(n): return 1 if n == 0 else odd(n - 1)\n"
     "def odd(n): return 0 if n == 0 else f(n - 1)\n"},
    {"primes",
     1,
     {2000},
     "module {\n"
     "sub @yes(%n: int, %d: int) -> int {\n %one = int 1\n return %one }\n"
     "sub @no(%n: int, %d: int) -> int {\n %zero = int 0\n return %zero }\n"
     "sub @next(%n: int, %d: int) -> int {\n"
     " %one = int 1\n %e = s.add %d, %one\n %y = invoke @prime(%n, %e)\n return %y }\n"
     "sub @divide(%n: int, %d: int) -> int {\n"
     " %zero = int 0\n %r = s.mod %n, %d\n %c = s.eq %r, %zero\n"
     " %y = if %c, @no, @next(%n, %d)\n return %y }\n"
     "sub @prime(%n: int, %d: int) -> int {\n"
     " %q = s.mul %d, %d\n %c = s.lt %n, %q\n %y = if %c, @yes, @divide(%n, %d)\n return %y }\n"
     "sub @none(%n: int) -> int {\n %zero = int 0\n return %zero }\n"
     "sub @some(%n: int) -> int {\n"
     " %one = int 1\n %two = int 2\n %m = s.sub %n, %one\n %a = invoke @f(%m)\n"
     " %b = invoke @prime(%n, %two)\n %y = s.add %a, %b\n return %y }\n"
     "sub @f(%n: int) -> int {\n"
     " %two = int 2\n %c = s.lt %n, %two\n %y = if %c, @none, @some(%n)\n return %y }\n}\n",
     "def prime(n, d):\n"
     "    if n < d * d: return 1\n"
     "    return 0 if n % d == 0 else prime(n, d + 1)\n"
     "def f(n): return 0 if n < 2 else f(n - 1) + prime(n, 2)\n"},
};
enum { N_PROGRAMS = sizeof programs / sizeof programs[0] };

typedef struct result {
    int64_t value;
    uint64_t calls;
    double ns, python_ns; /* per call; python_ns 0: no CPython */
} result;

static int fail(const program *p) {
    const janus_error *e = janus_last_error();
    fprintf(stderr, "%s: %s: %s\n", p->name, janus_status_text(e->code), e->message);
    return 1;
}

/* Wall time. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A module's second run: the first one compiles it, and of some that had equal arguments the
 * executor keeps what they gave. */
static int second_run(const program *p, double *seconds, janus_arg *out, janus_run_stats *stats) {
    janus_module *m = NULL;
    janus_arg args[3];
    for (unsigned i = 0; i < p->n_args; i++)
        args[i] = (janus_arg){.kind = JANUS_KIND_INT, .s = {.i = p->args[i]}};
    if (janus_module_parse(p->text, strlen(p->text), p->name, &m) != JANUS_OK ||
        janus_module_freeze(m) != JANUS_OK)
        return fail(p);
    const janus_subgraph *f = janus_module_find(m, "f");
    janus_status st = janus_run(f, args, p->n_args, NULL, out, 1, NULL);
    double start = now();
    if (st == JANUS_OK)
        st = janus_run(f, args, p->n_args, NULL, out, 1, stats);
    *seconds = now() - start;
    janus_module_release(m);
    return st == JANUS_OK ? 0 : fail(p);
}

static int measure(const program *p, result *r) {
    janus_arg out;
    janus_run_stats stats = {0};
    double best = 1e30, spent = 0, took = 0;
    while (spent < 0.3) {
        if (second_run(p, &took, &out, &stats))
            return 1;
        spent += took;
        best = took < best ? took : best;
    }
    r->value = out.s.i;
    r->calls = stats.invokes;
    r->ns = best / (double)stats.invokes * 1e9;
    return 0;
}

/* The same in CPython: its best time and its value. */
static int measure_python(const program *p, result *r) {
    char command[2048];
    int n = snprintf(command, sizeof command,
                     "python3 -c 'import sys, time\n"
                     "sys.setrecursionlimit(10**6)\n%sargs = (",
                     p->python);
    for (unsigned i = 0; i < p->n_args; i++)
        n += snprintf(command + n, sizeof command - (size_t)n, "%" PRId64 ",", p->args[i]);
    snprintf(command + n, sizeof command - (size_t)n,
             ")\nbest, spent = 1e9, 0\n"
             "while spent < 0.3:\n"
             "    t = time.perf_counter(); y = f(*args); t = time.perf_counter() - t\n"
             "    best = min(best, t); spent += t\n"
             "print(int(y), best)' 2>/dev/null");
    FILE *pipe = popen(command, "r");
    int64_t value;
    double seconds;
    r->python_ns = 0;
    if (!pipe)
        return 0;
    int got = fscanf(pipe, "%" SCNd64 " %lf", &value, &seconds);
    pclose(pipe);
    if (got != 2)
        return 0;
    if (value != r->value) {
        fprintf(stderr, "%s: the graph gives %" PRId64 ", CPython %" PRId64 "\n", p->name, r->value,
                value);
        return 1;
    }
    r->python_ns = seconds / (double)r->calls * 1e9;
    return 0;
}

/* ---- depth --------------------------------------------------------------------------------------
 */

static const program chain = {
    "chain",
    1,
    {0},
    "module {\n"
    "sub @end(%n: int, %x: f64[], shared %w: f64[]) -> f64[] { return %x }\n"
    "sub @more(%n: int, %x: f64[], shared %w: f64[]) -> f64[] {\n"
    " %one = int 1\n %m = s.sub %n, %one\n %h = invoke @f(%m, %x, %w)\n"
    " %p = mul %h, %w\n %y = sin %p\n return %y }\n"
    "sub @f(%n: int, %x: f64[], shared %w: f64[]) -> f64[] {\n"
    " %zero = int 0\n %c = s.eq %n, %zero\n %y = if %c, @end, @more(%n, %x, %w)\n return %y }\n}\n",
    NULL};
static const double chain_x = 0.5, chain_w = 1.1;

typedef struct depth_row {
    const char *name;
    int64_t depth;
    bool backward;
    double ns; /* per call */
    uint64_t peak_bytes;
} depth_row;
static depth_row depths[] = {{"forward", 1000000, false, 0, 0},
                             {"forward + backward", 100000, true, 0, 0}};
enum { N_DEPTHS = sizeof depths / sizeof depths[0] };

static bool is_near(double a, double b) { return fabs(a - b) <= 1e-9 * (1 + fabs(b)); }

static bool right(const depth_row *d, const janus_arg *out) {
    double h = chain_x, dh = 0;
    for (int64_t i = 0; i < d->depth; i++) {
        double p = h * chain_w;
        dh = cos(p) * (h + chain_w * dh);
        h = sin(p);
    }
    return is_near(*(const double *)janus_tensor_data(out[0].t), h) &&
           (!d->backward || is_near(*(const double *)janus_tensor_data(out[1].t), dh));
}

static int measure_depth(depth_row *d) {
    janus_module *m = NULL;
    janus_tensor *x = NULL, *w = NULL;
    static const unsigned weight = 2;
    if (janus_module_parse(chain.text, strlen(chain.text), chain.name, &m) != JANUS_OK ||
        janus_tensor_from_data(JANUS_F64, 0, NULL, &chain_x, &x) != JANUS_OK ||
        janus_tensor_from_data(JANUS_F64, 0, NULL, &chain_w, &w) != JANUS_OK)
        return fail(&chain);
    janus_subgraph *f = janus_module_find(m, "f");
    if ((d->backward && janus_value_and_grad(f, "step", &weight, 1, &f) != JANUS_OK) ||
        janus_module_freeze(m) != JANUS_OK)
        return fail(&chain);
    janus_arg args[3] = {{.kind = JANUS_KIND_INT, .s = {.i = d->depth}},
                         {.kind = JANUS_KIND_TENSOR, .t = x},
                         {.kind = JANUS_KIND_TENSOR, .t = w}};
    janus_run_stats stats = {0};
    d->ns = 1e30;
    for (int i = 0; i < 3; i++) {
        janus_arg out[2];
        double start = now();
        if (janus_run(f, args, 3, NULL, out, d->backward ? 2 : 1, &stats) != JANUS_OK)
            return fail(&chain);
        double ns = (now() - start) / (double)d->depth * 1e9;
        d->ns = ns < d->ns ? ns : d->ns;
        bool same = right(d, out);
        janus_tensor_release(out[0].t);
        if (d->backward)
            janus_tensor_release(out[1].t);
        if (!same) {
            fprintf(stderr, "%s, %" PRId64 " deep: not what a loop computes\n", d->name, d->depth);
            return 1;
        }
    }
    d->peak_bytes = stats.peak_bytes;
    janus_tensor_release(x);
    janus_tensor_release(w);
    janus_module_release(m);
    return 0;
}

/* ---- objects ------------------------------------------------------------------------------------
 */

typedef struct node {
    int64_t type; /* TYPE_NODE or TYPE_NONE */
    struct node *left, *right;
    int64_t word, label;
} node;
enum { TYPE_NODE = 1, TYPE_NONE = 2, N_NODES = 12289 };
static node no_node = {.type = TYPE_NONE};

static const program visit = {
    "objects",
    1,
    {0},
    "module {\n"
    "sub @leaf(%n: object, %l: object) -> int {\n"
    " %w = host.attr %n {key=2}\n %y = host.unbox %w {kind=2}\n return %y }\n"
    "sub @inner(%n: object, %l: object) -> int {\n"
    " %a = invoke @f(%l)\n %r = host.attr %n {key=1}\n %b = invoke @f(%r)\n %s = s.add %a, %b\n"
    " %k = host.attr %n {key=3}\n %i = host.unbox %k {kind=2}\n %y = s.add %s, %i\n return %y }\n"
    "sub @f(%n: object) -> int {\n"
    " %one = int 1\n %two = int 2\n %t = host.type %n\n %ok = s.eq %t, %one\n"
    " assert %ok {id=0, message=\"a node\"}\n %l = host.attr %n {key=0}\n %u = host.type %l\n"
    " %end = s.eq %u, %two\n %y = if %end, @leaf, @inner(%n, %l)\n return %y }\n}\n",
    NULL};

/* Fields that are no nodes are objects of their own: the addresses of the numbers. */
static janus_status get_attr(void *ctx, janus_object o, int64_t key, janus_host_value *out) {
    node *n = o;
    (void)ctx;
    out->kind = JANUS_KIND_OBJECT;
    out->o = key == 0   ? (void *)n->left
             : key == 1 ? (void *)n->right
             : key == 2 ? (void *)&n->word
                        : (void *)&n->label;
    return JANUS_OK;
}

static janus_status type_of(void *ctx, janus_object o, int64_t *out) {
    (void)ctx;
    *out = ((const node *)o)->type;
    return JANUS_OK;
}

static janus_status unbox(void *ctx, janus_object o, janus_kind want, janus_host_value *out) {
    (void)ctx;
    out->kind = want;
    out->s.i = *(const int64_t *)o;
    return JANUS_OK;
}

static janus_host_ops host_ops = {.struct_size = sizeof(janus_host_ops),
                                  .get_attr = get_attr,
                                  .type_of = type_of,
                                  .unbox = unbox};

static void *read_attr(const janus_host_ops *h, node *n, int64_t key) {
    janus_host_value v;
    h->get_attr(NULL, n, key, &v);
    return v.o;
}

/* The reads of the graph alone. */
static int64_t reads(const janus_host_ops *volatile *h, node *n) {
    janus_host_value v;
    int64_t t, u;
    (*h)->type_of(NULL, n, &t);
    node *l = read_attr(*h, n, 0);
    (*h)->type_of(NULL, l, &u);
    if (u == TYPE_NONE) {
        (*h)->unbox(NULL, read_attr(*h, n, 2), JANUS_KIND_INT, &v);
        return v.s.i;
    }
    int64_t a = reads(h, l), b = reads(h, read_attr(*h, n, 1));
    (*h)->unbox(NULL, read_attr(*h, n, 3), JANUS_KIND_INT, &v);
    return a + b + v.s.i;
}

typedef struct object_row {
    double ns, reads_ns; /* per node */
} object_row;

static int measure_objects(object_row *row) {
    static node nodes[N_NODES];
    const janus_host_ops *volatile h = &host_ops;
    janus_module *m = NULL;
    for (int64_t i = 0; i < N_NODES; i++) /* as a heap lies */
        nodes[i] = (node){TYPE_NODE, 2 * i + 2 < N_NODES ? &nodes[2 * i + 1] : &no_node,
                          2 * i + 2 < N_NODES ? &nodes[2 * i + 2] : &no_node, i % 7, i % 5};
    if (janus_module_parse(visit.text, strlen(visit.text), visit.name, &m) != JANUS_OK ||
        janus_module_freeze(m) != JANUS_OK)
        return fail(&visit);
    janus_run_options options = JANUS_RUN_OPTIONS_INIT;
    options.host = &host_ops;
    *row = (object_row){1e30, 1e30};
    for (int i = 0; i < 300; i++) {
        janus_arg arg = {.kind = JANUS_KIND_OBJECT, .o = &nodes[0]}, out;
        double start = now();
        int64_t want = reads(&h, &nodes[0]);
        double took = (now() - start) / N_NODES * 1e9;
        row->reads_ns = took < row->reads_ns ? took : row->reads_ns;
        start = now();
        if (janus_run(janus_module_find(m, "f"), &arg, 1, &options, &out, 1, NULL) != JANUS_OK)
            return fail(&visit);
        took = (now() - start) / N_NODES * 1e9;
        row->ns = took < row->ns ? took : row->ns;
        if (out.s.i != want) {
            fprintf(stderr, "objects: %" PRId64 ", not %" PRId64 "\n", out.s.i, want);
            return 1;
        }
    }
    janus_module_release(m);
    return 0;
}

static int write_json(const char *path, const result *r, const object_row *objects) {
    FILE *f = fopen(path, "w");
    if (!f) {
        perror(path);
        return 1;
    }
    fprintf(f, "{\"benchmark\": \"recursion\", \"rows\": [");
    for (int i = 0; i < N_PROGRAMS; i++)
        fprintf(f,
                "%s\n  {\"name\": \"%s\", \"calls\": %" PRIu64 ", \"janus_ns\": %.2f, "
                "\"cpython_ns\": %.2f}",
                i ? "," : "", programs[i].name, r[i].calls, r[i].ns, r[i].python_ns);
    fprintf(f,
            ",\n  {\"name\": \"objects\", \"nodes\": %d, \"janus_ns\": %.2f, \"reads_ns\": %.2f}",
            N_NODES, objects->ns, objects->reads_ns);
    for (int i = 0; i < N_DEPTHS; i++)
        fprintf(f,
                ",\n  {\"name\": \"%s\", \"depth\": %" PRId64 ", \"janus_ns\": %.2f, "
                "\"peak_bytes\": %" PRIu64 "}",
                depths[i].name, depths[i].depth, depths[i].ns, depths[i].peak_bytes);
    fprintf(f, "\n]}\n");
    return fclose(f) != 0;
}

int main(int argc, char **argv) {
    result r[N_PROGRAMS];
    if (argc != 1 && (argc != 3 || strcmp(argv[1], "--json") != 0)) {
        fprintf(stderr, "usage: recursion [--json FILE]\n");
        return 2;
    }
    printf("%-10s %10s %12s %14s %7s\n", "", "calls", "janus ns", "CPython ns", "ratio");
    for (int i = 0; i < N_PROGRAMS; i++) {
        if (measure(&programs[i], &r[i]) || measure_python(&programs[i], &r[i]))
            return 1;
        printf("%-10s %10" PRIu64 " %12.1f %14.1f %7.2f\n", programs[i].name, r[i].calls, r[i].ns,
               r[i].python_ns, r[i].python_ns / r[i].ns);
    }
    object_row objects = {0, 0};
    if (measure_objects(&objects))
        return 1;
    printf("\n%-10s %10s %12s %14s %7s\n", "", "nodes", "janus ns", "reads alone", "beyond");
    printf("%-10s %10d %12.1f %14.1f %7.1f\n", "objects", N_NODES, objects.ns, objects.reads_ns,
           objects.ns - objects.reads_ns);
    printf("\n%-20s %10s %12s %14s\n", "tensors", "depth", "ns a call", "bytes a call");
    for (int i = 0; i < N_DEPTHS; i++) {
        depth_row *d = &depths[i];
        if (measure_depth(d))
            return 1;
        printf("%-20s %10" PRId64 " %12.1f %14.1f\n", d->name, d->depth, d->ns,
               (double)d->peak_bytes / (double)d->depth);
    }
    return argc == 3 ? write_json(argv[2], r, &objects) : 0;
}
