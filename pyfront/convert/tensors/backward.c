/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backward() inside a function: what it reaches, what it uses up, what it adds to .grad.
 *
 * A history is the recorded nodes that gradients of a tensor can flow through.  It may be used once
 * (unless it is retained), so its nodes are marked `freed`.  A leaf has a value of its own from
 * each write on: a write under no_grad ends in a detach whose result is the leaf again, and
 * gradients flow to the version that the history was computed of, which has to be the one the leaf
 * holds.
 */
#include "pyfront/convert/convert.h"

#include "ops/op_ids.h"

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
    bool foreach = n->op->role == JN_ROLE_FOREACH;
    uint32_t k = (uint32_t)(v - n->out) + foreach;
    if ((foreach || n->op->role == JN_ROLE_WHILE) && k < n->n_in)
        push(c, list, n->in[k]);
}

/* Marks what gradients of y flow to with a new number, which it returns. */
static uint32_t mark_reach(jcv *c, jcv_val *const *y, unsigned n_y) {
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
    uint32_t mark = mark_reach(c, &y, 1);
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

/* The next recorded node with this mark, in any SubGraph. */
static bool any_freed(const jcv *c, uint32_t mark) {
    for (size_t i = 0; i < c->ctxs.n; i++)
        for (size_t k = 0; k < c->ctxs.data[i]->nodes.n; k++) {
            const jcv_node *n = c->ctxs.data[i]->nodes.data[k];
            if (n->freed && n->reach == mark)
                return true;
        }
    return false;
}

static void use_up(jcv *c, uint32_t mark) {
    for (size_t i = 0; i < c->ctxs.n; i++)
        for (size_t k = 0; k < c->ctxs.data[i]->nodes.n; k++) {
            jcv_node *n = c->ctxs.data[i]->nodes.data[k];
            n->freed = n->freed || (n->reach == mark && records(n));
        }
    c->any_freed = true;
    jcv_release_functions(c, mark);
}

bool jcv_reaches_history(jcv *c, jcv_val *const *y, unsigned n_y, const jcv_val *but) {
    uint32_t mark = mark_reach(c, y, n_y);
    for (const jcv_rec *r = c->recs; r; r = r->next) {
        bool history = r->src && r->src->tensor.requires_grad && !r->src->tensor.leaf;
        if (history && r->first != but && r->first->reach == mark)
            return true;
    }
    return false;
}

bool jcv_history_by_tape(jcv *c, jcv_val *y) {
    return c->own_gradients && jcv_tape_alone(c, mark_reach(c, &y, 1));
}

void jcv_use_history(jcv *c, jcv_val *y) { use_up(c, mark_reach(c, &y, 1)); }
bool jcv_history_used(jcv *c, jcv_val *y) {
    return c->any_freed && any_freed(c, mark_reach(c, &y, 1));
}

void jcv_save_for(jcv *c, jcv_rec *root, const jcv_node *by) {
    jcv_saver *s = jcv_alloc(c, sizeof *s);
    *s = (jcv_saver){by, root->n_writes, root->savers};
    root->savers = s;
}

bool jcv_saved(const jcv_rec *root) {
    for (const jcv_saver *s = root->savers; s; s = s->next)
        if (!s->node->freed)
            return true;
    return false;
}

/* CPython raises where a history is used again, or what it saved was written since. */
static void check_history(jcv *c, uint32_t mark) {
    if (c->any_freed && any_freed(c, mark))
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
    uint32_t mark = any ? mark_reach(c, &y, 1) : 0;
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
static bool reaches_older(const jcv_rec *r, const jcv_val *now, uint32_t mark) {
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
    uint32_t mark = any ? mark_reach(c, &y, 1) : 0;
    for (const jcv_rec *r = c->recs; r && any; r = r->next) {
        if (r->flagged && r->first->reach == mark)
            return true;
        for (const jcv_version *v = r->versions; v; v = v->next)
            if (v->val->reach == mark)
                return true;
    }
    return false;
}

typedef struct adding {
    jcv_av *leaf;
    jcv_val *gradient, *present; /* NULL: it is there */
} adding;

static void add_to_grad(jcv *c, adding x);

static jcv_out add_in_arm(jcv *c, void *user, int arm) {
    adding x = *(adding *)user;
    x.present = NULL;
    if (!arm)
        add_to_grad(c, x);
    return OUT_NORMAL;
}

static jcv_out add_to_optional(jcv *c, void *user, int arm) {
    (void)arm; /* what the leaf had is known in both */
    add_to_grad(c, *(adding *)user);
    return OUT_NORMAL;
}

static void add_to_grad(jcv *c, adding x) {
    static PyObject *grad_name;
    if (!grad_name)
        grad_name = PyUnicode_InternFromString("grad");
    jcv_av *had = jcv_getattr(c, x.leaf, grad_name);
    if (had->kind == AV_PY) { /* None */
        jcv_av *g = jcv_proxy(c, x.gradient, false);
        jcv_setattr(c, x.leaf, grad_name, x.present ? jcv_maybe(c, x.present, g) : g);
        return;
    }
    if (x.present) {
        jcv_branch(c, x.present, add_in_arm, &x);
        return;
    }
    if (had->kind == AV_MAYBE) {
        jcv_branch(c, had->val, add_to_optional, &x);
        return;
    }
    jcv_val *in[2] = {jcv_tensor_val(c, had->py), x.gradient};
    jcv_val *sum = &jcv_op(c, JN_OP(add), in, 2, NULL)->out[0];
    sum->depends = false;
    sum->cut = true;
    /* the object stays, its contents change */
    jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)had->py)->t);
    if (jcv_write(c, r, sum, false) != JANUS_OK)
        jcv_refuse(c, "%s", janus_last_error()->message);
}

