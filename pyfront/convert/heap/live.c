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
 *   functions made inside write, by its name, and an attribute of an instance that the function
 *   makes, by class and name, as such a list of one item (variables.c, objects.c).
 * What is written is remembered as samples (learn.c).
 */
#include "pyfront/convert/heap/heap.h"

#include <string.h>

#include "exec/store/store.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/entry/entry.h"

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

jcv_live *jcv_live_fresh(jcv *c, PyTypeObject *t, PyObject *name) {
    for (jcv_live *l = c->lives; l; l = l->next)
        if (l->of == t && PyUnicode_Compare(l->name, name) == 0)
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
        Py_XDECREF(l->of);
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
        if (!PyList_CheckExact(o[i]) && !jpy_type_has_pairs_alone(Py_TYPE(o[i])))
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

void jcv_make_live_fresh(jcv *c, PyTypeObject *t, PyObject *name) {
    jcv_live *l = new_live(c, false);
    l->of = (PyTypeObject *)Py_NewRef((PyObject *)t);
    l->name = Py_NewRef(name);
    l->site = l;
    start_again(c, "an attribute of what is made here is written by the graph");
}

void jcv_needed(jcv *c, const jcv_av *v) {
    if (v->kind == AV_UNDEF && v->self && !jcv_live_site(c, jcv_made_at(v->self)))
        jcv_make_live(c, v->self);
}

void jcv_make_live(jcv *c, jcv_av *a) {
    jcv_av *of = a->origin ? a->origin : a;
    if (of->kind == AV_PY && !of->src) /* pairs of an instance that is made here (make.c) */
        jcv_refuse(c, "%s that is made here is written by the graph", jcv_describe(of));
    if (a->kind == AV_PY)
        jcv_make_live_objects(c, &a->py, 1);
    if (a->origin)
        jcv_make_live_objects(c, &a->origin->py, 1);
    const jpy_tree *at = jcv_made_at(a);
    if (!at || jcv_live_site(c, at))
        jcv_refuse(c, "%s is written by the graph", jcv_describe(a));
    jcv_make_live_site(c, at, a->kind == AV_DICT);
}

jcv_av *jcv_container_in(jcv *c, uint32_t slot) {
    for (size_t i = 0; i < c->made.n; i++)
        if (c->made.data[i]->slot == slot)
            return c->made.data[i];
    return NULL;
}

/* ---- containers that are made here --------------------------------------------------------------
 */

jcv_av *jcv_born(jcv *c, const void *site, jcv_av *const *items, unsigned n, bool dict) {
    jcv_live *l = jcv_live_site(c, site);
    if (!l)
        return NULL;
    if (PyDict_Check(l->stored) != dict)
        jcv_refuse(c, "a list and a dict are made at one place");
    jcv_val **v = jcv_alloc(c, (n + 1) * sizeof *v);
    janus_host_new_attrs attrs = {sizeof attrs, dict ? JANUS_BIRTH_DICT : JANUS_BIRTH_LIST,
                                  JPY_TAG_PLAIN};
    for (unsigned i = 0; i < n; i++) {
        v[i] = jcv_stored_inside(c, items[i], l->tracked);
        int64_t tag = jcv_tag_of(c, items[i]);
        attrs.tag = tag > attrs.tag ? tag : attrs.tag;
        jcv_live_learn(c, l, items[i]);
    }
    jcv_val *o = &jcv_op(c, JN_OP(host_new), v, n, &attrs)->out[0];
    PyObject *samples = jcv_own(c, PyList_New(0));
    if (PyList_Append(samples, l->stored) < 0)
        jcv_refuse_py(c);
    jcv_known_type(c, o, Py_TYPE(l->stored));
    return jcv_root(c, c->ctx, o, samples);
}

/* ---- optional values ----------------------------------------------------------------------------
 * What is None, or a number, on some paths is stored as the one or the other.
 */

typedef struct putting {
    jcv_av *o, *key, *v;
    PyTypeObject *type; /* an attribute's */
    PyObject *name;
    void (*put)(jcv *c, struct putting *x, jcv_av *v);
} putting;

static jcv_out put_arm(jcv *c, void *user, int arm) {
    putting *x = user;
    jcv_av *number = jcv_number_or(x->v);
    x->put(c, x, !arm ? x->v->self : number ? number : jcv_none(c));
    return OUT_NORMAL;
}

static bool is_optional(jcv *c, putting x) {
    x.v = jcv_found(c, x.v);
    if (x.v->kind != AV_MAYBE || !x.v->self)
        return false;
    jcv_branch(c, x.v->val, put_arm, &x);
    return true;
}

/* ---- attributes ---------------------------------------------------------------------------------
 */

static jcv_live *attr_to_write(jcv *c, PyTypeObject *t, PyObject *name) {
    jcv_live *l = jcv_live_attr(c, t, name);
    if (!l)
        jcv_make_live_attr(c, t, name);
    PyObject *d = jcv_lookup_kind(c, t, name);
    bool member = jpy_is_member(t, d);
    if ((d && Py_TYPE(d)->tp_descr_set && !member) || (!member && !t->tp_dictoffset))
        jcv_refuse(c, "the attribute %s of %s is set", PyUnicode_AsUTF8(name), t->tp_name);
    return l;
}

static void put_attr(jcv *c, putting *x, jcv_av *v) {
    jcv_live_setattr(c, x->o, x->type, x->name, v);
}

void jcv_live_setattr(jcv *c, jcv_av *o, PyTypeObject *t, PyObject *name, jcv_av *v) {
    if (is_optional(c, (putting){.o = o, .v = v, .type = t, .name = name, .put = put_attr}))
        return;
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

/* Whether the function makes it, whichever it is: nothing is in it but what it puts in. */
static bool made_by_run(jcv *c, jcv_av *o) {
    PyObject *s = jcv_samples(c, o);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(s); i++) {
        const jcv_live *l = jcv_live_object(c, PyList_GET_ITEM(s, i));
        if (!l || !l->site)
            return false;
    }
    return PyList_GET_SIZE(s);
}

/* What is put into a container: into one that the function makes more may be. */
static jcv_val *stored_in(jcv *c, jcv_av *o, jcv_av *v) {
    if (!made_by_run(c, o))
        return jcv_stored(c, v);
    return jcv_stored_inside(c, v,
                             jcv_live_object(c, PyList_GET_ITEM(jcv_samples(c, o), 0))->tracked);
}

/* After a node that writes to a container. */
static void wrote_container(jcv *c) {
    c->live_epoch++;
    c->n_effects++;
    c->live_items++;
}

static void write_node(jcv *c, const jn_op *op, jcv_val *const *in, unsigned n, jcv_av *v) {
    struct { /* host.append, host.insert, host.setitem and host.setkey have the tag only */
        size_t struct_size;
        int64_t tag;
    } attrs = {sizeof attrs, jcv_tag_of(c, v)};
    jcv_op(c, op, in, n, &attrs);
    wrote_container(c);
}

static void put_item(jcv *c, putting *x, jcv_av *v) {
    if (x->key)
        jcv_live_setitem(c, x->o, x->key, v);
    else
        jcv_live_append(c, x->o, v);
}

static void put_before(jcv *c, putting *x, jcv_av *v) { jcv_live_insert(c, x->o, x->key, v); }

static void put_key(jcv *c, putting *x, jcv_av *v) { jcv_live_setkey(c, x->o, x->key, v); }

void jcv_live_append(jcv *c, jcv_av *o, jcv_av *v) {
    if (is_optional(c, (putting){.o = o, .v = v, .put = put_item}))
        return;
    jcv_live *l = container_to_write(c, o);
    jcv_val *in[2] = {o->val, stored_in(c, o, v)};
    jcv_live_learn(c, l, v);
    write_node(c, JN_OP(host_append), in, 2, v);
}

/* What a node takes out of a list. */
static jcv_av *take_item(jcv *c, jcv_av *o, const jn_op *op, jcv_val *const *in, unsigned n) {
    jcv_val *v = &jcv_op(c, op, in, n, NULL)->out[0];
    wrote_container(c);
    return jcv_host_got(c, v, jcv_item_samples(c, o, NULL));
}

jcv_av *jcv_live_pop(jcv *c, jcv_av *o) {
    container_to_write(c, o);
    return take_item(c, o, JN_OP(host_pop), &o->val, 1);
}

/* A place of a list, as an operand. */
static jcv_val *live_place(jcv *c, jcv_av *i) {
    jcv_val *v = jcv_number(c, i);
    if (!v || v->type->kind != JANUS_KIND_INT)
        jcv_refuse(c, "%s as an index", jcv_describe(i));
    return v;
}

jcv_av *jcv_live_delitem(jcv *c, jcv_av *o, jcv_av *i) {
    container_to_write(c, o);
    jcv_val *in[2] = {o->val, live_place(c, i)};
    return take_item(c, o, JN_OP(host_delitem), in, 2);
}

/* Whether the graph writes to some dict that `o` may be: its keys are compared by identity then. */
static bool may_be_live(jcv *c, jcv_av *o) {
    PyObject *s = jcv_samples(c, o);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(s); i++)
        if (jcv_live_object(c, PyList_GET_ITEM(s, i)))
            return true;
    return o->kind != AV_HOST || !PyList_GET_SIZE(s);
}

