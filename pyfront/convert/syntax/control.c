/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements.
 *
 * Where a branch on a value of the graph returns, everything that follows up to the end of the
 * function is converted into both arms (`c->cont` says what follows), so that an early return needs
 * no jump in the graph.
 */
#include "pyfront/convert/syntax/syntax.h"

#include <string.h>

#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/values/values.h"
#include "pyfront/function/function.h"

static jcv_out exec_one(jcv *c, jpy_tree *n);

jcv_out jcv_exec_from(jcv *c, const jpy_tree_list *list, unsigned first) {
    jcv_cont cont = {list, first, c->cont};
    jcv_out out = OUT_NORMAL;
    c->cont = &cont;
    for (unsigned i = first; i < list->n && out == OUT_NORMAL; i++) {
        cont.next = i + 1;
        out = exec_one(c, list->v[i]);
    }
    c->cont = cont.up;
    return out;
}

jcv_out jcv_exec(jcv *c, const jpy_tree_list *list) { return jcv_exec_from(c, list, 0); }

/* Names, attributes, and calls of a name with them. */
static bool simple(const jpy_tree *n) {
    if (n->kind == JPY_CALL) {
        for (unsigned i = 0; i < n->x.n; i++)
            if (!simple(n->x.v[i]))
                return false;
        return n->a->kind == JPY_NAME && !n->y.n;
    }
    return n->kind == JPY_NAME || n->kind == JPY_CONST || (n->kind == JPY_ATTR && simple(n->a));
}

/* `try: x = d[k]`, or `return d[k]`, with one handler: the look-up, else NULL. */
static jpy_tree *looked_up(const jpy_tree *n) {
    const jpy_tree *s = n->kind == JPY_TRY && n->x.n == 1 ? n->x.v[0] : NULL;
    if (!s || !n->c || n->c->obj || n->z.n || !s->a || s->a->kind != JPY_SUBSCRIPT ||
        !(s->kind == JPY_RETURN ||
          (s->kind == JPY_ASSIGN && s->x.n == 1 && s->x.v[0]->kind == JPY_NAME)))
        return NULL;
    return simple(s->a->a) && simple(s->a->b) ? s->a : NULL;
}

/* Whether a statement may end the block it is in. */
static bool leaves(const jpy_tree *n) {
    switch (n->kind) {
    case JPY_RETURN:
    case JPY_BREAK:
    case JPY_CONTINUE:
        return true;
    case JPY_IF:
        return jcv_list_leaves(&n->x) || jcv_list_leaves(&n->y);
    case JPY_MATCH:
    case JPY_CASE:
        return jcv_list_leaves(&n->x);
    case JPY_WITH:
        return jcv_list_leaves(&n->y);
    case JPY_TRY:
        return jcv_list_leaves(&n->x) || jcv_list_leaves(&n->y) || jcv_list_leaves(&n->z) ||
               (looked_up(n) && jcv_list_leaves(&n->c->x));
    case JPY_FOR:
    case JPY_WHILE: /* break and continue inside are its own; return is not */
        return jcv_list_leaves(&n->x) || jcv_list_leaves(&n->y);
    default:
        return false;
    }
}

bool jcv_list_leaves(const jpy_tree_list *l) {
    for (unsigned i = 0; i < l->n; i++)
        if (leaves(l->v[i]))
            return true;
    return false;
}

bool jcv_has_kind(const jpy_tree_list *l, int kind, bool into_loops) {
    for (unsigned i = 0; i < l->n; i++) {
        const jpy_tree *n = l->v[i];
        bool loop = n->kind == JPY_FOR || n->kind == JPY_WHILE;
        if (n->kind == kind)
            return true;
        if (n->kind == JPY_DEF)
            continue;
        if (loop && !into_loops) { /* its else is outside of it */
            if (jcv_has_kind(&n->y, kind, false))
                return true;
            continue;
        }
        bool match = n->kind == JPY_MATCH || n->kind == JPY_CASE;
        if (n->kind == JPY_IF || n->kind == JPY_WITH || n->kind == JPY_TRY || loop || match)
            if (jcv_has_kind(&n->x, kind, into_loops) || jcv_has_kind(&n->y, kind, into_loops) ||
                jcv_has_kind(&n->z, kind, into_loops) ||
                (looked_up(n) && jcv_has_kind(&n->c->x, kind, into_loops)))
                return true;
    }
    return false;
}

