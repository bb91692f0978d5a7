/* SPDX-License-Identifier: Apache-2.0 */
/* Names, and expressions other than operators. */
#include "pyfront/convert/syntax/syntax.h"

#include <string.h>

#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/values/values.h"
#include "pyfront/methods/methods.h"

/* ---- names --------------------------------------------------------------------------------------
 */

/* ---- the rest -----------------------------------------------------------------------------------
 */

typedef struct choice {
    jpy_tree *arms[2];
    jcv_av *given[2];
    uint32_t slot;
} choice;

static jcv_out choose(jcv *c, void *user, int arm) {
    choice *x = user;
    jcv_av *v = x->given[arm] ? x->given[arm] : jcv_eval(c, x->arms[arm]);
    bool display = !x->given[arm] && x->arms[arm]->kind == JPY_TUPLE && v->kind == AV_TUPLE;
    if (display && !v->py && !v->val) { /* nobody else has it */
        jcv_av *t = jcv_tuple_like(c, v);
        for (unsigned i = 0; i < v->n; i++)
            t->items[i] = jcv_one_of_many(v->items[i]) ? jcv_to_host(c, v->items[i]) : v->items[i];
        v = t;
    }
    jcv_put(c, x->slot, jcv_one_of_many(v) ? jcv_to_host(c, v) : v);
    return OUT_NORMAL;
}

static jcv_av *conditional(jcv *c, jcv_val *cond, choice *x) {
    x->slot = jcv_slot(c, jcv_none(c));
    jcv_branch(c, cond, choose, x);
    jcv_av *v = c->slots.data[x->slot];
    jcv_needed(c, v);
    if (v->kind == AV_UNDEF)
        jcv_refuse(c, "an expression: %s", v->text);
    return v;
}

/* Whether an expression may end with an object whose truth it has asked for: whether CPython asks
 * again depends on the version and on what is done with it. */
static bool asks_truth(const jpy_tree *n) {
    return n->kind == JPY_BOOLOP || n->kind == JPY_IFEXP || (n->kind == JPY_COMPARE && n->x.n > 1);
}

static void no_effects_since(jcv *c, const jcv_done *before) {
    if (jcv_done_any(c, before))
        jcv_refuse(c, "the truth of an object that is asked once or twice, with effects");
}

/* The truth of what an expression has given. */
static int truth_of(jcv *c, const jpy_tree *n, jcv_av *a, jcv_val **out) {
    jcv_done before = jcv_done_now(c);
    int t = jcv_truth(c, a, out);
    if (asks_truth(n))
        no_effects_since(c, &before);
    return t;
}

static jcv_av *bool_op(jcv *c, jpy_tree *n, unsigned at) {
    jcv_av *a = jcv_eval(c, n->x.v[at]);
    if (at + 1 == n->x.n)
        return a;
    jcv_val *v = NULL;
    int t = truth_of(c, n->x.v[at], a, &v);
    if (t >= 0)
        return (t == 1) == (n->op == JPY_OR) ? a : bool_op(c, n, at + 1);
    jpy_tree *rest = jn_arena_zalloc(&c->arena, sizeof *rest);
    if (!rest)
        jcv_refuse(c, "out of memory");
    *rest = *n;
    rest->x.v += at + 1;
    rest->x.n -= at + 1;
    choice x = {{NULL}, {NULL}, 0};
    int keep = n->op == JPY_OR ? 0 : 1;
    x.given[keep] = a->kind == AV_SCALAR && a->val->type->kind == JANUS_KIND_BOOL
                        ? jcv_bool(c, n->op == JPY_OR)
                        : a;
    x.arms[1 - keep] = rest;
    return conditional(c, v, &x);
}

/* ---- tests: only the truth of an expression is asked for ---------------------------------------
 */

typedef struct testing {
    jpy_tree *n;
    unsigned at;
    uint32_t slot;
} testing;

static int test_from(jcv *c, jpy_tree *n, unsigned at, jcv_val **out);

static jcv_out test_rest(jcv *c, void *user, int arm) {
    testing *x = user;
    jcv_val *v = NULL;
    bool decided = (arm == 0) == (x->n->op == JPY_OR);
    int t = decided ? arm == 0 : test_from(c, x->n, x->at, &v);
    jcv_put(c, x->slot, t < 0 ? jcv_scalar(c, v) : jcv_bool(c, t));
    return OUT_NORMAL;
}

