/* Fuzzing ops: random nodes with random types, shapes and attributes, and what follows from them.
 *
 * A seed decides everything.  Of each the module @f has one to three nodes, made of a sample of
 * tests/conformance with its types and attributes changed, or at random after the op's row.  What
 * the builder takes is verified, optimised, differentiated and run (exercise.h), and the last op
 * is run as an eager call too.
 *
 *     fuzz_ops [--seconds S] [--seed FIRST] [--seeds N] [--op NAME] [--print]
 *
 * Seeds run in child processes, so that a crash is one line and the others go on; --print runs one
 * in this process and shows its module.  JANUS_FUZZ_SECONDS: S where none is given.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exec/eager/eager.h"
#include "graph/text/text.h"
#include "ops/attrs.h"
#include "tests/conformance/samples.h"
#include "tests/fuzz/exercise.h"

enum { MAX_ARGS = 24, MAX_NODES = 3, MAX_OUT = 12, STUCK_SECONDS = 60, SEEDS_A_CHILD = 400 };
enum { MOST_ELEMENTS = 1 << 16, MOST_RESULT = 1 << 20 }; /* of arguments, of results */

/* An operand to be: what it is, and where from. */
typedef struct operand {
    uint8_t kind, dtype; /* kind: NONE where it is absent */
    int rank;
    int64_t dims[JN_MAX_RANK];
    janus_scalar s;
} operand;

typedef struct maker {
    fuzz_rng rng;
    const jn_op *only;
    tape samples; /* memory of samples and attributes */
    janus_module *m;
    jn_subgraph *f;
    janus_arg args[MAX_ARGS];
    unsigned n_args;
    jn_value made[MAX_OUT];
    unsigned n_made;
    /* the last node, for the eager call */
    const jn_op *op;
    const void *attrs;
    operand in[MAX_ARGS];
    unsigned n_in;
} maker;

static unsigned below(maker *k, unsigned n) { return fuzz_below(&k->rng, n); }
static bool once_in(maker *k, unsigned n) { return fuzz_once_in(&k->rng, n); }

/* ---- ops and attributes -----------------------------------------------------------------------
 */

static bool suits(const jn_op *op) {
    return op->role == JN_ROLE_COMPUTE || op->role == JN_ROLE_SCALAR || op->role == JN_ROLE_CONST ||
           op->role == JN_ROLE_RNG;
}

static int64_t odd_number(maker *k, const jn_attr_spec *a) {
    const int64_t numbers[] = {0,         1,         2,         3,         -1,
                               -2,        7,         100,       a->lo,     a->hi,
                               INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_C(1) << 62,
                               -5,        1 << 16,   1 << 20,   1LL << 33, (1LL << 31) + 1};
    unsigned n = sizeof numbers / sizeof *numbers;
    return once_in(k, 3) ? numbers[below(k, n)] : numbers[below(k, 7)];
}

static void change_attr(maker *k, const jn_attr_spec *a, char *attrs) {
    static const double floats[] = {0.0,  1.0,  -1.0, 0.5,      1e-5,
                                    1e30, -3.5, NAN,  INFINITY, -INFINITY};
    char *at = attrs + a->offset;
    janus_ints list;
    int64_t *copy;
    switch (a->kind) {
    case JN_ATTR_INT:
        *(int64_t *)at = odd_number(k, a);
        return;
    case JN_ATTR_BOOL:
        *(int64_t *)at = below(k, 2);
        return;
    case JN_ATTR_DTYPE:
        *(int64_t *)at = (int64_t)below(k, JANUS_DTYPE_COUNT + 1) - 1;
        return;
    case JN_ATTR_FLOAT:
        *(double *)at = floats[below(k, sizeof floats / sizeof *floats)];
        return;
    case JN_ATTR_INTS:
        list = *(janus_ints *)at;
        copy = jn_arena_zalloc(&k->samples.arena, (list.n + 4) * sizeof *copy);
        if (!copy)
            return;
        if (list.n)
            memcpy(copy, list.data, list.n * sizeof *copy);
        if (once_in(k, 3))
            list.n = below(k, (unsigned)list.n + 4);
        for (size_t i = 0; i < list.n; i++)
            if (once_in(k, (unsigned)list.n))
                copy[i] = odd_number(k, a);
        list.data = copy;
        *(janus_ints *)at = list;
        return;
    default:
        return;
    }
}

