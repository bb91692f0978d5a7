/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes in place: what a tensor holds, and who else may see it.
 *
 * A tensor that was never written holds the value it was made with.  From its first write on, what
 * it holds is state in a slot (AV_DATA), like a variable: a copy of the state for each arm, merged
 * after them, carried by loops.  A view has no state, it is taken again of what its root holds now;
 * a write through it is scattered into the root.
 *
 * A write must be seen through every other name.  Names that lead to the same proxy share its
 * record.  What arms and rounds leave is a new proxy for one of several tensors (`from`): it may be
 * written once nobody can reach those.  What a recursion gets, what is read from objects or stored
 * in them may be any tensor, and is not written.  Values are never overwritten in a graph, so what
 * a gradient needs would still be there where CPython raises: such writes are refused, too.
 */
#include "pyfront/convert/tensors/tensors.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"

enum { MAX_DEPTH = 64 };

/* What AV_DATA says of requires_grad; merged, a leaf that stays one is TRACKED. */
enum { UNTRACKED, TRACKED, LEAF };

static jcv_av *data(jcv *c, jcv_val *v, unsigned how) {
    jcv_av *a = jcv_new(c, AV_DATA);
    a->val = v;
    a->n = how;
    return a;
}

/* ---- what a tensor holds ------------------------------------------------------------------------
 */

static jcv_val *root_val(jcv *c, const jcv_rec *r) {
    return r->slot ? c->slots.data[r->slot]->val : r->val;
}

jcv_val *jcv_held(jcv *c, jcv_rec *r) {
    if (!r->parent) {
        r->read_by_fn = r->read_by_fn || c->ctx->fn != r->ctx->fn;
        if (!r->stale)
            return root_val(c, r);
        jn_error(JANUS_UNSUPPORTED, "one of the tensors that this may be was written");
        return NULL;
    }
    jcv_val *up = jcv_held(c, r->parent);
    if (!up || up == r->up)
        return up ? r->val : NULL;
    if (r->versions) {
        jn_error(JANUS_UNSUPPORTED, "a leaf made in the function is a view of what is written");
        return NULL;
    }
    jcv_val **in = jn_arena_zalloc(&c->arena, (r->n_extra + 1) * sizeof *in);
    if (!in)
        return NULL;
    in[0] = up;
    for (unsigned i = 0; i < r->n_extra; i++)
        in[i + 1] = r->extra[i];
    jcv_node *n = jcv_op_try(c, r->op, in, r->n_extra + 1, r->attrs);
    if (!n)
        return NULL;
    n->view = true;
    if (r->op == JN_OP(detach))
        n->out[0].depends = n->out[0].cut = false;
    if (r->ctx == c->ctx) {
        r->val = &n->out[0];
        r->up = up;
    }
    return &n->out[0];
}

void jcv_keep_view(jcv *c, jcv_rec *r, jcv_rec *parent, const jn_op *op, jcv_node *n) {
    n->view = true;
    r->parent = parent;
    r->root = parent->root;
    r->up = parent->parent ? parent->val : root_val(c, parent);
    r->op = op;
    r->attrs = n->attrs;
    r->n_extra = n->n_in - 1;
    r->extra = n->in + 1;
    r->ctx = c->ctx;
    r->apart = op == JN_OP(detach) || jpy_no_grad_mode || parent->apart;
    r->uncounted = parent->uncounted;
    r->next_view = r->root->views;
    r->root->views = r;
}

/* ---- what has left by calls ---------------------------------------------------------------------
 */

enum { OWN, OTHERS, VIEW }; /* a tensor made here, another one, a view of another one */

/* One question: a value is looked at once.  What was found on the way of a value round to itself is
 * not all, and not kept. */
typedef struct question {
    const jcv *c;
    uint64_t number;
    bool round;
} question;

static int memory_of(question *q, jcv_val *v);

