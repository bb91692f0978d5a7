/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of random numbers, and the state of the generators that they are drawn from.
 *
 * The state is two numbers guarded by the interpreter lock; a draw takes the offset and moves it
 * on. Those of the default generator are here; any other keeps them as attributes
 * (pyfront/janus/_generator.py).
 */
#include "config.h"

#include <string.h>

#include "exec/store/store.h"
#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "ops/rng.h"
#include "pyfront/methods/create.h"
#include "pyfront/methods/rng.h"
#include "pyfront/tensor/tensor.h"

#include <structmember.h>

/* ---- generators
 * -------------------------------------------------------------------------------------------- */

static jn_rng_state default_state = {67280421310721u, 0};
static PyObject *default_generator;
static Py_ssize_t seed_at, offset_at; /* where an object of the type has its attributes */

_Thread_local bool jpy_rng_still;

jn_rng_state *jpy_rng_default(void) { return &default_state; }

PyTypeObject *jpy_rng_default_type(void) { return Py_TYPE(default_generator); }

static int number_at(PyObject *generator, Py_ssize_t at, int64_t *out) {
    PyObject *v = *(PyObject **)((char *)generator + at);
    *out = v && PyLong_Check(v) ? PyLong_AsLongLong(v) : -1;
    if (!v || !PyLong_Check(v))
        PyErr_SetString(PyExc_TypeError, "a generator whose state is not two numbers");
    return PyErr_Occurred() ? -1 : 0;
}

/* The state that a draw of n elements uses; the generator (NULL: the default one) moves on. */
static int draw_from(PyObject *generator, int64_t n, jn_rng_state *out) {
    if (!generator || generator == default_generator) {
        *out = default_state;
        if (generator || !jpy_rng_still)
            default_state.offset += (uint64_t)jn_rng_draws(n);
        return 0;
    }
    int64_t seed, offset;
    if (number_at(generator, seed_at, &seed) < 0 || number_at(generator, offset_at, &offset) < 0)
        return -1;
    *out = (jn_rng_state){(uint64_t)seed, (uint64_t)offset};
    PyObject *next = PyLong_FromLongLong((int64_t)(out->offset + (uint64_t)jn_rng_draws(n)));
    PyObject **place = (PyObject **)((char *)generator + offset_at), *was = *place;
    if (!next)
        return -1;
    *place = next;
    Py_DECREF(was);
    return 0;
}

static int check_generator(PyObject *g) {
    if (!g || g == Py_None || PyObject_TypeCheck(g, jpy.generator_type))
        return 0;
    PyErr_Format(PyExc_TypeError, "generator must be a janus.Generator, not %s",
                 Py_TYPE(g)->tp_name);
    return -1;
}

static PyObject *default_state_now(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return Py_BuildValue("LL", (long long)default_state.seed, (long long)default_state.offset);
}
static PyObject *set_default_state(PyObject *module, PyObject *args) {
    (void)module;
    long long seed, offset;
    if (!PyArg_ParseTuple(args, "LL:_set_default_state", &seed, &offset))
        return NULL;
    default_state = (jn_rng_state){(uint64_t)seed, (uint64_t)offset};
    Py_RETURN_NONE;
}
static PyObject *state_of(PyObject *module, PyObject *args) {
    (void)module;
    long long seed, offset;
    int64_t n = sizeof(jn_rng_state);
    janus_tensor *t;
    if (!PyArg_ParseTuple(args, "LL:_state_of", &seed, &offset))
        return NULL;
    jn_rng_state state = {(uint64_t)seed, (uint64_t)offset};
    if (jpy_check(janus_tensor_from_data(JANUS_U8, 1, &n, &state, &t)) < 0)
        return NULL;
    return jpy_tensor_take(t);
}
static PyObject *state_in(PyObject *module, PyObject *o) {
    (void)module;
    jn_rng_state state = {0, 0};
    janus_tensor *t = jpy_tensor_check(o) ? ((jpy_tensor *)o)->t : NULL;
    if (!t || t->dtype != JANUS_U8 || t->numel != (int64_t)sizeof(jn_rng_state) || !t->contiguous) {
        PyErr_SetString(PyExc_TypeError, "set_state() takes what get_state() gave");
        return NULL;
    }
    janus_tensor *here;
    if (jpy_tensor_here(t, &here) < 0)
        return NULL;
    char *data;
    int rc = jpy_tensor_data(here, &data);
    if (rc == 0)
        memcpy(&state, data, sizeof state);
    janus_tensor_release(here);
    return rc < 0 ? NULL : Py_BuildValue("LL", (long long)state.seed, (long long)state.offset);
}

