/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods of lists, tuples, dicts and strings of which only the graph knows what is in them, and
 * searches of what only the graph can find.
 *
 * What the run can do to a list is to read, set, insert and delete an item.  All other methods
 * are Python of the same meaning (janus/_models/lists.py) that does that.
 */
#include "pyfront/convert/objects/objects.h"

#include <string.h>

#include "ops/op_ids.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/values/values.h"

/* ---- searches -----------------------------------------------------------------------------------
 */

/* What is known of a comparison with an item: 1, 0, or -1 and *of the bool.  Constants only: others
 * may be what is looked for and not equal it. */
static int is_item(jcv *c, jcv_av *item, jcv_av *x, const char *name, jcv_val **of) {
    bool known = jcv_is_const(item) || x == item;
    int eq = known && x->kind != AV_TENSOR ? jcv_same_or_equal(c, item, x, of) : -1;
    bool plain = eq >= 0 || (*of && jcv_is_plain(item));
    if (!plain)
        jcv_refuse(c, "%s() in a list of %s", name, jcv_describe(item));
    return eq;
}

static jcv_val *chosen(jcv *c, jcv_val *is, int64_t a, jcv_val *b) {
    jcv_val *in[3] = {is, jcv_int_const(c, a), b};
    return &jcv_op(c, JN_OP(s_select), in, 3, NULL)->out[0];
}

/* The first item equal to x, or how many there are. */
jcv_av *jcv_search(jcv *c, jcv_av *t, const char *name, const jcv_args *a) {
    if (a->n_pos != 1)
        jcv_refuse(c, "%s with %u arguments", name, a->n_pos);
    bool counts = *name == 'c';
    jcv_val **of = jcv_alloc(c, (t->n + 1) * sizeof *of), *any = NULL;
    int *eq = jcv_alloc(c, (t->n + 1) * sizeof *eq);
    unsigned n = 0;
    long found = 0;
    jcv_done before = jcv_done_now(c);
    for (; n < t->n && (counts || !found); n++) {
        eq[n] = is_item(c, t->items[n], a->pos[0], name, &of[n]);
        found += eq[n] > 0;
        jcv_val *both[2] = {any, of[n]};
        if (eq[n] < 0)
            any = any ? &jcv_op(c, JN_OP(s_or), both, 2, NULL)->out[0] : of[n];
        if (jcv_done_changes(c, &before))
            jcv_refuse(c, "%s() by a comparison with effects", name);
    }
    if (!any && !counts && !found)
        jcv_refuse(c, "%s() of what is not there", name);
    if (!any)
        return jcv_take(c, PyLong_FromLong(counts ? found : (long)n - 1));
    jcv_val *r = jcv_int_const(c, counts ? found : (long)n - 1);
    if (!counts && !found)
        jcv_assert(c, any, "what is looked for is there");
    for (unsigned i = n; i-- > 0;) {
        jcv_val *sum[2] = {r, NULL};
        if (eq[i] >= 0)
            continue;
        if (counts)
            sum[1] = chosen(c, of[i], 1, jcv_int_const(c, 0));
        r = counts ? &jcv_op(c, JN_OP(s_add), sum, 2, NULL)->out[0] : chosen(c, of[i], i, r);
    }
    return jcv_scalar(c, r);
}

/* ---- methods ------------------------------------------------------------------------------------
 */

/* Of a string that only the graph knows. */
static jcv_av *text_method(jcv *c, jcv_av *self, const char *name, const jcv_args *a) {
    PyObject *f = jcv_own(c, PyObject_GetAttrString((PyObject *)&PyUnicode_Type, name));
    jcv_args all = {jcv_alloc(c, (a->n_pos + 1) * sizeof *all.pos), a->n_pos + 1, a->names, a->kw,
                    a->n_kw};
    all.pos[0] = self;
    memcpy(all.pos + 1, a->pos, a->n_pos * sizeof *all.pos);
    return jcv_by_table(c, f, &all);
}

/* Bounds and step of x[a:b:c]; 0: it is no slice. */
static unsigned slice_parts(jcv *c, jcv_av *at, jcv_av **out) {
    static const char *const names[] = {"start", "stop", "step"};
    if (at->kind == AV_ITER && at->text == jcv_bounds)
        memcpy(out, at->items, 3 * sizeof *out);
    else if (at->kind == AV_PY && PySlice_Check(at->py))
        for (int i = 0; i < 3; i++)
            out[i] = jcv_take(c, PyObject_GetAttrString(at->py, names[i]));
    else
        return 0;
    return 3;
}

/* Whether what equals it is what a list finds: of others it may be the object, which equals
 * nothing.
 */
