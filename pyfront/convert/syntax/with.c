/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statement `with`: modes of the tensor layer, instances of Python classes, and generators that
 * `contextlib.contextmanager` has made managers.
 *
 * What raises is never committed, so managers are only left without an exception.  A generator is
 * no object that waits between two calls: the block runs where it yields.
 */
#include "pyfront/convert/syntax/syntax.h"

#include "pyfront/convert/heap/heap.h"
#include "pyfront/convert/model/model.h"
#include "pyfront/convert/objects/objects.h"
#include "pyfront/convert/values/values.h"

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

/* e: the modes before the manager was made, which may set one. */
static void enter(jcv *c, const jpy_tree *item, entered *e) {
    PyObject *method;
    if (enter_mode(c, e->manager)) {
        if (item->b)
            jcv_refuse(c, "with ... as");
        return;
    }
    bool known = jcv_how_is(c, e->manager, JCV_S_ENTER, JCV_METHOD, &method) == JCV_PYTHON &&
                 jcv_how_is(c, e->manager, JCV_S_EXIT, JCV_METHOD, &e->leave) == JCV_PYTHON;
    if (!known)
        jcv_refuse(c, "with %s", jcv_describe(e->manager));
    jcv_av *v = jcv_call_special(c, e->manager, method, NULL, 0);
    if (item->b)
        jcv_assign(c, item->b, v);
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

/* ---- generators ---------------------------------------------------------------------------------
 */

/* A statement, of which the first `at` managers are entered. */
typedef struct block {
    jpy_tree *n;
    unsigned at;
    jcv_ctx *ctx;
    jcv_leave *leave;
    bool ran;
    jcv_out out;
    jcv_av *result;
} block;

static jcv_out with(jcv *c, jpy_tree *n, unsigned at);

/* The generator of a manager that was not entered yet; NULL: it is none of these. */
static jcv_av *generator_of(jcv *c, jcv_av *manager) {
    static PyObject *type;
    if (!type) {
        PyObject *m = PyImport_ImportModule("contextlib");
        type = m ? PyObject_GetAttrString(m, "_GeneratorContextManager") : NULL;
        Py_XDECREF(m);
        if (!type)
            jcv_refuse_py(c);
    }
    if (manager->kind != AV_PY || (PyObject *)Py_TYPE(manager->py) != type ||
        !jcv_is_fresh(c, manager->py))
        return NULL;
    jcv_av *g = jcv_getattr_opt(c, manager, jcv_own(c, PyUnicode_InternFromString("gen")));
    bool new = g && g->kind == AV_SEQ && g->tree && g->tree->kind == JPY_DEF &&
               c->slots.data[g->slot]->kind == AV_PY;
    return new ? g : NULL;
}

/* Entering drops what the generator was made of. */
static void drop_made_of(jcv *c, jcv_av *manager) {
    static const char *const names[] = {"args", "kwds", "func"};
    for (int i = 0; i < 3; i++)
        jcv_delattr(c, manager, jcv_own(c, PyUnicode_InternFromString(names[i])));
}

static void at_yield(jcv *c, void *user, jcv_av *item) {
    block *b = user;
    jcv_cont *cont = c->cont;
    int end = c->boundary;
    jcv_leave *leave = c->leave;
    if (b->ran || c->ctx != b->ctx)
        jcv_refuse(c, "a context manager that may yield another number of times than once");
    b->ran = true;
    c->cont = NULL;
    c->boundary = JCV_END_OTHER;
    c->leave = b->leave;
    if (b->n->x.v[b->at]->b)
        jcv_assign(c, b->n->x.v[b->at]->b, item);
    b->out = with(c, b->n, b->at + 1);
    b->result = c->slots.data[0];
    c->cont = cont;
    c->boundary = end;
    c->leave = leave;
}

/* ---- the statement ------------------------------------------------------------------------------
 */

static jcv_out with(jcv *c, jpy_tree *n, unsigned at) {
    if (at == n->x.n) {
        jcv_out out = jcv_exec(c, &n->y);
        if (out == OUT_RETURN && jcv_yield_leaves(c))
            jcv_refuse(c, "a generator is left inside of a with block"); /* by an exception */
        c->at = n;
        return out;
    }
    entered e = {.no_grad = jpy_no_grad_mode, .autocast = jpy_autocast_word};
    jcv_av *manager = e.manager = jcv_eval(c, n->x.v[at]->a), *g = generator_of(c, manager);
    block b = {.n = n, .at = at, .ctx = c->ctx, .leave = c->leave};
    if (g) {
        drop_made_of(c, manager);
        jcv_visit(c, g, NULL, at_yield, &b);
        if (!b.ran)
            jcv_refuse(c, "a context manager that does not yield");
    } else {
        enter(c, n->x.v[at], &e);
        b.out = with(c, n, at + 1);
        b.result = c->slots.data[0];
        leave(c, &e);
    }
    jcv_put(c, 0, b.result);
    return b.out;
}

jcv_out jcv_exec_with(jcv *c, jpy_tree *n) {
    jcv_cont *cont = c->cont;
    int end = c->boundary;
    c->cont = NULL; /* what follows runs in another mode, or after __exit__ */
    c->boundary = JCV_END_OTHER;
    jcv_out out = with(c, n, 0);
    c->cont = cont;
    c->boundary = end;
    return out;
}
