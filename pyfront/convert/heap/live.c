/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locations that the graph itself writes: attributes of the nodes of a tree, lists appended to in a
 * loop, a memo.
 *
 * Most effects are known when the conversion ends and are the commit's (convert.c).  What is
 * written where the converter does not know how often, or to which object, is *live*: all its reads
 * and writes are operations of the graph, in program order, seen through the overlay of the run.  A
 * location is live for the whole conversion, which starts again when one is found:
 * - an attribute by name and type of the object: objects of different types are different;
 * - a real list or dict by its identity; the commit makes sure that no other one that the guards
 *   looked into is written (pyfront/entry/commit.c);
 * - a list or dict that the function makes, by the place in its source; a variable of a call that
 *   functions made inside write, by its name, as such a list of one item (variables.c).
 * What is written is remembered as samples, which tell what reads may find.
 */
#include "pyfront/convert/heap/heap.h"

#include <string.h>

#include "exec/store/store.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/entry/entry.h"

enum { MAX_SAMPLES = 64 };

/* ---- which ones ---------------------------------------------------------------------------------
 */

jcv_live *jcv_live_attr(jcv *c, PyTypeObject *t, PyObject *name) {
    for (jcv_live *l = c->lives; l; l = l->next)
        if (l->type == t && (l->name == name || PyUnicode_Compare(l->name, name) == 0))
            return l;
    return NULL;
}

bool jcv_live_type(jcv *c, PyTypeObject *t) {
    for (jcv_live *l = c->lives; l; l = l->next)
        if (l->type == t)
            return true;
    return false;
}

jcv_live *jcv_live_object(jcv *c, PyObject *o) {
    for (jcv_live *l = c->lives; l; l = l->next)
        if ((l->object == o && !l->name) || (l->site && l->stored == o))
            return l;
    return NULL;
}

jcv_live *jcv_live_var(jcv *c, PyObject *holder, PyObject *name) {
    for (jcv_live *l = c->lives; l; l = l->next)
        if (l->object == holder && l->name && PyUnicode_Compare(l->name, name) == 0)
            return l;
    return NULL;
}

jcv_live *jcv_live_site(jcv *c, const void *site) {
    for (jcv_live *l = c->lives; l; l = l->next)
        if (site && l->site == site)
            return l;
    return NULL;
}

static jcv_live *new_live(jcv *c, bool dict) {
    jcv_live *l = jn_arena_zalloc(&c->keep, sizeof *l);
    if (!l)
        jcv_refuse(c, "out of memory");
    l->stored = dict ? PyDict_New() : PyList_New(0);
    if (!l->stored)
        jcv_refuse_py(c);
    l->next = c->lives;
    c->lives = l;
    return l;
}

void jcv_live_free(jcv_live *l) {
    for (; l; l = l->next) {
        Py_XDECREF(l->type);
        Py_XDECREF(l->name);
        Py_XDECREF(l->object);
        Py_XDECREF(l->stored);
    }
}

__attribute__((noreturn)) static void start_again(jcv *c, const char *why) {
    snprintf(c->reason, sizeof c->reason, "%s", why);
    jcv_throw_now(c, THROW_RESTART);
}

void jcv_make_live_attr(jcv *c, PyTypeObject *t, PyObject *name) {
    jcv_live *l = new_live(c, false);
    l->type = (PyTypeObject *)Py_NewRef((PyObject *)t);
    l->name = Py_NewRef(name);
    start_again(c, "an attribute is written by the graph");
}

void jcv_make_live_var(jcv *c, PyObject *holder, PyObject *name) {
    jcv_live *l = new_live(c, false);
    l->object = Py_NewRef(holder);
    l->name = Py_NewRef(name);
    start_again(c, "a variable outside is written by the graph");
}

void jcv_make_live_objects(jcv *c, PyObject *const *o, Py_ssize_t n) {
    bool any = false;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (jcv_live_object(c, o[i]))
            continue;
        if (!PyList_CheckExact(o[i]) && !PyDict_CheckExact(o[i]))
            jcv_refuse(c, "%s is written by the graph", Py_TYPE(o[i])->tp_name);
        new_live(c, PyDict_Check(o[i]))->object = Py_NewRef(o[i]);
        any = true;
    }
    if (any)
        start_again(c, "a container is written by the graph");
}

