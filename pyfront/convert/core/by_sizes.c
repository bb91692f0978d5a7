/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that have a size in an attribute which cannot stand for an operand.
 *
 * Where it is a size that varies (dims.c), the same is made of ops that have sizes as operands:
 * `x.clamp(max=n)` is the smaller of x and n, `F.pad(x, (0, n))` is x and n zeros joined.
 */
#include "pyfront/convert/core/core.h"

#include <math.h>
#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"

/* A size in an attribute as a number of the graph; NULL: it varies, and is none that is known. */
static jcv_val *size_number(jcv *c, jcv_val *x, int64_t size) {
    if (!jcv_dim_varies(c, size))
        return jcv_int(c, size);
    jcv_val *v = jcv_explained(c, &x, 1, size);
    if (v)
        jcv_at_least(c, v, jcv_int(c, 0));
    return v;
}

static jcv_val *result(jcv *c, const jn_op *op, jcv_val *const *in, unsigned n, const void *attrs) {
    return &jcv_op(c, op, in, n, attrs)->out[0];
}

/* Tensor of such dims; NULL: one of them is not known.  `beside`: an operand of the op. */
static jcv_val *filled(jcv *c, jcv_val *beside, const int64_t *dims, unsigned rank,
                       janus_scalar value, janus_dtype dtype) {
    bool real = jn_dtype_is_float(dtype);
    jcv_val **in = jcv_alloc(c, (rank + 1) * sizeof *in);
    int64_t *shape = jcv_alloc(c, (rank + 1) * sizeof *shape);
    unsigned n = 1;
    in[0] = jcv_scalar_const(c, real ? JANUS_KIND_FLOAT : JANUS_KIND_INT, value);
    for (unsigned i = 0; i < rank; i++) {
        bool varies = jcv_dim_varies(c, dims[i]);
        shape[i] = varies ? -2 : dims[i];
        if (varies && !(in[n++] = size_number(c, beside, dims[i])))
            return NULL;
    }
    janus_full_attrs attrs = {sizeof attrs, {shape, rank}, dtype};
    return result(c, JN_OP(full), in, n, &attrs);
}

static bool is_size(jcv *c, double bound) {
    return fabs(bound) < 0x1p53 && bound == trunc(bound) && jcv_dim_varies(c, (int64_t)fabs(bound));
}

/* The smaller or greater one of x and each bound.  Of floats that are not between them this is no
 * function of x, whose gradient is 0 there. */
static jcv_val *clamp(jcv *c, jcv_val *x, const janus_clamp_attrs *a) {
    double bounds[2] = {a->lo, a->hi};
    int dtype = x->type->dtype;
    bool real = dtype == JANUS_F32 || dtype == JANUS_F64;
    if (!(is_size(c, a->lo) || is_size(c, a->hi)) ||
        !(real || dtype == JANUS_I64 || dtype == JANUS_I32))
        return NULL;
    jcv_val *y = x, *inside = NULL;
    for (int i = 0; i < 2; i++) {
        if (isinf(bounds[i]))
            continue;
        jcv_val *bound = is_size(c, bounds[i]) ? jcv_explained(c, &x, 1, (int64_t)bounds[i])
                         : real
                             ? jcv_scalar_const(c, JANUS_KIND_FLOAT, (janus_scalar){.f = bounds[i]})
                             : jcv_int(c, (int64_t)bounds[i]);
        if (!bound)
            return NULL;
        janus_scalar_tensor_attrs as = {sizeof as, dtype};
        jcv_val *in[2] = {y, result(c, JN_OP(scalar_tensor), &bound, 1, &as)};
        y = result(c, i ? JN_OP(minimum) : JN_OP(maximum), in, 2, NULL);
        in[0] = x;
        jcv_val *both[2] = {inside, result(c, i ? JN_OP(lt) : JN_OP(gt), in, 2, NULL)};
        inside = inside ? result(c, JN_OP(logical_and), both, 2, NULL) : both[1];
    }
    if (!real)
        return y;
    jcv_val *in[3] = {inside, x, jcv_unrecorded(c, y)};
    return in[2] ? result(c, JN_OP(where), in, 3, NULL) : NULL;
}

