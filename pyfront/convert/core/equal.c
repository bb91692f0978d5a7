/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes that are assumed to be equal.
 *
 * What only the run knows (how many elements a mask chooses, how long a list is that a recursion
 * filled) has a size of its own in an image (dims.c), which fits no other one.  Where an op needs
 * it to be the size of another operand, the program's sizes are equal, else CPython would raise
 * there: the conversion starts again with the one assumed to be the other, and says so in an assert
 * where it is made, before anything sees it.  Sizes of 1 that ops would broadcast fail that assert
 * where the other one is not 1.
 */
#include "pyfront/convert/core/core.h"

#include "ops/attrs.h"
#include "ops/op_ids.h"

enum { NEAR = 1000, AT_ONCE = 3, CANDIDATES = 24, TIMES = 3 };

static bool in_scope(const jcv *c, const jcv_val *v) {
    return jcv_encloses(v->ctx, c->ctx) || (v->ctx == c->main && c->ctx->fn != c->main);
}

jcv_val *jcv_symbol_number(jcv *c, const jcv_symbol *s) {
    if (s->slot == UINT32_MAX)
        return s->val && in_scope(c, s->val) ? s->val : NULL;
    for (size_t i = 0; i < c->inputs.n; i++)
        if (c->inputs.data[i] && c->inputs.data[i]->slot == s->slot)
            return jcv_size_of(c, c->main->params.data[i], s->axis);
    return NULL;
}

static jcv_which which(jcv_symbol s) { return (jcv_which){s.history, s.size, s.at, s.nth}; }

static bool same(jcv_which a, jcv_which b) {
    return a.history == b.history && a.size == b.size && a.at == b.at && a.nth == b.nth;
}

static const jcv_symbol *other_of(const jcv *c, const jcv_equal *e) {
    for (size_t i = 0; i < c->symbols.n; i++)
        if (same(which(c->symbols.data[i]), e->other))
            return &c->symbols.data[i];
    return NULL;
}

static jcv_equal *known(const jcv *c, jcv_which w) {
    jcv_equal *e = c->equals;
    while (e && !same(e->which, w))
        e = e->next;
    return e;
}

const jcv_equal *jcv_dim_is(const jcv *c, Py_hash_t history, int64_t size) {
    return known(c, (jcv_which){.history = history, .size = size});
}

static unsigned nth_at(jcv *c, const jpy_tree *at) {
    unsigned n = 0;
    for (size_t i = 0; i < c->sized_at.n; i++)
        n += c->sized_at.data[i] == at;
    if (!jn_vec_push(&c->sized_at, at))
        jcv_refuse(c, "out of memory");
    return n;
}

jcv_new_size jcv_fresh_size(jcv *c) {
    unsigned nth = nth_at(c, c->at);
    const jcv_equal *e = known(c, (jcv_which){.at = c->at, .nth = nth});
    const jcv_symbol *of = e && !e->constant ? other_of(c, e) : NULL;
    if (e && c->image && (e->constant || (of && jcv_symbol_number(c, of))))
        return (jcv_new_size){(of ? of->image : 0) + e->by, SIZE_MAX, e};
    jcv_symbol *s = jcv_fresh_symbol(c);
    s->at = c->at;
    s->nth = nth;
    return (jcv_new_size){s->image, c->symbols.n - 1, NULL};
}

void jcv_size_is(jcv *c, const jcv_new_size *size, jcv_val *number) {
    if (!size->same) {
        c->symbols.data[size->symbol].val = number;
        return;
    }
    jcv_val *sum[2] = {NULL, jcv_int(c, size->same->by)}, *other = sum[1];
    if (!size->same->constant) {
        sum[0] = jcv_symbol_number(c, other_of(c, size->same));
        other = size->same->by ? &jcv_op(c, JN_OP(s_add), sum, 2, NULL)->out[0] : sum[0];
    }
    jcv_must_be(c, number, other);
}

const jn_type *jcv_sized_type(jcv *c, const jn_type *t, jcv_new_sizes *out) {
    out->n = 0;
    if (t->kind != JANUS_KIND_TENSOR)
        return t;
    int64_t dims[JN_MAX_RANK];
    for (int i = 0; i < t->rank; i++) {
        dims[i] = t->dims[i];
        if (dims[i] >= 0)
            continue;
        out->axis[out->n] = i;
        out->size[out->n] = jcv_fresh_size(c);
        dims[i] = out->size[out->n++].image;
    }
    jn_type sized = *t;
    sized.dims = dims;
    return out->n ? jcv_type(c, sized) : t;
}

void jcv_sizes_are(jcv *c, const jcv_new_sizes *sizes, jcv_val *v) {
    for (unsigned i = 0; i < sizes->n; i++)
        jcv_size_is(c, &sizes->size[i], jcv_size_of(c, v, sizes->axis[i]));
}

