/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history of a stage, as the tape records the same ops when they run one by one: which of them
 * keep something for their gradients, which results they lead to, and what of the stage's inputs
 * and results is kept (a write to it is an error later).  The graph's own gradient may keep less,
 * or copies; what a program can see is the tape's.
 *
 * Sets of results flow from them back to what they are computed from, into the bodies of calls as
 * well.  A recursion is one body for all its depths.  What an arm of a branch of main keeps is kept
 * if it is taken, of which the run has a result; in bodies of calls and loops, and in branches
 * inside of arms, it may be kept: where it was written since, the run's ops tell.  Of what a loop
 * of main hands on it is known whether it has gone a round, except of one that goes while something
 * holds.
 */
#include "pyfront/convert/finish/history.h"

#include <string.h>

#include "ops/op_ids.h"
#include "pyfront/convert/finish/given.h"
#include "pyfront/tape/tape.h"

typedef struct kept {
    jn_value v; /* the tensor that has the memory */
    jpy_set outs, ins;
    uint32_t at; /* node of main */
    const char *op;
    uint8_t arm; /* of a branch of main: as jpy_group.arm */
    bool maybe;  /* on some path through a call, a loop or an arm in an arm */
    bool copied; /* a frame has it as a view, which is a copy there */
    bool part;   /* of what it is kept of, which has no part of the ops' memory in a graph */
} kept;

/* Ops; `op`: one alone, where it is told apart from others (history.apart); else NULL. */
typedef struct ops {
    jpy_group g;
    const jn_node *op;
} ops;
typedef JN_VEC(ops) ops_list;

/* What ops keep: tensors, and groups as history.h has them. */
typedef struct keeping {
    JN_VEC(kept) kept;
    ops_list groups;
} keeping;

/* A body: main of the stage, or of a call. */
typedef struct body {
    const jn_subgraph *g;
    struct body *up;
    jpy_set ins;         /* of what the call gets; main has its own per value */
    jpy_set *of_results; /* results of the stage that are computed from each result */
    const jpy_set *sure; /* ... for certain; NULL: it is not told, as main's own always are */
    jpy_set *of_params;  /* the same of parameters: what is found */
    bool *tracked;       /* per parameter */
    bool again;          /* a call of itself has added to of_results, or to tracked */
    bool calls_itself;
    uint32_t at; /* node of main that runs it */
    keeping has;
} body;

typedef struct history {
    const jcv_stage_at *place;
    jn_arena *arena;
    jpy_stage *stage;
    bool remains;
    uint8_t *wires;  /* by SubGraph */
    jpy_set readers; /* results that may be computed from what is stored and read again */
    bool apart;      /* the node of main that is looked at leads to some results by way of arms */
} history;

static janus_status walk(history *h, body *b);

static void *room(history *h, size_t n, size_t size) {
    return jn_arena_zalloc(h->arena, (n + 1) * size);
}

static void keeping_free(keeping *k) {
    jn_vec_free(&k->kept);
    jn_vec_free(&k->groups);
}

static bool is_float(const jn_type *t) {
    return t->kind == JANUS_KIND_TENSOR && jn_dtype_is_float(t->dtype);
}

/* Whether they are run together, where what leads on to results by way of arms is. */
static bool alike(jpy_group a, jpy_group b) {
    return a.outs == b.outs && a.ins == b.ins && a.arm == b.arm;
}

static janus_status add_ops(keeping *to, ops one) {
    size_t i = 0;
    while (i < to->groups.n &&
           (to->groups.data[i].op != one.op || !alike(to->groups.data[i].g, one.g)))
        i++;
    if (i == to->groups.n)
        return jn_vec_push(&to->groups, one) ? JANUS_OK : JN_NO_MEMORY();
    if (one.g.at > to->groups.data[i].g.at)
        to->groups.data[i].g.at = one.g.at;
    return JANUS_OK;
}

/* The groups of the first op of `l`, which are taken out of there, are used up together: those of
 * another op that leads to the same results by way of the same arms are these. */
static janus_status add_op(jpy_groups *to, ops_list *l) {
    const size_t head = to->n;
    const jn_node *op = l->data[0].op;
    size_t left = 0, i = 0;
    for (size_t k = 0; k < l->n; k++) {
        ops one = l->data[k];
        one.g.same = (uint32_t)head;
        if (one.op != op)
            l->data[left++] = one;
        else if (!jn_vec_push(to, one.g))
            return JN_NO_MEMORY();
    }
    l->n = left;
    const size_t n = to->n - head;
    for (size_t at = 0; at + n <= head; at++) {
        const bool whole = to->data[at].same == at && to->data[at + n - 1].same == at &&
                           (at + n == head || to->data[at + n].same == at + n);
        for (i = 0; whole && i < n && alike(to->data[at + i], to->data[head + i]);)
            i++;
        if (i < n || !whole)
            continue;
        for (i = 0; i < n; i++)
            if (to->data[head + i].at > to->data[at + i].at)
                to->data[at + i].at = to->data[head + i].at;
        to->n = head;
        break;
    }
    return JANUS_OK;
}

