/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x[key] and x[key] = value.
 *
 * A key is a sequence of ints, slices, None, Ellipsis and index tensors.  Without tensors it is one
 * view (view.c).  Otherwise everything but the tensors gives views, taken one dim after the
 * other; tensors (bool ones turned into integer ones first) are then applied to the view at once by
 * the `index` and `index_put` rows.
 */
#include "config.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/op/bound.h"
#include "pyfront/op/copy.h"
#include "pyfront/op/view.h"
#include "pyfront/tensor/tensor.h"

static void bound_init(jpy_bound *b, PyObject *x) {
    b->in = b->few;
    b->n_in = 1;
    b->few[0] = (jpy_operand){.o = x};
    b->result = JPY_RESULT_ALL;
    b->is_identity = false;
    b->by_value = false;
    b->cast_first = -1;
    b->keep = NULL;
    b->n_ints = 0;
}

static PyObject *run_slice(PyObject *x, int axis, PyObject *slice) {
    jpy_bound b;
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0)
        return NULL;
    if (step <= 0) {
        PyErr_SetString(PyExc_ValueError, "step must be greater than zero");
        return NULL;
    }
    Py_ssize_t n = (Py_ssize_t)((jpy_tensor *)x)->t->dims[axis];
    PySlice_AdjustIndices(n, &start, &stop, step);
    if (start == 0 && stop >= n && step == 1)
        return Py_NewRef(x);
    bound_init(&b, x);
    if (jpy_bound_op(&b, JN_OP(slice)) < 0)
        return NULL;
    janus_slice_attrs *s = (janus_slice_attrs *)(void *)b.attrs;
    s->axis = axis;
    s->step = step > n && n > 0 ? n : step; /* one element either way */
    b.few[1] = (jpy_operand){.kind = JANUS_KIND_INT, .s.i = start};
    b.few[2] = (jpy_operand){.kind = JANUS_KIND_INT, .s.i = stop < start ? start : stop};
    b.n_in = 3;
    return jpy_bound_run(&b, NULL);
}

static PyObject *run_unsqueeze(PyObject *x, int axis) {
    jpy_bound b;
    bound_init(&b, x);
    if (jpy_bound_op(&b, JN_OP(unsqueeze)) < 0)
        return NULL;
    ((janus_unsqueeze_attrs *)(void *)b.attrs)->axis = axis;
    return jpy_bound_run(&b, NULL);
}

static PyObject *run_alias(PyObject *x) {
    jpy_bound b;
    bound_init(&b, x);
    return jpy_bound_op(&b, JN_OP(alias)) < 0 ? NULL : jpy_bound_run(&b, NULL);
}

/* ---- keys
 * ------------------------------------------------------------------------------------------- */

typedef struct parsed {
    PyObject *x;                  /* owned: the view so far */
    int axis;                     /* next dim of it */
    unsigned n;                   /* index tensors */
    PyObject *index[JN_MAX_RANK]; /* owned */
    int64_t axes[JN_MAX_RANK];
} parsed;

static void parsed_clear(parsed *p) {
    Py_XDECREF(p->x);
    for (unsigned i = 0; i < p->n; i++)
        Py_DECREF(p->index[i]);
}

static int step_to(parsed *p, PyObject *x) {
    if (!x)
        return -1;
    Py_SETREF(p->x, x);
    return 0;
}

static int add_index(parsed *p, PyObject *index, int axis) {
    if (p->n == JN_MAX_RANK) {
        Py_DECREF(index);
        PyErr_SetString(PyExc_IndexError, "too many indices for tensor");
        return -1;
    }
    p->index[p->n] = index;
    p->axes[p->n++] = axis;
    return 0;
}

/* A new dim of size 1 before the next one. */
static int add_dim(parsed *p) {
    for (unsigned i = 0; i < p->n; i++)
        p->axes[i] += p->axes[i] >= p->axis;
    return step_to(p, run_unsqueeze(p->x, p->axis));
}

static int add_mask(parsed *p, janus_tensor *mask);

/* A mask without dims chooses all or nothing: it has one dim, as has what it is applied to. */
static int add_choice(parsed *p, janus_tensor *mask) {
    int64_t one = 1;
    janus_tensor *row;
    if (add_dim(p) < 0 || jpy_check(jn_tensor_view(mask, 1, &one, &one, 0, &row)) < 0)
        return -1;
    int rc = add_mask(p, row);
    janus_tensor_release(row);
    return rc;
}