/* What follows an arm that has the rest of its block in it, up to the end of the function or round.
 */
static jcv_out rest(jcv *c, jcv_out out) {
    for (jcv_cont *k = c->cont; k && out == OUT_NORMAL; k = k->up) {
        jcv_cont *was = c->cont;
        c->cont = k->up;
        out = jcv_exec_from(c, k->list, k->next);
        c->cont = was;
    }
    if (c->boundary == JCV_END_FUNC) {
        if (out == OUT_NORMAL)
            jcv_put(c, 0, jcv_none(c));
        return out == OUT_NORMAL ? OUT_RETURN : out;
    }
    if (out == OUT_NORMAL)
        out = OUT_CONTINUE;
    if (out != OUT_CONTINUE && c->leave) {
        jcv_leave_by(c, out);
        out = OUT_CONTINUE;
    }
    return out;
}

typedef struct arms {
    jcv_arm_fn first;
    void *user;
} arms;

static jcv_out run_arm_and_rest(jcv *c, void *user, int arm) {
    arms *x = user;
    return rest(c, x->first(c, x->user, arm));
}

static jcv_out branch_with_rest_at(jcv *c, const jpy_tree *n, jcv_val *cond, jcv_arm_fn fn,
                                   void *user) {
    if (c->boundary == JCV_END_OTHER)
        jcv_refuse(c, "a with or try block is left under a condition of the graph");
    arms x = {fn, user};
    return jcv_branch_at(c, n, cond, run_arm_and_rest, &x);
}

jcv_out jcv_branch_with_rest(jcv *c, jcv_val *cond, jcv_arm_fn fn, void *user) {
    return branch_with_rest_at(c, NULL, cond, fn, user);
}

static jcv_out run_arm(jcv *c, void *user, int arm) {
    jpy_tree *n = user;
    return jcv_exec(c, arm ? &n->y : &n->x);
}

jcv_out jcv_exec_if(jcv *c, jpy_tree *n) {
    jcv_val *v = NULL;
    int t = jcv_test(c, n->a, &v);
    if (t >= 0)
        return jcv_exec(c, t ? &n->x : &n->y);
    const jcv_only *only = jcv_only_of(c, n);
    if (only)
        return run_arm(c, n, jcv_only_assume(c, only, v));
    if (jcv_list_leaves(&n->x) || jcv_list_leaves(&n->y) || jcv_forks_rest(c, n))
        return branch_with_rest_at(c, n, v, run_arm, n);
    return jcv_branch_at(c, n, v, run_arm, n);
}

/* ---- assignment ---------------------------------------------------------------------------------
 */

static void unpack(jcv *c, jpy_tree *target, jcv_av *v) {
    jcv_av **items;
    unsigned n, want = target->x.n, star = want;
    for (unsigned i = 0; i < want; i++)
        if (target->x.v[i]->kind == JPY_STARRED)
            star = i;
    jcv_av *all = star == want ? jcv_exactly(c, v, want) : jcv_all_assumed(c, v);
    if (all) {
        items = all->items;
        n = all->n;
    } else if (!jcv_items(c, v, &items, &n)) {
        jcv_refuse(c, "unpacking %s", jcv_describe(v));
    }
    if ((star == want ? n != want : n + 1 < want) && v->kind == AV_LIST && v->text == jcv_never)
        jcv_throw_now(c, THROW_DEAD);
    if (star == want ? n != want : n + 1 < want)
        jcv_refuse(c, JCV_RAISES " by unpacking %u values into %u", n, want);
    for (unsigned i = 0; i < want; i++) {
        if (i < star)
            jcv_assign(c, target->x.v[i], items[i]);
        else if (i == star)
            jcv_assign(c, target->x.v[i]->a, jcv_list(c, items + i, n - want + 1));
        else
            jcv_assign(c, target->x.v[i], items[i + n - want]);
    }
}