void jcv_make_live_site(jcv *c, const void *site, bool dict) {
    new_live(c, dict)->site = site;
    start_again(c, "what is made here is written by the graph");
}

void jcv_make_live(jcv *c, jcv_av *a) {
    if (a->kind == AV_PY)
        jcv_make_live_objects(c, &a->py, 1);
    if (a->origin)
        jcv_make_live_objects(c, &a->origin->py, 1);
    if ((a->kind != AV_LIST && a->kind != AV_DICT) || !a->tree || jcv_live_site(c, a->tree))
        jcv_refuse(c, "%s is written by the graph", jcv_describe(a));
    jcv_make_live_site(c, a->tree, a->kind == AV_DICT);
}

jcv_av *jcv_container_in(jcv *c, uint32_t slot) {
    for (size_t i = 0; i < c->made.n; i++)
        if (c->made.data[i]->slot == slot)
            return c->made.data[i];
    return NULL;
}

/* ---- what is stored -----------------------------------------------------------------------------
 */

enum { MAX_SAMPLE = 1 << 24 }; /* elements: in an image more than there ever are */

static const jpy_node_class stored_class = {"Graph", NULL, NULL, NULL, NULL, false};

bool jcv_is_stored_sample(const jpy_tensor *t) { return t->node && t->node->cls == &stored_class; }

static PyObject *sample_tensor(jcv *c, const jn_type *t, bool tracked) {
    janus_tensor *x;
    if (jcv_any_dim_varies(c, t) && jn_type_numel(t) > MAX_SAMPLE)
        jcv_refuse(c, "a large tensor whose dims vary is stored by the graph");
    if (jn_tensor_empty((janus_dtype)t->dtype, t->rank, t->dims, &x) != JANUS_OK)
        jcv_refuse(c, "out of memory");
    memset(jn_tensor_ready_data(x), 0, (size_t)x->numel * jn_dtype_size((janus_dtype)t->dtype));
    jpy_tensor *o = (jpy_tensor *)jcv_own(c, jpy_tensor_take(x));
    if (tracked && !(o->node = jpy_node_new(&stored_class, 0, 1, NULL, 0)))
        jcv_refuse_py(c);
    return (PyObject *)o;
}

/* Objects that stand for what an abstract value may be: a new list. */
static PyObject *samples_of(jcv *c, jcv_av *v) {
    if (v->kind == AV_HOST)
        return jcv_samples(c, v);
    PyObject *l = jcv_own(c, PyList_New(0)), *o = NULL;
    if (v->kind == AV_TENSOR) {
        o = sample_tensor(c, jcv_tensor_val(c, v->py)->type, jcv_leaf_tracked(c, v));
    } else if (v->kind == AV_SCALAR) {
        int kind = v->val->type->kind;
        o = jcv_own(c, kind == JANUS_KIND_INT     ? PyLong_FromLong(0)
                       : kind == JANUS_KIND_FLOAT ? PyFloat_FromDouble(0)
                                                  : PyBool_FromLong(0));
    } else if (v->kind == AV_PY) {
        o = v->py;
    } else if (v->kind == AV_TUPLE) {
        o = jcv_own(c, PyTuple_New(v->n));
        for (unsigned i = 0; i < v->n; i++) {
            PyObject *s = samples_of(c, v->items[i]);
            if (!PyList_GET_SIZE(s))
                return l;
            PyTuple_SET_ITEM(o, i, Py_NewRef(PyList_GET_ITEM(s, 0)));
        }
    }
    if (!o || PyList_Append(l, o) < 0)
        jcv_refuse(c, "%s is stored by the graph", jcv_describe(v));
    return l;
}

/* Whether two samples say the same. */
static bool alike(PyObject *a, PyObject *b) {
    if (a == b)
        return true;
    if (Py_TYPE(a) != Py_TYPE(b))
        return false;
    if (PyLong_CheckExact(a) || PyFloat_CheckExact(a) || PyBool_Check(a) || PyUnicode_CheckExact(a))
        return true;
    if (jpy_tensor_check(a)) {
        jn_type x = jn_tensor_as_type(((jpy_tensor *)a)->t);
        jn_type y = jn_tensor_as_type(((jpy_tensor *)b)->t);
        return jcv_same_type(&x, &y) &&
               jcv_is_stored_sample((jpy_tensor *)a) == jcv_is_stored_sample((jpy_tensor *)b);
    }
    if (!PyTuple_CheckExact(a) || PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); i++)
        if (!alike(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i)))
            return false;
    return true;
}

