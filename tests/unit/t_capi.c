/* The public C API when it is used wrongly: handles in the wrong state, what is not there yet, what
 * belongs to others.  tests/py/test_c_null.py gives NULL to every function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "janus.h"
#include "janus_ops.h"
#include "tests/unit/check.h"

#include <string.h>

#define OK(expr) CU_ASSERT_EQUAL_FATAL((expr), JANUS_OK)
#define WRONG(expr) CU_ASSERT_EQUAL((expr), JANUS_INVALID_ARGUMENT)

static const janus_type int_type = {.kind = JANUS_KIND_INT}, bool_type = {.kind = JANUS_KIND_BOOL};
static const int64_t one_dim[1] = {1};
static const janus_type vector = {.kind = JANUS_KIND_TENSOR, .rank = 1, .dims = one_dim};

static janus_module *parsed(const char *text) {
    janus_module *m = NULL;
    OK(janus_module_parse(text, strlen(text), "text", &m));
    return m;
}

static char *printed(const janus_module *m) {
    char *text = NULL;
    OK(janus_module_print(m, &text));
    return text;
}

/* A gradient that cannot be taken, found out after calls were turned into their saving forms and
 * SubGraphs were declared. */
static void failed_gradient(void) {
    janus_module *m = parsed("module {\n"
                             "  sub @f(%x: f32[3], %y: f32[*]) -> f32[] {\n"
                             "    %1 = invoke @g(%x, %y)\n"
                             "    %2 = invoke @h(%1)\n"
                             "    return %2\n"
                             "  }\n"
                             "  sub @g(%x: f32[3], %y: f32[*]) -> f32[*] {\n"
                             "    %1 = matmul %x, %y\n"
                             "    return %1\n"
                             "  }\n"
                             "  sub @h(%x: f32[*]) -> f32[] {\n"
                             "    %1 = sum %x\n"
                             "    return %1\n"
                             "  }\n"
                             "}\n");
    janus_subgraph *f = janus_module_find(m, "f"), *g = NULL;
    char *before = printed(m);
    const unsigned params[1] = {0};
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(janus_value_and_grad(f, "df", params, 1, &g), JANUS_UNSUPPORTED);
        CU_ASSERT_PTR_NULL(g);
        CU_ASSERT_PTR_NULL(janus_module_find(m, "df"));
        char *after = printed(m);
        CU_ASSERT_STRING_EQUAL(after, before);
        janus_free(after);
    }
    OK(janus_module_freeze(m));
    janus_free(before);
    janus_module_release(m);
}

/* After a failure another gradient of the same module can be taken, under the same name. */
static void gradient_after_a_failure(void) {
    janus_module *m = parsed("module {\n"
                             "  sub @f(%x: f32[3], %y: f32[*]) -> f32[] {\n"
                             "    %1 = invoke @h(%x)\n"
                             "    %2 = matmul %x, %y\n"
                             "    %3 = sum %2\n"
                             "    %4 = add %1, %3\n"
                             "    return %4\n"
                             "  }\n"
                             "  sub @k(%x: f32[3]) -> f32[] {\n"
                             "    %1 = invoke @h(%x)\n"
                             "    return %1\n"
                             "  }\n"
                             "  sub @h(%x: f32[*]) -> f32[] {\n"
                             "    %1 = square %x\n"
                             "    %2 = sum %1\n"
                             "    return %2\n"
                             "  }\n"
                             "}\n");
    const unsigned params[1] = {0};
    janus_subgraph *df;
    CU_ASSERT_EQUAL(janus_value_and_grad(janus_module_find(m, "f"), "df", params, 1, &df),
                    JANUS_UNSUPPORTED);
    OK(janus_value_and_grad(janus_module_find(m, "k"), "df", params, 1, &df));
    OK(janus_module_freeze(m));
    const float values[3] = {1, 2, 3};
    const int64_t dims[1] = {3};
    janus_arg in = {.kind = JANUS_KIND_TENSOR}, out[2];
    OK(janus_tensor_from_data(JANUS_F32, 1, dims, values, &in.t));
    OK(janus_run(df, &in, 1, NULL, out, 2, NULL));
    CU_ASSERT_EQUAL(*(float *)janus_tensor_data(out[0].t), 14);
    CU_ASSERT_EQUAL(((float *)janus_tensor_data(out[1].t))[2], 6);
    janus_tensor_release(in.t);
    for (int i = 0; i < 2; i++)
        janus_tensor_release(out[i].t);
    janus_module_release(m);
}

