/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of models: arguments by name or in order, one call or many in one run. */
#include "config.h"

#include "exec/model/model.h"

#include <string.h>

const unsigned jn_batch_sizes[JN_BATCH_SIZES] = {JANUS_MODEL_BATCH, 16, 8, 7, 6, 5, 4, 3, 2, 1};

/* ---- what a model has --------------------------------------------------------------------------
 */

unsigned janus_model_arguments(const janus_model *m) { return m ? (unsigned)m->arguments.n : 0; }

const char *janus_model_argument(const janus_model *m, unsigned i) {
    return m && i < m->arguments.n ? m->arguments.data[i].name : NULL;
}

janus_type janus_model_argument_type(const janus_model *m, unsigned i) {
    return m && i < m->arguments.n ? m->arguments.data[i].type
                                   : (janus_type){.kind = JANUS_KIND_NONE};
}

unsigned janus_model_results(const janus_model *m) { return m ? (unsigned)m->results.n : 0; }

const char *janus_model_result(const janus_model *m, unsigned i) {
    return m && i < m->results.n ? m->results.data[i].name : NULL;
}

janus_type janus_model_result_type(const janus_model *m, unsigned i) {
    if (!m || i >= m->results.n)
        return (janus_type){.kind = JANUS_KIND_NONE};
    const jn_model_result *one = &m->results.data[i];
    if (one->from == JN_FROM_VALUE)
        return (janus_type){.kind = one->value.kind};
    if (one->from == JN_FROM_ARGUMENT)
        return m->arguments.data[one->slot].type;
    const jn_type *t = one->from == JN_FROM_RESULT ? m->main->result_types.data[one->slot]
                                                   : m->main->params.data[one->slot].type;
    return (janus_type){(janus_kind)t->kind, (janus_dtype)t->dtype, t->rank, t->dims, NULL};
}

janus_tensor *janus_model_weight(const janus_model *m, const char *name) {
    for (size_t i = 0; m && name && i < m->weights.n; i++)
        if (strcmp(m->weights.data[i].name, name) == 0)
            return m->weights.data[i].t;
    return NULL;
}

static janus_status find(const jn_model_name *all, size_t n, const char *name, int64_t *out) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0) {
            *out = all[i].number;
            return JANUS_OK;
        }
    return jn_error(JANUS_NOT_FOUND, "the model knows no %.100s", name);
}

janus_status janus_model_attribute(const janus_model *m, const char *name, int64_t *out_key) {
    if (!m || !name || !out_key)
        return jn_error(JANUS_INVALID_ARGUMENT, "janus_model_attribute: an argument is NULL");
    return find(m->attributes.data, m->attributes.n, name, out_key);
}

janus_status janus_model_type(const janus_model *m, const char *name, int64_t *out_type) {
    if (!m || !name || !out_type)
        return jn_error(JANUS_INVALID_ARGUMENT, "janus_model_type: an argument is NULL");
    return find(m->types.data, m->types.n, name, out_type);
}

/* ---- SubGraphs for batches ---------------------------------------------------------------------
 */