/* A bool mask of rank r: r vectors of the places where it is true. */
static int add_mask(parsed *p, janus_tensor *mask) {
    if (mask->rank == 0)
        return add_choice(p, mask);
    janus_tensor *x = ((jpy_tensor *)p->x)->t;
    for (int i = 0; i < mask->rank; i++)
        if (p->axis + i >= x->rank || mask->dims[i] != x->dims[p->axis + i]) {
            PyErr_Format(PyExc_IndexError,
                         "The shape of the mask does not match the shape of the indexed tensor at "
                         "dimension %d",
                         p->axis + i);
            return -1;
        }
    jn_eager_arg arg = {.kind = JANUS_KIND_TENSOR, .t = mask};
    janus_tensor *out[2];
    if (jpy_check(jn_eager(JN_OP(nonzero), &arg, 1, NULL, out, 2)) < 0)
        return -1;
    janus_tensor *n;
    if (jpy_tensor_here(out[1], &n) < 0) {
        janus_tensor_release(out[0]);
        janus_tensor_release(out[1]);
        return -1;
    }
    char *counted;
    int64_t count = 0;
    int rc = jpy_tensor_data(n, &counted);
    if (rc == 0)
        count = *(int64_t *)(void *)counted;
    janus_tensor_release(n);
    for (int i = 0; rc == 0 && i < mask->rank; i++) {
        janus_tensor *column, *own;
        int64_t stride = mask->rank;
        rc = jpy_check(jn_tensor_view(out[0], 1, &count, &stride, i, &column));
        if (rc == 0) {
            rc = jpy_check(jn_tensor_contiguous(column, &own));
            janus_tensor_release(column);
        }
        if (rc == 0) {
            PyObject *o = jpy_tensor_take(own);
            rc = o ? add_index(p, o, p->axis + i) : -1;
        }
    }
    janus_tensor_release(out[0]);
    janus_tensor_release(out[1]);
    p->axis += mask->rank;
    return rc;
}

static int too_many(const parsed *p) {
    PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d",
                 (int)((jpy_tensor *)p->x)->t->rank);
    return -1;
}

/* An index tensor, or a list or array that makes one. */
static int add_tensor(parsed *p, PyObject *o) {
    PyObject *index;
    if (jpy_tensor_check(o)) {
        index = Py_NewRef(o);
    } else {
        janus_tensor *t;
        if (jpy_tensor_from_object(o, false, JANUS_I64, &t) < 0)
            return -1;
        index = jpy_tensor_take(t);
        if (!index)
            return -1;
        if (t->numel == 0 && jn_dtype_is_float(t->dtype)) { /* an empty list indexes nothing */
            janus_tensor *none;
            int rc = jpy_check(jn_tensor_cast(t, JANUS_I64, &none));
            Py_DECREF(index);
            if (rc < 0 || !(index = jpy_tensor_take(none)))
                return -1;
        }
    }
    janus_tensor *t = ((jpy_tensor *)index)->t;
    int rc;
    if (t->dtype == JANUS_U8) { /* bytes are masks, as they were before there was bool */
        Py_SETREF(index, PyObject_CallMethod(index, "bool", NULL));
        if (!index)
            return -1;
        t = ((jpy_tensor *)index)->t;
    }
    if (t->dtype == JANUS_BOOL) {
        rc = add_mask(p, t);
        Py_DECREF(index);
        return rc;
    }
    if (!jn_dtype_is_int(t->dtype)) {
        Py_DECREF(index);
        PyErr_SetString(PyExc_IndexError,
                        "tensors used as indices must be long, int, byte or bool tensors");
        return -1;
    }
    if (p->axis >= ((jpy_tensor *)p->x)->t->rank) {
        Py_DECREF(index);
        return too_many(p);
    }
    if (t->rank == 0 && !p->n && !jpy_tensor_check(o)) {
        Py_DECREF(index);
        PyErr_SetString(PyExc_IndexError, "unsupported index");
        return -1;
    }
    rc = add_index(p, index, p->axis);
    p->axis++;
    return rc;
}

/* What an array of another library is like: its dims, and whether its elements are bools; false: it
 * is none. */
static bool array_like(PyObject *o, int *rank, bool *mask) {
    Py_buffer v;
    if (jpy_tensor_check(o) || !PyObject_CheckBuffer(o))
        return false;
    if (PyObject_GetBuffer(o, &v, PyBUF_FULL_RO) < 0) {
        PyErr_Clear();
        return false;
    }
    *rank = v.ndim;
    *mask = v.format && strcmp(v.format, "?") == 0;
    PyBuffer_Release(&v);
    return true;
}

