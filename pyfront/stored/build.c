/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of what janus/_stored.py has read: the reverse of dump.c.
 *
 * The text of the graph goes through the parser and its verifier.  Everything else refers to the
 * graph or to slots by number, and is held against it here: a file may say anything.  A source's
 * type, and whether what it holds is a tensor or a number, is taken from what the guards check.
 */
#include <string.h>

#include "graph/ir/ir.h"
#include "graph/text/text.h"
#include "ops/op_ids.h"
#include "pyfront/entry/entry.h"
#include "pyfront/function/function.h"
#include "pyfront/stored/building.h"

/* ---- results and effects -----------------------------------------------------------------------
 */

static jpy_recipe *recipe(jpy_building *b, PyObject *t);

/* Attributes as dump.c has them, "{axis=0, dims=[2,3]}". */
static const void *attrs_of(jpy_building *b, const jn_op *op, const char *text) {
    char *attrs = jn_arena_zalloc(&b->e->arena, op->attr_size + 1);
    bool ok = attrs && (!op->attr_size || jn_attrs_default(op, attrs) == JANUS_OK);
    while (ok && *text && *text != '}') {
        text += *text == '{' ? 1 : 2; /* or ", " */
        size_t name = strcspn(text, "="), value = 0;
        const jn_attr_spec *spec = text[name] ? jn_attr_find(op, text, name) : NULL;
        text += name + !!text[name];
        value = text[0] == '[' ? strcspn(text, "]") + 1 : strcspn(text, ",}");
        ok = spec && strlen(text) > value &&
             jn_attr_parse(spec, text, value, &b->e->arena, attrs) == JANUS_OK &&
             (text[value] == '}' || (text[value] == ',' && text[value + 1] == ' '));
        text += ok ? value : 0;
    }
    return ok && (!op->attr_size || jn_attrs_check(op, attrs) == JANUS_OK) ? attrs : NULL;
}

/* A step of a view: an op of one result that is a view of its first operand, if it can be. */
static bool take_view(jpy_building *b, PyObject *t, jpy_view_step *out) {
    const char *name, *text;
    PyObject *extra;
    if (!PyTuple_CheckExact(t) ||
        !PyArg_ParseTuple(t, "ssO!", &name, &text, &PyList_Type, &extra) ||
        PyList_GET_SIZE(extra) > 3)
        return false;
    out->op = jn_op_find(name, strlen(name));
    out->n = (unsigned)PyList_GET_SIZE(extra);
    if (!out->op || !(out->op->flags & JN_OP_VIEW) || out->op->n_out != 1 ||
        out->n + 1 > out->op->n_in_max || out->n + 1 < out->op->n_in_required ||
        !(out->attrs = attrs_of(b, out->op, text)))
        return false;
    for (unsigned i = 0; i < out->n; i++) {
        int kind;
        long long bits;
        if (!PyTuple_CheckExact(PyList_GET_ITEM(extra, i)) ||
            !PyArg_ParseTuple(PyList_GET_ITEM(extra, i), "iL", &kind, &bits) ||
            (kind != JANUS_KIND_NONE && kind != JANUS_KIND_INT))
            return false;
        out->kinds[i] = (uint8_t)kind;
        out->extra[i].i = bits;
    }
    return true;
}

/* Whether a recipe makes a tensor, which it then does or raises. */
static bool makes_tensor(const jpy_building *b, const jpy_recipe *r) {
    const jn_type *of = r->kind == JPY_MAKE_RESULT ? jpy_stored_result(b, r->slot) : NULL;
    return r->kind == JPY_MAKE_VIEW || (of && of->kind == JANUS_KIND_TENSOR) ||
           (r->kind == JPY_MAKE_SOURCE && jpy_stored_is_tensor(b, r->slot));
}

static bool take_views(jpy_building *b, PyObject *views, jpy_recipe *r) {
    r->n = (unsigned)PyList_GET_SIZE(views);
    r->views = jn_arena_zalloc(&b->e->arena, (r->n + 1) * sizeof *r->views);
    for (unsigned i = 0; r->views && i < r->n; i++)
        if (!take_view(b, PyList_GET_ITEM(views, i), &r->views[i]))
            return false;
    return r->views && r->n && makes_tensor(b, r->items[0]);
}

static bool is_flag(jpy_building *b, uint32_t slot) {
    const jn_type *t = jpy_stored_result(b, slot);
    return t && t->kind == JANUS_KIND_BOOL;
}

