/* A recursive network over trees that live in this program's own structs.
 *
 * The graph reads the trees through janus_host_ops: it asks a node for its length and its children
 * and recurses, so the shape of the computation is the shape of the data. The graph is written in
 * the text form here; examples of the builder are in fib.c and mlp.c. Recursion is over the
 * SubGraph
 * @tree; its weights are shared parameters, so their gradients are sums over all nodes of all
 * trees.
 *
 * The problem: words have a hidden sign; a tree's label is the sign of the sum over its leaves.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <janus.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 20, HIDDEN = 8, TREES = 40, EPOCHS = 60 };

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

/* ---- the program's data ------------------------------------------------------------------------
 */

typedef struct node {
    struct node *child[2]; /* NULL: a leaf */
    int64_t word;
    double label; /* of roots */
} node;

typedef struct forest {
    node *tree[TREES];
} forest;

enum { KEY_WORD = 1, KEY_LABEL = 2 }; /* what `key` means to get_attr below */

static uint32_t random_below(uint32_t n) {
    static uint32_t state = 7;
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

static node *grow(int leaves, int *sum) {
    node *n = calloc(1, sizeof *n);
    if (!n)
        exit(1);
    if (leaves == 1) {
        n->word = random_below(WORDS);
        *sum += n->word % 2 ? 1 : -1;
        return n;
    }
    int left = 1 + (int)random_below((uint32_t)leaves - 1);
    n->child[0] = grow(left, sum);
    n->child[1] = grow(leaves - left, sum);
    return n;
}

static void cut(node *n) {
    if (n) {
        cut(n->child[0]);
        cut(n->child[1]);
        free(n);
    }
}

/* ---- how the graph reads it --------------------------------------------------------------------
 */

static janus_status get_attr(void *ctx, janus_object o, int64_t key, janus_host_value *out) {
    (void)ctx;
    const node *n = o;
    if (key == KEY_WORD) {
        out->kind = JANUS_KIND_INT;
        out->s.i = n->word;
    } else {
        out->kind = JANUS_KIND_FLOAT;
        out->s.f = n->label;
    }
    return JANUS_OK;
}

static janus_status get_item(void *ctx, janus_object o, int64_t index, janus_host_value *out) {
    out->kind = JANUS_KIND_OBJECT;
    if (o == ctx) /* the forest */
        out->o = ((forest *)o)->tree[index];
    else
        out->o = ((node *)o)->child[index];
    return JANUS_OK;
}

static janus_status length(void *ctx, janus_object o, int64_t *out) {
    if (o == ctx)
        *out = TREES;
    else
        *out = ((node *)o)->child[0] ? 2 : 0;
    return JANUS_OK;
}

/* ---- the graph ---------------------------------------------------------------------------------
 */

static const char text[] =
    "module {\n"
    "  sub @leaf(%n: object, shared %words: f32[20,8], shared %u: f32[8,8], shared %v: f32[8,8])"
    "      -> f32[1,8] {\n"
    "    %word = host.attr %n {key=1}\n"
    "    %i = host.unbox %word {kind=2}\n"
    "    %scalar = scalar_tensor %i {dtype=i64}\n"
    "    %index = unsqueeze %scalar {axis=0}\n"
    "    %h = embedding %words, %index\n"
    "    return %h\n"
    "  }\n"
    "  sub @inner(%n: object, shared %words: f32[20,8], shared %u: f32[8,8], shared %v: f32[8,8])"
    "      -> f32[1,8] {\n"
    "    %zero = int 0\n"
    "    %one = int 1\n"
    "    %left = host.item %n, %zero\n"
    "    %right = host.item %n, %one\n"
    "    %l = invoke @tree(%left, %words, %u, %v)\n"
    "    %r = invoke @tree(%right, %words, %u, %v)\n"
    "    %lu = matmul %l, %u\n"
    "    %rv = matmul %r, %v\n"
    "    %z = add %lu, %rv\n"
    "    %h = tanh %z\n"
    "    return %h\n"
    "  }\n"
    "  sub @tree(%n: object, shared %words: f32[20,8], shared %u: f32[8,8], shared %v: f32[8,8])"
    "      -> f32[1,8] {\n"
    "    %children = host.len %n\n"
    "    %zero = int 0\n"
    "    %inner = s.gt %children, %zero\n"
    "    %h = if %inner, @inner, @leaf(%n, %words, %u, %v)\n"
    "    return %h\n"
    "  }\n"
    "  sub @add_loss(%k: int, %sum: f32[1,1], shared %forest: object, shared %words: f32[20,8],"
    " shared %u: f32[8,8], shared %v: f32[8,8], shared %out: f32[8,1]) -> f32[1,1] "
    "{\n"
    "    %root = host.item %forest, %k\n"
    "    %h = invoke @tree(%root, %words, %u, %v)\n"
    "    %logit = matmul %h, %out\n"
    "    %attr = host.attr %root {key=2}\n"
    "    %label = host.unbox %attr {kind=3}\n"
    "    %y = scalar_tensor %label {dtype=f32}\n"
    "    %margin = mul %logit, %y\n"
    "    %minus = neg %margin\n"
    "    %loss = softplus %minus\n"
    "    %total = add %sum, %loss\n"
    "    return %total\n"
    "  }\n"
    "  sub @loss(%forest: object, %zero: f32[1,1], %words: f32[20,8], %u: f32[8,8], %v: f32[8,8],"
    " %out: f32[8,1]) -> f32[1,1] {\n"
    "    %n = host.len %forest\n"
    "    %sum = foreach %n, @add_loss(%zero, %forest, %words, %u, %v, %out)\n"
    "    return %sum\n"
    "  }\n"
    "}\n";

static janus_tensor *tensor(int64_t rows, int64_t columns, float scale) {
    janus_tensor *t;
    TRY(janus_tensor_new(JANUS_F32, 2, (int64_t[]){rows, columns}, &t));
    float *v = janus_tensor_data(t);
    for (int64_t i = 0; i < rows * columns; i++)
        v[i] = scale * ((float)random_below(2001) / 1000 - 1);
    return t;
}

static float train(const janus_subgraph *step, forest *data) {
    static const janus_host_ops host = {
        .struct_size = sizeof host, .get_attr = get_attr, .get_item = get_item, .length = length};
    janus_run_options options = JANUS_RUN_OPTIONS_INIT;
    options.host = &host;
    options.host_ctx = data;
    janus_tensor *t[5] = {tensor(1, 1, 0), tensor(WORDS, HIDDEN, 0.3f),
                          tensor(HIDDEN, HIDDEN, 0.5f), tensor(HIDDEN, HIDDEN, 0.5f),
                          tensor(HIDDEN, 1, 0.5f)};
    janus_arg args[6] = {{.kind = JANUS_KIND_OBJECT, .o = data}}, results[5];
    janus_run_stats stats;
    float loss = 0;
    for (int i = 0; i < 5; i++)
        args[1 + i] = (janus_arg){.kind = JANUS_KIND_TENSOR, .t = t[i]};
    for (int epoch = 0; epoch <= EPOCHS; epoch++) {
        TRY(janus_run(step, args, 6, &options, results, 5, &stats));
        loss = *(float *)janus_tensor_data(results[0].t) / TREES;
        if (epoch == 0)
            printf("calls: %llu\n", (unsigned long long)stats.invokes);
        if (epoch % 20 == 0)
            printf("epoch %2d  loss %.3f\n", epoch, loss);
        for (int i = 1; i < 5; i++) {
            float *w = janus_tensor_data(t[i]);
            const float *g = janus_tensor_data(results[i].t);
            const int64_t *dims = janus_tensor_dims(t[i]);
            for (int64_t j = 0; j < dims[0] * dims[1]; j++)
                w[j] -= 0.3f / TREES * g[j];
        }
        for (int i = 0; i < 5; i++)
            janus_tensor_release(results[i].t);
    }
    for (int i = 0; i < 5; i++)
        janus_tensor_release(t[i]);
    return loss;
}

int main(void) {
    forest data;
    for (int i = 0; i < TREES; i++) {
        int sum = 0;
        data.tree[i] = grow(3 + 2 * (int)random_below(6), &sum); /* odd: the sum is never 0 */
        data.tree[i]->label = sum > 0 ? 1 : -1;
    }
    janus_module *m;
    janus_subgraph *step;
    static const unsigned weights[] = {2, 3, 4, 5};
    TRY(janus_module_parse(text, strlen(text), "tree_rnn", &m));
    TRY(janus_value_and_grad(janus_module_find(m, "loss"), "step", weights, 4, &step));
    TRY(janus_module_freeze(m));
    bool learned = train(step, &data) < 0.3f;
    printf("%s\n", learned ? "learned" : "did not learn");
    for (int i = 0; i < TREES; i++)
        cut(data.tree[i]);
    janus_module_release(m);
    return !learned;
}