/* What a loop hands on may be what it begins with; what a body hands on may be any operand. */
static int memory_given(question *q, const jcv_node *n, unsigned index, int r) {
    bool each = n->op->role == JN_ROLE_FOREACH;
    unsigned start = index + each;
    if ((each || n->op->role == JN_ROLE_WHILE) && start < n->n_in) {
        int m = memory_of(q, n->in[start]);
        r = m > r ? m : r;
    }
    for (unsigned k = 0; k < n->n_in && n->subs[0] && r == OTHERS; k++)
        if (n->in[k] && n->in[k]->type->kind == JANUS_KIND_TENSOR && memory_of(q, n->in[k]) == VIEW)
            r = VIEW;
    return r;
}

static int memory_of(question *q, jcv_val *v) {
    const jcv *c = q->c;
    jcv_node *n = v->node;
    int r = OWN;
    if (!n)
        return c->views ? VIEW : OTHERS;
    if (n->kind != JCV_OP)
        return OWN;
    if (v->asked) {
        q->round = true;
        return OWN;
    }
    if (v->question == q->number)
        return v->memory;
    bool before = q->round;
    q->round = false;
    v->asked = true;
    if (n->op->role == JN_ROLE_HOST || n->op == JN_OP(wire_read))
        r = c->views ? VIEW : OTHERS;
    else if (n->view)
        r = memory_of(q, n->in[0]) == OWN ? OWN : VIEW;
    for (int k = 0; k < 2; k++) {
        jcv_ctx *x = n->subs[k];
        if (!x || (n->op->role == JN_ROLE_WHILE && k == 0) || v->index >= x->results.n)
            continue;
        int m = memory_of(q, x->results.data[v->index]);
        r = m > r ? m : r;
    }
    r = memory_given(q, n, v->index, r);
    v->asked = false;
    if (!q->round) {
        v->question = q->number;
        v->memory = (uint8_t)r;
    }
    q->round = q->round || before;
    return r;
}

static int memory(const jcv *c, jcv_val *v) {
    static uint64_t questions; /* under the interpreter lock */
    question q = {c, ++questions, false};
    return memory_of(&q, v);
}

bool jcv_views_others(const jcv *c, jcv_val *v) { return memory(c, v) == VIEW; }
bool jcv_has_own(const jcv *c, jcv_val *v) { return memory(c, v) == OWN; }

bool jcv_goes_round(jcv *c, const jcv_node *loop) {
    if (loop->op->role != JN_ROLE_FOREACH || loop->out[0].ctx != c->main || c->ctx != c->main)
        return false;
    jcv_val *in[2] = {loop->in[0], jcv_int_const(c, 0)};
    jcv_assert(c, &jcv_op(c, JN_OP(s_gt), in, 2, NULL)->out[0], "a loop goes a round");
    return true;
}

bool jcv_own_after_rounds(jcv *c, jcv_val *v) {
    const jcv_node *n = v->node;
    return n && jcv_role(n) == JN_ROLE_FOREACH && v->index < n->subs[0]->results.n &&
           memory(c, n->subs[0]->results.data[v->index]) == OWN && jcv_goes_round(c, n);
}

/* ---- whether it requires grad -------------------------------------------------------------------
 * The eager layer keeps that in the proxy, which is not copied for each arm: it is brought in step
 * with the state. */

static bool tracked(const jcv_rec *r) { return r->obj && jpy_tensor_tracked((jpy_tensor *)r->obj); }

static bool is_leaf(const jcv_rec *root) {
    const jpy_tensor *t = (const jpy_tensor *)root->obj;
    return t && t->requires_grad && !t->node;
}

static unsigned how(const jcv_rec *r) {
    return is_leaf(r) ? LEAF : tracked(r) ? TRACKED : UNTRACKED;
}

