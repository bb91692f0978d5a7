/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors from nothing and from data; values are made by the rows of ops/def/create.def.
 */
#include "config.h"

#include "pyfront/methods/create.h"

#include <math.h>
#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/methods/method.h"
#include "pyfront/tensor/tensor.h"

/* ---- common keywords
 * ------------------------------------------------------------------------------------ */

/* dtype, device, requires_grad, generator, ... by keyword; false: it is none of these. */
static bool common_keyword(jpy_common *c, PyObject *name, PyObject *v, int *out_rc) {
    int rc = 0;
    if (PyUnicode_CompareWithASCIIString(name, "dtype") == 0) {
        rc = jpy_dtype_parse(v, &c->dtype);
        c->has_dtype = rc > 0;
    } else if (PyUnicode_CompareWithASCIIString(name, "device") == 0) {
        rc = jpy_device_parse(v, &c->device);
    } else if (PyUnicode_CompareWithASCIIString(name, "requires_grad") == 0) {
        rc = PyObject_IsTrue(v);
        c->requires_grad = rc > 0;
    } else if (PyUnicode_CompareWithASCIIString(name, "generator") == 0) {
        c->generator = v == Py_None ? NULL : v;
    } else if (PyUnicode_CompareWithASCIIString(name, "memory_format") != 0 &&
               PyUnicode_CompareWithASCIIString(name, "layout") != 0 &&
               PyUnicode_CompareWithASCIIString(name, "pin_memory") != 0) {
        return false;
    }
    *out_rc = rc;
    return true;
}

static int place_of(const char *const *params, PyObject *name) {
    for (int i = 0; params[i]; i++)
        if (PyUnicode_CompareWithASCIIString(name, params[i]) == 0)
            return i;
    return -1;
}

int jpy_arguments(jpy_common *c, const char *const *params, PyObject **found, PyObject *const *args,
                  Py_ssize_t n, PyObject *names, const char *fname) {
    Py_ssize_t most = 0;
    memset(c, 0, sizeof *c);
    c->dtype = JANUS_F32;
    c->device = jpy_default_device;
    for (; params[most]; most++)
        found[most] = most < n ? args[most] : NULL;
    if (n > most) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %zd positional arguments (%zd given)",
                     fname, most, n);
        return -1;
    }
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *v = args[n + i];
        int rc = 0, at = place_of(params, name);
        if (at >= 0 && found[at]) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", fname,
                         name);
            return -1;
        }
        if (at >= 0)
            found[at] = v;
        else if (!common_keyword(c, name, v, &rc)) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", fname,
                         name);
            rc = -1;
        }
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* Sizes given one by one, or as one sequence. */
int jpy_sizes(PyObject *const *args, Py_ssize_t n, PyObject *size, int64_t *dims, int *rank,
              const char *fname) {
    PyObject *seq = size;
    if (!seq && n == 1 && !PyIndex_Check(args[0]))
        seq = args[0];
    else if (!seq && n == 1 && jpy_tensor_check(args[0]) && ((jpy_tensor *)args[0])->t->rank)
        seq = args[0];
    PyObject *fast = seq ? PySequence_Fast(seq, "expected sizes") : NULL;
    if (seq && !fast)
        return -1;
    if (fast) {
        args = PySequence_Fast_ITEMS(fast);
        n = PySequence_Fast_GET_SIZE(fast);
    }
    int rc = 0;
    if (n > JN_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "%s(): too many sizes", fname);
        rc = -1;
    }
    for (Py_ssize_t i = 0; rc == 0 && i < n; i++) {
        if (args[i] == Py_None || jpy_int_arg(args[i], &dims[i]) < 0)
            rc = -1;
        else if (dims[i] < 0) {
            PyErr_Format(PyExc_RuntimeError, "Trying to create tensor with negative dimension %lld",
                         (long long)dims[i]);
            rc = -1;
        }
    }
    if (rc < 0 && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s(): sizes must be ints", fname);
    *rank = (int)n;
    Py_XDECREF(fast);
    return rc;
}

