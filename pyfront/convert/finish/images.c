/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both images of a function whose dims vary must do the same: the same text of the graph, the same
 * guards, the same commit (core/dims.c).
 */
#include "pyfront/convert/finish/finish.h"

#include <string.h>

#include "ops/attrs.h"

static bool same_object(PyObject *a, PyObject *b) {
    return a == b ||
           (a && b && Py_TYPE(a) == Py_TYPE(b) && (!jpy_by_value(a) || jpy_same_value(a, b)));
}

static bool same_view(const jpy_view_step *a, const jpy_view_step *b) {
    bool same = a->op == b->op && a->n == b->n && jn_attrs_equal(a->op, a->attrs, b->attrs);
    for (unsigned i = 0; i < a->n && same; i++) /* all are 64 bits */
        same = a->kinds[i] == b->kinds[i] &&
               (a->kinds[i] == JANUS_KIND_NONE || a->extra[i].i == b->extra[i].i);
    return same;
}

static bool same_recipe(const jpy_recipe *a, const jpy_recipe *b) {
    if (!a || !b)
        return a == b;
    if (a->kind != b->kind || a->slot != b->slot || a->id != b->id || a->grad != b->grad ||
        a->if_result != b->if_result || a->freed != b->freed || a->n != b->n ||
        a->detached != b->detached || !a->strides != !b->strides || a->by_order != b->by_order ||
        !same_object(a->obj, b->obj))
        return false;
    unsigned n = a->kind == JPY_MAKE_VIEW ? 1 : a->n;
    for (unsigned i = 0; i < n && a->items; i++)
        if (!same_recipe(a->items[i], b->items[i]))
            return false;
    for (unsigned i = 0; a->kind == JPY_MAKE_VIEW && i < a->n; i++)
        if (!same_view(&a->views[i], &b->views[i]))
            return false;
    return true;
}

static bool same_commit(const jpy_entry *a, const jpy_entry *b) {
    if (a->steps.n != b->steps.n || !same_recipe(a->result, b->result) ||
        !same_recipe(a->held, b->held) || a->unsure != b->unsure)
        return false;
    for (size_t i = 0; i < a->steps.n; i++) {
        jpy_commit_step x = a->steps.data[i], y = b->steps.data[i];
        if (x.kind != y.kind || x.slot != y.slot || x.when != y.when || x.counted != y.counted ||
            !same_object(x.key, y.key) || !same_recipe(x.value, y.value))
            return false;
    }
    return true;
}

static bool same_guards(const jpy_guards *a, const jpy_guards *b) {
    if (a->srcs.n != b->srcs.n || a->written.n != b->written.n || a->bound.n != b->bound.n)
        return false;
    for (size_t i = 0; i < a->srcs.n; i++) {
        const jpy_src *x = a->srcs.data[i], *y = b->srcs.data[i];
        if (x->kind != y->kind || x->checks != y->checks || x->index != y->index ||
            x->number != y->number || x->tensor.n_any != y->tensor.n_any ||
            !same_object(x->key, y->key))
            return false;
    }
    return true;
}

/* The first line of x that y does not have there. */
static void tell_line(const char *x, const char *y, char *reason, size_t size) {
    size_t at = 0, line = 0;
    for (; x[at] && x[at] == y[at]; at++)
        line = x[at] == '\n' ? at + 1 : line;
    line += strspn(x + line, " ");
    snprintf(reason, size, "a size gets to where it may not vary: %.*s",
             (int)strcspn(x + line, "\n"), x + line);
}

static bool same_graph(const janus_module *a, const janus_module *b, char *reason, size_t size) {
    char *x = NULL, *y = NULL;
    bool both = janus_module_print(a, &x) == JANUS_OK && janus_module_print(b, &y) == JANUS_OK;
    bool same = both && strcmp(x, y) == 0;
    if (both && !same)
        tell_line(x, y, reason, size);
    janus_free(x);
    janus_free(y);
    return same;
}

bool jcv_same_entry(const jpy_entry *a, const jpy_entry *b, char *reason, size_t size) {
    snprintf(reason, size, "a size gets to where it may not vary: a result or a guard");
    return same_graph(a->module, b->module, reason, size) && same_guards(&a->guards, &b->guards) &&
           same_commit(a, b);
}
