/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backward() inside a function: what it reaches, what it uses up, what it adds to .grad.
 *
 * A history is the recorded nodes that gradients of a tensor can flow through.  It may be used once
 * (unless it is retained), so its nodes are marked `freed`: it is used up if one of them keeps
 * something.  A leaf has a value of its own from each write on: a write under no_grad ends in a
 * detach whose result is the leaf again, and gradients flow to the version that the history was
 * computed of, which has to be the one the leaf holds.
 */
#include "pyfront/convert/tensors/tensors.h"

#include "ops/op_ids.h"
#include "pyfront/tape/tape.h"

/* ---- what gradients reach -----------------------------------------------------------------------
 */

typedef struct todo { /* values to be looked at */
    jcv_val *v;
    struct todo *next;
} todo;

static void push(jcv *c, todo **list, jcv_val *v) {
    if (!v || v->type->kind != JANUS_KIND_TENSOR || !jn_dtype_is_float(v->type->dtype))
        return;
    todo *t = jcv_alloc(c, sizeof *t);
    *t = (todo){v, *list};
    *list = t;
}

/* What is read may be any tensor stored, in any call. */
static void push_stored(jcv *c, todo **list) {
    for (size_t i = 0; i < c->stored_tracked.n; i++)
        push(c, list, c->stored_tracked.data[i]);
    for (size_t i = 0; i < c->ctxs.n; i++)
        for (size_t k = 0; k < c->ctxs.data[i]->nodes.n; k++) {
            const jcv_node *n = c->ctxs.data[i]->nodes.data[k];
            for (unsigned j = 0; n->subs[0] && j < n->n_in; j++)
                push(c, list, n->in[j]);
        }
}

typedef struct call { /* a node with SubGraphs that gradients come to */
    const jcv_node *n;
    struct call *next;
} call;

/* Parameter k of a SubGraph of the call: what it is at first and, of a loop, what a round leaves.
 */
static void push_param(jcv *c, todo **list, const call *x, uint32_t k) {
    const jcv_node *n = x->n;
    unsigned first = n->op->role == JN_ROLE_FOREACH;
    bool loop = first || n->op->role == JN_ROLE_WHILE;
    const jcv_ctx *body = n->subs[n->op->role == JN_ROLE_WHILE];
    if (k < n->n_in)
        push(c, list, n->in[k]);
    if (loop && k >= first && k - first < body->results.n)
        push(c, list, body->results.data[k - first]);
}

static void push_params(jcv *c, todo **list, const call *x, const jcv_ctx *of, uint32_t mark) {
    for (uint32_t k = 0; k < of->params.n; k++)
        if (of->params.data[k]->reach == mark)
            push_param(c, list, x, k);
}

/* What gradients flow to from a parameter: operands of the calls that they came by. */
static void from_param(jcv *c, todo **list, const call *calls, const jcv_val *v) {
    for (const call *x = calls; x; x = x->next)
        for (int k = 0; k < 2; k++)
            for (uint32_t i = 0; x->n->subs[k] == v->ctx && i < v->ctx->params.n; i++)
                if (v->ctx->params.data[i] == v)
                    push_param(c, list, x, i);
}

/* A loop of no rounds leaves what it began with. */
static void push_first(jcv *c, todo **list, const jcv_val *v) {
    const jcv_node *n = v->node;
    bool foreach = jcv_role(n) == JN_ROLE_FOREACH;
    uint32_t k = (uint32_t)(v - n->out) + foreach;
    if ((foreach || jcv_role(n) == JN_ROLE_WHILE) && k < n->n_in)
        push(c, list, n->in[k]);
}