int jpy_sized(jpy_common *c, PyObject *const *args, Py_ssize_t n, PyObject *names, int64_t *dims,
              int *rank, const char *fname) {
    PyObject *size;
    if (jpy_arguments(c, (const char *const[]){"size", NULL}, &size, args + n, 0, names, fname) < 0)
        return -1;
    if (size && n) {
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument 'size'", fname);
        return -1;
    }
    return jpy_sizes(args, n, size, dims, rank, fname);
}

int jpy_needed(PyObject *const *found, const char *const *params, unsigned n, const char *fname) {
    for (unsigned i = 0; i < n; i++)
        if (!found[i]) {
            PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s' (pos %u)", fname,
                         params[i], i + 1);
            return -1;
        }
    return 0;
}

PyObject *jpy_finish(janus_tensor *t, const jpy_common *c) {
    if (JN_UNLIKELY(jn_eager_hook != NULL)) { /* the graph's device: nothing is moved */
        if (!jpy_graph_meets(c->device)) {
            janus_tensor_release(t);
            return NULL;
        }
    } else if (JN_UNLIKELY(c->device != NULL)) {
        janus_tensor *there;
        int rc = jpy_check(jn_tensor_to(t, c->device, false, &there));
        janus_tensor_release(t);
        if (rc < 0)
            return NULL;
        t = there;
    }
    jpy_tensor *o = (jpy_tensor *)jpy_tensor_take(t);
    if (o && c->requires_grad) {
        if (!jn_dtype_is_float(t->dtype)) {
            PyErr_SetString(PyExc_RuntimeError,
                            "Only Tensors of floating point dtype can require gradients");
            Py_DECREF(o);
            return NULL;
        }
        o->requires_grad = true;
    }
    return (PyObject *)o;
}

static PyObject *filled(int rank, const int64_t *dims, janus_dtype dtype, janus_kind kind,
                        janus_scalar v, const jpy_common *c) {
    janus_full_attrs attrs = {sizeof attrs, {dims, (size_t)rank}, dtype};
    jn_eager_arg arg = {.kind = (uint8_t)kind, .s = v};
    janus_tensor *t;
    if (jpy_check(jn_eager(JN_OP(full), &arg, 1, &attrs, &t, 1)) < 0)
        return NULL;
    return jpy_finish(t, c);
}

static PyObject *full_size(PyObject *const *args, Py_ssize_t n, PyObject *names, double value,
                           const char *fname) {
    jpy_common c;
    int64_t dims[JN_MAX_RANK];
    int rank;
    if (jpy_sized(&c, args, n, names, dims, &rank, fname) < 0)
        return NULL;
    return filled(rank, dims, c.dtype, JANUS_KIND_FLOAT, (janus_scalar){.f = value}, &c);
}
static PyObject *zeros(ARGS) {
    (void)module;
    return full_size(args, n, names, 0.0, "zeros");
}
static PyObject *ones(ARGS) {
    (void)module;
    return full_size(args, n, names, 1.0, "ones");
}
static PyObject *empty(ARGS) {
    (void)module;
    if (jn_eager_hook)
        return full_size(args, n, names, 0.0, "empty");
    jpy_common c;
    int64_t dims[JN_MAX_RANK];
    int rank;
    janus_tensor *t;
    if (jpy_sized(&c, args, n, names, dims, &rank, "empty") < 0 ||
        jpy_check(jn_tensor_empty(c.dtype, rank, dims, &t)) < 0)
        return NULL;
    return jpy_finish(t, &c);
}
static PyObject *full(ARGS) {
    static const char *const params[] = {"size", "fill_value", NULL};
    (void)module;
    PyObject *a[2];
    jpy_common c;
    int64_t dims[JN_MAX_RANK];
    int rank;
    janus_kind kind;
    janus_scalar v;
    if (jpy_arguments(&c, params, a, args, n, names, "full") < 0 ||
        jpy_needed(a, params, 2, "full") < 0 || jpy_sizes(a, 1, NULL, dims, &rank, "full") < 0)
        return NULL;
    PyObject *item =
        jpy_tensor_check(a[1]) ? jpy_tensor_item(((jpy_tensor *)a[1])->t) : Py_NewRef(a[1]);
    int rc = item ? jpy_scalar_of(item, &kind, &v) : -1;
    Py_XDECREF(item);
    if (rc == 0)
        PyErr_SetString(PyExc_TypeError, "full(): fill_value must be a number");
    if (rc <= 0)
        return NULL;
    if (!c.has_dtype)
        c.dtype = kind == JANUS_KIND_FLOAT ? JANUS_F32
                  : kind == JANUS_KIND_INT ? JANUS_I64
                                           : JANUS_BOOL;
    return jpy_scalar_check(c.dtype, kind, v) < 0 ? NULL : filled(rank, dims, c.dtype, kind, v, &c);
}

