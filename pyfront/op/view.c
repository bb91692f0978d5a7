/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views by place: see view.h.
 *
 * A key of ints, slices, None and Ellipsis is one view, whatever its length, and one node on the
 * tape.  While a thread has an eager hook the ops must be seen, and of a tracked tensor that is not
 * contiguous the tape cannot describe a place: those go through the ops, dim after dim.
 */
#include "config.h"

#include "pyfront/op/view.h"

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "ops/shape_rules.h"
#include "pyfront/op/bound.h"
#include "pyfront/tape/tape.h"

/* ---- keys -------------------------------------------------------------------------------------
 */

typedef struct walk {
    const janus_tensor *t;
    jpy_view_place *to;
    int axis; /* next dim of t */
} walk;

static int too_many(const janus_tensor *t) {
    if (t->rank == 0)
        PyErr_SetString(PyExc_IndexError, "invalid index of a 0-dim tensor. Use `tensor.item()` in "
                                          "Python to convert a 0-dim tensor to a number");
    else
        PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d", (int)t->rank);
    return -1;
}

static int out_of_bounds(int64_t i, int axis, int64_t n) {
    PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for dimension %d with size %lld",
                 (long long)i, axis, (long long)n);
    return -1;
}

static void keep(walk *w, int64_t dim, int64_t stride) {
    w->to->dims[w->to->rank] = dim;
    w->to->strides[w->to->rank++] = stride;
}

static int walk_int(walk *w, PyObject *o) {
    if (w->axis >= w->t->rank)
        return too_many(w->t);
    Py_ssize_t i = PyLong_AsSsize_t(o);
    if (i == -1 && PyErr_Occurred())
        return -1;
    int64_t n = w->t->dims[w->axis];
    if (i < -n || i >= n)
        return out_of_bounds(i, w->to->rank, n);
    w->to->offset += (i < 0 ? i + n : i) * w->t->strides[w->axis++];
    return 1;
}

static int walk_slice(walk *w, PyObject *o) {
    Py_ssize_t start, stop, step;
    if (w->axis >= w->t->rank)
        return too_many(w->t);
    if (PySlice_Unpack(o, &start, &stop, &step) < 0)
        return -1;
    if (step <= 0) {
        PyErr_SetString(PyExc_ValueError, "step must be greater than zero");
        return -1;
    }
    int64_t n = w->t->dims[w->axis], stride = w->t->strides[w->axis];
    w->axis++;
    start = start < 0 ? start + n : start;
    stop = stop < 0 ? stop + n : stop;
    start = start < 0 ? 0 : start > n ? n : start;
    stop = stop < start ? start : stop > n ? n : stop;
    if (w->to->rank == JN_MAX_RANK)
        return 0;
    w->to->offset += start * stride;
    keep(w, stop == start ? 0 : (stop - start - 1) / step + 1, jn_slice_stride(n, stride, step));
    return 1;
}

static int walk_item(walk *w, PyObject *o) {
    if (PyLong_CheckExact(o))
        return walk_int(w, o);
    if (PySlice_Check(o))
        return walk_slice(w, o);
    if (o != Py_None || w->to->rank == JN_MAX_RANK)
        return 0;
    keep(w, 1, w->axis < w->t->rank ? w->t->dims[w->axis] * w->t->strides[w->axis] : 1);
    return 1;
}

static int walk_rest(walk *w, int until) {
    for (; w->axis < until; w->axis++) {
        if (w->to->rank == JN_MAX_RANK)
            return 0;
        keep(w, w->t->dims[w->axis], w->t->strides[w->axis]);
    }
    return 1;
}

static int walk_tuple(walk *w, PyObject *key) {
    Py_ssize_t n = PyTuple_GET_SIZE(key);
    bool skipped = false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyTuple_GET_ITEM(key, i);
        int rc;
        if (o == Py_Ellipsis) {
            int rest = 0;
            for (Py_ssize_t k = i + 1; k < n; k++)
                rest += PyTuple_GET_ITEM(key, k) != Py_None;
            if (skipped)
                return 0;
            skipped = true;
            rc = walk_rest(w, w->t->rank - rest);
        } else {
            rc = walk_item(w, o);
        }
        if (rc <= 0)
            return rc;
    }
    return 1;
}

/* Only what walk_item() takes, so that nothing is raised that another key would not. */
static bool plain_key(PyObject *key) {
    if (!PyTuple_CheckExact(key))
        return PyLong_CheckExact(key) || PySlice_Check(key) || key == Py_None || key == Py_Ellipsis;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++) {
        PyObject *o = PyTuple_GET_ITEM(key, i);
        if (!PyLong_CheckExact(o) && !PySlice_Check(o) && o != Py_None && o != Py_Ellipsis)
            return false;
    }
    return true;
}

