/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views of a tensor that one walk over the arguments finds: indexing without index tensors, and
 * pieces along a dim.
 */
#ifndef JPY_PY_VIEW_H
#define JPY_PY_VIEW_H

#include "pyfront/tensor/tensor.h"

/* Where a view lies: dims, strides and offset in elements, relative to its tensor. */
typedef struct jpy_view_place {
    int rank;
    int64_t offset;
    int64_t dims[JN_MAX_RANK], strides[JN_MAX_RANK];
} jpy_view_place;

/* The place that x[key] is, for keys of ints, slices, None and Ellipsis.  1: it is one; 0: other
 * keys; -1: raised. */
int jpy_place_of_key(const janus_tensor *t, PyObject *key, jpy_view_place *out);
/* Whether views of x may be taken by place: nobody wants to see ops, and the tape can describe
 * them. */
bool jpy_may_place(const jn_thread *me, const jpy_tensor *x);
PyObject *jpy_take_place(jn_thread *me, jpy_tensor *x, const jpy_view_place *place);

/* x[i] along an axis; IndexError when out of range. */
PyObject *jpy_select(PyObject *x, int axis, int64_t i);
/* The same at a place that an integer tensor of one element holds, which only a graph will know. */
PyObject *jpy_select_at(PyObject *x, int axis, PyObject *index);
/* x[start:start + length] along an axis, in range. */
PyObject *jpy_narrow(PyObject *x, int axis, int64_t start, int64_t length);

/* Methods and functions: split, chunk, unbind. */
extern PyMethodDef jpy_piece_methods[];
int jpy_init_pieces(PyObject *module);

#endif