static void set_tracked(jcv *c, jcv_rec *r, unsigned on) {
    if (!r->obj || (on == LEAF ? is_leaf(r) : tracked(r) == (on != UNTRACKED)))
        return;
    jpy_tensor *t = (jpy_tensor *)r->obj;
    if (on == TRACKED) {
        if (!jcv_track(r->obj, true))
            jcv_refuse(c, "out of memory");
        return;
    }
    jpy_node_release(t->node);
    t->node = NULL;
    t->requires_grad = on == LEAF;
}

static void set_all_tracked(jcv *c, jcv_rec *root, unsigned on) {
    set_tracked(c, root, on);
    for (jcv_rec *v = root->views; v; v = v->next_view)
        if (!v->apart)
            set_tracked(c, v, on ? TRACKED : UNTRACKED);
}

void jcv_settle_places(jcv *c) {
    for (size_t i = 0; i < c->places.n; i++) {
        jcv_rec *r = c->places.data[i];
        const jcv_av *now = c->slots.data[r->slot];
        if (r->obj && (now->n != 0) != tracked(r))
            jcv_put(c, r->slot, data(c, now->val, how(r)));
    }
}

void jcv_sync_places(jcv *c) {
    for (size_t i = 0; i < c->places.n; i++)
        set_all_tracked(c, c->places.data[i], c->slots.data[c->places.data[i]->slot]->n);
}

bool jcv_is_place(jcv *c, size_t slot, const jcv_ctx *x, bool *out_outer) {
    for (size_t i = 0; slot && i < c->places.n; i++) {
        const jcv_rec *r = c->places.data[i];
        if (r->slot == slot || r->when == slot || r->counted == slot) {
            *out_outer = jcv_encloses(r->ctx, x);
            return true;
        }
    }
    return false;
}

/* ---- who else may see it ------------------------------------------------------------------------
 */

/* What arms and rounds leave may be many, each of which may be many: each tensor is looked at once
 * in a walk.  A walk has a number, under the interpreter lock, and another one inside of it has
 * another place for its own. */
static uint64_t walks;

static bool first_time(uint64_t *place, uint64_t walk) {
    bool first = *place != walk;
    *place = walk;
    return first;
}
static bool first_inside(const jcv_rec *r, uint64_t walk) {
    return first_time(&((jcv_rec *)(uintptr_t)r)->inside, walk);
}
static bool first_around(const jcv_rec *r, uint64_t walk) {
    return first_time(&((jcv_rec *)(uintptr_t)r)->around, walk);
}

static bool walk_to(const jcv_rec *r, const jcv_rec *x, unsigned depth, uint64_t walk) {
    if (r == x || depth > MAX_DEPTH)
        return true;
    for (unsigned i = 0; i < r->n_from; i++)
        if (first_inside(r->from[i], walk) && walk_to(r->from[i], x, depth + 1, walk))
            return true;
    return false;
}
/* Whether it is x, or may be. */
static bool may_be(const jcv_rec *r, const jcv_rec *x) { return walk_to(r, x, 0, ++walks); }

/* Whether a, of which not all is known, may be b: that was there when a came, or is as unknown. */
static bool unknown_may_be(const jcv_rec *a, const jcv_rec *b) {
    return a->shared && (b->shared || b->src || b->serial < a->serial);
}

static bool same_bound(const jcv_rec *a, const jcv_rec *b) {
    return a->proxy && a->proxy == b->proxy;
}

/* Whether `a`, as itself, may be what b is. */
static bool meets(const jcv_rec *a, const jcv_rec *b, unsigned depth, uint64_t walk) {
    if (a == b || depth > MAX_DEPTH || same_bound(a, b) || unknown_may_be(a, b) ||
        unknown_may_be(b, a))
        return true;
    for (unsigned i = 0; i < b->n_from; i++)
        if (first_inside(b->from[i], walk) && meets(a, b->from[i], depth + 1, walk))
            return true;
    return false;
}