/* Its place, in->kept.n where it is new. */
static size_t find_kept(const keeping *in, const kept *k) {
    size_t i = 0;
    for (; i < in->kept.n; i++) {
        kept x = in->kept.data[i];
        if (jn_value_equal(x.v, k->v) && x.outs == k->outs && x.ins == k->ins && x.arm == k->arm)
            break;
    }
    return i;
}

/* `again`: a gradient makes views of it anew. */
static janus_status keep(const jn_subgraph *g, keeping *to, kept k, bool again) {
    jn_value v = jcv_memory_of(g, k.v);
    k.copied = k.copied || (!again && !jn_value_equal(v, k.v));
    k.v = v;
    size_t i = find_kept(to, &k);
    if (i == to->kept.n)
        return jn_vec_push(&to->kept, k) ? JANUS_OK : JN_NO_MEMORY();
    k.copied = k.copied || to->kept.data[i].copied;
    k.maybe = k.maybe && to->kept.data[i].maybe;
    k.part = k.part || to->kept.data[i].part;
    if (k.at > to->kept.data[i].at)
        to->kept.data[i] = k;
    to->kept.data[i].copied = k.copied;
    to->kept.data[i].maybe = k.maybe;
    to->kept.data[i].part = k.part;
    return JANUS_OK;
}

/* Results of the stage that are computed from a value of main if an arm is taken that hands it on.
 */
typedef struct lead {
    jpy_set outs, sure; /* sure: those of which it is certain then, on all paths through the arm */
    uint8_t arm;
    struct lead *next;
} lead;

/* Per value of a body: by node, then by result. */
typedef struct values {
    jpy_set **outs; /* results of the stage computed from it, whichever arms are taken */
    lead ***leads;  /* those of main that an arm decides */
    jpy_set **sure; /* of main and its arms, those of `outs` that are, whatever calls hand on */
    jpy_set *ins;   /* per node: inputs of the stage it is computed from; 0: it has no history */
} values;

/* Results of the stage, those of which that is certain, and the arm that must be taken; 0: none. */
typedef struct way {
    jpy_set outs, sure;
    uint8_t arm;
} way;

static jpy_set ins_of(const body *b, const values *x, jn_value v) {
    if (jn_value_is_none(v) || !is_float(jn_value_type(b->g, v)))
        return 0;
    if (v.node)
        return x->ins[v.node];
    return b->tracked[v.index] ? b->ins : 0;
}

static jpy_set main_ins(const history *h, const body *b, const values *x, jn_value v) {
    if (b->up || v.node)
        return ins_of(b, x, v);
    for (size_t i = 0; i < h->stage->in.n; i++)
        if (!jn_value_is_none(v) && h->stage->in.data[i].param == v.index)
            return JPY_SET_OF(i);
    return 0;
}

/* Which body of a call it is, and which parameter its first operand after the condition. */
static unsigned first_operand(const jn_node *n) { return n->op->role == JN_ROLE_IF; }

/* The arm that is taken if `condition`, a value of main, holds, or does not, and arm `also` is; 0:
 * nobody can tell. */
static uint8_t arm_number(jpy_stage *x, const jn_subgraph *g, jn_value condition, bool holds,
                          uint8_t also) {
    size_t r = 0, i = 0;
    while (r < g->results.n && !jn_value_equal(g->results.data[r], condition))
        r++;
    if (r == g->results.n || (g->result_types.data[r]->kind != JANUS_KIND_BOOL &&
                              g->result_types.data[r]->kind != JANUS_KIND_INT))
        return 0;
    jpy_arm arm = {(uint32_t)r, holds, also};
    while (i < x->arms.n && (x->arms.data[i].result != r || x->arms.data[i].holds != holds ||
                             x->arms.data[i].also != also))
        i++;
    if (i == x->arms.n && (i == JPY_MAX_ARMS || !jn_vec_push(&x->arms, arm)))
        return 0;
    return (uint8_t)(i + 1);
}

