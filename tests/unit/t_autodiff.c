/* Derived gradients: against finite differences, of first and higher order, and what is derived. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tests/unit/gradcheck.h"

#include "tests/unit/check.h"

#include <stdlib.h>

static janus_module *parse(const char *text) {
    janus_module *m = NULL;
    if (janus_module_parse(text, strlen(text), "test", &m) != JANUS_OK)
        fprintf(stderr, "%s\n", janus_last_error()->message);
    CU_ASSERT_PTR_NOT_NULL(m);
    return m;
}

static void check_on(const char *text, gradcheck_options o) {
    char message[1024] = "";
    janus_module *m = parse(text);
    if (!m)
        return;
    bool ok = gradcheck(m, &o, message, sizeof message);
    if (!ok) {
        char *printed = NULL;
        if (janus_module_print(m, &printed) == JANUS_OK)
            fprintf(stderr, "%s\non %s: %s\n", printed, o.device, message);
        janus_free(printed);
    }
    CU_ASSERT(ok);
    janus_module_release(m);
}

/* On both devices, orders 1 to `order`. */
static void check(const char *text, int order, const int64_t *ints) {
    static const char *const devices[] = {"ref", "cpu"};
    for (int d = 0; d < 2; d++)
        check_on(text, (gradcheck_options){.device = devices[d], .ints = ints, .order = order});
}

static void straight_line(void) {
    check("module { sub @f(%x: f64[2,3], %w: f64[3,4], %b: f64[4]) -> f64[] {\n"
          "  %z = matmul %x, %w\n %a = add %z, %b\n %t = tanh %a\n %s = sum %t\n return %s } }",
          3, NULL);
}

static void value_used_many_times(void) {
    check("module { sub @f(%x: f64[3]) -> f64[] {\n"
          "  %a = mul %x, %x\n %b = mul %a, %x\n %c = add %b, %a\n %d = mul %c, %a\n"
          "  %e = add %d, %x\n %s = sum %e\n return %s } }",
          3, NULL);
}

static void calls_in_a_chain(void) {
    check(
        "module {\n"
        "sub @g(%x: f64[3], %w: f64[3]) -> f64[3] { %a = mul %x, %w\n %t = tanh %a\n return %t }\n"
        "sub @h(%x: f64[3], %w: f64[3]) -> f64[3] { %a = invoke @g(%x, %w)\n %b = invoke @g(%a, "
        "%x)\n"
        "  %c = mul %a, %b\n return %c }\n"
        "sub @f(%x: f64[3], %w: f64[3]) -> f64[] { %a = invoke @h(%x, %w)\n %b = invoke @h(%a, "
        "%w)\n"
        "  %s = sum %b\n return %s } }",
        3, NULL);
}

static const char linear_recursion_text[] =
    "module {\n"
    "sub @stop(%x: f64[3], %n: int, shared %w: f64[3]) -> f64[3] { return %x }\n"
    "sub @go(%x: f64[3], %n: int, shared %w: f64[3]) -> f64[3] {\n"
    "  %one = int 1\n %m = s.sub %n, %one\n %y = invoke @rec(%x, %m, %w)\n"
    "  %a = mul %y, %w\n %b = add %a, %x\n %t = tanh %b\n return %t }\n"
    "sub @rec(%x: f64[3], %n: int, shared %w: f64[3]) -> f64[3] {\n"
    "  %zero = int 0\n %c = s.gt %n, %zero\n %y = if %c, @go, @stop(%x, %n, %w)\n return %y }\n"
    "sub @f(%x: f64[3], %n: int, %w: f64[3]) -> f64[] {\n"
    "  %y = invoke @rec(%x, %n, %w)\n %s = sum %y\n return %s } }";

static void linear_recursion(void) {
    check(linear_recursion_text, 3, (int64_t[]){4});
    check(linear_recursion_text, 2, (int64_t[]){0});
}

