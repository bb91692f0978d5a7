/* A server of tree classifiers, with no Python in the process.
 *
 *     serve [--port N] [--deadline MS] [--batch N] [--threads N] NAME=FOLDER...
 *
 * Each FOLDER is what samples/serve_tree.py made of a model trained in Python. A request is
 *
 *     POST /models/NAME        {"tree": [[3, 1], 4]}
 *
 * where a number is a leaf with that word and a pair is a node with two children; the answer is
 * {"class": 1, "scores": [...]}. GET /models says what is served.
 *
 * What has come while a batch was computed is the next batch: its trees differ, but the executor
 * runs the nodes that are alike at once. When less than a batch waits and somebody could still ask,
 * it is waited for: for the next request at most as long as computing one takes, since a longer
 * wait costs more than a batch saves, and never beyond the deadline, counted from the first. Models
 * use the same memory for weights that are equal. One thread computes unless
 * --threads says otherwise: threads that wait for each other in every batch cost a loaded machine
 * more than they give it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <janus.h>

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "samples/c/serve/http.h"

enum { MAX_MODELS = 64, MAX_QUEUE = 1024, MAX_NODES = 100000 };

/* ---- trees -------------------------------------------------------------------------------------
 */

typedef struct node {
    struct node *left, *right; /* NULL: a leaf */
    int64_t word;
} node;

typedef struct forest { /* the nodes of one request, in one block */
    node *nodes;
    size_t n, cap;
} forest;

static size_t count(const cJSON *o) {
    size_t n = 1;
    const cJSON *one;
    cJSON_ArrayForEach(one, o) n += count(one);
    return n;
}

/* The tree that JSON says; NULL: it is none.  libcjson bounds how deep it can be. */
static node *grow(forest *f, const cJSON *o) {
    node *n = &f->nodes[f->n++];
    if (cJSON_IsNumber(o) && o->valuedouble == (double)o->valueint) {
        *n = (node){.word = o->valueint};
        return n;
    }
    if (!cJSON_IsArray(o) || cJSON_GetArraySize(o) != 2)
        return NULL;
    n->left = grow(f, o->child);
    n->right = n->left ? grow(f, o->child->next) : NULL;
    return n->right ? n : NULL;
}

/* ---- models ------------------------------------------------------------------------------------
 */

typedef struct served {
    const char *name;
    janus_model *model;
    int64_t left, right, word, node_type; /* how the graph calls them */
} served;

static janus_status get_attr(void *ctx, janus_object o, int64_t key, janus_host_value *out) {
    const served *s = ctx;
    const node *n = o;
    *out = (janus_host_value){.kind = JANUS_KIND_NONE};
    if (key == s->word) {
        out->kind = JANUS_KIND_INT;
        out->s.i = n->word;
    } else if (n->left && (key == s->left || key == s->right)) {
        out->kind = JANUS_KIND_OBJECT;
        out->o = key == s->left ? n->left : n->right;
    }
    return JANUS_OK;
}

static janus_status type_of(void *ctx, janus_object o, int64_t *out) {
    (void)o;
    *out = ((const served *)ctx)->node_type;
    return JANUS_OK;
}

static const janus_host_ops host = {
    .struct_size = sizeof host, .get_attr = get_attr, .type_of = type_of};

static bool load(served *s, const char *folder, janus_weights *weights) {
    if (janus_module_load(folder, weights, &s->model) == JANUS_OK &&
        janus_model_attribute(s->model, "left", &s->left) == JANUS_OK &&
        janus_model_attribute(s->model, "right", &s->right) == JANUS_OK &&
        janus_model_attribute(s->model, "word", &s->word) == JANUS_OK &&
        janus_model_type(s->model, "Node", &s->node_type) == JANUS_OK) {
        if (janus_model_arguments(s->model) == 1 && janus_model_results(s->model) == 1 &&
            janus_model_argument_type(s->model, 0).kind == JANUS_KIND_OBJECT &&
            janus_model_result_type(s->model, 0).kind == JANUS_KIND_TENSOR &&
            janus_model_result_type(s->model, 0).dtype == JANUS_F32)
            return true;
        fprintf(stderr, "%s: not a function of a tree that gives scores\n", folder);
    } else {
        fprintf(stderr, "%s: %s\n", folder, janus_last_error()->message);
    }
    janus_model_release(s->model);
    return false;
}

/* ---- requests ----------------------------------------------------------------------------------
 */

typedef struct request {
    http_peer *peer;
    const served *model;
    forest trees;
    int64_t since; /* ns */
} request;

