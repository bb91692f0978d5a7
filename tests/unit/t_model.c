/* Models in C: calls one by one, in batches and from several threads at once agree; calls that are
 * wrong fail and leave nothing behind.  The model is one of tests/fuzz/models: a network of x
 * (f32[2,3]), exported for k = 0.5 and mode = "plain".  tests/py/test_model.py compares with
 * Python.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "exec/model/model.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, CALLS = 40, MAX_CALLS = 70, RESULTS = 8, ARGUMENTS = 3 };

static janus_model *model;

/* Loads it from memory: its files are joined by lines of four dashes. */
static janus_status load(janus_weights *shared, janus_model **out) {
    static char text[1 << 16];
    char path[1024];
    const char *srcdir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/fuzz/models/net.model", srcdir ? srcdir : "..");
    FILE *f = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    char *second = strstr(text, "\n----\n"),
         *third = second ? strstr(second + 6, "\n----\n") : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(third);
    char *weights = third + 6;
    return jn_model_read("net", (jn_bytes){text, (size_t)(second - text)},
                         (jn_bytes){second + 6, (size_t)(third - second - 6)},
                         (jn_bytes){weights, n - (size_t)(weights - text)}, shared, out);
}

static janus_arg input(int seed) {
    float x[6];
    janus_arg a = {.kind = JANUS_KIND_TENSOR};
    for (int i = 0; i < 6; i++)
        x[i] = (float)((seed * 7 + i * 3) % 11) / 5 - 1;
    CU_ASSERT_EQUAL_FATAL(janus_tensor_from_data(JANUS_F32, 2, (int64_t[]){2, 3}, x, &a.t), 0);
    return a;
}

static void release(janus_arg *results, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (results[i].kind == JANUS_KIND_TENSOR)
            janus_tensor_release(results[i].t);
}

/* The first number of the first result, -1000: the call has failed. */
static float first_of(int seed) {
    const char *const names[] = {"x"};
    janus_arg x = input(seed), out[RESULTS];
    float y = -1000;
    if (janus_model_call(model, names, &x, 1, NULL, out, RESULTS, NULL) == JANUS_OK) {
        y = *(float *)janus_tensor_data(out[0].t);
        release(out, RESULTS);
    }
    janus_tensor_release(x.t);
    return y;
}

static void loading(void) { CU_ASSERT_EQUAL_FATAL(load(NULL, &model), JANUS_OK); }

static void names(void) {
    static const char *const results[RESULTS] = {"y",           "parts[0]",    "parts[1][0]",
                                                 "parts[1][1]", "parts[1][2]", "parts[1][3]",
                                                 "parts[1][4]", "parts[1][5]"};
    CU_ASSERT_EQUAL_FATAL(janus_model_arguments(model), ARGUMENTS);
    CU_ASSERT_EQUAL_FATAL(janus_model_results(model), RESULTS);
    CU_ASSERT_STRING_EQUAL(janus_model_argument(model, 1), "k");
    CU_ASSERT_PTR_NULL(janus_model_argument(model, ARGUMENTS));
    CU_ASSERT_EQUAL(janus_model_argument_type(model, 0).rank, 2);
    for (unsigned i = 0; i < RESULTS; i++)
        CU_ASSERT_STRING_EQUAL(janus_model_result(model, i), results[i]);
    CU_ASSERT_EQUAL(janus_model_result_type(model, 3).kind, JANUS_KIND_INT);
    CU_ASSERT_PTR_NOT_NULL(janus_model_weight(model, "self.first.weight"));
    CU_ASSERT_PTR_NULL(janus_model_weight(model, "nothing"));
    int64_t number;
    CU_ASSERT_EQUAL(janus_model_attribute(model, "left", &number), JANUS_NOT_FOUND);
    CU_ASSERT_EQUAL(janus_model_type(model, "Node", &number), JANUS_NOT_FOUND);
}

static void batches(void) {
    static janus_arg in[MAX_CALLS * ARGUMENTS], out[MAX_CALLS * RESULTS + RESULTS];
    for (unsigned n = 0; n <= MAX_CALLS; n += n < 10 ? 1 : 15) {
        const unsigned n_out = RESULTS;
        for (unsigned k = 0; k < n; k++)
            in[k * ARGUMENTS] = input((int)k);
        CU_ASSERT_EQUAL_FATAL(janus_model_batch(model, n, in, ARGUMENTS, NULL, out, n_out, NULL),
                              0);
        for (unsigned k = 0; k < n; k++) {
            float y = *(float *)janus_tensor_data(out[k * n_out].t), want = first_of((int)k);
            CU_ASSERT_DOUBLE_EQUAL(y, want, 1e-5);
            janus_tensor_release(in[k * ARGUMENTS].t);
        }
        release(out, (size_t)n * n_out);
    }
}

