/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that differ from call to call.
 *
 * What a text is decides what a function does, mostly: such a graph is for one text.  But names,
 * keys and messages may only be handed on, stored or returned, or not be used at all.  So one that
 * was seen to change is an object that only the graph knows, and if the graph does anything with it
 * but hand it on or ask for its kind or length, or none can be made, the conversion starts again
 * and assumes it for good.
 */
#include "pyfront/convert/heap/heap.h"

#include "ops/op_ids.h"
#include "pyfront/run/run.h"

typedef struct jcv_text {
    const jpy_src *src;
    const jcv_val *v;
    struct jcv_text *next;
} jcv_text;

jcv_av *jcv_varying_text(jcv *c, PyObject *o, jpy_src *src) {
    jpy_src_check_type(c->guards, src, Py_TYPE(o));
    jcv_av *a = jcv_to_host(c, jcv_py(c, o, src));
    if (!jcv_type_known(c, a))
        jcv_known_type(c, a->val, Py_TYPE(o));
    jcv_text *t = jcv_alloc(c, sizeof *t);
    *t = (jcv_text){src, a->val, c->texts};
    c->texts = t;
    return a;
}

bool jcv_text_varies(const jcv *c, const jcv_av *a) {
    const jcv_text *t = a->kind == AV_HOST ? c->texts : NULL;
    while (t && t->v != a->val)
        t = t->next;
    return t != NULL;
}

/* Whether a node only stores its operand i, or prints it, or asks how long it is. */
static bool hands_on(const jcv_node *n, unsigned i) {
    if (n->op == JN_OP(host_emit) || n->op == JN_OP(host_len))
        return true;
    return (n->op == JN_OP(host_setattr) || n->op == JN_OP(host_setitem) ||
            n->op == JN_OP(host_insert) || n->op == JN_OP(host_setkey) ||
            n->op == JN_OP(host_append)) &&
           i + 1 == n->n_in;
}

static bool is_read(const jcv *c, const jcv_val *v) {
    for (size_t k = 0; k < c->ctxs.n; k++)
        for (size_t j = 0; j < c->ctxs.data[k]->nodes.n; j++) {
            const jcv_node *n = c->ctxs.data[k]->nodes.data[j];
            for (unsigned i = 0; i < n->n_in; i++)
                if (n->in[i] == v && !hands_on(n, i))
                    return true;
        }
    return false;
}

bool jcv_texts_asked(jcv *c) {
    bool none = c->thrown != THROW_NONE, any = false;
    for (const jcv_text *t = c->texts; t; t = t->next)
        if (none || is_read(c, t->v)) {
            PyObject *path = jpy_src_path(t->src, true);
            if (path)
                jpy_hints_number_is(c->f, path, true);
            Py_XDECREF(path);
            any = true;
        }
    return any;
}