/* Marks what gradients of y flow to with a new number, which it returns. */
uint32_t jcv_mark_reach(jcv *c, jcv_val *const *y, unsigned n_y) {
    uint32_t mark = ++c->last_reach;
    todo *list = NULL;
    call *calls = NULL;
    for (unsigned i = 0; i < n_y; i++)
        push(c, &list, y[i]);
    while (list) {
        jcv_val *v = list->v;
        list = list->next;
        if (v->reach == mark)
            continue;
        v->reach = mark;
        jcv_node *n = v->node;
        if (!n)
            from_param(c, &list, calls, v);
        else
            push_first(c, &list, v);
        if (!n || n->reach == mark)
            continue;
        n->reach = mark;
        for (unsigned i = 0; i < n->n_through; i++)
            push(c, &list, n->through[i]);
        if (n->kind != JCV_OP || (n->op->role == JN_ROLE_COMPUTE && !n->op->grad))
            continue;
        if (n->op == JN_OP(wire_read))
            push_stored(c, &list);
        if (n->subs[0]) {
            call *one = jcv_alloc(c, sizeof *one);
            *one = (call){n, calls};
            calls = one;
        }
        for (unsigned i = 0; !n->subs[0] && i < n->n_in; i++)
            push(c, &list, n->in[i]);
        for (int k = 0; k < 2; k++) {
            jcv_ctx *x = n->subs[k];
            if (x)
                push_params(c, &list, calls, x, mark);
            if (!x || x->reach == mark)
                continue;
            x->reach = mark;
            for (size_t i = 0; i < x->results.n; i++)
                push(c, &list, x->results.data[i]);
        }
    }
    return mark;
}

bool jcv_reaches(jcv *c, jcv_val *y, jcv_val *x) {
    uint32_t mark = jcv_mark_reach(c, &y, 1);
    return y == x || (x->node ? x->node->reach == mark : x->reach == mark);
}

/* ---- what is used up ----------------------------------------------------------------------------
 */

static bool records(const jcv_node *n) {
    if (n->op == JN_OP(detach)) /* a leaf as it is since a write: no history */
        return n->through;
    for (unsigned i = 0; i < n->n_out; i++)
        if (n->out[i].depends)
            return true;
    return false;
}

/*
 * The nodes of a function's SubGraph stand for those of each of its calls, which have histories of
 * their own: from outside, what is used up is the call.  Of such nodes `freed` only says that no
 * call is left that has what they save.
 */
static bool of_many_calls(const jcv *c, const jcv_ctx *x) {
    return x->fn->kind != JCV_MAIN && x->fn != c->ctx->fn;
}

void jcv_operands_tracked(const jcv_node *n, bool *tracked) {
    for (unsigned i = 0; i < JPY_SAVES_READ; i++)
        tracked[i] = i < n->n_in && n->in[i] && n->in[i]->depends;
}

bool jcv_op_keeps(const jcv_node *n) {
    bool tracked[JPY_SAVES_READ], any = false;
    jcv_operands_tracked(n, tracked);
    for (unsigned i = 0; i < n->n_in && !any; i++)
        any = n->in[i] && n->in[i]->type->kind == JANUS_KIND_TENSOR &&
              jpy_op_saves(n->op, i, tracked);
    for (unsigned i = 0; i < n->n_out && !any; i++)
        any = jpy_op_saves_result(n->op, i, tracked);
    return any;
}

/* Whether an op keeps something for its gradient on the tape: only such a history can be used up.
 * Of what is no op there, nobody knows. */
static bool keeps(const jcv_node *n) {
    if (n->kind != JCV_OP || n->op->role != JN_ROLE_COMPUTE || !n->op->grad || n->by_tape ||
        n->n_through)
        return true;
    return jcv_op_keeps(n);
}

/* Whether a node of a SubGraph with this mark is used up, and keeps something itself; `calls`: one
 * is that calls a function. */
static bool freed_in(const jcv_ctx *x, uint32_t mark, bool *calls) {
    for (size_t k = 0; k < x->nodes.n; k++) {
        const jcv_node *n = x->nodes.data[k];
        if (!n->freed || n->reach != mark)
            continue;
        if (!n->subs[0] && keeps(n))
            return true;
        *calls = *calls || (n->subs[0] && n->subs[0]->kind == JCV_FUNC);
    }
    return false;
}

/* Whether a call whose history has this mark may have kept something. */
static bool call_keeps(const jcv *c, uint32_t mark) {
    for (size_t i = 0; i < c->ctxs.n; i++)
        for (size_t k = 0; k < c->ctxs.data[i]->nodes.n; k++) {
            const jcv_node *n = c->ctxs.data[i]->nodes.data[k];
            if (n->reach == mark && !n->subs[0] && of_many_calls(c, c->ctxs.data[i]) &&
                records(n) && keeps(n))
                return true;
        }
    return false;
}

/* Whether some of a history with this mark is used up; `from`: where what has the history is, whose
 * own nodes are used up with all calls. */
