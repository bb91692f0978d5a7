/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mistakes of the converter, made on purpose (CPPFLAGS=-DJANUS_MUTATIONS; JANUS_MUTATE=n).
 *
 * Each one is what a wrong converter would hand over: a step of the commit is lost, two objects
 * become one, an arm forgets a variable, a guard is not there.  Tests show that none of them
 * commits where the program shows it.
 */
#ifdef JANUS_MUTATIONS

#include <stdlib.h>
#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/verify/verify.h"

static uint64_t applied; /* mistakes made so far */

/* ---- commits ------------------------------------------------------------------------------------
 */

static bool drop_step(jpy_entry *e, size_t i) {
    memmove(e->steps.data + i, e->steps.data + i + 1, (e->steps.n - i - 1) * sizeof *e->steps.data);
    e->steps.n--;
    return true;
}

static bool drop_kind(jpy_entry *e, jpy_commit_kind kind) {
    for (size_t i = 0; i < e->steps.n; i++)
        if (e->steps.data[i].kind == kind)
            return drop_step(e, i);
    return false;
}

static bool drop_first(jpy_entry *e) { return e->steps.n && drop_step(e, 0); }
static bool drop_last(jpy_entry *e) { return e->steps.n && drop_step(e, e->steps.n - 1); }
static bool drop_attr(jpy_entry *e) { return drop_kind(e, JPY_COMMIT_ATTR); }
static bool drop_store(jpy_entry *e) { return drop_kind(e, JPY_COMMIT_STORE); }
static bool drop_data(jpy_entry *e) { return drop_kind(e, JPY_COMMIT_DATA); }
static bool drop_list(jpy_entry *e) { return drop_kind(e, JPY_COMMIT_LIST); }
static bool drop_dict(jpy_entry *e) { return drop_kind(e, JPY_COMMIT_DICT); }
static bool drop_whole(jpy_entry *e) {
    return drop_kind(e, JPY_COMMIT_WHOLE) || drop_kind(e, JPY_COMMIT_CLEAR);
}
static bool drop_grad(jpy_entry *e) { return drop_kind(e, JPY_COMMIT_GRAD); }
static bool drop_global(jpy_entry *e) { return drop_kind(e, JPY_COMMIT_GLOBAL); }
static bool drop_delete(jpy_entry *e) { return drop_kind(e, JPY_COMMIT_DEL); }

static bool whole_is_added(jpy_entry *e) { /* what was deleted stays */
    for (size_t i = 0; i < e->steps.n; i++)
        if (e->steps.data[i].kind == JPY_COMMIT_WHOLE ||
            e->steps.data[i].kind == JPY_COMMIT_CLEAR) {
            e->steps.data[i].kind = JPY_COMMIT_DICT;
            return true;
        }
    return false;
}

static bool attr_is_none(jpy_entry *e) {
    for (size_t i = 0; i < e->steps.n; i++)
        if (e->steps.data[i].kind == JPY_COMMIT_ATTR) {
            jpy_recipe *r = e->steps.data[i].value;
            *r = (jpy_recipe){.kind = JPY_MAKE_CONST, .obj = Py_None};
            return true;
        }
    return false;
}

/* ---- text ---------------------------------------------------------------------------------------
 */