static void *calls(void *arg) {
    float *y = arg;
    for (int i = 0; i < CALLS; i++)
        y[i] = first_of(i % 5);
    return NULL;
}

static void threads(void) {
    static float y[THREADS][CALLS];
    pthread_t all[THREADS];
    for (int i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&all[i], NULL, calls, y[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
    for (int k = 0; k < CALLS; k++)
        for (int i = 0; i < THREADS; i++)
            CU_ASSERT_EQUAL(y[i][k], y[0][k % 5]);
    CU_ASSERT(y[0][0] > -1000 && y[0][0] != y[0][1]);
}

static void wrong_calls(void) {
    const char *const right[] = {"x"}, *const twice[] = {"x", "x"}, *const other[] = {"z"};
    const janus_arg x = input(0);
    const janus_arg two[2] = {x, x}, number = {.kind = JANUS_KIND_FLOAT, .s.f = 0.25};
    janus_arg out[RESULTS];
    janus_arg in[2 * ARGUMENTS] = {x};
    CU_ASSERT_EQUAL(janus_model_call(model, twice, two, 2, NULL, out, RESULTS, NULL),
                    JANUS_INVALID_ARGUMENT);
    CU_ASSERT_EQUAL(janus_model_call(model, other, &x, 1, NULL, out, RESULTS, NULL),
                    JANUS_INVALID_ARGUMENT);
    CU_ASSERT_EQUAL(janus_model_call(model, right, &number, 1, NULL, out, RESULTS, NULL),
                    JANUS_INVALID_ARGUMENT);
    CU_ASSERT_EQUAL(janus_model_call(model, right, &x, 1, NULL, out, RESULTS - 1, NULL),
                    JANUS_INVALID_ARGUMENT);
    CU_ASSERT_EQUAL(janus_model_call(model, NULL, NULL, 0, NULL, out, RESULTS, NULL),
                    JANUS_INVALID_ARGUMENT);
    in[1] = number; /* exported for 0.5 */
    CU_ASSERT_EQUAL(janus_model_batch(model, 1, in, ARGUMENTS, NULL, out, RESULTS, NULL),
                    JANUS_INVALID_ARGUMENT);
    CU_ASSERT_EQUAL(janus_model_batch(model, 2, in, ARGUMENTS, NULL, out, RESULTS, NULL),
                    JANUS_INVALID_ARGUMENT);
    janus_tensor_release(x.t);
}

static void shared(void) {
    janus_weights *w;
    janus_model *a, *b;
    CU_ASSERT_EQUAL_FATAL(janus_weights_new(&w), JANUS_OK);
    CU_ASSERT_EQUAL_FATAL(load(w, &a), JANUS_OK);
    uint64_t bytes = janus_weights_bytes(w);
    CU_ASSERT_EQUAL_FATAL(load(w, &b), JANUS_OK);
    CU_ASSERT(bytes > 0 && janus_weights_bytes(w) == bytes);
    CU_ASSERT_PTR_EQUAL(janus_model_weight(a, "self.first.weight"),
                        janus_model_weight(b, "self.first.weight"));
    CU_ASSERT_PTR_NOT_EQUAL(janus_model_weight(a, "self.first.weight"),
                            janus_model_weight(model, "self.first.weight"));
    janus_weights_release(w); /* models hold what they use */
    janus_model_release(a);
    CU_ASSERT_EQUAL(janus_tensor_dims(janus_model_weight(b, "self.first.weight"))[1], 3);
    janus_model_retain(b);
    janus_model_release(b);
    janus_model_release(b);
}

int main(void) {
#ifdef HAVE_CJSON
    static const jn_test_case cases[] = {{"loading", loading},         {"names", names},
                                         {"batches", batches},         {"threads", threads},
                                         {"wrong calls", wrong_calls}, {"shared weights", shared}};
    int failed = jn_test_main("model", cases, sizeof cases / sizeof *cases);
    janus_model_release(model);
    return failed;
#else
    (void)loading, (void)names, (void)batches, (void)threads, (void)wrong_calls, (void)shared;
    puts("built without libcjson");
    return 77;
#endif
}