static bool recipe_fits(jpy_building *b, const jpy_recipe *r) {
    const jn_type *of = r->kind == JPY_MAKE_RESULT ? jpy_stored_result(b, r->slot) : NULL;
    switch (r->kind) {
    case JPY_MAKE_CONST:
        return r->obj;
    case JPY_MAKE_SOURCE:
        return r->slot < b->g->srcs.n && !(b->g->srcs.data[r->slot]->checks & JPY_CHECK_ABSENT);
    case JPY_MAKE_RESULT:
        return of && r->grad <= b->e->n_tracked && r->n <= (unsigned)r->leaf &&
               (!r->if_result || is_flag(b, r->if_result - 1)) &&
               (!(r->grad || r->leaf || r->freed) || of->kind == JANUS_KIND_TENSOR);
    case JPY_MAKE_TUPLE:
        return !r->obj || (PyType_Check(r->obj) &&
                           PyType_FastSubclass((PyTypeObject *)r->obj, Py_TPFLAGS_TUPLE_SUBCLASS));
    case JPY_MAKE_OBJECT:
        return r->obj && PyType_Check(r->obj) && r->n % 2 == 0;
    case JPY_MAKE_DICT:
        return r->n % 2 == 0 &&
               (!r->obj ||
                (PyType_Check(r->obj) && ((PyTypeObject *)r->obj)->tp_new == PyDict_Type.tp_new));
    case JPY_MAKE_LIST:
        return true;
    case JPY_MAKE_VIEW:
        return r->n == 1;
    default:
        return false;
    }
}

/* Whether each of the first n numbers is there. */
static bool is_order(const int64_t *axes, size_t n) {
    uint64_t met = 0;
    for (size_t i = 0; i < n; i++)
        met |= axes[i] >= 0 && axes[i] < 64 ? (uint64_t)1 << axes[i] : 0;
    return n < 64 && met == ((uint64_t)1 << n) - 1;
}

static jpy_recipe *recipe_of(jpy_building *b, PyObject *t) {
    int kind, freed, leaf, uncounted, detached, by_order;
    PyObject *strides, *obj, *items, *views;
    jpy_entry *e = b->e;
    jpy_recipe *r = jn_arena_zalloc(&e->arena, sizeof *r);
    size_t n;
    if (!r) {
        PyErr_NoMemory();
        return NULL;
    }
    if (!PyTuple_CheckExact(t) ||
        !PyArg_ParseTuple(t, "iIIIIpppOpOO!pO!", &kind, &r->slot, &r->id, &r->grad, &r->if_result,
                          &freed, &leaf, &uncounted, &strides, &by_order, &obj, &PyList_Type,
                          &items, &detached, &PyList_Type, &views))
        return NULL;
    r->kind = (jpy_recipe_kind)kind;
    r->freed = freed;
    r->leaf = leaf;
    r->uncounted = uncounted;
    r->detached = detached;
    r->obj = jpy_unboxed(b, obj);
    r->n = (unsigned)PyList_GET_SIZE(items);
    if (r->id > e->n_recipes || PyErr_Occurred() || !recipe_fits(b, r))
        return NULL;
    if (strides != Py_None) {
        const jn_type *of = jpy_stored_result(b, r->slot);
        if (r->kind != JPY_MAKE_RESULT || !of ||
            !(r->strides = jpy_stored_numbers(b, strides, 0, 1L << 40, &n)) ||
            of->kind != JANUS_KIND_TENSOR || n != (size_t)of->rank ||
            (by_order && !is_order(r->strides, n)))
            return NULL;
        r->by_order = by_order;
    }
    r->items = jn_arena_zalloc(&e->arena, (r->n + 1) * sizeof *r->items);
    for (unsigned i = 0; r->items && i < r->n; i++)
        if (!(r->items[i] = recipe(b, PyList_GET_ITEM(items, i))))
            return NULL;
    if (r->items && r->kind == JPY_MAKE_VIEW && !take_views(b, views, r))
        return NULL;
    return r->items ? r : NULL;
}

static jpy_recipe *recipe(jpy_building *b, PyObject *t) {
    if (Py_EnterRecursiveCall(" in the result of a graph"))
        return NULL;
    jpy_recipe *r = recipe_of(b, t);
    Py_LeaveRecursiveCall();
    if (!r)
        jpy_not_stored("a result");
    return r;
}