typedef struct server {
    http_server *http;
    served models[MAX_MODELS];
    unsigned n_models, most;
    int64_t deadline; /* ns */
    int64_t latest;   /* when the last request came */
    int64_t each;     /* how long computing one takes, ns */
    janus_weights *weights;
    request queue[MAX_QUEUE];
    unsigned n_queue;
    uint64_t n_answered, n_refused, n_runs;
} server;

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void answer(http_peer *p, int status, const cJSON *o) {
    char *text = o ? cJSON_PrintUnformatted(o) : NULL;
    if (text)
        http_answer(p, status, text, strlen(text));
    else
        http_answer(p, 500, "{\"error\": \"out of memory\"}", 26);
    cJSON_free(text);
}

static void refuse(server *s, http_peer *p, int status, const char *format, ...) {
    char why[640]; /* more than a janus_error has */
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "error", why);
    s->n_refused++;
    answer(p, status, o);
    cJSON_Delete(o);
}

static void tell(server *s, http_peer *p) {
    cJSON *o = cJSON_CreateObject(), *names = cJSON_AddArrayToObject(o, "models");
    for (unsigned i = 0; i < s->n_models; i++)
        cJSON_AddItemToArray(names, cJSON_CreateString(s->models[i].name));
    cJSON_AddNumberToObject(o, "weight_bytes", (double)janus_weights_bytes(s->weights));
    cJSON_AddNumberToObject(o, "answered", (double)s->n_answered);
    cJSON_AddNumberToObject(o, "refused", (double)s->n_refused);
    cJSON_AddNumberToObject(o, "runs", (double)s->n_runs);
    answer(p, 200, o);
    cJSON_Delete(o);
}

static const served *model_at(const server *s, const char *path) {
    static const char prefix[] = "/models/";
    if (strncmp(path, prefix, sizeof prefix - 1) != 0)
        return NULL;
    for (unsigned i = 0; i < s->n_models; i++)
        if (strcmp(s->models[i].name, path + sizeof prefix - 1) == 0)
            return &s->models[i];
    return NULL;
}

static void handle(void *user, const http_request *r) {
    server *s = user;
    const served *model = model_at(s, r->path);
    request q = {.peer = r->peer, .model = model, .since = now()};
    if (strcmp(r->path, "/models") == 0 && strcmp(r->method, "GET") == 0) {
        tell(s, r->peer);
        return;
    }
    if (!model || strcmp(r->method, "POST") != 0) {
        refuse(s, r->peer, model ? 405 : 404, model ? "a model wants POST" : "no such model");
        return;
    }
    cJSON *o = cJSON_ParseWithLength(r->body, r->n_body);
    const cJSON *tree = cJSON_GetObjectItemCaseSensitive(o, "tree");
    q.trees.cap = tree ? count(tree) : 0;
    if (!tree) {
        refuse(s, r->peer, 400, o ? "there is no \"tree\"" : "not JSON, or nested too deep");
    } else if (q.trees.cap > MAX_NODES || s->n_queue == MAX_QUEUE ||
               !(q.trees.nodes = calloc(q.trees.cap, sizeof *q.trees.nodes))) {
        refuse(s, r->peer, q.trees.cap > MAX_NODES ? 413 : 500, "too much at once");
    } else if (!grow(&q.trees, tree)) {
        refuse(s, r->peer, 400, "a tree is a whole number or a pair of trees");
        free(q.trees.nodes);
    } else {
        s->queue[s->n_queue++] = q;
        s->latest = q.since;
    }
    cJSON_Delete(o);
}

/* ---- batches -----------------------------------------------------------------------------------
 */

static void give(server *s, const request *q, const janus_arg *result) {
    const float *scores = janus_tensor_data(result->t);
    const int64_t *dims = janus_tensor_dims(result->t);
    int64_t n = 1, best = 0;
    cJSON *o = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(o, "scores");
    for (int i = 0; i < janus_tensor_rank(result->t); i++)
        n *= dims[i];
    for (int64_t i = 0; i < n; i++) {
        char text[32];
        best = scores[i] > scores[best] ? i : best;
        snprintf(text, sizeof text, "%.9g", (double)scores[i]); /* reads back as the same float */
        cJSON_AddItemToArray(list, cJSON_CreateRaw(text));
    }
    cJSON_AddNumberToObject(o, "class", (double)best);
    s->n_answered++;
    answer(q->peer, 200, o);
    cJSON_Delete(o);
}

/* Computes requests of one model.  All or none are done: where one is wrong, each is tried alone.
 */
