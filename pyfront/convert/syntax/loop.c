/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops: `for` and `while`, over what is known and over what only the graph knows, left early or
 * not.
 *
 * Every loop is a visit: a function called for each item, in order.  Known items are visited one
 * after the other, unknown ones in the body of a foreach, or of a while where the loop can be left.
 * Leaving is state: a number in a slot says how (LEFT_...), and another slot holds what is
 * returned.  Where the number is known only to the graph, the rounds that remain are under a test
 * of it, and so is what follows the loop.
 */
#include "pyfront/convert/syntax/syntax.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/values/values.h"

enum { GOES_ON, LEFT_BY_BREAK, LEFT_BY_RETURN, LEFT_BY_TEST };
enum { UNROLL = 2000, NEST = 48, SHORT = 3, MANY_STEPS = 20000 };

/* The rounds above which a loop stays one where it can; JANUS_UNROLL says another number. */
static long unrolled(void) {
    const char *env = getenv("JANUS_UNROLL");
    char *end = NULL;
    long n = env ? strtol(env, &end, 10) : UNROLL;
    return env && (end == env || *end || n < 0) ? UNROLL : n;
}

static jcv_av *number(jcv *c, long v) { return jcv_take(c, PyLong_FromLong(v)); }

static jcv_leave new_leave(jcv *c) {
    jcv_leave l = {.up = c->leave};
    l.flag = jcv_slot(c, number(c, GOES_ON));
    l.value = jcv_slot(c, jcv_lacking(c, LACK_UNRETURNED, "nothing is returned"));
    return l;
}

void jcv_leave_by(jcv *c, jcv_out out) {
    if (!c->leave)
        jcv_refuse(c, "a loop is left in a way that was not expected");
    jcv_put(c, c->leave->flag, number(c, out == OUT_RETURN ? LEFT_BY_RETURN : LEFT_BY_BREAK));
    if (out == OUT_RETURN)
        jcv_put(c, c->leave->value, c->slots.data[0]);
    jcv_put(c, 0, jcv_none(c));
}

/* How the loop was left: a number of the enum, or -1: the graph knows. */
static int how(jcv *c, const jcv_leave *l) {
    jcv_av *a = l ? c->slots.data[l->flag] : NULL;
    if (!a)
        return GOES_ON;
    return a->kind == AV_PY ? (int)jcv_long(c, a) : -1;
}

int jcv_has_left(jcv *c, const jcv_leave *l) {
    int left = how(c, l);
    return left > 0 ? 1 : left;
}

static jcv_val *left_is(jcv *c, const jcv_leave *l, int what) {
    jcv_val *in[2] = {jcv_number(c, c->slots.data[l->flag]), jcv_int_const(c, what)};
    return &jcv_op(c, JN_OP(s_eq), in, 2, NULL)->out[0];
}

/* ---- visits -------------------------------------------------------------------------------------
 */

typedef struct visit {
    jcv_av *over;
    jcv_av **items;
    unsigned n, at;
    const jcv_leave *leave;
    jcv_visit_fn fn;
    void *user;
    jcv_val *count;
    jcv_watch *watch; /* what known items depend on, and which of them the first one is */
    int64_t first;
    uint32_t index;   /* slot: which round it is */
    jpy_tree *loop;   /* the statement, NULL: none */
    bool peeled;      /* its first round has been made */
    bool of_iterator; /* which has what is left of them, but for the time of the rounds */
    bool forked;      /* it was left under a condition, or not */
} visit;

static void visit_known(jcv *c, visit *v);

static jcv_out visit_others(jcv *c, void *user, int arm) {
    visit v = *(visit *)user;
    if (arm == 0) {
        jcv_put(c, v.leave->flag, number(c, GOES_ON)); /* as tested */
        visit_known(c, &v);
    }
    return OUT_NORMAL;
}

/* What an iterator has when its loop has come to an end.  While that goes on, and where only the
 * graph knows how far it went, nobody else may take an item: then it has no tuple of them. */
static void give_back(jcv *c, const visit *v) {
    if (v->of_iterator && !v->forked)
        jcv_put(c, v->over->slot, jcv_tuple(c, v->items + v->at, v->n - v->at));
}

/* Rounds of a statement cost what the last one did.  A loop of which all would make too large a
 * graph is refused before they are made.  Rounds of which each has a backward() of its own are
 * steps of training, that are as good as graphs of their own: a graph of many holds for one order
 * of its batches, and is made for one call in which each round takes less than its conversion. */
