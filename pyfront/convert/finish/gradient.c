/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of an entry: what it leaves on the tape.
 *
 * Results that require grad belong to one node of the tape, unless one of them is computed from
 * another: then gradients may be asked for between them, and main is cut after the first into
 * stages, each with its own frame, gradient and node.  A stage's node has the results that leave
 * the graph and those that later stages read.  Where tensors that the run stores remain, there is
 * one stage, whose node has a result for each of them behind those (remains.c).
 */
#include "pyfront/convert/finish/finish.h"

#include <string.h>

#include "graph/autodiff/autodiff.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/finish/history.h"
#include "pyfront/convert/finish/stages.h"

static jn_value without_detach(const jn_subgraph *g, jn_value v) {
    while (v.node && g->nodes.data[v.node]->op == JN_OP(detach))
        v = g->nodes.data[v.node]->in[0];
    return v;
}

enum { MAX_VISITED = 64 };
typedef struct visited { /* parameters of SubGraphs that were looked at */
    unsigned n;
    bool no_arms; /* of the first, branches are not looked into */
    struct {
        const jn_subgraph *g;
        uint32_t param;
    } of[MAX_VISITED];
} visited;

static const char *kept_in(const jn_subgraph *g, uint32_t param, visited *seen);

/* Whether a call keeps operand k in a frame of its own. */
static bool call_keeps(const jn_node *n, uint32_t k, visited *seen) {
    uint32_t first = n->op->role == JN_ROLE_IF;
    if ((first || n->op->role == JN_ROLE_FOREACH) && k == 0)
        return false;
    for (int i = 0; i < 2 && n->subs[i]; i++)
        if (k - first < n->subs[i]->params.n && kept_in(n->subs[i], k - first, seen))
            return true;
    return false;
}

/* The op that keeps a parameter for its gradient, in a SubGraph that is called, or what computes
 * again what it has not kept.  Of what ops of the stage itself keep, history.h knows more. */
static const char *kept_in(const jn_subgraph *g, uint32_t param, visited *seen) {
    bool saved = false;
    for (unsigned i = 0; i < seen->n; i++)
        if (seen->of[i].g == g && seen->of[i].param == param)
            return NULL;
    if (seen->n == MAX_VISITED)
        return "Graph";
    seen->of[seen->n].g = g;
    seen->of[seen->n++].param = param;
    for (size_t i = 0; i < g->saved.n; i++) {
        jn_value v = without_detach(g, g->saved.data[i].value);
        saved = saved || (!g->saved.data[i].frame && v.node == 0 && v.index == param);
    }
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        for (uint32_t k = 0; k < n->n_in; k++) {
            jn_value v = jn_value_is_none(n->in[k]) ? n->in[k] : without_detach(g, n->in[k]);
            if (v.node != 0 || v.index != param || n->op == JN_OP(detach))
                continue;
            bool arm = seen->no_arms && g == seen->of[0].g && n->op->role == JN_ROLE_IF;
            if (n->subs[0] && !arm && call_keeps(n, k, seen))
                return "Graph";
            if (!n->subs[0] && saved && g != seen->of[0].g &&
                (n->op->save >> (k < 15 ? k : 15) & 1))
                return n->op->name;
        }
    }
    /* of what no rule reads only the type is needed, unless ops run again */
    return saved && g->checkpoint ? "Graph" : NULL;
}

/* Adds what keeps a parameter of a stage for its gradient, bound at `slot`, or its like in a
 * SubGraph: arms of the stage keep it if they are taken. */
static janus_status add_keepers(jpy_stage *x, uint32_t param, uint32_t slot,
                                const jcv_stage_at *at) {
    const jn_subgraph *g = x->sub;
    visited seen = {.no_arms = true};
    const char *op = kept_in(g, param, &seen);
    if (op)
        return jn_vec_push(&x->kept, ((jpy_kept){.slot = slot, .op = op, .maybe = true}))
                   ? JANUS_OK
                   : JN_NO_MEMORY();
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        for (uint32_t k = 1; n->op->role == JN_ROLE_IF && k < n->n_in; k++) {
            jn_value v = jn_value_is_none(n->in[k]) ? n->in[k] : without_detach(g, n->in[k]);
            for (unsigned s = 0; v.node == 0 && v.index == param && s < 2; s++) {
                visited from = {.n = 1, .of = {{g, param}}};
                if (k - 1 >= n->subs[s]->params.n || !kept_in(n->subs[s], k - 1, &from))
                    continue;
                jpy_kept kept = {
                    .slot = slot, .op = "Graph", .arm = jcv_arm_of(x, at, n, s), .maybe = true};
                if (!jn_vec_push(&x->kept, kept))
                    return JN_NO_MEMORY();
            }
        }
    }
    return JANUS_OK;
}

