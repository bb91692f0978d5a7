/* Out of memory: each call fails at its 1st, 2nd, ... allocation until it succeeds; every failure
 * is reported, leaves the output untouched and, at the end, no block behind. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "exec/run/run.h"
#include "graph/base/alloc.h"
#include "graph/draw/draw.h"
#include "graph/ir/ir.h"
#include "graph/passes/passes.h"
#include "graph/text/text.h"
#include "tests/unit/check.h"

static const char program[] = "module {\n"
                              "  sub @fib(%n: int, shared %W: f32[2,2]) -> int {\n"
                              "    %1 = int 2\n"
                              "    %2 = s.lt %n, %1 : bool @\"fib.py\":2:8\n"
                              "    %3 = if %2, @fib.then, @fib.else(%n, %W) : int\n"
                              "    return %3\n"
                              "  }\n"
                              "  sub @fib.then(%n: int, shared %W: f32[2,2]) -> int {\n"
                              "    return %n\n"
                              "  }\n"
                              "  sub @fib.else(%n: int, shared %W: f32[2,2]) -> int {\n"
                              "    %1 = int 1\n"
                              "    %2 = int 1\n"
                              "    %3 = s.add %1, %2\n"
                              "    %4 = s.sub %n, %3 : int\n"
                              "    %5 = invoke @fib(%4, %W) : int\n"
                              "    %6 = invoke @small(%5) : int\n"
                              "    saved %6, frame #5\n"
                              "    return %6\n"
                              "  }\n"
                              "  sub @small(%n: int) -> int {\n"
                              "    %1 = constant {value=f32[2](1.0,2.0)} : f32[2]\n"
                              "    %2 = sum %1 {dims=[0]}\n"
                              "    return %n\n"
                              "  }\n"
                              "}\n";

static janus_module *parsed(void) {
    janus_module *m = NULL;
    CU_ASSERT_EQUAL_FATAL(jn_parse_module(program, sizeof program - 1, "oom", &m), JANUS_OK);
    return m;
}

/* The text a module has, for "nothing changed". */
static char *text_of(const janus_module *m) {
    char *text = NULL;
    CU_ASSERT_EQUAL_FATAL(janus_module_print(m, &text), JANUS_OK);
    return text;
}

typedef janus_status (*step_fn)(janus_module *m);

static janus_status step_parse(janus_module *m) {
    janus_module *other = (janus_module *)-1;
    (void)m;
    janus_status st = jn_parse_module(program, sizeof program - 1, "oom", &other);
    if (st == JANUS_OK)
        jn_module_release(other);
    else
        CU_ASSERT_PTR_EQUAL(other, (janus_module *)-1);
    return st;
}

static janus_status text_step(janus_status (*print)(const janus_module *, char **),
                              const janus_module *m) {
    char *text = (char *)-1;
    janus_status st = print(m, &text);
    if (st == JANUS_OK)
        janus_free(text);
    else
        CU_ASSERT_PTR_EQUAL(text, (char *)-1);
    return st;
}

static janus_status step_print(janus_module *m) { return text_step(janus_module_print, m); }
static janus_status step_dot(janus_module *m) { return text_step(janus_module_dot, m); }
static janus_status step_json(janus_module *m) { return text_step(janus_module_json, m); }

static janus_status step_html(janus_module *m) {
    jn_str s = {0};
    jn_print_html(m, NULL, NULL, &s);
    bool ok = jn_str_ok(&s);
    jn_str_free(&s);
    return ok ? JANUS_OK : jn_error(JANUS_NO_MEMORY, "out of memory");
}

static janus_status step_schedule(janus_module *m) {
    jn_str s = {0};
    janus_status st = jn_module_freeze(m);
    if (st == JANUS_OK)
        st = jn_module_schedule(m, &s);
    jn_str_free(&s);
    return st;
}

static janus_status step_verify(janus_module *m) { return jn_verify_module(m); }
static janus_status step_callgraph(janus_module *m) { return jn_callgraph_compute(m); }