void jcv_assign(jcv *c, jpy_tree *t, jcv_av *v) {
    switch (t->kind) {
    case JPY_NAME:
        jcv_store(c, t->obj, v);
        return;
    case JPY_ATTR:
        jcv_setattr(c, jcv_eval(c, t->a), t->obj, v);
        return;
    case JPY_SUBSCRIPT: {
        jcv_av *o = jcv_eval(c, t->a);
        jcv_setitem(c, o, jcv_eval(c, t->b), v);
        return;
    }
    case JPY_TUPLE:
    case JPY_LIST:
        unpack(c, t, v);
        return;
    default:
        jcv_refuse(c, "this target of an assignment");
    }
}

static void augmented(jcv *c, jpy_tree *n) {
    jpy_tree *t = n->a;
    if (t->kind == JPY_NAME) {
        jcv_av *a = jcv_load(c, t->obj);
        jcv_store(c, t->obj, jcv_binary(c, n->op, a, jcv_eval_sum(c, n->b), true));
        return;
    }
    jcv_av *o = jcv_eval(c, t->a);
    if (t->kind == JPY_ATTR) {
        jcv_av *a = jcv_getattr(c, o, t->obj);
        jcv_setattr(c, o, t->obj, jcv_binary(c, n->op, a, jcv_eval(c, n->b), true));
        return;
    }
    jcv_av *i = jcv_eval(c, t->b), *a = jcv_getitem(c, o, i);
    jcv_av *r = jcv_binary(c, n->op, a, jcv_eval(c, n->b), true);
    jcv_setitem(c, o, i, r);
}

/* ---- assert, def, del --------------------------------------------------------------------------
 */

static void exec_assert(jcv *c, jpy_tree *n) {
    jcv_val *v = NULL;
    int t = jcv_test(c, n->a, &v);
    if (t == 0)
        jcv_refuse(c, "an assert fails");
    if (t < 0)
        jcv_assert(c, v, "assert");
}

static void define(jcv *c, jpy_tree *n) {
    if (n->y.n)
        jcv_refuse(c, "a decorated function is defined inside");
    jcv_av *a = jcv_new(c, AV_CLOSURE);
    a->tree = n;
    a->frame = c->frame;
    jcv_closure_defaults(c, a, n->c);
    jcv_store(c, n->obj, a);
}

static void delete (jcv *c, jpy_tree *t) {
    if (t->kind == JPY_NAME) {
        jcv_load(c, t->obj);
        jcv_store(c, t->obj, jcv_lacking(c, LACK_DELETED, "it was deleted"));
        return;
    }
    if (t->kind == JPY_SUBSCRIPT) {
        jcv_av *o = jcv_eval(c, t->a), *i = jcv_eval(c, t->b);
        jcv_delitem(c, o, i);
        return;
    }
    if (t->kind != JPY_ATTR)
        jcv_refuse(c, "this target of del");
    jcv_delattr(c, jcv_eval(c, t->a), t->obj);
}

static jcv_out found_or_not(jcv *c, void *user, int arm) {
    jpy_tree *n = user;
    jcv_out out = jcv_exec(c, arm ? &n->c->x : &n->x);
    return arm || out != OUT_NORMAL ? out : jcv_exec(c, &n->y);
}

/* A look-up in a dict whose handler is for a key that is not there is a test of that: true, and
 * *out is how it ended. */
