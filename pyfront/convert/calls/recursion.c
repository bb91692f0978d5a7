/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recursion: a function that is called while it runs becomes a SubGraph, its calls become invokes.
 *
 * Found by meeting the same code on the stack of inlined calls; the conversion then starts again
 * knowing it.  Parameters that are the same in every call stay what they are; others are passed.
 * What a call returns is learnt from the paths that do not recurse (a call whose result is not
 * known leads nowhere), then assumed and checked: every lesson restarts the conversion.
 */
#include "pyfront/convert/calls/calls.h"

#include <string.h>

#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/values.h"

static bool same_self(PyObject *a, PyObject *b) { return a == b; }

static PyObject *self_of(const jcv_frame *fr) { return fr->self_key ? fr->self_key->py : NULL; }

/* The function of a frame; of several that were made inside at one place, what is learnt of one is
 * learnt of all. */
static bool is_of(const jcv_rec_fn *f, const jcv_frame *fr) {
    return f->func == fr->func && f->def == fr->def && same_self(f->self_key, self_of(fr));
}

static jcv_rec_fn *find_fn(jcv *c, jcv_frame *fr, unsigned n) {
    for (jcv_rec_fn *f = c->rec_fns; f; f = f->next)
        if (is_of(f, fr) && f->n_params == n)
            return f;
    return NULL;
}

bool jcv_recursive(jcv *c, const jcv_frame *fr) {
    for (jcv_rec_fn *f = c->rec_fns; f; f = f->next)
        if (is_of(f, fr))
            return true;
    return false;
}

void *jcv_kept(jcv *c, size_t size) {
    void *p = jn_arena_zalloc(&c->keep, size + !size);
    if (!p)
        jcv_refuse(c, "out of memory");
    return p;
}

/* Whether arguments have the same structure. */
static bool same_shape(const jcv_av *a, const jcv_av *b) {
    if (a->kind != b->kind || a->n != b->n || a->named != b->named ||
        (a->kind == AV_TUPLE && a->text != b->text))
        return false;
    if (a->kind != AV_TUPLE && a->kind != AV_MAYBE && !(jcv_is_slice(a) && jcv_is_slice(b)))
        return a->kind == AV_ITER || jcv_av_equal(a, b);
    for (unsigned i = 0; i < a->n; i++)
        if (!same_shape(a->items[i], b->items[i]))
            return false;
    return true;
}

static jcv_rec_fn *learn_fn(jcv *c, jcv_frame *fr, unsigned n) {
    jcv_rec_fn *f = jcv_kept(c, sizeof *f);
    f->func = fr->func;
    f->def = fr->def;
    f->self_key = self_of(fr);
    f->n_params = n;
    f->by_value = jcv_kept(c, n);
    f->samples = jcv_kept(c, n * sizeof *f->samples);
    f->sizes = jcv_kept(c, n * sizeof *f->sizes);
    f->gaps = jcv_kept(c, n * sizeof *f->gaps);
    f->looked = jcv_kept(c, n);
    f->next = c->rec_fns;
    c->rec_fns = f;
    return f;
}

/* Whether what the calls of a recursion differ in is a part of a module: a tree that it has made.
 */
static bool is_fixed(const jcv *c, jcv_av *const *args, unsigned n) {
    bool any = false;
    for (unsigned i = 0; i < n; i++) {
        if (args[i]->kind == AV_HOST)
            return false;
        if (args[i]->kind != AV_PY || !args[i]->src || jcv_number_kind(args[i]))
            continue;
        if (!jcv_in_module(c, args[i]->src))
            return false;
        any = true;
    }
    return any;
}

/* The object of the program's that a call goes over, where it is known and no run decides which it
 * is; NULL: none is. */
static PyObject *object_met(jcv_av *const *args, unsigned n) {
    PyObject *o = NULL;
    for (unsigned i = 0; i < n; i++) {
        if (args[i]->kind == AV_HOST)
            return NULL;
        if (!o && args[i]->kind == AV_PY && args[i]->src && !jcv_is_const(args[i]) &&
            !jcv_number_kind(args[i]) && !PyFunction_Check(args[i]->py))
            o = args[i]->py;
    }
    return o;
}

