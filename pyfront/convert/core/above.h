/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rooms ask of the rooms above them.
 *
 * Evaluating Python is one recursion: an operator may call a method, whose body is statements,
 * which have operators.  So nine functions of the rooms above are reached through a table, which
 * the one who starts a conversion fills (finish/convert.c); nothing else points up.
 */
#ifndef JPY_CONVERT_CORE_ABOVE_H
#define JPY_CONVERT_CORE_ABOVE_H

#include "pyfront/convert/core/state.h"

typedef struct jcv_args {
    jcv_av **pos;
    unsigned n_pos;
    PyObject **names;
    jcv_av **kw;
    unsigned n_kw;
} jcv_args;

typedef void (*jcv_visit_fn)(jcv *c, void *user, jcv_av *item);

typedef struct jcv_above {
    jcv_av *(*call)(jcv *c, jcv_av *f, const jcv_args *args);
    jcv_av *(*run_body)(jcv *c, jcv_frame *fr);
    jcv_av *(*call_method)(jcv *c, jcv_av *self, const char *name, const jcv_args *args);
    jcv_av *(*getattr)(jcv *c, jcv_av *o, PyObject *name);
    void (*visit)(jcv *c, jcv_av *over, const jcv_leave *leave, jcv_visit_fn fn, void *user);
    bool (*items)(jcv *c, jcv_av *a, jcv_av ***out, unsigned *n);
    jcv_av *(*to_copy)(jcv *c, jcv_av *a, size_t made);
    jcv_av *(*from_copy)(jcv *c, jcv_av *a);
    jcv_val *(*text)(jcv *c, jcv_av *a);
} jcv_above;

/* f(*args). */
static inline jcv_av *jcv_call(jcv *c, jcv_av *f, const jcv_args *args) {
    return c->above->call(c, f, args);
}

static inline jcv_av *jcv_call1(jcv *c, jcv_av *f, jcv_av *a) {
    return jcv_call(c, f, &(jcv_args){.pos = &a, .n_pos = 1});
}

/* self.name(*args), of a method of a native type. */
static inline jcv_av *jcv_call_method(jcv *c, jcv_av *self, const char *name,
                                      const jcv_args *args) {
    return c->above->call_method(c, self, name, args);
}

/* o.name; refuses where there is none. */
static inline jcv_av *jcv_getattr(jcv *c, jcv_av *o, PyObject *name) {
    return c->above->getattr(c, o, name);
}

/* The body of a frame's function, whose parameters are bound: what it returns. */
static inline jcv_av *jcv_run_body(jcv *c, jcv_frame *fr) { return c->above->run_body(c, fr); }

/* Calls fn with the items of something iterable, one by one, as a `for` does; leave: how fn may end
 * that, NULL: it may not. */
static inline void jcv_visit(jcv *c, jcv_av *over, const jcv_leave *leave, jcv_visit_fn fn,
                             void *user) {
    c->above->visit(c, over, leave, fn, user);
}

/* Items of something iterable whose length is known; false: it is not. */
static inline bool jcv_items(jcv *c, jcv_av *a, jcv_av ***out, unsigned *n) {
    return c->above->items(c, a, out, n);
}

/* Instances in it, made after `made` others, as records of their attributes; an instance of each
 * record (objects/copies.c). */
static inline jcv_av *jcv_to_copy(jcv *c, jcv_av *a, size_t made) {
    return c->above->to_copy(c, a, made);
}
static inline jcv_av *jcv_from_copy(jcv *c, jcv_av *a) { return c->above->from_copy(c, a); }

/* The object that a text with numbers of the graph is (AV_TEXT), where it is stored or left. */
static inline jcv_val *jcv_text_object(jcv *c, jcv_av *a) { return c->above->text(c, a); }

#endif
