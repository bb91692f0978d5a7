/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks: a statement that needs to know what only the graph knows, the type of an object,
 * the length of a list or which string it is, of which some were seen.
 *
 * The statement is run on trial.  Where it asks, the trial is taken back, and a branch of the graph
 * decides: in one arm the object is of the first kind, in the other it is of the others.  Where
 * what the arms leave is no one value, each goes on up to the end of the function or round.  Which
 * statements ask is learnt by a restart, so that others need no trial.  What is asked about must be
 * there before the statement, or be read from such a thing by constant names, places and keys,
 * which is read again ahead of it; or be what an expression of a simple statement gives before
 * which nothing was done, which is evaluated ahead of it.
 */
#include "pyfront/convert/syntax/syntax.h"

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/core/list.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/values/values.h"

static bool in_list(const jpy_tree_list *l, const jpy_tree *n);

static bool contains(const jpy_tree *n, const jpy_tree *of) {
    return n == of || in_list(&n->x, of) || in_list(&n->y, of) || in_list(&n->z, of) ||
           (n->kind == JPY_TRY && n->c && in_list(&n->c->x, of));
}

static bool in_list(const jpy_tree_list *l, const jpy_tree *of) {
    for (unsigned i = 0; i < l->n; i++)
        if (contains(l->v[i], of))
            return true;
    return false;
}

bool jcv_forks_rest(const jcv *c, const jpy_tree *n) {
    for (const jcv_fork *f = c->forks; f; f = f->next)
        if (f->rest && f->statement != n && contains(n, f->statement))
            return true;
    return false;
}

/* What was asked about, as it is before the statement; NULL: it is made by it. */
static jcv_av *before_it(jcv *c, jcv_val *v) {
    jcv_node *n = v->node;
    if (v->ctx == c->main || jcv_encloses(v->ctx, c->ctx))
        return jcv_host(c, v, jcv_own(c, PyList_New(0)));
    if (!n || n->kind != JCV_OP)
        return NULL;
    jcv_av *of = n->n_in ? before_it(c, n->in[0]) : NULL, *got = NULL;
    if (!of)
        return NULL;
    if (n->op == JN_OP(host_attr)) {
        const janus_host_attr_attrs *attrs = n->attrs;
        got = jcv_host_attr(c, of, PyList_GET_ITEM(c->attr_names, (Py_ssize_t)attrs->key));
    } else if (n->op == JN_OP(host_item) && n->in[1]->node &&
               n->in[1]->node->kind == JCV_SCALAR_CONST) {
        janus_scalar at = n->in[1]->node->scalar;
        got = of->val->box ? jcv_box_item(c, of)
                           : jcv_host_item(c, of, jcv_scalar_const(c, JANUS_KIND_INT, at));
    } else if (jcv_constant_key(c, n)) {
        got = jcv_live_getkey(c, of, jcv_py(c, jcv_constant_key(c, n), NULL));
    } else if (n->op == JN_OP(host_key)) {
        jcv_av *key = before_it(c, n->in[1]);
        got = key ? jcv_from_table(c, n->in[0], key) : NULL;
    }
    return got && got->kind == AV_HOST ? got : NULL;
}

/* ---- expressions --------------------------------------------------------------------------------
 */

typedef struct tried {
    jpy_tree *tree;
    jcv_av *gave;
    unsigned times;
    bool first; /* nothing was done before it */
} tried;

struct jcv_ahead {
    const jpy_tree *statement;
    const jcv_frame *frame;
    const jcv_ctx *trial; /* NULL: `tree` gives `av` */
    jcv_done before;
    JCV_LIST(tried) tried;
    const jpy_tree *tree;
    jcv_av *av;
    jcv_ahead *up;
};

/* No part of it is evaluated twice. */
static bool is_simple(const jpy_tree *statement) {
    return statement->kind == JPY_EXPR || statement->kind == JPY_ASSIGN ||
           statement->kind == JPY_RETURN;
}

static bool is_now(const jcv *c, const jcv_ahead *x) {
    return x->statement == c->running && x->frame == c->frame;
}

jcv_av *jcv_known_ahead(jcv *c, const jpy_tree *n) {
    for (const jcv_ahead *x = c->ahead; x; x = x->up)
        if (x->tree == n && is_now(c, x))
            return x->av;
    return NULL;
}

jcv_av *jcv_tried(jcv *c, jpy_tree *n, jcv_av *(*eval)(jcv *c, jpy_tree *n)) {
    jcv_ahead *x = c->ahead;
    bool kind = n->kind == JPY_CALL || n->kind == JPY_SUBSCRIPT || n->kind == JPY_IFEXP;
    if (!kind || !x->trial || !is_now(c, x))
        return eval(c, n);
    tried t = {n, NULL, 1, c->ctx == x->trial && !jcv_done_any(c, &x->before)};
    t.gave = eval(c, n);
    for (size_t i = 0; i < x->tried.n; i++)
        if (x->tried.data[i].tree == n) {
            x->tried.data[i].times++;
            return t.gave;
        }
    jcv_add(c, &x->tried, t);
    return t.gave;
}

/* Evaluates the expression that gave what is asked about ahead of the statement; NULL: there is
 * none, or it cannot be moved there. */