/* How many dims of x an item takes. */
static int takes(PyObject *o) {
    if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o))
        return 0;
    if (jpy_tensor_check(o) &&
        (((jpy_tensor *)o)->t->dtype == JANUS_BOOL || ((jpy_tensor *)o)->t->dtype == JANUS_U8))
        return ((jpy_tensor *)o)->t->rank;
    int rank;
    bool mask;
    if (array_like(o, &rank, &mask) && mask)
        return rank;
    if (PyList_Check(o) && PyList_GET_SIZE(o) && PyBool_Check(PyList_GET_ITEM(o, 0)))
        return 1;
    return 1;
}

static int add_item(parsed *p, PyObject *o, int rest) {
    janus_tensor *t = ((jpy_tensor *)p->x)->t;
    if (o == Py_Ellipsis) {
        p->axis = t->rank - rest > p->axis ? t->rank - rest : p->axis;
        return 0;
    }
    if (o == Py_None) {
        int rc = add_dim(p);
        p->axis++;
        return rc;
    }
    int rank = 0;
    bool mask = PyBool_Check(o);
    (void)array_like(o, &rank, &mask);
    if (mask)
        return add_tensor(p, o);
    bool zero_d = jpy_tensor_check(o) && ((jpy_tensor *)o)->t->rank == 0 &&
                  jn_dtype_is_int(((jpy_tensor *)o)->t->dtype);
    if (zero_d || (!jpy_tensor_check(o) && PyIndex_Check(o) && rank == 0)) {
        int64_t i;
        if (p->axis >= t->rank) {
            if (t->rank == 0)
                PyErr_SetString(PyExc_IndexError,
                                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to "
                                "convert a 0-dim tensor to a number");
            else
                too_many(p);
            return -1;
        }
        bool of_graph = zero_d && ((jpy_tensor *)o)->t->storage->state == JN_STORAGE_PROXY;
        if (!of_graph && jpy_int_arg(o, &i) < 0)
            return -1;
        for (unsigned k = 0; k < p->n; k++)
            p->axes[k] -= p->axes[k] > p->axis;
        return step_to(p,
                       of_graph ? jpy_select_at(p->x, p->axis, o) : jpy_select(p->x, p->axis, i));
    }
    if (PySlice_Check(o)) {
        if (p->axis >= t->rank)
            return too_many(p);
        int rc = step_to(p, run_slice(p->x, p->axis, o));
        p->axis++;
        return rc;
    }
    if (PyUnicode_Check(o) || PyFloat_Check(o)) {
        PyErr_Format(PyExc_TypeError,
                     "only integers, slices (`:`), ellipsis (`...`), None and long or byte "
                     "Variables are valid indices (got %s)",
                     Py_TYPE(o)->tp_name);
        return -1;
    }
    return add_tensor(p, o);
}

/* A short list with something else than numbers in it is meant as a tuple. */
static bool means_tuple(PyObject *key) {
    if (!PyList_Check(key) || PyList_GET_SIZE(key) >= 32)
        return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(key); i++) {
        PyObject *o = PyList_GET_ITEM(key, i);
        if (jpy_tensor_check(o) || PySlice_Check(o) || o == Py_None || o == Py_Ellipsis ||
            (PySequence_Check(o) && !PyUnicode_Check(o)))
            return true;
    }
    return false;
}

static int parse_tuple(parsed *p, PyObject *key) {
    Py_ssize_t n = PyTuple_GET_SIZE(key);
    for (Py_ssize_t i = 0; i < n; i++) {
        int rest = 0;
        PyObject *o = PyTuple_GET_ITEM(key, i);
        if (o == Py_Ellipsis)
            for (Py_ssize_t k = i + 1; k < n; k++)
                rest += takes(PyTuple_GET_ITEM(key, k));
        if (add_item(p, o, rest) < 0)
            return -1;
    }
    return 0;
}

static int parse(parsed *p, PyObject *self, PyObject *key) {
    p->x = Py_NewRef(self);
    p->axis = 0;
    p->n = 0;
    if (PyTuple_Check(key))
        return parse_tuple(p, key);
    if (!means_tuple(key))
        return add_item(p, key, 0);
    PyObject *items = PyList_AsTuple(key);
    int rc = items ? parse_tuple(p, items) : -1;
    Py_XDECREF(items);
    return rc;
}

