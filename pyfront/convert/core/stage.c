/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staged nodes and values, and how the converter leaves.
 *
 * A node belongs to the SubGraph that is current when it is made; its operands may be values of any
 * enclosing one.  Result types are inferred at once, so a shape that is wrong is refused here.
 */
#include "pyfront/convert/core/core.h"

#include <stdarg.h>
#include <string.h>

#include "ops/op_ids.h"

void jcv_throw_now(jcv *c, jcv_throw what) {
    c->thrown = what;
    longjmp(c->handler->env, 1);
}

/* Where the converted function begins: what is refused before its first statement. */
static void first_line(jcv *c, const char **file, uint32_t *line) {
    PyObject *o = c->f->callable;
    if (PyMethod_Check(o))
        o = PyMethod_GET_FUNCTION(o);
    *file = "?";
    *line = 0;
    if (!PyFunction_Check(o))
        return;
    PyObject *name = PyObject_GetAttrString(PyFunction_GET_CODE(o), "co_filename");
    const char *s = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    *line = (uint32_t)((PyCodeObject *)PyFunction_GET_CODE(o))->co_firstlineno;
    if (s)
        *file = s; /* the code keeps it */
    Py_XDECREF(name);
    PyErr_Clear();
}

jn_loc jcv_place_of(const jcv *c) {
    const jcv_frame *fr = c->frame;
    const jpy_tree *at = c->at;
    if (!at || !fr || !fr->source)
        return (jn_loc){0};
    while (fr->source->library) {
        bool called = fr->called_at && fr->caller;
        const jcv_frame *up = called ? fr->caller : fr->comprehension ? fr->outer : NULL;
        if (!up || !up->source)
            break;
        at = called ? fr->called_at : at;
        fr = up;
    }
    if (fr->source->library) {
        fr = c->frame;
        at = c->at;
    }
    return (jn_loc){fr->source->file, at->line, at->col};
}

/* Sizes of an image are nobody's: what is said of a path that is left out, in an assert, must be
 * the same in both. */
static void hide_sizes(char *text) {
    size_t to = 0;
    for (size_t i = 0; text[i]; i++) {
        size_t digits = strspn(text + i, "0123456789");
        bool large = digits > 4 || (digits == 4 && strncmp(text + i, "1024", 4) >= 0);
        bool line = i && text[i - 1] == ':';
        for (size_t k = 0; k < digits && !(large && !line); k++)
            text[to++] = text[i + k];
        if (large && !line)
            text[to++] = '?';
        if (digits)
            i += digits - 1;
        else
            text[to++] = text[i];
    }
    text[to] = 0;
}

void jcv_refuse(jcv *c, const char *fmt, ...) {
    c->in_parts = false;
    va_list ap;
    va_start(ap, fmt);
    char text[400];
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (c->image)
        hide_sizes(text);
    PyErr_Clear();
    jn_proxy_asked = false;
    uint32_t line = c->at ? c->at->line : 0;
    const char *file = c->frame && c->frame->source ? c->frame->source->file : NULL;
    if (!file || !line)
        first_line(c, &file, &line);
    const char *base = strrchr(file, '/');
    snprintf(c->reason, sizeof c->reason, "%s:%u: %s", base ? base + 1 : file, line, text);
    jn_loc place = jcv_place_of(c);
    c->refused_at = place.file ? place : (jn_loc){file, line, 0};
    jcv_throw_now(c, THROW_REFUSE);
}

void jcv_refuse_py(jcv *c) {
    PyObject *type, *value, *tb;
    if (jn_proxy_asked)
        jcv_refuse(c, "the elements of a tensor are needed before the graph runs");
    if (c->hook_refused) {
        PyErr_Clear();
        if (c->hook_restarts)
            jcv_throw_now(c, THROW_RESTART);
        jcv_refuse(c, "%s", janus_last_error()->message);
    }
    PyErr_Fetch(&type, &value, &tb);
    PyObject *s = value ? PyObject_Str(value) : NULL;
    char text[300];
    snprintf(text, sizeof text, "it raises %s: %s",
             type ? ((PyTypeObject *)type)->tp_name : "an exception",
             s && PyUnicode_AsUTF8(s) ? PyUnicode_AsUTF8(s) : "");
    Py_XDECREF(s);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(tb);
    jcv_refuse(c, "%s", text);
}