static void binary_tree(void) {
    check("module {\n"
          "sub @leaf(%x: f64[3], %n: int, shared %w: f64[3,3]) -> f64[3] {\n"
          "  %t = tanh %x\n return %t }\n"
          "sub @inner(%x: f64[3], %n: int, shared %w: f64[3,3]) -> f64[3] {\n"
          "  %one = int 1\n %m = s.sub %n, %one\n %two = s.sub %m, %one\n"
          "  %l = invoke @tree(%x, %m, %w)\n %r = invoke @tree(%l, %two, %w)\n"
          "  %p = mul %l, %r\n %z = matmul %p, %w\n %t = tanh %z\n return %t }\n"
          "sub @tree(%x: f64[3], %n: int, shared %w: f64[3,3]) -> f64[3] {\n"
          "  %one = int 1\n %c = s.gt %n, %one\n"
          "  %y = if %c, @inner, @leaf(%x, %n, %w)\n return %y }\n"
          "sub @f(%x: f64[3], %n: int, %w: f64[3,3]) -> f64[] {\n"
          "  %y = invoke @tree(%x, %n, %w)\n %s = sum %y\n return %s } }",
          2, (int64_t[]){4});
}

static void mutual_recursion(void) {
    check("module {\n"
          "sub @stop(%x: f64[2], %n: int, shared %w: f64[2]) -> f64[2] { return %x }\n"
          "sub @do_even(%x: f64[2], %n: int, shared %w: f64[2]) -> f64[2] {\n"
          "  %one = int 1\n %m = s.sub %n, %one\n %a = mul %x, %w\n"
          "  %y = invoke @odd(%a, %m, %w)\n %t = sin %y\n return %t }\n"
          "sub @do_odd(%x: f64[2], %n: int, shared %w: f64[2]) -> f64[2] {\n"
          "  %one = int 1\n %m = s.sub %n, %one\n"
          "  %y = invoke @even(%x, %m, %w)\n %z = add %y, %w\n %t = tanh %z\n return %t }\n"
          "sub @even(%x: f64[2], %n: int, shared %w: f64[2]) -> f64[2] {\n"
          "  %zero = int 0\n %c = s.gt %n, %zero\n"
          "  %y = if %c, @do_even, @stop(%x, %n, %w)\n return %y }\n"
          "sub @odd(%x: f64[2], %n: int, shared %w: f64[2]) -> f64[2] {\n"
          "  %zero = int 0\n %c = s.gt %n, %zero\n"
          "  %y = if %c, @do_odd, @stop(%x, %n, %w)\n return %y }\n"
          "sub @f(%x: f64[2], %n: int, %w: f64[2]) -> f64[] {\n"
          "  %y = invoke @even(%x, %n, %w)\n %s = sum %y\n return %s } }",
          2, (int64_t[]){5});
}

/* What an arm and the end of a recursion return is a shared parameter itself. */
static void shared_parameter_returned(void) {
    check("module {\n"
          "sub @stop(%x: f64[3], %n: int, shared %w: f64[3]) -> f64[3] { return %w }\n"
          "sub @go(%x: f64[3], %n: int, shared %w: f64[3]) -> f64[3] {\n"
          "  %one = int 1\n %m = s.sub %n, %one\n %y = invoke @rec(%x, %m, %w)\n"
          "  %a = mul %y, %x\n %t = tanh %a\n return %t }\n"
          "sub @rec(%x: f64[3], %n: int, shared %w: f64[3]) -> f64[3] {\n"
          "  %zero = int 0\n %c = s.gt %n, %zero\n"
          "  %y = if %c, @go, @stop(%x, %n, %w)\n return %y }\n"
          "sub @f(%x: f64[3], %n: int, %w: f64[3]) -> f64[] {\n"
          "  %y = invoke @rec(%x, %n, %w)\n %s = sum %y\n return %s } }",
          2, (int64_t[]){3});
}

