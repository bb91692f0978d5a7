/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of an entry: nodes of the tape and their gradients. */
#include "pyfront/stored/building.h"

static int gradient(jpy_building *b, PyObject *t, jpy_gradient *out) {
    const char *name;
    PyObject *present;
    size_t n;
    if (t == Py_None)
        return 0;
    if (!PyTuple_CheckExact(t) || !PyArg_ParseTuple(t, "sO!", &name, &PyList_Type, &present) ||
        !(out->sub = jpy_stored_subgraph(b, name)))
        return -1;
    const int64_t *v = jpy_stored_numbers(b, present, -1, (int64_t)out->sub->results.n, &n);
    int32_t *p = v ? jn_arena_alloc(&b->e->arena, (n + 1) * sizeof *p) : NULL;
    if (!p || n != b->of->params.n)
        return -1;
    for (size_t i = 0; i < n; i++)
        p[i] = (int32_t)v[i];
    out->present = p;
    return 0;
}

static int take_tracked(jpy_building *b, PyObject *t) {
    jpy_tracked in = {0};
    PyObject *outs;
    const jpy_stage *x = b->stage;
    if (!PyArg_ParseTuple(t, "IIIIO", &in.stage, &in.slot, &in.param, &in.gradient, &outs) ||
        !(in.outs = jpy_stored_truths(b, outs, x->out.n)) || in.param >= b->of->params.n ||
        in.gradient >= x->grad.sub->results.n)
        return -1;
    bool fits = in.stage == JPY_NO_STAGE ? jpy_stored_is_tensor(b, in.slot)
                                         : in.stage < (uint32_t)(x - b->e->stages) &&
                                               in.slot < b->e->stages[in.stage].out.n;
    return !fits ? -1 : jn_vec_push(&b->stage->in, in) ? 0 : jpy_stored_no_memory();
}

static int take_kept(jpy_building *b, PyObject *t) {
    jpy_kept k = {0};
    unsigned long long outs, ins;
    int is_result, maybe, copied;
    const char *op;
    if (!PyArg_ParseTuple(t, "IsIKKIbpppI", &k.slot, &op, &k.writes, &outs, &ins, &k.at, &k.arm,
                          &is_result, &maybe, &copied, &k.stored) ||
        k.arm > b->stage->arms.n || (k.stored && !jpy_stored_result(b, k.stored - 1)) ||
        !(is_result ? jpy_stored_result(b, k.slot) != NULL : jpy_stored_is_tensor(b, k.slot)) ||
        !(k.op = jn_arena_strdup(&b->e->arena, op)))
        return -1;
    k.outs = outs;
    k.ins = ins;
    k.is_result = is_result;
    k.maybe = maybe;
    k.copied = copied;
    return jn_vec_push(&b->stage->kept, k) ? 0 : jpy_stored_no_memory();
}

static int take_copy(jpy_building *b, PyObject *t) {
    jpy_copy c = {0};
    int param, back;
    const jpy_stage *x = b->stage;
    if (!PyArg_ParseTuple(t, "IIIpp", &c.kept, &c.member, &c.of, &param, &back) ||
        c.kept >= x->kept.n || c.member >= x->sub->saved.n || x->sub->saved.data[c.member].frame ||
        c.of >= (param ? x->sub->params.n : x->sub->results.n))
        return -1;
    c.param = param;
    c.back = back;
    return jn_vec_push(&b->stage->copies, c) ? 0 : jpy_stored_no_memory();
}

static int take_group(jpy_building *b, PyObject *t) {
    unsigned long long outs, ins;
    unsigned at, same;
    unsigned char arm;
    if (!PyArg_ParseTuple(t, "KKIbI", &outs, &ins, &at, &arm, &same) || arm > b->stage->arms.n ||
        same > b->stage->groups.n) /* it is the first, or after that */
        return -1;
    return jn_vec_push(&b->stage->groups, ((jpy_group){outs, ins, at, arm, same}))
               ? 0
               : jpy_stored_no_memory();
}