/* `arm`, where it is 0, or where the other way of the branch is known, too, and that arm. */
static uint8_t both_arms(jpy_stage *x, const jn_subgraph *g, jn_value condition, bool holds,
                         uint8_t arm, bool *never) {
    uint8_t one = arm_number(x, g, condition, holds, 0);
    *never = false;
    for (uint8_t a = arm; a && one; a = x->arms.data[a - 1].also) {
        jpy_arm of = x->arms.data[a - 1];
        if (of.result != x->arms.data[one - 1].result)
            continue;
        *never = of.holds != holds;
        return arm;
    }
    if (!one || !arm)
        return one ? one : arm;
    uint8_t both = arm_number(x, g, condition, holds, arm);
    return both ? both : arm;
}

uint8_t jcv_arm_of(jpy_stage *x, const jcv_stage_at *at, const jn_node *branch, unsigned which) {
    jn_value c = branch->in[0];
    bool loop = branch->op->role == JN_ROLE_FOREACH;
    if ((branch->op->role != JN_ROLE_IF && !loop) || jn_value_is_none(c))
        return 0;
    jn_value m = c.node ? (jn_value){at->first + c.node - 1, c.index} : at->in[c.index];
    return arm_number(x, at->main, m, which == 0, 0);
}

/* The arm `also`, and in it that of a branch of main. */
static uint8_t arm_in(history *h, const jn_node *branch, unsigned which, uint8_t also,
                      bool *never) {
    const jcv_stage_at *at = h->place;
    jn_value c = branch->in[0];
    *never = false;
    if (!also || branch->op->role != JN_ROLE_IF)
        return also ? also : jcv_arm_of(h->stage, at, branch, which);
    return both_arms(h->stage, at->main,
                     c.node ? (jn_value){at->first + c.node - 1, c.index} : at->in[c.index],
                     which == 0, also, never);
}

static bool opposite(const jpy_stage *x, uint8_t a, uint8_t b) {
    jpy_arm p = x->arms.data[a - 1], q = x->arms.data[b - 1];
    return p.result == q.result && p.holds != q.holds && p.also == q.also;
}

/* Results of the stage are computed from v, if an arm is taken (0: whichever is). */
static janus_status lead_to(history *h, const values *x, jn_value v, way w) {
    lead **at = x->leads ? &x->leads[v.node][v.index] : NULL;
    jpy_set outs = w.outs;
    if (!w.arm || !at) {
        x->outs[v.node][v.index] |= outs;
        if (x->sure)
            x->sure[v.node][v.index] |= outs & w.sure;
        return JANUS_OK;
    }
    outs &= ~x->outs[v.node][v.index];
    for (lead *l = *at; l && outs; l = l->next) {
        jpy_set both = opposite(h->stage, l->arm, w.arm) ? l->outs & outs : 0;
        l->outs &= ~both;
        outs &= ~both;
        if (both)
            JN_TRY(lead_to(h, x, v,
                           (way){both, l->sure & w.sure, h->stage->arms.data[w.arm - 1].also}));
        if (l->arm == w.arm) {
            l->outs |= outs;
            l->sure |= outs & w.sure;
            return JANUS_OK;
        }
    }
    if (!outs)
        return JANUS_OK;
    lead *l = room(h, 1, sizeof *l);
    if (!l)
        return JN_NO_MEMORY();
    *l = (lead){outs, outs & w.sure, w.arm, *at};
    *at = l;
    return JANUS_OK;
}

/* What result k of a node leads to if an arm is taken, and not anyhow. */
static jpy_set led_to(const values *x, const jn_node *n, uint32_t k, uint8_t arm) {
    jpy_set outs = 0;
    if (!arm)
        return x->outs[n->id][k];
    for (const lead *l = x->leads[n->id][k]; l; l = l->next)
        outs |= l->arm == arm ? l->outs & ~x->outs[n->id][k] : 0;
    return outs;
}

/* ... and of which of them that is certain. */
static jpy_set surely_led_to(const values *x, const jn_node *n, uint32_t k, uint8_t arm) {
    jpy_set sure = 0;
    if (!x->sure || !arm)
        return x->sure ? x->sure[n->id][k] : 0;
    for (const lead *l = x->leads[n->id][k]; l; l = l->next)
        sure |= l->arm == arm ? l->sure & ~x->outs[n->id][k] : 0;
    return sure;
}

/* What is kept in a body is kept of the parameters that it may be, too. */
static janus_status keep_in(body *b, kept s, bool again) {
    bool view = false;
    JN_TRY(keep(b->g, &b->has, s, again));
    if (!b->up || !jcv_memory_of(b->g, s.v).node)
        return JANUS_OK;
    jpy_set params = jcv_params_given(b->g, s.v, JCV_MOST_GIVEN, &view);
    s.copied = s.copied || view;
    s.part = s.part || view;
    for (uint32_t p = 0; p < 64; p++) {
        s.v = (jn_value){0, p};
        if (params >> p & 1)
            JN_TRY(keep(b->g, &b->has, s, again));
    }
    return JANUS_OK;
}