static int place_of(PyObject *type, const char *name, Py_ssize_t *out) {
    PyObject *d = PyObject_GetAttrString(type, name);
    if (!d)
        return -1;
    bool there = Py_IS_TYPE(d, &PyMemberDescr_Type) &&
                 ((PyMemberDescrObject *)d)->d_member->type == T_OBJECT_EX;
    if (there)
        *out = ((PyMemberDescrObject *)d)->d_member->offset;
    else
        PyErr_Format(PyExc_TypeError, "%s is no slot", name);
    Py_DECREF(d);
    return there ? 0 : -1;
}
/* _generators(type, default generator): which they are. */
static PyObject *generators(PyObject *module, PyObject *args) {
    PyObject *type, *one;
    if (!PyArg_ParseTuple(args, "O!O:_generators", &PyType_Type, &type, &one) ||
        place_of(type, "_seed", &seed_at) < 0 || place_of(type, "_offset", &offset_at) < 0 ||
        PyModule_AddObjectRef(module, "default_generator", one) < 0)
        return NULL;
    jpy.generator_type = (PyTypeObject *)Py_NewRef(type);
    default_generator = Py_NewRef(one);
    Py_RETURN_NONE;
}

/* ---- random tensors
 * -------------------------------------------------------------------------------------------- */

static int64_t product(int rank, const int64_t *dims) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        if (__builtin_mul_overflow(n, dims[i], &n))
            return 0; /* the row's inference refuses such a shape */
    return n;
}

/* uniform or normal over [dims], `lo` and `hi` meaning low and high, or mean and std */
static int draw_float(const jn_op *op, int rank, const int64_t *dims, janus_dtype dtype, double lo,
                      double hi, PyObject *generator, janus_tensor **out) {
    janus_uniform_attrs attrs = {sizeof attrs, {dims, (size_t)rank}, dtype, lo, hi};
    jn_rng_state s;
    if (draw_from(generator, product(rank, dims), &s) < 0)
        return -1;
    jn_eager_arg in[3] = {{.kind = JANUS_KIND_NONE},
                          {.kind = JANUS_KIND_INT, .s.i = (int64_t)s.seed},
                          {.kind = JANUS_KIND_INT, .s.i = (int64_t)s.offset}};
    return jpy_check(jn_eager(op, in, 3, &attrs, out, 1));
}
_Static_assert(sizeof(janus_uniform_attrs) == sizeof(janus_normal_attrs),
               "uniform and normal have the same attributes in the same order");

