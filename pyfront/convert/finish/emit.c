/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The staged graph becomes a module.
 *
 * Captures come first: a value used in a SubGraph that it does not belong to is a parameter of it,
 * and of every SubGraph on the way.  What comes from outside a recursion is a shared parameter (a
 * variable of a call that a function made inside of it sees is none, where it calls the other
 * again), and so is a tensor of main's that a loop of main only reads; what else a loop reads is
 * carried.  Then all SubGraphs are declared with their parameters, and bodies are built, the
 * innermost first.
 */
#include "pyfront/convert/finish/finish.h"

#include <string.h>

#include "graph/autodiff/autodiff.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/run/run.h"

static bool is_const_val(const jcv_val *v) { return v->node && v->node->kind == JCV_SCALAR_CONST; }

static int capture_index(const jcv_ctx *x, const jcv_val *v) {
    for (size_t i = 0; i < x->captures.n; i++)
        if (x->captures.data[i] == v)
            return (int)i;
    return -1;
}

/* 1: added, 0: nothing to do, -1: out of memory. */
static int capture(jcv_ctx *x, jcv_val *v) {
    if (!v || v->ctx == x || is_const_val(v) || capture_index(x, v) >= 0)
        return 0;
    return jn_vec_push(&x->captures, v) ? 1 : -1;
}

static bool shared(const jcv_ctx *x, const jcv_val *v) {
    if (v->ctx->fn != x->fn)
        return !jcv_of_its_recursion(x, v);
    return x->fn->kind == JCV_MAIN && x->in_loop && v->ctx->kind == JCV_MAIN &&
           v->type->kind == JANUS_KIND_TENSOR;
}

static void mark_used(jcv_ctx *x) {
    if (x->used)
        return;
    x->used = true;
    for (size_t i = 0; i < x->nodes.n; i++)
        for (int k = 0; k < 2; k++)
            if (x->nodes.data[i]->subs[k])
                mark_used(x->nodes.data[i]->subs[k]);
}

void jcv_find_used(jcv *c) {
    for (size_t i = 0; i < c->ctxs.n; i++)
        c->ctxs.data[i]->used = false;
    mark_used(c->main);
}

static int captures_of(jcv_ctx *x) {
    int any = 0;
    for (size_t i = 0; i < x->nodes.n; i++) {
        jcv_node *n = x->nodes.data[i];
        for (unsigned k = 0; k < n->n_in; k++) {
            int r = capture(x, n->in[k]);
            if (r < 0)
                return r;
            any |= r;
        }
        for (int s = 0; s < 2; s++) {
            jcv_ctx *y = n->subs[s], *other = n->subs[1 - s];
            for (size_t k = 0; y && k < y->captures.n; k++) {
                int r = capture(x, y->captures.data[k]);
                int q = other && other->kind != JCV_FUNC ? capture(other, y->captures.data[k]) : 0;
                if (r < 0 || q < 0)
                    return -1;
                any |= r | q;
            }
        }
    }
    for (size_t i = 0; i < x->results.n; i++) {
        int r = capture(x, x->results.data[i]);
        if (r < 0)
            return r;
        any |= r;
    }
    return any;
}

/* Shared parameters come last, in one order for all SubGraphs: those of one recursion must agree on
 * them, whatever each of them uses first.  `all` is that order. */
static bool order_captures(jcv_ctx *x, const jcv_ctx *all) {
    jcv_val **v = x->captures.data;
    size_t n = x->captures.n, at = 0;
    jcv_val **tmp = jn_alloc((n + 1) * sizeof *tmp);
    if (!tmp)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!shared(x, v[i]))
            tmp[at++] = v[i];
    for (size_t i = 0; i < all->captures.n; i++)
        if (shared(x, all->captures.data[i]) && capture_index(x, all->captures.data[i]) >= 0)
            tmp[at++] = all->captures.data[i];
    if (n)
        memcpy(v, tmp, n * sizeof *v);
    jn_free(tmp);
    return true;
}

static janus_status order_all(jcv *c) {
    jcv_ctx all = {0};
    janus_status st = JANUS_OK;
    for (size_t i = 0; i < c->ctxs.n && st == JANUS_OK; i++) {
        jcv_ctx *x = c->ctxs.data[i];
        for (size_t k = 0; x->used && k < x->captures.n && st == JANUS_OK; k++)
            if (capture(&all, x->captures.data[k]) < 0)
                st = JN_NO_MEMORY();
    }
    for (size_t i = 0; i < c->ctxs.n && st == JANUS_OK; i++)
        if (c->ctxs.data[i]->used && !order_captures(c->ctxs.data[i], &all))
            st = JN_NO_MEMORY();
    jn_vec_free(&all.captures);
    return st;
}