/* ---- like another
 * ------------------------------------------------------------------------------------------ */

janus_tensor *jpy_like_of(jpy_common *c, PyObject **value, PyObject *const *args, Py_ssize_t n,
                          PyObject *names, const char *fname) {
    const char *params[] = {"input", value ? "fill_value" : NULL, NULL};
    PyObject *a[2] = {NULL, NULL};
    if (jpy_arguments(c, params, a, args, n, names, fname) < 0 ||
        jpy_needed(a, params, value ? 2 : 1, fname) < 0)
        return NULL;
    if (value)
        *value = a[1];
    if (jpy_tensor_check(a[0]))
        return ((jpy_tensor *)a[0])->t;
    PyErr_Format(PyExc_TypeError, "%s(): argument 'input' (position 1) must be Tensor, not %s",
                 fname, Py_TYPE(a[0])->tp_name);
    return NULL;
}
static PyObject *full_like_of(janus_tensor *like, janus_kind kind, janus_scalar v,
                              const jpy_common *c) {
    janus_full_like_attrs attrs = {sizeof attrs, c->has_dtype ? (int64_t)c->dtype : like->dtype};
    if (jpy_scalar_check((janus_dtype)attrs.dtype, kind, v) < 0)
        return NULL;
    jn_eager_arg in[2] = {{.kind = (uint8_t)kind, .s = v}, {.kind = JANUS_KIND_TENSOR, .t = like}};
    janus_tensor *t;
    if (jpy_check(jn_eager(JN_OP(full_like), in, 2, &attrs, &t, 1)) < 0)
        return NULL;
    return jpy_finish(t, c);
}
static PyObject *constant_like(PyObject *const *args, Py_ssize_t n, PyObject *names, int64_t value,
                               const char *fname) {
    jpy_common c;
    janus_tensor *like = jpy_like_of(&c, NULL, args, n, names, fname);
    if (!like)
        return NULL;
    return full_like_of(like, JANUS_KIND_INT, (janus_scalar){.i = value}, &c);
}
static PyObject *zeros_like(ARGS) {
    (void)module;
    return constant_like(args, n, names, 0, "zeros_like");
}
static PyObject *ones_like(ARGS) {
    (void)module;
    return constant_like(args, n, names, 1, "ones_like");
}
static PyObject *empty_like(ARGS) {
    (void)module;
    return constant_like(args, n, names, 0, "empty_like");
}
static PyObject *full_like(ARGS) {
    (void)module;
    jpy_common c;
    janus_kind kind;
    janus_scalar v;
    PyObject *value;
    janus_tensor *like = jpy_like_of(&c, &value, args, n, names, "full_like");
    if (!like)
        return NULL;
    int rc = jpy_scalar_of(value, &kind, &v);
    if (rc == 0)
        PyErr_SetString(PyExc_TypeError, "full_like(): fill_value must be a number");
    return rc <= 0 ? NULL : full_like_of(like, kind, v, &c);
}

/* ---- ranges
 * --------------------------------------------------------------------------------------------------
 */