/* The parts of `and` or `or` from number `at` on; each may be of a kind of its own. */
static int test_from(jcv *c, jpy_tree *n, unsigned at, jcv_val **out) {
    jcv_val *v = NULL;
    int t = jcv_test(c, n->x.v[at], &v);
    *out = v;
    if (at + 1 == n->x.n)
        return t;
    if (t >= 0)
        return (t == 1) == (n->op == JPY_OR) ? t : test_from(c, n, at + 1, out);
    testing x = {n, at + 1, jcv_slot(c, jcv_none(c))};
    jcv_branch(c, v, test_rest, &x);
    return jcv_truth(c, c->slots.data[x.slot], out);
}

int jcv_test(jcv *c, jpy_tree *n, jcv_val **out) {
    if (n->kind == JPY_UNARY && n->op == JPY_U_NOT) {
        jcv_val *v = NULL;
        int t = jcv_test(c, n->a, &v);
        if (t < 0)
            *out = &jcv_op(c, JN_OP(s_not), &v, 1, NULL)->out[0];
        return t < 0 ? t : !t;
    }
    if (n->kind == JPY_BOOLOP) {
        if (n->line)
            c->at = n;
        return test_from(c, n, 0, out);
    }
    return truth_of(c, n, jcv_eval(c, n), out);
}

/* Whether evaluating it changes nothing. */
static bool harmless(const jpy_tree *n) {
    switch (n->kind) {
    case JPY_NAME:
    case JPY_CONST:
        return true;
    case JPY_ATTR:
    case JPY_UNARY:
        return harmless(n->a);
    case JPY_BINOP:
    case JPY_SUBSCRIPT:
        return harmless(n->a) && harmless(n->b);
    default:
        return false;
    }
}

typedef struct chain {
    jpy_tree *n;
    unsigned at;
    jcv_av *left, *so_far;
    uint32_t slot;
} chain;

static jcv_av *compare_from(jcv *c, jpy_tree *n, unsigned at, jcv_av *a);
typedef enum star_use { NONE, LAST, ANY } star_use;
static jcv_av **eval_list(jcv *c, const jpy_tree_list *l, unsigned *out_n, star_use stars);

static bool constants(const jpy_tree *n) {
    bool all = n->kind == JPY_SET;
    for (unsigned i = 0; all && i < n->x.n; i++)
        all = n->x.v[i]->kind == JPY_CONST;
    return all;
}

/* The right side of a comparison; a set of constants that is only looked into is one, too. */
static jcv_av *compared(jcv *c, int op, jpy_tree *n) {
    unsigned m;
    if ((op != JPY_IN && op != JPY_NOT_IN) || !constants(n))
        return jcv_eval(c, n);
    jcv_av **v = eval_list(c, &n->x, &m, NONE);
    return jcv_set(c, v, m);
}

static jcv_out compare_rest(jcv *c, void *user, int arm) {
    chain *x = user;
    bool is_bool = x->so_far->kind == AV_SCALAR && x->so_far->val->type->kind == JANUS_KIND_BOOL;
    jcv_put(c, x->slot,
            !arm      ? compare_from(c, x->n, x->at, x->left)
            : is_bool ? jcv_bool(c, false)
                      : x->so_far);
    return OUT_NORMAL;
}

/* a < b < c is `a < b and b < c` with b evaluated once: the first comparison that is false, else
 * the last one. */
static jcv_av *compare_from(jcv *c, jpy_tree *n, unsigned at, jcv_av *a) {
    jcv_av *b = compared(c, n->ops[at], n->x.v[at]), *r = jcv_compare(c, n->ops[at], a, b);
    if (at + 1 == n->x.n)
        return r;
    jcv_val *v = NULL;
    int t = jcv_truth(c, r, &v);
    if (t >= 0)
        return t ? compare_from(c, n, at + 1, b) : r;
    const jpy_tree *next = n->x.v[at + 1];
    if (r->kind == AV_SCALAR && jcv_is_numeric(b) && at + 2 == n->x.n && harmless(next)) {
        jcv_av *last = jcv_eval(c, n->x.v[at + 1]);
        if (jcv_is_numeric(last)) { /* needs no branch */
            jcv_val *in[2] = {v, jcv_number(c, jcv_compare(c, n->ops[at + 1], b, last))};
            return jcv_scalar(c, &jcv_op(c, JN_OP(s_and), in, 2, NULL)->out[0]);
        }
    }
    chain x = {n, at + 1, b, r, jcv_slot(c, jcv_none(c))};
    jcv_branch(c, v, compare_rest, &x);
    if (c->slots.data[x.slot]->kind == AV_UNDEF)
        jcv_refuse(c, "a comparison: %s", c->slots.data[x.slot]->text);
    return c->slots.data[x.slot];
}