int jpy_place_of_key(const janus_tensor *t, PyObject *key, jpy_view_place *out) {
    walk w = {t, out, 0};
    out->rank = 0;
    out->offset = 0;
    if (!plain_key(key))
        return 0;
    int rc = PyTuple_CheckExact(key) ? walk_tuple(&w, key)
             : key == Py_Ellipsis    ? 1
                                     : walk_item(&w, key);
    return rc > 0 ? walk_rest(&w, t->rank) : rc;
}

/* ---- taking -----------------------------------------------------------------------------------
 */

bool jpy_may_place(const jn_thread *me, const jpy_tensor *x) {
    if (JN_UNLIKELY(me->hook != NULL))
        return false;
    return (x->t->contiguous && !x->t->storage->device) || me->no_grad || !jpy_tensor_tracked(x);
}

PyObject *jpy_take_place(jn_thread *me, jpy_tensor *x, const jpy_view_place *p) {
    janus_tensor *t;
    jpy_node *node = NULL;
    jpy_edge edge = {0};
    if (jpy_check(jn_tensor_window(me, x->t, p->rank, p->dims, p->strides, p->offset, &t)) < 0)
        return NULL;
    if (!me->no_grad && jpy_maybe_tracked(x) && jn_dtype_is_float(t->dtype)) {
        int rc = jpy_tensor_edge(x, &edge);
        if (rc == 0 && jpy_edge_tracked(edge) && !(node = jpy_piece_node(me, x->t, t, edge)))
            rc = -1;
        if (rc < 0) {
            janus_tensor_release(t);
            return NULL;
        }
    }
    PyObject *o = jpy_tensor_take_view(t, NULL, 0, x);
    if (o)
        ((jpy_tensor *)o)->node = node;
    else
        jpy_node_release(node);
    return o;
}

/* The whole tensor, as a place. */
static void place_init(jpy_view_place *p, const janus_tensor *t) {
    p->rank = t->rank;
    p->offset = 0;
    for (int i = 0; i < t->rank; i++) {
        p->dims[i] = t->dims[i];
        p->strides[i] = t->strides[i];
    }
}

/* By ops: `row` is select or slice. */
static PyObject *by_op(PyObject *x, const jn_op *row, int axis, jpy_operand start, int64_t stop) {
    jpy_bound b;
    b.in = b.few;
    b.few[0] = (jpy_operand){.o = x};
    b.few[1] = start;
    b.few[2] = (jpy_operand){.kind = JANUS_KIND_INT, .s.i = stop};
    b.n_in = row->n_in_max;
    b.result = JPY_RESULT_ALL;
    b.is_identity = false;
    b.by_value = false;
    b.cast_first = -1;
    b.keep = NULL;
    b.n_ints = 0;
    b.type_of = NULL;
    if (jpy_bound_op(&b, row) < 0)
        return NULL;
    if (row == JN_OP(select))
        ((janus_select_attrs *)(void *)b.attrs)->axis = axis;
    else
        ((janus_slice_attrs *)(void *)b.attrs)->axis = axis;
    return jpy_bound_run(&b, NULL);
}

static jpy_operand number(int64_t i) { return (jpy_operand){.kind = JANUS_KIND_INT, .s.i = i}; }

PyObject *jpy_select_at(PyObject *x, int axis, PyObject *index) {
    return by_op(x, JN_OP(select), axis, (jpy_operand){.o = index}, 0);
}

PyObject *jpy_select(PyObject *o, int axis, int64_t i) {
    jpy_tensor *x = (jpy_tensor *)o;
    int64_t n = x->t->dims[axis];
    if (i < -n || i >= n) {
        (void)out_of_bounds(i, axis, n);
        return NULL;
    }
    jn_thread *me = jn_thread_mine();
    if (!jpy_may_place(me, x))
        return by_op(o, JN_OP(select), axis, number(i), 0);
    jpy_view_place p;
    place_init(&p, x->t);
    p.offset = (i < 0 ? i + n : i) * p.strides[axis];
    p.rank--;
    for (int k = axis; k < p.rank; k++) {
        p.dims[k] = p.dims[k + 1];
        p.strides[k] = p.strides[k + 1];
    }
    return jpy_take_place(me, x, &p);
}

PyObject *jpy_narrow(PyObject *o, int axis, int64_t start, int64_t length) {
    jpy_tensor *x = (jpy_tensor *)o;
    jn_thread *me = jn_thread_mine();
    if (!jpy_may_place(me, x))
        return by_op(o, JN_OP(slice), axis, number(start), start + length);
    jpy_view_place p;
    place_init(&p, x->t);
    p.offset = start * p.strides[axis];
    p.dims[axis] = length;
    return jpy_take_place(me, x, &p);
}