static janus_status step_build(janus_module *m) {
    jn_subgraph *g = jn_module_find(m, "new", 3);
    jn_value out = JN_VALUE_NONE, x;
    jn_type t = jn_scalar_type(JANUS_KIND_INT);
    if (!g)
        JN_TRY(jn_subgraph_declare(m, "new", &g));
    if (!g->params.n)
        JN_TRY(jn_subgraph_add_param(g, "x", &t, false, &x));
    janus_status st = jn_build_scalar(g, JANUS_KIND_INT, (janus_scalar){.i = 3}, (jn_loc){0}, &out);
    CU_ASSERT_EQUAL(st == JANUS_OK, !jn_value_is_none(out));
    return st;
}

/* Walks the failures of one step on one module; a step may change the module only when it works. */
static void walk(step_fn step, bool keeps_module) {
    janus_module *m = parsed();
    char *before = text_of(m);
    int64_t blocks = jn_alloc_live_blocks();
    unsigned failures = 0;
    for (uint64_t n = 1;; n++) {
        jn_alloc_fail_after(n);
        janus_status st = step(m);
        jn_alloc_fail_after(0);
        if (st == JANUS_OK)
            break;
        CU_ASSERT_EQUAL(st, JANUS_NO_MEMORY);
        CU_ASSERT_EQUAL(janus_last_error()->code, JANUS_NO_MEMORY);
        failures++;
        if (keeps_module) {
            char *now = text_of(m);
            CU_ASSERT_STRING_EQUAL(now, before);
            janus_free(now);
            CU_ASSERT_EQUAL(jn_alloc_live_blocks(), blocks);
        }
        CU_ASSERT_FATAL(n < 100000);
    }
    CU_ASSERT(failures > 0);
    janus_free(before);
    jn_module_release(m);
}

static void parsing(void) { walk(step_parse, true); }
static void printing(void) {
    walk(step_print, true);
    walk(step_dot, true);
    walk(step_json, true);
    walk(step_html, true);
}
static void checking(void) { walk(step_callgraph, true); }
static void building(void) { walk(step_build, false); }
static void scheduling(void) { walk(step_schedule, false); }

/* A pass that fails leaves the SubGraph it works on as it was. */
typedef janus_status (*pass_fn)(jn_subgraph *g);
static janus_status inline_small(jn_subgraph *g) { return jn_pass_inline(g, 5); }

static void walk_pass(pass_fn pass) {
    for (uint64_t n = 1, done = 0; !done; n++) {
        janus_module *m = parsed();
        jn_subgraph *g = jn_module_find(m, "fib.else", 8);
        char *before = text_of(m);
        jn_alloc_fail_after(n);
        janus_status st = pass(g);
        jn_alloc_fail_after(0);
        done = st == JANUS_OK;
        char *after = text_of(m);
        CU_ASSERT_EQUAL(!strcmp(before, after), !done);
        CU_ASSERT(done || st == JANUS_NO_MEMORY);
        CU_ASSERT_EQUAL(jn_verify_module(m), JANUS_OK);
        janus_free(before);
        janus_free(after);
        jn_module_release(m);
        CU_ASSERT_FATAL(n < 100000);
    }
}

static void passes(void) {
    walk_pass(jn_pass_fold);
    walk_pass(jn_pass_cse);
    walk_pass(inline_small);
}

static void whole_pipeline(void) {
    for (uint64_t n = 1, done = 0; !done; n++) {
        janus_module *m = parsed();
        jn_alloc_fail_after(n);
        janus_status st = jn_optimize(m);
        jn_alloc_fail_after(0);
        done = st == JANUS_OK;
        CU_ASSERT(done || st == JANUS_NO_MEMORY);
        CU_ASSERT_EQUAL(jn_verify_module(m), JANUS_OK);
        jn_module_release(m);
        CU_ASSERT_FATAL(n < 100000);
    }
}

static void nothing_is_left(void) {
    int64_t before = jn_alloc_live_blocks();
    parsing();
    printing();
    checking();
    building();
    passes();
    whole_pipeline();
    CU_ASSERT_EQUAL(jn_alloc_live_blocks(), before);
    janus_module *m = parsed();
    CU_ASSERT_EQUAL(step_verify(m), JANUS_OK);
    jn_module_release(m);
}

JN_TEST_MAIN("oom", {"parsing", parsing}, {"printing and drawing", printing},
             {"scheduling", scheduling}, {"call graph", checking}, {"building", building},
             {"passes", passes}, {"the whole pipeline", whole_pipeline},
             {"nothing is left", nothing_is_left})