/* ---- operands ---------------------------------------------------------------------------------
 */

static uint8_t some_dtype(maker *k) {
    return (uint8_t)(once_in(k, 2) ? JANUS_F32 : below(k, JANUS_DTYPE_COUNT));
}

static int64_t some_dim(maker *k) {
    static const int64_t dims[] = {2, 3, 1, 2, 4, 0, 5, 1, 17, 40};
    return dims[below(k, once_in(k, 3) ? 10 : 5)];
}

static operand at_random(maker *k, const jn_op *op, unsigned i) {
    static const uint8_t floats[] = {JANUS_F32, JANUS_F64, JANUS_F32, JANUS_F16, JANUS_BF16},
                         ints[] = {JANUS_I64, JANUS_I32, JANUS_U8};
    const jn_operand *o = op->operands;
    for (unsigned n = 0; n < i && o->accept != JN_ACCEPT_END && !o->variadic; n++)
        o++;
    operand a = {.kind = JANUS_KIND_TENSOR, .dtype = some_dtype(k), .rank = (int)below(k, 5)};
    if (o->accept == JN_ACCEPT_SCALAR || o->accept == JN_ACCEPT_SHAPE) {
        a.kind = o->accept == JN_ACCEPT_SHAPE || o->dtype_class
                     ? (uint8_t)JANUS_KIND_INT
                     : (uint8_t)(JANUS_KIND_INT + below(k, 3));
        a.s = fuzz_scalar(&k->rng, (janus_kind)a.kind);
    }
    if (o->dtype_class == JN_DT_FLOAT)
        a.dtype = floats[below(k, 5)];
    else if (o->dtype_class == JN_DT_INT)
        a.dtype = ints[below(k, 3)];
    for (int d = 0; d < a.rank; d++)
        a.dims[d] = some_dim(k);
    if (o->optional && once_in(k, 2))
        a.kind = JANUS_KIND_NONE;
    return a;
}

static void of_sample(const val *v, operand *out) {
    *out = (operand){.kind = JANUS_KIND_NONE};
    if (!v)
        return;
    out->kind = v->t.kind;
    if (v->t.kind == JANUS_KIND_TENSOR) {
        out->dtype = v->t.dtype;
        out->rank = v->t.rank;
        memcpy(out->dims, v->dims, (size_t)v->t.rank * sizeof *out->dims);
    } else if (v->t.kind == JANUS_KIND_FLOAT) {
        out->s.f = val_get(v, 0);
    } else {
        out->s.i = (int64_t)val_get(v, 0);
    }
}

static void change_operands(maker *k) {
    operand *a = &k->in[below(k, k->n_in)], *b = &k->in[below(k, k->n_in)];
    int64_t from, to;
    switch (below(k, 9)) {
    case 0:
        a->dtype = some_dtype(k);
        return;
    case 1: /* one dim */
        if (a->rank)
            a->dims[below(k, (unsigned)a->rank)] = some_dim(k);
        return;
    case 2:
    case 3: /* a size wherever it stands */
        if (!a->rank)
            return;
        from = a->dims[below(k, (unsigned)a->rank)], to = some_dim(k);
        for (unsigned i = 0; i < k->n_in; i++)
            for (int d = 0; d < k->in[i].rank; d++)
                if (k->in[i].dims[d] == from)
                    k->in[i].dims[d] = to;
        return;
    case 4: /* one dim more in front */
        if (a->rank < 6) {
            memmove(a->dims + 1, a->dims, (size_t)a->rank * sizeof *a->dims);
            a->dims[0] = some_dim(k);
            a->rank++;
        }
        return;
    case 5:
        if (a->rank > 0)
            a->rank--;
        return;
    case 6:
        *a = *b;
        return;
    case 7:
        if (a->kind == JANUS_KIND_TENSOR || once_in(k, 3))
            a->kind = (uint8_t)below(k, JANUS_KIND_BOOL + 1);
        a->s = fuzz_scalar(&k->rng, (janus_kind)a->kind);
        return;
    default:
        a->s = fuzz_scalar(&k->rng, (janus_kind)a->kind);
    }
}

