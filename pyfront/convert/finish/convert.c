/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One conversion: from a function and the arguments of a call to a cached entry, or a reason.
 *
 * An attempt runs the function's tree on abstract values and may ask to start again with what it
 * learnt.
 */
#include "pyfront/convert/convert.h"
#include "pyfront/convert/finish/finish.h"

#include <string.h>

#include "graph/base/log.h"
#include "pyfront/convert/calls/calls.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/syntax/syntax.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/values.h"
#include "pyfront/function/function.h"
#include "pyfront/methods/methods.h"
#include "pyfront/run/run.h"

enum { MAX_ATTEMPTS = 60, MOST_WIDENED = 8 /* numbers */ };

/* An argument of the call.  Of one that the function does not look at nothing is assumed. */
static jcv_av *argument(jcv *c, Py_ssize_t i, const PyObject *name) {
    PyObject *f = c->f->callable;
    if (PyFunction_Check(f) && !jcv_model_of(c, f) && !jcv_called_as_it_is(f) &&
        !jcv_looks_at(c, f, name ? -1 : i, name))
        return jcv_lacking(c, LACK_UNREAD, "an argument was not looked at");
    return jcv_wrap(c, c->call->args[i], jpy_src_get(c->guards, JPY_SRC_ARG, NULL, NULL, NULL, i));
}

static jcv_av *start(jcv *c) {
    const jpy_call *call = c->call;
    Py_ssize_t n_kw = call->kwnames ? PyTuple_GET_SIZE(call->kwnames) : 0;
    jcv_args args = {.n_pos = (unsigned)call->n_pos, .n_kw = (unsigned)n_kw};
    args.pos = jcv_alloc(c, (size_t)(call->n_pos + 1) * sizeof *args.pos);
    args.kw = jcv_alloc(c, (size_t)(n_kw + 1) * sizeof *args.kw);
    args.names = jcv_alloc(c, (size_t)(n_kw + 1) * sizeof *args.names);
    for (Py_ssize_t i = 0; i < call->n_pos + n_kw; i++) {
        if (i < call->n_pos) {
            args.pos[i] = argument(c, i, NULL);
        } else {
            PyObject *name = PyTuple_GET_ITEM(call->kwnames, i - call->n_pos);
            Py_INCREF(name);
            PyUnicode_InternInPlace(&name);
            args.names[i - call->n_pos] = jcv_own(c, name);
            args.kw[i - call->n_pos] = argument(c, i, name);
        }
    }
    PyObject *o = c->f->callable;
    jpy_src *s = jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, o, 0);
    return jcv_call(c, jcv_wrap(c, o, s), &args);
}

static void drop_attempt(jcv *c) {
    for (size_t i = c->owned.n; i-- > 0;)
        Py_DECREF(c->owned.data[i]);
    for (size_t i = 0; i < c->ctxs.n; i++) {
        jcv_ctx *x = c->ctxs.data[i];
        jn_vec_free(&x->params);
        jn_vec_free(&x->nodes);
        jn_vec_free(&x->results);
        jn_vec_free(&x->captures);
        jn_vec_free(&x->capture_values);
        jn_vec_free(&x->consts);
        jn_vec_free(&x->const_values);
    }
    jn_vec_free(&c->owned);
    jn_vec_free(&c->ctxs);
    jn_vec_free(&c->slots);
    jn_vec_free(&c->slot_init);
    jn_vec_free(&c->attrs);
    jn_vec_free(&c->real);
    jn_vec_free(&c->inputs);
    jn_vec_free(&c->left_out);
    jn_vec_free(&c->visited);
    jn_vec_free(&c->made);
    jn_vec_free(&c->gaps);
    jn_vec_free(&c->stored);
    jn_vec_free(&c->stored_tracked);
    jn_vec_free(&c->stored_outside);
    jn_vec_free(&c->places);
    jn_vec_free(&c->fresh);
    jn_vec_free(&c->frozen);
    jn_vec_free(&c->given);
    jn_vec_free(&c->tags);
    jn_vec_free(&c->symbols);
    jn_vec_free(&c->parts);
    jn_vec_free(&c->sized_at);
    jn_vec_free(&c->decided);
    jn_vec_free(&c->large);
    jn_vec_free(&c->still);
    jn_vec_free(&c->passed);
    jn_arena_free(&c->arena);
}

