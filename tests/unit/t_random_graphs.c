/* Random modules: devices against each other, gradients against finite differences.
 *
 * A seed decides everything. Modules are made of small SubGraphs, each calling earlier ones:
 * straight lines, ifs, whiles, foreachs, and recursions over a decreasing int, with a shared weight
 * passed through. On failure the seed is printed and the module written to random-SEED.jir; run one
 * seed again with JANUS_RANDOM_SEED=SEED, more of them with JANUS_RANDOM_COUNT=N.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tests/unit/gradcheck.h"

#include "tests/unit/check.h"

#include <stdarg.h>
#include <stdlib.h>

#define ARGS "%%x: f64[1,2], %%y: f64[1,2], %%n: int, shared %%w: f64[2,2]"
#define RESULTS "(f64[1,2], f64[1,2])"

enum { MAX_SUBS = 8, MAX_VALUES = 48 };

typedef struct maker {
    uint32_t state;
    jn_str text;
    unsigned n_subs;   /* @s0 ... callable by all that follow */
    unsigned n_values; /* of the body being written: %v0 ... */
    const char *count; /* the int that a body hands on */
} maker;

static unsigned below(maker *m, unsigned n) {
    m->state = m->state * 1664525u + 1013904223u;
    return (m->state >> 8) % n;
}