/* A loop whose body is declared only. */
static void gradient_without_bodies(void) {
    janus_module *m;
    janus_subgraph *cond, *body, *f, *g = NULL;
    janus_value n, x, zero, v, in[2], out[2];
    const janus_type both[2] = {int_type, vector};
    const unsigned params[1] = {1};
    OK(janus_module_new(&m));
    OK(janus_subgraph_declare(m, "cond", &bool_type, 1, &cond));
    OK(janus_subgraph_param(cond, "n", &int_type, false, &n));
    OK(janus_subgraph_param(cond, "x", &vector, false, &x));
    OK(janus_build_int(cond, 0, &zero));
    in[0] = n;
    in[1] = zero;
    OK(janus_build(cond, "s.gt", in, 2, NULL, &v, 1));
    OK(janus_subgraph_define(cond, &v, 1));
    OK(janus_subgraph_declare(m, "body", both, 2, &body));
    OK(janus_subgraph_param(body, "n", &int_type, false, &n));
    OK(janus_subgraph_param(body, "x", &vector, false, &x));
    OK(janus_subgraph_declare(m, "f", &vector, 1, &f));
    OK(janus_subgraph_param(f, "n", &int_type, false, &in[0]));
    OK(janus_subgraph_param(f, "x", &vector, false, &in[1]));
    OK(janus_build_while(f, cond, body, in, 2, out, 2));
    WRONG(janus_value_and_grad(f, "df", params, 1, &g));
    OK(janus_subgraph_define(f, &out[1], 1));
    WRONG(janus_value_and_grad(f, "df", params, 1, &g));
    CU_ASSERT_PTR_NULL(g);
    WRONG(janus_module_freeze(m));
    janus_value next[2] = {n, x};
    OK(janus_subgraph_define(body, next, 2));
    OK(janus_value_and_grad(f, "df", params, 1, &g));
    OK(janus_module_freeze(m));
    janus_module_release(m);
}

static void frames_of_others(void) {
    janus_module *m = parsed("module {\n  sub @f(%x: f32[3]) -> f32[3] {\n    return %x\n  }\n}\n");
    janus_module *other;
    janus_subgraph *g;
    janus_value v;
    janus_type frame = {.kind = JANUS_KIND_FRAME, .frame_of = janus_module_find(m, "f")};
    OK(janus_module_new(&other));
    WRONG(janus_subgraph_declare(other, "g", &frame, 1, &g));
    OK(janus_subgraph_declare(other, "g", NULL, 0, &g));
    WRONG(janus_subgraph_param(g, "t", &frame, false, &v));
    frame.frame_of = NULL;
    WRONG(janus_subgraph_param(g, "t", &frame, false, &v));
    janus_value in = {0, 0};
    WRONG(janus_build_invoke(g, janus_module_find(m, "f"), &in, 1, &v, 1));
    janus_module_release(other);
    janus_module_release(m);
}

static void frozen_and_not(void) {
    janus_module *m = parsed("module {\n  sub @f(%n: int) -> int {\n    return %n\n  }\n}\n");
    janus_subgraph *f = janus_module_find(m, "f"), *g;
    janus_value v = {0, 0};
    janus_arg arg = {.kind = JANUS_KIND_INT, .s.i = 7}, result;
    WRONG(janus_run(f, &arg, 1, NULL, &result, 1, NULL));
    WRONG(janus_build_int(f, 1, &v));
    WRONG(janus_subgraph_define(f, &v, 1));
    OK(janus_module_freeze(m));
    OK(janus_module_freeze(m));
    WRONG(janus_module_optimize(m));
    WRONG(janus_subgraph_declare(m, "g", &int_type, 1, &g));
    WRONG(janus_subgraph_param(f, "x", &int_type, false, &v));
    WRONG(janus_build_int(f, 1, &v));
    WRONG(janus_build_invoke(f, f, &v, 1, &v, 1));
    WRONG(janus_subgraph_define(f, &v, 1));
    WRONG(janus_value_and_grad(f, "df", NULL, 0, &g));
    janus_subgraph_at(f, "file", 1, 1);
    OK(janus_run(f, &arg, 1, NULL, &result, 1, NULL));
    CU_ASSERT_EQUAL(result.s.i, 7);
    janus_module_release(m);
}

