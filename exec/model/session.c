/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: calls of a model that go on from what earlier calls have left. */
#include "config.h"

#include "exec/model/model.h"

#include <string.h>

#include "graph/base/alloc.h"

struct janus_session {
    janus_model *model;
    janus_arg *now; /* by state; tensors are owned and never written */
    uint64_t drawn; /* random numbers, by all calls */
};

unsigned janus_model_states(const janus_model *m) { return m ? (unsigned)m->states.n : 0; }

const char *janus_model_state(const janus_model *m, unsigned i) {
    return m && i < m->states.n ? m->states.data[i].next.name : NULL;
}

static void hold(const janus_arg *a) {
    if (a->kind == JANUS_KIND_TENSOR)
        janus_tensor_retain(a->t);
}

static void drop(const janus_arg *a) {
    if (a->kind == JANUS_KIND_TENSOR)
        janus_tensor_release(a->t);
}

janus_status janus_session_new(janus_model *m, janus_session **out_session) {
    if (!m || !out_session)
        return jn_error(JANUS_INVALID_ARGUMENT, "janus_session_new: %s is NULL",
                        m ? "out_session" : "m");
    janus_session *s = jn_calloc(1, sizeof *s);
    janus_arg *now = s ? jn_calloc(m->states.n + 1, sizeof *now) : NULL;
    if (!now) {
        jn_free(s);
        return JN_NO_MEMORY();
    }
    for (size_t i = 0; i < m->states.n; i++) {
        now[i] = m->states.data[i].first;
        hold(&now[i]);
    }
    janus_model_retain(m);
    *s = (janus_session){m, now, 0};
    *out_session = s;
    return JANUS_OK;
}

void janus_session_release(janus_session *s) {
    if (!s)
        return;
    for (size_t i = 0; i < s->model->states.n; i++)
        drop(&s->now[i]);
    janus_model_release(s->model);
    jn_free(s->now);
    jn_free(s);
}

static janus_status find(const janus_session *s, const char *name, size_t *out) {
    if (!s || !name)
        return jn_error(JANUS_INVALID_ARGUMENT, "a session or a name is NULL");
    for (*out = 0; *out < s->model->states.n; ++*out)
        if (strcmp(s->model->states.data[*out].next.name, name) == 0)
            return JANUS_OK;
    return jn_error(JANUS_NOT_FOUND, "the model writes no %.100s", name);
}

janus_status janus_session_get(const janus_session *s, const char *name, janus_arg *out_value) {
    size_t i;
    JN_TRY(find(s, name, &i));
    if (!out_value)
        return jn_error(JANUS_INVALID_ARGUMENT, "janus_session_get: out_value is NULL");
    *out_value = s->now[i];
    return JANUS_OK;
}

janus_status janus_session_set(janus_session *s, const char *name, const janus_arg *value) {
    size_t i;
    JN_TRY(find(s, name, &i));
    const janus_arg *first = &s->model->states.data[i].first;
    if (!value || (value->kind == JANUS_KIND_TENSOR && !value->t))
        return jn_error(JANUS_INVALID_ARGUMENT, "janus_session_set: there is no value");
    if (first->kind != JANUS_KIND_NONE && value->kind != first->kind)
        return jn_error(JANUS_INVALID_ARGUMENT, "the state %s is of another kind", name);
    janus_arg mine = *value;
    if (mine.kind == JANUS_KIND_TENSOR) { /* its memory is the caller's to write */
        const janus_tensor *t = value->t;
        JN_TRY(jn_tensor_fill(value->t));
        JN_TRY(jn_tensor_empty((janus_dtype)t->dtype, t->rank, t->dims, &mine.t));
        jn_tensor_copy_elements(mine.t, t);
    }
    drop(&s->now[i]);
    s->now[i] = mine;
    return JANUS_OK;
}

/* What a run has left goes to the state and to the caller. */
static void leave(janus_session *s, const janus_arg *args, const janus_arg *in,
                  const janus_arg *out, janus_arg *next, janus_arg *results) {
    const janus_model *m = s->model;
    for (size_t i = 0; i < m->states.n; i++) {
        const jn_model_state *one = &m->states.data[i];
        next[i] = one->when < 0 || out[one->when].s.i ? jn_model_value(&one->next, args, in, out)
                                                      : s->now[i];
        hold(&next[i]);
    }
    for (size_t i = 0; i < m->results.n; i++) {
        const jn_model_result *one = &m->results.data[i];
        results[i] = jn_model_value(one, args, in, out);
        if (one->from == JN_FROM_INPUT && m->params.data[one->slot].state >= 0 &&
            m->states.data[m->params.data[one->slot].state].written)
            results[i] = next[m->params.data[one->slot].state];
        hold(&results[i]);
    }
    for (size_t i = 0; i < m->states.n; i++) {
        drop(&s->now[i]);
        s->now[i] = next[i];
    }
}

static janus_status run(janus_session *s, const janus_arg *args, const janus_run_options *options,
                        janus_arg *results, janus_run_stats *stats) {
    const janus_model *m = s->model;
    const size_t n = m->params.n, n_out = m->main->results.n;
    janus_arg *in = jn_calloc(n + n_out + m->states.n + 1, sizeof *in);
    if (!in)
        return JN_NO_MEMORY();
    janus_arg *out = in + n;
    for (size_t i = 0; i < n; i++) {
        const jn_model_param *p = &m->params.data[i];
        in[i] = p->argument >= 0 ? args[p->argument] : p->state >= 0 ? s->now[p->state] : p->value;
    }
    janus_run_options now = jn_model_options(options);
    const uint64_t begin = now.rng_offset + s->drawn;
    janus_run_stats one = {0};
    now.rng_offset = begin;
    janus_status st = janus_run(m->main, in, (unsigned)n, &now, out, (unsigned)n_out, &one);
    if (st == JANUS_OK) {
        leave(s, args, in, out, out + n_out, results);
        s->drawn += one.rng_offset - begin;
        if (stats)
            *stats = one;
        for (size_t i = 0; i < n_out; i++)
            drop(&out[i]);
    }
    jn_free(in);
    return st;
}

janus_status janus_session_call(janus_session *s, const char *const *names, const janus_arg *args,
                                unsigned n_args, const janus_run_options *options,
                                janus_arg *results, unsigned n_results, janus_run_stats *stats) {
    if (!s || (n_args && (!names || !args)) || (n_results && !results))
        return jn_error(JANUS_INVALID_ARGUMENT, "janus_session_call: %s is NULL",
                        !s                              ? "s"
                        : (n_args && (!names || !args)) ? (names ? "args" : "names")
                                                        : "results");
    if (n_results != s->model->results.n)
        return jn_error(JANUS_INVALID_ARGUMENT, "the model has %zu results, not %u",
                        s->model->results.n, n_results);
    janus_arg *in = NULL;
    JN_TRY(jn_model_take(s->model, names, args, n_args, options, &in));
    janus_status st = run(s, in, options, results, stats);
    jn_free(in);
    return st;
}