static jcv_throw attempt(jcv *c, jpy_entry *e) {
    jcv_handler h = {.up = NULL};
    bool grad = !jpy_no_grad_mode;
    uint32_t autocast = jpy_autocast_word;
    jpy_autocast_asked = false;
    jpy_graph_on = (jpy_graph_place){0};
    jn_arena_init(&c->arena, 1 << 16);
    c->entry = e;
    c->guards = &e->guards;
    c->attr_names = e->attr_names;
    c->type_list = e->type_list;
    c->methods = e->methods;
    c->handler = &h;
    c->ahead = NULL;
    c->thrown = THROW_NONE;
    jn_proxy_asked = false;
    if (setjmp(h.env) == 0) {
        c->main = c->ctx = jcv_ctx_new(c, JCV_MAIN, "main", NULL);
        jcv_slot(c, jcv_none(c));
        jcv_put_met(c);
        jcv_av *result = start(c);
        if (jpy_no_grad_mode == grad || jpy_autocast_word != autocast)
            jcv_refuse(c, "the function leaves another grad or autocast mode than it found");
        c->statement = NULL;
        jcv_finish(c, e, result);
        if (jn_proxy_asked)
            jcv_refuse_py(c);
        c->thrown = THROW_NONE; /* what was thrown on the way was dealt with */
    }
    if (jpy_autocast_asked || jpy_graph_on.known) /* autocast's lists differ between devices */
        e->guards.device = jpy_graph_on.device ? 2 : 1;
    jpy_graph_on = (jpy_graph_place){0};
    jpy_no_grad_mode = !grad;
    jpy_autocast_word = autocast;
    PyErr_Clear();
    if (c->thrown == THROW_DEAD)
        snprintf(c->reason, sizeof c->reason, "a path that was not seen is needed");
    return c->thrown;
}

/* Says for each path that the graph does not have where it begins and why. */
static void note_left_out(jcv *c) {
    for (size_t i = 0; i < c->left_out.n; i++) {
        char text[600];
        snprintf(text, sizeof text, "left to CPython: %s", c->left_out.data[i].why);
        jpy_note_at(c->f, text, c->left_out.data[i].at.file, c->left_out.data[i].at.line);
    }
    jpy_keep_visited(c->entry, c->visited.data, c->visited.n, c->left_out.data, c->left_out.n);
}

/* The reason with the line it comes from below it. */
static void give_reason(const jcv *c, char *reason, size_t size) {
    PyObject *line = jpy_source_line(c->refused_at.file, c->refused_at.line);
    const char *text = line ? PyUnicode_AsUTF8(line) : NULL;
    PyErr_Clear();
    if (text)
        snprintf(reason, size, "%s\n      %u | %.200s", c->reason, c->refused_at.line, text);
    else
        snprintf(reason, size, "%s", c->reason);
    Py_XDECREF(line);
}

static const jcv_above above = {
    .call = jcv_call_object,
    .call_method = jcv_method_of,
    .getattr = jcv_attr_of,
    .run_body = jcv_exec_body,
    .visit = jcv_visit_items,
    .items = jcv_items_of,
    .to_copy = jcv_copies_of,
    .from_copy = jcv_made_of_copies,
    .text = jcv_object_of_text,
};

