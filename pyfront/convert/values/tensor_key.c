/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of tensors: numbers and bounds that the graph computes, masks, and numbers that are stored.
 */
#include "pyfront/convert/values/values.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/native.h"

/* A bound of a slice of a tensor; NULL: absent. */
static jcv_val *part_bound(jcv *c, jcv_av *a) {
    if (a->kind == AV_PY && a->py == Py_None)
        return NULL;
    jcv_val *v = jcv_number(c, a);
    if (!v || v->type->kind != JANUS_KIND_INT)
        jcv_refuse(c, "a slice with computed bounds");
    return v;
}

/* x[:, a:b], with bounds that the graph computes: not by the eager layer, which would cut them to
 * what the image has. */
jcv_av *jcv_tensor_part(jcv *c, jcv_av *o, int axis, jcv_av *const *bounds) {
    jcv_val *x = jcv_tensor_val(c, o->py);
    if (axis >= x->type->rank)
        jcv_refuse(c, "a slice with computed bounds");
    jcv_val *start = part_bound(c, bounds[0]), *stop = part_bound(c, bounds[1]);
    return jcv_view(c, o->py, jcv_part_of(c, x, axis, start, stop));
}

/* What is left of such a slice when the part between its bounds was taken: x[a:b:2] is x[a:b][::2].
 */
static jcv_av *every(jcv *c, const jcv_av *slice) {
    const jcv_av *step = slice->items[2];
    if (step->kind != AV_PY || (step->py != Py_None && !PyLong_CheckExact(step->py)))
        jcv_refuse(c, "a slice with computed steps");
    return jcv_take(c, PySlice_New(NULL, NULL, step->py));
}

static bool has_step(const jcv_av *slice) {
    return slice->items[2]->kind != AV_PY || slice->items[2]->py != Py_None;
}

bool jcv_is_computed(const jcv_av *a) { return a->kind == AV_ITER && a->text == jcv_bounds; }

bool jcv_is_number(const jcv_av *a) {
    return a->kind == AV_SCALAR && a->val->type->kind == JANUS_KIND_INT;
}

/* Whether a key has ints and bounds that only the graph knows, and nothing else but ints, slices,
 * None and ...: what is there is a view. */
bool jcv_is_computed_view(const jcv_av *key) {
    jcv_av *const *items = key->kind == AV_TUPLE ? key->items : (jcv_av *const *)&key;
    unsigned n = key->kind == AV_TUPLE ? key->n : 1, known = 0;
    for (unsigned i = 0; i < n; i++) {
        const jcv_av *a = items[i];
        bool plain = a->kind == AV_PY && (PyLong_CheckExact(a->py) || PySlice_Check(a->py) ||
                                          a->py == Py_None || a->py == Py_Ellipsis);
        known += plain;
        if (!plain && !jcv_is_computed(a) && !jcv_is_number(a))
            return false;
    }
    return known < n;
}

jcv_av *jcv_selected(jcv *c, jcv_av *o, int axis, jcv_val *i) {
    jcv_val *in[2] = {jcv_tensor_val(c, o->py), i};
    janus_select_attrs attrs = {sizeof attrs, axis};
    if (axis >= in[0]->type->rank)
        jcv_refuse(c, "an index of more dims than there are");
    return jcv_view(c, o->py, jcv_op(c, JN_OP(select), in, 2, &attrs));
}

/* How many dims an item of a key is about; -1: those that the others leave. */
static int dims_of_item(jcv *c, const jcv_av *a) {
    if (a->kind == AV_PY && a->py == Py_None)
        return 0;
    if (a->kind == AV_PY && a->py == Py_Ellipsis)
        return -1;
    if (a->kind == AV_PY && PyBool_Check(a->py))
        jcv_refuse(c, "a slice with computed bounds beside a truth");
    const jn_type *t = a->kind == AV_TENSOR ? jcv_tensor_val(c, a->py)->type : NULL;
    return t && (t->dtype == JANUS_BOOL || t->dtype == JANUS_U8) ? t->rank : 1;
}

/* x[i, a:b, j]: first the parts between bounds that the graph computes and the numbers that it
 * knows, each along its dim, then the rest of the key. */
jcv_av *jcv_computed_key(jcv *c, jcv_av *o, jcv_av *key) {
    if (jcv_is_computed(key))
        key = jcv_tuple(c, &key, 1);
    int rank = jcv_tensor_val(c, o->py)->type->rank, named = 0, axis = 0;
    bool others = false;
    for (unsigned k = 0; k < key->n; k++) {
        int n = dims_of_item(c, key->items[k]);
        named += n < 0 ? 0 : n;
    }
    jcv_av *rest = jcv_tuple(c, NULL, 0);
    rest->items = jcv_alloc(c, key->n * sizeof *rest->items);
    for (unsigned k = 0; k < key->n; k++) {
        jcv_av *item = key->items[k];
        int n = dims_of_item(c, item);
        if (jcv_is_number(item)) { /* that dim is gone */
            o = jcv_selected(c, o, axis, item->val);
            continue;
        }
        if (jcv_is_computed(item))
            o = jcv_tensor_part(c, o, axis, item->items);
        rest->items[rest->n++] = jcv_is_computed(item) ? every(c, item) : item;
        others = others || !jcv_is_computed(item) || has_step(item);
        axis += n < 0 ? rank - named : n;
    }
    return others ? jcv_native_getitem(c, o, rest) : o;
}