static int take_arm(jpy_building *b, PyObject *t) {
    jpy_arm a;
    int holds;
    if (!PyArg_ParseTuple(t, "Ipb", &a.result, &holds, &a.also) || a.also > b->stage->arms.n ||
        b->stage->arms.n == JPY_MAX_ARMS)
        return -1;
    const jn_type *type = jpy_stored_result(b, a.result);
    a.holds = holds;
    if (!type || (type->kind != JANUS_KIND_BOOL && type->kind != JANUS_KIND_INT))
        return -1;
    return jn_vec_push(&b->stage->arms, a) ? 0 : jpy_stored_no_memory();
}

static int take_stage(jpy_building *b, PyObject *t) {
    jpy_entry *e = b->e;
    jpy_stage *x = b->stage = &e->stages[e->n_stages];
    const char *name;
    PyObject *places, *grad, *alone, *some, *in, *keeps, *groups, *seen, *arms, *copies;
    if (!PyArg_ParseTuple(t, "sO!OO!OO!O!O!O!O!O!", &name, &PyList_Type, &places, &grad,
                          &PyList_Type, &alone, &some, &PyList_Type, &in, &PyList_Type, &keeps,
                          &PyList_Type, &groups, &PyList_Type, &seen, &PyList_Type, &arms,
                          &PyList_Type, &copies) ||
        !(x->sub = jpy_stored_subgraph(b, name)) || PyList_GET_SIZE(alone) != JPY_MAX_ALONE)
        return -1;
    e->n_stages++; /* it is freed with the entry */
    b->of = x->sub;
    JPY_NUMBERS(b, &x->place, places, x->sub->results.n);
    for (size_t i = 0; i < x->place.n; i++)
        if (!jn_vec_push(&x->out, x->sub->result_types.data[x->place.data[i]]))
            return jpy_stored_no_memory();
    JPY_NUMBERS(b, &x->seen, seen, e->n_results + 1);
    if (gradient(b, grad, &x->grad) < 0 || gradient(b, some, &x->some) < 0 || x->seen.n != x->out.n)
        return -1;
    for (Py_ssize_t i = 0; i < JPY_MAX_ALONE; i++)
        if (gradient(b, PyList_GET_ITEM(alone, i), &x->alone[i]) < 0)
            return -1;
    if (!x->grad.sub && PyList_GET_SIZE(in))
        return -1;
    if (jpy_stage_mixes(x, e->wires) != JANUS_OK)
        return jpy_stored_no_memory();
    return jpy_stored_each(b, in, take_tracked) < 0 || jpy_stored_each(b, arms, take_arm) < 0 ||
                   jpy_stored_each(b, keeps, take_kept) < 0 ||
                   jpy_stored_each(b, copies, take_copy) < 0 ||
                   jpy_stored_each(b, groups, take_group) < 0
               ? -1
               : 0;
}

int jpy_stored_stages(jpy_building *b) {
    PyObject *l = jpy_stored_list(b, "stages"), *places = jpy_stored_list(b, "place");
    jpy_entry *e = b->e;
    if (!l || !places || PyList_GET_SIZE(l) > JPY_MAX_STAGES ||
        (size_t)PyList_GET_SIZE(places) != e->n_tracked)
        return jpy_not_stored("stages");
    e->stages = jn_arena_zalloc(&e->arena, ((size_t)PyList_GET_SIZE(l) + 1) * sizeof *e->stages);
    e->place = jn_arena_zalloc(&e->arena, (e->n_tracked + 1) * sizeof *e->place);
    if (!e->stages || !e->place)
        return jpy_stored_no_memory();
    if (jpy_stored_each(b, l, take_stage) < 0)
        return -1;
    unsigned n_frames = 0;
    for (unsigned k = 0; k < e->n_stages; k++)
        n_frames += e->stages[k].grad.sub != NULL;
    for (unsigned i = 0; i < e->n_tracked; i++) {
        jpy_place *p = &e->place[i];
        if (!PyArg_ParseTuple(PyList_GET_ITEM(places, i), "II", &p->stage, &p->out) ||
            p->stage >= e->n_stages || p->out >= e->stages[p->stage].out.n ||
            !e->stages[p->stage].grad.sub)
            return jpy_not_stored("a place");
    }
    return n_frames == e->n_frames ? 0 : jpy_not_stored("frames");
}