PyObject *jcv_live_samples(jcv *c, jcv_live *l) {
    l->read = true;
    if (l->tracked && c->f->exact) /* sums of gradients would be added in another order */
        jcv_refuse(c, "a tensor that requires grad is stored by the graph and read again");
    if (l->tracked && !c->wires) {
        c->wires = true;
        start_again(c, "what the graph stored requires grad and is read");
    }
    return PyDict_Check(l->stored) ? jcv_own(c, PyDict_Values(l->stored)) : l->stored;
}

static void add_sample(jcv *c, jcv_live *l, PyObject *o) {
    int bad;
    if (PyDict_Check(l->stored)) {
        PyObject *k = jcv_own(c, PyLong_FromSsize_t(PyDict_GET_SIZE(l->stored)));
        bad = PyDict_SetItem(l->stored, k, o);
    } else {
        bad = PyList_Append(l->stored, o);
    }
    if (bad)
        jcv_refuse_py(c);
}

static bool tracked_inside(jcv *c, jcv_av *v) {
    for (unsigned i = 0; v->kind == AV_TUPLE && i < v->n; i++)
        if (tracked_inside(c, v->items[i]))
            return true;
    return v->kind == AV_TENSOR && jcv_leaf_tracked(c, v);
}

void jcv_live_learn(jcv *c, jcv_live *l, jcv_av *v) {
    PyObject *have = PyDict_Check(l->stored) ? jcv_own(c, PyDict_Values(l->stored)) : l->stored;
    PyObject *more = samples_of(c, v);
    bool grew = tracked_inside(c, v) && !l->tracked;
    l->tracked = l->tracked || grew;
    Py_ssize_t n = PyList_GET_SIZE(have);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(more); i++) {
        PyObject *o = PyList_GET_ITEM(more, i);
        bool known = n >= MAX_SAMPLES;
        for (Py_ssize_t k = 0; k < n && !known; k++)
            known = alike(PyList_GET_ITEM(have, k), o);
        if (known)
            continue;
        add_sample(c, l, o);
        grew = true;
    }
    if (grew && l->read)
        start_again(c, "the graph stores something new");
}

/* ---- values to store ----------------------------------------------------------------------------
 */

jcv_val *jcv_object_input(jcv *c, jpy_src *src) {
    for (size_t i = 0; i < c->inputs.n; i++)
        if (c->inputs.data[i] == src && c->main->params.data[i]->type->kind == JANUS_KIND_OBJECT)
            return c->main->params.data[i];
    jcv_val *v = jcv_param(c, c->main, jcv_type(c, jn_scalar_type(JANUS_KIND_OBJECT)));
    if (!jn_vec_push(&c->inputs, src))
        jcv_refuse(c, "out of memory");
    return v;
}

jcv_val *jcv_object_const(jcv *c, PyObject *o) {
    jpy_src *s = jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, o, 0);
    if (!s)
        jcv_refuse(c, "out of memory");
    return jcv_object_input(c, s);
}

jcv_val *jcv_stored_with_history(jcv *c, jcv_val *x) {
    if (!jn_vec_push(&c->stored_tracked, x))
        jcv_refuse(c, "out of memory");
    if (c->wires)
        jcv_op(c, JN_OP(wire_put), &x, 1, NULL);
    return x;
}