/* ---- stages as SubGraphs ------------------------------------------------------------------------
 */

typedef JN_VEC(const jn_type *) type_list;

static janus_status define(jn_subgraph *g, const jn_value *v, unsigned n) {
    type_list types = {0};
    janus_status st = JANUS_OK;
    for (unsigned i = 0; i < n && st == JANUS_OK; i++)
        if (!jn_vec_push(&types, jn_value_type(g, v[i])))
            st = JN_NO_MEMORY();
    if (st == JANUS_OK)
        st = jn_subgraph_set_result_types(g, types.data, n);
    if (st == JANUS_OK)
        st = jn_subgraph_define(g, v, n);
    jn_vec_free(&types);
    return st;
}

/* Copies the nodes of stage k; map: per node of main, its results in the new body. */
static janus_status build_stage(jcv_staging *s, unsigned k, jn_value **map, jn_arena *a) {
    const jn_subgraph *g = s->g;
    jn_subgraph *sub;
    char name[24];
    snprintf(name, sizeof name, "stage%u", k);
    const char *fresh;
    JN_TRY(jn_module_fresh_name(s->e->module, name, &fresh));
    JN_TRY(jn_subgraph_declare(s->e->module, fresh, &sub));
    sub->checkpoint = g->checkpoint;
    s->sub[k] = sub;
    for (size_t i = 0; i < s->in[k].n; i++) {
        jn_value v = s->in[k].data[i], p;
        snprintf(name, sizeof name, "p%zu", i);
        JN_TRY(jn_subgraph_add_param(sub, name, jn_value_type(g, v), false, &p));
        map[v.node][v.index] = p;
    }
    for (uint32_t i = s->cut[k]; i < s->cut[k + 1]; i++) {
        const jn_node *n = g->nodes.data[i];
        jn_value *in = jn_arena_alloc(a, (n->n_in + 1) * sizeof *in);
        if (!in)
            return JN_NO_MEMORY();
        for (uint32_t j = 0; j < n->n_in; j++)
            in[j] = jn_value_is_none(n->in[j]) ? n->in[j] : map[n->in[j].node][n->in[j].index];
        JN_TRY(jn_build(sub, n->op, in, n->n_in, n->attrs, n->subs[0] ? n->subs : NULL, n->loc,
                        map[i], n->n_out));
    }
    jn_value *out = jn_arena_alloc(a, (s->out[k].n + 1) * sizeof *out);
    if (!out)
        return JN_NO_MEMORY();
    for (size_t i = 0; i < s->out[k].n; i++)
        out[i] = map[s->out[k].data[i].node][s->out[k].data[i].index];
    return define(sub, out, (unsigned)s->out[k].n);
}

static janus_status build_stages(jcv_staging *s, jn_arena *a) {
    const jn_subgraph *g = s->g;
    jn_value **map = jn_arena_alloc(a, g->nodes.n * sizeof *map);
    if (!map)
        return JN_NO_MEMORY();
    for (size_t i = 0; i < g->nodes.n; i++) {
        size_t n = i ? g->nodes.data[i]->n_out : g->params.n;
        map[i] = jn_arena_alloc(a, (n + 1) * sizeof **map);
        if (!map[i])
            return JN_NO_MEMORY();
    }
    for (unsigned k = 0; k < s->n; k++)
        JN_TRY(build_stage(s, k, map, a));
    return JANUS_OK;
}

/* One stage: main itself, with all its parameters and results. */
static janus_status whole(jcv_staging *s) {
    s->sub[0] = s->g;
    for (uint32_t i = 0; i < s->g->params.n; i++)
        if (!jn_vec_push(&s->in[0], ((jn_value){0, i})))
            return JN_NO_MEMORY();
    for (size_t i = 0; i < s->g->results.n; i++)
        if (!jn_vec_push(&s->out[0], s->g->results.data[i]))
            return JN_NO_MEMORY();
    return JANUS_OK;
}

/* ---- gradients ----------------------------------------------------------------------------------
 */

