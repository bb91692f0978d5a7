/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain by source line: the text of lines, and what became of each line of a function.
 *
 * Positions are those that nodes of the graph carry, so callees that were inlined or became
 * SubGraphs appear under their own files.
 */
#include "pyfront/explain.h"

#include <stdlib.h>
#include <string.h>

#include "graph/base/vec.h"
#include "graph/graph.h"

PyObject *jpy_source_line(const char *file, unsigned line) {
    PyObject *linecache = file && line ? PyImport_ImportModule("linecache") : NULL;
    PyObject *text = linecache ? PyObject_CallMethod(linecache, "getline", "sI", file, line) : NULL;
    PyObject *bare = text ? PyObject_CallMethod(text, "strip", NULL) : NULL;
    Py_XDECREF(linecache);
    Py_XDECREF(text);
    PyErr_Clear();
    if (bare && PyUnicode_GET_LENGTH(bare) == 0)
        Py_CLEAR(bare);
    return bare;
}

void jpy_note_at(jpy_function *f, const char *text, const char *file, unsigned line) {
    PyObject *source = jpy_source_line(file, line);
    const char *s = source ? PyUnicode_AsUTF8(source) : NULL;
    PyErr_Clear();
    if (s)
        jpy_note(f, "%s\n      %u | %.200s", text, line, s);
    else
        jpy_note(f, "%s", text);
    Py_XDECREF(source);
}

typedef struct line_use {
    const char *file;
    uint32_t line;
    JN_VEC(const char *) ops;
    JN_VEC(unsigned) counts;
} line_use;

typedef JN_VEC(line_use) line_uses;

static int by_place(const void *a, const void *b) {
    const line_use *x = a, *y = b;
    int files = strcmp(x->file, y->file);
    return files ? files : (x->line > y->line) - (x->line < y->line);
}

static bool count(line_uses *all, const jn_node *n) {
    size_t i = 0, k = 0;
    while (i < all->n &&
           !(all->data[i].line == n->loc.line && !strcmp(all->data[i].file, n->loc.file)))
        i++;
    if (i == all->n && !jn_vec_push(all, ((line_use){n->loc.file, n->loc.line, {0}, {0}})))
        return false;
    line_use *u = &all->data[i];
    while (k < u->ops.n && u->ops.data[k] != n->op->name)
        k++;
    if (k < u->ops.n) {
        u->counts.data[k]++;
        return true;
    }
    return jn_vec_push(&u->ops, n->op->name) && jn_vec_push(&u->counts, 1u);
}

/* "  file.py:12 | text" and, below it, the ops. */
static int describe(const line_use *u, PyObject *list) {
    const char *slash = strrchr(u->file, '/');
    PyObject *source = jpy_source_line(u->file, u->line);
    PyObject *line = PyUnicode_FromFormat("  %s:%u | %V", slash ? slash + 1 : u->file, u->line,
                                          source, "(no source)");
    PyObject *ops = PyUnicode_FromString("      ");
    for (size_t k = 0; k < u->ops.n && ops; k++) {
        PyObject *more = u->counts.data[k] > 1
                             ? PyUnicode_FromFormat("%U%s%s x%u", ops, k ? ", " : "",
                                                    u->ops.data[k], u->counts.data[k])
                             : PyUnicode_FromFormat("%U%s%s", ops, k ? ", " : "", u->ops.data[k]);
        Py_SETREF(ops, more);
    }
    int bad = !line || !ops || PyList_Append(list, line) < 0 || PyList_Append(list, ops) < 0;
    Py_XDECREF(source);
    Py_XDECREF(line);
    Py_XDECREF(ops);
    return bad ? -1 : 0;
}

int jpy_describe_lines(const janus_module *m, PyObject *list) {
    line_uses all = {0};
    bool ok = true;
    for (size_t i = 0; i < m->subs.n && ok; i++) {
        const jn_subgraph *g = m->subs.data[i];
        for (size_t k = 1; k < g->nodes.n && ok; k++) {
            const jn_node *n = g->nodes.data[k];
            bool constant = !n->n_in && !strncmp(n->op->name, "s.", 2);
            if (n->loc.file && n->loc.line && !constant)
                ok = count(&all, n);
        }
    }
    if (all.n)
        qsort(all.data, all.n, sizeof *all.data, by_place);
    int rc = ok ? 0 : -1;
    if (!ok)
        PyErr_NoMemory();
    for (size_t i = 0; i < all.n; i++) {
        if (rc == 0)
            rc = describe(&all.data[i], list);
        jn_vec_free(&all.data[i].ops);
        jn_vec_free(&all.data[i].counts);
    }
    jn_vec_free(&all);
    return rc;
}