/* A body that a call runs, with what its results lead to, and back with its parameters'. */
static janus_status run_body(history *h, body *caller, const values *x, const jn_node *n,
                             const jn_subgraph *g, unsigned carried, jpy_set *outs,
                             const jpy_set *sure, jpy_set *params, uint8_t arm) {
    unsigned first = first_operand(n), index = n->op->role == JN_ROLE_FOREACH;
    size_t n_results = g->results.n;
    for (body *b = caller; b; b = b->up) {
        if (b->g != g || carried)
            continue;
        b->calls_itself = true;
        for (size_t k = 0; k < n_results; k++) {
            b->again = b->again || (outs[k] & ~b->of_results[k]);
            b->of_results[k] |= outs[k];
        }
        for (uint32_t k = first; k < n->n_in && k - first < g->params.n; k++) {
            bool news = !b->tracked[k - first] && main_ins(h, caller, x, n->in[k]);
            b->tracked[k - first] = b->tracked[k - first] || news;
            b->again = b->again || news;
        }
        memcpy(params, b->of_params, g->params.n * sizeof *params);
        return JANUS_OK;
    }
    bool *tracked = room(h, g->params.n, sizeof *tracked);
    body b = {.g = g,
              .up = caller,
              .of_results = outs,
              .sure = first && !caller->up ? sure : NULL, /* an arm of main */
              .of_params = params,
              .tracked = tracked,
              .at = caller->at ? caller->at : n->id};
    if (!tracked)
        return JN_NO_MEMORY();
    for (uint32_t k = first; k < n->n_in; k++) {
        jpy_set ins = main_ins(h, caller, x, n->in[k]);
        b.ins |= ins;
        if (k - first < g->params.n)
            tracked[k - first] = ins != 0;
    }
    for (unsigned k = 0; k < carried; k++) /* what a round makes of it */
        tracked[k + index] = b.ins && is_float(g->params.data[k + index].type);
    janus_status st;
    do {
        b.again = false;
        st = walk(h, &b);
        for (unsigned k = 0; k < carried && st == JANUS_OK; k++) {
            b.again = b.again || (params[k + index] & ~outs[k]);
            outs[k] |= params[k + index];
        }
    } while (b.again && st == JANUS_OK);
    bool any = b.has.groups.n || b.has.kept.n, never = false;
    if (any && st == JANUS_OK && !caller->up)
        arm = arm_in(h, n, g == n->subs[1], arm, &never);
    if (never) {
        keeping_free(&b.has);
        return st;
    }
    for (size_t i = 0; i < b.has.groups.n && st == JANUS_OK; i++) {
        ops one = b.has.groups.data[i];
        one.g.arm = arm ? arm : one.g.arm;
        st = add_ops(&caller->has, one);
    }
    for (size_t i = 0; i < b.has.kept.n && st == JANUS_OK; i++) {
        kept s = b.has.kept.data[i];
        s.maybe = s.maybe || caller->up || !arm;
        s.arm = arm ? arm : s.arm;
        jn_value v = s.v;
        if (v.node == 0 && v.index + first < n->n_in) {
            s.v = n->in[v.index + first];
            st = keep_in(caller, s, false);
        }
        for (size_t k = 0; k < n_results && st == JANUS_OK && k < n->n_out; k++) {
            bool view = false;
            if (!jcv_may_be_in(g, g->results.data[k], v, JCV_MOST_GIVEN, &view))
                continue;
            s.v = (jn_value){n->id, (uint32_t)k};
            s.copied = s.copied || view;
            s.part = s.part || view;
            st = keep_in(caller, s, false);
        }
    }
    keeping_free(&b.has);
    return st;
}

/* What is computed of a parameter of a body by its ops alone, of what its results lead to for
 * certain. */
static jpy_set certain(history *h, const jn_subgraph *g, uint32_t param, const jpy_set *sure) {
    jpy_set any = 0;
    for (size_t k = 0; k < g->results.n; k++)
        any |= sure[k];
    bool *from = any ? room(h, g->nodes.n, sizeof *from) : NULL; /* none: it is not told */
    if (!from)
        return 0;
    any = 0;
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        for (uint32_t k = 0; k < n->n_in && n->op->role == JN_ROLE_COMPUTE && n->op->grad; k++)
            if (!jn_value_is_none(n->in[k]))
                from[i] =
                    from[i] || (n->in[k].node ? from[n->in[k].node] : n->in[k].index == param);
    }
    for (size_t k = 0; k < g->results.n; k++) {
        jn_value v = g->results.data[k];
        if (!jn_value_is_none(v) && (v.node ? from[v.node] : v.index == param))
            any |= sure[k];
    }
    return any;
}