static bool silent(jpy_entry *e, size_t i) { /* the print says nothing */
    if (i >= e->prints.n)
        return false;
    jpy_print *p = e->prints.data[i];
    p->n_pieces = 0;
    p->end = PyUnicode_FromString("");
    return p->end != NULL;
}
static bool print_is_lost(jpy_entry *e) { return silent(e, 0); }
static bool prints_are_swapped(jpy_entry *e) {
    bool can = e->prints.n > 1 && e->prints.data[0]->n_pieces == e->prints.data[1]->n_pieces;
    if (can) {
        jpy_print *x = e->prints.data[0];
        e->prints.data[0] = e->prints.data[1];
        e->prints.data[1] = x;
    }
    return can;
}
static bool print_lacks_its_end(jpy_entry *e) {
    if (e->prints.n)
        e->prints.data[0]->end = PyUnicode_FromString(" ");
    return e->prints.n > 0;
}
static bool items_are_joined(jpy_entry *e) { /* print(a, b) says "ab" */
    bool any = false;
    for (size_t i = 0; i < e->prints.n && !any; i++) {
        any = e->prints.data[i]->n_pieces > 1;
        if (any)
            e->prints.data[i]->sep = PyUnicode_FromString("");
    }
    return any;
}
static bool print_goes_elsewhere(jpy_entry *e) { /* its file is printed, as its first item is */
    for (size_t i = 0; i < e->prints.n; i++) {
        jpy_print *p = e->prints.data[i];
        if (!p->to_file || !p->n_pieces)
            continue;
        p->to_file = false;
        p->end = PyUnicode_FromString("");
        return true;
    }
    return false;
}

/* ---- recipes ------------------------------------------------------------------------------------
 */

typedef bool (*on_recipe)(jpy_recipe *r);

static bool each_of(jpy_recipe *r, on_recipe fn) {
    if (!r)
        return false;
    bool done = fn(r);
    unsigned n = r->kind == JPY_MAKE_VIEW ? 1 : r->n;
    for (unsigned i = 0; i < n && r->items && !done; i++)
        done = each_of(r->items[i], fn);
    return done;
}

static bool each(jpy_entry *e, on_recipe fn) {
    bool done = each_of(e->result, fn);
    for (size_t i = 0; i < e->steps.n && !done; i++)
        done = each_of(e->steps.data[i].value, fn);
    return done;
}

static bool swap_two(jpy_recipe *r) {
    bool can = (r->kind == JPY_MAKE_LIST || r->kind == JPY_MAKE_TUPLE) && r->n > 1;
    if (can) {
        jpy_recipe *x = r->items[0];
        r->items[0] = r->items[1];
        r->items[1] = x;
    }
    return can;
}
static bool lose_last(jpy_recipe *r) { return r->kind == JPY_MAKE_LIST && r->n && r->n--; }
static bool lose_key(jpy_recipe *r) {
    bool can = r->kind == JPY_MAKE_DICT && r->n >= 2;
    r->n -= can ? 2 : 0;
    return can;
}
static bool swap_keys(jpy_recipe *r) {
    if (r->kind != JPY_MAKE_DICT || r->n < 4)
        return false;
    for (int i = 0; i < 2; i++) {
        jpy_recipe *x = r->items[i];
        r->items[i] = r->items[i + 2];
        r->items[i + 2] = x;
    }
    return true;
}
static bool lose_attr(jpy_recipe *r) {
    bool can = r->kind == JPY_MAKE_OBJECT && r->n >= 2;
    r->n -= can ? 2 : 0;
    return can;
}
static bool lose_named(jpy_recipe *r) {
    bool can = r->kind == JPY_MAKE_TUPLE && r->obj;
    if (can)
        r->obj = NULL;
    return can;
}
static bool lose_history(jpy_recipe *r) {
    bool can = r->kind == JPY_MAKE_RESULT && r->grad;
    r->grad = can ? 0 : r->grad;
    return can;
}
static bool lose_view(jpy_recipe *r) { /* the tensor itself instead of a view of it */
    bool can = r->kind == JPY_MAKE_VIEW && r->n;
    r->n = can ? 0 : r->n;
    return can;
}
static bool lose_object(jpy_recipe *r) { /* an argument that is returned */
    bool can = r->kind == JPY_MAKE_SOURCE;
    if (can)
        *r = (jpy_recipe){.kind = JPY_MAKE_CONST, .obj = Py_None};
    return can;
}
static bool used_history(jpy_recipe *r) {
    bool can = r->kind == JPY_MAKE_RESULT && !r->grad && !r->freed;
    r->freed = r->freed || can;
    return can;
}
static bool constant_is_none(jpy_recipe *r) {
    bool can = r->kind == JPY_MAKE_CONST && PyLong_Check(r->obj);
    if (can)
        r->obj = Py_None;
    return can;
}
static bool apart_of(jpy_recipe *r) { /* one object in two places becomes two */
    if (r->kind != JPY_MAKE_TUPLE && r->kind != JPY_MAKE_CONST)
        r->id = 0;
    return false;
}
static bool one_of(jpy_recipe *r) { /* two objects become one */
    bool can = r->kind == JPY_MAKE_TUPLE && r->n == 2 && r->items[0]->kind == JPY_MAKE_LIST &&
               r->items[1]->kind == JPY_MAKE_LIST && r->items[0]->id != r->items[1]->id;
    if (can)
        r->items[1] = r->items[0];
    return can;
}