/* The first one of a conversion is what its call is known by. */
static void meet_tree(jcv *c, jcv_av *const *args, unsigned n) {
    if (!c->f->tree)
        c->f->tree = Py_XNewRef(object_met(args, n));
}

/* Whether a call gets less than one that it is in: parts of containers whose contents are known, as
 * in `def detached(h): return h.detach() if is_tensor(h) else tuple(map(detached, h))`. */
static bool is_part(const jcv_frame *in, const jcv_frame *of) {
    return of->nested != JCV_NOT_KNOWN && in->nested < of->nested;
}

/* It is not to be a SubGraph in this attempt. */
static bool unrolls(const jcv *c, const jcv_frame *fr, jcv_av *const *args, unsigned n) {
    return c->f->unrolls &&
           (!fr->func || is_fixed(c, args, n) || (c->f->unrolls_tree && object_met(args, n)) ||
            (c->f->recurs_parts && fr->nested != JCV_NOT_KNOWN));
}

/* A function that earlier conversions found to be recursive, where it gets an object of another
 * tree: what of it comes first, a leaf, says little of the next one.  NULL: it is not. */
static jcv_rec_fn *known_before(jcv *c, jcv_frame *fr, jcv_av **args, unsigned n) {
    jcv_rec_fn x = {.func = fr->func, .def = fr->def, .self_key = self_of(fr)};
    x.n_params = n;
    x.by_value = jcv_alloc(c, n + 1);
    if (!jcv_varies(c) || unrolls(c, fr, args, n) || !jcv_was_recursive(c, &x))
        return NULL;
    for (unsigned i = 0; i < n; i++)
        if (x.by_value[i] && args[i]->kind == AV_PY && args[i]->src && !jcv_is_const(args[i])) {
            jcv_rec_fn *f = learn_fn(c, fr, n);
            meet_tree(c, args, n);
            c->f->recurs_inside = c->f->recurs_inside || !fr->func;
            c->f->recurs_fixed = c->f->recurs_fixed || is_fixed(c, args, n);
            memcpy(f->by_value, x.by_value, n);
            return f;
        }
    return NULL;
}

/* Whether two calls agree on an argument. */
static bool same_argument(jcv_av *a, jcv_av *b) {
    if (jcv_av_equal(a, b))
        return true;
    return a->kind == AV_PY && b->kind == AV_PY && a->py == b->py;
}

static bool types_grow(jcv *c, jcv_rec_fn *f, unsigned i, PyObject *more) {
    bool grew = false;
    if (!f->samples[i]) {
        f->samples[i] = PyList_New(0);
        if (!f->samples[i])
            jcv_refuse_py(c);
    }
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(more); k++) {
        PyObject *o = PyList_GET_ITEM(more, k);
        if (PyList_GET_SIZE(f->samples[i]) >= 256 || jcv_list_has(f->samples[i], o))
            continue;
        jcv_list_add(c, &f->samples[i], o);
        grew = true;
    }
    return grew;
}