/* What a star gives that may have another length by now, and that only the graph knows. */
static bool is_open(jcv *c, jcv_av *from, bool display) {
    if (from->kind == AV_SEQ && !from->slot)
        return display && jcv_type_of(c, from) == &PyList_Type;
    return from->kind == AV_HOST &&
           (jcv_host_type(c, from) == &PyList_Type || jpy_is_deque_type(jcv_host_type(c, from)));
}

/* stars: of some of them only the graph knows how many there are; of arguments, of the last ones.
 */
static jcv_av **eval_list(jcv *c, const jpy_tree_list *l, unsigned *out_n, star_use stars) {
    unsigned n = 0, cap = l->n + 8;
    jcv_av **v = jcv_alloc(c, cap * sizeof *v);
    jcv_done before = {0};
    bool open = false;
    for (unsigned i = 0; i < l->n; i++) {
        jcv_av **more;
        unsigned m = 1;
        jcv_av *one = NULL;
        if (l->v[i]->kind == JPY_STARRED) {
            jcv_av *from = jcv_hinted(c, jcv_eval(c, l->v[i]->a));
            bool may = (stars == ANY || (stars == LAST && i + 1 == l->n)) &&
                       is_open(c, from, stars == ANY);
            jcv_av *all = !may            ? jcv_all_assumed(c, from)
                          : stars == LAST ? jcv_later_assumed(c, from)
                                          : NULL;
            if (!all && may) {
                one = jcv_rest(c, from);
                more = &one;
                before = open ? before : jcv_done_now(c);
                open = true;
            } else if (!jcv_items(c, all ? all : from, &more, &m)) {
                jcv_refuse(c, "unpacking something of unknown length");
            }
        } else {
            one = jcv_eval(c, l->v[i]);
            more = &one;
        }
        if (n + m > cap) {
            jcv_av **w = jcv_alloc(c, 2 * (n + m) * sizeof *w);
            memcpy(w, v, n * sizeof *w);
            v = w;
            cap = 2 * (n + m);
        }
        if (m)
            memcpy(v + n, more, m * sizeof *v);
        n += m;
    }
    if (open && jcv_done_changes(c, &before)) /* its items are taken now */
        jcv_refuse(c, "unpacking a list of unknown length before something with effects");
    *out_n = n;
    return v;
}

/* A list or tuple display, which may have items behind stars. */
static jcv_av *display(jcv *c, jpy_tree *n, bool list) {
    unsigned m;
    jcv_av **v = eval_list(c, &n->x, &m, ANY);
    c->at = n;
    for (unsigned i = 0; i < m; i++)
        if (jcv_is_rest(v[i]))
            return jcv_objects_of(c, v, m, n, list);
    return list ? jcv_list(c, v, m) : jcv_tuple(c, v, m);
}

void jcv_closure_defaults(jcv *c, jcv_av *a, jpy_tree *params) {
    a->items = jcv_alloc(c, (params->y.n + params->z.n + 1) * sizeof *a->items);
    for (unsigned i = 0; i < params->y.n; i++)
        a->items[a->n++] = jcv_eval(c, params->y.v[i]);
    for (unsigned i = 0; i < params->z.n; i++) /* NULL: it has none */
        a->items[a->n++] = params->z.v[i] ? jcv_eval(c, params->z.v[i]) : NULL;
}

/* The text of `{v}` in an f-string. */
static jcv_av *formatted(jcv *c, jpy_tree *e, jcv_av *v) {
    v = jcv_which_number(c, v);
    if (!jcv_text_varies(c, v))
        v = jcv_text_known(c, v);
    PyObject *o = jcv_const_object(c, v), *spec = NULL;
    if (e->op == 'a')
        jcv_refuse(c, "an ASCII representation");
    bool number = v->kind == AV_SCALAR;
    if ((e->op == 'r' || e->op == 's') && !(number && !e->b)) {
        PyObject *text = jcv_text(c, v, e->op == 's' ? JCV_S_STR : JCV_S_REPR);
        if (!text && o)
            text = jcv_own(c, e->op == 's' ? PyObject_Str(o) : PyObject_Repr(o));
        jcv_av *items = text ? NULL : jcv_text_of_items(c, v);
        if (!text && !items)
            jcv_refuse(c, "text made of %s", jcv_describe(v));
        o = text;
        v = items ? items : text == v->py ? v : jcv_py(c, text, NULL);
    }
    if (e->b) {
        spec = jcv_const_object(c, jcv_eval(c, e->b));
        if (!spec)
            jcv_refuse(c, "a format that only the graph knows");
    }
    if (v->kind == AV_TEXT && !spec)
        return v;
    if (!o)
        return jcv_format(c, v, spec);
    PyObject *text = jcv_own(c, PyObject_Format(o, spec));
    return text == v->py ? v : jcv_py(c, text, NULL);
}