/* Of what is not counted the class is one that never is. */
static jcv_val *loss(jcv *c, const jn_op *op, jcv_val *const *in, const void *attrs,
                     int64_t ignored) {
    enum { NONE = -100, OTHER = -101 };
    if (!jcv_dim_varies(c, ignored) || !jn_dtype_is_int(in[1]->type->dtype))
        return NULL;
    jcv_val *v = jcv_explained(c, in, 2, ignored);
    if (!v)
        return NULL;
    jcv_val *classes = in[1], *from[2] = {jcv_int(c, NONE), v}, *to[2] = {jcv_int(c, OTHER)};
    to[1] = from[0];
    for (int i = 0; i < 2; i++) { /* that class is wrong where it was given, and stays so */
        janus_scalar_tensor_attrs as = {sizeof as, classes->type->dtype};
        jcv_val *is[2] = {classes, result(c, JN_OP(scalar_tensor), &from[i], 1, &as)};
        jcv_val *either[3] = {result(c, JN_OP(eq), is, 2, NULL),
                              result(c, JN_OP(scalar_tensor), &to[i], 1, &as), classes};
        classes = result(c, JN_OP(where), either, 3, NULL);
    }
    void *own = jcv_alloc(c, op->attr_size);
    memcpy(own, attrs, op->attr_size);
    if (op == JN_OP(nll_loss))
        ((janus_nll_loss_attrs *)own)->ignore_index = NONE;
    else
        ((janus_cross_entropy_attrs *)own)->ignore_index = NONE;
    jcv_val *both[2] = {in[0], classes};
    return result(c, op, both, 2, own);
}

/* Zeros joined to x in front and behind, dim by dim. */
static jcv_val *pad(jcv *c, jcv_val *x, const janus_pad_attrs *a) {
    bool any = false, real = jn_dtype_is_float(x->type->dtype);
    unsigned rank = (unsigned)x->type->rank;
    for (unsigned i = 0; i < rank; i++) {
        any = any || jcv_dim_varies(c, a->before.data[i]) || jcv_dim_varies(c, a->after.data[i]);
        if (a->before.data[i] < 0 || a->after.data[i] < 0)
            return NULL;
    }
    if (!any || !(real || x->type->dtype == JANUS_I64 || x->type->dtype == JANUS_I32))
        return NULL;
    janus_scalar value = {.f = a->value};
    if (!real)
        value.i = (int64_t)a->value;
    int64_t *dims = jcv_alloc(c, (rank + 1) * sizeof *dims);
    for (unsigned i = 0; i < rank; i++) {
        jcv_val *parts[3];
        unsigned n = 0;
        for (int behind = 0; behind < 2; behind++) {
            int64_t by = behind ? a->after.data[i] : a->before.data[i];
            if (behind)
                parts[n++] = x;
            if (!by)
                continue;
            memcpy(dims, x->type->dims, rank * sizeof *dims);
            dims[i] = by;
            if (!(parts[n++] = filled(c, x, dims, rank, value, (janus_dtype)x->type->dtype)))
                return NULL;
        }
        janus_concat_attrs attrs = {sizeof attrs, i};
        x = n > 1 ? result(c, JN_OP(concat), parts, n, &attrs) : x;
    }
    return x;
}

/* Zeros, and a one where the index says, which is checked as one_hot does. */
static jcv_val *one_hot(jcv *c, jcv_val *index, const janus_one_hot_attrs *a) {
    unsigned rank = (unsigned)index->type->rank;
    if (!jcv_dim_varies(c, a->num_classes) || rank + 1 > JN_MAX_RANK)
        return NULL;
    int64_t *dims = jcv_alloc(c, (rank + 2) * sizeof *dims), axis = rank;
    if (rank)
        memcpy(dims, index->type->dims, rank * sizeof *dims);
    dims[rank] = a->num_classes;
    janus_unsqueeze_attrs last = {sizeof last, axis};
    janus_scatter_attrs along = {sizeof along, axis};
    jcv_val *in[3] = {filled(c, index, dims, rank + 1, (janus_scalar){.i = 0}, JANUS_I64)};
    in[1] = result(c, JN_OP(unsqueeze), &index, 1, &last);
    dims[rank] = 1;
    in[2] = in[0] ? filled(c, index, dims, rank + 1, (janus_scalar){.i = 1}, JANUS_I64) : NULL;
    return in[2] ? result(c, JN_OP(scatter), in, 3, &along) : NULL;
}

/* Where the places along two dims are equal. */
static jcv_val *eye(jcv *c, const janus_eye_attrs *a) {
    if (!jcv_dim_varies(c, a->n) && !jcv_dim_varies(c, a->m))
        return NULL;
    jcv_val *in[2];
    for (int i = 0; i < 2; i++) {
        janus_arange_attrs whole = {sizeof whole, JANUS_I64};
        jcv_val *of[3] = {jcv_int(c, 0), jcv_int(c, 1), size_number(c, NULL, i ? a->m : a->n)};
        if (!of[2])
            return NULL;
        in[i] = result(c, JN_OP(arange), of, 3, &whole);
    }
    janus_unsqueeze_attrs last = {sizeof last, 1};
    in[0] = result(c, JN_OP(unsqueeze), in, 1, &last);
    jcv_val *same = result(c, JN_OP(eq), in, 2, NULL);
    janus_cast_attrs as = {sizeof as, a->dtype};
    return a->dtype == JANUS_BOOL ? same : result(c, JN_OP(cast), &same, 1, &as);
}