static bool is_found_by_equality(jcv *c, jcv_av *x) {
    if (x->kind == AV_SCALAR)
        return x->val->type->kind != JANUS_KIND_FLOAT;
    if (x->kind != AV_HOST)
        return jcv_is_plain(x);
    PyObject *s = jcv_samples(c, x);
    bool all = PyList_GET_SIZE(s) > 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(s) && all; i++) {
        PyTypeObject *t = Py_TYPE(PyList_GET_ITEM(s, i));
        all = t == &PyUnicode_Type || t == &PyLong_Type || t == &PyBool_Type ||
              t == Py_TYPE(Py_None) || t->tp_richcompare == PyBaseObject_Type.tp_richcompare;
    }
    if (all)
        jcv_host_one_of_seen(c, x);
    return all;
}

/* Of a list or tuple, by the model of that name; NULL: there is none. */
static jcv_av *sequence_method(jcv *c, jcv_av *self, const char *name, const jcv_args *a) {
    jcv_av **v = jcv_alloc(c, (a->n_pos + 4) * sizeof *v);
    unsigned n = 0, slice = 0;
    v[n++] = self;
    bool item = a->n_pos && (!strcmp(name, "__setitem__") || !strcmp(name, "__delitem__"));
    if (item)
        n += slice = slice_parts(c, a->pos[0], v + n);
    if (item && !slice && *(name + 2) == 's')
        return NULL; /* known without */
    for (unsigned i = slice != 0; i < a->n_pos; i++)
        v[n++] = a->pos[i];
    PyObject *model = jcv_list_model(c, name, slice || n == 4);
    bool reads = !strcmp(name, "index") || !strcmp(name, "count") || !strcmp(name, "__contains__");
    if (!model || (a->n_kw && strcmp(name, "sort") != 0) ||
        (jcv_type_of(c, self) != &PyList_Type && !reads))
        return NULL;
    if ((reads || !strcmp(name, "remove")) && !(n == 2 && is_found_by_equality(c, v[1])))
        jcv_refuse(c, "%s() of %s in a list of the graph", name, jcv_describe(v[n - 1]));
    return jcv_call(c, jcv_constant(c, model), &(jcv_args){v, n, a->names, a->kw, a->n_kw});
}

jcv_av *jcv_open_method(jcv *c, jcv_av *self, const char *name, const jcv_args *a) {
    bool reads = !strcmp(name, "index") || !strcmp(name, "count") || !strcmp(name, "copy");
    jcv_av *r = reads ? sequence_method(c, self, name, a) : NULL;
    if (!r)
        jcv_leave_to_graph(c, self);
    return r;
}

/* What the run can do to a list in one step, or for each of several items; NULL: it is another. */
static jcv_av *list_method(jcv *c, jcv_av *self, const char *name, const jcv_args *a) {
    jcv_av *parts[3];
    if (a->n_kw || jcv_host_type(c, self) != &PyList_Type)
        return NULL;
    if (!strcmp(name, "append") && a->n_pos == 1)
        jcv_live_append(c, self, a->pos[0]);
    else if (!strcmp(name, "extend") && a->n_pos == 1)
        jcv_live_extend(c, self, a->pos[0]);
    else if (!strcmp(name, "insert") && a->n_pos == 2)
        jcv_live_insert(c, self, a->pos[0], a->pos[1]);
    else if (!strcmp(name, "__delitem__") && a->n_pos == 1 && !slice_parts(c, a->pos[0], parts))
        jcv_live_delitem(c, self, a->pos[0]);
    else if (!strcmp(name, "pop") && a->n_pos < 2)
        return a->n_pos ? jcv_live_delitem(c, self, a->pos[0]) : jcv_live_pop(c, self);
    else
        return NULL;
    return jcv_none(c);
}

jcv_av *jcv_live_method(jcv *c, jcv_av *self, const char *name, const jcv_args *a) {
    bool dict = jcv_host_has_pairs(c, self);
    if (!dict && jcv_host_type(c, self) == &PyUnicode_Type)
        return text_method(c, self, name, a);
    if (!dict) {
        jcv_av *done = list_method(c, self, name, a);
        return done ? done : sequence_method(c, self, name, a);
    }
    if (!strcmp(name, "__delitem__")) {
        jcv_live_delkey(c, self, a->pos[0]);
        return jcv_none(c);
    }
    if (!strcmp(name, "__contains__"))
        return jcv_scalar(c, jcv_live_has(c, self, a->pos[0]));
    if ((a->n_pos == 1 || a->n_pos == 2) && !a->n_kw) {
        jcv_av *otherwise = a->n_pos == 2 ? a->pos[1] : jcv_none(c);
        if (!strcmp(name, "get") || !strcmp(name, "setdefault"))
            return jcv_plain_get(c, self, a->pos[0], otherwise, *name == 's');
    }
    return NULL;
}