static bool may_be_one(const jcv_rec *a, const jcv_rec *b, unsigned depth, uint64_t walk) {
    if (depth > MAX_DEPTH || meets(a, b, 0, ++walks))
        return true;
    for (unsigned i = 0; i < a->n_from; i++)
        if (first_around(a->from[i], walk) && may_be_one(a->from[i], b, depth + 1, walk))
            return true;
    return false;
}
bool jcv_may_be_one(const jcv_rec *a, const jcv_rec *b) { return may_be_one(a, b, 0, ++walks); }

static void stay_apart(jcv *c, const jcv_rec *r, uint64_t walk) {
    if (r->src && !jpy_guards_distinct(c->guards, r->src->slot))
        jcv_refuse(c, "out of memory");
    for (unsigned i = 0; i < r->n_from; i++)
        if (first_around(r->from[i], walk))
            stay_apart(c, r->from[i], walk);
}
void jcv_stay_apart(jcv *c, const jcv_rec *r) { stay_apart(c, r, ++walks); }

/* Whether an abstract value leads to x, or a view of it, otherwise than by `me`; view: to a view.
 */
static bool leads_to(jcv *c, const jcv_av *a, const jcv_rec *x, const jcv_rec *me, bool view) {
    if (!a || a->kind == AV_UNDEF || a->kind == AV_PY)
        return false;
    if (a->kind == AV_TENSOR) {
        const jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)a->py)->t);
        return r->root != me && (!view || r->parent) && may_be(r->root, x);
    }
    if (a->kind == AV_LIST || a->kind == AV_DICT)
        return false; /* what it holds is in a slot of its own */
    for (unsigned i = 0; a->items && i < a->n; i++)
        if (leads_to(c, a->items[i], x, me, view))
            return true;
    return leads_to(c, a->self, x, me, view);
}

bool jcv_reachable(jcv *c, const jcv_rec *x, const jcv_rec *me) {
    for (size_t i = 0; i < c->slots.n; i++)
        if (leads_to(c, c->slots.data[i], x, me, false))
            return true;
    return false;
}

bool jcv_view_reachable(jcv *c, const jcv_rec *root) {
    for (size_t i = 0; i < c->slots.n && root->views; i++)
        if (leads_to(c, c->slots.data[i], root, NULL, true))
            return true;
    return false;
}

static bool called_from(const jcv_frame *f, const jcv_frame *outer) {
    while (f && f != outer)
        f = f->caller;
    return f != NULL;
}

/* Whether no other name leads to one of the tensors that `me` may be.  Expressions that are being
 * evaluated are those of callers: what they hold was made before the call. */
static bool sole(jcv *c, const jcv_rec *r, const jcv_rec *me, unsigned depth, uint64_t walk) {
    if (r->shared || r->stored || r->parent || depth > MAX_DEPTH)
        return false;
    for (unsigned i = 0; i < r->n_from; i++) {
        const jcv_rec *x = r->from[i];
        if (x->src || !called_from(x->frame, r->frame))
            return false;
        if (first_around(x, walk) && (jcv_reachable(c, x, me) || !sole(c, x, me, depth + 1, walk)))
            return false;
    }
    return true;
}

void jcv_made_of(jcv *c, jcv_av *leaf, jcv_av *const *of, unsigned n) {
    if (leaf->kind != AV_TENSOR)
        return;
    jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)leaf->py)->t);
    r->from = jcv_alloc(c, (n + 1) * sizeof(jcv_rec *));
    r->shared = false;
    for (unsigned i = 0; i < n; i++) {
        if (of[i]->kind != AV_TENSOR) {
            r->shared = true;
            continue;
        }
        jcv_rec *x = jcv_rec_of(c, ((jpy_tensor *)of[i]->py)->t);
        r->shared = r->shared || x->parent;
        r->from[r->n_from++] = x->root;
    }
}

