/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statement `with`: modes of the tensor layer, and instances of Python classes.
 *
 * What raises is never committed, so managers are only left without an exception.
 */
#include "pyfront/convert/syntax/syntax.h"

#include "pyfront/convert/model/model.h"

/* A manager that was entered: how to leave it. */
typedef struct entered {
    jcv_av *manager;
    PyObject *leave; /* its __exit__, or NULL: a mode */
    bool no_grad;
    uint32_t autocast;
} entered;

static bool enter_mode(jcv *c, jcv_av *a) {
    uint32_t word;
    if (a->kind != AV_PY)
        return false;
    if (jpy_autocast_object(a->py, &word))
        jpy_autocast_word = word;
    else if (jpy.ctx_type && Py_TYPE(a->py) == jpy.ctx_type)
        jcv_own(c, PyObject_CallMethod(a->py, "__enter__", NULL));
    else
        return false;
    return true;
}

static entered enter(jcv *c, jpy_tree *item) {
    entered e = {.no_grad = jpy_no_grad_mode, .autocast = jpy_autocast_word};
    PyObject *method;
    e.manager = jcv_eval(c, item->a);
    if (enter_mode(c, e.manager)) {
        if (item->b)
            jcv_refuse(c, "with ... as");
        return e;
    }
    bool known = jcv_how_is(c, e.manager, JCV_S_ENTER, JCV_METHOD, &method) == JCV_PYTHON &&
                 jcv_how_is(c, e.manager, JCV_S_EXIT, JCV_METHOD, &e.leave) == JCV_PYTHON;
    if (!known)
        jcv_refuse(c, "with %s", jcv_describe(e.manager));
    jcv_av *v = jcv_call_special(c, e.manager, method, NULL, 0);
    if (item->b)
        jcv_assign(c, item->b, v);
    return e;
}

static void leave(jcv *c, const entered *e) {
    jcv_av *none = jcv_none(c), *args[3] = {none, none, none};
    if (e->leave) {
        jcv_call_special(c, e->manager, e->leave, args, 3);
    } else {
        jpy_no_grad_mode = e->no_grad;
        jpy_autocast_word = e->autocast;
    }
}

jcv_out jcv_exec_with(jcv *c, jpy_tree *n) {
    entered *e = jcv_alloc(c, (n->x.n + 1) * sizeof *e);
    jcv_cont *cont = c->cont;
    int end = c->boundary;
    c->cont = NULL; /* what follows runs in another mode, or after __exit__ */
    c->boundary = JCV_END_OTHER;
    for (unsigned i = 0; i < n->x.n; i++)
        e[i] = enter(c, n->x.v[i]);
    jcv_out out = jcv_exec(c, &n->y);
    if (out == OUT_RETURN && jcv_yield_leaves(c))
        jcv_refuse(c, "a generator is left inside of a with block"); /* by an exception */
    c->at = n;
    jcv_av *result = c->slots.data[0];
    for (unsigned i = n->x.n; i-- > 0;)
        leave(c, &e[i]);
    jcv_put(c, 0, result);
    c->cont = cont;
    c->boundary = end;
    return out;
}
