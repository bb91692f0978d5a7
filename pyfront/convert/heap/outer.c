/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables that outlive the call: globals, and cells of functions that were made before it.
 *
 * One that is written is from then on a slot like an attribute that is written, and goes to its
 * dict or cell at commit; in a recursion it is live (live.c), as the key of a dict or the contents
 * of a cell.
 */
#include "pyfront/convert/heap/heap.h"

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/base/names.h"

static jpy_src *const_src(jcv *c, PyObject *o) {
    jpy_src *s = jpy_src_get(c->guards, JPY_SRC_CONST, NULL, NULL, o, 0);
    if (!s)
        jcv_refuse(c, "out of memory");
    return s;
}

jcv_outer jcv_global_var(jcv *c, PyObject *dict, PyObject *name) {
    if (jpy_key_asks(dict, name))
        jcv_refuse(c, "a name that is looked up by code of the program");
    return (jcv_outer){dict, name, jcv_find_attr(c, dict, name) ? const_src(c, dict) : NULL,
                       jpy_src_get(c->guards, JPY_SRC_GLOBAL, NULL, dict, name, 0)};
}

jcv_outer jcv_cell_var(jcv *c, PyObject *closure, jpy_src *closure_src, Py_ssize_t at) {
    jcv_outer x = {.holder = PyTuple_GET_ITEM(closure, at), .name = jpy_names.cell_contents};
    x.value_src = jpy_src_get(c->guards, JPY_SRC_CELL, closure_src, NULL, NULL, at);
    if (c->cells) /* which cells are one is looked at when some are written */
        x.src = jpy_src_get(c->guards, JPY_SRC_ITEM, closure_src, NULL, NULL, at);
    if (!x.value_src || (c->cells && !x.src))
        jcv_refuse(c, "out of memory");
    return x;
}

static PyObject *value_now(const jcv_outer *x) {
    return PyCell_Check(x->holder) ? PyCell_GET(x->holder)
                                   : PyDict_GetItemWithError(x->holder, x->name);
}

static jcv_live *live_of(jcv *c, const jcv_outer *x) { return jcv_live_var(c, x->holder, x->name); }

static jcv_val *holder_input(jcv *c, const jcv_outer *x) {
    return jcv_object_input(c, PyCell_Check(x->holder) ? x->src : const_src(c, x->holder));
}

static jcv_av *read_live(jcv *c, const jcv_outer *x, jcv_live *l) {
    PyObject *now = value_now(x), *heap = jcv_own(c, PyList_New(0));
    jcv_val *v;
    if (now && PyList_Append(heap, now) < 0)
        jcv_refuse_py(c);
    if (PyCell_Check(x->holder)) {
        jcv_val *in = holder_input(c, x);
        janus_host_attr_attrs attrs = {sizeof attrs, jcv_key_of(c, x->name)};
        v = &jcv_op(c, JN_OP(host_attr), &in, 1, &attrs)->out[0];
    } else {
        jcv_val *in[2] = {holder_input(c, x), jcv_object_input(c, const_src(c, x->name))};
        v = &jcv_op(c, JN_OP(host_key), in, 2, NULL)->out[0];
    }
    return jcv_host_got(c, v, jcv_with_stored(c, heap, l));
}

jcv_av *jcv_outer_read(jcv *c, const jcv_outer *x) {
    jcv_live *l = live_of(c, x);
    jcv_attr *a = jcv_find_attr(c, x->holder, x->name);
    if (l && (!PyCell_Check(x->holder) || x->src))
        return read_live(c, x, l);
    if (!a)
        return NULL;
    jcv_av *v = c->slots.data[a->slot];
    if (jcv_lacks(v, LACK_UNREAD))
        return NULL;
    if (v->kind == AV_UNDEF)
        jcv_refuse(c, "a variable outside: %s", v->text);
    return v;
}

void jcv_outer_write(jcv *c, const jcv_outer *x, jcv_av *v) {
    bool cell = PyCell_Check(x->holder);
    PyObject *now = value_now(x);
    if (v->kind == AV_UNDEF)
        jcv_refuse(c, "a variable outside is deleted");
    if (cell && !c->cells) {
        c->cells = true;
        snprintf(c->reason, sizeof c->reason, "a cell is written");
        jcv_throw_now(c, THROW_RESTART);
    }
    jcv_live *l = live_of(c, x);
    if (!l && c->ctx->fn->kind == JCV_FUNC)
        jcv_make_live_var(c, x->holder, x->name);
    c->n_effects++;
    c->n_outside++;
    if (l) {
        jcv_val *in[3] = {holder_input(c, x),
                          cell ? NULL : jcv_object_input(c, const_src(c, x->name)),
                          jcv_stored(c, v)};
        if (cell)
            in[1] = in[2];
        jcv_live_learn(c, l, v);
        janus_host_setattr_attrs attr = {sizeof attr, cell ? jcv_key_of(c, x->name) : 0,
                                         jcv_tag_of(c, v)};
        janus_host_setkey_attrs key = {sizeof key, jcv_tag_of(c, v)};
        jcv_op(c, cell ? JN_OP(host_setattr) : JN_OP(host_setkey), in, cell ? 2 : 3,
               cell ? (const void *)&attr : (const void *)&key);
        c->live_epoch++;
        return;
    }
    jcv_wrote(c);
    jcv_attr *a = jcv_find_attr(c, x->holder, x->name);
    if (!a) {
        jcv_av *first = jcv_lacking(c, LACK_UNREAD, "it was not looked at");
        if (c->ctx != c->main && !now)
            first = jcv_lacking(c, LACK_UNBOUND, "it was not there");
        if (c->ctx != c->main && now)
            first = jcv_wrap(c, now, x->value_src);
        uint32_t slot =
            jcv_attr_slot(c, x->holder, x->name, cell ? x->src : const_src(c, x->holder), first);
        jcv_put(c, slot, v);
        return;
    }
    jcv_put(c, a->slot, v);
}
