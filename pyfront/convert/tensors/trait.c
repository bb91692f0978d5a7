/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a value has a trait, on whichever path the graph takes.
 *
 * What an `if` or a loop leaves depends on what ran: a loop without rounds hands on what it got, an
 * arm may leave a value as it was.  Where that decides, the loops and arms carry a bool beside the
 * value, which says whether it has the trait so far.  So do recursions, whose paths return what has
 * it or has not.
 *
 * What is certain of a recursion is what all its calls have in common: its parameters have a trait
 * if all arguments do, a call's results if all paths leave them so.
 */
#include "pyfront/convert/tensors/tensors.h"

#include <string.h>

#include "ops/op_ids.h"

typedef struct asking {
    jcv *c;
    const jcv_trait *t;
} asking;

enum { NOT_ASKED, ON_ALL_PATHS, NOT_ON_ALL };

static bool certain(const asking *q, jcv_val *v);

/* Whether it may have the trait at all. */
static bool may_have(const asking *q, const jcv_val *v) { return q->t->by_node || v->depends; }

static bool is_loop(const jcv_node *n) {
    return jcv_role(n) == JN_ROLE_FOREACH || jcv_role(n) == JN_ROLE_WHILE;
}

static bool is_invoke(const jcv_node *n) { return jcv_role(n) == JN_ROLE_INVOKE; }

static bool is_if(const jcv_node *n) { return jcv_role(n) == JN_ROLE_IF; }

/* The body of a loop; its result i is the next value of parameter i + first_carried, which is fed
 * by the operand of that number. */
static jcv_ctx *body_of(const jcv_node *n) { return n->subs[n->op->role == JN_ROLE_WHILE ? 1 : 0]; }
static unsigned first_carried(const jcv_node *n) { return n->op->role == JN_ROLE_FOREACH; }

/* ---- for certain -------------------------------------------------------------------------------
 */

static jcv_has *has(const asking *q, jcv_val *v) { return &v->has[q->t->which]; }
static jcv_sure *sure(const asking *q, jcv_ctx *f) { return &f->sure[q->t->which]; }

static void forget(const asking *q, jcv_ctx *x) {
    for (size_t i = 0; i < x->params.n; i++)
        has(q, x->params.data[i])->certain = NOT_ASKED;
    for (size_t i = 0; i < x->nodes.n; i++) {
        jcv_node *n = x->nodes.data[i];
        n->settled[q->t->which] = false;
        for (unsigned k = 0; k < n->n_out; k++)
            has(q, &n->out[k])->certain = NOT_ASKED;
        for (int k = 0; k < 2; k++)
            if (n->subs[k] && n->subs[k]->kind != JCV_FUNC)
                forget(q, n->subs[k]);
    }
}

/* Finds which parameters of a loop's body have the trait at the beginning of every round: those
 * that have it at first and that each round leaves so. */
static void settle(const asking *q, jcv_node *n) {
    jcv_ctx *body = body_of(n);
    unsigned first = first_carried(n);
    bool *on = jcv_alloc(q->c, n->n_in + 1);
    if (n->settled[q->t->which])
        return;
    for (unsigned i = first; i < n->n_in; i++)
        on[i] = jcv_is_float(n->in[i]) && certain(q, n->in[i]);
    for (bool again = true; again;) {
        again = false;
        forget(q, body);
        for (unsigned i = first; i < n->n_in && i < body->params.n; i++)
            has(q, body->params.data[i])->certain = on[i] ? ON_ALL_PATHS : NOT_ON_ALL;
        for (size_t i = 0; i < body->results.n && i + first < n->n_in; i++)
            if (on[i + first] && !certain(q, body->results.data[i]))
                again = true, on[i + first] = false;
    }
    n->settled[q->t->which] = true;
}

static bool certain_result(const asking *q, jcv_val *v, jcv_node *n) {
    if (is_if(n)) {
        bool rows = false; /* a list that has none so far says nothing */
        for (int k = 0; k < 2; k++) {
            jcv_val *r =
                v->index < n->subs[k]->results.n ? n->subs[k]->results.data[v->index] : NULL;
            if (!r || (!r->no_rows && !certain(q, r)))
                return false;
            rows = rows || !r->no_rows;
        }
        return rows;
    } else if (is_loop(n)) {
        unsigned at = v->index + first_carried(n);
        settle(q, n);
        return at >= n->n_in || v->index >= body_of(n)->results.n ||
               ((n->in[at]->no_rows || certain(q, n->in[at])) &&
                certain(q, body_of(n)->results.data[v->index]));
    } else if (is_invoke(n)) {
        const jcv_sure *f = sure(q, n->subs[0]);
        return may_have(q, v) && (v->index >= f->n_results || f->results[v->index]);
    }
    bool any =
        q->t->by_itself(q->c, v) && (!q->t->where || certain(&(asking){q->c, q->t->where}, v));
    bool computes = !q->t->by_node && jcv_role(n) == JN_ROLE_COMPUTE && n->op->grad;
    for (unsigned i = 0; computes && v->depends && i < n->n_in && !any; i++)
        any = jcv_is_float(n->in[i]) && certain(q, n->in[i]);
    return any;
}