static jcv_val *stored_tensor(jcv *c, jcv_av *v) {
    jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)v->py)->t);
    c->live_tensors = true;
    bool tracked = jcv_leaf_tracked(c, v);
    if (v->src && (!tracked || !c->wires || r->root->written))
        return jcv_object_input(c, v->src);
    if (v->src) { /* the value knows the object */
        r->root->put = true;
        return jcv_stored_with_history(c, jcv_tensor_val(c, v->py));
    }
    if (r->root->src)
        jcv_refuse(c, "a view of a tensor of the caller is stored");
    if (((jpy_tensor *)v->py)->requires_grad)
        jcv_refuse(c, "a new leaf that requires grad is stored");
    if (!jcv_plain_layout(v))
        jcv_refuse(c, "a tensor with strides of its own is stored");
    if (jcv_may_be_written(c, r->root))
        jcv_refuse(c, "a tensor is stored that may be one of the caller's that was written");
    jcv_val *x = jcv_tensor_val(c, v->py);
    if (jcv_views_others(x))
        jcv_refuse(c, "a view of a tensor that the graph has not made is stored");
    jcv_leak(c, r);
    r->root->stored = true;
    if (!jn_vec_push(&c->stored, r))
        jcv_refuse(c, "out of memory");
    return tracked ? jcv_stored_with_history(c, x) : x;
}

static jcv_val *new_of(jcv *c, int what, jcv_val *const *items, unsigned n, bool tracked) {
    janus_host_new_attrs attrs = {sizeof attrs, what, tracked ? JPY_TAG_FREED : JPY_TAG_PLAIN};
    return &jcv_op(c, JN_OP(host_new), items, n, &attrs)->out[0];
}

jcv_val *jcv_stored(jcv *c, jcv_av *v) {
    switch (v->kind) {
    case AV_TENSOR:
        return stored_tensor(c, v);
    case AV_SCALAR:
    case AV_HOST:
        return v->val;
    case AV_PY:
        if (PyBool_Check(v->py) || PyFloat_CheckExact(v->py))
            return jcv_number(c, v);
        if (PyLong_CheckExact(v->py)) {
            int overflow;
            PyLong_AsLongLongAndOverflow(v->py, &overflow);
            return overflow ? jcv_object_const(c, v->py) : jcv_number(c, v);
        }
        if (jcv_is_const(v))
            return jcv_object_const(c, v->py);
        if (!v->src)
            break;
        for (size_t i = 0; i < c->real.n; i++)
            if (c->real.data[i]->origin->py == v->py)
                jcv_make_live(c, v);
        return jcv_object_input(c, v->src);
    case AV_TUPLE: {
        if (v->named)
            jcv_refuse(c, "a named tuple is stored by the graph");
        if (v->val && !jcv_encloses(v->val->ctx, c->ctx))
            jcv_refuse(c, "a tuple is stored in two places");
        if (v->val)
            return v->val;
        jcv_val **items = jcv_alloc(c, (v->n + 1) * sizeof *items);
        for (unsigned i = 0; i < v->n; i++)
            items[i] = jcv_stored(c, v->items[i]);
        v->val = new_of(c, JANUS_BIRTH_TUPLE, items, v->n, tracked_inside(c, v));
        return v->val;
    }
    case AV_LIST:
    case AV_DICT:
        jcv_make_live(c, v);
        break;
    default:
        break;
    }
    jcv_refuse(c, "%s is stored by the graph", jcv_describe(v));
}

int64_t jcv_tag_of(jcv *c, jcv_av *v) {
    return tracked_inside(c, v) ? JPY_TAG_FREED : JPY_TAG_PLAIN;
}

jcv_av *jcv_born(jcv *c, const void *site, jcv_av *const *items, unsigned n, bool dict) {
    jcv_live *l = jcv_live_site(c, site);
    if (!l)
        return NULL;
    jcv_val **v = jcv_alloc(c, (n + 1) * sizeof *v);
    bool tracked = false;
    for (unsigned i = 0; i < n; i++) {
        v[i] = jcv_stored(c, items[i]);
        tracked = tracked || tracked_inside(c, items[i]);
        jcv_live_learn(c, l, items[i]);
    }
    jcv_val *o = new_of(c, dict ? JANUS_BIRTH_DICT : JANUS_BIRTH_LIST, v, n, tracked);
    PyObject *samples = jcv_own(c, PyList_New(0));
    if (PyList_Append(samples, l->stored) < 0)
        jcv_refuse_py(c);
    jcv_known_type(c, o, Py_TYPE(l->stored));
    return jcv_root(c, c->ctx, o, samples);
}

/* ---- attributes ---------------------------------------------------------------------------------
 */