/* Both SubGraphs of a node take the same operands in the same order. */
static janus_status pair_captures(jcv_ctx *x) {
    for (size_t i = 0; i < x->nodes.n; i++) {
        jcv_ctx *a = x->nodes.data[i]->subs[0], *b = x->nodes.data[i]->subs[1];
        if (!a || !b)
            continue;
        b->captures.n = 0;
        for (size_t k = 0; k < a->captures.n; k++)
            if (!jn_vec_push(&b->captures, a->captures.data[k]))
                return JN_NO_MEMORY();
    }
    return JANUS_OK;
}

/* In the module, where dims that vary are not known. */
static const jn_type *type_in(janus_module *m, const jcv_val *v) {
    int64_t dims[JN_MAX_RANK];
    jn_type t = jcv_wide_type(jcv_current, v, dims);
    return jn_type_intern(m, &t);
}

static janus_status declare(janus_module *m, jcv_ctx *x) {
    const char *name;
    JN_TRY(jn_module_fresh_name(m, x->name, &name));
    JN_TRY(jn_subgraph_declare(m, name, &x->sub));
    x->sub->checkpoint = x->checkpoint;
    x->sub->together = x->together;
    for (size_t i = 0; i < x->params.n; i++) {
        const jn_type *t = type_in(m, x->params.data[i]);
        if (!t)
            return JN_NO_MEMORY();
        char text[32];
        snprintf(text, sizeof text, "p%zu", i);
        JN_TRY(jn_subgraph_add_param(x->sub, text, t, false, &x->params.data[i]->emitted));
    }
    for (size_t i = 0; i < x->captures.n; i++) {
        const jn_type *t = type_in(m, x->captures.data[i]);
        jn_value v;
        char text[32];
        snprintf(text, sizeof text, "c%zu", i);
        if (!t)
            return JN_NO_MEMORY();
        JN_TRY(jn_subgraph_add_param(x->sub, text, t, shared(x, x->captures.data[i]), &v));
        if (!jn_vec_push(&x->capture_values, v))
            return JN_NO_MEMORY();
    }
    JN_VEC(const jn_type *) types = {0};
    janus_status st = JANUS_OK;
    for (size_t i = 0; i < x->results.n && st == JANUS_OK; i++) {
        const jn_type *t = type_in(m, x->results.data[i]);
        if (!t || !jn_vec_push(&types, t))
            st = JN_NO_MEMORY();
    }
    for (size_t i = 0; x->loop_body && i < x->captures.n && st == JANUS_OK; i++)
        if (!shared(x, x->captures.data[i])) {
            const jn_type *t = type_in(m, x->captures.data[i]);
            if (!t || !jn_vec_push(&types, t))
                st = JN_NO_MEMORY();
        }
    if (st == JANUS_OK)
        st = jn_subgraph_set_result_types(x->sub, types.data, (unsigned)types.n);
    jn_vec_free(&types);
    return st;
}

static janus_status value_in(jcv_ctx *x, jcv_val *v, jn_value *out) {
    if (!v) {
        *out = JN_VALUE_NONE;
        return JANUS_OK;
    }
    if (v->ctx == x) {
        *out = v->emitted;
        return jn_value_is_none(*out) && !(v->node && v->node->op == JN_OP(none))
                   ? jn_error(JANUS_INTERNAL, "a value of @%s is used before it is made", x->name)
                   : JANUS_OK;
    }
    if (is_const_val(v)) {
        for (size_t i = 0; i < x->consts.n; i++)
            if (x->consts.data[i] == v->node) {
                *out = x->const_values.data[i];
                return JANUS_OK;
            }
        JN_TRY(jn_build_scalar(x->sub, v->node->scalar_kind, v->node->scalar, (jn_loc){0}, out));
        return jn_vec_push(&x->consts, v->node) && jn_vec_push(&x->const_values, *out)
                   ? JANUS_OK
                   : JN_NO_MEMORY();
    }
    int i = capture_index(x, v);
    if (i < 0)
        return jn_error(JANUS_INTERNAL, "a value is not captured by @%s", x->name);
    *out = x->capture_values.data[i];
    return JANUS_OK;
}

