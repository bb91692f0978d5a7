/* SPDX-License-Identifier: Apache-2.0 */
/* An entry as a dict of tuples: what of it is plain data as it is, and its objects themselves. */
#include "pyfront/stored/stored.h"

#include "pyfront/entry/entry.h"
#include "pyfront/function/function.h"

/* (object,), or None for no object: None is an object, too. */
static PyObject *box(PyObject *o) { return o ? PyTuple_Pack(1, o) : Py_NewRef(Py_None); }

/* A list of n items that `make` gives; NULL: raised. */
static PyObject *list_of(size_t n, PyObject *(*make)(const void *, size_t), const void *of) {
    PyObject *l = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; l && i < n; i++) {
        PyObject *one = make(of, i);
        if (one)
            PyList_SET_ITEM(l, (Py_ssize_t)i, one);
        else
            Py_CLEAR(l);
    }
    return l;
}

static PyObject *number32(const void *of, size_t i) {
    return PyLong_FromUnsignedLong(((const uint32_t *)of)[i]);
}
static PyObject *number64(const void *of, size_t i) {
    return PyLong_FromLongLong(((const int64_t *)of)[i]);
}
static PyObject *signed32(const void *of, size_t i) {
    return PyLong_FromLong(((const int32_t *)of)[i]);
}
static PyObject *truth(const void *of, size_t i) { return PyBool_FromLong(((const bool *)of)[i]); }
static PyObject *int64s(const int64_t *v, int n) {
    return v ? list_of((size_t)n, number64, v) : Py_NewRef(Py_None);
}

/* ---- guards ------------------------------------------------------------------------------------
 */

static PyObject *any_dim(const void *of, size_t i) {
    const jpy_any_dim *a = (const jpy_any_dim *)of + i;
    return Py_BuildValue("(iiI)", a->axis, a->of, a->slot);
}

static PyObject *tensor(const jpy_src *s) {
    const jpy_tensor_want *w = &s->tensor;
    if (!(s->checks & JPY_CHECK_TENSOR))
        return Py_NewRef(Py_None);
    return Py_BuildValue("(iiiiiNNNiii)", w->dtype, w->requires_grad, w->leaf, w->contiguous,
                         w->rank, int64s(w->dims, w->rank), int64s(w->strides, w->rank),
                         list_of(w->n_any, any_dim, w->any), w->part, w->alone, w->hooked);
}

static PyObject *source(const void *of, size_t i) {
    const jpy_guards *g = of;
    const jpy_src *s = g->srcs.data[i];
    int type = -1;
    for (size_t k = 0; s->type && k < g->types.n; k++)
        if (g->types.data[k] == s->type)
            type = (int)k;
    return Py_BuildValue("(iiLNNILLNNNiNiin)", (int)s->kind, s->parent ? (int)s->parent->slot : -1,
                         (long long)s->index, box(s->obj), box(jpy_src_key(s)), s->checks,
                         (long long)s->number, (long long)s->same, box(s->want), box(s->want2),
                         box(jpy_src_ident(s)), type, tensor(s), s->is_tensor_input, (int)s->how,
                         s->offset);
}

static PyObject *look(const void *of, size_t i) {
    const jpy_type_look *l = (const jpy_type_look *)of + i;
    return Py_BuildValue("(ONi)", l->name, box(l->found), l->plain);
}

static PyObject *type(const void *of, size_t i) {
    const jpy_type_want *w = ((const jpy_guards *)of)->types.data[i];
    return Py_BuildValue("(ONi)", w->type, list_of(w->looks.n, look, w->looks.data), w->guarded);
}

/* ---- results and effects -----------------------------------------------------------------------
 */

typedef struct parts {
    const jpy_entry *e;
    jpy_recipe *const *items;
} parts;

static PyObject *recipe(const jpy_entry *e, const jpy_recipe *r);
static PyObject *part(const void *of, size_t i) {
    const parts *p = of;
    return recipe(p->e, p->items[i]);
}

/* (name of the op, its attributes as in graphs, [(kind, bits) of an operand behind the first]). */
static PyObject *extra(const void *of, size_t i) {
    const jpy_view_step *v = of;
    return Py_BuildValue("(iL)", (int)v->kinds[i], (long long)v->extra[i].i);
}