static jcv_val *widened(jcv *c, jcv_val *v, const jn_type *type) {
    jcv_ctx *here = c->ctx;
    c->ctx = v->ctx;
    jcv_node *n = jcv_op(c, JN_OP(alias), &v, 1, NULL);
    c->ctx = here;
    n->view = n->widens = true;
    n->out[0].type = type;
    n->out[0].depends = v->depends;
    n->out[0].cut = v->cut;
    return &n->out[0];
}

const jn_type *jcv_join_sizes(jcv *c, jcv_val **a, jcv_val **b, jcv_new_sizes *out) {
    const jn_type *x = (*a)->type, *y = (*b)->type;
    out->n = 0;
    if (x->kind != JANUS_KIND_TENSOR || jcv_same_type(x, y) || x->rank != y->rank)
        return y;
    int64_t dims[JN_MAX_RANK];
    jn_type any = *x;
    for (int i = 0; i < x->rank; i++)
        dims[i] = x->dims[i] == y->dims[i] ? x->dims[i] : JN_DIM_UNKNOWN;
    any.dims = dims;
    const jn_type *t = jcv_sized_type(c, &any, out);
    *a = widened(c, *a, t);
    *b = widened(c, *b, t);
    return t;
}

/* ---- what makes operands fit --------------------------------------------------------------------
 */

typedef struct fitting {
    jcv *c;
    jn_infer *failed;
    int64_t sizes[CANDIDATES]; /* of the operands, each once */
    unsigned n;
    int64_t least;        /* of those that symbols are assumed to be */
    bool arguments;       /* also symbols of their dims */
    size_t from[AT_ONCE]; /* symbols ... */
    int64_t to[AT_ONCE];  /* ... and what they are assumed to be */
} fitting;

static void add_size(fitting *f, int64_t size) {
    for (unsigned i = 0; i < f->n; i++)
        if (f->sizes[i] == size)
            return;
    if (f->n < CANDIDATES && size >= 0)
        f->sizes[f->n++] = size;
}

static int64_t away(int64_t a, int64_t b) { return a < b ? b - a : a - b; }

/* Whether a size is that of a symbol, or was computed of it as sizes are: times something, or
 * something more. */
static bool made_of(int64_t size, jcv_symbol s) {
    return size > 0 && (size % s.image == 0 || away(size, s.image) < NEAR);
}

bool jcv_of_argument(const jcv *c, int64_t size) {
    for (size_t i = 0; i < c->symbols.n; i++)
        if (c->symbols.data[i].slot != UINT32_MAX && made_of(size, c->symbols.data[i]))
            return true;
    return false;
}

bool jcv_of_run(const jcv *c, int64_t size) {
    for (size_t i = 0; i < c->symbols.n; i++)
        if (c->symbols.data[i].slot == UINT32_MAX && c->symbols.data[i].image == size)
            return true;
    return false;
}

/* The same of what the symbol is assumed to be. */
static int64_t made_again(int64_t size, jcv_symbol s, int64_t to) {
    return size % s.image ? size - s.image + to : size / s.image * to;
}

/* What a symbol has to be for `size`, which is made of it, to be `other`; -1: it cannot. */
static int64_t solved(int64_t size, jcv_symbol s, int64_t other) {
    if (size % s.image)
        return other - (size - s.image);
    return other % (size / s.image) ? -1 : other / (size / s.image);
}

static int64_t fitted(const fitting *f, unsigned n, int64_t size) {
    for (unsigned i = 0; i < n; i++) {
        jcv_symbol s = f->c->symbols.data[f->from[i]];
        size = made_of(size, s) ? made_again(size, s, f->to[i]) : size;
    }
    return size;
}

static bool takes(fitting *f, unsigned n) {
    jcv *c = f->c;
    jn_infer *x = f->failed;
    const jn_type *const *types_given = x->in;
    const int64_t *const *cv_given = x->cv;
    const jn_type **types = jcv_alloc(c, (x->n_in + 1) * sizeof *types);
    const int64_t **cv = jcv_alloc(c, (x->n_in + 1) * sizeof *cv);
    for (unsigned i = 0; i < x->n_in; i++) {
        types[i] = x->in[i];
        if (types[i] && types[i]->kind == JANUS_KIND_TENSOR && types[i]->rank > 0) {
            int64_t dims[JN_MAX_RANK];
            jn_type t = *types[i];
            for (int k = 0; k < t.rank; k++)
                dims[k] = fitted(f, n, t.dims[k]);
            t.dims = dims;
            types[i] = jcv_type(c, t);
        }
        if (x->cv[i]) {
            int64_t *v = jcv_alloc(c, sizeof *v);
            *v = fitted(f, n, *x->cv[i]);
            cv[i] = v;
        }
    }
    x->in = types;
    x->cv = cv;
    bool yes = jn_infer_run(x) == JANUS_OK;
    x->in = types_given;
    x->cv = cv_given;
    return yes;
}

