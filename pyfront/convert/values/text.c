/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text with numbers of the graph in it: pieces, which are put together when the run is prepared.
 *
 * It can be joined to other text and printed (print.c), and is an object of the graph where it is
 * stored or leaves (host.text); who asks what it says refuses.
 */
#include "pyfront/convert/values/values.h"

#include <math.h>
#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/core/list.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/native.h"
#include "pyfront/entry/entry.h"

/* A piece with the values that it takes. */
typedef struct piece {
    jpy_piece say;
    jcv_av **args;
} piece;

struct jcv_words {
    JCV_LIST(piece) pieces;
    const jcv_ctx *ctx; /* where CPython makes the text */
};

static jcv_av *new_text(jcv *c) {
    jcv_av *a = jcv_new(c, AV_TEXT);
    a->words = jcv_alloc(c, sizeof *a->words);
    a->words->ctx = c->ctx;
    return a;
}

/* CPython would make the text here, and might raise: whether it does must not depend on the numbers
 * but on their types, and it does not. */
static void never_raises(jcv *c, const piece *p) {
    enum { TRIALS = 3 };
    static const double floats[TRIALS] = {1.5, (double)INFINITY, (double)NAN};
    static const long long ints[TRIALS] = {0, -1, INT64_MAX};
    PyObject **v = jcv_alloc(c, (p->say.n + 1) * sizeof *v);
    for (int k = 0; k < TRIALS; k++) {
        for (unsigned i = 0; i < p->say.n; i++) {
            const jcv_av *a = p->args[i];
            int kind = a->kind == AV_SCALAR ? a->val->type->kind : JANUS_KIND_NONE;
            v[i] = a->kind == AV_HOST         ? jcv_own(c, PyUnicode_New(0, 0))
                   : kind == JANUS_KIND_NONE  ? a->py
                   : kind == JANUS_KIND_FLOAT ? jcv_own(c, PyFloat_FromDouble(floats[k]))
                   : kind == JANUS_KIND_INT   ? jcv_own(c, PyLong_FromLongLong(ints[k]))
                                              : jcv_own(c, PyBool_FromLong(k & 1));
        }
        jcv_own(c, jpy_piece_text(&p->say, v));
    }
}

/* text is kept by c. */
static jcv_av *one_piece(jcv *c, jpy_text_how how, PyObject *text, jcv_av *const *args,
                         unsigned n) {
    jcv_av *a = new_text(c);
    piece p = {{how, text, n, false}, jcv_alloc(c, (n + 1) * sizeof *args)};
    if (n)
        memcpy(p.args, args, n * sizeof *args);
    never_raises(c, &p);
    jcv_add(c, &a->words->pieces, p);
    return a;
}

static bool is_text(const jcv_av *a) {
    return a->kind == AV_TEXT || (a->kind == AV_PY && PyUnicode_CheckExact(a->py));
}

jcv_av *jcv_text_join(jcv *c, jcv_av *a, jcv_av *b) {
    if (!is_text(a) || !is_text(b) || (a->kind == AV_PY && b->kind == AV_PY))
        return NULL;
    jcv_av *both = new_text(c), *parts[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        jcv_av *x = parts[i]->kind == AV_TEXT ? parts[i]
                                              : one_piece(c, JPY_SAY_TEXT, parts[i]->py, NULL, 0);
        for (size_t k = 0; k < x->words->pieces.n; k++)
            jcv_add(c, &both->words->pieces, x->words->pieces.data[k]);
    }
    return both;
}

/* What looks the same as str() and as repr(). */
static bool is_plain_number(jcv *c, jcv_av *a) {
    const PyTypeObject *t = a->kind == AV_HOST ? jcv_host_type(c, a) : NULL;
    return a->kind == AV_SCALAR || t == &PyLong_Type || t == &PyFloat_Type || t == &PyBool_Type ||
           (t && t == Py_TYPE(Py_None));
}

static bool is_constant_number(const jcv_av *a) {
    return a->kind == AV_PY && (PyLong_CheckExact(a->py) || PyFloat_CheckExact(a->py) ||
                                PyBool_Check(a->py) || a->py == Py_None);
}

/* Whether the run may find nothing in it: there is a number or a letter in most. */
static bool may_be_empty(jcv *c, const jcv_av *a) {
    if (a->kind == AV_PY)
        return false;
    for (size_t i = 0; i < a->words->pieces.n; i++) {
        piece p = a->words->pieces.data[i];
        bool some = !p.say.n && p.say.text && PyUnicode_GET_LENGTH(p.say.text);
        for (unsigned k = 0; k < p.say.n; k++)
            some = some || is_plain_number(c, p.args[k]) || is_constant_number(p.args[k]);
        if (some)
            return false;
    }
    return true;
}