static jcv_av *fstring(jcv *c, jpy_tree *n) {
    jcv_av *text = NULL;
    for (unsigned i = 0; i < n->x.n; i++) {
        jpy_tree *e = n->x.v[i];
        jcv_av *v = jcv_eval(c, e->kind == JPY_FORMATTED ? e->a : e);
        jcv_av *piece = e->kind == JPY_FORMATTED ? formatted(c, e, v) : v;
        if (!piece ||
            (piece->kind != AV_TEXT && !(piece->kind == AV_PY && PyUnicode_Check(piece->py))))
            jcv_refuse(c, "text made of %s", jcv_describe(v));
        jcv_av *both = text ? jcv_text_join(c, text, piece) : piece; /* alone: it is that object */
        if (!both) { /* a new text, whether one is empty or not */
            PyObject *parts = jcv_own(c, PyTuple_Pack(2, text->py, piece->py));
            both = jcv_take(c, PyUnicode_Join(jcv_own(c, PyUnicode_New(0, 0)), parts));
        }
        text = both;
    }
    return text ? text : jcv_take(c, PyUnicode_New(0, 0));
}

/* What stands in the text: of a tuple its items are known as of others, and which one it is. */
static jcv_av *literal(jcv *c, PyObject *o) {
    jcv_av *a = jcv_py(c, o, NULL);
    if (!PyTuple_CheckExact(o) || !PyTuple_GET_SIZE(o))
        return a;
    jcv_av *t = jcv_tuple(c, NULL, 0);
    t->n = (unsigned)PyTuple_GET_SIZE(o);
    t->items = jcv_alloc(c, t->n * sizeof *t->items);
    for (unsigned i = 0; i < t->n; i++)
        t->items[i] = literal(c, PyTuple_GET_ITEM(o, i));
    t->py = a->py;
    return t;
}

static jcv_av *dict_display(jcv *c, jpy_tree *n) {
    jcv_av *d = jcv_dict(c);
    for (unsigned i = 0; i < n->x.n; i++) {
        if (n->x.v[i]) {
            jcv_av *k = jcv_eval(c, n->x.v[i]);
            jcv_setitem(c, d, k, jcv_eval(c, n->y.v[i]));
        } else {
            jcv_av *more = jcv_eval(c, n->y.v[i]);
            jcv_call_method(c, d, "update", &(jcv_args){.pos = &more, .n_pos = 1});
        }
    }
    return d;
}

static jcv_av *call(jcv *c, jpy_tree *n) {
    jcv_av *f = jcv_eval(c, n->a);
    jcv_args args = {0};
    args.pos = eval_list(c, &n->x, &args.n_pos, LAST);
    bool open = n->y.n && args.n_pos && jcv_is_rest(args.pos[args.n_pos - 1]);
    jcv_done before = open ? jcv_done_now(c) : (jcv_done){0};
    args.names = jcv_alloc(c, (n->y.n + 64) * sizeof *args.names);
    args.kw = jcv_alloc(c, (n->y.n + 64) * sizeof *args.kw);
    for (unsigned i = 0; i < n->y.n; i++) {
        jcv_av *v = jcv_eval(c, n->y.v[i]->a);
        if (n->y.v[i]->obj) {
            args.names[args.n_kw] = n->y.v[i]->obj;
            args.kw[args.n_kw++] = v;
            continue;
        }
        if (v->kind == AV_PY && PyDict_Check(v->py) && !jpy_gives_pairs(v->py))
            jcv_refuse(c, "keyword arguments from %s", jcv_describe(v));
        jcv_av *items = jcv_call_method(c, v, "items", &(jcv_args){0});
        jcv_av **pairs;
        unsigned m;
        if (!jcv_items(c, items, &pairs, &m) || m > 60)
            jcv_refuse(c, "keyword arguments from %s", jcv_describe(v));
        for (unsigned k = 0; k < m; k++) {
            PyObject *name = pairs[k]->items[0]->py;
            if (!name || !PyUnicode_CheckExact(name))
                jcv_refuse(c, "keyword arguments that are no strings");
            Py_INCREF(name);
            PyUnicode_InternInPlace(&name);
            args.names[args.n_kw] = jcv_own(c, name);
            args.kw[args.n_kw++] = pairs[k]->items[1];
        }
    }
    if (open && jcv_done_changes(c, &before))
        jcv_refuse(c, "unpacking a list of unknown length before something with effects");
    c->at = n;
    return jcv_call(c, f, &args);
}