/* Arguments that are not what the parameters say. */
static void wrong_arguments(void) {
    janus_module *m = parsed("module {\n  sub @f(%n: int, %x: f32[3]) -> (int, f32[3]) {\n"
                             "    %1 = neg %x\n    return %n, %1\n  }\n}\n");
    janus_subgraph *f = janus_module_find(m, "f");
    const int64_t dims[1] = {3};
    janus_tensor *t;
    OK(janus_module_freeze(m));
    OK(janus_tensor_new(JANUS_F32, 1, dims, &t));
    memset(janus_tensor_data(t), 0, 12);
    janus_arg result[2];
    for (int kind = -1; kind < 12; kind++) {
        janus_arg args[2] = {{.kind = JANUS_KIND_INT}, {.kind = JANUS_KIND_TENSOR, .t = t}};
        if (kind != JANUS_KIND_INT) {
            args[0] =
                (janus_arg){.kind = (janus_kind)kind, .t = kind == JANUS_KIND_TENSOR ? t : NULL};
            WRONG(janus_run(f, args, 2, NULL, result, 2, NULL));
        }
        args[0] = (janus_arg){.kind = JANUS_KIND_INT};
        args[1] = (janus_arg){.kind = (janus_kind)kind, .t = NULL};
        WRONG(janus_run(f, args, 2, NULL, result, 2, NULL));
        WRONG(janus_run(f, args, 1, NULL, result, 2, NULL));
        args[1] = (janus_arg){.kind = JANUS_KIND_TENSOR, .t = t};
        WRONG(janus_run(f, args, 2, NULL, result, 1, NULL));
    }
    janus_tensor_release(t);
    janus_module_release(m);
}

/* The last handle of the module goes while it runs. */
static janus_status let_go(void *ctx, janus_object o, int64_t *out) {
    (void)o;
    janus_module_release(*(janus_module **)ctx);
    *out = 3;
    return JANUS_OK;
}

static void module_released_in_a_run(void) {
    janus_module *m = parsed("module {\n  sub @f(%o: object) -> int {\n    %1 = host.len %o\n"
                             "    return %1\n  }\n}\n");
    janus_subgraph *f = janus_module_find(m, "f");
    OK(janus_module_freeze(m));
    janus_host_ops host = {.struct_size = sizeof host, .length = let_go};
    janus_run_options o = JANUS_RUN_OPTIONS_INIT;
    o.host = &host;
    o.host_ctx = &m;
    janus_arg arg = {.kind = JANUS_KIND_OBJECT, .o = &host}, result;
    OK(janus_run(f, &arg, 1, &o, &result, 1, NULL));
    CU_ASSERT_EQUAL(result.s.i, 3);
}

/* Results of more bytes than a size can say. */
static void results_too_large(void) {
    janus_module *m = parsed("module {\n  sub @f(%n: int) -> i64[?] {\n    %1 = int 0\n"
                             "    %2 = int 1\n    %3 = arange %1, %2, %n\n    return %3\n  }\n}\n");
    OK(janus_module_freeze(m));
    const int64_t sizes[] = {INT64_MAX, INT64_C(1) << 62, INT64_C(1) << 61, INT64_C(1) << 46};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        janus_arg n = {.kind = JANUS_KIND_INT, .s.i = sizes[i]}, result;
        CU_ASSERT_EQUAL(janus_run(janus_module_find(m, "f"), &n, 1, NULL, &result, 1, NULL),
                        JANUS_NO_MEMORY);
    }
    janus_module_release(m);
}

/* Lists as attributes without what they are said to have, or far too long. */
static void attributes_without_data(void) {
    janus_module *m;
    janus_subgraph *f;
    janus_value x, y;
    OK(janus_module_new(&m));
    OK(janus_subgraph_declare(m, "f", &vector, 1, &f));
    OK(janus_subgraph_param(f, "x", &vector, false, &x));
    janus_permute_attrs a = {.struct_size = sizeof a, .dims = {NULL, 1}};
    WRONG(janus_build(f, "permute", &x, 1, &a, &y, 1));
    a.dims = (janus_ints){one_dim, SIZE_MAX};
    WRONG(janus_build(f, "permute", &x, 1, &a, &y, 1));
    a.struct_size = 1;
    WRONG(janus_build(f, "permute", &x, 1, &a, &y, 1));
    janus_constant_attrs c = {.struct_size = sizeof c, .value = {JANUS_F32, 1, one_dim, NULL}};
    WRONG(janus_build(f, "constant", NULL, 0, &c, &y, 1));
    c.value.dims = NULL;
    WRONG(janus_build(f, "constant", NULL, 0, &c, &y, 1));
    janus_module_release(m);
}

JN_TEST_MAIN("C API", {"a failed gradient leaves the module as it was", failed_gradient},
             {"a gradient after a failure", gradient_after_a_failure},
             {"gradients before there are bodies", gradient_without_bodies},
             {"frame types of other modules", frames_of_others},
             {"frozen modules and others", frozen_and_not},
             {"arguments of the wrong kind", wrong_arguments},
             {"a module released in its run", module_released_in_a_run},
             {"attributes without data", attributes_without_data},
             {"results too large", results_too_large})
