/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs on a device that has memory of its own (tests/toy/toy.c): recursion, sums, decisions on
 * tensors, constants, what fails; and the conformance suite's eager calls are run there by
 * tests/toy/conformance.sh. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exec/device/device.h"
#include "exec/eager/eager.h"
#include "janus.h"
#include "tests/toy/toy.h"
#include "tests/unit/check.h"

#define OK(expr) CU_ASSERT_EQUAL_FATAL((expr), JANUS_OK)

static const char trees[] =
    "module {\n"
    "  sub @main(%n: int, %x: f32[2,4], %w: f32[4,4]) -> (f32[2,4], f32[4,4]) {\n"
    "    %a = acc.new %w : acc<f32[4,4]>\n"
    "    %y = invoke @f(%n, %x, %w, %a) : f32[2,4]\n"
    "    %s = acc.get %a : f32[4,4]\n"
    "    return %y, %s\n"
    "  }\n"
    "  sub @f(%n: int, %x: f32[2,4], shared %w: f32[4,4], shared %a: acc<f32[4,4]>) -> f32[2,4] {\n"
    "    %two = int 2\n"
    "    %c = s.lt %n, %two : bool\n"
    "    %y = if %c, @leaf, @node(%n, %x, %w, %a) : f32[2,4]\n"
    "    return %y\n"
    "  }\n"
    "  sub @leaf(%n: int, %x: f32[2,4], shared %w: f32[4,4], shared %a: acc<f32[4,4]>) -> f32[2,4] "
    "{\n"
    "    %k = constant {value=f32[4](0.5,-0.25,0.125,1.0)} : f32[4]\n"
    "    %m = sum %x : f32[]\n"
    "    %zero = scalar_tensor %n {dtype=f32} : f32[]\n"
    "    %less = lt %m, %zero : bool[]\n"
    "    %b = item %less {kind=4} : bool\n"
    "    %y = if %b, @up, @down(%x, %k) : f32[2,4]\n"
    "    return %y\n"
    "  }\n"
    "  sub @up(%x: f32[2,4], %k: f32[4]) -> f32[2,4] {\n"
    "    %y = add %x, %k : f32[2,4]\n"
    "    return %y\n"
    "  }\n"
    "  sub @down(%x: f32[2,4], %k: f32[4]) -> f32[2,4] {\n"
    "    %y = mul %x, %k : f32[2,4]\n"
    "    return %y\n"
    "  }\n"
    "  sub @node(%n: int, %x: f32[2,4], shared %w: f32[4,4], shared %a: acc<f32[4,4]>) -> f32[2,4] "
    "{\n"
    "    %one = int 1\n"
    "    %two = int 2\n"
    "    %i = s.sub %n, %one : int\n"
    "    %j = s.sub %n, %two : int\n"
    "    %l = invoke @f(%i, %x, %w, %a) : f32[2,4]\n"
    "    %h = tanh %l : f32[2,4]\n"
    "    %r = invoke @f(%j, %h, %w, %a) : f32[2,4]\n"
    "    %s = add %h, %r : f32[2,4]\n"
    "    %t = transpose %s {dim0=0, dim1=1} : f32[4,2]\n"
    "    %g = matmul %t, %s : f32[4,4]\n"
    "    acc.add %a, %g\n"
    "    %y = matmul %s, %w : f32[2,4]\n"
    "    return %y\n"
    "  }\n"
    "}\n";

static jn_device *toy;

static void set_up(void) {
    OK(jn_device_open("toy", janus_toy_module(), &toy));
    jn_device_use("toy", toy);
}

static void tear_down(void) {
    size_t free_bytes, total;
    CU_ASSERT_EQUAL(jn_dev_pool_stats(&toy->pool).allocated, 0);
    jn_device_use("toy", NULL);
    jn_device_close(toy);
    janus_toy_module()->api->memory(&free_bytes, &total);
    CU_ASSERT_EQUAL(free_bytes, total);
}

static janus_tensor *tensor(const int64_t *dims, float scale) {
    float data[16];
    janus_tensor *t;
    for (int i = 0; i < 16; i++)
        data[i] = scale * sinf((float)i + scale);
    OK(janus_tensor_from_data(JANUS_F32, 2, dims, data, &t));
    return t;
}