void *jcv_alloc(jcv *c, size_t size) {
    void *p = jn_arena_zalloc(&c->arena, size + !size);
    if (!p)
        jcv_refuse(c, "out of memory");
    return p;
}

bool jcv_list_has(const PyObject *list, const PyObject *o) {
    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); i++)
        if (PyList_GET_ITEM(list, i) == o)
            return true;
    return false;
}

void jcv_go_inside(jcv *c) {
    enum { DEEPEST = 200 };
    if (++c->inside > DEEPEST)
        jcv_refuse(c, "a value that is nested very deeply, or contains itself");
}

void jcv_list_add(jcv *c, PyObject **io_list, PyObject *o) {
    if ((!*io_list && !(*io_list = PyList_New(0))) || PyList_Append(*io_list, o) < 0)
        jcv_refuse_py(c);
}

PyObject *jcv_own(jcv *c, PyObject *o) {
    if (!o)
        jcv_refuse_py(c);
    if (jn_proxy_asked) { /* whatever was made of it is not what the program makes */
        Py_DECREF(o);
        jcv_refuse_py(c);
    }
    if (!jn_vec_push(&c->owned, o)) {
        Py_DECREF(o);
        jcv_refuse(c, "out of memory");
    }
    return o;
}

const jn_type *jcv_type(jcv *c, jn_type t) {
    jn_type *p = jcv_alloc(c, sizeof *p);
    *p = t;
    if (t.kind == JANUS_KIND_TENSOR && t.rank > 0) {
        int64_t *d = jcv_alloc(c, (size_t)t.rank * sizeof *d);
        memcpy(d, t.dims, (size_t)t.rank * sizeof *d);
        p->dims = d;
    }
    return p;
}

bool jcv_same_type(const jn_type *a, const jn_type *b) {
    if (a->kind != b->kind)
        return false;
    if (a->kind != JANUS_KIND_TENSOR)
        return true;
    return a->dtype == b->dtype && a->rank == b->rank &&
           (a->rank <= 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(int64_t)) == 0);
}

bool jcv_encloses(const jcv_ctx *outer, const jcv_ctx *x) {
    while (x && x != outer)
        x = x->parent;
    return x != NULL;
}

_Thread_local jcv *jcv_current;

jcv_ctx *jcv_ctx_new(jcv *c, jcv_ctx_kind kind, const char *name, jcv_ctx *parent) {
    jcv_ctx *x = jcv_alloc(c, sizeof *x);
    x->kind = kind;
    x->name = name;
    x->parent = parent;
    x->fn = kind == JCV_MAIN || kind == JCV_FUNC ? x : parent->fn;
    x->first_slot = c->slots.n;
    x->in_loop = kind == JCV_LOOP || (parent && parent->in_loop);
    if (!jn_vec_push(&c->ctxs, x))
        jcv_refuse(c, "out of memory");
    return x;
}

jcv_val *jcv_param(jcv *c, jcv_ctx *ctx, const jn_type *type) {
    jcv_val *v = jcv_alloc(c, sizeof *v);
    *v = (jcv_val){
        .ctx = ctx, .index = (unsigned)ctx->params.n, .type = type, .emitted = JN_VALUE_NONE};
    if (!jn_vec_push(&ctx->params, v))
        jcv_refuse(c, "out of memory");
    return v;
}