jcv_av *jcv_text_added(jcv *c, jcv_av *a, jcv_av *b) {
    if (!is_text(a) || !is_text(b) || (a->kind == AV_PY && b->kind == AV_PY))
        return NULL;
    if (b->kind == AV_PY && !PyUnicode_GET_LENGTH(b->py))
        return a;
    if (a->kind == AV_PY && !PyUnicode_GET_LENGTH(a->py))
        return b;
    if (may_be_empty(c, a) || may_be_empty(c, b))
        jcv_refuse(c, "a text and another that may be empty, which make the first one");
    return jcv_text_join(c, a, b);
}

jcv_av *jcv_text_between(jcv *c, PyObject *between, jcv_av *const *items, unsigned n) {
    jcv_av *all = new_text(c);
    bool host =
        n == 1 && items[0]->kind == AV_HOST && jcv_host_type(c, items[0]) == &PyUnicode_Type;
    if (host || (n == 1 && is_text(items[0]))) /* alone: it is that object */
        return items[0];
    for (unsigned i = 0; i < n; i++) {
        jcv_av *x = items[i], *both[2] = {jcv_constant(c, between), x};
        if (x->kind == AV_HOST && jcv_host_type(c, x) == &PyUnicode_Type)
            both[1] = one_piece(c, JPY_SAY_FORMAT, jcv_own(c, PyUnicode_New(0, 0)), &x, 1);
        else if (!is_text(x))
            jcv_refuse(c, "join() of %s", jcv_describe(x));
        for (int k = i == 0; k < 2; k++)
            all = jcv_text_join(c, all, both[k]);
    }
    return all;
}

static void add_text(jcv *c, jcv_av *to, const char *text) {
    PyObject *o = jcv_own(c, PyUnicode_FromString(text));
    jcv_add(c, &to->words->pieces, ((piece){{JPY_SAY_TEXT, o, 0, false}, NULL}));
}

static bool add_repr(jcv *c, jcv_av *to, jcv_av *a) {
    if (is_plain_number(c, a)) {
        jcv_av *number = one_piece(c, JPY_SAY_FORMAT, jcv_own(c, PyUnicode_New(0, 0)), &a, 1);
        jcv_add(c, &to->words->pieces, number->words->pieces.data[0]);
        return true;
    }
    bool atom = a->kind == AV_PY &&
                (a->py == Py_None || PyLong_CheckExact(a->py) || PyFloat_CheckExact(a->py) ||
                 PyBool_Check(a->py) || PyUnicode_CheckExact(a->py) || PyBytes_CheckExact(a->py));
    PyObject *o = atom ? jcv_const_object(c, a) : NULL;
    if (o) {
        PyObject *text = jcv_own(c, PyObject_Repr(o));
        jcv_add(c, &to->words->pieces, ((piece){{JPY_SAY_TEXT, text, 0, false}, NULL}));
        return true;
    }
    jcv_av *inner = jcv_text_of_items(c, a);
    for (size_t i = 0; inner && i < inner->words->pieces.n; i++)
        jcv_add(c, &to->words->pieces, inner->words->pieces.data[i]);
    return inner != NULL;
}

static bool add_items(jcv *c, jcv_av *to, jcv_av *a, bool pairs) {
    unsigned n, two;
    jcv_av **items, **pair;
    jcv_av *of = pairs ? jcv_call_method(c, a, "items", &(jcv_args){0}) : a;
    if (!jcv_items(c, of, &items, &n))
        return false;
    for (unsigned i = 0; i < n; i++) {
        if (i)
            add_text(c, to, ", ");
        pair = &items[i];
        if (pairs && (!jcv_items(c, items[i], &pair, &two) || two != 2))
            return false;
        if (!add_repr(c, to, pair[0]))
            return false;
        if (!pairs)
            continue;
        add_text(c, to, ": ");
        if (!add_repr(c, to, pair[1]))
            return false;
    }
    if (n == 1 && !pairs && jcv_type_of(c, a) == &PyTuple_Type)
        add_text(c, to, ",");
    return true;
}