static bool exec_lookup(jcv *c, jpy_tree *n, jcv_out *out) {
    const jpy_tree *look = looked_up(n);
    jcv_av *type = look && n->c->a ? jcv_eval(c, n->c->a) : NULL;
    if (!look || (type && !(type->kind == AV_PY &&
                            (type->py == PyExc_KeyError || type->py == PyExc_LookupError ||
                             type->py == PyExc_Exception))))
        return false;
    jcv_done before = jcv_done_now(c);
    jcv_av *d = jcv_eval(c, look->a);
    PyTypeObject *t =
        d->kind == AV_DICT || d->kind == AV_HOST || d->kind == AV_PY ? jcv_type_of(c, d) : NULL;
    if (t != &PyDict_Type)
        return false;
    jcv_val *v = NULL;
    jcv_av *key = jcv_eval(c, look->b); /* the body evaluates it again */
    if (jcv_done_any(c, &before))
        jcv_refuse(c, "a look-up with effects, in a try block");
    int has = jcv_truth(c, jcv_compare(c, JPY_IN, key, d), &v);
    if (has >= 0)
        *out = found_or_not(c, n, !has);
    else if (leaves(n))
        *out = jcv_branch_with_rest(c, v, found_or_not, n);
    else
        *out = jcv_branch(c, v, found_or_not, n);
    return true;
}

/* Statements behind which something else comes than the rest of the block that they are in. */
static jcv_out exec_apart(jcv *c, const jpy_tree_list *list) {
    jcv_cont *cont = c->cont;
    int end = c->boundary;
    c->cont = NULL;
    c->boundary = JCV_END_OTHER;
    jcv_out out = jcv_exec(c, list);
    c->cont = cont;
    c->boundary = end;
    return out;
}

static jcv_out exec_try(jcv *c, jpy_tree *n) {
    jcv_out out;
    if (exec_lookup(c, n, &out))
        return out;
    /* what would raise is never committed, so handlers are not needed */
    out = exec_apart(c, &n->x);
    if (out == OUT_NORMAL)
        out = n->z.n ? exec_apart(c, &n->y) : jcv_exec(c, &n->y);
    if (n->z.n) {
        jcv_av *ret = c->slots.data[0];
        jcv_out last = out == OUT_NORMAL ? jcv_exec(c, &n->z) : exec_apart(c, &n->z);
        if (last != OUT_NORMAL)
            return last;
        jcv_put(c, 0, ret);
    }
    return out;
}

/* Of a recursion: instances that paths return are joined by their attributes. */
static jcv_out exec_return(jcv *c, jpy_tree *n) {
    jcv_av *v = n->a ? jcv_number_known(c, jcv_eval(c, n->a)) : jcv_none(c);
    if (c->frame->fills && c->boundary != JCV_END_OTHER)
        v = jcv_to_record(c, v, c->frame->n_fresh);
    jcv_put(c, 0, v);
    return OUT_RETURN;
}

static jcv_out exec_statement(jcv *c, jpy_tree *n) {
    c->at = n;
    if (c->frame && c->frame->source && c->visited.n < UINT16_MAX)
        (void)jn_vec_push(&c->visited, ((jn_loc){c->frame->source->file, n->line, 0}));
    if (!c->frame->depth)
        c->statement = n;
    switch ((jpy_tree_kind)n->kind) {
    case JPY_EXPR:
        if (n->a->kind == JPY_YIELD)
            return jcv_exec_yield(c, n->a);
        jcv_eval(c, n->a);
        return OUT_NORMAL;
    case JPY_ASSIGN: {
        bool name = n->x.n == 1 && n->x.v[0]->kind == JPY_NAME;
        jcv_av *v = name ? jcv_eval_sum(c, n->a) : jcv_eval(c, n->a);
        for (unsigned i = 0; i < n->x.n; i++)
            jcv_assign(c, n->x.v[i], v);
        return OUT_NORMAL;
    }
    case JPY_AUG:
        augmented(c, n);
        return OUT_NORMAL;
    case JPY_ANN:
        if (n->b)
            jcv_assign(c, n->a, jcv_eval(c, n->b));
        return OUT_NORMAL;
    case JPY_IF:
        return jcv_exec_if(c, n);
    case JPY_WHILE:
        return jcv_exec_while(c, n);
    case JPY_FOR:
        return jcv_exec_for(c, n);
    case JPY_RETURN:
        return exec_return(c, n);
    case JPY_BREAK:
        return OUT_BREAK;
    case JPY_CONTINUE:
        return OUT_CONTINUE;
    case JPY_PASS:
    case JPY_SCOPE:
        return OUT_NORMAL;
    case JPY_ASSERT:
        exec_assert(c, n);
        return OUT_NORMAL;
    case JPY_RAISE:
        jcv_refuse(c, JCV_RAISES);
    case JPY_WITH:
        return jcv_exec_with(c, n);
    case JPY_TRY:
        return exec_try(c, n);
    case JPY_MATCH:
        return jcv_exec_match(c, n);
    case JPY_DEF:
        define(c, n);
        return OUT_NORMAL;
    case JPY_DELETE:
        for (unsigned i = 0; i < n->x.n; i++)
            delete (c, n->x.v[i]);
        return OUT_NORMAL;
    default:
        jcv_refuse(c, "%s is not converted",
                   n->obj && PyUnicode_Check(n->obj) ? PyUnicode_AsUTF8(n->obj) : "this statement");
    }
}