static jcv_node *append(jcv *c, jcv_node_kind kind, const jn_op *op, jcv_val *const *in,
                        unsigned n_in, unsigned n_out) {
    jcv_node *n = jcv_alloc(c, sizeof *n);
    n->kind = kind;
    n->op = op;
    n->n_in = n_in;
    n->n_out = n_out;
    n->in = jcv_alloc(c, n_in * sizeof *n->in);
    n->out = jcv_alloc(c, n_out * sizeof *n->out);
    bool depends = false;
    for (unsigned i = 0; i < n_in; i++) {
        n->in[i] = in[i];
        depends = depends || (in[i] && in[i]->depends);
    }
    for (unsigned i = 0; i < n_out; i++)
        n->out[i] = (jcv_val){
            .ctx = c->ctx, .node = n, .index = i, .depends = depends, .emitted = JN_VALUE_NONE};
    n->loc = jcv_place_of(c);
    if (!jn_vec_push(&c->ctx->nodes, n))
        jcv_refuse(c, "out of memory");
    if (++c->steps > JCV_MOST_STEPS)
        jcv_refuse(c, "the graph would be too large");
    return n;
}

jcv_val *jcv_scalar_const(jcv *c, janus_kind kind, janus_scalar v) {
    jcv_node *n = append(c, JCV_SCALAR_CONST, NULL, NULL, 0, 1);
    n->scalar = v;
    n->scalar_kind = kind;
    n->out[0].type = jcv_type(c, jn_scalar_type(kind));
    return &n->out[0];
}

typedef struct infer {
    jn_infer base;
    jcv *c;
} infer;

static int64_t *dims_of(jn_infer *base, unsigned rank) {
    return jn_arena_alloc(&((infer *)(void *)base)->c->arena, (rank + 1) * sizeof(int64_t));
}

/* Deep copy of attributes: INTS, STR and DATA point to the caller's memory. */
static const void *copy_attrs(jcv *c, const jn_op *op, const void *attrs) {
    const void *out = NULL;
    if (!op->attr_size)
        return NULL;
    if (jn_attrs_copy(op, attrs, &c->arena, &out) != JANUS_OK)
        jcv_refuse(c, "%s", janus_last_error()->message);
    return out;
}

/* ---- recording ----------------------------------------------------------------------------------
 */

static jcv_node *build(jcv *c, const jn_op *op, jcv_val *const *given, unsigned n_in,
                       const void *attrs);

jcv_val *jcv_unrecorded(jcv *c, jcv_val *v) {
    if (v->detached && v->detached_in == c->ctx)
        return v->detached;
    jcv_node *n = build(c, JN_OP(detach), &v, 1, NULL);
    if (!n)
        return NULL;
    n->out[0].depends = n->out[0].cut = false;
    v->detached = &n->out[0];
    v->detached_in = c->ctx;
    return v->detached;
}

/* Whether gradients would flow through the op. */
static bool flows(const jn_op *op) {
    return op->role == JN_ROLE_COMPUTE && op->grad && op != JN_OP(detach);
}

/* What was computed without recording carries no gradient into an op that has one for another
 * operand. */
static bool cut_operands(jcv *c, const jn_op *op, jcv_val ***in, unsigned n) {
    bool depends = false, cut = false;
    for (unsigned i = 0; i < n; i++) {
        depends = depends || ((*in)[i] && (*in)[i]->depends);
        cut = cut || ((*in)[i] && (*in)[i]->cut);
    }
    if (!depends || !cut || jpy_no_grad_mode || !flows(op))
        return true;
    jcv_val **own = jcv_alloc(c, n * sizeof *own);
    for (unsigned i = 0; i < n; i++) {
        own[i] = (*in)[i] && (*in)[i]->cut ? jcv_unrecorded(c, (*in)[i]) : (*in)[i];
        if ((*in)[i] && !own[i])
            return false;
    }
    *in = own;
    return true;
}