jcv_av *jcv_text_of_items(jcv *c, jcv_av *a) {
    bool sequence =
        (jcv_is_sequence(a) || a->kind == AV_LIST) && !(a->kind == AV_TUPLE && a->named);
    if (!sequence && !jcv_is_dict(a))
        return NULL;
    const PyTypeObject *t = jcv_type_of(c, a);
    bool tuple = t == &PyTuple_Type, dict = t == &PyDict_Type;
    if (!tuple && !dict && t != &PyList_Type)
        return NULL;
    jcv_av *all = new_text(c);
    jcv_go_inside(c);
    add_text(c, all, tuple ? "(" : dict ? "{" : "[");
    bool known = add_items(c, all, a, dict);
    add_text(c, all, tuple ? ")" : dict ? "}" : "]");
    c->inside--;
    return known ? all : NULL;
}

jcv_av *jcv_text_of(jcv *c, jcv_av *a, PyObject *spec) {
    bool plain = !spec || (PyUnicode_Check(spec) && !PyUnicode_GET_LENGTH(spec));
    jcv_av *items = plain ? jcv_text_of_items(c, a) : NULL;
    if (items)
        return items;
    if (a->kind != AV_SCALAR && !(plain && jcv_text_varies(c, a)))
        return NULL;
    PyObject *none = jcv_own(c, PyUnicode_New(0, 0));
    return one_piece(c, JPY_SAY_FORMAT, spec ? spec : none, &a, 1);
}

/* Whether a template says nothing but how numbers look: "%d", "%.3f"; "{}", "{:.2f}", "{0:5d}". */
static bool numbers_only(PyObject *template, bool percent) {
    const char *s = PyUnicode_AsUTF8(template);
    if (!s) {
        PyErr_Clear();
        return false;
    }
    for (; *s; s++) {
        if (percent ? *s != '%' : *s != '{')
            continue;
        if (s[1] == *s) {
            s++;
        } else if (percent) {
            s += 1 + strspn(s + 1, "0123456789.+- #");
            if (!*s || !strchr("dieEfFgG", *s))
                return false;
        } else {
            s += 1 + strspn(s + 1, "0123456789");
            if (*s == ':')
                s += strcspn(s, "{}");
            if (*s != '}')
                return false;
        }
    }
    return true;
}

/* A number of the graph, of a tensor the one that it holds, or a constant; NULL: something else. */
static jcv_av *as_number(jcv *c, jcv_av *a) {
    if (a->kind == AV_TENSOR && jcv_tensor_val(c, a->py)->type->rank == 0)
        return jcv_scalar(c, jcv_item(c, jcv_tensor_val(c, a->py)));
    bool plain = a->kind == AV_PY && (PyLong_CheckExact(a->py) || PyFloat_CheckExact(a->py) ||
                                      PyBool_Check(a->py) || PyUnicode_CheckExact(a->py));
    return a->kind == AV_SCALAR || plain ? a : NULL;
}

/* The end of the next field at or behind s, for the next argument ("%5d", "{:.2f}"); NULL: there is
 * none, or one that names its argument or takes several.  *out_bare: where it is "%s", "%r" or
 * "{}", else NULL. */
static const char *next_field(const char *s, bool percent, const char **out_bare) {
    for (; *s; s++) {
        const char *field = s;
        if (percent ? *s != '%' : *s != '{' && *s != '}')
            continue;
        if (s[1] == *s) {
            s++;
            continue;
        }
        s += 1 + (percent       ? strspn(s + 1, "0123456789.+- #")
                  : s[1] == ':' ? strcspn(s, "}") - 1
                                : 0);
        bool bare = s == field + 1 && (!percent || *s == 's' || *s == 'r');
        *out_bare = bare ? field : NULL;
        if (percent ? !*s || !strchr("diouxXeEfFgGcrs", *s)
                    : *field != '{' || *s != '}' || memchr(field + 1, '{', (size_t)(s - field)))
            return NULL;
        return s + 1;
    }
    return NULL;
}

/* A template with the text of lists, tuples and dicts in it, field by field. */
static jcv_av *by_fields(jcv *c, PyObject *template, bool percent, jcv_av *const *args,
                         unsigned n) {
    const char *s = PyUnicode_AsUTF8(template), *bare;
    jpy_text_how how = percent ? JPY_SAY_PERCENT_TUPLE : JPY_SAY_CALL;
    jcv_av *all = new_text(c);
    if (!s)
        jcv_refuse_py(c);
    for (unsigned i = 0; i < n; i++) {
        const char *end = next_field(s, percent, &bare);
        bool items = args[i]->kind == AV_TEXT;
        if (!end || (items && !bare))
            return NULL;
        PyObject *part = PyUnicode_FromStringAndSize(s, (items ? bare : end) - s);
        all = jcv_text_join(c, all, one_piece(c, how, jcv_own(c, part), &args[i], !items));
        all = items ? jcv_text_join(c, all, args[i]) : all;
        s = end;
    }
    PyObject *rest = jcv_own(c, PyUnicode_FromString(s));
    return next_field(s, percent, &bare) ? NULL
                                         : jcv_text_join(c, all, one_piece(c, how, rest, NULL, 0));
}