/* A leaf that no path of this run leads to gets no gradient, which is not a gradient of zeros. */
static janus_status assert_present(jcv_ctx *x, jn_value present, jn_loc loc) {
    janus_assert_attrs attrs = {sizeof attrs, JPY_ASSUMED_GRADIENT, "a parameter gets a gradient"};
    return jn_build(x->sub, JN_OP(assert), &present, 1, &attrs, NULL, loc, NULL, 0);
}

static janus_status build_full(jcv_ctx *x, const jn_type *t, double value, jn_loc loc,
                               jn_value *out) {
    janus_full_attrs attrs = {sizeof attrs, {t->dims, (size_t)t->rank}, t->dtype};
    jn_value v;
    JN_TRY(jn_build_scalar(x->sub, JANUS_KIND_FLOAT, (janus_scalar){.f = value}, loc, &v));
    return jn_build(x->sub, JN_OP(full), &v, 1, &attrs, NULL, loc, out, 1);
}

/* Whether there is a gradient: `present`, where that is for the run to say, else whether `*dx` is
 * one, which then becomes zeros. */
static janus_status build_presence(jcv_ctx *x, jcv_node *n, unsigned i, jn_value present,
                                   jn_value *dx) {
    bool any = !jn_value_is_none(*dx);
    if (!any)
        JN_TRY(build_full(x, n->out[i].type, 0.0, n->loc, dx));
    jn_value *out = &n->out[n->n_out / 2 + i].emitted;
    *out = present;
    return any && !jn_value_is_none(present)
               ? JANUS_OK
               : jn_build_scalar(x->sub, JANUS_KIND_BOOL, (janus_scalar){.i = any}, n->loc, out);
}

static janus_status build_backward(jcv_ctx *x, jcv_node *n) {
    unsigned k = n->optional ? n->n_out / 2 : n->n_out, n_y = (n->n_in - k) / 2;
    jn_value *v = jn_alloc((3 * k + 2 * n_y) * sizeof *v);
    if (!v)
        return JN_NO_MEMORY();
    jn_value *y = v + 3 * k, *dy = y + n_y;
    janus_status st = JANUS_OK;
    for (unsigned i = 0; i < n_y; i++) {
        JN_GO(value_in(x, n->in[i], &y[i]), end);
        JN_GO(n->in[n_y + i] ? value_in(x, n->in[n_y + i], &dy[i])
                             : build_full(x, n->in[i]->type, 1.0, n->loc, &dy[i]),
              end);
    }
    for (unsigned i = 0; i < k; i++)
        JN_GO(value_in(x, n->in[2 * n_y + i], &v[i]), end);
    JN_GO(jn_grad_emit(x->sub, y, dy, n_y, v, k, v + k, v + 2 * k), end);
    for (unsigned i = 0; i < k; i++) {
        if (n->optional)
            JN_GO(build_presence(x, n, i, v[2 * k + i], &v[k + i]), end);
        n->out[i].emitted = v[k + i];
        if (n->optional)
            continue;
        if (jn_value_is_none(v[k + i]))
            st = jn_error(JANUS_UNSUPPORTED, "a parameter gets no gradient");
        else if (!jn_value_is_none(v[2 * k + i]))
            JN_GO(assert_present(x, v[2 * k + i], n->loc), end);
    }
end:
    jn_free(v);
    return st;
}

/* Asserts what the converter took the size of a result to be, where the module does not know it;
 * of one that varies, that it is none of 0 and 1, where some op would do something else. */
static janus_status assert_size(jcv_ctx *x, jn_value v, int axis, int64_t size, jn_loc loc) {
    bool varies = jcv_dim_varies(jcv_current, size);
    janus_size_attrs at = {sizeof at, axis};
    janus_assert_attrs attrs = {sizeof attrs, -1, JPY_SIZE_WAS};
    jn_value in[2], holds;
    JN_TRY(jn_build(x->sub, JN_OP(size), &v, 1, &at, NULL, loc, &in[0], 1));
    JN_TRY(jn_build_scalar(x->sub, JANUS_KIND_INT, (janus_scalar){.i = varies ? 2 : size}, loc,
                           &in[1]));
    JN_TRY(jn_build(x->sub, varies ? JN_OP(s_ge) : JN_OP(s_eq), in, 2, NULL, NULL, loc, &holds, 1));
    return jn_build(x->sub, JN_OP(assert), &holds, 1, &attrs, NULL, loc, NULL, 0);
}