__attribute__((format(printf, 2, 3))) static void put(maker *m, const char *fmt, ...) {
    char line[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    jn_str_append(&m->text, line);
}

/* Parameters count as values: %v0 is %x, %v1 is %y. */
static const char *value(maker *m, char *room) {
    unsigned i = below(m, m->n_values + 2);
    if (i < 2)
        return i ? "%y" : "%x";
    sprintf(room, "%%v%u", i - 2);
    return room;
}

static void call(maker *m, const char *how, const char *weight) {
    char a[16], b[16];
    const char *x = value(m, a), *y = value(m, b);
    put(m, "    %%v%u, %%v%u = %s(%s, %s, %s, %s)\n", m->n_values, m->n_values + 1, how, x, y,
        m->count, weight);
    m->n_values += 2;
}

static void statement(maker *m, const char *self) {
    static const char *const unary[] = {"tanh", "sin", "sigmoid", "neg"};
    static const char *const binary[] = {"add", "sub", "mul"};
    char a[16], b[16], how[64];
    unsigned v = m->n_values, kind = below(m, 10);
    if (m->n_subs == 0 && kind >= 7)
        kind -= 7;
    if (kind < 3) {
        const char *x = value(m, a);
        put(m, "    %%v%u = %s %s\n", v, unary[below(m, 4)], x);
        m->n_values++;
    } else if (kind < 5) {
        const char *x = value(m, a), *y = value(m, b);
        put(m, "    %%v%u = %s %s, %s\n", v, binary[below(m, 3)], x, y);
        m->n_values++;
    } else if (kind < 7) {
        const char *x = value(m, a);
        put(m, "    %%p%u = matmul %s, %%w\n    %%v%u = tanh %%p%u\n", v, x, v, v);
        m->n_values++;
    } else if (kind == 7 && self) {
        sprintf(how, "invoke %s", self);
        call(m, how, "%w");
    } else if (kind == 8) {
        put(m, "    %%k%u = int %u\n    %%c%u = s.gt %s, %%k%u\n", v, below(m, 3), v, m->count, v);
        sprintf(how, "if %%c%u, @s%u, @s%u", v, below(m, m->n_subs), below(m, m->n_subs));
        call(m, how, "%w");
    } else {
        bool other = below(m, 3) == 0; /* not the caller's own weight */
        if (other)
            put(m, "    %%u%u = sin %%w\n", v);
        sprintf(b, "%%u%u", v);
        sprintf(how, "invoke @s%u", below(m, m->n_subs));
        call(m, how, other ? b : "%w");
    }
}

static void body(maker *m, const char *self, unsigned statements) {
    m->n_values = 0;
    for (unsigned i = 0; i < statements; i++)
        statement(m, self);
}

/* Mostly what was computed last. */
static void finish(maker *m, const char *more) {
    char a[16], b[16];
    const char *x = value(m, a), *y = value(m, b);
    if (m->n_values && below(m, 4)) {
        sprintf(a, "%%v%u", m->n_values - 1);
        x = a;
    }
    put(m, "    return %s, %s%s\n  }\n", x, y, more);
}

static void make_line(maker *m, unsigned s) {
    put(m, "  sub @s%u(" ARGS ") -> " RESULTS " {\n", s);
    m->count = "%n";
    body(m, NULL, 1 + below(m, 4));
    finish(m, "");
}

static void make_recursion(maker *m, unsigned s) {
    char self[16];
    sprintf(self, "@s%u", s);
    put(m, "  sub @stop%u(" ARGS ") -> " RESULTS " {\n", s);
    m->count = "%n";
    body(m, NULL, below(m, 2));
    finish(m, "");
    put(m,
        "  sub @go%u(" ARGS ") -> " RESULTS " {\n    %%one = int 1\n    %%m = s.sub %%n, %%one\n",
        s);
    m->count = "%m";
    body(m, self, 1 + below(m, 3));
    char how[32];
    sprintf(how, "invoke %s", self);
    call(m, how, "%w");
    if (below(m, 2))
        statement(m, NULL);
    finish(m, "");
    put(m,
        "  sub @s%u(" ARGS ") -> " RESULTS " {\n    %%zero = int 0\n    %%c = s.gt %%n, %%zero\n"
        "    %%a, %%b = if %%c, @go%u, @stop%u(%%x, %%y, %%n, %%w)\n    return %%a, %%b\n  }\n",
        s, s, s);
}

static void make_foreach(maker *m, unsigned s) {
    put(m,
        "  sub @each%u(%%n: int, %%x: f64[1,2], %%y: f64[1,2], shared %%w: f64[2,2]) -> " RESULTS
        " {\n",
        s);
    m->count = "%n";
    body(m, NULL, 1 + below(m, 3));
    finish(m, "");
    put(m,
        "  sub @s%u(" ARGS ") -> " RESULTS " {\n"
        "    %%a, %%b = foreach %%n, @each%u(%%x, %%y, %%w)\n    return %%a, %%b\n  }\n",
        s, s);
}

static void make_while(maker *m, unsigned s) {
    put(m,
        "  sub @more%u(" ARGS ") -> bool {\n    %%zero = int 0\n    %%c = s.gt %%n, %%zero\n"
        "    return %%c\n  }\n",
        s);
    put(m,
        "  sub @step%u(" ARGS ") -> (f64[1,2], f64[1,2], int) {\n"
        "    %%one = int 1\n    %%m = s.sub %%n, %%one\n",
        s);
    m->count = "%m";
    body(m, NULL, 1 + below(m, 3));
    finish(m, ", %m");
    put(m,
        "  sub @s%u(" ARGS ") -> " RESULTS " {\n"
        "    %%a, %%b, %%m = while @more%u, @step%u(%%x, %%y, %%n, %%w)\n"
        "    return %%a, %%b\n  }\n",
        s, s, s);
}

static void make_module(maker *m, uint32_t seed) {
    static void (*const make[])(maker *, unsigned) = {make_line, make_recursion, make_foreach,
                                                      make_recursion, make_while};
    *m = (maker){.state = seed * 2654435761u + 1};
    unsigned n = 2 + below(m, 3);
    put(m, "module {\n");
    for (unsigned s = 0; s < n; s++) {
        make[s == 0 ? 0 : below(m, 5)](m, s);
        m->n_subs++;
    }
    put(m,
        "  sub @f(%%x: f64[1,2], %%y: f64[1,2], %%n: int, %%w: f64[2,2]) -> f64[] {\n"
        "    %%a, %%b = invoke @s%u(%%x, %%y, %%n, %%w)\n    %%c = mul %%a, %%b\n"
        "    %%d = add %%c, %%a\n    %%e = sum %%d\n    return %%e\n  }\n}\n",
        n - 1);
}

/* ---- checks ------------------------------------------------------------------------------------
 */

static bool results_agree(const jn_subgraph *f, const janus_arg *a, const janus_arg *b,
                          char *message, size_t size) {
    for (unsigned i = 0; i < f->result_types.n; i++) {
        const double *p = janus_tensor_data(a[i].t), *q = janus_tensor_data(b[i].t);
        int64_t n = jn_type_numel(f->result_types.data[i]);
        for (int64_t k = 0; k < n; k++)
            if (!(fabs(p[k] - q[k]) <= 1e-9 * (1 + fabs(p[k])))) {
                snprintf(message, size, "result %u, element %lld: ref %.12g, cpu %.12g", i,
                         (long long)k, p[k], q[k]);
                return false;
            }
    }
    return true;
}

/* The reference device against the CPU, batched and not. */
static bool devices_agree(const jn_subgraph *f, const gradcheck_options *o, char *message,
                          size_t size) {
    gradcheck_args a;
    janus_arg r[3][GRADCHECK_MAX];
    unsigned n = (unsigned)f->result_types.n, done = 0;
    bool ok = gradcheck_make_args(f, o, &a);
    for (; ok && done < 3; done += ok) {
        janus_run_options ro = JANUS_RUN_OPTIONS_INIT;
        ro.device = done ? "cpu" : "ref";
        ro.numerics = done == 2 ? JANUS_NUMERICS_EXACT : JANUS_NUMERICS_FAST;
        ok = janus_run(f, a.arg, a.n, &ro, r[done], n, NULL) == JANUS_OK;
        if (!ok)
            gradcheck_fail(message, size, ro.device);
    }
    ok = ok && results_agree(f, r[0], r[1], message, size) &&
         results_agree(f, r[0], r[2], message, size);
    for (unsigned k = 0; k < done; k++)
        for (unsigned i = 0; i < n; i++)
            janus_tensor_release(r[k][i].t);
    gradcheck_free(&a);
    return ok;
}

static bool same_text_again(janus_module *m, char *message, size_t size) {
    char *first = NULL, *second = NULL;
    janus_module *again = NULL;
    bool ok = janus_module_print(m, &first) == JANUS_OK &&
              janus_module_parse(first, strlen(first), "again", &again) == JANUS_OK &&
              janus_module_print(again, &second) == JANUS_OK;
    if (!ok)
        gradcheck_fail(message, size, "print and parse");
    else if (strcmp(first, second) != 0)
        ok = (snprintf(message, size, "the text of the derived module changes when read"), false);
    janus_free(first);
    janus_free(second);
    janus_module_release(again);
    return ok;
}

static bool check_module(const maker *mk, uint32_t seed, char *message, size_t size) {
    int64_t count = (int64_t)(seed % 4);
    gradcheck_options o = {
        .device = "ref", .ints = &count, .order = seed % 3 ? 1 : 2, .seed = seed};
    janus_module *m = NULL;
    if (janus_module_parse(mk->text.data, mk->text.n, "random", &m) != JANUS_OK)
        return gradcheck_fail(message, size, "parse");
    bool ok = gradcheck(m, &o, message, size);
    for (int k = 0; ok && k < o.order; k++)
        ok = devices_agree(jn_module_find(m, k ? "vg1" : "vg0", 3), &o, message, size);
    ok = ok && same_text_again(m, message, size);
    janus_module_release(m);
    return ok;
}

static void report(const maker *mk, uint32_t seed, const char *message) {
    char name[64];
    snprintf(name, sizeof name, "random-%u.jir", seed);
    FILE *f = fopen(name, "w");
    if (f) {
        fputs(mk->text.data, f);
        fclose(f);
    }
    fprintf(stderr, "JANUS_RANDOM_SEED=%u: %s; module in %s\n", seed, message, name);
}

static void random_modules(void) {
    const char *one = getenv("JANUS_RANDOM_SEED"), *many = getenv("JANUS_RANDOM_COUNT");
    uint32_t first = one ? (uint32_t)strtoul(one, NULL, 10) : 1;
    uint32_t n = one ? 1 : many ? (uint32_t)strtoul(many, NULL, 10) : 40;
    unsigned failed = 0;
    for (uint32_t seed = first; seed < first + n && failed < 5; seed++) {
        maker mk;
        char message[1024] = "";
        make_module(&mk, seed);
        CU_ASSERT_FATAL(jn_str_ok(&mk.text));
        if (!check_module(&mk, seed, message, sizeof message)) {
            report(&mk, seed, message);
            failed++;
        }
        jn_str_free(&mk.text);
    }
    CU_ASSERT_EQUAL(failed, 0);
}

JN_TEST_MAIN("random graphs", {"devices agree, gradients are right", random_modules})
