/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A statement asks for what only the graph knows: the type of an object or number, the length of a
 * list or which string it is, of which some were seen.  What is done with that is syntax/fork.c.
 */
#include "pyfront/convert/heap/heap.h"

jcv_fork *jcv_fork_of(const jcv *c, const jpy_tree *statement) {
    jcv_fork *f = c->forks;
    while (f && f->statement != statement)
        f = f->next;
    return f;
}

bool jcv_forks(const jcv *c, const jpy_tree *statement) {
    return jcv_fork_of(c, statement) != NULL;
}

void jcv_fork_learnt(jcv *c) {
    snprintf(c->reason, sizeof c->reason, "a statement forks");
    jcv_throw_now(c, THROW_RESTART);
}

/* Leaves for the handler of the statement that runs. */
static void ask(jcv *c, jcv_asked asked) {
    const jpy_tree *s = c->running;
    if (!s)
        return;
    if (!jcv_forks(c, s)) {
        jcv_fork *f = jn_arena_zalloc(&c->keep, sizeof *f);
        if (!f)
            jcv_refuse(c, "out of memory");
        f->statement = s;
        f->rest = s->kind == JPY_IF || s->kind == JPY_FOR || s->kind == JPY_WHILE ||
                  s->kind == JPY_MATCH; /* one arm may leave where the other does not */
        f->next = c->forks;
        c->forks = f;
        jcv_fork_learnt(c);
    }
    c->asked = asked;
    jcv_throw_now(c, THROW_FORK);
}

void jcv_ask_type(jcv *c, jcv_av *o) {
    PyObject *all = jcv_types_of(c, o);
    ask(c, (jcv_asked){.val = o->val, .type = (PyTypeObject *)PyList_GET_ITEM(all, 0)});
    jcv_refuse(c, "objects of several types (%s, %s)",
               ((PyTypeObject *)PyList_GET_ITEM(all, 0))->tp_name,
               ((PyTypeObject *)PyList_GET_ITEM(all, 1))->tp_name);
}

void jcv_ask_length(jcv *c, jcv_av *o, int64_t length) {
    ask(c, (jcv_asked){.val = o->val, .length = length});
}

void jcv_ask_kind(jcv *c, jcv_av *o) { ask(c, (jcv_asked){.val = o->val, .holds = true}); }

void jcv_ask_empty(jcv *c, jcv_av *o) {
    bool empty = false, some = false;
    PyObject *samples = o->kind == AV_HOST ? jcv_samples(c, o) : NULL;
    for (Py_ssize_t i = 0; samples && i < PyList_GET_SIZE(samples); i++) {
        PyObject *s = PyList_GET_ITEM(samples, i);
        if (!PyList_CheckExact(s) && !PyTuple_Check(s))
            return;
        empty = empty || !Py_SIZE(s);
        some = some || Py_SIZE(s);
    }
    if (empty && some)
        ask(c, (jcv_asked){.val = o->val});
}

jcv_av *jcv_text_known(jcv *c, jcv_av *a) {
    PyObject *types =
        a->kind == AV_HOST && PyList_GET_SIZE(jcv_samples(c, a)) ? jcv_types_of(c, a) : NULL;
    bool text = types && PyList_GET_SIZE(types) == 1 &&
                PyList_GET_ITEM(types, 0) == (PyObject *)&PyUnicode_Type;
    return text ? jcv_which_text(c, a) : a;
}

bool jcv_any_text(jcv *c, jcv_av *o) {
    const jcv_fork *f = c->running ? jcv_fork_of(c, c->running) : NULL;
    return (f && f->texts) ||
           PySet_GET_SIZE(jcv_own(c, PySet_New(jcv_samples(c, o)))) > JCV_MAX_TEXTS;
}

jcv_av *jcv_which_text(jcv *c, jcv_av *o) {
    PyObject *samples = jcv_samples(c, o), *texts = jcv_own(c, PySet_New(samples));
    if (!PyList_GET_SIZE(samples))
        jcv_throw_now(c, THROW_DEAD);
    jcv_av *first = jcv_py(c, PyList_GET_ITEM(samples, 0), NULL);
    if (PySet_GET_SIZE(texts) > JCV_MAX_TEXTS)
        jcv_refuse(c, "very many strings");
    if (PySet_GET_SIZE(texts) > 1) {
        ask(c, (jcv_asked){.val = o->val, .text = first->py});
        jcv_refuse(c, "strings that only the graph knows");
    }
    jcv_assert(c, jcv_host_among(c, o, &first, 1), "a string is one that was seen");
    return first;
}
