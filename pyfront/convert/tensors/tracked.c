/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a value requires grad, on whichever path the graph takes.
 *
 * A result either requires grad or it does not; a graph has it one way, so it must be certain, or
 * be asserted.  What an `if` or a loop leaves depends on what ran: a loop without rounds hands on
 * what it got, an arm may leave a value as it was.  Where that decides, the loops and arms carry a
 * bool beside the value, which says whether it requires grad so far.  So do recursions, whose paths
 * return what was recorded or was not.
 *
 * What is certain of a recursion is what all its calls have in common: its parameters require grad
 * if all arguments do, a call's results if all paths leave them so.
 */
#include "pyfront/convert/tensors/tensors.h"

#include <string.h>

#include "ops/op_ids.h"

enum { NOT_ASKED, ON_ALL_PATHS, NOT_ON_ALL };

static bool certain(jcv *c, jcv_val *v);

static bool is_float(const jcv_val *v) {
    return v && v->type->kind == JANUS_KIND_TENSOR && jn_dtype_is_float(v->type->dtype);
}

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

static void forget(jcv_ctx *x) {
    for (size_t i = 0; i < x->params.n; i++)
        x->params.data[i]->tracked = NOT_ASKED;
    for (size_t i = 0; i < x->nodes.n; i++) {
        jcv_node *n = x->nodes.data[i];
        n->settled = false;
        for (unsigned k = 0; k < n->n_out; k++)
            n->out[k].tracked = NOT_ASKED;
        for (int k = 0; k < 2; k++)
            if (n->subs[k] && n->subs[k]->kind != JCV_FUNC)
                forget(n->subs[k]);
    }
}

/* Finds which parameters of a loop's body require grad at the beginning of every round: those that
 * do at first and that each round leaves so. */
static void settle(jcv *c, jcv_node *n) {
    jcv_ctx *body = body_of(n);
    unsigned first = first_carried(n);
    bool *on = jcv_alloc(c, n->n_in + 1);
    if (n->settled)
        return;
    for (unsigned i = first; i < n->n_in; i++)
        on[i] = is_float(n->in[i]) && certain(c, n->in[i]);
    for (bool again = true; again;) {
        again = false;
        forget(body);
        for (unsigned i = first; i < n->n_in && i < body->params.n; i++)
            body->params.data[i]->tracked = on[i] ? ON_ALL_PATHS : NOT_ON_ALL;
        for (size_t i = 0; i < body->results.n && i + first < n->n_in; i++)
            if (on[i + first] && !certain(c, body->results.data[i]))
                again = true, on[i + first] = false;
    }
    n->settled = true;
}

static bool certain_result(jcv *c, jcv_val *v, jcv_node *n) {
    if (is_if(n)) {
        bool rows = false; /* a list that has none so far says nothing */
        for (int k = 0; k < 2; k++) {
            jcv_val *r =
                v->index < n->subs[k]->results.n ? n->subs[k]->results.data[v->index] : NULL;
            if (!r || (!r->no_rows && !certain(c, r)))
                return false;
            rows = rows || !r->no_rows;
        }
        return rows;
    } else if (is_loop(n)) {
        unsigned at = v->index + first_carried(n);
        settle(c, n);
        return at >= n->n_in || v->index >= body_of(n)->results.n ||
               ((n->in[at]->no_rows || certain(c, n->in[at])) &&
                certain(c, body_of(n)->results.data[v->index]));
    } else if (is_invoke(n)) {
        const jcv_ctx *f = n->subs[0];
        return v->depends && (v->index >= f->n_sure || f->sure[v->index]);
    } else if (jcv_role(n) == JN_ROLE_HOST) {
        return v->depends && !n->mixed;
    } else if (n->op == JN_OP(detach)) {
        return v->depends; /* a leaf that was written (backward.c) */
    } else if (jcv_role(n) == JN_ROLE_COMPUTE) {
        bool any = false;
        for (unsigned i = 0; i < n->n_in && n->op->grad && v->depends && !any; i++)
            any = is_float(n->in[i]) && certain(c, n->in[i]);
        return any;
    } else if (!n->op || n->op->role == JN_ROLE_CONST || n->op->role == JN_ROLE_RNG) {
        return false;
    }
    return true;
}

static bool certain_param(const jcv *c, const jcv_val *v) {
    if (v->ctx->kind == JCV_FUNC)
        return v->index >= v->ctx->n_sure_params || v->ctx->sure_params[v->index];
    for (size_t i = 0; v->ctx == c->main && i < c->main->params.n; i++)
        if (c->main->params.data[i] == v)
            return c->inputs.data[i]->tensor.requires_grad;
    return true;
}