/* Whether a step can be done to what a slot holds: of the type that its guards check. */
static bool step_fits(const jpy_building *b, const jpy_commit_step *s, PyObject *const *slots) {
    PyObject *o = s->slot < b->g->srcs.n ? slots[s->slot] : NULL;
    const jpy_src *src = o ? b->g->srcs.data[s->slot] : NULL;
    const jn_type *of = jpy_stored_result(b, s->value->slot);
    bool sure = src && (src->kind == JPY_SRC_CONST ||
                        src->checks & (JPY_CHECK_TYPE | JPY_CHECK_IDENT | JPY_CHECK_TENSOR));
    switch (s->kind) {
    case JPY_COMMIT_ATTR:
    case JPY_COMMIT_DEL:
        return o && s->key;
    case JPY_COMMIT_GRAD:
    case JPY_COMMIT_FLAG:
        return jpy_stored_is_tensor(b, s->slot) &&
               (s->kind == JPY_COMMIT_GRAD || s->value->kind == JPY_MAKE_CONST);
    case JPY_COMMIT_STORE:
    case JPY_COMMIT_DATA:
        return jpy_stored_is_tensor(b, s->slot) && s->value->kind == JPY_MAKE_RESULT && of &&
               of->kind == JANUS_KIND_TENSOR && of->dtype == b->g->srcs.data[s->slot]->tensor.dtype;
    case JPY_COMMIT_LIST:
        return sure && PyList_CheckExact(o) && s->value->kind == JPY_MAKE_LIST;
    case JPY_COMMIT_DICT:
    case JPY_COMMIT_WHOLE:
    case JPY_COMMIT_CLEAR:
        return sure && PyDict_CheckExact(o) && s->value->kind == JPY_MAKE_DICT;
    case JPY_COMMIT_GLOBAL:
        return sure && PyDict_CheckExact(o) && s->key;
    }
    return false;
}

static int take_step(jpy_building *b, PyObject *t) {
    int kind, uncounted;
    PyObject *key, *value;
    jpy_commit_step s = {0};
    if (!PyArg_ParseTuple(t, "iIOOIIpII", &kind, &s.slot, &key, &value, &s.when, &s.put, &uncounted,
                          &s.counted, &s.more))
        return -1;
    s.kind = (jpy_commit_kind)kind;
    s.key = jpy_unboxed(b, key);
    s.uncounted = uncounted;
    s.value = recipe(b, value);
    const jn_type *when = s.when ? jpy_stored_result(b, s.when - 1) : NULL;
    const jn_type *counted = s.counted ? jpy_stored_result(b, s.counted - 1) : NULL;
    if (!s.value || PyErr_Occurred() || (s.when && (!when || when->kind != JANUS_KIND_BOOL)) ||
        (s.counted && (!counted || counted->kind != JANUS_KIND_BOOL)))
        return -1;
    return jn_vec_push(&b->e->steps, s) ? 0 : jpy_stored_no_memory();
}

static int take_input(jpy_building *b, PyObject *t) {
    jpy_input in = {0};
    int kind, used;
    const jn_subgraph *main = b->e->main;
    if (!PyArg_ParseTuple(t, "Iip", &in.slot, &kind, &used) || in.slot >= b->g->srcs.n ||
        b->e->inputs.n >= main->params.n || kind != main->params.data[b->e->inputs.n].type->kind)
        return -1;
    const uint32_t c = b->g->srcs.data[in.slot]->checks;
    bool fits = kind == JANUS_KIND_TENSOR  ? c & JPY_CHECK_TENSOR
                : kind == JANUS_KIND_INT   ? c & JPY_CHECK_INT
                : kind == JANUS_KIND_FLOAT ? c & JPY_CHECK_FLOAT
                : kind == JANUS_KIND_BOOL  ? c & JPY_CHECK_BOOL
                                           : kind == JANUS_KIND_OBJECT && !(c & JPY_CHECK_ABSENT);
    in.kind = (uint8_t)kind;
    in.used = used;
    return !fits ? -1 : jn_vec_push(&b->e->inputs, in) ? 0 : jpy_stored_no_memory();
}

