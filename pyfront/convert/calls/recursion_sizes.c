/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recursion on sizes of tensors: fold(x[:n // 2]).
 *
 * A dim of a parameter that is another one in another call is a size that only the run knows, as
 * is one of a result: in an image it has a size of its own (core/equal.c), whose number is the size
 * of the tensor that arrives.  Parts with gaps between their rows may come where whole tensors do:
 * then nothing may look at how the parameter lies in memory.
 */
#include "pyfront/convert/calls/calls.h"

#include <string.h>

#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/tensors/tensors.h"

static bool both_tensors(const jcv_av *a, const jcv_av *b) {
    return a && b && a->kind == AV_TENSOR && b->kind == AV_TENSOR;
}

/* Axes whose dims differ; false: not alone these. */
static bool other_sizes(const jn_type *a, const jn_type *b, uint32_t *out) {
    *out = 0;
    if (a->kind != JANUS_KIND_TENSOR || b->kind != JANUS_KIND_TENSOR || a->dtype != b->dtype ||
        a->rank != b->rank)
        return a->kind == b->kind && a->kind != JANUS_KIND_TENSOR;
    for (int i = 0; i < a->rank; i++)
        *out |= (uint32_t)(a->dims[i] != b->dims[i]) << i;
    return true;
}

/* Axes along which there are gaps; false: it lies in another order. */
static bool gaps_of(const jcv_av *a, uint32_t *out) {
    const janus_tensor *t = ((jpy_tensor *)a->py)->t;
    int64_t least = 1;
    *out = 0;
    for (int i = t->rank; i-- > 0;) {
        if (t->dims[i] == 1)
            continue;
        if (t->strides[i] < least)
            return false;
        *out |= (uint32_t)(t->strides[i] > least) << i;
        least = t->strides[i] * t->dims[i];
    }
    return true;
}

bool jcv_learn_sizes(jcv *c, jcv_rec_fn *f, unsigned i, jcv_av *param, jcv_av *arg) {
    uint32_t sizes, gaps;
    if (!both_tensors(param, arg) ||
        !other_sizes(jcv_tensor_val(c, param->py)->type, jcv_tensor_val(c, arg->py)->type, &sizes))
        return false;
    bool layout = sizes | f->sizes[i] ? !jcv_plain_layout(arg) : !jcv_same_layout(param, arg);
    sizes &= ~f->sizes[i];
    if (!c->image) {
        c->asks_images = c->asks_images || sizes;
        return false;
    }
    if (!sizes && !layout)
        return false;
    if (!gaps_of(arg, &gaps))
        jcv_refuse(c, "an argument of a recursion lies in memory in another order");
    gaps &= ~f->gaps[i];
    f->sizes[i] |= sizes;
    f->gaps[i] |= gaps;
    return sizes || gaps;
}

bool jcv_fits_param(jcv *c, const jcv_rec_fn *f, unsigned i, jcv_av *param, jcv_av *arg) {
    uint32_t sizes, gaps;
    if (!other_sizes(jcv_leaf_val(c, param)->type, jcv_leaf_val(c, arg)->type, &sizes) ||
        sizes & ~f->sizes[i])
        return false;
    if (!f->sizes[i] && !f->gaps[i])
        return jcv_same_layout(arg, param);
    return gaps_of(arg, &gaps) && !(gaps & ~f->gaps[i]);
}

/* ---- types --------------------------------------------------------------------------------------
 */

const jn_type *jcv_param_type(jcv *c, const jcv_rec_fn *f, unsigned i, const jn_type *t,
                              jcv_new_sizes *out) {
    int64_t dims[JN_MAX_RANK];
    jn_type any = *t;
    for (int k = 0; t->kind == JANUS_KIND_TENSOR && k < t->rank; k++)
        dims[k] = f->sizes[i] >> k & 1 ? JN_DIM_UNKNOWN : t->dims[k];
    any.dims = dims;
    return jcv_sized_type(c, t->kind == JANUS_KIND_TENSOR ? jcv_type(c, any) : t, out);
}

jcv_av *jcv_sized_leaf(jcv *c, const jcv_rec_fn *f, unsigned i, jcv_val *v, jcv_av *arg,
                       bool tracked) {
    if (arg->kind != AV_TENSOR || (!f->sizes[i] && !f->gaps[i]))
        return jcv_leaf(c, v, arg, tracked);
    if (!f->gaps[i])
        return jcv_leaf(c, v, NULL, tracked);
    jcv_av *a = jcv_proxy_with_gaps(c, v, tracked, f->gaps[i]);
    jcv_rec_of(c, ((jpy_tensor *)a->py)->t)->shared = true;
    return a;
}

int64_t jcv_size_of_call(const jcv *c, int64_t size) {
    return jcv_dim_varies(c, size) && !jcv_of_argument(c, size) ? JN_DIM_UNKNOWN : size;
}

int jcv_fit_sizes(jcv *c, jn_type *known, const jn_type *t) {
    uint32_t sizes;
    if (!other_sizes(known, t, &sizes))
        return -1;
    bool wider = false;
    for (int i = 0; sizes && i < t->rank; i++) {
        if (!(sizes >> i & 1) || known->dims[i] < 0)
            continue;
        c->asks_images = true;
        if (!c->image)
            return -1;
        ((int64_t *)known->dims)[i] = JN_DIM_UNKNOWN; /* a template's own */
        wider = true;
    }
    return !wider;
}