static bool any_freed(const jcv *c, uint32_t mark, const jcv_ctx *from) {
    bool calls = false;
    for (size_t i = 0; i < c->ctxs.n; i++) {
        const jcv_ctx *x = c->ctxs.data[i];
        bool counts = !of_many_calls(c, x) || x->fn == from->fn;
        if (counts && freed_in(x, mark, &calls))
            return true;
    }
    return calls && call_keeps(c, mark);
}

/* Whether a history leads into the only call of a function, by what that has stored. */
static bool met_inside(const jcv *c, const jcv_node *of, uint32_t mark) {
    const jcv_ctx *f = of->subs[0];
    bool met = false;
    if (!f || f->kind != JCV_FUNC || !of_many_calls(c, f))
        return false;
    for (size_t i = 0; i < c->ctxs.n; i++) {
        const jcv_ctx *x = c->ctxs.data[i];
        bool counts = !of_many_calls(c, x);
        for (size_t k = 0; k < x->nodes.n; k++) {
            const jcv_node *n = x->nodes.data[k];
            if (counts && n != of && n->subs[0] == f)
                return false;
            met = met || (x->fn == f && n->reach == mark && records(n));
        }
    }
    return met;
}

/* Whether only some paths behind what x computes come to where c is. */
static bool sometimes(const jcv *c, const jcv_ctx *x) {
    return c->ctx != c->main && !c->ctx->apart && !jcv_encloses(c->ctx, x);
}

void jcv_use_up_history(jcv *c, uint32_t mark) {
    for (size_t i = 0; i < c->ctxs.n; i++)
        for (size_t k = 0; k < c->ctxs.data[i]->nodes.n; k++) {
            jcv_node *n = c->ctxs.data[i]->nodes.data[k];
            if (n->reach != mark || !records(n))
                continue;
            n->maybe = sometimes(c, c->ctxs.data[i]) && (n->maybe || !n->freed);
            n->freed = true;
        }
    c->last_held++;
    for (size_t i = 0; i < c->ctxs.n; i++)
        for (size_t k = 0; !of_many_calls(c, c->ctxs.data[i]) && k < c->ctxs.data[i]->nodes.n;
             k++) {
            jcv_node *n = c->ctxs.data[i]->nodes.data[k];
            n->freed = n->freed || met_inside(c, n, mark);
            if (!n->freed && records(n))
                jcv_history_of_call(c, n, c->last_held);
        }
    c->any_freed = true;
    jcv_release_functions(c, mark);
}

bool jcv_reaches_history(jcv *c, jcv_val *const *y, unsigned n_y, const jcv_val *but) {
    uint32_t mark = jcv_mark_reach(c, y, n_y);
    for (const jcv_rec *r = c->recs; r; r = r->next) {
        bool history = r->src && r->src->tensor.requires_grad && !r->src->tensor.leaf;
        if (history && r->first != but && r->first->reach == mark)
            return true;
    }
    return false;
}

bool jcv_history_by_tape(jcv *c, jcv_val *y) {
    return c->own_gradients && jcv_tape_alone(c, jcv_mark_reach(c, &y, 1));
}

/* The tape comes to later ops first, and raises at one that is used up. */
bool jcv_own_comes_first(jcv *c, jcv_val *y) {
    uint32_t mark = c->own_gradients ? jcv_mark_reach(c, &y, 1) : 0;
    for (size_t i = c->main->nodes.n; c->own_gradients && i-- > 0;) {
        const jcv_node *n = c->main->nodes.data[i];
        if (n->reach != mark || !records(n))
            continue;
        if (n->by_tape || (n->freed && !n->maybe && !n->subs[0] && keeps(n)))
            return n->by_tape;
    }
    return false;
}

void jcv_use_history(jcv *c, jcv_val *const *y, unsigned n_y, jcv_av *const *x, unsigned n) {
    uint32_t mark = jcv_mark_reach(c, y, n_y);
    jcv_keep_way(c, mark, x, n);
    jcv_use_up_history(c, mark);
}

/* What a history may be, by the arms that a run takes: a set of these.  One that is not there can
 * neither be used up nor be gone through, so it says nothing.  UNCERTAIN: whether it kept something
 * is decided where no value of main says so, in a round, a callee or an arm of an arm. */
enum { ABSENT = 1, KEPT_NOTHING = 2, KEPT = 4, UNCERTAIN = 8, ALL_HISTORIES = 15 };