/* The result of such operands alone, or of an op that is not recorded, is cut in its turn. */
static void mark_cut(jcv_node *n) {
    bool cut = false;
    for (unsigned i = 0; i < n->n_in; i++)
        cut = cut || (n->in[i] && (n->in[i]->cut || (jpy_no_grad_mode && n->in[i]->depends)));
    for (unsigned i = 0; i < n->n_out && cut && flows(n->op); i++) {
        if (n->out[i].type->kind != JANUS_KIND_TENSOR)
            continue;
        n->out[i].cut = true;
        n->out[i].depends = false;
    }
}

static jcv_node *build(jcv *c, const jn_op *op, jcv_val *const *given, unsigned n_in,
                       const void *attrs) {
    jcv_val **in = (jcv_val **)given; /* as they are, or other ones */
    if (!cut_operands(c, op, &in, n_in))
        return NULL;
    jcv_val *made = jcv_by_sizes(c, op, in, attrs);
    if (made)
        return made->node;
    attrs = jcv_draws_like(c, op, &in, n_in, attrs);
    const void *kept = copy_attrs(c, op, jcv_sizes_out(c, op, &in, &n_in, attrs));
    const jn_type **types = jcv_alloc(c, (n_in + 1) * sizeof *types);
    const int64_t **cv = jcv_alloc(c, (n_in + 1) * sizeof *cv);
    for (unsigned i = 0; i < n_in; i++) {
        types[i] = in[i] ? in[i]->type : NULL;
        if (in[i] && in[i]->node && in[i]->node->kind == JCV_SCALAR_CONST)
            cv[i] = &in[i]->node->scalar.i;
        else if (in[i] && in[i]->sized && in[i]->type->kind == JANUS_KIND_INT)
            cv[i] = &in[i]->image.i;
    }
    unsigned n_out = op->n_out;
    jn_type *out = jcv_alloc(c, (n_out + 1) * sizeof *out);
    infer x = {{.op = op,
                .n_in = n_in,
                .in = types,
                .cv = cv,
                .attrs = kept,
                .n_out = n_out,
                .out = out,
                .dims_of = dims_of},
               c};
    if (jn_infer_run(&x.base) != JANUS_OK) {
        if (!c->image)
            return NULL;
        jcv_make_fit(c, &x.base);
        jcv_val **fit = jcv_alloc(c, (n_in + 1) * sizeof *fit);
        memcpy(fit, in, n_in * sizeof *fit);
        jcv_fit_here(c, &x.base, types, fit);
        in = fit;
        if (jn_infer_run(&x.base) != JANUS_OK) /* its message, not one of what was tried */
            return NULL;
    }
    for (unsigned i = 0; i < n_out; i++)
        if (out[i].kind == JANUS_KIND_TENSOR && !jn_type_static(&out[i]) && !c->any_dims) {
            jn_error(JANUS_UNSUPPORTED, "%s: a result has dims that depend on data", op->name);
            return NULL;
        }
    jcv_node *n = append(c, JCV_OP, op, in, n_in, n_out);
    n->attrs = kept;
    for (unsigned i = 0; i < n_out; i++)
        n->out[i].type = jcv_type(c, out[i]);
    mark_cut(n);
    jcv_image_number(c, n);
    return n;
}

jcv_node *jcv_op_try(jcv *c, const jn_op *op, jcv_val *const *in, unsigned n_in,
                     const void *attrs) {
    return build(c, op, in, n_in, attrs);
}

jcv_node *jcv_op(jcv *c, const jn_op *op, jcv_val *const *in, unsigned n_in, const void *attrs) {
    jcv_node *n = build(c, op, in, n_in, attrs);
    if (!n)
        jcv_refuse(c, "%s", janus_last_error()->message);
    return n;
}

static void not_used_up(jcv *c, jcv_ctx *x, uint32_t walk) {
    if (!x || x->held == walk || x->fn == c->ctx->fn)
        return;
    x->held = walk;
    for (size_t i = 0; i < x->nodes.n; i++) {
        jcv_node *n = x->nodes.data[i];
        n->freed = false;
        for (int k = 0; k < 2; k++)
            not_used_up(c, n->subs[k], walk);
    }
}