/* The elements of both results, on the host. */
static void run(const char *device, int64_t n, janus_numerics numerics, float *out) {
    janus_module *m;
    janus_run_options options = JANUS_RUN_OPTIONS_INIT;
    options.device = device;
    options.numerics = numerics;
    OK(janus_module_parse(trees, sizeof trees - 1, "trees", &m));
    OK(janus_module_freeze(m));
    janus_arg args[3] = {{.kind = JANUS_KIND_INT, .s.i = n},
                         {.kind = JANUS_KIND_TENSOR, .t = tensor((int64_t[]){2, 4}, 0.75f)},
                         {.kind = JANUS_KIND_TENSOR, .t = tensor((int64_t[]){4, 4}, 0.5f)}};
    for (int again = 0; again < 3; again++) { /* memory of the run before is used */
        janus_arg results[2];
        OK(janus_run(janus_module_find(m, "main"), args, 3, &options, results, 2, NULL));
        float *to = out;
        for (int i = 0; i < 2; i++) {
            janus_tensor *here;
            OK(jn_tensor_to(results[i].t, NULL, false, &here));
            memcpy(to, janus_tensor_data(here), i ? 64 : 32);
            to += 8;
            janus_tensor_release(here);
            janus_tensor_release(results[i].t);
        }
    }
    janus_tensor_release(args[1].t);
    janus_tensor_release(args[2].t);
    janus_module_release(m);
}

static void graphs_give_what_they_give_on_the_host(void) {
    set_up();
    for (int64_t n = 0; n < 9; n++) {
        float exact[24], exact_toy[24], fast[24];
        run("cpu", n, JANUS_NUMERICS_EXACT, exact);
        run("toy", n, JANUS_NUMERICS_EXACT, exact_toy);
        run("toy:0", n, JANUS_NUMERICS_FAST, fast);
        CU_ASSERT_EQUAL(memcmp(exact, exact_toy, sizeof exact), 0);
        for (int i = 0; i < 24; i++)
            CU_ASSERT(fabsf(exact[i] - fast[i]) <= 1e-5f * (1 + fabsf(exact[i])));
    }
    tear_down();
}

static void what_fails_is_told(void) {
    static const char text[] = "module { sub @main(%x: f32[2,4], %i: i64[1]) -> f32[1,4] {\n"
                               "  %y = index_select %x, %i {axis=0} : f32[1,4]\n  return %y\n} }\n";
    janus_module *m;
    janus_run_options options = JANUS_RUN_OPTIONS_INIT;
    set_up();
    OK(janus_module_parse(text, sizeof text - 1, "text", &m));
    OK(janus_module_freeze(m));
    for (int64_t i = 0; i < 4; i++) {
        janus_arg args[2] = {{.kind = JANUS_KIND_TENSOR, .t = tensor((int64_t[]){2, 4}, 1)},
                             {.kind = JANUS_KIND_TENSOR}},
                  result;
        OK(janus_tensor_from_data(JANUS_I64, 1, (int64_t[]){1}, &i, &args[1].t));
        options.device = "toy";
        janus_status st =
            janus_run(janus_module_find(m, "main"), args, 2, &options, &result, 1, NULL);
        CU_ASSERT_EQUAL(st, i < 2 ? JANUS_OK : JANUS_INDEX);
        if (st == JANUS_OK)
            janus_tensor_release(result.t);
        janus_tensor_release(args[0].t);
        janus_tensor_release(args[1].t);
    }
    options.device = "toy:1";
    CU_ASSERT_EQUAL(janus_run(janus_module_find(m, "main"), NULL, 0, &options, NULL, 0, NULL),
                    JANUS_UNSUPPORTED);
    CU_ASSERT_STRING_EQUAL(janus_last_error()->message,
                           "device \"toy:1\": only the first TOY device is used");
    options.device = "toys";
    CU_ASSERT_EQUAL(janus_run(janus_module_find(m, "main"), NULL, 0, &options, NULL, 0, NULL),
                    JANUS_NOT_FOUND);
    janus_module_release(m);
    tear_down();
}

JN_TEST_MAIN("toy",
             {"graphs give what they give on the host", graphs_give_what_they_give_on_the_host},
             {"what fails is told", what_fails_is_told})