static bool only_in(const jcv_rec *r, const jcv_ctx *x, const jcv_rec * or, unsigned depth) {
    if (r->shared || r->stored || r->parent || r->src || depth > MAX_DEPTH)
        return false;
    if (r == or)
        return true;
    for (unsigned i = 0; i < r->n_from; i++)
        if (!only_in(r->from[i], x, or, depth + 1))
            return false;
    return jcv_encloses(x, r->ctx);
}

bool jcv_only_in(jcv *c, jcv_av *a, const jcv_ctx *x, jcv_av * or) {
    const jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)a->py)->t);
    return only_in(r, x, or ? jcv_rec_of(c, ((jpy_tensor *) or->py)->t) : NULL, 0);
}

bool jcv_same_root(jcv *c, jcv_av *a, jcv_av *b) {
    return a->kind == AV_TENSOR && b->kind == AV_TENSOR &&
           jcv_rec_of(c, ((jpy_tensor *)a->py)->t)->root ==
               jcv_rec_of(c, ((jpy_tensor *)b->py)->t)->root;
}

void jcv_check_rounds(jcv *c, const jcv_ctx *body, jcv_av *const *first, jcv_av *const *last,
                      unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (first[i]->kind != AV_TENSOR || !jcv_rec_of(c, ((jpy_tensor *)first[i]->py)->t)->written)
            continue;
        bool ok = last[i]->kind == AV_TENSOR && jcv_only_in(c, last[i], body, first[i]) &&
                  !jcv_saved(jcv_rec_of(c, ((jpy_tensor *)last[i]->py)->t), false);
        for (unsigned k = 0; k < n && ok; k++)
            ok = k == i || !jcv_same_root(c, last[i], last[k]);
        if (!ok)
            jcv_refuse(c, "a tensor is written in place in the next round of a loop, and may have "
                          "another name or be needed as it was");
    }
}

/* ---- writing ------------------------------------------------------------------------------------
 */

/* The writing direction of a view op: the parent's value with `v` in its place.  Where v is kept
 * for a gradient, its memory is the parent's, which an alias says (finish/given.c). */
static jcv_val *put_back(jcv *c, jcv_rec *r, jcv_val *up, jcv_val *v, bool kept) {
    const jn_op *op = r->op;
    jcv_val *in[4] = {up, v, NULL, NULL};
    jcv_node *n = NULL;
    if (op == JN_OP(detach) || op == JN_OP(alias))
        return v;
    if (kept && (op == JN_OP(select) || op == JN_OP(slice))) {
        jcv_node *named = jcv_op_try(c, JN_OP(alias), &v, 1, NULL);
        if (!named)
            return NULL;
        in[1] = &named->out[0];
    }
    if (op == JN_OP(select)) {
        in[2] = r->extra[0];
        n = jcv_op_try(c, JN_OP(select_scatter), in, 3, r->attrs);
    } else if (op == JN_OP(slice)) {
        in[2] = r->extra[0];
        in[3] = r->extra[1];
        n = jcv_op_try(c, JN_OP(slice_scatter), in, 4, r->attrs);
    } else if (op == JN_OP(transpose)) {
        n = jcv_op_try(c, op, &v, 1, r->attrs);
    } else if (op == JN_OP(reshape) || op == JN_OP(unsqueeze) || op == JN_OP(squeeze)) {
        janus_reshape_attrs attrs = {sizeof attrs, {up->type->dims, (size_t)up->type->rank}};
        n = jcv_op_try(c, JN_OP(reshape), &v, 1, &attrs);
    }
    if (!n) {
        jn_error(JANUS_UNSUPPORTED, "a write through a view made by %s", op->name);
        return NULL;
    }
    return &n->out[0];
}

janus_status jcv_need_slot(jcv *c, jcv_rec *root) {
    if (root->slot)
        return JANUS_OK;
    root->slot = jcv_slot(c, data(c, root->val, how(root)));
    if (root->src)
        root->when = jcv_slot(c, jcv_bool(c, false));
    if (root->src && c->counts)
        root->counted = jcv_slot(c, jcv_bool(c, false));
    return jn_vec_push(&c->places, root) ? JANUS_OK : JN_NO_MEMORY();
}