static PyObject *random_size(PyObject *const *args, Py_ssize_t n, PyObject *names, const jn_op *op,
                             double lo, double hi, const char *fname) {
    jpy_common c;
    int64_t dims[JN_MAX_RANK];
    int rank;
    janus_tensor *t;
    if (jpy_sized(&c, args, n, names, dims, &rank, fname) < 0 || check_generator(c.generator) < 0 ||
        draw_float(op, rank, dims, c.dtype, lo, hi, c.generator, &t) < 0)
        return NULL;
    return jpy_finish(t, &c);
}
static PyObject *rand_(ARGS) {
    (void)module;
    return random_size(args, n, names, JN_OP(uniform), 0.0, 1.0, "rand");
}
static PyObject *randn(ARGS) {
    (void)module;
    return random_size(args, n, names, JN_OP(normal), 0.0, 1.0, "randn");
}
static PyObject *random_like(PyObject *const *args, Py_ssize_t n, PyObject *names, const jn_op *op,
                             const char *fname) {
    jpy_common c;
    janus_tensor *like = jpy_like_of(&c, NULL, args, n, names, fname), *t;
    if (!like || check_generator(c.generator) < 0)
        return NULL;
    if (draw_float(op, like->rank, like->dims, c.has_dtype ? c.dtype : (janus_dtype)like->dtype,
                   0.0, 1.0, c.generator, &t) < 0)
        return NULL;
    return jpy_finish(t, &c);
}
static PyObject *rand_like(ARGS) {
    (void)module;
    return random_like(args, n, names, JN_OP(uniform), "rand_like");
}
static PyObject *randn_like(ARGS) {
    (void)module;
    return random_like(args, n, names, JN_OP(normal), "randn_like");
}
static PyObject *randint(ARGS) {
    static const char *const params[] = {"low", "high", "size", NULL};
    (void)module;
    PyObject *a[3];
    jpy_common c;
    int64_t dims[JN_MAX_RANK], low = 0, high;
    int rank;
    if (jpy_arguments(&c, params, a, args, n, names, "randint") < 0 ||
        check_generator(c.generator) < 0)
        return NULL;
    if (n == 2 && !a[2]) { /* randint(high, size) */
        a[2] = a[1];
        a[1] = NULL;
    }
    if (n && !a[1]) { /* one bound alone is the high one */
        a[1] = a[0];
        a[0] = NULL;
    }
    if (!a[1] || !a[2]) {
        PyErr_SetString(PyExc_TypeError, "randint(low=0, high, size)");
        return NULL;
    }
    if ((a[0] && jpy_int_needed(a[0], &low) < 0) || jpy_int_needed(a[1], &high) < 0 ||
        jpy_sizes(&a[2], 1, NULL, dims, &rank, "randint") < 0)
        return NULL;
    if (high <= low) {
        PyErr_Format(PyExc_RuntimeError,
                     "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                     (long long)low, (long long)high);
        return NULL;
    }
    if (!c.has_dtype)
        c.dtype = JANUS_I64;
    janus_randint_attrs attrs = {sizeof attrs, {dims, (size_t)rank}, JANUS_I64};
    jn_rng_state s;
    if (draw_from(c.generator, product(rank, dims), &s) < 0)
        return NULL;
    jn_eager_arg in[5] = {{.kind = JANUS_KIND_INT, .s.i = low},
                          {.kind = JANUS_KIND_INT, .s.i = high},
                          {.kind = JANUS_KIND_NONE},
                          {.kind = JANUS_KIND_INT, .s.i = (int64_t)s.seed},
                          {.kind = JANUS_KIND_INT, .s.i = (int64_t)s.offset}};
    janus_tensor *t, *cast;
    if (jpy_check(jn_eager(JN_OP(randint), in, 5, &attrs, &t, 1)) < 0)
        return NULL;
    if (c.dtype != JANUS_I64) {
        int rc = jpy_check(jn_tensor_cast(t, c.dtype, &cast));
        janus_tensor_release(t);
        if (rc < 0)
            return NULL;
        t = cast;
    }
    return jpy_finish(t, &c);
}
static PyObject *randperm(ARGS) {
    static const char *const params[] = {"n", NULL};
    (void)module;
    PyObject *a[1];
    jpy_common c;
    int64_t count;
    janus_tensor *t;
    if (jpy_arguments(&c, params, a, args, n, names, "randperm") < 0 ||
        jpy_needed(a, params, 1, "randperm") < 0 || check_generator(c.generator) < 0 ||
        jpy_int_needed(a[0], &count) < 0)
        return NULL;
    janus_randperm_attrs attrs = {sizeof attrs, c.has_dtype ? c.dtype : JANUS_I64};
    jn_rng_state s;
    if (draw_from(c.generator, count, &s) < 0)
        return NULL;
    jn_eager_arg in[3] = {{.kind = JANUS_KIND_INT, .s.i = count},
                          {.kind = JANUS_KIND_INT, .s.i = (int64_t)s.seed},
                          {.kind = JANUS_KIND_INT, .s.i = (int64_t)s.offset}};
    if (jpy_check(jn_eager(JN_OP(randperm), in, 3, &attrs, &t, 1)) < 0)
        return NULL;
    return jpy_finish(t, &c);
}
/* _mask_like(x, p, scale, generator): scale with probability p, else 0 */
static PyObject *mask_like(PyObject *module, PyObject *args) {
    PyObject *x, *generator = Py_None;
    janus_bernoulli_mask_attrs attrs = {.struct_size = sizeof attrs};
    janus_tensor *t;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!dd|O:_mask_like", (PyObject *)jpy.tensor_type, &x, &attrs.p,
                          &attrs.scale, &generator) ||
        check_generator(generator) < 0)
        return NULL;
    janus_tensor *like = ((jpy_tensor *)x)->t;
    jn_rng_state s;
    if (draw_from(generator == Py_None ? NULL : generator, like->numel, &s) < 0)
        return NULL;
    jn_eager_arg in[3] = {{.kind = JANUS_KIND_TENSOR, .t = like},
                          {.kind = JANUS_KIND_INT, .s.i = (int64_t)s.seed},
                          {.kind = JANUS_KIND_INT, .s.i = (int64_t)s.offset}};
    if (jpy_check(jn_eager(JN_OP(bernoulli_mask), in, 3, &attrs, &t, 1)) < 0)
        return NULL;
    return jpy_tensor_take(t);
}

static PyMethodDef functions[] = {
    {"rand", KW(rand_), "rand(*size): uniform in [0, 1)."},
    {"randn", KW(randn), "randn(*size): normally distributed."},
    {"rand_like", KW(rand_like), "rand_like(input)"},
    {"randn_like", KW(randn_like), "randn_like(input)"},
    {"randint", KW(randint), "randint(low=0, high, size)"},
    {"randperm", KW(randperm), "randperm(n): 0..n-1 in random order."},
    {"_mask_like", mask_like, METH_VARARGS, NULL},
    {"_default_state", default_state_now, METH_NOARGS, NULL},
    {"_set_default_state", set_default_state, METH_VARARGS, NULL},
    {"_state_of", state_of, METH_VARARGS, NULL},
    {"_state_in", state_in, METH_O, NULL},
    {"_generators", generators, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int jpy_init_random(PyObject *module) { return PyModule_AddFunctions(module, functions); }