static int number(PyObject *o, janus_kind *kind, janus_scalar *v, const char *fname) {
    PyObject *item = jpy_tensor_check(o) ? jpy_tensor_item(((jpy_tensor *)o)->t) : Py_NewRef(o);
    int rc = item ? jpy_scalar_of(item, kind, v) : -1;
    Py_XDECREF(item);
    if (rc == 0)
        PyErr_Format(PyExc_TypeError, "%s() takes numbers", fname);
    return rc > 0 ? 0 : -1;
}
static PyObject *arange_of(janus_kind kind, janus_scalar start, janus_scalar step, int64_t count,
                           const jpy_common *c) {
    janus_arange_attrs attrs = {sizeof attrs, c->dtype};
    jn_eager_arg in[3] = {{.kind = (uint8_t)kind, .s = start},
                          {.kind = (uint8_t)kind, .s = step},
                          {.kind = JANUS_KIND_INT, .s.i = count}};
    janus_tensor *t;
    if (jpy_check(jn_eager(JN_OP(arange), in, 3, &attrs, &t, 1)) < 0)
        return NULL;
    return jpy_finish(t, c);
}
/* Whether one of the numbers is a float, which all of them are made then. */
static bool made_floats(janus_kind *kinds, janus_scalar *v, int n) {
    bool any = false;
    for (int i = 0; i < n; i++)
        any = any || kinds[i] == JANUS_KIND_FLOAT;
    for (int i = 0; i < n && any; i++)
        if (kinds[i] != JANUS_KIND_FLOAT)
            v[i].f = (double)v[i].i;
    return any;
}
static PyObject *arange(ARGS) {
    static const char *const params[] = {"start", "end", "step", NULL};
    (void)module;
    PyObject *x[3];
    jpy_common c;
    janus_kind kinds[3] = {JANUS_KIND_INT, JANUS_KIND_INT, JANUS_KIND_INT};
    janus_scalar v[3] = {{.i = 0}, {.i = 0}, {.i = 1}}; /* start, end, step */
    if (jpy_arguments(&c, params, x, args, n, names, "arange") < 0)
        return NULL;
    if (n == 1 && !x[1] && !x[2]) { /* one alone is the end */
        x[1] = x[0];
        x[0] = NULL;
    }
    if (!x[1] || (x[2] && !x[0])) {
        PyErr_SetString(PyExc_TypeError, "arange(start=0, end, step=1)");
        return NULL;
    }
    for (int i = 0; i < 3; i++)
        if (x[i] && number(x[i], &kinds[i], &v[i], "arange") < 0)
            return NULL;
    bool is_float = made_floats(kinds, v, 3);
    if (!c.has_dtype)
        c.dtype = is_float ? JANUS_F32 : JANUS_I64;
    if (!is_float) {
        int64_t a = v[0].i, b = v[1].i, s = v[2].i;
        if (s == 0 || (s > 0 ? a > b : a < b)) {
            PyErr_SetString(
                PyExc_RuntimeError,
                "arange: step must not be zero and the bounds must agree with its sign");
            return NULL;
        }
        uint64_t span = s > 0 ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
        uint64_t count = span ? (span - 1) / (s > 0 ? (uint64_t)s : -(uint64_t)s) + 1 : 0;
        return arange_of(JANUS_KIND_INT, v[0], v[2], count > INT64_MAX ? INT64_MAX : (int64_t)count,
                         &c);
    }
    if (isinf(v[2].f)) { /* no number of steps */
        PyErr_SetString(PyExc_RuntimeError, "arange: step must be finite");
        return NULL;
    }
    double count = (v[1].f - v[0].f) / v[2].f;
    if (!(count >= 0 && count < 1e15)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "arange: step must not be zero and the bounds must agree with its sign");
        return NULL;
    }
    int64_t whole = (int64_t)count;
    return arange_of(JANUS_KIND_FLOAT, v[0], v[2], whole + (count > (double)whole), &c);
}
/* The one of n elements, of which janus/_by_numbers.py knows how many there are. */
static PyObject *arange_n(ARGS) {
    static const char *const params[] = {"start", "step", "n", NULL};
    (void)module;
    PyObject *x[3];
    jpy_common c;
    janus_kind kinds[2];
    janus_scalar v[2];
    int64_t count;
    if (jpy_arguments(&c, params, x, args, n, names, "_arange") < 0 ||
        jpy_needed(x, params, 3, "_arange") < 0 || number(x[0], &kinds[0], &v[0], "_arange") < 0 ||
        number(x[1], &kinds[1], &v[1], "_arange") < 0 || jpy_int_needed(x[2], &count) < 0)
        return NULL;
    bool is_float = made_floats(kinds, v, 2);
    if (!c.has_dtype)
        c.dtype = is_float ? JANUS_F32 : JANUS_I64;
    return arange_of(is_float ? JANUS_KIND_FLOAT : JANUS_KIND_INT, v[0], v[1], count, &c);
}
static PyObject *linspace(ARGS) {
    static const char *const params[] = {"start", "end", "steps", NULL};
    (void)module;
    PyObject *x[3];
    jpy_common c;
    janus_kind ka, kb;
    janus_scalar a, b, step;
    int64_t steps;
    if (jpy_arguments(&c, params, x, args, n, names, "linspace") < 0 ||
        jpy_needed(x, params, 3, "linspace") < 0 || number(x[0], &ka, &a, "linspace") < 0 ||
        number(x[1], &kb, &b, "linspace") < 0 || jpy_int_needed(x[2], &steps) < 0)
        return NULL;
    double from = ka == JANUS_KIND_FLOAT ? a.f : (double)a.i;
    double to = kb == JANUS_KIND_FLOAT ? b.f : (double)b.i;
    if (steps < 0) {
        PyErr_SetString(PyExc_RuntimeError, "number of steps must be non-negative");
        return NULL;
    }
    step.f = steps > 1 ? (to - from) / (double)(steps - 1) : 0.0;
    return arange_of(JANUS_KIND_FLOAT, (janus_scalar){.f = from}, step, steps, &c);
}
static PyObject *eye(ARGS) {
    static const char *const params[] = {"n", "m", NULL};
    (void)module;
    PyObject *a[2];
    jpy_common c;
    janus_eye_attrs attrs = {.struct_size = sizeof attrs};
    janus_tensor *t;
    if (jpy_arguments(&c, params, a, args, n, names, "eye") < 0 ||
        jpy_needed(a, params, 1, "eye") < 0 || jpy_int_needed(a[0], &attrs.n) < 0 ||
        jpy_int_needed(a[1] ? a[1] : a[0], &attrs.m) < 0)
        return NULL;
    attrs.dtype = c.dtype;
    if (jpy_check(jn_eager(JN_OP(eye), NULL, 0, &attrs, &t, 1)) < 0)
        return NULL;
    return jpy_finish(t, &c);
}