/* Chooses an op and fills k->in and k->attrs. */
static bool choose(maker *k) {
    static const uint8_t floats[] = {JANUS_F32, JANUS_F64, JANUS_F32,
                                     JANUS_F64, JANUS_F16, JANUS_BF16};
    const sample *s = NULL;
    void *attrs = NULL;
    val *v[64];
    do {
        k->op = k->only ? k->only : &jn_ops[below(k, jn_n_ops)];
    } while (!suits(k->op));
    unsigned n_of_op = 0;
    for (unsigned i = 0; i < n_samples; i++)
        if (strcmp(samples[i].op, k->op->name) == 0 && once_in(k, ++n_of_op))
            s = &samples[i];
    if (s && !once_in(k, 4)) {
        int n = sample_operands(&k->samples, s, floats[below(k, 6)], 1, v);
        if (n < 0 || n > MAX_ARGS || sample_attrs(&k->samples, s, k->op, &attrs) != JANUS_OK)
            return false;
        k->n_in = (unsigned)n;
        for (int i = 0; i < n; i++)
            of_sample(v[i], &k->in[i]);
    } else {
        k->n_in = k->op->n_in_max < MAX_ARGS ? k->op->n_in_max : k->op->n_in_required + below(k, 4);
        for (unsigned i = 0; i < k->n_in; i++)
            k->in[i] = at_random(k, k->op, i);
        attrs = jn_arena_zalloc(&k->samples.arena, k->op->attr_size + 1);
        if (!attrs || jn_attrs_default(k->op, attrs) != JANUS_OK)
            return false;
    }
    for (unsigned n = below(k, 4); n && k->n_in; n--)
        change_operands(k);
    for (const jn_attr_spec *a = k->op->attrs; k->op->attr_size && a->name; a++)
        if (once_in(k, 4))
            change_attr(k, a, attrs);
    k->attrs = k->op->attr_size ? attrs : NULL;
    return true;
}

/* ---- building ---------------------------------------------------------------------------------
 */

static int64_t elements(int rank, const int64_t *dims) {
    int64_t n = 1;
    for (int i = 0; i < rank && n <= MOST_ELEMENTS; i++)
        n *= dims[i];
    return n;
}

/* A parameter and an argument for it; what is declared is at times less than what is known. */
static bool parameter(maker *k, const operand *a, jn_value *out) {
    int64_t dims[JN_MAX_RANK], real[JN_MAX_RANK];
    char name[16];
    jn_type t = jn_scalar_type((janus_kind)a->kind);
    janus_arg *arg = &k->args[k->n_args];
    arg->kind = (janus_kind)a->kind;
    if (a->kind == JANUS_KIND_TENSOR) {
        bool vague = once_in(k, 4), other = once_in(k, 8);
        for (int i = 0; i < a->rank; i++) {
            dims[i] = vague && once_in(k, 2) ? JN_DIM_UNKNOWN : a->dims[i];
            real[i] = dims[i] < 0 && other ? some_dim(k) : a->dims[i];
        }
        t = jn_tensor_type((janus_dtype)a->dtype, vague && once_in(k, 5) ? -1 : a->rank, dims);
        if (elements(a->rank, real) > MOST_ELEMENTS)
            return false;
        arg->t = fuzz_tensor(&k->rng, (janus_dtype)a->dtype, a->rank, real);
        if (!arg->t)
            return false;
    } else {
        arg->s = a->s;
    }
    snprintf(name, sizeof name, "x%u", k->n_args++);
    return jn_subgraph_add_param(k->f, name, &t, false, out) == JANUS_OK;
}