static jcv_out exec_one(jcv *c, jpy_tree *n) {
    const jpy_tree *around = c->running;
    c->running = n;
    jcv_out out = jcv_forks(c, n) ? jcv_exec_forking(c, n, exec_statement) : exec_statement(c, n);
    c->running = around;
    return out;
}

/* Nobody reads them again, unless a function made inside does. */
static void forget_variables(jcv *c, const jcv_frame *fr) {
    bool kept = jcv_makes_functions(fr->def->a);
    for (unsigned i = 0; i < fr->def->x.n && !kept; i++)
        kept = jcv_makes_functions(fr->def->x.v[i]);
    for (unsigned i = 0; i < fr->n && !kept; i++)
        jcv_put(c, fr->slots[i], c->slot_init.data[fr->slots[i]]);
}

/* What the variables of a region's function hold that are dead behind it. */
static void keep_variables(jcv *c, const jcv_frame *fr) {
    const jpy_tree_fn *fn = fr->def->fn;
    c->n_left = fn->n_kept;
    c->left = jcv_alloc(c, (fn->n_kept + 1) * sizeof *c->left);
    for (unsigned i = 0; i < fn->n_kept; i++)
        c->left[i] = jcv_left_in(c, fr, fn->kept[i]);
}

jcv_av *jcv_exec_body(jcv *c, jcv_frame *fr) {
    enum { MAX_DEPTH = 200 };
    jcv_place place = jcv_where(c);
    jcv_av *ret = c->slots.data[0], *out;
    if (fr->depth > MAX_DEPTH)
        jcv_refuse(c, "calls are nested too deeply");
    jn_loc called = jcv_place_of(c);
    unsigned before = c->steps;
    fr->called_at = c->at;
    c->frame = fr;
    c->cont = NULL;
    c->boundary = JCV_END_FUNC;
    c->leave = NULL;
    if (fr->def->kind == JPY_LAMBDA) {
        out = jcv_eval(c, fr->def->a);
    } else {
        jcv_put(c, 0, jcv_none(c));
        jcv_out o = jcv_exec(c, &fr->def->x);
        out = o == OUT_RETURN ? c->slots.data[0] : jcv_none(c);
        if (out->kind == AV_UNDEF)
            jcv_refuse(c, "the result: %s", out->text);
    }
    if (!fr->caller && fr->def->kind == JPY_DEF)
        keep_variables(c, fr);
    forget_variables(c, fr);
    jcv_put(c, 0, ret);
    if (c->steps > before && called.file && c->visited.n < UINT16_MAX)
        (void)jn_vec_push(&c->visited, ((jn_loc){called.file, called.line, JPY_LEADS_ON}));
    c->frame = place.frame;
    c->cont = place.cont;
    c->boundary = place.boundary;
    c->leave = place.leave;
    c->at = place.at;
    return out;
}