/* ---- x[key], x[key] = value
 * ---------------------------------------------------------------------------- */

static PyObject *run_index(parsed *p) {
    jpy_bound b;
    bound_init(&b, p->x);
    if (jpy_bound_op(&b, JN_OP(index)) < 0)
        return NULL;
    jpy_operand many[JN_MAX_RANK + 1];
    many[0] = b.few[0];
    for (unsigned i = 0; i < p->n; i++)
        many[i + 1] = (jpy_operand){.o = p->index[i]};
    b.in = many;
    b.n_in = p->n + 1;
    ((janus_index_attrs *)(void *)b.attrs)->axes = (janus_ints){p->axes, p->n};
    return jpy_bound_run(&b, NULL);
}

PyObject *jpy_index_get(PyObject *self, PyObject *key) {
    jpy_view_place place;
    jn_thread *me = jn_thread_mine();
    if (jpy_may_place(me, (jpy_tensor *)self)) {
        int rc = jpy_place_of_key(((jpy_tensor *)self)->t, key, &place);
        if (rc)
            return rc < 0 ? NULL : jpy_take_place(me, (jpy_tensor *)self, &place);
    }
    parsed p;
    PyObject *result = NULL;
    if (parse(&p, self, key) == 0)
        result = p.n ? run_index(&p) : p.x == self ? run_alias(self) : Py_NewRef(p.x);
    parsed_clear(&p);
    return result;
}

