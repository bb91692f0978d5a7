/* SPDX-License-Identifier: Apache-2.0 */
/* Spellings of shape ops and of indexing along a dim: sizes given one by one or as a sequence. */
#include "config.h"

#include "pyfront/op/spell.h"

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/op/refuse.h"

int jpy_bind_reshape(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(reshape), a, 1) < 0)
        return -1;
    return jpy_ints_arg(b, a[1], &ATTRS(janus_reshape_attrs)->shape) < 0 ? -1 : 0;
}
/* Only what needs no copy: two adjacent dims that do not follow each other must not be merged. */
static int without_copy(janus_tensor *t, janus_ints shape) {
    bool shares = false;
    janus_reshape_attrs attrs = {sizeof attrs, shape};
    if (jpy_check(jn_eager_is_view(JN_OP(reshape), t, &attrs, &shares)) < 0)
        return -1;
    if (!shares)
        PyErr_SetString(PyExc_RuntimeError,
                        "view size is not compatible with input tensor's size and stride (at least "
                        "one dimension spans across two contiguous subspaces). Use .reshape(...) "
                        "instead.");
    return shares ? 0 : -1;
}
int jpy_bind_view(jpy_bound *b, PyObject *const *a) {
    if (jpy_bind_reshape(b, a) < 0)
        return -1;
    janus_tensor *t = jpy_tensor_check(a[0]) ? ((jpy_tensor *)a[0])->t : NULL;
    return !t || t->contiguous ? 0 : without_copy(t, ATTRS(janus_reshape_attrs)->shape);
}
int jpy_bind_reshape_as(jpy_bound *b, PyObject *const *a) {
    return jpy_use(b, JN_OP(reshape_like), a, 2);
}
int jpy_bind_view_as(jpy_bound *b, PyObject *const *a) {
    if (jpy_bind_reshape_as(b, a) < 0)
        return -1;
    janus_tensor *t = jpy_tensor_check(a[0]) ? ((jpy_tensor *)a[0])->t : NULL;
    if (!t || t->contiguous || !jpy_tensor_check(a[1]))
        return 0;
    const janus_tensor *like = ((jpy_tensor *)a[1])->t;
    return without_copy(t, (janus_ints){like->dims, (size_t)like->rank});
}
int jpy_bind_expand_as(jpy_bound *b, PyObject *const *a) {
    return jpy_use(b, JN_OP(expand_like), a, 2);
}
int jpy_bind_permute(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(permute), a, 1) < 0)
        return -1;
    return jpy_ints_arg(b, a[1], &ATTRS(janus_permute_attrs)->dims) < 0 ? -1 : 0;
}
int jpy_bind_expand(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(expand), a, 1) < 0)
        return -1;
    return jpy_ints_arg(b, a[1], &ATTRS(janus_expand_attrs)->shape) < 0 ? -1 : 0;
}
int jpy_bind_repeat(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(repeat), a, 1) < 0)
        return -1;
    return jpy_ints_arg(b, a[1], &ATTRS(janus_repeat_attrs)->repeats) < 0 ? -1 : 0;
}
/* Of a number, the dims that are given; what has dims the op checks itself. */
static int dims_of_number(jpy_bound *b, PyObject *o, janus_ints dims) {
    jn_type t;
    if (jpy_type_of(b, o, &t) < 0)
        return -1;
    for (size_t i = 0; t.rank == 0 && i < dims.n; i++)
        if (jpy_dim_check(dims.data[i], 0) < 0)
            return -1;
    if (t.rank == 0 && dims.n > 1) {
        PyErr_SetString(PyExc_RuntimeError, "dim 0 appears multiple times in the list of dims");
        return -1;
    }
    return 0;
}