static jcv_av *invoke(jcv *c, jcv_instance *in, jcv_av **args, unsigned n) {
    jcv_rec_fn *f = in->fn;
    if (!f->result)
        jcv_throw_now(c, THROW_DEAD);
    jcv_val **v = jcv_alloc(c, (n + in->ctx->params.n + 1) * sizeof *v);
    unsigned m = 0, n_out = jcv_count_returned(f->result), at = 0;
    for (unsigned i = 0; i < n; i++)
        if (in->is_arg[i]) {
            v[m] = jcv_leaf_val(c, args[i]);
            if (args[i]->kind == AV_TENSOR)
                jcv_rec_of(c, ((jpy_tensor *)args[i]->py)->t)->root->put = true;
            if (!jcv_fits_param(c, f, i, in->params[i], args[i]))
                jcv_refuse(c, "an argument of a recursion changes its type, dims or strides");
            m++;
        }
    unsigned flags = in->open ? 0 : (unsigned)in->ctx->results.n - n_out; /* trait.c */
    while (!in->open && m < in->ctx->params.n)
        v[m++] = jcv_scalar_const(c, JANUS_KIND_BOOL, (janus_scalar){0});
    const jn_type **types = jcv_alloc(c, (n_out + flags + 1) * sizeof *types);
    jcv_returned_types(c, f->result, types, &at);
    while (at < n_out + flags)
        types[at++] = jcv_type(c, jn_scalar_type(JANUS_KIND_BOOL));
    jcv_new_sizes *sizes = jcv_alloc(c, (n_out + 1) * sizeof *sizes);
    for (unsigned i = 0; i < n_out; i++)
        types[i] = jcv_sized_type(c, types[i], &sizes[i]);
    jcv_node *node = jcv_call_node(c, "invoke", in->ctx, NULL, v, m, types, n_out + flags);
    for (unsigned i = 0; i < n_out; i++)
        jcv_sizes_are(c, &sizes[i], &node->out[i]);
    c->live_epoch++;
    c->n_effects += c->lives != NULL; /* the call may write */
    at = 0;
    return jcv_make_returned(c, f->result, node, &at);
}

static void restart(jcv *c, const char *why) {
    snprintf(c->reason, sizeof c->reason, "%s", why);
    jcv_throw_now(c, THROW_RESTART);
}

/* What a call sees that is no argument, which may differ. */
static jcv_sight *sight_of(jcv *c, const jcv_instance *in, const jcv_frame *fr, jcv_av *const *args,
                           unsigned n) {
    jcv_av **seen = jcv_alloc(c, (n + 1) * sizeof *seen);
    unsigned m = 0;
    for (unsigned i = 0; i < n; i++)
        if (!in->is_arg[i])
            seen[m++] = args[i];
    return jcv_sight_of_call(c, fr, seen, m);
}

/* What a slot holds is written inside of the recursion of `fr`: the graph writes it, if it can. */
static void write_live(jcv *c, const jcv_frame *fr, uint32_t slot) {
    jcv_av *of = jcv_container_in(c, slot);
    if (of)
        jcv_make_live(c, of);
    jcv_box_attr(c, slot);
    jcv_make_live_local(c, fr, slot);
}

/* What a parameter may be a number in some calls of, and something else in others. */
enum { AS_OBJECT = 3 };

/* An object, of which other calls may give another one. */
static bool is_object(const jcv_av *a) {
    if (a->kind != AV_PY || jcv_number_kind(a))
        return false;
    if (jcv_is_const(a))
        return a->py == Py_None || PyUnicode_CheckExact(a->py) || PyTuple_CheckExact(a->py);
    return a->src && !PyFunction_Check(a->py);
}