static bool has_dim(const jcv_node *n, int64_t size) {
    for (unsigned i = 0; i < n->n_in; i++)
        for (int k = 0;
             n->in[i] && n->in[i]->type->kind == JANUS_KIND_TENSOR && k < n->in[i]->type->rank; k++)
            if (n->in[i]->type->dims[k] == size)
                return true;
    return false;
}

/* The same value with a type that knows some dims, which were asserted; -1: as it is. */
static janus_status narrow(jcv_ctx *x, jn_value *v, const int64_t *dims, int rank, jn_loc loc) {
    janus_expand_attrs attrs = {sizeof attrs, {dims, (size_t)rank}};
    jn_value in = *v;
    return jn_build(x->sub, JN_OP(expand), &in, 1, &attrs, NULL, loc, v, 1);
}

/* Of sizes that come into being with a parameter of a function, or a result of a call or branch. */
static janus_status check_fresh(jcv_ctx *x, const jcv_val *v, jn_loc loc) {
    const jcv *c = jcv_current;
    for (int k = 0; v->type->kind == JANUS_KIND_TENSOR && k < v->type->rank; k++)
        if (jcv_of_run(c, v->type->dims[k]) && !jcv_may_be_small(c, v->type->dims[k]))
            JN_TRY(assert_size(x, v->emitted, k, v->type->dims[k], loc));
    return JANUS_OK;
}

static janus_status check_sizes(jcv_ctx *x, const jcv_node *n) {
    const jcv *c = jcv_current;
    for (unsigned i = 0; n->subs[0] && n->subs[0]->kind != JCV_LOOP && i < n->n_out; i++)
        JN_TRY(check_fresh(x, &n->out[i], n->loc));
    if (n->subs[0] || n->widens)
        return JANUS_OK;
    for (unsigned i = 0; i < n->n_out; i++) {
        const jn_type *image = n->out[i].type, *t = jn_value_type(x->sub, n->out[i].emitted);
        if (t->kind != JANUS_KIND_TENSOR || image->rank < 0)
            continue;
        if (t->rank != image->rank)
            return jn_error(JANUS_UNSUPPORTED, "%s: the rank depends on a size", n->op->name);
        int64_t kept[JN_MAX_RANK];
        bool narrower = false;
        for (int k = 0; k < t->rank; k++) {
            int64_t size = image->dims[k];
            bool varies = jcv_dim_varies(c, size);
            if (size < 0) { /* rows of a list */
                kept[k] = -1;
                continue;
            }
            if (t->dims[k] >= 0 && t->dims[k] != size)
                return jn_error(JANUS_INTERNAL, "%s: a size differs", n->op->name);
            if (t->dims[k] < 0 && !(varies && (has_dim(n, size) || jcv_may_be_small(c, size))))
                JN_TRY(assert_size(x, n->out[i].emitted, k, size, n->loc));
            kept[k] = t->dims[k] < 0 && !varies ? size : -1;
            narrower = narrower || kept[k] >= 0;
        }
        if (narrower)
            JN_TRY(narrow(x, &n->out[i].emitted, kept, t->rank, n->loc));
    }
    return JANUS_OK;
}

static janus_status build_node(jcv_ctx *x, jcv_node *n) {
    if (n->kind == JCV_SCALAR_CONST)
        return jn_build_scalar(x->sub, n->scalar_kind, n->scalar, n->loc, &n->out[0].emitted);
    if (n->kind == JCV_BACKWARD)
        return build_backward(x, n);
    jcv_ctx *callee = n->subs[0];
    bool loop = callee && callee->kind == JCV_LOOP;
    unsigned extra = callee ? (unsigned)callee->captures.n : 0, carried = 0;
    for (unsigned i = 0; loop && i < extra; i++)
        carried += !shared(callee, callee->captures.data[i]);
    unsigned n_in = n->n_in + extra, n_out = n->n_out + carried;
    jn_value *v = jn_alloc((n_in + n_out + 1) * sizeof *v);
    if (!v)
        return JN_NO_MEMORY();
    janus_status st = JANUS_OK;
    for (unsigned i = 0; i < n->n_in; i++)
        JN_GO(value_in(x, n->in[i], &v[i]), end);
    for (unsigned i = 0; i < extra; i++)
        JN_GO(value_in(x, callee->captures.data[i], &v[n->n_in + i]), end);
    unsigned used = n_in;
    while (!callee && used && jn_value_is_none(v[used - 1]))
        used--; /* absent optional operands at the end */
    jn_subgraph *subs[2] = {callee ? callee->sub : NULL, n->subs[1] ? n->subs[1]->sub : NULL};
    JN_GO(jn_build(x->sub, n->op, v, used, n->attrs, callee ? subs : NULL, n->loc, v + n_in, n_out),
          end);
    for (unsigned i = 0; i < n->n_out; i++)
        n->out[i].emitted = v[n_in + i];
    JN_GO(check_sizes(x, n), end);
end:
    jn_free(v);
    if (st != JANUS_OK)
        jn_error_context("in @%s, line %u", x->name, n->loc.line);
    return st;
}

