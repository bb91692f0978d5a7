/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split, chunk and unbind: tuples of views along one dim, as methods and as functions.
 */
#include "config.h"

#include "pyfront/op/op.h"

/* A dim argument (NULL: 0) as an axis of x; -1: raised. */
static int axis_of(const janus_tensor *t, PyObject *o) {
    int64_t d = 0;
    if (jpy_int_arg(o, &d) < 0)
        return -1;
    if (t->rank == 0 || d < -t->rank || d >= t->rank) {
        PyErr_Format(PyExc_IndexError,
                     "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                     -(t->rank ? t->rank : 1), t->rank ? t->rank - 1 : 0, (long long)d);
        return -1;
    }
    return (int)(d < 0 ? d + t->rank : d);
}

/* Arguments of f(input, NAME, dim=0), or f(input, dim=0) where NAME is NULL: x, what and dim. */
static int take(const char *f, const char *name, PyObject *const *args, Py_ssize_t n,
                PyObject *names, PyObject **found) {
    const char *known[3] = {"input", name ? name : "dim", name ? "dim" : NULL};
    Py_ssize_t most = name ? 3 : 2;
    found[0] = found[1] = found[2] = NULL;
    if (n > most) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %zd arguments", f, most);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        found[i] = args[i];
    for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); k++) {
        PyObject *key = PyTuple_GET_ITEM(names, k);
        int at = -1;
        for (int i = 0; i < most && at < 0; i++)
            if (PyUnicode_CompareWithASCIIString(key, known[i]) == 0 ||
                (i == 1 && name && PyUnicode_CompareWithASCIIString(key, "split_size") == 0))
                at = i;
        if (at < 0 || found[at]) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", f, key);
            return -1;
        }
        found[at] = args[n + k];
    }
    if (!found[0] || !jpy_tensor_check(found[0])) {
        PyErr_Format(PyExc_TypeError, "%s(): argument 'input' (position 1) must be Tensor, not %s",
                     f, found[0] ? Py_TYPE(found[0])->tp_name : "absent");
        return -1;
    }
    if (name && !found[1]) {
        PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s'", f, name);
        return -1;
    }
    return axis_of(((jpy_tensor *)found[0])->t, found[name ? 2 : 1]);
}

/* Pieces of `size`, the last one smaller; of nothing one. */
static PyObject *equal_pieces(PyObject *x, int axis, int64_t size) {
    int64_t n = ((jpy_tensor *)x)->t->dims[axis];
    int64_t count = n == 0 || size == 0 ? 1 : (n - 1) / size + 1;
    PyObject *pieces = PyTuple_New((Py_ssize_t)count);
    for (int64_t i = 0; pieces && i < count; i++) {
        int64_t start = i * size, rest = n - start;
        PyObject *piece = jpy_narrow(x, axis, start, rest < size ? rest : size);
        if (piece)
            PyTuple_SET_ITEM(pieces, (Py_ssize_t)i, piece);
        else
            Py_CLEAR(pieces);
    }
    return pieces;
}

static PyObject *listed_pieces(PyObject *x, int axis, PyObject *sizes) {
    int64_t n = ((jpy_tensor *)x)->t->dims[axis], start = 0, total = 0;
    PyObject *list = PySequence_Tuple(sizes), *pieces = NULL;
    if (!list)
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(list);
    for (Py_ssize_t i = 0; i < count; i++) {
        int64_t size;
        int got = jpy_int_arg(PyTuple_GET_ITEM(list, i), &size);
        if (got == 0)
            PyErr_SetString(PyExc_TypeError, "split(): sizes must be ints");
        if (got <= 0)
            goto out;
        if (size < 0 || __builtin_add_overflow(total, size, &total)) {
            PyErr_SetString(PyExc_RuntimeError,
                            "split_with_sizes expects split_sizes have only non-negative entries");
            goto out;
        }
    }
    if (total != n) {
        PyErr_Format(PyExc_RuntimeError,
                     "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's "
                     "size at dimension %d), but got split_sizes=%R",
                     (long long)n, axis, sizes);
        goto out;
    }
    pieces = PyTuple_New(count);
    for (Py_ssize_t i = 0; pieces && i < count; i++) {
        int64_t size = PyLong_AsLongLong(PyTuple_GET_ITEM(list, i));
        PyObject *piece = jpy_narrow(x, axis, start, size);
        start += size;
        if (piece)
            PyTuple_SET_ITEM(pieces, i, piece);
        else
            Py_CLEAR(pieces);
    }
out:
    Py_DECREF(list);
    return pieces;
}