/* `arm`: results lead on to those of the stage if it is taken. */
static janus_status run_call(history *h, body *b, const values *x, const jn_node *n, uint8_t arm) {
    unsigned first = first_operand(n);
    bool loop = n->op->role == JN_ROLE_WHILE || n->op->role == JN_ROLE_FOREACH;
    for (unsigned s = n->op->role == JN_ROLE_WHILE; s < 2 && n->subs[s]; s++) {
        const jn_subgraph *g = n->subs[s];
        jpy_set *outs = room(h, g->results.n, sizeof *outs);
        jpy_set *params = room(h, g->params.n, sizeof *params);
        jpy_set *sure = room(h, g->results.n, sizeof *sure);
        if (!outs || !params || !sure)
            return JN_NO_MEMORY();
        for (size_t k = 0; k < g->results.n && k < n->n_out; k++)
            sure[k] = surely_led_to(x, n, (uint32_t)k, arm);
        for (size_t k = 0; k < g->results.n && k < n->n_out; k++)
            outs[k] = is_float(n->out[k]) ? led_to(x, n, (uint32_t)k, arm) : 0;
        JN_TRY(run_body(h, b, x, n, g, loop ? (unsigned)g->results.n : 0, outs, sure, params, arm));
        bool hands_on = false, never = false;
        for (uint32_t k = first; k < n->n_in && k - first < g->params.n; k++)
            hands_on = hands_on || (params[k - first] && main_ins(h, b, x, n->in[k]));
        if (!hands_on)
            continue;
        uint8_t in = first && x->leads ? arm_in(h, n, s, arm, &never) : arm;
        for (uint32_t k = first; k < n->n_in && !never; k++)
            if (k - first < g->params.n && main_ins(h, b, x, n->in[k])) {
                way w = {params[k - first], loop ? 0 : certain(h, g, k - first, sure), in};
                JN_TRY(lead_to(h, x, n->in[k], w));
            }
    }
    return JANUS_OK;
}

/* An op with a history: what it keeps, and what its operands lead to. */
static janus_status run_op(history *h, body *b, const values *x, const jn_node *n, way w) {
    bool tracked[JPY_SAVES_READ] = {false};
    kept s = {.outs = w.outs,
              .ins = x->ins[n->id],
              .at = b->at ? b->at : n->id,
              .op = n->op->name,
              .arm = w.arm};
    for (uint32_t k = 0; k < n->n_in; k++) {
        bool is = main_ins(h, b, x, n->in[k]) != 0;
        if (k < JPY_SAVES_READ)
            tracked[k] = is;
        if (is)
            JN_TRY(lead_to(h, x, n->in[k], w));
    }
    bool any = false;
    for (uint32_t k = 0; k < n->n_in; k++) {
        s.v = n->in[k];
        if (jn_value_is_none(s.v) || jn_value_type(b->g, s.v)->kind != JANUS_KIND_TENSOR ||
            !jpy_op_saves(n->op, k, tracked))
            continue;
        any = true;
        JN_TRY(keep_in(b, s, !b->up || b->g->module->running_sums));
    }
    for (uint32_t k = 0; k < n->n_out; k++) {
        s.v = (jn_value){n->id, k};
        if (!jpy_op_saves_result(n->op, k, tracked))
            continue;
        any = true;
        JN_TRY(keep_in(b, s, true));
    }
    const bool apart = h->apart && x->sure && !(w.outs & ~w.sure);
    ops one = {{w.outs, s.ins, s.at, w.arm, 0}, apart ? n : NULL};
    return any ? add_ops(&b->has, one) : JANUS_OK;
}

/* A node and what its results lead to if an arm is taken; 0: whichever is. */
static janus_status run_node(history *h, body *b, const values *x, const jn_node *n, uint8_t arm,
                             bool stores) {
    way w = {.arm = arm};
    for (uint32_t k = 0; k < n->n_out; k++) {
        w.outs |= led_to(x, n, k, arm);
        w.sure |= surely_led_to(x, n, k, arm);
    }
    if ((!w.outs && !stores) || !x->ins[n->id])
        return JANUS_OK;
    return n->subs[0] ? run_call(h, b, x, n, arm) : run_op(h, b, x, n, w);
}