static int take_print(jpy_building *b, PyObject *t) {
    PyObject *sep, *end, *pieces;
    int flush, to_file;
    jpy_print *p = jn_arena_zalloc(&b->e->arena, sizeof *p);
    if (!p || !PyArg_ParseTuple(t, "OOppO!", &sep, &end, &flush, &to_file, &PyList_Type, &pieces))
        return -1;
    p->sep = jpy_unboxed(b, sep);
    p->end = jpy_unboxed(b, end);
    p->flush = flush;
    p->to_file = to_file;
    p->n_pieces = (unsigned)PyList_GET_SIZE(pieces);
    p->pieces = jn_arena_zalloc(&b->e->arena, (p->n_pieces + 1) * sizeof *p->pieces);
    if (!p->pieces || !p->sep || !p->end)
        return -1;
    for (unsigned i = 0; i < p->n_pieces; i++) {
        int how, last;
        PyObject *text;
        jpy_piece *at = &p->pieces[i];
        if (!PyArg_ParseTuple(PyList_GET_ITEM(pieces, i), "iOIp", &how, &text, &at->n, &last) ||
            how < 0 || how > JPY_SAY_CALL)
            return -1;
        at->how = (jpy_text_how)how;
        at->last = last;
        at->text = jpy_unboxed(b, text);
        if (at->text ? !PyUnicode_CheckExact(at->text) : how != JPY_SAY_STR)
            return -1;
    }
    return jn_vec_push(&b->e->prints, p) ? 0 : jpy_stored_no_memory();
}

/* ---- all of it ---------------------------------------------------------------------------------
 */

static int take_position(jpy_building *b, PyObject *t) {
    const char *file;
    jn_loc at = {0};
    if (!PyArg_ParseTuple(t, "zII", &file, &at.line, &at.col))
        return -1;
    at.file = file ? jn_module_intern_str(b->e->module, file) : NULL;
    return jn_vec_push(&b->e->visited, at) ? 0 : jpy_stored_no_memory();
}

static int take_left(jpy_building *b, PyObject *t) {
    const char *why, *file;
    jpy_left_out l = {0};
    if (!PyArg_ParseTuple(t, "szII", &why, &file, &l.at.line, &l.at.col))
        return -1;
    l.why = jn_module_intern_str(b->e->module, why);
    l.at.file = file ? jn_module_intern_str(b->e->module, file) : NULL;
    return l.why && jn_vec_push(&b->e->left_out, l) ? 0 : jpy_stored_no_memory();
}

static int take_flags(jpy_building *b) {
    jpy_entry *e = b->e;
    PyObject *t = PyDict_GetItemString(b->d, "flags");
    int v[8];
    if (!t || !PyTuple_CheckExact(t) ||
        !PyArg_ParseTuple(t, "IIIIpppppppp", &e->n_results, &e->n_frames, &e->n_tracked,
                          &e->n_recipes, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) ||
        e->n_tracked > e->n_results || e->n_recipes > 1u << 24)
        return jpy_not_stored("flags");
    e->keeps_results = v[0];
    e->has_effects = v[1];
    e->any_dims = v[2];
    e->any_length = v[3];
    e->wires = v[4];
    e->local = v[5];
    e->module->running_sums = v[6];
    e->unsure = v[7];
    return 0;
}

/* The graph, with addresses of this process's types. */
static int take_graph(jpy_building *b) {
    jpy_entry *e = b->e;
    PyObject *text = PyDict_GetItemString(b->d, "text"), *main = PyDict_GetItemString(b->d, "main");
    PyObject *tokens = PyDict_GetItemString(b->d, "numbers");
    Py_ssize_t n;
    const char *s = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &n) : NULL;
    const char *name = s && main && PyUnicode_Check(main) ? PyUnicode_AsUTF8(main) : NULL;
    if (!name || !tokens || !PyDict_CheckExact(tokens))
        return jpy_not_stored("a graph");
    if (jpy_check(jn_parse_module(s, (size_t)n, "graph", &e->module)) < 0 ||
        jpy_renumber_types(e->module, tokens) < 0 || !(e->main = jpy_stored_subgraph(b, name)) ||
        take_flags(b) < 0)
        return -1;
    return e->main->results.n == e->n_results + e->n_frames &&
                   jpy_check(janus_module_freeze(e->module)) == 0
               ? 0
               : jpy_not_stored("a graph");
}