#define ON_RECIPES(name)                                                                           \
    static bool do_##name(jpy_entry *e) { return each(e, name); }
ON_RECIPES(swap_two)
ON_RECIPES(lose_last)
ON_RECIPES(lose_key)
ON_RECIPES(swap_keys)
ON_RECIPES(lose_attr)
ON_RECIPES(lose_named)
ON_RECIPES(lose_history)
ON_RECIPES(lose_view)
ON_RECIPES(lose_object)
ON_RECIPES(used_history)
ON_RECIPES(constant_is_none)
ON_RECIPES(one_of)
static bool apart(jpy_entry *e) {
    each(e, apart_of);
    return true;
}

/* ---- guards -------------------------------------------------------------------------------------
 */

static bool drop_checks(jpy_entry *e, uint32_t checks) {
    bool any = false;
    for (size_t i = 0; i < e->guards.srcs.n; i++) {
        jpy_src *s = e->guards.srcs.data[i];
        any = any || (s->checks & checks);
        s->checks &= ~checks;
    }
    return any;
}
static bool no_values(jpy_entry *e) { return drop_checks(e, JPY_CHECK_CONST); }
static bool no_lengths(jpy_entry *e) { return drop_checks(e, JPY_CHECK_LEN); }
static bool no_code(jpy_entry *e) { return drop_checks(e, JPY_CHECK_CODE | JPY_CHECK_IDENT); }
static bool no_identity(jpy_entry *e) {
    bool any = e->guards.identity.n > 0 || e->guards.written.n > 0;
    e->guards.identity.n = e->guards.written.n = 0;
    return any;
}

/* ---- graphs -------------------------------------------------------------------------------------
 */

static jn_node *node_in(const jn_subgraph *g, const char *name) {
    for (size_t k = 1; k < g->nodes.n; k++)
        if (strcmp(g->nodes.data[k]->op->name, name) == 0)
            return g->nodes.data[k];
    return NULL;
}
static jn_node *find_node(jpy_entry *e, const char *name) {
    jn_node *n = NULL;
    for (size_t i = 0; i < e->module->subs.n && !n; i++)
        if (!e->module->subs.data[i]->primal)
            n = node_in(e->module->subs.data[i], name);
    return n;
}
static bool renamed(jn_node *n, const char *to) {
    if (n)
        n->op = jn_op_find(to, strlen(to));
    return n != NULL;
}
static bool swapped(jn_node *n) {
    if (!n || n->n_in < 2)
        return false;
    jn_value v = n->in[0];
    n->in[0] = n->in[1];
    n->in[1] = v;
    return true;
}
#define RENAME(name, from, to)                                                                     \
    static bool name(jpy_entry *e) { return renamed(find_node(e, from), to); }
RENAME(add_is_sub, "add", "sub")
RENAME(mul_is_add, "mul", "add")
RENAME(gt_is_le, "gt", "le")
RENAME(s_lt_is_le, "s.lt", "s.le")
RENAME(s_add_is_sub, "s.add", "s.sub")
RENAME(s_mul_is_add, "s.mul", "s.add")
RENAME(max_is_min, "maximum", "minimum")