/* Whether equality with what a dict holds is what a run can find out. */
static bool is_key(jcv *c, const jcv_av *a) {
    if (a->kind == AV_SCALAR)
        return a->val->type->kind == JANUS_KIND_INT;
    if (a->kind == AV_TUPLE) {
        for (unsigned i = 0; i < a->n; i++)
            if (!is_key(c, a->items[i]))
                return false;
        return !a->named;
    }
    if (a->kind == AV_PY && (PyLong_CheckExact(a->py) || PyUnicode_CheckExact(a->py)))
        return true;
    if (a->kind != AV_HOST && !(a->kind == AV_PY && a->src))
        return false;
    PyTypeObject *t = a->kind == AV_HOST ? jcv_host_type(c, (jcv_av *)a) : Py_TYPE(a->py);
    return t == &PyUnicode_Type || jpy_by_identity(t);
}

/* in: only read. */
static jcv_val *live_key(jcv *c, jcv_av *of, jcv_av *key, bool reads) {
    jcv_av *in = reads ? of : NULL;
    key = jcv_there(c, key);
    if (key->kind == AV_TEXT)
        return jcv_text_object(c, key);
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
        if (jpy_by_identity(t))
            return jcv_to_host(c, key)->val;
        if (t == &PyUnicode_Type)
            return key->val;
        if (key->kind == AV_HOST && in && !may_be_live(c, in) && jcv_host_plain(c, key))
            return key->val;
    }
    /* Functions made inside are rather unrolled: what they make of spans is seldom a graph. */
    if (key->kind == AV_TUPLE && !c->f->recurs_inside && is_key(c, key) && made_by_run(c, of))
        return jcv_stored(c, key);
    jcv_refuse(c, "%s as a key of a dict of the graph", jcv_describe(key));
}