typedef struct asked {
    jcv *c;
    uint32_t base;   /* marks from it on say what was found of a value */
    bool used;       /* whether it is used up: of what keeps something that counts alone, and has to
                      * be sure; else it may be decided in main */
    bool reads;      /* one was met that may be any that was stored ... */
    unsigned stored; /* ... of which the histories are these */
} asked;

/* Of a result of an op with operands a and b.  Of two that are there one that keeps is enough. */
static unsigned of_both(unsigned a, unsigned b) {
    unsigned r = 0;
    if (a == KEPT || b == KEPT)
        return KEPT;
    if ((a | b) & KEPT)
        r |= KEPT | ((a | b) & UNCERTAIN);
    if (((a & KEPT_NOTHING) && (b & (ABSENT | KEPT_NOTHING))) || ((b & KEPT_NOTHING) && a & ABSENT))
        r |= KEPT_NOTHING | ((a | b) & UNCERTAIN);
    if (a & b & ABSENT)
        r |= ABSENT;
    return r;
}

static unsigned mixed(unsigned r) { return (r & KEPT) && (r & KEPT_NOTHING) ? r | UNCERTAIN : r; }

static unsigned histories(asked *q, jcv_val *v, unsigned depth);

/* What was found of a SubGraph's values is found again. */
static void forget(const jcv_ctx *x) {
    for (size_t i = 0; i < x->nodes.n; i++) {
        const jcv_node *n = x->nodes.data[i];
        for (unsigned k = 0; k < n->n_out; k++)
            n->out[k].reach = 0;
        for (int k = 0; k < 2 && n->subs[k]; k++)
            if (n->subs[k]->kind != JCV_FUNC)
                forget(n->subs[k]);
    }
}

/* What a loop may hand on of what its body's parameters may be, which its rounds exchange. */
static void of_body(asked *q, const jcv_node *n, unsigned first, unsigned depth) {
    const jcv_ctx *body = n->subs[!first];
    for (unsigned i = 0; i < body->params.n; i++)
        body->params.data[i]->histories =
            i >= first && i < n->n_in && n->in[i] ? histories(q, n->in[i], depth) : ABSENT;
    for (bool again = true; again;) {
        again = false;
        forget(body);
        for (unsigned i = 0; i < body->results.n && i + first < body->params.n; i++) {
            jcv_val *p = body->params.data[i + first];
            unsigned r = p->histories | histories(q, body->results.data[i], depth);
            again = again || r != p->histories;
            p->histories = r & ALL_HISTORIES;
        }
    }
}

static unsigned of_operands(asked *q, const jcv_node *n, unsigned r, unsigned depth) {
    for (unsigned i = 0; i < n->n_in; i++)
        r = n->in[i] ? of_both(r, histories(q, n->in[i], depth)) : r;
    return r;
}

/* Recursions and other calls count as if they went on: or else no program that returns the loss of
 * a tree would be a graph, for trees that are one leaf.  A loop of main that began with a history
 * that kept nothing is asserted to go round, or its first round is made outside of it. */
static unsigned of_rounds(asked *q, const jcv_val *v, unsigned depth) {
    const jcv_node *n = v->node;
    bool each = n->op->role == JN_ROLE_FOREACH, in_main = v->ctx == q->c->main;
    if (n->subs[0]->kind == JCV_FUNC)
        return !q->used || n->freed ? KEPT : of_operands(q, n, ABSENT, depth);
    const jcv_ctx *body = n->subs[!each];
    if (v->index >= body->results.n || v->index + each >= n->n_in)
        return ALL_HISTORIES;
    of_body(q, n, each, depth);
    unsigned begins = histories(q, n->in[v->index + each], depth);
    unsigned r = mixed(histories(q, body->results.data[v->index], depth));
    if (!(begins & KEPT_NOTHING) || !((begins | r) & KEPT))
        return begins | r;
    if (in_main && !each)
        jcv_peel_loop(q->c, n->loop);
    if (each && q->used && jcv_goes_round(q->c, n))
        return r;
    return in_main && each ? begins | r : mixed(begins | r);
}

