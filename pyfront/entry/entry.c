/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of entries.
 *
 * An entry is an object that the garbage collector knows, since what its guards hold often holds
 * the function that holds the entry: globals, cells, modules, the function itself.  It is shared:
 * the function has it, and so has every region of the tape that was run by it.  As an object each
 * of these references is counted and visited on its own, so the collector neither takes what a
 * living region needs nor keeps what only garbage refers to.  Nothing is cleared in it: each cycle
 * through an entry also passes a function or a region, which is.
 */
#include "pyfront/entry/parts.h"

#include <stdlib.h>
#include <string.h>

#include "graph/ir/ir.h"
#include "ops/op_ids.h"
#include "pyfront/entry/print.h"
#include "pyfront/op/op.h"

PyTypeObject *jpy_entry_type;

static int entry_traverse(PyObject *self, visitproc visit, void *arg) {
    const jpy_entry *e = (const jpy_entry *)self;
    Py_VISIT(Py_TYPE(self));
    for (size_t i = 0; i < e->guards.owned.n; i++)
        Py_VISIT(e->guards.owned.data[i]);
    Py_VISIT(e->attr_names);
    Py_VISIT(e->type_list);
    Py_VISIT(e->methods);
    return 0;
}

static void entry_dealloc(PyObject *self) {
    jpy_entry *e = (jpy_entry *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    for (unsigned k = 0; k < e->n_stages; k++) {
        jn_vec_free(&e->stages[k].in);
        jn_vec_free(&e->stages[k].kept);
        jn_vec_free(&e->stages[k].copies);
        jn_vec_free(&e->stages[k].groups);
        jn_vec_free(&e->stages[k].arms);
        jn_vec_free(&e->stages[k].out);
        jn_vec_free(&e->stages[k].seen);
        jn_vec_free(&e->stages[k].place);
    }
    jn_vec_free(&e->grad_of);
    jn_vec_free(&e->looked);
    jn_vec_free(&e->prints);
    jn_vec_free(&e->visited);
    jn_vec_free(&e->left_out);
    jpy_guards_free(&e->guards);
    jn_module_release(e->module);
    jn_vec_free(&e->inputs);
    jn_vec_free(&e->steps);
    Py_XDECREF(e->attr_names);
    Py_XDECREF(e->type_list);
    Py_XDECREF(e->methods);
    Py_XDECREF(e->kept_as);
    jn_arena_free(&e->arena);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

jpy_entry *jpy_entry_new(const jpy_call *call, bool grad_mode) {
    jpy_entry *e = PyObject_GC_New(jpy_entry, jpy_entry_type);
    if (!e)
        return NULL;
    memset((char *)e + sizeof(PyObject), 0, sizeof *e - sizeof(PyObject));
    jn_arena_init(&e->arena, 4096);
    jpy_guards_init(&e->guards);
    e->guards.n_pos = call->n_pos;
    e->guards.kwnames = jpy_guards_own(&e->guards, call->kwnames);
    e->guards.grad_mode = grad_mode;
    e->guards.autocast = jpy_autocast_word;
    e->attr_names = PyList_New(0);
    e->type_list = PyList_New(0);
    e->methods = PyList_New(0);
    PyObject_GC_Track(e);
    if (e->attr_names && e->type_list && e->methods)
        return e;
    Py_DECREF(e);
    return NULL;
}

/* Whether a result has objects of the call's own. */
static bool has_given(const jpy_recipe *r) {
    unsigned n = r->kind == JPY_MAKE_VIEW ? 1 : r->n; /* a view's `n` counts its steps */
    bool has = r->kind == JPY_MAKE_SOURCE;
    for (unsigned i = 0; r->items && i < n && !has; i++)
        has = has_given(r->items[i]);
    return has;
}

bool jpy_entry_plain(jpy_entry *e) {
    if (e->plain)
        return e->plain == 2;
    bool plain = !e->has_effects && !e->n_stages && !e->n_frames && !e->steps.n && !e->prints.n;
    for (size_t i = 0; i < e->inputs.n && plain; i++)
        plain = !e->inputs.data[i].used || e->inputs.data[i].kind <= JANUS_KIND_BOOL;
    for (unsigned i = 0; i < e->n_results && plain; i++)
        plain = e->main->result_types.data[i]->kind <= JANUS_KIND_BOOL;
    e->plain = plain && e->result && !has_given(e->result) && !e->held ? 2 : 1;
    return e->plain == 2;
}

void jpy_entry_free(jpy_entry *e) { Py_XDECREF((PyObject *)e); }
void jpy_entry_hold(jpy_entry *e) { Py_INCREF((PyObject *)e); }

static PyType_Slot entry_slots[] = {{Py_tp_dealloc, entry_dealloc},
                                    {Py_tp_traverse, entry_traverse},
                                    {Py_tp_doc, "A graph of a janus.Function, with its guards."},
                                    {0, NULL}};
static PyType_Spec entry_spec = {
    "janus._C.Entry", sizeof(jpy_entry), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, entry_slots};

int jpy_init_entry(PyObject *module) {
    jpy_entry_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &entry_spec, NULL);
    return jpy_entry_type ? 0 : -1;
}

int jpy_by_place(const void *a, const void *b) {
    const jn_loc *x = a, *y = b;
    int files = strcmp(x->file, y->file);
    int lines = (x->line > y->line) - (x->line < y->line);
    return files ? files : lines ? lines : (x->col > y->col) - (x->col < y->col);
}

void jpy_keep_visited(jpy_entry *e, const jn_loc *visited, size_t n, const jpy_left_out *out,
                      size_t n_out) {
    jn_loc *sorted = n ? jn_alloc(n * sizeof *sorted) : NULL;
    if (sorted) {
        memcpy(sorted, visited, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, jpy_by_place);
    }
    for (size_t i = 0; sorted && i < n; i++)
        if (!i || jpy_by_place(&sorted[i - 1], &sorted[i]))
            (void)jn_vec_push(&e->visited, sorted[i]);
    jn_free(sorted);
    for (size_t i = 0; i < n_out; i++) {
        const char *why = jn_arena_strdup(&e->arena, out[i].why);
        const char *file = out[i].at.file ? jn_arena_strdup(&e->arena, out[i].at.file) : NULL;
        if (why && file)
            (void)jn_vec_push(&e->left_out, ((jpy_left_out){why, {file, out[i].at.line, 0}}));
    }
}

/* ---- what a graph asks for by number ------------------------------------------------------------
 */

static uint64_t values_of(const jpy_print *p) {
    uint64_t n = p->to_file;
    for (unsigned i = 0; i < p->n_pieces; i++)
        n += p->pieces[i].n;
    return n;
}

const char *jpy_keys_wrong(const jpy_entry *e, const janus_module *m) {
    for (size_t k = 0; k < m->subs.n; k++) {
        const jn_subgraph *g = m->subs.data[k];
        for (size_t i = 1; i < g->nodes.n; i++) {
            const jn_node *n = g->nodes.data[i];
            const jn_attr_spec *spec =
                n->op->role == JN_ROLE_HOST && n->attrs ? jn_attr_find(n->op, "key", 3) : NULL;
            if (!spec)
                continue;
            int64_t key = *(const int64_t *)(const void *)((const char *)n->attrs + spec->offset);
            bool says = n->op == JN_OP(host_emit) || n->op == JN_OP(host_text);
            if (key < 0 || key >= (says ? (int64_t)e->prints.n : PyList_GET_SIZE(e->attr_names)))
                return says ? "there is no such text" : "there is no such attribute";
            if (says && values_of(e->prints.data[key]) != n->n_in)
                return "a text of another number of values";
        }
    }
    return NULL;
}