static jcv_av *eval_any(jcv *c, jpy_tree *n);

jcv_av *jcv_eval(jcv *c, jpy_tree *n) { return jcv_firm(c, jcv_eval_sum(c, n)); }

jcv_av *jcv_eval_sum(jcv *c, jpy_tree *n) {
    jcv_av *a = c->ahead ? jcv_known_ahead(c, n) : NULL;
    return jcv_text_made_at(c, a ? a : c->ahead ? jcv_tried(c, n, eval_any) : eval_any(c, n), n);
}

static jcv_av *eval_any(jcv *c, jpy_tree *n) {
    if (n->line)
        c->at = n;
    if (++c->steps > 400000)
        jcv_refuse(c, "converting it takes too long");
    jcv_av *a;
    unsigned m;
    switch ((jpy_tree_kind)n->kind) {
    case JPY_CONST:
        return literal(c, n->obj);
    case JPY_NAME:
        return jcv_load(c, n->obj);
    case JPY_BINOP:
        a = jcv_eval_sum(c, n->a);
        {
            jcv_av *b = jcv_eval_sum(c, n->b);
            c->at = n;
            return jcv_binary(c, n->op, a, b, false);
        }
    case JPY_UNARY:
        if (n->op == JPY_U_NOT) {
            jcv_val *v = NULL;
            jcv_done before = jcv_done_now(c);
            int t = jcv_test(c, n, &v);
            if (asks_truth(n->a)) /* of the value, here */
                no_effects_since(c, &before);
            return t < 0 ? jcv_scalar(c, v) : jcv_bool(c, t);
        }
        return jcv_unary(c, n->op, jcv_eval(c, n->a));
    case JPY_BOOLOP:
        return bool_op(c, n, 0);
    case JPY_COMPARE:
        return compare_from(c, n, 0, jcv_eval(c, n->a));
    case JPY_CALL:
        return call(c, n);
    case JPY_ATTR:
        return jcv_getattr(c, jcv_eval(c, n->a), n->obj);
    case JPY_SUBSCRIPT:
        a = jcv_eval(c, n->a);
        return jcv_getitem(c, a, jcv_eval(c, n->b));
    case JPY_SLICE: {
        jpy_tree *parts[3] = {n->a, n->b, n->c};
        jcv_av *bounds[3];
        bool computed = false;
        PyObject *v[3];
        for (int i = 0; i < 3; i++) {
            bounds[i] = parts[i] ? jcv_eval(c, parts[i]) : jcv_none(c);
            v[i] = jcv_is_inert(bounds[i]) ? bounds[i]->py : NULL;
            computed = computed || !v[i];
        }
        if (computed) {
            a = jcv_tuple(c, bounds, 3);
            a->kind = AV_ITER;
            a->text = jcv_bounds;
            return a;
        }
        return jcv_take(c, PySlice_New(v[0], v[1], v[2]));
    }
    case JPY_TUPLE:
    case JPY_LIST:
        return display(c, n, n->kind == JPY_LIST);
    case JPY_SET: {
        jcv_av **v = eval_list(c, &n->x, &m, NONE);
        return jcv_new_set(c, v, m, !constants(n)); /* else it is updated with a frozenset */
    }
    case JPY_DICT:
        return dict_display(c, n);
    case JPY_IFEXP: {
        jcv_val *v = NULL;
        int t = jcv_test(c, n->a, &v);
        if (t >= 0)
            return jcv_eval(c, t ? n->b : n->c);
        choice x = {{n->b, n->c}, {NULL, NULL}, 0};
        return conditional(c, v, &x);
    }
    case JPY_LAMBDA:
        a = jcv_new(c, AV_CLOSURE);
        a->tree = n;
        a->frame = c->frame;
        jcv_closure_defaults(c, a, n->c);
        return a;
    case JPY_LISTCOMP:
    case JPY_SETCOMP:
    case JPY_GENEXP:
    case JPY_DICTCOMP:
        return jcv_comprehension(c, n);
    case JPY_FSTRING:
        return fstring(c, n);
    case JPY_NAMED:
        a = jcv_eval(c, n->b);
        {
            jcv_frame *was = c->frame;
            while (c->frame->comprehension)
                c->frame = c->frame->outer;
            jcv_assign(c, n->a, a);
            c->frame = was;
        }
        return a;
    default:
        jcv_refuse(c, "%s is not converted", n->obj ? PyUnicode_AsUTF8(n->obj) : "this expression");
    }
}