static unsigned histories_of_node(asked *q, const jcv_val *v, unsigned depth) {
    const jcv_node *n = v->node;
    if (n->subs[0] && (n->subs[0]->kind == JCV_FUNC || n->op->role != JN_ROLE_IF))
        return of_rounds(q, v, depth);
    if (n->op == JN_OP(wire_read)) {
        q->reads = true;
        return q->stored | ABSENT | (q->stored & KEPT ? UNCERTAIN : 0);
    }
    unsigned r = n->subs[0] ? 0 : ABSENT;
    for (unsigned i = 0; i < 2 && n->subs[i]; i++)
        r |= v->index < n->subs[i]->results.n
                 ? histories(q, n->subs[i]->results.data[v->index], depth)
                 : ALL_HISTORIES;
    if (n->subs[0])
        return v->ctx == q->c->main ? r : mixed(r);
    r = of_operands(q, n, r, depth);
    if (records(n) && keeps(n) && (!q->used || n->freed))
        r = KEPT | (n->kind == JCV_OP && n->op->role == JN_ROLE_COMPUTE ? r & ABSENT : 0) |
            (q->used && n->maybe ? KEPT_NOTHING : 0);
    return r;
}

/* Below `depth` values it is not known. */
static unsigned histories(asked *q, jcv_val *v, unsigned depth) {
    if (!v->depends)
        return ABSENT;
    if (!v->node)
        return v->ctx->kind == JCV_LOOP && v->histories ? v->histories : KEPT_NOTHING;
    if (depth == 0)
        return ALL_HISTORIES;
    if (v->reach < q->base) {
        unsigned r = histories_of_node(q, v, depth - 1);
        v->reach = q->base + r;
    }
    return v->reach - q->base;
}

static unsigned histories_again(asked *q, jcv_val *y) {
    q->base = q->c->last_reach + 1;
    q->c->last_reach += ALL_HISTORIES + 1;
    return histories(q, y, 1000);
}

/* What a read of what the graph has stored may have behind it: those of recursions count as if they
 * went on, others are told apart by no value, nor is whether the read was in an arm taken. */
static unsigned of_stored(asked *q) {
    unsigned once = 0, often = 0;
    for (size_t i = 0; i < q->c->stored_tracked.n; i++) {
        jcv_val *v = q->c->stored_tracked.data[i];
        *(v->ctx->fn->kind == JCV_MAIN ? &once : &often) |= histories_again(q, v);
    }
    return often & KEPT ? KEPT : mixed(once | often);
}

static unsigned all_histories(jcv *c, jcv_val *y, bool used) {
    asked q = {.c = c, .used = used};
    unsigned r = histories_again(&q, y);
    for (bool again = q.reads; again;) {
        unsigned more = q.stored | of_stored(&q);
        again = more != q.stored;
        q.stored = more;
        r = histories_again(&q, y);
    }
    return r;
}

bool jcv_history_may_be_used(jcv *c, jcv_val *y) {
    return c->any_freed && any_freed(c, jcv_mark_reach(c, &y, 1), y->ctx);
}

/* Whether a history keeps something, if it is there, whichever arms a run takes. */
static bool surely_keeps(jcv *c, jcv_val *y) {
    unsigned r = all_histories(c, y, true);
    return (r & KEPT) && !(r & KEPT_NOTHING);
}

bool jcv_history_surely_used(jcv *c, jcv_val *y) {
    return jcv_history_may_be_used(c, y) && surely_keeps(c, y);
}

bool jcv_history_used(jcv *c, jcv_val *y) {
    if (!jcv_history_may_be_used(c, y))
        return false;
    if (!surely_keeps(c, y))
        jcv_refuse(c, "a history that is used up on some paths only");
    return true;
}

bool jcv_history_certain(jcv *c, jcv_val *y) {
    unsigned r = all_histories(c, y, false);
    return !(r & UNCERTAIN) || !(r & KEPT) || !(r & KEPT_NOTHING);
}

void jcv_save_for(jcv *c, jcv_rec *root, const jcv_node *by) {
    jcv_saver *s = jcv_alloc(c, sizeof *s);
    *s = (jcv_saver){by, root->n_writes, root->savers};
    root->savers = s;
    jcv_val *held = root->src ? NULL : jcv_held(c, root);
    if (held)
        held->saved_by = by;
}

/* Values that are asked about: results of calls that are made of calls. */
typedef struct asked_value {
    const jcv_val *v;
    const struct asked_value *up;
} asked_value;

static bool may_be_saved(const jcv_val *v, const asked_value *up) {
    enum { MAX_DEPTH = 24 };
    unsigned depth = 0;
    while (v->node && v->node->view)
        v = v->node->in[0];
    for (const asked_value *x = up; x; x = x->up, depth++)
        if (x->v == v)
            return false;
    if (v->saved_by && !v->saved_by->freed)
        return true;
    const jcv_node *n = v->node;
    bool any = depth > MAX_DEPTH;
    for (int k = 0; n && k < 2 && !any; k++) {
        const jcv_ctx *x = n->subs[k];
        const jcv_val *r = x && v->index < x->results.n ? x->results.data[v->index] : NULL;
        any = r && may_be_saved(r, &(asked_value){v, up});
    }
    return any;
}