static jcv_av *by_template(jcv *c, PyObject *template, bool percent, bool tuple,
                           jcv_av *const *args, unsigned n) {
    jcv_av **v = jcv_alloc(c, (n + 1) * sizeof *v);
    bool tensors = false, items = false;
    for (unsigned i = 0; i < n; i++) {
        tensors = tensors || args[i]->kind == AV_TENSOR;
        v[i] = as_number(c, args[i]);
        items = items || !v[i];
        v[i] = v[i] ? v[i] : jcv_text_of_items(c, args[i]);
        if (!v[i])
            return NULL;
    }
    if (items)
        return tensors ? NULL : by_fields(c, template, percent, v, n);
    if (tensors && !numbers_only(template, percent))
        return NULL;
    jpy_text_how how = !percent ? JPY_SAY_CALL : tuple ? JPY_SAY_PERCENT_TUPLE : JPY_SAY_PERCENT;
    return one_piece(c, how, template, v, n);
}

/* The fields of a template, as their arguments are looked for. */
typedef struct fields {
    const jcv_args *given; /* of format(); else NULL, and ... */
    jcv_av *dict;          /* ... what is on the right of % */
    unsigned next;
    bool counted, numbered; /* some take the next, some say which: it raises where both are so */
} fields;

static jcv_av *argument(jcv *c, fields *x, const char *name, size_t n) {
    enum { DIGITS = 3 };
    const jcv_args *a = x->given;
    if (!a)
        return jcv_dict_get(c, x->dict,
                            jcv_take(c, PyUnicode_FromStringAndSize(name, (Py_ssize_t)n)));
    if (strspn(name, "0123456789") >= n) {
        x->counted = x->counted || !n;
        x->numbered = x->numbered || n;
        if (n > DIGITS || (x->counted && x->numbered))
            return NULL;
        unsigned i = 0;
        for (size_t k = 0; k < n; k++)
            i = 10 * i + (unsigned)(name[k] - '0');
        i = n ? i : x->next++;
        return i < a->n_pos ? a->pos[i] : NULL;
    }
    for (unsigned i = 0; i < a->n_kw; i++) {
        const char *is = PyUnicode_AsUTF8(a->names[i]);
        if (is && strlen(is) == n && !memcmp(is, name, n))
            return a->kw[i];
    }
    return NULL;
}

/* The name of a field is left out, and its argument put where it is the next one. */
static jcv_av *by_names(jcv *c, PyObject *template, fields *x) {
    Py_ssize_t size;
    bool percent = !x->given;
    const char *s = PyUnicode_AsUTF8AndSize(template, &size), open = percent ? '%' : '{';
    if (!s)
        jcv_refuse_py(c);
    char *to = jcv_alloc(c, (size_t)size + 1), *end = to;
    jcv_av **args = jcv_alloc(c, ((size_t)size + 1) * sizeof *args);
    unsigned n = 0;
    while (*s) {
        *end++ = *s++;
        if (*s == s[-1] && (*s == open || (!percent && *s == '}'))) {
            *end++ = *s++;
            continue;
        }
        if (s[-1] != open)
            continue;
        if (percent && *s++ != '(')
            return NULL;
        size_t len = strcspn(s, percent ? ")" : "!:}{.[");
        args[n] = s[len] && !strchr("{.[", s[len]) ? argument(c, x, s, len) : NULL;
        if (!args[n++])
            return NULL;
        s += len + percent;
        if (percent && s[strspn(s, "#0- +123456789.")] == '*')
            return NULL;
    }
    PyObject *plain = jcv_own(c, PyUnicode_FromStringAndSize(to, end - to));
    return by_template(c, plain, percent, true, args, n);
}

jcv_av *jcv_text_formatted(jcv *c, PyObject *template, const jcv_args *a) {
    jcv_av *text = a->n_kw ? NULL : by_template(c, template, false, true, a->pos, a->n_pos);
    return text ? text : by_names(c, template, &(fields){.given = a});
}

jcv_av *jcv_text_of_percent(jcv *c, PyObject *template, jcv_av *on) {
    bool tuple = on->kind == AV_TUPLE && !on->named;
    jcv_av *text =
        by_template(c, template, true, tuple, tuple ? on->items : &on, tuple ? on->n : 1);
    bool dict = !text && jcv_is_dict(on) && jcv_type_of(c, on) == &PyDict_Type;
    return dict ? by_names(c, template, &(fields){.dict = on}) : text;
}