/* All parameters come first, so all nodes are chosen before one is built. */
typedef struct plan {
    const jn_op *op;
    const void *attrs;
    jn_value in[MAX_ARGS]; /* NONE with a number in `made`: what is made by then */
    unsigned n_in;
    int made[MAX_ARGS];
} plan;

static bool plan_node(maker *k, plan *p, bool first) {
    if (!choose(k))
        return false;
    *p = (plan){.op = k->op, .attrs = k->attrs, .n_in = k->n_in};
    for (unsigned i = 0; i < k->n_in; i++) {
        p->made[i] = -1;
        p->in[i] = JN_VALUE_NONE;
        if (k->in[i].kind == JANUS_KIND_NONE)
            continue;
        if (!first && k->in[i].kind == JANUS_KIND_TENSOR && once_in(k, 2))
            p->made[i] = (int)below(k, MAX_OUT);
        else if (k->in[i].kind != JANUS_KIND_TENSOR && once_in(k, 2)) {
            p->made[i] = -2; /* a constant; kept in args, to be built with the node */
            p->in[i] = (jn_value){i, 0};
        } else if (k->n_args >= MAX_ARGS || !parameter(k, &k->in[i], &p->in[i]))
            return false;
    }
    return true;
}

static bool build_node(maker *k, const plan *p, const operand *in_of) {
    jn_value in[MAX_ARGS], out[JN_EAGER_MAX_OUT];
    for (unsigned i = 0; i < p->n_in; i++) {
        in[i] = p->in[i];
        if (p->made[i] >= 0 && k->n_made)
            in[i] = k->made[(unsigned)p->made[i] % k->n_made];
        else if (p->made[i] == -2 && jn_build_scalar(k->f, (janus_kind)in_of[i].kind, in_of[i].s,
                                                     (jn_loc){0}, &in[i]) != JANUS_OK)
            return false;
    }
    unsigned n_out = op_n_out(p->op);
    if (jn_build(k->f, p->op, in, p->n_in, p->attrs, NULL, (jn_loc){0}, out, n_out) != JANUS_OK)
        return false;
    for (unsigned i = 0; i < n_out && k->n_made < MAX_OUT; i++)
        k->made[k->n_made++] = out[i];
    return true;
}

static bool build(maker *k) {
    static plan plans[MAX_NODES];
    static operand operands[MAX_NODES][MAX_ARGS];
    unsigned n = 1 + (once_in(k, 2) ? below(k, MAX_NODES) : 0), built = 0;
    if (jn_module_new(&k->m) != JANUS_OK || jn_subgraph_declare(k->m, "f", &k->f) != JANUS_OK)
        return false;
    for (unsigned i = 0; i < n; i++) {
        if (!plan_node(k, &plans[i], i == 0))
            return false;
        memcpy(operands[i], k->in, sizeof operands[i]);
    }
    for (unsigned i = 0; i < n; i++)
        built += build_node(k, &plans[i], operands[i]);
    k->op = plans[0].op;
    k->attrs = plans[0].attrs;
    k->n_in = plans[0].n_in;
    memcpy(k->in, operands[0], sizeof k->in);
    return built && jn_subgraph_define(k->f, k->made, k->n_made) == JANUS_OK;
}

/* ---- running ----------------------------------------------------------------------------------
 */

static int64_t *dims_of(jn_infer *c, unsigned rank) {
    return jn_arena_alloc(c->user, (rank + 1) * sizeof(int64_t));
}

/* Whether the results of the first node are small enough for an eager call, which knows no bound
 * but the machine's; also where inference refuses, which the call has to do then. */