static bool certain(jcv *c, jcv_val *v) {
    if (v->tracked == NOT_ASKED) {
        v->tracked = ON_ALL_PATHS;
        bool r = v->moot || (v->node ? certain_result(c, v, v->node) : certain_param(c, v));
        v->tracked = r ? ON_ALL_PATHS : NOT_ON_ALL;
    }
    return v->tracked == ON_ALL_PATHS;
}

/* The parameters of the loops around are known first. */
static void settle_around(jcv *c, const jcv_ctx *x) {
    if (x->parent)
        settle_around(c, x->parent);
    if (x->of && is_loop(x->of) && body_of(x->of) == x)
        settle(c, x->of);
}

static bool lower(jcv *c, bool *sure, jcv_val *v) {
    if (!*sure || !is_float(v) || certain(c, v))
        return false;
    *sure = false;
    return true;
}

static bool lower_calls(jcv *c, const jcv_ctx *x) {
    bool changed = false;
    settle_around(c, x);
    for (size_t k = 0; k < x->nodes.n; k++) {
        const jcv_node *n = x->nodes.data[k];
        for (unsigned j = 0; is_invoke(n) && j < n->n_in && j < n->subs[0]->n_sure_params; j++)
            changed = lower(c, &n->subs[0]->sure_params[j], n->in[j]) || changed;
    }
    for (size_t i = 0; x->kind == JCV_FUNC && i < x->n_sure; i++)
        changed = lower(c, &x->sure[i], x->results.data[i]) || changed;
    return changed;
}

/* Finds what all calls of recursions have in common: assumed first, then lowered. */
static void survey(jcv *c) {
    bool any = false;
    for (size_t i = 0; i < c->ctxs.n; i++) {
        jcv_ctx *x = c->ctxs.data[i];
        if (x->kind != JCV_FUNC)
            continue;
        any = true;
        x->sure = jcv_alloc(c, x->results.n + 1);
        x->sure_params = jcv_alloc(c, x->params.n + 1);
        x->n_sure = x->results.n;
        x->n_sure_params = x->params.n;
        memset(x->sure, true, x->n_sure);
        memset(x->sure_params, true, x->n_sure_params);
    }
    for (bool again = any; again;) {
        again = false;
        for (size_t i = 0; i < c->ctxs.n; i++)
            forget(c->ctxs.data[i]);
        for (size_t i = 0; i < c->ctxs.n; i++)
            again = lower_calls(c, c->ctxs.data[i]) || again;
    }
}

/* ---- as the graph finds ------------------------------------------------------------------------
 */

static jcv_val always, never;

static jcv_val *flag_of(jcv *c, jcv_val *v);

static void push(jcv *c, jcv_ctx *x, jcv_val *v) {
    if (!jn_vec_push(&x->results, v))
        jcv_refuse(c, "out of memory");
}

/* Moves the newest node of x to place `at`. */
static void move_last(jcv_ctx *x, size_t at) {
    jcv_node **nodes = x->nodes.data, *n = nodes[x->nodes.n - 1];
    memmove(nodes + at + 1, nodes + at, (x->nodes.n - 1 - at) * sizeof *nodes);
    nodes[at] = n;
}

/* The flag as a value of the graph; constants come first in `x`. */
static jcv_val *as_value(jcv *c, jcv_ctx *x, jcv_val *flag) {
    if (flag != &always && flag != &never)
        return flag;
    jcv_ctx *place = c->ctx;
    c->ctx = x;
    jcv_val *v = jcv_scalar_const(c, JANUS_KIND_BOOL, (janus_scalar){.i = flag == &always});
    c->ctx = place;
    move_last(x, 0);
    return v;
}

/* a or b, right after what it is about, and after b, which may be about the same. */
static jcv_val *either(jcv *c, jcv_val *a, jcv_val *b, const jcv_val *about) {
    jcv_ctx *x = about->ctx, *place = c->ctx;
    size_t at = 0, last = x->nodes.n;
    if (a == &never || a == b)
        return b;
    if (b == &never)
        return a;
    c->ctx = x;
    jcv_val *in[2] = {a, b}, *v = &jcv_op(c, JN_OP(s_or), in, 2, NULL)->out[0];
    c->ctx = place;
    while (x->nodes.data[at] != about->node)
        at++;
    for (size_t i = at + 1; i < last; i++)
        at = x->nodes.data[i] == b->node ? i : at;
    move_last(x, at + 1);
    return v;
}