/* Whether a node of main leads to some results only if an arm is taken. */
static bool by_arms(const values *x, const jn_node *n) {
    bool any = false;
    for (uint32_t k = 0; k < n->n_out; k++)
        for (const lead *l = x->leads[n->id][k]; l; l = l->next)
            any = any || (l->outs & ~x->outs[n->id][k]);
    return any;
}

/* What was found of ops that were looked at apart. */
static janus_status join_ops(history *h, keeping *has) {
    ops_list l = {0};
    size_t left = 0;
    janus_status st = JANUS_OK;
    for (size_t i = 0; i < has->groups.n && st == JANUS_OK; i++) {
        if (!has->groups.data[i].op)
            has->groups.data[left++] = has->groups.data[i];
        else if (!jn_vec_push(&l, has->groups.data[i]))
            st = JN_NO_MEMORY();
    }
    has->groups.n = left;
    while (l.n && st == JANUS_OK)
        st = add_op(&h->stage->groups, &l);
    jn_vec_free(&l);
    return st;
}

enum { STORES = 1, READS = 2 };

/* What a node, or what it runs, does with what the run stores. */
static uint8_t wires_of(const history *h, const jn_node *n) {
    uint8_t w = n->op == JN_OP(wire_put) ? STORES : n->op == JN_OP(wire_read) ? READS : 0;
    for (unsigned s = 0; s < 2 && n->subs[s]; s++)
        w |= h->wires[n->subs[s]->index];
    return w;
}

static janus_status find_wires(history *h) {
    const janus_module *m = h->stage->sub->module;
    h->wires = room(h, m->subs.n, 1);
    if (!h->wires)
        return JN_NO_MEMORY();
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < m->subs.n; i++)
            for (size_t k = 1; k < m->subs.data[i]->nodes.n; k++) {
                uint8_t w = wires_of(h, m->subs.data[i]->nodes.data[k]);
                changed = changed || (w & ~h->wires[i]);
                h->wires[i] |= w;
            }
    }
    return JANUS_OK;
}

/* Which results may be computed from what the stage stores: it is not known what a read gives. */
static janus_status find_readers(history *h) {
    const jn_subgraph *g = h->stage->sub;
    bool *reads = room(h, g->nodes.n, sizeof *reads);
    if (!reads)
        return JN_NO_MEMORY();
    JN_TRY(find_wires(h));
    for (size_t i = 1; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        reads[i] = wires_of(h, n) & READS;
        for (uint32_t k = 0; k < n->n_in && !reads[i]; k++)
            reads[i] = !jn_value_is_none(n->in[k]) && reads[n->in[k].node];
    }
    for (size_t i = 0; i < h->stage->place.n; i++)
        if (reads[g->results.data[h->stage->place.data[i]].node])
            h->readers |= JPY_SET_OF(i);
    return JANUS_OK;
}

static janus_status walk(history *h, body *b) {
    const jn_subgraph *g = b->g;
    jpy_set stored = h->readers | (h->remains ? JPY_SET_WAITS : 0);
    values x = {room(h, g->nodes.n, sizeof *x.outs),
                b->up ? NULL : room(h, g->nodes.n, sizeof *x.leads),
                b->up && !b->sure ? NULL : room(h, g->nodes.n, sizeof *x.sure),
                room(h, g->nodes.n, sizeof *x.ins)};
    if (!x.outs || !x.ins || (!x.leads && !b->up) || (!x.sure && (!b->up || b->sure)))
        return JN_NO_MEMORY();
    for (size_t i = 0; i < g->nodes.n; i++) {
        const jn_node *n = g->nodes.data[i];
        size_t n_values = i ? n->n_out : g->params.n;
        if (!(x.outs[i] = room(h, n_values, sizeof **x.outs)) ||
            (x.leads && !(x.leads[i] = room(h, n_values, sizeof **x.leads))) ||
            (x.sure && !(x.sure[i] = room(h, n_values, sizeof **x.sure))))
            return JN_NO_MEMORY();
        if (i && n->op->role == JN_ROLE_COMPUTE && !n->op->grad)
            continue;
        for (uint32_t k = 0; i && k < n->n_in; k++)
            x.ins[i] |= main_ins(h, b, &x, n->in[k]);
        if (i && (wires_of(h, n) & READS))
            x.ins[i] = ~(jpy_set)0;
    }
    for (size_t k = 0; k < g->results.n; k++)
        if (!jn_value_is_none(g->results.data[k]) && main_ins(h, b, &x, g->results.data[k]))
            JN_TRY(lead_to(h, &x, g->results.data[k],
                           (way){b->of_results[k], b->sure ? b->sure[k] : b->of_results[k], 0}));
    for (size_t i = g->nodes.n; i-- > 1;) {
        const jn_node *n = g->nodes.data[i];
        if (n->op == JN_OP(wire_put) && main_ins(h, b, &x, n->in[0]))
            x.outs[n->in[0].node][n->in[0].index] |= stored;
        if (x.leads)
            h->apart = by_arms(&x, n);
        JN_TRY(run_node(h, b, &x, n, 0, h->readers && (wires_of(h, n) & STORES)));
        for (uint8_t arm = 1; x.leads && arm <= h->stage->arms.n; arm++)
            JN_TRY(run_node(h, b, &x, n, arm, false));
        if (x.leads && h->apart)
            JN_TRY(join_ops(h, &b->has));
    }
    for (size_t p = 0; p < g->params.n && b->of_params; p++) {
        b->again = b->again || (b->calls_itself && (x.outs[0][p] & ~b->of_params[p]));
        b->of_params[p] |= x.outs[0][p];
    }
    return JANUS_OK;
}