static bool eager_affordable(maker *k, unsigned n_out) {
    const jn_type *in[MAX_ARGS];
    const int64_t *cv[MAX_ARGS];
    jn_type types[MAX_ARGS], out[JN_EAGER_MAX_OUT];
    const void *attrs;
    for (unsigned i = 0; i < k->n_in; i++) {
        const operand *a = &k->in[i];
        types[i] = a->kind == JANUS_KIND_TENSOR
                       ? jn_tensor_type((janus_dtype)a->dtype, a->rank, a->dims)
                       : jn_scalar_type((janus_kind)a->kind);
        in[i] = a->kind == JANUS_KIND_NONE ? NULL : &types[i];
        cv[i] = a->kind == JANUS_KIND_INT || a->kind == JANUS_KIND_BOOL ? &a->s.i : NULL;
    }
    if (jn_attrs_copy(k->op, k->attrs, &k->samples.arena, &attrs) != JANUS_OK)
        return true;
    jn_infer c = {k->op, k->n_in, in, cv, attrs, n_out, out, dims_of, &k->samples.arena};
    if (jn_infer_run(&c) != JANUS_OK)
        return true;
    for (unsigned i = 0; i < n_out; i++)
        if (out[i].kind == JANUS_KIND_TENSOR &&
            !(jn_type_numel(&out[i]) >= 0 && jn_type_numel(&out[i]) <= MOST_RESULT))
            return false;
    return true;
}

/* The first node as an eager call: on operands of its own, whatever the builder thought of it. */
static void run_eager(maker *k) {
    jn_eager_arg in[MAX_ARGS];
    janus_tensor *own[MAX_ARGS] = {0}, *out[JN_EAGER_MAX_OUT];
    jn_type types[MAX_ARGS];
    int64_t numel = 1;
    unsigned n_out = op_n_out(k->op);
    if (k->op->role != JN_ROLE_COMPUTE || !eager_affordable(k, n_out))
        return;
    for (unsigned i = 0; i < k->n_in; i++) {
        const operand *a = &k->in[i];
        in[i] = (jn_eager_arg){.kind = a->kind};
        if (a->kind == JANUS_KIND_TENSOR && jn_op_accept(k->op, i) == JN_ACCEPT_LIKE) {
            types[i] = jn_tensor_type((janus_dtype)a->dtype, a->rank, a->dims);
            in[i].kind = JN_EAGER_LIKE;
            in[i].like = &types[i];
        } else if (a->kind == JANUS_KIND_TENSOR) {
            in[i].t = own[i] = elements(a->rank, a->dims) > MOST_ELEMENTS
                                   ? NULL
                                   : fuzz_tensor(&k->rng, (janus_dtype)a->dtype, a->rank, a->dims);
            numel *= own[i] ? 1 : 0;
        } else {
            in[i].s = a->s;
        }
    }
    if (numel && jn_eager(k->op, in, k->n_in, k->attrs, out, n_out) == JANUS_OK)
        for (unsigned i = 0; i < n_out; i++)
            janus_tensor_release(out[i]);
    for (unsigned i = 0; i < k->n_in; i++)
        janus_tensor_release(own[i]);
}

/* Whether its results are small enough to be computed: views may have any number of elements. */
static bool affordable(const maker *k) {
    for (unsigned i = 0; i < k->n_made; i++) {
        const jn_type *t = jn_value_type(k->f, k->made[i]);
        if (t->kind == JANUS_KIND_TENSOR && jn_type_static(t) &&
            (jn_type_numel(t) < 0 || jn_type_numel(t) > MOST_RESULT))
            return false;
    }
    return true;
}

