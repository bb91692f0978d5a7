/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making and running recipes: see exec/eager/recipe.h.
 */
#include "config.h"

#include "exec/eager/recipe.h"
#include "exec/store/store.h"

#include <string.h>

#include "exec/eager/eager_call.h"

static bool small(const janus_tensor *t) {
    return t->rank <= JN_RECIPE_RANK && t->numel < JN_RECIPE_NUMEL;
}

static void set_form(jn_layout *l) {
    l->form = jn_layout_form(l->dtype, l->rank, l->dims, l->strides, l->numel);
}

static bool set_out(jn_recipe *r, unsigned i, const jn_type *t) {
    if (t->rank > JN_RECIPE_RANK)
        return false;
    int64_t n = 1;
    bool empty = false;
    r->out[i].dtype = t->dtype;
    r->out[i].rank = t->rank;
    r->out[i].contiguous = true;
    for (int d = t->rank - 1; d >= 0; d--) {
        r->out[i].dims[d] = t->dims[d];
        r->out[i].strides[d] = n;
        empty = empty || t->dims[d] == 0;
        if (t->dims[d] < 0 || __builtin_mul_overflow(n, t->dims[d] ? t->dims[d] : 1, &n))
            return false;
    }
    r->out[i].numel = empty ? 0 : n;
    set_form(&r->out[i]);
    return true;
}

static bool make_view(jn_recipe *r, const jn_call *k) {
    int64_t strides[JN_MAX_RANK], expected = 1;
    r->offset = 0;
    if (!k->impl->view(k->in, k->n_in, k->attrs, &k->out_types[0], strides, &r->offset))
        return false;
    for (int d = r->out[0].rank - 1; d >= 0; d--) {
        r->out[0].strides[d] = strides[d];
        if (r->out[0].dims[d] == 1)
            continue;
        r->out[0].contiguous = r->out[0].contiguous && strides[d] == expected;
        expected *= r->out[0].dims[d];
    }
    r->out[0].contiguous = r->out[0].contiguous || r->out[0].numel == 0;
    set_form(&r->out[0]);
    r->kernel = NULL;
    r->workspace = 0;
    return true;
}

static bool make_kernel(jn_recipe *r, const jn_call *k) {
    jn_view out[JN_RECIPE_OUT];
    for (unsigned i = 0; i < r->n_out; i++) {
        if (r->out[i].numel >= JN_RECIPE_NUMEL)
            return false;
        out[i] = (jn_view){NULL,           r->out[i].dims,  r->out[i].strides,
                           r->out[i].rank, r->out[i].dtype, true};
    }
    jn_sig sig = {k->op, k->in, out, r->n_in, r->n_out, k->attrs};
    r->kernel = k->impl->cpu ? k->impl->cpu(&sig) : NULL;
    r->workspace = r->kernel && k->impl->workspace ? k->impl->workspace(&sig) : 0;
    return r->kernel != NULL;
}

static bool make(jn_recipe *r, jn_call *k, const jn_eager_arg *in, bool any_size) {
    if (jn_call_infer(k, in, NULL) != JANUS_OK || k->device)
        return false;
    for (unsigned i = 0; i < r->n_out; i++)
        if (!set_out(r, i, &k->out_types[i]))
            return false;
    if ((k->op->flags & JN_OP_VIEW) && k->impl->view && in[0].kind == JANUS_KIND_TENSOR &&
        make_view(r, k))
        return true;
    for (unsigned i = 0; i < k->n_in; i++)
        if (in[i].kind == JANUS_KIND_TENSOR &&
            (!(small(in[i].t) || any_size) ||
             !(in[i].t->contiguous || (k->op->flags & JN_OP_STRIDED))))
            return false;
    return make_kernel(r, k);
}

bool jn_recipe_make(jn_recipe *r, const jn_op *op, const jn_eager_arg *in, unsigned n_in,
                    const void *attrs, unsigned n_out, bool any_size) {
    if (n_in > JN_RECIPE_IN || n_out > JN_RECIPE_OUT || n_out == 0 || op->role != JN_ROLE_COMPUTE ||
        !(op->flags & JN_OP_PURE))
        return false;
    for (unsigned i = 0; i < n_in; i++)
        if (in[i].kind == JN_EAGER_LIKE)
            return false;
    r->op = op;
    r->n_in = (uint16_t)n_in;
    r->n_out = (uint16_t)n_out;
    jn_call k;
    jn_call_room room;
    bool made =
        jn_call_init(&k, &room, op, n_in, attrs, n_out) == JANUS_OK && make(r, &k, in, any_size);
    jn_call_done(&k);
    return made;
}

janus_status jn_recipe_compute(const jn_recipe *r, const jn_view *in, const jn_view *out,
                               const void *attrs) {
    void *workspace = NULL;
    if (r->workspace && !(workspace = jn_pool_alloc(r->workspace)))
        return jn_error(JANUS_NO_MEMORY, "%s: no memory for %zu bytes of workspace", r->op->name,
                        r->workspace);
    uint32_t flags = 0;
    jn_kargs args = {.in = in,
                     .out = out,
                     .n_in = r->n_in,
                     .n_out = r->n_out,
                     .attrs = attrs,
                     .workspace = workspace,
                     .flags = &flags,
                     .par = jn_eager_par()};
    int64_t start = jn_prof_begin();
    r->kernel(&args);
    if (JN_UNLIKELY(start))
        jn_prof_eager(r->op, &args, start);
    if (workspace)
        jn_pool_free(workspace, r->workspace);
    return JN_LIKELY(!flags) ? JANUS_OK : jn_call_flag_error(r->op, flags);
}

janus_status jn_recipe_run(jn_thread *me, const jn_recipe *r, const jn_view *in, const void *attrs,
                           janus_tensor *first, janus_tensor **out) {
    me->ops.eager++;
    if (!r->kernel)
        return jn_tensor_alias(me, first, &r->out[0], r->offset, out);
    jn_view views[JN_RECIPE_OUT];
    unsigned made = 0;
    janus_status st;
    do { /* there is at least one */
        st = jn_tensor_of(me, &r->out[made], &out[made]);
        if (JN_UNLIKELY(st != JANUS_OK))
            break;
        st = jn_tensor_as_view(out[made], &views[made]);
    } while (++made < r->n_out);
    if (JN_LIKELY(st == JANUS_OK))
        st = jn_recipe_compute(r, in, views, attrs);
    if (JN_UNLIKELY(st != JANUS_OK))
        while (made > 0)
            janus_tensor_release(out[--made]);
    return st;
}

janus_status jn_recipe_run_into(jn_thread *me, const jn_recipe *r, const jn_view *in,
                                const void *attrs, janus_tensor *dst) {
    me->ops.eager++;
    jn_view view;
    JN_TRY(jn_tensor_as_view(dst, &view));
    return jn_recipe_compute(r, in, &view, attrs);
}