void jcv_live_setkey(jcv *c, jcv_av *o, jcv_av *key, jcv_av *v) {
    if (is_optional(c, (putting){.o = o, .key = key, .v = v, .put = put_key}))
        return;
    jcv_live *l = container_to_write(c, o);
    jcv_val *in[3] = {o->val, live_key(c, o, key, false), stored_in(c, o, v)};
    jcv_live_learn(c, l, v);
    write_node(c, JN_OP(host_setkey), in, 3, v);
}

void jcv_live_update(jcv *c, jcv_av *o, jcv_av *from) {
    if (o->kind != AV_HOST)
        jcv_make_live(c, o);
    jcv_live *l = container_to_write(c, o);
    jcv_val *in[2] = {o->val, from->val};
    jcv_live_learn_items(c, l, o, from);
    jcv_op(c, JN_OP(host_update), in, 2, NULL);
    wrote_container(c);
}

/* Puts v at a place of a list, by an op for that. */
static void write_at(jcv *c, const jn_op *op, putting x) {
    if (is_optional(c, x))
        return;
    jcv_live *l = container_to_write(c, x.o);
    jcv_val *in[3] = {x.o->val, live_place(c, x.key), stored_in(c, x.o, x.v)};
    jcv_live_learn(c, l, x.v);
    write_node(c, op, in, 3, x.v);
}

void jcv_live_setitem(jcv *c, jcv_av *o, jcv_av *i, jcv_av *v) {
    write_at(c, JN_OP(host_setitem), (putting){.o = o, .key = i, .v = v, .put = put_item});
}

void jcv_live_insert(jcv *c, jcv_av *o, jcv_av *i, jcv_av *v) {
    write_at(c, JN_OP(host_insert), (putting){.o = o, .key = i, .v = v, .put = put_before});
}

void jcv_live_delkey(jcv *c, jcv_av *o, jcv_av *key) {
    container_to_write(c, o);
    jcv_val *in[2] = {o->val, live_key(c, o, key, false)};
    jcv_op(c, JN_OP(host_delkey), in, 2, NULL);
    wrote_container(c);
}

jcv_val *jcv_live_has(jcv *c, jcv_av *o, jcv_av *key) {
    jcv_val *in[2] = {o->val, live_key(c, o, key, true)};
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
        PyObject *v = known ? jpy_key_value(d, key->py) : NULL;
        if (v && PyList_Append(got, v) < 0)
            jcv_refuse_py(c);
    }
    return known ? got : jcv_item_samples(c, o, NULL);
}

jcv_av *jcv_live_getkey(jcv *c, jcv_av *o, jcv_av *key) {
    jcv_val *in[2] = {o->val, live_key(c, o, key, true)};
    c->host_keys = true;
    if (o->kind == AV_HOST && key->kind == AV_PY && PyUnicode_CheckExact(key->py) &&
        !may_be_live(c, o))
        return jcv_host_read(c, &jcv_op(c, JN_OP(host_key), in, 2, NULL)->out[0],
                             samples_at(c, o, key));
    return jcv_host_got(c, &jcv_op(c, JN_OP(host_key), in, 2, NULL)->out[0], samples_at(c, o, key));
}