void jcv_text_pieces(jcv *c, jcv_av *a, jcv_each_piece fn, void *user) {
    for (size_t i = 0; i < a->words->pieces.n; i++) {
        piece p = a->words->pieces.data[i];
        jpy_piece say = p.say;
        say.text = jpy_guards_own(c->guards, say.text);
        say.last = i + 1 == a->words->pieces.n;
        fn(c, user, &say, p.args);
    }
}

/* The values that make a text, and its pieces. */
typedef struct telling {
    JCV_LIST(jcv_val *) values;
    JCV_LIST(jpy_piece) pieces;
} telling;

static void tell(jcv *c, void *user, const jpy_piece *p, jcv_av *const *args) {
    telling *t = user;
    for (unsigned i = 0; i < p->n; i++) {
        bool known = args[i]->kind == AV_SCALAR || args[i]->kind == AV_HOST;
        if (!known && !jcv_is_const(args[i]))
            jcv_refuse(c, "a text of %s", jcv_describe(args[i]));
        jcv_val *v = known ? args[i]->val : jcv_printed(c, args[i]);
        jcv_add(c, &t->values, v);
    }
    jcv_add(c, &t->pieces, *p);
}

jcv_val *jcv_object_of_text(jcv *c, jcv_av *a) {
    if (a->val && jcv_encloses(a->val->ctx, c->ctx))
        return a->val;
    if (a->words->ctx != c->ctx) { /* each path and round would make its own */
        if (!a->site || jcv_live_site(c, a->site))
            jcv_refuse(c, "a text is stored in two places");
        jcv_make_live_site(c, a->site, false);
    }
    telling t = {0};
    jcv_text_pieces(c, a, tell, &t);
    jpy_print *p = jn_arena_zalloc(&c->entry->arena, sizeof *p);
    janus_host_text_attrs attrs = {sizeof attrs, (int64_t)c->entry->prints.n};
    PyObject *nothing = jpy_guards_own(c->guards, jcv_own(c, PyUnicode_New(0, 0)));
    if (p)
        *p = (jpy_print){
            .sep = nothing,
            .end = nothing,
            .pieces = jn_arena_zalloc(&c->entry->arena, (t.pieces.n + 1) * sizeof *p->pieces),
            .n_pieces = (unsigned)t.pieces.n};
    if (!p || !p->pieces || !jn_vec_push(&c->entry->prints, p))
        jcv_refuse(c, "out of memory");
    memcpy(p->pieces, t.pieces.data, t.pieces.n * sizeof *p->pieces);
    a->val = &jcv_op(c, JN_OP(host_text), t.values.data, (unsigned)t.values.n, &attrs)->out[0];
    PyObject *some = jcv_own(c, PyList_New(0));
    if (PyList_Append(some, nothing) < 0)
        jcv_refuse_py(c);
    jcv_known_type(c, a->val, &PyUnicode_Type);
    jcv_root(c, c->ctx, a->val, some);
    return a->val;
}

jcv_av *jcv_text_made_at(jcv *c, jcv_av *a, const jpy_tree *at) {
    if (a->kind != AV_TEXT || a->site)
        return a;
    a->site = at;
    if (jcv_live_site(c, at))
        jcv_object_of_text(c, a);
    return a;
}

jcv_av *jcv_format(jcv *c, jcv_av *a, PyObject *spec) {
    PyObject *method;
    jcv_how how = jcv_how_is(c, a, JCV_S_FORMAT, JCV_METHOD, &method);
    jcv_av *args[1] = {spec ? jcv_py(c, spec, NULL) : jcv_take(c, PyUnicode_New(0, 0))};
    if (how == JCV_PYTHON) {
        jcv_av *r = jcv_call_special(c, a, method, args, 1);
        return r->kind == AV_TEXT ? r : jcv_py(c, jcv_returned_text(c, r), NULL);
    }
    bool plain = !spec || (PyUnicode_Check(spec) && !PyUnicode_GET_LENGTH(spec));
    bool derived = how == JCV_NATIVE && method && a->kind == AV_PY && jcv_exact_type(a->py);
    PyObject *known = plain && (how == JCV_ABSENT || derived) ? jcv_text(c, a, JCV_S_STR)
                      : derived ? jcv_exact_text(c, a, method, args[0]->py)
                                : NULL;
    return known ? jcv_py(c, known, NULL) : jcv_text_of(c, a, args[0]->py);
}