/* One more result of a call; there is room (jcv_call_node). */
static jcv_val *more(jcv *c, jcv_node *n) {
    jcv_val *v = &n->out[n->n_out];
    *v = (jcv_val){.ctx = n->out[0].ctx,
                   .node = n,
                   .index = n->n_out++,
                   .type = jcv_type(c, jn_scalar_type(JANUS_KIND_BOOL)),
                   .emitted = JN_VALUE_NONE};
    return v;
}

/* Has a loop carry the flag of its parameter k, too. */
static void carry(jcv *c, jcv_node *n, unsigned k) {
    jcv_ctx *body = body_of(n);
    unsigned i = k - first_carried(n);
    const jn_type *type = jcv_type(c, jn_scalar_type(JANUS_KIND_BOOL));
    jcv_val *start = as_value(c, n->out[0].ctx, flag_of(c, n->in[k]));
    jcv_val **in = jcv_alloc(c, (n->n_in + 1) * sizeof *in);
    memcpy(in, n->in, n->n_in * sizeof *in);
    in[n->n_in++] = start;
    n->in = in;
    if (n->subs[1])
        (void)jcv_param(c, n->subs[0], type);
    body->params.data[k]->flag = jcv_param(c, body, type);
    n->out[i].flag = more(c, n);
    size_t at = body->results.n;
    push(c, body, start);
    jcv_val *v = as_value(c, body, flag_of(c, body->results.data[i]));
    body->results.data[at] = v;
}

typedef void (*call_fn)(jcv *c, jcv_ctx *x, jcv_node *call, unsigned at, unsigned of);

/* All calls of a recursion; `fn` may put nodes in front of one. */
static void each_call(jcv *c, const jcv_ctx *f, call_fn fn, unsigned at, unsigned of) {
    for (size_t i = 0; i < c->ctxs.n; i++)
        for (size_t k = 0; k < c->ctxs.data[i]->nodes.n; k++) {
            jcv_node *n = c->ctxs.data[i]->nodes.data[k];
            if (is_invoke(n) && n->subs[0] == f)
                fn(c, c->ctxs.data[i], n, at, of);
        }
}

static void one_result_more(jcv *c, jcv_ctx *x, jcv_node *n, unsigned at, unsigned of) {
    (void)x, (void)of;
    if (n->n_out == at)
        (void)more(c, n);
}

/* A recursion returns the flag, too. */
static jcv_val *flag_of_call(jcv *c, const jcv_val *v, jcv_node *n) {
    jcv_ctx *f = n->subs[0];
    if (!v->depends || v->index >= f->n_sure)
        return &never;
    if (!f->flag_at)
        f->flag_at = jcv_alloc(c, f->n_sure * sizeof *f->flag_at);
    if (!f->flag_at[v->index]) {
        unsigned at = f->flag_at[v->index] = (unsigned)f->results.n;
        push(c, f, as_value(c, f, &always));
        each_call(c, f, one_result_more, at, 0);
        jcv_val *flag = as_value(c, f, flag_of(c, f->results.data[v->index]));
        f->results.data[at] = flag;
    }
    return &n->out[f->flag_at[v->index]];
}

static void one_operand_more(jcv *c, jcv_ctx *x, jcv_node *n, unsigned at, unsigned of) {
    (void)x, (void)of;
    jcv_val **in = jcv_alloc(c, (at + 1) * sizeof *in);
    memcpy(in, n->in, n->n_in * sizeof *in);
    n->in = in;
    n->n_in = at + 1;
}

static void pass_flag(jcv *c, jcv_ctx *x, jcv_node *n, unsigned at, unsigned of) {
    if (!n->in[at])
        n->in[at] = as_value(c, x, flag_of(c, n->in[of]));
}

/* A recursion gets the flag, too. */
static jcv_val *flag_of_param(jcv *c, jcv_val *v) {
    jcv_ctx *f = v->ctx;
    unsigned at = (unsigned)f->params.n;
    v->flag = jcv_param(c, f, jcv_type(c, jn_scalar_type(JANUS_KIND_BOOL)));
    each_call(c, f, one_operand_more, at, v->index);
    each_call(c, f, pass_flag, at, v->index);
    return v->flag;
}

static jcv_val *flag_of_if(jcv *c, const jcv_val *v, jcv_node *n) {
    jcv_val *a = flag_of(c, n->subs[0]->results.data[v->index]),
            *b = flag_of(c, n->subs[1]->results.data[v->index]);
    if (a == b)
        return a;
    /* One that only a branch of the function decides is not tried: it may be either way. */
    if ((a == &always || a == &never) && (b == &always || b == &never) && !v->ctx->in_loop &&
        v->ctx->fn == c->main)
        return &never;
    push(c, n->subs[0], as_value(c, n->subs[0], a));
    push(c, n->subs[1], as_value(c, n->subs[1], b));
    return more(c, n);
}