static jcv_live *attr_to_write(jcv *c, PyTypeObject *t, PyObject *name) {
    jcv_live *l = jcv_live_attr(c, t, name);
    if (!l)
        jcv_make_live_attr(c, t, name);
    PyObject *d = jcv_lookup_kind(c, t, name);
    bool member = d && Py_TYPE(d) == &PyMemberDescr_Type;
    if ((d && Py_TYPE(d)->tp_descr_set && !member) || (!member && !t->tp_dictoffset))
        jcv_refuse(c, "the attribute %s of %s is set", PyUnicode_AsUTF8(name), t->tp_name);
    return l;
}

void jcv_live_setattr(jcv *c, jcv_av *o, PyTypeObject *t, PyObject *name, jcv_av *v) {
    jcv_live *l = attr_to_write(c, t, name);
    jcv_val *in[2] = {jcv_to_host(c, o)->val, jcv_stored(c, v)};
    jcv_live_learn(c, l, v);
    janus_host_setattr_attrs attrs = {sizeof attrs, jcv_key_of(c, name), jcv_tag_of(c, v)};
    jcv_op(c, JN_OP(host_setattr), in, 2, &attrs);
    c->live_epoch++;
    c->n_effects++;
    jcv_attr_is(c, in[0], name, v);
}

void jcv_live_delattr(jcv *c, jcv_av *o, PyTypeObject *t, PyObject *name) {
    attr_to_write(c, t, name);
    jcv_val *in = jcv_to_host(c, o)->val;
    janus_host_delattr_attrs attrs = {sizeof attrs, jcv_key_of(c, name)};
    jcv_op(c, JN_OP(host_delattr), &in, 1, &attrs);
    c->live_epoch++;
    c->n_effects++;
}

/* ---- containers ---------------------------------------------------------------------------------
 */

/* Every sample of a container that is written must be live; the first one's record learns. */
static jcv_live *container_to_write(jcv *c, jcv_av *o) {
    PyObject *s = jcv_samples(c, o);
    if (!PyList_GET_SIZE(s))
        jcv_throw_now(c, THROW_DEAD);
    jcv_make_live_objects(c, ((PyListObject *)s)->ob_item, PyList_GET_SIZE(s));
    c->live_containers = true;
    return jcv_live_object(c, PyList_GET_ITEM(s, 0));
}

static void write_node(jcv *c, const jn_op *op, jcv_val *const *in, unsigned n, jcv_av *v) {
    struct { /* host.append, host.setitem and host.setkey have the tag only */
        size_t struct_size;
        int64_t tag;
    } attrs = {sizeof attrs, jcv_tag_of(c, v)};
    jcv_op(c, op, in, n, &attrs);
    c->live_epoch++;
    c->n_effects++;
    c->live_items++;
}

void jcv_live_append(jcv *c, jcv_av *o, jcv_av *v) {
    jcv_live *l = container_to_write(c, o);
    jcv_val *in[2] = {o->val, jcv_stored(c, v)};
    jcv_live_learn(c, l, v);
    write_node(c, JN_OP(host_append), in, 2, v);
}

jcv_av *jcv_live_pop(jcv *c, jcv_av *o) {
    container_to_write(c, o);
    jcv_val *v = &jcv_op(c, JN_OP(host_pop), &o->val, 1, NULL)->out[0];
    c->live_epoch++;
    c->n_effects++;
    c->live_items++;
    return jcv_host_got(c, v, jcv_item_samples(c, o, NULL));
}

/* Whether the graph writes to some dict that `o` may be: its keys are compared by identity then. */
static bool may_be_live(jcv *c, jcv_av *o) {
    PyObject *s = jcv_samples(c, o);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(s); i++)
        if (jcv_live_object(c, PyList_GET_ITEM(s, i)))
            return true;
    return o->kind != AV_HOST || !PyList_GET_SIZE(s);
}