/* The SubGraph of a recursive function, converted for one state of what it reads. */
static void fill(jcv *c, jcv_instance *in, jcv_rec_fn *f, jcv_frame *fr, jcv_av **args,
                 unsigned n) {
    jcv_place place = jcv_where(c);
    size_t n_slots = c->slots.n;
    jcv_state before = jcv_save(c);
    c->ctx = in->ctx;
    for (unsigned i = 0; i < n; i++) {
        jcv_av *a = args[i], *bound = a;
        bool object =
            a->kind == AV_HOST || f->by_value[i] == AS_OBJECT || (f->by_value[i] && is_object(a));
        if (f->by_value[i] || a->kind == AV_HOST || a->kind == AV_SCALAR || a->kind == AV_TENSOR) {
            in->is_arg[i] = true;
            if (object) {
                c->ctx = place.ctx;
                PyObject *s = jcv_samples(c, jcv_to_host(c, a));
                c->ctx = in->ctx;
                types_grow(c, f, i, s);
                types_grow(c, f, i, jcv_seen(c, f, i));
                if (c->f->looks_far && !f->looked[i]) {
                    f->looked[i] = true; /* once a conversion, however often it starts again */
                    types_grow(c, f, i, jcv_kinds_below(c, f->samples[i]));
                }
                jcv_val *v = jcv_param(c, in->ctx, jcv_type(c, jn_scalar_type(JANUS_KIND_OBJECT)));
                Py_INCREF(f->samples[i]);
                bound = jcv_root(c, in->ctx, v, jcv_own(c, f->samples[i]));
            } else {
                c->ctx = place.ctx;
                const jn_type *type = jcv_leaf_val(c, a)->type;
                bool tracked = jcv_leaf_tracked(c, a) || f->by_value[i] == 2;
                c->ctx = in->ctx;
                jcv_new_sizes sizes;
                jcv_val *v = jcv_param(c, in->ctx, jcv_param_type(c, f, i, type, &sizes));
                jcv_sizes_are(c, &sizes, v);
                v->depends = type->kind == JANUS_KIND_TENSOR && jn_dtype_is_float(type->dtype);
                bound = jcv_sized_leaf(c, f, i, v, a, tracked);
            }
        }
        in->params[i] = in->is_arg[i] ? bound : a;
    }
    in->sight = sight_of(c, in, fr, in->params, n);
    jcv_store_params(c, fr, in->params);
    jcv_handler h = {.up = c->handler};
    c->handler = &h;
    jcv_av *volatile result = NULL;
    fr->fills = true;
    fr->n_fresh = c->fresh.n;
    if (setjmp(h.env) == 0)
        result = jcv_to_record(c, jcv_run_body(c, fr), fr->n_fresh);
    c->handler = h.up;
    if (!result) {
        if (c->thrown == THROW_DEAD) {
            jcv_back(c, place);
            if (in->deeper)
                restart(c, "a recursion goes deeper");
            jcv_refuse(c, "a recursion without an end that was seen");
        }
        jcv_throw_now(c, c->thrown);
    }
    for (size_t i = 1; i < n_slots; i++) {
        if (jcv_av_equal(before.slots[i], c->slots.data[i]))
            continue;
        write_live(c, fr, (uint32_t)i);
        jcv_refuse(c, "a recursion writes to what is outside");
    }
    if (!f->result) {
        f->result = jcv_returned(c, result, in, result);
        restart(c, "the result of a recursion is known now");
    }
    int r = jcv_fit_returned(c, f->result, result, in, result);
    if (r < 0)
        jcv_refuse(c, "a recursion returns different kinds of results");
    if (r == 0)
        restart(c, "the result of a recursion requires grad or has other names");
    jcv_returned_leaves(c, f->result, result, in->ctx);
    jcv_back(c, place);
    in->open = false;
}

static jcv_instance *make_instance(jcv *c, jcv_rec_fn *f, jcv_frame *fr, jcv_av **args,
                                   unsigned n) {
    jcv_instance *in = jcv_alloc(c, sizeof *in);
    in->fn = f;
    in->epoch = c->epoch;
    in->grad_mode = !jpy_no_grad_mode;
    in->autocast = jpy_autocast_word;
    in->open = true;
    in->shape = fr->shape;
    in->outer = fr->outer;
    in->params = jcv_alloc(c, (n + 1) * sizeof *in->params);
    in->is_arg = jcv_alloc(c, n + 1);
    in->ctx = jcv_ctx_new(c, JCV_FUNC, fr->def->fn->name, NULL);
    in->next = c->instances;
    c->instances = in;
    jcv_handler h = {.up = c->handler};
    c->handler = &h;
    if (setjmp(h.env) == 0) {
        fill(c, in, f, fr, args, n);
        c->handler = h.up;
        return in;
    }
    c->handler = h.up;
    jcv_instance **at = &c->instances; /* nobody shall call what was left halfway */
    while (*at != in)
        at = &(*at)->next;
    *at = in->next;
    c->in_parts = c->in_parts || (c->thrown == THROW_REFUSE && in->fn->parts);
    jcv_throw_now(c, c->thrown);
}