/* Which of a stage's results a parameter of it reaches: others give it no gradient, not even 0. */
static bool *reached_results(const jcv_staging *s, unsigned k, uint32_t param, bool *active) {
    const jn_subgraph *sub = s->sub[k];
    const jpy_stage *x = &s->e->stages[k];
    bool *reached = jn_arena_alloc(&s->e->arena, x->place.n + 1);
    jcv_find_active(s, sub, param, active);
    for (size_t at = 0; reached && at < x->place.n; at++) {
        jn_value v = sub->results.data[x->place.data[at]];
        reached[at] = v.node ? active[v.node] : v.index == param;
    }
    return reached;
}

/* Derives the gradient of a stage for these cotangents; onto: that which goes on with sums, of
 * which there is the one by itself. */
static janus_status derive(jpy_entry *e, const jpy_stage *x, const bool *arriving, bool some,
                           bool onto, jpy_gradient *out) {
    if (!onto)
        return jn_grad_presence(x->sub, arriving, some, &out->sub, &out->present);
    uint8_t *sums = jn_arena_zalloc(&e->arena, x->sub->params.n + 1);
    if (!sums)
        return JN_NO_MEMORY();
    for (size_t i = 0; i < x->in.n; i++)
        sums[x->in.data[i].param] = 1;
    out->sums = sums;
    return jn_grad_onto(x->sub, arriving, some, sums, &out->onto, &out->onto_present);
}

/* The gradients of a stage.  Where there are a few results, also of one alone: what the others
 * would get is no cotangent of zeros, which an infinite derivative turns into NaN. */
static janus_status derive_all(jpy_entry *e, jpy_stage *x, const bool *arriving, bool onto,
                               jn_arena *a) {
    if (e->remains && !onto) {
        const bool *none = jn_arena_zalloc(a, x->sub->results.n + 1);
        if (!none)
            return JN_NO_MEMORY();
        JN_TRY(derive(e, x, none, false, false, &x->none));
        if (!x->out.n) {
            x->grad = x->none;
            return JANUS_OK;
        }
    }
    JN_TRY(derive(e, x, arriving, false, onto, &x->grad));
    for (unsigned at = 0; x->out.n > 1 && x->out.n <= JPY_MAX_ALONE && at < x->out.n; at++) {
        bool *one = jn_arena_zalloc(a, x->sub->results.n);
        if (!one)
            return JN_NO_MEMORY();
        one[x->place.data[at]] = true;
        JN_TRY(derive(e, x, one, false, onto, &x->alone[at]));
    }
    return x->out.n > 2 ? derive(e, x, arriving, true, onto, &x->some) : JANUS_OK;
}

static janus_status stage_gradient(jcv_staging *s, unsigned k, jn_arena *a) {
    jpy_entry *e = s->e;
    jpy_stage *x = &e->stages[k];
    jn_subgraph *sub = s->sub[k];
    unsigned grad = 0;
    x->sub = sub;
    bool *arriving = jn_arena_zalloc(a, s->out[k].n + 1);
    if (!arriving)
        return JN_NO_MEMORY();
    for (size_t i = 0; i < s->out[k].n; i++) {
        const jn_type *t = sub->result_types.data[i];
        if (!s->asked[k][i])
            continue;
        uint32_t seen = 0;
        while (seen < e->grad_of.n && !jn_value_equal(s->g->results.data[seen], s->out[k].data[i]))
            seen++;
        if (!jn_type_static(t) && seen == e->grad_of.n)
            return jn_error(JANUS_UNSUPPORTED, "a result of unknown dims requires grad");
        arriving[i] = true;
        if (!jn_vec_push(&x->seen, seen) || !jn_vec_push(&x->out, t) ||
            !jn_vec_push(&x->place, (uint32_t)i))
            return JN_NO_MEMORY();
    }
    if (!x->out.n && !e->remains)
        return JANUS_OK;
    JN_TRY(derive_all(e, x, arriving, false, a));
    bool *active = jn_arena_alloc(a, sub->nodes.n);
    if (!active)
        return JN_NO_MEMORY();
    jcv_stage_at at = {s->g, s->cut[k], s->in[k].data, e->inputs.data, e->remains};
    for (unsigned p = 0; p < s->in[k].n; p++) {
        jn_value v = s->in[k].data[p];
        const jn_type *t = sub->params.data[p].type;
        bool outer = v.node == 0;
        const jpy_src *src = outer ? e->guards.srcs.data[e->inputs.data[v.index].slot] : NULL;
        if (outer && t->kind == JANUS_KIND_TENSOR)
            JN_TRY(add_keepers(x, p, src->slot, &at));
        if (!jcv_is_float_type(t))
            continue;
        jpy_tracked in = {.param = p, .gradient = grad++, .stage = JPY_NO_STAGE};
        if (outer) {
            in.slot = src->slot;
            if (!src->tensor.requires_grad)
                continue;
        } else {
            size_t i = 0;
            in.stage = jcv_stage_of(s, v);
            for (; !jn_value_equal(s->out[in.stage].data[i], v); i++)
                in.slot += s->asked[in.stage][i];
            if (!s->asked[in.stage][i])
                continue;
        }
        in.outs = reached_results(s, k, p, active);
        if (!in.outs || !jn_vec_push(&x->in, in))
            return JN_NO_MEMORY();
    }
    if (s->exact)
        JN_TRY(derive_all(e, x, arriving, true, a));
    JN_TRY(jcv_history(x, &at, a));
    JN_TRY(jpy_stage_mixes(x, e->wires));
    for (size_t i = 0; i < x->kept.n; i++)
        e->keeps_results = e->keeps_results || x->kept.data[i].is_result;
    return JANUS_OK;
}