static void one(uint64_t seed, const jn_op *only, bool print, fuzz_counts *counts) {
    maker k = {.rng = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1}, .only = only};
    jn_str text = {0};
    uint64_t wrong = counts->wrong;
    for (int i = 0; i < 4; i++)
        (void)fuzz_random(&k.rng);
    tape_init(&k.samples, DEVICE_REF);
    if (build(&k)) {
        jn_print_module(k.m, &text);
        if (print)
            fprintf(stderr, "%s", text.data);
        if (jn_verify_module(k.m) != JANUS_OK) {
            counts->wrong++;
            fprintf(stderr, "it was built, but is not valid: %s\n", janus_last_error()->message);
        }
        if (affordable(&k))
            fuzz_exercise(text.data, text.n, "f", k.args, k.n_args, counts);
    }
    if (affordable(&k))
        run_eager(&k);
    if (counts->wrong != wrong)
        fprintf(stderr, "  fuzz_ops --print --seed %llu: %s\n", (unsigned long long)seed,
                k.op->name);
    jn_str_free(&text);
    fuzz_release(k.args, k.n_args);
    jn_module_release(k.m);
    tape_free(&k.samples);
}

/* ---- processes --------------------------------------------------------------------------------
 */

/* What parent and child share. */
typedef struct shared {
    fuzz_counts counts;
    volatile uint64_t seed; /* the one that runs, or runs next */
} shared;

static void child(shared *s, uint64_t end, const jn_op *only) {
    (void)janus_set_num_threads(1);
    while (s->seed < end) {
        alarm(STUCK_SECONDS);
        one(s->seed, only, false, &s->counts);
        s->seed++;
    }
    _exit(0);
}

/* Runs seeds from s->seed to `end`. */
static void run_children(shared *s, uint64_t end, const jn_op *only) {
    while (s->seed < end) {
        int status;
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0)
            child(s, end, only);
        if (pid < 0 || waitpid(pid, &status, 0) != pid) {
            perror("fuzz_ops");
            exit(2);
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        fprintf(stderr, "  fuzz_ops --print --seed %llu: ended with status %d%s\n",
                (unsigned long long)s->seed, status,
                WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? ", it takes too long" : "");
        s->counts.wrong++;
        s->seed++;
    }
}

int main(int argc, char **argv) {
    const char *env = getenv("JANUS_FUZZ_SECONDS");
    uint64_t seconds = env ? strtoull(env, NULL, 10) : 0, first = 1, n = 0;
    const jn_op *only = NULL;
    bool print = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *more = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(word, "--print") == 0) {
            print = true;
            continue;
        }
        if (strcmp(word, "--seconds") == 0)
            seconds = strtoull(more, NULL, 10);
        else if (strcmp(word, "--seed") == 0)
            first = strtoull(more, NULL, 10);
        else if (strcmp(word, "--seeds") == 0)
            n = strtoull(more, NULL, 10);
        else if (strcmp(word, "--op") != 0 || !(only = jn_op_find(more, strlen(more)))) {
            fprintf(stderr, "fuzz_ops: what is %s %s?\n", word, more);
            return 2;
        }
        i++;
    }
    shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED)
        return 2;
    s->seed = first;
    if (print) {
        one(first, only, true, &s->counts);
        return s->counts.wrong != 0;
    }
    time_t end = time(NULL) + (time_t)seconds;
    uint64_t last = n ? first + n : seconds ? UINT64_MAX : first + 4000;
    do {
        run_children(s, last - s->seed < SEEDS_A_CHILD ? last : s->seed + SEEDS_A_CHILD, only);
    } while (s->seed < last && (!seconds || time(NULL) < end));
    printf("%llu seeds from %llu: %llu modules, %llu ran, %llu raised, %llu differentiated; "
           "%llu wrong\n",
           (unsigned long long)(s->seed - first), (unsigned long long)first,
           (unsigned long long)s->counts.modules, (unsigned long long)s->counts.ran,
           (unsigned long long)s->counts.raised, (unsigned long long)s->counts.differentiated,
           (unsigned long long)s->counts.wrong);
    return s->counts.wrong != 0;
}