void jcv_history_of_call(jcv *c, const jcv_node *call, uint32_t walk) {
    for (int k = 0; k < 2; k++)
        if (call->subs[k])
            not_used_up(c, call->subs[k], walk);
}

jcv_node *jcv_call_node(jcv *c, const char *op, jcv_ctx *a, jcv_ctx *b, jcv_val *const *in,
                        unsigned n_in, const jn_type *const *types, unsigned n_out) {
    jcv_node *n = append(c, JCV_OP, jn_op_find(op, strlen(op)), in, n_in, n_out);
    unsigned room = (2 + JCV_N_TRAITS) * n_out + 1; /* for trait.c and own.c, too */
    jcv_val *out = jcv_alloc(c, room * sizeof *out);
    memcpy(out, n->out, n_out * sizeof *out);
    n->out = out;
    n->subs[0] = a;
    n->subs[1] = b;
    for (int k = 0; k < 2; k++)
        if (n->subs[k] && n->subs[k]->kind != JCV_FUNC)
            n->subs[k]->of = n;
    if (c->any_freed)
        jcv_history_of_call(c, n, ++c->last_held);
    for (unsigned i = 0; i < n_out; i++) {
        n->out[i].type = types[i];
        n->out[i].depends = jn_dtype_is_float(types[i]->dtype);
    }
    return n;
}

jcv_node *jcv_backward_node(jcv *c, jcv_val *const *y, jcv_val *const *dy, unsigned n_y,
                            jcv_val *const *x, unsigned n_x, bool optional) {
    jcv_val **in = jcv_alloc(c, (2 * n_y + n_x) * sizeof *in);
    memcpy(in, y, n_y * sizeof *in);
    memcpy(in + n_y, dy, n_y * sizeof *in);
    if (n_x)
        memcpy(in + 2 * n_y, x, n_x * sizeof *in);
    jcv_node *n = append(c, JCV_BACKWARD, NULL, in, 2 * n_y + n_x, optional ? 2 * n_x : n_x);
    n->optional = optional;
    for (unsigned i = 0; i < n_x; i++)
        n->out[i].type = x[i]->type;
    for (unsigned i = n_x; i < n->n_out; i++)
        n->out[i].type = jcv_type(c, jn_scalar_type(JANUS_KIND_BOOL));
    return n;
}

void jcv_assert_at(jcv *c, jcv_val *cond, const char *message, const jn_loc *loc) {
    const jn_op *op = jn_op_find("assert", 6);
    struct {
        size_t struct_size;
        int64_t id;
        const char *message;
    } attrs = {sizeof attrs, loc ? (int64_t)loc->line : -1, message};
    jcv_node *n = jcv_op(c, op, &cond, 1, &attrs);
    if (loc)
        n->loc = *loc;
}

void jcv_assert(jcv *c, jcv_val *cond, const char *message) {
    jn_loc here = jcv_place_of(c);
    jcv_assert_at(c, cond, message, here.file ? &here : NULL);
}

bool jcv_peeled(const jcv *c, const jpy_tree *loop) {
    for (const jcv_peel *p = c->peels; p && loop; p = p->next)
        if (p->loop == loop)
            return true;
    return false;
}

void jcv_peel_loop(jcv *c, const jpy_tree *loop) {
    if (!loop || jcv_peeled(c, loop))
        return;
    jcv_peel *p = jn_arena_zalloc(&c->keep, sizeof *p);
    if (!p)
        jcv_refuse(c, "out of memory");
    p->loop = loop;
    p->next = c->peels;
    c->peels = p;
    snprintf(c->reason, sizeof c->reason, "the first round of a loop is not like the others");
    jcv_throw_now(c, THROW_RESTART);
}