static void expect_rounds(jcv *c, const visit *v, unsigned first, unsigned before,
                          uint32_t backwards) {
    unsigned done = v->at - first;
    bool trains = c->f->measure && c->backwards - backwards >= done;
    uint64_t all = c->steps + (uint64_t)(c->steps - before) * (v->n - v->at);
    if (done < 2 || !v->loop || all <= (trains ? MANY_STEPS : JCV_MOST_STEPS))
        return;
    c->at = v->loop;
    jcv_refuse(c, "a loop of %u rounds is too large a graph", v->n);
}

static void visit_known(jcv *c, visit *v) {
    uint32_t backwards = c->backwards;
    for (unsigned first = v->at; v->at < v->n;) {
        if (v->leave && how(c, v->leave) < 0) {
            if (v->n - first > NEST)
                jcv_refuse(c, "a loop of %u rounds is left under a condition of the graph", v->n);
            v->forked = true;
            jcv_branch(c, left_is(c, v->leave, GOES_ON), visit_others, v);
            return;
        }
        if (how(c, v->leave) > 0) {
            give_back(c, v);
            return;
        }
        jcv_unchanged(c, v->watch, v->first + v->at);
        jcv_av *item = v->items[v->at++];
        unsigned before = c->steps;
        v->fn(c, v->user, jcv_taken(c, v->over, item));
        expect_rounds(c, v, first, before, backwards);
    }
    if (how(c, v->leave) <= 0)
        jcv_unchanged(c, v->watch, -1);
    give_back(c, v);
}

static jcv_val *plus(jcv *c, jcv_val *i, int64_t n) {
    jcv_val *in[2] = {i, jcv_int_const(c, n)};
    return &jcv_op(c, JN_OP(s_add), in, 2, NULL)->out[0];
}

static void counted_round(jcv *c, void *user, jcv_val *i) {
    visit *v = user;
    const jpy_tree *loop = c->loop;
    c->loop = NULL;
    v->fn(c, v->user, jcv_seq_next(c, v->over, v->peeled ? plus(c, i, 1) : i, v->peeled));
    c->loop = loop;
}

static jcv_val *goes_on(jcv *c, void *user) {
    visit *v = user;
    jcv_val *in[2] = {jcv_number(c, c->slots.data[v->index]), v->count};
    jcv_val *both[2] = {&jcv_op(c, JN_OP(s_lt), in, 2, NULL)->out[0],
                        left_is(c, v->leave, GOES_ON)};
    return &jcv_op(c, JN_OP(s_and), both, 2, NULL)->out[0];
}

static void leaving_round(jcv *c, void *user, jcv_val *unused) {
    (void)unused;
    visit *v = user;
    jcv_av *i = c->slots.data[v->index];
    const jpy_tree *loop = c->loop;
    c->loop = NULL;
    v->fn(c, v->user, jcv_seq_item(c, v->over, jcv_number(c, i)));
    c->loop = loop;
    jcv_put(c, v->index, jcv_binary(c, JPY_ADD, i, number(c, 1), false));
}

/* ---- first rounds that are made outside ---------------------------------------------------------
 * In the first round a variable may change its kind: `best = None` becomes a tensor, `total = 0` a
 * tensor, and names are bound that are read after the loop.  That there is one is asserted. */

/* Whether some list that it goes through was seen to be empty. */
static bool seen_empty(jcv *c, jcv_av *over) {
    if (over->kind == AV_HOST) {
        PyObject *samples = jcv_samples(c, over);
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples); i++)
            if (PyObject_Size(PyList_GET_ITEM(samples, i)) < 1)
                return true;
        PyErr_Clear();
        return false;
    }
    for (unsigned i = 0; i < over->n && over->kind == AV_SEQ; i++)
        if (seen_empty(c, over->items[i]))
            return true;
    return false;
}

static void first_round(jcv *c, visit *v) {
    jcv_val *in[2] = {jcv_int_const(c, 0), v->count};
    jcv_assert(c, &jcv_op(c, JN_OP(s_lt), in, 2, NULL)->out[0], "a loop has a round");
    v->fn(c, v->user,
          v->leave ? jcv_seq_item(c, v->over, jcv_int_const(c, 0))
                   : jcv_seq_next(c, v->over, jcv_int_const(c, 0), true));
    v->peeled = true;
}