static PyObject *do_split(PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyObject *a[3];
    int axis = take("split", "split_size_or_sections", args, n, names, a);
    if (axis < 0)
        return NULL;
    if (!PyIndex_Check(a[1]))
        return listed_pieces(a[0], axis, a[1]);
    int64_t size;
    if (jpy_int_needed(a[1], &size) < 0)
        return NULL;
    if (size < 0 || (size == 0 && ((jpy_tensor *)a[0])->t->dims[axis])) {
        PyErr_Format(PyExc_RuntimeError, "split expects split_size be %s, but got split_size=%lld",
                     size < 0 ? "non-negative" : "positive", (long long)size);
        return NULL;
    }
    return equal_pieces(a[0], axis, size);
}

static PyObject *do_chunk(PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyObject *a[3];
    int64_t chunks;
    int axis = take("chunk", "chunks", args, n, names, a);
    if (axis < 0 || jpy_int_needed(a[1], &chunks) < 0)
        return NULL;
    if (chunks <= 0) {
        PyErr_Format(PyExc_RuntimeError, "chunk expects `chunks` to be greater than 0, got: %lld",
                     (long long)chunks);
        return NULL;
    }
    int64_t dim = ((jpy_tensor *)a[0])->t->dims[axis];
    int64_t size = dim / chunks + (dim % chunks != 0);
    return equal_pieces(a[0], axis, size > 0 ? size : 1);
}

static PyObject *do_unbind(PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyObject *a[3];
    int axis = take("unbind", NULL, args, n, names, a);
    if (axis < 0)
        return NULL;
    int64_t count = ((jpy_tensor *)a[0])->t->dims[axis];
    PyObject *pieces = PyTuple_New((Py_ssize_t)count);
    for (int64_t i = 0; pieces && i < count; i++) {
        PyObject *piece = jpy_select(a[0], axis, i);
        if (piece)
            PyTuple_SET_ITEM(pieces, (Py_ssize_t)i, piece);
        else
            Py_CLEAR(pieces);
    }
    return pieces;
}

/* As methods, self is the first argument. */
static PyObject *with_self(PyObject *(*f)(PyObject *const *, Py_ssize_t, PyObject *),
                           PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyObject *all[4] = {self};
    Py_ssize_t total = n + (names ? PyTuple_GET_SIZE(names) : 0);
    if (total > 3) {
        PyErr_SetString(PyExc_TypeError, "too many arguments");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < total; i++)
        all[i + 1] = args[i];
    return f(all, n + 1, names);
}

#define PIECE(name)                                                                                \
    static PyObject *name##_method(PyObject *self, PyObject *const *args, Py_ssize_t n,            \
                                   PyObject *names) {                                              \
        return with_self(do_##name, self, args, n, names);                                         \
    }                                                                                              \
    static PyObject *name##_function(PyObject *module, PyObject *const *args, Py_ssize_t n,        \
                                     PyObject *names) {                                            \
        (void)module;                                                                              \
        return do_##name(args, n, names);                                                          \
    }
PIECE(split)
PIECE(chunk)
PIECE(unbind)

#define FASTKW(f) ((PyCFunction)(void *)(f)), METH_FASTCALL | METH_KEYWORDS
#define SPLIT_DOC "split(input, split_size_or_sections, dim=0): views of consecutive pieces."
#define CHUNK_DOC "chunk(input, chunks, dim=0): views of at most so many pieces of equal size."
#define UNBIND_DOC "unbind(input, dim=0): views of the slices along dim."

PyMethodDef jpy_piece_methods[] = {
    {"split", FASTKW(split_method), SPLIT_DOC},
    {"chunk", FASTKW(chunk_method), CHUNK_DOC},
    {"unbind", FASTKW(unbind_method), UNBIND_DOC},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef functions[] = {
    {"split", FASTKW(split_function), SPLIT_DOC},
    {"chunk", FASTKW(chunk_function), CHUNK_DOC},
    {"unbind", FASTKW(unbind_function), UNBIND_DOC},
    {NULL, NULL, 0, NULL},
};

int jpy_init_pieces(PyObject *module) {
    for (PyMethodDef *m = jpy_piece_methods; m->ml_name; m++) {
        PyObject *f = PyDescr_NewMethod(jpy.tensor_type, m);
        int rc = f ? PyObject_SetAttrString((PyObject *)jpy.tensor_type, m->ml_name, f) : -1;
        Py_XDECREF(f);
        if (rc < 0)
            return -1;
    }
    return PyModule_AddFunctions(module, functions);
}