static bool certain_param(const asking *q, jcv_val *v) {
    const jcv_sure *f = v->ctx->kind == JCV_FUNC ? sure(q, v->ctx) : NULL;
    if (f)
        return v->index >= f->n_params || f->params[v->index];
    return v->ctx != q->c->main || q->t->by_itself(q->c, v);
}

static bool certain(const asking *q, jcv_val *v) {
    uint8_t *is = &has(q, v)->certain;
    if (*is == NOT_ASKED) {
        *is = ON_ALL_PATHS;
        bool r = v->moot || (v->node ? certain_result(q, v, v->node) : certain_param(q, v));
        *is = r ? ON_ALL_PATHS : NOT_ON_ALL;
    }
    return *is == ON_ALL_PATHS;
}

/* The parameters of the loops around are known first. */
static void settle_around(const asking *q, const jcv_ctx *x) {
    if (x->parent)
        settle_around(q, x->parent);
    if (x->of && is_loop(x->of) && body_of(x->of) == x)
        settle(q, x->of);
}

static bool lower(const asking *q, bool *on, jcv_val *v) {
    if (!*on || !jcv_is_float(v) || certain(q, v))
        return false;
    *on = false;
    return true;
}

static bool lower_calls(const asking *q, jcv_ctx *x) {
    bool changed = false;
    const jcv_sure *mine = sure(q, x);
    settle_around(q, x);
    for (size_t k = 0; k < x->nodes.n; k++) {
        const jcv_node *n = x->nodes.data[k];
        const jcv_sure *f = is_invoke(n) ? sure(q, n->subs[0]) : NULL;
        for (unsigned j = 0; f && j < n->n_in && j < f->n_params; j++)
            changed = lower(q, &f->params[j], n->in[j]) || changed;
    }
    for (size_t i = 0; x->kind == JCV_FUNC && i < mine->n_results; i++)
        changed = lower(q, &mine->results[i], x->results.data[i]) || changed;
    return changed;
}

/* What is common is assumed first, then lowered. */
void jcv_trait_survey(jcv *c, const jcv_trait *t) {
    if (t->where)
        jcv_trait_survey(c, t->where);
    asking ask = {c, t};
    const asking *q = &ask;
    bool any = false;
    for (size_t i = 0; i < c->ctxs.n; i++) {
        const jcv_ctx *x = c->ctxs.data[i];
        if (x->kind != JCV_FUNC)
            continue;
        any = true;
        jcv_sure *f = sure(q, c->ctxs.data[i]);
        f->results = jcv_alloc(c, x->results.n + 1);
        f->params = jcv_alloc(c, x->params.n + 1);
        f->n_results = x->results.n;
        f->n_params = x->params.n;
        memset(f->results, true, f->n_results);
        memset(f->params, true, f->n_params);
    }
    for (bool again = any; again;) {
        again = false;
        for (size_t i = 0; i < c->ctxs.n; i++)
            forget(q, c->ctxs.data[i]);
        for (size_t i = 0; i < c->ctxs.n; i++)
            again = lower_calls(q, c->ctxs.data[i]) || again;
    }
    for (size_t i = 0; i < c->ctxs.n && !any; i++) /* a value in a loop may be asked of first */
        settle_around(q, c->ctxs.data[i]);
}

/* ---- as the graph finds ------------------------------------------------------------------------
 */

static jcv_val always, never;

static jcv_val *flag_of(const asking *q, jcv_val *v);

static void push(const asking *q, jcv_ctx *x, jcv_val *v) {
    if (!jn_vec_push(&x->results, v))
        jcv_refuse(q->c, "out of memory");
}

/* Moves the newest node of x to place `at`. */
static void move_last(jcv_ctx *x, size_t at) {
    jcv_node **nodes = x->nodes.data, *n = nodes[x->nodes.n - 1];
    memmove(nodes + at + 1, nodes + at, (x->nodes.n - 1 - at) * sizeof *nodes);
    nodes[at] = n;
}

/* The flag as a value of the graph; constants come first in `x`. */
static jcv_val *as_value(const asking *q, jcv_ctx *x, jcv_val *flag) {
    if (flag != &always && flag != &never)
        return flag;
    jcv_ctx *place = q->c->ctx;
    q->c->ctx = x;
    jcv_val *v = jcv_scalar_const(q->c, JANUS_KIND_BOOL, (janus_scalar){.i = flag == &always});
    q->c->ctx = place;
    move_last(x, 0);
    return v;
}