/* A mask: it has dims, and how many it chooses only the run knows. */
static bool is_mask(jcv *c, const jcv_av *a) {
    if (a->kind != AV_TENSOR)
        return false;
    const jn_type *t = jcv_tensor_val(c, a->py)->type;
    return t->rank > 0 && (t->dtype == JANUS_BOOL || t->dtype == JANUS_U8);
}

/* How many dims of a tensor an index is for. */
static int dims_of(jcv *c, const jcv_av *a) {
    if (is_mask(c, a))
        return jcv_tensor_val(c, a->py)->type->rank;
    if (a->kind == AV_TENSOR)
        return jcv_tensor_val(c, a->py)->type->dtype != JANUS_BOOL;
    return a->kind != AV_PY || !(a->py == Py_None || a->py == Py_Ellipsis || PyBool_Check(a->py));
}

/* A mask has the dims of what it is an index of, from `axis` on. */
static void check_mask(jcv *c, jcv_av *o, jcv_av *mask, int axis) {
    jcv_val *x = jcv_tensor_val(c, o->py), *m = jcv_tensor_val(c, mask->py);
    for (int k = 0; k < m->type->rank; k++) {
        bool there = axis >= 0 && axis + k < x->type->rank;
        int64_t size = there ? x->type->dims[axis + k] : -1;
        if (size == m->type->dims[k])
            continue;
        if (!there || !(jcv_dim_varies(c, size) || jcv_dim_varies(c, m->type->dims[k])))
            jcv_refuse(c, "a mask of another shape as an index"); /* it raises */
        jcv_must_be(c, jcv_size_of(c, m, k), jcv_size_of(c, x, axis + k));
    }
}

/* The key of a tensor with the places of what is true instead of each mask: one index a dim of it,
 * which is what the eager layer makes of them. */
jcv_av *jcv_with_places(jcv *c, jcv_av *o, jcv_av *key) {
    bool many = key->kind == AV_TUPLE;
    jcv_av *one[1] = {key}, **items = many ? key->items : one, **places;
    unsigned n = many ? key->n : 1, n_places, n_masks = 0;
    int axis = 0, all_dims = 0;
    for (unsigned i = 0; i < n; i++) {
        n_masks += is_mask(c, items[i]);
        all_dims += dims_of(c, items[i]);
    }
    if (!n_masks)
        return key;
    jcv_av *t = jcv_tuple(c, NULL, 0);
    t->items = jcv_alloc(c, (n + n_masks * JN_MAX_RANK) * sizeof *t->items);
    for (unsigned i = 0; i < n; axis += dims_of(c, items[i++])) {
        if (items[i]->kind == AV_PY && items[i]->py == Py_Ellipsis)
            axis += jcv_tensor_val(c, o->py)->type->rank - all_dims;
        if (!is_mask(c, items[i])) {
            t->items[t->n++] = items[i];
            continue;
        }
        check_mask(c, o, items[i], axis);
        PyObject *name = jcv_own(c, PyUnicode_InternFromString("as_tuple"));
        jcv_av *yes = jcv_py(c, Py_True, NULL);
        jcv_args as_tuple = {.kw = &yes, .names = &name, .n_kw = 1};
        jcv_av *find = jcv_getattr(c, items[i], jcv_own(c, PyUnicode_InternFromString("nonzero")));
        jcv_av *all = jcv_call(c, find, &as_tuple);
        if (!jcv_items(c, all, &places, &n_places))
            jcv_refuse(c, "a mask as an index");
        memcpy(t->items + t->n, places, n_places * sizeof *places);
        t->n += n_places;
    }
    return t;
}

/* A number that only the graph knows, as what it becomes in a tensor. */
jcv_av *jcv_stored_number(jcv *c, jcv_av *o, jcv_av *v) {
    janus_dtype d = (janus_dtype)jcv_tensor_val(c, o->py)->type->dtype;
    janus_kind kind = (janus_kind)v->val->type->kind;
    bool fits = jn_dtype_is_float(d)      ? true
                : kind == JANUS_KIND_INT  ? d == JANUS_I64
                : kind == JANUS_KIND_BOOL ? d == JANUS_BOOL || d == JANUS_I64
                                          : false;
    if (!fits)
        jcv_refuse(c, "a number of the graph is written to a tensor of this dtype");
    janus_scalar_tensor_attrs attrs = {sizeof attrs, d};
    return jcv_proxy(c, &jcv_op(c, JN_OP(scalar_tensor), &v->val, 1, &attrs)->out[0], false);
}