static bool other_arm(jpy_entry *e) {
    jn_node *n = find_node(e, "if");
    if (n) {
        jn_subgraph *g = n->subs[0];
        n->subs[0] = n->subs[1];
        n->subs[1] = g;
    }
    return n != NULL;
}
static bool constant_in(const jn_subgraph *g, janus_kind kind) {
    for (size_t k = 1; k < g->nodes.n; k++) {
        janus_s_const_attrs *a = (janus_s_const_attrs *)g->nodes.data[k]->attrs;
        if (g->nodes.data[k]->op->id != JN_OP_ID_s_const || a->kind != kind)
            continue;
        if (kind == JANUS_KIND_INT)
            a->i++;
        else
            a->f += 0.5;
        return true;
    }
    return false;
}
static bool constant_is_more(jpy_entry *e, janus_kind kind) {
    bool any = false;
    for (size_t i = 0; i < e->module->subs.n && !any; i++)
        any = !e->module->subs.data[i]->primal && constant_in(e->module->subs.data[i], kind);
    return any;
}
static bool int_is_more(jpy_entry *e) { return constant_is_more(e, JANUS_KIND_INT); }
static bool float_is_more(jpy_entry *e) { return constant_is_more(e, JANUS_KIND_FLOAT); }
/* A body hands on what it was given: the variable that it sets is forgotten. */
static bool forget(jpy_entry *e, const char *op, unsigned sub) {
    jn_node *n = find_node(e, op);
    jn_subgraph *g = n ? n->subs[sub] : NULL;
    for (size_t i = 0; g && i < g->results.n; i++)
        for (size_t k = 0; k < g->params.n && g->results.data[i].node; k++)
            if (g->params.data[k].type == g->result_types.data[i]) {
                g->results.data[i] = (jn_value){0, (uint32_t)k};
                return true;
            }
    return false;
}
static bool arm_forgets(jpy_entry *e) { return forget(e, "if", 0); }
static bool round_forgets(jpy_entry *e) { return forget(e, "foreach", 0); }
static bool sub_is_swapped(jpy_entry *e) { return swapped(find_node(e, "sub")); }
static bool other_attr(jpy_entry *e) { /* a live store goes to another attribute */
    jn_node *n = find_node(e, "host.setattr");
    PyObject *other = n ? PyUnicode_InternFromString("other") : NULL;
    if (other && PyList_Append(e->attr_names, other) == 0)
        *(int64_t *)((char *)n->attrs + n->op->attrs[0].offset) =
            PyList_GET_SIZE(e->attr_names) - 1;
    Py_XDECREF(other);
    return n != NULL;
}

/* ---- gradients ----------------------------------------------------------------------------------
 */

static bool renamed_in_gradients(jpy_entry *e, const char *from, const char *to) {
    bool any = false;
    for (size_t i = 0; i < e->module->subs.n; i++)
        if (e->module->subs.data[i]->primal)
            any |= renamed(node_in(e->module->subs.data[i], from), to);
    return any;
}
#define GRADIENT(name, from, to)                                                                   \
    static bool gradient_##name(jpy_entry *e) { return renamed_in_gradients(e, from, to); }
GRADIENT(mul, "mul", "add")
GRADIENT(add, "add", "sub")
GRADIENT(neg, "neg", "exp")
static bool gradient_is_swapped(jpy_entry *e) { /* two tensors get each other's */
    for (unsigned k = 0; k < e->n_stages; k++)
        for (size_t i = 1; i < e->stages[k].in.n; i++) {
            jpy_tracked *x = e->stages[k].in.data, *y = x + i;
            const jn_subgraph *g = e->stages[k].sub;
            if (g->params.data[x->param].type != g->params.data[y->param].type)
                continue;
            uint32_t other = x->gradient;
            x->gradient = y->gradient;
            y->gradient = other;
            return true;
        }
    return false;
}
static bool gradient_is_lost(jpy_entry *e) { /* it does not flow to the last tensor */
    bool any = false;
    for (unsigned k = 0; k < e->n_stages; k++)
        any |= e->stages[k].in.n > 1 && e->stages[k].in.n--;
    return any;
}
/* Cotangents of the first result alone: what only programs that use no other see. */
static bool gradient_alone(jpy_entry *e) {
    bool any = false;
    for (unsigned k = 0; k < e->n_stages; k++) {
        jn_subgraph *g = e->stages[k].out.n > 1 ? e->stages[k].alone[0].sub : NULL;
        any |= g && renamed(node_in(g, "mul"), "add");
    }
    return any;
}