/* Whether an object is handed on, as a node of a tree is: its end is that of the recursion. */
static bool goes_over_objects(jcv_av *const *args, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        if (args[i]->kind == AV_PY && args[i]->src && !jcv_number_kind(args[i]))
            return true;
    return false;
}

bool jcv_in_arms(const jcv *c, unsigned calls) {
    unsigned arms = 0;
    for (const jcv_ctx *x = c->ctx; x->parent; x = x->parent)
        arms++;
    return arms >= calls;
}

bool jcv_too_many_in_arms(jcv *c) {
    enum { MOST_IN_ARMS = 64 };
    return ++c->in_arms > MOST_IN_ARMS;
}

/* How deep a recursion goes that is unrolled may be known to the graph alone: then each call lies
 * in an arm of the one before it, and what follows an arm may be in both.  Of two hundred such arms
 * with branches of their own, or of two calls for each, a graph takes minutes to make, or for ever.
 */
static void look_for_end(jcv *c, const jcv_frame *fr, jcv_av *const *args, unsigned n) {
    enum { MOST_DEEP = 32 };
    unsigned calls = 0;
    for (const jcv_frame *x = c->frame; x; x = x->caller)
        calls += x->func == fr->func && x->def == fr->def && x->outer == fr->outer;
    if (!jcv_in_arms(c, calls))
        return;
    if (calls > MOST_DEEP || (!goes_over_objects(args, n) && jcv_too_many_in_arms(c)))
        jcv_refuse(c, "how deep a recursion goes that is unrolled is known to the graph alone");
}

/* Starts again where the function of `fr` runs already. */
static void look_for_recursion(jcv *c, jcv_frame *fr, jcv_av *const *args, unsigned n) {
    enum { MAX_OTHERS = 8, MOST_UNROLLED = 256, MOST_PARTS = 64 };
    unsigned others = 0;
    for (jcv_frame *x = c->frame; x; x = x->caller) {
        if (x->func != fr->func || x->def != fr->def || !same_self(self_of(x), self_of(fr)))
            continue;
        if (!fr->func && x->outer != fr->outer) { /* made by another call */
            if (++others > MAX_OTHERS)
                jcv_refuse(c, "functions that are made by each call of a recursion");
            continue;
        }
        c->f->recurs_inside = c->f->recurs_inside || !fr->func;
        bool fixed = is_fixed(c, args, n), part = is_part(fr, x);
        bool tree = c->f->unrolls_tree && object_met(args, n);
        bool known = fixed || tree || (part && c->f->recurs_parts);
        c->f->recurs_fixed = c->f->recurs_fixed || fixed;
        if (fr->func && known && c->f->unrolls &&
            ++c->unrolled > (fixed ? MOST_UNROLLED : MOST_PARTS))
            jcv_refuse(c, "a recursion over many objects, or parts of a container, that are known");
        if (c->f->unrolls && (!fr->func || known)) {
            look_for_end(c, fr, args, n);
            return;
        }
        meet_tree(c, args, n);
        learn_fn(c, fr, n)->parts = part;
        restart(c, "a recursion was found");
    }
}

static bool is_function(const jcv_av *a) {
    if (a->kind == AV_PY)
        return PyFunction_Check(a->py) || PyCFunction_Check(a->py) || PyType_Check(a->py) ||
               Py_TYPE(a->py) == jpy.op_type || Py_TYPE(a->py) == &PyMethodDescr_Type;
    return a->kind == AV_CLOSURE || a->kind == AV_METHOD;
}