static PyObject *view(const void *of, size_t i) {
    const jpy_view_step *v = (const jpy_view_step *)of + i;
    jn_str s = {0};
    jn_attrs_print(v->op, v->attrs, &s);
    PyObject *o = jn_str_ok(&s) ? Py_BuildValue("(ssN)", v->op->name, s.data ? s.data : "",
                                                list_of(v->n, extra, v))
                                : PyErr_NoMemory();
    jn_str_free(&s);
    return o;
}

static PyObject *recipe(const jpy_entry *e, const jpy_recipe *r) {
    bool is_view = r->kind == JPY_MAKE_VIEW;
    if (Py_EnterRecursiveCall(" in the result of a graph"))
        return NULL;
    parts p = {e, r->items};
    PyObject *items = list_of(is_view ? 1 : r->items ? r->n : 0, part, &p);
    Py_LeaveRecursiveCall();
    int rank = r->strides ? e->main->result_types.data[r->slot]->rank : 0;
    return items ? Py_BuildValue("(iIIIIiiiNiNNiN)", (int)r->kind, r->slot, r->id, r->grad,
                                 r->if_result, r->freed, r->leaf, r->uncounted,
                                 int64s(r->strides, rank), r->by_order, box(r->obj), items,
                                 r->detached, list_of(is_view ? r->n : 0, view, r->views))
                 : NULL;
}

static PyObject *step(const void *of, size_t i) {
    const jpy_entry *e = of;
    const jpy_commit_step *s = &e->steps.data[i];
    PyObject *value = recipe(e, s->value);
    return value ? Py_BuildValue("(iINNIIiII)", (int)s->kind, s->slot, box(s->key), value, s->when,
                                 s->put, s->uncounted, s->counted, s->more)
                 : NULL;
}

static PyObject *input(const void *of, size_t i) {
    const jpy_input *in = (const jpy_input *)of + i;
    return Py_BuildValue("(Iii)", in->slot, in->kind, in->used);
}

static PyObject *piece(const void *of, size_t i) {
    const jpy_piece *p = (const jpy_piece *)of + i;
    return Py_BuildValue("(iNIi)", (int)p->how, box(p->text), p->n, p->last);
}

static PyObject *print(const void *of, size_t i) {
    const jpy_print *p = ((jpy_print *const *)of)[i];
    return Py_BuildValue("(NNiiN)", box(p->sep), box(p->end), p->flush, p->to_file,
                         list_of(p->n_pieces, piece, p->pieces));
}

/* ---- gradients ---------------------------------------------------------------------------------
 */

static PyObject *gradient(const jpy_gradient *g, const jn_subgraph *of) {
    return g->sub ? Py_BuildValue("(sN)", g->sub->name, list_of(of->params.n, signed32, g->present))
                  : Py_NewRef(Py_None);
}

static PyObject *tracked(const void *of, size_t i) {
    const jpy_stage *x = of;
    const jpy_tracked *t = &x->in.data[i];
    return Py_BuildValue("(IIIIN)", t->stage, t->slot, t->param, t->gradient,
                         list_of(x->out.n, truth, t->outs));
}

static PyObject *kept(const void *of, size_t i) {
    const jpy_kept *k = (const jpy_kept *)of + i;
    return Py_BuildValue("(IsIKKIiiiiI)", k->slot, k->op, k->writes, (unsigned long long)k->outs,
                         (unsigned long long)k->ins, k->at, (int)k->arm, k->is_result, k->maybe,
                         k->copied, k->stored);
}

static PyObject *copied(const void *of, size_t i) {
    const jpy_copy *c = (const jpy_copy *)of + i;
    return Py_BuildValue("(IIIii)", c->kept, c->member, c->of, c->param, c->back);
}

static PyObject *group(const void *of, size_t i) {
    const jpy_group *g = (const jpy_group *)of + i;
    return Py_BuildValue("(KKIiI)", (unsigned long long)g->outs, (unsigned long long)g->ins, g->at,
                         (int)g->arm, g->same);
}

static PyObject *arm(const void *of, size_t i) {
    const jpy_arm *a = (const jpy_arm *)of + i;
    return Py_BuildValue("(Iii)", a->result, a->holds, (int)a->also);
}

static PyObject *single(const void *of, size_t i) {
    const jpy_stage *x = of;
    return gradient(&x->alone[i], x->sub);
}