static void visit_unknown(jcv *c, visit *v) {
    if (v->over->kind == AV_SEQ && !jcv_use_up(c, v->over))
        return;
    v->count = jcv_seq_count(c, v->over);
    uint32_t written = c->live_items;
    const jpy_tree *around = c->loop;
    if (jcv_peeled(c, v->loop))
        first_round(c, v);
    c->loop = v->loop && !v->peeled && !seen_empty(c, v->over) ? v->loop : NULL;
    if (!v->leave) {
        jcv_foreach(c, v->peeled ? plus(c, v->count, -1) : v->count, counted_round, v);
    } else {
        v->index = jcv_slot(c, number(c, v->peeled));
        if (jcv_has_left(c, v->leave) <= 0)
            jcv_while(c, goes_on, leaving_round, v);
    }
    c->loop = around;
    if (c->live_items == written)
        return;
    /* rounds that write to lists may make this one longer or shorter */
    jcv_val *n[2] = {v->count, jcv_seq_count(c, v->over)};
    jcv_assert(c, &jcv_op(c, JN_OP(s_eq), n, 2, NULL)->out[0], "a list grows in a loop over it");
}

/* Whether a loop is better a loop of the graph though its rounds are known: one that can be left
 * soon, any other when it is long. */
static bool long_range(const jcv_av *a, const jcv_leave *leave) {
    if (a->kind != AV_RANGE)
        return false;
    for (unsigned i = 0; i < 3; i++)
        if (a->items[i]->kind != AV_PY)
            return false;
    long start = PyLong_AsLong(a->items[0]->py), stop = PyLong_AsLong(a->items[1]->py);
    long step = PyLong_AsLong(a->items[2]->py), rounds;
    if (PyErr_Occurred() || !step || __builtin_sub_overflow(stop, start, &rounds) ||
        (rounds < 0) != (step < 0) || rounds < -LONG_MAX) {
        PyErr_Clear();
        return false;
    }
    long most = unrolled();
    return rounds / step > (leave && most > 8 ? 8 : most);
}

/* ---- iterators of Python ------------------------------------------------------------------------
 * Each round calls __next__.  One that comes to an end raises, which no graph does, so such a loop
 * is left by the program alone. */

static void next_round(jcv *c, visit *v) {
    v->fn(c, v->user, jcv_special(c, v->over, JCV_S_NEXT, NULL, 0));
}

static jcv_val *not_left_yet(jcv *c, void *user) {
    const visit *v = user;
    return left_is(c, v->leave, GOES_ON);
}

static void round_of_graph(jcv *c, void *user, jcv_val *unused) {
    (void)unused;
    const jpy_tree *loop = c->loop;
    c->loop = NULL;
    next_round(c, user);
    c->loop = loop;
}

static void visit_next(jcv *c, visit *v) {
    if (!v->leave)
        jcv_refuse(c, "all items of %s", jcv_describe(v->over));
    for (long i = 0; how(c, v->leave) == GOES_ON && i < unrolled(); i++)
        next_round(c, v);
    if (how(c, v->leave) > 0)
        return;
    const jpy_tree *around = c->loop;
    if (jcv_peeled(c, v->loop)) {
        jcv_assert(c, not_left_yet(c, v), "a loop has a round");
        next_round(c, v);
    }
    c->loop = v->loop; /* cannot be peeled twice */
    jcv_while(c, not_left_yet, round_of_graph, v);
    c->loop = around;
}

static void visit_any(jcv *c, visit *v) {
    if (jcv_has_parts(c, v->over))
        v->over = jcv_parts(c, v->over);
    jcv_av *it = jcv_iterator(c, v->over), *over = v->over = it ? it : v->over;
    if (over->kind == AV_SEQ && over->tree) {
        jcv_visit_generator(c, over, v->leave, v->fn, v->user);
        return;
    }
    if (it && jcv_gives_next(c, it)) {
        visit_next(c, v);
        return;
    }
    jcv_av *left = over->kind == AV_ITER && over->slot ? c->slots.data[over->slot] : NULL;
    if (left && left->kind == AV_TUPLE) { /* in turn with the rounds */
        v->items = left->items;
        v->n = left->n;
        v->first = (int64_t)over->n - left->n;
        v->watch = over->watch;
        v->of_iterator = true;
        jcv_put(c, over->slot, jcv_none(c));
    } else if (!jcv_items(c, over, &v->items, &v->n)) {
        if (!jcv_is_seq(over))
            jcv_refuse(c, "a loop over %s", jcv_describe(over));
        visit_unknown(c, v);
        return;
    }
    if (v->n > UNROLL)
        jcv_refuse(c, "a loop of %u rounds", v->n);
    if (!left)
        v->watch = jcv_watch_over(c, over, jcv_tuple(c, v->items, v->n), false, NULL);
    visit_known(c, v);
}