static jcv_av *evaluated_ahead(jcv *c, const jcv_ahead *x, const jcv_asked *asked) {
    for (size_t i = 0; i < x->tried.n; i++) {
        const tried t = x->tried.data[i]; /* what is evaluated may be a trial, too */
        jcv_kind kind = asked->holds ? AV_MAYBE : AV_HOST;
        if (t.gave->kind != kind || t.gave->val != asked->val || t.times > 1 || !t.first)
            continue;
        jcv_av *v = jcv_eval_sum(c, t.tree);
        if (v->kind != kind)
            return NULL;
        jcv_ahead *known = jcv_alloc(c, sizeof *known);
        *known = (jcv_ahead){
            .statement = c->running, .frame = c->frame, .tree = t.tree, .av = v, .up = c->ahead};
        c->ahead = known;
        return v;
    }
    return NULL;
}

typedef struct forking {
    jpy_tree *statement;
    jcv_exec_fn exec;
    unsigned depth;
    jcv_ahead *outside; /* what was known before the statement */
} forking;

static jcv_out run(jcv *c, forking *f);

/* The nodes of a trial, and what it found out. */
static void splice(jcv *c, jcv_ctx *trial) {
    jcv_splice(c, trial);
    jcv_take_known(c->ctx, trial);
}

static jcv_out forked_arm(jcv *c, void *user, int arm) {
    (void)arm;
    forking *f = user;
    jcv_out out = run(c, f);
    c->ahead = f->outside;
    return out;
}

static jcv_out run(jcv *c, forking *f) {
    enum { MAX_FORKS = 40 };
    jcv_state before = jcv_save(c);
    jcv_place place = jcv_where(c);
    uint32_t epoch = c->epoch, live = c->live_epoch, writes = c->writes;
    jcv_ctx *trial = jcv_ctx_new(c, JCV_ARM, "trial", c->ctx);
    jcv_ahead *expressions = jcv_alloc(c, sizeof *expressions);
    *expressions = (jcv_ahead){.statement = f->statement,
                               .frame = c->frame,
                               .trial = trial,
                               .before = jcv_done_now(c),
                               .up = c->ahead};
    if (is_simple(f->statement))
        c->ahead = expressions;
    jcv_handler h = {.up = c->handler};
    c->handler = &h;
    c->ctx = trial;
    volatile jcv_out out = OUT_NORMAL;
    volatile bool thrown = true;
    if (setjmp(h.env) == 0) {
        out = f->exec(c, f->statement);
        thrown = false;
    }
    c->handler = h.up;
    c->ctx = place.ctx;
    c->ahead = place.ahead;
    if (!thrown) {
        splice(c, trial);
        return out;
    }
    if (c->thrown != THROW_FORK)
        jcv_throw_now(c, c->thrown);
    jcv_asked asked = c->asked;
    /* read ahead of a test of the statement it may not be there */
    bool plain = asked.val->ctx == c->main || jcv_encloses(asked.val->ctx, trial);
    jcv_restore(c, before);
    jcv_back(c, place);
    c->epoch = epoch;
    c->live_epoch = live;
    jcv_av *o = plain ? before_it(c, asked.val) : NULL; /* a bool: there it is, or is not */
    o = o || !is_simple(f->statement) ? o : evaluated_ahead(c, expressions, &asked);
    bool cannot = !o || c->writes != writes || ++f->depth > MAX_FORKS;
    if (cannot && asked.text && !jcv_fork_of(c, f->statement)->texts) {
        jcv_fork_of(c, f->statement)->texts = true; /* it may do without (values/table.c) */
        jcv_fork_learnt(c);
    }
    if (cannot)
        jcv_refuse(c, "a statement that depends on %s",
                   asked.type    ? "types of objects"
                   : asked.holds ? "kinds of numbers"
                   : asked.text  ? "strings of objects"
                                 : "lengths of lists");
    jcv_val *in[2], *cond;
    if (asked.holds) {
        cond = o->val;
    } else if (asked.type) {
        cond = jcv_type_is(c, o, asked.type);
    } else if (asked.text) {
        jcv_av *text = jcv_py(c, asked.text, NULL);
        cond = jcv_host_among(c, o, &text, 1);
    } else {
        in[0] = jcv_host_len(c, o);
        in[1] = jcv_int_const(c, asked.length);
        cond = &jcv_op(c, JN_OP(s_eq), in, 2, NULL)->out[0];
    }
    jcv_fork *known = jcv_fork_of(c, f->statement);
    if (known->rest)
        out = jcv_branch_with_rest(c, cond, forked_arm, f);
    else
        out = jcv_branch(c, cond, forked_arm, f);
    c->ahead = place.ahead;
    if (known->rest)
        return out;
    for (size_t i = 0; i < c->slots.n; i++) {
        const jcv_av *was = i < before.n ? before.slots[i] : c->slot_init.data[i];
        if (jcv_lacks(c->slots.data[i], LACK_UNKNOWN) && !jcv_lacks(was, LACK_UNKNOWN)) {
            known->rest = true; /* the arms leave what is no one value */
            jcv_fork_learnt(c);
        }
    }
    return out;
}

jcv_out jcv_exec_forking(jcv *c, jpy_tree *statement, jcv_exec_fn exec) {
    forking f = {statement, exec, 0, c->ahead};
    return run(c, &f);
}