/* a or b, right after what it is about, and after b, which may be about the same. */
static jcv_val *either(const asking *q, jcv_val *a, jcv_val *b, const jcv_val *about) {
    jcv_ctx *x = about->ctx, *place = q->c->ctx;
    size_t at = 0, last = x->nodes.n;
    if (a == &never || a == b)
        return b;
    if (b == &never)
        return a;
    q->c->ctx = x;
    jcv_val *in[2] = {a, b}, *v = &jcv_op(q->c, JN_OP(s_or), in, 2, NULL)->out[0];
    q->c->ctx = place;
    while (x->nodes.data[at] != about->node)
        at++;
    for (size_t i = at + 1; i < last; i++)
        at = x->nodes.data[i] == b->node ? i : at;
    move_last(x, at + 1);
    return v;
}

/* One more result of a call; there is room (jcv_call_node). */
static jcv_val *more(const asking *q, jcv_node *n) {
    jcv_val *v = &n->out[n->n_out];
    *v = (jcv_val){.ctx = n->out[0].ctx,
                   .node = n,
                   .index = n->n_out++,
                   .type = jcv_type(q->c, jn_scalar_type(JANUS_KIND_BOOL)),
                   .emitted = JN_VALUE_NONE};
    return v;
}

/* Has a loop carry the flag of its parameter k, too. */
static void carry(const asking *q, jcv_node *n, unsigned k) {
    jcv_ctx *body = body_of(n);
    unsigned i = k - first_carried(n);
    const jn_type *type = jcv_type(q->c, jn_scalar_type(JANUS_KIND_BOOL));
    jcv_val *start = as_value(q, n->out[0].ctx, flag_of(q, n->in[k]));
    jcv_val **in = jcv_alloc(q->c, (n->n_in + 1) * sizeof *in);
    memcpy(in, n->in, n->n_in * sizeof *in);
    in[n->n_in++] = start;
    n->in = in;
    if (n->subs[1])
        (void)jcv_param(q->c, n->subs[0], type);
    has(q, body->params.data[k])->flag = jcv_param(q->c, body, type);
    has(q, &n->out[i])->flag = more(q, n);
    size_t at = body->results.n;
    push(q, body, start);
    jcv_val *v = as_value(q, body, flag_of(q, body->results.data[i]));
    body->results.data[at] = v;
}

typedef void (*call_fn)(const asking *q, jcv_ctx *x, jcv_node *call, unsigned at, unsigned of);

/* All calls of a recursion; `fn` may put nodes in front of one. */
static void each_call(const asking *q, const jcv_ctx *f, call_fn fn, unsigned at, unsigned of) {
    for (size_t i = 0; i < q->c->ctxs.n; i++)
        for (size_t k = 0; k < q->c->ctxs.data[i]->nodes.n; k++) {
            jcv_node *n = q->c->ctxs.data[i]->nodes.data[k];
            if (is_invoke(n) && n->subs[0] == f)
                fn(q, q->c->ctxs.data[i], n, at, of);
        }
}

static void one_result_more(const asking *q, jcv_ctx *x, jcv_node *n, unsigned at, unsigned of) {
    (void)x, (void)of;
    if (n->n_out == at)
        (void)more(q, n);
}

/* A recursion returns the flag, too. */
static jcv_val *flag_of_call(const asking *q, const jcv_val *v, jcv_node *n) {
    jcv_ctx *f = n->subs[0];
    jcv_sure *of = sure(q, f);
    if (!may_have(q, v) || v->index >= of->n_results)
        return &never;
    if (!of->flag_at)
        of->flag_at = jcv_alloc(q->c, of->n_results * sizeof *of->flag_at);
    if (!of->flag_at[v->index]) {
        unsigned at = of->flag_at[v->index] = (unsigned)f->results.n;
        push(q, f, as_value(q, f, &always));
        each_call(q, f, one_result_more, at, 0);
        jcv_val *flag = as_value(q, f, flag_of(q, f->results.data[v->index]));
        f->results.data[at] = flag;
    }
    return &n->out[of->flag_at[v->index]];
}

static void one_operand_more(const asking *q, jcv_ctx *x, jcv_node *n, unsigned at, unsigned of) {
    (void)x, (void)of;
    jcv_val **in = jcv_alloc(q->c, (at + 1) * sizeof *in);
    memcpy(in, n->in, n->n_in * sizeof *in);
    n->in = in;
    n->n_in = at + 1;
}

static void pass_flag(const asking *q, jcv_ctx *x, jcv_node *n, unsigned at, unsigned of) {
    if (!n->in[at])
        n->in[at] = as_value(q, x, flag_of(q, n->in[of]));
}