/* The value of main that a value of the stage is. */
static jn_value in_main(const jcv_stage_at *at, jn_value v) {
    return v.node ? (jn_value){at->first + v.node - 1, v.index} : at->in[v.index];
}

/* Copies that the frame has of views of what it keeps of v, and v itself where a view of it has
 * left; where they cannot be found again (external_run.c), it is said that there are some. */
static janus_status find_copies(jpy_stage *x, jn_value v, uint32_t which, jn_value leaves) {
    const jn_subgraph *g = x->sub;
    bool is_view = !jn_value_is_none(leaves), whole = !is_view, lost = false;
    uint32_t as = v.index, from = 0;
    for (; v.node && as < g->results.n && !jn_value_equal(g->results.data[as], v);)
        as++;
    for (; is_view && from < g->results.n && !jn_value_equal(g->results.data[from], leaves);)
        from++;
    for (uint32_t m = 0; m < g->saved.n; m++) {
        jn_value has = g->saved.data[m].value;
        jpy_copy c = {.kept = which, .member = m};
        if (g->saved.data[m].frame)
            continue;
        if (!jn_value_equal(jcv_memory_of(g, has), v) || (!is_view && jn_value_equal(has, v)))
            continue;
        c.back = is_view && jn_value_equal(has, v);
        c.param = !c.back && !v.node;
        c.of = c.back ? from : as;
        whole = whole || c.back;
        lost = lost || (is_view && !c.back) || (!c.param && c.of >= g->results.n);
        if (!jn_vec_push(&x->copies, c))
            return JN_NO_MEMORY();
    }
    x->kept.data[which].copied = lost || !whole;
    return JANUS_OK;
}

/* Adds what is kept of an input of the run (slot) or of a result of it, which leaves as `leaves`.
 */
static janus_status add_kept(jpy_stage *x, const kept *s, uint32_t slot, bool is_result,
                             jn_value leaves) {
    jpy_kept k = {.slot = slot,
                  .op = s->op,
                  .outs = s->outs,
                  .ins = s->ins,
                  .at = s->at,
                  .arm = s->arm,
                  .is_result = is_result,
                  .maybe = s->maybe && !s->part,
                  .copied = s->copied};
    size_t i = 0; /* found before, by what the graph keeps; for all results, since not known */
    while (i < x->kept.n && (is_result || x->kept.data[i].slot != slot || x->kept.data[i].at ||
                             (x->kept.data[i].arm && x->kept.data[i].arm != k.arm)))
        i++;
    if (i < x->kept.n) {
        k.arm = x->kept.data[i].arm; /* 0: it keeps it whichever arm is taken */
        x->kept.data[i] = k;
    } else if (!jn_vec_push(&x->kept, k))
        return JN_NO_MEMORY();
    return k.copied ? JANUS_OK : find_copies(x, s->v, (uint32_t)i, leaves);
}

/* What is kept of something is kept of x, as it is given; false: an arm that k belongs to excludes
 * that. */
static bool kept_of(history *h, const jn_node *n, const jcv_given *x, kept *k) {
    const jn_subgraph *g = h->place->main;
    bool never = false;
    k->copied = k->copied || x->view || !jn_value_equal(jcv_memory_of(g, x->v), x->v);
    k->part = k->part || x->view;
    k->maybe = k->maybe || n->op->role == JN_ROLE_INVOKE || n->op->role == JN_ROLE_FOREACH ||
               n->op->role == JN_ROLE_WHILE;
    if (x->when != JCV_GIVEN_EITHER_WAY)
        k->arm = both_arms(h->stage, g, n->in[0], x->when == JCV_GIVEN_IF_SO, k->arm, &never);
    return !never;
}

