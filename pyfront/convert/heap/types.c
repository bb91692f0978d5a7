/* SPDX-License-Identifier: Apache-2.0 */
/* What a type has under a name, with a guard that it goes on to have it. */
#include "pyfront/convert/heap/heap.h"

void jcv_guard_type(jcv *c, PyTypeObject *t) {
    if (t->tp_flags & Py_TPFLAGS_IMMUTABLETYPE)
        return;
    jpy_type_want *w = jpy_guards_type(c->guards, t);
    jpy_src *s = w && w->guarded /* by an object of the type */
                     ? NULL
                     : jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, (PyObject *)t, 3);
    if (!w || (!s && !w->guarded))
        jcv_refuse(c, "out of memory");
    w->guarded = true;
    if (s) {
        s->type = w;
        s->checks |= JPY_CHECK_VERSION;
    }
}

PyObject *jcv_lookup(jcv *c, PyTypeObject *t, PyObject *name) {
    jcv_guard_type(c, t);
    return jpy_guards_lookup(c->guards, t, name, false);
}

PyObject *jcv_lookup_kind(jcv *c, PyTypeObject *t, PyObject *name) {
    jcv_guard_type(c, t);
    return jpy_guards_lookup(c->guards, t, name, true);
}

PyObject *jcv_lookup_str(jcv *c, PyTypeObject *t, const char *name) {
    return jcv_lookup(c, t, jcv_own(c, PyUnicode_InternFromString(name)));
}
