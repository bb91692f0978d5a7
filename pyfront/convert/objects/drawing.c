/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws of Python's generators (pyfront/base/twister.h).
 *
 * What makes numbers in C are two methods, random() and getrandbits(); all others are Python, and
 * are converted as the program's functions are.  A draw reads how many words were drawn, computes
 * a number of those that follow, and writes how many there are now, as if that were an attribute:
 * so what arms, loops and recursions leave of it is known as it is of any object.
 */
#include "pyfront/convert/objects/objects.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/base/names.h"
#include "pyfront/base/twister.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/values/values.h"

static jcv_av *int_av(jcv *c, long v) { return jcv_take(c, PyLong_FromLong(v)); }

static jcv_av *generator(jcv *c, jcv_av *g) {
    PyTypeObject *known = jpy_twister_type(), *t = known ? jcv_type_of(c, g) : NULL;
    bool some = t && PyType_IsSubtype(t, known) && (g->kind == AV_PY || g->kind == AV_HOST);
    if (!some)
        return NULL;
    if (g->kind == AV_HOST)
        return g;
    if (!g->src)
        g = jcv_py(c, g->py, jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, g->py, 0));
    if (!g->src)
        jcv_refuse(c, "out of memory");
    jpy_src_check_type(c->guards, g->src, Py_TYPE(g->py));
    return g;
}

/* How many words the run has drawn. */
static jcv_av *drawn(jcv *c, jcv_av *g) {
    if (g->kind == AV_PY && !jcv_live_attr(c, Py_TYPE(g->py), jpy_names.drawn))
        jcv_attr_slot(c, g->py, jpy_names.drawn, g->src, int_av(c, 0));
    return jcv_settled(c, jcv_getattr(c, g, jpy_names.drawn));
}

static jcv_av *number(jcv *c, jcv_av *g, janus_draw what, jcv_av *at, jcv_av *n) {
    janus_host_draw_attrs attrs = {sizeof attrs, what};
    jcv_val *in[3] = {jcv_to_host(c, g)->val, jcv_number(c, at), jcv_number(c, n)};
    for (int i = 1; i < 3; i++)
        if (!in[i] || in[i]->type->kind != JANUS_KIND_INT)
            jcv_refuse(c, "%s draws", jcv_describe(i == 1 ? at : n));
    return jcv_scalar(c, &jcv_op(c, JN_OP(host_draw), in, 3, &attrs)->out[0]);
}

static jcv_av *moved(jcv *c, jcv_av *g, jcv_av *at, jcv_av *drawn) {
    jcv_setattr(c, g, jpy_names.drawn, at);
    return drawn;
}

static jcv_av *draw_unit(jcv *c, jcv_av *g) {
    jcv_av *at = drawn(c, g), *bits = number(c, g, JANUS_DRAW_UNIT, at, int_av(c, 0));
    jcv_av *scale = jcv_take(c, PyFloat_FromDouble(1.0 / 9007199254740992.0));
    return moved(c, g, jcv_binary(c, JPY_ADD, at, int_av(c, 2), false),
                 jcv_binary(c, JPY_MUL, bits, scale, false));
}

static jcv_av *draw_bits(jcv *c, jcv_av *g, jcv_av *k) {
    jcv_av *at = drawn(c, g), *bits;
    if (k->kind == AV_PY && PyLong_CheckExact(k->py) && !jcv_long(c, k))
        return int_av(c, 0);
    bits = number(c, g, JANUS_DRAW_BITS, at, k);
    jcv_av *up = jcv_binary(c, JPY_ADD, k, int_av(c, 31), false);
    jcv_av *words = jcv_binary(c, JPY_FLOORDIV, up, int_av(c, 32), false);
    return moved(c, g, jcv_binary(c, JPY_ADD, at, words, false), bits);
}

static jcv_av *draw_below(jcv *c, jcv_av *g, jcv_av *n) {
    jcv_av *at = drawn(c, g), *below = number(c, g, JANUS_DRAW_BELOW, at, n);
    return moved(c, g, number(c, g, JANUS_DRAW_AFTER, at, n), below);
}

static jcv_av *draw(jcv *c, jcv_av *self, const char *name, const jcv_args *a) {
    bool unit = !strcmp(name, "random") && !a->n_pos && !a->n_kw;
    bool bits = !strcmp(name, "getrandbits") && a->n_pos == 1 && !a->n_kw;
    jcv_av *g = unit || bits ? generator(c, self) : NULL;
    return !g ? NULL : unit ? draw_unit(c, g) : draw_bits(c, g, jcv_settled(c, a->pos[0]));
}

/* Whether the method of the name is C's. */
static bool is_own(jcv *c, PyTypeObject *t, const char *name) {
    PyObject *d = jcv_lookup_str(c, t, name);
    return d && Py_TYPE(d) == &PyMethodDescr_Type && PyDescr_TYPE(d) == jpy_twister_type();
}

jcv_av *jcv_draw_method(jcv *c, jcv_av *self, const char *name, const jcv_args *args) {
    jcv_av *g = generator(c, self);
    PyObject *method = g ? jcv_own_method(c, jcv_type_of(c, g), name) : NULL;
    return method && PyDescr_TYPE(method) == jpy_twister_type() ? draw(c, g, name, args) : NULL;
}

/* Whether getrandbits() of the object is C's. */
static bool has_own_bits(jcv *c, jcv_av *g) {
    PyObject *name = jcv_own(c, PyUnicode_InternFromString("getrandbits"));
    const jcv_av *m = is_own(c, jcv_type_of(c, g), "getrandbits") ? jcv_getattr(c, g, name) : NULL;
    return m && m->kind == AV_METHOD && m->text && m->self == g;
}

jcv_av *jcv_draw_function(jcv *c, PyObject *f, const jcv_args *args) {
    if (f == jpy_twister_below() && args->n_pos == 2 && !args->n_kw) {
        jcv_av *g = generator(c, args->pos[0]);
        return g && has_own_bits(c, g) ? draw_below(c, g, jcv_settled(c, args->pos[1])) : NULL;
    }
    if (!PyCFunction_Check(f) || !PyCFunction_GET_SELF(f) ||
        !jpy_twister_of(PyCFunction_GET_SELF(f)))
        return NULL;
    return draw(c, jcv_constant(c, PyCFunction_GET_SELF(f)),
                ((PyCFunctionObject *)f)->m_ml->ml_name, args);
}