/* Where each tracked result of main is found: stage and number of its node's result. */
static janus_status place_results(jcv_staging *s) {
    jpy_entry *e = s->e;
    for (size_t r = 0; r < e->grad_of.n; r++) {
        jn_value v = s->g->results.data[r];
        if (!e->grad_of.data[r])
            continue;
        unsigned k = jcv_stage_of(s, v), at = 0;
        for (size_t i = 0; !jn_value_equal(s->out[k].data[i], v); i++)
            at += s->asked[k][i];
        e->place[e->grad_of.data[r] - 1] = (jpy_place){k, at};
    }
    return JANUS_OK;
}

/* What a stage keeps of a result of the run is kept of the tensor that it is stored to. */
static janus_status keep_stored(jpy_stage *x, const jpy_commit_step *step, bool *io_found) {
    size_t n = x->kept.n, n_copies = x->copies.n;
    for (size_t i = 0; i < n; i++) {
        jpy_kept k = x->kept.data[i];
        if (!k.is_result || k.slot != step->value->slot)
            continue;
        *io_found = true;
        k.is_result = false;
        k.stored = k.slot + 1;
        k.slot = step->slot;
        k.writes = step->uncounted ? 0 : 1 + step->more;
        for (size_t c = 0; c < n_copies; c++) {
            jpy_copy copy = x->copies.data[c];
            if (copy.kept != i)
                continue;
            copy.kept = (uint32_t)x->kept.n;
            if (!jn_vec_push(&x->copies, copy))
                return JN_NO_MEMORY();
        }
        if (!jn_vec_push(&x->kept, k))
            return JN_NO_MEMORY();
    }
    return JANUS_OK;
}

/* Tensors that the commit writes and a frame keeps the new value of, or a view of that, must stay
 * so, too. */
static janus_status keep_written(jcv_staging *s) {
    jpy_entry *e = s->e;
    for (size_t i = 0; i < e->steps.n; i++) {
        const jpy_commit_step step = e->steps.data[i];
        bool found = false;
        if (step.kind != JPY_COMMIT_STORE)
            continue;
        for (unsigned k = 0; k < s->n; k++)
            JN_TRY(keep_stored(&e->stages[k], &step, &found));
        if ((found || step.needed) && (step.when || step.counted))
            return jn_error(JANUS_UNSUPPORTED, "a tensor of the caller is written on some paths, "
                                               "and a gradient needs it");
        for (unsigned k = 0; k < s->n && !found && step.needed; k++) { /* by ways not followed */
            jpy_kept any = {.slot = step.slot,
                            .op = "Graph",
                            .writes = step.uncounted ? 0 : 1 + step.more,
                            .stored = step.value->slot + 1,
                            .copied = true,
                            .outs = ~(jpy_set)0,
                            .ins = ~(jpy_set)0};
            if (e->stages[k].grad.sub && !jn_vec_push(&e->stages[k].kept, any))
                return JN_NO_MEMORY();
        }
    }
    return JANUS_OK;
}