/* Whether the result `of` of main is, at least if an arm is taken which hands it on, the tensor v;
 * k->arm, where it is 0, becomes that arm. */
static bool may_be(history *h, jn_value of, jn_value v, kept *k, unsigned depth) {
    const jn_subgraph *g = h->place->main;
    jn_value leaves = of;
    of = jcv_memory_of(g, of);
    if (jn_value_equal(of, v))
        return true;
    k->copied = k->copied || !jn_value_equal(leaves, of);
    if (!of.node || !depth)
        return false;
    jcv_all_given all;
    jcv_find_given(g, of, JCV_MOST_GIVEN, &all);
    for (unsigned i = 0; i < all.n; i++) {
        kept inner = *k;
        if (kept_of(h, g->nodes.data[of.node], &all.of[i], &inner) &&
            may_be(h, all.of[i].v, v, &inner, depth - 1)) {
            *k = inner;
            return true;
        }
    }
    return false;
}

/* What is kept of v, a value of main that has its own memory, is kept of the input or the results
 * that it is, or may be if an arm is taken, or a loop or a callee hands it on. */
static janus_status place_value(history *h, kept s, jn_value v, unsigned depth) {
    const jcv_stage_at *at = h->place;
    const jn_subgraph *g = at->main, *x = h->stage->sub;
    if (v.node == 0)
        return add_kept(h->stage, &s, at->inputs[v.index].slot, false, JN_VALUE_NONE);
    for (size_t r = 0; r < g->results.n; r++) {
        jn_value leaves = g->results.data[r];
        kept one = s;
        if (!leaves.node || jn_value_type(g, leaves)->kind != JANUS_KIND_TENSOR ||
            !may_be(h, leaves, v, &one, JCV_MOST_GIVEN))
            continue;
        bool here = leaves.node >= at->first && leaves.node < at->first + x->nodes.n - 1;
        jn_value own = {leaves.node - at->first + 1, leaves.index};
        own = jn_value_equal(leaves, v) ? JN_VALUE_NONE : own;
        one.copied = one.copied || (!jn_value_is_none(own) && !here);
        JN_TRY(add_kept(h->stage, &one, (uint32_t)r, true, own));
    }
    jcv_all_given all = {.n = 0};
    if (depth < JCV_MOST_GIVEN)
        jcv_find_given(g, v, JCV_MOST_GIVEN, &all);
    for (unsigned i = 0; i < all.n; i++) {
        kept one = s;
        if (kept_of(h, g->nodes.data[v.node], &all.of[i], &one))
            JN_TRY(place_value(h, one, jcv_memory_of(g, all.of[i].v), depth + 1));
    }
    return JANUS_OK;
}

static janus_status place_kept(history *h, const body *b, const jcv_stage_at *at) {
    for (size_t i = 0; i < h->stage->kept.n; i++)
        h->stage->kept.data[i].outs = h->stage->kept.data[i].ins = ~(jpy_set)0;
    for (size_t i = 0; i < b->has.kept.n; i++) {
        kept s = b->has.kept.data[i];
        jn_value m = in_main(at, s.v), v = jcv_memory_of(at->main, m);
        s.copied = s.copied || !jn_value_equal(m, v);
        JN_TRY(place_value(h, s, v, 0));
    }
    return JANUS_OK;
}

janus_status jcv_history(jpy_stage *x, const jcv_stage_at *at, jn_arena *arena) {
    const jn_subgraph *g = x->sub;
    history h = {.place = at, .arena = arena, .stage = x, .remains = at->remains};
    body b = {.g = g, .of_results = room(&h, g->results.n, sizeof *b.of_results)};
    if (!b.of_results)
        return JN_NO_MEMORY();
    for (size_t i = 0; i < x->place.n; i++)
        b.of_results[x->place.data[i]] = JPY_SET_OF(i);
    janus_status st = find_readers(&h);
    if (st == JANUS_OK)
        st = walk(&h, &b);
    if (st == JANUS_OK)
        st = place_kept(&h, &b, at);
    for (size_t i = 0; i < b.has.groups.n && st == JANUS_OK; i++) {
        jpy_group one = b.has.groups.data[i].g;
        one.same = (uint32_t)x->groups.n;
        if (!jn_vec_push(&x->groups, one))
            st = JN_NO_MEMORY();
    }
    keeping_free(&b.has);
    return st;
}