/* The arms use different parameters, one of them none that the other uses. */
static const char arms_text[] =
    "module {\n"
    "sub @a(%x: f64[3], %y: f64[3], %z: f64[3]) -> f64[3] { %p = mul %x, %y\n return %p }\n"
    "sub @b(%x: f64[3], %y: f64[3], %z: f64[3]) -> f64[3] { %p = sin %y\n return %p }\n"
    "sub @f(%x: f64[3], %y: f64[3], %z: f64[3], %n: int) -> f64[] {\n"
    "  %zero = int 0\n %c = s.gt %n, %zero\n %r = if %c, @a, @b(%x, %y, %z)\n"
    "  %q = mul %r, %r\n %s = sum %q\n return %s } }";

static void arms_of_an_if(void) {
    check(arms_text, 3, (int64_t[]){1});
    check(arms_text, 3, (int64_t[]){0});
}

static void while_loop(void) {
    check("module {\n"
          "sub @more(%a: f64[2], %b: f64[2], %n: int, shared %w: f64[2]) -> bool {\n"
          "  %zero = int 0\n %c = s.gt %n, %zero\n return %c }\n"
          "sub @step(%a: f64[2], %b: f64[2], %n: int, shared %w: f64[2])"
          " -> (f64[2], f64[2], int) {\n"
          "  %one = int 1\n %m = s.sub %n, %one\n %p = mul %a, %w\n %t = tanh %p\n"
          "  return %b, %t, %m }\n"
          "sub @f(%a: f64[2], %b: f64[2], %n: int, %w: f64[2]) -> f64[] {\n"
          "  %p, %q, %m = while @more, @step(%a, %b, %n, %w)\n %s = sum %p\n return %s } }",
          3, (int64_t[]){5});
}

static const char foreach_text[] =
    "module {\n"
    "sub @step(%i: int, %a: f64[2], shared %xs: f64[4,2], shared %w: f64[2]) -> f64[2] {\n"
    "  %x = select %xs, %i {axis=0}\n %p = mul %a, %w\n %z = add %p, %x\n %t = tanh %z\n"
    "  return %t }\n"
    "sub @f(%a: f64[2], %xs: f64[4,2], %w: f64[2], %n: int) -> f64[] {\n"
    "  %r = foreach %n, @step(%a, %xs, %w)\n %s = sum %r\n return %s } }";

static void foreach_loop(void) {
    check(foreach_text, 3, (int64_t[]){4});
    check(foreach_text, 2, (int64_t[]){0});
}

static void loop_in_recursion(void) {
    check("module {\n"
          "sub @step(%i: int, %a: f64[2], shared %w: f64[2]) -> f64[2] {\n"
          "  %p = mul %a, %w\n %t = sin %p\n return %t }\n"
          "sub @stop(%x: f64[2], %n: int, shared %w: f64[2]) -> f64[2] { return %x }\n"
          "sub @go(%x: f64[2], %n: int, shared %w: f64[2]) -> f64[2] {\n"
          "  %one = int 1\n %m = s.sub %n, %one\n %y = invoke @rec(%x, %m, %w)\n"
          "  %z = foreach %n, @step(%y, %w)\n %a = add %z, %x\n return %a }\n"
          "sub @rec(%x: f64[2], %n: int, shared %w: f64[2]) -> f64[2] {\n"
          "  %zero = int 0\n %c = s.gt %n, %zero\n %y = if %c, @go, @stop(%x, %n, %w)\n"
          "  return %y }\n"
          "sub @f(%x: f64[2], %n: int, %w: f64[2]) -> f64[] {\n"
          "  %y = invoke @rec(%x, %n, %w)\n %s = sum %y\n return %s } }",
          2, (int64_t[]){3});
}