/* *asks: whether sizes that vary could help (core/dims.c). */
static jpy_entry *convert_once(jpy_function *f, const jpy_call *call, int image, bool *asks,
                               char *reason, size_t size) {
    jpy_entry *e = NULL;
    jcv_rec_fn *fns = NULL;
    jcv_live *lives = NULL;
    jcv_peel *peels = NULL;
    jcv_fork *forks = NULL;
    jcv_only *onlys = NULL;
    jcv_equal *equals = NULL;
    bool share_views = false, one_tensor = false, counts = false, cells = false, wires = false,
         rows = false, mixed_stores = false;
    uint32_t views = 0;
    jcv_peel *by_pairs = NULL;
    PyObject *met = NULL;
    jn_arena keep;
    jn_arena_init(&keep, 0);
    jcv *outer = jcv_current;
    jn_eager_hook_fn hook = jn_eager_hook;
    for (int i = 0;; i++) {
        jcv *c = jn_calloc(1, sizeof *c);
        e = c ? jpy_entry_new(call, !jpy_no_grad_mode) : NULL;
        if (!e) {
            jn_free(c);
            snprintf(reason, size, "out of memory");
            break;
        }
        c->above = &above;
        c->native = &jcv_native;
        c->f = f;
        c->call = call;
        c->image = image;
        c->keep = keep;
        c->rec_fns = fns;
        c->lives = lives;
        c->peels = peels;
        c->forks = forks;
        c->onlys = onlys;
        c->equals = equals;
        c->share_views = share_views;
        c->one_tensor = one_tensor;
        c->counts = counts;
        c->cells = cells;
        c->wires = wires;
        c->mixed_stores = mixed_stores;
        c->views = views;
        c->met = met;
        c->by_pairs = by_pairs;
        c->rows = rows;
        for (jcv_live *l = lives; l; l = l->next)
            l->read = false;
        jcv_current = c;
        jn_eager_hook = jcv_hook;
        uint64_t failures = jn_alloc_failures();
        jcv_throw t = attempt(c, e);
        if ((t == THROW_REFUSE && jcv_only_other(c)) || (t != THROW_RESTART && jcv_texts_asked(c)))
            t = THROW_RESTART;
        if (failures != jn_alloc_failures()) {
            t = THROW_DEAD; /* what could not be had may have been taken for what is not there */
            snprintf(c->reason, sizeof c->reason, "out of memory");
        }
        jn_eager_hook = hook;
        jcv_current = outer;
        keep = c->keep;
        fns = c->rec_fns;
        lives = c->lives;
        peels = c->peels;
        forks = c->forks;
        onlys = c->onlys;
        equals = c->equals;
        share_views = c->share_views;
        one_tensor = c->one_tensor;
        counts = c->counts;
        cells = c->cells;
        wires = c->wires;
        mixed_stores = c->mixed_stores;
        views = c->views;
        met = c->met;
        by_pairs = c->by_pairs;
        rows = c->rows;
        *asks = c->asks_images;
        if (t == THROW_NONE)
            note_left_out(c);
        else if (t == THROW_REFUSE)
            give_reason(c, reason, size);
        else
            snprintf(reason, size, "%s", c->reason);
        if (t == THROW_REFUSE && !image)
            jpy_word_refused(f, c->refused_at.file, c->refused_at.line);
        /* What stays CPython's differentiates again what graphs before it have computed. */
        f->differentiated = f->differentiated || (t == THROW_REFUSE && c->creates);
        f->recurs_parts = f->recurs_parts || (t == THROW_REFUSE && c->in_parts);
        f->word.tensors |= c->recs != NULL;
        f->refused_line = c->statement ? c->statement->line : 0;
        f->refused_col = c->statement ? c->statement->col : 0;
        drop_attempt(c);
        jn_free(c);
        if (t == THROW_NONE)
            break;
        jpy_entry_free(e);
        e = NULL;
        if (t != THROW_RESTART)
            break;
        if (i == MAX_ATTEMPTS) {
            snprintf(reason, size, "it does not settle");
            break;
        }
    }
    for (jcv_rec_fn *x = fns; x && e; x = x->next)
        jcv_remember(f, x);
    PyErr_Clear();
    for (jcv_rec_fn *x = fns; x; x = x->next)
        for (unsigned i = 0; i < x->n_params; i++)
            Py_XDECREF(x->samples[i]);
    jcv_live_free(lives);
    Py_XDECREF(met);
    jn_arena_free(&keep);
    return e;
}

/* With dims that vary: both images must give the same graph. */
static jpy_entry *convert_images(jpy_function *f, const jpy_call *call, char *reason, size_t size) {
    bool asks = false;
    jpy_entry *e = convert_once(f, call, 1, &asks, reason, size);
    jpy_entry *other = e ? convert_once(f, call, 2, &asks, reason, size) : NULL;
    bool same = other && jcv_same_entry(e, other, reason, size);
    if (other)
        jpy_entry_free(other);
    if (e && !same) {
        jpy_entry_free(e);
        e = NULL;
    }
    return e;
}

/* Where e could be made since all of `numbers` are assumed: the same without assuming those that
 * need not be, one after the other. */
static jpy_entry *widen(jpy_function *f, const jpy_call *call, PyObject *numbers, jpy_entry *e) {
    char reason[800];
    bool asks, differentiated = f->differentiated;
    unsigned line = f->refused_line, col = f->refused_col, refusals = f->word.refusals;
    Py_ssize_t n = PyList_GET_SIZE(numbers);
    for (Py_ssize_t i = 0; n > 1 && n <= MOST_WIDENED && i < n; i++) {
        PyObject *path = PyList_GET_ITEM(numbers, i);
        jpy_hints_number_is(f, path, false);
        jpy_entry *wider = convert_once(f, call, 0, &asks, reason, sizeof reason);
        jpy_hints_number_is(f, path, wider == NULL);
        if (wider)
            jpy_entry_free(e);
        e = wider ? wider : e;
        f->differentiated = differentiated, f->refused_line = line, f->refused_col = col;
        f->word.refusals = refusals;
    }
    return e;
}

/* Whether a call that goes over the same tree came before. */
static bool met_before(jpy_function *f) {
    PyObject *ref = f->tree ? PyWeakref_NewRef(f->tree, NULL) : NULL; /* the one that it has */
    bool met = false;
    PyErr_Clear();
    for (unsigned i = 0; i < JPY_TREES && ref; i++)
        met = met || f->trees[i] == ref;
    if (!met && ref)
        Py_XSETREF(f->trees[f->n_trees++ % JPY_TREES], Py_NewRef(ref));
    Py_XDECREF(ref);
    return met;
}