/* The SubGraph that runs all stages, keeping their frames: main's results, then the frames. */
static janus_status build_entry(jcv_staging *s, jn_arena *a) {
    const jn_subgraph *g = s->g;
    jn_subgraph *entry;
    JN_TRY(jn_subgraph_declare(s->e->module, "entry", &entry));
    jn_value **map = jn_arena_zalloc(a, g->nodes.n * sizeof *map);
    jn_value *out = jn_arena_alloc(a, (g->results.n + s->n) * sizeof *out);
    if (!map || !out)
        return JN_NO_MEMORY();
    for (size_t i = 0; i < g->nodes.n; i++) {
        size_t n = i ? g->nodes.data[i]->n_out : g->params.n;
        map[i] = jn_arena_alloc(a, (n + 1) * sizeof **map);
        if (!map[i])
            return JN_NO_MEMORY();
    }
    for (size_t p = 0; p < g->params.n; p++)
        JN_TRY(jn_subgraph_add_param(entry, g->params.data[p].name, g->params.data[p].type, false,
                                     &map[0][p]));
    for (unsigned k = 0; k < s->n; k++) {
        size_t n_in = s->in[k].n, n_out = s->out[k].n;
        bool saves = s->e->stages[k].grad.sub != NULL;
        jn_value *v = jn_arena_alloc(a, (n_in + n_out + 1) * sizeof *v);
        if (!v)
            return JN_NO_MEMORY();
        for (size_t i = 0; i < n_in; i++)
            v[i] = map[s->in[k].data[i].node][s->in[k].data[i].index];
        jn_subgraph *subs[2] = {s->sub[k], NULL};
        JN_TRY(jn_build(entry, saves ? JN_OP(invoke_save) : JN_OP(invoke), v, (unsigned)n_in, NULL,
                        subs, (jn_loc){0}, v + n_in, (unsigned)(n_out + saves)));
        for (size_t i = 0; i < n_out; i++)
            map[s->out[k].data[i].node][s->out[k].data[i].index] = v[n_in + i];
        if (saves)
            out[g->results.n + s->e->n_frames++] = v[n_in + n_out];
    }
    for (size_t i = 0; i < g->results.n; i++)
        out[i] = map[g->results.data[i].node][g->results.data[i].index];
    return define(entry, out, (unsigned)(g->results.n + s->e->n_frames));
}

static janus_status add_gradient(jcv_staging *s, jn_arena *a) {
    jpy_entry *e = s->e;
    JN_TRY(jcv_find_cuts(s, a));
    JN_TRY(jcv_check_keys(s, a));
    s->active = jn_arena_zalloc(a, s->g->nodes.n);
    s->sub = jn_arena_zalloc(a, s->n * sizeof *s->sub);
    s->in = jn_arena_zalloc(a, s->n * sizeof *s->in);
    s->out = jn_arena_zalloc(a, s->n * sizeof *s->out);
    s->asked = jn_arena_zalloc(a, s->n * sizeof *s->asked);
    e->stages = jn_arena_zalloc(&e->arena, s->n * sizeof *e->stages);
    e->place = jn_arena_zalloc(&e->arena, (e->n_tracked + 1) * sizeof *e->place);
    if (!s->active || !s->sub || !s->in || !s->out || !s->asked || !e->stages || !e->place)
        return JN_NO_MEMORY();
    e->n_stages = s->n;
    jcv_find_active(s, s->g, JCV_ANY_LEAF, s->active);
    if (s->n == 1)
        JN_TRY(whole(s));
    else
        JN_TRY(jcv_find_borders(s));
    if (s->n > 1 && s->exact)
        JN_TRY(jcv_check_turns(s, a));
    if (s->n > 1)
        JN_TRY(build_stages(s, a));
    JN_TRY(jcv_find_asked(s, a));
    for (unsigned k = 0; k < s->n; k++)
        JN_TRY(stage_gradient(s, k, a));
    JN_TRY(place_results(s));
    JN_TRY(keep_written(s));
    return build_entry(s, a);
}

janus_status jcv_add_gradient(jpy_entry *e, bool exact) {
    jcv_staging s = {.e = e, .g = e->main, .exact = exact};
    jn_arena a;
    jn_arena_init(&a, 0);
    janus_status st = add_gradient(&s, &a);
    for (unsigned k = 0; s.in && s.out && k < s.n; k++) {
        jn_vec_free(&s.in[k]);
        jn_vec_free(&s.out[k]);
    }
    jn_arena_free(&a);
    return st;
}