int jpy_index_put(PyObject *x, PyObject *value, PyObject *const *index, const int64_t *axes,
                  unsigned n, bool accumulate) {
    jpy_bound b;
    bound_init(&b, x);
    if (jpy_bound_op(&b, JN_OP(index_put)) < 0)
        return -1;
    jpy_operand many[JN_MAX_RANK + 2];
    many[0] = b.few[0];
    many[1] = (jpy_operand){.o = value};
    for (unsigned i = 0; i < n; i++)
        many[i + 2] = (jpy_operand){.o = index[i]};
    b.in = many;
    b.n_in = n + 2;
    janus_index_put_attrs *s = (janus_index_put_attrs *)(void *)b.attrs;
    s->axes = (janus_ints){axes, n};
    s->accumulate = accumulate;
    PyObject *done = jpy_bound_run(&b, (jpy_tensor *)x);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static bool covers(const janus_tensor *mask, const janus_tensor *x) {
    if (mask->dtype != JANUS_BOOL || mask->rank > x->rank)
        return false;
    for (int i = 0; i < mask->rank; i++)
        if (mask->dims[i] != x->dims[i])
            return false;
    return true;
}

/* x[mask] = number, for a mask of x's first dims: no place of a true element need be known. */
static int fill_masked(PyObject *x, PyObject *mask, PyObject *number) {
    jpy_bound b;
    Py_INCREF(mask);
    int rank = ((jpy_tensor *)mask)->t->rank, missing = ((jpy_tensor *)x)->t->rank - rank;
    for (int i = 0; i < missing && mask; i++)
        Py_SETREF(mask, run_unsqueeze(mask, rank));
    PyObject *done = NULL;
    bound_init(&b, x);
    if (mask && jpy_bound_op(&b, JN_OP(masked_fill)) == 0) {
        b.in[1] = (jpy_operand){.o = mask};
        b.in[2] = (jpy_operand){.o = number};
        b.n_in = 3;
        done = jpy_bound_run(&b, (jpy_tensor *)x);
    }
    Py_XDECREF(mask);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* Whether a key's only index beside ints, slices, None and Ellipsis is one mask. */
static bool one_mask(PyObject *key) {
    Py_ssize_t n = PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 1;
    unsigned masks = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyTuple_Check(key) ? PyTuple_GET_ITEM(key, i) : key;
        int rank = 0;
        bool mask =
            PyBool_Check(o) ||
            (PyList_Check(o) && PyList_GET_SIZE(o) && PyBool_Check(PyList_GET_ITEM(o, 0))) ||
            (jpy_tensor_check(o) && ((jpy_tensor *)o)->t->dtype == JANUS_BOOL);
        if (!mask && array_like(o, &rank, &mask) && !mask && rank)
            return false;
        if (!mask && (jpy_tensor_check(o) || PyList_Check(o)))
            return false;
        masks += mask;
    }
    return masks == 1;
}

int jpy_index_set(PyObject *self, PyObject *key, PyObject *value) {
    parsed p;
    janus_kind kind;
    janus_scalar s;
    jpy_view_place place;
    PyObject *own = NULL;
    if (jpy_tensor_check(key) && ((jpy_tensor *)key)->t->dtype == JANUS_U8 &&
        (jpy_tensor_check(value) ? ((jpy_tensor *)value)->t->numel == 1
                                 : PyFloat_Check(value) || PyLong_Check(value))) {
        PyErr_SetString(PyExc_RuntimeError, "masked_fill_ only supports boolean masks, but got "
                                            "mask with dtype u8");
        return -1;
    }
    if (jpy_tensor_check(key) && (PyFloat_CheckExact(value) || PyLong_Check(value)) &&
        covers(((jpy_tensor *)key)->t, ((jpy_tensor *)self)->t))
        return fill_masked(self, key, value);
    if (!jpy_tensor_check(value) && jpy_scalar_of(value, &kind, &s) == 0) {
        janus_tensor *t;
        if (PyErr_Occurred() ||
            jpy_tensor_from_object(value, true, (janus_dtype)((jpy_tensor *)self)->t->dtype, &t) <
                0)
            return -1;
        value = own = jpy_tensor_take(t);
        if (!own)
            return -1;
    }
    janus_tensor *t = ((jpy_tensor *)self)->t;
    if (!own && jpy_tensor_check(value) && ((jpy_tensor *)value)->t->dtype != t->dtype &&
        ((jpy_tensor *)value)->t->numel == 1 && one_mask(key)) { /* a fill, which casts */
        PyObject *dtype = PyObject_GetAttrString(self, "dtype");
        value = own = dtype ? PyObject_CallMethod(value, "to", "O", dtype) : NULL;
        Py_XDECREF(dtype);
        if (!own)
            return -1;
    }
    jn_thread *me = jn_thread_mine();
    int rc = jpy_may_place(me, (jpy_tensor *)self)
                 ? jpy_place_of_key(((jpy_tensor *)self)->t, key, &place)
                 : 0;
    if (rc) {
        PyObject *view = rc > 0 ? jpy_take_place(me, (jpy_tensor *)self, &place) : NULL;
        rc = view ? jpy_copy_into((jpy_tensor *)view, value, true) : -1;
        Py_XDECREF(view);
        Py_XDECREF(own);
        return rc;
    }
    rc = parse(&p, self, key);
    if (rc == 0 && p.n) {
        rc = jpy_index_put(p.x, value, p.index, p.axes, p.n, false);
    } else if (rc == 0) {
        rc = jpy_copy_into((jpy_tensor *)p.x, value, true);
    }
    parsed_clear(&p);
    Py_XDECREF(own);
    return rc;
}

/* ---- indices of gather and its like
 * ---------------------------------------------------------------------------- */

static int64_t index_at(const void *data, uint8_t dtype, int64_t at) {
    return dtype == JANUS_I64   ? ((const int64_t *)data)[at]
           : dtype == JANUS_I32 ? ((const int32_t *)data)[at]
                                : 0;
}

int jpy_index_check(const jn_op *op, janus_tensor *t) {
    switch (op->id) {
    case JN_OP_ID_gather:
    case JN_OP_ID_scatter:
    case JN_OP_ID_scatter_add:
    case JN_OP_ID_index_select:
    case JN_OP_ID_index_add:
    case JN_OP_ID_embedding:
        break;
    default:
        return 0;
    }
    if (jn_eager_hook || t->storage->device || !jn_dtype_is_int(t->dtype))
        return 0;
    char *data = NULL;
    if (jpy_check(jn_tensor_data(t, &data)) < 0)
        return -1;
    int64_t place[JN_MAX_RANK] = {0}, at = 0;
    for (int64_t i = 0; i < t->numel; i++) {
        int64_t v = index_at(data, t->dtype, t->contiguous ? i : at);
        if (v < 0) {
            PyErr_Format(PyExc_IndexError, "%s(): index %lld is out of bounds", op->name,
                         (long long)v);
            return -1;
        }
        for (int d = t->rank - 1; !t->contiguous && d >= 0; d--) { /* the next place */
            at += t->strides[d];
            if (++place[d] < t->dims[d])
                break;
            at -= t->dims[d] * t->strides[d];
            place[d] = 0;
        }
    }
    return 0;
}