/* @f(arguments of call 0, of call 1, ..., what is the same for all): results of call 0, ... */
static janus_status build_batch(janus_model *m, unsigned n, const jn_subgraph **out) {
    const jn_subgraph *main = m->main;
    const size_t n_params = main->params.n, n_results = main->results.n;
    const char *name;
    jn_subgraph *g;
    JN_TRY(jn_module_fresh_name(m->module, "main.batch", &name));
    JN_TRY(jn_subgraph_declare(m->module, name, &g));
    size_t total = n * (n_params + n_results) + n_params + 1;
    jn_value *v = jn_arena_alloc(&m->arena, total * sizeof *v);
    const jn_type **types = jn_arena_alloc(&m->arena, (n * n_results + 1) * sizeof *types);
    if (!v || !types)
        return JN_NO_MEMORY();
    jn_value *in = v, *results = v + n * n_params, *same = results + n * n_results;
    for (unsigned k = 0; k < n; k++)
        for (size_t i = 0; i < n_params; i++)
            if (m->params.data[i].argument >= 0)
                JN_TRY(jn_subgraph_add_param(g, main->params.data[i].name,
                                             main->params.data[i].type, false,
                                             &in[k * n_params + i]));
    for (size_t i = 0; i < n_params; i++)
        if (m->params.data[i].argument < 0)
            JN_TRY(jn_subgraph_add_param(g, main->params.data[i].name, main->params.data[i].type,
                                         false, &same[i]));
    for (size_t i = 0; i < n * n_results; i++)
        types[i] = main->result_types.data[i % n_results];
    JN_TRY(jn_subgraph_set_result_types(g, types, (unsigned)(n * n_results)));
    jn_subgraph *callee = jn_module_find(m->module, "main", 4);
    for (unsigned k = 0; k < n; k++) {
        for (size_t i = 0; i < n_params; i++)
            if (m->params.data[i].argument < 0)
                in[k * n_params + i] = same[i];
        JN_TRY(janus_build_invoke(g, callee, in + k * n_params, (unsigned)n_params,
                                  results + k * n_results, (unsigned)n_results));
    }
    JN_TRY(jn_subgraph_define(g, results, (unsigned)(n * n_results)));
    *out = g;
    return JANUS_OK;
}

janus_status jn_model_freeze(janus_model *m) {
    for (size_t i = 0; i < JN_BATCH_SIZES; i++)
        if (jn_batch_sizes[i] == 1 || m->states.n) /* one call after the other */
            m->batch[i] = m->main;
        else
            JN_TRY(build_batch(m, jn_batch_sizes[i], &m->batch[i]));
    return jn_module_freeze(m->module);
}

/* ---- calls -------------------------------------------------------------------------------------
 */

static bool same_dims(const janus_type *want, const janus_tensor *t) {
    return want->rank == t->rank &&
           (!t->rank || memcmp(want->dims, t->dims, (size_t)t->rank * sizeof *t->dims) == 0);
}

/* What the graph does not use must be what it was exported for, where it is given. */
static janus_status check_fixed(const jn_model_argument *a, const janus_arg *given) {
    bool same = true;
    if (given->kind == JANUS_KIND_NONE || !a->fixed)
        return JANUS_OK;
    if (a->type.kind == JANUS_KIND_TENSOR)
        same = given->kind == JANUS_KIND_TENSOR && given->t &&
               given->t->dtype == (uint8_t)a->type.dtype && same_dims(&a->type, given->t);
    else /* numbers by their bits */
        same = given->kind == a->type.kind && given->s.i == a->value.i;
    return same ? JANUS_OK
                : jn_error(JANUS_INVALID_ARGUMENT,
                           "the argument %s: the model was exported for another one", a->name);
}

static janus_status check_used(const jn_model_argument *a, const janus_arg *given,
                               const janus_run_options *options) {
    if (given->kind == JANUS_KIND_NONE)
        return jn_error(JANUS_INVALID_ARGUMENT, "the argument %s is missing", a->name);
    if (given->kind != a->type.kind || (given->kind == JANUS_KIND_TENSOR && !given->t))
        return jn_error(JANUS_INVALID_ARGUMENT, "the argument %s is of another kind", a->name);
    if (given->kind != JANUS_KIND_OBJECT)
        return JANUS_OK;
    int64_t type = 0;
    if (!given->o || !options || !options->host || !options->host->type_of)
        return jn_error(JANUS_INVALID_ARGUMENT,
                        "the argument %s is an object, which is to be read through type_of and "
                        "its like",
                        a->name);
    JN_TRY(options->host->type_of(options->host_ctx, given->o, &type));
    return type == a->object
               ? JANUS_OK
               : jn_error(JANUS_INVALID_ARGUMENT, "the argument %s is of another type", a->name);
}

