/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print(): an effect of the graph's log, formatted when the run is prepared and written first of
 * all at the commit, since only writing can raise: then the run is discarded and CPython prints.
 */
#include "pyfront/convert/calls/calls.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/convert/core/list.h"
#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/tensors/tensors.h"
#include "pyfront/convert/values/values.h"
#include "pyfront/entry/entry.h"

static PyObject *text_option(jcv *c, jcv_av *a, const char *dflt) {
    if (a->kind == AV_PY && a->py == Py_None)
        return jcv_own(c, PyUnicode_FromString(dflt));
    if (a->kind != AV_PY || !PyUnicode_CheckExact(a->py))
        jcv_refuse(c, "print() with computed options");
    return a->py;
}

/* A shape. */
static bool from_janus(PyObject *o) { return !strncmp(Py_TYPE(o)->tp_name, "janus.", 6); }

/* What an item is as a value of the log; what it looks like must be known when the run ends. */
static jcv_val *printed(jcv *c, jcv_av *a) {
    if (a->kind == AV_TENSOR) {
        jcv_rec *r = jcv_rec_of(c, ((jpy_tensor *)a->py)->t);
        if (a->src && !r->written) /* the tensor itself, before anything is written */
            return jcv_object_input(c, a->src);
        if (jcv_leaf_tracked(c, a))
            jcv_refuse(c, "print() of a tensor with history");
        return jcv_tensor_val(c, a->py);
    }
    if (jcv_is_const(a) && !PyType_Check(a->py) && Py_TYPE(a->py) != jpy.function_type)
        return jcv_printed(c, a);
    if (a->kind == AV_PY && !a->src && PyTuple_Check(a->py) && from_janus(a->py)) {
        jpy_src *s = jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, a->py, 0);
        if (!s)
            jcv_refuse(c, "out of memory");
        return jcv_object_input(c, s);
    }
    if (a->kind == AV_SCALAR)
        return a->val;
    if (a->kind == AV_HOST) {
        PyTypeObject *t = jcv_host_type(c, a);
        if (t == &PyUnicode_Type || t == &PyLong_Type || t == &PyFloat_Type || t == &PyBool_Type ||
            t == Py_TYPE(Py_None))
            return a->val;
    }
    jcv_refuse(c, "print() of %s", jcv_describe(a));
}

/* The values and pieces of a print, as they come together. */
typedef struct saying {
    JCV_LIST(jcv_val *) values;
    JCV_LIST(jpy_piece) pieces;
} saying;

static void say(jcv *c, void *user, const jpy_piece *p, jcv_av *const *args) {
    saying *s = user;
    for (unsigned i = 0; i < p->n; i++) {
        jcv_val *v = printed(c, args[i]);
        jcv_add(c, &s->values, v);
    }
    jcv_add(c, &s->pieces, *p);
}

jcv_av *jcv_print(jcv *c, const jcv_args *a) {
    jpy_print *p = jn_arena_zalloc(&c->entry->arena, sizeof *p);
    if (!p)
        jcv_refuse(c, "out of memory");
    if (!jpy_print_can(NULL))
        jcv_refuse(c, "print() to a file of the program's own");
    saying s = {0};
    jcv_av *none = jcv_none(c), *sep = none, *end = none, *flush = jcv_bool(c, false), *file = none;
    for (unsigned i = 0; i < a->n_kw; i++) {
        const char *name = PyUnicode_AsUTF8(a->names[i]);
        jcv_av **to = !strcmp(name, "sep")     ? &sep
                      : !strcmp(name, "end")   ? &end
                      : !strcmp(name, "flush") ? &flush
                      : !strcmp(name, "file")  ? &file
                                               : NULL;
        if (!to)
            jcv_refuse(c, "print() with %s", name);
        *to = a->kw[i];
    }
    p->sep = jpy_guards_own(c->guards, text_option(c, sep, " "));
    p->end = jpy_guards_own(c->guards, text_option(c, end, "\n"));
    if (flush->kind != AV_PY || !PyBool_Check(flush->py))
        jcv_refuse(c, "print() with computed options");
    p->flush = flush->py == Py_True;
    if (!(file->kind == AV_PY && file->py == Py_None)) {
        if (file->kind != AV_PY || !file->src || !jpy_print_can(file->py))
            jcv_refuse(c, "print() to a file of the program's own");
        p->to_file = true;
        jcv_val *to = jcv_object_input(c, file->src);
        jcv_add(c, &s.values, to);
    }
    for (unsigned i = 0; i < a->n_pos; i++) {
        jcv_av *items = jcv_text_of_items(c, a->pos[i]);
        if (items || a->pos[i]->kind == AV_TEXT)
            jcv_text_pieces(c, items ? items : a->pos[i], say, &s);
        else
            say(c, &s, &(jpy_piece){JPY_SAY_STR, NULL, 1, true}, &a->pos[i]);
    }
    p->n_pieces = (unsigned)s.pieces.n;
    p->pieces = jn_arena_zalloc(&c->entry->arena, (s.pieces.n + 1) * sizeof *p->pieces);
    if (!p->pieces)
        jcv_refuse(c, "out of memory");
    if (s.pieces.n)
        memcpy(p->pieces, s.pieces.data, s.pieces.n * sizeof *p->pieces);
    janus_host_emit_attrs attrs = {sizeof attrs, (int64_t)c->entry->prints.n};
    if (!jn_vec_push(&c->entry->prints, p))
        jcv_refuse(c, "out of memory");
    jcv_op(c, JN_OP(host_emit), s.values.data, (unsigned)s.values.n, &attrs);
    c->n_effects++;
    c->n_outside++;
    return none;
}