/* A weight goes through an outer recursion's call of an inner one. */
static void shared_through_two_levels(void) {
    check("module {\n"
          "sub @stop1(%x: f64[2], %n: int, shared %w: f64[2]) -> f64[2] { return %x }\n"
          "sub @go1(%x: f64[2], %n: int, shared %w: f64[2]) -> f64[2] {\n"
          "  %one = int 1\n %m = s.sub %n, %one\n %y = invoke @rec1(%x, %m, %w)\n"
          "  %a = mul %y, %w\n return %a }\n"
          "sub @rec1(%x: f64[2], %n: int, shared %w: f64[2]) -> f64[2] {\n"
          "  %zero = int 0\n %c = s.gt %n, %zero\n %y = if %c, @go1, @stop1(%x, %n, %w)\n"
          "  return %y }\n"
          "sub @stop2(%x: f64[2], %n: int, shared %v: f64[2], shared %w: f64[2]) -> f64[2] {\n"
          "  return %x }\n"
          "sub @go2(%x: f64[2], %n: int, shared %v: f64[2], shared %w: f64[2]) -> f64[2] {\n"
          "  %one = int 1\n %m = s.sub %n, %one\n %y = invoke @rec2(%x, %m, %v, %w)\n"
          "  %i = invoke @rec1(%y, %n, %w)\n %u = mul %w, %v\n %j = invoke @rec1(%i, %n, %u)\n"
          "  %t = tanh %j\n return %t }\n"
          "sub @rec2(%x: f64[2], %n: int, shared %v: f64[2], shared %w: f64[2]) -> f64[2] {\n"
          "  %zero = int 0\n %c = s.gt %n, %zero\n %y = if %c, @go2, @stop2(%x, %n, %v, %w)\n"
          "  return %y }\n"
          "sub @f(%x: f64[2], %n: int, %v: f64[2], %w: f64[2]) -> f64[] {\n"
          "  %y = invoke @rec2(%x, %n, %v, %w)\n %s = sum %y\n return %s } }",
          2, (int64_t[]){2});
}

/* One result of the callee is not used, another is used only in some of the calls. */
static void unused_results(void) {
    check("module {\n"
          "sub @g(%x: f64[2], %y: f64[2]) -> (f64[2], f64[2], f64[2]) {\n"
          "  %a = mul %x, %y\n %b = sin %x\n %c = exp %y\n return %a, %b, %c }\n"
          "sub @f(%x: f64[2], %y: f64[2]) -> f64[] {\n"
          "  %a, %b, %c = invoke @g(%x, %y)\n %d, %e, %g = invoke @g(%b, %a)\n"
          "  %h = mul %d, %e\n %s = sum %h\n return %s } }",
          3, NULL);
}

static void no_gradient_path(void) {
    check("module {\n"
          "sub @g(%x: f64[2], %y: f64[2]) -> f64[2] {\n %a = mul %x, %x\n return %a }\n"
          "sub @f(%x: f64[2], %y: f64[2]) -> f64[] {\n"
          "  %a = invoke @g(%x, %y)\n %s = sum %a\n return %s } }",
          2, NULL);
}

static void of_some_parameters(void) {
    static const unsigned only_x[] = {0}, only_w[] = {2};
    for (int d = 0; d < 2; d++) {
        const char *device = d ? "cpu" : "ref";
        check_on(linear_recursion_text, (gradcheck_options){.device = device,
                                                            .ints = (int64_t[]){3},
                                                            .params = only_x,
                                                            .n_params = 1,
                                                            .order = 2});
        check_on(linear_recursion_text, (gradcheck_options){.device = device,
                                                            .ints = (int64_t[]){3},
                                                            .params = only_w,
                                                            .n_params = 1,
                                                            .order = 2});
    }
}

/* ---- what is derived ---------------------------------------------------------------------------
 */

static unsigned count_nodes(const jn_subgraph *g, const char *op) {
    unsigned n = 0;
    for (size_t i = 1; i < g->nodes.n; i++)
        n += strcmp(g->nodes.data[i]->op->name, op) == 0;
    return n;
}