/* A recursion gets the flag, too. */
static jcv_val *flag_of_param(const asking *q, jcv_val *v) {
    jcv_ctx *f = v->ctx;
    unsigned at = (unsigned)f->params.n;
    has(q, v)->flag = jcv_param(q->c, f, jcv_type(q->c, jn_scalar_type(JANUS_KIND_BOOL)));
    each_call(q, f, one_operand_more, at, v->index);
    each_call(q, f, pass_flag, at, v->index);
    return has(q, v)->flag;
}

static jcv_val *flag_of_if(const asking *q, const jcv_val *v, jcv_node *n) {
    jcv_val *a = flag_of(q, n->subs[0]->results.data[v->index]),
            *b = flag_of(q, n->subs[1]->results.data[v->index]);
    if (a == b)
        return a;
    if (!q->t->branches && (a == &always || a == &never) && (b == &always || b == &never) &&
        !v->ctx->in_loop && v->ctx->fn == q->c->main)
        return &never;
    push(q, n->subs[0], as_value(q, n->subs[0], a));
    push(q, n->subs[1], as_value(q, n->subs[1], b));
    return more(q, n);
}

/* Whether an operand of v's node is greater than 0, right after that node. */
static jcv_val *is_any(const asking *q, const jcv_val *v, jcv_val *operand) {
    jcv_ctx *x = v->ctx, *place = q->c->ctx;
    size_t at = 0;
    q->c->ctx = x;
    jcv_val *in[2] = {operand, jcv_int_const(q->c, 0)};
    jcv_val *flag = &jcv_op(q->c, JN_OP(s_gt), in, 2, NULL)->out[0];
    q->c->ctx = place;
    while (x->nodes.data[at] != v->node)
        at++;
    move_last(x, at + 1);
    if (x->nodes.data[x->nodes.n - 1] == in[1]->node) /* the constant, where it is new */
        move_last(x, 0);
    return flag;
}

/* The loop whose body's parameter v is, and which one. */
static jcv_node *loop_of(const jcv_val *v, unsigned *out_k) {
    jcv_node *n = v->ctx->of;
    if (!n || !is_loop(n) || body_of(n) != v->ctx)
        return NULL;
    for (*out_k = 0; *out_k < n->n_in; ++*out_k)
        if (v->ctx->params.data[*out_k] == v)
            return n;
    return NULL;
}

static jcv_val *find_flag(const asking *q, jcv_val *v) {
    jcv_node *n = v->node;
    unsigned k;
    if (!n) {
        jcv_node *loop = loop_of(v, &k);
        if (v->ctx->kind == JCV_FUNC)
            return flag_of_param(q, v);
        if (!loop)
            return v->ctx == q->c->main ? &never : &always;
        carry(q, loop, k);
        return has(q, v)->flag;
    }
    if (n->mixed && q->t->by_number)
        return is_any(q, v, n->in[1]); /* what was stored without history has the number 0 */
    if (is_if(n))
        return flag_of_if(q, v, n);
    if (is_invoke(n))
        return flag_of_call(q, v, n);
    if (is_loop(n)) {
        k = v->index + first_carried(n);
        if (jcv_role(n) == JN_ROLE_FOREACH && certain(q, body_of(n)->results.data[v->index]))
            return either(q, flag_of(q, n->in[k]), is_any(q, v, n->in[0]), v); /* any round does */
        (void)flag_of(q, body_of(n)->params.data[k]);
        if (!has(q, v)->flag) /* the parameter is certain, the result is not */
            carry(q, n, k);
        return has(q, v)->flag;
    }
    jcv_val *flag = &never;
    if (q->t->where && q->t->by_itself(q->c, v))
        flag = flag_of(&(asking){q->c, q->t->where}, v);
    bool computes = !q->t->by_node && jcv_role(n) == JN_ROLE_COMPUTE && n->op->grad;
    for (unsigned i = 0; computes && i < n->n_in && v->depends; i++)
        if (jcv_is_float(n->in[i]))
            flag = either(q, flag_of(q, n->in[i]), flag, v);
    return flag;
}

static jcv_val *flag_of(const asking *q, jcv_val *v) {
    if (certain(q, v))
        return &always;
    if (!may_have(q, v))
        return &never;
    if (!has(q, v)->flag) {
        jcv_val *flag = find_flag(q, v);
        has(q, v)->flag = flag;
    }
    return has(q, v)->flag;
}

bool jcv_trait_certain(jcv *c, const jcv_trait *t, jcv_val *v) {
    return certain(&(asking){c, t}, v);
}

jcv_val *jcv_trait_flag(jcv *c, const jcv_trait *t, jcv_val *v, bool *out_always) {
    jcv_val *flag = flag_of(&(asking){c, t}, v);
    *out_always = flag == &always;
    return flag == &always || flag == &never ? NULL : flag;
}

void jcv_trait_is(const jcv_trait *t, jcv_val *v) { v->has[t->which].certain = ON_ALL_PATHS; }