/* ---- from data
 * ---------------------------------------------------------------------------------------------- */

static PyObject *tensor(ARGS) {
    static const char *const params[] = {"data", "dtype", NULL};
    (void)module;
    PyObject *a[2];
    jpy_common c;
    janus_tensor *t;
    if (jpy_arguments(&c, params, a, args, n, names, "tensor") < 0 ||
        jpy_needed(a, params, 1, "tensor") < 0)
        return NULL;
    if (a[1]) {
        int rc = jpy_dtype_parse(a[1], &c.dtype);
        if (rc < 0)
            return NULL;
        c.has_dtype = rc > 0;
    }
    if (jpy_tensor_from_object(a[0], c.has_dtype, c.dtype, &t) < 0)
        return NULL;
    return jpy_finish(t, &c);
}

static PyMethodDef functions[] = {
    {"zeros", KW(zeros), "zeros(*size, dtype=None, requires_grad=False)"},
    {"ones", KW(ones), "ones(*size, dtype=None, requires_grad=False)"},
    {"empty", KW(empty), "empty(*size, dtype=None, requires_grad=False): not initialised."},
    {"full", KW(full), "full(size, fill_value, *, dtype=None)"},
    {"zeros_like", KW(zeros_like), "zeros_like(input, *, dtype=None)"},
    {"ones_like", KW(ones_like), "ones_like(input, *, dtype=None)"},
    {"empty_like", KW(empty_like), "empty_like(input, *, dtype=None)"},
    {"full_like", KW(full_like), "full_like(input, fill_value, *, dtype=None)"},
    {"arange", KW(arange), "arange(start=0, end, step=1, *, dtype=None)"},
    {"_arange", KW(arange_n), "_arange(start, step, n, *, dtype=None)"},
    {"linspace", KW(linspace), "linspace(start, end, steps, *, dtype=None)"},
    {"eye", KW(eye), "eye(n, m=n, *, dtype=None)"},
    {"tensor", KW(tensor), "tensor(data, *, dtype=None, requires_grad=False): copies data."},
    {"_from_buffer", jpy_from_buffer, METH_O, "Tensor over the memory of an array."},
    {"from_dlpack", jpy_from_dlpack, METH_O, "Tensor over the memory of another library's."},
    {NULL, NULL, 0, NULL},
};

int jpy_init_create(PyObject *module) { return PyModule_AddFunctions(module, functions); }