static void members_are_what_rules_read(void) {
    janus_module *m = parse("module { sub @f(%x: f64[3], %y: f64[3]) -> f64[3] {\n"
                            "  %a = add %x, %y\n %t = tanh %a\n %n = neg %t\n return %n } }");
    jn_subgraph *f = jn_module_find(m, "f", 1), *g = NULL;
    CU_ASSERT_EQUAL(jn_grad_subgraph(f, NULL, &g), JANUS_OK);
    CU_ASSERT_EQUAL(jn_verify_module(m), JANUS_OK);
    CU_ASSERT_EQUAL(f->saved.n, 1); /* the result of tanh */
    CU_ASSERT_EQUAL(f->saved.data[0].value.node, 2);
    CU_ASSERT_PTR_EQUAL(f->grad, g);
    CU_ASSERT_PTR_EQUAL(g->primal, f);
    jn_subgraph *again = NULL;
    CU_ASSERT_EQUAL(jn_grad_subgraph(f, NULL, &again), JANUS_OK);
    CU_ASSERT_PTR_EQUAL(again, g);
    janus_module_release(m);
}

static void one_addition_per_contribution(void) {
    janus_module *m = parse(linear_recursion_text);
    jn_subgraph *rec = jn_module_find(m, "rec", 3), *g = NULL;
    CU_ASSERT_EQUAL(jn_grad_subgraph(rec, NULL, &g), JANUS_OK);
    CU_ASSERT_EQUAL(jn_verify_module(m), JANUS_OK);
    const jn_subgraph *go = jn_module_find(m, "go.grad", 7);
    CU_ASSERT_PTR_NOT_NULL_FATAL(go);
    CU_ASSERT_EQUAL(count_nodes(go, "acc.add"), 1);
    CU_ASSERT_EQUAL(count_nodes(go, "acc.new"), 0); /* the recursion hands its own on */
    CU_ASSERT_EQUAL(count_nodes(go, "invoke"), 1);
    janus_module_release(m);
}

static void absent_cotangents(void) {
    janus_module *m = parse("module { sub @f(%x: f64[3], %y: f64[3]) -> (f64[3], f64[3]) {\n"
                            "  %a = tanh %x\n %b = tanh %y\n return %a, %b } }");
    jn_subgraph *f = jn_module_find(m, "f", 1), *all = NULL, *first = NULL;
    CU_ASSERT_EQUAL(jn_grad_subgraph(f, (const bool[]){true, false}, &first), JANUS_OK);
    CU_ASSERT_EQUAL(jn_grad_subgraph(f, NULL, &all), JANUS_OK);
    CU_ASSERT_EQUAL(first->params.n, 2); /* frame, cotangent of the first result */
    CU_ASSERT_EQUAL(all->params.n, 3);
    CU_ASSERT_EQUAL(first->result_types.n, 2);
    CU_ASSERT_EQUAL(first->result_types.data[0]->kind, JANUS_KIND_TENSOR);
    CU_ASSERT_EQUAL(first->result_types.data[1]->kind, JANUS_KIND_NONE);
    CU_ASSERT_EQUAL(jn_verify_module(m), JANUS_OK);
    janus_module_release(m);
}