janus_arg jn_model_value(const jn_model_result *one, const janus_arg *args, const janus_arg *in,
                         const janus_arg *out) {
    switch (one->from) {
    case JN_FROM_RESULT:
        return out[one->slot];
    case JN_FROM_ARGUMENT:
        return args[one->slot];
    case JN_FROM_INPUT:
        return in[one->slot];
    case JN_FROM_VALUE:
        break;
    }
    return one->value;
}

janus_run_options jn_model_options(const janus_run_options *options) {
    janus_run_options now = JANUS_RUN_OPTIONS_INIT;
    if (options)
        memcpy(&now, options,
               options->struct_size < sizeof now ? options->struct_size : sizeof now);
    now.struct_size = sizeof now;
    return now;
}

static janus_status check(const janus_model *m, const janus_arg *args,
                          const janus_run_options *options) {
    for (size_t i = 0; i < m->arguments.n; i++) {
        const jn_model_argument *a = &m->arguments.data[i];
        JN_TRY(a->param < 0 ? check_fixed(a, &args[i]) : check_used(a, &args[i], options));
    }
    for (size_t i = 0; i < m->results.n; i++) {
        const jn_model_result *one = &m->results.data[i];
        if (one->from == JN_FROM_ARGUMENT && args[one->slot].kind == JANUS_KIND_NONE &&
            m->arguments.data[one->slot].type.kind != JANUS_KIND_NONE)
            return jn_error(JANUS_INVALID_ARGUMENT, "the argument %s is missing: it is a result",
                            m->arguments.data[one->slot].name);
    }
    return JANUS_OK;
}

static void release(janus_arg *results, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (results[i].kind == JANUS_KIND_TENSOR)
            janus_tensor_release(results[i].t);
}

/* One run: a batch of jn_batch_sizes[size] calls. */
static janus_status run_batch(const janus_model *m, unsigned size, const janus_arg *args,
                              const janus_run_options *options, janus_arg *results,
                              janus_run_stats *stats) {
    const unsigned n = jn_batch_sizes[size];
    const jn_subgraph *g = m->batch[size];
    const size_t n_params = g->params.n, n_results = m->main->results.n;
    janus_arg *in = jn_calloc(n_params + n * n_results + m->params.n + 1, sizeof *in), *at = in;
    if (!in)
        return JN_NO_MEMORY();
    janus_arg *out = in + n_params, *same = out + n * n_results;
    for (size_t i = 0; i < m->params.n; i++)
        same[i] = m->params.data[i].value;
    if (n == 1) { /* in the order of @main */
        for (size_t i = 0; i < n_params; i++) {
            const jn_model_param *p = &m->params.data[i];
            in[i] = p->argument < 0 ? p->value : args[p->argument];
        }
    } else {
        for (unsigned k = 0; k < n; k++)
            for (size_t i = 0; i < m->params.n; i++)
                if (m->params.data[i].argument >= 0)
                    *at++ = args[k * m->arguments.n + (size_t)m->params.data[i].argument];
        for (size_t i = 0; i < m->params.n; i++)
            if (m->params.data[i].argument < 0)
                *at++ = m->params.data[i].value;
    }
    janus_status st =
        janus_run(g, in, (unsigned)n_params, options, out, (unsigned)(n * n_results), stats);
    for (unsigned k = 0; k < n && st == JANUS_OK; k++)
        for (size_t i = 0; i < m->results.n; i++) {
            janus_arg *to = &results[k * m->results.n + i];
            /* of the parameters only those that are no arguments are asked for, alike in all calls
             */
            *to = jn_model_value(&m->results.data[i], args + k * m->arguments.n, same,
                                 out + k * n_results);
            if (to->kind == JANUS_KIND_TENSOR)
                janus_tensor_retain(to->t);
        }
    if (st == JANUS_OK)
        release(out, n * n_results);
    jn_free(in);
    return st;
}