/* Whether symbol k may be assumed to be that: one that is made later cannot be waited for, and dims
 * of arguments are what they are in this call. */
static bool may_be(const fitting *f, size_t k, int64_t to) {
    const jcv *c = f->c;
    jcv_symbol s = c->symbols.data[k];
    bool decided = s.slot == UINT32_MAX, as_large = to == s.size;
    if (to < f->least || to == s.image)
        return false;
    for (size_t j = 0; j < k && !decided; j++)
        as_large =
            as_large || (c->symbols.data[j].image == to && c->symbols.data[j].size == s.size);
    if (!decided)
        return f->arguments && as_large;
    for (size_t j = k; j < c->symbols.n; j++)
        if (c->symbols.data[j].slot == UINT32_MAX && made_of(to, c->symbols.data[j]))
            return false;
    return true;
}

static bool search(fitting *f, unsigned at, unsigned more);

static bool try_symbol(fitting *f, size_t k, unsigned at, unsigned more) {
    jcv_symbol s = f->c->symbols.data[k];
    for (unsigned i = 0; i < f->n; i++)
        for (unsigned j = 0; made_of(f->sizes[i], s) && j < f->n; j++) {
            int64_t to = solved(f->sizes[i], s, f->sizes[j]);
            if (j == i || !may_be(f, k, to))
                continue;
            f->from[at] = k;
            f->to[at] = to;
            if (more ? search(f, at + 1, more - 1) : takes(f, at + 1))
                return true;
        }
    return false;
}

/* Assumes so many symbols and one more to be other sizes, later ones first. */
static bool search(fitting *f, unsigned at, unsigned more) {
    for (size_t k = at ? f->from[at - 1] : f->c->symbols.n; k-- > 0;)
        if (try_symbol(f, k, at, more))
            return true;
    return false;
}

/* Notes that a symbol is to be taken for a size. */
static bool learn(jcv *c, size_t symbol, int64_t to) {
    jcv_symbol s = c->symbols.data[symbol];
    jcv_equal *e = known(c, which(s)); /* one that was not found again, or a new one */
    bool fresh = !e;
    e = e ? e : jn_arena_zalloc(&c->keep, sizeof *e);
    if (!e)
        jcv_refuse(c, "out of memory");
    if ((!s.history && !s.at) || ++e->times > TIMES)
        return false;
    e->which = which(s);
    e->constant = true;
    e->by = to;
    for (size_t i = 0; jcv_dim_varies(c, to) && i < c->symbols.n; i++) {
        jcv_symbol x = c->symbols.data[i];
        if (i == symbol || away(to, x.image) >= (e->constant ? NEAR : away(e->by, 0)))
            continue;
        e->constant = false;
        e->other = which(x);
        e->by = to - x.image;
    }
    if (fresh) {
        e->next = c->equals;
        c->equals = e;
    }
    return !(e->constant && jcv_dim_varies(c, to));
}

/* What a shape is that is asked for, and how many elements that are. */
static void add_shape(fitting *f, const jn_infer *failed) {
    janus_ints shape = ((const janus_reshape_attrs *)failed->attrs)->shape; /* both begin alike */
    int64_t all = 1;
    for (size_t i = 0; i < shape.n; i++) {
        all = shape.data[i] < 0 ? 0 : all < INT32_MAX ? all * shape.data[i] : all;
        if (shape.data[i] >= 0)
            add_size(f, shape.data[i]);
    }
    add_size(f, all);
    if (failed->in[0] && jn_type_static(failed->in[0]))
        add_size(f, jn_type_numel(failed->in[0]));
}

void jcv_make_fit(jcv *c, jn_infer *failed) {
    fitting f = {.c = c, .failed = failed};
    for (unsigned i = 0; i < failed->n_in; i++) {
        const jn_type *t = failed->in[i];
        for (int k = 0; t && t->kind == JANUS_KIND_TENSOR && k < t->rank; k++)
            add_size(&f, t->dims[k]);
        if (failed->cv[i] && jcv_dim_varies(c, *failed->cv[i]))
            add_size(&f, *failed->cv[i]);
    }
    if (failed->op == JN_OP(reshape) || failed->op == JN_OP(expand))
        add_shape(&f, failed);
    unsigned n = 0;
    bool found = false;
    for (int way = 0; !found && way < 4; way++) {
        f.least = way & 1 ? 0 : 2; /* ops would broadcast 1, too */
        f.arguments = way > 1;
        for (n = 0; !found && n < AT_ONCE; n++)
            found = search(&f, 0, n);
    }
    if (!found)
        return;
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = i + 1; k < n; k++) /* which is then assumed to be something itself */
            if (f.to[i] == c->symbols.data[f.from[k]].image)
                f.to[i] = f.to[k];
        if (!learn(c, f.from[i], f.to[i]))
            return;
    }
    snprintf(c->reason, sizeof c->reason, "sizes are assumed to be equal");
    jcv_throw_now(c, THROW_RESTART);
}