static void emit_turns_calls_into_saving_ones(void) {
    janus_module *m = parse("module { sub @g(%x: f64[3]) -> f64[3] { %a = tanh %x\n return %a } }");
    jn_subgraph *g = jn_module_find(m, "g", 1), *f = NULL;
    jn_value x, y, z, dx[2], present[2];
    jn_loc loc = {0};
    jn_type t = *g->params.data[0].type;
    CU_ASSERT_EQUAL(jn_subgraph_declare(m, "f", &f), JANUS_OK);
    CU_ASSERT_EQUAL(jn_subgraph_add_param(f, "x", &t, false, &x), JANUS_OK);
    CU_ASSERT_EQUAL(jn_build(f, jn_op_find("invoke", 6), &x, 1, NULL, &g, loc, &y, 1), JANUS_OK);
    CU_ASSERT_EQUAL(jn_build(f, jn_op_find("invoke", 6), &x, 1, NULL, &g, loc, &z, 1), JANUS_OK);
    CU_ASSERT_EQUAL(jn_grad_emit(f, &y, &x, 1, (jn_value[]){x, z}, 2, dx, present), JANUS_OK);
    CU_ASSERT_FALSE(jn_value_is_none(dx[0]));
    CU_ASSERT_TRUE(jn_value_is_none(dx[1])); /* y does not depend on it */
    CU_ASSERT_TRUE(jn_value_is_none(present[0]));
    CU_ASSERT_STRING_EQUAL(f->nodes.data[1]->op->name, "invoke.save");
    CU_ASSERT_STRING_EQUAL(f->nodes.data[2]->op->name, "invoke");
    CU_ASSERT_EQUAL(jn_subgraph_define(f, dx, 1), JANUS_OK);
    CU_ASSERT_EQUAL(jn_verify_module(m), JANUS_OK);
    janus_module_release(m);
}

static void what_cannot_be_differentiated(void) {
    janus_module *m = parse("module { sub @f(%x: f64[3], %n: int) -> f64[3] { return %x } }");
    jn_subgraph *f = jn_module_find(m, "f", 1), *g = NULL, *open = NULL;
    unsigned p0 = 0, p1 = 1, p9 = 9;
    CU_ASSERT_EQUAL(janus_value_and_grad(f, "a", &p0, 1, &g), JANUS_SHAPE);
    CU_ASSERT_EQUAL(jn_subgraph_declare(m, "open", &open), JANUS_OK);
    CU_ASSERT_EQUAL(janus_value_and_grad(open, "b", NULL, 0, &g), JANUS_INVALID_ARGUMENT);
    CU_ASSERT_EQUAL(jn_grad_subgraph(open, NULL, &g), JANUS_INVALID_ARGUMENT);
    janus_module_release(m);
    m = parse("module { sub @f(%x: f64[], %n: int) -> f64[] { return %x } }");
    f = jn_module_find(m, "f", 1);
    CU_ASSERT_EQUAL(janus_value_and_grad(f, "a", &p1, 1, &g), JANUS_DTYPE);
    CU_ASSERT_EQUAL(janus_value_and_grad(f, "b", &p9, 1, &g), JANUS_INVALID_ARGUMENT);
    CU_ASSERT_PTR_NULL(g);
    CU_ASSERT_EQUAL(janus_module_freeze(m), JANUS_OK);
    CU_ASSERT_EQUAL(janus_value_and_grad(f, "c", &p0, 1, &g), JANUS_INVALID_ARGUMENT);
    janus_module_release(m);
}

JN_TEST_MAIN("autodiff", {"straight line", straight_line},
             {"value used many times", value_used_many_times},
             {"calls in a chain", calls_in_a_chain}, {"linear recursion", linear_recursion},
             {"binary tree", binary_tree}, {"mutual recursion", mutual_recursion},
             {"shared parameter returned", shared_parameter_returned},
             {"arms of an if", arms_of_an_if}, {"while", while_loop}, {"foreach", foreach_loop},
             {"loop in a recursion", loop_in_recursion},
             {"shared parameter through two levels", shared_through_two_levels},
             {"unused results", unused_results}, {"no gradient path", no_gradient_path},
             {"of some parameters", of_some_parameters},
             {"members are what rules read", members_are_what_rules_read},
             {"one addition per contribution", one_addition_per_contribution},
             {"absent cotangents", absent_cotangents},
             {"emit turns calls into saving ones", emit_turns_calls_into_saving_ones},
             {"what cannot be differentiated", what_cannot_be_differentiated})