/* `in`: the dict that is only read, or NULL. */
static jcv_val *live_key(jcv *c, jcv_av *in, jcv_av *key) {
    if (key->kind == AV_SCALAR && key->val->type->kind == JANUS_KIND_INT)
        return key->val;
    if (key->kind == AV_SCALAR && in &&
        !may_be_live(c, in)) { /* of no number it may be the object */
        const jcv_node *from = key->val->node;
        return from && from->op == JN_OP(host_unbox) ? from->in[0] : key->val;
    }
    if (key->kind == AV_PY && PyLong_CheckExact(key->py))
        return jcv_number(c, key);
    if (key->kind == AV_PY && PyUnicode_CheckExact(key->py)) { /* equal strings, one object */
        PyObject *s = Py_NewRef(key->py);
        PyUnicode_InternInPlace(&s);
        return jcv_object_const(c, jcv_own(c, s));
    }
    if (key->kind == AV_HOST || (key->kind == AV_PY && key->src)) {
        PyTypeObject *t = key->kind == AV_HOST ? jcv_host_type(c, key) : Py_TYPE(key->py);
        if (t->tp_hash == PyBaseObject_Type.tp_hash &&
            t->tp_richcompare == PyBaseObject_Type.tp_richcompare)
            return jcv_to_host(c, key)->val;
        if (key->kind == AV_HOST && in && !may_be_live(c, in) && jcv_host_plain(c, key))
            return key->val;
    }
    jcv_refuse(c, "%s as a key of a dict of the graph", jcv_describe(key));
}

void jcv_live_setkey(jcv *c, jcv_av *o, jcv_av *key, jcv_av *v) {
    jcv_live *l = container_to_write(c, o);
    jcv_val *in[3] = {o->val, live_key(c, NULL, key), jcv_stored(c, v)};
    jcv_live_learn(c, l, v);
    write_node(c, JN_OP(host_setkey), in, 3, v);
}

void jcv_live_setitem(jcv *c, jcv_av *o, jcv_av *i, jcv_av *v) {
    jcv_live *l = container_to_write(c, o);
    jcv_val *in[3] = {o->val, jcv_number(c, i), jcv_stored(c, v)};
    if (!in[1] || in[1]->type->kind != JANUS_KIND_INT)
        jcv_refuse(c, "%s as an index", jcv_describe(i));
    jcv_live_learn(c, l, v);
    write_node(c, JN_OP(host_setitem), in, 3, v);
}

void jcv_live_delkey(jcv *c, jcv_av *o, jcv_av *key) {
    container_to_write(c, o);
    jcv_val *in[2] = {o->val, live_key(c, NULL, key)};
    jcv_op(c, JN_OP(host_delkey), in, 2, NULL);
    c->live_epoch++;
    c->n_effects++;
    c->live_items++;
}

jcv_val *jcv_live_has(jcv *c, jcv_av *o, jcv_av *key) {
    jcv_val *in[2] = {o->val, live_key(c, o, key)};
    c->host_keys = true;
    return &jcv_op(c, JN_OP(host_has), in, 2, NULL)->out[0];
}

/* Samples of what a dict has at a key: of that alone where it is known and nobody writes. */
static PyObject *samples_at(jcv *c, jcv_av *o, const jcv_av *key) {
    PyObject *s = jcv_samples(c, o), *got = jcv_own(c, PyList_New(0));
    bool known = key->kind == AV_PY && PyUnicode_CheckExact(key->py);
    for (Py_ssize_t i = 0; known && i < PyList_GET_SIZE(s); i++) {
        PyObject *d = PyList_GET_ITEM(s, i);
        known = PyDict_CheckExact(d) && !jcv_live_object(c, d);
        PyObject *v = known ? PyDict_GetItem(d, key->py) : NULL;
        if (v && PyList_Append(got, v) < 0)
            jcv_refuse_py(c);
    }
    return known ? got : jcv_item_samples(c, o, NULL);
}

jcv_av *jcv_live_getkey(jcv *c, jcv_av *o, jcv_av *key) {
    jcv_val *in[2] = {o->val, live_key(c, o, key)};
    c->host_keys = true;
    if (o->kind == AV_HOST && key->kind == AV_PY && PyUnicode_CheckExact(key->py) &&
        !may_be_live(c, o))
        return jcv_host_read(c, &jcv_op(c, JN_OP(host_key), in, 2, NULL)->out[0],
                             samples_at(c, o, key));
    return jcv_host_got(c, &jcv_op(c, JN_OP(host_key), in, 2, NULL)->out[0], samples_at(c, o, key));
}
