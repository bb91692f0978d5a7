/* Running a SubGraph on arguments from the command line.
 *
 * Arguments are written as in the text form, by the type of the parameter: 3, 0.5, true,
 * f32[2](1.0,2.0).  Objects cannot be written, so SubGraphs that take them cannot be run here.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/graph_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/eager/eager.h"
#include "graph/ir/ir.h"

static janus_status read_arg(const jn_param *p, const char *text, jn_arena *arena, janus_arg *out) {
    size_t n = strlen(text);
    janus_data data;
    bool ok = false;
    out->kind = (janus_kind)p->type->kind;
    switch (p->type->kind) {
    case JANUS_KIND_INT:
        ok = jn_parse_int64(text, n, &out->s.i);
        break;
    case JANUS_KIND_FLOAT:
        ok = jn_parse_double(text, n, &out->s.f);
        break;
    case JANUS_KIND_BOOL:
        ok = !strcmp(text, "true") || !strcmp(text, "false");
        out->s.i = *text == 't';
        break;
    case JANUS_KIND_TENSOR:
        JN_TRY(jn_data_parse(text, n, arena, &data, &ok));
        if (ok) {
            jn_type t = jn_tensor_type(data.dtype, data.rank, data.dims);
            ok = jn_type_fits(&t, p->type);
            if (ok)
                return janus_tensor_from_data(data.dtype, data.rank, data.dims, data.bytes,
                                              &out->t);
        }
        break;
    default:
        break;
    }
    if (!ok) {
        out->kind = JANUS_KIND_NONE;
        return jn_error(JANUS_INVALID_ARGUMENT, "parameter %s: expected %s, got '%.100s'", p->name,
                        jn_type_text_of(p->type).s, text);
    }
    return JANUS_OK;
}

/* An argument for who wants to see what is done, not what comes out. */
static janus_status make_up(const jn_param *p, jn_arena *arena, janus_arg *out) {
    static const janus_scalar three = {.i = 3};
    out->kind = (janus_kind)p->type->kind;
    switch (p->type->kind) {
    case JANUS_KIND_INT:
        out->s = three;
        return JANUS_OK;
    case JANUS_KIND_FLOAT:
        out->s.f = 0.5;
        return JANUS_OK;
    case JANUS_KIND_BOOL:
        out->s.i = 1;
        return JANUS_OK;
    case JANUS_KIND_TENSOR: {
        int64_t dims[JN_MAX_RANK];
        size_t bytes = jn_dtype_size((janus_dtype)p->type->dtype);
        for (int d = 0; d < p->type->rank; d++) {
            dims[d] = p->type->dims[d] < 0 ? three.i : p->type->dims[d];
            if (!jn_mul_size(bytes, (size_t)dims[d], &bytes))
                return jn_error(JANUS_SHAPE, "parameter %s is too large", p->name);
        }
        void *zeros = p->type->rank < 0 ? NULL : jn_arena_zalloc(arena, bytes + 1);
        if (zeros)
            return janus_tensor_from_data((janus_dtype)p->type->dtype, p->type->rank, dims, zeros,
                                          &out->t);
        break;
    }
    default:
        break;
    }
    out->kind = JANUS_KIND_NONE;
    return jn_error(JANUS_INVALID_ARGUMENT, "parameter %s, %s, cannot be made up", p->name,
                    jn_type_text_of(p->type).s);
}

/* Copies the elements in row-major order. */
static void gather(janus_tensor *t, int dim, const char *from, char **to) {
    size_t size = jn_dtype_size(janus_tensor_dtype(t));
    if (dim == janus_tensor_rank(t)) {
        memcpy(*to, from, size);
        *to += size;
        return;
    }
    for (int64_t i = 0; i < janus_tensor_dims(t)[dim]; i++)
        gather(t, dim + 1, from + i * janus_tensor_strides(t)[dim] * (int64_t)size, to);
}