bool jcv_result_saved(const jcv_val *v) {
    return v->node && v->node->subs[0] && may_be_saved(v, NULL);
}

bool jcv_saved(const jcv_rec *root, bool written) {
    for (const jcv_saver *s = root->savers; s; s = s->next)
        if (!s->node->freed && (!written || s->writes))
            return true;
    return false;
}

bool jcv_saved_for(const jcv_rec *root, uint32_t mark) {
    for (const jcv_saver *s = root->savers; s; s = s->next)
        if (!s->node->freed && s->writes && s->node->reach == mark)
            return true;
    return false;
}

/* CPython raises where a history is used again, or what it saved was written since. */
void jcv_check_history(jcv *c, uint32_t mark) {
    if (c->any_freed && any_freed(c, mark, c->ctx))
        jcv_refuse(c, "backward() a second time through the same history");
    for (const jcv_rec *r = c->recs; r; r = r->next)
        for (const jcv_saver *s = r->savers; s; s = s->next)
            if (s->node->reach == mark && s->writes != r->n_writes)
                jcv_refuse(c, "backward() after what a gradient needs was written");
}

bool jcv_history_rewritten(jcv *c, jcv_val *y) {
    bool any = false;
    for (const jcv_rec *r = c->recs; r && !any; r = r->next)
        any = r->wrote_uncounted;
    uint32_t mark = any ? jcv_mark_reach(c, &y, 1) : 0;
    for (const jcv_rec *r = c->recs; r && any; r = r->next)
        for (const jcv_saver *s = r->savers; r->wrote_uncounted && s; s = s->next)
            if (!s->node->freed && s->node->reach == mark && s->writes != r->n_writes)
                return true;
    return false;
}

/* ---- leaves -------------------------------------------------------------------------------------
 */

jcv_val *jcv_leaf_again(jcv *c, jcv_rec *root, jcv_val *v) {
    jcv_node *n = jcv_op_try(c, JN_OP(detach), &v, 1, NULL);
    jcv_version *version = n ? jn_arena_alloc(&c->arena, sizeof *version) : NULL;
    if (!version)
        return NULL;
    n->out[0].depends = true;
    n->out[0].cut = false;
    *version = (jcv_version){&n->out[0], root->versions};
    root->versions = version;
    return &n->out[0];
}

/* Whether gradients flow to what a leaf held before the value that it holds now. */
bool jcv_reaches_older(const jcv_rec *r, const jcv_val *now, uint32_t mark) {
    bool leaf = r->src && r->src->tensor.requires_grad;
    if (leaf && r->first != now && r->first->reach == mark)
        return true;
    for (const jcv_version *v = r->versions; v; v = v->next)
        if (v->val != now && v->val->reach == mark)
            return true;
    return false;
}

bool jcv_reaches_written_leaf(jcv *c, jcv_val *y) {
    bool any = false;
    for (const jcv_rec *r = c->recs; r && !any; r = r->next)
        any = r->versions || r->flagged;
    uint32_t mark = any ? jcv_mark_reach(c, &y, 1) : 0;
    for (const jcv_rec *r = c->recs; r && any; r = r->next) {
        if (r->flagged && r->first->reach == mark)
            return true;
        for (const jcv_version *v = r->versions; v; v = v->next)
            if (v->val->reach == mark)
                return true;
    }
    return false;
}

bool jcv_tape_alone(jcv *c, uint32_t mark) {
    for (size_t i = 0; c->own_gradients && i < c->main->nodes.n; i++)
        if (c->main->nodes.data[i]->by_tape && c->main->nodes.data[i]->reach == mark)
            return true;
    return false;
}

void jcv_release_functions(jcv *c, uint32_t mark) {
    for (size_t i = 0; c->own_gradients && i < c->main->nodes.n; i++) {
        jcv_node *n = c->main->nodes.data[i];
        if (!n->release || n->reach != mark)
            continue;
        jcv_av *release = n->release;
        n->release = NULL;
        jcv_call(c, release, &(jcv_args){0});
    }
}