static PyObject *stage(const void *of, size_t i) {
    const jpy_stage *x = (const jpy_stage *)of + i;
    return Py_BuildValue(
        "(sNNNNNNNNNN)", x->sub->name, list_of(x->place.n, number32, x->place.data),
        gradient(&x->grad, x->sub), list_of(JPY_MAX_ALONE, single, x), gradient(&x->some, x->sub),
        list_of(x->in.n, tracked, x), list_of(x->kept.n, kept, x->kept.data),
        list_of(x->groups.n, group, x->groups.data), list_of(x->seen.n, number32, x->seen.data),
        list_of(x->arms.n, arm, x->arms.data), list_of(x->copies.n, copied, x->copies.data));
}

static PyObject *place(const void *of, size_t i) {
    const jpy_place *p = (const jpy_place *)of + i;
    return Py_BuildValue("(II)", p->stage, p->out);
}

/* ---- for explain -------------------------------------------------------------------------------
 */

static PyObject *position(const void *of, size_t i) {
    const jn_loc *at = (const jn_loc *)of + i;
    return Py_BuildValue("(zII)", at->file, at->line, at->col);
}

static PyObject *left_out(const void *of, size_t i) {
    const jpy_left_out *l = (const jpy_left_out *)of + i;
    return Py_BuildValue("(szII)", l->why, l->at.file, l->at.line, l->at.col);
}

/* ---- all of it ---------------------------------------------------------------------------------
 */

static int put(PyObject *d, const char *name, PyObject *v) { /* takes v */
    int rc = v ? PyDict_SetItemString(d, name, v) : -1;
    Py_XDECREF(v);
    return rc;
}

static PyObject *flags(const jpy_entry *e) {
    return Py_BuildValue("(IIIIiiiiiiii)", e->n_results, e->n_frames, e->n_tracked, e->n_recipes,
                         e->keeps_results, e->has_effects, e->any_dims, e->any_length, e->wires,
                         e->local, e->module->running_sums, e->unsure);
}

static PyObject *call_guards(const jpy_guards *g) {
    return Py_BuildValue("(nNiIiNNN)", g->n_pos, box(g->kwnames), g->grad_mode, g->autocast,
                         g->device, list_of(g->identity.n, number32, g->identity.data),
                         list_of(g->written.n, number32, g->written.data),
                         list_of(g->bound.n, number32, g->bound.data));
}

PyObject *jpy_stored_dump(PyObject *module, PyObject *arg) {
    (void)module;
    const jpy_entry *e = (const jpy_entry *)arg;
    const jpy_guards *g = &e->guards;
    if (Py_TYPE(arg) != jpy_entry_type)
        return PyErr_Format(PyExc_TypeError, "_stored_dump: an entry is needed");
    if (e->of_process || e->remains)
        return PyErr_Format(PyExc_ValueError, "the graph depends on hashes of this process");
    PyObject *d = PyDict_New();
    if (d && put(d, "text", jpy_module_text(e->module, ".jir")) == 0 &&
        put(d, "main", PyUnicode_FromString(e->main->name)) == 0 &&
        put(d, "flags", flags(e)) == 0 && put(d, "call", call_guards(g)) == 0 &&
        put(d, "sources", list_of(g->srcs.n, source, g)) == 0 &&
        put(d, "types", list_of(g->types.n, type, g)) == 0 &&
        put(d, "inputs", list_of(e->inputs.n, input, e->inputs.data)) == 0 &&
        put(d, "lent", list_of(e->n_results + e->n_frames, truth, e->lent)) == 0 &&
        put(d, "steps", list_of(e->steps.n, step, e)) == 0 &&
        put(d, "result", recipe(e, e->result)) == 0 &&
        put(d, "held", e->held ? recipe(e, e->held) : Py_NewRef(Py_None)) == 0 &&
        put(d, "stages", list_of(e->n_stages, stage, e->stages)) == 0 &&
        put(d, "place", list_of(e->n_tracked, place, e->place)) == 0 &&
        put(d, "tracked", list_of(e->grad_of.n, number32, e->grad_of.data)) == 0 &&
        put(d, "looked", list_of(e->looked.n, number32, e->looked.data)) == 0 &&
        put(d, "prints", list_of(e->prints.n, print, e->prints.data)) == 0 &&
        put(d, "attributes", Py_NewRef(e->attr_names)) == 0 &&
        put(d, "tokens", Py_NewRef(e->type_list)) == 0 &&
        put(d, "methods", Py_NewRef(e->methods)) == 0 &&
        put(d, "visited", list_of(e->visited.n, position, e->visited.data)) == 0 &&
        put(d, "left", list_of(e->left_out.n, left_out, e->left_out.data)) == 0)
        return d;
    Py_XDECREF(d);
    return NULL;
}