/* x as one row of [1, d0, 1, d1, ...], seen as often as it is wanted.  The sum of its gradient may
 * be made in another order. */
static jcv_val *repeat(jcv *c, jcv_val *x, const janus_repeat_attrs *a) {
    unsigned rank = (unsigned)a->repeats.n, before = rank - (unsigned)x->type->rank;
    bool any = false;
    for (unsigned i = 0; i < rank; i++)
        any = any || jcv_dim_varies(c, a->repeats.data[i]);
    if (!any || c->f->exact || 2 * rank > JN_MAX_RANK)
        return NULL;
    jcv_val **ones = jcv_alloc(c, (rank + 1) * sizeof *ones);
    jcv_val **wide = jcv_alloc(c, (2 * rank + 1) * sizeof *wide);
    jcv_val **all = jcv_alloc(c, (rank + 1) * sizeof *all);
    int64_t *shape = jcv_alloc(c, 6 * (rank + 1) * sizeof *shape);
    int64_t *wider = shape + 2 * rank, *whole = wider + 2 * rank;
    unsigned n_ones = 1, n_wide = 1, n_all = 1;
    for (unsigned i = 0; i < rank; i++) {
        int64_t dim = i < before ? 1 : x->type->dims[i - before], times = a->repeats.data[i];
        bool of_dim = jcv_dim_varies(c, dim), of_times = jcv_dim_varies(c, times);
        jcv_val *v[2] = {size_number(c, x, dim), size_number(c, x, times)};
        if (!v[0] || !v[1])
            return NULL;
        shape[2 * i] = 1;
        shape[2 * i + 1] = of_dim ? -2 : dim;
        wider[2 * i] = of_times ? -2 : times;
        wider[2 * i + 1] = of_dim ? -2 : dim;
        whole[i] = of_dim || of_times ? -2 : dim * times;
        if (of_dim)
            ones[n_ones++] = v[0];
        if (of_times)
            wide[n_wide++] = v[1];
        if (of_dim)
            wide[n_wide++] = v[0];
        if (of_dim || of_times) {
            bool once = dim == 1 || times == 1;
            all[n_all++] = once ? v[of_times] : result(c, JN_OP(s_mul), v, 2, NULL);
        }
    }
    janus_reshape_attrs apart = {sizeof apart, {shape, 2 * rank}};
    janus_expand_attrs more = {sizeof more, {wider, 2 * rank}};
    janus_reshape_attrs joined = {sizeof joined, {whole, rank}};
    ones[0] = x;
    wide[0] = result(c, JN_OP(reshape), ones, n_ones, &apart);
    all[0] = result(c, JN_OP(expand), wide, n_wide, &more);
    return result(c, JN_OP(reshape), all, n_all, &joined);
}

jcv_val *jcv_by_sizes(jcv *c, const jn_op *op, jcv_val *const *in, const void *attrs) {
    if (!c->image)
        return NULL;
    if (op == JN_OP(cross_entropy))
        return loss(c, op, in, attrs, ((const janus_cross_entropy_attrs *)attrs)->ignore_index);
    if (op == JN_OP(nll_loss))
        return loss(c, op, in, attrs, ((const janus_nll_loss_attrs *)attrs)->ignore_index);
    return op == JN_OP(clamp)     ? clamp(c, in[0], attrs)
           : op == JN_OP(pad)     ? pad(c, in[0], attrs)
           : op == JN_OP(one_hot) ? one_hot(c, in[0], attrs)
           : op == JN_OP(eye)     ? eye(c, attrs)
           : op == JN_OP(repeat)  ? repeat(c, in[0], attrs)
                                  : NULL;
}

const void *jcv_draws_like(jcv *c, const jn_op *op, jcv_val ***in, unsigned n_in,
                           const void *attrs) {
    unsigned like = op == JN_OP(randint) ? 2 : 0;
    if (!c->image || !(op == JN_OP(uniform) || op == JN_OP(normal) || op == JN_OP(randint)) ||
        (*in)[like])
        return attrs;
    const janus_uniform_attrs *a = attrs; /* all begin alike */
    bool any = false;
    for (size_t i = 0; i < a->shape.n; i++)
        any = any || jcv_dim_varies(c, a->shape.data[i]);
    jcv_val *of = any ? filled(c, NULL, a->shape.data, (unsigned)a->shape.n, (janus_scalar){0},
                               (janus_dtype)a->dtype)
                      : NULL;
    if (!of)
        return attrs;
    jcv_val **own = jcv_alloc(c, n_in * sizeof *own);
    memcpy(own, *in, n_in * sizeof *own);
    own[like] = of;
    *in = own;
    janus_uniform_attrs *out = jcv_alloc(c, sizeof *out + op->attr_size);
    memcpy(out, attrs, op->attr_size);
    out->shape = (janus_ints){0};
    return out;
}