void jcv_visit_items(jcv *c, jcv_av *over, const jcv_leave *leave, jcv_visit_fn fn, void *user) {
    visit v = {.over = over, .leave = leave, .fn = fn, .user = user};
    visit_any(c, &v);
}

/* ---- what follows a loop ------------------------------------------------------------------------
 */

typedef struct ending {
    jpy_tree *n;
    const jcv_leave *leave;
} ending;

static jcv_out if_returned(jcv *c, void *user, int arm);

static jcv_out run_else(jcv *c, void *user, int arm) {
    ending *e = user;
    return arm ? OUT_NORMAL : jcv_exec(c, &e->n->y);
}

/* The loop has not returned. */
static jcv_out then_else(jcv *c, ending *e) {
    int left = how(c, e->leave);
    if (!e->n->y.n || left == LEFT_BY_BREAK)
        return OUT_NORMAL;
    if (left >= 0)
        return jcv_exec(c, &e->n->y);
    jcv_val *v = left_is(c, e->leave, LEFT_BY_BREAK);
    v = &jcv_op(c, JN_OP(s_not), &v, 1, NULL)->out[0];
    return jcv_list_leaves(&e->n->y) ? jcv_branch_with_rest(c, v, run_else, e)
                                     : jcv_branch(c, v, run_else, e);
}

static jcv_out if_returned(jcv *c, void *user, int arm) {
    ending *e = user;
    if (arm)
        return then_else(c, e);
    jcv_av *value = c->slots.data[e->leave->value];
    if (value->kind == AV_UNDEF)
        jcv_refuse(c, "the result: %s", value->text);
    jcv_put(c, 0, value);
    return OUT_RETURN;
}

static jcv_out after(jcv *c, jpy_tree *n, const jcv_leave *leave) {
    ending e = {n, leave};
    int left = how(c, leave);
    if (left == LEFT_BY_RETURN)
        return if_returned(c, &e, 0);
    if (left < 0 && !jcv_lacks(c->slots.data[leave->value], LACK_UNRETURNED))
        return jcv_branch_with_rest(c, left_is(c, leave, LEFT_BY_RETURN), if_returned, &e);
    return then_else(c, &e);
}

/* ---- statements ---------------------------------------------------------------------------------
 */

/* One round: what follows a branch inside ends with the round. */
static void round_of(jcv *c, const jpy_tree_list *body, jcv_leave *leave) {
    jcv_cont *cont = c->cont;
    int end = c->boundary;
    jcv_leave *was = c->leave;
    c->cont = NULL;
    c->boundary = JCV_END_ROUND;
    c->leave = leave;
    jcv_out out = jcv_exec(c, body);
    if (out == OUT_BREAK || out == OUT_RETURN)
        jcv_leave_by(c, out);
    c->cont = cont;
    c->boundary = end;
    c->leave = was;
}

typedef struct statement {
    jpy_tree *n;
    jcv_leave leave;
    bool can_leave;
} statement;

static bool can_leave(jcv *c, const jpy_tree *n) {
    return jcv_has_kind(&n->x, JPY_RETURN, true) || jcv_has_kind(&n->x, JPY_BREAK, false) ||
           jcv_yield_leaves(c); /* at a yield */
}

static void for_round(jcv *c, void *user, jcv_av *item) {
    statement *s = user;
    jcv_assign(c, s->n->a, item);
    round_of(c, &s->n->x, s->can_leave ? &s->leave : NULL);
}

jcv_out jcv_exec_for(jcv *c, jpy_tree *n) {
    jcv_av *it = jcv_eval(c, n->b);
    statement s = {.n = n, .can_leave = can_leave(c, n)};
    if (s.can_leave)
        s.leave = new_leave(c);
    visit v = {
        .over = it, .leave = s.can_leave ? &s.leave : NULL, .fn = for_round, .user = &s, .loop = n};
    if (long_range(it, v.leave))
        visit_unknown(c, &v);
    else
        visit_any(c, &v);
    bool given_back = v.of_iterator && !v.forked;
    if (how(c, v.leave) != GOES_ON && !given_back)
        jcv_abandon(c, v.over);
    return after(c, n, v.leave);
}

/* ---- while --------------------------------------------------------------------------------------
 */