/* ---- arms ---------------------------------------------------------------------------------------
 *
 * The same in the first arm of a branch alone: programs take it when its graph was hit 500 times.
 */

static const jn_subgraph *first_arm(jpy_entry *e) {
    const jn_node *branch = find_node(e, "if");
    return branch ? branch->subs[0] : NULL;
}
static jn_node *in_arm(jpy_entry *e, const char *name) {
    const jn_subgraph *g = first_arm(e);
    return g ? node_in(g, name) : NULL;
}
#define IN_ARM(name, from, to)                                                                     \
    static bool arm_##name(jpy_entry *e) { return renamed(in_arm(e, from), to); }
IN_ARM(add, "add", "sub")
IN_ARM(sub, "sub", "add")
IN_ARM(mul, "mul", "add")
IN_ARM(max, "maximum", "minimum")
IN_ARM(tanh, "tanh", "sigmoid")
IN_ARM(exp, "exp", "tanh")
IN_ARM(s_add, "s.add", "s.sub")
IN_ARM(s_sub, "s.sub", "s.add")
IN_ARM(s_mul, "s.mul", "s.add")
static bool arm_swaps(jpy_entry *e) { return swapped(in_arm(e, "sub")); }
static bool arm_doubles(jpy_entry *e) { /* an operand is used twice */
    jn_node *n = in_arm(e, "mul");
    if (n)
        n->in[1] = n->in[0];
    return n != NULL;
}
static bool arm_is_silent(jpy_entry *e) {
    const jn_node *n = in_arm(e, "host.emit");
    return n && silent(e, (size_t)((const janus_host_emit_attrs *)n->attrs)->key);
}
static bool arm_int(jpy_entry *e) {
    const jn_subgraph *g = first_arm(e);
    return g && constant_in(g, JANUS_KIND_INT);
}

/* ---- values -------------------------------------------------------------------------------------
 *
 * Nothing of it shows until the values are others: programs give these when what is wrong was
 * compared, and found right, and used 500 times.
 */

static bool first_for_both(jn_node *n) { /* the greater, or the smaller one, is always the first */
    if (n)
        n->in[1] = n->in[0];
    return n != NULL;
}
static bool values_max(jpy_entry *e) { return first_for_both(find_node(e, "maximum")); }
static bool values_min(jpy_entry *e) { return first_for_both(find_node(e, "minimum")); }
RENAME(values_lt, "s.lt", "s.le")
RENAME(values_ge, "ge", "gt")
static bool values_are_kept(jpy_entry *e) {
    for (size_t i = 0; i < e->steps.n; i++) { /* an attribute that is set stays what it was */
        jpy_recipe *r = e->steps.data[i].value;
        if (e->steps.data[i].kind == JPY_COMMIT_ATTR && r->kind == JPY_MAKE_CONST)
            return drop_step(e, i);
    }
    return false;
}