static void compute(server *s, const request *const *q, unsigned n) {
    janus_arg in[JANUS_MODEL_BATCH] = {{0}}, out[JANUS_MODEL_BATCH] = {{0}};
    janus_run_options options = JANUS_RUN_OPTIONS_INIT;
    options.host = &host;
    options.host_ctx = (void *)q[0]->model;
    for (unsigned i = 0; i < n; i++)
        in[i] = (janus_arg){.kind = JANUS_KIND_OBJECT, .o = q[i]->trees.nodes};
    s->n_runs++;
    janus_status st = janus_model_batch(q[0]->model->model, n, in, 1, &options, out, 1, NULL);
    for (unsigned i = 0; i < n; i++) {
        if (st == JANUS_OK) {
            give(s, q[i], &out[i]);
            janus_tensor_release(out[i].t);
        } else if (n > 1) {
            compute(s, &q[i], 1);
        } else {
            refuse(s, q[i]->peer, st == JANUS_NO_MEMORY ? 500 : 400, "%s: %s",
                   janus_status_text(st), janus_last_error()->message);
        }
    }
}

static void run_all(server *s) {
    unsigned n_run = s->n_queue;
    int64_t start = now();
    for (unsigned k = 0; k < s->n_models; k++) {
        const request *same[JANUS_MODEL_BATCH];
        unsigned n = 0;
        for (unsigned i = 0; i < s->n_queue; i++) {
            if (s->queue[i].model != &s->models[k])
                continue;
            same[n++] = &s->queue[i];
            if (n == s->most) {
                compute(s, same, n);
                n = 0;
            }
        }
        if (n)
            compute(s, same, n);
    }
    for (unsigned i = 0; i < s->n_queue; i++)
        free(s->queue[i].trees.nodes);
    s->n_queue = 0;
    if (n_run) /* the mean of the last eight runs or so */
        s->each += ((now() - start) / n_run - s->each) / 8;
}

/* Nanoseconds until what waits must be computed; 0: at once, -1: nothing waits. */
static int64_t patience(const server *s) {
    if (!s->n_queue)
        return -1;
    if (s->n_queue >= s->most || http_idle(s->http) == 0)
        return 0;
    int64_t due = s->queue[0].since + s->deadline, in_vain = s->latest + s->each;
    int64_t left = (due < in_vain ? due : in_vain) - now();
    return left > 0 ? left : 0;
}

/* ---- the program -------------------------------------------------------------------------------
 */

static volatile sig_atomic_t stopped;
static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

static int usage(void) {
    fprintf(stderr,
            "serve [--port N] [--deadline MS] [--batch 1..%d] [--threads N] NAME=FOLDER...\n",
            JANUS_MODEL_BATCH);
    return 2;
}

static int number(const char *text, int least, int most) {
    char *end;
    long v = strtol(text, &end, 10);
    return *end || end == text || v < least || v > most ? -1 : (int)v;
}

static int run(server *s, int port) {
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    s->http = http_open(&port);
    if (!s->http) {
        perror("serve");
        return 1;
    }
    printf("%u models, %" PRIu64 " bytes of weights, listening on 127.0.0.1:%d\n", s->n_models,
           janus_weights_bytes(s->weights), port);
    fflush(stdout);
    while (!stopped) {
        int64_t wait = patience(s);
        if (wait)
            http_wait(s->http, wait, handle, s);
        else
            run_all(s);
    }
    run_all(s);
    http_close(s->http);
    return 0;
}

int main(int argc, char **argv) {
    static server s = {.most = JANUS_MODEL_BATCH, .deadline = 2000000};
    int port = 0, failed = 0, threads = 1;
    if (janus_weights_new(&s.weights) != JANUS_OK)
        return 1;
    for (int i = 1; i < argc && !failed; i++) {
        char *folder = strchr(argv[i], '=');
        int value = argv[i][0] == '-' && i + 1 < argc ? number(argv[i + 1], 0, 65535) : -1;
        if (value >= 0 && strcmp(argv[i], "--port") == 0) {
            port = value;
            i++;
        } else if (value >= 0 && strcmp(argv[i], "--deadline") == 0) {
            s.deadline = (int64_t)value * 1000000;
            i++;
        } else if (value >= 1 && value <= JANUS_MODEL_BATCH && strcmp(argv[i], "--batch") == 0) {
            s.most = (unsigned)value;
            i++;
        } else if (value >= 1 && strcmp(argv[i], "--threads") == 0) {
            threads = value;
            i++;
        } else if (folder && argv[i][0] != '-' && s.n_models < MAX_MODELS) {
            *folder = 0;
            s.models[s.n_models].name = argv[i];
            failed = !load(&s.models[s.n_models], folder + 1, s.weights);
            s.n_models += !failed;
        } else {
            failed = usage();
        }
    }
    if (!failed)
        failed = janus_set_num_threads(threads) != JANUS_OK;
    if (!failed)
        failed = s.n_models ? run(&s, port) : usage();
    for (unsigned i = 0; i < s.n_models; i++)
        janus_model_release(s.models[i].model);
    janus_weights_release(s.weights);
    return failed;
}