void jcv_put_held(jcv *c, jcv_rec *root, jcv_val *v) {
    jcv_put(c, root->slot, data(c, v, how(root)));
}

/* Whether a view on the way to its root is a leaf of its own. */
static bool by_leaf(const jcv_rec *r) {
    for (; r->parent; r = r->parent)
        if (r->versions)
            return true;
    return false;
}

/* Whether what runs is the function itself, once, on some paths or on all. */
static bool once(const jcv *c) {
    const jcv_ctx *x = c->ctx;
    while (x->kind == JCV_ARM && x->parent)
        x = x->parent;
    return x == c->main;
}

/* Whether what a call returned, or what was read, may be x, which was there before. */
static bool may_be_older(const jcv_rec *r, const jcv_rec *x) {
    return r->shared && !r->src && r->serial >= x->serial;
}

/* Whether it may be a tensor of the caller that was written: the graph has another value of that,
 * not the object. */
bool jcv_may_be_written(const jcv *c, const jcv_rec *r) {
    for (const jcv_rec *x = c->recs; x; x = x->next)
        if (x->src && x->written && !x->parent && x != r && x->t->dtype == r->t->dtype &&
            (may_be_older(r, x) || may_be(r, x)))
            return true;
    return false;
}

/* What is read of the heap is compared with what is written when the graph runs. */
static bool of_heap(const jcv_rec *r) {
    const jcv_node *n = r->val ? r->val->node : NULL;
    return n && jcv_role(n) == JN_ROLE_HOST;
}

/* Whether the graph may have stored that tensor. */
static bool may_be_stored(const jcv *c, const jcv_rec *root) {
    for (size_t i = 0; i < c->stored.n; i++) {
        const jcv_rec *r = c->stored.data[i]->root;
        if (r == root || may_be(r, root) || may_be_older(r, root))
            return true;
    }
    return root->put || (root->src && (c->views & JCV_VIEWS_TRACKED));
}

/* What the graph stored and reads again. */
static bool is_read_back(const jcv_rec *r) {
    const jcv_node *n = r->val ? r->val->node : NULL;
    return n && n->op == JN_OP(wire_read);
}

/* Whether `r` may be what is written as `root`, which the graph may have stored. */
static bool has_other_name(const jcv_rec *r, const jcv_rec *root, bool stored) {
    return (may_be_older(r, root) && !of_heap(r)) || may_be(r, root) || (stored && is_read_back(r));
}

static bool holds_rows(const jcv_av *a, const jcv_rows *rows) {
    if (!a || a->kind == AV_UNDEF || a->kind == AV_PY)
        return false;
    if (a->rows == rows)
        return true;
    for (unsigned i = 0; a->items && i < a->n; i++)
        if (holds_rows(a->items[i], rows))
            return true;
    return holds_rows(a->self, rows);
}

/* Rows of stacked lists are copies, made before: they are not read again.  Where the write is made
 * again, what comes before it is after it, too. */
static janus_status other_rows(jcv *c, const jcv_rec *root, const jcv_ctx *again, bool stored) {
    for (jcv_rows *rows = c->all_rows; rows; rows = rows->next) {
        bool in = false, held = false;
        for (size_t i = 0; i < rows->n && !in; i++)
            in = rows->put[i]->t->dtype == root->t->dtype &&
                 has_other_name(rows->put[i], root, stored);
        for (size_t i = 0; i < c->slots.n && in && !held; i++)
            held = again != c->main && !jcv_encloses(again, rows->ctx) &&
                   holds_rows(c->slots.data[i], rows);
        if (held)
            return jn_error(JANUS_UNSUPPORTED,
                            "an in-place write to a tensor that may be in a list");
        rows->stale = rows->stale || in;
    }
    return JANUS_OK;
}