/* A function is no value of the graph: a call with another one calls another SubGraph. */
static bool same_functions(jcv *c, const jcv_instance *in, jcv_av *const *args, unsigned n) {
    enum { MAX_OPEN = 8 };
    bool same = true;
    for (unsigned i = 0; i < n && same; i++)
        if (!in->is_arg[i] && (is_function(args[i]) || is_function(in->params[i])))
            same = same_argument(in->params[i], args[i]);
    unsigned open = 0;
    for (const jcv_instance *x = c->instances; x && !same && in->open; x = x->next)
        open += x->fn == in->fn && x->open;
    if (open > MAX_OPEN)
        jcv_refuse(c, "a recursion that passes on other functions than it gets");
    return same;
}

/* The SubGraph that a call gets, NULL: none was made for it. */
static jcv_instance *find_instance(jcv *c, const jcv_rec_fn *f, const jcv_frame *fr,
                                   jcv_av *const *args, unsigned n) {
    for (jcv_instance *in = c->instances; in; in = in->next) {
        uint32_t slot;
        if (in->fn != f || in->outer != fr->outer || in->grad_mode != !jpy_no_grad_mode ||
            in->autocast != jpy_autocast_word || !same_shape(in->shape, fr->shape) ||
            !same_functions(c, in, args, n))
            continue;
        bool same = jcv_call_sees_the_same(c, in->sight, &slot);
        if (same && in->epoch == c->epoch)
            return in;
        if (!in->open)
            continue;
        if (slot)
            write_live(c, fr, slot);
        jcv_refuse(c, "state is written between the calls of a recursion");
    }
    return NULL;
}

jcv_av *jcv_call_recursive(jcv *c, jcv_frame *fr, jcv_av **args, unsigned n) {
    jcv_rec_fn *f = find_fn(c, fr, n);
    if (!f && jcv_recursive(c, fr)) { /* with arguments of another structure */
        unsigned ways = 0;
        bool parts = false;
        for (jcv_rec_fn *x = c->rec_fns; x; x = x->next) {
            bool same = x->func == fr->func && x->def == fr->def;
            ways += same;
            parts = parts || (same && x->parts);
        }
        if (ways > 8)
            jcv_refuse(c, "a recursion whose arguments grow");
        f = learn_fn(c, fr, n);
        f->parts = parts;
    }
    if (!f)
        f = known_before(c, fr, args, n);
    if (!f) {
        look_for_recursion(c, fr, args, n);
        return NULL;
    }
    jcv_instance *in = find_instance(c, f, fr, args, n);
    bool again = false;
    for (unsigned i = 0; in && i < n; i++) {
        if (!in->is_arg[i]) {
            if (!same_argument(in->params[i], args[i])) {
                jcv_other_objects(c, fr, i, in->params[i], args[i]);
                f->by_value[i] = 1;
                again = true;
            }
            continue;
        }
        if (in->params[i]->kind == AV_HOST) {
            args[i] = jcv_to_host(c, args[i]);
            bool grew = types_grow(c, f, i, jcv_samples(c, args[i]));
            if (in->open && !f->result) /* its end may lie deeper than restarts would lead */
                grew = types_grow(c, f, i, jcv_ends(c, args[i])) || grew;
            if (grew && in->open) {
                again = again || PyList_GET_SIZE(f->samples[i]) < 24;
                in->deeper = true;
            }
        } else if (in->params[i]->kind == AV_SCALAR &&
                   (args[i]->kind == AV_HOST || is_object(args[i]))) {
            f->by_value[i] = AS_OBJECT;
            again = true;
        } else if (jcv_leaf_tracked(c, args[i]) && !jcv_leaf_tracked(c, in->params[i])) {
            f->by_value[i] = 2;
            again = true;
        } else if (jcv_learn_sizes(c, f, i, in->params[i], args[i])) {
            again = true;
        }
    }
    if (again)
        restart(c, "a recursion is called in another way");
    if (!in)
        in = make_instance(c, f, fr, args, n);
    for (unsigned i = 0; i < n; i++)
        if (in->is_arg[i] && in->params[i]->kind == AV_HOST)
            args[i] = jcv_to_host(c, args[i]);
    return invoke(c, in, args, n);
}