static int take_names(jpy_building *b) {
    static const char *const names[3] = {"attributes", "tokens", "methods"};
    PyObject **to[3] = {&b->e->attr_names, &b->e->type_list, &b->e->methods};
    for (int k = 0; k < 3; k++) {
        PyObject *l = jpy_stored_list(b, names[k]);
        for (Py_ssize_t i = 0; l && i < PyList_GET_SIZE(l); i++) {
            PyObject *o = PyList_GET_ITEM(l, i);
            bool fits = k == 0       ? PyUnicode_CheckExact(o)
                        : k == 1     ? PyType_Check(o)
                        : i % 3 == 0 ? PyType_Check(o)
                                     : i % 3 == 2 || PyUnicode_CheckExact(o);
            if (!fits || PyList_Append(*to[k], o) < 0)
                return jpy_not_stored(names[k]);
        }
        if (!l || (k == 2 && PyList_GET_SIZE(l) % 3))
            return jpy_not_stored(names[k]);
    }
    return 0;
}

static int take_all(jpy_building *b, const jpy_call *call, PyObject **slots) {
    jpy_entry *e = b->e;
    PyObject *result = PyDict_GetItemString(b->d, "result"), *lent;
    PyObject *held = PyDict_GetItemString(b->d, "held");
    if (take_graph(b) < 0 || take_names(b) < 0 || jpy_stored_guards(b, call, slots) < 0 ||
        jpy_stored_each(b, jpy_stored_list(b, "inputs"), take_input) < 0 ||
        e->inputs.n != e->main->params.n || !(lent = jpy_stored_list(b, "lent")) ||
        !(e->lent = jpy_stored_truths(b, lent, e->n_results + e->n_frames)) ||
        jpy_stored_each(b, jpy_stored_list(b, "steps"), take_step) < 0 || !result ||
        !(e->result = recipe(b, result)) || !held ||
        (held != Py_None && !(e->held = recipe(b, held))) || jpy_stored_stages(b) < 0 ||
        jpy_stored_each(b, jpy_stored_list(b, "prints"), take_print) < 0 ||
        jpy_stored_each(b, jpy_stored_list(b, "visited"), take_position) < 0 ||
        jpy_stored_each(b, jpy_stored_list(b, "left"), take_left) < 0 ||
        jpy_keys_wrong(e, e->module))
        return jpy_not_stored("parts");
    for (size_t i = 0; i < e->steps.n; i++)
        if (!step_fits(b, &e->steps.data[i], slots))
            return jpy_not_stored("a step");
    PyObject *tracked = jpy_stored_list(b, "tracked"), *looked = jpy_stored_list(b, "looked");
    if (!tracked || !looked)
        return -1;
    JPY_NUMBERS(b, &e->grad_of, tracked, e->n_tracked + 1);
    JPY_NUMBERS(b, &e->looked, looked, e->guards.srcs.n);
    return e->grad_of.n >= e->n_results ? 0 : jpy_not_stored("tracked results");
}

PyObject *jpy_stored_build(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *d, *values, *kwnames;
    Py_ssize_t n_pos;
    if (!PyArg_ParseTuple(args, "O!O!nO:_stored_build", &PyDict_Type, &d, &PyTuple_Type, &values,
                          &n_pos, &kwnames))
        return NULL;
    jpy_call call = {((PyTupleObject *)values)->ob_item, n_pos,
                     kwnames == Py_None ? NULL : kwnames};
    Py_ssize_t n_kw = call.kwnames && PyTuple_Check(kwnames) ? PyTuple_GET_SIZE(kwnames) : 0;
    PyObject *sources = PyDict_GetItemString(d, "sources");
    if (n_pos < 0 || n_pos + n_kw != PyTuple_GET_SIZE(values) || !sources ||
        !PyList_CheckExact(sources)) {
        jpy_not_stored("a call");
        return NULL;
    }
    PyObject **slots = jn_calloc((size_t)PyList_GET_SIZE(sources) + 1, sizeof *slots);
    jpy_entry *e = slots ? jpy_entry_new(&call, true) : NULL;
    jpy_building b = {.e = e, .g = e ? &e->guards : NULL, .d = d};
    uint64_t failures = jn_alloc_failures();
    if (!e)
        jpy_stored_no_memory();
    else if (take_all(&b, &call, slots) < 0 || failures != jn_alloc_failures()) {
        jpy_not_stored("parts");
        jpy_entry_free(e);
        e = NULL;
    }
    jn_free(slots);
    if (e)
        e->trial.tracked = e->n_stages > 0;
    return (PyObject *)e;
}