/* Other names of `root`, or of what may be it, do not say what it holds from now on.  Where the
 * write is made again, what comes before it is after it, too. */
static janus_status other_names(jcv *c, jcv_rec *root) {
    const jcv_ctx *again = c->ctx; /* what is made again as a whole */
    while (again->kind == JCV_ARM && again->parent)
        again = again->parent;
    bool stored = c->wires && may_be_stored(c, root);
    for (jcv_rec *r = c->recs; r; r = r->next) {
        if (r == root || r->parent || r->t->dtype != root->t->dtype ||
            !has_other_name(r, root, stored))
            continue;
        if (again != c->main && !jcv_encloses(again, r->ctx) && jcv_reachable(c, r, NULL))
            return jn_error(JANUS_UNSUPPORTED,
                            "an in-place write to a tensor that may have another name");
        r->stale = true;
        r->n_writes++;
        r->wrote_uncounted = true; /* no version of it says so */
    }
    return other_rows(c, root, again, stored);
}

/* Whether elements of a tensor may lie in one place (expand, as_strided). */
static bool overlaps_itself(const janus_tensor *t) {
    uint32_t left = 0;
    int64_t reach = 0; /* of the dims with shorter steps, from first to last */
    for (int d = 0; d < t->rank; d++)
        left |= t->dims[d] > 1 ? 1u << d : 0;
    while (left) {
        int least = -1;
        for (int d = 0; d < t->rank; d++)
            if (left >> d & 1 && (least < 0 || t->strides[d] < t->strides[least]))
                least = d;
        if (t->strides[least] <= reach)
            return true;
        reach += (t->dims[least] - 1) * t->strides[least];
        left &= ~(1u << least);
    }
    return false;
}

static janus_status may_write(jcv *c, const jcv_rec *r, bool recorded) {
    const jcv_rec *root = r->root;
    const char *why = NULL;
    bool leaf = is_leaf(root);
    if (!jcv_encloses(root->ctx, c->ctx))
        why = "made outside of the recursion";
    else if (root->src && root->src->tensor.part)
        why = "of the caller that is a view and has a history";
    else if (root->src && overlaps_itself(root->t))
        why = "of the caller whose elements share places";
    else if (by_leaf(r))
        why = "by way of a view that was made a leaf";
    else if (root->src && (c->views >> root->t->dtype & 1))
        why = "of which the graph may have stored a view";
    else if (c->wires && may_be_stored(c, root) && root->src && !once(c))
        why = "that the graph may have stored, in a loop";
    else if (root->data_of && jcv_reachable(c, root->data_of, root))
        why = "whose memory another one has, by an assignment to .data";
    else if (!sole(c, root, root, 0, ++walks))
        why = "that may have another name";
    else if (jcv_saved(root, root->src && once(c)) || /* of what was bound versions will tell */
             (!root->src && root->val && jcv_result_saved(root->val)))
        why = "that a gradient needs as it was";
    else if (jpy_no_grad_mode && !leaf && tracked(root))
        why = "that requires grad, without recording";
    else if (!jpy_no_grad_mode && leaf && r->parent && !r->apart)
        why = "of which it is a view, a leaf that requires grad";
    else if (r->apart && (recorded || (tracked(root) && !leaf)))
        why = "through a view without history";
    if (!why)
        return JANUS_OK;
    return jn_error(JANUS_UNSUPPORTED, "an in-place write to a tensor %s", why);
}

/* Whether a write to it ends the history of its root: it has that history, and is all of the root,
 * whatever the sizes.  What puts a part back leads to the root. */
static bool ends_root(const jcv_rec *r) {
    if (jpy_no_grad_mode || r->apart)
        return false;
    for (; r->parent; r = r->parent)
        if (r->op == JN_OP(select) || r->op == JN_OP(slice))
            return false;
    return true;
}

