/* A small network, built, differentiated and trained from C.
 *
 * The loss is a SubGraph of the data and the weights. janus_value_and_grad() derives a second one
 * that returns the loss and its gradients; each step runs it and subtracts the gradients, in place,
 * from the same memory that the next run reads.
 *
 * The problem: of two numbers in -1..1, is their product positive? No linear model can tell.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <janus.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 128, HIDDEN = 16, STEPS = 400 };

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

static float uniform(void) {
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / (1 << 23) - 1.0f;
}

static janus_tensor *tensor(int64_t rows, int64_t columns, float scale) {
    janus_tensor *t;
    TRY(janus_tensor_new(JANUS_F32, 2, (int64_t[]){rows, columns}, &t));
    float *v = janus_tensor_data(t);
    for (int64_t i = 0; i < rows * columns; i++)
        v[i] = scale * uniform();
    return t;
}

static janus_value param(janus_subgraph *g, const char *name, int64_t rows, int64_t columns) {
    janus_type type = {JANUS_KIND_TENSOR, JANUS_F32, 2, (int64_t[]){rows, columns}, NULL};
    janus_value v;
    TRY(janus_subgraph_param(g, name, &type, false, &v));
    return v;
}

static janus_value op(janus_subgraph *g, const char *name, janus_value a, janus_value b) {
    janus_value in[2] = {a, b}, out;
    TRY(janus_build(g, name, in, 2, NULL, &out, 1));
    return out;
}

static janus_value op1(janus_subgraph *g, const char *name, janus_value a) {
    janus_value out;
    TRY(janus_build(g, name, &a, 1, NULL, &out, 1));
    return out;
}

/* mean((tanh(x w1 + b1) w2 + b2 - y)^2) */
static janus_subgraph *build_loss(janus_module *m) {
    janus_type loss_type = {JANUS_KIND_TENSOR, JANUS_F32, 0, NULL, NULL};
    janus_subgraph *g;
    TRY(janus_subgraph_declare(m, "loss", &loss_type, 1, &g));
    janus_value x = param(g, "x", ROWS, 2), y = param(g, "y", ROWS, 1);
    janus_value w1 = param(g, "w1", 2, HIDDEN), b1 = param(g, "b1", 1, HIDDEN);
    janus_value w2 = param(g, "w2", HIDDEN, 1), b2 = param(g, "b2", 1, 1);
    janus_value h = op1(g, "tanh", op(g, "add", op(g, "matmul", x, w1), b1));
    janus_value d = op(g, "sub", op(g, "add", op(g, "matmul", h, w2), b2), y);
    janus_value loss = op1(g, "mean", op(g, "mul", d, d));
    TRY(janus_subgraph_define(g, &loss, 1));
    return g;
}

int main(void) {
    janus_module *m;
    TRY(janus_module_new(&m));
    janus_subgraph *step;
    static const unsigned weights[] = {2, 3, 4, 5};
    TRY(janus_value_and_grad(build_loss(m), "step", weights, 4, &step));
    TRY(janus_module_freeze(m));

    janus_tensor *t[6] = {tensor(ROWS, 2, 1),      tensor(ROWS, 1, 0),      tensor(2, HIDDEN, 1),
                          tensor(1, HIDDEN, 0.1f), tensor(HIDDEN, 1, 0.5f), tensor(1, 1, 0)};
    const float *x = janus_tensor_data(t[0]);
    float *y = janus_tensor_data(t[1]);
    for (int i = 0; i < ROWS; i++)
        y[i] = x[2 * i] * x[2 * i + 1] > 0 ? 1 : -1;

    janus_arg args[6], results[5];
    for (int i = 0; i < 6; i++)
        args[i] = (janus_arg){.kind = JANUS_KIND_TENSOR, .t = t[i]};
    float first = 0, loss = 0;
    for (int k = 0; k <= STEPS; k++) {
        TRY(janus_run(step, args, 6, NULL, results, 5, NULL));
        loss = *(float *)janus_tensor_data(results[0].t);
        first = k ? first : loss;
        if (k % 100 == 0)
            printf("step %3d  loss %.3f\n", k, loss);
        for (int i = 0; i < 4; i++) {
            float *w = janus_tensor_data(t[2 + i]);
            const float *g = janus_tensor_data(results[1 + i].t);
            const int64_t *dims = janus_tensor_dims(t[2 + i]);
            for (int64_t j = 0; j < dims[0] * dims[1]; j++)
                w[j] -= 0.2f * g[j];
        }
        for (int i = 0; i < 5; i++)
            janus_tensor_release(results[i].t);
    }
    for (int i = 0; i < 6; i++)
        janus_tensor_release(t[i]);
    janus_module_release(m);
    bool learned = loss < 0.3f * first;
    printf("%s\n", learned ? "learned" : "did not learn");
    return !learned;
}