static void add_stats(janus_run_stats *sum, const janus_run_stats *one) {
    sum->invokes += one->invokes;
    sum->instructions += one->instructions;
    sum->tasks += one->tasks;
    sum->batches += one->batches;
    sum->kernels += one->kernels;
    sum->peak_bytes = sum->peak_bytes > one->peak_bytes ? sum->peak_bytes : one->peak_bytes;
    sum->rng_offset = one->rng_offset;
    sum->lanes = sum->lanes > one->lanes ? sum->lanes : one->lanes;
    sum->early += one->early;
    sum->host_ns += one->host_ns;
    sum->tensor_ns += one->tensor_ns;
    sum->late += one->late;
    sum->ops += one->ops;
}

janus_status janus_model_batch(const janus_model *m, unsigned n_calls, const janus_arg *args,
                               unsigned n_args, const janus_run_options *options,
                               janus_arg *results, unsigned n_results, janus_run_stats *stats) {
    if (!m || (n_args && !args) || (n_results && !results))
        return jn_error(JANUS_INVALID_ARGUMENT, "janus_model_batch: %s is NULL",
                        !m                  ? "m"
                        : (n_args && !args) ? "args"
                                            : "results");
    if (n_args != m->arguments.n || n_results != m->results.n)
        return jn_error(JANUS_INVALID_ARGUMENT,
                        "the model has %zu arguments and %zu results, not %u and %u",
                        m->arguments.n, m->results.n, n_args, n_results);
    for (unsigned k = 0; k < n_calls; k++)
        JN_TRY(check(m, args + (size_t)k * n_args, options));
    if (m->states.n)
        return jn_error(JANUS_INVALID_ARGUMENT,
                        "the model writes %.100s: calls of it are those of a session, which has it",
                        m->states.data[0].next.name);
    janus_run_options now = jn_model_options(options);
    janus_run_stats sum = {.rng_offset = now.rng_offset}, one = {0};
    for (unsigned done = 0; done < n_calls;) {
        unsigned size = 0;
        while (jn_batch_sizes[size] > n_calls - done)
            size++;
        janus_status st = run_batch(m, size, args + (size_t)done * n_args, &now,
                                    results + (size_t)done * n_results, &one);
        if (st != JANUS_OK) {
            release(results, (size_t)done * n_results);
            return st;
        }
        now.rng_offset = one.rng_offset;
        add_stats(&sum, &one);
        done += jn_batch_sizes[size];
    }
    if (stats)
        *stats = sum;
    return JANUS_OK;
}

janus_status jn_model_take(const janus_model *m, const char *const *names, const janus_arg *args,
                           unsigned n_args, const janus_run_options *options, janus_arg **out) {
    const size_t n = m->arguments.n;
    janus_arg *in = jn_calloc(n + 1, sizeof *in);
    janus_status st = in ? JANUS_OK : JN_NO_MEMORY();
    for (unsigned k = 0; k < n_args && st == JANUS_OK; k++) {
        size_t i = 0;
        while (i < n && names[k] && strcmp(m->arguments.data[i].name, names[k]) != 0)
            i++;
        if (!names[k] || i == n)
            st = jn_error(JANUS_INVALID_ARGUMENT, "the model has no argument %.100s",
                          names[k] ? names[k] : "(NULL)");
        else if (in[i].kind != JANUS_KIND_NONE)
            st = jn_error(JANUS_INVALID_ARGUMENT, "the argument %s is given twice", names[k]);
        else
            in[i] = args[k];
    }
    if (st == JANUS_OK)
        st = check(m, in, options);
    if (st == JANUS_OK)
        *out = in;
    else
        jn_free(in);
    return st;
}

janus_status janus_model_call(const janus_model *m, const char *const *names, const janus_arg *args,
                              unsigned n_args, const janus_run_options *options, janus_arg *results,
                              unsigned n_results, janus_run_stats *stats) {
    if (!m || (n_args && (!names || !args)))
        return jn_error(JANUS_INVALID_ARGUMENT, "janus_model_call: %s is NULL",
                        !m ? "m" : (names ? "args" : "names"));
    janus_arg *in = NULL;
    JN_TRY(jn_model_take(m, names, args, n_args, options, &in));
    janus_status st =
        janus_model_batch(m, 1, in, (unsigned)m->arguments.n, options, results, n_results, stats);
    jn_free(in);
    return st;
}