/* A value that is copied, not computed in place, is none by another name. */
static jcv_val *without_alias(jcv_val *v) {
    while (v->node && v->node->op == JN_OP(alias) && v->node->in[0]->type == v->type)
        v = v->node->in[0];
    return v;
}

/* Whether it is a part of a reshaped tensor that was turned: what is put back is reshaped when it
 * has been turned, which is a copy anywhere else, so that its memory is not found (given.c). */
static bool turned_in_shape(const jcv_rec *r) {
    bool turned = false;
    for (; r->parent; r = r->parent) {
        if (turned &&
            (r->op == JN_OP(reshape) || r->op == JN_OP(unsqueeze) || r->op == JN_OP(squeeze)))
            return true;
        turned = turned || r->op == JN_OP(transpose);
    }
    return false;
}

/* The tape of ops on proxies does not know that they share memory.  What is written by another name
 * has a history that is the graph's alone: nothing is computed by what the tape has of it. */
static void leave_tape(jcv *c, jcv_rec *root, const jcv_rec *by) {
    if (jpy_no_grad_mode || by->apart)
        return;
    for (jcv_rec *x = root; x; x = x == root ? root->views : x->next_view) {
        if (x == by || !tracked(x) || (x == root && is_leaf(x)))
            continue;
        jpy_tensor *t = (jpy_tensor *)x->obj;
        janus_tensor_retain(x->t); /* the op that writes may have it as an operand */
        (void)jcv_own(c, jpy_tensor_take_node(x->t, t->node, t->node_out));
        jpy_node_release(t->node);
        t->node = NULL;
        if (!jcv_track(x->obj, true))
            jcv_refuse(c, "out of memory");
    }
}

janus_status jcv_write(jcv *c, jcv_rec *r, jcv_val *v, bool recorded, bool kept, bool ends) {
    jcv_keep_large(c, v->type); /* whether two tensors share memory can depend on it */
    jcv_rec *root = r->root;
    JN_TRY(may_write(c, r, recorded));
    JN_TRY(other_names(c, root));
    if (!kept && r->parent)
        v = without_alias(v);
    if (kept && turned_in_shape(r))
        return jn_error(JANUS_UNSUPPORTED,
                        "what is kept lies in a part of a tensor that is turned");
    for (jcv_rec *x = r; x->parent; x = x->parent) {
        jcv_val *up = jcv_held(c, x->parent);
        if (!up || !(v = put_back(c, x, up, v, kept)))
            return JANUS_UNSUPPORTED;
    }
    jcv_val *pair[2] = {v, ends && ends_root(r) ? jcv_held(c, root) : NULL};
    if (pair[1] && pair[1]->depends) { /* a way to what it was, which gets zeros */
        jcv_node *n = jcv_op_try(c, JN_OP(overwrite), pair, 2, NULL);
        if (!n)
            return janus_last_error()->code;
        v = &n->out[0];
        recorded = true;
    }
    if (!recorded && is_leaf(root) && !(v = jcv_leaf_again(c, root, v)))
        return janus_last_error()->code;
    JN_TRY(jcv_need_slot(c, root));
    if (recorded)
        set_all_tracked(c, root, TRACKED);
    leave_tape(c, root, r);
    jcv_put_held(c, root, v);
    if (root->src)
        jcv_put(c, root->when, jcv_bool(c, true));
    if (root->counted && !r->uncounted)
        jcv_put(c, root->counted, jcv_bool(c, true));
    c->put_written = c->put_written || (c->wires && may_be_stored(c, root));
    root->written = true;
    root->n_writes++;
    root->wrote_uncounted = root->wrote_uncounted || r->uncounted;
    root->n_counted += !r->uncounted && c->ctx == c->main;
    root->may_count = root->may_count || (!r->uncounted && c->ctx != c->main);
    c->writes++;
    jcv_wrote_if(c, root->read_by_fn || (c->wires && may_be_stored(c, root)));
    return JANUS_OK;
}