static janus_status print_tensor(janus_tensor *there, jn_str *s) {
    janus_tensor *t;
    JN_TRY(jn_tensor_to(there, NULL, false, &t));
    jn_type type =
        jn_tensor_type(janus_tensor_dtype(t), janus_tensor_rank(t), janus_tensor_dims(t));
    int64_t n = jn_type_numel(&type);
    char *bytes = jn_alloc((size_t)n * jn_dtype_size(janus_tensor_dtype(t))), *end = bytes;
    if (bytes) {
        gather(t, 0, janus_tensor_data(t), &end);
        janus_data d = {janus_tensor_dtype(t), janus_tensor_rank(t), janus_tensor_dims(t), bytes};
        jn_data_print(&d, s);
    }
    jn_free(bytes);
    janus_tensor_release(t);
    return bytes ? JANUS_OK : JN_NO_MEMORY();
}

static janus_status print_result(const janus_arg *r) {
    jn_str s = {0};
    janus_status st = JANUS_OK;
    switch (r->kind) {
    case JANUS_KIND_INT:
        jn_str_printf(&s, "%lld", (long long)r->s.i);
        break;
    case JANUS_KIND_FLOAT:
        jn_str_double(&s, r->s.f);
        break;
    case JANUS_KIND_BOOL:
        jn_str_append(&s, r->s.i ? "true" : "false");
        break;
    case JANUS_KIND_TENSOR:
        st = print_tensor(r->t, &s);
        break;
    default:
        jn_str_append(&s, "_");
    }
    if (st == JANUS_OK && !jn_str_ok(&s))
        st = JN_NO_MEMORY();
    if (st == JANUS_OK)
        puts(s.data ? s.data : "");
    jn_str_free(&s);
    return st;
}

static void release(janus_arg *a, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (a[i].kind == JANUS_KIND_TENSOR)
            janus_tensor_release(a[i].t);
    }
}

static void print_stats(const janus_run_stats *s) {
    fprintf(stderr, "%llu invokes, %llu instructions, %llu tasks in %llu batches, %llu kernels\n",
            (unsigned long long)s->invokes, (unsigned long long)s->instructions,
            (unsigned long long)s->tasks, (unsigned long long)s->batches,
            (unsigned long long)s->kernels);
}

janus_status graph_run(janus_module *m, const char *name, char *const *texts, unsigned n_texts,
                       const graph_run_options *options) {
    name += *name == '@';
    jn_subgraph *g = jn_module_find(m, name, strlen(name));
    if (!g)
        return jn_error(JANUS_NOT_FOUND, "there is no SubGraph @%s", name);
    unsigned n_args = (unsigned)g->params.n;
    if (n_texts > n_args || (n_texts < n_args && !options->filled))
        return jn_error(JANUS_INVALID_ARGUMENT, "@%s: expected %zu arguments, got %u", name,
                        g->params.n, n_texts);
    JN_TRY(jn_module_freeze(m));
    janus_run_options run = JANUS_RUN_OPTIONS_INIT;
    run.numerics = options->exact ? JANUS_NUMERICS_EXACT : JANUS_NUMERICS_FAST;
    run.device = options->device;
    run.rng_seed = options->seed;
    unsigned n_results = (unsigned)g->result_types.n;
    janus_run_stats stats = {0};
    jn_arena arena;
    janus_status st = JANUS_OK;
    jn_arena_init(&arena, 0);
    janus_arg *args = jn_arena_zalloc(&arena, (n_args + 1) * sizeof *args);
    janus_arg *results = jn_arena_zalloc(&arena, n_results * sizeof *results);
    if (!args || !results)
        JN_GO(JN_NO_MEMORY(), done);
    for (unsigned i = 0; i < n_args; i++)
        JN_GO(i < n_texts ? read_arg(&g->params.data[i], texts[i], &arena, &args[i])
                          : make_up(&g->params.data[i], &arena, &args[i]),
              release_args);
    JN_GO(janus_run(g, args, n_args, &run, results, n_results, &stats), release_args);
    for (unsigned i = 0; i < n_results && st == JANUS_OK && !options->quiet; i++)
        st = print_result(&results[i]);
    release(results, n_results);
    if (options->stats)
        print_stats(&stats);
release_args:
    release(args, n_args);
done:
    jn_arena_free(&arena);
    return st;
}