int jpy_bind_flip(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(flip), a, 1) < 0)
        return -1;
    if (jpy_ints_arg(b, a[1], &ATTRS(janus_flip_attrs)->dims) < 0 ||
        dims_of_number(b, a[0], ATTRS(janus_flip_attrs)->dims) < 0)
        return -1;
    return ATTRS(janus_flip_attrs)->dims.n ? 0 : jpy_use(b, JN_OP(clone), a, 1);
}
/* input, start_dim, end_dim */
int jpy_bind_flatten(jpy_bound *b, PyObject *const *a) {
    jn_type t;
    if (jpy_type_of(b, a[0], &t) < 0 || jpy_use(b, JN_OP(reshape), a, 1) < 0)
        return -1;
    int64_t from = 0, to = -1;
    if (jpy_int_arg(a[1], &from) < 0 || jpy_int_arg(a[2], &to) < 0)
        return -1;
    int64_t rank = t.rank, span = rank ? rank : 1; /* a number has the dims 0 and -1 */
    if (rank < 0) {
        PyErr_SetString(PyExc_RuntimeError, "flatten(): the number of dims is not known");
        return -1;
    }
    if (jpy_dim_check(from, rank) < 0 || jpy_dim_check(to, rank) < 0)
        return -1;
    from += from < 0 ? span : 0;
    to += to < 0 ? span : 0;
    if (to < from) {
        PyErr_SetString(PyExc_RuntimeError,
                        "flatten() has invalid args: start_dim cannot come after end_dim");
        return -1;
    }
    int64_t *shape = b->ints;
    unsigned n = 0;
    bool unknown = false;
    for (int64_t i = 0; i < from; i++)
        shape[n++] = t.dims[i];
    int64_t merged = 1;
    for (int64_t i = from; i <= to && i < rank; i++) {
        unknown = unknown || t.dims[i] < 0;
        merged *= t.dims[i];
    }
    shape[n++] = unknown ? -1 : merged;
    for (int64_t i = to + 1; i < rank; i++)
        shape[n++] = t.dims[i];
    b->n_ints = n;
    ATTRS(janus_reshape_attrs)->shape = (janus_ints){shape, n};
    return 0;
}
int jpy_bind_squeeze(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(squeeze), a, 1) < 0)
        return -1;
    janus_ints *dims = &ATTRS(janus_squeeze_attrs)->axis;
    return jpy_ints_arg(b, a[1], dims) < 0 || dims_of_number(b, a[0], *dims) < 0 ? -1 : 0;
}
int jpy_bind_unsqueeze(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(unsqueeze), a, 1) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_unsqueeze_attrs)->axis) < 0 ? -1 : 0;
}
int jpy_bind_t(jpy_bound *b, PyObject *const *a) {
    jn_type t;
    if (jpy_type_of(b, a[0], &t) < 0)
        return -1;
    if (t.rank < 2) {
        b->is_identity = true;
        b->in[0].o = a[0];
        b->n_in = 1;
        return 0;
    }
    if (t.rank > 2) {
        PyErr_Format(PyExc_RuntimeError,
                     "t() expects a tensor with <= 2 dimensions, but self is %dD", (int)t.rank);
        return -1;
    }
    return jpy_use(b, JN_OP(transpose), a, 1);
}
int jpy_bind_transpose(jpy_bound *b, PyObject *const *a) {
    jn_type t;
    if (jpy_type_of(b, a[0], &t) < 0 || jpy_use(b, JN_OP(transpose), a, 1) < 0)
        return -1;
    janus_transpose_attrs *s = ATTRS(janus_transpose_attrs);
    if (jpy_int_arg(a[1], &s->dim0) < 0 || jpy_int_arg(a[2], &s->dim1) < 0)
        return -1;
    if (t.rank == 0) {
        if (jpy_dim_check(s->dim0, 0) < 0 || jpy_dim_check(s->dim1, 0) < 0)
            return -1;
        b->op = JN_OP(alias);
    }
    return 0;
}
/* tensors, dim */
int jpy_bind_cat(jpy_bound *b, PyObject *const *a) {
    if (jpy_bound_op(b, JN_OP(concat)) < 0 || jpy_bound_list(b, 0, a[0]) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_concat_attrs)->axis) < 0 ? -1 : 0;
}
int jpy_bind_stack(jpy_bound *b, PyObject *const *a) {
    if (jpy_bound_op(b, JN_OP(stack)) < 0 || jpy_bound_list(b, 0, a[0]) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_stack_attrs)->axis) < 0 ? -1 : 0;
}
/* input, dim, index */
int jpy_bind_select(jpy_bound *b, PyObject *const *a) {
    PyObject *in[2] = {a[0], a[2]};
    if (jpy_use(b, JN_OP(select), in, 2) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_select_attrs)->axis) < 0 ? -1 : 0;
}
/* Whether a dim of size `size` (which a graph may not know) has the stretch; start from its front.
 */
static int narrow_fits(int64_t size, int64_t *start, int64_t length) {
    if (size < 0) {
        PyErr_SetString(PyExc_RuntimeError, "narrow(): the size of the dim is not known");
        return -1;
    }
    if (*start < -size || *start > size) {
        PyErr_Format(PyExc_IndexError,
                     "Dimension out of range (expected to be in range of [%lld, %lld], but got "
                     "%lld)",
                     (long long)-size, (long long)size, (long long)*start);
        return -1;
    }
    *start += *start < 0 ? size : 0;
    if (length < 0 || length > size - *start) {
        PyErr_Format(PyExc_RuntimeError,
                     "start (%lld) + length (%lld) exceeds dimension size (%lld).",
                     (long long)*start, (long long)length, (long long)size);
        return -1;
    }
    return 0;
}