static void check_root(jcv *c, jcv_av *root, jcv_av *seed) {
    const jpy_tensor *t = (const jpy_tensor *)root->py;
    const jcv_val *y = jcv_tensor_val(c, root->py);
    if (!jpy_tensor_tracked(t) || !t->node)
        jcv_refuse(c, "backward() of a tensor without history");
    if (!seed && jn_type_numel(y->type) != 1)
        jcv_refuse(c, "backward() of a tensor of several elements");
    if (seed && !jcv_same_type(y->type, jcv_tensor_val(c, seed->py)->type))
        jcv_refuse(c, "backward() with a gradient of another shape or dtype");
}

void jcv_tensor_backward(jcv *c, jcv_av *const *roots, jcv_av *const *seeds, unsigned n_y,
                         bool retain) {
    if (c->ctx != c->main)
        jcv_refuse(c, "backward() inside a branch, loop or recursion");
    jcv_val **y = jcv_alloc(c, (2 * n_y + 1) * sizeof *y), **dy = y + n_y;
    for (unsigned i = 0; i < n_y; i++) {
        check_root(c, roots[i], seeds[i]);
        y[i] = jcv_tensor_val(c, roots[i]->py);
        dy[i] = seeds[i] ? jcv_tensor_val(c, seeds[i]->py) : NULL;
    }
    unsigned n = 0, cap = 0;
    for (jcv_rec *r = c->recs; r; r = r->next)
        cap++;
    jcv_val **x = jcv_alloc(c, (cap + 1) * sizeof *x);
    jcv_av **leaf = jcv_alloc(c, (cap + 1) * sizeof *leaf);
    uint32_t mark = mark_reach(c, y, n_y);
    check_history(c, mark);
    for (jcv_rec *r = c->recs; r; r = r->next) {
        bool bound = r->src && r->src->tensor.requires_grad;
        if (!bound && !r->versions)
            continue;
        jcv_val *now = r->parent ? r->val : r->slot ? jcv_held(c, r) : r->val;
        if (reaches_older(r, now, mark))
            jcv_refuse(c, "backward() into what a leaf was before it was changed");
        if (now->reach != mark)
            continue; /* gradients do not reach it: its .grad stays */
        if (r->flagged && !((jpy_tensor *)r->obj)->requires_grad)
            continue; /* no longer: its uses since are no history */
        if (r->src && !r->flagged && !r->src->tensor.leaf)
            jcv_refuse(c, "backward() into the history of an argument");
        if (r->src && r->src->tensor.hooked)
            jcv_refuse(c, "backward() to a tensor of the caller that has a hook");
        leaf[n] = jcv_proxy_of(c, r);
        x[n++] = now;
    }
    for (unsigned i = 0; i < n_y; i++)
        if (!jcv_tracked_always(c, y[i]))
            jcv_refuse(c, "backward() of what requires grad on some paths only");
    /* of gradients, the tape says which leaves get one */
    bool alone = jcv_tape_alone(c, mark);
    bool by_tape = (c->second_order || alone) && jcv_tape_knows(c, roots, n_y, NULL, 0);
    if (alone && !by_tape)
        jcv_refuse(c, "a gradient of the program's own beside branches or loops of the graph");
    if (by_tape) {
        jcv_av **g = jcv_tape_grad(c, roots, seeds, n_y, leaf, n, true, false, true);
        for (unsigned i = 0; i < n; i++) {
            if (!g[i])
                continue;
            jcv_val *v = jcv_tensor_val(c, g[i]->py); /* of several leaves it may be one tensor */
            v = &jcv_op(c, JN_OP(clone), &v, 1, NULL)->out[0];
            v->depends = false;
            v->cut = true;
            add_to_grad(c, (adding){leaf[i], v, NULL});
        }
        if (!retain)
            use_up(c, mark);
        return;
    }
    if (!retain)
        use_up(c, mark);
    bool some = c->f->gradients == JPY_GRADIENTS_SOME;
    jcv_node *b = jcv_backward_node(c, y, dy, n_y, x, n, some);
    for (unsigned i = 0; i < n; i++) {
        b->out[i].depends = false;
        b->out[i].cut = true; /* later gradients do not flow through it */
        add_to_grad(c, (adding){leaf[i], &b->out[i], some ? &b->out[n + i] : NULL});
    }
}