static const struct mutation {
    const char *name;
    bool (*make)(jpy_entry *e);
} table[] = {
    {"the first step of the commit is lost", drop_first},
    {"the last step of the commit is lost", drop_last},
    {"an attribute is not set", drop_attr},
    {"a tensor is not written", drop_store},
    {"a tensor keeps its data", drop_data},
    {"a list is not written", drop_list},
    {"a dict is not written", drop_dict},
    {"a dict that lost keys is not written", drop_whole},
    {"a gradient is not set", drop_grad},
    {"a global is not set", drop_global},
    {"an attribute is not deleted", drop_delete},
    {"deleted keys stay", whole_is_added},
    {"an attribute is set to None", attr_is_none},
    {"two items change places", do_swap_two},
    {"an item is lost", do_lose_last},
    {"a key is lost", do_lose_key},
    {"two keys change places", do_swap_keys},
    {"a new object lacks an attribute", do_lose_attr},
    {"a named tuple is a tuple", do_lose_named},
    {"a result has no history", do_lose_history},
    {"a view is what it is a view of", do_lose_view},
    {"an argument is not handed back", do_lose_object},
    {"a result has a history that it should not", do_used_history},
    {"a number is None", do_constant_is_none},
    {"one new object in two places is two", apart},
    {"two new objects are one", do_one_of},
    {"values are not guarded", no_values},
    {"lengths are not guarded", no_lengths},
    {"functions are not guarded", no_code},
    {"which arguments are one is not guarded", no_identity},
    {"add subtracts", add_is_sub},
    {"mul adds", mul_is_add},
    {"gt is le", gt_is_le},
    {"a loop makes one round more", s_lt_is_le},
    {"ints are subtracted", s_add_is_sub},
    {"ints are added", s_mul_is_add},
    {"maximum is minimum", max_is_min},
    {"the other arm is taken", other_arm},
    {"an int is one more", int_is_more},
    {"a float is a half more", float_is_more},
    {"an arm forgets what it sets", arm_forgets},
    {"a round forgets what it sets", round_forgets},
    {"a difference is the wrong way round", sub_is_swapped},
    {"a live store goes elsewhere", other_attr},
    {"gradients: mul adds", gradient_mul},
    {"gradients: add subtracts", gradient_add},
    {"gradients: neg is exp", gradient_neg},
    {"gradients: two tensors get each other's", gradient_is_swapped},
    {"gradients: a tensor gets none", gradient_is_lost},
    {"gradients: of one result alone mul adds", gradient_alone},
    {"late: add subtracts", arm_add},
    {"late: sub adds", arm_sub},
    {"late: mul adds", arm_mul},
    {"late: maximum is minimum", arm_max},
    {"late: tanh is sigmoid", arm_tanh},
    {"late: exp is tanh", arm_exp},
    {"late: ints are subtracted", arm_s_add},
    {"late: ints are added instead of subtracted", arm_s_sub},
    {"late: ints are added", arm_s_mul},
    {"late: a difference is the wrong way round", arm_swaps},
    {"late: an operand is another", arm_doubles},
    {"late: an int is one more", arm_int},
    {"a print is lost", print_is_lost},
    {"two prints change places", prints_are_swapped},
    {"a print lacks its end", print_lacks_its_end},
    {"what is printed is joined", items_are_joined},
    {"a print goes elsewhere", print_goes_elsewhere},
    {"late: a print is lost", arm_is_silent},
    {"values: a maximum is the first", values_max},
    {"values: a minimum is the first", values_min},
    {"values: less is not more", values_lt},
    {"values: at least is more", values_ge},
    {"values: an attribute stays", values_are_kept},
    {"values: they are not guarded", no_values},
    {"values: lengths are not guarded", no_lengths},
};
enum { N_MUTATIONS = sizeof table / sizeof *table };

void jpy_mutate(jpy_entry *e) {
    const char *env = getenv("JANUS_MUTATE");
    long n = env ? strtol(env, NULL, 10) : -1;
    if (n >= 0 && n < N_MUTATIONS)
        applied += table[n].make(e);
}

PyObject *jpy_mutations(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    PyObject *names = PyList_New(0);
    for (int i = 0; names && i < N_MUTATIONS; i++) {
        PyObject *s = PyUnicode_FromString(table[i].name);
        if (!s || PyList_Append(names, s) < 0)
            Py_CLEAR(names);
        Py_XDECREF(s);
    }
    return names ? Py_BuildValue("NK", names, (unsigned long long)applied) : NULL;
}

#endif