/* input, dim, start, length */
int jpy_bind_narrow(jpy_bound *b, PyObject *const *a) {
    int64_t start, n, axis;
    jn_type t;
    if (jpy_type_of(b, a[0], &t) < 0 || jpy_use(b, JN_OP(slice), a, 1) < 0 ||
        jpy_int_needed(a[1], &axis) < 0 || jpy_int_needed(a[2], &start) < 0 ||
        jpy_int_needed(a[3], &n) < 0)
        return -1;
    if (axis >= -(int64_t)t.rank && axis < t.rank &&
        narrow_fits(t.dims[axis < 0 ? axis + t.rank : axis], &start, n) < 0)
        return -1;
    b->in[1] = (jpy_operand){.kind = JANUS_KIND_INT, .s.i = start};
    int64_t end;
    if (__builtin_add_overflow(start, n, &end))
        end = INT64_MAX; /* the axis is out of range, which the op says */
    b->in[2] = (jpy_operand){.kind = JANUS_KIND_INT, .s.i = end};
    b->n_in = 3;
    return jpy_int_arg(a[1], &ATTRS(janus_slice_attrs)->axis) < 0 ? -1 : 0;
}
int jpy_bind_roll(jpy_bound *b, PyObject *const *a) {
    if (jpy_use(b, JN_OP(roll), a, 1) < 0)
        return -1;
    janus_roll_attrs *s = ATTRS(janus_roll_attrs);
    jn_type t;
    if (jpy_ints_arg(b, a[1], &s->shifts) < 0 || jpy_ints_arg(b, a[2], &s->dims) < 0 ||
        jpy_type_of(b, a[0], &t) < 0)
        return -1;
    if (t.rank == 0 && s->dims.n) {
        PyErr_Format(PyExc_IndexError, "Dimension specified as %lld but tensor has no dimensions",
                     (long long)s->dims.data[0]);
        return -1;
    }
    return 0;
}

/* ---- indexing
 * ------------------------------------------------------------------------------------------ */

/* input, dim, index */
int jpy_bind_gather(jpy_bound *b, PyObject *const *a) {
    PyObject *in[2] = {a[0], a[2]};
    if (jpy_use(b, JN_OP(gather), in, 2) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_gather_attrs)->axis) < 0 ? -1 : 0;
}
int jpy_bind_index_select(jpy_bound *b, PyObject *const *a) {
    PyObject *in[2] = {a[0], a[2]};
    if (jpy_use(b, JN_OP(index_select), in, 2) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_index_select_attrs)->axis) < 0 ? -1 : 0;
}
/* input, dim, index, src */
int jpy_bind_scatter_add(jpy_bound *b, PyObject *const *a) {
    PyObject *in[3] = {a[0], a[2], a[3]};
    if (jpy_use(b, JN_OP(scatter_add), in, 3) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_scatter_add_attrs)->axis) < 0 ? -1 : 0;
}
int jpy_bind_index_add(jpy_bound *b, PyObject *const *a) {
    PyObject *in[3] = {a[0], a[2], a[3]};
    if (jpy_use(b, JN_OP(index_add), in, 3) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_index_add_attrs)->axis) < 0 ? -1 : 0;
}
/* A tensor of the shape of `shaped` that holds a number, of the dtype of `of`. */
static PyObject *full_of(PyObject *shaped, PyObject *number, PyObject *of) {
    PyObject *shape = PyObject_GetAttrString(shaped, "shape");
    PyObject *dtype = shape ? PyObject_GetAttrString(of, "dtype") : NULL;
    PyObject *full = dtype ? PyObject_GetAttrString(jpy.module, "full") : NULL;
    PyObject *args = full ? PyTuple_Pack(2, shape, number) : NULL;
    PyObject *named = args ? Py_BuildValue("{sO}", "dtype", dtype) : NULL;
    PyObject *made = named ? PyObject_Call(full, args, named) : NULL;
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    Py_XDECREF(full);
    Py_XDECREF(args);
    Py_XDECREF(named);
    return made;
}
int jpy_bind_scatter(jpy_bound *b, PyObject *const *a) {
    PyObject *in[3] = {a[0], a[2], a[3] ? a[3] : a[4]};
    janus_kind kind;
    janus_scalar v;
    if (!in[2]) {
        PyErr_SetString(PyExc_TypeError, "scatter() needs src or value");
        return -1;
    }
    int number = jpy_scalar_of(in[2], &kind, &v);
    if (number < 0)
        return -1;
    if (number) { /* the row wants a source of index's shape */
        PyObject *like = full_of(a[2], in[2], a[0]);
        b->keep = like ? PyTuple_Pack(1, like) : NULL;
        Py_XDECREF(like);
        if (!b->keep)
            return -1;
        in[2] = PyTuple_GET_ITEM(b->keep, 0);
    }
    if (jpy_use(b, JN_OP(scatter), in, 3) < 0)
        return -1;
    return jpy_int_arg(a[1], &ATTRS(janus_scatter_attrs)->axis) < 0 ? -1 : 0;
}