static janus_status build(jcv_ctx *x) {
    if (x->emitted)
        return JANUS_OK;
    x->emitted = true;
    for (size_t i = 0; i < x->nodes.n; i++)
        for (int k = 0; k < 2; k++)
            if (x->nodes.data[i]->subs[k])
                JN_TRY(build(x->nodes.data[i]->subs[k]));
    for (size_t i = 0; x->kind == JCV_FUNC && i < x->params.n; i++)
        JN_TRY(check_fresh(x, x->params.data[i], (jn_loc){0}));
    for (size_t i = 0; i < x->nodes.n; i++)
        JN_TRY(build_node(x, x->nodes.data[i]));
    JN_VEC(jn_value) results = {0};
    janus_status st = JANUS_OK;
    for (size_t i = 0; i < x->results.n && st == JANUS_OK; i++) {
        jn_value v;
        st = value_in(x, x->results.data[i], &v);
        if (st == JANUS_OK && !jn_vec_push(&results, v))
            st = JN_NO_MEMORY();
    }
    for (size_t i = 0; x->loop_body && i < x->captures.n && st == JANUS_OK; i++)
        if (!shared(x, x->captures.data[i]) && !jn_vec_push(&results, x->capture_values.data[i]))
            st = JN_NO_MEMORY();
    if (st == JANUS_OK)
        st = jn_subgraph_define(x->sub, results.data, (unsigned)results.n);
    jn_vec_free(&results);
    return st;
}

/* Frames of what a checkpoint calls keep no activations either. */
static void spread_checkpoint(jcv_ctx *x) {
    for (size_t i = 0; i < x->nodes.n; i++)
        for (int k = 0; k < 2; k++) {
            jcv_ctx *sub = x->nodes.data[i]->subs[k];
            if (sub && !sub->checkpoint) {
                sub->checkpoint = true;
                spread_checkpoint(sub);
            }
        }
}

janus_status jcv_emit(jcv *c, janus_module *m, jn_subgraph **out_main) {
    jcv_find_used(c);
    jcv_share_invariants(c);
    c->main->checkpoint = c->f->checkpoint;
    for (size_t i = 0; i < c->ctxs.n; i++)
        if (c->ctxs.data[i]->used && c->ctxs.data[i]->checkpoint)
            spread_checkpoint(c->ctxs.data[i]);
    int again = 1;
    while (again) {
        again = 0;
        for (size_t i = 0; i < c->ctxs.n; i++) {
            if (!c->ctxs.data[i]->used)
                continue;
            int r = captures_of(c->ctxs.data[i]);
            if (r < 0)
                return JN_NO_MEMORY();
            again |= r;
        }
    }
    for (size_t i = 0; i < c->ctxs.n; i++) {
        jcv_ctx *x = c->ctxs.data[i];
        for (size_t k = 0; x->used && k < x->nodes.n; k++) {
            jcv_node *n = x->nodes.data[k];
            if (jcv_role(n) == JN_ROLE_FOREACH)
                n->subs[0]->loop_body = true;
            if (jcv_role(n) == JN_ROLE_WHILE)
                n->subs[1]->loop_body = true;
        }
    }
    JN_TRY(order_all(c));
    for (size_t i = 0; i < c->ctxs.n; i++)
        if (c->ctxs.data[i]->used)
            JN_TRY(pair_captures(c->ctxs.data[i]));
    if (c->main->captures.n)
        return jn_error(JANUS_INTERNAL, "a value that belongs to no SubGraph in use");
    JN_TRY(declare(m, c->main));
    for (size_t i = 0; i < c->ctxs.n; i++)
        if (c->ctxs.data[i]->used && c->ctxs.data[i] != c->main)
            JN_TRY(declare(m, c->ctxs.data[i]));
    JN_TRY(build(c->main));
    *out_main = c->main->sub;
    return JANUS_OK;
}
