/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print(): an effect of the graph's log, formatted when the run is prepared and written first of
 * all at the commit, since only writing can raise: then the run is discarded and CPython prints.
 */
#include "pyfront/convert/convert.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/print.h"

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
    if (jcv_is_const(a) && !PyType_Check(a->py) && Py_TYPE(a->py) != jpy_function_type)
        return jcv_stored(c, a);
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

jcv_av *jcv_print(jcv *c, const jcv_args *a) {
    jpy_print *p = jn_arena_zalloc(&c->entry->arena, sizeof *p);
    if (!p)
        jcv_refuse(c, "out of memory");
    if (!jpy_print_can(NULL))
        jcv_refuse(c, "print() to a file of the program's own");
    jcv_val **v = jcv_alloc(c, (a->n_pos + 2) * sizeof *v);
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
    unsigned n = 0;
    if (!(file->kind == AV_PY && file->py == Py_None)) {
        if (file->kind != AV_PY || !file->src || !jpy_print_can(file->py))
            jcv_refuse(c, "print() to a file of the program's own");
        p->to_file = true;
        v[n++] = jcv_object_input(c, file->src);
    }
    for (unsigned i = 0; i < a->n_pos; i++)
        v[n++] = printed(c, a->pos[i]);
    janus_host_emit_attrs attrs = {sizeof attrs, (int64_t)c->entry->prints.n};
    if (!jn_vec_push(&c->entry->prints, p))
        jcv_refuse(c, "out of memory");
    jcv_op(c, JN_OP(host_emit), v, n, &attrs);
    c->n_effects++;
    return none;
}