static jcv_val *while_test(jcv *c, void *user) {
    statement *s = user;
    jcv_val *v = NULL;
    int t = jcv_test(c, s->n->a, &v);
    return t < 0 ? v : jcv_scalar_const(c, JANUS_KIND_BOOL, (janus_scalar){t});
}

static void while_round(jcv *c, void *user, jcv_val *unused) {
    (void)unused;
    statement *s = user;
    const jpy_tree *loop = c->loop;
    c->loop = NULL;
    round_of(c, &s->n->x, NULL);
    c->loop = loop;
}

static jcv_val *not_left(jcv *c, void *user) {
    statement *s = user;
    return left_is(c, &s->leave, GOES_ON);
}

static jcv_out tested(jcv *c, void *user, int arm) {
    statement *s = user;
    if (arm == 0)
        round_of(c, &s->n->x, &s->leave);
    else
        jcv_put(c, s->leave.flag, number(c, LEFT_BY_TEST));
    return OUT_NORMAL;
}

/* The test is part of the round: it may have effects, and is not made once the loop is left. */
static void tested_round(jcv *c, void *user, jcv_val *unused) {
    (void)unused;
    statement *s = user;
    jcv_val *v = NULL;
    const jpy_tree *loop = c->loop;
    c->loop = NULL;
    int t = jcv_test(c, s->n->a, &v);
    if (t < 0)
        jcv_branch(c, v, tested, s);
    else
        tested(c, s, !t);
    c->loop = loop;
}

/* A list that a test is about, made by the function: a stack or queue. */
static jcv_av *list_in(jcv *c, const jpy_tree *n) {
    if (!n)
        return NULL;
    jcv_av *a = n->kind == JPY_NAME ? jcv_local(c, n->obj) : NULL;
    if (a && a->kind == AV_LIST && !a->origin && a->tree)
        return a;
    a = list_in(c, n->a);
    for (unsigned i = 0; !a && i < n->x.n; i++)
        a = list_in(c, n->x.v[i]);
    return a ? a : list_in(c, n->b);
}

static bool has_named(const jpy_tree *n) {
    if (!n)
        return false;
    bool yes = n->kind == JPY_NAMED || has_named(n->a) || has_named(n->b) || has_named(n->c);
    for (unsigned i = 0; i < n->x.n && !yes; i++)
        yes = has_named(n->x.v[i]);
    for (unsigned i = 0; i < n->y.n && !yes; i++)
        yes = has_named(n->y.v[i]);
    return yes;
}

jcv_out jcv_exec_while(jcv *c, jpy_tree *n) {
    statement s = {.n = n, .can_leave = can_leave(c, n) || has_named(n->a)};
    if (s.can_leave)
        s.leave = new_leave(c);
    for (long i = 0;; i++) {
        jcv_val *v = NULL;
        jcv_state before = jcv_save(c);
        uint32_t epoch = c->epoch;
        jcv_ctx *outside = c->ctx, *trial = jcv_ctx_new(c, JCV_ARM, "test", outside);
        c->ctx = trial;
        int t = jcv_test(c, n->a, &v);
        c->ctx = outside;
        if (t < 0 || (t > 0 && i >= unrolled())) { /* the loop of the graph makes the test itself */
            jcv_restore(c, before);
            c->epoch = epoch;
            break;
        }
        jcv_splice(c, trial);
        if (t == 0)
            return after(c, n, s.can_leave ? &s.leave : NULL);
        if (i == SHORT && jcv_varies(c)) {
            jcv_av *l = list_in(c, n->a);
            if (l)
                jcv_make_live(c, l); /* how often depends on what it holds */
        }
        round_of(c, &n->x, s.can_leave ? &s.leave : NULL);
        int left = how(c, s.can_leave ? &s.leave : NULL);
        if (left > 0)
            return after(c, n, &s.leave);
        if (left < 0)
            break;
    }
    const jpy_tree *around = c->loop;
    if (jcv_peeled(c, n)) {
        jcv_assert(c, while_test(c, &s), "a loop has a round");
        round_of(c, &n->x, s.can_leave ? &s.leave : NULL);
    }
    c->loop = n; /* cannot be peeled twice */
    if (!s.can_leave)
        jcv_while(c, while_test, while_round, &s);
    else if (how(c, &s.leave) <= 0)
        jcv_while(c, not_left, tested_round, &s);
    c->loop = around;
    return s.can_leave ? after(c, n, &s.leave) : then_else(c, &(ending){n, NULL});
}