/* What was stored without history has the number 0. */
static jcv_val *flag_of_read(jcv *c, const jcv_val *v) {
    jcv_ctx *x = v->ctx, *place = c->ctx;
    size_t at = 0;
    c->ctx = x;
    jcv_val *in[2] = {v->node->in[1], jcv_int_const(c, 0)};
    jcv_val *flag = &jcv_op(c, JN_OP(s_gt), in, 2, NULL)->out[0];
    c->ctx = place;
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

static jcv_val *find_flag(jcv *c, jcv_val *v) {
    jcv_node *n = v->node;
    unsigned k;
    if (!n) {
        jcv_node *loop = loop_of(v, &k);
        if (v->ctx->kind == JCV_FUNC)
            return flag_of_param(c, v);
        if (!loop)
            return v->ctx == c->main ? &never : &always;
        carry(c, loop, k);
        return v->flag;
    }
    if (n->mixed)
        return flag_of_read(c, v);
    if (is_if(n))
        return flag_of_if(c, v, n);
    if (is_invoke(n))
        return flag_of_call(c, v, n);
    if (is_loop(n)) {
        k = v->index + first_carried(n);
        (void)flag_of(c, body_of(n)->params.data[k]);
        if (!v->flag) /* the parameter is certain, the result is not */
            carry(c, n, k);
        return v->flag;
    }
    jcv_val *flag = &never;
    for (unsigned i = 0; jcv_role(n) == JN_ROLE_COMPUTE && i < n->n_in && v->depends; i++)
        if (n->op->grad && is_float(n->in[i]))
            flag = either(c, flag_of(c, n->in[i]), flag, v);
    return flag;
}

static jcv_val *flag_of(jcv *c, jcv_val *v) {
    if (certain(c, v))
        return &always;
    if (!v->flag) {
        jcv_val *flag = find_flag(c, v);
        v->flag = flag;
    }
    return v->flag;
}

bool jcv_tracked_certain(jcv *c, jcv_val *v) {
    survey(c);
    return certain(c, v);
}

bool jcv_tracked_always(jcv *c, jcv_val *v) {
    jcv_node *n = v->node;
    survey(c);
    if (certain(c, v))
        return true;
    if (n && jcv_role(n) == JN_ROLE_FOREACH && v->ctx == c->ctx &&
        certain(c, body_of(n)->results.data[v->index])) {
        jcv_val *in[2] = {n->in[0], jcv_int_const(c, 0)};
        jcv_assert_at(c, &jcv_op(c, JN_OP(s_gt), in, 2, NULL)->out[0], "a loop has a round",
                      &n->loc);
    } else {
        jcv_val *flag = flag_of(c, v);
        if (flag == &always || flag == &never)
            return flag == &always;
        jcv_assert_at(c, flag, "a result requires grad", n ? &n->loc : NULL);
    }
    if (c->ctx == c->main)
        v->tracked = ON_ALL_PATHS;
    return true;
}

/* Whether it requires grad for whatever reason only it and what it is computed of says: of
 * arguments of a recursion and of what loops carry that is not known before they are complete. */
static bool by_itself(const jcv *c, const jcv_val *v, unsigned depth) {
    const jcv_node *n = v->node;
    if (!n) {
        for (size_t i = 0; v->ctx == c->main && i < c->main->params.n; i++)
            if (c->main->params.data[i] == v)
                return c->inputs.data[i] && c->inputs.data[i]->tensor.requires_grad;
        return false;
    }
    if (n->op == JN_OP(wire_read) || n->op == JN_OP(detach))
        return v->depends && !n->mixed;
    bool any = false;
    bool computed = jcv_role(n) == JN_ROLE_COMPUTE && n->op->grad && v->depends;
    for (unsigned i = 0; computed && depth && i < n->n_in && !any; i++)
        any = is_float(n->in[i]) && by_itself(c, n->in[i], depth - 1);
    return any;
}

void jcv_ask_tracked(jcv *c, jcv_av *x) {
    enum { MAX_DEPTH = 12 };
    const jpy_tensor *t = (const jpy_tensor *)x->py;
    if (!t->node)
        return; /* a leaf, or what requires grad on no path */
    jcv_val *v = jcv_tensor_val(c, x->py);
    if (!by_itself(c, v, MAX_DEPTH) && (c->ctx != c->main || !jcv_tracked_always(c, v)))
        jcv_refuse(c, "whether a tensor requires grad, which some paths make so");
}