/* A graph for the tree of this call alone, which has come again: its objects are the same in each
 * epoch of many a program.  Not where some call had a graph for all trees, which this one may get
 * when its parts are known.  `all`: the graph for all trees, or NULL; it is freed where most runs
 * of such ones were in vain, as what its calls return is not what it was in those that were seen.
 */
static jpy_entry *convert_tree(jpy_function *f, const jpy_call *call, jpy_entry *all,
                               const char *reason) {
    enum { IN_VAIN = 8 };
    char why[800]; /* what was refused before, and where, is what there is to be said */
    bool asks, differentiated = f->differentiated;
    unsigned line = f->refused_line, col = f->refused_col, refusals = f->word.refusals;
    if (!met_before(f) || (!all && f->entries.n && !f->by_trees) ||
        (all && (f->fallbacks < IN_VAIN || f->fallbacks < f->graph)))
        return all;
    jpy_note(f, "one graph a tree: %s", all ? "those for all were discarded" : reason);
    f->unrolls = f->unrolls_tree = true;
    jpy_entry *e = convert_once(f, call, 0, &asks, why, sizeof why);
    f->unrolls = f->unrolls_tree = false;
    if (e && all)
        jpy_entry_free(all);
    f->by_trees = f->by_trees || e;
    if (e)
        return e;
    f->differentiated = differentiated, f->refused_line = line, f->refused_col = col;
    f->word.refusals = refusals;
    return all;
}

jpy_entry *jpy_convert(jpy_function *f, const jpy_call *call) {
    char reason[800] = "";
    bool still = jpy_rng_still;
    jpy_rng_still = true;
    jpy_entry *e = NULL;
    f->refused_usual = false;
    bool dims = jpy_hints_dims(f), asks = false;
    f->recurs_inside = f->recurs_fixed = f->recurs_parts = false;
    if (dims) {
        e = convert_images(f, call, reason, sizeof reason);
        if (!e) {
            jpy_note(f, "one graph a shape: %s", reason);
            jpy_hints_pin(f);
        }
    }
    if (!e)
        e = convert_once(f, call, 0, &asks, reason, sizeof reason);
    unsigned further = 0,
             further_col = 0; /* the statement that refuses where the run may decide sizes */
    char why[sizeof reason];
    if (!e && asks) {
        unsigned line = f->refused_line, col = f->refused_col;
        e = convert_images(f, call, why, sizeof why);
        if (!e)
            jpy_note(f, "no sizes that the run decides: %s", why);
        if (!e && (f->refused_line > line || (f->refused_line == line && f->refused_col > col)))
            further = f->refused_line, further_col = f->refused_col;
    }
    if (!e && (f->recurs_inside || f->recurs_fixed || f->recurs_parts)) {
        jpy_note(f, "%s unrolled: %s",
                 f->recurs_inside  ? "functions made inside are"
                 : f->recurs_fixed ? "the tree of a module is"
                                   : "containers are",
                 reason);
        f->unrolls = true;
        e = convert_once(f, call, 0, &asks, reason, sizeof reason);
        f->unrolls = false;
    }
    if (!e && f->gradients == JPY_GRADIENTS_SOME) {
        f->gradients = JPY_GRADIENTS_ALL_AGAIN;
        jpy_note(f, "all leaves are assumed to get a gradient: %s", reason);
        e = convert_once(f, call, 0, &asks, reason, sizeof reason);
    }
    /* numbers that decide on such a path stay numbers, in the regions around it */
    bool narrow = !f->refused_usual || !(f->use_regions || f->of_region);
    if (!e && narrow && jpy_hints_narrow(f, true)) {
        jpy_note(f, "unrolled, one graph a length: %s", reason);
        e = convert_once(f, call, 0, &asks, reason, sizeof reason);
    }
    PyObject *numbers = !e && narrow ? jpy_hints_numbers(f) : NULL;
    if (!e && narrow && jpy_hints_narrow(f, false))
        e = convert_once(f, call, 0, &asks, reason, sizeof reason);
    if (e && numbers)
        e = widen(f, call, numbers, e);
    if (e || narrow)
        e = convert_tree(f, call, e, reason);
    Py_CLEAR(f->tree);
    Py_XDECREF(numbers);
    jpy_rng_still = still;
    if (!e && further) {
        f->refused_line = further, f->refused_col = further_col;
        memcpy(reason, why, sizeof reason);
    }
    if (!e) {
        PyObject *s = PyUnicode_DecodeUTF8(reason, (Py_ssize_t)strlen(reason), "replace");
        Py_XSETREF(f->reason, s);
        return NULL;
    }
    e->trial.tracked = e->n_stages > 0;
    jpy_note(f, "converted: %zu guards, %zu inputs, %u results, %zu effects", e->guards.srcs.n,
             e->inputs.n, e->n_results, e->steps.n);
    jpy_dump_entry(f->callable, e->module);
    return e;
}
